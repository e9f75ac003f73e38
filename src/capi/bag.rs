//! The C functions for bags.

use super::checksum::content_checksum;
use super::constants::{format_number, mode};
use super::container::{holdall_mode, wrong_kind};
use super::guard::*;
use super::options::*;
use super::storage::{Target, holdall_storage, no_path, opened_from, target};
use super::structs::{structure, write_struct};
use crate::bag::codec::Codec;
use crate::bag::{Bag, Mode, Protection, Records, ShardPath, Writer, spec, train};
use crate::error::{Result, Status, fail};
use crate::format::{Format, Kind};
use crate::io::Folder;
use crate::options::Options;
use crate::parallel::get_or_init;
use crate::splits::Split;
use crate::superchunk::bloscpack;
use crate::watch::{Reopen, Source, Watch, reopened};
use std::ffi::{CString, OsStr, c_char, c_void};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// An open bag: records of any length in the Bagz format, in one file or several.
pub struct holdall_bag {
    broken: AtomicBool,
    pub(super) bag: Bag,
    /// The names of its files, filled by the first call that requests one.
    names: OnceLock<Vec<CString>>,
    /// The number of refreshes that may have found a newer commit.
    generation: u64,
    /// What it was opened from, with the options; `None`: a slice.
    source: Option<Reopen>,
}
handle!(holdall_bag);

/// A batch of records that one call has read. It owns bytes and offsets until it is freed.
pub struct holdall_records {
    records: Records,
    damaged: Vec<u64>,
    /// The record numbers of a batch of a stream.
    numbers: Vec<u64>,
}

/// A writer of one bag, or of one set of bags.
pub struct holdall_bag_writer {
    broken: AtomicBool,
    writer: Writer,
}
handle!(holdall_bag_writer);

const fn shared<T: Send + Sync>() {}
const fn movable<T: Send>() {}
// the thread rules of the header, checked at compile time
const _: () = (
    shared::<holdall_bag>(),
    shared::<holdall_records>(),
    shared::<holdall_storage>(),
    movable::<holdall_bag_writer>(),
)
    .0;

fn bag_handle(bag: Bag) -> holdall_bag {
    holdall_bag {
        broken: AtomicBool::new(false),
        bag,
        names: OnceLock::new(),
        generation: 0,
        source: None,
    }
}

/// What is known about a bag.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct holdall_bag_info {
    /// sizeof(holdall_bag_info).
    pub struct_size: usize,
    /// HOLDALL_FORMAT_BAGZ.
    pub format: i32,
    /// Number of shards.
    pub shard_count: u32,
    /// Number of records.
    pub record_count: u64,
    /// Bytes on disk of all files, with limits and checksums; for a slice, of the whole bag.
    pub stored_bytes: u64,
    /// HOLDALL_CODEC_NONE, _ZSTD, or _MIXED if shards differ.
    pub codec: i32,
    /// Checksum of the records, the weakest of all shards: HOLDALL_CHECKSUM_CRC32, _ZSTD, or _NONE
    /// (also if the one in the first frame is corrupt).
    pub checksum: i32,
    /// HOLDALL_BAG_LIMITS_TAIL or _SEPARATE.
    pub limits: i32,
    /// HOLDALL_BAG_SHARDS_CONCATENATED or _INTERLEAVED.
    pub shards: i32,
    /// See base.h.
    pub generation: u64,
}
structure!(holdall_bag_info);

/// Opens a bag for reading at its last commit; all files are read in the state of one moment.
///
/// spec: a path, or several separated by commas. "name@8.bagz" stands for name-00000-of-00008.bagz
/// and so on, "name@*.bagz" for as many as exist. See docs/choosing.md. The records are one
/// sequence: see HOLDALL_OPT_BAG_SHARDS. With storages in the options: NULL; the file "" of each is
/// one shard.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: @* matches sets of different N, or an interleaved set is combined with
///   other files.
/// - HOLDALL_E_FORMAT: a file is not a bag, or torn (see holdall_repair()), or record counts do not
///   fit an interleaved set.
/// - HOLDALL_E_CHECKSUM: checksums.NAME belongs to another state of the bag.
/// - HOLDALL_E_BUSY: the bag changed at each attempt for 5 seconds.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_open(
    spec: *const c_char,
    options: *const holdall_options,
    out: *mut *mut holdall_bag,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            if !storages(options).is_empty() {
                no_path(spec)?;
            }
            let source = opened_from(spec, options, Watch::bag)?;
            let bag = open_source(&source)?;
            Ok(holdall_bag {
                source: Some(source),
                ..bag_handle(bag)
            })
        })
    })
}

