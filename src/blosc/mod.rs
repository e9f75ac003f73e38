//! Encoding and decoding of Blosc chunks.
//!
//! A chunk consists of blocks. Each block passes through filters (shuffle and others), is
//! optionally split into streams, and is compressed by one of six codecs.
//!
//! Two families of readers share the format: c-blosc 1.x (header of 16 bytes; Bloscpack, BLZ,
//! bcolz) and c-blosc2 (header of 32 bytes; frames, Caterva, b2nd). [`decode`] reads both, and
//! [`encode`] writes for either.
//!
//! This layer does not access files and trusts no byte of a chunk. Every offset, length and size is
//! checked before it is used. The size of a chunk and the size of its content bound the cost of
//! decoding it.

pub mod block_cache;
mod block_content;
pub mod blosclz;
mod chunk_dictionary;
mod codec;
mod decode;
mod encode;
mod encoding;
pub mod filter;
mod header;
mod lz4;
#[allow(unsafe_code)]
mod lz4_library;
mod params;
mod partial_decode;
mod pipeline;
pub mod stored;
mod variable_blocks;

pub use block_content::Decoded;
pub use decode::{BlockDecoder, DecodeContext, decode, decode_range, repeat};
pub use encode::{BlockEncoder, copied_header, encode, encode_filled};
pub use encoding::{StoredCodec, StoredEncoding, stored_filters, used_filters};
pub use header::{Content, EXTENDED_HEADER_LEN, Header, sections};
pub use params::{Params, Split, Target};
pub use pipeline::{Filter, Pipeline, TRUNCATE};
pub use variable_blocks::encode_variable;

use crate::alloc;
use crate::error::Result;
use crate::slice::SliceExt;

/// A codec: the compression algorithm of the streams of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// BloscLZ, Blosc's own codec of the FastLZ family.
    BloscLz,
    /// LZ4.
    Lz4,
    /// LZ4 with a thorough search for matches; the compressed format is that of LZ4.
    Lz4Hc,
    /// Snappy: only in chunks for c-blosc 1.x.
    Snappy,
    /// Deflate in the zlib format.
    Zlib,
    /// Zstandard.
    Zstd,
}

impl Codec {
    /// All codecs, in the order of their numbers.
    pub const ALL: [Codec; 6] = [
        Codec::BloscLz,
        Codec::Lz4,
        Codec::Lz4Hc,
        Codec::Snappy,
        Codec::Zlib,
        Codec::Zstd,
    ];

    /// The codecs of chunks for c-blosc2.
    #[cfg(test)]
    pub const FOR_BLOSC2: [Codec; 5] = [
        Codec::BloscLz,
        Codec::Lz4,
        Codec::Lz4Hc,
        Codec::Zlib,
        Codec::Zstd,
    ];

    /// Returns the number of the codec in the APIs of both families and in Blosc2 frames.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Returns the codec with this number.
    pub fn from_number(n: u8) -> Option<Codec> {
        Self::ALL.get(usize::from(n)).copied()
    }

    /// Returns the name of the codec in both families.
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

    /// Returns the codec with this name.
    pub fn from_name(name: &str) -> Option<Codec> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }

    /// Returns whether chunks for c-blosc2 can have a dictionary for this codec.
    pub fn uses_dictionaries(self) -> bool {
        matches!(self, Codec::Lz4 | Codec::Lz4Hc | Codec::Zstd)
    }

    /// Returns the format number in the three upper bits of a chunk's flags. LZ4 and LZ4HC share
    /// one format.
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

/// Returns the value, which is created by the first call.
fn get_or_create<T>(value: &mut Option<T>, create: impl FnOnce() -> Result<T>) -> Result<&mut T> {
    Ok(match value {
        Some(value) => value,
        None => value.insert(create()?),
    })
}

/// Returns the first `n` bytes of a reusable buffer.
fn scratch_slice(buffer: &mut Vec<u8>, n: usize) -> Result<&mut [u8]> {
    if buffer.len() < n {
        // replaced instead of grown, because the old content need not be copied
        *buffer = Vec::new();
        *buffer = alloc::zeroed(n)?;
    }
    buffer.at_mut(..n)
}

/// Frees a reusable buffer that has become too large to be retained.
fn release_if_large(buffer: &mut Vec<u8>) {
    const MAX_RETAINED: usize = 8 << 20;
    if buffer.len() > MAX_RETAINED {
        *buffer = Vec::new();
    }
}

#[cfg(test)]
mod tests;
