/* Further files in the folder meta of a dataset or table: listed, read, written, copied and refused. */
#include "small_array.h"

static holdall_array *an_array(const char *path, holdall_format format)
{
    const uint64_t shape[] = {3};
    holdall_array_spec spec = {.struct_size = sizeof spec, .format = format};
    spec.dtype = "<i4", spec.ndim = 1, spec.shape = shape;
    holdall_array *a;
    OK(holdall_array_create(path, HOLDALL_REPLACE, &spec, NULL, &a, &err));
    return a;
}

static void copy_to(holdall_array *a, const char *path, holdall_format format, holdall_status expected)
{
    holdall_array_spec spec = {.struct_size = sizeof spec, .format = format};
    if (expected == HOLDALL_OK)
        OK(holdall_array_copy(a, path, HOLDALL_REPLACE, &spec, NULL, &err));
    else
        GIVES(expected, holdall_array_copy(a, path, HOLDALL_REPLACE, &spec, NULL, &err));
}

static void check_files(holdall_array *a)
{
    char names[32] = {0}, bytes[8] = {0};
    size_t n;
    OK(holdall_array_meta_file_names(a, NULL, 0, &n, &err));
    EQUAL(n, 12);
    GIVES(HOLDALL_E_BUFFER, holdall_array_meta_file_names(a, names, 11, &n, &err));
    OK(holdall_array_meta_file_names(a, names, sizeof names, &n, &err));
    CHECK(n == 12 && memcmp(names, "empty\0units", 12) == 0);
    OK(holdall_array_meta_file_read(a, "empty", NULL, 0, &n, &err));
    EQUAL(n, 0);
    OK(holdall_array_meta_file_read(a, "units", NULL, 0, &n, &err));
    EQUAL(n, 3);
    GIVES(HOLDALL_E_BUFFER, holdall_array_meta_file_read(a, "units", bytes, 2, &n, &err));
    OK(holdall_array_meta_file_read(a, "units", bytes, sizeof bytes, &n, &err));
    CHECK(n == 3 && memcmp(bytes, "K\0m", 3) == 0);
    GAVE(HOLDALL_NOT_FOUND, holdall_array_meta_file_read(a, "none", bytes, sizeof bytes, &n, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_meta_file_read(a, "../x", bytes, 8, &n, &err));
}

static void files_are_committed_and_copied(void)
{
    static const holdall_format formats[] = {HOLDALL_FORMAT_BCOLZ, HOLDALL_FORMAT_BLZ,
                                             HOLDALL_FORMAT_BLZ_RFC};
    for (size_t f = 0; f < COUNT(formats); f++) {
        holdall_array *a = an_array(in_tmp("meta"), formats[f]);
        OK(holdall_array_meta_file_write(a, "units", "K\0m", 3, &err));
        OK(holdall_array_meta_file_write(a, "empty", "", 0, &err));
        OK(holdall_array_meta_file_write(a, "gone", "x", 1, &err));
        OK(holdall_array_commit(a, &err));
        OK(holdall_array_meta_file_write(a, "gone", NULL, 0, &err));
        OK(holdall_array_commit(a, &err));
        check_files(a);
        static const char *const invalid[] = {"", ".", "..", "a/b", "sizes", "Storage", ".x"};
        for (size_t i = 0; i < COUNT(invalid); i++)
            GIVES(HOLDALL_E_ARGUMENT, holdall_array_meta_file_write(a, invalid[i], "x", 1, &err));
        holdall_array_close(a);
        OK(holdall_array_open(in_tmp("meta"), HOLDALL_READ, NULL, &a, &err));
        check_files(a);
        GIVES(HOLDALL_E_STATE, holdall_array_meta_file_write(a, "x", "x", 1, &err));
        for (size_t to = 0; to < COUNT(formats); to++) {
            copy_to(a, in_tmp("other"), formats[to], HOLDALL_OK);
            holdall_array *copy;
            OK(holdall_array_open(in_tmp("other"), HOLDALL_READ, NULL, &copy, &err));
            check_files(copy);
            holdall_array_close(copy);
        }
        copy_to(a, in_tmp("other.b2nd"), HOLDALL_FORMAT_B2ND, HOLDALL_E_UNSUPPORTED);
        holdall_array_close(a);
    }
}

static void other_formats_have_none(void)
{
    holdall_array *a = an_array(in_tmp("a.b2nd"), HOLDALL_FORMAT_B2ND);
    size_t n;
    OK(holdall_array_meta_file_names(a, NULL, 0, &n, &err));
    EQUAL(n, 0);
    GAVE(HOLDALL_NOT_FOUND, holdall_array_meta_file_read(a, "x", NULL, 0, &n, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_meta_file_write(a, "x", "x", 1, &err));
    holdall_array_close(a);
}

static holdall_table *a_table(const char *path, holdall_format format)
{
    holdall_table_spec spec = {.struct_size = sizeof spec, .format = format, .column_count = 1};
    spec.names = (const char *const[]){"a"}, spec.dtypes = (const char *const[]){"<i4"};
    holdall_table *t;
    OK(holdall_table_create(path, HOLDALL_REPLACE, &spec, NULL, &t, &err));
    return t;
}

static void check_table_files(holdall_table *t)
{
    char names[8] = {0}, bytes[8] = {0};
    size_t n;
    GIVES(HOLDALL_E_BUFFER, holdall_table_meta_file_names(t, names, 5, &n, &err));
    OK(holdall_table_meta_file_names(t, names, sizeof names, &n, &err));
    CHECK(n == 6 && memcmp(names, "units", 6) == 0);
    GIVES(HOLDALL_E_BUFFER, holdall_table_meta_file_read(t, "units", bytes, 2, &n, &err));
    OK(holdall_table_meta_file_read(t, "units", bytes, sizeof bytes, &n, &err));
    CHECK(n == 3 && memcmp(bytes, "K\0m", 3) == 0);
    GAVE(HOLDALL_NOT_FOUND, holdall_table_meta_file_read(t, "none", bytes, 8, &n, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_meta_file_read(t, "../x", bytes, 8, &n, &err));
}

static void files_of_a_table(void)
{
    holdall_table *t = a_table(in_tmp("table"), HOLDALL_FORMAT_BLZ_RFC);
    OK(holdall_table_meta_file_write(t, "units", "K\0m", 3, &err));
    OK(holdall_table_meta_file_write(t, "gone", "", 0, &err));
    OK(holdall_table_meta_file_write(t, "gone", NULL, 0, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_meta_file_write(t, "sizes", "x", 1, &err));
    OK(holdall_table_commit(t, &err));
    check_table_files(t);
    holdall_table_close(t);
    size_t n;
    OK(holdall_table_open(in_tmp("table"), HOLDALL_READ, NULL, &t, &err));
    check_table_files(t);
    OK(holdall_array_meta_file_names(holdall_table_column(t, 0), NULL, 0, &n, &err));
    EQUAL(n, 6);
    GIVES(HOLDALL_E_STATE, holdall_table_meta_file_write(t, "x", "x", 1, &err));
    OK(holdall_table_copy(t, in_tmp("copy"), HOLDALL_CREATE, HOLDALL_FORMAT_BLZ_RFC, NULL, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_table_copy(t, in_tmp("bcolz"), HOLDALL_CREATE,
                                                    HOLDALL_FORMAT_BCOLZ, NULL, &err));
    holdall_table_close(t);
    OK(holdall_table_open(in_tmp("copy"), HOLDALL_READ, NULL, &t, &err));
    check_table_files(t);
    holdall_table_close(t);
}

static void other_tables_have_none(void)
{
    holdall_table *t = a_table(in_tmp("bcolz"), HOLDALL_FORMAT_BCOLZ);
    size_t n;
    OK(holdall_table_meta_file_names(t, NULL, 0, &n, &err));
    EQUAL(n, 0);
    GAVE(HOLDALL_NOT_FOUND, holdall_table_meta_file_read(t, "x", NULL, 0, &n, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_table_meta_file_write(t, "x", "x", 1, &err));
    holdall_table_close(t);
}

int main(void)
{
    RUN(files_are_committed_and_copied);
    RUN(other_formats_have_none);
    RUN(files_of_a_table);
    RUN(other_tables_have_none);
    return 0;
}
