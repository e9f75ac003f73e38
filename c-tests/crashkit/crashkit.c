/*
 * Tries a scene: one run for each cut, many states for each run. See holdall_crashkit.h.
 */
#include "disk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATES = 16, SECTOR = 512 };

struct run {
    const holdall_crashkit_storage *storage;
    const holdall_crashkit_scene *scene;
    holdall_crashkit_settings settings;
    holdall_crashkit_result *result;
    holdall_error *err;
    unsigned char old[HOLDALL_CRASHKIT_SEEN], new[HOLDALL_CRASHKIT_SEEN];
    bool was_there; /* something was, before */
};

/* How one state was found: what is wrong with it, or "". */
struct verdict {
    char message[1024];
};

__attribute__((format(printf, 2, 3))) static void judge(struct verdict *v, const char *format, ...) {
    if (v->message[0]) return;
    va_list args;
    va_start(args, format);
    vsnprintf(v->message, sizeof v->message, format, args);
    va_end(args);
}

static holdall_status short_of_memory(holdall_error *err) {
    if (err) *err = (holdall_error){.status = HOLDALL_E_MEMORY, .position = -1, .message = "no memory for the state of a disk"};
    return HOLDALL_E_MEMORY;
}

static holdall_status new_disk(const struct run *r, struct disk *d) {
    holdall_storage_functions functions = {.struct_size = sizeof functions};
    int made = r->storage->make(r->storage->ctx, &functions);
    if (made >= 0) {
        disk_init(d, &functions);
        return HOLDALL_OK;
    }
    if (r->err) {
        *r->err = (holdall_error){.status = HOLDALL_E_CALLBACK, .os_code = -made, .position = -1};
        snprintf(r->err->message, sizeof r->err->message, "the storage could not be made: %s", strerror(-made));
    }
    return HOLDALL_E_CALLBACK;
}

typedef holdall_status step(const void *ctx, holdall_storage *io, holdall_error *err);

static holdall_status do_step(step *f, const struct run *r, struct disk *d, holdall_error *err) {
    holdall_storage *io;
    holdall_status status = disk_io(d, &io, err);
    if (status < 0) return status;
    status = f(r->scene->ctx, io, err);
    holdall_storage_free(io);
    return status;
}

static holdall_status do_read(const struct run *r, struct disk *d, unsigned char *seen, holdall_error *err) {
    holdall_storage *io;
    memset(seen, 0, HOLDALL_CRASHKIT_SEEN);
    holdall_status status = disk_io(d, &io, err);
    if (status < 0) return status;
    status = r->scene->read(r->scene->ctx, io, seen, err);
    holdall_storage_free(io);
    return status;
}

static bool same(const unsigned char *a, const unsigned char *b) { return memcmp(a, b, HOLDALL_CRASHKIT_SEEN) == 0; }

/* What a reader and the next writer find in this state. */
static void look(const struct run *r, struct disk *d, bool done, struct verdict *v) {
    unsigned char seen[HOLDALL_CRASHKIT_SEEN], after[HOLDALL_CRASHKIT_SEEN];
    holdall_error err = {.status = 0};
    holdall_status status = do_read(r, d, seen, &err);
    bool nothing = status == HOLDALL_E_MISSING && !r->was_there && !done;
    if (status < 0 && !nothing) {
        judge(v, "a reader failed: %s: %s", holdall_status_name(status), err.message);
    } else if (!nothing && !same(seen, r->new) && (done || !r->was_there || !same(seen, r->old))) {
        judge(v, "a reader saw %s", r->was_there && same(seen, r->old) ? "the old commit, although the new one had returned" : "neither commit");
    }
    if (v->message[0] || nothing || !r->scene->go_on) return;
    status = do_step(r->scene->go_on, r, d, &err);
    if (status < 0) {
        judge(v, "the next writer failed: %s: %s", holdall_status_name(status), err.message);
    } else if ((status = do_read(r, d, after, &err)) < 0) {
        judge(v, "a reader failed after the next writer: %s: %s", holdall_status_name(status), err.message);
    } else if (!same(seen, after)) {
        judge(v, "the next writer changed what was there");
    }
}

/* Tries one state of a cut. */
static holdall_status try_state(const struct run *r, const struct disk *cut, const uint8_t *fates, const uint32_t *torn, bool done,
                                uint64_t *hash, struct verdict *v) {
    struct disk d;
    v->message[0] = '\0';
    holdall_status status = new_disk(r, &d);
    if (status < 0) return status;
    int made = disk_after(cut, fates, torn, &d);
    *hash = disk_hash(&d);
    if (made == -ENOMEM) {
        status = short_of_memory(r->err);
    } else if (made < 0) {
        judge(v, "the storage did not take a file: %s", strerror(-made));
    } else {
        look(r, &d, done, v);
        if (d.fault[0]) judge(v, "the storage: %s", d.fault);
    }
    disk_free(&d);
    return status;
}

