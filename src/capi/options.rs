//! Options: a builder that every open and create takes.

use super::guard::*;
use crate::error::Result;
use crate::io::overlay::Rehearsal;
use crate::options::{Opt, Options, Progress};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// A set of options. NULL in its place means the defaults. An option that means nothing to the call
/// that it is given to is HOLDALL_E_ARGUMENT, with its name in the message. May be used for many
/// calls, and freed right after them.
pub struct holdall_options {
    pub(super) options: Options,
}

/// One of HOLDALL_OPT_*.
pub type holdall_option = i32;

/// Threads that a call may use: 0 (default) the processors this process may use, and only where the
/// work is large enough to pay for it; 1 the calling thread alone.
pub const HOLDALL_OPT_THREADS: i32 = 1;
/// Bytes; the most that one file may make a call allocate. Default 4 GiB.
pub const HOLDALL_OPT_MEMORY_LIMIT: i32 = 2;
/// HOLDALL_IO_READ or HOLDALL_IO_MAP.
pub const HOLDALL_OPT_IO: i32 = 3;
/// 0: checksums that lie beside the data, or behind chunks, are not looked at (those inside zstd
/// frames always are), nor is the number of bytes that a dataset says it has held against its
/// shape; 1 (default): what is read is checked; 2: everything is checked at open, too.
pub const HOLDALL_OPT_VERIFY: i32 = 4;
/// 1: damaged records read as empty, damaged chunks as zeros, and the call says so
/// (HOLDALL_NOT_FOUND; which they are: holdall_verify(); holdall_records and streams of bags count
/// them instead); 0 (default): they are an error. With HOLDALL_APPEND this holds for reads alone: a
/// change never takes damaged content for zeros. What needs some of a damaged chunk fails, one that
/// nothing touches stays as it is, and where chunks are missing the commit is HOLDALL_E_STATE: see
/// holdall_repair(). A frame whose header, index or trailer is damaged opens for reading with what
/// is found again of it, as holdall_repair() does it, and every read says so.
pub const HOLDALL_OPT_SKIP_DAMAGED: i32 = 5;
/// At commit: 1 (default) data and folder are synced; 0 they are not: a crash of the program loses
/// nothing of a commit, a failing power supply may.
pub const HOLDALL_OPT_DURABILITY: i32 = 6;
/// 1 (default): one writer at a time, across processes, by a lock on `NAME.holdall-lock`; 0: the
/// caller sees to it.
pub const HOLDALL_OPT_LOCK: i32 = 7;
/// One of HOLDALL_CODEC_*. Bags: _NONE, _ZSTD, or _BY_NAME (default): zstd where the file's name
/// ends in `.bagz`; all others are then not compressed, storage of the caller's, too, which has no
/// name. Where records under another name than `.bag` are zstd frames, opening is
/// HOLDALL_E_ARGUMENT until it is given: _ZSTD decompresses them, _NONE does not. Superchunks: any
/// but the last; default _LZ4. Frames have no _SNAPPY.
pub const HOLDALL_OPT_CODEC: i32 = 8;
/// Bags: zstd's level, -131072 to 22; 0 (default) is its own default, 3. Chunks: 0 (stored as it
/// is) to 9, default 5.
pub const HOLDALL_OPT_LEVEL: i32 = 9;
/// Bytes (holdall_options_set_bytes): a byte HOLDALL_FILTER_* for each filter, in the order in
/// which they are applied. Bloscpack: _SHUFFLE (default) or _BITSHUFFLE alone, or none (0 bytes).
/// Frames: up to six, those two, _DELTA and _BYTEDELTA; default _SHUFFLE.
pub const HOLDALL_OPT_FILTERS: i32 = 10;
/// Bytes of content in a chunk, a multiple of the typesize, 1 to 2,147,483,615. Default: 1 MiB,
/// rounded down to one. Arrays: rounded down to whole rows, or whole items where a row is longer;
/// one item at least. Arrays in frames: about so many, along every dimension; default: 2 to 4 MiB
/// where the array has that much.
pub const HOLDALL_OPT_CHUNK_BYTES: i32 = 11;
/// Bytes of content in a block of a chunk. Default: what the Blosc libraries choose for codec and
/// level. Arrays in frames: about so many, along every dimension; default: 32 KiB for each byte of
/// an item, 100 KiB at most, 50 KiB for items of 8 bytes and more in three dimensions and more.
pub const HOLDALL_OPT_BLOCK_BYTES: i32 = 12;
/// One of HOLDALL_SUM_*, for what is written. Superchunks: any but HOLDALL_SUM_ZSTD, default
/// _CRC32, behind each chunk; holdall_schunk_create() alone takes it, later writers go on with it.
/// Bags: HOLDALL_SUM_NONE, or HOLDALL_SUM_CRC32 (default): an uncompressed bag then gets a file
/// `checksums.NAME` with a CRC-32 a record, a compressed one the checksum that the zstd format has
/// inside its frames (HOLDALL_SUM_ZSTD says the same there). Datasets: as superchunks; with any,
/// the small files have a CRC-32 in a last line of blanks, which is checked like those of chunks,
/// and which no tool minds. Frames: HOLDALL_SUM_CRC32 (default) or _NONE: a CRC-32 of each chunk in
/// the metalayer `holdall.crc32`, and of the rest in places that the format leaves unused; other
/// tools skip them. A frame of another tool gets them when a writer asks for them. Without them
/// readers of a frame in one file may be HOLDALL_E_STATE before the commit already, as soon as a
/// writer adds to it.
pub const HOLDALL_OPT_CHECKSUM: i32 = 13;
/// Bytes: a zstd dictionary, trained or any content. What was written with one is read with the
/// same.
pub const HOLDALL_OPT_DICTIONARY: i32 = 14;
/// Bytes of what is where nothing is written. A dataset: an item or a row, which it is created with
/// and grows by (bcolz and BLZ: `dflt`); see holdall_array_fill_set(). An array in a frame: an
/// item, which it is created with alone, for frames do not keep it; it grows by zeros. Such chunks
/// cost next to nothing there, NaN among them. Default: zeros.
pub const HOLDALL_OPT_FILL: i32 = 15;
/// Datasets: rows that one is going to have, about, by which the length of its chunks is chosen.
/// Default: those that it is created with.
pub const HOLDALL_OPT_EXPECTED_ROWS: i32 = 16;
/// Frames: 0 (default) one file; 1 a folder with a file for each chunk, in which a changed chunk
/// leaves no dead room.
pub const HOLDALL_OPT_SPARSE: i32 = 17;
/// HOLDALL_FORMAT_BLZ_PAPER: chunks of a superchunk, each of which is a file, 1 to 1,048,576. What
/// is appended goes into the last one as it is there; a commit writes each one anew in which
/// something else has changed, through memory. Default: 16 to 64 MiB of content, by
/// HOLDALL_OPT_EXPECTED_ROWS; in a table at most 256 MiB of all columns together.
pub const HOLDALL_OPT_SUPERCHUNK_CHUNKS: i32 = 18;
/// Bloscpack: 1 (default) = with a table of where the chunks are; 0: without, each is found behind
/// the one before.
pub const HOLDALL_OPT_OFFSETS: i32 = 19;
/// Bloscpack: entries of that table (8 bytes each) kept free for appends in place. Default: 10 for
/// each chunk, 50 at least; a new file has room for 1,022 chunks where that is little beside its
/// content. Where there is none left, the next commit that needs one writes the file anew, with as
/// many free ones again; nothing else is different. A file of the papers' form has no more than it
/// has chunks to come. HOLDALL_E_LIMIT: 16 bytes for each are beyond HOLDALL_OPT_MEMORY_LIMIT.
pub const HOLDALL_OPT_SPARE_CHUNKS: i32 = 20;
/// Bloscpack: bytes kept free in each new chunk, so that a changed one fits into its place (default
/// 0); chunks that cannot be made smaller have none.
pub const HOLDALL_OPT_SPARE_BYTES: i32 = 21;
/// Bloscpack header: 0 (default) and 3 as Bloscpack 0.3 to 0.16 has it; 1, 2 as those before
/// (without metadata; 1 also without checksums and offsets); 103 as the papers have it, which
/// differs from 3 where there are metadata.
pub const HOLDALL_OPT_FORMAT_VERSION: i32 = 22;
/// HOLDALL_BAG_LIMITS_TAIL (default) or _SEPARATE: where the limits of a bag's records are.
pub const HOLDALL_OPT_BAG_LIMITS: i32 = 23;
/// 0 (default): limits are read from disk where they are needed, and those of records that are read
/// singly are kept, in 64 MiB for all bags of the process at most; 1: all are kept in memory (8
/// bytes a record), and the bag can be read on while another program appends to it.
pub const HOLDALL_OPT_BAG_LIMITS_CACHE: i32 = 24;
/// HOLDALL_BAG_SHARDS_CONCATENATED or _INTERLEAVED: how several files make one sequence. Default:
/// as they were written, in turns where they say so, else one after the other.
pub const HOLDALL_OPT_BAG_SHARDS: i32 = 25;
/// Streams of bags: records that are read, or wanted from the index function, before they are
/// taken. Default: as many as HOLDALL_OPT_BAG_READ_AHEAD_BYTES allows, 65,536 of them a batch at
/// most. 0: none; what is wanted is read then.
pub const HOLDALL_OPT_BAG_READ_AHEAD: i32 = 26;
/// Tables: 0 (default) columns of S, which NumPy calls bytes, go to Arrow as utf8, as which most
/// are meant; 1 as binary.
pub const HOLDALL_OPT_ARROW_BINARY: i32 = 27;
/// Tables: 0 (default) NaN goes to Arrow as it is, and spoils a sum as it does elsewhere; 1 as
/// null, which queries leave out.
pub const HOLDALL_OPT_ARROW_NULLS: i32 = 28;
/// Blosc2 frames that are read: where the frame begins in a larger file, in bytes; default 0.
pub const HOLDALL_OPT_AT: i32 = 29;
/// HOLDALL_FORMAT_B2ND and _CATERVA: 1 the array has both metalayers, so that python-blosc2 sees it
/// with its dtype, and Caterva too; 0 (default) that of the format.
pub const HOLDALL_OPT_BOTH_METALAYERS: i32 = 30;
/// Streams of bags: bytes of the records that are read before they are taken. Default: batches of
/// about 1 MiB, or of one record where that is larger, and two of them for each thread. A record
/// that alone has more than there are is read when it is wanted. 0: none.
pub const HOLDALL_OPT_BAG_READ_AHEAD_BYTES: i32 = 33;
/// Object stores: milliseconds, other tries included, that a request may wait for something to come
/// before the call is HOLDALL_E_IO; default 30,000. A part of 8 MiB that is sent must be there in
/// half of it. This and the next two are for every call that takes a path, and mean nothing to
/// local ones.
pub const HOLDALL_OPT_CLOUD_TIMEOUT: i32 = 39;
/// Object stores: times that a request that failed is tried again, within that time; default 5.
pub const HOLDALL_OPT_CLOUD_RETRIES: i32 = 40;
/// Object stores: requests that one call has under way at once, 1 to 256; default 16.
pub const HOLDALL_OPT_CLOUD_REQUESTS: i32 = 41;
/// 1: holdall_repair() returns what it would without it, status, message and counts, and changes
/// nothing: no file of the container is made, written, renamed or removed, and no journal is rolled
/// back. What a repair writes goes to a file without a name, on the container's file system where
/// that can be (Linux), else in /tmp: it takes as much room there as the repair would. Whether this
/// process may write there, and other writers that come meanwhile, are not seen: there is no lock
/// beside the container. holdall_verify() and holdall_schunk_open() with HOLDALL_READ: what such a
/// repair would leave is read, and also take the options of holdall_repair(), which are then those
/// of the repair. Default 0.
pub const HOLDALL_OPT_DRY_RUN: i32 = 42;

