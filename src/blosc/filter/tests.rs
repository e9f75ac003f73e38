//! Shared code of the filter tests, and tests that apply to all filters.

use super::lanes::tests::at_each_level;
use super::*;
use proptest::prelude::*;

/// Bytes that do not repeat.
pub fn noise(len: usize) -> Vec<u8> {
    let mut x = 1u32;
    (0..len)
        .map(|_| {
            x = x.wrapping_mul(1664525).wrapping_add(1013904223);
            (x >> 24) as u8
        })
        .collect()
}

/// Runs of 1 to 16 equal bytes.
pub fn runs(len: usize) -> Vec<u8> {
    let mut x = 1u32;
    let mut bytes = Vec::new();
    while bytes.len() < len {
        x = x.wrapping_mul(1664525).wrapping_add(1013904223);
        bytes.resize(bytes.len() + 1 + (x >> 16 & 15) as usize, (x >> 24) as u8);
    }
    bytes.truncate(len);
    bytes
}

/// Returns typesizes and lengths around the edges of all groups, tiles and strips, which are
/// multiples of `unit` items.
fn sizes(unit: usize) -> impl Iterator<Item = (usize, usize)> {
    let typesizes = (1..=33).chain([48, 63, 64, 100, 255, 256, 300]);
    let items = [
        0, 1, 2, 15, 16, 17, 31, 32, 33, 34, 63, 64, 65, 66, 128, 129, 160, 545, 1100,
    ];
    typesizes.flat_map(move |t| {
        items
            .into_iter()
            .flat_map(move |n| [0, 1, t / 2, t - 1].map(|rest| (t, n * unit * t + rest)))
    })
}

type Filter = fn(usize, &[u8], &mut [u8]);

/// A filter with several kernels, all of which must equal the definition.
struct Kernels {
    name: &'static str,
    definition: fn(usize, &[u8]) -> Vec<u8>,
    forward: Filter,
    back: Filter,
    /// Number of items that a kernel processes together.
    unit: usize,
}

const KERNELS: [Kernels; 3] = [
    Kernels {
        name: "shuffle",
        definition: shuffle::tests::naive,
        forward: shuffle,
        back: unshuffle,
        unit: 1,
    },
    Kernels {
        name: "bitshuffle",
        definition: bitshuffle::tests::naive,
        forward: bitshuffle,
        back: bitunshuffle,
        unit: 8,
    },
    Kernels {
        name: "bytedelta",
        definition: bytedelta::tests::naive,
        forward: bytedelta_encode,
        back: bytedelta_decode,
        unit: 1,
    },
];

impl Kernels {
    fn check(&self, typesize: usize, src: &[u8]) {
        let expected = (self.definition)(typesize, src);
        let name = self.name;
        at_each_level(|| {
            let mut dst = vec![0xa5; src.len()];
            (self.forward)(typesize, src, &mut dst);
            assert!(
                dst == expected,
                "{name}, typesize {typesize}, {} bytes",
                src.len()
            );
            dst.fill(0x5a);
            (self.back)(typesize, &expected, &mut dst);
            assert!(
                dst == src,
                "{name} back, typesize {typesize}, {} bytes",
                src.len()
            );
        });
    }
}

#[test]
fn every_kernel_at_its_edges() {
    for kernels in KERNELS {
        for (typesize, len) in sizes(kernels.unit) {
            kernels.check(typesize, &noise(len));
        }
    }
}

proptest! {
    #[test]
    fn every_kernel_equals_its_definition(typesize in 1usize..=300, src in proptest::collection::vec(any::<u8>(), 0..20_000)) {
        for kernels in KERNELS {
            kernels.check(typesize, &src);
        }
    }
}

