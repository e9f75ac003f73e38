//! Bags: writer, reader, records, stream, epoch, index, and as Arrow.

use crate::storage::Storage;
use crate::{done, made, not_made, options, refused};
use holdall::arrow::ffi::ArrowArrayStream;
use holdall::capi::{
    arrow::*, bag::*, common::*, guard::*, index::*, io::*, options::*, stream::*,
};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

const RECORDS: [&[u8]; 5] = [
    b"one",
    b"",
    b"three, which is a little longer",
    b"one",
    b"five",
];

/// A bag with these records, in two commits.
fn stored(more: &[(i32, i64)]) -> Storage {
    let (s, o) = (Storage::new(), options(&[(HOLDALL_OPT_CODEC, 0)]));
    // SAFETY: handles that are there until they are closed, and lengths as they are.
    unsafe {
        for (option, value) in more {
            done(|err| holdall_options_set(o, *option, *value, err));
        }
        let w = made(|out, err| holdall_bag_writer_open_io(s.io, HOLDALL_NEW, o, out, err));
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
        assert_eq!(holdall_bag_writer_size(w), 5);
        done(|err| holdall_bag_writer_commit(w, err));
        holdall_bag_writer_close(w);
        holdall_options_free(o);
    }
    s
}

fn opened(s: &Storage, o: *mut holdall_options) -> *mut holdall_bag {
    // SAFETY: handles that are there; what was opened keeps what it needs.
    made(|out, err| unsafe { holdall_bag_open_io(&s.io, 1, o, out, err) })
}

/// The records of a batch, which is closed.
unsafe fn taken(r: *mut holdall_records) -> Vec<Vec<u8>> {
    // SAFETY: a batch, whose bytes and offsets are there until it is closed.
    unsafe {
        let n = holdall_records_count(r);
        let offsets = std::slice::from_raw_parts(holdall_records_offsets(r), n + 1);
        let data = std::slice::from_raw_parts(holdall_records_data(r), offsets[n] as usize);
        let all = offsets
            .windows(2)
            .map(|w| data[w[0] as usize..w[1] as usize].to_vec())
            .collect();
        assert_eq!(holdall_records_damaged(r), 0);
        let _ = (holdall_records_damaged_at(r), holdall_records_numbers(r));
        holdall_records_close(r);
        all
    }
}

