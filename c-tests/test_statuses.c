/* Statuses above 0: items that do not exist, the end of a stream, and results in which corrupt
 * parts were replaced. */
#include "folder.h"

static holdall_options *skipping(void)
{
    return options_of(WITH(HOLDALL_OPT_SKIP_DAMAGED, 1));
}

/* Changes bytes in the middle of a file. */
static void harm(const char *path)
{
    size_t n;
    uint8_t *bytes = load(path, &n);
    for (size_t i = n / 2; i < n / 2 + 8; i++)
        bytes[i] ^= 0xFF;
    save(path, bytes, n);
    free(bytes);
}

static void absent_items_are_not_found(void)
{
    static const uint64_t shape[] = {2};
    static const char *const names[] = {"x"}, *const dtypes[] = {"<i4"};
    const void *value = "";
    size_t n = 9;
    holdall_schunk *s;
    OK(holdall_schunk_create(in_tmp("s"), HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 1, NULL, &s,
                             &err));
    GIVES(HOLDALL_NOT_FOUND, holdall_schunk_attr_get(s, "none", &value, &n, &err));
    CHECK(value == NULL && n == 0);
    holdall_schunk_close(s);
    holdall_array *a;
    OK(array_create(in_tmp("a"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, "<i4", 1, shape, NULL, NULL,
                    NULL, &a, &err));
    value = "", n = 9;
    GIVES(HOLDALL_NOT_FOUND, holdall_array_attr_get(a, "none", &value, &n, &err));
    CHECK(value == NULL && n == 0);
    /* a fill value of zeros is a fill value */
    value = "", n = 9;
    OK(holdall_array_fill_value_get(a, &value, &n, &err));
    CHECK(value == NULL && n == 0);
    OK(holdall_array_fill_value_set(a, "\7\0\0\0", 4, &err));
    OK(holdall_array_fill_value_get(a, &value, &n, &err));
    CHECK(value != NULL && n == 4 && memcmp(value, "\7\0\0\0", 4) == 0);
    OK(holdall_array_fill_value_set(a, NULL, 0, &err));
    OK(holdall_array_fill_value_get(a, &value, &n, &err));
    CHECK(value == NULL && n == 0);
    holdall_array_close(a);
    holdall_table *t;
    OK(table_create(in_tmp("t"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, 1, names, dtypes, NULL, &t,
                    &err));
    value = "", n = 9;
    GIVES(HOLDALL_NOT_FOUND, holdall_table_attr_get(t, "none", &value, &n, &err));
    CHECK(value == NULL && n == 0);
    holdall_table_close(t);

    write_bag(in_tmp("keys.bag"), HOLDALL_CREATE, NULL, 10);
    holdall_bag *bag = open_bag(in_tmp("keys.bag"), NULL);
    holdall_bag_index *index;
    OK(holdall_bag_index_build(bag, NULL, &index, &err));
    uint64_t record = 77, records[3] = {77, 77, 77}, offsets[] = {0, 4, 4, 4};
    GIVES(HOLDALL_NOT_FOUND, holdall_bag_index_find_first(index, "none", 4, &record, &err));
    CHECK(record == HOLDALL_NO_RECORD);
    GIVES(HOLDALL_NOT_FOUND, holdall_bag_index_find(index, "none", 4, records, 3, &n, &err));
    EQUAL(n, 0);
    GIVES(HOLDALL_NOT_FOUND, holdall_bag_index_find_many(index, "none", offsets, 2, records, &err));
    CHECK(records[0] == HOLDALL_NO_RECORD && records[1] == 3 && records[2] == 77);
    OK(holdall_bag_index_find_many(index, "none", offsets + 1, 2, records, &err));
    OK(holdall_bag_index_find_many(index, NULL, NULL, 0, records, &err));
    holdall_bag_index_close(index);
    holdall_bag_close(bag);
}

/* ---- the end ----------------------------------------------------------------------------------*/

/* Returns two numbers, then this status. */
static int after_two(void *ctx, uint64_t *index)
{
    int *calls = ctx;
    *index = (uint64_t)calls[0];
    return calls[0]++ < 2 ? HOLDALL_OK : calls[1];
}

static void the_end_of_a_stream_is_a_status(void)
{
    write_bag(in_tmp("end.bag"), HOLDALL_CREATE, NULL, 3);
    holdall_bag *bag = open_bag(in_tmp("end.bag"), NULL);
    /* HOLDALL_END, and every other number above 0; an error is not an end */
    static const int ends[] = {HOLDALL_END, HOLDALL_NOT_FOUND, HOLDALL_DAMAGED, 1000, -1};
    for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
        now("%d", ends[k]);
        int calls[2] = {0, ends[k]};
        holdall_bag_stream *stream;
        const void *record = &calls;
        size_t n = 77;
        OK(holdall_bag_stream_open(bag, after_two, calls, NULL, &stream, &err));
        for (int i = 0; i < 2; i++)
            OK(holdall_bag_stream_next(stream, &record, &n, &err));
        record = &calls, n = 77;
        holdall_status end = ends[k] > 0 ? HOLDALL_END : HOLDALL_E_CALLBACK;
        GIVES(end, holdall_bag_stream_next(stream, &record, &n, &err));
        GIVES(end, holdall_bag_stream_next(stream, &record, &n, &err));
        CHECK(record == &calls && n == 77);
        holdall_records *records = (holdall_records *)(void *)&calls;
        GIVES(end, holdall_bag_stream_take(stream, 5, &records, &err));
        CHECK(records == NULL);
        holdall_bag_stream_close(stream);
    }
    holdall_bag_close(bag);
    holdall_epoch *epoch;
    uint64_t index = 77;
    OK(holdall_epoch_new(2, 1, 0, 0, 1, &epoch, &err));
    for (int i = 0; i < 2; i++)
        EQUAL(holdall_epoch_next(epoch, &index), HOLDALL_OK);
    index = 77;
    EQUAL(holdall_epoch_next(epoch, &index), HOLDALL_END);
    EQUAL(holdall_epoch_next(epoch, &index), HOLDALL_END);
    EQUAL(index, 77);
    holdall_epoch_free(epoch);
}

/* ---- corrupt parts ----------------------------------------------------------------------------*/

static void *given(void *ctx, size_t n)
{
    CHECK(n <= 1 << 16);
    return ctx;
}

/* A bag of a hundred records, one of which is corrupt. */
static void corrupt_records_are_skipped_on_request(void)
{
    static uint8_t bytes[1 << 16];
    for (int k = 0; k < 2; k++) {
        const char *path = in_tmp(k ? "corrupt.bagz" : "corrupt.bag");
        now("%s", path);
        write_bag(path, HOLDALL_CREATE, NULL, 100);
        harm(path);
        holdall_options *o = skipping();
        holdall_bag *bag;
        OK(holdall_bag_open(path, o, &bag, &err));
        holdall_options_free(o);
        uint64_t corrupt = UINT64_MAX, indices[3], offsets[101];
        size_t n;
        for (uint64_t i = 0; i < 100; i++) {
            preset_error();
            holdall_status status = holdall_bag_read(bag, i, bytes, sizeof bytes, &n, &err);
            if (status == HOLDALL_DAMAGED) {
                EQUAL(n, 0);
                corrupt = i;
            } else {
                GAVE(HOLDALL_OK, status);
            }
        }
        CHECK(corrupt < 99);
        OK(holdall_bag_read(bag, corrupt + 1, bytes, sizeof bytes, &n, &err));
        holdall_records *records;
        GIVES(HOLDALL_DAMAGED, holdall_bag_read_range(bag, 0, 100, &records, &err));
        EQUAL(holdall_records_damaged_count(records), 1);
        EQUAL(holdall_records_damaged_positions(records)[0], corrupt);
        holdall_records_free(records);
        OK(holdall_bag_read_range(bag, corrupt + 1, 2, &records, &err));
        EQUAL(holdall_records_damaged_count(records), 0);
        holdall_records_free(records);
        indices[0] = 0, indices[1] = corrupt, indices[2] = corrupt;
        GIVES(HOLDALL_DAMAGED, holdall_bag_read_indices(bag, indices, 3, &records, &err));
        EQUAL(holdall_records_damaged_count(records), 2);
        holdall_records_free(records);
        OK(holdall_bag_read_indices(bag, indices, 1, &records, &err));
        holdall_records_free(records);
        GIVES(HOLDALL_DAMAGED,
              holdall_bag_read_range_to(bag, corrupt, 1, given, bytes, offsets, &err));
        EQUAL(offsets[1] - offsets[0], 0);
        OK(holdall_bag_read_range_to(bag, corrupt + 1, 1, given, bytes, offsets, &err));
        GIVES(HOLDALL_DAMAGED,
              holdall_bag_read_indices_to(bag, indices, 2, given, bytes, offsets, &err));
        OK(holdall_bag_read_indices_to(bag, indices, 1, given, bytes, offsets, &err));
        GIVES(HOLDALL_DAMAGED,
              holdall_bag_checksum(bag, HOLDALL_CHECKSUM_CRC32, bytes, sizeof bytes, &n, &err));
        EQUAL(n, 4);

        holdall_bag_stream *stream;
        const void *record;
        OK(holdall_bag_stream_open(bag, NULL, NULL, NULL, &stream, &err));
        for (uint64_t i = 0; i < 100; i++) {
            GIVES(i == corrupt ? HOLDALL_DAMAGED : HOLDALL_OK,
                  holdall_bag_stream_next(stream, &record, &n, &err));
            EQUAL(holdall_bag_stream_number(stream), i);
            CHECK(record != NULL && (i != corrupt || n == 0));
        }
        GIVES(HOLDALL_END, holdall_bag_stream_next(stream, &record, &n, &err));
        EQUAL(holdall_bag_stream_damaged_count(stream), 1);
        holdall_bag_stream_close(stream);
        OK(holdall_bag_stream_open(bag, NULL, NULL, NULL, &stream, &err));
        for (uint64_t i = 0; i < 100; i += 20) {
            GIVES(i <= corrupt && corrupt < i + 20 ? HOLDALL_DAMAGED : HOLDALL_OK,
                  holdall_bag_stream_take(stream, 20, &records, &err));
            EQUAL(holdall_records_count(records), 20);
            holdall_records_free(records);
        }
        GIVES(HOLDALL_END, holdall_bag_stream_take(stream, 20, &records, &err));
        holdall_bag_stream_close(stream);
        holdall_bag_close(bag);
    }
}

/* Chunks: reads, checksums and copies of ranges with a corrupt chunk, and of ranges without. */
static void corrupt_chunks_are_skipped_on_request(void)
{
    enum { N = 4000 };
    static uint8_t content[N], got[N];
    for (int i = 0; i < N; i++)
        content[i] = (uint8_t)(i * i >> 5);
    static const holdall_format formats[] = {HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_B2FRAME};
    for (int k = 0; k < 2; k++) {
        char path[1024], copy[1024];
        snprintf(path, sizeof path, "%s", in_tmp(k ? "corrupt.b2frame" : "corrupt.blp"));
        snprintf(copy, sizeof copy, "%s", in_tmp(k ? "copy.b2frame" : "copy.blp"));
        now("%s", path);
        /* without spare bytes, so that the middle of the file is in a chunk */
        holdall_options *o =
            options_of(WITH(HOLDALL_OPT_CHUNK_BYTES, 500, HOLDALL_OPT_CODEC, HOLDALL_CODEC_NONE,
                            k ? 0 : HOLDALL_OPT_SPARE_CHUNKS, 0));
        holdall_schunk *s;
        OK(holdall_schunk_create(path, HOLDALL_CREATE, formats[k], 1, o, &s, &err));
        holdall_options_free(o);
        OK(holdall_schunk_append(s, content, N, &err));
        OK(holdall_schunk_commit(s, &err));
        holdall_schunk_close(s);
        harm(path);
        o = skipping();
        OK(holdall_schunk_open(path, HOLDALL_READ, o, &s, &err));
        size_t n, damaged = 0;
        for (uint64_t c = 0; c < 8; c++) {
            preset_error();
            holdall_status status = holdall_schunk_read_chunk(s, c, got, N, &n, &err);
            EQUAL(n, 500);
            if (status == HOLDALL_DAMAGED) {
                damaged++;
                for (size_t i = 0; i < n; i++)
                    EQUAL(got[i], 0);
            } else {
                GAVE(HOLDALL_OK, status);
                CHECK(memcmp(got, content + 500 * c, 500) == 0);
            }
            GIVES(status, holdall_schunk_read(s, 500 * c, got, 500, &err));
        }
        CHECK(damaged == 1 || damaged == 2);
        GIVES(HOLDALL_DAMAGED, holdall_schunk_read(s, 0, got, N, &err));
        GIVES(HOLDALL_DAMAGED, holdall_schunk_checksum(s, HOLDALL_CHECKSUM_MD5, got, N, &n, &err));
        GIVES(HOLDALL_DAMAGED,
              holdall_schunk_copy(s, copy, HOLDALL_CREATE, formats[k], NULL, &err));
        holdall_schunk_close(s);
        OK(holdall_schunk_open(copy, HOLDALL_READ, NULL, &s, &err));
        OK(holdall_schunk_read(s, 0, got, N, &err));
        OK(holdall_schunk_copy(s, in_tmp("again"), HOLDALL_REPLACE, formats[k], NULL, &err));
        holdall_schunk_close(s);
        holdall_options_free(o);
    }
}

static void corrupt_arrays_are_read_on_request(void)
{
    enum { ROWS = 80, COLUMNS = 10 };
    static const uint64_t shape[] = {ROWS, COLUMNS}, chunk[] = {10, COLUMNS};
    static int32_t items[ROWS * COLUMNS], got[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        items[i] = i + 1;
    static const holdall_format formats[] = {HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_B2ND,
                                             HOLDALL_FORMAT_BCOLZ};
    for (int k = 0; k < 3; k++) {
        char path[1024];
        snprintf(path, sizeof path, "%s",
                 in_tmp((const char *[]){"array.blp", "array.b2nd", "array.bcolz"}[k]));
        now("%s", path);
        holdall_options *o = options_of(WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_NONE));
        holdall_array *a;
        OK(array_create(path, HOLDALL_CREATE, formats[k], "<i4", 2, shape, chunk, NULL, o, &a,
                        &err));
        holdall_options_free(o);
        OK(holdall_array_write(a, NULL, NULL, NULL, items, sizeof items, NULL, &err));
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);
        char file[1100];
        snprintf(file, sizeof file, "%s%s", path, k == 2 ? "/data/__4.blp" : "");
        harm(file);
        o = skipping();
        OK(holdall_array_open(path, HOLDALL_READ, o, &a, &err));
        GIVES(HOLDALL_DAMAGED,
              holdall_array_read(a, NULL, NULL, NULL, got, sizeof got, NULL, &err));
        uint64_t corrupt = ROWS;
        for (uint64_t i = 0; i < ROWS * COLUMNS; i++) {
            CHECK(got[i] == items[i] || got[i] == 0);
            if (got[i] == 0)
                corrupt = i / COLUMNS;
        }
        CHECK(corrupt < ROWS && got[0] == items[0]);
        const uint64_t points[] = {0, 3, corrupt, 3}, *const positions[] = {points + 2, NULL},
                       counts[] = {1, COLUMNS};
        GIVES(HOLDALL_DAMAGED, holdall_array_read_points(a, points, 2, got, sizeof got, &err));
        EQUAL(got[0], items[3]);
        EQUAL(got[1], 0);
        OK(holdall_array_read_points(a, points, 1, got, sizeof got, &err));
        GIVES(HOLDALL_DAMAGED,
              holdall_array_read_orthogonal(a, positions, counts, got, sizeof got, &err));
        OK(holdall_array_read(a, NULL, (const uint64_t[]){1, COLUMNS}, NULL, got, sizeof got, NULL,
                              &err));
        GIVES(HOLDALL_DAMAGED, array_copy(a, in_tmp("copy"), HOLDALL_REPLACE, HOLDALL_FORMAT_B2ND,
                                          NULL, NULL, NULL, &err));
        holdall_array_close(a);
        OK(holdall_array_open(in_tmp("copy"), HOLDALL_READ, NULL, &a, &err));
        OK(holdall_array_read(a, NULL, NULL, NULL, got, sizeof got, NULL, &err));
        holdall_array_close(a);
        holdall_options_free(o);
    }
}

int main(void)
{
    RUN(absent_items_are_not_found);
    RUN(the_end_of_a_stream_is_a_status);
    RUN(corrupt_records_are_skipped_on_request);
    RUN(corrupt_chunks_are_skipped_on_request);
    RUN(corrupt_arrays_are_read_on_request);
    TIDY();
    return 0;
}
