//! Decides which parts of a mapped file are read by system calls instead of through the mapping.
//!
//! The first access to a part of a mapping is a page fault, which also maps the surrounding pages.
//! The fault takes several times as long as the system call that copies a record of a few
//! kilobytes. A part is therefore read until the reads have taken about as long as a fault. Later
//! accesses copy from the mapping, which is faster.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::parallel::get_or_init;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// Bytes that Linux maps per fault.
const PART: u64 = 64 << 10;
/// Shorter ranges are never read: a part holds so many of them that it is mapped soon anyway.
const SMALL: usize = 2 << 10;
/// Number of reads that take as long as a fault.
const READS: u8 = 8;

/// Number of reads per part of one file.
#[derive(Default)]
pub struct ReadCounts(OnceLock<Vec<AtomicU8>>);

impl ReadCounts {
    /// Returns whether to read `n` bytes at `at` instead of copying them from a mapping of `len`
    /// bytes. Counts each such read.
    pub fn prefers_read(&self, at: u64, n: usize, len: usize) -> bool {
        if n < SMALL {
            return false;
        }
        let parts = get_or_init(&self.0, || ReadCounts::table(len));
        let Some(reads) = usize::try_from(at / PART)
            .ok()
            .and_then(|part| parts.get(part))
        else {
            return false;
        };
        // losing a concurrent update is harmless
        let before = reads.load(Ordering::Relaxed);
        if before < READS {
            reads.store(before + 1, Ordering::Relaxed);
        }
        before < READS
    }

    /// Returns an empty table without memory for it; then all accesses use the mapping.
    fn table(len: usize) -> Vec<AtomicU8> {
        alloc::defaults(len.div_ceil(PART as usize)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_until_reads_cost_as_much_as_a_fault() {
        let (counts, len) = (ReadCounts::default(), 3 * PART as usize - 1);
        let read = |at, n| counts.prefers_read(at, n, len);
        assert!(!read(0, SMALL - 1));
        assert_eq!(
            (0..10).filter(|k| read(PART + k * 4096, SMALL)).count(),
            READS as usize
        );
        assert!(!read(2 * PART - 1, len));
        assert!(read(2 * PART, SMALL) && read(0, len));
        assert!(!read(u64::MAX, SMALL));
    }
}
