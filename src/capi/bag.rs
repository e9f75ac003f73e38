//! The C functions for bags.

use super::common::{
    HOLDALL_APPEND, HOLDALL_NEW, HOLDALL_REPLACE, digest_fits, holdall_mode, sum_number,
};
use super::guard::*;
use super::io::{holdall_io, storage};
use super::options::*;
use crate::bag::codec::Codec;
use crate::bag::{Bag, Mode, Protection, Records, ShardPath, Writer};
use crate::error::{Result, Status, fail};
use crate::parallel::get_or_init;
use std::ffi::{CString, OsStr, c_char, c_void};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// An open bag: records of any length in the Bagz format, in one file or several. Many threads may
/// read one handle at once.
pub struct holdall_bag {
    broken: AtomicBool,
    pub(super) bag: Bag,
    /// The names of its files, filled by the first call that requests one.
    names: OnceLock<Vec<CString>>,
}
handle!(holdall_bag);

/// A batch of records that one call has read. It owns bytes and offsets until it is closed.
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
    shared::<holdall_io>(),
    movable::<holdall_bag_writer>(),
)
    .0;

fn bag_handle(bag: Bag) -> holdall_bag {
    holdall_bag {
        broken: AtomicBool::new(false),
        bag,
        names: OnceLock::new(),
    }
}

fn value<T: Copy>(bag: *const holdall_bag, otherwise: T, f: impl FnOnce(&Bag) -> T) -> T {
    guard_value(otherwise, || borrow(bag).map_or(otherwise, |b| f(&b.bag)))
}

/// Opens a bag for reading at its last commit; all files are read in the state of one moment.
///
/// spec: a path, or several separated by commas; empty ones are skipped, and a spec of only empty
/// ones is a bag without records. The first @N after the
/// last slash (N: 1 to 99999) stands for the files -00000-of-0000N and so on, @* for as many as
/// exist: "a@3.bagz,b.bag". A backslash escapes a comma, @ or backslash. The name of an existing
/// file is taken literally.
///
/// The records are one sequence: file after file, or interleaved for a set (@) that records this
/// (those of version 0.1.0, and uncompressed ones in storage of the caller, do not): see
/// HOLDALL_OPT_BAG_SHARDS.
///
/// Memory and time do not depend on the number of records, except with HOLDALL_OPT_BAG_LIMITS_CACHE
/// set to 1. Of more than 64 files (fewer if `ulimit -n` is low), only recently used ones stay open,
/// unmapped: a quarter of `ulimit -n` over all bags, and no more than 4096. Reads return
/// HOLDALL_E_STATE if such a file was replaced.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: @* matches sets of different N, or an interleaved set is combined with
///   other files.
/// - HOLDALL_E_FORMAT: a file is not a bag, or torn (see holdall_repair()), or record counts do not
///   fit an interleaved set.
/// - HOLDALL_E_CHECKSUM: checksums.NAME belongs to another state of the bag.
/// - HOLDALL_E_BUSY: the bag changed at each attempt for 5 seconds.
///
/// Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _IO, _VERIFY (2 reports progress), _SKIP_DAMAGED,
/// _CODEC, _DICTIONARY, _BAG_LIMITS, _BAG_LIMITS_CACHE, _BAG_SHARDS.
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
            Bag::open(string(spec, "spec")?, &chosen(options)).map(bag_handle)
        })
    })
}

/// Like holdall_bag_open(), from n storages (at least 1), one per shard.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_open_io(
    shards: *const *mut holdall_io,
    n: u32,
    options: *const holdall_options,
    out: *mut *mut holdall_bag,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let shards = slice(shards, n as usize, "shards")?;
            let mut paths = Vec::new();
            for (i, s) in shards.iter().enumerate() {
                let io = borrow(*s).ok_or_else(|| fail!(Argument, "shards[{i}] is NULL"))?;
                paths.push(ShardPath::new(io.folder.clone(), ""));
            }
            if paths.is_empty() {
                return Err(fail!(Argument, "n is 0: a bag needs at least one shard"));
            }
            Bag::open_in(&paths, &chosen(options)).map(bag_handle)
        })
    })
}

