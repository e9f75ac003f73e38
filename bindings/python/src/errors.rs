//! Exceptions: the errors of the library, and those of callbacks.

use crate::detached::detached;
use holdall::{Error, Integrity, Result, Status};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// Returns the exception for an error: `holdall._errors` has one class per status.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let os_code = error.os_code().unwrap_or(0);
    raised_as(
        py,
        error.status() as i32,
        error.message(),
        error.position(),
        os_code,
    )
}

/// Returns the exception of a status with a message of this extension.
pub fn failure(py: Python<'_>, status: Status, message: &str) -> PyErr {
    raised_as(py, status as i32, message, None, 0)
}

/// Returns the exception of a call with a closed object.
pub fn closed(py: Python<'_>) -> PyErr {
    failure(py, Status::State, "the handle is closed")
}

fn raised_as(
    py: Python<'_>,
    status: i32,
    message: &str,
    position: Option<u64>,
    os_code: i32,
) -> PyErr {
    static OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = OF
        .import(py, "holdall._errors", "of")
        .and_then(|of| of.call1((status, message, position, os_code)));
    made.map_or_else(|e| e, PyErr::from_value)
}

/// Warns that corrupt data was skipped because of the option `skip_damaged`.
pub fn warn_damaged(py: Python<'_>, integrity: Integrity) -> PyResult<()> {
    if integrity == Integrity::Intact {
        return Ok(());
    }
    static WARNING: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let category = WARNING.import(py, "holdall._errors", "DamageWarning")?;
    PyErr::warn(py, category, c"corrupt data was skipped", 1)
}

/// Warns that a `with` block ended without commit().
pub fn warn_uncommitted(py: Python<'_>) -> PyResult<()> {
    static WARNING: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let category = WARNING.import(py, "holdall._errors", "UncommittedWarning")?;
    PyErr::warn(py, category, c"changes without commit() were dropped", 1)
}

/// An exception of a callback, until the call that ran it raises it.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// Stores an exception, unless an earlier one was not raised yet.
pub fn store(raised: &Raised, error: PyErr) {
    raised
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_or_insert(error);
}

/// The exceptions of the callbacks of an object: of its own, and of those that it was made from.
#[derive(Clone, Default)]
pub struct Callbacks(Vec<Raised>);

impl Callbacks {
    /// Adds a callback, and returns where it stores its exceptions.
    pub fn add(&mut self) -> Raised {
        let raised = Raised::default();
        self.0.push(Arc::clone(&raised));
        raised
    }

    /// Adds the callbacks of another object.
    pub fn extend(&mut self, other: &Callbacks) {
        self.0.extend_from_slice(&other.0);
    }

    /// Returns an exception that a callback stored.
    pub fn take(&self) -> Option<PyErr> {
        let take = |raised: &Raised| raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.0.iter().find_map(take)
    }

    /// Calls a function of the library without the GIL.
    ///
    /// Raises the exception of a callback in place of the error that it caused.
    pub fn call<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce() -> Result<T> + Send,
    ) -> PyResult<T> {
        match detached(py, || catch_unwind(AssertUnwindSafe(f))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(self.take().unwrap_or_else(|| exception(py, &error))),
            Err(_) => Err(failure(
                py,
                Status::Internal,
                "this is a bug in holdall: a panic",
            )),
        }
    }
}
