//! The Blosc chunk: bytes cut into blocks, each passed through filters (shuffle and others),
//! perhaps split into streams, and compressed by one of six codecs.
//!
//! Two families of readers share the format: c-blosc 1.x (16 bytes of header; Bloscpack, BLZ,
//! bcolz) and c-blosc2 (32 bytes; frames, Caterva, b2nd). [`decode`] reads both, [`encode`] writes
//! for either. This layer knows no file, and trusts no byte of a chunk: every offset, length and
//! size is checked before it is used, and what a chunk can cost is bounded by its own length and
//! that of its content.

pub mod blosclz;
#[allow(unsafe_code)]
mod codec;
mod decode;
mod decoded;
mod encode;
pub mod filter;
mod header;
mod lz4;
mod params;
mod part;
mod pipeline;

pub use decode::{BlockDecoder, decode, decode_range, repeat};
pub use decoded::Decoded;
pub use encode::{BlockEncoder, encode, filled};
pub use header::{Content, Header, LONG, sections};
pub use params::{Params, Split, Target};
pub use part::Stored;
pub use pipeline::{Filter, Pipeline};

use crate::alloc;
use crate::error::Result;

/// What compresses the streams of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Blosc's own, of the FastLZ family.
    BloscLz,
    /// LZ4.
    Lz4,
    /// LZ4 with a thorough search; decodes as LZ4 does.
    Lz4Hc,
    /// Snappy: only in chunks for c-blosc 1.x.
    Snappy,
    /// Deflate in zlib's wrapping.
    Zlib,
    /// Zstandard.
    Zstd,
}

impl Codec {
    /// All there are, in the order of their numbers.
    pub const ALL: [Codec; 6] = [
        Codec::BloscLz,
        Codec::Lz4,
        Codec::Lz4Hc,
        Codec::Snappy,
        Codec::Zlib,
        Codec::Zstd,
    ];

    /// The number that both families use for it in their API, and Blosc2 in its frames.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The codec with this number.
    pub fn from_number(n: u8) -> Option<Codec> {
        Self::ALL.get(usize::from(n)).copied()
    }

    /// The name that both families use for it.
    pub fn name(self) -> &'static str {
        match self {
            Codec::BloscLz => "blosclz",
            Codec::Lz4 => "lz4",
            Codec::Lz4Hc => "lz4hc",
            Codec::Snappy => "snappy",
            Codec::Zlib => "zlib",
            Codec::Zstd => "zstd",
        }
    }

    /// The codec of this name.
    pub fn from_name(name: &str) -> Option<Codec> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }

    /// What the three upper bits of a chunk's flags say: LZ4 and LZ4HC are one format.
    fn format(self) -> u8 {
        match self {
            Codec::BloscLz => 0,
            Codec::Lz4 | Codec::Lz4Hc => 1,
            Codec::Snappy => 2,
            Codec::Zlib => 3,
            Codec::Zstd => 4,
        }
    }
}

/// The first `n` bytes of a buffer that is kept from call to call.
fn room(buffer: &mut Vec<u8>, n: usize) -> Result<&mut [u8]> {
    if buffer.len() < n {
        // not grown: what it holds is of no use, and need not be copied
        *buffer = Vec::new();
        *buffer = alloc::zeroed(n)?;
    }
    Ok(buffer.get_mut(..n).unwrap_or_default())
}

/// Gives back what only a huge block needed.
fn trim(buffer: &mut Vec<u8>) {
    const KEPT: usize = 8 << 20;
    if buffer.len() > KEPT {
        *buffer = Vec::new();
    }
}

#[cfg(test)]
mod tests;
