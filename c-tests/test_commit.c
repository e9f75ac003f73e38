/* Writers: what each mode requires, one writer at a time, and which changes a commit makes visible,
 * and when. */
#include "child.h"

/* The forms of bags; each test runs with all of them. */
static const struct {
    const char *name;
    int64_t limits, sum;
} forms[] = {
    {"tail.bag", HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_CRC32},
    {"tail.bagz", HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_CRC32},
    {"apart.bag", HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_CHECKSUM_CRC32},
    {"apart.bagz", HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_CHECKSUM_NONE},
    {"bare.bag", HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_NONE},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static const char *path;
static const int64_t *writing, *reading;

static void use_form(int f)
{
    static char saved[1024];
    static int64_t pairs[2][16];
    now("%s", forms[f].name);
    snprintf(saved, sizeof saved, "%s", in_tmp(forms[f].name));
    path = saved;
    memcpy(pairs[0],
           WITH(HOLDALL_OPT_BAG_LIMITS, forms[f].limits, HOLDALL_OPT_CHECKSUM, forms[f].sum,
                HOLDALL_OPT_DURABILITY, 0),
           8 * sizeof(int64_t));
    memcpy(pairs[1], WITH(HOLDALL_OPT_BAG_LIMITS, forms[f].limits), 4 * sizeof(int64_t));
    writing = pairs[0];
    reading = pairs[1];
}

static void remove_bag(void)
{
    const char *base = strrchr(path, '/') + 1;
    char name[256];
    remove(path);
    snprintf(name, sizeof name, "limits.%s", base);
    remove(in_tmp(name));
    snprintf(name, sizeof name, "checksums.%s", base);
    remove(in_tmp(name));
    EQUAL(files_with(base), 0);
}

static void commit_and_close(holdall_bag_writer *w)
{
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
}

static void modes_require_what_they_state(void)
{
    holdall_bag_writer *w;
    GIVES(HOLDALL_E_MISSING, try_writer(path, HOLDALL_APPEND, writing, &w));
    /* CREATE: no file before the commit, then one */
    w = open_writer(path, HOLDALL_CREATE, writing);
    EQUAL(holdall_bag_writer_record_count(w), 0);
    append_records(w, 0, 7);
    EQUAL(holdall_bag_writer_record_count(w), 7);
    CHECK(!there(path));
    commit_and_close(w);
    check_bag(path, reading, 7);
    GIVES(HOLDALL_E_EXISTS, try_writer(path, HOLDALL_CREATE, writing, &w));
    /* APPEND continues */
    w = open_writer(path, HOLDALL_APPEND, writing);
    EQUAL(holdall_bag_writer_record_count(w), 7);
    append_records(w, 7, 6);
    EQUAL(holdall_bag_writer_record_count(w), 13);
    commit_and_close(w);
    check_bag(path, reading, 13);
    /* REPLACE starts from empty, also if nothing exists */
    w = open_writer(path, HOLDALL_REPLACE, writing);
    EQUAL(holdall_bag_writer_record_count(w), 0);
    append_records(w, 0, 3);
    check_bag(path, reading, 13);
    commit_and_close(w);
    check_bag(path, reading, 3);
    remove_bag();
    write_bag(path, HOLDALL_REPLACE, writing, 4);
    check_bag(path, reading, 4);
    TIDY();
    remove_bag();
}

static void nothing_is_visible_before_the_commit(void)
{
    /* a new bag that is closed without a commit */
    holdall_bag_writer *w = open_writer(path, HOLDALL_CREATE, writing);
    append_records(w, 0, 50);
    holdall_bag_writer_close(w);
    EQUAL(files_with(strrchr(path, '/') + 1), 0);

    write_bag(path, HOLDALL_CREATE, writing, 10);
    size_t size = 0, size2 = 0;
    uint8_t *before = load(path, &size);
    /* appended or replaced, then closed without a commit: the same bytes, also after many
     * appends */
    for (int k = 0; k < 4; k++) {
        w = open_writer(path, k % 2 ? HOLDALL_REPLACE : HOLDALL_APPEND, writing);
        append_records(w, 10, k < 2 ? 10 : 4000);
        check_bag(path, reading, 10);
        holdall_bag_writer_close(w);
        check_bag(path, reading, 10);
        uint8_t *after = load(path, &size2);
        EQUAL(size2, size);
        CHECK(memcmp(before, after, size) == 0);
        free(after);
        TIDY();
    }
    free(before);
    /* opened and closed immediately */
    for (int k = 0; k < 2; k++) {
        w = open_writer(path, k ? HOLDALL_REPLACE : HOLDALL_APPEND, writing);
        holdall_bag_writer_close(w);
        check_bag(path, reading, 10);
    }
    TIDY();
    remove_bag();
}

static void one_writer_commits_many_times(void)
{
    holdall_bag_writer *w = open_writer(path, HOLDALL_CREATE, writing);
    uint64_t n = 0;
    for (int round = 0; round < 12; round++) {
        uint64_t more = (uint64_t)(round * round % 7);
        append_records(w, n, more);
        if (n > 0)
            check_bag(path, reading, n);
        n += more;
        OK(holdall_bag_writer_commit(w, &err));
        EQUAL(holdall_bag_writer_record_count(w), n);
        check_bag(path, reading, n);
        /* again, without changes */
        OK(holdall_bag_writer_commit(w, &err));
        check_bag(path, reading, n);
    }
    append_records(w, n, 5);
    holdall_bag_writer_close(w);
    check_bag(path, reading, n);
    TIDY();
    remove_bag();
}

/* More than the memory of the writer: from one MiB on, records wait in files. */
static void large_commits_succeed(void)
{
    static uint8_t big[300000];
    uint32_t x = 7;
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
    holdall_bag_writer *w = open_writer(path, HOLDALL_CREATE, writing);
    const uint64_t rounds = slow() ? 2 : 3, each = 6;
    for (uint64_t r = 0; r < rounds; r++) {
        for (uint64_t i = 0; i < each; i++) {
            big[0] = (uint8_t)(r * each + i);
            OK(holdall_bag_writer_append(w, big, sizeof big - (size_t)i, &err));
        }
        if (r > 0) {
            holdall_bag *bag = open_bag(path, reading);
            EQUAL(holdall_bag_record_count(bag), r * each);
            holdall_bag_close(bag);
        }
        OK(holdall_bag_writer_commit(w, &err));
    }
    holdall_bag_writer_close(w);
    holdall_bag *bag = open_bag(path, reading);
    EQUAL(holdall_bag_record_count(bag), rounds * each);
    static uint8_t got[sizeof big];
    for (uint64_t i = 0; i < rounds * each; i++) {
        size_t n = 0;
        big[0] = (uint8_t)i;
        OK(holdall_bag_read(bag, i, got, sizeof got, &n, &err));
        CHECK(n == sizeof big - i % each && memcmp(got, big, n) == 0);
    }
    holdall_bag_close(bag);
    TIDY();
    remove_bag();
}

static void open_readers_continue_or_report_the_change(void)
{
    write_bag(path, HOLDALL_CREATE, writing, 20);
    /* a reader from before an append continues, or the call reports that it must reopen; with its
     * limits in memory it continues */
    const int64_t *cached =
        WITH(HOLDALL_OPT_BAG_LIMITS, reading[1], HOLDALL_OPT_BAG_LIMITS_CACHE, 1);
    holdall_bag *disk = open_bag(path, reading), *memory = open_bag(path, cached);
    holdall_bag_writer *w = open_writer(path, HOLDALL_APPEND, writing);
    for (uint64_t n = 20; n < 60; n += 10) {
        append_records(w, n, 10);
        OK(holdall_bag_writer_commit(w, &err));
        EQUAL(holdall_bag_record_count(disk), 20);
        EQUAL(holdall_bag_record_count(memory), 20);
        check_range(memory, 0, 20, 0);
        for (uint64_t i = 0; i < 20; i++) {
            check_record(memory, i, i);
            uint8_t got[RECORD_MOST], want[RECORD_MOST];
            size_t size = 0, size2 = make_record(i, want);
            holdall_status s = holdall_bag_read(disk, i, got, sizeof got, &size, &err);
            CHECK(s == HOLDALL_E_STATE ||
                  (s == HOLDALL_OK && size == size2 && memcmp(got, want, size) == 0));
            CHECK(s == HOLDALL_OK || forms[0].limits == reading[1]);
        }
    }
    holdall_bag_writer_close(w);
    check_range(memory, 0, 20, 0);
    holdall_bag_close(disk);
    holdall_bag_close(memory);

    /* a reader from before a replacement continues with the old bag, however its limits are
     * stored */
    disk = open_bag(path, reading), memory = open_bag(path, cached);
    holdall_bag *mapped =
        open_bag(path, WITH(HOLDALL_OPT_BAG_LIMITS, reading[1], HOLDALL_OPT_IO, HOLDALL_IO_MAP));
    w = open_writer(path, HOLDALL_REPLACE, writing);
    append_records(w, 3, 2);
    check_bag(path, reading, 60);
    OK(holdall_bag_writer_commit(w, &err));
    append_records(w, 5, 2);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    check_range(disk, 0, 60, 0);
    check_range(memory, 0, 60, 0);
    check_range(mapped, 0, 60, 0);
    holdall_bag *new_one = open_bag(path, reading);
    EQUAL(holdall_bag_record_count(new_one), 4);
    check_range(new_one, 0, 4, 3);
    holdall_bag_close(disk), holdall_bag_close(memory), holdall_bag_close(mapped),
        holdall_bag_close(new_one);
    TIDY();
    remove_bag();
}

static void one_writer_holds_the_lock_at_a_time(void)
{
    static const holdall_mode modes[] = {HOLDALL_CREATE, HOLDALL_REPLACE, HOLDALL_APPEND};
    holdall_bag_writer *first = open_writer(path, HOLDALL_CREATE, writing), *second;
    append_records(first, 0, 5);
    for (int round = 0; round < 2; round++) {
        for (int m = 0; m < 3; m++)
            GIVES(HOLDALL_E_BUSY, try_writer(path, modes[m], writing, &second));
        holdall_options *o = options_of(reading);
        GIVES(HOLDALL_E_BUSY, repair_counts(path, o, NULL, NULL, &err));
        holdall_options_free(o);
        /* another process */
        pid_t child = forked();
        if (child == 0) {
            for (int m = 0; m < 3; m++)
                GIVES(HOLDALL_E_BUSY, try_writer(path, modes[m], writing, &second));
            _exit(0);
        }
        check_child(child, 0);
        OK(holdall_bag_writer_commit(first, &err));
    }
    holdall_bag_writer_close(first);
    check_bag(path, reading, 5);
    TIDY();

    /* the lock ends with its process, for any reason */
    int ready[2], go[2];
    CHECK(pipe(ready) == 0 && pipe(go) == 0);
    pid_t child = forked();
    char c;
    if (child == 0) {
        holdall_bag_writer *w = open_writer(path, HOLDALL_APPEND, writing);
        append_records(w, 5, 3);
        CHECK(write(ready[1], "x", 1) == 1 && read(go[0], &c, 1) == 1);
        _exit(7); /* w is not closed */
    }
    CHECK(read(ready[0], &c, 1) == 1);
    GIVES(HOLDALL_E_BUSY, try_writer(path, HOLDALL_APPEND, writing, &second));
    CHECK(write(go[1], "x", 1) == 1);
    check_child(child, 7);
    close(ready[0]), close(ready[1]), close(go[0]), close(go[1]);
    check_bag(path, reading, 5);
    second = open_writer(path, HOLDALL_APPEND, writing);
    EQUAL(holdall_bag_writer_record_count(second), 5);
    append_records(second, 5, 1);
    commit_and_close(second);
    check_bag(path, reading, 6);
    TIDY();

    /* without a lock if the caller requests it */
    const int64_t *unlocked = WITH(HOLDALL_OPT_BAG_LIMITS, reading[1], HOLDALL_OPT_LOCK, 0);
    first = open_writer(path, HOLDALL_APPEND, writing);
    second = open_writer(path, HOLDALL_APPEND, unlocked);
    holdall_bag_writer_close(second);
    holdall_bag_writer_close(first);
    check_bag(path, reading, 6);
    TIDY();
    remove_bag();
}

/* After fork() a writer belongs to the parent: in the child it refuses work, and closing it there
 * changes nothing. */
static void an_inherited_writer_refuses_work(void)
{
    char both[1024];
    snprintf(both, sizeof both, "%s", in_tmp("inherited.bag"));
    write_bag(both, HOLDALL_CREATE, NULL, 4);
    for (int round = 0; round < 2; round++) {
        holdall_bag_writer *w = open_writer(both, round ? HOLDALL_REPLACE : HOLDALL_APPEND, NULL),
                           *second;
        uint64_t from = round ? 0 : 4, some[] = {0, 1};
        append_records(w, from, 3);
        pid_t child = forked();
        if (child == 0) {
            GIVES(HOLDALL_E_STATE, holdall_bag_writer_append(w, "x", 1, &err));
            GIVES(HOLDALL_E_STATE, holdall_bag_writer_append_many(w, "x", some, 1, &err));
            GIVES(HOLDALL_E_STATE, holdall_bag_writer_commit(w, &err));
            holdall_bag_writer_close(w);
            /* and the lock remains */
            GIVES(HOLDALL_E_BUSY, try_writer(both, HOLDALL_APPEND, NULL, &second));
            _exit(0);
        }
        check_child(child, 0);
        GIVES(HOLDALL_E_BUSY, try_writer(both, HOLDALL_APPEND, NULL, &second));
        append_records(w, from + 3, 3);
        commit_and_close(w);
        check_bag(both, WITH(HOLDALL_OPT_VERIFY, 2), from + 6);
    }
    TIDY();
}

/* A bag that was to be new, but another writer has created it meanwhile. */
static void a_bag_created_meanwhile_is_not_replaced(void)
{
    holdall_bag_writer *w = open_writer(path, HOLDALL_CREATE, writing);
    append_records(w, 0, 3);
    save(path, "", 0);
    GIVES(HOLDALL_E_EXISTS, holdall_bag_writer_commit(w, &err));
    EQUAL(file_size(path), 0);
    /* tried again after it was removed */
    remove(path);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    check_bag(path, reading, 3);
    TIDY();
    remove_bag();
}

/* Limits and checksums of a bag that was replaced by one of another form are removed with it. */
static void a_replacement_removes_files_of_the_old_form(void)
{
    char one[1024];
    snprintf(one, sizeof one, "%s", in_tmp("one"));
    for (int from = 0; from < 8; from++)
        for (int to = 0; to < 8; to++) {
            /* one bit per property of a form: codec, limits, checksums */
            const int64_t *pairs[2];
            int kinds[2] = {from, to};
            int64_t all[2][10];
            for (int k = 0; k < 2; k++) {
                memcpy(all[k],
                       WITH(HOLDALL_OPT_CODEC,
                            kinds[k] & 1 ? HOLDALL_CODEC_ZSTD : HOLDALL_CODEC_NONE,
                            HOLDALL_OPT_BAG_LIMITS, LIMITS(kinds[k] >> 1 & 1), HOLDALL_OPT_CHECKSUM,
                            kinds[k] & 4 ? HOLDALL_CHECKSUM_CRC32 : HOLDALL_CHECKSUM_NONE,
                            HOLDALL_OPT_DURABILITY, 0),
                       sizeof all[k]);
                pairs[k] = all[k];
            }
            now("from %d to %d", from, to);
            write_bag(one, HOLDALL_REPLACE, pairs[0], 9);
            write_bag(one, HOLDALL_REPLACE, pairs[1], 4);
            check_bag(one,
                      WITH(HOLDALL_OPT_CODEC, all[1][1], HOLDALL_OPT_BAG_LIMITS, all[1][3],
                           HOLDALL_OPT_VERIFY, 2),
                      4);
            EQUAL(files_with("limits.one"), to >> 1 & 1);
            EQUAL(files_with("checksums.one"), to == 4 || to == 6);
        }
    TIDY();
}

/* Appends continue the existing checksums. */
static void appends_continue_the_checksums(void)
{
    const char *bare = in_tmp("crc.bag");
    holdall_bag_writer *w;
    write_bag(bare, HOLDALL_CREATE, WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE), 5);
    GIVES(HOLDALL_E_STATE,
          try_writer(bare, HOLDALL_APPEND, WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_CRC32), &w));
    w = open_writer(bare, HOLDALL_APPEND, NULL);
    append_records(w, 5, 5);
    commit_and_close(w);
    EQUAL(files_with("checksums.crc.bag"), 0);
    check_bag(bare, NULL, 10);

    write_bag(bare, HOLDALL_REPLACE, NULL, 5);
    EQUAL(file_size(in_tmp("checksums.crc.bag")), 5 * 4);
    w = open_writer(bare, HOLDALL_APPEND, WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE));
    append_records(w, 5, 5);
    commit_and_close(w);
    EQUAL(file_size(in_tmp("checksums.crc.bag")), 10 * 4);
    check_bag(bare, WITH(HOLDALL_OPT_VERIFY, 2), 10);

    /* an empty bag has no checksums yet: they start with its first records */
    write_bag(bare, HOLDALL_REPLACE, WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE), 0);
    w = open_writer(bare, HOLDALL_APPEND, WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_CRC32));
    append_records(w, 0, 5);
    commit_and_close(w);
    EQUAL(file_size(in_tmp("checksums.crc.bag")), 5 * 4);
    check_bag(bare, WITH(HOLDALL_OPT_VERIFY, 2), 5);
    TIDY();
}

