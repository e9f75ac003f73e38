//! A block on its way to where it is wanted: no more of its streams is decoded than that takes,
//! those that are stored as they are stay where they are, and shuffle is undone where the items go.
#![forbid(unsafe_code)]

use super::codec::Decoders;
use super::decode::{BlockDecoder, Stream, Undo, of_stream, with_scratch};
use super::filter::{self, Rows, Streams};
use super::{room, trim};
use crate::error::Result;
use std::ops::Range;

/// The content of a block, as much of it as was wanted.
#[derive(Clone, Copy, Debug)]
pub enum Decoded<'a> {
    /// As it is.
    Plain(&'a [u8]),
    /// As its streams.
    Shuffled(Streams<'a>),
}

impl Decoded<'_> {
    /// All of it, in the buffer if it is not at hand.
    pub fn bytes<'b>(&'b self, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
        match self {
            Decoded::Plain(content) => Ok(content),
            Decoded::Shuffled(streams) => {
                let bytes = room(buffer, streams.nbytes())?;
                streams.unshuffle(&Rows::one(0, bytes.len()), bytes);
                Ok(bytes)
            }
        }
    }

    /// Copies bytes from here on. False where they are not there.
    pub fn copy_from(&self, from: usize, dst: &mut [u8]) -> bool {
        match self {
            Decoded::Plain(content) => content
                .get(from..)
                .and_then(|c| c.get(..dst.len()))
                .map(|c| dst.copy_from_slice(c))
                .is_some(),
            Decoded::Shuffled(streams) => streams.unshuffle(&Rows::one(from, dst.len()), dst),
        }
    }
}

impl BlockDecoder {
    /// Decodes a range of block `index`, and calls `f` with it; what is before and behind may be
    /// anything. The others as for [`BlockDecoder::decode`].
    pub fn decode_wanted<R>(
        &self,
        index: usize,
        stored: &[u8],
        first: Option<&[u8]>,
        wanted: Range<usize>,
        f: impl FnOnce(&Decoded) -> Result<R>,
    ) -> Result<R> {
        with_scratch(|scratch| {
            let [mut a, b] = std::mem::take(&mut scratch.filtered);
            let done = self
                .shuffled(&mut scratch.codecs, &mut a, index, stored, wanted.end)
                .map(|s| s.map(Decoded::Shuffled));
            if let Some(content) = done.transpose() {
                let result = content.and_then(|content| f(&content));
                trim(&mut a);
                scratch.filtered = [a, b];
                return result;
            }
            scratch.filtered = [a, b];
            let mut whole = std::mem::take(&mut scratch.whole);
            let result = room(&mut whole, self.header.block_len(index)).and_then(|content| {
                self.block(scratch, index, stored, first, content)?;
                f(&Decoded::Plain(content))
            });
            trim(&mut whole);
            scratch.whole = whole;
            result
        })
    }

    /// The streams of a block that is shuffled and nothing else, decoded until all items are there
    /// that begin before byte `end` of the content.
    pub(super) fn shuffled<'s>(
        &self,
        codecs: &mut Decoders,
        buffer: &'s mut Vec<u8>,
        index: usize,
        stored: &'s [u8],
        end: usize,
    ) -> Result<Option<Streams<'s>>> {
        let (len, n) = (self.header.block_len(index), self.header.streams(index));
        let [Some(Undo::Shuffle(group)), None, ..] = self.undo else {
            return Ok(None);
        };
        if !filter::goes_in_rows(group)
            || !len.is_multiple_of(group)
            || !(n == 1 || n == group)
            || len == 0
        {
            return Ok(None);
        }
        let (items, each) = (len / group, len / n);
        let wanted = each - items + end.div_ceil(group).min(items);
        let mut rest = stored;
        let mut streams = [Stream::Run(0); filter::MOST_STREAMS];
        let streams = streams.get_mut(..n).unwrap_or_default();
        for (i, stream) in streams.iter_mut().enumerate() {
            (*stream, rest) = Stream::parse(&self.header, rest, each)
                .map_err(|e| e.within(of_stream(index, i)))?;
        }
        let to_decode = |s: &Stream| !matches!(s, Stream::Copied(_));
        let places = room(
            buffer,
            each * streams.iter().filter(|s| to_decode(s)).count(),
        )?;
        let (mut places, mut planes) = (
            places.chunks_exact_mut(each),
            [&[][..]; filter::MOST_STREAMS],
        );
        for (i, (stream, plane)) in streams.iter().zip(&mut planes).enumerate() {
            if let Stream::Copied(content) = stream {
                *plane = content;
            } else if let Some(to) = places.next() {
                self.fill(codecs, stream, to, wanted)
                    .map_err(|e| e.within(of_stream(index, i)))?;
                *plane = to;
            }
        }
        Ok(Some(Streams::new(
            planes.into_iter().flat_map(|s| s.chunks_exact(items)),
        )))
    }
}
