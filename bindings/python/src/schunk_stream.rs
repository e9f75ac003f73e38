//! A Bloscpack file that is written from front to back, to a Python file object.

use crate::buffers::bytes;
use crate::container::Opened;
use crate::errors::{Raised, closed, failure, store};
use crate::options::Options;
use holdall::Status;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use std::io;
use std::sync::{Mutex, PoisonError};

/// The number of the error of the system for a failed write.
const EIO: i32 = 5;

/// Writes a Bloscpack file from front to back, for a pipe or a socket, in bounded memory.
///
/// file: an object with a function write(bytes), which must write all bytes or return their number.
/// Its exceptions are raised again. typesize: bytes per item, for filters. length: the number of
/// bytes of content, if it is known. metadata: JSON as bytes. options: as for Schunk.create().
///
/// A `with` block calls finish() unless it ends with an exception. Without finish() the file is
/// truncated.
///
///     >>> file = io.BytesIO()
///     >>> with holdall.SchunkStream(file, typesize=4) as stream:
///     ...     stream.write(bytes(10000))
///     10000
///     >>> len(holdall.Schunk(holdall.Memory(file.getvalue())))
///     10000
#[pyclass(frozen, subclass, module = "holdall")]
pub struct SchunkStream {
    open: Opened<Writer>,
    length: Option<u64>,
}

/// `None` after finish(). The lock is never contended: writers are alone.
type Writer = Mutex<Option<holdall::SchunkStream<Output>>>;

impl SchunkStream {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut holdall::SchunkStream<Output>) -> holdall::Result<T> + Send,
    ) -> PyResult<T> {
        let written = self.open.replace(py, |writer| {
            let writer = writer.get_mut().unwrap_or_else(PoisonError::into_inner);
            writer.as_mut().map(f).transpose()
        })?;
        written.ok_or_else(|| closed(py))
    }
}

#[pymethods]
impl SchunkStream {
    #[new]
    #[pyo3(signature = (file, typesize = 1, length = None, metadata = None, **options))]
    fn new(
        file: &Bound<'_, PyAny>,
        typesize: usize,
        length: Option<u64>,
        metadata: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<SchunkStream> {
        let py = file.py();
        let Options {
            options,
            mut callbacks,
            ..
        } = Options::new(options)?;
        static RAW: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let output = Output {
            file: file.clone().unbind(),
            raised: callbacks.add(),
            is_raw: file.is_instance(RAW.import(py, "io", "RawIOBase")?)?,
        };
        let metadata = metadata.map(bytes).transpose()?;
        let stream = callbacks.call(py, || {
            let mut stream = holdall::SchunkStream::new(output, typesize, length, &options)?;
            if let Some(metadata) = &metadata {
                stream.set_metadata(metadata.as_ref())?;
            }
            Ok(stream)
        })?;
        let open = Opened::new(Mutex::new(Some(stream)), callbacks, None);
        Ok(SchunkStream { open, length })
    }

    /// Appends content, and returns its number of bytes. Writes the chunks that are complete.
    ///
    /// data: bytes, or an object with a buffer. Raises RangeError if there is more content than
    /// length, and StateError after a failure of the file.
    ///
    ///     >>> stream.write(b"abc")
    ///     3
    fn write(&self, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let bytes = bytes(data)?;
        self.with(data.py(), |stream| stream.append(bytes.as_ref()))?;
        Ok(bytes.as_ref().len())
    }

    /// Writes the rest and closes the stream, but not the file.
    ///
    /// Raises StateError if there is less content than length, which may still be written.
    ///
    ///     >>> stream.finish()
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let n = self.with(py, |stream| Ok(stream.len()))?;
        if let Some(length) = self.length.filter(|length| *length != n) {
            let message =
                format!("stream: too little content (expected {length} bytes, found {n})");
            return Err(failure(py, Status::State, &message));
        }
        let finished = self.open.replace(py, |writer| {
            let writer = writer
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            writer.map(|writer| writer.finish()).transpose()
        })?;
        finished.ok_or_else(|| closed(py))?;
        self.open.handle.close(py);
        Ok(())
    }

    /// Closes the stream. Without finish() the file is truncated.
    ///
    ///     >>> stream.close()
    fn close(&self, py: Python<'_>) {
        self.open.handle.close(py);
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (raised, *_rest))]
    fn __exit__(&self, raised: &Bound<'_, PyAny>, _rest: &Bound<'_, PyTuple>) -> PyResult<()> {
        let py = raised.py();
        let finished = match raised.is_none() && self.open.handle.is_open() {
            true => self.finish(py),
            false => Ok(()),
        };
        self.open.handle.close(py);
        finished
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<()> {
        let message = format!("a {} cannot be pickled: it writes", slf.get_type().name()?);
        Err(pyo3::exceptions::PyTypeError::new_err(message))
    }

    fn __repr__(&self) -> &'static str {
        match self.open.handle.is_open() {
            true => "<holdall.SchunkStream>",
            false => "<holdall.SchunkStream, closed>",
        }
    }
}

/// A Python file object.
struct Output {
    file: Py<PyAny>,
    raised: Raised,
    /// Whether None as result of write() means that nothing was written.
    is_raw: bool,
}

impl Output {
    /// Returns how many bytes write() has written.
    fn write_some(&self, py: Python<'_>, src: &[u8]) -> PyResult<usize> {
        let written = self
            .file
            .bind(py)
            .call_method1("write", (PyBytes::new(py, src),))?;
        if written.is_none() && !self.is_raw {
            return Ok(src.len());
        }
        let n = if written.is_none() {
            Ok(0)
        } else {
            written.extract::<usize>()
        };
        match n {
            Ok(n) if (1..=src.len()).contains(&n) => Ok(n),
            _ => {
                let message = format!("write() returned {written} (expected 1 to {})", src.len());
                Err(PyOSError::new_err((EIO, message)))
            }
        }
    }
}

impl io::Write for Output {
    fn write(&mut self, src: &[u8]) -> io::Result<usize> {
        if src.is_empty() {
            return Ok(0);
        }
        let written = Python::try_attach(|py| {
            self.write_some(py, src).map_err(|e| {
                store(&self.raised, e);
                io::Error::from_raw_os_error(EIO)
            })
        });
        written.unwrap_or_else(|| Err(io::Error::other("the interpreter is shutting down")))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
