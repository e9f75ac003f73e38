//! Dictionaries of new chunks. A dictionary is stored in the chunk, after the table of block offsets.
//! Each stream refers to it as if it was preceded by the dictionary, which makes short streams
//! smaller.
//!
//! Its size is that of c-blosc2 3.3.2, from which on LZ4 and LZ4HC have dictionaries, too. There, the
//! content of a dictionary for these is the start of the streams; here, all are trained.
#![forbid(unsafe_code)]

use super::Params;
use super::codec::{EncoderDictionary, zstd_level};
use crate::error::Result;
use crate::zdict::{MIN_DICTIONARY, Samples};

/// Maximum size of a new dictionary. Readers accept larger ones.
const MAX_SIZE: usize = 32 << 10;
/// A dictionary has at most this share of the content of its chunk: one byte of 20.
const BYTES_PER_BYTE: usize = 20;
/// Minimum number of streams. A dictionary for fewer would cost more than it saves.
const MIN_STREAMS: usize = 8;

/// One of at most this many blocks measures what a dictionary gains.
const MEASURED: usize = 8;
/// The size with a dictionary, in percent of that without, from which on none is used.
const MAX_PERCENT: usize = 95;

/// Returns how many blocks there are for each that is measured.
pub fn sample_step(blocks: usize) -> usize {
    (blocks / MEASURED).clamp(1, MEASURED)
}

/// Returns whether a dictionary that makes blocks of `plain` bytes to `with` bytes, its own included,
/// is worth its time.
pub fn gains(plain: usize, with: usize) -> bool {
    with.saturating_mul(100) <= plain.saturating_mul(MAX_PERCENT)
}

/// Collects parts of the streams of a chunk, and trains its dictionary.
pub struct Training {
    samples: Samples,
    size: usize,
    /// Bytes of each stream that are used.
    share: usize,
}

impl Training {
    /// Returns none if a chunk with `n` bytes of content in this many streams has no dictionary.
    pub fn new(params: &Params, n: usize, streams: usize) -> Option<Training> {
        let size = MAX_SIZE.min(n / BYTES_PER_BYTE);
        let useful = size >= MIN_DICTIONARY && streams >= MIN_STREAMS;
        (params.dictionary && params.level > 0 && useful).then(|| Training {
            samples: Samples::default(),
            size,
            share: size * BYTES_PER_BYTE / streams,
        })
    }

    /// Adds a stream, before it is compressed.
    pub fn push(&mut self, stream: &[u8]) -> Result<()> {
        self.samples
            .push(stream.get(..self.share).unwrap_or(stream))
    }

    /// Returns the dictionary, or none if the streams have nothing in common.
    pub fn finish(self, params: &Params) -> Result<Option<EncoderDictionary>> {
        match self.samples.train(self.size, zstd_level(params.level))? {
            Some(bytes) => EncoderDictionary::new(params.codec, params.level, bytes),
            None => Ok(None),
        }
    }
}
