//! The chunks of an open superchunk in the order of their content: where each is now, and which one
//! holds a byte.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::{Result, fail};
use std::ops::Range;
use std::sync::Arc;

/// Where a chunk is, its digest always behind it.
#[derive(Clone, Debug)]
pub enum Place {
    /// In the file as the last commit left it.
    Main(u64),
    /// In the temporary file with what waits for a commit.
    Part(u64),
    /// In memory.
    Memory(Arc<[u8]>),
    /// Nowhere: it was not found.
    Lost,
}

/// One chunk.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Where it is.
    pub place: Place,
    /// Its bytes, without the digest.
    pub cbytes: u32,
    /// Its bytes, unpacked.
    pub nbytes: u32,
    /// Flags of its header.
    pub flags: u8,
    /// Bytes at the end of `cbytes` that a chunk outside the main file can do without: room for it
    /// to grow.
    pub spare: u32,
}

/// All chunks.
#[derive(Default)]
pub struct Slots {
    all: Vec<Slot>,
    /// Where the content of each begins, and where that of the last ends.
    starts: Vec<u64>,
}

impl Slots {
    /// How many.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Bytes of content.
    pub fn nbytes(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// One of them.
    pub fn get(&self, i: usize) -> Result<&Slot> {
        self.all
            .get(i)
            .ok_or_else(|| fail!(Range, "chunk {i}: there are {}", self.all.len()).at(i as u64))
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Slot> {
        self.all.iter()
    }

    /// The bytes of content of one of them.
    pub fn span(&self, i: usize) -> Range<u64> {
        let at = |i: usize| self.starts.get(i).copied().unwrap_or(self.nbytes());
        at(i)..at(i.saturating_add(1))
    }

    /// The chunks that hold these bytes of content.
    pub fn holding(&self, bytes: Range<u64>) -> Range<usize> {
        if bytes.is_empty() {
            return 0..0;
        }
        let first = self
            .starts
            .partition_point(|&s| s <= bytes.start)
            .saturating_sub(1);
        let last = self.starts.partition_point(|&s| s < bytes.end);
        first..last.min(self.all.len())
    }

    /// Puts another one behind the last.
    pub fn push(&mut self, slot: Slot) -> Result<()> {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        let end = self
            .nbytes()
            .checked_add(u64::from(slot.nbytes))
            .ok_or_else(|| fail!(Limit, "more than 2^64 bytes"))?;
        alloc::reserve(&mut self.all, 1)?;
        alloc::reserve(&mut self.starts, 1)?;
        self.all.push(slot);
        self.starts.push(end);
        Ok(())
    }

    /// Puts another one, of the same content size, in the place of one.
    pub fn replace(&mut self, i: usize, slot: Slot) {
        if let Some(there) = self.all.get_mut(i) {
            *there = slot;
        }
    }

    /// Takes away those from `n` on.
    pub fn truncate(&mut self, n: usize) {
        self.all.truncate(n);
        self.starts.truncate(n + 1);
    }

    /// Puts these in the place of some.
    pub fn splice(
        &mut self,
        range: Range<usize>,
        new: impl IntoIterator<Item = Slot>,
    ) -> Result<()> {
        let mut all = std::mem::take(&mut self.all);
        let from = range.start.min(all.len());
        all.splice(from..range.end.clamp(from, all.len()), new);
        self.starts.clear();
        let begun = alloc::reserve(&mut self.starts, all.len() + 1);
        let mut end = 0;
        self.starts.push(0);
        self.starts.extend(all.iter().map(|s| {
            end += u64::from(s.nbytes);
            end
        }));
        self.all = all;
        begun
    }

    /// Says that all of them are in the file now, at these places.
    pub fn settle(&mut self, places: impl IntoIterator<Item = (u64, u32)>) {
        for (slot, (at, cbytes)) in self.all.iter_mut().zip(places) {
            slot.place = Place::Main(at);
            slot.cbytes = cbytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(nbytes: u32) -> Slot {
        Slot {
            place: Place::Lost,
            cbytes: 0,
            nbytes,
            flags: 0,
            spare: 0,
        }
    }

    #[test]
    fn bytes_are_found() {
        let mut s = Slots::default();
        assert_eq!((s.len(), s.nbytes(), s.holding(0..0)), (0, 0, 0..0));
        for n in [5, 0, 3, 7] {
            s.push(slot(n)).unwrap();
        }
        assert_eq!(
            (s.nbytes(), s.span(0), s.span(1), s.span(3)),
            (15, 0..5, 5..5, 8..15)
        );
        for from in 0..15 {
            for to in from + 1..=15 {
                let held = s.holding(from..to);
                assert!(
                    s.span(held.start).contains(&from) && s.span(held.end - 1).contains(&(to - 1)),
                    "{from}..{to}: {held:?}"
                );
            }
        }
        s.splice(1..3, [slot(2)]).unwrap();
        assert_eq!((s.len(), s.nbytes(), s.span(2)), (3, 14, 7..14));
        s.truncate(1);
        assert_eq!((s.len(), s.nbytes()), (1, 5));
    }
}
