/* Arrays in Blosc2 frames, files and folders, with either metalayer: created, read and written by
 * boxes, steps, strides, points and positions, extended and truncated along every axis; attributes;
 * refused calls; corruption; storage of the caller; a frame within a larger file. */
#include "folder.h"
#include "callbacks.h"

#define SHAPE(...) ((const uint64_t[]){__VA_ARGS__})
#define STRIDES(...) ((const int64_t[]){__VA_ARGS__})

/* Item (i, j, k) is 10000 i + 100 j + k. */
enum { X = 23, Y = 31, Z = 17, ITEMS = X * Y * Z };

static const uint64_t shape[] = {X, Y, Z}, chunk[] = {10, 8, 9}, block[] = {4, 8, 3},
                      origin[] = {0, 0, 0};

static int32_t item(uint64_t i, uint64_t j, uint64_t k)
{
    return (int32_t)(10000 * i + 100 * j + k);
}

static int32_t *content(void)
{
    int32_t *items = malloc(ITEMS * 4), *p = items;
    CHECK(items != NULL);
    for (uint64_t i = 0; i < X; i++)
        for (uint64_t j = 0; j < Y; j++)
            for (uint64_t k = 0; k < Z; k++)
                *p++ = item(i, j, k);
    return items;
}

/* The forms of arrays in this test. */
static const struct {
    const char *name;
    holdall_format format;
    int64_t pairs[10];
} forms[] = {
    {"file.b2nd", HOLDALL_FORMAT_B2ND, {0}},
    {"folder.b2nd", HOLDALL_FORMAT_B2ND, {HOLDALL_OPT_SPARSE, 1}},
    {"file.cat", HOLDALL_FORMAT_CATERVA, {HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD}},
    {"both.b2nd",
     HOLDALL_FORMAT_B2ND,
     {HOLDALL_OPT_BOTH_METALAYERS, 1, HOLDALL_OPT_CODEC, HOLDALL_CODEC_BLOSCLZ}},
    {"plain.b2nd",
     HOLDALL_FORMAT_B2ND,
     {HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE, HOLDALL_OPT_LEVEL, 0}},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static holdall_array *create(const char *path, holdall_mode mode, int form)
{
    holdall_array *a;
    holdall_options *options = options_of(forms[form].pairs);
    OK(array_create(path, mode, forms[form].format, "<i4", 3, shape, chunk, block, options, &a,
                    &err));
    holdall_options_free(options);
    return a;
}

/* Creates an array with its content and commits it. */
static void make(const char *path, int form)
{
    int32_t *items = content();
    holdall_array *a = create(path, HOLDALL_CREATE, form);
    OK(holdall_array_write(a, origin, shape, NULL, items, ITEMS * 4, NULL, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    free(items);
}

static holdall_array *open_array(const char *path, holdall_mode mode)
{
    holdall_array *a;
    OK(holdall_array_open(path, mode, NULL, &a, &err));
    return a;
}

static void check_shape(const holdall_array *a, uint64_t x, uint64_t y, uint64_t z)
{
    EQUAL(holdall_array_ndim(a), 3);
    EQUAL(holdall_array_shape(a)[0], x);
    EQUAL(holdall_array_shape(a)[1], y);
    EQUAL(holdall_array_shape(a)[2], z);
    EQUAL(holdall_array_nbytes(a), x * y * z * 4);
}

/* Does the array have the content of make()? */
static void check_all(const holdall_array *a)
{
    int32_t *want = content(), *got = malloc(ITEMS * 4);
    check_shape(a, X, Y, Z);
    OK(holdall_array_read(a, origin, shape, NULL, got, ITEMS * 4, NULL, &err));
    CHECK(memcmp(got, want, ITEMS * 4) == 0);
    free(got);
    free(want);
}

static int32_t one(const holdall_array *a, uint64_t i, uint64_t j, uint64_t k)
{
    int32_t got = -1;
    OK(holdall_array_read(a, SHAPE(i, j, k), SHAPE(1, 1, 1), NULL, &got, 4, NULL, &err));
    return got;
}

/* ---- tests ------------------------------------------------------------------------------------*/

static void an_array_reports_its_properties(int form)
{
    const char *path = in_tmp(forms[form].name);
    make(path, form);
    holdall_array *a = open_array(path, HOLDALL_READ);
    check_all(a);
    for (int d = 0; d < 3; d++) {
        EQUAL(array_info(a).chunk_shape[d], chunk[d]);
        EQUAL(array_info(a).block_shape[d], block[d]);
    }
    EQUAL(holdall_array_itemsize(a), 4);
    EQUAL(array_info(a).order, HOLDALL_ORDER_C);
    CHECK(strcmp(holdall_array_dtype(a),
                 forms[form].format == HOLDALL_FORMAT_CATERVA ? "|V4" : "<i4") == 0);
    CHECK(array_info(a).stored_bytes > 0);
    holdall_array_close(a);
    holdall_format format;
    holdall_kind kind;
    OK(holdall_identify(path, &format, &kind, &err));
    EQUAL(format, forms[form].format);
    EQUAL(kind, HOLDALL_KIND_ARRAY);
    uint64_t intact = 0, corrupt = 0, unchecked = 0;
    OK(verify_counts(path, NULL, NULL, NULL, &intact, &corrupt, &unchecked, &err));
    bool none = forms[form].pairs[0] == HOLDALL_OPT_CHECKSUM;
    EQUAL(corrupt, 0);
    EQUAL(none ? unchecked : intact, 3 * 4 * 2);
    EQUAL(none ? intact : unchecked, 0);
}

static void boxes_with_steps_and_strides(const holdall_array *a)
{
    int32_t got[5][4][3], turned[3][4][5];
    const uint64_t start[] = {3, 5, 2}, count[] = {5, 4, 3}, step[] = {4, 7, 6};
    OK(holdall_array_read(a, start, count, step, got, sizeof got, NULL, &err));
    /* dimensions in reverse order, and the last one backwards */
    OK(holdall_array_read(a, start, count, step, turned, sizeof turned, STRIDES(4, 20, -80), &err));
    for (uint64_t i = 0; i < 5; i++)
        for (uint64_t j = 0; j < 4; j++)
            for (uint64_t k = 0; k < 3; k++) {
                EQUAL(got[i][j][k], item(3 + 4 * i, 5 + 7 * j, 2 + 6 * k));
                EQUAL(turned[2 - k][j][i], got[i][j][k]);
            }
    int32_t few[4] = {1, 2, 3, 4};
    GIVES(HOLDALL_E_BUFFER, holdall_array_read(a, start, count, step, few, sizeof few, NULL, &err));
    GIVES(HOLDALL_E_RANGE, holdall_array_read(a, SHAPE(22, 0, 0), SHAPE(2, 1, 1), NULL, got,
                                              sizeof got, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_array_read(a, start, count, SHAPE(0, 1, 1), got, sizeof got, NULL, &err));
    OK(holdall_array_read(a, shape, origin, NULL, NULL, 0, NULL, &err));
}

static void points_and_positions(const holdall_array *a)
{
    const uint64_t points[] = {22, 30, 16, 0, 0, 0, 9, 8, 8, 10, 7, 9, 9, 8, 8};
    int32_t got[5];
    OK(holdall_array_read_points(a, points, 5, got, sizeof got, &err));
    for (int i = 0; i < 5; i++)
        EQUAL(got[i], item(points[3 * i], points[3 * i + 1], points[3 * i + 2]));
    GIVES(HOLDALL_E_RANGE,
          holdall_array_read_points(a, SHAPE(0, 0, 0, 0, 31, 0), 2, got, sizeof got, &err));
    EQUAL(err.position, 1);
    const uint64_t rows[] = {22, 0, 10, 10}, columns[] = {3};
    const uint64_t *lists[] = {rows, columns, NULL};
    int32_t product[4][Z];
    OK(holdall_array_read_orthogonal(a, lists, SHAPE(4, 1, 0), product, sizeof product, &err));
    for (int i = 0; i < 4; i++)
        for (uint64_t k = 0; k < Z; k++)
            EQUAL(product[i][k], item(rows[i], 3, k));
}

static void items_are_written(const char *path, bool sealed)
{
    holdall_array *a = open_array(path, HOLDALL_APPEND), *before = open_array(path, HOLDALL_READ),
                  *other;
    GIVES(HOLDALL_E_BUSY, holdall_array_open(path, HOLDALL_APPEND, NULL, &other, &err));
    CHECK(other == NULL);
    int32_t minus[12];
    for (int i = 0; i < 12; i++)
        minus[i] = -1 - i;
    /* every third item, across chunk boundaries */
    OK(holdall_array_write(a, SHAPE(8, 7, 8), SHAPE(2, 2, 3), SHAPE(3, 1, 4), minus, 48, NULL,
                           &err));
    const uint64_t rows[] = {0, 22}, columns[] = {30, 0};
    const uint64_t *lists[] = {rows, columns, columns + 1};
    OK(holdall_array_write_orthogonal(a, lists, SHAPE(2, 2, 1), SHAPE(1, 2), 16, &err));
    GIVES(HOLDALL_E_BUFFER,
          holdall_array_write_orthogonal(a, lists, SHAPE(2, 2, 1), minus, 15, &err));
    EQUAL(one(a, 11, 8, 16), -12);
    EQUAL(one(a, 11, 8, 15), item(11, 8, 15));
    if (sealed)
        check_all(before);
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    holdall_array_close(before);
    a = open_array(path, HOLDALL_READ);
    EQUAL(one(a, 8, 7, 8), -1);
    EQUAL(one(a, 11, 8, 16), -12);
    EQUAL(one(a, 9, 7, 8), item(9, 7, 8));
    GIVES(HOLDALL_E_STATE,
          holdall_array_write(a, origin, SHAPE(1, 1, 1), NULL, minus, 4, NULL, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_resize(a, shape, &err));
    holdall_array_close(a);
}

/* Append, insert, remove and resize along an axis. */
static void axes(const char *path)
{
    static const int32_t blank[X * Y * Z];
    static const uint64_t lengths[] = {10, 8, 9};
    for (uint32_t axis = 0; axis < 3; axis++) {
        holdall_array *a = open_array(path, HOLDALL_APPEND);
        uint64_t n = shape[axis], whole = lengths[axis], slice = ITEMS / n * 4;
        OK(holdall_array_append(a, axis, 3, blank, 3 * slice, &err));
        OK(holdall_array_remove(a, axis, n, 3, &err));
        /* by complete chunks, and by parts of chunks */
        OK(holdall_array_insert(a, axis, whole, whole, blank, whole * slice, &err));
        EQUAL(holdall_array_shape(a)[axis], n + whole);
        EQUAL(one(a, axis == 0 ? whole : 0, axis == 1 ? whole : 0, axis == 2 ? whole : 0), 0);
        EQUAL(one(a, axis == 0 ? 2 * whole : 0, axis == 1 ? 2 * whole - 1 : 0, 0),
              axis == 0   ? item(whole, 0, 0)
              : axis == 1 ? 0
                          : item(0, 0, 0));
        OK(holdall_array_remove(a, axis, whole, whole, &err));
        OK(holdall_array_insert(a, axis, 1, 2, blank, 2 * slice, &err));
        OK(holdall_array_commit(a, &err));
        OK(holdall_array_remove(a, axis, 1, 2, &err));
        GIVES(HOLDALL_E_ARGUMENT, holdall_array_append(a, axis, 1, blank, slice + 4, &err));
        GIVES(HOLDALL_E_ARGUMENT, holdall_array_append(a, 3, 1, blank, slice, &err));
        GIVES(HOLDALL_E_RANGE, holdall_array_remove(a, axis, n, 1, &err));
        GIVES(HOLDALL_E_RANGE, holdall_array_insert(a, axis, n + 1, 1, blank, slice, &err));
        OK(holdall_array_commit(a, &err));
        check_all(a);
        holdall_array_close(a);
        a = open_array(path, HOLDALL_READ);
        check_all(a);
        holdall_array_close(a);
    }
    holdall_array *a = open_array(path, HOLDALL_APPEND);
    OK(holdall_array_resize(a, SHAPE(12, 40, 1), &err));
    check_shape(a, 12, 40, 1);
    OK(holdall_array_commit(a, &err));
    OK(holdall_array_resize(a, shape, &err));
    OK(holdall_array_commit(a, &err));
    /* discarded changes are gone */
    EQUAL(one(a, 11, 30, 0), item(11, 30, 0));
    EQUAL(one(a, 11, 30, 1), 0);
    EQUAL(one(a, 12, 0, 0), 0);
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_resize(a, SHAPE(UINT64_MAX, UINT64_MAX, 2), &err));
    holdall_array_close(a);
}

static void named_values(const char *path)
{
    holdall_array *a = open_array(path, HOLDALL_APPEND);
    const void *value;
    size_t n;
    EQUAL(holdall_array_attr_count(a), 0);
    OK(holdall_array_attr_set(a, "about", "\xa3" "abc", 4, &err));
    OK(holdall_array_attr_set(a, "more", "", 0, &err));
    EQUAL(holdall_array_attr_count(a), 2);
    CHECK(strcmp(holdall_array_attr_name(a, 0), "about") == 0 &&
          holdall_array_attr_name(a, 2) == NULL);
    OK(holdall_array_commit(a, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_attr_set(a, "b2nd", "x", 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_attr_set(a, "holdall.crc32", "x", 1, &err));
    OK(holdall_array_attr_set(a, "more", NULL, 0, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    a = open_array(path, HOLDALL_READ);
    EQUAL(holdall_array_attr_count(a), 1);
    OK(holdall_array_attr_get(a, "about", &value, &n, &err));
    CHECK(n == 4 && memcmp(value, "\xa3" "abc", 4) == 0);
    CHECK(holdall_array_attr_get(a, "nothing", &value, &n, &err) == HOLDALL_NOT_FOUND &&
          value == NULL && n == 0);
    holdall_array_close(a);
}

static void every_form_is_read_and_changed(void)
{
    for (int form = 0; form < FORMS; form++) {
        now("%s", forms[form].name);
        char path[1024];
        snprintf(path, sizeof path, "%s", in_tmp(forms[form].name));
        an_array_reports_its_properties(form);
        holdall_array *a = open_array(path, HOLDALL_READ);
        boxes_with_steps_and_strides(a);
        points_and_positions(a);
        holdall_array_close(a);
        axes(path);
        named_values(path);
        a = open_array(path, HOLDALL_APPEND);
        int32_t *items = content();
        OK(holdall_array_write(a, origin, shape, NULL, items, ITEMS * 4, NULL, &err));
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);
        free(items);
        items_are_written(path, forms[form].pairs[0] != HOLDALL_OPT_CHECKSUM);
        uint64_t retained = 0, dropped = 0;
        OK(repair_counts(path, NULL, &retained, &dropped, &err));
        EQUAL(dropped, 0);
        a = open_array(path, HOLDALL_READ);
        EQUAL(one(a, 11, 8, 16), -12);
        EQUAL(one(a, 22, 29, 16), item(22, 29, 16));
        holdall_array_close(a);
    }
    TIDY();
}

static void arguments_of_create_are_checked(void)
{
    const struct {
        const char *dtype;
        uint32_t ndim;
        const uint64_t *shape, *chunks, *blocks;
        int64_t pairs[4];
        holdall_status want;
    } wrong[] = {
        {"<i4",
         17,
         SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
         NULL,
         NULL,
         {0},
         HOLDALL_E_ARGUMENT},
        {"<i4", 1, NULL, NULL, NULL, {0}, HOLDALL_E_ARGUMENT},
        {NULL, 1, SHAPE(3), NULL, NULL, {0}, HOLDALL_E_ARGUMENT},
        {"<x4", 1, SHAPE(3), NULL, NULL, {0}, HOLDALL_E_TYPE},
        {"O", 1, SHAPE(3), NULL, NULL, {0}, HOLDALL_E_UNSUPPORTED},
        {"|S0", 1, SHAPE(3), NULL, NULL, {0}, HOLDALL_E_UNSUPPORTED},
        {"<i4", 1, SHAPE(3), SHAPE(0), NULL, {0}, HOLDALL_E_ARGUMENT},
        {"<i4", 1, SHAPE(3), SHAPE(UINT64_C(1) << 29), NULL, {0}, HOLDALL_E_ARGUMENT},
        {"<i4", 2, SHAPE(UINT64_MAX, UINT64_MAX), NULL, NULL, {0}, HOLDALL_E_ARGUMENT},
        {"<i4", 1, SHAPE(UINT64_C(1) << 61), SHAPE(1), NULL, {0}, HOLDALL_E_LIMIT},
        {"<i4", 1, SHAPE(3), SHAPE(2), NULL, {HOLDALL_OPT_CHUNK_BYTES, 8}, HOLDALL_E_ARGUMENT},
        {"<i4", 1, SHAPE(3), NULL, SHAPE(2), {HOLDALL_OPT_BLOCK_BYTES, 8}, HOLDALL_E_ARGUMENT},
        {"<i4", 1, SHAPE(3), NULL, NULL, {HOLDALL_OPT_SPARE_BYTES, 8}, HOLDALL_E_ARGUMENT},
        {"<i4",
         1,
         SHAPE(3),
         NULL,
         NULL,
         {HOLDALL_OPT_CODEC, HOLDALL_CODEC_SNAPPY},
         HOLDALL_E_UNSUPPORTED},
        {"<i4",
         1,
         SHAPE(3),
         NULL,
         NULL,
         {HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_MD5},
         HOLDALL_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        now("case %zu", i);
        holdall_options *options = options_of(wrong[i].pairs);
        holdall_array *a = (void *)1;
        GIVES(wrong[i].want, array_create(in_tmp("w"), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND,
                                          wrong[i].dtype, wrong[i].ndim, wrong[i].shape,
                                          wrong[i].chunks, wrong[i].blocks, options, &a, &err));
        CHECK(a == NULL && !there(in_tmp("w")));
        holdall_options_free(options);
    }
    holdall_array *a;
    make(in_tmp("taken"), 0);
    GIVES(HOLDALL_E_EXISTS, array_create(in_tmp("taken"), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND,
                                         "<i4", 3, shape, NULL, NULL, NULL, &a, &err));
    GIVES(HOLDALL_E_ARGUMENT, array_create(in_tmp("taken"), HOLDALL_APPEND, HOLDALL_FORMAT_B2ND,
                                           "<i4", 3, shape, NULL, NULL, NULL, &a, &err));
    /* committed content stays until the commit */
    a = create(in_tmp("taken"), HOLDALL_REPLACE, 0);
    holdall_array *old = open_array(in_tmp("taken"), HOLDALL_READ);
    check_all(old);
    OK(holdall_array_commit(a, &err));
    check_all(old);
    holdall_array_close(old);
    holdall_array_close(a);
    a = open_array(in_tmp("taken"), HOLDALL_READ);
    EQUAL(one(a, 22, 30, 16), 0);
    holdall_array_close(a);
    TIDY();
}

static void arrays_have_any_number_of_dimensions(void)
{
    uint64_t twos[HOLDALL_MAX_NDIM], zeros[HOLDALL_MAX_NDIM] = {0};
    for (int d = 0; d < HOLDALL_MAX_NDIM; d++)
        twos[d] = 2;
    for (uint32_t ndim = 0; ndim <= HOLDALL_MAX_NDIM; ndim += ndim < 3 ? 1 : 13) {
        size_t n = (size_t)1 << ndim;
        uint16_t *items = malloc(2 * n), *got = malloc(2 * n);
        for (size_t i = 0; i < n; i++)
            items[i] = (uint16_t)(3 * i + 1);
        holdall_array *a;
        OK(array_create(in_tmp("n"), HOLDALL_REPLACE, HOLDALL_FORMAT_B2ND, ">u2", ndim, twos, NULL,
                        NULL, NULL, &a, &err));
        OK(holdall_array_write(a, zeros, twos, NULL, items, 2 * n, NULL, &err));
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);
        a = open_array(in_tmp("n"), HOLDALL_READ);
        EQUAL(holdall_array_ndim(a), ndim);
        OK(holdall_array_read(a, zeros, twos, NULL, got, 2 * n, NULL, &err));
        CHECK(memcmp(items, got, 2 * n) == 0);
        CHECK(strcmp(holdall_array_dtype(a), ">u2") == 0);
        holdall_array_close(a);
        free(items);
        free(got);
    }
    /* dimensions of 0 */
    holdall_array *a;
    OK(array_create(in_tmp("zero"), HOLDALL_CREATE, HOLDALL_FORMAT_CATERVA, "|S3", 2, SHAPE(0, 4),
                    NULL, NULL, NULL, &a, &err));
    OK(holdall_array_commit(a, &err));
    EQUAL(holdall_array_nbytes(a), 0);
    OK(holdall_array_append(a, 0, 2, "abcdefghijklmnopqrstuvwx", 24, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    a = open_array(in_tmp("zero"), HOLDALL_READ);
    char text[3];
    OK(holdall_array_read(a, SHAPE(1, 3), SHAPE(1, 1), NULL, text, 3, NULL, &err));
    CHECK(memcmp(text, "vwx", 3) == 0);
    holdall_array_close(a);
}

static void a_constant_array_takes_no_space(void)
{
    const double values[] = {0, 1.5};
    for (int v = 0; v < 2; v++) {
        holdall_options *options = holdall_options_new();
        holdall_array *a;
        OK(holdall_options_set_bytes(options, HOLDALL_OPT_FILL_VALUE, &values[v], 8, &err));
        OK(array_create(in_tmp("f"), HOLDALL_REPLACE, HOLDALL_FORMAT_B2ND, "<f8", 2,
                        SHAPE(4000, 4000), NULL, NULL, options, &a, &err));
        holdall_options_free(options);
        OK(holdall_array_commit(a, &err));
        CHECK(file_size(in_tmp("f")) < 4000);
        double got[2];
        OK(holdall_array_read(a, SHAPE(0, 3999), SHAPE(2, 1), SHAPE(3999, 1), got, 16, NULL, &err));
        CHECK(got[0] == values[v] && got[1] == values[v]);
        GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_fill_value_set(a, values, 8, &err));
        holdall_array_close(a);
    }
}

static void copies_have_the_same_content(void)
{
    make(in_tmp("source"), 1);
    holdall_array *a = open_array(in_tmp("source"), HOLDALL_READ), *copy;
    const holdall_format formats[] = {HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_BCOLZ,
                                      HOLDALL_FORMAT_BLZ,       HOLDALL_FORMAT_BLZ_RFC,
                                      HOLDALL_FORMAT_CATERVA,   HOLDALL_FORMAT_B2ND};
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        char there_name[32], back_name[32];
        snprintf(there_name, sizeof there_name, "there%zu", f);
        snprintf(back_name, sizeof back_name, "back%zu", f);
        progress_log t = {0};
        holdall_options *options = holdall_options_new();
        holdall_options_set_progress(options, progress, &t);
        OK(array_copy(a, in_tmp(there_name), HOLDALL_CREATE, formats[f], NULL, NULL, options,
                      &err));
        CHECK(t.calls > 0 && t.last == t.total);
        holdall_options_free(options);
        copy = open_array(in_tmp(there_name), HOLDALL_READ);
        check_all(copy);
        OK(array_copy(copy, in_tmp(back_name), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, SHAPE(5, 31, 2),
                      SHAPE(5, 4, 1), NULL, &err));
        holdall_array_close(copy);
        copy = open_array(in_tmp(back_name), HOLDALL_READ);
        check_all(copy);
        EQUAL(array_info(copy).chunk_shape[1], 31);
        EQUAL(array_info(copy).block_shape[2], 1);
        holdall_array_close(copy);
    }
    GIVES(HOLDALL_E_UNSUPPORTED, array_copy(a, in_tmp("x"), HOLDALL_CREATE,
                                            HOLDALL_FORMAT_BLOSCPACK, NULL, block, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, array_copy(a, in_tmp("source"), HOLDALL_REPLACE, HOLDALL_FORMAT_B2ND,
                                         NULL, NULL, NULL, &err));
    progress_log t = {.stop_at = 1};
    holdall_options *options = holdall_options_new();
    holdall_options_set_progress(options, progress, &t);
    GIVES(HOLDALL_E_CANCELLED, array_copy(a, in_tmp("x"), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND,
                                          chunk, NULL, options, &err));
    CHECK(!there(in_tmp("x")));
    holdall_options_free(options);
    holdall_array_close(a);
}

static void null_is_an_argument_error(void)
{
    holdall_array *a;
    make(in_tmp("null"), 0);
    GIVES(HOLDALL_E_ARGUMENT, array_create(NULL, HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i4", 3,
                                           shape, NULL, NULL, NULL, &a, &err));
    GIVES(HOLDALL_E_ARGUMENT, array_create(in_tmp("y"), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i4",
                                           3, shape, NULL, NULL, NULL, NULL, &err));
    a = open_array(in_tmp("null"), HOLDALL_APPEND);
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_array_write(a, origin, shape, NULL, NULL, ITEMS * 4, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_resize(a, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_append(a, 0, 1, NULL, Y * Z * 4, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_attr_set(a, NULL, "x", 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_read_points(a, NULL, 1, a, 4, &err));
    check_all(a);
    holdall_array_close(a);
}

/* ---- storage ----------------------------------------------------------------------------------*/

static void storage_of_the_caller_works(void)
{
    for (int form = 0; form < 2; form++) {
        folder f = FOLDER;
        holdall_storage_functions table = folder_functions(&f);
        holdall_storage *io;
        holdall_array *a;
        OK(holdall_storage_from_functions(&table, &io, &err));
        GIVES(HOLDALL_E_MISSING, array_open_io(io, HOLDALL_READ, NULL, &a, &err));
        holdall_options *options = options_of(forms[form].pairs);
        if (form == 1) {
            /* existing content could be written over */
            holdall_storage *blind;
            table.list = NULL;
            OK(holdall_storage_from_functions(&table, &blind, &err));
            GIVES(HOLDALL_E_UNSUPPORTED,
                  array_create_io(blind, HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i4", 3, shape,
                                  chunk, block, options, &a, &err));
            CHECK(strstr(err.message, "list") != NULL);
            holdall_storage_free(blind);
        }
        OK(array_create_io(io, HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i4", 3, shape, chunk, block,
                           options, &a, &err));
        int32_t *items = content();
        OK(holdall_array_write(a, origin, shape, NULL, items, ITEMS * 4, NULL, &err));
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);
        CHECK(folder_find(&f, form == 0 ? "" : "chunks.b2frame") != NULL);
        OK(array_open_io(io, HOLDALL_APPEND, NULL, &a, &err));
        check_all(a);
        OK(holdall_array_resize(a, SHAPE(X, Y, Z + 1), &err));
        OK(holdall_array_commit(a, &err));
        OK(holdall_array_resize(a, shape, &err));
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);
        OK(array_open_io(io, HOLDALL_READ, NULL, &a, &err));
        holdall_storage_free(io);
        check_all(a);
        holdall_array_close(a);
        /* the same handle reads only the bytes that it needs */
        holdall_options_free(options);
        free(items);
        folder_clear(&f);
    }
}

static void a_frame_is_read_within_a_larger_file(void)
{
    make(in_tmp("inner"), 0);
    size_t n;
    uint8_t *bytes = load(in_tmp("inner"), &n), *more = malloc(n + 1500);
    memset(more, 0xAB, n + 1500);
    memcpy(more + 1234, bytes, n);
    save(in_tmp("outer"), more, n + 1500);
    holdall_array *a;
    holdall_options *options = options_of(WITH(HOLDALL_OPT_FRAME_OFFSET, 1234));
    OK(holdall_array_open(in_tmp("outer"), HOLDALL_READ, options, &a, &err));
    check_all(a);
    holdall_array_close(a);
    GIVES(HOLDALL_E_UNSUPPORTED,
          holdall_array_open(in_tmp("outer"), HOLDALL_APPEND, options, &a, &err));
    uint64_t intact = 0, corrupt = 0, unchecked = 0;
    OK(verify_counts(in_tmp("outer"), options, NULL, NULL, &intact, &corrupt, &unchecked, &err));
    EQUAL(intact, 24);
    holdall_options_free(options);
    /* in memory */
    holdall_storage *io;
    OK(holdall_storage_from_memory(bytes, n, &io, &err));
    OK(array_open_io(io, HOLDALL_READ, NULL, &a, &err));
    check_all(a);
    holdall_array_close(a);
    holdall_storage_free(io);
    free(bytes);
    free(more);
}

/* ---- corruption -------------------------------------------------------------------------------*/

/* Every flipped bit and every truncation of a file with checksums is reported, or changes
 * nothing. */
static void corruption_is_reported(void)
{
    make(in_tmp("d"), 0);
    size_t n;
    uint8_t *bytes = load(in_tmp("d"), &n);
    int32_t *want = content(), *got = malloc(ITEMS * 4);
    int reported = 0;
    for (size_t i = 0; i < n; i += slow() ? 37 : 5) {
        bytes[i] ^= (uint8_t)(1 << i % 8);
        save(in_tmp("d"), bytes, n);
        bytes[i] ^= (uint8_t)(1 << i % 8);
        now("byte %zu", i);
        holdall_array *a;
        holdall_status status = holdall_array_open(in_tmp("d"), HOLDALL_READ, NULL, &a, &err);
        if (status == HOLDALL_OK) {
            check_shape(a, X, Y, Z);
            status = holdall_array_read(a, origin, shape, NULL, got, ITEMS * 4, NULL, &err);
            holdall_array_close(a);
        }
        if (status == HOLDALL_OK)
            CHECK(memcmp(got, want, ITEMS * 4) == 0);
        else
            reported++;
    }
    CHECK(reported > 100);
    for (size_t i = 0; i < n; i += slow() ? 397 : 41) {
        save(in_tmp("d"), bytes, i);
        now("%zu bytes", i);
        holdall_array *a;
        CHECK(holdall_array_open(in_tmp("d"), HOLDALL_READ, NULL, &a, &err) < 0 && a == NULL);
    }
    /* one chunk: the others are unchanged */
    size_t at = n / 2;
    bytes[at] ^= 0xFF;
    save(in_tmp("d"), bytes, n);
    uint64_t intact = 0, corrupt = 0, unchecked = 0;
    CHECK(verify_counts(in_tmp("d"), NULL, NULL, NULL, &intact, &corrupt, &unchecked, &err) < 0);
    EQUAL(intact + corrupt, 24);
    EQUAL(corrupt, 1);
    holdall_array *a;
    holdall_options *options = options_of(WITH(HOLDALL_OPT_SKIP_DAMAGED, 1));
    OK(holdall_array_open(in_tmp("d"), HOLDALL_READ, options, &a, &err));
    GIVES(HOLDALL_DAMAGED, holdall_array_read(a, origin, shape, NULL, got, ITEMS * 4, NULL, &err));
    int wrong = 0;
    for (int i = 0; i < ITEMS; i++) {
        CHECK(got[i] == want[i] || got[i] == 0);
        wrong += got[i] != want[i];
    }
    CHECK(wrong > 0 && wrong <= 10 * 8 * 9);
    holdall_array_close(a);
    holdall_options_free(options);
    uint64_t retained = 0, dropped = 0;
    OK(repair_counts(in_tmp("d"), NULL, &retained, &dropped, &err));
    EQUAL(retained, 23);
    EQUAL(dropped, 1);
    a = open_array(in_tmp("d"), HOLDALL_READ);
    int32_t *again = malloc(ITEMS * 4);
    OK(holdall_array_read(a, origin, shape, NULL, again, ITEMS * 4, NULL, &err));
    CHECK(memcmp(got, again, ITEMS * 4) == 0);
    holdall_array_close(a);
    free(again);
    free(bytes);
    free(want);
    free(got);
}

int main(void)
{
    RUN(every_form_is_read_and_changed);
    RUN(arguments_of_create_are_checked);
    RUN(arrays_have_any_number_of_dimensions);
    RUN(a_constant_array_takes_no_space);
    RUN(copies_have_the_same_content);
    RUN(null_is_an_argument_error);
    RUN(storage_of_the_caller_works);
    RUN(a_frame_is_read_within_a_larger_file);
    RUN(corruption_is_reported);
    return 0;
}
