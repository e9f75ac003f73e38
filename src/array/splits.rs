//! Division of the rows of an array, the indices of its first dimension, at borders of chunks.
#![forbid(unsafe_code)]

use super::Array;
use super::any::Body;
use crate::error::{Result, fail};
use crate::splits::{Divisible, Split, Stride, divide, scaled};
use std::ops::Range;

impl Array {
    /// Returns at most `n` ranges of rows, none empty, that contain each row once, in order. They
    /// begin at chunks.
    ///
    /// `bytes` is the share of the rows in the stored size: by chunk in Bloscpack files and frames
    /// whose index is in memory, otherwise by rows.
    pub fn splits(&self, n: u64) -> Result<Vec<Split>> {
        divide(&Rows::new(self)?, n)
    }
}

/// The rows of an array, and of the array that stores them.
pub struct Rows<'a> {
    array: &'a Array,
    count: u64,
    stride: Stride,
    /// Number of stored rows, and rows in a chunk.
    stored_rows: u64,
    chunk_rows: u64,
    /// Content bytes of a stored row if the rows are stored one after the other.
    row_bytes: Option<u64>,
    /// Stored size of the array.
    total: u64,
    /// For each chunk, the end of its content and the stored size up to there.
    ends: Option<Vec<(u64, u64)>>,
}

impl<'a> Rows<'a> {
    /// Returns the rows of an array that has any.
    pub fn new(array: &'a Array) -> Result<Rows<'a>> {
        let Some(&count) = array.shape().first() else {
            return Err(fail!(
                Type,
                "{}: an array without dimensions has no rows",
                array.store().name()
            ));
        };
        let (base, along, axis) = (array.body().base(), array.along(0), array.stored_axis(0));
        let stored_rows = axis
            .and_then(|axis| base.shape().get(axis))
            .copied()
            .unwrap_or(1);
        let row_bytes = match base {
            Body::Linear(a) if axis.is_some() && a.slowest() == axis => {
                a.nbytes().checked_div(stored_rows)
            }
            _ => None,
        };
        let ends = match base {
            _ if axis != Some(0) => None,
            Body::Linear(a) => row_bytes.and_then(|_| a.store().stored_ends()),
            Body::Tiled(a) => a.store().stored_ends(),
            _ => None,
        };
        let total = match ends.as_ref().and_then(|ends| ends.last()) {
            Some((_, total)) => *total,
            None => array.cbytes()?,
        };
        Ok(Rows {
            array,
            count,
            stride: Stride {
                start: along.origin,
                step: along.step,
            },
            stored_rows,
            chunk_rows: along.units[0].max(1),
            row_bytes,
            total,
            ends,
        })
    }

    /// Returns the stored rows that the rows are.
    pub fn stride(&self) -> Stride {
        self.stride
    }

    /// Returns the number of rows of the array that stores them.
    pub fn stored_rows(&self) -> u64 {
        self.stored_rows
    }

    /// Returns the number of stored rows in a chunk.
    pub fn chunk_rows(&self) -> u64 {
        self.chunk_rows
    }

    /// Returns the stored rows of the chunk that has stored row `at`.
    fn chunk(&self, at: u64) -> Range<u64> {
        match self.row_bytes {
            Some(row) if row > 0 => {
                let span = self.array.store().chunk_span(at.saturating_mul(row));
                // a row that continues in another chunk belongs to the first one
                span.start.div_ceil(row)..span.end.div_ceil(row)
            }
            _ => chunk_of(at, self.chunk_rows),
        }
    }

    /// Returns the stored size of the first `n` stored rows.
    fn stored(&self, n: u64) -> u64 {
        let Some(ends) = self.ends.as_deref().filter(|ends| !ends.is_empty()) else {
            return scaled(self.total, n, self.stored_rows);
        };
        if n >= self.stored_rows {
            return self.total;
        }
        let at = match self.row_bytes {
            Some(row) => n.saturating_mul(row),
            // chunks along every dimension: those of a row of chunks come one after the other
            None => {
                let content = ends.last().map_or(0, |(end, _)| *end);
                let rows = self.stored_rows.div_ceil(self.chunk_rows);
                scaled(content, n, rows.saturating_mul(self.chunk_rows))
            }
        };
        let i = ends.partition_point(|(end, _)| *end <= at);
        let before = i.checked_sub(1).and_then(|i| ends.get(i)).copied();
        let (from, size) = before.unwrap_or_default();
        let Some((to, end)) = ends.get(i).copied() else {
            return self.total;
        };
        size + scaled(
            end.saturating_sub(size),
            at.saturating_sub(from),
            to.saturating_sub(from),
        )
    }
}

/// Returns the rows of the chunk that has row `at`, of chunks with `length` rows.
pub fn chunk_of(at: u64, length: u64) -> Range<u64> {
    let start = at - at % length;
    start..start.saturating_add(length)
}

/// Returns the border closest to row `i` of `count` rows, if their chunk has these stored rows.
pub fn closest_border(i: u64, count: u64, stride: Stride, chunk: &Range<u64>) -> u64 {
    let borders = [chunk.start, chunk.end].map(|at| stride.index_at(at).min(count));
    let closest = borders.into_iter().min_by_key(|border| border.abs_diff(i));
    closest.unwrap_or(i)
}

impl Divisible for Rows<'_> {
    fn len(&self) -> u64 {
        self.count
    }

    fn parts(&self) -> u64 {
        self.stored_rows.div_ceil(self.chunk_rows)
    }

    fn bytes_before(&self, i: u64) -> Result<u64> {
        let span = self.stride.span(i, self.stored_rows);
        let bytes = self
            .stored(span.end)
            .saturating_sub(self.stored(span.start));
        // a view may have a part of each row
        let row = |nbytes: u64, rows: u64| nbytes.checked_div(rows).unwrap_or(0);
        let stored_row = row(self.array.body().base().nbytes(), self.stored_rows);
        let part = match row(self.array.nbytes(), self.count) {
            own if own < stored_row => scaled(bytes, own, stored_row),
            _ => bytes,
        };
        Ok(part / self.stride.distance())
    }

    fn border(&self, i: u64, _: u64) -> Result<u64> {
        let chunk = self.chunk(self.stride.position(i.min(self.count - 1)));
        Ok(closest_border(i, self.count, self.stride, &chunk))
    }
}
