//! Arrays: in a superchunk, in a frame, and in a folder.

use crate::storage::Storage;
use crate::{array_spec, done, info, made, not_made, refused, returns};
use holdall::capi::{array::*, container::*, guard::*, options::*};
use std::ptr::{null, null_mut};

const SHAPE: [u64; 2] = [7, 5];

/// The checksums of a frame are compressed by C code.
const CHECKSUM: i32 = if cfg!(miri) {
    HOLDALL_CHECKSUM_NONE
} else {
    HOLDALL_CHECKSUM_CRC32
};

/// Returns a storage with an array of ascending numbers, in several chunks.
pub fn stored(format: i32) -> Storage {
    let s = Storage::new();
    let o = s.options(&[
        (HOLDALL_OPT_LEVEL, 0),
        (HOLDALL_OPT_CHUNK_BYTES, 40),
        (HOLDALL_OPT_CHECKSUM, CHECKSUM.into()),
    ]);
    let items: Vec<i32> = (0..35).collect();
    let spec = array_spec(format, c"<i4", &SHAPE);
    // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
    unsafe {
        let a = made(|out, err| holdall_array_create(null(), HOLDALL_CREATE, &spec, o, out, err));
        let (all, src) = (null(), items.as_ptr().cast());
        done(|err| holdall_array_write(a, all, all, all, src, 140, null(), err));
        done(|err| holdall_array_commit(a, err));
        holdall_array_close(a);
        holdall_options_free(o);
    }
    s
}

pub fn opened(s: &Storage, mode: i32) -> *mut holdall_array {
    let level = [(HOLDALL_OPT_LEVEL, 0)];
    let o = s.options(&level[..usize::from(mode == HOLDALL_APPEND)]);
    // SAFETY: storage and options exist; the handle copies the options.
    unsafe {
        let a = made(|out, err| holdall_array_open(null(), mode, o, out, err));
        holdall_options_free(o);
        a
    }
}

pub unsafe fn all(a: *const holdall_array) -> Vec<i32> {
    // SAFETY: an open array of two dimensions and items of 4 bytes, and a buffer for all of it.
    unsafe {
        let n = holdall_array_nbytes(a) as usize;
        let mut items = Vec::<i32>::with_capacity(n / 4);
        done(|err| {
            let dst = items.as_mut_ptr().cast();
            holdall_array_read(a, null(), null(), null(), dst, n, null(), err)
        });
        items.set_len(n / 4);
        items
    }
}

