/*
 * holdall info --files: the files that a dataset is made of.
 *
 * Which these are is not reckoned from names here. The dataset is opened from storage that is the folder and takes down
 * what is asked for, and one row of each chunk is read: each file is touched, whatever the layout is.
 */
#define _POSIX_C_SOURCE 200809L

#include "arrays.h"
#include "dataset.h"
#include "options.h"
#include "report.h"
#include "tool.h"
#include "info.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
    char *name;
    int64_t size; /* -1: it is missing */
    size_t order; /* in which they were asked for */
};

/* The folder, and the files that were asked for, some of them several times. */
struct folder {
    int fd;
    struct file *files;
    size_t count;
    char *absent; /* what was asked for last and is not there: some files need not be */
    bool failed;  /* there was no memory */
};

/* ---- taking down ---- */

static void take_down(struct folder *folder, const char *name, int64_t size) {
    if (folder->count > 0 && strcmp(folder->files[folder->count - 1].name, name) == 0) return;
    if ((folder->count & (folder->count - 1)) == 0) { /* a power of two fills it */
        size_t room = folder->count > 0 ? 2 * folder->count : 1;
        struct file *larger = realloc(folder->files, room * sizeof *larger);
        folder->failed |= !larger;
        if (!larger) return;
        folder->files = larger;
    }
    char *copy = strdup(name);
    folder->failed |= !copy;
    if (copy) folder->files[folder->count] = (struct file){copy, size, folder->count};
    if (copy) folder->count++;
}

static int by_name(const void *a, const void *b) {
    const struct file *one = a, *other = b;
    int order = strcmp(one->name, other->name);
    return order ? order : (one->order > other->order) - (one->order < other->order);
}

static int by_order(const void *a, const void *b) {
    const struct file *one = a, *other = b;
    return (one->order > other->order) - (one->order < other->order);
}

/* Leaves each file once, where it was asked for first. */
static void leave_once(struct folder *folder) {
    size_t unique = 0;
    if (folder->count == 0) return;
    qsort(folder->files, folder->count, sizeof *folder->files, by_name);
    for (size_t i = 0; i < folder->count; i++) {
        if (unique > 0 && strcmp(folder->files[unique - 1].name, folder->files[i].name) == 0) {
            free(folder->files[i].name);
        } else {
            folder->files[unique++] = folder->files[i];
        }
    }
    folder->count = unique;
    qsort(folder->files, unique, sizeof *folder->files, by_order);
}

static void forget(struct folder *folder) {
    for (size_t i = 0; i < folder->count; i++) free(folder->files[i].name);
    free(folder->files);
    free(folder->absent);
    close(folder->fd);
}

/* ---- the storage: functions of holdall_storage_functions ---- */

static int64_t file_size(void *ctx, const char *name) {
    struct folder *folder = ctx;
    struct stat about;
    if (fstatat(folder->fd, *name ? name : ".", &about, 0) == 0) {
        if (!S_ISREG(about.st_mode)) return 0;
        take_down(folder, name, about.st_size);
        return about.st_size;
    }
    int failed = errno;
    free(folder->absent);
    folder->absent = failed == ENOENT ? strdup(name) : NULL;
    return -failed;
}

static int64_t file_read(void *ctx, const char *name, uint64_t at, void *dst, size_t n) {
    struct folder *folder = ctx;
    int fd = openat(folder->fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* not to wait for the other end of a pipe */
    if (fd < 0) return -errno;
    ssize_t got = pread(fd, dst, n, (off_t)at);
    int failed = errno;
    close(fd);
    return got < 0 ? -failed : got;
}

static int64_t file_list(void *ctx, const char *name, int (*each)(void *arg, const char *name), void *arg) {
    const struct folder *folder = ctx;
    int fd = openat(folder->fd, *name ? name : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (!entries) {
        int failed = errno;
        if (fd >= 0) close(fd);
        return -failed;
    }
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && each(arg, entry->d_name)) break;
    }
    closedir(entries);
    return 0;
}

/* ---- touching ---- */

/* The search stops after this many consecutive chunks that cannot be read: the rest may not exist. */
enum { MOST_LOST = 1 << 16 };

