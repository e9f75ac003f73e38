//! Tables, and as Arrow both ways.

use crate::storage::Storage;
use crate::{done, info, made, not_made, refused};
use holdall::arrow::ffi::ArrowArrayStream;
use holdall::capi::{array::*, arrow::*, container::*, guard::*, options::*, table::*};
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

const ROWS: u64 = 6;
const NUMBERS: [i32; 6] = [1, 2, 3, 4, 5, 6];
const TEXT: &[u8; 18] = b"onetwoabcdefghijkl";

/// Names and dtypes of two columns.
pub type Columns = [[*const c_char; 2]; 2];

pub fn columns() -> Columns {
    [
        [c"n".as_ptr(), c"w".as_ptr()],
        [c"<i4".as_ptr(), c"|S3".as_ptr()],
    ]
}

pub fn spec(format: i32, columns: &Columns) -> holdall_table_spec {
    holdall_table_spec {
        struct_size: size_of::<holdall_table_spec>(),
        names: columns[0].as_ptr(),
        dtypes: columns[1].as_ptr(),
        format,
        column_count: 2,
    }
}

/// A table of two columns, with some rows.
pub fn stored(rows: u64) -> (Storage, *mut holdall_table) {
    let s = Storage::new();
    let o = s.options(&[(HOLDALL_OPT_LEVEL, 0), (HOLDALL_OPT_CHUNK_BYTES, 16)]);
    let columns = columns();
    let spec = spec(HOLDALL_FORMAT_BCOLZ, &columns);
    // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
    unsafe {
        for wrong in [
            holdall_table_spec {
                struct_size: 8,
                ..spec
            },
            holdall_table_spec {
                column_count: 0,
                ..spec
            },
            holdall_table_spec { format: 1, ..spec },
        ] {
            not_made(HOLDALL_E_ARGUMENT, |out, err| {
                holdall_table_create(null(), HOLDALL_CREATE, &wrong, o, out, err)
            });
        }
        let t = made(|out, err| holdall_table_create(null(), HOLDALL_CREATE, &spec, o, out, err));
        let items = [NUMBERS.as_ptr().cast(), TEXT.as_ptr().cast()];
        done(|err| {
            holdall_table_append(
                t,
                rows,
                items.as_ptr(),
                [rows as usize * 4, rows as usize * 3].as_ptr(),
                err,
            )
        });
        done(|err| holdall_table_commit(t, err));
        holdall_options_free(o);
        (s, t)
    }
}

pub fn opened(s: &Storage, mode: i32) -> *mut holdall_table {
    // SAFETY: the storage exists.
    made(|out, err| unsafe {
        s.with(null_mut(), |o| {
            holdall_table_open(null(), mode, o, out, err)
        })
    })
}

unsafe fn numbers(t: *const holdall_table) -> Vec<i32> {
    // SAFETY: an open table, whose first column has items of 4 bytes, and a buffer for all of them.
    unsafe {
        let (column, rows) = (holdall_table_column(t, 0), holdall_table_row_count(t));
        let mut items = vec![-1; rows as usize];
        done(|err| {
            let (dst, n) = (items.as_mut_ptr().cast(), rows as usize * 4);
            holdall_array_read(column, null(), null(), null(), dst, n, null(), err)
        });
        items
    }
}

