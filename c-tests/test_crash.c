/* Writers that are killed, or whose disk becomes full, at any point: committed data are present and
 * complete, and the next writer continues from them.
 *
 * A limit on the size of files simulates the full disk: a write beyond it fails, or ends the
 * process if SIGXFSZ is not ignored, which is a crash at a chosen position. */
#include "child.h"

static const struct {
    const char *name;
    int64_t limits, sum;
} forms[] = {
    {"tail.bag", HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_CRC32},
    {"tail.bagz", HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_CRC32},
    {"apart.bag", HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_CHECKSUM_CRC32},
    {"apart.bagz", HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_CHECKSUM_CRC32},
    {"bare.bag", HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_NONE},
};
enum { FORMS = sizeof forms / sizeof forms[0], OLD = 40 };

static char path[1024];
static int64_t writing[8], reading[4];
static int journals; /* left by a crash */

static void use_form(int f)
{
    snprintf(path, sizeof path, "%s", in_tmp(forms[f].name));
    memcpy(writing,
           WITH(HOLDALL_OPT_BAG_LIMITS, forms[f].limits, HOLDALL_OPT_CHECKSUM, forms[f].sum,
                HOLDALL_OPT_DURABILITY, 0),
           sizeof writing);
    memcpy(reading, WITH(HOLDALL_OPT_BAG_LIMITS, forms[f].limits), sizeof reading);
}

/* Replaced bags begin with record 50. */
static uint64_t first_of(holdall_mode mode)
{
    return mode == HOLDALL_REPLACE ? 50 : OLD;
}

static void append_and_commit(holdall_mode mode)
{
    holdall_bag_writer *w = open_writer(path, mode, writing);
    append_records(w, first_of(mode), 60);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
}

/* Is it the complete old commit or the complete new one? Returns whether it is the new one. */
static bool check_commit(holdall_mode mode, bool both)
{
    holdall_bag *bag = open_bag(path, reading);
    uint64_t n = holdall_bag_record_count(bag), want = mode == HOLDALL_REPLACE ? 60 : OLD + 60;
    CHECK(n == OLD || (both && n == want));
    check_range(bag, 0, n, n == OLD || mode == HOLDALL_APPEND ? 0 : 50);
    holdall_bag_close(bag);
    return n != OLD;
}

static void work_within(int mode, size_t bytes)
{
    limit_files(bytes);
    append_and_commit((holdall_mode)mode);
}

/* Killed when a file exceeds n bytes, for all n. */
static void killed_at_any_size(holdall_mode mode)
{
    size_t step = slow() ? 17000 : 3500, most = 80000;
    for (size_t bytes = 0; bytes < most; bytes += step) {
        now("%s, mode %d, %zu bytes", strrchr(path, '/') + 1, mode, bytes);
        write_bag(path, HOLDALL_REPLACE, writing, OLD);
        bool done = survives(work_within, (int)mode, bytes);
        journals += files_with(".holdall-journal");

        /* immediately, also with a journal that a crash has left, and without writing */
        int files = files_with("");
        bool fresh = check_commit(mode, true);
        CHECK(fresh || !done);
        EQUAL(files_with(""), files);

        /* rolled back by the next writer, or by a repair */
        if (bytes / step % 2) {
            uint64_t retained = 0, dropped = 9;
            holdall_options *o = options_of(reading);
            OK(repair_counts(path, o, &retained, &dropped, &err));
            holdall_options_free(o);
            EQUAL(dropped, 0);
            EQUAL(retained, !fresh ? OLD : mode == HOLDALL_REPLACE ? 60 : OLD + 60);
        } else {
            holdall_bag_writer_close(open_writer(path, HOLDALL_APPEND, reading));
        }
        TIDY();
        CHECK(check_commit(mode, fresh) == fresh);
        holdall_options *o = options_of(reading);
        OK(verify_counts(path, o, NULL, NULL, NULL, NULL, NULL, &err));
        holdall_options_free(o);
    }
}

