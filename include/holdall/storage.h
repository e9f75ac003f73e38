/* holdall/storage.h - storage: memory or functions in place of local files. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_STORAGE_H
#define HOLDALL_STORAGE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Storage that replaces a path (holdall_options_set_storage()): a folder of named files, for one
 * container. A container in one file is the file ""; its auxiliary files have names such as
 * "limits." and "checksums.". The files of a folder have names such as "meta/sizes",
 * "data/__0.blp", "chunks.b2frame". There is no lock: the caller must ensure a single writer. */
typedef struct holdall_storage holdall_storage;

/* A read of read_ranges. */
typedef struct holdall_storage_range {
    /* The file. */
    const char *name;
    /* Offset; negative: from the end of the file, or 0 if it is shorter. */
    int64_t at;
    /* Destination; NULL if n is 0. */
    void *dst;
    /* Bytes; fewer at the end. */
    size_t n;
    /* To be set: the size of the file, or -errno. */
    int64_t size;
} holdall_storage_range;

/* Callbacks of a storage. Each returns 0 or more on success, -errno on failure (-ENOENT: no such
 * file). size and read_at are required. The storage is read-only if write_at, truncate, sync,
 * rename or remove is NULL.
 *
 * - The effects of sync, rename and remove must survive a power failure: see docs/storage.md.
 * - Several threads may call each function at once if several use the handles; library threads
 *   only if HOLDALL_OPT_THREADS was set.
 * - Files are identified by name alone: do not replace a container that is open for reading. */
typedef struct holdall_storage_functions {
    /* sizeof(holdall_storage_functions). */
    size_t struct_size;
    /* Passed to each function. */
    void *ctx;
    /* Returns the size of a file in bytes. */
    int64_t (*size)(void *ctx, const char *name);
    /* Reads n bytes at offset at, fewer only at the end of the file. Returns how many. */
    int64_t (*read_at)(void *ctx, const char *name, uint64_t at, void *dst, size_t n);
    /* Writes all n bytes at offset at of an existing file. A gap before them is read as zeros. */
    int64_t (*write_at)(void *ctx, const char *name, uint64_t at, const void *src, size_t n);
    /* Sets the size of a file in bytes, and creates it if needed. */
    int64_t (*truncate)(void *ctx, const char *name, uint64_t size);
    /* Makes the content, size and name of a file durable. */
    int64_t (*sync)(void *ctx, const char *name);
    /* Renames a file atomically and replaces one of the new name. */
    int64_t (*rename)(void *ctx, const char *from, const char *to);
    /* Removes a file. */
    int64_t (*remove)(void *ctx, const char *name);
    /* Calls each with the name of every file in folder ("": the storage itself), relative to it,
     * on the calling thread, until each returns non-zero. A folder that does not exist has none;
     * files of deeper folders may be included. Required for datasets, and to change frames in
     * folders. */
    int64_t (*list)(void *ctx,
                    const char *folder,
                    int (*each)(void *arg, const char *name),
                    void *arg);
    /* Called once, after the storage is freed and the last options and handles that use it. May
     * be NULL. */
    void (*destroy)(void *ctx);
    /* Reads n ranges, perhaps at once. May be NULL. Where each call takes long, it opens and
     * reads frames and bags with few. */
    int64_t (*read_ranges)(void *ctx, holdall_storage_range *ranges, size_t n);
} holdall_storage_functions;

/* Creates a storage from callbacks. The table is copied; what the functions use must stay valid
 * until destroy is called, which a failure does not do. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_storage_from_functions(const holdall_storage_functions *functions,
                                              holdall_storage **out,
                                              holdall_error *err);

/* Creates a read-only storage with one file, "": n bytes of memory, which must stay valid and
 * unchanged until every handle opened from it is closed. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_storage_from_memory(const void *bytes,
                                           size_t n,
                                           holdall_storage **out,
                                           holdall_error *err);

/* Creates an empty, writable storage in memory. Writers exclude each other. The last handle that
 * uses it frees the files. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_storage_new_memory(holdall_storage **out,
                                          holdall_error *err);

/* Creates another handle of the same storage. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_storage_clone(const holdall_storage *storage,
                                     holdall_storage **out,
                                     holdall_error *err);

/* Gets a file of holdall_storage_new_memory() without a copy. The bytes stay unchanged, also by
 * commits, until the next call for this name, or until the handle is freed.
 *
 * Returns:
 * - HOLDALL_E_MISSING: no such file.
 * - HOLDALL_E_UNSUPPORTED: another storage. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_storage_get_file(holdall_storage *storage,
                                        const char *name,
                                        const void **bytes,
                                        size_t *n,
                                        holdall_error *err);

/* Puts a copy of n bytes into holdall_storage_new_memory() as a file. Open handles keep the
 * previous file of this name. Returns as holdall_storage_get_file(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_storage_put_file(holdall_storage *storage,
                                        const char *name,
                                        const void *bytes,
                                        size_t n,
                                        holdall_error *err);

/* Returns the current number of files of holdall_storage_new_memory(); otherwise 0. */
HOLDALL_API size_t holdall_storage_file_count(holdall_storage *storage);

/* Returns the name of file i, valid until the next holdall_storage_file_count(), or NULL. */
HOLDALL_API const char *holdall_storage_file_name(const holdall_storage *storage, size_t i);

/* Frees a storage, also while options or handles use it. */
HOLDALL_API void holdall_storage_free(holdall_storage *storage);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_STORAGE_H */
