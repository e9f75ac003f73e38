//! Which parts of a mapped file are worth mapping.
//!
//! The first access to a part of a mapping is a page fault, in which the system maps the pages
//! around it, too: that takes several times as long as the system call that copies a record of a
//! few kilobytes. So what is to be copied is read from a part until that has taken about as long as
//! the fault would; from then on it comes from the mapping, which is faster.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::parallel::made;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// What Linux maps at a fault.
const PART: u64 = 64 << 10;
/// Less than this is never read: so many such records lie in a part that it is mapped soon anyway.
const SMALL: usize = 2 << 10;
/// Reads of a part that take as long as a fault.
const READS: u8 = 8;

/// How often parts of one file were read.
#[derive(Default)]
pub struct Touched(OnceLock<Vec<AtomicU8>>);

impl Touched {
    /// Shall `n` bytes from `at` on, of a mapping of `len`, be read rather than copied from there?
    /// Counts those that are.
    pub fn read_rather(&self, at: u64, n: usize, len: usize) -> bool {
        if n < SMALL {
            return false;
        }
        let parts = made(&self.0, || Touched::table(len));
        let Some(reads) = usize::try_from(at / PART)
            .ok()
            .and_then(|part| parts.get(part))
        else {
            return false;
        };
        // a count that another thread loses does no harm
        let before = reads.load(Ordering::Relaxed);
        if before < READS {
            reads.store(before + 1, Ordering::Relaxed);
        }
        before < READS
    }

    /// None where there is no memory for it: then all comes from the mapping.
    fn table(len: usize) -> Vec<AtomicU8> {
        alloc::defaults(len.div_ceil(PART as usize)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_until_it_is_worth_mapping() {
        let (touched, len) = (Touched::default(), 3 * PART as usize - 1);
        let read = |at, n| touched.read_rather(at, n, len);
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
