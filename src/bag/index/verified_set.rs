//! Set of the buckets of a mapped index whose checksum was verified. The checksum of a bucket is
//! verified on its first use. Without a mapping each read comes from the disk, and its checksum is
//! verified each time.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::parallel::get_or_init;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// One bit per bucket.
#[derive(Default)]
pub struct VerifiedSet(OnceLock<Vec<AtomicU64>>);

fn bit_position(bucket: u64) -> (usize, u64) {
    ((bucket / 64) as usize, 1 << (bucket % 64))
}

impl VerifiedSet {
    /// Returns whether the bucket was found intact before.
    pub fn contains(&self, bucket: u64) -> bool {
        let (index, bit) = bit_position(bucket);
        self.0
            .get()
            .and_then(|table| table.get(index))
            .is_some_and(|w| w.load(Ordering::Relaxed) & bit != 0)
    }

    /// Marks a bucket as intact. `buckets`: total number of buckets.
    pub fn insert(&self, bucket: u64, buckets: u64) {
        let (index, bit) = bit_position(bucket);
        let table = get_or_init(&self.0, || VerifiedSet::table(buckets));
        table
            .get(index)
            .into_iter()
            .for_each(|w| _ = w.fetch_or(bit, Ordering::Relaxed));
    }

    /// Returns an empty table if there is no memory for it; each bucket is then verified each time.
    fn table(buckets: u64) -> Vec<AtomicU64> {
        alloc::defaults(buckets.div_ceil(64) as usize).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_by_itself() {
        let set = VerifiedSet::default();
        assert!(!set.contains(0));
        for b in [0, 63, 64, 129] {
            assert!(!set.contains(b));
            set.insert(b, 130);
            assert!(set.contains(b));
        }
        assert!(!set.contains(1) && !set.contains(128) && !set.contains(u64::MAX));
    }
}
