//! The C functions for tables.

use super::array::{
    attr_value, c_names, destination, give_bytes, give_file, give_names, holdall_array,
    holdall_value, new_location, text, utf8,
};
use super::bag::give_splits;
use super::constants::{format, format_number, mode};
use super::container::{holdall_format, holdall_mode, wrong_kind};
use super::guard::*;
use super::options::{chosen, holdall_options};
use super::storage::{Target, opened_from, target, target_of};
use super::structs::{read_struct, structure, write_struct};
use crate::arrow::export::ExportOptions;
use crate::dtype::{Dtype, Kind as ItemKind};
use crate::error::{Result, fail};
use crate::format::{Format, Kind};
use crate::options::Options;
use crate::progress::{Progress, Step, measured};
use crate::store::{NodeLocation, StoreHandle};
use crate::superchunk::bloscpack::Mode;
use crate::table::{self, Cells, Predicate, Table};
use crate::watch::{Reopen, Watch, reopened};
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// An open table: named columns of equal length, each an array. The tool makes tables of CSV files:
/// holdall convert trips.csv trips.bcolz.
pub struct holdall_table {
    broken: AtomicBool,
    /// Shared with the Arrow streams that read it.
    pub(super) inner: Arc<Table<holdall_array>>,
    /// The options of the conversion to Arrow.
    pub(super) arrow_options: ExportOptions,
    /// Names of the columns.
    columns: Vec<CString>,
    /// Names of the attributes.
    names: Vec<CString>,
    /// The number of commits through this handle.
    generation: u64,
    /// For reading: what it was opened from, with the options.
    source: Option<Reopen>,
}
handle!(holdall_table);

const fn shared<T: Send + Sync>() {}
const _: () = shared::<holdall_table>();

/// Describes a new table.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct holdall_table_spec {
    /// sizeof(holdall_table_spec).
    pub struct_size: usize,
    /// column_count names: UTF-8, unique, valid as folder names: no slash, not "", ".", ".." or a
    /// file of the table.
    pub names: *const *const c_char,
    /// column_count dtypes: see holdall_array_spec; "('<f4', (3,))" gives rows of that shape; "T" is
    /// text of any length, of which any may be null, only in HOLDALL_FORMAT_CTABLE.
    pub dtypes: *const *const c_char,
    /// HOLDALL_FORMAT_BCOLZ, _BLZ, _BLZ_RFC or _CTABLE.
    pub format: holdall_format,
    /// Number of columns, 1 or more.
    pub column_count: u32,
}
structure!(holdall_table_spec);

/// What is known about a table.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct holdall_table_info {
    /// sizeof(holdall_table_info).
    pub struct_size: usize,
    /// Number of rows.
    pub row_count: u64,
    /// Bytes of all items.
    pub nbytes: u64,
    /// Sum of holdall_array_info::stored_bytes of the columns.
    pub stored_bytes: u64,
    /// See base.h.
    pub generation: u64,
    /// HOLDALL_FORMAT_BCOLZ, _BLZ, _BLZ_RFC or _CTABLE.
    pub format: holdall_format,
    /// Number of columns.
    pub column_count: u32,
    /// Number of attributes.
    pub attr_count: u32,
    /// 0.
    pub reserved: u32,
}
structure!(holdall_table_info);

/// Returns the handle of a table that `open` opens or creates with these options.
pub(super) fn table_handle(
    mut options: Options,
    open: impl FnOnce(&Options) -> Result<Table>,
) -> Result<holdall_table> {
    let arrow_options = ExportOptions::take(&mut options);
    handle_of(open(&options)?, arrow_options)
}

fn handle_of(table: Table, arrow_options: ExportOptions) -> Result<holdall_table> {
    let inner = Arc::new(table.map(|array| Ok(holdall_array::from(array)))?);
    let mut table = holdall_table {
        broken: AtomicBool::new(false),
        inner,
        arrow_options,
        columns: Vec::new(),
        names: Vec::new(),
        generation: 0,
        source: None,
    };
    table.name_all();
    Ok(table)
}

impl holdall_table {
    /// Returns the table for a change, or an error while a stream reads it: a stream must not see
    /// changes.
    pub(super) fn changed(&mut self) -> Result<&mut Table<holdall_array>> {
        table::exclusive(&mut self.inner)
    }

