//! The chunks of an open superchunk in content order: the location of each chunk, and the lookup of
//! a content offset.
#![forbid(unsafe_code)]

use super::located_chunk::LocatedChunk;
use crate::alloc;
use crate::checksum::Checksum;
use crate::error::{Result, fail};
use std::ops::Range;
use std::sync::Arc;

/// The location of a chunk. Its checksum always follows it.
#[derive(Clone, Debug)]
pub enum ChunkLocation {
    /// At this offset in the committed file.
    Main(u64),
    /// At this offset in the part file, which holds uncommitted chunks.
    Part(u64),
    /// In memory.
    Memory(Arc<[u8]>),
    /// Not found.
    Lost,
}

/// A chunk of the list.
#[derive(Clone, Debug)]
pub struct ChunkSlot {
    /// The location of the chunk.
    pub location: ChunkLocation,
    /// Encoded size without the checksum.
    pub cbytes: u32,
    /// Content size.
    pub nbytes: u32,
    /// The flags in the chunk header.
    pub flags: u8,
    /// Unused bytes at the end of `cbytes`, into which the chunk can grow. An uncommitted chunk may
    /// be stored without them.
    pub spare: u32,
}

impl ChunkSlot {
    /// Returns the slot of a chunk of the committed file.
    pub fn of(chunk: &LocatedChunk) -> ChunkSlot {
        ChunkSlot {
            location: if chunk.is_lost() {
                ChunkLocation::Lost
            } else {
                ChunkLocation::Main(chunk.at)
            },
            cbytes: chunk.cbytes,
            nbytes: chunk.nbytes,
            flags: chunk.flags,
            spare: 0,
        }
    }

    /// Returns true if the chunk was not found.
    pub fn is_lost(&self) -> bool {
        matches!(self.location, ChunkLocation::Lost)
    }

    /// Returns the size of the chunk with its checksum.
    pub fn stored_size(&self, sum: Checksum) -> u64 {
        u64::from(self.cbytes) + sum.size() as u64
    }
}

/// The list of all chunks.
#[derive(Default)]
pub struct ChunkSlots {
    all: Vec<ChunkSlot>,
    /// The content offset of each chunk, and the end of the last chunk.
    starts: Vec<u64>,
}

impl ChunkSlots {
    /// Returns the number of chunks.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the number of bytes of content.
    pub fn nbytes(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns the encoded size of all chunks without checksums.
    pub fn cbytes(&self) -> u64 {
        self.all.iter().map(|slot| u64::from(slot.cbytes)).sum()
    }

    /// Returns chunk `i`.
    pub fn get(&self, i: usize) -> Result<&ChunkSlot> {
        self.all
            .get(i)
            .ok_or_else(|| fail!(Range, "chunk {i}: there are {}", self.all.len()).at(i as u64))
    }

    /// Returns an iterator over all chunks.
    pub fn iter(&self) -> std::slice::Iter<'_, ChunkSlot> {
        self.all.iter()
    }

    /// Returns the content range of chunk `i`.
    pub fn span(&self, i: usize) -> Range<u64> {
        let at = |i: usize| self.starts.get(i).copied().unwrap_or(self.nbytes());
        at(i)..at(i.saturating_add(1))
    }

    /// Returns the chunks that overlap the content range `bytes`.
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

    /// Appends a chunk.
    pub fn push(&mut self, slot: ChunkSlot) -> Result<()> {
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

    /// Replaces chunk `i` by a chunk of the same content size.
    pub fn replace(&mut self, i: usize, slot: ChunkSlot) {
        if let Some(existing) = self.all.get_mut(i) {
            *existing = slot;
        }
    }

    /// Removes the chunks from `n` on.
    pub fn truncate(&mut self, n: usize) {
        self.all.truncate(n);
        self.starts.truncate(n + 1);
    }

    /// Replaces the chunks in `range`.
    pub fn splice(
        &mut self,
        range: Range<usize>,
        new: impl IntoIterator<Item = ChunkSlot>,
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

    /// Returns the offset and the encoded size of each chunk if the first one is at offset `next`,
    /// and the chunks follow each other without gaps.
    pub fn positions_from(&self, mut next: u64, sum: Checksum) -> impl Iterator<Item = (u64, u32)> {
        self.all.iter().map(move |slot| {
            let at = next;
            next += slot.stored_size(sum);
            (at, slot.cbytes)
        })
    }

    /// Marks all chunks as committed at these offsets, with these encoded sizes.
    pub fn set_positions(&mut self, positions: impl IntoIterator<Item = (u64, u32)>) {
        for (slot, (at, cbytes)) in self.all.iter_mut().zip(positions) {
            slot.location = ChunkLocation::Main(at);
            slot.cbytes = cbytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(nbytes: u32) -> ChunkSlot {
        ChunkSlot {
            location: ChunkLocation::Lost,
            cbytes: 0,
            nbytes,
            flags: 0,
            spare: 0,
        }
    }

    #[test]
    fn chunks_are_found_by_content_offset() {
        let mut s = ChunkSlots::default();
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
