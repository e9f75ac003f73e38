//! The C functions for options, which every open and create takes.

use super::guard::*;
use crate::error::Result;
use crate::io::overlay::DryRun;
use crate::options::{Opt, Options, Progress};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// A set of options. NULL stands for the defaults. A call returns HOLDALL_E_ARGUMENT, naming the
/// option, for an option that it does not take. One set can serve many calls and be freed right
/// after them. Overview: docs/options.md.
pub struct holdall_options {
    pub(super) options: Options,
}

/// One of HOLDALL_OPT_*.
pub type holdall_option = i32;

/// Threads per call. 0 (default): the processors available to the process, if the work is large
/// enough. 1: only the calling thread.
pub const HOLDALL_OPT_THREADS: i32 = 1;
/// Maximum bytes that one file may make a call allocate. Default: 4 GiB.
pub const HOLDALL_OPT_MEMORY_LIMIT: i32 = 2;
/// HOLDALL_IO_READ (default) or HOLDALL_IO_MAP.
pub const HOLDALL_OPT_IO: i32 = 3;
/// 0: checksums beside the data or after chunks are not verified (those inside zstd frames always
/// are), nor the recorded size of a dataset against its shape. 1 (default): verifies what is read.
/// 2: also everything at open.
pub const HOLDALL_OPT_VERIFY: i32 = 4;
/// 0 (default): corrupt content is an error. 1: corrupt records read as empty, corrupt chunks as
/// zeros, and the call returns HOLDALL_NOT_FOUND; holdall_records and bag streams count the records
/// instead. holdall_verify() lists them.
///
/// A frame with a corrupt header, index or trailer opens for reading with what holdall_repair()
/// would recover; every read returns HOLDALL_NOT_FOUND. With HOLDALL_APPEND only reads skip. A
/// change that needs part of a corrupt chunk fails; untouched chunks stay. If chunks are missing,
/// the commit is HOLDALL_E_STATE: see holdall_repair().
pub const HOLDALL_OPT_SKIP_DAMAGED: i32 = 5;
/// 1 (default): a commit syncs files and folder. 0: no sync; a commit survives a crash of the
/// program, but maybe not a power failure.
pub const HOLDALL_OPT_DURABILITY: i32 = 6;
/// 1 (default): the lock `NAME.holdall-lock` permits one writer across processes. 0: the caller
/// must ensure a single writer.
pub const HOLDALL_OPT_LOCK: i32 = 7;
/// One of HOLDALL_CODEC_*. Bags: _NONE, _ZSTD, or _BY_NAME (default): zstd if the file name ends in
/// `.bagz`, else none (also in storage of the caller). If a file not named `.bag` contains zstd
/// frames, opening it returns HOLDALL_E_ARGUMENT without an explicit _ZSTD (decompress) or _NONE
/// (do not). Chunks: any but _BY_NAME, default _LZ4; frames have no _SNAPPY.
pub const HOLDALL_OPT_CODEC: i32 = 8;
/// Bags: zstd level, -131072 to 22; 0 (default) is zstd's default, 3. Chunks: 0 (stored) to 9,
/// default 5.
pub const HOLDALL_OPT_LEVEL: i32 = 9;
/// Bytes (holdall_options_set_bytes()): one HOLDALL_FILTER_* each, in order of application.
/// Bloscpack: _SHUFFLE (default), _BITSHUFFLE or none (0 bytes). Frames: up to six, also _DELTA and
/// _BYTEDELTA; default _SHUFFLE.
pub const HOLDALL_OPT_FILTERS: i32 = 10;
/// Bytes of content per chunk, 1 to 2,147,483,615, a multiple of the typesize. Default: 1 MiB,
/// rounded down. Arrays: rounded down to whole rows, or whole items (at least one) of longer rows.
/// Arrays in frames: approximate, similar lengths along all dimensions; default 2 to 4 MiB if the
/// array has that much.
pub const HOLDALL_OPT_CHUNK_BYTES: i32 = 11;
/// Bytes of content per block of a chunk. Default: as the Blosc libraries choose for codec and
/// level. Arrays in frames: approximate, similar lengths along all dimensions; default 32 KiB per
/// byte of an item, at most 100 KiB, or 50 KiB for items of 8 bytes or more in 3 or more
/// dimensions.
pub const HOLDALL_OPT_BLOCK_BYTES: i32 = 12;
/// One of HOLDALL_SUM_*, for what is written. Default: HOLDALL_SUM_CRC32.
///
/// - Bloscpack: after each chunk, any but _ZSTD. Only creating takes it; later writers continue
///   with it.
/// - Folders: the same; with any checksum the small files get a CRC-32 in a last line of blanks,
///   which other tools ignore.
/// - Bags: _NONE or _CRC32. Uncompressed: a CRC-32 per record in `checksums.NAME`. Compressed:
///   zstd's own in each frame (_ZSTD means the same).
/// - Frames: _NONE or _CRC32: per chunk in the metalayer `holdall.crc32`, and of the rest in unused
///   fields; other tools skip them. A writer adds them to another tool's frame if this is set.
///   Without them, readers of a frame in one file may get HOLDALL_E_STATE before the commit, once a
///   writer adds to it.
pub const HOLDALL_OPT_CHECKSUM: i32 = 13;
/// Bytes: a zstd dictionary, trained or any content. Reading needs the same one as writing.
pub const HOLDALL_OPT_DICTIONARY: i32 = 14;
/// Bytes: the fill value of items that were never written. Default: zeros. Folders: one item or
/// row, also for later growth (`dflt` of bcolz and BLZ); see holdall_array_fill_set(). Arrays in
/// frames: one item, at creation only; frames do not store it and grow by zeros. Chunks of one
/// value take almost no space there, also of NaN.
pub const HOLDALL_OPT_FILL: i32 = 15;
/// Folders: approximate final number of rows, which determines the chunk length. Default: the rows
/// at creation.
pub const HOLDALL_OPT_EXPECTED_ROWS: i32 = 16;
/// Frames. 0 (default): one file. 1: a folder with one file per chunk; changed chunks leave no
/// unused space.
pub const HOLDALL_OPT_SPARSE: i32 = 17;
/// HOLDALL_FORMAT_BLZ_PAPER: chunks per superchunk file, 1 to 1,048,576. Default: 16 to 64 MiB of
/// content, by HOLDALL_OPT_EXPECTED_ROWS; in a table at most 256 MiB for all columns. Appends
/// extend the last file in place; a commit rewrites files with other changes, through memory.
pub const HOLDALL_OPT_SUPERCHUNK_CHUNKS: i32 = 18;
/// Bloscpack. 1 (default): with a table of chunk offsets. 0: without; each chunk is located from
/// the previous one.
pub const HOLDALL_OPT_OFFSETS: i32 = 19;
/// Bloscpack: free entries (8 bytes each) in that table for appends in place. Default: 10 per
/// chunk, at least 50; a new file has 1,022 if that is small relative to its content; the BLZ RFC
/// layout never more than the chunks still to come. Without a free entry the commit rewrites the
/// file, with as many new ones. HOLDALL_E_LIMIT: 16 bytes each exceed HOLDALL_OPT_MEMORY_LIMIT.
pub const HOLDALL_OPT_SPARE_CHUNKS: i32 = 20;
/// Bloscpack: free bytes in each new chunk, so that a changed one can be stored in place. Default:
/// 0. Incompressible chunks have none.
pub const HOLDALL_OPT_SPARE_BYTES: i32 = 21;
/// Bloscpack header. 0 (default) and 3: as Bloscpack 0.3 to 0.16. 2: older, no metadata. 1: also no
/// checksums and offsets. 103: the BLZ RFC layout, which differs from 3 only in metadata.
pub const HOLDALL_OPT_FORMAT_VERSION: i32 = 22;
/// HOLDALL_BAG_LIMITS_TAIL (default) or _SEPARATE: where the limits (end offsets) of records are
/// stored.
pub const HOLDALL_OPT_BAG_LIMITS: i32 = 23;
/// 0 (default): limits are read as needed; those of single reads are cached, at most 64 MiB per
/// process. 1: all are in memory (8 bytes per record); the bag stays readable while another program
/// appends.
pub const HOLDALL_OPT_BAG_LIMITS_CACHE: i32 = 24;
/// HOLDALL_BAG_SHARDS_CONCATENATED or _INTERLEAVED: how files form one sequence. Default: as the
/// files record, else concatenated.
pub const HOLDALL_OPT_BAG_SHARDS: i32 = 25;
/// Bag streams: records read, or requested from the index function, in advance. 0: none. Default:
/// as HOLDALL_OPT_BAG_READ_AHEAD_BYTES permits, at most 65,536 per batch.
pub const HOLDALL_OPT_BAG_READ_AHEAD: i32 = 26;
/// Tables: 0 (default): S (NumPy's bytes) becomes utf8 in Arrow. 1: binary.
pub const HOLDALL_OPT_ARROW_BINARY: i32 = 27;
/// Tables: 0 (default): NaN stays NaN in Arrow, which propagates through aggregates. 1: null, which
/// queries skip.
pub const HOLDALL_OPT_ARROW_NULLS: i32 = 28;
/// Reading frames: offset of the frame in a larger file, in bytes. Default: 0.
pub const HOLDALL_OPT_AT: i32 = 29;
/// HOLDALL_FORMAT_B2ND and _CATERVA. 0 (default): the metalayer of the format. 1: both, so that
/// python-blosc2 (with dtype) and Caterva read the array.
pub const HOLDALL_OPT_BOTH_METALAYERS: i32 = 30;
/// Bag streams: bytes of records read in advance. 0: none. Default: two batches per thread, of
/// about 1 MiB or one larger record each. A record larger than this is read on request.
pub const HOLDALL_OPT_BAG_READ_AHEAD_BYTES: i32 = 33;
/// Object stores: milliseconds that a request may wait for data, retries included, before
/// HOLDALL_E_IO; an uploaded part of 8 MiB must arrive in half of it. Default: 30,000. Every call
/// with a path takes this and the next two; local paths ignore them.
pub const HOLDALL_OPT_CLOUD_TIMEOUT: i32 = 39;
/// Object stores: retries of a failed request within that time. Default: 5.
pub const HOLDALL_OPT_CLOUD_RETRIES: i32 = 40;
/// Object stores: concurrent requests per call, 1 to 256. Default: 16.
pub const HOLDALL_OPT_CLOUD_REQUESTS: i32 = 41;
/// 1: holdall_repair() returns the same status, message and counts but changes nothing: no file of
/// the container is created, written, renamed or removed, no journal rolled back, no lock taken.
/// Default: 0. The output goes to an unnamed file beside the container if possible (Linux), else in
/// /tmp, with the size of a real repair. Write permission and other writers are not checked.
///
/// holdall_verify() and holdall_schunk_open() with HOLDALL_READ see what the repair would leave,
/// and also take the options of holdall_repair(), which then apply to the repair.
pub const HOLDALL_OPT_DRY_RUN: i32 = 42;

