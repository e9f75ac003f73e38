/* The code paths that programs use most, each with a name: for counts of instructions (counts.py),
 * for comparing two libraries (versus.py) and for the cost of opening (bench_start.py).
 *
 * usage: paths FOLDER THREADS make     writes the files that are read, the same every time
 *        paths FOLDER THREADS list     prints the names
 *        paths FOLDER THREADS count    runs every path once, under callgrind, with a dump for each
 *                                      under its name
 *        paths FOLDER THREADS time NAME [TIMES]
 *                                      reads lines, and answers each with the seconds per run of
 *                                      the path, of TIMES runs, or of as many as are needed for a
 *                                      reliable result
 *
 * The preparation of a path, and work that is done only once, happen before `begin`. */
#include "made.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

enum { BATCH = 1000, CODED = 1 << 17 };

struct path {
    const char *name;
    void (*run)(const struct path *p);
    const char *file; /* the file that is opened or written */
    long times;       /* the number of items of the measured call */
    int a, b, c;      /* the arguments of the function */
};

static int counting;
static double started, took;

static void begin(void)
{
    CALLGRIND_ZERO_STATS;
    started = now();
    CALLGRIND_TOGGLE_COLLECT;
}

static void end(const struct path *p)
{
    CALLGRIND_TOGGLE_COLLECT;
    took = (now() - started) / p->times;
    if (counting)
        CALLGRIND_DUMP_STATS_AT(p->name);
}

/* ---- bags */

static void call(const struct path *p)
{
    holdall_bag *bag = open_bag(in_folder(p->file), HOLDALL_IO_MAP, threads, 0);
    uint64_t sum = holdall_bag_record_count(bag);
    begin();
    for (long i = 0; i < p->times; i++)
        sum += holdall_bag_record_count(bag);
    end(p);
    sink = sum;
    holdall_bag_close(bag);
}

static void single(const struct path *p)
{
    static uint8_t dst[4096];
    size_t n;
    holdall_bag *bag = open_bag(in_folder(p->file), p->a, threads, 0);
    check(holdall_bag_read(bag, 0, dst, sizeof dst, &n, &err), "read");
    begin();
    for (long i = 0; i < p->times; i++)
        check(holdall_bag_read(bag, (uint64_t)i * 7919 % RECORDS, dst, sizeof dst, &n, &err),
              "read");
    end(p);
    holdall_bag_close(bag);
}

static void batch(const struct path *p)
{
    static uint64_t indices[BATCH];
    holdall_records *r;
    holdall_bag *bag = open_bag(in_folder(p->file), p->a, threads, 0);
    for (int i = 0; i < BATCH; i++)
        indices[i] = (uint64_t)i * 7919 % RECORDS;
    for (long i = -1; i < p->times; i++) {
        if (i == 0)
            begin();
        check(p->b ? holdall_bag_read_range(bag, i + 1, BATCH, &r, &err)
                   : holdall_bag_read_indices(bag, indices, BATCH, &r, &err),
              "read");
        sink = holdall_records_offsets(r)[BATCH];
        holdall_records_free(r);
    }
    end(p);
    holdall_bag_close(bag);
}

static void stream(const struct path *p)
{
    const void *record;
    size_t n;
    holdall_bag_stream *s;
    holdall_bag *bag = open_bag(in_folder(p->file), HOLDALL_IO_MAP, threads, 0);
    check(holdall_bag_stream_open(bag, NULL, NULL, NULL, &s, &err), "stream");
    check(holdall_bag_stream_next(s, &record, &n, &err), "next");
    begin();
    for (long i = 0; i < p->times; i++)
        check(holdall_bag_stream_next(s, &record, &n, &err), "next");
    end(p);
    holdall_bag_stream_close(s);
    holdall_bag_close(bag);
}

static void append(const struct path *p)
{
    static char record[200];
    holdall_bag_writer *w;
    holdall_options *o = options(p->a, HOLDALL_CHECKSUM_NONE);
    memset(record, 'a', sizeof record);
    check(holdall_bag_writer_open(in_folder(p->file), HOLDALL_REPLACE, o, &w, &err), "open");
    for (long i = -1; i < p->times; i++) {
        if (i == 0)
            begin();
        record[(i + 200) % 200] += 1;
        check(holdall_bag_writer_append(w, record, sizeof record, &err), "append");
    }
    check(holdall_bag_writer_commit(w, &err), "commit");
    end(p);
    holdall_bag_writer_close(w);
    holdall_options_free(o);
}

