/* Part of holdall_mpi.h: commits of parts (holdall/part.h) that ranks wrote. */
#ifndef HOLDALL_MPI_PARTS_H
#define HOLDALL_MPI_PARTS_H

#include "agree.h"

static inline holdall_status holdall_mpi_parts_commit(MPI_Comm comm, const char *path, const void *token, const holdall_options *options,
    holdall_error *err) {
    enum { SIZE = HOLDALL_PART_TOKEN_SIZE };
    int rank, ranks, has_token = token != NULL;
    unsigned char own[SIZE] = {0}, *tokens = NULL;
    int *has_tokens = NULL;
    holdall_error here;
    holdall_status status = HOLDALL_OK;
    if (err == NULL) err = &here;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (has_token) memcpy(own, token, SIZE);
    if (rank == 0) {
        tokens = (unsigned char *)malloc((size_t)ranks * SIZE);
        has_tokens = (int *)malloc((size_t)ranks * sizeof *has_tokens);
        if (tokens == NULL || has_tokens == NULL) status = holdall_mpi_no_memory(err, "the tokens of parts");
    }
    status = holdall_mpi_agree(comm, status, err);
    if (status >= 0) {
        MPI_Gather(&has_token, 1, MPI_INT, has_tokens, 1, MPI_INT, 0, comm);
        MPI_Gather(own, SIZE, MPI_BYTE, tokens, SIZE, MPI_BYTE, 0, comm);
        if (rank == 0) {
            size_t count = 0;
            for (int r = 0; r < ranks; r++)
                if (has_tokens[r]) memmove(tokens + SIZE * count++, tokens + SIZE * (size_t)r, SIZE);
            status = holdall_parts_commit(path, tokens, count, options, err);
        }
        status = holdall_mpi_agree(comm, status, err);
    }
    free(tokens);
    free(has_tokens);
    return status;
}

#endif /* HOLDALL_MPI_PARTS_H */
