/* Superchunks in storage of the caller: memory, functions, functions that fail at each of their
 * calls, readers that open at every point of a commit. */
#include "commit_states.h"
#include "schunk.h"

enum { CHUNK = 800, OLD = 9 * CHUNK + 80, MORE = 4 * CHUNK };

static const int64_t small[] = {HOLDALL_OPT_CHUNK_BYTES, CHUNK, 0, 0};

static void a_superchunk_in_memory_is_read(void)
{
    write_schunk(in_tmp("m.blp"), small, OLD, 1);
    size_t size;
    uint8_t *bytes = load(in_tmp("m.blp"), &size);
    holdall_storage *io;
    holdall_schunk *s;
    OK(holdall_storage_from_memory(bytes, size, &io, &err));
    for (int k = 0; k < 2; k++) {
        OK(schunk_open_io(io, HOLDALL_READ, NULL, &s, &err));
        EQUAL(holdall_schunk_nbytes(s), OLD);
        EQUAL(schunk_info(s).stored_bytes, size);
        check_content(s, 0, OLD, 1);
        holdall_schunk_close(s);
    }
    holdall_storage_free(io);
    /* every truncation is an error, or all requested bytes exist */
    for (size_t n = 0; n < size; n += slow() ? 97 : 7) {
        now("%zu of %zu bytes", n, size);
        OK(holdall_storage_from_memory(bytes, n, &io, &err));
        preset_error();
        holdall_status status = schunk_open_io(io, HOLDALL_READ, NULL, &s, &err);
        CHECK(status == HOLDALL_E_FORMAT && s == NULL && err.status == status);
        status = schunk_open_io(io, HOLDALL_READ, NULL, &s, NULL);
        CHECK(status == HOLDALL_E_FORMAT);
        holdall_storage_free(io);
    }
    free(bytes);
}

static void functions_store_a_superchunk(void)
{
    folder f = FOLDER;
    holdall_schunk *s;
    GIVES(HOLDALL_E_MISSING, try_folder_schunk(&f, HOLDALL_READ, NULL, &s));
    GIVES(HOLDALL_E_MISSING, try_folder_schunk(&f, HOLDALL_APPEND, NULL, &s));
    OK(try_folder_schunk(&f, HOLDALL_CREATE, small, &s));
    append_content(s, 0, OLD, 1);
    CHECK(folder_find(&f, "") == NULL);
    OK(holdall_schunk_commit(s, &err));
    append_content(s, OLD, MORE, 1);
    OK(holdall_schunk_commit(s, &err));
    check_content(s, 0, OLD + MORE, 1);
    OK(holdall_schunk_truncate(s, CHUNK + 1, &err));
    OK(holdall_schunk_insert(s, 1, "abc", 3, &err));
    OK(holdall_schunk_attr_set(s, "", "{}", 2, &err));
    OK(holdall_schunk_commit(s, &err));
    EQUAL(schunk_info(s).stored_bytes, folder_find(&f, "")->size);
    holdall_schunk_close(s);
    EQUAL(f.n, 1);
    GIVES(HOLDALL_E_EXISTS, try_folder_schunk(&f, HOLDALL_CREATE, small, &s));
    OK(try_folder_schunk(&f, HOLDALL_READ, NULL, &s));
    EQUAL(holdall_schunk_nbytes(s), CHUNK + 4);
    check_content(s, 0, CHUNK, 1);
    char got[4];
    OK(holdall_schunk_read(s, CHUNK, got, 4, &err));
    CHECK(memcmp(got, "abc", 3) == 0 && (uint8_t)got[3] == byte_at(CHUNK, 1));
    EQUAL(f.destroyed, 4); /* once for each storage, after its last use */
    holdall_schunk_close(s);
    EQUAL(f.destroyed, 5);
    /* the same bytes as in a file */
    size_t size;
    folder_write_schunk(&f, small, OLD, 1);
    write_schunk(in_tmp("same.blp"), small, OLD, 1);
    uint8_t *bytes = load(in_tmp("same.blp"), &size);
    CHECK(size == folder_find(&f, "")->size &&
          memcmp(bytes, folder_find(&f, "")->bytes, size) == 0);
    free(bytes);
    /* without functions that write it is read-only */
    holdall_storage_functions table = folder_functions(&f);
    table.rename = NULL;
    holdall_storage *io;
    OK(holdall_storage_from_functions(&table, &io, &err));
    OK(schunk_open_io(io, HOLDALL_READ, NULL, &s, &err));
    check_content(s, 0, OLD, 1);
    holdall_schunk_close(s);
    GIVES(HOLDALL_E_UNSUPPORTED, schunk_open_io(io, HOLDALL_APPEND, NULL, &s, &err));
    GIVES(HOLDALL_E_UNSUPPORTED,
          schunk_create_io(io, HOLDALL_REPLACE, HOLDALL_FORMAT_BLOSCPACK, 8, NULL, &s, &err));
    holdall_storage_free(io);
    folder_clear(&f);
}

