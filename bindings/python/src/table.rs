//! Tables: named columns of equal length.

use crate::array::Array;
use crate::arrow;
use crate::container::{
    Made, Opened, Owned, Parts, Target, Version, add_attribute, format, replaces,
};
use crate::contiguous::{Destination, Source};
use crate::dtype::Dtype;
use crate::errors::{failure, warn_damaged};
use crate::options::{FORMATS, name_of};
use crate::splits::named_tuples;
use holdall::{Integrity, Kind, Selection, Status, Values};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyTuple};
use std::sync::Arc;

/// Which rows a scan has: a filter, the first row, the one after the last, a limit; or their numbers.
/// Then the maximum number of rows of a batch.
type Scanned = (Option<String>, u64, u64, Option<u64>, Option<Vec<u64>>, u64);

/// The native part of `holdall.Table`.
#[pyclass(frozen, subclass, module = "holdall._native")]
pub struct Table {
    open: Owned<holdall::Table>,
}

impl Table {
    fn opened(table: Opened<holdall::Table>) -> Table {
        Table {
            open: Arc::new(table),
        }
    }

    fn change(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut holdall::Table) -> holdall::Result<()> + Send,
    ) -> PyResult<()> {
        self.open.change(py, f)
    }

    /// Reads rows of columns into new NumPy arrays, a dict by column name.
    fn read_columns<'py>(
        &self,
        py: Python<'py>,
        table: &holdall::Table,
        columns: &[String],
        count: u64,
        read: impl Fn(&str, &mut [u8]) -> holdall::Result<Integrity> + Send + Sync,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (out, mut destinations) = (PyDict::new(py), Vec::new());
        for name in columns {
            let column = column(table, name)?;
            let shape: Vec<u64> = [count]
                .into_iter()
                .chain(column.shape().iter().skip(1).copied())
                .collect();
            let items = Dtype::parse(py, column.dtype())?.empty(py, shape)?;
            destinations.push(Destination::of(&items)?);
            out.set_item(name, items)?;
        }
        let integrity = self.open.callbacks.call(py, || {
            let mut all = Integrity::Intact;
            for (name, destination) in columns.iter().zip(&mut destinations) {
                let integrity = read(name, destination.bytes())?;
                all = if integrity == Integrity::Intact {
                    all
                } else {
                    integrity
                };
            }
            Ok(all)
        })?;
        warn_damaged(py, integrity)?;
        Ok(out)
    }

    fn names_or_all(table: &holdall::Table, columns: Option<Vec<String>>) -> Vec<String> {
        columns.unwrap_or_else(|| table.column_names().map(str::to_owned).collect())
    }
}

/// Returns a column. Raises KeyError if there is none of this name.
fn column<'a>(table: &'a holdall::Table, name: &str) -> PyResult<&'a holdall::Array> {
    table
        .column(name)
        .ok_or_else(|| PyKeyError::new_err(name.to_owned()))
}

/// The rows of a column that a caller gives.
enum Rows {
    /// An object with a buffer: items of fixed length.
    Items(Source),
    /// A list of bytes: values of any length. `None` is a null.
    Values(Vec<Option<PyBackedBytes>>),
}

impl Rows {
    fn of(rows: &Bound<'_, PyAny>) -> PyResult<Rows> {
        match rows.cast::<PyList>() {
            Ok(values) => Ok(Rows::Values(values.extract()?)),
            Err(_) => Source::of(rows).map(Rows::Items),
        }
    }

    /// Returns the values of any length.
    fn values(&self) -> Vec<Option<&[u8]>> {
        match self {
            Rows::Items(_) => Vec::new(),
            Rows::Values(values) => values.iter().map(|value| value.as_deref()).collect(),
        }
    }

    /// Returns the rows; `values` are those of [`Rows::values`].
    fn given<'a>(&'a self, values: &'a [Option<&'a [u8]>]) -> Values<'a> {
        match self {
            Rows::Items(source) => Values::bytes(source.bytes()),
            Rows::Values(_) => Values::from(values),
        }
    }
}