/// Opens the n records start, start + step, ... as a bag that shares the files. step may be
/// negative, n may be 0. A slice of a slice uses the numbers of the slice.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: step is 0.
/// - HOLDALL_E_RANGE: beyond the bag.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_slice(
    bag: *const holdall_bag,
    start: u64,
    step: i64,
    n: u64,
    out: *mut *mut holdall_bag,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(bag), err, |b| {
        give(out, || b.bag.slice(start, step, n).map(bag_handle))
    })
}

/// Closes a bag, also while slices of it are in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_close(bag: *mut holdall_bag) {
    take_back(bag);
}

/// Returns the number of records; 0 for NULL, as do all functions that cannot fail.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_size(bag: *const holdall_bag) -> u64 {
    field(bag, 0, |b| b.bag.size())
}

/// Returns HOLDALL_CODEC_NONE, _ZSTD, or _BY_NAME if shards differ.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_codec(bag: *const holdall_bag) -> i32 {
    value(bag, HOLDALL_CODEC_NONE, |b| match b.codec() {
        Some(Codec::None) => HOLDALL_CODEC_NONE,
        Some(Codec::Zstd) => HOLDALL_CODEC_ZSTD,
        None => HOLDALL_CODEC_BY_NAME,
    })
}

/// Returns the checksum of the records, the weakest of all shards: HOLDALL_SUM_CRC32
/// (checksums.NAME; unused with HOLDALL_OPT_VERIFY 0), _ZSTD (in the frames, judged by the first
/// one), or _NONE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_sum(bag: *const holdall_bag) -> i32 {
    value(bag, HOLDALL_SUM_NONE, |b| match b.protection() {
        Ok(Protection::Crc32) => HOLDALL_SUM_CRC32,
        Ok(Protection::Zstd) => HOLDALL_SUM_ZSTD,
        Ok(Protection::None) | Err(_) => HOLDALL_SUM_NONE,
    })
}

/// Returns HOLDALL_BAG_LIMITS_TAIL or _SEPARATE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_limits(bag: *const holdall_bag) -> i32 {
    value(bag, HOLDALL_BAG_LIMITS_TAIL, |b| {
        if b.separate() {
            HOLDALL_BAG_LIMITS_SEPARATE
        } else {
            HOLDALL_BAG_LIMITS_TAIL
        }
    })
}

/// Returns the size on disk in bytes of all files, with limits and checksums; for a slice, of the
/// whole bag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_cbytes(bag: *const holdall_bag) -> u64 {
    value(bag, 0, Bag::bytes)
}

/// Returns the number of shards: files without those of limits and checksums.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_shards(bag: *const holdall_bag) -> u32 {
    value(bag, 0, |b| u32::try_from(b.shards()).unwrap_or(u32::MAX))
}

/// Returns the name of shard i as in messages; NULL if i is out of range. Valid until the bag is
/// closed.
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
pub unsafe extern "C" fn holdall_bag_shard_size(bag: *const holdall_bag, i: u32) -> u64 {
    value(bag, 0, |b| {
        b.each_shard().nth(i as usize).map_or(0, |(_, n)| n)
    })
}

/// Reads record i into dst; *n is its size in bytes. dst NULL requests the size alone.
///
/// Returns:
/// - HOLDALL_NOT_FOUND: the record is corrupt (HOLDALL_OPT_SKIP_DAMAGED); *n is 0.
/// - HOLDALL_E_RANGE: no such record.
/// - HOLDALL_E_FORMAT, _CHECKSUM: the record is corrupt; others remain readable.
/// - HOLDALL_E_LIMIT: the record exceeds HOLDALL_OPT_MEMORY_LIMIT.
/// - HOLDALL_E_STATE: the bag grew after it was opened, and its limits are not cached in memory;
///   open it again.
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
                Ok(if skipped {
                    HOLDALL_NOT_FOUND
                } else {
                    HOLDALL_OK
                })
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