/* Reads a row; what is missing is taken down, and other damage is for verify. */
static holdall_status touch(struct folder *folder, const holdall_array *array, uint64_t row, void *dst, size_t n) {
    uint64_t start[HOLDALL_MAX_NDIM] = {row}, count[HOLDALL_MAX_NDIM] = {1};
    size_t size;
    for (uint32_t d = 1; d < holdall_array_ndim(array); d++) count[d] = holdall_array_shape(array)[d];
    holdall_status status = has_objects(array) ? holdall_array_read_object(array, row, NULL, 0, &size, NULL)
                                               : holdall_array_read(array, start, count, NULL, dst, n, NULL, NULL);
    if (status == HOLDALL_E_MISSING && folder->absent) take_down(folder, folder->absent, -1);
    return status;
}

static bool touch_all(struct folder *folder, const holdall_array *array) {
    if (holdall_array_ndim(array) == 0) return true;
    uint64_t rows = holdall_array_shape(array)[0], chunk = has_objects(array) ? 1 : info_of_array(array).chunk_shape[0];
    size_t n = (size_t)row_bytes(array);
    void *row = malloc(n + 1);
    if (!row) return complain("out of memory"), false;
    if (n == 0 && !has_objects(array)) rows = 0;
    int lost = 0;
    for (uint64_t at = 0; at < rows && lost < MOST_LOST; at += chunk > 0 ? chunk : 1) {
        lost = touch(folder, array, at, row, n) < 0 ? lost + 1 : 0;
        if (at + chunk < at) break;
    }
    free(row);
    if (lost == MOST_LOST) complain("%d consecutive chunks cannot be read: no more are tried", lost);
    return lost < MOST_LOST;
}

static bool touch_dataset(struct folder *folder, const char *path, bool table, const holdall_options *options) {
    holdall_array *array = NULL;
    holdall_table *opened = NULL;
    holdall_error error;
    holdall_status status = table ? holdall_table_open(NULL, HOLDALL_READ, options, &opened, &error)
                                  : holdall_array_open(NULL, HOLDALL_READ, options, &array, &error);
    if (status < 0) complain_error(path, &error, "");
    bool good = status >= 0 && (!array || touch_all(folder, array));
    for (uint32_t i = 0; good && i < holdall_table_column_count(opened); i++) good = touch_all(folder, holdall_table_column(opened, i));
    holdall_table_close(opened);
    holdall_array_close(array);
    return good;
}

static bool look_through(struct folder *folder, const char *path, bool table, const struct args *args) {
    struct args alone = *args;
    alone.threads = 1; /* what is taken down is not for several at once */
    alone.unchecked = true;
    alone.map = false;
    const holdall_storage_functions functions = {
        .struct_size = sizeof functions, .ctx = folder, .size = file_size, .read_at = file_read, .list = file_list};
    holdall_storage *io = NULL;
    holdall_options *options = reader_options(&alone);
    bool good = options && holdall_storage_from_functions(&functions, &io, NULL) >= 0 &&
                holdall_options_set_storage(options, &io, 1, NULL) >= 0 && touch_dataset(folder, path, table, options);
    holdall_storage_free(io);
    holdall_options_free(options);
    if (good && folder->failed) return complain("out of memory"), false;
    leave_once(folder);
    return good;
}

/* ---- the command ---- */

static void print_files(const struct folder *folder, bool json) {
    if (json) put_text("{\"files\": [");
    for (size_t i = 0; i < folder->count; i++) {
        const struct file *file = &folder->files[i];
        if (json) {
            put_text("%s{\"name\": ", i ? ", " : "");
            put_json(file->name, strlen(file->name));
            put_text(file->size < 0 ? ", \"bytes\": null}" : ", \"bytes\": %" PRId64 "}", file->size);
        } else {
            put_printable(file->name);
            put_text(file->size < 0 ? " (missing)\n" : "\n");
        }
    }
    if (json) put_text("]}\n");
}

/* A frame that is one file. */
static int one_file(const char *path, int64_t size, bool json) {
    const char *slash = strrchr(path, '/');
    struct file file = {.name = (char *)(slash ? slash + 1 : path), .size = size};
    print_files(&(struct folder){.files = &file, .count = 1}, json);
    return put_end(DONE);
}

int dataset_files(const struct args *args) {
    struct dataset dataset;
    struct stat about;
    const char *path = args->operands[0];
    if (!dataset_read(&dataset, path, args)) return FAILED;
    bool table = dataset.table != NULL;
    dataset_close(&dataset);
    if (stat(path, &about) == 0 && S_ISREG(about.st_mode)) return one_file(path, about.st_size, args->json);
    struct folder folder = {.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (folder.fd < 0) return complain_errno(path), FAILED;
    bool good = look_through(&folder, path, table, args);
    if (good) print_files(&folder, args->json);
    forget(&folder);
    return put_end(good ? DONE : FAILED);
}
