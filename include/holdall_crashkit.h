/* holdall_crashkit.h - does your storage keep what holdall commits, whatever happens to it?
 *
 * holdall_io_from_functions() lets programs keep containers in storage of their own. What commits promise then rests on
 * three of the functions: what `sync`, `rename` and `remove` have done when they return survives a crash. This kit
 * shows a storage under crashes: it runs a change (an append, an edit, a removal, ...) over it once for each operation
 * that changes the storage, cuts the power there, puts what a disk might then hold into a new storage, and opens that. A
 * reader must see the last commit or the new one, whole, and the next writer must find its way.
 *
 * On the way everything that the storage is told is kept beside it, too: a `read_at` or `size` that gives anything else
 * than was written is a fault of its own, with or without a crash.
 *
 * The model: bytes and lengths are durable once their file is synced; so is the name of a new file. Renames and
 * removals are durable at once. All else may be lost, kept, or kept in part when the power goes, in any combination, and
 * a write may be torn at any 512 bytes. A run is the same each time, as the seed says.
 *
 * Storage without `list` cannot hold folders, and their scenes fail with HOLDALL_E_UNSUPPORTED.
 *
 * Link with holdall::crashkit (CMake), after find_package(holdall). The rules of holdall.h hold: words of a failure go
 * to an holdall_error of the caller's, strings end with a NUL, nothing is printed. One thread at a time.
 */
#ifndef HOLDALL_CRASHKIT_H
#define HOLDALL_CRASHKIT_H

#include <holdall.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The storage under test. */
typedef struct holdall_crashkit_storage {
    /* Given to `make`. */
    void *ctx;
    /* Gives the functions of a new, empty storage, apart from all others; 0, or -errno. Its `destroy` is called when the
     * kit is done with it. Called for each state that is tried: make it cheap. */
    int (*make)(void *ctx, holdall_io_functions *functions);
} holdall_crashkit_storage;

/* Bytes of what a reader sees, made small: see holdall_crashkit_scene::read. */
#define HOLDALL_CRASHKIT_SEEN 64

/* A change of a container, to be cut off. Each function opens what it needs in `io` and closes it again; what it returns
 * below 0 is a failure, with words in *err. */
typedef struct holdall_crashkit_scene {
    /* For messages, such as "bag: append". */
    const char *name;
    /* Given to each function. */
    const void *ctx;
    /* Makes what is there before, with a commit; NULL: nothing is. */
    holdall_status (*before)(const void *ctx, holdall_io *io, holdall_error *err);
    /* The change, with one commit at its end. */
    holdall_status (*change)(const void *ctx, holdall_io *io, holdall_error *err);
    /* What a reader sees, as a checksum or in any other form that is the same for the same content alone; all of `seen`
     * is compared, which is zeros at first. HOLDALL_E_MISSING counts as nothing there, where nothing was before. */
    holdall_status (*read)(const void *ctx, holdall_io *io, unsigned char seen[HOLDALL_CRASHKIT_SEEN], holdall_error *err);
    /* What the next program does: opens for writing, changes nothing that a reader sees, commits. NULL: not tried. */
    holdall_status (*go_on)(const void *ctx, holdall_io *io, holdall_error *err);
} holdall_crashkit_scene;

/* How much is tried; zeros are the defaults. */
typedef struct holdall_crashkit_settings {
    /* States that are tried of each cut; default 16. The first two are those in which nothing and everything was kept. */
    uint32_t states;
    /* For the others. */
    uint64_t seed;
    /* A canary: this `sync` of the change (from 1 on) is one that does nothing. A run over all syncs of a change must then
     * find violations; where it does not, that sync is not needed, or the kit is blind. 0: none. */
    uint32_t idle_sync;
    /* Told of each violation, in words of several lines that end with the operations, and which were lost; may be NULL. */
    void (*told)(void *ctx, const char *words);
    void *ctx;
} holdall_crashkit_settings;

/* What was found. */
typedef struct holdall_crashkit_result {
    /* Operations of the change that the storage was cut at, and syncs among them. */
    uint64_t operations, syncs;
    /* States that were opened, each different from the others of its cut. */
    uint64_t states;
    /* States in which a reader saw neither commit, or the next writer failed or changed what was there; and answers of
     * the storage that were not what it was told. */
    uint64_t violations;
} holdall_crashkit_result;

/* Tries a scene. HOLDALL_OK: it was tried to the end, see *result; below 0: the change failed without a cut, or the storage
 * could not be made. settings NULL: the defaults. */
HOLDALL_API HOLDALL_USE holdall_status holdall_crashkit_run(const holdall_crashkit_storage *storage, const holdall_crashkit_scene *scene,
                                                            const holdall_crashkit_settings *settings, holdall_crashkit_result *result,
                                                            holdall_error *err);

/* The scenes that come with the kit, over every container that storage behind functions can hold: *n of them; static. */
HOLDALL_API const holdall_crashkit_scene *holdall_crashkit_scenes(size_t *n);

#ifdef __cplusplus
}
#endif
#endif
