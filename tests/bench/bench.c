/* The loops of bench_bag.py that time holdall, in C, so that they measure what a C program gets.
 *
 * usage: bench DATA OFFSETS INDICES                loads DATA, reads commands and answers each
 *                                                  with a line
 *        bench DATA OFFSETS INDICES COMMAND...     one command; reads DATA piece by piece, to
 *                                                  measure its memory
 *
 * Each command answers with the seconds it took:
 *   write PATH CODEC CHECKSUM DURABILITY THREADS BATCH [DICTIONARY]
 *                            all records, one commit; BATCH 1: one by one
 *   numbers PATH RECORDS     writes records of 8 bytes, not compressed, without checksums
 *   open PATH IO TIMES
 *   single PATH IO CACHE     every record of INDICES, one by one; CACHE 1: limits in memory
 *   indices PATH IO THREADS BATCH
 *                            the same, BATCH per call
 *   range PATH IO THREADS BATCH
 *                            all records in order, BATCH per call; BATCH 0: all
 *   stream PATH IO THREADS ORDER TAKE
 *                            a stream of the records of INDICES, or of all records in order if
 *                            ORDER is 1; TAKE 1: one by one, otherwise so many per call; 0: as
 *                            they were read
 *   epoch PATH IO THREADS    a stream of all records, shuffled
 *   copy PATH THREADS ORDER BATCH
 *                            only copies the same records: in order from memory, or from a new
 *                            map of a file that has them uncompressed; BATCH to memory in use,
 *                            or BATCH 0: all to new memory
 *   pread PATH               a system call for each record of INDICES, of such a file
 *   memcpy                   answers with bytes per second
 *   digest PATH              answers with the SHA-256 of the content, as
 *                            holdall_bag_checksum() */
#include "common.h"

#include <pthread.h>
#include <sys/mman.h>

/* ---- the records: in memory, or read from the files piece by piece */

struct input {
    int data_fd, offsets_fd;
    uint64_t records;
    uint8_t *data;     /* all records, or the piece */
    uint64_t *offsets; /* offsets of all records, or of the piece, from 0 on */
    int loaded;
};

/* Returns a pointer to n records from `first` on, and n + 1 offsets from that pointer. */
static void piece(struct input *in, uint64_t first, size_t n, const uint8_t **data,
                  const uint64_t **offsets)
{
    if (in->loaded) {
        *data = in->data;
        *offsets = in->offsets + first;
        return;
    }
    in->offsets = realloc(in->offsets, (n + 1) * sizeof *in->offsets);
    read_fully(in->offsets_fd, in->offsets, (n + 1) * sizeof *in->offsets,
               first * sizeof *in->offsets);
    uint64_t from = in->offsets[0], size = in->offsets[n] - from;
    in->data = realloc(in->data, size + 1);
    read_fully(in->data_fd, in->data, size, from);
    for (size_t i = 0; i <= n; i++)
        in->offsets[i] -= from;
    *data = in->data;
    *offsets = in->offsets;
}

/* ---- the measured loops */

static double write_all(struct input *in, const char *path, int codec, int checksum, int durability,
                        int threads, size_t batch, int dictionary)
{
    holdall_bag_writer *w;
    holdall_options *o = with_threads(threads);
    set(o, HOLDALL_OPT_CODEC, codec);
    set(o, HOLDALL_OPT_CHECKSUM, checksum);
    set(o, HOLDALL_OPT_DURABILITY, durability);
    set(o, HOLDALL_OPT_BAG_DICTIONARY, dictionary);
    double start = now();
    check(holdall_bag_writer_open(path, HOLDALL_CREATE, o, &w, &err), "open");
    const size_t most = batch == 1 ? 10000 : batch;
    for (uint64_t i = 0; i < in->records; i += most) {
        size_t n = in->records - i < most ? in->records - i : most;
        const uint8_t *data;
        const uint64_t *offsets;
        piece(in, i, n, &data, &offsets);
        if (batch > 1) {
            check(holdall_bag_writer_append_many(w, data, offsets, n, &err), "append_many");
            continue;
        }
        for (size_t k = 0; k < n; k++)
            check(
                holdall_bag_writer_append(w, data + offsets[k], offsets[k + 1] - offsets[k], &err),
                "append");
    }
    check(holdall_bag_writer_commit(w, &err), "commit");
    holdall_bag_writer_close(w);
    double took = now() - start;
    holdall_options_free(o);
    return took;
}

