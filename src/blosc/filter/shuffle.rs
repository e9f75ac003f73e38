//! Shuffle: stores the first bytes of all items, then their second bytes, and so on.
//!
//! The vector kernels are based on one step, the riffle (as of a pack of cards): the vectors of the
//! first half are interleaved byte by byte with those of the second half. It moves byte `p` of `n`
//! to `2p mod (n - 1)`. Four riffles thus transpose 16 items of an even size, five riffles
//! transpose 32 items of any size, and `log2(size)` riffles invert the transposition of 16 items.
//! Larger items are processed in tiles of 8 columns. Block sizes, and thus stream distances, are
//! powers of two, so more streams at once would evict one another from the cache.
#![forbid(unsafe_code)]

use super::Block;
use super::lanes::{self, Kernel, Lanes};
use std::hint::black_box;

/// Shuffles items of `typesize` bytes. Bytes after the last whole item are copied.
pub fn shuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let mut block = Block::new(typesize, src, dst);
    if typesize <= 1 || block.items <= 1 {
        return block.copy_tail(0);
    }
    block.copy_tail(block.items);
    lanes::vectorised(&mut Shuffle(&mut block));
    shuffle_rest(block);
}

/// The inverse of [`shuffle`].
pub fn unshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let mut block = Block::new(typesize, src, dst);
    if typesize <= 1 || block.items <= 1 {
        return block.copy_tail(0);
    }
    block.copy_tail(block.items);
    lanes::vectorised(&mut Unshuffle(&mut block));
    unshuffle_rest(block);
}

/// Shuffles the unprocessed items.
fn shuffle_rest(b: Block) {
    let rest = b.src.chunks_exact(b.typesize).take(b.items).skip(b.done);
    for (j, stream) in b.dst.chunks_exact_mut(b.items).take(b.typesize).enumerate() {
        for (to, item) in stream.iter_mut().skip(b.done).zip(rest.clone()) {
            if let Some(&byte) = item.get(j) {
                *to = byte;
            }
        }
    }
}

/// Unshuffles the unprocessed items.
fn unshuffle_rest(b: Block) {
    let streams = b.src.chunks_exact(b.items).take(b.typesize);
    for (i, item) in b
        .dst
        .chunks_exact_mut(b.typesize)
        .take(b.items)
        .enumerate()
        .skip(b.done)
    {
        for (to, stream) in item.iter_mut().zip(streams.clone()) {
            if let Some(&byte) = stream.get(i) {
                *to = byte;
            }
        }
    }
}

/// Prefetch distance in bytes.
pub(super) const PREFETCH_DISTANCE: usize = 8 << 10;

/// Returns the number of items that are processed tile by tile together: few enough to stay in the
/// cache, and enough for long pieces of each stream.
#[inline(always)]
fn strip(typesize: usize) -> usize {
    ((16 << 10) / typesize).max(128) / 32 * 32
}

/// Returns the starts of tiles of 8 columns in items of `typesize` bytes, 8 or more. The last tile
/// may overlap the one before.
#[inline(always)]
pub(super) fn tiles(typesize: usize) -> impl Iterator<Item = usize> {
    (0..typesize)
        .step_by(8)
        .map(move |column| column.min(typesize - 8))
}

/// Applies `rounds` riffles.
#[inline(always)]
pub(super) fn riffle<L: Lanes, const N: usize>(l: L, mut v: [L::V; N], rounds: usize) -> [L::V; N] {
    for _ in 0..rounds {
        let pack = v;
        let (first, second) = pack.split_at(N / 2);
        for ((out, a), b) in v.chunks_exact_mut(2).zip(first).zip(second) {
            if let [even, odd] = out {
                (*even, *odd) = l.zip(*a, *b);
            }
        }
    }
    v
}

/// Loads and transposes 8 columns at `at` of 16 rows per lane, which are `stride` apart.
#[inline(always)]
pub(super) fn columns<L: Lanes>(l: L, src: &[u8], at: usize, stride: usize) -> [L::V; 8] {
    let rows = l.load_halves::<16>(src, black_box(at), stride, 16 * stride);
    let (upper, lower) = rows.split_at(8);
    let mut v = [l.splat(0); 8];
    for ((v, a), b) in v.iter_mut().zip(upper).zip(lower) {
        *v = l.zip(*a, *b).0;
    }
    riffle(l, v, 3)
}

