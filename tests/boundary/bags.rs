//! Bags: writer, reader, records, stream, epoch, index, and as Arrow.

use crate::storage::Storage;
use crate::{done, in_storages, info, made, not_made, options, refused};
use holdall::arrow::ffi::ArrowArrayStream;
use holdall::capi::{
    arrow::*, bag::*, container::*, guard::*, index::*, options::*, storage::*, stream::*,
};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

pub const RECORDS: [&[u8]; 5] = [
    b"one",
    b"",
    b"three, which is a little longer",
    b"one",
    b"five",
];

/// Returns a storage with a bag of these records, in two commits.
pub fn stored(more: &[(i32, i64)]) -> Storage {
    let (s, o) = (
        Storage::new(),
        options(&[(HOLDALL_OPT_CODEC, HOLDALL_CODEC_NONE.into())]),
    );
    // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
    unsafe {
        for (option, value) in more {
            done(|err| holdall_options_set(o, *option, *value, err));
        }
        let w = made(|out, err| {
            s.with(o, |o| {
                holdall_bag_writer_open(null(), HOLDALL_CREATE, o, out, err)
            })
        });
        for r in &RECORDS[..3] {
            done(|err| holdall_bag_writer_append(w, r.as_ptr().cast(), r.len(), err));
        }
        done(|err| holdall_bag_writer_commit(w, err));
        done(|err| {
            holdall_bag_writer_append_many(
                w,
                b"onefive".as_ptr().cast(),
                [0, 3, 7].as_ptr(),
                2,
                err,
            )
        });
        refused(HOLDALL_E_ARGUMENT, |err| {
            holdall_bag_writer_append_many(w, b"x".as_ptr().cast(), [1, 0].as_ptr(), 1, err)
        });
        assert_eq!(holdall_bag_writer_record_count(w), 5);
        done(|err| holdall_bag_writer_commit(w, err));
        holdall_bag_writer_close(w);
        holdall_options_free(o);
    }
    s
}

pub fn opened(s: &Storage, o: *mut holdall_options) -> *mut holdall_bag {
    // SAFETY: storage and options exist; the handle copies the options.
    made(|out, err| unsafe { s.with(o, |o| holdall_bag_open(null(), o, out, err)) })
}

/// Returns the records of a batch, which is freed.
pub unsafe fn taken(r: *mut holdall_records) -> Vec<Vec<u8>> {
    // SAFETY: a batch, whose bytes and offsets are valid until it is freed.
    unsafe {
        let n = holdall_records_count(r);
        let offsets = std::slice::from_raw_parts(holdall_records_offsets(r), n + 1);
        let data = std::slice::from_raw_parts(holdall_records_data(r), offsets[n] as usize);
        let all = offsets
            .windows(2)
            .map(|w| data[w[0] as usize..w[1] as usize].to_vec())
            .collect();
        assert_eq!(holdall_records_damaged_count(r), 0);
        let _ = (
            holdall_records_damaged_positions(r),
            holdall_records_numbers(r),
        );
        holdall_records_free(r);
        all
    }
}

unsafe fn check(b: *mut holdall_bag) {
    // SAFETY: a bag that is open, and buffers of the stated sizes.
    unsafe {
        assert_eq!(
            (
                holdall_bag_record_count(b),
                holdall_bag_shard_count(b),
                holdall_bag_shard_record_count(b, 0)
            ),
            (5, 1, 5)
        );
        assert!(!holdall_bag_shard_name(b, 0).is_null() && holdall_bag_shard_name(b, 1).is_null());
        let reported: holdall_bag_info = info(|info, err| holdall_bag_get_info(b, info, err));
        assert_eq!(
            (reported.format, reported.codec),
            (HOLDALL_FORMAT_BAGZ, HOLDALL_CODEC_NONE)
        );
        assert_eq!(
            (
                reported.record_count,
                reported.shard_count,
                reported.generation
            ),
            (5, 1, 0)
        );
        assert!(reported.stored_bytes >= 41 + 5 * 8);
        let (mut buffer, mut n) = ([MaybeUninit::<u8>::uninit(); 40], 0);
        done(|err| holdall_bag_read(b, 2, buffer.as_mut_ptr().cast(), buffer.len(), &mut n, err));
        assert_eq!(
            std::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), n),
            RECORDS[2]
        );
        refused(HOLDALL_E_BUFFER, |err| {
            holdall_bag_read(b, 2, buffer.as_mut_ptr().cast(), 3, &mut n, err)
        });
        refused(HOLDALL_E_RANGE, |err| {
            holdall_bag_read(b, 5, buffer.as_mut_ptr().cast(), 40, &mut n, err)
        });
        assert_eq!(
            taken(made(|out, err| holdall_bag_read_range(b, 1, 3, out, err))),
            RECORDS[1..4]
        );
        assert_eq!(
            taken(made(|out, err| holdall_bag_read_indices(
                b,
                [4, 0, 4].as_ptr(),
                3,
                out,
                err
            ))),
            [RECORDS[4], RECORDS[0], RECORDS[4]]
        );
        not_made(HOLDALL_E_RANGE, |out, err| {
            holdall_bag_read_range(b, 3, u64::MAX, out, err)
        });
        let part = made(|out, err| holdall_bag_slice(b, 4, 3, -2, out, err));
        assert_eq!(
            taken(made(|out, err| holdall_bag_read_range(
                part, 0, 3, out, err
            ))),
            [RECORDS[4], RECORDS[2], RECORDS[0]]
        );
        holdall_bag_close(part);
        done(|err| {
            holdall_bag_checksum(
                b,
                HOLDALL_CHECKSUM_CRC32,
                buffer.as_mut_ptr().cast(),
                4,
                &mut n,
                err,
            )
        });
        assert_eq!(n, 4);
    }
}

