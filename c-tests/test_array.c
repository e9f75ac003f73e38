/* Arrays in Bloscpack files: made, filled, read by boxes, steps, strides, points and positions, grown and cut; what is
 * refused; and what of them others see. */
#include "check.h"
#include "folder.h"

#include <pthread.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define SHAPE(...) ((const uint64_t[]){__VA_ARGS__})
#define STRIDES(...) ((const int64_t[]){__VA_ARGS__})

/* ---- a small array: item (i, j) is 100 i + j ------------------------------------------------------*/

enum { ROWS = 300, COLUMNS = 40 };

static void fill(int32_t *items, uint64_t first, uint64_t rows)
{
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < COLUMNS; j++)
            items[i * COLUMNS + j] = (int32_t)(100 * (first + i) + j);
}

static holdall_status try_create(const char *path, holdall_mode mode, const char *dtype, uint32_t ndim, const uint64_t *shape,
                                 const int64_t *pairs, holdall_array **array)
{
    holdall_options *options = options_of(pairs);
    holdall_status status =
        holdall_array_create(path, mode, HOLDALL_FORMAT_BLOSCPACK, dtype, ndim, shape, NULL, NULL, options, array, &err);
    holdall_options_free(options);
    return status;
}

static void create_matrix(const char *path, holdall_mode mode)
{
    static int32_t items[ROWS * COLUMNS];
    holdall_array *a;
    /* 12 rows and some items a chunk */
    OK(try_create(path, mode, "<i4", 2, SHAPE(ROWS, COLUMNS), WITH(HOLDALL_OPT_CHUNK_BYTES, 2000, HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD), &a));
    fill(items, 0, ROWS);
    OK(holdall_array_write(a, SHAPE(0, 0), SHAPE(ROWS, COLUMNS), NULL, items, NULL, sizeof items, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
}

static holdall_array *open_array(const char *path, holdall_mode mode)
{
    holdall_array *a;
    OK(holdall_array_open(path, mode, NULL, &a, &err));
    return a;
}

static void check_shape(const holdall_array *a, uint64_t rows, uint64_t columns)
{
    EQUAL(holdall_array_ndim(a), 2);
    EQUAL(holdall_array_shape(a)[0], rows);
    EQUAL(holdall_array_shape(a)[1], columns);
    EQUAL(holdall_array_nbytes(a), rows * columns * 4);
}

/* Is item (i, j) 100 i + j, for all rows from the first on? */
static void check_rows(const holdall_array *a, uint64_t first, uint64_t rows)
{
    int32_t *got = malloc(rows * COLUMNS * 4), *want = malloc(rows * COLUMNS * 4);
    fill(want, first, rows);
    OK(holdall_array_read(a, SHAPE(first, 0), SHAPE(rows, COLUMNS), NULL, got, NULL, rows * COLUMNS * 4, &err));
    CHECK(memcmp(got, want, rows * COLUMNS * 4) == 0);
    free(got);
    free(want);
}

/* ---- tests --------------------------------------------------------------------------------------*/

static void an_array_tells_what_it_is(void)
{
    create_matrix(in_tmp("a.blp"), HOLDALL_NEW);
    holdall_array *a = open_array(in_tmp("a.blp"), HOLDALL_READ);
    check_shape(a, ROWS, COLUMNS);
    EQUAL(holdall_array_chunkshape(a)[0], 12);
    EQUAL(holdall_array_chunkshape(a)[1], COLUMNS);
    CHECK(holdall_array_blockshape(a)[0] >= 1 && holdall_array_blockshape(a)[0] <= 12);
    CHECK(holdall_array_blockshape(a) == holdall_array_blockshape(a));
    EQUAL(holdall_array_itemsize(a), 4);
    EQUAL(holdall_array_order(a), HOLDALL_ORDER_C);
    EQUAL(holdall_array_cbytes(a), file_size(in_tmp("a.blp")));
    CHECK(strcmp(holdall_array_dtype(a), "<i4") == 0);
    check_rows(a, 0, ROWS);
    holdall_array_close(a);
    holdall_format format;
    holdall_kind kind;
    OK(holdall_identify(in_tmp("a.blp"), &format, &kind, &err));
    EQUAL(format, HOLDALL_FORMAT_BLOSCPACK);
    TIDY();
}

static void boxes_are_read(void)
{
    holdall_array *a = open_array(in_tmp("a.blp"), HOLDALL_READ);
    int32_t got[24];
    OK(holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), NULL, got, NULL, 24, &err));
    static const int32_t box[] = {507, 508, 509, 607, 608, 609};
    CHECK(memcmp(got, box, sizeof box) == 0);
    OK(holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), SHAPE(200, 10), got, NULL, 24, &err));
    static const int32_t steps[] = {507, 517, 527, 20507, 20517, 20527};
    CHECK(memcmp(got, steps, sizeof steps) == 0);
    /* turned round, and backwards: what is between stays */
    memset(got, 0xFF, sizeof got);
    OK(holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), NULL, got, STRIDES(-4, 12), 32, &err));
    static const int32_t turned[] = {607, 507, -1, 608, 508, -1, 609, 509, -1};
    CHECK(memcmp(got, turned, sizeof turned) == 0);
    /* nothing at all, anywhere up to the end */
    OK(holdall_array_read(a, SHAPE(ROWS, 0), SHAPE(0, COLUMNS), NULL, NULL, NULL, 0, &err));
    GIVES(HOLDALL_E_BUFFER, holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), NULL, got, NULL, 23, &err));
    GIVES(HOLDALL_E_BUFFER, holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), NULL, got, STRIDES(-4, 12), 31, &err));
    GIVES(HOLDALL_E_BUFFER, holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), NULL, got, STRIDES(INT64_MIN, INT64_MAX), sizeof got, &err));
    GIVES(HOLDALL_E_RANGE, holdall_array_read(a, SHAPE(5, 7), SHAPE(ROWS - 4, 3), NULL, got, NULL, sizeof got, &err));
    GIVES(HOLDALL_E_RANGE, holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), SHAPE(UINT64_MAX, 1), got, NULL, sizeof got, &err));
    GIVES(HOLDALL_E_RANGE, holdall_array_read(a, SHAPE(5, UINT64_MAX), SHAPE(2, 3), NULL, got, NULL, sizeof got, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), SHAPE(1, 0), got, NULL, sizeof got, &err));
    holdall_array_close(a);
}

