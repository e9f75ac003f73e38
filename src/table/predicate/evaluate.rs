//! The rows of a table for which a predicate is true.
#![forbid(unsafe_code)]

use super::Predicate;
use super::bind::{Bound, BoundTest};
use super::keys::{Keys, Ranges};
use super::truth::{Bits, Truth};
use crate::alloc;
use crate::array::Array;
use crate::dtype::{Kind, Type};
use crate::error::{Result, fail};
use crate::table::rows::{Rows, row_bytes};
use crate::table::{Column, Table};
use std::collections::HashMap;
use std::ops::Range;

/// Rows that are tested at once.
const BATCH: u64 = 1 << 16;
const MIN_BATCH: u64 = 1 << 10;

/// The rows that a call has selected.
pub struct Selected {
    /// Their numbers, in ascending order.
    pub rows: Vec<u64>,
    /// The first row that was not tested.
    pub next: u64,
    /// Some of the values that were tested were corrupt and are zeros, as the options requested.
    pub is_damaged: bool,
}

/// Consecutive rows of a table that a predicate tests.
pub struct Tested<'t, A> {
    table: &'t Table<A>,
    first: u64,
    n: usize,
    /// The items of columns that were read, by the index of the column.
    items: HashMap<usize, Vec<u8>>,
    is_damaged: bool,
}

impl<A: AsRef<Array>> Table<A> {
    /// Tests rows from the start of the range on, until `most` are selected.
    pub fn select(
        &self,
        predicate: &Predicate,
        range: Range<u64>,
        most: usize,
    ) -> Result<Selected> {
        if range.start > range.end || range.end > self.rows() {
            let (Range { start, end }, rows) = (range, self.rows());
            return Err(fail!(
                Range,
                "rows {start} to {end} are out of range (there are {rows})"
            ));
        }
        let bound = predicate.bind(self)?;
        // a few rows are often found in a few
        let batch = BATCH.min((most as u64).saturating_mul(64).max(MIN_BATCH));
        let mut selected = Selected {
            rows: Vec::new(),
            next: range.start,
            is_damaged: false,
        };
        let mut candidates = bound.candidates(self, &range).into_iter();
        let mut left = range.start..range.start;
        while selected.rows.len() < most {
            if left.is_empty() {
                let Some(next) = candidates.next() else {
                    selected.next = range.end;
                    break;
                };
                left = next;
            }
            let first = left.start;
            let n = batch.min(left.end - first);
            left.start += n;
            let mut tested = Tested::new(self, first, n as usize);
            let truth = tested.test(&bound)?;
            selected.is_damaged |= tested.is_damaged;
            selected.next = first + n;
            for i in truth.rows() {
                if selected.rows.len() == most {
                    selected.next = first + i;
                    break;
                }
                alloc::reserve(&mut selected.rows, 1)?;
                selected.rows.push(first + i);
            }
        }
        Ok(selected)
    }
}

