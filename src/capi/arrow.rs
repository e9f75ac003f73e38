//! The C functions that export and import Arrow streams, and the callbacks of exported streams.

use super::bag::holdall_bag;
use super::guard::*;
use super::table::holdall_table;
use crate::arrow::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema, Stream};
use crate::arrow::stream::{BagStream, Source, TableStream};
use crate::error::{Result, fail};
use std::ffi::{CString, c_char, c_int};
use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicBool;

/// The state of an exported stream.
struct Exported {
    broken: AtomicBool,
    source: Box<dyn Source>,
    /// Message of the last failed call.
    last_error: Option<CString>,
}
handle!(Exported);

/// Exports a source of batches as a stream. After an error `*out` is a released stream.
fn give_stream<S: Source + 'static>(
    out: *mut ArrowArrayStream,
    make: impl FnOnce() -> Result<S>,
) -> Result<holdall_status> {
    if out.is_null() {
        return Err(fail!(Argument, "out is NULL"));
    }
    let stream = stream_of(Box::new(make()?));
    // SAFETY: not NULL, so by contract memory for a stream, which may be uninitialized.
    unsafe { out.write(stream) };
    Ok(HOLDALL_OK)
}

/// Writes a released stream, for calls that fail.
fn give_none(out: *mut ArrowArrayStream) {
    let none = ArrowArrayStream {
        get_schema: None,
        get_next: None,
        get_last_error: None,
        release: None,
        private_data: null_mut(),
    };
    if !out.is_null() {
        // SAFETY: as in `give_stream`.
        unsafe { out.write(none) };
    }
}

/// Exports a source of batches as a stream.
pub(crate) fn stream_of(source: Box<dyn Source>) -> ArrowArrayStream {
    let exported = hand_out(Exported {
        broken: AtomicBool::new(false),
        source,
        last_error: None,
    });
    ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release),
        private_data: exported.cast(),
    }
}

/// Returns the state of a stream, or `None` once it is released.
fn exported<'a>(stream: *mut ArrowArrayStream) -> Option<&'a mut Exported> {
    let stream = borrow_mut(stream).filter(|s| s.release.is_some())?;
    borrow_mut(stream.private_data.cast())
}

/// Runs a function of a stream. Returns 0, or an errno value and stores the message.
fn call(stream: *mut ArrowArrayStream, f: impl FnOnce(&mut Exported) -> Result<()>) -> c_int {
    let Some(exported) = exported(stream) else {
        return libc::EINVAL;
    };
    let mut err = holdall_error {
        status: 0,
        os_code: 0,
        position: -1,
        message: [0; 496],
    };
    let status = guard_handle_mut(Some(&mut *exported), &mut err, |e| {
        f(e).map(|()| HOLDALL_OK)
    });
    if status == HOLDALL_OK {
        exported.last_error = None;
        return 0;
    }
    let message = err
        .message
        .iter()
        .map(|c| *c as u8)
        .take_while(|c| *c != 0)
        .collect::<Vec<_>>();
    exported.last_error = CString::new(message).ok();
    match status {
        _ if err.os_code > 0 => err.os_code,
        HOLDALL_E_MEMORY | HOLDALL_E_LIMIT => libc::ENOMEM,
        HOLDALL_E_TYPE | HOLDALL_E_RANGE | HOLDALL_E_ARGUMENT => libc::EINVAL,
        HOLDALL_E_UNSUPPORTED => libc::ENOTSUP,
        _ => libc::EIO,
    }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    call(stream, |e| {
        let schema = ArrowSchema::of(e.source.schema())?;
        // SAFETY: by contract memory for a schema, which may be uninitialized.
        unsafe { out.write(schema) };
        Ok(())
    })
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    call(stream, |e| {
        let array = e
            .source
            .next_batch()?
            .map_or(ArrowArray::none(), ArrowArray::of);
        // SAFETY: by contract memory for an array, which may be uninitialized.
        unsafe { out.write(array) };
        Ok(())
    })
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    guard_value(null(), || {
        exported(stream)
            .and_then(|e| e.last_error.as_ref())
            .map_or(null(), |message| message.as_ptr())
    })
}

