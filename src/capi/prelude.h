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
#define HOLDALL_VERSION_MAJOR @MAJOR@
#define HOLDALL_VERSION_MINOR @MINOR@
#define HOLDALL_VERSION_PATCH @PATCH@
/* major * 1000000 + minor * 1000 + patch */
#define HOLDALL_VERSION_NUMBER @NUMBER@

#ifdef __cplusplus
extern "C" {
#endif

/* Arrow's C stream interface. Programs that use it declare its structures. */
struct ArrowArrayStream;
