/*
 * The simulated disk beside a storage: see disk.h.
 *
 * It does not trust the storage: it compares lengths and contents with those that were written.
 */
#include "disk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *s) {
    size_t n = strlen(s) + 1;
    char *to = malloc(n);
    return to ? memcpy(to, s, n) : NULL;
}

static bool set_bytes(uint8_t **to, size_t *n, const uint8_t *from, size_t from_n) {
    uint8_t *made = realloc(*to, from_n ? from_n : 1);
    if (!made) return false;
    if (from_n) memcpy(made, from, from_n);
    *to = made;
    *n = from_n;
    return true;
}

static bool resize(uint8_t **bytes, size_t *n, uint64_t to) {
    if (to > SIZE_MAX / 2) return false;
    uint8_t *made = realloc(*bytes, to ? (size_t)to : 1);
    if (!made) return false;
    if (to > *n) memset(made + *n, 0, (size_t)to - *n);
    *bytes = made;
    *n = (size_t)to;
    return true;
}

static bool put(uint8_t **bytes, size_t *n, uint64_t at, const uint8_t *src, size_t len) {
    if (len == 0) return true;
    if (at > SIZE_MAX / 2 - len) return false;
    if (at + len > *n && !resize(bytes, n, at + len)) return false;
    memcpy(*bytes + at, src, len);
    return true;
}

__attribute__((format(printf, 2, 3))) static void fault(struct disk *d, const char *format, ...) {
    if (d->fault[0]) return;
    va_list args;
    va_start(args, format);
    vsnprintf(d->fault, sizeof d->fault, format, args);
    va_end(args);
}

static size_t find(const struct disk *d, const char *name) {
    for (size_t i = 0; i < d->files_n; i++)
        if (d->files[i].name && strcmp(d->files[i].name, name) == 0) return i;
    return SIZE_MAX;
}

static size_t add_file(struct disk *d, const char *name) {
    struct file *files = realloc(d->files, (d->files_n + 1) * sizeof *files);
    if (!files) return SIZE_MAX;
    d->files = files;
    files[d->files_n] = (struct file){.name = copy_text(name)};
    return files[d->files_n].name ? d->files_n++ : SIZE_MAX;
}

static void drop_file(struct file *f) {
    free(f->name);
    free(f->live);
    free(f->durable);
    *f = (struct file){.name = NULL};
}

void disk_init(struct disk *d, const holdall_storage_functions *under) {
    *d = (struct disk){.under = *under, .cut = UINT64_MAX};
}

static void drop_ops(struct disk *d) {
    for (size_t i = 0; i < d->ops_n; i++) {
        free(d->ops[i].name);
        free(d->ops[i].to);
        free(d->ops[i].bytes);
    }
    free(d->ops);
    d->ops = NULL;
    d->ops_n = 0;
}

void disk_free(struct disk *d) {
    drop_ops(d);
    for (size_t i = 0; i < d->files_n; i++) drop_file(&d->files[i]);
    free(d->files);
    if (d->under.destroy) d->under.destroy(d->under.ctx);
    *d = (struct disk){.cut = 0};
}

void disk_reset_log(struct disk *d, uint64_t cut, uint32_t idle_sync) {
    drop_ops(d);
    for (size_t i = 0; i < d->files_n; i++) {
        struct file *f = &d->files[i];
        f->durable_name = true;
        if (f->name && !set_bytes(&f->durable, &f->durable_n, f->live, f->live_n)) d->out_of_memory = true;
    }
    d->cut = cut;
    d->is_off = false;
    d->syncs = 0;
    d->idle_sync = idle_sync;
}

/* Notes an operation; NULL where memory is short. */
static struct op *note(struct disk *d, enum kind kind, size_t file, const char *name) {
    struct op *ops = realloc(d->ops, (d->ops_n + 1) * sizeof *ops);
    if (!ops) return d->out_of_memory = true, NULL;
    d->ops = ops;
    struct op *op = &ops[d->ops_n];
    *op = (struct op){.kind = kind, .name = copy_text(name), .file = file, .pending = kind == MAKE || kind == WRITE || kind == RESIZE};
    if (!op->name) return d->out_of_memory = true, NULL;
    d->ops_n++;
    return op;
}

/* Is the power off from this operation on? */
static bool cut_here(struct disk *d) {
    if (d->ops_n >= d->cut) d->is_off = true;
    return d->is_off;
}

/* ---- the functions ---------------------------------------------------------------------------------------------- */

static int64_t disk_size(void *ctx, const char *name) {
    struct disk *d = ctx;
    int64_t n = d->under.size(d->under.ctx, name);
    size_t i = find(d, name);
    if (i == SIZE_MAX && n != -ENOENT) {
        fault(d, "size of \"%s\", which is not there, gave %" PRId64 ", not -ENOENT", name, n);
    } else if (i != SIZE_MAX && n != (int64_t)d->files[i].live_n) {
        fault(d, "size of \"%s\" gave %" PRId64 ", not %zu", name, n, d->files[i].live_n);
    }
    return n;
}

