/* holdall_repair(): a complete container is not changed; a torn one gets its last complete state;
 * bytes that cannot be verified are not changed. (test_crash.c repairs what crashes leave,
 * test_damage.c repairs single changed bytes.) */
#include "check.h"

enum { N = 25 };

static char path[1024];

static const char *beside(const char *prefix)
{
    char name[256];
    snprintf(name, sizeof name, "%s%s", prefix, strrchr(path, '/') + 1);
    return in_tmp(name);
}

static void use(const char *name)
{
    now("%s", name);
    snprintf(path, sizeof path, "%s", in_tmp(name));
}

static holdall_status repair(const int64_t *pairs, uint64_t *retained, uint64_t *dropped)
{
    holdall_options *o = options_of(pairs);
    preset_error();
    holdall_status s = repair_counts(path, o, retained, dropped, &err);
    holdall_options_free(o);
    return s;
}

/* A dry run: the results of the repair, and those of holdall_verify() for the state that it would
 * leave. */
static void check_dry_run(const int64_t *pairs, uint64_t retained, uint64_t dropped)
{
    holdall_options *o = options_of(pairs);
    if (o == NULL)
        CHECK((o = holdall_options_new()) != NULL);
    OK(holdall_options_set(o, HOLDALL_OPT_DRY_RUN, 1, &err));
    uint64_t k = 999, d = 999, intact = 999, corrupt = 999, unchecked = 999;
    int files = files_with("");
    size_t n, m;
    uint8_t *before = load(path, &n);
    OK(repair_counts(path, o, &k, &d, &err));
    OK(verify_counts(path, o, NULL, NULL, &intact, &corrupt, &unchecked, &err));
    uint8_t *after = load(path, &m);
    CHECK(k == retained && d == dropped && intact + unchecked == retained && corrupt == 0);
    CHECK(files_with("") == files && n == m && memcmp(before, after, n) == 0);
    free(before);
    free(after);
    holdall_options_free(o);
}

static void check_repair(const int64_t *pairs, uint64_t retained, uint64_t dropped)
{
    uint64_t k = 999, d = 999;
    check_dry_run(pairs, retained, dropped);
    GAVE(HOLDALL_OK, repair(pairs, &k, &d));
    EQUAL(k, retained);
    EQUAL(d, dropped);
    TIDY();
    check_bag(path, pairs, retained);
    /* one repair is enough */
    GAVE(HOLDALL_OK, repair(pairs, &k, NULL));
    EQUAL(k, retained);
}

/* It cannot be repaired, and no file was changed. */
static void check_left_alone(const int64_t *pairs, holdall_status want)
{
    static const char *const prefixes[] = {"", "limits.", "checksums."};
    uint8_t *before[3] = {NULL};
    size_t sizes[3], n;
    for (int p = 0; p < 3; p++)
        if (there(beside(prefixes[p])))
            before[p] = load(beside(prefixes[p]), &sizes[p]);
    int files = files_with("");
    uint64_t retained = 77, dropped = 78;
    GAVE(want, repair(pairs, &retained, &dropped));
    if (want < 0) {
        EQUAL(retained, 77);
        EQUAL(dropped, 78);
    }
    EQUAL(files_with(""), files);
    TIDY();
    for (int p = 0; p < 3; p++)
        if (before[p] != NULL) {
            uint8_t *after = load(beside(prefixes[p]), &n);
            CHECK(n == sizes[p] && memcmp(before[p], after, n) == 0);
            free(after);
            free(before[p]);
        }
}

static void a_complete_bag_is_not_changed(void)
{
    static const char *const names[] = {"whole.bag", "whole.bagz"};
    for (int k = 0; k < 12; k++) {
        use(names[k % 2]);
        const int64_t *pairs = WITH(HOLDALL_OPT_BAG_LIMITS, LIMITS(k / 2 % 2));
        write_bag(path, HOLDALL_REPLACE,
                  WITH(HOLDALL_OPT_BAG_LIMITS, LIMITS(k / 2 % 2), HOLDALL_OPT_CHECKSUM,
                       k / 4 % 2 ? HOLDALL_CHECKSUM_NONE : HOLDALL_CHECKSUM_CRC32),
                  k / 8 ? 0 : N);
        check_left_alone(pairs, HOLDALL_OK);
        check_repair(pairs, k / 8 ? 0 : N, 0);
    }
    GIVES(HOLDALL_E_MISSING, repair_counts(in_tmp("no-such.bag"), NULL, NULL, NULL, &err));
    /* the pointers to results may be NULL */
    OK(repair_counts(path, options_of(NULL), NULL, NULL, &err));
    EQUAL(files_with("no-such"), 0);
}

