//! Rows of a table, consecutive ones or given by their numbers, and their values in a column.
#![forbid(unsafe_code)]

use super::{Column, NullRule};
use crate::alloc::{self, Scratch};
use crate::array::Array;
use crate::array::store::Texts;
use crate::dtype::Type;
use crate::error::{Result, fail};
use crate::slice::{SliceExt, take_mut};
use std::ops::Range;

/// Bytes between two rows that are read, and dropped, rather than skipped: those of a block, which
/// is decoded anyway.
const GAP: u64 = 64 << 10;
/// Bytes that are read at once to select some of their rows.
const PIECE: u64 = 16 << 20;
/// The size at which a value of any length counts for these.
const TEXT: u64 = 64;

/// Rows of a table, in this order.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    first: u64,
    len: usize,
    /// Their numbers, if they are not consecutive.
    numbers: Option<&'a [u64]>,
    is_ascending: bool,
}

/// Some of the rows: the range that is read, and which rows of it are requested.
struct Run<'a> {
    range: Range<u64>,
    numbers: &'a [u64],
}

impl<'a> Rows<'a> {
    /// Returns `n` consecutive rows.
    pub fn range(first: u64, n: usize) -> Rows<'a> {
        Rows {
            first,
            len: n,
            numbers: None,
            is_ascending: true,
        }
    }

    /// Returns the rows with these numbers.
    pub fn numbers(numbers: &'a [u64]) -> Rows<'a> {
        let (first, len) = (numbers.first().copied().unwrap_or(0), numbers.len());
        let mut pairs = numbers.iter().zip(numbers.iter().skip(1));
        let is_ascending = pairs.all(|(one, next)| one < next);
        let last = numbers.last().copied().unwrap_or(0);
        let is_range = is_ascending && (numbers.is_empty() || last - first == len as u64 - 1);
        Rows {
            first,
            len,
            numbers: (!is_range).then_some(numbers),
            is_ascending,
        }
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of row `i` of these.
    pub fn number(&self, i: usize) -> u64 {
        match self.numbers {
            Some(numbers) => numbers.get(i).copied().unwrap_or(u64::MAX),
            None => self.first.saturating_add(i as u64),
        }
    }

    /// Divides rows into runs that are read at once, where a row has about `row` bytes.
    fn runs(&self, row: u64) -> impl Iterator<Item = Run<'a>> {
        let (gap, most) = (GAP / row.max(1), (PIECE / row.max(1)).max(1));
        let mut left = self.numbers.unwrap_or_default();
        std::iter::from_fn(move || {
            let first = *left.first()?;
            let mut end = first + 1;
            let mut is_near = |number: &u64| {
                let most = end.saturating_add(gap).min(first.saturating_add(most - 1));
                let near = (end..=most).contains(number);
                if near {
                    end = number + 1;
                }
                near
            };
            let n = 1 + left.iter().skip(1).take_while(|n| is_near(n)).count();
            let (numbers, rest) = left.split_at_checked(n)?;
            left = rest;
            Some(Run {
                range: first..end,
                numbers,
            })
        })
    }
}

impl Run<'_> {
    /// Copies the requested rows, of `row` bytes each, from those of the range.
    fn select(&self, row: usize, read: &[u8], dst: &mut [u8]) -> Result<()> {
        match row {
            1 => self.select_of::<1>(read, dst),
            2 => self.select_of::<2>(read, dst),
            4 => self.select_of::<4>(read, dst),
            8 => self.select_of::<8>(read, dst),
            _ => {
                for (to, number) in dst.chunks_exact_mut(row.max(1)).zip(self.numbers) {
                    let at = (number - self.range.start) as usize * row;
                    to.copy_from_slice(read.at(at..at + row)?);
                }
            }
        }
        Ok(())
    }

    fn select_of<const N: usize>(&self, read: &[u8], dst: &mut [u8]) {
        let (read, dst) = (read.as_chunks::<N>().0, dst.as_chunks_mut::<N>().0);
        for (to, number) in dst.iter_mut().zip(self.numbers) {
            if let Some(from) = read.get((number - self.range.start) as usize) {
                *to = *from;
            }
        }
    }
}

/// Returns the size of a row of an array in bytes.
pub fn row_bytes(array: &Array) -> u64 {
    let row = array.shape().iter().skip(1);
    row.fold(array.itemsize() as u64, |n, d| n.saturating_mul(*d))
}

/// Copies rows, of `row` bytes each, from the items of consecutive rows from `first` on.
pub fn select_rows(
    rows: &Rows,
    row: usize,
    (first, read): (u64, &[u8]),
    dst: &mut [u8],
) -> Result<()> {
    let Some(numbers) = rows.numbers else {
        let at = (rows.first - first) as usize * row;
        dst.copy_from_slice(read.at(at..at + dst.len())?);
        return Ok(());
    };
    let run = Run {
        range: first..u64::MAX,
        numbers,
    };
    run.select(row, read, dst)
}

