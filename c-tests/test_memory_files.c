/* Storage in memory that can be written: every form of container is created, read, changed and
 * taken out there. */
#include "folder.h"

static holdall_storage *new_files(void)
{
    holdall_storage *files;
    OK(holdall_storage_new_memory(&files, &err));
    return files;
}

static holdall_options *options_in(holdall_storage *files)
{
    holdall_options *o = holdall_options_new();
    OK(holdall_options_set_storage(o, &files, 1, &err));
    return o;
}

static const void *file_of(holdall_storage *files, const char *name, size_t *n)
{
    const void *bytes;
    OK(holdall_storage_get_file(files, name, &bytes, n, &err));
    return bytes;
}

enum { ITEMS = 1000 };

static void fill(int32_t *items, int32_t first)
{
    for (int32_t i = 0; i < ITEMS; i++)
        items[i] = first + i;
}

static void check_items(holdall_array *a, uint64_t start, int32_t first)
{
    int32_t items[ITEMS] = {0};
    const uint64_t count = ITEMS;
    OK(holdall_array_read(a, &start, &count, NULL, items, sizeof items, NULL, &err));
    for (int32_t i = 0; i < ITEMS; i++)
        EQUAL(items[i], first + i);
}

static const struct {
    holdall_format format;
    const char *file;
} forms[] = {
    {HOLDALL_FORMAT_B2ND, ""},
    {HOLDALL_FORMAT_BLOSCPACK, ""},
    {HOLDALL_FORMAT_CATERVA, ""},
    {HOLDALL_FORMAT_BCOLZ, "meta/sizes"},
    {HOLDALL_FORMAT_BLZ, "meta/sizes"},
};

static void arrays_are_created_changed_and_read(void)
{
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        holdall_storage *files = new_files();
        holdall_options *o = options_in(files);
        EQUAL(holdall_storage_file_count(files), 0);
        const uint64_t shape[] = {ITEMS}, chunk[] = {64};
        holdall_array_spec spec = {.struct_size = sizeof spec, .format = forms[f].format};
        spec.dtype = "<i4", spec.ndim = 1, spec.shape = shape, spec.chunk_shape = chunk;
        holdall_array *a, *b;
        OK(holdall_array_create(NULL, HOLDALL_CREATE, &spec, o, &a, &err));
        int32_t items[ITEMS];
        fill(items, 0);
        OK(holdall_array_write(a, NULL, NULL, NULL, items, sizeof items, NULL, &err));
        GIVES(HOLDALL_E_MISSING, holdall_array_open(NULL, HOLDALL_READ, o, &b, &err));
        OK(holdall_array_commit(a, &err));
        /* a writer excludes others */
        GIVES(HOLDALL_E_BUSY, holdall_array_open(NULL, HOLDALL_APPEND, o, &b, &err));

        OK(holdall_array_open(NULL, HOLDALL_READ, o, &b, &err));
        fill(items, ITEMS);
        OK(holdall_array_append(a, 0, ITEMS, items, sizeof items, &err));
        OK(holdall_array_commit(a, &err));
        /* as on a disk: a writer changes a Bloscpack file in place */
        if (forms[f].format == HOLDALL_FORMAT_BLOSCPACK)
            GIVES(HOLDALL_E_STATE,
                  holdall_array_read(b, NULL, NULL, NULL, items, sizeof items, NULL, &err));
        else
            check_items(b, 0, 0);
        OK(holdall_array_refresh(b, &err));
        EQUAL(holdall_array_shape(b)[0], 2 * ITEMS);
        check_items(b, ITEMS, ITEMS);
        holdall_array_close(a);
        holdall_array_close(b);
        GIVES(HOLDALL_E_EXISTS, holdall_array_create(NULL, HOLDALL_CREATE, &spec, o, &b, &err));
        CHECK(holdall_storage_file_count(files) > 0);
        size_t n;
        CHECK(file_of(files, forms[f].file, &n) != NULL && n > 0);
        /* the files outlive the storage until the last handle is closed */
        OK(holdall_array_open(NULL, HOLDALL_READ, o, &b, &err));
        holdall_storage_free(files);
        holdall_options_free(o);
        check_items(b, ITEMS / 2, ITEMS / 2);
        holdall_array_close(b);
    }
}