static void single_items_and_positions_are_read(void)
{
    holdall_array *a = open_array(in_tmp("a.blp"), HOLDALL_READ);
    int32_t got[12];
    OK(holdall_array_read_points(a, SHAPE(299, 39, 0, 0, 150, 20, 0, 0), 4, got, 16, &err));
    static const int32_t points[] = {29939, 0, 15020, 0};
    CHECK(memcmp(got, points, sizeof points) == 0);
    OK(holdall_array_read_points(a, NULL, 0, NULL, 0, &err));
    GIVES(HOLDALL_E_RANGE, holdall_array_read_points(a, SHAPE(0, 0, 0, 40), 2, got, sizeof got, &err));
    EQUAL(err.position, 1);
    GIVES(HOLDALL_E_BUFFER, holdall_array_read_points(a, SHAPE(0, 0, 0, 1), 2, got, 7, &err));

    const uint64_t rows[] = {200, 3, 200}, columns[] = {5, 4};
    const uint64_t *lists[] = {rows, columns};
    OK(holdall_array_read_orthogonal(a, lists, SHAPE(3, 2), got, 24, &err));
    static const int32_t product[] = {20005, 20004, 305, 304, 20005, 20004};
    CHECK(memcmp(got, product, sizeof product) == 0);
    int32_t row[COLUMNS];
    lists[1] = NULL;
    OK(holdall_array_read_orthogonal(a, lists, SHAPE(1, 0), row, sizeof row, &err));
    for (int j = 0; j < COLUMNS; j++)
        EQUAL(row[j], 20000 + j);
    lists[1] = SHAPE(COLUMNS);
    GIVES(HOLDALL_E_RANGE, holdall_array_read_orthogonal(a, lists, SHAPE(1, 1), got, sizeof got, &err));
    holdall_array_close(a);
}

