/* holdall/bag.h - bags: records of any length. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_BAG_H
#define HOLDALL_BAG_H

#include "base.h"
#include "container.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open bag: records of any length in the Bagz format, in one file or several. */
typedef struct holdall_bag holdall_bag;

/* A batch of records that one call has read. It owns bytes and offsets until it is freed. */
typedef struct holdall_records holdall_records;

/* A writer of one bag, or of one set of bags. */
typedef struct holdall_bag_writer holdall_bag_writer;

/* What is known about a bag. */
typedef struct holdall_bag_info {
    /* sizeof(holdall_bag_info). */
    size_t struct_size;
    /* HOLDALL_FORMAT_BAGZ. */
    int32_t format;
    /* Number of shards. */
    uint32_t shard_count;
    /* Number of records. */
    uint64_t record_count;
    /* Bytes on disk of all files, with limits and checksums; for a slice, of the whole bag. */
    uint64_t stored_bytes;
    /* HOLDALL_CODEC_NONE, _ZSTD, or _MIXED if shards differ. */
    int32_t codec;
    /* Checksum of the records, the weakest of all shards: HOLDALL_CHECKSUM_CRC32, _ZSTD, or
     * _NONE (also if the one in the first frame is corrupt). */
    int32_t checksum;
    /* HOLDALL_BAG_LIMITS_TAIL or _SEPARATE. */
    int32_t limits;
    /* HOLDALL_BAG_SHARDS_CONCATENATED or _INTERLEAVED. */
    int32_t shards;
    /* See base.h. */
    uint64_t generation;
} holdall_bag_info;

/* Opens a bag for reading at its last commit; all files are read in the state of one moment.
 *
 * spec: a path, or several separated by commas. "name@8.bagz" stands for
 * name-00000-of-00008.bagz and so on, "name@*.bagz" for as many as exist. See docs/choosing.md.
 * The records are one sequence: see HOLDALL_OPT_BAG_SHARDS. With storages in the options: NULL;
 * the file "" of each is one shard.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: @* matches sets of different N, or an interleaved set is combined with
 *   other files.
 * - HOLDALL_E_FORMAT: a file is not a bag, or torn (see holdall_repair()), or record counts do
 *   not fit an interleaved set.
 * - HOLDALL_E_CHECKSUM: checksums.NAME belongs to another state of the bag.
 * - HOLDALL_E_BUSY: the bag changed at each attempt for 5 seconds. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_open(const char *spec,
                                const holdall_options *options,
                                holdall_bag **out,
                                holdall_error *err);

/* Opens the count records start, start + step, ... as a bag that shares the files. step may be
 * negative, but not 0; count may be 0. A slice of a slice uses the numbers of the slice. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_slice(const holdall_bag *bag,
                                 uint64_t start,
                                 uint64_t count,
                                 int64_t step,
                                 holdall_bag **out,
                                 holdall_error *err);

/* Closes a bag. */
HOLDALL_API void holdall_bag_close(holdall_bag *bag);

/* Returns the number of records. */
HOLDALL_API uint64_t holdall_bag_record_count(const holdall_bag *bag);

/* Gets information about a bag or a slice. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_get_info(const holdall_bag *bag,
                                    holdall_bag_info *info,
                                    holdall_error *err);

/* Returns the generation: see base.h. */
HOLDALL_API uint64_t holdall_bag_generation(const holdall_bag *bag);

/* Moves to the newest commit: see base.h. Slices, streams and indexes stay at the earlier one.
 *
 * Returns:
 * - HOLDALL_E_STATE: also for a slice. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_refresh(holdall_bag *bag,
                                   holdall_error *err);

/* Returns the number of shards: files without those of limits and checksums. */
HOLDALL_API uint32_t holdall_bag_shard_count(const holdall_bag *bag);

/* Returns the name of shard i as in messages, or NULL past the last. */
HOLDALL_API const char *holdall_bag_shard_name(const holdall_bag *bag, uint32_t i);

