//! Tables: named columns of equal length.
#![forbid(unsafe_code)]

use super::{Array, Element, Format, Integrity, Location, Options, Result, Selection, element};
use crate::array::Array as EngineArray;
use crate::dtype::Dtype;
use crate::error::fail;
use crate::superchunk::bloscpack::Mode;
use crate::table::Table as EngineTable;
use std::ops::Range;

/// An open table: named columns of equal length, each an [`Array`]. A folder of bcolz, BLZ or the
/// BLZ RFC layout.
///
/// Many threads may read one table at once. A table sees its own changes at once; others see them,
/// all together, if they are opened after the commit. Dropping a table discards its uncommitted
/// changes.
///
/// ```
/// use holdall::{Format, Options, Table, Values};
/// # let path = std::env::temp_dir().join(format!("holdall-doc-table-{}.bcolz", std::process::id()));
/// # let _ = std::fs::remove_dir_all(&path);
///
/// let columns = [("day", "<i4"), ("code", "|S3")];
/// let mut table = Table::create(&path, Format::Bcolz, &columns, &Options::new())?;
/// table.append(2, &[Values::from(&[20_000, 20_001][..]), Values::bytes(b"EWRJFK")])?;
/// table.set_attribute("source", b"\"nyc\"")?;
/// table.commit()?;
/// drop(table);
///
/// let table = Table::open(&path)?;
/// assert_eq!(table.rows(), 2);
/// let mut day = [0i32];
/// table.read("day", 1..2, &mut day)?;
/// assert_eq!(day, [20_001]);
/// # std::fs::remove_dir_all(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Table(EngineTable<Column>);

/// A column. Private, because [`Array`] must not have these conversions in public.
struct Column(Array);

impl From<EngineArray> for Column {
    fn from(array: EngineArray) -> Column {
        Column(Array(array))
    }
}

impl AsRef<EngineArray> for Column {
    fn as_ref(&self) -> &EngineArray {
        &self.0.0
    }
}

impl AsMut<EngineArray> for Column {
    fn as_mut(&mut self) -> &mut EngineArray {
        &mut self.0.0
    }
}

impl Table {
    /// Opens a table for reading, with default options.
    pub fn open(location: impl Into<Location>) -> Result<Table> {
        Table::open_with(location, &Options::new())
    }

    /// Opens a table for reading.
    pub fn open_with(location: impl Into<Location>, options: &Options) -> Result<Table> {
        Table::with(location.into(), Mode::Read, options)
    }

    /// Opens a table for reading and changes. It fails with [`Status::Busy`](crate::Status::Busy)
    /// if another writer has the table or a column open.
    pub fn open_for_writing(location: impl Into<Location>, options: &Options) -> Result<Table> {
        Table::with(location.into(), Mode::Append, options)
    }

    fn with(location: Location, mode: Mode, options: &Options) -> Result<Table> {
        let options = options.get()?;
        Table::of(location.with(
            |path| EngineTable::open(path, mode, options),
            |folder| EngineTable::open_in(folder, mode, options),
        )?)
    }

    /// Creates a table without rows, which must not exist. It exists from the first commit on.
    ///
    /// `columns` has the name and the dtype of each column, see [`Array::create`]. The formats of
    /// tables are [`Format::Bcolz`], [`Format::Blz`] and [`Format::BlzRfc`].
    pub fn create(
        location: impl Into<Location>,
        format: Format,
        columns: &[(&str, &str)],
        options: &Options,
    ) -> Result<Table> {
        Table::new(location.into(), Mode::New, format, columns, options)
    }

    /// Creates a table as [`Table::create`] does. The first commit replaces an existing table of
    /// the same layout.
    pub fn replace(
        location: impl Into<Location>,
        format: Format,
        columns: &[(&str, &str)],
        options: &Options,
    ) -> Result<Table> {
        Table::new(location.into(), Mode::Replace, format, columns, options)
    }

