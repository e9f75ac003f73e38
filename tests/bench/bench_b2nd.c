/* The loops of bench_b2nd.py that time holdall, in C, so that they measure what a C program gets.
 *
 * usage: bench_b2nd               reads commands and answers each with a line
 *        bench_b2nd COMMAND...    one command
 *
 * Each command answers with the seconds it took; a shape is written as 640,400,400:
 *   write FILE PATH DTYPE SHAPE CHUNKS BLOCKS CODEC CHECKSUM THREADS [ORDER]
 *                           the items of a file become an array; BLOCKS 0: as the library
 *                           chooses; PATH -: in memory; ORDER C or F: in the layout of the RFC
 *                           of BLZ and bcolz, in this order
 *   read PATH IO THREADS    all items in one call, to new memory
 *   again PATH IO THREADS   the same, to memory that was written before
 *   planes PATH IO THREADS AXIS TIMES
 *                           hyperplanes across an axis at random positions of an open array
 *   cubes PATH IO THREADS EDGE TIMES
 *                           cubes at random positions
 *   points PATH IO THREADS TIMES
 *                           single items, one per call
 *   near PATH IO THREADS TIMES
 *                           single items, adjacent along the last axis, one per call
 *   at PATH IO THREADS INDEX TIMES
 *                           one item of a 1-d array, by handles that have not read it before
 *   equal PATH FILE         answers 1 if the array has the items of the file, otherwise 0
 *   most COMMAND...         answers with the peak of allocated bytes during another command,
 *                           without those of the open array and of the result; must be the only
 *                           command of a process
 *   memcpy                  answers with bytes per second */
#include "common.h"

#include "boxes.h"
#include "heap.h"

#define MOST DIMENSIONS

static double write_all(char **w, const char *order)
{
    static uint8_t *data;
    static uint64_t size;
    static char loaded[4096];
    uint64_t shape[MOST], chunks[MOST], blocks[MOST], start[MOST] = { 0 };
    uint32_t ndim = numbers(w[4], shape);
    holdall_array *a;
    holdall_options *o = holdall_options_new();
    numbers(w[5], chunks);
    bool chosen = numbers(w[6], blocks) < ndim;
    if (strcmp(loaded, w[1])) {
        free(data);
        data = load(w[1], &size);
        snprintf(loaded, sizeof loaded, "%s", w[1]);
    }
    set(o, HOLDALL_OPT_CODEC, atoi(w[7]));
    set(o, HOLDALL_OPT_LEVEL, 5);
    set(o, HOLDALL_OPT_CHECKSUM, atoi(w[8]));
    set(o, HOLDALL_OPT_THREADS, atoi(w[9]));
    set(o, HOLDALL_OPT_DURABILITY, 0);
    if (order) {
        uint64_t block = strtoull(w[3] + 2, NULL, 10); /* the size of an item */
        for (uint32_t d = 0; d < ndim; d++)
            block *= blocks[d];
        set(o, HOLDALL_OPT_BLOCK_BYTES, block);
        set(o, HOLDALL_OPT_ORDER, *order == 'F');
    }
    double begin = now();
    bool is_memory = !strcmp(w[2], "-");
    if (is_memory) {
        holdall_storage *storage;
        check(holdall_storage_new_memory(&storage, &err), "memory");
        check(holdall_options_set_storage(o, &storage, 1, &err), "options");
        holdall_storage_free(storage);
    }
    check(array_create(is_memory ? NULL : w[2], HOLDALL_CREATE,
                       order ? HOLDALL_FORMAT_BLZ_RFC : HOLDALL_FORMAT_B2ND, w[3], ndim, shape, chunks,
                       chosen || order ? NULL : blocks, o, &a, &err),
          "create");
    check(holdall_array_write(a, start, shape, NULL, data, size, NULL, &err), "write");
    check(holdall_array_commit(a, &err), "commit");
    holdall_array_close(a);
    double took = now() - begin;
    holdall_options_free(o);
    return took;
}

static void read_box(const holdall_array *a, const uint64_t *start, const uint64_t *count,
                     void *dst, size_t size)
{
    check(holdall_array_read(a, start, count, NULL, dst, size, NULL, &err), "read");
}

static void read_whole(const holdall_array *a, uint8_t *all)
{
    const uint64_t start[MOST] = { 0 };
    count_from_here();
    read_box(a, start, holdall_array_shape(a), all, holdall_array_nbytes(a));
}

static uint8_t *whole(const holdall_array *a)
{
    uint8_t *all = room_for_all(holdall_array_nbytes(a));
    read_whole(a, all);
    return all;
}

