//! Commits: everything that was written counts at once, or nothing does.
//!
//! In one file, the new index and trailer go behind the new chunks, and these behind the trailer of
//! the last commit; then the header, in one write within one sector, says that they count. More
//! than that is written under the journal. In a folder, a new file with header, index and trailer
//! takes the place of the old one; chunk files that nobody needs then go.
//!
//! Where the length of the header changes, all chunks move, and where there are none any more, the
//! trailer does: then a new file takes the place of the old one, without the room that had no use.
#![forbid(unsafe_code)]

use super::checksums::{self, SUM, SUMS};
use super::entry::Entry;
use super::header::Header;
use super::index::{self, Slot};
use super::open::read_header;
use super::paged::PAGE;
use super::trailer::{TAIL, Trailer};
use super::{Committed, Frame, part_checksum};
use crate::alloc;
use crate::blosc::{self, Codec, Params, Target};
use crate::checksum::crc32;
use crate::error::{Result, fail};
use crate::io::journal::{self, Change, Piece, SAID, Swapped, Undo};
use crate::io::lock::Lock;
use crate::io::{self, Access, File, read_buffer};
use crate::os;
use crate::superchunk::buffer_pool::Buffers;
use std::ops::Range;
use std::sync::Arc;

/// What a disk writes as a whole.
const SECTOR: usize = 512;

/// The bytes of a commit but for the chunks.
struct Ends {
    head: Vec<u8>,
    /// Index and trailer.
    behind: Vec<u8>,
}

