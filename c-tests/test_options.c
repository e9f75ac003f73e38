/* Options: ranges, bytes and numbers, options that do not apply to a call, their lifetime,
 * progress. */
#include "callbacks.h"
#include "folder.h"

/* The calls that take options. One set serves the writers and readers of a bag. */
typedef enum { OPEN = 1, WRITE_ = 2, VERIFY_ = 4, REPAIR = 8, BAGS = OPEN | WRITE_ } calls;

static const struct {
    holdall_option option;
    int number;
    const char *name;
    int64_t low, high;
    int known_to;
} all[] = {
#define OPTION(name, number, low, high, known) {name, number, #name, low, high, known}
    OPTION(HOLDALL_OPT_THREADS, 1, 0, 1024, BAGS | VERIFY_ | REPAIR),
    OPTION(HOLDALL_OPT_MEMORY_LIMIT, 2, 0, INT64_MAX, BAGS | VERIFY_ | REPAIR),
    OPTION(HOLDALL_OPT_IO, 3, HOLDALL_IO_READ, HOLDALL_IO_MAP, BAGS | VERIFY_),
    OPTION(HOLDALL_OPT_VERIFY, 4, 0, 2, BAGS),
    OPTION(HOLDALL_OPT_SKIP_DAMAGED, 5, 0, 1, BAGS | REPAIR),
    OPTION(HOLDALL_OPT_DURABILITY, 6, 0, 1, BAGS | REPAIR),
    OPTION(HOLDALL_OPT_LOCK, 7, 0, 1, BAGS | REPAIR),
    OPTION(HOLDALL_OPT_CODEC, 8, HOLDALL_CODEC_NONE, HOLDALL_CODEC_BY_NAME,
           BAGS | VERIFY_ | REPAIR),
    OPTION(HOLDALL_OPT_LEVEL, 9, -131072, 22, BAGS),
    OPTION(HOLDALL_OPT_CHECKSUM, 13, HOLDALL_CHECKSUM_NONE, HOLDALL_CHECKSUM_ZSTD, BAGS),
    OPTION(HOLDALL_OPT_DICTIONARY, 14, 0, 0, BAGS | VERIFY_ | REPAIR),
    OPTION(HOLDALL_OPT_BAG_LIMITS, 23, HOLDALL_BAG_LIMITS_TAIL, HOLDALL_BAG_LIMITS_SEPARATE,
           BAGS | VERIFY_ | REPAIR),
    OPTION(HOLDALL_OPT_BAG_LIMITS_CACHE, 24, 0, 1, BAGS | VERIFY_),
    OPTION(HOLDALL_OPT_BAG_SHARDS, 25, HOLDALL_BAG_SHARDS_CONCATENATED,
           HOLDALL_BAG_SHARDS_INTERLEAVED, BAGS | VERIFY_),
    OPTION(HOLDALL_OPT_BAG_READ_AHEAD, 26, 0, INT64_C(1) << 40, BAGS),
    OPTION(HOLDALL_OPT_ARROW_BINARY, 27, 0, 1, 0),
    OPTION(HOLDALL_OPT_ARROW_NULLS, 28, 0, 1, 0),
    OPTION(HOLDALL_OPT_BOTH_METALAYERS, 30, 0, 1, 0),
    OPTION(HOLDALL_OPT_BAG_READ_AHEAD_BYTES, 31, 0, INT64_MAX, BAGS),
    OPTION(HOLDALL_OPT_DRY_RUN, 35, 0, 1, VERIFY_ | REPAIR),
    OPTION(HOLDALL_OPT_FOLLOW_LINKS, 38, 0, 1, BAGS | VERIFY_ | REPAIR),
    OPTION(HOLDALL_OPT_PRECISION, 39, -51, 52, 0),
    OPTION(HOLDALL_OPT_BAG_DICTIONARY, 40, HOLDALL_BAG_DICTIONARY_SEPARATE,
           HOLDALL_BAG_DICTIONARY_AUTO, BAGS),
    OPTION(HOLDALL_OPT_CACHE_BYTES, 41, 0, INT64_MAX, 0),
    OPTION(HOLDALL_OPT_CHUNK_DICTIONARY, 42, 0, 1, 0),
};
enum { OPTIONS = sizeof all / sizeof all[0] };