/// The inverse of [`columns`]. Both hide the offset from the compiler, which would otherwise hold a
/// pointer for each row across tiles, more pointers than registers.
#[inline(always)]
pub(super) fn rows<L: Lanes>(l: L, columns: [L::V; 8], dst: &mut [u8], at: usize, stride: usize) {
    l.store_halves(
        riffle(l, columns, 3),
        dst,
        black_box(at),
        stride,
        16 * stride,
    );
}

/// Returns the number of rows after a group from which [`columns`] may read.
#[inline(always)]
pub(super) fn beyond<L: Lanes>() -> usize {
    L::HALF / 16
}

struct Shuffle<'b, 'a>(&'b mut Block<'a>);

impl Kernel for Shuffle<'_, '_> {
    #[inline(always)]
    fn run<L: Lanes>(&mut self, l: L) {
        let b = &mut *self.0;
        match b.typesize {
            2 => shuffle_even::<L, 2>(l, b),
            3 => shuffle_odd::<L, 6>(l, b),
            4 => shuffle_even::<L, 4>(l, b),
            5 => shuffle_odd::<L, 10>(l, b),
            6 => shuffle_even::<L, 6>(l, b),
            7 => shuffle_odd::<L, 14>(l, b),
            8 => shuffle_even::<L, 8>(l, b),
            16 => shuffle_tiled(l, 16, b),
            t => shuffle_tiled(l, t, b),
        }
    }
}

/// Shuffles items of `T` bytes, an even number: 16 items per lane.
#[inline(always)]
fn shuffle_even<L: Lanes, const T: usize>(l: L, b: &mut Block) {
    let group = 16 * L::LANES;
    while b.items - b.done >= group {
        l.prefetch_range(b.src, b.done * T + PREFETCH_DISTANCE, group * T);
        let v = l.load::<T>(b.src, b.done * T, 16, 16 * T);
        l.store(riffle(l, v, 4), b.dst, b.done, b.items, 16);
        b.done += group;
    }
}

/// Shuffles items of `T2 / 2` bytes: 32 items per lane.
#[inline(always)]
fn shuffle_odd<L: Lanes, const T2: usize>(l: L, b: &mut Block) {
    let group = 32 * L::LANES;
    while b.items - b.done >= group {
        l.prefetch_range(b.src, b.done * T2 / 2 + PREFETCH_DISTANCE, group * T2 / 2);
        let v = l.load::<T2>(b.src, b.done * T2 / 2, 16, 16 * T2);
        for (j, pair) in riffle(l, v, 5).chunks_exact(2).enumerate() {
            if let &[first, second] = pair {
                l.store([first, second], b.dst, j * b.items + b.done, 16, 32);
            }
        }
        b.done += group;
    }
}

/// Shuffles items of 9 bytes and more.
#[inline(always)]
fn shuffle_tiled<L: Lanes>(l: L, t: usize, b: &mut Block) {
    let (items, group) = (b.items, 16 * L::LANES);
    while items - b.done >= group + beyond::<L>() {
        let end = b.done + ((items - b.done - beyond::<L>()) / group * group).min(strip(t));
        let mut next = end * t;
        for column in tiles(t) {
            for first in (b.done..end).step_by(group) {
                l.prefetch_range(b.src, next, 8 * group);
                next += 8 * group;
                let v = columns(l, b.src, first * t + column, t);
                l.store(v, b.dst, column * items + first, items, 16);
            }
        }
        b.done = end;
    }
}

struct Unshuffle<'b, 'a>(&'b mut Block<'a>);

impl Kernel for Unshuffle<'_, '_> {
    #[inline(always)]
    fn run<L: Lanes>(&mut self, l: L) {
        let b = &mut *self.0;
        match b.typesize {
            2 => unshuffle_power::<L, 2>(l, 1, b),
            3 => unshuffle_3(l, b),
            4 => unshuffle_power::<L, 4>(l, 2, b),
            5 => unshuffle_padded::<L, 5>(l, b),
            6 => unshuffle_padded::<L, 6>(l, b),
            7 => unshuffle_padded::<L, 7>(l, b),
            8 => unshuffle_power::<L, 8>(l, 3, b),
            16 => unshuffle_tiled(l, 16, b),
            t => unshuffle_tiled(l, t, b),
        }
    }
}

