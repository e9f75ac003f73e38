/* A folder of named files in memory, accessed through holdall_storage_functions. Counts the calls
 * and fails at those that a test chooses. May be used from many threads. */
#ifndef FOLDER_H
#define FOLDER_H

#include "check.h"

#include <pthread.h>

enum { FILES_MOST = 64, NAME_MOST = 64, BYTES_MOST = 1 << 28 };

typedef enum { SIZE, READ, RANGES, WRITE, TRUNCATE, SYNC, RENAME, REMOVE, OPERATIONS } operation;

typedef struct {
    char name[NAME_MOST];
    uint8_t *bytes;
    size_t size;
} folder_file;

typedef struct folder {
    pthread_mutex_t lock;
    folder_file files[FILES_MOST];
    int n;
    /* The calls. */
    long calls[OPERATIONS];
    long all_calls;
    uint64_t bytes_read;
    int destroyed;
    /* Are there calls that read several ranges? */
    bool reads_ranges;
    /* The call with this number fails (from 1 on; 0: none), and also all later calls if `dead` is
     * set. If `too_late` is set, the call fails after its work is done. */
    long fail_at;
    bool dead, too_late;
    long failures;
    operation failed;
    /* Called before each call does its work, if set. May inspect and change the files. */
    void (*before)(struct folder *f, operation o);
} folder;

#define FOLDER {.lock = PTHREAD_MUTEX_INITIALIZER}

static inline folder_file *folder_find(folder *f, const char *name)
{
    for (int i = 0; i < f->n; i++)
        if (strcmp(f->files[i].name, name) == 0)
            return &f->files[i];
    return NULL;
}

static inline void folder_drop(folder *f, folder_file *file)
{
    free(file->bytes);
    *file = f->files[--f->n];
    f->files[f->n].bytes = NULL;
}

static inline void folder_resize(folder_file *file, size_t size)
{
    if (size > file->size) {
        file->bytes = realloc(file->bytes, size);
        CHECK(file->bytes != NULL);
        memset(file->bytes + file->size, 0, size - file->size);
    }
    file->size = size;
}

static inline folder_file *folder_make(folder *f, const char *name)
{
    folder_file *file = folder_find(f, name);
    if (file == NULL) {
        CHECK(f->n < FILES_MOST && strlen(name) < NAME_MOST);
        file = &f->files[f->n++];
        *file = (folder_file){.bytes = NULL};
        strcpy(file->name, name);
    }
    return file;
}

/* Adds a file directly, without the functions. */
static inline void folder_put(folder *f, const char *name, const void *bytes, size_t n)
{
    folder_file *file = folder_make(f, name);
    folder_resize(file, 0);
    folder_resize(file, n);
    if (n > 0)
        memcpy(file->bytes, bytes, n);
}

static inline void folder_copy(folder *to, const folder *from)
{
    for (int i = 0; i < from->n; i++)
        folder_put(to, from->files[i].name, from->files[i].bytes, from->files[i].size);
}

/* Removes all files directly, without the functions. */
static inline void folder_clear(folder *f)
{
    while (f->n > 0)
        folder_drop(f, &f->files[0]);
}

/* Counts a call. Returns whether it must fail, before or after its work. */
static inline bool folder_enter(folder *f, operation o)
{
    pthread_mutex_lock(&f->lock);
    f->calls[o]++;
    f->all_calls++;
    bool fails = f->fail_at > 0 &&
                 (f->all_calls == f->fail_at || (f->dead && f->all_calls > f->fail_at));
    f->failures += fails;
    if (fails)
        f->failed = o;
    if (f->before != NULL)
        f->before(f, o);
    return fails;
}

static inline int64_t folder_leave(folder *f, bool fails, int64_t result)
{
    pthread_mutex_unlock(&f->lock);
    return fails ? -EIO : result;
}

#define FOLDER_CALL(o)                         \
    folder *f = ctx;                           \
    bool fails = folder_enter(f, o);           \
    if (fails && !f->too_late)                 \
        return folder_leave(f, true, 0)

static int64_t folder_size(void *ctx, const char *name)
{
    FOLDER_CALL(SIZE);
    folder_file *file = folder_find(f, name);
    return folder_leave(f, fails, file ? (int64_t)file->size : -ENOENT);
}

static int64_t folder_read_at(void *ctx, const char *name, uint64_t at, void *dst, size_t n)
{
    FOLDER_CALL(READ);
    folder_file *file = folder_find(f, name);
    if (file == NULL)
        return folder_leave(f, fails, -ENOENT);
    size_t rest = at < file->size ? file->size - (size_t)at : 0;
    n = n < rest ? n : rest;
    if (n > 0)
        memcpy(dst, file->bytes + at, n);
    f->bytes_read += n;
    return folder_leave(f, fails, (int64_t)n);
}

static void folder_read_range(folder *f, holdall_storage_range *r)
{
    folder_file *file = folder_find(f, r->name);
    r->size = file ? (int64_t)file->size : -ENOENT;
    if (file == NULL)
        return;
    CHECK((r->n == 0) == (r->dst == NULL));
    int64_t at = r->at < 0 ? r->at + r->size : r->at;
    at = at < 0 ? 0 : at;
    size_t rest = at < r->size ? (size_t)(r->size - at) : 0;
    size_t n = r->n < rest ? r->n : rest;
    if (n > 0)
        memcpy(r->dst, file->bytes + at, n);
    f->bytes_read += n;
}

