//! Bitshuffle: stores the lowest bits of the first bytes of all items, then their second bits, and
//! so on.
//!
//! Eight items form a row of `8 * typesize` bytes. The rows are transposed like in shuffle, in
//! tiles of 8 columns. The bits of byte `j` of an item are then in 8 columns, `typesize` apart.
//! Transposing 8 by 8 bits between these 8 vectors yields 8 streams of bits.
#![forbid(unsafe_code)]

use super::Block;
use super::lanes::{self, Kernel, Lanes};
use super::shuffle::{self, beyond, tiles};

/// Returns whether C-Blosc 1 bitshuffles a block of `len` bytes. It leaves a block unchanged if the
/// number of items is not a multiple of 8.
pub fn applies_v1(typesize: usize, len: usize) -> bool {
    len.checked_div(typesize)
        .is_some_and(|items| items % 8 == 0)
}

/// Shuffles the bits of items of `typesize` bytes. Items after the last multiple of 8, and further
/// bytes, are copied.
pub fn bitshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let mut block = Block::new(typesize, src, dst);
    block.items -= block.items % 8;
    block.copy_tail(block.items);
    if block.items > 0 {
        lanes::vectorised(&mut Bitshuffle(&mut block));
        bitshuffle_rest(block);
    }
}

/// The inverse of [`bitshuffle`].
pub fn bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let mut block = Block::new(typesize, src, dst);
    block.items -= block.items % 8;
    block.copy_tail(block.items);
    if block.items > 0 {
        lanes::vectorised(&mut Bitunshuffle(&mut block));
        bitunshuffle_rest(block);
    }
}

/// Transposes the 8 by 8 bits of `x`. A row is a byte; the order begins with the first byte and the
/// lowest bit.
fn transposed(mut x: u64) -> u64 {
    for (shift, mask) in [
        (7, 0x00aa_00aa_00aa_00aa),
        (14, 0x0000_cccc_0000_cccc),
        (28, 0xf0f0_f0f0),
    ] {
        let swap = (x ^ (x >> shift)) & mask;
        x ^= swap ^ (swap << shift);
    }
    x
}

/// Shuffles the bits of the unprocessed items, 8 at a time.
fn bitshuffle_rest(b: Block) {
    let (row, stream) = (8 * b.typesize, b.items / 8);
    for (i, items) in b
        .src
        .chunks_exact(row)
        .take(stream)
        .enumerate()
        .skip(b.done / 8)
    {
        for (j, bits) in b
            .dst
            .chunks_exact_mut(8 * stream)
            .take(b.typesize)
            .enumerate()
        {
            let mut bytes = [0; 8];
            for (to, item) in bytes.iter_mut().zip(items.chunks_exact(b.typesize)) {
                *to = item.get(j).copied().unwrap_or(0);
            }
            let bytes = transposed(u64::from_le_bytes(bytes)).to_le_bytes();
            for (stream, byte) in bits.chunks_exact_mut(stream).zip(bytes) {
                if let Some(to) = stream.get_mut(i) {
                    *to = byte;
                }
            }
        }
    }
}

/// The inverse of [`bitshuffle_rest`].
fn bitunshuffle_rest(b: Block) {
    let (row, stream) = (8 * b.typesize, b.items / 8);
    for (i, items) in b
        .dst
        .chunks_exact_mut(row)
        .take(stream)
        .enumerate()
        .skip(b.done / 8)
    {
        for (j, bits) in b.src.chunks_exact(8 * stream).take(b.typesize).enumerate() {
            let mut bytes = [0; 8];
            for (to, stream) in bytes.iter_mut().zip(bits.chunks_exact(stream)) {
                *to = stream.get(i).copied().unwrap_or(0);
            }
            let bytes = transposed(u64::from_le_bytes(bytes)).to_le_bytes();
            for (item, byte) in items.chunks_exact_mut(b.typesize).zip(bytes) {
                if let Some(to) = item.get_mut(j) {
                    *to = byte;
                }
            }
        }
    }
}

/// Maximum number of groups of 128 items per lane that are processed together. The streams are a
/// power of two apart and evict one another from the cache, so each is written in pieces as long as
/// the cache allows.
const GROUPS: usize = 16;

/// Columns of each group: 8 for each of 8 bytes of an item.
type Columns<V> = [[V; 64]; GROUPS];

