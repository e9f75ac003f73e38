//! The C functions for checksums of bytes.

use super::constants::checksum;
use super::guard::*;
use crate::checksum::{Checksum, Hasher};
use crate::error::{Result, fail};
use std::ffi::c_void;
use std::sync::atomic::AtomicBool;

/// Computes a checksum of n bytes into dst. kind: HOLDALL_CHECKSUM_*, but _ZSTD. 32-bit values are
/// little-endian. *checksum_size is the size in bytes; dst NULL requests it alone and reads
/// nothing.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_checksum_compute(
    kind: i32,
    bytes: *const c_void,
    n: usize,
    dst: *mut c_void,
    dst_size: usize,
    checksum_size: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let value = checksum(kind)?.of(slice(bytes.cast(), n, "bytes")?);
        copy_out(&value, dst.cast(), dst_size, checksum_size)
    })
}

/// An incremental checksum.
pub struct holdall_checksum {
    broken: AtomicBool,
    algorithm: Checksum,
    hasher: Option<Hasher>,
}
handle!(holdall_checksum);

/// Starts an incremental checksum: see holdall_checksum_compute().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_checksum_new(
    kind: i32,
    out: *mut *mut holdall_checksum,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let algorithm = checksum(kind)?;
            Ok(holdall_checksum {
                broken: AtomicBool::new(false),
                algorithm,
                hasher: Some(Hasher::new(algorithm)),
            })
        })
    })
}

/// Adds n bytes.
///
/// Returns:
/// - HOLDALL_E_STATE: holdall_checksum_finish() already returned the checksum.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_checksum_update(
    checksum: *mut holdall_checksum,
    bytes: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(checksum), err, |c| {
        let hasher = c.hasher.as_mut().ok_or_else(|| {
            fail!(
                State,
                "checksum: holdall_checksum_finish() already returned it; start a new one"
            )
        })?;
        hasher.update(slice(bytes.cast(), n, "bytes")?);
        Ok(())
    })
}

/// Returns the checksum of all bytes. dst NULL requests the size, at any time. After
/// HOLDALL_E_BUFFER call again.
///
/// Returns:
/// - HOLDALL_E_STATE: it was already returned.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_checksum_finish(
    checksum: *mut holdall_checksum,
    dst: *mut c_void,
    dst_size: usize,
    checksum_size: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle_mut(borrow_mut(checksum), err, |c| {
        let fits = checksum_fits(c.algorithm, dst, dst_size) && !checksum_size.is_null();
        let bytes = if fits {
            c.hasher.take().map(Hasher::finish)
        } else {
            Some(vec![0; c.algorithm.size()])
        };
        let bytes = bytes.ok_or_else(|| {
            fail!(
                State,
                "checksum: holdall_checksum_finish() already returned it; start a new one"
            )
        })?;
        copy_out(&bytes, dst.cast(), dst_size, checksum_size)
    })
}

/// Frees an incremental checksum.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_checksum_free(checksum: *mut holdall_checksum) {
    take_back(checksum);
}

/// Returns true if the buffer is large enough. A request for the size reads no content.
fn checksum_fits(algorithm: Checksum, dst: *mut c_void, dst_size: usize) -> bool {
    !dst.is_null() && dst_size >= algorithm.size()
}

/// Writes the checksum that `compute` returns, of content that it says to be skipped in part or not.
pub(super) fn content_checksum(
    kind: i32,
    dst: *mut c_void,
    dst_size: usize,
    checksum_size: *mut usize,
    compute: impl FnOnce(Checksum) -> Result<(Vec<u8>, bool)>,
) -> Result<holdall_status> {
    let kind = checksum(kind)?;
    if !checksum_fits(kind, dst, dst_size) {
        return copy_out(&vec![0; kind.size()], dst.cast(), dst_size, checksum_size);
    }
    let checksum_size = required(checksum_size, "checksum_size")?;
    let (checksum, skipped) = compute(kind)?;
    copy_out(&checksum, dst.cast(), dst_size, checksum_size)?;
    Ok(or_skipped(skipped))
}
