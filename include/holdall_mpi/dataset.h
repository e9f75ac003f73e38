/* Part of holdall_mpi.h: datasets in the BLZ RFC layout, folders of superchunks. Each rank creates
 * a dataset of its own rows. Its superchunks are renamed to their final names, beyond the rows in
 * `meta/sizes`. Rank 0 then replaces `meta/sizes`, which is the commit. */
#ifndef HOLDALL_MPI_DATASET_H
#define HOLDALL_MPI_DATASET_H

#include "writer.h"

/* Returns the text of `meta/sizes`, *n characters, which the caller frees. It has a checksum, as in
 * src/dataset/text_checksum.rs, if `sealed`. */
static inline char *holdall_mpi_dataset_sizes(const holdall_array *like, uint64_t rows, uint64_t stored, int sealed, uint64_t *n) {
    char *text = (char *)malloc(32 * (HOLDALL_MAX_NDIM + 3));
    const uint64_t *shape = holdall_array_shape(like);
    uint64_t nbytes = rows * holdall_array_itemsize(like), crc = 0;
    if (text == NULL) return NULL;
    char *to = text + sprintf(text, "{\"shape\": [%llu", (unsigned long long)rows);
    for (uint32_t d = 1; d < holdall_array_ndim(like); nbytes *= shape[d++]) to += sprintf(to, ", %llu", (unsigned long long)shape[d]);
    to += sprintf(to, "], \"nbytes\": %llu, \"cbytes\": %llu}\n", (unsigned long long)nbytes, (unsigned long long)stored);
    if (sealed) {
        unsigned char sum[4] = {0};
        size_t size;
        holdall_error err;
        if (holdall_checksum_compute(HOLDALL_CHECKSUM_CRC32, text, (size_t)(to - text), sum, sizeof sum, &size, &err) < 0) return free(text), (char *)NULL;
        for (int i = 3; i >= 0; i--) crc = crc << 8 | sum[i];
        for (int bit = 31; bit >= 0; bit--) *to++ = crc >> bit & 1 ? '\t' : ' ';
        *to++ = '\n';
    }
    *n = (uint64_t)(to - text);
    return text;
}

/* Rank 0: returns the metadata of a dataset without rows of the same kind, *storage and *sizes,
 * which the caller frees. Sets the rows and the unit of the writer. */
static inline holdall_status holdall_mpi_dataset_kind(holdall_mpi_writer *w, void **storage, uint64_t *n, void **sizes, uint64_t *m,
    holdall_error *err) {
    char *name = holdall_mpi_path(w->path, "/meta/storage");
    holdall_array_info info;
    holdall_status status = holdall_mpi_array_info(w->dataset, &info, err);
    if (status >= 0 && name == NULL) status = holdall_mpi_no_memory(err, "a path");
    if (status >= 0) status = holdall_mpi_read_file(name, storage, n, err);
    if (status >= 0) {
        const char *key = strstr((const char *)*storage, "\"superchunksize\":");
        w->rows = *info.shape;
        w->unit = key == NULL ? 0 : strtoull(strchr(key, ':') + 1, NULL, 10) * *info.chunk_shape;
        *sizes = holdall_mpi_dataset_sizes(w->dataset, 0, 0, 0, m);
        if (w->unit == 0) status = holdall_mpi_fail(err, HOLDALL_E_UNSUPPORTED, 0, "%s: no number of chunks per superchunk", name);
        else if (*sizes == NULL) status = holdall_mpi_no_memory(err, name);
        else status = holdall_mpi_check_full(w, err);
    }
    free(name);
    return status;
}

/* Creates this rank's part: a dataset without rows, of the same kind. `sizes` is the content of its
 * `meta/sizes`. */