#[test]
fn records_are_written_and_read() {
    for more in [
        &[][..],
        &[(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE.into())],
        &[(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE.into())],
    ] {
        let (s, o) = (stored(more), options(&[]));
        // SAFETY: handles that are open until they are closed.
        unsafe {
            for (option, value) in more.iter().filter(|(o, _)| *o == HOLDALL_OPT_BAG_LIMITS) {
                done(|err| holdall_options_set(o, *option, *value, err));
            }
            let b = opened(&s, o);
            check(b);
            holdall_bag_close(b);
            holdall_options_free(o);
        }
    }
}

#[test]
fn memory_of_the_caller_is_a_bag() {
    let s = stored(&[(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE.into())]);
    let bytes = s.bytes("");
    // SAFETY: the bytes exist until their readers are closed.
    unsafe {
        let memory = made(|out, err| {
            holdall_storage_from_memory(bytes.as_ptr().cast(), bytes.len(), out, err)
        });
        let b = made(|out, err| {
            in_storages(&[memory], null_mut(), |o| {
                holdall_bag_open(null(), o, out, err)
            })
        });
        not_made(HOLDALL_E_UNSUPPORTED, |out, err| {
            in_storages(&[memory], null_mut(), |o| {
                holdall_bag_writer_open(null(), HOLDALL_APPEND, o, out, err)
            })
        });
        holdall_storage_free(memory);
        check(b);
        holdall_bag_close(b);
        let memory = made(|out, err| {
            holdall_storage_from_memory(bytes.as_ptr().cast(), bytes.len() - 3, out, err)
        });
        not_made(HOLDALL_E_FORMAT, |out, err| {
            in_storages(&[memory], null_mut(), |o| {
                holdall_bag_open(null(), o, out, err)
            })
        });
        holdall_storage_free(memory);
    }
}

/// Allocates memory in a vector, its context.
pub unsafe extern "C" fn allocate(ctx: *mut c_void, n: usize) -> *mut c_void {
    // SAFETY: the context is a vector that only this call uses.
    let buffer = unsafe { &mut *ctx.cast::<Vec<u8>>() };
    buffer.resize(n, 0xee);
    buffer.as_mut_ptr().cast()
}

#[test]
fn records_are_read_to_memory_of_the_caller() {
    let s = stored(&[]);
    let (b, mut buffer, mut offsets) = (opened(&s, null_mut()), Vec::<u8>::new(), [0u64; 6]);
    let ctx = (&raw mut buffer).cast();
    // SAFETY: handles that are open, and space for one offset more than records.
    unsafe {
        done(|err| {
            holdall_bag_read_range_to(b, 0, 5, Some(allocate), ctx, offsets.as_mut_ptr(), err)
        });
        assert_eq!(*ctx.cast::<Vec<u8>>(), RECORDS.concat());
        assert_eq!(offsets, [0, 3, 3, 34, 37, 41]);
        done(|err| {
            holdall_bag_read_indices_to(
                b,
                [2, 1].as_ptr(),
                2,
                Some(allocate),
                ctx,
                offsets.as_mut_ptr(),
                err,
            )
        });
        assert_eq!(*ctx.cast::<Vec<u8>>(), RECORDS[2]);
        holdall_bag_close(b);
    }
}