    /// Updates the lists of names after columns or attributes have changed.
    fn name_all(&mut self) {
        // The name of a column is the name of a folder, which cannot contain a NUL.
        self.columns = self
            .inner
            .columns()
            .iter()
            .map(|c| CString::new(c.name.as_str()).unwrap_or_default())
            .collect();
        self.names = c_names(self.inner.attrs().names());
    }

    fn info(&self) -> Result<holdall_table_info> {
        Ok(holdall_table_info {
            struct_size: size_of::<holdall_table_info>(),
            row_count: self.inner.rows(),
            nbytes: self.inner.nbytes(),
            stored_bytes: self.inner.cbytes()?,
            generation: self.generation,
            format: format_number(self.inner.format()),
            column_count: self.columns.len() as u32,
            attr_count: self.names.len() as u32,
            reserved: 0,
        })
    }
}

/// Opens a table, a folder of bcolz, BLZ or the BLZ RFC layout with separate fields, at its last
/// commit, or a CTable (docs/stores.md). mode: HOLDALL_READ, HOLDALL_APPEND. It is as long as its shortest column; the next
/// commit removes excess rows (holdall_table_column_row_count()).
///
/// Returns:
/// - HOLDALL_E_BUSY: also if another writer has a column open.
/// - HOLDALL_E_MISSING, _FORMAT: a column is missing or corrupt (see the message), or its name
///   leads out of the folder.
/// - HOLDALL_E_UNSUPPORTED: HOLDALL_APPEND, and a column has Python objects, or values that a CTable
///   only reads.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_open(
    path: *const c_char,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let (from, mode) = (target(path, options)?, self::mode(mode)?);
            let from_here = || opened_from(path, options, Watch::path);
            let source = (mode == Mode::Read).then(from_here).transpose()?;
            let table = table_handle(chosen(options), |o| open_target(from, mode, o))?;
            Ok(holdall_table { source, ..table })
        })
    })
}

/// Opens a node of a store.
pub(super) fn open_node(
    store: &StoreHandle,
    node: &str,
    mode: Mode,
    options: &Options,
) -> Result<Table> {
    if mode == Mode::Read {
        return Table::open_node(&*store.current()?, node, mode, options);
    }
    match store.locate(node, mode)? {
        NodeLocation::Path(path) => Table::open(&path, mode, options),
        NodeLocation::Folder(folder) => Table::open_in(&folder, mode, options),
    }
}

fn open_target(from: Target, mode: Mode, options: &Options) -> Result<Table> {
    match from {
        Target::Path(path) => {
            Table::open(path, mode, options).map_err(|e| wrong_kind(path, Kind::Table, e))
        }
        Target::Storage(folder) => Table::open_in(&folder, mode, options),
    }
}

/// Returns names and dtypes of the new columns.
fn columns<'a>(spec: &holdall_table_spec) -> Result<Vec<(&'a str, Dtype)>> {
    let n = spec.column_count as usize;
    let both =
        slice(spec.names, n, "spec->names")?
            .iter()
            .zip(slice(spec.dtypes, n, "spec->dtypes")?);
    let column = |(name, dtype): (&*const c_char, &*const c_char)| {
        let name = utf8(*name, "name")?;
        let dtype = utf8(*dtype, "dtype")
            .and_then(Dtype::parse_argument)
            .map_err(|e| e.within(format_args!("column {name:?}")))?;
        Ok((name, dtype))
    };
    both.map(column).collect()
}

/// Returns the format of a new table.
pub(super) fn table_format(constant: holdall_format) -> Result<Format> {
    match format(constant)? {
        format @ (Format::Bcolz | Format::Blz | Format::BlzRfc | Format::CTable) => Ok(format),
        _ => Err(fail!(
            Unsupported,
            "format: not a format of tables (expected HOLDALL_FORMAT_BCOLZ, _BLZ, _BLZ_RFC or \
             _CTABLE, found {constant})"
        )),
    }
}

