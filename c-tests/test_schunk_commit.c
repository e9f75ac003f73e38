/* Commits of superchunks: which changes are durable and visible, readers that were opened before,
 * two writers, children of a writer, writers that are killed or whose disk becomes full at any
 * point. */
#include "child.h"
#include "schunk.h"

enum { CHUNK = 4000, OLD = 10 * CHUNK + 400, MORE = 6 * CHUNK };

static char path[1024];
static const int64_t small[] = {HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_DURABILITY, 0, 0, 0};
static const int64_t no_sync[] = {HOLDALL_OPT_DURABILITY, 0, 0, 0};

/* The kinds of changes of a commit. */
enum { APPEND_, REPLACE_, WRITE_, TRUNCATE_, INSERT_, META_, KINDS };
static const char *const kinds[] = {"append", "replace", "write", "truncate", "insert", "meta"};

static holdall_schunk *begin(int kind)
{
    return kind == REPLACE_ ? create(path, HOLDALL_REPLACE, small)
                            : open_schunk(path, HOLDALL_APPEND, no_sync);
}

static holdall_status write_part(holdall_schunk *s, uint64_t at, size_t n, unsigned content,
                                 bool append)
{
    uint8_t *bytes = malloc(n);
    CHECK(bytes != NULL);
    make_content(at, bytes, n, content);
    preset_error();
    holdall_status status = append ? holdall_schunk_append(s, bytes, n, &err)
                                   : holdall_schunk_write(s, at, bytes, n, &err);
    free(bytes);
    return status;
}

static holdall_status change(holdall_schunk *s, int kind)
{
    preset_error();
    switch (kind) {
    case APPEND_: return write_part(s, OLD, MORE, 1, true);
    case REPLACE_: return write_part(s, 0, MORE, 2, true);
    case WRITE_: return write_part(s, CHUNK / 2, 3 * CHUNK, 3, false);
    case TRUNCATE_: return holdall_schunk_truncate(s, 3 * CHUNK + 5, &err);
    case INSERT_: return holdall_schunk_insert(s, 0, "abcde", 5, &err);
    default: return holdall_schunk_attr_set(s, "", "[1, 2, 3]", 9, &err);
    }
}

/* Is it the state before or after the change? */
static bool changed(const holdall_schunk *s, int kind)
{
    size_t n = (size_t)holdall_schunk_nbytes(s);
    uint8_t *bytes = malloc(n + 1);
    CHECK(bytes != NULL);
    OK(holdall_schunk_read(s, 0, bytes, n, &err));
    const void *value;
    size_t size;
    bool meta = holdall_schunk_attr_get(s, "", &value, &size, &err) == HOLDALL_OK;
    bool old = n == OLD && is_content(0, bytes, n, 1) && !meta, fresh = false;
    switch (kind) {
    case APPEND_: fresh = n == OLD + MORE && is_content(0, bytes, n, 1); break;
    case REPLACE_: fresh = n == MORE && is_content(0, bytes, n, 2); break;
    case WRITE_:
        fresh = n == OLD && is_content(0, bytes, CHUNK / 2, 1) &&
                is_content(CHUNK / 2, bytes + CHUNK / 2, 3 * CHUNK, 3) &&
                is_content(7 * CHUNK / 2, bytes + 7 * CHUNK / 2, n - 7 * CHUNK / 2, 1);
        break;
    case TRUNCATE_: fresh = n == 3 * CHUNK + 5 && is_content(0, bytes, n, 1); break;
    case INSERT_:
        fresh = n == OLD + 5 && memcmp(bytes, "abcde", 5) == 0 && is_content(0, bytes + 5, OLD, 1);
        break;
    default:
        fresh = n == OLD && is_content(0, bytes, n, 1) && meta && size == 9 &&
                memcmp(value, "[1, 2, 3]", 9) == 0;
    }
    free(bytes);
    CHECK(old || fresh);
    return fresh;
}

