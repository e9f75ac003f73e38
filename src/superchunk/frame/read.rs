//! Reads stored chunks, verifies their checksums, and reads content.
#![forbid(unsafe_code)]

use super::Frame;
use super::chunk::{Chunk, OpenChunk};
use super::entry::Entry;
use super::index::{IndexSlot, LOST};
use crate::blosc::{self, stored::StoredBytes};
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::io::{Access, File, read_buffer};
use crate::parallel;
use crate::superchunk::chunks::Fill;
use crate::superchunk::staging::PieceReader;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Minimum content per thread.
const MIN_BYTES_PER_THREAD: usize = 128 << 10;
/// Assumed number of blocks of a chunk if the header states no block size.
const ASSUMED_BLOCKS: usize = 16;
/// A chunk of at most this many bytes is read at once, and so are the bytes up to the end of a
/// requested block if they are estimated to be no more. A read call costs as much as copying about
/// this many bytes, even if they are in the page cache.
const SMALL_READ: usize = 64 << 10;
/// The block table of a chunk with at least this many blocks, all of them requested, is not cached:
/// the time to read it again is small compared to such a call.
const MIN_UNCACHED_BLOCKS: usize = 8;
/// A chunk with more stored bytes is not opened to find out whether it is one repeated item.
const MAX_FILL_CHUNK: u32 = 4 << 10;

/// A requested part of a chunk.
struct ChunkPart<'a> {
    chunk: u64,
    /// The content offset in the chunk.
    from: usize,
    dst: &'a mut [u8],
}

/// The last requested block, and the number of requested blocks.
#[derive(Clone, Copy)]
pub(super) struct RequestedBlocks {
    pub(super) last: usize,
    pub(super) n: usize,
}

impl Frame {
    /// Returns the file of a stored chunk, the offset of the chunk in it, and the maximum length of
    /// the chunk.
    pub(super) fn locate_chunk(&self, entry: &Entry) -> Result<(Arc<dyn File>, u64, u64)> {
        let position = match entry.slot {
            IndexSlot::At(position) => position,
            IndexSlot::Unknown(LOST) => {
                return Err(fail!(
                    Format,
                    "the index is corrupt, and its position is lost"
                ));
            }
            IndexSlot::Unknown(position) if position >> 63 == 0 => {
                return Err(fail!(
                    Format,
                    "the index has its position {position} more than once"
                ));
            }
            IndexSlot::Unknown(bits) => {
                return Err(fail!(Format, "the index has the unknown value {bits:#x}"));
            }
            _ => return Err(fail!(State, "it is not stored")),
        };
        if self.storage.sparse {
            let access = if self.options.get(crate::options::Opt::Io, 0) == 1 {
                Access::Map
            } else {
                Access::Read
            };
            let file = match self
                .storage
                .folder
                .open(&self.storage.chunk_path(position), access)
            {
                // the frame exists, but it is incomplete
                Err(e) if e.status == Status::Missing => {
                    return Err(fail!(Format, "its file is missing: {e}"));
                }
                file => file?,
            };
            let room = file.size()?;
            return Ok((file, 0, room));
        }
        let file = self
            .file
            .as_ref()
            .ok_or_else(|| fail!(State, "there is no file yet"))?;
        let room = self
            .header
            .cbytes
            .checked_sub(position)
            .filter(|room| *room >= blosc::EXTENDED_HEADER_LEN as u64);
        let room = room.ok_or_else(|| {
            fail!(
                Format,
                "its offset is {position} (there are {} bytes of chunks)",
                self.header.cbytes
            )
        })?;
        let at = position
            .checked_add(self.base)
            .ok_or_else(|| fail!(Format, "its offset {position} is out of range"))?;
        Ok((file.clone(), at, room))
    }