/// Read system calls. A file that is truncated while open is an error.
pub const HOLDALL_IO_READ: i32 = 0;
/// Memory mapping: faster for small records. If a file is truncated while open, also by a commit
/// that shortens a superchunk, the process gets SIGBUS.
pub const HOLDALL_IO_MAP: i32 = 1;

/// Not compressed.
pub const HOLDALL_CODEC_NONE: i32 = 0;
/// BloscLZ.
pub const HOLDALL_CODEC_BLOSCLZ: i32 = 1;
/// LZ4.
pub const HOLDALL_CODEC_LZ4: i32 = 2;
/// LZ4 with the slower, high-compression encoder.
pub const HOLDALL_CODEC_LZ4HC: i32 = 3;
/// Snappy. python-blosc cannot read it.
pub const HOLDALL_CODEC_SNAPPY: i32 = 4;
/// Deflate in the zlib format.
pub const HOLDALL_CODEC_ZLIB: i32 = 5;
/// Zstandard.
pub const HOLDALL_CODEC_ZSTD: i32 = 6;
/// By the file name (option), or several codecs (holdall_bag_codec()).
pub const HOLDALL_CODEC_BY_NAME: i32 = 255;

/// No filter.
pub const HOLDALL_FILTER_NONE: i32 = 0;
/// The first bytes of all items, then the second bytes, and so on.
pub const HOLDALL_FILTER_SHUFFLE: i32 = 1;
/// The same with bits.
pub const HOLDALL_FILTER_BITSHUFFLE: i32 = 2;
/// XOR with the items of the chunk's first block, which every read then needs. Goes before a
/// shuffle.
pub const HOLDALL_FILTER_DELTA: i32 = 3;
/// Difference from the previous byte. Goes after a shuffle. Caterva cannot read it.
pub const HOLDALL_FILTER_BYTEDELTA: i32 = 35;

