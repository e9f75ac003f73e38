//! Bytes to chunks, for the readers of either family.
//!
//! Block lengths, when blocks are split, and what is stored as it is: all as the reference libraries
//! choose, so that chunks come out as small as theirs. What a block becomes depends on nothing but the
//! block, so that any number of threads writes the same chunk.
#![forbid(unsafe_code)]

use super::codec::Encoders;
use super::header::{BITSHUFFLED, COPIED, DELTA, Header, LONG, SHORT, SHUFFLED, VERSION_1, VERSION_2, WHOLE, splits_in_version_1};
use super::{Codec, Filter, Pipeline, filter, room, trim};
use crate::error::{Error, Result, fail};
use crate::{memory, parallel};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Who is to read a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// c-blosc 1.x, and all that came after.
    Blosc1,
    /// c-blosc2.
    Blosc2,
}

/// Are blocks split into streams, one for each byte of an item?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Split {
    /// As the reference library does.
    #[default]
    Auto,
    /// Where its readers allow it.
    Always,
    /// Never.
    Never,
}

/// How to make a chunk.
#[derive(Clone, Debug)]
pub struct Params {
    /// Who is to read it.
    pub target: Target,
    /// The codec.
    pub codec: Codec,
    /// 0 (as it is) to 9.
    pub level: u8,
    /// The filters; for c-blosc 1.x none, shuffle or bitshuffle.
    pub filters: Pipeline,
    /// Bytes in an item.
    pub typesize: usize,
    /// Bytes in a block: rounded down to whole items, and no more than there are. None: as the
    /// reference library does.
    pub blocksize: Option<usize>,
    /// Are blocks split?
    pub split: Split,
}

impl Params {
    /// A chunk for this reader, with shuffle where items have more than a byte.
    pub fn new(target: Target, codec: Codec, level: u8, typesize: usize) -> Params {
        let filters = Pipeline::new(&[Filter::Shuffle { group: 0 }]).unwrap_or_default();
        Params { target, codec, level, filters, typesize, blocksize: None, split: Split::Auto }
    }
}

/// What a thread must at least have to do before it is worth waking another.
const WORTH: usize = 64 << 10;
/// The longest blocks that the reference libraries take.
const LONGEST_BLOCK: usize = 536_866_816;

/// Appends `src`, as one chunk, to `dst`.
pub fn encode(params: &Params, src: &[u8], dst: &mut Vec<u8>, threads: usize) -> Result<()> {
    let begin = dst.len();
    let result = Encoder::new(params, src).and_then(|e| e.append(dst, threads));
    if result.is_err() {
        dst.truncate(begin);
    }
    result
}

// ---- the choices of the reference libraries

fn searches_long(codec: Codec) -> bool {
    matches!(codec, Codec::Lz4Hc | Codec::Zlib | Codec::Zstd)
}

/// The block length of both libraries where blocks are not split.
fn whole_blocksize(codec: Codec, level: u8, n: usize) -> usize {
    const BASE: usize = 32 << 10;
    if n < BASE {
        return n;
    }
    let base = if searches_long(codec) { 2 * BASE } else { BASE };
    match level {
        0 => base / 4,
        1 => base / 2,
        2 => base,
        3 => base * 2,
        4 | 5 => base * 4,
        9 if searches_long(codec) => base * 16,
        _ => base * 8,
    }
}

impl Params {
    fn shuffles(&self) -> bool {
        self.filters.iter().any(|f| matches!(f, Filter::Shuffle { .. }))
    }

    fn splits(&self, typesize: usize, blocksize: usize) -> bool {
        let (allowed, usual) = match self.target {
            Target::Blosc1 => (splits_in_version_1(typesize, blocksize), self.codec != Codec::Zstd),
            Target::Blosc2 => {
                let fast = matches!(self.codec, Codec::BloscLz | Codec::Lz4) || self.codec == Codec::Zstd && self.level <= 5;
                (blocksize.is_multiple_of(typesize), fast && self.shuffles() && typesize <= 16 && blocksize / typesize >= 32)
            }
        };
        match self.split {
            Split::Auto => allowed && usual,
            Split::Always => allowed,
            Split::Never => false,
        }
    }

