/* Readers of each form that follow a writer: holdall_X_refresh() and holdall_X_generation(). */
#include "child.h"
#include "formats.h"

static holdall_status refresh(reader *r)
{
    preset_error();
    switch (r->kind) {
    case SCHUNK: return holdall_schunk_refresh(r->schunk, &err);
    case ARRAY: return holdall_array_refresh(r->array, &err);
    case TABLE: return holdall_table_refresh(r->table, &err);
    default: return holdall_bag_refresh(r->bag, &err);
    }
}

static uint64_t generation(const reader *r)
{
    switch (r->kind) {
    case SCHUNK: return holdall_schunk_generation(r->schunk);
    case ARRAY: return holdall_array_generation(r->array);
    case TABLE: return holdall_table_generation(r->table);
    default: return holdall_bag_generation(r->bag);
    }
}

/* The same, as the information has it. */
static uint64_t generation_of_info(const reader *r)
{
    switch (r->kind) {
    case SCHUNK: return schunk_info(r->schunk).generation;
    case ARRAY: return array_info(r->array).generation;
    case TABLE: return table_info(r->table).generation;
    default: return bag_info(r->bag).generation;
    }
}

static void check_reader(int form, const reader *r, uint64_t rows)
{
    int32_t got[ROWS];
    uint64_t n = 0;
    GAVE(HOLDALL_OK, read_all(r, got, &n));
    EQUAL(n, rows);
    check_rows(form, got, n);
    EQUAL(generation(r), generation_of_info(r));
}

/* Changes and commits in a child, which closes the reader that it inherits. */
static void commit_elsewhere(int form, const char *path, uint64_t first, uint64_t n,
                             reader *inherited)
{
    pid_t child = forked();
    if (child == 0) {
        writer w;
        GAVE(HOLDALL_OK, open_writer_of(form, path, false, &w));
        GAVE(HOLDALL_OK, append(&w, first, n));
        GAVE(HOLDALL_OK, rewrite(&w));
        GAVE(HOLDALL_OK, commit(&w));
        close_writer(&w);
        close_reader(inherited);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void readers_follow(int form)
{
    const char *path = in_tmp(forms[form].name);
    add(form, path, true, 0, OLD);
    reader r, same;
    GAVE(HOLDALL_OK, open_reader(form, path, &r));
    EQUAL(generation(&r), 0);
    GAVE(HOLDALL_OK, refresh(&r));
    check_reader(form, &r, OLD);
    /* twice without a commit between: the files are known to be as they were, or are read again */
    uint64_t before = generation(&r);
    GAVE(HOLDALL_OK, refresh(&r));
    CHECK(generation(&r) <= before + 1);

    /* one commit, also one that comes at once */
    before = generation(&r);
    commit_elsewhere(form, path, OLD, NEW - OLD, &r);
    GAVE(HOLDALL_OK, refresh(&r));
    EQUAL(generation(&r), before + 1);
    check_reader(form, &r, NEW);

    /* a failure leaves the handle as it was */
    char away[1100];
    snprintf(away, sizeof away, "%s.away", path);
    bool alone = strchr(forms[form].name, '@') == NULL;
    if (alone) {
        CHECK(rename(path, away) == 0);
        before = generation(&r);
        CHECK(refresh(&r) < 0);
        EQUAL(generation(&r), before);
        CHECK(rename(away, path) == 0);
    }
    GAVE(HOLDALL_OK, refresh(&r));
    check_reader(form, &r, NEW);
    /* who opens now sees the same, and begins at 0 */
    GAVE(HOLDALL_OK, open_reader(form, path, &same));
    check_reader(form, &same, NEW);
    EQUAL(generation(&same), 0);
    close_reader(&same);
    close_reader(&r);
}

/* A writer counts its commits, and is not refreshed. */
static void writers_count(int form)
{
    const char *path = in_tmp(forms[form].name);
    writer w;
    GAVE(HOLDALL_OK, open_writer_of(form, path, false, &w));
    reader r = {.kind = w.kind, .schunk = w.schunk, .array = w.array, .table = w.table};
    if (w.kind != BAG) {
        for (uint64_t k = 0; k < 3; k++) {
            EQUAL(generation(&r), k);
            GAVE(HOLDALL_OK, append(&w, NEW + k, 1));
            EQUAL(generation(&r), k);
            GAVE(HOLDALL_OK, commit(&w));
        }
        EQUAL(generation(&r), 3);
        EQUAL(generation_of_info(&r), 3);
        GAVE(HOLDALL_E_STATE, refresh(&r));
        EQUAL(generation(&r), 3);
    }
    close_writer(&w);
}

static void what_is_not_refreshed(void)
{
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_refresh(NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_refresh(NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_refresh(NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_refresh(NULL, &err));
    EQUAL(holdall_schunk_generation(NULL) + holdall_array_generation(NULL) + holdall_table_generation(NULL) + holdall_bag_generation(NULL), 0);
    holdall_table *t;
    OK(holdall_table_open(in_tmp("table.bcolz"), HOLDALL_READ, NULL, &t, &err));
    GIVES(HOLDALL_E_STATE, holdall_array_refresh((holdall_array *)(uintptr_t)holdall_table_column(t, 0), &err));
    holdall_table_close(t);
}

int main(void)
{
    /* a child that inherits threads of the library's seems to leak them */
    setenv("HOLDALL_THREADS", "1", 1);
    for (int form = 0; form < ALL_FORMS; form++) {
        now("%s", forms[form].name);
        readers_follow(form);
        writers_count(form);
    }
    RUN(what_is_not_refreshed);
    TIDY();
    return 0;
}