fn batch(
    out: *mut *mut holdall_records,
    read: impl FnOnce() -> Result<Records>,
) -> Result<holdall_status> {
    give(out, || Ok(records_handle(read()?, Vec::new())))
}

/// Returns the handle of a batch. `numbers` is empty unless the batch comes from a stream.
pub(super) fn records_handle(records: Records, numbers: Vec<u64>) -> holdall_records {
    let damaged = records.damaged.iter().map(|(at, _)| *at).collect();
    holdall_records {
        records,
        damaged,
        numbers,
    }
}

/// Reads n records from first on into one batch, in parallel if faster. HOLDALL_OPT_MEMORY_LIMIT
/// applies to their total size. Fails as holdall_bag_read() at the first record that cannot be read
/// (err->position). With HOLDALL_OPT_SKIP_DAMAGED, corrupt records are empty, and it returns
/// HOLDALL_OK: see holdall_records_damaged().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_read_range(
    bag: *const holdall_bag,
    first: u64,
    n: u64,
    out: *mut *mut holdall_records,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(bag), err, |b| {
        batch(out, || b.bag.read_range(first, n))
    })
}

/// Reads n records by number, in any order and with repetitions, into one batch in that order.
/// Decodes repeated records once and reads neighbours together. Returns as
/// holdall_bag_read_range().
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
        batch(out, || b.bag.read_indices(slice(indices, n, "indices")?))
    })
}

/// Computes a checksum (HOLDALL_SUM_*, 0 to 8) of the content: for each record in order, its length
/// as 8 bytes little-endian, then its bytes, however they are stored. Reports progress. dst NULL
/// and HOLDALL_E_BUFFER read nothing. Else returns as holdall_bag_read().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_checksum(
    bag: *const holdall_bag,
    sum: i32,
    dst: *mut c_void,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(bag), err, |b| {
        let sum = sum_number(sum)?;
        if !digest_fits(sum, dst, dst_size) {
            return copy_out(&vec![0; sum.size()], dst.cast(), dst_size, n);
        }
        let n = required(n, "n")?;
        copy_out(&b.bag.checksum(sum)?, dst.cast(), dst_size, n)
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

/// Returns how many records were corrupt and are empty in the batch; 0 without
/// HOLDALL_OPT_SKIP_DAMAGED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_damaged(records: *const holdall_records) -> usize {
    field(records, 0, |r| r.damaged.len())
}

/// Returns the positions of these holdall_records_damaged() records in the batch, ascending.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_damaged_at(records: *const holdall_records) -> *const u64 {
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

/// Closes a batch. Its bag or stream reuses the memory of two batches (streams: of those read
/// ahead) until closed: at most 128 MiB in the process, and a quarter of the memory limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_close(records: *mut holdall_records) {
    take_back(records);
}

pub(super) fn writer_mode(m: holdall_mode) -> Result<Mode> {
    match m {
        HOLDALL_NEW => Ok(Mode::New),
        HOLDALL_REPLACE => Ok(Mode::Replace),
        HOLDALL_APPEND => Ok(Mode::Append),
        m => Err(fail!(
            Argument,
            "mode: invalid value for a writer (expected HOLDALL_NEW, HOLDALL_REPLACE or HOLDALL_APPEND, found {m})"
        )),
    }
}

fn writer_handle(writer: Writer) -> holdall_bag_writer {
    holdall_bag_writer {
        broken: AtomicBool::new(false),
        writer,
    }
}

