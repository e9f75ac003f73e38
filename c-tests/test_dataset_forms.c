/* Arrays in folders in each form that is written: the layouts of bcolz, of BLZ, and of the BLZ
 * RFC. */
#include "check.h"

#define SHAPE(...) ((const uint64_t[]){__VA_ARGS__})

enum { MOST = 4000 };

static const holdall_format forms[] = {HOLDALL_FORMAT_BCOLZ, HOLDALL_FORMAT_BLZ,
                                       HOLDALL_FORMAT_BLZ_RFC};

static holdall_status try_create(const char *name, holdall_mode mode, holdall_format format,
                                 const int64_t *pairs, const void *fill, size_t size,
                                 holdall_array **a)
{
    holdall_options *o = options_of(pairs);
    if (fill != NULL)
        OK(holdall_options_set_bytes(o, HOLDALL_OPT_FILL_VALUE, fill, size, &err));
    preset_error();
    holdall_status status =
        array_create(in_tmp(name), mode, format, "<f8", 1, SHAPE(100), NULL, NULL, o, a, &err);
    holdall_options_free(o);
    return status;
}

static holdall_array *opened(const char *name, holdall_mode mode)
{
    holdall_array *a;
    holdall_options *o = options_of(WITH(HOLDALL_OPT_VERIFY, 2));
    OK(holdall_array_open(in_tmp(name), mode, o, &a, &err));
    holdall_options_free(o);
    return a;
}

/* The expected content of the array. */
static double want[MOST];
static uint64_t n;

static void check_content(const holdall_array *a)
{
    static double got[MOST];
    EQUAL(holdall_array_shape(a)[0], n);
    OK(holdall_array_read(a, SHAPE(0), SHAPE(n), NULL, got, n * 8, NULL, &err));
    CHECK(memcmp(got, want, n * 8) == 0);
}

static void put(uint64_t at, uint64_t count, double from)
{
    for (uint64_t i = 0; i < count; i++)
        want[at + i] = from + (double)i;
}

static void grow(holdall_array *a, uint64_t to, double fill)
{
    OK(holdall_array_resize(a, SHAPE(to), &err));
    while (n < to)
        want[n++] = fill;
}

static void check_fill(const holdall_array *a, double fill)
{
    const void *value;
    size_t size;
    OK(holdall_array_fill_value_get(a, &value, &size, &err));
    CHECK(size == 8 && memcmp(value, &fill, 8) == 0);
}

static void change(holdall_array *a)
{
    put(n, 700, 1000);
    OK(holdall_array_append(a, 0, 700, want + n, 700 * 8, &err));
    n += 700;
    put(60, 90, -5);
    OK(holdall_array_write(a, SHAPE(60), SHAPE(90), NULL, want + 60, 90 * 8, NULL, &err));
    memmove(want + 300 + 33, want + 300, (n - 300) * 8);
    put(300, 33, 0.5);
    OK(holdall_array_insert(a, 0, 300, 33, want + 300, 33 * 8, &err));
    n += 33;
    memmove(want + 10, want + 110, (n - 110) * 8);
    n -= 100;
    OK(holdall_array_remove(a, 0, 10, 100, &err));
    OK(holdall_array_attr_set(a, "unit", "\"m\"", 3, &err));
    check_content(a);
}

