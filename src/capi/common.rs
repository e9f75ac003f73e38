//! Versions, names of statuses, and what is the same for every format: identify, verify, repair,
//! checksum.

use super::guard::*;
use super::options::{chosen, holdall_options};
use crate::checksum::{Hasher, Sum};
use crate::error::{Error, Result, Status, fail};
use crate::identify::{identify, kind_of_broken};
use crate::io::overlay::Rehearsal;
use crate::repair::{reading, repair};
use crate::{bag, verify};
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// One of HOLDALL_FORMAT_*.
pub type holdall_format = i32;
/// A Bloscpack file.
pub const HOLDALL_FORMAT_BLOSCPACK: i32 = 1;
/// A folder as bcolz writes it.
pub const HOLDALL_FORMAT_BCOLZ: i32 = 2;
/// A folder as BLZ writes it.
pub const HOLDALL_FORMAT_BLZ: i32 = 3;
/// A folder as the papers on BLZ and bcolz have it: files of many chunks, `__1__.bin`.
pub const HOLDALL_FORMAT_BLZ_PAPER: i32 = 4;
/// A Blosc2 frame: a file, or with HOLDALL_OPT_SPARSE a folder with a file for each chunk.
pub const HOLDALL_FORMAT_B2FRAME: i32 = 5;
/// A frame that is an array, by the metalayer `caterva`: without a dtype.
pub const HOLDALL_FORMAT_CATERVA: i32 = 6;
/// A frame that is an array, by the metalayer `b2nd`.
pub const HOLDALL_FORMAT_B2ND: i32 = 7;
/// A Bagz file.
pub const HOLDALL_FORMAT_BAGZ: i32 = 8;

/// One of HOLDALL_KIND_*.
pub type holdall_kind = i32;
/// A run of bytes in compressed chunks.
pub const HOLDALL_KIND_SCHUNK: i32 = 1;
/// Items of one type in a grid.
pub const HOLDALL_KIND_ARRAY: i32 = 2;
/// Named columns of one length.
pub const HOLDALL_KIND_TABLE: i32 = 3;
/// Records of any length.
pub const HOLDALL_KIND_BAG: i32 = 4;

/// One of HOLDALL_READ, _APPEND, _NEW, _REPLACE.
pub type holdall_mode = i32;
/// To be read.
pub const HOLDALL_READ: i32 = 0;
/// Goes on with what is there, which must be.
pub const HOLDALL_APPEND: i32 = 1;
/// Nothing may be there (HOLDALL_E_EXISTS).
pub const HOLDALL_NEW: i32 = 2;
/// What is there stays until the first commit puts the new in its place.
pub const HOLDALL_REPLACE: i32 = 3;

/// Version of the library that is running: major*1000000 + minor*1000 + patch. Compare it with
/// HOLDALL_VERSION_NUMBER, that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn holdall_version_number() -> u32 {
    let part = |s: &str| s.parse::<u32>().unwrap_or(0);
    part(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
        + part(env!("CARGO_PKG_VERSION_MINOR")) * 1000
        + part(env!("CARGO_PKG_VERSION_PATCH"))
}

/// Versions of the library and of the codecs in it, such as "0.1.0 zstd/1.5.7"; static.
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

/// The name of a status, such as "HOLDALL_E_IO"; static; never NULL.
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
        _ => c"(no status of holdall)",
    };
    name.as_ptr()
}

/// What is at this path (or spec, see holdall_bag_open())? Format and kind, from the bytes; Bagz
/// has no magic number, a file is a bag if it opens as one. An array in a Bloscpack file is told as
/// what it is stored as, HOLDALL_KIND_SCHUNK; holdall_array_open() tells that it is one. Blosc2
/// frames are arrays (HOLDALL_FORMAT_B2ND, also where there are both metalayers, or _CATERVA), or
/// else HOLDALL_KIND_SCHUNK. Folders of the papers whose fields stand apart are HOLDALL_KIND_TABLE,
/// and open as arrays, too. *format and *kind: each may be NULL. HOLDALL_E_FORMAT: nothing that is
/// known here. HOLDALL_E_MISSING: nothing is there. What is damaged is told by its first bytes;
/// holdall_verify() says whether it is sound. While a commit is under way, or where one was cut
/// off, it is what a handle that is opened for reading sees. Where a folder is a dataset or a frame
/// that is damaged, or was never committed, so that its format cannot be told, the status
/// is that error, and *kind is set all the same.
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