/// Compares unshuffled rows of a shuffled block with the block.
fn check_rows(typesize: usize, block: &[u8], rows: StridedRows) {
    let shuffled = shuffle::tests::naive(typesize, block);
    let streams = Streams::new(shuffled.chunks_exact(block.len() / typesize));
    let mut expected = vec![0xa5; 4000];
    let row_start = |i: usize| (rows.to as isize + i as isize * rows.to_step) as usize;
    for i in 0..rows.n {
        expected[row_start(i)..][..rows.len]
            .copy_from_slice(&block[rows.from + i * rows.from_step..][..rows.len]);
    }
    at_each_level(|| {
        let mut dst = vec![0xa5; expected.len()];
        assert!(streams.unshuffle(&rows, &mut dst));
        assert!(dst == expected, "typesize {typesize}, {rows:?}");
        // with non-temporal stores, at aligned and unaligned addresses
        for shift in [0, 16, 24] {
            let mut memory = vec![0xa5; expected.len() + 64];
            let skip =
                (shift + memory.as_ptr().addr().wrapping_neg() % 64 + 64 - rows.to % 64) % 64;
            let dst = &mut memory[skip..][..expected.len()];
            assert!(streams.unshuffle(
                &StridedRows {
                    non_temporal: true,
                    ..rows
                },
                dst
            ));
            assert!(
                *dst == expected[..],
                "typesize {typesize}, {rows:?}, non-temporal, {shift} bytes after the start of a line"
            );
        }
        // rows out of range
        let outside = [
            StridedRows {
                from: block.len(),
                ..rows
            },
            StridedRows {
                to: dst.len(),
                ..rows
            },
        ];
        assert!(
            rows.len == 0 || rows.n == 0 || outside.iter().all(|r| !streams.unshuffle(r, &mut dst))
        );
    });
}

#[test]
fn rows_of_every_length() {
    for typesize in [2, 4, 8] {
        let block = noise(200 * typesize);
        for items in (0..=66).chain([100]) {
            check_rows(
                typesize,
                &block,
                StridedRows::one(3 * typesize, items * typesize),
            );
            let rows = StridedRows {
                from: typesize,
                from_step: 2 * typesize,
                to: 1500,
                to_step: -(typesize as isize * 101),
                len: items * typesize,
                n: 1,
                non_temporal: false,
            };
            check_rows(typesize, &block, rows);
            check_rows(
                typesize,
                &block,
                StridedRows {
                    from_step: typesize * items,
                    to: 3,
                    to_step: 900,
                    n: if items < 66 { 3 } else { 1 },
                    ..rows
                },
            );
        }
    }
}

#[test]
fn prefetching_before_the_buffer_is_harmless() {
    check_rows(
        4,
        &noise(2048),
        StridedRows {
            from: 0,
            from_step: 0,
            to: 1450,
            to_step: -32,
            len: 176,
            n: 1,
            non_temporal: false,
        },
    );
}

proptest! {
    #[test]
    fn random_rows(power in 1u32..4, from in 0usize..100, from_step in 0usize..100, len in 0usize..200, n in 0usize..9, to_step in -180isize..180) {
        let rows = StridedRows { from, from_step, to: 1450, to_step, len, n, non_temporal: false };
        check_rows(1 << power, &noise(2048), rows);
        // whole items, with destinations at multiples of 16 bytes from one another
        let (from, from_step) = (from >> power << power, from_step >> power << power);
        check_rows(1 << power, &noise(2048), StridedRows { from, from_step, to_step: to_step / 16 * 16, len: len / 16 * 16, ..rows });
    }
}

#[test]
fn no_typesize_panics() {
    for typesize in [0, 1, 2, 7, 8, 300, usize::MAX / 2, usize::MAX] {
        for len in [0, 1, 2, 15, 100] {
            let src = noise(len);
            at_each_level(|| {
                for filter in [
                    shuffle,
                    unshuffle,
                    bitshuffle,
                    bitunshuffle,
                    bytedelta_encode,
                    bytedelta_decode,
                ] {
                    let mut dst = vec![1; len];
                    filter(typesize, &src, &mut dst);
                    assert!(typesize <= len && typesize > 0 || dst == src);
                }
                let mut dst = vec![1; len];
                delta_encode(&src, true, typesize, &src, &mut dst);
                delta_decode(None, typesize, &mut dst);
                assert_eq!(dst, src);
                delta_encode(&src, false, typesize, &src, &mut dst);
                delta_decode(Some(&src), typesize, &mut dst);
                assert_eq!(dst, src);
            });
        }
    }
}