unsafe extern "C" fn release(stream: *mut ArrowArrayStream) {
    let Some(stream) = borrow_mut(stream).filter(|s| s.release.is_some()) else {
        return;
    };
    stream.release = None;
    take_back(stream.private_data.cast::<Exported>());
    stream.private_data = null_mut();
}

/// Exports `rows` rows from `first` on as an Arrow stream
/// (https://arrow.apache.org/docs/format/CStreamInterface.html) with one field per column.
/// batch_rows: rows per batch (fewer over 2 GiB of text); 0: about 16 MB in whole chunks of the
/// first column. One batch is in memory at a time.
///
/// The stream is a handle of its own, for any one thread at a time, and may outlive the table. It
/// sees the current rows. Batches belong to the consumer. Until its release, changing the table is
/// HOLDALL_E_STATE, and a table opened for writing stays locked. HOLDALL_OPT_SKIP_DAMAGED: corrupt
/// values are not reported. Its functions return errno values; get_last_error() names column, row
/// and reason. If the call fails, *out is a released stream.
///
/// Types:
/// - bool, int, uint, float (2, 4, 8 bytes): the same, in native byte order. complex: lists of two
///   floats.
/// - S: utf8 without trailing zeros (invalid: EINVAL), or binary (HOLDALL_OPT_ARROW_BINARY at
///   open). U: utf8. V, other floats: fixed_size_binary. Python objects: binary, pickled.
/// - datetime64: timestamp without zone in s (also h, m), ms, us, ns; date32 for D, W, M, Y.
///   timedelta64: duration (D, W, h, m in s); month intervals for Y, M. Multiples, and ps, fs, as
///   in ns, are exact or an error. No unit: int64.
/// - Structures: struct. Rows of several items: nested fixed_size_list.
/// - null: NaT, and NaN with HOLDALL_OPT_ARROW_NULLS. Field metadata "holdall.dtype": the dtype.
///
/// Returns:
/// - HOLDALL_E_RANGE: there are fewer rows.
/// - HOLDALL_E_UNSUPPORTED: a column without an Arrow type.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_table_to_arrow(
    table: *const holdall_table,
    first: u64,
    rows: u64,
    batch_rows: u64,
    out: *mut ArrowArrayStream,
    err: *mut holdall_error,
) -> holdall_status {
    give_none(out);
    guard_handle(borrow(table), err, |t| {
        give_stream(out, || {
            TableStream::new(t.inner.clone(), first, rows, batch_rows, t.arrow_options)
        })
    })
}

/// Appends the rows of an Arrow stream. The stream is always taken over, and released when read,
/// one batch of any size at a time. Its fields must be all columns of the table, by name, in any
/// order. After an error nothing is appended.
///
/// Every value must convert exactly:
/// - Integers: to integers and floats. Floats: to equal or longer ones. bool: to bool.
/// - utf8, binary (32-bit, 64-bit offsets, views): to S if it fits and has no trailing zero; utf8
///   to U; binary of the exact length to V. fixed_size_binary: to S (trailing zeros are padding),
///   V.
/// - Dates, timestamps without zone or in UTC: to datetime64. Durations, month intervals: to
///   timedelta64.
/// - fixed_size_list: to complex (of floats), rows of several items. struct: to structures.
///   Dictionaries are decoded.
/// - null: to NaN, NaT; else an error.
///
/// Returns:
/// - HOLDALL_E_TYPE: columns or a value (err->position: the row) do not fit; the message names
///   column and row.
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

/// Exports n records from `first` on as an Arrow stream with one binary field, "record"; see
/// holdall_table_to_arrow(). batch: records per batch (fewer over 2 GiB); 0: about 16 MB. A corrupt
/// record ends the stream with an error that names it, or is null with HOLDALL_OPT_SKIP_DAMAGED.
///
/// Returns:
/// - HOLDALL_E_RANGE: there are fewer records.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_to_arrow(
    bag: *const holdall_bag,
    first: u64,
    n: u64,
    batch: u64,
    out: *mut ArrowArrayStream,
    err: *mut holdall_error,
) -> holdall_status {
    give_none(out);
    guard_handle(borrow(bag), err, |b| {
        give_stream(out, || BagStream::new(b.bag.clone(), first, n, batch))
    })
}