/// The files that a spec names (see holdall_bag_open()), in order, each a path with a NUL behind
/// it, end to end in dst; their bytes, with the NULs, into *n. dst NULL asks for *n alone. Files
/// are looked for only where `@*` or a name as it stands asks for that: those that `@N` and plain
/// names stand for need not be there. A spec that names none has 0 bytes.
/// HOLDALL_E_ARGUMENT: there are shards of several numbers for `@*`. HOLDALL_E_MISSING: there are
/// none for it.
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

/// Told of each fault that holdall_verify() finds: `part` is "record N", "chunk N" or the path; of
/// a column of a table "COLUMN/data/__N.blp", which of its files, or just "COLUMN". It is borrowed
/// for the call like `fault`. Not zero stops: holdall_verify() then returns the first fault, as
/// ever, with the counts so far. Runs on the calling thread.
pub type holdall_fault_fn = Option<
    unsafe extern "C" fn(
        ctx: *mut c_void,
        part: *const c_char,
        fault: *const holdall_error,
    ) -> c_int,
>;

/// Reads everything at a path (or spec) and checks every length and checksum, to the end; each
/// fault goes to `fault` (NULL: none is told). Then *sound, *bad and *unchecked (each may be NULL)
/// are how many records or chunks are sound, cannot be read (chunks that the header counts and that
/// are not there, too, of which one fault is told), and can be read but have no checksum, or have a
/// codec, filter or version that is not known, which is told too (HOLDALL_E_CODEC, _VERSION,
/// _UNSUPPORTED); they are set also where it returns that there are faults. *bad may be 0 although
/// the file is damaged, in its header or metadata: the status tells.
/// What begins as a Bloscpack file or a Blosc2 frame is looked at as a superchunk, a folder as an
/// array or a table (or a frame, if it is one), all else as a bag. What does not begin as a frame
/// any more counts as one if most of its header does, if it ends as one, or by its name: `.b2nd`,
/// `.b2frame`, `.caterva`, `.cat`. Of a frame whose header, index or trailer is damaged first that
/// is told, then what is lost with it, and the chunks that are not found again. Metadata that make
/// it an array must say as many bytes, or chunks, as there are.
/// Of a frame that another tool has written, or changed since, chunks without a checksum that fits
/// are unchecked. Bags: takes the options of holdall_bag_open() but HOLDALL_OPT_VERIFY and
/// _SKIP_DAMAGED. Superchunks and folders: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _IO, frames also
/// _AT. Superchunks in storage of the caller's: see HOLDALL_OPT_VERIFY 2. A writer may commit
/// meanwhile: what is found counts for one commit, so the call then starts again on the next one,
/// and tells no fault twice.
/// HOLDALL_OK: sound. Else the status and words of the first fault; what cannot be opened is one.
/// HOLDALL_E_CANCELLED, HOLDALL_E_ARGUMENT of an option, and HOLDALL_E_BUSY are none: nobody is
/// told, and the counts stay as they were. HOLDALL_E_BUSY: a writer committed during each of
/// several attempts, for 5 seconds or more. That says nothing of what is there.
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
        let mut tell = |part: &str, e: &Error| {
            first.get_or_insert_with(|| e.clone());
            Rehearsal::outside(|| tell_fault(fault, ctx, part, e))
        };
        let found = reading(path, chosen(options), |options| {
            verify::verify(path, options, &mut tell)
        });
        let is_fault = |e: &Error| {
            !matches!(
                e.status,
                Status::Argument | Status::Cancelled | Status::Busy
            )
        };
        if first.is_some() || found.as_ref().map_or_else(is_fault, |_| true) {
            for (place, n) in [sound, bad, unchecked]
                .into_iter()
                .zip(found.as_ref().copied().unwrap_or_default())
            {
                put(place, n);
            }
        }
        match (found, first) {
            (Err(e), Some(first)) if e.status == Status::Busy => Err(first),
            (Err(e), _) | (Ok(_), Some(e)) => Err(e),
            (Ok(_), None) => Ok(HOLDALL_OK),
        }
    })
}

