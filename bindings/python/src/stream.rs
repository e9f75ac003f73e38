//! Streams of records.

use crate::bag::OpenBag;
use crate::errors::{Callbacks, closed, failure, store};
use crate::handle::Handle;
use crate::options::Options;
use crate::records::Records;
use holdall::{Epoch, Status};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyIterator};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

struct OpenStream {
    stream: holdall::Stream,
    callbacks: Callbacks,
}

thread_local! {
    /// The streams that calls of this thread take records from, by address.
    static TAKING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A call that takes records. Its iterator of numbers cannot call it again, which would never end.
struct Taking(usize);

impl Taking {
    fn new(py: Python<'_>, stream: &OpenStream) -> PyResult<Taking> {
        let address = std::ptr::from_ref(stream).addr();
        if TAKING.with_borrow(|taking| taking.contains(&address)) {
            let message = "a callback cannot use the stream that it is called for";
            return Err(failure(py, Status::State, message));
        }
        TAKING.with_borrow_mut(|taking| taking.push(address));
        Ok(Taking(address))
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        TAKING.with_borrow_mut(|taking| taking.retain(|address| *address != self.0));
    }
}

/// The batches that next() has taken, and its position in the first one.
#[derive(Default)]
struct Position {
    batches: VecDeque<Records>,
    at: usize,
    number: Option<u64>,
}

/// An iterator of records in a given order, with read-ahead.
///
/// number: the number in the bag of the last record that next() returned, or None. Several threads
/// may call take(); each record goes to one of them.
///
///     >>> with bag.stream([2, 0]) as stream:
///     ...     for record in stream:
///     ...         print(stream.number, record)
///     2 b'three'
///     0 b'one'
#[pyclass(frozen, module = "holdall")]
pub struct Stream {
    open: Handle<OpenStream>,
    position: Mutex<Position>,
}

/// The order of a stream.
pub enum Numbers<'py> {
    All,
    /// A Python iterator of record numbers.
    Of(Bound<'py, PyIterator>),
    Range(std::ops::Range<u64>),
    Epoch(Epoch),
}

impl Stream {
    pub fn new(
        py: Python<'_>,
        bag: &OpenBag,
        numbers: Numbers<'_>,
        mut given: Options,
    ) -> PyResult<Stream> {
        given.callbacks.extend(&bag.callbacks);
        let (bag, options) = (&bag.bag, &given.options);
        let stream = match numbers {
            Numbers::All => given.callbacks.call(py, || bag.stream(options)),
            Numbers::Range(range) => given.callbacks.call(py, || bag.stream_of(range, options)),
            Numbers::Epoch(epoch) => given.callbacks.call(py, || bag.stream_of(epoch, options)),
            Numbers::Of(iterator) => {
                let (iterator, raised) = (iterator.unbind(), given.callbacks.add());
                let numbers = std::iter::from_fn(move || {
                    Python::try_attach(|py| {
                        let next = iterator.bind(py).clone().next()?;
                        match next.and_then(|number| number.extract()) {
                            Ok(number) => Some(number),
                            Err(e) => {
                                store(&raised, e);
                                None
                            }
                        }
                    })?
                });
                given.callbacks.call(py, || bag.stream_of(numbers, options))
            }
        }?;
        let open = Handle::new(OpenStream {
            stream,
            callbacks: given.callbacks,
        });
        Ok(Stream {
            open,
            position: Mutex::default(),
        })
    }

    fn position(&self, py: Python<'_>) -> MutexGuard<'_, Position> {
        self.position
            .lock_py_attached(py)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Stream {
    /// Takes the next n records as Records.
    ///
    /// n: the number of records; 0: as many as were read together. Returns fewer records at the
    /// end, or before a failure, which the next call raises. Returns None after the end.
    #[pyo3(signature = (n = 0))]
    fn take(&self, py: Python<'_>, n: usize) -> PyResult<Option<Records>> {
        let open = self.open.get(py)?;
        let _taking = Taking::new(py, &open)?;
        match open.callbacks.call(py, || open.stream.next_batch(n))? {
            Some(batch) => Records::of_batch(py, batch).map(Some),
            // an exception of the iterator of numbers ends the stream
            None => open.callbacks.take().map_or(Ok(None), Err),
        }
    }

    /// The number in the bag of the last record that next() returned, or None.
    #[getter]
    fn number(&self, py: Python<'_>) -> Option<u64> {
        self.position(py).number
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if !self.open.is_open() {
            return Err(closed(py));
        }
        loop {
            let mut position = self.position(py);
            while let Some(batch) = position.batches.front() {
                if let Some((record, number)) = batch.get(position.at) {
                    let record = PyBytes::new(py, record);
                    position.number = number;
                    position.at += 1;
                    return Ok(Some(record));
                }
                position.batches.pop_front();
                position.at = 0;
            }
            drop(position);
            match self.take(py, 0)? {
                Some(batch) => self.position(py).batches.push_back(batch),
                None => return Ok(None),
            }
        }
    }

    /// Closes the stream. Calls in progress complete normally.
    fn close(&self, py: Python<'_>) {
        self.open.close(py);
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, py: Python<'_>, _raised: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }

    fn __reduce__(&self) -> PyResult<()> {
        let message = "a Stream cannot be pickled; pickle the bag and the numbers";
        Err(PyTypeError::new_err(message))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match (self.open.is_open(), self.position(py).number) {
            (false, _) => "<holdall.Stream, closed>".into(),
            (_, None) => "<holdall.Stream at its start>".into(),
            (_, Some(number)) => format!("<holdall.Stream after record {number}>"),
        }
    }
}
