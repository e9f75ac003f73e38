//! Bags.

use super::common::{
    HOLDALL_APPEND, HOLDALL_NEW, HOLDALL_REPLACE, digest_fits, holdall_mode, sum_number,
};
use super::guard::*;
use super::io::{holdall_io, storage};
use super::options::*;
use crate::bag::codec::Codec;
use crate::bag::{Bag, Mode, Place, Protection, Records, Writer};
use crate::error::{Result, Status, fail};
use crate::parallel::made;
use std::ffi::{CString, OsStr, c_char, c_void};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Records of any length, as Bagz keeps them: one file, or several read as one. May be read from
/// many threads at once.
pub struct holdall_bag {
    broken: AtomicBool,
    pub(super) bag: Bag,
    /// Names of its files, once they are asked for.
    names: OnceLock<Vec<CString>>,
}
handle!(holdall_bag);

/// What one batch read gave: bytes and offsets, which belong to it.
pub struct holdall_records {
    records: Records,
    damaged: Vec<u64>,
    /// Of a batch of a stream.
    numbers: Vec<u64>,
}

/// A writer of one bag.
pub struct holdall_bag_writer {
    broken: AtomicBool,
    writer: Writer,
}
handle!(holdall_bag_writer);

const fn shared<T: Send + Sync>() {}
const fn movable<T: Send>() {}
// what the header promises about threads, held to by the compiler
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

/// Opens a bag for reading: its last commit. `spec` is a path, or several with commas between
/// (empty ones are skipped, and a spec of these alone is a bag without a record);
/// in each, the first `@N` behind the last slash, N from 1 to 99999, stands for the files
/// `-00000-of-0000N` and so on, `@*` for as many as there are: "a@3.bagz,b.bag". A backslash before
/// `,`, `@` or a backslash takes it as it is, and a name that exists as it stands is taken as it
/// stands. Each file is compressed or not by its own name. The files are all as they were at one
/// moment, also while a set of them is written. Their records are one sequence, file by file, as
/// Bagz has it, or in turns where they are named as a set (`@`) and say that they were written so,
/// as those of holdall_bag_writer_open() do (those of 0.1.0 do not, and a caller's storages only
/// where they are compressed); HOLDALL_OPT_BAG_SHARDS says which. HOLDALL_E_ARGUMENT: such a set is
/// named together with other files. Takes no more memory or time for 10^8 records than for 10,
/// unless limits are to be kept in memory. Of more than 64 shards, or as many as the process cannot
/// well have open, those stay open that were of use lately: a quarter of the files that the process
/// may have open (`ulimit -n`) at the most, and at most 4096, of all bags together. None of these
/// is mapped, and one that was replaced meanwhile cannot be read any more (HOLDALL_E_STATE).
/// Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _IO, _VERIFY, _SKIP_DAMAGED, _CODEC, _DICTIONARY,
/// _BAG_LIMITS, _BAG_LIMITS_CACHE, _BAG_SHARDS; progress is told by holdall_bag_checksum() and
/// _VERIFY 2. HOLDALL_E_MISSING: a file is not there (the message names it). HOLDALL_E_ARGUMENT:
/// there are sets of different N where `@*` asks for one. HOLDALL_E_FORMAT: a file is no bag, or a
/// torn one: see holdall_repair(); or the files are to be read in turns, and their numbers of
/// records do not rise or fall as turns leave them. HOLDALL_E_CHECKSUM: `checksums.NAME` is that of
/// another state of the bag. HOLDALL_E_BUSY: it was changed each time it was looked at, for 5
/// seconds.
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

/// As holdall_bag_open(), with n storages of the caller's as shards, each with its records under
/// the name "". They may be closed at once. n must be at least 1.
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
            let mut places = Vec::new();
            for (i, s) in shards.iter().enumerate() {
                let io = borrow(*s).ok_or_else(|| fail!(Argument, "shards[{i}] is NULL"))?;
                places.push(Place::new(io.folder.clone(), ""));
            }
            if places.is_empty() {
                return Err(fail!(Argument, "a bag needs at least one shard"));
            }
            Bag::open_in(&places, &chosen(options)).map(bag_handle)
        })
    })
}

/// The records start, start + step, ... n of them, as a bag of its own that shares the files; step
/// may be negative, not 0 (HOLDALL_E_ARGUMENT); of n 0 it is empty. A slice of a slice counts in
/// the slice. HOLDALL_E_RANGE: it reaches beyond the bag.
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

/// Closes a bag; NULL is fine. Slices of it live on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_close(bag: *mut holdall_bag) {
    take_back(bag);
}

/// How many records. 0 for NULL, as all functions that cannot fail give for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_size(bag: *const holdall_bag) -> u64 {
    field(bag, 0, |b| b.bag.size())
}

/// HOLDALL_CODEC_NONE or _ZSTD, or _BY_NAME where shards differ.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_codec(bag: *const holdall_bag) -> i32 {
    value(bag, HOLDALL_CODEC_NONE, |b| match b.codec() {
        Some(Codec::None) => HOLDALL_CODEC_NONE,
        Some(Codec::Zstd) => HOLDALL_CODEC_ZSTD,
        None => HOLDALL_CODEC_BY_NAME,
    })
}

