/* Arrays in Bloscpack files: invalid arrays are refused, and corruption is reported. */
#include "folder.h"
#include "small_array.h"

static void files_without_an_array_are_refused(void)
{
    holdall_array *a = (void *)&err;
    holdall_schunk *s;
    OK(holdall_schunk_create(in_tmp("s.blp"), HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, 8, NULL, &s,
                             &err));
    OK(holdall_schunk_append(s, "01234567", 8, &err));
    OK(holdall_schunk_commit(s, &err));
    GIVES(HOLDALL_E_TYPE, holdall_array_open(in_tmp("s.blp"), HOLDALL_READ, NULL, &a, &err));
    CHECK(a == NULL);
    /* the metadata describe more, or fewer, items than exist: the error states both numbers */
    static const char json[] =
        "{\"dtype\":\"'<f8'\",\"shape\":[3],\"order\":\"C\",\"container\":\"numpy\"}";
    OK(holdall_schunk_attr_set(s, "", json, strlen(json), &err));
    OK(holdall_schunk_commit(s, &err));
    GIVES(HOLDALL_E_FORMAT, holdall_array_open(in_tmp("s.blp"), HOLDALL_READ, NULL, &a, &err));
    CHECK(says("24") && says("8"));
    OK(holdall_schunk_append(s, "0123456789abcdef", 16, &err));
    OK(holdall_schunk_commit(s, &err));
    OK(holdall_array_open(in_tmp("s.blp"), HOLDALL_READ, NULL, &a, &err));
    holdall_array_close(a);
    holdall_schunk_close(s);
    GIVES(HOLDALL_E_MISSING, holdall_array_open(in_tmp("none.blp"), HOLDALL_READ, NULL, &a, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_open(in_tmp("s.blp"), HOLDALL_CREATE, NULL, &a, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_open(in_tmp("s.blp"), 9, NULL, &a, &err));
}

static void arguments_of_create_are_checked(void)
{
    holdall_array *a;
    const char *path = in_tmp("new.blp");
    GIVES(HOLDALL_E_EXISTS,
          try_create(in_tmp("a.blp"), HOLDALL_CREATE, "<f8", 1, SHAPE(3), NULL, &a));
    GIVES(HOLDALL_E_ARGUMENT, try_create(path, HOLDALL_READ, "<f8", 1, SHAPE(3), NULL, &a));
    GIVES(HOLDALL_E_TYPE, try_create(path, HOLDALL_CREATE, "f9", 1, SHAPE(3), NULL, &a));
    GIVES(HOLDALL_E_ARGUMENT, try_create(path, HOLDALL_CREATE, "\xff", 1, SHAPE(3), NULL, &a));
    GIVES(HOLDALL_E_UNSUPPORTED, try_create(path, HOLDALL_CREATE, "|O", 1, SHAPE(3), NULL, &a));
    GIVES(HOLDALL_E_ARGUMENT,
          try_create(path, HOLDALL_CREATE, "<f8", 1, SHAPE((uint64_t)1 << 61), NULL, &a));
    GIVES(HOLDALL_E_ARGUMENT,
          try_create(path, HOLDALL_CREATE, "<f8", 1, SHAPE(3),
                     WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE), &a));
    static const holdall_format others[] = {HOLDALL_FORMAT_B2FRAME, HOLDALL_FORMAT_BAGZ, 0, 1, -1,
                                            HOLDALL_KIND_ARRAY};
    for (size_t i = 0; i < COUNT(others); i++)
        GIVES(i < 2 ? HOLDALL_E_UNSUPPORTED : HOLDALL_E_ARGUMENT,
              array_create(path, HOLDALL_CREATE, others[i], "<f8", 1, SHAPE(3), NULL, NULL, NULL,
                           &a, &err));
    const holdall_format blpk = HOLDALL_FORMAT_BLOSCPACK;
    GIVES(HOLDALL_E_UNSUPPORTED, array_create(path, HOLDALL_CREATE, blpk, "<f8", 1, SHAPE(3), NULL,
                                              SHAPE(2), NULL, &a, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, array_create(path, HOLDALL_CREATE, blpk, "<f8", 2, SHAPE(3, 4),
                                              SHAPE(2, 2), NULL, NULL, &a, &err));
    OK(array_create(path, HOLDALL_CREATE, blpk, "<f8", 2, SHAPE(3, 4), SHAPE(2, 4), NULL, NULL, &a,
                    &err));
    EQUAL(array_info(a).chunk_shape[0], 2);
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
    REFUSES(array_open_io(NULL, HOLDALL_READ, NULL, &b, &err));
    REFUSES(array_create(NULL, HOLDALL_CREATE, blpk, "<f8", 1, shape, NULL, NULL, NULL, &b, &err));
    REFUSES(array_create(in_tmp("x"), HOLDALL_CREATE, blpk, NULL, 1, shape, NULL, NULL, NULL, &b,
                         &err));
    REFUSES(array_create(in_tmp("x"), HOLDALL_CREATE, blpk, "<f8", 1, NULL, NULL, NULL, NULL, &b,
                         &err));
    REFUSES(array_create(in_tmp("x"), HOLDALL_CREATE, blpk, "<f8", 1, shape, NULL, NULL, NULL, NULL,
                         &err));
    REFUSES(
        array_create_io(NULL, HOLDALL_CREATE, blpk, "<f8", 1, shape, NULL, NULL, NULL, &b, &err));
    REFUSES(holdall_array_read(NULL, shape, shape, NULL, &item, 4, NULL, &err));
    REFUSES(holdall_array_read(a, shape, shape, NULL, NULL, 4, NULL, &err));
    REFUSES(holdall_array_write(NULL, shape, shape, NULL, &item, 4, NULL, &err));
    REFUSES(holdall_array_write(a, shape, shape, NULL, NULL, 4, NULL, &err));
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
    CHECK(holdall_array_shape(NULL) == NULL && array_info(NULL).chunk_shape == NULL &&
          array_info(NULL).block_shape == NULL);
    CHECK(holdall_array_dtype(NULL) == NULL && holdall_array_attr_name(NULL, 0) == NULL);
    CHECK(holdall_array_ndim(NULL) == 0 && holdall_array_itemsize(NULL) == 0 &&
          holdall_array_nbytes(NULL) == 0);
    CHECK(array_info(NULL).stored_bytes == 0 && holdall_array_attr_count(NULL) == 0 &&
          array_info(NULL).order == 0);
    check_rows(a, 0, ROWS);
    holdall_array_close(a);
}

static void storage_of_the_caller_works(void)
{
    static folder f;
    holdall_storage *io = folder_io(&f);
    holdall_array *a;
    int32_t items[6] = {1, 2, 3, 4, 5, 6}, got[6];
    OK(array_create_io(io, HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, "<i4", 2, SHAPE(2, 3), NULL,
                       NULL, NULL, &a, &err));
    OK(holdall_array_write(a, SHAPE(0, 0), SHAPE(2, 3), NULL, items, sizeof items, NULL, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    OK(array_open_io(io, HOLDALL_READ, NULL, &a, &err));
    holdall_storage_free(io);
    OK(holdall_array_read(a, SHAPE(0, 0), SHAPE(2, 3), NULL, got, sizeof got, NULL, &err));
    CHECK(memcmp(items, got, sizeof got) == 0);
    holdall_array_close(a);
}

/* A corrupt chunk is reported, and the others are read. */
static void a_corrupt_chunk_is_reported(void)
{
    create_matrix(in_tmp("corrupt.blp"), HOLDALL_CREATE);
    size_t n;
    uint8_t *bytes = load(in_tmp("corrupt.blp"), &n);
    bytes[n - 10] ^= 1;
    save(in_tmp("corrupt.blp"), bytes, n);
    free(bytes);
    holdall_array *a = open_array(in_tmp("corrupt.blp"), HOLDALL_READ);
    int32_t row[COLUMNS];
    check_rows(a, 0, 200);
    GIVES(HOLDALL_E_CHECKSUM, holdall_array_read(a, SHAPE(ROWS - 1, 0), SHAPE(1, COLUMNS), NULL,
                                                 row, sizeof row, NULL, &err));
    CHECK(err.position > 0 && says("chunk"));
    holdall_array_close(a);
    holdall_options *options = options_of(WITH(HOLDALL_OPT_SKIP_DAMAGED, 1));
    OK(holdall_array_open(in_tmp("corrupt.blp"), HOLDALL_READ, options, &a, &err));
    holdall_options_free(options);
    GIVES(HOLDALL_DAMAGED, holdall_array_read(a, SHAPE(ROWS - 1, 0), SHAPE(1, COLUMNS), NULL, row,
                                              sizeof row, NULL, &err));
    for (int j = 0; j < COLUMNS; j++)
        EQUAL(row[j], 0);
    holdall_array_close(a);
}

/* Bytes that a crash or a full disk cut off: reported, read as zeros on request, and an array again
 * after a repair. */
static void a_truncated_array_can_be_read_and_repaired(void)
{
    const char *path = in_tmp("cut.blp");
    create_matrix(path, HOLDALL_CREATE);
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
    GIVES(HOLDALL_DAMAGED, holdall_array_read(a, SHAPE(0, 0), SHAPE(ROWS, COLUMNS), NULL, items,
                                              sizeof items, NULL, &err));
    check_rows(a, 0, ROWS / 2);
    holdall_array_close(a);
    CHECK(items[0 * COLUMNS + 1] == 1 && items[ROWS * COLUMNS - 1] == 0);
    uint64_t retained = 0, dropped = 0, corrupt = 0, intact = 0;
    CHECK(verify_counts(path, NULL, NULL, NULL, &intact, &corrupt, NULL, &err) < 0);
    OK(repair_counts(path, NULL, &retained, &dropped, &err));
    CHECK(retained == intact && dropped == corrupt && corrupt > 0);
    a = open_array(path, HOLDALL_READ);
    OK(holdall_array_read(a, SHAPE(0, 0), SHAPE(ROWS, COLUMNS), NULL, got, sizeof got, NULL, &err));
    CHECK(memcmp(items, got, sizeof got) == 0);
    holdall_array_close(a);
    OK(verify_counts(path, NULL, NULL, NULL, NULL, NULL, NULL, &err));
    /* its metadata: the chunks stay, and the missing ones are counted */
    save(path, bytes, n);
    free(bytes);
    bytes = load(path, &n);
    bytes[70] ^= 1;
    save(path, bytes, n);
    free(bytes);
    OK(repair_counts(path, NULL, &retained, &dropped, &err));
    CHECK(retained == intact + corrupt && dropped == 1);
}

/* Content whose length does not match shape and dtype is a fault, although every chunk is
 * intact. */
static void a_shape_that_does_not_match_is_a_fault(void)
{
    const char *path = in_tmp("long.blp");
    create_matrix(path, HOLDALL_CREATE);
    holdall_schunk *s;
    OK(holdall_schunk_open(path, HOLDALL_APPEND, NULL, &s, &err));
    OK(holdall_schunk_append(s, "abc", 3, &err));
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_close(s);
    uint64_t corrupt = 9;
    GIVES(HOLDALL_E_FORMAT, verify_counts(path, NULL, NULL, NULL, NULL, &corrupt, NULL, &err));
    CHECK(corrupt == 0 && says("48003"));
}

/* Rows are not truncated before the call has checked that they can be extended. */
static void an_impossible_shape_changes_nothing(void)
{
    static const struct {
        const char *name;
        holdall_format format;
    } kinds[] = {
        {"shape.blp", HOLDALL_FORMAT_BLOSCPACK}, {"shape.b2nd", HOLDALL_FORMAT_B2ND},
        {"shape.cat", HOLDALL_FORMAT_CATERVA},   {"shape.bcolz", HOLDALL_FORMAT_BCOLZ},
        {"shape.blz", HOLDALL_FORMAT_BLZ},       {"shape.blz_rfc", HOLDALL_FORMAT_BLZ_RFC}};
    static const uint64_t others[][2] = {
        {2, (uint64_t)1 << 40}, {2, (uint64_t)1 << 62}, {0, UINT64_MAX}, {(uint64_t)1 << 62, 2}};
    int32_t all[30], got[30];
    for (int i = 0; i < 30; i++)
        all[i] = i * 7;
    for (size_t k = 0; k < COUNT(kinds); k++) {
        const char *path = in_tmp(kinds[k].name);
        holdall_array *a;
        OK(array_create(path, HOLDALL_CREATE, kinds[k].format, "<i4", 2, SHAPE(10, 3), NULL, NULL,
                        NULL, &a, &err));
        OK(holdall_array_write(a, SHAPE(0, 0), SHAPE(10, 3), NULL, all, sizeof all, NULL, &err));
        OK(holdall_array_commit(a, &err));
        for (size_t i = 0; i < COUNT(others); i++) {
            preset_error();
            if (holdall_array_resize(a, others[i], &err) >= 0) {
                /* zeros that were never written take no space, in chunks or as rows: an array may
                 * have that many */
                CHECK(kinds[k].format == HOLDALL_FORMAT_B2ND ||
                      kinds[k].format == HOLDALL_FORMAT_CATERVA || others[i][0] != 2);
                holdall_array_close(a);
                OK(holdall_array_open(path, HOLDALL_APPEND, NULL, &a, &err));
            }
            EQUAL(holdall_array_shape(a)[0], 10);
            EQUAL(holdall_array_shape(a)[1], 3);
            OK(holdall_array_read(a, SHAPE(0, 0), SHAPE(10, 3), NULL, got, sizeof got, NULL, &err));
            CHECK(memcmp(got, all, sizeof all) == 0);
        }
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);
    }
}

int main(void)
{
    create_matrix(in_tmp("a.blp"), HOLDALL_CREATE);
    RUN(files_without_an_array_are_refused);
    RUN(arguments_of_create_are_checked);
    RUN(an_impossible_shape_changes_nothing);
    RUN(null_is_an_argument_error);
    RUN(storage_of_the_caller_works);
    RUN(a_corrupt_chunk_is_reported);
    RUN(a_truncated_array_can_be_read_and_repaired);
    RUN(a_shape_that_does_not_match_is_a_fault);
    return 0;
}
