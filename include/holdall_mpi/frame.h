/* Part of holdall_mpi.h: arrays in Blosc2 frames, files and folders. A frame has one index and one
 * writer. Therefore each rank writes chunks to its own frame, and rank 0 appends them in encoded
 * form, rank by rank, and decodes each once to verify it. The library's commit then makes chunks
 * and shape durable and visible. */
#ifndef HOLDALL_MPI_FRAME_H
#define HOLDALL_MPI_FRAME_H

#include "writer.h"

enum {
    /* Offset of the first length of the shape in a metalayer. Both kinds begin with version,
     * dimensions, and a list of 64-bit integers in MessagePack. */
    HOLDALL_MPI_SHAPE_AT = 5,
    /* Maximum size of an encoded chunk beyond its content: its header, and a repeated item. */
    HOLDALL_MPI_CHUNK_OVERHEAD = 32 + 255
};

static inline uint64_t holdall_mpi_frame_rows(const unsigned char *meta) {
    uint64_t rows = 0;
    for (int i = 0; i < 8; i++) rows = rows << 8 | meta[HOLDALL_MPI_SHAPE_AT + i];
    return rows;
}

/* Rank 0: returns a frame without rows, of the same kind, which the caller frees. Sets the rows and
 * the unit of the writer. */
static inline holdall_status holdall_mpi_frame_kind(holdall_mpi_writer *w, holdall_format format, void **bytes, uint64_t *n, holdall_error *err) {
    holdall_array *array = NULL;
    uint64_t shape[HOLDALL_MAX_NDIM];
    holdall_options *unlocked = holdall_options_new(); /* the writer holds the lock */
    holdall_status status = unlocked == NULL ? holdall_mpi_no_memory(err, "options") : HOLDALL_OK;
    if (status >= 0) status = holdall_options_set(unlocked, HOLDALL_OPT_LOCK, 0, err);
    if (status >= 0) status = holdall_array_open(w->path, HOLDALL_APPEND, unlocked, &array, err);
    holdall_array_info info;
    if (status >= 0) status = holdall_mpi_array_info(array, &info, err);
    uint32_t ndim = holdall_array_ndim(array);
    holdall_array_spec spec;
    memset(&spec, 0, sizeof spec);
    spec.struct_size = sizeof spec;
    spec.format = format;
    if (status >= 0 && ndim == 0) status = holdall_mpi_fail(err, HOLDALL_E_UNSUPPORTED, 0, "%s: an array without dimensions has no rows", w->path);
    if (status >= 0) {
        memcpy(shape, holdall_array_shape(array), ndim * sizeof *shape);
        w->rows = shape[0];
        w->unit = *info.chunk_shape;
        shape[0] = 0;
        status = holdall_mpi_check_full(w, err);
    }
    if (status >= 0) status = holdall_array_resize(array, shape, err); /* not committed */
    if (status >= 0) status = holdall_array_copy(array, w->own, HOLDALL_CREATE, &spec, NULL, err);
    if (status >= 0) status = holdall_mpi_read_file(w->own, bytes, n, err);
    holdall_array_close(array);
    holdall_options_free(unlocked);
    return status;
}

/* Rank 0: replaces the number of rows in each metalayer that contains the shape. */
static inline holdall_status holdall_mpi_frame_shape(const holdall_mpi_writer *w, uint64_t rows, holdall_error *err) {
    const char *const names[] = {"b2nd", "caterva"};
    for (int i = 0; i < 2; i++) {
        const void *old;
        unsigned char meta[1024];
        size_t n;
        holdall_status status = holdall_schunk_attr_get(w->frame, names[i], &old, &n, err);
        if (status == HOLDALL_NOT_FOUND) continue;
        if (status < 0) return status;
        const unsigned char *o = (const unsigned char *)old;
        if (n < HOLDALL_MPI_SHAPE_AT + 8 || n > sizeof meta || o[4] != 0xd3 || holdall_mpi_frame_rows(o) != w->rows)
            return holdall_mpi_fail(err, HOLDALL_E_STATE, 0, "%s: metalayer %s no longer contains the expected shape (expected %llu rows)", w->path, names[i],
                (unsigned long long)w->rows);
        memcpy(meta, o, n);
        for (int b = 0; b < 8; b++) meta[HOLDALL_MPI_SHAPE_AT + b] = (unsigned char)(rows >> (56 - 8 * b));
        if ((status = holdall_schunk_attr_set(w->frame, names[i], meta, n, err)) < 0) return status;
    }
    return HOLDALL_OK;
}

