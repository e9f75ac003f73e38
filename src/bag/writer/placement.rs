//! Where a commit puts records and limits into a file with its limits at the tail: into room before
//! the limits, or over the limits, which then move.
#![forbid(unsafe_code)]

use super::spill_buffer::SpillBuffer;
use crate::alloc;
use crate::bag::limits::LIMIT;
use crate::bag::room;
use crate::error::Result;
use crate::io::File;
use std::ops::Range;

/// Number of bytes that are moved at once.
const PIECE: u64 = 1 << 20;

/// The offsets of a commit.
pub struct Placement {
    /// The new records.
    records: Range<u64>,
    /// Old and new offset of the limits. Between the end of the records and them is room.
    limits_were_at: u64,
    limits_at: u64,
    /// Number of limits before and after the commit.
    old: u64,
    count: u64,
}

impl Placement {
    /// Returns the offsets for records after the committed ones, in a file of `size` bytes.
    pub fn new(
        records: Range<u64>,
        size: u64,
        (old, count): (u64, u64),
        is_compressed: bool,
    ) -> Placement {
        let (end, limits_were_at) = (records.end, size - old * LIMIT);
        let had_room = records.start < limits_were_at;
        let fits = end == limits_were_at || end + room::HEADER as u64 <= limits_were_at;
        let limits_at = match is_compressed {
            true if had_room && fits => limits_were_at,
            // never back: readers see by its length that the file changes
            true if end < limits_were_at => end + room::size_before(count).max(room::HEADER as u64),
            true => end + room::size_before(count),
            false => end,
        };
        Placement {
            records,
            limits_were_at,
            limits_at,
            old,
            count,
        }
    }

    /// Returns the committed bytes that the commit overwrites.
    pub fn overwritten(&self) -> Vec<Range<u64>> {
        let Range { start, end } = self.records;
        if start == self.limits_were_at || self.limits_at != self.limits_were_at {
            return vec![start..u64::MAX];
        }
        let header = (self.limits_at - end).min(room::HEADER as u64);
        let last = self.limit_at(self.old - 1);
        vec![start..end + header, last..last + LIMIT]
    }

    /// Returns the length of the file after the commit.
    pub fn size(&self) -> u64 {
        self.limit_at(self.count)
    }

    fn limit_at(&self, i: u64) -> u64 {
        self.limits_at + i * LIMIT
    }

    /// Writes the uncommitted records and limits, and moves the committed limits unless there is room.
    pub fn write(
        &self,
        file: &dyn File,
        records: &SpillBuffer,
        limits: &SpillBuffer,
    ) -> Result<()> {
        let Range { start, end } = self.records;
        // The length is changed first: readers detect by it that limits are about to be
        // overwritten.
        file.set_size(self.size())?;
        if self.limits_at != self.limits_were_at {
            move_limits(file, self.limits_were_at, self.limits_at, self.old * LIMIT)?;
        }
        if start < self.limits_were_at {
            // the last record ended after its room
            file.write_at(self.limit_at(self.old - 1), &start.to_le_bytes())?;
        }
        records.copy_to(file, start)?;
        limits.copy_to(file, self.limit_at(self.old))?;
        if end < self.limits_at {
            file.write_at(end, &room::header(self.limits_at - end))?;
            file.write_at(self.limit_at(self.count - 1), &self.limits_at.to_le_bytes())?;
        }
        Ok(())
    }
}

/// Moves the committed limits to the end of the new records, in descending order because the ranges
/// may overlap.
fn move_limits(file: &dyn File, from: u64, to: u64, bytes: u64) -> Result<()> {
    let mut piece = alloc::zeroed(bytes.min(PIECE) as usize)?;
    let mut left = bytes;
    while left > 0 {
        let n = left.min(PIECE);
        left -= n;
        let part = piece.get_mut(..n as usize).unwrap_or_default();
        file.read_exact_at(from + left, part)?;
        file.write_at(to + left, part)?;
    }
    Ok(())
}
