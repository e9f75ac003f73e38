/* Files that change under a reader: truncated, replaced or appended to by another program. An
 * error, or the records that existed at the open; never SIGBUS (files are read by default), never
 * other bytes. */
#include "child.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>

enum { N = 120 };

static const struct {
    const char *name;
    int64_t limits;
} forms[] = {
    {"changes.bag", HOLDALL_BAG_LIMITS_TAIL},
    {"changes.bagz", HOLDALL_BAG_LIMITS_TAIL},
    {"apart.bag", HOLDALL_BAG_LIMITS_SEPARATE},
    {"apart.bagz", HOLDALL_BAG_LIMITS_SEPARATE},
    /* only this program can distinguish wrong records from right ones */
    {"bare.bag", HOLDALL_BAG_LIMITS_TAIL},
    {"bare-apart.bag", HOLDALL_BAG_LIMITS_SEPARATE},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static char path[1024];
static const int64_t *writing, *reading, *cached;

static bool bare(int f)
{
    return strncmp(forms[f].name, "bare", 4) == 0;
}

static void use_form(int f)
{
    static int64_t pairs[3][16];
    snprintf(path, sizeof path, "%s", in_tmp(forms[f].name));
    memcpy(pairs[0],
           WITH(HOLDALL_OPT_BAG_LIMITS, forms[f].limits, HOLDALL_OPT_DURABILITY, 0,
                HOLDALL_OPT_CHECKSUM, bare(f) ? HOLDALL_CHECKSUM_NONE : HOLDALL_CHECKSUM_CRC32),
           8 * sizeof(int64_t));
    memcpy(pairs[1], WITH(HOLDALL_OPT_BAG_LIMITS, forms[f].limits), 4 * sizeof(int64_t));
    memcpy(pairs[2], WITH(HOLDALL_OPT_BAG_LIMITS, forms[f].limits, HOLDALL_OPT_BAG_LIMITS_CACHE, 1),
           6 * sizeof(int64_t));
    writing = pairs[0], reading = pairs[1], cached = pairs[2];
}

/* Checks that each record is right or an error. Returns the number of right records. */
static uint64_t read_what_is_left(const holdall_bag *bag, uint64_t n)
{
    uint64_t right = 0;
    uint8_t got[RECORD_MOST], want[RECORD_MOST];
    for (uint64_t i = 0; i < n; i++) {
        size_t size = 0, size2 = make_record(i, want);
        preset_error();
        holdall_status s = holdall_bag_read(bag, i, got, sizeof got, &size, &err);
        CHECK(s <= 0);
        if (s == HOLDALL_OK) {
            CHECK(size == size2 && memcmp(got, want, size) == 0);
            right++;
        } else {
            CHECK(err.status == s && err.message[0]);
        }
    }
    holdall_records *records;
    holdall_status s = holdall_bag_read_range(bag, 0, n, &records, &err);
    CHECK((s == HOLDALL_OK) == (right == n));
    for (size_t k = 0; k < holdall_records_count(records); k++)
        check_in_batch(records, k, k);
    holdall_records_free(records);
    uint64_t numbers[40];
    for (uint64_t k = 0; k < 40; k++)
        numbers[k] = k * 37 % n;
    s = holdall_bag_read_indices(bag, numbers, 40, &records, &err);
    CHECK(s <= 0);
    for (size_t k = 0; k < holdall_records_count(records); k++)
        check_in_batch(records, k, numbers[k]);
    holdall_records_free(records);
    return right;
}

static const char *beside(const char *prefix)
{
    char name[256];
    snprintf(name, sizeof name, "%s%s", prefix, strrchr(path, '/') + 1);
    return in_tmp(name);
}

static void truncated_files_are_errors(void)
{
    static const char *const prefixes[] = {"", "limits.", "checksums."};
    for (int f = 0; f < FORMS; f++)
        for (int p = 0; p < 3; p++)
            for (int tenths = 0; tenths < 10; tenths += slow() ? 3 : 1) {
                use_form(f);
                write_bag(path, HOLDALL_REPLACE, writing, N);
                if (!there(beside(prefixes[p])))
                    continue;
                now("%s%s cut to %d tenths", prefixes[p], forms[f].name, tenths);
                holdall_bag *disk = open_bag(path, reading), *memory = open_bag(path, cached),
                            *slice;
                OK(holdall_bag_slice(disk, 0, N, 1, &slice, &err));
                size_t size = file_size(beside(prefixes[p]));
                CHECK(truncate(beside(prefixes[p]), (off_t)(size * (size_t)tenths / 10)) == 0);
                uint64_t right = read_what_is_left(disk, N);
                CHECK(read_what_is_left(slice, N) == right);
                uint64_t right2 = read_what_is_left(memory, N);
                /* bytes that were read at the open are not needed any more */
                if (p > 0)
                    EQUAL(right2, N);
                /* records before the end of the file can be read */
                if (p == 0)
                    CHECK(right2 >= (uint64_t)tenths * N / 10 / 3);
                holdall_bag_close(disk), holdall_bag_close(memory), holdall_bag_close(slice);
            }
    TIDY();
}

/* Truncated and extended again, as by another program that rewrites it. */
static void files_overwritten_in_place_are_detected(void)
{
    for (int f = 0; f < FORMS; f++) {
        if (bare(f))
            continue; /* a program that overwrites a file in place leaves no sign of it */
        use_form(f);
        now("%s", forms[f].name);
        write_bag(path, HOLDALL_REPLACE, writing, N);
        holdall_bag *disk = open_bag(path, reading), *memory = open_bag(path, cached);
        size_t size = file_size(path);
        uint8_t *junk = malloc(2 * size);
        CHECK(junk != NULL);
        for (size_t n = 0; n < 2 * size; n++)
            junk[n] = (uint8_t)(n * 7);
        for (int twice = 0; twice < 3; twice++) {
            int fd = open(path, O_WRONLY | O_TRUNC);
            size_t n = twice == 0 ? size / 2 : twice == 1 ? size : 2 * size;
            CHECK(fd >= 0 && write(fd, junk, n) == (ssize_t)n && close(fd) == 0);
            CHECK(read_what_is_left(disk, N) <= N / 5);
            CHECK(read_what_is_left(memory, N) <= N / 5); /* the empty ones */
        }
        free(junk);
        holdall_bag_close(disk), holdall_bag_close(memory);
    }
}

static void replaced_and_removed_files_stay_readable(void)
{
    for (int f = 0; f < FORMS; f++) {
        use_form(f);
        now("%s", forms[f].name);
        write_bag(path, HOLDALL_REPLACE, writing, N);
        holdall_bag *disk = open_bag(path, reading), *memory = open_bag(path, cached);
        holdall_bag *mapped = open_bag(
            path, WITH(HOLDALL_OPT_BAG_LIMITS, forms[f].limits, HOLDALL_OPT_IO, HOLDALL_IO_MAP));
        holdall_bag_writer *w = open_writer(path, HOLDALL_REPLACE, writing);
        append_records(w, 500, 77);
        OK(holdall_bag_writer_commit(w, &err));
        holdall_bag_writer_close(w);
        for (int gone = 0; gone < 2; gone++) {
            EQUAL(read_what_is_left(disk, N), N);
            EQUAL(read_what_is_left(memory, N), N);
            EQUAL(read_what_is_left(mapped, N), N);
            remove(path), remove(beside("limits.")), remove(beside("checksums."));
        }
        holdall_bag_close(disk), holdall_bag_close(memory), holdall_bag_close(mapped);
    }
}

/* ---- while another process commits ------------------------------------------------------------*/

/* Round r of the writer commits this many records. */
static uint64_t commit_size(uint64_t r)
{
    return 1 + r * 7 % 13;
}

static bool is_commit(uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t r = 0; sum < n; r++)
        sum += commit_size(r);
    return sum == n;
}