fn open_source((source, options): &Reopen) -> Result<Bag> {
    match source {
        Source::Path(watch) => {
            let spec = watch.name();
            Bag::open(spec, options).map_err(|e| wrong_kind(spec, Kind::Bag, e))
        }
        Source::Storages(folders) => {
            let shard = |folder: &Arc<dyn Folder>| ShardPath::new(Arc::clone(folder), "");
            let shards = folders.iter().map(shard).collect::<Vec<_>>();
            Bag::open_in(&shards, options)
        }
    }
}

/// Opens the count records start, start + step, ... as a bag that shares the files. step may be
/// negative, but not 0; count may be 0. A slice of a slice uses the numbers of the slice.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_slice(
    bag: *const holdall_bag,
    start: u64,
    count: u64,
    step: i64,
    out: *mut *mut holdall_bag,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(bag), err, |b| {
        give(out, || b.bag.slice(start, step, count).map(bag_handle))
    })
}

/// Closes a bag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_close(bag: *mut holdall_bag) {
    take_back(bag);
}

/// Returns the number of records.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_record_count(bag: *const holdall_bag) -> u64 {
    field(bag, 0, |b| b.bag.size())
}

/// Gets information about a bag or a slice.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_get_info(
    bag: *const holdall_bag,
    info: *mut holdall_bag_info,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(bag), err, |b| {
        write_struct(info, "info", bag_info(&b.bag, b.generation)?)
    })
}

fn bag_info(bag: &Bag, generation: u64) -> Result<holdall_bag_info> {
    Ok(holdall_bag_info {
        struct_size: size_of::<holdall_bag_info>(),
        format: format_number(Format::Bagz),
        shard_count: shard_count(bag),
        record_count: bag.size(),
        stored_bytes: bag.bytes(),
        codec: match bag.codec() {
            Some(Codec::Zstd) => HOLDALL_CODEC_ZSTD,
            None if bag.shards() > 0 => HOLDALL_CODEC_MIXED,
            Some(Codec::None) | None => HOLDALL_CODEC_NONE,
        },
        checksum: match bag.protection()? {
            Protection::Crc32 => HOLDALL_CHECKSUM_CRC32,
            Protection::Zstd => HOLDALL_CHECKSUM_ZSTD,
            Protection::None => HOLDALL_CHECKSUM_NONE,
        },
        limits: if bag.separate() {
            HOLDALL_BAG_LIMITS_SEPARATE
        } else {
            HOLDALL_BAG_LIMITS_TAIL
        },
        shards: if bag.interleaved() {
            HOLDALL_BAG_SHARDS_INTERLEAVED
        } else {
            HOLDALL_BAG_SHARDS_CONCATENATED
        },
        generation,
    })
}

fn shard_count(bag: &Bag) -> u32 {
    u32::try_from(bag.shards()).unwrap_or(u32::MAX)
}

/// Returns the generation: see base.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_generation(bag: *const holdall_bag) -> u64 {
    field(bag, 0, |handle| handle.generation)
}

/// Moves to the newest commit: see base.h. Slices, streams and indexes stay at the earlier one.
///
/// Returns:
/// - HOLDALL_E_STATE: also for a slice.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_refresh(
    bag: *mut holdall_bag,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(bag), err, |handle| {
        let Some(source) = reopened(handle.source.as_ref())? else {
            return Ok(());
        };
        let bag = open_source(&source)?;
        *handle = holdall_bag {
            generation: handle.generation + 1,
            source: Some(source),
            ..bag_handle(bag)
        };
        Ok(())
    })
}

/// Returns the number of shards: files without those of limits and checksums.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_shard_count(bag: *const holdall_bag) -> u32 {
    field(bag, 0, |b| shard_count(&b.bag))
}

/// Returns the name of shard i as in messages, or NULL past the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_shard_name(bag: *const holdall_bag, i: u32) -> *const c_char {
    let name = |b: &holdall_bag| {
        let names = get_or_init(&b.names, || {
            b.bag
                .each_shard()
                .map(|(name, _)| CString::new(name).unwrap_or_default())
                .collect()
        });
        names
            .get(i as usize)
            .map_or(std::ptr::null(), |n| n.as_ptr())
    };
    guard_value(std::ptr::null(), || {
        borrow(bag).map_or(std::ptr::null(), name)
    })
}

/// Returns the number of records in shard i.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_shard_record_count(bag: *const holdall_bag, i: u32) -> u64 {
    guard_value(0, || {
        let shard = borrow(bag).and_then(|b| b.bag.each_shard().nth(i as usize));
        shard.map_or(0, |(_, n)| n)
    })
}