    /// Opens a stored chunk, after its checksum was verified if it has one. `blocks` are the blocks
    /// that will be requested. They may be read along with the block table of a chunk that is not
    /// cached.
    ///
    /// The result of reading the chunk must be passed to [`Frame::finish`].
    pub(super) fn open_for(&self, i: u64, blocks: Option<RequestedBlocks>) -> Result<OpenChunk> {
        let entry = self.entry(i)?;
        if self.verify && entry.is_unverified() {
            return self.open_verified(i, &entry);
        }
        if let Some(chunk) = self.cached_chunk(&entry) {
            return Ok(OpenChunk { chunk, first: None });
        }
        let (file, at, room) = self.locate_chunk(&entry)?;
        let n = self.initial_read_len(i, &entry, room, blocks);
        let (chunk, first) = Chunk::open(&file, at, room, n, self.memory_limit)?;
        let all = blocks.is_some_and(|requested| {
            requested.n >= MIN_UNCACHED_BLOCKS && requested.n == chunk.stored.header().blocks()
        });
        let chunk = if all {
            self.check_content_len(i, chunk.stored.header())?;
            Arc::new(chunk)
        } else {
            self.cache_chunk(i, &entry, chunk)?
        };
        Ok(OpenChunk { chunk, first })
    }

    /// Returns the result of reading chunk `i`, or an error if the frame was changed meanwhile.
    pub(super) fn finish<R>(&self, i: u64, read: Result<R>) -> Result<R> {
        // a concurrent change of the file can look like corruption
        let check_unchanged = || {
            if self.session.is_none() || self.is_new() {
                self.check_unchanged()
            } else {
                self.check_sole_writer()
            }
        };
        let read = read.map_err(|e| {
            check_unchanged()
                .err()
                .unwrap_or_else(|| self.chunk_error(i, e))
        })?;
        self.check_unchanged()?;
        Ok(read)
    }

    /// Opens a chunk and verifies its checksum now, if it has one.
    pub(super) fn open_verified(&self, i: u64, entry: &Entry) -> Result<OpenChunk> {
        if !entry.has_checksum() {
            let chunk = self.open_chunk(i, entry)?;
            return Ok(OpenChunk { chunk, first: None });
        }
        let (file, at, room) = self.locate_chunk(entry)?;
        let cbytes = u64::from(entry.cbytes);
        if cbytes > room || (self.storage.sparse && cbytes != room) {
            let e = fail!(Checksum, "it has {room} bytes (its CRC-32 covers {cbytes})");
            return self.open_unverified(i, entry, e);
        }
        let n = entry.cbytes as usize;
        let bytes = read_buffer::read(&*file, at, n, self.memory_limit)?;
        if crc32(&bytes) != entry.crc {
            let e = fail!(Checksum, "its CRC-32 does not match the stored one");
            return self.open_unverified(i, entry, e);
        }
        let chunk = Chunk::parse(&file, at, &bytes, self.memory_limit)?
            .filter(|chunk| chunk.stored.header().cbytes == n);
        let chunk = chunk.ok_or_else(|| {
            fail!(
                Format,
                "it is longer than the {n} bytes that its CRC-32 covers"
            )
        })?;
        let chunk = self.cache_chunk(i, entry, chunk)?;
        entry.set_verified(true);
        let first = bytes.into_scratch();
        Ok(OpenChunk { chunk, first })
    }

    /// Continues without the checksum if another writer may have replaced the chunk.
    fn open_unverified(&self, i: u64, entry: &Entry, e: Error) -> Result<OpenChunk> {
        if self.checksums_trusted {
            return Err(e);
        }
        entry.set_verified(false);
        let chunk = self.open_chunk(i, entry)?;
        Ok(OpenChunk { chunk, first: None })
    }

    /// Opens a chunk without verification.
    pub(super) fn open_chunk(&self, i: u64, entry: &Entry) -> Result<Arc<Chunk>> {
        if let Some(chunk) = self.cached_chunk(entry) {
            return Ok(chunk);
        }
        let (file, at, room) = self.locate_chunk(entry)?;
        let n = self.initial_read_len(i, entry, room, None);
        let (chunk, _) = Chunk::open(&file, at, room, n, self.memory_limit)?;
        self.cache_chunk(i, entry, chunk)
    }

    pub(super) fn cached_chunk(&self, entry: &Entry) -> Option<Arc<Chunk>> {
        entry
            .position()
            .and_then(|position| self.open_chunks.get(&position))
    }

    fn cache_chunk(&self, i: u64, entry: &Entry, chunk: Chunk) -> Result<Arc<Chunk>> {
        self.check_content_len(i, chunk.stored.header())?;
        let chunk = Arc::new(chunk);
        if let Some(position) = entry.position() {
            self.open_chunks.put(position, chunk.clone(), chunk.cost());
        }
        Ok(chunk)
    }

