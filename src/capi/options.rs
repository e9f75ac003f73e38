//! The C functions for options, which every open and create takes.

use super::constants::{filters, option_value};
use super::guard::*;
use super::storage::holdall_storage;
use crate::error::{Result, fail};
use crate::io::Folder;
use crate::io::overlay::DryRun;
use crate::options::{Opt, Options};
use crate::progress::Progress;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// A set of options. One can serve many calls, and be freed right after them. Each option names the
/// calls that use it:
///
/// - read, write, create: superchunks, arrays and tables, opened with HOLDALL_READ (read) or
///   HOLDALL_APPEND (write), or new (write and create), also as copies.
/// - bag, writer, index, stream: opening one, or building an index.
/// - verify, repair.
///
/// HOLDALL_READ and HOLDALL_APPEND ignore options of write and create; bag, writer, index and
/// stream ignore each other's. Any other option, or one that the format lacks, is
/// HOLDALL_E_ARGUMENT, unless it has its default.
pub struct holdall_options {
    options: Options,
    storages: Vec<Arc<dyn Folder>>,
}

/// One of HOLDALL_OPT_*.
pub type holdall_option = i32;

/// Threads per call. 0 (default): the processors of the process, if the work is large enough. 1:
/// only the calling thread.
/// Used by: all.
pub const HOLDALL_OPT_THREADS: i32 = 1;
/// Maximum bytes that one file may make a call allocate beyond the caller's buffers, such as the
/// stored bytes of a chunk; for a batch, also records and offsets. 0 permits none. Default: 4 GiB.
/// Used by: all but writer.
pub const HOLDALL_OPT_MEMORY_LIMIT: i32 = 2;
/// HOLDALL_IO_READ (default) or HOLDALL_IO_MAP.
/// Used by: read, write, bag, index, verify.
pub const HOLDALL_OPT_IO: i32 = 3;
/// 0: checksums beside the data or after chunks are not verified (those inside zstd frames always
/// are). 1 (default): verifies what is read. 2: also everything at open.
/// Used by: read, write, bag, index, repair.
pub const HOLDALL_OPT_VERIFY: i32 = 4;
/// 0 (default): corrupt content is an error. 1: corrupt records read as empty, corrupt chunks as
/// zeros, and the call returns HOLDALL_DAMAGED. A frame with a corrupt header, index or trailer
/// opens with what holdall_repair() would recover.
/// Used by: read, write, bag, index, stream, repair.
pub const HOLDALL_OPT_SKIP_DAMAGED: i32 = 5;
/// 1 (default): a commit syncs files and folder. 0: it survives a crash of the program, but maybe
/// not a power failure.
/// Used by: write, writer, index, repair.
pub const HOLDALL_OPT_DURABILITY: i32 = 6;
/// 1 (default): the lock `NAME.holdall-lock` permits one writer across processes. 0: the caller
/// must ensure it.
/// Used by: write, writer, index, repair.
pub const HOLDALL_OPT_LOCK: i32 = 7;
/// One of HOLDALL_CODEC_*. Chunks: any but _BY_NAME; default _LZ4 (HOLDALL_FORMAT_BLZ: _BLOSCLZ);
/// frames have no _SNAPPY. Bags: _NONE, _ZSTD or _BY_NAME (default). By name, a file with zstd frames
/// that is neither `.bag` nor `.bagz` does not open: set _ZSTD or _NONE.
/// Used by: write, bag, writer, verify, repair.
pub const HOLDALL_OPT_CODEC: i32 = 8;
/// Bags: zstd level, -131072 to 22; 0 (default) is 3. Chunks: 0 (stored) to 9, default 5.
/// Used by: write, writer.
pub const HOLDALL_OPT_LEVEL: i32 = 9;
/// Bytes: one HOLDALL_FILTER_* each, in order of application. Default: _SHUFFLE. Bloscpack,
/// folders: or _BITSHUFFLE, or none. Frames: up to six, also _DELTA and _BYTEDELTA.
/// Used by: write.
pub const HOLDALL_OPT_FILTERS: i32 = 10;
/// Bytes of content per chunk, 1 to 2,147,483,615, a multiple of the typesize. Default: 1 MiB;
/// folders: from HOLDALL_OPT_EXPECTED_ROWS. Arrays: rounded down to whole rows, or items of longer
/// rows; in frames approximate, default 2 to 4 MiB.
/// Used by: write.
pub const HOLDALL_OPT_CHUNK_BYTES: i32 = 11;
/// Bytes of content per block of a chunk. Default: as the Blosc libraries choose. Arrays in frames:
/// approximate; default 50 or 100 KiB: see docs/choosing.md.
/// Used by: write.
pub const HOLDALL_OPT_BLOCK_BYTES: i32 = 12;
/// One of HOLDALL_CHECKSUM_*, for what is written: see docs/damage.md. Default: _CRC32. Bloscpack,
/// folders: any but _ZSTD. Bags, frames: _NONE or _CRC32.
/// Used by: write, writer.
pub const HOLDALL_OPT_CHECKSUM: i32 = 13;
/// Bytes: a zstd dictionary, trained or any content. Reading needs the same one as writing, unless
/// the bag stores it (HOLDALL_OPT_BAG_DICTIONARY).
/// Used by: bag, writer, verify, repair.
pub const HOLDALL_OPT_DICTIONARY: i32 = 14;
/// Bytes: one item (folders: or row), the value of items that were never written. Default: zeros.
/// Folders store it (`dflt`) for later growth; frames grow by zeros.
/// Used by: create.
pub const HOLDALL_OPT_FILL_VALUE: i32 = 15;
/// Folders: approximate final number of rows, for the chunk length. Default: the rows at creation;
/// a table has none.
/// Used by: create.
pub const HOLDALL_OPT_EXPECTED_ROWS: i32 = 16;
/// Frames. 0 (default): one file. 1: a folder with one file per chunk; changed chunks leave no
/// unused space.
/// Used by: create.
pub const HOLDALL_OPT_SPARSE: i32 = 17;
/// HOLDALL_FORMAT_BLZ_RFC: chunks per superchunk file, 1 to 1,048,576. Default: 16 to 64 MiB of
/// content.
/// Used by: create.
pub const HOLDALL_OPT_SUPERCHUNK_CHUNKS: i32 = 18;
/// Bloscpack. 1 (default): with a table of chunk offsets. 0: without.
/// Used by: create.
pub const HOLDALL_OPT_OFFSETS: i32 = 19;
/// Bloscpack: free entries of 8 bytes in that table for appends in place; default: 10 per chunk, at
/// least 50.
/// Used by: write.
pub const HOLDALL_OPT_SPARE_CHUNKS: i32 = 20;
/// Bloscpack: free bytes in each new chunk, to change it in place; default: 0.
/// Used by: write.
pub const HOLDALL_OPT_SPARE_BYTES: i32 = 21;
/// Bloscpack header. 0 (default) and 3: as Bloscpack 0.3 to 0.16. 2: older, no metadata. 1: also no
/// checksums and offsets. 103: of the BLZ RFC layout.
/// Used by: create.
pub const HOLDALL_OPT_FORMAT_VERSION: i32 = 22;
/// HOLDALL_BAG_LIMITS_TAIL (default) or _SEPARATE: where the limits (end offsets) of records are.
/// Used by: bag, writer, verify, repair.
pub const HOLDALL_OPT_BAG_LIMITS: i32 = 23;
/// 0 (default): limits are read as needed. 1: all are in memory (8 bytes per record); the bag stays
/// readable while another program appends.
/// Used by: bag, verify.
pub const HOLDALL_OPT_BAG_LIMITS_CACHE: i32 = 24;
/// HOLDALL_BAG_SHARDS_CONCATENATED or _INTERLEAVED: how files form one sequence. Default: as the
/// files record, else concatenated. A writer of a set always interleaves (else HOLDALL_E_ARGUMENT).
/// Used by: bag, writer, verify.
pub const HOLDALL_OPT_BAG_SHARDS: i32 = 25;
/// Records (or numbers from the index function) requested in advance. 0: none. Default: as
/// HOLDALL_OPT_BAG_READ_AHEAD_BYTES permits.
/// Used by: stream.
pub const HOLDALL_OPT_BAG_READ_AHEAD: i32 = 26;
/// S (NumPy's bytes) is in Arrow 0 (default): utf8; 1: binary.
/// Used by: read, write (tables).
pub const HOLDALL_OPT_ARROW_BINARY: i32 = 27;
/// NaN is in Arrow 0 (default): NaN; 1: null.
/// Used by: read, write (tables).
pub const HOLDALL_OPT_ARROW_NULLS: i32 = 28;
/// Offset of the frame in a larger file, in bytes. Default: 0.
/// Used by: read, verify (frames).
pub const HOLDALL_OPT_FRAME_OFFSET: i32 = 29;
/// HOLDALL_FORMAT_B2ND and _CATERVA. 0 (default): the metalayer of the format. 1: both, so that
/// python-blosc2 and Caterva read the array.
/// Used by: create.
pub const HOLDALL_OPT_BOTH_METALAYERS: i32 = 30;
/// Bytes of records read in advance. 0: none. Default: about 2 MiB per thread.
/// Used by: stream.
pub const HOLDALL_OPT_BAG_READ_AHEAD_BYTES: i32 = 31;
/// Object stores: milliseconds that a request may wait for data, retries included, before
/// HOLDALL_E_IO. Default: 30,000.
/// Used by: all.
pub const HOLDALL_OPT_CLOUD_TIMEOUT: i32 = 32;
/// Object stores: retries of a failed request within that time. Default: 5.
/// Used by: all.
pub const HOLDALL_OPT_CLOUD_RETRIES: i32 = 33;
/// Object stores: concurrent requests per call, 1 to 256. Default: 16.
/// Used by: all.
pub const HOLDALL_OPT_CLOUD_REQUESTS: i32 = 34;
/// 1: holdall_repair() returns the same status, message and result but changes nothing; verify and
/// open see what it would leave. Default: 0.
/// Used by: read (superchunks), verify, repair.
pub const HOLDALL_OPT_DRY_RUN: i32 = 35;
/// HOLDALL_FORMAT_BLZ_RFC: order of the items in a chunk of an array. 0 (default): C. 1: Fortran.
/// Used by: create.
pub const HOLDALL_OPT_ORDER: i32 = 36;
/// HOLDALL_FORMAT_BLZ_RFC: 1 writes the metadata files as YAML, with the names of the RFC. 0
/// (default): JSON. Commits keep the form.
/// Used by: create.
pub const HOLDALL_OPT_YAML: i32 = 37;
/// Datasets and tables: 1: symbolic links that lead out of the folder are followed, for example of
/// `data` to another disk. Writers then write there; they remove links, never what they lead to.
/// Proxies of python-blosc2: 1: reads the source instead, if it is a local file.
/// Default: 0, HOLDALL_E_FORMAT, HOLDALL_E_UNSUPPORTED.
/// Used by: all.
pub const HOLDALL_OPT_FOLLOW_LINKS: i32 = 38;
/// Lossy. Frames, HOLDALL_FORMAT_BLZ_RFC; float32 or float64: the bits of the mantissa that new items
/// retain, 1 to 23 or 52, or, if negative, that are cleared. Default: 0, all; existing containers: as
/// recorded, which only 0 changes. Copies do not inherit it. See docs/choosing.md.
/// Used by: write.
pub const HOLDALL_OPT_PRECISION: i32 = 39;
/// HOLDALL_BAG_DICTIONARY_SEPARATE (default), _STORED or _AUTO: a dictionary for short records that
/// resemble each other. Appends use the stored one, whatever this option; so do copies to a new bag,
/// unless this option or HOLDALL_OPT_DICTIONARY is set, or the records are few.
/// Used by: writer.
pub const HOLDALL_OPT_BAG_DICTIONARY: i32 = 40;
/// Bytes of decoded blocks that a handle, or a column, caches: blocks read in small parts; array frames:
/// blocks read again. 0: none. Default: 4 MiB, 64 MiB for all handles.
/// Used by: read, write.
pub const HOLDALL_OPT_CACHE_BYTES: i32 = 41;
/// Frames with LZ4, LZ4HC or zstd: 1: a new chunk stores a dictionary, trained from its blocks, if that
/// makes it about 5 % smaller. For readers with holdall: c-blosc2 3.3.2 reads such chunks whole, but of a
/// part it returns an error, or with LZ4 and LZ4HC wrong content. Default: as recorded, or 0.
/// Used by: write.
pub const HOLDALL_OPT_CHUNK_DICTIONARY: i32 = 42;

