//! Chunks that are new: each is written at once, behind everything that counts, and counts with the
//! commit. Of one that is made anew again before that, the room is used again.
#![forbid(unsafe_code)]

use super::Frame;
use super::entry::Entry;
use super::index::{self, Slot};
use crate::alloc;
use crate::checksum::crc32;
use crate::error::{Result, fail};
use crate::superchunk::chunks::{Encoded, Fill};

/// How a chunk is stored.
pub(super) enum Form {
    /// In the index alone.
    Slot(Slot),
    /// As these bytes, so many of them, with this CRC-32.
    Bytes {
        bytes: Vec<u8>,
        cbytes: u32,
        crc: Option<u32>,
    },
}

impl Frame {
    /// Puts a chunk of `n` bytes in its place, or behind the last.
    pub(super) fn put_chunk(&mut self, i: u64, n: usize, new: Encoded) -> Result<()> {
        self.put_entry(i, n, |frame| frame.store(n, new))
    }

    /// The same with what stores it.
    pub(super) fn put_entry(
        &mut self,
        i: u64,
        n: usize,
        store: impl FnOnce(&mut Frame) -> Result<Entry>,
    ) -> Result<()> {
        self.check_writer()?;
        let count = self.entries.len() as u64;
        if i > count || (i == count && !self.is_full()) {
            return Err(fail!(Range, "{}: chunk {i}: there are {count}", self.name).at(i));
        }
        if i < count && self.span(i)?.end - self.span(i)?.start != n as u64 {
            return Err(fail!(State, "{}: chunk {i} does not have {n} bytes", self.name).at(i));
        }
        if i == count {
            alloc::reserve(&mut self.entries, 1)?;
            self.room_for(n as u64)?;
        }
        let taken = i < count && self.take_back(i)?;
        let stored = store(self);
        if stored.is_err() && taken && !self.writing.broken {
            // the chunk that was there is gone: nothing that waits can be committed any more
            self.cut_to_commit();
            self.writing.broken = true;
        }
        let entry = stored?;
        if i == count {
            return self.push(entry, n);
        }
        self.drop_fresh(i)?;
        if let Some(place) = self.entries.get_mut(i as usize) {
            *place = entry;
        }
        Ok(())
    }

    /// Puts an entry behind the last.
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

