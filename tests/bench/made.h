/* Writes the files that paths.c reads, the same every time: bags with an index, arrays,
 * superchunks, a table. */
#include "common.h"

enum { RECORDS = 20000, EDGE = 128, ROWS = 1 << 19, TYPESIZE = 8 };

static const char *folder;
static int threads;

static const char *in_folder(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static uint64_t elsewhere(uint64_t positions)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % positions;
}

static holdall_options *options(int codec, int checksum)
{
    holdall_options *o = with_threads(threads);
    set(o, HOLDALL_OPT_CODEC, codec);
    if (codec != HOLDALL_CODEC_NONE)
        set(o, HOLDALL_OPT_LEVEL, 5);
    set(o, HOLDALL_OPT_CHECKSUM, checksum);
    set(o, HOLDALL_OPT_DURABILITY, 0);
    return o;
}

/* A random walk with two decimals, on which filters have a large effect and codecs a moderate
 * one. */
static double *walk(size_t n)
{
    double *x = room(n * sizeof *x), at = 100;
    for (size_t i = 0; i < n; i++) {
        at += ((double)elsewhere(2001) - 1000) / 1000;
        x[i] = (double)(long)(at * 100) / 100;
    }
    return x;
}

static void make_bag(const char *name, int codec)
{
    enum { VOCABULARY = 512, MOST = 400 };
    static char vocabulary[VOCABULARY][8], record[MOST];
    holdall_bag_writer *w;
    holdall_options *o = options(codec, HOLDALL_CHECKSUM_NONE);
    for (int i = 0; i < VOCABULARY; i++)
        for (int k = 0; k < 7; k++)
            vocabulary[i][k] = k == 6 ? ' ' : 'a' + elsewhere(26);
    check(holdall_bag_writer_open(in_folder(name), HOLDALL_CREATE, o, &w, &err), "open");
    for (int i = 0; i < RECORDS; i++) {
        size_t n = 0, most = 120 + elsewhere(160);
        while (n < most)
            n += snprintf(record + n, sizeof record - n, "%s",
                          vocabulary[elsewhere(VOCABULARY / (1 + elsewhere(8)))]);
        check(holdall_bag_writer_append(w, record, n, &err), "append");
    }
    check(holdall_bag_writer_commit(w, &err), "commit");
    holdall_bag_writer_close(w);
    holdall_options_free(o);
}

static void make_array(const char *name, int codec)
{
    const uint64_t shape[3] = {EDGE, EDGE, EDGE}, chunks[3] = {32, 64, 64}, blocks[3] = {4, 64, 64},
                   start[3] = {0};
    int32_t *items = room(EDGE * EDGE * EDGE * sizeof *items);
    holdall_array *a;
    holdall_options *o = options(codec, HOLDALL_CHECKSUM_NONE);
    for (int i = 0; i < EDGE * EDGE * EDGE; i++)
        items[i] = 1000 * (i / EDGE / EDGE) + 30 * (i / EDGE % EDGE) + 7 * (i % EDGE) +
                   (int)elsewhere(8);
    check(array_create(in_folder(name), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i4", 3, shape,
                       chunks, blocks, o, &a, &err),
          "create");
    check(holdall_array_write(a, start, shape, NULL, items, EDGE * EDGE * EDGE * sizeof *items,
                              NULL, &err),
          "write");
    check(holdall_array_commit(a, &err), "commit");
    holdall_array_close(a);
    holdall_options_free(o);
    free(items);
}

static void make_schunk(const char *name, int format, const double *items)
{
    holdall_schunk *s;
    holdall_options *o = options(HOLDALL_CODEC_LZ4, HOLDALL_CHECKSUM_CRC32);
    set(o, HOLDALL_OPT_CHUNK_BYTES, 1 << 18);
    check(holdall_schunk_create(in_folder(name), HOLDALL_CREATE, format, TYPESIZE, o, &s, &err),
          "create");
    check(holdall_schunk_append(s, items, ROWS * sizeof *items, &err), "append");
    check(holdall_schunk_commit(s, &err), "commit");
    holdall_schunk_close(s);
    holdall_options_free(o);
}

static void make_table(const char *name, const double *items)
{
    const char *const names[2] = { "left", "right" }, *const dtypes[2] = { "<f8", "<f8" };
    const void *const columns[2] = { items, items + ROWS / 2 };
    const size_t sizes[2] = { ROWS / 2 * sizeof *items, ROWS / 2 * sizeof *items };
    holdall_table *t;
    holdall_options *o = options(HOLDALL_CODEC_LZ4, HOLDALL_CHECKSUM_CRC32);
    set(o, HOLDALL_OPT_EXPECTED_ROWS, ROWS / 2);
    check(table_create(in_folder(name), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, 2, names, dtypes, o,
                       &t, &err),
          "create");
    check(holdall_table_append(t, ROWS / 2, columns, sizes, &err), "append");
    check(holdall_table_commit(t, &err), "commit");
    holdall_table_close(t);
    holdall_options_free(o);
}

static void make_index(const char *bag, const char *name)
{
    char file[4096];
    holdall_bag_index *index;
    holdall_bag *b = open_bag(in_folder(bag), HOLDALL_IO_MAP, threads, 0);
    snprintf(file, sizeof file, "%s", in_folder(name));
    check(holdall_bag_index_create(file, HOLDALL_CREATE, b, NULL, &index, &err), "index");
    holdall_bag_index_close(index);
    holdall_bag_close(b);
}

static void make(void)
{
    double *items = walk(ROWS);
    make_bag("raw.bag", HOLDALL_CODEC_NONE);
    make_bag("zstd.bagz", HOLDALL_CODEC_ZSTD);
    make_index("raw.bag", "raw.bag.index");
    make_array("lz4.b2nd", HOLDALL_CODEC_LZ4);
    make_array("zstd.b2nd", HOLDALL_CODEC_ZSTD);
    make_schunk("walk.blp", HOLDALL_FORMAT_BLOSCPACK, items);
    make_schunk("walk.b2frame", HOLDALL_FORMAT_B2FRAME, items);
    make_table("table.bcolz", items);
    free(items);
}
