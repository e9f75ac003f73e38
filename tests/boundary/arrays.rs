//! Arrays: in a superchunk, in a frame, and in a folder.

use crate::storage::Storage;
use crate::{done, made, not_made, options, refused};
use holdall::capi::{array::*, common::*, guard::*, options::*};
use std::ptr::{null, null_mut};

const SHAPE: [u64; 2] = [7, 5];

/// Those of a frame are compressed by C code.
const SUM: i64 = if cfg!(miri) { 0 } else { 2 };

/// An array of numbers that count, in several chunks.
fn stored(format: i32) -> Storage {
    let (s, o) = (
        Storage::new(),
        options(&[
            (HOLDALL_OPT_LEVEL, 0),
            (HOLDALL_OPT_CHUNK_BYTES, 40),
            (HOLDALL_OPT_CHECKSUM, SUM),
        ]),
    );
    let items: Vec<i32> = (0..35).collect();
    // SAFETY: handles that are there until they are closed, and lengths as they are.
    unsafe {
        let dtype = c"<i4".as_ptr();
        let a = made(|out, err| {
            holdall_array_create_io(
                s.io,
                HOLDALL_NEW,
                format,
                dtype,
                2,
                SHAPE.as_ptr(),
                null(),
                null(),
                o,
                out,
                err,
            )
        });
        done(|err| {
            holdall_array_write(
                a,
                [0, 0].as_ptr(),
                SHAPE.as_ptr(),
                null(),
                items.as_ptr().cast(),
                null(),
                140,
                err,
            )
        });
        done(|err| holdall_array_commit(a, err));
        holdall_array_close(a);
        holdall_options_free(o);
    }
    s
}

fn opened(s: &Storage, mode: i32) -> *mut holdall_array {
    let o = options(if mode == HOLDALL_APPEND {
        &[(HOLDALL_OPT_LEVEL, 0)]
    } else {
        &[]
    });
    // SAFETY: handles that are there; what was opened keeps what it needs of the options.
    unsafe {
        let a = made(|out, err| holdall_array_open_io(s.io, mode, o, out, err));
        holdall_options_free(o);
        a
    }
}

unsafe fn all(a: *const holdall_array) -> Vec<i32> {
    // SAFETY: an array that is open, of two dimensions and items of 4 bytes, and room for all of
    // it.
    unsafe {
        let n = holdall_array_nbytes(a) as usize;
        let mut items = Vec::<i32>::with_capacity(n / 4);
        done(|err| {
            holdall_array_read(
                a,
                [0, 0].as_ptr(),
                holdall_array_shape(a),
                null(),
                items.as_mut_ptr().cast(),
                null(),
                n,
                err,
            )
        });
        items.set_len(n / 4);
        items
    }
}

/// The metadata of the last are compressed by C code.
const FORMATS: [i32; 4] = [
    HOLDALL_FORMAT_B2ND,
    HOLDALL_FORMAT_BCOLZ,
    HOLDALL_FORMAT_BLZ,
    HOLDALL_FORMAT_BLOSCPACK,
];

fn formats() -> &'static [i32] {
    &FORMATS[..if cfg!(miri) { 3 } else { 4 }]
}

#[test]
fn arrays_are_written_and_read() {
    for &format in formats() {
        let s = stored(format);
        let a = opened(&s, HOLDALL_READ);
        // SAFETY: an array that is open until it is closed, and rooms as long as is said.
        unsafe {
            assert_eq!(
                (
                    holdall_array_ndim(a),
                    holdall_array_itemsize(a),
                    holdall_array_order(a)
                ),
                (2, 4, HOLDALL_ORDER_C)
            );
            assert_eq!(std::slice::from_raw_parts(holdall_array_shape(a), 2), SHAPE);
            assert!(!holdall_array_dtype(a).is_null());
            let _ = (
                holdall_array_chunkshape(a),
                holdall_array_blockshape(a),
                holdall_array_cbytes(a),
            );
            assert_eq!(all(a), (0..35).collect::<Vec<_>>());
            // every second item of every third row, backwards in memory
            let mut room = [-1i32; 9];
            let dst = room.as_mut_ptr().cast();
            done(|err| {
                holdall_array_read(
                    a,
                    [0, 0].as_ptr(),
                    [3, 3].as_ptr(),
                    [3, 2].as_ptr(),
                    dst,
                    [-12, -4].as_ptr(),
                    36,
                    err,
                )
            });
            assert_eq!(room, [34, 32, 30, 19, 17, 15, 4, 2, 0], "{format}");
            let positions = [[6u64, 1].as_ptr(), [4u64, 0, 4].as_ptr()];
            done(|err| {
                holdall_array_read_orthogonal(
                    a,
                    positions.as_ptr(),
                    [2, 3].as_ptr(),
                    room.as_mut_ptr().cast(),
                    24,
                    err,
                )
            });
            assert_eq!(room[..6], [34, 30, 34, 9, 5, 9]);
            done(|err| {
                holdall_array_read_points(
                    a,
                    [0, 1, 6, 4].as_ptr(),
                    2,
                    room.as_mut_ptr().cast(),
                    8,
                    err,
                )
            });
            assert_eq!(room[..2], [1, 34]);
            refused(HOLDALL_E_RANGE, |err| {
                holdall_array_read_points(a, [7, 0].as_ptr(), 1, room.as_mut_ptr().cast(), 4, err)
            });
            refused(HOLDALL_E_STATE, |err| holdall_array_commit(a, err));
            holdall_array_close(a);
        }
    }
}

