//! Commits: all pending changes become durable and visible together, or none of them does.
//!
//! In a contiguous frame, a commit writes the new index and trailer after the new chunks, which are
//! after the trailer of the last commit. One write to the header, within one sector, then makes
//! them visible. A larger change of the header is protected by the journal. In a sparse frame, a
//! new file with header, index and trailer replaces the old one; unreferenced chunk files are then
//! removed.
//!
//! If the length of the header changes, all chunks move. If no chunk is left, the trailer moves. In
//! both cases a new file without unused space replaces the old one.
#![forbid(unsafe_code)]

use super::checksums::{self, CHECKSUMS, INTEGER_BYTES};
use super::entry::Entry;
use super::header::Header;
use super::index::{self, IndexSlot};
use super::open::read_header;
use super::paged::PAGE;
use super::trailer::{TAIL, Trailer};
use super::{Committed, Frame, part_checksum};
use crate::alloc;
use crate::blosc::{self, Codec, Params, Target};
use crate::checksum::crc32;
use crate::error::{Result, fail};
use crate::io::journal::{Change, SAMPLE_BYTES, Sample, Session, changed_by_others};
use crate::io::{self, Access, File, read_buffer};
use crate::slice::SliceExt;
use crate::superchunk::buffer_pool::BufferPool;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that a disk writes atomically.
const SECTOR: usize = 512;

/// The bytes of a commit except the chunks.
struct EncodedParts {
    head: Vec<u8>,
    /// Index and trailer.
    index_and_trailer: Vec<u8>,
}

