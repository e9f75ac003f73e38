/* Part of holdall_mpi.h: all ranks append rows to an array with one commit. */
#ifndef HOLDALL_MPI_ARRAYS_H
#define HOLDALL_MPI_ARRAYS_H

#include "dataset.h"
#include "frame.h"

#include <time.h>

static inline void holdall_mpi_writer_close(holdall_mpi_writer *w) {
    if (w == NULL) return;
    holdall_array_close(w->part);
    if (w->own != NULL) holdall_mpi_remove(w->own);
    MPI_Barrier(w->comm);
    if (w->run != NULL && (w->rank == 0 || !w->beside)) rmdir(w->run);
    if (w->parts != NULL && w->rank == 0 && w->beside) rmdir(w->parts);
    holdall_array_close(w->dataset);
    holdall_schunk_close(w->frame);
    MPI_Comm_free(&w->comm);
    free(w->path), free(w->parts), free(w->run), free(w->own);
    free(w);
}

/* Sets the paths of a writer and creates its folders. `run` is a number that distinguishes this run
 * from others. */
static inline holdall_status holdall_mpi_writer_folders(holdall_mpi_writer *w, const char *path, const char *parts, uint64_t run,
    holdall_error *err) {
    w->path = holdall_mpi_path(path, "");
    w->beside = parts == NULL;
    w->parts = holdall_mpi_path(parts == NULL ? path : parts, parts == NULL ? ".holdall-mpi" : "");
    if (w->parts != NULL) w->run = holdall_mpi_path(w->parts, "/%016llx", (unsigned long long)run);
    if (w->run != NULL) w->own = holdall_mpi_path(w->run, "/%d", w->rank);
    if (w->path == NULL || w->own == NULL) return holdall_mpi_no_memory(err, "paths");
    if (w->beside && w->rank != 0) return HOLDALL_OK; /* rank 0 creates them for all ranks */
    if (w->beside) holdall_mpi_remove(w->parts);
    holdall_status status = holdall_mpi_folder(w->parts, err);
    return status < 0 ? status : holdall_mpi_folder(w->run, err);
}

/* Rank 0: opens the array and locks it. Parts of other runs have no effect afterwards. */
static inline holdall_status holdall_mpi_writer_lock(holdall_mpi_writer *w, const char *path, const holdall_options *options, holdall_format *format,
    holdall_error *err) {
    holdall_kind kind;
    holdall_status status = holdall_identify(path, format, &kind, err);
    if (status < 0) return status;
    w->is_frame = *format == HOLDALL_FORMAT_B2ND || *format == HOLDALL_FORMAT_CATERVA;
    if (w->is_frame) return holdall_schunk_open(path, HOLDALL_APPEND, options, &w->frame, err);
    if (*format == HOLDALL_FORMAT_BLZ_RFC && kind == HOLDALL_KIND_ARRAY) return holdall_array_open(path, HOLDALL_APPEND, options, &w->dataset, err);
    return holdall_mpi_fail(err, HOLDALL_E_UNSUPPORTED, 0, "%s: unsupported container (expected a dataset in the BLZ RFC layout or an array in a frame)", path);
}

/* Creates this rank's part from the array's metadata on rank 0, and opens it. */
static inline holdall_status holdall_mpi_writer_part(holdall_mpi_writer *w, holdall_format format, const holdall_options *options,
    holdall_error *err) {
    void *kind = NULL, *sizes = NULL;
    uint64_t n = 0, m = 0, rows_unit[2] = {0, 0};
    holdall_status status = HOLDALL_OK;
    if (w->rank == 0 && w->is_frame) status = holdall_mpi_frame_kind(w, format, &kind, &n, err);
    else if (w->rank == 0) status = holdall_mpi_dataset_kind(w, &kind, &n, &sizes, &m, err);
    status = holdall_mpi_agree(w->comm, status, err);
    if (status >= 0) status = holdall_mpi_broadcast(w->comm, &kind, &n, err);
    if (status >= 0) status = holdall_mpi_broadcast(w->comm, &sizes, &m, err);
    if (status >= 0) {
        rows_unit[0] = w->rows, rows_unit[1] = w->unit;
        MPI_Bcast(rows_unit, 2, MPI_UINT64_T, 0, w->comm);
        w->rows = rows_unit[0], w->unit = rows_unit[1];
        status = w->is_frame ? holdall_mpi_write_file(w->own, kind, n, 0, err) : holdall_mpi_dataset_part(w, kind, n, sizes, m, err);
        if (status >= 0) status = holdall_array_open(w->own, HOLDALL_APPEND, options, &w->part, err);
        status = holdall_mpi_agree(w->comm, status, err);
    }
    free(kind);
    free(sizes);
    return status;
}

static inline holdall_status holdall_mpi_writer_open(MPI_Comm comm, const char *path, const char *parts, const holdall_options *options,
    holdall_mpi_writer **out, holdall_error *err) {
    holdall_error here;
    holdall_status status = HOLDALL_OK;
    if (err == NULL) err = &here;
    *out = NULL;
    holdall_mpi_writer *w = (holdall_mpi_writer *)calloc(1, sizeof *w);
    if (w == NULL) status = holdall_mpi_no_memory(err, "a writer");
    if ((status = holdall_mpi_agree(comm, status, err)) < 0) return free(w), status;
    MPI_Comm_dup(comm, &w->comm);
    MPI_Comm_rank(comm, &w->rank);
    MPI_Comm_size(comm, &w->ranks);

    int64_t common[3] = {0, 0, (int64_t)time(NULL) << 32 ^ (int64_t)getpid()}; /* format, whether it is a frame, number of the run */
    holdall_format format = 0;
    if (w->rank == 0) status = holdall_mpi_writer_lock(w, path, options, &format, err);
    status = holdall_mpi_agree(w->comm, status, err);
    if (status >= 0) {
        common[0] = format, common[1] = w->is_frame;
        MPI_Bcast(common, 3, MPI_INT64_T, 0, w->comm);
        format = (holdall_format)common[0], w->is_frame = (int)common[1];
        status = holdall_mpi_agree(w->comm, holdall_mpi_writer_folders(w, path, parts, (uint64_t)common[2], err), err);
    }
    if (status >= 0) status = holdall_mpi_writer_part(w, format, options, err);
    if (status < 0) holdall_mpi_writer_close(w);
    else *out = w;
    return status;
}

static inline holdall_array *holdall_mpi_writer_array(holdall_mpi_writer *w) { return w->part; }

static inline uint64_t holdall_mpi_writer_rows(const holdall_mpi_writer *w) { return w->rows; }

static inline uint64_t holdall_mpi_writer_unit(const holdall_mpi_writer *w) { return w->unit; }

static inline holdall_status holdall_mpi_writer_commit(holdall_mpi_writer *w, holdall_error *err) {
    uint64_t first, total;
    holdall_error here;
    holdall_status status = HOLDALL_OK;
    if (err == NULL) err = &here;
    if (w->committed) status = holdall_mpi_fail(err, HOLDALL_E_STATE, 0, "%s: this writer has already committed; open another one", w->path);
    else status = holdall_array_commit(w->part, err);
    w->committed = 1;
    status = holdall_mpi_agree(w->comm, status, err);
    if (status >= 0) status = holdall_mpi_row_range(w, &first, &total, err);
    if (status < 0) return status;
    return w->is_frame ? holdall_mpi_frame_commit(w, total, err) : holdall_mpi_dataset_commit(w, first, total, err);
}

#endif /* HOLDALL_MPI_ARRAYS_H */
