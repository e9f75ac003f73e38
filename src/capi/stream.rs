//! Streams of bags, shuffled epochs, and batches into the caller's memory.

use super::bag::{holdall_bag, holdall_records, records_handle};
use super::guard::*;
use super::options::{chosen, holdall_options};
use crate::bag::epoch::Epoch;
use crate::bag::{Next, Places, Room, Stream, Wanted, inside_of_a_stream};
use crate::error::{Result, fail};
use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicBool;

/// Records of a bag in a wanted order, read ahead in parallel.
pub struct holdall_bag_stream {
    broken: AtomicBool,
    stream: Stream,
}
handle!(holdall_bag_stream);

/// The numbers of an epoch, shuffled, that fall to one rank.
pub struct holdall_epoch {
    broken: AtomicBool,
    epoch: Epoch,
}
handle!(holdall_epoch);

const fn shared<T: Send + Sync>() {}
const _: () = (shared::<holdall_bag_stream>(), shared::<holdall_epoch>()).0;

/// Gives the number of the record wanted next in *index and returns 0; 1 at the end; less than 0 to
/// fail.
pub type holdall_next_index_fn =
    Option<unsafe extern "C" fn(ctx: *mut c_void, index: *mut u64) -> c_int>;

/// Makes room for n bytes and returns it; NULL to fail, or where n is 0.
pub type holdall_allocate_fn =
    Option<unsafe extern "C" fn(ctx: *mut c_void, n: usize) -> *mut c_void>;

struct NextCall(
    unsafe extern "C" fn(*mut c_void, *mut u64) -> c_int,
    *mut c_void,
);
// SAFETY: the header says on which threads the function is called with this context: one at a time.
unsafe impl Send for NextCall {}

impl NextCall {
    fn call(&mut self) -> Result<Option<u64>> {
        let mut index = u64::MAX;
        // SAFETY: by contract callable with its context as long as records are taken from the
        // stream.
        match unsafe { (self.0)(self.1, &mut index) } {
            0 => Ok(Some(index)),
            1 => Ok(None),
            n if n < 0 => Err(fail!(
                Callback,
                "the index function failed: it returned {n}"
            )),
            n => Err(fail!(
                Callback,
                "the index function returned {n}, which is none of 0 (a number), 1 (the end) and less than 0"
            )),
        }
    }
}

/// Opens a stream over the records of a bag: those whose numbers `next` gives, in that order, any
/// of them any number of times, without an end maybe; NULL: all records in their order. The bag may
/// be closed; `ctx` is the caller's.
///
/// `next` is called only while holdall_bag_stream_next() or _take() runs, on the thread that called
/// it, by one thread at a time: for as many records as are read ahead. A number that it gave stays
/// asked for: to go on later where the records stopped that were used, count those. Other threads
/// read and decode, if HOLDALL_OPT_THREADS allows it (storage of the caller's: if it was set); in a
/// child after fork(), the one that takes. Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT,
/// _SKIP_DAMAGED (as the bag has them where they are not given), _BAG_READ_AHEAD,
/// _BAG_READ_AHEAD_BYTES. What was read and not taken is a quarter of the memory limit at most.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_stream_open(
    bag: *const holdall_bag,
    next: holdall_next_index_fn,
    ctx: *mut c_void,
    options: *const holdall_options,
    out: *mut *mut holdall_bag_stream,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(bag), err, |b| {
        give(out, || {
            let next = next.map(|f| {
                let mut call = NextCall(f, ctx);
                Box::new(move || call.call()) as Next
            });
            let stream = Stream::open(&b.bag, next, &chosen(options))?;
            Ok(holdall_bag_stream {
                broken: AtomicBool::new(false),
                stream,
            })
        })
    })
}

