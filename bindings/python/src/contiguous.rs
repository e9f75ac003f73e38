//! The memory of NumPy arrays and other contiguous buffers.
//!
//! The buffers are requested without their format, because dates have none. The format of the items
//! is known from the container.
#![allow(unsafe_code)]

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// A held buffer, which keeps its memory in place.
struct Buffer(Box<ffi::Py_buffer>);

// SAFETY: the fields are read from any thread; the release attaches to the interpreter.
unsafe impl Send for Buffer {}

impl Buffer {
    fn get(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Buffer> {
        let mut buffer = Box::new(MaybeUninit::<ffi::Py_buffer>::zeroed());
        // SAFETY: the structure is valid for writes. It is not moved until its release.
        let status =
            unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), buffer.as_mut_ptr(), flags) };
        if status != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        // SAFETY: the call succeeded, so it has filled the structure.
        Ok(Buffer(unsafe { buffer.assume_init() }))
    }

    fn len(&self) -> usize {
        usize::try_from(self.0.len).unwrap_or(0)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        Python::attach(|_| {
            // SAFETY: the structure is that of a successful PyObject_GetBuffer(), released once.
            unsafe { ffi::PyBuffer_Release(&raw mut *self.0) }
        });
    }
}

/// The bytes of an argument, which no other thread may change during the call.
pub struct Source(Buffer);

impl Source {
    /// Returns the bytes of an object with a contiguous buffer. Raises BufferError or TypeError
    /// without one.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Source> {
        Buffer::get(object, ffi::PyBUF_SIMPLE).map(Source)
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        match self.0.len() {
            0 => &[],
            // SAFETY: the buffer is held, contiguous and of this length.
            n => unsafe { std::slice::from_raw_parts(self.0.0.buf.cast::<u8>(), n) },
        }
    }

    /// Returns the integers of 8 bytes in the buffer. Raises BufferError for another length.
    pub fn numbers(&self) -> PyResult<Vec<u64>> {
        let (numbers, rest) = self.bytes().as_chunks::<8>();
        if !rest.is_empty() {
            return Err(PyBufferError::new_err("expected integers of 8 bytes"));
        }
        Ok(numbers
            .iter()
            .map(|bytes| u64::from_ne_bytes(*bytes))
            .collect())
    }
}

/// The memory of an array that a call fills.
pub struct Destination(Buffer);

impl Destination {
    /// Returns the memory of an object with a contiguous, writable buffer.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Destination> {
        Buffer::get(object, ffi::PyBUF_WRITABLE).map(Destination)
    }

    /// Returns the bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        match self.0.len() {
            0 => &mut [],
            // SAFETY: the buffer is held, contiguous, writable and of this length. The bytes of
            // NumPy arrays are initialized as far as the machine is concerned.
            n => unsafe { std::slice::from_raw_parts_mut(self.0.0.buf.cast::<u8>(), n) },
        }
    }
}
