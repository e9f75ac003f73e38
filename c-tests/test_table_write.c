/* Tables that are created and changed: in folders and in storage of the caller, by one writer at a
 * time, with readers at any time, and with functions that fail at each of their calls. */
#include "check.h"
#include "folder.h"

#include <pthread.h>
#include <sys/wait.h>

#define SHAPE(...) ((const uint64_t[]){__VA_ARGS__})

enum { MOST = 2000 };

static const char *const names[] = {"a", "s", "m"};
static const char *const dtypes[] = {"<i4", "|S5", "('<f4', (2,))"};

/* ---- rows: the content of row i follows from i and a version ----------------------------------*/

typedef struct {
    int32_t a[MOST];
    char s[MOST][5];
    float m[MOST][2];
} rows;

static void make_rows(rows *r, uint64_t first, uint64_t n, int version)
{
    for (uint64_t k = 0; k < n; k++) {
        int i = (int)(first + k);
        r->a[k] = 3 * i + version;
        memset(r->s[k], 0, 5);
        snprintf(r->s[k], 5, "%d", (i + version) % 1000);
        r->m[k][0] = (float)i, r->m[k][1] = (float)-version;
    }
}

static holdall_status append_rows(holdall_table *t, uint64_t first, uint64_t n, int version)
{
    static _Thread_local rows r;
    make_rows(&r, first, n, version);
    const void *columns[] = {r.a, r.s, r.m};
    const size_t sizes[] = {n * 4, n * 5, n * 8};
    return holdall_table_append(t, n, columns, sizes, &err);
}

/* Has the table n rows of these three columns, of this version? `later`: the files may have been
 * removed since. */
static bool has_rows_yet(const holdall_table *t, uint64_t n, int version, bool later)
{
    static _Thread_local rows want, got;
    if (holdall_table_row_count(t) != n || holdall_table_column_count(t) != 3)
        return false;
    make_rows(&want, 0, n, version);
    void *const to[] = {got.a, got.s, got.m};
    const void *const from[] = {want.a, want.s, want.m};
    const size_t sizes[] = {4, 5, 8};
    for (uint32_t i = 0; i < 3; i++) {
        const holdall_array *c = holdall_table_column(t, i);
        CHECK(holdall_array_shape(c)[0] == n);
        preset_error();
        holdall_status status =
            holdall_array_read(c, SHAPE(0, 0), SHAPE(n, 2), NULL, to[i], n * sizes[i], NULL, &err);
        if (later && (status == HOLDALL_E_MISSING || status == HOLDALL_E_FORMAT))
            continue;
        GAVE(HOLDALL_OK, status);
        if (memcmp(to[i], from[i], n * sizes[i]) != 0)
            return false;
    }
    return true;
}

static bool has_rows(const holdall_table *t, uint64_t n, int version)
{
    return has_rows_yet(t, n, version, false);
}

/* ---- storage: a folder, or storage of the caller ----------------------------------------------*/

static holdall_status try_new_table(holdall_storage *io, const char *path, holdall_mode mode,
                                    const int64_t *pairs, holdall_table **t)
{
    holdall_options *o = options_of(pairs);
    preset_error();
    holdall_status status =
        io != NULL
            ? table_create_io(io, mode, HOLDALL_FORMAT_BCOLZ, 3, names, dtypes, o, t, &err)
            : table_create(in_tmp(path), mode, HOLDALL_FORMAT_BCOLZ, 3, names, dtypes, o, t, &err);
    holdall_options_free(o);
    return status;
}

static holdall_status try_table(holdall_storage *io, const char *path, holdall_mode mode,
                                const int64_t *pairs, holdall_table **t)
{
    holdall_options *o = options_of(pairs);
    preset_error();
    holdall_status status = io != NULL ? table_open_io(io, mode, o, t, &err)
                                       : holdall_table_open(in_tmp(path), mode, o, t, &err);
    holdall_options_free(o);
    return status;
}

static holdall_table *reader(holdall_storage *io, const char *path)
{
    holdall_table *t;
    GAVE(HOLDALL_OK, try_table(io, path, HOLDALL_READ, WITH(HOLDALL_OPT_VERIFY, 2), &t));
    return t;
}