/// Read system calls. A file that is truncated while open is an error.
pub const HOLDALL_IO_READ: i32 = 901;
/// Memory mapping: faster for small records. If a file is truncated while open, also by a commit
/// that shortens a superchunk, the process gets SIGBUS.
pub const HOLDALL_IO_MAP: i32 = 902;

/// Not compressed.
pub const HOLDALL_CODEC_NONE: i32 = 401;
/// BloscLZ.
pub const HOLDALL_CODEC_BLOSCLZ: i32 = 402;
/// LZ4.
pub const HOLDALL_CODEC_LZ4: i32 = 403;
/// LZ4 with the slower, high-compression encoder.
pub const HOLDALL_CODEC_LZ4HC: i32 = 404;
/// Snappy. python-blosc cannot read it.
pub const HOLDALL_CODEC_SNAPPY: i32 = 405;
/// Deflate in the zlib format.
pub const HOLDALL_CODEC_ZLIB: i32 = 406;
/// Zstandard.
pub const HOLDALL_CODEC_ZSTD: i32 = 407;
/// Only for HOLDALL_OPT_CODEC: zstd if the file name ends in `.bagz`, else none (also in storage).
pub const HOLDALL_CODEC_BY_NAME: i32 = 408;
/// Several codecs, or an unknown one; only in infos.
pub const HOLDALL_CODEC_MIXED: i32 = 409;

