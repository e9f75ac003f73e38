//! Which rows of a CTable exist: a deleted row stays in the columns, and the mask `_valid_rows` has
//! false for it. A bitmap with the number of rows before each group finds the position of a row.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::array::Array;
use crate::error::{Result, fail};
use crate::slice::SliceExt;
use std::ops::Range;

/// Positions per word of the bitmap.
const WORD: u64 = 64;
/// Positions that are read at once.
const PIECE: u64 = 1 << 20;

/// The rows of a table, and their positions in the columns.
pub struct ValidRows {
    /// A bit per position. Empty: rows 0 to `count` are at the positions 0 to `count`.
    bits: Vec<u64>,
    /// The number of rows before each word of `bits`.
    before: Vec<u64>,
    count: u64,
    /// The position after the last row.
    end: u64,
}

impl ValidRows {
    /// Reads a mask of one byte per position. The bitmap needs less than `limit` bytes.
    pub fn read(mask: &Array, limit: u64) -> Result<ValidRows> {
        let &[n] = mask.shape() else {
            return Err(fail!(
                Format,
                "_valid_rows: {:?} is not a length",
                mask.shape()
            ));
        };
        if mask.itemsize() != 1 {
            return Err(fail!(
                Format,
                "_valid_rows: items of {} bytes (expected Booleans)",
                mask.itemsize()
            ));
        }
        let integers = n.div_ceil(WORD);
        let len = alloc::allow(integers.saturating_mul(16), limit, "_valid_rows")? / 16;
        let (mut bits, mut before) = (alloc::with_capacity(len)?, alloc::with_capacity(len)?);
        let mut piece = alloc::zeroed(n.min(PIECE) as usize)?;
        let (mut count, mut end, mut at) = (0u64, 0, 0);
        while at < n {
            let part = piece.at_mut(..(n - at).min(PIECE) as usize)?;
            mask.read(&[at], &[part.len() as u64], None, part, None)?;
            for (i, bytes) in part.chunks(WORD as usize).enumerate() {
                let word = bytes
                    .iter()
                    .rev()
                    .fold(0, |word, b| word << 1 | u64::from(*b != 0));
                before.push(count);
                bits.push(word);
                count += u64::from(word.count_ones());
                if word != 0 {
                    let last = WORD - u64::from(word.leading_zeros());
                    end = at + i as u64 * WORD + last;
                }
            }
            at += part.len() as u64;
        }
        if count == end {
            (bits, before) = (Vec::new(), Vec::new());
        }
        Ok(ValidRows {
            bits,
            before,
            count,
            end,
        })
    }

    /// Returns the number of rows.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the position after the last row.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns whether row `i` is at position `i`, for all rows.
    pub fn is_dense(&self) -> bool {
        self.bits.is_empty()
    }

    /// Returns the positions of the first rows from `row` on that are adjacent, at most `most`.
    pub fn run(&self, row: u64, most: u64) -> Range<u64> {
        let from = self.position(row);
        let mut to = from;
        while to - from < most && self.is_valid(to) {
            to += 1;
        }
        from..to
    }

    /// Returns the position of a row, which must exist.
    fn position(&self, row: u64) -> u64 {
        if self.is_dense() {
            return row;
        }
        let word = self
            .before
            .partition_point(|before| *before <= row)
            .saturating_sub(1);
        let mut bits = self.bits.get(word).copied().unwrap_or_default();
        let skipped = row - self.before.get(word).copied().unwrap_or_default();
        for _ in 0..skipped {
            bits &= bits.wrapping_sub(1);
        }
        word as u64 * WORD + u64::from(bits.trailing_zeros())
    }

    fn is_valid(&self, position: u64) -> bool {
        if self.is_dense() {
            return position < self.end;
        }
        let word = self
            .bits
            .get((position / WORD) as usize)
            .copied()
            .unwrap_or_default();
        word >> (position % WORD) & 1 == 1
    }
}