/// Gives the next record: its bytes (never NULL) and how many. It is borrowed until the next call
/// that takes from the stream, or closes it. For one thread at a time; several take with
/// holdall_bag_stream_take(). HOLDALL_NOT_FOUND (> 0): the end, from now on; *record and *n stay as
/// they are.
///
/// Failures are told at the record that they belong to, after all before it, and the next call
/// gives the one behind it. Damaged records and others that holdall_bag_read() cannot read fail as
/// they do there, with the number of the record in err->position; with HOLDALL_OPT_SKIP_DAMAGED,
/// damaged ones are empty: see holdall_bag_stream_damaged(). HOLDALL_E_RANGE: `next` gave a number
/// that the bag has not. HOLDALL_E_CALLBACK: `next` failed; it is called again. HOLDALL_E_LIMIT: a
/// record takes more than three quarters of the memory limit. HOLDALL_E_STATE: `next` itself has
/// made this call, or another thread was taking when this process was forked.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_stream_next(
    stream: *mut holdall_bag_stream,
    record: *mut *const c_void,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    // not yet as one that is changed: its index function may have made this call
    if borrow(stream).is_some_and(|s| s.stream.is_inside()) {
        return guard(err, || Err(inside_of_a_stream()));
    }
    guard_handle_mut(borrow_mut(stream), err, |s| {
        let (record, n) = (place(record, "record")?, place(n, "n")?);
        match s.stream.next_record()? {
            Some(bytes) => {
                *record = bytes.as_ptr().cast();
                *n = bytes.len();
                Ok(HOLDALL_OK)
            }
            None => Ok(HOLDALL_NOT_FOUND),
        }
    })
}

/// Takes the next n records as a batch of the caller's own, in order, in which
/// holdall_records_numbers() tells which they are; fewer at the end, or before one that fails,
/// which the next call that takes is told. 0: as many as were read together, which costs no copy.
/// Many threads may take from one stream: each record goes to one of them.
/// HOLDALL_NOT_FOUND (> 0): the end, and *out is NULL; one thread may be told so before another has
/// its last records. Fails as holdall_bag_stream_next() does.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_stream_take(
    stream: *const holdall_bag_stream,
    n: usize,
    out: *mut *mut holdall_records,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(stream), err, |s| {
        if s.stream.is_inside() {
            return Err(inside_of_a_stream());
        }
        place(out, "out")?;
        match s.stream.take(n)? {
            Some(batch) => give(out, || Ok(records_handle(batch.records, batch.numbers))),
            None => Ok(HOLDALL_NOT_FOUND),
        }
    })
}

/// The number in the bag of the record that holdall_bag_stream_next() gave last; UINT64_MAX before
/// the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_stream_number(stream: *const holdall_bag_stream) -> u64 {
    field(stream, u64::MAX, |s| s.stream.number())
}

/// How many records so far were damaged and given as empty ones; 0 without
/// HOLDALL_OPT_SKIP_DAMAGED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_stream_damaged(stream: *const holdall_bag_stream) -> u64 {
    field(stream, 0, |s| s.stream.damaged())
}

/// Closes a stream at any moment; NULL is fine. What is being read ahead stops at its next record
/// and is waited for; nothing uses the bag, its storage or `next` any more. Does nothing where
/// `next` itself calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_stream_close(stream: *mut holdall_bag_stream) {
    if !borrow(stream).is_some_and(|s| s.stream.is_inside()) {
        take_back(stream);
    }
}

/// A shuffled epoch: every number below n once, in an order that `seed` and `epoch` decide, and
/// nothing else, in every version of the library; no table is made. Of that order rank `rank` of
/// `world` (0 and 1 where there is one) has the places rank, rank + world, rank + 2 * world, ...:
/// all ranks together have every number once, and the first n % world of them one more
/// than the others. When all ranks have had k numbers, k * world places of the order are done, so
/// that other ranks may go on from there, too. Give holdall_epoch_next and the handle to
/// holdall_bag_stream_open(). HOLDALL_E_ARGUMENT: rank is not below world. n may be 0.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_epoch_open(
    n: u64,
    seed: u64,
    epoch: u64,
    rank: u32,
    world: u32,
    out: *mut *mut holdall_epoch,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let epoch = Epoch::new(n, seed, epoch, rank, world)?;
            Ok(holdall_epoch {
                broken: AtomicBool::new(false),
                epoch,
            })
        })
    })
}

/// How many numbers fall to this rank in every epoch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_epoch_size(epoch: *const holdall_epoch) -> u64 {
    field(epoch, 0, |e| e.epoch.size())
}

/// The next number of an epoch, as a holdall_next_index_fn: `epoch` is the holdall_epoch *. 1 at
/// its end; HOLDALL_E_ARGUMENT where an argument is NULL.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_epoch_next(epoch: *mut c_void, index: *mut u64) -> c_int {
    guard_handle_mut(
        borrow_mut(epoch.cast::<holdall_epoch>()),
        std::ptr::null_mut(),
        |e| {
            let index = place(index, "index")?;
            Ok(match e.epoch.next() {
                Some(i) => {
                    *index = i;
                    HOLDALL_OK
                }
                None => HOLDALL_NOT_FOUND,
            })
        },
    )
}