/// Calls a function with the rows of all columns.
fn with_rows<R>(
    columns: &Bound<'_, PyAny>,
    call: impl FnOnce(&[Values<'_>]) -> PyResult<R>,
) -> PyResult<R> {
    let rows = columns.try_iter()?.map(|column| Rows::of(&column?));
    let rows = rows.collect::<PyResult<Vec<_>>>()?;
    let values: Vec<_> = rows.iter().map(Rows::values).collect();
    let given = rows
        .iter()
        .zip(&values)
        .map(|(rows, values)| rows.given(values));
    call(&given.collect::<Vec<_>>())
}

#[pymethods]
impl Table {
    #[new]
    #[pyo3(signature = (name, mode = "r", **options))]
    fn open(
        name: &Bound<'_, PyAny>,
        mode: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Table> {
        if let Ok(made) = name.cast::<Made>() {
            return match made.get().take()? {
                Parts::Table(table) => Ok(table),
                _ => Err(PyTypeError::new_err("expected a table")),
            };
        }
        let (read, append) = (holdall::Table::open_with, holdall::Table::open_for_writing);
        Target::new(name, options)?
            .open(mode, Kind::Table, read, append)
            .map(Table::opened)
    }

    /// Creates a table with columns (name, dtype), for the Python class.
    #[staticmethod]
    fn _create(
        name: &Bound<'_, PyAny>,
        mode: &str,
        columns: Vec<(String, String)>,
        format_name: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Made> {
        let py = name.py();
        let (replaces, format) = (replaces(py, mode)?, format(format_name)?);
        let Target {
            location,
            options,
            callbacks,
            ..
        } = Target::new(name, options)?;
        let columns: Vec<(&str, &str)> = columns
            .iter()
            .map(|(name, dtype)| (name.as_str(), dtype.as_str()))
            .collect();
        let table = callbacks.call(py, || match replaces {
            false => holdall::Table::create(location, format, &columns, &options),
            true => holdall::Table::replace(location, format, &columns, &options),
        })?;
        Ok(Made::new(Parts::Table(Table::opened(Opened::created(
            table, callbacks,
        )))))
    }

    /// Creates a table of an Arrow stream, for the Python class.
    #[staticmethod]
    fn _from_arrow(
        name: &Bound<'_, PyAny>,
        mode: &str,
        rows: &Bound<'_, PyAny>,
        format_name: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Made> {
        let py = name.py();
        let (replaces, format) = (replaces(py, mode)?, format(format_name)?);
        let stream = arrow::stream_of(rows)?;
        let Target {
            location,
            options,
            callbacks,
            ..
        } = Target::new(name, options)?;
        let table = callbacks.call(py, || match replaces {
            false => holdall::Table::from_arrow(location, format, stream, &options),
            true => holdall::Table::replace_from_arrow(location, format, stream, &options),
        })?;
        Ok(Made::new(Parts::Table(Table::opened(Opened::new(
            table, callbacks, None,
        )))))
    }

    fn _copy(
        &self,
        name: &Bound<'_, PyAny>,
        mode: &str,
        format_name: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let py = name.py();
        let (replaces, format) = (replaces(py, mode)?, format(format_name)?);
        let Target {
            location,
            options,
            mut callbacks,
            ..
        } = Target::new(name, options)?;
        callbacks.extend(&self.open.callbacks);
        let copied = self.open.read(py, |table| {
            callbacks.call(py, || match replaces {
                false => table.copy_to(location, format, &options),
                true => table.copy_replacing(location, format, &options),
            })
        })?;
        warn_damaged(py, copied)
    }

    // ---- properties

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.open
            .read(py, |table| Ok(usize::try_from(table.rows())?))
    }

    /// The names of the columns, in order.
    #[getter]
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.open
            .read(py, |table| Ok(Table::names_or_all(table, None)))
    }

    /// The number of commits through this object, and of refreshes that may have found one.
    #[getter]
    fn generation(&self, py: Python<'_>) -> PyResult<u64> {
        self.open.read(py, |table| Ok(table.generation()))
    }

    /// The fields of a TableInfo, for the Python class.
    fn _info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.open.read(py, |table| {
            let stored_bytes = self.open.callbacks.call(py, || table.stored_bytes())?;
            let info = (
                table.rows(),
                table.content_bytes(),
                stored_bytes,
                table.generation(),
                name_of(FORMATS, table.format()),
                table.column_names().count(),
                table.attribute_names().len(),
            );
            info.into_pyobject(py)
        })
    }

    #[getter]
    fn _recipe<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyTuple>> {
        self.open.recipe(py)
    }

    #[getter]
    fn _version(&self) -> Option<Version> {
        self.open.version()
    }

    /// The name of the format.
    #[getter]
    fn _format(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        self.open
            .read(py, |table| Ok(name_of(FORMATS, table.format())))
    }

    #[getter]
    fn _is_open(&self) -> bool {
        self.open.handle.is_open()
    }

    /// Returns a column for the Python class. Raises KeyError if there is none of this name.
    fn _column(&self, py: Python<'_>, name: String) -> PyResult<Made> {
        self.open
            .read(py, |table| column(table, &name).map(|_| ()))?;
        Ok(Made::new(Parts::Array(Array::column(
            Arc::clone(&self.open),
            name,
        ))))
    }

    // ---- rows

    fn _read_rows<'py>(
        &self,
        py: Python<'py>,
        start: u64,
        count: Option<u64>,
        step: u64,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.open.read(py, |table| {
            let (rows, names) = (table.rows(), Table::names_or_all(table, columns));
            if step == 0 {
                return Err(failure(
                    py,
                    Status::Argument,
                    "step: 0 (expected 1 or more)",
                ));
            }
            let count = count.unwrap_or_else(|| rows.saturating_sub(start).div_ceil(step));
            let last = count
                .checked_sub(1)
                .map(|n| n.saturating_mul(step).saturating_add(start));
            if last.is_some_and(|last| last >= rows) || start > rows {
                let message =
                    format!("{count} rows from {start}, {step} apart: past the end ({rows} rows)");
                return Err(failure(py, Status::Range, &message));
            }
            let end = last.map_or(start, |last| last + 1);
            self.read_columns(py, table, &names, count, |name, dst| {
                match table.column(name) {
                    Some(column) if step > 1 => {
                        let items = column.shape().iter().skip(1).map(|n| 0..*n);
                        let ranges: Vec<_> = std::iter::once(start..end).chain(items).collect();
                        let mut steps = vec![1; ranges.len()];
                        steps[0] = step;
                        column.read_bytes(Selection::from(&ranges[..]).step(&steps), dst)
                    }
                    _ => table.read_bytes(name, start..end, dst),
                }
            })
        })
    }

    /// Returns a byte per row of a column, 1 if it is null; None: the column has no nulls.
    fn _nulls<'py>(
        &self,
        py: Python<'py>,
        column: String,
        start: u64,
        stop: u64,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let read = |table: &holdall::Table| {
            let nulls = self
                .open
                .callbacks
                .call(py, || table.nulls(&column, start..stop))?;
            let bytes = nulls.map(|nulls| nulls.into_iter().map(u8::from).collect::<Vec<_>>());
            Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
        };
        self.open.read(py, read)
    }

    /// Returns the numbers of the rows for which a predicate is true, for the Python class.
    fn _where<'py>(&self, py: Python<'py>, predicate: &str) -> PyResult<Bound<'py, PyBytes>> {
        let read = |table: &holdall::Table| {
            self.open
                .callbacks
                .call(py, || table.rows_where(predicate, ..))
        };
        let (rows, integrity) = self.open.read(py, read)?;
        warn_damaged(py, integrity)?;
        let bytes: Vec<u8> = rows.iter().flat_map(|row| row.to_ne_bytes()).collect();
        Ok(PyBytes::new(py, &bytes))
    }

    fn _read_points<'py>(
        &self,
        py: Python<'py>,
        rows: Vec<u64>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.open.read(py, |table| {
            let names = Table::names_or_all(table, columns);
            let count = rows.len() as u64;
            self.read_columns(py, table, &names, count, |name, dst| {
                table.read_points_bytes(name, &rows, dst)
            })
        })
    }

    fn _append(&self, n: u64, columns: &Bound<'_, PyAny>) -> PyResult<()> {
        with_rows(columns, |values| {
            self.change(columns.py(), |table| table.append(n, values))
        })
    }

    fn _insert(&self, start: u64, n: u64, columns: &Bound<'_, PyAny>) -> PyResult<()> {
        with_rows(columns, |values| {
            self.change(columns.py(), |table| table.insert(start, n, values))
        })
    }

    /// Removes rows from row `start` on; the rows after them move.
    ///
    /// Raises RangeError if there are fewer. An error is as that of insert_rows().
    ///
    ///     >>> table.remove_rows(0, 2)
    fn remove_rows(&self, py: Python<'_>, start: u64, count: u64) -> PyResult<()> {
        self.change(py, |table| table.remove(start, count))
    }

    fn _write(&self, name: &str, start: u64, n: u64, items: &Bound<'_, PyAny>) -> PyResult<()> {
        let rows = Rows::of(items)?;
        let values = rows.values();
        let given = rows.given(&values);
        self.change(items.py(), |table| table.write(name, start, n, given))
    }

    /// Removes all but the first rows. Raises RangeError if there are fewer.
    ///
    ///     >>> table.truncate(2)
    fn truncate(&self, py: Python<'_>, rows: u64) -> PyResult<()> {
        self.change(py, |table| table.truncate(rows))
    }

    // ---- columns

    fn _add(
        &self,
        at: Option<usize>,
        name: &str,
        dtype: &str,
        items: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let rows = Rows::of(items)?;
        let values = rows.values();
        let given = rows.given(&values);
        self.change(items.py(), |table| {
            let at = at.unwrap_or_else(|| table.column_names().count());
            table.add_column(at, name, dtype, given)
        })
    }

    /// Adds indexes to columns of a CTable, which the commit stores and further ones maintain.
    ///
    /// An index is the minimum and maximum of each block, which python-blosc2 reads, too. Tables that
    /// are opened for reading then do not read blocks that cannot meet a condition.
    ///
    /// columns: names of columns, None: all whose values have an order: Booleans, integers, floats and
    /// times, one for each row.
    ///
    /// Raises UnsupportedError for other tables and columns, ArgumentError if there is no such column.
    ///
    ///     >>> table.build_index()
    ///     >>> table.commit()
    #[pyo3(signature = (columns = None))]
    fn build_index(&self, py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<()> {
        self.change(py, |table| {
            let names = columns.as_ref();
            let names = names.map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
            table.build_index(names.as_deref())
        })
    }

    /// Removes a column. Raises ArgumentError if there is no such column, or no other one.
    ///
    ///     >>> table.remove("price")
    fn remove(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.change(py, |table| table.remove_column(name))
    }

    /// Divides the rows into at most n ranges, as Array.splits() does.
    ///
    /// They begin at chunks of the column with the largest stored size, and of the other columns as
    /// far as enough rows are the start of a chunk in each. bytes is the sum of those of the columns.
    ///
    ///     >>> parts = [table.slice(slice(s.first, s.first + s.count)) for s in table.splits(4)]
    ///     >>> [len(part) for part in parts]
    ///     [3]
    fn splits<'py>(&self, py: Python<'py>, n: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let splits = self
            .open
            .read(py, |table| self.open.callbacks.call(py, || table.splits(n)))?;
        named_tuples(py, splits)
    }

    // ---- metadata

    /// The names of the further files in the folder meta of a table in the BLZ RFC layout, a list.
    /// Other tables have none: their columns do.
    #[getter]
    fn meta_files(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.open.read(py, |table| {
            self.open.callbacks.call(py, || table.meta_file_names())
        })
    }

    /// Returns the bytes of such a file as it is now, or None if it does not exist.
    ///
    ///     >>> table.meta_file("units.json")
    ///     b'"K"'
    fn meta_file<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let content = self.open.read(py, |table| {
            self.open.callbacks.call(py, || table.meta_file(name))
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
        self.change(py, |table| match content {
            Some(content) => table.set_meta_file(name, content),
            None => table.remove_meta_file(name),
        })
    }

    /// The attributes as stored, a dict of bytes.
    ///
    ///     >>> table.raw_attrs["source"]
    ///     b'{"city": "Turin", "year": 2013}'
    #[getter]
    fn raw_attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.open.read(py, |table| {
            let attributes = PyDict::new(py);
            for name in table.attribute_names() {
                let value = self.open.callbacks.call(py, || table.attribute(name))?;
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
        column: Option<&str>,
    ) -> PyResult<()> {
        let value = value.map(|value| value.as_bytes());
        self.change(py, |table| match (column, value) {
            (None, Some(value)) => table.set_attribute(name, value),
            (None, None) => table.remove_attribute(name),
            (Some(column), Some(value)) => table.set_column_attribute(column, name, value),
            (Some(column), None) => table.remove_column_attribute(column, name),
        })
    }

    // ---- views and Arrow

    /// Returns rows of columns as a view, for the Python class.
    fn _slice(
        &self,
        py: Python<'_>,
        start: u64,
        count: u64,
        step: i64,
        columns: Option<Vec<String>>,
    ) -> PyResult<Made> {
        let callbacks = self.open.callbacks.clone();
        let view = self.open.read(py, |table| {
            callbacks.call(py, || {
                let rows = table.strided(start, step, count)?;
                let Some(columns) = &columns else {
                    return Ok(rows);
                };
                rows.select(&columns.iter().map(String::as_str).collect::<Vec<_>>())
            })
        })?;
        Ok(Made::new(Parts::Table(Table::opened(Opened::new(
            view, callbacks, None,
        )))))
    }

    /// Returns a capsule with an Arrow stream of rows of columns: a range, or those with numbers.
    ///
    /// The fields of a requested schema choose and order the columns, if all of them are there.
    fn _arrow_stream<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<String>,
        what: Scanned,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let (filter, start, stop, limit, numbers, batch) = what;
        let requested = requested_schema.map(arrow::field_names).transpose()?;
        let requested = requested.filter(|names| names.iter().all(|name| columns.contains(name)));
        let columns = requested.unwrap_or(columns);
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let scan = holdall::Scan::new().columns(&names).rows(start..stop);
        let scan = scan.limit(limit.unwrap_or(u64::MAX)).batch(batch);
        let scan = match &filter {
            Some(filter) => scan.filter(filter),
            None => scan,
        };
        let reader = self.open.read(py, |table| {
            let read = || match &numbers {
                Some(numbers) => table.points_to_arrow(&names, numbers, batch),
                None => table.scan(&scan),
            };
            self.open.callbacks.call(py, read)
        })?;
        arrow::capsule(py, reader)
    }

    fn _append_arrow(&self, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let stream = arrow::stream_of(rows)?;
        self.change(rows.py(), |table| table.append_arrow(stream))
    }

    // ---- the handle

    /// Makes all changes durable and visible, all or none: rows, columns, attributes.
    ///
    ///     >>> with holdall.Table("prices.bcolz", "a") as table:
    ///     ...     table.append({"price": [9.5], "code": [b"EWR"]})
    ///     ...     table.commit()
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.open.commit(py, holdall::Table::commit)
    }

    /// Moves an object that was opened for reading to the newest commit.
    ///
    /// Columns, rows and attributes are those of the new commit. Results of earlier reads do not
    /// change. Without a newer commit, it takes about one system call per file.
    ///
    /// Waits for calls in progress in other threads; their later calls wait for it. After an error
    /// the object is unchanged.
    ///
    /// Raises StateError if the object was opened for changes or in a callback of a call of the same
    /// object, and the errors of opening.
    ///
    ///     >>> table.refresh()
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        self.open.refresh(py, holdall::Table::refresh)
    }

    /// Closes the object. Changes since the last commit() are dropped.
    ///
    /// Calls in progress complete normally. Closing a closed object has no effect.
    ///
    ///     >>> table.close()
    fn close(&self, py: Python<'_>) {
        self.open.handle.close(py);
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (raised, *_rest))]
    fn __exit__(&self, raised: &Bound<'_, PyAny>, _rest: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.open.exit(raised.py(), raised)
    }
}