/// Files are read: one that is cut short under us is an error.
pub const HOLDALL_IO_READ: i32 = 0;
/// Files are mapped into memory: faster for small records; a file that is cut short while it is
/// open, by another program or by a commit that makes a superchunk shorter, ends this process with
/// SIGBUS.
pub const HOLDALL_IO_MAP: i32 = 1;

/// Not compressed.
pub const HOLDALL_CODEC_NONE: i32 = 0;
/// BloscLZ.
pub const HOLDALL_CODEC_BLOSCLZ: i32 = 1;
/// LZ4.
pub const HOLDALL_CODEC_LZ4: i32 = 2;
/// LZ4 with a thorough search.
pub const HOLDALL_CODEC_LZ4HC: i32 = 3;
/// Snappy. python-blosc cannot read it.
pub const HOLDALL_CODEC_SNAPPY: i32 = 4;
/// Deflate in zlib's wrapping.
pub const HOLDALL_CODEC_ZLIB: i32 = 5;
/// Zstandard.
pub const HOLDALL_CODEC_ZSTD: i32 = 6;
/// As the name says (option); or different ones (holdall_bag_codec).
pub const HOLDALL_CODEC_BY_NAME: i32 = 255;

/// None.
pub const HOLDALL_FILTER_NONE: i32 = 0;
/// The first bytes of all items, then their second bytes, and so on.
pub const HOLDALL_FILTER_SHUFFLE: i32 = 1;
/// The same with bits.
pub const HOLDALL_FILTER_BITSHUFFLE: i32 = 2;
/// Items become what they differ by (xor) from those of the first block of the chunk, which is then
/// read with any other. Before a shuffle.
pub const HOLDALL_FILTER_DELTA: i32 = 3;
/// Bytes become what they differ by from the byte before. Behind a shuffle. Caterva cannot read it.
pub const HOLDALL_FILTER_BYTEDELTA: i32 = 35;

