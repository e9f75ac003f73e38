/* Slices of arrays, tables and bags, their copies, and checksums of arrays. */
#include "small_array.h"

#define STEPS(...) ((const int64_t[]){__VA_ARGS__})

static void same_checksum(const holdall_array *a, const holdall_array *b)
{
    uint8_t of_a[32], of_b[32];
    size_t n, m;
    OK(holdall_array_checksum(a, HOLDALL_CHECKSUM_SHA256, of_a, sizeof of_a, &n, &err));
    OK(holdall_array_checksum(b, HOLDALL_CHECKSUM_SHA256, of_b, sizeof of_b, &m, &err));
    CHECK(n == 32 && m == 32 && memcmp(of_a, of_b, 32) == 0);
}

static void an_array_has_slices(void)
{
    create_matrix(in_tmp("a.blp"), HOLDALL_CREATE);
    holdall_array *a = open_array(in_tmp("a.blp"), HOLDALL_READ), *s, *t, *flat, *c;
    OK(holdall_array_slice(a, SHAPE(299, 3), SHAPE(100, 5), STEPS(-2, 1), &s, &err));
    OK(holdall_array_slice(s, SHAPE(1, 4), SHAPE(1, 5), STEPS(1, -1), &t, &err));
    OK(holdall_array_squeeze(t, 0, &flat, &err));
    holdall_array_close(a);
    check_shape(s, 100, 5);
    int32_t got[5];
    OK(holdall_array_read(s, SHAPE(99, 0), SHAPE(1, 5), NULL, got, sizeof got, NULL, &err));
    for (int32_t j = 0; j < 5; j++)
        EQUAL(got[j], 100 * (299 - 2 * 99) + 3 + j);
    EQUAL(holdall_array_ndim(flat), 1);
    EQUAL(holdall_array_shape(flat)[0], 5);
    OK(holdall_array_read(flat, NULL, NULL, NULL, got, sizeof got, NULL, &err));
    for (int32_t j = 0; j < 5; j++)
        EQUAL(got[j], 100 * 297 + 7 - j);
    GIVES(HOLDALL_E_STATE, holdall_array_write(flat, NULL, NULL, NULL, got, sizeof got, NULL, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_refresh(flat, &err));
    /* the content, the dtype, the shape */
    uint8_t want[32], sum[32], bytes[40] = "<i4\0\1\0\0\0\0\0\0\0\5";
    size_t n;
    memcpy(bytes + 20, got, sizeof got);
    OK(holdall_checksum_compute(HOLDALL_CHECKSUM_MD5, bytes, sizeof bytes, want, 32, &n, &err));
    OK(holdall_array_checksum(flat, HOLDALL_CHECKSUM_MD5, NULL, 0, &n, &err));
    EQUAL(n, 16);
    GIVES(HOLDALL_E_BUFFER, holdall_array_checksum(flat, HOLDALL_CHECKSUM_MD5, sum, 15, &n, &err));
    OK(holdall_array_checksum(flat, HOLDALL_CHECKSUM_MD5, sum, 16, &n, &err));
    CHECK(memcmp(sum, want, 16) == 0);
    /* copies, in every format */
    static const holdall_format formats[] = {HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_BCOLZ,
                                             HOLDALL_FORMAT_BLZ, HOLDALL_FORMAT_BLZ_RFC,
                                             HOLDALL_FORMAT_B2ND};
    static const char *const names[] = {"copy.blp", "copy.bcolz", "copy.blz", "copy.rfc", "copy.b2nd"};
    for (size_t i = 0; i < COUNT(formats); i++) {
        OK(array_copy(s, in_tmp(names[i]), HOLDALL_CREATE, formats[i], NULL, NULL, NULL, &err));
        c = open_array(in_tmp(names[i]), HOLDALL_READ);
        same_checksum(s, c);
        holdall_array_close(c);
    }
    GIVES(HOLDALL_E_ARGUMENT, array_copy(s, in_tmp("a.blp"), HOLDALL_REPLACE,
                                         HOLDALL_FORMAT_BLOSCPACK, NULL, NULL, NULL, &err));
    holdall_array_close(s);
    holdall_array_close(t);
    holdall_array_close(flat);
}

static void invalid_slices_are_refused(void)
{
    holdall_array *a = open_array(in_tmp("a.blp"), HOLDALL_APPEND), *s;
    GIVES(HOLDALL_E_RANGE,
          holdall_array_slice(a, SHAPE(0, 0), SHAPE(ROWS + 1, 1), NULL, &s, &err));
    CHECK(s == NULL);
    GIVES(HOLDALL_E_RANGE, holdall_array_slice(a, SHAPE(ROWS + 1, 0), NULL, NULL, &s, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_slice(a, NULL, NULL, STEPS(0, 1), &s, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_squeeze(a, 0, &s, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_expand_dims(a, 3, &s, &err));
    OK(holdall_array_slice(a, NULL, NULL, STEPS(-7, -1), &s, &err));
    check_shape(s, (ROWS - 1) / 7 + 1, COLUMNS);
    int32_t got;
    OK(holdall_array_read(s, NULL, SHAPE(1, 1), NULL, &got, 4, NULL, &err));
    EQUAL(got, 100 * (ROWS - 1) + COLUMNS - 1);
    /* as long as a slice is open, nothing changes */
    GIVES(HOLDALL_E_STATE,
          holdall_array_write(a, NULL, SHAPE(1, 1), NULL, &got, 4, NULL, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_commit(a, &err));
    holdall_array_close(s);
    OK(holdall_array_write(a, NULL, SHAPE(1, 1), NULL, "\0\0\0\0", 4, NULL, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
}

static int stop_at_once(void *ctx, uint64_t done, uint64_t total)
{
    (void)done;
    *(uint64_t *)ctx = total;
    return 1;
}

static void a_copy_of_a_slice_can_be_cancelled(void)
{
    holdall_array *a = open_array(in_tmp("a.blp"), HOLDALL_READ), *s;
    OK(holdall_array_slice(a, NULL, SHAPE(10, COLUMNS), NULL, &s, &err));
    uint64_t total = 0;
    holdall_options *options = holdall_options_new();
    holdall_options_set_progress(options, stop_at_once, &total);
    GIVES(HOLDALL_E_CANCELLED, array_copy(s, in_tmp("no.b2nd"), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND,
                                          NULL, NULL, options, &err));
    EQUAL(total, 10 * COLUMNS * 4);
    CHECK(!there(in_tmp("no.b2nd")));
    holdall_options_free(options);
    holdall_array_close(s);
    holdall_array_close(a);
    unlink(in_tmp("a.blp"));
    TIDY();
}

static void a_table_has_slices(void)
{
    const char *names[] = {"i", "s"}, *dtypes[] = {"<i4", "|S3"}, *one[] = {"s"};
    const holdall_table_spec spec = {sizeof spec, names, dtypes, HOLDALL_FORMAT_BCOLZ, 2};
    holdall_table *t, *s, *c;
    OK(holdall_table_create(in_tmp("t"), HOLDALL_CREATE, &spec, NULL, &t, &err));
    int32_t numbers[] = {1, 2, 3, 4};
    const void *columns[] = {numbers, "aaabbbcccddd"};
    const size_t sizes[] = {sizeof numbers, 12};
    OK(holdall_table_append(t, 4, columns, sizes, &err));
    OK(holdall_table_attr_set(t, "unit", "\"m\"", 3, &err));
    OK(holdall_table_commit(t, &err));
    OK(holdall_table_slice(t, 3, 2, -2, 1, one, &s, &err));
    GIVES(HOLDALL_E_STATE, holdall_table_append(t, 4, columns, sizes, &err));
    GIVES(HOLDALL_E_RANGE, holdall_table_slice(t, 3, 2, 1, 1, one, &c, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_slice(t, 0, 2, 1, 1, NULL, &c, &err));
    holdall_table_close(t);
    for (int i = 0; i < 2; i++) {
        EQUAL(holdall_table_row_count(s), 2);
        EQUAL(holdall_table_column_count(s), 1);
        char got[6];
        void *dsts[] = {got};
        OK(holdall_table_read_rows(s, 0, 2, 1, 1, NULL, dsts, (size_t[]){6}, &err));
        CHECK(memcmp(got, "dddbbb", 6) == 0);
        const void *value;
        size_t n;
        OK(holdall_table_attr_get(s, "unit", &value, &n, &err));
        if (i == 0) {
            OK(holdall_table_copy(s, in_tmp("copy"), HOLDALL_CREATE, HOLDALL_FORMAT_BLZ, NULL, &err));
            holdall_table_close(s);
            OK(holdall_table_open(in_tmp("copy"), HOLDALL_READ, NULL, &s, &err));
        }
    }
    holdall_table_close(s);
    TIDY();
}

static void records_are_copied(void)
{
    holdall_bag_writer *w;
    OK(holdall_bag_writer_open(in_tmp("a.bagz"), HOLDALL_CREATE, NULL, &w, &err));
    for (uint64_t i = 0; i < 50; i++)
        OK(holdall_bag_writer_append(w, &i, sizeof i, &err));
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    holdall_bag *bag, *slice, *c;
    OK(holdall_bag_open(in_tmp("a.bagz"), NULL, &bag, &err));
    OK(holdall_bag_slice(bag, 40, 20, -2, &slice, &err));
    OK(holdall_bag_copy(slice, NULL, 0, in_tmp("b.bag"), HOLDALL_CREATE, NULL, &err));
    OK(holdall_bag_copy(slice, SHAPE(3, 3, 0), 3, in_tmp("b.bag"), HOLDALL_APPEND, NULL, &err));
    GIVES(HOLDALL_E_EXISTS,
          holdall_bag_copy(slice, NULL, 0, in_tmp("b.bag"), HOLDALL_CREATE, NULL, &err));
    GIVES(HOLDALL_E_RANGE,
          holdall_bag_copy(slice, SHAPE(3, 20), 2, in_tmp("b.bag"), HOLDALL_APPEND, NULL, &err));
    EQUAL(err.position, 1);
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_bag_copy(slice, NULL, 0, in_tmp("c.bag"), HOLDALL_READ, NULL, &err));
    OK(holdall_bag_open(in_tmp("b.bag"), NULL, &c, &err));
    EQUAL(holdall_bag_record_count(c), 23);
    for (uint64_t i = 0; i < 23; i++) {
        uint64_t got, at = i < 20 ? i : (uint64_t[]){3, 3, 0}[i - 20];
        size_t n;
        OK(holdall_bag_read(c, i, &got, sizeof got, &n, &err));
        EQUAL(got, 40 - 2 * at);
    }
    holdall_bag_close(c);
    holdall_bag_close(slice);
    holdall_bag_close(bag);
}

int main(void)
{
    an_array_has_slices();
    invalid_slices_are_refused();
    a_copy_of_a_slice_can_be_cancelled();
    a_table_has_slices();
    records_are_copied();
    return 0;
}
