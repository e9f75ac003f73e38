//! Writes new chunks. Each chunk is written at once, after all committed data or before a pair of
//! tails, and becomes visible with the commit. The space of an uncommitted chunk that is replaced is
//! reused.
#![forbid(unsafe_code)]

use super::index::IndexSlot;
use super::index::entry::Entry;
use super::read::FrameReader;
use super::tail_pair::TailPair;
use crate::alloc;
use crate::error::{Result, fail};
use crate::io::journal::Session;
use crate::superchunk::block_checksums;
use crate::superchunk::buffer_pool::BufferPool;
use crate::superchunk::chunks::{Encoded, Fill};
use std::sync::Arc;

/// The writer of a frame, with everything that changed since the last commit. It reads its own
/// changes.
pub struct FrameWriter {
    /// Content after the last chunk that is not encoded yet.
    pub(super) pending: Vec<u8>,
    /// Is there anything to commit?
    pub(super) changed: bool,
    /// The end of the used bytes of a contiguous frame, relative to the end of its header.
    pub(super) next: u64,
    /// Two tails after the chunks, which small commits write alternately.
    pub(super) pair: Option<Box<TailPair>>,
    /// The first bytes of the trailer when the frame was opened, or of the last small commit.
    pub(super) trailer_start: Vec<u8>,
    /// Has this handle committed?
    pub(super) has_committed: bool,
    /// Bytes before this offset must not be overwritten.
    pub(super) committed: u64,
    /// The number of the next chunk file.
    pub(super) number: u64,
    /// Numbers of the chunk files that were written and not committed.
    pub(super) uncommitted: Vec<u64>,
    /// Numbers of the chunk files of the last commit, in ascending order. Before the first commit
    /// of this handle: all chunk files in the folder.
    pub(super) chunk_files: Vec<u64>,
    pub(super) buffers: BufferPool,
    // Must be the last field, because it has the lock.
    pub(super) reader: FrameReader,
}

/// The stored form of a chunk.
pub(super) enum StoredForm {
    /// In the index only.
    Slot(IndexSlot),
    /// Stored bytes, the length of the chunk with which they begin, and its CRC-32.
    Bytes {
        bytes: Vec<u8>,
        cbytes: u32,
        crc: Option<u32>,
    },
}

impl FrameReader {
    /// Returns the stored form of a chunk of `n` bytes.
    pub(super) fn form(&self, n: usize, new: Encoded) -> Result<StoredForm> {
        let layout = &self.layout;
        let mut bytes = match new {
            Encoded::Stored(bytes) => bytes,
            // the length of a variable-length chunk is only in the chunk itself
            Encoded::Fill(fill) if layout.starts.is_some() => self.filled(&fill, n)?,
            // c-blosc2 refuses chunks of one value that end within an item
            Encoded::Fill(fill) if !n.is_multiple_of(layout.header.typesize as usize) => {
                self.filled(&fill, n)?
            }
            Encoded::Fill(Fill::Zeros) => return Ok(StoredForm::Slot(IndexSlot::Zeros)),
            Encoded::Fill(Fill::Item(item)) if is_nan(&item, layout.header.typesize) => {
                return Ok(StoredForm::Slot(IndexSlot::Nan));
            }
            Encoded::Fill(fill) => self.filled(&fill, n)?,
        };
        let (cbytes, crc) = if !layout.checksums {
            (bytes.len(), None)
        } else if self.files.storage.sparse {
            let crc = block_checksums::insert(&mut bytes, 0)?;
            (bytes.len(), Some(crc))
        } else {
            let (cbytes, crc) = block_checksums::insert_or_append(&mut bytes)?;
            (cbytes, Some(crc))
        };
        let cbytes = u32::try_from(cbytes)
            .map_err(|_| fail!(Limit, "a chunk of {cbytes} bytes is too large"))?;
        Ok(StoredForm::Bytes { bytes, cbytes, crc })
    }
}

