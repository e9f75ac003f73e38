/* A library for LD_PRELOAD: copies each superchunk that a test of c-blosc2 closes, and each
 * container that it leaves or removes, to the folder SUITE_FILES, once for each content. */

#define _GNU_SOURCE
#include <blosc2.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
/* Larger containers only repeat what smaller ones have. */
#define MOST (20 << 20)

/* Whether the calling thread copies: it must not copy what the copying closes and removes. */
static __thread int copying;
static char start[PATH_MAX / 2];

/* Returns the content of a file that is not larger than MOST, or NULL. */
static char *content(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *bytes = file ? malloc(MOST + 1) : NULL;
    *size = bytes ? fread(bytes, 1, MOST + 1, file) : 0;
    if (file) fclose(file);
    if (*size > 0 && *size <= MOST) return bytes;
    free(bytes);
    return NULL;
}

static void hash(uint64_t *sum, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        *sum = (*sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
}

static int write_file(const char *path, const char *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    int written = file && fwrite(bytes, 1, size, file) == size;
    return (file && !fclose(file)) && written;
}

/* Hashes a file or the files of a folder, or copies them if `to` is not NULL. Returns whether that
 * is a container. */
static int each_file(const char *path, uint64_t *sum, const char *to) {
    struct stat about;
    struct dirent **files;
    size_t size, total = 0;
    int is_container = 0;
    if (stat(path, &about)) return 0;
    if (!S_ISDIR(about.st_mode)) {
        char *bytes = content(path, &size);
        is_container = bytes && size > 10 && !memcmp(bytes + 2, "b2frame", 8);
        if (is_container) hash(sum, bytes, size);
        if (is_container && to) write_file(to, bytes, size);
        free(bytes);
        return is_container;
    }
    int n = scandir(path, &files, NULL, alphasort);
    if (to) mkdir(to, 0777);
    for (int i = 0; i < n; i++) {
        char from[PATH_MAX], file[PATH_MAX];
        snprintf(from, sizeof from, "%s/%s", path, files[i]->d_name);
        snprintf(file, sizeof file, "%s/%s", to ? to : "", files[i]->d_name);
        char *bytes = content(from, &size);
        if (bytes) {
            is_container |= !strcmp(files[i]->d_name, "chunks.b2frame");
            total += size;
            hash(sum, files[i]->d_name, strlen(files[i]->d_name) + 1);
            hash(sum, bytes, size);
            if (to) write_file(file, bytes, size);
        }
        free(bytes);
        free(files[i]);
    }
    free(files);
    return is_container && total <= MOST;
}

/* Copies a container. */
static void save(const char *path) {
    char copy[PATH_MAX], incomplete[PATH_MAX];
    uint64_t sum = 0xcbf29ce484222325;
    if (copying || !path) return;
    copying = 1;
    if (!strncmp(path, "file:///", 8)) path += 8;
    const char *folder = getenv("SUITE_FILES");
    if (each_file(path, &sum, NULL)) {
        snprintf(copy, sizeof copy, "%s/%016llx_%s.b2nd", folder, (unsigned long long)sum,
                 program_invocation_short_name);
        snprintf(incomplete, sizeof incomplete, "%s/.%d.%p", folder, getpid(), (void *)&copying);
        if (access(copy, F_OK)) {
            each_file(path, &sum, incomplete);
            NEXT(rename)(incomplete, copy);
        }
    }
    copying = 0;
}

/* Copies a file before its removal, but not the index of a folder of chunks without its chunks. */
static void save_file(const char *path) {
    if (!strstr(path, "chunks.b2frame")) save(path);
}

int remove(const char *path) {
    save_file(path);
    return NEXT(remove)(path);
}

int unlink(const char *path) {
    save_file(path);
    return NEXT(unlink)(path);
}

int rename(const char *from, const char *to) {
    save(from);
    return NEXT(rename)(from, to);
}

int blosc2_remove_urlpath(const char *path) {
    save(path);
    return NEXT(blosc2_remove_urlpath)(path);
}

int blosc2_remove_dir(const char *path) {
    save(path);
    return NEXT(blosc2_remove_dir)(path);
}

/* Whether a superchunk can be copied. The content of a view may be freed, and c-blosc2 also closes
 * what it could not read completely. */
static int is_complete(const blosc2_schunk *schunk) {
    if (!schunk || !schunk->storage || schunk->view) return 0;
    for (int i = 0; i < schunk->nvlmetalayers; i++)
        if (!schunk->vlmetalayers[i] || !schunk->vlmetalayers[i]->content) return 0;
    return 1;
}

/* Copies the file of the superchunk, or its content in memory. */
int blosc2_schunk_free(blosc2_schunk *schunk) {
    char path[PATH_MAX];
    if (copying || !is_complete(schunk)) return NEXT(blosc2_schunk_free)(schunk);
    if (schunk->storage->urlpath) {
        snprintf(path, sizeof path, "%s", schunk->storage->urlpath);
        int status = NEXT(blosc2_schunk_free)(schunk);
        save(path);
        return status;
    }
    copying = 1;
    snprintf(path, sizeof path, "%s/.%d.%p.memory", getenv("SUITE_FILES"), getpid(),
             (void *)&copying);
    int64_t written = blosc2_schunk_to_file(schunk, path);
    copying = 0;
    if (written > 0) save(path);
    NEXT(unlink)(path);
    return NEXT(blosc2_schunk_free)(schunk);
}

/* Only a c-blosc2 that is compiled for its tests has it: it delays the opening of a frame. */
void blosc2_test_arm_open_race(int at) {
    (void)at;
}

__attribute__((constructor)) static void starts(void) {
    if (!getcwd(start, sizeof start)) start[0] = 0;
}

__attribute__((destructor)) static void ends(void) {
    struct dirent **files;
    char path[PATH_MAX];
    int n = start[0] ? scandir(start, &files, NULL, alphasort) : 0;
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", start, files[i]->d_name);
        save(path);
    }
}