#[test]
fn tables_are_written_and_read() {
    let (s, t) = stored(ROWS);
    // SAFETY: a table that is open until it is closed, and buffers of the stated sizes.
    unsafe {
        assert_eq!(
            (
                holdall_table_row_count(t),
                holdall_table_column_count(t),
                holdall_table_column_row_count(t, 1)
            ),
            (ROWS, 2, ROWS)
        );
        assert!(!holdall_table_column_name(t, 1).is_null() && holdall_table_column(t, 2).is_null());
        done(|err| {
            holdall_table_write(t, c"n".as_ptr(), 4, 2, [50i32, 60].as_ptr().cast(), 8, err)
        });
        done(|err| {
            holdall_table_column_add(
                t,
                2,
                c"x".as_ptr(),
                c"<i2".as_ptr(),
                [0i16; 6].as_ptr().cast(),
                12,
                err,
            )
        });
        // without items, each row is the fill value
        let filled = [c"f".as_ptr(), c"('<i2', (2,))".as_ptr()];
        done(|err| holdall_table_column_add(t, 3, filled[0], filled[1], null(), 0, err));
        done(|err| holdall_table_write(t, filled[0], 1, 1, [7i16, 8].as_ptr().cast(), 4, err));
        done(|err| holdall_table_column_remove(t, c"w".as_ptr(), err));
        done(|err| holdall_table_truncate(t, 5, err));
        done(|err| holdall_table_attr_set(t, c"a".as_ptr(), b"1".as_ptr().cast(), 1, err));
        done(|err| {
            let (column, name, value) = (c"n".as_ptr(), c"b".as_ptr(), b"2".as_ptr().cast());
            holdall_table_column_attr_set(t, column, name, value, 1, err)
        });
        refused(HOLDALL_E_RANGE, |err| holdall_table_truncate(t, 6, err));
        done(|err| holdall_table_commit(t, err));
        holdall_table_close(t);
        let t = opened(&s, HOLDALL_READ);
        assert_eq!(numbers(t), [1, 2, 3, 4, 50]);
        let mut items = [-1i16; 10];
        let (f, dst) = (holdall_table_column(t, 2), items.as_mut_ptr().cast());
        done(|err| holdall_array_read(f, null(), null(), null(), dst, 20, null(), err));
        assert_eq!(items, [0, 0, 7, 8, 0, 0, 0, 0, 0, 0]);
        let (mut value, mut n) = (null(), 0);
        assert!(holdall_table_attr_count(t) == 1 && !holdall_table_attr_name(t, 0).is_null());
        done(|err| holdall_table_attr_get(t, c"a".as_ptr(), &mut value, &mut n, err));
        assert_eq!(std::slice::from_raw_parts(value.cast::<u8>(), n), b"1");
        holdall_table_close(t);
    }
}

#[test]
fn rows_of_named_columns_are_read() {
    let (_s, t) = stored(ROWS);
    let (mut n, mut w) = ([-1i32; 6], [0u8; 18]);
    let (dsts, sizes) = (
        [w.as_mut_ptr().cast(), n.as_mut_ptr().cast()],
        [w.len(), size_of_val(&n)],
    );
    let (both, other) = (
        [c"w".as_ptr(), c"n".as_ptr()],
        [c"x".as_ptr(), c"n".as_ptr()],
    );
    // SAFETY: a table that is open until it is closed; buffers of the stated sizes, which nothing
    // else accesses during a call.
    unsafe {
        let (names, dsts, sizes) = (both.as_ptr(), dsts.as_ptr(), sizes.as_ptr());
        done(|err| holdall_table_read_rows(t, 1, 3, 2, 2, names, dsts, sizes, err));
        assert_eq!((&n[..3], &w[..9]), (&[2, 4, 6][..], &b"twodefjkl"[..]));
        let rows = [5u64, 0, 5, 2];
        done(|err| holdall_table_read_points(t, rows.as_ptr(), 4, 2, names, dsts, sizes, err));
        assert_eq!(
            (&n[..4], &w[..12]),
            (&[6, 1, 6, 3][..], &b"jklonejklabc"[..])
        );
        // one column, and all in their order
        let one = names.wrapping_add(1);
        let (dst, size) = (dsts.wrapping_add(1), sizes.wrapping_add(1));
        done(|err| holdall_table_read_rows(t, 0, 2, 1, 1, one, dst, size, err));
        assert_eq!(n[..2], [1, 2]);
        let (in_order, lengths) = ([*dst, *dsts], [24, 18]);
        let (in_order, lengths) = (in_order.as_ptr(), lengths.as_ptr());
        done(|err| holdall_table_read_rows(t, 0, ROWS, 1, 2, null(), in_order, lengths, err));
        assert_eq!((n, &w), (NUMBERS, TEXT));
        done(|err| holdall_table_read_rows(t, 0, 1, 1, 0, names, null(), null(), err));

        let refuse = |status, start, count, step, columns, names| {
            refused(status, |err| {
                holdall_table_read_rows(t, start, count, step, columns, names, dsts, sizes, err)
            })
        };
        refuse(HOLDALL_E_RANGE, ROWS, 1, 1, 2, names);
        refuse(HOLDALL_E_ARGUMENT, 0, 1, 0, 2, names);
        refuse(HOLDALL_E_ARGUMENT, 0, 1, 1, 2, other.as_ptr());
        refuse(HOLDALL_E_ARGUMENT, 0, 1, 1, 1, null());
        refuse(HOLDALL_E_BUFFER, 0, ROWS, 1, 2, null());
        refused(HOLDALL_E_RANGE, |err| {
            holdall_table_read_points(t, [ROWS].as_ptr(), 1, 2, names, dsts, sizes, err)
        });
        assert_eq!(
            holdall_table_find_column(t, c"w".as_ptr()),
            holdall_table_column(t, 1)
        );
        assert!(holdall_table_find_column(t, c"x".as_ptr()).is_null());
        assert!(holdall_table_find_column(t, null()).is_null());
        holdall_table_close(t);
    }
}