static void each_form_is_created_and_changed(void)
{
    for (size_t i = 0; i < 3; i++) {
        now("form %d", forms[i]);
        char name[32];
        snprintf(name, sizeof name, "form%zu", i);
        const double first = 1.5, second = -2.25;
        holdall_array *a;
        const int64_t *options = forms[i] == HOLDALL_FORMAT_BLZ_RFC
                                     ? WITH(HOLDALL_OPT_CHUNK_BYTES, 512,
                                            HOLDALL_OPT_SUPERCHUNK_CHUNKS, 3,
                                            HOLDALL_OPT_SPARE_BYTES, 16)
                                     : WITH(HOLDALL_OPT_CHUNK_BYTES, 512);
        GAVE(HOLDALL_OK, try_create(name, HOLDALL_CREATE, forms[i], options, &first, 8, &a));
        n = 0;
        grow(a, 100, first);
        change(a);
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);

        holdall_format format;
        holdall_kind kind;
        OK(holdall_identify(in_tmp(name), &format, &kind, &err));
        CHECK(format == forms[i] && kind == HOLDALL_KIND_ARRAY);
        a = opened(name, HOLDALL_APPEND);
        check_content(a);
        check_fill(a, first);
        grow(a, n + 50, first);
        OK(holdall_array_fill_value_set(a, &second, 8, &err));
        grow(a, n + 150, second);
        change(a);
        check_fill(a, second);
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);

        a = opened(name, HOLDALL_READ);
        check_content(a);
        check_fill(a, second);
        const void *value;
        size_t size;
        OK(holdall_array_attr_get(a, "unit", &value, &size, &err));
        CHECK(size == 3 && memcmp(value, "\"m\"", 3) == 0);
        GIVES(HOLDALL_E_STATE, holdall_array_fill_value_set(a, &second, 8, &err));
        holdall_array_close(a);
        uint64_t intact = 0, corrupt = 0, unchecked = 0;
        OK(verify_counts(in_tmp(name), NULL, NULL, NULL, &intact, &corrupt, &unchecked, &err));
        CHECK(intact == (n * 8 + 511) / 512 && corrupt == 0 && unchecked == 0);
    }
}

/* The files of the BLZ RFC layout are superchunks by themselves. */
static void files_of_the_blz_rfc_layout_are_superchunks(void)
{
    CHECK(there(in_tmp("form2/meta/attributes")) && !there(in_tmp("form2/__attrs__")) &&
          !there(in_tmp("form2/data/__0.blp")));
    holdall_schunk *s;
    OK(holdall_schunk_open(in_tmp("form2/data/__2__.bin"), HOLDALL_READ, NULL, &s, &err));
    CHECK(holdall_schunk_chunk_count(s) == 3 && holdall_schunk_nbytes(s) == 3 * 512);
    double got[64];
    OK(holdall_schunk_read(s, 0, got, sizeof got, &err));
    CHECK(memcmp(got, want + 3 * 64, sizeof got) == 0);
    holdall_schunk_close(s);
    CHECK(there(in_tmp("form1/__attrs__")) && there(in_tmp("form1/data/__0.blp")) &&
          !there(in_tmp("form1/meta/attributes")));
}

/* Each form replaces each other form. */
static void each_form_replaces_each_other_form(void)
{
    for (size_t i = 0; i < 9; i++) {
        now("form %zu by form %zu", i % 3, i / 3);
        holdall_array *a;
        GAVE(HOLDALL_OK, try_create("replaced", i < 1 ? HOLDALL_CREATE : HOLDALL_REPLACE,
                                    forms[i % 3], WITH(HOLDALL_OPT_CHUNK_BYTES, 64), NULL, 0, &a));
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);
        GAVE(HOLDALL_OK, try_create("replaced", HOLDALL_REPLACE, forms[i / 3],
                                    WITH(HOLDALL_OPT_CHUNK_BYTES, 64), NULL, 0, &a));
        put(0, 100, (double)i);
        n = 100;
        OK(holdall_array_write(a, SHAPE(0), SHAPE(n), NULL, want, n * 8, NULL, &err));
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);
        a = opened("replaced", HOLDALL_READ);
        check_content(a);
        holdall_array_close(a);
        bool blz_rfc = forms[i / 3] == HOLDALL_FORMAT_BLZ_RFC;
        CHECK(there(in_tmp("replaced/data/__0.blp")) != blz_rfc &&
              there(in_tmp("replaced/data/__1__.bin")) == blz_rfc);
        CHECK(there(in_tmp("replaced/__attrs__")) != blz_rfc &&
              there(in_tmp("replaced/meta/attributes")) == blz_rfc);
    }
}