/* Returns the number of records in shard i. */
HOLDALL_API uint64_t holdall_bag_shard_record_count(const holdall_bag *bag, uint32_t i);

/* Divides the records into ranges of similar stored size, for programs that distribute work.
 *
 * - most: the maximum number of ranges, for which the arrays have room.
 * - firsts[i], counts[i]: the first record of range i, of *n ranges, and the number of its
 *   records, 1 or more. The ranges contain each record once, in order. They begin at shards
 *   where that changes a size by at most an eighth of the mean.
 * - bytes[i]: the size of the stored records and their limits; an estimate for a slice with a
 *   step, and for an interleaved bag of more than 16 shards.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: most is 0.
 * - HOLDALL_E_STATE: see base.h. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_splits(const holdall_bag *bag,
                                  size_t most,
                                  uint64_t *firsts,
                                  uint64_t *counts,
                                  uint64_t *bytes,
                                  size_t *n,
                                  holdall_error *err);

/* Reads record i into dst; *n is its size in bytes.
 *
 * Returns:
 * - HOLDALL_DAMAGED: the record is corrupt; *n is 0.
 * - HOLDALL_E_FORMAT, _CHECKSUM: the record is corrupt; others remain readable.
 * - HOLDALL_E_STATE: see base.h; or one of many files was replaced. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_read(const holdall_bag *bag,
                                uint64_t i,
                                void *dst,
                                size_t dst_size,
                                size_t *n,
                                holdall_error *err);

/* Reads count records from start on into one batch, in parallel if faster.
 *
 * Returns:
 * - HOLDALL_DAMAGED: corrupt records are empty: see holdall_records_damaged_count().
 * - others: as holdall_bag_read(), at the first record that cannot be read (err->position). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_read_range(const holdall_bag *bag,
                                      uint64_t start,
                                      uint64_t count,
                                      holdall_records **out,
                                      holdall_error *err);

/* Reads n records by number, in any order and with repetitions, into one batch in that order.
 * Returns as holdall_bag_read_range(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_read_indices(const holdall_bag *bag,
                                        const uint64_t *indices,
                                        size_t n,
                                        holdall_records **out,
                                        holdall_error *err);

/* Computes a checksum (see holdall_checksum_compute()) of the content, however it is stored: for
 * each record in order, of its length as 8 bytes little-endian, then of its bytes. Reports
 * progress. Returns as holdall_bag_read_range(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_checksum(const holdall_bag *bag,
                                    int32_t kind,
                                    void *dst,
                                    size_t dst_size,
                                    size_t *checksum_size,
                                    holdall_error *err);

/* Copies the zstd dictionary that the files store, or that was given, to dst; *n is its size in
 * bytes: 0 if there is none, or if files store different ones.
 *
 * Returns:
 * - HOLDALL_E_BUFFER: dst_size < *n.
 * - HOLDALL_E_CHECKSUM: the stored one is corrupt. Records with checksums of their own, which it
 *   still decodes, can be read and copied. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_read_dictionary(const holdall_bag *bag,
                                           void *dst,
                                           size_t dst_size,
                                           size_t *n,
                                           holdall_error *err);

/* Trains a zstd dictionary for records that resemble those given, count of them, where record i
 * is data[offsets[i]] to data[offsets[i+1]]. At most dst_size bytes are written; *n is their
 * number. 112,640 bytes are a good size; the records should have 100 times as many. The same
 * records give the same dictionary. See HOLDALL_OPT_BAG_DICTIONARY, whose _AUTO does this by
 * itself.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: the records are too few or too short, or have nothing in common; offsets
 *   do not ascend; dst_size is less than 256 or more than 16 MiB. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_dictionary_train(const void *data,
                                        const uint64_t *offsets,
                                        size_t count,
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

/* Returns how many records were corrupt and are empty. */
HOLDALL_API size_t holdall_records_damaged_count(const holdall_records *records);