/// Divides the records into ranges of similar stored size, for programs that distribute work.
///
/// - most: the maximum number of ranges, for which the arrays have room.
/// - firsts[i], counts[i]: the first record of range i, of *n ranges, and the number of its records,
///   1 or more. The ranges contain each record once, in order. They begin at shards where that
///   changes a size by at most an eighth of the mean.
/// - bytes[i]: the size of the stored records and their limits; an estimate for a slice with a step,
///   and for an interleaved bag of more than 16 shards.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: most is 0.
/// - HOLDALL_E_STATE: see base.h.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_splits(
    bag: *const holdall_bag,
    most: usize,
    firsts: *mut u64,
    counts: *mut u64,
    bytes: *mut u64,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(bag), err, |b| {
        give_splits(most, [firsts, counts, bytes], n, |most| b.bag.splits(most))
    })
}

/// Copies ranges to the caller's arrays, which have room for `most`.
pub(super) fn give_splits(
    most: usize,
    arrays: [*mut u64; 3],
    n: *mut usize,
    divide: impl FnOnce(u64) -> Result<Vec<Split>>,
) -> Result<holdall_status> {
    for (array, name) in arrays.into_iter().zip(["firsts", "counts", "bytes"]) {
        check_room(array, most, name)?;
    }
    let n = required(n, "n")?;
    let splits = divide(most as u64)?;
    let room = |to| filled(to, splits.len(), 0, "an array");
    let [firsts, counts, bytes] = arrays;
    let arrays = room(firsts)?
        .iter_mut()
        .zip(room(counts)?)
        .zip(room(bytes)?);
    for (split, ((first, count), size)) in splits.iter().zip(arrays) {
        (*first, *count, *size) = (split.first, split.count, split.bytes);
    }
    *n = splits.len();
    Ok(HOLDALL_OK)
}

/// Reads record i into dst; *n is its size in bytes.
///
/// Returns:
/// - HOLDALL_DAMAGED: the record is corrupt; *n is 0.
/// - HOLDALL_E_FORMAT, _CHECKSUM: the record is corrupt; others remain readable.
/// - HOLDALL_E_STATE: see base.h; or one of many files was replaced.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_read(
    bag: *const holdall_bag,
    i: u64,
    dst: *mut c_void,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(bag), err, |b| {
        let n = required(n, "n")?;
        match b.bag.read_into(i, buffer(dst.cast(), dst_size)?) {
            Ok((size, skipped)) => {
                *n = size;
                Ok(or_skipped(skipped))
            }
            Err(mut e) => {
                if e.status == Status::Buffer {
                    *n = usize::try_from(e.position).unwrap_or(0);
                    e.position = i64::try_from(i).unwrap_or(i64::MAX);
                }
                Err(e)
            }
        }
    })
}

/// Passes a batch to the caller. `numbers` is empty unless the batch comes from a stream.
pub(super) fn give_records(
    out: *mut *mut holdall_records,
    read: impl FnOnce() -> Result<(Records, Vec<u64>)>,
) -> Result<holdall_status> {
    let mut is_damaged = false;
    give(out, || {
        let (records, numbers) = read()?;
        let damaged: Vec<u64> = records.damaged.iter().map(|(at, _)| *at).collect();
        is_damaged = !damaged.is_empty();
        Ok(holdall_records {
            records,
            damaged,
            numbers,
        })
    })?;
    Ok(or_skipped(is_damaged))
}

/// Reads count records from start on into one batch, in parallel if faster.
///
/// Returns:
/// - HOLDALL_DAMAGED: corrupt records are empty: see holdall_records_damaged_count().
/// - others: as holdall_bag_read(), at the first record that cannot be read (err->position).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_read_range(
    bag: *const holdall_bag,
    start: u64,
    count: u64,
    out: *mut *mut holdall_records,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(bag), err, |b| {
        give_records(out, || Ok((b.bag.read_range(start, count)?, Vec::new())))
    })
}

/// Reads n records by number, in any order and with repetitions, into one batch in that order.
/// Returns as holdall_bag_read_range().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_read_indices(
    bag: *const holdall_bag,
    indices: *const u64,
    n: usize,
    out: *mut *mut holdall_records,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(bag), err, |b| {
        give_records(out, || {
            let indices = slice(indices, n, "indices")?;
            Ok((b.bag.read_indices(indices)?, Vec::new()))
        })
    })
}

