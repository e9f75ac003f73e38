/* Part of holdall_mpi.h: opening a container once for all ranks. Rank 0 opens it and puts down what was read for that, and every other rank
 * opens it from those bytes: it asks nothing of the file system before it wants content. */
#ifndef HOLDALL_MPI_OPEN_H
#define HOLDALL_MPI_OPEN_H

#include "files.h"

#include <pthread.h>

/* As much of it as all ranks are told; what is read beyond that, each reads by itself. */
enum { HOLDALL_MPI_TOLD = 64 << 20 };

/* What storage has given at opening: entries, end to end, each with `name_size` bytes of a name and `size` bytes that were read behind it. */
typedef struct holdall_mpi_entry {
    int64_t at;     /* from where on it was read; -1: the length was asked for */
    int64_t result; /* as the function returned it */
    uint64_t wanted, name_size, size;
} holdall_mpi_entry;

/* A file, or a folder of files, that is only read. */
typedef struct holdall_mpi_storage {
    char *path;
    int is_telling;
    char *told;
    uint64_t size, room;
    int fd; /* of the file "", once it is open; -1 */
    pthread_mutex_t mutex;
} holdall_mpi_storage;

/* Puts down what a function returned, and the bytes that it read. Where there is no room the other ranks ask for themselves. */
static inline void holdall_mpi_tell(holdall_mpi_storage *s, const char *name, int64_t at, uint64_t wanted, int64_t result, const void *bytes) {
    holdall_mpi_entry entry = {at, result, wanted, strlen(name) + 1, bytes != NULL && result > 0 ? (uint64_t)result : 0};
    uint64_t size = sizeof entry + entry.name_size + entry.size;
    pthread_mutex_lock(&s->mutex);
    if (s->is_telling && s->size + size <= HOLDALL_MPI_TOLD) {
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

/* Was this put down? Then *result, and the bytes to dst. Rank 0 asks the files: what it puts down is what they have. */
static inline int holdall_mpi_told(const holdall_mpi_storage *s, const char *name, int64_t at, uint64_t n, int64_t *result, void *dst) {
    holdall_mpi_entry entry;
    if (s->is_telling) return 0;
    for (uint64_t i = 0; i < s->size; i += sizeof entry + entry.name_size + entry.size) {
        memcpy(&entry, s->told + i, sizeof entry);
        const char *of = s->told + i + sizeof entry;
        if (entry.at != at || entry.wanted != n || strcmp(of, name) != 0) continue;
        if (dst != NULL && entry.size > 0) memcpy(dst, of + entry.name_size, entry.size);
        *result = entry.result;
        return 1;
    }
    return 0;
}

static inline char *holdall_mpi_name(const holdall_mpi_storage *s, const char *name) {
    char *path = (char *)malloc(strlen(s->path) + strlen(name) + 2);
    if (path != NULL) strcat(strcat(strcpy(path, s->path), *name ? "/" : ""), name);
    return path;
}

static inline int64_t holdall_mpi_size(void *ctx, const char *name) {
    holdall_mpi_storage *s = (holdall_mpi_storage *)ctx;
    struct stat st;
    int64_t result;
    if (holdall_mpi_told(s, name, -1, 0, &result, NULL)) return result;
    char *path = holdall_mpi_name(s, name);
    if (path == NULL) return -ENOMEM;
    /* a folder is no file "" */
    result = stat(path, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? (int64_t)st.st_size : -ENOENT;
    if (result == -ENOTDIR) result = -ENOENT;
    free(path);
    holdall_mpi_tell(s, name, -1, 0, result, NULL);
    return result;
}

/* Opens the file to read from; the file "" stays open. */
static inline int holdall_mpi_fd(holdall_mpi_storage *s, const char *name) {
    pthread_mutex_lock(&s->mutex);
    int fd = *name ? -1 : s->fd;
    char *path = fd < 0 ? holdall_mpi_name(s, name) : NULL;
    if (fd < 0) fd = path == NULL ? -ENOMEM : open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1) fd = -errno;
    if (*name == 0 && fd >= 0) s->fd = fd;
    pthread_mutex_unlock(&s->mutex);
    free(path);
    return fd;
}

static inline int64_t holdall_mpi_read_at(void *ctx, const char *name, uint64_t at, void *dst, size_t n) {
    holdall_mpi_storage *s = (holdall_mpi_storage *)ctx;
    int64_t result = 0;
    if (holdall_mpi_told(s, name, (int64_t)at, n, &result, dst)) return result;
    int fd = holdall_mpi_fd(s, name);
    if (fd < 0) return fd;
    while ((size_t)result < n) {
        ssize_t got = pread(fd, (char *)dst + result, n - (size_t)result, (off_t)(at + (uint64_t)result));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) result = -errno;
        if (got <= 0) break;
        result += got;
    }
    if (*name) close(fd);
    holdall_mpi_tell(s, name, (int64_t)at, n, result, dst);
    return result;
}

static inline int64_t holdall_mpi_list(void *ctx, const char *name, int (*each)(void *arg, const char *name), void *arg) {
    char *path = holdall_mpi_name((holdall_mpi_storage *)ctx, name);
    DIR *folder = path == NULL ? NULL : opendir(path);
    int64_t result = folder != NULL ? 0 : path == NULL ? -ENOMEM : -errno;
    free(path);
    for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && each(arg, e->d_name)) break;
    if (folder != NULL) closedir(folder);
    return result;
}

