/* holdall/options.h - options, which every open takes; NULL stands for the defaults. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_OPTIONS_H
#define HOLDALL_OPTIONS_H

#include "base.h"
#include "storage.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A set of options. One can serve many calls, and be freed right after them. Each option names
 * the calls that use it:
 *
 * - read, write, create: superchunks, arrays and tables, opened with HOLDALL_READ (read) or
 *   HOLDALL_APPEND (write), or new (write and create), also as copies.
 * - bag, writer, index, stream: opening one, or building an index.
 * - verify, repair.
 *
 * HOLDALL_READ and HOLDALL_APPEND ignore options of write and create; bag, writer, index and
 * stream ignore each other's. Any other option, or one that the format lacks, is
 * HOLDALL_E_ARGUMENT, unless it has its default. */
typedef struct holdall_options holdall_options;

/* One of HOLDALL_OPT_*. */
typedef int32_t holdall_option;

/* Threads per call. 0 (default): the processors of the process, if the work is large enough. 1:
 * only the calling thread.
 * Used by: all. */
#define HOLDALL_OPT_THREADS 1
/* Maximum bytes that one file may make a call allocate beyond the caller's buffers, such as the
 * stored bytes of a chunk; for a batch, also records and offsets. 0 permits none. Default: 4
 * GiB.
 * Used by: all but writer. */
#define HOLDALL_OPT_MEMORY_LIMIT 2
/* HOLDALL_IO_READ (default) or HOLDALL_IO_MAP.
 * Used by: read, write, bag, index, verify. */
#define HOLDALL_OPT_IO 3
/* 0: checksums beside the data or after chunks are not verified (those inside zstd frames always
 * are). 1 (default): verifies what is read. 2: also everything at open.
 * Used by: read, write, bag, index, repair. */
#define HOLDALL_OPT_VERIFY 4
/* 0 (default): corrupt content is an error. 1: corrupt records read as empty, corrupt chunks as
 * zeros, and the call returns HOLDALL_DAMAGED. A frame with a corrupt header, index or trailer
 * opens with what holdall_repair() would recover.
 * Used by: read, write, bag, index, stream, repair. */
#define HOLDALL_OPT_SKIP_DAMAGED 5
/* 1 (default): a commit syncs files and folder. 0: it survives a crash of the program, but maybe
 * not a power failure.
 * Used by: write, writer, index, repair. */
#define HOLDALL_OPT_DURABILITY 6
/* 1 (default): the lock `NAME.holdall-lock` permits one writer across processes. 0: the caller
 * must ensure it.
 * Used by: write, writer, index, repair. */
#define HOLDALL_OPT_LOCK 7
/* One of HOLDALL_CODEC_*. Chunks: any but _BY_NAME; default _LZ4 (HOLDALL_FORMAT_BLZ: _BLOSCLZ);
 * frames have no _SNAPPY. Bags: _NONE, _ZSTD or _BY_NAME (default). By name, a file with zstd
 * frames that is neither `.bag` nor `.bagz` does not open: set _ZSTD or _NONE.
 * Used by: write, bag, writer, verify, repair. */
#define HOLDALL_OPT_CODEC 8
/* Bags: zstd level, -131072 to 22; 0 (default) is 3. Chunks: 0 (stored) to 9, default 5.
 * Used by: write, writer. */
#define HOLDALL_OPT_LEVEL 9
/* Bytes: one HOLDALL_FILTER_* each, in order of application. Default: _SHUFFLE. Bloscpack,
 * folders: or _BITSHUFFLE, or none. Frames: up to six, also _DELTA and _BYTEDELTA.
 * Used by: write. */
#define HOLDALL_OPT_FILTERS 10
/* Bytes of content per chunk, 1 to 2,147,483,615, a multiple of the typesize. Default: 1 MiB;
 * folders: from HOLDALL_OPT_EXPECTED_ROWS. Arrays: rounded down to whole rows, or items of
 * longer rows; in frames approximate, default 2 to 4 MiB.
 * Used by: write. */
#define HOLDALL_OPT_CHUNK_BYTES 11
/* Bytes of content per block of a chunk. Default: as the Blosc libraries choose. Arrays in
 * frames: approximate; default 50 or 100 KiB: see docs/choosing.md.
 * Used by: write. */