static int64_t disk_read_at(void *ctx, const char *name, uint64_t at, void *dst, size_t n) {
    struct disk *d = ctx;
    int64_t got = d->under.read_at(d->under.ctx, name, at, dst, n);
    size_t i = find(d, name);
    if (i == SIZE_MAX) return got < 0 ? got : (fault(d, "read_at of \"%s\", which is not there, gave %" PRId64, name, got), got);
    const struct file *f = &d->files[i];
    uint64_t rest = at < f->live_n ? f->live_n - at : 0, want = n < rest ? n : rest;
    if (got != (int64_t)want) {
        fault(d, "read_at of \"%s\" at %" PRIu64 ", %zu bytes, gave %" PRId64 ", not %" PRIu64, name, at, n, got, want);
    } else if (want && memcmp(dst, f->live + at, (size_t)want) != 0) {
        fault(d, "read_at of \"%s\" at %" PRIu64 ", %zu bytes, gave other bytes than were written", name, at, n);
    }
    return got;
}

static int64_t disk_write_at(void *ctx, const char *name, uint64_t at, const void *src, size_t n) {
    struct disk *d = ctx;
    size_t i = find(d, name);
    if (i == SIZE_MAX) return -ENOENT;
    if (d->is_off) return -EIO;
    bool off = cut_here(d); /* then some of it may be on the disk */
    struct op *op = note(d, WRITE, i, name);
    if (!op || !(op->bytes = malloc(n ? n : 1))) return -ENOMEM;
    if (n) memcpy(op->bytes, src, n);
    op->at = at;
    op->n = n;
    if (off) return -EIO;
    int64_t done = d->under.write_at(d->under.ctx, name, at, src, n);
    if (done < 0) fault(d, "write_at of \"%s\" failed with %" PRId64, name, done);
    return put(&d->files[i].live, &d->files[i].live_n, at, src, n) ? done : -ENOMEM;
}

static int64_t disk_truncate(void *ctx, const char *name, uint64_t size) {
    struct disk *d = ctx;
    size_t i = find(d, name);
    if (cut_here(d)) return -EIO;
    if (i == SIZE_MAX) {
        i = add_file(d, name);
        if (i == SIZE_MAX || !note(d, MAKE, i, name)) return -ENOMEM;
    }
    struct op *op = note(d, RESIZE, i, name);
    if (!op) return -ENOMEM;
    op->n = size;
    int64_t done = d->under.truncate(d->under.ctx, name, size);
    if (done < 0) fault(d, "truncate of \"%s\" failed with %" PRId64, name, done);
    return resize(&d->files[i].live, &d->files[i].live_n, size) ? done : -ENOMEM;
}

static int64_t disk_sync(void *ctx, const char *name) {
    struct disk *d = ctx;
    size_t i = find(d, name);
    if (cut_here(d)) return -EIO;
    if (!note(d, SYNC, i, name)) return -ENOMEM;
    if (++d->syncs == d->idle_sync) return 0;
    int64_t done = d->under.sync(d->under.ctx, name);
    if (i == SIZE_MAX || done < 0) return done;
    struct file *f = &d->files[i];
    f->durable_name = true;
    for (size_t k = 0; k < d->ops_n; k++)
        if (d->ops[k].file == i) d->ops[k].pending = false;
    return set_bytes(&f->durable, &f->durable_n, f->live, f->live_n) ? done : -ENOMEM;
}

static int64_t disk_rename(void *ctx, const char *from, const char *to) {
    struct disk *d = ctx;
    size_t i = find(d, from);
    if (cut_here(d)) return -EIO;
    struct op *op = note(d, RENAME, SIZE_MAX, from);
    if (!op || !(op->to = copy_text(to))) return -ENOMEM;
    int64_t done = d->under.rename(d->under.ctx, from, to);
    if (i == SIZE_MAX || done < 0) return done;
    size_t old = find(d, to);
    if (old != SIZE_MAX && old != i) drop_file(&d->files[old]);
    char *name = copy_text(to);
    if (!name) return -ENOMEM;
    free(d->files[i].name);
    d->files[i].name = name;
    d->files[i].durable_name = true;
    for (size_t k = 0; k < d->ops_n; k++)
        if (d->ops[k].file == i && d->ops[k].kind == MAKE) d->ops[k].pending = false;
    return done;
}

static int64_t disk_remove(void *ctx, const char *name) {
    struct disk *d = ctx;
    size_t i = find(d, name);
    if (cut_here(d)) return -EIO;
    if (!note(d, REMOVE, SIZE_MAX, name)) return -ENOMEM;
    int64_t done = d->under.remove(d->under.ctx, name);
    if (i == SIZE_MAX || done < 0) return done;
    drop_file(&d->files[i]);
    return done;
}

