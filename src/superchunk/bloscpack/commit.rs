//! Commits: everything that waits counts at once, or nothing does.
//!
//! Readers of this format walk from chunk to chunk, so chunks stand in the order of their content
//! without gaps. Where the new state fits into the file like that (appends; changed chunks that are
//! not longer than before, and are widened to their old length; offsets and metadata that fit into
//! their room), it is written in place, under the journal. Else a new file is written and swapped
//! in: a new file and one that is replaced always are, and then the chunks that waited in the
//! temporary file need not be copied.
#![forbid(unsafe_code)]

use super::chunk_list::{Place, Slot};
use super::header::{Dialect, ENTRY, Header};
use super::metadata::{self, Section};
use super::open::part_name;
use super::{Bloscpack, DEFAULT_CHUNK, offsets};
use crate::error::{Result, fail};
use crate::io::journal::{self, Swapped};
use crate::io::{self, Access, File};
use crate::options::Opt;
use crate::os;
use std::ops::Range;
use std::sync::Arc;

/// Offsets that a new file has room for at first.
const ENTRIES: u64 = 1022;
/// Offsets kept free, in numbers of chunks, as Bloscpack does; and how many at least.
const SPARE: u64 = 10;
const LEAST_SPARE: u64 = 50;
/// A new file may have this part of its chunks' bytes in offsets that it is not likely to need.
const WASTE: u64 = 16;

impl Bloscpack {
    /// Makes all changes durable and visible, together. On failure the file is as the last commit
    /// left it; where that cannot be known, this handle refuses to go on, and whoever opens the
    /// file next finds it whole.
    pub fn commit(&mut self) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        if self.main.is_some() && !self.changed {
            return Ok(());
        }
        self.lock.still_held()?;
        if self.missing > 0 || self.slots.iter().any(|s| matches!(s.place, Place::Lost)) {
            return Err(fail!(
                State,
                "{}: chunks of it are lost; repair it first",
                self.name()
            ));
        }
        if let Some(e) = &self.meta_damage {
            // a file that is written anew would lose them without a word
            return Err(fail!(
                State,
                "{}: its metadata are damaged ({e}); set them anew, or repair it first",
                self.name()
            ));
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
        let Some(main) = &self.main else {
            return Ok(());
        };
        let there = self.container.folder.identity(&self.container.main)? == Some(main.identity());
        if there && main.size()? == self.size {
            return Ok(());
        }
        Err(fail!(
            State,
            "{}: another writer has changed it since it was opened here",
            self.name()
        ))
    }

    // ---- what the header says

    /// The header for the chunks that are there now.
    pub(super) fn next_header(&self) -> Header {
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
        let Some(json) = &self.meta else {
            return Ok(None);
        };
        if let Some(fits) = self
            .header
            .meta
            .as_ref()
            .map(|m| m.rewrite(json))
            .transpose()?
            .flatten()
        {
            return Ok(Some(fits));
        }
        if self.paper() {
            return metadata::encode_rfc(json, false).map(Some);
        }
        metadata::section(
            json,
            None,
            &Section::new(metadata::DEFAULT_SUM, metadata::DEFAULT_LEVEL),
        )
        .map(Some)
    }

    /// Room before the first chunk of a new file: nobody knows yet how many offsets it is going to
    /// have.
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
                    let Some(room) = at
                        .checked_sub(header.offsets_at())
                        .filter(|r| r % ENTRY == 0)
                    else {
                        return Ok(None);
                    };
                    let Some(spare) = (room / ENTRY).checked_sub(n) else {
                        return Ok(None);
                    };
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

    /// Header and all, if the chunks stand in the temporary file as they are to stand in the new
    /// one.
    fn around_part(&self) -> Result<Option<(Header, Vec<u8>)>> {
        let Some(Slot {
            place: Place::Part(first),
            ..
        }) = self.slots.iter().next()
        else {
            return Ok(None);
        };
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
        self.options
            .given(Opt::SpareChunks)
            .map_or_else(|| usual_spare(self.slots.len() as u64), |n| n as u64)
    }

    pub(super) fn stored_size(&self, s: &Slot) -> u64 {
        u64::from(s.cbytes) + self.header.checksum.size() as u64
    }

    /// Makes the temporary file the new one.
    fn finish_part(&mut self, header: Header, head: &[u8]) -> Result<()> {
        let Some(part) = self.part.clone() else {
            return Err(fail!(State, "no temporary file"));
        };
        part.write_at(0, head)?;
        // what a write that failed has left behind the chunks belongs to none
        part.set_size(self.part_end)?;
        self.sync(&*part)?;
        let (folder, waiting, new) = (
            self.container.folder.clone(),
            part_name(&self.container),
            self.container.new_name(""),
        );
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
        let Some((header, head)) = self.head(None)? else {
            return Err(fail!(State, "no place for the header"));
        };
        let new = self.container.new_name("");
        let file = self.container.create(&new)?;
        let written = self
            .write_all(&*file, &head)
            .and_then(|()| self.sync(&*file));
        if let Err(e) = written {
            let _ = self.container.folder.remove_if_there(&new);
            return Err(e);
        }
        drop(file);
        if let Err(e) = self.swap() {
            // as onto a folder, whose place a file does not take
            if !self.broken {
                let _ = self.container.folder.remove_if_there(&new);
            }
            return Err(e);
        }
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
        let opened = self
            .container
            .folder
            .open(&self.container.main, Access::Write);
        self.broken |= opened.is_err();
        self.go_on(opened.ok(), header, places, next)
    }

    pub(super) fn go_on(
        &mut self,
        main: Option<Arc<dyn File>>,
        header: Header,
        places: Vec<(u64, u32)>,
        end: u64,
    ) -> Result<()> {
        self.slots.settle(places);
        self.header = header;
        self.end = end;
        self.size = main
            .as_ref()
            .map_or(Ok(0), |m| m.size())
            .unwrap_or(u64::MAX);
        self.main = main;
        if self.part.take().is_some() {
            let _ = self
                .container
                .folder
                .remove_if_there(&part_name(&self.container));
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
    pub(super) fn sync(&mut self, file: &dyn File) -> Result<()> {
        let done = if self.durable { file.sync() } else { Ok(()) };
        // the system may have thrown away what it could not write, and says so once
        self.broken |= done.is_err();
        done
    }
}

/// Offsets that a file of so many chunks keeps free, if nothing else is said.
pub(super) fn usual_spare(chunks: u64) -> u64 {
    chunks.saturating_mul(SPARE).max(LEAST_SPARE)
}

fn copy_run(run: Option<(&Arc<dyn File>, Range<u64>)>, to: &dyn File, at: u64) -> Result<u64> {
    let Some((from, range)) = run else {
        return Ok(0);
    };
    let n = range.end - range.start;
    io::copy(&**from, range.start, to, at, n)?;
    Ok(n)
}

impl Drop for Bloscpack {
    /// What was not committed goes, as far as it can.
    fn drop(&mut self) {
        if self.owner == os::process() && self.part.take().is_some() {
            let _ = self
                .container
                .folder
                .remove_if_there(&part_name(&self.container));
        }
    }
}
