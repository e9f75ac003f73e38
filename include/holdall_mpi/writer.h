/* Part of holdall_mpi.h: the writer of an array, as far as it is the same for datasets and
 * frames. */
#ifndef HOLDALL_MPI_WRITER_H
#define HOLDALL_MPI_WRITER_H

#include "files.h"

/* A writer of ranks that append rows to an array; see holdall_mpi_writer_open(). */
struct holdall_mpi_writer {
    MPI_Comm comm;
    int rank, ranks;
    int is_frame;
    int committed;
    /* Paths: of the array, of the folder of all parts, of the folder of this run, of this rank's
     * part. */
    char *path, *parts, *run, *own;
    /* Whether the folder of all parts is beside the array, and is removed with the parts. */
    int beside;
    /* Rank 0: the array, with its lock; one of the two. */
    holdall_array *dataset;
    holdall_schunk *frame;
    /* The rows of this rank. */
    holdall_array *part;
    /* Rows of the last commit, and rows of the unit that is moved: a superchunk, or a chunk of a
     * frame. */
    uint64_t rows, unit;
};

/* Gets information about an array; zeros on failure. */
static inline holdall_status holdall_mpi_array_info(const holdall_array *array, holdall_array_info *info, holdall_error *err) {
    memset(info, 0, sizeof *info);
    info->struct_size = sizeof *info;
    return holdall_array_get_info(array, info, err);
}

/* Rank 0: fails if the last unit of the array is not full, because no rank can append rows to
 * it. */
static inline holdall_status holdall_mpi_check_full(const holdall_mpi_writer *w, holdall_error *err) {
    uint64_t over = w->rows % w->unit;
    if (over == 0) return HOLDALL_OK;
    return holdall_mpi_fail(err, HOLDALL_E_STATE, 0,
        "%s: the last %s is not full; append %llu more rows with one process first", w->path,
                            w->is_frame ? "chunk along the first axis" : "superchunk", (unsigned long long)(w->unit - over));
}

/* Collective: sets *first to the number of this rank's first row, and *total to the number of rows
 * of all ranks and the last commit. Fails if the rows of a rank do not begin at a unit. */
static inline holdall_status holdall_mpi_row_range(const holdall_mpi_writer *w, uint64_t *first, uint64_t *total, holdall_error *err) {
    uint64_t own = *holdall_array_shape(w->part), before = 0, all;
    holdall_status status = HOLDALL_OK;
    MPI_Exscan(&own, &before, 1, MPI_UINT64_T, MPI_SUM, w->comm);
    MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, w->comm);
    *first = w->rows + (w->rank == 0 ? 0 : before);
    *total = w->rows + all;
    if (own > 0 && *first % w->unit != 0)
        status = holdall_mpi_fail(err, HOLDALL_E_ARGUMENT, 0,
            "%s: the rows of this rank begin at row %llu (expected a multiple of %llu); the ranks before it must append complete %s", w->path,
                                  (unsigned long long)*first, (unsigned long long)w->unit, w->is_frame ? "chunks" : "superchunks");
    return holdall_mpi_agree(w->comm, status, err);
}

#endif /* HOLDALL_MPI_WRITER_H */
