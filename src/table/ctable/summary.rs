//! The minimum and maximum of each block of a column, which python-blosc2 stores as an index of the
//! kind `summary` and reads to skip blocks.
//!
//! Source: `indexing.py` of python-blosc2 4.14.1. A segment has as many positions as a block of the
//! array, also those of deleted rows. Its entry is a structure of the minimum, the maximum and a
//! byte of flags. NaN and nulls have no part in the extrema; without any other value these are
//! zeros.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::array::Array;
use crate::dtype::Kind;
use crate::error::{Result, fail};
use crate::table::NullRule;
use std::collections::BTreeMap;
use std::ops::Range;

/// Flags of a segment.
pub const ALL_NAN: u8 = 1;
pub const HAS_NAN: u8 = 2;
pub const ALL_NULL: u8 = 4;
/// Segments whose entries are written at once.
const PIECE: usize = 1 << 12;

/// How the items of a column are ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Unsigned,
    Signed,
    Float,
}

/// The items of a column.
#[derive(Clone, Debug, PartialEq)]
struct Items {
    order: Order,
    size: usize,
    /// The item that marks nulls.
    null: Option<Vec<u8>>,
    /// NaN marks nulls.
    nan_is_null: bool,
    /// A mask beside the column marks nulls.
    has_mask: bool,
}

/// Reads the mask of the nulls of positions from one on, a byte for each, 0 for a null.
pub type ReadPositions<'a> = &'a dyn Fn(u64, &mut [u8]) -> Result<()>;

/// The summaries of a column that is open for writing.
pub struct Summary {
    entries: Array,
    /// Positions of a segment.
    segment: u64,
    items: Items,
    /// The segments that changed, with the new entry if it is known.
    changed: BTreeMap<u64, Option<Vec<u8>>>,
}

impl Summary {
    /// Returns the summaries of `column` in an array of entries. `nulls` is the rule of its nulls,
    /// unless it has a mask of them. Returns none if they are not of this column.
    pub fn new(
        entries: Array,
        column: &Array,
        segment: u64,
        nulls: Option<&NullRule>,
        has_mask: bool,
    ) -> Option<Summary> {
        let ([positions], [stored]) = (column.shape(), entries.shape()) else {
            return None;
        };
        let items = Items {
            has_mask,
            ..Items::of(column, nulls)?
        };
        let fits = entries.itemsize() == items.entry_len()
            && segment > 0
            && column.blockshape() == [segment]
            && *stored == positions.div_ceil(segment);
        fits.then(|| Summary {
            entries,
            segment,
            items,
            changed: BTreeMap::new(),
        })
    }

    /// Returns whether a column can have summaries: its items are ordered.
    pub fn can_be_of(column: &Array, nulls: Option<&NullRule>) -> bool {
        Items::of(column, nulls).is_some()
    }

    /// Records that items were written at these positions; `src`: the items, if they are known.
    pub fn written(&mut self, positions: &Range<u64>, src: Option<&[u8]>) {
        let mut at = positions.start;
        while at < positions.end {
            let i = at / self.segment;
            let (begin, end) = (i * self.segment, (i + 1) * self.segment);
            let whole = positions.start <= begin && end <= positions.end;
            // the mask may change afterwards
            let known = whole && !self.items.has_mask;
            let items = src.filter(|_| known).and_then(|src| {
                let byte = |position| (position - positions.start) as usize * self.items.size;
                src.get(byte(begin)..byte(end))
            });
            let entry = items.map(|items| self.items.entry(items, None));
            self.changed.insert(i, entry);
            at = end;
        }
    }

