//! The C functions for tables.

use super::array::{c_names, give_bytes, holdall_array, text};
use super::common::*;
use super::guard::*;
use super::io::{holdall_io, storage};
use super::options::{chosen, holdall_options};
use super::schunk::mode_of;
use crate::arrow::export::ExportOptions;
use crate::dtype::Dtype;
use crate::error::{Result, fail};
use crate::format::Format;
use crate::options::{Opt, Options};
use crate::table::Table;
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// An open table: named columns of equal length, each an array. Many threads may read one const
/// handle and its columns at once. A handle opened for writing belongs to one thread at a time and
/// sees its own changes at once; other handles see them, all together, if opened after the commit.
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
}
handle!(holdall_table);

const fn shared<T: Send + Sync>() {}
const _: () = shared::<holdall_table>();

/// Returns the handle of a table that `open` opens or creates with these options.
fn table_handle(
    options: *const holdall_options,
    open: impl FnOnce(&Options) -> Result<Table>,
) -> Result<holdall_table> {
    let mut options = chosen(options);
    let arrow_options = ExportOptions {
        binary: options.take(Opt::ArrowBinary) == Some(1),
        nulls: options.take(Opt::ArrowNulls) == Some(1),
    };
    let inner = Arc::new(open(&options)?.map(|array| Ok(holdall_array::from(array)))?);
    let mut table = holdall_table {
        broken: AtomicBool::new(false),
        inner,
        arrow_options,
        columns: Vec::new(),
        names: Vec::new(),
    };
    table.name_all();
    Ok(table)
}

impl holdall_table {
    /// Returns the table for a change, or an error while a stream reads it: a stream must not see
    /// changes.
    pub(super) fn changed(&mut self) -> Result<&mut Table<holdall_array>> {
        let read = || {
            fail!(
                State,
                "an Arrow stream reads the table: release it before the table is changed"
            )
        };
        Arc::get_mut(&mut self.inner).ok_or_else(read)
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
}

/// Opens a table, a folder of bcolz, BLZ or the BLZ RFC layout with separate fields, at its last
/// commit: HOLDALL_READ to read, HOLDALL_APPEND to read and change. It is as long as its shortest
/// column; the next commit removes excess rows (holdall_table_column_rows()).
///
/// Returns:
/// - HOLDALL_E_BUSY: HOLDALL_APPEND, and another writer has the table or a column open.
/// - HOLDALL_E_TYPE: an array or a file.
/// - HOLDALL_E_MISSING, _FORMAT: a column is missing or corrupt (see the message), or its name
///   leads out of the folder.
/// - HOLDALL_E_UNSUPPORTED: HOLDALL_APPEND, and a column has Python objects.
///
/// Options: those of holdall_array_open(), HOLDALL_OPT_ARROW_BINARY, _ARROW_NULLS.
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
            table_handle(options, |o| {
                Table::open(string(path, "path")?, mode_of(mode)?, o)
            })
        })
    })
}

/// Like holdall_table_open(), in storage of the caller: "__rootdirs__", "NAME/meta/sizes",
/// "NAME/data/__0.blp" and so on; BLZ RFC layout: "meta/sizes", "data/NAME/__1__.bin" and so on. io
/// may be closed right after.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_open_io(
    io: *mut holdall_io,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let io = storage(io)?;
            table_handle(options, |o| Table::open_in(io, mode_of(mode)?, o))
        })
    })
}

/// Returns names and dtypes of the new columns.
fn columns<'a>(
    n: u32,
    names: *const *const c_char,
    dtypes: *const *const c_char,
) -> Result<Vec<(&'a str, Dtype)>> {
    let both = slice(names, n as usize, "names")?
        .iter()
        .zip(slice(dtypes, n as usize, "dtypes")?);
    let column = |(name, dtype): (&*const c_char, &*const c_char)| {
        let name = utf8(*name, "name")?;
        let dtype = utf8(*dtype, "dtype")
            .and_then(Dtype::parse_argument)
            .map_err(|e| e.within(format_args!("column {name:?}")))?;
        Ok((name, dtype))
    };
    both.map(column).collect()
}