/// No filter.
pub const HOLDALL_FILTER_NONE: i32 = 64;
/// The first bytes of all items, then the second bytes, and so on.
pub const HOLDALL_FILTER_SHUFFLE: i32 = 65;
/// The same with bits.
pub const HOLDALL_FILTER_BITSHUFFLE: i32 = 66;
/// XOR with the items of the chunk's first block, which every read then needs. Goes before a
/// shuffle.
pub const HOLDALL_FILTER_DELTA: i32 = 67;
/// Difference from the previous byte. Goes after a shuffle. Caterva cannot read it.
pub const HOLDALL_FILTER_BYTEDELTA: i32 = 68;
/// Truncated precision, by HOLDALL_OPT_PRECISION; only in information.
pub const HOLDALL_FILTER_TRUNC_PREC: i32 = 69;

/// No checksum.
pub const HOLDALL_CHECKSUM_NONE: i32 = 501;
/// Adler-32.
pub const HOLDALL_CHECKSUM_ADLER32: i32 = 502;
/// CRC-32 as in zlib.
pub const HOLDALL_CHECKSUM_CRC32: i32 = 503;
/// MD5.
pub const HOLDALL_CHECKSUM_MD5: i32 = 504;
/// SHA-1.
pub const HOLDALL_CHECKSUM_SHA1: i32 = 505;
/// SHA-224.
pub const HOLDALL_CHECKSUM_SHA224: i32 = 506;
/// SHA-256.
pub const HOLDALL_CHECKSUM_SHA256: i32 = 507;
/// SHA-384.
pub const HOLDALL_CHECKSUM_SHA384: i32 = 508;
/// SHA-512.
pub const HOLDALL_CHECKSUM_SHA512: i32 = 509;
/// The checksum inside a zstd frame.
pub const HOLDALL_CHECKSUM_ZSTD: i32 = 510;

