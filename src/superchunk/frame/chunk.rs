//! One stored chunk: where its blocks are is read once, and then each of them by itself. Blocks
//! that lie together in the file are read together.
//!
//! A part of a block is decoded alone, as far as its codec allows that, until it pays to decode all
//! of it: small parts of one block are likely to be followed by others.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::blosc::{self, BlockDecoder, Codec, Content, Decoded, Header, sections};
use crate::cache::{Budget, Lately, Parts};
use crate::error::{Error, Result, fail};
use crate::io::{File, read_buffer};
use crate::superchunk::chunks::{Fill, Sink};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Bytes that are read at once for several blocks, unless one has more: half of what a block holds,
/// within these. A thread is to hold no more than two blocks, one as it is stored and one as it is
/// decoded.
const LEAST_RUN: usize = 32 << 10;
const RUN: usize = 128 << 10;
/// What is between two blocks that are read together.
const GAP: usize = 4 << 10;
/// Small parts of a block after which it is decoded as a whole: about what that takes then. Other
/// codecs have to decode almost all of it for any part.
const PARTS: u32 = 4;
/// The longest block that is kept; and what blocks of small chunks may have together.
pub const LONGEST_KEPT: usize = 4 << 20;
const LEAST_KEPT: usize = 256 << 10;
/// What a thread keeps for decoding a block.
const SCRATCH: usize = 8 << 20;

/// Bytes in all tables of blocks, and in all blocks, that are kept.
static TABLES: Budget = Budget::new(32 << 20);
static BLOCKS: Budget = Budget::new(64 << 20);

/// Chunks of late use, by their places.
pub type OpenChunks = Lately<u64, Arc<Chunk>>;
/// The longest chunk that is kept as it is stored, and not read again.
const LONGEST_HELD: usize = 16 << 10;

/// Decoded blocks of late use, by the places of their chunks and their numbers.
pub type Blocks = Lately<(u64, usize), Arc<Vec<u8>>>;

/// None yet; a chunk that is a file of its own takes one of those that a process may have open.
pub fn open_chunks(are_files: bool) -> OpenChunks {
    Lately::new(if are_files { 16 } else { 512 }, &TABLES)
}

/// None yet; of a frame with chunks of so many bytes no more than half a chunk, or a single one.
pub fn blocks(chunk: usize) -> Blocks {
    Lately::new(8, &BLOCKS).within((chunk / 2).max(LEAST_KEPT))
}

/// An open chunk.
pub struct Chunk {
    file: Arc<dyn File>,
    /// Where it begins there.
    at: u64,
    header: Header,
    body: Body,
    /// All of it, where that is little.
    held: Option<Vec<u8>>,
    limit: u64,
    lately: Parts,
}

enum Body {
    Fill(Fill),
    /// The content as it is.
    Copied,
    Blocks(Box<Table>),
}

struct Table {
    /// Where the blocks begin in the chunk.
    starts: Vec<u32>,
    /// The same in rising order, and where the chunk ends: writers put blocks where they are done.
    ends: Vec<u32>,
    decoder: BlockDecoder,
    /// The content of the first block, where the others need it.
    first: OnceLock<Vec<u8>>,
}

