//! Reading of stored chunks, wherever their bytes are. The block table is parsed once; blocks are
//! then read one by one. Blocks that are adjacent in the chunk are read together.
//!
//! A part of a block is decoded alone if the codec allows it. After several partial reads the
//! complete block is decoded and cached, because more reads of the same block are likely.
#![forbid(unsafe_code)]

use super::block_cache::{BlockBuffer, BlockCache};
use super::decode::{StoredStream, repeat};
use super::variable_blocks::{VariableBlocks, variable_len};
use super::{
    BlockDecoder, Codec, Content, DecodeContext, Decoded, Header, Params, filter, sections,
};
use crate::alloc::{self, Bytes, Scratch};
use crate::cache::PartialReads;
use crate::checksum::Checksum;
use crate::error::{Error, Result, fail};
use crate::progress::{Step, advance};
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

/// The stored bytes of one chunk or block.
pub trait StoredBytes {
    /// Fills `dst` with the bytes from offset `at`.
    fn read_at(&self, at: usize, dst: &mut [u8]) -> Result<()>;
    /// Returns a range of the bytes.
    fn bytes(&self, range: Range<usize>) -> Result<Bytes<'_>>;
    /// Returns whether a partial read should request only the bytes that it needs, rather than the
    /// whole block.
    fn reads_short_ranges(&self) -> bool {
        false
    }
}

impl StoredBytes for &[u8] {
    fn read_at(&self, at: usize, dst: &mut [u8]) -> Result<()> {
        let bytes = self.get(at..).and_then(|bytes| bytes.get(..dst.len()));
        dst.copy_from_slice(bytes.ok_or_else(ends_early)?);
        Ok(())
    }

    fn bytes(&self, range: Range<usize>) -> Result<Bytes<'_>> {
        self.get(range).map(Bytes::InPlace).ok_or_else(ends_early)
    }
}

/// One block of a chunk.
struct StoredBlock<'a> {
    source: &'a dyn StoredBytes,
    span: Range<usize>,
}

impl StoredBlock<'_> {
    /// Returns the range of the chunk for `n` bytes from offset `at` of the block.
    fn range(&self, at: usize, n: usize) -> Result<Range<usize>> {
        let begin = self.span.start.saturating_add(at);
        let end = begin.saturating_add(n);
        if end > self.span.end {
            return Err(ends_early());
        }
        Ok(begin..end)
    }
}

impl StoredBytes for StoredBlock<'_> {
    fn read_at(&self, at: usize, dst: &mut [u8]) -> Result<()> {
        self.source.read_at(self.range(at, dst.len())?.start, dst)
    }

    fn bytes(&self, range: Range<usize>) -> Result<Bytes<'_>> {
        self.source.bytes(self.range(range.start, range.len())?)
    }
}

fn ends_early() -> Error {
    fail!(Format, "the chunk ends within a block")
}

/// Returns a chunk of `cbytes` bytes. Verifies the digest that follows it, if `sum` is given.
pub fn verified(
    source: &dyn StoredBytes,
    cbytes: usize,
    sum: Option<Checksum>,
) -> Result<Bytes<'_>> {
    let digest_len = sum.map_or(0, |sum| sum.size());
    let mut bytes = source.bytes(0..cbytes.saturating_add(digest_len))?;
    let (chunk, digest) = bytes.split_at_checked(cbytes).unwrap_or_default();
    if let Some(sum) = sum
        && sum.of(chunk) != digest
    {
        return Err(fail!(Checksum, "its {sum} does not match what is stored"));
    }
    bytes.truncate(cbytes);
    Ok(bytes)
}

/// The value of all items of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Zero bytes.
    Zeros,
    /// These bytes, repeated.
    Item(Arc<[u8]>),
}

impl Fill {
    /// Returns true if every item of `item` bytes has the same value, wherever the item is.
    pub fn is_uniform_for(&self, item: usize) -> bool {
        match self {
            Fill::Zeros => true,
            Fill::Item(bytes) => item.is_multiple_of(bytes.len()),
        }
    }

