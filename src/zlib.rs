//! zlib's format and Adler-32, by libdeflate: all its contexts are made here.
//!
//! libdeflate chooses the kernels for this processor when they are first called, and keeps them in
//! plain variables. Threads that call it for the first time at once all write the same there; to C
//! that is a race all the same. So one thread lets it choose before any other calls it.
#![forbid(unsafe_code)]

use crate::os;
pub use libdeflater::{Adler32, CompressionLvl, Compressor, DecompressionError, Decompressor};
use std::sync::atomic::{AtomicU32, Ordering};

/// Packs into zlib's format.
pub fn compressor(level: CompressionLvl) -> Compressor {
    chosen();
    Compressor::new(level)
}

/// Unpacks zlib's format.
pub fn decompressor() -> Decompressor {
    chosen();
    Decompressor::new()
}

/// An Adler-32 under way.
pub fn adler32() -> Adler32 {
    chosen();
    Adler32::new()
}

/// The process in which a thread lets it choose; DONE, or 0: none did yet. No process has these
/// numbers.
static CHOSEN: AtomicU32 = AtomicU32::new(0);
const DONE: u32 = u32::MAX;

fn chosen() {
    loop {
        let by = CHOSEN.load(Ordering::Acquire);
        if by == DONE {
            return;
        }
        let me = os::process();
        if by == me {
            // another thread is at it, for microseconds
            std::thread::yield_now();
        } else if CHOSEN
            .compare_exchange(by, me, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
        {
            // nobody was, or a thread of the parent's that this child, forked, does not have
            choose();
            CHOSEN.store(DONE, Ordering::Release);
        }
    }
}

/// Calls each that chooses: the sum in the packed bytes, and the one that unpacks them.
fn choose() {
    let mut packed = [0; 64];
    let n = Compressor::new(CompressionLvl::fastest())
        .zlib_compress(b"?", &mut packed)
        .unwrap_or(0);
    let _ = Decompressor::new().zlib_decompress(packed.get(..n).unwrap_or(&[]), &mut [0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let mut packed = [0; 64];
        let n = compressor(CompressionLvl::default())
            .zlib_compress(b"holdall", &mut packed)
            .unwrap();
        let mut back = [0; 7];
        assert_eq!(
            decompressor().zlib_decompress(&packed[..n], &mut back),
            Ok(7)
        );
        assert_eq!(&back, b"holdall");
        assert_eq!(CHOSEN.load(Ordering::Acquire), DONE);
        // what a fork leaves of a choice under way
        CHOSEN.store(os::process() ^ 1, Ordering::Release);
        let mut sum = adler32();
        sum.update(b"abc");
        assert_eq!(sum.sum(), 0x024d0127);
        assert_eq!(CHOSEN.load(Ordering::Acquire), DONE);
    }
}
