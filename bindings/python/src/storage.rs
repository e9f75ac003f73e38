//! Storages, and the locations that arguments name.

use crate::buffers::{Buffer, Bytes, bytes};
use crate::errors::{Callbacks, Raised, exception, store};
use crate::store::StoreNode;
use holdall::{Location, MemoryStorage, Storage, StorageRange};
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PyMemoryView, PyString, PyTuple};
use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::sync::Arc;

/// Returns the location that an argument names: a path, a storage, a node of a store, or a list of
/// storages.
///
/// A storage is a MemoryFiles, or an object with a method `read_at`.
pub fn location(target: &Bound<'_, PyAny>, callbacks: &mut Callbacks) -> PyResult<Location> {
    if target.is_instance_of::<PyString>() {
        return path(target).map(Location::from);
    }
    if let Ok(node) = target.cast::<StoreNode>() {
        return node.get().location(target.py(), callbacks);
    }
    if let Some(storage) = storage(target, callbacks)? {
        return Ok(storage);
    }
    let several = target.is_instance_of::<PyList>() || target.is_instance_of::<PyTuple>();
    if several && target.len()? > 0 {
        let mut shards = Vec::new();
        for item in target.try_iter()? {
            let item = item?;
            let shard = storage(&item, callbacks)?;
            shards.push(shard.ok_or_else(|| not_a_location(&item))?);
        }
        return Ok(Location::shards(shards));
    }
    path(target).map(Location::from)
}

fn not_a_location(value: &Bound<'_, PyAny>) -> PyErr {
    let found = value.get_type();
    PyTypeError::new_err(format!("expected a storage, found {found}"))
}

/// Returns a path as the system takes it: of a str, of bytes, or of an object with `__fspath__`.
pub fn path(value: &Bound<'_, PyAny>) -> PyResult<OsString> {
    if value.is_instance_of::<PyString>() {
        return value.extract();
    }
    static FSPATH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let encoded = FSPATH.import(value.py(), "os", "fspath")?.call1((value,))?;
    if let Ok(bytes) = encoded.cast::<PyBytes>() {
        let decoded = value
            .py()
            .import("os")?
            .call_method1("fsdecode", (bytes,))?;
        return decoded.extract();
    }
    encoded.extract()
}

fn storage(value: &Bound<'_, PyAny>, callbacks: &mut Callbacks) -> PyResult<Option<Location>> {
    if let Ok(files) = value.cast::<MemoryFiles>() {
        return Ok(Some(Location::from(&files.get().0)));
    }
    if let Ok(memory) = value.cast_exact::<Memory>() {
        let content = memory.get().content.clone_ref(value.py());
        return Ok(Some(Location::memory(Content(
            content.into_bound(value.py()).into(),
        ))));
    }
    if !value.hasattr("read_at")? {
        return Ok(None);
    }
    Ok(Some(Location::storage(PythonStorage {
        object: value.clone().unbind(),
        raised: callbacks.add(),
        reads_ranges: value.hasattr("read_ranges")?,
    })))
}

struct Content(pyo3::pybacked::PyBackedBytes);

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A storage whose functions are the methods of a Python object.
struct PythonStorage {
    object: Py<PyAny>,
    raised: Raised,
    reads_ranges: bool,
}

impl PythonStorage {
    /// Calls a method, and returns what `f` makes of its result. An exception is stored for the call
    /// of the library, except FileNotFoundError.
    fn call<T>(
        &self,
        method: &str,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
        f: impl for<'py> FnOnce(Bound<'py, PyAny>) -> PyResult<T>,
    ) -> std::io::Result<T> {
        let called = Python::try_attach(|py| {
            let Some(function) = self.object.bind(py).getattr_opt(method).transpose() else {
                return Err(Error::from(ErrorKind::Unsupported));
            };
            let result = function
                .and_then(|function| function.call1(arguments(py)?))
                .and_then(f);
            result.map_err(|e| self.failed(py, e))
        });
        called.unwrap_or_else(|| Err(Error::other("the interpreter is shutting down")))
    }

    fn failed(&self, py: Python<'_>, e: PyErr) -> Error {
        if e.is_instance_of::<PyFileNotFoundError>(py) {
            return Error::from(ErrorKind::NotFound);
        }
        let errno = e.is_instance_of::<PyOSError>(py);
        let errno = errno.then(|| {
            e.value(py)
                .getattr("errno")
                .and_then(|n| n.extract::<i32>())
        });
        store(&self.raised, e);
        match errno {
            Some(Ok(code)) if code > 0 => Error::from_raw_os_error(code),
            _ => Error::other("an exception"),
        }
    }
}

