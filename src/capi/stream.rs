//! The C functions for streams of bags, shuffled epochs, and batches in memory of the caller.

use super::bag::{give_records, holdall_bag, holdall_records, without_storage};
use super::guard::*;
use super::options::holdall_options;
use crate::bag::epoch::Epoch;
use crate::bag::{BatchLayout, Destination, Next, Requested, Stream, callback_reentry_error};
use crate::error::{Result, fail};
use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicBool;

/// A stream of records of a bag in any order, read ahead in parallel.
pub struct holdall_bag_stream {
    broken: AtomicBool,
    stream: Stream,
}
handle!(holdall_bag_stream);

/// The shuffled record numbers of an epoch, for one rank.
pub struct holdall_epoch {
    broken: AtomicBool,
    epoch: Epoch,
}
handle!(holdall_epoch);

const fn shared<T: Send + Sync>() {}
const _: () = (shared::<holdall_bag_stream>(), shared::<holdall_epoch>()).0;

/// Stores the number of the next requested record in *index and returns HOLDALL_OK; returns
/// HOLDALL_END (or any value above 0) at the end, or less than 0 on failure.
pub type holdall_next_index_fn =
    Option<unsafe extern "C" fn(ctx: *mut c_void, index: *mut u64) -> c_int>;

/// Allocates n bytes and returns them. Returns NULL on failure, and may if n is 0.
pub type holdall_allocate_fn =
    Option<unsafe extern "C" fn(ctx: *mut c_void, n: usize) -> *mut c_void>;

struct NextCall(
    unsafe extern "C" fn(*mut c_void, *mut u64) -> c_int,
    *mut c_void,
);
// SAFETY: the header states which threads call the function with this context: one at a time.
unsafe impl Send for NextCall {}

impl NextCall {
    fn call(&mut self) -> Result<Option<u64>> {
        let mut index = u64::MAX;
        // SAFETY: by contract callable with its context while records are taken from the stream.
        match unsafe { (self.0)(self.1, &mut index) } {
            HOLDALL_OK => Ok(Some(index)),
            1.. => Ok(None),
            n => Err(fail!(
                Callback,
                "the index function of the stream failed: it returned {n}"
            )),
        }
    }
}

/// Opens a stream of the records whose numbers next returns, in that order, with repetitions,
/// possibly endless. next NULL: all records in order. HOLDALL_OPT_THREADS, _MEMORY_LIMIT and
/// _SKIP_DAMAGED default to those of the bag.
///
/// next runs only while records are taken, on that thread, one call at a time, and in advance: to
/// resume, count the records used, not the numbers returned. See docs/threads.md. ctx must stay
/// valid.
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
            let options = without_storage(options, "opening a stream of a bag")?;
            let stream = Stream::open(&b.bag, next, &options)?;
            Ok(holdall_bag_stream {
                broken: AtomicBool::new(false),
                stream,
            })
        })
    })
}

/// Gets the next record: n bytes (never NULL), borrowed until the next call that takes from the
/// stream or closes it. Failures come in the order of records; the next call continues after them.
///
/// Returns:
/// - HOLDALL_END: the end, also later; *record and *n are unchanged.
/// - HOLDALL_DAMAGED: the record is corrupt and therefore empty.
/// - HOLDALL_E_RANGE: next returned a number that the bag does not have.
/// - HOLDALL_E_CALLBACK: next failed; it is called again.
/// - HOLDALL_E_LIMIT: a record exceeds three quarters of the memory limit.
/// - HOLDALL_E_STATE: called by next, or forked while another thread was taking.
/// - others: as holdall_bag_read(), for the record err->position.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_stream_next(
    stream: *mut holdall_bag_stream,
    record: *mut *const c_void,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    // not yet an exclusive borrow: the index function of the stream may have made this call
    if borrow(stream).is_some_and(|s| s.stream.is_in_callback()) {
        return guard(err, || Err(callback_reentry_error()));
    }
    guard_handle_mut(borrow_mut(stream), err, |s| {
        let (record, n) = (required(record, "record")?, required(n, "n")?);
        match s.stream.next_record()? {
            Some(bytes) => {
                *record = bytes.as_ptr().cast();
                *n = bytes.len();
                Ok(or_skipped(s.stream.is_damaged()))
            }
            None => Ok(HOLDALL_END),
        }
    })
}

/// Takes the next n records as a batch that the caller owns, with holdall_records_numbers(). It has
/// fewer at the end, or before a failure, which the next call returns. n 0: as many as were read
/// together, without a copy. Many threads may take from one stream; each record goes to one of
/// them.
///
/// Returns:
/// - HOLDALL_END: the end; *out is NULL.
/// - HOLDALL_DAMAGED: as holdall_bag_read_range().
/// - others: as holdall_bag_stream_next().
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
        if s.stream.is_in_callback() {
            return Err(callback_reentry_error());
        }
        required(out, "out")?;
        match s.stream.take(n)? {
            Some(batch) => give_records(out, || Ok((batch.records, batch.numbers))),
            None => Ok(HOLDALL_END),
        }
    })
}

/// Returns the number of the last record from holdall_bag_stream_next(); UINT64_MAX before the
/// first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_stream_number(stream: *const holdall_bag_stream) -> u64 {
    field(stream, u64::MAX, |s| s.stream.number())
}

