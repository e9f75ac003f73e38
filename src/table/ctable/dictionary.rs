//! Texts of a CTable as numbers of the texts of a dictionary.
#![forbid(unsafe_code)]

use super::batches::Batches;
use super::text_rows::TextSource;
use crate::alloc;
use crate::array::Array;
use crate::array::store::Texts;
use crate::dtype::Kind;
use crate::error::{Result, fail};
use std::ops::Range;

/// Positions that are read at once.
const PIECE: u64 = 1 << 16;

/// Numbers, and the texts that they stand for.
pub struct Dictionary {
    numbers: Array,
    values: Texts,
    null: i32,
}

impl Dictionary {
    /// Reads the texts of the dictionary, at most `limit` bytes.
    pub fn new(numbers: Array, stored: &Batches, null: i32, limit: u64) -> Result<Dictionary> {
        let item = &numbers.dtype().item;
        if item.kind != Kind::Int || item.size != 4 || item.big_endian || numbers.shape().len() != 1
        {
            return Err(fail!(
                Format,
                "numbers of dtype {} (expected <i4 in one dimension)",
                numbers.dtype_text()
            ));
        }
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
        let mut at = positions.start;
        while at < positions.end {
            let n = PIECE.min(positions.end - at);
            let mut bytes = alloc::zeroed(n as usize * 4)?;
            self.numbers.read(&[at], &[n], None, &mut bytes, None)?;
            for (i, number) in bytes.as_chunks::<4>().0.iter().enumerate() {
                let number = i32::from_le_bytes(*number);
                if number == self.null {
                    to.push(&[], true)?;
                    continue;
                }
                let text = usize::try_from(number)
                    .ok()
                    .and_then(|number| self.values.get(number));
                let text = text.ok_or_else(|| {
                    fail!(
                        Format,
                        "position {}: text {number} of a dictionary of {}",
                        at + i as u64,
                        self.values.ends.len()
                    )
                })?;
                to.push(text, false)?;
            }
            at += n;
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