/// Creates a table without rows and opens it for changes. Options apply to all columns.
///
/// - mode: HOLDALL_CREATE, or HOLDALL_REPLACE: the first commit replaces a table of the same
///   layout.
/// - spec->format: see docs/choosing.md. The path of HOLDALL_FORMAT_CTABLE ends in ".b2d".
/// - Set HOLDALL_OPT_EXPECTED_ROWS: without it chunks have 16 KiB (_BLZ: 4 KiB, _CTABLE: 65,536 rows).
///
/// Returns:
/// - HOLDALL_E_EXISTS: the path exists, or a name is repeated.
/// - HOLDALL_E_ARGUMENT: no columns, or an invalid name.
/// - HOLDALL_E_TYPE: unknown dtype.
/// - HOLDALL_E_UNSUPPORTED: a dtype that the format does not have, or another format.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_create(
    path: *const c_char,
    mode: holdall_mode,
    spec: *const holdall_table_spec,
    options: *const holdall_options,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let spec = read_struct(spec, "spec")?;
            let (to, mode) = (target(path, options)?, self::mode(mode)?);
            let (format, columns) = (table_format(spec.format)?, columns(&spec)?);
            table_handle(chosen(options), |o| match &to {
                Target::Path(path) => Table::create(path, mode, format, &columns, o),
                Target::Storage(folder) => Table::create_in(folder, mode, format, &columns, o),
            })
        })
    })
}

/// Closes a table and its columns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_close(table: *mut holdall_table) {
    take_back(table);
}

/// Returns the number of rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_row_count(table: *const holdall_table) -> u64 {
    field(table, 0, |t| t.inner.rows())
}

/// Returns the number of columns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_column_count(table: *const holdall_table) -> u32 {
    field(table, 0, |t| t.columns.len() as u32)
}

/// Returns the name of column i, or NULL past the last. Borrowed until the table is closed or a
/// column is added or removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_column_name(
    table: *const holdall_table,
    i: u32,
) -> *const c_char {
    field(table, std::ptr::null(), |t| {
        t.columns
            .get(i as usize)
            .map_or(std::ptr::null(), |n| n.as_ptr())
    })
}

/// Returns column i as an array, or NULL past the last. Borrowed like its name. Changing it is
/// HOLDALL_E_STATE: change the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_column(
    table: *const holdall_table,
    i: u32,
) -> *const holdall_array {
    field(table, std::ptr::null(), |t| t.column(i as usize))
}

impl holdall_table {
    fn column(&self, i: usize) -> *const holdall_array {
        let column = self.inner.columns().get(i);
        column.map_or(std::ptr::null(), |c| &raw const c.array)
    }
}

/// Returns the column of this name as holdall_table_column() does, or NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_find_column(
    table: *const holdall_table,
    name: *const c_char,
) -> *const holdall_array {
    guard_value(std::ptr::null(), || {
        let (table, name) = (borrow(table), text(name).ok().flatten());
        table.zip(name).map_or(std::ptr::null(), |(t, name)| {
            let found = t.inner.find_column(name);
            found.map_or(std::ptr::null(), |i| t.column(i))
        })
    })
}

/// Returns the rows in the files of column i at the last commit; 0 for newer columns. More than the
/// table has if a writer was interrupted between columns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_column_row_count(
    table: *const holdall_table,
    i: u32,
) -> u64 {
    field(table, 0, |t| {
        t.inner
            .columns()
            .get(i as usize)
            .map_or(0, |c| c.stored_rows)
    })
}

/// Gets information about a table.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_get_info(
    table: *const holdall_table,
    info: *mut holdall_table_info,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(table), err, |t| {
        write_struct(info, "info", t.info()?)
    })
}

/// Divides the rows as holdall_array_splits() does. The ranges begin at chunks of the column with the
/// largest stored size, and of the other columns as far as enough rows are the start of a chunk in
/// each. bytes[i]: of all columns.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_splits(
    table: *const holdall_table,
    most: usize,
    firsts: *mut u64,
    counts: *mut u64,
    bytes: *mut u64,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(table), err, |t| {
        give_splits(most, [firsts, counts, bytes], n, |most| {
            t.inner.splits(most)
        })
    })
}

/// Returns the indices of the columns that a caller names: all if `names` is NULL.
pub(super) fn columns_of(
    table: &Table<holdall_array>,
    column_count: u32,
    names: *const *const c_char,
) -> Result<Vec<usize>> {
    let (n, have) = (column_count as usize, table.columns().len());
    if !names.is_null() {
        let names = slice(names, n, "names")?.iter();
        return names
            .map(|name| table.column_index(utf8(*name, "names")?))
            .collect();
    }
    if n != have {
        return Err(fail!(
            Argument,
            "column_count: {n} (expected {have}, all columns, because names is NULL)"
        ));
    }
    Ok((0..n).collect())
}

