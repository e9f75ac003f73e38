/* Stores that python-blosc2 wrote (fixtures: stores): nodes are listed, identified and opened, by
 * handle, by path and in memory. */
#include "check.h"

static const char *folder;

static const char *in_stores(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static holdall_store *open_store(const char *path, const holdall_options *options)
{
    holdall_store *store;
    OK(holdall_store_open(path, options, &store, &err));
    return store;
}

/* The array /a: the numbers 0 to 999. */
static void check_numbers(holdall_array *a)
{
    int32_t items[1000];
    EQUAL(holdall_array_nbytes(a), sizeof items);
    OK(holdall_array_read(a, NULL, NULL, NULL, items, sizeof items, NULL, &err));
    for (int i = 0; i < 1000; i++)
        EQUAL(items[i], i);
    holdall_array_close(a);
}

static void check_bytes(holdall_schunk *s)
{
    char content[120];
    EQUAL(holdall_schunk_nbytes(s), sizeof content);
    OK(holdall_schunk_read(s, 0, content, sizeof content, &err));
    CHECK(memcmp(content, "abcdabcd", 8) == 0 && memcmp(content + 112, "efghefgh", 8) == 0);
    holdall_schunk_close(s);
}

static void check_nodes(const holdall_store *store)
{
    holdall_array *a;
    holdall_schunk *s;
    OK(holdall_store_open_array(store, "/a", NULL, &a, &err));
    check_numbers(a);
    OK(holdall_store_open_schunk(store, "group/s", NULL, &s, &err));
    check_bytes(s);
    OK(holdall_store_open_array(store, "/a", NULL, &a, &err));
    OK(holdall_array_refresh(a, &err));
    check_numbers(a);
}

static const char *const stores[] = {"tree.b2z",      "tree.b2d", "threshold.b2z",
                                     "threshold.b2d", "dict.b2z", "embed.b2e"};

static void nodes_are_opened(void)
{
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        now("%s", stores[i]);
        holdall_store *store = open_store(in_stores(stores[i]), NULL);
        check_nodes(store);
        char path[4096];
        snprintf(path, sizeof path, "%s/a", in_stores(stores[i]));
        holdall_array *a;
        OK(holdall_array_open(path, HOLDALL_READ, NULL, &a, &err));
        OK(holdall_array_refresh(a, &err));
        check_numbers(a);
        holdall_format format;
        holdall_kind kind;
        OK(holdall_identify(path, &format, &kind, &err));
        EQUAL(format, HOLDALL_FORMAT_B2ND);
        EQUAL(kind, HOLDALL_KIND_ARRAY);
        OK(holdall_identify(in_stores(stores[i]), &format, &kind, &err));
        EQUAL(kind, HOLDALL_KIND_STORE);
        OK(holdall_store_identify(store, "/group/s", &format, &kind, &err));
        EQUAL(format, HOLDALL_FORMAT_B2FRAME);
        EQUAL(kind, HOLDALL_KIND_SCHUNK);
        OK(holdall_verify(in_stores(stores[i]), NULL, NULL, NULL, NULL, &err));
        OK(holdall_verify(path, NULL, NULL, NULL, NULL, &err));
        holdall_store_close(store);
    }
}

static void nodes_are_listed(void)
{
    static const char *const expected[] = {
        "/__vlmeta__", "/a",            "/batches", "/dotted.name", "/group/__vlmeta__",
        "/group/b",    "/group/deep/c", "/group/s", "/objects",     "/tables/t"};
    size_t n = sizeof expected / sizeof *expected;
    holdall_store *store = open_store(in_stores("tree.b2d"), NULL);
    EQUAL(holdall_store_node_count(store), n);
    for (size_t i = 0; i < n; i++)
        CHECK(strcmp(holdall_store_node_path(store, i), expected[i]) == 0);
    CHECK(holdall_store_node_path(store, n) == NULL);
    holdall_kind kind;
    OK(holdall_store_identify(store, "/tables/t", NULL, &kind, &err));
    EQUAL(kind, HOLDALL_KIND_TABLE);
    holdall_table *t;
    OK(holdall_store_open_table(store, "/tables/t", NULL, &t, &err));
    EQUAL(holdall_table_row_count(t), 5);
    GIVES(HOLDALL_E_STATE, holdall_table_refresh(t, &err));
    holdall_table_close(t);
    GIVES(HOLDALL_E_TYPE, holdall_store_open_table(store, "/a", NULL, &t, &err));
    holdall_store_close(store);
}