/// What protects the records against silent damage: HOLDALL_SUM_CRC32 (`checksums.NAME`), _ZSTD (in
/// the frames; the first one is looked at), or _NONE: in all shards, or the least of them. With
/// HOLDALL_OPT_VERIFY 0, `checksums.NAME` protects nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_sum(bag: *const holdall_bag) -> i32 {
    value(bag, HOLDALL_SUM_NONE, |b| match b.protection() {
        Ok(Protection::Crc32) => HOLDALL_SUM_CRC32,
        Ok(Protection::Zstd) => HOLDALL_SUM_ZSTD,
        Ok(Protection::None) | Err(_) => HOLDALL_SUM_NONE,
    })
}

/// HOLDALL_BAG_LIMITS_TAIL or _SEPARATE.
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

/// Bytes on disk of all its files, with limits and checksums, of the whole bag also for a slice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_cbytes(bag: *const holdall_bag) -> u64 {
    value(bag, 0, Bag::bytes)
}

/// Files it is made of, limits and checksums not counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_shards(bag: *const holdall_bag) -> u32 {
    value(bag, 0, |b| u32::try_from(b.shards()).unwrap_or(u32::MAX))
}

/// The name of file i of those, as messages have it; borrowed until the bag is closed; NULL where
/// there is no file i.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_shard_name(bag: *const holdall_bag, i: u32) -> *const c_char {
    let name = |b: &holdall_bag| {
        let names = made(&b.names, || {
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

/// How many records file i has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_shard_size(bag: *const holdall_bag, i: u32) -> u64 {
    value(bag, 0, |b| {
        b.each_shard().nth(i as usize).map_or(0, |(_, n)| n)
    })
}

/// Reads record i into dst, its size in bytes into *n. dst NULL asks for the size alone.
/// HOLDALL_E_BUFFER: dst is too small, *n is the size. HOLDALL_E_RANGE: there is no record i.
/// HOLDALL_E_FORMAT, _CHECKSUM: the record is damaged; the others can still be read.
/// HOLDALL_E_LIMIT: it takes more memory than HOLDALL_OPT_MEMORY_LIMIT. HOLDALL_E_STATE: the bag
/// has grown since it was opened and its limits are not kept in memory: open it again.
/// HOLDALL_NOT_FOUND (> 0) and *n 0: damaged, and HOLDALL_OPT_SKIP_DAMAGED is set.
///
/// Whenever a record cannot be read, dst may have been written to.
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
        let n = place(n, "n")?;
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

/// A batch; `numbers` where it comes from a stream.
pub(super) fn records_handle(records: Records, numbers: Vec<u64>) -> holdall_records {
    let damaged = records.damaged.iter().map(|(at, _)| *at).collect();
    holdall_records {
        records,
        damaged,
        numbers,
    }
}

/// Reads the n records from `first` on, in parallel where it pays, into one batch. Fails as
/// holdall_bag_read() does, as a whole, at the first record that cannot be read (err->position).
/// With HOLDALL_OPT_SKIP_DAMAGED it is HOLDALL_OK, and holdall_records_damaged() tells. What all of
/// them take together counts against HOLDALL_OPT_MEMORY_LIMIT.
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

/// Reads the records of these n numbers, in any order, repeated or not, into one batch in that
/// order. A record that is there several times is decoded once, and neighbours are read together.
/// Fails as holdall_bag_read_range() does.
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

/// Checksum (HOLDALL_SUM_*, 0 to 8) of the content: over every record in order, its length as 8
/// bytes little-endian, then its bytes; so it is the same however they are stored. dst NULL asks
/// for the size in *n; a short dst is HOLDALL_E_BUFFER; neither reads anything. Tells progress.
/// Fails as reading does.
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
        let n = place(n, "n")?;
        copy_out(&b.bag.checksum(sum)?, dst.cast(), dst_size, n)
    })
}

/// How many records a batch has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_count(records: *const holdall_records) -> usize {
    field(records, 0, |r| r.records.len())
}

/// The bytes of all records of a batch, end to end; borrowed until the batch is closed; never NULL
/// but for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_data(records: *const holdall_records) -> *const u8 {
    field(records, std::ptr::null(), |r| r.records.data.as_ptr())
}

/// count + 1 values; record i is data[offsets[i]] to data[offsets[i + 1]], the last one not
/// included. Borrowed until the batch is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_offsets(records: *const holdall_records) -> *const u64 {
    field(records, std::ptr::null(), |r| r.records.offsets.as_ptr())
}

/// How many records of a batch were damaged and are empty there; 0 without
/// HOLDALL_OPT_SKIP_DAMAGED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_damaged(records: *const holdall_records) -> usize {
    field(records, 0, |r| r.damaged.len())
}

/// Which they are: holdall_records_damaged() values, their places in the batch, rising. Borrowed
/// until the batch is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_records_damaged_at(records: *const holdall_records) -> *const u64 {
    field(records, std::ptr::null(), |r| r.damaged.as_ptr())
}

