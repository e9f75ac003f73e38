/* Stores that python-blosc2 wrote (fixtures: stores): nodes are listed, identified and opened, by
 * handle, by path and in memory. Stores are created and changed, with one commit for all nodes. */
#include "check.h"

static const char *folder;

static const char *in_stores(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static holdall_store *open_store(const char *path, holdall_mode mode,
                                 const holdall_options *options)
{
    holdall_store *store;
    OK(holdall_store_open(path, mode, options, &store, &err));
    return store;
}

static holdall_status open_array(const holdall_store *store, const char *node, holdall_mode mode,
                                 holdall_array **a)
{
    return holdall_store_open_array(store, node, mode, NULL, a, &err);
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
    OK(open_array(store, "/a", HOLDALL_READ, &a));
    check_numbers(a);
    OK(holdall_store_open_schunk(store, "group/s", HOLDALL_READ, NULL, &s, &err));
    check_bytes(s);
    OK(open_array(store, "/a", HOLDALL_READ, &a));
    OK(holdall_array_refresh(a, &err));
    check_numbers(a);
}

static const char *const stores[] = {"tree.b2z",      "tree.b2d", "threshold.b2z",
                                     "threshold.b2d", "dict.b2z", "embed.b2e"};

static void nodes_are_opened(void)
{
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        now("%s", stores[i]);
        holdall_store *store = open_store(in_stores(stores[i]), HOLDALL_READ, NULL);
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
    holdall_store *store = open_store(in_stores("tree.b2d"), HOLDALL_READ, NULL);
    EQUAL(holdall_store_node_count(store), n);
    for (size_t i = 0; i < n; i++)
        CHECK(strcmp(holdall_store_node_path(store, i), expected[i]) == 0);
    CHECK(holdall_store_node_path(store, n) == NULL);
    holdall_kind kind;
    OK(holdall_store_identify(store, "/tables/t", NULL, &kind, &err));
    EQUAL(kind, HOLDALL_KIND_TABLE);
    holdall_table *t;
    OK(holdall_store_open_table(store, "/tables/t", HOLDALL_READ, NULL, &t, &err));
    EQUAL(holdall_table_row_count(t), 5);
    GIVES(HOLDALL_E_STATE, holdall_table_refresh(t, &err));
    holdall_table_close(t);
    GIVES(HOLDALL_E_TYPE, holdall_store_open_table(store, "/a", HOLDALL_READ, NULL, &t, &err));
    holdall_store_close(store);
}

static void errors_name_the_node(void)
{
    holdall_store *store = open_store(in_stores("tree.b2z"), HOLDALL_READ, NULL);
    holdall_array *a;
    GIVES(HOLDALL_E_MISSING, open_array(store, "/none", HOLDALL_READ, &a));
    CHECK(says("tree.b2z/none") && a == NULL);
    GIVES(HOLDALL_E_TYPE, open_array(store, "/group", HOLDALL_READ, &a));
    CHECK(says("tree.b2z/group"));
    GIVES(HOLDALL_E_TYPE, open_array(store, "/tables/t", HOLDALL_READ, &a));
    CHECK(says("holdall_table_open()"));
    GIVES(HOLDALL_E_ARGUMENT, open_array(store, "\xFF", HOLDALL_READ, &a));
    holdall_store_close(store);
    store = open_store(in_stores("embed.b2e"), HOLDALL_READ, NULL);
    GIVES(HOLDALL_E_UNSUPPORTED, open_array(store, "/far", HOLDALL_READ, &a));
    CHECK(says("example.com"));
    holdall_store_close(store);
    GIVES(HOLDALL_E_TYPE, holdall_array_open(in_stores("tree.b2d"), HOLDALL_READ, NULL, &a, &err));
    CHECK(says("holdall_store_open()"));
    GIVES(HOLDALL_E_TYPE, holdall_array_open(in_stores("tree.b2z"), HOLDALL_READ, NULL, &a, &err));
    CHECK(says("holdall_store_open()"));
    GIVES(HOLDALL_E_MISSING,
          holdall_store_open(in_tmp("none.b2z"), HOLDALL_READ, NULL, &store, &err));
    CHECK(store == NULL);
    save(in_tmp("short.b2z"), "PK\3\4", 4);
    GIVES(HOLDALL_E_FORMAT,
          holdall_store_open(in_tmp("short.b2z"), HOLDALL_READ, NULL, &store, &err));
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
        holdall_store *store = open_store(NULL, HOLDALL_READ, o);
        check_nodes(store);
        holdall_array *a;
        GIVES(HOLDALL_E_ARGUMENT, holdall_store_open_array(store, "/a", HOLDALL_READ, o, &a, &err));
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
    holdall_values *values;
    OK(holdall_array_read_values(holdall_table_find_column(t, "v"), 0, 3, &values, &err));
    const holdall_value *items = holdall_values_items(values);
    CHECK(items[0].data == NULL && items[1].data != NULL && items[2].data != NULL);
    holdall_values_free(values);
    OK(holdall_array_read_values(texts, 1, 2, &values, &err));
    items = holdall_values_items(values);
    CHECK(items[0].size == 7 && memcmp(items[0].data, "gr\xC3\xB6\xC3\x9F" "e", 7) == 0);
    holdall_values_free(values);
    GIVES(HOLDALL_E_RANGE,
          holdall_array_read_values(texts, 1, holdall_table_row_count(t), &values, &err));
    GIVES(HOLDALL_E_RANGE, holdall_array_read_values(texts, UINT64_MAX, 2, &values, &err));
    CHECK(values == NULL);
    GIVES(HOLDALL_E_TYPE,
          holdall_array_read_values(holdall_table_find_column(t, "x"), 0, 1, &values, &err));
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

/* ---- changes ----------------------------------------------------------------------------------*/

static const struct {
    holdall_format format;
    const char *name;
} formats[] = {{HOLDALL_FORMAT_B2D, "changed.b2d"},
               {HOLDALL_FORMAT_B2Z, "changed.b2z"},
               {HOLDALL_FORMAT_B2E, "changed.b2e"}};

static holdall_store *create_store(const char *path)
{
    holdall_store *store;
    OK(holdall_store_create(path, HOLDALL_CREATE, 0, NULL, &store, &err));
    return store;
}

/* Options to create a node. The caller frees them. */
static holdall_options *new_node(const holdall_store *store, const char *node, holdall_kind kind)
{
    holdall_storage *storage;
    OK(holdall_store_node_storage(store, node, kind, &storage, &err));
    holdall_options *o = holdall_options_new();
    OK(holdall_options_set_storage(o, &storage, 1, &err));
    holdall_storage_free(storage);
    return o;
}

static holdall_status refused(const holdall_store *store, const char *node, holdall_kind kind)
{
    holdall_storage *storage = (holdall_storage *)&err;
    holdall_status status = holdall_store_node_storage(store, node, kind, &storage, &err);
    CHECK(storage == NULL);
    return status;
}

/* Creates an array of the numbers 0 to n - 1 and commits it. */
static holdall_array *create_numbers(const holdall_store *store, const char *node, uint64_t n)
{
    holdall_options *o = new_node(store, node, HOLDALL_KIND_ARRAY);
    holdall_array *a;
    OK(array_create(NULL, HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i8", 1, &n, NULL, NULL, o, &a,
                    &err));
    holdall_options_free(o);
    for (int64_t i = 0; i < (int64_t)n; i++)
        OK(holdall_array_write(a, &(uint64_t){(uint64_t)i}, &(uint64_t){1}, NULL, &i, sizeof i,
                               NULL, &err));
    OK(holdall_array_commit(a, &err));
    return a;
}

/* Appends the next number and commits the array. */
static void append_number(holdall_array *a)
{
    const int64_t next = (int64_t)holdall_array_shape(a)[0];
    OK(holdall_array_append(a, 0, 1, &next, sizeof next, &err));
    OK(holdall_array_commit(a, &err));
}

/* Has the committed store at this path an array of the numbers 0 to n - 1 as this node? */
static void check_array(const char *path, const char *node, uint64_t n)
{
    char inside[4096];
    int64_t items[20];
    holdall_array *a;
    snprintf(inside, sizeof inside, "%s%s", path, node);
    OK(holdall_array_open(inside, HOLDALL_READ, NULL, &a, &err));
    EQUAL(holdall_array_shape(a)[0], n);
    OK(holdall_array_read(a, NULL, NULL, NULL, items, 8 * (size_t)n, NULL, &err));
    for (uint64_t i = 0; i < n; i++)
        EQUAL(items[i], i);
    holdall_array_close(a);
}

static void check_listed(const holdall_store *store, size_t n, const char *const *nodes)
{
    EQUAL(holdall_store_node_count(store), n);
    for (size_t i = 0; i < n; i++)
        CHECK(strcmp(holdall_store_node_path(store, i), nodes[i]) == 0);
}

#define NODES(store, ...) \
    check_listed(store, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), \
                 (const char *const[]){__VA_ARGS__})

/* What several nodes have committed, and removals, are visible after a commit of the store. */
static void nodes_are_committed_together(void)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        now("%s", formats[i].name);
        const char *path = in_tmp(formats[i].name);
        holdall_store *store, *other;
        OK(holdall_store_create(path, HOLDALL_CREATE, formats[i].format, NULL, &store, &err));
        holdall_array *a = create_numbers(store, "/a", 3), *b = create_numbers(store, "g/b", 2);
        holdall_options *o = new_node(store, "/g/s", HOLDALL_KIND_SCHUNK);
        holdall_schunk *s;
        OK(holdall_schunk_create("", HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 1, o, &s, &err));
        holdall_options_free(o);
        OK(holdall_schunk_append(s, "abcdefgh", 8, &err));
        OK(holdall_schunk_commit(s, &err));
        holdall_schunk_close(s);
        GIVES(formats[i].format == HOLDALL_FORMAT_B2D ? HOLDALL_E_FORMAT : HOLDALL_E_MISSING,
              holdall_store_open(path, HOLDALL_READ, NULL, &other, &err));
        EQUAL(holdall_store_node_count(store), 0);
        OK(holdall_store_commit(store, &err));
        NODES(store, "/a", "/g/b", "/g/s");
        check_array(path, "/a", 3);
        check_array(path, "/g/b", 2);
        holdall_format format;
        OK(holdall_identify(path, &format, NULL, &err));
        EQUAL(format, formats[i].format);

        /* The arrays are still open. Their commits, and the removal, are pending. */
        append_number(a);
        append_number(b);
        OK(holdall_store_remove(store, "/g/s", &err));
        NODES(store, "/a", "/g/b", "/g/s");
        check_array(path, "/a", 3);
        check_array(path, "/g/b", 2);
        holdall_array *pending;
        OK(open_array(store, "/a", HOLDALL_READ, &pending));
        EQUAL(holdall_array_shape(pending)[0], 4);
        holdall_array_close(pending);
        OK(holdall_store_commit(store, &err));
        NODES(store, "/a", "/g/b");
        check_array(path, "/a", 4);
        check_array(path, "/g/b", 3);
        holdall_array_close(a);
        holdall_store_close(store);
        holdall_array_close(b);
        OK(holdall_verify(path, NULL, NULL, NULL, NULL, &err));
    }
    TIDY();
}