unsafe fn look(b: *mut holdall_bag) {
    // SAFETY: a bag that is open, and rooms as long as is said.
    unsafe {
        assert_eq!(
            (
                holdall_bag_size(b),
                holdall_bag_codec(b),
                holdall_bag_shards(b),
                holdall_bag_shard_size(b, 0)
            ),
            (5, 0, 1, 5)
        );
        assert!(!holdall_bag_shard_name(b, 0).is_null() && holdall_bag_shard_name(b, 1).is_null());
        let _ = (
            holdall_bag_sum(b),
            holdall_bag_limits(b),
            holdall_bag_cbytes(b),
        );
        let (mut room, mut n) = ([MaybeUninit::<u8>::uninit(); 40], 0);
        done(|err| holdall_bag_read(b, 2, room.as_mut_ptr().cast(), room.len(), &mut n, err));
        assert_eq!(
            std::slice::from_raw_parts(room.as_ptr().cast::<u8>(), n),
            RECORDS[2]
        );
        refused(HOLDALL_E_BUFFER, |err| {
            holdall_bag_read(b, 2, room.as_mut_ptr().cast(), 3, &mut n, err)
        });
        refused(HOLDALL_E_RANGE, |err| {
            holdall_bag_read(b, 5, room.as_mut_ptr().cast(), 40, &mut n, err)
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
        let part = made(|out, err| holdall_bag_slice(b, 4, -2, 3, out, err));
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
                HOLDALL_SUM_CRC32,
                room.as_mut_ptr().cast(),
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
        &[(HOLDALL_OPT_CHECKSUM, 0)],
        &[(HOLDALL_OPT_BAG_LIMITS, 1)],
    ] {
        let (s, o) = (stored(more), options(&[]));
        // SAFETY: handles that are there until they are closed.
        unsafe {
            for (option, value) in more.iter().filter(|(o, _)| *o == HOLDALL_OPT_BAG_LIMITS) {
                done(|err| holdall_options_set(o, *option, *value, err));
            }
            let b = opened(&s, o);
            look(b);
            holdall_bag_close(b);
            holdall_options_free(o);
        }
    }
}

#[test]
fn bytes_of_the_callers_are_a_bag() {
    let s = stored(&[(HOLDALL_OPT_CHECKSUM, 0)]);
    let bytes = s.bytes("");
    // SAFETY: the bytes stay until what reads them is closed.
    unsafe {
        let io =
            made(|out, err| holdall_io_from_memory(bytes.as_ptr().cast(), bytes.len(), out, err));
        let b = made(|out, err| holdall_bag_open_io(&io, 1, null(), out, err));
        not_made(HOLDALL_E_UNSUPPORTED, |out, err| {
            holdall_bag_writer_open_io(io, HOLDALL_APPEND, null(), out, err)
        });
        holdall_io_close(io);
        look(b);
        holdall_bag_close(b);
        let io = made(|out, err| {
            holdall_io_from_memory(bytes.as_ptr().cast(), bytes.len() - 3, out, err)
        });
        not_made(HOLDALL_E_FORMAT, |out, err| {
            holdall_bag_open_io(&io, 1, null(), out, err)
        });
        holdall_io_close(io);
    }
}

/// Room of the caller's, one after the other in a vector.
unsafe extern "C" fn allocate(ctx: *mut c_void, n: usize) -> *mut c_void {
    // SAFETY: the context is the vector, exclusively for the time of the call.
    let room = unsafe { &mut *ctx.cast::<Vec<u8>>() };
    room.resize(n, 0xee);
    room.as_mut_ptr().cast()
}

#[test]
fn records_go_to_memory_of_the_callers() {
    let s = stored(&[]);
    let (b, mut room, mut offsets) = (opened(&s, null_mut()), Vec::<u8>::new(), [0u64; 6]);
    let ctx = (&raw mut room).cast();
    // SAFETY: handles that are there, and room for one offset more than there are records.
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
    // SAFETY: handles that are there until they are closed; a record is looked at before the next
    // is asked for.
    unsafe {
        let (b, o) = (opened(&s, null_mut()), options(&[]));
        let epoch = made(|out, err| holdall_epoch_open(5, 1, 2, 0, 1, out, err));
        assert_eq!(holdall_epoch_size(epoch), 5);
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
        assert_eq!(holdall_bag_stream_damaged(stream), 0);
        all.sort();
        let mut want = RECORDS.to_vec();
        want.sort_unstable();
        assert_eq!(all, want);
        holdall_bag_stream_close(stream);
        done(|err| holdall_epoch_seek(epoch, 0, 4, err));
        let mut index = 9;
        assert_eq!(
            (
                holdall_epoch_next(epoch.cast(), &mut index),
                holdall_epoch_next(epoch.cast(), &mut index)
            ),
            (0, 1)
        );
        holdall_epoch_close(epoch);
        // one that is not read to its end
        let stream = made(|out, err| holdall_bag_stream_open(b, None, null_mut(), o, out, err));
        done(|err| holdall_bag_stream_next(stream, &mut record, &mut n, err));
        holdall_bag_stream_close(stream);
        holdall_options_free(o);
        holdall_bag_close(b);
    }
}

#[test]
fn indexes_find_records() {
    let (s, place) = (stored(&[]), Storage::new());
    // SAFETY: handles that are there until they are closed, and lengths as they are.
    unsafe {
        let (b, o) = (opened(&s, null_mut()), options(&[]));
        let built = made(|out, err| holdall_bag_index_build(b, o, out, err));
        let kept =
            made(|out, err| holdall_bag_index_create_io(place.io, HOLDALL_NEW, b, o, out, err));
        let again = made(|out, err| holdall_bag_index_open_io(place.io, b, o, out, err));
        for index in [built, kept, again] {
            assert_eq!(
                (
                    holdall_bag_index_keys(index),
                    holdall_bag_index_damaged(index)
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
fn a_bag_is_a_stream_of_arrow() {
    let s = stored(&[]);
    let b = opened(&s, null_mut());
    let mut stream = MaybeUninit::<ArrowArrayStream>::uninit();
    // SAFETY: room for a stream, which is released once, by the function that it brings.
    unsafe {
        done(|err| holdall_bag_to_arrow(b, 0, 5, 2, stream.as_mut_ptr(), err));
        holdall_bag_close(b);
        let stream = stream.as_mut_ptr();
        assert!((*stream).get_last_error.unwrap()(stream).is_null());
        (*stream).release.unwrap()(stream);
        assert!((*stream).release.is_none());
    }
}