impl<'t, A: AsRef<Array>> Tested<'t, A> {
    /// Returns `n` rows that are to be tested.
    pub fn new(table: &'t Table<A>, first: u64, n: usize) -> Tested<'t, A> {
        Tested {
            table,
            first,
            n,
            items: HashMap::new(),
            is_damaged: false,
        }
    }

    /// Returns the numbers of the rows for which a predicate is true.
    pub fn rows(&mut self, predicate: &Bound) -> Result<Vec<u64>> {
        let truth = self.test(predicate)?;
        let mut rows = alloc::with_capacity(truth.count_true())?;
        rows.extend(truth.rows().map(|i| self.first + i));
        Ok(rows)
    }

    /// Returns the items of the columns that were read, by the index of the column.
    pub fn into_items(self) -> HashMap<usize, Vec<u8>> {
        self.items
    }

    fn test(&mut self, predicate: &Bound) -> Result<Truth> {
        let n = self.n;
        match predicate {
            Bound::Not(inner) => self.test(inner).map(Truth::negated),
            Bound::And(all) => self.fold(all, |all, next| {
                all.and(next);
                all.count_false() == n
            }),
            Bound::Or(all) => self.fold(all, |all, next| {
                all.or(next);
                all.count_true() == n
            }),
            Bound::Column { index, test } => self.column(*index, test).map_err(|e| {
                let name = self.table.columns().get(*index).map_or("", |c| &c.name);
                e.within(format_args!("column {name:?}"))
            }),
        }
    }

    /// Combines predicates until `combine` returns true: the others would change nothing.
    fn fold(
        &mut self,
        all: &[Bound],
        combine: impl Fn(&mut Truth, &Truth) -> bool,
    ) -> Result<Truth> {
        let mut result: Option<Truth> = None;
        for predicate in all {
            let next = self.test(predicate)?;
            match &mut result {
                None => result = Some(next),
                Some(so_far) => {
                    if combine(so_far, &next) {
                        break;
                    }
                }
            }
        }
        result.ok_or_else(|| fail!(Argument, "the predicate: \"and\" or \"or\" of nothing"))
    }

    /// Reads the items of a column that was not read yet.
    fn read(&mut self, index: usize, column: &Column<A>) -> Result<()> {
        if self.items.contains_key(&index) {
            return Ok(());
        }
        let array = column.array.as_ref();
        let size = row_bytes(array).saturating_mul(self.n as u64);
        let mut items = alloc::zeroed(alloc::allow(size, array.memory_limit(), "rows")?)?;
        self.is_damaged |= column.read_items(&Rows::range(self.first, self.n), &mut items)?;
        self.items.insert(index, items);
        Ok(())
    }

    fn column(&mut self, index: usize, test: &BoundTest) -> Result<Truth> {
        let table = self.table;
        let Some(column) = table.columns().get(index) else {
            return Err(fail!(State, "column {index} is gone"));
        };
        let (array, n) = (column.array.as_ref(), self.n);
        if array.store().has_objects() {
            let texts = array.texts(self.first, n as u64)?;
            let null = Bits::new(n, |i| texts.is_null(i))?;
            return match test {
                BoundTest::Text(of) => {
                    let passed = Bits::new(n, |i| of.is_true(texts.get(i).unwrap_or_default()))?;
                    Truth::new(n, passed, Some(null))
                }
                BoundTest::IsNull | BoundTest::Keys(..) => Truth::new(n, null, None),
            };
        }
        self.read(index, column)?;
        let items = self.items.get(&index).map_or(&[][..], Vec::as_slice);
        let (item, row) = (&array.dtype().item, row_bytes(array));
        let null = match (&column.nulls, Keys::of(item)) {
            (Some(rule), _) => {
                let nulls = rule.nulls(self.first, n, item, items)?;
                Some(Bits::new(n, |i| nulls.get(i).copied().unwrap_or(false))?)
            }
            (None, Some(keys)) => keys.nat(n, items)?,
            (None, None) => None,
        };
        match test {
            BoundTest::IsNull => {
                let null = null.map_or_else(|| Bits::new(n, |_| false), Ok)?;
                Truth::new(n, null, None)
            }
            BoundTest::Keys(keys, ranges) => {
                let passed = test_keys(*keys, ranges, n, items)?;
                Truth::new(n, passed, null)
            }
            BoundTest::Text(of) => {
                let (mut text, mut wrong) = (Vec::new(), None);
                let mut items = items.chunks(row.max(1) as usize);
                let passed = Bits::new(n, |_| {
                    let item = items.next().unwrap_or_default();
                    let read = utf8(&array.dtype().item, item, &mut text);
                    wrong = wrong.take().or(read.err());
                    of.is_true(&text)
                })?;
                wrong.map_or(Ok(()), Err)?;
                Truth::new(n, passed, null)
            }
        }
    }
}

/// Returns for each item whether its key is in one of the ranges.
fn test_keys(keys: Keys, ranges: &Ranges, n: usize, items: &[u8]) -> Result<Bits> {
    match ranges[..] {
        [range] => keys.test_range(n, items, range),
        _ => keys.test(n, items, |key| {
            let after = ranges.partition_point(|(low, _)| *low <= key);
            let range = after.checked_sub(1).and_then(|at| ranges.get(at));
            range.is_some_and(|(_, high)| key <= *high)
        }),
    }
}

/// Writes the UTF-8 bytes of an item to `text`, without the zeros at its end.
fn utf8(of: &Type, item: &[u8], text: &mut Vec<u8>) -> Result<()> {
    text.clear();
    let end = item
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |at| at + 1);
    if of.kind == Kind::Bytes {
        text.extend_from_slice(item.get(..end).unwrap_or_default());
        return Ok(());
    }
    let characters = item.get(..end.next_multiple_of(4)).unwrap_or(item);
    for character in characters.as_chunks::<4>().0 {
        let code = match of.big_endian {
            true => u32::from_be_bytes(*character),
            false => u32::from_le_bytes(*character),
        };
        let Some(c) = char::from_u32(code) else {
            return Err(fail!(Format, "a text has the invalid code point {code:#x}"));
        };
        text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(())
}