static int64_t folder_read_ranges(void *ctx, holdall_storage_range *ranges, size_t n)
{
    FOLDER_CALL(RANGES);
    for (size_t i = 0; i < n; i++)
        folder_read_range(f, &ranges[i]);
    return folder_leave(f, fails, 0);
}

static int64_t folder_write_at(void *ctx, const char *name, uint64_t at, const void *src, size_t n)
{
    FOLDER_CALL(WRITE);
    folder_file *file = folder_find(f, name);
    if (file == NULL)
        return folder_leave(f, fails, -ENOENT);
    if (at > BYTES_MOST || n > BYTES_MOST)
        return folder_leave(f, fails, -EFBIG);
    if (n > 0) {
        if (at + n > file->size)
            folder_resize(file, (size_t)at + n);
        memcpy(file->bytes + at, src, n);
    }
    return folder_leave(f, fails, (int64_t)n);
}

static int64_t folder_truncate(void *ctx, const char *name, uint64_t size)
{
    FOLDER_CALL(TRUNCATE);
    if (size > BYTES_MOST)
        return folder_leave(f, fails, -EFBIG);
    if (folder_find(f, name) == NULL && (f->n == FILES_MOST || strlen(name) >= NAME_MOST))
        return folder_leave(f, fails, -ENOSPC);
    folder_resize(folder_make(f, name), (size_t)size);
    return folder_leave(f, fails, 0);
}

static int64_t folder_sync(void *ctx, const char *name)
{
    FOLDER_CALL(SYNC);
    return folder_leave(f, fails, folder_find(f, name) ? 0 : -ENOENT);
}

static int64_t folder_rename(void *ctx, const char *from, const char *to)
{
    FOLDER_CALL(RENAME);
    folder_file *file = folder_find(f, from);
    if (file == NULL)
        return folder_leave(f, fails, -ENOENT);
    folder_file *old = folder_find(f, to);
    if (old != NULL && old != file) {
        folder_drop(f, old);
        file = folder_find(f, from);
    }
    CHECK(strlen(to) < NAME_MOST);
    strcpy(file->name, to);
    return folder_leave(f, fails, 0);
}

static int64_t folder_remove(void *ctx, const char *name)
{
    FOLDER_CALL(REMOVE);
    folder_file *file = folder_find(f, name);
    if (file == NULL)
        return folder_leave(f, fails, -ENOENT);
    folder_drop(f, file);
    return folder_leave(f, fails, 0);
}

/* Lists the files: all if `name` is "", otherwise those in the folder `name`. */
static int64_t folder_list(void *ctx, const char *name, int (*each)(void *arg, const char *name),
                           void *arg)
{
    folder *f = ctx;
    static _Thread_local char names[FILES_MOST][NAME_MOST];
    size_t under = strlen(name);
    int n = 0;
    pthread_mutex_lock(&f->lock);
    for (int i = 0; i < f->n; i++) {
        const char *file = f->files[i].name;
        if (under == 0 || (strncmp(file, name, under) == 0 && file[under] == '/'))
            strcpy(names[n++], file + (under == 0 ? 0 : under + 1));
    }
    pthread_mutex_unlock(&f->lock);
    for (int i = 0; i < n; i++)
        if (each(arg, names[i]) != 0)
            break;
    return 0;
}

static void folder_destroy(void *ctx)
{
    folder *f = ctx;
    pthread_mutex_lock(&f->lock);
    f->destroyed++;
    pthread_mutex_unlock(&f->lock);
}

static inline holdall_storage_functions folder_functions(folder *f)
{
    return (holdall_storage_functions){
        .struct_size = sizeof(holdall_storage_functions),
        .ctx = f,
        .size = folder_size,
        .read_at = folder_read_at,
        .write_at = folder_write_at,
        .truncate = folder_truncate,
        .sync = folder_sync,
        .rename = folder_rename,
        .remove = folder_remove,
        .list = folder_list,
        .destroy = folder_destroy,
        .read_ranges = f->reads_ranges ? folder_read_ranges : NULL,
    };
}

static inline holdall_storage *folder_io(folder *f)
{
    holdall_storage_functions table = folder_functions(f);
    holdall_storage *io;
    OK(holdall_storage_from_functions(&table, &io, &err));
    return io;
}

static inline holdall_status try_folder_bag(folder *f, const int64_t *pairs, holdall_bag **bag)
{
    holdall_options *options = options_of(pairs);
    holdall_storage *io = folder_io(f);
    holdall_status status = bag_open_io(&io, 1, options, bag, &err);
    holdall_storage_free(io);
    holdall_options_free(options);
    return status;
}

static inline holdall_status try_folder_writer(folder *f, holdall_mode mode, const int64_t *pairs,
                                               holdall_bag_writer **writer)
{
    holdall_options *options = options_of(pairs);
    holdall_storage *io = folder_io(f);
    holdall_status status = bag_writer_open_io(io, mode, options, writer, &err);
    holdall_storage_free(io);
    holdall_options_free(options);
    return status;
}

#endif
