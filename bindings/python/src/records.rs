//! Batches of records.

use crate::buffers::{Buffer, bytes_of_numbers};
use crate::errors::warn_damaged;
use holdall::Integrity;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PySlice};
use std::sync::Arc;

/// A batch of records in one buffer, a sequence of bytes objects.
///
/// data: the buffer, an array of uint8. offsets: an array of len + 1 offsets; record i is
/// data[offsets[i]:offsets[i + 1]], without a copy. numbers: the numbers of the records in the bag,
/// for a batch of a stream, else None. damaged: the list of the indices in the batch of corrupt
/// records, which are empty (option skip_damaged). The arrays are read-only.
///
///     >>> records = bag.read(0, 2)
///     >>> records[1], records.offsets.tolist()
///     (b'two', [0, 3, 6])
#[pyclass(frozen, module = "holdall")]
pub struct Records {
    records: Arc<holdall::Records>,
    numbers: Option<Arc<Vec<u64>>>,
    data: PyOnceLock<Py<PyAny>>,
    offsets: PyOnceLock<Py<PyAny>>,
    number_array: PyOnceLock<Py<PyAny>>,
}

impl Records {
    /// Returns the records that a call has read. Warns if corrupt ones were skipped.
    pub fn new(py: Python<'_>, records: holdall::Records) -> PyResult<Records> {
        Records::with_numbers(py, records, None)
    }

    /// Returns the records of a stream. Warns if corrupt ones were skipped.
    pub fn of_batch(py: Python<'_>, batch: holdall::Batch) -> PyResult<Records> {
        let numbers = Arc::new(batch.numbers().to_vec());
        Records::with_numbers(py, batch.into_records(), Some(numbers))
    }

    fn with_numbers(
        py: Python<'_>,
        records: holdall::Records,
        numbers: Option<Arc<Vec<u64>>>,
    ) -> PyResult<Records> {
        if records.corrupt().next().is_some() {
            warn_damaged(py, Integrity::Filled)?;
        }
        Ok(Records {
            records: Arc::new(records),
            numbers,
            data: PyOnceLock::new(),
            offsets: PyOnceLock::new(),
            number_array: PyOnceLock::new(),
        })
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns a record, and its number in the bag if it is of a stream.
    pub fn get(&self, i: usize) -> Option<(&[u8], Option<u64>)> {
        let number = self.numbers.as_ref().and_then(|numbers| numbers.get(i));
        Some((self.records.get(i)?, number.copied()))
    }

    /// Returns the records as a list of bytes.
    pub fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(
            py,
            Items {
                py,
                records: &self.records,
                at: 0,
            },
        )
    }
}

/// The records as bytes objects, with their number, as PyList::new requires.
struct Items<'py, 'a> {
    py: Python<'py>,
    records: &'a holdall::Records,
    at: usize,
}

impl<'py> Iterator for Items<'py, '_> {
    type Item = Bound<'py, PyBytes>;

    fn next(&mut self) -> Option<Bound<'py, PyBytes>> {
        let record = self.records.get(self.at)?;
        self.at += 1;
        Some(PyBytes::new(self.py, record))
    }
}

impl ExactSizeIterator for Items<'_, '_> {
    fn len(&self) -> usize {
        self.records.len().saturating_sub(self.at)
    }
}

#[pymethods]
impl Records {
    fn __len__(&self) -> usize {
        self.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        i: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = i.cast::<PySlice>() {
            let chosen = slice.indices(isize::try_from(self.len())?)?;
            let items = (0..chosen.slicelength).map(|k| {
                let at = chosen.start + k as isize * chosen.step;
                PyBytes::new(py, self.records.get(at as usize).unwrap_or_default())
            });
            return Ok(PyList::new(py, items)?.into_any());
        }
        let i: isize = i.extract()?;
        let at = if i < 0 {
            i.wrapping_add_unsigned(self.len())
        } else {
            i
        };
        let record = usize::try_from(at).ok().and_then(|at| self.records.get(at));
        let record = record.ok_or_else(|| {
            PyIndexError::new_err(format!("record {i} of a batch of {}", self.len()))
        })?;
        Ok(PyBytes::new(py, record).into_any())
    }

    /// The bytes of all records, an array of uint8.
    #[getter]
    fn data(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let made = self.data.get_or_try_init(py, || {
            let buffer = Buffer::new(Data(Arc::clone(&self.records)));
            buffer.into_array(py, "uint8").map(Bound::unbind)
        });
        made.map(|array| array.clone_ref(py))
    }

    /// The offsets of the records in data, one more than there are records.
    #[getter]
    fn offsets(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let made = self.offsets.get_or_try_init(py, || {
            let buffer = Buffer::new(Offsets(Arc::clone(&self.records)));
            buffer.into_array(py, "uint64").map(Bound::unbind)
        });
        made.map(|array| array.clone_ref(py))
    }

    /// The numbers of the records in the bag, or None.
    #[getter]
    fn numbers(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let Some(numbers) = &self.numbers else {
            return Ok(None);
        };
        let made = self.number_array.get_or_try_init(py, || {
            let buffer = Buffer::new(Numbers(Arc::clone(numbers)));
            buffer.into_array(py, "uint64").map(Bound::unbind)
        });
        made.map(|array| Some(array.clone_ref(py)))
    }

    /// The indices in the batch of corrupt records, which are empty.
    #[getter]
    fn damaged(&self) -> Vec<u64> {
        self.records.corrupt().map(|(i, _)| i).collect()
    }

    fn __contains__(&self, record: &Bound<'_, PyAny>) -> PyResult<bool> {
        let record = record.cast::<PyBytes>();
        Ok(record.is_ok_and(|record| self.records.iter().any(|found| found == record.as_bytes())))
    }

    /// Returns the index in the batch of the first record that equals record.
    ///
    /// Raises ValueError if no record is equal.
    fn index(&self, record: &Bound<'_, PyBytes>) -> PyResult<usize> {
        let equals = |found: &[u8]| found == record.as_bytes();
        let found = self.records.iter().position(equals);
        found.ok_or_else(|| PyValueError::new_err("no record is equal"))
    }

    /// Returns how many records equal record.
    fn count(&self, record: &Bound<'_, PyBytes>) -> usize {
        let equals = |found: &&[u8]| *found == record.as_bytes();
        self.records.iter().filter(equals).count()
    }

    fn __repr__(&self) -> String {
        let (n, bytes) = (self.len(), self.records.bytes().len());
        format!("<holdall.Records: {n} records, {bytes} bytes>")
    }
}

struct Data(Arc<holdall::Records>);

impl AsRef<[u8]> for Data {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

struct Offsets(Arc<holdall::Records>);

impl AsRef<[u8]> for Offsets {
    fn as_ref(&self) -> &[u8] {
        bytes_of_numbers(self.0.offsets())
    }
}

struct Numbers(Arc<Vec<u64>>);

impl AsRef<[u8]> for Numbers {
    fn as_ref(&self) -> &[u8] {
        bytes_of_numbers(&self.0)
    }
}