/// The bag does not store its dictionary, if it has one: readers need it.
pub const HOLDALL_BAG_DICTIONARY_SEPARATE: i32 = 1001;
/// Each file of the bag stores the dictionary that is given: nothing is needed to read it.
pub const HOLDALL_BAG_DICTIONARY_STORED: i32 = 1002;
/// A dictionary is trained from the first records (up to 4 MiB, held back in memory until then or
/// until the commit) and stored, if it makes them at least 5 % smaller; else there is none.
pub const HOLDALL_BAG_DICTIONARY_AUTO: i32 = 1003;
/// At the end of the file of the records.
pub const HOLDALL_BAG_LIMITS_TAIL: i32 = 701;
/// In a file `limits.NAME` beside it.
pub const HOLDALL_BAG_LIMITS_SEPARATE: i32 = 702;
/// All records of the first shard, then those of the second, and so on.
pub const HOLDALL_BAG_SHARDS_CONCATENATED: i32 = 801;
/// Record i is record i / S of shard i modulo S, of S shards.
pub const HOLDALL_BAG_SHARDS_INTERLEAVED: i32 = 802;

/// Progress callback: done of total bytes of content (of stored bytes, where a bag is verified,
/// checksummed or indexed). The calling thread calls it after each chunk or batch; single records do
/// not report, nor do calls that the callback makes. A nonzero result stops the call as a failure,
/// HOLDALL_E_CANCELLED, unless all is done.
pub type holdall_progress_fn =
    Option<unsafe extern "C" fn(ctx: *mut c_void, done: u64, total: u64) -> c_int>;

