/* Storage that fails: each call of its functions in turn, once or permanently, before or after its
 * work was done. Every failure is reported, nothing is lost, and the storage opens at one commit or
 * the next. */
#include "folder.h"

static const struct {
    const char *name;
    int64_t codec, limits, sum;
    int files;
} forms[] = {
    {"zstd", HOLDALL_CODEC_ZSTD, HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_CRC32, 1},
    {"bare", HOLDALL_CODEC_NONE, HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_NONE, 1},
    {"zstd, separate", HOLDALL_CODEC_ZSTD, HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_CHECKSUM_CRC32, 2},
    {"raw", HOLDALL_CODEC_NONE, HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_CRC32, 2},
    {"raw, separate", HOLDALL_CODEC_NONE, HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_CHECKSUM_CRC32, 3},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static int form;
static int64_t writing[8], reading[8];

static void use_form(int f)
{
    form = f;
    memcpy(writing,
           WITH(HOLDALL_OPT_CODEC, forms[f].codec, HOLDALL_OPT_BAG_LIMITS, forms[f].limits,
                HOLDALL_OPT_CHECKSUM, forms[f].sum),
           sizeof writing);
    memcpy(reading,
           WITH(HOLDALL_OPT_CODEC, forms[f].codec, HOLDALL_OPT_BAG_LIMITS, forms[f].limits),
           6 * sizeof reading[0]);
}

/* Returns the number of records, which must be those from `first` on; -1 if there is no bag. */
static int64_t state(folder *f, uint64_t first)
{
    holdall_bag *bag;
    preset_error();
    holdall_status s = try_folder_bag(f, reading, &bag);
    if (s == HOLDALL_E_MISSING)
        return -1;
    GAVE(HOLDALL_OK, s);
    int64_t n = (int64_t)holdall_bag_record_count(bag);
    check_range(bag, 0, (uint64_t)n, n == 0 ? 0 : first);
    holdall_bag_close(bag);
    return n;
}

/* Determines from the first record which records exist. Old bags begin with record 0, replaced ones
 * with record 50. */
static uint64_t first_record(folder *f)
{
    holdall_bag *bag;
    if (try_folder_bag(f, reading, &bag) < 0)
        return 0;
    uint8_t got[RECORD_MOST];
    size_t n = 0;
    uint64_t first =
        holdall_bag_read(bag, 0, got, sizeof got, &n, &err) == HOLDALL_OK && n > 0 ? got[0] : 0;
    holdall_bag_close(bag);
    return first;
}

/* Checks that a failure of a function is reported, with its errno. */
static void check_failure(holdall_status s)
{
    CHECK(s == HOLDALL_E_CALLBACK || s == HOLDALL_E_STATE);
    CHECK(err.status == s && err.message[0] != '\0');
    CHECK(s != HOLDALL_E_CALLBACK || err.os_code == EIO);
}

typedef struct {
    /* Number of records of the last commit that was reported as done; 0 and `fresh`: none yet. */
    uint64_t sure;
    /* Number of records of a commit that was started and not reported as done. */
    uint64_t perhaps;
    bool opened, committed, broken;
} outcome;

static bool append_some(holdall_bag_writer *w, uint64_t first, uint64_t n)
{
    uint8_t record[RECORD_MOST];
    for (uint64_t i = first; i < first + n; i++) {
        size_t size = make_record(i, record);
        preset_error();
        holdall_status s = holdall_bag_writer_append(w, record, size, &err);
        if (s < 0) {
            check_failure(s);
            return false;
        }
    }
    return true;
}

/* Two commits of a writer, with one retry for each that fails. */
static outcome work(folder *f, holdall_mode mode, uint64_t old)
{
    outcome o = {.sure = old, .perhaps = old};
    uint64_t first = mode == HOLDALL_REPLACE ? 50 : 0, n = mode == HOLDALL_APPEND ? old : 0;
    holdall_bag_writer *w;
    preset_error();
    holdall_status s = try_folder_writer(f, mode, writing, &w);
    if (s < 0) {
        CHECK(w == NULL);
        check_failure(s);
        return o;
    }
    o.opened = true;
    for (int round = 0; round < 2 && !o.broken; round++) {
        if (!append_some(w, first + n, 6))
            break;
        n += 6;
        o.perhaps = n;
        for (int attempt = 0; attempt < 2; attempt++) {
            preset_error();
            s = holdall_bag_writer_commit(w, &err);
            if (s == HOLDALL_OK)
                break;
            check_failure(s);
            o.broken = s == HOLDALL_E_STATE;
            if (o.broken)
                break;
        }
        if (s != HOLDALL_OK)
            break;
        o.sure = n;
        o.committed = true;
    }
    holdall_bag_writer_close(w);
    return o;
}

static void old_bag(folder *f, uint64_t n)
{
    holdall_bag_writer *w;
    OK(try_folder_writer(f, HOLDALL_CREATE, writing, &w));
    append_records(w, 0, n);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
}

/* The storage works again: it holds one commit or the next, and the next writer continues from
 * it. */
static void check_after(folder *f, holdall_mode mode, outcome o, bool once, uint64_t old)
{
    uint64_t first = first_record(f);
    int64_t n = state(f, first);
    uint64_t seen = n < 0 ? 0 : (uint64_t)n;
    bool begun = mode != HOLDALL_REPLACE || first == 50;
    if (mode == HOLDALL_REPLACE && !begun)
        CHECK(!o.committed && seen == old);
    else
        CHECK(seen == o.sure || seen == o.perhaps);
    if (mode == HOLDALL_CREATE && n < 0)
        CHECK(!o.committed);
    /* A temporary failure requires only a retry, unless the writer reports that it refuses further
     * work. */
    if (once && o.opened && !o.broken)
        CHECK(seen == o.perhaps);

    holdall_bag_writer *w;
    OK(try_folder_writer(f, n < 0 ? HOLDALL_CREATE : HOLDALL_APPEND, writing, &w));
    EQUAL(holdall_bag_writer_record_count(w), seen);
    append_records(w, first + seen, 5);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    EQUAL(state(f, first), seen + 5);
    EQUAL(f->n, forms[form].files);
}

static void a_writer_reports_failures_of_its_storage(void)
{
    static const holdall_mode modes[] = {HOLDALL_CREATE, HOLDALL_APPEND, HOLDALL_REPLACE};
    static const char *const names[] = {"new", "append", "replace"};
    static unsigned turn;
    for (int m = 0; m < 3; m++) {
        const uint64_t old = modes[m] == HOLDALL_CREATE ? 0 : 8;
        folder before = FOLDER;
        now("%s, %s", forms[form].name, names[m]);
        if (old > 0)
            old_bag(&before, old);
        /* how many calls does it make? */
        folder f = FOLDER;
        folder_copy(&f, &before);
        outcome o = work(&f, modes[m], old);
        long calls = f.all_calls;
        CHECK(o.committed && o.sure == o.perhaps);
        check_after(&f, modes[m], o, true, old);
        folder_clear(&f);

        for (int way = 0; way < 4; way++)
            for (long k = 1; k <= calls; k++) {
                /* a rolled back commit takes long: not all of them */
                if (turn++ % (slow() ? 17 : 7) != 0)
                    continue;
                f = (folder)FOLDER;
                folder_copy(&f, &before);
                f.fail_at = k;
                f.dead = way / 2;
                f.too_late = way % 2;
                now("%s, %s: call %ld of %ld fails%s%s", forms[form].name, names[m], k, calls,
                    f.dead ? ", as do those after" : "", f.too_late ? ", its work done" : "");
                o = work(&f, modes[m], old);
                CHECK(f.failures > 0);
                f.fail_at = 0;
                check_after(&f, modes[m], o, !f.dead, old);
                folder_clear(&f);
            }
        folder_clear(&before);
    }
}

/* A commit that reports a failure has changed nothing readable, unless the writer refuses further
 * work. */
static void a_failed_commit_changes_nothing(void)
{
    static unsigned turn;
    for (int mode = HOLDALL_APPEND; mode <= HOLDALL_REPLACE; mode++) {
        const uint64_t old = mode == HOLDALL_CREATE ? 0 : 8;
        folder before = FOLDER;
        now("%s, mode %d", forms[form].name, mode);
        if (old > 0)
            old_bag(&before, old);
        long calls = LONG_MAX;
        for (long k = 1; k <= calls && k < 100; k++) {
            for (int dead = 0; dead < 2; dead++) {
                if (turn++ % (slow() ? 7 : 5) != 0)
                    continue;
                folder f = FOLDER;
                folder_copy(&f, &before);
                holdall_bag_writer *w;
                OK(try_folder_writer(&f, mode, writing, &w));
                append_records(w, mode == HOLDALL_APPEND ? old : 50, 4);
                long opened = f.all_calls;
                f.fail_at = opened + k;
                f.dead = dead;
                now("%s, mode %d: call %ld of the commit fails%s", forms[form].name, mode, k,
                    dead ? ", as do those after" : "");
                preset_error();
                holdall_status s = holdall_bag_writer_commit(w, &err);
                if (s < 0)
                    check_failure(s);
                if (f.failures == 0)
                    calls = k; /* after the last */
                f.fail_at = 0;
                int64_t n = state(&f, first_record(&f));
                int64_t was = old > 0 ? (int64_t)old : -1,
                        is = mode == HOLDALL_APPEND ? (int64_t)old + 4 : 4;
                if (s == HOLDALL_OK) {
                    CHECK(n == is);
                } else {
                    preset_error();
                    s = holdall_bag_writer_commit(w, &err);
                    if (s == HOLDALL_OK) {
                        CHECK(n == was);
                        CHECK(state(&f, first_record(&f)) == is);
                    } else {
                        /* after a failed sync or last step, or if everything fails, the commit may
                         * or may not be durable and visible */
                        GAVE(HOLDALL_E_STATE, s);
                        CHECK(dead || f.failed == SYNC || f.failed == REMOVE);
                        CHECK(n == was || n == is);
                    }
                }
                holdall_bag_writer_close(w);
                folder_clear(&f);
            }
        }
        folder_clear(&before);
    }
}

static void a_reader_reports_failures_of_its_storage(void)
{
    folder f = FOLDER;
    old_bag(&f, 40);
    f.all_calls = 0;
    CHECK(state(&f, 0) == 40);
    long calls = f.all_calls;
    for (long k = 1; k <= calls; k++)
        for (int dead = 0; dead < 2; dead++) {
            now("%s: reading, call %ld of %ld fails%s", forms[form].name, k, calls,
                dead ? ", as do those after" : "");
            f.all_calls = 0;
            f.fail_at = k;
            f.dead = dead;
            holdall_bag *bag;
            holdall_records *records;
            preset_error();
            holdall_status s = try_folder_bag(&f, reading, &bag);
            if (s < 0) {
                CHECK(bag == NULL);
                check_failure(s);
            } else {
                preset_error();
                s = holdall_bag_read_range(bag, 0, 40, &records, &err);
                /* the open may not depend on the failed call */
                if (s == HOLDALL_OK) {
                    EQUAL(holdall_records_count(records), 40);
                    for (size_t i = 0; i < 40; i++)
                        check_in_batch(records, i, i);
                    holdall_records_free(records);
                } else {
                    CHECK(s < 0 && records == NULL);
                    check_failure(s);
                }
                /* a temporary failure: the handle works as before */
                f.fail_at = 0;
                check_range(bag, 0, 40, 0);
                check_record(bag, 7, 7);
            }
            f.fail_at = 0;
            holdall_bag_close(bag);
        }
    /* no corruption, so nothing is skipped */
    holdall_bag *bag;
    OK(try_folder_bag(&f,
                      WITH(HOLDALL_OPT_CODEC, forms[form].codec, HOLDALL_OPT_BAG_LIMITS,
                           forms[form].limits, HOLDALL_OPT_SKIP_DAMAGED, 1),
                      &bag));
    f.all_calls = 0;
    f.fail_at = 1;
    f.dead = true;
    size_t n;
    uint8_t got[RECORD_MOST];
    GIVES(HOLDALL_E_CALLBACK, holdall_bag_read(bag, 1, got, sizeof got, &n, &err));
    holdall_records *records;
    GIVES(HOLDALL_E_CALLBACK, holdall_bag_read_range(bag, 0, 40, &records, &err));
    holdall_bag_close(bag);
    folder_clear(&f);
}

int main(void)
{
    for (int f = 0; f < FORMS; f++) {
        use_form(f);
        RUN(a_reader_reports_failures_of_its_storage);
        RUN(a_writer_reports_failures_of_its_storage);
        RUN(a_failed_commit_changes_nothing);
    }
    return 0;
}
