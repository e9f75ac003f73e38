//! Chunks to bytes: whole, a range of bytes, or one block from nothing but its own bytes.
//!
//! A block goes straight to where it is wanted; only filters, and blocks that are wanted in part,
//! pass through buffers, which each thread keeps.
#![forbid(unsafe_code)]

use super::codec::{Decoders, Dictionary};
use super::filter::Rows;
use super::header::{VERSION_1, sections};
use super::pipeline::MOST;
use super::{Codec, Content, Filter, Header, filter, room, trim};
use crate::error::{Error, Result, fail};
use crate::parallel;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// What a thread must at least have to do before it is worth waking another.
const WORTH: usize = 128 << 10;
/// A stream may be this much longer than what it holds. No writer makes longer ones, and a codec
/// could be kept busy for long with a long stream that holds next to nothing.
pub(super) const fn longest_stream(len: usize) -> usize {
    32 + len + len / 6
}

/// Decodes a whole chunk into `dst`, which is as long as the chunk's header says.
pub fn decode(chunk: &[u8], dst: &mut [u8], threads: usize) -> Result<()> {
    let header = Header::parse(chunk)?;
    if dst.len() != header.nbytes {
        return Err(fail!(
            Argument,
            "the chunk holds {} bytes, and there is room for {}",
            header.nbytes,
            dst.len()
        ));
    }
    range(&header, chunk, 0, dst, threads)
}

/// Decodes the bytes from `at` on, as many as `dst` has; only the blocks that hold them are looked
/// at.
pub fn decode_range(chunk: &[u8], at: usize, dst: &mut [u8], threads: usize) -> Result<()> {
    let header = Header::parse(chunk)?;
    if at
        .checked_add(dst.len())
        .is_none_or(|end| end > header.nbytes)
    {
        return Err(fail!(
            Range,
            "the chunk holds {} bytes: there are no {} from {at} on",
            header.nbytes,
            dst.len()
        ));
    }
    range(&header, chunk, at, dst, threads)
}

fn range(header: &Header, chunk: &[u8], at: usize, dst: &mut [u8], threads: usize) -> Result<()> {
    let Some(chunk) = chunk.get(..header.cbytes) else {
        return Err(fail!(
            Format,
            "the chunk claims {} bytes, and {} are here",
            header.cbytes,
            chunk.len()
        ));
    };
    let body = chunk.get(header.len()..).unwrap_or_default();
    match header.content()? {
        Content::Copied => {
            let from = body
                .get(at..at + dst.len())
                .ok_or_else(|| fail!(Format, "the chunk ends within its content"))?;
            dst.copy_from_slice(from);
        }
        Content::Zeros | Content::Uninitialised => dst.fill(0),
        Content::Nan if header.typesize == 4 => repeat(&f32::NAN.to_le_bytes(), at, dst),
        Content::Nan => repeat(&f64::NAN.to_le_bytes(), at, dst),
        Content::Value => repeat(body, at, dst),
        Content::Blocks => return Blocks::new(header, chunk)?.range(at, dst, threads),
    }
    Ok(())
}

/// Fills `dst` with copies of `value` as if the first of them began `at` bytes before.
pub fn repeat(value: &[u8], at: usize, dst: &mut [u8]) {
    let (_, last) = value
        .split_at_checked(at.checked_rem(value.len()).unwrap_or(0))
        .unwrap_or_default();
    let n = last.len().min(dst.len());
    let (head, rest) = dst.split_at_mut(n);
    head.copy_from_slice(last.get(..n).unwrap_or_default());
    if value.is_empty() {
        return;
    }
    // a larger piece is copied faster than many small ones
    let whole = value.repeat(
        (4096 / value.len())
            .max(1)
            .min(rest.len() / value.len() + 1),
    );
    for piece in rest.chunks_mut(whole.len()) {
        piece.copy_from_slice(whole.get(..piece.len()).unwrap_or_default());
    }
}

// ---- the blocks of one chunk

/// A chunk of blocks, with all that its blocks share.
struct Blocks<'c> {
    chunk: &'c [u8],
    starts: &'c [u8],
    /// Where the first block can begin at the earliest.
    earliest: usize,
    one: BlockDecoder,
}

impl<'c> Blocks<'c> {
    fn new(header: &Header, chunk: &'c [u8]) -> Result<Self> {
        let (starts, dictionary) = sections(header, chunk)?;
        let earliest = header.len() + starts.len() + dictionary.map_or(0, |d| 4 + d.len());
        Ok(Blocks {
            chunk,
            starts,
            earliest,
            one: BlockDecoder::new(header, dictionary)?,
        })
    }