#define HOLDALL_OPT_BLOCK_BYTES 12
/* One of HOLDALL_CHECKSUM_*, for what is written: see docs/damage.md. Default: _CRC32.
 * Bloscpack, folders: any but _ZSTD. Bags, frames: _NONE or _CRC32.
 * Used by: write, writer. */
#define HOLDALL_OPT_CHECKSUM 13
/* Bytes: a zstd dictionary, trained or any content. Reading needs the same one as writing,
 * unless the bag stores it (HOLDALL_OPT_BAG_DICTIONARY).
 * Used by: bag, writer, verify, repair. */
#define HOLDALL_OPT_DICTIONARY 14
/* Bytes: one item (folders: or row), the value of items that were never written. Default: zeros.
 * Folders store it (`dflt`) for later growth; frames grow by zeros.
 * Used by: create. */
#define HOLDALL_OPT_FILL_VALUE 15
/* Folders: approximate final number of rows, for the chunk length. Default: the rows at
 * creation; a table has none.
 * Used by: create. */
#define HOLDALL_OPT_EXPECTED_ROWS 16
/* Frames. 0 (default): one file. 1: a folder with one file per chunk; changed chunks leave no
 * unused space.
 * Used by: create. */
#define HOLDALL_OPT_SPARSE 17
/* HOLDALL_FORMAT_BLZ_RFC: chunks per superchunk file, 1 to 1,048,576. Default: 16 to 64 MiB of
 * content.
 * Used by: create. */
#define HOLDALL_OPT_SUPERCHUNK_CHUNKS 18
/* Bloscpack. 1 (default): with a table of chunk offsets. 0: without.
 * Used by: create. */
#define HOLDALL_OPT_OFFSETS 19
/* Bloscpack: free entries of 8 bytes in that table for appends in place; default: 10 per chunk,
 * at least 50.
 * Used by: write. */
#define HOLDALL_OPT_SPARE_CHUNKS 20
/* Bloscpack: free bytes in each new chunk, to change it in place; default: 0.
 * Used by: write. */
#define HOLDALL_OPT_SPARE_BYTES 21
/* Bloscpack header. 0 (default) and 3: as Bloscpack 0.3 to 0.16. 2: older, no metadata. 1: also
 * no checksums and offsets. 103: of the BLZ RFC layout.
 * Used by: create. */
#define HOLDALL_OPT_FORMAT_VERSION 22
/* HOLDALL_BAG_LIMITS_TAIL (default) or _SEPARATE: where the limits (end offsets) of records are.
 * Used by: bag, writer, verify, repair. */
#define HOLDALL_OPT_BAG_LIMITS 23
/* 0 (default): limits are read as needed. 1: all are in memory (8 bytes per record); the bag
 * stays readable while another program appends.
 * Used by: bag, verify. */
#define HOLDALL_OPT_BAG_LIMITS_CACHE 24
/* HOLDALL_BAG_SHARDS_CONCATENATED or _INTERLEAVED: how files form one sequence. Default: as the
 * files record, else concatenated. A writer of a set always interleaves (else
 * HOLDALL_E_ARGUMENT).
 * Used by: bag, writer, verify. */
#define HOLDALL_OPT_BAG_SHARDS 25
/* Records (or numbers from the index function) requested in advance. 0: none. Default: as
 * HOLDALL_OPT_BAG_READ_AHEAD_BYTES permits.
 * Used by: stream. */
#define HOLDALL_OPT_BAG_READ_AHEAD 26
/* S (NumPy's bytes) is in Arrow 0 (default): utf8; 1: binary.
 * Used by: read, write (tables). */
#define HOLDALL_OPT_ARROW_BINARY 27
/* NaN is in Arrow 0 (default): NaN; 1: null.
 * Used by: read, write (tables). */
#define HOLDALL_OPT_ARROW_NULLS 28
/* Offset of the frame in a larger file, in bytes. Default: 0.
 * Used by: read, verify (frames). */
#define HOLDALL_OPT_FRAME_OFFSET 29
/* HOLDALL_FORMAT_B2ND and _CATERVA. 0 (default): the metalayer of the format. 1: both, so that
 * python-blosc2 and Caterva read the array.
 * Used by: create. */
#define HOLDALL_OPT_BOTH_METALAYERS 30
/* Bytes of records read in advance. 0: none. Default: about 2 MiB per thread.
 * Used by: stream. */
#define HOLDALL_OPT_BAG_READ_AHEAD_BYTES 31
/* Object stores: milliseconds that a request may wait for data, retries included, before
 * HOLDALL_E_IO. Default: 30,000.
 * Used by: all. */
