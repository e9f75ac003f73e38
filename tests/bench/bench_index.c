/* The loops of bench_index.py that time holdall, in C, so that they measure what a C program gets.
 *
 * usage: bench_index DATA OFFSETS [COMMAND...]      DATA and OFFSETS: the keys to look up
 *
 * Each command answers with the seconds it took:
 *   build BAG IO THREADS              an index in memory
 *   create BAG IO INDEX THREADS       an index in a file
 *   first BAG INDEX IO CACHE          each key by itself; CACHE 1: limits of the bag in memory
 *   all BAG INDEX IO CACHE            the same, all rows of each key
 *   many BAG INDEX IO THREADS         10,000 keys per call */
#include "common.h"

enum { BATCH = 10000 };

static uint8_t *data;
static uint64_t *offsets, count;

static double make(const char *path, int io, const char *file, int threads)
{
    holdall_bag *bag = open_bag(path, io, threads, 0);
    holdall_bag_index *index;
    double start = now();
    if (file)
        check(holdall_bag_index_create(file, HOLDALL_REPLACE, bag, NULL, &index, &err), "create");
    else
        check(holdall_bag_index_build(bag, NULL, &index, &err), "build");
    double took = now() - start;
    sink = holdall_bag_index_key_count(index);
    holdall_bag_index_close(index);
    holdall_bag_close(bag);
    return took;
}

static double find(const char *path, const char *file, int io, int cache, int threads, char how)
{
    static uint64_t rows[BATCH];
    holdall_bag *bag = open_bag(path, io, threads, cache);
    holdall_bag_index *index;
    holdall_options *o = holdall_options_new();
    set(o, HOLDALL_OPT_IO, io);
    check(holdall_bag_index_open(file, bag, o, &index, &err), "open");
    holdall_options_free(o);
    uint64_t sum = 0;
    double start = now();
    for (uint64_t i = 0, n = 1; i < count; i += n) {
        size_t found, size = offsets[i + 1] - offsets[i];
        if (how == 'f')
            check(holdall_bag_index_find_first(index, data + offsets[i], size, rows, &err),
                  "find_first");
        else if (how == 'a')
            check(holdall_bag_index_find(index, data + offsets[i], size, rows, BATCH, &found, &err),
                  "find");
        else {
            n = count - i < BATCH ? count - i : BATCH;
            check(holdall_bag_index_find_many(index, data, offsets + i, n, rows, &err),
                  "find_many");
        }
        sum += rows[0];
    }
    double took = now() - start;
    sink = sum;
    holdall_bag_index_close(index);
    holdall_bag_close(bag);
    return took;
}

static double answer_to(char **w, int n)
{
    if (n == 4 && !strcmp(w[0], "build"))
        return make(w[1], atoi(w[2]), NULL, atoi(w[3]));
    if (n == 5 && !strcmp(w[0], "create"))
        return make(w[1], atoi(w[2]), w[3], atoi(w[4]));
    if (n == 5 && (!strcmp(w[0], "first") || !strcmp(w[0], "all")))
        return find(w[1], w[2], atoi(w[3]), atoi(w[4]), 0, w[0][0]);
    if (n == 5 && !strcmp(w[0], "many"))
        return find(w[1], w[2], atoi(w[3]), 0, atoi(w[4]), 'm');
    return unknown(w, n);
}

int main(int argc, char **argv)
{
    uint64_t size;
    if (argc < 3)
        return 2;
    data = load(argv[1], &size);
    offsets = load(argv[2], &count);
    count = count / sizeof *offsets - 1;
    return commands(argv + 3, argc - 3, answer_to);
}
