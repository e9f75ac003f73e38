//! Default shapes of chunks and blocks.
//!
//! A block is the unit that is decoded for one item, so it should fit into the private caches of a
//! core. A chunk is the unit that is written and located. A block has about the same length along
//! every dimension but the first, where it is shorter: planes across the first dimension are the
//! most common reads (slices of a volume, time steps), and long rows along the last dimension
//! compress better. No block is longer than the array, and block ends coincide with chunk ends
//! where possible. The shapes depend on the array alone and not on the machine: the same calls
//! create the same files.
//!
//! Reading a box decodes all blocks that it touches, so more bytes than the box has. For wide
//! items, blocks have half as many bytes. That makes reading cubes faster by 25 % or more, and
//! files of most data hardly larger, because the low-order bytes of such items are noise. Numbers
//! that vary smoothly down to the last byte make files 5 to 10 % larger. With narrow items most
//! files would be larger.
#![forbid(unsafe_code)]

use crate::dtype::numpy_meta::nbytes;
use crate::error::{Result, fail};

/// Block size per byte of an item: shuffling turns each byte of an item into a stream of this
/// length. Applies up to [`BLOCK_BYTES`].
const STREAM_BYTES: u64 = 32 << 10;
/// Maximum default block size in bytes. Twice that, shuffled and unshuffled, is less than half of
/// the private cache of a core.
const BLOCK_BYTES: u64 = 100 << 10;
/// Minimum item size in bytes, and maximum default block size for such items in arrays of three or
/// more dimensions.
const WIDE_ITEMS: (u64, u64) = (8, 50 << 10);
/// Minimum number of items in a row of a block, if the array has as many: the unshuffle kernels
/// process as many at once.
const MIN_ROW_ITEMS: u64 = 32;
/// Ratio of the block length along the other dimensions to that along the first.
const FIRST_RATIO: u64 = 4;
/// Default chunk size in bytes. Whole blocks rarely add up to exactly this size.
const CHUNK_BYTES: u64 = 4 << 20;
/// Minimum default chunk size, if the array is as large: the overhead per chunk is too high for
/// smaller ones.
const MIN_CHUNK_BYTES: u64 = 2 << 20;
/// Maximum chunk size in bytes with all blocks padded: slightly less than the fields of its header
/// can represent.
const MAX_CHUNK_BYTES: u64 = i32::MAX as u64 - 32;
/// Maximum block size in bytes that c-blosc2 accepts.
const MAX_BLOCK_BYTES: u64 = 536_866_816;
/// Longer lengths are multiples of this: bitshuffle turns as many items into whole bytes.
const ROUND: u64 = 8;
/// With more parts than this the padding in the last one is negligible.
const MANY_PARTS: u64 = 16;

/// Shapes and sizes that the caller requested.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShapeOptions<'a> {
    /// The shape of a chunk.
    pub chunks: Option<&'a [u64]>,
    /// The shape of a block.
    pub blocks: Option<&'a [u64]>,
    /// The approximate chunk size in bytes.
    pub chunk_bytes: Option<u64>,
    /// The approximate block size in bytes.
    pub block_bytes: Option<u64>,
}

