//! What a batch read gives, where its bytes go, and the buffers of batches that were closed.
#![forbid(unsafe_code)]

use crate::error::{Error, Result};
use crate::memory;
use crate::parallel::unless_taken;
use std::sync::{Arc, Mutex, Weak};

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
        Places { offsets: vec![0], ..Places::default() }
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
        Own { spare, data: Vec::new() }
    }

    /// The batch that has gone here.
    pub fn with(mut self, places: Places) -> Records {
        self.data.truncate(places.offsets.last().map_or(0, |&end| end as usize));
        let Places { offsets, damaged, unchecked } = places;
        Records { data: self.data, offsets, damaged, unchecked, home: Arc::downgrade(self.spare) }
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

/// Buffers of batches that were closed, for the next ones: fresh memory costs more than the records that
/// go into it, a page fault for each 4 KiB.
#[derive(Debug)]
pub struct Spare {
    all: Mutex<Vec<Vec<u8>>>,
    most: usize,
}

impl Default for Spare {
    fn default() -> Spare {
        Spare::new(2)
    }
}

impl Spare {
    const BYTES: usize = 8 << 20;

    /// Keeps at most so many.
    pub fn new(most: usize) -> Spare {
        Spare { all: Mutex::default(), most }
    }

    fn keep(&self, buffer: Vec<u8>) {
        let Some(mut all) = unless_taken(&self.all) else { return };
        if all.len() < self.most && (1..=Spare::BYTES).contains(&buffer.capacity()) {
            all.push(buffer);
        }
    }

    /// A buffer of `n` bytes of any content.
    fn take(&self, n: usize) -> Result<Vec<u8>> {
        let fits = |all: &mut Vec<Vec<u8>>| all.iter().position(|b| b.capacity() >= n).map(|i| all.swap_remove(i));
        match unless_taken(&self.all).filter(|_| n > 0).and_then(|mut all| fits(&mut all)) {
            Some(mut buffer) => {
                buffer.resize(n, 0);
                Ok(buffer)
            }
            None => memory::zeroed(n),
        }
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

    #[test]
    fn nobody_waits_for_spare_buffers() {
        let spare = Spare::default();
        spare.keep(vec![0; 100]);
        let taken = spare.all.lock();
        assert_eq!(spare.take(10).unwrap().len(), 10);
        spare.keep(vec![0; 100]);
        drop(taken);
        assert_eq!(spare.take(10).unwrap().capacity(), 100);
    }
}
