//! Decoding of chunks: a whole chunk, a range of bytes, or one block from its own bytes.
//!
//! Blocks are decoded directly into the destination. Only filters and partially requested blocks
//! use buffers, which each thread reuses.
#![forbid(unsafe_code)]

use super::codec::{Decoders, Dictionary};
use super::filter::StridedRows;
use super::header::{VERSION_1, sections};
use super::pipeline::MAX_FILTERS;
use super::variable_blocks::VariableBlocks;
use super::{Codec, Content, Filter, Header, filter, release_if_large, scratch_slice};
use crate::error::{Error, Result, fail};
use crate::parallel;
use crate::progress::{Step, advance};
use crate::slice::SliceExt;
use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

/// Minimum number of bytes per thread that makes it worth using another thread.
const MIN_BYTES_PER_THREAD: usize = 128 << 10;
/// Returns the maximum length of a stream with `len` bytes of content. No writer produces longer
/// streams. The limit bounds the decoding time of a long stream with almost no content.
pub(super) const fn max_stream_len(len: usize) -> usize {
    32 + len + len / 6
}

/// Decodes a whole chunk into `dst`, which must have the length in the chunk's header.
pub fn decode(chunk: &[u8], dst: &mut [u8], threads: usize) -> Result<()> {
    let header = Header::parse(chunk)?;
    if dst.len() != header.nbytes {
        return Err(fail!(
            Argument,
            "the buffer does not match the content of the chunk (expected {} bytes, found {})",
            header.nbytes,
            dst.len()
        ));
    }
    range(&header, chunk, 0, dst, threads)?;
    advance(Step::Decode, dst.len())
}

/// Decodes `dst.len()` bytes from offset `at`. Only the blocks in this range are read.
pub fn decode_range(chunk: &[u8], at: usize, dst: &mut [u8], threads: usize) -> Result<()> {
    let header = Header::parse(chunk)?;
    if at
        .checked_add(dst.len())
        .is_none_or(|end| end > header.nbytes)
    {
        return Err(fail!(
            Range,
            "the chunk has {} bytes of content, fewer than {} bytes from offset {at}",
            header.nbytes,
            dst.len()
        ));
    }
    range(&header, chunk, at, dst, threads)?;
    advance(Step::Decode, dst.len())
}

fn range(header: &Header, chunk: &[u8], at: usize, dst: &mut [u8], threads: usize) -> Result<()> {
    let Some(chunk) = chunk.get(..header.cbytes) else {
        return Err(fail!(
            Format,
            "the chunk is cut short (expected {} bytes, found {})",
            header.cbytes,
            chunk.len()
        ));
    };
    let body = chunk.at(header.len()..)?;
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

/// Fills `dst` with a repeated value, as if the first copy began `at` bytes before `dst`.
pub fn repeat(value: &[u8], at: usize, dst: &mut [u8]) {
    let Some(from) = at.checked_rem(value.len()) else {
        return;
    };
    let (_, last) = value.split_at(from);
    let (head, rest) = dst.split_at_mut(last.len().min(dst.len()));
    copy_start(last, head);
    // copying one large pattern is faster than copying many small values
    let whole = value.repeat(
        (4096 / value.len())
            .max(1)
            .min(rest.len() / value.len() + 1),
    );
    let mut pieces = rest.chunks_exact_mut(whole.len());
    for piece in &mut pieces {
        piece.copy_from_slice(&whole);
    }
    copy_start(&whole, pieces.into_remainder());
}

/// Fills `dst` with the first bytes of `src`.
fn copy_start(src: &[u8], dst: &mut [u8]) {
    for (to, from) in dst.iter_mut().zip(src) {
        *to = *from;
    }
}

// ---- the blocks of one chunk

/// A chunk of blocks, and the data that its blocks share.
struct Blocks<'c> {
    chunk: &'c [u8],
    starts: &'c [u8],
    /// Minimum offset of a block.
    min_offset: usize,
    decoder: BlockDecoder,
}