static bool is_changed(int kind)
{
    holdall_schunk *s = open_schunk(path, HOLDALL_READ, NULL);
    bool fresh = changed(s, kind);
    holdall_schunk_close(s);
    OK(verify_counts(path, NULL, NULL, NULL, NULL, NULL, NULL, &err));
    return fresh;
}

static void old_file(void)
{
    write_schunk(path, small, OLD, 1);
}

static void nothing_is_visible_before_the_commit(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        now("%s", kinds[kind]);
        old_file();
        size_t size, size2;
        uint8_t *before = load(path, &size);
        holdall_schunk *s = begin(kind);
        OK(change(s, kind));
        CHECK(changed(s, kind)); /* here it does */
        CHECK(!is_changed(kind));
        holdall_schunk_close(s);
        uint8_t *after = load(path, &size2);
        CHECK(size == size2 && memcmp(before, after, size) == 0);
        free(before), free(after);
        TIDY();
        s = begin(kind);
        OK(change(s, kind));
        OK(holdall_schunk_commit(s, &err));
        CHECK(is_changed(kind) && changed(s, kind));
        holdall_schunk_close(s);
        TIDY();
    }
    remove(path);
    holdall_schunk *s = create(path, HOLDALL_CREATE, NULL);
    append_content(s, 0, OLD, 1);
    holdall_schunk_close(s);
    CHECK(!there(path));
    TIDY();
    s = create(path, HOLDALL_CREATE, NULL);
    append_content(s, 0, OLD, 1);
    /* another program commits first */
    save(path, "something", 9);
    GIVES(HOLDALL_E_EXISTS, holdall_schunk_commit(s, &err));
    EQUAL(file_size(path), 9);
    remove(path);
    finish(s);
    check_schunk(path, OLD, 1);
    TIDY();
}

/* A reader that was opened before a commit reads the state that it opened, or returns an error. */
static void open_readers_continue_or_report_the_change(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int io = 0; io < 2; io++) {
            /* a mapped file must not become shorter */
            if (io && (kind == TRUNCATE_ || kind == WRITE_))
                continue;
            now("%s, io %d", kinds[kind], io);
            old_file();
            holdall_schunk *reader = open_schunk(path, HOLDALL_READ, WITH(HOLDALL_OPT_IO, IO(io))),
                           *s = begin(kind);
            OK(change(s, kind));
            CHECK(!changed(reader, kind));
            OK(holdall_schunk_commit(s, &err));
            uint8_t got[CHUNK];
            bool refused = false;
            for (uint64_t at = 0; at + CHUNK <= OLD; at += CHUNK / 2) {
                preset_error();
                holdall_status status = holdall_schunk_read(reader, at, got, CHUNK, &err);
                if (status == HOLDALL_OK)
                    CHECK(is_content(at, got, CHUNK, 1));
                else
                    GAVE(HOLDALL_E_STATE, status), refused = true;
            }
            EQUAL(holdall_schunk_nbytes(reader), OLD);
            /* a new file that replaces the old one does not affect handles of the old one */
            if (kind == REPLACE_ || kind == INSERT_)
                CHECK(!refused);
            holdall_schunk_close(reader);
            reader = open_schunk(path, HOLDALL_READ, NULL);
            CHECK(changed(reader, kind));
            holdall_schunk_close(reader);
            holdall_schunk_close(s);
        }
}