/* X and limits.X, which a Bagz writer of one file leaves when it is interrupted, become one
 * file. */
static void files_of_an_interrupted_bagz_writer_are_joined(void)
{
    static const char *const names[] = {"cut-off.bag", "cut-off.bagz"};
    for (int k = 0; k < 2; k++) {
        use(names[k]);
        write_bag(path, HOLDALL_REPLACE,
                  WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_OPT_CHECKSUM,
                       HOLDALL_CHECKSUM_NONE),
                  N);
        holdall_bag *bag;
        CHECK(try_open(path, NULL, &bag) < 0);
        CHECK(says("limits."));
        check_repair(NULL, N, 0);
        CHECK(!there(beside("limits.")));
    }
    const char *folder = fixtures("bagz");
    if (folder == NULL)
        return;
    static const char *const prefixes[] = {"", "limits."};
    use("unclosed.bagz");
    for (int p = 0; p < 2; p++) {
        char from[2048];
        snprintf(from, sizeof from, "%s/%sunclosed.bagz", folder, prefixes[p]);
        size_t n;
        uint8_t *bytes = load(from, &n);
        save(beside(prefixes[p]), bytes, n);
        free(bytes);
    }
    uint64_t retained = 0, dropped = 9;
    GAVE(HOLDALL_OK, repair(NULL, &retained, &dropped));
    EQUAL(retained, 11);
    EQUAL(dropped, 0);
    uint64_t corrupt = 9;
    OK(verify_counts(path, NULL, NULL, NULL, NULL, &corrupt, NULL, &err));
    EQUAL(corrupt, 0);
}

/* Separate limits that are torn, or that exceed the records, are removed. */
static void torn_separate_limits_are_removed(void)
{
    static const char *const names[] = {"torn.bag", "torn.bagz"};
    const int64_t *pairs = WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE);
    for (int k = 0; k < 2; k++) {
        const int64_t *bare = WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE,
                                   HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE);
        use(names[k]);
        write_bag(path, HOLDALL_REPLACE, bare, N);
        CHECK(truncate(beside("limits."), 8 * (N - 1) + 3) == 0);
        check_repair(pairs, N - 1, 1);
        /* truncated records: five bytes of record 24 are missing (2,900 bytes, or fewer if
         * compressed), then everything after record 9 */
        write_bag(path, HOLDALL_REPLACE, bare, N);
        CHECK(truncate(path, (off_t)file_size(path) - 5) == 0);
        check_repair(pairs, N - 1, 1);
        write_bag(path, HOLDALL_REPLACE, bare, 10);
        size_t ten = file_size(path);
        write_bag(path, HOLDALL_REPLACE, bare, N);
        CHECK(truncate(path, (off_t)ten) == 0);
        check_repair(pairs, 10, N - 10);
    }
}

static void overwrite_end(uint64_t value)
{
    size_t n;
    uint8_t *bytes = load(path, &n);
    for (int b = 0; b < 8; b++)
        bytes[n - 8 + (size_t)b] = (uint8_t)(value >> 8 * b);
    save(path, bytes, n);
    free(bytes);
}

/* The last limit, if frames or checksums prove its value. */
static void a_corrupt_last_limit_is_restored(void)
{
    static const char *const names[] = {"last.bag", "last.bagz"};
    for (int k = 0; k < 2; k++) {
        use(names[k]);
        write_bag(path, HOLDALL_REPLACE, NULL, N);
        size_t records = file_size(path) - 8 * N;
        const uint64_t wrong[] = {0,           UINT64_MAX,      UINT64_MAX - 7,
                                  8,           records + 8,     records - 8,
                                  records + 1, records + 8 * N, records ^ 0x100};
        for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
            now("%s, last limit %" PRIu64 " for %zu", names[k], wrong[w], records);
            overwrite_end(wrong[w]);
            check_repair(NULL, N, 0);
            check_bag(path, WITH(HOLDALL_OPT_VERIFY, 2), N);
        }
    }
}

