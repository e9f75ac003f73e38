/* Part of holdall_mpi.h: read-only storage of local files for holdall_storage_from_functions(). It can
 * record requests and their results, and answer requests from the record of another rank. */
#ifndef HOLDALL_MPI_STORAGE_H
#define HOLDALL_MPI_STORAGE_H

#include "files.h"

#include <pthread.h>

enum {
    /* Maximum size of the record. Each rank reads further data by itself. */
    HOLDALL_MPI_RECORD_LIMIT = 64 << 20,
    /* Number of files that stay open. */
    HOLDALL_MPI_OPEN_FILES = 16,
    /* Values of holdall_mpi_entry.at for requests other than reads. */
    HOLDALL_MPI_SIZE = -1,
    HOLDALL_MPI_NAMES = -2
};

/* An entry of the record. It is followed by `name_size` bytes of a name and `size` bytes of data,
 * and then by the next entry. */
typedef struct holdall_mpi_entry {
    int64_t at;     /* offset of the read, or HOLDALL_MPI_SIZE, HOLDALL_MPI_NAMES */
    int64_t result; /* result of the function */
    uint64_t requested, name_size, size;
} holdall_mpi_entry;

/* An open file. Its length is queried once, because the file must not change. */
typedef struct holdall_mpi_file {
    char *name;
    int fd, users;
    int64_t size;
} holdall_mpi_file;

/* A read-only file, or a read-only folder of files. */
typedef struct holdall_mpi_storage {
    char *path;
    int is_recording;
    char *record;
    uint64_t size, room;
    holdall_mpi_file files[HOLDALL_MPI_OPEN_FILES];
    unsigned next; /* index of the next file to close */
    pthread_mutex_t mutex;
} holdall_mpi_storage;

/* Appends the result of a function, and the bytes that it read, to the record. If the record is
 * full, the other ranks read by themselves. */
static inline void holdall_mpi_record(holdall_mpi_storage *s, const char *name, int64_t at, uint64_t requested, int64_t result, const void *bytes) {
    holdall_mpi_entry entry = {at, result, requested, strlen(name) + 1, bytes != NULL && result > 0 ? (uint64_t)result : 0};
    if (!s->is_recording) return;
    uint64_t size = sizeof entry + entry.name_size + entry.size;
    pthread_mutex_lock(&s->mutex);
    if (s->size + size <= HOLDALL_MPI_RECORD_LIMIT) {
        uint64_t room = s->room < s->size + size ? 2 * (s->size + size) : s->room;
        char *larger = room == s->room ? s->record : (char *)realloc(s->record, room);
        if (larger != NULL) {
            char *to = larger + s->size;
            memcpy(to, &entry, sizeof entry);
            memcpy(to + sizeof entry, name, entry.name_size);
            if (entry.size > 0) memcpy(to + sizeof entry + entry.name_size, bytes, entry.size);
            s->record = larger, s->room = room, s->size += size;
        }
    }
    pthread_mutex_unlock(&s->mutex);
}

/* Returns the recorded bytes of a request and sets *result, or returns NULL if it is not recorded.
 * While rank 0 records, it always reads the files. */
static inline const char *holdall_mpi_recorded(const holdall_mpi_storage *s, const char *name, int64_t at, uint64_t n, int64_t *result) {
    holdall_mpi_entry entry;
    if (s->is_recording) return NULL;
    for (uint64_t i = 0; i < s->size; i += sizeof entry + entry.name_size + entry.size) {
        memcpy(&entry, s->record + i, sizeof entry);
        const char *of = s->record + i + sizeof entry;
        if (entry.at != at || entry.requested != n || strcmp(of, name) != 0) continue;
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

/* Opens a file into an entry of the table, and closes the file that was there. */
static inline int holdall_mpi_file_open(holdall_mpi_storage *s, const char *name, holdall_mpi_file *file) {
    struct stat st;
    char *path = holdall_mpi_name(s, name);
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC), code = path == NULL ? ENOMEM : errno;
    free(path);
    if (fd < 0) return code == ENOTDIR ? -ENOENT : -code;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) return close(fd), -ENOENT; /* not a regular file */
    char *own = (char *)malloc(strlen(name) + 1);
    if (own == NULL) return close(fd), -ENOMEM;
    if (file->name != NULL) close(file->fd), free(file->name);
    file->name = strcpy(own, name);
    file->fd = fd;
    file->size = st.st_size;
    return 0;
}

