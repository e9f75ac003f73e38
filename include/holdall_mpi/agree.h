/* Part of holdall_mpi.h: agreement on failures, shares of ranks, and broadcasts of bytes. */
#ifndef HOLDALL_MPI_AGREE_H
#define HOLDALL_MPI_AGREE_H

#include <holdall.h>
#include <mpi.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets *err, with a message in the format of printf(), and returns `status`. */
static inline holdall_status holdall_mpi_fail(holdall_error *err, holdall_status status, int os_code, const char *format, ...) {
    va_list values;
    err->status = status;
    err->os_code = os_code;
    err->position = -1;
    va_start(values, format);
    vsnprintf(err->message, sizeof err->message, format, values);
    va_end(values);
    return status;
}

/* Sets *err to a failed allocation for `what`. */
static inline holdall_status holdall_mpi_no_memory(holdall_error *err, const char *what) {
    return holdall_mpi_fail(err, HOLDALL_E_MEMORY, 0, "no memory for %s", what);
}

/* Sets *err to the system call that has just failed, from errno. */
static inline holdall_status holdall_mpi_fail_at(holdall_error *err, const char *what, const char *path) {
    int code = errno;
    return holdall_mpi_fail(err, code == ENOENT ? HOLDALL_E_MISSING : HOLDALL_E_IO, code, "%s: %s: %s", path, what, strerror(code));
}

static inline holdall_status holdall_mpi_agree(MPI_Comm comm, holdall_status status, holdall_error *err) {
    int rank, ranks, first;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int mine = status < 0 ? rank : ranks;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm);
    if (first == ranks) return status;
    holdall_error failure;
    if (rank == first) {
        failure = *err;
        int n = snprintf(failure.message, sizeof failure.message, "rank %d: ", rank);
        strncpy(failure.message + n, err->message, sizeof failure.message - (size_t)n - 1);
        failure.message[sizeof failure.message - 1] = 0;
    }
    MPI_Bcast(&failure, (int)sizeof failure, MPI_BYTE, first, comm);
    *err = failure;
    return failure.status;
}

static inline void holdall_mpi_share(uint64_t n, uint64_t unit, int rank, int ranks, uint64_t *first, uint64_t *count) {
    uint64_t units = n / unit + (n % unit != 0), each = units / (uint64_t)ranks, more = units % (uint64_t)ranks, r = (uint64_t)rank;
    uint64_t from = (r * each + (r < more ? r : more)) * unit, to = from + (each + (r < more)) * unit;
    *first = from < n ? from : n;
    *count = (to < n ? to : n) - *first;
}

/* Collective: sends *bytes of rank 0, *n bytes allocated with malloc(), to all ranks. Each rank
 * frees its copy. */
static inline holdall_status holdall_mpi_broadcast(MPI_Comm comm, void **bytes, uint64_t *n, holdall_error *err) {
    int rank;
    holdall_status status = HOLDALL_OK;
    MPI_Comm_rank(comm, &rank);
    MPI_Bcast(n, 1, MPI_UINT64_T, 0, comm);
    if (rank != 0 && (*bytes = malloc(*n + 1)) == NULL) status = holdall_mpi_no_memory(err, "the data of rank 0");
    if ((status = holdall_mpi_agree(comm, status, err)) < 0) return status;
    for (uint64_t at = 0; at < *n; at += 1 << 30)
        MPI_Bcast((char *)*bytes + at, (int)(*n - at < 1 << 30 ? *n - at : 1 << 30), MPI_BYTE, 0, comm);
    return HOLDALL_OK;
}

#endif /* HOLDALL_MPI_AGREE_H */
