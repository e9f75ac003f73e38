//! Reading content, chunks and encoded chunks.
#![forbid(unsafe_code)]

use super::Bloscpack;
use super::content::ChunkPart;
use crate::blosc::stored::{self, StoredBytes, StoredChunk};
use crate::error::{Error, Result, fail};
use crate::parallel;
use crate::superchunk::staging::PieceReader;
use std::sync::{Mutex, PoisonError};

/// Minimum number of bytes of content for which several threads are used.
const PARALLEL_MIN: usize = 256 << 10;

impl Bloscpack {
    /// Reads content from byte `at` on until `dst` is full. Returns true if corrupt content was
    /// replaced by zeros, as the options allow.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        match self.read_range(at, dst) {
            Err(e) if self.may_be_elsewhere(&e) => self.intact()?.read_range(at, dst),
            read => read,
        }
    }

    /// Returns true if this error in a chunk that was located on demand may be due to its location:
    /// the list of all chunks shows what is wrong.
    fn may_be_elsewhere(&self, e: &Error) -> bool {
        self.content.uniform.is_some() && e.status.is_corruption()
    }

    fn read_range(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let end = self.checked_end(at, dst.len())?;
        let encoded = self.content.encoded_nbytes();
        let stored_end = end.min(encoded).max(at);
        let (stored, pending) = dst
            .split_at_mut_checked((stored_end - at) as usize)
            .unwrap_or_default();
        if !pending.is_empty() {
            self.content
                .copy_pending(at.max(encoded) - encoded, pending)?;
        }
        let damaged = self.read_parts(self.content.cut(at..stored_end, stored))?;
        Ok(damaged || self.reader.skip_damaged && self.reader.damage.is_position_unsure())
    }

    fn read_parts(&self, mut parts: Vec<ChunkPart<'_>>) -> Result<bool> {
        let total: usize = parts.iter().map(|p| p.dst.len()).sum();
        let (large, reader) = (total >= PARALLEL_MIN, &self.reader);
        if let [p] = &mut parts[..] {
            let threads = if large { reader.threads.count() } else { 1 };
            let read = self.content.read_part(reader, p, threads);
            let read = read.map_err(|e| reader.named(p.chunk, e));
            return reader
                .or_zeros(read, p.dst)
                .and_then(|damaged| reader.check_unmodified().map(|()| damaged));
        }
        // the error of the lowest chunk is returned, independent of the order of execution
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let damaged = Mutex::new(false);
        let threads = if large { reader.file_threads() } else { 1 };
        parallel::for_each(threads, parts, |mut p| {
            let read = self.content.read_part(reader, &mut p, 1);
            let read = read.map_err(|e| reader.named(p.chunk, e));
            match reader.or_zeros(read, p.dst) {
                Ok(zeroed) => *damaged.lock().unwrap_or_else(PoisonError::into_inner) |= zeroed,
                Err(e) => {
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    if failed.as_ref().is_none_or(|f| e.position < f.position) {
                        *failed = Some(e);
                    }
                }
            }
        });
        reader.check_unmodified()?;
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(e) => Err(e),
            None => Ok(damaged.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Reads chunk `i` into `dst`, which must have the content size of the chunk. Returns true
    /// under the same condition as [`Bloscpack::read`].
    pub fn read_chunk(&self, i: u64, dst: &mut [u8]) -> Result<bool> {
        let i = self.index(i)?;
        let n = self.content.chunk_nbytes(i);
        if dst.len() != n {
            return Err(fail!(
                Argument,
                "{}: chunk {i}: wrong buffer size (expected {n} bytes, found {})",
                self.name(),
                dst.len()
            )
            .at(i as u64));
        }
        if i >= self.content.encoded_chunks() {
            dst.copy_from_slice(self.content.unencoded(i).unwrap_or_default());
            return Ok(false);
        }
        let damaged = match self.read_whole(i, dst) {
            Err(e) if self.may_be_elsewhere(&e) => self.intact()?.read_whole(i, dst)?,
            read => read?,
        };
        Ok(damaged || self.reader.skip_damaged && self.reader.damage.is_chunk_unsure())
    }

    fn read_whole(&self, chunk: usize, dst: &mut [u8]) -> Result<bool> {
        let from = 0;
        self.read_parts(vec![ChunkPart { chunk, from, dst }])
    }

    /// Calls `f` with the encoded bytes of chunk `i` without its checksum. A chunk that is not
    /// encoded yet is encoded first.
    pub fn with_raw<R>(&self, i: u64, f: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        let i = self.index(i)?;
        if let Some(content) = self.content.unencoded(i) {
            let (encoder, mut chunk) = (&self.writer()?.encoder, Vec::new());
            encoder.encode(content, &mut chunk, encoder.threads.count())?;
            return f(&chunk);
        }
        let mut f = Some(f);
        match self.with_stored(i, &mut f) {
            Err(e) if f.is_some() && self.may_be_elsewhere(&e) => {
                self.intact()?.with_stored(i, &mut f)
            }
            read => read,
        }
    }

    /// Returns where each block of chunk `i` begins in the content of the chunk, and where the last
    /// one ends.
    pub fn block_offsets(&self, i: u64) -> Result<Vec<usize>> {
        let limit = self.reader.memory_limit;
        self.with_parsed(i, |chunk, source| chunk.block_offsets(source, limit))
    }

    /// Returns the length of a block of chunk `i`.
    pub fn block_len(&self, i: u64, block: usize) -> Result<usize> {
        self.with_parsed(i, |chunk, source| chunk.block_len(source, block))
    }

    /// Reads a block of chunk `i` into `dst`, which must have its length. Returns false.
    pub fn read_block(&self, i: u64, block: usize, dst: &mut [u8]) -> Result<bool> {
        self.with_parsed(i, |chunk, source| chunk.read_block(source, block, dst))?;
        Ok(false)
    }

    /// Like [`Bloscpack::with_raw`], with the parsed chunk.
    fn with_parsed<R>(
        &self,
        i: u64,
        f: impl FnOnce(&StoredChunk, &dyn StoredBytes) -> Result<R>,
    ) -> Result<R> {
        let limit = self.reader.memory_limit;
        self.with_raw(i, |bytes| stored::with_chunk(bytes, limit, f))
    }

    /// Takes `f`, and calls it with the encoded bytes of chunk `i`, unless they cannot be read.
    fn with_stored<R, F>(&self, i: usize, f: &mut Option<F>) -> Result<R>
    where
        F: FnOnce(&[u8]) -> Result<R>,
    {
        let read = self.content.slot(i).and_then(|slot| {
            self.reader.stored(&slot, |chunk| match f.take() {
                Some(f) => f(chunk),
                None => Err(fail!(State, "its reader is gone")),
            })
        });
        let read = read.map_err(|e| self.reader.named(i, e));
        self.reader.check_unmodified()?;
        read
    }

    /// Like [`Bloscpack::with_raw`], for `needed` bytes of the content of an encoded chunk: reads and
    /// verifies only the blocks that `f` reads. Returns `None` if the complete chunk has to be read.
    pub fn with_blocks<R>(
        &self,
        i: u64,
        needed: usize,
        f: impl FnOnce(&StoredChunk, &dyn StoredBytes) -> Result<R>,
    ) -> Result<Option<R>> {
        let i = self.index(i)?;
        if self.content.unencoded(i).is_some() {
            return Ok(None);
        }
        let slot = match self.content.slot(i) {
            // reading the complete chunk shows what is wrong
            Err(e) if self.may_be_elsewhere(&e) => return Ok(None),
            slot => slot?,
        };
        let read = self.reader.with_blocks(&slot, needed, f);
        let read = read.map_err(|e| self.reader.named(i, e));
        self.reader.check_unmodified()?;
        read
    }

    /// Calls `f` with all content in consecutive pieces. Returns true under the same condition as
    /// [`Bloscpack::read`].
    pub fn each_piece(&self, f: impl FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        let (nbytes, chunk) = (self.nbytes(), self.chunk_size() as u64);
        let pieces = PieceReader {
            nbytes,
            chunk,
            threads: self.reader.threads.count(),
            limit: self.reader.memory_limit,
            options: &self.options,
        };
        pieces.each(|at, dst| self.read(at, dst), f)
    }
}
