/* Parts of a table or an array: corrupt attributes, the file names in results of verify, columns
 * that are changed beside their table, attributes in copies, and readers while another dataset
 * replaces the table. */
#include "folder.h"
#include "callbacks.h"

#define SHAPE(...) ((const uint64_t[]){__VA_ARGS__})

static holdall_status try_table(const char *name, holdall_mode mode, const int64_t *pairs,
                                holdall_table **t)
{
    holdall_options *o = options_of(pairs);
    holdall_status status = holdall_table_open(in_tmp(name), mode, o, t, &err);
    holdall_options_free(o);
    return status;
}

static const int64_t skipping[] = {HOLDALL_OPT_SKIP_DAMAGED, 1, 0, 0};

/* Creates ten rows of two columns, each with an attribute, like the table. */
static void make_table(const char *name)
{
    static const char *const names[] = {"a", "b"}, *const dtypes[] = {"<i4", "<i4"};
    static const int32_t items[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    holdall_table *t;
    OK(table_create(in_tmp(name), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, 2, names, dtypes, NULL, &t,
                    &err));
    OK(holdall_table_append(t, 10, (const void *const[]){items, items}, (const size_t[]){40, 40},
                            &err));
    OK(holdall_table_attr_set(t, "of", "\"all\"", 5, &err));
    OK(holdall_table_column_attr_set(t, "a", "unit", "\"m\"", 3, &err));
    OK(holdall_table_column_attr_set(t, "b", "unit", "\"s\"", 3, &err));
    OK(holdall_table_column_attr_set(t, "b", "gone", "1", 1, &err));
    OK(holdall_table_column_attr_set(t, "b", "gone", NULL, 0, &err));
    EQUAL(holdall_array_attr_count(holdall_table_column(t, 1)), 1);
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_column_attr_set(t, "c", "unit", "1", 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_column_attr_set(t, "a", "unit", "m", 1, &err));
    OK(holdall_table_commit(t, &err));
    holdall_table_close(t);
}

static bool has_attr(const holdall_array *a, const char *name, const char *want)
{
    const void *value;
    size_t n;
    return holdall_array_attr_get(a, name, &value, &n, &err) == HOLDALL_OK && n == strlen(want) &&
           memcmp(value, want, n) == 0;
}

static void corrupt_attributes_affect_nothing_else(void)
{
    holdall_table *t;
    holdall_array *a;
    const void *value;
    size_t n;
    int32_t items[10];
    make_table("d");
    GAVE(HOLDALL_OK, try_table("d", HOLDALL_READ, NULL, &t));
    CHECK(has_attr(holdall_table_column(t, 0), "unit", "\"m\"") &&
          has_attr(holdall_table_column(t, 1), "unit", "\"s\""));
    holdall_table_close(t);
    save(in_tmp("d/b/__attrs__"), "{\"unit\": \"s", 11);
    for (int skip = 0; skip < 2; skip++) {
        now("skip %d", skip);
        GAVE(HOLDALL_OK, try_table("d", HOLDALL_READ, skip ? skipping : NULL, &t));
        const holdall_array *b = holdall_table_column(t, 1);
        CHECK(has_attr(holdall_table_column(t, 0), "unit", "\"m\""));
        GIVES(HOLDALL_E_FORMAT, holdall_array_attr_get(b, "unit", &value, &n, &err));
        CHECK(says("d/b/__attrs__"));
        /* they are not mistaken for missing attributes */
        EQUAL(holdall_array_attr_count(b), !skip);
        CHECK(skip || strcmp(holdall_array_attr_name(b, 0), "__attrs__") == 0);
        OK(holdall_array_read(b, SHAPE(0), SHAPE(10), NULL, items, sizeof items, NULL, &err));
        CHECK(items[9] == 9);
        holdall_options *o = options_of(WITH(HOLDALL_OPT_DURABILITY, 0));
        holdall_status want = skip ? HOLDALL_DAMAGED : HOLDALL_E_FORMAT;
        GIVES(want, array_copy(b, in_tmp("copy"), HOLDALL_REPLACE, HOLDALL_FORMAT_BCOLZ, NULL, NULL,
                               o, &err));
        GIVES(want, array_copy(b, in_tmp("copy.blp"), HOLDALL_REPLACE, HOLDALL_FORMAT_BLOSCPACK,
                               NULL, NULL, o, &err));
        holdall_options_free(o);
        holdall_table_close(t);
    }
    GAVE(HOLDALL_E_FORMAT, try_table("d", HOLDALL_READ, WITH(HOLDALL_OPT_VERIFY, 2), &t));
    /* other columns are changed, and these attributes do not change */
    GAVE(HOLDALL_OK, try_table("d", HOLDALL_APPEND, NULL, &t));
    GIVES(HOLDALL_E_FORMAT, holdall_table_column_attr_set(t, "b", "x", "1", 1, &err));
    OK(holdall_table_column_attr_set(t, "a", "x", "1", 1, &err));
    OK(holdall_table_append(t, 10, (const void *const[]){items, items}, (const size_t[]){40, 40},
                            &err));
    OK(holdall_table_commit(t, &err));
    holdall_table_close(t);
    EQUAL(file_size(in_tmp("d/b/__attrs__")), 11);
    /* those of the table */
    save(in_tmp("d/__attrs__"), "[", 1);
    GAVE(HOLDALL_OK, try_table("d", HOLDALL_READ, NULL, &t));
    EQUAL(holdall_table_row_count(t), 20);
    GIVES(HOLDALL_E_FORMAT, holdall_table_attr_get(t, "of", &value, &n, &err));
    holdall_table_close(t);

    faults f = {.thread = pthread_self()};
    GIVES(HOLDALL_E_FORMAT, verify_counts(in_tmp("d"), NULL, note, &f, NULL, NULL, NULL, &err));
    CHECK(f.count == 2 && strcmp(f.parts[1], "b/__attrs__") == 0);
    f = (faults){.thread = pthread_self()};
    OK(holdall_array_open(in_tmp("d/b"), HOLDALL_READ, NULL, &a, &err));
    holdall_array_close(a);
    GIVES(HOLDALL_E_FORMAT, verify_counts(in_tmp("d/b"), NULL, note, &f, NULL, NULL, NULL, &err));
    EQUAL(f.count, 1);
}

static void faults_name_the_column_and_the_file(void)
{
    make_table("v");
    save(in_tmp("v/a/data/__0.blp"), "no chunk", 8);
    CHECK(remove(in_tmp("v/b/data/__0.blp")) == 0);
    faults f = {.thread = pthread_self()};
    GIVES(HOLDALL_E_FORMAT, verify_counts(in_tmp("v"), NULL, note, &f, NULL, NULL, NULL, &err));
    CHECK(f.count == 2 && strcmp(f.parts[0], "a/data/__0.blp") == 0 &&
          strcmp(f.parts[1], "b/data/__0.blp") == 0);
    EQUAL(f.errors[0].position, 0);
    save(in_tmp("v/a/meta/sizes"), "{", 1);
    f = (faults){.thread = pthread_self()};
    GIVES(HOLDALL_E_FORMAT, verify_counts(in_tmp("v"), NULL, note, &f, NULL, NULL, NULL, &err));
    CHECK(strcmp(f.parts[0], "a/meta/sizes") == 0);
    /* a path of "." names its folder, and the error of a held lock states the path */
    char here[PATH_MAX];
    holdall_array *a;
    holdall_table *t, *other;
    CHECK(getcwd(here, sizeof here) != NULL && chdir(in_tmp("v")) == 0);
    GIVES(HOLDALL_E_TYPE, holdall_array_open(".", HOLDALL_READ, NULL, &a, &err));
    CHECK(says("/v: "));
    CHECK(chdir(here) == 0);
    make_table("l");
    GAVE(HOLDALL_OK, try_table("l", HOLDALL_APPEND, NULL, &t));
    GAVE(HOLDALL_E_BUSY, try_table("l", HOLDALL_APPEND, NULL, &other));
    CHECK(says("l/dataset.holdall-lock: another writer holds this lock"));
    holdall_table_close(t);
}

static void columns_are_changed_by_their_table(void)
{
    holdall_table *t;
    const int32_t item = 5;
    make_table("c");
    GAVE(HOLDALL_OK, try_table("c", HOLDALL_APPEND, NULL, &t));
    holdall_array *c = (holdall_array *)holdall_table_column(t, 0);
    GIVES(HOLDALL_E_STATE, holdall_array_append(c, 0, 1, &item, 4, &err));
    CHECK(says("column") && says("c/a"));
    GIVES(HOLDALL_E_STATE, holdall_array_insert(c, 0, 0, 1, &item, 4, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_write(c, SHAPE(0), SHAPE(1), NULL, &item, 4, NULL, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_write_orthogonal(c, (const uint64_t *const[]){SHAPE(0)},
                                                          SHAPE(1), &item, 4, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_remove(c, 0, 0, 1, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_resize(c, SHAPE(3), &err));
    GIVES(HOLDALL_E_STATE, holdall_array_fill_value_set(c, &item, 4, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_attr_set(c, "x", "1", 1, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_commit(c, &err));
    holdall_array_close(c);
    EQUAL(holdall_array_shape(holdall_table_column(t, 0))[0], 10);
    OK(holdall_table_commit(t, &err));
    holdall_table_close(t);
    GAVE(HOLDALL_OK, try_table("c", HOLDALL_READ, NULL, &t));
    EQUAL(holdall_table_row_count(t), 10);
    holdall_table_close(t);
}

static void attributes_are_copied(void)
{
    static const char *const names[] = {"plain", "text \"\xc3\xa4\"", "deep"},
                             *const values[] = {"[1, NaN]", "\"\\u00e4\"",
                                                "{\"attrs\": {\"x\": 1}}"};
    holdall_array *a;
    const void *value;
    size_t n;
    OK(array_create(in_tmp("from"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, "<i4", 1, SHAPE(100),
                    NULL, NULL, NULL, &a, &err));
    for (int i = 0; i < 3; i++)
        OK(holdall_array_attr_set(a, names[i], values[i], strlen(values[i]), &err));
    OK(holdall_array_commit(a, &err));
    OK(array_copy(a, in_tmp("file.blp"), HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, NULL, NULL, NULL,
                  &err));
    holdall_array_close(a);
    OK(holdall_array_open(in_tmp("file.blp"), HOLDALL_READ, NULL, &a, &err));
    OK(holdall_array_attr_get(a, "", &value, &n, &err));
    CHECK(n > 2 && memcmp(value, "{\"dtype\"", 8) == 0);
    OK(array_copy(a, in_tmp("again"), HOLDALL_CREATE, HOLDALL_FORMAT_BLZ, NULL, NULL, NULL, &err));
    holdall_array_close(a);
    OK(holdall_array_open(in_tmp("again"), HOLDALL_READ, NULL, &a, &err));
    EQUAL(holdall_array_attr_count(a), 3);
    for (int i = 0; i < 3; i++)
        CHECK(has_attr(a, names[i], values[i]) &&
              strcmp(holdall_array_attr_name(a, (uint32_t)i), names[i]) == 0);
    holdall_array_close(a);
}

/* ---- another dataset replaces it --------------------------------------------------------------*/

static folder old, new;
static int calls, change_at;

/* All files are replaced between two calls, like a commit with no readers would do it. */
static void change_all(struct folder *f, operation o)
{
    (void)o;
    if (++calls == change_at) {
        folder_clear(f);
        folder_copy(f, &new);
    }
}

static void make_array(folder *f, const char *dtype, const char *attr)
{
    static const uint8_t items[400];
    *f = (folder)FOLDER;
    holdall_storage *io = folder_io(f);
    holdall_array *a;
    OK(array_create_io(io, HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, dtype, 1, SHAPE(100), NULL, NULL,
                       NULL, &a, &err));
    OK(holdall_array_write(a, SHAPE(0), SHAPE(100), NULL, items, sizeof items, NULL, &err));
    OK(holdall_array_attr_set(a, "of", attr, strlen(attr), &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    holdall_storage_free(io);
}

static void a_reader_sees_one_dataset(void)
{
    int seen[2] = {0};
    make_array(&old, "<i4", "\"old\"");
    make_array(&new, "<f4", "\"new\"");
    for (change_at = 1; change_at < 60; change_at++) {
        now("changed at call %d", change_at);
        folder f = FOLDER;
        folder_copy(&f, &old);
        calls = 0;
        f.before = change_all;
        holdall_storage *io = folder_io(&f);
        holdall_array *a;
        OK(array_open_io(io, HOLDALL_READ, NULL, &a, &err));
        bool is_old = strcmp(holdall_array_dtype(a), "<i4") == 0;
        CHECK(has_attr(a, "of", is_old ? "\"old\"" : "\"new\""));
        seen[is_old]++;
        holdall_array_close(a);
        holdall_storage_free(io);
        folder_clear(&f);
    }
    CHECK(seen[0] > 5 && seen[1] > 5);
    folder_clear(&old);
    folder_clear(&new);
}

static void splits(void)
{
    enum { N = 5000 };
    static int32_t a[N];
    holdall_table_spec spec = {.struct_size = sizeof spec, .format = HOLDALL_FORMAT_BCOLZ};
    spec.column_count = 1, spec.names = (const char *const[]){"a"};
    spec.dtypes = (const char *const[]){"<i4"};
    holdall_options *o = options_of(WITH(HOLDALL_OPT_CHUNK_BYTES, 4000));
    holdall_table *t;
    OK(holdall_table_create(in_tmp("splits"), HOLDALL_CREATE, &spec, o, &t, &err));
    holdall_options_free(o);
    OK(holdall_table_append(t, N, (const void *const[]){a}, (const size_t[]){sizeof a}, &err));
    OK(holdall_table_commit(t, &err));
    uint64_t firsts[9], counts[9], bytes[9];
    size_t n;
    OK(holdall_table_splits(t, 9, firsts, counts, bytes, &n, &err));
    EQUAL(n, 5);
    for (size_t i = 0; i < n; i++)
        CHECK(firsts[i] == i * 1000 && counts[i] == 1000 && bytes[i] > 0);
    OK(holdall_array_splits(holdall_table_column(t, 0), 2, firsts, counts, bytes, &n, &err));
    CHECK(n == 2 && counts[0] + counts[1] == N && firsts[1] % 1000 == 0);
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_splits(t, 0, firsts, counts, bytes, &n, &err));
    holdall_table_close(t);
}

int main(void)
{
    RUN(corrupt_attributes_affect_nothing_else);
    RUN(faults_name_the_column_and_the_file);
    RUN(columns_are_changed_by_their_table);
    RUN(attributes_are_copied);
    RUN(a_reader_sees_one_dataset);
    RUN(splits);
    return 0;
}
