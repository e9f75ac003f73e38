//! Writes new chunks. Each chunk is written at once, after all committed data, and becomes visible
//! with the commit. The space of an uncommitted chunk that is replaced is reused.
#![forbid(unsafe_code)]

use super::Frame;
use super::entry::Entry;
use super::index::{self, IndexSlot};
use crate::alloc;
use crate::checksum::crc32;
use crate::error::{Result, fail};
use crate::slice::SliceExt;
use crate::superchunk::chunks::{Encoded, Fill};

/// The stored form of a chunk.
pub(super) enum StoredForm {
    /// In the index only.
    Slot(IndexSlot),
    /// Stored bytes, their number, and their CRC-32.
    Bytes {
        bytes: Vec<u8>,
        cbytes: u32,
        crc: Option<u32>,
    },
}

impl Frame {
    /// Replaces chunk `i` by a chunk of `n` bytes, or appends it.
    pub(super) fn put_chunk(&mut self, i: u64, n: usize, new: Encoded) -> Result<()> {
        self.put_entry(i, n, |frame| frame.store(n, new))
    }

    /// Like [`Frame::put_chunk`], with a function that stores the chunk.
    pub(super) fn put_entry(
        &mut self,
        i: u64,
        n: usize,
        store: impl FnOnce(&mut Frame) -> Result<Entry>,
    ) -> Result<()> {
        self.check_writer()?;
        let count = self.entries.len() as u64;
        if i > count || (i == count && !self.is_full()) {
            return Err(fail!(
                Range,
                "{}: chunk {i} is out of range (there are {count})",
                self.name
            )
            .at(i));
        }
        if i < count && self.span(i)?.end - self.span(i)?.start != n as u64 {
            return Err(fail!(State, "{}: chunk {i} does not have {n} bytes", self.name).at(i));
        }
        if i == count {
            alloc::reserve(&mut self.entries, 1)?;
            self.check_room(n as u64)?;
        }
        let taken = i < count && self.reclaim(i)?;
        let stored = store(self);
        if stored.is_err() && taken && !self.session()?.is_broken() {
            // the old chunk is lost: a commit of the pending changes would lose data
            self.truncate_to_commit();
            self.session()?.mark_broken();
        }
        let entry = stored?;
        if i == count {
            return self.push(entry, n);
        }
        self.remove_uncommitted(i)?;
        *self.entries.at_mut(i as usize)? = entry;
        Ok(())
    }

    /// Appends an entry.
    pub(super) fn push(&mut self, entry: Entry, n: usize) -> Result<()> {
        alloc::reserve(&mut self.entries, 1)?;
        self.entries.push(entry);
        self.header.nbytes += n as u64;
        let end = self.header.nbytes;
        if let Some(starts) = &mut self.starts {
            alloc::reserve(starts, 1)?;
            starts.push(end);
        }
        Ok(())
    }

    pub(super) fn check_room(&self, n: u64) -> Result<()> {
        let fits = self
            .header
            .nbytes
            .checked_add(n)
            .is_some_and(|n| i64::try_from(n).is_ok());
        if fits && (self.entries.len() as u64) < index::MAX_CHUNKS {
            return Ok(());
        }
        Err(fail!(
            Limit,
            "{}: {} chunks with {} bytes leave no space for more",
            self.name,
            self.entries.len(),
            self.header.nbytes
        ))
    }

    /// Is the last chunk as long as the others?
    pub(super) fn is_full(&self) -> bool {
        self.starts.is_some()
            || self
                .header
                .nbytes
                .is_multiple_of(u64::from(self.header.chunksize.max(1)))
    }

    /// Returns the stored form of a chunk of `n` bytes.
    pub(super) fn form(&self, n: usize, new: Encoded) -> Result<StoredForm> {
        let bytes = match new {
            Encoded::Stored(bytes) => bytes,
            // the length of a variable-length chunk is only in the chunk itself
            Encoded::Fill(fill) if self.starts.is_some() => self.filled(&fill, n)?,
            Encoded::Fill(Fill::Zeros) => return Ok(StoredForm::Slot(IndexSlot::Zeros)),
            Encoded::Fill(Fill::Item(item)) if self.is_nan(&item) => {
                return Ok(StoredForm::Slot(IndexSlot::Nan));
            }
            Encoded::Fill(fill) => self.filled(&fill, n)?,
        };
        let cbytes = u32::try_from(bytes.len())
            .map_err(|_| fail!(Limit, "a chunk of {} bytes is too large", bytes.len()))?;
        let crc = self.checksums.then(|| crc32(&bytes));
        Ok(StoredForm::Bytes { bytes, cbytes, crc })
    }

    /// Must be called before chunks are written after the committed data: another writer may have
    /// committed data there. Storage that the caller implements is checked only before the first
    /// write, because a check may be slow.
    pub(super) fn before_writing(&self) -> Result<()> {
        let is_first = if self.storage.sparse {
            self.writing.uncommitted.is_empty()
        } else {
            self.next == self.writing.committed
        };
        let looks = !self.is_new() && (is_first || !self.storage.folder.is_foreign());
        if looks {
            self.check_sole_writer()
        } else {
            Ok(())
        }
    }