/// No checksum.
pub const HOLDALL_SUM_NONE: i32 = 0;
/// Adler-32.
pub const HOLDALL_SUM_ADLER32: i32 = 1;
/// CRC-32, zlib's.
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
/// The checksum that a zstd frame carries of its content; only there, holdall_checksum() has it
/// not.
pub const HOLDALL_SUM_ZSTD: i32 = 9;

/// Limits at the end of the file with the records.
pub const HOLDALL_BAG_LIMITS_TAIL: i32 = 0;
/// Limits in a file `limits.NAME` beside it.
pub const HOLDALL_BAG_LIMITS_SEPARATE: i32 = 1;
/// All records of the first shard, then those of the second, and so on.
pub const HOLDALL_BAG_SHARDS_CONCATENATED: i32 = 0;
/// Record i is record i / S of shard i modulo S, of S shards.
pub const HOLDALL_BAG_SHARDS_INTERLEAVED: i32 = 1;

/// Told now and then how far a long call is, in units of its own. Not zero stops the call with
/// HOLDALL_E_CANCELLED. These calls tell it: holdall_verify(), holdall_repair() of a superchunk or
/// a folder, opening with HOLDALL_OPT_VERIFY 2, holdall_bag_checksum() and
/// holdall_schunk_checksum() (to the function in the options that the handle was opened with),
/// holdall_schunk_copy() and holdall_array_copy() (in the options that the call is given). May run
/// on another thread than the caller's, one call at a time.
pub type holdall_progress_fn =
    Option<unsafe extern "C" fn(ctx: *mut c_void, done: u64, total: u64) -> c_int>;