/// Returns how many records so far were corrupt and therefore empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_stream_damaged_count(
    stream: *const holdall_bag_stream,
) -> u64 {
    field(stream, 0, |s| s.stream.damaged())
}

/// Closes a stream at any time. Waits until reading ahead stops, at its next record; nothing uses
/// the bag, its storage or next afterwards. Does nothing if next calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_stream_close(stream: *mut holdall_bag_stream) {
    if !borrow(stream).is_some_and(|s| s.stream.is_in_callback()) {
        take_back(stream);
    }
}

/// Creates a shuffled epoch: every number below n (which may be 0) once, in an order that depends
/// only on n, seed and epoch, in every version of the library. Rank rank of world gets its
/// positions rank, rank + world, rank + 2 * world, ... (see docs/threads.md). A stream ends with
/// its epoch:
///
/// ```text
/// for (uint64_t e = 0; e < epochs; e++) {
///     holdall_epoch_seek(epoch, e, 0, err);
///     holdall_bag_stream_open(bag, holdall_epoch_next, epoch, NULL, &stream, err);
///     while (holdall_bag_stream_next(stream, &record, &n, err) == HOLDALL_OK) use(record, n);
///     holdall_bag_stream_close(stream);
/// }
/// ```
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_epoch_new(
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

/// Returns how many numbers this rank has in each epoch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_epoch_count(epoch: *const holdall_epoch) -> u64 {
    field(epoch, 0, |e| e.epoch.size())
}

/// Gets the next number of an epoch: a holdall_next_index_fn whose context is the holdall_epoch *.
///
/// Returns:
/// - HOLDALL_END: the end; *index is unchanged.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_epoch_next(epoch: *mut c_void, index: *mut u64) -> c_int {
    guard_handle_mut(
        borrow_mut(epoch.cast::<holdall_epoch>()),
        std::ptr::null_mut(),
        |e| {
            let index = required(index, "index")?;
            Ok(match e.epoch.next() {
                Some(i) => {
                    *index = i;
                    HOLDALL_OK
                }
                None => HOLDALL_END,
            })
        },
    )
}

/// Moves to epoch number, of the same seed, and a position of this rank in it: 0 to
/// holdall_epoch_count(), the end. Must not be called while an open stream uses the epoch.
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

/// Frees an epoch. No record may be taken afterwards from a stream that uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_epoch_free(epoch: *mut holdall_epoch) {
    take_back(epoch);
}

/// Memory that the caller allocates for a batch.
struct Allocated {
    allocate: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    ctx: *mut c_void,
}

impl Destination for Allocated {
    fn allocate(&mut self, n: usize) -> Result<&mut [u8]> {
        // SAFETY: by contract a function that returns memory for n bytes.
        let p = unsafe { (self.allocate)(self.ctx, n) };
        match buffer(p.cast(), n)? {
            Some(room) => Ok(room),
            None if n == 0 => Ok(&mut []),
            None => Err(fail!(Callback, "allocate returned NULL for {n} bytes")),
        }
    }
}

fn read_to(
    bag: *const holdall_bag,
    err: *mut holdall_error,
    (allocate, ctx): (holdall_allocate_fn, *mut c_void),
    (offsets, n): (*mut u64, usize),
    read: impl FnOnce(&crate::bag::Bag, &mut Allocated) -> Result<BatchLayout>,
) -> holdall_status {
    guard_handle(borrow(bag), err, |b| {
        let allocate = allocate.ok_or_else(|| fail!(Argument, "allocate is NULL"))?;
        let n = n
            .checked_add(1)
            .ok_or_else(|| fail!(Argument, "n: {n} records are more than memory can hold"))?;
        check_room(offsets, n, "offsets")?;
        let layout = read(&b.bag, &mut Allocated { allocate, ctx })?;
        // only after the number of records is known: the caller may have requested more records
        // than `offsets` has space for
        if n == layout.offsets.len() {
            filled(offsets, n, 0, "offsets")?.copy_from_slice(&layout.offsets);
        }
        Ok(or_skipped(!layout.damaged.is_empty()))
    })
}

/// Like holdall_bag_read_range(), into memory of the caller, who owns it also after a failure.
/// allocate is called once with the total size. offsets has space for count + 1 values: see
/// holdall_records_offsets().
///
/// Returns:
/// - HOLDALL_DAMAGED: corrupt records are empty, so less memory is used; holdall_bag_read()
///   identifies them.
/// - HOLDALL_E_CALLBACK: allocate returned NULL.
/// - others: as holdall_bag_read_range().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_read_range_to(
    bag: *const holdall_bag,
    start: u64,
    count: usize,
    allocate: holdall_allocate_fn,
    ctx: *mut c_void,
    offsets: *mut u64,
    err: *mut holdall_error,
) -> holdall_status {
    read_to(bag, err, (allocate, ctx), (offsets, count), |b, memory| {
        b.read_to(Requested::Range(start, count as u64), memory)
    })
}

/// Like holdall_bag_read_indices(), into memory of the caller: see holdall_bag_read_range_to().
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
    read_to(bag, err, (allocate, ctx), (offsets, n), |b, memory| {
        b.read_to(Requested::Indices(slice(indices, n, "indices")?), memory)
    })
}