/// The numbers in the bag of the records of a batch that holdall_bag_stream_take() gave; NULL for
/// other batches. Borrowed until the batch is closed.
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

/// Closes a batch; NULL is fine. For the next batches its bag (or stream) keeps the memory of two
/// (of those it reads ahead), until it is closed: 128 MiB at most in the whole process, and a
/// quarter of the memory limit.
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
            "mode {m}: a writer takes HOLDALL_NEW, HOLDALL_REPLACE or HOLDALL_APPEND"
        )),
    }
}

fn writer_handle(writer: Writer) -> holdall_bag_writer {
    holdall_bag_writer {
        broken: AtomicBool::new(false),
        writer,
    }
}

/// Opens a bag for writing: of one file, or of a set of them: of the path "name@8.bagz" the files
/// `name-00000-of-00008.bagz` and so on, record i in file i modulo 8, which holdall_bag_open()
/// reads in this order again. "name@*.bagz" is as many as there are. That they were written in
/// turns is said by a skippable zstd frame behind the first record of each file, which Bagz
/// passes over (it reads one file after the other), and where records are not compressed by a file
/// `turns.NAME` beside the first. A backslash before `@` or a backslash takes it as it is, and so
/// is a comma; a file that has the path for its name is that file. All of a set is committed as
/// one: at any crash every file, also one that is opened alone, is as the last commit left
/// it. The files of a set are in one folder.
/// One file of a set may be written by its own name, "name-00003-of-00008.bagz", each by another
/// process at the same time; then each commits for itself. Read in turns, record k of that one is
/// record 8 * k + 3 of the set. mode: HOLDALL_NEW, _REPLACE or _APPEND (of a set: none of its
/// files, or all of them are there); whatever it is, nothing that others can see changes before the
/// first commit. What a crash left unfinished is settled first. A commit to limits at the tail
/// moves them all, 8 bytes a record (and saves them first); one to separate limits appends: the
/// better choice for many small commits to a large bag.
/// Options: HOLDALL_OPT_THREADS, _DURABILITY, _LOCK, _CODEC, _LEVEL, _CHECKSUM, _DICTIONARY,
/// _BAG_LIMITS; of a set _BAG_SHARDS, with HOLDALL_BAG_SHARDS_INTERLEAVED: to go on with a set
/// whose files do not say that they are in turns.
///
/// To go on with a bag, give the same _CODEC, _DICTIONARY and _BAG_LIMITS; checksums go on as they
/// are there. HOLDALL_E_EXISTS, HOLDALL_E_MISSING: as the mode says. HOLDALL_E_BUSY: another writer
/// has it open, or one of its files, or the set that it is a file of.
/// HOLDALL_E_STATE: checksums are asked for, and the records that are there have none; or a set is
/// not as turns leave it, as where its files were written one by one, or does not say that it was
/// written in turns: its files are to be appended to one by one then.
/// HOLDALL_E_UNSUPPORTED: a file of a set is a link to another folder.
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

/// As holdall_bag_writer_open(), in a storage of the caller's, under the name ""; it may be closed
/// at once. HOLDALL_E_UNSUPPORTED: the storage is read-only. There is no lock: the caller sees to
/// it that there is one writer.
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

/// Appends one record of n bytes (record may be NULL where n is 0). It counts from the next commit
/// on. On failure it was not appended. Records that come one by one are gathered (about half a MiB
/// for each thread) and compressed in parallel.
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

/// Appends `count` records, compressed in parallel, in order: record i is data[offsets[i]] to
/// data[offsets[i + 1]]; offsets has count + 1 rising values, the first of which need not be 0. On
/// failure holdall_bag_writer_size() tells how many of them went in: none with HOLDALL_E_ARGUMENT,
/// where offsets do not rise.
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
        let many = count
            .checked_add(1)
            .ok_or_else(|| fail!(Argument, "{count} records"))?;
        let offsets = slice(offsets, many, "offsets")?;
        let end = offsets.last().copied().unwrap_or(0);
        let end = usize::try_from(end)
            .map_err(|_| fail!(Argument, "the last of the offsets is {end}"))?;
        w.writer
            .append_many(slice(data.cast(), end, "data")?, offsets)
    })
}

/// Records of the last commit and those appended since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_writer_size(writer: *const holdall_bag_writer) -> u64 {
    field(writer, 0, |w| w.writer.size())
}

/// Makes everything appended so far visible and durable: all of it or, on failure, nothing. A
/// commit that failed may be tried again (after room was made on a full disk, say), until that
/// gives HOLDALL_E_STATE: after a sync that failed this writer refuses work, and only opening the
/// bag again tells whether the commit counts; it is whole in either case.
/// HOLDALL_E_EXISTS: the bag was to be new and another program has made one meanwhile.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_writer_commit(
    writer: *mut holdall_bag_writer,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(writer), err, |w| w.writer.commit())
}

/// Closes a writer; NULL is fine. What was not committed is gone, as after a crash.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_writer_close(writer: *mut holdall_bag_writer) {
    take_back(writer);
}
