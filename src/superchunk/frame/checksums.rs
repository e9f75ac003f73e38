//! The metalayer with the length and the CRC-32 of each chunk: MessagePack `bin 32` with two
//! little-endian 32-bit integers per chunk.
//!
//! Readers of the reference library unpack every variable-length metalayer as MessagePack. The
//! first versions of this library wrote the integers without the MessagePack header; both forms are
//! read.
#![forbid(unsafe_code)]

use super::msgpack::BIN_32;
use crate::alloc;
use crate::blosc::{self, Codec, Params, Target};
use crate::error::{Result, fail};

/// The name of the metalayer.
pub const CHECKSUMS: &str = "holdall.crc32";
/// Bytes of one integer.
pub const INTEGER_BYTES: usize = 4;
/// Chunks whose checksums a block of the metalayer holds, and whose slots a block of the index
/// holds. Readers of long frames load as many entries at a time.
pub const PAGE: u64 = 2048;
/// Bytes per chunk.
pub const PAIR_BYTES: usize = 2 * INTEGER_BYTES;
/// Bytes before the first integer: the MessagePack type and the length.
pub const BIN_HEADER_BYTES: usize = 5;

/// Returns the parameters with which the value is encoded.
pub fn params() -> Params {
    Params {
        // readers look up a few checksums at a time
        blocksize: Some(PAGE as usize * PAIR_BYTES),
        ..Params::new(Target::Blosc2, Codec::Lz4, 5, INTEGER_BYTES)
    }
}

/// Returns the bytes of an uncompressed metalayer before the integers of `count` chunks: the header
/// of the Blosc chunk, and that of the value.
pub fn uncompressed_header(count: usize) -> Result<Vec<u8>> {
    let n = count.saturating_mul(PAIR_BYTES);
    let header = bin_header(n)?;
    let chunk = blosc::copied_header(&params(), n.saturating_add(header.len()))?;
    Ok([&chunk[..], &header].concat())
}

/// Returns the MessagePack type and the length of a value of `n` bytes.
fn bin_header(n: usize) -> Result<[u8; BIN_HEADER_BYTES]> {
    let len = u32::try_from(n).map_err(|_| {
        fail!(
            Limit,
            "the checksums of {} chunks have {n} bytes (a metalayer has at most {})",
            n / PAIR_BYTES,
            u32::MAX
        )
    })?;
    let [a, b, c, d] = len.to_be_bytes();
    Ok([BIN_32, a, b, c, d])
}

/// Encodes the value of the metalayer for `count` chunks.
pub fn encode(count: usize, checksums: impl Iterator<Item = [u32; 2]>) -> Result<Vec<u8>> {
    let n = count.saturating_mul(PAIR_BYTES);
    let header = bin_header(n)?;
    let mut value = alloc::with_capacity(n.saturating_add(header.len()))?;
    value.extend(header);
    value.extend(
        checksums
            .flat_map(|sum| sum.map(u32::to_le_bytes))
            .flatten(),
    );
    Ok(value)
}

/// Returns the integers of a value, without the MessagePack header if it has one.
pub fn numbers(value: &[u8]) -> &[u8] {
    match value.split_first_chunk() {
        // without the header the value consists of whole pairs
        Some(([BIN_32, a, b, c, d], rest))
            if rest.len().is_multiple_of(PAIR_BYTES)
                && u32::from_be_bytes([*a, *b, *c, *d]) as usize == rest.len() =>
        {
            rest
        }
        _ => value,
    }
}

/// Returns the length and the CRC-32 of each chunk.
pub fn pairs(numbers: &[u8]) -> Vec<[u32; 2]> {
    let of = |[a, b, c, d, e, f, g, h]: &[u8; PAIR_BYTES]| {
        [
            u32::from_le_bytes([*a, *b, *c, *d]),
            u32::from_le_bytes([*e, *f, *g, *h]),
        ]
    };
    numbers.as_chunks::<PAIR_BYTES>().0.iter().map(of).collect()
}
