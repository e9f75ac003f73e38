/* Parts: rows and boxes of many writers become visible with one commit, in every format; every
 * error of the header; a commit that is repeated; parts that are listed, discarded and removed by a
 * repair; processes that are killed while they write and commit parts. */
#include "formats.h"

#include "child.h"

enum { TOKEN = HOLDALL_PART_TOKEN_SIZE, FIRST = 10, SECOND = 12, EACH = 2, MOST_KILLED = 60 };

typedef struct {
    unsigned char bytes[TOKEN];
} token;

static bool has_parts(int form)
{
    return forms[form].kind != SCHUNK && forms[form].format != HOLDALL_FORMAT_CTABLE;
}

static holdall_status part_of(int form, const char *path, holdall_part **part)
{
    holdall_options *o = form_options(form, forms[form].kind == BAG);
    holdall_status s = HOLDALL_E_UNSUPPORTED;
    preset_error();
    switch (forms[form].kind) {
    case BAG: s = holdall_part_of_bag(path, o, part, &err); break;
    case ARRAY: s = holdall_part_of_array(path, 0, NULL, NULL, o, part, &err); break;
    case TABLE: s = holdall_part_of_table(path, o, part, &err); break;
    default: break;
    }
    holdall_options_free(o);
    return s;
}

/* Writes a part with n rows from first on. */
static token rows_in_part(int form, const char *path, uint64_t first, uint64_t n)
{
    token t;
    holdall_part *part;
    GAVE(HOLDALL_OK, part_of(form, path, &part));
    add(form, holdall_part_path(part), false, first, n);
    OK(holdall_part_finish(part, t.bytes, &err));
    holdall_part_close(part);
    return t;
}

static holdall_status commit_parts(int form, const char *path, const token *tokens, size_t n)
{
    holdall_options *o = form_options(form, forms[form].kind == BAG);
    preset_error();
    holdall_status s = holdall_parts_commit(path, tokens, n, o, &err);
    holdall_options_free(o);
    return s;
}

/* Returns the number of parts. */
static int listed(const char *path)
{
    char names[4096];
    size_t size;
    int n = 0;
    OK(holdall_parts_list(path, names, sizeof names, &size, &err));
    for (size_t i = 0; i < size; i++)
        n += names[i] == '\0';
    return n;
}

/* Checks that no file of a part remains, in the folder and in that of a dataset. */
static void check_tidy(const char *path)
{
    struct stat s;
    TIDY();
    if (stat(path, &s) == 0 && S_ISDIR(s.st_mode))
        EQUAL(entries(path, ".holdall-"), 0);
}

static const char *made(int form, uint64_t n)
{
    static char path[1024];
    remove_all();
    snprintf(path, sizeof path, "%s", in_tmp(forms[form].name));
    add(form, path, true, 0, n);
    return path;
}

/* ---- commits ----------------------------------------------------------------------------------*/

static void rows_are_appended_in_the_order_of_the_tokens(void)
{
    for (int form = 0; form < FORMS; form++) {
        if (!has_parts(form))
            continue;
        now("%s", forms[form].name);
        const char *path = made(form, OLD);
        token tokens[2];
        tokens[1] = rows_in_part(form, path, OLD + FIRST, SECOND);
        tokens[0] = rows_in_part(form, path, OLD, FIRST);
        EQUAL(look(form, path), OLD);
        EQUAL(listed(path), 2);
        GAVE(HOLDALL_OK, commit_parts(form, path, tokens, 2));
        EQUAL(look(form, path), OLD + FIRST + SECOND);
        EQUAL(listed(path), 0);
        GAVE(HOLDALL_E_MISSING, commit_parts(form, path, tokens, 2));
        EQUAL(look(form, path), OLD + FIRST + SECOND);
        OK(holdall_parts_discard(path, tokens, 2, &err));
        OK(holdall_parts_commit(path, NULL, 0, NULL, &err));
        holdall_options *o = form_options(form, forms[form].kind == BAG);
        OK(holdall_verify(path, o, NULL, NULL, NULL, &err));
        holdall_options_free(o);
        check_tidy(path);
    }
}