/// The columns that a caller reads: their indices, and one buffer for each.
struct Requested<'a> {
    columns: Vec<usize>,
    progress: Option<Progress>,
    dsts: &'a [*mut c_void],
    dst_sizes: &'a [usize],
}

impl<'a> Requested<'a> {
    fn new(
        table: &Table<holdall_array>,
        column_count: u32,
        names: *const *const c_char,
        dsts: *const *mut c_void,
        dst_sizes: *const usize,
    ) -> Result<Requested<'a>> {
        let n = column_count as usize;
        Ok(Requested {
            columns: columns_of(table, column_count, names)?,
            progress: table.progress(),
            dsts: slice(dsts, n, "dsts")?,
            dst_sizes: slice(dst_sizes, n, "dst_sizes")?,
        })
    }

    /// Calls `read` with each column and its buffer. Returns whether corrupt content was skipped.
    fn read_each(&self, read: impl Fn(usize, &mut [u8]) -> Result<bool>) -> Result<bool> {
        let total = self.dst_sizes.iter().map(|size| *size as u64).sum();
        measured(self.progress.clone(), total, Step::Decode, || {
            let mut skipped = false;
            let buffers = self.dsts.iter().zip(self.dst_sizes);
            for (column, (dst, size)) in self.columns.iter().zip(buffers) {
                skipped |= read(*column, destination(*dst, *size)?)?;
            }
            Ok(skipped)
        })
    }
}

/// Reads the rows start, start + step, ... (count of them) of some columns.
///
/// - names: column_count names of columns; NULL: all columns, in order, and column_count must be
///   their number.
/// - dsts[i], dst_sizes[i]: a buffer for the items of column i.
///
/// Returns:
/// - HOLDALL_DAMAGED, others: as holdall_array_read().
/// - HOLDALL_E_ARGUMENT: step is 0.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_read_rows(
    table: *const holdall_table,
    start: u64,
    count: u64,
    step: u64,
    column_count: u32,
    names: *const *const c_char,
    dsts: *const *mut c_void,
    dst_sizes: *const usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(table), err, |t| {
        let table = &t.inner;
        Requested::new(table, column_count, names, dsts, dst_sizes)?
            .read_each(|column, dst| table.read_rows(column, (start, count, step), dst))
            .map(or_skipped)
    })
}

/// Sets nulls[i] to 1 if row start + i of a column is null, otherwise to 0, for count rows. Only
/// CTables have nulls. Reads return what is stored in such rows; Arrow has them as nulls.
///
/// Returns:
/// - HOLDALL_NOT_FOUND: the column has no nulls; all are 0.
/// - HOLDALL_E_RANGE: as holdall_table_read_rows().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_read_nulls(
    table: *const holdall_table,
    column: *const c_char,
    start: u64,
    count: usize,
    nulls: *mut u8,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(table), err, |t| {
        let table = &t.inner;
        let column = table.column_index(utf8(column, "column")?)?;
        let end = start.checked_add(count as u64);
        if end.is_none_or(|end| end > table.rows()) {
            return Err(fail!(
                Range,
                "rows {start} to {} exceed the table (there are {})",
                start.saturating_add(count as u64),
                table.rows()
            ));
        }
        let nulls = filled(nulls, count, 0, "nulls")?;
        let Some(found) = table.nulls(column, start, count as u64)? else {
            return Ok(HOLDALL_NOT_FOUND);
        };
        for (null, found) in nulls.iter_mut().zip(found) {
            *null = found.into();
        }
        Ok(HOLDALL_OK)
    })
}

/// Reads n rows of some columns, in any order, repeats allowed. names, dsts and dst_sizes: as for
/// holdall_table_read_rows().
///
/// Returns:
/// - HOLDALL_E_RANGE: a row (err->position: which of rows) is past the last.
/// - others: as holdall_table_read_rows().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_read_points(
    table: *const holdall_table,
    rows: *const u64,
    n: usize,
    column_count: u32,
    names: *const *const c_char,
    dsts: *const *mut c_void,
    dst_sizes: *const usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(table), err, |t| {
        let (table, rows) = (&t.inner, slice(rows, n, "rows")?);
        Requested::new(table, column_count, names, dsts, dst_sizes)?
            .read_each(|column, dst| table.read_points(column, rows, dst))
            .map(or_skipped)
    })
}

