//! Commits: everything that waits counts at once, or nothing does.
//!
//! Readers of this format walk from chunk to chunk, so chunks stand in the order of their content without
//! gaps. Where the new state fits into the file like that (appends; changed chunks that are not longer than
//! before, and are widened to their old length; offsets and metadata that fit into their room), it is
//! written in place, under the journal. Else a new file is written and swapped in: a new file and one that
//! is replaced always are, and then the chunks that waited in the temporary file need not be copied.
//!
//! A change in place leaves the file with another length than it had, and gives it a longer one before any
//! committed byte is written over: readers tell by the length.
#![forbid(unsafe_code)]

use super::edit::{seal, widen};
use super::header::{Dialect, ENTRY, Header};
use super::metadata::{self, Section};
use super::open::part_name;
use super::slots::{Place, Slot};
use super::{Bloscpack, DEFAULT_CHUNK, offsets};
use crate::error::{Result, fail};
use crate::io::journal::{self, Change, MOST_RANGES, Swapped, Undo};
use crate::io::{self, Access, File};
use crate::memory;
use crate::options::Opt;
use std::ops::Range;
use std::sync::Arc;

/// Offsets that a new file has room for at first.
const ENTRIES: u64 = 1022;
/// Offsets kept free, in numbers of chunks, as Bloscpack does; and how many at least.
const SPARE: u64 = 10;
const LEAST_SPARE: u64 = 50;
/// A new file may have this part of its chunks' bytes in offsets that it is not likely to need.
const WASTE: u64 = 16;
/// Committed bytes that a change in place may save first, whatever the size of the file.
const SAVED: u64 = 64 << 20;

/// How the new state fits into the file that is there.
struct InPlace {
    header: Header,
    /// Metadata, where they change.
    meta: Option<Vec<u8>>,
    /// Where each chunk goes, and its bytes there without the digest.
    places: Vec<(u64, u32)>,
    /// The first offset that changes.
    first: usize,
    end: u64,
}