static void values_out_of_range_are_refused(void)
{
    for (int i = 0; i < OPTIONS; i++) {
        now("%s", all[i].name);
        EQUAL(all[i].option, all[i].number);
        holdall_options *o = holdall_options_new();
        CHECK(o != NULL);
        if (all[i].option == HOLDALL_OPT_DICTIONARY) {
            GIVES(HOLDALL_E_ARGUMENT, holdall_options_set(o, all[i].option, 0, &err));
            CHECK(says(all[i].name));
            OK(holdall_options_set_bytes(o, all[i].option, "abc", 3, &err));
            OK(holdall_options_set_bytes(o, all[i].option, NULL, 0, &err));
        } else {
            OK(holdall_options_set(o, all[i].option, all[i].low, &err));
            OK(holdall_options_set(o, all[i].option, all[i].high, &err));
            GIVES(HOLDALL_E_ARGUMENT, holdall_options_set(o, all[i].option, all[i].low - 1, &err));
            CHECK(says(all[i].name));
            GIVES(HOLDALL_E_ARGUMENT, holdall_options_set(o, all[i].option, INT64_MIN, &err));
            if (all[i].high < INT64_MAX && all[i].option != HOLDALL_OPT_THREADS) {
                GIVES(HOLDALL_E_ARGUMENT,
                      holdall_options_set(o, all[i].option, all[i].high + 1, &err));
                CHECK(says(all[i].name));
                GIVES(HOLDALL_E_ARGUMENT, holdall_options_set(o, all[i].option, INT64_MAX, &err));
            }
            GIVES(HOLDALL_E_ARGUMENT, holdall_options_set_bytes(o, all[i].option, "abc", 3, &err));
            CHECK(says(all[i].name));
        }
        holdall_options_free(o);
    }
}

static void unknown_options_are_refused(void)
{
    holdall_options *o = holdall_options_new();
    static const holdall_option none[] = {
        0, -1, HOLDALL_OPT_CHUNK_DICTIONARY + 1, HOLDALL_READ, HOLDALL_CODEC_ZSTD, 1000, INT32_MAX,
        INT32_MIN};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        GIVES(HOLDALL_E_ARGUMENT, holdall_options_set(o, none[i], 1, &err));
        GIVES(HOLDALL_E_ARGUMENT, holdall_options_set_bytes(o, none[i], "x", 1, &err));
    }
    /* no codecs */
    static const int64_t codecs[] = {0,
                                     6,
                                     HOLDALL_CODEC_NONE - 1,
                                     HOLDALL_CODEC_MIXED,
                                     HOLDALL_CHECKSUM_ZSTD,
                                     (int64_t)HOLDALL_CODEC_ZSTD + (INT64_C(1) << 32)};
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        GIVES(HOLDALL_E_ARGUMENT, holdall_options_set(o, HOLDALL_OPT_CODEC, codecs[i], &err));
        CHECK(says("HOLDALL_OPT_CODEC"));
    }
    holdall_options_free(o);
}

/* A value other than the default, which is never refused. */
static int64_t not_the_default(int i)
{
    switch (all[i].option) {
    case HOLDALL_OPT_MEMORY_LIMIT:
        return 1 << 20;
    case HOLDALL_OPT_CODEC:
        return HOLDALL_CODEC_ZSTD;
    case HOLDALL_OPT_IO:
    case HOLDALL_OPT_SKIP_DAMAGED:
    case HOLDALL_OPT_BAG_LIMITS_CACHE:
    case HOLDALL_OPT_ARROW_BINARY:
    case HOLDALL_OPT_ARROW_NULLS:
    case HOLDALL_OPT_BOTH_METALAYERS:
    case HOLDALL_OPT_DRY_RUN:
    case HOLDALL_OPT_FOLLOW_LINKS:
    case HOLDALL_OPT_BAG_DICTIONARY:
    case HOLDALL_OPT_CHUNK_DICTIONARY:
        return all[i].high;
    default:
        return all[i].low;
    }
}

