/* Rows of several columns of a table in one call, columns by name, and copies of tables. */
#include "callbacks.h"
#include "folder.h"

enum { ROWS = 500 };

static const char *const names[] = {"a", "s", "m"}, *const dtypes[] = {"<i4", "|S5",
                                                                       "('<f4', (2,))"};
static const size_t widths[] = {4, 5, 8};

typedef struct {
    int32_t a[ROWS];
    char s[ROWS][5];
    float m[ROWS][2];
} columns;

static void fill_row(columns *c, size_t at, uint64_t row)
{
    c->a[at] = (int32_t)(7 * row);
    memset(c->s[at], 0, 5);
    snprintf(c->s[at], 5, "%u", (unsigned)(row % 997));
    c->m[at][0] = (float)row, c->m[at][1] = -(float)row;
}

/* A table of ROWS rows in small chunks, with attributes. */
static holdall_table *make(const char *path, holdall_format format)
{
    holdall_options *o = options_of(WITH(HOLDALL_OPT_CHUNK_BYTES, 400, HOLDALL_OPT_CODEC,
                                         HOLDALL_CODEC_LZ4, HOLDALL_OPT_DURABILITY, 0));
    holdall_table *t;
    OK(table_create(path, HOLDALL_CREATE, format, 3, names, dtypes, o, &t, &err));
    holdall_options_free(o);
    static columns c;
    for (size_t i = 0; i < ROWS; i++)
        fill_row(&c, i, i);
    OK(holdall_table_append(t, ROWS, (const void *[]){c.a, c.s, c.m},
                            (const size_t[]){sizeof c.a, sizeof c.s, sizeof c.m}, &err));
    OK(holdall_table_attr_set(t, "of the table", "[1, 2]", 6, &err));
    if (format != HOLDALL_FORMAT_BLZ_RFC)
        OK(holdall_table_column_attr_set(t, "s", "of s", "\"text\"", 6, &err));
    OK(holdall_table_commit(t, &err));
    return t;
}

static void columns_are_found_by_name(void)
{
    holdall_table *t = make(in_tmp("names"), HOLDALL_FORMAT_BCOLZ);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(holdall_table_find_column(t, names[i]) == holdall_table_column(t, i) &&
              holdall_table_column(t, i) != NULL);
    static const char *const none[] = {"", "A", "a ", "aa", "names", "\xFF"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        CHECK(holdall_table_find_column(t, none[i]) == NULL);
    CHECK(holdall_table_find_column(NULL, "a") == NULL &&
          holdall_table_find_column(t, NULL) == NULL);
    /* changes name their column */
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_write(t, "b", 0, 1, "1234", 4, &err));
    CHECK(says("\"b\""));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_column_attr_set(t, "b", "x", "1", 1, &err));
    OK(holdall_table_column_remove(t, "s", &err));
    CHECK(holdall_table_find_column(t, "s") == NULL);
    CHECK(holdall_table_find_column(t, "m") == holdall_table_column(t, 1));
    holdall_table_close(t);
}

/* Are these rows start, start + step, ... of the columns? */
static void check_rows(const columns *got, const uint64_t *rows, size_t n, bool a, bool s, bool m)
{
    static columns want;
    for (size_t i = 0; i < n; i++)
        fill_row(&want, i, rows[i]);
    CHECK(!a || memcmp(got->a, want.a, n * 4) == 0);
    CHECK(!s || memcmp(got->s, want.s, n * 5) == 0);
    CHECK(!m || memcmp(got->m, want.m, n * 8) == 0);
}

