//! Reads a table batch by batch for an Arrow stream: a range of rows, those that a predicate selects,
//! or those with given numbers.
#![forbid(unsafe_code)]

use super::batch_source::{BATCH_BYTES, Source};
use super::data::Data;
use super::format::Field;
use super::table_columns::{ReadItems, TableColumns};
use crate::alloc;
use crate::array::Array;
use crate::error::{Result, fail};
use crate::table::{Bound, Predicate, Rows, Table, Tested, row_bytes};
use std::collections::VecDeque;
use std::ops::Range;

/// Maximum number of rows of a batch, if the caller does not set it.
const MAX_ROWS: u64 = 1 << 20;
/// Minimum number of rows that are tested at once.
const MIN_TESTED: u64 = 1 << 10;

/// Reads rows of some columns of a table whose columns are of type `A`.
pub struct TableSource<A> {
    columns: TableColumns<A>,
    rows: Selection,
    /// Maximum number of rows of a batch.
    batch: u64,
}

/// Which rows are read, from the next one on.
enum Selection {
    Range {
        left: Range<u64>,
        /// Each batch begins at a multiple of its length.
        is_aligned: bool,
    },
    Where(Search),
    Numbers {
        numbers: Vec<u64>,
        next: usize,
    },
}

/// A search for the rows for which a predicate is true.
struct Search {
    predicate: Bound,
    /// Rows that were not tested yet, and can pass.
    left: VecDeque<Range<u64>>,
    /// How many rows may still be found.
    limit: u64,
    /// Rows that are tested at once, next time and at most.
    step: u64,
    max_step: u64,
    /// Rows that were found, and how many of them were read.
    found: Vec<u64>,
    taken: usize,
    /// Items of the rows that were tested.
    read: ReadItems,
}

impl Search {
    /// Tests rows until some that were not read are found, or none are left.
    fn advance<A: AsRef<Array>>(&mut self, table: &Table<A>) -> Result<()> {
        while self.taken == self.found.len() && self.limit > 0 {
            let Some(left) = self.left.front_mut() else {
                return Ok(());
            };
            let first = left.start;
            let end = (first / self.step + 1)
                .saturating_mul(self.step)
                .min(left.end);
            left.start = end;
            if left.is_empty() {
                self.left.pop_front();
            }
            let mut tested = Tested::new(table, first, (end - first) as usize);
            self.found = tested.rows(&self.predicate)?;
            self.found
                .truncate(usize::try_from(self.limit).unwrap_or(usize::MAX));
            self.taken = 0;
            self.read = ReadItems {
                first,
                items: tested.into_items(),
            };
            self.limit -= self.found.len() as u64;
            self.step = self.step.saturating_mul(2).min(self.max_step);
        }
        Ok(())
    }
}

impl<A: AsRef<Array> + Send + Sync> TableSource<A> {
    /// Reads consecutive rows, `batch` rows per batch; 0: a number derived from the row size and the
    /// chunks.
    pub fn range(columns: TableColumns<A>, rows: (u64, u64), batch: u64) -> Result<TableSource<A>> {
        TableSource::scan(columns, None, rows, u64::MAX, batch)
    }

    /// Reads those of consecutive rows for which a predicate is true, if there is one, and at most
    /// `limit`. With a predicate a batch has one row at least, and at most `batch`.
    pub fn scan(
        columns: TableColumns<A>,
        predicate: Option<&Predicate>,
        rows: (u64, u64),
        limit: u64,
        batch: u64,
    ) -> Result<TableSource<A>> {
        let table = columns.table();
        let left = range_of(table, rows)?;
        let Some(predicate) = predicate else {
            let end = left.end.min(left.start.saturating_add(limit));
            let rows = Selection::Range {
                left: left.start..end,
                is_aligned: batch == 0,
            };
            return Ok(TableSource::new(columns, rows, batch));
        };
        let predicate = predicate.bind(table)?;
        let left = predicate.candidates(table, &left).into();
        let compared = predicate.columns();
        let compared = compared.iter().filter_map(|i| table.columns().get(*i));
        let read = columns.arrays().chain(compared.map(|c| c.array.as_ref()));
        let max_step = suitable_rows(read);
        let rows = Selection::Where(Search {
            predicate,
            left,
            limit,
            // a few rows are often found in a few
            step: max_step.min(limit.saturating_mul(64).max(MIN_TESTED)),
            max_step,
            found: Vec::new(),
            taken: 0,
            read: ReadItems::default(),
        });
        Ok(TableSource::new(columns, rows, batch))
    }

