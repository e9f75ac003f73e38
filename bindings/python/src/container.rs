//! What the classes of arrays, tables and superchunks have in common.

use crate::array::Array;
use crate::errors::{Callbacks, exception, failure, warn_damaged, warn_uncommitted};
use crate::handle::Handle;
use crate::options::{CODECS, FORMATS, Mode, Options, name_of, named};
use crate::schunk::Schunk;
use crate::shared::Shared;
use crate::storage::{location, path};
use crate::table::Table;
use holdall::{Codec, Encoding, Filter, Format, Integrity, Kind, Location, Result, Status};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Returns a format, given by name or as a number of the header.
pub fn format(value: &Bound<'_, PyAny>) -> PyResult<Format> {
    named("format", FORMATS, value)
}

/// Returns whether a new container replaces an existing one. Raises ValueError for another mode.
pub fn replaces(py: Python<'_>, mode: &str) -> PyResult<bool> {
    match Mode::new(mode)? {
        Mode::Create => Ok(false),
        Mode::Replace => Ok(true),
        Mode::Read | Mode::Append => {
            let message = format!("mode: {mode:?} does not create (expected \"x\" or \"w\")");
            Err(failure(py, Status::Argument, &message))
        }
    }
}

/// Where a container is or will be, with the options and callbacks of the call.
pub struct Target<'py> {
    name: Bound<'py, PyAny>,
    pub location: Location,
    pub options: holdall::Options,
    pub callbacks: Callbacks,
    given: Py<PyDict>,
}

impl<'py> Target<'py> {
    pub fn new(
        name: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Target<'py>> {
        let mut options = Options::new(options)?;
        let location = location(name, &mut options.callbacks)?;
        let given = options.given.take();
        Ok(Target {
            name: name.clone(),
            location,
            options: options.options,
            callbacks: options.callbacks,
            given: given.unwrap_or_else(|| PyDict::new(name.py()).unbind()),
        })
    }

    /// Opens the container with `read` or `append`.
    ///
    /// If the path is a container of another kind, the exception says which.
    pub fn open<T: Send + Sync>(
        self,
        mode: &str,
        kind: Kind,
        read: fn(Location, &holdall::Options) -> Result<T>,
        append: fn(Location, &holdall::Options) -> Result<T>,
    ) -> PyResult<Opened<T>> {
        let py = self.name.py();
        let reads = match Mode::new(mode)? {
            Mode::Read => true,
            Mode::Append => false,
            Mode::Create | Mode::Replace => {
                let message =
                    format!("mode: {mode:?} creates (expected \"r\" or \"a\"); use create()");
                return Err(failure(py, Status::Argument, &message));
            }
        };
        let path = path(&self.name).ok().filter(|_| reads);
        let (location, options) = (self.location.clone(), &self.options);
        let (version, opened) = py.detach(|| {
            let version = path.as_deref().and_then(version_of);
            match reads {
                true => (version, read(location, options)),
                false => (version, append(location, options)),
            }
        });
        let object = self
            .callbacks
            .raise(py, opened, |e| self.wrong_kind(kind, e))?;
        let recipe = reads.then(|| Recipe::new(&self.name, self.given));
        let mut opened = Opened::new(object, self.callbacks, recipe);
        opened.path = path;
        opened.version = Mutex::new(version);
        Ok(opened)
    }

    fn wrong_kind(&self, expected: Kind, error: &holdall::Error) -> Option<PyErr> {
        let py = self.name.py();
        let (status, path) = (error.status(), path(&self.name).ok()?);
        let is_folder = status == Status::Io && std::path::Path::new(&path).is_dir();
        if !is_folder && !matches!(status, Status::Format | Status::Type) {
            return None;
        }
        let (format, kind) = py.detach(|| holdall::identify(&path)).ok()?;
        let is_frame_or_file = matches!(
            format,
            Format::Bloscpack | Format::B2Frame | Format::Caterva | Format::B2nd
        );
        if kind == expected || is_frame_or_file && matches!(expected, Kind::Schunk | Kind::Array) {
            return None;
        }
        let (found, class) = match kind {
            Kind::Schunk => ("a superchunk", "Schunk"),
            Kind::Array => ("an array", "Array"),
            Kind::Table => ("a table", "Table"),
            Kind::Store => ("a store", "Store"),
            _ => ("a bag of records", "Bag"),
        };
        let format = name_of(FORMATS, format).unwrap_or("unknown");
        let shown = path.display();
        let message = format!("{shown}: {found} ({format}); open it with holdall.{class}()");
        Some(failure(py, Status::Type, &message))
    }
}