/// Finds the rows from *start to end for which a predicate is true: stores at most `capacity`
/// numbers in rows, ascending. *start becomes the first row that was not tested.
/// - predicate, as in SQL: `delay > 60 and not (carrier in ('UA', 'AA') or "x y" is null)`. Tests:
///   = <> < <= > >=, between A and B, starts_with(name, 'A'), contains(name, 'A'), a Boolean alone.
///   Constants: numbers, nan, inf, true, 'texts', 'times' (2013-01-31T05:30:00.5).
/// - As in DuckDB, comparisons with null are neither true nor false, NaN is the greatest number,
///   texts compare by bytes of UTF-8. For floats, constants are rounded.
///
/// Returns:
/// - HOLDALL_DAMAGED: corrupt values were tested as zeros.
/// - HOLDALL_E_ARGUMENT: a malformed predicate (err->position: the byte); no such column.
/// - HOLDALL_E_TYPE: values that cannot be compared with this constant.
/// - HOLDALL_E_RANGE: a constant that the column cannot have; a row past the last.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_where(
    table: *const holdall_table,
    predicate: *const c_char,
    start: *mut u64,
    end: u64,
    rows: *mut u64,
    capacity: usize,
    count: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(table), err, |t| {
        let (start, count) = (required(start, "start")?, required(count, "count")?);
        *count = 0;
        let predicate = Predicate::parse(utf8(predicate, "predicate")?)?;
        if capacity == 0 && *start < end {
            return Err(fail!(Argument, "capacity is 0 (expected 1 or more)"));
        }
        check_room(rows, capacity, "rows")?;
        let selected = t.inner.select(&predicate, *start..end, capacity)?;
        let found = filled(rows, selected.rows.len(), 0, "rows")?;
        found.copy_from_slice(&selected.rows);
        (*start, *count) = (selected.next, selected.rows.len());
        Ok(or_skipped(selected.is_damaged))
    })
}

/// Opens the count rows start, start + step, ... of some columns as a read-only table that shares
/// the files. step may be negative. names, column_count: as for holdall_table_read_rows(). Rules and
/// errors as of holdall_array_slice().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_slice(
    table: *const holdall_table,
    start: u64,
    count: u64,
    step: i64,
    column_count: u32,
    names: *const *const c_char,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(table), err, |t| {
        give(out, || {
            let columns = columns_of(&t.inner, column_count, names)?;
            let view = t.inner.slice(start, count, step, Some(&columns))?;
            handle_of(view, t.arrow_options)
        })
    })
}

/// Copies the table or slice, as this handle sees it, to a new table of any format: rows, columns,
/// and attributes. The copy appears complete or not at all. path, mode, format: as for
/// holdall_table_create(); docs/choosing.md has the defaults.
///
/// Returns:
/// - HOLDALL_DAMAGED: as holdall_schunk_copy().
/// - HOLDALL_E_UNSUPPORTED: Python objects; attributes or further files in meta of columns in
///   HOLDALL_FORMAT_BLZ_RFC, and those files of the table in other formats; a codec or filter that
///   HOLDALL_FORMAT_BLZ does not have: set another one.
/// - others: as holdall_table_create(), holdall_table_read_rows(), holdall_table_commit().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_copy(
    table: *const holdall_table,
    path: *const c_char,
    mode: holdall_mode,
    format: holdall_format,
    options: *const holdall_options,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(table), err, |t| {
        let (to, mode, options) = (target(path, options)?, self::mode(mode)?, chosen(options));
        let format = table_format(format)?;
        t.inner
            .copy(new_location(&to), mode, format, &options)
            .map(or_skipped)
    })
}

/// Gets the names of the further files in the folder meta of a table in the BLZ RFC layout, as
/// holdall_array_meta_file_names() does. Other tables have none: their columns do.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_meta_file_names(
    table: *const holdall_table,
    dst: *mut c_char,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(table), err, |t| {
        give_names(&t.inner.meta_file_names()?, dst, dst_size, n)
    })
}

/// Reads such a file. Returns as holdall_array_meta_file_read().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_meta_file_read(
    table: *const holdall_table,
    name: *const c_char,
    dst: *mut c_void,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(table), err, |t| {
        let found = t.inner.meta_file(utf8(name, "name")?)?;
        give_file(found.as_deref(), dst, dst_size, n)
    })
}

/// Sets or removes such a file, as holdall_array_meta_file_write(). holdall_table_copy() to the BLZ
/// RFC layout includes it.
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: other tables.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_meta_file_write(
    table: *mut holdall_table,
    name: *const c_char,
    value: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let (name, value) = (utf8(name, "name")?, attr_value(value, n)?);
        t.changed()?.meta_file_set(name, value)
    })
}