static void unverifiable_bytes_are_not_changed(void)
{
    use("bare.bag");
    write_bag(path, HOLDALL_REPLACE, WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE), N);
    overwrite_end(UINT64_MAX);
    check_left_alone(NULL, HOLDALL_E_FORMAT);
    use("text.bag");
    save(path, "texts, and not a bag", 20);
    check_left_alone(NULL, HOLDALL_E_FORMAT);
    use("text.bagz");
    save(path, "texts, and not a bag", 20);
    check_left_alone(NULL, HOLDALL_E_FORMAT);
    use("short.bag");
    save(path, "abc", 3);
    check_left_alone(NULL, HOLDALL_E_FORMAT);
    /* limits that an interrupted writer has not written at all: the records are not discarded */
    use("early.bag");
    save(path, "the records of a writer that was cut off early", 46);
    save(beside("limits."), "", 0);
    check_left_alone(NULL, HOLDALL_E_FORMAT);
    use("holdall.bag");
    CHECK(mkdir(path, 0700) == 0);
    CHECK(repair(NULL, NULL, NULL) < 0 && there(path));
}

/* Another program has rewritten the bag: the checksums beside it are those of another state. */
static void checksums_of_another_state_are_detected(void)
{
    use("other.bag");
    write_bag(in_tmp("longer.bag"), HOLDALL_CREATE,
              WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE), N + 5);
    write_bag(path, HOLDALL_CREATE, NULL, N);
    CHECK(rename(in_tmp("longer.bag"), path) == 0);
    holdall_bag *bag;
    GIVES(HOLDALL_E_CHECKSUM, try_open(path, NULL, &bag));
    CHECK(says("checksums.other.bag"));
    /* it can be read without verification, on request */
    check_bag(path, WITH(HOLDALL_OPT_VERIFY, 0), N + 5);
    uint64_t retained = 0;
    holdall_status s = repair(NULL, &retained, NULL);
    if (s == HOLDALL_OK) {
        EQUAL(retained, N + 5);
        check_bag(path, NULL, N + 5);
    } else {
        GAVE(HOLDALL_E_FORMAT, s);
    }
}

/* A holdall_progress_fn that writes a bag. */
static int write_another(void *written, uint64_t done, uint64_t total)
{
    (void)done, (void)total;
    if (!*(bool *)written)
        write_bag(in_tmp("another.bag"), HOLDALL_CREATE, NULL, N);
    *(bool *)written = true;
    return 0;
}

static void a_dry_run_applies_to_one_call(void)
{
    use("dry.blp");
    enum { BYTES = 4000 };
    uint8_t content[BYTES], got[BYTES];
    memset(content, 'x', BYTES);
    holdall_schunk *s;
    holdall_options *o = options_of(WITH(HOLDALL_OPT_CHUNK_BYTES, 1000, HOLDALL_OPT_LEVEL, 0));
    OK(holdall_schunk_create(path, HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, 1, o, &s, &err));
    OK(holdall_schunk_append(s, content, BYTES, &err));
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_close(s);
    holdall_options_free(o);
    size_t n;
    uint8_t *file = load(path, &n);
    uint8_t *first = memchr(file, 'x', n);
    for (first = file; first + 100 < file + n && memcmp(first, content, 100) != 0; first++) {
    }
    first[200] ^= 1;
    save(path, file, n);
    free(file);

    bool written = false;
    uint64_t retained = 0, dropped = 0;
    o = options_of(WITH(HOLDALL_OPT_DRY_RUN, 1));
    holdall_options_set_progress(o, write_another, &written);
    OK(repair_counts(path, o, &retained, &dropped, &err));
    CHECK(written && retained == 3 && dropped == 1);
    check_bag(in_tmp("another.bag"), NULL, N);

    /* the handle outlives the options */
    OK(holdall_schunk_open(path, HOLDALL_READ, o, &s, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_schunk_open(path, HOLDALL_APPEND, o, &(holdall_schunk *){NULL}, &err));
    CHECK(says("HOLDALL_OPT_DRY_RUN"));
    holdall_options_free(o);
    OK(holdall_schunk_read(s, 0, got, BYTES, &err));
    CHECK(got[0] == 0 && got[999] == 0 && memcmp(got + 1000, content, BYTES - 1000) == 0);
    holdall_schunk_close(s);
    GIVES(HOLDALL_E_CHECKSUM, verify_counts(path, NULL, NULL, NULL, NULL, NULL, NULL, &err));
}

int main(void)
{
    RUN(a_complete_bag_is_not_changed);
    RUN(files_of_an_interrupted_bagz_writer_are_joined);
    RUN(torn_separate_limits_are_removed);
    RUN(a_corrupt_last_limit_is_restored);
    RUN(unverifiable_bytes_are_not_changed);
    RUN(checksums_of_another_state_are_detected);
    RUN(a_dry_run_applies_to_one_call);
    return 0;
}