    /// Returns how many bytes to read first: the block table, or the complete chunk, or the bytes
    /// up to the estimated end of the last requested block. They stay in memory until the blocks
    /// are decoded.
    fn initial_read_len(
        &self,
        i: u64,
        entry: &Entry,
        room: u64,
        requested: Option<RequestedBlocks>,
    ) -> usize {
        let blocks = match self.header.blocksize as usize {
            0 => ASSUMED_BLOCKS,
            size => self.header.chunksize.div_ceil(size as u32) as usize,
        };
        let head = blosc::EXTENDED_HEADER_LEN.saturating_add(blocks.saturating_mul(4));
        // without a known length, a chunk ends at most where the next one begins
        let next = || match (
            self.position(i.saturating_add(1)).ok().flatten(),
            entry.position(),
        ) {
            (Some(next), Some(own)) if !self.storage.sparse && next > own => room.min(next - own),
            _ => room,
        };
        let length = usize::try_from(
            entry
                .length(self.checksums_trusted)
                .map_or_else(next, u64::from),
        )
        .unwrap_or(usize::MAX);
        if length <= SMALL_READ {
            return length;
        }
        let Some(RequestedBlocks { last, .. }) = requested else {
            return head;
        };
        let end = head.saturating_add(
            (length.saturating_sub(head) / blocks.max(1)).saturating_mul(last.saturating_add(1))
                / 8
                * 9,
        );
        if end <= SMALL_READ {
            end.min(length)
        } else {
            head
        }
    }

    fn check_content_len(&self, i: u64, header: &blosc::Header) -> Result<()> {
        let span = self.span(i)?;
        if header.nbytes as u64 == span.end - span.start {
            return Ok(());
        }
        Err(fail!(
            Format,
            "it holds {} bytes (expected {})",
            header.nbytes,
            span.end - span.start
        ))
    }