/// Returns the number of attributes of the table. Columns have their own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_attr_count(table: *const holdall_table) -> u32 {
    field(table, 0, |t| t.names.len() as u32)
}

/// Returns the name of attribute i.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_attr_name(
    table: *const holdall_table,
    i: u32,
) -> *const c_char {
    field(table, std::ptr::null(), |t| {
        t.names
            .get(i as usize)
            .map_or(std::ptr::null(), |n| n.as_ptr())
    })
}

/// Gets an attribute, JSON. Returns as holdall_array_attr_get().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_attr_get(
    table: *const holdall_table,
    name: *const c_char,
    value: *mut *const c_void,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(table), err, |t| {
        give_bytes(
            text(name)?.map_or(Ok(None), |name| t.inner.attrs().get(name))?,
            value,
            n,
        )
    })
}

/// Sets an attribute to n bytes of JSON.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: invalid JSON.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_attr_set(
    table: *mut holdall_table,
    name: *const c_char,
    value: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let value = attr_value(value, n)?;
        t.changed()?.attr_set(utf8(name, "name")?, value)?;
        t.name_all();
        Ok(())
    })
}

/// Sets or removes an attribute of a column, as holdall_table_attr_set(). holdall_array_attr_get()
/// reads it.
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: HOLDALL_FORMAT_BLZ_RFC.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_column_attr_set(
    table: *mut holdall_table,
    column: *const c_char,
    name: *const c_char,
    value: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let value = attr_value(value, n)?;
        let column = t.inner.column_index(utf8(column, "column")?)?;
        t.changed()?
            .column_attr_set(column, utf8(name, "name")?, value)?
            .name_all();
        Ok(())
    })
}

/// Appends rows. columns[i]: `count` rows of column i, sizes[i] bytes, for every column: items, or
/// holdall_value for a column of values of any length (itemsize 0), which are copied. After an error
/// nothing is appended to any column.
///
/// Returns:
/// - HOLDALL_E_TYPE: a null for a column without nulls, text that is not UTF-8, or MessagePack of
///   another type (err->position: which value).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_append(
    table: *mut holdall_table,
    count: u64,
    columns: *const *const c_void,
    sizes: *const usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let columns = rows_of(t, columns, sizes)?;
        t.changed()?.append_cells(count, &columns)
    })
}

/// Returns the values that a caller gives for each column.
fn rows_of<'a>(
    table: &mut holdall_table,
    columns: *const *const c_void,
    sizes: *const usize,
) -> Result<Vec<Cells<'a>>> {
    table.changed()?.check_writable()?;
    let n = table.columns.len();
    let all = slice(columns, n, "columns")?
        .iter()
        .zip(slice(sizes, n, "sizes")?);
    all.zip(table.inner.columns())
        .map(|((src, size), column)| {
            let has_values = column.array.as_ref().store().has_objects();
            cells_of(*src, *size, has_values, "a column")
        })
        .collect()
}

/// Returns the values of `size` bytes at `src`: structures of values of any length, or items.
fn cells_of<'a>(
    src: *const c_void,
    size: usize,
    has_values: bool,
    what: &str,
) -> Result<Cells<'a>> {
    if !has_values {
        return slice(src.cast::<u8>(), size, what).map(Cells::of_items);
    }
    if !size.is_multiple_of(size_of::<holdall_value>()) {
        return Err(fail!(
            Argument,
            "{what}: {size} bytes are no array of holdall_value ({} bytes each)",
            size_of::<holdall_value>()
        ));
    }
    let values = slice::<holdall_value>(src.cast(), size / size_of::<holdall_value>(), what)?;
    let mut bytes = Vec::with_capacity(values.len());
    for value in values {
        bytes.push(match value.data.is_null() {
            true => None,
            false => Some(slice(value.data.cast::<u8>(), value.size, what)?),
        });
    }
    Cells::of_values(bytes.into_iter())
}

/// Inserts `count` rows before row start: columns, sizes as for holdall_table_append(). Later rows
/// move: see docs/commits.md. After an error nothing is inserted.
///
/// Returns:
/// - HOLDALL_E_RANGE: start is past the end.
/// - HOLDALL_E_UNSUPPORTED: a column of Python objects.
/// - others: if only some columns could be changed, all further changes return HOLDALL_E_STATE.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_insert(
    table: *mut holdall_table,
    start: u64,
    count: u64,
    columns: *const *const c_void,
    sizes: *const usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let columns = rows_of(t, columns, sizes)?;
        t.changed()?.insert_cells(start, count, &columns)
    })
}

