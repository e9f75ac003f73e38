//! The C functions that apply to every format: versions, status names, identify, verify, repair
//! and checksums.

use super::guard::*;
use super::options::{chosen, holdall_options};
use crate::checksum::{Checksum, Hasher};
use crate::error::{Error, Result, Status, fail};
use crate::identify::{identify, kind_of_broken};
use crate::io::overlay::DryRun;
use crate::repair::{reading, repair};
use crate::{bag, verify};
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// One of HOLDALL_FORMAT_*.
pub type holdall_format = i32;
/// A Bloscpack file.
pub const HOLDALL_FORMAT_BLOSCPACK: i32 = 1;
/// A folder in the layout of bcolz.
pub const HOLDALL_FORMAT_BCOLZ: i32 = 2;
/// A folder in the layout of BLZ.
pub const HOLDALL_FORMAT_BLZ: i32 = 3;
/// A folder in the BLZ RFC layout: superchunk files `__1__.bin` of many chunks each.
pub const HOLDALL_FORMAT_BLZ_PAPER: i32 = 4;
/// A Blosc2 frame: a file, or with HOLDALL_OPT_SPARSE a folder with one file per chunk.
pub const HOLDALL_FORMAT_B2FRAME: i32 = 5;
/// A frame with the metalayer `caterva`: an array without a dtype.
pub const HOLDALL_FORMAT_CATERVA: i32 = 6;
/// A frame with the metalayer `b2nd`: an array.
pub const HOLDALL_FORMAT_B2ND: i32 = 7;
/// A Bagz file.
pub const HOLDALL_FORMAT_BAGZ: i32 = 8;

/// One of HOLDALL_KIND_*.
pub type holdall_kind = i32;
/// A sequence of bytes in compressed chunks.
pub const HOLDALL_KIND_SCHUNK: i32 = 1;
/// Items of one type in a grid.
pub const HOLDALL_KIND_ARRAY: i32 = 2;
/// Named columns of equal length.
pub const HOLDALL_KIND_TABLE: i32 = 3;
/// Records of any length.
pub const HOLDALL_KIND_BAG: i32 = 4;

/// One of HOLDALL_READ, _APPEND, _NEW, _REPLACE.
pub type holdall_mode = i32;
/// Opens an existing container for reading.
pub const HOLDALL_READ: i32 = 0;
/// Opens an existing container for reading and writing.
pub const HOLDALL_APPEND: i32 = 1;
/// Creates a container. HOLDALL_E_EXISTS: the path exists.
pub const HOLDALL_NEW: i32 = 2;
/// Creates a container. An existing one stays until the first commit replaces it.
pub const HOLDALL_REPLACE: i32 = 3;

/// Returns the version of the running library: major*1000000 + minor*1000 + patch. The header's is
/// HOLDALL_VERSION_NUMBER.
#[unsafe(no_mangle)]
pub extern "C" fn holdall_version_number() -> u32 {
    let part = |s: &str| s.parse::<u32>().unwrap_or(0);
    part(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
        + part(env!("CARGO_PKG_VERSION_MINOR")) * 1000
        + part(env!("CARGO_PKG_VERSION_PATCH"))
}

/// Returns the versions of the library and its codecs, such as "0.1.0 zstd/1.5.7". Static.
#[unsafe(no_mangle)]
pub extern "C" fn holdall_version_text() -> *const c_char {
    static TEXT: OnceLock<CString> = OnceLock::new();
    guard_value(c"".as_ptr(), || {
        TEXT.get_or_init(|| {
            CString::new(format!(
                "{} zstd/{}",
                env!("CARGO_PKG_VERSION"),
                zstd_safe::version_string()
            ))
            .unwrap_or_default()
        })
        .as_ptr()
    })
}

/// Returns the name of a status, such as "HOLDALL_E_IO". Static, never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn holdall_status_name(status: holdall_status) -> *const c_char {
    let name = match status {
        HOLDALL_OK => c"HOLDALL_OK",
        HOLDALL_NOT_FOUND => c"HOLDALL_NOT_FOUND",
        HOLDALL_E_ARGUMENT => c"HOLDALL_E_ARGUMENT",
        HOLDALL_E_PANIC => c"HOLDALL_E_PANIC",
        HOLDALL_E_MEMORY => c"HOLDALL_E_MEMORY",
        HOLDALL_E_BUFFER => c"HOLDALL_E_BUFFER",
        HOLDALL_E_IO => c"HOLDALL_E_IO",
        HOLDALL_E_MISSING => c"HOLDALL_E_MISSING",
        HOLDALL_E_EXISTS => c"HOLDALL_E_EXISTS",
        HOLDALL_E_FORMAT => c"HOLDALL_E_FORMAT",
        HOLDALL_E_CHECKSUM => c"HOLDALL_E_CHECKSUM",
        HOLDALL_E_VERSION => c"HOLDALL_E_VERSION",
        HOLDALL_E_CODEC => c"HOLDALL_E_CODEC",
        HOLDALL_E_TYPE => c"HOLDALL_E_TYPE",
        HOLDALL_E_RANGE => c"HOLDALL_E_RANGE",
        HOLDALL_E_STATE => c"HOLDALL_E_STATE",
        HOLDALL_E_LIMIT => c"HOLDALL_E_LIMIT",
        HOLDALL_E_CANCELLED => c"HOLDALL_E_CANCELLED",
        HOLDALL_E_CALLBACK => c"HOLDALL_E_CALLBACK",
        HOLDALL_E_BUSY => c"HOLDALL_E_BUSY",
        HOLDALL_E_UNSUPPORTED => c"HOLDALL_E_UNSUPPORTED",
        _ => c"(unknown status)",
    };
    name.as_ptr()
}