static void nodes_are_changed_and_removed(void)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        now("%s", formats[i].name);
        const char *path = in_tmp(formats[i].name);
        holdall_store *store = open_store(path, HOLDALL_APPEND, NULL), *other;
        holdall_array *a;
        OK(open_array(store, "/a", HOLDALL_APPEND, &a));
        append_number(a);
        holdall_array_close(a);
        holdall_array_close(create_numbers(store, "/deep/er/c", 1));
        OK(holdall_store_remove(store, "/g", &err));
        GIVES(HOLDALL_E_BUSY, holdall_store_open(path, HOLDALL_APPEND, NULL, &other, &err));
        GIVES(HOLDALL_E_MISSING, holdall_store_remove(store, "/g", &err));
        GIVES(HOLDALL_E_MISSING, open_array(store, "/g/b", HOLDALL_READ, &a));
        check_array(path, "/g/b", 3);
        OK(holdall_store_commit(store, &err));
        NODES(store, "/a", "/deep/er/c");
        check_array(path, "/a", 5);

        /* Writers of one node exclude each other, and a store that is closed refuses changes. */
        OK(open_array(store, "/a", HOLDALL_APPEND, &a));
        holdall_array *second;
        GIVES(HOLDALL_E_BUSY, open_array(store, "/a", HOLDALL_APPEND, &second));
        GIVES(HOLDALL_E_BUSY, holdall_store_remove(store, "/a", &err));
        GIVES(HOLDALL_E_BUSY, holdall_store_copy(store, path, HOLDALL_REPLACE, 0, NULL, &err));
        const char *copied = in_tmp("copied.b2z");
        OK(holdall_store_copy(store, copied, HOLDALL_REPLACE, 0, NULL, &err));
        GIVES(HOLDALL_E_EXISTS, holdall_store_copy(store, copied, HOLDALL_CREATE, 0, NULL, &err));
        check_array(copied, "/deep/er/c", 1);
        holdall_store_close(store);
        const int64_t number = 1;
        holdall_status status = holdall_array_append(a, 0, 1, &number, sizeof number, &err);
        EQUAL(status == HOLDALL_OK ? holdall_array_commit(a, &err) : status, HOLDALL_E_STATE);
        holdall_array_close(a);
        check_array(path, "/a", 5);

        /* Without a commit nothing changes. */
        store = open_store(path, HOLDALL_APPEND, NULL);
        OK(holdall_store_remove(store, "/a", &err));
        holdall_array_close(create_numbers(store, "/d", 1));
        holdall_store_close(store);
        store = open_store(path, HOLDALL_READ, NULL);
        NODES(store, "/a", "/deep/er/c");
        holdall_store_close(store);

        OK(holdall_store_create(path, HOLDALL_REPLACE, 0, NULL, &store, &err));
        holdall_array_close(create_numbers(store, "/only", 1));
        check_array(path, "/a", 5);
        OK(holdall_store_commit(store, &err));
        NODES(store, "/only");
        holdall_store_close(store);
        check_array(path, "/only", 1);
        OK(holdall_verify(path, NULL, NULL, NULL, NULL, &err));
    }
    TIDY();
}