/// The metadata of the last one are compressed by C code.
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
        // SAFETY: an array that is open until it is closed, and buffers of the stated sizes.
        unsafe {
            assert_eq!((holdall_array_ndim(a), holdall_array_itemsize(a)), (2, 4));
            assert_eq!(std::slice::from_raw_parts(holdall_array_shape(a), 2), SHAPE);
            let info: holdall_array_info = info(|info, err| holdall_array_get_info(a, info, err));
            assert_eq!((info.format, info.ndim, info.itemsize), (format, 2, 4));
            assert_eq!(
                (info.nbytes, info.generation, info.attr_count > 1),
                (140, 0, false)
            );
            assert_eq!(
                (info.order, info.codec),
                (HOLDALL_ORDER_C, HOLDALL_CODEC_NONE)
            );
            let is_file = format == HOLDALL_FORMAT_BLOSCPACK;
            assert_eq!(
                (info.level, info.checksum),
                (if is_file { -1 } else { 0 }, CHECKSUM)
            );
            assert_eq!(
                (info.filter_count, info.filters[0]),
                (1, HOLDALL_FILTER_SHUFFLE as u8)
            );
            assert_eq!(info.shape, holdall_array_shape(a));
            assert_eq!(info.dtype, holdall_array_dtype(a));
            for shape in [info.chunk_shape, info.block_shape] {
                assert!(std::slice::from_raw_parts(shape, 2).iter().all(|n| *n > 0));
            }
            assert!(info.stored_bytes > 140);
            assert_eq!(all(a), (0..35).collect::<Vec<_>>());
            // every second item of every third row, backwards in memory
            let mut buffer = [-1i32; 9];
            let dst = buffer.as_mut_ptr().cast();
            done(|err| {
                holdall_array_read(
                    a,
                    [0, 0].as_ptr(),
                    [3, 3].as_ptr(),
                    [3, 2].as_ptr(),
                    dst,
                    36,
                    [-12, -4].as_ptr(),
                    err,
                )
            });
            assert_eq!(buffer, [34, 32, 30, 19, 17, 15, 4, 2, 0], "{format}");
            // the same items forwards: all from the start on, by steps
            let (step, dst) = ([3, 2].as_ptr(), buffer.as_mut_ptr().cast());
            done(|err| holdall_array_read(a, null(), null(), step, dst, 36, null(), err));
            assert_eq!(buffer, [0, 2, 4, 15, 17, 19, 30, 32, 34], "{format}");
            let start = [6, 3].as_ptr();
            done(|err| holdall_array_read(a, start, null(), null(), dst, 8, null(), err));
            assert_eq!(buffer[..2], [33, 34]);
            let start = [7, 5].as_ptr();
            done(|err| holdall_array_read(a, start, null(), null(), dst, 0, null(), err));
            let start = [0, 6].as_ptr();
            refused(HOLDALL_E_RANGE, |err| {
                holdall_array_read(a, start, null(), null(), dst, 36, null(), err)
            });
            let step = [0, 1].as_ptr();
            refused(HOLDALL_E_ARGUMENT, |err| {
                holdall_array_read(a, null(), null(), step, dst, 36, null(), err)
            });
            let positions = [[6u64, 1].as_ptr(), [4u64, 0, 4].as_ptr()];
            done(|err| {
                holdall_array_read_orthogonal(
                    a,
                    positions.as_ptr(),
                    [2, 3].as_ptr(),
                    buffer.as_mut_ptr().cast(),
                    24,
                    err,
                )
            });
            assert_eq!(buffer[..6], [34, 30, 34, 9, 5, 9]);
            done(|err| {
                holdall_array_read_points(
                    a,
                    [0, 1, 6, 4].as_ptr(),
                    2,
                    buffer.as_mut_ptr().cast(),
                    8,
                    err,
                )
            });
            assert_eq!(buffer[..2], [1, 34]);
            refused(HOLDALL_E_RANGE, |err| {
                holdall_array_read_points(a, [7, 0].as_ptr(), 1, buffer.as_mut_ptr().cast(), 4, err)
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
        let mut expected: Vec<i32> = (0..35).collect();
        // SAFETY: an array that is open until it is closed, and buffers of the stated sizes.
        unsafe {
            done(|err| holdall_array_append(a, 0, 2, new.as_ptr().cast(), 40, err));
            expected.extend(new);
            done(|err| holdall_array_insert(a, 0, 1, 1, new.as_ptr().cast(), 20, err));
            expected.splice(5..5, new[..5].iter().copied());
            done(|err| holdall_array_remove(a, 0, 3, 2, err));
            expected.drain(15..25);
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
            (expected[1], expected[3]) = (100, 101);
            refused(HOLDALL_E_ARGUMENT, |err| {
                holdall_array_append(a, 0, 2, new.as_ptr().cast(), 39, err)
            });
            assert_eq!(all(a), expected, "{format}");
            done(|err| holdall_array_resize(a, [9, 5].as_ptr(), err));
            expected.resize(45, 0);
            done(|err| holdall_array_commit(a, err));
            let info: holdall_array_info = info(|info, err| holdall_array_get_info(a, info, err));
            assert_eq!(info.generation, 1);
            holdall_array_close(a);
            let a = opened(&s, HOLDALL_READ);
            assert_eq!(all(a), expected, "{format}");
            holdall_array_close(a);
        }
    }
}

#[test]
fn attributes_and_the_fill_value() {
    let s = stored(HOLDALL_FORMAT_BCOLZ);
    let a = opened(&s, HOLDALL_APPEND);
    // SAFETY: an array that is open until it is closed; borrowed pointers are read before the next
    // call.
    unsafe {
        let (mut value, mut n) = (null(), 0);
        done(|err| holdall_array_attr_set(a, c"n".as_ptr(), b"[1, 2]".as_ptr().cast(), 6, err));
        done(|err| holdall_array_attr_set(a, c"m".as_ptr(), b"3".as_ptr().cast(), 1, err));
        done(|err| holdall_array_attr_set(a, c"m".as_ptr(), null(), 0, err));
        assert!(
            holdall_array_attr_count(a) == 1
                && !holdall_array_attr_name(a, 0).is_null()
                && holdall_array_attr_name(a, 1).is_null()
        );
        done(|err| holdall_array_attr_get(a, c"n".as_ptr(), &mut value, &mut n, err));
        assert_eq!(std::slice::from_raw_parts(value.cast::<u8>(), n), b"[1, 2]");
        done(|err| holdall_array_fill_value_get(a, &mut value, &mut n, err));
        assert!(value.is_null() && n == 0);
        done(|err| holdall_array_fill_value_set(a, 5i32.to_le_bytes().as_ptr().cast(), 4, err));
        done(|err| holdall_array_fill_value_get(a, &mut value, &mut n, err));
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
    let o = none.options(&[]);
    // SAFETY: the options exist until they are freed.
    unsafe {
        not_made(HOLDALL_E_MISSING, |out, err| {
            holdall_array_open(null(), HOLDALL_READ, o, out, err)
        });
        not_made(HOLDALL_E_ARGUMENT, |out, err| {
            holdall_array_open(c"path".as_ptr(), HOLDALL_READ, o, out, err)
        });
        holdall_options_free(o);
    }
}

#[test]
fn arrays_are_copied_to_storage() {
    for &format in formats() {
        let (source, s, other) = (stored(HOLDALL_FORMAT_BCOLZ), Storage::new(), [7u64, 6]);
        let from = opened(&source, HOLDALL_READ);
        let o = s.options(&[
            (HOLDALL_OPT_LEVEL, 0),
            (HOLDALL_OPT_CHECKSUM, CHECKSUM.into()),
        ]);
        let same = array_spec(format, c"int32", &SHAPE);
        let others = [
            holdall_array_spec { ndim: 1, ..same },
            holdall_array_spec { ndim: 0, ..same },
            holdall_array_spec {
                shape: other.as_ptr(),
                ..same
            },
            holdall_array_spec {
                dtype: c"<u4".as_ptr(),
                ..same
            },
            // a shape of 0 values
            holdall_array_spec { ndim: 0, ..same },
            holdall_array_spec { format: 0, ..same },
            holdall_array_spec {
                struct_size: 0,
                ..same
            },
        ];
        let none = holdall_array_spec {
            dtype: null(),
            shape: null(),
            ..array_spec(format, c"", &[])
        };
        // SAFETY: array and options exist until they are closed and freed.
        unsafe {
            let copy = |spec: &holdall_array_spec, mode, err| {
                holdall_array_copy(from, null(), mode, spec, o, err)
            };
            for spec in &others {
                refused(HOLDALL_E_ARGUMENT, |err| copy(spec, HOLDALL_CREATE, err));
            }
            done(|err| copy(&same, HOLDALL_CREATE, err));
            done(|err| copy(&none, HOLDALL_REPLACE, err));
            holdall_array_close(from);
            holdall_options_free(o);
            let a = opened(&s, HOLDALL_READ);
            assert_eq!(all(a), (0..35).collect::<Vec<_>>());
            holdall_array_close(a);
        }
    }
}

#[test]
fn corrupt_chunks_are_skipped_as_damaged() {
    let s = stored(HOLDALL_FORMAT_BCOLZ);
    s.change("data/__1.blp", |bytes| bytes[40] ^= 1);
    let o = s.options(&[(HOLDALL_OPT_SKIP_DAMAGED, 1)]);
    let mut items = [-1i32; 35];
    // SAFETY: an array that is open until it is closed, and a buffer for all of it.
    unsafe {
        let a = made(|out, err| holdall_array_open(null(), HOLDALL_READ, o, out, err));
        let (all, dst) = (null(), items.as_mut_ptr().cast());
        let read = |err| holdall_array_read(a, all, all, all, dst, 140, null(), err);
        let expected = if cfg!(miri) {
            HOLDALL_OK
        } else {
            HOLDALL_DAMAGED
        };
        returns(expected, read);
        holdall_array_close(a);
        holdall_options_free(o);
    }
    if !cfg!(miri) {
        assert!(items[10..20].iter().all(|n| *n == 0), "{items:?}");
        assert_eq!(items[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
}

#[test]
fn null_selects_position_0_the_rest_and_steps_of_1() {
    for &format in formats() {
        let s = stored(format);
        let a = opened(&s, HOLDALL_APPEND);
        let none = null::<u64>();
        let (start, count, step) = ([5, 3].as_ptr(), [1, 2].as_ptr(), [3, 2].as_ptr());
        let mut items = [-1i32; 35];
        let dst = items.as_mut_ptr().cast();
        // SAFETY: an array that is open until it is closed, and buffers of the stated sizes.
        unsafe {
            for (start, count, step, expected) in [
                (start, none, none, &[28, 29, 33, 34][..]),
                (none, count, none, &[0, 1]),
                (none, none, step, &[0, 2, 4, 15, 17, 19, 30, 32, 34]),
                ([1, 1].as_ptr(), none, step, &[6, 8, 21, 23]),
                ([7, 0].as_ptr(), none, none, &[]),
                ([0, 5].as_ptr(), none, step, &[]),
            ] {
                let size = expected.len() * 4;
                done(|err| holdall_array_read(a, start, count, step, dst, size, null(), err));
                assert_eq!(items[..expected.len()], *expected, "{format}");
                if size > 0 {
                    refused(HOLDALL_E_BUFFER, |err| {
                        holdall_array_read(a, start, count, step, dst, size - 1, null(), err)
                    });
                }
            }
            for (status, start, step) in [
                (HOLDALL_E_RANGE, [8, 0].as_ptr(), none),
                (HOLDALL_E_RANGE, [0, u64::MAX].as_ptr(), step),
                (HOLDALL_E_ARGUMENT, none, [1, 0].as_ptr()),
            ] {
                refused(status, |err| {
                    holdall_array_read(a, start, none, step, dst, 140, null(), err)
                });
            }
            let new = [-5i32; 9];
            done(|err| {
                holdall_array_write(a, none, none, step, new.as_ptr().cast(), 36, null(), err)
            });
            let expected: Vec<i32> = (0..35)
                .map(|i| {
                    if i / 5 % 3 == 0 && i % 5 % 2 == 0 {
                        -5
                    } else {
                        i
                    }
                })
                .collect();
            assert_eq!(all(a), expected, "{format}");
            holdall_array_close(a);
        }
    }
}

#[test]
fn an_array_without_dimensions_has_one_item() {
    let s = Storage::new();
    let o = s.options(&[
        (HOLDALL_OPT_CHECKSUM, CHECKSUM.into()),
        (HOLDALL_OPT_LEVEL, 0),
    ]);
    let spec = holdall_array_spec {
        shape: null(),
        ..array_spec(HOLDALL_FORMAT_B2ND, c"<i4", &[])
    };
    // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
    unsafe {
        let a = made(|out, err| holdall_array_create(null(), HOLDALL_CREATE, &spec, o, out, err));
        let none = null::<u64>();
        let item = 7i32;
        let src = (&raw const item).cast();
        done(|err| holdall_array_write(a, none, none, none, src, 4, null(), err));
        done(|err| holdall_array_commit(a, err));
        holdall_array_close(a);
        let a = opened(&s, HOLDALL_READ);
        assert_eq!(all(a), [item]);
        let reported: holdall_array_info = info(|i, err| holdall_array_get_info(a, i, err));
        assert_eq!(
            (reported.ndim, reported.nbytes, reported.itemsize),
            (0, 4, 4)
        );
        holdall_array_close(a);
        holdall_options_free(o);
    }
}