#define HOLDALL_OPT_CLOUD_TIMEOUT 32
/* Object stores: retries of a failed request within that time. Default: 5.
 * Used by: all. */
#define HOLDALL_OPT_CLOUD_RETRIES 33
/* Object stores: concurrent requests per call, 1 to 256. Default: 16.
 * Used by: all. */
#define HOLDALL_OPT_CLOUD_REQUESTS 34
/* 1: holdall_repair() returns the same status, message and result but changes nothing; verify
 * and open see what it would leave. Default: 0.
 * Used by: read (superchunks), verify, repair. */
#define HOLDALL_OPT_DRY_RUN 35
/* HOLDALL_FORMAT_BLZ_RFC: order of the items in a chunk of an array. 0 (default): C. 1: Fortran.
 * Used by: create. */
#define HOLDALL_OPT_ORDER 36
/* HOLDALL_FORMAT_BLZ_RFC: 1 writes the metadata files as YAML, with the names of the RFC. 0
 * (default): JSON. Commits keep the form.
 * Used by: create. */
#define HOLDALL_OPT_YAML 37
/* Datasets and tables: 1: symbolic links that lead out of the folder are followed, for example
 * of `data` to another disk. Writers then write there; they remove links, never what they lead
 * to. Proxies of python-blosc2: 1: reads the source instead, if it is a local file. Default: 0,
 * HOLDALL_E_FORMAT, HOLDALL_E_UNSUPPORTED.
 * Used by: all. */
#define HOLDALL_OPT_FOLLOW_LINKS 38
/* Lossy. Frames, HOLDALL_FORMAT_BLZ_RFC; float32 or float64: the bits of the mantissa that new
 * items retain, 1 to 23 or 52, or, if negative, that are cleared. Default: 0, all; existing
 * containers: as recorded, which only 0 changes. Copies do not inherit it. See docs/choosing.md.
 * Used by: write. */
#define HOLDALL_OPT_PRECISION 39
/* HOLDALL_BAG_DICTIONARY_SEPARATE (default), _STORED or _AUTO: a dictionary for short records
 * that resemble each other. Appends use the stored one, whatever this option; so do copies to a
 * new bag, unless this option or HOLDALL_OPT_DICTIONARY is set, or the records are few.
 * Used by: writer. */
#define HOLDALL_OPT_BAG_DICTIONARY 40
/* Bytes of decoded blocks that a handle, or a column, caches: blocks read in small parts; array
 * frames: blocks read again. 0: none. Default: 4 MiB, 64 MiB for all handles.
 * Used by: read, write. */
#define HOLDALL_OPT_CACHE_BYTES 41
/* Frames with LZ4, LZ4HC or zstd: 1: a new chunk stores a dictionary, trained from its blocks,
 * if that makes it about 5 % smaller. For readers with holdall: c-blosc2 3.3.2 reads such chunks
 * whole, but of a part it returns an error, or with LZ4 and LZ4HC wrong content. Default: as
 * recorded, or 0.
 * Used by: write. */
#define HOLDALL_OPT_CHUNK_DICTIONARY 42

/* Read system calls. A file that is truncated while open is an error. */
#define HOLDALL_IO_READ 901
/* Memory mapping: faster for small records. If a file is truncated while open, also by a commit
 * that shortens a superchunk, the process gets SIGBUS. */
#define HOLDALL_IO_MAP 902

/* Not compressed. */
#define HOLDALL_CODEC_NONE 401
/* BloscLZ. */
#define HOLDALL_CODEC_BLOSCLZ 402
/* LZ4. */
#define HOLDALL_CODEC_LZ4 403
/* LZ4 with the slower, high-compression encoder. */
#define HOLDALL_CODEC_LZ4HC 404
/* Snappy. python-blosc cannot read it. */
#define HOLDALL_CODEC_SNAPPY 405
/* Deflate in the zlib format. */
#define HOLDALL_CODEC_ZLIB 406
/* Zstandard. */
#define HOLDALL_CODEC_ZSTD 407
/* Only for HOLDALL_OPT_CODEC: zstd if the file name ends in `.bagz`, else none (also in
 * storage). */
#define HOLDALL_CODEC_BY_NAME 408
/* Several codecs, or an unknown one; only in infos. */
#define HOLDALL_CODEC_MIXED 409

