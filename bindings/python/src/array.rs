//! Arrays: items of one dtype in a grid, indexed as in NumPy.

use crate::container::{
    Made, Opened, Owned, Parts, Stored, Target, Version, add_attribute, format, replaces,
};
use crate::contiguous::{Destination, Source};
use crate::dtype::Dtype;
use crate::errors::{Callbacks, failure, warn_damaged};
use crate::index::Region;
use crate::options::{CHECKSUMS, FORMATS, name_of, named};
use crate::splits::named_tuples;
use holdall::{ArrayLayout, Integrity, Kind, Order, Selection, Status};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use std::sync::{Arc, Mutex, PoisonError};

/// The native part of `holdall.Array`.
#[pyclass(frozen, subclass, module = "holdall._native")]
pub struct Array {
    origin: Origin,
    /// That of the last call. It changes only if a column is replaced.
    dtype: Mutex<Option<Arc<Dtype>>>,
}

enum Origin {
    Container(Opened<holdall::Array>),
    /// A column is found again in each call, because a refresh of the table replaces it.
    Column {
        table: Owned<holdall::Table>,
        name: String,
    },
}

impl Array {
    fn new(origin: Origin) -> Array {
        Array {
            origin,
            dtype: Mutex::new(None),
        }
    }

    /// Returns a column of a table.
    pub fn column(table: Owned<holdall::Table>, name: String) -> Array {
        Array::new(Origin::Column { table, name })
    }

    fn callbacks(&self) -> &Callbacks {
        match &self.origin {
            Origin::Container(array) => &array.callbacks,
            Origin::Column { table, .. } => &table.callbacks,
        }
    }

    fn read<R>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&holdall::Array) -> PyResult<R>,
    ) -> PyResult<R> {
        match &self.origin {
            Origin::Container(array) => array.read(py, f),
            Origin::Column { table, name } => table.read(py, |table| match table.column(name) {
                Some(array) => f(array),
                None => {
                    let message = format!("column {name:?} was removed");
                    Err(failure(py, Status::State, &message))
                }
            }),
        }
    }

    /// Returns the container of the array. Raises StateError for a column.
    fn container(&self, py: Python<'_>) -> PyResult<&Opened<holdall::Array>> {
        match &self.origin {
            Origin::Container(array) => Ok(array),
            Origin::Column { name, .. } => {
                let message = format!("column {name:?}: is changed through its table");
                Err(failure(py, Status::State, &message))
            }
        }
    }

    fn change(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut holdall::Array) -> holdall::Result<()> + Send,
    ) -> PyResult<()> {
        self.container(py)?.change(py, f)
    }

    fn dtype_of(&self, py: Python<'_>, array: &holdall::Array) -> PyResult<Arc<Dtype>> {
        let mut known = self
            .dtype
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Origin::Column { .. } = self.origin {
            known = known.filter(|dtype| dtype.spelling == array.dtype());
        }
        if let Some(dtype) = known {
            return Ok(dtype);
        }
        let dtype = Arc::new(Dtype::parse(py, array.dtype())?);
        *self.dtype.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&dtype));
        Ok(dtype)
    }

    /// Returns a new NumPy array whose bytes `read` fills without the GIL.
    fn filled<'py>(
        &self,
        py: Python<'py>,
        array: &holdall::Array,
        shape: &[u64],
        read: impl FnOnce(&mut [u8]) -> holdall::Result<Integrity> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let out = self.dtype_of(py, array)?.empty(py, shape.iter().copied())?;
        let mut destination = Destination::of(&out)?;
        let integrity = self.callbacks().call(py, || read(destination.bytes()))?;
        warn_damaged(py, integrity)?;
        Ok(out)
    }

    fn read_region<'py>(
        &self,
        py: Python<'py>,
        array: &holdall::Array,
        region: &Region,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (selection, strides) = (region.selection(), region.strides(array.item_size()));
        let out = self.filled(py, array, &region.shape, |dst| match &strides {
            None => array.read_bytes(selection, dst),
            Some(strides) => array.read_bytes_strided(selection, dst, strides),
        })?;
        if region.is_item {
            return out.get_item(PyTuple::empty(py));
        }
        Ok(out)
    }

    /// Reads what `holdall._selection.of` returns for other indices: lists and masks.
    fn read_chosen<'py>(
        &self,
        array: &holdall::Array,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        static OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = key.py();
        let shape = PyTuple::new(py, array.shape())?;
        let chosen = OF
            .import(py, "holdall._selection", "of")?
            .call1((key, shape))?;
        if let Ok(positions) = chosen.getattr("positions") {
            return self.read_lists(array, &positions);
        }
        let shape: Vec<u64> = chosen.getattr("shape")?.extract()?;
        let coordinates = Source::of(&chosen.getattr("coordinates")?)?.numbers()?;
        let is_empty = shape.contains(&0);
        self.filled(py, array, &shape, |dst| match is_empty {
            true => Ok(Integrity::Intact),
            false => array.read_points_bytes(&coordinates, dst),
        })
    }

    fn read_lists<'py>(
        &self,
        array: &holdall::Array,
        positions: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let lists = lists(positions)?;
        let counts = lists.iter().zip(array.shape());
        let counts: Vec<u64> = counts
            .map(|(list, n)| list.as_ref().map_or(*n, |list| list.len() as u64))
            .collect();
        let lists: Vec<Option<&[u64]>> = lists.iter().map(Option::as_deref).collect();
        let read = |dst: &mut [u8]| array.read_orthogonal_bytes(&lists, dst);
        self.filled(positions.py(), array, &counts, read)
    }

    /// Returns a view of the array as an object for the Python class.
    fn view(
        &self,
        py: Python<'_>,
        array: &holdall::Array,
        view: impl FnOnce(&holdall::Array) -> holdall::Result<holdall::Array> + Send,
    ) -> PyResult<Made> {
        let callbacks = self.callbacks().clone();
        let view = callbacks.call(py, || view(array))?;
        Ok(Made::new(Parts::Array(Array::opened(Opened::new(
            view, callbacks, None,
        )))))
    }

    fn opened(array: Opened<holdall::Array>) -> Array {
        Array::new(Origin::Container(array))
    }
}