static void boxes_replace_items(void)
{
    static const uint64_t start[] = {FROM}, count[] = {TO - FROM};
    for (int form = 0; form < FORMS; form++) {
        if (forms[form].kind != ARRAY)
            continue;
        now("%s", forms[form].name);
        const char *path = made(form, OLD);
        token box, more;
        holdall_part *part;
        holdall_array *a;
        OK(holdall_part_of_array(path, 1, start, count, NULL, &part, &err));
        OK(holdall_array_open(holdall_part_path(part), HOLDALL_APPEND, NULL, &a, &err));
        OK(holdall_array_write(a, NULL, NULL, NULL, rows(FROM, TO - FROM, true), (TO - FROM) * 4,
                               NULL, &err));
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);
        OK(holdall_part_finish(part, box.bytes, &err));
        GIVES(HOLDALL_E_STATE, holdall_part_finish(part, box.bytes, &err));
        holdall_part_close(part);
        more = rows_in_part(form, path, OLD, NEW - OLD);
        const token mixed[] = {box, more};
        GIVES(HOLDALL_E_ARGUMENT, holdall_parts_commit(path, mixed, 2, NULL, &err));
        GAVE(HOLDALL_OK, commit_parts(form, path, &box, 1));
        GAVE(HOLDALL_OK, commit_parts(form, path, &more, 1));
        EQUAL(look(form, path), NEW);
        check_tidy(path);

        static const uint64_t beyond[] = {NEW - 1};
        GIVES(HOLDALL_E_RANGE, holdall_part_of_array(path, 1, beyond, count, NULL, &part, &err));
        GIVES(HOLDALL_E_ARGUMENT, holdall_part_of_array(path, 1, start, NULL, NULL, &part, &err));
        OK(holdall_part_of_array(path, 1, start, count, NULL, &part, &err));
        OK(holdall_array_open(holdall_part_path(part), HOLDALL_APPEND, NULL, &a, &err));
        OK(holdall_array_resize(a, start, &err));
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);
        GIVES(HOLDALL_E_STATE, holdall_part_finish(part, box.bytes, &err));
        holdall_part_close(part);
        check_tidy(path);
    }
}

static void parts_become_shards(void)
{
    const int form = ALL_FORMS - 1;
    now("%s", forms[form].name);
    remove_all();
    char any[1024];
    snprintf(any, sizeof any, "%s", in_tmp("set@*.bagz"));
    const token tokens[] = {rows_in_part(form, any, 0, FIRST),
                            rows_in_part(form, any, FIRST, SECOND)};
    const char *three = in_tmp("set@3.bagz");
    GAVE(HOLDALL_E_ARGUMENT, commit_parts(form, three, tokens, 2));
    GAVE(HOLDALL_OK, commit_parts(form, any, tokens, 2));
    EQUAL(look(form, in_tmp("set@2.bagz")), FIRST + SECOND);
    TIDY();
    const token again[] = {rows_in_part(form, any, 0, 1), rows_in_part(form, any, 1, 1)};
    GAVE(HOLDALL_E_EXISTS, commit_parts(form, any, again, 2));
    OK(holdall_parts_discard(any, again, 2, &err));
    EQUAL(look(form, in_tmp("set@2.bagz")), FIRST + SECOND);
    TIDY();
}

/* ---- errors -----------------------------------------------------------------------------------*/

static int form_named(const char *name)
{
    int form = 0;
    while (strcmp(forms[form].name, name) != 0)
        form++;
    return form;
}