fn arguments<'py, T: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>>(
    py: Python<'py>,
    arguments: T,
) -> PyResult<Bound<'py, PyTuple>> {
    arguments.into_pyobject(py).map_err(Into::into)
}

impl Storage for PythonStorage {
    fn size(&self, name: &str) -> std::io::Result<u64> {
        self.call("size", |py| arguments(py, (name,)), |size| size.extract())
    }

    fn read_at(&self, name: &str, at: u64, dst: &mut [u8]) -> std::io::Result<usize> {
        let n = dst.len();
        self.call(
            "read_at",
            |py| arguments(py, (name, at, n)),
            |result| {
                let data = bytes(&result)?;
                let data = data.as_ref();
                let Some(dst) = dst.get_mut(..data.len()) else {
                    let message = format!(
                        "{name:?}: read_at() returned too many bytes (expected {n}, found {})",
                        data.len()
                    );
                    return Err(PyValueError::new_err(message));
                };
                dst.copy_from_slice(data);
                Ok(data.len())
            },
        )
    }

    fn write_at(&self, name: &str, at: u64, src: &[u8]) -> std::io::Result<()> {
        self.call(
            "write_at",
            |py| arguments(py, (name, at, PyBytes::new(py, src))),
            |_| Ok(()),
        )
    }

    fn truncate(&self, name: &str, size: u64) -> std::io::Result<()> {
        self.call("truncate", |py| arguments(py, (name, size)), |_| Ok(()))
    }

    fn sync(&self, name: &str) -> std::io::Result<()> {
        self.call("sync", |py| arguments(py, (name,)), |_| Ok(()))
    }

    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        self.call("rename", |py| arguments(py, (from, to)), |_| Ok(()))
    }

    fn remove(&self, name: &str) -> std::io::Result<()> {
        self.call("remove", |py| arguments(py, (name,)), |_| Ok(()))
    }

    fn list(&self, folder: &str) -> std::io::Result<Vec<String>> {
        self.call(
            "list",
            |py| arguments(py, (folder,)),
            |names| names.try_iter()?.map(|name| name?.extract()).collect(),
        )
    }

    fn reads_ranges(&self) -> bool {
        self.reads_ranges
    }

    fn read_ranges(&self, ranges: &mut [StorageRange<'_>]) -> std::io::Result<()> {
        let requests: Vec<_> = ranges.iter().map(|r| (r.name, r.at, r.dst.len())).collect();
        self.call(
            "read_ranges",
            |py| arguments(py, (PyList::new(py, requests)?,)),
            |results| {
                let mut results = results.try_iter()?;
                for range in ranges {
                    let result = results.next().ok_or_else(|| {
                        PyValueError::new_err("read_ranges() returned too few results")
                    })??;
                    take_range(range, &result)?;
                }
                Ok(())
            },
        )
    }
}

