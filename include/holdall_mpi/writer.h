/* Part of holdall_mpi.h: an array that all ranks put rows behind, and what is the same of datasets and frames in that. */
#ifndef HOLDALL_MPI_WRITER_H
#define HOLDALL_MPI_WRITER_H

#include "files.h"

/* Ranks that write an array; see holdall_mpi_writer_open(). */
struct holdall_mpi_writer {
    MPI_Comm comm;
    int rank, ranks;
    int is_frame;
    int committed;
    /* of the array, of all parts of it, of those of this run, of this rank's own */
    char *path, *parts, *run, *own;
    /* the folder of all parts lies beside the array, and goes when they do */
    int beside;
    /* rank 0: the array, with the lock on it; of these one */
    holdall_array *dataset;
    holdall_schunk *frame;
    /* what this rank puts behind the others */
    holdall_array *part;
    /* rows of the last commit, and of what is moved as a whole: a superchunk, a chunk of a frame */
    uint64_t rows, unit;
};

/* Rank 0: refuses an array behind whose rows no rank can begin, before they work for nothing. */
static inline holdall_status holdall_mpi_is_even(const holdall_mpi_writer *w, holdall_error *err) {
    uint64_t over = w->rows % w->unit;
    if (over == 0) return HOLDALL_OK;
    return holdall_mpi_fail(err, HOLDALL_E_STATE, 0,
        "%s: its last %s is not full: append %llu rows more, with one process, before all ranks go on behind them", w->path,
                            w->is_frame ? "chunk along the first axis" : "superchunk", (unsigned long long)(w->unit - over));
}

/* Collective: the first of this rank's rows among all, *total of which there are then. The rows of a rank must begin where chunks do. */
static inline holdall_status holdall_mpi_place(const holdall_mpi_writer *w, uint64_t *first, uint64_t *total, holdall_error *err) {
    uint64_t own = *holdall_array_shape(w->part), before = 0, all;
    holdall_status status = HOLDALL_OK;
    MPI_Exscan(&own, &before, 1, MPI_UINT64_T, MPI_SUM, w->comm);
    MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, w->comm);
    *first = w->rows + (w->rank == 0 ? 0 : before);
    *total = w->rows + all;
    if (own > 0 && *first % w->unit != 0)
        status = holdall_mpi_fail(err, HOLDALL_E_ARGUMENT, 0,
            "%s: its rows would begin at row %llu, a multiple of %llu was expected: the rows of all before it must be whole %s", w->path,
                                  (unsigned long long)*first, (unsigned long long)w->unit, w->is_frame ? "chunks" : "superchunks");
    return holdall_mpi_agree(w->comm, status, err);
}

#endif /* HOLDALL_MPI_WRITER_H */
