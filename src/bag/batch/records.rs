//! The result of a batch read, the destination of its bytes, and the pool of buffers.
#![forbid(unsafe_code)]

use super::Frames;
use crate::alloc;
use crate::error::{Error, Result};
use crate::parallel::try_lock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The records of a batch: record `i` is `data[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Default)]
pub struct Records {
    /// The concatenated records.
    pub data: Vec<u8>,
    /// The offsets; one more than there are records.
    pub offsets: Vec<u64>,
    /// Positions of damaged records that were returned as empty, with their errors.
    pub damaged: Vec<(u64, Error)>,
    /// Number of records without a checksum.
    pub unchecked: u64,
    /// The stored frames, as far as they were requested.
    pub frames: Frames,
    home: Weak<BufferPool>,
}

/// The layout of a batch whose bytes are in memory of the caller: see [`Records`].
#[derive(Debug, Default)]
pub struct BatchLayout {
    /// The offsets; one more than there are records.
    pub offsets: Vec<u64>,
    /// Positions of damaged records that were returned as empty, with their errors.
    pub damaged: Vec<(u64, Error)>,
    /// Number of records without a checksum.
    pub unchecked: u64,
    /// The stored frames, as far as they were requested.
    pub frames: Frames,
}

impl BatchLayout {
    /// Returns the layout of an empty batch.
    pub fn empty() -> BatchLayout {
        BatchLayout {
            offsets: vec![0],
            ..BatchLayout::default()
        }
    }
}

/// Allocates the memory of a batch.
pub trait Destination {
    /// Returns a buffer of `n` bytes. Called once, when the total size of the records is known.
    fn allocate(&mut self, n: usize) -> Result<&mut [u8]>;
}

/// A destination in memory of the library.
pub struct OwnedBuffer<'a> {
    pool: &'a Arc<BufferPool>,
    data: Vec<u8>,
}

impl<'a> OwnedBuffer<'a> {
    /// Creates a destination that takes its buffer from a pool.
    pub fn new(pool: &'a Arc<BufferPool>) -> OwnedBuffer<'a> {
        OwnedBuffer {
            pool,
            data: Vec::new(),
        }
    }

    /// Returns the batch that was read into this buffer.
    pub fn into_records(mut self, layout: BatchLayout) -> Records {
        self.data
            .truncate(layout.offsets.last().map_or(0, |&end| end as usize));
        let BatchLayout {
            offsets,
            damaged,
            unchecked,
            frames,
        } = layout;
        Records {
            data: self.data,
            offsets,
            damaged,
            unchecked,
            frames,
            home: Arc::downgrade(self.pool),
        }
    }
}

impl Destination for OwnedBuffer<'_> {
    fn allocate(&mut self, n: usize) -> Result<&mut [u8]> {
        self.data = self.pool.take(n)?;
        Ok(&mut self.data)
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            home.put(std::mem::take(&mut self.data));
        }
    }
}

/// A pool of buffers of closed batches. Fresh memory costs more time than reading the records into
/// it: a page fault per 4 KiB.
#[derive(Debug)]
pub struct BufferPool {
    all: Mutex<Vec<Vec<u8>>>,
    most: usize,
    bytes: usize,
}

/// Total size of the pooled buffers in the process.
static POOLED_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Maximum of `POOLED_BYTES`.
const MAX_POOLED_BYTES: usize = 128 << 20;
/// A buffer is not used if it exceeds `LARGE` and `TOO_LARGE` times the requested size. Otherwise a
/// caller that holds many small batches would also hold large buffers.
const LARGE: usize = 1 << 20;
const TOO_LARGE: usize = 4;

impl BufferPool {
    /// Creates a pool of at most `most` buffers with at most `bytes` bytes in total.
    pub fn new(most: usize, bytes: u64) -> BufferPool {
        BufferPool {
            all: Mutex::default(),
            most,
            bytes: usize::try_from(bytes)
                .unwrap_or(usize::MAX)
                .min(MAX_POOLED_BYTES),
        }
    }

    fn put(&self, buffer: Vec<u8>) {
        let Some(mut all) = try_lock(&self.all) else {
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
        if POOLED_BYTES
            .fetch_add(n, Ordering::Relaxed)
            .saturating_add(n)
            > MAX_POOLED_BYTES
        {
            POOLED_BYTES.fetch_sub(n, Ordering::Relaxed);
            return;
        }
        all.push(buffer);
    }

    /// Returns a buffer of `n` bytes with unspecified content.
    fn take(&self, n: usize) -> Result<Vec<u8>> {
        match try_lock(&self.all)
            .filter(|_| n > 0)
            .and_then(|mut all| BufferPool::fitting(&mut all, n))
        {
            Some(mut buffer) => {
                buffer.resize(n, 0);
                Ok(buffer)
            }
            None => alloc::zeroed_large_pages(n),
        }
    }

    /// Returns the smallest suitable buffer. If there is none, frees the largest buffer that is too
    /// small, to make room for a new one.
    fn fitting(all: &mut Vec<Vec<u8>>, n: usize) -> Option<Vec<u8>> {
        let is_suitable = |b: &Vec<u8>| {
            b.capacity() >= n && b.capacity() <= n.saturating_mul(TOO_LARGE).max(LARGE)
        };
        let sizes = || {
            all.iter()
                .enumerate()
                .map(|(i, b)| (b.capacity(), i, is_suitable(b)))
        };
        let found = sizes().filter(|&(_, _, is_suitable)| is_suitable).min();
        let (size, i, is_suitable) =
            found.or_else(|| sizes().filter(|&(size, ..)| size < n).max())?;
        POOLED_BYTES.fetch_sub(size, Ordering::Relaxed);
        Some(all.swap_remove(i)).filter(|_| is_suitable)
    }
}

impl Drop for BufferPool {
    fn drop(&mut self) {
        let all = self.all.get_mut().unwrap_or_else(PoisonError::into_inner);
        POOLED_BYTES.fetch_sub(all.iter().map(Vec::capacity).sum(), Ordering::Relaxed);
    }
}

impl Records {
    /// Returns an empty batch.
    pub fn none() -> Records {
        let mut r = Records::default();
        r.offsets.push(0);
        r
    }
    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }
    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns record `i`, or an empty slice if it does not exist.
    pub fn get(&self, i: usize) -> &[u8] {
        let (a, b) = (self.offsets.get(i), self.offsets.get(i + 1));
        let range = a.zip(b).map(|(&a, &b)| a as usize..b as usize);
        range.and_then(|r| self.data.get(r)).unwrap_or_default()
    }
    /// Returns the records in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(pool: &BufferPool) -> Vec<usize> {
        pool.all.lock().unwrap().iter().map(Vec::capacity).collect()
    }

    #[test]
    fn no_thread_waits_for_a_pooled_buffer() {
        let pool = BufferPool::new(2, 1000);
        pool.put(vec![0; 100]);
        let taken = pool.all.lock();
        assert_eq!(pool.take(10).unwrap().len(), 10);
        pool.put(vec![0; 100]);
        drop(taken);
        assert_eq!(pool.take(10).unwrap().capacity(), 100);
    }

    #[test]
    fn the_number_and_the_bytes_of_pooled_buffers_are_limited() {
        let pool = BufferPool::new(3, 1000);
        [400, 1001, 0, 500, 200, 50, 50]
            .into_iter()
            .for_each(|n| pool.put(vec![0; n]));
        assert_eq!(sizes(&pool), [400, 500, 50]);
        let all = BufferPool::new(2, u64::MAX);
        all.put(Vec::with_capacity(MAX_POOLED_BYTES + 1));
        assert!(sizes(&all).is_empty());
    }

    #[test]
    fn the_smallest_suitable_buffer_is_taken_and_one_too_small_is_freed() {
        let pool = BufferPool::new(3, 64 << 20);
        [100, 300, 16 << 20]
            .into_iter()
            .for_each(|n| pool.put(vec![0; n]));
        assert_eq!(pool.take(200).unwrap().capacity(), 300);
        // The large buffer is reserved for large batches.
        assert_eq!(pool.take(200).unwrap().capacity(), 200);
        assert_eq!(sizes(&pool), [16 << 20]);
        assert_eq!(pool.take(20 << 20).unwrap().len(), 20 << 20);
        assert!(sizes(&pool).is_empty());
    }
}
