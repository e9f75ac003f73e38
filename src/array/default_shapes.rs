//! Shapes of chunks and blocks, where nobody has chosen them.
//!
//! A block is what is decoded for one item, so it should stay in the caches that a core has alone;
//! a chunk is what is written and found at once. A block is about as long along every dimension but
//! the first, where it is shorter: planes across that one are what most read (the slices of a
//! volume, the steps of a time), and long rows along the last compress better. None is longer
//! than the array, and blocks end where chunks do where that is possible. They depend on the array
//! alone, not on the machine: the same calls make the same files.
//!
//! Of a box, more is decoded than is in it: all of the blocks at its sides. Where items are wide,
//! blocks have half as many bytes: that makes reading cubes faster by a quarter and more, and files
//! of most data hardly longer, as the last bytes of such items are noise; of numbers that vary
//! smoothly down to the last byte they are longer by 5 to 10 %. With narrow items most files would
//! be.
#![forbid(unsafe_code)]

use super::numpy_meta::nbytes;
use crate::error::{Result, fail};

/// Bytes of a block for each byte of an item, of which so many count: shuffled, each of them
/// becomes a stream of this length.
const STREAM: u64 = 32 << 10;
/// The most bytes of a block: twice that, shuffled and not, is less than half of the cache that a
/// core has alone.
const BLOCK: u64 = 100 << 10;
/// The same where items have at least so many bytes, and arrays three dimensions or more.
const WIDE: (u64, u64) = (8, 50 << 10);
/// A row of a block has at least so many items where the array has: the kernels that undo shuffle
/// take as many at once.
const ROW: u64 = 32;
/// A block is so many times shorter along the first dimension than along the others.
const FLAT: u64 = 4;
/// Bytes of a chunk, about; whole blocks rarely make just so many.
const CHUNK: u64 = 4 << 20;
/// The least, where the array has that much: less is much to tell of each.
const LEAST_CHUNK: u64 = 2 << 20;
/// The most bytes of a chunk, all blocks being whole: a little less than its header's fields can
/// tell.
const MOST_CHUNK: u64 = i32::MAX as u64 - 32;
/// The most bytes of a block that c-blosc2 takes.
const MOST_BLOCK: u64 = 536_866_816;
/// Lengths are multiples of this where they are longer: so many items make whole bytes when their
/// bits are shuffled.
const ROUND: u64 = 8;
/// So many parts that it does not matter how much is missing in the last.
const MANY: u64 = 16;

/// What was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish<'a> {
    /// The shape of a chunk.
    pub chunks: Option<&'a [u64]>,
    /// That of a block.
    pub blocks: Option<&'a [u64]>,
    /// Bytes of a chunk, about.
    pub chunk_bytes: Option<u64>,
    /// Bytes of a block, about.
    pub block_bytes: Option<u64>,
}

/// The shapes of a chunk and of a block for an array of this shape, with items of `item` bytes. A
/// dimension of 0 is one that is going to grow.
pub fn choose(shape: &[u64], item: usize, wish: &Wish) -> Result<(Vec<u64>, Vec<u64>)> {
    for (given, what) in [(wish.chunks, "chunks"), (wish.blocks, "blocks")] {
        check_given(given, shape.len(), what)?;
    }
    let item = item.max(1) as u64;
    let block_bytes = if item >= WIDE.0 && shape.len() > 2 {
        WIDE.1
    } else {
        BLOCK.min(STREAM * item)
    };
    let block_items = wish.block_bytes.unwrap_or(block_bytes) / item;
    let chunk_items = wish
        .chunk_bytes
        .unwrap_or_else(|| CHUNK.max(wish.block_bytes.unwrap_or(0)))
        / item;
    let open: Vec<u64> = shape
        .iter()
        .map(|n| if *n == 0 { u64::MAX } else { *n })
        .collect();
    let (chunks, blocks) = match (wish.chunks, wish.blocks) {
        (Some(chunks), Some(blocks)) => (chunks.to_vec(), blocks.to_vec()),
        (Some(chunks), None) => (chunks.to_vec(), parts(chunks, block_items, FLAT, ROW)),
        (None, blocks) => {
            let blocks = blocks.map_or_else(
                || parts(&open, block_items.min(chunk_items), FLAT, ROW),
                <[u64]>::to_vec,
            );
            let chunks = multiples(&open, &blocks, chunk_items);
            (
                if wish.chunk_bytes.is_none() {
                    enough(chunks, &open, item)
                } else {
                    chunks
                },
                blocks,
            )
        }
    };
    check(&chunks, &blocks, item)?;
    Ok((chunks, blocks))
}

