//! Indexes of bags.

use crate::bag::Bag;
use crate::buffers::bytes;
use crate::errors::Callbacks;
use crate::handle::Handle;
use crate::options::{Mode, Options};
use crate::storage::location;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

struct OpenIndex {
    index: holdall::BagIndex,
    callbacks: Callbacks,
}

/// An index of a bag: finds the records that equal a key.
///
/// bag: the bag, or a slice, whose numbers the index uses. name: the path or storage of the index;
/// None: builds the index in memory. mode: None opens an existing index; "x" creates it, "w" also
/// replaces it.
///
/// Raises StateError if the index belongs to another bag, FormatError or ChecksumError if it is
/// corrupt, or a record is corrupt (see the option skip_damaged).
///
///     >>> index = holdall.Index(bag)
///     >>> index[b"two"], b"four" in index, index.get(b"four")
///     (1, False, None)
#[pyclass(frozen, subclass, name = "Index", module = "holdall")]
pub struct BagIndex {
    open: Handle<OpenIndex>,
    bag: Py<Bag>,
    name: Option<Py<PyAny>>,
    options: Option<Py<PyDict>>,
}

#[pymethods]
impl BagIndex {
    #[new]
    #[pyo3(signature = (bag, name = None, mode = None, **options))]
    fn new(
        bag: &Bound<'_, Bag>,
        name: Option<&Bound<'_, PyAny>>,
        mode: Option<&str>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<BagIndex> {
        let py = bag.py();
        let opened = bag.get().open(py)?;
        let mut given = Options::new(options)?;
        given.callbacks.extend(&opened.callbacks);
        let mode = mode.map(Mode::new).transpose()?;
        if let Some(mode) = mode {
            mode.check(py, &[Mode::Create, Mode::Replace], "None, x or w")?;
        }
        let at = name
            .map(|name| location(name, &mut given.callbacks))
            .transpose()?;
        let (of, options) = (&opened.bag, &given.options);
        let index = given.callbacks.call(py, || match (at, mode) {
            (None, _) => holdall::BagIndex::build(of, options),
            (Some(at), Some(Mode::Create)) => holdall::BagIndex::create(at, of, options),
            (Some(at), Some(Mode::Replace)) => holdall::BagIndex::replace(at, of, options),
            (Some(at), _) => holdall::BagIndex::open_with(at, of, options),
        })?;
        Ok(BagIndex {
            open: Handle::new(OpenIndex {
                index,
                callbacks: given.callbacks,
            }),
            bag: bag.clone().unbind(),
            name: name.map(|name| name.clone().unbind()),
            options: given.given,
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.open.get(py)?.index.key_count())?)
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// Number of corrupt records, which are not in the index.
    #[getter]
    fn damaged(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.open.get(py)?.index.corrupt())
    }

    /// Returns the number of the first record that equals the key, or default.
    #[pyo3(signature = (key, default = None))]
    fn get(
        &self,
        key: &Bound<'_, PyAny>,
        default: Option<Py<PyAny>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        match self.first(key)? {
            Some(number) => Ok(Some(number.into_pyobject(key.py())?.into_any().unbind())),
            None => Ok(default),
        }
    }

    /// Returns the number of the first record that equals the key. Raises KeyError if none.
    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.first(key)?
            .ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.first(key)?.is_some())
    }

    /// Returns the number of the first record that equals the key, or None.
    fn first(&self, key: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let (py, key) = (key.py(), bytes(key)?);
        let open = self.open.get(py)?;
        open.callbacks
            .call(py, || open.index.find_first(key.as_ref()))
    }

    /// Returns the numbers of all records that equal the key, as a list.
    fn find(&self, key: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
        let (py, key) = (key.py(), bytes(key)?);
        let open = self.open.get(py)?;
        open.callbacks.call(py, || open.index.find(key.as_ref()))
    }

    /// Returns the result of first() for each key, as a list. Searches in parallel.
    fn find_many(&self, keys: &Bound<'_, PyAny>) -> PyResult<Vec<Option<u64>>> {
        let py = keys.py();
        let mut given = Vec::new();
        for key in keys.try_iter()? {
            given.push(bytes(&key?)?);
        }
        let open = self.open.get(py)?;
        open.callbacks.call(py, || open.index.find_many(&given))
    }

    /// Closes the index. Calls in progress complete normally.
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

    /// Pickles the bag, the path or storage, and the options. An index in memory is built again.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, index) = (slf.py(), slf.get());
        index.open.get(py)?;
        let options = match &index.options {
            Some(options) => options.bind(py).copy()?,
            None => PyDict::new(py),
        };
        if options.contains("progress")? {
            options.del_item("progress")?;
        }
        if let Some(name) = &index.name {
            options.set_item("name", name)?;
        }
        let function = py.import("holdall._pickling")?.getattr("opened")?;
        let no_steps = PyTuple::empty(py);
        (function, (slf.get_type(), &index.bag, options, no_steps)).into_pyobject(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.open.get(py) {
            Ok(open) => format!("<holdall.Index of {} keys>", open.index.key_count()),
            Err(_) => "<holdall.Index, closed>".into(),
        }
    }
}
