//! Tables: named columns of equal length.
#![forbid(unsafe_code)]

use super::bag::first_and_count;
use super::follower::Follower;
use super::selection::check_buffer;
use super::{
    Array, ArrowArrayStream, ArrowReader, Element, Error, Format, Integrity, Location, Options,
    Result, Scan, Split, element,
};
use crate::array::Array as EngineArray;
use crate::arrow::export::ExportOptions;
use crate::arrow::table_columns::TableColumns;
use crate::arrow::table_source::TableSource;
use crate::dtype::Dtype;
use crate::options::Options as EngineOptions;
use crate::superchunk::bloscpack::Mode;
use crate::table::{self, Cells, Predicate, Table as EngineTable, exclusive};
use crate::watch::Watch;
use std::iter;
use std::ops::RangeBounds;
use std::sync::Arc;

/// An open table: named columns of equal length, each an [`Array`]. A folder of bcolz, BLZ or the
/// BLZ RFC layout.
///
/// Many threads may read one table at once. A table sees its own changes at once; others see them,
/// all together, if they are opened after the commit; [`Table::refresh`] moves a reader to it.
/// Dropping a table discards its uncommitted changes.
///
/// The calls that name a column fail with [`Status::Argument`](crate::Status::Argument) if there is
/// none of this name; those with a type fail as those of [`Array`] do.
///
/// ```
/// use holdall::{Format, Options, Table, Values};
/// # let name = format!("holdall-doc-table-{}.bcolz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
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
/// let mut codes = [0; 9];
/// table.read_points_bytes("code", &[1, 0, 1], &mut codes)?;
/// assert_eq!(&codes, b"JFKEWRJFK");
/// # std::fs::remove_dir_all(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Table {
    /// Shared with the Arrow streams that read it.
    inner: Arc<EngineTable<Column>>,
    arrow_options: ExportOptions,
    follower: Follower,
}

/// A column. Private, because [`Array`] must not have these conversions in public.
struct Column(Array);

impl From<EngineArray> for Column {
    fn from(array: EngineArray) -> Column {
        Column(Array::of(array))
    }
}

impl AsRef<EngineArray> for Column {
    fn as_ref(&self) -> &EngineArray {
        &self.0.inner
    }
}

impl AsMut<EngineArray> for Column {
    fn as_mut(&mut self) -> &mut EngineArray {
        &mut self.0.inner
    }
}

fn open_at(location: &Location, mode: Mode, options: &EngineOptions) -> Result<EngineTable> {
    if let Some((store, root)) = location.nodes() {
        return EngineTable::open_node(store, root, mode, options).map_err(Error);
    }
    location.with(
        |path| EngineTable::open(path, mode, options),
        |folder| EngineTable::open_in(folder, mode, options),
    )
}

impl Table {
    /// Opens a table for reading, with default options.
    pub fn open(location: impl Into<Location>) -> Result<Table> {
        Table::open_with(location, &Options::new())
    }

    /// Opens a table for reading. It is as long as its shortest column.
    pub fn open_with(location: impl Into<Location>, options: &Options) -> Result<Table> {
        let (location, options) = (location.into(), options.get()?);
        let follower = match location.nodes() {
            Some(_) => Follower::default(),
            None => Follower::new(&location, options, Watch::path),
        };
        let table = Table::of(options, |options| open_at(&location, Mode::Read, options))?;
        Ok(Table { follower, ..table })
    }

    /// Opens a table for reading and changes. It fails with [`Status::Busy`](crate::Status::Busy)
    /// if another writer has the table or a column open. The first commit removes rows by which a
    /// column is longer than the others.
    pub fn open_for_writing(location: impl Into<Location>, options: &Options) -> Result<Table> {
        let location = location.into();
        Table::of(options.get()?, |options| {
            open_at(&location, Mode::Append, options)
        })
    }