static void tables_are_nodes(void)
{
    static const char *const names[] = {"n", "t"}, *const dtypes[] = {"<i8", "T"};
    static const char *const paths[] = {"tables.b2d", "tables.b2z"};
    for (size_t i = 0; i < 2; i++) {
        now("%s", paths[i]);
        const char *path = in_tmp(paths[i]);
        holdall_store *store = create_store(path);
        holdall_options *o = new_node(store, "/g/t", HOLDALL_KIND_TABLE);
        holdall_table *t, *source;
        OK(table_create(NULL, HOLDALL_CREATE, HOLDALL_FORMAT_CTABLE, 2, names, dtypes, o, &t,
                        &err));
        holdall_options_free(o);
        const int64_t n[] = {1, 2, 3};
        const holdall_value texts[] = {TEXT("one"), NONE, TEXT("three")};
        const void *columns[] = {n, texts};
        const size_t sizes[] = {sizeof n, sizeof texts};
        OK(holdall_table_append(t, 3, columns, sizes, &err));
        OK(holdall_table_commit(t, &err));
        holdall_table_close(t);
        OK(holdall_table_open(in_stores("tree.b2z/tables/t"), HOLDALL_READ, NULL, &source, &err));
        o = new_node(store, "/copy", HOLDALL_KIND_TABLE);
        OK(holdall_table_copy(source, NULL, HOLDALL_CREATE, HOLDALL_FORMAT_CTABLE, o, &err));
        holdall_options_free(o);
        holdall_table_close(source);
        OK(holdall_store_commit(store, &err));
        NODES(store, "/copy", "/g/t");
        OK(holdall_store_open_table(store, "/g/t", HOLDALL_APPEND, NULL, &t, &err));
        OK(holdall_table_append(t, 3, columns, sizes, &err));
        OK(holdall_table_commit(t, &err));
        holdall_table_close(t);
        GIVES(HOLDALL_E_EXISTS, refused(store, "/g", HOLDALL_KIND_TABLE));
        GIVES(HOLDALL_E_EXISTS, refused(store, "/g/t/x", HOLDALL_KIND_ARRAY));
        OK(holdall_store_commit(store, &err));
        holdall_store_close(store);

        store = open_store(path, HOLDALL_READ, NULL);
        OK(holdall_store_open_table(store, "/g/t", HOLDALL_READ, NULL, &t, &err));
        EQUAL(holdall_table_row_count(t), 6);
        uint8_t nulls[6];
        OK(holdall_table_read_nulls(t, "t", 0, 6, nulls, &err));
        CHECK(nulls[1] == 1 && nulls[4] == 1 && nulls[5] == 0);
        holdall_table_close(t);
        OK(holdall_store_open_table(store, "/copy", HOLDALL_READ, NULL, &t, &err));
        EQUAL(holdall_table_row_count(t), 5);
        holdall_table_close(t);
        holdall_store_close(store);
        OK(holdall_verify(path, NULL, NULL, NULL, NULL, &err));
    }
}

