//! The C functions that apply to every format: versions, names of constants, identify, verify and
//! repair.

use super::constants::{self, format_number, kind_number};
use super::guard::*;
use super::options::{chosen, holdall_options};
use super::storage::path_only;
use super::structs::{Structure, checked_size, structure, write_struct};
use crate::api;
use crate::error::{Error, Result, Status, fail};
use crate::format::{Format, Kind};
use crate::identify::{identify, kind_of_broken};
use crate::io::locate;
use crate::io::overlay::DryRun;
use crate::repair::{reading, repair};
use crate::verify;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::OnceLock;

/// One of HOLDALL_FORMAT_*.
pub type holdall_format = i32;
/// A Bloscpack file.
pub const HOLDALL_FORMAT_BLOSCPACK: i32 = 301;
/// A folder in the layout of bcolz.
pub const HOLDALL_FORMAT_BCOLZ: i32 = 302;
/// A folder in the layout of BLZ.
pub const HOLDALL_FORMAT_BLZ: i32 = 303;
/// A folder in the BLZ RFC layout: superchunk files `__1__.bin` of many chunks each.
pub const HOLDALL_FORMAT_BLZ_RFC: i32 = 304;
/// A Blosc2 frame, in a file or a folder (HOLDALL_OPT_SPARSE).
pub const HOLDALL_FORMAT_B2FRAME: i32 = 305;
/// A frame with the metalayer `caterva`: an array without a dtype.
pub const HOLDALL_FORMAT_CATERVA: i32 = 306;
/// A frame with the metalayer `b2nd`: an array.
pub const HOLDALL_FORMAT_B2ND: i32 = 307;
/// A Bagz file.
pub const HOLDALL_FORMAT_BAGZ: i32 = 308;
/// A store of python-blosc2 (see store.h) in a folder, `.b2d`.
pub const HOLDALL_FORMAT_B2D: i32 = 309;
/// In a zip archive, `.b2z`.
pub const HOLDALL_FORMAT_B2Z: i32 = 310;
/// In a frame, `.b2e`.
pub const HOLDALL_FORMAT_B2E: i32 = 311;
/// A CTable, the nodes of a store below one path.
pub const HOLDALL_FORMAT_CTABLE: i32 = 312;

/// One of HOLDALL_KIND_*.
pub type holdall_kind = i32;
/// A sequence of bytes in compressed chunks.
pub const HOLDALL_KIND_SCHUNK: i32 = 201;
/// Items of one type in a grid.
pub const HOLDALL_KIND_ARRAY: i32 = 202;
/// Named columns of equal length.
pub const HOLDALL_KIND_TABLE: i32 = 203;
/// Records of any length.
pub const HOLDALL_KIND_BAG: i32 = 204;
/// A tree of arrays and superchunks.
pub const HOLDALL_KIND_STORE: i32 = 205;

/// One of HOLDALL_READ, _APPEND, _CREATE, _REPLACE.
pub type holdall_mode = i32;
/// Opens an existing container for reading.
pub const HOLDALL_READ: i32 = 101;
/// Opens an existing container for reading and writing.
pub const HOLDALL_APPEND: i32 = 102;
/// Creates a container. HOLDALL_E_EXISTS: the path exists. Until the first commit, opening it is
/// HOLDALL_E_MISSING (folders: HOLDALL_E_FORMAT).
pub const HOLDALL_CREATE: i32 = 103;
/// Creates a container. An existing one stays until the first commit replaces it.
pub const HOLDALL_REPLACE: i32 = 104;