/* A frame as one buffer: to a file, which any reader opens, and back. */
static void a_frame_is_taken_out_and_put_in(void)
{
    holdall_storage *files = new_files();
    holdall_options *o = options_in(files);
    holdall_schunk *s;
    OK(holdall_schunk_create(NULL, HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 1, o, &s, &err));
    OK(holdall_schunk_append(s, "first", 5, &err));
    OK(holdall_schunk_commit(s, &err));
    size_t n, later_n;
    const uint8_t *frame = file_of(files, "", &n);
    uint8_t *copy = malloc(n);
    memcpy(copy, frame, n);
    save(in_tmp("frame.b2frame"), frame, n);
    /* a commit does not change what was got */
    OK(holdall_schunk_append(s, " second", 7, &err));
    OK(holdall_schunk_commit(s, &err));
    CHECK(memcmp(copy, frame, n) == 0);
    holdall_storage *same;
    OK(holdall_storage_clone(files, &same, &err));
    const void *later = file_of(same, "", &later_n);
    CHECK(later_n > n && memcmp(copy, frame, n) == 0);
    holdall_schunk_close(s);

    OK(holdall_schunk_open(in_tmp("frame.b2frame"), HOLDALL_READ, NULL, &s, &err));
    EQUAL(holdall_schunk_nbytes(s), 5);
    holdall_schunk_close(s);

    holdall_storage *others = new_files();
    OK(holdall_storage_put_file(others, "", later, later_n, &err));
    holdall_storage_free(same);
    holdall_storage_free(files);
    holdall_options *in_others = options_in(others);
    OK(holdall_schunk_open(NULL, HOLDALL_APPEND, in_others, &s, &err));
    char text[12];
    OK(holdall_schunk_read(s, 0, text, 12, &err));
    CHECK(memcmp(text, "first second", 12) == 0);
    OK(holdall_schunk_append(s, "!", 1, &err));
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_close(s);
    EQUAL(holdall_storage_file_count(others), 1);
    CHECK(strcmp(holdall_storage_file_name(others, 0), "") == 0);
    CHECK(holdall_storage_file_name(others, 1) == NULL);
    holdall_storage_free(others);
    holdall_options_free(in_others);
    holdall_options_free(o);
    free(copy);
}

static void bags_and_tables(void)
{
    holdall_storage *files = new_files();
    holdall_options *o = options_in(files);
    holdall_bag_writer *w;
    OK(holdall_bag_writer_open(NULL, HOLDALL_CREATE, o, &w, &err));
    OK(holdall_bag_writer_append(w, "record", 6, &err));
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    OK(holdall_bag_writer_open(NULL, HOLDALL_APPEND, o, &w, &err));
    OK(holdall_bag_writer_append(w, "another", 7, &err));
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    holdall_bag *bag;
    OK(holdall_bag_open(NULL, o, &bag, &err));
    EQUAL(holdall_bag_record_count(bag), 2);
    char record[7];
    size_t n;
    OK(holdall_bag_read(bag, 1, record, sizeof record, &n, &err));
    CHECK(n == 7 && memcmp(record, "another", 7) == 0);
    holdall_bag_close(bag);
    holdall_options_free(o);
    holdall_storage_free(files);

    files = new_files(), o = options_in(files);
    const char *const names[] = {"n"}, *const dtypes[] = {"<i4"};
    holdall_table_spec spec = {.struct_size = sizeof spec, .format = HOLDALL_FORMAT_BCOLZ};
    spec.column_count = 1, spec.names = names, spec.dtypes = dtypes;
    holdall_table *t;
    OK(holdall_table_create(NULL, HOLDALL_CREATE, &spec, o, &t, &err));
    int32_t items[ITEMS];
    fill(items, 7);
    const void *columns[] = {items};
    const size_t sizes[] = {sizeof items};
    OK(holdall_table_append(t, ITEMS, columns, sizes, &err));
    OK(holdall_table_commit(t, &err));
    holdall_table_close(t);
    OK(holdall_table_open(NULL, HOLDALL_APPEND, o, &t, &err));
    OK(holdall_table_truncate(t, 5, &err));
    OK(holdall_table_column_add(t, 0, "m", "<i8", NULL, 0, &err));
    OK(holdall_table_column_remove(t, "n", &err));
    OK(holdall_table_commit(t, &err));
    holdall_table_close(t);
    OK(holdall_table_open(NULL, HOLDALL_READ, o, &t, &err));
    EQUAL(holdall_table_row_count(t), 5);
    holdall_table_close(t);
    holdall_options_free(o);
    holdall_storage_free(files);
}

static void what_is_no_storage_in_memory_is_refused(void)
{
    holdall_storage *files = new_files(), *other;
    const void *bytes = "";
    size_t n = 9;
    GIVES(HOLDALL_E_MISSING, holdall_storage_get_file(files, "", &bytes, &n, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_storage_get_file(files, NULL, &bytes, &n, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_storage_get_file(files, "", NULL, &n, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_storage_get_file(NULL, "", &bytes, &n, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_storage_put_file(files, "", NULL, 1, &err));
    OK(holdall_storage_put_file(files, "", NULL, 0, &err));
    OK(holdall_storage_get_file(files, "", &bytes, &n, &err));
    EQUAL(n, 0);
    GIVES(HOLDALL_E_ARGUMENT, holdall_storage_clone(NULL, &other, &err));
    CHECK(other == NULL);
    EQUAL(holdall_storage_file_count(NULL), 0);
    CHECK(holdall_storage_file_name(NULL, 0) == NULL);
    OK(holdall_storage_from_memory("x", 1, &other, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_storage_get_file(other, "", &bytes, &n, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_storage_put_file(other, "", "x", 1, &err));
    EQUAL(holdall_storage_file_count(other), 0);
    holdall_storage_free(other);
    holdall_storage_free(files);
}

int main(void)
{
    RUN(arrays_are_created_changed_and_read);
    RUN(a_frame_is_taken_out_and_put_in);
    RUN(bags_and_tables);
    RUN(what_is_no_storage_in_memory_is_refused);
    return 0;
}
