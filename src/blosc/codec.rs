//! Compression and decompression of a single stream with any of the codecs. Codec contexts are
//! reused.
#![forbid(unsafe_code)]

use super::{Codec, blosclz, get_or_create, lz4, lz4_library, scratch_slice};
use crate::error::{Result, fail};
use crate::zlib::{self, CompressionLvl, Compressor, Decompressor};
use zstd_safe::{CCtx, CDict, DCtx, DDict};

/// A prefix is decoded separately if at least this fraction (1/8) of the stream can be skipped.
/// Below, the codecs themselves are faster.
const MIN_SKIPPED_FRACTION: usize = 8;

/// The dictionary of a chunk, prepared for the decoder of its codec.
pub enum Dictionary {
    Lz4(Vec<u8>),
    Zstd(DDict<'static>),
}

impl Dictionary {
    /// Prepares a dictionary. Returns `None` if the codec does not use dictionaries.
    pub fn new(codec: Codec, bytes: &[u8]) -> Result<Option<Dictionary>> {
        Ok(match codec {
            Codec::Lz4 | Codec::Lz4Hc => Some(Dictionary::Lz4(bytes.to_vec())),
            Codec::Zstd => {
                let ready = DDict::try_create(bytes).ok_or_else(|| {
                    fail!(
                        Format,
                        "the dictionary of the chunk ({} bytes) is not valid for zstd",
                        bytes.len()
                    )
                })?;
                Some(Dictionary::Zstd(ready))
            }
            _ => None,
        })
    }
}

/// Decoder contexts of one thread.
#[derive(Default)]
pub struct Decoders {
    zstd: Option<DCtx<'static>>,
    zlib: Option<Decompressor>,
}

impl Decoders {
    /// Decompresses a stream into `dst`. Returns false if the stream is corrupt.
    pub fn decode(
        &mut self,
        codec: Codec,
        dictionary: Option<&Dictionary>,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<bool> {
        let n = match codec {
            Codec::BloscLz => blosclz::decompress(src, dst),
            Codec::Lz4 | Codec::Lz4Hc => {
                let dictionary = if let Some(Dictionary::Lz4(d)) = dictionary {
                    Some(d.as_slice())
                } else {
                    None
                };
                lz4_library::decompress(dictionary, src, dst)
            }
            Codec::Snappy => snap::raw::Decoder::new().decompress(src, dst).ok(),
            Codec::Zlib => self
                .zlib
                .get_or_insert_with(zlib::decompressor)
                .zlib_decompress(src, dst)
                .ok(),
            Codec::Zstd => {
                let context = get_or_create(&mut self.zstd, || {
                    DCtx::try_create().ok_or_else(|| fail!(Memory, "no memory for a zstd decoder"))
                })?;
                match dictionary {
                    Some(Dictionary::Zstd(d)) => context.decompress_using_ddict(dst, src, d).ok(),
                    _ => context.decompress(dst, src).ok(),
                }
            }
        };
        Ok(n == Some(dst.len()))
    }

    /// Decompresses at least the first `requested` bytes of a stream. `dst` has the length of the
    /// whole content. Returns false if the stream is corrupt; corruption after the requested bytes
    /// may go undetected.
    pub fn decode_prefix(
        &mut self,
        codec: Codec,
        src: &[u8],
        dst: &mut [u8],
        requested: usize,
    ) -> Result<bool> {
        if requested > dst.len() - dst.len() / MIN_SKIPPED_FRACTION {
            return self.decode(codec, None, src, dst);
        }
        self.decode_partial(codec, src, dst, requested)
    }

    /// Decompresses at least the first `requested` bytes of a stream whose `src` may be cut off
    /// after [`source_len_for_prefix`] bytes. `dst` has the length of the whole content. Returns
    /// false if the stream is corrupt.
    pub fn decode_partial(
        &mut self,
        codec: Codec,
        src: &[u8],
        dst: &mut [u8],
        requested: usize,
    ) -> Result<bool> {
        let n = match codec {
            _ if requested >= dst.len() => return self.decode(codec, None, src, dst),
            Codec::BloscLz => blosclz::decompress_prefix(src, dst, requested),
            Codec::Lz4 | Codec::Lz4Hc => lz4::decompress_prefix(src, dst, requested),
            _ => return self.decode(codec, None, src, dst),
        };
        Ok(n.is_some_and(|n| n >= requested))
    }
}

/// Returns how many bytes of a stream of `len` bytes suffice for the first `requested` of its `all`
/// bytes of content.
pub fn source_len_for_prefix(codec: Codec, len: usize, requested: usize, all: usize) -> usize {
    match codec {
        // instructions never take more bytes than their content, except the length bytes of a run,
        // which may extend far beyond the requested bytes
        Codec::BloscLz | Codec::Lz4 | Codec::Lz4Hc if requested < all => {
            len.min(requested.saturating_mul(2).saturating_add(all / 255 + 64))
        }
        _ => len,
    }
}

/// The dictionary of a new chunk, prepared for the encoder of its codec.
pub enum EncoderDictionary {
    Lz4(lz4_library::Dictionary),
    Zstd(CDict<'static>, Vec<u8>),
}

impl EncoderDictionary {
    /// Prepares a dictionary. `level` is that of the chunk. Returns `None` if the codec does not use
    /// dictionaries.
    pub fn new(codec: Codec, level: u8, bytes: Vec<u8>) -> Result<Option<EncoderDictionary>> {
        let kind = match codec {
            Codec::Lz4 => lz4_library::Kind::Lz4,
            Codec::Lz4Hc => lz4_library::Kind::Lz4Hc,
            Codec::Zstd => {
                let ready = CDict::try_create(&bytes, zstd_level(level))
                    .ok_or_else(|| fail!(Memory, "no memory for a dictionary of zstd"))?;
                return Ok(Some(EncoderDictionary::Zstd(ready, bytes)));
            }
            _ => return Ok(None),
        };
        lz4_library::Dictionary::new(kind, level, &bytes)
            .map(|ready| Some(EncoderDictionary::Lz4(ready)))
    }

