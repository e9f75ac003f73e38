//! Indices of arrays that select a box: integers, slices, None and an ellipsis.

use crate::errors::failure;
use holdall::{Selection, Status};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple, PyType};
use std::ops::Range;

/// A box of an array, and the shape of its items in NumPy.
pub struct Region {
    /// The items along each dimension, in ascending order.
    ranges: Vec<Range<u64>>,
    progressions: Vec<Progression>,
    /// The shape of the result, without the dimensions of integers.
    pub shape: Vec<u64>,
    /// Whether every dimension has an integer, so that NumPy returns a scalar.
    pub is_item: bool,
}

/// The items of a range along one dimension.
struct Progression {
    step: u64,
    count: u64,
    /// Whether they are requested in descending order.
    is_reversed: bool,
}

/// A member of an index.
enum Part<'a, 'py> {
    /// An integer; `None` if it is out of the range of i64.
    Number(Option<i64>),
    Slice(Borrowed<'a, 'py, PySlice>),
    NewAxis,
    Ellipsis,
}

impl Region {
    /// Returns the box that an index selects, or `None` for lists, masks and invalid types.
    ///
    /// Raises RangeError for an index out of range, TypeError for slices of other types.
    pub fn of(key: &Bound<'_, PyAny>, shape: &[u64]) -> PyResult<Option<Region>> {
        let (py, keys) = (key.py(), key.cast::<PyTuple>().ok());
        let n = keys.map_or(1, |keys| keys.len());
        let mut parts = Vec::with_capacity(n);
        for i in 0..n {
            let key = match keys {
                Some(keys) => keys.get_borrowed_item(i)?,
                None => key.as_borrowed(),
            };
            match part(key)? {
                Some(part) => parts.push(part),
                None => return Ok(None),
            }
        }
        Region::of_parts(py, &parts, shape).map(Some)
    }

    fn of_parts(py: Python<'_>, parts: &[Part<'_, '_>], shape: &[u64]) -> PyResult<Region> {
        let is_one = |part: &&Part| matches!(part, Part::Number(_) | Part::Slice(_));
        let used = parts.iter().filter(is_one).count();
        let ellipses = parts
            .iter()
            .filter(|part| matches!(part, Part::Ellipsis))
            .count();
        if used > shape.len() || ellipses > 1 {
            let message = format!("too many indices for {} dimensions", shape.len());
            return Err(failure(py, Status::Range, &message));
        }
        let mut region = Region {
            ranges: Vec::with_capacity(shape.len()),
            progressions: Vec::with_capacity(shape.len()),
            shape: Vec::with_capacity(shape.len()),
            is_item: false,
        };
        for part in parts {
            match part {
                Part::Number(i) => region.add_number(py, *i, shape)?,
                Part::Slice(slice) => region.add_slice(slice, shape)?,
                Part::NewAxis => region.shape.push(1),
                Part::Ellipsis => {
                    let rest = shape.len() - used;
                    (0..rest).for_each(|_| region.add_all(shape));
                }
            }
        }
        while region.ranges.len() < shape.len() {
            region.add_all(shape);
        }
        region.is_item = ellipses == 0 && region.shape.is_empty();
        Ok(region)
    }

    fn add_number(&mut self, py: Python<'_>, i: Option<i64>, shape: &[u64]) -> PyResult<()> {
        let d = self.ranges.len();
        let n = shape.get(d).copied().unwrap_or(0);
        let at = i.and_then(|i| match i {
            0.. => u64::try_from(i).ok(),
            _ => n.checked_add_signed(i),
        });
        let Some(at) = at.filter(|at| *at < n) else {
            let i = i.map_or_else(|| "of more than 64 bits".to_owned(), |i| i.to_string());
            let message = format!("index {i} is out of range (dimension {d} has length {n})");
            return Err(failure(py, Status::Range, &message));
        };
        self.add(at..at + 1, 1, 1, false);
        Ok(())
    }