/// No checksum.
pub const HOLDALL_SUM_NONE: i32 = 0;
/// Adler-32.
pub const HOLDALL_SUM_ADLER32: i32 = 1;
/// CRC-32 as in zlib.
pub const HOLDALL_SUM_CRC32: i32 = 2;
/// MD5.
pub const HOLDALL_SUM_MD5: i32 = 3;
/// SHA-1.
pub const HOLDALL_SUM_SHA1: i32 = 4;
/// SHA-224.
pub const HOLDALL_SUM_SHA224: i32 = 5;
/// SHA-256.
pub const HOLDALL_SUM_SHA256: i32 = 6;
/// SHA-384.
pub const HOLDALL_SUM_SHA384: i32 = 7;
/// SHA-512.
pub const HOLDALL_SUM_SHA512: i32 = 8;
/// The checksum inside a zstd frame; holdall_checksum() does not compute it.
pub const HOLDALL_SUM_ZSTD: i32 = 9;

/// Limits at the end of the file of the records.
pub const HOLDALL_BAG_LIMITS_TAIL: i32 = 0;
/// Limits in a file `limits.NAME` beside it.
pub const HOLDALL_BAG_LIMITS_SEPARATE: i32 = 1;
/// All records of the first shard, then those of the second, and so on.
pub const HOLDALL_BAG_SHARDS_CONCATENATED: i32 = 0;
/// Record i is record i / S of shard i modulo S, of S shards.
pub const HOLDALL_BAG_SHARDS_INTERLEAVED: i32 = 1;