/// Returns the start of tile `i` of 8 columns in a row. A pass takes 8 bytes of each item from
/// `byte`, or all bytes of smaller items. Byte `j` of the pass is in columns `j`, `j + min(t, 8)`,
/// and so on.
#[inline(always)]
fn tile(t: usize, byte: usize, i: usize) -> usize {
    if t < 8 { 8 * i } else { i * t + byte }
}

/// Swaps the high `BITS` bits of each `2 * BITS` in `a` with the low ones in `b`; `low` is the mask
/// of the low bits.
#[inline(always)]
fn swap<L: Lanes, const BITS: i32>(l: L, low: L::V, a: &mut L::V, b: &mut L::V) {
    let swap = l.and(l.xor(l.shr::<BITS>(*a), *b), low);
    *a = l.xor(*a, l.shl::<BITS>(swap));
    *b = l.xor(*b, swap);
}

/// Transposes 8 by 8 bits at each byte position of 8 vectors: bit `k` of vector `m` becomes bit `m`
/// of vector `k`.
#[inline(always)]
fn transpose_bits<L: Lanes>(l: L, v: [L::V; 8]) -> [L::V; 8] {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = v;
    let low = l.splat(0x0f);
    swap::<L, 4>(l, low, &mut a, &mut e);
    swap::<L, 4>(l, low, &mut b, &mut f);
    swap::<L, 4>(l, low, &mut c, &mut g);
    swap::<L, 4>(l, low, &mut d, &mut h);
    let low = l.splat(0x33);
    swap::<L, 2>(l, low, &mut a, &mut c);
    swap::<L, 2>(l, low, &mut b, &mut d);
    swap::<L, 2>(l, low, &mut e, &mut g);
    swap::<L, 2>(l, low, &mut f, &mut h);
    let low = l.splat(0x55);
    swap::<L, 1>(l, low, &mut a, &mut b);
    swap::<L, 1>(l, low, &mut c, &mut d);
    swap::<L, 1>(l, low, &mut e, &mut f);
    swap::<L, 1>(l, low, &mut g, &mut h);
    [a, b, c, d, e, f, g, h]
}

struct Bitshuffle<'b, 'a>(&'b mut Block<'a>);

impl Kernel for Bitshuffle<'_, '_> {
    #[inline(always)]
    fn run<L: Lanes>(&mut self, l: L) {
        in_rounds(l, self.0, beyond::<L>(), |b, groups, scratch| {
            let mut next = (b.done + groups * 128 * L::LANES) * b.typesize;
            for byte in tiles(b.typesize.max(8)) {
                for (g, columns) in scratch.iter_mut().enumerate().take(groups) {
                    gather(l, b, byte, g, &mut next, columns);
                }
                for j in 0..b.typesize.min(8) {
                    for (g, columns) in scratch.iter().enumerate().take(groups) {
                        let mut v = [l.splat(0); 8];
                        for (v, column) in v
                            .iter_mut()
                            .zip(columns.iter().skip(j).step_by(b.typesize.min(8)))
                        {
                            *v = *column;
                        }
                        l.store(
                            transpose_bits(l, v),
                            b.dst,
                            stream_at::<L>(b, byte + j, g),
                            b.items / 8,
                            16,
                        );
                    }
                }
            }
        });
    }
}

/// Reads the columns of group `g`, and prefetches as many bytes at `next`.
#[inline(always)]
fn gather<L: Lanes>(
    l: L,
    b: &Block,
    byte: usize,
    g: usize,
    next: &mut usize,
    columns: &mut [L::V; 64],
) {
    let first = (b.done + g * 128 * L::LANES) * b.typesize;
    for (i, v) in columns
        .as_chunks_mut::<8>()
        .0
        .iter_mut()
        .enumerate()
        .take(b.typesize)
    {
        l.prefetch_range(b.src, *next, 128 * L::LANES);
        *next += 128 * L::LANES;
        *v = shuffle::columns(l, b.src, first + tile(b.typesize, byte, i), 8 * b.typesize);
    }
}

struct Bitunshuffle<'b, 'a>(&'b mut Block<'a>);

impl Kernel for Bitunshuffle<'_, '_> {
    #[inline(always)]
    fn run<L: Lanes>(&mut self, l: L) {
        in_rounds(l, self.0, 0, |b, groups, scratch| {
            let mut next = (b.done + groups * 128 * L::LANES) * b.typesize;
            for byte in tiles(b.typesize.max(8)) {
                for j in 0..b.typesize.min(8) {
                    for (g, columns) in scratch.iter_mut().enumerate().take(groups) {
                        let v = l.load::<8>(b.src, stream_at::<L>(b, byte + j, g), b.items / 8, 16);
                        for (column, v) in columns
                            .iter_mut()
                            .skip(j)
                            .step_by(b.typesize.min(8))
                            .zip(transpose_bits(l, v))
                        {
                            *column = v;
                        }
                    }
                }
                for (g, columns) in scratch.iter().enumerate().take(groups) {
                    scatter(l, b, byte, g, &mut next, columns);
                }
            }
        });
    }
}

