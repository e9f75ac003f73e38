//! One stream in, one stream out, by any of the codecs, with contexts that are kept and used again.
//!
//! The calls into LZ4's C library are the only unsafe code: it has no safe wrapper that writes into
//! a slice without asking for the memory of a frame.

use super::{Codec, blosclz, lz4, room};
use crate::error::{Result, fail};
use crate::zlib::{self, CompressionLvl, Compressor, Decompressor};
use lz4_sys::{c_char, c_int};
use zstd_safe::{CCtx, DCtx, DDict};

/// What is left of a stream is worth to be left out from this part of it on: the codecs themselves
/// are faster otherwise.
const PART: usize = 8;

unsafe extern "C" {
    // in LZ4's library since 1.3; lz4-sys does not declare it
    fn LZ4_decompress_safe_usingDict(
        source: *const c_char,
        dest: *mut c_char,
        compressed: c_int,
        most: c_int,
        dictionary: *const c_char,
        dictionary_len: c_int,
    ) -> c_int;
}

/// What streams of one chunk were compressed with, ready for use.
pub enum Dictionary {
    Lz4(Vec<u8>),
    Zstd(DDict<'static>),
}

impl Dictionary {
    /// None for a codec that takes no dictionary.
    pub fn new(codec: Codec, bytes: &[u8]) -> Result<Option<Dictionary>> {
        Ok(match codec {
            Codec::Lz4 | Codec::Lz4Hc => Some(Dictionary::Lz4(bytes.to_vec())),
            Codec::Zstd => {
                let ready = DDict::try_create(bytes).ok_or_else(|| {
                    fail!(
                        Format,
                        "zstd refuses the chunk's dictionary of {} bytes",
                        bytes.len()
                    )
                })?;
                Some(Dictionary::Zstd(ready))
            }
            _ => None,
        })
    }
}

/// The length as LZ4 takes it.
fn int(n: usize) -> Option<c_int> {
    c_int::try_from(n).ok()
}

fn lz4_decompress(dictionary: Option<&[u8]>, src: &[u8], dst: &mut [u8]) -> Option<usize> {
    let (from, to) = (src.as_ptr().cast(), dst.as_mut_ptr().cast());
    let (len, most) = (int(src.len())?, int(dst.len())?);
    let n = match dictionary {
        // SAFETY: both pointers are of slices, valid for the lengths that go with them; `_safe`
        // never reads or writes outside of them, whatever the bytes.
        None => unsafe { lz4_sys::LZ4_decompress_safe(from, to, len, most) },
        Some(d) => {
            let known = int(d.len())?;
            // SAFETY: as above; the dictionary is a slice as well, and is only read.
            unsafe { LZ4_decompress_safe_usingDict(from, to, len, most, d.as_ptr().cast(), known) }
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

/// The decoders of one thread.
#[derive(Default)]
pub struct Decoders {
    zstd: Option<DCtx<'static>>,
    zlib: Option<Decompressor>,
}

impl Decoders {
    /// Fills `dst` with what the stream holds; false where the stream is damaged.
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

    /// Fills at least the first `wanted` bytes of `dst`, which is as long as what the stream holds.
    /// False where the stream is damaged; behind what was wanted that may stay unseen.
    pub fn decode_first(
        &mut self,
        codec: Codec,
        src: &[u8],
        dst: &mut [u8],
        wanted: usize,
    ) -> Result<bool> {
        if wanted > dst.len() - dst.len() / PART {
            return self.decode(codec, None, src, dst);
        }
        self.decode_some(codec, src, dst, wanted)
    }

    /// Fills at least the first `wanted` bytes of `dst`, which has room for all that the stream
    /// holds; `src` may end where no more is needed for them: see [`needed`]. False where the
    /// stream is damaged.
    pub fn decode_some(
        &mut self,
        codec: Codec,
        src: &[u8],
        dst: &mut [u8],
        wanted: usize,
    ) -> Result<bool> {
        let n = match codec {
            _ if wanted >= dst.len() => return self.decode(codec, None, src, dst),
            Codec::BloscLz => blosclz::decompress_some(src, dst, wanted),
            Codec::Lz4 | Codec::Lz4Hc => lz4::decompress_some(src, dst, wanted),
            _ => return self.decode(codec, None, src, dst),
        };
        Ok(n.is_some_and(|n| n >= wanted))
    }
}

/// How many bytes of a stream of `len` bytes are enough for the first `wanted` of its `all` bytes
/// of content.
pub fn needed(codec: Codec, len: usize, wanted: usize, all: usize) -> usize {
    match codec {
        // never more bytes of codes than of content, but for those that say how long a run is,
        // which may go far beyond
        Codec::BloscLz | Codec::Lz4 | Codec::Lz4Hc if wanted < all => {
            len.min(wanted.saturating_mul(2).saturating_add(all / 255 + 64))
        }
        _ => len,
    }
}

/// The encoders of one thread.
#[derive(Default)]
pub struct Encoders {
    zstd: Option<CCtx<'static>>,
    zlib: Option<(u8, Compressor)>,
    snappy: Option<snap::raw::Encoder>,
    scratch: Vec<u8>,
}

impl Encoders {
    /// Compresses `src` into `dst` and returns the length, or None where it does not get shorter
    /// than `dst`. `level` is 1 to 9.
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
        // it wants room for the worst case
        let scratch = room(&mut self.scratch, snap::raw::max_compress_len(src.len()))?;
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