static void tokens_are_checked(void)
{
    const int form = form_named("x.bagz");
    const char *path = made(form, OLD);
    token t = rows_in_part(form, path, OLD, FIRST), wrong = t;
    const token twice[] = {t, t};
    GIVES(HOLDALL_E_ARGUMENT, holdall_parts_commit(path, twice, 2, NULL, &err));
    CHECK(says("token 1"));
    wrong.bytes[40]++;
    GIVES(HOLDALL_E_CHECKSUM, holdall_parts_commit(path, &wrong, 1, NULL, &err));
    GIVES(HOLDALL_E_CHECKSUM, holdall_parts_discard(path, &wrong, 1, &err));
    memset(&wrong, 0, sizeof wrong);
    GIVES(HOLDALL_E_FORMAT, holdall_parts_commit(path, &wrong, 1, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_parts_commit(path, NULL, 1, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_parts_commit(path, &t, SIZE_MAX, NULL, &err));

    /* a part that is changed after it was finished */
    char names[256], part[1400];
    size_t n;
    OK(holdall_parts_list(path, names, sizeof names, &n, &err));
    GIVES(HOLDALL_E_BUFFER, holdall_parts_list(path, names, 1, &n, &err));
    OK(holdall_parts_list(path, names, sizeof names, &n, &err));
    snprintf(part, sizeof part, "%s.holdall-parts.%s.bagz", path, names);
    CHECK(there(part));
    add(form, part, false, 0, 1);
    GIVES(HOLDALL_E_STATE, holdall_parts_commit(path, &t, 1, NULL, &err));
    EQUAL(look(form, path), OLD);
    OK(holdall_parts_discard(path, &t, 1, &err));
    TIDY();
}

static void parts_need_files_and_a_container_of_their_type(void)
{
    const int form = form_named("x.b2nd");
    const char *path = made(form, OLD);
    token t = rows_in_part(form, path, OLD, FIRST);
    holdall_part *part;
    holdall_array *a;
    static const uint64_t shape[] = {2};
    OK(array_create(path, HOLDALL_REPLACE, HOLDALL_FORMAT_B2ND, "<f8", 1, shape, NULL, NULL, NULL,
                    &a, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    GIVES(HOLDALL_E_TYPE, holdall_parts_commit(path, &t, 1, NULL, &err));
    OK(holdall_parts_discard(path, &t, 1, &err));
    GIVES(HOLDALL_E_MISSING, holdall_part_of_table(in_tmp("none"), NULL, &part, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_part_of_array("s3://bucket/a", 0, NULL, NULL, NULL, &part,
                                                       &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_part_of_bag("s3://bucket/a.bagz", NULL, &part, &err));
    int ctable = form_named("table.b2d");
    GIVES(HOLDALL_E_UNSUPPORTED, part_of(ctable, made(ctable, OLD), &part));
    OK(array_create(in_tmp("scalar"), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<f8", 0, NULL, NULL,
                    NULL, NULL, &a, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_part_of_array(in_tmp("scalar"), 0, NULL, NULL, NULL, &part,
                                                       &err));
    holdall_part_close(NULL);
    CHECK(holdall_part_path(NULL) == NULL);
    TIDY();
}

/* ---- repair -----------------------------------------------------------------------------------*/

static uint64_t removed(int form, const char *path, bool dry)
{
    holdall_options *o = form_options(form, forms[form].kind == BAG);
    OK(holdall_options_set(o, HOLDALL_OPT_DRY_RUN, dry, &err));
    holdall_repair_result result = {.struct_size = sizeof result};
    OK(holdall_repair(path, o, &result, &err));
    holdall_options_free(o);
    EQUAL(result.lost, 0);
    return result.parts_removed;
}

static void repair_removes_parts_that_have_no_writer(void)
{
    for (int form = 0; form < FORMS; form++) {
        if (!has_parts(form))
            continue;
        now("%s", forms[form].name);
        const char *path = made(form, OLD);
        rows_in_part(form, path, OLD, 1);
        rows_in_part(form, path, OLD, 2);
        EQUAL(removed(form, path, true), 2);
        EQUAL(listed(path), 2);
        EQUAL(removed(form, path, false), 2);
        EQUAL(removed(form, path, false), 0);
        EQUAL(look(form, path), OLD);
        check_tidy(path);

        holdall_part *part;
        writer w;
        GAVE(HOLDALL_OK, part_of(form, path, &part));
        GAVE(HOLDALL_OK, open_writer_of(form, holdall_part_path(part), false, &w));
        EQUAL(listed(path), 1);
        EQUAL(removed(form, path, false), 0); /* it is being written */
        close_writer(&w);
        holdall_part_close(part);
        check_tidy(path);
    }
}

/* ---- processes that are killed ----------------------------------------------------------------*/

/* Kills a child after so many microseconds, unless it ends before. */
static void kill_after(pid_t child, long microseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

static void commits_are_repeated_after_a_kill(const char *name)
{
    const int form = form_named(name);
    const char *kills = getenv("HOLDALL_KILLS"), *path = NULL;
    int rounds = kills != NULL ? atoi(kills) : slow() ? 6 : 25;
    uint64_t n = MOST_KILLED;
    for (int round = 0; round < rounds; round++) {
        now("%s, round %d", name, round);
        if (n + 2 * EACH > MOST_KILLED) {
            path = made(form, 0);
            n = 0;
        }
        long pause = (long)(((unsigned)round * 2654435761U) >> 16) % 4000;
        pid_t child = forked();
        if (child == 0) { /* a writer whose part is never committed */
            rows_in_part(form, path, 0, EACH);
            _exit(0);
        }
        kill_after(child, pause);
        const token tokens[] = {rows_in_part(form, path, n, EACH),
                                rows_in_part(form, path, n + EACH, EACH)};
        child = forked();
        if (child == 0)
            _exit(commit_parts(form, path, tokens, 2) != HOLDALL_OK);
        kill_after(child, pause);
        holdall_status s = commit_parts(form, path, tokens, 2);
        CHECK(s == HOLDALL_OK || s == HOLDALL_E_MISSING); /* the child removed the last part */
        n += 2 * EACH;
        EQUAL(look(form, path), n);
        removed(form, path, false);
        EQUAL(listed(path), 0);
        check_tidy(path);
    }
}

int main(void)
{
    RUN(rows_are_appended_in_the_order_of_the_tokens);
    RUN(boxes_replace_items);
    RUN(parts_become_shards);
    RUN(tokens_are_checked);
    RUN(parts_need_files_and_a_container_of_their_type);
    RUN(repair_removes_parts_that_have_no_writer);
    commits_are_repeated_after_a_kill("x.bagz");
    commits_are_repeated_after_a_kill("x.b2nd");
    commits_are_repeated_after_a_kill("array.bcolz");
    commits_are_repeated_after_a_kill("table.bcolz");
    return 0;
}