static double write_numbers(const char *path, uint64_t records)
{
    enum { PIECE = 10000 };
    static uint64_t data[PIECE], offsets[PIECE + 1];
    holdall_bag_writer *w;
    holdall_options *o = holdall_options_new();
    set(o, HOLDALL_OPT_CODEC, HOLDALL_CODEC_NONE);
    set(o, HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE);
    set(o, HOLDALL_OPT_DURABILITY, 0);
    double start = now();
    check(holdall_bag_writer_open(path, HOLDALL_CREATE, o, &w, &err), "open");
    for (uint64_t i = 0; i < records; i += PIECE) {
        uint64_t n = records - i < PIECE ? records - i : PIECE;
        for (uint64_t k = 0; k < n; k++)
            data[k] = i + k, offsets[k + 1] = (k + 1) * sizeof *data;
        check(holdall_bag_writer_append_many(w, data, offsets, n, &err), "append_many");
    }
    check(holdall_bag_writer_commit(w, &err), "commit");
    holdall_bag_writer_close(w);
    holdall_options_free(o);
    return now() - start;
}

static double open_often(const char *path, int io, long times)
{
    double start = now();
    for (long i = 0; i < times; i++) {
        holdall_bag *bag = open_bag(path, io, 0, 0);
        (void)holdall_bag_record_count(bag);
        holdall_bag_close(bag);
    }
    return now() - start;
}

static double read_singly(const char *path, int io, int cache, const uint64_t *indices,
                          uint64_t count)
{
    enum { MOST = 9 << 20 };
    uint8_t *dst = room(MOST);
    memset(dst, 1, MOST); /* its pages are present */
    holdall_bag *bag = open_bag(path, io, 0, cache);
    uint64_t sum = 0;
    double start = now();
    for (uint64_t k = 0; k < count; k++) {
        size_t n;
        check(holdall_bag_read(bag, indices[k], dst, MOST, &n, &err), "read");
        sum += n;
    }
    double took = now() - start;
    sink = sum;
    holdall_bag_close(bag);
    free(dst);
    return took;
}

static double read_indices(const char *path, int io, int threads, const uint64_t *indices,
                           uint64_t count, size_t batch)
{
    holdall_bag *bag = open_bag(path, io, threads, 0);
    uint64_t sum = 0;
    double start = now();
    for (uint64_t k = 0; k < count; k += batch) {
        holdall_records *r;
        size_t n = count - k < batch ? count - k : batch;
        check(holdall_bag_read_indices(bag, indices + k, n, &r, &err), "read_indices");
        sum += holdall_records_offsets(r)[n];
        holdall_records_free(r);
    }
    double took = now() - start;
    sink = sum;
    holdall_bag_close(bag);
    return took;
}

static double read_ranges(const char *path, int io, int threads, size_t batch)
{
    holdall_bag *bag = open_bag(path, io, threads, 0);
    uint64_t sum = 0, all = holdall_bag_record_count(bag);
    if (batch == 0)
        batch = all;
    double took = 0, start = now();
    for (uint64_t k = 0; k < all; k += batch) {
        holdall_records *r;
        size_t n = all - k < batch ? all - k : batch;
        check(holdall_bag_read_range(bag, k, n, &r, &err), "read_range");
        sum += holdall_records_offsets(r)[n];
        took = now() - start; /* without freeing the last ones, as for bagz */
        holdall_records_free(r);
    }
    sink = sum;
    holdall_bag_close(bag);
    return took;
}

struct indices {
    const uint64_t *next, *end;
};

static int next_of(void *ctx, uint64_t *index)
{
    struct indices *in = ctx;
    if (in->next == in->end)
        return 1;
    *index = *in->next++;
    return 0;
}