#[test]
fn a_table_is_copied_and_described() {
    let (_from, t) = stored(ROWS);
    let s = Storage::new();
    let o = s.options(&[]);
    // SAFETY: tables that are open until they are closed, and options until they are freed.
    unsafe {
        let reported: holdall_table_info = info(|info, err| holdall_table_get_info(t, info, err));
        let counts = (
            reported.row_count,
            reported.column_count,
            reported.attr_count,
            reported.reserved,
        );
        assert_eq!(counts, (ROWS, 2, 0, 0));
        assert_eq!(
            (reported.nbytes, reported.format),
            (42, HOLDALL_FORMAT_BCOLZ)
        );
        assert!(reported.stored_bytes > 42 && reported.generation == 1);
        let copy = |mode, format, err| holdall_table_copy(t, null(), mode, format, o, err);
        refused(HOLDALL_E_UNSUPPORTED, |err| {
            copy(HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, err)
        });
        done(|err| copy(HOLDALL_CREATE, HOLDALL_FORMAT_BLZ, err));
        refused(HOLDALL_E_EXISTS, |err| {
            copy(HOLDALL_CREATE, HOLDALL_FORMAT_BLZ, err)
        });
        holdall_table_close(t);
        holdall_options_free(o);
        let t = opened(&s, HOLDALL_READ);
        assert_eq!(numbers(t), NUMBERS);
        let reported: holdall_table_info = info(|info, err| holdall_table_get_info(t, info, err));
        assert_eq!(
            (reported.format, reported.generation),
            (HOLDALL_FORMAT_BLZ, 0)
        );
        holdall_table_close(t);
    }
}

#[test]
fn a_table_is_copied_through_arrow() {
    let ((_a, from), (_b, to)) = (stored(ROWS), stored(2));
    let mut stream = MaybeUninit::<ArrowArrayStream>::uninit();
    // SAFETY: tables that are open until they are closed; the stream is moved to the call.
    unsafe {
        done(|err| holdall_table_to_arrow(from, 1, 5, 2, stream.as_mut_ptr(), err));
        done(|err| holdall_table_append_arrow(to, stream.as_mut_ptr(), err));
        assert!((*stream.as_ptr()).release.is_none());
        done(|err| holdall_table_commit(to, err));
        assert_eq!(numbers(to), [1, 2, 2, 3, 4, 5, 6]);
        // a stream that is not read
        done(|err| holdall_table_to_arrow(from, 0, ROWS, 0, stream.as_mut_ptr(), err));
        let stream = stream.as_mut_ptr();
        (*stream).release.unwrap()(stream);
        let (known, unknown) = ([c"n".as_ptr()], [c"none".as_ptr()]);
        let columns =
            |n, names, err| holdall_table_columns_to_arrow(from, 0, 2, n, names, 0, stream, err);
        done(|err| columns(1, known.as_ptr(), err));
        (*stream).release.unwrap()(stream);
        refused(HOLDALL_E_ARGUMENT, |err| columns(1, unknown.as_ptr(), err));
        refused(HOLDALL_E_ARGUMENT, |err| columns(99, std::ptr::null(), err));
        let both = [c"w".as_ptr(), c"n".as_ptr()];
        let scan = |predicate: &std::ffi::CStr, n, limit, err| {
            let predicate = predicate.as_ptr();
            let names = both.as_ptr();
            holdall_table_scan(from, predicate, 0, n, limit, 2, names, 0, stream, err)
        };
        done(|err| scan(c"n >= 2", ROWS, 3, err));
        done(|err| holdall_table_append_arrow(to, stream, err));
        assert_eq!(numbers(to), [1, 2, 2, 3, 4, 5, 6, 2, 3, 4]);
        refused(HOLDALL_E_RANGE, |err| scan(c"n > 1", ROWS + 1, 1, err));
        refused(HOLDALL_E_ARGUMENT, |err| scan(c"n >", ROWS, 1, err));
        refused(HOLDALL_E_ARGUMENT, |err| scan(c"other > 1", ROWS, 1, err));
        let points = |rows: &[u64], err| {
            let (rows, n) = (rows.as_ptr(), rows.len());
            holdall_table_points_to_arrow(from, rows, n, 2, both.as_ptr(), 2, stream, err)
        };
        done(|err| points(&[5, 0, 5], err));
        done(|err| holdall_table_append_arrow(to, stream, err));
        assert_eq!(numbers(to).split_off(10), [6, 1, 6]);
        refused(HOLDALL_E_RANGE, |err| points(&[0, ROWS], err));
        assert!((*stream).release.is_none());
        holdall_table_close(from);
        holdall_table_close(to);
    }
}