static double read_all(const char *path, int io, int threads)
{
    double begin = now();
    holdall_array *a = open_array(path, io, threads);
    uint8_t *all = whole(a);
    sink += all[holdall_array_nbytes(a) - 1];
    free(all);
    holdall_array_close(a);
    return now() - begin;
}

static double read_again(const char *path, int io, int threads)
{
    holdall_array *a = open_array(path, io, threads);
    size_t size = holdall_array_nbytes(a);
    uint8_t *all = room_for_all(size);
    memset(all, 1, size);
    double begin = now();
    read_whole(a, all);
    double took = now() - begin;
    sink += all[size - 1];
    free(all);
    holdall_array_close(a);
    return took;
}

/* Boxes of these lengths at random positions. Reads as many at other positions first, because the
 * other libraries' arrays are open and in use before. */
static double boxes(holdall_array *a, const uint64_t *count, long times, bool along)
{
    uint32_t ndim = holdall_array_ndim(a);
    uint64_t *starts = box_starts(holdall_array_shape(a), count, ndim, 2 * times, along);
    size_t size = holdall_array_itemsize(a) * box_items(count, ndim);
    uint8_t *dst = room(size);
    memset(dst, 1, size);
    count_from_here();
    for (long i = times; i < 2 * times; i++)
        read_box(a, starts + i * ndim, count, dst, size);
    double begin = now();
    for (long i = 0; i < times; i++)
        read_box(a, starts + i * ndim, count, dst, size);
    double took = now() - begin;
    sink = dst[size - 1];
    free(dst);
    free(starts);
    holdall_array_close(a);
    return took;
}

static double planes(const char *path, int io, int threads, uint32_t axis, long times)
{
    holdall_array *a = open_array(path, io, threads);
    uint64_t count[MOST];
    for (uint32_t d = 0; d < holdall_array_ndim(a); d++)
        count[d] = d == axis ? 1 : holdall_array_shape(a)[d];
    return boxes(a, count, times, false);
}

static double cubes(const char *path, int io, int threads, uint64_t edge, long times, bool along)
{
    uint64_t count[MOST];
    for (int d = 0; d < MOST; d++)
        count[d] = edge;
    return boxes(open_array(path, io, threads), count, times, along);
}

static double same(const char *path, int io, int threads, uint64_t index, long times)
{
    uint8_t item[64];
    const uint64_t one = 1;
    holdall_array **all = room(times * sizeof *all);
    for (long i = 0; i < times; i++)
        all[i] = open_array(path, io, threads);
    double begin = now();
    for (long i = 0; i < times; i++)
        read_box(all[i], &index, &one, item, sizeof item);
    double took = now() - begin;
    for (long i = 0; i < times; i++)
        holdall_array_close(all[i]);
    free(all);
    return took;
}

static double equal(const char *path, const char *file)
{
    uint64_t size;
    uint8_t *expected = load(file, &size);
    holdall_array *a = open_array(path, HOLDALL_IO_READ, 0);
    uint8_t *all = whole(a);
    double is = holdall_array_nbytes(a) == size && !memcmp(all, expected, size);
    free(all);
    free(expected);
    holdall_array_close(a);
    return is;
}

static double answer_to(char **w, int n)
{
    if (n > 1 && !strcmp(w[0], "most"))
        return answer_to(w + 1, n - 1), most_beyond();
    if ((n == 10 || n == 11) && !strcmp(w[0], "write"))
        return write_all(w, n == 11 ? w[10] : NULL);
    if (n == 4 && !strcmp(w[0], "read"))
        return read_all(w[1], atoi(w[2]), atoi(w[3]));
    if (n == 4 && !strcmp(w[0], "again"))
        return read_again(w[1], atoi(w[2]), atoi(w[3]));
    if (n == 6 && !strcmp(w[0], "planes"))
        return planes(w[1], atoi(w[2]), atoi(w[3]), atoi(w[4]), atol(w[5]));
    if (n == 6 && !strcmp(w[0], "cubes"))
        return cubes(w[1], atoi(w[2]), atoi(w[3]), atol(w[4]), atol(w[5]), false);
    if (n == 5 && (!strcmp(w[0], "points") || !strcmp(w[0], "near")))
        return cubes(w[1], atoi(w[2]), atoi(w[3]), 1, atol(w[4]), w[0][0] == 'n');
    if (n == 6 && !strcmp(w[0], "at"))
        return same(w[1], atoi(w[2]), atoi(w[3]), strtoull(w[4], NULL, 10), atol(w[5]));
    if (n == 3 && !strcmp(w[0], "equal"))
        return equal(w[1], w[2]);
    return unknown(w, n);
}

int main(int argc, char **argv)
{
    return commands(argv + 1, argc - 1, answer_to);
}
