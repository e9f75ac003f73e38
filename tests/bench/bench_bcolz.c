/* The loops of bench_bcolz.py that time holdall, in C, so that they measure what a C program gets.
 *
 * usage: bench_bcolz               reads commands and answers each with a line
 *        bench_bcolz COMMAND...    one command; prints its memory peak
 *
 * Each command answers with the seconds it took:
 *   append FILE PATH CODEC ROWS CHECKSUM DURABILITY
 *                              the doubles of a file become an array, ROWS rows at a time
 *   commits FILE PATH CODEC ROWS TIMES DURABILITY
 *                              TIMES appends of ROWS rows, each with a commit
 *   tables FILE PATH CODEC ROWS TIMES DURABILITY
 *                              the same with a table of 8 columns
 *   read PATH IO               all items in one call, to new memory
 *   pieces PATH IO ROWS        all items, ROWS rows at a time to the same buffer
 *   slices PATH IO ROWS TIMES  ROWS rows at random positions of an open array
 *   along PATH IO ROWS TIMES   ROWS rows, then the next ones, and so on
 *   limit LIBRARY PATH ROWS TIMES
 *                              the lower bound of "slices", for doubles that bcolz wrote with LZ4
 *                              in one block per chunk: opening, reading and closing files, and
 *                              the LZ4 decoder of LIBRARY up to the rows
 *   column PATH IO NAME        all items of one column of a table
 *   memcpy                     answers with bytes per second */
#include <dlfcn.h>
#include <stdbool.h>

#include "common.h"

#define THREADS 2
#define COLUMNS 8

static holdall_options *reading(int io)
{
    return for_reading(io, THREADS);
}

static holdall_options *writing(int codec, int durability)
{
    holdall_options *o = with_threads(THREADS);
    set(o, HOLDALL_OPT_CODEC, codec);
    set(o, HOLDALL_OPT_LEVEL, 5);
    set(o, HOLDALL_OPT_DURABILITY, durability);
    return o;
}

static holdall_array *create(const char *path, uint64_t expected, holdall_options *o)
{
    const uint64_t none[1] = { 0 };
    holdall_array *a;
    set(o, HOLDALL_OPT_EXPECTED_ROWS, expected);
    check(array_create(path, HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, "<f8", 1, none, NULL, NULL, o,
                       &a, &err),
          "create");
    return a;
}

/* Reads the doubles of a file; the last file stays in memory. */
static const double *doubles(const char *file, uint64_t *n)
{
    static double *data;
    static uint64_t size;
    static char loaded[4096];
    if (strcmp(loaded, file)) {
        free(data);
        data = load(file, &size);
        snprintf(loaded, sizeof loaded, "%s", file);
    }
    *n = size / sizeof *data;
    return data;
}

static double append(const char *file, const char *path, int codec, uint64_t rows, int checksum,
                     int durability)
{
    uint64_t n;
    const double *data = doubles(file, &n);
    holdall_options *o = writing(codec, durability);
    set(o, HOLDALL_OPT_CHECKSUM, checksum);
    double start = now();
    holdall_array *a = create(path, n, o);
    for (uint64_t at = 0; at < n; at += rows) {
        uint64_t some = n - at < rows ? n - at : rows;
        check(holdall_array_append(a, 0, some, data + at, some * sizeof *data, &err), "append");
    }
    check(holdall_array_commit(a, &err), "commit");
    holdall_array_close(a);
    double took = now() - start;
    holdall_options_free(o);
    return took;
}

static double commits(const char *file, const char *path, int codec, uint64_t rows, long times,
                      int durability)
{
    uint64_t n;
    const double *data = doubles(file, &n);
    holdall_options *o = writing(codec, durability);
    set(o, HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE);
    holdall_array *a = create(path, n, o);
    check(holdall_array_commit(a, &err), "commit");
    double start = now();
    for (long i = 0; i < times; i++) {
        check(holdall_array_append(a, 0, rows, data + i * rows % (n - rows), rows * sizeof *data,
                                   &err),
              "append");
        check(holdall_array_commit(a, &err), "commit");
    }
    double took = now() - start;
    holdall_array_close(a);
    holdall_options_free(o);
    return took;
}

