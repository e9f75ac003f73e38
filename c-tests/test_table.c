/* Folders that bcolz and BLZ wrote, as arrays and as tables: identification, columns, attributes,
 * default values and objects; missing and corrupt parts; the same in storage of the caller. */
#include "check.h"
#include "folder.h"

#include <pthread.h>

#define SHAPE(...) ((const uint64_t[]){__VA_ARGS__})

/* ---- the folders, extracted once --------------------------------------------------------------*/

#define ARCHIVED \
    " bcolz/bcolz121_chunks/leftover bcolz/bcolz121_attrs bcolz/bcolz121_dflt " \
    "bcolz/bcolz121_object" \
    " bcolz/bcolz121_table/t_attrs bcolz/bcolz121_table/t_unicode_names rfc/dataset/nested"

static const char *dataset(const char *name)
{
    static char path[PATH_MAX + 128];
    snprintf(path, sizeof path, "%s/%s", in_tmp("d"), name);
    return path;
}

static bool unpack(void)
{
    char command[2 * PATH_MAX + 512], archive[PATH_MAX];
    const char *folder = getenv("HOLDALL_FIXTURES");
    if (folder == NULL)
        return false;
    const char *const names[] = {"blpk", "datasets"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(archive, sizeof archive, "%s/%s/files.tar.gz", folder, names[i]);
        if (access(archive, R_OK) != 0)
            continue;
        snprintf(command, sizeof command, "mkdir -p '%s' && tar xzf '%s' -C '%s'%s", in_tmp("d"),
                 archive, in_tmp("d"), ARCHIVED);
        CHECK(system(command) == 0);
        return true;
    }
    printf("no datasets in %s: skipped\n", folder);
    return false;
}

static holdall_array *open_array(const char *name, const int64_t *pairs)
{
    holdall_array *a = NULL;
    holdall_options *options = options_of(pairs);
    OK(holdall_array_open(dataset(name), HOLDALL_READ, options, &a, &err));
    holdall_options_free(options);
    return a;
}

static holdall_table *open_table(const char *name)
{
    holdall_table *t = NULL;
    OK(holdall_table_open(dataset(name), HOLDALL_READ, NULL, &t, &err));
    return t;
}

static bool is_value(holdall_status status, const void *value, size_t n, const char *want)
{
    return status == HOLDALL_OK && n == strlen(want) && memcmp(value, want, n) == 0;
}

/* ---- tests ------------------------------------------------------------------------------------*/