/* Reads all records of a stream; adds up their bytes, so that the pages are present. */
static double drain(holdall_bag *bag, holdall_next_index_fn next, void *ctx, size_t take)
{
    uint64_t sum = 0;
    holdall_status status;
    holdall_bag_stream *stream;
    double start = now();
    check(holdall_bag_stream_open(bag, next, ctx, NULL, &stream, &err), "stream");
    if (take == 1) {
        const void *record;
        size_t n;
        while ((status = holdall_bag_stream_next(stream, &record, &n, &err)) == HOLDALL_OK)
            sum += n;
    } else {
        holdall_records *r;
        while ((status = holdall_bag_stream_take(stream, take, &r, &err)) == HOLDALL_OK) {
            sum += holdall_records_count(r);
            holdall_records_free(r);
        }
    }
    if (status != HOLDALL_END)
        check(status, "stream");
    holdall_bag_stream_close(stream);
    double took = now() - start;
    sink = sum;
    holdall_bag_close(bag);
    return took;
}

static double read_epoch(const char *path, int io, int threads)
{
    holdall_epoch *epoch;
    holdall_bag *bag = open_bag(path, io, threads, 0);
    check(holdall_epoch_new(holdall_bag_record_count(bag), 1, 0, 0, 1, &epoch, &err), "epoch");
    double took = drain(bag, holdall_epoch_next, epoch, 1);
    holdall_epoch_free(epoch);
    return took;
}

enum { MOST = 16 };

/* The copies of one thread: records `next` to `end` of INDICES, or of all records without
 * INDICES. */
struct copier {
    const struct input *in;
    const uint8_t *all;
    const uint64_t *indices;
    uint64_t next, end, batch;
    uint8_t *to;
};

static void *copy_records(void *arg)
{
    struct copier *c = arg;
    const uint64_t *o = c->in->offsets;
    while (c->next < c->end) {
        uint64_t from = c->next, n = c->end - from < c->batch ? c->end - from : c->batch;
        uint8_t *to = c->to;
        c->next += n;
        if (!c->indices) {
            memcpy(to, c->all + o[from], o[from + n] - o[from]);
            continue;
        }
        for (uint64_t k = from; k < from + n; k++) {
            uint64_t i = c->indices[k], size = o[i + 1] - o[i];
            memcpy(to, c->all + o[i], size);
            to += size;
        }
    }
    return NULL;
}

