//! A part of one block, for a few items out of many: no stream is decoded beyond what they need,
//! and of one that is stored as it is nothing else is looked at.
//!
//! That goes where shuffle, or nothing, is between the streams and the content: the items are then
//! some bytes behind each other in as many places as an item has bytes.
#![forbid(unsafe_code)]

use super::BlockDecoder;
use super::codec::needed;
use super::decode::{Scratch, Undo, longest_stream, with_scratch};
use super::{filter, room, trim};
use crate::error::{Result, fail};
use std::ops::Range;

/// Calls a function with a range of the bytes from the beginning of a block on.
pub type Stored<'a> = &'a dyn Fn(Range<usize>, &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;

/// Where a part is in a block whose filters are not undone yet: as many runs as an item has bytes.
struct Runs {
    /// Where the first one begins.
    first: usize,
    len: usize,
    /// From the beginning of one to that of the next.
    apart: usize,
    count: usize,
}

impl Runs {
    /// What of them is in this range: where it begins there, where it begins in all of them one
    /// behind the other, and how long it is.
    fn within(&self, range: Range<usize>) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..self.count).filter_map(move |k| {
            let begin = self.first + k * self.apart;
            let (from, to) = (begin.max(range.start), (begin + self.len).min(range.end));
            (from < to).then(|| (from - range.start, k * self.len + (from - begin), to - from))
        })
    }
}

impl BlockDecoder {
    /// Decodes the content of a block from byte `from` on, as much as `dst` has. False: this block
    /// can be decoded as a whole only, and nothing was done.
    pub fn decode_part(
        &self,
        index: usize,
        from: usize,
        dst: &mut [u8],
        stored: Stored,
    ) -> Result<bool> {
        if from
            .checked_add(dst.len())
            .is_none_or(|end| end > self.header.block_len(index))
        {
            return Err(fail!(
                Argument,
                "block {index} has {} bytes: there are no {} from {from} on",
                self.header.block_len(index),
                dst.len()
            ));
        }
        with_scratch(|scratch| self.part(scratch, index, from, dst, stored))
    }

    pub(super) fn part(
        &self,
        scratch: &mut Scratch,
        index: usize,
        from: usize,
        dst: &mut [u8],
        stored: Stored,
    ) -> Result<bool> {
        let Some(runs) = self.runs(index, from, dst.len()) else {
            return Ok(false);
        };
        let group = runs.count;
        if group == 1 {
            self.gather(scratch, index, &runs, dst, stored)?;
            return Ok(true);
        }
        let [mut gathered, mut items] = std::mem::take(&mut scratch.filtered);
        let n = runs.len * group;
        let result = room(&mut gathered, n).and_then(|bytes| {
            self.gather(scratch, index, &runs, bytes, stored)?;
            if dst.len() == n {
                filter::unshuffle(group, bytes, dst);
                return Ok(());
            }
            let items = room(&mut items, n)?;
            filter::unshuffle(group, bytes, items);
            dst.copy_from_slice(
                items
                    .get(from % group..)
                    .and_then(|i| i.get(..dst.len()))
                    .unwrap_or_default(),
            );
            Ok(())
        });
        trim(&mut gathered);
        trim(&mut items);
        scratch.filtered = [gathered, items];
        result.map(|()| true)
    }

    /// Where bytes of the content are.
    fn runs(&self, index: usize, from: usize, n: usize) -> Option<Runs> {
        if self.dictionary.is_some() || n == 0 {
            return None;
        }
        let len = self.header.block_len(index);
        let mut steps = self.undo.iter().flatten();
        match (steps.next(), steps.next()) {
            (None, _) => Some(Runs {
                first: from,
                len: n,
                apart: len,
                count: 1,
            }),
            (Some(Undo::Shuffle(group)), None) => {
                let (items, first, end) = (len / group, from / group, (from + n).div_ceil(*group));
                // what is behind the last whole item is not shuffled
                (end <= items).then_some(Runs {
                    first,
                    len: end - first,
                    apart: items,
                    count: *group,
                })
            }
            _ => None,
        }
    }

