/* holdall_crashkit.h - tests whether commits are atomic on custom storage.
 *
 * holdall_storage_from_functions() lets programs store containers in their own storage. Commits then
 * rely on three of the functions: the effects of `sync`, `rename` and `remove` survive a crash
 * after these functions have returned. This kit tests a storage under crashes. It runs a change (an
 * append, an edit, a removal, ...) once for each operation that changes the storage, cuts the power
 * there, copies what a disk might then contain into a new storage, and opens it. A reader must see
 * the last commit or the new one, complete, and the next writer must be able to continue.
 *
 * The kit also records everything that is written to the storage. A `read_at` or `size` that
 * returns anything else is a violation of its own, with or without a crash.
 *
 * The model: bytes and lengths are durable once their file is synced; so is the name of a new file.
 * Renames and removals are durable immediately. Everything else may be lost, survive, or survive in
 * part when the power is cut, in any combination, and a write may be torn at any multiple of 512
 * bytes. A run is deterministic for a seed.
 *
 * Storage without `list` cannot hold folders: scenes with folders fail with HOLDALL_E_UNSUPPORTED.
 *
 * Link with holdall::crashkit (CMake), after find_package(holdall). The rules of holdall.h apply:
 * messages of failures are written to a holdall_error of the caller, strings end with a NUL, and
 * nothing is printed. One thread at a time.
 */
#ifndef HOLDALL_CRASHKIT_H
#define HOLDALL_CRASHKIT_H

#include <holdall.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The storage under test. */
typedef struct holdall_crashkit_storage {
    /* Passed to `make`. */
    void *ctx;
    /* Returns the functions of a new, empty, independent storage; the result is 0 or -errno. The
     * kit calls `destroy` of the storage when it no longer needs it. It calls `make` for each
     * tested state, so `make` should be fast. */
    int (*make)(void *ctx, holdall_storage_functions *functions);
} holdall_crashkit_storage;

/* Size in bytes of the summary of what a reader sees; see holdall_crashkit_scene::read. */
#define HOLDALL_CRASHKIT_SEEN 64

/* A change of a container, to be interrupted. Each function opens what it needs in `io` and closes
 * it again. A result below 0 is a failure, with a message in *err. */
typedef struct holdall_crashkit_scene {
    /* Name in messages, such as "bag: append". */
    const char *name;
    /* Passed to each function. */
    const void *ctx;
    /* Creates the state before the change, with a commit. NULL: no container exists. */
    holdall_status (*before)(const void *ctx, holdall_storage *io, holdall_error *err);
    /* The change, with one commit at its end. */
    holdall_status (*change)(const void *ctx, holdall_storage *io, holdall_error *err);
    /* Summarizes what a reader sees: a checksum, or any other value that is equal only for equal
     * content. All bytes of `seen` are compared; they are zeros at first. HOLDALL_E_MISSING means
     * that no container exists, if none existed before. */
    holdall_status (*read)(const void *ctx, holdall_storage *io, unsigned char seen[HOLDALL_CRASHKIT_SEEN], holdall_error *err);
    /* The next program: opens for writing, changes nothing that a reader sees, commits. NULL: not
     * tested. */
    holdall_status (*go_on)(const void *ctx, holdall_storage *io, holdall_error *err);
} holdall_crashkit_scene;

/* Settings of a run; zeros select the defaults. */
typedef struct holdall_crashkit_settings {
    /* Number of states to test for each cut; default 16. The first state loses all
     * pending writes, the second loses none. */
    uint32_t states;
    /* Seed of the other states. */
    uint64_t seed;
    /* A canary: this `sync` of the change (from 1 on) does nothing. A run over all syncs of a
     * change must then find violations. If it finds none for a sync, the sync is not needed, or the
     * kit does not detect its absence. 0: none. */
    uint32_t idle_sync;
    /* Called for each violation, with a message of several lines that ends with the operations, and
     * which of them were lost; may be NULL. */
    void (*told)(void *ctx, const char *message);
    void *ctx;
} holdall_crashkit_settings;

/* Result of a run. */
typedef struct holdall_crashkit_result {
    /* Operations of the change at which the power was cut, and the number of syncs among them. */
    uint64_t operations, syncs;
    /* States that were opened; the states of one cut are distinct. */
    uint64_t states;
    /* States in which a reader saw neither commit, or the next writer failed or changed the
     * content; and results of the storage that differ from what was written to it. */
    uint64_t violations;
} holdall_crashkit_result;

/* Tests a scene and fills *result. `settings` NULL selects the defaults.
 * HOLDALL_OK: the test is complete, with or without violations. Below 0: the change failed without
 * a cut, or the storage could not be created. */
HOLDALL_API HOLDALL_USE holdall_status holdall_crashkit_run(const holdall_crashkit_storage *storage, const holdall_crashkit_scene *scene,
                                                            const holdall_crashkit_settings *settings, holdall_crashkit_result *result,
                                                            holdall_error *err);

/* Returns the *n scenes of the kit, which cover every container that such storage supports. The
 * array is static. */
HOLDALL_API const holdall_crashkit_scene *holdall_crashkit_scenes(size_t *n);

#ifdef __cplusplus
}
#endif
#endif
