/* holdall_repair() of folders: arrays and tables that were torn, truncated or corrupt become
 * consistent. Lost parts are reported and stay beside them; if that is not requested, nothing is
 * changed. */
#include "check.h"

enum { ROWS = 50, CHUNK = 9 };

static int32_t items[ROWS];
static char path[1024];

static const char *in(const char *name)
{
    static char full[1200];
    snprintf(full, sizeof full, "%s/%s", path, name);
    return full;
}

static void use(const char *name)
{
    now("%s", name);
    snprintf(path, sizeof path, "%s", in_tmp(name));
}

static void make_array(const char *name)
{
    use(name);
    const uint64_t none = 0, chunk = CHUNK;
    holdall_array *a = NULL;
    OK(array_create(path, HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, "<i4", 1, &none, &chunk, NULL, NULL,
                    &a, &err));
    OK(holdall_array_append(a, 0, ROWS, items, sizeof items, &err));
    OK(holdall_array_attr_set(a, "n", "1", 1, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
}

static void make_table(const char *name)
{
    use(name);
    const char *names[] = {"a", "b"}, *dtypes[] = {"<i4", "<u2"};
    const void *columns[] = {items, items};
    const size_t sizes[] = {ROWS * 4, ROWS * 2};
    holdall_table *t = NULL;
    holdall_options *o = options_of((const int64_t[]){HOLDALL_OPT_CHUNK_BYTES, 64, 0});
    OK(table_create(path, HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, 2, names, dtypes, o, &t, &err));
    holdall_options_free(o);
    OK(holdall_table_append(t, ROWS, columns, sizes, &err));
    OK(holdall_table_commit(t, &err));
    holdall_table_close(t);
}

static holdall_status repair(const int64_t *pairs, uint64_t *retained, uint64_t *dropped)
{
    holdall_options *o = options_of(pairs);
    preset_error();
    holdall_status s = repair_counts(path, o, retained, dropped, &err);
    holdall_options_free(o);
    return s;
}

static void check_repair(const int64_t *pairs, uint64_t retained, uint64_t dropped)
{
    uint64_t k = 999, d = 999;
    GAVE(HOLDALL_OK, repair(pairs, &k, &d));
    EQUAL(k, retained);
    EQUAL(d, dropped);
    OK(verify_counts(path, NULL, NULL, NULL, NULL, NULL, NULL, &err));
    /* one repair is enough */
    GAVE(HOLDALL_OK, repair(pairs, NULL, &d));
    EQUAL(d, 0);
}

/* Checks that the array holds the first rows, and zeros in those from `from` to `to`. */
static void check_items(uint64_t rows, uint64_t from, uint64_t to)
{
    holdall_array *a = NULL;
    int32_t got[ROWS] = {0};
    const uint64_t zero = 0;
    OK(holdall_array_open(path, HOLDALL_READ, NULL, &a, &err));
    EQUAL(holdall_array_shape(a)[0], rows);
    OK(holdall_array_read(a, &zero, &rows, NULL, got, rows * 4, NULL, &err));
    for (uint64_t i = 0; i < rows; i++)
        EQUAL(got[i], i >= from && i < to ? 0 : items[i]);
    holdall_array_close(a);
}

static void cut_file(const char *name, size_t less)
{
    size_t n;
    uint8_t *bytes = load(in(name), &n);
    save(in(name), bytes, n - less);
    free(bytes);
}

static void flip(const char *name, size_t at)
{
    size_t n;
    uint8_t *bytes = load(in(name), &n);
    bytes[at] ^= 1;
    save(in(name), bytes, n);
    free(bytes);
}

static void torn_sizes_are_repaired(void)
{
    make_array("torn");
    check_repair(NULL, 6, 0);
    check_items(ROWS, 0, 0);
    save(in("meta/sizes"), "{\"shape\"", 8);
    save(in("data/__7.blp.holdall-new"), "x", 1);
    check_repair(NULL, 6, 0);
    CHECK(!there(in("data/__7.blp.holdall-new")));
    CHECK(there(in("meta/sizes.holdall-damaged")));
    check_items(ROWS, 0, 0);
    cut_file("meta/sizes", 60);
    cut_file("data/__5.blp", 6);
    check_repair(NULL, 5, 0);
    check_items(5 * CHUNK, 0, 0);
    CHECK(there(in("data/__5.blp.holdall-damaged")) && !there(in("data/__5.blp")));
    unlink(in("meta/sizes"));
    save(in("__attrs__"), "{", 1);
    check_repair(NULL, 5, 1);
    check_items(5 * CHUNK, 0, 0);
}

static void a_corrupt_chunk_is_replaced_on_request(void)
{
    make_array("chunk");
    flip("data/__2.blp", 40);
    uint64_t retained = 77, dropped = 78;
    GAVE(HOLDALL_E_FORMAT, repair(NULL, &retained, &dropped));
    EQUAL(err.position, 2);
    CHECK(strstr(err.message, "__2.blp") != NULL);
    EQUAL(retained, 77);
    EQUAL(dropped, 78);
    CHECK(!there(in("data/__2.blp.holdall-damaged")));
    check_repair((const int64_t[]){HOLDALL_OPT_SKIP_DAMAGED, 1, 0}, 5, 1);
    check_items(ROWS, 2 * CHUNK, 3 * CHUNK);
    CHECK(there(in("data/__2.blp.holdall-damaged")));
}

static void a_lost_storage_file_cannot_be_repaired(void)
{
    make_array("storage");
    flip("meta/storage", 12);
    GAVE(HOLDALL_E_CHECKSUM, repair(NULL, NULL, NULL));
    unlink(in("meta/storage"));
    GAVE(HOLDALL_E_MISSING, repair(NULL, NULL, NULL));
    CHECK(there(in("meta/sizes")) && there(in("data/__0.blp")));
    use("nothing");
    GAVE(HOLDALL_E_MISSING, repair(NULL, NULL, NULL));
}

static void tables_are_repaired(void)
{
    make_table("table");
    check_repair(NULL, 4 + 2, 0);
    cut_file("b/data/__1.blp", 7);
    save(in("__rootdirs__"), "{\"na", 4);
    check_repair(NULL, 2 + 1, 4);
    CHECK(there(in("a/data/__3.blp.holdall-damaged")) && there(in("__rootdirs__.holdall-damaged")));
    holdall_table *t = NULL;
    OK(holdall_table_open(path, HOLDALL_READ, NULL, &t, &err));
    EQUAL(holdall_table_column_count(t), 2);
    EQUAL(holdall_table_row_count(t), 32);
    EQUAL(holdall_table_column_row_count(t, 0), 32);
    EQUAL(holdall_table_column_row_count(t, 1), 32);
    holdall_table_close(t);
    flip("b/meta/storage", 12);
    GAVE(HOLDALL_E_CHECKSUM, repair(NULL, NULL, NULL));
    CHECK(strstr(err.message, "\"b\"") != NULL);
    check_repair((const int64_t[]){HOLDALL_OPT_SKIP_DAMAGED, 1, 0}, 2, 1);
    CHECK(there(in("b/data/__0.blp")));
}

static void arguments_and_locks_are_checked(void)
{
    make_array("rules");
    GAVE(HOLDALL_E_ARGUMENT,
         repair((const int64_t[]){HOLDALL_OPT_CODEC, HOLDALL_CODEC_BLOSCLZ, 0}, NULL, NULL));
    holdall_array *a = NULL;
    OK(holdall_array_open(path, HOLDALL_APPEND, NULL, &a, &err));
    GAVE(HOLDALL_E_BUSY, repair(NULL, NULL, NULL));
    holdall_array_close(a);
    EQUAL(repair_counts(NULL, NULL, NULL, NULL, &err), HOLDALL_E_ARGUMENT);
    check_repair(NULL, 6, 0);
}

int main(void)
{
    for (int i = 0; i < ROWS; i++)
        items[i] = i * 1000003 + 1;
    RUN(torn_sizes_are_repaired);
    RUN(a_corrupt_chunk_is_replaced_on_request);
    RUN(a_lost_storage_file_cannot_be_repaired);
    RUN(tables_are_repaired);
    RUN(arguments_and_locks_are_checked);
    return 0;
}
