//! The calls into LZ4's C library. No safe wrapper of it writes into a slice without allocating.

use super::get_or_create;
use crate::error::{Result, fail};
use lz4_sys::{c_char, c_int};
use std::ptr::NonNull;

/// The state of an encoder in LZ4's library.
#[repr(C)]
struct Stream {
    _opaque: [u8; 0],
}

// all in LZ4's library since 1.10; lz4-sys does not declare them
unsafe extern "C" {
    fn LZ4_decompress_safe_usingDict(
        source: *const c_char,
        dest: *mut c_char,
        compressed: c_int,
        capacity: c_int,
        dictionary: *const c_char,
        dictionary_len: c_int,
    ) -> c_int;
    fn LZ4_resetStream_fast(stream: *mut Stream);
    fn LZ4_loadDictSlow(stream: *mut Stream, dictionary: *const c_char, len: c_int) -> c_int;
    fn LZ4_attach_dictionary(stream: *mut Stream, dictionary: *const Stream);
    fn LZ4_compress_fast_continue(
        stream: *mut Stream,
        source: *const c_char,
        dest: *mut c_char,
        len: c_int,
        capacity: c_int,
        acceleration: c_int,
    ) -> c_int;
    fn LZ4_createStreamHC() -> *mut Stream;
    fn LZ4_freeStreamHC(stream: *mut Stream) -> c_int;
    fn LZ4_resetStreamHC_fast(stream: *mut Stream, level: c_int);
    fn LZ4_loadDictHC(stream: *mut Stream, dictionary: *const c_char, len: c_int) -> c_int;
    fn LZ4_attach_HC_dictionary(stream: *mut Stream, dictionary: *const Stream);
    fn LZ4_compress_HC_continue(
        stream: *mut Stream,
        source: *const c_char,
        dest: *mut c_char,
        len: c_int,
        capacity: c_int,
    ) -> c_int;
}

/// Converts a length to the type of LZ4's API.
fn int(n: usize) -> Option<c_int> {
    c_int::try_from(n).ok()
}

fn acceleration(level: u8) -> c_int {
    10 - c_int::from(level.min(9))
}

/// Decompresses a stream and returns the length of its content; `None` if it is corrupt.
pub fn decompress(dictionary: Option<&[u8]>, src: &[u8], dst: &mut [u8]) -> Option<usize> {
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

/// Compresses `src` and returns the length of the stream; 0 or `None` if `dst` is too short.
pub fn compress(level: u8, src: &[u8], dst: &mut [u8]) -> Option<usize> {
    // SAFETY: both pointers are of slices, valid for the lengths that go with them; LZ4 writes no
    // further than the last one says and returns 0 where that is too little.
    let n = unsafe {
        lz4_sys::LZ4_compress_fast(
            src.as_ptr().cast(),
            dst.as_mut_ptr().cast(),
            int(src.len())?,
            int(dst.len())?,
            acceleration(level),
        )
    };
    usize::try_from(n).ok()
}

/// Like [`compress`], with the encoder of LZ4HC.
pub fn compress_hc(level: u8, src: &[u8], dst: &mut [u8]) -> Option<usize> {
    // SAFETY: as in `compress`.
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

/// Which encoder.
#[derive(Clone, Copy)]
pub enum Kind {
    Lz4,
    Lz4Hc,
}

/// The state of an encoder, which is freed with it.
struct State(NonNull<Stream>, Kind);

impl State {
    fn new(kind: Kind) -> Result<State> {
        // SAFETY: neither has arguments; both return a new state or null.
        let stream = unsafe {
            match kind {
                Kind::Lz4 => lz4_sys::LZ4_createStream().cast(),
                Kind::Lz4Hc => LZ4_createStreamHC(),
            }
        };
        let stream = NonNull::new(stream).ok_or_else(|| fail!(Memory, "no memory for LZ4"))?;
        Ok(State(stream, kind))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: the state was created by the library, for this kind, and is freed once.
        unsafe {
            match self.1 {
                Kind::Lz4 => lz4_sys::LZ4_freeStream(self.0.as_ptr().cast()),
                Kind::Lz4Hc => LZ4_freeStreamHC(self.0.as_ptr()),
            }
        };
    }
}

/// A dictionary, prepared for an encoder.
pub struct Dictionary {
    state: State,
    level: u8,
    /// The state refers to these.
    bytes: Box<[u8]>,
}

// SAFETY: the state is not changed after `new`; encoders only read it, as LZ4 documents.
unsafe impl Send for Dictionary {}
// SAFETY: as above.
unsafe impl Sync for Dictionary {}

impl Dictionary {
    pub fn new(kind: Kind, level: u8, bytes: &[u8]) -> Result<Dictionary> {
        let (state, bytes): (_, Box<[u8]>) = (State::new(kind)?, bytes.into());
        let len = int(bytes.len()).ok_or_else(|| fail!(Limit, "the dictionary is too long"))?;
        let (stream, from) = (state.0.as_ptr(), bytes.as_ptr().cast());
        // SAFETY: the state is new and of this kind, and lives no longer than the bytes, which do not
        // move with their box.
        unsafe {
            match kind {
                Kind::Lz4 => LZ4_loadDictSlow(stream, from, len),
                Kind::Lz4Hc => {
                    LZ4_resetStreamHC_fast(stream, c_int::from(level));
                    LZ4_loadDictHC(stream, from, len)
                }
            }
        };
        Ok(Dictionary {
            state,
            level,
            bytes,
        })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Encoders that use dictionaries.
#[derive(Default)]
pub struct Encoders([Option<State>; 2]);

impl Encoders {
    /// Like [`compress`] or [`compress_hc`]. The stream refers to the dictionary only.
    pub fn compress(
        &mut self,
        dictionary: &Dictionary,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<Option<usize>> {
        let kind = dictionary.state.1;
        let [lz4, lz4hc] = &mut self.0;
        let state = match kind {
            Kind::Lz4 => lz4,
            Kind::Lz4Hc => lz4hc,
        };
        let stream = get_or_create(state, || State::new(kind))?;
        let (Some(len), Some(capacity)) = (int(src.len()), int(dst.len())) else {
            return Ok(None);
        };
        let (stream, known) = (stream.0.as_ptr(), dictionary.state.0.as_ptr());
        let (from, to) = (src.as_ptr().cast(), dst.as_mut_ptr().cast());
        // SAFETY: both states are alive and of this kind. That of the encoder is used by this thread
        // alone; it refers to the dictionary, to `src` and to `dst` until its next use, which begins
        // by resetting it. The slices are valid for their lengths, and `dst` overlaps none of them.
        let n = unsafe {
            match kind {
                Kind::Lz4 => {
                    LZ4_resetStream_fast(stream);
                    LZ4_attach_dictionary(stream, known);
                    let speed = acceleration(dictionary.level);
                    LZ4_compress_fast_continue(stream, from, to, len, capacity, speed)
                }
                Kind::Lz4Hc => {
                    LZ4_resetStreamHC_fast(stream, c_int::from(dictionary.level));
                    LZ4_attach_HC_dictionary(stream, known);
                    LZ4_compress_HC_continue(stream, from, to, len, capacity)
                }
            }
        };
        Ok(usize::try_from(n).ok())
    }
}
