//! What a batch read gives, where its bytes go, and the buffers of batches that were closed.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::{Error, Result};
use crate::parallel::unless_taken;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What a batch read gave: record `i` is `data[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Default)]
pub struct Records {
    /// All bytes.
    pub data: Vec<u8>,
    /// One more than there are records.
    pub offsets: Vec<u64>,
    /// Records that were damaged and read as empty: position in the batch, and why.
    pub damaged: Vec<(u64, Error)>,
    /// Records that had no checksum to be checked by.
    pub unchecked: u64,
    home: Weak<Spare>,
}

/// A batch whose bytes are elsewhere: see [`Records`].
#[derive(Debug, Default)]
pub struct Places {
    /// One more than there are records.
    pub offsets: Vec<u64>,
    /// Records that were damaged and read as empty: position in the batch, and why.
    pub damaged: Vec<(u64, Error)>,
    /// Records that had no checksum to be checked by.
    pub unchecked: u64,
}

impl Places {
    /// Those of a batch without a record.
    pub fn none() -> Places {
        Places {
            offsets: vec![0],
            ..Places::default()
        }
    }
}

/// What makes the memory that a batch goes to.
pub trait Room {
    /// Called once, when it is known how many bytes all records have together.
    fn make(&mut self, n: usize) -> Result<&mut [u8]>;
}

/// Memory of the library's own.
pub struct Own<'a> {
    spare: &'a Arc<Spare>,
    data: Vec<u8>,
}

impl<'a> Own<'a> {
    /// Of these buffers, where one of them is large enough.
    pub fn new(spare: &'a Arc<Spare>) -> Own<'a> {
        Own {
            spare,
            data: Vec::new(),
        }
    }

    /// The batch that has gone here.
    pub fn with(mut self, places: Places) -> Records {
        self.data
            .truncate(places.offsets.last().map_or(0, |&end| end as usize));
        let Places {
            offsets,
            damaged,
            unchecked,
        } = places;
        Records {
            data: self.data,
            offsets,
            damaged,
            unchecked,
            home: Arc::downgrade(self.spare),
        }
    }
}

impl Room for Own<'_> {
    fn make(&mut self, n: usize) -> Result<&mut [u8]> {
        self.data = self.spare.take(n)?;
        Ok(&mut self.data)
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            home.keep(std::mem::take(&mut self.data));
        }
    }
}

/// Buffers of batches that were closed, for the next ones: fresh memory costs more than the records
/// that go into it, a page fault for each 4 KiB.
#[derive(Debug)]
pub struct Spare {
    all: Mutex<Vec<Vec<u8>>>,
    most: usize,
    bytes: usize,
}

/// Bytes of the buffers that all bags and streams of the process keep together.
static KEPT: AtomicUsize = AtomicUsize::new(0);
/// So many at most.
const MOST_KEPT: usize = 128 << 20;
/// A buffer that is larger than this and than so many times what is wanted waits for a larger
/// batch: whoever keeps many small batches shall not have large buffers with them.
const LARGE: usize = 1 << 20;
const TOO_LARGE: usize = 4;

impl Spare {
    /// Keeps at most so many, of so many bytes together.
    pub fn new(most: usize, bytes: u64) -> Spare {
        Spare {
            all: Mutex::default(),
            most,
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX).min(MOST_KEPT),
        }
    }

    fn keep(&self, buffer: Vec<u8>) {
        let Some(mut all) = unless_taken(&self.all) else {
            return;
        };
        let n = buffer.capacity();
        let fits = n
            <= self
                .bytes
                .saturating_sub(all.iter().map(Vec::capacity).sum());
        if n == 0 || !fits || all.len() >= self.most {
            return;
        }
        if KEPT.fetch_add(n, Ordering::Relaxed).saturating_add(n) > MOST_KEPT {
            KEPT.fetch_sub(n, Ordering::Relaxed);
            return;
        }
        all.push(buffer);
    }

    /// A buffer of `n` bytes of any content.
    fn take(&self, n: usize) -> Result<Vec<u8>> {
        match unless_taken(&self.all)
            .filter(|_| n > 0)
            .and_then(|mut all| Spare::fitting(&mut all, n))
        {
            Some(mut buffer) => {
                buffer.resize(n, 0);
                Ok(buffer)
            }
            None => alloc::to_fill(n),
        }
    }

    /// The smallest buffer that will do. Where none does, the largest of those too small goes, for
    /// the one that is made now.
    fn fitting(all: &mut Vec<Vec<u8>>, n: usize) -> Option<Vec<u8>> {
        let will_do = |b: &Vec<u8>| {
            b.capacity() >= n && b.capacity() <= n.saturating_mul(TOO_LARGE).max(LARGE)
        };
        let sizes = || {
            all.iter()
                .enumerate()
                .map(|(i, b)| (b.capacity(), i, will_do(b)))
        };
        let found = sizes().filter(|&(_, _, will_do)| will_do).min();
        let (size, i, will_do) = found.or_else(|| sizes().filter(|&(size, ..)| size < n).max())?;
        KEPT.fetch_sub(size, Ordering::Relaxed);
        Some(all.swap_remove(i)).filter(|_| will_do)
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        let all = self.all.get_mut().unwrap_or_else(PoisonError::into_inner);
        KEPT.fetch_sub(all.iter().map(Vec::capacity).sum(), Ordering::Relaxed);
    }
}

impl Records {
    /// A batch without a record.
    pub fn none() -> Records {
        let mut r = Records::default();
        r.offsets.push(0);
        r
    }
    /// How many.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }
    /// None?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Record `i`; beyond the last, nothing.
    pub fn get(&self, i: usize) -> &[u8] {
        let (a, b) = (self.offsets.get(i), self.offsets.get(i + 1));
        let range = a.zip(b).map(|(&a, &b)| a as usize..b as usize);
        range.and_then(|r| self.data.get(r)).unwrap_or_default()
    }
    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(spare: &Spare) -> Vec<usize> {
        spare
            .all
            .lock()
            .unwrap()
            .iter()
            .map(Vec::capacity)
            .collect()
    }

    #[test]
    fn nobody_waits_for_spare_buffers() {
        let spare = Spare::new(2, 1000);
        spare.keep(vec![0; 100]);
        let taken = spare.all.lock();
        assert_eq!(spare.take(10).unwrap().len(), 10);
        spare.keep(vec![0; 100]);
        drop(taken);
        assert_eq!(spare.take(10).unwrap().capacity(), 100);
    }

    #[test]
    fn few_are_kept_and_few_bytes() {
        let spare = Spare::new(3, 1000);
        [400, 1001, 0, 500, 200, 50, 50]
            .into_iter()
            .for_each(|n| spare.keep(vec![0; n]));
        assert_eq!(sizes(&spare), [400, 500, 50]);
        let all = Spare::new(2, u64::MAX);
        all.keep(Vec::with_capacity(MOST_KEPT + 1));
        assert!(sizes(&all).is_empty());
    }

    #[test]
    fn the_smallest_that_fits_is_taken_and_one_too_small_goes() {
        let spare = Spare::new(3, 64 << 20);
        [100, 300, 16 << 20]
            .into_iter()
            .for_each(|n| spare.keep(vec![0; n]));
        assert_eq!(spare.take(200).unwrap().capacity(), 300);
        // the large one is for large batches
        assert_eq!(spare.take(200).unwrap().capacity(), 200);
        assert_eq!(sizes(&spare), [16 << 20]);
        assert_eq!(spare.take(20 << 20).unwrap().len(), 20 << 20);
        assert!(sizes(&spare).is_empty());
    }
}