/* A link to a file of another name is read as the file that it names, and is not written
 * through. */
static void links_are_read_and_not_written_through(void)
{
    const char *real = in_tmp("real"), *link = in_tmp("link.bagz");
    write_bag(real, HOLDALL_CREATE, WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD), 8);
    CHECK(symlink("real", link) == 0);
    check_bag(link, NULL, 8);
    static const holdall_mode modes[] = {HOLDALL_CREATE, HOLDALL_REPLACE, HOLDALL_APPEND};
    for (int m = 0; m < 3; m++) {
        holdall_bag_writer *w;
        holdall_status s = try_writer(link, modes[m], NULL, &w);
        CHECK(s == HOLDALL_E_UNSUPPORTED || (m == 0 && s == HOLDALL_E_EXISTS));
    }
    struct stat s;
    CHECK(lstat(link, &s) == 0 && S_ISLNK(s.st_mode));
    check_bag(link, NULL, 8);
    TIDY();
}

/* A writer keeps its folder if the process changes its working directory. */
static void a_writer_stays_in_its_folder(void)
{
    char here[1024];
    CHECK(getcwd(here, sizeof here) != NULL && mkdir(in_tmp("a"), 0700) == 0 &&
          mkdir(in_tmp("b"), 0700) == 0 && chdir(in_tmp("a")) == 0);
    for (int round = 0; round < 2; round++) {
        CHECK(chdir("../a") == 0);
        holdall_bag_writer *w =
            open_writer("moved.bag", round ? HOLDALL_APPEND : HOLDALL_CREATE, NULL);
        append_records(w, 5 * (uint64_t)round, 5);
        CHECK(chdir("../b") == 0);
        OK(holdall_bag_writer_commit(w, &err));
        holdall_bag_writer_close(w);
        CHECK(!there("moved.bag") && !there("checksums.moved.bag"));
        check_bag("../a/moved.bag", NULL, 5 * (uint64_t)round + 5);
    }
    CHECK(chdir("../a") == 0);
    holdall_bag *bag = open_bag("moved.bag", NULL);
    CHECK(chdir(here) == 0);
    check_range(bag, 0, 10, 0);
    holdall_bag_close(bag);
}