/* A store of python-blosc2, whose array and superchunk are in embed.b2e. */
static void embedded_nodes_are_changed(void)
{
    size_t n;
    uint8_t *content = load(in_stores("embed.b2e"), &n);
    const char *path = in_tmp("theirs.b2e");
    save(path, content, n);
    free(content);
    holdall_store *store = open_store(path, HOLDALL_APPEND, NULL);
    holdall_array *a;
    OK(open_array(store, "/a", HOLDALL_APPEND, &a));
    OK(holdall_array_attr_set(a, "seen", "\xC3", 1, &err));
    OK(holdall_array_commit(a, &err));
    holdall_options *o = new_node(store, "/copy", HOLDALL_KIND_ARRAY);
    OK(array_copy(a, NULL, HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, NULL, NULL, o, &err));
    holdall_options_free(o);
    holdall_array_close(a);
    OK(holdall_store_commit(store, &err));
    holdall_store_close(store);
    store = open_store(path, HOLDALL_READ, NULL);
    check_nodes(store);
    OK(open_array(store, "/copy", HOLDALL_READ, &a));
    const void *value;
    OK(holdall_array_attr_get(a, "seen", &value, &n, &err));
    EQUAL(n, 1);
    check_numbers(a);
    holdall_store_close(store);
}

static void changes_are_refused(void)
{
    const char *path = in_tmp("refused.b2d");
    holdall_store *store = create_store(path), *other;
    holdall_array_close(create_numbers(store, "/g/a", 1));
    OK(holdall_store_commit(store, &err));
    static const char *const wrong[] = {"", "/", "/a//b", "../a", "/a/..", "/a\\b", "/embed"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        now("%s", wrong[i]);
        GIVES(HOLDALL_E_ARGUMENT, refused(store, wrong[i], HOLDALL_KIND_ARRAY));
    }
    GIVES(HOLDALL_E_ARGUMENT, refused(store, "/x", HOLDALL_KIND_BAG));
    GIVES(HOLDALL_E_ARGUMENT, refused(store, "/x", HOLDALL_FORMAT_B2ND));
    GIVES(HOLDALL_E_EXISTS, refused(store, "/g/a", HOLDALL_KIND_SCHUNK));
    GIVES(HOLDALL_E_EXISTS, refused(store, "/g/a", HOLDALL_KIND_TABLE));
    holdall_array *a;
    const uint64_t one = 1;
    holdall_options *o = new_node(store, "/g/a", HOLDALL_KIND_ARRAY);
    GIVES(HOLDALL_E_EXISTS, array_create(NULL, HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i8", 1, &one,
                                         NULL, NULL, o, &a, &err));
    GIVES(HOLDALL_E_ARGUMENT, array_create("x", HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i8", 1, &one,
                                           NULL, NULL, o, &a, &err));
    holdall_options_free(o);
    GIVES(HOLDALL_E_MISSING, open_array(store, "/none", HOLDALL_APPEND, &a));
    GIVES(HOLDALL_E_ARGUMENT, open_array(store, "/g/a", HOLDALL_CREATE, &a));
    GIVES(HOLDALL_E_TYPE, open_array(store, "/g", HOLDALL_APPEND, &a));
    GIVES(HOLDALL_E_MISSING, holdall_store_remove(store, "/none", &err));

    /* A node of another format than a frame. */
    o = new_node(store, "/x", HOLDALL_KIND_SCHUNK);
    holdall_schunk *s;
    OK(holdall_schunk_create(NULL, HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, 1, o, &s, &err));
    holdall_options_free(o);
    OK(holdall_schunk_append(s, "x", 1, &err));
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_close(s);
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_store_commit(store, &err));
    OK(holdall_store_remove(store, "/x", &err));
    OK(holdall_store_commit(store, &err));

    /* Writers exclude each other. */
    GIVES(HOLDALL_E_BUSY,
          holdall_array_open(in_tmp("refused.b2d/g/a"), HOLDALL_APPEND, NULL, &a, &err));
    holdall_store_close(store);
    OK(holdall_array_open(in_tmp("refused.b2d/g/a"), HOLDALL_APPEND, NULL, &a, &err));
    GIVES(HOLDALL_E_BUSY, holdall_store_open(path, HOLDALL_APPEND, NULL, &other, &err));
    holdall_array_close(a);

    /* A store that is open for reading. */
    store = open_store(path, HOLDALL_READ, NULL);
    GIVES(HOLDALL_E_STATE, holdall_store_commit(store, &err));
    GIVES(HOLDALL_E_STATE, holdall_store_remove(store, "/g", &err));
    GIVES(HOLDALL_E_STATE, refused(store, "/x", HOLDALL_KIND_ARRAY));
    GIVES(HOLDALL_E_STATE, open_array(store, "/g/a", HOLDALL_APPEND, &a));
    holdall_store_close(store);

    static const struct {
        const char *name;
        holdall_mode mode;
        holdall_format format;
        holdall_status status;
    } creations[] = {
        {"refused.b2d", HOLDALL_CREATE, 0, HOLDALL_E_EXISTS},
        {"x.blp", HOLDALL_CREATE, 0, HOLDALL_E_ARGUMENT},
        {"x.b2z", HOLDALL_CREATE, HOLDALL_FORMAT_B2D, HOLDALL_E_ARGUMENT},
        {"x.b2z", HOLDALL_CREATE, HOLDALL_FORMAT_BAGZ, HOLDALL_E_ARGUMENT},
        {"x.b2z", HOLDALL_READ, 0, HOLDALL_E_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof creations / sizeof *creations; i++) {
        now("creation %zu", i);
        GIVES(creations[i].status,
              holdall_store_create(in_tmp(creations[i].name), creations[i].mode,
                                   creations[i].format, NULL, &store, &err));
        CHECK(store == NULL);
    }
    GIVES(HOLDALL_E_ARGUMENT, holdall_store_open(path, HOLDALL_CREATE, NULL, &store, &err));
    store = create_store(in_tmp("refused.b2e"));
    GIVES(HOLDALL_E_UNSUPPORTED, refused(store, "/t", HOLDALL_KIND_TABLE));
    holdall_store_close(store);
    CHECK(!there(in_tmp("refused.b2e")));
    TIDY();
}