/// Takes what `read_ranges` of a Python storage returned for a range: size and bytes, or None.
fn take_range(range: &mut StorageRange<'_>, result: &Bound<'_, PyAny>) -> PyResult<()> {
    if result.is_none() {
        range.size = Err(Error::from(ErrorKind::NotFound));
        return Ok(());
    }
    let (size, data): (u64, Bound<'_, PyAny>) = result.extract()?;
    let data = bytes(&data)?;
    let data = data.as_ref();
    let from = match u64::try_from(range.at) {
        Ok(at) => at,
        Err(_) => size.saturating_sub(range.at.unsigned_abs()),
    };
    let expected = size.saturating_sub(from).min(range.dst.len() as u64);
    match range.dst.get_mut(..data.len()) {
        Some(dst) if data.len() as u64 == expected => dst.copy_from_slice(data),
        _ => {
            let message = format!(
                "{:?}: read_ranges() returned {} bytes at {} (expected {expected} of {size})",
                range.name,
                data.len(),
                range.at
            );
            return Err(PyValueError::new_err(message));
        }
    }
    range.size = Ok(size);
    Ok(())
}

/// A read-only storage of one file in memory.
///
/// content: bytes, or an object with a buffer, which is copied.
///
///     >>> bag = holdall.Bag(holdall.Memory(open("data.bagz", "rb").read()), codec="zstd")
#[pyclass(frozen, subclass, module = "holdall")]
pub struct Memory {
    /// The bytes of the file.
    #[pyo3(get)]
    content: Py<PyBytes>,
}

#[pymethods]
impl Memory {
    #[new]
    fn new(content: &Bound<'_, PyAny>) -> PyResult<Memory> {
        let content = match content.cast::<PyBytes>() {
            Ok(content) => content.clone(),
            Err(_) => PyBytes::new(content.py(), bytes(content)?.as_ref()),
        };
        Ok(Memory {
            content: content.unbind(),
        })
    }

    /// Returns the size of the file in bytes.
    fn size(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<usize> {
        if name.is_truthy()? {
            return Err(PyFileNotFoundError::new_err(name.clone().unbind()));
        }
        Ok(self.content.as_bytes(py).len())
    }

    /// Returns n bytes at offset `at`; fewer only at the end of the file.
    fn read_at<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'_, PyAny>,
        at: usize,
        n: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let size = self.size(py, name)?;
        let (at, end) = (at.min(size), at.saturating_add(n).min(size));
        let content = self.content.as_bytes(py);
        Ok(PyBytes::new(py, content.get(at..end).unwrap_or_default()))
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> (Py<PyAny>, (Py<PyBytes>,)) {
        let content = slf.get().content.clone_ref(slf.py());
        (slf.get_type().into_any().unbind(), (content,))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!(
            "<holdall.Memory of {} bytes>",
            self.content.as_bytes(py).len()
        )
    }
}

/// A storage of files in memory that can be written.
///
/// content: bytes, or an object with a buffer: the file "", a container of one file, which is
/// copied; None: no files.
///
/// Several containers may use it at once; a writer excludes others, as on a disk.
///
///     >>> files = holdall.MemoryFiles()
///     >>> with holdall.BagWriter(files) as writer:
///     ...     writer.append(b"a record")
///     ...     writer.commit()
///     >>> holdall.Bag(files)[0]
///     b'a record'
#[pyclass(frozen, subclass, module = "holdall")]
pub struct MemoryFiles(MemoryStorage);

#[pymethods]
impl MemoryFiles {
    #[new]
    #[pyo3(signature = (content = None))]
    fn new(py: Python<'_>, content: Option<&Bound<'_, PyAny>>) -> PyResult<MemoryFiles> {
        let files = MemoryFiles(MemoryStorage::new());
        if let Some(content) = content {
            files.put(py, &PyString::new(py, ""), content)?;
        }
        Ok(files)
    }

    /// The names of all files, a list.
    #[getter]
    fn names(&self, py: Python<'_>) -> Vec<OsString> {
        py.detach(|| self.0.names())
    }

    /// Returns a file as a read-only memoryview, without a copy.
    ///
    /// name: the name of the file; "": the container, if it is one file.
    ///
    /// Later commits do not change the view: the first one copies the file. Raises MissingError if
    /// the file does not exist.
    #[pyo3(signature = (name = None))]
    fn file<'py>(
        &self,
        py: Python<'py>,
        name: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyMemoryView>> {
        let name = name.map_or_else(|| Ok(OsString::new()), path)?;
        let content = py
            .detach(|| self.0.bytes(&name))
            .map_err(|e| exception(py, &e))?;
        PyMemoryView::from(Bound::new(py, Buffer::new(Shared(content)))?.as_any())
    }

    /// Stores a file, which is copied. Open containers keep a previous file of this name.
    fn put(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        content: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (name, content): (_, Bytes) = (path(name)?, bytes(content)?);
        py.detach(|| self.0.put(name, content.as_ref().to_vec()));
        Ok(())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<holdall.MemoryFiles of {} files>", self.names(py).len())
    }
}

struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