fn tell_fault(fault: holdall_fault_fn, ctx: *mut c_void, part: &str, e: &Error) -> bool {
    let Some(f) = fault else { return true };
    let part = CString::new(part).unwrap_or_default();
    let mut words = holdall_error {
        status: 0,
        os_code: 0,
        position: -1,
        message: [0; 496],
    };
    guard(&mut words, || Err(e.clone()));
    // SAFETY: the caller's function, with its context and two values that live through the call.
    unsafe { f(ctx, part.as_ptr(), &words) == 0 }
}

/// Brings the bag at this path (or spec, see holdall_bag_open(): then each of its files by itself,
/// and the error is about the first that cannot be repaired), which a crash, a full disk or another
/// program left torn, back to its last whole state: an unfinished change is undone or finished;
/// what a Bagz writer of a single file leaves when it is cut off (`X` and `limits.X`)
/// becomes a bag; separate limits that are torn or reach beyond the records go; a damaged last
/// limit is put right where frames or checksums prove what it was. A bag that is whole stays as it
/// is, and so does one of which nothing can be proved. *kept and *dropped (each may be NULL):
/// records that are there now, and limits of records that were not whole.
/// Where nothing proves what the limits of a compressed bag were, as of one that was cut, it is
/// HOLDALL_E_FORMAT, which says how many whole frames there are from its beginning on: with
/// HOLDALL_OPT_SKIP_DAMAGED 1 these become the records, what lies behind them is kept in a file
/// with `.holdall-damaged` behind its name, and *dropped is 1 then, as nobody knows how many are
/// lost. Options: HOLDALL_OPT_BAG_LIMITS, _CODEC, _DICTIONARY, _MEMORY_LIMIT, _DURABILITY, _LOCK,
/// _SKIP_DAMAGED.
///
/// Or the superchunk at this path: chunks that are sound stay; a damaged one among them becomes
/// zeros, so that the others keep their places; those that are missing at the end are cut off,
/// damaged metadata go, header and offsets are put right. Where the metadata make it an array,
/// zeros are put in the place of what is missing at the end instead, so that it opens as that array
/// (a whole file whose content is not as long as shape and dtype say stays as it is: nobody knows
/// what is right). *kept and *dropped are then chunks, those that are zeros now and metadata that
/// are gone (1) among the dropped: where *dropped is 0, nothing was lost. Options:
/// HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _DURABILITY, _LOCK.
///
/// Or the Blosc2 frame, a file or folder, array or not: it is made anew without the room of chunks
/// that no longer count; damaged chunks become zeros, damaged metalayers of the trailer go. Where
/// header, index or trailer are damaged, they are made anew: in a frame of this library any one
/// byte of each is put right for certain, and the index from the chunks, which the trailer knows by
/// their checksums; of others what fits: header and index without the trailer, whose metalayers are
/// lost then, the trailer's last whole commit that is still in the file, or the chunks as they
/// stand behind each other, if there are as many as there must be. Where the metalayers of the
/// header are lost, which say the shape, it is HOLDALL_E_FORMAT: with HOLDALL_OPT_SKIP_DAMAGED it
/// opens as a superchunk. holdall_verify() tells beforehand what is lost. *kept and *dropped are as
/// for superchunks, with 1 each for a trailer, an order of chunks that is not certain and a commit
/// that are lost. Options: as for superchunks.
///
/// Or the array or table in this folder: what was cut off is finished or undone, what writers left
/// goes. Where `meta/sizes` is damaged it is made anew from the chunks, as many as are whole and
/// follow each other; damaged chunks at the end are cut off; columns of a table come out as long as
/// the shortest, and names that are lost become those of the folders, if the table's `__attrs__` is
/// still there. HOLDALL_OPT_SKIP_DAMAGED 1: of the chunks that count a damaged one becomes the
/// default value, and a column of which nothing can be made is left out; without it either is
/// HOLDALL_E_FORMAT, named, and nothing was changed. All that is damaged, or no longer counts and
/// did, stays where it is, a file with `.holdall-damaged` behind its name. All of it happens with
/// one commit. `meta/storage` is nowhere else: HOLDALL_E_MISSING or _FORMAT where it is lost;
/// HOLDALL_E_CHECKSUM where it does not match its checksum, and HOLDALL_OPT_VERIFY 0 takes it, and
/// the other small files, as they are.
/// *kept and *dropped are chunks, with damaged attributes, names and columns among the dropped.
/// Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _DURABILITY, _LOCK, _VERIFY, _SKIP_DAMAGED.
///
/// In the papers' form the small files are made whole first, and chunks follow with another commit;
/// the superchunks that are written anew have copies of that name.
/// HOLDALL_E_UNSUPPORTED: objects of Python's, or columns of a table of bcolz's that are
/// superchunks. HOLDALL_E_FORMAT: it cannot be repaired (nothing of it is sound, it cannot be told
/// which chunks are missing, or it says to have lost more than it can have held), and nothing was
/// changed; HOLDALL_E_CODEC, _VERSION, _UNSUPPORTED: nor is that done to chunks that seem sound, of
/// a kind that is not known. HOLDALL_E_BUSY: a writer is at work. All of them: HOLDALL_OPT_DRY_RUN
/// 1 tells what it would do, and changes nothing.
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

