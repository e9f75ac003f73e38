//! Commits: all pending changes become durable and visible together, or none of them does.
//!
//! In a contiguous frame, a commit writes the new index and trailer after the new chunks, which are
//! after the trailer of the last commit. One write to the header, within one sector, then makes
//! them visible. A larger change of the header is protected by the journal. A small commit to a
//! long frame writes less: see [`super::small_commit`]. In a sparse frame, a new file with header,
//! index and trailer replaces the old one; unreferenced chunk files are then removed.
//!
//! If the length of the header changes, all chunks move. If no chunk is left, the trailer moves. In
//! both cases a new file without unused space replaces the old one.
#![forbid(unsafe_code)]

use super::checksums::{self, CHECKSUMS};
use super::files::FrameFiles;
use super::header::Header;
use super::index::IndexSlot;
use super::index::entry::Entry;
use super::layout::FrameLayout;
use super::parts::{Committed, EncodedParts};
use super::read::FrameReader;
use super::trailer::Trailer;
use super::write::FrameWriter;
use crate::alloc;
use crate::blosc;
use crate::checksum::crc32;
use crate::error::{Result, fail};
use crate::io::journal::{Change, SAMPLE_BYTES, Sample};
use crate::io::{self, Access, File, read_buffer};
use crate::slice::SliceExt;
use crate::superchunk::buffer_pool::BufferPool;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that a disk writes atomically.
const SECTOR: usize = 512;

impl FrameWriter {
    /// Makes all changes durable and visible together. On failure the file is as the last commit
    /// left it. If that is not certain, this handle refuses to continue; the next open finds a
    /// consistent file.
    pub(super) fn commit(&mut self) -> Result<()> {
        if !self.prepare_commit()? {
            return Ok(());
        }
        let files = &self.reader.files;
        match (files.storage.sparse, self.moves(), files.is_new()) {
            (true, ..) => self.commit_folder(),
            (_, true, _) => self.rewrite(),
            (.., true) => self.publish_new(),
            _ => self.commit_in_file(),
        }
    }

    /// Writes pending content, and checks that the frame may be committed. Returns false if there is
    /// nothing to commit.
    pub(super) fn prepare_commit(&mut self) -> Result<bool> {
        self.flush()?;
        self.buffers = BufferPool::default();
        if !self.changed {
            return Ok(false);
        }
        let FrameReader { layout, files, .. } = &self.reader;
        files.session()?.check_commit()?;
        if let Some(e) = layout.corruption.first() {
            return Err(fail!(
                State,
                "{}: the frame is corrupt ({e}); repair it first",
                layout.name
            ));
        }
        if files.is_new() {
            files.refuse_existing()?
        } else {
            files.check_sole_writer()?
        }
        let complete = match self.has_committed {
            true => self.reader.layout.entries.unchanged(),
            false => 0,
        };
        self.reader.compute_missing_checksums(complete)?;
        Ok(true)
    }

    /// Returns whether the next commit moves the chunks or the trailer of a frame in one file.
    pub(super) fn moves(&self) -> bool {
        let FrameReader { layout, files, .. } = &self.reader;
        // without chunks, the reference library expects the trailer directly after the header
        let is_bare = layout.entries.is_empty() && self.next > 0;
        !files.storage.sparse && (layout.header.len() != files.base || is_bare)
    }

    // ---- contiguous frames

    /// Commits to a pair of tails, or writes a complete index.
    fn commit_in_file(&mut self) -> Result<()> {
        if self.commit_small()? {
            return Ok(());
        }
        self.leave_pair();
        self.switch_header()
    }

    /// Writes index and trailer after the committed data, then the header.
    fn switch_header(&mut self) -> Result<()> {
        let FrameReader { layout, files, .. } = &self.reader;
        let (header, parts) = layout.encode_parts(&layout.slots()?, self.next)?;
        let file = files.main()?.clone();
        files.switch_header(self.next, header.frame_len, &parts)?;
        self.continue_from(file, header, parts);
        Ok(())
    }