static int64_t disk_list(void *ctx, const char *folder, int (*each)(void *arg, const char *name), void *arg) {
    struct disk *d = ctx;
    return d->under.list(d->under.ctx, folder, each, arg);
}

holdall_status disk_io(struct disk *d, holdall_storage **out, holdall_error *err) {
    const holdall_storage_functions functions = {
        .struct_size = sizeof functions,
        .ctx = d,
        .size = disk_size,
        .read_at = disk_read_at,
        .write_at = disk_write_at,
        .truncate = disk_truncate,
        .sync = disk_sync,
        .rename = disk_rename,
        .remove = disk_remove,
        .list = d->under.list ? disk_list : NULL,
    };
    return holdall_storage_from_functions(&functions, out, err);
}

/* ---- what a crash leaves ------------------------------------------------------------------------------------------*/

/* The bytes of a file as they are after the crash, in `live` of another. */
static bool replay(const struct disk *d, size_t file, const uint8_t *fates, const uint32_t *torn, struct file *to) {
    const struct file *f = &d->files[file];
    if (!set_bytes(&to->live, &to->live_n, f->durable, f->durable_n)) return false;
    for (size_t k = 0; k < d->ops_n; k++) {
        const struct op *op = &d->ops[k];
        if (op->file != file || !op->pending || fates[k] == LOST) continue;
        if (op->kind == RESIZE && !resize(&to->live, &to->live_n, op->n)) return false;
        if (op->kind == WRITE && !put(&to->live, &to->live_n, op->at, op->bytes, fates[k] == TORN ? torn[k] : (size_t)op->n)) return false;
    }
    return true;
}

/* Is its name lost with it? */
static bool unnamed(const struct disk *d, size_t file, const uint8_t *fates) {
    for (size_t k = 0; k < d->ops_n; k++)
        if (d->ops[k].file == file && d->ops[k].kind == MAKE && d->ops[k].pending && fates[k] == LOST) return true;
    return false;
}

int disk_after(const struct disk *d, const uint8_t *fates, const uint32_t *torn, struct disk *to) {
    for (size_t i = 0; i < d->files_n; i++) {
        if (!d->files[i].name || unnamed(d, i, fates)) continue;
        size_t k = add_file(to, d->files[i].name);
        if (k == SIZE_MAX || !replay(d, i, fates, torn, &to->files[k])) return -ENOMEM;
        const struct file *f = &to->files[k];
        int64_t done = to->under.truncate(to->under.ctx, f->name, f->live_n);
        if (done >= 0 && f->live_n) done = to->under.write_at(to->under.ctx, f->name, 0, f->live, f->live_n);
        if (done >= 0) done = to->under.sync(to->under.ctx, f->name);
        if (done < 0) return (int)done;
    }
    disk_reset_log(to, UINT64_MAX, 0);
    return to->out_of_memory ? -ENOMEM : 0;
}

static uint64_t mix(uint64_t h, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3;
    return h;
}

uint64_t disk_hash(const struct disk *d) {
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < d->files_n; i++) {
        const struct file *f = &d->files[i];
        if (!f->name) continue;
        h = mix(h, f->name, strlen(f->name) + 1);
        h = mix(h, &f->live_n, sizeof f->live_n);
        h = mix(h, f->live, f->live_n);
    }
    return h;
}

static const char *const FATES[] = {"lost", "retained", "torn"};

static int describe(const struct op *op, const uint8_t *fate, char *to, size_t room) {
    const char *became = !op->pending ? "durable" : fate ? FATES[*fate] : "pending";
    switch (op->kind) {
    case MAKE: return snprintf(to, room, "make \"%s\": %s\n", op->name, became);
    case WRITE: return snprintf(to, room, "write \"%s\" at %" PRIu64 ", %" PRIu64 " bytes: %s\n", op->name, op->at, op->n, became);
    case RESIZE: return snprintf(to, room, "truncate \"%s\" to %" PRIu64 ": %s\n", op->name, op->n, became);
    case SYNC: return snprintf(to, room, "sync \"%s\"\n", op->name);
    case RENAME: return snprintf(to, room, "rename \"%s\" to \"%s\"\n", op->name, op->to ? op->to : "");
    default: return snprintf(to, room, "remove \"%s\"\n", op->name);
    }
}

char *disk_story(const struct disk *d, const uint8_t *fates) {
    size_t room = 1;
    for (size_t k = 0; k < d->ops_n; k++) room += (size_t)describe(&d->ops[k], fates ? &fates[k] : NULL, NULL, 0) + 2;
    char *story = malloc(room), *to = story;
    if (!story) return NULL;
    *to = '\0';
    for (size_t k = 0; k < d->ops_n; k++) {
        to += snprintf(to, room - (size_t)(to - story), "  ");
        to += describe(&d->ops[k], fates ? &fates[k] : NULL, to, room - (size_t)(to - story));
    }
    return story;
}