    fn add_slice(&mut self, slice: &Bound<'_, PySlice>, shape: &[u64]) -> PyResult<()> {
        let n = shape.get(self.ranges.len()).copied().unwrap_or(0);
        let given = slice.indices(isize::try_from(n)?)?;
        let count = given.slicelength as u64;
        let step = match count {
            0 | 1 => 1,
            _ => given.step.unsigned_abs() as u64,
        };
        let (is_reversed, first) = (given.step < 0, given.start.max(0) as u64);
        let span = count.saturating_sub(1) * step;
        let start = match (count, is_reversed) {
            (0, _) => 0,
            (_, true) => first.saturating_sub(span),
            (_, false) => first,
        };
        let end = if count == 0 { 0 } else { start + span + 1 };
        self.add(start..end, step, count, is_reversed && count > 1);
        self.shape.push(count);
        Ok(())
    }

    fn add_all(&mut self, shape: &[u64]) {
        let n = shape.get(self.ranges.len()).copied().unwrap_or(0);
        self.add(0..n, 1, n, false);
        self.shape.push(n);
    }

    fn add(&mut self, range: Range<u64>, step: u64, count: u64, is_reversed: bool) {
        self.ranges.push(range);
        self.progressions.push(Progression {
            step,
            count,
            is_reversed,
        });
    }

    /// Returns the box as a selection.
    pub fn selection(&self) -> Selection {
        let all = Selection::from(&self.ranges[..]);
        let steps = self.progressions.iter().map(|dimension| dimension.step);
        match steps.clone().all(|step| step == 1) {
            true => all,
            false => all.step(&steps.collect::<Vec<_>>()),
        }
    }

    /// Returns the strides of a packed array that has the items in the requested order, in bytes;
    /// `None` if it is the order of the box.
    pub fn strides(&self, item_size: usize) -> Option<Vec<i64>> {
        if !self
            .progressions
            .iter()
            .any(|dimension| dimension.is_reversed)
        {
            return None;
        }
        let mut stride = item_size as i64;
        let mut strides = Vec::with_capacity(self.progressions.len());
        for dimension in self.progressions.iter().rev() {
            strides.push(if dimension.is_reversed {
                -stride
            } else {
                stride
            });
            stride = stride.saturating_mul(i64::try_from(dimension.count).unwrap_or(i64::MAX));
        }
        strides.reverse();
        Some(strides)
    }

    /// Returns first item, step and number of items along each dimension, in the requested order.
    pub fn progression(&self) -> (Vec<u64>, Vec<i64>, Vec<u64>) {
        let first_and_step = |(range, dimension): (&Range<u64>, &Progression)| {
            let step = i64::try_from(dimension.step).unwrap_or(i64::MAX);
            match dimension.is_reversed {
                true => (range.end - 1, -step),
                false => (range.start, step),
            }
        };
        let dimensions = self.ranges.iter().zip(&self.progressions);
        let (first, step) = dimensions.map(first_and_step).unzip();
        let counts = self.progressions.iter().map(|dimension| dimension.count);
        (first, step, counts.collect())
    }
}

fn part<'a, 'py>(key: Borrowed<'a, 'py, PyAny>) -> PyResult<Option<Part<'a, 'py>>> {
    if let Ok(number) = key.cast::<PyInt>() {
        if key.is_instance_of::<PyBool>() {
            return Ok(None);
        }
        return Ok(Some(Part::Number(number.extract().ok())));
    }
    if let Ok(slice) = key.cast::<PySlice>() {
        return Ok(Some(Part::Slice(slice)));
    }
    if key.is_none() {
        return Ok(Some(Part::NewAxis));
    }
    if key.is_instance_of::<PyEllipsis>() {
        return Ok(Some(Part::Ellipsis));
    }
    static INTEGER: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let integer = INTEGER.import(key.py(), "numpy", "integer")?;
    if key.is_instance(integer)? {
        return Ok(Some(Part::Number(
            key.call_method0("__index__")?.extract().ok(),
        )));
    }
    Ok(None)
}