    /// Returns the value that chunks with these parameters store: with truncated precision.
    pub fn truncated(self, params: &Params) -> Result<Fill> {
        let (Fill::Item(bytes), Some(bits)) = (&self, params.filters.truncation()) else {
            return Ok(self);
        };
        let mut item = vec![0; bytes.len().max(params.typesize)];
        self.put(0, &mut item);
        filter::truncate_in_place(bits, params.typesize, &mut item)?;
        Ok(Fill::Item(item.into()))
    }

    /// Fills `dst`, which begins at content offset `at`.
    pub fn put(&self, at: usize, dst: &mut [u8]) {
        match self {
            Fill::Zeros => dst.fill(0),
            Fill::Item(item) => repeat(item, at, dst),
        }
    }

    /// Passes the requested blocks of a chunk with `nbytes` bytes of content to the sink. Blocks
    /// have `size` bytes.
    pub fn deliver(
        &self,
        (size, nbytes): (usize, usize),
        requested: &[usize],
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let mut filled = 0;
        for block in requested {
            let at = block.saturating_mul(size);
            let n = nbytes.saturating_sub(at).min(size);
            filled += n;
            if let Some(dst) = sink.destination(*block).filter(|dst| dst.len() == n) {
                self.put(at, dst);
                continue;
            }
            let mut content = Scratch::new(n as u64, u64::MAX, "a block of a chunk")?;
            self.put(at, &mut content);
            sink.put(*block, &Decoded::Plain(&content))?;
        }
        advance(Step::Decode, filled)
    }
}

/// The destination of decoded blocks.
pub trait Sink {
    /// Returns the buffer for a block if its destination is contiguous and has the size of the
    /// block. The block is decoded into the buffer.
    fn destination(&mut self, block: usize) -> Option<&mut [u8]>;
    /// Returns the range of the block that [`Sink::put`] reads. Bytes outside of the range may have
    /// any value.
    fn requested(&mut self, _block: usize, len: usize) -> Range<usize> {
        0..len
    }
    /// Receives a block that has no contiguous destination.
    fn put(&mut self, block: usize, content: &Decoded) -> Result<()>;
    /// Receives the complete content of a block that is decoded already.
    fn deliver(&mut self, block: usize, content: &[u8]) -> Result<()> {
        match self.destination(block) {
            Some(dst) if dst.len() == content.len() => dst.copy_from_slice(content),
            _ => self.put(block, &Decoded::Plain(content))?,
        }
        Ok(())
    }
}

/// Consecutive complete blocks and their destination.
struct BlockRun<'a> {
    first: usize,
    size: usize,
    dst: &'a mut [u8],
}

impl Sink for BlockRun<'_> {
    fn destination(&mut self, block: usize) -> Option<&mut [u8]> {
        let at = block.checked_sub(self.first)?.checked_mul(self.size)?;
        let n = self.size.min(self.dst.len().saturating_sub(at));
        self.dst.get_mut(at..)?.get_mut(..n)
    }

    fn put(&mut self, block: usize, _: &Decoded) -> Result<()> {
        Err(fail!(State, "no destination for block {block}"))
    }
}

#[cold]
fn out_of_range(block: usize, from: usize, dst: &[u8], len: usize) -> Error {
    fail!(
        Range,
        "block {block}: {} bytes at offset {from} are out of range (the block has {len})",
        dst.len()
    )
}

/// A chunk whose header, and usually block table, were read.
pub struct StoredChunk {
    header: Header,
    body: Body,
    partial_reads: PartialReads,
}

enum Body {
    Fill(Fill),
    /// The content, uncompressed.
    Copied,
    Blocks(Box<Blocks>),
}

struct Blocks {
    /// None if the table is read again by each call.
    table: Option<BlockTable>,
    decoder: BlockDecoder,
    /// The content of the first block, if the other blocks need it.
    first: OnceLock<Vec<u8>>,
}

