//! Python's slices, and selections with a part for each dimension as NumPy writes them.

use crate::failure::Failure;
use crate::file_name::FileName;
use crate::{failure, usage};

/// A slice `A:B:C`, whose parts may be absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    pub start: Option<i64>,
    pub stop: Option<i64>,
    pub step: Option<i64>,
}

/// The selection along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    Range(Slice),
    /// One index, which removes the dimension.
    Index(i64),
    /// `...`: all dimensions that no other part is for.
    Rest,
}

/// The value of `--slice`: a part for each dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picks(pub Vec<Pick>);

/// The value of `--rows`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    Range(Slice),
    List(Vec<i64>),
}

/// A slice resolved against a length: `start, start + step, ...`, `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: u64,
    pub count: u64,
    pub step: i64,
}

/// Parses a whole number; one that is out of range becomes the nearest one, as ends of slices do.
pub fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let nearest = if text.starts_with('-') { -i64::MAX } else { i64::MAX };
    Some(text.parse().unwrap_or(nearest))
}

/// Parses `I,J,..`.
pub fn numbers(text: &str) -> Option<Vec<i64>> {
    text.split(',').map(number).collect()
}

/// Returns the index that a number means; a negative one is relative to the end.
pub fn index(number: i64, length: u64) -> Option<u64> {
    let from_end = length.checked_sub(number.unsigned_abs());
    let at = if number < 0 { from_end } else { Some(number as u64) };
    at.filter(|at| *at < length)
}

impl Pick {
    /// Resolves it against the length of a dimension; None: the index is out of range.
    pub fn span(of: Option<Pick>, length: u64) -> Option<Span> {
        Some(match of {
            Some(Pick::Index(number)) => Span { start: index(number, length)?, count: 1, step: 1 },
            Some(Pick::Range(slice)) => slice.resolve(length),
            _ => Slice::default().resolve(length),
        })
    }

    fn parse(text: &str) -> Option<Pick> {
        if text == "..." {
            return Some(Pick::Rest);
        }
        let parts: Vec<&str> = text.split(':').collect();
        let part = |i: usize| match parts.get(i).copied().unwrap_or("") {
            "" => Some(None),
            text => number(text).map(Some),
        };
        let slice = Slice { start: part(0)?, stop: part(1)?, step: part(2)? };
        match parts.len() {
            1 => slice.start.map(Pick::Index),
            2 | 3 if slice.step != Some(0) => Some(Pick::Range(slice)),
            _ => None,
        }
    }
}

impl Picks {
    /// The most dimensions that a selection has parts for.
    const MOST: usize = 17;

    pub fn parse(text: &str) -> Result<Picks, String> {
        let picks: Option<Vec<Pick>> = text.split(',').map(Pick::parse).collect();
        let fits = |picks: &Vec<Pick>| {
            picks.len() <= Picks::MOST
                && picks.iter().filter(|pick| **pick == Pick::Rest).count() < 2
        };
        picks.filter(fits).map(Picks).ok_or_else(|| {
            "A:B or A:B:C with C not 0, and of an array such a part, a number or ... for each dimension, as 3:4,:,5"
                .to_owned()
        })
    }

    pub fn of(slice: Slice) -> Picks {
        Picks(vec![Pick::Range(slice)])
    }

    /// Returns the parts for so many dimensions, None where there is none; `Err`: the number of
    /// parts, which are too many.
    pub fn expanded(&self, ndim: usize) -> Result<Vec<Option<Pick>>, usize> {
        let named = self.0.iter().filter(|pick| **pick != Pick::Rest).count();
        let rest = ndim.checked_sub(named).ok_or(named)?;
        let mut of = Vec::new();
        for pick in &self.0 {
            match pick {
                Pick::Rest => of.resize(of.len() + rest, None),
                pick => of.push(Some(*pick)),
            }
        }
        of.resize(ndim, None);
        Ok(of)
    }