/* ---- threads other than the caller's ----------------------------------------------------------*/

static pthread_t caller;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static long strangers;

/* Called with the folder locked, like the next function. */
static void who_calls(folder *f, operation o)
{
    (void)f, (void)o;
    if (!pthread_equal(caller, pthread_self())) {
        strangers++;
        pthread_cond_signal(&came);
    }
}

/* Blocks the caller until another thread has called: otherwise the caller could do all work before
 * any other thread wakes up. The timeout of minutes is for a library that never calls from another
 * thread. */
static void wait_for_strangers(folder *f, operation o)
{
    who_calls(f, o);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 300;
    int late = 0;
    while (strangers == 0 && late == 0)
        late = pthread_cond_timedwait(&came, &f->lock, &until);
    CHECK(late == 0);
}

static void functions_run_on_the_calling_thread(void)
{
    folder f = FOLDER;
    const int64_t *large = WITH(HOLDALL_OPT_CHUNK_BYTES, 80000);
    f.before = who_calls;
    caller = pthread_self();
    folder_write_schunk(&f, large, 4000000, 1);
    holdall_schunk *s;
    uint8_t digest[16];
    size_t n;
    OK(try_folder_schunk(&f, HOLDALL_APPEND, WITH(HOLDALL_OPT_VERIFY, 2), &s));
    check_content(s, 0, 4000000, 1);
    OK(holdall_schunk_checksum(s, HOLDALL_CHECKSUM_MD5, digest, sizeof digest, &n, &err));
    write_content(s, 30000, 3000000, 2);
    append_content(s, 4000000, 2000000, 1);
    finish(s);
    EQUAL(strangers, 0);
    /* unless they are allowed to */
    OK(try_folder_schunk(&f, HOLDALL_READ, WITH(HOLDALL_OPT_THREADS, 4), &s));
    f.before = wait_for_strangers;
    check_content(s, 4000000, 2000000, 1);
    CHECK(strangers > 0);
    holdall_schunk_close(s);
    folder_clear(&f);
}

/* ---- functions that fail ----------------------------------------------------------------------*/

static void check_failure(holdall_status s)
{
    CHECK(s == HOLDALL_E_CALLBACK || s == HOLDALL_E_STATE);
    CHECK(err.status == s && err.message[0] != '\0');
    CHECK(s != HOLDALL_E_CALLBACK || err.os_code == EIO);
}

/* The kinds of changes of a commit. */
enum { NEW_, APPEND_, REPLACE_, WRITE_, TRUNCATE_, INSERT_, META_, KINDS };
static const char *const kinds[] = {"new",      "append", "replace", "write",
                                    "truncate", "insert", "meta"};

static holdall_status write_part(holdall_schunk *s, uint64_t at, size_t n, unsigned content,
                                 bool append)
{
    uint8_t bytes[OLD + MORE];
    make_content(at, bytes, n, content);
    return append ? holdall_schunk_append(s, bytes, n, &err)
                  : holdall_schunk_write(s, at, bytes, n, &err);
}

static holdall_status change(holdall_schunk *s, int kind)
{
    uint64_t n = holdall_schunk_nbytes(s);
    switch (kind) {
    case NEW_:
    case REPLACE_:
        return write_part(s, n, (size_t)(MORE - n), 2,
                          true); /* the rest, if a part was written */
    case APPEND_: return write_part(s, n, (size_t)(OLD + MORE - n), 1, true);
    case WRITE_: return write_part(s, CHUNK / 2, 3 * CHUNK, 3, false);
    case TRUNCATE_: return holdall_schunk_truncate(s, 3 * CHUNK + 5, &err);
    case INSERT_: return n == OLD ? holdall_schunk_insert(s, 0, "abcde", 5, &err) : HOLDALL_OK;
    default: return holdall_schunk_attr_set(s, "", "[1, 2, 3]", 9, &err);
    }
}