static void errors_name_the_node(void)
{
    holdall_store *store = open_store(in_stores("tree.b2z"), NULL);
    holdall_array *a;
    GIVES(HOLDALL_E_MISSING, holdall_store_open_array(store, "/none", NULL, &a, &err));
    CHECK(says("tree.b2z/none") && a == NULL);
    GIVES(HOLDALL_E_TYPE, holdall_store_open_array(store, "/group", NULL, &a, &err));
    CHECK(says("tree.b2z/group"));
    GIVES(HOLDALL_E_TYPE, holdall_store_open_array(store, "/tables/t", NULL, &a, &err));
    CHECK(says("holdall_table_open()"));
    GIVES(HOLDALL_E_ARGUMENT, holdall_store_open_array(store, "\xFF", NULL, &a, &err));
    holdall_store_close(store);
    store = open_store(in_stores("embed.b2e"), NULL);
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_store_open_array(store, "/far", NULL, &a, &err));
    CHECK(says("example.com"));
    holdall_store_close(store);
    GIVES(HOLDALL_E_TYPE, holdall_array_open(in_stores("tree.b2d"), HOLDALL_READ, NULL, &a, &err));
    CHECK(says("holdall_store_open()"));
    GIVES(HOLDALL_E_TYPE, holdall_array_open(in_stores("tree.b2z"), HOLDALL_READ, NULL, &a, &err));
    CHECK(says("holdall_store_open()"));
    GIVES(HOLDALL_E_MISSING, holdall_store_open(in_tmp("none.b2z"), NULL, &store, &err));
    CHECK(store == NULL);
    save(in_tmp("short.b2z"), "PK\3\4", 4);
    GIVES(HOLDALL_E_FORMAT, holdall_store_open(in_tmp("short.b2z"), NULL, &store, &err));
    CHECK(says("truncated"));
}

static void stores_in_memory(void)
{
    static const char *const files[] = {"tree.b2z", "embed.b2e"};
    for (size_t i = 0; i < 2; i++) {
        size_t n;
        uint8_t *content = load(in_stores(files[i]), &n);
        holdall_storage *storage;
        OK(holdall_storage_from_memory(content, n, &storage, &err));
        holdall_options *o = holdall_options_new();
        OK(holdall_options_set_storage(o, &storage, 1, &err));
        holdall_store *store = open_store(NULL, o);
        check_nodes(store);
        holdall_array *a;
        GIVES(HOLDALL_E_ARGUMENT, holdall_store_open_array(store, "/a", o, &a, &err));
        holdall_store_close(store);
        holdall_options_free(o);
        holdall_storage_free(storage);
        free(content);
    }
}

