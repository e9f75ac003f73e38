//! Record and row numbers in arguments.

use crate::buffers::numbers;
use crate::errors::failure;
use holdall::Status;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};

/// Returns the number of a record that may count from the end. Raises RangeError past the end.
pub fn record_number(i: &Bound<'_, PyAny>, len: u64) -> PyResult<u64> {
    let number = i.extract::<i64>().ok().and_then(|i| from_start(i, len));
    match number {
        Some(number) => Ok(number),
        None => Err(past_the_end(i, len)),
    }
}

fn from_start(i: i64, len: u64) -> Option<u64> {
    let at = if i < 0 {
        i.checked_add_unsigned(len)?
    } else {
        i
    };
    u64::try_from(at).ok().filter(|at| *at < len)
}

fn past_the_end(i: &Bound<'_, PyAny>, len: u64) -> PyErr {
    failure(i.py(), Status::Range, &format!("record {i} of {len}"))
}

/// Returns the numbers of records, of which negative ones count from the end.
///
/// Raises RangeError past the end, TypeError if they are not integers.
pub fn record_numbers(indices: &Bound<'_, PyAny>, len: u64) -> PyResult<Vec<u64>> {
    if (indices.is_instance_of::<PyList>() || indices.is_instance_of::<PyTuple>())
        && let Some(chosen) = integers(indices, len)?
    {
        return Ok(chosen);
    }
    let py = indices.py();
    let numpy = py.import("numpy")?;
    let array = numpy.call_method1("asarray", (indices,))?;
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    let size: usize = array.getattr("size")?.extract()?;
    if kind == "b" || (size > 0 && kind != "i" && kind != "u") {
        let message = format!("wrong type of record numbers (expected integers, found {dtype})");
        return Err(PyTypeError::new_err(message));
    }
    let target = if kind == "i" { "int64" } else { "uint64" };
    let flat = numpy.call_method1("ascontiguousarray", (array.call_method0("ravel")?, target))?;
    if kind != "i" {
        return numbers::<u64>(&flat);
    }
    let chosen = numbers::<i64>(&flat)?.into_iter().map(|i| {
        let number = if i >= len as i64 {
            u64::try_from(i).ok()
        } else {
            from_start(i, len)
        };
        number.ok_or_else(|| failure(py, Status::Range, &format!("record {i} of {len}")))
    });
    chosen.collect()
}

/// Returns the numbers in a list of int objects; `None` if it has others.
fn integers(indices: &Bound<'_, PyAny>, len: u64) -> PyResult<Option<Vec<u64>>> {
    let mut chosen = Vec::with_capacity(indices.len()?);
    for i in indices.try_iter()? {
        let i = i?;
        if !i.is_exact_instance_of::<PyInt>() {
            return Ok(None);
        }
        chosen.push(record_number(&i, len)?);
    }
    Ok(Some(chosen))
}
