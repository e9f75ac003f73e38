/* measure.c: measures codecs, filters, levels and chunk shapes for docs/choosing.md.
 *
 *     measure codecs NUMBERS.raw FOLDER    the float64 of a file, and a synthetic field of int32,
 *                                          each in one chunk per copy, with each codec, level
 *                                          and filter
 *     measure chunks FOLDER                boxes of that field, in chunks of several shapes
 *
 * Writes files to FOLDER, which should be in memory. One thread, no syncs, medians; prints CSV to
 * standard output. */
#define _POSIX_C_SOURCE 200809L
#include <holdall.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static holdall_error err;

static void check(holdall_status status)
{
    if (status < 0) {
        fprintf(stderr, "measure: %s\n", err.message);
        exit(1);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of, size_t n)
{
    qsort(of, n, sizeof *of, by_size);
    return of[n / 2];
}

static holdall_options *options(int32_t codec, int level, uint8_t filter)
{
    holdall_options *o = holdall_options_new();
    check(holdall_options_set(o, HOLDALL_OPT_THREADS, 1, &err));
    check(holdall_options_set(o, HOLDALL_OPT_DURABILITY, 0, &err));
    check(holdall_options_set(o, HOLDALL_OPT_CODEC, codec, &err));
    check(holdall_options_set(o, HOLDALL_OPT_LEVEL, level, &err));
    check(holdall_options_set_bytes(o, HOLDALL_OPT_FILTERS, &filter, filter != HOLDALL_FILTER_NONE,
                                    &err));
    return o;
}

static holdall_options *reading(void)
{
    holdall_options *o = holdall_options_new();
    check(holdall_options_set(o, HOLDALL_OPT_THREADS, 1, &err));
    return o;
}

/* Number of copies per file, so that the time to open and commit a file is negligible. */
enum { COPIES = 8 };

/* Prints one line: the ratio, and megabytes of content per second. */
static void codec(const char *path, size_t item, const char *codec_name, int32_t codec, int level,
                  const char *filter_name, uint8_t filter, const void *data, void *back, size_t n)
{
    enum { MOST = 9 };
    double writes[MOST], reads[MOST], begun = now();
    uint64_t cbytes = 0;
    size_t times = 0;
    holdall_options *how = options(codec, level, filter), *plain = reading();
    check(holdall_options_set(how, HOLDALL_OPT_CHUNK_BYTES, (int64_t)n, &err));
    while (times < MOST && (times < 3 || now() - begun < 0.5)) {
        holdall_schunk *s;
        double start = now();
        check(holdall_schunk_create(path, HOLDALL_REPLACE, HOLDALL_FORMAT_B2FRAME, item, how, &s,
                                    &err));
        for (int i = 0; i < COPIES; i++) check(holdall_schunk_append(s, data, n, &err));
        check(holdall_schunk_commit(s, &err));
        writes[times] = now() - start;
        holdall_schunk_close(s);
        start = now();
        check(holdall_schunk_open(path, HOLDALL_READ, plain, &s, &err));
        check(holdall_schunk_read(s, 0, back, COPIES * n, &err));
        reads[times++] = now() - start;
        cbytes = holdall_schunk_stored_bytes(s);
        holdall_schunk_close(s);
        if (memcmp(data, (char *)back + (COPIES - 1) * n, n) != 0) exit(3);
    }
    double content = (double)(COPIES * n);
    printf("%s,%d,%s,%.3f,%.0f,%.0f\n", codec_name, level, filter_name, content / (double)cbytes,
           content / 1e6 / median(writes, times), content / 1e6 / median(reads, times));
    fflush(stdout);
    holdall_options_free(how);
    holdall_options_free(plain);
}

enum { SIDE = 320 };

/* Returns a smooth field with some noise in its last bits. */
static int32_t *field(void)
{
    int32_t *items = malloc(sizeof *items * SIDE * SIDE * SIDE), *to = items;
    uint32_t noise = 1;
    if (!items) exit(2);
    for (int x = 0; x < SIDE; x++)
        for (int y = 0; y < SIDE; y++)
            for (int z = 0; z < SIDE; z++) {
                noise = noise * 1664525 + 1013904223;
                *to++ = (int32_t)(20000 * sin(x * 0.02) * cos(y * 0.03) + 9000 * sin(z * 0.05)) +
                        (int32_t)(noise >> 28);
            }
    return items;
}

static void every_codec(const char *of, size_t item, const void *data, size_t n, const char *path)
{
    static const struct { const char *name; int32_t codec;
    } kinds[] = {{"blosclz", HOLDALL_CODEC_BLOSCLZ},
                 {"lz4", HOLDALL_CODEC_LZ4},
                 {"lz4hc", HOLDALL_CODEC_LZ4HC},
                 {"zlib", HOLDALL_CODEC_ZLIB},
                 {"zstd", HOLDALL_CODEC_ZSTD}};
    static const struct { const char *name; uint8_t filter;
    } filters[] = {{"none", HOLDALL_FILTER_NONE},
                   {"shuffle", HOLDALL_FILTER_SHUFFLE},
                   {"bitshuffle", HOLDALL_FILTER_BITSHUFFLE}};
    void *back = malloc(COPIES * n);
    if (!back) exit(2);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int level = 1; level <= 9; level += 4)
            for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
                printf("%s,", of);
                codec(path, item, kinds[k].name, kinds[k].codec, level, filters[i].name,
                      filters[i].filter, data, back, n);
            }
    free(back);
    remove(path);
}

