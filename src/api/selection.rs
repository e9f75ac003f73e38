//! A box of an array.
#![forbid(unsafe_code)]

use super::{Error, Result};
use crate::error::fail;
use std::ops::Range;

/// The items of an array that a call reads or writes: a range along each dimension, optionally with
/// a step.
///
/// Arrays and slices of ranges convert to a selection. A range whose end is not above its start is
/// empty. A selection is `Send`, `Sync` and `Clone`; the call that takes it reports what does not fit
/// the array.
///
/// ```
/// use holdall::Selection;
///
/// let rows = Selection::from([10..20, 0..5]);
/// assert_eq!(rows.counts(), [10, 5]);
/// // each third row of them: 10, 13, 16 and 19
/// assert_eq!(rows.step(&[3, 1]).counts(), [4, 5]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    pub(super) start: Vec<u64>,
    pub(super) count: Vec<u64>,
    pub(super) step: Option<Vec<u64>>,
}

impl Selection {
    /// Selects everything in an array of this shape.
    pub fn all(shape: &[u64]) -> Selection {
        Selection {
            start: vec![0; shape.len()],
            count: shape.to_vec(),
            step: None,
        }
    }

    /// Returns the selection with only each `step[d]`th index of dimension `d`, from the start of
    /// its range on. The call that takes the selection fails if a step is 0 or their number is
    /// wrong.
    pub fn step(mut self, step: &[u64]) -> Selection {
        for (count, step) in self.count.iter_mut().zip(step) {
            *count = count.div_ceil((*step).max(1));
        }
        self.step = Some(step.to_vec());
        self
    }

    /// Returns the number of indices along each dimension. Their product is the number of items.
    pub fn counts(&self) -> &[u64] {
        &self.count
    }
}

/// Returns an error if a buffer is longer than the selected items. The engine, which serves C as
/// well, refuses only shorter ones.
pub(super) fn check_buffer(
    counts: impl IntoIterator<Item = u64>,
    item_size: usize,
    len: usize,
) -> Result<()> {
    let expected = counts
        .into_iter()
        .fold(item_size as u64, |n, d| n.saturating_mul(d));
    if len as u64 <= expected {
        return Ok(());
    }
    Err(Error(fail!(
        Argument,
        "buffer: longer than the selection (expected {expected} bytes, found {len})"
    )))
}

impl From<&[Range<u64>]> for Selection {
    fn from(ranges: &[Range<u64>]) -> Selection {
        Selection {
            start: ranges.iter().map(|range| range.start).collect(),
            count: ranges
                .iter()
                .map(|range| range.end.saturating_sub(range.start))
                .collect(),
            step: None,
        }
    }
}

impl<const N: usize> From<[Range<u64>; N]> for Selection {
    fn from(ranges: [Range<u64>; N]) -> Selection {
        Selection::from(&ranges[..])
    }
}
