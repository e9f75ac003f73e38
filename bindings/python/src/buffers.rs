//! Bytes of Python objects, and memory of the library that Python objects share.
//!
//! The only file with `unsafe`: the buffer protocol hands out pointers.

use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// The bytes of an argument, which stay in place while the GIL is released.
pub enum Bytes {
    /// Of a bytes object, which never changes.
    Shared(PyBackedBytes),
    /// Of another contiguous buffer, not copied.
    Held(PyUntypedBuffer),
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Bytes::Shared(bytes) => bytes,
            Bytes::Held(buffer) if buffer.len_bytes() == 0 => &[],
            // SAFETY: the exporter keeps the memory of a held buffer in place, and it is contiguous.
            // As for the C functions, the program must not change it during the call.
            Bytes::Held(buffer) => unsafe {
                std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.len_bytes())
            },
        }
    }
}

/// Returns the bytes of an object with a buffer, in C order; copied only if they are not contiguous.
///
/// Raises TypeError without a buffer, or for a buffer of Python objects.
pub fn bytes(value: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Bytes::Shared(PyBackedBytes::from(bytes.clone())));
    }
    let buffer = buffer(value)?;
    if buffer.is_c_contiguous() {
        return Ok(Bytes::Held(buffer));
    }
    let copied = PyMemoryView::from(value)?.call_method0("tobytes")?;
    let copied = copied.cast::<PyBytes>()?;
    Ok(Bytes::Shared(PyBackedBytes::from(copied.clone())))
}

/// Returns the buffer of an object. Raises TypeError without a buffer, or for one of Python objects.
pub fn buffer(value: &Bound<'_, PyAny>) -> PyResult<PyUntypedBuffer> {
    let buffer = PyUntypedBuffer::get(value)?;
    if buffer.format().to_bytes().contains(&b'O') {
        let message = "a buffer of Python objects has no bytes to store";
        return Err(PyTypeError::new_err(message));
    }
    Ok(buffer)
}

/// Returns the items of a one-dimensional buffer of integers of 8 bytes.
pub fn numbers<T: pyo3::buffer::Element>(value: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    PyBuffer::<T>::get(value)?.to_vec(value.py())
}

/// Read-only memory of the library, as an object with a buffer of bytes.
#[pyclass(frozen, module = "holdall._native")]
pub struct Buffer(Arc<dyn AsRef<[u8]> + Send + Sync>);

impl Buffer {
    /// Returns an object with the buffer of a value that owns its bytes.
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Buffer {
        Buffer(Arc::new(owner))
    }

    /// Returns a NumPy array of the memory, which keeps it alive.
    pub fn into_array<'py>(self, py: Python<'py>, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
        let numpy = py.import("numpy")?;
        if (*self.0).as_ref().is_empty() {
            return numpy.call_method1("empty", (0, dtype));
        }
        numpy.call_method1("frombuffer", (Bound::new(py, self)?, dtype))
    }
}

/// Returns the bytes of integers, in the byte order of the machine.
pub fn bytes_of_numbers(numbers: &[u64]) -> &[u8] {
    // SAFETY: any byte of a u64 is a valid u8, and the slice has the same memory and lifetime.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), size_of_val(numbers)) }
}

#[pymethods]
impl Buffer {
    // SAFETY: Python calls this with a pointer to a Py_buffer to fill.
    unsafe fn __getbuffer__(
        slf: PyRef<'_, Self>,
        view: *mut pyo3::ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let bytes: &[u8] = (*slf.0).as_ref();
        let (data, n) = (bytes.as_ptr(), bytes.len());
        let n =
            isize::try_from(n).map_err(|_| PyBufferError::new_err("the buffer is too large"))?;
        // SAFETY: the view is valid, and keeps a reference to `slf`, which owns the bytes and never
        // changes them; readonly is 1, so that no consumer writes.
        let status = unsafe {
            let data = data.cast_mut().cast::<c_void>();
            pyo3::ffi::PyBuffer_FillInfo(view, slf.as_ptr(), data, n, 1, flags)
        };
        if status < 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        Ok(())
    }
}