/* A call refuses an option that does not apply to it, and names it. */
static void options_that_do_not_apply_are_refused(void)
{
    const char *path = in_tmp("meaning.bagz"), *plain = in_tmp("meaning.bag");
    write_bag(path, HOLDALL_CREATE, NULL, 3);
    write_bag(plain, HOLDALL_CREATE, NULL, 3);
    for (int i = 0; i < OPTIONS; i++) {
        holdall_options *o = holdall_options_new();
        if (all[i].option == HOLDALL_OPT_DICTIONARY)
            OK(holdall_options_set_bytes(o, all[i].option, NULL, 0, &err));
        else
            OK(holdall_options_set(o, all[i].option, not_the_default(i), &err));
        for (int call = OPEN; call <= REPAIR; call *= 2) {
            now("%s, call %d", all[i].name, call);
            bool known = all[i].known_to & call;
            holdall_status want = known ? HOLDALL_OK : HOLDALL_E_ARGUMENT;
            const char *name = all[i].name;
            holdall_bag *bag;
            holdall_bag_writer *writer;
            folder f = FOLDER;
            holdall_storage *io;
            size_t size;
            uint8_t *bytes = load(all[i].option == HOLDALL_OPT_CODEC ? path : plain, &size);
            folder_put(&f, "", bytes, size);
            free(bytes);
            switch (call) {
            case OPEN:
                GIVES(want, holdall_bag_open(path, o, &bag, &err));
                CHECK(known || says(name));
                holdall_bag_close(bag);
                io = folder_io(&f);
                if (all[i].option != HOLDALL_OPT_BAG_LIMITS) {
                    GIVES(want, bag_open_io(&io, 1, o, &bag, &err));
                    CHECK(known || says(name));
                    holdall_bag_close(bag);
                }
                holdall_storage_free(io);
                break;
            case WRITE_:
                GIVES(want, holdall_bag_writer_open(path, HOLDALL_REPLACE, o, &writer, &err));
                CHECK(known || says(name));
                holdall_bag_writer_close(writer);
                io = folder_io(&f);
                /* without a name it is not compressed */
                if (all[i].option != HOLDALL_OPT_LEVEL && all[i].option != HOLDALL_OPT_DICTIONARY &&
                    all[i].option != HOLDALL_OPT_BAG_DICTIONARY) {
                    GIVES(want, bag_writer_open_io(io, HOLDALL_REPLACE, o, &writer, &err));
                    CHECK(known || says(name));
                    holdall_bag_writer_close(writer);
                }
                holdall_storage_free(io);
                break;
            case VERIFY_:
                GIVES(want, verify_counts(path, o, NULL, NULL, NULL, NULL, NULL, &err));
                CHECK(known || says(name));
                break;
            default:
                GIVES(want, repair_counts(path, o, NULL, NULL, &err));
                CHECK(known || says(name));
                break;
            }
            folder_clear(&f);
        }
        holdall_options_free(o);
    }
    TIDY();
}

/* Options whose values do not fit the container. */
static void options_that_do_not_match_the_container_are_refused(void)
{
    holdall_bag_writer *w;
    GIVES(HOLDALL_E_ARGUMENT,
          try_writer(in_tmp("raw.bag"), HOLDALL_CREATE, WITH(HOLDALL_OPT_LEVEL, 3), &w));
    CHECK(says("HOLDALL_OPT_LEVEL"));
    for (int sum = HOLDALL_CHECKSUM_NONE; sum <= HOLDALL_CHECKSUM_ZSTD; sum++) {
        now("sum %d", sum);
        bool raw = sum == HOLDALL_CHECKSUM_NONE || sum == HOLDALL_CHECKSUM_CRC32,
             zstd = raw || sum == HOLDALL_CHECKSUM_ZSTD;
        GIVES(raw ? HOLDALL_OK : HOLDALL_E_UNSUPPORTED,
              try_writer(in_tmp("raw.bag"), HOLDALL_CREATE, WITH(HOLDALL_OPT_CHECKSUM, sum), &w));
        CHECK(raw || says("HOLDALL_OPT_CHECKSUM"));
        holdall_bag_writer_close(w);
        GIVES(zstd ? HOLDALL_OK : HOLDALL_E_UNSUPPORTED,
              try_writer(in_tmp("z.bagz"), HOLDALL_CREATE, WITH(HOLDALL_OPT_CHECKSUM, sum), &w));
        CHECK(zstd || says("HOLDALL_OPT_CHECKSUM"));
        holdall_bag_writer_close(w);
    }
    EQUAL(files_with("raw.bag"), 0);
    EQUAL(files_with("z.bagz"), 0);
}