impl StoredChunk {
    /// Parses a chunk from its bytes or its first bytes. Returns none if there are too few.
    pub fn parse(bytes: &[u8], limit: u64) -> Result<Option<StoredChunk>> {
        let header = Header::parse(bytes)?;
        if needed(bytes)? > bytes.len() {
            return Ok(None);
        }
        alloc::allow(header.blocksize as u64, limit, "a block of a chunk")?;
        let item = |bytes: &[u8]| Body::Fill(Fill::Item(bytes.into()));
        let body = match header.content()? {
            Content::Zeros | Content::Uninitialised => Body::Fill(Fill::Zeros),
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
            Content::Copied => Body::Copied,
            Content::Blocks => {
                let (table, dictionary) = sections(&header, bytes)?;
                let earliest = header.len() + table.len() + dictionary.map_or(0, |d| 4 + d.len());
                let decoder = BlockDecoder::new(&header, dictionary)?;
                Body::Blocks(Box::new(Blocks {
                    table: Some(BlockTable::parse(&header, table, earliest)?),
                    decoder: decoder.for_blocks(table, earliest)?,
                    first: OnceLock::new(),
                }))
            }
        };
        Ok(Some(StoredChunk {
            header,
            body,
            partial_reads: PartialReads::default(),
        }))
    }

    /// Opens a chunk of blocks without a dictionary from its header alone. Its block table is read
    /// when it is needed, so that a read of a part of a block reads one offset.
    pub fn without_table(header: Header) -> Result<StoredChunk> {
        let blocks = Blocks {
            table: None,
            decoder: BlockDecoder::new(&header, None)?,
            first: OnceLock::new(),
        };
        Ok(StoredChunk {
            header,
            body: Body::Blocks(Box::new(blocks)),
            partial_reads: PartialReads::default(),
        })
    }

    /// Opens the chunk of at most `room` bytes. Reads its first `n` bytes, or more if the block
    /// table is longer, and returns them too.
    pub fn open(
        source: &dyn StoredBytes,
        room: u64,
        n: usize,
        limit: u64,
    ) -> Result<(StoredChunk, Bytes<'_>)> {
        let room = usize::try_from(room)
            .unwrap_or(usize::MAX)
            .min(i32::MAX as usize);
        let mut requested = n.max(super::EXTENDED_HEADER_LEN).min(room);
        loop {
            let first = source.bytes(0..requested)?;
            let chunk =
                StoredChunk::parse(&first, limit)?.filter(|chunk| chunk.header.cbytes <= room);
            if let Some(chunk) = chunk {
                return Ok((chunk, first));
            }
            let n = needed(&first)?;
            if n > room || n <= requested {
                return Err(fail!(
                    Format,
                    "the chunk is longer than the {room} bytes available for it"
                ));
            }
            requested = n;
        }
    }

    /// Returns the chunk header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the fill of a chunk that stores one repeated item only.
    pub fn fill(&self) -> Option<&Fill> {
        if let Body::Fill(fill) = &self.body {
            Some(fill)
        } else {
            None
        }
    }

    /// Can its blocks be copied to another chunk with the same header?
    pub fn has_free_blocks(&self) -> bool {
        matches!(&self.body, Body::Blocks(b) if !b.decoder.needs_first())
            && !self.header.has_dictionary()
            && self.header.variable_blocks.is_none()
    }

    /// Returns the number of bytes that it has allocated.
    pub fn allocated(&self) -> usize {
        let table = match &self.body {
            Body::Blocks(b) => b.table.as_ref().map_or(0, |table| table.starts.len() * 8),
            _ => 0,
        };
        size_of::<Blocks>() + table
    }

    /// Returns the byte range of a stored block. It ends at the end of the chunk if the block table
    /// was not read.
    pub fn span(&self, source: &dyn StoredBytes, block: usize) -> Result<Range<usize>> {
        let len = self.header.block_len(block);
        if len == 0 {
            return Err(self.no_block(block));
        }
        match &self.body {
            Body::Fill(_) => Ok(0..0),
            Body::Copied => {
                let at = self.header.len() + block * self.header.blocksize;
                Ok(at..at + len)
            }
            Body::Blocks(blocks) => match &blocks.table {
                Some(table) => table.span(block).ok_or_else(|| self.no_block(block)),
                None => {
                    let (h, mut start) = (&self.header, [0; 4]);
                    source.read_at(h.len() + 4 * block, &mut start)?;
                    let start = h.block_start(block, start, h.len() + 4 * h.blocks())?;
                    Ok(start..h.cbytes)
                }
            },
        }
    }

