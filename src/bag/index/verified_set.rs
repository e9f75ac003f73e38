//! Which buckets of a mapped index were found sound: the sum of a bucket is looked at the first
//! time that it is asked. What is read instead of mapped comes from the disk each time, and its sum
//! is looked at each time.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::parallel::made;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A bit a bucket.
#[derive(Default)]
pub struct Sound(OnceLock<Vec<AtomicU64>>);

fn place(bucket: u64) -> (usize, u64) {
    ((bucket / 64) as usize, 1 << (bucket % 64))
}

impl Sound {
    /// Was it found sound before?
    pub fn is(&self, bucket: u64) -> bool {
        let (word, bit) = place(bucket);
        self.0
            .get()
            .and_then(|all| all.get(word))
            .is_some_and(|w| w.load(Ordering::Relaxed) & bit != 0)
    }

    /// It was now; of so many buckets.
    pub fn found(&self, bucket: u64, buckets: u64) {
        let (word, bit) = place(bucket);
        let all = made(&self.0, || Sound::table(buckets));
        all.get(word)
            .into_iter()
            .for_each(|w| _ = w.fetch_or(bit, Ordering::Relaxed));
    }

    /// None where there is no memory for it: then each is looked at each time.
    fn table(buckets: u64) -> Vec<AtomicU64> {
        alloc::defaults(buckets.div_ceil(64) as usize).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_by_itself() {
        let sound = Sound::default();
        assert!(!sound.is(0));
        for b in [0, 63, 64, 129] {
            assert!(!sound.is(b));
            sound.found(b, 130);
            assert!(sound.is(b));
        }
        assert!(!sound.is(1) && !sound.is(128) && !sound.is(u64::MAX));
    }
}
