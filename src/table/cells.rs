//! The values of rows of a column, as a caller gives them.
#![forbid(unsafe_code)]

use crate::array::Array;
use crate::array::store::Texts;
use crate::dtype::numpy_meta::nbytes;
use crate::error::{Result, fail};
use std::borrow::Cow;

/// The values of rows of a column.
pub enum Cells<'a> {
    /// Items of fixed length, in C order, packed.
    Items(Cow<'a, [u8]>),
    /// Texts, or other values of any length.
    Texts(Cow<'a, Texts>),
}

impl<'a> Cells<'a> {
    /// Returns items of fixed length, in C order, packed.
    pub fn of_items(items: &'a [u8]) -> Cells<'a> {
        Cells::Items(Cow::Borrowed(items))
    }

    /// Collects values of any length. `None` is a null.
    pub fn of_values<'v>(values: impl Iterator<Item = Option<&'v [u8]>>) -> Result<Cells<'a>> {
        let mut texts = Texts::new(u64::MAX);
        for value in values {
            texts.push(value.unwrap_or_default(), value.is_none())?;
        }
        Ok(Cells::Texts(Cow::Owned(texts)))
    }

    /// Returns the number of bytes.
    pub fn nbytes(&self) -> u64 {
        match self {
            Cells::Items(items) => items.len() as u64,
            Cells::Texts(texts) => texts.bytes.len() as u64,
        }
    }

    /// Returns an error unless these are `rows` rows of a column.
    pub fn check(&self, array: &Array, rows: u64) -> Result<()> {
        let shape = [&[rows], array.shape().get(1..).unwrap_or_default()].concat();
        match (self, array.store().has_objects()) {
            (Cells::Items(items), false) => {
                if nbytes(&shape, array.itemsize()) == Some(items.len() as u64) {
                    return Ok(());
                }
                Err(fail!(
                    Argument,
                    "{} bytes do not match items of {} bytes in the shape {shape:?}",
                    items.len(),
                    array.itemsize()
                ))
            }
            (Cells::Texts(texts), true) => match texts.len() as u64 == rows {
                true => Ok(()),
                false => Err(fail!(
                    Argument,
                    "{} values (expected {rows}, one for each row)",
                    texts.len()
                )),
            },
            (Cells::Items(_), true) => Err(fail!(
                Type,
                "items of fixed length, but the values of the column have any length"
            )),
            (Cells::Texts(_), false) => Err(fail!(
                Type,
                "values of any length, but the column has the dtype {}",
                array.dtype_text()
            )),
        }
    }

    /// Inserts the rows before row `at` of a column.
    pub fn insert(&self, array: &mut Array, at: u64, rows: u64) -> Result<()> {
        self.check(array, rows)?;
        match self {
            Cells::Items(items) => array.insert(0, at, rows, items),
            Cells::Texts(texts) => array.splice_texts(at, 0, texts),
        }
    }

    /// Overwrites rows of a column from row `first` on.
    pub fn write(&self, array: &mut Array, first: u64, rows: u64) -> Result<()> {
        self.check(array, rows)?;
        match self {
            Cells::Items(items) => {
                let (mut start, mut count) = (vec![0; array.shape().len()], array.shape().to_vec());
                start.iter_mut().take(1).for_each(|n| *n = first);
                count.iter_mut().take(1).for_each(|n| *n = rows);
                array.write(&start, &count, None, items, None)
            }
            Cells::Texts(texts) => array.splice_texts(first, rows, texts),
        }
    }
}