/// Identifies the format and kind of a path or spec (see holdall_bag_open()) by content, as a
/// reader sees it. Outputs may be NULL.
///
/// A Bloscpack file is HOLDALL_KIND_SCHUNK, even if holdall_array_open() opens it. A frame with
/// both metalayers is HOLDALL_FORMAT_B2ND, one with neither HOLDALL_KIND_SCHUNK. A folder in the
/// BLZ RFC layout with separate fields is HOLDALL_KIND_TABLE and also opens as an array. A file is
/// a bag if it opens as one. Corrupt files are identified by their first bytes.
///
/// Returns:
/// - HOLDALL_E_FORMAT: no known format.
/// - HOLDALL_E_MISSING: nothing exists there.
/// - other errors: a corrupt or never committed folder or frame whose format is undeterminable;
///   *kind is set.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_identify(
    path: *const c_char,
    format: *mut holdall_format,
    kind: *mut holdall_kind,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let path = string(path, "path")?;
        let (f, k) = identify(path).inspect_err(|_| {
            kind_of_broken(path)
                .into_iter()
                .for_each(|k| put(kind, k as i32))
        })?;
        put(format, f as i32);
        put(kind, k as i32);
        Ok(HOLDALL_OK)
    })
}

/// Lists the files of a spec (see holdall_bag_open()), in order, to dst: NUL-terminated paths, *n
/// bytes in total; dst NULL requests *n. Only `@*` and plain names search the disk; files of `@N`
/// need not exist. A spec without files gives 0 bytes.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: `@*` matches shards of different counts.
/// - HOLDALL_E_MISSING: `@*` matches none.
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
        for file in bag::spec::expand(string(spec, "spec")?)? {
            names.extend_from_slice(file.as_encoded_bytes());
            names.push(0);
        }
        copy_out(&names, dst.cast(), dst_size, n)
    })
}

/// Callback for each fault that holdall_verify() finds, on the calling thread. A nonzero result
/// stops the call, which returns the first fault and the counts so far.
///
/// part: "record N", "chunk N" or the path; in a table "COLUMN/data/__N.blp" or "COLUMN". Both
/// pointers are valid during the call.
pub type holdall_fault_fn = Option<
    unsafe extern "C" fn(
        ctx: *mut c_void,
        part: *const c_char,
        fault: *const holdall_error,
    ) -> c_int,
>;

