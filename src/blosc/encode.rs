//! Bytes to chunks, for the readers of either family. What a block becomes depends on nothing but
//! the block, so that any number of threads writes the same chunk.
#![forbid(unsafe_code)]

use super::codec::Encoders;
use super::header::{COPIED, Header, VERSION_2};
use super::{Content, Filter, Params, Target, filter, room, trim};
use crate::error::{Error, Result};
use crate::{alloc, parallel};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a thread must at least have to do before it is worth waking another.
const WORTH: usize = 64 << 10;

/// Appends `src`, as one chunk, to `dst`.
pub fn encode(params: &Params, src: &[u8], dst: &mut Vec<u8>, threads: usize) -> Result<()> {
    let begin = dst.len();
    let result = Encoder::new(params, src).and_then(|e| e.append(dst, threads));
    if result.is_err() {
        dst.truncate(begin);
    }
    result
}

/// The chunk of `n` bytes all of whose items are this one, or zeros. None: it has no place for such
/// an item.
pub fn filled(params: &Params, item: Option<&[u8]>, n: usize) -> Result<Option<Vec<u8>>> {
    let mut header = BlockEncoder::make(params, n)?.header;
    if item.is_some_and(|item| item.len() != header.typesize || !n.is_multiple_of(item.len())) {
        return Ok(None);
    }
    header.flags &= !COPIED;
    header.more_flags = if item.is_some() { 3 << 4 } else { 1 << 4 };
    header.cbytes = header.len() + item.map_or(0, <[u8]>::len);
    let mut chunk = alloc::zeroed(header.len())?;
    put(&mut chunk, 0, &header);
    chunk.extend_from_slice(item.unwrap_or_default());
    Ok(Some(chunk))
}

// ---- the chunk

/// One chunk that is being made.
struct Encoder<'a> {
    one: BlockEncoder,
    src: &'a [u8],
}

impl<'a> Encoder<'a> {
    fn new(params: &Params, src: &'a [u8]) -> Result<Self> {
        let mut one = BlockEncoder::make(params, src.len())?;
        let (header, params) = (&one.header, &one.params);
        let mut first = Vec::new();
        if one.has_delta() {
            let typesize = header.typesize;
            let block = src.get(..header.block_len(0)).unwrap_or_default();
            first = alloc::zeroed(block.len())?;
            match params.filters.iter().find_map(|f| {
                if let Filter::Truncate { bits } = f {
                    Some(bits)
                } else {
                    None
                }
            }) {
                Some(bits) => filter::truncate(bits, typesize, block, &mut first)?,
                None => first.copy_from_slice(block),
            }
        }
        one.first = first;
        Ok(Encoder { one, src })
    }

    fn append(&self, dst: &mut Vec<u8>, threads: usize) -> Result<()> {
        let one = &self.one;
        let begin = dst.len();
        let mut header = one.header;
        if one.has_blocks() {
            alloc::grow(dst, one.head(), begin + one.most)?;
            dst.resize(begin + one.head(), 0);
            if self.blocks(begin, dst, threads)? {
                one.finish(dst, begin);
                return Ok(());
            }
            dst.truncate(begin);
        }
        header.flags |= COPIED;
        header.cbytes = one.most;
        alloc::reserve_exact(dst, one.most)?;
        dst.resize(begin + header.len(), 0);
        put(dst, begin, &header);
        dst.extend_from_slice(self.src);
        Ok(())
    }

