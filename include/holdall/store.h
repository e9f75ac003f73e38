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
#include "storage.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open store of python-blosc2: a tree of arrays, superchunks and tables, the nodes, in a
 * folder (`.b2d`), a zip archive (`.b2z`) or a frame (`.b2e`). The path of a node begins with a
 * slash.
 *
 * The functions of array.h, schunk.h and table.h also open nodes by path: "x.b2z/group/a", in a
 * folder also for changes. While a node is open for changes, no other thread may use the store;
 * a change beside a commit is refused, HOLDALL_E_STATE. */
typedef struct holdall_store holdall_store;

/* Opens a store. mode: HOLDALL_READ, or HOLDALL_APPEND to change nodes in one commit.
 *
 * Returns:
 * - HOLDALL_E_FORMAT: no store; an archive with members that overlap or lead out of it.
 * - HOLDALL_E_BUSY: a writer has the store or a node open. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_open(const char *path,
                                  holdall_mode mode,
                                  const holdall_options *options,
                                  holdall_store **out,
                                  holdall_error *err);

/* Creates a store and opens it for changes. The first commit makes it visible.
 *
 * - mode: HOLDALL_CREATE, HOLDALL_REPLACE.
 * - format: HOLDALL_FORMAT_B2D, _B2Z or _B2E; 0: by the end of the path. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_create(const char *path,
                                    holdall_mode mode,
                                    holdall_format format,
                                    const holdall_options *options,
                                    holdall_store **out,
                                    holdall_error *err);

/* Makes what nodes have committed, and removals, visible and durable in one step, and lists the
 * nodes again. Open nodes stay valid. An archive or a frame is written again.
 *
 * Returns:
 * - HOLDALL_E_STATE: opened for reading; another program has changed a node.
 * - HOLDALL_E_UNSUPPORTED: a node has another format than b2nd, b2frame or ctable. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_commit(holdall_store *store,
                                    holdall_error *err);

/* Gets the storage of a new node, for holdall_options_set_storage() and a call that creates or
 * copies an array (HOLDALL_FORMAT_B2ND), a superchunk (_B2FRAME) or a table (_CTABLE): kind.
 * Creates groups. To be freed.
 *
 * Returns:
 * - HOLDALL_E_EXISTS: another kind of node has this path, or a table is above or below it.
 * - HOLDALL_E_ARGUMENT: a step such as "..".
 * - HOLDALL_E_UNSUPPORTED: a table in a .b2e store. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_node_storage(const holdall_store *store,
                                          const char *node,
                                          holdall_kind kind,
                                          holdall_storage **out,
                                          holdall_error *err);

/* Copies all nodes, as they are stored, to a new store, complete or not at all. path, mode,
 * format: as for holdall_store_create().
 *
 * Returns: as that does, and
 * - HOLDALL_E_UNSUPPORTED: a table for a .b2e store. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_copy(const holdall_store *store,
                                  const char *path,
                                  holdall_mode mode,
                                  holdall_format format,
                                  const holdall_options *options,
                                  holdall_error *err);

/* Removes a node or a group with the next commit. No handle of it may be open.
 *
 * Returns:
 * - HOLDALL_E_MISSING: no such node. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_remove(holdall_store *store,
                                    const char *node,
                                    holdall_error *err);

/* Closes a store, without a commit. Its open nodes remain valid. */
HOLDALL_API void holdall_store_close(holdall_store *store);

/* Returns the number of nodes at the last commit. A table is one node. */
HOLDALL_API size_t holdall_store_node_count(const holdall_store *store);

/* Returns the path of a node, in order; NULL if i is out of range. Valid until the store is
 * closed or committed.
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

/* Opens a node that is an array. mode: HOLDALL_READ; HOLDALL_APPEND if the store is open for
 * changes: what the array commits is in the next commit of the store.
 *
 * Returns: as holdall_store_identify() and holdall_array_open(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_open_array(const holdall_store *store,
                                        const char *node,
                                        holdall_mode mode,
                                        const holdall_options *options,
                                        holdall_array **out,
                                        holdall_error *err);

/* Opens a node as a superchunk. mode: as for holdall_store_open_array().
 *
 * Returns: as holdall_store_identify() and holdall_schunk_open(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_open_schunk(const holdall_store *store,
                                         const char *node,
                                         holdall_mode mode,
                                         const holdall_options *options,
                                         holdall_schunk **out,
                                         holdall_error *err);

/* Opens a node that is a table. mode: as for holdall_store_open_array(). holdall_table_refresh()
 * does not apply.
 *
 * Returns: as holdall_store_identify() and holdall_table_open(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_store_open_table(const holdall_store *store,
                                        const char *node,
                                        holdall_mode mode,
                                        const holdall_options *options,
                                        holdall_table **out,
                                        holdall_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_STORE_H */