/// Returns lists of positions, given as arrays of u64; None stands for a whole dimension.
fn lists(positions: &Bound<'_, PyAny>) -> PyResult<Vec<Option<Vec<u64>>>> {
    let list = |list: PyResult<Bound<'_, PyAny>>| match list? {
        list if list.is_none() => Ok(None),
        list => Source::of(&list)?.numbers().map(Some),
    };
    positions.try_iter()?.map(list).collect()
}

/// Returns the layout of a new array.
fn layout(
    format_name: &Bound<'_, PyAny>,
    chunks: Option<Vec<u64>>,
    blocks: Option<Vec<u64>>,
) -> PyResult<ArrayLayout> {
    let mut layout = ArrayLayout::new(format(format_name)?);
    if let Some(chunks) = chunks {
        layout = layout.chunks(&chunks);
    }
    if let Some(blocks) = blocks {
        layout = layout.blocks(&blocks);
    }
    Ok(layout)
}

#[pymethods]
impl Array {
    #[new]
    #[pyo3(signature = (name, mode = "r", **options))]
    fn open(
        name: &Bound<'_, PyAny>,
        mode: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Array> {
        if let Ok(made) = name.cast::<Made>() {
            return match made.get().take()? {
                Parts::Array(array) => Ok(array),
                _ => Err(PyTypeError::new_err("expected an array")),
            };
        }
        let (read, append) = (holdall::Array::open_with, holdall::Array::open_for_writing);
        Target::new(name, options)?
            .open(mode, Kind::Array, read, append)
            .map(Array::opened)
    }

    /// Creates an array, for the Python class.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn _create(
        name: &Bound<'_, PyAny>,
        mode: &str,
        shape: Vec<u64>,
        dtype: &str,
        format: &Bound<'_, PyAny>,
        chunk_shape: Option<Vec<u64>>,
        block_shape: Option<Vec<u64>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Made> {
        let py = name.py();
        let (replaces, layout) = (
            replaces(py, mode)?,
            layout(format, chunk_shape, block_shape)?,
        );
        let Target {
            location,
            options,
            callbacks,
            ..
        } = Target::new(name, options)?;
        let array = callbacks.call(py, || match replaces {
            false => holdall::Array::create(location, dtype, &shape, &layout, &options),
            true => holdall::Array::replace(location, dtype, &shape, &layout, &options),
        })?;
        Ok(Made::new(Parts::Array(Array::opened(Opened::created(
            array, callbacks,
        )))))
    }

    /// Copies the array, for the Python class.
    #[allow(clippy::too_many_arguments)]
    fn _copy(
        &self,
        name: &Bound<'_, PyAny>,
        mode: &str,
        format: &Bound<'_, PyAny>,
        chunk_shape: Option<Vec<u64>>,
        block_shape: Option<Vec<u64>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let py = name.py();
        let (replaces, layout) = (
            replaces(py, mode)?,
            layout(format, chunk_shape, block_shape)?,
        );
        let Target {
            location,
            options,
            mut callbacks,
            ..
        } = Target::new(name, options)?;
        callbacks.extend(self.callbacks());
        let copied = self.read(py, |array| {
            callbacks.call(py, || match replaces {
                false => array.copy_to(location, &layout, &options),
                true => array.copy_replacing(location, &layout, &options),
            })
        })?;
        warn_damaged(py, copied)
    }

    // ---- properties

    /// Length of each dimension.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.read(py, |array| PyTuple::new(py, array.shape()))
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(py, |array| Ok(array.shape().len()))
    }