static void stores_are_created_in_memory(void)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        now("%s", formats[i].name);
        holdall_storage *storage;
        OK(holdall_storage_new_memory(&storage, &err));
        holdall_options *o = holdall_options_new();
        OK(holdall_options_set_storage(o, &storage, 1, &err));
        holdall_storage_free(storage);
        holdall_store *store;
        GIVES(HOLDALL_E_ARGUMENT, holdall_store_create(NULL, HOLDALL_CREATE, 0, o, &store, &err));
        OK(holdall_store_create(NULL, HOLDALL_CREATE, formats[i].format, o, &store, &err));
        holdall_array_close(create_numbers(store, "/g/a", 3));
        OK(holdall_store_commit(store, &err));
        holdall_store_close(store);
        store = open_store(NULL, HOLDALL_APPEND, o);
        holdall_array *a;
        OK(open_array(store, "/g/a", HOLDALL_APPEND, &a));
        append_number(a);
        OK(holdall_store_commit(store, &err));
        holdall_array_close(a);
        holdall_store_close(store);
        store = open_store(NULL, HOLDALL_READ, o);
        OK(open_array(store, "/g/a", HOLDALL_READ, &a));
        EQUAL(holdall_array_shape(a)[0], 4);
        holdall_array_close(a);
        holdall_store_close(store);
        holdall_options_free(o);
    }
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
    RUN(nodes_are_committed_together);
    RUN(nodes_are_changed_and_removed);
    RUN(tables_are_nodes);
    RUN(embedded_nodes_are_changed);
    RUN(changes_are_refused);
    RUN(stores_are_created_in_memory);
    return 0;
}
