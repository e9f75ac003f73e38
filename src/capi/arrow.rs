//! The C functions that export and import Arrow streams.

use super::array::{holdall_array, new_location, utf8};
use super::bag::holdall_bag;
use super::constants::mode;
use super::container::{holdall_format, holdall_mode};
use super::guard::*;
use super::options::{chosen, holdall_options};
use super::storage::target;
use super::table::{columns_of, holdall_table, table_format, table_handle};
use crate::arrow::bag_source::BagSource;
use crate::arrow::batch_source::Source;
use crate::arrow::ffi::{ArrowArrayStream, Stream};
use crate::arrow::table_columns::TableColumns;
use crate::arrow::table_source::TableSource;
use crate::error::{Result, fail};
use crate::table::{Predicate, Table};
use std::ffi::c_char;

/// Exports a source of batches as a stream. After an error `*out` is a released stream.
fn give_stream<S: Source + 'static>(
    out: *mut ArrowArrayStream,
    make: impl FnOnce() -> Result<S>,
) -> Result<holdall_status> {
    if out.is_null() {
        return Err(fail!(Argument, "out is NULL"));
    }
    let stream = ArrowArrayStream::of(Box::new(make()?));
    // SAFETY: not NULL, so by contract memory for a stream, which may be uninitialized.
    unsafe { out.write(stream) };
    Ok(HOLDALL_OK)
}

/// Exports rows of the columns with these indices.
fn give_columns(
    table: *const holdall_table,
    out: *mut ArrowArrayStream,
    err: *mut holdall_error,
    columns: impl FnOnce(&Table<holdall_array>) -> Result<Vec<usize>>,
    rows: impl FnOnce(TableColumns<holdall_array>) -> Result<TableSource<holdall_array>>,
) -> holdall_status {
    give_none(out);
    guard_handle(borrow(table), err, |t| {
        give_stream(out, || {
            let (table, columns) = (t.inner.clone(), columns(&t.inner)?);
            rows(TableColumns::new(table, columns, t.arrow_options)?)
        })
    })
}

/// Writes a released stream, for calls that fail.
fn give_none(out: *mut ArrowArrayStream) {
    if !out.is_null() {
        // SAFETY: as in `give_stream`.
        unsafe { out.write(ArrowArrayStream::none()) };
    }
}

/// Exports count rows from start on as an Arrow stream with one field per column: "<i8" is l, "<f8"
/// g, "|b1" b, "|S5" and "<U5" u, "<M8[ms]" tsm:, rows of N items +w:N; others: docs/languages.md.
/// batch: rows per batch (fewer over 2 GiB of text); 0: about 16 MB.
///
/// The stream is a handle of its own, for any one thread at a time, and may outlive the table.
/// Until its release, changing the table is HOLDALL_E_STATE, and a table opened for writing stays
/// locked. Its functions return errno values; get_last_error() names column, row and reason. If the
/// call fails, *out is a released stream.
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: a column without an Arrow type.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_to_arrow(
    table: *const holdall_table,
    start: u64,
    count: u64,
    batch: u64,
    out: *mut ArrowArrayStream,
    err: *mut holdall_error,
) -> holdall_status {
    let all = |table: &Table<holdall_array>| Ok((0..table.columns().len()).collect());
    give_columns(table, out, err, all, |columns| {
        TableSource::range(columns, (start, count), batch)
    })
}

/// Exports only these columns, as holdall_table_to_arrow(). names, column_count: as for
/// holdall_table_read_rows().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_columns_to_arrow(
    table: *const holdall_table,
    start: u64,
    count: u64,
    column_count: u32,
    names: *const *const c_char,
    batch: u64,
    out: *mut ArrowArrayStream,
    err: *mut holdall_error,
) -> holdall_status {
    let columns = |table: &_| columns_of(table, column_count, names);
    give_columns(table, out, err, columns, |columns| {
        TableSource::range(columns, (start, count), batch)
    })
}