/* A CTable: deleted rows are left out, and which rows are null is known. */
static void tables_are_read(void)
{
    static const char *const columns[] = {"i", "u"};
    holdall_table *t;
    OK(holdall_table_open(in_stores("deleted.b2d"), HOLDALL_READ, NULL, &t, &err));
    EQUAL(holdall_table_row_count(t), 194);
    EQUAL(holdall_table_column_count(t), 9);
    int32_t numbers[4];
    int64_t times[4];
    void *const dsts[] = {numbers, times};
    const size_t sizes[] = {sizeof numbers, sizeof times};
    OK(holdall_table_read_rows(t, 0, 4, 1, 2, columns, dsts, sizes, &err));
    static const int32_t expected[] = {1, 2, 6, -1};
    CHECK(memcmp(numbers, expected, sizeof expected) == 0 && times[3] == 7);
    uint8_t nulls[4] = {9, 9, 9, 9};
    OK(holdall_table_read_nulls(t, "i", 0, 4, nulls, &err));
    CHECK(memcmp(nulls, (uint8_t[]){0, 0, 0, 1}, 4) == 0);
    GIVES(HOLDALL_NOT_FOUND, holdall_table_read_nulls(t, "u", 0, 4, nulls, &err));
    CHECK(nulls[3] == 0);
    GIVES(HOLDALL_E_RANGE, holdall_table_read_nulls(t, "i", 191, 4, nulls, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_read_nulls(t, "none", 0, 4, nulls, &err));
    OK(holdall_table_read_nulls(t, "i", 192, 0, NULL, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_table_copy(t, in_tmp("copy.bcolz"), HOLDALL_CREATE,
                                                    HOLDALL_FORMAT_BCOLZ, NULL, &err));
    CHECK(says("null"));
    holdall_table_close(t);
    OK(holdall_table_open(in_stores("tree.b2z/tables/t"), HOLDALL_READ, NULL, &t, &err));
    EQUAL(holdall_table_row_count(t), 5);
    OK(holdall_table_copy(t, in_tmp("copy.bcolz"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, NULL,
                          &err));
    OK(holdall_table_refresh(t, &err));
    holdall_table_close(t);
    holdall_format format;
    holdall_kind kind;
    OK(holdall_identify(in_stores("table.b2z"), &format, &kind, &err));
    EQUAL(format, HOLDALL_FORMAT_CTABLE);
    EQUAL(kind, HOLDALL_KIND_TABLE);
    GIVES(HOLDALL_E_UNSUPPORTED,
          holdall_table_open(in_stores("table.b2z"), HOLDALL_APPEND, NULL, &t, &err));
    /* Texts and lists are read one by one. */
    OK(holdall_table_open(in_stores("text.b2d"), HOLDALL_READ, NULL, &t, &err));
    int64_t x[3];
    OK(holdall_table_read_rows(t, 0, 3, 1, 1, (const char *const[]){"x"}, (void *const[]){x},
                               (const size_t[]){sizeof x}, &err));
    EQUAL(x[2], 4);
    char text[40];
    size_t n;
    const holdall_array *texts = holdall_table_find_column(t, "t");
    CHECK(strcmp(holdall_array_dtype(texts), "T") == 0);
    EQUAL(holdall_array_itemsize(texts), 0);
    OK(holdall_array_read_object(texts, 1, text, sizeof text, &n, &err));
    CHECK(n == 7 && memcmp(text, "gr\xC3\xB6\xC3\x9F" "e", 7) == 0);
    uint8_t null[3];
    OK(holdall_table_read_nulls(t, "v", 0, 3, null, &err));
    CHECK(null[0] == 1 && null[1] == 0);
    GIVES(HOLDALL_E_TYPE, holdall_array_read(texts, NULL, NULL, NULL, text, sizeof text, NULL, &err));
    /* the list [1] */
    OK(holdall_array_read_object(holdall_table_find_column(t, "l"), 1, text, sizeof text, &n, &err));
    CHECK(n == 2 && memcmp(text, "\x91\x01", 2) == 0);
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_table_copy(t, in_tmp("text.bcolz"), HOLDALL_CREATE,
                                                    HOLDALL_FORMAT_BCOLZ, NULL, &err));
    holdall_table_close(t);
}

/* Creates a CTable, changes it with a handle of its own, and reads it. */
static void tables_are_written(void)
{
    static const char *const names[] = {"n", "x"}, *const dtypes[] = {"<i8", "<f4"};
    const holdall_table_spec spec = {.struct_size = sizeof spec,
                                     .format = HOLDALL_FORMAT_CTABLE,
                                     .column_count = 2,
                                     .names = names,
                                     .dtypes = dtypes};
    const char *path = in_tmp("new.b2d");
    holdall_table *t;
    GAVE(HOLDALL_E_ARGUMENT,
         holdall_table_create(in_tmp("new.table"), HOLDALL_CREATE, &spec, NULL, &t, &err));
    OK(holdall_table_create(path, HOLDALL_CREATE, &spec, NULL, &t, &err));
    const int64_t n[] = {1, -2, 3};
    const float x[] = {0.5f, 1.5f, -2};
    const void *columns[] = {n, x};
    const size_t sizes[] = {sizeof n, sizeof x};
    OK(holdall_table_append(t, 3, columns, sizes, &err));
    OK(holdall_table_attr_set(t, "made", "[1]", 3, &err));
    OK(holdall_table_commit(t, &err));
    holdall_table_close(t);
    GAVE(HOLDALL_E_EXISTS, holdall_table_create(path, HOLDALL_CREATE, &spec, NULL, &t, &err));

    OK(holdall_table_open(path, HOLDALL_APPEND, NULL, &t, &err));
    OK(holdall_table_insert(t, 1, 3, columns, sizes, &err));
    OK(holdall_table_remove(t, 0, 2, &err));
    OK(holdall_table_write(t, "n", 0, 1, &(int64_t){9}, 8, &err));
    OK(holdall_table_column_attr_set(t, "n", "unit", "\"m\"", 3, &err));
    OK(holdall_table_commit(t, &err));
    holdall_table_close(t);

    OK(holdall_table_open(path, HOLDALL_READ, NULL, &t, &err));
    EQUAL(holdall_table_row_count(t), 4);
    int64_t got[4];
    uint64_t start = 0, count = 4;
    OK(holdall_array_read(holdall_table_column(t, 0), &start, &count, NULL, got, sizeof got, NULL,
                          &err));
    CHECK(got[0] == 9 && got[1] == 3 && got[2] == -2 && got[3] == 3);
    const void *unit;
    size_t size;
    OK(holdall_array_attr_get(holdall_table_column(t, 0), "unit", &unit, &size, &err));
    CHECK(size == 3 && memcmp(unit, "\"m\"", 3) == 0);
    holdall_table_close(t);
    OK(holdall_verify(path, NULL, NULL, NULL, NULL, &err));
}

#define TEXT(s) {s, sizeof(s) - 1}
#define NONE {NULL, 0}

/* Columns of values of any length: texts, with nulls. */
static void texts_are_written(void)
{
    static const char *const names[] = {"t", "n"}, *const dtypes[] = {"T", "<i4"};
    const holdall_table_spec spec = {.struct_size = sizeof spec,
                                     .format = HOLDALL_FORMAT_CTABLE,
                                     .column_count = 2,
                                     .names = names,
                                     .dtypes = dtypes};
    const char *path = in_tmp("texts.b2d");
    holdall_table *t;
    OK(holdall_table_create(path, HOLDALL_CREATE, &spec, NULL, &t, &err));
    const holdall_value texts[] = {TEXT("one"), NONE, TEXT(""), TEXT("gr\xC3\xBC n")};
    const int32_t n[] = {1, 2, 3, 4};
    const void *columns[] = {texts, n};
    const size_t sizes[] = {sizeof texts, sizeof n};
    OK(holdall_table_append(t, 4, columns, sizes, &err));
    OK(holdall_table_insert(t, 1, 4, columns, sizes, &err));
    OK(holdall_table_remove(t, 0, 2, &err));
    const holdall_value one = TEXT("a longer text");
    OK(holdall_table_write(t, "t", 1, 1, &one, sizeof one, &err));
    OK(holdall_table_commit(t, &err));

    /* What a column of texts cannot have is refused; nothing is appended. */
    const holdall_value wrong[] = {TEXT("x"), TEXT("\xff"), TEXT("x"), TEXT("x")};
    const void *others[] = {wrong, n};
    GIVES(HOLDALL_E_TYPE, holdall_table_append(t, 4, others, sizes, &err));
    CHECK(says("\"t\"") && says("UTF-8"));
    EQUAL(err.position, 1);
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_append(t, 3, columns, sizes, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_table_append(t, 4, columns, (const size_t[]){sizeof texts - 1, sizeof n}, &err));
    GIVES(HOLDALL_E_RANGE, holdall_table_write(t, "t", 6, 1, &one, sizeof one, &err));
    EQUAL(holdall_table_row_count(t), 6);
    const holdall_value more[6] = {TEXT("a"), TEXT("b"), TEXT("c"), TEXT("d"), NONE, TEXT("f")};
    OK(holdall_table_column_add(t, 2, "more", "T", more, sizeof more, &err));
    OK(holdall_table_commit(t, &err));
    holdall_table_close(t);

    OK(holdall_table_open(path, HOLDALL_READ, NULL, &t, &err));
    EQUAL(holdall_table_row_count(t), 6);
    static const char *const expected[6] = {NULL, "a longer text", "gr\xC3\xBC n",
                                            NULL, "",              "gr\xC3\xBC n"};
    uint8_t nulls[6];
    OK(holdall_table_read_nulls(t, "t", 0, 6, nulls, &err));
    const holdall_array *column = holdall_table_find_column(t, "t");
    for (uint64_t i = 0; i < 6; i++) {
        char text[40];
        size_t size;
        OK(holdall_array_read_object(column, i, text, sizeof text, &size, &err));
        const char *is = expected[i] == NULL ? "" : expected[i];
        CHECK(nulls[i] == (expected[i] == NULL) && size == strlen(is));
        CHECK(memcmp(text, is, size) == 0);
    }
    OK(holdall_table_read_nulls(t, "more", 0, 6, nulls, &err));
    CHECK(memcmp(nulls, (uint8_t[]){0, 0, 0, 0, 1, 0}, 6) == 0);
    OK(holdall_table_copy(t, in_tmp("copy.b2d"), HOLDALL_CREATE, HOLDALL_FORMAT_CTABLE, NULL, &err));
    holdall_table_close(t);
    OK(holdall_verify(in_tmp("copy.b2d"), NULL, NULL, NULL, NULL, &err));

    /* Other formats have no such columns. */
    const holdall_table_spec other = {.struct_size = sizeof other,
                                      .format = HOLDALL_FORMAT_BCOLZ,
                                      .column_count = 1,
                                      .names = names,
                                      .dtypes = dtypes};
    GAVE(HOLDALL_E_UNSUPPORTED,
         holdall_table_create(in_tmp("t.bcolz"), HOLDALL_CREATE, &other, NULL, &t, &err));
}

int main(void)
{
    folder = own_fixtures("stores");
    CHECK(folder != NULL);
    RUN(nodes_are_opened);
    RUN(nodes_are_listed);
    RUN(errors_name_the_node);
    RUN(stores_in_memory);
    RUN(tables_are_read);
    RUN(tables_are_written);
    RUN(texts_are_written);
    return 0;
}
