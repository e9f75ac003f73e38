//! Buffers that held encoded chunks, for those that come: asking the system for memory again and
//! again takes longer than to fill it.
#![forbid(unsafe_code)]

use crate::parallel::unless_taken;
use std::sync::Mutex;

/// What a buffer has at first: it grows as it fills, and is not asked for as if it were full.
const FIRST: usize = 4 << 10;
/// The longest buffer that is kept.
const LONGEST: usize = 16 << 20;

/// None, at first.
#[derive(Default)]
pub struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Buffers {
    /// An empty one.
    pub fn take(&self) -> Vec<u8> {
        unless_taken(&self.0)
            .and_then(|mut all| all.pop())
            .unwrap_or_else(|| Vec::with_capacity(FIRST))
    }

    /// Keeps one, of as many as there are threads.
    pub fn keep(&self, mut buffer: Vec<u8>, threads: usize) {
        buffer.clear();
        if let Some(mut all) = unless_taken(&self.0)
            .filter(|all| buffer.capacity() <= LONGEST && all.len() < threads.max(1))
        {
            all.push(buffer);
        }
    }
}