    /// Moves a table that was opened for reading to the newest commit. Returns `false` if there
    /// certainly is none, which takes about a system call per file.
    ///
    /// It fails as opening does, and then leaves the table unchanged, and with
    /// [`Status::State`](crate::Status::State) if the table was opened for changes.
    pub fn refresh(&mut self) -> Result<bool> {
        let open = |location: &Location, options: &EngineOptions| {
            Table::of(options, |options| open_at(location, Mode::Read, options))
        };
        let Some((table, follower)) = self.follower.refreshed(open)? else {
            return Ok(false);
        };
        *self = Table { follower, ..table };
        Ok(true)
    }

    /// Returns the number of commits through this table and of refreshes that returned `true`.
    pub fn generation(&self) -> u64 {
        self.follower.generation
    }

    /// Creates a table without rows, which must not exist. It exists from the first commit on.
    ///
    /// `columns` has the name and the dtype of each column, see [`Array::create`]. The dtype
    /// `"('<f4', (3,))"` gives rows of that shape, and `"T"` texts of any length, of which any may be
    /// null, in [`Format::CTable`]. The formats of tables are [`Format::Bcolz`],
    /// [`Format::Blz`], [`Format::BlzRfc`] and [`Format::CTable`], whose path ends in `.b2d`.
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
            dtype.map_err(|e| Error(e.within(format_args!("column {name:?}"))))
        };
        let dtypes = columns.iter().map(parse).collect::<Result<Vec<_>>>()?;
        let names = columns.iter().map(|(name, _)| *name);
        let columns: Vec<(&str, Dtype)> = names.zip(dtypes).collect();
        Table::of(options.get()?, |options| {
            location.with(
                |path| EngineTable::create(path, mode, format, &columns, options),
                |folder| EngineTable::create_in(folder, mode, format, &columns, options),
            )
        })
    }

    /// Creates a table with the columns and rows of an Arrow stream, commits it, and returns it for
    /// changes. It must not exist.
    ///
    /// In [`Format::CTable`] the columns keep the types of the fields: numbers, Booleans, timestamps
    /// and rows of them; text, dictionaries of text, bytes, lists and structures; with nulls, if the
    /// field may have them. Other formats have no values of any length and no nulls. It fails with
    /// [`Status::Unsupported`](crate::Status::Unsupported) for a field of another type, and otherwise
    /// as [`Table::create`] and [`Table::append_arrow`] do.
    pub fn from_arrow(
        location: impl Into<Location>,
        format: Format,
        stream: ArrowArrayStream,
        options: &Options,
    ) -> Result<Table> {
        Table::of_arrow(location.into(), Mode::New, format, stream, options)
    }

    /// Creates a table as [`Table::from_arrow`] does. It replaces an existing table of the same
    /// layout.
    pub fn replace_from_arrow(
        location: impl Into<Location>,
        format: Format,
        stream: ArrowArrayStream,
        options: &Options,
    ) -> Result<Table> {
        Table::of_arrow(location.into(), Mode::Replace, format, stream, options)
    }

    fn of_arrow(
        location: Location,
        mode: Mode,
        format: Format,
        stream: ArrowArrayStream,
        options: &Options,
    ) -> Result<Table> {
        let mut options = options.get()?.clone();
        let arrow_options = ExportOptions::take(&mut options);
        let made = location
            .with_target(|to| EngineTable::from_arrow(to, mode, format, stream.0, &options))?;
        let columns = made.map(|array| Ok(Column::from(array)));
        Ok(Table {
            inner: Arc::new(columns.map_err(Error)?),
            arrow_options,
            follower: Follower::default(),
        })
    }

    /// Returns the table that `open` opens or creates with these options.
    fn of(
        options: &EngineOptions,
        open: impl FnOnce(&EngineOptions) -> Result<EngineTable>,
    ) -> Result<Table> {
        let mut options = options.clone();
        let arrow_options = ExportOptions::take(&mut options);
        let columns = open(&options)?.map(|array| Ok(Column::from(array)));
        Ok(Table {
            inner: Arc::new(columns.map_err(Error)?),
            arrow_options,
            follower: Follower::default(),
        })
    }

    /// Returns the table for a change, or an error while an Arrow stream reads it.
    fn changed(&mut self) -> Result<&mut EngineTable<Column>> {
        exclusive(&mut self.inner).map_err(Error)
    }

    // ---- properties

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.inner.rows()
    }

    /// Returns the names of the columns, in order.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.inner
            .columns()
            .iter()
            .map(|column| column.name.as_str())
    }

    /// Returns a column, or `None` if there is none of this name. Its first dimension are the rows.
    pub fn column(&self, name: &str) -> Option<&Array> {
        self.find(name).map(|column| &column.array.0)
    }

    /// Returns the number of rows in the files of a column at the last commit, or `None` if there is
    /// no such column. It is more than the table has if a writer was interrupted between columns,
    /// and 0 for a column that was not committed yet.
    pub fn stored_rows(&self, column: &str) -> Option<u64> {
        self.find(column).map(|column| column.stored_rows)
    }

    fn find(&self, name: &str) -> Option<&table::Column<Column>> {
        self.inner
            .find_column(name)
            .and_then(|i| self.inner.columns().get(i))
    }

    /// Returns the number of bytes of all items.
    pub fn content_bytes(&self) -> u64 {
        self.inner.nbytes()
    }

    /// Returns the size on disk in bytes of all columns at the last commit.
    pub fn stored_bytes(&self) -> Result<u64> {
        self.inner.cbytes().map_err(Error)
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        self.inner.format()
    }

    /// Divides the rows into at most `n` ranges, as [`Array::splits`] does. They begin at chunks of
    /// the column with the largest stored size, and of the other columns as far as enough rows are
    /// the start of a chunk in each. [`Split::bytes`] is the sum of those of the columns.
    pub fn splits(&self, n: usize) -> Result<Vec<Split>> {
        self.inner.splits(n as u64).map_err(Error)
    }

    // ---- rows

    /// Reads rows of a column into `dst`, as [`Array::read`]. The column itself
    /// ([`Table::column`]) can also be read with a step.
    pub fn read<T: Element>(
        &self,
        column: &str,
        rows: impl RangeBounds<u64>,
        dst: &mut [T],
    ) -> Result<Integrity> {
        self.check::<T>(column)?;
        self.read_bytes(column, rows, element::bytes_mut(dst))
    }

    /// Reads the bytes of rows of a column, as [`Table::read`], of any dtype.
    pub fn read_bytes(
        &self,
        column: &str,
        rows: impl RangeBounds<u64>,
        dst: &mut [u8],
    ) -> Result<Integrity> {
        let (first, n) = first_and_count(&rows, self.rows());
        let column = self.index_for(column, n, dst.len())?;
        let read = self.inner.read_rows(column, (first, n, 1), dst);
        read.map(Integrity::of).map_err(Error)
    }

    /// Reads single rows of a column, in any order and with repetitions. Each chunk is decoded once.
    /// It fails as [`Array::read_points`] does.
    pub fn read_points<T: Element>(
        &self,
        column: &str,
        rows: &[u64],
        dst: &mut [T],
    ) -> Result<Integrity> {
        self.check::<T>(column)?;
        self.read_points_bytes(column, rows, element::bytes_mut(dst))
    }

    /// Reads the bytes of single rows of a column, as [`Table::read_points`], of any dtype.
    pub fn read_points_bytes(
        &self,
        column: &str,
        rows: &[u64],
        dst: &mut [u8],
    ) -> Result<Integrity> {
        let column = self.index_for(column, rows.len() as u64, dst.len())?;
        let read = self.inner.read_points(column, rows, dst);
        read.map(Integrity::of).map_err(Error)
    }

    /// Returns the numbers of the rows for which a predicate is true, in ascending order. It is a
    /// condition of SQL, such as `dep_delay > 60 and carrier in ('UA', 'AA')`: see
    /// `holdall_table_where` in the C header.
    ///
    /// It fails with [`Status::Argument`](crate::Status::Argument) if the predicate is malformed
    /// ([`Error::position`] is the byte) or there is no such column, with
    /// [`Status::Type`](crate::Status::Type) for values that cannot be compared, and with
    /// [`Status::Range`](crate::Status::Range) for an integer or time that the column cannot have.
    pub fn rows_where(
        &self,
        predicate: &str,
        rows: impl RangeBounds<u64>,
    ) -> Result<(Vec<u64>, Integrity)> {
        let (first, n) = first_and_count(&rows, self.rows());
        let selected = Predicate::parse(predicate)
            .and_then(|p| {
                self.inner
                    .select(&p, first..first.saturating_add(n), usize::MAX)
            })
            .map_err(Error)?;
        Ok((selected.rows, Integrity::of(selected.is_damaged)))
    }

    /// Returns for each row of a column whether it is null, or `None` if the column has no nulls. Only
    /// CTables have nulls; reads return what is stored in such rows.
    pub fn nulls(&self, column: &str, rows: impl RangeBounds<u64>) -> Result<Option<Vec<bool>>> {
        let (first, n) = first_and_count(&rows, self.rows());
        let column = self.inner.column_index(column).map_err(Error)?;
        self.inner.nulls(column, first, n).map_err(Error)
    }

    /// Returns the index of a column of which rows are read to a buffer.
    fn index_for(&self, column: &str, rows: u64, len: usize) -> Result<usize> {
        let index = self.inner.column_index(column).map_err(Error)?;
        if let Some(array) = self.column(column) {
            let row = array.shape().iter().skip(1).copied();
            check_buffer(iter::once(rows).chain(row), array.item_size(), len)?;
        }
        Ok(index)
    }

    fn check<T: Element>(&self, column: &str) -> Result<()> {
        self.column(column)
            .map_or(Ok(()), |array| element::check::<T>(array.inner.dtype()))
    }

    /// Appends rows. `values` has those of each column, in the order of the columns. On failure
    /// nothing is appended to any column.
    pub fn append(&mut self, rows: u64, values: &[Values<'_>]) -> Result<()> {
        let cells = self.checked(values)?;
        self.changed()?.append_cells(rows, &cells).map_err(Error)
    }

    /// Inserts `rows` rows before row `at`. `values` is that of [`Table::append`]. The following rows
    /// move: see `docs/commits.md` for the cost. On failure nothing is inserted. If only some columns
    /// could be changed, all further changes fail with [`Status::State`](crate::Status::State).
    pub fn insert(&mut self, at: u64, rows: u64, values: &[Values<'_>]) -> Result<()> {
        let cells = self.checked(values)?;
        self.changed()?
            .insert_cells(at, rows, &cells)
            .map_err(Error)
    }

    /// Removes `rows` rows from row `at` on. It fails as [`Table::insert`] does.
    pub fn remove(&mut self, at: u64, rows: u64) -> Result<()> {
        self.changed()?.remove(at, rows).map_err(Error)
    }

    /// Returns the values of the columns, or an error if numbers have another type than their column.
    fn checked<'v>(&self, values: &[Values<'v>]) -> Result<Vec<Cells<'v>>> {
        for (column, values) in self.inner.columns().iter().zip(values) {
            (values.check)(column.array.0.inner.dtype())?;
        }
        values.iter().map(Values::cells).collect()
    }

    /// Overwrites `rows` rows of a column from row `first` on. On failure, part of them may be
    /// written.
    pub fn write<'v>(
        &mut self,
        column: &str,
        first: u64,
        rows: u64,
        values: impl Into<Values<'v>>,
    ) -> Result<()> {
        let (index, values) = (self.inner.column_index(column), values.into());
        if let Some(array) = self.column(column) {
            (values.check)(array.inner.dtype())?;
        }
        let (index, cells) = (index.map_err(Error)?, values.cells()?);
        self.changed()?
            .write_cells(index, first, rows, &cells)
            .map_err(Error)
    }

    /// Removes the rows from row `rows` on.
    pub fn truncate(&mut self, rows: u64) -> Result<()> {
        self.changed()?.truncate(rows).map_err(Error)
    }

    // ---- columns

    /// Inserts a column before column `at`; the number of columns appends it. `values` has a value
    /// (or row of values) for each row of the table. On failure nothing is changed.
    ///
    /// The options are those of opening; codec, level and checksum default to those of the first
    /// column. It fails with [`Status::Exists`](crate::Status::Exists) if the name exists.
    pub fn add_column<'v>(
        &mut self,
        at: usize,
        name: &str,
        dtype: &str,
        values: impl Into<Values<'v>>,
    ) -> Result<()> {
        let (dtype, values) = (Dtype::parse_argument(dtype).map_err(Error)?, values.into());
        (values.check)(&dtype)?;
        let cells = values.cells()?;
        self.changed()?
            .column_add_cells(at, name, &dtype, Some(&cells))
            .map_err(Error)
    }

    /// Removes a column, which must not be the only one. The commit removes its files; their readers
    /// then fail with [`Status::Missing`](crate::Status::Missing).
    pub fn remove_column(&mut self, name: &str) -> Result<()> {
        self.changed()?.column_remove(name).map_err(Error)
    }

    // ---- indexes

    /// Adds indexes to columns of a CTable, `None`: to all whose values have an order: Booleans,
    /// integers, floats and times, one for each row. An index is the minimum and maximum of each block,
    /// which python-blosc2 reads, too. The next commit stores it, and further ones maintain it.
    /// Conditions then do not read blocks that cannot pass, see [`Table::scan`].
    ///
    /// It fails with [`Status::Unsupported`](crate::Status::Unsupported) for other tables and columns.
    pub fn build_index(&mut self, columns: Option<&[&str]>) -> Result<()> {
        let columns = columns.map(|columns| self.indices(columns)).transpose()?;
        self.changed()?
            .build_index(columns.as_deref())
            .map_err(Error)
    }

    // ---- Arrow

    /// Reads rows of all columns as Arrow record batches of `batch` rows (fewer over 2 GiB of text);
    /// 0: of about 16 MB, in whole chunks of the first column.
    ///
    /// Until the reader is dropped, changes of the table fail with
    /// [`Status::State`](crate::Status::State), and a table that was opened for changes stays
    /// locked. It fails with [`Status::Unsupported`](crate::Status::Unsupported) if a column has no
    /// Arrow type.
    pub fn to_arrow(&self, rows: impl RangeBounds<u64>, batch: u64) -> Result<ArrowReader> {
        self.arrow((0..self.inner.columns().len()).collect(), rows, batch)
    }

    /// Reads rows of these columns, in this order, as [`Table::to_arrow`] reads those of all
    /// columns.
    pub fn columns_to_arrow(
        &self,
        columns: &[&str],
        rows: impl RangeBounds<u64>,
        batch: u64,
    ) -> Result<ArrowReader> {
        self.arrow(self.indices(columns)?, rows, batch)
    }

    fn arrow(
        &self,
        columns: Vec<usize>,
        rows: impl RangeBounds<u64>,
        batch: u64,
    ) -> Result<ArrowReader> {
        let rows = first_and_count(&rows, self.rows());
        let source = self.selected(columns);
        let source = source.and_then(|columns| TableSource::range(columns, rows, batch));
        source.map(ArrowReader::new).map_err(Error)
    }

    fn selected(&self, columns: Vec<usize>) -> crate::error::Result<TableColumns<Column>> {
        TableColumns::new(self.inner.clone(), columns, self.arrow_options)
    }

    fn indices(&self, columns: &[&str]) -> Result<Vec<usize>> {
        let index = |name: &&str| self.inner.column_index(name).map_err(Error);
        columns.iter().map(index).collect()
    }

    /// Reads the columns and rows that a [`Scan`] describes, in ascending order of the rows, as
    /// [`Table::to_arrow`]. With a filter, the columns that it compares are read first, and others
    /// only where rows pass; a batch then has one row or more.
    ///
    /// It fails as [`Table::rows_where`] and [`Table::to_arrow`] do.
    pub fn scan(&self, scan: &Scan) -> Result<ArrowReader> {
        let columns = match &scan.columns {
            Some(names) => self.indices(&names.iter().map(String::as_str).collect::<Vec<_>>())?,
            None => (0..self.inner.columns().len()).collect(),
        };
        let rows = first_and_count(&scan.rows, self.rows());
        let predicate = scan.predicate.as_deref().map(Predicate::parse);
        let predicate = predicate.transpose().map_err(Error)?;
        let source = self.selected(columns).and_then(|columns| {
            TableSource::scan(columns, predicate.as_ref(), rows, scan.limit, scan.batch)
        });
        source.map(ArrowReader::new).map_err(Error)
    }

    /// Reads the rows with these numbers, in this order and with repetitions, as
    /// [`Table::columns_to_arrow`].
    ///
    /// It fails with [`Status::Range`](crate::Status::Range) if there is no such row
    /// ([`Error::position`] is its position in `rows`).
    pub fn points_to_arrow(
        &self,
        columns: &[&str],
        rows: &[u64],
        batch: u64,
    ) -> Result<ArrowReader> {
        let source = self.selected(self.indices(columns)?);
        let source = source.and_then(|columns| TableSource::numbers(columns, rows, batch));
        source.map(ArrowReader::new).map_err(Error)
    }

    /// Appends the rows of an Arrow stream. Its fields must be all columns of the table, by name, in
    /// any order. Every value must convert exactly; `docs/languages.md` lists the conversions. On
    /// failure nothing is appended.
    ///
    /// It fails with [`Status::Type`](crate::Status::Type) if columns or a value do not fit
    /// ([`Error::position`] is the row), with [`Status::Argument`](crate::Status::Argument) if the
    /// structures are inconsistent, and with [`Status::Callback`](crate::Status::Callback) and the
    /// message of the stream if it fails.
    pub fn append_arrow(&mut self, stream: ArrowArrayStream) -> Result<()> {
        self.changed()?.append_arrow(stream.0).map_err(Error)
    }

    // ---- metadata files

    /// Returns the names of further files in the folder `meta` of a table in the BLZ RFC layout, in
    /// order. Other tables have none: their columns do, see [`Array::meta_file_names`].
    pub fn meta_file_names(&self) -> Result<Vec<String>> {
        self.inner.meta_file_names().map_err(Error)
    }

    /// Reads such a file, as [`Array::meta_file`].
    pub fn meta_file(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.inner.meta_file(name).map_err(Error)
    }

    /// Sets the bytes of such a file, as [`Array::set_meta_file`]. Copies in the BLZ RFC layout
    /// include it. It fails with [`Status::Unsupported`](crate::Status::Unsupported) for other
    /// tables.
    pub fn set_meta_file(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let set = self.changed()?.meta_file_set(name, Some(bytes));
        set.map_err(Error)
    }

    /// Removes such a file, if it exists.
    pub fn remove_meta_file(&mut self, name: &str) -> Result<()> {
        self.changed()?.meta_file_set(name, None).map_err(Error)
    }

    /// Sets the bytes of such a file of a column, see [`Array::set_meta_file`]. It fails with
    /// [`Status::Unsupported`](crate::Status::Unsupported) in the BLZ RFC layout.
    pub fn set_column_meta_file(&mut self, column: &str, name: &str, bytes: &[u8]) -> Result<()> {
        self.column_meta_file(column, name, Some(bytes))
    }

    /// Removes such a file of a column, if it exists.
    pub fn remove_column_meta_file(&mut self, column: &str, name: &str) -> Result<()> {
        self.column_meta_file(column, name, None)
    }

    fn column_meta_file(&mut self, column: &str, name: &str, bytes: Option<&[u8]>) -> Result<()> {
        let column = self.inner.column_index(column).map_err(Error)?;
        let set = self.changed()?.column_meta_file_set(column, name, bytes);
        set.map_err(Error)
    }

    // ---- attributes

    /// Returns the names of the attributes of the table. Columns have their own.
    pub fn attribute_names(&self) -> Vec<&str> {
        self.inner.attrs().names()
    }

    /// Returns an attribute as JSON, or `None` if it does not exist.
    pub fn attribute(&self, name: &str) -> Result<Option<&[u8]>> {
        self.inner.attrs().get(name).map_err(Error)
    }

    /// Sets an attribute to a value in JSON.
    pub fn set_attribute(&mut self, name: &str, json: &[u8]) -> Result<()> {
        self.changed()?.attr_set(name, Some(json)).map_err(Error)
    }

    /// Removes an attribute, if it exists.
    pub fn remove_attribute(&mut self, name: &str) -> Result<()> {
        self.changed()?.attr_set(name, None).map_err(Error)
    }

    /// Sets an attribute of a column to a value in JSON. [`Array::attribute`] reads it. It fails
    /// with [`Status::Unsupported`](crate::Status::Unsupported) in the BLZ RFC layout.
    pub fn set_column_attribute(&mut self, column: &str, name: &str, json: &[u8]) -> Result<()> {
        self.column_attribute(column, name, Some(json))
    }

    /// Removes an attribute of a column, if it exists.
    pub fn remove_column_attribute(&mut self, column: &str, name: &str) -> Result<()> {
        self.column_attribute(column, name, None)
    }

    fn column_attribute(&mut self, column: &str, name: &str, json: Option<&[u8]>) -> Result<()> {
        let column = self.inner.column_index(column).map_err(Error)?;
        let set = self.changed()?.column_attr_set(column, name, json);
        set.map(|_| ()).map_err(Error)
    }

    // ---- the whole table

    /// Makes all changes durable and visible, of all columns together.
    pub fn commit(&mut self) -> Result<()> {
        let table = self.changed()?;
        table.commit().map_err(Error)?;
        table
            .columns_mut()
            .for_each(|column| column.0.follower.generation += 1);
        self.follower.generation += 1;
        Ok(())
    }

    /// Returns a range of rows as a read-only table, which shares the files. It has the attributes
    /// of this table. While it exists, this table cannot be changed
    /// ([`Status::State`](crate::Status::State)).
    ///
    /// ```
    /// # use holdall::{Format, Options, Table, Values};
    /// # let name = format!("holdall-doc-rows-{}.bcolz", std::process::id());
    /// # let path = std::env::temp_dir().join(name);
    /// # let columns = [("day", "<i4"), ("code", "|S3")];
    /// # let mut table = Table::replace(&path, Format::Bcolz, &columns, &Options::new())?;
    /// # table.append(3, &[Values::from(&[1, 2, 3][..]), Values::bytes(b"EWRJFKLGA")])?;
    /// # table.commit()?;
    /// let codes = table.slice(1..)?.select(&["code"])?;
    /// assert_eq!((codes.rows(), codes.column_names().count()), (2, 1));
    /// # let path_of_copy = path.with_extension("copy");
    /// codes.copy_replacing(&path_of_copy, Format::Bcolz, &Options::new())?;
    /// # std::fs::remove_dir_all(path)?;
    /// # std::fs::remove_dir_all(path_of_copy)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice(&self, rows: impl RangeBounds<u64>) -> Result<Table> {
        let (first, n) = first_and_count(&rows, self.rows());
        self.strided(first, 1, n)
    }

    /// Returns the `n` rows `start`, `start + step`, ..., as [`Table::slice`] does. `step` may be
    /// negative.
    pub fn strided(&self, start: u64, step: i64, n: u64) -> Result<Table> {
        self.view((start, n, step), None)
    }

    /// Returns some columns, in any order, as [`Table::slice`] returns some rows.
    pub fn select(&self, columns: &[&str]) -> Result<Table> {
        let indices = columns.iter().map(|name| self.inner.column_index(name));
        let indices = indices
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(Error)?;
        self.view((0, self.rows(), 1), Some(&indices))
    }

    fn view(&self, (start, n, step): (u64, u64, i64), columns: Option<&[usize]>) -> Result<Table> {
        let view = self.inner.slice(start, n, step, columns);
        let columns = view.and_then(|table| table.map(|array| Ok(Column::from(array))));
        Ok(Table {
            inner: Arc::new(columns.map_err(Error)?),
            arrow_options: self.arrow_options,
            follower: Follower::default(),
        })
    }

    /// Copies the table in its current state, with the attributes of table and columns, to a new
    /// table, which must not exist. The copy appears complete or not at all.
    pub fn copy_to(
        &self,
        location: impl Into<Location>,
        format: Format,
        options: &Options,
    ) -> Result<Integrity> {
        self.copy(location.into(), Mode::New, format, options)
    }

    /// Copies the table as [`Table::copy_to`] does. The copy replaces an existing table of the same
    /// layout.
    pub fn copy_replacing(
        &self,
        location: impl Into<Location>,
        format: Format,
        options: &Options,
    ) -> Result<Integrity> {
        self.copy(location.into(), Mode::Replace, format, options)
    }

    fn copy(
        &self,
        location: Location,
        mode: Mode,
        format: Format,
        options: &Options,
    ) -> Result<Integrity> {
        let options = options.get()?;
        let filled = location.with_target(|to| self.inner.copy(to, mode, format, options))?;
        Ok(Integrity::of(filled))
    }
}

