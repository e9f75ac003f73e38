//! The object of the library that a Python object refers to, until close().

use crate::errors::closed;
use pyo3::prelude::*;
use std::sync::{Arc, PoisonError, RwLock};

/// An object of the library that several threads use, until one of them closes it.
///
/// The lock is held only to copy or replace the reference, never during a call.
pub struct Handle<T: Send + Sync>(RwLock<Option<Arc<T>>>);

impl<T: Send + Sync> Handle<T> {
    /// Creates a handle of an open object.
    pub fn new(object: T) -> Handle<T> {
        Handle(RwLock::new(Some(Arc::new(object))))
    }

    /// Returns the object, for one call. Raises StateError if it is closed.
    pub fn get(&self, py: Python<'_>) -> PyResult<Arc<T>> {
        let open = self
            .0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        open.ok_or_else(|| closed(py))
    }

    /// Returns whether the object is open.
    pub fn is_open(&self) -> bool {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    /// Replaces the object, if it is still `expected`. Returns false if it is another one, or closed.
    pub fn replace(&self, py: Python<'_>, expected: &Arc<T>, object: T) -> bool {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !current
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, expected))
        {
            return false;
        }
        let previous = current.replace(Arc::new(object));
        drop(current);
        py.detach(|| drop(previous));
        true
    }

    /// Closes the object. Calls in progress complete normally.
    pub fn close(&self, py: Python<'_>) {
        let open = self
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // may wait for threads that call a storage with Python methods
        py.detach(|| drop(open));
    }
}

impl<T: Send + Sync> Drop for Handle<T> {
    fn drop(&mut self) {
        Python::try_attach(|py| self.close(py));
    }
}
