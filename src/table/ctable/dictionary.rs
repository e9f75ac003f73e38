//! Texts of a CTable as numbers of the texts of a dictionary.
#![forbid(unsafe_code)]

use super::batches::Batches;
use super::text_rows::TextSource;
use super::utf8::pieces;
use crate::alloc;
use crate::array::Array;
use crate::array::store::Texts;
use crate::dtype::Kind;
use crate::error::{Result, fail};
use std::ops::Range;

/// Numbers, and the texts that they stand for.
pub struct Dictionary {
    numbers: Array,
    values: Texts,
    null: i32,
}

impl Dictionary {
    /// Reads the texts of the dictionary, at most `limit` bytes.
    pub fn new(numbers: Array, stored: &Batches, null: i32, limit: u64) -> Result<Dictionary> {
        check_numbers(&numbers)?;
        let mut values = Texts::new(limit);
        stored.read(0..stored.len(), &mut values)?;
        Ok(Dictionary {
            numbers,
            values,
            null,
        })
    }
}

impl TextSource for Dictionary {
    fn len(&self) -> u64 {
        self.numbers.shape().first().copied().unwrap_or(0)
    }

    fn read(&self, positions: Range<u64>, to: &mut Texts) -> Result<()> {
        for piece in pieces(positions) {
            let n = piece.end - piece.start;
            let mut numbers = alloc::zeroed(n as usize * 4)?;
            (self.numbers).read(&[piece.start], &[n], None, &mut numbers, None)?;
            push_texts(piece.start, &numbers, &self.values, self.null, to)?;
        }
        Ok(())
    }

    fn threads(&self) -> usize {
        self.numbers.store().file_threads()
    }

    fn stored_bytes(&self) -> Result<u64> {
        self.numbers.cbytes()
    }
}

/// Returns an error unless the items of the array are numbers of texts.
pub fn check_numbers(numbers: &Array) -> Result<()> {
    let item = &numbers.dtype().item;
    if item.kind == Kind::Int && item.size == 4 && !item.big_endian && numbers.shape().len() == 1 {
        return Ok(());
    }
    Err(fail!(
        Format,
        "numbers of dtype {} (expected <i4 in one dimension)",
        numbers.dtype_text()
    ))
}

/// Adds the texts with these numbers, which are at the positions from `first` on, to a list.
pub fn push_texts(
    first: u64,
    numbers: &[u8],
    values: &Texts,
    null: i32,
    to: &mut Texts,
) -> Result<()> {
    for (i, number) in numbers.as_chunks::<4>().0.iter().enumerate() {
        let number = i32::from_le_bytes(*number);
        if number == null {
            to.push(&[], true)?;
            continue;
        }
        let index = usize::try_from(number).ok();
        let text = index.and_then(|number| values.get(number));
        let text = text.ok_or_else(|| {
            fail!(
                Format,
                "position {}: text {number} of a dictionary of {}",
                first + i as u64,
                values.len()
            )
        })?;
        to.push(text, false)?;
    }
    Ok(())
}
