//! Compression and decompression of a single stream with any of the codecs. Codec contexts are
//! reused.
//!
//! The calls into LZ4's C library are the only unsafe code. No safe wrapper of LZ4 writes into a
//! slice without allocating.

use super::{Codec, blosclz, lz4, scratch_slice};
use crate::error::{Result, fail};
use crate::zlib::{self, CompressionLvl, Compressor, Decompressor};
use lz4_sys::{c_char, c_int};
use zstd_safe::{CCtx, DCtx, DDict};

/// A prefix is decoded separately if at least this fraction (1/8) of the stream can be skipped.
/// Below, the codecs themselves are faster.
const MIN_SKIPPED_FRACTION: usize = 8;

unsafe extern "C" {
    // in LZ4's library since 1.3; lz4-sys does not declare it
    fn LZ4_decompress_safe_usingDict(
        source: *const c_char,
        dest: *mut c_char,
        compressed: c_int,
        capacity: c_int,
        dictionary: *const c_char,
        dictionary_len: c_int,
    ) -> c_int;
}

/// The dictionary of a chunk, prepared for its codec.
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

/// Converts a length to the type of LZ4's API.
fn int(n: usize) -> Option<c_int> {
    c_int::try_from(n).ok()
}

fn lz4_decompress(dictionary: Option<&[u8]>, src: &[u8], dst: &mut [u8]) -> Option<usize> {
    let (from, to) = (src.as_ptr().cast(), dst.as_mut_ptr().cast());
    let (len, capacity) = (int(src.len())?, int(dst.len())?);
    let n = match dictionary {
        // SAFETY: both pointers are of slices, valid for the lengths that go with them; `_safe`
        // never reads or writes outside of them, whatever the bytes.
        None => unsafe { lz4_sys::LZ4_decompress_safe(from, to, len, capacity) },
        Some(d) => {
            let known = int(d.len())?;
            // SAFETY: as above; the dictionary is a slice as well, and is only read.
            unsafe {
                LZ4_decompress_safe_usingDict(from, to, len, capacity, d.as_ptr().cast(), known)
            }
        }
    };
    usize::try_from(n).ok()
}

fn lz4_compress(level: u8, src: &[u8], dst: &mut [u8]) -> Option<usize> {
    let acceleration = 10 - c_int::from(level.min(9));
    // SAFETY: both pointers are of slices, valid for the lengths that go with them; LZ4 writes no
    // further than the last one says and returns 0 where that is too little.
    let n = unsafe {
        lz4_sys::LZ4_compress_fast(
            src.as_ptr().cast(),
            dst.as_mut_ptr().cast(),
            int(src.len())?,
            int(dst.len())?,
            acceleration,
        )
    };
    usize::try_from(n).ok()
}

fn lz4hc_compress(level: u8, src: &[u8], dst: &mut [u8]) -> Option<usize> {
    // SAFETY: as in `lz4_compress`.
    let n = unsafe {
        lz4_sys::LZ4_compress_HC(
            src.as_ptr().cast(),
            dst.as_mut_ptr().cast(),
            int(src.len())?,
            int(dst.len())?,
            c_int::from(level),
        )
    };
    usize::try_from(n).ok()
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
                lz4_decompress(dictionary, src, dst)
            }
            Codec::Snappy => snap::raw::Decoder::new().decompress(src, dst).ok(),
            Codec::Zlib => self
                .zlib
                .get_or_insert_with(zlib::decompressor)
                .zlib_decompress(src, dst)
                .ok(),
            Codec::Zstd => {
                if self.zstd.is_none() {
                    self.zstd = DCtx::try_create();
                }
                let context = self
                    .zstd
                    .as_mut()
                    .ok_or_else(|| fail!(Memory, "no memory for a zstd decoder"))?;
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

/// Encoder contexts of one thread.
#[derive(Default)]
pub struct Encoders {
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
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<Option<usize>> {
        let n = match codec {
            Codec::BloscLz => Some(blosclz::compress(level, src, dst)),
            Codec::Lz4 => lz4_compress(level, src, dst),
            Codec::Lz4Hc => lz4hc_compress(level, src, dst),
            Codec::Snappy => self.snappy(src, dst)?,
            Codec::Zlib => self.zlib(level, src, dst)?,
            Codec::Zstd => {
                if self.zstd.is_none() {
                    self.zstd = CCtx::try_create();
                }
                let context = self
                    .zstd
                    .as_mut()
                    .ok_or_else(|| fail!(Memory, "no memory for a zstd encoder"))?;
                let level = if level < 9 {
                    i32::from(level) * 2 - 1
                } else {
                    zstd_safe::max_c_level()
                };
                context.compress(dst, src, level).ok()
            }
        };
        Ok(n.filter(|n| *n > 0 && *n < dst.len()))
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