static void changes_count_from_the_commit_on(void)
{
    static int32_t more[50 * COLUMNS];
    create_matrix(in_tmp("b.blp"), HOLDALL_NEW);
    holdall_array *a = open_array(in_tmp("b.blp"), HOLDALL_APPEND), *reader;
    GIVES(HOLDALL_E_BUSY, holdall_array_open(in_tmp("b.blp"), HOLDALL_APPEND, NULL, &reader, &err));
    fill(more, ROWS, 50);
    OK(holdall_array_append(a, 0, 50, more, sizeof more, &err));
    check_shape(a, ROWS + 50, COLUMNS);
    check_rows(a, 0, ROWS + 50);
    reader = open_array(in_tmp("b.blp"), HOLDALL_READ);
    check_shape(reader, ROWS, COLUMNS);
    check_rows(reader, 0, ROWS);
    holdall_array_close(reader);
    OK(holdall_array_commit(a, &err));
    reader = open_array(in_tmp("b.blp"), HOLDALL_READ);
    check_rows(reader, 0, ROWS + 50);
    holdall_array_close(reader);

    /* what is not committed is gone */
    OK(holdall_array_resize(a, SHAPE(7, COLUMNS), &err));
    check_shape(a, 7, COLUMNS);
    OK(holdall_array_write(a, SHAPE(0, 0), SHAPE(7, 1), NULL, SHAPE(0), STRIDES(0, 0), 4, &err));
    holdall_array_close(a);
    reader = open_array(in_tmp("b.blp"), HOLDALL_READ);
    check_rows(reader, 0, ROWS + 50);
    GIVES(HOLDALL_E_STATE, holdall_array_append(reader, 0, 50, more, sizeof more, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_commit(reader, &err));
    holdall_array_close(reader);
    TIDY();
}

static void an_array_grows_and_is_cut_along_its_first_dimension(void)
{
    create_matrix(in_tmp("c.blp"), HOLDALL_NEW);
    holdall_array *a = open_array(in_tmp("c.blp"), HOLDALL_APPEND);
    int32_t item = 0, row[COLUMNS];
    OK(holdall_array_remove(a, 0, 200, 100, &err));
    OK(holdall_array_resize(a, SHAPE(ROWS, COLUMNS), &err));
    check_rows(a, 0, 200);
    OK(holdall_array_read(a, SHAPE(200, 39), SHAPE(1, 1), NULL, &item, NULL, 4, &err));
    EQUAL(item, 0);
    GIVES(HOLDALL_E_RANGE, holdall_array_remove(a, 1, 39, 2, &err));
    GIVES(HOLDALL_E_RANGE, holdall_array_remove(a, 0, ROWS, 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_resize(a, SHAPE(UINT64_MAX, COLUMNS), &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_append(a, 1, 1, row, sizeof row, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_append(a, 2, 1, row, sizeof row, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_append(a, 0, 2, row, sizeof row, &err));
    check_shape(a, ROWS, COLUMNS);
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    a = open_array(in_tmp("c.blp"), HOLDALL_READ);
    check_rows(a, 0, 200);
    holdall_array_close(a);
}

static void columns_are_put_in_and_taken_away(void)
{
    static int32_t column[ROWS];
    int32_t item;
    for (int i = 0; i < ROWS; i++)
        column[i] = -i;
    create_matrix(in_tmp("col.blp"), HOLDALL_NEW);
    holdall_array *a = open_array(in_tmp("col.blp"), HOLDALL_APPEND);
    OK(holdall_array_insert(a, 1, 3, 1, column, sizeof column, &err));
    OK(holdall_array_append(a, 1, 1, column, sizeof column, &err));
    check_shape(a, ROWS, COLUMNS + 2);
    for (uint64_t i = 0; i < ROWS; i += 7) {
        OK(holdall_array_read(a, SHAPE(i, 3), SHAPE(1, 1), NULL, &item, NULL, 4, &err));
        EQUAL(item, column[i]);
        OK(holdall_array_read(a, SHAPE(i, COLUMNS + 1), SHAPE(1, 1), NULL, &item, NULL, 4, &err));
        EQUAL(item, column[i]);
    }
    OK(holdall_array_resize(a, SHAPE(ROWS, COLUMNS + 1), &err));
    OK(holdall_array_remove(a, 1, 3, 1, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    a = open_array(in_tmp("col.blp"), HOLDALL_READ);
    check_shape(a, ROWS, COLUMNS);
    check_rows(a, 0, ROWS);
    holdall_array_close(a);
}

static void rows_are_put_in_and_taken_away_in_the_middle(void)
{
    static int32_t rows[50 * COLUMNS];
    create_matrix(in_tmp("i.blp"), HOLDALL_NEW);
    holdall_array *a = open_array(in_tmp("i.blp"), HOLDALL_APPEND);
    OK(holdall_array_remove(a, 0, 100, 50, &err));
    check_shape(a, ROWS - 50, COLUMNS);
    check_rows(a, 0, 100);
    fill(rows, 100, 50);
    OK(holdall_array_insert(a, 0, 100, 50, rows, sizeof rows, &err));
    check_rows(a, 0, ROWS);
    OK(holdall_array_insert(a, 0, 7, 0, NULL, 0, &err));
    fill(rows, ROWS, 50);
    OK(holdall_array_insert(a, 0, ROWS, 50, rows, sizeof rows, &err));
    GIVES(HOLDALL_E_RANGE, holdall_array_insert(a, 0, ROWS + 51, 50, rows, sizeof rows, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_insert(a, 0, 7, 50, rows, sizeof rows - 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_insert(a, 0, 7, UINT64_MAX, rows, sizeof rows, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_insert(a, 2, 7, 1, rows, 4, &err));
    GIVES(HOLDALL_E_RANGE, holdall_array_insert(a, 1, COLUMNS + 1, 1, rows, (ROWS + 50) * 4, &err));
    CHECK(says("axis 1"));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_insert(NULL, 0, 7, 50, rows, sizeof rows, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_insert(a, 0, 7, 50, NULL, sizeof rows, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    a = open_array(in_tmp("i.blp"), HOLDALL_READ);
    check_shape(a, ROWS + 50, COLUMNS);
    check_rows(a, 0, ROWS + 50);
    GIVES(HOLDALL_E_STATE, holdall_array_insert(a, 0, 7, 50, rows, sizeof rows, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_remove(a, 0, 7, 50, &err));
    holdall_array_close(a);
    TIDY();
}

static void an_array_is_copied(void)
{
    const holdall_format blpk = HOLDALL_FORMAT_BLOSCPACK;
    holdall_array *a = open_array(in_tmp("a.blp"), HOLDALL_READ), *b;
    holdall_options *options = options_of(WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_LZ4, HOLDALL_OPT_CHECKSUM, HOLDALL_SUM_SHA256));
    OK(holdall_array_copy(a, in_tmp("copy.blp"), HOLDALL_NEW, blpk, SHAPE(7, COLUMNS), NULL, options, &err));
    holdall_options_free(options);
    b = open_array(in_tmp("copy.blp"), HOLDALL_READ);
    check_shape(b, ROWS, COLUMNS);
    check_rows(b, 0, ROWS);
    EQUAL(holdall_array_chunkshape(b)[0], 7);
    CHECK(strcmp(holdall_array_dtype(b), "<i4") == 0);
    /* its own file, under any name */
    CHECK(link(in_tmp("copy.blp"), in_tmp("hard.blp")) == 0);
    static const char *const own[] = {"copy.blp", "hard.blp"};
    for (size_t i = 0; i < COUNT(own); i++)
        GIVES(HOLDALL_E_ARGUMENT, holdall_array_copy(b, in_tmp(own[i]), HOLDALL_REPLACE, blpk, NULL, NULL, NULL, &err));
    CHECK(says("copy"));
    GIVES(HOLDALL_E_EXISTS, holdall_array_copy(a, in_tmp("copy.blp"), HOLDALL_NEW, blpk, NULL, NULL, NULL, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_copy(a, in_tmp("no.blp"), HOLDALL_NEW, HOLDALL_FORMAT_BAGZ, NULL, NULL, NULL, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_copy(a, in_tmp("no.blp"), HOLDALL_NEW, blpk, NULL, SHAPE(1, 1), NULL, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_copy(a, in_tmp("no.blp"), HOLDALL_NEW, blpk, SHAPE(7, 7), NULL, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_copy(a, NULL, HOLDALL_NEW, blpk, NULL, NULL, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_copy(NULL, in_tmp("no.blp"), HOLDALL_NEW, blpk, NULL, NULL, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_copy(a, in_tmp("no.blp"), HOLDALL_READ, blpk, NULL, NULL, NULL, &err));
    options = options_of(WITH(HOLDALL_OPT_FORMAT_VERSION, 2));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_copy(a, in_tmp("no.blp"), HOLDALL_NEW, blpk, NULL, NULL, options, &err));
    holdall_options_free(options);
    CHECK(!there(in_tmp("no.blp")));
    OK(holdall_array_copy(b, in_tmp("copy2.blp"), HOLDALL_REPLACE, blpk, NULL, NULL, NULL, &err));
    OK(holdall_array_copy(a, in_tmp("copy2.blp"), HOLDALL_REPLACE, blpk, NULL, NULL, NULL, &err));
    holdall_array_close(a);
    holdall_array_close(b);
    unlink(in_tmp("hard.blp"));
    TIDY();
}

static int stop_at_once(void *ctx, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    *(int *)ctx += 1;
    return 1;
}

static void a_superchunk_is_copied(void)
{
    const holdall_format blpk = HOLDALL_FORMAT_BLOSCPACK;
    holdall_schunk *s, *c;
    const void *value;
    char got[24];
    size_t n;
    int told = 0;
    holdall_options *options = options_of(WITH(HOLDALL_OPT_FORMAT_VERSION, 103));
    OK(holdall_schunk_create(in_tmp("sc.blp"), HOLDALL_NEW, blpk, 8, options, &s, &err));
    holdall_options_free(options);
    OK(holdall_schunk_append(s, "0123456789abcdefghijklmn", 24, &err));
    OK(holdall_schunk_meta_set(s, "", "[1]", 3, &err));
    OK(holdall_schunk_commit(s, &err));
    OK(holdall_schunk_copy(s, in_tmp("sc3.blp"), HOLDALL_NEW, blpk, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_copy(s, in_tmp("sc.blp"), HOLDALL_REPLACE, blpk, NULL, &err));
    options = options_of(WITH(HOLDALL_OPT_FORMAT_VERSION, 2));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_schunk_copy(s, in_tmp("sc2.blp"), HOLDALL_NEW, blpk, options, &err));
    holdall_options_free(options);
    options = holdall_options_new();
    holdall_options_on_progress(options, stop_at_once, &told);
    GIVES(HOLDALL_E_CANCELLED, holdall_schunk_copy(s, in_tmp("sc2.blp"), HOLDALL_NEW, blpk, options, &err));
    CHECK(told == 1 && !there(in_tmp("sc2.blp")));
    holdall_options_free(options);
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_copy(s, in_tmp("sc2.blp"), HOLDALL_NEW, HOLDALL_FORMAT_BAGZ, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_copy(s, NULL, HOLDALL_NEW, blpk, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_copy(NULL, in_tmp("sc2.blp"), HOLDALL_NEW, blpk, NULL, &err));
    holdall_schunk_close(s);
    OK(holdall_schunk_open(in_tmp("sc3.blp"), HOLDALL_READ, NULL, &c, &err));
    EQUAL(holdall_schunk_version(c), 3);
    EQUAL(holdall_schunk_typesize(c), 8);
    OK(holdall_schunk_read(c, 0, got, sizeof got, &err));
    CHECK(memcmp(got, "0123456789abcdefghijklmn", 24) == 0);
    OK(holdall_schunk_meta_get(c, "", &value, &n, &err));
    CHECK(n == 3 && memcmp(value, "[1]", 3) == 0);
    holdall_schunk_close(c);
    TIDY();
}

static void a_digest_of_pieces_is_that_of_the_whole(void)
{
    uint8_t bytes[1000], whole[64], got[64];
    size_t n, m;
    holdall_digest *d;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i);
    for (int32_t sum = HOLDALL_SUM_NONE; sum <= HOLDALL_SUM_SHA512; sum++) {
        OK(holdall_checksum(sum, bytes, sizeof bytes, whole, sizeof whole, &n, &err));
        OK(holdall_digest_new(sum, &d, &err));
        OK(holdall_digest_update(d, bytes, 1, &err));
        OK(holdall_digest_update(d, NULL, 0, &err));
        OK(holdall_digest_update(d, bytes + 1, sizeof bytes - 1, &err));
        OK(holdall_digest_finish(d, NULL, 0, &m, &err));
        EQUAL(n, m);
        if (n > 0)
            GIVES(HOLDALL_E_BUFFER, holdall_digest_finish(d, got, n - 1, &m, &err));
        GIVES(HOLDALL_E_ARGUMENT, holdall_digest_finish(d, got, sizeof got, NULL, &err));
        OK(holdall_digest_finish(d, got, sizeof got, &m, &err));
        CHECK(n == m && memcmp(whole, got, n) == 0);
        GIVES(HOLDALL_E_STATE, holdall_digest_finish(d, got, sizeof got, &m, &err));
        GIVES(HOLDALL_E_STATE, holdall_digest_update(d, bytes, 1, &err));
        holdall_digest_free(d);
    }
    GIVES(HOLDALL_E_ARGUMENT, holdall_digest_new(HOLDALL_SUM_ZSTD, &d, &err));
    CHECK(d == NULL);
    GIVES(HOLDALL_E_ARGUMENT, holdall_digest_new(HOLDALL_SUM_CRC32, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_digest_update(NULL, bytes, 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_digest_finish(NULL, got, sizeof got, &m, &err));
    OK(holdall_digest_new(HOLDALL_SUM_CRC32, &d, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_digest_update(d, NULL, 1, &err));
    holdall_digest_free(d);
    holdall_digest_free(NULL);
}

static void positions_are_written(void)
{
    create_matrix(in_tmp("d.blp"), HOLDALL_NEW);
    holdall_array *a = open_array(in_tmp("d.blp"), HOLDALL_APPEND);
    const uint64_t rows[] = {250, 10, 250}, columns[] = {1, 0};
    const uint64_t *lists[] = {rows, columns};
    static const int32_t src[] = {1, 2, 3, 4, 5, 6};
    OK(holdall_array_write_orthogonal(a, lists, SHAPE(3, 2), src, sizeof src, &err));
    int32_t got[2];
    OK(holdall_array_read(a, SHAPE(250, 0), SHAPE(1, 2), NULL, got, NULL, 8, &err));
    CHECK(got[0] == 6 && got[1] == 5);
    OK(holdall_array_read(a, SHAPE(10, 0), SHAPE(1, 2), NULL, got, NULL, 8, &err));
    CHECK(got[0] == 4 && got[1] == 3);
    check_rows(a, 11, 239);
    GIVES(HOLDALL_E_BUFFER, holdall_array_write_orthogonal(a, lists, SHAPE(3, 2), src, sizeof src - 1, &err));
    holdall_array_close(a);
}

static void metadata_go_with_the_array(void)
{
    holdall_array *a;
    const void *value;
    size_t n;
    OK(try_create(in_tmp("m.blp"), HOLDALL_NEW, "[('a','<i4'),('b','<f8')]", 1, SHAPE(3), NULL, &a));
    EQUAL(holdall_array_attrs(a), 1);
    CHECK(strcmp(holdall_array_attr_name(a, 0), "") == 0);
    CHECK(holdall_array_attr_name(a, 1) == NULL);
    OK(holdall_array_attr_get(a, "", &value, &n, &err));
    static const char want[] = "{\"dtype\":\"[('a', '<i4'), ('b', '<f8')]\",\"shape\":[3],\"order\":\"C\",\"container\":\"numpy\"}";
    CHECK(n == strlen(want) && memcmp(value, want, n) == 0);
    CHECK(strcmp(holdall_array_dtype(a), "[('a','<i4'),('b','<f8')]") == 0);
    GAVE(HOLDALL_NOT_FOUND, holdall_array_attr_get(a, "x", &value, &n, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_attr_set(a, "x", "1", 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_attr_set(a, "", NULL, 0, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_attr_set(a, "", "{}", 2, &err));
    static const char more[] = "{\"dtype\":\"[('a', '<i4'), ('b', '<f8')]\",\"shape\":[3],\"order\":\"C\",\"container\":\"numpy\",\"unit\":\"m\"}";
    OK(holdall_array_attr_set(a, "", more, strlen(more), &err));
    OK(holdall_array_resize(a, SHAPE(4), &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    a = open_array(in_tmp("m.blp"), HOLDALL_READ);
    OK(holdall_array_attr_get(a, "", &value, &n, &err));
    static const char grown[] = "{\"dtype\":\"[('a', '<i4'), ('b', '<f8')]\",\"shape\":[4],\"order\":\"C\",\"container\":\"numpy\",\"unit\":\"m\"}";
    CHECK(n == strlen(grown) && memcmp(value, grown, n) == 0);
    EQUAL(holdall_array_shape(a)[0], 4);
    holdall_array_close(a);
}

static void arrays_of_no_and_of_many_dimensions(void)
{
    holdall_array *a;
    double x = 1.5, y = 0;
    OK(try_create(in_tmp("0.blp"), HOLDALL_NEW, "<f8", 0, NULL, NULL, &a));
    OK(holdall_array_write(a, NULL, NULL, NULL, &x, NULL, 8, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_append(a, 0, 1, &x, 8, &err));
    OK(holdall_array_resize(a, NULL, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    a = open_array(in_tmp("0.blp"), HOLDALL_READ);
    EQUAL(holdall_array_ndim(a), 0);
    CHECK(holdall_array_shape(a) != NULL);
    OK(holdall_array_read(a, NULL, NULL, NULL, &y, NULL, 8, &err));
    CHECK(x == y);
    holdall_array_close(a);

    uint64_t ones[HOLDALL_MAX_NDIM + 1], start[HOLDALL_MAX_NDIM] = {0};
    for (size_t d = 0; d < COUNT(ones); d++)
        ones[d] = 1;
    GIVES(HOLDALL_E_ARGUMENT, try_create(in_tmp("17.blp"), HOLDALL_NEW, "<f8", HOLDALL_MAX_NDIM + 1, ones, NULL, &a));
    OK(try_create(in_tmp("16.blp"), HOLDALL_NEW, "<f8", HOLDALL_MAX_NDIM, ones, NULL, &a));
    OK(holdall_array_append(a, 0, 1, &x, 8, &err));
    start[0] = 1;
    OK(holdall_array_read(a, start, ones, NULL, &y, NULL, 8, &err));
    CHECK(x == y);
    holdall_array_close(a);
}

static void an_empty_array_is_there(void)
{
    holdall_array *a;
    int32_t row[3] = {1, 2, 3};
    OK(try_create(in_tmp("e.blp"), HOLDALL_NEW, "<i4", 2, SHAPE(0, 3), NULL, &a));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    a = open_array(in_tmp("e.blp"), HOLDALL_APPEND);
    check_shape(a, 0, 3);
    for (int i = 0; i < 10; i++)
        OK(holdall_array_append(a, 0, 1, row, sizeof row, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    a = open_array(in_tmp("e.blp"), HOLDALL_READ);
    check_shape(a, 10, 3);
    holdall_array_close(a);
}

/* A stored array is no larger than its zeros are compressed, and made without memory for them. */
static void a_large_array_is_cheap(void)
{
    holdall_array *a;
    OK(try_create(in_tmp("z.blp"), HOLDALL_NEW, "<f8", 2, SHAPE((uint64_t)1 << 40, 1000), NULL, &a));
    EQUAL(holdall_array_nbytes(a), (uint64_t)8000 << 40);
    double x = 1;
    OK(holdall_array_read(a, SHAPE(((uint64_t)1 << 40) - 1, 999), SHAPE(1, 1), NULL, &x, NULL, 8, &err));
    CHECK(x == 0);
    OK(holdall_array_resize(a, SHAPE(2000, 1000), &err));
    OK(holdall_array_commit(a, &err));
    CHECK(file_size(in_tmp("z.blp")) < 1 << 20);
    holdall_array_close(a);
}

static void what_is_no_array_is_refused(void)
{
    holdall_array *a = (void *)&err;
    holdall_schunk *s;
    OK(holdall_schunk_create(in_tmp("s.blp"), HOLDALL_NEW, HOLDALL_FORMAT_BLOSCPACK, 8, NULL, &s, &err));
    OK(holdall_schunk_append(s, "01234567", 8, &err));
    OK(holdall_schunk_commit(s, &err));
    GIVES(HOLDALL_E_TYPE, holdall_array_open(in_tmp("s.blp"), HOLDALL_READ, NULL, &a, &err));
    CHECK(a == NULL);
    /* metadata of more, or fewer, items than there are: both numbers are told */
    static const char json[] = "{\"dtype\":\"'<f8'\",\"shape\":[3],\"order\":\"C\",\"container\":\"numpy\"}";
    OK(holdall_schunk_meta_set(s, "", json, strlen(json), &err));
    OK(holdall_schunk_commit(s, &err));
    GIVES(HOLDALL_E_FORMAT, holdall_array_open(in_tmp("s.blp"), HOLDALL_READ, NULL, &a, &err));
    CHECK(says("24") && says("8"));
    OK(holdall_schunk_append(s, "0123456789abcdef", 16, &err));
    OK(holdall_schunk_commit(s, &err));
    OK(holdall_array_open(in_tmp("s.blp"), HOLDALL_READ, NULL, &a, &err));
    holdall_array_close(a);
    holdall_schunk_close(s);
    GIVES(HOLDALL_E_MISSING, holdall_array_open(in_tmp("none.blp"), HOLDALL_READ, NULL, &a, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_open(in_tmp("s.blp"), HOLDALL_NEW, NULL, &a, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_open(in_tmp("s.blp"), 9, NULL, &a, &err));
}

static void creating_is_checked(void)
{
    holdall_array *a;
    const char *path = in_tmp("new.blp");
    GIVES(HOLDALL_E_EXISTS, try_create(in_tmp("a.blp"), HOLDALL_NEW, "<f8", 1, SHAPE(3), NULL, &a));
    GIVES(HOLDALL_E_ARGUMENT, try_create(path, HOLDALL_READ, "<f8", 1, SHAPE(3), NULL, &a));
    GIVES(HOLDALL_E_TYPE, try_create(path, HOLDALL_NEW, "f9", 1, SHAPE(3), NULL, &a));
    GIVES(HOLDALL_E_ARGUMENT, try_create(path, HOLDALL_NEW, "\xff", 1, SHAPE(3), NULL, &a));
    GIVES(HOLDALL_E_UNSUPPORTED, try_create(path, HOLDALL_NEW, "|O", 1, SHAPE(3), NULL, &a));
    GIVES(HOLDALL_E_ARGUMENT, try_create(path, HOLDALL_NEW, "<f8", 1, SHAPE((uint64_t)1 << 61), NULL, &a));
    GIVES(HOLDALL_E_ARGUMENT, try_create(path, HOLDALL_NEW, "<f8", 1, SHAPE(3), WITH(HOLDALL_OPT_BAG_LIMITS, 1), &a));
    static const holdall_format others[] = {0, HOLDALL_FORMAT_B2FRAME, HOLDALL_FORMAT_BAGZ, 9, -1};
    for (size_t i = 0; i < COUNT(others); i++)
        GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_create(path, HOLDALL_NEW, others[i], "<f8", 1, SHAPE(3), NULL, NULL, NULL, &a, &err));
    const holdall_format blpk = HOLDALL_FORMAT_BLOSCPACK;
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_create(path, HOLDALL_NEW, blpk, "<f8", 1, SHAPE(3), NULL, SHAPE(2), NULL, &a, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_create(path, HOLDALL_NEW, blpk, "<f8", 2, SHAPE(3, 4), SHAPE(2, 2), NULL, NULL, &a, &err));
    OK(holdall_array_create(path, HOLDALL_NEW, blpk, "<f8", 2, SHAPE(3, 4), SHAPE(2, 4), NULL, NULL, &a, &err));
    EQUAL(holdall_array_chunkshape(a)[0], 2);
    holdall_array_close(a);
    CHECK(!there(path));
    TIDY();
}

static void null_is_an_argument_error(void)
{
    holdall_array *a = open_array(in_tmp("a.blp"), HOLDALL_READ), *b;
    const uint64_t *lists[] = {NULL, NULL}, *shape = SHAPE(1, 1);
    const void *value;
    size_t n;
    int32_t item;
    const holdall_format blpk = HOLDALL_FORMAT_BLOSCPACK;
#define REFUSES(call) GIVES(HOLDALL_E_ARGUMENT, call)
    REFUSES(holdall_array_open(NULL, HOLDALL_READ, NULL, &b, &err));
    REFUSES(holdall_array_open(in_tmp("a.blp"), HOLDALL_READ, NULL, NULL, &err));
    REFUSES(holdall_array_open_io(NULL, HOLDALL_READ, NULL, &b, &err));
    REFUSES(holdall_array_create(NULL, HOLDALL_NEW, blpk, "<f8", 1, shape, NULL, NULL, NULL, &b, &err));
    REFUSES(holdall_array_create(in_tmp("x"), HOLDALL_NEW, blpk, NULL, 1, shape, NULL, NULL, NULL, &b, &err));
    REFUSES(holdall_array_create(in_tmp("x"), HOLDALL_NEW, blpk, "<f8", 1, NULL, NULL, NULL, NULL, &b, &err));
    REFUSES(holdall_array_create(in_tmp("x"), HOLDALL_NEW, blpk, "<f8", 1, shape, NULL, NULL, NULL, NULL, &err));
    REFUSES(holdall_array_create_io(NULL, HOLDALL_NEW, blpk, "<f8", 1, shape, NULL, NULL, NULL, &b, &err));
    REFUSES(holdall_array_read(NULL, shape, shape, NULL, &item, NULL, 4, &err));
    REFUSES(holdall_array_read(a, NULL, shape, NULL, &item, NULL, 4, &err));
    REFUSES(holdall_array_read(a, shape, NULL, NULL, &item, NULL, 4, &err));
    REFUSES(holdall_array_read(a, shape, shape, NULL, NULL, NULL, 4, &err));
    REFUSES(holdall_array_write(NULL, shape, shape, NULL, &item, NULL, 4, &err));
    REFUSES(holdall_array_write(a, shape, shape, NULL, NULL, NULL, 4, &err));
    REFUSES(holdall_array_read_orthogonal(NULL, lists, shape, &item, 4, &err));
    REFUSES(holdall_array_read_orthogonal(a, NULL, shape, &item, 4, &err));
    REFUSES(holdall_array_read_orthogonal(a, lists, NULL, &item, 4, &err));
    REFUSES(holdall_array_write_orthogonal(NULL, lists, shape, &item, 4, &err));
    REFUSES(holdall_array_read_points(NULL, shape, 1, &item, 4, &err));
    REFUSES(holdall_array_read_points(a, NULL, 1, &item, 4, &err));
    REFUSES(holdall_array_read_points(a, shape, SIZE_MAX, &item, 4, &err));
    REFUSES(holdall_array_append(NULL, 0, 0, NULL, 0, &err));
    REFUSES(holdall_array_append(a, 0, 1, NULL, COLUMNS * 4, &err));
    REFUSES(holdall_array_remove(NULL, 0, 0, 0, &err));
    REFUSES(holdall_array_resize(NULL, shape, &err));
    REFUSES(holdall_array_resize(a, NULL, &err));
    REFUSES(holdall_array_commit(NULL, &err));
    REFUSES(holdall_array_attr_get(NULL, "", &value, &n, &err));
    REFUSES(holdall_array_attr_get(a, NULL, &value, &n, &err));
    REFUSES(holdall_array_attr_get(a, "", NULL, &n, &err));
    REFUSES(holdall_array_attr_get(a, "", &value, NULL, &err));
    REFUSES(holdall_array_attr_set(NULL, "", "{}", 2, &err));
    REFUSES(holdall_array_attr_set(a, NULL, "{}", 2, &err));
    CHECK(holdall_array_commit(NULL, NULL) == HOLDALL_E_ARGUMENT);
    holdall_array_close(NULL);
    CHECK(holdall_array_shape(NULL) == NULL && holdall_array_chunkshape(NULL) == NULL && holdall_array_blockshape(NULL) == NULL);
    CHECK(holdall_array_dtype(NULL) == NULL && holdall_array_attr_name(NULL, 0) == NULL);
    CHECK(holdall_array_ndim(NULL) == 0 && holdall_array_itemsize(NULL) == 0 && holdall_array_nbytes(NULL) == 0);
    CHECK(holdall_array_cbytes(NULL) == 0 && holdall_array_attrs(NULL) == 0 && holdall_array_order(NULL) == HOLDALL_ORDER_C);
    check_rows(a, 0, ROWS);
    holdall_array_close(a);
}

static void storage_of_the_caller_will_do(void)
{
    static folder f;
    holdall_io *io = folder_io(&f);
    holdall_array *a;
    int32_t items[6] = {1, 2, 3, 4, 5, 6}, got[6];
    OK(holdall_array_create_io(io, HOLDALL_NEW, HOLDALL_FORMAT_BLOSCPACK, "<i4", 2, SHAPE(2, 3), NULL, NULL, NULL, &a, &err));
    OK(holdall_array_write(a, SHAPE(0, 0), SHAPE(2, 3), NULL, items, NULL, sizeof items, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    OK(holdall_array_open_io(io, HOLDALL_READ, NULL, &a, &err));
    holdall_io_close(io);
    OK(holdall_array_read(a, SHAPE(0, 0), SHAPE(2, 3), NULL, got, NULL, sizeof got, &err));
    CHECK(memcmp(items, got, sizeof got) == 0);
    holdall_array_close(a);
}

/* A damaged chunk is told, and the others are read. */
static void a_damaged_chunk_is_told(void)
{
    create_matrix(in_tmp("bad.blp"), HOLDALL_NEW);
    size_t n;
    uint8_t *bytes = load(in_tmp("bad.blp"), &n);
    bytes[n - 10] ^= 1;
    save(in_tmp("bad.blp"), bytes, n);
    free(bytes);
    holdall_array *a = open_array(in_tmp("bad.blp"), HOLDALL_READ);
    int32_t row[COLUMNS];
    check_rows(a, 0, 200);
    GIVES(HOLDALL_E_CHECKSUM, holdall_array_read(a, SHAPE(ROWS - 1, 0), SHAPE(1, COLUMNS), NULL, row, NULL, sizeof row, &err));
    CHECK(err.position > 0 && says("chunk"));
    holdall_array_close(a);
    holdall_options *options = options_of(WITH(HOLDALL_OPT_SKIP_DAMAGED, 1));
    OK(holdall_array_open(in_tmp("bad.blp"), HOLDALL_READ, options, &a, &err));
    holdall_options_free(options);
    GIVES(HOLDALL_NOT_FOUND, holdall_array_read(a, SHAPE(ROWS - 1, 0), SHAPE(1, COLUMNS), NULL, row, NULL, sizeof row, &err));
    for (int j = 0; j < COLUMNS; j++)
        EQUAL(row[j], 0);
    holdall_array_close(a);
}

/* What a crash or a full disk cut off: told, read as zeros on demand, and an array again after a repair. */
static void an_array_that_was_cut_off_is_there(void)
{
    const char *path = in_tmp("cut.blp");
    create_matrix(path, HOLDALL_NEW);
    size_t n;
    uint8_t *bytes = load(path, &n);
    save(path, bytes, n - n / 4);
    holdall_array *a;
    GIVES(HOLDALL_E_FORMAT, holdall_array_open(path, HOLDALL_READ, NULL, &a, &err));
    holdall_options *options = options_of(WITH(HOLDALL_OPT_SKIP_DAMAGED, 1));
    OK(holdall_array_open(path, HOLDALL_READ, options, &a, &err));
    holdall_options_free(options);
    check_shape(a, ROWS, COLUMNS);
    static int32_t items[ROWS * COLUMNS], got[ROWS * COLUMNS];
    GIVES(HOLDALL_NOT_FOUND, holdall_array_read(a, SHAPE(0, 0), SHAPE(ROWS, COLUMNS), NULL, items, NULL, sizeof items, &err));
    check_rows(a, 0, ROWS / 2);
    holdall_array_close(a);
    CHECK(items[0 * COLUMNS + 1] == 1 && items[ROWS * COLUMNS - 1] == 0);
    uint64_t kept, dropped, bad, sound;
    CHECK(holdall_verify(path, NULL, NULL, NULL, &sound, &bad, NULL, &err) < 0);
    OK(holdall_repair(path, NULL, &kept, &dropped, &err));
    CHECK(kept == sound && dropped == bad && bad > 0);
    a = open_array(path, HOLDALL_READ);
    OK(holdall_array_read(a, SHAPE(0, 0), SHAPE(ROWS, COLUMNS), NULL, got, NULL, sizeof got, &err));
    CHECK(memcmp(items, got, sizeof got) == 0);
    holdall_array_close(a);
    OK(holdall_verify(path, NULL, NULL, NULL, NULL, NULL, NULL, &err));
    /* its metadata: the chunks stay, and that they are gone is counted */
    save(path, bytes, n);
    free(bytes);
    bytes = load(path, &n);
    bytes[70] ^= 1;
    save(path, bytes, n);
    free(bytes);
    OK(holdall_repair(path, NULL, &kept, &dropped, &err));
    CHECK(kept == sound + bad && dropped == 1);
}

/* Content of another length than shape and dtype say is a fault, though every chunk is sound. */
static void a_shape_that_does_not_fit_is_a_fault(void)
{
    const char *path = in_tmp("long.blp");
    create_matrix(path, HOLDALL_NEW);
    holdall_schunk *s;
    OK(holdall_schunk_open(path, HOLDALL_APPEND, NULL, &s, &err));
    OK(holdall_schunk_append(s, "abc", 3, &err));
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_close(s);
    uint64_t bad = 9;
    GIVES(HOLDALL_E_FORMAT, holdall_verify(path, NULL, NULL, NULL, NULL, &bad, NULL, &err));
    CHECK(bad == 0 && says("48003"));
}

static void *read_columns(void *arg)
{
    const holdall_array *a = arg;
    int32_t column[ROWS];
    for (uint64_t k = 0; k < (slow() ? 20 : 200); k++) {
        uint64_t j = k % COLUMNS;
        OK(holdall_array_read(a, SHAPE(0, j), SHAPE(ROWS, 1), NULL, column, NULL, sizeof column, &err));
        for (uint64_t i = 0; i < ROWS; i++)
            EQUAL(column[i], 100 * i + j);
        CHECK(holdall_array_blockshape(a)[1] == COLUMNS);
    }
    return NULL;
}

static void many_threads_read_one_array(void)
{
    holdall_array *a = open_array(in_tmp("a.blp"), HOLDALL_READ);
    pthread_t threads[8];
    for (size_t i = 0; i < COUNT(threads); i++)
        CHECK(pthread_create(&threads[i], NULL, read_columns, a) == 0);
    for (size_t i = 0; i < COUNT(threads); i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    holdall_array_close(a);
}

int main(void)
{
    RUN(an_array_tells_what_it_is);
    RUN(boxes_are_read);
    RUN(single_items_and_positions_are_read);
    RUN(changes_count_from_the_commit_on);
    RUN(an_array_grows_and_is_cut_along_its_first_dimension);
    RUN(rows_are_put_in_and_taken_away_in_the_middle);
    RUN(columns_are_put_in_and_taken_away);
    RUN(an_array_is_copied);
    RUN(a_superchunk_is_copied);
    RUN(a_digest_of_pieces_is_that_of_the_whole);
    RUN(positions_are_written);
    RUN(metadata_go_with_the_array);
    RUN(arrays_of_no_and_of_many_dimensions);
    RUN(an_empty_array_is_there);
    RUN(a_large_array_is_cheap);
    RUN(what_is_no_array_is_refused);
    RUN(creating_is_checked);
    RUN(null_is_an_argument_error);
    RUN(storage_of_the_caller_will_do);
    RUN(a_damaged_chunk_is_told);
    RUN(an_array_that_was_cut_off_is_there);
    RUN(a_shape_that_does_not_fit_is_a_fault);
    RUN(many_threads_read_one_array);
    return 0;
}