/* No filter. */
#define HOLDALL_FILTER_NONE 64
/* The first bytes of all items, then the second bytes, and so on. */
#define HOLDALL_FILTER_SHUFFLE 65
/* The same with bits. */
#define HOLDALL_FILTER_BITSHUFFLE 66
/* XOR with the items of the chunk's first block, which every read then needs. Goes before a
 * shuffle. */
#define HOLDALL_FILTER_DELTA 67
/* Difference from the previous byte. Goes after a shuffle. Caterva cannot read it. */
#define HOLDALL_FILTER_BYTEDELTA 68
/* Truncated precision, by HOLDALL_OPT_PRECISION; only in information. */
#define HOLDALL_FILTER_TRUNC_PREC 69

/* No checksum. */
#define HOLDALL_CHECKSUM_NONE 501
/* Adler-32. */
#define HOLDALL_CHECKSUM_ADLER32 502
/* CRC-32 as in zlib. */
#define HOLDALL_CHECKSUM_CRC32 503
/* MD5. */
#define HOLDALL_CHECKSUM_MD5 504
/* SHA-1. */
#define HOLDALL_CHECKSUM_SHA1 505
/* SHA-224. */
#define HOLDALL_CHECKSUM_SHA224 506
/* SHA-256. */
#define HOLDALL_CHECKSUM_SHA256 507
/* SHA-384. */
#define HOLDALL_CHECKSUM_SHA384 508
/* SHA-512. */
#define HOLDALL_CHECKSUM_SHA512 509
/* The checksum inside a zstd frame. */
#define HOLDALL_CHECKSUM_ZSTD 510

/* The bag does not store its dictionary, if it has one: readers need it. */
#define HOLDALL_BAG_DICTIONARY_SEPARATE 1001
/* Each file of the bag stores the dictionary that is given: nothing is needed to read it. */
#define HOLDALL_BAG_DICTIONARY_STORED 1002
/* A dictionary is trained from the first records (up to 4 MiB, held back in memory until then or
 * until the commit) and stored, if it makes them at least 5 % smaller; else there is none. */
#define HOLDALL_BAG_DICTIONARY_AUTO 1003

/* At the end of the file of the records. */
#define HOLDALL_BAG_LIMITS_TAIL 701
/* In a file `limits.NAME` beside it. */
#define HOLDALL_BAG_LIMITS_SEPARATE 702

/* All records of the first shard, then those of the second, and so on. */
#define HOLDALL_BAG_SHARDS_CONCATENATED 801
/* Record i is record i / S of shard i modulo S, of S shards. */
#define HOLDALL_BAG_SHARDS_INTERLEAVED 802

/* Progress callback: done of total bytes of content (of stored bytes, where a bag is verified,
 * checksummed or indexed). The calling thread calls it after each chunk or batch; single records
 * do not report, nor do calls that the callback makes. A nonzero result stops the call as a
 * failure, HOLDALL_E_CANCELLED, unless all is done. */
typedef int (*holdall_progress_fn)(void *ctx, uint64_t done, uint64_t total);

/* Creates an empty set, or returns NULL if memory allocation failed. */
HOLDALL_API HOLDALL_USE holdall_options *holdall_options_new(void);

/* Frees options. */
HOLDALL_API void holdall_options_free(holdall_options *options);

/* Sets an option to a number.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: no such option, one that takes bytes, or an invalid value. Each call
 *   checks what applies to it. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_options_set(holdall_options *options,
                                   holdall_option option,
                                   int64_t value,
                                   holdall_error *err);

/* Sets an option to n bytes, which are copied; n 0 sets it to none. Each call checks the
 * content.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: no such option, or one that takes a number. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_options_set_bytes(holdall_options *options,
                                         holdall_option option,
                                         const void *value,
                                         size_t n,
                                         holdall_error *err);

/* Sets the storage that replaces the path of the calls that take these options: their path must
 * then be NULL or "". The storages may be freed right after; count 0 removes them. Several are
 * the shards of holdall_bag_open(). Instead of holdall_verify() open with HOLDALL_OPT_VERIFY 2. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_options_set_storage(holdall_options *options,
                                           holdall_storage *const *storages,
                                           uint32_t count,
                                           holdall_error *err);

/* Sets the progress callback; NULL removes it. It must remain valid while handles opened with
 * these options exist. */
HOLDALL_API
void holdall_options_set_progress(holdall_options *options,
                                  holdall_progress_fn progress,
                                  void *ctx);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_OPTIONS_H */