/// Returns the caller's options, or the defaults for NULL.
pub(super) fn chosen(o: *const holdall_options) -> Options {
    borrow(o).map(|o| o.options.clone()).unwrap_or_default()
}

/// Returns the storages that replace the path.
pub(super) fn storages<'a>(o: *const holdall_options) -> &'a [Arc<dyn Folder>] {
    borrow(o).map_or(&[], |o| &o.storages)
}

/// Creates an empty set, or returns NULL if memory allocation failed.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn holdall_options_new() -> *mut holdall_options {
    guard_value(std::ptr::null_mut(), || {
        hand_out(holdall_options {
            options: Options::new(),
            storages: Vec::new(),
        })
    })
}

/// Frees options.
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
        with_option(options, option, |o, opt| {
            o.set(opt, option_value(opt, value)?)
        })
    })
}

/// Sets an option to n bytes, which are copied; n 0 sets it to none. Each call checks the content.
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
        with_option(options, option, |o, opt| match opt {
            Opt::Filters => o.set_bytes(opt, &filters(value)?),
            _ => o.set_bytes(opt, value),
        })
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

/// Sets the storage that replaces the path of the calls that take these options: their path must
/// then be NULL or "". The storages may be freed right after; count 0 removes them. Several are the
/// shards of holdall_bag_open(). Instead of holdall_verify() open with HOLDALL_OPT_VERIFY 2.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_options_set_storage(
    options: *mut holdall_options,
    storages: *const *mut holdall_storage,
    count: u32,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        let options = required(options, "options")?;
        let folder = |storage: &*mut holdall_storage| {
            let storage = borrow(storage.cast_const());
            let folder = storage.map(|s| Arc::clone(&s.folder));
            folder.ok_or_else(|| fail!(Argument, "storages: one of them is NULL"))
        };
        let folders: Result<_> = slice(storages, count as usize, "storages")?
            .iter()
            .map(folder)
            .collect();
        options.storages = folders?;
        Ok(HOLDALL_OK)
    })
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
pub unsafe extern "C" fn holdall_options_set_progress(
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
