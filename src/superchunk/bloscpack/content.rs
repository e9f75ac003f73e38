//! The content of an open file: its chunks in order, and content that is not encoded yet.
#![forbid(unsafe_code)]

use super::chunk_list::{ChunkSlot, ChunkSlots};
use super::chunk_reader::ChunkReader;
use super::uniform_chunks::UniformChunks;
use crate::error::{Result, fail};
use crate::superchunk::staging::default_chunk;
use std::borrow::Cow;
use std::ops::Range;

/// A single chunk below this size may be short only because there was no more content.
const SHORT_CHUNK: usize = 16 << 10;

/// The content of an open file, with all changes of the handle.
pub struct Content {
    /// The encoded chunks; none if they are located on demand.
    pub slots: ChunkSlots,
    /// The encoded chunks of a file that is open for reading, if they are located on demand.
    pub uniform: Option<UniformChunks>,
    /// Content after the last chunk that is not encoded yet.
    pub pending: Vec<u8>,
    /// The index and the content of a chunk that is being changed.
    pub open_chunk: Option<(usize, Vec<u8>)>,
    /// Item size in the chunks. New chunks have the item size of existing ones.
    pub typesize: usize,
    /// Content size of every chunk except the last. Inserted chunks may differ.
    pub chunk_size: usize,
}

/// A requested part of a chunk.
pub struct ChunkPart<'a> {
    pub chunk: usize,
    /// Offset in the content of the chunk.
    pub from: usize,
    pub dst: &'a mut [u8],
}

impl Content {
    /// Returns the content in these chunks.
    pub fn new(slots: ChunkSlots, typesize: usize, chunk_size: usize) -> Content {
        Content {
            slots,
            uniform: None,
            pending: Vec::new(),
            open_chunk: None,
            typesize,
            chunk_size,
        }
    }

    /// Returns the content in chunks that are located on demand.
    pub fn of_uniform(chunks: UniformChunks, chunk_size: usize) -> Content {
        let typesize = chunks.typesize.into();
        Content {
            uniform: Some(chunks),
            ..Content::new(ChunkSlots::default(), typesize, chunk_size)
        }
    }

    /// Returns the number of encoded chunks.
    pub fn encoded_chunks(&self) -> usize {
        match &self.uniform {
            Some(chunks) => chunks.len(),
            None => self.slots.len(),
        }
    }

    /// Returns the number of bytes of content in encoded chunks.
    pub fn encoded_nbytes(&self) -> u64 {
        match &self.uniform {
            Some(chunks) => chunks.nbytes(),
            None => self.slots.nbytes(),
        }
    }

