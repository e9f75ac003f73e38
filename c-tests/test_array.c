/* Arrays in Bloscpack files: created, filled, read by boxes, steps, strides, points and positions,
 * extended and truncated. */
#include "small_array.h"

#include <pthread.h>

static void an_array_reports_its_properties(void)
{
    create_matrix(in_tmp("a.blp"), HOLDALL_CREATE);
    holdall_array *a = open_array(in_tmp("a.blp"), HOLDALL_READ);
    check_shape(a, ROWS, COLUMNS);
    EQUAL(array_info(a).chunk_shape[0], 12);
    EQUAL(array_info(a).chunk_shape[1], COLUMNS);
    CHECK(array_info(a).block_shape[0] >= 1 && array_info(a).block_shape[0] <= 12);
    CHECK(array_info(a).block_shape == array_info(a).block_shape);
    EQUAL(holdall_array_itemsize(a), 4);
    EQUAL(array_info(a).order, HOLDALL_ORDER_C);
    EQUAL(array_info(a).stored_bytes, file_size(in_tmp("a.blp")));
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
    OK(holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), NULL, got, 24, NULL, &err));
    static const int32_t box[] = {507, 508, 509, 607, 608, 609};
    CHECK(memcmp(got, box, sizeof box) == 0);
    OK(holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), SHAPE(200, 10), got, 24, NULL, &err));
    static const int32_t steps[] = {507, 517, 527, 20507, 20517, 20527};
    CHECK(memcmp(got, steps, sizeof steps) == 0);
    /* transposed and backwards: the bytes between items are unchanged */
    memset(got, 0xFF, sizeof got);
    OK(holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), NULL, got, 32, STRIDES(-4, 12), &err));
    static const int32_t turned[] = {607, 507, -1, 608, 508, -1, 609, 509, -1};
    CHECK(memcmp(got, turned, sizeof turned) == 0);
    /* empty boxes, at any position up to the end */
    OK(holdall_array_read(a, SHAPE(ROWS, 0), SHAPE(0, COLUMNS), NULL, NULL, 0, NULL, &err));
    GIVES(HOLDALL_E_BUFFER,
          holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), NULL, got, 23, NULL, &err));
    GIVES(HOLDALL_E_BUFFER,
          holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), NULL, got, 31, STRIDES(-4, 12), &err));
    GIVES(HOLDALL_E_BUFFER, holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), NULL, got, sizeof got,
                                               STRIDES(INT64_MIN, INT64_MAX), &err));
    GIVES(HOLDALL_E_RANGE, holdall_array_read(a, SHAPE(5, 7), SHAPE(ROWS - 4, 3), NULL, got,
                                              sizeof got, NULL, &err));
    GIVES(HOLDALL_E_RANGE, holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), SHAPE(UINT64_MAX, 1),
                                              got, sizeof got, NULL, &err));
    GIVES(HOLDALL_E_RANGE, holdall_array_read(a, SHAPE(5, UINT64_MAX), SHAPE(2, 3), NULL, got,
                                              sizeof got, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_read(a, SHAPE(5, 7), SHAPE(2, 3), SHAPE(1, 0), got,
                                                 sizeof got, NULL, &err));
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
    GIVES(HOLDALL_E_RANGE,
          holdall_array_read_points(a, SHAPE(0, 0, 0, 40), 2, got, sizeof got, &err));
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
    GIVES(HOLDALL_E_RANGE,
          holdall_array_read_orthogonal(a, lists, SHAPE(1, 1), got, sizeof got, &err));
    holdall_array_close(a);
}