impl Frame {
    /// Makes all changes durable and visible together. On failure the file is as the last commit
    /// left it. If that is not certain, this handle refuses to continue; the next open finds a
    /// consistent file.
    pub fn commit(&mut self) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        self.writing.buffers = BufferPool::default();
        if !self.writing.changed {
            return Ok(());
        }
        self.session()?.check_commit()?;
        if let Some(e) = self.corruption.first() {
            return Err(fail!(
                State,
                "{}: the frame is corrupt ({e}); repair it first",
                self.name
            ));
        }
        if self.is_new() {
            self.refuse_existing()?
        } else {
            self.check_sole_writer()?
        }
        self.compute_missing_checksums()?;
        // without chunks, the reference library expects the trailer directly after the header
        let is_bare = self.entries.is_empty() && self.next > 0;
        let moves = !self.storage.sparse && (self.header.len() != self.base || is_bare);
        match (self.storage.sparse, moves, self.is_new()) {
            (true, ..) => self.commit_folder(),
            (_, true, _) => self.rewrite(),
            (.., true) => self.publish_new(),
            _ => self.switch_header(),
        }
    }

    /// Was the frame never committed?
    pub(super) fn is_new(&self) -> bool {
        self.last.header.is_empty()
    }

    /// Fails if another writer, which did not hold the lock, has changed the file.
    pub(super) fn check_sole_writer(&self) -> Result<()> {
        let session = self.session()?;
        let file = self.file.as_ref();
        let file = file.ok_or_else(|| changed_by_others(&self.name))?;
        session.check_unchanged(&self.storage.main(), &**file, || {
            let mut tail = alloc::zeroed(self.last.tail.len())?;
            Ok(read_header(&**file, 0, self.memory_limit)
                .is_ok_and(|head| head == self.last.header)
                && file.read_at(self.last.tail_at, &mut tail)? == tail.len()
                && tail == self.last.tail)
        })
    }

    /// Computes the missing checksums of stored chunks, if the frame has checksums. Chunks of other
    /// writers are assumed to be intact.
    pub(super) fn compute_missing_checksums(&mut self) -> Result<()> {
        if !self.checksums {
            return Ok(());
        }
        for i in 0..self.entries.len() as u64 {
            let entry = self.entry(i)?;
            if entry.position().is_none()
                || (entry.has_checksum() && (self.checksums_trusted || !entry.is_unverified()))
            {
                continue;
            }
            let (file, at, room) = self.locate_chunk(&entry)?;
            let found = self
                .cbytes_of(i, &entry)
                .and_then(|n| match u64::from(n) <= room {
                    true => read_buffer::read(&*file, at, n as usize, self.memory_limit)
                        .map(|bytes| (n, crc32(&bytes))),
                    false => Err(fail!(
                        Format,
                        "it is longer than the {room} bytes available for it"
                    )),
                });
            let (n, crc) = match found {
                Err(e) if e.status.is_corruption() => continue,
                r => r.map_err(|e| self.chunk_error(i, e))?,
            };
            let entry = self.entries.at_mut(i as usize)?;
            *entry = Entry::verified(entry.slot, n, Some(crc));
        }
        self.checksums_trusted = true;
        Ok(())
    }

    /// Returns the stored bytes of a chunk.
    pub(super) fn cbytes_of(&self, i: u64, entry: &Entry) -> Result<u32> {
        match entry.length(self.checksums_trusted) {
            Some(n) => Ok(n),
            None => Ok(self.open_chunk(i, entry)?.stored.header().cbytes as u32),
        }
    }

    /// Encodes header, index and trailer for the current chunks, which have `cbytes` bytes.
    fn encode_parts(&self, slots: &[IndexSlot], cbytes: u64) -> Result<(Header, EncodedParts)> {
        let mut header = self.header.clone();
        header.cbytes = cbytes;
        if self.storage.sparse {
            let most = slots
                .iter()
                .filter_map(|s| {
                    if let IndexSlot::At(n) = s {
                        Some(*n)
                    } else {
                        None
                    }
                })
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
        if self.checksums && !slots.is_empty() {
            trailer
                .vlmeta
                .push((CHECKSUMS.to_owned(), self.checksums_chunk()?));
        }
        header.has_vlmeta = !trailer.vlmeta.is_empty();
        let chunks = if self.storage.sparse {
            0
        } else {
            header.cbytes
        };
        header.frame_len = header
            .len()
            .saturating_add(chunks)
            .saturating_add(index.len() as u64)
            .saturating_add(trailer.len());
        let (head, tail) = if self.checksums {
            part_checksum::seal(&mut header, &index, &mut trailer)?
        } else {
            part_checksum::unseal(&mut header, &mut trailer);
            (header.encode()?, trailer.encode()?)
        };
        let mut index_and_trailer = index;
        alloc::reserve(&mut index_and_trailer, tail.len())?;
        index_and_trailer.extend_from_slice(&tail);
        Ok((
            header,
            EncodedParts {
                head,
                index_and_trailer,
            },
        ))
    }

    fn checksums_chunk(&self) -> Result<Vec<u8>> {
        let checksums =
            checksums::encode(self.entries.len(), self.entries.iter().map(Entry::checksum))?;
        let mut chunk = Vec::new();
        // readers look up a few checksums at a time
        let params = Params {
            blocksize: Some(PAGE as usize * 2 * INTEGER_BYTES),
            ..Params::new(Target::Blosc2, Codec::Lz4, 5, INTEGER_BYTES)
        };
        blosc::encode(&params, &checksums, &mut chunk, 1)?;
        Ok(chunk)
    }

    fn slots(&self) -> Result<Vec<IndexSlot>> {
        let mut slots = alloc::with_capacity(self.entries.len())?;
        slots.extend(self.entries.iter().map(|e| e.slot));
        Ok(slots)
    }

    // ---- contiguous frames

    /// Writes index and trailer after the committed data, then the header.
    fn switch_header(&mut self) -> Result<()> {
        let (header, parts) = self.encode_parts(&self.slots()?, self.next)?;
        let file = self
            .file
            .clone()
            .ok_or_else(|| fail!(State, "{}: the frame has no file", self.name))?;
        let end = self.base.saturating_add(self.next);
        let session = self.session()?;
        if let Err(e) = file
            .write_at(end, &parts.index_and_trailer)
            .and_then(|()| session.sync(&*file))
        {
            // committed data is untouched; after a failed sync the pending data cannot be trusted
            if session.is_broken() {
                self.truncate_to_commit();
            } else {
                let _ = file.set_size(end);
            }
            return Err(e);
        }
        match one_sector(&self.last.header, &parts.head) {
            None => self.write_header_under_journal(&*file, &parts.head)?,
            Some(new) => {
                let write = |head: &[u8]| file.write_at(new.start as u64, head.at(new.clone())?);
                if let Err(e) = write(&parts.head).and_then(|()| session.sync(&*file)) {
                    // restore the committed header, if possible
                    let restored = write(&self.last.header).and_then(|()| session.sync(&*file));
                    if restored.is_err() {
                        session.mark_broken();
                    }
                    return Err(e);
                }
            }
        }
        // the commit is done; leftovers of a failed commit after it can be removed
        if file.size().is_ok_and(|n| n > header.frame_len) {
            let _ = file.set_size(header.frame_len);
        }
        self.continue_from(file, header, parts);
        Ok(())
    }

    fn write_header_under_journal(&self, file: &dyn File, head: &[u8]) -> Result<()> {
        let session = self.session()?;
        let size = file.size()?;
        let change = Change {
            name: session.container().main.clone(),
            file: Some(file),
            overwritten: vec![0..head.len() as u64],
            lengths: size..=size,
            samples: vec![Sample {
                at: 0,
                bytes: head.iter().copied().take(SAMPLE_BYTES).collect(),
            }],
        };
        let undo = session.begin(&[change])?;
        let written = file.write_at(0, head).and_then(|()| session.sync(file));
        session.finish(undo, written)
    }

    /// Makes the temporary file with the chunks the new frame.
    fn publish_new(&mut self) -> Result<()> {
        let (header, parts) = self.encode_parts(&self.slots()?, self.next)?;
        let file = self
            .file
            .clone()
            .ok_or_else(|| fail!(State, "{}: the frame has no file", self.name))?;
        file.write_at(
            self.base.saturating_add(self.next),
            &parts.index_and_trailer,
        )?;
        file.write_at(0, &parts.head)?;
        // remove leftovers of a failed write
        file.set_size(header.frame_len)?;
        let session = self.session()?;
        session.sync(&*file)?;
        session.swap_in(&self.storage.temporary_file())?;
        self.continue_from(file, header, parts);
        Ok(())
    }

    /// Writes a new file without unused space and swaps it in.
    pub(super) fn rewrite(&mut self) -> Result<()> {
        let (slots, sizes, cbytes) = self.new_layout()?;
        let (header, parts) = self.encode_parts(&slots, cbytes)?;
        let new = self.storage.container().new_name("");
        let file = self.storage.container().create(&new)?;
        let written = self
            .write_all(&*file, &slots, &sizes, &header, &parts)
            .and_then(|()| self.session()?.sync(&*file));
        if let Err(e) = written.and_then(|()| self.swap()) {
            let _ = self.storage.folder.remove_if_there(&new);
            return Err(e);
        }
        if self.is_new() {
            let _ = self
                .storage
                .folder
                .remove_if_there(&self.storage.temporary_file());
        }
        for (entry, (slot, n)) in self.entries.iter_mut().zip(slots.into_iter().zip(sizes)) {
            (entry.slot, entry.cbytes) = (slot, n);
        }
        self.clear_caches();
        (self.base, self.next) = (header.len(), cbytes);
        self.continue_from(file, header, parts);
        Ok(())
    }

    /// Returns the new offset and the length of each chunk, and the end of the last chunk.
    fn new_layout(&self) -> Result<(Vec<IndexSlot>, Vec<u32>, u64)> {
        let (mut slots, mut sizes, mut next) = (
            self.slots()?,
            alloc::with_capacity(self.entries.len())?,
            0u64,
        );
        for (i, (slot, entry)) in slots.iter_mut().zip(&self.entries).enumerate() {
            let n = if entry.position().is_some() {
                self.cbytes_of(i as u64, entry)
                    .map_err(|e| self.chunk_error(i as u64, e))?
            } else {
                0
            };
            if let IndexSlot::At(offset) = slot {
                *offset = next;
            }
            next = next.saturating_add(n.into());
            sizes.push(n);
        }
        Ok((slots, sizes, next))
    }

    fn write_all(
        &self,
        to: &dyn File,
        slots: &[IndexSlot],
        sizes: &[u32],
        header: &Header,
        parts: &EncodedParts,
    ) -> Result<()> {
        to.write_at(0, &parts.head)?;
        let base = header.len();
        // copy adjacent chunks together
        let mut run: Option<(Arc<dyn File>, u64, u64, u64)> = None;
        for ((entry, slot), n) in self.entries.iter().zip(slots).zip(sizes) {
            let IndexSlot::At(offset) = slot else {
                continue;
            };
            let (file, from, n) = (
                self.locate_chunk(entry)?,
                base.saturating_add(*offset),
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
        to.write_at(base.saturating_add(header.cbytes), &parts.index_and_trailer)
    }

    // ---- sparse frames

    fn commit_folder(&mut self) -> Result<()> {
        let (header, parts) = self.encode_parts(
            &self.slots()?,
            self.chunk_files().unwrap_or(self.header.cbytes),
        )?;
        let session = self.session()?;
        if session.is_durable() {
            for number in &self.writing.uncommitted {
                let path = self.storage.chunk_path(*number);
                session.sync(&*self.storage.folder.open(&path, Access::Write)?)?;
            }
            // sync the names of the chunk files before the name of the index: a folder may preserve
            // the later of two changes only
            if !self.writing.uncommitted.is_empty() {
                self.storage
                    .folder
                    .sync_in(io::parent(&self.storage.main()))?;
            }
            session.sync_created_folder()?;
        }
        let new = self.storage.container().new_name("");
        let file = self.storage.container().create(&new)?;
        let written = file
            .write_at(0, &parts.head)
            .and_then(|()| file.write_at(header.len(), &parts.index_and_trailer))
            .and_then(|()| self.session()?.sync(&*file));
        if let Err(e) = written.and_then(|()| self.swap()) {
            let _ = self.storage.folder.remove_if_there(&new);
            return Err(e);
        }
        let (before, uncommitted) = (
            std::mem::take(&mut self.writing.files),
            std::mem::take(&mut self.writing.uncommitted),
        );
        self.continue_from(file, header, parts);
        for number in before
            .iter()
            .chain(&uncommitted)
            .filter(|n| self.writing.files.binary_search(n).is_err())
        {
            let _ = self
                .storage
                .folder
                .remove_if_there(&self.storage.chunk_path(*number));
        }
        Ok(())
    }

    // ---- all frames

    /// Truncates a contiguous frame to its last commit. Must be called only while that commit is
    /// known to be the current one.
    pub(super) fn truncate_to_commit(&self) {
        let Some(file) = self
            .file
            .as_ref()
            .filter(|_| !self.storage.sparse && !self.is_new())
        else {
            return;
        };
        let end = self
            .last
            .tail_at
            .saturating_add(self.last.tail.len() as u64);
        if file.size().is_ok_and(|n| n > end) && self.check_sole_writer().is_ok() {
            let _ = file.set_size(end);
        }
    }

    fn swap(&mut self) -> Result<()> {
        let session = self.session()?;
        let swapped = session.swap(&[self.storage.main()], &[]);
        if swapped.is_err() && session.is_broken() {
            // the new index may be the current one, which needs its chunk files
            self.writing.uncommitted.clear();
        }
        swapped
    }

    /// Continues from the new commit.
    fn continue_from(&mut self, file: Arc<dyn File>, header: Header, parts: EncodedParts) {
        // storage of the caller knows files by name, and the name has changed
        let file = match self.storage.folder.is_foreign() {
            true => self
                .storage
                .folder
                .open(&self.storage.main(), Access::Write)
                .unwrap_or_else(|_| {
                    self.session.iter().for_each(Session::mark_broken);
                    file
                }),
            false => file,
        };
        let mut tail = parts.index_and_trailer;
        tail.drain(..tail.len().saturating_sub(TAIL));
        self.last = Committed {
            tail_at: header.frame_len - tail.len() as u64,
            tail,
            header: parts.head,
            stamp: (0, 0),
            may_grow: self.checksums && !self.storage.sparse,
        };
        if !self.storage.sparse {
            self.next = header.frame_len - header.len();
        }
        (self.header, self.file, self.writing.changed) = (header, Some(file), false);
        self.protect_committed();
    }
}

/// Returns the range of the header bytes that change, if they are within one sector.
fn one_sector(old: &[u8], new: &[u8]) -> Option<Range<usize>> {
    let differs = |(a, b): (&u8, &u8)| a != b;
    let first = old.iter().zip(new).position(differs).unwrap_or(0);
    let last = old.iter().zip(new).rposition(differs).unwrap_or(first);
    (first / SECTOR == last / SECTOR && old.len() == new.len())
        .then_some(first..(last + 1).min(new.len()))
}

impl Drop for Frame {
    /// Removes uncommitted data as far as possible.
    fn drop(&mut self) {
        let Some(session) = self.session.as_ref().filter(|s| s.is_own()) else {
            return;
        };
        let folder = &self.storage.folder;
        for number in std::mem::take(&mut self.writing.uncommitted) {
            let _ = folder.remove_if_there(&self.storage.chunk_path(number));
        }
        if self.is_new() {
            if !self.storage.sparse {
                let _ = folder.remove_if_there(&self.storage.temporary_file());
            }
        } else if self.writing.changed && !session.is_broken() {
            // after an uncertain commit, the bytes may be committed data
            self.truncate_to_commit();
        }
    }
}
