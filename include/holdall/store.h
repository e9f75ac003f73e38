/* holdall/store.h - stores of python-blosc2: trees of arrays and superchunks. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_STORE_H
#define HOLDALL_STORE_H

#include "base.h"
#include "container.h"
#include "options.h"
#include "array.h"
#include "table.h"
#include "schunk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open store of python-blosc2: a tree of arrays and superchunks, the nodes, in a folder
 * (`.b2d`), a zip archive (`.b2z`) or a frame (`.b2e`). The path of a node begins with a slash.
 *
 * The functions of array.h, schunk.h and table.h also open nodes by path: "x.b2z/group/a". Nodes
 * of a folder open for changes, too; archives and frames are read-only. */
typedef struct holdall_store holdall_store;

/* Opens a store for reading. It lists the nodes once: open it again to find later ones.
 *
 * Returns:
 * - HOLDALL_E_FORMAT: no store; an archive with members that overlap or lead out of it. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_open(const char *path,
                                  const holdall_options *options,
                                  holdall_store **out,
                                  holdall_error *err);

/* Closes a store. Its open nodes remain valid. */
HOLDALL_API void holdall_store_close(holdall_store *store);

/* Returns the number of nodes. A table is one node. */
HOLDALL_API size_t holdall_store_node_count(const holdall_store *store);

/* Returns the path of a node, in order; NULL if i is out of range. Valid until the store is
 * closed.
 *
 * A node `__vlmeta__` is a superchunk with the attributes of its group. */
HOLDALL_API const char *holdall_store_node_path(const holdall_store *store, size_t i);

/* Identifies the format and kind of a node. Outputs may be NULL.
 *
 * Returns:
 * - HOLDALL_E_MISSING: no such node.
 * - HOLDALL_E_TYPE: a group.
 * - HOLDALL_E_UNSUPPORTED: a reference to remote content.
 * - HOLDALL_E_FORMAT: two files have this path. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_identify(const holdall_store *store,
                                      const char *node,
                                      holdall_format *format,
                                      holdall_kind *kind,
                                      holdall_error *err);

/* Opens a node that is an array, for reading.
 *
 * Returns: as holdall_store_identify() and holdall_array_open(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_open_array(const holdall_store *store,
                                        const char *node,
                                        const holdall_options *options,
                                        holdall_array **out,
                                        holdall_error *err);

/* Opens a node as a superchunk, for reading.
 *
 * Returns: as holdall_store_identify() and holdall_schunk_open(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_open_schunk(const holdall_store *store,
                                         const char *node,
                                         const holdall_options *options,
                                         holdall_schunk **out,
                                         holdall_error *err);

/* Opens a node that is a table, for reading. holdall_table_refresh() does not apply.
 *
 * Returns: as holdall_store_identify() and holdall_table_open(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_open_table(const holdall_store *store,
                                        const char *node,
                                        const holdall_options *options,
                                        holdall_table **out,
                                        holdall_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_STORE_H */
