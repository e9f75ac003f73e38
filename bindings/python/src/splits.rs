//! Ranges of records and rows as named tuples.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Returns the ranges as instances of `holdall.Split`.
pub fn named_tuples<'py>(
    py: Python<'py>,
    splits: Vec<holdall::Split>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    static KIND: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let kind = KIND.import(py, "holdall._infos", "Split")?;
    let tuple = |split: holdall::Split| kind.call1((split.first, split.count, split.bytes));
    splits.into_iter().map(tuple).collect()
}