/* The disk is full: the commit fails, nothing is lost, and it succeeds once there is space. */
static void full_at_any_size(holdall_mode mode)
{
    size_t step = slow() ? 17000 : 3500, most = 80000;
    bool full = false;
    for (size_t bytes = 0; bytes < most; bytes += step) {
        now("%s, mode %d, full at %zu bytes", strrchr(path, '/') + 1, mode, bytes);
        write_bag(path, HOLDALL_REPLACE, writing, OLD);
        size_t old_size = file_size(path);
        holdall_bag_writer *w = open_writer(path, mode, writing);
        uint8_t record[RECORD_MOST];
        limit_files(bytes);
        for (uint64_t i = 0; i < 60; i++) {
            size_t n = make_record(first_of(mode) + i, record);
            uint64_t before = holdall_bag_writer_record_count(w);
            holdall_status s = holdall_bag_writer_append(w, record, n, &err);
            limit_files(s == HOLDALL_OK ? bytes : RLIM_INFINITY);
            if (s != HOLDALL_OK) {
                /* not appended; once more */
                CHECK(s == HOLDALL_E_IO && err.os_code == EFBIG);
                EQUAL(holdall_bag_writer_record_count(w), before);
                OK(holdall_bag_writer_append(w, record, n, &err));
                limit_files(bytes);
            }
        }
        preset_error();
        holdall_status s = holdall_bag_writer_commit(w, &err);
        limit_files(RLIM_INFINITY);
        if (s != HOLDALL_OK) {
            GAVE(HOLDALL_E_IO, s);
            EQUAL(err.os_code, EFBIG);
            full = true;
            CHECK(!check_commit(mode, false));
            preset_error();
            s = holdall_bag_writer_commit(w, &err);
        }
        if (s == HOLDALL_E_STATE) {
            /* the old bytes could not be restored: left to the next writer, and old until then */
            CHECK(mode == HOLDALL_APPEND && bytes < old_size);
            holdall_bag_writer_close(w);
            CHECK(!check_commit(mode, false));
            append_and_commit(mode);
        } else {
            GAVE(HOLDALL_OK, s);
            holdall_bag_writer_close(w);
        }
        CHECK(check_commit(mode, true));
        TIDY();
    }
    CHECK(full);
}

static void commit_on(int fd)
{
    holdall_bag_writer *w = open_writer(path, HOLDALL_APPEND, writing);
    for (uint64_t n = holdall_bag_writer_record_count(w) + 7;; n += 7) {
        append_records(w, n - 7, 7);
        OK(holdall_bag_writer_commit(w, &err));
        report(fd, n);
    }
}

/* Killed at any time, many times; each commit that the child reported is present. */
static void killed_at_any_time(void)
{
    write_bag(path, HOLDALL_REPLACE, writing, 0);
    uint64_t committed = 0;
    for (int round = 0; round < (slow() ? 4 : 12); round++) {
        now("%s, round %d", strrchr(path, '/') + 1, round);
        committed = kill_at_work(commit_on, round);
        journals += files_with(".holdall-journal");
        holdall_bag *bag = open_bag(path, reading);
        uint64_t n = holdall_bag_record_count(bag);
        CHECK(n % 7 == 0 && (n == committed || n == committed + 7));
        check_range(bag, 0, n, 0);
        holdall_bag_close(bag);
        committed = n;
    }
    holdall_bag_writer_close(open_writer(path, HOLDALL_APPEND, writing));
    check_bag(path, reading, committed);
    TIDY();
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    for (int f = 0; f < FORMS; f++) {
        use_form(f);
        killed_at_any_size(HOLDALL_APPEND);
        killed_at_any_size(HOLDALL_REPLACE);
        full_at_any_size(HOLDALL_APPEND);
        full_at_any_size(HOLDALL_REPLACE);
        killed_at_any_time();
    }
    /* crashes in the middle of a commit have happened */
    CHECK(journals > 0);
    return 0;
}
