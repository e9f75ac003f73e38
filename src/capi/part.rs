//! The C functions for commits in parts.

use super::guard::*;
use super::options::{chosen, holdall_options};
use super::storage::path_only;
use crate::error::{Result, fail};
use crate::os::OsStrExt;
use crate::parts::{self, Part};
use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::AtomicBool;

/// Size of the token of a part in bytes.
pub const HOLDALL_PART_TOKEN_SIZE: u32 = 164;

/// The same, as a length.
const TOKEN: usize = HOLDALL_PART_TOKEN_SIZE as usize;
const _: () = assert!(TOKEN == parts::TOKEN_SIZE);

/// A part of a container: any number of processes write parts of one container at the same time,
/// without knowing of each other, and one process commits them, all or none.
///
/// A part is a container of its own beside the other one. Open holdall_part_path() with
/// HOLDALL_APPEND, write, commit and close it. Then holdall_part_finish() returns the token of the
/// part; send it to the process that calls holdall_parts_commit(). Readers never see parts.
///
/// Parts whose tokens are neither committed nor discarded stay; holdall_repair() removes them. They
/// are files: workers on other machines need the same file system.
pub struct holdall_part {
    broken: AtomicBool,
    part: Part,
    path: CString,
}
handle!(holdall_part);

fn part_handle(part: Part) -> Result<holdall_part> {
    let path = CString::new(part.path().as_bytes());
    Ok(holdall_part {
        broken: AtomicBool::new(false),
        path: path.map_err(|_| fail!(Argument, "the path holds a NUL"))?,
        part,
    })
}

/// Creates a part of a bag that may not exist yet, or of a new set: a bag without records. Open it
/// with holdall_bag_writer_open() and the same options, those of a writer.
///
/// The records are appended to the bag. Of a set (`name@8.bagz`; `name@*.bagz`: as many shards as
/// parts), each part becomes a shard, without a copy.
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: an object store or storage of the caller, also for arrays and tables; a
///   CTable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_part_of_bag(
    spec: *const c_char,
    options: *const holdall_options,
    out: *mut *mut holdall_part,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let spec = path_only(spec, options, "holdall_part_of_bag()")?;
            Part::of_bag(spec, &chosen(options)).and_then(part_handle)
        })
    })
}

/// Creates a part of an existing array. start and shape NULL: an array of the same dtype without
/// rows, whose rows are appended. Otherwise the box from start on, ndim lengths each, whose items,
/// zeros or the fill value at first, replace those of the array. Options: for rows of bcolz, BLZ and
/// the BLZ RFC layout, those of a new array of that format; otherwise those of a new array in a
/// frame.
///
/// If the array is in a frame, and the box or the rows begin and end with its chunks or end with it,
/// chunks are not encoded again. Nor are complete chunks of rows in the other three formats, if
/// they begin with a chunk of the array. Of boxes that overlap, the last one counts.
///
/// Returns:
/// - HOLDALL_E_RANGE: the box is not within the array.
/// - HOLDALL_E_UNSUPPORTED: also rows of an array of 0 dimensions or in Fortran order.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_part_of_array(
    path: *const c_char,
    ndim: u32,
    start: *const u64,
    shape: *const u64,
    options: *const holdall_options,
    out: *mut *mut holdall_part,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let path = path_only(path, options, "holdall_part_of_array()")?;
            let ndim = ndim as usize;
            let of_box = if start.is_null() && shape.is_null() {
                None
            } else {
                Some([slice(start, ndim, "start")?, slice(shape, ndim, "shape")?])
            };
            Part::of_array(path, of_box, &chosen(options)).and_then(part_handle)
        })
    })
}

/// Creates a part of an existing table: a table with the same columns without rows, whose rows are
/// appended. Options: those of a new table.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_part_of_table(
    path: *const c_char,
    options: *const holdall_options,
    out: *mut *mut holdall_part,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let path = path_only(path, options, "holdall_part_of_table()")?;
            Part::of_table(path, &chosen(options)).and_then(part_handle)
        })
    })
}

/// Returns the path of the container that is the part, valid as long as the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_part_path(part: *const holdall_part) -> *const c_char {
    field(part, std::ptr::null(), |part| part.path.as_ptr())
}

/// Writes the token of the part, HOLDALL_PART_TOKEN_SIZE bytes. The container must be committed and
/// closed, and must not be changed any more.
///
/// Returns:
/// - HOLDALL_E_STATE: finished already, or the shape of the box was changed.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_part_finish(
    part: *mut holdall_part,
    token: *mut c_void,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(part), err, |part| {
        let Some(dst) = buffer(token.cast(), TOKEN)? else {
            return Err(fail!(Argument, "token is NULL"));
        };
        dst.copy_from_slice(&part.part.finish()?);
        Ok(())
    })
}

/// Closes a part. If it is not finished, its files are removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_part_close(part: *mut holdall_part) {
    take_back(part);
}

/// Returns count tokens, which are end to end.
fn each_token<'a>(tokens: *const c_void, count: usize) -> Result<Vec<&'a [u8]>> {
    let bytes = count.checked_mul(TOKEN);
    let bytes = bytes.ok_or_else(|| fail!(Argument, "count: {count} tokens"))?;
    let all = slice(tokens.cast::<u8>(), bytes, "tokens")?;
    Ok(all.chunks_exact(TOKEN).collect())
}

/// Commits parts of the container at a path or spec, and removes them: records and rows are appended
/// in the order of the tokens, which are end to end. All parts are committed, or none. Options: those
/// of opening for writing. count 0: nothing happens.
///
/// The call may be repeated after any failure, also by another process: parts are not committed
/// twice.
///
/// Returns:
/// - HOLDALL_E_MISSING: a part is gone: an earlier call committed or discarded it.
/// - HOLDALL_E_FORMAT, _CHECKSUM: not a token.
/// - HOLDALL_E_ARGUMENT: tokens of different kinds, one twice, or not as many as shards.
/// - HOLDALL_E_EXISTS: the set exists.
/// - HOLDALL_E_STATE: a part was changed after it was finished; or another writer changed the
///   container after an interrupted call (see the message).
/// - HOLDALL_E_TYPE: a part has another dtype or other columns.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_parts_commit(
    path: *const c_char,
    tokens: *const c_void,
    count: usize,
    options: *const holdall_options,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let path = path_only(path, options, "holdall_parts_commit()")?;
        let tokens = each_token(tokens, count)?;
        parts::commit(path, &tokens, &chosen(options)).map(|()| HOLDALL_OK)
    })
}

/// Removes parts without committing them. Those that are gone are ignored.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_parts_discard(
    path: *const c_char,
    tokens: *const c_void,
    count: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let path = string(path, "path")?;
        let tokens = each_token(tokens, count)?;
        parts::discard(path, &tokens).map(|()| HOLDALL_OK)
    })
}

/// Lists the uncommitted parts of the container at a path or spec to dst: NUL-terminated names, *n
/// bytes in total. Parts that a writer has open are included.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_parts_list(
    path: *const c_char,
    dst: *mut c_char,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let mut names = Vec::new();
        for name in parts::list(string(path, "path")?)? {
            names.extend_from_slice(name.as_bytes());
            names.push(0);
        }
        copy_out(&names, dst.cast(), dst_size, n)
    })
}