/// The checksum (HOLDALL_SUM_*, 0 to 8) of n bytes, to dst: the digest's bytes, 32-bit sums
/// little-endian. dst NULL asks for the size in *digest_size; a short dst is HOLDALL_E_BUFFER.
/// HOLDALL_SUM_NONE has 0 bytes.
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

/// A checksum under way, of bytes that come in pieces.
pub struct holdall_digest {
    broken: AtomicBool,
    sum: Sum,
    hasher: Option<Hasher>,
}
handle!(holdall_digest);

/// Begins a checksum (HOLDALL_SUM_*, 0 to 8).
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

/// Takes in n more bytes. HOLDALL_E_STATE: holdall_digest_finish() has given the digest.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_digest_update(
    digest: *mut holdall_digest,
    bytes: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(digest), err, |d| {
        let hasher = d
            .hasher
            .as_mut()
            .ok_or_else(|| fail!(State, "the digest was given already"))?;
        hasher.update(slice(bytes.cast(), n, "bytes")?);
        Ok(())
    })
}

/// The digest of all bytes, as holdall_checksum() gives it of them in one piece; dst NULL asks for
/// its size, at any time. HOLDALL_E_STATE: it was given already. A short dst (HOLDALL_E_BUFFER)
/// does not count as that.
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
        let bytes = bytes.ok_or_else(|| fail!(State, "the digest was given already"))?;
        copy_out(&bytes, dst.cast(), dst_size, digest_size)
    })
}

/// Frees it; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_digest_free(digest: *mut holdall_digest) {
    take_back(digest);
}

/// A checksum that can be computed.
pub(super) fn sum_number(sum: i32) -> Result<Sum> {
    if sum == super::options::HOLDALL_SUM_ZSTD {
        return Err(fail!(
            Argument,
            "HOLDALL_SUM_ZSTD exists only inside zstd frames; it cannot be computed by itself"
        ));
    }
    Sum::from_number(sum)
}

/// Is there room for this digest? Its size is told without reading anything.
pub(super) fn digest_fits(sum: Sum, dst: *mut c_void, dst_size: usize) -> bool {
    !dst.is_null() && dst_size >= sum.size()
}