/* One set serves many calls, and may be freed directly after them; bytes are copied. */
static void options_may_be_freed_after_a_call(void)
{
    const char *path = in_tmp("life.bagz");
    char dictionary[64];
    memset(dictionary, 'd', sizeof dictionary);
    holdall_options *o = holdall_options_new();
    OK(holdall_options_set_bytes(o, HOLDALL_OPT_DICTIONARY, dictionary, sizeof dictionary, &err));
    memset(dictionary, 0, sizeof dictionary);
    holdall_bag_writer *w;
    holdall_bag *bag1, *bag2;
    OK(holdall_bag_writer_open(path, HOLDALL_CREATE, o, &w, &err));
    append_records(w, 0, 20);
    OK(holdall_bag_writer_commit(w, &err));
    OK(holdall_bag_open(path, o, &bag1, &err));
    OK(holdall_bag_open(path, o, &bag2, &err));
    holdall_options_free(o);
    check_range(bag1, 0, 20, 0);
    check_range(bag2, 0, 20, 0);
    append_records(w, 20, 5);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    holdall_bag_close(bag1);
    holdall_bag_close(bag2);

    memset(dictionary, 'd', sizeof dictionary);
    o = holdall_options_new();
    OK(holdall_options_set_bytes(o, HOLDALL_OPT_DICTIONARY, dictionary, sizeof dictionary, &err));
    OK(holdall_bag_open(path, o, &bag1, &err));
    EQUAL(holdall_bag_record_count(bag1), 25);
    check_range(bag1, 0, 25, 0);
    holdall_bag_close(bag1);
    OK(verify_counts(path, o, NULL, NULL, NULL, NULL, NULL, &err));
    holdall_options_free(o);

    /* Without it, or with another one: errors, not other bytes. */
    for (int other = 0; other < 2; other++) {
        o = holdall_options_new();
        if (other)
            OK(holdall_options_set_bytes(o, HOLDALL_OPT_DICTIONARY,
                                         "another one of some length, just as good", 40, &err));
        OK(holdall_bag_open(path, o, &bag1, &err));
        uint8_t got[RECORD_MOST], want[RECORD_MOST];
        for (uint64_t i = 0; i < 25; i++) {
            size_t n = 0, size = make_record(i, want);
            holdall_status s = holdall_bag_read(bag1, i, got, sizeof got, &n, &err);
            CHECK(s < 0 || (n == size && memcmp(got, want, n) == 0));
        }
        holdall_bag_close(bag1);
        holdall_options_free(o);
    }
}

static void progress_is_reported_and_can_stop_a_call(void)
{
    const char *path = in_tmp("progress.bag");
    write_bag(path, HOLDALL_CREATE, NULL, 3000);
    progress_log t = {0};
    holdall_options *o = holdall_options_new();
    holdall_options_set_progress(o, progress, &t);
    OK(holdall_options_set(o, HOLDALL_OPT_VERIFY, 2, &err));
    holdall_bag *bag;
    OK(holdall_bag_open(path, o, &bag, &err));
    CHECK(t.calls > 1 && t.last == t.total);
    uint8_t digest[64], same[64];
    size_t n;
    t = (progress_log){0};
    OK(holdall_bag_checksum(bag, HOLDALL_CHECKSUM_MD5, digest, sizeof digest, &n, &err));
    CHECK(t.calls > 1 && t.last == t.total);
    /* stopped at each of its reports but the last, when all is done; the handle continues to
     * work */
    uint64_t calls = t.calls;
    for (uint64_t stop = 1; stop < calls; stop++) {
        t = (progress_log){.stop_at = stop};
        GIVES(HOLDALL_E_CANCELLED,
              holdall_bag_checksum(bag, HOLDALL_CHECKSUM_MD5, same, sizeof same, &n, &err));
        EQUAL(t.calls, stop);
    }
    t = (progress_log){0};
    OK(holdall_bag_checksum(bag, HOLDALL_CHECKSUM_MD5, same, sizeof same, &n, &err));
    CHECK(memcmp(digest, same, n) == 0);
    holdall_bag_close(bag);
    t = (progress_log){.stop_at = 1};
    GIVES(HOLDALL_E_CANCELLED, holdall_bag_open(path, o, &bag, &err));
    holdall_options_set_progress(o, NULL, NULL);
    t = (progress_log){0};
    OK(holdall_bag_open(path, o, &bag, &err));
    EQUAL(t.calls, 0);
    holdall_bag_close(bag);
    holdall_options_free(o);
}

int main(void)
{
    RUN(values_out_of_range_are_refused);
    RUN(unknown_options_are_refused);
    RUN(options_that_do_not_apply_are_refused);
    RUN(options_that_do_not_match_the_container_are_refused);
    RUN(options_may_be_freed_after_a_call);
    RUN(progress_is_reported_and_can_stop_a_call);
    return 0;
}