    fn usual_blocksize(&self, typesize: usize, n: usize) -> usize {
        let whole = whole_blocksize(self.codec, self.level, n);
        if self.level == 0 {
            return whole;
        }
        match self.target {
            Target::Blosc1 if self.splits(typesize, whole) => (whole.min(256 << 10) * typesize).clamp(64 << 10, 1 << 20),
            // the second library asks whether a single block would be split
            Target::Blosc2 if self.splits(typesize, n / typesize * typesize) => {
                let stream: usize = match self.level {
                    1..=3 => 32 << 10,
                    4..=6 => 64 << 10,
                    7 => 128 << 10,
                    8 => 256 << 10,
                    _ => 512 << 10,
                };
                (stream * typesize).clamp(32 << 10, 4 << 20)
            }
            _ => whole,
        }
    }

    /// The block length for `n` bytes.
    fn choose_blocksize(&self, typesize: usize, n: usize) -> usize {
        if n < typesize {
            return 1;
        }
        let least = if self.target == Target::Blosc1 { 128 } else { 1 };
        let wanted = match self.blocksize {
            Some(b) => b.clamp(least, LONGEST_BLOCK),
            None => self.usual_blocksize(typesize, n),
        };
        let b = wanted.min(n);
        if b > typesize { b / typesize * typesize } else { b }
    }

    fn check(&self, n: usize) -> Result<()> {
        let header = if self.target == Target::Blosc1 { SHORT } else { LONG };
        if n > i32::MAX as usize - header {
            return Err(fail!(Argument, "a chunk holds {} bytes at most, and this one would hold {n}", i32::MAX as usize - header));
        }
        if self.level > 9 || self.typesize == 0 {
            return Err(fail!(Argument, "level {} and items of {} bytes; levels are 0 to 9, items have a byte or more", self.level, self.typesize));
        }
        match self.target {
            Target::Blosc1 => self.check_for_1(),
            Target::Blosc2 => self.check_for_2(),
        }
    }

    fn check_for_1(&self) -> Result<()> {
        let mut filters = self.filters.iter();
        match (filters.next(), filters.next()) {
            (None | Some(Filter::Shuffle { group: 0 } | Filter::Bitshuffle), None) => Ok(()),
            _ => Err(fail!(Argument, "chunks for c-blosc 1 have one filter at most: shuffle or bitshuffle")),
        }
    }

    fn check_for_2(&self) -> Result<()> {
        if self.codec == Codec::Snappy {
            return Err(fail!(Argument, "c-blosc2 does not read Snappy"));
        }
        let mut delta = false;
        for f in self.filters.iter() {
            match f {
                Filter::Truncate { .. } if delta => return Err(fail!(Argument, "floats are truncated before delta, not behind it")),
                // its settings are checked with no data at all
                Filter::Truncate { bits } => filter::truncate(bits, self.stored_typesize(), &[], &mut [])?,
                Filter::Delta => delta = true,
                _ => {}
            }
        }
        Ok(())
    }

    /// An item that is too long for the header's byte counts as so many items of a byte.
    fn stored_typesize(&self) -> usize {
        if self.typesize > 255 { 1 } else { self.typesize }
    }

    fn header(&self, n: usize) -> Header {
        let typesize = self.stored_typesize();
        let (version, known, least) = match self.target {
            Target::Blosc1 => (VERSION_1, typesize, 128),
            // the second library chooses first and counts bytes later
            Target::Blosc2 => (VERSION_2, self.typesize, 32),
        };
        let blocksize = self.choose_blocksize(known, n);
        let copied = if self.level == 0 || n < least || n < typesize { COPIED } else { 0 };
        let split = if self.splits(typesize, blocksize) { 0 } else { WHOLE };
        let codec = split | self.codec.format() << 5;
        let (ids, metas) = self.filters.slots();
        let flags = match self.target {
            Target::Blosc1 if self.shuffles() => SHUFFLED | copied | codec,
            Target::Blosc1 if self.filters.iter().next().is_some() => BITSHUFFLED | copied | codec,
            Target::Blosc1 => copied | codec,
            Target::Blosc2 if copied != 0 => SHUFFLED | BITSHUFFLED | copied,
            Target::Blosc2 => SHUFFLED | BITSHUFFLED | codec | if ids.contains(&3) { DELTA } else { 0 },
        };
        Header {
            version,
            codec_version: 1,
            flags,
            typesize,
            nbytes: n,
            blocksize,
            cbytes: 0,
            filters: ids,
            filters_meta: metas,
            user_codec: self.codec.number(),
            codec_meta: 0,
            more_flags: 0,
        }
    }
}

