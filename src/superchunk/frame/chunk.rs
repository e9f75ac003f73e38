//! An open chunk. Its block table is read once; blocks are then read one by one. Blocks that are
//! adjacent in the file are read together.
//!
//! A part of a block is decoded alone if the codec allows it. After several partial reads the
//! complete block is decoded and cached, because more reads of the same block are likely.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::blosc::{self, BlockDecoder, Codec, Content, Decoded, Header, sections};
use crate::cache::{CacheBudget, LruCache, PartialReads};
use crate::error::{Error, Result, fail};
use crate::io::{File, read_buffer};
use crate::superchunk::chunks::{Fill, Sink};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Limits of one read for several blocks. It has at most half the bytes of a decoded block, clamped
/// to these limits, so that a thread holds no more than about two blocks: one stored and one
/// decoded.
const MIN_RUN: usize = 32 << 10;
const MAX_RUN: usize = 128 << 10;
/// Maximum gap between two blocks that are read together.
const MAX_GAP: usize = 4 << 10;
/// Number of partial reads of a block after which the complete block is decoded: about the cost of
/// decoding it. Other codecs than BloscLZ and LZ4 decode almost the complete block for any part.
const MAX_PARTIAL_READS: u32 = 4;
/// The longest block that is cached, and the minimum cache limit for the blocks of a frame.
pub const MAX_CACHED_BLOCK: usize = 4 << 20;
const MIN_CACHE_BYTES: usize = 256 << 10;
/// The largest scratch buffer that a thread retains.
const MAX_SCRATCH: usize = 8 << 20;

/// Memory limits for all block tables and for all decoded blocks that are cached in the process.
static TABLE_BUDGET: CacheBudget = CacheBudget::new(32 << 20);
static BLOCK_BUDGET: CacheBudget = CacheBudget::new(64 << 20);

/// LRU cache of open chunks, by offset or file number.
pub type ChunkCache = LruCache<u64, Arc<Chunk>>;
/// The longest chunk whose stored bytes are cached with it.
const MAX_CACHED_CHUNK: usize = 16 << 10;

/// LRU cache of decoded blocks, by the location of the chunk and the number of the block.
pub type BlockCache = LruCache<(u64, usize), Arc<Vec<u8>>>;

/// Creates an empty cache. It is small if chunks are files, because each open chunk holds a file
/// descriptor.
pub fn open_chunks(are_files: bool) -> ChunkCache {
    LruCache::new(if are_files { 16 } else { 512 }, &TABLE_BUDGET)
}

/// Creates an empty cache, limited to half of `chunk` bytes (at least 256 KiB), or to one block.
pub fn blocks(chunk: usize) -> BlockCache {
    LruCache::new(8, &BLOCK_BUDGET).with_max_cost((chunk / 2).max(MIN_CACHE_BYTES))
}

/// An open chunk.
pub struct Chunk {
    file: Arc<dyn File>,
    /// Its offset in the file.
    at: u64,
    header: Header,
    body: ChunkBody,
    /// All stored bytes, if they are few.
    cached: Option<Vec<u8>>,
    limit: u64,
    partial_reads: PartialReads,
}

enum ChunkBody {
    Fill(Fill),
    /// The content, uncompressed.
    Copied,
    Blocks(Box<BlockTable>),
}

struct BlockTable {
    /// The offset of each block in the chunk.
    starts: Vec<u32>,
    /// The same offsets in ascending order, and the end of the chunk: writers store blocks in the
    /// order in which they finish.
    ends: Vec<u32>,
    decoder: BlockDecoder,
    /// The content of the first block, if the other blocks need it.
    first: OnceLock<Vec<u8>>,
}