static double tables(const char *file, const char *path, int codec, uint64_t rows, long times,
                     int durability)
{
    static const char *const names[COLUMNS] = { "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7" };
    const char *dtypes[COLUMNS];
    const void *columns[COLUMNS];
    size_t sizes[COLUMNS];
    uint64_t n;
    const double *data = doubles(file, &n);
    holdall_table *t;
    holdall_options *o = writing(codec, durability);
    set(o, HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE);
    set(o, HOLDALL_OPT_EXPECTED_ROWS, n / COLUMNS);
    for (int i = 0; i < COLUMNS; i++) {
        dtypes[i] = "<f8";
        sizes[i] = rows * sizeof *data;
    }
    check(table_create(path, HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, COLUMNS, names, dtypes, o, &t,
                       &err),
          "create");
    check(holdall_table_commit(t, &err), "commit");
    double start = now();
    for (long i = 0; i < times; i++) {
        for (int k = 0; k < COLUMNS; k++)
            columns[k] = data + (i * COLUMNS + k) * rows % (n - rows);
        check(holdall_table_append(t, rows, columns, sizes, &err), "append");
        check(holdall_table_commit(t, &err), "commit");
    }
    double took = now() - start;
    holdall_table_close(t);
    holdall_options_free(o);
    return took;
}

static void read_rows(const holdall_array *a, uint64_t at, uint64_t n, void *dst, size_t size)
{
    check(holdall_array_read(a, &at, &n, NULL, dst, size, NULL, &err), "read");
}

static void read_whole(const holdall_array *a)
{
    size_t size = holdall_array_nbytes(a);
    uint8_t *all = room_for_all(size);
    read_rows(a, 0, holdall_array_shape(a)[0], all, size);
    sink += all[size - 1];
    free(all);
}

static double read_all(const char *path, int io)
{
    double start = now();
    holdall_array *a = open_array(path, io, THREADS);
    read_whole(a);
    holdall_array_close(a);
    return now() - start;
}

static double pieces(const char *path, int io, uint64_t rows)
{
    double start = now();
    holdall_array *a = open_array(path, io, THREADS);
    size_t item = holdall_array_itemsize(a);
    uint8_t *piece = room(rows * item);
    uint64_t n = holdall_array_shape(a)[0];
    for (uint64_t at = 0; at < n; at += rows) {
        uint64_t some = n - at < rows ? n - at : rows;
        read_rows(a, at, some, piece, some * item);
        sink += piece[some * item - 1];
    }
    holdall_array_close(a);
    free(piece);
    return now() - start;
}

static double slices(const char *path, int io, uint64_t rows, long times, bool along)
{
    holdall_array *a = open_array(path, io, THREADS);
    size_t size = rows * holdall_array_itemsize(a);
    uint8_t *dst = room(size);
    uint64_t positions = holdall_array_shape(a)[0] - rows, at = 0;
    double start = now();
    for (long i = 0; i < times; i++) {
        at = (at + (along ? rows : 0x9e3779b97f4a7c15u % positions)) % positions;
        read_rows(a, at, rows, dst, size);
    }
    double took = now() - start;
    sink = dst[size - 1];
    free(dst);
    holdall_array_close(a);
    return took;
}

typedef int (*decoder)(const char *src, char *dst, int n, int most);

/* LZ4_decompress_safe of a library that exports it. */
static decoder decoder_of(const char *library)
{
    static decoder f;
    void *loaded = f ? NULL : dlopen(library, RTLD_NOW | RTLD_LOCAL);
    /* ISO C has no cast from an object to a function */
    if (loaded)
        *(void **)&f = dlsym(loaded, "LZ4_decompress_safe");
    if (!f)
        die(library);
    return f;
}

/* The lower bound for rows of one chunk. A block is a chunk, with one stream per byte of an item.
 * The decoder gets space for the data up to the rows, and stops at the first copy that exceeds it:
 * LZ4_decompress_safe_partial would process that copy byte by byte, which takes longer than the
 * rest. */