fn utf8<'a>(text: *const c_char, what: &str) -> Result<&'a str> {
    string(text, what)?
        .to_str()
        .ok_or_else(|| fail!(Argument, "{what} is not UTF-8"))
}

fn format_of(format: holdall_format) -> Result<Format> {
    match format {
        HOLDALL_FORMAT_BCOLZ => Ok(Format::Bcolz),
        HOLDALL_FORMAT_BLZ => Ok(Format::Blz),
        HOLDALL_FORMAT_BLZ_PAPER => Ok(Format::BlzRfc),
        _ => Err(fail!(
            Unsupported,
            "format: not a format of tables (expected HOLDALL_FORMAT_BCOLZ, _BLZ or \
             HOLDALL_FORMAT_BLZ_PAPER, found {format})"
        )),
    }
}

/// Creates a table without rows and opens it for changes.
///
/// - mode: HOLDALL_NEW, or HOLDALL_REPLACE: the first commit replaces a table of the same layout.
/// - format: HOLDALL_FORMAT_BCOLZ, _BLZ (see holdall_array_create()), or HOLDALL_FORMAT_BLZ_PAPER:
///   one dataset with a folder per field ("data/NAME", "data/NAME/FIELD"), equal rows in the
///   superchunks of all columns, no column attributes.
/// - columns: 1 or more.
/// - names: UTF-8, unique, valid as folder names: no slash, not "", ".", ".." or a file of the
///   table.
/// - dtypes: see holdall_array_create(); "('<f4', (3,))" gives rows of that shape.
///
/// Returns:
/// - HOLDALL_E_EXISTS: the path exists, or a name is repeated.
/// - HOLDALL_E_TYPE: unknown dtype.
/// - HOLDALL_E_UNSUPPORTED: Python objects, or another format.
/// - HOLDALL_E_BUSY: another writer is active.
///
/// Options, for all columns: those of holdall_array_create() for a folder. Chunk lengths follow
/// bcolz for HOLDALL_OPT_EXPECTED_ROWS (default: the smallest), in the BLZ RFC layout for a column
/// of average width.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_create(
    path: *const c_char,
    mode: holdall_mode,
    format: holdall_format,
    columns: u32,
    names: *const *const c_char,
    dtypes: *const *const c_char,
    options: *const holdall_options,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let columns = self::columns(columns, names, dtypes)?;
            table_handle(options, |o| {
                Table::create(
                    string(path, "path")?,
                    mode_of(mode)?,
                    format_of(format)?,
                    &columns,
                    o,
                )
            })
        })
    })
}

/// Like holdall_table_create(), in storage of the caller: see holdall_table_open_io(). There is no
/// lock: the caller must ensure a single writer.
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: read-only storage.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_create_io(
    io: *mut holdall_io,
    mode: holdall_mode,
    format: holdall_format,
    columns: u32,
    names: *const *const c_char,
    dtypes: *const *const c_char,
    options: *const holdall_options,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let columns = self::columns(columns, names, dtypes)?;
            let io = storage(io)?;
            table_handle(options, |o| {
                Table::create_in(io, mode_of(mode)?, format_of(format)?, &columns, o)
            })
        })
    })
}

/// Closes a table and its columns. NULL is allowed. Uncommitted changes are discarded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_close(table: *mut holdall_table) {
    take_back(table);
}

/// Returns the number of rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_rows(table: *const holdall_table) -> u64 {
    field(table, 0, |t| t.inner.rows())
}

/// Returns the number of columns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_columns(table: *const holdall_table) -> u32 {
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

/// Returns column i as an array, or NULL past the last. Borrowed until the table is closed or a
/// column is added or removed. Closing it has no effect; changing it is HOLDALL_E_STATE: change the
/// table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_column(
    table: *const holdall_table,
    i: u32,
) -> *const holdall_array {
    field(table, std::ptr::null(), |t| {
        t.inner
            .columns()
            .get(i as usize)
            .map_or(std::ptr::null(), |c| &raw const c.array)
    })
}

/// Returns the rows in the files of column i at the last commit; 0 for newer columns and past the
/// last. More than the table has if a writer was interrupted between columns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_column_rows(table: *const holdall_table, i: u32) -> u64 {
    field(table, 0, |t| {
        t.inner
            .columns()
            .get(i as usize)
            .map_or(0, |c| c.stored_rows)
    })
}