/* Maps `size` bytes of the file, or of new memory in large pages. */
static void *map(int fd, size_t size)
{
    void *p = mmap(NULL, size, fd < 0 ? PROT_READ | PROT_WRITE : PROT_READ,
                   fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        die("map");
    if (fd < 0)
        madvise(p, size, MADV_HUGEPAGE);
    return p;
}

static double copy_alone(const char *path, const struct input *in, int threads,
                         const uint64_t *indices, uint64_t count, uint64_t batch)
{
    struct copier some[MOST];
    pthread_t started[MOST];
    uint64_t size, all = indices ? count : in->records, largest = 0;
    int fd = open_file(path, O_RDONLY, &size);
    if (threads < 1 || threads > MOST)
        die("threads");
    for (uint64_t i = 0; i < in->records; i++)
        if (in->offsets[i + 1] - in->offsets[i] > largest)
            largest = in->offsets[i + 1] - in->offsets[i];
    size_t each = (batch < all / threads + 1 ? batch : all / threads + 1) * largest,
           fresh = batch ? 0 : in->offsets[in->records];
    uint8_t *used = room(each * threads);
    memset(used, 1, each * threads); /* its pages are present */
    double start = now();
    uint8_t *file = indices ? map(fd, size) : NULL, *target = fresh ? map(-1, fresh) : used;
    for (int t = 0; t < threads; t++) {
        uint64_t first = all * t / threads, end = all * (t + 1) / threads;
        uint8_t *to = target + (fresh ? in->offsets[first] : each * t);
        some[t] = (struct copier){.in = in,
                                  .all = file ? file : in->data,
                                  .indices = indices,
                                  .next = first,
                                  .end = end,
                                  .batch = batch ? batch : all,
                                  .to = to};
        if (t > 0 && pthread_create(&started[t], NULL, copy_records, &some[t]))
            die("thread");
    }
    copy_records(&some[0]);
    for (int t = 1; t < threads; t++)
        pthread_join(started[t], NULL);
    double took = now() - start;
    sink = target[0];
    if (file)
        munmap(file, size);
    if (fresh)
        munmap(target, fresh);
    free(used);
    close(fd);
    return took;
}

static double pread_alone(const char *path, const struct input *in, const uint64_t *indices,
                          uint64_t count)
{
    uint64_t size;
    int fd = open_file(path, O_RDONLY, &size);
    uint8_t *dst = room(9 << 20);
    memset(dst, 1, 9 << 20);
    double start = now();
    for (uint64_t k = 0; k < count; k++) {
        const uint64_t *o = in->offsets + indices[k];
        read_fully(fd, dst, o[1] - o[0], o[0]);
    }
    double took = now() - start;
    free(dst);
    close(fd);
    return took;
}

static void digest(const char *path)
{
    uint8_t sum[32];
    size_t n;
    holdall_bag *bag = open_bag(path, HOLDALL_IO_READ, 0, 0);
    check(holdall_bag_checksum(bag, HOLDALL_CHECKSUM_SHA256, sum, sizeof sum, &n, &err),
          "checksum");
    for (size_t i = 0; i < n; i++)
        printf("%02x", sum[i]);
    putchar('\n');
    holdall_bag_close(bag);
}

static struct input in;
static uint64_t *indices, count;

static double answer_to(char **w, int n)
{
    if ((n == 7 || n == 8) && !strcmp(w[0], "write"))
        return write_all(&in, w[1], atoi(w[2]), atoi(w[3]), atoi(w[4]), atoi(w[5]), atol(w[6]),
                         n == 8 ? atoi(w[7]) : HOLDALL_BAG_DICTIONARY_SEPARATE);
    if (n == 3 && !strcmp(w[0], "numbers"))
        return write_numbers(w[1], strtoull(w[2], NULL, 10));
    if (n == 4 && !strcmp(w[0], "open"))
        return open_often(w[1], atoi(w[2]), atol(w[3]));
    if (n == 4 && !strcmp(w[0], "single"))
        return read_singly(w[1], atoi(w[2]), atoi(w[3]), indices, count);
    if (n == 5 && !strcmp(w[0], "copy"))
        return copy_alone(w[1], &in, atoi(w[2]), atoi(w[3]) ? NULL : indices, count, atol(w[4]));
    if (n == 2 && !strcmp(w[0], "pread"))
        return pread_alone(w[1], &in, indices, count);
    if (n == 5 && !strcmp(w[0], "indices"))
        return read_indices(w[1], atoi(w[2]), atoi(w[3]), indices, count, atol(w[4]));
    if (n == 5 && !strcmp(w[0], "range"))
        return read_ranges(w[1], atoi(w[2]), atoi(w[3]), atol(w[4]));
    if (n == 6 && !strcmp(w[0], "stream")) {
        struct indices some = {indices, indices + count};
        return drain(open_bag(w[1], atoi(w[2]), atoi(w[3]), 0), atoi(w[4]) ? NULL : next_of, &some,
                     atol(w[5]));
    }
    if (n == 4 && !strcmp(w[0], "epoch"))
        return read_epoch(w[1], atoi(w[2]), atoi(w[3]));
    if (n == 2 && !strcmp(w[0], "digest"))
        return digest(w[1]), PRINTED;
    return unknown(w, n);
}

int main(int argc, char **argv)
{
    uint64_t size, data_size;
    if (argc < 4)
        return 2;
    in.data_fd = open_file(argv[1], O_RDONLY, &data_size);
    in.offsets_fd = open_file(argv[2], O_RDONLY, &size);
    in.records = size / sizeof *in.offsets - 1;
    in.loaded = argc == 4;
    if (in.loaded) {
        in.data = load(argv[1], &data_size);
        in.offsets = load(argv[2], &size);
    }
    indices = load(argv[3], &count);
    count /= sizeof *indices;
    return commands(argv + 4, argc - 4, answer_to);
}