static uint64_t draw(uint64_t *seed) {
    uint64_t z = *seed += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* State `k` of a cut: all lost, all retained, each by itself; the write that was under way torn, now and then another one. */
static void choose(const struct disk *d, uint32_t k, uint64_t *seed, uint8_t *fates, uint32_t *torn) {
    for (size_t i = 0; i < d->ops_n; i++) {
        const struct op *op = &d->ops[i];
        fates[i] = k == 0 ? LOST : k == 1 ? RETAINED : k % 3 == 2 ? RETAINED : (uint8_t)(draw(seed) & 1);
        torn[i] = 0;
        bool last = i + 1 == d->ops_n;
        if (k < 2 || op->kind != WRITE || op->n <= SECTOR || !(last || draw(seed) % 8 == 0)) continue;
        fates[i] = TORN;
        torn[i] = (uint32_t)(draw(seed) % ((op->n - 1) / SECTOR + 1) * SECTOR);
    }
}

/* Keeps all that is lost or torn and does not have to be for the state to be wrong. */
static void shrink(const struct run *r, const struct disk *cut, uint8_t *fates, const uint32_t *torn, bool done, struct verdict *v) {
    for (size_t i = 0; i < cut->ops_n; i++) {
        uint8_t was = fates[i];
        struct verdict less;
        uint64_t hash;
        if (was == RETAINED || !cut->ops[i].pending) continue;
        fates[i] = RETAINED;
        if (try_state(r, cut, fates, torn, done, &hash, &less) >= 0 && less.message[0]) {
            *v = less;
        } else {
            fates[i] = was;
        }
    }
}

static void violation(const struct run *r, const struct disk *cut, const uint8_t *fates, const char *message) {
    r->result->violations++;
    if (!r->settings.told) return;
    char *story = disk_story(cut, fates);
    size_t room = strlen(r->scene->name) + strlen(message) + (story ? strlen(story) : 0) + 100;
    char *all = malloc(room);
    if (all) snprintf(all, room, "%s, cut after %zu operations: %s\n%s", r->scene->name, cut->ops_n, message, story ? story : "");
    r->settings.told(r->settings.ctx, all ? all : message);
    free(all);
    free(story);
}

/* All states of one cut. */
static holdall_status try_states(const struct run *r, const struct disk *cut, uint64_t seed, bool done) {
    uint32_t most = r->settings.states ? r->settings.states : STATES, n = 0;
    uint8_t *fates = calloc(cut->ops_n + 1, 1);
    uint32_t *torn = calloc(cut->ops_n + 1, sizeof *torn);
    uint64_t *seen = calloc(most, sizeof *seen);
    holdall_status status = fates && torn && seen ? HOLDALL_OK : short_of_memory(r->err);
    for (uint32_t k = 0; k < most && status >= 0; k++) {
        struct verdict v;
        uint64_t hash;
        choose(cut, k, &seed, fates, torn);
        status = try_state(r, cut, fates, torn, done, &hash, &v);
        bool new = true;
        for (uint32_t i = 0; i < n; i++) new = new && seen[i] != hash;
        if (status < 0 || !new) continue;
        seen[n++] = hash;
        r->result->states++;
        if (v.message[0]) {
            shrink(r, cut, fates, torn, done, &v);
            violation(r, cut, fates, v.message);
        }
    }
    free(fates);
    free(torn);
    free(seen);
    return status;
}

/* The storage as it is before the change, in *d; to be freed in any case. */
static holdall_status set_up(const struct run *r, struct disk *d) {
    holdall_status status = new_disk(r, d);
    if (status < 0) return *d = (struct disk){.cut = 0}, status;
    if (r->scene->before) status = do_step(r->scene->before, r, d, r->err);
    disk_reset_log(d, UINT64_MAX, 0);
    return status < 0 ? status : d->out_of_memory ? short_of_memory(r->err) : HOLDALL_OK;
}

/* One run, cut off. */
static holdall_status try_cut(const struct run *r, uint64_t cut) {
    struct disk d;
    holdall_error ignored;
    holdall_status status = set_up(r, &d);
    if (status >= 0) {
        disk_reset_log(&d, cut, r->settings.idle_sync);
        bool done = do_step(r->scene->change, r, &d, &ignored) >= 0;
        status = d.out_of_memory ? short_of_memory(r->err) : try_states(r, &d, r->settings.seed * 7919 + cut, done);
    }
    disk_free(&d);
    return status;
}

/* The change without a cut: how many operations it has, and what a reader sees before and after. */
static holdall_status rehearse(struct run *r) {
    struct disk d;
    holdall_status status = set_up(r, &d);
    if (status >= 0) {
        holdall_error none;
        status = do_read(r, &d, r->old, &none);
        r->was_there = status >= 0;
        if (status < 0 && (r->scene->before || status != HOLDALL_E_MISSING)) {
            if (r->err) *r->err = none;
        } else {
            disk_reset_log(&d, UINT64_MAX, 0);
            status = do_step(r->scene->change, r, &d, r->err);
        }
    }
    if (status >= 0) {
        r->result->operations = d.ops_n;
        r->result->syncs = d.syncs;
        status = do_read(r, &d, r->new, r->err);
    }
    if (d.fault[0]) {
        char message[600];
        snprintf(message, sizeof message, "without a cut, the storage: %s", d.fault);
        violation(r, &d, NULL, message);
    }
    disk_free(&d);
    return status;
}

holdall_status holdall_crashkit_run(const holdall_crashkit_storage *storage, const holdall_crashkit_scene *scene,
                                    const holdall_crashkit_settings *settings, holdall_crashkit_result *result, holdall_error *err) {
    if (!storage || !storage->make || !scene || !scene->name || !scene->change || !scene->read || !result) {
        if (err) *err = (holdall_error){.status = HOLDALL_E_ARGUMENT, .position = -1, .message = "storage, scene, its functions and result must be given"};
        return HOLDALL_E_ARGUMENT;
    }
    *result = (holdall_crashkit_result){.states = 0};
    struct run r = {.storage = storage, .scene = scene, .result = result, .err = err};
    if (settings) r.settings = *settings;
    holdall_status status = rehearse(&r);
    for (uint64_t cut = 0; cut <= result->operations && status >= 0; cut++) status = try_cut(&r, cut);
    return status < 0 ? status : HOLDALL_OK;
}