    /// Appends the blocks and fills in where they begin; false where they get too long.
    fn blocks(&self, begin: usize, dst: &mut Vec<u8>, threads: usize) -> Result<bool> {
        let (one, blocksize) = (&self.one, self.one.header.blocksize);
        let share = WORTH
            .max(self.src.len() / threads.max(1) / 4)
            .next_multiple_of(blocksize);
        if threads > 1 && self.src.len() > share {
            return self.blocks_spread(begin, dst, threads, share);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            for (index, block) in self.src.chunks(blocksize).enumerate() {
                one.put_start(dst, begin, index);
                if !one.append(scratch, index, block, dst, begin + one.most)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn blocks_spread(
        &self,
        begin: usize,
        dst: &mut Vec<u8>,
        threads: usize,
        share: usize,
    ) -> Result<bool> {
        struct Part<'s> {
            first: usize,
            src: &'s [u8],
            stored: Vec<u8>,
            lengths: Vec<usize>,
        }
        let (one, blocksize) = (&self.one, self.one.header.blocksize);
        let new = |(i, src)| Part {
            first: i * (share / blocksize),
            src,
            stored: Vec::new(),
            lengths: Vec::new(),
        };
        let mut parts: Vec<Part> = self.src.chunks(share).enumerate().map(new).collect();
        let total = AtomicUsize::new(dst.len() - begin);
        let too_long = AtomicBool::new(false);
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let work = |part: &mut Part| {
            // nothing compressed, and a length before each stream
            let streams = part.src.len().div_ceil(blocksize) * one.header.streams(part.first);
            let most = one.most.min(part.src.len() + 4 * streams);
            SCRATCH.with_borrow_mut(|scratch| {
                for (i, block) in part.src.chunks(blocksize).enumerate() {
                    let start = part.stored.len();
                    let fits =
                        one.append(scratch, part.first + i, block, &mut part.stored, most)?;
                    let length = part.stored.len() - start;
                    part.lengths.push(length);
                    if !fits || total.fetch_add(length, Ordering::Relaxed) + length > one.most {
                        too_long.store(true, Ordering::Relaxed);
                    }
                    if too_long.load(Ordering::Relaxed) {
                        break;
                    }
                }
                Ok(())
            })
        };
        parallel::for_each(threads, parts.iter_mut().collect(), |part: &mut Part| {
            if let Err(e) = work(part) {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
            }
        });
        if let Some(e) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(e);
        }
        if too_long.into_inner() {
            return Ok(false);
        }
        alloc::reserve_exact(dst, parts.iter().map(|p| p.stored.len()).sum())?;
        for part in &parts {
            let mut start = dst.len() - begin;
            for (i, n) in part.lengths.iter().enumerate() {
                put_start(dst, begin + one.header.len() + 4 * (part.first + i), start);
                start += n;
            }
            dst.extend_from_slice(&part.stored);
        }
        Ok(true)
    }
}

/// Writes the header over the place that was kept for it.
fn put(dst: &mut [u8], at: usize, header: &Header) {
    let (bytes, n) = header.write();
    if let (Some(to), Some(from)) = (dst.get_mut(at..at + n), bytes.get(..n)) {
        to.copy_from_slice(from);
    }
}

fn put_start(dst: &mut [u8], at: usize, start: usize) {
    if let Some(to) = dst.get_mut(at..at + 4) {
        // no chunk is longer than i32::MAX
        to.copy_from_slice(&(start as u32).to_le_bytes());
    }
}

// ---- one block

/// What a thread keeps from block to block.
#[derive(Default)]
struct Scratch {
    codecs: Encoders,
    filtered: [Vec<u8>; 2],
    stored: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Encodes the blocks of one chunk, each from its own content.
pub struct BlockEncoder {
    params: Params,
    header: Header,
    /// What delta compares the blocks with: the first of them, as decoding will give it.
    first: Vec<u8>,
    /// A longer chunk than this is stored as it is.
    most: usize,
}

impl BlockEncoder {
    /// For a chunk with so many bytes of content. None: it cannot be made block by block.
    pub fn new(params: &Params, n: usize) -> Result<Option<BlockEncoder>> {
        Ok(Some(BlockEncoder::make(params, n)?).filter(|one| one.has_blocks() && !one.has_delta()))
    }

    /// For other content of blocks of this chunk, the others of which stay as they are stored.
    /// None: as before, or where it has a dictionary.
    pub fn like(header: &Header, level: u8) -> Result<Option<BlockEncoder>> {
        if header.content()? != Content::Blocks
            || header.has_dictionary()
            || header.version != VERSION_2
            || !header.extended()
            || level == 0
        {
            return Ok(None);
        }
        let (codec, filters) = (header.codec()?, header.pipeline()?);
        let params = Params {
            filters,
            ..Params::new(Target::Blosc2, codec, level, header.typesize)
        };
        if params.check(header.nbytes).is_err() {
            return Ok(None);
        }
        let one = BlockEncoder {
            params,
            header: *header,
            first: Vec::new(),
            most: header.nbytes + header.len(),
        };
        Ok(Some(one).filter(|one| one.has_blocks() && !one.has_delta()))
    }

