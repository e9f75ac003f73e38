/* Part of holdall_mpi.h: sets of bags. Each rank writes its own shard with the bag writer of
 * holdall.h. The first shard is committed last: a set does not exist as long as one of its files is
 * missing. */
#ifndef HOLDALL_MPI_BAGS_H
#define HOLDALL_MPI_BAGS_H

#include "agree.h"

/* Collective: returns the paths of the files of a spec, each terminated by a NUL. Only rank 0 looks
 * them up. The caller frees *names. */
static inline holdall_status holdall_mpi_bag_files(MPI_Comm comm, const char *spec, char **names, uint64_t *count, holdall_error *err) {
    int rank;
    size_t n = 0;
    holdall_status status = HOLDALL_OK;
    MPI_Comm_rank(comm, &rank);
    *names = NULL;
    if (rank == 0) {
        status = holdall_bag_files(spec, NULL, 0, &n, err);
        if (status >= 0 && (*names = (char *)malloc(n + 1)) == NULL) status = holdall_mpi_no_memory(err, spec);
        if (status >= 0) status = holdall_bag_files(spec, *names, n, &n, err);
    }
    uint64_t bytes = n;
    void *all = *names;
    if ((status = holdall_mpi_agree(comm, status, err)) >= 0) status = holdall_mpi_broadcast(comm, &all, &bytes, err);
    *names = (char *)all;
    *count = 0;
    for (uint64_t i = 0; status >= 0 && i < bytes; i++) *count += (*names)[i] == 0;
    return status;
}

/* Returns the spec of `count` of these files from number `first` on, which the caller frees; NULL:
 * out of memory. */
static inline char *holdall_mpi_bag_spec(const char *names, uint64_t first, uint64_t count) {
    size_t n = 0;
    while (first-- > 0) names += strlen(names) + 1;
    const char *name = names;
    for (uint64_t i = 0; i < count; i++, name += strlen(name) + 1) n += 2 * strlen(name) + 1;
    char *spec = (char *)malloc(n + 1), *to = spec;
    if (spec == NULL) return NULL;
    for (uint64_t i = 0; i < count; i++, names++) {
        if (i > 0) *to++ = ',';
        for (; *names; *to++ = *names++)
            if (strchr(",@\\", *names) != NULL) *to++ = '\\';
    }
    *to = 0;
    return spec;
}

static inline holdall_status holdall_mpi_bag_writer_open(MPI_Comm comm, const char *spec, const holdall_options *options, holdall_bag_writer **out,
    holdall_error *err) {
    int rank, ranks;
    char *names, *own = NULL;
    uint64_t count;
    holdall_error here;
    if (err == NULL) err = &here;
    *out = NULL;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    holdall_status status = holdall_mpi_bag_files(comm, spec, &names, &count, err);
    if (status < 0) return free(names), status;
    if (count != (uint64_t)ranks)
        status = holdall_mpi_fail(err, HOLDALL_E_ARGUMENT, 0, "%s: wrong number of files (expected one per rank, %d, found %llu)", spec, ranks,
            (unsigned long long)count);
    else if ((own = holdall_mpi_bag_spec(names, (uint64_t)rank, 1)) == NULL)
        status = holdall_mpi_no_memory(err, "the name of a shard");
    /* The set exists if its first file exists, and the lock of that file is the lock of the set. */
    if (status >= 0 && rank == 0) status = holdall_bag_writer_open(own, HOLDALL_CREATE, options, out, err);
    status = holdall_mpi_agree(comm, status, err);
    if (status >= 0) {
        if (rank != 0) status = holdall_bag_writer_open(own, HOLDALL_REPLACE, options, out, err);
        status = holdall_mpi_agree(comm, status, err);
    }
    if (status < 0) holdall_bag_writer_close(*out), *out = NULL;
    free(own);
    free(names);
    return status;
}