/* Enough keys that their positions in the index do not matter: the hashes have a random seed. */
static void find(const struct path *p)
{
    enum { KEYS = 512, LONG = 512 };
    static uint8_t keys[KEYS][LONG];
    static size_t sizes[KEYS];
    char file[4096];
    uint64_t row;
    holdall_bag_index *index;
    holdall_bag *bag = open_bag(in_folder("raw.bag"), HOLDALL_IO_MAP, threads, 0);
    for (int i = 0; i < KEYS; i++)
        check(holdall_bag_read(bag, i * 31, keys[i], LONG, &sizes[i], &err), "read");
    snprintf(file, sizeof file, "%s", in_folder(p->file));
    check(holdall_bag_index_open(file, bag, NULL, &index, &err), "index");
    check(holdall_bag_index_find_first(index, keys[0], sizes[0], &row, &err), "find");
    begin();
    for (long i = 0; i < p->times; i++)
        check(holdall_bag_index_find_first(index, keys[i % KEYS], sizes[i % KEYS], &row, &err),
              "find");
    end(p);
    holdall_bag_index_close(index);
    holdall_bag_close(bag);
}

/* ---- arrays and tables */

/* Boxes of a x b x c items at random positions; if a is 0, adjacent points. */
static void boxes(const struct path *p)
{
    uint64_t count[3] = { p->a ? p->a : 1, p->b, p->c }, start[3];
    size_t size = count[0] * count[1] * count[2] * sizeof(int32_t);
    uint8_t *dst = room(size);
    holdall_array *a = open_array(in_folder(p->file), HOLDALL_IO_READ, threads);
    for (long i = -1; i < p->times; i++) {
        if (i == 0)
            begin();
        for (int d = 0; d < 3; d++)
            start[d] = p->a     ? (uint64_t)(i + 2) * 37 * (d + 1) % (EDGE - count[d] + 1)
                       : d == 2 ? (uint64_t)(i + 1) % EDGE
                                : EDGE / 2;
        check(holdall_array_read(a, start, count, NULL, dst, size, NULL, &err), "read");
    }
    end(p);
    sink = dst[size - 1];
    holdall_array_close(a);
    free(dst);
}

/* Rows of the columns of a table, a of them at random positions. */
static void rows(const struct path *p)
{
    holdall_table *t;
    holdall_options *o = with_threads(threads);
    uint64_t count = p->a, start;
    double *dst = room(count * sizeof *dst);
    check(holdall_table_open(in_folder(p->file), HOLDALL_READ, o, &t, &err), "open");
    for (long i = -1; i < p->times; i++) {
        if (i == 0)
            begin();
        start = (uint64_t)(i + 1) * 77773 % (ROWS / 2 - count + 1);
        check(holdall_array_read(holdall_table_column(t, i & 1), &start, &count, NULL, dst,
                                 count * sizeof *dst, NULL, &err),
              "read");
    }
    end(p);
    holdall_table_close(t);
    holdall_options_free(o);
    free(dst);
}

/* ---- chunks */

/* Writes `times` chunks and one more to a file; `measured` if their encoding is measured. */
static void code(const struct path *p, const double *items, const char *name, int measured)
{
    holdall_schunk *s;
    holdall_options *o = options(p->a, HOLDALL_CHECKSUM_NONE);
    /* byte differences follow the shuffle; files of Blosc 1 have neither these nor the other
     * filters */
    int two = p->b == HOLDALL_FILTER_BYTEDELTA, format = p->b > HOLDALL_FILTER_BITSHUFFLE
                                                             ? HOLDALL_FORMAT_B2FRAME
                                                             : HOLDALL_FORMAT_BLOSCPACK;
    const uint8_t filters[2] = { two ? HOLDALL_FILTER_SHUFFLE : p->b, HOLDALL_FILTER_BYTEDELTA };
    set(o, HOLDALL_OPT_CHUNK_BYTES, CODED);
    check(holdall_options_set_bytes(o, HOLDALL_OPT_FILTERS, filters, 1 + two, &err), "filters");
    check(holdall_schunk_create(in_folder(name), HOLDALL_REPLACE, format, TYPESIZE, o, &s, &err),
          "create");
    check(holdall_schunk_append(s, items, CODED, &err), "append");
    check(holdall_schunk_commit(s, &err), "commit");
    if (measured)
        begin();
    for (long i = 0; i < p->times; i++)
        check(holdall_schunk_append(s, items, CODED, &err), "append");
    check(holdall_schunk_commit(s, &err), "commit");
    if (measured)
        end(p);
    holdall_schunk_close(s);
    holdall_options_free(o);
}