/// Goes to epoch `number`, of the same seed, and to a position of this rank in it, from 0 to
/// holdall_epoch_size(), the end: the one that comes next, or where training stopped. Not while a
/// stream that is open takes numbers from it: that has some ahead. HOLDALL_E_RANGE: the position is
/// beyond the end.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_epoch_seek(
    epoch: *mut holdall_epoch,
    number: u64,
    position: u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(epoch), err, |e| e.epoch.seek(number, position))
}

/// Closes an epoch; NULL is fine. No record may be taken any more from a stream that was given it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_epoch_close(epoch: *mut holdall_epoch) {
    take_back(epoch);
}

/// The caller's memory for a batch.
struct Allocated {
    allocate: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    ctx: *mut c_void,
}

impl Room for Allocated {
    fn make(&mut self, n: usize) -> Result<&mut [u8]> {
        // SAFETY: by contract a function that gives room for n bytes.
        let p = unsafe { (self.allocate)(self.ctx, n) };
        match buffer(p.cast(), n)? {
            Some(room) => Ok(room),
            None if n == 0 => Ok(&mut []),
            None => Err(fail!(
                Callback,
                "the function that makes memory has none: {n} bytes were asked for"
            )),
        }
    }
}

fn read_to(
    bag: *const holdall_bag,
    err: *mut holdall_error,
    (allocate, ctx): (holdall_allocate_fn, *mut c_void),
    (offsets, n): (*mut u64, usize),
    read: impl FnOnce(&crate::bag::Bag, &mut Allocated) -> Result<Places>,
) -> holdall_status {
    guard_handle(borrow(bag), err, |b| {
        let allocate = allocate.ok_or_else(|| fail!(Argument, "allocate is NULL"))?;
        let n = n
            .checked_add(1)
            .ok_or_else(|| fail!(Argument, "{n} records"))?;
        check_room(offsets, n, "offsets")?;
        let places = read(&b.bag, &mut Allocated { allocate, ctx })?;
        // not before it is known that there are so many records: the caller may have asked for
        // more, with room for fewer
        if n == places.offsets.len() {
            filled(offsets, n, 0, "offsets")?.copy_from_slice(&places.offsets);
        }
        Ok(if places.damaged.is_empty() {
            HOLDALL_OK
        } else {
            HOLDALL_NOT_FOUND
        })
    })
}

/// As holdall_bag_read_range(), into memory of the caller's: `allocate` is called once, on the
/// calling thread, with the size of all records together, as soon as that is known; they are
/// decoded straight to there, end to end. offsets: room for n + 1 numbers; record i goes to
/// offsets[i] to offsets[i + 1], the last one not included: an array of large_binary as Arrow has
/// it. Whatever the call returns, that memory stays the caller's.
/// A failure may come after `allocate` was called.
/// HOLDALL_NOT_FOUND (> 0): some were damaged, and are empty as HOLDALL_OPT_SKIP_DAMAGED wished
/// (holdall_bag_read() tells which), so that less than was asked for is used. HOLDALL_E_CALLBACK:
/// `allocate` gave NULL.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_read_range_to(
    bag: *const holdall_bag,
    first: u64,
    n: usize,
    allocate: holdall_allocate_fn,
    ctx: *mut c_void,
    offsets: *mut u64,
    err: *mut holdall_error,
) -> holdall_status {
    read_to(bag, err, (allocate, ctx), (offsets, n), |b, room| {
        b.read_to(Wanted::Range(first, n as u64), room)
    })
}

/// As holdall_bag_read_indices(), into memory of the caller's: see holdall_bag_read_range_to().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_read_indices_to(
    bag: *const holdall_bag,
    indices: *const u64,
    n: usize,
    allocate: holdall_allocate_fn,
    ctx: *mut c_void,
    offsets: *mut u64,
    err: *mut holdall_error,
) -> holdall_status {
    read_to(bag, err, (allocate, ctx), (offsets, n), |b, room| {
        b.read_to(Wanted::Numbers(slice(indices, n, "indices")?), room)
    })
}
