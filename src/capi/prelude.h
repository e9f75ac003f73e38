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
#define HOLDALL_VERSION_MAJOR @MAJOR@
#define HOLDALL_VERSION_MINOR @MINOR@
#define HOLDALL_VERSION_PATCH @PATCH@
/* major * 1000000 + minor * 1000 + patch */
#define HOLDALL_VERSION_NUMBER @NUMBER@

#ifdef __cplusplus
extern "C" {
#endif

/* Of Arrow's C stream interface; its structures are declared where programs use them. */
struct ArrowArrayStream;
