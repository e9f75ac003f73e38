/* Part of holdall_mpi.h: storage for holdall_io_from_functions(), local files that are only read, which can put down what was asked of it and
 * what it gave, and answer from what another rank's has put down. */
#ifndef HOLDALL_MPI_STORAGE_H
#define HOLDALL_MPI_STORAGE_H

#include "files.h"

#include <pthread.h>

enum {
    /* As much of it as all ranks are told; what is read beyond that, each reads by itself. */
    HOLDALL_MPI_TOLD = 64 << 20,
    /* Files that stay open. */
    HOLDALL_MPI_OPEN = 16,
    /* In place of where something was read. */
    HOLDALL_MPI_SIZE = -1,
    HOLDALL_MPI_NAMES = -2
};

/* What storage has given at opening: entries, end to end, each with `name_size` bytes of a name and `size` bytes that were read behind it. */
typedef struct holdall_mpi_entry {
    int64_t at;     /* from where on it was read; or HOLDALL_MPI_SIZE, HOLDALL_MPI_NAMES */
    int64_t result; /* as the function returned it */
    uint64_t wanted, name_size, size;
} holdall_mpi_entry;

/* A file that is open. Its length is asked for once: nobody changes it. */
typedef struct holdall_mpi_file {
    char *name;
    int fd, users;
    int64_t size;
} holdall_mpi_file;

/* A file, or a folder of files, that is only read. */
typedef struct holdall_mpi_storage {
    char *path;
    int is_telling;
    char *told;
    uint64_t size, room;
    holdall_mpi_file files[HOLDALL_MPI_OPEN];
    unsigned next; /* of them to be closed */
    pthread_mutex_t mutex;
} holdall_mpi_storage;

/* Puts down what a function returned, and the bytes that it read. Where there is no room the other ranks ask for themselves. */
static inline void holdall_mpi_tell(holdall_mpi_storage *s, const char *name, int64_t at, uint64_t wanted, int64_t result, const void *bytes) {
    holdall_mpi_entry entry = {at, result, wanted, strlen(name) + 1, bytes != NULL && result > 0 ? (uint64_t)result : 0};
    if (!s->is_telling) return;
    uint64_t size = sizeof entry + entry.name_size + entry.size;
    pthread_mutex_lock(&s->mutex);
    if (s->size + size <= HOLDALL_MPI_TOLD) {
        uint64_t room = s->room < s->size + size ? 2 * (s->size + size) : s->room;
        char *larger = room == s->room ? s->told : (char *)realloc(s->told, room);
        if (larger != NULL) {
            char *to = larger + s->size;
            memcpy(to, &entry, sizeof entry);
            memcpy(to + sizeof entry, name, entry.name_size);
            if (entry.size > 0) memcpy(to + sizeof entry + entry.name_size, bytes, entry.size);
            s->told = larger, s->room = room, s->size += size;
        }
    }
    pthread_mutex_unlock(&s->mutex);
}

/* Was this put down? Then *result, and where the bytes are; else NULL. Rank 0 asks the files: what it puts down is what they have. */
static inline const char *holdall_mpi_told(const holdall_mpi_storage *s, const char *name, int64_t at, uint64_t n, int64_t *result) {
    holdall_mpi_entry entry;
    if (s->is_telling) return NULL;
    for (uint64_t i = 0; i < s->size; i += sizeof entry + entry.name_size + entry.size) {
        memcpy(&entry, s->told + i, sizeof entry);
        const char *of = s->told + i + sizeof entry;
        if (entry.at != at || entry.wanted != n || strcmp(of, name) != 0) continue;
        *result = entry.result;
        return of + entry.name_size;
    }
    return NULL;
}

static inline char *holdall_mpi_name(const holdall_mpi_storage *s, const char *name) {
    char *path = (char *)malloc(strlen(s->path) + strlen(name) + 2);
    if (path != NULL) strcat(strcat(strcpy(path, s->path), *name ? "/" : ""), name);
    return path;
}

/* Opens a file for good, in a place of the table. */
static inline int holdall_mpi_file_open(holdall_mpi_storage *s, const char *name, holdall_mpi_file *file) {
    struct stat st;
    char *path = holdall_mpi_name(s, name);
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC), code = path == NULL ? ENOMEM : errno;
    free(path);
    if (fd < 0) return code == ENOTDIR ? -ENOENT : -code;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) return close(fd), -ENOENT; /* a folder is no file */
    char *own = (char *)malloc(strlen(name) + 1);
    if (own == NULL) return close(fd), -ENOMEM;
    if (file->name != NULL) close(file->fd), free(file->name);
    file->name = strcpy(own, name);
    file->fd = fd;
    file->size = st.st_size;
    return 0;
}

/* The file of this name, which stays open as long as it is used; NULL and *failed where it cannot be opened. */
static inline holdall_mpi_file *holdall_mpi_file_use(holdall_mpi_storage *s, const char *name, int *failed) {
    holdall_mpi_file *file = NULL;
    *failed = 0;
    pthread_mutex_lock(&s->mutex);
    for (int i = 0; i < HOLDALL_MPI_OPEN && file == NULL; i++)
        if (s->files[i].name != NULL && strcmp(s->files[i].name, name) == 0) file = &s->files[i];
    if (file == NULL) {
        for (int i = 0; i < HOLDALL_MPI_OPEN && (file == NULL || file->users > 0); i++) file = &s->files[s->next++ % HOLDALL_MPI_OPEN];
        *failed = file->users > 0 ? -EMFILE : holdall_mpi_file_open(s, name, file);
    }
    if (*failed == 0) file->users++;
    pthread_mutex_unlock(&s->mutex);
    return *failed == 0 ? file : NULL;
}