    /// Reads the rows with these numbers, in this order, `batch` rows per batch.
    pub fn numbers(
        columns: TableColumns<A>,
        numbers: &[u64],
        batch: u64,
    ) -> Result<TableSource<A>> {
        let rows = columns.table().rows();
        if let Some(i) = numbers.iter().position(|number| *number >= rows) {
            let number = numbers.get(i).copied().unwrap_or(0);
            let message = fail!(
                Range,
                "rows: row {number} is out of range (there are {rows})"
            );
            return Err(message.at(i as u64));
        }
        let mut copy = alloc::with_capacity(numbers.len())?;
        copy.extend_from_slice(numbers);
        let rows = Selection::Numbers {
            numbers: copy,
            next: 0,
        };
        Ok(TableSource::new(columns, rows, batch))
    }

    fn new(columns: TableColumns<A>, rows: Selection, batch: u64) -> TableSource<A> {
        let batch = match batch {
            0 => suitable_rows(columns.arrays()),
            n => n,
        };
        let batch = batch.min(max_rows(columns.arrays()));
        TableSource {
            columns,
            rows,
            batch,
        }
    }
}

impl<A: AsRef<Array> + Send + Sync> Source for TableSource<A> {
    fn schema(&self) -> &Field {
        self.columns.schema()
    }

    fn next_batch(&mut self) -> Result<Option<Data>> {
        let none = ReadItems::default();
        let (batch, columns) = (self.batch, &self.columns);
        let read = |rows: Rows, read| match rows.is_empty() {
            true => Ok(None),
            false => columns.read(&rows, read).map(Some),
        };
        match &mut self.rows {
            Selection::Range { left, is_aligned } => {
                let end = match *is_aligned {
                    true => (left.start / batch + 1).saturating_mul(batch),
                    false => left.start.saturating_add(batch),
                };
                let n = end.min(left.end) - left.start;
                let data = read(Rows::range(left.start, n as usize), &none)?;
                left.start += n;
                Ok(data)
            }
            Selection::Where(search) => {
                search.advance(columns.table())?;
                let rows = some(&search.found, search.taken, batch);
                let data = read(Rows::numbers(rows), &search.read)?;
                search.taken += rows.len();
                Ok(data)
            }
            Selection::Numbers { numbers, next } => {
                let rows = some(numbers, *next, batch);
                let data = read(Rows::numbers(rows), &none)?;
                *next += rows.len();
                Ok(data)
            }
        }
    }
}

/// Returns at most `most` numbers from `first` on.
fn some(numbers: &[u64], first: usize, most: u64) -> &[u64] {
    let left = numbers.get(first..).unwrap_or_default();
    left.get(..most as usize).unwrap_or(left)
}

/// Returns the range of `n` rows from `first` on, which the table must have.
fn range_of<A>(table: &Table<A>, (first, n): (u64, u64)) -> Result<Range<u64>> {
    let end = first.checked_add(n).filter(|end| *end <= table.rows());
    end.map(|end| first..end).ok_or_else(|| {
        fail!(
            Range,
            "{}: {n} rows from {first} on exceed the table (found {} rows)",
            table.name(),
            table.rows()
        )
    })
}

/// Returns the number of rows for a batch of about `BATCH_BYTES`, in complete chunks of the first
/// column where possible.
fn suitable_rows<'a>(arrays: impl Iterator<Item = &'a Array>) -> u64 {
    let arrays: Vec<&Array> = arrays.collect();
    let row = arrays.iter().fold(0u64, |n, a| {
        n.saturating_add(row_bytes(a).max(if a.store().has_objects() { 256 } else { 0 }))
    });
    let rows = (BATCH_BYTES / row.max(1)).clamp(1, MAX_ROWS);
    let chunk = arrays
        .first()
        .and_then(|a| a.chunkshape().first())
        .copied()
        .unwrap_or(1)
        .max(1);
    match chunk {
        _ if chunk <= rows => rows / chunk * chunk,
        _ if chunk.saturating_mul(row) <= 4 * BATCH_BYTES => chunk,
        // equal parts of a chunk, so that no small batch remains
        _ => chunk.div_ceil(chunk.div_ceil(rows)),
    }
}

/// Returns the maximum number of rows of a batch for which 32-bit offsets suffice in every column.
fn max_rows<'a>(arrays: impl Iterator<Item = &'a Array>) -> u64 {
    arrays
        .map(|a| i32::MAX as u64 / row_bytes(a).max(1))
        .min()
        .unwrap_or(u64::MAX)
        .clamp(1, i32::MAX as u64)
}