/// Removes `count` rows from row start on. Later rows move. After an error nothing is removed.
/// Returns as holdall_table_insert().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_remove(
    table: *mut holdall_table,
    start: u64,
    count: u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        t.changed()?.remove(start, count)
    })
}

/// Overwrites `count` rows of a column from row start on, given as for holdall_table_append().
/// Returns as holdall_array_write() and holdall_table_append().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_write(
    table: *mut holdall_table,
    column: *const c_char,
    start: u64,
    count: u64,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        t.changed()?.check_writable()?;
        let column = t.inner.column_index(utf8(column, "column")?)?;
        let found = t.inner.columns().get(column);
        let has_values = found.is_some_and(|c| c.array.as_ref().store().has_objects());
        let cells = cells_of(src, src_size, has_values, "src")?;
        t.changed()?.write_cells(column, start, count, &cells)
    })
}

/// Inserts a column before column `at`; the number of columns appends it. name, dtype: see
/// holdall_table_spec. src: an item (or row, or holdall_value) per row of the table, or NULL for the
/// fill value in each row; holdall_table_write() then writes in parts. Options are those of opening; codec, level
/// and checksum default to the first column's. After an error nothing is changed.
///
/// Returns:
/// - HOLDALL_E_EXISTS: the name exists.
/// - HOLDALL_E_ARGUMENT: an invalid name.
/// - HOLDALL_E_TYPE: unknown dtype.
/// - HOLDALL_E_UNSUPPORTED: Python objects.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_column_add(
    table: *mut holdall_table,
    at: u32,
    name: *const c_char,
    dtype: *const c_char,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let dtype = Dtype::parse_argument(utf8(dtype, "dtype")?)?;
        let cells = match src_size {
            0 if src.is_null() => None,
            n => Some(cells_of(src, n, dtype.item.kind == ItemKind::Text, "src")?),
        };
        t.changed()?
            .column_add_cells(at as usize, utf8(name, "name")?, &dtype, cells.as_ref())?;
        t.name_all();
        Ok(())
    })
}

/// Removes a column. The commit removes its files; their readers then get HOLDALL_E_MISSING.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: the only column.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_column_remove(
    table: *mut holdall_table,
    name: *const c_char,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        t.changed()?.column_remove(utf8(name, "name")?)?;
        t.name_all();
        Ok(())
    })
}

/// Adds indexes to columns of a CTable: the minimum and maximum of each block, by which tables that
/// are opened for reading skip blocks in conditions. Commits store and maintain them. names NULL: all
/// columns of Booleans, integers, floats or times, one for each row.
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: another table or column.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_index_build(
    table: *mut holdall_table,
    column_count: u32,
    names: *const *const c_char,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let columns = match names.is_null() {
            true => None,
            false => Some(columns_of(&t.inner, column_count, names)?),
        };
        t.changed()?.build_index(columns.as_deref())
    })
}

/// Removes all but the first row_count rows.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_truncate(
    table: *mut holdall_table,
    row_count: u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| t.changed()?.truncate(row_count))
}

/// Makes all changes durable and visible, all or none: rows, columns, attributes. See base.h.
///
/// Returns:
/// - HOLDALL_E_STATE: also if a writer without the lock changed the table since it was opened.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_commit(
    table: *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let table = t.changed()?;
        table.commit()?;
        table.columns_mut().for_each(|c| c.generation += 1);
        t.generation += 1;
        Ok(())
    })
}

/// Returns the generation: see base.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_generation(table: *const holdall_table) -> u64 {
    field(table, 0, |handle| handle.generation)
}

/// Moves to the newest commit: see base.h. Columns may be others: get them again.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_refresh(
    table: *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |handle| {
        let Some((source, options)) = reopened(handle.source.as_ref())? else {
            return Ok(());
        };
        let open = |o: &Options| open_target(target_of(&source)?, Mode::Read, o);
        let table = table_handle(options.clone(), open)?;
        let generation = handle.generation + 1;
        *handle = holdall_table {
            generation,
            source: Some((source, options)),
            ..table
        };
        Ok(())
    })
}