/// Opens a writer of a bag, or of a set of bags, whose files commit together.
///
/// path: a file, or a set in one folder: "name@8.bagz" for name-00000-of-00008.bagz and so on,
/// "name@*.bagz" for as many as exist. Record i goes to file i modulo 8. A skippable zstd frame
/// after the first record of each file (uncompressed: a file turns.NAME) records this for
/// holdall_bag_open(); Bagz ignores it. A backslash escapes @ or backslash; a comma, and the name
/// of an existing file, are literal. Processes may instead each write one file of a set,
/// "name-00003-of-00008.bagz", with its own commits; its record k is record 8 * k + 3 when read
/// interleaved.
///
/// mode: HOLDALL_NEW, _REPLACE or _APPEND (a set: none or all files exist). Nothing visible changes
/// before the first commit, except that an interrupted one is recovered. To append, repeat _CODEC,
/// _DICTIONARY and _BAG_LIMITS; checksums continue as they are. Many small commits need separate
/// limits: see docs/commits.md.
///
/// Returns:
/// - HOLDALL_E_EXISTS, _MISSING: see mode.
/// - HOLDALL_E_BUSY: another writer has the bag, a file of it, or its set open.
/// - HOLDALL_E_STATE: checksums are requested, but existing records have none; or the set is not
///   interleaved, or does not record it: append to its files one by one.
/// - HOLDALL_E_UNSUPPORTED: a file of a set is a link to another folder.
///
/// Options: HOLDALL_OPT_THREADS, _DURABILITY, _LOCK, _CODEC, _LEVEL, _CHECKSUM, _DICTIONARY,
/// _BAG_LIMITS; sets: _BAG_SHARDS, as HOLDALL_BAG_SHARDS_INTERLEAVED, to append to one that does
/// not record it.
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
            Writer::open(string(path, "path")?, writer_mode(mode)?, &chosen(options))
                .map(writer_handle)
        })
    })
}

/// Like holdall_bag_writer_open(), in the file "" of a storage.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_writer_open_io(
    io: *mut holdall_io,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_bag_writer,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            Writer::open_in(
                storage(io)?,
                OsStr::new(""),
                writer_mode(mode)?,
                &chosen(options),
            )
            .map(writer_handle)
        })
    })
}

/// Appends one record of n bytes (NULL if n is 0), visible from the next commit on. On failure it
/// is not appended. Buffers about 512 KiB per thread and compresses in parallel.
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

/// Appends count records, compressed in parallel. Record i is data[offsets[i]] to
/// data[offsets[i+1]]; offsets has count + 1 ascending values and may start above 0. On failure
/// holdall_bag_writer_size() includes those appended: none if offsets do not ascend
/// (HOLDALL_E_ARGUMENT).
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
        let many = count.checked_add(1).ok_or_else(|| {
            fail!(
                Argument,
                "count: {count} records are more than memory can hold"
            )
        })?;
        let offsets = slice(offsets, many, "offsets")?;
        let end = offsets.last().copied().unwrap_or(0);
        let end = usize::try_from(end).map_err(|_| {
            fail!(
                Argument,
                "offsets: the last value, {end}, is larger than memory can hold"
            )
        })?;
        w.writer
            .append_many(slice(data.cast(), end, "data")?, offsets)
    })
}

/// Returns the number of records at the last commit plus those appended since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_writer_size(writer: *const holdall_bag_writer) -> u64 {
    field(writer, 0, |w| w.writer.size())
}

/// Makes all appended records durable and visible, atomically. After a failure the call may be
/// repeated: see docs/commits.md.
///
/// Returns:
/// - HOLDALL_E_STATE: a sync failed. Close the writer; the bag is consistent when opened again,
///   with or without the commit.
/// - HOLDALL_E_EXISTS: HOLDALL_NEW, and another program has created the bag.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_writer_commit(
    writer: *mut holdall_bag_writer,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(writer), err, |w| w.writer.commit())
}

/// Closes a writer. Uncommitted records are discarded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_writer_close(writer: *mut holdall_bag_writer) {
    take_back(writer);
}