    pub(super) fn room_for(&self, n: u64) -> Result<()> {
        let fits = self
            .header
            .nbytes
            .checked_add(n)
            .is_some_and(|n| i64::try_from(n).is_ok());
        if fits && (self.entries.len() as u64) < index::MOST {
            return Ok(());
        }
        Err(fail!(
            Limit,
            "{}: {} chunks with {} bytes: there is no room for more",
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

    /// How a chunk of `n` bytes is stored.
    pub(super) fn form(&self, n: usize, new: Encoded) -> Result<Form> {
        let bytes = match new {
            Encoded::Stored(bytes) => bytes,
            // nothing but the chunk itself says how long it is
            Encoded::Fill(fill) if self.starts.is_some() => self.filled(&fill, n)?,
            Encoded::Fill(Fill::Zeros) => return Ok(Form::Slot(Slot::Zeros)),
            Encoded::Fill(Fill::Item(item)) if self.is_nan(&item) => {
                return Ok(Form::Slot(Slot::Nan));
            }
            Encoded::Fill(fill) => self.filled(&fill, n)?,
        };
        let cbytes = u32::try_from(bytes.len())
            .map_err(|_| fail!(Limit, "a chunk of {} bytes", bytes.len()))?;
        let crc = self.sums.then(|| crc32(&bytes));
        Ok(Form::Bytes { bytes, cbytes, crc })
    }

    /// Before chunks are written behind what counts: where nothing is that we know of, there may be
    /// what others have committed. The caller's storage, where looking may take long, is looked
    /// at once.
    pub(super) fn before_writing(&self) -> Result<()> {
        let is_first = if self.site.sparse {
            self.writing.fresh.is_empty()
        } else {
            self.next == self.writing.committed
        };
        let looks = !self.is_new() && (is_first || !self.site.folder.is_foreign());
        if looks { self.still_ours() } else { Ok(()) }
    }

    /// Stores a chunk of `n` bytes.
    pub(super) fn store(&mut self, n: usize, new: Encoded) -> Result<Entry> {
        self.writing.changed = true;
        let (bytes, cbytes, crc) = match self.form(n, new)? {
            Form::Slot(slot) => return Ok(Entry::bare(slot)),
            Form::Bytes { bytes, cbytes, crc } => (bytes, cbytes, crc),
        };
        self.before_writing()?;
        let place = if self.site.sparse {
            let number = self.writing.number;
            self.writing.number += 1;
            let name = self.site.chunk(number);
            let written = self
                .site
                .container()
                .create(&name)
                .and_then(|file| file.write_at(0, &bytes));
            written.inspect_err(|_| _ = self.site.folder.remove_if_there(&name))?;
            self.writing.fresh.push(number);
            self.header.cbytes = self.header.cbytes.saturating_add(cbytes.into());
            number
        } else {
            self.write_chunk(self.next, &bytes)?;
            self.written(cbytes)
        };
        self.writing.buffers.keep(bytes, self.threads.count());
        Ok(Entry::sound(Slot::At(place), cbytes, crc))
    }

    /// Writes a chunk to its place in the file.
    pub(super) fn write_chunk(&self, place: u64, bytes: &[u8]) -> Result<()> {
        let file = self
            .file
            .as_ref()
            .ok_or_else(|| fail!(State, "{}: there is no file", self.name))?;
        file.write_at(self.base.saturating_add(place), bytes)
    }

    /// So many bytes were written behind all others: where.
    pub(super) fn written(&mut self, cbytes: u32) -> u64 {
        let place = self.next;
        self.next = place.saturating_add(cbytes.into());
        self.header.cbytes = self.next;
        place
    }

    fn is_nan(&self, item: &[u8]) -> bool {
        let nan = item == f32::NAN.to_le_bytes() || item == f64::NAN.to_le_bytes();
        nan && item.len() == self.header.typesize as usize
    }

    /// The room of a chunk that was never committed, and is the last in the file, is used for what
    /// takes its place.
    pub(super) fn take_back(&mut self, i: u64) -> Result<bool> {
        let entry = self.entry(i)?;
        let (Some(place), n) = (entry.place(), u64::from(entry.cbytes)) else {
            return Ok(false);
        };
        if self.site.sparse || n == 0 || place < self.writing.committed || place + n != self.next {
            return Ok(false);
        }
        self.next = place;
        self.forget();
        // until another one is stored, it is not there
        if let Some(entry) = self.entries.get_mut(i as usize) {
            *entry = Entry::bare(Slot::Zeros);
        }
        Ok(true)
    }

    /// The file of a chunk that was never committed goes.
    pub(super) fn drop_fresh(&mut self, i: u64) -> Result<()> {
        let Some(place) = self.place(i)?.filter(|_| self.site.sparse) else {
            return Ok(());
        };
        if let Some(k) = self.writing.fresh.iter().rposition(|n| *n == place) {
            let shared = self
                .entries
                .iter()
                .filter(|e| e.place() == Some(place))
                .count()
                > 1;
            if !shared {
                self.writing.fresh.swap_remove(k);
                self.site.folder.remove_if_there(&self.site.chunk(place))?;
            }
        }
        Ok(())
    }

    /// Nothing that was read before is of use any more.
    pub(super) fn forget(&mut self) {
        self.open_chunks.clear();
        self.blocks.clear();
    }

    /// Gives those chunks one length that a frame without any is going to have: python-blosc2 makes
    /// empty arrays as frames of chunks of any length.
    pub fn take_one_length(&mut self, chunk_bytes: usize, block_bytes: usize) {
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

    /// The bytes of content of so many chunks, and their entries, if a frame can have them.
    pub(super) fn room_of_chunks(&self, len: u64) -> Result<(u64, usize)> {
        let nbytes = len
            .checked_mul(self.header.chunksize.into())
            .filter(|n| i64::try_from(*n).is_ok() && len <= index::MOST);
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

    /// Makes it `len` chunks: which one stands where now, or one of zeros.
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
                "{}: its chunks do not have one length",
                self.name
            ));
        }
        let (nbytes, room) = self.room_of_chunks(len)?;
        let mut entries = alloc::with_room(room)?;
        for i in 0..len {
            entries.push(match from(i) {
                Some(k) => self.entry(k)?.clone(),
                None => Entry::bare(Slot::Zeros),
            });
        }
        (self.entries, self.header.nbytes, self.writing.changed) = (entries, nbytes, true);
        // two of them may be one chunk, the room of which stays
        self.writing.committed = self.next;
        Ok(())
    }
}
