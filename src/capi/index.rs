//! Indexes of bags.

use super::bag::{holdall_bag, writer_mode};
use super::common::holdall_mode;
use super::guard::*;
use super::io::{holdall_io, storage};
use super::options::{chosen, holdall_options};
use crate::bag::index::{Index, NO_RECORD};
use crate::error::{Result, fail};
use std::ffi::{OsStr, c_char, c_void};
use std::sync::atomic::AtomicBool;

/// Tells in which records of a bag some content is. May be used by many threads at once.
///
/// It has fingerprints of the records and their numbers, 7 to 9 bytes each, never the records:
/// those that a fingerprint leads to are read and compared. So an index keeps its bag open, needs
/// no more memory for long keys, and what it finds is right whatever has become of it or the bag.
/// It may be in memory or in a file, in no form of Bagz' own (it has none): "holdall bagindex", a
/// version, checksums of each of its parts, as src/bag/index/mod.rs has it byte by byte.
///
/// An index in a file belongs to one bag as it was (a set that is read in turns is not the one that
/// is read file by file), or to one slice of it. Opening it notices another number of files,
/// records or bytes, and looks at a few records besides. A record that was changed to another of
/// the same length may not be noticed: it is then not found until the index is made anew, nor is
/// any other record taken for it. HOLDALL_OPT_VERIFY 2 at opening notices everything.
pub struct holdall_bag_index {
    broken: AtomicBool,
    index: Index,
}
handle!(holdall_bag_index);

/// In place of the number of a record: there is none.
pub const HOLDALL_NO_RECORD: u64 = u64::MAX;

const fn shared<T: Send + Sync>() {}
const _: () = {
    shared::<holdall_bag_index>();
    assert!(HOLDALL_NO_RECORD == NO_RECORD);
};

fn handle(index: Index) -> holdall_bag_index {
    holdall_bag_index {
        broken: AtomicBool::new(false),
        index,
    }
}

fn make(
    out: *mut *mut holdall_bag_index,
    keys: *const holdall_bag,
    err: *mut holdall_error,
    f: impl FnOnce(&holdall_bag) -> Result<Index>,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(keys), err, |keys| give(out, || f(keys).map(handle)))
}

/// Makes the index of a bag, or of a slice of one, in memory: about 22 bytes a record while it is
/// made, 9 then. Numbers of records are those of the slice.
/// Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _SKIP_DAMAGED; progress is told.
/// HOLDALL_E_FORMAT, _CHECKSUM: a record is damaged (err->position); with HOLDALL_OPT_SKIP_DAMAGED,
/// given here or to the bag, such records are left out: see holdall_bag_index_damaged().
/// HOLDALL_E_LIMIT: it takes more than HOLDALL_OPT_MEMORY_LIMIT.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_index_build(
    keys: *const holdall_bag,
    options: *const holdall_options,
    out: *mut *mut holdall_bag_index,
    err: *mut holdall_error,
) -> holdall_status {
    make(out, keys, err, |keys| {
        Index::build(&keys.bag, &chosen(options))
    })
}

/// As holdall_bag_index_build(), in a file, "NAME.index" beside the bag NAME say, and opens it. It
/// is there as a whole or not at all; while it is made, readers see the one from before. Takes 64
/// MiB of memory, or a quarter of HOLDALL_OPT_MEMORY_LIMIT where that is less, and what reading and
/// sorting take; what has no room there is in `NAME.holdall-part`. mode: HOLDALL_NEW, or
/// HOLDALL_REPLACE, which replaces an index and no other file. Further options:
/// HOLDALL_OPT_DURABILITY, _LOCK, and _IO as holdall_bag_index_open() has it. HOLDALL_E_EXISTS: as
/// the mode says. HOLDALL_E_BUSY: another one is being made there. HOLDALL_E_UNSUPPORTED: it is to
/// be in an object store: make it in a local file and copy that.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_index_create(
    path: *const c_char,
    mode: holdall_mode,
    keys: *const holdall_bag,
    options: *const holdall_options,
    out: *mut *mut holdall_bag_index,
    err: *mut holdall_error,
) -> holdall_status {
    make(out, keys, err, |keys| {
        Index::create(
            string(path, "path")?,
            writer_mode(mode)?,
            &keys.bag,
            &chosen(options),
        )
    })
}

/// As holdall_bag_index_create(), in a storage of the caller's, under the name ""; it may be closed
/// at once. HOLDALL_E_UNSUPPORTED: the storage is read-only. There is no lock.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_index_create_io(
    io: *mut holdall_io,
    mode: holdall_mode,
    keys: *const holdall_bag,
    options: *const holdall_options,
    out: *mut *mut holdall_bag_index,
    err: *mut holdall_error,
) -> holdall_status {
    make(out, keys, err, |keys| {
        Index::create_in(
            storage(io)?,
            OsStr::new(""),
            writer_mode(mode)?,
            &keys.bag,
            &chosen(options),
        )
    })
}

