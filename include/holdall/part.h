/* holdall/part.h - parts: many processes write one container, with one commit. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_PART_H
#define HOLDALL_PART_H

#include "base.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Size of the token of a part in bytes. */
#define HOLDALL_PART_TOKEN_SIZE 164

/* A part of a container: any number of processes write parts of one container at the same time,
 * without knowing of each other, and one process commits them, all or none.
 *
 * A part is a container of its own beside the other one. Open holdall_part_path() with
 * HOLDALL_APPEND, write, commit and close it. Then holdall_part_finish() returns the token of
 * the part; send it to the process that calls holdall_parts_commit(). Readers never see parts.
 *
 * Parts whose tokens are neither committed nor discarded stay; holdall_repair() removes them.
 * They are files: workers on other machines need the same file system. */
typedef struct holdall_part holdall_part;

/* Creates a part of a bag that may not exist yet, or of a new set: a bag without records. Open
 * it with holdall_bag_writer_open() and the same options, those of a writer.
 *
 * The records are appended to the bag. Of a set (`name@8.bagz`; `name@*.bagz`: as many shards as
 * parts), each part becomes a shard, without a copy.
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: an object store or storage of the caller, also for arrays and tables;
 *   a CTable. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_part_of_bag(const char *spec,
                                   const holdall_options *options,
                                   holdall_part **out,
                                   holdall_error *err);

/* Creates a part of an existing array. start and shape NULL: an array of the same dtype without
 * rows, whose rows are appended. Otherwise the box from start on, ndim lengths each, whose
 * items, zeros or the fill value at first, replace those of the array. Options: for rows of
 * bcolz, BLZ and the BLZ RFC layout, those of a new array of that format; otherwise those of a
 * new array in a frame.
 *
 * If the array is in a frame, and the box or the rows begin and end with its chunks or end with
 * it, chunks are not encoded again. Nor are complete chunks of rows in the other three formats,
 * if they begin with a chunk of the array. Of boxes that overlap, the last one counts.
 *
 * Returns:
 * - HOLDALL_E_RANGE: the box is not within the array.
 * - HOLDALL_E_UNSUPPORTED: also rows of an array of 0 dimensions or in Fortran order. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_part_of_array(const char *path,
                                     uint32_t ndim,
                                     const uint64_t *start,
                                     const uint64_t *shape,
                                     const holdall_options *options,
                                     holdall_part **out,
                                     holdall_error *err);

/* Creates a part of an existing table: a table with the same columns without rows, whose rows
 * are appended. Options: those of a new table. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_part_of_table(const char *path,
                                     const holdall_options *options,
                                     holdall_part **out,
                                     holdall_error *err);

/* Returns the path of the container that is the part, valid as long as the handle. */
HOLDALL_API const char *holdall_part_path(const holdall_part *part);

/* Writes the token of the part, HOLDALL_PART_TOKEN_SIZE bytes. The container must be committed
 * and closed, and must not be changed any more.
 *
 * Returns:
 * - HOLDALL_E_STATE: finished already, or the shape of the box was changed. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_part_finish(holdall_part *part,
                                   void *token,
                                   holdall_error *err);

/* Closes a part. If it is not finished, its files are removed. */
HOLDALL_API void holdall_part_close(holdall_part *part);

/* Commits parts of the container at a path or spec, and removes them: records and rows are
 * appended in the order of the tokens, which are end to end. All parts are committed, or none.
 * Options: those of opening for writing. count 0: nothing happens.
 *
 * The call may be repeated after any failure, also by another process: parts are not committed
 * twice.
 *
 * Returns:
 * - HOLDALL_E_MISSING: a part is gone: an earlier call committed or discarded it.
 * - HOLDALL_E_FORMAT, _CHECKSUM: not a token.
 * - HOLDALL_E_ARGUMENT: tokens of different kinds, one twice, or not as many as shards.
 * - HOLDALL_E_EXISTS: the set exists.
 * - HOLDALL_E_STATE: a part was changed after it was finished; or another writer changed the
 *   container after an interrupted call (see the message).
 * - HOLDALL_E_TYPE: a part has another dtype or other columns. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_parts_commit(const char *path,
                                    const void *tokens,
                                    size_t count,
                                    const holdall_options *options,
                                    holdall_error *err);

/* Removes parts without committing them. Those that are gone are ignored. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_parts_discard(const char *path,
                                     const void *tokens,
                                     size_t count,
                                     holdall_error *err);

/* Lists the uncommitted parts of the container at a path or spec to dst: NUL-terminated names,
 * *n bytes in total. Parts that a writer has open are included. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_parts_list(const char *path,
                                  char *dst,
                                  size_t dst_size,
                                  size_t *n,
                                  holdall_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_PART_H */