    /// Bytes per item.
    #[getter]
    fn itemsize(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(py, |array| Ok(array.item_size()))
    }

    /// Size of the content in bytes.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, |array| Ok(array.content_bytes()))
    }

    /// The spelling of the dtype.
    #[getter]
    fn _spelling(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |array| Ok(array.dtype().to_owned()))
    }

    /// NumPy dtype, or None for Python objects and texts: see read_object().
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.read(py, |array| Ok(self.dtype_of(py, array)?.numpy(py)))
    }

    /// The number of commits through this object, and of refreshes that may have found one. Of a
    /// column, it is that of the table.
    #[getter]
    fn generation(&self, py: Python<'_>) -> PyResult<u64> {
        match &self.origin {
            Origin::Container(array) => array.read(py, |array| Ok(array.generation())),
            Origin::Column { table, .. } => table.read(py, |table| Ok(table.generation())),
        }
    }

    /// The fields of an ArrayInfo, for the Python class.
    fn _info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.read(py, |array| {
            let stored_bytes = self.callbacks().call(py, || array.stored_bytes())?;
            let stored = Stored::new(&array.encoding());
            let names = array.attribute_names();
            let fixed = names
                .iter()
                .filter(|name| array.is_attribute_fixed(name))
                .count();
            let order = match array.order() {
                Order::Fortran => "F",
                _ => "C",
            };
            let shapes = (
                PyTuple::new(py, array.shape())?,
                PyTuple::new(py, array.chunk_shape())?,
                PyTuple::new(py, array.block_shape())?,
            );
            let sizes = (
                array.item_size(),
                array.content_bytes(),
                stored_bytes,
                array.generation(),
            );
            let encoding = (stored.codec, stored.level, stored.checksum);
            let filters = PyTuple::new(py, stored.filters)?;
            [
                (self.dtype_of(py, array)?.numpy(py),).into_pyobject(py)?,
                shapes.into_pyobject(py)?,
                sizes.into_pyobject(py)?,
                (name_of(FORMATS, array.format()), array.shape().len(), order).into_pyobject(py)?,
                encoding.into_pyobject(py)?,
                (names.len(), filters, stored.precision, fixed).into_pyobject(py)?,
            ]
            .into_iter()
            .try_fold(PyTuple::empty(py).into_any(), |all, some| all.add(some))?
            .cast_into::<PyTuple>()
            .map_err(Into::into)
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(py, |array| match array.shape() {
            [] => Err(PyTypeError::new_err(
                "an array without dimensions has no length",
            )),
            [n, ..] => Ok(usize::try_from(*n)?),
        })
    }

    /// The path or storage and the options of an array that was opened for reading, or None.
    #[getter]
    fn _recipe<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyTuple>> {
        match &self.origin {
            Origin::Container(array) => array.recipe(py),
            Origin::Column { table, .. } => table.recipe(py),
        }
    }

    #[getter]
    fn _version(&self) -> Option<Version> {
        match &self.origin {
            Origin::Container(array) => array.version(),
            Origin::Column { .. } => None,
        }
    }

    /// The name of the format.
    #[getter]
    fn _format(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        self.read(py, |array| Ok(name_of(FORMATS, array.format())))
    }

    #[getter]
    fn _is_open(&self) -> bool {
        match &self.origin {
            Origin::Container(array) => array.handle.is_open(),
            Origin::Column { table, .. } => table.handle.is_open(),
        }
    }

    // ---- items

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.read(py, |array| match Region::of(key, array.shape())? {
            Some(region) => self.read_region(py, array, &region),
            None => self.read_chosen(array, key),
        })
    }

    /// Reads all combinations of positions of each dimension, given as arrays of u64 or None.
    fn _read_lists<'py>(&self, positions: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.read(positions.py(), |array| self.read_lists(array, positions))
    }

    /// Writes a box: the counts are those of the items, and the strides those of `items` in bytes.
    fn _write_box(
        &self,
        start: Vec<u64>,
        count: Vec<u64>,
        step: Vec<u64>,
        strides: Vec<i64>,
        items: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let ranges = start
            .iter()
            .zip(&count)
            .zip(&step)
            .map(|((start, count), step)| {
                let span = count.saturating_sub(1).saturating_mul(*step);
                let end = if *count == 0 {
                    *start
                } else {
                    start.saturating_add(span + 1)
                };
                *start..end
            });
        let selection = Selection::from(&ranges.collect::<Vec<_>>()[..]).step(&step);
        let source = Source::of(items)?;
        let bytes = source.bytes();
        self.change(items.py(), |array| {
            array.write_bytes_strided(selection, bytes, &strides)
        })
    }

    /// Writes all combinations of positions, as _read_lists() reads them.
    fn _write_lists(&self, positions: &Bound<'_, PyAny>, items: &Bound<'_, PyAny>) -> PyResult<()> {
        let (lists, items) = (lists(positions)?, Source::of(items)?);
        let (lists, items): (Vec<_>, _) =
            (lists.iter().map(Option::as_deref).collect(), items.bytes());
        self.change(positions.py(), |array| {
            array.write_orthogonal_bytes(&lists, items)
        })
    }

    fn _append(&self, axis: usize, n: u64, items: &Bound<'_, PyAny>) -> PyResult<()> {
        let source = Source::of(items)?;
        let bytes = source.bytes();
        self.change(items.py(), |array| array.append_bytes(axis, n, bytes))
    }

    fn _insert(&self, axis: usize, start: u64, n: u64, items: &Bound<'_, PyAny>) -> PyResult<()> {
        let source = Source::of(items)?;
        let bytes = source.bytes();
        self.change(items.py(), |array| {
            array.insert_bytes(axis, start, n, bytes)
        })
    }

    fn _remove(&self, py: Python<'_>, axis: usize, start: u64, count: u64) -> PyResult<()> {
        let end = start.checked_add(count).ok_or_else(|| {
            failure(
                py,
                Status::Range,
                &format!("positions {start} and {count} more"),
            )
        })?;
        self.change(py, |array| array.remove(axis, start..end))
    }

    fn _resize(&self, py: Python<'_>, shape: Vec<u64>) -> PyResult<()> {
        self.change(py, |array| array.resize(&shape))
    }

    /// Returns item i of an array of Python objects as its pickle. In CTables: texts as UTF-8, bytes as
    /// they are, lists, structures and objects in MessagePack.
    ///
    /// Unpickling runs code that the writer of the file chose. Raises RangeError if there is no
    /// item i, TypeError for another array.
    ///
    ///     >>> pickle.loads(array.read_object(0))
    fn read_object<'py>(&self, py: Python<'py>, i: u64) -> PyResult<Bound<'py, PyBytes>> {
        let object = self.read(py, |array| {
            self.callbacks().call(py, || array.read_object(i))
        })?;
        Ok(PyBytes::new(py, &object))
    }

    /// Whether the items are texts of any length, dtype "T".
    #[getter]
    fn _is_text(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |array| Ok(array.dtype() == "T"))
    }

    /// Reads items of any length: str if the dtype is "T", else bytes; None for a null.
    fn _read_values<'py>(
        &self,
        py: Python<'py>,
        start: u64,
        stop: u64,
    ) -> PyResult<Bound<'py, PyList>> {
        let (values, are_texts) = self.read(py, |array| {
            let values = self
                .callbacks()
                .call(py, || array.read_values(start..stop.max(start)))?;
            Ok((values, array.dtype() == "T"))
        })?;
        let objects = values.iter().map(|value| match value {
            None => Ok(py.None().into_bound(py)),
            Some(bytes) if are_texts => Ok(PyString::from_bytes(py, bytes)?.into_any()),
            Some(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
        });
        PyList::new(py, objects.collect::<PyResult<Vec<_>>>()?)
    }

    /// Returns a checksum, as bytes, of dtype, shape and items, however they are stored.
    ///
    /// kind: the name of the checksum.
    ///
    ///     >>> array.compute_checksum("crc32").hex()
    ///     '444a62b6'
    #[pyo3(signature = (kind = None))]
    fn compute_checksum<'py>(
        &self,
        py: Python<'py>,
        kind: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let kind = match kind {
            None => holdall::Checksum::Sha256,
            Some(kind) => named("kind", CHECKSUMS, kind)?,
        };
        let (value, integrity) = self.read(py, |array| {
            self.callbacks().call(py, || array.checksum(kind))
        })?;
        warn_damaged(py, integrity)?;
        Ok(PyBytes::new(py, &value))
    }

    /// The stored fill value, or None.
    #[getter]
    fn _fill_value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.read(py, |array| {
            let value = self.callbacks().call(py, || array.fill_value())?;
            Ok(value.map(|value| PyBytes::new(py, value)))
        })
    }

    fn _set_fill_value(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let source = Source::of(value)?;
        let bytes = source.bytes();
        self.change(value.py(), |array| array.set_fill_bytes(bytes))
    }

    /// Divides the rows, the indices of the first dimension, into at most n ranges, as Bag.splits()
    /// does.
    ///
    /// They begin at chunks. bytes is the share of the rows in the stored size: by chunk in Bloscpack
    /// files and in frames whose index is in memory, otherwise by rows.
    ///
    ///     >>> [(split.first, split.count) for split in array.splits(2)]
    ///     [(0, 50), (50, 50)]
    fn splits<'py>(&self, py: Python<'py>, n: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let splits = self.read(py, |array| self.callbacks().call(py, || array.splits(n)))?;
        named_tuples(py, splits)
    }

    // ---- metadata

    /// The names of the further files in the folder meta of a dataset, a list.
    #[getter]
    fn meta_files(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.read(py, |array| {
            self.callbacks().call(py, || array.meta_file_names())
        })
    }

    /// Returns the bytes of such a file as it is now, or None if it does not exist.
    ///
    ///     >>> array.meta_file("units.json")
    ///     b'"K"'
    fn meta_file<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let content = self.read(py, |array| {
            self.callbacks().call(py, || array.meta_file(name))
        })?;
        Ok(content.map(|content| PyBytes::new(py, &content)))
    }

    fn _set_meta_file(
        &self,
        py: Python<'_>,
        name: &str,
        content: Option<&Bound<'_, PyBytes>>,
    ) -> PyResult<()> {
        let content = content.map(|content| content.as_bytes());
        self.change(py, |array| match content {
            Some(content) => array.set_meta_file(name, content),
            None => array.remove_meta_file(name),
        })
    }

    /// The attributes as stored, a dict of bytes.
    ///
    ///     >>> array.raw_attrs["unit"]
    ///     b'\xa1K'
    #[getter]
    fn raw_attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.read(py, |array| {
            let attributes = PyDict::new(py);
            for name in array.attribute_names() {
                let value = self.callbacks().call(py, || array.attribute(name))?;
                add_attribute(py, &attributes, name, value)?;
            }
            Ok(attributes)
        })
    }

    fn _set_attribute(
        &self,
        py: Python<'_>,
        name: &str,
        value: Option<&Bound<'_, PyBytes>>,
        is_fixed: bool,
    ) -> PyResult<()> {
        let value = value.map(|value| value.as_bytes());
        self.change(py, |array| match (value, is_fixed) {
            (Some(value), false) => array.set_attribute(name, value),
            (Some(value), true) => array.set_fixed_attribute(name, value),
            (None, _) => array.remove_attribute(name),
        })
    }

    // ---- views

    /// Returns the view of a box, its shape in NumPy, and its first items, steps and counts.
    #[allow(clippy::type_complexity)]
    fn _slice(
        &self,
        key: &Bound<'_, PyAny>,
    ) -> PyResult<(Made, Vec<u64>, (Vec<u64>, Vec<i64>, Vec<u64>))> {
        let py = key.py();
        self.read(py, |array| {
            let Some(region) = Region::of(key, array.shape())? else {
                let message = "a slice of an array takes integers and slices";
                return Err(PyTypeError::new_err(message));
            };
            let progression = region.progression();
            let (start, step, count) = &progression;
            let view = self.view(py, array, |array| array.strided(start, step, count))?;
            Ok((view, region.shape, progression))
        })
    }

    fn _strided_view(
        &self,
        py: Python<'_>,
        start: Vec<u64>,
        step: Vec<i64>,
        count: Vec<u64>,
    ) -> PyResult<Made> {
        let strided = |array: &holdall::Array| array.strided(&start, &step, &count);
        self.read(py, |array| self.view(py, array, strided))
    }

    fn _squeeze(&self, py: Python<'_>, axis: usize) -> PyResult<Made> {
        self.read(py, |array| {
            self.view(py, array, |array| array.squeeze(axis))
        })
    }

    fn _expand_dims(&self, py: Python<'_>, axis: usize) -> PyResult<Made> {
        self.read(py, |array| {
            self.view(py, array, |array| array.expand_dims(axis))
        })
    }

    // ---- the handle

    /// Makes all changes durable and visible, content and shape together.
    ///
    ///     >>> with holdall.Array("data.b2nd", "a") as array:
    ///     ...     array[0] = 1
    ///     ...     array.commit()
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.container(py)?.commit(py, holdall::Array::commit)
    }

    /// Moves an object that was opened for reading to the newest commit.
    ///
    /// Lengths and attributes are those of the new commit. Results of earlier reads do not change.
    /// Without a newer commit, it takes about one system call per file.
    ///
    /// Waits for calls in progress in other threads; their later calls wait for it. After an error
    /// the object is unchanged.
    ///
    /// Raises StateError if the object was opened for changes or in a callback of a call of the same
    /// object, and the errors of opening.
    ///
    ///     >>> array.refresh()
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        match &self.origin {
            Origin::Container(array) => array.refresh(py, holdall::Array::refresh),
            Origin::Column { name, .. } => {
                let message =
                    format!("column {name:?}: a column cannot be refreshed; refresh the table");
                Err(failure(py, Status::State, &message))
            }
        }
    }

    /// Closes the object. Changes since the last commit() are dropped.
    ///
    /// Calls in progress complete normally. Closing a closed object has no effect. A column is
    /// closed with its table.
    ///
    ///     >>> array.close()
    fn close(&self, py: Python<'_>) {
        if let Origin::Container(array) = &self.origin {
            array.handle.close(py);
        }
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (raised, *_rest))]
    fn __exit__(&self, raised: &Bound<'_, PyAny>, _rest: &Bound<'_, PyTuple>) -> PyResult<()> {
        match &self.origin {
            Origin::Container(array) => array.exit(raised.py(), raised),
            Origin::Column { .. } => Ok(()),
        }
    }
}