static void invalid_paths_are_refused(void)
{
    holdall_bag_writer *w;
    GIVES(HOLDALL_E_ARGUMENT, try_writer(in_tmp("shards@*.bag"), HOLDALL_CREATE, NULL, &w));
    GIVES(HOLDALL_E_ARGUMENT, try_writer("", HOLDALL_CREATE, NULL, &w));
    GIVES(HOLDALL_E_ARGUMENT, try_writer(in_tmp(""), HOLDALL_CREATE, NULL, &w));
    GIVES(HOLDALL_E_MISSING, try_writer(in_tmp("no/such/folder.bag"), HOLDALL_CREATE, NULL, &w));
    /* a folder, a file that is not a bag */
    CHECK(mkdir(in_tmp("folder.bag"), 0700) == 0);
    GIVES(HOLDALL_E_FORMAT, try_writer(in_tmp("folder.bag"), HOLDALL_APPEND, NULL, &w));
    GIVES(HOLDALL_E_EXISTS, try_writer(in_tmp("folder.bag"), HOLDALL_CREATE, NULL, &w));
    save(in_tmp("text.bag"), "this is no bag, is it?", 22);
    GIVES(HOLDALL_E_FORMAT, try_writer(in_tmp("text.bag"), HOLDALL_APPEND, NULL, &w));
    EQUAL(file_size(in_tmp("text.bag")), 22);
    TIDY();
}

int main(void)
{
    static void (*const over_forms[])(void) = {
        modes_require_what_they_state,   nothing_is_visible_before_the_commit,
        one_writer_commits_many_times, large_commits_succeed,
        open_readers_continue_or_report_the_change,         one_writer_holds_the_lock_at_a_time,
        a_bag_created_meanwhile_is_not_replaced,
    };
    for (size_t t = 0; t < sizeof over_forms / sizeof over_forms[0]; t++)
        for (int f = 0; f < FORMS; f++) {
            use_form(f);
            over_forms[t]();
        }
    RUN(a_replacement_removes_files_of_the_old_form);
    RUN(appends_continue_the_checksums);
    RUN(links_are_read_and_not_written_through);
    RUN(a_writer_stays_in_its_folder);
    RUN(an_inherited_writer_refuses_work);
    RUN(invalid_paths_are_refused);
    return 0;
}