#[test]
fn streams_read_ahead_in_the_order_of_an_epoch() {
    let s = stored(&[]);
    // SAFETY: handles that are open until they are closed; a record is read before the next
    // call.
    unsafe {
        let (b, o) = (opened(&s, null_mut()), options(&[]));
        let epoch = made(|out, err| holdall_epoch_new(5, 1, 2, 0, 1, out, err));
        assert_eq!(holdall_epoch_count(epoch), 5);
        let stream = made(|out, err| {
            holdall_bag_stream_open(b, Some(holdall_epoch_next), epoch.cast(), o, out, err)
        });
        let (mut record, mut n, mut all) = (null(), 0, Vec::new());
        for _ in 0..3 {
            done(|err| holdall_bag_stream_next(stream, &mut record, &mut n, err));
            all.push(if n == 0 {
                vec![]
            } else {
                std::slice::from_raw_parts(record.cast::<u8>(), n).to_vec()
            });
            let i = holdall_bag_stream_number(stream) as usize;
            assert_eq!(all.last().unwrap(), RECORDS[i]);
        }
        all.extend(taken(made(|out, err| {
            holdall_bag_stream_take(stream, 10, out, err)
        })));
        assert_eq!(holdall_bag_stream_damaged_count(stream), 0);
        all.sort();
        let mut expected = RECORDS.to_vec();
        expected.sort_unstable();
        assert_eq!(all, expected);
        holdall_bag_stream_close(stream);
        done(|err| holdall_epoch_seek(epoch, 0, 4, err));
        let mut index = 9;
        assert_eq!(
            (
                holdall_epoch_next(epoch.cast(), &mut index),
                holdall_epoch_next(epoch.cast(), &mut index)
            ),
            (HOLDALL_OK, HOLDALL_END)
        );
        holdall_epoch_free(epoch);
        // a stream that is not read to its end
        let stream = made(|out, err| holdall_bag_stream_open(b, None, null_mut(), o, out, err));
        done(|err| holdall_bag_stream_next(stream, &mut record, &mut n, err));
        holdall_bag_stream_close(stream);
        holdall_options_free(o);
        holdall_bag_close(b);
    }
}

#[test]
fn indexes_find_records() {
    let (s, file) = (stored(&[]), Storage::new());
    // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
    unsafe {
        let (b, o) = (opened(&s, null_mut()), options(&[]));
        let built = made(|out, err| holdall_bag_index_build(b, o, out, err));
        let created = made(|out, err| {
            file.with(o, |o| {
                holdall_bag_index_create(null(), HOLDALL_CREATE, b, o, out, err)
            })
        });
        let opened =
            made(|out, err| file.with(o, |o| holdall_bag_index_open(null(), b, o, out, err)));
        for index in [built, created, opened] {
            assert_eq!(
                (
                    holdall_bag_index_key_count(index),
                    holdall_bag_index_damaged_count(index)
                ),
                (4, 0)
            );
            let (mut first, mut all, mut n) = (9, [9; 2], 0);
            done(|err| {
                holdall_bag_index_find_first(index, b"one".as_ptr().cast(), 3, &mut first, err)
            });
            done(|err| {
                holdall_bag_index_find(
                    index,
                    b"one".as_ptr().cast(),
                    3,
                    all.as_mut_ptr(),
                    2,
                    &mut n,
                    err,
                )
            });
            assert_eq!((first, all, n), (0, [0, 3], 2));
            assert_eq!(
                holdall_bag_index_find_first(
                    index,
                    b"two".as_ptr().cast(),
                    3,
                    &mut first,
                    null_mut()
                ),
                HOLDALL_NOT_FOUND
            );
            done(|err| {
                holdall_bag_index_find_many(
                    index,
                    b"fiveone".as_ptr().cast(),
                    [0, 4, 7].as_ptr(),
                    2,
                    all.as_mut_ptr(),
                    err,
                )
            });
            assert_eq!(all, [4, 0]);
            holdall_bag_index_close(index);
        }
        holdall_options_free(o);
        holdall_bag_close(b);
    }
}

#[test]
fn a_bag_is_exported_to_arrow() {
    let s = stored(&[]);
    let b = opened(&s, null_mut());
    let mut stream = MaybeUninit::<ArrowArrayStream>::uninit();
    // SAFETY: memory for a stream, which is released once, by its own function.
    unsafe {
        done(|err| holdall_bag_to_arrow(b, 0, 5, 2, stream.as_mut_ptr(), err));
        holdall_bag_close(b);
        let stream = stream.as_mut_ptr();
        assert!((*stream).get_last_error.unwrap()(stream).is_null());
        (*stream).release.unwrap()(stream);
        assert!((*stream).release.is_none());
    }
}