static inline void holdall_mpi_file_done(holdall_mpi_storage *s, holdall_mpi_file *file) {
    pthread_mutex_lock(&s->mutex);
    file->users--;
    pthread_mutex_unlock(&s->mutex);
}

static inline int64_t holdall_mpi_size(void *ctx, const char *name) {
    holdall_mpi_storage *s = (holdall_mpi_storage *)ctx;
    int64_t result;
    int failed;
    if (holdall_mpi_told(s, name, HOLDALL_MPI_SIZE, 0, &result) != NULL) return result;
    holdall_mpi_file *file = holdall_mpi_file_use(s, name, &failed);
    result = file == NULL ? failed : file->size;
    if (file != NULL) holdall_mpi_file_done(s, file);
    holdall_mpi_tell(s, name, HOLDALL_MPI_SIZE, 0, result, NULL);
    return result;
}

static inline int64_t holdall_mpi_read_at(void *ctx, const char *name, uint64_t at, void *dst, size_t n) {
    holdall_mpi_storage *s = (holdall_mpi_storage *)ctx;
    int64_t result = 0;
    int failed;
    const char *told = holdall_mpi_told(s, name, (int64_t)at, n, &result);
    if (told != NULL) return result > 0 ? (void)memcpy(dst, told, (size_t)result) : (void)0, result;
    holdall_mpi_file *file = holdall_mpi_file_use(s, name, &failed);
    while (file != NULL && (size_t)result < n) {
        ssize_t got = pread(file->fd, (char *)dst + result, n - (size_t)result, (off_t)(at + (uint64_t)result));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) result = -errno;
        if (got <= 0) break;
        result += got;
    }
    if (file != NULL) holdall_mpi_file_done(s, file);
    else result = failed;
    holdall_mpi_tell(s, name, (int64_t)at, n, result, dst);
    return result;
}

/* The names in a folder, a NUL behind each, to be freed; how many bytes, or -errno, into *size. */
static inline char *holdall_mpi_names(const holdall_mpi_storage *s, const char *folder, int64_t *size) {
    char *names = NULL, *path = holdall_mpi_name(s, folder);
    DIR *dir = path == NULL ? NULL : opendir(path);
    *size = dir != NULL ? 0 : path == NULL ? -ENOMEM : -errno;
    free(path);
    for (struct dirent *e; dir != NULL && *size >= 0 && (e = readdir(dir)) != NULL;) {
        size_t n = strlen(e->d_name) + 1;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        char *larger = (char *)realloc(names, (size_t)*size + n);
        if (larger != NULL) names = larger, memcpy(names + *size, e->d_name, n);
        *size = larger != NULL ? *size + (int64_t)n : -ENOMEM;
    }
    if (dir != NULL) closedir(dir);
    return names;
}

static inline int64_t holdall_mpi_list(void *ctx, const char *folder, int (*each)(void *arg, const char *name), void *arg) {
    holdall_mpi_storage *s = (holdall_mpi_storage *)ctx;
    int64_t size;
    const char *names = holdall_mpi_told(s, folder, HOLDALL_MPI_NAMES, 0, &size);
    char *own = NULL;
    if (names == NULL) {
        names = own = holdall_mpi_names(s, folder, &size);
        holdall_mpi_tell(s, folder, HOLDALL_MPI_NAMES, 0, size, names);
    }
    for (const char *name = names; size > 0 && name < names + size && each(arg, name) == 0;) name += strlen(name) + 1;
    free(own);
    return size < 0 ? size : 0;
}

static inline void holdall_mpi_storage_free(void *ctx) {
    holdall_mpi_storage *s = (holdall_mpi_storage *)ctx;
    for (int i = 0; i < HOLDALL_MPI_OPEN; i++)
        if (s->files[i].name != NULL) close(s->files[i].fd), free(s->files[i].name);
    pthread_mutex_destroy(&s->mutex);
    free(s->told);
    free(s->path);
    free(s);
}

/* Storage at a path, which is to be closed; *storage lives as long as it. */
static inline holdall_status holdall_mpi_io(const char *path, holdall_mpi_storage **storage, holdall_io **io, holdall_error *err) {
    holdall_io_functions functions;
    holdall_mpi_storage *s = (holdall_mpi_storage *)calloc(1, sizeof *s);
    *io = NULL;
    if (s == NULL || (s->path = holdall_mpi_path(path, "")) == NULL) return free(s), holdall_mpi_fail(err, HOLDALL_E_MEMORY, 0, "no memory for %s", path);
    pthread_mutex_init(&s->mutex, NULL);
    memset(&functions, 0, sizeof functions);
    functions.struct_size = sizeof functions;
    functions.ctx = *storage = s;
    functions.size = holdall_mpi_size;
    functions.read_at = holdall_mpi_read_at;
    functions.list = holdall_mpi_list;
    functions.destroy = holdall_mpi_storage_free;
    holdall_status status = holdall_io_from_functions(&functions, io, err);
    if (status < 0) holdall_mpi_storage_free(s);
    return status;
}

#endif /* HOLDALL_MPI_STORAGE_H */