static void codecs(const char *file, const char *folder)
{
    char path[4096];
    FILE *f = fopen(file, "rb");
    if (!f || fseek(f, 0, SEEK_END)) exit(2);
    size_t n = (size_t)ftell(f);
    void *numbers = malloc(n);
    rewind(f);
    if (!numbers || fread(numbers, 1, n, f) != n) exit(2);
    fclose(f);
    snprintf(path, sizeof path, "%s/codecs.b2frame", folder);
    printf("data,codec,level,filter,ratio,write,read\n");
    every_codec("weather", 8, numbers, n, path);
    every_codec("field", 4, field(), n, path);
    free(numbers);
}

/* Returns the microseconds for a box of this size at random positions, without the first one. */
static double boxes(const holdall_array *a, const uint64_t *count, int times)
{
    double took[64];
    size_t bytes = 4 * (size_t)(count[0] * count[1] * count[2]);
    void *dst = malloc(bytes);
    uint32_t position = 7;
    for (int i = -1; i < times; i++) {
        uint64_t start[3];
        for (int d = 0; d < 3; d++) {
            position = position * 1664525 + 1013904223;
            start[d] = (position >> 8) % (SIDE - count[d] + 1);
        }
        double begun = now();
        check(holdall_array_read(a, start, count, NULL, dst, NULL, bytes, &err));
        if (i >= 0) took[i] = now() - begun;
    }
    free(dst);
    return 1e6 * median(took, (size_t)times);
}

static void chunks(const char *folder)
{
    static const struct { const char *name; uint64_t chunk[3], block[3]; } shapes[] = {
        {"as chosen", {0}, {0}},
        {"planes 4x320x320", {4, SIDE, SIDE}, {1, 80, SIDE}},
        {"columns 320x320x4", {SIDE, SIDE, 4}, {SIDE, 20, 4}},
        {"cubes 80, blocks 80x80x4", {80, 80, 80}, {80, 80, 4}},
        {"cubes 80, blocks 16", {80, 80, 80}, {16, 16, 16}},
        {"cubes 16", {16, 16, 16}, {16, 16, 16}},
        {"one chunk, blocks 32", {SIDE, SIDE, SIDE}, {32, 32, 32}}};
    static const struct { const char *name; uint64_t count[3]; int times;
    } reads[] = {{"plane x", {1, SIDE, SIDE}, 15}, {"plane y", {SIDE, 1, SIDE}, 15},
                 {"plane z", {SIDE, SIDE, 1}, 15}, {"cube of 32", {32, 32, 32}, 41},
                 {"item", {1, 1, 1}, 41},          {"all", {SIDE, SIDE, SIDE}, 3}};
    const uint64_t shape[3] = {SIDE, SIDE, SIDE}, start[3] = {0};
    char path[4096];
    int32_t *items = field();
    size_t bytes = 4 * (size_t)SIDE * SIDE * SIDE;
    holdall_options *how = options(HOLDALL_CODEC_LZ4, 5, HOLDALL_FILTER_SHUFFLE),
                    *plain = reading();
    snprintf(path, sizeof path, "%s/chunks.b2nd", folder);
    printf("chunks,read,ratio,microseconds\n");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        holdall_array *a;
        int chosen = shapes[i].chunk[0] == 0;
        check(holdall_array_create(path, HOLDALL_REPLACE, HOLDALL_FORMAT_B2ND, "<i4", 3, shape,
                                   chosen ? NULL : shapes[i].chunk, chosen ? NULL : shapes[i].block,
                                   how, &a, &err));
        check(holdall_array_write(a, start, shape, NULL, items, NULL, bytes, &err));
        check(holdall_array_commit(a, &err));
        holdall_array_close(a);
        for (size_t r = 0; r < sizeof reads / sizeof *reads; r++) {
            check(holdall_array_open(path, HOLDALL_READ, plain, &a, &err));
            double ratio = (double)bytes / (double)holdall_array_stored_bytes(a);
            const uint64_t *c = holdall_array_chunk_shape(a), *b = holdall_array_block_shape(a);
            if (chosen && r == 0)
                fprintf(stderr,
                        "as chosen: chunks of %" PRIu64 "x%" PRIu64 "x%" PRIu64
                        ", blocks of %" PRIu64 "x%" PRIu64 "x%" PRIu64 "\n",
                        c[0], c[1], c[2], b[0], b[1], b[2]);
            printf("\"%s\",%s,%.2f,%.1f\n", shapes[i].name, reads[r].name, ratio,
                   boxes(a, reads[r].count, reads[r].times));
            fflush(stdout);
            holdall_array_close(a);
        }
    }
    remove(path);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "codecs") == 0) codecs(argv[2], argv[3]);
    else if (argc == 3 && strcmp(argv[1], "chunks") == 0) chunks(argv[2]);
    else return 2;
    return 0;
}
