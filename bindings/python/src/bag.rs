//! Bags: sequences of records of any length.

use crate::arrow;
use crate::buffers::{Bytes, bytes};
use crate::errors::{Callbacks, failure, warn_damaged};
use crate::handle::Handle;
use crate::indices::{record_number, record_numbers};
use crate::options::{CHECKSUMS, CODECS, LIMITS, Mode, Options, SHARDS, WRITING, name_of, named};
use crate::recipe::Recipe;
use crate::records::Records;
use crate::splits::named_tuples;
use crate::storage::location;
use crate::stream::{Numbers, Stream};
use holdall::{BagChecksum, Epoch, Integrity, Status};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyInt, PyList, PySlice, PyTuple};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// An open bag, and what its calls need.
pub struct OpenBag {
    pub bag: holdall::Bag,
    pub callbacks: Callbacks,
    skips_corrupt: bool,
}

impl OpenBag {
    fn call<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&holdall::Bag) -> holdall::Result<T> + Send,
    ) -> PyResult<T> {
        self.callbacks.call(py, || f(&self.bag))
    }

    fn with(&self, bag: holdall::Bag) -> OpenBag {
        let (callbacks, skips_corrupt) = (self.callbacks.clone(), self.skips_corrupt);
        OpenBag {
            bag,
            callbacks,
            skips_corrupt,
        }
    }

    fn get<'py>(&self, py: Python<'py>, i: u64) -> PyResult<Bound<'py, PyBytes>> {
        let mut buffer = SHORT_RECORD.take();
        buffer.resize(MAX_SHORT, 0);
        let read = self.call(py, |bag| match bag.read_into(i, &mut buffer) {
            Err(e) if e.status() == Status::Buffer => Ok(None),
            read => read.map(Some),
        });
        let record = read.and_then(|read| {
            let Some((n, integrity)) = read else {
                return self.get_long(py, i);
            };
            warn_damaged(py, integrity)?;
            Ok(PyBytes::new(py, buffer.get(..n).unwrap_or_default()))
        });
        SHORT_RECORD.set(buffer);
        record
    }

    fn get_long<'py>(&self, py: Python<'py>, i: u64) -> PyResult<Bound<'py, PyBytes>> {
        let read = self.call(py, |bag| match bag.get(i) {
            Err(e) if self.skips_corrupt && e.status().is_corruption() => {
                bag.read_range(i..i + 1)?;
                Ok((Vec::new(), Integrity::Filled))
            }
            record => Ok((record?, Integrity::Intact)),
        });
        let (record, integrity) = read?;
        warn_damaged(py, integrity)?;
        Ok(PyBytes::new(py, &record))
    }

    /// Compares a record with those of a range, until `found` returns false.
    fn compare(
        &self,
        py: Python<'_>,
        range: Range<u64>,
        record: &Bytes,
        mut found: impl FnMut(Option<u64>) -> bool + Send,
    ) -> PyResult<()> {
        let integrity = self.call(py, |bag| {
            let mut stream = bag.stream_of(range, &holdall::Options::new())?;
            while let Some(next) = stream.next_record()? {
                if next == record.as_ref() && !found(stream.number()) {
                    break;
                }
            }
            Ok(if stream.corrupt() > 0 {
                Integrity::Filled
            } else {
                Integrity::Intact
            })
        })?;
        warn_damaged(py, integrity)
    }
}

/// Longer records are read into memory of their own.
const MAX_SHORT: usize = 64 << 10;

