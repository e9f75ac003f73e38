/* holdall.h - chunked, compressed containers, read and written from C:
 * Bloscpack, bcolz, BLZ, Blosc2 frames with b2nd and Caterva, and Bagz.
 *
 * RULES, the same for every function:
 *  - Result. Functions that can fail return holdall_status: 0 done, > 0 done but (see
 *    HOLDALL_NOT_FOUND), < 0 failed. Results come through pointers after the inputs,
 *    and are untouched on failure, except that *out handles become NULL, that *n (where
 *    there is one) is the size wanted with HOLDALL_E_BUFFER, that buffers may hold
 *    anything, and that holdall_verify() tells its counts.
 *    A function names the failures that mean something of its own there. Besides, any that touches
 *    a container may be HOLDALL_E_IO, _MEMORY, _LIMIT (beyond HOLDALL_OPT_MEMORY_LIMIT), and each of a handle
 *    HOLDALL_E_PANIC; one that opens may be HOLDALL_E_MISSING, one that writes HOLDALL_E_BUSY or, of a handle for
 *    reading, _STATE; and what is not valid here (a mode of the other kind, a step of 0) HOLDALL_E_ARGUMENT.
 *  - The words of a failure go to the last argument, a holdall_error of the caller's,
 *    which may be NULL. Nothing is kept per thread; nothing needs freeing.
 *  - Handles are opaque. holdall_X_open/... give one that the caller owns;
 *    holdall_X_close (or _free) takes it back, accepts NULL, and cannot fail. A handle
 *    keeps alive what it was made from, so any order of closing is right.
 *  - const holdall_X *: may be called from many threads at once on one handle.
 *    holdall_X * (not const): one thread at a time, any thread. Distinct handles
 *    never share state that the caller can see.
 *  - Nothing appended is visible or durable before the commit. Closing without a
 *    commit leaves the container as the last commit left it, as a crash would.
 *  - Readers see the last commit at the time they open, at any moment of a commit and
 *    after any crash. They need no lock and write nothing. After a later commit, reads
 *    through a superchunk or an array in one file, or in a frame that is a folder, that was open
 *    before may be HOLDALL_E_STATE (never a mixture): open it again. Datasets (bcolz, BLZ) have a file for
 *    each chunk, opened when it is wanted: after a commit that changes rows, a handle from
 *    before it may see some of them as they are now. While a change is under way,
 *    a writer keeps files beside the container NAME, in a folder beside each file of it:
 *    NAME.holdall-lock (in a folder dataset.holdall-lock), NAME.holdall-new,
 *    NAME.holdall-part and NAME.holdall-journal. The first three mean
 *    nothing once the writer is gone; a journal that is left belongs to the container, and must stay
 *    with it until the next writer has settled it. Journals and locks of users who may not
 *    write the container are passed over (SECURITY.md has the rules).
 *  - A file that takes the place of another one gets its mode, and its owner and access
 *    control list where the process may give them; so do files that are added beside it. New
 *    files follow the umask. Nothing is written through symbolic or hard links beside NAME.
 *  - Buffers belong to the caller; sizes are in bytes. Where a size is not known
 *    beforehand, dst == NULL asks for it in *n (HOLDALL_OK); a short dst gives
 *    HOLDALL_E_BUFFER, and the size wanted in *n where the call has an *n.
 *  - Pointers to numbers (uint64_t, int64_t) and to pointers must be aligned as C has it;
 *    buffers of content, void *, need not be.
 *  - Pointers returned by const getters are borrowed: valid until the handle is closed, or
 *    changed by a call that takes it without const. Where a function says that one is valid
 *    until the handle is closed, changes do no harm.
 *  - Strings are UTF-8 with a final NUL; paths are any bytes but NUL. Binary values
 *    carry their length.
 *  - NULL for a required pointer, or a value out of range, is HOLDALL_E_ARGUMENT (0 or
 *    NULL from functions that cannot fail), never undefined. A freed handle, a wrong
 *    pointer or a wrong length is undefined.
 *  - No call aborts, prints, reads the environment (but HOLDALL_THREADS, the number of
 *    threads instead of that of processors, once), or installs a signal handler. A bug
 *    inside comes back as HOLDALL_E_PANIC and the handle then refuses work. After
 *    fork() the child may go on reading through handles that it inherited, on the
 *    calling thread only; an inherited writer refuses work there (HOLDALL_E_STATE), and
 *    closing it there changes nothing (but its lock lasts until both have ended).
 *  - Object stores: in builds that have them (cmake -DHOLDALL_CLOUD=ON) paths may be names of
 *    objects: gs://bucket/key (gs:bucket/key and /gs:bucket/key are the same), s3://, az://,
 *    http:// and https://; in others such a name is HOLDALL_E_UNSUPPORTED. A local file of
 *    that very name goes before, and ./gs:x is always local. All formats are read there, bags
 *    are written, but not to http. An open object is the version that was opened: where
 *    another one has its place, or none, reading is HOLDALL_E_STATE. A store that does not
 *    answer is HOLDALL_E_IO within HOLDALL_OPT_CLOUD_TIMEOUT, one that refuses too, with
 *    EACCES in os_code. A bag has one commit there: before, nothing of it can be seen; what
 *    is added later is another shard (HOLDALL_APPEND is HOLDALL_E_UNSUPPORTED), and several
 *    objects at once (a set of shards, separate limits) are not replaced. Its limits wait in
 *    memory. Here the environment is read: what the clients of each cloud know (GOOGLE_*,
 *    AWS_*, AZURE_*; docs/clouds.md has the list) and the proxies. Two threads of the library's
 *    talk to stores; after fork() the child opens anew what it reads (else HOLDALL_E_STATE).
 *  - Callbacks run on the calling thread unless they say otherwise; they must not
 *    unwind (C++ exceptions, longjmp) through the library, nor call it with the handle
 *    they were called for.
 *
 * Linking: find_package(holdall) and holdall::holdall, or pkg-config holdall. The
 * program may be C99 or later, C++11 or later.
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
/* A status must be looked at. */
#ifndef HOLDALL_USE
#if defined(__GNUC__) || defined(__clang__)
#define HOLDALL_USE __attribute__((warn_unused_result))
#else
#define HOLDALL_USE
#endif
#endif

/* ---- versions: of this header; holdall_version_number() is that of the library ---- */
#define HOLDALL_VERSION_MAJOR 0
#define HOLDALL_VERSION_MINOR 1
#define HOLDALL_VERSION_PATCH 0
/* major * 1000000 + minor * 1000 + patch */
#define HOLDALL_VERSION_NUMBER 1000

