//! Reads stored chunks, verifies their checksums, and reads their content.
#![forbid(unsafe_code)]

use super::files::FrameFiles;
use super::header::Header;
use super::index::IndexSlot;
use super::index::entry::Entry;
use super::index::paged::EntryRef;
use super::layout::FrameLayout;
use super::storage::FrameStorage;
use crate::alloc;
use crate::blosc;
use crate::blosc::block_cache::BlockCache;
use crate::blosc::stored::{StoredBytes, StoredChunk};
use crate::checksum::crc32;
use crate::error::{Error, Result, fail};
use crate::io::{File, read_buffer};
use crate::options::{Opt, Options};
use crate::parallel::{self, Threads};
use crate::superchunk::block_checksums::{self, MIN_CHUNK};
use crate::superchunk::chunks::Fill;
use crate::superchunk::open_chunk::{self, Chunk, ChunkCache, OpenChunk};
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
/// If more than one of so many blocks of a chunk are requested, the complete chunk is read and
/// verified, so that later reads do not verify.
const MAX_SHARE: usize = 2;
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

/// The stored chunks of a frame, which many threads may read.
pub struct FrameReader {
    pub(super) layout: FrameLayout,
    open_chunks: ChunkCache,
    pub(super) blocks: BlockCache,
    pub(super) threads: Threads,
    pub(super) verify: bool,
    pub(super) skip_damaged: bool,
    pub(super) memory_limit: u64,
    pub(super) options: Options,
    // Must be the last field, because it has the lock of a writer.
    pub(super) files: FrameFiles,
}

impl FrameReader {
    /// Returns a reader of a frame without chunks.
    pub(super) fn new(storage: &FrameStorage, header: Header, options: &Options) -> FrameReader {
        let layout = FrameLayout::new(storage.show(), header);
        FrameReader::of(layout, FrameFiles::new(storage, options), options)
    }

    /// Returns a reader of these files.
    pub(super) fn of(layout: FrameLayout, files: FrameFiles, options: &Options) -> FrameReader {
        FrameReader {
            open_chunks: open_chunk::open_chunks(layout.header.sparse),
            blocks: BlockCache::new(options.cache_bytes()),
            layout,
            threads: options.threads(),
            verify: options.get(Opt::Verify, 1) > 0,
            skip_damaged: options.get(Opt::SkipDamaged, 0) == 1,
            memory_limit: options.memory_limit(),
            options: options.clone(),
            files,
        }
    }

    /// Returns the number of threads that may read and write the files. It is 1 for storage that
    /// the caller implements, unless the thread option is given: a callback may wait for a lock
    /// that the caller holds.
    pub(super) fn file_threads(&self) -> usize {
        let foreign = self.files.storage.folder.is_foreign();
        if foreign && self.options.given(Opt::Threads).is_none() {
            1
        } else {
            self.threads.count()
        }
    }

    /// Returns the size of the file; in a sparse frame, the size of the index file and the chunk
    /// files.
    pub(super) fn cbytes(&self) -> Result<u64> {
        let Some(file) = &self.files.main else {
            return Ok(0);
        };
        let size = file.size()?.saturating_sub(self.files.at);
        Ok(if self.files.storage.sparse {
            let chunks = self.layout.chunk_files();
            size.saturating_add(chunks.unwrap_or(self.layout.header.cbytes))
        } else {
            size
        })
    }

    // ---- entries