impl Chunk {
    /// Opens the chunk at offset `at`. Reads its first `n` bytes, or more if the block table is
    /// longer, and passes them to `f`. `room` is the maximum length of the chunk.
    pub fn open<R>(
        file: &Arc<dyn File>,
        at: u64,
        room: u64,
        n: usize,
        limit: u64,
        f: impl FnOnce(Chunk, &[u8]) -> Result<R>,
    ) -> Result<R> {
        let room = usize::try_from(room)
            .unwrap_or(usize::MAX)
            .min(i32::MAX as usize);
        let (mut f, mut requested) = (Some(f), n.max(blosc::EXTENDED_HEADER_LEN).min(room));
        loop {
            let opened = read_buffer::with_range(&**file, at, requested, limit, |head| {
                let chunk = Chunk::parse(file, at, head, limit)?
                    .filter(|chunk| chunk.header.cbytes <= room);
                match chunk.and_then(|chunk| Some((chunk, f.take()?))) {
                    Some((chunk, f)) => f(chunk, head).map(Ok),
                    None => Ok(Err(needed(head)?)),
                }
            })?;
            match opened {
                Ok(result) => return Ok(result),
                Err(n) if n <= room && n > requested => requested = n,
                Err(_) => {
                    return Err(fail!(
                        Format,
                        "the chunk is longer than the {room} bytes available for it"
                    ));
                }
            }
        }
    }

    /// Parses a chunk from its bytes or its first bytes. Returns none if there are too few.
    pub fn parse(file: &Arc<dyn File>, at: u64, bytes: &[u8], limit: u64) -> Result<Option<Chunk>> {
        let header = Header::parse(bytes)?;
        if needed(bytes)? > bytes.len() {
            return Ok(None);
        }
        alloc::allow(header.blocksize as u64, limit, "a block of a chunk")?;
        let item = |bytes: &[u8]| ChunkBody::Fill(Fill::Item(bytes.into()));
        let body = match header.content()? {
            Content::Zeros | Content::Uninitialised => ChunkBody::Fill(Fill::Zeros),
            Content::Nan if header.typesize == 4 => item(&f32::NAN.to_le_bytes()),
            Content::Nan => item(&f64::NAN.to_le_bytes()),
            // a partial item at the end has no meaning for reads of single items
            Content::Value if !(header.cbytes - header.len()).is_multiple_of(header.typesize) => {
                let n = header.cbytes - header.len();
                return Err(fail!(
                    Format,
                    "a chunk repeats a value of {n} bytes (expected whole items of {})",
                    header.typesize
                ));
            }
            Content::Value => item(bytes.get(header.len()..header.cbytes).unwrap_or_default()),
            Content::Copied => ChunkBody::Copied,
            Content::Blocks => ChunkBody::Blocks(Box::new(BlockTable::read(&header, bytes)?)),
        };
        let cached = bytes.get(..header.cbytes).filter(|all| {
            all.len() <= MAX_CACHED_CHUNK
                && matches!(body, ChunkBody::Copied | ChunkBody::Blocks(_))
        });
        Ok(Some(Chunk {
            file: file.clone(),
            at,
            header,
            body,
            cached: cached.map(<[u8]>::to_vec),
            limit,
            partial_reads: PartialReads::default(),
        }))
    }

    /// Returns the chunk header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the fill of a chunk that stores one repeated item only.
    pub fn fill(&self) -> Option<&Fill> {
        if let ChunkBody::Fill(fill) = &self.body {
            Some(fill)
        } else {
            None
        }
    }

    /// Can its blocks be copied to another chunk with the same header?
    pub fn has_free_blocks(&self) -> bool {
        matches!(&self.body, ChunkBody::Blocks(t) if !t.decoder.needs_first())
            && !self.header.has_dictionary()
    }

    /// Returns the memory that caching the chunk takes.
    pub fn cost(&self) -> usize {
        let table = if let ChunkBody::Blocks(t) = &self.body {
            t.starts.len() * 8
        } else {
            0
        };
        size_of::<Chunk>()
            + size_of::<BlockTable>()
            + table
            + self.cached.as_ref().map_or(0, Vec::len)
    }