    /// Returns the stored bytes of a block of the complete chunk `bytes`, up to the end of its last
    /// stream.
    pub fn block<'c>(&self, bytes: &'c [u8], block: usize) -> Result<&'c [u8]> {
        let (h, span) = (&self.header, self.span(&bytes, block)?);
        let stored = bytes.get(span).ok_or_else(ends_early)?;
        let (streams, mut rest) = (h.streams(block), stored);
        for _ in 0..streams {
            (_, rest) = StoredStream::parse(h, rest, h.block_len(block) / streams)?;
        }
        Ok(stored.get(..stored.len() - rest.len()).unwrap_or_default())
    }

    /// Returns the decoder of a chunk of blocks of variable length, and these.
    fn variable_blocks(&self) -> Option<(&BlockDecoder, &VariableBlocks)> {
        match &self.body {
            Body::Blocks(blocks) => Some((&blocks.decoder, blocks.decoder.variable.as_ref()?)),
            _ => None,
        }
    }

    /// Returns where each block begins in the content, and where the last one ends, in at most
    /// `limit` bytes.
    pub fn block_offsets(&self, source: &dyn StoredBytes, limit: u64) -> Result<Vec<usize>> {
        let h = &self.header;
        if let Some((_, blocks)) = self.variable_blocks() {
            return blocks.offsets(&source.bytes(self.span(source, 0)?)?, h.nbytes);
        }
        // a chunk of a few bytes may state any number of blocks
        let bytes = (h.blocks() as u64 + 1) * size_of::<usize>() as u64;
        alloc::allow(bytes, limit, "the offsets of the blocks of a chunk")?;
        let mut offsets = alloc::with_capacity(h.blocks() + 1)?;
        offsets.extend((0..h.blocks()).map(|i| i * h.blocksize));
        offsets.push(h.nbytes);
        Ok(offsets)
    }

    /// Returns the length of the content of one of the blocks of [`StoredChunk::block_offsets`].
    pub fn block_len(&self, source: &dyn StoredBytes, block: usize) -> Result<usize> {
        let len = match self.variable_blocks() {
            Some((_, blocks)) => {
                let stored = source.bytes(self.variable_span(source, blocks, block)?)?;
                variable_len(block, &stored, self.header.nbytes)?
            }
            None => self.header.block_len(block),
        };
        if len == 0 {
            return Err(self.no_block(block));
        }
        Ok(len)
    }

    /// Reads one of these blocks into `dst`, which must have its length.
    pub fn read_block(&self, source: &dyn StoredBytes, block: usize, dst: &mut [u8]) -> Result<()> {
        match self.variable_blocks() {
            Some((decoder, blocks)) => {
                let stored = source.bytes(self.variable_span(source, blocks, block)?)?;
                decoder.decode_variable_alone(&mut DecodeContext::take(), block, &stored, dst)
            }
            None => self.read_part(source, block, 0, dst, None),
        }
    }

    /// Returns where a block of variable length is stored.
    fn variable_span(
        &self,
        source: &dyn StoredBytes,
        blocks: &VariableBlocks,
        block: usize,
    ) -> Result<Range<usize>> {
        let span = blocks.span(block).ok_or_else(|| self.no_block(block))?;
        let first = self.span(source, 0)?.start;
        Ok(first + span.start..first + span.end)
    }

    #[cold]
    fn no_block(&self, block: usize) -> Error {
        fail!(
            Range,
            "block {block} is out of range (the chunk has {})",
            self.header.stored_blocks()
        )
    }

    /// Returns the content of the first block, if the other blocks need it.
    fn first<'b>(
        &self,
        blocks: &'b Blocks,
        source: &dyn StoredBytes,
        context: &mut DecodeContext,
    ) -> Result<Option<&'b [u8]>> {
        if !blocks.decoder.needs_first() {
            return Ok(None);
        }
        if let Some(first) = blocks.first.get() {
            return Ok(Some(first));
        }
        let mut first = alloc::zeroed(self.header.block_len(0))?;
        let stored = source.bytes(self.span(source, 0)?)?;
        (blocks.decoder).decode(context, 0, &stored, None, &mut first)?;
        Ok(Some(blocks.first.get_or_init(|| first)))
    }

    /// Reads content from offset `from` until `dst` is full. `cache` has decoded blocks, and the
    /// number of this chunk in it.
    pub fn read(
        &self,
        source: &dyn StoredBytes,
        from: usize,
        dst: &mut [u8],
        cache: Option<(&BlockCache, u64)>,
    ) -> Result<()> {
        if let Body::Fill(fill) = &self.body {
            fill.put(from, dst);
            return advance(Step::Decode, dst.len());
        }
        let size = self.header.blocksize.max(1);
        let (mut at, mut rest) = (from, dst);
        while !rest.is_empty() {
            let (block, skip) = (at / size, at % size);
            let len = self.header.block_len(block);
            let complete = match rest.len() {
                n if skip > 0 || n < len => 0,
                n if len < size => n,
                n => n / size * size,
            };
            let n = match complete {
                0 => len.saturating_sub(skip).min(rest.len()).max(1),
                n => n,
            };
            let (dst, after) = rest.split_at_mut_checked(n).unwrap_or_default();
            if complete == 0 {
                self.read_part(source, block, skip, dst, cache)?;
                advance(Step::Decode, n)?;
            } else {
                let n = complete.div_ceil(size);
                let mut requested = alloc::with_capacity(n)?;
                requested.extend(block..block + n);
                let first = block;
                self.read_blocks(source, &requested, &mut BlockRun { first, size, dst }, None)?;
            }
            (at, rest) = (at + n, after);
        }
        Ok(())
    }

    /// Returns whether the content is uncompressed.
    pub fn is_copied(&self) -> bool {
        matches!(self.body, Body::Copied)
    }

    /// Returns the ranges that [`StoredChunk::read_blocks`] reads, if the block table is in memory.
    pub fn ranges(
        &self,
        source: &dyn StoredBytes,
        requested: &[usize],
    ) -> Result<Vec<Range<usize>>> {
        match &self.body {
            Body::Blocks(blocks) if blocks.table.is_none() => Ok(Vec::new()),
            Body::Fill(_) => Ok(Vec::new()),
            _ => {
                let spans = self.spans(source, requested)?;
                let reads = runs(&spans, self.header.blocksize);
                Ok(reads.map(|(range, _)| range).collect())
            }
        }
    }

    /// Decodes each of the requested blocks once. `requested` must be in ascending order. Caches
    /// blocks that were requested before in `cache`, in which the chunk has this number.
    pub fn read_blocks(
        &self,
        source: &dyn StoredBytes,
        requested: &[usize],
        sink: &mut dyn Sink,
        cache: Option<(&BlockCache, u64)>,
    ) -> Result<()> {
        let h = &self.header;
        let blocks = match &self.body {
            Body::Fill(fill) => return fill.deliver((h.blocksize, h.nbytes), requested, sink),
            Body::Copied => return self.copy_blocks(source, requested, sink),
            Body::Blocks(blocks) => blocks,
        };
        let mut context = DecodeContext::take();
        let first = self.first(blocks, source, &mut context)?;
        let spans = self.spans(source, requested)?;
        let mut decoded = 0;
        for (range, run) in runs(&spans, h.blocksize) {
            let bytes = source.bytes(range.clone())?;
            for (span, block) in run {
                let stored = bytes.get(span.start - range.start..span.end - range.start);
                let (decoder, stored) = (&blocks.decoder, stored.unwrap_or_default());
                let len = h.block_len(*block);
                if let Some((cache, chunk)) = cache
                    && cache.requests((chunk, block * h.blocksize), len) > 0
                {
                    let mut complete = cache.room(len)?;
                    decoder.decode(&mut context, *block, stored, first, &mut complete)?;
                    decoded += len;
                    sink.deliver(*block, &complete)?;
                    cache.put((chunk, block * h.blocksize), complete);
                    continue;
                }
                if let Some(dst) = sink.destination(*block) {
                    decoded += dst.len();
                    decoder.decode(&mut context, *block, stored, first, dst)?;
                    continue;
                }
                let part = sink.requested(*block, len);
                decoded += part.len();
                let content = decoder.decode_range(&mut context, *block, stored, first, part)?;
                sink.put(*block, &content)?;
            }
        }
        advance(Step::Decode, decoded)
    }

    /// Implements [`StoredChunk::read_blocks`] for uncompressed content.
    fn copy_blocks(
        &self,
        source: &dyn StoredBytes,
        requested: &[usize],
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let spans = self.spans(source, requested)?;
        let mut copied = 0;
        for (range, run) in runs(&spans, self.header.blocksize) {
            // one block is read directly into its destination
            let (bytes, slice);
            let (source, begin): (&dyn StoredBytes, usize) = if run.len() > 1 {
                bytes = source.bytes(range.clone())?;
                slice = &*bytes;
                (&slice, range.start)
            } else {
                (source, 0)
            };
            for (span, block) in run {
                let stored = span.start - begin..span.end - begin;
                copied += stored.len();
                match sink.destination(*block) {
                    Some(dst) if dst.len() == stored.len() => source.read_at(stored.start, dst)?,
                    Some(dst) => {
                        return Err(fail!(
                            State,
                            "block {block} has {} bytes (the buffer has {})",
                            stored.len(),
                            dst.len()
                        ));
                    }
                    None => sink.put(*block, &Decoded::Plain(&source.bytes(stored)?))?,
                }
            }
        }
        advance(Step::Decode, copied)
    }

    /// Returns the byte ranges and the numbers of blocks, in the order in which they are stored.
    fn spans(
        &self,
        source: &dyn StoredBytes,
        requested: &[usize],
    ) -> Result<Vec<(Range<usize>, usize)>> {
        let read_now = match &self.body {
            Body::Blocks(blocks) if blocks.table.is_none() => {
                let (h, begin) = (&self.header, self.header.len());
                let table = source.bytes(begin..begin + 4 * h.blocks())?;
                Some(BlockTable::parse(h, &table, begin + table.len())?)
            }
            _ => None,
        };
        let mut spans = alloc::with_capacity(requested.len())?;
        for block in requested {
            let span = match &read_now {
                Some(table) => table.span(*block).ok_or_else(|| self.no_block(*block))?,
                None => self.span(source, *block)?,
            };
            spans.push((span, *block));
        }
        if !spans.is_sorted_by_key(|(span, _)| span.start) {
            spans.sort_unstable_by_key(|(span, _)| span.start);
        }
        Ok(spans)
    }

    /// Reads a part of a block, from the cache if possible. Decodes and caches the complete block if
    /// more reads of it are likely.
    pub fn read_part(
        &self,
        source: &dyn StoredBytes,
        block: usize,
        from: usize,
        dst: &mut [u8],
        cache: Option<(&BlockCache, u64)>,
    ) -> Result<()> {
        let (h, len) = (&self.header, self.header.block_len(block));
        if len == 0 {
            return Err(self.no_block(block));
        }
        if from.checked_add(dst.len()).is_none_or(|end| end > len) {
            return Err(out_of_range(block, from, dst, len));
        }
        let blocks = match &self.body {
            Body::Fill(fill) => {
                fill.put(block * h.blocksize + from, dst);
                return Ok(());
            }
            Body::Copied => return source.read_at(h.len() + block * h.blocksize + from, dst),
            Body::Blocks(blocks) => blocks,
        };
        let cache = cache.filter(|(cache, _)| cache.admits(len));
        let key = |chunk: u64| (chunk, block * h.blocksize);
        if let Some((cache, chunk)) = cache
            && cache.read(key(chunk), from, dst)
        {
            return Ok(());
        }
        let span = self.span(source, block)?;
        let (bytes, slice, in_chunk);
        let stored: &dyn StoredBytes = if source.reads_short_ranges() {
            let span = span.clone();
            in_chunk = StoredBlock { source, span };
            &in_chunk
        } else {
            bytes = source.bytes(span.clone())?;
            slice = &*bytes;
            &slice
        };
        let part = |dst: &mut [u8]| blocks.decoder.decode_part(block, from, dst, stored);
        let all = dst.len() == len
            || cache.is_some_and(|(cache, chunk)| {
                let before = cache.requests(key(chunk), len);
                self.is_read_again(block, from, dst.len(), before)
            });
        if !all && part(dst)? {
            return Ok(());
        }
        let complete = stored.bytes(0..span.len()).and_then(|stored| {
            let mut complete =
                cache.map_or_else(|| BlockBuffer::allocate(len), |(c, _)| c.room(len))?;
            let mut context = DecodeContext::take();
            let first = self.first(blocks, source, &mut context)?;
            (blocks.decoder).decode(&mut context, block, &stored, first, &mut complete)?;
            Ok(complete)
        });
        let complete = match complete {
            Ok(complete) => complete,
            // a partial decode may end before the corrupt bytes
            Err(_) if dst.len() < len && part(dst).unwrap_or(false) => return Ok(()),
            Err(e) => return Err(e),
        };
        dst.copy_from_slice(complete.get(from..from + dst.len()).unwrap_or_default());
        if let Some((cache, chunk)) = cache {
            cache.put(key(chunk), complete);
        }
        Ok(())
    }

    /// Are more reads of this block likely, so that decoding all of it pays off? There were `before`
    /// recent ones.
    fn is_read_again(&self, block: usize, from: usize, n: usize, before: u32) -> bool {
        let in_parts = matches!(
            self.header.codec(),
            Ok(Codec::BloscLz | Codec::Lz4 | Codec::Lz4Hc)
        );
        let most = if in_parts { MAX_PARTIAL_READS } else { 1 };
        let is_large = n >= self.header.block_len(block) / MAX_PARTIAL_READS as usize;
        self.partial_reads.should_decode_whole(block, from, n, most)
            || before >= if is_large { 1 } else { most }
    }
}

