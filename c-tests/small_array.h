/* A small array for the tests: item (i, j) is 100 i + j. */
#ifndef SMALL_ARRAY_H
#define SMALL_ARRAY_H

#include "check.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define SHAPE(...) ((const uint64_t[]){__VA_ARGS__})
#define STRIDES(...) ((const int64_t[]){__VA_ARGS__})

enum { ROWS = 300, COLUMNS = 40 };

static inline void fill(int32_t *items, uint64_t first, uint64_t rows)
{
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < COLUMNS; j++)
            items[i * COLUMNS + j] = (int32_t)(100 * (first + i) + j);
}

static inline holdall_status try_create(const char *path, holdall_mode mode, const char *dtype,
                                        uint32_t ndim, const uint64_t *shape, const int64_t *pairs,
                                        holdall_array **array)
{
    holdall_options *options = options_of(pairs);
    holdall_status status = array_create(path, mode, HOLDALL_FORMAT_BLOSCPACK, dtype, ndim, shape,
                                         NULL, NULL, options, array, &err);
    holdall_options_free(options);
    return status;
}

static inline void create_matrix(const char *path, holdall_mode mode)
{
    static int32_t items[ROWS * COLUMNS];
    holdall_array *a;
    /* 12 rows and some items per chunk */
    OK(try_create(path, mode, "<i4", 2, SHAPE(ROWS, COLUMNS),
                  WITH(HOLDALL_OPT_CHUNK_BYTES, 2000, HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD), &a));
    fill(items, 0, ROWS);
    OK(holdall_array_write(a, SHAPE(0, 0), SHAPE(ROWS, COLUMNS), NULL, items, sizeof items, NULL,
                           &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
}

static inline holdall_array *open_array(const char *path, holdall_mode mode)
{
    holdall_array *a;
    OK(holdall_array_open(path, mode, NULL, &a, &err));
    return a;
}

static inline void check_shape(const holdall_array *a, uint64_t rows, uint64_t columns)
{
    EQUAL(holdall_array_ndim(a), 2);
    EQUAL(holdall_array_shape(a)[0], rows);
    EQUAL(holdall_array_shape(a)[1], columns);
    EQUAL(holdall_array_nbytes(a), rows * columns * 4);
}

/* Is item (i, j) equal to 100 i + j, for all rows from `first` on? */
static inline void check_rows(const holdall_array *a, uint64_t first, uint64_t rows)
{
    int32_t *got = malloc(rows * COLUMNS * 4), *want = malloc(rows * COLUMNS * 4);
    fill(want, first, rows);
    OK(holdall_array_read(a, SHAPE(first, 0), SHAPE(rows, COLUMNS), NULL, got, rows * COLUMNS * 4,
                          NULL, &err));
    CHECK(memcmp(got, want, rows * COLUMNS * 4) == 0);
    free(got);
    free(want);
}

#endif