impl<'c> Blocks<'c> {
    fn new(header: &Header, chunk: &'c [u8]) -> Result<Self> {
        let (starts, dictionary) = sections(header, chunk)?;
        let min_offset = header.len() + starts.len() + dictionary.map_or(0, |d| 4 + d.len());
        Ok(Blocks {
            chunk,
            starts,
            min_offset,
            decoder: BlockDecoder::new(header, dictionary)?.for_blocks(starts, min_offset)?,
        })
    }

    /// Returns the bytes from the start of a block to the end of the chunk. The lengths of its
    /// streams determine where the block ends.
    fn stored(&self, index: usize) -> Result<&'c [u8]> {
        let entry = self.starts.get(4 * index..).and_then(<[u8]>::first_chunk);
        let entry = entry.copied().unwrap_or_default();
        let start = (self.decoder.header).block_start(index, entry, self.min_offset)?;
        Ok(self.chunk.get(start..).unwrap_or_default())
    }

    fn range(&self, at: usize, dst: &mut [u8], threads: usize) -> Result<()> {
        let first = self.decoder.header.block_len(0);
        if !self.decoder.needs_first() || at + dst.len() <= first {
            return self.decode_parallel(at, dst, None, threads);
        }
        if at == 0 {
            let (head, rest) = dst.split_at_mut(first);
            self.decode_span(0, head, None)?;
            return self.decode_parallel(first, rest, Some(head), threads);
        }
        let mut reference = WORKSPACE.with_borrow_mut(|s| std::mem::take(&mut s.reference));
        let result = scratch_slice(&mut reference, first).and_then(|head| {
            self.decode_span(0, head, None)?;
            let head_part = head.at(at.min(first)..)?;
            let (before, after) = dst.cut_mut(head_part.len())?;
            before.copy_from_slice(head_part);
            self.decode_parallel(at.max(first), after, Some(head), threads)
        });
        release_if_large(&mut reference);
        WORKSPACE.with_borrow_mut(|s| s.reference = reference);
        result
    }

    /// Decodes a range, on several threads if it is large enough.
    fn decode_parallel(
        &self,
        at: usize,
        dst: &mut [u8],
        first: Option<&[u8]>,
        threads: usize,
    ) -> Result<()> {
        let blocksize = self.decoder.header.blocksize;
        let share = MIN_BYTES_PER_THREAD
            .max(dst.len() / threads.max(1) / 4)
            .next_multiple_of(blocksize);
        if threads < 2 || dst.len() <= share {
            return self.decode_span(at, dst, first);
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
            if let Err(e) = self.decode_span(at, piece, first) {
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

    /// Decodes a range on this thread.
    fn decode_span(&self, at: usize, dst: &mut [u8], first: Option<&[u8]>) -> Result<()> {
        let h = &self.decoder.header;
        WORKSPACE.with_borrow_mut(|workspace| {
            let (mut at, mut dst) = (at, dst);
            while !dst.is_empty() {
                let (index, from) = (at / h.blocksize, at % h.blocksize);
                let len = h.block_len(index);
                let (piece, rest) = dst.split_at_mut(len.saturating_sub(from).min(dst.len()));
                let stored = self.stored(index)?;
                if piece.len() == len {
                    self.decoder
                        .decode_block(workspace, index, stored, first, piece)?;
                } else if !self.decoder.part(workspace, index, from, piece, &stored)? {
                    let mut whole = std::mem::take(&mut workspace.whole);
                    let result = scratch_slice(&mut whole, len).and_then(|w| {
                        self.decoder
                            .decode_block(workspace, index, stored, first, w)?;
                        piece.copy_from_slice(w.at(from..from + piece.len())?);
                        Ok(())
                    });
                    release_if_large(&mut whole);
                    workspace.whole = whole;
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

/// Codec contexts and buffers that a thread reuses.
#[derive(Default)]
pub(super) struct Workspace {
    pub(super) codecs: Decoders,
    pub(super) filtered: [Vec<u8>; 2],
    pub(super) whole: Vec<u8>,
    reference: Vec<u8>,
}

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// The workspace of this thread, taken for as long as decoded content is borrowed from it.
pub struct DecodeContext(pub(super) Workspace);

impl DecodeContext {
    /// Takes the workspace of this thread.
    pub fn take() -> DecodeContext {
        DecodeContext(WORKSPACE.take())
    }
}

impl Drop for DecodeContext {
    fn drop(&mut self) {
        let mut workspace = std::mem::take(&mut self.0);
        workspace.filtered.iter_mut().for_each(release_if_large);
        release_if_large(&mut workspace.whole);
        // fails while the thread ends
        _ = WORKSPACE.try_with(|own| own.replace(workspace));
    }
}

/// The inverse of a filter.
#[derive(Clone, Copy)]
pub(super) enum InverseFilter {
    Shuffle(usize),
    Bitshuffle,
    Delta,
    ByteDelta(usize),
}

/// A decoder of the blocks of one chunk, each from its own bytes.
pub struct BlockDecoder {
    pub(super) header: Header,
    pub(super) codec: Codec,
    pub(super) dictionary: Option<Dictionary>,
    /// In decoding order.
    pub(super) inverse_filters: [Option<InverseFilter>; MAX_FILTERS],
    pub(super) variable: Option<VariableBlocks>,
}

impl BlockDecoder {
    /// Creates a decoder for a chunk of blocks with this header and the dictionary that
    /// [`sections`] returns.
    pub fn new(header: &Header, dictionary: Option<&[u8]>) -> Result<BlockDecoder> {
        let codec = header.codec()?;
        if header.version <= VERSION_1 && header.codec_version != 1 {
            return Err(fail!(
                Version,
                "unsupported version {} of the {} format (expected 1)",
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
        let mut inverse_filters = [None; MAX_FILTERS];
        let known = header.pipeline()?;
        let steps = known.iter().rev().filter_map(|f| match f {
            // shuffle does not change items of one byte
            Filter::Shuffle { group: g } => {
                Some(InverseFilter::Shuffle(group(g))).filter(|_| group(g) > 1)
            }
            Filter::Bitshuffle => Some(InverseFilter::Bitshuffle),
            Filter::Delta => Some(InverseFilter::Delta),
            Filter::ByteDelta { runs } => Some(InverseFilter::ByteDelta(group(runs))),
            Filter::Truncate { .. } => None,
        });
        for (slot, step) in inverse_filters.iter_mut().zip(steps) {
            *slot = Some(step);
        }
        Ok(BlockDecoder {
            header: *header,
            codec,
            dictionary,
            inverse_filters,
            variable: None,
        })
    }

    /// Sets the table of block offsets, which blocks of variable length need. No block begins before
    /// `earliest`.
    pub(super) fn for_blocks(self, table: &[u8], earliest: usize) -> Result<BlockDecoder> {
        if self.header.variable_blocks.is_none() {
            return Ok(self);
        }
        if self.needs_first() {
            return Err(fail!(
                Unsupported,
                "the delta filter on blocks of variable length is not supported"
            ));
        }
        let variable = VariableBlocks::parse(&self.header, table, earliest)?;
        Ok(BlockDecoder {
            variable: Some(variable),
            ..self
        })
    }

    /// Returns whether the other blocks need the content of the first block.
    pub fn needs_first(&self) -> bool {
        self.inverse_filters
            .iter()
            .flatten()
            .any(|u| matches!(u, InverseFilter::Delta))
    }

    /// Decodes block `index` into `dst`, which must have the length of the block. `stored` begins
    /// at the block and may extend beyond it. `first` is the content of block 0, if
    /// [`BlockDecoder::needs_first`].
    pub fn decode(
        &self,
        context: &mut DecodeContext,
        index: usize,
        stored: &[u8],
        first: Option<&[u8]>,
        dst: &mut [u8],
    ) -> Result<()> {
        if dst.is_empty() || dst.len() != self.header.block_len(index) {
            return Err(fail!(
                Argument,
                "block {index}: the buffer does not match the block (expected {} bytes, found {})",
                self.header.block_len(index),
                dst.len()
            ));
        }
        if index > 0 && self.needs_first() && first.is_none_or(|f| f.len() < dst.len()) {
            return Err(fail!(
                Argument,
                "block {index} needs the content of block 0"
            ));
        }
        self.decode_block(&mut context.0, index, stored, first, dst)
    }

    pub(super) fn decode_block(
        &self,
        workspace: &mut Workspace,
        index: usize,
        stored: &[u8],
        first: Option<&[u8]>,
        dst: &mut [u8],
    ) -> Result<()> {
        if self.header.variable_blocks.is_some() {
            return match &self.variable {
                Some(blocks) => self.decode_variable(workspace, blocks, stored, dst),
                None => Err(fail!(
                    Unsupported,
                    "blocks of variable length are only supported in superchunks"
                )),
            };
        }
        let n = dst.len();
        if let Some(group) = self.shuffled_group(index) {
            let [a, _] = &mut workspace.filtered;
            let codecs = &mut workspace.codecs;
            let streams = self.decode_shuffled(codecs, a, (index, group), stored, n)?;
            let done = streams.unshuffle(&StridedRows::one(0, n), dst);
            release_if_large(a);
            return if done {
                Ok(())
            } else {
                Err(fail!(State, "block {index}: its streams are too short"))
            };
        }
        let reference = first.filter(|_| index > 0);
        self.decode_through_filters(workspace, reference, dst, &mut |codecs, to| {
            self.decode_streams(codecs, index, stored, to)
        })
    }

    /// Decodes a block whose streams `decode` decodes into adjacent ranges of a buffer, before the
    /// filters are inverted. `reference` is the content of the first block, if the delta filter needs
    /// it.
    pub(super) fn decode_through_filters(
        &self,
        workspace: &mut Workspace,
        reference: Option<&[u8]>,
        dst: &mut [u8],
        decode: &mut dyn FnMut(&mut Decoders, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let n = dst.len();
        // c-blosc 1.x does not bitshuffle blocks whose number of items is not a multiple of 8
        let skips_bitshuffle = self.header.version <= VERSION_1
            && !filter::bitshuffle::applies_v1(self.header.typesize, n);
        let steps = || {
            self.inverse_filters
                .iter()
                .flatten()
                .filter(|u| !(skips_bitshuffle && matches!(u, InverseFilter::Bitshuffle)))
        };
        let mut steps_left = steps()
            .filter(|u| !matches!(u, InverseFilter::Delta))
            .count();
        let [a, b] = &mut workspace.filtered;
        let mut now = if steps_left > 0 {
            scratch_slice(a, n)?
        } else {
            &mut []
        };
        let mut next = if steps_left > 1 {
            scratch_slice(b, n)?
        } else {
            &mut []
        };
        let to = if steps_left > 0 { &mut *now } else { &mut *dst };
        decode(&mut workspace.codecs, to)?;
        for step in steps() {
            if let InverseFilter::Delta = step {
                filter::delta_decode(
                    reference,
                    self.header.typesize,
                    if steps_left > 0 { now } else { dst },
                );
                continue;
            }
            steps_left -= 1;
            let to = if steps_left > 0 {
                &mut *next
            } else {
                &mut *dst
            };
            match *step {
                InverseFilter::Shuffle(group) => filter::unshuffle(group, now, to),
                InverseFilter::Bitshuffle => filter::bitunshuffle(self.header.typesize, now, to),
                InverseFilter::ByteDelta(runs) => filter::bytedelta_decode(runs, now, to),
                InverseFilter::Delta => {}
            }
            std::mem::swap(&mut now, &mut next);
        }
        release_if_large(a);
        release_if_large(b);
        Ok(())
    }

    /// Decodes the streams of a block into adjacent ranges of `dst`.
    fn decode_streams(
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
                "block {index} has {} bytes, which are not divisible into {n} streams",
                dst.len()
            ));
        }
        let (mut rest, each) = (stored, dst.len() / n);
        for (i, to) in dst.chunks_exact_mut(each.max(1)).enumerate() {
            let (stream, after) = StoredStream::parse(&self.header, rest, each)
                .map_err(|e| e.within(stream_label(index, i)))?;
            self.decode_stream(codecs, &stream, to, each)
                .map_err(|e| e.within(stream_label(index, i)))?;
            rest = after;
        }
        Ok(())
    }

    /// Decodes at least the first `requested` bytes of a stream. `dst` has the length of the whole
    /// stream.
    pub(super) fn decode_stream(
        &self,
        codecs: &mut Decoders,
        stream: &StoredStream,
        dst: &mut [u8],
        requested: usize,
    ) -> Result<()> {
        let stored = match stream {
            StoredStream::Compressed(stored) => stored,
            StoredStream::Copied(content) => {
                dst.copy_from_slice(content);
                return Ok(());
            }
            StoredStream::Run(byte) => {
                dst.fill(*byte);
                return Ok(());
            }
        };
        let done = stored.len() <= max_stream_len(dst.len())
            && match &self.dictionary {
                None => codecs.decode_prefix(self.codec, stored, dst, requested)?,
                dictionary => codecs.decode(self.codec, dictionary.as_ref(), stored, dst)?,
            };
        if done {
            Ok(())
        } else {
            Err(fail!(
                Format,
                "{} compressed bytes ({}) do not decode to {} bytes",
                stored.len(),
                self.codec.name(),
                dst.len()
            ))
        }
    }
}

/// Returns the context for errors of a stream.
pub(super) fn stream_label(block: usize, i: usize) -> String {
    format!("block {block}, stream {i}")
}

/// A stored stream.
#[derive(Clone, Copy)]
pub(super) enum StoredStream<'s> {
    /// Uncompressed content.
    Copied(&'s [u8]),
    /// One repeated byte, in chunks of c-blosc2.
    Run(u8),
    /// Compressed content.
    Compressed(&'s [u8]),
}

impl<'s> StoredStream<'s> {
    /// Parses the first stream in `stored`, with `each` bytes of content. Returns it and the bytes
    /// after it.
    pub(super) fn parse(
        header: &Header,
        stored: &'s [u8],
        each: usize,
    ) -> Result<(StoredStream<'s>, &'s [u8])> {
        let ends = |n: usize| {
            fail!(
                Format,
                "the chunk is cut short (expected {n} bytes, found {})",
                stored.len()
            )
        };
        let (length, rest) = stored.split_first_chunk::<4>().ok_or_else(|| ends(4))?;
        let length = i32::from_le_bytes(*length);
        if length <= 0 {
            return StoredStream::run(header, length, rest);
        }
        let (stream, rest) = rest
            .split_at_checked(length as usize)
            .ok_or_else(|| ends((length as usize).saturating_add(4)))?;
        Ok((
            if stream.len() == each {
                StoredStream::Copied(stream)
            } else {
                StoredStream::Compressed(stream)
            },
            rest,
        ))
    }

    fn run(header: &Header, length: i32, rest: &'s [u8]) -> Result<(StoredStream<'s>, &'s [u8])> {
        if !header.extended() {
            return Err(fail!(Format, "invalid length {length}"));
        }
        if length == 0 {
            return Ok((StoredStream::Run(0), rest));
        }
        match (rest.split_first(), u8::try_from(length.unsigned_abs())) {
            (Some((token, rest)), Ok(byte)) if token & 1 == 1 => {
                Ok((StoredStream::Run(byte), rest))
            }
            _ => Err(fail!(
                Format,
                "invalid length {length} (negative lengths are only valid for runs)"
            )),
        }
    }
}