/// Computes a checksum (see holdall_checksum_compute()) of the content, however it is stored: for
/// each record in order, of its length as 8 bytes little-endian, then of its bytes. Reports
/// progress. Returns as holdall_bag_read_range().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_checksum(
    bag: *const holdall_bag,
    kind: i32,
    dst: *mut c_void,
    dst_size: usize,
    checksum_size: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(bag), err, |b| {
        content_checksum(kind, dst, dst_size, checksum_size, |kind| {
            b.bag.checksum(kind)
        })
    })
}

/// Copies the zstd dictionary that the files store, or that was given, to dst; *n is its size in
/// bytes: 0 if there is none, or if files store different ones.
///
/// Returns:
/// - HOLDALL_E_BUFFER: dst_size < *n.
/// - HOLDALL_E_CHECKSUM: the stored one is corrupt. Records with checksums of their own, which it
///   still decodes, can be read and copied.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_read_dictionary(
    bag: *const holdall_bag,
    dst: *mut c_void,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(bag), err, |b| {
        let dictionary = b.bag.dictionary()?;
        let bytes = dictionary.as_deref().unwrap_or_default();
        copy_out(bytes, dst.cast(), dst_size, n)
    })
}

/// Trains a zstd dictionary for records that resemble those given, count of them, where record i is
/// data[offsets[i]] to data[offsets[i+1]]. At most dst_size bytes are written; *n is their number.
/// 112,640 bytes are a good size; the records should have 100 times as many. The same records give
/// the same dictionary. See HOLDALL_OPT_BAG_DICTIONARY, whose _AUTO does this by itself.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: the records are too few or too short, or have nothing in common; offsets
///   do not ascend; dst_size is less than 256 or more than 16 MiB.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_dictionary_train(
    data: *const c_void,
    offsets: *const u64,
    count: usize,
    dst: *mut c_void,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let (data, offsets) = concatenated(data, offsets, count, "records")?;
        copy_out(&train(data, offsets, dst_size)?, dst.cast(), dst_size, n)
    })
}

/// Returns the number of records in a batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_count(records: *const holdall_records) -> usize {
    field(records, 0, |r| r.records.len())
}

/// Returns the bytes of all records, end to end; NULL only for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_data(records: *const holdall_records) -> *const u8 {
    field(records, std::ptr::null(), |r| r.records.data.as_ptr())
}

/// Returns count + 1 offsets: record i is data[offsets[i]] up to, not including,
/// data[offsets[i+1]].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_offsets(records: *const holdall_records) -> *const u64 {
    field(records, std::ptr::null(), |r| r.records.offsets.as_ptr())
}

/// Returns how many records were corrupt and are empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_damaged_count(records: *const holdall_records) -> usize {
    field(records, 0, |r| r.damaged.len())
}

/// Returns their positions in the batch, ascending.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_damaged_positions(
    records: *const holdall_records,
) -> *const u64 {
    field(records, std::ptr::null(), |r| r.damaged.as_ptr())
}

/// Returns the record numbers of a batch from holdall_bag_stream_take(); NULL for other batches.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_numbers(records: *const holdall_records) -> *const u64 {
    let numbers = |r: &holdall_records| {
        if r.numbers.is_empty() {
            std::ptr::null()
        } else {
            r.numbers.as_ptr()
        }
    };
    field(records, std::ptr::null(), numbers)
}

/// Frees a batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_free(records: *mut holdall_records) {
    take_back(records);
}

/// Returns the options of a call that opens neither a path nor storage.
pub(super) fn without_storage(options: *const holdall_options, call: &str) -> Result<Options> {
    if storages(options).is_empty() {
        return Ok(chosen(options));
    }
    Err(fail!(
        Argument,
        "options: a storage does not apply to {call}"
    ))
}

/// Returns the mode of a writer.
pub(super) fn writer_mode(constant: holdall_mode) -> Result<Mode> {
    match mode(constant)? {
        bloscpack::Mode::New => Ok(Mode::New),
        bloscpack::Mode::Replace => Ok(Mode::Replace),
        bloscpack::Mode::Append => Ok(Mode::Append),
        bloscpack::Mode::Read => Err(fail!(
            Argument,
            "mode: HOLDALL_READ (expected HOLDALL_CREATE, HOLDALL_REPLACE or HOLDALL_APPEND)"
        )),
    }
}