    fn make(params: &Params, n: usize) -> Result<BlockEncoder> {
        params.check(n)?;
        let params = params.spelled()?;
        let header = params.header(n);
        Ok(BlockEncoder {
            params,
            header,
            first: Vec::new(),
            most: n + header.len(),
        })
    }

    /// What its chunk is going to be, but for its length.
    pub fn header(&self) -> &Header {
        &self.header
    }

    fn has_delta(&self) -> bool {
        self.params.filters.iter().any(|f| f == Filter::Delta)
    }

    fn has_blocks(&self) -> bool {
        self.header.flags & COPIED == 0 && self.head() <= self.most
    }

    fn head(&self) -> usize {
        self.header.len() + 4 * self.header.blocks()
    }

    /// Appends block `index`, with this content, as it is stored.
    pub fn block(&self, index: usize, content: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let most = out.len() + content.len() + 4 * self.header.streams(index);
        SCRATCH
            .with_borrow_mut(|scratch| self.append(scratch, index, content, out, most))
            .map(|_| ())
    }

    /// Makes room for a chunk, whose blocks are to be put behind each other in their order.
    pub fn begin(&self, chunk: &mut Vec<u8>) -> Result<()> {
        chunk.clear();
        alloc::grow(chunk, self.head(), self.most)?;
        chunk.resize(self.head(), 0);
        Ok(())
    }

    /// Puts a block with this content behind the others; false where the chunk would be longer than
    /// its content.
    pub fn push(&self, index: usize, content: &[u8], chunk: &mut Vec<u8>) -> Result<bool> {
        self.put_start(chunk, 0, index);
        SCRATCH.with_borrow_mut(|scratch| self.append(scratch, index, content, chunk, self.most))
    }

    /// The same with a block that is encoded already.
    pub fn keep(&self, index: usize, stored: &[u8], chunk: &mut Vec<u8>) -> Result<bool> {
        self.put_start(chunk, 0, index);
        let fits = chunk.len() + stored.len() <= self.most;
        if fits {
            alloc::grow(chunk, stored.len(), self.most)?;
            chunk.extend_from_slice(stored);
        }
        Ok(fits)
    }

    /// Ends a chunk that has all of its blocks.
    pub fn end(&self, chunk: &mut Vec<u8>) {
        self.finish(chunk, 0);
    }

    /// Notes that block `index` begins here, in a chunk that began there.
    fn put_start(&self, dst: &mut [u8], begin: usize, index: usize) {
        let start = dst.len() - begin;
        put_start(dst, begin + self.header.len() + 4 * index, start);
    }

    /// The chunk of these blocks, all of them in their order; none where it would be longer than
    /// its content.
    pub fn chunk<'b>(
        &self,
        blocks: impl Iterator<Item = &'b [u8]> + Clone,
    ) -> Result<Option<Vec<u8>>> {
        let n = blocks
            .clone()
            .fold(self.head(), |n, b| n.saturating_add(b.len()));
        if n > self.most {
            return Ok(None);
        }
        let mut chunk = alloc::with_room(n)?;
        chunk.resize(self.head(), 0);
        for (i, block) in blocks.enumerate() {
            let start = chunk.len();
            put_start(&mut chunk, self.header.len() + 4 * i, start);
            chunk.extend_from_slice(block);
        }
        self.finish(&mut chunk, 0);
        Ok(Some(chunk))
    }

    /// Writes the header of a chunk whose blocks are all there.
    fn finish(&self, dst: &mut Vec<u8>, begin: usize) {
        let mut header = self.header;
        header.cbytes = dst.len() - begin;
        let streams: usize = (0..header.blocks()).map(|i| header.streams(i)).sum();
        if header.extended() && header.cbytes == self.head() + 4 * streams {
            // only a run of zeros takes four bytes
            header.more_flags |= 1 << 4;
            header.cbytes = header.len();
            dst.truncate(begin + header.len());
        }
        put(dst, begin, &header);
    }

    /// Appends a block as it is stored: its streams, each behind its length. False where `out`
    /// would get longer than `most`.
    fn append(
        &self,
        scratch: &mut Scratch,
        index: usize,
        src: &[u8],
        out: &mut Vec<u8>,
        most: usize,
    ) -> Result<bool> {
        let [a, b] = &mut scratch.filtered;
        let filtered = self.filter(a, b, index, src)?;
        let mut fits = true;
        for stream in filtered.chunks((src.len() / self.header.streams(index)).max(1)) {
            fits =
                fits && self.stream(&mut scratch.codecs, &mut scratch.stored, stream, out, most)?;
        }
        trim(a);
        trim(b);
        trim(&mut scratch.stored);
        Ok(fits)
    }

