//! Commits in parts.

use crate::buffers::bytes;
use crate::errors::{Callbacks, closed};
use crate::options::Options;
use crate::storage::path;
use holdall::Result;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ffi::OsString;
use std::sync::Mutex;

/// A part of a container that is being written. The classes of the module `holdall` are containers
/// at its path.
#[pyclass(frozen, module = "holdall._native")]
pub struct Part {
    /// `None` once it is finished or closed.
    open: Mutex<Option<holdall::Part>>,
    path: OsString,
}

impl Part {
    fn new(
        name: &Bound<'_, PyAny>,
        options: &Bound<'_, PyDict>,
        create: impl FnOnce(OsString, &holdall::Options) -> Result<holdall::Part> + Send,
    ) -> PyResult<Part> {
        let (py, path) = (name.py(), path(name)?);
        let given = Options::new(Some(options))?;
        let part = given.callbacks.call(py, || create(path, &given.options))?;
        Ok(Part {
            path: part.path().into(),
            open: Mutex::new(Some(part)),
        })
    }

    fn take(&self, py: Python<'_>) -> Option<holdall::Part> {
        py.detach(|| {
            let mut open = self.open.lock().unwrap_or_else(|e| e.into_inner());
            open.take()
        })
    }
}

#[pymethods]
impl Part {
    /// Creates a part of a bag or of a new set.
    #[staticmethod]
    fn of_bag(name: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> PyResult<Part> {
        Part::new(name, options, holdall::Part::of_bag)
    }

    /// Creates a part of an array: rows, or a box.
    #[staticmethod]
    fn of_array(
        name: &Bound<'_, PyAny>,
        start: Option<Vec<u64>>,
        shape: Option<Vec<u64>>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Part> {
        Part::new(name, options, |path, options| match (start, shape) {
            (Some(start), Some(shape)) => holdall::Part::of_box(path, &start, &shape, options),
            _ => holdall::Part::of_array(path, options),
        })
    }

    /// Creates a part of a table.
    #[staticmethod]
    fn of_table(name: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> PyResult<Part> {
        Part::new(name, options, holdall::Part::of_table)
    }

    /// The path of the container that is the part.
    #[getter]
    fn path(&self) -> OsString {
        self.path.clone()
    }

    /// Returns the token of the part.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let part = self.take(py).ok_or_else(|| closed(py))?;
        let token = Callbacks::default().call(py, || part.finish())?;
        Ok(PyBytes::new(py, &token))
    }

    /// Removes the part, unless it is finished.
    fn close(&self, py: Python<'_>) {
        let part = self.take(py);
        py.detach(|| drop(part));
    }
}

fn owned(tokens: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<u8>>> {
    tokens
        .try_iter()?
        .map(|token| bytes(&token?).map(|token| token.as_ref().to_vec()))
        .collect()
}

/// Commits parts of the container at a path.
#[pyfunction]
#[pyo3(signature = (name, tokens, options))]
pub fn commit_parts(
    name: &Bound<'_, PyAny>,
    tokens: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let (py, path, tokens) = (name.py(), path(name)?, owned(tokens)?);
    let given = Options::new(Some(options))?;
    let call = || holdall::commit_parts(path, &tokens, &given.options);
    given.callbacks.call(py, call)
}

/// Removes parts of the container at a path without committing them.
#[pyfunction]
pub fn discard_parts(name: &Bound<'_, PyAny>, tokens: &Bound<'_, PyAny>) -> PyResult<()> {
    let (py, path, tokens) = (name.py(), path(name)?, owned(tokens)?);
    Callbacks::default().call(py, || holdall::discard_parts(path, &tokens))
}

/// Returns the names of the parts of the container at a path.
#[pyfunction]
pub fn list_parts(name: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let path = path(name)?;
    Callbacks::default().call(name.py(), || holdall::list_parts(path))
}