// ---- the chunk

/// One chunk that is being made.
struct Encoder<'a> {
    params: Params,
    header: Header,
    src: &'a [u8],
    /// What delta compares the blocks with: the first of them, as decoding will give it.
    first: Vec<u8>,
    /// A longer chunk than this is stored as it is.
    most: usize,
}

impl<'a> Encoder<'a> {
    fn new(params: &Params, src: &'a [u8]) -> Result<Self> {
        params.check(src.len())?;
        let mut params = params.clone();
        let typesize = params.stored_typesize();
        // readers know what 0 means only with the frame around the chunk
        let spelled = params.filters.iter().map(|f| match (f, u8::try_from(typesize)) {
            (Filter::ByteDelta { runs: 0 }, Ok(runs)) => Filter::ByteDelta { runs },
            _ => f,
        });
        params.filters = Pipeline::new(&spelled.collect::<Vec<_>>())?;
        let header = params.header(src.len());
        let mut first = Vec::new();
        if params.filters.iter().any(|f| f == Filter::Delta) {
            let block = src.get(..header.block_len(0)).unwrap_or_default();
            first = memory::zeroed(block.len())?;
            match params.filters.iter().find_map(|f| if let Filter::Truncate { bits } = f { Some(bits) } else { None }) {
                Some(bits) => filter::truncate(bits, typesize, block, &mut first)?,
                None => first.copy_from_slice(block),
            }
        }
        Ok(Encoder { most: src.len() + header.len(), params, header, src, first })
    }

    fn append(&self, dst: &mut Vec<u8>, threads: usize) -> Result<()> {
        memory::reserve(dst, self.most)?;
        let begin = dst.len();
        let head = self.header.len() + 4 * self.header.blocks();
        let mut header = self.header;
        if self.header.flags & COPIED == 0 && head <= self.most {
            dst.resize(begin + head, 0);
            if self.blocks(begin, dst, threads)? {
                header.cbytes = dst.len() - begin;
                let streams: usize = (0..header.blocks()).map(|i| header.streams(i)).sum();
                if header.extended() && header.cbytes == head + 4 * streams {
                    // only a run of zeros takes four bytes
                    header.more_flags |= 1 << 4;
                    header.cbytes = header.len();
                    dst.truncate(begin + header.len());
                }
                put(dst, begin, &header);
                return Ok(());
            }
            dst.truncate(begin);
        }
        header.flags |= COPIED;
        header.cbytes = self.most;
        dst.resize(begin + header.len(), 0);
        put(dst, begin, &header);
        dst.extend_from_slice(self.src);
        Ok(())
    }

