//! Decoding of a range of a block without copying more than needed: streams are decoded only as far
//! as the range requires, uncompressed streams stay in the chunk, and unshuffle writes to the
//! destination.
#![forbid(unsafe_code)]

use super::codec::Decoders;
use super::decode::{
    BlockDecoder, DecodeContext, InverseFilter, StoredStream, Workspace, stream_label,
};
use super::filter::{self, Streams, StridedRows};
use super::scratch_slice;
use crate::error::Result;
use crate::slice::SliceExt;
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
    /// Decodes a range of block `index`. The bytes outside of the range are unspecified. The other
    /// parameters are those of [`BlockDecoder::decode`].
    pub fn decode_range<'s>(
        &self,
        context: &'s mut DecodeContext,
        index: usize,
        stored: &'s [u8],
        first: Option<&[u8]>,
        requested: Range<usize>,
    ) -> Result<Decoded<'s>> {
        if let Some(group) = self.shuffled_group(index) {
            let Workspace {
                codecs, filtered, ..
            } = &mut context.0;
            let ([buffer, _], end) = (filtered, requested.end);
            let streams = self.decode_shuffled(codecs, buffer, (index, group), stored, end)?;
            return Ok(Decoded::Shuffled(streams));
        }
        let mut buffer = std::mem::take(&mut context.0.whole);
        let decoded = scratch_slice(&mut buffer, self.header.block_len(index))
            .and_then(|content| self.decode_block(&mut context.0, index, stored, first, content));
        context.0.whole = buffer;
        decoded?;
        let content = context.0.whole.get(..self.header.block_len(index));
        Ok(Decoded::Plain(content.unwrap_or_default()))
    }

    /// Returns the number of bytes of an item if shuffle is the only filter of a block and its
    /// streams can be unshuffled into rows.
    pub(super) fn shuffled_group(&self, index: usize) -> Option<usize> {
        let [Some(InverseFilter::Shuffle(group)), None, ..] = self.inverse_filters else {
            return None;
        };
        if self.header.variable_blocks.is_some() {
            return None;
        }
        let (len, n) = (self.header.block_len(index), self.header.streams(index));
        let fits = filter::supports_rows(group)
            && len.is_multiple_of(group)
            && (n == 1 || n == group)
            && len > 0;
        fits.then_some(group)
    }

    /// Returns the streams of a block that [`BlockDecoder::shuffled_group`] accepts, decoded as far
    /// as the items that begin before byte `end` of the content require.
    pub(super) fn decode_shuffled<'s>(
        &self,
        codecs: &mut Decoders,
        buffer: &'s mut Vec<u8>,
        (index, group): (usize, usize),
        stored: &'s [u8],
        end: usize,
    ) -> Result<Streams<'s>> {
        let (len, n) = (self.header.block_len(index), self.header.streams(index));
        let (items, each) = (len / group, len / n);
        let requested = each - items + end.div_ceil(group).min(items);
        let mut rest = stored;
        let mut streams = [StoredStream::Run(0); filter::MAX_STREAMS];
        let streams = streams.at_mut(..n)?;
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
        Ok(Streams::new(
            planes.into_iter().flat_map(|s| s.chunks_exact(items)),
        ))
    }
}
