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

/// Exports count rows from start on as an Arrow stream
/// (https://arrow.apache.org/docs/format/CStreamInterface.html) with one field per column; types as
/// in docs/languages.md. batch: rows per batch (fewer over 2 GiB of text); 0: about 16 MB in whole
/// chunks of the first column.
///
/// The stream is a handle of its own, for any one thread at a time, and may outlive the table. It
/// sees the current rows. Until its release, changing the table is HOLDALL_E_STATE, and a table
/// opened for writing stays locked. Its functions return errno values; get_last_error() names
/// column, row and reason. Values skipped by HOLDALL_OPT_SKIP_DAMAGED are zeros, not reported. If
/// the call fails, *out is a released stream.
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
    give_none(out);
    guard_handle(borrow(table), err, |t| {
        give_stream(out, || {
            TableStream::new(t.inner.clone(), start, count, batch, t.arrow_options)
        })
    })
}

/// Appends the rows of an Arrow stream, which is always taken over, and released when read. Its
/// fields must be all columns of the table, by name, in any order. Every value must convert
/// exactly; docs/languages.md lists the conversions. After an error nothing is appended.
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
        give_stream(out, || BagStream::new(b.bag.clone(), start, count, batch))
    })
}