    /// Puts the runs behind each other into `dst`.
    fn gather(
        &self,
        scratch: &mut Scratch,
        index: usize,
        runs: &Runs,
        dst: &mut [u8],
        stored: Stored,
    ) -> Result<()> {
        let (len, n) = (self.header.block_len(index), self.header.streams(index));
        if !len.is_multiple_of(n) {
            return Err(fail!(
                Format,
                "block {index} has {len} bytes, which {n} streams cannot share"
            ));
        }
        let (each, mut at) = (len / n, 0);
        for i in 0..n {
            let mut head = [0; 4];
            stored(at..at + 4, &mut |bytes| {
                head.copy_from_slice(bytes);
                Ok(())
            })?;
            let own = runs.within(i * each..(i + 1) * each);
            let length = i32::from_le_bytes(head);
            if self.header.extended() && length <= 0 {
                at += 4 + some_of_run(length, at + 4, own, dst, stored)
                    .map_err(|e| e.within(format_args!("block {index}, stream {i}")))?;
                continue;
            }
            let length = usize::try_from(length)
                .ok()
                .filter(|n| (1..=longest_stream(each)).contains(n));
            let length = length.ok_or_else(|| {
                fail!(
                    Format,
                    "block {index}, stream {i}: it claims {} bytes",
                    i32::from_le_bytes(head)
                )
            })?;
            self.some_of_stream(
                scratch,
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

    /// Copies parts of a stream of `each` bytes of content to their places.
    fn some_of_stream(
        &self,
        scratch: &mut Scratch,
        place: Range<usize>,
        parts: Vec<(usize, usize, usize)>,
        each: usize,
        dst: &mut [u8],
        stored: Stored,
    ) -> Result<()> {
        let (Some((begin, ..)), Some((last, _, n))) = (parts.first(), parts.last()) else {
            return Ok(());
        };
        let (begin, end, length) = (*begin, last + n, place.len());
        let mut copy = |content: &[u8], skip: usize| {
            for (from, to, n) in &parts {
                let piece = content.get(from - skip..).and_then(|c| c.get(..*n));
                let place = dst.get_mut(*to..).and_then(|d| d.get_mut(..*n));
                place
                    .zip(piece)
                    .ok_or_else(|| fail!(State, "a part outside of its block"))?
                    .0
                    .copy_from_slice(piece.unwrap_or_default());
            }
            Ok(())
        };
        if length == each {
            return stored(place.start + begin..place.start + end, &mut |bytes| {
                copy(bytes, begin)
            });
        }
        let Scratch { codecs, whole, .. } = scratch;
        let content = room(whole, each)?;
        stored(
            place.start..place.start + needed(self.codec, length, end, each),
            &mut |bytes| {
                if codecs.decode_some(self.codec, bytes, content, end)? {
                    return Ok(());
                }
                Err(fail!(
                    Format,
                    "its {length} bytes of {} do not hold {each} bytes",
                    self.codec.name()
                ))
            },
        )?;
        let done = copy(content, 0);
        trim(whole);
        done
    }
}

/// Puts parts of a stream that is a run of one byte to their places; gives how many bytes it has
/// behind its length.
fn some_of_run(
    length: i32,
    at: usize,
    parts: impl Iterator<Item = (usize, usize, usize)>,
    dst: &mut [u8],
    stored: Stored,
) -> Result<usize> {
    let (mut token, n) = ([1], usize::from(length < 0));
    if n > 0 {
        stored(at..at + 1, &mut |bytes| {
            token.copy_from_slice(bytes);
            Ok(())
        })?;
    }
    let byte = u8::try_from(length.unsigned_abs())
        .ok()
        .filter(|_| token[0] & 1 == 1);
    let byte = byte.ok_or_else(|| fail!(Format, "it claims {length} bytes and is no run"))?;
    for (_, to, n) in parts {
        dst.get_mut(to..)
            .and_then(|d| d.get_mut(..n))
            .ok_or_else(|| fail!(State, "a part outside of its block"))?
            .fill(byte);
    }
    Ok(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blosc::{
        Codec, Decoded, Filter, Header, Params, Pipeline, Split, Target, encode, sections,
    };
    use std::cell::Cell;

    /// Items that differ little, much, or not at all, so that there are streams of all kinds.
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

    /// What was looked at of each block, in bytes.
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
            let stored = |r: Range<usize>, f: &mut dyn FnMut(&[u8]) -> Result<()>| {
                seen.set(seen.get() + r.len());
                f(block.get(r).ok_or_else(|| fail!(Format, "outside"))?)
            };
            let want = &content[i * h.blocksize..][..h.block_len(i)];
            for (from, n) in at.iter().filter(|(from, n)| from + n <= want.len()) {
                let mut part = vec![0xa5; *n];
                if one.decode_part(i, *from, &mut part, &stored).unwrap() {
                    done += 1;
                    assert!(
                        part == want[*from..][..*n],
                        "{p:?}: block {i}, {n} from {from} on"
                    );
                }
                let copied = |content: &Decoded| Ok(content.copy_from(*from, &mut part));
                assert!(
                    one.decode_wanted(i, block, None, *from..from + n, copied)
                        .unwrap()
                );
                assert!(
                    part == want[*from..][..*n],
                    "{p:?}: block {i}, {n} from {from} on"
                );
                let same = |content: &Decoded| Ok(content.bytes(&mut Vec::new())? == want);
                assert!(
                    one.decode_wanted(i, block, None, 0..want.len(), same)
                        .unwrap()
                );
            }
        }
        assert!(done > 0, "{p:?}");
        seen.get()
    }

    #[test]
    fn a_part_is_what_the_whole_has_there() {
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
    fn little_is_read_for_little() {
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
    fn damage_is_an_error() {
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
        let part = |block: &[u8]| {
            let stored = |r: Range<usize>, f: &mut dyn FnMut(&[u8]) -> Result<()>| {
                f(block.get(r).ok_or_else(|| fail!(Format, "outside"))?)
            };
            one.decode_part(0, 8, &mut [0; 800], &stored)
        };
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
        assert!(
            one.decode_part(0, 1 << 14, &mut [0], &|_, _| Ok(()))
                .is_err()
        );
        // a run in a chunk of c-blosc2, and what is none
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
            let stored = |r: Range<usize>, f: &mut dyn FnMut(&[u8]) -> Result<()>| {
                f(streams.get(r).ok_or_else(|| fail!(Format, "outside"))?)
            };
            let mut part = [0; 80];
            one.decode_part(0, 8, &mut part, &stored)
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