/// The inverse of [`gather`].
#[inline(always)]
fn scatter<L: Lanes>(
    l: L,
    b: &mut Block,
    byte: usize,
    g: usize,
    next: &mut usize,
    columns: &[L::V; 64],
) {
    let first = (b.done + g * 128 * L::LANES) * b.typesize;
    for (i, v) in columns
        .as_chunks::<8>()
        .0
        .iter()
        .enumerate()
        .take(b.typesize)
    {
        l.prefetch_range(b.dst, *next, 128 * L::LANES);
        *next += 128 * L::LANES;
        shuffle::rows(
            l,
            *v,
            b.dst,
            first + tile(b.typesize, byte, i),
            8 * b.typesize,
        );
    }
}

/// Returns the offset of the bits of group `g` in the first of the 8 streams of byte `j`.
#[inline(always)]
fn stream_at<L: Lanes>(b: &Block, j: usize, g: usize) -> usize {
    j * b.items + b.done / 8 + g * 16 * L::LANES
}

/// Calls `round` with the number of groups to process and a buffer for their columns, until less
/// than a group of 16 rows per lane, plus `beyond` rows, is left.
#[inline(always)]
fn in_rounds<L: Lanes>(
    l: L,
    b: &mut Block,
    beyond: usize,
    mut round: impl FnMut(&mut Block, usize, &mut Columns<L::V>),
) {
    let groups = |b: &Block| {
        let rows = ((b.items - b.done) / 8).saturating_sub(beyond);
        (rows / (16 * L::LANES)).min((128 / b.typesize).clamp(4, GROUPS))
    };
    if groups(b) == 0 {
        return;
    }
    let mut scratch = [[l.splat(0); 64]; GROUPS];
    loop {
        let groups = groups(b);
        if groups == 0 {
            return;
        }
        round(b, groups, &mut scratch);
        b.done += groups * 128 * L::LANES;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::noise;
    use super::*;

    /// A bit-by-bit implementation of the format.
    pub fn naive(typesize: usize, src: &[u8]) -> Vec<u8> {
        let mut dst = src.to_vec();
        let items = src.len() / typesize / 8 * 8;
        dst[..items * typesize].fill(0);
        for i in 0..items {
            for bit in 0..8 * typesize {
                let set = src[i * typesize + bit / 8] >> (bit % 8) & 1;
                dst[bit * (items / 8) + i / 8] |= set << (i % 8);
            }
        }
        dst
    }

    /// CRC-32 of the output of `blosc2_bitshuffle` of c-blosc2 3.3.5 for noise.
    #[test]
    fn output_equals_the_reference() {
        let known = [
            (1, 100, 0x8e1537e2),
            (2, 1000, 0x14955832),
            (3, 1001, 0x8aef410d),
            (4, 4096, 0x2c5c0b07),
            (5, 2003, 0x63596a48),
            (6, 999, 0x1066d7ce),
            (7, 5000, 0x0c03b68b),
            (8, 8200, 0xdbdc88bc),
            (9, 5000, 0x36cece43),
            (12, 6000, 0xbb0a81bf),
            (15, 4001, 0xf761397b),
            (16, 8192, 0x280f378c),
            (17, 4444, 0x89cf3523),
            (24, 10000, 0x2cd1c24c),
            (32, 9999, 0xe29acd83),
            (100, 30000, 0x0c15575a),
            (255, 70001, 0xe5fe98fa),
        ];
        for (typesize, len, crc) in known {
            let mut dst = vec![0; len];
            bitshuffle(typesize, &noise(len), &mut dst);
            assert_eq!(
                crate::checksum::crc32(&dst),
                crc,
                "typesize {typesize}, {len} bytes"
            );
        }
    }

    /// According to chunks of C-Blosc 1.21.
    #[test]
    fn blosc_1_skips_blocks_of_other_lengths() {
        assert!(
            applies_v1(4, 4000) && applies_v1(4, 4099 - 3) && applies_v1(8, 7) && applies_v1(1, 0)
        );
        assert!(!applies_v1(4, 4004) && !applies_v1(3, 2403) && !applies_v1(0, 8));
    }
}