impl FrameWriter {
    /// Starts to write the frame of `reader`.
    pub(super) fn new(mut reader: FrameReader, session: Arc<Session>) -> FrameWriter {
        reader.files.session = Some(session);
        let header_len = reader.files.last.header.len() as u64;
        let mut writer = FrameWriter {
            pending: Vec::new(),
            changed: false,
            next: reader.layout.header.frame_len.saturating_sub(header_len),
            pair: None,
            trailer_start: Vec::new(),
            has_committed: false,
            committed: 0,
            number: 0,
            uncommitted: Vec::new(),
            chunk_files: Vec::new(),
            buffers: BufferPool::default(),
            reader,
        };
        writer.protect_committed();
        writer
    }

    /// Protects the chunks of the last commit from being overwritten.
    pub(super) fn protect_committed(&mut self) {
        self.committed = self.next;
        self.uncommitted = Vec::new();
        if self.reader.files.storage.sparse {
            let entries = &self.reader.layout.entries;
            let mut files: Vec<u64> = entries.iter().filter_map(Entry::position).collect();
            files.sort_unstable();
            files.dedup();
            // a corrupt entry can have a number that no file can have
            let highest = files.iter().rev().find(|n| **n < u64::from(u32::MAX));
            self.number = self.number.max(highest.map_or(0, |n| n + 1));
            self.chunk_files = files;
        }
    }

    /// Replaces chunk `i` by a chunk of `n` bytes, or appends it.
    pub(super) fn put_chunk(&mut self, i: u64, n: usize, new: Encoded) -> Result<()> {
        self.put_entry(i, n, |writer| writer.store(n, new))
    }

    /// Like [`FrameWriter::put_chunk`], with a function that stores the chunk.
    pub(super) fn put_entry(
        &mut self,
        i: u64,
        n: usize,
        store: impl FnOnce(&mut FrameWriter) -> Result<Entry>,
    ) -> Result<()> {
        let layout = &mut self.reader.layout;
        let count = layout.entries.len() as u64;
        if i > count || (i == count && !layout.is_full()) {
            return Err(layout.no_chunk(i, count));
        }
        if i < count && layout.span(i)?.end - layout.span(i)?.start != n as u64 {
            let e = fail!(State, "{}: chunk {i} does not have {n} bytes", layout.name);
            return Err(e.at(i));
        }
        if i == count {
            layout.entries.reserve(1)?;
            layout.check_room(n as u64)?;
        }
        let taken = i < count && self.reclaim(i)?;
        let stored = store(self);
        let files = &self.reader.files;
        if stored.is_err() && taken && !files.session()?.is_broken() {
            // the old chunk is lost: a commit of the pending changes would lose data
            files.truncate_to_commit(0);
            files.session()?.mark_broken();
        }
        let entry = stored?;
        if i == count {
            return self.reader.layout.push(entry, n);
        }
        self.remove_uncommitted(i)?;
        *self.reader.layout.entries.at_mut(i as usize)? = entry;
        Ok(())
    }

    /// Must be called before chunks are written after the committed data: another writer may have
    /// committed data there. Storage that the caller implements is checked only before the first
    /// write, because a check may be slow.
    pub(super) fn before_writing(&self) -> Result<()> {
        let files = &self.reader.files;
        let is_first = if files.storage.sparse {
            self.uncommitted.is_empty()
        } else {
            self.next == self.committed
        };
        let looks = !files.is_new() && (is_first || !files.storage.folder.is_foreign());
        if looks {
            files.check_sole_writer()
        } else {
            Ok(())
        }
    }

    /// Stores a chunk of `n` bytes.
    pub(super) fn store(&mut self, n: usize, new: Encoded) -> Result<Entry> {
        self.changed = true;
        let (bytes, cbytes, crc) = match self.reader.form(n, new)? {
            StoredForm::Slot(slot) => return Ok(Entry::bare(slot)),
            StoredForm::Bytes { bytes, cbytes, crc } => (bytes, cbytes, crc),
        };
        self.before_writing()?;
        let FrameReader { layout, files, .. } = &mut self.reader;
        let position = if files.storage.sparse {
            let number = self.number;
            self.number += 1;
            let name = files.storage.chunk_path(number);
            let written = files
                .storage
                .container()
                .create(&name)
                .and_then(|file| file.write_at(0, &bytes));
            written.inspect_err(|_| _ = files.storage.folder.remove_if_there(&name))?;
            self.uncommitted.push(number);
            layout.header.cbytes = layout.header.cbytes.saturating_add(cbytes.into());
            number
        } else {
            let position = self.position_for(self.next, bytes.len());
            self.reader.files.write_chunk(position, &bytes)?;
            self.record_written(position, bytes.len());
            position
        };
        let threads = self.reader.threads.count();
        self.buffers.give_back(bytes, threads);
        Ok(Entry::verified(IndexSlot::At(position), cbytes, crc))
    }