static void one_writer_holds_the_lock_at_a_time(void)
{
    old_file();
    holdall_schunk *first = open_schunk(path, HOLDALL_APPEND, NULL), *second = first;
    GIVES(HOLDALL_E_BUSY, holdall_schunk_open(path, HOLDALL_APPEND, NULL, &second, &err));
    CHECK(second == NULL);
    GIVES(HOLDALL_E_BUSY, try_create(path, HOLDALL_REPLACE, 8, NULL, &second));
    GIVES(HOLDALL_E_BUSY, repair_counts(path, NULL, NULL, NULL, &err));
    pid_t child = forked();
    if (child == 0) {
        holdall_status status = holdall_schunk_open(path, HOLDALL_APPEND, NULL, &second, &err);
        holdall_schunk_close(first);
        _exit(status == HOLDALL_E_BUSY ? 3 : 1);
    }
    check_child(child, 3);
    holdall_schunk_close(open_schunk(path, HOLDALL_READ, NULL));
    holdall_schunk_close(first);
    second = open_schunk(path, HOLDALL_APPEND, NULL);
    holdall_schunk_close(second);

    /* without a lock the caller must prevent this; otherwise the last writer reports it */
    const int64_t *unlocked = WITH(HOLDALL_OPT_LOCK, 0);
    first = open_schunk(path, HOLDALL_APPEND, unlocked),
    second = open_schunk(path, HOLDALL_APPEND, unlocked);
    append_content(first, OLD, MORE, 1);
    OK(holdall_schunk_truncate(second, CHUNK, &err));
    OK(holdall_schunk_commit(first, &err));
    GIVES(HOLDALL_E_STATE, holdall_schunk_commit(second, &err));
    holdall_schunk_close(first), holdall_schunk_close(second);
    check_schunk(path, OLD + MORE, 1);
    TIDY();
}

