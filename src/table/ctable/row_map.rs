//! The positions of the rows of a CTable that is being changed.
#![forbid(unsafe_code)]

use super::valid_rows::ValidRows;
use crate::error::Result;
use std::ops::Range;
use std::sync::Arc;

/// Rows of the last commit, and new ones after them.
#[derive(Clone)]
pub struct RowMap {
    /// Rows whose positions are given.
    valid: Arc<ValidRows>,
    /// How many of them exist, from the first one on.
    retained: u64,
    /// The position of the first row after these; the following rows are adjacent.
    tail: u64,
    rows: u64,
}

impl RowMap {
    /// Creates the map of rows at these positions.
    pub fn new(valid: Arc<ValidRows>) -> RowMap {
        RowMap {
            retained: valid.count(),
            tail: valid.end(),
            rows: valid.count(),
            valid,
        }
    }

    /// Creates the map of no rows.
    pub fn empty() -> RowMap {
        RowMap::new(Arc::new(ValidRows::dense(0)))
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the position after the last row.
    pub fn end(&self) -> u64 {
        self.tail + (self.rows - self.retained)
    }

    /// Returns the position after the last row that exists.
    pub fn last_end(&self) -> u64 {
        let last = self.rows.checked_sub(1);
        last.map_or(0, |last| self.run(last, 1).end)
    }

    /// Returns the positions of the first rows from `row` on that are adjacent, at most `most`.
    pub fn run(&self, row: u64, most: u64) -> Range<u64> {
        if row < self.retained {
            return self.valid.run(row, most.min(self.retained - row));
        }
        let from = self.tail + (row - self.retained);
        from..from + most.min(self.rows.saturating_sub(row))
    }

    /// Returns a position before which the same rows are valid as those of `last`.
    pub fn unchanged_before(&self, last: &Arc<ValidRows>) -> u64 {
        match Arc::ptr_eq(&self.valid, last) {
            true => self.end_of(self.retained),
            false => 0,
        }
    }

    /// Returns the position after the first `rows` rows of `valid`.
    fn end_of(&self, rows: u64) -> u64 {
        match rows.checked_sub(1) {
            Some(last) => self.valid.position(last) + 1,
            None => 0,
        }
    }

    /// Adds rows at the end.
    pub fn grow(&mut self, rows: u64) {
        self.rows += rows;
    }

    /// Keeps the first `rows` rows. The next ones get the positions after them.
    pub fn truncate(&mut self, rows: u64) {
        if rows < self.retained {
            self.tail = self.end_of(rows);
            self.retained = rows;
        }
        self.rows = self.rows.min(rows);
    }

    /// Keeps the first `rows` rows. The next ones get positions that no row has had.
    pub fn truncate_before_tail(&mut self, rows: u64) -> Result<()> {
        let end = self.end();
        if rows > self.retained {
            let runs = self.runs(0..rows);
            *self = RowMap::new(Arc::new(ValidRows::of_runs(runs, end, u64::MAX)?));
        }
        (self.retained, self.tail, self.rows) = (rows, end, rows);
        Ok(())
    }

    /// Removes rows from the middle. The bitmap needs less than `limit` bytes.
    pub fn remove(&mut self, rows: Range<u64>, limit: u64) -> Result<()> {
        *self = RowMap::new(Arc::new(self.without(rows, limit)?));
        Ok(())
    }

    /// Returns all rows as they are after a commit.
    pub fn committed(&self, limit: u64) -> Result<Arc<ValidRows>> {
        if self.rows == self.valid.count() && self.retained == self.rows {
            return Ok(self.valid.clone());
        }
        if self.end() == self.rows {
            return Ok(Arc::new(ValidRows::dense(self.rows)));
        }
        self.without(0..0, limit).map(Arc::new)
    }

    fn without(&self, rows: Range<u64>, limit: u64) -> Result<ValidRows> {
        let before = self.runs(0..rows.start);
        let after = self.runs(rows.end..self.rows);
        ValidRows::of_runs(before.chain(after), self.end(), limit)
    }

    /// Returns the positions of rows, adjacent ones together.
    fn runs(&self, rows: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut row = rows.start;
        std::iter::from_fn(move || {
            let run = self.run(row, rows.end.saturating_sub(row));
            row += run.end - run.start;
            (!run.is_empty()).then_some(run)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(map: &RowMap) -> Vec<u64> {
        map.runs(0..map.rows()).flatten().collect()
    }

    /// Random changes, compared with a list of positions.
    #[test]
    fn positions_are_those_of_a_list() {
        let mut state = 1u64;
        let mut random = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % n.max(1)
        };
        for _ in 0..300 {
            let mut map = RowMap::new(Arc::new(ValidRows::dense(random(200))));
            let mut list: Vec<u64> = (0..map.rows()).collect();
            for _ in 0..12 {
                let n = list.len() as u64;
                match random(5) {
                    0 | 1 => {
                        let (end, more) = (map.end(), random(100));
                        map.grow(more);
                        list.extend(end..end + more);
                    }
                    2 => {
                        let rows = random(n + 1);
                        map.truncate(rows);
                        list.truncate(rows as usize);
                    }
                    3 => {
                        let (rows, end) = (random(n + 1), map.end());
                        map.truncate_before_tail(rows).unwrap();
                        list.truncate(rows as usize);
                        assert_eq!(map.end(), end);
                    }
                    _ => {
                        let from = random(n + 1);
                        let to = from + random(n - from + 1);
                        map.remove(from..to, u64::MAX).unwrap();
                        list.drain(from as usize..to as usize);
                    }
                }
                assert_eq!(positions(&map), list);
                let committed = map.committed(u64::MAX).unwrap();
                assert_eq!(positions(&RowMap::new(committed)), list);
            }
        }
    }
}