    /// Fails if another writer may have overwritten data since the frame was opened.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        if self.session.is_some() || self.file.is_none() || self.is_unchanged()? {
            return Ok(());
        }
        Err(fail!(
            State,
            "{}: it was changed since it was opened; open it again to read on",
            self.name
        ))
    }

    fn is_unchanged(&self) -> Result<bool> {
        let Some(file) = &self.file else {
            return Ok(true);
        };
        let same = !self.storage.sparse
            || self.storage.folder.identity(&self.storage.main())? == Some(file.identity());
        let as_opened = same && (file.size()?, file.modified()?) == self.last.stamp;
        if as_opened || !same || !self.last.may_grow {
            return Ok(as_opened);
        }
        // other writers overwrite the trailer; writers of this library never do
        let mut tail = [0; super::trailer::TAIL];
        let n = file.read_at(self.last.tail_at, &mut tail)?;
        Ok(tail.get(..n) == Some(&self.last.tail))
    }

    /// Returns the fill of a chunk that consists of one repeated item, without decoding it.
    pub(super) fn fill_of(&self, i: u64) -> Result<Option<Fill>> {
        let Some(entry) = self.entry_if_stored(i)? else {
            return self.span(i).map(|_| None);
        };
        match entry.slot {
            IndexSlot::Zeros | IndexSlot::Uninit => Ok(Some(Fill::Zeros)),
            IndexSlot::Nan => match self.header.typesize {
                4 => Ok(Some(Fill::Item(f32::NAN.to_le_bytes()[..].into()))),
                8 => Ok(Some(Fill::Item(f64::NAN.to_le_bytes()[..].into()))),
                n => Err(self.chunk_error(
                    i,
                    fail!(
                        Format,
                        "it is marked as NaN, but its items have {n} bytes (expected 4 or 8)"
                    ),
                )),
            },
            // a chunk of one repeated item is hardly longer than the item
            _ if entry.cbytes > MAX_FILL_CHUNK => Ok(None),
            _ => {
                let opened = self.open_for(i, None);
                self.finish(i, opened.map(|o| o.chunk.stored.fill().cloned()))
            }
        }
    }

    /// Returns the fill of a chunk if it is known without a read that reading its blocks would
    /// repeat.
    pub(super) fn known_fill(&self, i: u64) -> Result<Option<Fill>> {
        match self.entry_if_stored(i)? {
            Some(entry) if entry.position().is_some() => {
                let cached = self
                    .cached_chunk(&entry)
                    .filter(|_| !(self.verify && entry.is_unverified()));
                Ok(cached.and_then(|chunk| chunk.stored.fill().cloned()))
            }
            _ => self.fill_of(i),
        }
    }

    /// Returns the pending content of a chunk that is not encoded yet.
    pub(super) fn pending_chunk(&self, i: u64) -> Option<&[u8]> {
        let after = i.checked_sub(self.stored_chunks())?;
        self.pending
            .chunks(self.chunk_bytes().max(1))
            .nth(after as usize)
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
                self.name,
                at.saturating_add(dst.len() as u64),
                self.nbytes()
            )
        })?;
        let threaded = dst.len() >= 2 * MIN_BYTES_PER_THREAD;
        let parts = self.cut(at..end, dst, if threaded { self.file_threads() } else { 1 })?;
        // the first failing chunk is reported, independent of the order of the threads
        let failed: Mutex<(Option<Error>, bool)> = Mutex::default();
        parallel::for_each(
            if threaded { self.file_threads() } else { 1 },
            parts,
            |mut p| {
                let read = self
                    .read_chunk_part(&mut p)
                    .map_err(|e| self.chunk_error(p.chunk, e));
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                match read {
                    Ok(corrupt) => failed.1 |= corrupt,
                    Err(e) if failed.0.as_ref().is_none_or(|f| e.position < f.position) => {
                        failed.0 = Some(e)
                    }
                    Err(_) => {}
                }
            },
        );
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            (Some(e), _) => Err(e),
            (None, corrupt) => Ok(corrupt || self.has_corruption()),
        }
    }

    /// Splits a content range into parts of chunks. Chunks are split further if there are fewer of
    /// them than threads need.
    fn cut<'a>(
        &self,
        bytes: Range<u64>,
        mut rest: &'a mut [u8],
        threads: usize,
    ) -> Result<Vec<ChunkPart<'a>>> {
        let chunks = self.chunks_overlapping(&bytes);
        let too_few = threads > 1 && chunks.end - chunks.start < 2 * threads as u64;
        let share = match self.block_bytes() {
            size if too_few && size > 0 => MIN_BYTES_PER_THREAD
                .max(rest.len() / threads / 2)
                .next_multiple_of(size),
            _ => usize::MAX,
        };
        let mut parts = Vec::new();
        for chunk in chunks {
            let span = self.span(chunk)?;
            let (mut from, to) = (
                (span.start.max(bytes.start) - span.start) as usize,
                (span.end.min(bytes.end).saturating_sub(span.start)) as usize,
            );
            while from < to {
                let end = (from / share)
                    .saturating_add(1)
                    .saturating_mul(share)
                    .min(to);
                let (dst, after) = rest
                    .split_at_mut_checked(end - from)
                    .ok_or_else(|| fail!(State, "too many bytes"))?;
                rest = after;
                parts.push(ChunkPart { chunk, from, dst });
                from = end;
            }
        }
        Ok(parts)
    }

    fn read_chunk_part(&self, part: &mut ChunkPart<'_>) -> Result<bool> {
        if let Some(content) = self.pending_chunk(part.chunk) {
            let own = content
                .get(part.from..)
                .and_then(|c| c.get(..part.dst.len()));
            part.dst
                .copy_from_slice(own.ok_or_else(|| fail!(State, "bytes beyond the end"))?);
            return Ok(false);
        }
        self.or_zeros(self.stored_part(part.chunk, part.from, part.dst), |()| {
            part.dst.fill(0)
        })
    }

    /// Reads a part of a stored chunk.
    pub(super) fn stored_part(&self, i: u64, from: usize, dst: &mut [u8]) -> Result<()> {
        if let Some(fill) = self.known_fill(i)? {
            fill.put(from, dst);
            return Ok(());
        }
        let block = |at: usize| at.checked_div(self.block_bytes());
        let blocks = block(from).zip(block(from.saturating_add(dst.len().saturating_sub(1))));
        let reach = blocks.map(|(first, last)| RequestedBlocks {
            last,
            n: last - first + 1,
        });
        let read = self.open_for(i, reach).and_then(|opened| {
            let cache = Some((&self.blocks, self.block_key(i)?));
            (opened.chunk.stored).read(&opened.source(), from, dst, cache)
        });
        self.finish(i, read)
    }

    /// Reads a part of a block of a stored chunk, from the block cache if possible. Returns false
    /// if the chunk does not have the block size of the frame.
    pub(super) fn block_part(
        &self,
        i: u64,
        block: usize,
        from: usize,
        dst: &mut [u8],
    ) -> Result<bool> {
        let chunk = self.block_key(i)?;
        if self.blocks.read((chunk, block), from, dst)? {
            return Ok(true);
        }
        let reach = Some(RequestedBlocks { last: block, n: 1 });
        let read = self.open_for(i, reach).and_then(|opened| {
            let (stored, cache) = (&opened.chunk.stored, Some((&self.blocks, chunk)));
            if !self.blocks_fit(stored)? {
                return Ok(false);
            }
            stored.read_part(&opened.source(), block, from, dst, cache)?;
            Ok(true)
        });
        self.finish(i, read)
    }

    /// Returns the number of chunk `i` in the block cache.
    fn block_key(&self, i: u64) -> Result<u64> {
        Ok(self.position(i)?.unwrap_or(u64::MAX))
    }

    /// Is there corruption outside of the chunks that the options allow to skip?
    pub fn has_corruption(&self) -> bool {
        self.skip_damaged && !self.corruption.is_empty()
    }

    /// Turns corruption into zeros if the options allow it. Returns true if it did.
    pub(super) fn or_zeros<T>(&self, read: Result<T>, zero: impl FnOnce(())) -> Result<bool> {
        match read {
            Ok(_) => Ok(false),
            Err(e) if self.skip_damaged && e.status.is_corruption() => {
                zero(());
                Ok(true)
            }
            Err(e) => Err(e),
        }
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
            return Err(self.chunk_error(i, e));
        }
        self.read(span.start, dst)
    }

    /// Calls `f` with the stored bytes of chunk `i`. A chunk that is pending or not stored is
    /// encoded first.
    pub fn with_raw<R>(&self, i: u64, f: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        let span = self.span(i)?;
        let entry = self.entry_if_stored(i)?;
        if entry
            .as_ref()
            .is_some_and(|e| matches!(e.slot, IndexSlot::At(_) | IndexSlot::Unknown(_)))
        {
            let read = self.open_for(i, None).and_then(|opened| {
                let n = opened.chunk.stored.header().cbytes;
                f(&opened.source().bytes(0..n)?)
            });
            return self.finish(i, read);
        }
        let n = (span.end - span.start) as usize;
        if let Some(fill) = entry.map(|_| self.fill_of(i)).transpose()?.flatten() {
            return f(&self.filled(&fill, n)?);
        }
        let mut chunk = Vec::new();
        blosc::encode(
            self.params()?,
            self.pending_chunk(i).unwrap_or_default(),
            &mut chunk,
            self.threads.count(),
        )?;
        f(&chunk)
    }

    /// Returns the content bytes, the stored bytes (0 if the chunk is pending or not stored) and
    /// the flags of a chunk.
    pub fn chunk_info(&self, i: u64) -> Result<(usize, usize, u8)> {
        let span = self.span(i)?;
        let n = (span.end - span.start) as usize;
        match self
            .entry_if_stored(i)?
            .filter(|e| matches!(e.slot, IndexSlot::At(_) | IndexSlot::Unknown(_)))
        {
            Some(entry) => {
                let chunk = self
                    .open_chunk(i, &entry)
                    .map_err(|e| self.chunk_error(i, e))?;
                let header = chunk.stored.header();
                Ok((n, header.cbytes, header.flags))
            }
            None => Ok((n, 0, 0)),
        }
    }

    /// Calls `f` with all content, piece by piece. Returns the same as [`Frame::read`].
    pub fn each_piece(&self, f: impl FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        let (nbytes, chunk) = (self.nbytes(), self.chunk_bytes().max(1 << 20) as u64);
        let pieces = PieceReader {
            nbytes,
            chunk,
            threads: self.threads.count(),
            limit: self.memory_limit,
            options: &self.options,
        };
        pieces.each(|at, dst| self.read(at, dst), f)
    }
}