/// Exports those of count rows from start on for which a predicate is true, at most limit
/// (UINT64_MAX: all), in their order, as holdall_table_columns_to_arrow(). predicate: as for
/// holdall_table_where(); NULL: true for all. Columns that are compared are read first, and others
/// only where rows pass; with a predicate a batch may have fewer rows than requested. names NULL:
/// all columns, of which column_count is the number.
///
/// Returns:
/// - others: as holdall_table_where(), but not HOLDALL_DAMAGED, and holdall_table_to_arrow().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_scan(
    table: *const holdall_table,
    predicate: *const c_char,
    start: u64,
    count: u64,
    limit: u64,
    column_count: u32,
    names: *const *const c_char,
    batch: u64,
    out: *mut ArrowArrayStream,
    err: *mut holdall_error,
) -> holdall_status {
    let columns = |table: &_| columns_of(table, column_count, names);
    give_columns(table, out, err, columns, |columns| {
        let predicate = match predicate.is_null() {
            true => None,
            false => Some(Predicate::parse(utf8(predicate, "predicate")?)?),
        };
        TableSource::scan(columns, predicate.as_ref(), (start, count), limit, batch)
    })
}

/// Exports the row_count rows with these numbers, in this order and with repetitions, as
/// holdall_table_columns_to_arrow(). rows is copied.
///
/// Returns:
/// - HOLDALL_E_RANGE: there is no such row (err->position: its position in rows).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_points_to_arrow(
    table: *const holdall_table,
    rows: *const u64,
    row_count: usize,
    column_count: u32,
    names: *const *const c_char,
    batch: u64,
    out: *mut ArrowArrayStream,
    err: *mut holdall_error,
) -> holdall_status {
    let columns = |table: &_| columns_of(table, column_count, names);
    give_columns(table, out, err, columns, |columns| {
        TableSource::numbers(columns, slice(rows, row_count, "rows")?, batch)
    })
}

/// Appends the rows of an Arrow stream, which is always taken over, and released when read. Its
/// fields must be all columns of the table, by name, in any order. Every value must convert
/// exactly; docs/languages.md lists the conversions. A null becomes NaN or NaT. After an error
/// nothing is appended.
///
/// Returns:
/// - HOLDALL_E_TYPE: columns or a value, also another null (err->position: the row) do not fit.
/// - HOLDALL_E_ARGUMENT: inconsistent offsets, lengths, counts; missing buffers.
/// - HOLDALL_E_CALLBACK: the stream failed, with its message.
/// - HOLDALL_E_STATE: a stream of this table is not released.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_append_arrow(
    table: *mut holdall_table,
    stream: *mut ArrowArrayStream,
    err: *mut holdall_error,
) -> holdall_status {
    let stream = borrow_mut(stream).map(Stream::take);
    guard_change(borrow_mut(table), err, |t| {
        t.changed()?
            .append_arrow(stream.ok_or_else(|| fail!(Argument, "stream is NULL"))?)
    })
}

/// Creates a table with the columns and rows of an Arrow stream, which is always taken over, commits
/// it, and opens it for changes. A CTable keeps the types of the fields: numbers, Booleans, timestamps
/// and rows of them; text, dictionaries of text, bytes, lists and structures; and nulls. Other formats
/// have no values of any length, and no nulls. path, mode, format: as for holdall_table_create().
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: the format has no column for a field.
/// - others: as holdall_table_create(), holdall_table_append_arrow(), holdall_table_commit().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_from_arrow(
    path: *const c_char,
    mode: holdall_mode,
    format: holdall_format,
    stream: *mut ArrowArrayStream,
    options: *const holdall_options,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    let stream = borrow_mut(stream).map(Stream::take);
    guard(err, || {
        give(out, || {
            let stream = stream.ok_or_else(|| fail!(Argument, "stream is NULL"))?;
            let (to, mode) = (target(path, options)?, self::mode(mode)?);
            let format = table_format(format)?;
            table_handle(chosen(options), |o| {
                Table::from_arrow(new_location(&to), mode, format, stream, o)
            })
        })
    })
}

/// Exports count records from start on as an Arrow stream with one binary field, "record"; see
/// holdall_table_to_arrow(). batch: records per batch (fewer over 2 GiB); 0: about 16 MB. A corrupt
/// record ends the stream with an error that names it, or is null with HOLDALL_OPT_SKIP_DAMAGED.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_to_arrow(
    bag: *const holdall_bag,
    start: u64,
    count: u64,
    batch: u64,
    out: *mut ArrowArrayStream,
    err: *mut holdall_error,
) -> holdall_status {
    give_none(out);
    guard_handle(borrow(bag), err, |b| {
        give_stream(out, || BagSource::new(b.bag.clone(), start, count, batch))
    })
}
