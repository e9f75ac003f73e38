/* The loops of bench_real.py that time tables of holdall, in C, so that they measure what a C
 * program gets.
 *
 * usage: real               reads commands and answers each with a line
 *
 * Each command answers with the seconds it took:
 *   write LIST PATH CODEC CHECKSUM THREADS
 *                   the columns that LIST names become a table; each line of LIST is a name, a
 *                   dtype and a file of items
 *   read PATH IO THREADS
 *                   all columns, each in one call, to new memory
 *   rows PATH IO THREADS ROWS TIMES
 *                   ROWS rows at random positions of all columns of an open table
 *   equal LIST PATH answers 1 if the table has the items of the files, otherwise 0
 *   memcpy          answers with bytes per second */
#include <stdbool.h>

#include "common.h"

#define MOST 64

struct columns {
    char list[4096];
    uint32_t n;
    char names[MOST][64], dtypes[MOST][64];
    const char *name[MOST], *dtype[MOST];
    const void *data[MOST];
    uint64_t size[MOST];
};

/* The columns of a list, in memory; the last ones stay there. */
static const struct columns *columns_of(const char *list)
{
    static struct columns c;
    char file[4096];
    if (!strcmp(c.list, list))
        return &c;
    FILE *f = fopen(list, "r");
    if (!f)
        die(list);
    for (c.n = 0;
         c.n < MOST && fscanf(f, "%63s %63s %4095s", c.names[c.n], c.dtypes[c.n], file) == 3;
         c.n++) {
        c.name[c.n] = c.names[c.n];
        c.dtype[c.n] = c.dtypes[c.n];
        c.data[c.n] = load(file, &c.size[c.n]);
    }
    fclose(f);
    snprintf(c.list, sizeof c.list, "%s", list);
    return &c;
}

static holdall_table *open_table(const char *path, int io, int threads)
{
    holdall_table *t;
    holdall_options *o = for_reading(io, threads);
    check(holdall_table_open(path, HOLDALL_READ, o, &t, &err), "open");
    holdall_options_free(o);
    return t;
}

/* The number of rows is the length of the first column divided by the size of an item. */
static uint64_t rows_of(const struct columns *c)
{
    uint64_t item = strtoull(c->dtype[0] + 2, NULL, 10);
    return c->size[0] / item;
}

static double write_all(const char *list, const char *path, int codec, int checksum, int threads)
{
    const struct columns *c = columns_of(list);
    size_t sizes[MOST];
    uint64_t rows = rows_of(c);
    holdall_table *t;
    holdall_options *o = with_threads(threads);
    set(o, HOLDALL_OPT_CODEC, codec);
    set(o, HOLDALL_OPT_LEVEL, 5);
    set(o, HOLDALL_OPT_CHECKSUM, checksum);
    set(o, HOLDALL_OPT_DURABILITY, 0);
    set(o, HOLDALL_OPT_EXPECTED_ROWS, rows);
    for (uint32_t i = 0; i < c->n; i++)
        sizes[i] = c->size[i];
    double start = now();
    check(table_create(path, HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, c->n, c->name, c->dtype, o, &t,
                       &err),
          "create");
    check(holdall_table_append(t, rows, c->data, sizes, &err), "append");
    check(holdall_table_commit(t, &err), "commit");
    holdall_table_close(t);
    double took = now() - start;
    holdall_options_free(o);
    return took;
}

static void read_rows(const holdall_array *a, uint64_t at, uint64_t n, void *dst)
{
    check(holdall_array_read(a, &at, &n, NULL, dst, n * holdall_array_itemsize(a), NULL, &err),
          "read");
}

static double read_all(const char *path, int io, int threads)
{
    uint8_t *all[MOST];
    double start = now();
    holdall_table *t = open_table(path, io, threads);
    uint32_t n = holdall_table_column_count(t);
    for (uint32_t i = 0; i < n && i < MOST; i++) {
        const holdall_array *a = holdall_table_column(t, i);
        all[i] = room_for_all(holdall_array_nbytes(a));
        read_rows(a, 0, holdall_array_shape(a)[0], all[i]);
        sink += all[i][0];
    }
    double took = now() - start; /* without freeing them, as for a NumPy table */
    for (uint32_t i = 0; i < n && i < MOST; i++)
        free(all[i]);
    holdall_table_close(t);
    return took;
}

static double some_rows(const char *path, int io, int threads, uint64_t rows, long times)
{
    holdall_table *t = open_table(path, io, threads);
    uint64_t positions = holdall_table_row_count(t) - rows, at = 0;
    uint8_t *dst = room(rows * 4096);
    double start = now();
    for (long i = 0; i < times; i++) {
        at = (at + 0x9e3779b97f4a7c15u % positions) % positions;
        for (uint32_t k = 0; k < holdall_table_column_count(t); k++)
            read_rows(holdall_table_column(t, k), at, rows, dst);
    }
    double took = now() - start;
    sink = dst[0];
    free(dst);
    holdall_table_close(t);
    return took;
}

static double equal(const char *list, const char *path)
{
    const struct columns *c = columns_of(list);
    holdall_table *t = open_table(path, HOLDALL_IO_READ, 0);
    bool is = holdall_table_column_count(t) == c->n;
    for (uint32_t i = 0; is && i < c->n; i++) {
        const holdall_array *a = holdall_table_column(t, i);
        uint8_t *all = room(holdall_array_nbytes(a));
        read_rows(a, 0, holdall_array_shape(a)[0], all);
        is = holdall_array_nbytes(a) == c->size[i] && !memcmp(all, c->data[i], c->size[i]);
        free(all);
    }
    holdall_table_close(t);
    return is;
}

static double answer_to(char **w, int n)
{
    if (n == 6 && !strcmp(w[0], "write"))
        return write_all(w[1], w[2], atoi(w[3]), atoi(w[4]), atoi(w[5]));
    if (n == 4 && !strcmp(w[0], "read"))
        return read_all(w[1], atoi(w[2]), atoi(w[3]));
    if (n == 6 && !strcmp(w[0], "rows"))
        return some_rows(w[1], atoi(w[2]), atoi(w[3]), atol(w[4]), atol(w[5]));
    if (n == 3 && !strcmp(w[0], "equal"))
        return equal(w[1], w[2]);
    return unknown(w, n);
}

int main(int argc, char **argv)
{
    return commands(argv + 1, argc - 1, answer_to);
}