    fn new(
        location: Location,
        mode: Mode,
        format: Format,
        columns: &[(&str, &str)],
        options: &Options,
    ) -> Result<Table> {
        let parse = |(name, dtype): &(&'_ str, &str)| {
            let dtype = Dtype::parse_argument(dtype);
            dtype.map_err(|e| e.within(format_args!("column {name:?}")))
        };
        let dtypes = columns.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let names = columns.iter().map(|(name, _)| *name);
        let columns: Vec<(&str, Dtype)> = names.zip(dtypes).collect();
        let options = options.get()?;
        Table::of(location.with(
            |path| EngineTable::create(path, mode, format, &columns, options),
            |folder| EngineTable::create_in(folder, mode, format, &columns, options),
        )?)
    }

    fn of(table: EngineTable) -> Result<Table> {
        Ok(Table(table.map(|array| Ok(Column::from(array)))?))
    }

    // ---- rows and columns

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.0.rows()
    }

    /// Returns the names of the columns, in order.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.0.columns().iter().map(|column| column.name.as_str())
    }

    /// Returns a column, or `None` if there is none of this name. Its first dimension are the rows.
    pub fn column(&self, name: &str) -> Option<&Array> {
        let mut columns = self.0.columns().iter();
        columns
            .find(|column| column.name == name)
            .map(|column| &column.array.0)
    }

    /// Reads rows of a column into `dst`, as [`Array::read`]. It fails with
    /// [`Status::Missing`](crate::Status::Missing) if there is no such column.
    pub fn read<T: Element>(
        &self,
        column: &str,
        rows: Range<u64>,
        dst: &mut [T],
    ) -> Result<Integrity> {
        let found = self.column(column);
        let array = found.ok_or_else(|| fail!(Missing, "column {column:?}: no such column"))?;
        let mut ranges: Vec<Range<u64>> = array.shape().iter().map(|n| 0..*n).collect();
        if let Some(first) = ranges.first_mut() {
            *first = rows;
        }
        array.read(Selection::from(&ranges[..]), dst)
    }

    /// Appends rows. `values` has those of each column, in the order of the columns. On failure
    /// nothing is appended to any column.
    pub fn append(&mut self, rows: u64, values: &[Values<'_>]) -> Result<()> {
        for (column, values) in self.0.columns().iter().zip(values) {
            (values.check)(column.array.0.0.dtype())?;
        }
        let bytes: Vec<&[u8]> = values.iter().map(|values| values.bytes).collect();
        Ok(self.0.append(rows, &bytes)?)
    }

    /// Removes the rows from row `rows` on.
    pub fn truncate(&mut self, rows: u64) -> Result<()> {
        Ok(self.0.truncate(rows)?)
    }

    // ---- attributes

    /// Returns the names of the attributes of the table. Columns have their own.
    pub fn attribute_names(&self) -> Vec<&str> {
        self.0.attrs().names()
    }

    /// Returns an attribute as JSON, or `None` if it does not exist.
    pub fn attribute(&self, name: &str) -> Result<Option<&[u8]>> {
        Ok(self.0.attrs().get(name)?)
    }

    /// Sets an attribute to a value in JSON.
    pub fn set_attribute(&mut self, name: &str, json: &[u8]) -> Result<()> {
        Ok(self.0.attr_set(name, Some(json))?)
    }

    /// Removes an attribute, if it exists.
    pub fn remove_attribute(&mut self, name: &str) -> Result<()> {
        Ok(self.0.attr_set(name, None)?)
    }

    /// Makes all changes durable and visible, of all columns together.
    pub fn commit(&mut self) -> Result<()> {
        Ok(self.0.commit()?)
    }
}

/// The rows of one column for [`Table::append`]: a slice of numbers, or bytes.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    bytes: &'a [u8],
    check: fn(&Dtype) -> Result<()>,
}

impl<'a> Values<'a> {
    /// Returns rows of any dtype: their items, packed, in C order.
    pub fn bytes(bytes: &'a [u8]) -> Values<'a> {
        Values {
            bytes,
            check: |_| Ok(()),
        }
    }
}

impl<'a, T: Element> From<&'a [T]> for Values<'a> {
    fn from(numbers: &'a [T]) -> Values<'a> {
        Values {
            bytes: element::bytes(numbers),
            check: element::check::<T>,
        }
    }
}