static inline holdall_status holdall_mpi_dataset_part(const holdall_mpi_writer *w, const void *storage, uint64_t n, const void *sizes, uint64_t m,
    holdall_error *err) {
    const char *const names[] = {"", "/data", "/meta", "/meta/storage", "/meta/sizes"};
    holdall_status status = HOLDALL_OK;
    for (int i = 0; status >= 0 && i < 5; i++) {
        char *name = holdall_mpi_path(w->own, "%s", names[i]);
        if (name == NULL) status = holdall_mpi_no_memory(err, "a path");
        else if (i < 3) status = holdall_mpi_folder(name, err);
        else status = i == 3 ? holdall_mpi_write_file(name, storage, n, 0, err) : holdall_mpi_write_file(name, sizes, m, 0, err);
        free(name);
    }
    return status;
}

/* Renames the durable superchunks of this rank to their names in the dataset, from number `first`
 * on. */
static inline holdall_status holdall_mpi_dataset_move(const holdall_mpi_writer *w, uint64_t files, uint64_t first, holdall_error *err) {
    char *data = holdall_mpi_path(w->path, "/data");
    holdall_status status = data == NULL ? holdall_mpi_no_memory(err, "a path") : HOLDALL_OK;
    for (uint64_t i = 0; status >= 0 && i < files; i++) {
        char *from = holdall_mpi_path(w->own, "/data/__%llu__.bin", (unsigned long long)(i + 1));
        char *to = holdall_mpi_path(data, "/__%llu__.bin", (unsigned long long)(first + i));
        if (from == NULL || to == NULL) status = holdall_mpi_no_memory(err, "a path");
        else if (rename(from, to) < 0) status = holdall_mpi_fail_at(err, "rename", from);
        free(from);
        free(to);
    }
    if (status >= 0 && files > 0) status = holdall_mpi_sync_folder(data, err);
    free(data);
    return status;
}

/* Rank 0: makes all rows durable and visible. */
static inline holdall_status holdall_mpi_dataset_publish(const holdall_mpi_writer *w, uint64_t rows, uint64_t stored, holdall_error *err) {
    char *meta = holdall_mpi_path(w->path, "/meta"), *name = holdall_mpi_path(w->path, "/meta/sizes");
    char *temporary = holdall_mpi_path(w->path, "/meta/sizes.holdall-new");
    char *text = NULL;
    void *old = NULL;
    uint64_t n = 0;
    holdall_array_info info;
    holdall_status status = holdall_mpi_array_info(w->dataset, &info, err);
    if (status >= 0 && (meta == NULL || name == NULL || temporary == NULL)) status = holdall_mpi_no_memory(err, "a path");
    if (status >= 0) status = holdall_mpi_read_file(name, &old, &n, err);
    if (status >= 0) {
        int sealed = n > 33 && strspn((const char *)old + n - 33, " \t") == 32;
        text = holdall_mpi_dataset_sizes(w->dataset, rows, info.stored_bytes + stored, sealed, &n);
        if (text == NULL) status = holdall_mpi_no_memory(err, name);
    }
    if (status >= 0) status = holdall_mpi_write_file(temporary, text, n, 1, err);
    if (status >= 0 && rename(temporary, name) < 0) status = holdall_mpi_fail_at(err, "rename", temporary);
    if (status >= 0) status = holdall_mpi_sync_folder(meta, err);
    free(meta);
    free(name);
    free(temporary);
    free(text);
    free(old);
    return status;
}

/* Collective: commits the rows of all ranks. */
static inline holdall_status holdall_mpi_dataset_commit(const holdall_mpi_writer *w, uint64_t first, uint64_t total, holdall_error *err) {
    uint64_t rows = *holdall_array_shape(w->part), files = rows / w->unit + (rows % w->unit != 0);
    uint64_t own, stored = 0;
    holdall_array_info info;
    holdall_status status = holdall_mpi_array_info(w->part, &info, err);
    if (status >= 0) status = holdall_mpi_dataset_move(w, files, first / w->unit + 1, err);
    own = rows > 0 ? info.stored_bytes : 0;
    MPI_Reduce(&own, &stored, 1, MPI_UINT64_T, MPI_SUM, 0, w->comm);
    status = holdall_mpi_agree(w->comm, status, err);
    if (status < 0) return status;
    if (w->rank == 0) status = holdall_mpi_dataset_publish(w, total, stored, err);
    return holdall_mpi_agree(w->comm, status, err);
}

#endif /* HOLDALL_MPI_DATASET_H */