static void changes_are_visible_from_the_commit_on(void)
{
    static int32_t more[50 * COLUMNS];
    create_matrix(in_tmp("b.blp"), HOLDALL_CREATE);
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

    /* uncommitted changes are discarded */
    OK(holdall_array_resize(a, SHAPE(7, COLUMNS), &err));
    check_shape(a, 7, COLUMNS);
    OK(holdall_array_write(a, SHAPE(0, 0), SHAPE(7, 1), NULL, SHAPE(0), 4, STRIDES(0, 0), &err));
    holdall_array_close(a);
    reader = open_array(in_tmp("b.blp"), HOLDALL_READ);
    check_rows(reader, 0, ROWS + 50);
    GIVES(HOLDALL_E_STATE, holdall_array_append(reader, 0, 50, more, sizeof more, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_commit(reader, &err));
    holdall_array_close(reader);
    TIDY();
}

static void an_array_grows_and_shrinks_along_its_first_dimension(void)
{
    create_matrix(in_tmp("c.blp"), HOLDALL_CREATE);
    holdall_array *a = open_array(in_tmp("c.blp"), HOLDALL_APPEND);
    int32_t item = 0, row[COLUMNS];
    OK(holdall_array_remove(a, 0, 200, 100, &err));
    OK(holdall_array_resize(a, SHAPE(ROWS, COLUMNS), &err));
    check_rows(a, 0, 200);
    OK(holdall_array_read(a, SHAPE(200, 39), SHAPE(1, 1), NULL, &item, 4, NULL, &err));
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

static void columns_are_inserted_and_removed(void)
{
    static int32_t column[ROWS];
    int32_t item;
    for (int i = 0; i < ROWS; i++)
        column[i] = -i;
    create_matrix(in_tmp("col.blp"), HOLDALL_CREATE);
    holdall_array *a = open_array(in_tmp("col.blp"), HOLDALL_APPEND);
    OK(holdall_array_insert(a, 1, 3, 1, column, sizeof column, &err));
    OK(holdall_array_append(a, 1, 1, column, sizeof column, &err));
    check_shape(a, ROWS, COLUMNS + 2);
    for (uint64_t i = 0; i < ROWS; i += 7) {
        OK(holdall_array_read(a, SHAPE(i, 3), SHAPE(1, 1), NULL, &item, 4, NULL, &err));
        EQUAL(item, column[i]);
        OK(holdall_array_read(a, SHAPE(i, COLUMNS + 1), SHAPE(1, 1), NULL, &item, 4, NULL, &err));
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

static void rows_are_inserted_and_removed_in_the_middle(void)
{
    static int32_t rows[50 * COLUMNS];
    create_matrix(in_tmp("i.blp"), HOLDALL_CREATE);
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

static void positions_are_written(void)
{
    create_matrix(in_tmp("d.blp"), HOLDALL_CREATE);
    holdall_array *a = open_array(in_tmp("d.blp"), HOLDALL_APPEND);
    const uint64_t rows[] = {250, 10, 250}, columns[] = {1, 0};
    const uint64_t *lists[] = {rows, columns};
    static const int32_t src[] = {1, 2, 3, 4, 5, 6};
    OK(holdall_array_write_orthogonal(a, lists, SHAPE(3, 2), src, sizeof src, &err));
    int32_t got[2];
    OK(holdall_array_read(a, SHAPE(250, 0), SHAPE(1, 2), NULL, got, 8, NULL, &err));
    CHECK(got[0] == 6 && got[1] == 5);
    OK(holdall_array_read(a, SHAPE(10, 0), SHAPE(1, 2), NULL, got, 8, NULL, &err));
    CHECK(got[0] == 4 && got[1] == 3);
    check_rows(a, 11, 239);
    GIVES(HOLDALL_E_BUFFER,
          holdall_array_write_orthogonal(a, lists, SHAPE(3, 2), src, sizeof src - 1, &err));
    holdall_array_close(a);
}

static void arrays_have_any_number_of_dimensions(void)
{
    holdall_array *a;
    double x = 1.5, y = 0;
    OK(try_create(in_tmp("0.blp"), HOLDALL_CREATE, "<f8", 0, NULL, NULL, &a));
    OK(holdall_array_write(a, NULL, NULL, NULL, &x, 8, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_append(a, 0, 1, &x, 8, &err));
    OK(holdall_array_resize(a, NULL, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    a = open_array(in_tmp("0.blp"), HOLDALL_READ);
    EQUAL(holdall_array_ndim(a), 0);
    CHECK(holdall_array_shape(a) != NULL);
    OK(holdall_array_read(a, NULL, NULL, NULL, &y, 8, NULL, &err));
    CHECK(x == y);
    holdall_array_close(a);

    uint64_t ones[HOLDALL_MAX_NDIM + 1], start[HOLDALL_MAX_NDIM] = {0};
    for (size_t d = 0; d < COUNT(ones); d++)
        ones[d] = 1;
    GIVES(HOLDALL_E_ARGUMENT, try_create(in_tmp("17.blp"), HOLDALL_CREATE, "<f8",
                                         HOLDALL_MAX_NDIM + 1, ones, NULL, &a));
    OK(try_create(in_tmp("16.blp"), HOLDALL_CREATE, "<f8", HOLDALL_MAX_NDIM, ones, NULL, &a));
    OK(holdall_array_append(a, 0, 1, &x, 8, &err));
    start[0] = 1;
    OK(holdall_array_read(a, start, ones, NULL, &y, 8, NULL, &err));
    CHECK(x == y);
    holdall_array_close(a);
}

static void an_empty_array_exists(void)
{
    holdall_array *a;
    int32_t row[3] = {1, 2, 3};
    OK(try_create(in_tmp("e.blp"), HOLDALL_CREATE, "<i4", 2, SHAPE(0, 3), NULL, &a));
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

/* A large array of zeros has the size of its compressed zeros, and is created without memory for
 * them. */
static void a_large_array_of_zeros_takes_little_space(void)
{
    holdall_array *a;
    OK(try_create(in_tmp("z.blp"), HOLDALL_CREATE, "<f8", 2, SHAPE((uint64_t)1 << 40, 1000), NULL,
                  &a));
    EQUAL(holdall_array_nbytes(a), (uint64_t)8000 << 40);
    double x = 1;
    OK(holdall_array_read(a, SHAPE(((uint64_t)1 << 40) - 1, 999), SHAPE(1, 1), NULL, &x, 8, NULL,
                          &err));
    CHECK(x == 0);
    OK(holdall_array_resize(a, SHAPE(2000, 1000), &err));
    OK(holdall_array_commit(a, &err));
    CHECK(file_size(in_tmp("z.blp")) < 1 << 20);
    holdall_array_close(a);
}

static void *read_columns(void *arg)
{
    const holdall_array *a = arg;
    int32_t column[ROWS];
    for (uint64_t k = 0; k < (slow() ? 20 : 200); k++) {
        uint64_t j = k % COLUMNS;
        OK(holdall_array_read(a, SHAPE(0, j), SHAPE(ROWS, 1), NULL, column, sizeof column, NULL,
                              &err));
        for (uint64_t i = 0; i < ROWS; i++)
            EQUAL(column[i], 100 * i + j);
        CHECK(array_info(a).block_shape[1] == COLUMNS);
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

/* NULL stands for the first position, for all following items, and for a step of 1. */
static void null_selects_all(void)
{
    static const holdall_format formats[] = {HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_B2ND,
                                             HOLDALL_FORMAT_BCOLZ};
    enum { X = 13, Y = 7 };
    int32_t items[X * Y], got[X * Y];
    for (int k = 0; k < 3; k++) {
        now("format %d", k);
        const char *path = in_tmp((const char *[]){"null.blp", "null.b2nd", "null.bcolz"}[k]);
        holdall_array *a;
        OK(array_create(path, HOLDALL_CREATE, formats[k], "<i4", 2, SHAPE(X, Y), SHAPE(4, Y), NULL,
                        NULL, &a, &err));
        for (int i = 0; i < X; i++)
            for (int j = 0; j < Y; j++)
                items[Y * i + j] = 100 * i + j;
        OK(holdall_array_write(a, NULL, NULL, NULL, items, sizeof items, NULL, &err));
        OK(holdall_array_read(a, NULL, NULL, NULL, got, sizeof got, NULL, &err));
        CHECK(memcmp(got, items, sizeof items) == 0);
        GIVES(HOLDALL_E_BUFFER,
              holdall_array_read(a, NULL, NULL, NULL, got, sizeof got - 1, NULL, &err));
        GIVES(HOLDALL_E_BUFFER,
              holdall_array_write(a, NULL, NULL, NULL, items, sizeof items - 4, NULL, &err));
        /* from a position: 3 by 2; with steps: 2 by 2; the same with steps only: 3 by 4 */
        OK(holdall_array_read(a, SHAPE(10, 5), NULL, NULL, got, 24, NULL, &err));
        for (int i = 0; i < 6; i++)
            EQUAL(got[i], 100 * (10 + i / 2) + 5 + i % 2);
        OK(holdall_array_read(a, SHAPE(10, 5), NULL, SHAPE(2, 1), got, 16, NULL, &err));
        for (int i = 0; i < 4; i++)
            EQUAL(got[i], 100 * (10 + i / 2 * 2) + 5 + i % 2);
        OK(holdall_array_read(a, NULL, NULL, SHAPE(5, 2), got, 48, NULL, &err));
        for (int i = 0; i < 12; i++)
            EQUAL(got[i], 100 * (i / 4 * 5) + i % 4 * 2);
        GIVES(HOLDALL_E_BUFFER,
              holdall_array_read(a, NULL, NULL, SHAPE(5, 2), got, 47, NULL, &err));
        /* a count from the first position */
        OK(holdall_array_read(a, NULL, SHAPE(2, 3), NULL, got, 24, NULL, &err));
        for (int i = 0; i < 6; i++)
            EQUAL(got[i], 100 * (i / 3) + i % 3);
        /* at the end there are no items; a start after the end is an error, as is a step of 0 */
        OK(holdall_array_read(a, SHAPE(X, 0), NULL, NULL, NULL, 0, NULL, &err));
        GIVES(HOLDALL_E_RANGE,
              holdall_array_read(a, SHAPE(X + 1, 0), NULL, NULL, got, sizeof got, NULL, &err));
        GIVES(HOLDALL_E_ARGUMENT,
              holdall_array_read(a, NULL, NULL, SHAPE(0, 1), got, sizeof got, NULL, &err));
        GIVES(HOLDALL_E_RANGE,
              holdall_array_write(a, SHAPE(0, Y + 1), NULL, NULL, got, sizeof got, NULL, &err));
        /* a part is written */
        for (int i = 0; i < 6; i++)
            got[i] = -i;
        OK(holdall_array_write(a, SHAPE(10, 5), NULL, NULL, got, 24, NULL, &err));
        OK(holdall_array_read(a, SHAPE(12, 6), NULL, NULL, got, 4, NULL, &err));
        EQUAL(got[0], -5);
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);
    }
    /* without dimensions, and without items */
    holdall_array *a;
    int32_t one = 7;
    OK(array_create(in_tmp("one.b2nd"), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i4", 0, NULL, NULL,
                    NULL, NULL, &a, &err));
    OK(holdall_array_write(a, NULL, NULL, NULL, &one, 4, NULL, &err));
    one = 0;
    OK(holdall_array_read(a, NULL, NULL, NULL, &one, 4, NULL, &err));
    EQUAL(one, 7);
    holdall_array_close(a);
    OK(array_create(in_tmp("none.b2nd"), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i4", 2, SHAPE(0, 3),
                    NULL, NULL, NULL, &a, &err));
    OK(holdall_array_read(a, NULL, NULL, NULL, NULL, 0, NULL, &err));
    holdall_array_close(a);
}

int main(void)
{
    RUN(an_array_reports_its_properties);
    RUN(boxes_are_read);
    RUN(single_items_and_positions_are_read);
    RUN(changes_are_visible_from_the_commit_on);
    RUN(an_array_grows_and_shrinks_along_its_first_dimension);
    RUN(rows_are_inserted_and_removed_in_the_middle);
    RUN(columns_are_inserted_and_removed);
    RUN(positions_are_written);
    RUN(arrays_have_any_number_of_dimensions);
    RUN(an_empty_array_exists);
    RUN(a_large_array_of_zeros_takes_little_space);
    RUN(many_threads_read_one_array);
    RUN(null_selects_all);
    return 0;
}