/* Sends the chunks of this rank's part to rank 0, one message each, followed by an empty message.
 * Rank 0 appends its own chunks directly to the frame. Sends are synchronous, so that no messages
 * accumulate on rank 0. */
static inline holdall_status holdall_mpi_frame_give(const holdall_mpi_writer *w, const holdall_schunk *part, void *chunk, size_t room,
    holdall_error *err) {
    holdall_status status = HOLDALL_OK;
    for (uint64_t i = 0; status >= 0 && i < holdall_schunk_chunk_count(part); i++) {
        size_t n;
        status = holdall_schunk_read_raw(part, i, chunk, room, &n, err);
        if (status >= 0 && w->rank == 0) status = holdall_schunk_append_raw(w->frame, chunk, n, err);
        else if (status >= 0) MPI_Ssend(chunk, (int)n, MPI_BYTE, 0, 0, w->comm);
    }
    if (w->rank != 0) MPI_Ssend(chunk, 0, MPI_BYTE, 0, 0, w->comm);
    return status;
}

/* Rank 0: receives the chunks of another rank. After a failure it still receives all of them,
 * because that rank waits for it. */
static inline holdall_status holdall_mpi_frame_take(const holdall_mpi_writer *w, int rank, void *chunk, size_t room, holdall_status status,
    holdall_error *err) {
    for (int n;;) {
        MPI_Status got;
        MPI_Recv(chunk, (int)room, MPI_BYTE, rank, 0, w->comm, &got);
        MPI_Get_count(&got, MPI_BYTE, &n);
        if (n == 0) return status;
        if (status >= 0) status = holdall_schunk_append_raw(w->frame, chunk, (size_t)n, err);
    }
}

/* Collective: commits the rows of all ranks. */
static inline holdall_status holdall_mpi_frame_commit(const holdall_mpi_writer *w, uint64_t total, holdall_error *err) {
    holdall_schunk *part = NULL;
    void *chunk = NULL;
    size_t room = 0;
    holdall_schunk_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    holdall_status status = holdall_schunk_open(w->own, HOLDALL_READ, NULL, &part, err);
    if (status >= 0) status = holdall_schunk_get_info(part, &info, err);
    if (status >= 0) {
        room = (size_t)info.chunk_size + HOLDALL_MPI_CHUNK_OVERHEAD;
        if ((chunk = malloc(room)) == NULL) status = holdall_mpi_no_memory(err, "a chunk");
    }
    status = holdall_mpi_agree(w->comm, status, err);
    if (status >= 0) {
        status = holdall_mpi_frame_give(w, part, chunk, room, err);
        for (int rank = 1; w->rank == 0 && rank < w->ranks; rank++) status = holdall_mpi_frame_take(w, rank, chunk, room, status, err);
        status = holdall_mpi_agree(w->comm, status, err);
    }
    holdall_schunk_close(part);
    free(chunk);
    if (status < 0) return status;
    if (w->rank == 0) status = holdall_mpi_frame_shape(w, total, err);
    if (w->rank == 0 && status >= 0) status = holdall_schunk_commit(w->frame, err);
    return holdall_mpi_agree(w->comm, status, err);
}

#endif /* HOLDALL_MPI_FRAME_H */