static const int64_t small[] = {HOLDALL_OPT_CHUNK_BYTES, 800, HOLDALL_OPT_DURABILITY, 0, 0, 0};
static const int64_t fast[] = {HOLDALL_OPT_DURABILITY, 0, 0, 0};

static bool attr_is(const holdall_table *t, const char *name, const char *want)
{
    const void *value;
    size_t n;
    return holdall_table_attr_get(t, name, &value, &n, &err) == HOLDALL_OK && n == strlen(want) &&
           memcmp(value, want, n) == 0;
}

/* ---- tests ------------------------------------------------------------------------------------*/

static void wrong_requests(holdall_table *t)
{
    static const char bytes[100];
    const void *const columns[] = {bytes, bytes, bytes};
    const void *const missing[] = {bytes, NULL, bytes};
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_table_append(t, 2, columns, (const size_t[]){8, 10, 15}, &err));
    CHECK(says("\"m\""));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_table_append(t, 2, missing, (const size_t[]){8, 10, 16}, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_append(t, 2, NULL, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_table_append(NULL, 0, columns, (const size_t[]){0, 0, 0}, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_write(t, "none", 0, 1, bytes, 4, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_write(t, NULL, 0, 1, bytes, 4, &err));
    GIVES(HOLDALL_E_RANGE,
          holdall_table_write(t, "a", holdall_table_row_count(t), 1, bytes, 4, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_write(t, "a", 0, 1, bytes, 5, &err));
    GIVES(HOLDALL_E_RANGE, holdall_table_truncate(t, holdall_table_row_count(t) + 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_column_add(t, 0, "x", "<i4", bytes, 7, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_column_add(t, 0, "../x", "<i4", bytes, 100, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_column_add(t, 0, NULL, "<i4", bytes, 100, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_column_add(t, 0, "\xFF", "<i4", bytes, 100, &err));
    GIVES(HOLDALL_E_TYPE, holdall_table_column_add(t, 0, "x", "<q4", bytes, 100, &err));
    GIVES(HOLDALL_E_EXISTS, holdall_table_column_add(t, 0, "s", "<i4", bytes, 100, &err));
    GIVES(HOLDALL_E_RANGE, holdall_table_column_add(t, 4, "x", "<i4", bytes, 100, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_column_remove(t, "x", &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_attr_set(t, "unit", "mm", 2, &err));
}

static void edit_columns(holdall_table *t, holdall_storage *io)
{
    static uint16_t x[MOST];
    uint16_t got[MOST];
    for (uint16_t i = 0; i < MOST; i++)
        x[i] = (uint16_t)(7 * i);
    OK(holdall_table_column_add(t, 1, "\xC3\xA9", ">u2", x, 700 * 2, &err));
    OK(holdall_table_column_remove(t, "s", &err));
    CHECK(holdall_table_column_count(t) == 3 &&
          strcmp(holdall_table_column_name(t, 1), "\xC3\xA9") == 0 &&
          strcmp(holdall_table_column_name(t, 2), "m") == 0);
    /* a column of the same name, in the same commit */
    OK(holdall_table_column_remove(t, "m", &err));
    OK(holdall_table_column_add(t, 2, "m", "<u2", x, 700 * 2, &err));
    holdall_table *r = reader(io, "t");
    CHECK(has_rows(r, 700, 1));
    OK(holdall_table_commit(t, &err));
    holdall_table_close(r);
    r = reader(io, "t");
    for (int k = 0; k < 2; k++) {
        const holdall_table *of = k == 0 ? t : r;
        EQUAL(holdall_table_column_count(of), 3);
        for (uint32_t i = 1; i < 3; i++) {
            CHECK(holdall_table_column_row_count(of, i) == 700 &&
                  strcmp(holdall_table_column_name(of, i), i == 1 ? "\xC3\xA9" : "m") == 0);
            OK(holdall_array_read(holdall_table_column(of, i), SHAPE(0), SHAPE(700), NULL, got,
                                  1400, NULL, &err));
            CHECK(memcmp(got, x, 1400) == 0);
        }
    }
    holdall_table_close(r);
}

static void make_and_change(holdall_storage *io)
{
    holdall_table *t, *r;
    GAVE(HOLDALL_OK,
         try_new_table(io, "t", HOLDALL_CREATE, WITH(HOLDALL_OPT_CHUNK_BYTES, 800), &t));
    EQUAL(holdall_table_row_count(t), 0);
    EQUAL(array_info(holdall_table_column(t, 2)).chunk_shape[0], 100);
    OK(append_rows(t, 0, 1000, 1));
    EQUAL(holdall_table_column_row_count(t, 0), 0);
    OK(holdall_table_attr_set(t, "unit", "\"mm\"", 4, &err));
    CHECK(has_rows(t, 1000, 1));
    OK(holdall_table_commit(t, &err));
    OK(append_rows(t, 1000, 500, 1));
    wrong_requests(t);
    CHECK(has_rows(t, 1500, 1) && attr_is(t, "unit", "\"mm\""));
    EQUAL(holdall_table_column_row_count(t, 0), 1000);
    r = reader(io, "t");
    CHECK(has_rows(r, 1000, 1) && attr_is(r, "unit", "\"mm\""));
    GIVES(HOLDALL_E_STATE, append_rows(r, 1000, 1, 1));
    GIVES(HOLDALL_E_STATE, holdall_table_commit(r, &err));
    OK(holdall_table_commit(t, &err));
    OK(holdall_table_commit(t, &err));
    holdall_table_close(r);
    r = reader(io, "t");
    CHECK(has_rows(r, 1500, 1));
    holdall_table_close(r);
    holdall_table_close(t);
    GAVE(HOLDALL_E_EXISTS, try_new_table(io, "t", HOLDALL_CREATE, NULL, &t));

    /* overwritten rows are written back: one version everywhere */
    rows *some = malloc(sizeof *some);
    GAVE(HOLDALL_OK, try_table(io, "t", HOLDALL_APPEND, fast, &t));
    make_rows(some, 90, 20, 2);
    OK(holdall_table_write(t, "a", 90, 20, some->a, 80, &err));
    OK(holdall_table_write(t, "m", 90, 20, some->m, 160, &err));
    OK(holdall_table_attr_set(t, "unit", NULL, 0, &err));
    OK(holdall_table_commit(t, &err));
    r = reader(io, "t");
    CHECK(!has_rows(r, 1500, 1) && holdall_table_attr_count(r) == 0);
    holdall_table_close(r);
    make_rows(some, 90, 20, 1);
    OK(holdall_table_write(t, "a", 90, 20, some->a, 80, &err));
    OK(holdall_table_write(t, "m", 90, 20, some->m, 160, &err));
    OK(holdall_table_truncate(t, 700, &err));
    OK(holdall_table_commit(t, &err));
    CHECK(has_rows(t, 700, 1));

    /* rows in the middle: of all columns, with one commit */
    OK(holdall_table_remove(t, 100, 450, &err));
    make_rows(some, 100, 450, 1);
    const void *columns[] = {some->a, some->s, some->m};
    OK(holdall_table_insert(t, 100, 450, columns, (const size_t[]){1800, 2250, 3600}, &err));
    CHECK(has_rows(t, 700, 1));
    OK(holdall_table_insert(t, 0, 450, columns, (const size_t[]){1800, 2250, 3600}, &err));
    OK(holdall_table_commit(t, &err));
    r = reader(io, "t");
    EQUAL(holdall_table_row_count(r), 1150);
    OK(holdall_table_remove(t, 0, 450, &err));
    OK(holdall_table_commit(t, &err));
    OK(holdall_table_refresh(r, &err));
    CHECK(has_rows(r, 700, 1));
    holdall_table_close(r);
    GIVES(HOLDALL_E_RANGE, holdall_table_remove(t, 699, 2, &err));
    GIVES(HOLDALL_E_RANGE, holdall_table_remove(t, UINT64_MAX, 2, &err));
    GIVES(HOLDALL_E_RANGE,
          holdall_table_insert(t, 701, 1, columns, (const size_t[]){4, 5, 8}, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_table_insert(t, 1, 1, columns, (const size_t[]){4, 5, 7}, &err));
    CHECK(says("\"m\""));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_insert(t, 1, 1, NULL, NULL, &err));
    CHECK(has_rows(t, 700, 1));
    free(some);
    edit_columns(t, io);
    holdall_table_close(t);

    /* another table replaces it at the commit */
    GAVE(HOLDALL_OK, try_new_table(io, "t", HOLDALL_REPLACE, small, &t));
    OK(append_rows(t, 0, 300, 4));
    r = reader(io, "t");
    EQUAL(holdall_table_row_count(r), 700);
    holdall_table_close(r);
    OK(holdall_table_commit(t, &err));
    holdall_table_close(t);
    r = reader(io, "t");
    CHECK(has_rows(r, 300, 4));
    holdall_table_close(r);
}

static int count_files(const char *path)
{
    char command[PATH_MAX + 64];
    snprintf(command, sizeof command, "find '%s' -type f | wc -l", path);
    FILE *p = popen(command, "r");
    int n = -1;
    CHECK(p != NULL && fscanf(p, "%d", &n) == 1 && pclose(p) == 0);
    return n;
}

static void a_table_is_created_and_changed(void)
{
    holdall_table *t;
    holdall_format format;
    holdall_kind kind;
    GAVE(HOLDALL_OK, try_new_table(NULL, "t", HOLDALL_CREATE, NULL, &t));
    OK(append_rows(t, 0, 10, 1));
    holdall_table_close(t);
    CHECK(access(in_tmp("t"), F_OK) != 0);
    make_and_change(NULL);
    OK(holdall_identify(in_tmp("t"), &format, &kind, &err));
    CHECK(format == HOLDALL_FORMAT_BCOLZ && kind == HOLDALL_KIND_TABLE);
    uint64_t intact = 0, corrupt = 0, unchecked = 0;
    OK(verify_counts(in_tmp("t"), NULL, NULL, NULL, &intact, &corrupt, &unchecked, &err));
    CHECK(intact > 5 && corrupt == 0 && unchecked == 0);
    /* nothing remains of removed columns: only names, attributes, and 3 files and the chunks of
     * each column */
    EQUAL(count_files(in_tmp("t")), 2 + 3 * 3 + intact);
    const holdall_format blpk = HOLDALL_FORMAT_BLOSCPACK;
    GIVES(HOLDALL_E_UNSUPPORTED,
          table_create(in_tmp("u"), HOLDALL_CREATE, blpk, 3, names, dtypes, NULL, &t, &err));
    GIVES(HOLDALL_E_ARGUMENT, table_create(in_tmp("u"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, 0,
                                           names, dtypes, NULL, &t, &err));
    GIVES(HOLDALL_E_ARGUMENT, table_create(in_tmp("u"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, 3,
                                           names, NULL, NULL, &t, &err));
    GIVES(HOLDALL_E_ARGUMENT, table_create(in_tmp("u"), HOLDALL_APPEND, HOLDALL_FORMAT_BCOLZ, 3,
                                           names, dtypes, NULL, &t, &err));
    CHECK(access(in_tmp("u"), F_OK) != 0);
}

static void a_table_is_changed_in_storage_of_the_caller(void)
{
    folder f = FOLDER;
    holdall_storage *io = folder_io(&f);
    holdall_table *t;
    GAVE(HOLDALL_E_MISSING, try_table(io, "", HOLDALL_READ, NULL, &t));
    make_and_change(io);
    for (int i = 0; i < f.n; i++)
        CHECK(strstr(f.files[i].name, "holdall") == NULL);
    holdall_storage_free(io);
    folder_clear(&f);
}

static void one_writer_holds_the_lock_at_a_time(void)
{
    holdall_table *t, *other;
    holdall_array *a;
    GAVE(HOLDALL_OK, try_new_table(NULL, "l", HOLDALL_CREATE, small, &t));
    OK(append_rows(t, 0, 100, 1));
    GAVE(HOLDALL_E_BUSY, try_new_table(NULL, "l", HOLDALL_CREATE, small, &other));
    OK(holdall_table_commit(t, &err));
    GAVE(HOLDALL_E_BUSY, try_table(NULL, "l", HOLDALL_APPEND, NULL, &other));
    /* a single column is a part of the table */
    GIVES(HOLDALL_E_BUSY, holdall_array_open(in_tmp("l/s"), HOLDALL_APPEND, NULL, &a, &err));
    OK(holdall_array_open(in_tmp("l/s"), HOLDALL_READ, NULL, &a, &err));
    EQUAL(holdall_array_shape(a)[0], 100);
    holdall_array_close(a);
    holdall_table_close(t);
    OK(holdall_array_open(in_tmp("l/s/"), HOLDALL_APPEND, NULL, &a, &err));
    GAVE(HOLDALL_E_BUSY, try_table(NULL, "l", HOLDALL_APPEND, NULL, &other));
    OK(holdall_array_append(a, 0, 1, "extra", 5, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    GIVES(HOLDALL_E_UNSUPPORTED, array_create(in_tmp("l/new"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ,
                                              "<i4", 1, SHAPE(0), NULL, NULL, NULL, &a, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, array_create(in_tmp("l/s"), HOLDALL_REPLACE, HOLDALL_FORMAT_BCOLZ,
                                              "<i4", 1, SHAPE(0), NULL, NULL, NULL, &a, &err));
    CHECK(access(in_tmp("l/new"), F_OK) != 0);
    /* one column is longer: the table has the rows that all columns have, and the next commit
     * removes the others */
    GAVE(HOLDALL_OK, try_table(NULL, "l", HOLDALL_APPEND, NULL, &t));
    CHECK(has_rows(t, 100, 1) && holdall_table_column_row_count(t, 1) == 101 &&
          holdall_table_column_row_count(t, 0) == 100);
    OK(holdall_table_commit(t, &err));
    EQUAL(holdall_table_column_row_count(t, 1), 100);
    holdall_table_close(t);
    t = reader(NULL, "l");
    CHECK(has_rows(t, 100, 1) && holdall_table_column_row_count(t, 1) == 100);
    holdall_table_close(t);
}

/* A child inherits the handle; it neither commits nor removes files. */
static void a_child_leaves_the_table_alone(void)
{
    holdall_table *t;
    GAVE(HOLDALL_OK, try_new_table(NULL, "f", HOLDALL_CREATE, small, &t));
    OK(append_rows(t, 0, 500, 1));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        bool refused = append_rows(t, 500, 1, 1) == HOLDALL_E_STATE &&
                       holdall_table_commit(t, &err) == HOLDALL_E_STATE;
        holdall_table_close(t);
        _exit(refused ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(holdall_table_commit(t, &err));
    holdall_table_close(t);
    t = reader(NULL, "f");
    CHECK(has_rows(t, 500, 1));
    holdall_table_close(t);
}

static void nothing_is_written_through_a_link(void)
{
    holdall_table *t;
    GAVE(HOLDALL_OK, try_new_table(NULL, "k", HOLDALL_CREATE, small, &t));
    OK(append_rows(t, 0, 100, 1));
    OK(holdall_table_commit(t, &err));
    OK(append_rows(t, 100, 10, 1));
    CHECK(symlink(in_tmp("outside"), in_tmp("k/s/meta/sizes.holdall-new")) == 0);
    /* the link itself is replaced */
    OK(holdall_table_commit(t, &err));
    CHECK(access(in_tmp("outside"), F_OK) != 0);
    holdall_table_close(t);
    t = reader(NULL, "k");
    CHECK(has_rows(t, 110, 1));
    holdall_table_close(t);
}

/* ---- readers at any time ----------------------------------------------------------------------*/

static _Atomic int stop, reader_failed;
static _Atomic long looked[2];

/* Every table that opens has columns of equal length, with the rows of one commit: a multiple of
 * ten. */
static void *look(void *own)
{
    for (; !stop; ++*(_Atomic long *)own) {
        holdall_table *t;
        holdall_error e;
        holdall_status status = holdall_table_open(in_tmp("r"), HOLDALL_READ, NULL, &t, &e);
        if (status != HOLDALL_OK) {
            fprintf(stderr, "a reader: %s\n", e.message);
            reader_failed = 1;
            return NULL;
        }
        uint64_t n = holdall_table_row_count(t);
        for (uint32_t i = 0; i < holdall_table_column_count(t); i++)
            if (holdall_table_column_row_count(t, i) != n) {
                fprintf(stderr, "a reader: %" PRIu64 " rows, column %u has %" PRIu64 "\n", n, i,
                        holdall_table_column_row_count(t, i));
                reader_failed = 1;
                return NULL;
            }
        reader_failed |= n % 10 != 0 ||
                         !(holdall_table_column_count(t) != 3 || has_rows_yet(t, n, 1, true));
        holdall_table_close(t);
    }
    return NULL;
}

static void readers_see_complete_commits(void)
{
    holdall_table *t;
    pthread_t threads[2];
    static uint8_t bytes[MOST];
    GAVE(HOLDALL_OK, try_new_table(NULL, "r", HOLDALL_CREATE, small, &t));
    OK(holdall_table_commit(t, &err));
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, look, (void *)&looked[i]) == 0);
    for (int round = 0; round < (slow() ? 8 : 100) || looked[0] < 20 || looked[1] < 20; round++) {
        CHECK(!reader_failed);
        uint64_t n = holdall_table_row_count(t);
        if (n > MOST - 100)
            OK(append_rows(t, n, 10, 1)), n += 10;
        else
            OK(append_rows(t, n, 90, 1)), n += 90;
        if (n >= MOST - 10)
            break;
        OK(holdall_table_commit(t, &err));
        OK(holdall_table_column_add(t, 3, "x", "|u1", bytes, n, &err));
        OK(holdall_table_commit(t, &err));
        OK(holdall_table_column_remove(t, "x", &err));
        OK(holdall_table_truncate(t, n - 80, &err));
        OK(holdall_table_commit(t, &err));
        if (n > 1000) {
            OK(holdall_table_truncate(t, 10, &err));
            OK(holdall_table_commit(t, &err));
        }
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(!reader_failed);
    holdall_table_close(t);
}

/* Is this a link, and to what? */
static bool is_link_to(const char *name, const char *target)
{
    char found[4096];
    ssize_t n = readlink(in_tmp(name), found, sizeof found);
    return n >= 0 && (size_t)n == strlen(target) && memcmp(found, target, (size_t)n) == 0;
}

/* Links out of the folder: refused, and followed on request. */
static void links_out_of_the_folder_are_followed_on_request(void)
{
    static const int64_t follow[] = {HOLDALL_OPT_FOLLOW_LINKS, 1, 0, 0};
    holdall_table *t;
    GAVE(HOLDALL_OK, try_new_table(NULL, "z", HOLDALL_CREATE, small, &t));
    OK(append_rows(t, 0, 300, 1));
    OK(holdall_table_commit(t, &err));
    holdall_table_close(t);
    /* a folder of chunks, and a chunk */
    char *data = strdup(in_tmp("elsewhere")), *chunk = strdup(in_tmp("chunk"));
    CHECK(rename(in_tmp("z/a/data"), data) == 0 && symlink(data, in_tmp("z/a/data")) == 0);
    CHECK(rename(in_tmp("z/s/data/__0.blp"), chunk) == 0 &&
          symlink(chunk, in_tmp("z/s/data/__0.blp")) == 0);
    size_t before, after;
    uint8_t *was = load(chunk, &before);

    GAVE(HOLDALL_OK, try_table(NULL, "z", HOLDALL_READ, NULL, &t));
    static int32_t a[300];
    GIVES(HOLDALL_E_FORMAT, holdall_array_read(holdall_table_column(t, 0), NULL, NULL, NULL, a,
                                               sizeof a, NULL, &err));
    CHECK(says("leads out of"));
    holdall_table_close(t);
    GAVE(HOLDALL_OK, try_table(NULL, "z", HOLDALL_APPEND, NULL, &t));
    CHECK(append_rows(t, 300, 300, 1) == HOLDALL_E_FORMAT ||
          holdall_table_commit(t, &err) == HOLDALL_E_FORMAT);
    CHECK(says("leads out of"));
    holdall_table_close(t);

    GAVE(HOLDALL_OK, try_table(NULL, "z", HOLDALL_READ, follow, &t));
    CHECK(has_rows(t, 300, 1));
    holdall_table_close(t);
    GAVE(HOLDALL_OK, try_table(NULL, "z", HOLDALL_APPEND, follow, &t));
    OK(append_rows(t, 300, 300, 1));
    OK(holdall_table_commit(t, &err));
    CHECK(has_rows(t, 600, 1) && is_link_to("z/a/data", data));
    CHECK(is_link_to("z/s/data/__0.blp", chunk));

    /* a commit replaces the link to a chunk, and not the chunk */
    OK(holdall_table_remove(t, 0, 1, &err));
    OK(holdall_table_truncate(t, 10, &err));
    OK(holdall_table_commit(t, &err));
    CHECK(holdall_table_row_count(t) == 10 && is_link_to("z/a/data", data));
    holdall_table_close(t);
    struct stat st;
    CHECK(lstat(in_tmp("z/s/data/__0.blp"), &st) == 0 && S_ISREG(st.st_mode));
    uint8_t *is = load(chunk, &after);
    CHECK(after == before && memcmp(is, was, after) == 0);
    free(was), free(is), free(data), free(chunk);
}

/* ---- functions that fail ----------------------------------------------------------------------*/

static const int64_t tiny[] = {HOLDALL_OPT_CHUNK_BYTES, 80, 0, 0};

/* The kinds of changes of a commit. */
enum { NEW_, APPEND_, TRUNCATE_, REMOVE_, COLUMNS_, REPLACE_, KINDS };
static const char *const kinds[] = {"new", "append", "truncate", "remove", "columns", "replace"};

static holdall_status change(holdall_table *t, int kind)
{
    static const uint16_t x[40];
    switch (kind) {
    case NEW_:
    case REPLACE_: return holdall_table_row_count(t) == 0 ? append_rows(t, 0, 30, 2) : HOLDALL_OK;
    case APPEND_: return holdall_table_row_count(t) == 40 ? append_rows(t, 40, 20, 1) : HOLDALL_OK;
    case TRUNCATE_: return holdall_table_truncate(t, 13, &err);
    case REMOVE_: return holdall_table_row_count(t) == 40 ? holdall_table_remove(t, 5, 20, &err)
                                                          : HOLDALL_OK;
    default:
        if (strcmp(holdall_table_column_name(t, 0), "x") != 0) {
            holdall_status status = holdall_table_column_add(t, 0, "x", "<u2", x, 80, &err);
            if (status != HOLDALL_OK)
                return status;
        }
        return holdall_table_column_count(t) == 4 ? holdall_table_column_remove(t, "a", &err)
                                                  : HOLDALL_OK;
    }
}

/* Has the table `all` rows of version 1 without `n` rows from row `from` on? */
static bool has_rows_without(const holdall_table *t, uint64_t from, uint64_t n, uint64_t all)
{
    rows want, got;
    make_rows(&want, 0, all, 1);
    if (holdall_table_row_count(t) != all - n)
        return false;
    void *const to[] = {got.a, got.s, got.m};
    const size_t sizes[] = {(all - n) * 4, (all - n) * 5, (all - n) * 8};
    GAVE(HOLDALL_OK, holdall_table_read_rows(t, 0, all - n, 1, 3, NULL, to, sizes, &err));
    size_t rest = all - n - from;
    return memcmp(got.a, want.a, from * 4) == 0 && memcmp(got.s, want.s, from * 5) == 0 &&
           memcmp(got.m, want.m, from * 8) == 0 &&
           memcmp(got.a + from, want.a + from + n, rest * 4) == 0 &&
           memcmp(got.s + from, want.s + from + n, rest * 5) == 0 &&
           memcmp(got.m + from, want.m + from + n, rest * 8) == 0;
}

/* 0 does not exist, 1 before the change, 2 after the change. */
static int state(folder *f, int kind)
{
    holdall_storage *io = folder_io(f);
    holdall_table *t;
    holdall_status status = try_table(io, "", HOLDALL_READ, WITH(HOLDALL_OPT_VERIFY, 2), &t);
    holdall_storage_free(io);
    if (status == HOLDALL_E_MISSING)
        return 0;
    GAVE(HOLDALL_OK, status);
    for (uint32_t i = 0; i < holdall_table_column_count(t); i++)
        EQUAL(holdall_table_column_row_count(t, i), holdall_table_row_count(t));
    bool before = has_rows(t, 40, 1);
    if (!before)
        switch (kind) {
        case NEW_:
        case REPLACE_: CHECK(has_rows(t, 30, 2)); break;
        case APPEND_: CHECK(has_rows(t, 60, 1)); break;
        case TRUNCATE_: CHECK(has_rows(t, 13, 1)); break;
        case REMOVE_: CHECK(has_rows_without(t, 5, 20, 40)); break;
        default:
            CHECK(holdall_table_row_count(t) == 40 &&
                  strcmp(holdall_table_column_name(t, 0), "x") == 0 &&
                  holdall_table_column_count(t) == 3);
        }
    holdall_table_close(t);
    return before ? 1 : 2;
}

static holdall_status begin(folder *f, int kind, holdall_table **t)
{
    holdall_storage *io = folder_io(f);
    holdall_mode mode = kind == NEW_ ? HOLDALL_CREATE : HOLDALL_REPLACE;
    holdall_status status = kind == NEW_ || kind == REPLACE_
                                ? try_new_table(io, "", mode, tiny, t)
                                : try_table(io, "", HOLDALL_APPEND, NULL, t);
    holdall_storage_free(io);
    return status;
}

/* Opens, changes and commits, with one retry. Returns whether the commit was reported as
 * durable. */
static bool work(folder *f, int kind)
{
    holdall_table *t;
    holdall_status status = begin(f, kind, &t);
    if (status == HOLDALL_OK) {
        for (int attempt = 0; attempt < 2; attempt++) {
            preset_error();
            status = change(t, kind);
            if (status == HOLDALL_OK)
                preset_error(), status = holdall_table_commit(t, &err);
            if (status == HOLDALL_OK || status == HOLDALL_E_STATE)
                break;
        }
        holdall_table_close(t);
    }
    if (status < 0)
        now("%s: %s", at_case, err.message);
    if (status < 0)
        CHECK((status == HOLDALL_E_CALLBACK || status == HOLDALL_E_STATE) && err.status == status);
    return status == HOLDALL_OK;
}

static void failures_of_functions_are_reported(void)
{
    folder base = FOLDER;
    holdall_storage *io = folder_io(&base);
    holdall_table *t;
    GAVE(HOLDALL_OK, try_new_table(io, "", HOLDALL_CREATE, tiny, &t));
    OK(append_rows(t, 0, 40, 1));
    OK(holdall_table_commit(t, &err));
    holdall_table_close(t);
    holdall_storage_free(io);
    for (int kind = 0; kind < KINDS; kind++)
        for (int how = 0; how < 4; how++) {
            long all = LONG_MAX;
            for (long call = 1; call <= all; call += slow() ? 41 : 1) {
                now("%s, call %ld fails%s%s", kinds[kind], call,
                    how & 1 ? ", and all after it" : "", how & 2 ? ", too late" : "");
                folder f = FOLDER;
                if (kind != NEW_)
                    folder_copy(&f, &base);
                f.fail_at = call, f.dead = how & 1, f.too_late = how & 2;
                bool counts = work(&f, kind);
                if (f.failures == 0)
                    all = 0; /* there is no such call */
                f.fail_at = 0;
                int is = state(&f, kind);
                CHECK(is == 2 || (!counts && is == (kind == NEW_ ? 0 : 1)));
                /* and the next writer works */
                if (is != 0) {
                    io = folder_io(&f);
                    GAVE(HOLDALL_OK, try_table(io, "", HOLDALL_APPEND, NULL, &t));
                    OK(holdall_table_truncate(t, 5, &err));
                    OK(holdall_table_commit(t, &err));
                    holdall_table_close(t);
                    GAVE(HOLDALL_OK,
                         try_table(io, "", HOLDALL_READ, WITH(HOLDALL_OPT_VERIFY, 2), &t));
                    EQUAL(holdall_table_row_count(t), 5);
                    holdall_table_close(t);
                    holdall_storage_free(io);
                }
                folder_clear(&f);
            }
        }
    folder_clear(&base);
}

int main(void)
{
    RUN(a_table_is_created_and_changed);
    RUN(a_table_is_changed_in_storage_of_the_caller);
    RUN(one_writer_holds_the_lock_at_a_time);
    RUN(a_child_leaves_the_table_alone);
    RUN(nothing_is_written_through_a_link);
    RUN(links_out_of_the_folder_are_followed_on_request);
    RUN(readers_see_complete_commits);
    RUN(failures_of_functions_are_reported);
    return 0;
}
