//! The C functions for tables.

use super::array::{array_handle, c_names, give_bytes, holdall_array, text};
use super::common::*;
use super::guard::*;
use super::io::holdall_io;
use super::options::{chosen, holdall_options};
use super::schunk::mode_of;
use crate::error::{Result, fail};
use crate::table::Table;
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// An open table: columns of one length, each an array with a name. It is a const handle for reading from many threads, and
/// so is each of its columns.
pub struct holdall_table {
    broken: AtomicBool,
    /// What reads it as a stream holds it, too.
    pub(super) inner: Arc<Table<holdall_array>>,
    /// Of the columns.
    columns: Vec<CString>,
    /// Of the attributes.
    names: Vec<CString>,
}
handle!(holdall_table);

const fn shared<T: Send + Sync>() {}
const _: () = shared::<holdall_table>();

fn table_handle(table: Table) -> Result<holdall_table> {
    // no folder has a name with a NUL
    let columns = table.columns().iter().map(|c| CString::new(c.name.as_str()).unwrap_or_default()).collect();
    let names = c_names(table.attrs().names());
    let inner = Arc::new(table.map(|array| Ok(array_handle(array)))?);
    Ok(holdall_table { broken: AtomicBool::new(false), inner, columns, names })
}

fn value<T: Copy>(t: *const holdall_table, otherwise: T, f: impl FnOnce(&holdall_table) -> T) -> T {
    guard_value(otherwise, || borrow(t).map_or(otherwise, f))
}

/// Opens a table, a folder that bcolz or BLZ wrote, or of their papers' layout with fields that stand apart: its last
/// commit, with HOLDALL_READ to be read. Options, and which files are opened when: those of holdall_array_open().
/// A table is as long as its shortest column; see holdall_table_column_rows().
/// HOLDALL_E_TYPE: it is an array, or a file. HOLDALL_E_MISSING, HOLDALL_E_FORMAT: a column is not there, or broken, and the
/// words name it; names of columns that lead out of the folder. HOLDALL_E_UNSUPPORTED: it is to be changed.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_open(
    path: *const c_char,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || give(out, || table_handle(Table::open(string(path, "path")?, mode_of(mode)?, &chosen(options))?)))
}

/// As holdall_table_open(), in storage of the caller's: the files "__rootdirs__", "NAME/meta/sizes", "NAME/data/__0.blp" and
/// so on. It may be closed at once.
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
            let io = borrow(io.cast_const()).ok_or_else(|| fail!(Argument, "io is NULL"))?;
            table_handle(Table::open_in(&io.folder, mode_of(mode)?, &chosen(options))?)
        })
    })
}

/// Closes a table and its columns; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_close(table: *mut holdall_table) {
    take_back(table);
}

/// How many rows it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_rows(table: *const holdall_table) -> u64 {
    value(table, 0, |t| t.inner.rows())
}

/// How many columns it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_columns(table: *const holdall_table) -> u32 {
    value(table, 0, |t| t.columns.len() as u32)
}

/// The name of a column; NULL beyond the last. Borrowed until the table is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_column_name(table: *const holdall_table, i: u32) -> *const c_char {
    value(table, std::ptr::null(), |t| t.columns.get(i as usize).map_or(std::ptr::null(), |n| n.as_ptr()))
}

/// A column, as an array with the rows of the table; NULL beyond the last. Borrowed until the table is closed: it is not to
/// be closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_column(table: *const holdall_table, i: u32) -> *const holdall_array {
    value(table, std::ptr::null(), |t| t.inner.columns().get(i as usize).map_or(std::ptr::null(), |c| &raw const c.array))
}

/// How many rows a column has in its files: more than the table where a writer was cut off while it appended to one
/// column after the other. 0 beyond the last column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_column_rows(table: *const holdall_table, i: u32) -> u64 {
    value(table, 0, |t| t.inner.columns().get(i as usize).map_or(0, |c| c.stored_rows))
}

/// How many named values it has, its attributes; those of a column are its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_attrs(table: *const holdall_table) -> u32 {
    value(table, 0, |t| t.names.len() as u32)
}

/// The name of one of them; NULL beyond the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_table_attr_name(table: *const holdall_table, i: u32) -> *const c_char {
    value(table, std::ptr::null(), |t| t.names.get(i as usize).map_or(std::ptr::null(), |n| n.as_ptr()))
}

/// A named value, JSON: *value is borrowed until the table is closed. HOLDALL_NOT_FOUND: there is none of this name.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_attr_get(
    table: *const holdall_table,
    name: *const c_char,
    value: *mut *const c_void,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(table), err, |t| give_bytes(text(name)?.and_then(|name| t.inner.attrs().get(name)), value, n))
}