static inline holdall_status holdall_mpi_bag_commit(MPI_Comm comm, holdall_bag_writer *writer, holdall_error *err) {
    int rank;
    holdall_error here;
    holdall_status status = HOLDALL_OK;
    if (err == NULL) err = &here;
    MPI_Comm_rank(comm, &rank);
    if (rank != 0) status = holdall_bag_writer_commit(writer, err);
    status = holdall_mpi_agree(comm, status, err);
    if (status < 0) return status;
    if (rank == 0) status = holdall_bag_writer_commit(writer, err);
    return holdall_mpi_agree(comm, status, err);
}

/* Collective: returns the number of records of each file. Rank r counts every ranks-th file from
 * number r on, and the counts are sent to all ranks. */
static inline holdall_status holdall_mpi_bag_sizes(MPI_Comm comm, const char *names, uint64_t count, const holdall_options *options, uint64_t *sizes,
    holdall_error *err) {
    int rank, ranks;
    holdall_status status = HOLDALL_OK;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (uint64_t i = (uint64_t)rank; status >= 0 && i < count; i += (uint64_t)ranks) {
        holdall_bag *bag = NULL;
        char *spec = holdall_mpi_bag_spec(names, i, 1);
        if (spec == NULL) status = holdall_mpi_no_memory(err, "the name of a shard");
        else status = holdall_bag_open(spec, options, &bag, err);
        sizes[i] = holdall_bag_record_count(bag);
        holdall_bag_close(bag);
        free(spec);
    }
    status = holdall_mpi_agree(comm, status, err);
    for (uint64_t at = 0; status >= 0 && at < count; at += 1 << 20)
        MPI_Allreduce(MPI_IN_PLACE, sizes + at, (int)(count - at < 1 << 20 ? count - at : 1 << 20), MPI_UINT64_T, MPI_SUM, comm);
    return status;
}

/* Opens the records from `first` up to, excluding, `first + n`, of files with these numbers of
 * records. Opens only the files that contain some of them. */
static inline holdall_status holdall_mpi_bag_part(const char *names, const uint64_t *sizes, uint64_t count, uint64_t first, uint64_t n,
    const holdall_options *options, holdall_bag **out, holdall_error *err) {
    uint64_t shard = 0, before = 0, last, end;
    holdall_bag *whole;
    while (shard + 1 < count && before + sizes[shard] <= first) before += sizes[shard++];
    end = before + sizes[shard];
    for (last = shard; last + 1 < count && end < first + n;) end += sizes[++last];
    char *spec = holdall_mpi_bag_spec(names, shard, last - shard + 1);
    if (spec == NULL) return holdall_mpi_no_memory(err, "the names of shards");
    holdall_status status = holdall_bag_open(spec, options, &whole, err);
    if (status >= 0) status = holdall_bag_slice(whole, n > 0 ? first - before : 0, n, 1, out, err);
    holdall_bag_close(whole);
    free(spec);
    return status;
}

static inline holdall_status holdall_mpi_bag_open(MPI_Comm comm, const char *spec, const holdall_options *options, holdall_bag **out, uint64_t *first,
    holdall_error *err) {
    int rank, ranks;
    char *names;
    uint64_t count, *sizes = NULL, all = 0, from, n;
    holdall_error here;
    if (err == NULL) err = &here;
    *out = NULL;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    holdall_status status = holdall_mpi_bag_files(comm, spec, &names, &count, err);
    if (status >= 0) {
        if ((sizes = (uint64_t *)calloc(count + 1, sizeof *sizes)) == NULL) status = holdall_mpi_no_memory(err, spec);
        status = holdall_mpi_agree(comm, status, err);
    }
    if (status >= 0) status = holdall_mpi_bag_sizes(comm, names, count, options, sizes, err);
    if (status >= 0) {
        for (uint64_t i = 0; i < count; i++) all += sizes[i];
        holdall_mpi_share(all, 1, rank, ranks, &from, &n);
        if (first != NULL) *first = from;
        status = holdall_mpi_agree(comm, holdall_mpi_bag_part(names, sizes, count, from, n, options, out, err), err);
    }
    if (status < 0) holdall_bag_close(*out), *out = NULL;
    free(sizes);
    free(names);
    return status;
}

#endif /* HOLDALL_MPI_BAGS_H */
