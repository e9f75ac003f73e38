//! The C functions that give and take Arrow streams, and the functions of the streams that they
//! give.

use super::bag::holdall_bag;
use super::guard::*;
use super::table::holdall_table;
use crate::arrow::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema, Stream};
use crate::arrow::stream::{BagStream, Source, TableStream};
use crate::error::{Result, fail};
use std::ffi::{CString, c_char, c_int};
use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicBool;

/// What a stream keeps.
struct Exported {
    broken: AtomicBool,
    source: Box<dyn Source>,
    /// Of the last call that failed.
    words: Option<CString>,
}
handle!(Exported);

/// Makes a stream of what gives batches; on failure it is one that was released.
fn give_stream<S: Source + 'static>(
    out: *mut ArrowArrayStream,
    make: impl FnOnce() -> Result<S>,
) -> Result<holdall_status> {
    if out.is_null() {
        return Err(fail!(Argument, "out is NULL"));
    }
    let stream = stream_of(Box::new(make()?));
    // SAFETY: not NULL, so by contract a place for a stream; what is there is not looked at.
    unsafe { out.write(stream) };
    Ok(HOLDALL_OK)
}

/// A stream that is released, for calls that fail.
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

/// The stream of what gives batches.
pub(crate) fn stream_of(source: Box<dyn Source>) -> ArrowArrayStream {
    let exported = hand_out(Exported {
        broken: AtomicBool::new(false),
        source,
        words: None,
    });
    ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release),
        private_data: exported.cast(),
    }
}

/// What a stream keeps, as long as it is not released.
fn exported<'a>(stream: *mut ArrowArrayStream) -> Option<&'a mut Exported> {
    let stream = borrow_mut(stream).filter(|s| s.release.is_some())?;
    borrow_mut(stream.private_data.cast())
}

/// Runs a function of a stream: 0, or a number of errno's and words.
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
        exported.words = None;
        return 0;
    }
    let words = err
        .message
        .iter()
        .map(|c| *c as u8)
        .take_while(|c| *c != 0)
        .collect::<Vec<_>>();
    exported.words = CString::new(words).ok();
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
        // SAFETY: by contract a place for a schema; what is there is not looked at.
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
        // SAFETY: by contract a place for an array; what is there is not looked at.
        unsafe { out.write(array) };
        Ok(())
    })
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    guard_value(null(), || {
        exported(stream)
            .and_then(|e| e.words.as_ref())
            .map_or(null(), |w| w.as_ptr())
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

/// Rows of a table as an Arrow stream (https://arrow.apache.org/docs/format/CStreamInterface.html): record batches with a field
/// for each column, for DuckDB, Polars, pyarrow and what else reads such streams. `first` and
/// `rows` say which rows, `batch_rows` how many a batch has (fewer where text would pass 2 GiB); 0:
/// as many as suit, about 16 MB, in whole chunks of the first column. No more than one batch is in
/// memory. The stream is a handle of its own: it may be read on any thread, one at a time, lives on
/// when the table is closed, and its memory belongs to who takes the batches. It sees the rows that
/// the table has now. As long as a stream is not released its table cannot be changed,
/// HOLDALL_E_STATE, and one that was opened for writing stays locked. With HOLDALL_OPT_SKIP_DAMAGED
/// what is damaged comes as other calls read it, without a word.
///
/// Types: bool, int, uint, and float of 2, 4 and 8 bytes are Arrow's, complex numbers lists of two
/// floats. S becomes utf8 without the zeros at its end; a value that is no UTF-8 is an error
/// (EINVAL) that names column and row; with HOLDALL_OPT_ARROW_BINARY, when the table was opened,
/// all S are binary instead. U becomes utf8; V, and floats of other lengths, fixed_size_binary;
/// objects binary, as Python has pickled them. datetime64 is timestamp without a zone in s, ms, us
/// or ns, that of h and m in s, and date32 where its unit is D, W, M or Y (its first day);
/// timedelta64 is duration, of D, W, h and m in s, and month intervals where its unit is Y or M.
/// Multiples of units, and ps, fs and as in ns, are the same time or an error that names the row;
/// without a unit they are int64. NaT is null, and with HOLDALL_OPT_ARROW_NULLS NaN is, too;
/// nothing else is. Structures are struct; rows of several items fixed_size_list, one in the other.
/// Numbers have the byte order of the machine. The field's metadata has "holdall.dtype", the dtype
/// of the column. Numbers of the machine's byte order are read straight to the batch's memory.
///
/// What is in *out does not matter; where the call fails it is a stream that is released.
/// HOLDALL_E_RANGE: there are fewer rows. HOLDALL_E_UNSUPPORTED: a column that Arrow cannot have.
///
/// The stream's own functions return a number of errno's, and get_last_error() what holdall_error
/// has: column, row, and why.
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
            TableStream::new(t.inner.clone(), first, rows, batch_rows, t.rules)
        })
    })
}

/// Puts the rows of an Arrow stream behind the last, from the next commit on: what pyarrow, Polars
/// or DuckDB exported. The stream is taken over in every case, and released when it is read: out of
/// it go batches of any size, one at a time. The fields of the stream are the columns of the table,
/// by their names, in any order, all of them and no other.
///
/// Every value arrives as it is, or the call fails; nothing is rounded or cut. Whole numbers of any
/// length become whole numbers, or floats, that have them; floats of the same length or a longer
/// one; bool bool. Utf8 and binary (with offsets of 32 or 64 bits, or views) become S where it is
/// long enough and there is no zero at their end, and utf8 U; fixed_size_binary S (zeros at its end
/// are its filling) and V; binary of just the right length V. Dates and timestamps without a zone,
/// or of UTC, become datetime64, and durations and month intervals timedelta64, in any unit in
/// which they are whole numbers. fixed_size_list of floats become complex numbers, and
/// fixed_size_list rows of several items; struct structures. Dictionaries are decoded. Nulls become
/// NaN or NaT; for other types they are errors.
///
/// On failure nothing was appended: all batches or none. HOLDALL_E_TYPE: columns that do not fit,
/// or a value that its column does not have; the words name column and row (err->position), as the
/// stream counts them. HOLDALL_E_ARGUMENT: an array that contradicts itself (offsets, lengths,
/// counts, missing buffers). HOLDALL_E_CALLBACK: the stream failed, the words are its
/// own. HOLDALL_E_STATE: a stream of this table is not released.
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

/// Records of a bag as an Arrow stream, as holdall_table_to_arrow() has it: batches with one field,
/// "record", binary. `n` records from `first` on, `batch` in each batch (fewer where they would
/// pass 2 GiB); 0: as many as suit, about 16 MB. A record that is damaged ends the stream with an
/// error that names it, and is null with HOLDALL_OPT_SKIP_DAMAGED. HOLDALL_E_RANGE: there are fewer
/// records.
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