/// Opens the index of a bag, or of the same slice of one. It takes no more memory or time for 10^8
/// keys than for 10: parts of it are read, and their checksums looked at, when they are wanted.
/// Options: HOLDALL_OPT_IO, _VERIFY, _SKIP_DAMAGED, and for _VERIFY 2 _THREADS and _MEMORY_LIMIT.
/// HOLDALL_E_STATE: it was made for another bag, another state of it, or another slice.
/// HOLDALL_E_MISSING: there is none. HOLDALL_E_FORMAT, _CHECKSUM: it is no index, or damaged.
/// HOLDALL_E_VERSION: it was made by a later version of this library.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_index_open(
    path: *const c_char,
    keys: *const holdall_bag,
    options: *const holdall_options,
    out: *mut *mut holdall_bag_index,
    err: *mut holdall_error,
) -> holdall_status {
    make(out, keys, err, |keys| {
        Index::open(string(path, "path")?, &keys.bag, &chosen(options))
    })
}

/// As holdall_bag_index_open(), from a storage of the caller's, where it has the name ""; it may be
/// closed at once.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_index_open_io(
    io: *mut holdall_io,
    keys: *const holdall_bag,
    options: *const holdall_options,
    out: *mut *mut holdall_bag_index,
    err: *mut holdall_error,
) -> holdall_status {
    make(out, keys, err, |keys| {
        Index::open_in(storage(io)?, OsStr::new(""), &keys.bag, &chosen(options))
    })
}

/// Closes an index; NULL is fine. The file stays, as does the bag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_index_close(index: *mut holdall_bag_index) {
    take_back(index);
}

/// How many different keys it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_index_keys(index: *const holdall_bag_index) -> u64 {
    field(index, 0, |i| i.index.keys())
}

/// How many records were damaged when it was made, and are not in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_index_damaged(index: *const holdall_bag_index) -> u64 {
    field(index, 0, |i| i.index.damaged())
}

/// Finds the first record that is this key, all of it (key may be NULL where key_size is 0): its
/// number into *record. This is the Index of the Bagz package.
/// HOLDALL_NOT_FOUND (> 0) and *record HOLDALL_NO_RECORD: there is none.
/// HOLDALL_E_FORMAT, _CHECKSUM: a part of the index is damaged, or a record that may be the key
/// (err->position), unless HOLDALL_OPT_SKIP_DAMAGED is set. Otherwise fails as holdall_bag_read()
/// does.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_index_find_first(
    index: *const holdall_bag_index,
    key: *const c_void,
    key_size: usize,
    record: *mut u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(index), err, |i| {
        let record = place(record, "record")?;
        let found = i.index.first(slice(key.cast(), key_size, "key")?)?;
        *record = found.unwrap_or(HOLDALL_NO_RECORD);
        Ok(if found.is_some() {
            HOLDALL_OK
        } else {
            HOLDALL_NOT_FOUND
        })
    })
}

/// Finds all records that are this key: their numbers, rising, into `records`, which has room for
/// `most`; how many they are into *n. records NULL asks for *n alone. This is the MultiIndex of the
/// Bagz package. HOLDALL_NOT_FOUND (> 0) and *n 0: there is none. HOLDALL_E_BUFFER: there are more,
/// *n, than `most`. Otherwise fails as holdall_bag_index_find_first() does.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_index_find(
    index: *const holdall_bag_index,
    key: *const c_void,
    key_size: usize,
    records: *mut u64,
    most: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(index), err, |i| {
        let n = place(n, "n")?;
        let rows = i.index.find(slice(key.cast(), key_size, "key")?)?;
        if !records.is_null() {
            if rows.len() > most {
                *n = rows.len();
                return Err(fail!(
                    Buffer,
                    "{} records have this content, there is room for {most}",
                    rows.len()
                ));
            }
            filled(records, rows.len(), HOLDALL_NO_RECORD, "records")?.copy_from_slice(&rows);
        }
        *n = rows.len();
        Ok(if rows.is_empty() {
            HOLDALL_NOT_FOUND
        } else {
            HOLDALL_OK
        })
    })
}

/// As holdall_bag_index_find_first(), for many keys at once, in parallel and with records read
/// together: key i is data[offsets[i]] to data[offsets[i + 1]], offsets has count + 1 rising
/// values; its record goes to records[i], which is HOLDALL_NO_RECORD where there is none.
/// HOLDALL_NOT_FOUND (> 0): there was none for one key at least.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_index_find_many(
    index: *const holdall_bag_index,
    data: *const c_void,
    offsets: *const u64,
    count: usize,
    records: *mut u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(index), err, |i| {
        let many = count
            .checked_add(1)
            .ok_or_else(|| fail!(Argument, "{count} keys"))?;
        let offsets = slice(offsets, if count == 0 { 0 } else { many }, "offsets")?;
        let end = offsets.last().copied().unwrap_or(0);
        let end = usize::try_from(end)
            .map_err(|_| fail!(Argument, "the last of the offsets is {end}"))?;
        let absent = i.index.first_of_each(
            slice(data.cast(), end, "data")?,
            offsets,
            filled(records, count, HOLDALL_NO_RECORD, "records")?,
        )?;
        Ok(if absent == 0 {
            HOLDALL_OK
        } else {
            HOLDALL_NOT_FOUND
        })
    })
}