/* Returns their positions in the batch, ascending. */
HOLDALL_API
const uint64_t *holdall_records_damaged_positions(const holdall_records *records);

/* Returns the record numbers of a batch from holdall_bag_stream_take(); NULL for other batches. */
HOLDALL_API const uint64_t *holdall_records_numbers(const holdall_records *records);

/* Frees a batch. */
HOLDALL_API void holdall_records_free(holdall_records *records);

/* Opens a writer of a bag, or of a set of bags, whose files commit together.
 * - path: a file, or a set in one folder (see holdall_bag_open()): record i of "name@8.bagz"
 *   goes to file i modulo 8. In storage: the file "", by default not compressed.
 * - mode: HOLDALL_CREATE, _REPLACE or _APPEND (a set: none or all files exist). _REPLACE leaves
 *   sets of other numbers of files, which name@* then also matches.
 *
 * Several threads or processes may each write one file of a set: see docs/choosing.md. Records
 * without compression have their CRC-32s in a file checksums.NAME: move it with the bag. To
 * append, repeat HOLDALL_OPT_CODEC, _BAG_LIMITS and a _DICTIONARY that is not stored.
 *
 * Returns:
 * - HOLDALL_E_EXISTS, _MISSING: see mode.
 * - HOLDALL_E_STATE: checksums are requested, but existing records have none; or the set does
 *   not record that it is interleaved.
 * - HOLDALL_E_UNSUPPORTED: a file of a set is a link to another folder. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_writer_open(const char *path,
                                       holdall_mode mode,
                                       const holdall_options *options,
                                       holdall_bag_writer **out,
                                       holdall_error *err);

/* Copies n records of a bag or slice, at indices in any order, to another bag, with one commit.
 * indices NULL: all records, whatever n. path, mode, options: as for holdall_bag_writer_open().
 * Without HOLDALL_OPT_LEVEL, zstd frames with the same kind of checksum and dictionary are
 * verified and copied as they are.
 *
 * Returns:
 * - HOLDALL_DAMAGED: corrupt records became empty.
 * - HOLDALL_E_RANGE: a record (err->position: which of indices) is past the last.
 * - others: as holdall_bag_writer_open(), holdall_bag_read_range(), holdall_bag_writer_commit(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_copy(const holdall_bag *bag,
                                const uint64_t *indices,
                                size_t n,
                                const char *path,
                                holdall_mode mode,
                                const holdall_options *options,
                                holdall_error *err);

/* Appends one record of n bytes. On failure it is not appended. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_writer_append(holdall_bag_writer *writer,
                                         const void *record,
                                         size_t n,
                                         holdall_error *err);

/* Appends count records. Record i is data[offsets[i]] to data[offsets[i+1]]; offsets has count +
 * 1 ascending values and may start above 0. On failure holdall_bag_writer_record_count()
 * includes those appended.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: offsets do not ascend; none is appended. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_writer_append_many(holdall_bag_writer *writer,
                                              const void *data,
                                              const uint64_t *offsets,
                                              size_t count,
                                              holdall_error *err);

/* Returns the number of records at the last commit plus those appended since. */
HOLDALL_API uint64_t holdall_bag_writer_record_count(const holdall_bag_writer *writer);

/* Makes all appended records durable and visible, atomically: see base.h. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_writer_commit(holdall_bag_writer *writer,
                                         holdall_error *err);

/* Closes a writer. */
HOLDALL_API void holdall_bag_writer_close(holdall_bag_writer *writer);

/* Lists the files of a spec (see holdall_bag_open()), in order, to dst: NUL-terminated paths, *n
 * bytes in total. Only `@*` and plain names search the disk; files of `@N` need not exist.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT, _MISSING: `@*` matches shards of different counts, or none. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_files(const char *spec,
                                 char *dst,
                                 size_t dst_size,
                                 size_t *n,
                                 holdall_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_BAG_H */