static void encode(const struct path *p)
{
    double *items = walk(CODED / TYPESIZE);
    code(p, items, "coded", 1);
    free(items);
}

static holdall_schunk *open_schunk(const char *name)
{
    holdall_schunk *s;
    holdall_options *o = with_threads(threads);
    check(holdall_schunk_open(in_folder(name), HOLDALL_READ, o, &s, &err), "open");
    holdall_options_free(o);
    return s;
}

static void decode(const struct path *p)
{
    static uint8_t dst[CODED];
    size_t n;
    double *items = walk(CODED / TYPESIZE);
    code(p, items, "coded", 0);
    holdall_schunk *s = open_schunk("coded");
    check(holdall_schunk_read_chunk(s, p->times, dst, sizeof dst, &n, &err), "read_chunk");
    begin();
    for (long i = 0; i < p->times; i++)
        check(holdall_schunk_read_chunk(s, i, dst, sizeof dst, &n, &err), "read_chunk");
    end(p);
    if (n != CODED || memcmp(dst, items, n))
        die("what was decoded is not what was encoded");
    holdall_schunk_close(s);
    free(items);
}

static void unpack(const struct path *p)
{
    size_t size = ROWS * TYPESIZE;
    uint8_t *dst = room(size);
    holdall_schunk *s = open_schunk(p->file);
    begin();
    for (long i = 0; i < p->times; i++)
        check(holdall_schunk_read(s, 0, dst, size, &err), "read");
    end(p);
    holdall_schunk_close(s);
    free(dst);
}

/* ---- opening and closing */

static void open_once(const struct path *p)
{
    holdall_options *o = with_threads(threads);
    const char *path = in_folder(p->file);
    holdall_bag *bag;
    holdall_array *a;
    holdall_schunk *s;
    holdall_table *t;
    switch (p->a) {
    case 'b':
        check(holdall_bag_open(path, o, &bag, &err), "open");
        holdall_bag_close(bag);
        break;
    case 'a':
        check(holdall_array_open(path, HOLDALL_READ, o, &a, &err), "open");
        holdall_array_close(a);
        break;
    case 's':
        check(holdall_schunk_open(path, HOLDALL_READ, o, &s, &err), "open");
        holdall_schunk_close(s);
        break;
    default:
        check(holdall_table_open(path, HOLDALL_READ, o, &t, &err), "open");
        holdall_table_close(t);
    }
    holdall_options_free(o);
}

static void open_often(const struct path *p)
{
    for (long i = -1; i < p->times; i++) {
        if (i == 0)
            begin();
        open_once(p);
    }
    end(p);
}

/* ---- all of them */

