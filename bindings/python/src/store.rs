//! Stores: trees of arrays and superchunks.

use crate::errors::Callbacks;
use crate::handle::Handle;
use crate::maintenance::kind_name;
use crate::options::{FORMATS, Options, name_of};
use crate::storage::location;
use holdall::Location;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

struct OpenStore {
    store: holdall::Store,
    callbacks: Callbacks,
}

/// The native part of `holdall.Store`.
#[pyclass(frozen, subclass, module = "holdall._native")]
pub struct Store {
    open: Handle<OpenStore>,
    name: Py<PyAny>,
    options: Option<Py<PyDict>>,
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (name, **options))]
    fn new(name: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Store> {
        let mut given = Options::new(options)?;
        let at = location(name, &mut given.callbacks)?;
        let options = &given.options;
        let store = given
            .callbacks
            .call(name.py(), || holdall::Store::open_with(at, options))?;
        Ok(Store {
            open: Handle::new(OpenStore {
                store,
                callbacks: given.callbacks,
            }),
            name: name.clone().unbind(),
            options: given.given,
        })
    }

    /// The format: "b2d", "b2z" or "b2e".
    #[getter]
    fn format(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        Ok(name_of(FORMATS, self.open.get(py)?.store.format()))
    }

    /// Returns the paths of all nodes, in order.
    fn nodes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let open = self.open.get(py)?;
        Ok(open.store.nodes().map(str::to_owned).collect())
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
        let (format, kind) = open.callbacks.call(py, || open.store.identify(node))?;
        Ok((name_of(FORMATS, format), kind_name(kind)))
    }

    /// Closes the store. Open nodes remain valid.
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
                open.store.nodes().count()
            ),
            Err(_) => format!("<holdall.Store {name}, closed>"),
        })
    }
}

/// A node of a store, where a path names a container: the classes open it.
#[pyclass(frozen, module = "holdall._native")]
pub struct StoreNode {
    store: Py<Store>,
    node: String,
}

impl StoreNode {
    /// Returns its location, and adds the callbacks of the store.
    pub fn location(&self, py: Python<'_>, callbacks: &mut Callbacks) -> PyResult<Location> {
        let open = self.store.get().open.get(py)?;
        callbacks.extend(&open.callbacks);
        open.callbacks.call(py, || open.store.node(&self.node))
    }
}

#[pymethods]
impl StoreNode {
    #[new]
    fn new(store: Py<Store>, node: String) -> StoreNode {
        StoreNode { store, node }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.store.get().name.bind(py).repr()?;
        Ok(format!("{name}[{:?}]", self.node))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let node = slf.get();
        (slf.get_type(), (&node.store, &node.node)).into_pyobject(slf.py())
    }
}
