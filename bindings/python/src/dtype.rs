//! NumPy dtypes and new NumPy arrays.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

/// A dtype: its spelling, and the NumPy dtype, `None` for Python objects and texts.
pub struct Dtype {
    pub spelling: String,
    numpy: Option<Py<PyAny>>,
}

impl Dtype {
    /// Returns the dtype for a spelling of the library.
    pub fn parse(py: Python<'_>, spelling: String) -> PyResult<Dtype> {
        if matches!(spelling.as_str(), "object" | "O" | "|O" | "T") {
            return Ok(Dtype {
                spelling,
                numpy: None,
            });
        }
        let argument = match spelling.starts_with(['[', '(', '{']) {
            true => py
                .import("ast")?
                .call_method1("literal_eval", (&spelling,))?,
            false => (&spelling).into_pyobject(py)?.into_any(),
        };
        let numpy = py.import("numpy")?.call_method1("dtype", (argument,))?;
        Ok(Dtype {
            spelling,
            numpy: Some(numpy.unbind()),
        })
    }

    /// Returns the NumPy dtype, None for Python objects and texts.
    pub fn numpy<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.numpy.as_ref().map(|dtype| dtype.bind(py).clone())
    }

    /// Returns a new array, whose items are not initialized.
    pub fn empty<'py>(
        &self,
        py: Python<'py>,
        shape: impl IntoIterator<Item = u64, IntoIter: ExactSizeIterator>,
    ) -> PyResult<Bound<'py, PyAny>> {
        static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let empty = EMPTY.import(py, "numpy", "empty")?;
        let shape = PyTuple::new(py, shape)?;
        match &self.numpy {
            Some(dtype) => empty.call1((shape, dtype)),
            // has no bytes: the read reports that objects cannot be read so
            None => empty.call1((0, "V1")),
        }
    }
}