/// Identifies a commit of a file: modification time in nanoseconds, size, inode.
pub type Version = (u128, u64, u64);

/// Returns the version of a file, `None` for a folder or an object in a store.
fn version_of(path: &OsStr) -> Option<Version> {
    let metadata = std::fs::metadata(path)
        .ok()
        .filter(std::fs::Metadata::is_file)?;
    let modified = metadata
        .modified()
        .ok()?
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let inode = 0;
    Some((modified.as_nanos(), metadata.len(), inode))
}

/// How a handle for reading is opened again, for pickle.
pub struct Recipe(Py<PyTuple>);

impl Recipe {
    fn new(name: &Bound<'_, PyAny>, options: Py<PyDict>) -> Recipe {
        let options = options.into_bound(name.py()).into_any();
        let made = PyTuple::new(name.py(), [name.clone(), options]);
        made.map_or_else(
            |_| Recipe(PyTuple::empty(name.py()).unbind()),
            |t| Recipe(t.unbind()),
        )
    }

    /// Returns the path or storage, and a dict of the options.
    pub fn get<'py>(&self, py: Python<'py>) -> Bound<'py, PyTuple> {
        self.0.bind(py).clone()
    }
}

/// An open container.
pub struct Opened<T: Send + Sync> {
    pub handle: Handle<Shared<T>>,
    pub callbacks: Callbacks,
    recipe: Option<Recipe>,
    /// The path of a handle for reading, and the file there when it was opened or refreshed.
    path: Option<OsString>,
    version: Mutex<Option<Version>>,
    is_changed: AtomicBool,
}

impl<T: Send + Sync> Opened<T> {
    pub fn new(object: T, callbacks: Callbacks, recipe: Option<Recipe>) -> Opened<T> {
        Opened {
            handle: Handle::new(Shared::new(object)),
            callbacks,
            recipe,
            path: None,
            version: Mutex::new(None),
            is_changed: AtomicBool::new(false),
        }
    }

    /// Returns a container that was just created, which has no commit yet.
    pub fn created(object: T, callbacks: Callbacks) -> Opened<T> {
        let made = Opened::new(object, callbacks, None);
        made.is_changed.store(true, Ordering::Relaxed);
        made
    }

    /// Calls a function with the container.
    pub fn read<R>(&self, py: Python<'_>, f: impl FnOnce(&T) -> PyResult<R>) -> PyResult<R> {
        let open = self.handle.get(py)?;
        let result = open.read(py).and_then(|object| f(&object));
        release(py, open);
        result
    }