fn check_given(given: Option<&[u64]>, ndim: usize, what: &str) -> Result<()> {
    match given {
        Some(lengths) if lengths.len() != ndim => Err(fail!(
            Argument,
            "{what} of {} dimensions: the array has {ndim}",
            lengths.len()
        )),
        Some(lengths) if lengths.contains(&0) => Err(fail!(
            Argument,
            "{what} of {lengths:?}: each is one item long at least"
        )),
        _ => Ok(()),
    }
}

/// Refuses what cannot be stored.
fn check(chunks: &[u64], blocks: &[u64], item: u64) -> Result<()> {
    let fits =
        |lengths: &[u64], most: u64| nbytes(lengths, item as usize).is_some_and(|n| n <= most);
    if !fits(blocks, MOST_BLOCK) {
        return Err(fail!(
            Argument,
            "blocks of {blocks:?} items of {item} bytes: at most {MOST_BLOCK} bytes are possible"
        ));
    }
    let whole: Vec<u64> = chunks
        .iter()
        .zip(blocks)
        .map(|(chunk, block)| chunk.div_ceil(*block).saturating_mul(*block))
        .collect();
    if !fits(&whole, MOST_CHUNK) {
        return Err(fail!(
            Argument,
            "chunks of {chunks:?} items of {item} bytes, in whole blocks of {blocks:?}: at most {MOST_CHUNK} bytes are possible"
        ));
    }
    Ok(())
}

/// Cuts these lengths into parts of about so many items, all about as long but for the first, which
/// is shorter, and the last, which has a least length: dimensions that are short leave the others
/// more.
fn parts(lengths: &[u64], items: u64, flat: u64, row: u64) -> Vec<u64> {
    let mut left = items;
    let mut cut = |d: usize, n: &u64| {
        let most = even(lengths.get(..=d).unwrap_or_default(), left, flat);
        let most = if d + 1 == lengths.len() {
            most.max(row.min(left))
        } else {
            most
        };
        let part = if *n <= most {
            *n
        } else {
            part(*n, most, d > 0 && left / most > ROUND)
        };
        left = (left / part).max(1);
        part
    };
    let mut parts: Vec<u64> = lengths
        .iter()
        .enumerate()
        .rev()
        .map(|(d, n)| cut(d, n))
        .collect();
    parts.reverse();
    parts
}

/// The greatest length of the last dimension of which no product, with shorter lengths where
/// dimensions are shorter, has more than so many items.
fn even(lengths: &[u64], items: u64, flat: u64) -> u64 {
    let Some((first, others)) = lengths
        .split_first()
        .filter(|(_, others)| !others.is_empty())
    else {
        return items.max(1);
    };
    let of_first = |most: u64| (most / flat).clamp(1, *first);
    let fits = |most: u64| {
        others
            .iter()
            .try_fold(of_first(most), |n: u64, len| n.checked_mul(*len.min(&most)))
            .is_some_and(|n| n <= items)
    };
    // 1 always fits, being the least there is
    let (mut low, mut high) = (1, items.max(1));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle
        } else {
            high = middle - 1
        }
    }
    low
}

/// About `most` items, where more is possible also some more, such that nothing or little is
/// missing in the last part.
fn part(n: u64, most: u64, more: bool) -> u64 {
    let down = if most < ROUND {
        most
    } else {
        most / ROUND * ROUND
    };
    let count = n.div_ceil(most);
    if count > MANY {
        return down;
    }
    let longest = if more { most + most / 4 } else { most };
    let whole = (most - most / 3..=longest).filter(|part| n.is_multiple_of(*part));
    if let Some(part) = whole.min_by_key(|part| part.abs_diff(most)) {
        return part;
    }
    let even = n.div_ceil(count);
    let round = if even < ROUND {
        even
    } else {
        even.next_multiple_of(ROUND).min(down)
    };
    let little = |part: &u64| n.next_multiple_of(*part) - n <= n / ROUND;
    Some(round)
        .filter(little)
        .or_else(|| (1..=even).rev().find(little))
        .unwrap_or(even)
}

