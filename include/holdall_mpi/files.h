/* Part of holdall_mpi.h: reads, writes and removes complete small files and folders. */
#ifndef HOLDALL_MPI_FILES_H
#define HOLDALL_MPI_FILES_H

#include "agree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns `folder` followed by a suffix in the format of printf(), which the caller frees; NULL:
 * out of memory. */
static inline char *holdall_mpi_path(const char *folder, const char *format, ...) {
    char name[128];
    va_list values;
    va_start(values, format);
    vsnprintf(name, sizeof name, format, values);
    va_end(values);
    char *path = (char *)malloc(strlen(folder) + strlen(name) + 1);
    return path == NULL ? NULL : strcat(strcpy(path, folder), name);
}

/* Reads a file. The caller frees *bytes, which is terminated by a NUL that *n does not include. */
static inline holdall_status holdall_mpi_read_file(const char *path, void **bytes, uint64_t *n, holdall_error *err) {
    struct stat s;
    FILE *file = fopen(path, "rb");
    *bytes = NULL;
    if (file == NULL) return holdall_mpi_fail_at(err, "open", path);
    holdall_status status = fstat(fileno(file), &s) < 0 ? holdall_mpi_fail_at(err, "stat", path) : HOLDALL_OK;
    if (status >= 0 && (*bytes = malloc((size_t)s.st_size + 1)) == NULL) status = holdall_mpi_no_memory(err, path);
    if (status >= 0 && fread(*bytes, 1, (size_t)s.st_size, file) != (size_t)s.st_size) status = holdall_mpi_fail_at(err, "read", path);
    fclose(file);
    if (status < 0) return free(*bytes), *bytes = NULL, status;
    *n = (uint64_t)s.st_size;
    ((char *)*bytes)[*n] = 0;
    return HOLDALL_OK;
}

/* Writes a file of these bytes, and syncs it if `durable`. */
static inline holdall_status holdall_mpi_write_file(const char *path, const void *bytes, uint64_t n, int durable, holdall_error *err) {
    FILE *file = fopen(path, "wb");
    if (file == NULL) return holdall_mpi_fail_at(err, "create", path);
    int failed = fwrite(bytes, 1, n, file) != n || fflush(file) != 0 || (durable && fsync(fileno(file)) < 0);
    holdall_status status = failed ? holdall_mpi_fail_at(err, "write", path) : HOLDALL_OK;
    if (fclose(file) != 0 && status >= 0) status = holdall_mpi_fail_at(err, "close", path);
    return status;
}

/* Makes the names in a folder durable. */
static inline holdall_status holdall_mpi_sync_folder(const char *path, holdall_error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return holdall_mpi_fail_at(err, "open", path);
    holdall_status status = fsync(fd) < 0 ? holdall_mpi_fail_at(err, "sync", path) : HOLDALL_OK;
    close(fd);
    return status;
}

/* Creates a folder, if it does not exist. */
static inline holdall_status holdall_mpi_folder(const char *path, holdall_error *err) {
    return mkdir(path, 0777) < 0 && errno != EEXIST ? holdall_mpi_fail_at(err, "make folder", path) : HOLDALL_OK;
}

/* Removes a file, or a folder with its content. Ignores errors. */
static inline void holdall_mpi_remove(const char *path) {
    DIR *folder = unlink(path) < 0 ? opendir(path) : NULL;
    if (folder == NULL) return;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        char *name = strcmp(e->d_name, ".") && strcmp(e->d_name, "..") ? (char *)malloc(strlen(path) + strlen(e->d_name) + 2) : NULL;
        if (name == NULL) continue;
        holdall_mpi_remove(strcat(strcat(strcpy(name, path), "/"), e->d_name));
        free(name);
    }
    closedir(folder);
    rmdir(path);
}

#endif /* HOLDALL_MPI_FILES_H */