/* Commits until it is stopped; with `replace`, the bag is restarted from empty at times. */
static void write_on(int end, bool replace)
{
    for (uint64_t life = 0;; life++) {
        holdall_bag_writer *w =
            open_writer(path, life == 0 ? HOLDALL_APPEND : HOLDALL_REPLACE, writing);
        uint64_t n = holdall_bag_writer_record_count(w);
        for (uint64_t r = 0; !replace || r < 30; r++) {
            append_records(w, n, commit_size(r));
            n += commit_size(r);
            OK(holdall_bag_writer_commit(w, &err));
            char c;
            if (read(end, &c, 1) == 0 || n > 20000) {
                holdall_bag_writer_close(w);
                _exit(0);
            }
        }
        holdall_bag_writer_close(w);
    }
}

static pid_t start_writer(int *end, bool replace)
{
    int pipes[2];
    CHECK(pipe(pipes) == 0 && fcntl(pipes[0], F_SETFL, O_NONBLOCK) == 0);
    pid_t child = forked();
    if (child == 0) {
        alarm(HANGS);
        close(pipes[1]);
        write_on(pipes[0], replace);
    }
    close(pipes[0]);
    *end = pipes[1];
    return child;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A reader that opens at any time sees a complete commit; one with limits in memory continues. */
static void opens_during_commits_see_one_commit(void)
{
    for (int replace = 0; replace < 2; replace++)
        for (int f = 0; f < FORMS; f++) {
            use_form(f);
            now("%s, replace %d", forms[f].name, replace);
            write_bag(path, HOLDALL_REPLACE, writing, 0);
            int end;
            pid_t child = start_writer(&end, replace);
            holdall_bag *early = NULL;
            uint64_t last = 0, early_size = 0, opens = 0;
            /* a few times at least, even on a slow machine */
            for (double until = seconds() + (slow() ? 0.4 : 0.08); seconds() < until || opens < 4;
                 opens++) {
                holdall_bag *disk = open_bag(path, reading), *memory = open_bag(path, cached);
                uint64_t n = holdall_bag_record_count(disk), m = holdall_bag_record_count(memory);
                CHECK(is_commit(n) && is_commit(m));
                if (!replace) {
                    CHECK(n >= last && m >= n);
                    last = m;
                }
                /* the newest records of a commit, and some others */
                uint64_t from = m > 40 ? m - 40 : 0;
                check_range(memory, from, m - from, from);
                check_range(memory, 0, from < 20 ? from : 20, 0);
                if (n > 0) {
                    uint8_t got[RECORD_MOST], want[RECORD_MOST];
                    size_t size = 0, size2 = make_record(n - 1, want);
                    holdall_status s = holdall_bag_read(disk, n - 1, got, sizeof got, &size, &err);
                    CHECK(s == HOLDALL_E_STATE ||
                          (s == HOLDALL_OK && size == size2 && memcmp(got, want, size) == 0));
                }
                if (early == NULL && m > 20) {
                    early = memory;
                    early_size = m;
                } else {
                    holdall_bag_close(memory);
                }
                holdall_bag_close(disk);
            }
            if (early != NULL)
                check_range(early, 0, early_size, 0);
            holdall_bag_close(early);
            close(end);
            check_child(child, 0);
            holdall_bag *bag = open_bag(path, reading);
            uint64_t n = holdall_bag_record_count(bag);
            CHECK(is_commit(n));
            check_range(bag, 0, n, 0);
            holdall_bag_close(bag);
            TIDY();
        }
}

int main(void)
{
    /* no threads of the library: they would be reported as leaks in a child that inherits them */
    setenv("HOLDALL_THREADS", "1", 1);
    RUN(truncated_files_are_errors);
    RUN(files_overwritten_in_place_are_detected);
    RUN(replaced_and_removed_files_stay_readable);
    RUN(opens_during_commits_see_one_commit);
    return 0;
}