static void rows_alone(decoder decode, const char *file, uint32_t first, uint32_t rows,
                       uint8_t *dst)
{
    enum { HEADER = 16, CHUNK = 16, WIDTH = 8 };
    static uint8_t head[128], stored[1 << 18], all[1 << 18];
    uint64_t size;
    uint32_t n, nbytes, block, start;
    int fd = open_file(file, O_RDONLY, &size);
    read_fully(fd, head, sizeof head, 0);
    memcpy(&nbytes, head + HEADER + 4, sizeof nbytes);
    memcpy(&block, head + HEADER + 8, sizeof block);
    memcpy(&start, head + HEADER + CHUNK, sizeof start);
    uint32_t each = nbytes / WIDTH, end = first + rows;
    if (block != nbytes || each > sizeof all)
        die("a chunk of another kind");
    uint64_t at = HEADER + start;
    for (int k = 0; k < WIDTH; k++, at += sizeof n + n) {
        if (at + sizeof n <= sizeof head)
            memcpy(&n, head + at, sizeof n);
        else
            read_fully(fd, &n, sizeof n, at);
        if (n == each) {
            read_fully(fd, dst + k * rows, rows, at + sizeof n + first);
            continue;
        }
        if (n > each)
            die("a stream");
        read_fully(fd, stored, n, at + sizeof n);
        decode((const char *)stored, (char *)all, n, end);
        memcpy(dst + k * rows, all + first, rows);
    }
    close(fd);
}

/* If the rows are in two chunks, both are opened. */
static double limit(const char *library, const char *path, uint64_t rows, long times)
{
    decoder decode = decoder_of(library);
    holdall_array *a = open_array(path, HOLDALL_IO_READ, THREADS);
    uint64_t positions = holdall_array_shape(a)[0] - rows, at = 0,
             chunk = array_info(a).chunk_shape[0];
    holdall_array_close(a);
    uint8_t *dst = room(rows * sizeof(double));
    char file[4096];
    double start = now();
    for (long i = 0; i < times; i++) {
        at = (at + 0x9e3779b97f4a7c15u % positions) % positions;
        for (uint64_t from = at, some; from < at + rows; from += some) {
            uint64_t first = from % chunk, left = at + rows - from;
            some = left < chunk - first ? left : chunk - first;
            snprintf(file, sizeof file, "%s/data/__%llu.blp", path,
                     (unsigned long long)(from / chunk));
            rows_alone(decode, file, first, some, dst);
        }
    }
    double took = now() - start;
    sink = dst[0];
    free(dst);
    return took;
}

static double column(const char *path, int io, const char *name)
{
    holdall_table *t;
    holdall_options *o = reading(io);
    double start = now();
    check(holdall_table_open(path, HOLDALL_READ, o, &t, &err), "open");
    uint32_t i = 0;
    while (i < holdall_table_column_count(t) && strcmp(holdall_table_column_name(t, i), name))
        i++;
    read_whole(holdall_table_column(t, i));
    holdall_table_close(t);
    double took = now() - start;
    holdall_options_free(o);
    return took;
}

static double answer_to(char **w, int n)
{
    if (n == 7 && !strcmp(w[0], "append"))
        return append(w[1], w[2], atoi(w[3]), atol(w[4]), atoi(w[5]), atoi(w[6]));
    if (n == 7 && !strcmp(w[0], "commits"))
        return commits(w[1], w[2], atoi(w[3]), atol(w[4]), atol(w[5]), atoi(w[6]));
    if (n == 7 && !strcmp(w[0], "tables"))
        return tables(w[1], w[2], atoi(w[3]), atol(w[4]), atol(w[5]), atoi(w[6]));
    if (n == 3 && !strcmp(w[0], "read"))
        return read_all(w[1], atoi(w[2]));
    if (n == 4 && !strcmp(w[0], "pieces"))
        return pieces(w[1], atoi(w[2]), atol(w[3]));
    if (n == 5 && (!strcmp(w[0], "slices") || !strcmp(w[0], "along")))
        return slices(w[1], atoi(w[2]), atol(w[3]), atol(w[4]), w[0][0] == 'a');
    if (n == 5 && !strcmp(w[0], "limit"))
        return limit(w[1], w[2], atol(w[3]), atol(w[4]));
    if (n == 4 && !strcmp(w[0], "column"))
        return column(w[1], atoi(w[2]), w[3]);
    return unknown(w, n);
}

int main(int argc, char **argv)
{
    return commands(argv + 1, argc - 1, answer_to);
}