/// Opens a writer of a bag, or of a set of bags, whose files commit together.
/// - path: a file, or a set in one folder (see holdall_bag_open()): record i of "name@8.bagz" goes
///   to file i modulo 8. In storage: the file "", by default not compressed.
/// - mode: HOLDALL_CREATE, _REPLACE or _APPEND (a set: none or all files exist). _REPLACE leaves
///   sets of other numbers of files, which name@* then also matches.
///
/// Several threads or processes may each write one file of a set: see docs/choosing.md. Records
/// without compression have their CRC-32s in a file checksums.NAME: move it with the bag. To
/// append, repeat HOLDALL_OPT_CODEC, _BAG_LIMITS and a _DICTIONARY that is not stored.
///
/// Returns:
/// - HOLDALL_E_EXISTS, _MISSING: see mode.
/// - HOLDALL_E_STATE: checksums are requested, but existing records have none; or the set does not
///   record that it is interleaved.
/// - HOLDALL_E_UNSUPPORTED: a file of a set is a link to another folder.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_writer_open(
    path: *const c_char,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_bag_writer,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let writer = open_writer(path, mode, options)?;
            Ok(holdall_bag_writer {
                broken: AtomicBool::new(false),
                writer,
            })
        })
    })
}

fn open_writer(
    path: *const c_char,
    mode: holdall_mode,
    options: *const holdall_options,
) -> Result<Writer> {
    let (to, mode) = (target(path, options)?, writer_mode(mode)?);
    let options = chosen(options);
    match to {
        Target::Storage(folder) => Writer::open_in(&folder, OsStr::new(""), mode, &options),
        Target::Path(path) => Writer::open(path, mode, &options).map_err(|e| match mode {
            Mode::Append => wrong_kind(path, Kind::Bag, e),
            Mode::New | Mode::Replace => e,
        }),
    }
}

/// Copies n records of a bag or slice, at indices in any order, to another bag, with one commit.
/// indices NULL: all records, whatever n. path, mode, options: as for holdall_bag_writer_open().
/// Without HOLDALL_OPT_LEVEL, zstd frames with the same kind of checksum and dictionary are verified and
/// copied as they are.
///
/// Returns:
/// - HOLDALL_DAMAGED: corrupt records became empty.
/// - HOLDALL_E_RANGE: a record (err->position: which of indices) is past the last.
/// - others: as holdall_bag_writer_open(), holdall_bag_read_range(), holdall_bag_writer_commit().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_copy(
    bag: *const holdall_bag,
    indices: *const u64,
    n: usize,
    path: *const c_char,
    mode: holdall_mode,
    options: *const holdall_options,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(bag), err, |b| {
        let indices = match indices.is_null() {
            true => None,
            false => Some(slice(indices, n, "indices")?),
        };
        let mut to = open_writer(path, mode, options)?;
        b.bag.copy(indices, &mut to).map(or_skipped)
    })
}

/// Appends one record of n bytes. On failure it is not appended.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_writer_append(
    writer: *mut holdall_bag_writer,
    record: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(writer), err, |w| {
        w.writer.append(slice(record.cast(), n, "record")?)
    })
}

/// Appends count records. Record i is data[offsets[i]] to data[offsets[i+1]]; offsets has count + 1
/// ascending values and may start above 0. On failure holdall_bag_writer_record_count() includes
/// those appended.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: offsets do not ascend; none is appended.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_writer_append_many(
    writer: *mut holdall_bag_writer,
    data: *const c_void,
    offsets: *const u64,
    count: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(writer), err, |w| {
        if count == 0 {
            return Ok(());
        }
        let (data, offsets) = concatenated(data, offsets, count, "records")?;
        w.writer.append_many(data, offsets)
    })
}

/// Returns the number of records at the last commit plus those appended since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_writer_record_count(writer: *const holdall_bag_writer) -> u64 {
    field(writer, 0, |w| w.writer.size())
}

/// Makes all appended records durable and visible, atomically: see base.h.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_writer_commit(
    writer: *mut holdall_bag_writer,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(writer), err, |w| w.writer.commit())
}

/// Closes a writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_writer_close(writer: *mut holdall_bag_writer) {
    take_back(writer);
}

/// Lists the files of a spec (see holdall_bag_open()), in order, to dst: NUL-terminated paths, *n
/// bytes in total. Only `@*` and plain names search the disk; files of `@N` need not exist.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT, _MISSING: `@*` matches shards of different counts, or none.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_files(
    spec: *const c_char,
    dst: *mut c_char,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let mut names = Vec::new();
        for file in spec::expand(string(spec, "spec")?)? {
            names.extend_from_slice(file.as_encoded_bytes());
            names.push(0);
        }
        copy_out(&names, dst.cast(), dst_size, n)
    })
}