    /// Stores a chunk of `n` bytes.
    pub(super) fn store(&mut self, n: usize, new: Encoded) -> Result<Entry> {
        self.writing.changed = true;
        let (bytes, cbytes, crc) = match self.form(n, new)? {
            StoredForm::Slot(slot) => return Ok(Entry::bare(slot)),
            StoredForm::Bytes { bytes, cbytes, crc } => (bytes, cbytes, crc),
        };
        self.before_writing()?;
        let position = if self.storage.sparse {
            let number = self.writing.number;
            self.writing.number += 1;
            let name = self.storage.chunk_path(number);
            let written = self
                .storage
                .container()
                .create(&name)
                .and_then(|file| file.write_at(0, &bytes));
            written.inspect_err(|_| _ = self.storage.folder.remove_if_there(&name))?;
            self.writing.uncommitted.push(number);
            self.header.cbytes = self.header.cbytes.saturating_add(cbytes.into());
            number
        } else {
            self.write_chunk(self.next, &bytes)?;
            self.record_written(cbytes)
        };
        self.writing.buffers.give_back(bytes, self.threads.count());
        Ok(Entry::verified(IndexSlot::At(position), cbytes, crc))
    }

    /// Writes a chunk at an offset of the file.
    pub(super) fn write_chunk(&self, position: u64, bytes: &[u8]) -> Result<()> {
        let file = self
            .file
            .as_ref()
            .ok_or_else(|| fail!(State, "{}: there is no file", self.name))?;
        file.write_at(self.base.saturating_add(position), bytes)
    }

    /// Records that `cbytes` bytes were written at the end and returns their offset.
    pub(super) fn record_written(&mut self, cbytes: u32) -> u64 {
        let position = self.next;
        self.next = position.saturating_add(cbytes.into());
        self.header.cbytes = self.next;
        position
    }

    fn is_nan(&self, item: &[u8]) -> bool {
        let nan = item == f32::NAN.to_le_bytes() || item == f64::NAN.to_le_bytes();
        nan && item.len() == self.header.typesize as usize
    }

    /// Reclaims the space of an uncommitted chunk that is the last in the file.
    pub(super) fn reclaim(&mut self, i: u64) -> Result<bool> {
        let entry = self.entry(i)?;
        let (Some(position), n) = (entry.position(), u64::from(entry.cbytes)) else {
            return Ok(false);
        };
        if self.storage.sparse
            || n == 0
            || position < self.writing.committed
            || position + n != self.next
        {
            return Ok(false);
        }
        // the chunk is not stored until its replacement is written
        *self.entries.at_mut(i as usize)? = Entry::bare(IndexSlot::Zeros);
        self.next = position;
        self.clear_caches();
        Ok(true)
    }

    /// Removes the file of an uncommitted chunk.
    pub(super) fn remove_uncommitted(&mut self, i: u64) -> Result<()> {
        let Some(position) = self.position(i)?.filter(|_| self.storage.sparse) else {
            return Ok(());
        };
        if let Some(k) = self
            .writing
            .uncommitted
            .iter()
            .rposition(|n| *n == position)
        {
            let shared = self
                .entries
                .iter()
                .filter(|e| e.position() == Some(position))
                .count()
                > 1;
            if !shared {
                self.writing.uncommitted.swap_remove(k);
                self.storage
                    .folder
                    .remove_if_there(&self.storage.chunk_path(position))?;
            }
        }
        Ok(())
    }

    /// Clears the caches of chunks and blocks.
    pub(super) fn clear_caches(&mut self) {
        self.open_chunks.clear();
        self.blocks.clear();
    }

    /// Sets one chunk length in a frame without chunks: python-blosc2 writes empty arrays as frames
    /// of variable-length chunks.
    pub fn set_chunk_length(&mut self, chunk_bytes: usize, block_bytes: usize) {
        let sizes = u32::try_from(chunk_bytes)
            .ok()
            .zip(u32::try_from(block_bytes).ok());
        if let Some((chunk, block)) =
            sizes.filter(|_| self.entries.is_empty() && self.pending.is_empty())
        {
            let header = &mut self.header;
            (header.chunksize, header.blocksize, self.starts) = (chunk, block, None);
            (
                header.version,
                header.variable_chunks,
                header.variable_blocks,
            ) = (2, false, false);
            if let Ok(params) = &mut self.params {
                params.blocksize = Some(block_bytes);
            }
        }
    }

    /// Returns the content bytes of `len` chunks, and `len` as the capacity of their entries, if a
    /// frame can have them.
    pub(super) fn check_chunk_count(&self, len: u64) -> Result<(u64, usize)> {
        let nbytes = len
            .checked_mul(self.header.chunksize.into())
            .filter(|n| i64::try_from(*n).is_ok() && len <= index::MAX_CHUNKS);
        let nbytes = nbytes.ok_or_else(|| {
            fail!(
                Limit,
                "{}: {len} chunks are more than a frame can have",
                self.name
            )
        })?;
        let room = len.saturating_mul(size_of::<Entry>() as u64);
        Ok((
            nbytes,
            alloc::allow(room, self.memory_limit, "an index")? / size_of::<Entry>(),
        ))
    }

    /// Rearranges the frame to `len` chunks. `from` returns the current number of each chunk, or
    /// none for a chunk of zeros.
    pub(super) fn rearrange_chunks(
        &mut self,
        len: u64,
        from: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        if len == 0 && self.entries.is_empty() {
            return Ok(());
        }
        if self.starts.is_some() || !self.is_full() || self.header.chunksize == 0 {
            return Err(fail!(
                State,
                "{}: its chunks do not have equal length",
                self.name
            ));
        }
        let (nbytes, room) = self.check_chunk_count(len)?;
        let mut entries = alloc::with_capacity(room)?;
        for i in 0..len {
            entries.push(match from(i) {
                Some(k) => self.entry(k)?.clone(),
                None => Entry::bare(IndexSlot::Zeros),
            });
        }
        (self.entries, self.header.nbytes, self.writing.changed) = (entries, nbytes, true);
        // two entries may share one chunk: its space must not be reclaimed
        self.writing.committed = self.next;
        Ok(())
    }
}