    /// Makes the temporary file with the chunks the new frame.
    fn publish_new(&mut self) -> Result<()> {
        let FrameReader { layout, files, .. } = &self.reader;
        let (header, parts) = layout.encode_parts(&layout.slots()?, self.next)?;
        let file = files.main()?.clone();
        files.publish_new(self.next, header.frame_len, &parts)?;
        self.continue_from(file, header, parts);
        Ok(())
    }

    /// Writes a new file without unused space and swaps it in.
    pub(super) fn rewrite(&mut self) -> Result<()> {
        let (slots, sizes, cbytes) = self.reader.new_layout()?;
        let FrameReader { layout, files, .. } = &self.reader;
        let (header, parts) = layout.encode_parts(&slots, cbytes)?;
        let file = files
            .write_new_main(|file| self.reader.write_all(file, &slots, &sizes, &header, &parts))?;
        self.swap()?;
        let files = &self.reader.files;
        if files.is_new() {
            let _ = files
                .storage
                .folder
                .remove_if_there(&files.storage.temporary_file());
        }
        let entries = self.reader.layout.entries.iter_mut();
        for (entry, (slot, n)) in entries.zip(slots.into_iter().zip(sizes)) {
            (entry.slot, entry.cbytes) = (slot, n);
        }
        self.reader.clear_caches();
        self.reader.files.base = header.len();
        self.continue_from(file, header, parts);
        Ok(())
    }

    // ---- sparse frames

    fn commit_folder(&mut self) -> Result<()> {
        let FrameReader { layout, files, .. } = &self.reader;
        let cbytes = layout.chunk_files().unwrap_or(layout.header.cbytes);
        let (header, parts) = layout.encode_parts(&layout.slots()?, cbytes)?;
        files.sync_chunk_files(&self.uncommitted)?;
        let file = files.write_new_main(|file| {
            file.write_at(0, &parts.head)?;
            file.write_at(header.len(), &parts.index_and_trailer)
        })?;
        self.swap()?;
        let (before, uncommitted) = (
            std::mem::take(&mut self.chunk_files),
            std::mem::take(&mut self.uncommitted),
        );
        self.continue_from(file, header, parts);
        let storage = &self.reader.files.storage;
        for number in before
            .iter()
            .chain(&uncommitted)
            .filter(|n| self.chunk_files.binary_search(n).is_err())
        {
            let _ = storage.folder.remove_if_there(&storage.chunk_path(*number));
        }
        Ok(())
    }

    // ---- all frames

    /// Replaces the file with header, index and trailer by the new one.
    fn swap(&mut self) -> Result<()> {
        let FrameFiles { storage, .. } = &self.reader.files;
        let session = self.reader.files.session()?;
        let swapped = session.swap(&[storage.main()], &[]);
        if swapped.is_err() {
            if session.is_broken() {
                // the new index may be the current one, which needs its chunk files
                self.uncommitted.clear();
            }
            let new = storage.container().new_name("");
            let _ = storage.folder.remove_if_there(&new);
        }
        swapped
    }

    /// Continues from the new commit.
    pub(super) fn continue_from(
        &mut self,
        file: Arc<dyn File>,
        header: Header,
        parts: EncodedParts,
    ) {
        let FrameReader { layout, files, .. } = &mut self.reader;
        files.last = Committed::new(parts.head, parts.index_and_trailer, header.frame_len);
        files.set_main(file);
        if !header.sparse {
            (self.next, self.pair) = (header.frame_len - header.len(), None);
        }
        layout.entries.set_committed();
        (layout.header, self.changed, self.has_committed) = (header, false, true);
        self.protect_committed();
    }
}