    /// Appends the blocks and fills in where they begin; false where they get too long.
    fn blocks(&self, begin: usize, dst: &mut Vec<u8>, threads: usize) -> Result<bool> {
        let blocksize = self.header.blocksize;
        let share = WORTH.max(self.src.len() / threads.max(1) / 4).next_multiple_of(blocksize);
        if threads > 1 && self.src.len() > share {
            return self.blocks_spread(begin, dst, threads, share);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            for (index, block) in self.src.chunks(blocksize).enumerate() {
                let start = dst.len() - begin;
                put_start(dst, begin + self.header.len() + 4 * index, start);
                if !self.block(scratch, index, block, dst, begin + self.most)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn blocks_spread(&self, begin: usize, dst: &mut Vec<u8>, threads: usize, share: usize) -> Result<bool> {
        struct Part<'s> {
            first: usize,
            src: &'s [u8],
            stored: Vec<u8>,
            lengths: Vec<usize>,
        }
        let blocksize = self.header.blocksize;
        let new = |(i, src)| Part { first: i * (share / blocksize), src, stored: Vec::new(), lengths: Vec::new() };
        let mut parts: Vec<Part> = self.src.chunks(share).enumerate().map(new).collect();
        let total = AtomicUsize::new(dst.len() - begin);
        let too_long = AtomicBool::new(false);
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let work = |part: &mut Part| {
            // nothing compressed, and a length before each stream
            let streams = part.src.len().div_ceil(blocksize) * self.header.streams(part.first);
            let most = self.most.min(part.src.len() + 4 * streams);
            memory::reserve(&mut part.stored, most)?;
            SCRATCH.with_borrow_mut(|scratch| {
                for (i, block) in part.src.chunks(blocksize).enumerate() {
                    let start = part.stored.len();
                    let fits = self.block(scratch, part.first + i, block, &mut part.stored, most)?;
                    let length = part.stored.len() - start;
                    part.lengths.push(length);
                    if !fits || total.fetch_add(length, Ordering::Relaxed) + length > self.most {
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
        for part in &parts {
            let mut start = dst.len() - begin;
            for (i, n) in part.lengths.iter().enumerate() {
                put_start(dst, begin + self.header.len() + 4 * (part.first + i), start);
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

impl Encoder<'_> {
    /// Appends a block as it is stored: its streams, each behind its length. False where `out` would
    /// get longer than `most`, to which it has room.
    fn block(&self, scratch: &mut Scratch, index: usize, src: &[u8], out: &mut Vec<u8>, most: usize) -> Result<bool> {
        let [a, b] = &mut scratch.filtered;
        let filtered = self.filter(a, b, index, src)?;
        let mut fits = true;
        for stream in filtered.chunks((src.len() / self.header.streams(index)).max(1)) {
            fits = fits && self.stream(&mut scratch.codecs, &mut scratch.stored, stream, out, most)?;
        }
        trim(a);
        trim(b);
        trim(&mut scratch.stored);
        Ok(fits)
    }

    /// Passes a block through the filters.
    fn filter<'w>(&self, a: &'w mut Vec<u8>, b: &'w mut Vec<u8>, index: usize, src: &'w [u8]) -> Result<&'w [u8]> {
        let (typesize, n) = (self.header.typesize, src.len());
        let left_alone = self.params.target == Target::Blosc1 && !filter::bitshuffle::applies_v1(typesize, n);
        let group = |own: u8| if own == 0 { typesize } else { usize::from(own) };
        // an item of one byte stays where it is
        let works = |f: &Filter| match *f {
            Filter::Shuffle { group: g } => group(g) > 1,
            Filter::Bitshuffle => !left_alone,
            _ => true,
        };
        let steps = || self.params.filters.iter().filter(works);
        let mut now = if steps().next().is_some() { room(a, n)? } else { return Ok(src) };
        let mut out = if steps().nth(1).is_some() { room(b, n)? } else { &mut [] };
        for (i, f) in steps().enumerate() {
            if i > 0 {
                std::mem::swap(&mut now, &mut out);
            }
            let from = if i == 0 { src } else { &*out };
            match f {
                Filter::Shuffle { group: g } => filter::shuffle(group(g), from, now),
                Filter::Bitshuffle => filter::bitshuffle(typesize, from, now),
                Filter::Delta if index == 0 => filter::delta_encode(from, true, typesize, from, now),
                Filter::Delta => filter::delta_encode(&self.first, false, typesize, from, now),
                Filter::Truncate { bits } => filter::truncate(bits, typesize, from, now)?,
                Filter::ByteDelta { runs } => filter::bytedelta_encode(group(runs), from, now),
            }
        }
        Ok(now)
    }

    /// Appends one stream behind its length.
    fn stream(&self, codecs: &mut Encoders, scratch: &mut Vec<u8>, src: &[u8], out: &mut Vec<u8>, most: usize) -> Result<bool> {
        let (length, stored) = match self.run(src) {
            Some(0) => (0, &[][..]),
            // the token says: a run
            Some(byte) => (-i32::from(byte), &[1][..]),
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
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(stored);
        Ok(true)
    }

    /// The byte that a stream is a run of, where the chunk can say so.
    fn run(&self, stream: &[u8]) -> Option<u8> {
        let ((first, behind), (_, before)) = (stream.split_first()?, stream.split_last()?);
        (self.header.extended() && behind == before).then_some(*first)
    }
}
