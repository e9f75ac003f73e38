//! The C functions for indexes of bags.

use super::bag::{holdall_bag, without_storage, writer_mode};
use super::container::holdall_mode;
use super::guard::*;
use super::options::{chosen, holdall_options};
use super::storage::{Target, target};
use crate::bag::index::{Index, NO_RECORD};
use crate::error::{Result, fail};
use std::ffi::{OsStr, c_char, c_void};
use std::sync::atomic::AtomicBool;

/// An index of a bag: finds records by their complete content, the key, and keeps its bag open. It
/// stores 7 to 9 bytes per record; a lookup compares the records with the key.
///
/// To find values by key, write two bags: record i of the values belongs to record i of the keys.
/// Commit the values first, and index the keys.
///
/// An index belongs to one state of a bag, or of a slice, in one order of shards. After a commit to
/// the bag opening it is HOLDALL_E_STATE: create it again (HOLDALL_REPLACE); there is no
/// incremental update. A record replaced by another of the same length may go undetected without
/// HOLDALL_OPT_VERIFY 2: it is not found.
pub struct holdall_bag_index {
    broken: AtomicBool,
    index: Index,
}
handle!(holdall_bag_index);

/// Stands for the number of a record that does not exist.
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

/// Builds the index of a bag, or of a slice (whose numbers it uses), in memory: about 22 bytes per
/// record, then 9.
///
/// Returns:
/// - HOLDALL_E_FORMAT, _CHECKSUM: a record (err->position) is corrupt. HOLDALL_OPT_SKIP_DAMAGED,
///   here or of the bag, omits it.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_bag_index_build(
    keys: *const holdall_bag,
    options: *const holdall_options,
    out: *mut *mut holdall_bag_index,
    err: *mut holdall_error,
) -> holdall_status {
    make(out, keys, err, |keys| {
        let options = without_storage(options, "building the index of a bag in memory")?;
        Index::build(&keys.bag, &options)
    })
}

/// Builds an index like holdall_bag_index_build(), in a file such as "NAME.index" (in storage: ""),
/// and opens it. The file is replaced atomically. mode: HOLDALL_CREATE, HOLDALL_REPLACE.
///
/// Returns:
/// - HOLDALL_E_EXISTS: see mode; or the file to replace is no index.
/// - HOLDALL_E_UNSUPPORTED: path is in an object store.
/// - others: as holdall_bag_index_build().
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
        let (to, mode) = (target(path, options)?, writer_mode(mode)?);
        let options = chosen(options);
        match to {
            Target::Path(path) => Index::create(path, mode, &keys.bag, &options),
            Target::Storage(folder) => {
                Index::create_in(&folder, OsStr::new(""), mode, &keys.bag, &options)
            }
        }
    })
}

/// Opens the index of a bag, or of the same slice, from a file (in storage: the file ""). Memory
/// and time do not depend on the number of keys: parts are read and verified when needed.
///
/// Returns:
/// - HOLDALL_E_STATE: it belongs to another bag, state or slice.
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
        let (to, options) = (target(path, options)?, chosen(options));
        match to {
            Target::Path(path) => Index::open(path, &keys.bag, &options),
            Target::Storage(folder) => Index::open_in(&folder, OsStr::new(""), &keys.bag, &options),
        }
    })
}

/// Closes an index.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_index_close(index: *mut holdall_bag_index) {
    take_back(index);
}

/// Returns the number of distinct keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_index_key_count(index: *const holdall_bag_index) -> u64 {
    field(index, 0, |i| i.index.keys())
}

/// Returns the number of records that were corrupt when the index was built, which it leaves out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_bag_index_damaged_count(index: *const holdall_bag_index) -> u64 {
    field(index, 0, |i| i.index.damaged())
}

/// Finds the first record equal to the key; *record is its number.
///
/// Returns:
/// - HOLDALL_NOT_FOUND: none; *record is HOLDALL_NO_RECORD.
/// - HOLDALL_E_FORMAT, _CHECKSUM: a part of the index, or a record that may match (err->position),
///   is corrupt; not with HOLDALL_OPT_SKIP_DAMAGED.
/// - others: as holdall_bag_read().
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
        let record = required(record, "record")?;
        let found = i.index.first(slice(key.cast(), key_size, "key")?)?;
        *record = found.unwrap_or(HOLDALL_NO_RECORD);
        Ok(if found.is_some() {
            HOLDALL_OK
        } else {
            HOLDALL_NOT_FOUND
        })
    })
}

/// Finds all records equal to the key: their numbers, ascending, in records, which has space for
/// most; *n is how many. records NULL requests *n alone.
///
/// Returns:
/// - HOLDALL_NOT_FOUND: none; *n is 0.
/// - HOLDALL_E_BUFFER: *n exceeds most.
/// - others: as holdall_bag_index_find_first().
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
        let n = required(n, "n")?;
        let numbers = i.index.find(slice(key.cast(), key_size, "key")?)?;
        if !records.is_null() {
            if numbers.len() > most {
                *n = numbers.len();
                return Err(fail!(
                    Buffer,
                    "records: the array is too small (expected {} values, found {most})",
                    numbers.len()
                ));
            }
            filled(records, numbers.len(), HOLDALL_NO_RECORD, "records")?.copy_from_slice(&numbers);
        }
        *n = numbers.len();
        Ok(if numbers.is_empty() {
            HOLDALL_NOT_FOUND
        } else {
            HOLDALL_OK
        })
    })
}

/// Like holdall_bag_index_find_first(), for count keys in parallel, given as for
/// holdall_bag_writer_append_many(). records[i] is the number of the record of key i, or
/// HOLDALL_NO_RECORD.
///
/// Returns:
/// - HOLDALL_NOT_FOUND: at least one key has no record.
/// - others: as holdall_bag_index_find_first().
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
        let (data, offsets) = concatenated(data, offsets, count, "keys")?;
        let absent = i.index.first_of_each(
            data,
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