static void a_folder_is_an_array(void)
{
    holdall_format format;
    holdall_kind kind;
    OK(holdall_identify(dataset("bcolz/bcolz121_chunks/leftover"), &format, &kind, &err));
    EQUAL(format, HOLDALL_FORMAT_BCOLZ);
    EQUAL(kind, HOLDALL_KIND_ARRAY);
    holdall_array *a = open_array("bcolz/bcolz121_chunks/leftover", NULL);
    EQUAL(holdall_array_ndim(a), 1);
    EQUAL(holdall_array_shape(a)[0], 1050);
    EQUAL(array_info(a).chunk_shape[0], 100);
    EQUAL(holdall_array_nbytes(a), 8400);
    CHECK(array_info(a).block_shape[0] >= 1 && strcmp(holdall_array_dtype(a), "<i8") == 0);
    int64_t some[3];
    OK(holdall_array_read(a, SHAPE(0), SHAPE(3), NULL, some, sizeof some, NULL, &err));
    CHECK(some[0] == 1 && some[1] == 3 && some[2] == -2);
    OK(holdall_array_read(a, SHAPE(1047), SHAPE(3), NULL, some, sizeof some, NULL, &err));
    CHECK(some[0] == 21 && some[1] == 23 && some[2] == 21);
    /* it is there to be read */
    GIVES(HOLDALL_E_STATE, holdall_array_write(a, SHAPE(0), SHAPE(1), NULL, some, 8, NULL, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_append(a, 0, 1, some, 8, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_resize(a, SHAPE(10), &err));
    GIVES(HOLDALL_E_STATE, holdall_array_commit(a, &err));
    EQUAL(holdall_array_shape(a)[0], 1050);
    /* becomes a file */
    OK(array_copy(a, in_tmp("copy.blp"), HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, NULL, NULL, NULL,
                  &err));
    holdall_array_close(a);
    OK(holdall_array_open(in_tmp("copy.blp"), HOLDALL_READ, NULL, &a, &err));
    EQUAL(holdall_array_shape(a)[0], 1050);
    OK(holdall_array_read(a, SHAPE(1047), SHAPE(3), NULL, some, sizeof some, NULL, &err));
    CHECK(some[0] == 21 && some[1] == 23 && some[2] == 21);
    holdall_array_close(a);

    holdall_table *t = (holdall_table *)&t;
    GIVES(HOLDALL_E_TYPE, holdall_table_open(dataset("bcolz/bcolz121_chunks/leftover"),
                                             HOLDALL_READ, NULL, &t, &err));
    CHECK(t == NULL);
    GIVES(HOLDALL_E_TYPE, holdall_table_open(in_tmp("copy.blp"), HOLDALL_READ, NULL, &t, &err));
    GIVES(HOLDALL_E_MISSING, holdall_table_open(in_tmp("nowhere"), HOLDALL_READ, NULL, &t, &err));
    GIVES(HOLDALL_E_UNSUPPORTED,
          holdall_array_open(dataset("bcolz/bcolz121_object/obj"), HOLDALL_APPEND, NULL, &a, &err));
    GIVES(HOLDALL_E_TYPE, holdall_array_open(dataset("bcolz/bcolz121_table/t_attrs"),
                                             HOLDALL_APPEND, NULL, &a, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_open(NULL, HOLDALL_READ, NULL, &t, &err));
    GIVES(HOLDALL_E_TYPE, holdall_table_open(dataset("bcolz/bcolz121_chunks/leftover"),
                                             HOLDALL_APPEND, NULL, &t, &err));
    /* a table with objects */
    char command[2 * PATH_MAX + 256];
    const char *made = in_tmp("objects");
    snprintf(command, sizeof command,
             "mkdir '%s' && cp -r '%s' '%s/o' && echo '{\"names\": [\"o\"]}' > '%s/__rootdirs__'",
             made, dataset("bcolz/bcolz121_object/obj"), made, made);
    CHECK(system(command) == 0);
    OK(holdall_table_open(made, HOLDALL_READ, NULL, &t, &err));
    EQUAL(holdall_table_row_count(t), 5);
    holdall_table_close(t);
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_table_open(made, HOLDALL_APPEND, NULL, &t, &err));
    CHECK(says("\"o\""));
    GIVES(HOLDALL_E_FORMAT, holdall_array_open(in_tmp("d"), HOLDALL_READ, NULL, &a, &err));
    GIVES(HOLDALL_E_UNSUPPORTED,
          repair_counts(dataset("bcolz/bcolz121_object/obj"), NULL, NULL, NULL, &err));
}

static void attributes_default_values_and_objects_are_read(void)
{
    const void *value;
    size_t n;
    holdall_array *a = open_array("bcolz/bcolz121_attrs/attrs_many", NULL);
    EQUAL(holdall_array_attr_count(a), 7);
    CHECK(holdall_array_attr_name(a, 7) == NULL);
    holdall_status status = holdall_array_attr_get(a, "scale", &value, &n, &err);
    CHECK(is_value(status, value, n, "\"Celsius\""));
    status = holdall_array_attr_get(a, holdall_array_attr_name(a, 0), &value, &n, &err);
    EQUAL(status, HOLDALL_OK);
    GIVES(HOLDALL_NOT_FOUND, holdall_array_attr_get(a, "", &value, &n, &err));
    CHECK(value == NULL && n == 0);
    OK(holdall_array_fill_value_get(a, &value, &n, &err));
    GIVES(HOLDALL_E_TYPE, holdall_array_read_object(a, 0, NULL, 0, &n, &err));
    holdall_array_close(a);

    a = open_array("bcolz/bcolz121_dflt/dflt_S", NULL);
    OK(holdall_array_fill_value_get(a, &value, &n, &err));
    CHECK(n == holdall_array_itemsize(a) && memcmp(value, "abc", 3) == 0);
    holdall_array_close(a);

    a = open_array("bcolz/bcolz121_object/obj", NULL);
    uint8_t object[64];
    EQUAL(holdall_array_itemsize(a), 0);
    OK(holdall_array_read_object(a, 4, NULL, 0, &n, &err));
    EQUAL(n, 20);
    GIVES(HOLDALL_E_BUFFER, holdall_array_read_object(a, 4, object, 19, &n, &err));
    OK(holdall_array_read_object(a, 4, object, sizeof object, &n, &err));
    CHECK(object[0] == 0x80 && object[19] == '.');
    GIVES(HOLDALL_E_RANGE, holdall_array_read_object(a, 5, object, sizeof object, &n, &err));
    holdall_values *pickles;
    OK(holdall_array_read_values(a, 0, 5, &pickles, &err));
    const holdall_value *items = holdall_values_items(pickles);
    CHECK(items[4].size == 20 && memcmp(items[4].data, object, 20) == 0);
    holdall_values_free(pickles);
    GIVES(HOLDALL_E_TYPE,
          holdall_array_read(a, SHAPE(0), SHAPE(5), NULL, object, sizeof object, NULL, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, array_copy(a, in_tmp("o.blp"), HOLDALL_CREATE,
                                            HOLDALL_FORMAT_BLOSCPACK, NULL, NULL, NULL, &err));
    holdall_array_close(a);
}

static void a_folder_is_a_table(void)
{
    holdall_table *t = open_table("bcolz/bcolz121_table/t_attrs");
    const void *value;
    size_t n;
    EQUAL(holdall_table_row_count(t), 530);
    EQUAL(holdall_table_column_count(t), 3);
    EQUAL(holdall_table_attr_count(t), 2);
    CHECK(holdall_table_attr_name(t, 0) != NULL && holdall_table_attr_name(t, 2) == NULL);
    holdall_status status = holdall_table_attr_get(t, "title", &value, &n, &err);
    CHECK(is_value(status, value, n, "\"x\""));
    GIVES(HOLDALL_NOT_FOUND, holdall_table_attr_get(t, "unit", &value, &n, &err));
    const char *const names[] = {"a", "b", "c"}, *const dtypes[] = {"<i4", "<f8", "|S6"};
    for (uint32_t i = 0; i < 3; i++) {
        const holdall_array *column = holdall_table_column(t, i);
        CHECK(strcmp(holdall_table_column_name(t, i), names[i]) == 0 &&
              strcmp(holdall_array_dtype(column), dtypes[i]) == 0);
        EQUAL(holdall_array_shape(column)[0], 530);
        EQUAL(holdall_table_column_row_count(t, i), 530);
    }
    CHECK(holdall_table_column_name(t, 3) == NULL && holdall_table_column(t, 3) == NULL &&
          holdall_table_column_row_count(t, 3) == 0);
    status = holdall_array_attr_get(holdall_table_column(t, 1), "unit", &value, &n, &err);
    CHECK(is_value(status, value, n, "\"m\""));
    double last[3];
    OK(holdall_array_read(holdall_table_column(t, 1), SHAPE(527), SHAPE(3), NULL, last, sizeof last,
                          NULL, &err));
    CHECK(last[0] == -5 && last[1] == 0 && last[2] == 5);
    holdall_table_close(t);

    t = open_table("bcolz/bcolz121_table/t_unicode_names");
    CHECK(strcmp(holdall_table_column_name(t, 0), "\xC3\xA9t\xC3\xA9") == 0);
    holdall_table_close(t);
    t = open_table("rfc/dataset/nested");
    EQUAL(holdall_table_column_count(t), 3);
    CHECK(strcmp(holdall_array_dtype(holdall_table_column(t, 2)),
                 "[('sc1', '<i2'), ('sc3', '<f4')]") == 0);
    holdall_table_close(t);
    holdall_table_close(NULL);
    EQUAL(holdall_table_row_count(NULL), 0);
    CHECK(holdall_table_column(NULL, 0) == NULL && holdall_table_attr_name(NULL, 0) == NULL);
    holdall_array *a;
    GIVES(HOLDALL_E_TYPE, holdall_array_open(dataset("bcolz/bcolz121_table/t_attrs"), HOLDALL_READ,
                                             NULL, &a, &err));
}

static int count_fault(void *ctx, const char *part, const holdall_error *fault)
{
    CHECK(strcmp(part, "chunk 1") == 0 && fault->position == 1 &&
          strstr(fault->message, "__1.blp") != NULL);
    ++*(int *)ctx;
    return 0;
}

static void corruption_is_reported_and_skipped(void)
{
    char chunk[PATH_MAX + 256];
    snprintf(chunk, sizeof chunk, "%s/data/__1.blp", dataset("bcolz/bcolz121_dflt/dflt_S"));
    uint64_t intact = 0, corrupt = 0, unchecked = 0;
    int faults = 0;
    OK(verify_counts(dataset("bcolz/bcolz121_dflt/dflt_S"), NULL, count_fault, &faults, &intact,
                     &corrupt, &unchecked, &err));
    EQUAL(intact + corrupt, 0);
    uint64_t all = unchecked;
    CHECK(truncate(chunk, 30) == 0);
    GIVES(HOLDALL_E_FORMAT, verify_counts(dataset("bcolz/bcolz121_dflt/dflt_S"), NULL, count_fault,
                                          &faults, &intact, &corrupt, &unchecked, &err));
    CHECK(faults == 1 && corrupt == 1 && unchecked == all - 1);
    holdall_array *a = open_array("bcolz/bcolz121_dflt/dflt_S", NULL);
    uint64_t from = array_info(a).chunk_shape[0];
    size_t item = holdall_array_itemsize(a);
    char text[64];
    GIVES(HOLDALL_E_FORMAT,
          holdall_array_read(a, SHAPE(from), SHAPE(2), NULL, text, sizeof text, NULL, &err));
    EQUAL(err.position, 1);
    CHECK(says("__1.blp"));
    OK(holdall_array_read(a, SHAPE(from - 2), SHAPE(2), NULL, text, sizeof text, NULL, &err));
    holdall_array_close(a);
    a = open_array("bcolz/bcolz121_dflt/dflt_S", WITH(HOLDALL_OPT_SKIP_DAMAGED, 1));
    GIVES(HOLDALL_DAMAGED,
          holdall_array_read(a, SHAPE(from), SHAPE(2), NULL, text, sizeof text, NULL, &err));
    CHECK(memcmp(text, "abc", 3) == 0 && memcmp(text + item, "abc", 3) == 0);
    holdall_array_close(a);
    CHECK(remove(chunk) == 0);
    a = open_array("bcolz/bcolz121_dflt/dflt_S", NULL);
    GIVES(HOLDALL_E_MISSING,
          holdall_array_read(a, SHAPE(from), SHAPE(2), NULL, text, sizeof text, NULL, &err));
    CHECK(says("__1.blp"));
    holdall_array_close(a);
    GIVES(HOLDALL_E_MISSING, verify_counts(dataset("bcolz/bcolz121_dflt/dflt_S"), NULL, count_fault,
                                           &faults, NULL, &corrupt, NULL, &err));
    EQUAL(corrupt, 1);
}

/* ---- many threads, and storage of the caller --------------------------------------------------*/

static void *read_all(void *table)
{
    int64_t *rows = malloc(530 * 8);
    for (int i = 0; i < 20; i++)
        for (uint32_t c = 0; c < 3; c++)
            if (holdall_array_read(holdall_table_column(table, c), SHAPE((uint64_t)i), SHAPE(500),
                                   NULL, rows, 530 * 8, NULL, NULL) != HOLDALL_OK)
                return free(rows), table;
    free(rows);
    return NULL;
}

static void a_table_is_read_by_many_threads(void)
{
    holdall_table *t = open_table("bcolz/bcolz121_table/t_attrs");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, read_all, t) == 0);
    for (int i = 0; i < 4; i++) {
        void *failed_at;
        CHECK(pthread_join(threads[i], &failed_at) == 0 && failed_at == NULL);
    }
    holdall_table_close(t);
}

static void take_file(folder *f, const char *from, const char *name)
{
    static uint8_t bytes[1 << 16];
    char path[PATH_MAX + 256];
    snprintf(path, sizeof path, "%s/%s", dataset(from), name);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    CHECK(n < sizeof bytes && fclose(file) == 0);
    folder_put(f, name, bytes, n);
}

static void a_table_is_read_in_storage_of_the_caller(void)
{
    static const char *const names[] = {"__attrs__", "a/__attrs__", "a/meta/sizes",
                                        "a/meta/storage"};
    folder f = FOLDER;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        take_file(&f, "bcolz/bcolz121_table/t_attrs", names[i]);
    take_file(&f, "bcolz/bcolz121_table/t_attrs", "a/data/__2.blp");
    /* one column is enough for this */
    folder_put(&f, "__rootdirs__", "{\"names\": [\"a\"]}", 16);
    holdall_storage *io = folder_io(&f);
    holdall_table *t;
    OK(table_open_io(io, HOLDALL_READ, NULL, &t, &err));
    holdall_storage_free(io);
    int32_t rows[5];
    OK(holdall_array_read(holdall_table_column(t, 0), SHAPE(210), SHAPE(5), NULL, rows, sizeof rows,
                          NULL, &err));
    GIVES(HOLDALL_E_MISSING, holdall_array_read(holdall_table_column(t, 0), SHAPE(198), SHAPE(5),
                                                NULL, rows, sizeof rows, NULL, &err));
    CHECK(says("a/data/__1.blp") && err.position == 1);
    holdall_table_close(t);
    folder_clear(&f);
}

/* Rows 0 to n of two columns: the value of row i is i, except the first. */
static void check_rows(holdall_array *a, uint64_t n, int32_t first)
{
    int32_t rows[4000];
    CHECK(holdall_array_ndim(a) == 2 && holdall_array_shape(a)[0] == n &&
          holdall_array_shape(a)[1] == 2);
    OK(holdall_array_read(a, SHAPE(0, 0), SHAPE(n, 2), NULL, rows, n * 8, NULL, &err));
    for (int32_t i = 0; (uint64_t)i < 2 * n; i++)
        EQUAL(rows[i], i == 0 ? first : i);
}

static void change(holdall_array *a, holdall_storage *io)
{
    int32_t rows[4000];
    for (int i = 0; i < 4000; i++)
        rows[i] = i;
    OK(holdall_array_append(a, 0, 1000, rows, 8000, &err));
    OK(holdall_array_commit(a, &err));
    OK(holdall_array_append(a, 0, 500, rows + 2000, 4000, &err));
    OK(holdall_array_write(a, SHAPE(0, 0), SHAPE(1, 1), NULL, (int32_t[]){-5}, 4, NULL, &err));
    OK(holdall_array_attr_set(a, "unit", "\"mm\"", 4, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_attr_set(a, "unit", "mm", 2, &err));
    uint32_t attrs = holdall_array_attr_count(a);
    OK(holdall_array_attr_set(a, "gone", "1", 1, &err));
    OK(holdall_array_attr_set(a, "gone", NULL, 0, &err));
    OK(holdall_array_attr_set(a, "never", NULL, 0, &err));
    CHECK(holdall_array_attr_count(a) == attrs);
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_resize(a, SHAPE(1500, 3), &err));
    holdall_array *reader;
    if (io == NULL)
        OK(holdall_array_open(in_tmp("new"), HOLDALL_READ, NULL, &reader, &err));
    else
        OK(array_open_io(io, HOLDALL_READ, NULL, &reader, &err));
    check_rows(reader, 1000, 0);
    holdall_array_close(reader);
    OK(holdall_array_commit(a, &err));
    check_rows(a, 1500, -5);
    holdall_array_close(a);
}

static void a_folder_is_created_and_changed(void)
{
    const holdall_format bcolz = HOLDALL_FORMAT_BCOLZ;
    holdall_array *a, *other;
    GIVES(HOLDALL_E_UNSUPPORTED, array_create(in_tmp("new"), HOLDALL_CREATE, bcolz, "<i4", 2,
                                              SHAPE(0, 2), SHAPE(10, 1), NULL, NULL, &a, &err));
    OK(array_create(in_tmp("new"), HOLDALL_CREATE, bcolz, "<i4", 2, SHAPE(0, 2), SHAPE(300, 2),
                    NULL, NULL, &a, &err));
    holdall_array_close(a);
    CHECK(access(in_tmp("new"), F_OK) != 0);
    OK(array_create(in_tmp("new"), HOLDALL_CREATE, bcolz, "<i4", 2, SHAPE(0, 2), SHAPE(300, 2),
                    NULL, NULL, &a, &err));
    GIVES(HOLDALL_E_BUSY, array_create(in_tmp("new"), HOLDALL_CREATE, bcolz, "<i4", 1, SHAPE(0),
                                       NULL, NULL, NULL, &other, &err));
    change(a, NULL);
    GIVES(HOLDALL_E_EXISTS, array_create(in_tmp("new"), HOLDALL_CREATE, bcolz, "<i4", 1, SHAPE(0),
                                         NULL, NULL, NULL, &other, &err));
    OK(holdall_array_open(in_tmp("new"), HOLDALL_APPEND, NULL, &a, &err));
    OK(holdall_array_remove(a, 0, 700, 800, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    OK(holdall_array_open(in_tmp("new"), HOLDALL_READ, NULL, &a, &err));
    check_rows(a, 700, -5);
    const void *value;
    size_t n;
    OK(holdall_array_attr_get(a, "unit", &value, &n, &err));
    CHECK(is_value(HOLDALL_OK, value, n, "\"mm\""));
    OK(array_copy(a, in_tmp("file.blp"), HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, NULL, NULL, NULL,
                  &err));
    holdall_array_close(a);
    OK(holdall_array_open(in_tmp("file.blp"), HOLDALL_READ, NULL, &a, &err));
    OK(array_copy(a, in_tmp("new"), HOLDALL_REPLACE, bcolz, NULL, NULL, NULL, &err));
    holdall_array_close(a);
    OK(holdall_array_open(in_tmp("new"), HOLDALL_READ, NULL, &a, &err));
    check_rows(a, 700, -5);
    OK(holdall_array_attr_get(a, "unit", &value, &n, &err));
    CHECK(is_value(HOLDALL_OK, value, n, "\"mm\""));
    holdall_array_close(a);
    uint64_t faults = 0, intact = 0, corrupt = 0, unchecked = 0;
    OK(verify_counts(in_tmp("new"), NULL, count_fault, &faults, &intact, &corrupt, &unchecked,
                     &err));
    CHECK(intact > 0 && corrupt == 0 && unchecked == 0);
}

static void a_folder_is_created_in_storage_of_the_caller(void)
{
    folder f = FOLDER;
    holdall_storage *io = folder_io(&f);
    holdall_array *a;
    OK(array_create_io(io, HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, "<i4", 2, SHAPE(0, 2),
                       SHAPE(300, 2), NULL, NULL, &a, &err));
    change(a, io);
    holdall_storage_free(io);
    folder_clear(&f);
}

int main(void)
{
    RUN(a_folder_is_created_and_changed);
    RUN(a_folder_is_created_in_storage_of_the_caller);
    if (!unpack())
        return 0;
    RUN(a_folder_is_an_array);
    RUN(attributes_default_values_and_objects_are_read);
    RUN(a_folder_is_a_table);
    RUN(a_table_is_read_by_many_threads);
    RUN(a_table_is_read_in_storage_of_the_caller);
    RUN(corruption_is_reported_and_skipped);
    return 0;
}