/* Returns the file of this name, which stays open while it is in use. On failure returns NULL and
 * sets *failed to -errno. */
static inline holdall_mpi_file *holdall_mpi_file_use(holdall_mpi_storage *s, const char *name, int *failed) {
    holdall_mpi_file *file = NULL;
    *failed = 0;
    pthread_mutex_lock(&s->mutex);
    for (int i = 0; i < HOLDALL_MPI_OPEN_FILES && file == NULL; i++)
        if (s->files[i].name != NULL && strcmp(s->files[i].name, name) == 0) file = &s->files[i];
    if (file == NULL) {
        for (int i = 0; i < HOLDALL_MPI_OPEN_FILES && (file == NULL || file->users > 0); i++) file = &s->files[s->next++ % HOLDALL_MPI_OPEN_FILES];
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
    if (holdall_mpi_recorded(s, name, HOLDALL_MPI_SIZE, 0, &result) != NULL) return result;
    holdall_mpi_file *file = holdall_mpi_file_use(s, name, &failed);
    result = file == NULL ? failed : file->size;
    if (file != NULL) holdall_mpi_file_done(s, file);
    holdall_mpi_record(s, name, HOLDALL_MPI_SIZE, 0, result, NULL);
    return result;
}

static inline int64_t holdall_mpi_read_at(void *ctx, const char *name, uint64_t at, void *dst, size_t n) {
    holdall_mpi_storage *s = (holdall_mpi_storage *)ctx;
    int64_t result = 0;
    int failed;
    const char *recorded = holdall_mpi_recorded(s, name, (int64_t)at, n, &result);
    if (recorded != NULL) return result > 0 ? (void)memcpy(dst, recorded, (size_t)result) : (void)0, result;
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
    holdall_mpi_record(s, name, (int64_t)at, n, result, dst);
    return result;
}

/* Returns the names in a folder, each terminated by a NUL, which the caller frees. Sets *size to
 * their size in bytes, or to -errno. */
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
    const char *names = holdall_mpi_recorded(s, folder, HOLDALL_MPI_NAMES, 0, &size);
    char *own = NULL;
    if (names == NULL) {
        names = own = holdall_mpi_names(s, folder, &size);
        holdall_mpi_record(s, folder, HOLDALL_MPI_NAMES, 0, size, names);
    }
    for (const char *name = names; size > 0 && name < names + size && each(arg, name) == 0;) name += strlen(name) + 1;
    free(own);
    return size < 0 ? size : 0;
}

static inline void holdall_mpi_storage_free(void *ctx) {
    holdall_mpi_storage *s = (holdall_mpi_storage *)ctx;
    for (int i = 0; i < HOLDALL_MPI_OPEN_FILES; i++)
        if (s->files[i].name != NULL) close(s->files[i].fd), free(s->files[i].name);
    pthread_mutex_destroy(&s->mutex);
    free(s->record);
    free(s->path);
    free(s);
}

/* Creates storage at a path. The caller frees *out; *storage is valid as long as *out. */
static inline holdall_status holdall_mpi_storage_new(const char *path, holdall_mpi_storage **storage, holdall_storage **out,
    holdall_error *err) {
    holdall_storage_functions functions;
    holdall_mpi_storage *s = (holdall_mpi_storage *)calloc(1, sizeof *s);
    *out = NULL;
    if (s == NULL || (s->path = holdall_mpi_path(path, "")) == NULL) return free(s), holdall_mpi_no_memory(err, path);
    pthread_mutex_init(&s->mutex, NULL);
    memset(&functions, 0, sizeof functions);
    functions.struct_size = sizeof functions;
    functions.ctx = *storage = s;
    functions.size = holdall_mpi_size;
    functions.read_at = holdall_mpi_read_at;
    functions.list = holdall_mpi_list;
    functions.destroy = holdall_mpi_storage_free;
    holdall_status status = holdall_storage_from_functions(&functions, out, err);
    if (status < 0) holdall_mpi_storage_free(s);
    return status;
}

#endif /* HOLDALL_MPI_STORAGE_H */
