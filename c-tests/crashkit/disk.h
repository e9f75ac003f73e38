/*
 * The storage under test with a simulated disk beside it: it passes every call on, keeps what is durable and what is
 * pending apart, and cuts the power at a given operation.
 */
#ifndef CRASHKIT_DISK_H
#define CRASHKIT_DISK_H

#include <holdall_crashkit.h>

#include <stdbool.h>

/* What was done to the storage, in order. */
enum kind { MAKE, WRITE, RESIZE, SYNC, RENAME, REMOVE };

struct op {
    enum kind kind;
    char *name, *to; /* `to`: of a rename */
    uint64_t at, n;  /* of a write; n: of a resize */
    size_t file;     /* which one, as long as it has a name */
    uint8_t *bytes;  /* of a write */
    bool pending;    /* may be lost */
};

struct file {
    char *name; /* NULL: it is gone */
    bool durable_name;
    uint8_t *live, *durable;
    size_t live_n, durable_n;
};

struct disk {
    holdall_storage_functions under;
    struct file *files;
    size_t files_n;
    struct op *ops;
    size_t ops_n;
    uint64_t cut;   /* operations after which the power is off */
    bool is_off;
    uint32_t syncs, idle_sync;
    bool out_of_memory;
    char fault[512]; /* the first answer of the storage that differs from what was written */
};

/* Over the functions of an empty storage, which it owns. */
void disk_init(struct disk *d, const holdall_storage_functions *under);
void disk_free(struct disk *d);

/* From here on: nothing pending, no operations, the power off after `cut` of them, that sync idle. */
void disk_reset_log(struct disk *d, uint64_t cut, uint32_t idle_sync);

/* What programs use. *out is to be closed before the disk is freed. */
holdall_status disk_io(struct disk *d, holdall_storage **out, holdall_error *err);

/* What is done with a pending operation when the power goes. */
enum fate { LOST, RETAINED, TORN };

/* Puts what is left after the cut into another disk: fates[i] for operation i, `torn[i]` bytes of it where TORN. */
int disk_after(const struct disk *d, const uint8_t *fates, const uint32_t *torn, struct disk *to);

/* A number that distinguishes the states of one cut. */
uint64_t disk_hash(const struct disk *d);

/* The operations, a line each, with what became of them (fates NULL: nothing yet); to be freed. */
char *disk_story(const struct disk *d, const uint8_t *fates);

#endif