    /// Calls a function that changes the container, without the GIL.
    pub fn change<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut T) -> Result<R> + Send,
    ) -> PyResult<R> {
        let result = self.replace(py, f)?;
        self.is_changed.store(true, Ordering::Relaxed);
        Ok(result)
    }

    /// Commits the changes.
    pub fn commit(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut T) -> Result<()> + Send,
    ) -> PyResult<()> {
        self.replace(py, f)?;
        self.is_changed.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Calls a function with exclusive access to the container, without the GIL.
    pub fn replace<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut T) -> Result<R> + Send,
    ) -> PyResult<R> {
        let open = self.handle.get(py)?;
        let result = open.write(py).and_then(|mut object| {
            let object = &mut *object;
            self.callbacks.call(py, || f(object))
        });
        release(py, open);
        result
    }

    /// Moves a container that was opened for reading to the newest commit.
    pub fn refresh(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut T) -> Result<bool> + Send,
    ) -> PyResult<()> {
        let path = self.path.as_deref();
        let (is_newer, version) = self.replace(py, |object| {
            let version = path.and_then(version_of);
            Ok((f(object)?, version))
        })?;
        if is_newer {
            *self.version.lock().unwrap_or_else(PoisonError::into_inner) = version;
        }
        Ok(())
    }

    /// Returns the version of the file that the container was read from, if it is a file.
    pub fn version(&self) -> Option<Version> {
        *self.version.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the container at the end of a `with` block. Warns if changes are discarded.
    pub fn exit(&self, py: Python<'_>, raised: &Bound<'_, PyAny>) -> PyResult<()> {
        let is_lost = self.is_changed.load(Ordering::Relaxed) && self.handle.is_open();
        self.handle.close(py);
        if is_lost && raised.is_none() {
            warn_uncommitted(py)?;
        }
        Ok(())
    }

    /// Returns the recipe of a handle for reading, or None.
    pub fn recipe<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyTuple>> {
        self.recipe.as_ref().map(|recipe| recipe.get(py))
    }
}

/// Ends the use of an object, which is dropped here if it was closed during the call.
fn release<T: Send + Sync>(py: Python<'_>, open: Arc<Shared<T>>) {
    if let Some(object) = Arc::into_inner(open) {
        // closing may wait for threads that call a storage with Python methods
        py.detach(|| drop(object));
    }
}

impl Callbacks {
    /// Returns a result, or the exception of a callback, of `other`, or of the error.
    fn raise<T>(
        &self,
        py: Python<'_>,
        result: Result<T>,
        other: impl FnOnce(&holdall::Error) -> Option<PyErr>,
    ) -> PyResult<T> {
        result.map_err(|error| {
            let raised = self.take().or_else(|| other(&error));
            raised.unwrap_or_else(|| exception(py, &error))
        })
    }
}

/// A native object on its way to the Python class that takes it: `Class(opened)`.
#[pyclass(frozen, module = "holdall._native")]
pub struct Made(Mutex<Option<Parts>>);

/// The object of a class.
pub enum Parts {
    Array(Array),
    Schunk(Schunk),
    Table(Table),
}

impl Made {
    pub fn new(parts: Parts) -> Made {
        Made(Mutex::new(Some(parts)))
    }

    /// Returns the object. It can be taken once.
    pub fn take(&self) -> PyResult<Parts> {
        let parts = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        parts.ok_or_else(|| PyRuntimeError::new_err("the object was taken"))
    }
}

/// How chunks are stored, as the fields of the info structures.
pub struct Stored {
    pub codec: &'static str,
    pub level: i32,
    pub checksum: Option<&'static str>,
    pub filters: Vec<Option<&'static str>>,
    pub precision: i32,
}

impl Stored {
    pub fn new(encoding: &Encoding) -> Stored {
        let named = |filter: &Option<Filter>| {
            filter.and_then(|filter| name_of(crate::options::FILTERS, filter))
        };
        let codec = |codec: Codec| name_of(CODECS, codec);
        Stored {
            codec: encoding.codec.and_then(codec).unwrap_or("mixed"),
            level: encoding.level.map_or(-1, i32::from),
            checksum: name_of(crate::options::CHECKSUMS, encoding.checksum),
            filters: encoding.filters.iter().map(named).collect(),
            precision: encoding.precision.map_or(0, i32::from),
        }
    }
}

/// Adds an attribute as stored to a dict, None if it was skipped as corrupt.
pub fn add_attribute(
    py: Python<'_>,
    attributes: &Bound<'_, PyDict>,
    name: &str,
    value: Option<&[u8]>,
) -> PyResult<()> {
    if value.is_none() {
        warn_damaged(py, Integrity::Filled)?;
    }
    attributes.set_item(
        name,
        value.map(|value| pyo3::types::PyBytes::new(py, value)),
    )
}

/// Shares an open container between a table and its columns.
pub type Owned<T> = Arc<Opened<T>>;