    /// Passes a block through the filters.
    fn filter<'w>(
        &self,
        a: &'w mut Vec<u8>,
        b: &'w mut Vec<u8>,
        index: usize,
        src: &'w [u8],
    ) -> Result<&'w [u8]> {
        let (typesize, n) = (self.header.typesize, src.len());
        let left_alone =
            self.params.target == Target::Blosc1 && !filter::bitshuffle::applies_v1(typesize, n);
        let group = |own: u8| if own == 0 { typesize } else { usize::from(own) };
        // an item of one byte stays where it is
        let works = |f: &Filter| match *f {
            Filter::Shuffle { group: g } => group(g) > 1,
            Filter::Bitshuffle => !left_alone,
            _ => true,
        };
        let steps = || self.params.filters.iter().filter(works);
        let mut now = if steps().next().is_some() {
            room(a, n)?
        } else {
            return Ok(src);
        };
        let mut out = if steps().nth(1).is_some() {
            room(b, n)?
        } else {
            &mut []
        };
        for (i, f) in steps().enumerate() {
            if i > 0 {
                std::mem::swap(&mut now, &mut out);
            }
            let from = if i == 0 { src } else { &*out };
            match f {
                Filter::Shuffle { group: g } => filter::shuffle(group(g), from, now),
                Filter::Bitshuffle => filter::bitshuffle(typesize, from, now),
                Filter::Delta if index == 0 => {
                    filter::delta_encode(from, true, typesize, from, now)
                }
                Filter::Delta => filter::delta_encode(&self.first, false, typesize, from, now),
                Filter::Truncate { bits } => filter::truncate(bits, typesize, from, now)?,
                Filter::ByteDelta { runs } => filter::bytedelta_encode(group(runs), from, now),
            }
        }
        Ok(now)
    }

    /// Appends one stream behind its length.
    fn stream(
        &self,
        codecs: &mut Encoders,
        scratch: &mut Vec<u8>,
        src: &[u8],
        out: &mut Vec<u8>,
        most: usize,
    ) -> Result<bool> {
        let (length, stored) = match self.run(src) {
            Some(0) => (0, &[][..]),
            // the token says: a run
            Some(byte) => (-i32::from(byte), &[1][..]),
            None if out.len() + 4 + src.len() <= most => {
                return self.stream_in_place(codecs, src, out, most).map(|()| true);
            }
            None => {
                let to = room(scratch, src.len())?;
                let stored = match codecs.encode(self.params.codec, self.params.level, src, to)? {
                    Some(n) => to.get(..n).unwrap_or_default(),
                    None => src,
                };
                // no block is longer than i32::MAX
                (stored.len() as i32, stored)
            }
        };
        if out.len() + 4 + stored.len() > most {
            return Ok(false);
        }
        alloc::grow(out, 4 + stored.len(), most)?;
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(stored);
        Ok(true)
    }

    /// The same where there is room for all of it, whatever becomes of it.
    fn stream_in_place(
        &self,
        codecs: &mut Encoders,
        src: &[u8],
        out: &mut Vec<u8>,
        most: usize,
    ) -> Result<()> {
        let begin = out.len();
        alloc::grow(out, 4 + src.len(), most)?;
        out.resize(begin + 4 + src.len(), 0);
        let Some((length, to)) = out.get_mut(begin..).and_then(<[u8]>::split_first_chunk_mut)
        else {
            return Ok(());
        };
        let n = match codecs.encode(self.params.codec, self.params.level, src, to)? {
            Some(n) => n,
            None => {
                to.copy_from_slice(src);
                src.len()
            }
        };
        // no block is longer than i32::MAX
        *length = (n as i32).to_le_bytes();
        out.truncate(begin + 4 + n);
        Ok(())
    }

    /// The byte that a stream is a run of, where the chunk can say so.
    fn run(&self, stream: &[u8]) -> Option<u8> {
        let ((first, behind), (_, before)) = (stream.split_first()?, stream.split_last()?);
        (self.header.extended() && behind == before).then_some(*first)
    }
}