#ifdef __cplusplus
extern "C" {
#endif

/* Of Arrow's C stream interface; its structures are declared where programs use them. */
struct ArrowArrayStream;

/* ---- failures ------------------------------------------------------------------*/

/* Done. */
#define HOLDALL_OK 0
/* Done, but there was nothing: see the function. */
#define HOLDALL_NOT_FOUND 1
/* An argument is NULL, out of range, or does not fit the others. */
#define HOLDALL_E_ARGUMENT (-1)
/* A bug in the library, please report it. The handle refuses work from now on. */
#define HOLDALL_E_PANIC (-2)
/* The memory could not be had. */
#define HOLDALL_E_MEMORY (-3)
/* The buffer is too small; the size wanted is in *n, where the call has one. */
#define HOLDALL_E_BUFFER (-4)
/* The operating system refused: see holdall_error::os_code. */
#define HOLDALL_E_IO (-5)
/* A file is not there. */
#define HOLDALL_E_MISSING (-6)
/* A file is there that must not be. */
#define HOLDALL_E_EXISTS (-7)
/* Stored bytes break the format: damage, or another kind of file. */
#define HOLDALL_E_FORMAT (-8)
/* A stored checksum does not match. */
#define HOLDALL_E_CHECKSUM (-9)
/* A format version that this library does not know. */
#define HOLDALL_E_VERSION (-10)
/* A codec or filter that this library does not have. */
#define HOLDALL_E_CODEC (-11)
/* A type that does not fit. */
#define HOLDALL_E_TYPE (-12)
/* An index beyond the end. */
#define HOLDALL_E_RANGE (-13)
/* The call does not fit the state of the handle or of the file. */
#define HOLDALL_E_STATE (-14)
/* A limit that the caller has set would be passed. */
#define HOLDALL_E_LIMIT (-15)
/* The caller's progress function stopped the call. */
#define HOLDALL_E_CANCELLED (-16)
/* One of the caller's functions failed. */
#define HOLDALL_E_CALLBACK (-17)
/* Somebody else is writing. */
#define HOLDALL_E_BUSY (-18)
/* Well-formed, and not supported by this version or this storage. */
#define HOLDALL_E_UNSUPPORTED (-19)
/* What every call that can fail returns: HOLDALL_OK, a value above 0 (done, but), or a
 * HOLDALL_E_*. The values are never renumbered. */
typedef int32_t holdall_status;

/* The words of a failure: 512 bytes of the caller's, for ever. Every call that can fail takes one
 * as its last argument, or NULL; it is written only where the call returns less than 0. */
typedef struct holdall_error {
    /* What the call returned. */
    holdall_status status;
    /* errno, or 0. */
    int32_t os_code;
    /* The record or chunk at which it failed, as the caller counts them, or -1. */
    int64_t position;
    /* UTF-8 with a NUL; cut with "..." where it is longer. */
    char message[496];
} holdall_error;

/* ---- options: every open takes them, NULL is the defaults ----------------------*/

/* Threads that a call may use: 0 (default) the processors this process may use, and only where the
 * work is large enough to pay for it; 1 the calling thread alone. */
#define HOLDALL_OPT_THREADS 1
/* Bytes; the most that one file may make a call allocate. Default 4 GiB. */
#define HOLDALL_OPT_MEMORY_LIMIT 2
/* HOLDALL_IO_READ or HOLDALL_IO_MAP. */
#define HOLDALL_OPT_IO 3
/* 0: checksums that lie beside the data, or behind chunks, are not looked at (those inside zstd
 * frames always are), nor is the number of bytes that a dataset says it has held against its
 * shape; 1 (default): what is read is checked; 2: everything is checked at open, too. */
#define HOLDALL_OPT_VERIFY 4
/* 1: damaged records read as empty, damaged chunks as zeros, and the call says so
 * (HOLDALL_NOT_FOUND; which they are: holdall_verify(); holdall_records and streams of bags count
 * them instead); 0 (default): they are an error. With HOLDALL_APPEND this holds for reads alone: a
 * change never takes damaged content for zeros. What needs some of a damaged chunk fails, one that
 * nothing touches stays as it is, and where chunks are missing the commit is HOLDALL_E_STATE: see
 * holdall_repair(). A frame whose header, index or trailer is damaged opens for reading with what
 * is found again of it, as holdall_repair() does it, and every read says so. */
#define HOLDALL_OPT_SKIP_DAMAGED 5
/* At commit: 1 (default) data and folder are synced; 0 they are not: a crash of the program loses
 * nothing of a commit, a failing power supply may. */
#define HOLDALL_OPT_DURABILITY 6
/* 1 (default): one writer at a time, across processes, by a lock on `NAME.holdall-lock`; 0: the
 * caller sees to it. */
#define HOLDALL_OPT_LOCK 7
/* One of HOLDALL_CODEC_*. Bags: _NONE, _ZSTD, or _BY_NAME (default): zstd where the file's name
 * ends in `.bagz`; all others are then not compressed, storage of the caller's, too, which has no
 * name. Where records under another name than `.bag` are zstd frames, opening is
 * HOLDALL_E_ARGUMENT until it is given: _ZSTD decompresses them, _NONE does not. Superchunks: any
 * but the last; default _LZ4. Frames have no _SNAPPY. */
#define HOLDALL_OPT_CODEC 8
/* Bags: zstd's level, -131072 to 22; 0 (default) is its own default, 3. Chunks: 0 (stored as it
 * is) to 9, default 5. */
#define HOLDALL_OPT_LEVEL 9
/* Bytes (holdall_options_set_bytes): a byte HOLDALL_FILTER_* for each filter, in the order in
 * which they are applied. Bloscpack: _SHUFFLE (default) or _BITSHUFFLE alone, or none (0 bytes).
 * Frames: up to six, those two, _DELTA and _BYTEDELTA; default _SHUFFLE. */
#define HOLDALL_OPT_FILTERS 10
/* Bytes of content in a chunk, a multiple of the typesize, 1 to 2,147,483,615. Default: 1 MiB,
 * rounded down to one. Arrays: rounded down to whole rows, or whole items where a row is longer;
 * one item at least. Arrays in frames: about so many, along every dimension; default: 2 to 4 MiB
 * where the array has that much. */
#define HOLDALL_OPT_CHUNK_BYTES 11
/* Bytes of content in a block of a chunk. Default: what the Blosc libraries choose for codec and
 * level. Arrays in frames: about so many, along every dimension; default: 32 KiB for each byte of
 * an item, 100 KiB at most, 50 KiB for items of 8 bytes and more in three dimensions and more. */
#define HOLDALL_OPT_BLOCK_BYTES 12
/* One of HOLDALL_SUM_*, for what is written. Superchunks: any but HOLDALL_SUM_ZSTD, default
 * _CRC32, behind each chunk; holdall_schunk_create() alone takes it, later writers go on with it.
 * Bags: HOLDALL_SUM_NONE, or HOLDALL_SUM_CRC32 (default): an uncompressed bag then gets a file
 * `checksums.NAME` with a CRC-32 a record, a compressed one the checksum that the zstd format has
 * inside its frames (HOLDALL_SUM_ZSTD says the same there). Datasets: as superchunks; with any,
 * the small files have a CRC-32 in a last line of blanks, which is checked like those of chunks,
 * and which no tool minds. Frames: HOLDALL_SUM_CRC32 (default) or _NONE: a CRC-32 of each chunk in
 * the metalayer `holdall.crc32`, and of the rest in places that the format leaves unused; other
 * tools skip them. A frame of another tool gets them when a writer asks for them. Without them
 * readers of a frame in one file may be HOLDALL_E_STATE before the commit already, as soon as a
 * writer adds to it. */
#define HOLDALL_OPT_CHECKSUM 13
/* Bytes: a zstd dictionary, trained or any content. What was written with one is read with the
 * same. */
#define HOLDALL_OPT_DICTIONARY 14
/* Bytes of what is where nothing is written. A dataset: an item or a row, which it is created with
 * and grows by (bcolz and BLZ: `dflt`); see holdall_array_fill_set(). An array in a frame: an
 * item, which it is created with alone, for frames do not keep it; it grows by zeros. Such chunks
 * cost next to nothing there, NaN among them. Default: zeros. */
#define HOLDALL_OPT_FILL 15
/* Datasets: rows that one is going to have, about, by which the length of its chunks is chosen.
 * Default: those that it is created with. */
#define HOLDALL_OPT_EXPECTED_ROWS 16
/* Frames: 0 (default) one file; 1 a folder with a file for each chunk, in which a changed chunk
 * leaves no dead room. */
#define HOLDALL_OPT_SPARSE 17
/* HOLDALL_FORMAT_BLZ_PAPER: chunks of a superchunk, each of which is a file, 1 to 1,048,576. What
 * is appended goes into the last one as it is there; a commit writes each one anew in which
 * something else has changed, through memory. Default: 16 to 64 MiB of content, by
 * HOLDALL_OPT_EXPECTED_ROWS; in a table at most 256 MiB of all columns together. */
#define HOLDALL_OPT_SUPERCHUNK_CHUNKS 18
/* Bloscpack: 1 (default) = with a table of where the chunks are; 0: without, each is found behind
 * the one before. */
#define HOLDALL_OPT_OFFSETS 19
/* Bloscpack: entries of that table (8 bytes each) kept free for appends in place. Default: 10 for
 * each chunk, 50 at least; a new file has room for 1,022 chunks where that is little beside its
 * content. Where there is none left, the next commit that needs one writes the file anew, with as
 * many free ones again; nothing else is different. A file of the papers' form has no more than it
 * has chunks to come. HOLDALL_E_LIMIT: 16 bytes for each are beyond HOLDALL_OPT_MEMORY_LIMIT. */
#define HOLDALL_OPT_SPARE_CHUNKS 20
/* Bloscpack: bytes kept free in each new chunk, so that a changed one fits into its place (default
 * 0); chunks that cannot be made smaller have none. */
#define HOLDALL_OPT_SPARE_BYTES 21
/* Bloscpack header: 0 (default) and 3 as Bloscpack 0.3 to 0.16 has it; 1, 2 as those before
 * (without metadata; 1 also without checksums and offsets); 103 as the papers have it, which
 * differs from 3 where there are metadata. */
#define HOLDALL_OPT_FORMAT_VERSION 22
/* HOLDALL_BAG_LIMITS_TAIL (default) or _SEPARATE: where the limits of a bag's records are. */
#define HOLDALL_OPT_BAG_LIMITS 23
/* 0 (default): limits are read from disk where they are needed, and those of records that are read
 * singly are kept, in 64 MiB for all bags of the process at most; 1: all are kept in memory (8
 * bytes a record), and the bag can be read on while another program appends to it. */
#define HOLDALL_OPT_BAG_LIMITS_CACHE 24
/* HOLDALL_BAG_SHARDS_CONCATENATED or _INTERLEAVED: how several files make one sequence. Default:
 * as they were written, in turns where they say so, else one after the other. */
#define HOLDALL_OPT_BAG_SHARDS 25
/* Streams of bags: records that are read, or wanted from the index function, before they are
 * taken. Default: as many as HOLDALL_OPT_BAG_READ_AHEAD_BYTES allows, 65,536 of them a batch at
 * most. 0: none; what is wanted is read then. */
#define HOLDALL_OPT_BAG_READ_AHEAD 26
/* Tables: 0 (default) columns of S, which NumPy calls bytes, go to Arrow as utf8, as which most
 * are meant; 1 as binary. */
#define HOLDALL_OPT_ARROW_BINARY 27
/* Tables: 0 (default) NaN goes to Arrow as it is, and spoils a sum as it does elsewhere; 1 as
 * null, which queries leave out. */
#define HOLDALL_OPT_ARROW_NULLS 28
/* Blosc2 frames that are read: where the frame begins in a larger file, in bytes; default 0. */
#define HOLDALL_OPT_AT 29
/* HOLDALL_FORMAT_B2ND and _CATERVA: 1 the array has both metalayers, so that python-blosc2 sees it
 * with its dtype, and Caterva too; 0 (default) that of the format. */
#define HOLDALL_OPT_BOTH_METALAYERS 30
/* Streams of bags: bytes of the records that are read before they are taken. Default: batches of
 * about 1 MiB, or of one record where that is larger, and two of them for each thread. A record
 * that alone has more than there are is read when it is wanted. 0: none. */
#define HOLDALL_OPT_BAG_READ_AHEAD_BYTES 33
/* Object stores: milliseconds, other tries included, that a request may wait for something to come
 * before the call is HOLDALL_E_IO; default 30,000. A part of 8 MiB that is sent must be there in
 * half of it. This and the next two are for every call that takes a path, and mean nothing to
 * local ones. */
#define HOLDALL_OPT_CLOUD_TIMEOUT 39
/* Object stores: times that a request that failed is tried again, within that time; default 5. */
#define HOLDALL_OPT_CLOUD_RETRIES 40
/* Object stores: requests that one call has under way at once, 1 to 256; default 16. */
#define HOLDALL_OPT_CLOUD_REQUESTS 41
/* 1: holdall_repair() returns what it would without it, status, message and counts, and changes
 * nothing: no file of the container is made, written, renamed or removed, and no journal is rolled
 * back. What a repair writes goes to a file without a name, on the container's file system where
 * that can be (Linux), else in /tmp: it takes as much room there as the repair would. Whether this
 * process may write there, and other writers that come meanwhile, are not seen: there is no lock
 * beside the container. holdall_verify() and holdall_schunk_open() with HOLDALL_READ: what such a
 * repair would leave is read, and also take the options of holdall_repair(), which are then those
 * of the repair. Default 0. */
#define HOLDALL_OPT_DRY_RUN 42
/* Files are read: one that is cut short under us is an error. */
#define HOLDALL_IO_READ 0
/* Files are mapped into memory: faster for small records; a file that is cut short while it is
 * open, by another program or by a commit that makes a superchunk shorter, ends this process with
 * SIGBUS. */
#define HOLDALL_IO_MAP 1
/* Not compressed. */
#define HOLDALL_CODEC_NONE 0
/* BloscLZ. */
#define HOLDALL_CODEC_BLOSCLZ 1
/* LZ4. */
#define HOLDALL_CODEC_LZ4 2
/* LZ4 with a thorough search. */
#define HOLDALL_CODEC_LZ4HC 3
/* Snappy. python-blosc cannot read it. */
#define HOLDALL_CODEC_SNAPPY 4
/* Deflate in zlib's wrapping. */
#define HOLDALL_CODEC_ZLIB 5
/* Zstandard. */
#define HOLDALL_CODEC_ZSTD 6
/* As the name says (option); or different ones (holdall_bag_codec). */
#define HOLDALL_CODEC_BY_NAME 255
/* None. */
#define HOLDALL_FILTER_NONE 0
/* The first bytes of all items, then their second bytes, and so on. */
#define HOLDALL_FILTER_SHUFFLE 1
/* The same with bits. */
#define HOLDALL_FILTER_BITSHUFFLE 2
/* Items become what they differ by (xor) from those of the first block of the chunk, which is then
 * read with any other. Before a shuffle. */
#define HOLDALL_FILTER_DELTA 3
/* Bytes become what they differ by from the byte before. Behind a shuffle. Caterva cannot read it. */
#define HOLDALL_FILTER_BYTEDELTA 35
/* No checksum. */
#define HOLDALL_SUM_NONE 0
/* Adler-32. */
#define HOLDALL_SUM_ADLER32 1
/* CRC-32, zlib's. */
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
/* The checksum that a zstd frame carries of its content; only there, holdall_checksum() has it
 * not. */
#define HOLDALL_SUM_ZSTD 9
/* Limits at the end of the file with the records. */
#define HOLDALL_BAG_LIMITS_TAIL 0
/* Limits in a file `limits.NAME` beside it. */
#define HOLDALL_BAG_LIMITS_SEPARATE 1
/* All records of the first shard, then those of the second, and so on. */
#define HOLDALL_BAG_SHARDS_CONCATENATED 0
/* Record i is record i / S of shard i modulo S, of S shards. */
#define HOLDALL_BAG_SHARDS_INTERLEAVED 1
/* A set of options. NULL in its place means the defaults. An option that means nothing to the call
 * that it is given to is HOLDALL_E_ARGUMENT, with its name in the message. May be used for many
 * calls, and freed right after them. */
typedef struct holdall_options holdall_options;

/* One of HOLDALL_OPT_*. */
typedef int32_t holdall_option;

/* Told now and then how far a long call is, in units of its own. Not zero stops the call with
 * HOLDALL_E_CANCELLED. These calls tell it: holdall_verify(), holdall_repair() of a superchunk or
 * a folder, opening with HOLDALL_OPT_VERIFY 2, holdall_bag_checksum() and
 * holdall_schunk_checksum() (to the function in the options that the handle was opened with),
 * holdall_schunk_copy() and holdall_array_copy() (in the options that the call is given). May run
 * on another thread than the caller's, one call at a time. */
typedef int (*holdall_progress_fn)(void *ctx, uint64_t done, uint64_t total);

/* Options with nothing set; to be freed with holdall_options_free(). NULL: no memory. */
HOLDALL_API HOLDALL_USE holdall_options *holdall_options_new(void);

/* Frees options; NULL is fine. */
HOLDALL_API void holdall_options_free(holdall_options *options);

/* Sets an option to a number. HOLDALL_E_ARGUMENT: no such option, one that takes bytes, or a value
 * that it cannot have; what does not fit the call is found when that is made. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_options_set(holdall_options *options,
                                   holdall_option option,
                                   int64_t value,
                                   holdall_error *err);

/* Sets an option to n bytes, which are copied; with n 0 (value may be NULL) it is set to none,
 * which HOLDALL_OPT_FILTERS can be. What they say is looked at by the calls that take them.
 * HOLDALL_E_ARGUMENT: no such option, or one that takes a number. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_options_set_bytes(holdall_options *options,
                                         holdall_option option,
                                         const void *value,
                                         size_t n,
                                         holdall_error *err);

/* Sets the function that long calls tell their progress to; NULL: none. It must stay callable as
 * long as handles live that were opened with these options. */
HOLDALL_API
void holdall_options_on_progress(holdall_options *options,
                                 holdall_progress_fn progress,
                                 void *ctx);

/* ---- where the bytes live: a path, or this -------------------------------------*/

/* A place where bytes live, instead of a path: a folder of named files. A container of one file
 * has the name "" there, and the files beside it names such as "limits.". May be used from many
 * threads. */
typedef struct holdall_io holdall_io;

/* The caller's storage, as functions. Each may be called by several threads at once if several use
 * the handles. Each returns 0 or more where it is done, and -errno (such as -ENOENT: no such file)
 * where it failed. Only `size` and `read_at` are required; where `write_at`, `truncate`, `sync`,
 * `rename` or `remove` is NULL, the storage is read-only.
 * 
 * Everything that commits promise rests on three of them: what `sync`, `rename` and `remove` have
 * done when they return must survive a failing power supply. Files are known by name alone: do not
 * replace a container that is open for reading.
 * Other threads than the caller's use them only where HOLDALL_OPT_THREADS was set. */
typedef struct holdall_io_functions {
    /* sizeof(holdall_io_functions): set it. */
    size_t struct_size;
    /* Given to each function. */
    void *ctx;
    /* The length of a file, in bytes. */
    int64_t (*size)(void *ctx, const char *name);
    /* Reads n bytes from `at` on; returns how many it read, fewer than n only at the end of the
     * file. */
    int64_t (*read_at)(void *ctx, const char *name, uint64_t at, void *dst, size_t n);
    /* Writes all n bytes at `at`; the file grows where needed. */
    int64_t (*write_at)(void *ctx, const char *name, uint64_t at, const void *src, size_t n);
    /* Sets the length of a file; makes an empty one first where there is none. */
    int64_t (*truncate)(void *ctx, const char *name, uint64_t size);
    /* Makes the bytes, the length and the name of a file durable. */
    int64_t (*sync)(void *ctx, const char *name);
    /* Renames in one step, replacing what bore the name. */
    int64_t (*rename)(void *ctx, const char *from, const char *to);
    /* Removes a file. */
    int64_t (*remove)(void *ctx, const char *name);
    /* Calls `each` with the name of each file in a folder ("": the storage itself), without that
     * of the folder, until it returns non-zero; on the calling thread. Needed for folders
     * alone: frames with a file a chunk that are changed, and datasets. */
    int64_t (*list)(void *ctx,
                    const char *folder,
                    int (*each)(void *arg, const char *name),
                    void *arg);
    /* Called once, after the last handle that uses the storage is closed; may be NULL. */
    void (*destroy)(void *ctx);
} holdall_io_functions;

/* Storage behind functions; the table is copied, what its functions need must live until
 * `destroy`. HOLDALL_E_ARGUMENT: struct_size is 0, within a field or beyond this version's, or
 * size or read_at is NULL; `destroy` is then not called. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_io_from_functions(const holdall_io_functions *functions,
                                         holdall_io **out,
                                         holdall_error *err);

/* One file, "", that is n bytes in memory: borrowed, read-only. The bytes must stay where they
 * are, and as they are, until every handle that was opened from it is closed. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_io_from_memory(const void *bytes,
                                      size_t n,
                                      holdall_io **out,
                                      holdall_error *err);

/* Closes it; NULL is fine. What was opened from it lives on. */
HOLDALL_API void holdall_io_close(holdall_io *io);

/* ---- what is it, is it sound, make it whole ------------------------------------*/

/* A Bloscpack file. */
#define HOLDALL_FORMAT_BLOSCPACK 1
/* A folder as bcolz writes it. */
#define HOLDALL_FORMAT_BCOLZ 2
/* A folder as BLZ writes it. */
#define HOLDALL_FORMAT_BLZ 3
/* A folder as the papers on BLZ and bcolz have it: files of many chunks, `__1__.bin`. */
#define HOLDALL_FORMAT_BLZ_PAPER 4
/* A Blosc2 frame: a file, or with HOLDALL_OPT_SPARSE a folder with a file for each chunk. */
#define HOLDALL_FORMAT_B2FRAME 5
/* A frame that is an array, by the metalayer `caterva`: without a dtype. */
#define HOLDALL_FORMAT_CATERVA 6
/* A frame that is an array, by the metalayer `b2nd`. */
#define HOLDALL_FORMAT_B2ND 7
/* A Bagz file. */
#define HOLDALL_FORMAT_BAGZ 8
/* A run of bytes in compressed chunks. */
#define HOLDALL_KIND_SCHUNK 1
/* Items of one type in a grid. */
#define HOLDALL_KIND_ARRAY 2
/* Named columns of one length. */
#define HOLDALL_KIND_TABLE 3
/* Records of any length. */
#define HOLDALL_KIND_BAG 4
/* To be read. */
#define HOLDALL_READ 0
/* Goes on with what is there, which must be. */
#define HOLDALL_APPEND 1
/* Nothing may be there (HOLDALL_E_EXISTS). */
#define HOLDALL_NEW 2
/* What is there stays until the first commit puts the new in its place. */
#define HOLDALL_REPLACE 3
/* A checksum under way, of bytes that come in pieces. */
typedef struct holdall_digest holdall_digest;

/* One of HOLDALL_FORMAT_*. */
typedef int32_t holdall_format;

/* One of HOLDALL_KIND_*. */
typedef int32_t holdall_kind;

/* Told of each fault that holdall_verify() finds: `part` is "record N", "chunk N" or the path; of
 * a column of a table "COLUMN/data/__N.blp", which of its files, or just "COLUMN". It is borrowed
 * for the call like `fault`. Not zero stops: holdall_verify() then returns the first fault, as
 * ever, with the counts so far. Runs on the calling thread. */
typedef int (*holdall_fault_fn)(void *ctx, const char *part, const holdall_error *fault);

/* One of HOLDALL_READ, _APPEND, _NEW, _REPLACE. */
typedef int32_t holdall_mode;

/* Version of the library that is running: major*1000000 + minor*1000 + patch. Compare it with
 * HOLDALL_VERSION_NUMBER, that of the header. */
HOLDALL_API uint32_t holdall_version_number(void);

/* Versions of the library and of the codecs in it, such as "0.1.0 zstd/1.5.7"; static. */
HOLDALL_API const char *holdall_version_text(void);

/* The name of a status, such as "HOLDALL_E_IO"; static; never NULL. */
HOLDALL_API const char *holdall_status_name(holdall_status status);

/* What is at this path (or spec, see holdall_bag_open())? Format and kind, from the bytes; Bagz
 * has no magic number, a file is a bag if it opens as one. An array in a Bloscpack file is told as
 * what it is stored as, HOLDALL_KIND_SCHUNK; holdall_array_open() tells that it is one. Blosc2
 * frames are arrays (HOLDALL_FORMAT_B2ND, also where there are both metalayers, or _CATERVA), or
 * else HOLDALL_KIND_SCHUNK. Folders of the papers whose fields stand apart are HOLDALL_KIND_TABLE,
 * and open as arrays, too. *format and *kind: each may be NULL. HOLDALL_E_FORMAT: nothing that is
 * known here. HOLDALL_E_MISSING: nothing is there. What is damaged is told by its first bytes;
 * holdall_verify() says whether it is sound. While a commit is under way, or where one was cut
 * off, it is what a handle that is opened for reading sees. Where a folder is a dataset or a frame
 * that is damaged, or was never committed, so that its format cannot be told, the status
 * is that error, and *kind is set all the same. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_identify(const char *path,
                                holdall_format *format,
                                holdall_kind *kind,
                                holdall_error *err);

/* The files that a spec names (see holdall_bag_open()), in order, each a path with a NUL behind
 * it, end to end in dst; their bytes, with the NULs, into *n. dst NULL asks for *n alone. Files
 * are looked for only where `@*` or a name as it stands asks for that: those that `@N` and plain
 * names stand for need not be there. A spec that names none has 0 bytes.
 * HOLDALL_E_ARGUMENT: there are shards of several numbers for `@*`. HOLDALL_E_MISSING: there are
 * none for it. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_files(const char *spec,
                                 char *dst,
                                 size_t dst_size,
                                 size_t *n,
                                 holdall_error *err);

/* Reads everything at a path (or spec) and checks every length and checksum, to the end; each
 * fault goes to `fault` (NULL: none is told). Then *sound, *bad and *unchecked (each may be NULL)
 * are how many records or chunks are sound, cannot be read (chunks that the header counts and that
 * are not there, too, of which one fault is told), and can be read but have no checksum, or have a
 * codec, filter or version that is not known, which is told too (HOLDALL_E_CODEC, _VERSION,
 * _UNSUPPORTED); they are set also where it returns that there are faults. *bad may be 0 although
 * the file is damaged, in its header or metadata: the status tells.
 * What begins as a Bloscpack file or a Blosc2 frame is looked at as a superchunk, a folder as an
 * array or a table (or a frame, if it is one), all else as a bag. What does not begin as a frame
 * any more counts as one if most of its header does, if it ends as one, or by its name: `.b2nd`,
 * `.b2frame`, `.caterva`, `.cat`. Of a frame whose header, index or trailer is damaged first that
 * is told, then what is lost with it, and the chunks that are not found again. Metadata that make
 * it an array must say as many bytes, or chunks, as there are.
 * Of a frame that another tool has written, or changed since, chunks without a checksum that fits
 * are unchecked. Bags: takes the options of holdall_bag_open() but HOLDALL_OPT_VERIFY and
 * _SKIP_DAMAGED. Superchunks and folders: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _IO, frames also
 * _AT. Superchunks in storage of the caller's: see HOLDALL_OPT_VERIFY 2. A writer may commit
 * meanwhile: what is found counts for one commit, so the call then starts again on the next one,
 * and tells no fault twice.
 * HOLDALL_OK: sound. Else the status and words of the first fault; what cannot be opened is one.
 * HOLDALL_E_CANCELLED, HOLDALL_E_ARGUMENT of an option, and HOLDALL_E_BUSY are none: nobody is
 * told, and the counts stay as they were. HOLDALL_E_BUSY: a writer committed during each of
 * several attempts, for 5 seconds or more. That says nothing of what is there. */
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

/* Brings the bag at this path (or spec, see holdall_bag_open(): then each of its files by itself,
 * and the error is about the first that cannot be repaired), which a crash, a full disk or another
 * program left torn, back to its last whole state: an unfinished change is undone or finished;
 * what a Bagz writer of a single file leaves when it is cut off (`X` and `limits.X`)
 * becomes a bag; separate limits that are torn or reach beyond the records go; a damaged last
 * limit is put right where frames or checksums prove what it was. A bag that is whole stays as it
 * is, and so does one of which nothing can be proved. *kept and *dropped (each may be NULL):
 * records that are there now, and limits of records that were not whole.
 * Where nothing proves what the limits of a compressed bag were, as of one that was cut, it is
 * HOLDALL_E_FORMAT, which says how many whole frames there are from its beginning on: with
 * HOLDALL_OPT_SKIP_DAMAGED 1 these become the records, what lies behind them is kept in a file
 * with `.holdall-damaged` behind its name, and *dropped is 1 then, as nobody knows how many are
 * lost. Options: HOLDALL_OPT_BAG_LIMITS, _CODEC, _DICTIONARY, _MEMORY_LIMIT, _DURABILITY, _LOCK,
 * _SKIP_DAMAGED.
 * 
 * Or the superchunk at this path: chunks that are sound stay; a damaged one among them becomes
 * zeros, so that the others keep their places; those that are missing at the end are cut off,
 * damaged metadata go, header and offsets are put right. Where the metadata make it an array,
 * zeros are put in the place of what is missing at the end instead, so that it opens as that array
 * (a whole file whose content is not as long as shape and dtype say stays as it is: nobody knows
 * what is right). *kept and *dropped are then chunks, those that are zeros now and metadata that
 * are gone (1) among the dropped: where *dropped is 0, nothing was lost. Options:
 * HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _DURABILITY, _LOCK.
 * 
 * Or the Blosc2 frame, a file or folder, array or not: it is made anew without the room of chunks
 * that no longer count; damaged chunks become zeros, damaged metalayers of the trailer go. Where
 * header, index or trailer are damaged, they are made anew: in a frame of this library any one
 * byte of each is put right for certain, and the index from the chunks, which the trailer knows by
 * their checksums; of others what fits: header and index without the trailer, whose metalayers are
 * lost then, the trailer's last whole commit that is still in the file, or the chunks as they
 * stand behind each other, if there are as many as there must be. Where the metalayers of the
 * header are lost, which say the shape, it is HOLDALL_E_FORMAT: with HOLDALL_OPT_SKIP_DAMAGED it
 * opens as a superchunk. holdall_verify() tells beforehand what is lost. *kept and *dropped are as
 * for superchunks, with 1 each for a trailer, an order of chunks that is not certain and a commit
 * that are lost. Options: as for superchunks.
 * 
 * Or the array or table in this folder: what was cut off is finished or undone, what writers left
 * goes. Where `meta/sizes` is damaged it is made anew from the chunks, as many as are whole and
 * follow each other; damaged chunks at the end are cut off; columns of a table come out as long as
 * the shortest, and names that are lost become those of the folders, if the table's `__attrs__` is
 * still there. HOLDALL_OPT_SKIP_DAMAGED 1: of the chunks that count a damaged one becomes the
 * default value, and a column of which nothing can be made is left out; without it either is
 * HOLDALL_E_FORMAT, named, and nothing was changed. All that is damaged, or no longer counts and
 * did, stays where it is, a file with `.holdall-damaged` behind its name. All of it happens with
 * one commit. `meta/storage` is nowhere else: HOLDALL_E_MISSING or _FORMAT where it is lost;
 * HOLDALL_E_CHECKSUM where it does not match its checksum, and HOLDALL_OPT_VERIFY 0 takes it, and
 * the other small files, as they are.
 * *kept and *dropped are chunks, with damaged attributes, names and columns among the dropped.
 * Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _DURABILITY, _LOCK, _VERIFY, _SKIP_DAMAGED.
 * 
 * In the papers' form the small files are made whole first, and chunks follow with another commit;
 * the superchunks that are written anew have copies of that name.
 * HOLDALL_E_UNSUPPORTED: objects of Python's, or columns of a table of bcolz's that are
 * superchunks. HOLDALL_E_FORMAT: it cannot be repaired (nothing of it is sound, it cannot be told
 * which chunks are missing, or it says to have lost more than it can have held), and nothing was
 * changed; HOLDALL_E_CODEC, _VERSION, _UNSUPPORTED: nor is that done to chunks that seem sound, of
 * a kind that is not known. HOLDALL_E_BUSY: a writer is at work. All of them: HOLDALL_OPT_DRY_RUN
 * 1 tells what it would do, and changes nothing. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_repair(const char *path,
                              const holdall_options *options,
                              uint64_t *kept,
                              uint64_t *dropped,
                              holdall_error *err);

/* The checksum (HOLDALL_SUM_*, 0 to 8) of n bytes, to dst: the digest's bytes, 32-bit sums
 * little-endian. dst NULL asks for the size in *digest_size; a short dst is HOLDALL_E_BUFFER.
 * HOLDALL_SUM_NONE has 0 bytes. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_checksum(int32_t sum,
                                const void *bytes,
                                size_t n,
                                void *dst,
                                size_t dst_size,
                                size_t *digest_size,
                                holdall_error *err);

/* Begins a checksum (HOLDALL_SUM_*, 0 to 8). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_digest_new(int32_t sum,
                                  holdall_digest **out,
                                  holdall_error *err);

/* Takes in n more bytes. HOLDALL_E_STATE: holdall_digest_finish() has given the digest. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_digest_update(holdall_digest *digest,
                                     const void *bytes,
                                     size_t n,
                                     holdall_error *err);

/* The digest of all bytes, as holdall_checksum() gives it of them in one piece; dst NULL asks for
 * its size, at any time. HOLDALL_E_STATE: it was given already. A short dst (HOLDALL_E_BUFFER)
 * does not count as that. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_digest_finish(holdall_digest *digest,
                                     void *dst,
                                     size_t dst_size,
                                     size_t *digest_size,
                                     holdall_error *err);

/* Frees it; NULL is fine. */
HOLDALL_API void holdall_digest_free(holdall_digest *digest);

/* ---- superchunks: a run of bytes in compressed chunks (Bloscpack, Blosc2) ------*/

/* An open superchunk: a run of bytes, its content, in compressed chunks, numbered from 0 on. May
 * be read from many threads at once. A handle that was opened for writing sees its own changes at
 * once; others see them when they open after the commit. What changes it is HOLDALL_E_STATE where
 * it was opened with HOLDALL_READ. */
typedef struct holdall_schunk holdall_schunk;

/* Opens a superchunk: its last commit, with HOLDALL_READ to be read, with HOLDALL_APPEND to be
 * read and changed (one at a time: HOLDALL_E_BUSY); the other modes are those of
 * holdall_schunk_create(). Reads every dialect of Bloscpack: headers of version 1 to 3, those
 * before there was a version (they cannot be changed: HOLDALL_E_UNSUPPORTED), and the layout of
 * the papers on BLZ and bcolz; and Blosc2 frames, files and folders, those that are arrays among
 * them: what changes their content as a superchunk leaves them without a shape that fits, and they
 * then open as no array.
 * Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _IO, _VERIFY, _SKIP_DAMAGED; with HOLDALL_APPEND
 * also _DURABILITY, _LOCK, _CODEC, _FILTERS (where they are not given, new chunks are made like
 * the last one), _LEVEL (which no file keeps), _BLOCK_BYTES, _CHUNK_BYTES (it counts where there
 * is no content yet, or one chunk of less than 16 KiB, which appends then fill up), _SPARE_CHUNKS,
 * _SPARE_BYTES. Frames: the first five and _AT; with HOLDALL_APPEND _DURABILITY, _LOCK, _CODEC,
 * _LEVEL, _FILTERS, _CHECKSUM. Progress is told by _VERIFY 2 and holdall_schunk_checksum().
 * HOLDALL_E_FORMAT: it is none, or chunks of it are missing or not where header and offsets say;
 * the position is that of the first such chunk. HOLDALL_OPT_SKIP_DAMAGED opens what is there,
 * holdall_repair() makes it whole. HOLDALL_E_CHECKSUM: header, index or trailer of a frame do not
 * fit what its writer has put down of them. HOLDALL_E_MISSING: there is nothing, or a
 * folder in which a frame was begun and never committed. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_open(const char *path,
                                   holdall_mode mode,
                                   const holdall_options *options,
                                   holdall_schunk **out,
                                   holdall_error *err);

/* As holdall_schunk_open(), in storage of the caller's, under the name ""; a frame in a folder as
 * "chunks.b2frame" and its chunks. It may be closed at once.
 * HOLDALL_E_UNSUPPORTED: it is to be changed, and the storage is read-only. There is no lock: the
 * caller sees to it that there is one writer. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_open_io(holdall_io *io,
                                      holdall_mode mode,
                                      const holdall_options *options,
                                      holdall_schunk **out,
                                      holdall_error *err);

/* Creates a superchunk of items of `typesize` bytes each (1 or more; it is what filters work with,
 * content need not be whole items), opened for changes. With HOLDALL_NEW nothing may be there
 * (HOLDALL_E_EXISTS), with HOLDALL_REPLACE what is there is replaced by the first commit (but not
 * a file by a frame that is a folder, nor the other way: HOLDALL_E_EXISTS). Format:
 * HOLDALL_FORMAT_BLOSCPACK; c-blosc 1.x reads its chunks, Bloscpack 0.16 its files. Or
 * HOLDALL_FORMAT_B2FRAME, which c-blosc2 and python-blosc2 read and change: appends and changed
 * chunks go behind what is there, which costs the room of the old ones until a copy or
 * holdall_repair(). HOLDALL_E_BUSY: another writer has it open. Options: those of
 * holdall_schunk_open() with HOLDALL_APPEND, and HOLDALL_OPT_CHECKSUM, _OFFSETS, _FORMAT_VERSION.
 * Frames: those of opening one, and _CHUNK_BYTES, _BLOCK_BYTES, _SPARSE.
 * HOLDALL_E_UNSUPPORTED: they do not go together.
 * 
 * Metadata that is set before content is appended, and HOLDALL_OPT_SPARE_CHUNKS where more than
 * 1,022 chunks will come, save the first commit a copy. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_create(const char *path,
                                     holdall_mode mode,
                                     holdall_format format,
                                     size_t typesize,
                                     const holdall_options *options,
                                     holdall_schunk **out,
                                     holdall_error *err);

/* As holdall_schunk_create(), in storage of the caller's, under the name "", as
 * holdall_schunk_open_io() has it. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_create_io(holdall_io *io,
                                        holdall_mode mode,
                                        holdall_format format,
                                        size_t typesize,
                                        const holdall_options *options,
                                        holdall_schunk **out,
                                        holdall_error *err);

/* Closes a superchunk; NULL is fine. What was not committed is gone. */
HOLDALL_API void holdall_schunk_close(holdall_schunk *schunk);

/* How many chunks. A commit of a Bloscpack file without any content makes one, which is empty: the
 * format knows none without. */
HOLDALL_API
uint64_t holdall_schunk_chunks(const holdall_schunk *schunk);

/* Bytes of content. */
HOLDALL_API uint64_t holdall_schunk_nbytes(const holdall_schunk *schunk);

/* Bytes on disk at the last commit; before the first one, of the chunks so far. */
HOLDALL_API uint64_t holdall_schunk_cbytes(const holdall_schunk *schunk);

/* Bytes of an item, as the header says (version 1: as the first chunk says); 1 for those of more
 * than 255. */
HOLDALL_API size_t holdall_schunk_typesize(const holdall_schunk *schunk);

/* Bytes of content of each chunk but the last, unless others were put in between; 0: a frame whose
 * chunks may have any length. */
HOLDALL_API
size_t holdall_schunk_chunk_size(const holdall_schunk *schunk);

/* The checksum of its chunks, one of HOLDALL_SUM_*. */
HOLDALL_API int32_t holdall_schunk_sum(const holdall_schunk *schunk);

/* How its header is laid out. Frames: 1, 2, 3, as c-blosc2 counts. Bloscpack: 0 (before there were
 * versions), 1, 2, 3, or 103, the layout of the papers, which only metadata tell from 3. -1: NULL. */
HOLDALL_API
int32_t holdall_schunk_version(const holdall_schunk *schunk);

/* One chunk: its bytes of content, its bytes as stored (0 as long as it, or what was written into
 * it, waits to be encoded, at the latest until the commit), and its codec, one of HOLDALL_CODEC_*
 * (LZ4HC is LZ4 here; _NONE where the content is stored as it is; of one that waits in Bloscpack,
 * what it is going to be encoded with). In frames chunks of one value take no room: 0 bytes,
 * _NONE. Each place may be NULL. The codec is _BY_NAME where it is none that is known. The content
 * is not looked at. HOLDALL_E_RANGE: there is no such chunk. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_chunk_info(const holdall_schunk *schunk,
                                         uint64_t chunk,
                                         size_t *nbytes,
                                         size_t *cbytes,
                                         int32_t *codec,
                                         holdall_error *err);

/* Reads n bytes of content from byte `at` on. Only the chunks that hold them are read, and of
 * those only the blocks that hold them are decoded, several in parallel where it pays.
 * With HOLDALL_OPT_SKIP_DAMAGED what is damaged reads as zeros and the call returns
 * HOLDALL_NOT_FOUND (> 0); else it fails, with the first damaged chunk as the position, and dst
 * holds anything. HOLDALL_E_CHECKSUM, _FORMAT, _CODEC, _VERSION, _UNSUPPORTED: that chunk is
 * damaged or of a kind that is not known. HOLDALL_E_RANGE: beyond the end. HOLDALL_E_STATE: the
 * file was changed since it was opened for reading; open it again. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_read(const holdall_schunk *schunk,
                                   uint64_t at,
                                   void *dst,
                                   size_t n,
                                   holdall_error *err);

/* Reads the content of a chunk; its size is in *n. dst NULL asks for it. Fails, and tells damage,
 * as holdall_schunk_read() does. HOLDALL_E_RANGE: there is no such chunk. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_read_chunk(const holdall_schunk *schunk,
                                         uint64_t chunk,
                                         void *dst,
                                         size_t dst_size,
                                         size_t *n,
                                         holdall_error *err);

/* Reads a chunk as it is stored (or is going to be), without its digest, which is checked; its
 * size is in *n. dst NULL asks for it. A damaged chunk is an error, also with
 * HOLDALL_OPT_SKIP_DAMAGED. HOLDALL_E_RANGE: there is no such chunk. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_read_raw(const holdall_schunk *schunk,
                                       uint64_t chunk,
                                       void *dst,
                                       size_t dst_size,
                                       size_t *n,
                                       holdall_error *err);

/* The checksum (HOLDALL_SUM_*, 0 to 8) of all content, as holdall_checksum() of it in one piece;
 * of an array's file, of its items as they are stored: in Fortran order, where
 * holdall_array_order() says so. Tells progress, in bytes. dst NULL asks for the size, which costs
 * nothing. Fails, and tells damage, as holdall_schunk_read() does. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_checksum(const holdall_schunk *schunk,
                                       int32_t sum,
                                       void *dst,
                                       size_t dst_size,
                                       size_t *digest_size,
                                       holdall_error *err);

/* Appends n bytes of content. They wait in memory until a chunk is full (several, where they are
 * encoded in parallel), then in a temporary file beside the superchunk, and count from the next
 * commit on; what was the last chunk is filled up first. On failure holdall_schunk_nbytes() tells
 * how much went in. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_append(holdall_schunk *schunk,
                                     const void *src,
                                     size_t n,
                                     holdall_error *err);

/* Appends one chunk that is encoded already, n bytes of it, as it is, without a digest; it is
 * decoded once, to be sure of it. HOLDALL_E_FORMAT: it is no whole chunk. HOLDALL_E_UNSUPPORTED: a
 * chunk of Blosc2, which readers of Bloscpack do not know. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_append_raw(holdall_schunk *schunk,
                                         const void *chunk,
                                         size_t n,
                                         holdall_error *err);

/* Writes n bytes over the content from byte `at` on, all of which must be there (HOLDALL_E_RANGE).
 * On failure some of them may be written, of which nothing counts before a commit. A changed chunk
 * goes where it was, if it is not longer than before (HOLDALL_OPT_SPARE_BYTES makes room for
 * that); else the commit writes the file anew. In a frame it goes behind the others. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_write(holdall_schunk *schunk,
                                    uint64_t at,
                                    const void *src,
                                    size_t n,
                                    holdall_error *err);

/* Puts n bytes of content, as one chunk of its own, before a chunk, or behind the last where
 * `chunk` is their number; what waits to be encoded becomes chunks first. The commit writes a
 * Bloscpack file anew. A chunk of another length makes a frame one whose chunks have any length,
 * which c-blosc2 reads from its version 3 on. HOLDALL_E_RANGE: `chunk` is beyond their number.
 * HOLDALL_E_ARGUMENT: 0 bytes, which no chunk of a frame has, or 2 GiB. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_insert(holdall_schunk *schunk,
                                     uint64_t chunk,
                                     const void *src,
                                     size_t n,
                                     holdall_error *err);

/* Takes a chunk away, with its content. The commit writes a Bloscpack file anew, unless it was the
 * last. HOLDALL_E_RANGE: there is no such chunk. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_remove(holdall_schunk *schunk,
                                     uint64_t chunk,
                                     holdall_error *err);

/* Keeps the first nbytes bytes of content. HOLDALL_E_RANGE: there are fewer. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_truncate(holdall_schunk *schunk,
                                       uint64_t nbytes,
                                       holdall_error *err);

/* How many named values it has, damaged ones too. Bloscpack: its metadata, JSON, is the one named
 * "", where there are any. Frames: their metalayers, those of the header, then those whose length
 * may change. */
HOLDALL_API uint32_t holdall_schunk_metas(const holdall_schunk *schunk);

/* The name of one of them; NULL beyond the last. */
HOLDALL_API
const char *holdall_schunk_meta_name(const holdall_schunk *schunk,
                                     uint32_t i);

/* A named value: *n bytes, without a NUL behind them, borrowed until the handle is closed or
 * changed. HOLDALL_NOT_FOUND: there is none of this name, *value is NULL and *n 0.
 * HOLDALL_E_CHECKSUM, _FORMAT: it is damaged; with HOLDALL_OPT_SKIP_DAMAGED there is none then. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_meta_get(const holdall_schunk *schunk,
                                       const char *name,
                                       const void **value,
                                       size_t *n,
                                       holdall_error *err);

/* Sets a named value of n bytes, which are copied, from the next commit on; value NULL removes it.
 * Bloscpack: "" alone (HOLDALL_E_UNSUPPORTED), and JSON (HOLDALL_E_ARGUMENT); version 1 and 2 have
 * none (HOLDALL_E_UNSUPPORTED). The commit writes the file anew where it does not fit into the
 * room that the one before had. Frames: any name of 1 to 31 bytes, any bytes, by
 * custom MessagePack. A new one is one of those whose length may change; those of the header
 * cannot be removed (HOLDALL_E_UNSUPPORTED), and with another length the commit writes the file
 * anew. HOLDALL_E_ARGUMENT: `holdall.crc32`, which is kept by the library. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_meta_set(holdall_schunk *schunk,
                                       const char *name,
                                       const void *value,
                                       size_t n,
                                       holdall_error *err);

/* Makes all changes so far durable and visible, together; where there are none, it does nothing.
 * On failure the file is as the last commit left it, and the commit may be tried again (after room
 * was made on a full disk, say), until that gives HOLDALL_E_STATE: after a sync that failed,
 * nobody knows what the disk holds; whoever opens the file next finds it whole. HOLDALL_E_EXISTS:
 * it was to be new, and somebody else has made one meanwhile. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_commit(holdall_schunk *schunk,
                                     holdall_error *err);

/* Writes content and named values, as this handle sees them, into a new superchunk with another
 * codec, chunk size, checksum or layout: this is also how files are converted, those of version 0
 * too. It takes little memory, and the copy is there, whole, when the call is done, or not at all.
 * mode, format: as for holdall_schunk_create(). Options: those of holdall_schunk_create(). What is
 * not given is as here: _CHUNK_BYTES, _CODEC and _FILTERS as the last chunk has them, _CHECKSUM
 * (CRC-32 where there is none; none in version 1, which has no place for it); the level is 5, the
 * layout that of version 3.
 * 
 * From a frame to a frame all named values go along, and codec, level and filters are as here;
 * from one format to the other content alone. Progress is told in bytes.
 * HOLDALL_E_ARGUMENT: path is this superchunk's own file. HOLDALL_E_EXISTS, HOLDALL_E_BUSY: as
 * holdall_schunk_create(). HOLDALL_E_UNSUPPORTED: there are metadata, and the layout that
 * HOLDALL_OPT_FORMAT_VERSION asks for has none. HOLDALL_NOT_FOUND (> 0): HOLDALL_OPT_SKIP_DAMAGED
 * was set for this handle, and what is damaged is zeros in the copy, or missing at its end or as
 * metadata. Else as holdall_schunk_read() and holdall_schunk_commit(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_schunk_copy(const holdall_schunk *schunk,
                                   const char *path,
                                   holdall_mode mode,
                                   holdall_format format,
                                   const holdall_options *options,
                                   holdall_error *err);

/* ---- arrays: items of one type in a grid (Bloscpack, bcolz, BLZ, b2nd, Caterva) */

/* The most dimensions of an array. */
#define HOLDALL_MAX_NDIM 16
/* Items are stored so that the last index runs fastest. */
#define HOLDALL_ORDER_C 0
/* Items are stored so that the first index runs fastest. */
#define HOLDALL_ORDER_F 1
/* An open array: items of one type in a grid of 0 to HOLDALL_MAX_NDIM dimensions. It is a const
 * handle for reading from many threads. A handle that was opened for writing sees its own changes
 * at once; others see them when they open after the commit. Indices are those of the array and
 * buffers are in C order, however the items are stored. Numbers are given as they are stored: see
 * the byte order of the dtype. */
typedef struct holdall_array holdall_array;

/* Opens an array: its last commit, with HOLDALL_READ to be read, with HOLDALL_APPEND to be read
 * and changed (one at a time: HOLDALL_E_BUSY). Options: those of holdall_schunk_open().
 * 
 * Bloscpack files are arrays where their metadata say so, as those of NumPy arrays do. Blosc2
 * frames, files and folders, are arrays by the metalayers `b2nd` and `caterva`; where they have
 * both, that which fits the chunks, `b2nd` first, and each commit of a new shape makes both say
 * it. Caterva has no dtype: its items are "|V8" and the like, bytes without a meaning. Frames with
 * neither are arrays of one dimension, of bytes, or of such items where they have more than one
 * byte; these come and go at the end. Other folders are arrays that bcolz or BLZ wrote, or as
 * their papers have them. They are made of rows, which come and go as a whole; those of Python's
 * objects can be read only. What is written goes on as it is there (codec, level, filter,
 * checksum) where the options do not say otherwise: those of holdall_array_create(). A handle that
 * reads sees as many rows as were committed when it was opened; where another writer changes some
 * of them, it may see these as they are then. Of a folder just the files in `meta` and the
 * attributes are opened now, those of chunks when a call needs them: one that is missing then is
 * HOLDALL_E_MISSING, and the words name it. A column of a table is such a folder, too.
 * HOLDALL_E_TYPE: it is a superchunk or a table and no array, or has a dtype that is not known.
 * HOLDALL_E_FORMAT: as holdall_schunk_open(), and where its content is not as long as shape and
 * dtype say (with HOLDALL_OPT_SKIP_DAMAGED what is missing at its end reads as zeros,
 * HOLDALL_NOT_FOUND, as damaged chunks do, unless it is more than the file can have held,
 * which holds for folders, too, that say to have lost much more than is there); of a frame also
 * where it has not as many chunks as the shape says, and what its metalayers say is not possible;
 * in folders also names and links that lead out of them. HOLDALL_E_CHECKSUM, _FORMAT: the metadata
 * are damaged (HOLDALL_E_TYPE with that option). HOLDALL_E_UNSUPPORTED: more than HOLDALL_MAX_NDIM
 * dimensions; a folder that can be read only, to be changed. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_open(const char *path,
                                  holdall_mode mode,
                                  const holdall_options *options,
                                  holdall_array **out,
                                  holdall_error *err);

/* As holdall_array_open(), in storage of the caller's: the file "", or else the files of a folder
 * ("meta/sizes", "data/__0.blp"; "chunks.b2frame", "00000000.chunk"). It may be closed at once. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_open_io(holdall_io *io,
                                     holdall_mode mode,
                                     const holdall_options *options,
                                     holdall_array **out,
                                     holdall_error *err);

/* Creates an array, in C order, opened for changes. It is of zeros, which cost nothing before the
 * commit, and in a frame nothing at all. With HOLDALL_NEW nothing may be there, with
 * HOLDALL_REPLACE what is there is replaced by the first commit. Format: HOLDALL_FORMAT_BLOSCPACK;
 * Bloscpack 0.16 reads it. Or a folder:
 * - HOLDALL_FORMAT_BCOLZ: bcolz and BLZ read it and append to it, but for what they cannot: with
 * zstd or bitshuffle it is for bcolz alone, and complex or structured dtypes they do not open.
 * - HOLDALL_FORMAT_BLZ: as BLZ 0.6 writes it, for BLZ alone; zstd and bitshuffle are
 * HOLDALL_E_UNSUPPORTED.
 * - HOLDALL_FORMAT_BLZ_PAPER: as the papers on both have it: chunks stand together in superchunks
 * (HOLDALL_OPT_SUPERCHUNK_CHUNKS), each a file that Bloscpack reads, with offsets and checksums;
 * HOLDALL_OPT_SPARE_CHUNKS and _SPARE_BYTES keep room in them. Structures are stored as they
 * are, not field by field.
 * 
 * - HOLDALL_FORMAT_B2ND: a Blosc2 frame as python-blosc2 has arrays, a file, or with
 * HOLDALL_OPT_SPARSE a folder. Chunks are cut along every dimension, and blocks in them, so that
 * a box touches little besides, along whichever axis.
 * - HOLDALL_FORMAT_CATERVA: the same as Caterva has it, which keeps no dtype.
 * HOLDALL_OPT_BOTH_METALAYERS: for both.
 * 
 * Appending leaves a folder in the form that it has.
 * 
 * dtype: as NumPy spells it: "<f8", "|S16", "<M8[ns]", "[('a','<i4'),('b','<f8')]".
 * 
 * shape: its length along each of the ndim dimensions, 0 or more; it can grow along any, cheaply
 * along the slowest, the first, a dataset along that alone, a frame cheaply along any at its end.
 * 
 * chunks, blocks: in a frame (HOLDALL_FORMAT_B2ND, _CATERVA) chunks and blocks have any shape. A
 * block longer than a chunk is padded. NULL: about HOLDALL_OPT_CHUNK_BYTES and _BLOCK_BYTES, about
 * as long along every dimension, blocks shorter along the first, which is read plane by plane
 * most, ending where chunks do along each dimension that has a part of about that length; never
 * longer than the array, where a length of 0 counts as one that will grow; the same on every
 * machine.
 * 
 * In the other formats a chunk is whole along all dimensions but the first, and blocks is NULL.
 * chunks NULL: about HOLDALL_OPT_CHUNK_BYTES (1 MiB) of whole rows, or of whole items where a row
 * is longer; in a folder, of whole rows, as bcolz chooses them for HOLDALL_OPT_EXPECTED_ROWS.
 * Options: those of holdall_schunk_create(); for a folder HOLDALL_OPT_EXPECTED_ROWS, _FILL, and of
 * those the ones of opening, _DURABILITY, _LOCK, _CODEC, _LEVEL, _FILTERS, _CHUNK_BYTES,
 * _BLOCK_BYTES and _CHECKSUM (CRC-32 by default, which other readers do not look at). For a frame:
 * those of holdall_schunk_create() for one, _FILL and _BOTH_METALAYERS. HOLDALL_E_ARGUMENT: chunks
 * and HOLDALL_OPT_CHUNK_BYTES are both given, or blocks and _BLOCK_BYTES; chunks of 2 GiB or more,
 * blocks of 512 MiB or more.
 * HOLDALL_E_TYPE: a dtype that is not known. HOLDALL_E_UNSUPPORTED: objects of Python's, another
 * format, other chunks; in a frame items of no bytes. HOLDALL_E_LIMIT: more chunks than a frame
 * can have. HOLDALL_E_ARGUMENT: more than HOLDALL_MAX_NDIM dimensions, a folder of none, a chunk
 * of length 0, more than 2^64 bytes. HOLDALL_E_EXISTS, HOLDALL_E_BUSY: as holdall_schunk_create(). */
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

/* As holdall_array_create(), in storage of the caller's, under the names that
 * holdall_array_open_io() tells of. HOLDALL_E_UNSUPPORTED: the storage is read-only. There is no
 * lock: the caller sees to it that there is one writer. */
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

/* Closes an array; NULL is fine, and a column of a table stays open. What was not committed is
 * gone. */
HOLDALL_API void holdall_array_close(holdall_array *array);

/* How many dimensions, 0 to HOLDALL_MAX_NDIM. */
HOLDALL_API uint32_t holdall_array_ndim(const holdall_array *array);

/* Items along each dimension: ndim values, borrowed until the array is closed or changed. */
HOLDALL_API const uint64_t *holdall_array_shape(const holdall_array *array);

/* The shape of a chunk: ndim values, borrowed until the array is closed. Reads along it are the
 * cheapest. Chunks of a Bloscpack file cut the run of its items anywhere: these are the whole rows
 * (those of the slowest dimension: the first in C order, the last in Fortran order) in one, at
 * least 1. */
HOLDALL_API
const uint64_t *holdall_array_chunkshape(const holdall_array *array);

/* The same of a block, the least that is decoded for an item: those of the first chunk; as a
 * chunk, while there is none. ndim values, borrowed until the array is closed. */
HOLDALL_API const uint64_t *holdall_array_blockshape(const holdall_array *array);

/* The type of its items, as NumPy spells it and as it was spelled when the array was made;
 * borrowed until the array is closed. */
HOLDALL_API const char *holdall_array_dtype(const holdall_array *array);

/* Bytes of an item; may be 0. */
HOLDALL_API size_t holdall_array_itemsize(const holdall_array *array);

/* HOLDALL_ORDER_C or _F: how the items are stored. The slowest dimension is the first in C order,
 * the last in Fortran order: at its end an array grows and is cut without anything else having to
 * move. */
HOLDALL_API int32_t holdall_array_order(const holdall_array *array);

/* Bytes of all items. */
HOLDALL_API uint64_t holdall_array_nbytes(const holdall_array *array);

/* Bytes on disk at the last commit; before the first one, of the chunks so far. Of a folder, what
 * its writer has put down, which is an estimate with bcolz and BLZ. */
HOLDALL_API uint64_t holdall_array_cbytes(const holdall_array *array);

/* Reads a box: of each dimension d the items start[d], start[d] + step[d], ..., count[d] of them.
 * Each has ndim values; step NULL: 1 everywhere.
 * strides[d] is how many bytes the items of dimension d are apart in dst; NULL: they are packed,
 * in C order. The box begins at dst, whatever the signs: where strides[d] is negative, the items
 * of dimension d begin at its far end. Nothing outside of the box is written, between its items
 * neither. Each chunk that the box touches is decoded once, or as much of it as is needed, several
 * in parallel where it pays. Of a frame no more read calls go to the file than blocks are touched,
 * and blocks beside each other are read with one. One more comes the first time that a chunk is
 * read, if it has more than 64 KiB and no checksum that is looked at, and its first block that is
 * wanted ends, as it seems, more than 128 KiB behind its beginning: only the chunk itself tells
 * where its blocks are. With a checksum that is looked at, all of a chunk is read the first time,
 * with one call. HOLDALL_E_BUFFER: dst_size is too small. HOLDALL_E_RANGE: the box reaches beyond
 * the array. HOLDALL_E_ARGUMENT: a step is 0. HOLDALL_E_TYPE: objects. HOLDALL_NOT_FOUND (> 0)
 * and all else: as holdall_schunk_read(); dst then holds anything. */
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

/* Writes a box, from a buffer as holdall_array_read() has it; a stride of 0 repeats an item. It
 * counts from the next commit on. Whole chunks are made anew in parallel, one that is changed in
 * part is first decoded: where that one is damaged it fails as holdall_schunk_read() does, also
 * with HOLDALL_OPT_SKIP_DAMAGED. On failure some of it may be written: go on from the last commit,
 * or write it again. HOLDALL_E_BUFFER, _RANGE, _ARGUMENT: as reading, with nothing written. */
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

/* Reads all combinations of counts[d] positions of each dimension d, in any order, repeated or
 * not, as numpy.ix_ does: packed, in C order. positions[d] NULL: all of that dimension, whatever
 * counts[d] is. Fails as holdall_array_read() does: HOLDALL_E_RANGE of any position that the
 * dimension has not. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_read_orthogonal(const holdall_array *array,
                                             const uint64_t *const *positions,
                                             const uint64_t *counts,
                                             void *dst,
                                             size_t dst_size,
                                             holdall_error *err);

/* Writes all combinations of positions, from a buffer as holdall_array_read_orthogonal() has it;
 * of a position that is there twice the last counts. On failure some of it may be written. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_write_orthogonal(holdall_array *array,
                                              const uint64_t *const *positions,
                                              const uint64_t *counts,
                                              const void *src,
                                              size_t src_size,
                                              holdall_error *err);

/* Reads n single items, one behind the other: `coordinates` has n times ndim values. Chunks are
 * decoded once, whatever the order of the items. HOLDALL_E_RANGE: one is outside (err->position:
 * which one). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_read_points(const holdall_array *array,
                                         const uint64_t *coordinates,
                                         size_t n,
                                         void *dst,
                                         size_t dst_size,
                                         holdall_error *err);

/* Lets the array grow by `count` along a dimension: holdall_array_insert() at its end. Along the
 * slowest (see holdall_array_order()) that is cheap. src: the new items, packed, in C order,
 * src_size bytes of them. They count from the next commit on; on failure nothing was appended.
 * HOLDALL_E_ARGUMENT: there is no such axis, or src_size is not that of the new items. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_append(holdall_array *array,
                                    uint32_t axis,
                                    uint64_t count,
                                    const void *src,
                                    size_t src_size,
                                    holdall_error *err);

/* Puts `count` new places into a dimension before place `at`. src: as for holdall_array_append().
 * Items behind them in the file move: chunks are made anew from there on, in the slowest dimension
 * (see holdall_array_order()) up to where their limits fall together again (`count` a multiple of
 * the rows in a chunk), in another one all of them. So put in many at once. In a frame nothing but
 * the numbers of chunks changes where `at` and `count` are multiples of the length of a chunk; an
 * append makes the chunks at the edge anew. They count from the next commit on; on failure nothing
 * was put in. HOLDALL_E_RANGE: `at` is beyond the end. HOLDALL_E_ARGUMENT: there is no such axis,
 * or src_size is not that of the new items.
 * 
 * A damaged chunk that has to be made anew: as holdall_schunk_read(), also with
 * HOLDALL_OPT_SKIP_DAMAGED; no change takes what is damaged for zeros. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_insert(holdall_array *array,
                                    uint32_t axis,
                                    uint64_t at,
                                    uint64_t count,
                                    const void *src,
                                    size_t src_size,
                                    holdall_error *err);

/* Takes away `count` places of a dimension from `at` on, from the next commit on. Those at the end
 * of the slowest (see holdall_array_order()) just go; else items behind them move, and that costs
 * what it does for holdall_array_insert(). On failure nothing was taken.
 * HOLDALL_E_RANGE: there are fewer. HOLDALL_E_ARGUMENT: there is no such axis. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_remove(holdall_array *array,
                                    uint32_t axis,
                                    uint64_t at,
                                    uint64_t count,
                                    holdall_error *err);

/* Writes the array, as this handle sees it, into a new container, with other chunks, codec or
 * checksum, or another layout: this is also how files are converted. Dtype with its spelling,
 * shape and order stay (a frame is in C order and spells it as NumPy does), and named values: in
 * the metadata of a file those of a folder are the members of a member "attrs", from which
 * they become those of a folder again, as does all else there that does not make it an array. In a
 * frame they are MessagePack, elsewhere JSON: bytes become {"hex": "00ff"}, what is no MessagePack
 * is taken for bytes, and what is no JSON becomes text; from frame to frame they stay as they are.
 * It takes little memory, and is there, whole, when the call is done, or not at all. mode, format,
 * blocks: as for holdall_array_create(). chunks: as there, but with any number of places of the
 * slowest dimension (see holdall_array_order()); NULL: HOLDALL_OPT_CHUNK_BYTES, or as here.
 * A frame: options, and what is not given, as for holdall_array_create(), but chunks, blocks,
 * codec, level and filters of a frame are as here.
 * From frame to frame, with chunks of the same shape: those that take no room take none there, and
 * where blocks have the same shape, too, and no codec, level or filter is given, chunks go over as
 * they are stored, held against their checksums before. A folder: options, and what is not given,
 * as for holdall_array_create(), but the fill value is that of here; the array must be in C order.
 * Else options: those of holdall_schunk_create(). Codec, filter and checksum that are not given
 * are as here (_FILTERS and _CODEC as the last chunk has them; CRC-32 for a file without
 * checksums); the level is 5, the layout that of version 3. Progress is told in bytes.
 * HOLDALL_E_ARGUMENT: path is this array's own file; its own folder, with HOLDALL_REPLACE, is
 * replaced by the copy. HOLDALL_E_UNSUPPORTED: HOLDALL_OPT_FORMAT_VERSION 1 or 2, which have no
 * place for what makes an array. HOLDALL_E_ARGUMENT: the name of a value has more than the 31
 * bytes that it can have in a frame. HOLDALL_NOT_FOUND (> 0): HOLDALL_OPT_SKIP_DAMAGED was set for
 * this handle, and what is damaged is zeros in the copy, or attributes are missing there.
 * Else as holdall_array_read() and holdall_array_commit(). */
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

/* Gives the array another shape, of ndim values, from the next commit on: what is beyond goes,
 * what is new is zeros, or what holdall_array_fill() gives. What holdall_array_insert() says of
 * its costs holds for each dimension that differs; zeros for any but the slowest take as much
 * memory as they are. In a frame, where each dimension grows and shrinks at its end, chunks at the
 * old and the new edges are made anew, and no more. A shape that the array cannot have, or not
 * within the limit of memory, is refused before anything is changed; where a file fails on the
 * way, it may have a shape on the way, with no commit of it.
 * HOLDALL_E_ARGUMENT: more than 2^64 bytes. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_resize(holdall_array *array,
                                    const uint64_t *shape,
                                    holdall_error *err);

/* Makes all changes so far durable and visible, content and shape together. Fails as
 * holdall_schunk_commit() does. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_commit(holdall_array *array,
                                    holdall_error *err);

/* The item that is where nothing was written, and where damage was skipped (bcolz and BLZ:
 * `dflt`): holdall_array_itemsize() bytes, or those of a row where each item of a row has its own.
 * *value is borrowed until the array is closed. HOLDALL_NOT_FOUND: zeros; *value is NULL and *n 0.
 * HOLDALL_E_FORMAT: what is stored does not fit the dtype. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_fill(const holdall_array *array,
                                  const void **value,
                                  size_t *n,
                                  holdall_error *err);

/* Sets that value, from the next commit on: what is there stays, and what the array grows by is
 * this. src: `size` bytes, those of an item, or of a row; 0: zeros. What a structure has between
 * its fields, and the bits of what is no number, do not come back. HOLDALL_E_UNSUPPORTED: arrays
 * in Bloscpack files and frames have none; long doubles and imaginary parts, which those
 * files cannot tell of. HOLDALL_E_ARGUMENT: another size, or characters that are none. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_fill_set(holdall_array *array,
                                      const void *src,
                                      size_t size,
                                      holdall_error *err);

/* An item of an array of Python's objects (dtype "object" or "O", one dimension, itemsize 0): its
 * bytes as Python has pickled them, which nothing here looks into. Whoever unpickles them runs
 * what their writer wanted to be run. dst NULL asks for the size in *n; a short dst is
 * HOLDALL_E_BUFFER. HOLDALL_E_TYPE: other arrays; those of objects are HOLDALL_E_TYPE for the
 * calls that read items by number. HOLDALL_E_RANGE: there is no item i. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_read_object(const holdall_array *array,
                                         uint64_t i,
                                         void *dst,
                                         size_t dst_size,
                                         size_t *n,
                                         holdall_error *err);

/* How many named values it has. Bloscpack: its metadata, JSON, is the one named "". Folders: their
 * attributes, each of which is JSON (as Python writes it: NaN and Infinity are numbers there).
 * Frames: their metalayers but `b2nd` and `caterva`, any bytes, by custom MessagePack. Where the
 * file of those of a folder is damaged, its name is the only one, and asking for any of them tells
 * what is wrong; with HOLDALL_OPT_SKIP_DAMAGED there are none, and asking fails in the same way. */
HOLDALL_API
uint32_t holdall_array_attrs(const holdall_array *array);

/* The name of one of them; NULL beyond the last. */
HOLDALL_API const char *holdall_array_attr_name(const holdall_array *array, uint32_t i);

/* A named value: *n bytes, without a NUL behind them, borrowed until the array is closed or
 * changed. HOLDALL_NOT_FOUND: there is none of this name, *value is NULL and *n 0.
 * HOLDALL_E_FORMAT, _CHECKSUM, _LIMIT: the file of them is damaged, or too large; so fails
 * changing one, too. The shape in the metadata is that of the last commit. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_attr_get(const holdall_array *array,
                                      const char *name,
                                      const void **value,
                                      size_t *n,
                                      holdall_error *err);

/* Sets a named value, from the next commit on. Bloscpack: "" alone, which cannot be removed: JSON
 * of an object in which dtype, shape, order and container stay what they are; anything may stand
 * beside them. Folders: any name, any JSON; value NULL removes it, if it is there. Frames: as
 * holdall_schunk_meta_set(); `b2nd` and `caterva` are HOLDALL_E_ARGUMENT. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_array_attr_set(holdall_array *array,
                                      const char *name,
                                      const void *value,
                                      size_t n,
                                      holdall_error *err);

/* ---- tables: named columns of one length (bcolz, BLZ) --------------------------*/

/* An open table: columns of one length, each an array with a name. It is a const handle for
 * reading from many threads, and so is each of its columns. A handle that was opened for writing
 * belongs to one thread at a time and sees its own changes at once; others see them, all of them
 * together, when they open after the commit. */
typedef struct holdall_table holdall_table;

/* Opens a table, a folder that bcolz or BLZ wrote, or of their papers' layout with fields that
 * stand apart: its last commit, with HOLDALL_READ to be read, with HOLDALL_APPEND to be read and
 * changed (one at a time, and none of its columns by itself meanwhile: HOLDALL_E_BUSY). Options,
 * and which files are opened when: those of holdall_array_open(). A table is as long as its
 * shortest column; see holdall_table_column_rows(). What a longer one has beyond that goes with
 * the next commit.
 * HOLDALL_E_TYPE: it is an array, or a file. HOLDALL_E_MISSING, HOLDALL_E_FORMAT: a column is not
 * there, or broken, and the words name it; names of columns that lead out of the folder.
 * HOLDALL_E_UNSUPPORTED: it is to be changed, and can be read only: a column holds objects of
 * Python's. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_open(const char *path,
                                  holdall_mode mode,
                                  const holdall_options *options,
                                  holdall_table **out,
                                  holdall_error *err);

/* As holdall_table_open(), in storage of the caller's: the files "__rootdirs__",
 * "NAME/meta/sizes", "NAME/data/__0.blp" and so on, in the papers' form "meta/sizes",
 * "data/NAME/__1__.bin" and so on. It may be closed at once. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_open_io(holdall_io *io,
                                     holdall_mode mode,
                                     const holdall_options *options,
                                     holdall_table **out,
                                     holdall_error *err);

/* Creates a table without rows, of `columns` columns, 1 or more, with these names and dtypes, in
 * this order. With HOLDALL_NEW nothing may be there, with HOLDALL_REPLACE the table that is there
 * is replaced by the first commit, until which nobody else sees anything of the new one. Format:
 * HOLDALL_FORMAT_BCOLZ, a folder that bcolz and BLZ read and append to, or HOLDALL_FORMAT_BLZ, as
 * BLZ has it, with the limits that holdall_array_create() tells of, or HOLDALL_FORMAT_BLZ_PAPER,
 * one dataset whose fields have folders of their own ("data/NAME", and "data/NAME/FIELD" for a
 * dtype with fields), with superchunks of which each column's holds as many rows: chunks are as
 * long as given, or usual, for a column of average width; the columns have no attributes of their
 * own. With HOLDALL_REPLACE it takes the place of a table of its form. names: UTF-8, each also
 * that of the column's folder, so that it holds no slash, is not "", ".", ".." or a name of the
 * table's own files, and no other one's. dtypes: as NumPy spells them, see holdall_array_create();
 * one that is an array of items, "('<f4', (3,))", makes a column whose rows have that shape.
 * Options: those of holdall_array_create() for a folder, each for all columns.
 * 
 * HOLDALL_OPT_EXPECTED_ROWS: how many rows the table is going to have, about: chunks of each
 * column are as long as bcolz makes them for that many (of the fewest bytes where it is not
 * given). HOLDALL_E_EXISTS: something is there; a name is there twice. HOLDALL_E_TYPE: a dtype
 * that is not known. HOLDALL_E_UNSUPPORTED: objects of Python's, another format. HOLDALL_E_BUSY:
 * another writer is at work. */
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

/* As holdall_table_create(), in storage of the caller's, which has the files that
 * holdall_table_open_io() tells of. HOLDALL_E_UNSUPPORTED: the storage is read-only. There is no
 * lock: the caller sees to it that there is one writer. */
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

/* Closes a table and its columns; NULL is fine. What was not committed is gone. */
HOLDALL_API void holdall_table_close(holdall_table *table);

/* How many rows it has. */
HOLDALL_API uint64_t holdall_table_rows(const holdall_table *table);

/* How many columns it has. */
HOLDALL_API uint32_t holdall_table_columns(const holdall_table *table);

/* The name of a column; NULL beyond the last. Borrowed until the table is closed, or a column
 * added or removed. */
HOLDALL_API
const char *holdall_table_column_name(const holdall_table *table,
                                      uint32_t i);

/* A column, as an array with the rows of the table; NULL beyond the last. Borrowed until the table
 * is closed, or a column added or removed: closing it does nothing, and it is changed by way of
 * the table alone (HOLDALL_E_STATE). */
HOLDALL_API
const holdall_array *holdall_table_column(const holdall_table *table,
                                          uint32_t i);

/* How many rows a column has in its files: more than the table where a writer was cut off while it
 * appended to one column after the other. Those of the last commit, 0 for a column that is new
 * since then and beyond the last column. */
HOLDALL_API
uint64_t holdall_table_column_rows(const holdall_table *table,
                                   uint32_t i);

/* How many named values it has, its attributes; those of a column are its own. */
HOLDALL_API uint32_t holdall_table_attrs(const holdall_table *table);

/* The name of one of them; NULL beyond the last. Borrowed until the table is closed or changed. */
HOLDALL_API const char *holdall_table_attr_name(const holdall_table *table, uint32_t i);

/* A named value, JSON: *n bytes, without a NUL behind them, borrowed until the table is closed, or
 * one is set. HOLDALL_NOT_FOUND: there is none of this name, *value is NULL and *n 0. Where they
 * are damaged: as holdall_array_attr_get(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_attr_get(const holdall_table *table,
                                      const char *name,
                                      const void **value,
                                      size_t *n,
                                      holdall_error *err);

/* Sets a named value, n bytes of JSON, from the next commit on; value NULL removes it, if it is
 * there. HOLDALL_E_ARGUMENT: it is no JSON. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_attr_set(holdall_table *table,
                                      const char *name,
                                      const void *value,
                                      size_t n,
                                      holdall_error *err);

/* Sets a named value of column i in the same way, or removes it; it is read as
 * holdall_array_attr_get() of the column has it. HOLDALL_E_RANGE: there is no such column.
 * HOLDALL_E_ARGUMENT: it is no JSON. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_column_attr_set(holdall_table *table,
                                             uint32_t i,
                                             const char *name,
                                             const void *value,
                                             size_t n,
                                             holdall_error *err);

/* Puts rows behind the last, from the next commit on. columns[i]: the new items of column i,
 * `rows` rows of them, packed, in C order, sizes[i] bytes; both have a value for each column of
 * the table. Nothing is borrowed beyond the call. Any number of rows will do: what does not fill a
 * chunk waits in memory, so that few commits of many rows cost the least. On failure nothing was
 * appended to any column. HOLDALL_E_ARGUMENT: sizes[i] is not that of the new items. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_append(holdall_table *table,
                                    uint64_t rows,
                                    const void *const *columns,
                                    const size_t *sizes,
                                    holdall_error *err);

/* Writes over `rows` rows of column i, from row `first` on, from the next commit on. src: their
 * items, packed, in C order, src_size bytes. Costs, and what is left on failure: as
 * holdall_array_write(). HOLDALL_E_RANGE: there is no such column, or it has fewer rows.
 * HOLDALL_E_ARGUMENT: src_size is not that of the items. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_write(holdall_table *table,
                                   uint32_t i,
                                   uint64_t first,
                                   uint64_t rows,
                                   const void *src,
                                   size_t src_size,
                                   holdall_error *err);

/* Puts a new column before column `at`, behind the last where `at` is their number, from the next
 * commit on. name, dtype: as for holdall_table_create(). src: an item, or a row of items, for each
 * row of the table, packed, in C order, src_size bytes. Options are those with which the table was
 * opened; what they do not say (codec, level, checksum) is as with the first column. On failure
 * all is as it was. HOLDALL_E_EXISTS: a column of this name is there. HOLDALL_E_RANGE: `at` is
 * beyond their number. HOLDALL_E_ARGUMENT: src_size is not that of the items, or a name that no
 * column can have. HOLDALL_E_TYPE: a dtype that is not known. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_column_add(holdall_table *table,
                                        uint32_t at,
                                        const char *name,
                                        const char *dtype,
                                        const void *src,
                                        size_t src_size,
                                        holdall_error *err);

/* Takes a column away, from the next commit on, which removes its files. Who reads them then gets
 * HOLDALL_E_MISSING. HOLDALL_E_ARGUMENT: there is none of this name, or it is the only one. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_column_remove(holdall_table *table,
                                           const char *name,
                                           holdall_error *err);

/* Keeps the first `rows` rows, from the next commit on. HOLDALL_E_RANGE: there are fewer. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_truncate(holdall_table *table,
                                      uint64_t rows,
                                      holdall_error *err);

/* Makes all changes so far durable and visible: those of all columns, which columns there are,
 * attributes, all together or none of it, whatever comes in between. Where there are none, it does
 * nothing. Fails as holdall_schunk_commit() does; HOLDALL_E_STATE also where a writer without the
 * lock has changed the table since it was opened here. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_commit(holdall_table *table,
                                    holdall_error *err);

/* ---- bags: records of any length (Bagz) ----------------------------------------*/

/* Records of any length, as Bagz keeps them: one file, or several read as one. May be read from
 * many threads at once. */
typedef struct holdall_bag holdall_bag;

/* A writer of one bag. */
typedef struct holdall_bag_writer holdall_bag_writer;

/* What one batch read gave: bytes and offsets, which belong to it. */
typedef struct holdall_records holdall_records;

/* Opens a bag for reading: its last commit. `spec` is a path, or several with commas between
 * (empty ones are skipped, and a spec of these alone is a bag without a record);
 * in each, the first `@N` behind the last slash, N from 1 to 99999, stands for the files
 * `-00000-of-0000N` and so on, `@*` for as many as there are: "a@3.bagz,b.bag". A backslash before
 * `,`, `@` or a backslash takes it as it is, and a name that exists as it stands is taken as it
 * stands. Each file is compressed or not by its own name. The files are all as they were at one
 * moment, also while a set of them is written. Their records are one sequence, file by file, as
 * Bagz has it, or in turns where they are named as a set (`@`) and say that they were written so,
 * as those of holdall_bag_writer_open() do (those of 0.1.0 do not, and a caller's storages only
 * where they are compressed); HOLDALL_OPT_BAG_SHARDS says which. HOLDALL_E_ARGUMENT: such a set is
 * named together with other files. Takes no more memory or time for 10^8 records than for 10,
 * unless limits are to be kept in memory. Of more than 64 shards, or as many as the process cannot
 * well have open, those stay open that were of use lately: a quarter of the files that the process
 * may have open (`ulimit -n`) at the most, and at most 4096, of all bags together. None of these
 * is mapped, and one that was replaced meanwhile cannot be read any more (HOLDALL_E_STATE).
 * Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _IO, _VERIFY, _SKIP_DAMAGED, _CODEC, _DICTIONARY,
 * _BAG_LIMITS, _BAG_LIMITS_CACHE, _BAG_SHARDS; progress is told by holdall_bag_checksum() and
 * _VERIFY 2. HOLDALL_E_MISSING: a file is not there (the message names it). HOLDALL_E_ARGUMENT:
 * there are sets of different N where `@*` asks for one. HOLDALL_E_FORMAT: a file is no bag, or a
 * torn one: see holdall_repair(); or the files are to be read in turns, and their numbers of
 * records do not rise or fall as turns leave them. HOLDALL_E_CHECKSUM: `checksums.NAME` is that of
 * another state of the bag. HOLDALL_E_BUSY: it was changed each time it was looked at, for 5
 * seconds. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_open(const char *spec,
                                const holdall_options *options,
                                holdall_bag **out,
                                holdall_error *err);

/* As holdall_bag_open(), with n storages of the caller's as shards, each with its records under
 * the name "". They may be closed at once. n must be at least 1. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_open_io(holdall_io *const *shards,
                                   uint32_t n,
                                   const holdall_options *options,
                                   holdall_bag **out,
                                   holdall_error *err);

/* The records start, start + step, ... n of them, as a bag of its own that shares the files; step
 * may be negative, not 0 (HOLDALL_E_ARGUMENT); of n 0 it is empty. A slice of a slice counts in
 * the slice. HOLDALL_E_RANGE: it reaches beyond the bag. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_slice(const holdall_bag *bag,
                                 uint64_t start,
                                 int64_t step,
                                 uint64_t n,
                                 holdall_bag **out,
                                 holdall_error *err);

/* Closes a bag; NULL is fine. Slices of it live on. */
HOLDALL_API void holdall_bag_close(holdall_bag *bag);

/* How many records. 0 for NULL, as all functions that cannot fail give for NULL. */
HOLDALL_API uint64_t holdall_bag_size(const holdall_bag *bag);

/* HOLDALL_CODEC_NONE or _ZSTD, or _BY_NAME where shards differ. */
HOLDALL_API int32_t holdall_bag_codec(const holdall_bag *bag);

/* What protects the records against silent damage: HOLDALL_SUM_CRC32 (`checksums.NAME`), _ZSTD (in
 * the frames; the first one is looked at), or _NONE: in all shards, or the least of them. With
 * HOLDALL_OPT_VERIFY 0, `checksums.NAME` protects nothing. */
HOLDALL_API
int32_t holdall_bag_sum(const holdall_bag *bag);

/* HOLDALL_BAG_LIMITS_TAIL or _SEPARATE. */
HOLDALL_API int32_t holdall_bag_limits(const holdall_bag *bag);

/* Bytes on disk of all its files, with limits and checksums, of the whole bag also for a slice. */
HOLDALL_API uint64_t holdall_bag_cbytes(const holdall_bag *bag);

/* Files it is made of, limits and checksums not counted. */
HOLDALL_API uint32_t holdall_bag_shards(const holdall_bag *bag);

/* The name of file i of those, as messages have it; borrowed until the bag is closed; NULL where
 * there is no file i. */
HOLDALL_API const char *holdall_bag_shard_name(const holdall_bag *bag, uint32_t i);

/* How many records file i has. */
HOLDALL_API uint64_t holdall_bag_shard_size(const holdall_bag *bag, uint32_t i);

/* Reads record i into dst, its size in bytes into *n. dst NULL asks for the size alone.
 * HOLDALL_E_BUFFER: dst is too small, *n is the size. HOLDALL_E_RANGE: there is no record i.
 * HOLDALL_E_FORMAT, _CHECKSUM: the record is damaged; the others can still be read.
 * HOLDALL_E_LIMIT: it takes more memory than HOLDALL_OPT_MEMORY_LIMIT. HOLDALL_E_STATE: the bag
 * has grown since it was opened and its limits are not kept in memory: open it again.
 * HOLDALL_NOT_FOUND (> 0) and *n 0: damaged, and HOLDALL_OPT_SKIP_DAMAGED is set.
 * 
 * Whenever a record cannot be read, dst may have been written to. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_read(const holdall_bag *bag,
                                uint64_t i,
                                void *dst,
                                size_t dst_size,
                                size_t *n,
                                holdall_error *err);

/* Reads the n records from `first` on, in parallel where it pays, into one batch. Fails as
 * holdall_bag_read() does, as a whole, at the first record that cannot be read (err->position).
 * With HOLDALL_OPT_SKIP_DAMAGED it is HOLDALL_OK, and holdall_records_damaged() tells. What all of
 * them take together counts against HOLDALL_OPT_MEMORY_LIMIT. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_read_range(const holdall_bag *bag,
                                      uint64_t first,
                                      uint64_t n,
                                      holdall_records **out,
                                      holdall_error *err);

/* Reads the records of these n numbers, in any order, repeated or not, into one batch in that
 * order. A record that is there several times is decoded once, and neighbours are read together.
 * Fails as holdall_bag_read_range() does. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_read_indices(const holdall_bag *bag,
                                        const uint64_t *indices,
                                        size_t n,
                                        holdall_records **out,
                                        holdall_error *err);

/* Checksum (HOLDALL_SUM_*, 0 to 8) of the content: over every record in order, its length as 8
 * bytes little-endian, then its bytes; so it is the same however they are stored. dst NULL asks
 * for the size in *n; a short dst is HOLDALL_E_BUFFER; neither reads anything. Tells progress.
 * Fails as reading does. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_checksum(const holdall_bag *bag,
                                    int32_t sum,
                                    void *dst,
                                    size_t dst_size,
                                    size_t *n,
                                    holdall_error *err);

/* How many records a batch has. */
HOLDALL_API size_t holdall_records_count(const holdall_records *records);

/* The bytes of all records of a batch, end to end; borrowed until the batch is closed; never NULL
 * but for NULL. */
HOLDALL_API const uint8_t *holdall_records_data(const holdall_records *records);

/* count + 1 values; record i is data[offsets[i]] to data[offsets[i + 1]], the last one not
 * included. Borrowed until the batch is closed. */
HOLDALL_API const uint64_t *holdall_records_offsets(const holdall_records *records);

/* How many records of a batch were damaged and are empty there; 0 without
 * HOLDALL_OPT_SKIP_DAMAGED. */
HOLDALL_API size_t holdall_records_damaged(const holdall_records *records);

/* Which they are: holdall_records_damaged() values, their places in the batch, rising. Borrowed
 * until the batch is closed. */
HOLDALL_API const uint64_t *holdall_records_damaged_at(const holdall_records *records);

/* The numbers in the bag of the records of a batch that holdall_bag_stream_take() gave; NULL for
 * other batches. Borrowed until the batch is closed. */
HOLDALL_API const uint64_t *holdall_records_numbers(const holdall_records *records);

/* Closes a batch; NULL is fine. For the next batches its bag (or stream) keeps the memory of two
 * (of those it reads ahead), until it is closed: 128 MiB at most in the whole process, and a
 * quarter of the memory limit. */
HOLDALL_API void holdall_records_close(holdall_records *records);

/* Opens a bag for writing: of one file, or of a set of them: of the path "name@8.bagz" the files
 * `name-00000-of-00008.bagz` and so on, record i in file i modulo 8, which holdall_bag_open()
 * reads in this order again. "name@*.bagz" is as many as there are. That they were written in
 * turns is said by a skippable zstd frame behind the first record of each file, which Bagz
 * passes over (it reads one file after the other), and where records are not compressed by a file
 * `turns.NAME` beside the first. A backslash before `@` or a backslash takes it as it is, and so
 * is a comma; a file that has the path for its name is that file. All of a set is committed as
 * one: at any crash every file, also one that is opened alone, is as the last commit left
 * it. The files of a set are in one folder.
 * One file of a set may be written by its own name, "name-00003-of-00008.bagz", each by another
 * process at the same time; then each commits for itself. Read in turns, record k of that one is
 * record 8 * k + 3 of the set. mode: HOLDALL_NEW, _REPLACE or _APPEND (of a set: none of its
 * files, or all of them are there); whatever it is, nothing that others can see changes before the
 * first commit. What a crash left unfinished is settled first. A commit to limits at the tail
 * moves them all, 8 bytes a record (and saves them first); one to separate limits appends: the
 * better choice for many small commits to a large bag.
 * Options: HOLDALL_OPT_THREADS, _DURABILITY, _LOCK, _CODEC, _LEVEL, _CHECKSUM, _DICTIONARY,
 * _BAG_LIMITS; of a set _BAG_SHARDS, with HOLDALL_BAG_SHARDS_INTERLEAVED: to go on with a set
 * whose files do not say that they are in turns.
 * 
 * To go on with a bag, give the same _CODEC, _DICTIONARY and _BAG_LIMITS; checksums go on as they
 * are there. HOLDALL_E_EXISTS, HOLDALL_E_MISSING: as the mode says. HOLDALL_E_BUSY: another writer
 * has it open, or one of its files, or the set that it is a file of.
 * HOLDALL_E_STATE: checksums are asked for, and the records that are there have none; or a set is
 * not as turns leave it, as where its files were written one by one, or does not say that it was
 * written in turns: its files are to be appended to one by one then.
 * HOLDALL_E_UNSUPPORTED: a file of a set is a link to another folder. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_writer_open(const char *path,
                                       holdall_mode mode,
                                       const holdall_options *options,
                                       holdall_bag_writer **out,
                                       holdall_error *err);

/* As holdall_bag_writer_open(), in a storage of the caller's, under the name ""; it may be closed
 * at once. HOLDALL_E_UNSUPPORTED: the storage is read-only. There is no lock: the caller sees to
 * it that there is one writer. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_writer_open_io(holdall_io *io,
                                          holdall_mode mode,
                                          const holdall_options *options,
                                          holdall_bag_writer **out,
                                          holdall_error *err);

/* Appends one record of n bytes (record may be NULL where n is 0). It counts from the next commit
 * on. On failure it was not appended. Records that come one by one are gathered (about half a MiB
 * for each thread) and compressed in parallel. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_writer_append(holdall_bag_writer *writer,
                                         const void *record,
                                         size_t n,
                                         holdall_error *err);

/* Appends `count` records, compressed in parallel, in order: record i is data[offsets[i]] to
 * data[offsets[i + 1]]; offsets has count + 1 rising values, the first of which need not be 0. On
 * failure holdall_bag_writer_size() tells how many of them went in: none with HOLDALL_E_ARGUMENT,
 * where offsets do not rise. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_writer_append_many(holdall_bag_writer *writer,
                                              const void *data,
                                              const uint64_t *offsets,
                                              size_t count,
                                              holdall_error *err);

/* Records of the last commit and those appended since. */
HOLDALL_API uint64_t holdall_bag_writer_size(const holdall_bag_writer *writer);

/* Makes everything appended so far visible and durable: all of it or, on failure, nothing. A
 * commit that failed may be tried again (after room was made on a full disk, say), until that
 * gives HOLDALL_E_STATE: after a sync that failed this writer refuses work, and only opening the
 * bag again tells whether the commit counts; it is whole in either case.
 * HOLDALL_E_EXISTS: the bag was to be new and another program has made one meanwhile. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_writer_commit(holdall_bag_writer *writer,
                                         holdall_error *err);

/* Closes a writer; NULL is fine. What was not committed is gone, as after a crash. */
HOLDALL_API void holdall_bag_writer_close(holdall_bag_writer *writer);

/* ---- streams of records, read ahead; shuffled epochs; batches into memory of the caller's */

/* Records of a bag in a wanted order, read ahead in parallel. */
typedef struct holdall_bag_stream holdall_bag_stream;

/* The numbers of an epoch, shuffled, that fall to one rank. */
typedef struct holdall_epoch holdall_epoch;

/* Gives the number of the record wanted next in *index and returns 0; 1 at the end; less than 0 to
 * fail. */
typedef int (*holdall_next_index_fn)(void *ctx, uint64_t *index);

/* Makes room for n bytes and returns it; NULL to fail, or where n is 0. */
typedef void *(*holdall_allocate_fn)(void *ctx, size_t n);

/* Opens a stream over the records of a bag: those whose numbers `next` gives, in that order, any
 * of them any number of times, without an end maybe; NULL: all records in their order. The bag may
 * be closed; `ctx` is the caller's.
 * 
 * `next` is called only while holdall_bag_stream_next() or _take() runs, on the thread that called
 * it, by one thread at a time: for as many records as are read ahead. A number that it gave stays
 * asked for: to go on later where the records stopped that were used, count those. Other threads
 * read and decode, if HOLDALL_OPT_THREADS allows it (storage of the caller's: if it was set); in a
 * child after fork(), the one that takes. Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT,
 * _SKIP_DAMAGED (as the bag has them where they are not given), _BAG_READ_AHEAD,
 * _BAG_READ_AHEAD_BYTES. What was read and not taken is a quarter of the memory limit at most. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_stream_open(const holdall_bag *bag,
                                       holdall_next_index_fn next,
                                       void *ctx,
                                       const holdall_options *options,
                                       holdall_bag_stream **out,
                                       holdall_error *err);

/* Gives the next record: its bytes (never NULL) and how many. It is borrowed until the next call
 * that takes from the stream, or closes it. For one thread at a time; several take with
 * holdall_bag_stream_take(). HOLDALL_NOT_FOUND (> 0): the end, from now on; *record and *n stay as
 * they are.
 * 
 * Failures are told at the record that they belong to, after all before it, and the next call
 * gives the one behind it. Damaged records and others that holdall_bag_read() cannot read fail as
 * they do there, with the number of the record in err->position; with HOLDALL_OPT_SKIP_DAMAGED,
 * damaged ones are empty: see holdall_bag_stream_damaged(). HOLDALL_E_RANGE: `next` gave a number
 * that the bag has not. HOLDALL_E_CALLBACK: `next` failed; it is called again. HOLDALL_E_LIMIT: a
 * record takes more than three quarters of the memory limit. HOLDALL_E_STATE: `next` itself has
 * made this call, or another thread was taking when this process was forked. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_stream_next(holdall_bag_stream *stream,
                                       const void **record,
                                       size_t *n,
                                       holdall_error *err);

/* Takes the next n records as a batch of the caller's own, in order, in which
 * holdall_records_numbers() tells which they are; fewer at the end, or before one that fails,
 * which the next call that takes is told. 0: as many as were read together, which costs no copy.
 * Many threads may take from one stream: each record goes to one of them.
 * HOLDALL_NOT_FOUND (> 0): the end, and *out is NULL; one thread may be told so before another has
 * its last records. Fails as holdall_bag_stream_next() does. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_stream_take(const holdall_bag_stream *stream,
                                       size_t n,
                                       holdall_records **out,
                                       holdall_error *err);

/* The number in the bag of the record that holdall_bag_stream_next() gave last; UINT64_MAX before
 * the first. */
HOLDALL_API uint64_t holdall_bag_stream_number(const holdall_bag_stream *stream);

/* How many records so far were damaged and given as empty ones; 0 without
 * HOLDALL_OPT_SKIP_DAMAGED. */
HOLDALL_API uint64_t holdall_bag_stream_damaged(const holdall_bag_stream *stream);

/* Closes a stream at any moment; NULL is fine. What is being read ahead stops at its next record
 * and is waited for; nothing uses the bag, its storage or `next` any more. Does nothing where
 * `next` itself calls it. */
HOLDALL_API void holdall_bag_stream_close(holdall_bag_stream *stream);

/* A shuffled epoch: every number below n once, in an order that `seed` and `epoch` decide, and
 * nothing else, in every version of the library; no table is made. Of that order rank `rank` of
 * `world` (0 and 1 where there is one) has the places rank, rank + world, rank + 2 * world, ...:
 * all ranks together have every number once, and the first n % world of them one more
 * than the others. When all ranks have had k numbers, k * world places of the order are done, so
 * that other ranks may go on from there, too. Give holdall_epoch_next and the handle to
 * holdall_bag_stream_open(). HOLDALL_E_ARGUMENT: rank is not below world. n may be 0. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_epoch_open(uint64_t n,
                                  uint64_t seed,
                                  uint64_t epoch,
                                  uint32_t rank,
                                  uint32_t world,
                                  holdall_epoch **out,
                                  holdall_error *err);

/* How many numbers fall to this rank in every epoch. */
HOLDALL_API uint64_t holdall_epoch_size(const holdall_epoch *epoch);

/* The next number of an epoch, as a holdall_next_index_fn: `epoch` is the holdall_epoch *. 1 at
 * its end; HOLDALL_E_ARGUMENT where an argument is NULL. */
HOLDALL_API HOLDALL_USE int holdall_epoch_next(void *epoch, uint64_t *index);

/* Goes to epoch `number`, of the same seed, and to a position of this rank in it, from 0 to
 * holdall_epoch_size(), the end: the one that comes next, or where training stopped. Not while a
 * stream that is open takes numbers from it: that has some ahead. HOLDALL_E_RANGE: the position is
 * beyond the end. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_epoch_seek(holdall_epoch *epoch,
                                  uint64_t number,
                                  uint64_t position,
                                  holdall_error *err);

/* Closes an epoch; NULL is fine. No record may be taken any more from a stream that was given it. */
HOLDALL_API void holdall_epoch_close(holdall_epoch *epoch);

/* As holdall_bag_read_range(), into memory of the caller's: `allocate` is called once, on the
 * calling thread, with the size of all records together, as soon as that is known; they are
 * decoded straight to there, end to end. offsets: room for n + 1 numbers; record i goes to
 * offsets[i] to offsets[i + 1], the last one not included: an array of large_binary as Arrow has
 * it. Whatever the call returns, that memory stays the caller's.
 * A failure may come after `allocate` was called.
 * HOLDALL_NOT_FOUND (> 0): some were damaged, and are empty as HOLDALL_OPT_SKIP_DAMAGED wished
 * (holdall_bag_read() tells which), so that less than was asked for is used. HOLDALL_E_CALLBACK:
 * `allocate` gave NULL. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_read_range_to(const holdall_bag *bag,
                                         uint64_t first,
                                         size_t n,
                                         holdall_allocate_fn allocate,
                                         void *ctx,
                                         uint64_t *offsets,
                                         holdall_error *err);

/* As holdall_bag_read_indices(), into memory of the caller's: see holdall_bag_read_range_to(). */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_read_indices_to(const holdall_bag *bag,
                                           const uint64_t *indices,
                                           size_t n,
                                           holdall_allocate_fn allocate,
                                           void *ctx,
                                           uint64_t *offsets,
                                           holdall_error *err);

/* ---- indexes of bags: from content to the numbers of records -------------------*/

/* In place of the number of a record: there is none. */
#define HOLDALL_NO_RECORD UINT64_MAX
/* Tells in which records of a bag some content is. May be used by many threads at once.
 * 
 * It has fingerprints of the records and their numbers, 7 to 9 bytes each, never the records:
 * those that a fingerprint leads to are read and compared. So an index keeps its bag open, needs
 * no more memory for long keys, and what it finds is right whatever has become of it or the bag.
 * It may be in memory or in a file, in no form of Bagz' own (it has none): "holdall bagindex", a
 * version, checksums of each of its parts, as src/bag/index/mod.rs has it byte by byte.
 * 
 * An index in a file belongs to one bag as it was (a set that is read in turns is not the one that
 * is read file by file), or to one slice of it. Opening it notices another number of files,
 * records or bytes, and looks at a few records besides. A record that was changed to another of
 * the same length may not be noticed: it is then not found until the index is made anew, nor is
 * any other record taken for it. HOLDALL_OPT_VERIFY 2 at opening notices everything. */
typedef struct holdall_bag_index holdall_bag_index;

/* Makes the index of a bag, or of a slice of one, in memory: about 22 bytes a record while it is
 * made, 9 then. Numbers of records are those of the slice.
 * Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _SKIP_DAMAGED; progress is told.
 * HOLDALL_E_FORMAT, _CHECKSUM: a record is damaged (err->position); with HOLDALL_OPT_SKIP_DAMAGED,
 * given here or to the bag, such records are left out: see holdall_bag_index_damaged().
 * HOLDALL_E_LIMIT: it takes more than HOLDALL_OPT_MEMORY_LIMIT. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_build(const holdall_bag *keys,
                                       const holdall_options *options,
                                       holdall_bag_index **out,
                                       holdall_error *err);

/* As holdall_bag_index_build(), in a file, "NAME.index" beside the bag NAME say, and opens it. It
 * is there as a whole or not at all; while it is made, readers see the one from before. Takes 64
 * MiB of memory, or a quarter of HOLDALL_OPT_MEMORY_LIMIT where that is less, and what reading and
 * sorting take; what has no room there is in `NAME.holdall-part`. mode: HOLDALL_NEW, or
 * HOLDALL_REPLACE, which replaces an index and no other file. Further options:
 * HOLDALL_OPT_DURABILITY, _LOCK, and _IO as holdall_bag_index_open() has it. HOLDALL_E_EXISTS: as
 * the mode says. HOLDALL_E_BUSY: another one is being made there. HOLDALL_E_UNSUPPORTED: it is to
 * be in an object store: make it in a local file and copy that. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_create(const char *path,
                                        holdall_mode mode,
                                        const holdall_bag *keys,
                                        const holdall_options *options,
                                        holdall_bag_index **out,
                                        holdall_error *err);

/* As holdall_bag_index_create(), in a storage of the caller's, under the name ""; it may be closed
 * at once. HOLDALL_E_UNSUPPORTED: the storage is read-only. There is no lock. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_create_io(holdall_io *io,
                                           holdall_mode mode,
                                           const holdall_bag *keys,
                                           const holdall_options *options,
                                           holdall_bag_index **out,
                                           holdall_error *err);

/* Opens the index of a bag, or of the same slice of one. It takes no more memory or time for 10^8
 * keys than for 10: parts of it are read, and their checksums looked at, when they are wanted.
 * Options: HOLDALL_OPT_IO, _VERIFY, _SKIP_DAMAGED, and for _VERIFY 2 _THREADS and _MEMORY_LIMIT.
 * HOLDALL_E_STATE: it was made for another bag, another state of it, or another slice.
 * HOLDALL_E_MISSING: there is none. HOLDALL_E_FORMAT, _CHECKSUM: it is no index, or damaged.
 * HOLDALL_E_VERSION: it was made by a later version of this library. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_open(const char *path,
                                      const holdall_bag *keys,
                                      const holdall_options *options,
                                      holdall_bag_index **out,
                                      holdall_error *err);

/* As holdall_bag_index_open(), from a storage of the caller's, where it has the name ""; it may be
 * closed at once. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_open_io(holdall_io *io,
                                         const holdall_bag *keys,
                                         const holdall_options *options,
                                         holdall_bag_index **out,
                                         holdall_error *err);

/* Closes an index; NULL is fine. The file stays, as does the bag. */
HOLDALL_API void holdall_bag_index_close(holdall_bag_index *index);

/* How many different keys it has. */
HOLDALL_API uint64_t holdall_bag_index_keys(const holdall_bag_index *index);

/* How many records were damaged when it was made, and are not in it. */
HOLDALL_API uint64_t holdall_bag_index_damaged(const holdall_bag_index *index);

/* Finds the first record that is this key, all of it (key may be NULL where key_size is 0): its
 * number into *record. This is the Index of the Bagz package.
 * HOLDALL_NOT_FOUND (> 0) and *record HOLDALL_NO_RECORD: there is none.
 * HOLDALL_E_FORMAT, _CHECKSUM: a part of the index is damaged, or a record that may be the key
 * (err->position), unless HOLDALL_OPT_SKIP_DAMAGED is set. Otherwise fails as holdall_bag_read()
 * does. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_find_first(const holdall_bag_index *index,
                                            const void *key,
                                            size_t key_size,
                                            uint64_t *record,
                                            holdall_error *err);

/* Finds all records that are this key: their numbers, rising, into `records`, which has room for
 * `most`; how many they are into *n. records NULL asks for *n alone. This is the MultiIndex of the
 * Bagz package. HOLDALL_NOT_FOUND (> 0) and *n 0: there is none. HOLDALL_E_BUFFER: there are more,
 * *n, than `most`. Otherwise fails as holdall_bag_index_find_first() does. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_find(const holdall_bag_index *index,
                                      const void *key,
                                      size_t key_size,
                                      uint64_t *records,
                                      size_t most,
                                      size_t *n,
                                      holdall_error *err);

/* As holdall_bag_index_find_first(), for many keys at once, in parallel and with records read
 * together: key i is data[offsets[i]] to data[offsets[i + 1]], offsets has count + 1 rising
 * values; its record goes to records[i], which is HOLDALL_NO_RECORD where there is none.
 * HOLDALL_NOT_FOUND (> 0): there was none for one key at least. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_bag_index_find_many(const holdall_bag_index *index,
                                           const void *data,
                                           const uint64_t *offsets,
                                           size_t count,
                                           uint64_t *records,
                                           holdall_error *err);

/* ---- Arrow: tables and bags for query engines, and back ------------------------*/

/* Rows of a table as an Arrow stream (https://arrow.apache.org/docs/format/CStreamInterface.html): record
 * batches with a field for each column, for DuckDB, Polars, pyarrow and what else reads such streams. `first` and
 * `rows` say which rows, `batch_rows` how many a batch has (fewer where text would pass 2 GiB); 0:
 * as many as suit, about 16 MB, in whole chunks of the first column. No more than one batch is in
 * memory. The stream is a handle of its own: it may be read on any thread, one at a time, lives on
 * when the table is closed, and its memory belongs to who takes the batches. It sees the rows that
 * the table has now. As long as a stream is not released its table cannot be changed,
 * HOLDALL_E_STATE, and one that was opened for writing stays locked. With HOLDALL_OPT_SKIP_DAMAGED
 * what is damaged comes as other calls read it, without a word.
 * 
 * Types: bool, int, uint, and float of 2, 4 and 8 bytes are Arrow's, complex numbers lists of two
 * floats. S becomes utf8 without the zeros at its end; a value that is no UTF-8 is an error
 * (EINVAL) that names column and row; with HOLDALL_OPT_ARROW_BINARY, when the table was opened,
 * all S are binary instead. U becomes utf8; V, and floats of other lengths, fixed_size_binary;
 * objects binary, as Python has pickled them. datetime64 is timestamp without a zone in s, ms, us
 * or ns, that of h and m in s, and date32 where its unit is D, W, M or Y (its first day);
 * timedelta64 is duration, of D, W, h and m in s, and month intervals where its unit is Y or M.
 * Multiples of units, and ps, fs and as in ns, are the same time or an error that names the row;
 * without a unit they are int64. NaT is null, and with HOLDALL_OPT_ARROW_NULLS NaN is, too;
 * nothing else is. Structures are struct; rows of several items fixed_size_list, one in the other.
 * Numbers have the byte order of the machine. The field's metadata has "holdall.dtype", the dtype
 * of the column. Numbers of the machine's byte order are read straight to the batch's memory.
 * 
 * What is in *out does not matter; where the call fails it is a stream that is released.
 * HOLDALL_E_RANGE: there are fewer rows. HOLDALL_E_UNSUPPORTED: a column that Arrow cannot have.
 * 
 * The stream's own functions return a number of errno's, and get_last_error() what holdall_error
 * has: column, row, and why. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_to_arrow(const holdall_table *table,
                                      uint64_t first,
                                      uint64_t rows,
                                      uint64_t batch_rows,
                                      struct ArrowArrayStream *out,
                                      holdall_error *err);

/* Puts the rows of an Arrow stream behind the last, from the next commit on: what pyarrow, Polars
 * or DuckDB exported. The stream is taken over in every case, and released when it is read: out of
 * it go batches of any size, one at a time. The fields of the stream are the columns of the table,
 * by their names, in any order, all of them and no other.
 * 
 * Every value arrives as it is, or the call fails; nothing is rounded or cut. Whole numbers of any
 * length become whole numbers, or floats, that have them; floats of the same length or a longer
 * one; bool bool. Utf8 and binary (with offsets of 32 or 64 bits, or views) become S where it is
 * long enough and there is no zero at their end, and utf8 U; fixed_size_binary S (zeros at its end
 * are its filling) and V; binary of just the right length V. Dates and timestamps without a zone,
 * or of UTC, become datetime64, and durations and month intervals timedelta64, in any unit in
 * which they are whole numbers. fixed_size_list of floats become complex numbers, and
 * fixed_size_list rows of several items; struct structures. Dictionaries are decoded. Nulls become
 * NaN or NaT; for other types they are errors.
 * 
 * On failure nothing was appended: all batches or none. HOLDALL_E_TYPE: columns that do not fit,
 * or a value that its column does not have; the words name column and row (err->position), as the
 * stream counts them. HOLDALL_E_ARGUMENT: an array that contradicts itself (offsets, lengths,
 * counts, missing buffers). HOLDALL_E_CALLBACK: the stream failed, the words are its
 * own. HOLDALL_E_STATE: a stream of this table is not released. */
HOLDALL_API
HOLDALL_USE
holdall_status holdall_table_append_arrow(holdall_table *table,
                                          struct ArrowArrayStream *stream,
                                          holdall_error *err);

/* Records of a bag as an Arrow stream, as holdall_table_to_arrow() has it: batches with one field,
 * "record", binary. `n` records from `first` on, `batch` in each batch (fewer where they would
 * pass 2 GiB); 0: as many as suit, about 16 MB. A record that is damaged ends the stream with an
 * error that names it, and is null with HOLDALL_OPT_SKIP_DAMAGED. HOLDALL_E_RANGE: there are fewer
 * records. */
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
