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
/// Bytes per integer of the bitmap.
const WORD_BYTES: u64 = 16;

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

/// Returns a bit for each byte of a mask, the first one in the lowest bit.
fn word(bytes: &[u8]) -> u64 {
    // most of them in most tables
    if *bytes == [1; WORD as usize] {
        return u64::MAX;
    }
    let push = |word, b: &u8| word << 1 | u64::from(*b != 0);
    bytes.iter().rev().fold(0, push)
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
        let mut bits = alloc::with_capacity(integers(n, limit)?)?;
        let mut piece = alloc::zeroed(n.min(PIECE) as usize)?;
        let mut at = 0;
        while at < n {
            let part = piece.at_mut(..(n - at).min(PIECE) as usize)?;
            mask.read(&[at], &[part.len() as u64], None, part, None)?;
            bits.extend(part.chunks(WORD as usize).map(word));
            at += part.len() as u64;
        }
        ValidRows::of_bits(bits)
    }

    /// Returns the rows 0 to `count` at the positions 0 to `count`.
    pub fn dense(count: u64) -> ValidRows {
        ValidRows {
            bits: Vec::new(),
            before: Vec::new(),
            count,
            end: count,
        }
    }

    /// Returns rows at these runs of positions before `end`. Needs less than `limit` bytes.
    pub fn of_runs(
        runs: impl Iterator<Item = Range<u64>>,
        end: u64,
        limit: u64,
    ) -> Result<ValidRows> {
        let len = integers(end, limit)?;
        let mut bits: Vec<u64> = alloc::with_capacity(len)?;
        bits.resize(len, 0);
        for run in runs {
            let mut at = run.start;
            while at < run.end {
                let n = (WORD - at % WORD).min(run.end - at);
                *bits.at_mut((at / WORD) as usize)? |= (u64::MAX >> (WORD - n)) << (at % WORD);
                at += n;
            }
        }
        ValidRows::of_bits(bits)
    }

    fn of_bits(bits: Vec<u64>) -> Result<ValidRows> {
        let mut before = alloc::with_capacity(bits.len())?;
        let (mut count, mut end) = (0, 0);
        for (i, word) in bits.iter().enumerate() {
            before.push(count);
            count += u64::from(word.count_ones());
            if *word != 0 {
                end = (i as u64 + 1) * WORD - u64::from(word.leading_zeros());
            }
        }
        Ok(match count == end {
            true => ValidRows::dense(count),
            false => ValidRows {
                bits,
                before,
                count,
                end,
            },
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
    pub fn position(&self, row: u64) -> u64 {
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

    /// Returns the number of rows before a position.
    pub fn rows_before(&self, position: u64) -> u64 {
        if self.is_dense() || position >= self.end {
            return position.min(self.count);
        }
        let word = (position / WORD) as usize;
        let bits = self.bits.get(word).copied().unwrap_or_default();
        let before = self.before.get(word).copied().unwrap_or(self.count);
        before + u64::from((bits & !(u64::MAX << (position % WORD))).count_ones())
    }

    /// Returns whether a position is that of a row.
    pub fn is_valid(&self, position: u64) -> bool {
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

/// Returns the number of integers of 64 bits for `n` positions, if they need less than `limit` bytes.
fn integers(n: u64, limit: u64) -> Result<usize> {
    let bytes = n.div_ceil(WORD).saturating_mul(WORD_BYTES);
    Ok(alloc::allow(bytes, limit, "_valid_rows")? / WORD_BYTES as usize)
}