    /// Returns the offset for a chunk of `n` bytes: `next`, or the end of the file if the chunk does
    /// not fit before a pair of tails.
    pub(super) fn position_for(&self, next: u64, n: usize) -> u64 {
        let Some(pair) = &self.pair else { return next };
        let from_base = |at: u64| at.saturating_sub(self.reader.files.base);
        let [room_end, pair_end] = [pair.chunks_end(), pair.end()].map(from_base);
        match next.saturating_add(n as u64) <= room_end || next >= pair_end {
            true => next,
            false => pair_end,
        }
    }

    /// Records that a chunk of `n` bytes was written at this offset.
    pub(super) fn record_written(&mut self, position: u64, n: usize) {
        self.next = position.saturating_add(n as u64);
        self.reader.layout.header.cbytes = self.next;
    }

    /// Reclaims the space of an uncommitted chunk that is the last in the file.
    pub(super) fn reclaim(&mut self, i: u64) -> Result<bool> {
        let entry = self.reader.entry(i)?;
        let (Some(position), n) = (entry.position(), u64::from(entry.cbytes)) else {
            return Ok(false);
        };
        if self.reader.files.storage.sparse
            || n == 0
            || position < self.committed
            || position + n != self.next
        {
            return Ok(false);
        }
        // the chunk is not stored until its replacement is written
        *self.reader.layout.entries.at_mut(i as usize)? = Entry::bare(IndexSlot::Zeros);
        self.next = position;
        self.reader.clear_caches();
        Ok(true)
    }

    /// Removes the file of an uncommitted chunk.
    pub(super) fn remove_uncommitted(&mut self, i: u64) -> Result<()> {
        let FrameReader { layout, files, .. } = &self.reader;
        let Some(position) = self.reader.position(i)?.filter(|_| files.storage.sparse) else {
            return Ok(());
        };
        if let Some(k) = self.uncommitted.iter().rposition(|n| *n == position) {
            let users = layout.entries.iter();
            let shared = users.filter(|e| e.position() == Some(position)).count() > 1;
            if !shared {
                self.uncommitted.swap_remove(k);
                files
                    .storage
                    .folder
                    .remove_if_there(&files.storage.chunk_path(position))?;
            }
        }
        Ok(())
    }

    /// Rearranges the frame to `len` chunks. `from` returns the current number of each chunk, or
    /// none for a chunk of zeros. There must be no pending content.
    pub(super) fn rearrange_chunks(
        &mut self,
        len: u64,
        from: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<()> {
        let layout = &self.reader.layout;
        if len == 0 && layout.entries.is_empty() {
            return Ok(());
        }
        if layout.starts.is_some() || !layout.is_full() || layout.header.chunksize == 0 {
            return Err(fail!(
                State,
                "{}: its chunks do not have equal length",
                layout.name
            ));
        }
        let (nbytes, room) = layout.check_chunk_count(len, self.reader.memory_limit)?;
        let mut entries = alloc::with_capacity(room)?;
        for i in 0..len {
            entries.push(match from(i) {
                Some(k) => self.reader.entry(k)?.clone(),
                None => Entry::bare(IndexSlot::Zeros),
            });
        }
        let layout = &mut self.reader.layout;
        layout.entries.replace(entries);
        (layout.header.nbytes, self.changed) = (nbytes, true);
        // two entries may share one chunk: its space must not be reclaimed
        self.committed = self.next;
        Ok(())
    }
}

/// Is it the NaN of an item type with `typesize` bytes?
fn is_nan(item: &[u8], typesize: u32) -> bool {
    let nan = item == f32::NAN.to_le_bytes() || item == f64::NAN.to_le_bytes();
    nan && item.len() == typesize as usize
}