/// Reads everything at a path or spec, verifies all lengths and checksums, and calls `fault` (may
/// be NULL) for each fault. See docs/damage.md.
///
/// Bloscpack files are verified as superchunks; folders as arrays, tables or frames; frames also by
/// most of a header, their end, or the names `.b2nd`, `.b2frame`, `.caterva`, `.cat`; other files
/// as bags.
///
/// *sound, *bad, *unchecked (may be NULL): records or chunks intact; corrupt or missing; without a
/// checksum that applies, or of an unknown codec, filter or version (reported). *bad may be 0 with
/// corrupt headers or metadata: check the status.
///
/// Returns:
/// - HOLDALL_OK: intact.
/// - HOLDALL_E_CANCELLED, HOLDALL_E_ARGUMENT (of an option): no verdict, no counts.
/// - HOLDALL_E_BUSY: no verdict, no counts: writers committed during several attempts for 5
///   seconds. After a commit the call starts again and repeats no fault.
/// - the status of the first fault; failing to open is one.
///
/// Options: bags: as holdall_bag_open() without HOLDALL_OPT_VERIFY, _SKIP_DAMAGED. Others:
/// HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _IO; frames also _AT. All: _DRY_RUN. In storage of the
/// caller, open with HOLDALL_OPT_VERIFY 2 instead.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_verify(
    path: *const c_char,
    options: *const holdall_options,
    fault: holdall_fault_fn,
    ctx: *mut c_void,
    sound: *mut u64,
    bad: *mut u64,
    unchecked: *mut u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let path = string(path, "path")?;
        let mut first = None;
        let mut report = |part: &str, e: &Error| {
            first.get_or_insert_with(|| e.clone());
            DryRun::outside(|| report_fault(fault, ctx, part, e))
        };
        let found = reading(path, chosen(options), |options| {
            verify::verify(path, options, &mut report)
        });
        let is_fault = |e: &Error| {
            !matches!(
                e.status,
                Status::Argument | Status::Cancelled | Status::Busy
            )
        };
        if first.is_some() || found.as_ref().map_or_else(is_fault, |_| true) {
            for (out, n) in [sound, bad, unchecked]
                .into_iter()
                .zip(found.as_ref().copied().unwrap_or_default())
            {
                put(out, n);
            }
        }
        match (found, first) {
            (Err(e), Some(first)) if e.status == Status::Busy => Err(first),
            (Err(e), _) | (Ok(_), Some(e)) => Err(e),
            (Ok(_), None) => Ok(HOLDALL_OK),
        }
    })
}

fn report_fault(fault: holdall_fault_fn, ctx: *mut c_void, part: &str, e: &Error) -> bool {
    let Some(f) = fault else { return true };
    let part = CString::new(part).unwrap_or_default();
    let mut error = holdall_error {
        status: 0,
        os_code: 0,
        position: -1,
        message: [0; 496],
    };
    guard(&mut error, || Err(e.clone()));
    // SAFETY: the caller's function, with its context and two values that outlive the call.
    unsafe { f(ctx, part.as_ptr(), &error) == 0 }
}

/// Repairs a container: completes or rolls back an interrupted change and restores the last
/// consistent state. Intact records and chunks keep their positions. See docs/damage.md.
///
/// - Bag (each file of a spec): restores limits that frames or checksums prove.
///   HOLDALL_OPT_SKIP_DAMAGED: if nothing proves the limits of a compressed bag, its first intact
///   frames become the records.
/// - Superchunk, frame: corrupt chunks become zeros; missing ones at the end are removed, or zeros
///   in an array. Corrupt metadata is removed; header, offsets, index and trailer are regenerated;
///   frames lose unused space.
/// - Folder: regenerates `meta/sizes` from consecutive complete chunks. HOLDALL_OPT_SKIP_DAMAGED:
///   corrupt chunks become the fill value, columns beyond repair are removed.
///
/// Bags and folders save removed bytes in `*.holdall-damaged`.
///
/// *kept, *dropped (may be NULL): records or chunks retained and lost. *dropped includes metadata,
/// trailers, commits, names and columns; 1 may mean an unknown number of records.
///
/// Returns:
/// - HOLDALL_E_FORMAT: not repairable, or only with HOLDALL_OPT_SKIP_DAMAGED (see the message);
///   unchanged.
/// - HOLDALL_E_CHECKSUM: corrupt `meta/storage`; HOLDALL_OPT_VERIFY 0 accepts it.
///   HOLDALL_E_MISSING: lost.
/// - HOLDALL_E_CODEC, _VERSION, _UNSUPPORTED: chunks of unknown kind; Python objects; bcolz columns
///   that are superchunks.
/// - HOLDALL_E_BUSY: another writer has it open.
///
/// Options: HOLDALL_OPT_MEMORY_LIMIT, _DURABILITY, _LOCK, _DRY_RUN. Bags: _BAG_LIMITS, _CODEC,
/// _DICTIONARY. Others: _THREADS. Folders: _VERIFY. Bags, folders: _SKIP_DAMAGED.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_repair(
    path: *const c_char,
    options: *const holdall_options,
    kept: *mut u64,
    dropped: *mut u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let path = string(path, "path")?;
        let options = chosen(options);
        let (k, d) = repair(path, &options)?;
        put(kept, k);
        put(dropped, d);
        Ok(HOLDALL_OK)
    })
}

