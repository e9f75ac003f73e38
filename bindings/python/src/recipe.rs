//! How a handle is opened again, in another process: by pickle, and by Dask.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

/// The target and the options that a handle was opened with, and the slice that it is.
pub struct Recipe {
    target: Py<PyAny>,
    options: Option<Py<PyDict>>,
    /// Start, step and count in the whole container.
    slice: Option<(u64, i64, u64)>,
}

impl Recipe {
    pub fn new(target: &Bound<'_, PyAny>, options: Option<Py<PyDict>>) -> Recipe {
        Recipe {
            target: target.clone().unbind(),
            options,
            slice: None,
        }
    }

    /// Returns the recipe of a slice.
    pub fn of_slice(&self, py: Python<'_>, start: u64, step: i64, count: u64) -> Recipe {
        let slice = match self.slice {
            Some((first, stride, _)) if count > 0 => {
                let start = i128::from(first) + i128::from(stride) * i128::from(start);
                (
                    u64::try_from(start).unwrap_or(first),
                    stride.saturating_mul(step),
                    count,
                )
            }
            _ => (start, step, count),
        };
        Recipe {
            target: self.target.clone_ref(py),
            options: self.options.as_ref().map(|options| options.clone_ref(py)),
            slice: Some(slice),
        }
    }

    /// Returns the result of `__reduce__`: a function of `holdall._pickling` and its arguments. `size`
    /// is that of the whole container: the numbers of records and bytes.
    pub fn reduce<'py>(
        &self,
        py: Python<'py>,
        kind: Bound<'py, PyType>,
        size: (u64, u64),
    ) -> PyResult<Bound<'py, PyTuple>> {
        let function = py.import("holdall._pickling")?.getattr("opened")?;
        let arguments = (
            kind,
            &self.target,
            self.without_callbacks(py)?,
            self.steps(),
            size,
        );
        (function, arguments).into_pyobject(py)
    }

    /// Returns the result of `__dask_tokenize__`, which depends on the state of the files.
    pub fn token<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        files: Vec<String>,
        state: (usize, u64),
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = self.without_callbacks(py)?;
        let arguments = (kind, &self.target, options, self.steps(), files, state);
        py.import("holdall._pickling")?
            .call_method1("token", arguments)
    }

    /// Returns the methods that make a slice of the open container, and their arguments.
    fn steps(&self) -> Vec<(&str, (u64, i64, u64))> {
        self.slice
            .map(|slice| ("_strided", slice))
            .into_iter()
            .collect()
    }

    /// Returns the target for `__repr__`, and the slice.
    pub fn describe(&self, py: Python<'_>) -> PyResult<String> {
        let target = self.target.bind(py).repr()?;
        Ok(match self.slice {
            None => target.to_string(),
            Some((start, step, _)) => format!("{target}, from {start} by {step}"),
        })
    }

    /// Returns the options. A progress function is of this process.
    fn without_callbacks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let options = match &self.options {
            Some(options) => options.bind(py).copy()?,
            None => PyDict::new(py),
        };
        if options.contains("progress")? {
            options.del_item("progress")?;
        }
        Ok(options)
    }
}
