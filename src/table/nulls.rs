//! How a column marks nulls: by a value, or by a mask beside it. Only CTables have such columns.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::array::Array;
use crate::dtype::{Kind, Type};
use crate::error::Result;
use std::sync::Arc;

/// Reads a byte for each row from one on, 0 for a null.
pub type ReadMask = Arc<dyn Fn(u64, &mut [u8]) -> Result<()> + Send + Sync>;

/// Which rows of a column are null.
#[derive(Clone)]
pub enum NullRule {
    /// Those whose items all equal this one, in the byte order of the column.
    Item(Vec<u8>),
    /// Those whose items all are NaN.
    Nan,
    /// Those for which this array of one byte per row has 0.
    Mask(Arc<Array>),
    /// Those for which a function writes 0, a byte per row from the given one on.
    Written {
        /// The function.
        read: ReadMask,
        /// The row of the column that is the first one here.
        start: u64,
        /// Rows of the column from one here to the next.
        step: i64,
    },
    /// Those of texts, or bytes of any length, that the store reports.
    Texts,
}

impl NullRule {
    /// Returns the rule of a new column, whose nulls are to be marked by a mask.
    pub fn new_mask() -> NullRule {
        NullRule::Written {
            read: Arc::new(|_, valid| {
                valid.fill(1);
                Ok(())
            }),
            start: 0,
            step: 1,
        }
    }

    /// Returns the rule for `count` rows from `start` on, `step` apart.
    pub fn slice(&self, start: u64, count: u64, step: i64) -> Result<NullRule> {
        Ok(match self {
            NullRule::Mask(mask) => {
                NullRule::Mask(Arc::new(mask.slice(&[start], &[count], Some(&[step]))?))
            }
            NullRule::Written {
                read,
                start: at,
                step: by,
            } => NullRule::Written {
                read: read.clone(),
                start: at.wrapping_add_signed(by.wrapping_mul(start as i64)),
                step: by.wrapping_mul(step),
            },
            rule => rule.clone(),
        })
    }

    /// Returns for each of `n` rows from `first` on whether it is null. `bytes` are their items.
    pub fn nulls(&self, first: u64, n: usize, item: &Type, bytes: &[u8]) -> Result<Vec<bool>> {
        let mut nulls = alloc::with_capacity(n)?;
        if let NullRule::Mask(mask) = self {
            let mut valid = alloc::zeroed(n)?;
            mask.read(&[first], &[n as u64], None, &mut valid, None)?;
            nulls.extend(valid.iter().map(|valid| *valid == 0));
            return Ok(nulls);
        }
        if let NullRule::Written { read, start, step } = self {
            if *step == 1 {
                let mut valid = alloc::zeroed(n)?;
                read(start + first, &mut valid)?;
                nulls.extend(valid.iter().map(|valid| *valid == 0));
                return Ok(nulls);
            }
            let mut valid = [0];
            for i in 0..n as u64 {
                let row = step.wrapping_mul((first + i) as i64);
                read(start.wrapping_add_signed(row), &mut valid)?;
                nulls.push(valid == [0]);
            }
            return Ok(nulls);
        }
        let row = bytes.len() / n.max(1);
        let is_null = |one: &[u8]| match self {
            NullRule::Item(null) => *null == one || is_equal(item, null, one),
            _ => float(item, one).is_some_and(f64::is_nan),
        };
        let rows = bytes.chunks_exact(row.max(1));
        nulls.extend(rows.map(|row| row.chunks_exact(item.size.max(1)).all(is_null)));
        nulls.resize(n, false);
        Ok(nulls)
    }
}

/// Compares numbers of which two representations are equal: 0 and -0.
fn is_equal(item: &Type, one: &[u8], other: &[u8]) -> bool {
    match (float(item, one), float(item, other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// Returns the number, if the item is one with a fraction.
fn float(item: &Type, bytes: &[u8]) -> Option<f64> {
    if item.kind != Kind::Float {
        return None;
    }
    let mut bytes = bytes.to_vec();
    if item.big_endian {
        bytes.reverse();
    }
    match *bytes.as_slice() {
        [a, b, c, d] => Some(f32::from_le_bytes([a, b, c, d]).into()),
        [a, b, c, d, e, f, g, h] => Some(f64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;

    #[test]
    fn values_that_mark_nulls() {
        let nulls = |rule: &NullRule, dtype: &str, n, bytes: &[u8]| {
            rule.nulls(0, n, &Dtype::parse(dtype).unwrap().item, bytes)
                .unwrap()
        };
        let of = |numbers: &[f64]| {
            numbers
                .iter()
                .flat_map(|x| x.to_le_bytes())
                .collect::<Vec<_>>()
        };
        let item = NullRule::Item(0f64.to_le_bytes().to_vec());
        assert_eq!(
            nulls(&item, "<f8", 3, &of(&[1.0, -0.0, 0.0])),
            [false, true, true]
        );
        assert_eq!(
            nulls(&NullRule::Nan, "<f8", 2, &of(&[f64::NAN, 1.0])),
            [true, false]
        );
        // rows of two items
        assert_eq!(
            nulls(&item, "<f8", 2, &of(&[0.0, 1.0, 0.0, 0.0])),
            [false, true]
        );
        let item = NullRule::Item(vec![255, 255]);
        assert_eq!(nulls(&item, "<i2", 2, &[255, 255, 255, 0]), [true, false]);
        assert_eq!(nulls(&item, "<i2", 0, &[]), [false; 0]);
    }
}