static inline void holdall_mpi_storage_free(void *ctx) {
    holdall_mpi_storage *s = (holdall_mpi_storage *)ctx;
    if (s->fd >= 0) close(s->fd);
    pthread_mutex_destroy(&s->mutex);
    free(s->told);
    free(s->path);
    free(s);
}

/* Storage at a path, which is to be closed; *storage lives as long as it. */
static inline holdall_status holdall_mpi_io(const char *path, holdall_mpi_storage **storage, holdall_io **io, holdall_error *err) {
    holdall_io_functions functions = {0};
    holdall_mpi_storage *s = (holdall_mpi_storage *)calloc(1, sizeof *s);
    *io = NULL;
    if (s == NULL || (s->path = holdall_mpi_path(path, "")) == NULL) return free(s), holdall_mpi_fail(err, HOLDALL_E_MEMORY, 0, "no memory for %s", path);
    s->fd = -1;
    pthread_mutex_init(&s->mutex, NULL);
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

/* Which function opens; `out` is a place for its handle. */
typedef holdall_status (*holdall_mpi_open_fn)(holdall_io *io, const holdall_options *options, void **out, holdall_error *err);

/* Collective: opens with this function on all ranks, of which rank 0 alone reads. *out is to be closed also where this fails. */
static inline holdall_status holdall_mpi_open_with(MPI_Comm comm, const char *path, holdall_mpi_open_fn open_io, const holdall_options *options, void **out, holdall_error *err) {
    int rank;
    holdall_error here;
    holdall_io *io;
    holdall_mpi_storage *s = NULL;
    if (err == NULL) err = &here;
    *out = NULL;
    MPI_Comm_rank(comm, &rank);
    holdall_status status = holdall_mpi_io(path, &s, &io, err);
    if (status >= 0 && rank == 0) {
        s->is_telling = 1;
        status = open_io(io, options, out, err);
        s->is_telling = 0;
    }
    status = holdall_mpi_agree(comm, status, err);
    if (status >= 0) {
        void *told = s->told;
        status = holdall_mpi_broadcast(comm, &told, &s->size, err);
        s->told = (char *)told;
    }
    if (status >= 0) {
        if (rank != 0) status = open_io(io, options, out, err);
        status = holdall_mpi_agree(comm, status, err);
    }
    holdall_io_close(io);
    return status;
}

static inline holdall_status holdall_mpi_open_array(holdall_io *io, const holdall_options *options, void **out, holdall_error *err) {
    holdall_array *array;
    holdall_status status = holdall_array_open_io(io, HOLDALL_READ, options, &array, err);
    *out = array;
    return status;
}

static inline holdall_status holdall_mpi_open_schunk(holdall_io *io, const holdall_options *options, void **out, holdall_error *err) {
    holdall_schunk *schunk;
    holdall_status status = holdall_schunk_open_io(io, HOLDALL_READ, options, &schunk, err);
    *out = schunk;
    return status;
}

static inline holdall_status holdall_mpi_open_table(holdall_io *io, const holdall_options *options, void **out, holdall_error *err) {
    holdall_table *table;
    holdall_status status = holdall_table_open_io(io, HOLDALL_READ, options, &table, err);
    *out = table;
    return status;
}

/* Opens an array in local files for reading, on all ranks: rank 0 looks at the metadata, the others get them from it. Any rank then reads
 * what it wants, by itself. As files are known by name, no writer may be at work while it is open: what was changed is
 * then an error, by the checksums, where there are any. Options: those of holdall_array_open() but HOLDALL_OPT_IO. */
static inline holdall_status holdall_mpi_array_open(MPI_Comm comm, const char *path, const holdall_options *options, holdall_array **out, holdall_error *err) {
    void *array;
    holdall_status status = holdall_mpi_open_with(comm, path, holdall_mpi_open_array, options, &array, err);
    if (status < 0) holdall_array_close((holdall_array *)array), array = NULL;
    *out = (holdall_array *)array;
    return status;
}

/* The same of a superchunk. */
static inline holdall_status holdall_mpi_schunk_open(MPI_Comm comm, const char *path, const holdall_options *options, holdall_schunk **out, holdall_error *err) {
    void *schunk;
    holdall_status status = holdall_mpi_open_with(comm, path, holdall_mpi_open_schunk, options, &schunk, err);
    if (status < 0) holdall_schunk_close((holdall_schunk *)schunk), schunk = NULL;
    *out = (holdall_schunk *)schunk;
    return status;
}

/* The same of a table. */
static inline holdall_status holdall_mpi_table_open(MPI_Comm comm, const char *path, const holdall_options *options, holdall_table **out, holdall_error *err) {
    void *table;
    holdall_status status = holdall_mpi_open_with(comm, path, holdall_mpi_open_table, options, &table, err);
    if (status < 0) holdall_table_close((holdall_table *)table), table = NULL;
    *out = (holdall_table *)table;
    return status;
}

#endif /* HOLDALL_MPI_OPEN_H */
