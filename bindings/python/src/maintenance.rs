//! Functions for containers of any kind.

use crate::errors::{exception, store};
use crate::options::{FORMATS, Options, name_of};
use crate::storage::path;
use holdall::{Kind, Status, Verified};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict};

/// Returns the versions of the library and its codecs as text.
///
///     >>> holdall.version()
///     '0.2.0 zstd/1.5.7'
#[pyfunction]
pub fn version() -> String {
    holdall::version()
}

/// Returns the name of a kind.
pub fn kind_name(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Schunk => "schunk",
        Kind::Array => "array",
        Kind::Table => "table",
        Kind::Bag => "bag",
        Kind::Store => "store",
        _ => return None,
    })
}

/// Returns the format and kind of the container at a path, such as ("b2nd", "array").
#[pyfunction]
pub fn identify(name: &Bound<'_, PyAny>) -> PyResult<(Option<&'static str>, Option<&'static str>)> {
    let path = path(name)?;
    let call = || holdall::identify(path);
    let (format, kind) = crate::errors::Callbacks::default().call(name.py(), call)?;
    Ok((name_of(FORMATS, format), kind_name(kind)))
}

/// Numbers of intact, corrupt and unchecked parts.
type Counts = (u64, u64, u64);

/// Verifies the container at a path. Returns the numbers of intact, corrupt and unchecked parts, and
/// the error: that of the call, else the first fault, or None.
///
/// fault: None, or a function that is called with the part and the error of each fault.
#[pyfunction]
#[pyo3(signature = (name, fault, options))]
pub fn verify(
    name: &Bound<'_, PyAny>,
    fault: Option<Py<PyAny>>,
    options: &Bound<'_, PyDict>,
) -> PyResult<(Counts, Option<Py<PyAny>>)> {
    let (py, path) = (name.py(), path(name)?);
    let mut given = Options::new(Some(options))?;
    let (raised, mut first) = (given.callbacks.add(), None);
    let found = py.detach(|| {
        holdall::verify(path, &given.options, |part, error| {
            first.get_or_insert_with(|| error.clone());
            let Some(fault) = &fault else { return true };
            let called = Python::try_attach(|py| {
                let error = exception(py, error).into_value(py);
                match fault.call1(py, (part, error)) {
                    Ok(result) => !result.bind(py).is(PyBool::new(py, false)),
                    Err(e) => {
                        store(&raised, e);
                        false
                    }
                }
            });
            called.unwrap_or(false)
        })
    });
    if let Some(e) = given.callbacks.take() {
        return Err(e);
    }
    let numbers = |found: &Verified| (found.intact, found.corrupt, found.unchecked);
    let counts = found.as_ref().map(numbers).unwrap_or_default();
    let error = match (found, first) {
        (Err(e), Some(first)) if e.status() == Status::Busy => Some(first),
        (Err(e), _) => Some(e),
        (Ok(_), first) => first,
    };
    Ok((
        counts,
        error.map(|e| exception(py, &e).into_value(py).into_any()),
    ))
}

/// Repairs the container at a path. Returns the numbers of records or chunks that were retained and
/// lost, and of parts that were removed.
#[pyfunction]
#[pyo3(signature = (name, options))]
pub fn repair(name: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> PyResult<(u64, u64, usize)> {
    let (py, path) = (name.py(), path(name)?);
    let given = Options::new(Some(options))?;
    let repaired = given
        .callbacks
        .call(py, || holdall::repair(path, &given.options))?;
    let parts = repaired.parts_removed.len();
    Ok((repaired.retained, repaired.dropped, parts))
}

/// Trains a zstd dictionary of at most size bytes for records that resemble these, and returns it.
///
/// 112,640 bytes are a good size; the records should have 100 times as many. The same
/// records give the same dictionary. BagWriter(bag_dictionary="auto") does this by itself.
///
///     >>> records = [b'{"km": %d, "from": "EWR"}' % i for i in range(10_000)]
///     >>> dictionary = holdall.train_dictionary(records, 4096)
///     >>> with holdall.BagWriter(
///     ...     "trips.bagz", "w", dictionary=dictionary, bag_dictionary="stored"
///     ... ) as writer:
///     ...     writer.extend(records)
///     ...     writer.commit()
///
/// Raises ArgumentError if the records are too few or have nothing in common, or if the size is not
/// 256 bytes to 16 MiB.
#[pyfunction]
#[pyo3(signature = (records, size = 112_640))]
pub fn train_dictionary<'py>(
    records: &Bound<'py, PyAny>,
    size: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut all = Vec::new();
    for record in records.try_iter()? {
        all.push(crate::buffers::bytes(&record?)?.as_ref().to_vec());
    }
    let train = || holdall::train_dictionary(&all, size);
    let dictionary = crate::errors::Callbacks::default().call(records.py(), train)?;
    Ok(PyBytes::new(records.py(), &dictionary))
}

/// Returns record numbers of a shuffled epoch of n records, as Bag.epoch() has them.
///
/// start, count: the positions among those of the rank; fewer at the end.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn epoch_numbers(
    py: Python<'_>,
    n: u64,
    seed: u64,
    epoch: u64,
    rank: u32,
    world: u32,
    start: u64,
    count: usize,
) -> PyResult<Vec<u64>> {
    crate::errors::Callbacks::default().call(py, || {
        let mut numbers = holdall::Epoch::of_rank(n, seed, epoch, rank, world)?;
        numbers.seek(epoch, start)?;
        Ok(numbers.take(count).collect())
    })
}