impl<A: AsRef<Array>> Column<A> {
    /// Reads the items of rows, packed. Returns `true` if some of them were corrupt and are zeros, as
    /// the options requested.
    pub fn read_items(&self, rows: &Rows, dst: &mut [u8]) -> Result<bool> {
        let array = self.array.as_ref();
        if rows.is_empty() {
            return Ok(false);
        }
        if rows.numbers.is_none() {
            return read_range(array, rows.first, rows.len as u64, dst);
        }
        if let Some(numbers) = rows.numbers.filter(|_| !rows.is_ascending) {
            let mut positions = vec![None; array.shape().len()];
            let first = positions.first_mut();
            first.into_iter().for_each(|p| *p = Some(numbers));
            return array.read_orthogonal(&positions, dst);
        }
        let row = row_bytes(array);
        let (mut left, mut damaged) = (dst, false);
        for run in rows.runs(row) {
            let n = run.range.end - run.range.start;
            let part = take_mut(&mut left, run.numbers.len() * row as usize)?;
            if n == run.numbers.len() as u64 {
                damaged |= read_range(array, run.range.start, n, part)?;
                continue;
            }
            let mut read = Scratch::new(n.saturating_mul(row), array.memory_limit(), "rows")?;
            damaged |= read_range(array, run.range.start, n, &mut read)?;
            run.select(row as usize, &read, part)?;
        }
        Ok(damaged)
    }

    /// Returns for each row whether it is null; `None`: the column has no nulls. `items` are those of
    /// the rows, if they are of fixed size.
    pub fn nulls_of(&self, rows: &Rows, item: &Type, items: &[u8]) -> Result<Option<Vec<bool>>> {
        let Some(rule) = &self.nulls else {
            return Ok(None);
        };
        let by_value = matches!(rule, NullRule::Item(_) | NullRule::Nan);
        if by_value || rows.numbers.is_none() {
            return rule.nulls(rows.first, rows.len, item, items).map(Some);
        }
        let mut nulls = alloc::with_capacity(rows.len)?;
        for run in rows.runs(1) {
            let n = (run.range.end - run.range.start) as usize;
            let all = rule.nulls(run.range.start, n, item, &[])?;
            let is_null = |number: &u64| {
                let at = (number - run.range.start) as usize;
                all.get(at).copied().unwrap_or(false)
            };
            nulls.extend(run.numbers.iter().map(is_null));
        }
        Ok(Some(nulls))
    }

    /// Returns the texts, or other values of any length, of rows.
    pub fn texts(&self, rows: &Rows) -> Result<Texts> {
        let array = self.array.as_ref();
        if rows.numbers.is_none() {
            return array.texts(rows.first, rows.len as u64);
        }
        let mut texts = Texts::new(array.memory_limit());
        for run in rows.runs(TEXT) {
            let all = array.texts(run.range.start, run.range.end - run.range.start)?;
            for number in run.numbers {
                let i = (number - run.range.start) as usize;
                texts.push(all.get(i).unwrap_or_default(), all.is_null(i))?;
            }
        }
        Ok(texts)
    }

    /// Returns Python objects of rows in pickled form.
    pub fn objects(&self, rows: &Rows) -> Result<Texts> {
        let array = self.array.as_ref();
        let mut objects = Texts::new(array.memory_limit());
        for i in 0..rows.len {
            let row = rows.number(i);
            let object = array.object(row).map_err(|e| e.at(row))?;
            objects.push(&object, false)?;
        }
        Ok(objects)
    }
}

/// Reads `n` consecutive rows.
fn read_range(array: &Array, first: u64, n: u64, dst: &mut [u8]) -> Result<bool> {
    let (mut start, mut count) = (vec![0; array.shape().len()], array.shape().to_vec());
    let (Some(s), Some(c)) = (start.first_mut(), count.first_mut()) else {
        return Err(fail!(State, "a column has no dimension"));
    };
    (*s, *c) = (first, n);
    array.read(&start, &count, None, dst, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_all_rows_in_order() {
        let far = GAP / 8 + 2;
        let most = PIECE / 8;
        for numbers in [
            &[][..],
            &[7],
            &[3, 5, 9, 5, 2, 2],
            &[0, far, 2 * far + 1, 2 * far + 2],
            &(0..4 * most).step_by(1000).collect::<Vec<_>>(),
            &[u64::MAX - 2, u64::MAX - 1],
        ] {
            let rows = Rows::numbers(numbers);
            let runs: Vec<_> = Rows {
                numbers: Some(numbers),
                ..rows
            }
            .runs(8)
            .collect();
            let all: Vec<u64> = runs.iter().flat_map(|run| run.numbers.to_vec()).collect();
            assert_eq!(all, numbers);
            for Run { range, numbers } in &runs {
                assert!(numbers.is_sorted() && range.end - range.start <= most);
                assert!(numbers.first() == Some(&range.start));
                assert!(numbers.last() == Some(&(range.end - 1)));
            }
        }
        let joined = Rows::numbers(&[3, 5, 9, 20_000, 20_001]);
        assert_eq!(joined.runs(8).count(), 2);
        assert!(Rows::numbers(&[4, 5, 6]).numbers.is_none());
        assert_eq!(Rows::numbers(&[4, 5, 6]).number(2), 6);
    }
}