/// Returns the shapes of a chunk and of a block for an array of this shape with items of `item`
/// bytes. A dimension of length 0 is expected to grow.
pub fn choose(shape: &[u64], item: usize, options: &ShapeOptions) -> Result<(Vec<u64>, Vec<u64>)> {
    for (given, what) in [(options.chunks, "chunks"), (options.blocks, "blocks")] {
        check_given(given, shape.len(), what)?;
    }
    let item = item.max(1) as u64;
    let block_bytes = if item >= WIDE_ITEMS.0 && shape.len() > 2 {
        WIDE_ITEMS.1
    } else {
        BLOCK_BYTES.min(STREAM_BYTES * item)
    };
    let block_items = options.block_bytes.unwrap_or(block_bytes) / item;
    let chunk_items = options
        .chunk_bytes
        .unwrap_or_else(|| CHUNK_BYTES.max(options.block_bytes.unwrap_or(0)))
        / item;
    let lengths: Vec<u64> = shape
        .iter()
        .map(|n| if *n == 0 { u64::MAX } else { *n })
        .collect();
    let (chunks, blocks) = match (options.chunks, options.blocks) {
        (Some(chunks), Some(blocks)) => (chunks.to_vec(), blocks.to_vec()),
        (Some(chunks), None) => (
            chunks.to_vec(),
            split(chunks, block_items, FIRST_RATIO, MIN_ROW_ITEMS),
        ),
        (None, blocks) => {
            let blocks = blocks.map_or_else(
                || {
                    split(
                        &lengths,
                        block_items.min(chunk_items),
                        FIRST_RATIO,
                        MIN_ROW_ITEMS,
                    )
                },
                <[u64]>::to_vec,
            );
            let chunks = multiples(&lengths, &blocks, chunk_items);
            (
                if options.chunk_bytes.is_none() {
                    enlarge(chunks, &lengths, item)
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
            "{what}: wrong number of dimensions (expected {ndim}, found {})",
            lengths.len()
        )),
        Some(lengths) if lengths.contains(&0) => Err(fail!(
            Argument,
            "{what}: invalid shape {lengths:?}; each length must be at least 1"
        )),
        _ => Ok(()),
    }
}

/// Returns an error if the format cannot store these shapes.
fn check(chunks: &[u64], blocks: &[u64], item: u64) -> Result<()> {
    let fits =
        |lengths: &[u64], most: u64| nbytes(lengths, item as usize).is_some_and(|n| n <= most);
    if !fits(blocks, MAX_BLOCK_BYTES) {
        return Err(fail!(
            Argument,
            "blocks of {blocks:?} items of {item} bytes exceed the limit of {MAX_BLOCK_BYTES} bytes"
        ));
    }
    let whole: Vec<u64> = chunks
        .iter()
        .zip(blocks)
        .map(|(chunk, block)| chunk.div_ceil(*block).saturating_mul(*block))
        .collect();
    if !fits(&whole, MAX_CHUNK_BYTES) {
        return Err(fail!(
            Argument,
            "chunks of {chunks:?} items of {item} bytes, in whole blocks of {blocks:?}, exceed the limit of {MAX_CHUNK_BYTES} bytes"
        ));
    }
    Ok(())
}

/// Divides these lengths into parts of about `items` items. All lengths of a part are about equal,
/// except the first, which is shorter by `first_ratio`, and the last, which is at least `min_row`.
/// Short dimensions leave more items for the others.
fn split(lengths: &[u64], items: u64, first_ratio: u64, min_row: u64) -> Vec<u64> {
    let mut left = items;
    let mut parts = Vec::new();
    let mut outer = lengths;
    while let [before @ .., n] = outer {
        let most = balanced_length(outer, left, first_ratio);
        let most = if parts.is_empty() {
            most.max(min_row.min(left))
        } else {
            most
        };
        let length = if *n <= most {
            *n
        } else {
            part_length(*n, most, !before.is_empty() && left / most > ROUND)
        };
        left = (left / length).max(1);
        parts.push(length);
        outer = before;
    }
    parts.reverse();
    parts
}

/// Returns the greatest length of the last dimension for which a part has at most `items` items.
/// The part is shorter along dimensions that are shorter than that.
fn balanced_length(lengths: &[u64], items: u64, first_ratio: u64) -> u64 {
    let Some((first, others)) = lengths
        .split_first()
        .filter(|(_, others)| !others.is_empty())
    else {
        return items.max(1);
    };
    let of_first = |most: u64| (most / first_ratio).clamp(1, *first);
    let fits = |most: u64| {
        others
            .iter()
            .try_fold(of_first(most), |n: u64, len| n.checked_mul(*len.min(&most)))
            .is_some_and(|n| n <= items)
    };
    // 1 always fits, because it is the minimum.
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

/// Returns a length of about `most`, or slightly more if `more` is set, such that the last part has
/// little or no padding.
fn part_length(n: u64, most: u64, more: bool) -> u64 {
    let down = if most < ROUND {
        most
    } else {
        most / ROUND * ROUND
    };
    let count = n.div_ceil(most);
    if count > MANY_PARTS {
        return down;
    }
    let longest = if more { most + most / 4 } else { most };
    let whole = (most - most / 3..=longest).filter(|length| n.is_multiple_of(*length));
    if let Some(length) = whole.min_by_key(|length| length.abs_diff(most)) {
        return length;
    }
    let even = n.div_ceil(count);
    let round = if even < ROUND {
        even
    } else {
        even.next_multiple_of(ROUND).min(down)
    };
    let little = |length: &u64| n.next_multiple_of(*length) - n <= n / ROUND;
    Some(round)
        .filter(little)
        .or_else(|| (1..=even).rev().find(little))
        .unwrap_or(even)
}

/// Doubles the shortest lengths until a chunk has the minimum size.
fn enlarge(mut chunks: Vec<u64>, lengths: &[u64], item: u64) -> Vec<u64> {
    let size = |chunks: &[u64]| chunks.iter().fold(item, |n: u64, d| n.saturating_mul(*d));
    while size(&chunks) < MIN_CHUNK_BYTES {
        let growable = chunks
            .iter_mut()
            .zip(lengths)
            .filter(|(chunk, len)| **chunk < **len);
        let Some((chunk, len)) = growable.min_by_key(|(chunk, _)| **chunk) else {
            break;
        };
        *chunk = chunk.saturating_mul(2).min(*len);
    }
    chunks
}

/// Returns chunks that consist of whole blocks, except where they end with the array.
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
        .zip(split(&counts, items / in_block.max(1), 1, 1))
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
    fn default_shapes_fit_the_array_and_the_caches() {
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
                let (chunks, blocks) = choose(shape, item, &ShapeOptions::default()).unwrap();
                let context = format!("{shape:?} of {item}: {chunks:?} {blocks:?}");
                assert!(
                    chunks.iter().zip(shape).all(|(c, n)| *c >= 1 && c <= n),
                    "{context}"
                );
                assert!(
                    blocks.iter().zip(&chunks).all(|(b, c)| *b >= 1 && b <= c),
                    "{context}"
                );
                let (all, chunk, block) = (
                    shape.iter().fold(item as u64, |n, d| n.saturating_mul(*d)),
                    bytes(&chunks, item),
                    bytes(&blocks, item),
                );
                assert!(
                    chunk <= CHUNK_BYTES.max(item as u64) && block <= BLOCK_BYTES.max(item as u64),
                    "{context}"
                );
                assert!(chunk >= MIN_CHUNK_BYTES.min(all), "{context}: {chunk}");
                // Blocks are not too small, unless many dimensions share the items.
                if shape.len() < 4 {
                    assert!(block >= chunk.min(STREAM_BYTES / 8), "{context}: {block}");
                }
                // There is little padding.
                let padded: u64 = chunks
                    .iter()
                    .zip(&blocks)
                    .map(|(c, b)| c.next_multiple_of(*b))
                    .product::<u64>()
                    * item as u64;
                assert!(padded <= chunk * 4, "{context}: {padded}");
            }
        }
    }

    #[test]
    fn default_shapes_of_common_arrays_do_not_change() {
        let of = |shape: &[u64], item| choose(shape, item, &ShapeOptions::default()).unwrap();
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
        // Wide items have smaller blocks, whose rows are still as long as the kernels need.
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
        // Dimensions of length 0 are treated as long.
        assert_eq!(of(&[0], 8), (vec![512_000], vec![12_800]));
        assert_eq!(of(&[0, 3, 4], 4), (vec![85_120, 3, 4], vec![2128, 3, 4]));
    }

    #[test]
    fn requested_shapes_and_sizes_are_used() {
        let of = |options: &ShapeOptions| choose(&[640, 400, 400], 4, options);
        let (chunks, blocks) = ([80, 100, 100], [5, 100, 100]);
        assert_eq!(
            of(&ShapeOptions {
                chunks: Some(&chunks),
                blocks: Some(&blocks),
                ..ShapeOptions::default()
            })
            .unwrap(),
            (chunks.to_vec(), blocks.to_vec())
        );
        let given = of(&ShapeOptions {
            chunks: Some(&chunks),
            ..ShapeOptions::default()
        })
        .unwrap();
        assert_eq!(given, (chunks.to_vec(), vec![10, 50, 50]));
        let wide = choose(
            &[512, 320, 320],
            8,
            &ShapeOptions {
                chunks: Some(&[64, 80, 80]),
                ..ShapeOptions::default()
            },
        )
        .unwrap();
        assert_eq!(wide, (vec![64, 80, 80], vec![8, 20, 40]));
        let given = of(&ShapeOptions {
            blocks: Some(&blocks),
            ..ShapeOptions::default()
        })
        .unwrap();
        assert_eq!(given, (vec![25, 200, 200], blocks.to_vec()));
        let small = of(&ShapeOptions {
            chunk_bytes: Some(64 << 10),
            block_bytes: Some(4 << 10),
            ..ShapeOptions::default()
        })
        .unwrap();
        assert!(
            bytes(&small.0, 4) <= 64 << 10 && bytes(&small.1, 4) <= 4 << 10,
            "{small:?}"
        );
        let one = of(&ShapeOptions {
            chunk_bytes: Some(1),
            ..ShapeOptions::default()
        })
        .unwrap();
        assert_eq!(one, (vec![1, 1, 1], vec![1, 1, 1]));
    }

    #[test]
    fn shapes_beyond_the_format_limits_are_refused() {
        let of = |shape: &[u64], chunks: Option<&[u64]>, blocks: Option<&[u64]>, item| {
            choose(
                shape,
                item,
                &ShapeOptions {
                    chunks,
                    blocks,
                    ..ShapeOptions::default()
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
