//! Partial decoding of a block, for a few items out of many. Streams are decoded only as far as
//! these items require. Of uncompressed streams only the requested bytes are read.
//!
//! It applies to blocks without filters, or with shuffle alone. The bytes of an item are then in as
//! many runs as an item has bytes.
#![forbid(unsafe_code)]

use super::BlockDecoder;
use super::codec::source_len_for_prefix;
use super::decode::{DecodeContext, InverseFilter, Workspace, max_stream_len};
use super::stored::StoredBytes;
use super::{filter, release_if_large, scratch_slice};
use crate::error::{Result, fail};
use crate::slice::SliceExt;
use std::ops::Range;

/// The location of a part in a filtered block: as many runs of bytes as an item has bytes.
struct Runs {
    /// Offset of the first run.
    first: usize,
    len: usize,
    /// Distance between the starts of consecutive runs.
    stride: usize,
    count: usize,
}

impl Runs {
    /// Returns the pieces of the runs in `range`: the offset in `range`, the offset in the
    /// concatenation of all runs, and the length.
    fn within(&self, range: Range<usize>) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..self.count).filter_map(move |k| {
            let begin = self.first + k * self.stride;
            let (from, to) = (begin.max(range.start), (begin + self.len).min(range.end));
            (from < to).then(|| (from - range.start, k * self.len + (from - begin), to - from))
        })
    }
}

impl BlockDecoder {
    /// Decodes the content of a block from byte `from` into `dst`. `stored` are the bytes from the
    /// start of the block. Returns false, without any effect, if the block can only be decoded as a
    /// whole.
    pub fn decode_part(
        &self,
        index: usize,
        from: usize,
        dst: &mut [u8],
        stored: &dyn StoredBytes,
    ) -> Result<bool> {
        if from
            .checked_add(dst.len())
            .is_none_or(|end| end > self.header.block_len(index))
        {
            return Err(fail!(
                Argument,
                "block {index} has {} bytes, fewer than {} bytes from offset {from}",
                self.header.block_len(index),
                dst.len()
            ));
        }
        self.part(&mut DecodeContext::take().0, index, from, dst, stored)
    }

    pub(super) fn part(
        &self,
        workspace: &mut Workspace,
        index: usize,
        from: usize,
        dst: &mut [u8],
        stored: &dyn StoredBytes,
    ) -> Result<bool> {
        let Some(runs) = self.runs(index, from, dst.len()) else {
            return Ok(false);
        };
        let group = runs.count;
        if group == 1 {
            self.decode_runs(workspace, index, &runs, dst, stored)?;
            return Ok(true);
        }
        let [mut gathered, mut items] = std::mem::take(&mut workspace.filtered);
        let n = runs.len * group;
        let result = scratch_slice(&mut gathered, n).and_then(|bytes| {
            self.decode_runs(workspace, index, &runs, bytes, stored)?;
            if dst.len() == n {
                filter::unshuffle(group, bytes, dst);
                return Ok(());
            }
            let items = scratch_slice(&mut items, n)?;
            filter::unshuffle(group, bytes, items);
            dst.copy_from_slice(items.at(from % group..)?.at(..dst.len())?);
            Ok(())
        });
        release_if_large(&mut gathered);
        release_if_large(&mut items);
        workspace.filtered = [gathered, items];
        result.map(|()| true)
    }

    /// Returns where bytes of the content are stored, if the filters allow it.
    fn runs(&self, index: usize, from: usize, n: usize) -> Option<Runs> {
        if self.dictionary.is_some() || self.header.variable_blocks.is_some() || n == 0 {
            return None;
        }
        let len = self.header.block_len(index);
        let mut steps = self.inverse_filters.iter().flatten();
        match (steps.next(), steps.next()) {
            (None, _) => Some(Runs {
                first: from,
                len: n,
                stride: len,
                count: 1,
            }),
            (Some(InverseFilter::Shuffle(group)), None) => {
                let (items, first, end) = (len / group, from / group, (from + n).div_ceil(*group));
                // bytes after the last whole item are not shuffled
                (end <= items).then_some(Runs {
                    first,
                    len: end - first,
                    stride: items,
                    count: *group,
                })
            }
            _ => None,
        }
    }

    /// Decodes the runs into `dst`, one after the other.
    fn decode_runs(
        &self,
        workspace: &mut Workspace,
        index: usize,
        runs: &Runs,
        dst: &mut [u8],
        stored: &dyn StoredBytes,
    ) -> Result<()> {
        let (len, n) = (self.header.block_len(index), self.header.streams(index));
        if !len.is_multiple_of(n) {
            return Err(fail!(
                Format,
                "block {index} has {len} bytes, which are not divisible into {n} streams"
            ));
        }
        let (each, mut at) = (len / n, 0);
        for i in 0..n {
            let mut head = [0; 4];
            stored.read_at(at, &mut head)?;
            let own = runs.within(i * each..(i + 1) * each);
            let length = i32::from_le_bytes(head);
            if self.header.extended() && length <= 0 {
                at += 4 + fill_from_run(length, at + 4, own, dst, stored)
                    .map_err(|e| e.within(format_args!("block {index}, stream {i}")))?;
                continue;
            }
            let length = usize::try_from(length)
                .ok()
                .filter(|n| (1..=max_stream_len(each)).contains(n));
            let length = length.ok_or_else(|| {
                fail!(
                    Format,
                    "block {index}, stream {i}: invalid length {}",
                    i32::from_le_bytes(head)
                )
            })?;
            self.copy_from_stream(
                workspace,
                at + 4..at + 4 + length,
                own.collect(),
                each,
                dst,
                stored,
            )
            .map_err(|e| e.within(format_args!("block {index}, stream {i}")))?;
            at += 4 + length;
        }
        Ok(())
    }