/// Unshuffles items of `T` = 2^`rounds` bytes.
#[inline(always)]
fn unshuffle_power<L: Lanes, const T: usize>(l: L, rounds: usize, b: &mut Block) {
    let group = 16 * L::LANES;
    while b.items - b.done >= group {
        l.prefetch_range(b.dst, b.done * T + PREFETCH_DISTANCE, group * T);
        let v = l.load::<T>(b.src, b.done, b.items, 16);
        l.store(riffle(l, v, rounds), b.dst, b.done * T, 16, 16 * T);
        b.done += group;
    }
}

/// Unshuffles items of 5 to 7 bytes, as items of 8 bytes that are stored one over the end of the
/// other.
#[inline(always)]
fn unshuffle_padded<L: Lanes, const T: usize>(l: L, b: &mut Block) {
    let group = 16 * L::LANES;
    // the store of the last item ends after the item
    while b.items - b.done > group {
        l.prefetch_range(b.dst, b.done * T + PREFETCH_DISTANCE, group * T);
        let mut v = [l.splat(0); 8];
        for (v, stream) in v.iter_mut().zip(l.load::<T>(b.src, b.done, b.items, 16)) {
            *v = stream;
        }
        rows(l, v, b.dst, b.done * T, T);
        b.done += group;
    }
}

/// Unshuffles items of 3 bytes, as items of 4 bytes. Pairs are compacted to 6 bytes, and 8 bytes
/// are stored over the end of the preceding 6.
#[inline(always)]
fn unshuffle_3<L: Lanes>(l: L, b: &mut Block) {
    let group = 16 * L::LANES;
    let (low, zero) = (l.shr::<40>(l.splat(0xff)), l.splat(0));
    while b.items - b.done > group {
        l.prefetch_range(b.dst, b.done * 3 + PREFETCH_DISTANCE, group * 3);
        let [x, y, z] = l.load::<3>(b.src, b.done, b.items, 16);
        let mut v = riffle(l, [x, y, z, zero], 2);
        for v in &mut v {
            let first = l.and(*v, low);
            *v = l.or(first, l.shr::<8>(l.xor(*v, first)));
        }
        l.store_halves(v, b.dst, b.done * 3, 6, 48);
        b.done += group;
    }
}

/// Unshuffles items of 9 bytes and more.
#[inline(always)]
fn unshuffle_tiled<L: Lanes>(l: L, t: usize, b: &mut Block) {
    let (items, group) = (b.items, 16 * L::LANES);
    while items - b.done >= group {
        let end = b.done + ((items - b.done) / group * group).min(strip(t));
        let mut next = end * t;
        for column in tiles(t) {
            for first in (b.done..end).step_by(group) {
                l.prefetch_range(b.dst, next, 8 * group);
                next += 8 * group;
                let v = l.load::<8>(b.src, column * items + first, items, 16);
                rows(l, v, b.dst, first * t + column, t);
            }
        }
        b.done = end;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::noise;
    use super::*;

    /// A byte-by-byte implementation of the format.
    pub fn naive(typesize: usize, src: &[u8]) -> Vec<u8> {
        let mut dst = src.to_vec();
        let items = src.len() / typesize;
        for i in 0..items {
            for j in 0..typesize {
                dst[j * items + i] = src[i * typesize + j];
            }
        }
        dst
    }

    /// CRC-32 of the output of `blosc2_shuffle` of c-blosc2 3.3.5 for noise.
    #[test]
    fn output_equals_the_reference() {
        let known = [
            (1, 100, 0xae4320e2),
            (2, 1000, 0x113cbad7),
            (3, 1001, 0x73e3cbed),
            (4, 4096, 0x4ec4dc81),
            (5, 2003, 0xb58dab18),
            (6, 999, 0xb5643685),
            (7, 5000, 0x29ca2887),
            (8, 8200, 0x75c1cb1c),
            (9, 5000, 0xc8135372),
            (12, 6000, 0x76a19f9b),
            (15, 4001, 0x9939357a),
            (16, 8192, 0x867c9494),
            (17, 4444, 0xcb3f7257),
            (24, 10000, 0x8aa2cccf),
            (32, 9999, 0x7645be00),
            (100, 30000, 0xf68d7cf8),
            (255, 70001, 0x1c14e2db),
        ];
        for (typesize, len, crc) in known {
            let mut dst = vec![0; len];
            shuffle(typesize, &noise(len), &mut dst);
            assert_eq!(
                crate::checksum::crc32(&dst),
                crc,
                "typesize {typesize}, {len} bytes"
            );
        }
    }
}