/// Calls `f` with a complete chunk.
pub fn with_chunk<R>(
    bytes: &[u8],
    limit: u64,
    f: impl FnOnce(&StoredChunk, &dyn StoredBytes) -> Result<R>,
) -> Result<R> {
    let chunk = StoredChunk::parse(bytes, limit)?.ok_or_else(ends_early)?;
    f(&chunk, &bytes)
}

/// Returns how many bytes at the beginning of a chunk hold everything that its blocks share.
fn needed(bytes: &[u8]) -> Result<usize> {
    let header = Header::parse(bytes)?;
    let table = header.len() + 4 * header.stored_blocks();
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

/// The offsets of the blocks of a chunk.
struct BlockTable {
    /// The offset of each block.
    starts: Vec<u32>,
    /// The same offsets in ascending order, and the end of the chunk: writers store blocks in the
    /// order in which they finish.
    ends: Vec<u32>,
}

impl BlockTable {
    /// Parses the table. No block begins before `earliest`.
    fn parse(header: &Header, table: &[u8], earliest: usize) -> Result<BlockTable> {
        // the chunk is one block, which begins where the first one of variable length does
        let table = table.as_chunks::<4>().0.iter().take(header.blocks());
        let mut starts = alloc::with_capacity(table.len())?;
        for (i, start) in table.enumerate() {
            starts.push(header.block_start(i, *start, earliest)? as u32);
        }
        let mut ends = alloc::with_capacity(starts.len() + 1)?;
        ends.extend_from_slice(&starts);
        ends.push(header.cbytes as u32);
        ends.sort_unstable();
        Ok(BlockTable { starts, ends })
    }

    /// Returns the byte range of a block.
    fn span(&self, block: usize) -> Option<Range<usize>> {
        let begin = *self.starts.get(block)?;
        let end = self.ends.get(self.ends.partition_point(|e| *e <= begin));
        Some(begin as usize..end.copied().unwrap_or(begin) as usize)
    }
}

/// Returns the blocks to read together, and the byte range of each read. Blocks of `blocksize`
/// bytes of content are stored in these `spans`, in ascending order.
fn runs(
    spans: &[(Range<usize>, usize)],
    blocksize: usize,
) -> impl Iterator<Item = (Range<usize>, &[(Range<usize>, usize)])> {
    let (mut rest, most) = (spans, (blocksize / 2).clamp(MIN_RUN, MAX_RUN));
    std::iter::from_fn(move || {
        let begin = rest.first()?.0.start;
        let (n, end) = coalesce(rest, most);
        let (run, after) = rest.split_at_checked(n)?;
        rest = after;
        Some((begin..end, run))
    })
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
