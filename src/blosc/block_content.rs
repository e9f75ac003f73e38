//! Decoding of a range of a block without copying more than needed: streams are decoded only as far
//! as the range requires, uncompressed streams stay in the chunk, and unshuffle writes to the
//! destination.
#![forbid(unsafe_code)]

use super::codec::Decoders;
use super::decode::{BlockDecoder, InverseFilter, StoredStream, stream_label, with_scratch};
use super::filter::{self, Streams, StridedRows};
use super::{release_if_large, scratch_slice};
use crate::error::Result;
use std::ops::Range;

/// The content of a block, as far as it was requested.
#[derive(Clone, Copy, Debug)]
pub enum Decoded<'a> {
    /// The plain content.
    Plain(&'a [u8]),
    /// The byte streams of the shuffled content.
    Shuffled(Streams<'a>),
}

impl Decoded<'_> {
    /// Returns all of the content, unshuffled into `buffer` if necessary.
    pub fn bytes<'b>(&'b self, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
        match self {
            Decoded::Plain(content) => Ok(content),
            Decoded::Shuffled(streams) => {
                let bytes = scratch_slice(buffer, streams.nbytes())?;
                streams.unshuffle(&StridedRows::one(0, bytes.len()), bytes);
                Ok(bytes)
            }
        }
    }

    /// Copies the bytes from offset `from` to `dst`. Returns false if they are out of range.
    pub fn copy_from(&self, from: usize, dst: &mut [u8]) -> bool {
        match self {
            Decoded::Plain(content) => content
                .get(from..)
                .and_then(|c| c.get(..dst.len()))
                .map(|c| dst.copy_from_slice(c))
                .is_some(),
            Decoded::Shuffled(streams) => {
                streams.unshuffle(&StridedRows::one(from, dst.len()), dst)
            }
        }
    }
}

impl BlockDecoder {
    /// Decodes a range of block `index`, and calls `f` with the content. The bytes outside of the
    /// range are unspecified. The other parameters are those of [`BlockDecoder::decode`].
    pub fn with_decoded_range<R>(
        &self,
        index: usize,
        stored: &[u8],
        first: Option<&[u8]>,
        requested: Range<usize>,
        f: impl FnOnce(&Decoded) -> Result<R>,
    ) -> Result<R> {
        with_scratch(|scratch| {
            let [mut a, b] = std::mem::take(&mut scratch.filtered);
            let done = self
                .decode_shuffled(&mut scratch.codecs, &mut a, index, stored, requested.end)
                .map(|s| s.map(Decoded::Shuffled));
            if let Some(content) = done.transpose() {
                let result = content.and_then(|content| f(&content));
                release_if_large(&mut a);
                scratch.filtered = [a, b];
                return result;
            }
            scratch.filtered = [a, b];
            let mut whole = std::mem::take(&mut scratch.whole);
            let result =
                scratch_slice(&mut whole, self.header.block_len(index)).and_then(|content| {
                    self.decode_block(scratch, index, stored, first, content)?;
                    f(&Decoded::Plain(content))
                });
            release_if_large(&mut whole);
            scratch.whole = whole;
            result
        })
    }

    /// Returns the streams of a block whose only filter is shuffle, decoded as far as the items
    /// that begin before byte `end` of the content require. Returns `None` for other blocks.
    pub(super) fn decode_shuffled<'s>(
        &self,
        codecs: &mut Decoders,
        buffer: &'s mut Vec<u8>,
        index: usize,
        stored: &'s [u8],
        end: usize,
    ) -> Result<Option<Streams<'s>>> {
        let (len, n) = (self.header.block_len(index), self.header.streams(index));
        let [Some(InverseFilter::Shuffle(group)), None, ..] = self.inverse_filters else {
            return Ok(None);
        };
        if !filter::supports_rows(group)
            || !len.is_multiple_of(group)
            || !(n == 1 || n == group)
            || len == 0
        {
            return Ok(None);
        }
        let (items, each) = (len / group, len / n);
        let requested = each - items + end.div_ceil(group).min(items);
        let mut rest = stored;
        let mut streams = [StoredStream::Run(0); filter::MAX_STREAMS];
        let streams = streams.get_mut(..n).unwrap_or_default();
        for (i, stream) in streams.iter_mut().enumerate() {
            (*stream, rest) = StoredStream::parse(&self.header, rest, each)
                .map_err(|e| e.within(stream_label(index, i)))?;
        }
        let to_decode = |s: &StoredStream| !matches!(s, StoredStream::Copied(_));
        let buffers = scratch_slice(
            buffer,
            each * streams.iter().filter(|s| to_decode(s)).count(),
        )?;
        let (mut buffers, mut planes) = (
            buffers.chunks_exact_mut(each),
            [&[][..]; filter::MAX_STREAMS],
        );
        for (i, (stream, plane)) in streams.iter().zip(&mut planes).enumerate() {
            if let StoredStream::Copied(content) = stream {
                *plane = content;
            } else if let Some(to) = buffers.next() {
                self.decode_stream(codecs, stream, to, requested)
                    .map_err(|e| e.within(stream_label(index, i)))?;
                *plane = to;
            }
        }
        Ok(Some(Streams::new(
            planes.into_iter().flat_map(|s| s.chunks_exact(items)),
        )))
    }
}