thread_local! {
    /// Where a record is read without the GIL, before it becomes an object.
    static SHORT_RECORD: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// An open bag, a sequence of records as bytes.
///
/// bag[i] returns a record, bag[a:b:c] a Bag of a slice, bag[[i, j, k]] a batch of Records.
/// Iteration reads ahead. Several threads may use one bag at once.
///
/// spec: a path, or several separated by commas, where "@8" or "@*" stands for the shards of a set;
/// or a storage, or a list of them.
///
/// Raises RangeError for an index past the end.
///
///     >>> bag = holdall.Bag("lines.bagz")
///     >>> len(bag), bag[0], bag[-1], list(bag[:2])
///     (3, b'one', b'three', [b'one', b'two'])
#[pyclass(frozen, subclass, module = "holdall")]
pub struct Bag {
    open: Handle<OpenBag>,
    recipe: Recipe,
}

impl Bag {
    /// Returns the open bag, for one call. Raises StateError if it is closed.
    pub fn open(&self, py: Python<'_>) -> PyResult<Arc<OpenBag>> {
        self.open.get(py)
    }

    fn range_of(&self, py: Python<'_>, start: u64, count: u64) -> PyResult<Range<u64>> {
        let (n, end) = (
            self.open(py)?.bag.len(),
            u128::from(start) + u128::from(count),
        );
        match u64::try_from(end).ok().filter(|end| *end <= n) {
            Some(end) => Ok(start..end),
            None => Err(failure(
                py,
                Status::Range,
                &format!("records {start} to {end} of {n}"),
            )),
        }
    }
}

#[pymethods]
impl Bag {
    #[new]
    #[pyo3(signature = (spec, **options))]
    fn new(spec: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Bag> {
        let py = spec.py();
        let mut given = Options::new(options)?;
        let location = location(spec, &mut given.callbacks)?;
        let bag = given
            .callbacks
            .call(py, || holdall::Bag::open_with(location, &given.options))?;
        let recipe = Recipe::new(spec, given.given);
        let (callbacks, skips_corrupt) = (given.callbacks, given.skips_corrupt);
        let open = Handle::new(OpenBag {
            bag,
            callbacks,
            skips_corrupt,
        });
        Ok(Bag { open, recipe })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.open(py)?.bag.len())?)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(!self.open(py)?.bag.is_empty())
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        i: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let open = self.open(py)?;
        let n = open.bag.len();
        if i.is_instance_of::<PyInt>() {
            return Ok(open.get(py, record_number(i, n)?)?.into_any());
        }
        if let Ok(slice) = i.cast::<PySlice>() {
            let chosen = slice.indices(isize::try_from(n)?)?;
            let count = chosen.slicelength as u64;
            let start = if count > 0 { chosen.start as u64 } else { 0 };
            let step = if count > 1 { chosen.step as i64 } else { 1 };
            return Ok(Bound::new(py, self.strided(py, start, step, count)?)?.into_any());
        }
        if i.extract::<i64>().is_ok() {
            return Ok(open.get(py, record_number(i, n)?)?.into_any());
        }
        Ok(Bound::new(py, self.read_indices(i)?)?.into_any())
    }

    /// Returns the records at indices as a list of bytes, read together, for data loaders.
    fn __getitems__<'py>(&self, indices: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.read_indices(indices)?.to_list(indices.py())
    }

    /// Returns the count records start, start + step, ... as a bag that shares the files.
    #[pyo3(name = "_strided")]
    fn strided(&self, py: Python<'_>, start: u64, step: i64, count: u64) -> PyResult<Bag> {
        let open = self.open(py)?;
        let bag = open.call(py, |bag| bag.strided(start, step, count))?;
        let recipe = self.recipe.of_slice(py, start, step, count);
        Ok(Bag {
            open: Handle::new(open.with(bag)),
            recipe,
        })
    }

    /// Copies records to another bag, with one commit.
    ///
    /// name, mode, options: as for BagWriter(). indices: indices of records, in any order; None:
    /// all records. Raises RangeError if an index is past the end.
    ///
    ///     >>> bag.copy("reversed.bagz", range(len(bag) - 1, -1, -1))
    #[pyo3(signature = (name, indices = None, mode = "x", **options))]
    fn copy(
        &self,
        name: &Bound<'_, PyAny>,
        indices: Option<&Bound<'_, PyAny>>,
        mode: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let py = name.py();
        let open = self.open(py)?;
        let mut given = Options::new(options)?;
        given.callbacks.extend(&open.callbacks);
        let location = location(name, &mut given.callbacks)?;
        let indices = indices
            .map(|i| record_numbers(i, open.bag.len()))
            .transpose()?;
        let (mode, options) = (Mode::new(mode)?, &given.options);
        mode.check(py, WRITING, "x, w or a")?;
        let integrity = given.callbacks.call(py, || {
            let mut to = mode.bag_writer(location, options)?;
            to.copy_from(&open.bag, indices.as_deref())
        })?;
        warn_damaged(py, integrity)
    }

    /// Reads consecutive records from record `start` on, as Records.
    ///
    /// count: the number of records; None: all from `start` on. Raises RangeError past the end.
    ///
    ///     >>> bag.read(1).offsets.tolist()
    ///     [0, 3, 8]
    #[pyo3(signature = (start = 0, count = None))]
    fn read(&self, py: Python<'_>, start: u64, count: Option<u64>) -> PyResult<Records> {
        let open = self.open(py)?;
        let end = count.map_or(open.bag.len().max(start), |count| {
            start.saturating_add(count)
        });
        Records::new(py, open.call(py, |bag| bag.read_range(start..end))?)
    }

    /// Reads count consecutive records from record start on, as Records, as read() does.
    fn read_range(&self, py: Python<'_>, start: u64, count: u64) -> PyResult<Records> {
        self.read(py, start, Some(count))
    }

    /// Reads records by number, in the given order, as Records.
    ///
    /// indices: integers, with repetitions; negative ones count from the end. Raises RangeError
    /// past the end, TypeError if they are not integers.
    ///
    ///     >>> bag.read_indices([2, 0, -1])[:]
    ///     [b'three', b'one', b'three']
    fn read_indices(&self, indices: &Bound<'_, PyAny>) -> PyResult<Records> {
        let py = indices.py();
        let open = self.open(py)?;
        let chosen = record_numbers(indices, open.bag.len())?;
        Records::new(py, open.call(py, |bag| bag.read_indices(&chosen))?)
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Stream> {
        Stream::new(py, &*self.open(py)?, Numbers::All, Options::default())
    }

    fn __reversed__(&self, py: Python<'_>) -> PyResult<Stream> {
        let n = self.open(py)?.bag.len();
        let step = if n > 1 { -1 } else { 1 };
        self.strided(py, n.saturating_sub(1), step, n)?.__iter__(py)
    }

    /// Returns a Stream of all records, or of selected ones.
    ///
    /// indices: an iterable of record numbers, which may be endless; None: all records in order.
    ///
    ///     >>> list(bag.stream([2, 0]))
    ///     [b'three', b'one']
    #[pyo3(signature = (indices = None, **options))]
    fn stream(
        &self,
        py: Python<'_>,
        indices: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        let numbers = match indices {
            None => Numbers::All,
            Some(indices) => Numbers::Of(indices.try_iter()?),
        };
        Stream::new(py, &*self.open(py)?, numbers, Options::new(options)?)
    }

    /// Returns a Stream of selected records, as stream() does.
    ///
    /// indices: as of stream().
    #[pyo3(signature = (indices, **options))]
    fn read_indices_iter(
        &self,
        py: Python<'_>,
        indices: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        self.stream(py, indices, options)
    }

    /// Returns a Stream of count consecutive records from record start on.
    ///
    /// Raises RangeError past the end, before the first record.
    ///
    ///     >>> list(bag.read_range_iter(1, 2))
    ///     [b'two', b'three']
    #[pyo3(signature = (start, count, **options))]
    fn read_range_iter(
        &self,
        py: Python<'_>,
        start: u64,
        count: u64,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        let numbers = Numbers::Range(self.range_of(py, start, count)?);
        Stream::new(py, &*self.open(py)?, numbers, Options::new(options)?)
    }

    fn __contains__(&self, record: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (py, mut is_found) = (record.py(), false);
        let open = self.open(py)?;
        if let Ok(record) = bytes(record) {
            open.compare(py, 0..open.bag.len(), &record, |_| {
                is_found = true;
                false
            })?;
        }
        Ok(is_found)
    }

    /// Returns the number of the first record that equals record, from start on, before stop.
    ///
    /// Reads the records in order: an Index finds many of them faster. Raises ValueError if no
    /// record is equal.
    #[pyo3(signature = (record, start = 0, stop = None))]
    fn index(&self, record: &Bound<'_, PyAny>, start: isize, stop: Option<isize>) -> PyResult<u64> {
        let (py, mut first) = (record.py(), None);
        let open = self.open(py)?;
        let n = isize::try_from(open.bag.len())?;
        let at = |i: isize| (if i < 0 { (i + n).max(0) } else { i.min(n) }) as u64;
        let (start, stop) = (at(start), at(stop.unwrap_or(n)));
        if let Ok(record) = bytes(record) {
            open.compare(py, start..stop.max(start), &record, |number| {
                first = number;
                false
            })?;
        }
        first.ok_or_else(|| PyValueError::new_err("no record is equal"))
    }

    /// Returns how many records equal record. Reads all of them in order.
    fn count(&self, record: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (py, mut count) = (record.py(), 0);
        let open = self.open(py)?;
        if let Ok(record) = bytes(record) {
            open.compare(py, 0..open.bag.len(), &record, |_| {
                count += 1;
                true
            })?;
        }
        Ok(count)
    }

    /// Returns the stored bytes per record, without the limits; 0.0 without records.
    ///
    /// Those of the whole bag for a slice.
    fn approximate_bytes_per_record(&self, py: Python<'_>) -> PyResult<f64> {
        let open = self.open(py)?;
        let records: u64 = open.bag.shards().map(|(_, count)| count).sum();
        let bytes = open
            .bag
            .stored_bytes()
            .saturating_sub(records.saturating_mul(8));
        Ok(if records > 0 {
            bytes as f64 / records as f64
        } else {
            0.0
        })
    }

    /// Returns a Stream of every record once, in shuffled order.
    ///
    /// seed, epoch: determine the order, in every version of the library. rank, world: the stream
    /// has the records at positions rank, rank + world, ... of the order. position: the number of
    /// records of this rank to skip.
    ///
    /// Raises ArgumentError if rank is not below world, RangeError if position is past the end.
    ///
    ///     >>> sorted(bag.epoch(42))
    ///     [b'one', b'three', b'two']
    #[pyo3(signature = (seed, epoch = 0, rank = 0, world = 1, position = 0, **options))]
    #[allow(clippy::too_many_arguments)]
    fn epoch(
        &self,
        py: Python<'_>,
        seed: u64,
        epoch: u64,
        rank: u32,
        world: u32,
        position: u64,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        let open = self.open(py)?;
        let numbers = open.call(py, |bag| {
            let mut numbers = Epoch::of_rank(bag.len(), seed, epoch, rank, world)?;
            numbers.seek(epoch, position)?;
            Ok(numbers)
        })?;
        Stream::new(py, &open, Numbers::Epoch(numbers), Options::new(options)?)
    }

    /// Returns a checksum, as bytes, of the length and the bytes of each record in order.
    ///
    /// kind: the name of the checksum.
    ///
    ///     >>> bag.compute_checksum("md5").hex()
    ///     '9dfd6ee1ecd9e81b8e4d57d0ac2c3c44'
    #[pyo3(signature = (kind = None))]
    fn compute_checksum<'py>(
        &self,
        py: Python<'py>,
        kind: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let kind = match kind {
            Some(kind) => named("checksum", CHECKSUMS, kind)?,
            None => holdall::Checksum::Sha256,
        };
        let (value, integrity) = self.open(py)?.call(py, |bag| bag.checksum(kind))?;
        warn_damaged(py, integrity)?;
        Ok(PyBytes::new(py, &value))
    }

    /// A BagInfo, a named tuple with the fields of holdall_bag_info.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static KIND: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let open = self.open(py)?;
        let bag = &open.bag;
        let counts = ("bagz", bag.shards().count(), bag.len(), bag.stored_bytes());
        let (codec, checksum) = (self.codec(py)?, self.checksum(py)?);
        let limits = name_of(LIMITS, bag.limits());
        let shards = name_of(SHARDS, bag.shard_order());
        let fields = (
            counts.0,
            counts.1,
            counts.2,
            counts.3,
            codec,
            checksum,
            limits,
            shards,
            bag.generation(),
        );
        KIND.import(py, "holdall._infos", "BagInfo")?.call1(fields)
    }

    /// Codec of the records: "none", "zstd", or "mixed" if shards differ.
    #[getter]
    fn codec(&self, py: Python<'_>) -> PyResult<&'static str> {
        let codec = self.open(py)?.bag.codec();
        Ok(codec
            .and_then(|codec| name_of(CODECS, codec))
            .unwrap_or("mixed"))
    }

    /// Name of the checksum of the records: "none", "crc32" or "zstd".
    #[getter]
    fn checksum(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(match self.open(py)?.call(py, holdall::Bag::protection)? {
            BagChecksum::Crc32 => "crc32",
            BagChecksum::Zstd => "zstd",
            _ => "none",
        })
    }

    /// The zstd dictionary that the files store, or that was given; None if there is none, or if
    /// files store different ones.
    ///
    ///     >>> with holdall.BagWriter("trips.bagz", "w", bag_dictionary="auto") as writer:
    ///     ...     writer.extend(b'{"km": %d, "from": "EWR"}' % i for i in range(10_000))
    ///     ...     writer.commit()
    ///     >>> holdall.Bag("trips.bagz").dictionary[:4].hex()
    ///     '37a430ec'
    #[getter]
    fn dictionary<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let dictionary = self.open(py)?.call(py, holdall::Bag::dictionary)?;
        Ok(dictionary.map(|d| PyBytes::new(py, &d)))
    }

    /// Size of all files in bytes.
    #[getter]
    fn stored_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.open(py)?.bag.stored_bytes())
    }

    /// Divides the records into at most n ranges for programs that distribute work, as a list of
    /// Split, a named tuple with first, count and bytes.
    ///
    /// They contain each record once, in order; none is empty, and their stored sizes, bytes, are
    /// similar. They begin at shards where that changes a size by at most an eighth of the mean.
    /// Nothing is decoded. bytes is an estimate for a slice with a step, and for an interleaved bag
    /// of more than 16 shards.
    ///
    ///     >>> parts = [bag[s.first : s.first + s.count] for s in bag.splits(4)]
    ///     >>> sum(len(part) for part in parts) == len(bag)
    ///     True
    fn splits<'py>(&self, py: Python<'py>, n: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let splits = self.open(py)?.call(py, |bag| bag.splits(n))?;
        named_tuples(py, splits)
    }

    /// The files of the bag: a list of pairs of the name and the number of records.
    #[getter]
    fn shards(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        let open = self.open(py)?;
        Ok(open
            .bag
            .shards()
            .map(|(name, count)| (name.into(), count))
            .collect())
    }

    /// The number of refreshes that may have found a commit.
    #[getter]
    fn generation(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.open(py)?.bag.generation())
    }

    /// Moves the bag to the newest commit.
    ///
    /// Calls in progress, slices, streams, indexes and earlier results stay at the earlier commit.
    /// Without a newer commit, it takes about one system call per file. After an error the bag is
    /// unchanged.
    ///
    /// Raises StateError for a slice, and the errors of opening.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        loop {
            let open = self.open(py)?;
            let refreshed = open.call(py, |bag| {
                let mut bag = bag.clone();
                Ok(bag.refresh()?.then_some(bag))
            })?;
            let Some(bag) = refreshed else {
                return Ok(());
            };
            // another thread may have refreshed the bag, to a later commit
            if self.open.replace(py, &open, open.with(bag)) {
                return Ok(());
            }
        }
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // there is one column: nothing to select
        let _ = requested_schema;
        let reader = self.open(py)?.call(py, |bag| bag.to_arrow(.., 0))?;
        arrow::capsule(py, reader)
    }

    /// Closes the bag. Calls in progress complete normally.
    ///
    /// Closing a closed bag has no effect.
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

    /// Pickles the path or storage, the options and the slice: unpickling opens the bag again. It
    /// raises StateError if the bag has other records by then.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let bag = slf.get();
        let open = bag.open(slf.py())?;
        let records = open.bag.shards().map(|(_, count)| count).sum();
        let size = (records, open.bag.stored_bytes());
        bag.recipe.reduce(slf.py(), slf.get_type(), size)
    }

    fn __dask_tokenize__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let files: Vec<_> = self.shards(py)?.into_iter().map(|(name, _)| name).collect();
        let state = (self.__len__(py)?, self.stored_bytes(py)?);
        self.recipe.token(py, "holdall.Bag", files, state)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let target = self.recipe.describe(py)?;
        Ok(match self.open(py) {
            Ok(open) => format!("<holdall.Bag {target}: {} records>", open.bag.len()),
            Err(_) => format!("<holdall.Bag {target}, closed>"),
        })
    }
}
