/* Eight threads read one const handle of an array at the same time: random boxes with steps and
 * strides, points, and combinations of positions, each compared with a model. All formats, with
 * files read and mapped. Meanwhile one more thread calls all other functions that take a const
 * handle. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 8, X = 23, Y = 31, Z = 17, ITEMS = X * Y * Z };

static const uint64_t shape[] = {X, Y, Z}, chunk[] = {10, 8, 9}, block[] = {4, 8, 3},
                      origin[] = {0, 0, 0};

static int32_t item(uint64_t i, uint64_t j, uint64_t k)
{
    return (int32_t)(10000 * i + 100 * j + k);
}

static const struct {
    const char *name;
    holdall_format format;
    /* in a frame; otherwise complete rows in a chunk */
    bool tiled;
    int64_t pairs[8];
} forms[] = {
    {"file.b2nd", HOLDALL_FORMAT_B2ND, true, {0}},
    {"folder.b2nd",
     HOLDALL_FORMAT_B2ND,
     true,
     {HOLDALL_OPT_SPARSE, 1, HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD}},
    {"file.cat", HOLDALL_FORMAT_CATERVA, true, {HOLDALL_OPT_CODEC, HOLDALL_CODEC_BLOSCLZ}},
    {"rows.blp", HOLDALL_FORMAT_BLOSCPACK, false, {HOLDALL_OPT_CHUNK_BYTES, 8000}},
    {"rows.bcolz",
     HOLDALL_FORMAT_BCOLZ,
     false,
     {HOLDALL_OPT_CHUNK_BYTES, 8000, HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZLIB}},
    {"rows.blz_rfc",
     HOLDALL_FORMAT_BLZ_RFC,
     false,
     {HOLDALL_OPT_CHUNK_BYTES, 8000, HOLDALL_OPT_SUPERCHUNK_CHUNKS, 3}},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static void make(const char *path, int form)
{
    int32_t *items = malloc(ITEMS * 4), *p = items;
    CHECK(items != NULL);
    for (uint64_t i = 0; i < ITEMS; i++)
        *p++ = item(i / Z / Y, i / Z % Y, i % Z);
    holdall_options *options = options_of(forms[form].pairs);
    const uint64_t *chunks = forms[form].tiled ? chunk : NULL,
                   *blocks = forms[form].tiled ? block : NULL;
    holdall_array *a;
    OK(array_create(path, HOLDALL_CREATE, forms[form].format, "<i4", 3, shape, chunks, blocks,
                    options, &a, &err));
    holdall_options_free(options);
    OK(holdall_array_write(a, origin, shape, NULL, items, ITEMS * 4, NULL, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    free(items);
}

typedef struct {
    const holdall_array *a;
    uint64_t random;
    int rounds;
} reader;

/* A random number below n. */
static uint64_t below(reader *r, uint64_t n)
{
    r->random ^= r->random << 13, r->random ^= r->random >> 7, r->random ^= r->random << 17;
    return (r->random >> 11) % n;
}

/* A box with steps, into a buffer with strides: packed, or backwards along some dimensions, with
 * gaps. */
static void read_box(reader *r, int32_t *dst)
{
    uint64_t start[3], count[3], step[3];
    int64_t strides[3], apart = below(r, 3) == 0 ? 2 : 1, bytes = 4;
    bool packed = below(r, 2) == 0;
    for (int d = 2; d >= 0; d--) {
        start[d] = below(r, shape[d]);
        step[d] = below(r, 2) ? 1 : 1 + below(r, 6);
        count[d] = 1 + below(r, (shape[d] - start[d] - 1) / step[d] + 1);
        strides[d] = bytes * (packed || d > 0 ? 1 : apart) * (!packed && below(r, 2) ? -1 : 1);
        bytes = (strides[d] < 0 ? -strides[d] : strides[d]) * (int64_t)count[d];
    }
    OK(holdall_array_read(r->a, start, count, step, dst, 2 * ITEMS * 4, packed ? NULL : strides,
                          &err));
    int64_t from = 0;
    for (int d = 0; d < 3; d++)
        from += strides[d] < 0 ? -strides[d] * (int64_t)(count[d] - 1) : 0;
    for (uint64_t i = 0; i < count[0]; i++)
        for (uint64_t j = 0; j < count[1]; j++)
            for (uint64_t k = 0; k < count[2]; k++) {
                int64_t offset = from + (int64_t)i * strides[0] + (int64_t)j * strides[1] +
                                (int64_t)k * strides[2];
                EQUAL(dst[offset / 4],
                      item(start[0] + i * step[0], start[1] + j * step[1], start[2] + k * step[2]));
            }
}

static void read_points(reader *r, int32_t *dst)
{
    uint64_t points[50][3] = { { 0 } }, n = 1 + below(r, 50);
    for (uint64_t p = 0; p < n; p++)
        for (int d = 0; d < 3; d++)
            points[p][d] = below(r, shape[d]);
    OK(holdall_array_read_points(r->a, points[0], (size_t)n, dst, ITEMS * 4, &err));
    for (uint64_t p = 0; p < n; p++)
        EQUAL(dst[p], item(points[p][0], points[p][1], points[p][2]));
}

static void read_orthogonal(reader *r, int32_t *dst)
{
    uint64_t lists[3][8], counts[3];
    for (int d = 0; d < 3; d++) {
        counts[d] = 1 + below(r, 8);
        for (uint64_t i = 0; i < counts[d]; i++)
            lists[d][i] = below(r, shape[d]);
    }
    const uint64_t *positions[3] = {lists[0], lists[1], lists[2]};
    OK(holdall_array_read_orthogonal(r->a, positions, counts, dst, ITEMS * 4, &err));
    for (uint64_t i = 0; i < counts[0]; i++)
        for (uint64_t j = 0; j < counts[1]; j++)
            for (uint64_t k = 0; k < counts[2]; k++)
                EQUAL(*dst++, item(lists[0][i], lists[1][j], lists[2][k]));
}

static void *read_on(void *arg)
{
    reader *r = arg;
    int32_t *dst = malloc(2 * ITEMS * 4);
    CHECK(dst != NULL);
    for (int round = 0; round < r->rounds; round++) {
        switch (below(r, 4)) {
        case 0: read_points(r, dst); break;
        case 1: read_orthogonal(r, dst); break;
        default: read_box(r, dst);
        }
    }
    free(dst);
    return NULL;
}

/* Calls all other functions that many threads may call. */
static void *ask(void *arg)
{
    reader *r = arg;
    for (int round = 0; round < r->rounds; round++) {
        EQUAL(holdall_array_ndim(r->a), 3);
        CHECK(memcmp(holdall_array_shape(r->a), shape, sizeof shape) == 0);
        CHECK(array_info(r->a).chunk_shape[0] > 0 && array_info(r->a).block_shape[2] > 0);
        CHECK(holdall_array_dtype(r->a) != NULL && array_info(r->a).stored_bytes > 0);
        EQUAL(holdall_array_nbytes(r->a), ITEMS * 4);
        for (uint32_t i = 0; i < holdall_array_attr_count(r->a); i++)
            CHECK(holdall_array_attr_name(r->a, i) != NULL);
        const void *fill;
        size_t size;
        int32_t got;
        if (holdall_array_fill_value_get(r->a, &fill, &size, &err) != HOLDALL_OK || fill != NULL)
            CHECK(size == 4 && memcmp(fill, "\0\0\0\0", 4) == 0);
        GIVES(HOLDALL_E_RANGE, holdall_array_read_points(r->a, shape, 1, &got, 4, &err));
        EQUAL(err.position, 0);
    }
    return NULL;
}

/* Number of reads per thread: for the first form 8 times 2,500 under the thread sanitizer, which
 * reports races even if the results are right. */
static int rounds(int form, int64_t io)
{
    if (races_are_seen())
        return form == 0 && io == HOLDALL_IO_READ ? 2500 : 150;
    return slow() ? 20 : 300;
}

static void many_threads_read_one_array(const char *path, int64_t io, int rounds)
{
    holdall_options *options = options_of(WITH(HOLDALL_OPT_IO, io));
    holdall_array *a;
    OK(holdall_array_open(path, HOLDALL_READ, options, &a, &err));
    holdall_options_free(options);
    pthread_t threads[THREADS + 1];
    reader readers[THREADS + 1];
    for (int t = 0; t <= THREADS; t++) {
        readers[t] = (reader){a, ((uint64_t)t + 1) * UINT64_C(0x9E3779B97F4A7C15), rounds};
        CHECK(pthread_create(&threads[t], NULL, t < THREADS ? read_on : ask, &readers[t]) == 0);
    }
    for (int t = 0; t <= THREADS; t++)
        CHECK(pthread_join(threads[t], NULL) == 0);
    holdall_array_close(a);
}

int main(void)
{
    /* use threads of the library even on a machine with one processor */
    setenv("HOLDALL_THREADS", "4", 1);
    for (int form = 0; form < FORMS; form++) {
        const char *path = in_tmp(forms[form].name);
        make(path, form);
        for (int64_t io = HOLDALL_IO_READ; io <= HOLDALL_IO_MAP; io++) {
            now("%s, io %d", forms[form].name, (int)io);
            many_threads_read_one_array(path, io, rounds(form, io));
        }
    }
    TIDY();
    return 0;
}