/// Returns the number of attributes of the table. Columns have their own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_attrs(table: *const holdall_table) -> u32 {
    field(table, 0, |t| t.names.len() as u32)
}

/// Returns the name of attribute i, or NULL past the last. Borrowed until the table is closed or
/// changed.
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

/// Returns an attribute: *n bytes of JSON, no NUL after them, borrowed until the table is closed or
/// an attribute is set. Returns as holdall_array_attr_get().
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

/// Sets an attribute to n bytes of JSON; value NULL removes it.
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
        let json = if value.is_null() {
            None
        } else {
            Some(slice(value.cast(), n, "value")?)
        };
        t.changed()?.attr_set(utf8(name, "name")?, json)?;
        t.name_all();
        Ok(())
    })
}

/// Sets or removes an attribute of column i, as holdall_table_attr_set(). holdall_array_attr_get()
/// reads it.
///
/// Returns:
/// - HOLDALL_E_RANGE: no such column.
/// - HOLDALL_E_ARGUMENT: invalid JSON.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_column_attr_set(
    table: *mut holdall_table,
    i: u32,
    name: *const c_char,
    value: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let json = if value.is_null() {
            None
        } else {
            Some(slice(value.cast(), n, "value")?)
        };
        t.changed()?
            .column_attr_set(i as usize, utf8(name, "name")?, json)?
            .name_all();
        Ok(())
    })
}

/// Appends rows. columns[i]: `rows` rows of column i, packed, in C order, sizes[i] bytes, for every
/// column; not borrowed after the call. An incomplete chunk waits in memory: few commits of many
/// rows cost least. After an error nothing is appended to any column.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: a wrong sizes[i].
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_append(
    table: *mut holdall_table,
    rows: u64,
    columns: *const *const c_void,
    sizes: *const usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        let n = t.columns.len();
        let both = slice(columns, n, "columns")?
            .iter()
            .zip(slice(sizes, n, "sizes")?);
        let columns = both
            .map(|(src, size)| slice(src.cast::<u8>(), *size, "a column"))
            .collect::<Result<Vec<_>>>()?;
        t.changed()?.append(rows, &columns)
    })
}

/// Overwrites `rows` rows of column i from row `first` on. src: the items, packed, in C order,
/// src_size bytes. Cost, and state after an error: as holdall_array_write().
///
/// Returns:
/// - HOLDALL_E_RANGE: no such column or rows.
/// - HOLDALL_E_ARGUMENT: a wrong src_size.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_write(
    table: *mut holdall_table,
    i: u32,
    first: u64,
    rows: u64,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| {
        t.changed()?
            .write(i as usize, first, rows, slice(src.cast(), src_size, "src")?)
    })
}

/// Inserts a column before column `at`; the number of columns appends it. name, dtype: see
/// holdall_table_create(). src: an item (or row) per row of the table, packed, in C order, src_size
/// bytes. Options are those of opening; codec, level and checksum default to the first column's.
/// After an error nothing is changed.
///
/// Returns:
/// - HOLDALL_E_EXISTS: the name exists.
/// - HOLDALL_E_RANGE: `at` is past the end.
/// - HOLDALL_E_ARGUMENT: a wrong src_size, or an invalid name.
/// - HOLDALL_E_TYPE: unknown dtype.
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
        t.changed()?.column_add(
            at as usize,
            utf8(name, "name")?,
            &dtype,
            slice(src.cast(), src_size, "src")?,
        )?;
        t.name_all();
        Ok(())
    })
}

/// Removes a column. The commit removes its files; their readers then get HOLDALL_E_MISSING.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: no such name, or the only column.
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

/// Removes all but the first `rows` rows.
///
/// Returns:
/// - HOLDALL_E_RANGE: there are fewer.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_truncate(
    table: *mut holdall_table,
    rows: u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| t.changed()?.truncate(rows))
}

/// Makes all changes durable and visible, all or none: rows, columns, attributes. Without changes
/// it does nothing. Returns as holdall_schunk_commit(). HOLDALL_E_STATE: also if a writer without
/// the lock changed the table since it was opened.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_commit(
    table: *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(table), err, |t| t.changed()?.commit())
}