impl Chunk {
    /// Opens the chunk at this place of a file by its first `n` bytes, or more where they are too
    /// few, which `f` is given as well. `room`: bytes that it may have.
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
        let (mut f, mut wanted) = (Some(f), n.max(blosc::LONG).min(room));
        loop {
            let opened = read_buffer::with_range(&**file, at, wanted, limit, |head| {
                let chunk = Chunk::parse(file, at, head, limit)?
                    .filter(|chunk| chunk.header.cbytes <= room);
                match chunk.and_then(|chunk| Some((chunk, f.take()?))) {
                    Some((chunk, f)) => f(chunk, head).map(Ok),
                    None => Ok(Err(needed(head)?)),
                }
            })?;
            match opened {
                Ok(result) => return Ok(result),
                Err(n) if n <= room && n > wanted => wanted = n,
                Err(_) => {
                    return Err(fail!(
                        Format,
                        "the chunk is longer than the {room} bytes that it can have"
                    ));
                }
            }
        }
    }

    /// The same with the bytes of the chunk, or those that it begins with; none if these are too
    /// few.
    pub fn parse(file: &Arc<dyn File>, at: u64, bytes: &[u8], limit: u64) -> Result<Option<Chunk>> {
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
            // no reader of single items could tell what they are
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
            Content::Blocks => Body::Blocks(Box::new(Table::read(&header, bytes)?)),
        };
        let held = bytes.get(..header.cbytes).filter(|all| {
            all.len() <= LONGEST_HELD && matches!(body, Body::Copied | Body::Blocks(_))
        });
        Ok(Some(Chunk {
            file: file.clone(),
            at,
            header,
            body,
            held: held.map(<[u8]>::to_vec),
            limit,
            lately: Parts::default(),
        }))
    }

    /// Its header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What all its items are, where that is all that is stored.
    pub fn fill(&self) -> Option<&Fill> {
        if let Body::Fill(fill) = &self.body {
            Some(fill)
        } else {
            None
        }
    }

    /// Can its blocks be copied to another chunk that begins as it does?
    pub fn has_free_blocks(&self) -> bool {
        matches!(&self.body, Body::Blocks(t) if !t.decoder.needs_first())
            && !self.header.has_dictionary()
    }

    /// What it takes to keep it.
    pub fn cost(&self) -> usize {
        let table = if let Body::Blocks(t) = &self.body {
            t.starts.len() * 8
        } else {
            0
        };
        size_of::<Chunk>() + size_of::<Table>() + table + self.held.as_ref().map_or(0, Vec::len)
    }

    /// Those of its bytes, if they are at hand: among those that it begins with, or kept.
    fn at_hand<'a>(&'a self, have: Option<&'a [u8]>, range: &Range<usize>) -> Option<&'a [u8]> {
        have.or(self.held.as_deref())
            .and_then(|first| first.get(range.clone()))
    }

    /// Calls `f` with a range of its bytes. `have`: those that it begins with, where they are at
    /// hand.
    pub fn with_bytes<R>(
        &self,
        have: Option<&[u8]>,
        range: Range<usize>,
        f: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<R> {
        match self.at_hand(have, &range) {
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

    /// Where a block is stored.
    pub fn span(&self, block: usize) -> Result<Range<usize>> {
        let len = self.header.block_len(block);
        let none = || fail!(Range, "block {block}: there are {}", self.header.blocks());
        if len == 0 {
            return Err(none());
        }
        match &self.body {
            Body::Fill(_) => Ok(0..0),
            Body::Copied => {
                let at = self.header.len() + block * self.header.blocksize;
                Ok(at..at + len)
            }
            Body::Blocks(t) => {
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

    /// Decodes a block from the bytes where it is stored.
    pub fn decode(
        &self,
        block: usize,
        stored: &[u8],
        first: Option<&[u8]>,
        dst: &mut [u8],
    ) -> Result<()> {
        match &self.body {
            Body::Fill(Fill::Zeros) => dst.fill(0),
            Body::Fill(Fill::Item(item)) => blosc::repeat(item, block * self.header.blocksize, dst),
            Body::Copied if dst.len() == stored.len() => dst.copy_from_slice(stored),
            Body::Copied => {
                return Err(fail!(
                    State,
                    "block {block} has {} bytes, there is room for {}",
                    stored.len(),
                    dst.len()
                ));
            }
            Body::Blocks(t) => t.decoder.decode(block, stored, first, dst)?,
        }
        Ok(())
    }

    /// The content of the first block, if the others need it.
    pub fn first(&self, have: Option<&[u8]>) -> Result<Option<&[u8]>> {
        let Body::Blocks(t) = &self.body else {
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

    /// Decodes blocks, each once; `wanted` rises.
    pub fn read_blocks(
        &self,
        have: Option<&[u8]>,
        wanted: &[usize],
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let first = self.first(have)?;
        let mut spans = alloc::with_room(wanted.len())?;
        for block in wanted {
            spans.push((self.span(*block)?, *block));
        }
        if !spans.is_sorted_by_key(|(span, _)| span.start) {
            spans.sort_unstable_by_key(|(span, _)| span.start);
        }
        let mut rest = &spans[..];
        let most = (self.header.blocksize / 2).clamp(LEAST_RUN, RUN);
        while let Some((begin, _)) = rest.first() {
            let begin = begin.start;
            let (n, end) = together(rest, most);
            let (run, behind) = rest.split_at_checked(n).unwrap_or((rest, &[]));
            rest = behind;
            if let ([(_, block)], Body::Copied, None, None) = (
                run,
                &self.body,
                self.at_hand(have, &(begin..end)),
                self.file.bytes(),
            ) && let Some(dst) = sink.place(*block).filter(|dst| dst.len() == end - begin)
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

    /// Decodes a block to where it is wanted.
    fn deliver(
        &self,
        block: usize,
        stored: &[u8],
        first: Option<&[u8]>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let len = self.header.block_len(block);
        if let Some(dst) = sink.place(block) {
            return if dst.len() == len {
                self.decode(block, stored, first, dst)
            } else {
                Err(fail!(State, "a place of {} bytes for {len}", dst.len()))
            };
        }
        if let Body::Copied = self.body {
            return sink.put(block, &Decoded::Plain(stored));
        }
        let wanted = sink.wanted(block, len);
        if let Body::Blocks(table) = &self.body {
            return table
                .decoder
                .decode_wanted(block, stored, first, wanted, |content| {
                    sink.put(block, content)
                });
        }
        with_scratch(len, |content| {
            self.decode(block, stored, first, content)
                .and_then(|()| sink.put(block, &Decoded::Plain(content)))
        })
    }

    /// Decodes a part of a block; gives all of it where it had to be decoded, or is likely to be
    /// wanted, in memory that `room` gives, whatever that holds.
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
                "block {block} has {len} bytes: there are no {} from {from} on",
                dst.len()
            ));
        }
        let table = match &self.body {
            Body::Fill(Fill::Zeros) => {
                dst.fill(0);
                return Ok(None);
            }
            Body::Fill(Fill::Item(item)) => {
                blosc::repeat(item, block * self.header.blocksize + from, dst);
                return Ok(None);
            }
            Body::Copied => {
                let own = span.start + from..span.start + from + dst.len();
                return self.with_bytes(have, own, |bytes| {
                    dst.copy_from_slice(bytes);
                    Ok(None)
                });
            }
            Body::Blocks(table) => table,
        };
        let first = self.first(have)?;
        self.with_bytes(have, span, |stored| {
            let some = |r: Range<usize>, f: &mut dyn FnMut(&[u8]) -> Result<()>| {
                f(stored.get(r).ok_or_else(ends_early)?)
            };
            if !self.is_worth_it(block, from, dst.len(), len)
                && table.decoder.decode_part(block, from, dst, &some)?
            {
                return Ok(None);
            }
            let mut whole = room(len)?;
            if let Err(e) = table.decoder.decode(block, stored, first, &mut whole) {
                // reads that end before the last item of the block may not decode as far as what is
                // corrupt
                let is_there = dst.len() < len
                    && table
                        .decoder
                        .decode_part(block, from, dst, &some)
                        .unwrap_or(false);
                return if is_there { Ok(None) } else { Err(e) };
            }
            dst.copy_from_slice(whole.get(from..from + dst.len()).unwrap_or_default());
            Ok(Some(Arc::new(whole)))
        })
    }

    /// Is more of this block going to be wanted, so that all of it may be decoded now?
    fn is_worth_it(&self, block: usize, from: usize, n: usize, len: usize) -> bool {
        let in_parts = matches!(
            self.header.codec(),
            Ok(Codec::BloscLz | Codec::Lz4 | Codec::Lz4Hc)
        );
        let most = if in_parts { PARTS } else { 1 };
        n == len || (self.lately.are_likely(block, from, n, most) && len <= LONGEST_KEPT)
    }
}

/// Of how many bytes of a chunk all that its blocks share can be read.
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

impl Table {
    fn read(header: &Header, bytes: &[u8]) -> Result<Table> {
        let (table, dictionary) = sections(header, bytes)?;
        let (table, earliest) = (
            table.as_chunks::<4>().0,
            header.len() + table.len() + dictionary.map_or(0, |d| 4 + d.len()),
        );
        let mut starts = alloc::with_room(table.len())?;
        for (i, start) in table.iter().enumerate() {
            let start = u32::from_le_bytes(*start);
            if (start as usize) < earliest || start as usize >= header.cbytes {
                return Err(fail!(Format, "block {i} begins outside of its chunk"));
            }
            starts.push(start);
        }
        let mut ends = alloc::with_room(starts.len() + 1)?;
        ends.extend_from_slice(&starts);
        ends.push(header.cbytes as u32);
        ends.sort_unstable();
        Ok(Table {
            starts,
            ends,
            decoder: BlockDecoder::new(header, dictionary)?,
            first: OnceLock::new(),
        })
    }
}

/// How many of the first of these are to be read together, in so many bytes at most unless it is
/// one, and where they end.
fn together(spans: &[(Range<usize>, usize)], most: usize) -> (usize, usize) {
    let mut all = spans.iter().map(|(span, _)| span);
    let Some(first) = all.next() else {
        return (0, 0);
    };
    let (mut n, mut end) = (1, first.end);
    for span in all {
        if span.start.saturating_sub(end) > GAP || span.end.max(end) - first.start > most {
            break;
        }
        (n, end) = (n + 1, span.end.max(end));
    }
    (n, end)
}

fn ends_early() -> Error {
    fail!(Format, "the chunk ends within a block")
}

/// Calls `f` with a buffer of so many bytes, which holds anything.
pub fn with_scratch<R>(n: usize, f: impl FnOnce(&mut [u8]) -> Result<R>) -> Result<R> {
    thread_local!(static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
    let mut buffer = BUFFER.take();
    if buffer.len() < n {
        drop(buffer);
        buffer = alloc::zeroed(n)?;
    }
    let result = f(buffer.get_mut(..n).unwrap_or_default());
    if buffer.len() <= SCRATCH {
        BUFFER.set(buffer);
    }
    result
}