/// Sets attributes of the table and of its first column.
unsafe fn set_attributes(t: *mut holdall_table) {
    // SAFETY: a table that is open for changes.
    unsafe {
        let (name, value) = (c"a".as_ptr(), b"[1]".as_ptr().cast());
        done(|err| holdall_table_attr_set(t, name, value, 3, err));
        let (column, name) = (c"n".as_ptr(), c"unit".as_ptr());
        done(|err| {
            holdall_table_column_attr_set(t, column, name, b"\"m\"".as_ptr().cast(), 3, err)
        });
        done(|err| holdall_table_commit(t, err));
    }
}

#[test]
#[cfg_attr(miri, ignore = "calls C codecs")]
fn copies_have_all_rows_columns_and_attributes() {
    let (_source, from) = stored(ROWS);
    let level = [(HOLDALL_OPT_LEVEL, 0)];
    // SAFETY: tables that are open until they are closed, and options until they are freed.
    unsafe {
        set_attributes(from);
        for format in [HOLDALL_FORMAT_BCOLZ, HOLDALL_FORMAT_BLZ] {
            let s = Storage::new();
            let o = s.options(&level);
            done(|err| holdall_table_copy(from, null(), HOLDALL_CREATE, format, o, err));
            let t = opened(&s, HOLDALL_READ);
            assert_eq!(numbers(t), NUMBERS);
            let (mut value, mut n) = (null(), 0);
            let name = c"a".as_ptr();
            done(|err| holdall_table_attr_get(t, name, &mut value, &mut n, err));
            assert_eq!(std::slice::from_raw_parts(value.cast::<u8>(), n), b"[1]");
            let (column, name) = (
                holdall_table_find_column(t, c"n".as_ptr()),
                c"unit".as_ptr(),
            );
            done(|err| holdall_array_attr_get(column, name, &mut value, &mut n, err));
            assert_eq!(std::slice::from_raw_parts(value.cast::<u8>(), n), b"\"m\"");
            let dtype = std::ffi::CStr::from_ptr(holdall_array_dtype(holdall_table_column(t, 1)));
            assert_eq!(dtype.to_bytes().last(), Some(&b'3'));
            holdall_table_close(t);
            holdall_options_free(o);
        }
        // its columns have no attributes
        let (s, rfc) = (Storage::new(), HOLDALL_FORMAT_BLZ_RFC);
        let o = s.options(&level);
        refused(HOLDALL_E_UNSUPPORTED, |err| {
            holdall_table_copy(from, null(), HOLDALL_CREATE, rfc, o, err)
        });
        assert!(s.names().is_empty());
        let (column, name) = (c"n".as_ptr(), c"unit".as_ptr());
        done(|err| holdall_table_column_attr_set(from, column, name, null(), 0, err));
        done(|err| holdall_table_copy(from, null(), HOLDALL_CREATE, rfc, o, err));
        let t = opened(&s, HOLDALL_READ);
        assert_eq!(
            (numbers(t), holdall_table_attr_count(t)),
            (NUMBERS.to_vec(), 1)
        );
        holdall_table_close(t);
        holdall_table_close(from);
        holdall_options_free(o);
    }
}

/// A copy that a callback stops leaves nothing.
#[test]
fn a_copy_reports_progress_and_can_be_stopped() {
    unsafe extern "C" fn stop(ctx: *mut std::ffi::c_void, done: u64, total: u64) -> i32 {
        // SAFETY: the context is a list that only this call uses.
        unsafe { &mut *ctx.cast::<Vec<(u64, u64)>>() }.push((done, total));
        i32::from(done > 0)
    }
    let ((_source, from), s) = (stored(ROWS), Storage::new());
    let (o, mut calls) = (
        s.options(&[(HOLDALL_OPT_LEVEL, 0)]),
        Vec::<(u64, u64)>::new(),
    );
    // SAFETY: a table that is open until it is closed, and options until they are freed.
    unsafe {
        holdall_options_set_progress(o, Some(stop), (&raw mut calls).cast());
        let copy =
            |err| holdall_table_copy(from, null(), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, o, err);
        refused(HOLDALL_E_CANCELLED, copy);
        assert!(
            calls.iter().any(|(done, total)| *done > 0 && *total == 42),
            "{calls:?}"
        );
        assert!(s.names().is_empty(), "{:?}", s.names());
        holdall_table_close(from);
        holdall_options_free(o);
    }
}
