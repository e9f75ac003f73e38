/* holdall/bag_index.h - indexes of bags: from keys to record numbers. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_BAG_INDEX_H
#define HOLDALL_BAG_INDEX_H

#include "base.h"
#include "container.h"
#include "options.h"
#include "bag.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An index of a bag: finds records by their complete content, the key, and keeps its bag open.
 * It stores 7 to 9 bytes per record; a lookup compares the records with the key.
 *
 * To find values by key, write two bags: record i of the values belongs to record i of the keys.
 * Commit the values first, and index the keys.
 *
 * An index belongs to one state of a bag, or of a slice, in one order of shards. After a commit
 * to the bag opening it is HOLDALL_E_STATE: create it again (HOLDALL_REPLACE); there is no
 * incremental update. A record replaced by another of the same length may go undetected without
 * HOLDALL_OPT_VERIFY 2: it is not found. */
typedef struct holdall_bag_index holdall_bag_index;

/* Stands for the number of a record that does not exist. */
#define HOLDALL_NO_RECORD UINT64_MAX

/* Builds the index of a bag, or of a slice (whose numbers it uses), in memory: about 22 bytes
 * per record, then 9.
 *
 * Returns:
 * - HOLDALL_E_FORMAT, _CHECKSUM: a record (err->position) is corrupt. HOLDALL_OPT_SKIP_DAMAGED,
 *   here or of the bag, omits it. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_index_build(const holdall_bag *keys,
                                       const holdall_options *options,
                                       holdall_bag_index **out,
                                       holdall_error *err);

/* Builds an index like holdall_bag_index_build(), in a file such as "NAME.index" (in storage:
 * ""), and opens it. The file is replaced atomically. mode: HOLDALL_CREATE, HOLDALL_REPLACE.
 *
 * Returns:
 * - HOLDALL_E_EXISTS: see mode; or the file to replace is no index.
 * - HOLDALL_E_UNSUPPORTED: path is in an object store.
 * - others: as holdall_bag_index_build(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_index_create(const char *path,
                                        holdall_mode mode,
                                        const holdall_bag *keys,
                                        const holdall_options *options,
                                        holdall_bag_index **out,
                                        holdall_error *err);

/* Opens the index of a bag, or of the same slice, from a file (in storage: the file ""). Memory
 * and time do not depend on the number of keys: parts are read and verified when needed.
 *
 * Returns:
 * - HOLDALL_E_STATE: it belongs to another bag, state or slice. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_index_open(const char *path,
                                      const holdall_bag *keys,
                                      const holdall_options *options,
                                      holdall_bag_index **out,
                                      holdall_error *err);

/* Closes an index. */
HOLDALL_API void holdall_bag_index_close(holdall_bag_index *index);

/* Returns the number of distinct keys. */
HOLDALL_API uint64_t holdall_bag_index_key_count(const holdall_bag_index *index);

/* Returns the number of records that were corrupt when the index was built, which it leaves out. */
HOLDALL_API uint64_t holdall_bag_index_damaged_count(const holdall_bag_index *index);

/* Finds the first record equal to the key; *record is its number.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: none; *record is HOLDALL_NO_RECORD.
 * - HOLDALL_E_FORMAT, _CHECKSUM: a part of the index, or a record that may match
 *   (err->position), is corrupt; not with HOLDALL_OPT_SKIP_DAMAGED.
 * - others: as holdall_bag_read(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_index_find_first(const holdall_bag_index *index,
                                            const void *key,
                                            size_t key_size,
                                            uint64_t *record,
                                            holdall_error *err);

/* Finds all records equal to the key: their numbers, ascending, in records, which has space for
 * most; *n is how many. records NULL requests *n alone.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: none; *n is 0.
 * - HOLDALL_E_BUFFER: *n exceeds most.
 * - others: as holdall_bag_index_find_first(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_index_find(const holdall_bag_index *index,
                                      const void *key,
                                      size_t key_size,
                                      uint64_t *records,
                                      size_t most,
                                      size_t *n,
                                      holdall_error *err);

/* Like holdall_bag_index_find_first(), for count keys in parallel, given as for
 * holdall_bag_writer_append_many(). records[i] is the number of the record of key i, or
 * HOLDALL_NO_RECORD.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: at least one key has no record.
 * - others: as holdall_bag_index_find_first(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_index_find_many(const holdall_bag_index *index,
                                           const void *data,
                                           const uint64_t *offsets,
                                           size_t count,
                                           uint64_t *records,
                                           holdall_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_BAG_INDEX_H */