impl FrameReader {
    /// Computes the missing checksums of stored chunks from chunk `from` on, if the frame has
    /// checksums. Chunks of other writers are assumed to be intact.
    pub(super) fn compute_missing_checksums(&mut self, from: usize) -> Result<()> {
        if !self.layout.checksums {
            return Ok(());
        }
        for i in from as u64..self.layout.entries.len() as u64 {
            let entry = self.entry(i)?;
            if entry.position().is_none()
                || (entry.has_checksum()
                    && (self.layout.checksums_trusted || !entry.is_unverified()))
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
                r => r.map_err(|e| self.layout.chunk_error(i, e))?,
            };
            let entry = self.layout.entries.at_mut(i as usize)?;
            *entry = Entry::verified(entry.slot, n, Some(crc));
        }
        self.layout.checksums_trusted = true;
        Ok(())
    }

    /// Returns the stored bytes of a chunk.
    pub(super) fn cbytes_of(&self, i: u64, entry: &Entry) -> Result<u32> {
        match entry.length(self.layout.checksums_trusted) {
            Some(n) => Ok(n),
            None => Ok(self.open_chunk(i, entry)?.stored.header().cbytes as u32),
        }
    }

    /// Returns the new offset and the length of each chunk, and the end of the last chunk.
    fn new_layout(&self) -> Result<(Vec<IndexSlot>, Vec<u32>, u64)> {
        let (mut slots, mut sizes, mut next) = (
            self.layout.slots()?,
            alloc::with_capacity(self.layout.entries.len())?,
            0u64,
        );
        for (i, (slot, entry)) in slots.iter_mut().zip(self.layout.entries.iter()).enumerate() {
            let n = if entry.position().is_some() {
                self.cbytes_of(i as u64, entry)
                    .map_err(|e| self.layout.chunk_error(i as u64, e))?
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

    /// Writes a complete file.
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
        for ((entry, slot), n) in self.layout.entries.iter().zip(slots).zip(sizes) {
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
}

impl FrameLayout {
    /// Encodes header, index and trailer for the current chunks, which have `cbytes` bytes.
    pub(super) fn encode_parts(
        &self,
        slots: &[IndexSlot],
        cbytes: u64,
    ) -> Result<(Header, EncodedParts)> {
        let mut header = self.header.clone();
        header.cbytes = cbytes;
        if header.sparse {
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
        let mut trailer = self.trailer();
        if self.checksums && !slots.is_empty() {
            trailer
                .vlmeta
                .push((CHECKSUMS.to_owned(), self.checksums_chunk()?));
        }
        let parts = EncodedParts::new(&mut header, slots, &mut trailer, self.checksums)?;
        Ok((header, parts))
    }

    /// Returns the trailer without the checksums of the chunks.
    pub(super) fn trailer(&self) -> Trailer {
        let mut trailer = Trailer::default();
        for meta in &self.vlmeta {
            trailer.vlmeta.push((meta.name.clone(), meta.chunk.clone()));
        }
        trailer
    }

    fn checksums_chunk(&self) -> Result<Vec<u8>> {
        let checksums =
            checksums::encode(self.entries.len(), self.entries.iter().map(Entry::checksum))?;
        let mut chunk = Vec::new();
        blosc::encode(&checksums::params(), &checksums, &mut chunk, 1)?;
        Ok(chunk)
    }

    pub(super) fn slots(&self) -> Result<Vec<IndexSlot>> {
        let mut slots = alloc::with_capacity(self.entries.len())?;
        slots.extend(self.entries.iter().map(|e| e.slot));
        Ok(slots)
    }
}

impl FrameFiles {
    /// Writes index and trailer at offset `next` after the header, then the header.
    fn switch_header(&self, next: u64, frame_len: u64, parts: &EncodedParts) -> Result<()> {
        self.write_end(next, parts)?;
        self.write_header(&**self.main()?, &parts.head)?;
        self.remove_after(frame_len);
        Ok(())
    }

    /// Removes what failed commits have left after the frame.
    pub(super) fn remove_after(&self, frame_len: u64) {
        if let Some(file) = &self.main
            && file.size().is_ok_and(|n| n > frame_len)
        {
            let _ = file.set_size(frame_len);
        }
    }

    /// Writes index and trailer at offset `next` after the header, and syncs them and the chunks.
    pub(super) fn write_end(&self, next: u64, parts: &EncodedParts) -> Result<()> {
        let (file, session) = (self.main()?, self.session()?);
        let end = self.base.saturating_add(next);
        if let Err(e) = file
            .write_at(end, &parts.index_and_trailer)
            .and_then(|()| session.sync(&**file))
        {
            // committed data is untouched; after a failed sync the pending data cannot be trusted
            if session.is_broken() {
                self.truncate_to_commit(0);
            } else {
                let _ = file.set_size(end);
            }
            return Err(e);
        }
        Ok(())
    }

    /// Writes the header of a commit whose other parts are durable.
    pub(super) fn write_header(&self, file: &dyn File, head: &[u8]) -> Result<()> {
        let Some(new) = one_sector(&self.last.header, head) else {
            return self.write_header_under_journal(file, head);
        };
        let session = self.session()?;
        let write = |head: &[u8]| file.write_at(new.start as u64, head.at(new.clone())?);
        let written = write(head).and_then(|()| session.sync(file));
        if written.is_err() {
            // restore the committed header, if possible
            let restored = write(&self.last.header).and_then(|()| session.sync(file));
            if restored.is_err() {
                session.mark_broken();
            }
        }
        written
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

    /// Completes the temporary file and makes it the frame.
    fn publish_new(&self, next: u64, frame_len: u64, parts: &EncodedParts) -> Result<()> {
        self.complete_new(next, frame_len, parts)?;
        self.session()?.swap_in(&self.storage.temporary_file())
    }

    /// Completes the temporary file and syncs it.
    pub(super) fn complete_new(
        &self,
        next: u64,
        frame_len: u64,
        parts: &EncodedParts,
    ) -> Result<()> {
        let file = self.main()?;
        file.write_at(self.base.saturating_add(next), &parts.index_and_trailer)?;
        file.write_at(0, &parts.head)?;
        // remove leftovers of a failed write
        file.set_size(frame_len)?;
        self.session()?.sync(&**file)
    }

    /// Syncs chunk files that were written, and their names.
    fn sync_chunk_files(&self, numbers: &[u64]) -> Result<()> {
        let session = self.session()?;
        if !session.is_durable() {
            return Ok(());
        }
        for number in numbers {
            let path = self.storage.chunk_path(*number);
            session.sync(&*self.storage.folder.open(&path, Access::Write)?)?;
        }
        // sync the names of the chunk files before the name of the index: a folder may preserve
        // the later of two changes only
        if !numbers.is_empty() {
            self.storage
                .folder
                .sync_in(io::parent(&self.storage.main()))?;
        }
        session.sync_created_folder()
    }

    /// Creates the file that will replace the one with header, index and trailer. `write` fills it.
    fn write_new_main(&self, write: impl FnOnce(&dyn File) -> Result<()>) -> Result<Arc<dyn File>> {
        let new = self.storage.container().new_name("");
        let file = self.storage.container().create(&new)?;
        if let Err(e) = write(&*file).and_then(|()| self.session()?.sync(&*file)) {
            let _ = self.storage.folder.remove_if_there(&new);
            return Err(e);
        }
        Ok(file)
    }

    /// Continues with this file, which was renamed.
    fn set_main(&mut self, file: Arc<dyn File>) {
        // storage of the caller knows files by name, and the name has changed
        let file = match self.storage.folder.is_foreign() {
            true => self
                .storage
                .folder
                .open(&self.storage.main(), Access::Write)
                .unwrap_or_else(|_| {
                    self.session.iter().for_each(|s| s.mark_broken());
                    file
                }),
            false => file,
        };
        self.main = Some(file);
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

impl Drop for FrameWriter {
    /// Removes uncommitted data as far as possible.
    fn drop(&mut self) {
        let files = &self.reader.files;
        let Some(session) = files.session.as_ref().filter(|s| s.is_own()) else {
            return;
        };
        let storage = &files.storage;
        for number in &self.uncommitted {
            let _ = storage.folder.remove_if_there(&storage.chunk_path(*number));
        }
        if files.is_new() {
            if !storage.sparse {
                let _ = storage.folder.remove_if_there(&storage.temporary_file());
            }
        } else if self.changed && !session.is_broken() {
            // after an uncertain commit, the bytes may be committed data
            files.truncate_to_commit(self.pair.as_ref().map_or(0, |pair| pair.end()));
        }
    }
}
