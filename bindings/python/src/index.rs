//! Indices of arrays that select a box: integers, slices, None and an ellipsis.

use crate::errors::failure;
use holdall::{Selection, Status};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple, PyType};
use std::ops::Range;

/// A box of an array, and the shape of its items in NumPy.
#[derive(Default)]
pub struct Region {
    /// The items along each dimension, in ascending order.
    ranges: Vec<Range<u64>>,
    steps: Vec<u64>,
    /// The dimensions whose items are requested in descending order.
    is_reversed: Vec<bool>,
    counts: Vec<u64>,
    /// The shape of the result, without the dimensions of integers.
    pub shape: Vec<u64>,
    /// Whether every dimension has an integer, so that NumPy returns a scalar.
    pub is_item: bool,
}

/// A member of an index.
enum Part<'a, 'py> {
    /// An integer; `None` if it is out of the range of i64.
    Number(Option<i64>),
    Slice(&'a Bound<'py, PySlice>),
    NewAxis,
    Ellipsis,
}

impl Region {
    /// Returns the box that an index selects, or `None` for lists, masks and invalid types.
    ///
    /// Raises RangeError for an index out of range, TypeError for slices of other types.
    pub fn of(key: &Bound<'_, PyAny>, shape: &[u64]) -> PyResult<Option<Region>> {
        if let Ok(keys) = key.cast::<PyTuple>() {
            let keys: Vec<_> = keys.iter().collect();
            return Region::of_parts(key.py(), &keys, shape);
        }
        Region::of_parts(key.py(), std::slice::from_ref(key), shape)
    }

    fn of_parts(
        py: Python<'_>,
        keys: &[Bound<'_, PyAny>],
        shape: &[u64],
    ) -> PyResult<Option<Region>> {
        let mut parts = Vec::with_capacity(keys.len());
        for key in keys {
            match part(key)? {
                Some(part) => parts.push(part),
                None => return Ok(None),
            }
        }
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
        let mut region = Region::default();
        for part in &parts {
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
        Ok(Some(region))
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
        self.steps.push(step);
        self.counts.push(count);
        self.is_reversed.push(is_reversed);
    }

    /// Returns the box as a selection.
    pub fn selection(&self) -> Selection {
        let all = Selection::from(&self.ranges[..]);
        match self.steps.iter().all(|step| *step == 1) {
            true => all,
            false => all.step(&self.steps),
        }
    }

    /// Returns the strides of a packed array that has the items in the requested order, in bytes;
    /// `None` if it is the order of the box.
    pub fn strides(&self, item_size: usize) -> Option<Vec<i64>> {
        if !self.is_reversed.contains(&true) {
            return None;
        }
        let mut stride = item_size as i64;
        let mut strides = Vec::with_capacity(self.counts.len());
        for (count, is_reversed) in self.counts.iter().zip(&self.is_reversed).rev() {
            strides.push(if *is_reversed { -stride } else { stride });
            stride = stride.saturating_mul(i64::try_from(*count).unwrap_or(i64::MAX));
        }
        strides.reverse();
        Some(strides)
    }

    /// Returns first item, step and number of items along each dimension, in the requested order.
    pub fn progression(&self) -> (Vec<u64>, Vec<i64>, Vec<u64>) {
        let dimensions = self.ranges.iter().zip(&self.steps).zip(&self.is_reversed);
        let first_and_step = |((range, step), is_reversed): ((&Range<u64>, &u64), &bool)| {
            let step = i64::try_from(*step).unwrap_or(i64::MAX);
            match is_reversed {
                true => (range.end - 1, -step),
                false => (range.start, step),
            }
        };
        let (first, step) = dimensions.map(first_and_step).unzip();
        (first, step, self.counts.clone())
    }
}

fn part<'a, 'py>(key: &'a Bound<'py, PyAny>) -> PyResult<Option<Part<'a, 'py>>> {
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
