/* Copies of arrays and superchunks, with their metadata and digests. */
#include "small_array.h"

static void an_array_is_copied(void)
{
    const holdall_format blpk = HOLDALL_FORMAT_BLOSCPACK;
    holdall_array *a = open_array(in_tmp("a.blp"), HOLDALL_READ), *b;
    holdall_options *options = options_of(
        WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_LZ4, HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_SHA256));
    OK(array_copy(a, in_tmp("copy.blp"), HOLDALL_CREATE, blpk, SHAPE(7, COLUMNS), NULL, options,
                  &err));
    holdall_options_free(options);
    b = open_array(in_tmp("copy.blp"), HOLDALL_READ);
    check_shape(b, ROWS, COLUMNS);
    check_rows(b, 0, ROWS);
    EQUAL(array_info(b).chunk_shape[0], 7);
    CHECK(strcmp(holdall_array_dtype(b), "<i4") == 0);
    /* the source itself, under any name */
    CHECK(link(in_tmp("copy.blp"), in_tmp("hard.blp")) == 0);
    static const char *const own[] = {"copy.blp", "hard.blp"};
    for (size_t i = 0; i < COUNT(own); i++)
        GIVES(HOLDALL_E_ARGUMENT,
              array_copy(b, in_tmp(own[i]), HOLDALL_REPLACE, blpk, NULL, NULL, NULL, &err));
    CHECK(says("copy"));
    GIVES(HOLDALL_E_EXISTS,
          array_copy(a, in_tmp("copy.blp"), HOLDALL_CREATE, blpk, NULL, NULL, NULL, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, array_copy(a, in_tmp("no.blp"), HOLDALL_CREATE,
                                            HOLDALL_FORMAT_BAGZ, NULL, NULL, NULL, &err));
    GIVES(HOLDALL_E_UNSUPPORTED,
          array_copy(a, in_tmp("no.blp"), HOLDALL_CREATE, blpk, NULL, SHAPE(1, 1), NULL, &err));
    GIVES(HOLDALL_E_UNSUPPORTED,
          array_copy(a, in_tmp("no.blp"), HOLDALL_CREATE, blpk, SHAPE(7, 7), NULL, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, array_copy(a, NULL, HOLDALL_CREATE, blpk, NULL, NULL, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          array_copy(NULL, in_tmp("no.blp"), HOLDALL_CREATE, blpk, NULL, NULL, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          array_copy(a, in_tmp("no.blp"), HOLDALL_READ, blpk, NULL, NULL, NULL, &err));
    options = options_of(WITH(HOLDALL_OPT_FORMAT_VERSION, 2));
    GIVES(HOLDALL_E_UNSUPPORTED,
          array_copy(a, in_tmp("no.blp"), HOLDALL_CREATE, blpk, NULL, NULL, options, &err));
    holdall_options_free(options);
    CHECK(!there(in_tmp("no.blp")));
    OK(array_copy(b, in_tmp("copy2.blp"), HOLDALL_REPLACE, blpk, NULL, NULL, NULL, &err));
    OK(array_copy(a, in_tmp("copy2.blp"), HOLDALL_REPLACE, blpk, NULL, NULL, NULL, &err));
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
    int calls = 0;
    holdall_options *options = options_of(WITH(HOLDALL_OPT_FORMAT_VERSION, 103));
    OK(holdall_schunk_create(in_tmp("sc.blp"), HOLDALL_CREATE, blpk, 8, options, &s, &err));
    holdall_options_free(options);
    OK(holdall_schunk_append(s, "0123456789abcdefghijklmn", 24, &err));
    OK(holdall_schunk_attr_set(s, "", "[1]", 3, &err));
    OK(holdall_schunk_commit(s, &err));
    OK(holdall_schunk_copy(s, in_tmp("sc3.blp"), HOLDALL_CREATE, blpk, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_schunk_copy(s, in_tmp("sc.blp"), HOLDALL_REPLACE, blpk, NULL, &err));
    options = options_of(WITH(HOLDALL_OPT_FORMAT_VERSION, 2));
    GIVES(HOLDALL_E_UNSUPPORTED,
          holdall_schunk_copy(s, in_tmp("sc2.blp"), HOLDALL_CREATE, blpk, options, &err));
    holdall_options_free(options);
    options = holdall_options_new();
    holdall_options_set_progress(options, stop_at_once, &calls);
    GIVES(HOLDALL_E_CANCELLED,
          holdall_schunk_copy(s, in_tmp("sc2.blp"), HOLDALL_CREATE, blpk, options, &err));
    CHECK(calls == 1 && !there(in_tmp("sc2.blp")));
    holdall_options_free(options);
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_copy(s, in_tmp("sc2.blp"), HOLDALL_CREATE,
                                                  HOLDALL_FORMAT_BAGZ, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_copy(s, NULL, HOLDALL_CREATE, blpk, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_schunk_copy(NULL, in_tmp("sc2.blp"), HOLDALL_CREATE, blpk, NULL, &err));
    holdall_schunk_close(s);
    OK(holdall_schunk_open(in_tmp("sc3.blp"), HOLDALL_READ, NULL, &c, &err));
    EQUAL(schunk_info(c).version, 3);
    EQUAL(schunk_info(c).typesize, 8);
    OK(holdall_schunk_read(c, 0, got, sizeof got, &err));
    CHECK(memcmp(got, "0123456789abcdefghijklmn", 24) == 0);
    OK(holdall_schunk_attr_get(c, "", &value, &n, &err));
    CHECK(n == 3 && memcmp(value, "[1]", 3) == 0);
    holdall_schunk_close(c);
    TIDY();
}

static void a_digest_of_pieces_is_that_of_the_whole(void)
{
    uint8_t bytes[1000], whole[64], got[64];
    size_t n, m;
    holdall_checksum *d;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i);
    for (int32_t sum = HOLDALL_CHECKSUM_NONE; sum <= HOLDALL_CHECKSUM_SHA512; sum++) {
        OK(holdall_checksum_compute(sum, bytes, sizeof bytes, whole, sizeof whole, &n, &err));
        OK(holdall_checksum_new(sum, &d, &err));
        OK(holdall_checksum_update(d, bytes, 1, &err));
        OK(holdall_checksum_update(d, NULL, 0, &err));
        OK(holdall_checksum_update(d, bytes + 1, sizeof bytes - 1, &err));
        OK(holdall_checksum_finish(d, NULL, 0, &m, &err));
        EQUAL(n, m);
        if (n > 0)
            GIVES(HOLDALL_E_BUFFER, holdall_checksum_finish(d, got, n - 1, &m, &err));
        GIVES(HOLDALL_E_ARGUMENT, holdall_checksum_finish(d, got, sizeof got, NULL, &err));
        OK(holdall_checksum_finish(d, got, sizeof got, &m, &err));
        CHECK(n == m && memcmp(whole, got, n) == 0);
        GIVES(HOLDALL_E_STATE, holdall_checksum_finish(d, got, sizeof got, &m, &err));
        GIVES(HOLDALL_E_STATE, holdall_checksum_update(d, bytes, 1, &err));
        holdall_checksum_free(d);
    }
    GIVES(HOLDALL_E_ARGUMENT, holdall_checksum_new(HOLDALL_CHECKSUM_ZSTD, &d, &err));
    CHECK(d == NULL);
    GIVES(HOLDALL_E_ARGUMENT, holdall_checksum_new(HOLDALL_CHECKSUM_CRC32, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_checksum_update(NULL, bytes, 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_checksum_finish(NULL, got, sizeof got, &m, &err));
    OK(holdall_checksum_new(HOLDALL_CHECKSUM_CRC32, &d, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_checksum_update(d, NULL, 1, &err));
    holdall_checksum_free(d);
    holdall_checksum_free(NULL);
}

static void metadata_are_copied_with_the_array(void)
{
    holdall_array *a;
    const void *value;
    size_t n;
    OK(try_create(in_tmp("m.blp"), HOLDALL_CREATE, "[('a','<i4'),('b','<f8')]", 1, SHAPE(3), NULL,
                  &a));
    EQUAL(holdall_array_attr_count(a), 1);
    CHECK(strcmp(holdall_array_attr_name(a, 0), "") == 0);
    CHECK(holdall_array_attr_name(a, 1) == NULL);
    OK(holdall_array_attr_get(a, "", &value, &n, &err));
    static const char want[] = "{\"dtype\":\"[('a', '<i4'), ('b', "
                               "'<f8')]\",\"shape\":[3],\"order\":\"C\",\"container\":\"numpy\"}";
    CHECK(n == strlen(want) && memcmp(value, want, n) == 0);
    CHECK(strcmp(holdall_array_dtype(a), "[('a','<i4'),('b','<f8')]") == 0);
    GAVE(HOLDALL_NOT_FOUND, holdall_array_attr_get(a, "x", &value, &n, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_attr_set(a, "x", "1", 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_attr_set(a, "", NULL, 0, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_attr_set(a, "", "{}", 2, &err));
    static const char more[] =
        "{\"dtype\":\"[('a', '<i4'), ('b', "
        "'<f8')]\",\"shape\":[3],\"order\":\"C\",\"container\":\"numpy\",\"unit\":\"m\"}";
    OK(holdall_array_attr_set(a, "", more, strlen(more), &err));
    OK(holdall_array_resize(a, SHAPE(4), &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    a = open_array(in_tmp("m.blp"), HOLDALL_READ);
    OK(holdall_array_attr_get(a, "", &value, &n, &err));
    static const char grown[] =
        "{\"dtype\":\"[('a', '<i4'), ('b', "
        "'<f8')]\",\"shape\":[4],\"order\":\"C\",\"container\":\"numpy\",\"unit\":\"m\"}";
    CHECK(n == strlen(grown) && memcmp(value, grown, n) == 0);
    EQUAL(holdall_array_shape(a)[0], 4);
    holdall_array_close(a);
}

int main(void)
{
    create_matrix(in_tmp("a.blp"), HOLDALL_CREATE);
    RUN(an_array_is_copied);
    RUN(a_superchunk_is_copied);
    RUN(a_digest_of_pieces_is_that_of_the_whole);
    RUN(metadata_are_copied_with_the_array);
    return 0;
}