impl Frame {
    /// Makes all changes durable and visible, together. On failure the file is as the last commit
    /// left it; where that cannot be known, this handle refuses to go on, and whoever opens the
    /// file next finds it whole.
    pub fn commit(&mut self) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        self.writing.buffers = Buffers::default();
        if !self.writing.changed {
            return Ok(());
        }
        self.lock.still_held()?;
        if let Some(e) = self.doubts.first() {
            return Err(fail!(
                State,
                "{}: it is damaged ({e}); repair it first",
                self.name
            ));
        }
        if self.is_new() {
            self.refuse_existing()?
        } else {
            self.still_ours()?
        }
        self.find_sums()?;
        // of a frame without chunks the reference library looks for the trailer right behind the
        // header
        let is_bare = self.entries.is_empty() && self.next > 0;
        let moves = !self.site.sparse && (self.header.len() != self.base || is_bare);
        match (self.site.sparse, moves, self.is_new()) {
            (true, ..) => self.commit_folder(),
            (_, true, _) => self.rewrite(),
            (.., true) => self.finish_part(),
            _ => self.switch_header(),
        }
    }

    /// Was it never committed?
    pub(super) fn is_new(&self) -> bool {
        self.last.header.is_empty()
    }

    /// Refuses to write where somebody else has written, who cannot have had the lock.
    pub(super) fn still_ours(&self) -> Result<()> {
        let changed = || {
            fail!(
                State,
                "{}: another writer has changed it since it was opened here",
                self.name
            )
        };
        let file = self.file.as_ref().ok_or_else(changed)?;
        let mut tail = alloc::zeroed(self.last.tail.len())?;
        let there = self.site.folder.identity(&self.site.main())? == Some(file.identity());
        let same = there
            && read_header(&**file, 0, self.memory_limit)
                .is_ok_and(|head| head == self.last.header)
            && file.read_at(self.last.tail_at, &mut tail)? == tail.len()
            && tail == self.last.tail;
        if same { Ok(()) } else { Err(changed()) }
    }

    /// Every chunk that is stored gets a checksum, if there are any. What others have written is
    /// believed as it is.
    pub(super) fn find_sums(&mut self) -> Result<()> {
        if !self.sums {
            return Ok(());
        }
        for i in 0..self.entries.len() as u64 {
            let entry = self.entry(i)?;
            if entry.place().is_none()
                || (entry.has_sum() && (self.binding || !entry.is_to_be_checked()))
            {
                continue;
            }
            let (file, at, room) = self.place_of(&entry)?;
            let found = self
                .cbytes_of(i, &entry)
                .and_then(|n| match u64::from(n) <= room {
                    true => read_buffer::with_range(
                        &*file,
                        at,
                        n as usize,
                        self.memory_limit,
                        |bytes| Ok((n, crc32(bytes))),
                    ),
                    false => Err(fail!(
                        Format,
                        "it is longer than the {room} bytes that it can have"
                    )),
                });
            let (n, crc) = match found {
                Err(e) if super::open::is_damage(&e) => continue,
                r => r.map_err(|e| self.named(i, e))?,
            };
            if let Some(entry) = self.entries.get_mut(i as usize) {
                *entry = Entry::sound(entry.slot, n, Some(crc));
            }
        }
        self.binding = true;
        Ok(())
    }

    /// The bytes of a chunk that is stored.
    pub(super) fn cbytes_of(&self, i: u64, entry: &Entry) -> Result<u32> {
        match entry.length(self.binding) {
            Some(n) => Ok(n),
            None => Ok(self.open_chunk(i, entry)?.header().cbytes as u32),
        }
    }

    /// Header, index and trailer for the chunks that are there now, `cbytes` bytes of them.
    fn ends(&self, slots: &[Slot], cbytes: u64) -> Result<(Header, Ends)> {
        let mut header = self.header.clone();
        header.cbytes = cbytes;
        if self.site.sparse {
            let most = slots
                .iter()
                .filter_map(|s| if let Slot::At(n) = s { Some(*n) } else { None })
                .max();
            header.cbytes = if slots.is_empty() {
                0
            } else {
                cbytes.max(most.map_or(0, Header::least_cbytes))
            };
        }
        let index = if slots.is_empty() {
            Vec::new()
        } else {
            index::encode(slots)?
        };
        let mut trailer = Trailer::default();
        for meta in &self.vlmeta {
            trailer.vlmeta.push((meta.name.clone(), meta.chunk.clone()));
        }
        if self.sums && !slots.is_empty() {
            trailer.vlmeta.push((SUMS.to_owned(), self.sums_chunk()?));
        }
        header.has_vlmeta = !trailer.vlmeta.is_empty();
        let chunks = if self.site.sparse { 0 } else { header.cbytes };
        header.frame_len = header
            .len()
            .saturating_add(chunks)
            .saturating_add(index.len() as u64)
            .saturating_add(trailer.len());
        let (head, tail) = if self.sums {
            part_checksum::seal(&mut header, &index, &mut trailer)?
        } else {
            part_checksum::unseal(&mut header, &mut trailer);
            (header.encode()?, trailer.encode()?)
        };
        let mut behind = index;
        alloc::reserve(&mut behind, tail.len())?;
        behind.extend_from_slice(&tail);
        Ok((header, Ends { head, behind }))
    }

    fn sums_chunk(&self) -> Result<Vec<u8>> {
        let sums = checksums::encode(self.entries.len(), self.entries.iter().map(Entry::sum))?;
        let mut chunk = Vec::new();
        // readers look up some of them at a time
        let params = Params {
            blocksize: Some(PAGE as usize * 2 * SUM),
            ..Params::new(Target::Blosc2, Codec::Lz4, 5, SUM)
        };
        blosc::encode(&params, &sums, &mut chunk, 1)?;
        Ok(chunk)
    }

    fn slots(&self) -> Result<Vec<Slot>> {
        let mut slots = alloc::with_room(self.entries.len())?;
        slots.extend(self.entries.iter().map(|e| e.slot));
        Ok(slots)
    }

    // ---- one file

    /// New bytes behind those that count; then the header.
    fn switch_header(&mut self) -> Result<()> {
        let (header, ends) = self.ends(&self.slots()?, self.next)?;
        let file = self
            .file
            .clone()
            .ok_or_else(|| fail!(State, "{}: no file", self.name))?;
        let end = self.base.saturating_add(self.next);
        if let Err(e) = file
            .write_at(end, &ends.behind)
            .and_then(|()| self.sync(&*file))
        {
            // what counts is untouched; after a sync that failed nothing that waits can be trusted
            if self.writing.broken {
                self.cut_to_commit();
            } else {
                let _ = file.set_size(end);
            }
            return Err(e);
        }
        match one_sector(&self.last.header, &ends.head) {
            None => self.write_header_under_journal(&*file, &ends.head)?,
            Some(new) => {
                let write = |head: &[u8]| {
                    file.write_at(new.start as u64, head.get(new.clone()).unwrap_or_default())
                };
                if let Err(e) = write(&ends.head).and_then(|()| self.sync(&*file)) {
                    // what counts is as it was, if that can be said
                    let restored = write(&self.last.header).and_then(|()| self.sync(&*file));
                    self.writing.broken |= restored.is_err();
                    return Err(e);
                }
            }
        }
        // it stands from here on; what a commit that failed has left behind it may go
        if file.size().is_ok_and(|n| n > header.frame_len) {
            let _ = file.set_size(header.frame_len);
        }
        self.settle(file, header, ends);
        Ok(())
    }

    fn write_header_under_journal(&mut self, file: &dyn File, head: &[u8]) -> Result<()> {
        let (container, durable) = (self.site.container(), self.writing.durable);
        let size = file.size()?;
        let change = Change {
            name: container.main.clone(),
            file: Some(file),
            over: vec![0..head.len() as u64],
            lengths: size..=size,
            new: vec![Piece {
                at: 0,
                bytes: head.iter().copied().take(SAID).collect(),
            }],
        };
        let undo = match Undo::begin(&container, durable, &[change]) {
            Ok(undo) => undo,
            Err(e) => {
                // it may have been published, and must not be found beside another file that a
                // later try swaps in
                self.writing.broken |= journal::settle(&container, durable).is_err();
                return Err(e);
            }
        };
        match file.write_at(0, head).and_then(|()| self.sync(file)) {
            Ok(()) => {
                let done = undo.commit();
                self.writing.broken |= done.is_err();
                done
            }
            Err(e) => {
                self.writing.broken |= undo.rollback().is_err();
                Err(e)
            }
        }
    }

    /// Makes the file in which the chunks have waited the new one.
    fn finish_part(&mut self) -> Result<()> {
        let (header, ends) = self.ends(&self.slots()?, self.next)?;
        let file = self
            .file
            .clone()
            .ok_or_else(|| fail!(State, "{}: no file", self.name))?;
        file.write_at(self.base.saturating_add(self.next), &ends.behind)?;
        file.write_at(0, &ends.head)?;
        // what a write that failed has left behind them belongs to nothing
        file.set_size(header.frame_len)?;
        self.sync(&*file)?;
        let (folder, waiting, new) = (
            self.site.folder.clone(),
            self.site.part(),
            self.site.container().new_name(""),
        );
        let swapped = folder.rename(&waiting, &new).and_then(|()| self.swap());
        if swapped.is_err() && !self.writing.broken && !folder.exists(&waiting).unwrap_or(false) {
            // it goes on waiting, for another try
            self.writing.broken |= folder.rename(&new, &waiting).is_err();
        }
        swapped?;
        self.settle(file, header, ends);
        Ok(())
    }

    /// Writes a new file, with the chunks behind each other, and swaps it in.
    pub(super) fn rewrite(&mut self) -> Result<()> {
        let (slots, sizes, cbytes) = self.places_anew()?;
        let (header, ends) = self.ends(&slots, cbytes)?;
        let new = self.site.container().new_name("");
        let file = self.site.container().create(&new)?;
        let written = self
            .write_all(&*file, &slots, &sizes, &header, &ends)
            .and_then(|()| self.sync(&*file));
        if let Err(e) = written.and_then(|()| self.swap()) {
            let _ = self.site.folder.remove_if_there(&new);
            return Err(e);
        }
        if self.is_new() {
            let _ = self.site.folder.remove_if_there(&self.site.part());
        }
        for (entry, (slot, n)) in self.entries.iter_mut().zip(slots.into_iter().zip(sizes)) {
            (entry.slot, entry.cbytes) = (slot, n);
        }
        self.forget();
        (self.base, self.next) = (header.len(), cbytes);
        self.settle(file, header, ends);
        Ok(())
    }

    /// Where each chunk goes, how long it is, and where the last ends.
    fn places_anew(&self) -> Result<(Vec<Slot>, Vec<u32>, u64)> {
        let (mut slots, mut sizes, mut next) =
            (self.slots()?, alloc::with_room(self.entries.len())?, 0u64);
        for (i, (slot, entry)) in slots.iter_mut().zip(&self.entries).enumerate() {
            let n = if entry.place().is_some() {
                self.cbytes_of(i as u64, entry)
                    .map_err(|e| self.named(i as u64, e))?
            } else {
                0
            };
            if let Slot::At(place) = slot {
                *place = next;
            }
            next = next.saturating_add(n.into());
            sizes.push(n);
        }
        Ok((slots, sizes, next))
    }

    fn write_all(
        &self,
        to: &dyn File,
        slots: &[Slot],
        sizes: &[u32],
        header: &Header,
        ends: &Ends,
    ) -> Result<()> {
        to.write_at(0, &ends.head)?;
        let base = header.len();
        // chunks that stand behind each other go together
        let mut run: Option<(Arc<dyn File>, u64, u64, u64)> = None;
        for ((entry, slot), n) in self.entries.iter().zip(slots).zip(sizes) {
            let Slot::At(place) = slot else { continue };
            let (file, from, n) = (
                self.place_of(entry)?,
                base.saturating_add(*place),
                u64::from(*n),
            );
            match &mut run {
                Some((f, at, _, len))
                    if Arc::ptr_eq(f, &file.0) && at.saturating_add(*len) == file.1 =>
                {
                    *len += n
                }
                _ => {
                    if let Some((f, at, to_at, len)) = run.replace((file.0, file.1, from, n)) {
                        io::copy(&*f, at, to, to_at, len)?;
                    }
                }
            }
        }
        if let Some((f, at, to_at, len)) = run {
            io::copy(&*f, at, to, to_at, len)?;
        }
        to.write_at(base.saturating_add(header.cbytes), &ends.behind)
    }

    // ---- a folder

    fn commit_folder(&mut self) -> Result<()> {
        let (header, ends) = self.ends(
            &self.slots()?,
            self.chunk_files().unwrap_or(self.header.cbytes),
        )?;
        if self.writing.durable {
            for number in self.writing.fresh.clone() {
                let file = self
                    .site
                    .folder
                    .open(&self.site.chunk(number), Access::Write)?;
                self.sync(&*file)?;
            }
            // the names of chunks before that of the index: a folder may keep the later of two
            // alone
            if !self.writing.fresh.is_empty() {
                self.site.folder.sync_in(io::parent(&self.site.main()))?;
            }
            if let Some((above, _)) = self.writing.made.as_ref().filter(|_| self.is_new()) {
                above.sync()?;
            }
        }
        let new = self.site.container().new_name("");
        let file = self.site.container().create(&new)?;
        let written = file
            .write_at(0, &ends.head)
            .and_then(|()| file.write_at(header.len(), &ends.behind))
            .and_then(|()| self.sync(&*file));
        if let Err(e) = written.and_then(|()| self.swap()) {
            let _ = self.site.folder.remove_if_there(&new);
            return Err(e);
        }
        let (before, fresh) = (
            std::mem::take(&mut self.writing.files),
            std::mem::take(&mut self.writing.fresh),
        );
        self.settle(file, header, ends);
        for number in before
            .iter()
            .chain(&fresh)
            .filter(|n| self.writing.files.binary_search(n).is_err())
        {
            let _ = self.site.folder.remove_if_there(&self.site.chunk(*number));
        }
        Ok(())
    }

    // ---- all of them

    /// Cuts off what stands behind the last commit, of a frame in one file: it does not count. To
    /// be called only as long as that commit is known to be what counts.
    pub(super) fn cut_to_commit(&self) {
        let Some(file) = self
            .file
            .as_ref()
            .filter(|_| !self.site.sparse && !self.is_new())
        else {
            return;
        };
        let end = self
            .last
            .tail_at
            .saturating_add(self.last.tail.len() as u64);
        if file.size().is_ok_and(|n| n > end) && self.still_ours().is_ok() {
            let _ = file.set_size(end);
        }
    }

    fn swap(&mut self) -> Result<()> {
        let swapped = journal::swap(&self.site.container(), self.writing.durable, &[""], &[]);
        self.writing.broken |= matches!(swapped, Swapped::Counts | Swapped::Unsure(_));
        if matches!(swapped, Swapped::Unsure(_)) {
            // the new index may be what counts, and then needs its chunks
            self.writing.fresh.clear();
        }
        match swapped {
            Swapped::Nothing(e) | Swapped::Unsure(e) => Err(e),
            Swapped::Done | Swapped::Counts => Ok(()),
        }
    }

    /// The commit stands; goes on from it.
    fn settle(&mut self, file: Arc<dyn File>, header: Header, ends: Ends) {
        // the caller's storage knows files by their names, and this one has another now
        let file = match self.site.folder.is_foreign() {
            true => self
                .site
                .folder
                .open(&self.site.main(), Access::Write)
                .unwrap_or_else(|_| {
                    self.writing.broken = true;
                    file
                }),
            false => file,
        };
        let begin = ends.behind.len().saturating_sub(TAIL);
        self.last = Committed {
            tail: ends.behind.get(begin..).unwrap_or_default().to_vec(),
            tail_at: header.frame_len - (ends.behind.len() - begin) as u64,
            header: ends.head,
            stamp: (0, 0),
            grows: self.sums && !self.site.sparse,
        };
        if !self.site.sparse {
            self.next = header.frame_len - header.len();
        }
        (self.header, self.file, self.writing.changed) = (header, Some(file), false);
        self.settle_places();
    }

    /// Makes what was written to a file durable, if that is wished.
    fn sync(&mut self, file: &dyn File) -> Result<()> {
        let done = if self.writing.durable {
            file.sync()
        } else {
            Ok(())
        };
        // the system may have thrown away what it could not write, and says so once
        self.writing.broken |= done.is_err();
        done
    }
}

/// The bytes of a header that change, if one sector has them all.
fn one_sector(old: &[u8], new: &[u8]) -> Option<Range<usize>> {
    let differs = |(a, b): (&u8, &u8)| a != b;
    let first = old.iter().zip(new).position(differs).unwrap_or(0);
    let last = old.iter().zip(new).rposition(differs).unwrap_or(first);
    (first / SECTOR == last / SECTOR && old.len() == new.len())
        .then_some(first..(last + 1).min(new.len()))
}

impl Drop for Frame {
    /// What was not committed goes, as far as it can.
    fn drop(&mut self) {
        if self.owner != os::process() {
            return;
        }
        let folder = self.site.folder.clone();
        for number in std::mem::take(&mut self.writing.fresh) {
            let _ = folder.remove_if_there(&self.site.chunk(number));
        }
        if !self.is_new() {
            // after a commit that may count, its bytes may be what counts
            if self.writing.changed && !self.writing.broken {
                self.cut_to_commit();
            }
            return;
        }
        if !self.site.sparse {
            let _ = folder.remove_if_there(&self.site.part());
        } else if let Some((above, name)) = self.writing.made.take() {
            // the lock is a file in it
            self.lock = Lock::none();
            let _ = above.remove_folder(&name);
        }
    }
}