/// Chunks with more blocks along the shortest dimensions, as long as there are too few bytes.
fn enough(mut chunks: Vec<u64>, lengths: &[u64], item: u64) -> Vec<u64> {
    let size = |chunks: &[u64]| chunks.iter().fold(item, |n: u64, d| n.saturating_mul(*d));
    while size(&chunks) < LEAST_CHUNK {
        let open = chunks
            .iter_mut()
            .zip(lengths)
            .filter(|(chunk, len)| **chunk < **len);
        let Some((chunk, len)) = open.min_by_key(|(chunk, _)| **chunk) else {
            break;
        };
        *chunk = chunk.saturating_mul(2).min(*len);
    }
    chunks
}

/// Chunks of whole blocks, but for what is beyond the array.
fn multiples(lengths: &[u64], blocks: &[u64], items: u64) -> Vec<u64> {
    let in_block = blocks.iter().fold(1, |n: u64, b| n.saturating_mul(*b));
    let counts: Vec<u64> = lengths
        .iter()
        .zip(blocks)
        .map(|(n, b)| n.div_ceil(*b))
        .collect();
    let chunk =
        |((n, block), count): ((&u64, &u64), u64)| block.saturating_mul(count).min(*n.max(block));
    lengths
        .iter()
        .zip(blocks)
        .zip(parts(&counts, items / in_block.max(1), 1, 1))
        .map(chunk)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    fn bytes(lengths: &[u64], item: usize) -> u64 {
        lengths.iter().product::<u64>() * item as u64
    }

    #[test]
    fn shapes_fit_the_array_and_the_caches() {
        let lengths: &[u64] = &[
            1, 2, 3, 7, 8, 10, 31, 64, 100, 333, 1000, 4097, 65536, 1_000_003,
        ];
        let mut shapes: Vec<Vec<u64>> = lengths.iter().map(|n| vec![*n]).collect();
        shapes.extend(
            lengths
                .iter()
                .flat_map(|a| lengths.iter().map(move |b| vec![*a, *b])),
        );
        shapes.extend(lengths.iter().flat_map(|a| {
            lengths
                .iter()
                .flat_map(move |b| [vec![*a, *b, 100], vec![64, *b, *a, 3], vec![*a; 8]])
        }));
        for shape in &shapes {
            for item in [1, 2, 3, 4, 8, 16, 300, 100_000] {
                let (chunks, blocks) = choose(shape, item, &Wish::default()).unwrap();
                let told = format!("{shape:?} of {item}: {chunks:?} {blocks:?}");
                assert!(
                    chunks.iter().zip(shape).all(|(c, n)| *c >= 1 && c <= n),
                    "{told}"
                );
                assert!(
                    blocks.iter().zip(&chunks).all(|(b, c)| *b >= 1 && b <= c),
                    "{told}"
                );
                let (all, chunk, block) = (
                    shape.iter().fold(item as u64, |n, d| n.saturating_mul(*d)),
                    bytes(&chunks, item),
                    bytes(&blocks, item),
                );
                assert!(
                    chunk <= CHUNK.max(item as u64) && block <= BLOCK.max(item as u64),
                    "{told}"
                );
                assert!(chunk >= LEAST_CHUNK.min(all), "{told}: {chunk}");
                // nor are they too small, where there is that much, and few dimensions can share it
                if shape.len() < 4 {
                    assert!(block >= chunk.min(STREAM / 8), "{told}: {block}");
                }
                // little is filled up
                let padded: u64 = chunks
                    .iter()
                    .zip(&blocks)
                    .map(|(c, b)| c.next_multiple_of(*b))
                    .product::<u64>()
                    * item as u64;
                assert!(padded <= chunk * 4, "{told}: {padded}");
            }
        }
    }

    #[test]
    fn shapes_are_what_one_would_choose() {
        let of = |shape: &[u64], item| choose(shape, item, &Wish::default()).unwrap();
        assert_eq!(of(&[], 8), (vec![], vec![]));
        assert_eq!(of(&[10], 8), (vec![10], vec![10]));
        assert_eq!(of(&[100, 100], 8), (vec![100, 100], vec![100, 100]));
        assert_eq!(of(&[1_000_000_000], 8), (vec![512_000], vec![12_800]));
        assert_eq!(of(&[10_000, 10_000], 4), (vec![640, 1280], vec![80, 320]));
        assert_eq!(
            of(&[640, 400, 400], 4),
            (vec![40, 200, 100], vec![8, 50, 50])
        );
        assert_eq!(
            of(&[512, 320, 320], 4),
            (vec![64, 160, 80], vec![16, 40, 40])
        );
        // wide items: smaller blocks, whose rows are still as long as kernels need them
        assert_eq!(
            of(&[512, 320, 320], 8),
            (vec![32, 80, 160], vec![8, 20, 32])
        );
        assert_eq!(
            of(&[512, 320, 320], 16),
            (vec![20, 80, 160], vec![5, 20, 32])
        );
        assert_eq!(
            of(&[100, 100, 100, 100], 8),
            (vec![10, 50, 20, 50], vec![2, 10, 10, 25])
        );
        // what is going to grow counts as long
        assert_eq!(of(&[0], 8), (vec![512_000], vec![12_800]));
        assert_eq!(of(&[0, 3, 4], 4), (vec![85_120, 3, 4], vec![2128, 3, 4]));
    }

    #[test]
    fn wishes_count() {
        let of = |wish: &Wish| choose(&[640, 400, 400], 4, wish);
        let (chunks, blocks) = ([80, 100, 100], [5, 100, 100]);
        assert_eq!(
            of(&Wish {
                chunks: Some(&chunks),
                blocks: Some(&blocks),
                ..Wish::default()
            })
            .unwrap(),
            (chunks.to_vec(), blocks.to_vec())
        );
        let given = of(&Wish {
            chunks: Some(&chunks),
            ..Wish::default()
        })
        .unwrap();
        assert_eq!(given, (chunks.to_vec(), vec![10, 50, 50]));
        let wide = choose(
            &[512, 320, 320],
            8,
            &Wish {
                chunks: Some(&[64, 80, 80]),
                ..Wish::default()
            },
        )
        .unwrap();
        assert_eq!(wide, (vec![64, 80, 80], vec![8, 20, 40]));
        let given = of(&Wish {
            blocks: Some(&blocks),
            ..Wish::default()
        })
        .unwrap();
        assert_eq!(given, (vec![25, 200, 200], blocks.to_vec()));
        let small = of(&Wish {
            chunk_bytes: Some(64 << 10),
            block_bytes: Some(4 << 10),
            ..Wish::default()
        })
        .unwrap();
        assert!(
            bytes(&small.0, 4) <= 64 << 10 && bytes(&small.1, 4) <= 4 << 10,
            "{small:?}"
        );
        let one = of(&Wish {
            chunk_bytes: Some(1),
            ..Wish::default()
        })
        .unwrap();
        assert_eq!(one, (vec![1, 1, 1], vec![1, 1, 1]));
    }

    #[test]
    fn what_cannot_be_stored_is_refused() {
        let of = |shape: &[u64], chunks: Option<&[u64]>, blocks: Option<&[u64]>, item| {
            choose(
                shape,
                item,
                &Wish {
                    chunks,
                    blocks,
                    ..Wish::default()
                },
            )
            .unwrap_err()
            .status
        };
        assert_eq!(of(&[5], Some(&[0]), None, 1), Status::Argument);
        assert_eq!(of(&[5], None, Some(&[0]), 1), Status::Argument);
        assert_eq!(of(&[5], Some(&[5, 5]), None, 1), Status::Argument);
        assert_eq!(of(&[5], None, Some(&[]), 1), Status::Argument);
        assert_eq!(of(&[5], Some(&[1 << 31]), None, 1), Status::Argument);
        assert_eq!(
            of(&[5, 5], Some(&[u64::MAX; 2]), Some(&[u64::MAX; 2]), 8),
            Status::Argument
        );
        assert_eq!(
            of(&[5], Some(&[(1 << 31) - 40]), Some(&[1000]), 1),
            Status::Argument
        );
        assert_eq!(
            of(&[5], Some(&[1 << 30]), Some(&[1 << 30]), 1),
            Status::Argument
        );
        assert_eq!(of(&[5], None, None, 1 << 31), Status::Argument);
    }
}
