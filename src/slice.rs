//! Access to parts of slices that must exist.
//!
//! A wrong position is a bug in the library and becomes an error; a default instead would
//! write or return wrong bytes. The methods of the standard library remain for positions that may
//! be absent.
#![forbid(unsafe_code)]

use crate::error::{Error, Result};
use std::fmt::Debug;
use std::panic::Location;
use std::slice::SliceIndex;

/// Access to a position or range that must exist.
pub trait SliceExt<T> {
    /// Returns the item or range at `index`.
    fn at<I: SliceIndex<[T]> + Clone + Debug>(&self, index: I) -> Result<&I::Output>;

    /// Returns the item or range at `index` for writing.
    fn at_mut<I: SliceIndex<[T]> + Clone + Debug>(&mut self, index: I) -> Result<&mut I::Output>;

    /// Splits the slice after `n` items.
    fn cut(&self, n: usize) -> Result<(&[T], &[T])>;

    /// Splits the slice after `n` items, for writing.
    fn cut_mut(&mut self, n: usize) -> Result<(&mut [T], &mut [T])>;
}

impl<T> SliceExt<T> for [T] {
    #[inline]
    #[track_caller]
    fn at<I: SliceIndex<[T]> + Clone + Debug>(&self, index: I) -> Result<&I::Output> {
        match self.get(index.clone()) {
            Some(part) => Ok(part),
            None => Err(missing(&index, self.len(), Location::caller())),
        }
    }

    #[inline]
    #[track_caller]
    fn at_mut<I: SliceIndex<[T]> + Clone + Debug>(&mut self, index: I) -> Result<&mut I::Output> {
        let len = self.len();
        match self.get_mut(index.clone()) {
            Some(part) => Ok(part),
            None => Err(missing(&index, len, Location::caller())),
        }
    }

    #[inline]
    #[track_caller]
    fn cut(&self, n: usize) -> Result<(&[T], &[T])> {
        match self.split_at_checked(n) {
            Some(parts) => Ok(parts),
            None => Err(missing(&(..n), self.len(), Location::caller())),
        }
    }

    #[inline]
    #[track_caller]
    fn cut_mut(&mut self, n: usize) -> Result<(&mut [T], &mut [T])> {
        let len = self.len();
        match self.split_at_mut_checked(n) {
            Some(parts) => Ok(parts),
            None => Err(missing(&(..n), len, Location::caller())),
        }
    }
}

/// Removes the first `n` items from a slice and returns them.
#[inline]
#[track_caller]
pub fn take_mut<'a, T>(rest: &mut &'a mut [T], n: usize) -> Result<&'a mut [T]> {
    let len = rest.len();
    match rest.split_off_mut(..n) {
        Some(part) => Ok(part),
        None => Err(missing(&(..n), len, Location::caller())),
    }
}

/// Returns the slice without trailing zeros (default items).
pub fn trim_zeros<T: PartialEq + Default>(mut items: &[T]) -> &[T] {
    while let [before @ .., last] = items
        && *last == T::default()
    {
        items = before;
    }
    items
}

#[cold]
#[inline(never)]
fn missing(index: &dyn Debug, len: usize, caller: &Location<'_>) -> Error {
    Error::internal(format_args!(
        "{caller}: position {index:?} in a slice of {len} items"
    ))
}

#[cfg(test)]
mod tests {
    use super::{SliceExt, take_mut, trim_zeros};
    use crate::error::Status;

    #[test]
    fn existing_parts_are_returned() {
        let mut bytes = [1, 2, 3];
        assert_eq!(bytes.at(1).unwrap(), &2);
        assert_eq!(bytes.at(1..).unwrap(), [2, 3]);
        assert!(bytes.at(3..).unwrap().is_empty());
        assert_eq!(bytes.cut(1).unwrap(), (&[1][..], &[2, 3][..]));
        bytes.at_mut(..2).unwrap().fill(7);
        bytes.cut_mut(2).unwrap().1.fill(8);
        assert_eq!(bytes, [7, 7, 8]);
        let mut rest = &mut bytes[..];
        assert_eq!(take_mut(&mut rest, 2).unwrap(), [7, 7]);
        assert_eq!(rest, [8]);
    }

    #[test]
    fn only_trailing_zeros_are_trimmed() {
        assert_eq!(trim_zeros(&[0, 1, 0, 0]), [0, 1]);
        assert_eq!(trim_zeros(&[[0, 1], [0, 0]]), [[0, 1]]);
        assert!(trim_zeros(&[0, 0]).is_empty());
    }

    #[test]
    fn a_missing_part_is_an_internal_error_that_names_the_line_and_the_position() {
        let mut bytes = [1, 2, 3];
        let line = line!() + 1;
        let e = bytes.at(2..4).unwrap_err();
        assert_eq!(e.status, Status::Internal);
        assert_eq!(
            e.message,
            format!(
                "this is a bug in holdall: {}:{line}:23: position 2..4 in a slice of 3 items",
                file!()
            )
        );
        let mut rest = &mut bytes[..];
        assert_eq!(take_mut(&mut rest, 4).unwrap_err().status, Status::Internal);
        assert_eq!(rest.len(), 3);
        let failures = [
            rest.at_mut(3).err(),
            rest.at_mut(..4).err(),
            rest.cut(4).err(),
            rest.cut_mut(4).err(),
        ];
        assert!(failures.iter().flatten().count() == failures.len());
    }
}
