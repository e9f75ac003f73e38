/* holdall.h - chunked, compressed containers, read and written from C:
 * Bloscpack, bcolz, BLZ, Blosc2 frames with b2nd and Caterva, and Bagz.
 *
 * Rules that hold for every function:
 *
 * Results
 *  - A function that can fail returns holdall_status: 0 is success, a value above 0 is
 *    success with a remark (see HOLDALL_NOT_FOUND), a value below 0 is a failure.
 *  - Results are stored through pointers, which follow the inputs. After a failure they are
 *    unchanged, with four exceptions: an *out handle is NULL, *n is the required size with
 *    HOLDALL_E_BUFFER, buffers may hold anything, and holdall_verify() stores its counts.
 *  - A function documents the failures that have a specific meaning for it. In addition,
 *    every function that accesses a container can return HOLDALL_E_IO, _MEMORY and _LIMIT
 *    (HOLDALL_OPT_MEMORY_LIMIT is exceeded), every function of a handle HOLDALL_E_PANIC,
 *    every function that opens HOLDALL_E_MISSING, every function that writes HOLDALL_E_BUSY
 *    and, on a handle for reading, HOLDALL_E_STATE, and every function HOLDALL_E_ARGUMENT for
 *    an invalid argument, such as a mode of another kind or a step of 0.
 *  - The message of a failure is stored in the last argument, a holdall_error of the caller,
 *    which may be NULL. No error state is stored per thread, and nothing needs to be freed.
 *  - NULL for a required pointer, or a value out of range, is HOLDALL_E_ARGUMENT (0 or NULL
 *    from functions that cannot fail). A closed handle, an invalid pointer or a wrong length
 *    is undefined behaviour.
 *
 * Handles and threads
 *  - Handles are opaque. The caller owns a handle that holdall_X_open() or a similar function
 *    returns. holdall_X_close() or holdall_X_free() releases it, accepts NULL, and cannot
 *    fail. A handle keeps alive what it was made from, so handles may be closed in any order.
 *  - const holdall_X *: many threads may call such functions on one handle at once.
 *    holdall_X *: one thread at a time, but any thread. Distinct handles share no state that
 *    the caller can observe.
 *  - Callbacks run on the calling thread unless documented otherwise. They must not unwind
 *    (C++ exceptions, longjmp) through the library, and must not call it with the handle that
 *    they were called for.
 *  - After fork() the child may continue to read through inherited handles, on the calling
 *    thread only. An inherited writer returns HOLDALL_E_STATE, and closing it in the child
 *    changes nothing. Its lock lasts until both processes have ended.
 *
 * Commits
 *  - Nothing that was written is visible or durable before the commit. Closing a handle
 *    without a commit leaves the container at the last commit, as a crash would.
 *  - A reader sees the last commit at the time when it opens, during any commit and after any
 *    crash. Readers need no lock and write nothing. After a later commit, reads through an
 *    open superchunk, or an array in one file or in a frame folder, may be HOLDALL_E_STATE;
 *    they never return a mixture. Open the container again. Datasets (bcolz, BLZ) store each
 *    chunk in a file that is opened on first use: after a commit that changes rows, an older
 *    handle may see some of them as they are now.
 *  - During a change the writer keeps files beside each file NAME of the container:
 *    NAME.holdall-lock (in a folder dataset.holdall-lock), NAME.holdall-new,
 *    NAME.holdall-part and NAME.holdall-journal. The first three have no meaning once the
 *    writer has ended. A journal that remains belongs to the container, and must stay with it
 *    until the next writer has rolled it back. Journals and locks of users who may not write
 *    the container are ignored; SECURITY.md has the rules.
 *  - A file that replaces another one gets its mode, and its owner and access control list if
 *    the process may set them. So do files that are added beside it. New files follow the
 *    umask. The library never writes through symbolic or hard links beside NAME.
 *
 * Memory and values
 *  - Buffers belong to the caller, and sizes are in bytes. Where the size is not known in
 *    advance, dst == NULL stores it in *n and returns HOLDALL_OK. A short dst is
 *    HOLDALL_E_BUFFER, with the required size in *n if the function has an *n.
 *  - Pointers to numbers (uint64_t, int64_t) and to pointers must be aligned as C requires.
 *    Content buffers (void *) need no alignment.
 *  - Pointers that const getters return are borrowed: valid until the handle is closed, or
 *    changed by a function that takes it without const. If a function says that a pointer is
 *    valid until the handle is closed, changes do not invalidate it.
 *  - Strings are UTF-8 and end with NUL. Paths are any bytes but NUL. Binary values have an
 *    explicit length.
 *
 * The process
 *  - Functions never abort, print, or install a signal handler. They read one environment
 *    variable, HOLDALL_THREADS (the number of threads; default: that of the processors), once.
 *    An internal error is HOLDALL_E_PANIC, and the handle then refuses further calls.
 *  - Builds with object stores (cmake -DHOLDALL_CLOUD=ON) accept names of objects as paths:
 *    gs://bucket/key (also gs:bucket/key and /gs:bucket/key), s3://, az://, http:// and
 *    https://. Other builds return HOLDALL_E_UNSUPPORTED. A local file of exactly that name
 *    takes precedence, and ./gs:x is always local. An object keeps the version that was
 *    opened: once it is replaced or removed, reading is HOLDALL_E_STATE. A store that does not
 *    answer is HOLDALL_E_IO after HOLDALL_OPT_CLOUD_TIMEOUT; one that refuses is HOLDALL_E_IO
 *    with EACCES in os_code. All formats can be read. Bags can be written, except to http: a
 *    bag has one commit and is not visible before; HOLDALL_APPEND is HOLDALL_E_UNSUPPORTED,
 *    and several objects (a set of shards, separate limits) cannot be replaced at once.
 *    Two threads of the library talk to stores, so a child must open again after fork()
 *    (else HOLDALL_E_STATE). Here the environment is read as docs/clouds.md describes.
 *
 * Linking: find_package(holdall) and holdall::holdall, or pkg-config holdall. Programs may be
 * C99 or later, or C++11 or later.
 */
/* Generated from src/capi/ by `cargo test --test headers`; do not edit. */
#ifndef HOLDALL_H
#define HOLDALL_H

#include <stddef.h>
#include <stdint.h>

/* Define HOLDALL_API to decorate the declarations otherwise. */
#ifndef HOLDALL_API
#if defined(_WIN32) && !defined(HOLDALL_STATIC)
#define HOLDALL_API __declspec(dllimport)
#else
#define HOLDALL_API
#endif
#endif
/* Callers must check a status. */
#ifndef HOLDALL_USE
#if defined(__GNUC__) || defined(__clang__)
#define HOLDALL_USE __attribute__((warn_unused_result))
#else
#define HOLDALL_USE
#endif
#endif

/* ---- The version of this header; holdall_version_number() returns that of the library. ---- */
#define HOLDALL_VERSION_MAJOR 0
#define HOLDALL_VERSION_MINOR 1
#define HOLDALL_VERSION_PATCH 0
/* major * 1000000 + minor * 1000 + patch */
#define HOLDALL_VERSION_NUMBER 1000