    /// The bytes of a block, and what follows it: where it ends, only its streams tell.
    fn stored(&self, index: usize) -> Result<&'c [u8]> {
        let start = self
            .starts
            .get(4 * index..)
            .and_then(<[u8]>::first_chunk::<4>)
            .map(|b| u32::from_le_bytes(*b) as usize);
        let start = start.filter(|s| *s >= self.earliest);
        start
            .and_then(|s| self.chunk.get(s..))
            .ok_or_else(|| fail!(Format, "block {index} begins outside of its chunk"))
    }

    fn range(&self, at: usize, dst: &mut [u8], threads: usize) -> Result<()> {
        let first = self.one.header.block_len(0);
        if !self.one.needs_first() || at + dst.len() <= first {
            return self.spread(at, dst, None, threads);
        }
        if at == 0 {
            let (head, rest) = dst.split_at_mut(first);
            self.span(0, head, None)?;
            return self.spread(first, rest, Some(head), threads);
        }
        let mut reference = SCRATCH.with_borrow_mut(|s| std::mem::take(&mut s.reference));
        let result = room(&mut reference, first).and_then(|head| {
            self.span(0, head, None)?;
            let (before, after) = dst.split_at_mut(first.saturating_sub(at));
            before.copy_from_slice(head.get(at..at + before.len()).unwrap_or_default());
            self.spread(at.max(first), after, Some(head), threads)
        });
        trim(&mut reference);
        SCRATCH.with_borrow_mut(|s| s.reference = reference);
        result
    }

    /// Decodes a range, on several threads where that is worth it.
    fn spread(
        &self,
        at: usize,
        dst: &mut [u8],
        first: Option<&[u8]>,
        threads: usize,
    ) -> Result<()> {
        let blocksize = self.one.header.blocksize;
        let share = WORTH
            .max(dst.len() / threads.max(1) / 4)
            .next_multiple_of(blocksize);
        if threads < 2 || dst.len() <= share {
            return self.span(at, dst, first);
        }
        let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let (head, rest) = dst.split_at_mut((share - at % blocksize).min(dst.len()));
        let next = at + head.len();
        let rest = rest
            .chunks_mut(share)
            .enumerate()
            .map(|(i, piece)| (next + i * share, piece));
        let pieces = std::iter::once((at, head)).chain(rest).collect();
        parallel::for_each(threads, pieces, |(at, piece): (usize, &mut [u8])| {
            if let Err(e) = self.span(at, piece, first) {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.as_ref().is_none_or(|(before, _)| at < *before) {
                    *failed = Some((at, e));
                }
            }
        });
        failed
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(()), |(_, e)| Err(e))
    }

    /// Decodes a range, on this thread.
    fn span(&self, at: usize, dst: &mut [u8], first: Option<&[u8]>) -> Result<()> {
        let h = &self.one.header;
        SCRATCH.with_borrow_mut(|scratch| {
            let (mut at, mut dst) = (at, dst);
            while !dst.is_empty() {
                let (index, from) = (at / h.blocksize, at % h.blocksize);
                let len = h.block_len(index);
                let (piece, rest) = dst.split_at_mut(len.saturating_sub(from).min(dst.len()));
                let stored = self.stored(index)?;
                let own = |r: Range<usize>, f: &mut dyn FnMut(&[u8]) -> Result<()>| {
                    f(stored.get(r).ok_or_else(ends_early)?)
                };
                if piece.len() == len {
                    self.one.block(scratch, index, stored, first, piece)?;
                } else if !self.one.part(scratch, index, from, piece, &own)? {
                    let mut whole = std::mem::take(&mut scratch.whole);
                    let result = room(&mut whole, len).and_then(|w| {
                        self.one.block(scratch, index, stored, first, w)?;
                        piece.copy_from_slice(w.get(from..from + piece.len()).unwrap_or_default());
                        Ok(())
                    });
                    trim(&mut whole);
                    scratch.whole = whole;
                    result?;
                }
                at += piece.len();
                dst = rest;
            }
            Ok(())
        })
    }
}

// ---- one block

/// What a thread keeps from block to block.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) codecs: Decoders,
    pub(super) filtered: [Vec<u8>; 2],
    pub(super) whole: Vec<u8>,
    reference: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Lends what this thread keeps to what may come back here.
pub(super) fn with_scratch<R>(f: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = SCRATCH.take();
    let result = f(&mut scratch);
    SCRATCH.set(scratch);
    result
}

pub(super) fn ends_early() -> Error {
    fail!(Format, "the chunk ends within a block")
}