    /// Writes the entries of segments that changed, of all that `column` has.
    pub fn update(&mut self, column: &Array, mask: ReadPositions) -> Result<()> {
        let positions = column.shape().first().copied().unwrap_or(0);
        let segments = positions.div_ceil(self.segment);
        if self.entries.shape() != [segments] {
            self.entries.resize(&[segments])?;
        }
        let (mut first, mut run) = (0, Vec::new());
        for (i, known) in self.changed.range(..segments) {
            let entry = match known {
                Some(entry) => entry.clone(),
                None => self.read(column, mask, *i, positions)?,
            };
            if first + (run.len() / entry.len()) as u64 != *i || run.len() >= PIECE * entry.len() {
                write(&mut self.entries, first, &run)?;
                (first, run) = (*i, Vec::new());
            }
            run.extend_from_slice(&entry);
        }
        write(&mut self.entries, first, &run)?;
        self.entries.flush()?;
        // not before: what is not written yet is written by the next commit
        self.changed.clear();
        Ok(())
    }

    /// Returns the array of the entries.
    pub fn entries(&mut self) -> &mut Array {
        &mut self.entries
    }

    /// Computes the entry of a segment from the items of the column.
    fn read(&self, column: &Array, mask: ReadPositions, i: u64, positions: u64) -> Result<Vec<u8>> {
        let begin = i * self.segment;
        let n = self.segment.min(positions - begin);
        let mut items = alloc::zeroed(n as usize * self.items.size)?;
        if column.read(&[begin], &[n], None, &mut items, None)? {
            let name = column.store().name();
            return Err(fail!(
                Checksum,
                "{name}: it is corrupt; repair the table before it is changed"
            ));
        }
        if !self.items.has_mask {
            return Ok(self.items.entry(&items, None));
        }
        let mut valid = alloc::zeroed(n as usize)?;
        mask(begin, &mut valid)?;
        Ok(self.items.entry(&items, Some(&valid)))
    }
}

/// Writes entries from entry `first` on.
fn write(entries: &mut Array, first: u64, new: &[u8]) -> Result<()> {
    match (new.len() / entries.itemsize().max(1)) as u64 {
        0 => Ok(()),
        n => entries.write(&[first], &[n], None, new, None),
    }
}

impl Items {
    /// Returns how the items of a column are ordered. Returns none if they are not.
    fn of(column: &Array, nulls: Option<&NullRule>) -> Option<Items> {
        let item = &column.dtype().item;
        let order = match (&item.kind, item.size) {
            (Kind::Bool, 1) | (Kind::Uint, 1 | 2 | 4 | 8) => Order::Unsigned,
            (Kind::Int, 1 | 2 | 4 | 8) => Order::Signed,
            (Kind::Float, 4 | 8) => Order::Float,
            _ => return None,
        };
        let (null, nan_is_null) = match nulls {
            None => (None, false),
            Some(NullRule::Item(item)) => (Some(item.clone()), false),
            Some(NullRule::Nan) => (None, true),
            Some(_) => return None,
        };
        let fits = !item.big_endian && null.as_ref().is_none_or(|null| null.len() == item.size);
        fits.then_some(Items {
            order,
            size: item.size,
            null,
            nan_is_null,
            has_mask: false,
        })
    }

    fn entry_len(&self) -> usize {
        2 * self.size + 1
    }

    /// Returns the entry of a segment with these items. `valid` is their part of the mask.
    fn entry(&self, items: &[u8], valid: Option<&[u8]>) -> Vec<u8> {
        macro_rules! extrema {
            ($t:ty) => {
                self.extrema(items, valid, <$t>::from_le_bytes, <$t>::to_le_bytes, |_| {
                    false
                })
            };
        }
        match (self.order, self.size) {
            (Order::Unsigned, 1) => extrema!(u8),
            (Order::Unsigned, 2) => extrema!(u16),
            (Order::Unsigned, 4) => extrema!(u32),
            (Order::Unsigned, _) => extrema!(u64),
            (Order::Signed, 1) => extrema!(i8),
            (Order::Signed, 2) => extrema!(i16),
            (Order::Signed, 4) => extrema!(i32),
            (Order::Signed, _) => extrema!(i64),
            (Order::Float, 4) => self.extrema(
                items,
                valid,
                f32::from_le_bytes,
                f32::to_le_bytes,
                f32::is_nan,
            ),
            (Order::Float, _) => self.extrema(
                items,
                valid,
                f64::from_le_bytes,
                f64::to_le_bytes,
                f64::is_nan,
            ),
        }
    }

