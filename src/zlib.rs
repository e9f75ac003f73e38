//! The zlib format and Adler-32, implemented by libdeflate. This module creates all libdeflate
//! contexts.
//!
//! libdeflate selects the kernels for the processor on the first call and stores them in plain
//! variables. Concurrent first calls write the same values, but in C this is still a data race.
//! Therefore one thread triggers the selection before any other thread calls libdeflate.
#![forbid(unsafe_code)]

use crate::os;
pub use libdeflater::{Adler32, CompressionLvl, Compressor, DecompressionError, Decompressor};
use std::sync::atomic::{AtomicU32, Ordering};

/// Creates a compressor for the zlib format.
pub fn compressor(level: CompressionLvl) -> Compressor {
    ensure_selected();
    Compressor::new(level)
}

/// Creates a decompressor for the zlib format.
pub fn decompressor() -> Decompressor {
    ensure_selected();
    Decompressor::new()
}

/// Creates an incremental Adler-32 checksum.
pub fn adler32() -> Adler32 {
    ensure_selected();
    Adler32::new()
}

/// The process in which a thread selects the kernels; DONE afterwards, 0 before. Neither value is
/// the id of a process.
static SELECTION: AtomicU32 = AtomicU32::new(0);
const DONE: u32 = u32::MAX;

fn ensure_selected() {
    loop {
        let by = SELECTION.load(Ordering::Acquire);
        if by == DONE {
            return;
        }
        let me = os::process();
        if by == me {
            // another thread is selecting, which takes microseconds
            std::thread::yield_now();
        } else if SELECTION
            .compare_exchange(by, me, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
        {
            // No thread was selecting, or a thread of the parent process was, which this forked
            // child does not have.
            select_kernels();
            SELECTION.store(DONE, Ordering::Release);
        }
    }
}

/// Calls each function that selects a kernel: Adler-32, as part of compression, and decompression.
fn select_kernels() {
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
    fn compressed_bytes_are_decompressed_again() {
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
        assert_eq!(SELECTION.load(Ordering::Acquire), DONE);
        // the state in a child that was forked during the selection
        SELECTION.store(os::process() ^ 1, Ordering::Release);
        let mut checksum = adler32();
        checksum.update(b"abc");
        assert_eq!(checksum.sum(), 0x024d0127);
        assert_eq!(SELECTION.load(Ordering::Acquire), DONE);
    }
}