#define CODE(codec, filter, times) \
    {"encode " #codec ", " #filter, encode, "", times, HOLDALL_CODEC_##codec, \
     HOLDALL_FILTER_##filter,       0}, \
        {"decode " #codec ", " #filter, decode, "", 4 * times, HOLDALL_CODEC_##codec, \
         HOLDALL_FILTER_##filter,       0}
#define FILTERS(codec, times) \
    CODE(codec, NONE, times), CODE(codec, SHUFFLE, times), CODE(codec, BITSHUFFLE, times)

static const struct path PATHS[] = {
    { "bag: holdall_bag_record_count", call, "raw.bag", 10000, 0, 0, 0 },
    { "bag: one raw record, mapped", single, "raw.bag", 1000, HOLDALL_IO_MAP, 0, 0 },
    { "bag: one raw record, read", single, "raw.bag", 1000, HOLDALL_IO_READ, 0, 0 },
    { "bag: one record of zstd, mapped", single, "zstd.bagz", 1000, HOLDALL_IO_MAP, 0, 0 },
    { "bag: 1,000 raw records at random, mapped", batch, "raw.bag", 5, HOLDALL_IO_MAP, 0, 0 },
    { "bag: 1,000 raw records at random, read", batch, "raw.bag", 5, HOLDALL_IO_READ, 0, 0 },
    { "bag: 1,000 records of zstd at random, mapped", batch, "zstd.bagz", 2, HOLDALL_IO_MAP, 0, 0 },
    { "bag: 1,000 raw records in order", batch, "raw.bag", 5, HOLDALL_IO_READ, 1, 0 },
    { "bag: 1,000 records of zstd in order", batch, "zstd.bagz", 2, HOLDALL_IO_READ, 1, 0 },
    { "bag: a raw record of a stream", stream, "raw.bag", 5000, 0, 0, 0 },
    { "bag: a record of zstd of a stream", stream, "zstd.bagz", 2000, 0, 0, 0 },
    { "bag: append a raw record", append, "out.bag", 2000, HOLDALL_CODEC_NONE, 0, 0 },
    { "bag: append a record for zstd", append, "out.bagz", 500, HOLDALL_CODEC_ZSTD, 0, 0 },
    { "bag: find a key", find, "raw.bag.index", 2000, 0, 0, 0 },
    { "array: all, LZ4", boxes, "lz4.b2nd", 1, EDGE, EDGE, EDGE },
    { "array: a cube of 32, LZ4", boxes, "lz4.b2nd", 10, 32, 32, 32 },
    { "array: a cube of 32, zstd", boxes, "zstd.b2nd", 4, 32, 32, 32 },
    { "array: a plane across the first axis, LZ4", boxes, "lz4.b2nd", 10, 1, EDGE, EDGE },
    { "array: a plane across the last axis, LZ4", boxes, "lz4.b2nd", 2, EDGE, EDGE, 1 },
    { "array: an item here and there, LZ4", boxes, "lz4.b2nd", 200, 1, 1, 1 },
    { "array: neighbouring items, LZ4", boxes, "lz4.b2nd", 2000, 0, 1, 1 },
    { "table: 10 rows of a column", rows, "table.bcolz", 100, 10, 0, 0 },
    { "table: 1,000 rows of a column", rows, "table.bcolz", 50, 1000, 0, 0 },
    { "table: 100,000 rows of a column", rows, "table.bcolz", 2, 100000, 0, 0 },
    { "superchunk: all of a file of Bloscpack, CRC-32", unpack, "walk.blp", 1, 0, 0, 0 },
    { "superchunk: all of a frame", unpack, "walk.b2frame", 1, 0, 0, 0 },
    FILTERS(LZ4, 2),
    FILTERS(BLOSCLZ, 2),
    FILTERS(LZ4HC, 1),
    FILTERS(ZLIB, 1),
    FILTERS(ZSTD, 1),
    CODE(LZ4, DELTA, 2),
    CODE(LZ4, BYTEDELTA, 2),
    { "open a bag", open_often, "raw.bag", 20, 'b', 0, 0 },
    { "open a bag of zstd", open_often, "zstd.bagz", 20, 'b', 0, 0 },
    { "open an array", open_often, "lz4.b2nd", 20, 'a', 0, 0 },
    { "open a file of Bloscpack", open_often, "walk.blp", 20, 's', 0, 0 },
    { "open a frame", open_often, "walk.b2frame", 20, 's', 0, 0 },
    { "open a table", open_often, "table.bcolz", 20, 't', 0, 0 },
};

enum { ALL = sizeof PATHS / sizeof *PATHS };

static const struct path *named(const char *name)
{
    for (int i = 0; i < ALL; i++)
        if (!strcmp(PATHS[i].name, name))
            return &PATHS[i];
    fprintf(stderr, "there is no path of the name %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    char line[16];
    if (argc < 4)
        return 2;
    folder = argv[1];
    threads = atoi(argv[2]);
    counting = !strcmp(argv[3], "count");
    if (!strcmp(argv[3], "make"))
        make();
    for (int i = 0; i < ALL; i++) {
        if (counting)
            PATHS[i].run(&PATHS[i]);
        else if (!strcmp(argv[3], "list"))
            puts(PATHS[i].name);
    }
    if (argc >= 5 && !strcmp(argv[3], "time")) {
        struct path p = *named(argv[4]);
        if (argc == 6)
            p.times = atol(argv[5]);
        for (; fgets(line, sizeof line, stdin); fflush(stdout)) {
            p.run(&p);
            printf("%.9g\n", took);
        }
    }
    return 0;
}