static void rows_of_columns_are_read_in_one_call(void)
{
    static const holdall_format formats[] = {HOLDALL_FORMAT_BCOLZ, HOLDALL_FORMAT_BLZ,
                                             HOLDALL_FORMAT_BLZ_RFC};
    static columns got;
    static uint64_t rows[ROWS];
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        holdall_table *t = make(in_tmp((const char *[]){"bcolz", "blz", "rfc"}[f]), formats[f]);
        static const struct {
            uint64_t start, count, step;
        } all[] = {{0, ROWS, 1}, {0, 0, 1},          {ROWS, 0, 1}, {ROWS - 1, 1, 1},
                   {3, 100, 4},  {0, 1, UINT64_MAX}, {99, 2, 400}};
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
            now("format %zu, case %zu", f, k);
            size_t n = (size_t)all[k].count;
            for (size_t i = 0; i < n; i++)
                rows[i] = all[k].start + i * all[k].step;
            memset(&got, 0, sizeof got);
            OK(holdall_table_read_rows(t, all[k].start, n, all[k].step, 3, NULL,
                                       (void *[]){got.a, got.s, got.m},
                                       (const size_t[]){n * 4, n * 5, n * 8}, &err));
            check_rows(&got, rows, n, true, true, true);
            /* some columns, in another order, one of them twice, in larger buffers */
            static int32_t again[ROWS];
            memset(&got, 0, sizeof got);
            OK(holdall_table_read_rows(t, all[k].start, n, all[k].step, 3,
                                       (const char *[]){"m", "a", "a"},
                                       (void *[]){got.m, got.a, again},
                                       (const size_t[]){sizeof got.m, sizeof got.a, n * 4}, &err));
            check_rows(&got, rows, n, true, false, true);
            CHECK(memcmp(got.a, again, n * 4) == 0);
            OK(holdall_table_read_rows(t, all[k].start, n, all[k].step, 0, names, NULL, NULL,
                                       &err));
        }
        /* rows in any order, repeated */
        for (size_t n = 0; n <= ROWS; n = 3 * n + 1) {
            now("format %zu, %zu rows", f, n);
            for (size_t i = 0; i < n; i++)
                rows[i] = i * i * 31 % ROWS;
            memset(&got, 0, sizeof got);
            OK(holdall_table_read_points(t, rows, n, 3, NULL, (void *[]){got.a, got.s, got.m},
                                         (const size_t[]){n * 4, n * 5, n * 8}, &err));
            check_rows(&got, rows, n, true, true, true);
            OK(holdall_table_read_points(t, rows, n, 1, (const char *[]){"s"}, (void *[]){got.s},
                                         (const size_t[]){n * 5}, &err));
            check_rows(&got, rows, n, false, true, false);
        }
        /* conditions, a few rows at a time */
        uint64_t start = 0, found[7];
        size_t count = 9, seen = 0;
        while (start < ROWS) {
            OK(holdall_table_where(t, "a >= 10 and not s = ''", &start, ROWS, found, 7, &count, &err));
            CHECK(count <= 7 && (count == 7 || start == ROWS));
            for (size_t i = 0; i < count; i++, seen++) {
                int32_t a;
                CHECK(i == 0 || found[i] > found[i - 1]);
                OK(holdall_table_read_points(t, &found[i], 1, 1, (const char *[]){"a"},
                                             (void *[]){&a}, (const size_t[]){4}, &err));
                CHECK(a >= 10);
            }
        }
        CHECK(seen > 0 && seen < ROWS);
        start = 0;
        GIVES(HOLDALL_E_ARGUMENT,
              holdall_table_where(t, "a >= (1", &start, ROWS, found, 7, &count, &err));
        CHECK(err.position == 5 && count == 0 && start == 0);
        GIVES(HOLDALL_E_ARGUMENT,
              holdall_table_where(t, "z = 1", &start, ROWS, found, 7, &count, &err));
        GIVES(HOLDALL_E_TYPE, holdall_table_where(t, "a = 'x'", &start, ROWS, found, 7, &count, &err));
        GIVES(HOLDALL_E_TYPE, holdall_table_where(t, "m = 1", &start, ROWS, found, 7, &count, &err));
        GIVES(HOLDALL_E_RANGE,
              holdall_table_where(t, "a = 3000000000", &start, ROWS, found, 7, &count, &err));
        GIVES(HOLDALL_E_RANGE,
              holdall_table_where(t, "a = 1", &start, ROWS + 1, found, 7, &count, &err));
        holdall_table_close(t);
    }
}

