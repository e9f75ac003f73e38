//! Statuses above 0: something does not exist, the end is reached, or corrupt parts were skipped.

use crate::bags::{self, RECORDS, allocate};
use crate::storage::Storage;
use crate::{array_spec, done, made, options, refused, returns};
use holdall::capi::{
    array::*, bag::*, container::*, guard::*, index::*, options::*, schunk::*, stream::*, table::*,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// The record that is corrupt.
const CORRUPT: u64 = 2;

/// A bag with a corrupt record, opened with or without skipping it.
fn damaged_bag(skip: i64) -> (Storage, *mut holdall_bag) {
    let s = bags::stored(&[]);
    s.change("", |bytes| {
        let at = bytes.windows(5).position(|w| w == b"three").unwrap();
        bytes[at] ^= 1;
    });
    let o = options(&[(HOLDALL_OPT_SKIP_DAMAGED, skip)]);
    let b = bags::opened(&s, o);
    // SAFETY: the options exist.
    unsafe { holdall_options_free(o) };
    (s, b)
}

/// The number of corrupt records in a batch, and their positions; the batch is freed.
unsafe fn damaged(records: *mut holdall_records) -> Vec<u64> {
    // SAFETY: the batch is valid until it is freed.
    unsafe {
        let n = holdall_records_damaged_count(records);
        let all =
            std::slice::from_raw_parts(holdall_records_damaged_positions(records), n).to_vec();
        holdall_records_free(records);
        all
    }
}

/// Calls that return HOLDALL_DAMAGED and a batch.
#[track_caller]
unsafe fn damaged_batch(
    call: impl FnOnce(*mut *mut holdall_records, *mut holdall_error) -> holdall_status,
) -> Vec<u64> {
    let mut records = null_mut();
    returns(HOLDALL_DAMAGED, |err| call(&mut records, err));
    // SAFETY: the call has stored a batch.
    unsafe { damaged(records) }
}

#[test]
fn corrupt_records_are_skipped_if_requested() {
    let (_s, b) = damaged_bag(1);
    let (mut dst, mut n, mut offsets, mut memory) = ([0u8; 64], 9, [9; 6], Vec::<u8>::new());
    let ctx: *mut c_void = (&raw mut memory).cast();
    // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
    unsafe {
        let dst = dst.as_mut_ptr().cast();
        returns(HOLDALL_DAMAGED, |err| {
            holdall_bag_read(b, CORRUPT, dst, 64, &mut n, err)
        });
        assert_eq!(n, 0);
        done(|err| holdall_bag_read(b, 0, dst, 64, &mut n, err));
        assert_eq!(n, RECORDS[0].len());
        let all = damaged_batch(|out, err| holdall_bag_read_range(b, 1, 4, out, err));
        assert_eq!(all, [1]);
        let intact = made(|out, err| holdall_bag_read_range(b, 3, 2, out, err));
        assert!(damaged(intact).is_empty());
        let list = [CORRUPT, 0, CORRUPT];
        let all = damaged_batch(|out, err| holdall_bag_read_indices(b, list.as_ptr(), 3, out, err));
        assert_eq!(all, [0, 2]);
        returns(HOLDALL_DAMAGED, |err| {
            let offsets = offsets.as_mut_ptr();
            holdall_bag_read_range_to(b, 0, 5, Some(allocate), ctx, offsets, err)
        });
        assert_eq!(offsets, [0, 3, 3, 3, 6, 10]);
        returns(HOLDALL_DAMAGED, |err| {
            let offsets = offsets.as_mut_ptr();
            holdall_bag_read_indices_to(b, list.as_ptr(), 3, Some(allocate), ctx, offsets, err)
        });
        assert_eq!(offsets[..4], [0, 0, 3, 3]);
        let list = [0, 4];
        done(|err| {
            let offsets = offsets.as_mut_ptr();
            holdall_bag_read_indices_to(b, list.as_ptr(), 2, Some(allocate), ctx, offsets, err)
        });
        let kind = HOLDALL_CHECKSUM_CRC32;
        returns(HOLDALL_DAMAGED, |err| {
            holdall_bag_checksum(b, kind, dst, 64, &mut n, err)
        });
        assert_eq!(n, 4);
        // the size is requested, nothing is read
        done(|err| holdall_bag_checksum(b, kind, null_mut(), 0, &mut n, err));
        holdall_bag_close(b);
    }
}

#[test]
fn corrupt_records_are_errors_by_default() {
    let (_s, b) = damaged_bag(0);
    let (mut dst, mut n, status) = ([0u8; 64], 9, HOLDALL_E_CHECKSUM);
    let list = [0, CORRUPT];
    // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
    unsafe {
        let dst = dst.as_mut_ptr().cast();
        refused(status, |err| {
            holdall_bag_read(b, CORRUPT, dst, 64, &mut n, err)
        });
        crate::not_made(status, |out, err| holdall_bag_read_range(b, 0, 5, out, err));
        crate::not_made(status, |out, err| {
            holdall_bag_read_indices(b, list.as_ptr(), 2, out, err)
        });
        let kind = HOLDALL_CHECKSUM_CRC32;
        refused(status, |err| {
            holdall_bag_checksum(b, kind, dst, 64, &mut n, err)
        });
        let stream =
            made(|out, err| holdall_bag_stream_open(b, None, null_mut(), null(), out, err));
        let mut record = null();
        for i in 0..5 {
            let next = |err: *mut _| holdall_bag_stream_next(stream, &mut record, &mut n, err);
            if i == CORRUPT {
                refused(status, next);
            } else {
                done(next);
            }
        }
        returns(HOLDALL_END, |err| {
            holdall_bag_stream_next(stream, &mut record, &mut n, err)
        });
        assert_eq!(holdall_bag_stream_damaged_count(stream), 0);
        holdall_bag_stream_close(stream);
        holdall_bag_close(b);
    }
}

#[test]
fn streams_skip_corrupt_records_and_end() {
    let (_s, b) = damaged_bag(1);
    // SAFETY: handles that are open until they are closed; a record is read before the next call.
    unsafe {
        let open =
            || made(|out, err| holdall_bag_stream_open(b, None, null_mut(), null(), out, err));
        let (stream, mut record, mut n) = (open(), null(), 0);
        for (i, expected) in (0..).zip(RECORDS) {
            let (status, size) = if i == CORRUPT {
                (HOLDALL_DAMAGED, 0)
            } else {
                (HOLDALL_OK, expected.len())
            };
            returns(status, |err| {
                holdall_bag_stream_next(stream, &mut record, &mut n, err)
            });
            assert!(n == size && !record.is_null());
            assert_eq!(holdall_bag_stream_number(stream), i);
        }
        let last = (record, n);
        for _ in 0..2 {
            returns(HOLDALL_END, |err| {
                holdall_bag_stream_next(stream, &mut record, &mut n, err)
            });
            assert_eq!((record, n), last);
        }
        assert_eq!(holdall_bag_stream_damaged_count(stream), 1);
        holdall_bag_stream_close(stream);

        let stream = open();
        let intact = made(|out, err| holdall_bag_stream_take(stream, 2, out, err));
        assert!(damaged(intact).is_empty());
        let all = damaged_batch(|out, err| holdall_bag_stream_take(stream, 2, out, err));
        assert_eq!(all, [0]);
        let rest = made(|out, err| holdall_bag_stream_take(stream, 9, out, err));
        assert_eq!(holdall_records_count(rest), 1);
        holdall_records_free(rest);
        for _ in 0..2 {
            // not NULL before the call
            let mut none = null_mut::<holdall_records>().wrapping_byte_add(64);
            returns(HOLDALL_END, |err| {
                holdall_bag_stream_take(stream, 1, &mut none, err)
            });
            assert!(none.is_null());
        }
        holdall_bag_stream_close(stream);
        holdall_bag_close(b);
    }
}

/// Record numbers, and the status that follows them.
struct Numbers(std::vec::IntoIter<u64>, i32);

unsafe extern "C" fn next_number(ctx: *mut c_void, index: *mut u64) -> i32 {
    // SAFETY: the context is the value that the test passes, and is used by one thread at a time.
    let numbers = unsafe { &mut *ctx.cast::<Numbers>() };
    match numbers.0.next() {
        Some(number) => {
            // SAFETY: a valid pointer to one value.
            unsafe { index.write(number) };
            HOLDALL_OK
        }
        None => numbers.1,
    }
}

#[test]
fn every_positive_value_of_an_index_function_is_the_end() {
    let s = bags::stored(&[]);
    let b = bags::opened(&s, null_mut());
    for (last, expected) in [
        (HOLDALL_END, HOLDALL_END),
        (HOLDALL_NOT_FOUND, HOLDALL_END),
        (HOLDALL_DAMAGED, HOLDALL_END),
        (i32::MAX, HOLDALL_END),
        (-1, HOLDALL_E_CALLBACK),
        (i32::MIN, HOLDALL_E_CALLBACK),
    ] {
        let mut numbers = Numbers(vec![4, 0].into_iter(), last);
        let (mut record, mut n) = (null(), 0);
        // SAFETY: handles that are open until they are closed; the context outlives the stream.
        unsafe {
            let ctx = (&raw mut numbers).cast();
            let stream = made(|out, err| {
                holdall_bag_stream_open(b, Some(next_number), ctx, null(), out, err)
            });
            for expected in [4, 0] {
                done(|err| holdall_bag_stream_next(stream, &mut record, &mut n, err));
                assert_eq!(holdall_bag_stream_number(stream), expected);
            }
            let end = |err: *mut _| holdall_bag_stream_next(stream, &mut record, &mut n, err);
            if expected > 0 {
                returns(expected, end);
            } else {
                let message = refused(expected, end);
                assert!(message.contains(&last.to_string()), "{message}");
            }
            holdall_bag_stream_close(stream);
        }
    }
    // SAFETY: it is open.
    unsafe { holdall_bag_close(b) };
}

#[test]
fn keys_that_do_not_exist_are_not_found() {
    let s = bags::stored(&[]);
    let b = bags::opened(&s, null_mut());
    // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
    unsafe {
        let index = made(|out, err| holdall_bag_index_build(b, null(), out, err));
        let (key, mut record, mut n, mut records) = (b"two".as_ptr().cast(), 9, 9, [9; 3]);
        returns(HOLDALL_NOT_FOUND, |err| {
            holdall_bag_index_find_first(index, key, 3, &mut record, err)
        });
        assert_eq!(record, HOLDALL_NO_RECORD);
        returns(HOLDALL_NOT_FOUND, |err| {
            holdall_bag_index_find(index, key, 3, records.as_mut_ptr(), 3, &mut n, err)
        });
        assert_eq!((n, records), (0, [9; 3]));
        let offsets = [0, 3, 6];
        returns(HOLDALL_NOT_FOUND, |err| {
            let (keys, records) = (b"onetwo".as_ptr().cast(), records.as_mut_ptr());
            holdall_bag_index_find_many(index, keys, offsets.as_ptr(), 2, records, err)
        });
        assert_eq!(records[..2], [0, HOLDALL_NO_RECORD]);
        holdall_bag_index_close(index);
        holdall_bag_close(b);
    }
}

#[test]
fn attributes_that_do_not_exist_are_not_found() {
    let (schunk, _) = crate::schunks::stored(HOLDALL_FORMAT_B2FRAME);
    let array = crate::arrays::stored(HOLDALL_FORMAT_BCOLZ);
    let (_storage, t) = crate::tables::stored(2);
    let c = crate::schunks::opened(&schunk, HOLDALL_READ);
    let a = crate::arrays::opened(&array, HOLDALL_READ);
    // SAFETY: handles that are open until they are closed.
    unsafe {
        for kind in 0..3 {
            let (mut value, mut n) = (c"".as_ptr().cast(), 9);
            let (name, value_out) = (c"none".as_ptr(), &raw mut value);
            returns(HOLDALL_NOT_FOUND, |err| match kind {
                0 => holdall_schunk_attr_get(c, name, value_out, &mut n, err),
                1 => holdall_array_attr_get(a, name, value_out, &mut n, err),
                _ => holdall_table_attr_get(t, name, value_out, &mut n, err),
            });
            assert!(value.is_null() && n == 0, "{kind}");
        }
        // zeros are a fill value
        let (mut value, mut n) = (c"".as_ptr().cast(), 9);
        done(|err| holdall_array_fill_value_get(a, &mut value, &mut n, err));
        assert!(value.is_null() && n == 0);
        assert!(holdall_table_find_column(t, c"none".as_ptr()).is_null());
        holdall_schunk_close(c);
        holdall_array_close(a);
        holdall_table_close(t);
    }
}

/// Changes one byte in the first chunk that contains this text.
fn damage(s: &Storage, content: &[u8]) {
    let found = s.names().into_iter().find_map(|name| {
        let bytes = s.bytes(&name);
        let at = bytes.windows(content.len()).position(|w| w == content)?;
        Some((name, at))
    });
    let (name, at) = found.unwrap();
    s.change(&name, |bytes| bytes[at] ^= 1);
}

fn skipping() -> *mut holdall_options {
    options(&[(HOLDALL_OPT_SKIP_DAMAGED, 1)])
}

#[test]
#[cfg_attr(miri, ignore = "calls C code for checksums")]
fn corrupt_chunks_of_superchunks_are_skipped_if_requested() {
    for format in [HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_B2FRAME] {
        let (s, content) = crate::schunks::stored(format);
        damage(&s, &content[45..75]);
        let (mut dst, mut n, o) = ([0xeeu8; 170], 9, skipping());
        // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
        unsafe {
            let open = |o| {
                made(|out, err| {
                    s.with(o, |o| {
                        holdall_schunk_open(null(), HOLDALL_READ, o, out, err)
                    })
                })
            };
            let c = open(o);
            let to = dst.as_mut_ptr().cast();
            returns(HOLDALL_DAMAGED, |err| {
                holdall_schunk_read(c, 0, to, 170, err)
            });
            let expected = [&content[..40], &[0; 40], &content[80..]].concat();
            assert_eq!(dst[..], expected, "{format}");
            done(|err| holdall_schunk_read(c, 80, to, 90, err));
            returns(HOLDALL_DAMAGED, |err| {
                holdall_schunk_read_chunk(c, 1, to, 40, &mut n, err)
            });
            assert_eq!(
                (n, dst[..40].iter().any(|b| *b != 0)),
                (40, false),
                "{format}"
            );
            done(|err| holdall_schunk_read_chunk(c, 0, to, 40, &mut n, err));
            let kind = HOLDALL_CHECKSUM_SHA1;
            returns(HOLDALL_DAMAGED, |err| {
                holdall_schunk_checksum(c, kind, to, 20, &mut n, err)
            });
            refused(HOLDALL_E_CHECKSUM, |err| {
                holdall_schunk_read_raw(c, 1, to, 170, &mut n, err)
            });
            for to_format in [HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_B2FRAME] {
                let copy = Storage::new();
                returns(HOLDALL_DAMAGED, |err| {
                    copy.with(null_mut(), |o| {
                        holdall_schunk_copy(c, null(), HOLDALL_CREATE, to_format, o, err)
                    })
                });
                let copied = crate::schunks::opened(&copy, HOLDALL_READ);
                assert_eq!(
                    crate::schunks::content(copied),
                    expected,
                    "{format} {to_format}"
                );
                holdall_schunk_close(copied);
            }
            holdall_schunk_close(c);
            let c = open(null_mut());
            refused(HOLDALL_E_CHECKSUM, |err| {
                holdall_schunk_read(c, 0, to, 170, err)
            });
            done(|err| holdall_schunk_read(c, 0, to, 40, err));
            holdall_schunk_close(c);
            holdall_options_free(o);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "calls C code for checksums")]
fn corrupt_chunks_of_arrays_are_skipped_if_requested() {
    for format in [
        HOLDALL_FORMAT_BLOSCPACK,
        HOLDALL_FORMAT_BCOLZ,
        HOLDALL_FORMAT_BLZ,
        HOLDALL_FORMAT_BLZ_RFC,
        HOLDALL_FORMAT_B2ND,
        HOLDALL_FORMAT_CATERVA,
    ] {
        let s = crate::arrays::stored(format);
        // item 0, which is in the first chunk of every format
        let first: Vec<u8> = (1..3i32).flat_map(i32::to_le_bytes).collect();
        damage(&s, &first);
        let (mut dst, o) = ([-1i32; 35], skipping());
        // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
        unsafe {
            let a = made(|out, err| {
                s.with(o, |o| holdall_array_open(null(), HOLDALL_READ, o, out, err))
            });
            let to = dst.as_mut_ptr().cast();
            returns(HOLDALL_DAMAGED, |err| {
                holdall_array_read(a, null(), null(), null(), to, 140, null(), err)
            });
            assert!(dst[0] == 0 && dst[34] == 34, "{format}");
            let expected = dst;
            done(|err| holdall_array_read(a, [6, 0].as_ptr(), null(), null(), to, 20, null(), err));
            let positions = [[0u64].as_ptr(), [1u64].as_ptr()];
            returns(HOLDALL_DAMAGED, |err| {
                holdall_array_read_orthogonal(a, positions.as_ptr(), [1, 1].as_ptr(), to, 4, err)
            });
            returns(HOLDALL_DAMAGED, |err| {
                holdall_array_read_points(a, [6, 4, 0, 0].as_ptr(), 2, to, 8, err)
            });
            assert_eq!(dst[..2], [34, 0], "{format}");
            let copy = Storage::new();
            let spec = array_spec(HOLDALL_FORMAT_B2ND, c"<i4", &[7, 5]);
            let spec = holdall_array_spec {
                dtype: if format == HOLDALL_FORMAT_CATERVA {
                    null()
                } else {
                    spec.dtype
                },
                ..spec
            };
            returns(HOLDALL_DAMAGED, |err| {
                copy.with(null_mut(), |o| {
                    holdall_array_copy(a, null(), HOLDALL_CREATE, &spec, o, err)
                })
            });
            let copied = crate::arrays::opened(&copy, HOLDALL_READ);
            assert_eq!(crate::arrays::all(copied), expected, "{format}");
            holdall_array_close(copied);
            holdall_array_close(a);
            holdall_options_free(o);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "calls C code for checksums")]
fn corrupt_chunks_of_tables_are_skipped_if_requested() {
    let (s, t) = crate::tables::stored(6);
    // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
    unsafe {
        holdall_table_close(t);
        damage(&s, b"onetwo");
        let o = skipping();
        let t =
            made(|out, err| s.with(o, |o| holdall_table_open(null(), HOLDALL_READ, o, out, err)));
        let (mut numbers, mut text) = ([-1i32; 6], [0xeeu8; 18]);
        let dsts: [*mut c_void; 2] = [numbers.as_mut_ptr().cast(), text.as_mut_ptr().cast()];
        let sizes = [24, 18];
        returns(HOLDALL_DAMAGED, |err| {
            holdall_table_read_rows(t, 0, 6, 1, 2, null(), dsts.as_ptr(), sizes.as_ptr(), err)
        });
        assert_eq!((numbers, &text[..6]), ([1, 2, 3, 4, 5, 6], &[0; 6][..]));
        // the other column is intact
        let name = [c"n".as_ptr()];
        done(|err| {
            let names = name.as_ptr();
            holdall_table_read_rows(t, 0, 6, 1, 1, names, dsts.as_ptr(), sizes.as_ptr(), err)
        });
        let rows = [0];
        returns(HOLDALL_DAMAGED, |err| {
            let (dsts, sizes) = (dsts.as_ptr(), sizes.as_ptr());
            holdall_table_read_points(t, rows.as_ptr(), 1, 2, null(), dsts, sizes, err)
        });
        let copy = Storage::new();
        returns(HOLDALL_DAMAGED, |err| {
            copy.with(null_mut(), |o| {
                holdall_table_copy(t, null(), HOLDALL_CREATE, HOLDALL_FORMAT_BLZ, o, err)
            })
        });
        let copied = crate::tables::opened(&copy, HOLDALL_READ);
        done(|err| {
            let (dsts, sizes) = (dsts.as_ptr(), sizes.as_ptr());
            holdall_table_read_rows(copied, 0, 6, 1, 2, null(), dsts, sizes, err)
        });
        assert_eq!((numbers, &text[..6]), ([1, 2, 3, 4, 5, 6], &[0; 6][..]));
        holdall_table_close(copied);
        holdall_table_close(t);
        holdall_options_free(o);
    }
}
