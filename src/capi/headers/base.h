/* holdall/@NAME@.h - @TITLE@.
 *
 * Results
 *  - A function that can fail returns holdall_status: HOLDALL_OK (0), below 0 a failure, above 0
 *    success with a remark.
 *  - Results are stored through pointers, which follow the inputs. A failure leaves them
 *    unchanged, except: an *out handle is NULL, buffers may hold anything, HOLDALL_E_BUFFER sets
 *    *n, and holdall_verify() stores its counts.
 *  - A pointer to 0 bytes or values may be NULL. Functions that cannot fail return 0 or NULL for
 *    NULL. A closed handle, an invalid pointer or a wrong length is undefined behaviour.
 *
 * Failures that functions do not list
 *  - HOLDALL_E_ARGUMENT, HOLDALL_E_INTERNAL: all functions.
 *  - HOLDALL_E_RANGE: those with positions or counts. HOLDALL_E_BUFFER: those with a dst.
 *  - HOLDALL_E_IO, HOLDALL_E_MEMORY, HOLDALL_E_LIMIT: those that access a container.
 *  - HOLDALL_E_MISSING, HOLDALL_E_TYPE (another kind of container), HOLDALL_E_FORMAT,
 *    HOLDALL_E_CHECKSUM, HOLDALL_E_VERSION, HOLDALL_E_CODEC (corrupt or unknown): opening. The
 *    last four: also changing a part of such a chunk.
 *  - HOLDALL_E_BUSY (another writer), HOLDALL_E_UNSUPPORTED (read-only storage): opening to write.
 *  - HOLDALL_E_STATE: reading after another commit; writing through a handle for reading, with an
 *    unreleased Arrow stream, or whose container was moved or replaced.
 *  - HOLDALL_E_CANCELLED: those that report progress.
 *
 * Structures
 *  - Specs, infos and results begin with struct_size, so that later versions can add fields. Set
 *    it before the call, and unused fields of a spec to 0:
 *    holdall_array_info info = {.struct_size = sizeof info}; in C++11 {sizeof info}.
 *
 * Handles and threads
 *  - holdall_X_close() or holdall_X_free() releases a handle, accepts NULL, and cannot fail.
 *    Handles may be closed in any order.
 *  - const holdall_X *: many threads may call such functions on one handle at once. holdall_X *:
 *    one thread at a time, but any thread. Distinct handles are independent.
 *  - Callbacks run on the calling thread unless documented otherwise. They must not unwind (C++
 *    exceptions, longjmp) through the library, nor use the handle that they were called for.
 *  - After fork() the child may read through inherited handles. An inherited writer returns
 *    HOLDALL_E_STATE: see docs/threads.md.
 *
 * Commits
 *  - A handle sees its own changes at once. Others see them, all together, after the commit, which
 *    makes them durable. Closing without a commit discards them, as a crash would.
 *  - After a failed commit the container is as before, and the commit may be repeated. After
 *    HOLDALL_E_STATE (such as a failed sync) close the handle: the container is complete when
 *    opened again, with or without the changes. HOLDALL_E_EXISTS: HOLDALL_CREATE, and another
 *    program has created the path.
 *  - A container has at most one writer, and readers, which see the last commit when they open.
 *    After a later one, except in frames in one file and in bags with
 *    HOLDALL_OPT_BAG_LIMITS_CACHE, reads may return HOLDALL_E_STATE: refresh or open again. In
 *    datasets (bcolz, BLZ) they may see some of the changed rows.
 *  - Files NAME.holdall-* beside a file NAME belong to its writer. A NAME.holdall-journal that
 *    remains belongs to the container: see docs/commits.md.
 *
 * Following a writer
 *  - holdall_X_refresh() moves a handle that was opened for reading (else HOLDALL_E_STATE) to the
 *    newest commit. Borrowed pointers become invalid. It fails as opening does, and then leaves
 *    the handle unchanged. Relative paths refer to the working directory of the moment.
 *  - Without a newer commit it takes about a system call per file. The first one, those until 50
 *    ms after a commit, and all in storage open again in any case.
 *  - holdall_X_generation() is 0 after opening, and one more after each commit through the handle
 *    and each refresh that opened again. To detect new data compare shape, row_count or
 *    record_count.
 *
 * Memory and values
 *  - Buffers belong to the caller. Sizes are in bytes: dst_size, and src_size beside strides or
 *    positions, at least as needed (else HOLDALL_E_BUFFER); any other src_size exactly (else
 *    HOLDALL_E_ARGUMENT). Where the size is not known in advance, dst == NULL stores it in *n and
 *    returns HOLDALL_OK.
 *  - Pointers to numbers and to pointers must be aligned as C requires. Buffers (void *) need no
 *    alignment. Items are packed, in C order, unless documented otherwise.
 *  - Returned pointers, also those in infos, are borrowed: valid until the handle is closed, or
 *    changed by a function that takes it without const.
 *  - Strings are UTF-8 and end with NUL. Paths are any bytes but NUL.
 *
 * Attributes
 *  - holdall_X_attr_name() returns the name of attribute i, or NULL past the last.
 *  - holdall_X_attr_get() borrows *n bytes without a NUL. HOLDALL_NOT_FOUND: no such
 *    name; *value is NULL, *n 0. holdall_X_attr_set() copies n bytes; value NULL removes it.
 *
 * Storage
 *  - A path is a local file or folder, or an object such as gs://bucket/key: see docs/clouds.md.
 *    holdall_options_set_storage() replaces it.
 *
 * The process
 *  - Functions never abort, print, or install a signal handler. They read one environment
 *    variable, HOLDALL_THREADS, once; for objects, also credentials.
 */
/* Generated from src/capi/; do not edit. */
#ifndef @GUARD@
#define @GUARD@

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

#ifdef __cplusplus
extern "C" {
#endif

@ITEMS@

#ifdef __cplusplus
}
#endif

#endif /* @GUARD@ */
