//! The metalayer with the length and the CRC-32 of each chunk: MessagePack `bin` with a length of
//! 32 bits, two numbers of 32 bits (little-endian) per chunk.
//!
//! Readers of the reference library unpack every variable-length metalayer as MessagePack. Frames
//! of the first versions of this library have the numbers without a marker; both forms are read.
#![forbid(unsafe_code)]

use super::msgpack::BIN_32;
use crate::alloc;
use crate::error::{Result, fail};

/// The name of the metalayer.
pub const SUMS: &str = "holdall.crc32";
/// Bytes of one number.
pub const SUM: usize = 4;
/// Bytes per chunk.
const BOTH: usize = 2 * SUM;
/// Bytes before the first number: the marker and the length.
pub const MARKER: usize = 5;

/// The value of the metalayer for `count` chunks.
pub fn encode(count: usize, sums: impl Iterator<Item = [u32; 2]>) -> Result<Vec<u8>> {
    let n = count.saturating_mul(BOTH);
    let len = u32::try_from(n).map_err(|_| {
        fail!(
            Limit,
            "checksums of {count} chunks: {n} bytes, and a metalayer has {} at most",
            u32::MAX
        )
    })?;
    let mut value = alloc::with_room(n.saturating_add(MARKER))?;
    value.push(BIN_32);
    value.extend(len.to_be_bytes());
    value.extend(sums.flat_map(|sum| sum.map(u32::to_le_bytes)).flatten());
    Ok(value)
}

/// Returns the numbers in a value, without the marker if it has one.
pub fn numbers(value: &[u8]) -> &[u8] {
    match value.split_first_chunk() {
        // without a marker there are whole pairs
        Some(([BIN_32, a, b, c, d], rest))
            if rest.len().is_multiple_of(BOTH)
                && u32::from_be_bytes([*a, *b, *c, *d]) as usize == rest.len() =>
        {
            rest
        }
        _ => value,
    }
}

/// Returns the length and the CRC-32 of each chunk from these numbers.
pub fn pairs(numbers: &[u8]) -> Vec<[u32; 2]> {
    let of = |[a, b, c, d, e, f, g, h]: &[u8; BOTH]| {
        [
            u32::from_le_bytes([*a, *b, *c, *d]),
            u32::from_le_bytes([*e, *f, *g, *h]),
        ]
    };
    numbers.as_chunks::<BOTH>().0.iter().map(of).collect()
}