/* 0 does not exist, 1 before the change, 2 after the change. */
static int state_of(const holdall_schunk *s, int kind)
{
    size_t n = (size_t)holdall_schunk_nbytes(s);
    uint8_t bytes[OLD + MORE];
    CHECK(n <= sizeof bytes);
    OK(holdall_schunk_read(s, 0, bytes, n, &err));
    const void *value;
    size_t size;
    bool meta = holdall_schunk_attr_get(s, "", &value, &size, &err) == HOLDALL_OK;
    if (n == OLD && is_content(0, bytes, n, 1) && !meta)
        return 1;
    switch (kind) {
    case NEW_:
    case REPLACE_: CHECK(n == MORE && is_content(0, bytes, n, 2)); break;
    case APPEND_: CHECK(n == OLD + MORE && is_content(0, bytes, n, 1)); break;
    case WRITE_: {
        size_t after = 7 * CHUNK / 2;
        CHECK(n == OLD && is_content(0, bytes, CHUNK / 2, 1) &&
              is_content(CHUNK / 2, bytes + CHUNK / 2, 3 * CHUNK, 3) &&
              is_content(after, bytes + after, n - after, 1));
        break;
    }
    case TRUNCATE_: CHECK(n == 3 * CHUNK + 5 && is_content(0, bytes, n, 1)); break;
    case INSERT_:
        CHECK(n == OLD + 5 && memcmp(bytes, "abcde", 5) == 0 && is_content(0, bytes + 5, OLD, 1));
        break;
    default:
        CHECK(n == OLD && is_content(0, bytes, n, 1) && meta && size == 9 &&
              memcmp(value, "[1, 2, 3]", 9) == 0);
    }
    return 2;
}

static int state(folder *f, int kind)
{
    holdall_schunk *s;
    preset_error();
    holdall_status status = try_folder_schunk(f, HOLDALL_READ, WITH(HOLDALL_OPT_VERIFY, 2), &s);
    if (status == HOLDALL_E_MISSING)
        return 0;
    GAVE(HOLDALL_OK, status);
    int is = state_of(s, kind);
    holdall_schunk_close(s);
    return is;
}

static holdall_status begin(folder *f, int kind, holdall_schunk **s)
{
    preset_error();
    return try_folder_schunk(f,
                             kind == NEW_       ? HOLDALL_CREATE
                             : kind == REPLACE_ ? HOLDALL_REPLACE
                                                : HOLDALL_APPEND,
                             kind == NEW_ || kind == REPLACE_ ? small : NULL, s);
}

/* Opens, changes and commits, with one retry for each. Returns whether the commit was reported as
 * durable. */
static bool work(folder *f, int kind, bool *gave_up)
{
    holdall_schunk *s;
    *gave_up = true;
    int was = kind == NEW_ ? 0 : 1;
    holdall_status status = begin(f, kind, &s);
    if (status < 0) {
        CHECK(s == NULL);
        check_failure(status);
        return false;
    }
    *gave_up = false;
    for (int attempt = 0; attempt < 2; attempt++) {
        preset_error();
        status = change(s, kind);
        if (status == HOLDALL_OK)
            preset_error(), status = holdall_schunk_commit(s, &err);
        if (status == HOLDALL_OK)
            break;
        check_failure(status);
        *gave_up = status == HOLDALL_E_STATE;
        if (*gave_up)
            break;
        /* a temporary error: the old state is visible meanwhile */
        long fail_at = f->fail_at;
        if (!f->dead && f->failures > 0) {
            f->fail_at = 0;
            int is = state(f, kind);
            CHECK(is == was || f->failed == SYNC || f->failed == REMOVE || f->too_late);
            f->fail_at = fail_at;
            f->all_calls = LONG_MAX / 2;
        }
    }
    holdall_schunk_close(s);
    return status == HOLDALL_OK;
}

static void a_writer_reports_failures_of_its_storage(void)
{
    static unsigned turn;
    for (int kind = 0; kind < KINDS; kind++) {
        const int was = kind == NEW_ ? 0 : 1;
        folder before = FOLDER;
        if (kind != NEW_)
            folder_write_schunk(&before, small, OLD, 1);
        folder f = FOLDER;
        folder_copy(&f, &before);
        bool gave_up;
        CHECK(work(&f, kind, &gave_up) && state(&f, kind) == 2);
        long calls = f.all_calls;
        folder_clear(&f);
        for (int way = 0; way < 4; way++)
            for (long k = 1; k <= calls; k++) {
                /* a rolled back commit takes long: not all of them */
                if (turn++ % (slow() ? 17 : 1) != 0)
                    continue;
                f = (folder)FOLDER;
                folder_copy(&f, &before);
                f.fail_at = k;
                f.dead = way / 2;
                f.too_late = way % 2;
                now("%s: call %ld of %ld fails%s%s", kinds[kind], k, calls,
                    f.dead ? ", as do those after" : "", f.too_late ? ", its work done" : "");
                bool done = work(&f, kind, &gave_up);
                bool dead = f.dead;
                f.fail_at = 0, f.dead = false;
                int is = state(&f, kind);
                CHECK(done ? is == 2 : is == was || is == 2);
                if (f.failures > 0 && !dead && !gave_up)
                    CHECK(done);
                /* the next writer continues from the current state */
                if (is != 2) {
                    CHECK(work(&f, kind, &gave_up));
                    CHECK(state(&f, kind) == 2);
                } else {
                    holdall_schunk *s;
                    OK(try_folder_schunk(&f, HOLDALL_APPEND, NULL, &s));
                    EQUAL(state_of(s, kind), 2);
                    holdall_schunk_close(s);
                }
                EQUAL(f.n, 1);
                folder_clear(&f);
            }
        folder_clear(&before);
    }
}