impl Bloscpack {
    /// Makes all changes durable and visible, together. On failure the file is as the last commit left it;
    /// where that cannot be known, this handle refuses to go on, and whoever opens the file next finds it whole.
    pub fn commit(&mut self) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        if self.main.is_some() && !self.changed {
            return Ok(());
        }
        if self.missing > 0 || self.slots.iter().any(|s| matches!(s.place, Place::Lost)) {
            return Err(fail!(State, "{}: chunks of it are lost; repair it first", self.name()));
        }
        if let Some(e) = &self.meta_damage {
            // a file that is written anew would lose them without a word
            return Err(fail!(State, "{}: its metadata are damaged ({e}); set them anew, or repair it first", self.name()));
        }
        if self.slots.len() == 0 {
            // the tool that made the format knows no file without a chunk
            self.insert(0, &[])?;
        }
        if self.main.is_some() {
            self.still_ours()?;
            match self.plan()? {
                Some(plan) => self.write_in_place(plan),
                None => self.rewrite(),
            }
        } else {
            self.refuse_existing()?;
            match self.around_part()? {
                Some((header, head)) => self.finish_part(header, &head),
                None => self.rewrite(),
            }
        }
    }

    /// Refuses to write where somebody else has written, who cannot have had the lock.
    fn still_ours(&self) -> Result<()> {
        let Some(main) = &self.main else { return Ok(()) };
        let there = self.container.folder.identity(&self.container.main)? == Some(main.identity());
        if there && main.size()? == self.size {
            return Ok(());
        }
        Err(fail!(State, "{}: another writer has changed it since it was opened here", self.name()))
    }

    // ---- what the header says

    /// The header for the chunks that are there now.
    fn next_header(&self) -> Header {
        let last = self.slots.iter().next_back().map_or(0, |s| s.nbytes);
        let sized = !matches!(self.header.dialect, Dialect::V0 | Dialect::V1);
        Header {
            nchunks: Some(self.slots.len() as u64),
            // Bloscpack refuses a last chunk that is longer than the others
            chunk_size: sized.then_some(last.max(self.chunk_size as u32)),
            last_chunk: sized.then_some(last),
            max_app_chunks: 0,
            ..self.header.clone()
        }
    }

    /// The metadata with their new place, made anew.
    fn new_meta(&self) -> Result<Option<(metadata::MetaPlace, Vec<u8>)>> {
        let Some(json) = &self.meta else { return Ok(None) };
        if let Some(fits) = self.header.meta.as_ref().map(|m| m.rewrite(json)).transpose()?.flatten() {
            return Ok(Some(fits));
        }
        if self.paper() {
            return metadata::encode_rfc(json, false).map(Some);
        }
        metadata::section(json, None, &Section::new(metadata::DEFAULT_SUM, metadata::DEFAULT_LEVEL)).map(Some)
    }

    /// Room before the first chunk of a new file: nobody knows yet how many offsets it is going to have.
    pub(super) fn head_room(&self) -> Result<u64> {
        let meta = self.new_meta()?.map_or(0, |(place, _)| place.size());
        let entries = match (self.header.has_offsets, self.header.dialect) {
            (true, Dialect::V3) => self.options.get(Opt::SpareChunks, 0) as u64 + ENTRIES,
            _ => 0,
        };
        Ok(self.header.size() + meta + entries * ENTRY)
    }

    /// Header, metadata and offsets for chunks that begin `at`, or wherever they then must.
    fn head(&self, at: Option<u64>) -> Result<Option<(Header, Vec<u8>)>> {
        let mut header = self.next_header();
        let meta = self.new_meta()?;
        header.meta = meta.as_ref().map(|(place, _)| place.clone());
        let n = self.slots.len() as u64;
        if header.has_offsets {
            let spare = match (header.dialect, at) {
                (Dialect::V3, Some(at)) => {
                    let Some(room) = at.checked_sub(header.offsets_at()).filter(|r| r % ENTRY == 0) else { return Ok(None) };
                    let Some(spare) = (room / ENTRY).checked_sub(n) else { return Ok(None) };
                    spare
                }
                (Dialect::V3, None) => self.spare_offsets(),
                _ => 0,
            };
            header.max_app_chunks = spare;
        }
        if at.is_some_and(|at| at != header.chunks_at()) {
            return Ok(None);
        }
        let mut bytes = header.encode();
        bytes.extend(meta.map_or_else(Vec::new, |(_, b)| b));
        if header.has_offsets {
            let mut next = header.chunks_at();
            let digest = header.checksum.size() as u64;
            let positions = self.slots.iter().map(|s| {
                let at = next;
                next += u64::from(s.cbytes) + digest;
                at
            });
            bytes.extend(offsets::encode(positions, header.offset_entries())?);
        }
        Ok(Some((header, bytes)))
    }

    // ---- a new file

    /// Header and all, if the chunks stand in the temporary file as they are to stand in the new one.
    fn around_part(&self) -> Result<Option<(Header, Vec<u8>)>> {
        let Some(Slot { place: Place::Part(first), .. }) = self.slots.iter().next() else { return Ok(None) };
        let mut next = *first;
        for s in self.slots.iter() {
            if !matches!(s.place, Place::Part(at) if at == next) {
                return Ok(None);
            }
            next += self.stored_size(s);
        }
        if self.part_end != next {
            return Ok(None);
        }
        // a short file is copied rather than left with room for many chunks that may never come
        let room = self.head(Some(*first))?;
        let more = |h: &Header| h.max_app_chunks.saturating_sub(self.spare_offsets()) * ENTRY;
        Ok(room.filter(|(header, _)| more(header) <= (next - first) / WASTE))
    }

    /// Offsets that a new file keeps free.
    fn spare_offsets(&self) -> u64 {
        let usual = (self.slots.len() as u64).saturating_mul(SPARE).max(LEAST_SPARE);
        self.options.given(Opt::SpareChunks).map_or(usual, |n| n as u64)
    }

    fn stored_size(&self, s: &Slot) -> u64 {
        u64::from(s.cbytes) + self.header.checksum.size() as u64
    }

    /// Makes the temporary file the new one.
    fn finish_part(&mut self, header: Header, head: &[u8]) -> Result<()> {
        let Some(part) = self.part.clone() else { return Err(fail!(State, "no temporary file")) };
        part.write_at(0, head)?;
        // what a write that failed has left behind the chunks belongs to none
        part.set_size(self.part_end)?;
        self.sync(&*part)?;
        let (folder, waiting, new) = (self.container.folder.clone(), part_name(&self.container), self.container.new_name(""));
        let swapped = folder.rename(&waiting, &new).and_then(|()| self.swap());
        if swapped.is_err() && !self.broken && !folder.exists(&waiting).unwrap_or(false) {
            // it goes on waiting, for another try
            self.broken |= folder.rename(&new, &waiting).is_err();
        }
        swapped?;
        self.part = None;
        self.settle(header)
    }

    /// Writes a new file and swaps it in.
    fn rewrite(&mut self) -> Result<()> {
        let Some((header, head)) = self.head(None)? else { return Err(fail!(State, "no place for the header")) };
        let new = self.container.new_name("");
        let file = self.container.folder.open(&new, Access::Create)?;
        let written = self.write_all(&*file, &head).and_then(|()| self.sync(&*file));
        if let Err(e) = written {
            let _ = self.container.folder.remove_if_there(&new);
            return Err(e);
        }
        drop(file);
        self.swap()?;
        self.settle(header)
    }

    fn write_all(&self, to: &dyn File, head: &[u8]) -> Result<()> {
        to.write_at(0, head)?;
        let mut at = head.len() as u64;
        // chunks that stand behind each other go together
        let mut run: Option<(&Arc<dyn File>, Range<u64>)> = None;
        for s in self.slots.iter() {
            let n = self.stored_size(s);
            let (file, from) = match &s.place {
                Place::Main(from) => (self.main.as_ref(), *from),
                Place::Part(from) => (self.part.as_ref(), *from),
                Place::Memory(bytes) => {
                    at += copy_run(run.take(), to, at)?;
                    to.write_at(at, bytes)?;
                    at += n;
                    continue;
                }
                Place::Lost => return Err(fail!(State, "a lost chunk")),
            };
            let file = file.ok_or_else(|| fail!(State, "its file is not open"))?;
            match &mut run {
                Some((f, r)) if Arc::ptr_eq(f, file) && r.end == from => r.end += n,
                _ => at += copy_run(run.replace((file, from..from + n)), to, at)?,
            }
        }
        copy_run(run, to, at)?;
        Ok(())
    }

    fn swap(&mut self) -> Result<()> {
        let swapped = journal::swap(&self.container, self.durable, &[""], &[]);
        self.broken |= matches!(swapped, Swapped::Counts | Swapped::Unsure(_));
        match swapped {
            Swapped::Nothing(e) | Swapped::Unsure(e) => Err(e),
            Swapped::Done | Swapped::Counts => Ok(()),
        }
    }

    /// The commit stands; goes on from it.
    fn settle(&mut self, header: Header) -> Result<()> {
        let mut next = header.chunks_at();
        let digest = header.checksum.size() as u64;
        let places: Vec<(u64, u32)> = self
            .slots
            .iter()
            .map(|s| {
                let at = next;
                next += u64::from(s.cbytes) + digest;
                (at, s.cbytes)
            })
            .collect();
        let opened = self.container.folder.open(&self.container.main, Access::Write);
        self.broken |= opened.is_err();
        self.go_on(opened.ok(), header, places, next)
    }

    fn go_on(&mut self, main: Option<Arc<dyn File>>, header: Header, places: Vec<(u64, u32)>, end: u64) -> Result<()> {
        self.slots.settle(places);
        self.header = header;
        self.end = end;
        self.size = main.as_ref().map_or(Ok(0), |m| m.size()).unwrap_or(u64::MAX);
        self.main = main;
        if self.part.take().is_some() {
            let _ = self.container.folder.remove_if_there(&part_name(&self.container));
        }
        (self.part_end, self.in_memory) = (0, 0);
        (self.changed, self.meta_changed) = (false, false);
        (self.damage, self.doubt, self.unsure, self.mended) = (None, None, None, false);
        if self.chunk_size == 0 {
            self.chunk_size = DEFAULT_CHUNK;
        }
        Ok(())
    }

    /// Makes what was written to a file durable, if that is wished.
    fn sync(&mut self, file: &dyn File) -> Result<()> {
        let done = if self.durable { file.sync() } else { Ok(()) };
        // the system may have thrown away what it could not write, and says so once
        self.broken |= done.is_err();
        done
    }

    // ---- in place

    /// How the new state fits in; `None` where it does not.
    fn plan(&self) -> Result<Option<InPlace>> {
        let n = self.slots.len() as u64;
        let mut header = self.next_header();
        if header.has_offsets {
            let entries = self.header.offset_entries();
            let Some(spare) = entries.checked_sub(n).filter(|s| *s == 0 || header.dialect == Dialect::V3) else { return Ok(None) };
            header.max_app_chunks = spare;
        }
        let mut meta = None;
        if self.meta_changed {
            let rewritten = match (&self.header.meta, &self.meta) {
                (Some(place), Some(json)) => place.rewrite(json)?,
                (None, None) => None,
                _ => return Ok(None),
            };
            match rewritten {
                Some((place, bytes)) if place.size() == self.header.meta.as_ref().map_or(0, |m| m.size()) => {
                    header.meta = Some(place);
                    meta = Some(bytes);
                }
                None if self.meta.is_none() => {}
                _ => return Ok(None),
            }
        }
        let Some((places, end)) = self.places(header.chunks_at()) else { return Ok(None) };
        let moved = |(slot, (at, _)): (&Slot, &(u64, u32))| !matches!(slot.place, Place::Main(a) if a == *at);
        let by_offsets = self.doubt.is_none() && self.offsets_are_right;
        let first = if by_offsets { self.slots.iter().zip(&places).position(moved).unwrap_or(places.len()) } else { 0 };
        let plan = InPlace { header, meta, places, first, end };
        let saved: u64 = self.ranges(&plan).iter().map(|r| r.end.min(self.size).saturating_sub(r.start)).sum();
        let worth = saved <= SAVED || saved <= self.size / 2;
        Ok(Some(plan).filter(|p| worth && self.ranges(p).len() < MOST_RANGES))
    }

    /// Where each chunk goes, if those that are in the file may stay where they are.
    fn places(&self, from: u64) -> Option<(Vec<(u64, u32)>, u64)> {
        let mut places = memory::with_room(self.slots.len()).ok()?;
        let (mut next, digest) = (from, self.header.checksum.size() as u64);
        let mut slots = self.slots.iter().peekable();
        while let Some(s) = slots.next() {
            let mut cbytes = s.cbytes;
            match (&s.place, slots.peek().map(|s| &s.place)) {
                (Place::Main(at), _) if *at == next => {}
                (Place::Main(_) | Place::Lost, _) => return None,
                (_, Some(Place::Main(then))) => {
                    // its length is given by the one behind it
                    cbytes = u32::try_from(then.checked_sub(next)?.checked_sub(digest)?).ok()?;
                    let wider = cbytes > s.cbytes && s.flags & 0x02 != 0;
                    if cbytes < s.cbytes || wider || i32::try_from(cbytes).is_err() {
                        return None;
                    }
                }
                _ => {}
            }
            places.push((next, cbytes));
            next += u64::from(cbytes) + digest;
        }
        Some((places, next))
    }

    /// The ranges that are written, rising and apart.
    fn ranges(&self, plan: &InPlace) -> Vec<Range<u64>> {
        let header = &plan.header;
        let mut all: Vec<Range<u64>> = Vec::new();
        all.push(0..header.size());
        if let Some(meta) = &plan.meta {
            all.push(header.size()..header.size() + meta.len() as u64);
        }
        let (from, to) = self.entries(plan);
        all.push(header.offsets_at() + from * ENTRY..header.offsets_at() + to * ENTRY);
        for (s, (at, cbytes)) in self.slots.iter().zip(&plan.places) {
            if !matches!(s.place, Place::Main(_)) {
                all.push(*at..*at + u64::from(*cbytes) + header.checksum.size() as u64);
            }
        }
        all.push(plan.end..plan.end + STALE.len() as u64);
        let mut out: Vec<Range<u64>> = Vec::new();
        for r in all.into_iter().filter(|r| !r.is_empty()) {
            match out.last_mut() {
                Some(last) if last.end == r.start => last.end = r.end,
                _ => out.push(r),
            }
        }
        out
    }

    /// The offsets that change.
    fn entries(&self, plan: &InPlace) -> (u64, u64) {
        if !plan.header.has_offsets {
            return (0, 0);
        }
        let was = self.header.nchunks.unwrap_or(0).min(self.header.offset_entries());
        let from = (plan.first as u64).min(was);
        (from, (plan.places.len() as u64).max(was))
    }

    fn write_in_place(&mut self, plan: InPlace) -> Result<()> {
        let Some(main) = self.main.clone() else { return Err(fail!(State, "no file")) };
        let change = Change::new(self.container.main.clone(), Some(&*main), self.ranges(&plan));
        let undo = match Undo::begin(&self.container, self.durable, &[change]) {
            Ok(undo) => undo,
            Err(e) => {
                // it may have been published, and must not be found beside another file that a later try swaps in
                self.broken |= journal::settle(&self.container, self.durable).is_err();
                return Err(e);
            }
        };
        match self.write_plan(&*main, &plan).and_then(|()| self.sync(&*main)) {
            Ok(()) => {
                let done = undo.commit();
                self.broken |= done.is_err();
                done?;
            }
            Err(e) => {
                self.broken |= undo.rollback().is_err();
                return Err(e);
            }
        }
        // it stands from here on; what it has in excess may go, and goes with the next commit where it cannot now
        let _ = main.set_size(if plan.end == self.size { plan.end + 1 } else { plan.end });
        self.go_on(Some(main), plan.header, plan.places, plan.end)
    }

    fn write_plan(&self, main: &dyn File, plan: &InPlace) -> Result<()> {
        // first the length: readers tell by it that something is about to be written over
        main.set_size(if plan.end > self.size { plan.end } else { self.size + 1 })?;
        for (s, (at, cbytes)) in self.slots.iter().zip(&plan.places) {
            if !matches!(s.place, Place::Main(_)) {
                main.write_at(*at, &self.bytes_of(s, *cbytes)?)?;
            }
        }
        if plan.end < self.size {
            // what is left of longer chunks must not look like one more
            let n = (self.size - plan.end).min(STALE.len() as u64) as usize;
            main.write_at(plan.end, STALE.get(..n).unwrap_or_default())?;
        }
        let (from, to) = self.entries(plan);
        if from < to {
            let used = plan.places.iter().skip(from as usize).map(|(at, _)| *at);
            main.write_at(plan.header.offsets_at() + from * ENTRY, &offsets::encode(used, to - from)?)?;
        }
        if let Some(meta) = &plan.meta {
            main.write_at(plan.header.size(), meta)?;
        }
        main.write_at(0, &plan.header.encode())
    }

    /// A chunk that waits, widened, with its digest.
    fn bytes_of(&self, s: &Slot, cbytes: u32) -> Result<Vec<u8>> {
        let n = self.stored_size(s) as usize;
        let mut bytes = memory::zeroed(n)?;
        match &s.place {
            Place::Memory(b) => bytes.copy_from_slice(b.get(..n).ok_or_else(|| fail!(State, "a short chunk"))?),
            Place::Part(at) => self.part.as_ref().ok_or_else(|| fail!(State, "no temporary file"))?.read_exact_at(*at, &mut bytes)?,
            Place::Main(_) | Place::Lost => return Err(fail!(State, "a chunk that does not wait")),
        }
        if cbytes > s.cbytes {
            bytes.truncate(s.cbytes as usize);
            if !widen(&mut bytes, cbytes - s.cbytes) {
                return Err(fail!(State, "a chunk that cannot be widened"));
            }
            bytes = seal(bytes, self.header.checksum)?;
        }
        Ok(bytes)
    }
}

/// No chunk begins like this.
const STALE: [u8; 16] = [0; 16];

fn copy_run(run: Option<(&Arc<dyn File>, Range<u64>)>, to: &dyn File, at: u64) -> Result<u64> {
    let Some((from, range)) = run else { return Ok(0) };
    let n = range.end - range.start;
    io::copy(&**from, range.start, to, at, n)?;
    Ok(n)
}

impl Drop for Bloscpack {
    /// What was not committed goes, as far as it can.
    fn drop(&mut self) {
        if self.owner == std::process::id() && self.part.take().is_some() {
            let _ = self.container.folder.remove_if_there(&part_name(&self.container));
        }
    }
}