/// One filter, undone.
#[derive(Clone, Copy)]
pub(super) enum Undo {
    Shuffle(usize),
    Bitshuffle,
    Delta,
    ByteDelta(usize),
}

/// Decodes the blocks of one chunk, each from its own bytes.
pub struct BlockDecoder {
    pub(super) header: Header,
    pub(super) codec: Codec,
    pub(super) dictionary: Option<Dictionary>,
    /// In the order in which they are undone.
    pub(super) undo: [Option<Undo>; MOST],
}

impl BlockDecoder {
    /// For a chunk of blocks with this header and the dictionary that [`sections`] gives.
    pub fn new(header: &Header, dictionary: Option<&[u8]>) -> Result<BlockDecoder> {
        let codec = header.codec()?;
        if header.version <= VERSION_1 && header.codec_version != 1 {
            return Err(fail!(
                Version,
                "version {} of the format of {}; 1 is known",
                header.codec_version,
                codec.name()
            ));
        }
        let dictionary = dictionary
            .map(|d| Dictionary::new(codec, d))
            .transpose()?
            .flatten();
        let group = |own: u8| {
            if own == 0 {
                header.typesize
            } else {
                usize::from(own)
            }
        };
        let mut undo = [None; MOST];
        let known = header.pipeline()?;
        let steps = known.iter().rev().filter_map(|f| match f {
            // an item of one byte is where it was
            Filter::Shuffle { group: g } => Some(Undo::Shuffle(group(g))).filter(|_| group(g) > 1),
            Filter::Bitshuffle => Some(Undo::Bitshuffle),
            Filter::Delta => Some(Undo::Delta),
            Filter::ByteDelta { runs } => Some(Undo::ByteDelta(group(runs))),
            Filter::Truncate { .. } => None,
        });
        for (slot, step) in undo.iter_mut().zip(steps) {
            *slot = Some(step);
        }
        Ok(BlockDecoder {
            header: *header,
            codec,
            dictionary,
            undo,
        })
    }

    /// Do the other blocks need the first one?
    pub fn needs_first(&self) -> bool {
        self.undo.iter().flatten().any(|u| matches!(u, Undo::Delta))
    }

    /// Decodes block `index` into `dst`, which has its length. `stored` begins where the block
    /// begins and may go on behind it. `first` is the content of block 0, for the others where
    /// they need it.
    pub fn decode(
        &self,
        index: usize,
        stored: &[u8],
        first: Option<&[u8]>,
        dst: &mut [u8],
    ) -> Result<()> {
        if dst.is_empty() || dst.len() != self.header.block_len(index) {
            return Err(fail!(
                Argument,
                "block {index} has {} bytes, and there is room for {}",
                self.header.block_len(index),
                dst.len()
            ));
        }
        if index > 0 && self.needs_first() && first.is_none_or(|f| f.len() < dst.len()) {
            return Err(fail!(Argument, "block {index} needs block 0"));
        }
        SCRATCH.with_borrow_mut(|scratch| self.block(scratch, index, stored, first, dst))
    }

    pub(super) fn block(
        &self,
        scratch: &mut Scratch,
        index: usize,
        stored: &[u8],
        first: Option<&[u8]>,
        dst: &mut [u8],
    ) -> Result<()> {
        let n = dst.len();
        let [a, _] = &mut scratch.filtered;
        if let Some(streams) = self.shuffled(&mut scratch.codecs, a, index, stored, n)? {
            let done = streams.unshuffle(&Rows::one(0, n), dst);
            trim(a);
            return if done {
                Ok(())
            } else {
                Err(fail!(State, "block {index}: its streams are too short"))
            };
        }
        // c-blosc 1.x leaves a block alone that its bitshuffle does not fit
        let left_alone = self.header.version <= VERSION_1
            && !filter::bitshuffle::applies_v1(self.header.typesize, n);
        let steps = || {
            self.undo
                .iter()
                .flatten()
                .filter(|u| !(left_alone && matches!(u, Undo::Bitshuffle)))
        };
        let mut moves = steps().filter(|u| !matches!(u, Undo::Delta)).count();
        let [a, b] = &mut scratch.filtered;
        let mut now = if moves > 0 { room(a, n)? } else { &mut [] };
        let mut next = if moves > 1 { room(b, n)? } else { &mut [] };
        self.streams(
            &mut scratch.codecs,
            index,
            stored,
            if moves > 0 { now } else { dst },
        )?;
        let reference = first.filter(|_| index > 0);
        for step in steps() {
            if let Undo::Delta = step {
                filter::delta_decode(
                    reference,
                    self.header.typesize,
                    if moves > 0 { now } else { dst },
                );
                continue;
            }
            moves -= 1;
            let to = if moves > 0 { &mut *next } else { &mut *dst };
            match *step {
                Undo::Shuffle(group) => filter::unshuffle(group, now, to),
                Undo::Bitshuffle => filter::bitunshuffle(self.header.typesize, now, to),
                Undo::ByteDelta(runs) => filter::bytedelta_decode(runs, now, to),
                Undo::Delta => {}
            }
            std::mem::swap(&mut now, &mut next);
        }
        trim(a);
        trim(b);
        Ok(())
    }