/// Returns the version of the library; that of the header is HOLDALL_VERSION_NUMBER.
#[unsafe(no_mangle)]
pub extern "C" fn holdall_version_number() -> u32 {
    let part = |s: &str| s.parse::<u32>().unwrap_or(0);
    part(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
        + part(env!("CARGO_PKG_VERSION_MINOR")) * 1000
        + part(env!("CARGO_PKG_VERSION_PATCH"))
}

/// Returns the versions of the library and its codecs, such as "0.2.0 zstd/1.5.7". Static.
#[unsafe(no_mangle)]
pub extern "C" fn holdall_version_text() -> *const c_char {
    static TEXT: OnceLock<CString> = OnceLock::new();
    guard_value(c"".as_ptr(), || {
        TEXT.get_or_init(|| CString::new(api::version()).unwrap_or_default())
            .as_ptr()
    })
}

/// Returns the name of a status, such as "HOLDALL_E_IO". Static, never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn holdall_status_name(status: holdall_status) -> *const c_char {
    let name = match status {
        HOLDALL_OK => c"HOLDALL_OK",
        HOLDALL_NOT_FOUND => c"HOLDALL_NOT_FOUND",
        HOLDALL_END => c"HOLDALL_END",
        HOLDALL_DAMAGED => c"HOLDALL_DAMAGED",
        HOLDALL_E_ARGUMENT => c"HOLDALL_E_ARGUMENT",
        HOLDALL_E_INTERNAL => c"HOLDALL_E_INTERNAL",
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

/// Returns the name of a constant that is no status or option, such as "zstd" for
/// HOLDALL_CODEC_ZSTD. Static; NULL if there is no such constant.
#[unsafe(no_mangle)]
pub extern "C" fn holdall_constant_name(constant: i32) -> *const c_char {
    constants::name(constant).map_or(std::ptr::null(), CStr::as_ptr)
}

/// Describes the failure to open a path as `expected`: if the path is a container of another kind,
/// the error says which, and which function opens it.
pub(super) fn wrong_kind(path: &OsStr, expected: Kind, e: Error) -> Error {
    // opening a folder as a file to write to it is an error of the system
    let is_folder = e.status == Status::Io && Path::new(path).is_dir();
    if !is_folder && !matches!(e.status, Status::Format | Status::Type) {
        return e;
    }
    let Ok((format, kind)) = identify(path) else {
        return e;
    };
    if kind == expected || opens_as(format, expected) {
        return e;
    }
    let (an, name, function) = match kind {
        Kind::Schunk => ("a", "superchunk", "holdall_schunk_open"),
        Kind::Array => ("an", "array", "holdall_array_open"),
        Kind::Table => ("a", "table", "holdall_table_open"),
        Kind::Bag => ("a", "bag of records", "holdall_bag_open"),
        Kind::Store => ("a", "store", "holdall_store_open"),
    };
    let format = constants::name(format_number(format)).unwrap_or_default();
    let shown = match locate::is_folder(path).then(|| locate::folder(path)) {
        Some(Ok(folder)) => folder.show(OsStr::new("")),
        _ => path.display().to_string(),
    };
    fail!(
        Type,
        "{shown}: {an} {name} ({}); open it with {function}()",
        format.to_string_lossy()
    )
}

/// Returns whether a container of this format may also be of this kind.
fn opens_as(format: Format, kind: Kind) -> bool {
    match kind {
        Kind::Schunk | Kind::Array => matches!(
            format,
            Format::Bloscpack | Format::B2Frame | Format::Caterva | Format::B2nd | Format::B2e
        ),
        Kind::Table | Kind::Bag | Kind::Store => false,
    }
}

/// Identifies the format and kind of a path or spec (see holdall_bag_open()) by content, as
/// docs/old-data.md describes. Outputs may be NULL. A path that also opens as another kind has one
/// kind here: a Bloscpack file, or a frame without array metalayers, is HOLDALL_KIND_SCHUNK.
///
/// Returns:
/// - HOLDALL_E_FORMAT: no known format.
/// - others: a corrupt or never committed folder or frame whose format is undeterminable; *kind is
///   set.
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
                .for_each(|k| put(kind, kind_number(k)))
        })?;
        put(format, format_number(f));
        put(kind, kind_number(k));
        Ok(HOLDALL_OK)
    })
}

/// Callback for each fault that holdall_verify() finds; of a bag, after each batch of records. A
/// nonzero result stops the call, which returns the first fault and the counts so far.
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

/// What holdall_verify() found.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct holdall_verify_result {
    /// sizeof(holdall_verify_result).
    pub struct_size: usize,
    /// Intact records or chunks.
    pub intact: u64,
    /// Corrupt or missing ones; may be 0 if a header or metadata is corrupt.
    pub corrupt: u64,
    /// Those without a checksum that applies, or of an unknown codec, filter or version (which are
    /// reported).
    pub unchecked: u64,
}
structure!(holdall_verify_result);

