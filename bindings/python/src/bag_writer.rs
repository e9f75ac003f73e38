//! Writers of bags.

use crate::buffers::bytes;
use crate::errors::{Callbacks, warn_uncommitted};
use crate::handle::Handle;
use crate::options::{Mode, Options, WRITING};
use crate::shared::Shared;
use crate::storage::location;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::atomic::{AtomicBool, Ordering};

/// The bytes and records that extend() passes on together.
const BATCH_BYTES: usize = 8 << 20;
const BATCH_RECORDS: usize = 1 << 16;

struct OpenWriter {
    writer: Shared<holdall::BagWriter>,
    callbacks: Callbacks,
}

impl OpenWriter {
    fn call<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut holdall::BagWriter) -> holdall::Result<T> + Send,
    ) -> PyResult<T> {
        let mut writer = self.writer.write(py)?;
        let writer: &mut holdall::BagWriter = &mut writer;
        self.callbacks.call(py, || f(writer))
    }
}

/// A writer of a bag, or of a set of bags.
///
/// name: a path, or a storage; "name@8.bagz" is a set of eight files. mode: "x" creates, "w" also
/// replaces, "a" appends to an existing bag.
///
/// Records are durable and visible after commit(). Closing drops those that were not committed.
///
///     >>> with holdall.BagWriter("lines.bagz", "w") as writer:
///     ...     writer.append(b"one")
///     ...     writer.extend([b"two", b"three"])
///     ...     writer.commit()
#[pyclass(frozen, subclass, module = "holdall")]
pub struct BagWriter {
    open: Handle<OpenWriter>,
    target: String,
    uncommitted: AtomicBool,
}

#[pymethods]
impl BagWriter {
    #[new]
    #[pyo3(signature = (name, mode = "x", **options))]
    fn new(
        name: &Bound<'_, PyAny>,
        mode: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<BagWriter> {
        let py = name.py();
        let mut given = Options::new(options)?;
        let location = location(name, &mut given.callbacks)?;
        let mode = Mode::new(mode)?;
        mode.check(py, WRITING, "x, w or a")?;
        let options = &given.options;
        let writer = given
            .callbacks
            .call(py, || mode.bag_writer(location, options))?;
        let writer = Shared::new(writer);
        Ok(BagWriter {
            open: Handle::new(OpenWriter {
                writer,
                callbacks: given.callbacks,
            }),
            target: name.repr()?.to_string(),
            uncommitted: AtomicBool::new(!matches!(mode, Mode::Append)),
        })
    }

    /// Appends one record: bytes, or an object with a buffer.
    fn append(&self, py: Python<'_>, record: &Bound<'_, PyAny>) -> PyResult<()> {
        let (open, record) = (self.open.get(py)?, bytes(record)?);
        open.call(py, |writer| writer.append(record.as_ref()))?;
        self.uncommitted.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Appends an iterable of records, compressed in parallel.
    ///
    /// Holds a few MB of them at a time, so that the iterable may be of any length. After an
    /// exception, len() includes the records that were appended before it.
    fn extend(&self, py: Python<'_>, records: &Bound<'_, PyAny>) -> PyResult<()> {
        let open = self.open.get(py)?;
        let (mut data, mut offsets) = (Vec::new(), vec![0]);
        let pass_on = |data: &mut Vec<u8>, offsets: &mut Vec<u64>| {
            open.call(py, |writer| writer.append_concatenated(data, offsets))?;
            self.uncommitted.store(true, Ordering::Relaxed);
            data.clear();
            offsets.truncate(1);
            PyResult::Ok(())
        };
        if records.is_instance_of::<PyList>() || records.is_instance_of::<PyTuple>() {
            // a wrong type appends nothing
            for record in records.try_iter()? {
                bytes(&record?)?;
            }
        }
        for record in records.try_iter()? {
            let record = bytes(&record?)?;
            data.extend_from_slice(record.as_ref());
            offsets.push(data.len() as u64);
            if data.len() >= BATCH_BYTES || offsets.len() > BATCH_RECORDS {
                pass_on(&mut data, &mut offsets)?;
            }
        }
        pass_on(&mut data, &mut offsets)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.open.get(py)?.writer.read(py)?.len())?)
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// Makes all appended records durable and visible, all or none.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.open.get(py)?.call(py, holdall::BagWriter::commit)?;
        self.uncommitted.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Closes the writer. Records since the last commit() are dropped.
    ///
    /// Calls in progress complete normally. Closing a closed writer has no effect.
    fn close(&self, py: Python<'_>) {
        self.open.close(py);
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*raised))]
    fn __exit__(&self, py: Python<'_>, raised: &Bound<'_, PyTuple>) -> PyResult<()> {
        let failed = raised.get_item(0).is_ok_and(|raised| !raised.is_none());
        let lost = self.open.is_open() && self.uncommitted.load(Ordering::Relaxed) && !failed;
        self.close(py);
        if lost { warn_uncommitted(py) } else { Ok(()) }
    }

    fn __reduce__(&self) -> PyResult<()> {
        let message = "a BagWriter cannot be pickled; commit, and open the bag for reading";
        Err(PyTypeError::new_err(message))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        if !self.open.is_open() {
            return Ok(format!("<holdall.BagWriter {}, closed>", self.target));
        }
        Ok(format!(
            "<holdall.BagWriter {}: {} records>",
            self.target,
            self.__len__(py)?
        ))
    }
}