static void a_reader_reports_failures_of_its_storage(void)
{
    folder f = FOLDER;
    folder_write_schunk(&f, small, OLD, 1);
    f.all_calls = 0;
    EQUAL(state(&f, META_), 1);
    long calls = f.all_calls;
    for (long k = 1; k <= calls; k++)
        for (int dead = 0; dead < 2; dead++) {
            now("reading, call %ld of %ld fails%s", k, calls, dead ? ", as do those after" : "");
            f.all_calls = 0;
            f.fail_at = k;
            f.dead = dead;
            holdall_schunk *s;
            uint8_t got[OLD];
            preset_error();
            /* no corruption, so nothing is skipped */
            holdall_status status =
                try_folder_schunk(&f, HOLDALL_READ, WITH(HOLDALL_OPT_SKIP_DAMAGED, k % 2), &s);
            if (status < 0) {
                CHECK(s == NULL);
                check_failure(status);
            } else {
                preset_error();
                status = holdall_schunk_read(s, 0, got, sizeof got, &err);
                if (status == HOLDALL_OK)
                    CHECK(is_content(0, got, sizeof got, 1));
                else
                    CHECK(status < 0), check_failure(status);
                /* a temporary failure: the handle works as before */
                f.fail_at = 0;
                check_content(s, 0, OLD, 1);
            }
            f.fail_at = 0;
            holdall_schunk_close(s);
        }
    folder_clear(&f);
}

/* ---- states during a commit -------------------------------------------------------------------*/

/* Opens and reads while the storage changes to a state during the commit, and then to the state
 * after it. */
static long open_and_read(int kind)
{
    folder f = FOLDER;
    folder_copy(&f, &states[0]);
    f.before = show_state;
    holdall_schunk *s;
    OK(try_folder_schunk(&f, HOLDALL_READ, NULL, &s));
    long calls = f.all_calls;
    uint8_t got[OLD + MORE];
    preset_error();
    holdall_status status = holdall_schunk_read(s, 0, got, (size_t)holdall_schunk_nbytes(s), &err);
    if (status == HOLDALL_OK)
        state_of(s, kind);
    else
        CHECK(first >= 0 && (status == HOLDALL_E_STATE || kind == REPLACE_ || kind == INSERT_));
    holdall_schunk_close(s);
    folder_clear(&f);
    return calls;
}

static void a_reader_during_a_commit_sees_one_state(void)
{
    unsigned turn = 0;
    /* replacing a container that is open for reading is not supported here: files are known by name
     * only */
    for (int kind = APPEND_; kind < KINDS; kind++) {
        folder f = FOLDER;
        folder_write_schunk(&f, small, OLD, 1);
        holdall_schunk *s;
        OK(begin(&f, kind, &s));
        OK(change(s, kind));
        n_states = 0;
        f.before = take_state;
        OK(holdall_schunk_commit(s, &err));
        take_state(&f, SIZE);
        f.before = NULL;
        holdall_schunk_close(s);
        folder_clear(&f);
        first = second = -1;
        long calls = open_and_read(kind);
        for (middle = 0; middle < n_states; middle++)
            for (long a = 1; a <= calls; a++)
                for (long b = a; b <= calls + 1; b++) {
                    if (turn++ % (slow() ? 997 : 29) != 0)
                        continue;
                    first = a, second = b;
                    now("%s: moment %d of %d from call %ld to %ld of %ld", kinds[kind], middle,
                        n_states - 1, a, b, calls);
                    open_and_read(kind);
                }
    }
    clear_states();
}

int main(void)
{
    setenv("HOLDALL_THREADS", "4", 1);
    RUN(a_superchunk_in_memory_is_read);
    RUN(functions_store_a_superchunk);
    RUN(functions_run_on_the_calling_thread);
    RUN(a_reader_reports_failures_of_its_storage);
    RUN(a_writer_reports_failures_of_its_storage);
    RUN(a_reader_during_a_commit_sees_one_state);
    return 0;
}