    /// Returns the dictionary as it is stored.
    pub fn bytes(&self) -> &[u8] {
        match self {
            EncoderDictionary::Lz4(dictionary) => dictionary.bytes(),
            EncoderDictionary::Zstd(_, bytes) => bytes,
        }
    }
}

/// Returns the level of zstd for a level of chunks.
pub fn zstd_level(level: u8) -> i32 {
    if level < 9 {
        i32::from(level) * 2 - 1
    } else {
        zstd_safe::max_c_level()
    }
}

/// Encoder contexts of one thread.
#[derive(Default)]
pub struct Encoders {
    lz4: lz4_library::Encoders,
    zstd: Option<CCtx<'static>>,
    zlib: Option<(u8, Compressor)>,
    snappy: Option<snap::raw::Encoder>,
    scratch: Vec<u8>,
}

impl Encoders {
    /// Compresses `src` into `dst`. Returns the compressed length, or `None` if it is not less than
    /// the length of `dst`. `level` must be 1 to 9.
    pub fn encode(
        &mut self,
        codec: Codec,
        level: u8,
        dictionary: Option<&EncoderDictionary>,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<Option<usize>> {
        let n = match (codec, dictionary) {
            (_, Some(EncoderDictionary::Lz4(dictionary))) => {
                self.lz4.compress(dictionary, src, dst)?
            }
            (_, Some(EncoderDictionary::Zstd(dictionary, _))) => {
                self.zstd()?.compress_using_cdict(dst, src, dictionary).ok()
            }
            (Codec::BloscLz, None) => Some(blosclz::compress(level, src, dst)),
            (Codec::Lz4, None) => lz4_library::compress(level, src, dst),
            (Codec::Lz4Hc, None) => lz4_library::compress_hc(level, src, dst),
            (Codec::Snappy, None) => self.snappy(src, dst)?,
            (Codec::Zlib, None) => self.zlib(level, src, dst)?,
            (Codec::Zstd, None) => self.zstd()?.compress(dst, src, zstd_level(level)).ok(),
        };
        Ok(n.filter(|n| *n > 0 && *n < dst.len()))
    }

    fn zstd(&mut self) -> Result<&mut CCtx<'static>> {
        get_or_create(&mut self.zstd, || {
            CCtx::try_create().ok_or_else(|| fail!(Memory, "no memory for a zstd encoder"))
        })
    }

    fn snappy(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>> {
        // the encoder needs a buffer for the worst case
        let scratch = scratch_slice(&mut self.scratch, snap::raw::max_compress_len(src.len()))?;
        let Ok(n) = self
            .snappy
            .get_or_insert_with(snap::raw::Encoder::new)
            .compress(src, scratch)
        else {
            return Ok(None);
        };
        let (Some(from), Some(to)) = (scratch.get(..n), dst.get_mut(..n)) else {
            return Ok(None);
        };
        to.copy_from_slice(from);
        Ok(Some(n))
    }

    fn zlib(&mut self, level: u8, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>> {
        if self.zlib.as_ref().is_none_or(|(l, _)| *l != level) {
            let known = CompressionLvl::new(i32::from(level))
                .map_err(|_| fail!(Argument, "zlib has no level {level}"))?;
            self.zlib = Some((level, zlib::compressor(known)));
        }
        Ok(self
            .zlib
            .as_mut()
            .and_then(|(_, c)| c.zlib_compress(src, dst).ok()))
    }
}
