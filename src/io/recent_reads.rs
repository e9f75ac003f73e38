//! Bytes that were read from slow storage, for sequential and repeated reads. All open files share one
//! limit. Above it, each file evicts its own data first.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of bytes of the recent reads of a file.
const MAX_RECENT: u64 = 40 << 20;
/// Maximum number of bytes that are cached of all files.
const MAX_TOTAL: u64 = 512 << 20;

static TOTAL: AtomicU64 = AtomicU64::new(0);

/// Returns whether the files together have reached their limit.
pub fn is_full() -> bool {
    TOTAL.load(Ordering::Relaxed) > MAX_TOTAL
}

/// Counts cached bytes.
pub fn add_to_total(n: usize) {
    TOTAL.fetch_add(n as u64, Ordering::Relaxed);
}

/// Counts cached bytes that were freed.
pub fn subtract_from_total(n: usize) {
    TOTAL.fetch_sub(n as u64, Ordering::Relaxed);
}

/// The recent reads of a file.
#[derive(Default)]
pub struct RecentReads {
    /// Offset and bytes of each read, the latest first.
    reads: Mutex<VecDeque<(u64, Vec<u8>)>>,
}

impl RecentReads {
    fn locked(&self) -> MutexGuard<'_, VecDeque<(u64, Vec<u8>)>> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a read. Evicts the oldest ones above the limit.
    pub fn insert(&self, at: u64, bytes: Vec<u8>) {
        let mut reads = self.locked();
        add_to_total(bytes.len());
        reads.push_front((at, bytes));
        let size =
            |r: &VecDeque<(u64, Vec<u8>)>| r.iter().map(|(_, b)| b.len() as u64).sum::<u64>();
        while reads.len() > 1 && (is_full() || size(&reads) > MAX_RECENT) {
            reads
                .pop_back()
                .into_iter()
                .for_each(|(_, b)| subtract_from_total(b.len()));
        }
    }

    /// Copies the longest cached prefix of a range. Returns its length.
    pub fn copy(&self, at: u64, dst: &mut [u8]) -> usize {
        let reads = self.locked();
        let mut done = 0;
        while let Some(rest) = dst.get_mut(done..).filter(|r| !r.is_empty()) {
            let from = at + done as u64;
            let Some(there) = reads.iter().find_map(|(at, b)| {
                b.get(usize::try_from(from.checked_sub(*at)?).ok()?..)
                    .filter(|b| !b.is_empty())
            }) else {
                break;
            };
            let n = there.len().min(rest.len());
            rest.iter_mut().zip(there).for_each(|(d, s)| *d = *s);
            done += n;
        }
        done
    }

    /// Returns whether one read contains the range.
    pub fn has(&self, from: u64, to: u64) -> bool {
        self.locked()
            .iter()
            .any(|(at, b)| *at <= from && to <= *at + b.len() as u64)
    }

    /// Returns the parts of ranges that a file of `size` bytes has and that are not cached, in order,
    /// merged where they touch.
    pub fn missing(&self, requested: &[Range<u64>], size: u64) -> Vec<Range<u64>> {
        let mut missing: Vec<Range<u64>> = requested
            .iter()
            .map(|r| r.start..r.end.min(size))
            .filter(|r| !r.is_empty() && !self.has(r.start, r.end))
            .collect();
        missing.sort_unstable_by_key(|r| r.start);
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in missing {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }
}

impl Drop for RecentReads {
    fn drop(&mut self) {
        self.locked()
            .drain(..)
            .for_each(|(_, b)| subtract_from_total(b.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_reads_are_cached() {
        let cache = RecentReads::default();
        cache.insert(10, (10..20).collect());
        cache.insert(20, (20..25).collect());
        let mut dst = [0; 20];
        assert_eq!(cache.copy(15, &mut dst), 10);
        assert_eq!(dst[..10], (15..25).collect::<Vec<u8>>());
        assert_eq!((cache.copy(9, &mut dst), cache.copy(25, &mut dst)), (0, 0));
        cache.insert(1 << 40, vec![7; MAX_RECENT as usize]);
        assert_eq!(
            (cache.copy(15, &mut dst), cache.copy(1 << 40, &mut dst)),
            (0, 20)
        );
    }

    #[test]
    fn missing_ranges_are_merged() {
        let cache = RecentReads::default();
        cache.insert(10, vec![0; 10]);
        let missing = cache.missing(
            &[40..50, 12..20, 5..15, 15..20, 45..60, 90..200, 300..400],
            100,
        );
        assert_eq!(missing, [5..15, 40..60, 90..100]);
    }
}