/// Reads and decodes everything at a path or spec, verifies all lengths and checksums, and calls
/// fault (may be NULL) for each fault. result may be NULL.
///
/// Returns:
/// - HOLDALL_OK: intact.
/// - HOLDALL_E_CANCELLED, _ARGUMENT (of an option), _BUSY (commits at each attempt for 5 seconds):
///   no verdict, no result.
/// - HOLDALL_E_UNSUPPORTED: storage of the caller.
/// - the status of the first fault, with the counts in *result; failing to open is one.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_verify(
    path: *const c_char,
    options: *const holdall_options,
    fault: holdall_fault_fn,
    ctx: *mut c_void,
    result: *mut holdall_verify_result,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        check_result(result)?;
        let path = path_only(path, options, "holdall_verify()")?;
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
            // a container that does not open has no parts
            let [intact, corrupt, unchecked] = found.as_ref().copied().unwrap_or_default();
            put_result(
                result,
                holdall_verify_result {
                    struct_size: 0,
                    intact,
                    corrupt,
                    unchecked,
                },
            )?;
        }
        match (found, first) {
            (Err(e), Some(first)) if e.status == Status::Busy => Err(first),
            (Err(e), _) | (Ok(_), Some(e)) => Err(e),
            (Ok(_), None) => Ok(HOLDALL_OK),
        }
    })
}

/// Refuses a result structure of an unknown version before the call does its work.
fn check_result<T: Structure>(result: *mut T) -> Result<()> {
    if result.is_null() {
        return Ok(());
    }
    checked_size(result.cast_const(), "result").map(|_| ())
}

fn put_result<T: Structure>(result: *mut T, value: T) -> Result<()> {
    if result.is_null() {
        return Ok(());
    }
    write_struct(result, "result", value).map(|_| ())
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

/// What holdall_repair() did.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct holdall_repair_result {
    /// sizeof(holdall_repair_result).
    pub struct_size: usize,
    /// Records or chunks retained.
    pub retained: u64,
    /// Records, chunks, metadata, trailers, commits, names and columns lost. 1 may stand for an
    /// unknown number of records.
    pub lost: u64,
    /// Parts removed that were never committed (see part.h).
    pub parts_removed: u64,
}
structure!(holdall_repair_result);

/// Repairs a container: completes or rolls back an interrupted change and restores the last
/// consistent state. Intact records and chunks keep their positions. result may be NULL.
/// docs/damage.md has the rules by format. Corrupt content:
///
/// - Folders: refused, or with HOLDALL_OPT_SKIP_DAMAGED replaced by the fill value. Files
///   `*.holdall-damaged` have the removed bytes.
/// - Superchunks: each corrupt chunk becomes zeros and is not saved: copy the file first, or use
///   HOLDALL_OPT_DRY_RUN.
/// - Bags: a corrupt record stays and counts as retained. Despite HOLDALL_OK holdall_verify() still
///   reports it. To remove it write a new bag. A corrupt dictionary is restored from another file
///   of the spec, or from HOLDALL_OPT_DICTIONARY, if that is proved to be the same.
///
/// Returns:
/// - HOLDALL_E_FORMAT: not repairable, or only with HOLDALL_OPT_SKIP_DAMAGED (see the message);
///   unchanged.
/// - HOLDALL_E_CHECKSUM, _MISSING: `meta/storage` is corrupt or lost.
/// - HOLDALL_E_BUSY: a writer is active.
/// - HOLDALL_E_CODEC, _VERSION, _UNSUPPORTED: chunks of unknown kind; Python objects; bcolz columns
///   that are superchunks; storage of the caller.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_repair(
    path: *const c_char,
    options: *const holdall_options,
    result: *mut holdall_repair_result,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        check_result(result)?;
        let path = path_only(path, options, "holdall_repair()")?;
        let repaired = repair(path, &chosen(options))?;
        put_result(
            result,
            holdall_repair_result {
                struct_size: 0,
                retained: repaired.retained,
                lost: repaired.dropped,
                parts_removed: repaired.parts_removed.len() as u64,
            },
        )?;
        Ok(HOLDALL_OK)
    })
}