#ifdef __cplusplus
extern "C" {
#endif

/* Arrow's C stream interface. Programs that use it declare its structures. */
struct ArrowArrayStream;

/* ---- failures ------------------------------------------------------------------*/

/* Success. */
#define HOLDALL_OK 0
/* Success, but nothing was found, the end was reached, or corrupt data was skipped. */
#define HOLDALL_NOT_FOUND 1
/* An argument is NULL, out of range, or inconsistent with the others. */
#define HOLDALL_E_ARGUMENT (-1)
/* Bug in the library; please report it. The handle then refuses all calls but closing. */
#define HOLDALL_E_PANIC (-2)
/* Memory allocation failed. */
#define HOLDALL_E_MEMORY (-3)
/* The buffer is too small; *n, if there is one, is the required size. */
#define HOLDALL_E_BUFFER (-4)
/* The operating system or the storage failed: see holdall_error::os_code. */
#define HOLDALL_E_IO (-5)
/* A file does not exist. */
#define HOLDALL_E_MISSING (-6)
/* A file exists that must not exist. */
#define HOLDALL_E_EXISTS (-7)
/* Stored bytes violate the format: corruption, or another kind of file. */
#define HOLDALL_E_FORMAT (-8)
/* A stored checksum does not match. */
#define HOLDALL_E_CHECKSUM (-9)
/* The format version is unknown to this library. */
#define HOLDALL_E_VERSION (-10)
/* The codec or filter is not available in this library. */
#define HOLDALL_E_CODEC (-11)
/* A type does not match. */
#define HOLDALL_E_TYPE (-12)
/* An index or offset is past the end. */
#define HOLDALL_E_RANGE (-13)
/* The call is invalid in the current state of the handle or file. */
#define HOLDALL_E_STATE (-14)
/* A limit set by the caller would be exceeded. */
#define HOLDALL_E_LIMIT (-15)
/* The caller's progress callback stopped the call. */
#define HOLDALL_E_CANCELLED (-16)
/* A callback of the caller failed. */
#define HOLDALL_E_CALLBACK (-17)
/* Another writer is active. */
#define HOLDALL_E_BUSY (-18)
/* Valid, but not supported by this version or this storage. */
#define HOLDALL_E_UNSUPPORTED (-19)
/* Result of a function that can fail: HOLDALL_OK, a value above 0 (success with a qualification),
 * or a negative HOLDALL_E_*. Values never change. */
typedef int32_t holdall_status;

/* A failure, in 512 bytes that the caller owns; the size never changes. Functions that can fail
 * take a pointer to one, or NULL, as last argument, and write it only if they return a negative
 * status. */
typedef struct holdall_error {
    /* The status that the function returned. */
    holdall_status status;
    /* errno, or 0. */
    int32_t os_code;
    /* Index of the record or chunk that failed, or -1. */
    int64_t position;
    /* UTF-8 with a terminating NUL; "..." replaces the middle of a long message. */
    char message[496];
} holdall_error;

/* ---- options: every open takes them; NULL stands for the defaults --------------*/

/* Threads per call. 0 (default): the processors available to the process, if the work is large
 * enough. 1: only the calling thread. */
#define HOLDALL_OPT_THREADS 1
/* Maximum bytes that one file may make a call allocate. Default: 4 GiB. */
#define HOLDALL_OPT_MEMORY_LIMIT 2
/* HOLDALL_IO_READ (default) or HOLDALL_IO_MAP. */
#define HOLDALL_OPT_IO 3
/* 0: checksums beside the data or after chunks are not verified (those inside zstd frames always
 * are), nor the recorded size of a dataset against its shape. 1 (default): verifies what is read.
 * 2: also everything at open. */
#define HOLDALL_OPT_VERIFY 4
/* 0 (default): corrupt content is an error. 1: corrupt records read as empty, corrupt chunks as
 * zeros, and the call returns HOLDALL_NOT_FOUND; holdall_records and bag streams count the records
 * instead. holdall_verify() lists them.
 *
 * A frame with a corrupt header, index or trailer opens for reading with what holdall_repair()
 * would recover; every read returns HOLDALL_NOT_FOUND. With HOLDALL_APPEND only reads skip. A
 * change that needs part of a corrupt chunk fails; untouched chunks stay. If chunks are missing,
 * the commit is HOLDALL_E_STATE: see holdall_repair(). */
#define HOLDALL_OPT_SKIP_DAMAGED 5
/* 1 (default): a commit syncs files and folder. 0: no sync; a commit survives a crash of the
 * program, but maybe not a power failure. */
#define HOLDALL_OPT_DURABILITY 6
/* 1 (default): the lock `NAME.holdall-lock` permits one writer across processes. 0: the caller
 * must ensure a single writer. */
#define HOLDALL_OPT_LOCK 7
/* One of HOLDALL_CODEC_*. Bags: _NONE, _ZSTD, or _BY_NAME (default): zstd if the file name ends in
 * `.bagz`, else none (also in storage of the caller). If a file not named `.bag` contains zstd
 * frames, opening it returns HOLDALL_E_ARGUMENT without an explicit _ZSTD (decompress) or _NONE
 * (do not). Chunks: any but _BY_NAME, default _LZ4; frames have no _SNAPPY. */
#define HOLDALL_OPT_CODEC 8
/* Bags: zstd level, -131072 to 22; 0 (default) is zstd's default, 3. Chunks: 0 (stored) to 9,
 * default 5. */
#define HOLDALL_OPT_LEVEL 9
/* Bytes (holdall_options_set_bytes()): one HOLDALL_FILTER_* each, in order of application.
 * Bloscpack: _SHUFFLE (default), _BITSHUFFLE or none (0 bytes). Frames: up to six, also _DELTA and
 * _BYTEDELTA; default _SHUFFLE. */
#define HOLDALL_OPT_FILTERS 10
/* Bytes of content per chunk, 1 to 2,147,483,615, a multiple of the typesize. Default: 1 MiB,
 * rounded down. Arrays: rounded down to whole rows, or whole items (at least one) of longer rows.
 * Arrays in frames: approximate, similar lengths along all dimensions; default 2 to 4 MiB if the
 * array has that much. */
#define HOLDALL_OPT_CHUNK_BYTES 11
/* Bytes of content per block of a chunk. Default: as the Blosc libraries choose for codec and
 * level. Arrays in frames: approximate, similar lengths along all dimensions; default 32 KiB per
 * byte of an item, at most 100 KiB, or 50 KiB for items of 8 bytes or more in 3 or more
 * dimensions. */
#define HOLDALL_OPT_BLOCK_BYTES 12
/* One of HOLDALL_SUM_*, for what is written. Default: HOLDALL_SUM_CRC32.
 *
 * - Bloscpack: after each chunk, any but _ZSTD. Only creating takes it; later writers continue
 *   with it.
 * - Folders: the same; with any checksum the small files get a CRC-32 in a last line of blanks,
 *   which other tools ignore.
 * - Bags: _NONE or _CRC32. Uncompressed: a CRC-32 per record in `checksums.NAME`. Compressed:
 *   zstd's own in each frame (_ZSTD means the same).
 * - Frames: _NONE or _CRC32: per chunk in the metalayer `holdall.crc32`, and of the rest in unused
 *   fields; other tools skip them. A writer adds them to another tool's frame if this is set.
 *   Without them, readers of a frame in one file may get HOLDALL_E_STATE before the commit, once a
 *   writer adds to it. */
#define HOLDALL_OPT_CHECKSUM 13
/* Bytes: a zstd dictionary, trained or any content. Reading needs the same one as writing. */
#define HOLDALL_OPT_DICTIONARY 14
/* Bytes: the fill value of items that were never written. Default: zeros. Folders: one item or
 * row, also for later growth (`dflt` of bcolz and BLZ); see holdall_array_fill_set(). Arrays in
 * frames: one item, at creation only; frames do not store it and grow by zeros. Chunks of one
 * value take almost no space there, also of NaN. */
#define HOLDALL_OPT_FILL 15
/* Folders: approximate final number of rows, which determines the chunk length. Default: the rows
 * at creation. */
#define HOLDALL_OPT_EXPECTED_ROWS 16
/* Frames. 0 (default): one file. 1: a folder with one file per chunk; changed chunks leave no
 * unused space. */
#define HOLDALL_OPT_SPARSE 17
/* HOLDALL_FORMAT_BLZ_PAPER: chunks per superchunk file, 1 to 1,048,576. Default: 16 to 64 MiB of
 * content, by HOLDALL_OPT_EXPECTED_ROWS; in a table at most 256 MiB for all columns. Appends
 * extend the last file in place; a commit rewrites files with other changes, through memory. */
#define HOLDALL_OPT_SUPERCHUNK_CHUNKS 18
/* Bloscpack. 1 (default): with a table of chunk offsets. 0: without; each chunk is located from
 * the previous one. */
#define HOLDALL_OPT_OFFSETS 19
/* Bloscpack: free entries (8 bytes each) in that table for appends in place. Default: 10 per
 * chunk, at least 50; a new file has 1,022 if that is small relative to its content; the BLZ RFC
 * layout never more than the chunks still to come. Without a free entry the commit rewrites the
 * file, with as many new ones. HOLDALL_E_LIMIT: 16 bytes each exceed HOLDALL_OPT_MEMORY_LIMIT. */
#define HOLDALL_OPT_SPARE_CHUNKS 20
/* Bloscpack: free bytes in each new chunk, so that a changed one can be stored in place. Default:
 * 0. Incompressible chunks have none. */
#define HOLDALL_OPT_SPARE_BYTES 21
/* Bloscpack header. 0 (default) and 3: as Bloscpack 0.3 to 0.16. 2: older, no metadata. 1: also no
 * checksums and offsets. 103: the BLZ RFC layout, which differs from 3 only in metadata. */
#define HOLDALL_OPT_FORMAT_VERSION 22
/* HOLDALL_BAG_LIMITS_TAIL (default) or _SEPARATE: where the limits (end offsets) of records are
 * stored. */
#define HOLDALL_OPT_BAG_LIMITS 23
/* 0 (default): limits are read as needed; those of single reads are cached, at most 64 MiB per
 * process. 1: all are in memory (8 bytes per record); the bag stays readable while another program
 * appends. */
#define HOLDALL_OPT_BAG_LIMITS_CACHE 24
/* HOLDALL_BAG_SHARDS_CONCATENATED or _INTERLEAVED: how files form one sequence. Default: as the
 * files record, else concatenated. */
#define HOLDALL_OPT_BAG_SHARDS 25
/* Bag streams: records read, or requested from the index function, in advance. 0: none. Default:
 * as HOLDALL_OPT_BAG_READ_AHEAD_BYTES permits, at most 65,536 per batch. */
#define HOLDALL_OPT_BAG_READ_AHEAD 26
/* Tables: 0 (default): S (NumPy's bytes) becomes utf8 in Arrow. 1: binary. */
#define HOLDALL_OPT_ARROW_BINARY 27
/* Tables: 0 (default): NaN stays NaN in Arrow, which propagates through aggregates. 1: null, which
 * queries skip. */
#define HOLDALL_OPT_ARROW_NULLS 28
/* Reading frames: offset of the frame in a larger file, in bytes. Default: 0. */
#define HOLDALL_OPT_AT 29
/* HOLDALL_FORMAT_B2ND and _CATERVA. 0 (default): the metalayer of the format. 1: both, so that
 * python-blosc2 (with dtype) and Caterva read the array. */
#define HOLDALL_OPT_BOTH_METALAYERS 30
/* Bag streams: bytes of records read in advance. 0: none. Default: two batches per thread, of
 * about 1 MiB or one larger record each. A record larger than this is read on request. */
#define HOLDALL_OPT_BAG_READ_AHEAD_BYTES 33
/* Object stores: milliseconds that a request may wait for data, retries included, before
 * HOLDALL_E_IO; an uploaded part of 8 MiB must arrive in half of it. Default: 30,000. Every call
 * with a path takes this and the next two; local paths ignore them. */
#define HOLDALL_OPT_CLOUD_TIMEOUT 39
/* Object stores: retries of a failed request within that time. Default: 5. */
#define HOLDALL_OPT_CLOUD_RETRIES 40
/* Object stores: concurrent requests per call, 1 to 256. Default: 16. */
#define HOLDALL_OPT_CLOUD_REQUESTS 41
/* 1: holdall_repair() returns the same status, message and counts but changes nothing: no file of
 * the container is created, written, renamed or removed, no journal rolled back, no lock taken.
 * Default: 0. The output goes to an unnamed file beside the container if possible (Linux), else in
 * /tmp, with the size of a real repair. Write permission and other writers are not checked.
 *
 * holdall_verify() and holdall_schunk_open() with HOLDALL_READ see what the repair would leave,
 * and also take the options of holdall_repair(), which then apply to the repair. */
#define HOLDALL_OPT_DRY_RUN 42
/* Read system calls. A file that is truncated while open is an error. */
#define HOLDALL_IO_READ 0
/* Memory mapping: faster for small records. If a file is truncated while open, also by a commit
 * that shortens a superchunk, the process gets SIGBUS. */
#define HOLDALL_IO_MAP 1
/* Not compressed. */
#define HOLDALL_CODEC_NONE 0
/* BloscLZ. */
#define HOLDALL_CODEC_BLOSCLZ 1
/* LZ4. */
#define HOLDALL_CODEC_LZ4 2
/* LZ4 with the slower, high-compression encoder. */
#define HOLDALL_CODEC_LZ4HC 3
/* Snappy. python-blosc cannot read it. */
#define HOLDALL_CODEC_SNAPPY 4
/* Deflate in the zlib format. */
#define HOLDALL_CODEC_ZLIB 5
/* Zstandard. */
#define HOLDALL_CODEC_ZSTD 6
/* By the file name (option), or several codecs (holdall_bag_codec()). */
#define HOLDALL_CODEC_BY_NAME 255
/* No filter. */
#define HOLDALL_FILTER_NONE 0
/* The first bytes of all items, then the second bytes, and so on. */
#define HOLDALL_FILTER_SHUFFLE 1
/* The same with bits. */
#define HOLDALL_FILTER_BITSHUFFLE 2
/* XOR with the items of the chunk's first block, which every read then needs. Goes before a
 * shuffle. */
#define HOLDALL_FILTER_DELTA 3
/* Difference from the previous byte. Goes after a shuffle. Caterva cannot read it. */
#define HOLDALL_FILTER_BYTEDELTA 35
/* No checksum. */
#define HOLDALL_SUM_NONE 0
/* Adler-32. */
#define HOLDALL_SUM_ADLER32 1
/* CRC-32 as in zlib. */
#define HOLDALL_SUM_CRC32 2
/* MD5. */
#define HOLDALL_SUM_MD5 3
/* SHA-1. */
#define HOLDALL_SUM_SHA1 4
/* SHA-224. */
#define HOLDALL_SUM_SHA224 5
/* SHA-256. */
#define HOLDALL_SUM_SHA256 6
/* SHA-384. */
#define HOLDALL_SUM_SHA384 7
/* SHA-512. */
#define HOLDALL_SUM_SHA512 8
/* The checksum inside a zstd frame; holdall_checksum() does not compute it. */
#define HOLDALL_SUM_ZSTD 9
/* Limits at the end of the file of the records. */
#define HOLDALL_BAG_LIMITS_TAIL 0
/* Limits in a file `limits.NAME` beside it. */
#define HOLDALL_BAG_LIMITS_SEPARATE 1
/* All records of the first shard, then those of the second, and so on. */
#define HOLDALL_BAG_SHARDS_CONCATENATED 0
/* Record i is record i / S of shard i modulo S, of S shards. */
#define HOLDALL_BAG_SHARDS_INTERLEAVED 1
/* A set of options. NULL stands for the defaults. A call returns HOLDALL_E_ARGUMENT, naming the
 * option, for an option that it does not take. One set can serve many calls and be freed right
 * after them. Overview: docs/options.md. */
typedef struct holdall_options holdall_options;

/* One of HOLDALL_OPT_*. */
typedef int32_t holdall_option;

/* Progress callback: done of total, in units of the call. A nonzero result stops the call with
 * HOLDALL_E_CANCELLED. May run on another thread, one call at a time.
 *
 * Called by holdall_verify(), holdall_repair() of a superchunk or folder, opening with
 * HOLDALL_OPT_VERIFY 2, holdall_bag_checksum() and holdall_schunk_checksum() (options of the
 * handle), holdall_schunk_copy() and holdall_array_copy() (options of the call). */
typedef int (*holdall_progress_fn)(void *ctx, uint64_t done, uint64_t total);

/* Creates an empty set; free it with holdall_options_free(). Returns NULL if memory allocation
 * failed. */
HOLDALL_API HOLDALL_USE holdall_options *holdall_options_new(void);

/* Frees options. NULL is allowed. */
HOLDALL_API void holdall_options_free(holdall_options *options);

/* Sets an option to a number.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: no such option, one that takes bytes, or an invalid value. Each call
 *   checks what applies to it. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_options_set(holdall_options *options,
                                   holdall_option option,
                                   int64_t value,
                                   holdall_error *err);

/* Sets an option to n bytes, which are copied; n 0 (value may be NULL) sets it to none. Each call
 * checks the content.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: no such option, or one that takes a number. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_options_set_bytes(holdall_options *options,
                                         holdall_option option,
                                         const void *value,
                                         size_t n,
                                         holdall_error *err);

/* Sets the progress callback; NULL removes it. It must remain valid while handles opened with
 * these options exist. */
HOLDALL_API
void holdall_options_on_progress(holdall_options *options,
                                 holdall_progress_fn progress,
                                 void *ctx);

/* ---- storage: local paths, or functions of the caller --------------------------*/

/* Storage that replaces a path: a folder of named files. A container in one file is the file "";
 * its auxiliary files have names such as "limits.". Many threads may use one storage. There is no
 * lock: the caller must ensure a single writer. Writing to read-only storage returns
 * HOLDALL_E_UNSUPPORTED. */
typedef struct holdall_io holdall_io;

/* Callbacks of a storage. Each returns 0 or more on success, -errno on failure (-ENOENT: no such
 * file). size and read_at are required. The storage is read-only if write_at, truncate, sync,
 * rename or remove is NULL.
 *
 * - The effects of sync, rename and remove must survive a power failure once they return: commits
 *   depend on it (see docs/storage.md).
 * - Several threads may call each function at once if several use the handles; library threads
 *   only if HOLDALL_OPT_THREADS was set.
 * - Files are identified by name alone: do not replace a container that is open for reading. */
typedef struct holdall_io_functions {
    /* Must be sizeof(holdall_io_functions). */
    size_t struct_size;
    /* Passed to each function. */
    void *ctx;
    /* Returns the size of a file in bytes. */
    int64_t (*size)(void *ctx, const char *name);
    /* Reads n bytes at offset at. Returns the number of bytes read: less than n only at the end of
     * the file. */
    int64_t (*read_at)(void *ctx, const char *name, uint64_t at, void *dst, size_t n);
    /* Writes all n bytes at offset at. Extends the file if needed. */
    int64_t (*write_at)(void *ctx, const char *name, uint64_t at, const void *src, size_t n);
    /* Sets the size of a file in bytes. Creates the file if it does not exist. */
    int64_t (*truncate)(void *ctx, const char *name, uint64_t size);
    /* Makes the content, size and name of a file durable. */
    int64_t (*sync)(void *ctx, const char *name);
    /* Renames a file atomically and replaces a file that has the new name. */
    int64_t (*rename)(void *ctx, const char *from, const char *to);
    /* Removes a file. */
    int64_t (*remove)(void *ctx, const char *name);
    /* Calls each with the name of every file in folder ("": the storage itself), relative to it,
     * on the calling thread, until each returns non-zero. Required only for datasets, and for
     * changes to frames with one file per chunk. */
    int64_t (*list)(void *ctx,
                    const char *folder,
                    int (*each)(void *arg, const char *name),
                    void *arg);
    /* Called once, after the last handle that uses the storage is closed. May be NULL. */
    void (*destroy)(void *ctx);
} holdall_io_functions;

/* Creates a storage from callbacks. The table is copied; what the functions use must stay valid
 * until destroy is called.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: struct_size is 0, ends within a field, or exceeds this version's; or size
 *   or read_at is NULL. destroy is not called. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_io_from_functions(const holdall_io_functions *functions,
                                         holdall_io **out,
                                         holdall_error *err);

/* Creates a read-only storage with one file, "": n bytes of memory, which are borrowed until every
 * handle that was opened from it is closed, and must not change. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_io_from_memory(const void *bytes,
                                      size_t n,
                                      holdall_io **out,
                                      holdall_error *err);

/* Closes a storage, also while handles that were opened from it are in use. */
HOLDALL_API void holdall_io_close(holdall_io *io);

/* ---- identify, verify, repair --------------------------------------------------*/

/* A Bloscpack file. */
#define HOLDALL_FORMAT_BLOSCPACK 1
/* A folder in the layout of bcolz. */
#define HOLDALL_FORMAT_BCOLZ 2
/* A folder in the layout of BLZ. */
#define HOLDALL_FORMAT_BLZ 3
/* A folder in the BLZ RFC layout: superchunk files `__1__.bin` of many chunks each. */
#define HOLDALL_FORMAT_BLZ_PAPER 4
/* A Blosc2 frame: a file, or with HOLDALL_OPT_SPARSE a folder with one file per chunk. */
#define HOLDALL_FORMAT_B2FRAME 5
/* A frame with the metalayer `caterva`: an array without a dtype. */
#define HOLDALL_FORMAT_CATERVA 6
/* A frame with the metalayer `b2nd`: an array. */
#define HOLDALL_FORMAT_B2ND 7
/* A Bagz file. */
#define HOLDALL_FORMAT_BAGZ 8
/* A sequence of bytes in compressed chunks. */
#define HOLDALL_KIND_SCHUNK 1
/* Items of one type in a grid. */
#define HOLDALL_KIND_ARRAY 2
/* Named columns of equal length. */
#define HOLDALL_KIND_TABLE 3
/* Records of any length. */
#define HOLDALL_KIND_BAG 4
/* Opens an existing container for reading. */
#define HOLDALL_READ 0
/* Opens an existing container for reading and writing. */
#define HOLDALL_APPEND 1
/* Creates a container. HOLDALL_E_EXISTS: the path exists. */
#define HOLDALL_NEW 2
/* Creates a container. An existing one stays until the first commit replaces it. */
#define HOLDALL_REPLACE 3
/* An incremental checksum. */
typedef struct holdall_digest holdall_digest;

/* One of HOLDALL_FORMAT_*. */
typedef int32_t holdall_format;

/* One of HOLDALL_KIND_*. */
typedef int32_t holdall_kind;

/* Callback for each fault that holdall_verify() finds, on the calling thread. A nonzero result
 * stops the call, which returns the first fault and the counts so far.
 *
 * part: "record N", "chunk N" or the path; in a table "COLUMN/data/__N.blp" or "COLUMN". Both
 * pointers are valid during the call. */
typedef int (*holdall_fault_fn)(void *ctx, const char *part, const holdall_error *fault);

/* One of HOLDALL_READ, _APPEND, _NEW, _REPLACE. */
typedef int32_t holdall_mode;

/* Returns the version of the running library: major*1000000 + minor*1000 + patch. The header's is
 * HOLDALL_VERSION_NUMBER. */
HOLDALL_API uint32_t holdall_version_number(void);

/* Returns the versions of the library and its codecs, such as "0.1.0 zstd/1.5.7". Static. */
HOLDALL_API const char *holdall_version_text(void);

/* Returns the name of a status, such as "HOLDALL_E_IO". Static, never NULL. */
HOLDALL_API const char *holdall_status_name(holdall_status status);

/* Identifies the format and kind of a path or spec (see holdall_bag_open()) by content, as a
 * reader sees it. Outputs may be NULL.
 *
 * A Bloscpack file is HOLDALL_KIND_SCHUNK, even if holdall_array_open() opens it. A frame with
 * both metalayers is HOLDALL_FORMAT_B2ND, one with neither HOLDALL_KIND_SCHUNK. A folder in the
 * BLZ RFC layout with separate fields is HOLDALL_KIND_TABLE and also opens as an array. A file is
 * a bag if it opens as one. Corrupt files are identified by their first bytes.
 *
 * Returns:
 * - HOLDALL_E_FORMAT: no known format.
 * - HOLDALL_E_MISSING: nothing exists there.
 * - other errors: a corrupt or never committed folder or frame whose format is undeterminable;
 *   *kind is set. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_identify(const char *path,
                                holdall_format *format,
                                holdall_kind *kind,
                                holdall_error *err);

/* Lists the files of a spec (see holdall_bag_open()), in order, to dst: NUL-terminated paths, *n
 * bytes in total; dst NULL requests *n. Only `@*` and plain names search the disk; files of `@N`
 * need not exist. A spec without files gives 0 bytes.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: `@*` matches shards of different counts.
 * - HOLDALL_E_MISSING: `@*` matches none. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_files(const char *spec,
                                 char *dst,
                                 size_t dst_size,
                                 size_t *n,
                                 holdall_error *err);

/* Reads everything at a path or spec, verifies all lengths and checksums, and calls `fault` (may
 * be NULL) for each fault. See docs/damage.md.
 *
 * Bloscpack files are verified as superchunks; folders as arrays, tables or frames; frames also by
 * most of a header, their end, or the names `.b2nd`, `.b2frame`, `.caterva`, `.cat`; other files
 * as bags.
 *
 * *sound, *bad, *unchecked (may be NULL): records or chunks intact; corrupt or missing; without a
 * checksum that applies, or of an unknown codec, filter or version (reported). *bad may be 0 with
 * corrupt headers or metadata: check the status.
 *
 * Returns:
 * - HOLDALL_OK: intact.
 * - HOLDALL_E_CANCELLED, HOLDALL_E_ARGUMENT (of an option): no verdict, no counts.
 * - HOLDALL_E_BUSY: no verdict, no counts: writers committed during several attempts for 5
 *   seconds. After a commit the call starts again and repeats no fault.
 * - the status of the first fault; failing to open is one.
 *
 * Options: bags: as holdall_bag_open() without HOLDALL_OPT_VERIFY, _SKIP_DAMAGED. Others:
 * HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _IO; frames also _AT. All: _DRY_RUN. In storage of the
 * caller, open with HOLDALL_OPT_VERIFY 2 instead. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_verify(const char *path,
                              const holdall_options *options,
                              holdall_fault_fn fault,
                              void *ctx,
                              uint64_t *sound,
                              uint64_t *bad,
                              uint64_t *unchecked,
                              holdall_error *err);

/* Repairs a container: completes or rolls back an interrupted change and restores the last
 * consistent state. Intact records and chunks keep their positions. See docs/damage.md.
 *
 * - Bag (each file of a spec): restores limits that frames or checksums prove.
 *   HOLDALL_OPT_SKIP_DAMAGED: if nothing proves the limits of a compressed bag, its first intact
 *   frames become the records.
 * - Superchunk, frame: corrupt chunks become zeros; missing ones at the end are removed, or zeros
 *   in an array. Corrupt metadata is removed; header, offsets, index and trailer are regenerated;
 *   frames lose unused space.
 * - Folder: regenerates `meta/sizes` from consecutive complete chunks. HOLDALL_OPT_SKIP_DAMAGED:
 *   corrupt chunks become the fill value, columns beyond repair are removed.
 *
 * Bags and folders save removed bytes in `*.holdall-damaged`.
 *
 * *kept, *dropped (may be NULL): records or chunks retained and lost. *dropped includes metadata,
 * trailers, commits, names and columns; 1 may mean an unknown number of records.
 *
 * Returns:
 * - HOLDALL_E_FORMAT: not repairable, or only with HOLDALL_OPT_SKIP_DAMAGED (see the message);
 *   unchanged.
 * - HOLDALL_E_CHECKSUM: corrupt `meta/storage`; HOLDALL_OPT_VERIFY 0 accepts it.
 *   HOLDALL_E_MISSING: lost.
 * - HOLDALL_E_CODEC, _VERSION, _UNSUPPORTED: chunks of unknown kind; Python objects; bcolz columns
 *   that are superchunks.
 * - HOLDALL_E_BUSY: another writer has it open.
 *
 * Options: HOLDALL_OPT_MEMORY_LIMIT, _DURABILITY, _LOCK, _DRY_RUN. Bags: _BAG_LIMITS, _CODEC,
 * _DICTIONARY. Others: _THREADS. Folders: _VERIFY. Bags, folders: _SKIP_DAMAGED. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_repair(const char *path,
                              const holdall_options *options,
                              uint64_t *kept,
                              uint64_t *dropped,
                              holdall_error *err);

/* Computes a checksum (HOLDALL_SUM_*, 0 to 8) of n bytes to dst; 32-bit values are little-endian.
 * dst NULL requests the size in *digest_size.
 *
 * Returns:
 * - HOLDALL_E_BUFFER: dst_size is too small. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_checksum(int32_t sum,
                                const void *bytes,
                                size_t n,
                                void *dst,
                                size_t dst_size,
                                size_t *digest_size,
                                holdall_error *err);

/* Starts an incremental checksum (HOLDALL_SUM_*, 0 to 8). Free it with holdall_digest_free(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_digest_new(int32_t sum,
                                  holdall_digest **out,
                                  holdall_error *err);

/* Adds n bytes.
 *
 * Returns:
 * - HOLDALL_E_STATE: holdall_digest_finish() already returned the digest. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_digest_update(holdall_digest *digest,
                                     const void *bytes,
                                     size_t n,
                                     holdall_error *err);

/* Returns the digest of all bytes as holdall_checksum() does. dst NULL requests the size, at any
 * time.
 *
 * Returns:
 * - HOLDALL_E_STATE: it was already returned.
 * - HOLDALL_E_BUFFER: dst_size is too small; call again. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_digest_finish(holdall_digest *digest,
                                     void *dst,
                                     size_t dst_size,
                                     size_t *digest_size,
                                     holdall_error *err);

/* Frees a digest. NULL is allowed. */
HOLDALL_API void holdall_digest_free(holdall_digest *digest);

/* ---- superchunks: a byte sequence in compressed chunks (Bloscpack, Blosc2) -----*/

/* An open superchunk: a sequence of bytes, the content, in compressed chunks numbered from 0. Many
 * threads may read one handle at once. A handle sees its own changes at once; other handles see
 * them if opened after the commit. Changes through a handle opened with HOLDALL_READ return
 * HOLDALL_E_STATE. */
typedef struct holdall_schunk holdall_schunk;

/* Opens a superchunk at its last commit: HOLDALL_READ to read, HOLDALL_APPEND to read and change.
 * Reads Blosc2 frames (files and folders) and all versions of Bloscpack: unversioned (cannot be
 * changed: HOLDALL_E_UNSUPPORTED), 1 to 3, and the BLZ RFC layout. A frame that is an array no
 * longer opens as one after a change to its content here.
 *
 * Returns:
 * - HOLDALL_E_MISSING: nothing is at path, or only an uncommitted frame in a folder.
 * - HOLDALL_E_FORMAT: not a superchunk, or chunks (err->position: the first) are missing or
 *   misplaced; see HOLDALL_OPT_SKIP_DAMAGED and holdall_repair().
 * - HOLDALL_E_CHECKSUM: header, index or trailer of a frame is corrupt.
 *
 * Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _IO, _VERIFY (2 reports progress), _SKIP_DAMAGED;
 * frames: _AT. With HOLDALL_APPEND also _DURABILITY, _LOCK, _CODEC, _LEVEL, _FILTERS; frames:
 * _CHECKSUM; Bloscpack: _BLOCK_BYTES, _SPARE_CHUNKS, _SPARE_BYTES, _CHUNK_BYTES (effective with no
 * content, or one chunk below 16 KiB). Bloscpack defaults: _CODEC and _FILTERS of the last chunk;
 * files do not store _LEVEL. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_open(const char *path,
                                   holdall_mode mode,
                                   const holdall_options *options,
                                   holdall_schunk **out,
                                   holdall_error *err);

/* Like holdall_schunk_open(), from a storage: the file "", or "chunks.b2frame" and its chunks for
 * a frame in a folder. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_open_io(holdall_io *io,
                                      holdall_mode mode,
                                      const holdall_options *options,
                                      holdall_schunk **out,
                                      holdall_error *err);

/* Creates a superchunk and opens it for changes.
 * - mode: HOLDALL_NEW, or HOLDALL_REPLACE (the first commit replaces what exists, but no file by a
 *   folder, nor the reverse).
 * - format: HOLDALL_FORMAT_BLOSCPACK (chunks readable by c-blosc 1.x, files by Bloscpack 0.16) or
 *   HOLDALL_FORMAT_B2FRAME (c-blosc2, python-blosc2). Frames append changed chunks; a copy or
 *   holdall_repair() reclaims the old space.
 * - typesize: bytes per item, at least 1, for filters. Content need not be whole items.
 *
 * Returns:
 * - HOLDALL_E_EXISTS: see mode.
 * - HOLDALL_E_BUSY: another writer has it open.
 * - HOLDALL_E_UNSUPPORTED: the options cannot be combined.
 *
 * Options: those of holdall_schunk_open() with HOLDALL_APPEND; Bloscpack: also
 * HOLDALL_OPT_CHECKSUM, _OFFSETS, _FORMAT_VERSION; frames: also _CHUNK_BYTES, _BLOCK_BYTES,
 * _SPARSE.
 *
 * Metadata set before content, and HOLDALL_OPT_SPARE_CHUNKS for more than 1,022 chunks, save the
 * first commit a copy. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_create(const char *path,
                                     holdall_mode mode,
                                     holdall_format format,
                                     size_t typesize,
                                     const holdall_options *options,
                                     holdall_schunk **out,
                                     holdall_error *err);

/* Like holdall_schunk_create(), in a storage: see holdall_schunk_open_io(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_create_io(holdall_io *io,
                                        holdall_mode mode,
                                        holdall_format format,
                                        size_t typesize,
                                        const holdall_options *options,
                                        holdall_schunk **out,
                                        holdall_error *err);

/* Closes a superchunk. Uncommitted changes are discarded. */
HOLDALL_API void holdall_schunk_close(holdall_schunk *schunk);

/* Returns the number of chunks. Committed Bloscpack files without content have one, which is
 * empty. */
HOLDALL_API uint64_t holdall_schunk_chunks(const holdall_schunk *schunk);

/* Returns the size of the content in bytes. */
HOLDALL_API uint64_t holdall_schunk_nbytes(const holdall_schunk *schunk);

/* Returns the size on disk in bytes at the last commit; before the first commit, the size of the
 * chunks. */
HOLDALL_API uint64_t holdall_schunk_cbytes(const holdall_schunk *schunk);

/* Returns the bytes per item in the header (version 1: in the first chunk); 1 for more than 255
 * bytes. */
HOLDALL_API size_t holdall_schunk_typesize(const holdall_schunk *schunk);

/* Returns the bytes of content per chunk; the last chunk and inserted ones may differ. 0: a frame
 * with chunks of any length. */
HOLDALL_API size_t holdall_schunk_chunk_size(const holdall_schunk *schunk);

/* Returns the checksum of the chunks, one of HOLDALL_SUM_*. */
HOLDALL_API int32_t holdall_schunk_sum(const holdall_schunk *schunk);

/* Returns the version of the header, or -1 for NULL. Frames: 1 to 3, as in c-blosc2. Bloscpack: 0
 * (unversioned), 1, 2, 3, or 103 (BLZ RFC layout, which only metadata distinguish from 3). */
HOLDALL_API int32_t holdall_schunk_version(const holdall_schunk *schunk);

/* Describes a chunk without decoding it. Outputs may be NULL.
 * - nbytes: bytes of content.
 * - cbytes: bytes as stored; 0 until the chunk is encoded (at the latest by the commit), and for
 *   frame chunks of one value.
 * - codec: one of HOLDALL_CODEC_*; for a Bloscpack chunk not yet encoded, the codec to be used.
 *   HOLDALL_CODEC_LZ4 includes LZ4HC, _NONE is uncompressed or one value, _BY_NAME is unknown.
 *
 * Returns:
 * - HOLDALL_E_RANGE: no such chunk. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_chunk_info(const holdall_schunk *schunk,
                                         uint64_t chunk,
                                         size_t *nbytes,
                                         size_t *cbytes,
                                         int32_t *codec,
                                         holdall_error *err);

/* Reads n bytes of content at offset at into dst. Decodes only the blocks needed, in parallel if
 * faster.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: corrupt content was read as zeros (HOLDALL_OPT_SKIP_DAMAGED).
 * - HOLDALL_E_CHECKSUM, _FORMAT, _CODEC, _VERSION, _UNSUPPORTED: a chunk (err->position: the
 *   first) is corrupt or of an unknown kind; dst is unspecified.
 * - HOLDALL_E_RANGE: past the end.
 * - HOLDALL_E_STATE: the file was changed after it was opened for reading; open it again. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_read(const holdall_schunk *schunk,
                                   uint64_t at,
                                   void *dst,
                                   size_t n,
                                   holdall_error *err);

/* Reads the content of a chunk into dst; *n is its size in bytes. Returns as
 * holdall_schunk_read(). HOLDALL_E_RANGE: no such chunk. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_read_chunk(const holdall_schunk *schunk,
                                         uint64_t chunk,
                                         void *dst,
                                         size_t dst_size,
                                         size_t *n,
                                         holdall_error *err);

/* Reads a chunk as stored, *n bytes; verifies and omits its checksum. A corrupt chunk is an error,
 * also with HOLDALL_OPT_SKIP_DAMAGED. HOLDALL_E_RANGE: no such chunk. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_read_raw(const holdall_schunk *schunk,
                                       uint64_t chunk,
                                       void *dst,
                                       size_t dst_size,
                                       size_t *n,
                                       holdall_error *err);

/* Computes a checksum (HOLDALL_SUM_*, 0 to 8) of all content, equal to holdall_checksum() of one
 * buffer. Array items are in stored order: Fortran order if holdall_array_order() reports it.
 * Reports progress in bytes. dst NULL reads nothing. Returns as holdall_schunk_read(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_checksum(const holdall_schunk *schunk,
                                       int32_t sum,
                                       void *dst,
                                       size_t dst_size,
                                       size_t *digest_size,
                                       holdall_error *err);

/* Appends n bytes of content; fills up the last chunk first. Bytes wait in memory until a chunk is
 * full (several, if encoded in parallel), then in a temporary file until the commit. After a
 * failure holdall_schunk_nbytes() includes what was appended. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_append(holdall_schunk *schunk,
                                     const void *src,
                                     size_t n,
                                     holdall_error *err);

/* Appends one encoded chunk of n bytes without checksum, unchanged. Decodes it once to verify it.
 *
 * Returns:
 * - HOLDALL_E_FORMAT: not one complete chunk.
 * - HOLDALL_E_UNSUPPORTED: a Blosc2 chunk for Bloscpack, or a Blosc1 chunk for a frame. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_append_raw(holdall_schunk *schunk,
                                         const void *chunk,
                                         size_t n,
                                         holdall_error *err);

/* Overwrites n bytes of content at offset at. After a failure some may be written; none is visible
 * before a commit. A Bloscpack chunk that grows makes the commit rewrite the file (see
 * HOLDALL_OPT_SPARE_BYTES); others change in place. Frames store changed chunks after the others.
 *
 * Returns:
 * - HOLDALL_E_RANGE: past the end. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_write(holdall_schunk *schunk,
                                    uint64_t at,
                                    const void *src,
                                    size_t n,
                                    holdall_error *err);

/* Inserts n bytes of content as one chunk before chunk, or at the end if chunk is the number of
 * chunks. Encodes pending content first. The commit rewrites a Bloscpack file. Another length
 * gives a frame variable chunk lengths (readable from c-blosc2 3 on).
 *
 * Returns:
 * - HOLDALL_E_RANGE: chunk exceeds the number of chunks.
 * - HOLDALL_E_ARGUMENT: n is 0 (frames), or 2 GiB or more. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_insert(holdall_schunk *schunk,
                                     uint64_t chunk,
                                     const void *src,
                                     size_t n,
                                     holdall_error *err);

/* Removes a chunk with its content and shifts the following chunks down by one. The commit
 * rewrites a Bloscpack file unless it was the last chunk. HOLDALL_E_RANGE: no such chunk. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_remove(holdall_schunk *schunk,
                                     uint64_t chunk,
                                     holdall_error *err);

/* Truncates the content to nbytes bytes. HOLDALL_E_RANGE: it is shorter. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_truncate(holdall_schunk *schunk,
                                       uint64_t nbytes,
                                       holdall_error *err);

/* Returns the number of named values, including corrupt ones. Bloscpack: the JSON metadata, named
 * "", if any. Frames: the metalayers of the header, then those of variable length. */
HOLDALL_API uint32_t holdall_schunk_metas(const holdall_schunk *schunk);

/* Returns the name of value i, or NULL if i is out of range. */
HOLDALL_API
const char *holdall_schunk_meta_name(const holdall_schunk *schunk,
                                     uint32_t i);

/* Gets a named value: *n bytes, not NUL-terminated, borrowed until the handle is closed or
 * changed.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: no such value, or corrupt with HOLDALL_OPT_SKIP_DAMAGED; *value is NULL, *n
 *   is 0.
 * - HOLDALL_E_CHECKSUM, _FORMAT: it is corrupt. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_meta_get(const holdall_schunk *schunk,
                                       const char *name,
                                       const void **value,
                                       size_t *n,
                                       holdall_error *err);

/* Sets a named value to n bytes, which are copied, from the next commit on. value NULL removes it.
 * - Bloscpack: name "" and JSON only; none in versions 1 and 2. The commit rewrites the file if
 *   the old space is too small.
 * - Frames: names of 1 to 31 bytes, any bytes, by convention MessagePack. New values have variable
 *   length. Those of the header cannot be removed, and a new length makes the commit rewrite the
 *   file.
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: the format does not allow it, as above.
 * - HOLDALL_E_ARGUMENT: not JSON (Bloscpack); or holdall.crc32, which the library maintains. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_meta_set(holdall_schunk *schunk,
                                       const char *name,
                                       const void *value,
                                       size_t n,
                                       holdall_error *err);

/* Makes all changes durable and visible, atomically. After a failure the file is as at its last
 * commit, and the call may be repeated: see docs/commits.md.
 *
 * Returns:
 * - HOLDALL_E_STATE: a sync failed. Close the handle; the file is consistent when opened again,
 *   with or without the commit.
 * - HOLDALL_E_EXISTS: HOLDALL_NEW, and another program has created the file. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_commit(holdall_schunk *schunk,
                                     holdall_error *err);

/* Copies content and named values, as this handle sees them, to a new superchunk of another codec,
 * chunk size, version or format (content only). The copy is complete or absent. Reports progress
 * in bytes. mode, format and options are those of holdall_schunk_create().
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: corrupt data is zeros, or missing at the end or as metadata
 *   (HOLDALL_OPT_SKIP_DAMAGED of this handle).
 * - HOLDALL_E_ARGUMENT: path is the file of this superchunk.
 * - HOLDALL_E_UNSUPPORTED: the requested version has no metadata, and there are some.
 * - Else as holdall_schunk_create(), _read() and _commit().
 *
 * Bloscpack defaults: HOLDALL_OPT_CHUNK_BYTES, and _CODEC and _FILTERS of the last chunk, as here;
 * _CHECKSUM as here (CRC-32 if none; none in version 1); _LEVEL 5; version 3. Frame to frame:
 * codec, level and filters as here. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_copy(const holdall_schunk *schunk,
                                   const char *path,
                                   holdall_mode mode,
                                   holdall_format format,
                                   const holdall_options *options,
                                   holdall_error *err);

/* ---- arrays: items of one type in N dimensions (Bloscpack, bcolz, BLZ, b2nd, Caterva) */

/* Maximum number of dimensions of an array. */
#define HOLDALL_MAX_NDIM 16
/* Items are stored with the last index varying fastest (row-major). */
#define HOLDALL_ORDER_C 0
/* Items are stored with the first index varying fastest (column-major). */
#define HOLDALL_ORDER_F 1
/* An open array: items of one dtype in 0 to HOLDALL_MAX_NDIM dimensions. Many threads may read one
 * const handle at once. A handle sees its own changes at once; other handles see them if opened
 * after the commit. Indices are those of the array and buffers are in C order, whatever the
 * storage order. Values keep the byte order of the dtype. */
typedef struct holdall_array holdall_array;

/* Opens an array at its last commit: HOLDALL_READ to read, HOLDALL_APPEND to read and change.
 *
 * - Bloscpack files with array metadata.
 * - Frames (files, folders): with both metalayers, by the one that fits the chunks, `b2nd` first;
 *   a commit of a new shape updates both. Caterva has no dtype: items are "|V8" and the like. With
 *   neither metalayer: one dimension of bytes or such items, changed only at its end.
 * - Folders of bcolz, BLZ or the BLZ RFC layout, columns of tables included. Python objects are
 *   read-only. Chunk files open on use: a missing one is HOLDALL_E_MISSING then, named in the
 *   message.
 *
 * Returns:
 * - HOLDALL_E_BUSY: HOLDALL_APPEND, and another writer has it open.
 * - HOLDALL_E_TYPE: not an array, or an unknown dtype; with HOLDALL_OPT_SKIP_DAMAGED also corrupt
 *   metadata.
 * - HOLDALL_E_FORMAT, _CHECKSUM: as holdall_schunk_open(); corrupt metadata; content or chunks
 *   that do not match the shape (HOLDALL_OPT_SKIP_DAMAGED: a missing end reads as zeros, unless
 *   implausibly long); names and links that lead out of a folder.
 * - HOLDALL_E_UNSUPPORTED: more than HOLDALL_MAX_NDIM dimensions; HOLDALL_APPEND on a read-only
 *   folder.
 *
 * Options: those of holdall_schunk_open(). HOLDALL_APPEND: those of holdall_array_create() for
 * writing; by default codec, level, filter, checksum and layout stay. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_open(const char *path,
                                  holdall_mode mode,
                                  const holdall_options *options,
                                  holdall_array **out,
                                  holdall_error *err);

/* Like holdall_array_open(), in storage of the caller: the file "", or the files of a folder
 * ("meta/sizes", "data/__0.blp"; "chunks.b2frame", "00000000.chunk"). io may be closed right
 * after. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_open_io(holdall_io *io,
                                     holdall_mode mode,
                                     const holdall_options *options,
                                     holdall_array **out,
                                     holdall_error *err);

/* Creates an array of zeros (HOLDALL_OPT_FILL), in C order, and opens it for changes.
 *
 * - mode: HOLDALL_NEW, HOLDALL_REPLACE.
 * - dtype: as in NumPy: "<f8", "|S16", "<M8[ns]", "[('a','<i4'),('b','<f8')]".
 * - shape: ndim lengths, 0 or more. Folders grow along the first dimension, others along any.
 * - chunks, blocks: ndim lengths, or NULL for about HOLDALL_OPT_CHUNK_BYTES and _BLOCK_BYTES (see
 *   docs/choosing.md; folders: as bcolz for HOLDALL_OPT_EXPECTED_ROWS). Frames: any; longer blocks
 *   are padded. Others: chunks span all dimensions but the first; blocks NULL.
 *
 * format:
 * - HOLDALL_FORMAT_BLOSCPACK: a file for Bloscpack 0.16.
 * - HOLDALL_FORMAT_BCOLZ: a folder for bcolz and BLZ; zstd and bitshuffle only bcolz, complex and
 *   structured dtypes neither.
 * - HOLDALL_FORMAT_BLZ: a folder for BLZ 0.6, without zstd and bitshuffle.
 * - HOLDALL_FORMAT_BLZ_PAPER: the BLZ RFC layout: superchunk files for Bloscpack
 *   (HOLDALL_OPT_SUPERCHUNK_CHUNKS, _SPARE_CHUNKS, _SPARE_BYTES). Structures are stored whole.
 * - HOLDALL_FORMAT_B2ND: a frame for python-blosc2; HOLDALL_OPT_SPARSE: a folder.
 * - HOLDALL_FORMAT_CATERVA: the same for Caterva, without dtype. HOLDALL_OPT_BOTH_METALAYERS: for
 *   both.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: too many dimensions (folders: none); chunk length 0; more than 2^64 bytes;
 *   chunks of 2 GiB, blocks of 512 MiB or more; chunks or blocks given twice, also as an option.
 * - HOLDALL_E_TYPE: unknown dtype.
 * - HOLDALL_E_UNSUPPORTED: Python objects; other formats or chunks; items of 0 bytes in a frame.
 * - HOLDALL_E_LIMIT: too many chunks for a frame.
 * - HOLDALL_E_EXISTS, _BUSY: as holdall_schunk_create().
 *
 * Options: those of holdall_schunk_create(). Frames: _FILL, _BOTH_METALAYERS. Folders, instead:
 * those of opening, HOLDALL_OPT_DURABILITY, _LOCK, _CODEC, _LEVEL, _FILTERS, _CHUNK_BYTES,
 * _BLOCK_BYTES, _CHECKSUM, _EXPECTED_ROWS, _FILL. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_create(const char *path,
                                    holdall_mode mode,
                                    holdall_format format,
                                    const char *dtype,
                                    uint32_t ndim,
                                    const uint64_t *shape,
                                    const uint64_t *chunks,
                                    const uint64_t *blocks,
                                    const holdall_options *options,
                                    holdall_array **out,
                                    holdall_error *err);

/* Like holdall_array_create(), in storage of the caller: see holdall_array_open_io(). There is no
 * lock: the caller must ensure a single writer.
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: read-only storage. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_create_io(holdall_io *io,
                                       holdall_mode mode,
                                       holdall_format format,
                                       const char *dtype,
                                       uint32_t ndim,
                                       const uint64_t *shape,
                                       const uint64_t *chunks,
                                       const uint64_t *blocks,
                                       const holdall_options *options,
                                       holdall_array **out,
                                       holdall_error *err);

/* Closes an array. NULL is allowed. Uncommitted changes are discarded. No effect on a column of a
 * table. */
HOLDALL_API void holdall_array_close(holdall_array *array);

/* Returns the number of dimensions. */
HOLDALL_API uint32_t holdall_array_ndim(const holdall_array *array);

/* Returns the length of each dimension: ndim values, borrowed until the array is closed or
 * changed. */
HOLDALL_API const uint64_t *holdall_array_shape(const holdall_array *array);

/* Returns the shape of a chunk, which reads best as a whole: ndim values, borrowed until the array
 * is closed. Bloscpack chunks end at any item: here, the whole rows (of the slowest dimension) in
 * a chunk, at least 1. */
HOLDALL_API
const uint64_t *holdall_array_chunkshape(const holdall_array *array);

/* Returns the shape of a block of the first chunk, the smallest unit that is decoded: ndim values,
 * borrowed until the array is closed. Without chunks: that of a chunk. */
HOLDALL_API
const uint64_t *holdall_array_blockshape(const holdall_array *array);

/* Returns the dtype as in NumPy, spelled as at creation. Borrowed until the array is closed. */
HOLDALL_API const char *holdall_array_dtype(const holdall_array *array);

/* Returns the bytes per item, which may be 0. */
HOLDALL_API size_t holdall_array_itemsize(const holdall_array *array);

/* Returns the storage order, HOLDALL_ORDER_C or _F. The slowest dimension is the first in C order,
 * the last in Fortran order; at its end an array grows and shrinks without moving items. */
HOLDALL_API
int32_t holdall_array_order(const holdall_array *array);

/* Returns the bytes of all items. */
HOLDALL_API uint64_t holdall_array_nbytes(const holdall_array *array);

/* Returns the size on disk in bytes at the last commit; before the first commit, the size of the
 * chunks. Folders: as recorded by the writer (bcolz and BLZ: estimated). */
HOLDALL_API uint64_t holdall_array_cbytes(const holdall_array *array);

/* Reads a box.
 *
 * - start, count, step: ndim values; along dimension d, count[d] items from start[d], step[d]
 *   apart. step NULL: 1.
 * - strides: bytes between neighbors in dst along each dimension; NULL: packed, in C order. The
 *   box starts at dst; along a negative stride the first item is at the far end. Bytes between
 *   items are not written.
 *
 * Each touched chunk is decoded once, only as far as needed, in parallel if faster.
 *
 * Returns:
 * - HOLDALL_E_BUFFER: dst_size is too small.
 * - HOLDALL_E_RANGE: outside the array.
 * - HOLDALL_E_ARGUMENT: a step is 0.
 * - HOLDALL_E_TYPE: Python objects.
 * - HOLDALL_NOT_FOUND (> 0), others: as holdall_schunk_read(); after errors dst is unspecified.
 *
 * A frame is read with at most one read call per touched block, and one for adjacent blocks. The
 * first read of a chunk adds one if the chunk exceeds 64 KiB and its first requested block seems
 * to end more than 128 KiB after its start. If a checksum is verified, that read is one call for
 * the whole chunk. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_read(const holdall_array *array,
                                  const uint64_t *start,
                                  const uint64_t *count,
                                  const uint64_t *step,
                                  void *dst,
                                  const int64_t *strides,
                                  size_t dst_size,
                                  holdall_error *err);

/* Writes a box, with the parameters of holdall_array_read(); a stride of 0 repeats an item. Chunks
 * are encoded in parallel; one changed in part is decoded first.
 *
 * Returns:
 * - HOLDALL_E_BUFFER, _RANGE, _ARGUMENT: as for reading; nothing was written.
 * - others: as holdall_schunk_read() for a corrupt chunk changed in part, also with
 *   HOLDALL_OPT_SKIP_DAMAGED. Part may be written: write again, or continue from the last commit. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_write(holdall_array *array,
                                   const uint64_t *start,
                                   const uint64_t *count,
                                   const uint64_t *step,
                                   const void *src,
                                   const int64_t *strides,
                                   size_t src_size,
                                   holdall_error *err);

/* Reads all combinations of counts[d] positions of each dimension d, as numpy.ix_ does, packed, in
 * C order. positions[d]: any order, repeats allowed; NULL: the whole dimension, whatever
 * counts[d].
 *
 * Returns as holdall_array_read(). HOLDALL_E_RANGE: a position is past the end. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_read_orthogonal(const holdall_array *array,
                                             const uint64_t *const *positions,
                                             const uint64_t *counts,
                                             void *dst,
                                             size_t dst_size,
                                             holdall_error *err);

/* Writes all combinations of positions: see holdall_array_read_orthogonal(). Of a repeated
 * position the last value is stored. After an error part of it may be written. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_write_orthogonal(holdall_array *array,
                                              const uint64_t *const *positions,
                                              const uint64_t *counts,
                                              const void *src,
                                              size_t src_size,
                                              holdall_error *err);

/* Reads n items, packed. coordinates: n * ndim values. Each chunk is decoded once, whatever the
 * order.
 *
 * Returns as holdall_array_read(). HOLDALL_E_RANGE: an item (err->position: which) is outside. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_read_points(const holdall_array *array,
                                         const uint64_t *coordinates,
                                         size_t n,
                                         void *dst,
                                         size_t dst_size,
                                         holdall_error *err);

/* Appends `count` positions to dimension axis: holdall_array_insert() at its end. src: the new
 * items, packed, in C order, src_size bytes. Along the slowest dimension (holdall_array_order())
 * no items move. After an error nothing is appended.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: no such axis, or a wrong src_size. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_append(holdall_array *array,
                                    uint32_t axis,
                                    uint64_t count,
                                    const void *src,
                                    size_t src_size,
                                    holdall_error *err);

/* Inserts `count` positions into dimension axis before position `at`. src: as for
 * holdall_array_append(). After an error nothing is inserted.
 *
 * Later items move, so insert many at once. Chunks are rewritten: along the slowest dimension
 * (holdall_array_order()) from `at` on until boundaries coincide again (count a multiple of a
 * chunk's rows), along others all. Frames: only chunk numbers change if `at` and `count` are
 * multiples of the chunk length; an append rewrites the edge.
 *
 * Returns:
 * - HOLDALL_E_RANGE: `at` is past the end.
 * - HOLDALL_E_ARGUMENT: no such axis, or a wrong src_size.
 * - as holdall_schunk_read() for a corrupt chunk to rewrite, also with HOLDALL_OPT_SKIP_DAMAGED. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_insert(holdall_array *array,
                                    uint32_t axis,
                                    uint64_t at,
                                    uint64_t count,
                                    const void *src,
                                    size_t src_size,
                                    holdall_error *err);

/* Removes `count` positions of dimension axis from `at` on. Costs as holdall_array_insert();
 * nothing moves at the end of the slowest dimension. After an error nothing is removed.
 *
 * Returns:
 * - HOLDALL_E_RANGE: there are fewer.
 * - HOLDALL_E_ARGUMENT: no such axis. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_remove(holdall_array *array,
                                    uint32_t axis,
                                    uint64_t at,
                                    uint64_t count,
                                    holdall_error *err);

/* Copies the array, as this handle sees it, to a new container, with other chunks, codec, checksum
 * or format. The copy appears complete or not at all. Progress is in bytes.
 *
 * - mode, format, blocks: as for holdall_array_create().
 * - chunks: the same, but any length along the slowest dimension; NULL: HOLDALL_OPT_CHUNK_BYTES,
 *   or as here.
 *
 * Dtype, shape, order (frames: C) and named values are copied. In a Bloscpack file, attributes of
 * a folder are the member "attrs" of the metadata; it and other members become attributes again.
 * Between MessagePack (frames) and JSON, bytes become {"hex": "00ff"}; invalid MessagePack counts
 * as bytes, invalid JSON as text. Between frames with equal chunks, empty ones stay empty; with
 * equal blocks, and no codec, level or filter given, chunks are verified and copied as stored.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND (> 0): with HOLDALL_OPT_SKIP_DAMAGED on this handle, corrupt content became
 *   zeros, or attributes are missing.
 * - HOLDALL_E_ARGUMENT: path is the array's own file (an own folder can be replaced); a name
 *   exceeds a frame's 31 bytes.
 * - HOLDALL_E_UNSUPPORTED: HOLDALL_OPT_FORMAT_VERSION 1 or 2; Fortran order in a folder.
 * - others: as holdall_array_read(), holdall_array_commit().
 *
 * Options: as holdall_array_create(). Defaults from this array: Bloscpack: codec, filter (of the
 * last chunk), checksum (or CRC-32); frame to frame: chunks, blocks, codec, level, filters;
 * folders: the fill value. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_copy(const holdall_array *array,
                                  const char *path,
                                  holdall_mode mode,
                                  holdall_format format,
                                  const uint64_t *chunks,
                                  const uint64_t *blocks,
                                  const holdall_options *options,
                                  holdall_error *err);

/* Changes the shape to ndim lengths: removes what is outside, adds holdall_array_fill() (default
 * zeros). Costs per dimension as holdall_array_insert(); growth along any but the slowest is held
 * in memory. Frames change at the end of dimensions and rewrite only chunks at the edges.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: more than 2^64 bytes.
 * - An impossible shape, or one over the memory limit, changes nothing. An I/O error may leave an
 *   uncommitted shape in between. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_resize(holdall_array *array,
                                    const uint64_t *shape,
                                    holdall_error *err);

/* Makes all changes durable and visible, content and shape together. Fails as
 * holdall_schunk_commit(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_commit(holdall_array *array,
                                    holdall_error *err);

/* Returns the fill value: what never written or skipped items read as (bcolz, BLZ: `dflt`). *n:
 * one item, or one row if its items differ. *value is borrowed until the array is closed.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: zeros; *value is NULL, *n 0.
 * - HOLDALL_E_FORMAT: the stored value does not match the dtype. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_fill(const holdall_array *array,
                                  const void **value,
                                  size_t *n,
                                  holdall_error *err);

/* Sets the fill value for later growth; stored items stay. src: size bytes, one item or row; size
 * 0: zeros. Padding of structures and NaN payloads are lost.
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: Bloscpack files and frames have none; long doubles, and imaginary parts
 *   that the files cannot express.
 * - HOLDALL_E_ARGUMENT: another size, or invalid characters. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_fill_set(holdall_array *array,
                                      const void *src,
                                      size_t size,
                                      holdall_error *err);

/* Reads item i of an array of Python objects (dtype "object" or "O", one dimension, itemsize 0):
 * its pickle, not interpreted. Unpickling runs code that the writer of the file chose. dst NULL
 * requests the size in *n.
 *
 * Returns:
 * - HOLDALL_E_TYPE: other arrays; for this one, the other read functions return it.
 * - HOLDALL_E_RANGE: no item i.
 * - HOLDALL_E_BUFFER: dst_size is too small. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_read_object(const holdall_array *array,
                                         uint64_t i,
                                         void *dst,
                                         size_t dst_size,
                                         size_t *n,
                                         holdall_error *err);

/* Returns the number of named values. Bloscpack: one, "", the JSON metadata. Folders: attributes,
 * JSON as Python writes it (NaN and Infinity are numbers). Frames: metalayers but `b2nd` and
 * `caterva`, any bytes, by custom MessagePack. If the attribute file of a folder is corrupt, its
 * name is the only one (none with HOLDALL_OPT_SKIP_DAMAGED), and every get is an error. */
HOLDALL_API uint32_t holdall_array_attrs(const holdall_array *array);

/* Returns the name of named value i, or NULL past the last. Borrowed until the array is closed or
 * changed. */
HOLDALL_API const char *holdall_array_attr_name(const holdall_array *array, uint32_t i);

/* Returns a named value: *n bytes, no NUL after them, borrowed until the array is closed or
 * changed. The shape in metadata is that of the last commit.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: no such name; *value is NULL, *n 0.
 * - HOLDALL_E_FORMAT, _CHECKSUM, _LIMIT: the attribute file is corrupt or too large; changes fail
 *   too. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_attr_get(const holdall_array *array,
                                      const char *name,
                                      const void **value,
                                      size_t *n,
                                      holdall_error *err);

/* Sets a named value to n bytes.
 *
 * - Bloscpack: only "", a JSON object; dtype, shape, order and container must stay, other members
 *   are free. Cannot be removed.
 * - Folders: any name, any JSON; value NULL removes it.
 * - Frames: as holdall_schunk_meta_set(); `b2nd`, `caterva`: HOLDALL_E_ARGUMENT. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_attr_set(holdall_array *array,
                                      const char *name,
                                      const void *value,
                                      size_t n,
                                      holdall_error *err);

/* ---- tables: named columns of equal length (bcolz, BLZ) ------------------------*/

/* An open table: named columns of equal length, each an array. Many threads may read one const
 * handle and its columns at once. A handle opened for writing belongs to one thread at a time and
 * sees its own changes at once; other handles see them, all together, if opened after the commit. */
typedef struct holdall_table holdall_table;

/* Opens a table, a folder of bcolz, BLZ or the BLZ RFC layout with separate fields, at its last
 * commit: HOLDALL_READ to read, HOLDALL_APPEND to read and change. It is as long as its shortest
 * column; the next commit removes excess rows (holdall_table_column_rows()).
 *
 * Returns:
 * - HOLDALL_E_BUSY: HOLDALL_APPEND, and another writer has the table or a column open.
 * - HOLDALL_E_TYPE: an array or a file.
 * - HOLDALL_E_MISSING, _FORMAT: a column is missing or corrupt (see the message), or its name
 *   leads out of the folder.
 * - HOLDALL_E_UNSUPPORTED: HOLDALL_APPEND, and a column has Python objects.
 *
 * Options: those of holdall_array_open(), HOLDALL_OPT_ARROW_BINARY, _ARROW_NULLS. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_open(const char *path,
                                  holdall_mode mode,
                                  const holdall_options *options,
                                  holdall_table **out,
                                  holdall_error *err);

/* Like holdall_table_open(), in storage of the caller: "__rootdirs__", "NAME/meta/sizes",
 * "NAME/data/__0.blp" and so on; BLZ RFC layout: "meta/sizes", "data/NAME/__1__.bin" and so on. io
 * may be closed right after. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_open_io(holdall_io *io,
                                     holdall_mode mode,
                                     const holdall_options *options,
                                     holdall_table **out,
                                     holdall_error *err);

/* Creates a table without rows and opens it for changes.
 *
 * - mode: HOLDALL_NEW, or HOLDALL_REPLACE: the first commit replaces a table of the same layout.
 * - format: HOLDALL_FORMAT_BCOLZ, _BLZ (see holdall_array_create()), or HOLDALL_FORMAT_BLZ_PAPER:
 *   one dataset with a folder per field ("data/NAME", "data/NAME/FIELD"), equal rows in the
 *   superchunks of all columns, no column attributes.
 * - columns: 1 or more.
 * - names: UTF-8, unique, valid as folder names: no slash, not "", ".", ".." or a file of the
 *   table.
 * - dtypes: see holdall_array_create(); "('<f4', (3,))" gives rows of that shape.
 *
 * Returns:
 * - HOLDALL_E_EXISTS: the path exists, or a name is repeated.
 * - HOLDALL_E_TYPE: unknown dtype.
 * - HOLDALL_E_UNSUPPORTED: Python objects, or another format.
 * - HOLDALL_E_BUSY: another writer is active.
 *
 * Options, for all columns: those of holdall_array_create() for a folder. Chunk lengths follow
 * bcolz for HOLDALL_OPT_EXPECTED_ROWS (default: the smallest), in the BLZ RFC layout for a column
 * of average width. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_create(const char *path,
                                    holdall_mode mode,
                                    holdall_format format,
                                    uint32_t columns,
                                    const char *const *names,
                                    const char *const *dtypes,
                                    const holdall_options *options,
                                    holdall_table **out,
                                    holdall_error *err);

/* Like holdall_table_create(), in storage of the caller: see holdall_table_open_io(). There is no
 * lock: the caller must ensure a single writer.
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: read-only storage. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_create_io(holdall_io *io,
                                       holdall_mode mode,
                                       holdall_format format,
                                       uint32_t columns,
                                       const char *const *names,
                                       const char *const *dtypes,
                                       const holdall_options *options,
                                       holdall_table **out,
                                       holdall_error *err);

/* Closes a table and its columns. NULL is allowed. Uncommitted changes are discarded. */
HOLDALL_API void holdall_table_close(holdall_table *table);

/* Returns the number of rows. */
HOLDALL_API uint64_t holdall_table_rows(const holdall_table *table);

/* Returns the number of columns. */
HOLDALL_API uint32_t holdall_table_columns(const holdall_table *table);

/* Returns the name of column i, or NULL past the last. Borrowed until the table is closed or a
 * column is added or removed. */
HOLDALL_API
const char *holdall_table_column_name(const holdall_table *table,
                                      uint32_t i);

/* Returns column i as an array, or NULL past the last. Borrowed until the table is closed or a
 * column is added or removed. Closing it has no effect; changing it is HOLDALL_E_STATE: change the
 * table. */
HOLDALL_API
const holdall_array *holdall_table_column(const holdall_table *table,
                                          uint32_t i);

/* Returns the rows in the files of column i at the last commit; 0 for newer columns and past the
 * last. More than the table has if a writer was interrupted between columns. */
HOLDALL_API uint64_t holdall_table_column_rows(const holdall_table *table, uint32_t i);

/* Returns the number of attributes of the table. Columns have their own. */
HOLDALL_API uint32_t holdall_table_attrs(const holdall_table *table);

/* Returns the name of attribute i, or NULL past the last. Borrowed until the table is closed or
 * changed. */
HOLDALL_API const char *holdall_table_attr_name(const holdall_table *table, uint32_t i);

/* Returns an attribute: *n bytes of JSON, no NUL after them, borrowed until the table is closed or
 * an attribute is set. Returns as holdall_array_attr_get(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_attr_get(const holdall_table *table,
                                      const char *name,
                                      const void **value,
                                      size_t *n,
                                      holdall_error *err);

/* Sets an attribute to n bytes of JSON; value NULL removes it.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: invalid JSON. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_attr_set(holdall_table *table,
                                      const char *name,
                                      const void *value,
                                      size_t n,
                                      holdall_error *err);

/* Sets or removes an attribute of column i, as holdall_table_attr_set(). holdall_array_attr_get()
 * reads it.
 *
 * Returns:
 * - HOLDALL_E_RANGE: no such column.
 * - HOLDALL_E_ARGUMENT: invalid JSON. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_column_attr_set(holdall_table *table,
                                             uint32_t i,
                                             const char *name,
                                             const void *value,
                                             size_t n,
                                             holdall_error *err);

/* Appends rows. columns[i]: `rows` rows of column i, packed, in C order, sizes[i] bytes, for every
 * column; not borrowed after the call. An incomplete chunk waits in memory: few commits of many
 * rows cost least. After an error nothing is appended to any column.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: a wrong sizes[i]. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_append(holdall_table *table,
                                    uint64_t rows,
                                    const void *const *columns,
                                    const size_t *sizes,
                                    holdall_error *err);

/* Overwrites `rows` rows of column i from row `first` on. src: the items, packed, in C order,
 * src_size bytes. Cost, and state after an error: as holdall_array_write().
 *
 * Returns:
 * - HOLDALL_E_RANGE: no such column or rows.
 * - HOLDALL_E_ARGUMENT: a wrong src_size. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_write(holdall_table *table,
                                   uint32_t i,
                                   uint64_t first,
                                   uint64_t rows,
                                   const void *src,
                                   size_t src_size,
                                   holdall_error *err);

/* Inserts a column before column `at`; the number of columns appends it. name, dtype: see
 * holdall_table_create(). src: an item (or row) per row of the table, packed, in C order, src_size
 * bytes. Options are those of opening; codec, level and checksum default to the first column's.
 * After an error nothing is changed.
 *
 * Returns:
 * - HOLDALL_E_EXISTS: the name exists.
 * - HOLDALL_E_RANGE: `at` is past the end.
 * - HOLDALL_E_ARGUMENT: a wrong src_size, or an invalid name.
 * - HOLDALL_E_TYPE: unknown dtype. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_column_add(holdall_table *table,
                                        uint32_t at,
                                        const char *name,
                                        const char *dtype,
                                        const void *src,
                                        size_t src_size,
                                        holdall_error *err);

/* Removes a column. The commit removes its files; their readers then get HOLDALL_E_MISSING.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: no such name, or the only column. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_column_remove(holdall_table *table,
                                           const char *name,
                                           holdall_error *err);

/* Removes all but the first `rows` rows.
 *
 * Returns:
 * - HOLDALL_E_RANGE: there are fewer. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_truncate(holdall_table *table,
                                      uint64_t rows,
                                      holdall_error *err);

/* Makes all changes durable and visible, all or none: rows, columns, attributes. Without changes
 * it does nothing. Returns as holdall_schunk_commit(). HOLDALL_E_STATE: also if a writer without
 * the lock changed the table since it was opened. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_commit(holdall_table *table,
                                    holdall_error *err);

/* ---- bags: records of any length (Bagz) ----------------------------------------*/

/* An open bag: records of any length in the Bagz format, in one file or several. Many threads may
 * read one handle at once. */
typedef struct holdall_bag holdall_bag;

/* A writer of one bag, or of one set of bags. */
typedef struct holdall_bag_writer holdall_bag_writer;

/* A batch of records that one call has read. It owns bytes and offsets until it is closed. */
typedef struct holdall_records holdall_records;

/* Opens a bag for reading at its last commit; all files are read in the state of one moment.
 *
 * spec: a path, or several separated by commas; empty ones are skipped, and a spec of only empty
 * ones is a bag without records. The first @N after the
 * last slash (N: 1 to 99999) stands for the files -00000-of-0000N and so on, @* for as many as
 * exist: "a@3.bagz,b.bag". A backslash escapes a comma, @ or backslash. The name of an existing
 * file is taken literally.
 *
 * The records are one sequence: file after file, or interleaved for a set (@) that records this
 * (those of version 0.1.0, and uncompressed ones in storage of the caller, do not): see
 * HOLDALL_OPT_BAG_SHARDS.
 *
 * Memory and time do not depend on the number of records, except with HOLDALL_OPT_BAG_LIMITS_CACHE
 * set to 1. Of more than 64 files (fewer if `ulimit -n` is low), only recently used ones stay open,
 * unmapped: a quarter of `ulimit -n` over all bags, and no more than 4096. Reads return
 * HOLDALL_E_STATE if such a file was replaced.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: @* matches sets of different N, or an interleaved set is combined with
 *   other files.
 * - HOLDALL_E_FORMAT: a file is not a bag, or torn (see holdall_repair()), or record counts do not
 *   fit an interleaved set.
 * - HOLDALL_E_CHECKSUM: checksums.NAME belongs to another state of the bag.
 * - HOLDALL_E_BUSY: the bag changed at each attempt for 5 seconds.
 *
 * Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _IO, _VERIFY (2 reports progress), _SKIP_DAMAGED,
 * _CODEC, _DICTIONARY, _BAG_LIMITS, _BAG_LIMITS_CACHE, _BAG_SHARDS. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_open(const char *spec,
                                const holdall_options *options,
                                holdall_bag **out,
                                holdall_error *err);

/* Like holdall_bag_open(), from n storages (at least 1), one per shard. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_open_io(holdall_io *const *shards,
                                   uint32_t n,
                                   const holdall_options *options,
                                   holdall_bag **out,
                                   holdall_error *err);

/* Opens the n records start, start + step, ... as a bag that shares the files. step may be
 * negative, n may be 0. A slice of a slice uses the numbers of the slice.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: step is 0.
 * - HOLDALL_E_RANGE: beyond the bag. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_slice(const holdall_bag *bag,
                                 uint64_t start,
                                 int64_t step,
                                 uint64_t n,
                                 holdall_bag **out,
                                 holdall_error *err);

/* Closes a bag, also while slices of it are in use. */
HOLDALL_API void holdall_bag_close(holdall_bag *bag);

/* Returns the number of records; 0 for NULL, as do all functions that cannot fail. */
HOLDALL_API uint64_t holdall_bag_size(const holdall_bag *bag);

/* Returns HOLDALL_CODEC_NONE, _ZSTD, or _BY_NAME if shards differ. */
HOLDALL_API int32_t holdall_bag_codec(const holdall_bag *bag);

/* Returns the checksum of the records, the weakest of all shards: HOLDALL_SUM_CRC32
 * (checksums.NAME; unused with HOLDALL_OPT_VERIFY 0), _ZSTD (in the frames, judged by the first
 * one), or _NONE. */
HOLDALL_API int32_t holdall_bag_sum(const holdall_bag *bag);

/* Returns HOLDALL_BAG_LIMITS_TAIL or _SEPARATE. */
HOLDALL_API int32_t holdall_bag_limits(const holdall_bag *bag);

/* Returns the size on disk in bytes of all files, with limits and checksums; for a slice, of the
 * whole bag. */
HOLDALL_API uint64_t holdall_bag_cbytes(const holdall_bag *bag);

/* Returns the number of shards: files without those of limits and checksums. */
HOLDALL_API uint32_t holdall_bag_shards(const holdall_bag *bag);

/* Returns the name of shard i as in messages; NULL if i is out of range. Valid until the bag is
 * closed. */
HOLDALL_API const char *holdall_bag_shard_name(const holdall_bag *bag, uint32_t i);

/* Returns the number of records in shard i. */
HOLDALL_API uint64_t holdall_bag_shard_size(const holdall_bag *bag, uint32_t i);

/* Reads record i into dst; *n is its size in bytes. dst NULL requests the size alone.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: the record is corrupt (HOLDALL_OPT_SKIP_DAMAGED); *n is 0.
 * - HOLDALL_E_RANGE: no such record.
 * - HOLDALL_E_FORMAT, _CHECKSUM: the record is corrupt; others remain readable.
 * - HOLDALL_E_LIMIT: the record exceeds HOLDALL_OPT_MEMORY_LIMIT.
 * - HOLDALL_E_STATE: the bag grew after it was opened, and its limits are not cached in memory;
 *   open it again. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_read(const holdall_bag *bag,
                                uint64_t i,
                                void *dst,
                                size_t dst_size,
                                size_t *n,
                                holdall_error *err);

/* Reads n records from first on into one batch, in parallel if faster. HOLDALL_OPT_MEMORY_LIMIT
 * applies to their total size. Fails as holdall_bag_read() at the first record that cannot be read
 * (err->position). With HOLDALL_OPT_SKIP_DAMAGED, corrupt records are empty, and it returns
 * HOLDALL_OK: see holdall_records_damaged(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_read_range(const holdall_bag *bag,
                                      uint64_t first,
                                      uint64_t n,
                                      holdall_records **out,
                                      holdall_error *err);

/* Reads n records by number, in any order and with repetitions, into one batch in that order.
 * Decodes repeated records once and reads neighbours together. Returns as
 * holdall_bag_read_range(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_read_indices(const holdall_bag *bag,
                                        const uint64_t *indices,
                                        size_t n,
                                        holdall_records **out,
                                        holdall_error *err);

/* Computes a checksum (HOLDALL_SUM_*, 0 to 8) of the content: for each record in order, its length
 * as 8 bytes little-endian, then its bytes, however they are stored. Reports progress. dst NULL
 * and HOLDALL_E_BUFFER read nothing. Else returns as holdall_bag_read(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_checksum(const holdall_bag *bag,
                                    int32_t sum,
                                    void *dst,
                                    size_t dst_size,
                                    size_t *n,
                                    holdall_error *err);

/* Returns the number of records in a batch. */
HOLDALL_API size_t holdall_records_count(const holdall_records *records);

/* Returns the bytes of all records, end to end; NULL only for NULL. */
HOLDALL_API const uint8_t *holdall_records_data(const holdall_records *records);

/* Returns count + 1 offsets: record i is data[offsets[i]] up to, not including,
 * data[offsets[i+1]]. */
HOLDALL_API const uint64_t *holdall_records_offsets(const holdall_records *records);

/* Returns how many records were corrupt and are empty in the batch; 0 without
 * HOLDALL_OPT_SKIP_DAMAGED. */
HOLDALL_API size_t holdall_records_damaged(const holdall_records *records);

/* Returns the positions of these holdall_records_damaged() records in the batch, ascending. */
HOLDALL_API const uint64_t *holdall_records_damaged_at(const holdall_records *records);

/* Returns the record numbers of a batch from holdall_bag_stream_take(); NULL for other batches. */
HOLDALL_API const uint64_t *holdall_records_numbers(const holdall_records *records);

/* Closes a batch. Its bag or stream reuses the memory of two batches (streams: of those read
 * ahead) until closed: at most 128 MiB in the process, and a quarter of the memory limit. */
HOLDALL_API void holdall_records_close(holdall_records *records);

/* Opens a writer of a bag, or of a set of bags, whose files commit together.
 *
 * path: a file, or a set in one folder: "name@8.bagz" for name-00000-of-00008.bagz and so on,
 * "name@*.bagz" for as many as exist. Record i goes to file i modulo 8. A skippable zstd frame
 * after the first record of each file (uncompressed: a file turns.NAME) records this for
 * holdall_bag_open(); Bagz ignores it. A backslash escapes @ or backslash; a comma, and the name
 * of an existing file, are literal. Processes may instead each write one file of a set,
 * "name-00003-of-00008.bagz", with its own commits; its record k is record 8 * k + 3 when read
 * interleaved.
 *
 * mode: HOLDALL_NEW, _REPLACE or _APPEND (a set: none or all files exist). Nothing visible changes
 * before the first commit, except that an interrupted one is recovered. To append, repeat _CODEC,
 * _DICTIONARY and _BAG_LIMITS; checksums continue as they are. Many small commits need separate
 * limits: see docs/commits.md.
 *
 * Returns:
 * - HOLDALL_E_EXISTS, _MISSING: see mode.
 * - HOLDALL_E_BUSY: another writer has the bag, a file of it, or its set open.
 * - HOLDALL_E_STATE: checksums are requested, but existing records have none; or the set is not
 *   interleaved, or does not record it: append to its files one by one.
 * - HOLDALL_E_UNSUPPORTED: a file of a set is a link to another folder.
 *
 * Options: HOLDALL_OPT_THREADS, _DURABILITY, _LOCK, _CODEC, _LEVEL, _CHECKSUM, _DICTIONARY,
 * _BAG_LIMITS; sets: _BAG_SHARDS, as HOLDALL_BAG_SHARDS_INTERLEAVED, to append to one that does
 * not record it. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_writer_open(const char *path,
                                       holdall_mode mode,
                                       const holdall_options *options,
                                       holdall_bag_writer **out,
                                       holdall_error *err);

/* Like holdall_bag_writer_open(), in the file "" of a storage. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_writer_open_io(holdall_io *io,
                                          holdall_mode mode,
                                          const holdall_options *options,
                                          holdall_bag_writer **out,
                                          holdall_error *err);

/* Appends one record of n bytes (NULL if n is 0), visible from the next commit on. On failure it
 * is not appended. Buffers about 512 KiB per thread and compresses in parallel. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_writer_append(holdall_bag_writer *writer,
                                         const void *record,
                                         size_t n,
                                         holdall_error *err);

/* Appends count records, compressed in parallel. Record i is data[offsets[i]] to
 * data[offsets[i+1]]; offsets has count + 1 ascending values and may start above 0. On failure
 * holdall_bag_writer_size() includes those appended: none if offsets do not ascend
 * (HOLDALL_E_ARGUMENT). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_writer_append_many(holdall_bag_writer *writer,
                                              const void *data,
                                              const uint64_t *offsets,
                                              size_t count,
                                              holdall_error *err);

/* Returns the number of records at the last commit plus those appended since. */
HOLDALL_API uint64_t holdall_bag_writer_size(const holdall_bag_writer *writer);

/* Makes all appended records durable and visible, atomically. After a failure the call may be
 * repeated: see docs/commits.md.
 *
 * Returns:
 * - HOLDALL_E_STATE: a sync failed. Close the writer; the bag is consistent when opened again,
 *   with or without the commit.
 * - HOLDALL_E_EXISTS: HOLDALL_NEW, and another program has created the bag. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_writer_commit(holdall_bag_writer *writer,
                                         holdall_error *err);

/* Closes a writer. Uncommitted records are discarded. */
HOLDALL_API void holdall_bag_writer_close(holdall_bag_writer *writer);

/* ---- streams with read-ahead; shuffled epochs; batches in memory of the caller -*/

/* A stream of records of a bag in any order, read ahead in parallel. */
typedef struct holdall_bag_stream holdall_bag_stream;

/* The shuffled record numbers of an epoch that belong to one rank. */
typedef struct holdall_epoch holdall_epoch;

/* Stores the number of the next requested record in *index and returns 0; returns 1 at the end, or
 * less than 0 on failure. */
typedef int (*holdall_next_index_fn)(void *ctx, uint64_t *index);

/* Allocates n bytes and returns them. Returns NULL on failure, and may if n is 0. */
typedef void *(*holdall_allocate_fn)(void *ctx, size_t n);

/* Opens a stream of the records whose numbers next returns, in that order, with repetitions,
 * possibly endless. next NULL: all records in order. ctx must stay valid.
 *
 * next runs only during holdall_bag_stream_next() and _take(), on the calling thread, one at a
 * time, for as many records as are read ahead. To resume, count the records used, not the numbers
 * returned. Other threads read and decode: see docs/threads.md.
 *
 * Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _SKIP_DAMAGED (default: those of the bag),
 * _BAG_READ_AHEAD, _BAG_READ_AHEAD_BYTES. Read-ahead uses at most a quarter of the memory limit. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_stream_open(const holdall_bag *bag,
                                       holdall_next_index_fn next,
                                       void *ctx,
                                       const holdall_options *options,
                                       holdall_bag_stream **out,
                                       holdall_error *err);

/* Gets the next record: n bytes (never NULL), borrowed until the next call that takes from the
 * stream or closes it. One thread at a time; several use holdall_bag_stream_take(). Failures come
 * in the order of records; the next call continues after them.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: the end, also later; *record and *n are unchanged.
 * - As holdall_bag_read(): the record (err->position) cannot be read. With
 *   HOLDALL_OPT_SKIP_DAMAGED corrupt records are empty.
 * - HOLDALL_E_RANGE: next returned a number that the bag does not have.
 * - HOLDALL_E_CALLBACK: next failed; it is called again.
 * - HOLDALL_E_LIMIT: a record exceeds three quarters of the memory limit.
 * - HOLDALL_E_STATE: called by next, or forked while another thread was taking. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_stream_next(holdall_bag_stream *stream,
                                       const void **record,
                                       size_t *n,
                                       holdall_error *err);

/* Takes the next n records as a batch that the caller owns, with holdall_records_numbers(). It has
 * fewer at the end, or before a failure, which the next call returns. n 0: as many as were read
 * together, without a copy. Many threads may take from one stream; each record goes to one of
 * them.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: the end; *out is NULL. Another thread may still get its last records.
 * - Else as holdall_bag_stream_next(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_stream_take(const holdall_bag_stream *stream,
                                       size_t n,
                                       holdall_records **out,
                                       holdall_error *err);

/* Returns the number in the bag of the last record from holdall_bag_stream_next(); UINT64_MAX
 * before the first. */
HOLDALL_API uint64_t holdall_bag_stream_number(const holdall_bag_stream *stream);

/* Returns how many records so far were corrupt and returned as empty; 0 without
 * HOLDALL_OPT_SKIP_DAMAGED. */
HOLDALL_API uint64_t holdall_bag_stream_damaged(const holdall_bag_stream *stream);

/* Closes a stream at any time. Waits until reading ahead stops, at its next record; nothing uses
 * the bag, its storage or next afterwards. Does nothing if next calls it. */
HOLDALL_API void holdall_bag_stream_close(holdall_bag_stream *stream);

/* Opens a shuffled epoch: every number below n (which may be 0) once, in an order that depends
 * only on n, seed and epoch, in every version of the library. Rank rank of world (0 of 1 if there
 * is one) gets the positions rank, rank + world, rank + 2 * world, ... of it. When each rank has
 * taken k numbers, k * world positions are done (the first n % world ranks get one number more): another number
 * of ranks can continue there. Pass holdall_epoch_next and the handle to holdall_bag_stream_open().
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: rank is not below world. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_epoch_open(uint64_t n,
                                  uint64_t seed,
                                  uint64_t epoch,
                                  uint32_t rank,
                                  uint32_t world,
                                  holdall_epoch **out,
                                  holdall_error *err);

/* Returns how many numbers this rank has in each epoch. */
HOLDALL_API uint64_t holdall_epoch_size(const holdall_epoch *epoch);

/* Gets the next number of an epoch: a holdall_next_index_fn whose context is the holdall_epoch *.
 * Returns 1 at the end, HOLDALL_E_ARGUMENT if an argument is NULL. */
HOLDALL_API HOLDALL_USE int holdall_epoch_next(void *epoch, uint64_t *index);

/* Moves to epoch number, of the same seed, and a position of this rank in it: 0 to
 * holdall_epoch_size(), the end. Must not be called while an open stream uses the epoch.
 * HOLDALL_E_RANGE: position is past the end. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_epoch_seek(holdall_epoch *epoch,
                                  uint64_t number,
                                  uint64_t position,
                                  holdall_error *err);

/* Closes an epoch. No record may be taken afterwards from a stream that uses it. */
HOLDALL_API void holdall_epoch_close(holdall_epoch *epoch);

/* Like holdall_bag_read_range(), into memory of the caller, who owns it also after a failure.
 * allocate is called once, on the calling thread, with the total size; records are decoded to it
 * end to end. offsets has space for n + 1 values: record i is at offsets[i] up to, not including,
 * offsets[i+1], as in Arrow's large_binary.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: corrupt records are empty (HOLDALL_OPT_SKIP_DAMAGED), so less memory is
 *   used; holdall_bag_read() identifies them.
 * - HOLDALL_E_CALLBACK: allocate returned NULL. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_read_range_to(const holdall_bag *bag,
                                         uint64_t first,
                                         size_t n,
                                         holdall_allocate_fn allocate,
                                         void *ctx,
                                         uint64_t *offsets,
                                         holdall_error *err);

/* Like holdall_bag_read_indices(), into memory of the caller: see holdall_bag_read_range_to(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_read_indices_to(const holdall_bag *bag,
                                           const uint64_t *indices,
                                           size_t n,
                                           holdall_allocate_fn allocate,
                                           void *ctx,
                                           uint64_t *offsets,
                                           holdall_error *err);

/* ---- indexes of bags: from keys to record numbers ------------------------------*/

/* Stands for the number of a record that does not exist. */
#define HOLDALL_NO_RECORD UINT64_MAX
/* An index of a bag: finds the records with a given content. Many threads may use one handle at
 * once.
 *
 * It stores fingerprints and record numbers, 7 to 9 bytes per record. A lookup compares the
 * records with the key, so no result is wrong, and the index keeps its bag open.
 * src/bag/index/mod.rs specifies the file format, which is not part of Bagz.
 *
 * An index belongs to one state of a bag, or of a slice, read in one order of shards. Opening it
 * detects another number of files, records or bytes, and compares some records. A record replaced
 * by another of the same length may go undetected, except with HOLDALL_OPT_VERIFY 2: it is not
 * found until the index is rebuilt. */
typedef struct holdall_bag_index holdall_bag_index;

/* Builds the index of a bag, or of a slice (whose numbers it uses), in memory: about 22 bytes per
 * record, then 9. Reports progress.
 *
 * Returns:
 * - HOLDALL_E_FORMAT, _CHECKSUM: a record (err->position) is corrupt. HOLDALL_OPT_SKIP_DAMAGED,
 *   here or of the bag, omits it.
 * - HOLDALL_E_LIMIT: exceeds HOLDALL_OPT_MEMORY_LIMIT.
 *
 * Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _SKIP_DAMAGED. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_build(const holdall_bag *keys,
                                       const holdall_options *options,
                                       holdall_bag_index **out,
                                       holdall_error *err);

/* Builds an index like holdall_bag_index_build(), in a file such as "NAME.index", and opens it.
 * The file is replaced atomically. Sorting uses 64 MiB, at most a quarter of
 * HOLDALL_OPT_MEMORY_LIMIT, and the file NAME.holdall-part. mode: HOLDALL_NEW, or HOLDALL_REPLACE,
 * which replaces only an index.
 *
 * Returns:
 * - HOLDALL_E_EXISTS: see mode.
 * - HOLDALL_E_BUSY: another call is creating it.
 * - HOLDALL_E_UNSUPPORTED: path is in an object store; create a local file and copy it.
 *
 * Options: also HOLDALL_OPT_DURABILITY, _LOCK, and _IO as for holdall_bag_index_open(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_create(const char *path,
                                        holdall_mode mode,
                                        const holdall_bag *keys,
                                        const holdall_options *options,
                                        holdall_bag_index **out,
                                        holdall_error *err);

/* Like holdall_bag_index_create(), in the file "" of a storage. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_create_io(holdall_io *io,
                                           holdall_mode mode,
                                           const holdall_bag *keys,
                                           const holdall_options *options,
                                           holdall_bag_index **out,
                                           holdall_error *err);

/* Opens the index of a bag, or of the same slice. Memory and time do not depend on the number of
 * keys: parts are read and verified when needed.
 *
 * Returns:
 * - HOLDALL_E_STATE: it belongs to another bag, state or slice.
 * - HOLDALL_E_FORMAT, _CHECKSUM: not an index, or corrupt.
 * - HOLDALL_E_VERSION: written by a later version of this library.
 *
 * Options: HOLDALL_OPT_IO, _VERIFY, _SKIP_DAMAGED; for _VERIFY 2 also _THREADS, _MEMORY_LIMIT. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_open(const char *path,
                                      const holdall_bag *keys,
                                      const holdall_options *options,
                                      holdall_bag_index **out,
                                      holdall_error *err);

/* Like holdall_bag_index_open(), from the file "" of a storage. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_open_io(holdall_io *io,
                                         const holdall_bag *keys,
                                         const holdall_options *options,
                                         holdall_bag_index **out,
                                         holdall_error *err);

/* Closes an index. Its file remains. */
HOLDALL_API void holdall_bag_index_close(holdall_bag_index *index);

/* Returns the number of distinct keys. */
HOLDALL_API uint64_t holdall_bag_index_keys(const holdall_bag_index *index);

/* Returns the number of records that were corrupt when the index was built, which it leaves out. */
HOLDALL_API uint64_t holdall_bag_index_damaged(const holdall_bag_index *index);

/* Finds the first record equal to the key (NULL if key_size is 0); *record is its number. This is
 * the Index of the Bagz package.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: none; *record is HOLDALL_NO_RECORD.
 * - HOLDALL_E_FORMAT, _CHECKSUM: a part of the index, or a record that may match (err->position),
 *   is corrupt; not with HOLDALL_OPT_SKIP_DAMAGED.
 * - Else as holdall_bag_read(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_find_first(const holdall_bag_index *index,
                                            const void *key,
                                            size_t key_size,
                                            uint64_t *record,
                                            holdall_error *err);

/* Finds all records equal to the key: their numbers, ascending, in records, which has space for
 * most; *n is how many. records NULL requests *n alone. This is the MultiIndex of the Bagz
 * package.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: none; *n is 0.
 * - HOLDALL_E_BUFFER: *n exceeds most.
 * - Else as holdall_bag_index_find_first(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_find(const holdall_bag_index *index,
                                      const void *key,
                                      size_t key_size,
                                      uint64_t *records,
                                      size_t most,
                                      size_t *n,
                                      holdall_error *err);

/* Like holdall_bag_index_find_first(), for count keys in parallel. Key i is data[offsets[i]] to
 * data[offsets[i+1]]; offsets has count + 1 ascending values. records[i] is the number of its
 * record, or HOLDALL_NO_RECORD.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: at least one key has no record. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_find_many(const holdall_bag_index *index,
                                           const void *data,
                                           const uint64_t *offsets,
                                           size_t count,
                                           uint64_t *records,
                                           holdall_error *err);

/* ---- Arrow: export and import of tables and bags -------------------------------*/

/* Exports `rows` rows from `first` on as an Arrow stream
 * (https://arrow.apache.org/docs/format/CStreamInterface.html) with one field per column.
 * batch_rows: rows per batch (fewer over 2 GiB of text); 0: about 16 MB in whole chunks of the
 * first column. One batch is in memory at a time.
 *
 * The stream is a handle of its own, for any one thread at a time, and may outlive the table. It
 * sees the current rows. Batches belong to the consumer. Until its release, changing the table is
 * HOLDALL_E_STATE, and a table opened for writing stays locked. HOLDALL_OPT_SKIP_DAMAGED: corrupt
 * values are not reported. Its functions return errno values; get_last_error() names column, row
 * and reason. If the call fails, *out is a released stream.
 *
 * Types:
 * - bool, int, uint, float (2, 4, 8 bytes): the same, in native byte order. complex: lists of two
 *   floats.
 * - S: utf8 without trailing zeros (invalid: EINVAL), or binary (HOLDALL_OPT_ARROW_BINARY at
 *   open). U: utf8. V, other floats: fixed_size_binary. Python objects: binary, pickled.
 * - datetime64: timestamp without zone in s (also h, m), ms, us, ns; date32 for D, W, M, Y.
 *   timedelta64: duration (D, W, h, m in s); month intervals for Y, M. Multiples, and ps, fs, as
 *   in ns, are exact or an error. No unit: int64.
 * - Structures: struct. Rows of several items: nested fixed_size_list.
 * - null: NaT, and NaN with HOLDALL_OPT_ARROW_NULLS. Field metadata "holdall.dtype": the dtype.
 *
 * Returns:
 * - HOLDALL_E_RANGE: there are fewer rows.
 * - HOLDALL_E_UNSUPPORTED: a column without an Arrow type. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_to_arrow(const holdall_table *table,
                                      uint64_t first,
                                      uint64_t rows,
                                      uint64_t batch_rows,
                                      struct ArrowArrayStream *out,
                                      holdall_error *err);

/* Appends the rows of an Arrow stream. The stream is always taken over, and released when read,
 * one batch of any size at a time. Its fields must be all columns of the table, by name, in any
 * order. After an error nothing is appended.
 *
 * Every value must convert exactly:
 * - Integers: to integers and floats. Floats: to equal or longer ones. bool: to bool.
 * - utf8, binary (32-bit, 64-bit offsets, views): to S if it fits and has no trailing zero; utf8
 *   to U; binary of the exact length to V. fixed_size_binary: to S (trailing zeros are padding),
 *   V.
 * - Dates, timestamps without zone or in UTC: to datetime64. Durations, month intervals: to
 *   timedelta64.
 * - fixed_size_list: to complex (of floats), rows of several items. struct: to structures.
 *   Dictionaries are decoded.
 * - null: to NaN, NaT; else an error.
 *
 * Returns:
 * - HOLDALL_E_TYPE: columns or a value (err->position: the row) do not fit; the message names
 *   column and row.
 * - HOLDALL_E_ARGUMENT: inconsistent offsets, lengths, counts; missing buffers.
 * - HOLDALL_E_CALLBACK: the stream failed, with its message.
 * - HOLDALL_E_STATE: a stream of this table is not released. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_append_arrow(holdall_table *table,
                                          struct ArrowArrayStream *stream,
                                          holdall_error *err);

/* Exports n records from `first` on as an Arrow stream with one binary field, "record"; see
 * holdall_table_to_arrow(). batch: records per batch (fewer over 2 GiB); 0: about 16 MB. A corrupt
 * record ends the stream with an error that names it, or is null with HOLDALL_OPT_SKIP_DAMAGED.
 *
 * Returns:
 * - HOLDALL_E_RANGE: there are fewer records. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_to_arrow(const holdall_bag *bag,
                                    uint64_t first,
                                    uint64_t n,
                                    uint64_t batch,
                                    struct ArrowArrayStream *out,
                                    holdall_error *err);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HOLDALL_H */
