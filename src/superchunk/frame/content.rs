//! Reads the content of a frame: stored chunks, and the content after them that its writer has not
//! encoded yet.
#![forbid(unsafe_code)]

use super::handle::Frame;
use super::index::IndexSlot;
use crate::alloc;
use crate::blosc;
use crate::blosc::stored::{self, StoredBytes, StoredChunk};
use crate::error::{Result, fail};
use crate::slice::SliceExt;
use crate::superchunk::staging::PieceReader;
use std::ops::Range;

impl Frame {
    /// Returns the number of chunks, including those that are not encoded yet.
    pub fn chunks(&self) -> u64 {
        let chunk = self.chunk_bytes().max(1);
        self.layout().stored_chunks() + self.pending().len().div_ceil(chunk) as u64
    }

    /// Returns the number of content bytes that are not encoded yet.
    pub fn pending_bytes(&self) -> u64 {
        self.pending().len() as u64
    }

    /// Is chunk `i` not encoded yet?
    pub fn is_pending(&self, i: u64) -> bool {
        i >= self.layout().stored_chunks()
    }

    /// Returns the number of content bytes.
    pub fn nbytes(&self) -> u64 {
        self.header().nbytes + self.pending().len() as u64
    }

    /// Returns the content range of a chunk.
    pub fn span(&self, i: u64) -> Result<Range<u64>> {
        let layout = self.layout();
        let Some(after) = i.checked_sub(layout.stored_chunks()) else {
            return layout.span(i);
        };
        let size = layout.chunk_bytes() as u64;
        let begin = after
            .checked_mul(size)
            .filter(|begin| *begin < self.pending().len() as u64)
            .map(|begin| layout.header.nbytes + begin)
            .ok_or_else(|| layout.no_chunk(i, self.chunks()))?;
        Ok(begin..begin.saturating_add(size).min(self.nbytes()))
    }

    /// Reads content from offset `at` until `dst` is full. Returns true if some of it was corrupt
    /// and was replaced by zeros, as the options allow.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let end = at
            .checked_add(dst.len() as u64)
            .filter(|&e| e <= self.nbytes());
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "{}: bytes {at} to {} are out of range (there are {})",
                self.name(),
                at.saturating_add(dst.len() as u64),
                self.nbytes()
            )
        })?;
        let stored = self.header().nbytes;
        let (now, rest) = dst.cut_mut((stored.clamp(at, end) - at) as usize)?;
        let from = at.saturating_sub(stored) as usize;
        rest.copy_from_slice(self.pending().at(from..from + rest.len())?);
        self.reader().read(at, now)
    }

    /// Reads chunk `i` into `dst`, which must have its length. Returns the same as [`Frame::read`].
    pub fn read_chunk(&self, i: u64, dst: &mut [u8]) -> Result<bool> {
        let span = self.span(i)?;
        if dst.len() as u64 != span.end - span.start {
            let e = fail!(
                Argument,
                "it has {} bytes (the buffer has {})",
                span.end - span.start,
                dst.len()
            );
            return Err(self.layout().chunk_error(i, e));
        }
        self.read(span.start, dst)
    }

    /// Returns the content of chunk `i`, which may need `limit` bytes; `what`: its name for messages.
    pub fn chunk_content(&self, i: u64, limit: u64, what: &str) -> Result<Vec<u8>> {
        let span = self.span(i)?;
        let mut content = alloc::zeroed(alloc::allow(span.end - span.start, limit, what)?)?;
        self.read_chunk(i, &mut content)?;
        Ok(content)
    }

    /// Calls `f` with the stored bytes of chunk `i`. A chunk that is pending or not stored is
    /// encoded first.
    pub fn with_raw<R>(&self, i: u64, f: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        self.with_stored(i, |chunk, source| {
            f(&source.bytes(0..chunk.header().cbytes)?)
        })
    }

    /// Like [`Frame::with_raw`], with the parsed chunk.
    pub fn with_stored<R>(
        &self,
        i: u64,
        f: impl FnOnce(&StoredChunk, &dyn StoredBytes) -> Result<R>,
    ) -> Result<R> {
        let span = self.span(i)?;
        let reader = self.reader();
        let entry = reader.entry_if_stored(i)?;
        if entry
            .as_ref()
            .is_some_and(|e| matches!(e.slot, IndexSlot::At(_) | IndexSlot::Unknown(_)))
        {
            return reader.with_stored(i, f);
        }
        let n = (span.end - span.start) as usize;
        let chunk = match entry.map(|_| reader.fill_of(i)).transpose()?.flatten() {
            Some(fill) => reader.filled(&fill, n)?,
            None => {
                let mut chunk = Vec::new();
                let params = reader.layout.encoding_params()?;
                let content = self.pending_chunk(i).unwrap_or_default();
                blosc::encode(params, content, &mut chunk, reader.threads.count())?;
                chunk
            }
        };
        stored::with_chunk(&chunk, reader.memory_limit, f)
    }

    /// Returns where each block of chunk `i` begins in the content of the chunk, and where the last
    /// one ends.
    pub fn block_offsets(&self, i: u64) -> Result<Vec<usize>> {
        let limit = self.reader().memory_limit;
        self.with_stored(i, |chunk, source| chunk.block_offsets(source, limit))
    }

    /// Returns the length of a block of chunk `i`.
    pub fn block_len(&self, i: u64, block: usize) -> Result<usize> {
        self.with_stored(i, |chunk, source| chunk.block_len(source, block))
    }

    /// Reads a block of chunk `i` into `dst`, which must have its length. Returns
    /// [`Frame::has_corruption`].
    pub fn read_block(&self, i: u64, block: usize, dst: &mut [u8]) -> Result<bool> {
        self.with_stored(i, |chunk, source| chunk.read_block(source, block, dst))?;
        Ok(self.has_corruption())
    }

    /// Returns the content bytes, the stored bytes (0 if the chunk is pending or not stored) and
    /// the flags of a chunk.
    pub fn chunk_info(&self, i: u64) -> Result<(usize, usize, u8)> {
        let span = self.span(i)?;
        let n = (span.end - span.start) as usize;
        let reader = self.reader();
        match reader
            .entry_if_stored(i)?
            .filter(|e| matches!(e.slot, IndexSlot::At(_) | IndexSlot::Unknown(_)))
        {
            Some(entry) => {
                let chunk = reader
                    .open_chunk(i, &entry)
                    .map_err(|e| reader.layout.chunk_error(i, e))?;
                let header = chunk.stored.header();
                Ok((n, header.cbytes, header.flags))
            }
            None => Ok((n, 0, 0)),
        }
    }

    /// Calls `f` with all content, piece by piece. Returns the same as [`Frame::read`].
    pub fn each_piece(&self, f: impl FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        let (nbytes, chunk) = (self.nbytes(), self.chunk_bytes().max(1 << 20) as u64);
        let reader = self.reader();
        let pieces = PieceReader {
            nbytes,
            chunk,
            threads: reader.threads.count(),
            limit: reader.memory_limit,
            options: &reader.options,
        };
        pieces.each(|at, dst| self.read(at, dst), f)
    }
}