static void invalid_reads_of_rows_are_refused(void)
{
    holdall_table *t = make(in_tmp("refused"), HOLDALL_FORMAT_BCOLZ);
    static columns got;
    void *const dsts[] = {got.a, got.s, got.m};
    const size_t sizes[] = {sizeof got.a, sizeof got.s, sizeof got.m};
    static const uint64_t far[] = {3, ROWS, 4};
    GIVES(HOLDALL_E_RANGE, holdall_table_read_rows(t, 0, ROWS + 1, 1, 3, NULL, dsts, sizes, &err));
    GIVES(HOLDALL_E_RANGE, holdall_table_read_rows(t, ROWS, 1, 1, 3, NULL, dsts, sizes, &err));
    GIVES(HOLDALL_E_RANGE, holdall_table_read_rows(t, 0, 2, ROWS, 3, NULL, dsts, sizes, &err));
    GIVES(HOLDALL_E_RANGE,
          holdall_table_read_rows(t, UINT64_MAX, 2, UINT64_MAX, 3, NULL, dsts, sizes, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_read_rows(t, 0, 1, 0, 3, NULL, dsts, sizes, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_read_rows(t, 0, 1, 1, 2, NULL, dsts, sizes, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_read_rows(t, 0, 1, 1, 4, NULL, dsts, sizes, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_table_read_rows(t, 0, 1, 1, 1, (const char *[]){"b"}, dsts, sizes, &err));
    CHECK(says("no column \"b\""));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_table_read_rows(t, 0, 1, 1, 2, (const char *[]){"a", NULL}, dsts, sizes, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_read_rows(t, 0, 1, 1, 1, names, NULL, sizes, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_read_rows(t, 0, 1, 1, 1, names, dsts, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_table_read_rows(t, 0, 1, 1, 2, names, (void *[]){got.a, NULL}, sizes, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_read_rows(NULL, 0, 1, 1, 1, names, dsts, sizes, &err));
    /* the error names the buffer that is too small */
    GIVES(HOLDALL_E_BUFFER,
          holdall_table_read_rows(t, 0, 10, 1, 3, NULL, dsts, (const size_t[]){40, 49, 80}, &err));
    CHECK(says("column \"s\""));
    GIVES(HOLDALL_E_RANGE, holdall_table_read_points(t, far, 3, 1, names, dsts, sizes, &err));
    EQUAL(err.position, 1);
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_read_points(t, NULL, 3, 1, names, dsts, sizes, &err));
    GIVES(HOLDALL_E_BUFFER,
          holdall_table_read_points(t, far, 1, 3, NULL, dsts, (const size_t[]){4, 5, 7}, &err));
    CHECK(says("column \"m\""));
    holdall_table_close(t);
}

/* A chunk of one column is corrupt: the others are read. */
static void corrupt_rows_are_reported_or_skipped(void)
{
    holdall_table_close(make(in_tmp("corrupt"), HOLDALL_FORMAT_BCOLZ));
    static columns got;
    const char *chunk = in_tmp("corrupt/a/data/__1.blp");
    FILE *f = fopen(chunk, "r+b");
    CHECK(f != NULL && fseek(f, (long)file_size(chunk) / 2, SEEK_SET) == 0);
    int c = fgetc(f);
    CHECK(fseek(f, -1, SEEK_CUR) == 0 && fputc(c ^ 0xFF, f) != EOF && fclose(f) == 0);
    for (int skip = 0; skip < 2; skip++) {
        now("skip %d", skip);
        holdall_options *o = options_of(WITH(HOLDALL_OPT_SKIP_DAMAGED, skip));
        holdall_table *t;
        OK(holdall_table_open(in_tmp("corrupt"), HOLDALL_READ, o, &t, &err));
        void *const dsts[] = {got.a, got.s, got.m};
        const size_t sizes[] = {sizeof got.a, sizeof got.s, sizeof got.m};
        static const uint64_t rows[] = {ROWS - 1, 120, 0};
        preset_error();
        holdall_status all = holdall_table_read_rows(t, 0, ROWS, 1, 3, NULL, dsts, sizes, &err);
        CHECK(skip ? all == HOLDALL_DAMAGED : all == HOLDALL_E_CHECKSUM || all == HOLDALL_E_FORMAT);
        holdall_status some = holdall_table_read_points(t, rows, 3, 3, NULL, dsts, sizes, &err);
        CHECK(some == all);
        OK(holdall_table_read_rows(t, 0, ROWS, 1, 2, (const char *[]){"s", "m"}, dsts + 1,
                                   sizes + 1, &err));
        OK(holdall_table_read_rows(t, 0, 50, 1, 1, names, dsts, sizes, &err));
        /* a copy is complete, or the call reports that it is not */
        preset_error();
        holdall_status copied = holdall_table_copy(t, in_tmp("corrupt-copy"), HOLDALL_CREATE,
                                                   HOLDALL_FORMAT_BCOLZ, NULL, &err);
        EQUAL(copied, all);
        EQUAL(there(in_tmp("corrupt-copy")), skip);
        holdall_table_close(t);
        holdall_options_free(o);
    }
}

static void check_table(const char *path, holdall_format format, bool column_attrs)
{
    static columns got;
    static uint64_t rows[ROWS];
    holdall_table *t;
    OK(holdall_table_open(path, HOLDALL_READ, NULL, &t, &err));
    EQUAL(table_info(t).format, format);
    EQUAL(holdall_table_row_count(t), ROWS);
    EQUAL(holdall_table_column_count(t), 3);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(strcmp(holdall_table_column_name(t, i), names[i]) == 0);
        EQUAL(holdall_array_nbytes(holdall_table_column(t, i)), ROWS * widths[i]);
    }
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = i;
    OK(holdall_table_read_rows(t, 0, ROWS, 1, 3, NULL, (void *[]){got.a, got.s, got.m},
                               (const size_t[]){sizeof got.a, sizeof got.s, sizeof got.m}, &err));
    check_rows(&got, rows, ROWS, true, true, true);
    const void *value;
    size_t n;
    OK(holdall_table_attr_get(t, "of the table", &value, &n, &err));
    CHECK(n == 6 && memcmp(value, "[1, 2]", 6) == 0);
    if (column_attrs) {
        OK(holdall_array_attr_get(holdall_table_find_column(t, "s"), "of s", &value, &n, &err));
        CHECK(n == 6 && memcmp(value, "\"text\"", 6) == 0);
    }
    holdall_table_close(t);
}

static void copies_have_the_same_content(void)
{
    static const holdall_format formats[] = {HOLDALL_FORMAT_BCOLZ, HOLDALL_FORMAT_BLZ,
                                             HOLDALL_FORMAT_BLZ_RFC};
    for (int from = 0; from < 3; from++) {
        char source[64];
        snprintf(source, sizeof source, "from-%d", from);
        holdall_table *t = make(in_tmp(source), formats[from]);
        for (int to = 0; to < 3; to++) {
            now("from %d to %d", from, to);
            char name[64];
            snprintf(name, sizeof name, "copy-%d-%d", from, to);
            progress_log progress_of = {0};
            holdall_options *o = options_of(WITH(HOLDALL_OPT_DURABILITY, 0));
            holdall_options_set_progress(o, progress, &progress_of);
            /* attributes of columns do not fit into the BLZ RFC layout */
            bool fits = from == 2 || to != 2;
            GIVES(fits ? HOLDALL_OK : HOLDALL_E_UNSUPPORTED,
                  holdall_table_copy(t, in_tmp(name), HOLDALL_CREATE, formats[to], o, &err));
            holdall_options_free(o);
            EQUAL(there(in_tmp(name)), fits);
            if (!fits)
                continue;
            CHECK(progress_of.calls > 0 && progress_of.last == progress_of.total);
            check_table(in_tmp(name), formats[to], from != 2);
            /* exists already; replaced */
            GIVES(HOLDALL_E_EXISTS,
                  holdall_table_copy(t, in_tmp(name), HOLDALL_CREATE, formats[to], NULL, &err));
            OK(holdall_table_copy(t, in_tmp(name), HOLDALL_REPLACE, formats[to], NULL, &err));
            check_table(in_tmp(name), formats[to], from != 2);
        }
        /* stopped: nothing is created */
        progress_log stopped = {.stop_at = 2};
        holdall_options *o = holdall_options_new();
        holdall_options_set_progress(o, progress, &stopped);
        GIVES(HOLDALL_E_CANCELLED,
              holdall_table_copy(t, in_tmp("stopped"), HOLDALL_CREATE, formats[from], o, &err));
        holdall_options_free(o);
        EQUAL(there(in_tmp("stopped")), false);
        GIVES(HOLDALL_E_ARGUMENT,
              holdall_table_copy(t, in_tmp("x"), HOLDALL_READ, formats[from], NULL, &err));
        CHECK(holdall_table_copy(t, in_tmp("x"), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, NULL, &err) <
              0);
        CHECK(holdall_table_copy(t, in_tmp(source), HOLDALL_REPLACE, formats[from], NULL, &err) <
              0);
        GIVES(HOLDALL_E_ARGUMENT,
              holdall_table_copy(NULL, in_tmp("x"), HOLDALL_CREATE, formats[from], NULL, &err));
        EQUAL(files_with("x"), 0);
        holdall_table_close(t);
        check_table(in_tmp(source), formats[from], from != 2);
    }
    TIDY();
}

/* A copy has the state of the handle, including uncommitted appends. */
static void a_copy_has_the_state_of_the_handle(void)
{
    holdall_table *t = make(in_tmp("seen"), HOLDALL_FORMAT_BCOLZ), *copy;
    OK(holdall_table_truncate(t, 100, &err));
    OK(holdall_table_attr_set(t, "new", "1", 1, &err));
    folder f = FOLDER;
    holdall_storage *storage = folder_io(&f);
    holdall_options *o = options_of(WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD));
    OK(holdall_options_set_storage(o, &storage, 1, &err));
    OK(holdall_table_copy(t, NULL, HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, o, &err));
    holdall_table_close(t);
    OK(holdall_table_open(NULL, HOLDALL_READ, o, &copy, &err));
    EQUAL(holdall_table_row_count(copy), 100);
    EQUAL(holdall_table_attr_count(copy), 2);
    EQUAL(array_info(holdall_table_column(copy, 0)).codec, HOLDALL_CODEC_ZSTD);
    holdall_table_close(copy);
    holdall_options_free(o);
    holdall_storage_free(storage);
    folder_clear(&f);
}

int main(void)
{
    RUN(columns_are_found_by_name);
    RUN(rows_of_columns_are_read_in_one_call);
    RUN(invalid_reads_of_rows_are_refused);
    RUN(corrupt_rows_are_reported_or_skipped);
    RUN(copies_have_the_same_content);
    RUN(a_copy_has_the_state_of_the_handle);
    return 0;
}