    /// Decodes the streams of a block, one behind the other.
    fn streams(
        &self,
        codecs: &mut Decoders,
        index: usize,
        stored: &[u8],
        dst: &mut [u8],
    ) -> Result<()> {
        let n = self.header.streams(index);
        if !dst.len().is_multiple_of(n) {
            return Err(fail!(
                Format,
                "block {index} has {} bytes, which {n} streams cannot share",
                dst.len()
            ));
        }
        let (mut rest, each) = (stored, dst.len() / n);
        for (i, to) in dst.chunks_exact_mut(each.max(1)).enumerate() {
            let (stream, behind) = Stream::parse(&self.header, rest, each)
                .map_err(|e| e.within(of_stream(index, i)))?;
            self.fill(codecs, &stream, to, each)
                .map_err(|e| e.within(of_stream(index, i)))?;
            rest = behind;
        }
        Ok(())
    }

    /// Puts at least the first `wanted` bytes of a stream to their place, which has room for all of
    /// it.
    pub(super) fn fill(
        &self,
        codecs: &mut Decoders,
        stream: &Stream,
        dst: &mut [u8],
        wanted: usize,
    ) -> Result<()> {
        let stored = match stream {
            Stream::Coded(stored) => stored,
            Stream::Copied(content) => {
                dst.copy_from_slice(content);
                return Ok(());
            }
            Stream::Run(byte) => {
                dst.fill(*byte);
                return Ok(());
            }
        };
        let done = stored.len() <= longest_stream(dst.len())
            && match &self.dictionary {
                None => codecs.decode_first(self.codec, stored, dst, wanted)?,
                dictionary => codecs.decode(self.codec, dictionary.as_ref(), stored, dst)?,
            };
        if done {
            Ok(())
        } else {
            Err(fail!(
                Format,
                "its {} bytes of {} do not hold {} bytes",
                stored.len(),
                self.codec.name(),
                dst.len()
            ))
        }
    }
}

/// Which stream an error is of.
pub(super) fn of_stream(block: usize, i: usize) -> String {
    format!("block {block}, stream {i}")
}

/// A stream as it is stored.
#[derive(Clone, Copy)]
pub(super) enum Stream<'s> {
    /// As it is.
    Copied(&'s [u8]),
    /// One byte again and again, in chunks of c-blosc2.
    Run(u8),
    /// By the codec.
    Coded(&'s [u8]),
}

impl<'s> Stream<'s> {
    /// The first one of these bytes, which holds `each`; and what follows it.
    pub(super) fn parse(
        header: &Header,
        stored: &'s [u8],
        each: usize,
    ) -> Result<(Stream<'s>, &'s [u8])> {
        let ends = |n: usize| {
            fail!(
                Format,
                "it needs {n} bytes, and {} are left of the chunk",
                stored.len()
            )
        };
        let (length, rest) = stored.split_first_chunk::<4>().ok_or_else(|| ends(4))?;
        let length = i32::from_le_bytes(*length);
        if length <= 0 {
            return Stream::run(header, length, rest);
        }
        let (stream, rest) = rest
            .split_at_checked(length as usize)
            .ok_or_else(|| ends((length as usize).saturating_add(4)))?;
        Ok((
            if stream.len() == each {
                Stream::Copied(stream)
            } else {
                Stream::Coded(stream)
            },
            rest,
        ))
    }

    fn run(header: &Header, length: i32, rest: &'s [u8]) -> Result<(Stream<'s>, &'s [u8])> {
        if !header.extended() {
            return Err(fail!(Format, "it claims {length} bytes"));
        }
        if length == 0 {
            return Ok((Stream::Run(0), rest));
        }
        match (rest.split_first(), u8::try_from(length.unsigned_abs())) {
            (Some((token, rest)), Ok(byte)) if token & 1 == 1 => Ok((Stream::Run(byte), rest)),
            _ => Err(fail!(Format, "it claims {length} bytes and is no run")),
        }
    }
}
