/* The loops of bench_cold.py that time holdall on files that are not in the page cache.
 *
 * usage: cold               reads commands and answers each with a line
 *
 * Each command answers with the seconds it took, including opening and closing:
 *   box PATH IO THREADS START COUNT
 *               a box of an array; START and COUNT are written as 0,32,32; COUNT 0: all of it
 *   records PATH IO THREADS FIRST STEP COUNT
 *               COUNT records of a bag: FIRST, FIRST + STEP, ...; COUNT 0: all
 *   again PATH  repeats only the system calls with which the last of these read the file, in
 *               their order
 *   memcpy      answers with bytes per second */
#define _GNU_SOURCE
#include <stdbool.h>
#include <sys/syscall.h>

#include "common.h"

#define MOST DIMENSIONS
#define ASKED (1 << 16)

/* ---- records the reads: this pread replaces that of the C library */

static struct {
    uint64_t at;
    size_t n;
} asked[ASKED];
static size_t asks;

ssize_t pread64(int fd, void *to, size_t n, off64_t at)
{
    size_t i = __atomic_fetch_add(&asks, 1, __ATOMIC_RELAXED);
    if (i < ASKED)
        asked[i].at = at, asked[i].n = n;
    return syscall(SYS_pread64, fd, to, n, at);
}

static double again(const char *path)
{
    size_t most = 0, n = asks;
    if (n == 0 || n > ASKED)
        die("preads");
    for (size_t i = 0; i < n; i++)
        most = asked[i].n > most ? asked[i].n : most;
    uint8_t *to = room(most);
    memset(to, 1, most);
    double start = now();
    int fd = open(path, O_RDONLY);
    for (size_t i = 0; i < n; i++)
        if (syscall(SYS_pread64, fd, to, asked[i].n, asked[i].at) < 0)
            die(path);
    close(fd);
    double took = now() - start;
    sink = to[0];
    free(to);
    return took;
}

/* ---- the measured loops */

static double box(const char *path, int io, int threads, char *from, char *lengths)
{
    uint64_t start[MOST] = { 0 }, count[MOST];
    numbers(from, start);
    bool all = numbers(lengths, count) == 1 && count[0] == 0;
    asks = 0;
    double begin = now();
    holdall_array *a = open_array(path, io, threads);
    size_t size = holdall_array_itemsize(a);
    for (uint32_t d = 0; d < holdall_array_ndim(a); d++) {
        count[d] = all ? holdall_array_shape(a)[d] : count[d];
        size *= count[d];
    }
    uint8_t *to = room_for_all(size);
    check(holdall_array_read(a, start, count, NULL, to, size, NULL, &err), "read");
    sink = to[size - 1];
    holdall_array_close(a);
    double took = now() - begin;
    free(to);
    return took;
}

static double records(const char *path, int io, int threads, uint64_t first, uint64_t step,
                      uint64_t count)
{
    uint64_t *indices = room(count * sizeof *indices);
    for (uint64_t i = 0; i < count; i++)
        indices[i] = first + i * step;
    asks = 0;
    double start = now();
    holdall_records *r;
    holdall_bag *bag = open_bag(path, io, threads, 0);
    if (count)
        check(holdall_bag_read_indices(bag, indices, count, &r, &err), "read_indices");
    else
        check(holdall_bag_read_range(bag, 0, holdall_bag_record_count(bag), &r, &err),
              "read_range");
    sink = holdall_records_offsets(r)[holdall_records_count(r)];
    holdall_bag_close(bag);
    double took = now() - start;
    holdall_records_free(r);
    free(indices);
    return took;
}

static double answer_to(char **w, int n)
{
    if (n == 6 && !strcmp(w[0], "box"))
        return box(w[1], atoi(w[2]), atoi(w[3]), w[4], w[5]);
    if (n == 7 && !strcmp(w[0], "records"))
        return records(w[1], atoi(w[2]), atoi(w[3]), strtoull(w[4], NULL, 10),
                       strtoull(w[5], NULL, 10), strtoull(w[6], NULL, 10));
    if (n == 2 && !strcmp(w[0], "again"))
        return again(w[1]);
    return unknown(w, n);
}

int main(int argc, char **argv)
{
    return commands(argv + 1, argc - 1, answer_to);
}