    /// Returns the location of encoded chunk `i`.
    pub fn slot(&self, i: usize) -> Result<Cow<'_, ChunkSlot>> {
        match &self.uniform {
            Some(chunks) => chunks.slot(i).map(Cow::Owned),
            None => self.slots.get(i).map(Cow::Borrowed),
        }
    }

    /// Returns the content range of encoded chunk `i`.
    fn span(&self, i: usize) -> Range<u64> {
        match &self.uniform {
            Some(chunks) => chunks.span(i),
            None => self.slots.span(i),
        }
    }

    /// Returns the encoded chunks that overlap the content range `bytes`.
    fn holding(&self, bytes: Range<u64>) -> Range<usize> {
        match &self.uniform {
            Some(chunks) => chunks.holding(bytes),
            None => self.slots.holding(bytes),
        }
    }

    /// Returns the number of content bytes that are not encoded yet.
    pub fn pending_bytes(&self) -> u64 {
        let open = self.open_chunk.as_ref();
        let open = open.map_or(0, |(_, content)| content.len());
        (self.pending.len() + open) as u64
    }

    /// Returns an error if the chunk size is not a multiple of the item size.
    pub fn check_chunk_size(&self) -> Result<()> {
        check_chunk_size(self.chunk_size, self.typesize.max(1))
    }

    /// Raises the chunk size, to `given` if that is set, if the file has one short chunk. Bloscpack
    /// never makes chunks longer than the content at hand, so a single short chunk says nothing
    /// about the chunks to come. An append fills it up.
    pub fn lengthen_short_chunk(&mut self, given: Option<i64>) {
        let n = self.chunk_size;
        if self.slots.len() != 1 || n >= SHORT_CHUNK || self.slots.nbytes() != n as u64 {
            return;
        }
        // a multiple of the chunk, which may hold whole rows, or else of an item
        let unit = if n.is_multiple_of(self.typesize.max(1)) {
            n
        } else {
            self.typesize
        };
        self.chunk_size = given
            .map_or_else(|| default_chunk(unit), |given| given as usize)
            .max(n);
    }

    /// Returns the number of chunks, including chunks that are not encoded yet.
    pub fn chunks(&self) -> usize {
        self.encoded_chunks() + self.pending.len().div_ceil(self.chunk_size.max(1))
    }

    /// Returns the number of bytes.
    pub fn nbytes(&self) -> u64 {
        self.encoded_nbytes() + self.pending.len() as u64
    }

    /// Returns the range of the chunk that holds byte `at`, or will hold it after an append.
    pub fn chunk_span(&self, at: u64) -> Range<u64> {
        let stored = self.encoded_nbytes();
        if at < stored {
            return self.span(self.holding(at..at + 1).start);
        }
        let size = self.chunk_size.max(1) as u64;
        let start = stored + (at - stored) / size * size;
        start..start.saturating_add(size)
    }

    /// Returns the bytes of chunk `i` if they are not encoded: the chunk is pending, or it is being
    /// changed.
    pub fn unencoded(&self, i: usize) -> Option<&[u8]> {
        match i.checked_sub(self.encoded_chunks()) {
            Some(k) => self.pending.chunks(self.chunk_size.max(1)).nth(k),
            None => {
                let open = self.open_chunk.as_ref().filter(|(k, _)| *k == i);
                open.map(|(_, bytes)| &bytes[..])
            }
        }
    }

    /// Returns the size of chunk `i` in bytes.
    pub fn chunk_nbytes(&self, i: usize) -> usize {
        match self.unencoded(i) {
            Some(bytes) => bytes.len(),
            None => {
                let span = self.span(i);
                (span.end - span.start) as usize
            }
        }
    }

    /// Copies pending content from its byte `from` on.
    pub fn copy_pending(&self, from: u64, dst: &mut [u8]) -> Result<()> {
        let part = self.pending.get(from as usize..);
        let part = part.and_then(|p| p.get(..dst.len()));
        dst.copy_from_slice(part.ok_or_else(|| fail!(State, "range after the end"))?);
        Ok(())
    }

    /// Overwrites pending content from its byte `from` on.
    pub fn write_pending(&mut self, from: u64, src: &[u8]) {
        let part = self.pending.get_mut(from as usize..);
        if let Some(part) = part.and_then(|p| p.get_mut(..src.len())) {
            part.copy_from_slice(src);
        }
    }

    /// Splits a range of content at chunk boundaries.
    pub fn cut<'a>(&self, bytes: Range<u64>, dst: &'a mut [u8]) -> Vec<ChunkPart<'a>> {
        let mut parts = Vec::new();
        let mut rest = dst;
        for chunk in self.holding(bytes.clone()) {
            let span = self.span(chunk);
            let (from, to) = (span.start.max(bytes.start), span.end.min(bytes.end));
            let (part, after) = rest
                .split_at_mut_checked(to.saturating_sub(from) as usize)
                .unwrap_or_default();
            rest = after;
            if !part.is_empty() {
                parts.push(ChunkPart {
                    chunk,
                    from: (from - span.start) as usize,
                    dst: part,
                });
            }
        }
        parts
    }

    /// Reads a part of a chunk.
    pub fn read_part(
        &self,
        reader: &ChunkReader,
        part: &mut ChunkPart<'_>,
        threads: usize,
    ) -> Result<()> {
        let ChunkPart { chunk, from, dst } = part;
        if let Some(bytes) = self.unencoded(*chunk) {
            let part = bytes.get(*from..).and_then(|p| p.get(..dst.len()));
            dst.copy_from_slice(part.ok_or_else(|| fail!(Range, "range after the end"))?);
            return Ok(());
        }
        reader.slot_part(&*self.slot(*chunk)?, *from, dst, threads)
    }

    /// Decodes a last chunk that is not full into pending content. No chunk may be open.
    pub fn reopen_last_chunk(&mut self, reader: &ChunkReader) -> Result<()> {
        let Some(i) = self
            .slots
            .len()
            .checked_sub(1)
            .filter(|_| self.pending.is_empty())
        else {
            return Ok(());
        };
        let slot = self.slots.get(i)?;
        if slot.nbytes as usize >= self.chunk_size {
            return Ok(());
        }
        self.pending = reader.content(i, slot)?;
        self.slots.truncate(i);
        Ok(())
    }

    /// Truncates the content to `nbytes` bytes. No chunk may be open.
    pub fn truncate(&mut self, reader: &ChunkReader, nbytes: u64) -> Result<()> {
        if let Some(waits) = nbytes.checked_sub(self.slots.nbytes()) {
            self.pending.truncate(waits as usize);
            return Ok(());
        }
        let i = self.slots.holding(nbytes..nbytes + 1).start;
        let retained = (nbytes - self.slots.span(i).start) as usize;
        let content = if retained == 0 {
            Vec::new()
        } else {
            reader.content(i, self.slots.get(i)?)?
        };
        self.slots.truncate(i);
        self.pending = content;
        self.pending.truncate(retained);
        Ok(())
    }
}

/// Returns an error if chunks of `n` bytes have no whole number of items.
pub fn check_chunk_size(n: usize, typesize: usize) -> Result<()> {
    if n.is_multiple_of(typesize) {
        return Ok(());
    }
    Err(fail!(
        Argument,
        "HOLDALL_OPT_CHUNK_BYTES: {n} is not a multiple of the typesize, {typesize}"
    ))
}