    /// Copies pieces of a stream with `each` bytes of content into `dst`.
    fn copy_from_stream(
        &self,
        workspace: &mut Workspace,
        location: Range<usize>,
        pieces: Vec<(usize, usize, usize)>,
        each: usize,
        dst: &mut [u8],
        stored: &dyn StoredBytes,
    ) -> Result<()> {
        let (Some((begin, ..)), Some((last, _, n))) = (pieces.first(), pieces.last()) else {
            return Ok(());
        };
        let (begin, end, length) = (*begin, last + n, location.len());
        let mut copy = |content: &[u8], skip: usize| {
            for (from, to, n) in &pieces {
                dst.at_mut(*to..*to + *n)?
                    .copy_from_slice(content.at(from - skip..from - skip + *n)?);
            }
            Ok(())
        };
        if length == each {
            let bytes = stored.bytes(location.start + begin..location.start + end)?;
            return copy(&bytes, begin);
        }
        let Workspace { codecs, whole, .. } = workspace;
        let content = scratch_slice(whole, each)?;
        let needed = source_len_for_prefix(self.codec, length, end, each);
        let bytes = stored.bytes(location.start..location.start + needed)?;
        if !codecs.decode_partial(self.codec, &bytes, content, end)? {
            return Err(fail!(
                Format,
                "{length} compressed bytes ({}) do not decode to {each} bytes",
                self.codec.name()
            ));
        }
        let done = copy(content, 0);
        release_if_large(whole);
        done
    }
}