    /// Returns the slice, if this is one of one dimension.
    pub fn slice(&self) -> Option<Slice> {
        match self.0.as_slice() {
            [Pick::Range(slice)] => Some(*slice),
            _ => None,
        }
    }

    /// Returns the slice of `what`, which has one dimension.
    pub fn plain(picks: Option<&Picks>, what: &str) -> Result<Option<Slice>, Failure> {
        let refused = || {
            usage!("--slice takes A:B or A:B:C here, {what} has one dimension; 3:4 is item 3 alone")
        };
        picks.map(|picks| picks.slice().ok_or_else(refused)).transpose()
    }
}

impl Rows {
    /// Returns the rows of a list, all of which must exist among so many; negative ones count from
    /// the end. None: it is a range.
    pub fn list(&self, path: &FileName, length: u64) -> Result<Option<Vec<u64>>, Failure> {
        let Rows::List(list) = self else {
            return Ok(None);
        };
        let row = |row: &i64| {
            let found = index(*row, length);
            found.ok_or_else(|| failure!("{path}: there is no row {row}, it has {length}"))
        };
        list.iter().map(row).collect::<Result<_, _>>().map(Some)
    }

    pub fn parse(text: &str) -> Result<Rows, String> {
        let parsed = if text.contains(':') {
            match Pick::parse(text) {
                Some(Pick::Range(slice)) => Some(Rows::Range(slice)),
                _ => None,
            }
        } else {
            numbers(text).map(Rows::List)
        };
        parsed.ok_or_else(|| "A:B, A:B:C or whole numbers, as 0,5,-1".to_owned())
    }
}

impl Slice {
    /// Resolves the slice as Python does.
    pub fn resolve(&self, length: u64) -> Span {
        let size = i64::try_from(length).unwrap_or(i64::MAX);
        let step = self.step.unwrap_or(1);
        let (low, high) = if step < 0 { (-1, size - 1) } else { (0, size) };
        let clamp = |end: Option<i64>, absent: i64| match end {
            None => absent,
            Some(end) => (if end < 0 { end.saturating_add(size) } else { end }).clamp(low, high),
        };
        let (first, last) = if step < 0 { (high, low) } else { (low, high) };
        let (start, stop) = (clamp(self.start, first), clamp(self.stop, last));
        let distance = if step < 0 { start - stop } else { stop - start };
        let count = if distance > 0 { (distance - 1) as u64 / step.unsigned_abs() + 1 } else { 0 };
        Span {
            start: if count > 0 { start as u64 } else { 0 },
            count,
            // one item has no step, and the one given may be too large to calculate with
            step: if count <= 1 { 1 } else { step },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str, length: u64) -> (u64, u64, i64) {
        let span = Picks::parse(text).unwrap().slice().unwrap().resolve(length);
        (span.start, span.count, span.step)
    }

    #[test]
    fn slices_are_resolved_as_python_does() {
        assert_eq!(span(":", 5), (0, 5, 1));
        assert_eq!(span("-2:", 5), (3, 2, 1));
        assert_eq!(span("::-2", 5), (4, 3, -2));
        assert_eq!(span("3:1", 5), (0, 0, 1));
        assert_eq!(span("9:99", 5), (0, 0, 1));
        assert_eq!(span("-99999999999999999999:2", 5), (0, 2, 1));
        assert_eq!(span("::9223372036854775807", 5), (0, 1, 1));
    }

    #[test]
    fn parts_are_slices_indices_and_the_rest() {
        let picks = Picks::parse("1:2,...,-3").unwrap().0;
        assert!(matches!(picks[..], [Pick::Range(_), Pick::Rest, Pick::Index(-3)]));
        for wrong in ["", "1:2:0", "a", "1:2:3:4", "...,...", "1,,2"] {
            assert!(Picks::parse(wrong).is_err(), "{wrong}");
        }
    }
}
