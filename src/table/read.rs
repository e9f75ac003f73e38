//! Reads rows of columns, which are found by name.
#![forbid(unsafe_code)]

use super::{Column, NullRule, Table};
use crate::alloc;
use crate::array::Array;
use crate::error::{Result, fail};
use crate::format::Format;
use crate::progress::Progress;

impl<A: AsRef<Array>> Table<A> {
    /// Returns the format.
    pub fn format(&self) -> Format {
        let stored = || self.columns.first().map(|c| c.array.as_ref().format());
        let writer = self.writer.as_ref().map(super::write::Writer::format);
        self.format
            .or(writer)
            .or_else(stored)
            .unwrap_or(Format::Bcolz)
    }

    /// Returns for each of `n` rows of a column from `first` on whether it is null; `None`: the column
    /// has no nulls.
    pub fn nulls(&self, column: usize, first: u64, n: u64) -> Result<Option<Vec<bool>>> {
        let Some(Column {
            array,
            nulls: Some(rule),
            ..
        }) = self.columns.get(column)
        else {
            return Ok(None);
        };
        let array = array.as_ref();
        if matches!(rule, NullRule::Texts) {
            return Ok(Some(array.texts(first, n)?.nulls));
        }
        let row = array.nbytes() / self.rows.max(1);
        let len = alloc::allow(row.saturating_mul(n), array.memory_limit(), "rows")?;
        let mut bytes = alloc::zeroed(len)?;
        self.read_rows(column, (first, n, 1), &mut bytes)?;
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        rule.nulls(first, n, &array.dtype().item, &bytes).map(Some)
    }

    /// Returns the size of all items in bytes.
    pub fn nbytes(&self) -> u64 {
        let arrays = self.columns.iter().map(|c| c.array.as_ref());
        arrays.fold(0, |n, array| n.saturating_add(array.nbytes()))
    }

    /// Returns the size in bytes of all columns as of the last commit.
    pub fn cbytes(&self) -> Result<u64> {
        let mut arrays = self.columns.iter().map(|c| c.array.as_ref());
        arrays.try_fold(0, |n: u64, array| Ok(n.saturating_add(array.cbytes()?)))
    }

    /// Reads the rows `start`, `start + step`, ... (`count` of them) of a column, packed. Returns
    /// `true` if some of the items were corrupt and are zeros, as the options requested.
    pub fn read_rows(
        &self,
        column: usize,
        (start, count, step): (u64, u64, u64),
        dst: &mut [u8],
    ) -> Result<bool> {
        let array = self.array(column)?;
        let (mut starts, mut counts) = (vec![0; array.shape().len()], array.shape().to_vec());
        let mut steps = vec![1; starts.len()];
        for (all, first) in [
            (&mut starts, start),
            (&mut counts, count),
            (&mut steps, step),
        ] {
            all.first_mut().into_iter().for_each(|n| *n = first);
        }
        array
            .read(&starts, &counts, Some(&steps), dst, None)
            .map_err(|e| e.within(format_args!("column {:?}", self.column_name(column))))
    }

    /// Reads these rows of a column, in any order and packed. Returns the same as
    /// [`Table::read_rows`].
    pub fn read_points(&self, column: usize, rows: &[u64], dst: &mut [u8]) -> Result<bool> {
        let array = self.array(column)?;
        if let Some(i) = rows.iter().position(|row| *row >= self.rows) {
            let (row, all) = (rows.get(i).copied().unwrap_or(0), self.rows);
            let message = fail!(Range, "rows: row {row} is out of range (there are {all})");
            return Err(message.at(i as u64));
        }
        let mut positions = vec![None; array.shape().len()];
        positions
            .first_mut()
            .into_iter()
            .for_each(|p| *p = Some(rows));
        array
            .read_orthogonal(&positions, dst)
            .map_err(|e| e.within(format_args!("column {:?}", self.column_name(column))))
    }

    /// Returns the progress callback of the options.
    pub fn progress(&self) -> Option<Progress> {
        let first = self.columns.first();
        first.and_then(|column| column.array.as_ref().store().progress().cloned())
    }

    fn array(&self, column: usize) -> Result<&Array> {
        let have = self.columns.len();
        let found = self.columns.get(column);
        found
            .map(|c| c.array.as_ref())
            .ok_or_else(|| fail!(Range, "column {column}: there are {have}"))
    }

    fn column_name(&self, column: usize) -> &str {
        self.columns.get(column).map_or("", |c| c.name.as_str())
    }
}

impl<A> Table<A> {
    /// Returns the index of the column with this name.
    pub fn find_column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// Returns the index of the column with this name, which the caller requires.
    pub fn column_index(&self, name: &str) -> Result<usize> {
        self.find_column(name)
            .ok_or_else(|| fail!(Argument, "{}: there is no column {name:?}", self.name))
    }
}