/// The caller's options, or the defaults.
pub(super) fn chosen(o: *const holdall_options) -> Options {
    borrow(o).map(|o| o.options.clone()).unwrap_or_default()
}

/// Options with nothing set; to be freed with holdall_options_free(). NULL: no memory.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn holdall_options_new() -> *mut holdall_options {
    guard_value(std::ptr::null_mut(), || {
        hand_out(holdall_options {
            options: Options::new(),
        })
    })
}

/// Frees options; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_options_free(options: *mut holdall_options) {
    take_back(options);
}

/// Sets an option to a number. HOLDALL_E_ARGUMENT: no such option, one that takes bytes, or a value
/// that it cannot have; what does not fit the call is found when that is made.
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

/// Sets an option to n bytes, which are copied; with n 0 (value may be NULL) it is set to none,
/// which HOLDALL_OPT_FILTERS can be. What they say is looked at by the calls that take them.
/// HOLDALL_E_ARGUMENT: no such option, or one that takes a number.
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
    f(&mut place(o, "options")?.options, opt)?;
    Ok(HOLDALL_OK)
}

struct ProgressCall(
    unsafe extern "C" fn(*mut c_void, u64, u64) -> c_int,
    *mut c_void,
);
// SAFETY: the header says that the function may run on any thread, with this context.
unsafe impl Send for ProgressCall {}
// SAFETY: as above.
unsafe impl Sync for ProgressCall {}

impl ProgressCall {
    fn call(&self, done: u64, total: u64) -> bool {
        // SAFETY: by contract a function that may be called with its context as long as calls run
        // that were given these options.
        Rehearsal::outside(|| unsafe { (self.0)(self.1, done, total) == 0 })
    }
}

/// Sets the function that long calls tell their progress to; NULL: none. It must stay callable as
/// long as handles live that were opened with these options.
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