    /// Returns a byte range of the chunk if it is in memory: in `have` or in the cached bytes.
    fn in_memory<'a>(&'a self, have: Option<&'a [u8]>, range: &Range<usize>) -> Option<&'a [u8]> {
        have.or(self.cached.as_deref())
            .and_then(|first| first.get(range.clone()))
    }

    /// Calls `f` with a byte range of the chunk. `have` holds its first bytes, if they were just
    /// read.
    pub fn with_bytes<R>(
        &self,
        have: Option<&[u8]>,
        range: Range<usize>,
        f: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<R> {
        match self.in_memory(have, &range) {
            Some(bytes) => f(bytes),
            None => read_buffer::with_range(
                &*self.file,
                self.at.saturating_add(range.start as u64),
                range.len(),
                self.limit,
                f,
            ),
        }
    }

    /// Returns the byte range of a stored block.
    pub fn span(&self, block: usize) -> Result<Range<usize>> {
        let len = self.header.block_len(block);
        let none = || {
            fail!(
                Range,
                "block {block} is out of range (the chunk has {})",
                self.header.blocks()
            )
        };
        if len == 0 {
            return Err(none());
        }
        match &self.body {
            ChunkBody::Fill(_) => Ok(0..0),
            ChunkBody::Copied => {
                let at = self.header.len() + block * self.header.blocksize;
                Ok(at..at + len)
            }
            ChunkBody::Blocks(t) => {
                let begin = *t.starts.get(block).ok_or_else(none)?;
                let end = t
                    .ends
                    .get(t.ends.partition_point(|e| *e <= begin))
                    .copied()
                    .unwrap_or(begin);
                Ok(begin as usize..end as usize)
            }
        }
    }

    /// Decodes a block from its stored bytes.
    pub fn decode(
        &self,
        block: usize,
        stored: &[u8],
        first: Option<&[u8]>,
        dst: &mut [u8],
    ) -> Result<()> {
        match &self.body {
            ChunkBody::Fill(Fill::Zeros) => dst.fill(0),
            ChunkBody::Fill(Fill::Item(item)) => {
                blosc::repeat(item, block * self.header.blocksize, dst)
            }
            ChunkBody::Copied if dst.len() == stored.len() => dst.copy_from_slice(stored),
            ChunkBody::Copied => {
                return Err(fail!(
                    State,
                    "block {block} has {} bytes (the buffer has {})",
                    stored.len(),
                    dst.len()
                ));
            }
            ChunkBody::Blocks(t) => t.decoder.decode(block, stored, first, dst)?,
        }
        Ok(())
    }

    /// Returns the content of the first block, if the other blocks need it.
    pub fn first(&self, have: Option<&[u8]>) -> Result<Option<&[u8]>> {
        let ChunkBody::Blocks(t) = &self.body else {
            return Ok(None);
        };
        if !t.decoder.needs_first() {
            return Ok(None);
        }
        if let Some(first) = t.first.get() {
            return Ok(Some(first));
        }
        let mut first = alloc::zeroed(self.header.block_len(0))?;
        self.with_bytes(have, self.span(0)?, |stored| {
            t.decoder.decode(0, stored, None, &mut first)
        })?;
        Ok(Some(t.first.get_or_init(|| first)))
    }

    /// Decodes each of the requested blocks once. `requested` must be in ascending order.
    pub fn read_blocks(
        &self,
        have: Option<&[u8]>,
        requested: &[usize],
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let first = self.first(have)?;
        let mut spans = alloc::with_capacity(requested.len())?;
        for block in requested {
            spans.push((self.span(*block)?, *block));
        }
        if !spans.is_sorted_by_key(|(span, _)| span.start) {
            spans.sort_unstable_by_key(|(span, _)| span.start);
        }
        let mut rest = &spans[..];
        let most = (self.header.blocksize / 2).clamp(MIN_RUN, MAX_RUN);
        while let Some((begin, _)) = rest.first() {
            let begin = begin.start;
            let (n, end) = coalesce(rest, most);
            let (run, after) = rest.split_at_checked(n).unwrap_or((rest, &[]));
            rest = after;
            if let ([(_, block)], ChunkBody::Copied, None, None) = (
                run,
                &self.body,
                self.in_memory(have, &(begin..end)),
                self.file.bytes(),
            ) && let Some(dst) = sink
                .destination(*block)
                .filter(|dst| dst.len() == end - begin)
            {
                self.file
                    .read_exact_at(self.at.saturating_add(begin as u64), dst)?;
                continue;
            }
            self.with_bytes(have, begin..end, |bytes| {
                run.iter().try_for_each(|(span, block)| {
                    let stored = bytes
                        .get(span.start - begin..span.end - begin)
                        .unwrap_or_default();
                    self.deliver(*block, stored, first, sink)
                })
            })?;
        }
        Ok(())
    }

    /// Decodes a block and passes it to the sink.
    fn deliver(
        &self,
        block: usize,
        stored: &[u8],
        first: Option<&[u8]>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let len = self.header.block_len(block);
        if let Some(dst) = sink.destination(block) {
            return if dst.len() == len {
                self.decode(block, stored, first, dst)
            } else {
                Err(fail!(
                    State,
                    "a buffer of {} bytes for a block of {len}",
                    dst.len()
                ))
            };
        }
        if let ChunkBody::Copied = self.body {
            return sink.put(block, &Decoded::Plain(stored));
        }
        let requested = sink.requested(block, len);
        if let ChunkBody::Blocks(table) = &self.body {
            return table
                .decoder
                .with_decoded_range(block, stored, first, requested, |content| {
                    sink.put(block, content)
                });
        }
        with_scratch(len, |content| {
            self.decode(block, stored, first, content)
                .and_then(|()| sink.put(block, &Decoded::Plain(content)))
        })
    }

    /// Decodes a part of a block. Returns the complete block if it had to be decoded or if more
    /// reads of it are likely. `room` returns the buffer for it, with any content.
    pub fn read_part(
        &self,
        have: Option<&[u8]>,
        block: usize,
        from: usize,
        dst: &mut [u8],
        room: impl FnOnce(usize) -> Result<Vec<u8>>,
    ) -> Result<Option<Arc<Vec<u8>>>> {
        let (span, len) = (self.span(block)?, self.header.block_len(block));
        if from.checked_add(dst.len()).is_none_or(|end| end > len) {
            return Err(fail!(
                Range,
                "block {block}: {} bytes at offset {from} are out of range (the block has {len})",
                dst.len()
            ));
        }
        let table = match &self.body {
            ChunkBody::Fill(Fill::Zeros) => {
                dst.fill(0);
                return Ok(None);
            }
            ChunkBody::Fill(Fill::Item(item)) => {
                blosc::repeat(item, block * self.header.blocksize + from, dst);
                return Ok(None);
            }
            ChunkBody::Copied => {
                let own = span.start + from..span.start + from + dst.len();
                return self.with_bytes(have, own, |bytes| {
                    dst.copy_from_slice(bytes);
                    Ok(None)
                });
            }
            ChunkBody::Blocks(table) => table,
        };
        let first = self.first(have)?;
        self.with_bytes(have, span, |stored| {
            let some = |r: Range<usize>, f: &mut dyn FnMut(&[u8]) -> Result<()>| {
                f(stored.get(r).ok_or_else(ends_early)?)
            };
            if !self.should_decode_all(block, from, dst.len(), len)
                && table.decoder.decode_part(block, from, dst, &some)?
            {
                return Ok(None);
            }
            let mut complete = room(len)?;
            if let Err(e) = table.decoder.decode(block, stored, first, &mut complete) {
                // a partial decode may end before the corrupt bytes
                let is_there = dst.len() < len
                    && table
                        .decoder
                        .decode_part(block, from, dst, &some)
                        .unwrap_or(false);
                return if is_there { Ok(None) } else { Err(e) };
            }
            dst.copy_from_slice(complete.get(from..from + dst.len()).unwrap_or_default());
            Ok(Some(Arc::new(complete)))
        })
    }

    /// Are more reads of this block likely, so that decoding all of it pays off?
    fn should_decode_all(&self, block: usize, from: usize, n: usize, len: usize) -> bool {
        let in_parts = matches!(
            self.header.codec(),
            Ok(Codec::BloscLz | Codec::Lz4 | Codec::Lz4Hc)
        );
        let most = if in_parts { MAX_PARTIAL_READS } else { 1 };
        n == len
            || (self.partial_reads.should_decode_whole(block, from, n, most)
                && len <= MAX_CACHED_BLOCK)
    }
}

/// Returns how many bytes at the beginning of a chunk hold everything that its blocks share.
fn needed(bytes: &[u8]) -> Result<usize> {
    let header = Header::parse(bytes)?;
    let table = header.len() + 4 * header.blocks();
    Ok(match header.content()? {
        Content::Value => header.cbytes,
        Content::Blocks if !header.has_dictionary() => table,
        Content::Blocks => {
            let n = bytes
                .get(table..)
                .and_then(<[u8]>::first_chunk::<4>)
                .map_or(0, |n| u32::from_le_bytes(*n));
            (table + 4).saturating_add(n as usize).min(header.cbytes)
        }
        _ => header.len(),
    })
}

impl BlockTable {
    fn read(header: &Header, bytes: &[u8]) -> Result<BlockTable> {
        let (table, dictionary) = sections(header, bytes)?;
        let (table, earliest) = (
            table.as_chunks::<4>().0,
            header.len() + table.len() + dictionary.map_or(0, |d| 4 + d.len()),
        );
        let mut starts = alloc::with_capacity(table.len())?;
        for (i, start) in table.iter().enumerate() {
            let start = u32::from_le_bytes(*start);
            if (start as usize) < earliest || start as usize >= header.cbytes {
                return Err(fail!(Format, "block {i} begins outside of its chunk"));
            }
            starts.push(start);
        }
        let mut ends = alloc::with_capacity(starts.len() + 1)?;
        ends.extend_from_slice(&starts);
        ends.push(header.cbytes as u32);
        ends.sort_unstable();
        Ok(BlockTable {
            starts,
            ends,
            decoder: BlockDecoder::new(header, dictionary)?,
            first: OnceLock::new(),
        })
    }
}

/// Returns how many of the first spans to read together, and where they end. They have at most
/// `most` bytes, unless there is one only.
fn coalesce(spans: &[(Range<usize>, usize)], most: usize) -> (usize, usize) {
    let mut all = spans.iter().map(|(span, _)| span);
    let Some(first) = all.next() else {
        return (0, 0);
    };
    let (mut n, mut end) = (1, first.end);
    for span in all {
        if span.start.saturating_sub(end) > MAX_GAP || span.end.max(end) - first.start > most {
            break;
        }
        (n, end) = (n + 1, span.end.max(end));
    }
    (n, end)
}

fn ends_early() -> Error {
    fail!(Format, "the chunk ends within a block")
}

/// Calls `f` with a buffer of `n` bytes whose content is unspecified.
pub fn with_scratch<R>(n: usize, f: impl FnOnce(&mut [u8]) -> Result<R>) -> Result<R> {
    thread_local!(static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
    let mut buffer = BUFFER.take();
    if buffer.len() < n {
        drop(buffer);
        buffer = alloc::zeroed(n)?;
    }
    let result = f(buffer.get_mut(..n).unwrap_or_default());
    if buffer.len() <= MAX_SCRATCH {
        BUFFER.set(buffer);
    }
    result
}
