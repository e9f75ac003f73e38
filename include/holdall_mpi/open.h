/* Part of holdall_mpi.h: opens a container once for all ranks. Rank 0 opens it and records the
 * bytes that it reads. Every other rank opens it from those bytes, without requests to the file
 * system until it reads content. */
#ifndef HOLDALL_MPI_OPEN_H
#define HOLDALL_MPI_OPEN_H

#include "storage.h"

/* A function that opens a container in the storage of these options; *out receives the handle. */
typedef holdall_status (*holdall_mpi_open_fn)(const holdall_options *options, void **out, holdall_error *err);

/* Collective: opens with this function on all ranks; only rank 0 reads. The caller must close *out
 * even on failure. */
static inline holdall_status holdall_mpi_open_with(MPI_Comm comm, const char *path, holdall_mpi_open_fn open_it, holdall_options *options,
    void **out, holdall_error *err) {
    int rank;
    holdall_error here;
    holdall_storage *storage;
    holdall_mpi_storage *s = NULL;
    holdall_options *own = options == NULL ? holdall_options_new() : NULL;
    if (err == NULL) err = &here;
    if (options == NULL) options = own;
    *out = NULL;
    MPI_Comm_rank(comm, &rank);
    holdall_status status = holdall_mpi_storage_new(path, &s, &storage, err);
    if (status >= 0) status = holdall_options_set_storage(options, &storage, 1, err);
    if (status >= 0 && rank == 0) {
        s->is_recording = 1;
        status = open_it(options, out, err);
        s->is_recording = 0;
    }
    status = holdall_mpi_agree(comm, status, err);
    if (status >= 0) {
        void *record = s->record;
        status = holdall_mpi_broadcast(comm, &record, &s->size, err);
        s->record = (char *)record;
    }
    if (status >= 0) {
        if (rank != 0) status = open_it(options, out, err);
        status = holdall_mpi_agree(comm, status, err);
    }
    if (own != NULL) holdall_options_free(own);
    else if (holdall_options_set_storage(options, NULL, 0, NULL) < 0 && status >= 0) status = HOLDALL_E_INTERNAL;
    holdall_storage_free(storage);
    return status;
}

static inline holdall_status holdall_mpi_open_array(const holdall_options *options, void **out, holdall_error *err) {
    holdall_array *array;
    holdall_status status = holdall_array_open(NULL, HOLDALL_READ, options, &array, err);
    *out = array;
    return status;
}

static inline holdall_status holdall_mpi_open_schunk(const holdall_options *options, void **out, holdall_error *err) {
    holdall_schunk *schunk;
    holdall_status status = holdall_schunk_open(NULL, HOLDALL_READ, options, &schunk, err);
    *out = schunk;
    return status;
}

static inline holdall_status holdall_mpi_open_table(const holdall_options *options, void **out, holdall_error *err) {
    holdall_table *table;
    holdall_status status = holdall_table_open(NULL, HOLDALL_READ, options, &table, err);
    *out = table;
    return status;
}

static inline holdall_status holdall_mpi_array_open(MPI_Comm comm, const char *path, holdall_options *options, holdall_array **out, holdall_error *err) {
    void *array;
    holdall_status status = holdall_mpi_open_with(comm, path, holdall_mpi_open_array, options, &array, err);
    if (status < 0) holdall_array_close((holdall_array *)array), array = NULL;
    *out = (holdall_array *)array;
    return status;
}

static inline holdall_status holdall_mpi_schunk_open(MPI_Comm comm, const char *path, holdall_options *options, holdall_schunk **out, holdall_error *err) {
    void *schunk;
    holdall_status status = holdall_mpi_open_with(comm, path, holdall_mpi_open_schunk, options, &schunk, err);
    if (status < 0) holdall_schunk_close((holdall_schunk *)schunk), schunk = NULL;
    *out = (holdall_schunk *)schunk;
    return status;
}

static inline holdall_status holdall_mpi_table_open(MPI_Comm comm, const char *path, holdall_options *options, holdall_table **out, holdall_error *err) {
    void *table;
    holdall_status status = holdall_mpi_open_with(comm, path, holdall_mpi_open_table, options, &table, err);
    if (status < 0) holdall_table_close((holdall_table *)table), table = NULL;
    *out = (holdall_table *)table;
    return status;
}

#endif /* HOLDALL_MPI_OPEN_H */
