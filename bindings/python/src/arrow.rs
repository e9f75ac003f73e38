//! The Arrow C stream interface in PyCapsules, which pyarrow, Polars, DuckDB and others accept and
//! return.
//!
//! The pointers of capsules are converted here.
#![allow(unsafe_code)]

use holdall::{ArrowArrayStream, ArrowReader};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CStr, c_char, c_void};

/// Returns a capsule with a stream of record batches.
pub fn capsule<'py>(py: Python<'py>, reader: ArrowReader) -> PyResult<Bound<'py, PyCapsule>> {
    // the consumer may have moved the stream out, and left a released one
    let stream = reader.into_stream();
    PyCapsule::new_with_value_and_destructor(py, stream, c"arrow_array_stream", |stream, _| {
        // closing may wait for threads that call a storage with Python methods
        Python::try_attach(|py| py.detach(|| drop(stream)));
    })
}

/// Returns the stream of an object, which is moved out of its capsule.
///
/// Raises TypeError if the object has no stream.
pub fn stream_of(object: &Bound<'_, PyAny>) -> PyResult<ArrowArrayStream> {
    let Some(method) = object.getattr_opt("__arrow_c_stream__")? else {
        let message = format!("{} has no __arrow_c_stream__()", object.get_type().name()?);
        return Err(PyTypeError::new_err(message));
    };
    let capsule = method.call0()?.cast_into::<PyCapsule>()?;
    let source = capsule
        .pointer_checked(Some(c"arrow_array_stream"))?
        .cast::<ArrowArrayStream>();
    // SAFETY: by the name of the capsule, the pointer is to a `struct ArrowArrayStream` of C, which
    // has the layout of this type. The producer keeps it until the capsule is destroyed; a released
    // structure that replaces it prevents a second release.
    Ok(unsafe { source.as_ptr().replace(ArrowArrayStream::empty()) })
}

/// The first fields of `struct ArrowSchema` of the Arrow C data interface.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *const *const Schema,
    dictionary: *const Schema,
    release: *const c_void,
}

/// Returns the names of the fields of a schema in a capsule.
pub fn field_names(schema: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let capsule = schema.cast::<PyCapsule>()?;
    let schema = capsule
        .pointer_checked(Some(c"arrow_schema"))?
        .cast::<Schema>();
    // SAFETY: by the name of the capsule, the pointer is to a `struct ArrowSchema` of C, which is
    // valid as long as the capsule.
    let schema = unsafe { schema.as_ref() };
    let n = usize::try_from(schema.n_children).unwrap_or(0);
    if schema.release.is_null() || n > 0 && schema.children.is_null() {
        return Err(PyValueError::new_err(
            "requested_schema: the schema is released",
        ));
    }
    let name = |i: usize| {
        // SAFETY: a schema that is not released has pointers to `n_children` children, each with a
        // name that ends with a NUL, or none.
        let name = unsafe {
            let child = schema.children.add(i).read();
            child
                .as_ref()
                .filter(|child| !child.name.is_null())
                .map(|child| CStr::from_ptr(child.name))
        };
        name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    };
    Ok((0..n).map(name).collect())
}