/// Rows of one column for [`Table::append`] and other calls that write: a slice of numbers, whose
/// type must be that of the column, bytes, or texts. It is `Send`, `Sync` and `Copy`.
///
/// ```
/// use holdall::Values;
///
/// let numbers = Values::from(&[1.5f32, 2.5]);
/// let codes = Values::bytes(b"EWRJFK"); // two rows of dtype |S3
/// let texts = Values::from(&["Newark", "New York"]); // of dtype T
/// let some = Values::from(&[Some("Newark"), None]); // the second row is null
/// ```
#[derive(Clone, Copy)]
pub struct Values<'a> {
    rows: RowValues<'a>,
    check: fn(&Dtype) -> Result<()>,
}

/// What the values are.
#[derive(Clone, Copy)]
enum RowValues<'a> {
    Items(&'a [u8]),
    Texts(&'a [&'a str]),
    SomeTexts(&'a [Option<&'a str>]),
    SomeBytes(&'a [Option<&'a [u8]>]),
}

impl<'a> Values<'a> {
    /// Returns rows of any dtype: their items, packed, in C order.
    pub fn bytes(bytes: &'a [u8]) -> Values<'a> {
        Values::of(RowValues::Items(bytes))
    }

    fn of(rows: RowValues<'a>) -> Values<'a> {
        Values {
            rows,
            check: |_| Ok(()),
        }
    }

    fn cells(&self) -> Result<Cells<'a>> {
        let cells = match self.rows {
            RowValues::Items(items) => return Ok(Cells::of_items(items)),
            RowValues::Texts(texts) => {
                Cells::of_values(texts.iter().map(|text| Some(text.as_bytes())))
            }
            RowValues::SomeTexts(texts) => {
                Cells::of_values(texts.iter().map(|text| text.map(str::as_bytes)))
            }
            RowValues::SomeBytes(values) => Cells::of_values(values.iter().copied()),
        };
        cells.map_err(Error)
    }
}

impl<'a> From<&'a [&'a str]> for Values<'a> {
    /// Returns texts of any length, of dtype `T`.
    fn from(texts: &'a [&'a str]) -> Values<'a> {
        Values::of(RowValues::Texts(texts))
    }
}