#[test]
fn arrays_grow_and_shrink() {
    for &format in formats() {
        let s = stored(format);
        let (a, new) = (
            opened(&s, HOLDALL_APPEND),
            [100i32, 101, 102, 103, 104, 105, 106, 107, 108, 109],
        );
        let mut want: Vec<i32> = (0..35).collect();
        // SAFETY: an array that is open until it is closed, and lengths as they are.
        unsafe {
            done(|err| holdall_array_append(a, 0, 2, new.as_ptr().cast(), 40, err));
            want.extend(new);
            done(|err| holdall_array_insert(a, 0, 1, 1, new.as_ptr().cast(), 20, err));
            want.splice(5..5, new[..5].iter().copied());
            done(|err| holdall_array_remove(a, 0, 3, 2, err));
            want.drain(15..25);
            let positions = [[0u64].as_ptr(), [1u64, 3].as_ptr()];
            done(|err| {
                holdall_array_write_orthogonal(
                    a,
                    positions.as_ptr(),
                    [1, 2].as_ptr(),
                    new.as_ptr().cast(),
                    8,
                    err,
                )
            });
            (want[1], want[3]) = (100, 101);
            refused(HOLDALL_E_ARGUMENT, |err| {
                holdall_array_append(a, 0, 2, new.as_ptr().cast(), 39, err)
            });
            assert_eq!(all(a), want, "{format}");
            done(|err| holdall_array_resize(a, [9, 5].as_ptr(), err));
            want.resize(45, 0);
            done(|err| holdall_array_commit(a, err));
            holdall_array_close(a);
            let a = opened(&s, HOLDALL_READ);
            assert_eq!(all(a), want, "{format}");
            holdall_array_close(a);
        }
    }
}

#[test]
fn attributes_and_what_fills() {
    let s = stored(HOLDALL_FORMAT_BCOLZ);
    let a = opened(&s, HOLDALL_APPEND);
    // SAFETY: an array that is open until it is closed; what is borrowed is looked at before the
    // next call.
    unsafe {
        let (mut value, mut n) = (null(), 0);
        done(|err| holdall_array_attr_set(a, c"n".as_ptr(), b"[1, 2]".as_ptr().cast(), 6, err));
        done(|err| holdall_array_attr_set(a, c"m".as_ptr(), b"3".as_ptr().cast(), 1, err));
        done(|err| holdall_array_attr_set(a, c"m".as_ptr(), null(), 0, err));
        assert!(
            holdall_array_attrs(a) == 1
                && !holdall_array_attr_name(a, 0).is_null()
                && holdall_array_attr_name(a, 1).is_null()
        );
        done(|err| holdall_array_attr_get(a, c"n".as_ptr(), &mut value, &mut n, err));
        assert_eq!(std::slice::from_raw_parts(value.cast::<u8>(), n), b"[1, 2]");
        done(|err| holdall_array_fill_set(a, 5i32.to_le_bytes().as_ptr().cast(), 4, err));
        done(|err| holdall_array_fill(a, &mut value, &mut n, err));
        assert_eq!(
            std::slice::from_raw_parts(value.cast::<u8>(), n),
            5i32.to_le_bytes()
        );
        done(|err| holdall_array_resize(a, [8, 5].as_ptr(), err));
        done(|err| holdall_array_commit(a, err));
        assert_eq!(all(a)[35..], [5; 5]);
        refused(HOLDALL_E_TYPE, |err| {
            holdall_array_read_object(a, 0, null_mut(), 0, &mut n, err)
        });
        holdall_array_close(a);
    }
    let none = Storage::new();
    // SAFETY: a storage that is there.
    not_made(HOLDALL_E_MISSING, |out, err| unsafe {
        holdall_array_open_io(none.io, HOLDALL_READ, null(), out, err)
    });
}