static void invalid_requests_are_refused(void)
{
    holdall_array *a;
    const double fill = 1;
    GAVE(HOLDALL_E_ARGUMENT, try_create("no", HOLDALL_CREATE, HOLDALL_FORMAT_BLZ,
                                        WITH(HOLDALL_OPT_SUPERCHUNK_CHUNKS, 4), NULL, 0, &a));
    CHECK(says("HOLDALL_OPT_SUPERCHUNK_CHUNKS"));
    GAVE(HOLDALL_E_ARGUMENT, try_create("no", HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ,
                                        WITH(HOLDALL_OPT_SPARE_BYTES, 4), NULL, 0, &a));
    GAVE(HOLDALL_E_UNSUPPORTED,
         try_create("no", HOLDALL_CREATE, HOLDALL_FORMAT_BLZ,
                    WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD), NULL, 0, &a));
    GAVE(HOLDALL_E_ARGUMENT, try_create("no", HOLDALL_CREATE, HOLDALL_FORMAT_BLZ,
                                        WITH(HOLDALL_OPT_LEVEL, 5), &fill, 7, &a));
    GAVE(HOLDALL_E_ARGUMENT, try_create("no", HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK,
                                        WITH(HOLDALL_OPT_LEVEL, 5), &fill, 8, &a));
    CHECK(!there(in_tmp("no")));
    /* an append does not change the purpose of a dataset */
    holdall_options *o = options_of(WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_open(in_tmp("form1"), HOLDALL_APPEND, o, &a, &err));
    holdall_options_free(o);
    a = opened("form0", HOLDALL_APPEND);
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_fill_value_set(a, &fill, 4, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_fill_value_set(a, NULL, 8, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_fill_value_set(NULL, &fill, 8, &err));
    OK(holdall_array_fill_value_set(a, NULL, 0, &err));
    const void *value;
    size_t size;
    OK(holdall_array_fill_value_get(a, &value, &size, &err));
    holdall_array_close(a);
    OK(array_create(in_tmp("b.blp"), HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, "<f8", 1, SHAPE(3),
                    NULL, NULL, NULL, &a, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_fill_value_set(a, &fill, 8, &err));
    holdall_array_close(a);
}

/* Items of a 50 x 45 array; item (i, j) is i * 100 + j. */
static void fill_box(int32_t *items, uint64_t rows, uint64_t columns)
{
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < columns; j++)
            items[i * columns + j] = (int32_t)(i * 100 + j);
}

static void chunks_of_any_shape_are_written_in_both_orders(void)
{
    static int32_t items[70 * 50], got[70 * 50];
    for (int order = 0; order < 2; order++) {
        const char *name = order ? "fortran" : "c";
        holdall_options *o = options_of(
            WITH(HOLDALL_OPT_ORDER, order, HOLDALL_OPT_YAML, 1, HOLDALL_OPT_SUPERCHUNK_CHUNKS, 2));
        holdall_array *a;
        OK(array_create(in_tmp(name), HOLDALL_CREATE, HOLDALL_FORMAT_BLZ_RFC, "<i4", 2,
                        SHAPE(50, 45), SHAPE(30, 20), NULL, o, &a, &err));
        holdall_options_free(o);
        fill_box(items, 50, 45);
        OK(holdall_array_write(a, SHAPE(0, 0), SHAPE(50, 45), NULL, items, 50 * 45 * 4, NULL, &err));
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);

        a = opened(name, HOLDALL_APPEND);
        holdall_array_info info = {.struct_size = sizeof info};
        OK(holdall_array_get_info(a, &info, &err));
        CHECK(info.chunk_shape[0] == 30 && info.chunk_shape[1] == 20);
        CHECK(info.order == (order ? HOLDALL_ORDER_F : HOLDALL_ORDER_C));
        OK(holdall_array_resize(a, SHAPE(70, 50), &err));
        fill_box(items, 70, 50);
        OK(holdall_array_write(a, SHAPE(0, 0), SHAPE(70, 50), NULL, items, sizeof items, NULL,
                               &err));
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);

        a = opened(name, HOLDALL_READ);
        OK(holdall_array_read(a, SHAPE(0, 0), SHAPE(70, 50), NULL, got, sizeof got, NULL, &err));
        CHECK(memcmp(got, items, sizeof items) == 0);
        OK(holdall_array_read(a, SHAPE(29, 19), SHAPE(2, 2), NULL, got, 16, NULL, &err));
        CHECK(got[0] == 2919 && got[1] == 2920 && got[2] == 3019 && got[3] == 3020);
        holdall_array_close(a);
    }
}

int main(void)
{
    RUN(chunks_of_any_shape_are_written_in_both_orders);
    RUN(each_form_is_created_and_changed);
    RUN(files_of_the_blz_rfc_layout_are_superchunks);
    RUN(each_form_replaces_each_other_form);
    RUN(invalid_requests_are_refused);
    return 0;
}