    /// Returns none if the chunk is not stored.
    pub(super) fn entry_if_stored(&self, i: u64) -> Result<Option<EntryRef<'_>>> {
        // a concurrent change of the file can look like corruption
        self.layout.entry(i).map_err(|e| {
            let changed = self.files.check_unchanged().err();
            changed.unwrap_or_else(|| self.layout.chunk_error(i, e))
        })
    }

    pub(super) fn entry(&self, i: u64) -> Result<EntryRef<'_>> {
        let entry = self.entry_if_stored(i)?;
        entry.ok_or_else(|| self.layout.no_chunk(i, self.layout.stored_chunks()))
    }

    /// Returns the offset (or file number) of a chunk; none if it has none in the file.
    pub(super) fn position(&self, i: u64) -> Result<Option<u64>> {
        match usize::try_from(i)
            .ok()
            .and_then(|i| self.layout.entries.get(i))
        {
            Some(entry) => Ok(entry.position()),
            None => Ok(self.entry(i)?.position()),
        }
    }

    // ---- open chunks

    /// Returns the file of a stored chunk, the offset of the chunk in it, and the maximum length of
    /// the chunk.
    pub(super) fn locate_chunk(&self, entry: &Entry) -> Result<(Arc<dyn File>, u64, u64)> {
        self.files.locate_chunk(entry, self.layout.header.cbytes)
    }

    /// Opens a stored chunk, after its checksum was verified if it has one. `blocks` are the blocks
    /// that will be requested. They may be read along with the block table of a chunk that is not
    /// cached.
    ///
    /// The result of reading the chunk must be passed to [`FrameReader::finish`].
    pub(super) fn open_for(&self, i: u64, blocks: Option<RequestedBlocks>) -> Result<OpenChunk> {
        let entry = self.entry(i)?;
        if self.verify && entry.is_unverified() {
            return match self.open_for_few(i, &entry, blocks)? {
                Some(opened) => Ok(opened),
                None => self.open_verified(i, &entry),
            };
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

    /// Opens a chunk of which few blocks are requested, so that only these are verified. Returns none
    /// if the complete chunk has to be, or if its checksums show corruption.
    fn open_for_few(
        &self,
        i: u64,
        entry: &Entry,
        blocks: Option<RequestedBlocks>,
    ) -> Result<Option<OpenChunk>> {
        let cbytes = entry.cbytes as usize;
        if !blocks.is_some_and(|blocks| self.are_few(entry, blocks)) {
            return Ok(None);
        }
        let chunk = match self.cached_chunk(entry) {
            Some(chunk) => chunk,
            None => {
                let (file, at, room) = self.locate_chunk(entry)?;
                if !self.fits(entry, room) {
                    return Ok(None);
                }
                let head = self.initial_read_len(i, entry, room, None);
                let of = (cbytes, Some(entry.crc));
                match Chunk::open_for_blocks(&file, at, of, head, self.memory_limit) {
                    Ok(Some(chunk)) => self.cache_chunk(i, entry, chunk)?,
                    Ok(None) => return Ok(None),
                    Err(e) if e.status.is_corruption() => return Ok(None),
                    Err(e) => return Err(e),
                }
            }
        };
        let opened = OpenChunk { chunk, first: None };
        Ok(Some(opened).filter(|opened| opened.chunk.checksums.is_some()))
    }

    /// Returns whether so few blocks of a chunk are requested that only these are verified.
    pub(super) fn are_few(&self, entry: &Entry, blocks: RequestedBlocks) -> bool {
        blocks.n <= self.blocks_of_a_chunk() / MAX_SHARE && entry.cbytes as usize >= MIN_CHUNK
    }

    /// Can a chunk that has `room` bytes be the one that its checksum covers?
    fn fits(&self, entry: &Entry, room: u64) -> bool {
        let cbytes = u64::from(entry.cbytes);
        cbytes == room || (cbytes < room && !self.files.storage.sparse)
    }

    /// Returns the result of reading chunk `i`, or an error if the frame was changed meanwhile.
    pub(super) fn finish<R>(&self, i: u64, read: Result<R>) -> Result<R> {
        // a concurrent change of the file can look like corruption
        let read = read.map_err(|e| {
            let changed = self.files.check_not_changed_by_others().err();
            changed.unwrap_or_else(|| self.layout.chunk_error(i, e))
        })?;
        self.files.check_unchanged()?;
        Ok(read)
    }

    /// Calls `f` with the stored chunk `i`, after its checksum was verified if it has one.
    pub(super) fn with_stored<R>(
        &self,
        i: u64,
        f: impl FnOnce(&StoredChunk, &dyn StoredBytes) -> Result<R>,
    ) -> Result<R> {
        let read = self
            .open_for(i, None)
            .and_then(|opened| f(&opened.chunk.stored, &opened.source()));
        self.finish(i, read)
    }

    /// Opens a chunk and verifies its checksum now, if it has one.
    pub(super) fn open_verified(&self, i: u64, entry: &Entry) -> Result<OpenChunk> {
        if !entry.has_checksum() {
            let chunk = self.open_chunk(i, entry)?;
            return Ok(OpenChunk { chunk, first: None });
        }
        let (file, at, room) = self.locate_chunk(entry)?;
        if !self.fits(entry, room) {
            let cbytes = entry.cbytes;
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
        if self.layout.checksums_trusted {
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

    /// Returns the number of blocks of a full chunk, as the header states it.
    pub(super) fn blocks_of_a_chunk(&self) -> usize {
        match self.layout.header.blocksize as usize {
            0 => ASSUMED_BLOCKS,
            size => self.layout.header.chunksize.div_ceil(size as u32) as usize,
        }
    }

    /// Returns how many bytes to read first: the block table, or the complete chunk, or the bytes
    /// up to the estimated end of the last requested block. They stay in memory until the blocks
    /// are decoded.
    pub(super) fn initial_read_len(
        &self,
        i: u64,
        entry: &Entry,
        room: u64,
        requested: Option<RequestedBlocks>,
    ) -> usize {
        let blocks = self.blocks_of_a_chunk();
        let head = blosc::EXTENDED_HEADER_LEN.saturating_add(blocks.saturating_mul(4));
        let length = self.longest(i, entry, room);
        if length <= SMALL_READ {
            return length;
        }
        let head = match self.layout.checksums {
            true => head.saturating_add(block_checksums::len(blocks)),
            false => head,
        };
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

    /// Returns the stored length of a chunk that has `room` bytes, or an upper bound.
    pub(super) fn longest(&self, i: u64, entry: &Entry, room: u64) -> usize {
        // without a known length, a chunk ends at most where the next one begins
        let next = || match (
            self.position(i.saturating_add(1)).ok().flatten(),
            entry.position(),
        ) {
            (Some(next), Some(own)) if !self.files.storage.sparse && next > own => {
                room.min(next - own)
            }
            _ => room,
        };
        let known = entry.length(self.layout.checksums_trusted);
        usize::try_from(known.map_or_else(next, u64::from)).unwrap_or(usize::MAX)
    }

    fn check_content_len(&self, i: u64, header: &blosc::Header) -> Result<()> {
        let span = self.layout.span(i)?;
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

    /// Clears the caches of chunks and blocks.
    pub(super) fn clear_caches(&mut self) {
        self.open_chunks.clear();
        self.blocks.clear();
    }

    /// Sets the chunk length from the first chunk if the frame was created without one.
    pub(super) fn set_first_chunk_length(&mut self, n: usize) -> Result<()> {
        if self.layout.starts.is_none() && self.layout.header.chunksize == 0 {
            let chunksize = i32::try_from(n).map_err(|_| {
                fail!(
                    Argument,
                    "a chunk of {n} bytes is too large (at most {})",
                    i32::MAX
                )
            })?;
            self.layout.header.chunksize = chunksize as u32;
        }
        Ok(())
    }

    // ---- content

    /// Returns the fill of a chunk that consists of one repeated item, without decoding it.
    pub(super) fn fill_of(&self, i: u64) -> Result<Option<Fill>> {
        let Some(entry) = self.entry_if_stored(i)? else {
            return self.layout.span(i).map(|_| None);
        };
        match entry.slot {
            IndexSlot::Zeros | IndexSlot::Uninit => Ok(Some(Fill::Zeros)),
            IndexSlot::Nan => match self.layout.header.typesize {
                4 => Ok(Some(Fill::Item(f32::NAN.to_le_bytes()[..].into()))),
                8 => Ok(Some(Fill::Item(f64::NAN.to_le_bytes()[..].into()))),
                n => Err(self.layout.chunk_error(
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

    /// Reads stored content from offset `at` until `dst` is full. Returns true if some of it was
    /// corrupt and was replaced by zeros, as the options allow.
    pub(super) fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let end = at.saturating_add(dst.len() as u64);
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
                    .map_err(|e| self.layout.chunk_error(p.chunk, e));
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

    /// Returns the content of a chunk that is about to change.
    pub(super) fn content(&self, i: u64) -> Result<Vec<u8>> {
        let span = self.layout.span(i)?;
        let mut content = alloc::zeroed(alloc::allow(
            span.end - span.start,
            self.memory_limit,
            "a chunk",
        )?)?;
        if self.read(span.start, &mut content)? {
            return Err(fail!(
                Checksum,
                "{}: chunk {i} is corrupt; repair the frame first",
                self.layout.name
            )
            .at(i));
        }
        Ok(content)
    }

    /// Divides new content of a stored chunk, or its first bytes, into blocks as the chunk is.
    pub(super) fn divided<'c>(&self, i: u64, content: &'c [u8]) -> Result<Vec<&'c [u8]>> {
        let limit = self.memory_limit;
        let offsets = self.with_stored(i, |chunk, source| chunk.block_offsets(source, limit))?;
        let blocks = offsets.windows(2).filter_map(|ends| match ends {
            [begin, end] => content.get(*begin..content.len().min(*end)),
            _ => None,
        });
        Ok(blocks.filter(|block| !block.is_empty()).collect())
    }

    /// Splits a content range into parts of chunks. Chunks are split further if there are fewer of
    /// them than threads need.
    fn cut<'a>(
        &self,
        bytes: Range<u64>,
        mut rest: &'a mut [u8],
        threads: usize,
    ) -> Result<Vec<ChunkPart<'a>>> {
        let chunks = self.layout.chunks_overlapping(&bytes);
        let too_few = threads > 1 && chunks.end - chunks.start < 2 * threads as u64;
        let share = match self.layout.header.blocksize as usize {
            size if too_few && size > 0 => MIN_BYTES_PER_THREAD
                .max(rest.len() / threads / 2)
                .next_multiple_of(size),
            _ => usize::MAX,
        };
        let mut parts = Vec::new();
        for chunk in chunks {
            let span = self.layout.span(chunk)?;
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
        let block = |at: usize| at.checked_div(self.layout.header.blocksize as usize);
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
        let at = block.saturating_mul(self.layout.array_block_bytes());
        if self.blocks.read((chunk, at), from, dst) {
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
    pub(super) fn block_key(&self, i: u64) -> Result<u64> {
        Ok(self.position(i)?.unwrap_or(u64::MAX))
    }

    /// Returns whether a block is in the block cache.
    pub(super) fn is_decoded(&self, i: u64, block: usize) -> bool {
        let at = block.saturating_mul(self.layout.array_block_bytes());
        self.block_key(i)
            .is_ok_and(|key| self.blocks.has((key, at)))
    }

    /// Is there corruption outside of the chunks that the options allow to skip?
    pub(super) fn has_corruption(&self) -> bool {
        self.skip_damaged && !self.layout.corruption.is_empty()
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

    /// Does a stored chunk have the block size that the frame states? Returns false if the caller
    /// sees the chunk as one block while it has several, or if all its items are equal. Fails if
    /// the block size does not match otherwise.
    pub(super) fn blocks_fit(&self, chunk: &StoredChunk) -> Result<bool> {
        let (own, expected) = (chunk.header(), self.layout.array_block_bytes());
        if own.blocksize == expected.min(own.nbytes) {
            return Ok(true);
        }
        if expected >= self.layout.chunk_bytes() || chunk.fill().is_some() {
            return Ok(false);
        }
        Err(fail!(
            Format,
            "its blocks have {} bytes (expected {expected})",
            own.blocksize
        ))
    }
}