/// Computes a checksum (HOLDALL_SUM_*, 0 to 8) of n bytes to dst; 32-bit values are little-endian.
/// dst NULL requests the size in *digest_size.
///
/// Returns:
/// - HOLDALL_E_BUFFER: dst_size is too small.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_checksum(
    sum: i32,
    bytes: *const c_void,
    n: usize,
    dst: *mut c_void,
    dst_size: usize,
    digest_size: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let digest = sum_number(sum)?.of(slice(bytes.cast(), n, "bytes")?);
        copy_out(&digest, dst.cast(), dst_size, digest_size)
    })
}

/// An incremental checksum.
pub struct holdall_digest {
    broken: AtomicBool,
    sum: Checksum,
    hasher: Option<Hasher>,
}
handle!(holdall_digest);

/// Starts an incremental checksum (HOLDALL_SUM_*, 0 to 8). Free it with holdall_digest_free().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_digest_new(
    sum: i32,
    out: *mut *mut holdall_digest,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let sum = sum_number(sum)?;
            Ok(holdall_digest {
                broken: AtomicBool::new(false),
                sum,
                hasher: Some(Hasher::new(sum)),
            })
        })
    })
}

/// Adds n bytes.
///
/// Returns:
/// - HOLDALL_E_STATE: holdall_digest_finish() already returned the digest.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_digest_update(
    digest: *mut holdall_digest,
    bytes: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(digest), err, |d| {
        let hasher = d.hasher.as_mut().ok_or_else(|| {
            fail!(
                State,
                "digest: holdall_digest_finish() already returned it; start a new one"
            )
        })?;
        hasher.update(slice(bytes.cast(), n, "bytes")?);
        Ok(())
    })
}

/// Returns the digest of all bytes as holdall_checksum() does. dst NULL requests the size, at any
/// time.
///
/// Returns:
/// - HOLDALL_E_STATE: it was already returned.
/// - HOLDALL_E_BUFFER: dst_size is too small; call again.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_digest_finish(
    digest: *mut holdall_digest,
    dst: *mut c_void,
    dst_size: usize,
    digest_size: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle_mut(borrow_mut(digest), err, |d| {
        let fits = digest_fits(d.sum, dst, dst_size) && !digest_size.is_null();
        let bytes = if fits {
            d.hasher.take().map(Hasher::finish)
        } else {
            Some(vec![0; d.sum.size()])
        };
        let bytes = bytes.ok_or_else(|| {
            fail!(
                State,
                "digest: holdall_digest_finish() already returned it; start a new one"
            )
        })?;
        copy_out(&bytes, dst.cast(), dst_size, digest_size)
    })
}

/// Frees a digest. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_digest_free(digest: *mut holdall_digest) {
    take_back(digest);
}

/// Returns a checksum algorithm that can be computed on its own.
pub(super) fn sum_number(sum: i32) -> Result<Checksum> {
    if sum == super::options::HOLDALL_SUM_ZSTD {
        return Err(fail!(
            Argument,
            "sum: HOLDALL_SUM_ZSTD exists only inside zstd frames (expected another HOLDALL_SUM_*)"
        ));
    }
    Checksum::from_number(sum)
}

/// Returns true if the buffer is large enough. A request for the size reads no content.
pub(super) fn digest_fits(sum: Checksum, dst: *mut c_void, dst_size: usize) -> bool {
    !dst.is_null() && dst_size >= sum.size()
}