impl<'a, const N: usize> From<&'a [&'a str; N]> for Values<'a> {
    fn from(texts: &'a [&'a str; N]) -> Values<'a> {
        Values::from(&texts[..])
    }
}

impl<'a> From<&'a [Option<&'a str>]> for Values<'a> {
    /// Returns texts of any length, of dtype `T`. `None` is a null.
    fn from(texts: &'a [Option<&'a str>]) -> Values<'a> {
        Values::of(RowValues::SomeTexts(texts))
    }
}

impl<'a, const N: usize> From<&'a [Option<&'a str>; N]> for Values<'a> {
    fn from(texts: &'a [Option<&'a str>; N]) -> Values<'a> {
        Values::from(&texts[..])
    }
}

impl<'a> From<&'a [Option<&'a [u8]>]> for Values<'a> {
    /// Returns the values of a column of bytes of any length, or of lists and structures, each in
    /// MessagePack. `None` is a null.
    fn from(values: &'a [Option<&'a [u8]>]) -> Values<'a> {
        Values::of(RowValues::SomeBytes(values))
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for Values<'a> {
    fn from(numbers: &'a [T; N]) -> Values<'a> {
        Values::from(&numbers[..])
    }
}

impl<'a, T: Element> From<&'a [T]> for Values<'a> {
    fn from(numbers: &'a [T]) -> Values<'a> {
        Values {
            rows: RowValues::Items(element::bytes(numbers)),
            check: element::check::<T>,
        }
    }
}
