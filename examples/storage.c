/* Containers in storage of your own, and the crash kit that tests it. Here the storage is plain
 * files in a folder. Replace the bodies of these eight functions by calls of your storage, and keep
 * main().
 *
 *     cc storage.c -lholdall_crashkit $(pkg-config --cflags --libs holdall) */
#define _XOPEN_SOURCE 700
#include <holdall_crashkit.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The context is the path of the folder; the container itself, "", is the file "container" in
 * it. */
static const char *path(void *folder, const char *name, char *to) {
    snprintf(to, PATH_MAX, "%s/%s", (const char *)folder, *name ? name : "container");
    return to;
}

static int64_t done(int64_t result) { return result < 0 ? -errno : result; }

static int64_t file_size(void *folder, const char *name) {
    char to[PATH_MAX];
    struct stat s;
    return stat(path(folder, name, to), &s) < 0 ? -errno : (int64_t)s.st_size;
}

static int64_t file_read_at(void *folder, const char *name, uint64_t at, void *dst, size_t n) {
    char to[PATH_MAX];
    size_t have = 0;
    int fd = open(path(folder, name, to), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -errno;
    while (have < n) {
        ssize_t got = pread(fd, (char *)dst + have, n - have, (off_t)(at + have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return got = -errno, close(fd), got;
        if (got == 0) break;
        have += (size_t)got;
    }
    close(fd);
    return (int64_t)have;
}

static int64_t file_write_at(void *folder, const char *name, uint64_t at, const void *src, size_t n)
{
    char to[PATH_MAX];
    int fd = open(path(folder, name, to), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -errno;
    for (size_t have = 0; have < n;) {
        ssize_t put = pwrite(fd, (const char *)src + have, n - have, (off_t)(at + have));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return put = -errno, close(fd), put;
        have += (size_t)put;
    }
    return done(close(fd));
}

static int64_t file_truncate(void *folder, const char *name, uint64_t size) {
    char to[PATH_MAX];
    int fd = open(path(folder, name, to), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return -errno;
    int64_t result = done(ftruncate(fd, (off_t)size));
    close(fd);
    return result;
}

static int64_t sync_path(const char *name, int flags) {
    int fd = open(name, flags | O_CLOEXEC);
    if (fd < 0) return -errno;
    int64_t result = done(fsync(fd));
    close(fd);
    return result;
}

/* Bytes and length of the file, then its name, which is in the folder. */
static int64_t file_sync(void *folder, const char *name) {
    char to[PATH_MAX];
    int64_t result = sync_path(path(folder, name, to), O_RDWR);
    return result < 0 ? result : sync_path(folder, O_RDONLY);
}

static int64_t file_rename(void *folder, const char *from, const char *to) {
    char a[PATH_MAX], b[PATH_MAX];
    return rename(path(folder, from, a), path(folder, to, b)) < 0 ? -errno
                                                                  : sync_path(folder, O_RDONLY);
}

static int64_t file_remove(void *folder, const char *name) {
    char to[PATH_MAX];
    return unlink(path(folder, name, to)) < 0 ? -errno : sync_path(folder, O_RDONLY);
}

/* Folders below this one are not supported, and so no datasets. */
static int64_t file_list(void *folder, const char *below, int (*each)(void *arg, const char *name),
                         void *arg)
{
    if (*below) return -ENOENT;
    DIR *open_folder = opendir(folder);
    if (!open_folder) return -errno;
    for (struct dirent *entry; (entry = readdir(open_folder)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (each(arg, strcmp(name, "container") == 0 ? "" : name) != 0) break;
    }
    closedir(open_folder);
    return 0;
}

/* ---- for the kit: creates an empty storage, and removes it ------------------------------------*/

static int remove_it(void *arg, const char *name) {
    char to[PATH_MAX];
    unlink(path(arg, name, to));
    return 0;
}

static void destroy(void *folder) {
    file_list(folder, "", remove_it, folder);
    rmdir(folder);
    free(folder);
}

static int make(void *parent, holdall_storage_functions *functions) {
    char *folder = malloc(PATH_MAX);
    if (!folder) return -ENOMEM;
    snprintf(folder, PATH_MAX, "%s/storage-XXXXXX", (const char *)parent);
    if (!mkdtemp(folder)) return free(folder), -errno;
    *functions = (holdall_storage_functions){
        .struct_size = sizeof *functions,
        .ctx = folder,
        .size = file_size,
        .read_at = file_read_at,
        .write_at = file_write_at,
        .truncate = file_truncate,
        .sync = file_sync,
        .rename = file_rename,
        .remove = file_remove,
        .list = file_list,
        .destroy = destroy,
    };
    return 0;
}

static void print_it(void *ctx, const char *message) {
    (void)ctx;
    fprintf(stderr, "%s\n", message);
}

/* usage: storage [FOLDER]: one in memory, such as /dev/shm, is fast. */
int main(int argc, char **argv) {
    holdall_crashkit_storage storage = {.ctx = argc > 1 ? argv[1] : "/tmp", .make = make};
    holdall_crashkit_settings settings = {.states = 4, .told = print_it};
    uint64_t states = 0, violations = 0;
    size_t n;
    const holdall_crashkit_scene *scenes = holdall_crashkit_scenes(&n);
    for (size_t i = 0; i < n; i++) {
        holdall_crashkit_result result;
        holdall_error err;
        if (holdall_crashkit_run(&storage, &scenes[i], &settings, &result, &err) < 0) {
            fprintf(stderr, "%s: %s\n", scenes[i].name, err.message);
            return 1;
        }
        states += result.states;
        violations += result.violations;
    }
    printf("%zu scenes, %" PRIu64 " states, %" PRIu64 " violations\n", n, states, violations);
    return violations > 0;
}
