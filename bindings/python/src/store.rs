//! Stores: trees of arrays and superchunks.

use crate::container::replaces;
use crate::errors::{Callbacks, failure};
use crate::handle::Handle;
use crate::maintenance::kind_name;
use crate::options::{FORMATS, Mode, Options, name_of, named};
use crate::storage::location;
use holdall::{Kind, Location, Status};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

struct OpenStore {
    store: RwLock<holdall::Store>,
    callbacks: Callbacks,
}

impl OpenStore {
    fn read(&self) -> RwLockReadGuard<'_, holdall::Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, holdall::Store> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The native part of `holdall.Store`.
#[pyclass(frozen, subclass, module = "holdall._native")]
pub struct Store {
    open: Handle<OpenStore>,
    name: Py<PyAny>,
    mode: Mode,
    options: Option<Py<PyDict>>,
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (name, mode = "r", format = None, **options))]
    fn new(
        name: &Bound<'_, PyAny>,
        mode: &str,
        format: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Store> {
        let mode = Mode::new(mode)?;
        let format = format
            .map(|value| named("format", FORMATS, value))
            .transpose()?;
        let mut given = Options::new(options)?;
        let at = location(name, &mut given.callbacks)?;
        let options = &given.options;
        let store = given.callbacks.call(name.py(), || match mode {
            Mode::Read => holdall::Store::open_with(at, options),
            Mode::Append => holdall::Store::open_for_writing(at, options),
            Mode::Create => holdall::Store::create(at, format, options),
            Mode::Replace => holdall::Store::replace(at, format, options),
        })?;
        Ok(Store {
            open: Handle::new(OpenStore {
                store: RwLock::new(store),
                callbacks: given.callbacks,
            }),
            name: name.clone().unbind(),
            mode,
            options: given.given,
        })
    }

    /// The format: "b2d", "b2z" or "b2e".
    #[getter]
    fn format(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        Ok(name_of(FORMATS, self.open.get(py)?.read().format()))
    }

    /// Returns the paths of all nodes at the last commit, in order.
    fn nodes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let open = self.open.get(py)?;
        let nodes = open.read().nodes().map(str::to_owned).collect();
        Ok(nodes)
    }

    /// Returns the format and kind of a node, such as ("b2nd", "array"). Raises MissingError if there
    /// is no such node, TypeError for a group, UnsupportedError for a reference to remote content,
    /// and FormatError if two files have this path.
    fn identify(
        &self,
        py: Python<'_>,
        node: &str,
    ) -> PyResult<(Option<&'static str>, Option<&'static str>)> {
        let open = self.open.get(py)?;
        let (format, kind) = open.callbacks.call(py, || open.read().identify(node))?;
        Ok((name_of(FORMATS, format), kind_name(kind)))
    }

    /// Makes what nodes have committed, and removals, visible and durable in one step.
    ///
    /// Open nodes stay valid. An archive or a frame is written again. Raises StateError if the store was
    /// opened for reading, or if another program has changed a node.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.get(py)?;
        open.callbacks.call(py, || open.write().commit())
    }

    /// Removes a node, or a group with all its nodes, with the next commit. No handle of it may be
    /// open. Raises MissingError if there is no such node, and StateError if the store was opened for
    /// reading.
    fn remove(&self, py: Python<'_>, node: &str) -> PyResult<()> {
        let open = self.open.get(py)?;
        open.callbacks.call(py, || open.write().remove(node))
    }

    /// Copies all nodes, as they are stored, to a new store, which is complete or absent. name, format: as
    /// for the class. mode: "x" creates; "w" also replaces. Raises UnsupportedError for a table that
    /// would be in a ".b2e" store.
    #[pyo3(signature = (name, format = None, mode = "x", **options))]
    fn copy(
        &self,
        name: &Bound<'_, PyAny>,
        format: Option<&Bound<'_, PyAny>>,
        mode: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let py = name.py();
        let replaces = replaces(py, mode)?;
        let format = format
            .map(|value| named("format", FORMATS, value))
            .transpose()?;
        let mut given = Options::new(options)?;
        let to = location(name, &mut given.callbacks)?;
        let (open, options) = (self.open.get(py)?, &given.options);
        given.callbacks.extend(&open.callbacks);
        given.callbacks.call(py, || match replaces {
            false => open.read().copy_to(to, format, options),
            true => open.read().copy_replacing(to, format, options),
        })
    }

    /// Closes the store, without a commit. Open nodes remain valid.
    fn close(&self, py: Python<'_>) {
        self.open.close(py);
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, py: Python<'_>, _raised: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    /// Pickles the path or storage, and the options.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, store) = (slf.py(), slf.get());
        if store.mode != Mode::Read {
            let message =
                "a Store that was opened for changes cannot be pickled; open it for reading";
            return Err(failure(py, Status::Type, message));
        }
        let options = match &store.options {
            Some(options) => options.bind(py).copy()?,
            None => PyDict::new(py),
        };
        if options.contains("progress")? {
            options.del_item("progress")?;
        }
        let function = py.import("holdall._pickling")?.getattr("opened")?;
        let no_steps = PyTuple::empty(py);
        (function, (slf.get_type(), &store.name, options, no_steps)).into_pyobject(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.name.bind(py).repr()?;
        Ok(match self.open.get(py) {
            Ok(open) => format!(
                "<holdall.Store {name} of {} nodes>",
                open.read().nodes().count()
            ),
            Err(_) => format!("<holdall.Store {name}, closed>"),
        })
    }
}

/// A node of a store, where a path names a container: the classes open or create it.
///
/// use: "r" and "a" open a node; "array", "schunk" and "table" create one.
#[pyclass(frozen, module = "holdall._native")]
pub struct StoreNode {
    store: Py<Store>,
    node: String,
    r#use: String,
}

impl StoreNode {
    /// Returns its location, and adds the callbacks of the store.
    pub fn location(&self, py: Python<'_>, callbacks: &mut Callbacks) -> PyResult<Location> {
        let open = self.store.get().open.get(py)?;
        callbacks.extend(&open.callbacks);
        let kind = KINDS.iter().find(|(name, _)| *name == self.r#use);
        open.callbacks.call(py, || match (kind, &*self.r#use) {
            (Some((_, kind)), _) => open.read().new_node(&self.node, *kind),
            (None, "a") => open.read().node_for_writing(&self.node),
            (None, _) => open.read().node(&self.node),
        })
    }
}

/// The kinds of nodes that are created.
const KINDS: [(&str, Kind); 3] = [
    ("array", Kind::Array),
    ("schunk", Kind::Schunk),
    ("table", Kind::Table),
];

#[pymethods]
impl StoreNode {
    #[new]
    #[pyo3(signature = (store, node, r#use = "r".to_owned()))]
    fn new(store: Py<Store>, node: String, r#use: String) -> PyResult<StoreNode> {
        let is_known =
            ["r", "a"].contains(&&*r#use) || KINDS.iter().any(|(name, _)| *name == r#use);
        if !is_known {
            let message = format!("unknown kind {:?} (expected array, schunk or table)", r#use);
            return Err(PyValueError::new_err(message));
        }
        Ok(StoreNode { store, node, r#use })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.store.get().name.bind(py).repr()?;
        Ok(format!("{name}[{:?}]", self.node))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let node = slf.get();
        (slf.get_type(), (&node.store, &node.node, &node.r#use)).into_pyobject(slf.py())
    }
}