/* A child reads on through an inherited handle; the writer belongs to its parent. */
static void children_of_a_writer_cannot_write(void)
{
    old_file();
    holdall_schunk *s = open_schunk(path, HOLDALL_APPEND, NULL),
                   *reader = open_schunk(path, HOLDALL_READ, NULL);
    OK(change(s, APPEND_));
    pid_t child = forked();
    if (child == 0) {
        alarm(HANGS);
        check_content(reader, 0, OLD, 1);
        check_content(s, 0, OLD + MORE, 1);
        GIVES(HOLDALL_E_STATE, holdall_schunk_append(s, "x", 1, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_write(s, 0, "x", 1, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_insert(s, 0, "x", 1, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_remove(s, 0, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_truncate(s, 0, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_attr_set(s, "", "1", 1, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_commit(s, &err));
        holdall_schunk_close(s);
        holdall_schunk_close(reader);
        _exit(7);
    }
    check_child(child, 7);
    CHECK(changed(s, APPEND_));
    finish(s);
    holdall_schunk_close(reader);
    CHECK(is_changed(APPEND_));
    TIDY();
}

/* ---- crashes ----------------------------------------------------------------------------------*/

static int journals; /* left by a crash */

static void work_within(int kind, size_t bytes)
{
    holdall_schunk *s = begin(kind);
    limit_files(bytes);
    OK(change(s, kind));
    finish(s);
}

/* Killed when a file exceeds n bytes, for all n. */
static void killed_at_any_size(int kind)
{
    old_file();
    size_t most = file_size(path) + 30000, step = most / (slow() ? 5 : 60);
    for (size_t bytes = 0; bytes < most; bytes += step) {
        now("%s, killed at %zu bytes", kinds[kind], bytes);
        old_file();
        bool done = survives(work_within, kind, bytes);
        journals += files_with(".holdall-journal");
        /* immediately, also with a journal that a crash has left, and without writing */
        int files = files_with("");
        bool fresh = is_changed(kind);
        CHECK(fresh || !done);
        EQUAL(files_with(""), files);
        /* rolled back by the next writer, or by a repair */
        uint64_t dropped = 9;
        if (bytes / step % 2)
            OK(repair_counts(path, NULL, NULL, &dropped, &err));
        else
            holdall_schunk_close(open_schunk(path, HOLDALL_APPEND, NULL));
        CHECK(dropped == 0 || dropped == 9);
        TIDY();
        CHECK(is_changed(kind) == fresh);
    }
}

/* The disk is full: the commit fails, nothing is lost, and it succeeds once there is space. */
static void full_at_any_size(int kind)
{
    old_file();
    size_t old_size = file_size(path), most = old_size + 30000, step = most / (slow() ? 5 : 60);
    bool full = false;
    for (size_t bytes = 0; bytes < most; bytes += step) {
        now("%s, full at %zu bytes", kinds[kind], bytes);
        old_file();
        holdall_schunk *s = begin(kind);
        limit_files(bytes);
        holdall_status status = change(s, kind);
        if (status == HOLDALL_OK)
            preset_error(), status = holdall_schunk_commit(s, &err);
        limit_files(RLIM_INFINITY);
        if (status == HOLDALL_OK) {
            CHECK(changed(s, kind));
            holdall_schunk_close(s);
            CHECK(is_changed(kind));
            continue;
        }
        full = true;
        GAVE(HOLDALL_E_IO, status);
        EQUAL(err.os_code, EFBIG);
        CHECK(!is_changed(kind));
        if (kind == APPEND_ || kind == REPLACE_) {
            /* this much was written; the rest once more */
            uint64_t at = holdall_schunk_nbytes(s), want = kind == APPEND_ ? OLD + MORE : MORE;
            CHECK(at <= want);
            status = write_part(s, at, (size_t)(want - at), kind == APPEND_ ? 1 : 2, true);
            CHECK(status == HOLDALL_OK || status == HOLDALL_E_STATE);
        }
        preset_error();
        status = holdall_schunk_commit(s, &err);
        if (status == HOLDALL_E_STATE) {
            /* the old bytes could not be restored: left to the next writer, and old until then */
            CHECK(bytes < old_size);
            CHECK(!is_changed(kind));
            holdall_schunk_close(s);
            s = begin(kind);
            OK(change(s, kind));
            OK(holdall_schunk_commit(s, &err));
        } else {
            GAVE(HOLDALL_OK, status);
        }
        CHECK(changed(s, kind));
        holdall_schunk_close(s);
        CHECK(is_changed(kind));
        TIDY();
    }
    CHECK(full);
}

static void commit_on(int fd)
{
    holdall_schunk *s = open_schunk(path, HOLDALL_APPEND, no_sync);
    for (;;) {
        append_content(s, holdall_schunk_nbytes(s), 1000, 1);
        OK(holdall_schunk_commit(s, &err));
        report(fd, holdall_schunk_nbytes(s));
    }
}

/* Killed at any time, many times; each commit that the child reported is present. */
static void killed_at_any_time(void)
{
    uint64_t committed = OLD;
    old_file();
    for (int round = 0; round < (slow() ? 4 : 15); round++) {
        now("round %d", round);
        committed = kill_at_work(commit_on, round);
        journals += files_with(".holdall-journal");
        holdall_schunk *s = open_schunk(path, HOLDALL_READ, NULL);
        uint64_t n = holdall_schunk_nbytes(s);
        CHECK(n == committed || n == committed + 1000);
        check_content(s, 0, (size_t)n, 1);
        holdall_schunk_close(s);
        committed = n;
    }
    holdall_schunk_close(open_schunk(path, HOLDALL_APPEND, NULL));
    check_schunk(path, (size_t)committed, 1);
    TIDY();
}

int main(void)
{
    /* no threads of the library: they would be reported as leaks in a child that inherits them */
    setenv("HOLDALL_THREADS", "1", 1);
    signal(SIGXFSZ, SIG_IGN);
    snprintf(path, sizeof path, "%s", in_tmp("commit.blp"));
    RUN(nothing_is_visible_before_the_commit);
    RUN(open_readers_continue_or_report_the_change);
    RUN(one_writer_holds_the_lock_at_a_time);
    RUN(children_of_a_writer_cannot_write);
    for (int kind = 0; kind < KINDS; kind++) {
        killed_at_any_size(kind);
        full_at_any_size(kind);
    }
    killed_at_any_time();
    /* crashes in the middle of a commit have happened */
    CHECK(journals > 0);
    return 0;
}
