//! Bytedelta: the differences from byte to byte, within each stream of bytes that shuffle made.
//!
//! Bytes after the last whole item belong to no stream and are copied. c-blosc2 does the same since
//! August 2026; earlier versions lost these bytes in both directions.
#![forbid(unsafe_code)]

use super::Block;
use super::lanes::{self, Kernel, Lanes};

/// Computes the differences within each of `typesize` streams.
pub fn bytedelta_encode(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let mut block = Block::new(typesize, src, dst);
    block.copy_tail(block.items);
    if block.items == 0 {
        return;
    }
    let streams = block
        .dst
        .chunks_exact_mut(block.items)
        .zip(block.src.chunks_exact(block.items));
    for (to, from) in streams.take(typesize) {
        if let ([to, tail @ ..], [first, next @ ..]) = (to, from) {
            *to = *first;
            for ((to, x), before) in tail.iter_mut().zip(next).zip(from) {
                *to = x.wrapping_sub(*before);
            }
        }
    }
}

/// The inverse of [`bytedelta_encode`].
pub fn bytedelta_decode(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let mut block = Block::new(typesize, src, dst);
    block.copy_tail(block.items);
    if block.items == 0 {
        return;
    }
    let mut kernel = PrefixSum {
        block: &mut block,
        streams: 0,
    };
    lanes::vectorised(&mut kernel);
    let done = if kernel.streams == typesize {
        block.items / 16 * 16
    } else {
        0
    };
    let streams = block
        .dst
        .chunks_exact_mut(block.items)
        .zip(block.src.chunks_exact(block.items));
    for (to, from) in streams.take(typesize) {
        let (before, rest) = to.split_at_mut(done);
        let mut sum = before.last().copied().unwrap_or(0);
        for (to, x) in rest.iter_mut().zip(from.iter().skip(done)) {
            sum = x.wrapping_add(sum);
            *to = sum;
        }
    }
}

/// The prefix sum of as many streams at a time as there are lanes.
struct PrefixSum<'b, 'a> {
    block: &'b mut Block<'a>,
    /// Number of processed streams, without their last bytes that do not fill a lane.
    streams: usize,
}

impl Kernel for PrefixSum<'_, '_> {
    #[inline(always)]
    fn run<L: Lanes>(&mut self, l: L) {
        let items = self.block.items;
        while self.block.typesize - self.streams >= L::LANES {
            let (mut at, end) = (self.streams * items, self.streams * items + items / 16 * 16);
            let mut sum = l.splat(0);
            while end - at >= 64 {
                sum = self.step::<L, 4>(l, at, sum);
                at += 64;
            }
            while at < end {
                sum = self.step::<L, 1>(l, at, sum);
                at += 16;
            }
            self.streams += L::LANES;
        }
    }
}

impl PrefixSum<'_, '_> {
    /// Processes `N` times 16 bytes of each stream, with the preceding sum `sum`.
    #[inline(always)]
    fn step<L: Lanes, const N: usize>(&mut self, l: L, at: usize, mut sum: L::V) -> L::V {
        let items = self.block.items;
        let mut v = l.load::<N>(self.block.src, at, 16, items);
        for v in &mut v {
            let own = l.prefix_sum(*v);
            *v = l.add(own, sum);
            // not computed from the last byte of `v`, so that a step does not depend on the whole
            // preceding step
            sum = l.add(sum, l.last(own));
        }
        l.store(v, self.block.dst, at, 16, items);
        sum
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::runs;
    use super::*;

    /// A byte-by-byte implementation of the format.
    pub fn naive(typesize: usize, src: &[u8]) -> Vec<u8> {
        let stream = src.len() / typesize;
        let of = |i: usize| {
            if i >= stream * typesize || i.is_multiple_of(stream) {
                0
            } else {
                src[i - 1]
            }
        };
        (0..src.len()).map(|i| src[i].wrapping_sub(of(i))).collect()
    }

    /// CRC-32 of the output of filter 35 of c-blosc2 3.3.5 for runs, in blocks of this many bytes.
    #[test]
    fn output_equals_the_reference() {
        let known = [
            (1, 5000, 2500, 0xccc0251a),
            (2, 5000, 2500, 0x41512bf0),
            (3, 5001, 2499, 0xb49493a1),
            (4, 5000, 2500, 0x84df00ee),
            (8, 8000, 4000, 0x53aeb1d1),
            (7, 4004, 2002, 0x02a023a9),
            (16, 8000, 4000, 0x2687482d),
            (24, 9600, 4800, 0xc073274c),
            (2, 5001, 2500, 0x53fda86b),
            (4, 5002, 2500, 0x4ccf4d35),
            (8, 8005, 4000, 0xdc03eb29),
            (31, 8005, 3999, 0xd83fc903),
        ];
        for (typesize, len, block, crc) in known {
            let (src, mut dst) = (runs(len), vec![0; len]);
            for (src, dst) in src.chunks(block).zip(dst.chunks_mut(block)) {
                bytedelta_encode(typesize, src, dst);
            }
            assert_eq!(
                crate::checksum::crc32(&dst),
                crc,
                "typesize {typesize}, {len} bytes"
            );
        }
    }
}
