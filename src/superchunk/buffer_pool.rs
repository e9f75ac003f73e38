//! A pool of reusable buffers for encoded chunks. Repeated allocation costs more time than filling
//! a buffer.
#![forbid(unsafe_code)]

use crate::parallel::try_lock;
use std::sync::Mutex;

/// Initial capacity of a buffer. A buffer grows while it is filled, so its final size is not
/// allocated in advance.
const INITIAL_CAPACITY: usize = 4 << 10;
/// Largest capacity that the pool retains.
const MAX_CAPACITY: usize = 16 << 20;

/// A buffer pool; empty by default.
#[derive(Default)]
pub struct BufferPool(Mutex<Vec<Vec<u8>>>);

impl BufferPool {
    /// Returns an empty buffer.
    pub fn take(&self) -> Vec<u8> {
        try_lock(&self.0)
            .and_then(|mut all| all.pop())
            .unwrap_or_else(|| Vec::with_capacity(INITIAL_CAPACITY))
    }

    /// Returns a buffer to the pool, which retains at most `threads` buffers.
    pub fn give_back(&self, mut buffer: Vec<u8>, threads: usize) {
        buffer.clear();
        if let Some(mut all) = try_lock(&self.0)
            .filter(|all| buffer.capacity() <= MAX_CAPACITY && all.len() < threads.max(1))
        {
            all.push(buffer);
        }
    }
}
