//! Tables, and as Arrow both ways.

use crate::storage::Storage;
use crate::{done, made, options, refused};
use holdall::arrow::ffi::ArrowArrayStream;
use holdall::capi::{array::*, arrow::*, common::*, guard::*, options::*, table::*};
use std::mem::MaybeUninit;
use std::ptr::null;

const ROWS: u64 = 6;
const NUMBERS: [i32; 6] = [1, 2, 3, 4, 5, 6];
const WORDS: &[u8; 18] = b"onetwoabcdefghijkl";

/// A table of two columns, and of some rows.
fn stored(rows: u64) -> (Storage, *mut holdall_table) {
    let (s, o) = (
        Storage::new(),
        options(&[(HOLDALL_OPT_LEVEL, 0), (HOLDALL_OPT_CHUNK_BYTES, 16)]),
    );
    let (names, dtypes) = (
        [c"n".as_ptr(), c"w".as_ptr()],
        [c"<i4".as_ptr(), c"|S3".as_ptr()],
    );
    // SAFETY: handles that are there until they are closed, and lengths as they are.
    unsafe {
        let t = made(|out, err| {
            holdall_table_create_io(
                s.io,
                HOLDALL_NEW,
                HOLDALL_FORMAT_BCOLZ,
                2,
                names.as_ptr(),
                dtypes.as_ptr(),
                o,
                out,
                err,
            )
        });
        let columns = [NUMBERS.as_ptr().cast(), WORDS.as_ptr().cast()];
        done(|err| {
            holdall_table_append(
                t,
                rows,
                columns.as_ptr(),
                [rows as usize * 4, rows as usize * 3].as_ptr(),
                err,
            )
        });
        done(|err| holdall_table_commit(t, err));
        holdall_options_free(o);
        (s, t)
    }
}

unsafe fn numbers(t: *const holdall_table) -> Vec<i32> {
    // SAFETY: a table that is open, whose first column has items of 4 bytes, and room for all of
    // them.
    unsafe {
        let (column, rows) = (holdall_table_column(t, 0), holdall_table_rows(t));
        let mut items = vec![-1; rows as usize];
        done(|err| {
            holdall_array_read(
                column,
                [0].as_ptr(),
                [rows].as_ptr(),
                null(),
                items.as_mut_ptr().cast(),
                null(),
                rows as usize * 4,
                err,
            )
        });
        items
    }
}

#[test]
fn tables_are_written_and_read() {
    let (s, t) = stored(ROWS);
    // SAFETY: a table that is open until it is closed, and lengths as they are.
    unsafe {
        assert_eq!(
            (
                holdall_table_rows(t),
                holdall_table_columns(t),
                holdall_table_column_rows(t, 1)
            ),
            (ROWS, 2, ROWS)
        );
        assert!(!holdall_table_column_name(t, 1).is_null() && holdall_table_column(t, 2).is_null());
        done(|err| holdall_table_write(t, 0, 4, 2, [50i32, 60].as_ptr().cast(), 8, err));
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
        done(|err| holdall_table_column_remove(t, c"w".as_ptr(), err));
        done(|err| holdall_table_truncate(t, 5, err));
        done(|err| holdall_table_attr_set(t, c"a".as_ptr(), b"1".as_ptr().cast(), 1, err));
        done(|err| {
            holdall_table_column_attr_set(t, 0, c"b".as_ptr(), b"2".as_ptr().cast(), 1, err)
        });
        refused(HOLDALL_E_RANGE, |err| holdall_table_truncate(t, 6, err));
        done(|err| holdall_table_commit(t, err));
        holdall_table_close(t);
        let t = made(|out, err| holdall_table_open_io(s.io, HOLDALL_READ, null(), out, err));
        assert_eq!(numbers(t), [1, 2, 3, 4, 50]);
        let (mut value, mut n) = (null(), 0);
        assert!(holdall_table_attrs(t) == 1 && !holdall_table_attr_name(t, 0).is_null());
        done(|err| holdall_table_attr_get(t, c"a".as_ptr(), &mut value, &mut n, err));
        assert_eq!(std::slice::from_raw_parts(value.cast::<u8>(), n), b"1");
        holdall_table_close(t);
    }
}

#[test]
fn a_table_goes_to_another_as_arrow() {
    let ((_a, from), (_b, to)) = (stored(ROWS), stored(2));
    let mut stream = MaybeUninit::<ArrowArrayStream>::uninit();
    // SAFETY: tables that are open until they are closed; the stream is taken, and with it what it
    // keeps.
    unsafe {
        done(|err| holdall_table_to_arrow(from, 1, 5, 2, stream.as_mut_ptr(), err));
        done(|err| holdall_table_append_arrow(to, stream.as_mut_ptr(), err));
        assert!((*stream.as_ptr()).release.is_none());
        done(|err| holdall_table_commit(to, err));
        assert_eq!(numbers(to), [1, 2, 2, 3, 4, 5, 6]);
        // one that is not read
        done(|err| holdall_table_to_arrow(from, 0, ROWS, 0, stream.as_mut_ptr(), err));
        let stream = stream.as_mut_ptr();
        (*stream).release.unwrap()(stream);
        holdall_table_close(from);
        holdall_table_close(to);
    }
}