/// Progress callback: done of total, in units of the call. A nonzero result stops the call with
/// HOLDALL_E_CANCELLED. May run on another thread, one call at a time.
///
/// Called by holdall_verify(), holdall_repair() of a superchunk or folder, opening with
/// HOLDALL_OPT_VERIFY 2, holdall_bag_checksum() and holdall_schunk_checksum() (options of the
/// handle), holdall_schunk_copy() and holdall_array_copy() (options of the call).
pub type holdall_progress_fn =
    Option<unsafe extern "C" fn(ctx: *mut c_void, done: u64, total: u64) -> c_int>;

/// Returns the caller's options, or the defaults for NULL.
pub(super) fn chosen(o: *const holdall_options) -> Options {
    borrow(o).map(|o| o.options.clone()).unwrap_or_default()
}

/// Creates an empty set; free it with holdall_options_free(). Returns NULL if memory allocation
/// failed.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn holdall_options_new() -> *mut holdall_options {
    guard_value(std::ptr::null_mut(), || {
        hand_out(holdall_options {
            options: Options::new(),
        })
    })
}

/// Frees options. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_options_free(options: *mut holdall_options) {
    take_back(options);
}

/// Sets an option to a number.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: no such option, one that takes bytes, or an invalid value. Each call
///   checks what applies to it.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_options_set(
    options: *mut holdall_options,
    option: holdall_option,
    value: i64,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        with_option(options, option, |o, opt| o.set(opt, value))
    })
}

/// Sets an option to n bytes, which are copied; n 0 (value may be NULL) sets it to none. Each call
/// checks the content.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: no such option, or one that takes a number.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_options_set_bytes(
    options: *mut holdall_options,
    option: holdall_option,
    value: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let value = slice(value.cast(), n, "value")?;
        with_option(options, option, |o, opt| o.set_bytes(opt, value))
    })
}

fn with_option(
    o: *mut holdall_options,
    option: i32,
    f: impl FnOnce(&mut Options, Opt) -> Result<()>,
) -> Result<holdall_status> {
    let opt = Opt::from_number(option)?;
    f(&mut required(o, "options")?.options, opt)?;
    Ok(HOLDALL_OK)
}

struct ProgressCall(
    unsafe extern "C" fn(*mut c_void, u64, u64) -> c_int,
    *mut c_void,
);
// SAFETY: by contract the function may run on any thread, with this context.
unsafe impl Send for ProgressCall {}
// SAFETY: as above.
unsafe impl Sync for ProgressCall {}

impl ProgressCall {
    fn call(&self, done: u64, total: u64) -> bool {
        // SAFETY: by contract the function may be called with its context while handles that were
        // opened with these options exist.
        DryRun::outside(|| unsafe { (self.0)(self.1, done, total) == 0 })
    }
}

/// Sets the progress callback; NULL removes it. It must remain valid while handles opened with
/// these options exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_options_on_progress(
    options: *mut holdall_options,
    progress: holdall_progress_fn,
    ctx: *mut c_void,
) {
    guard_value((), || {
        if let Some(o) = borrow_mut(options) {
            o.options.on_progress(progress.map(|f| {
                let call = ProgressCall(f, ctx);
                Arc::new(move |done, total| call.call(done, total)) as Progress
            }));
        }
    });
}