    fn extrema<T: Copy + PartialOrd + Default, const N: usize>(
        &self,
        items: &[u8],
        mask: Option<&[u8]>,
        parse: fn([u8; N]) -> T,
        bytes: fn(T) -> [u8; N],
        is_nan: fn(T) -> bool,
    ) -> Vec<u8> {
        let null = self.null.as_ref().and_then(|null| null.first_chunk::<N>());
        let (mut found, mut nans, mut valid) = (None, 0, 0usize);
        for (i, item) in items.as_chunks::<N>().0.iter().enumerate() {
            let value = parse(*item);
            let is_masked = mask.is_some_and(|mask| mask.get(i) == Some(&0));
            if is_masked || null == Some(item) || (self.nan_is_null && is_nan(value)) {
                continue;
            }
            valid += 1;
            if is_nan(value) {
                nans += 1;
                continue;
            }
            let (low, high) = found.unwrap_or((value, value));
            found = Some((
                if value < low { value } else { low },
                if value > high { value } else { high },
            ));
        }
        let flags = match (valid, found) {
            (0, _) if self.has_nulls() && !items.is_empty() => ALL_NULL | ALL_NAN,
            (_, None) if nans > 0 => ALL_NAN | HAS_NAN,
            _ if nans > 0 => HAS_NAN,
            _ => 0,
        };
        let (low, high) = found.unwrap_or_default();
        [&bytes(low)[..], &bytes(high), &[flags]].concat()
    }

    fn has_nulls(&self) -> bool {
        self.null.is_some() || self.nan_is_null || self.has_mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(order: Order, size: usize) -> Items {
        Items {
            order,
            size,
            null: None,
            nan_is_null: false,
            has_mask: false,
        }
    }

    fn floats(values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    #[test]
    fn extrema_and_flags() {
        let entry = |low: &[u8], high: &[u8], flags: u8| [low, high, &[flags]].concat();
        let bytes = [1, 0xff, 2, 0x80];
        assert_eq!(items(Order::Unsigned, 1).entry(&bytes, None), [1, 0xff, 0]);
        assert_eq!(items(Order::Signed, 1).entry(&bytes, None), [0x80, 2, 0]);
        assert_eq!(
            items(Order::Signed, 2).entry(&bytes, None),
            entry(&[2, 0x80], &[1, 0xff], 0)
        );
        let of = items(Order::Float, 8);
        let [zero, one, three] = [0f64, 1.0, 3.0].map(f64::to_le_bytes);
        assert_eq!(of.entry(&floats(&[3.0, 1.0]), None), entry(&one, &three, 0));
        assert_eq!(
            of.entry(&floats(&[f64::NAN, 3.0, 1.0]), None),
            entry(&one, &three, HAS_NAN)
        );
        assert_eq!(
            of.entry(&floats(&[f64::NAN]), None),
            entry(&zero, &zero, ALL_NAN | HAS_NAN)
        );
        let nan_is_null = Items {
            nan_is_null: true,
            ..of.clone()
        };
        assert_eq!(
            nan_is_null.entry(&floats(&[f64::NAN, 3.0]), None),
            entry(&three, &three, 0)
        );
        assert_eq!(
            nan_is_null.entry(&floats(&[f64::NAN]), None),
            entry(&zero, &zero, ALL_NULL | ALL_NAN)
        );
        let null = Items {
            null: Some(floats(&[3.0])),
            ..of
        };
        assert_eq!(null.entry(&floats(&[3.0, 1.0]), None), entry(&one, &one, 0));
        let masked = Items {
            has_mask: true,
            ..items(Order::Unsigned, 1)
        };
        assert_eq!(masked.entry(&[5, 1, 9], Some(&[1, 0, 1])), [5, 9, 0]);
        assert_eq!(masked.entry(&[5], Some(&[0])), [0, 0, ALL_NULL | ALL_NAN]);
    }
}