/// Fills pieces of a stream that is a run of one byte. Returns the number of bytes that follow the
/// stream's length field.
fn fill_from_run(
    length: i32,
    at: usize,
    pieces: impl Iterator<Item = (usize, usize, usize)>,
    dst: &mut [u8],
    stored: &dyn StoredBytes,
) -> Result<usize> {
    let (mut token, n) = ([1], usize::from(length < 0));
    if n > 0 {
        stored.read_at(at, &mut token)?;
    }
    let byte = u8::try_from(length.unsigned_abs())
        .ok()
        .filter(|_| token[0] & 1 == 1);
    let byte = byte.ok_or_else(|| {
        fail!(
            Format,
            "invalid length {length} (negative lengths are only valid for runs)"
        )
    })?;
    for (_, to, n) in pieces {
        dst.at_mut(to..to + n)?.fill(byte);
    }
    Ok(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::Bytes;
    use crate::blosc::{Codec, Filter, Header, Params, Pipeline, Split, Target, encode, sections};
    use std::cell::Cell;

    /// Returns items that differ slightly, strongly, or not at all, so that all kinds of streams
    /// occur.
    fn content(n: usize, kind: usize) -> Vec<u8> {
        let mut x = 0x9e37_79b9_7f4a_7c15u64;
        let mut walk = 100.0f64;
        let bytes = (0..n / 8 + 1).flat_map(|i| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            walk += (x >> 40) as f64 / (1 << 24) as f64 - 0.5;
            let item = [
                walk.to_bits(),
                i as u64 / 3,
                x,
                0,
                x & 0x00ff_0000_0000_0003,
                i as u64 % 100,
            ];
            item[kind % item.len()].to_le_bytes()
        });
        bytes.take(n).collect()
    }

    fn shuffle() -> Pipeline {
        Pipeline::new(&[Filter::Shuffle { group: 0 }]).unwrap()
    }

    /// A block with a counter of the bytes that are read.
    struct Counting<'a>(&'a [u8], &'a Cell<usize>);

    impl StoredBytes for Counting<'_> {
        fn read_at(&self, at: usize, dst: &mut [u8]) -> Result<()> {
            self.1.set(self.1.get() + dst.len());
            self.0.read_at(at, dst)
        }
        fn bytes(&self, range: Range<usize>) -> Result<Bytes<'_>> {
            self.1.set(self.1.get() + range.len());
            self.0.bytes(range)
        }
    }

    /// Compares partial decoding with the content. Returns the number of bytes that were read.
    fn check(p: &Params, content: &[u8], at: &[(usize, usize)]) -> usize {
        let mut chunk = Vec::new();
        encode(p, content, &mut chunk, 1).unwrap();
        let h = Header::parse(&chunk).unwrap();
        let Ok(crate::blosc::Content::Blocks) = h.content() else {
            return 0;
        };
        let (starts, dictionary) = sections(&h, &chunk).unwrap();
        let one = BlockDecoder::new(&h, dictionary).unwrap();
        let (seen, mut done) = (Cell::new(0), 0);
        for (i, start) in starts.as_chunks::<4>().0.iter().enumerate() {
            let block = &chunk[u32::from_le_bytes(*start) as usize..];
            let stored = Counting(block, &seen);
            let expected = &content[i * h.blocksize..][..h.block_len(i)];
            for (from, n) in at.iter().filter(|(from, n)| from + n <= expected.len()) {
                let mut part = vec![0xa5; *n];
                if one.decode_part(i, *from, &mut part, &stored).unwrap() {
                    done += 1;
                    assert!(
                        part == expected[*from..][..*n],
                        "{p:?}: block {i}, {n} bytes from {from}"
                    );
                }
                let context = &mut DecodeContext::take();
                let some = one.decode_range(context, i, block, None, *from..from + n);
                assert!(some.unwrap().copy_from(*from, &mut part));
                assert!(
                    part == expected[*from..][..*n],
                    "{p:?}: block {i}, {n} bytes from {from}"
                );
                let all = one.decode_range(context, i, block, None, 0..expected.len());
                assert!(all.unwrap().bytes(&mut Vec::new()).unwrap() == expected);
            }
        }
        assert!(done > 0, "{p:?}");
        seen.get()
    }

    #[test]
    fn every_part_equals_the_same_range_of_the_whole() {
        let at = [
            (0, 1),
            (0, 80),
            (3, 5),
            (8, 16),
            (4096, 4000),
            (4095, 4099),
            (12_000, 80),
            (16_000, 384),
            (0, 16_384),
            (7, 16_370),
            (16_376, 8),
            (65_000, 500),
        ];
        let all = Codec::ALL
            .iter()
            .flat_map(|c| [(*c, Target::Blosc1), (*c, Target::Blosc2)])
            .filter(|a| *a != (Codec::Snappy, Target::Blosc2));
        for (codec, target) in all {
            for (k, typesize) in [1, 2, 3, 8, 16, 24].into_iter().enumerate() {
                for blocksize in [16_384, 65_520] {
                    for split in [Split::Always, Split::Never] {
                        for kind in 0..6 {
                            let filters = if k % 2 == kind % 2 || typesize == 8 {
                                shuffle()
                            } else {
                                Pipeline::default()
                            };
                            let p = Params {
                                filters,
                                split,
                                blocksize: Some(blocksize),
                                ..Params::new(target, codec, 5, typesize)
                            };
                            check(&p, &content(140_001, kind), &at);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn few_bytes_are_read_for_a_small_part() {
        let p = Params {
            blocksize: Some(1 << 19),
            filters: shuffle(),
            split: Split::Always,
            ..Params::new(Target::Blosc1, Codec::Lz4, 5, 8)
        };
        let all = content(1 << 19, 0);
        assert!(check(&p, &all, &[(800, 80)]) < 4000);
        assert!(check(&p, &all, &[(0, 1 << 19)]) > 100_000);
    }

    #[test]
    fn corrupt_streams_are_errors() {
        let p = Params {
            blocksize: Some(1 << 14),
            filters: shuffle(),
            split: Split::Always,
            ..Params::new(Target::Blosc1, Codec::Lz4, 5, 8)
        };
        let (mut chunk, all) = (Vec::new(), content(1 << 14, 0));
        encode(&p, &all, &mut chunk, 1).unwrap();
        let h = Header::parse(&chunk).unwrap();
        let one = BlockDecoder::new(&h, None).unwrap();
        let part = |block: &[u8]| one.decode_part(0, 8, &mut [0; 800], &block);
        let block = &chunk[h.len() + 4..];
        assert_eq!(part(block), Ok(true));
        assert!(
            (0..block.len().min(4000))
                .step_by(100)
                .all(|n| part(&block[..n]).is_err())
        );
        for length in [0, -1, i32::MIN, i32::MAX, 1 << 20] {
            assert!(
                part(&[&i32::to_le_bytes(length), &block[4..]].concat()).is_err(),
                "{length}"
            );
        }
        let one_byte = [&i32::to_le_bytes(1)[..], &[0xf0], &block[5..]].concat();
        assert!(part(&one_byte).is_err());
        assert!(one.decode_part(0, 1 << 14, &mut [0], &block).is_err());
        // a valid run in a chunk of c-blosc2, and invalid ones
        let p = Params {
            target: Target::Blosc2,
            ..p
        };
        chunk.clear();
        encode(&p, &all, &mut chunk, 1).unwrap();
        let h = Header::parse(&chunk).unwrap();
        let one = BlockDecoder::new(&h, None).unwrap();
        let run = |length: i32, token: u8| {
            let streams = [&length.to_le_bytes()[..], &[token]].concat().repeat(8);
            let mut part = [0; 80];
            one.decode_part(0, 8, &mut part, &&streams[..])
                .map(|done| (done, part))
        };
        assert_eq!(run(-7, 1), Ok((true, [7; 80])));
        assert!(
            [(-7, 0), (-256, 1), (i32::MIN, 1)]
                .into_iter()
                .all(|(n, token)| run(n, token).is_err())
        );
    }
}
