/* A reader that opens during a commit, at every point of it: the storage has the state before the
 * commit, then a state during it, then the state after it, with the switches at any two calls of
 * the reader. The reader must see one complete commit or the other. */
#include "commit_states.h"

enum { OLD = 9, NEW = 14 };

static const struct {
    const char *name;
    int64_t codec, limits, sum;
} forms[] = {
    {"zstd", HOLDALL_CODEC_ZSTD, HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_CRC32},
    {"bare", HOLDALL_CODEC_NONE, HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_NONE},
    {"raw", HOLDALL_CODEC_NONE, HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_CRC32},
    {"zstd, separate", HOLDALL_CODEC_ZSTD, HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_CHECKSUM_CRC32},
    {"raw, separate", HOLDALL_CODEC_NONE, HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_CHECKSUM_CRC32},
    {"bare, separate", HOLDALL_CODEC_NONE, HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_CHECKSUM_NONE},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static void write_film(int form, holdall_mode mode)
{
    const int64_t *pairs = WITH(HOLDALL_OPT_CODEC, forms[form].codec, HOLDALL_OPT_BAG_LIMITS,
                                forms[form].limits, HOLDALL_OPT_CHECKSUM, forms[form].sum);
    folder f = FOLDER;
    holdall_bag_writer *w;
    OK(try_folder_writer(&f, HOLDALL_CREATE, pairs, &w));
    append_records(w, 0, OLD);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    OK(try_folder_writer(&f, mode, pairs, &w));
    append_records(w, mode == HOLDALL_APPEND ? OLD : 50, NEW - (mode == HOLDALL_APPEND ? OLD : 0));
    n_states = 0;
    f.before = take_state;
    OK(holdall_bag_writer_commit(w, &err));
    take_state(&f, SIZE);
    f.before = NULL;
    holdall_bag_writer_close(w);
    folder_clear(&f);
}

/* Opens and reads; returns the number of calls that the open made. */
static long open_and_read(int form, holdall_mode mode, bool cached)
{
    folder f = FOLDER;
    folder_copy(&f, &states[0]);
    f.before = show_state;
    holdall_bag *bag;
    OK(try_folder_bag(&f,
                      WITH(HOLDALL_OPT_CODEC, forms[form].codec, HOLDALL_OPT_BAG_LIMITS,
                           forms[form].limits, HOLDALL_OPT_BAG_LIMITS_CACHE, cached),
                      &bag));
    long calls = f.all_calls;
    uint64_t n = holdall_bag_record_count(bag);
    CHECK(n == OLD || n == NEW);
    /* After the commit: the commit that it opened, or an error. (Replacing a bag that is open for
     * reading is not supported here: these files are known by name only.) */
    first = second = -1;
    folder_clear(&f);
    folder_copy(&f, &states[n_states - 1]);
    for (uint64_t i = 0; i < n && mode == HOLDALL_APPEND; i++) {
        uint8_t got[RECORD_MOST], want[RECORD_MOST];
        size_t size = 0, size2 = make_record(i, want);
        holdall_status s = holdall_bag_read(bag, i, got, sizeof got, &size, &err);
        CHECK(s < 0 || (size == size2 && memcmp(got, want, size) == 0));
        /* after an append it continues, if its limits are in memory or in a file of their own */
        if (cached || forms[form].limits == HOLDALL_BAG_LIMITS_SEPARATE)
            CHECK(s == HOLDALL_OK);
    }
    holdall_bag_close(bag);
    folder_clear(&f);
    return calls;
}

int main(void)
{
    static const holdall_mode modes[] = {HOLDALL_APPEND, HOLDALL_REPLACE};
    static const char *const names[] = {"append", "replace"};
    unsigned turn = 0;
    for (int form = 0; form < FORMS; form++)
        for (int m = 0; m < 2; m++)
            for (int cached = 0; cached < 2; cached++) {
                write_film(form, modes[m]);
                now("%s, %s", forms[form].name, names[m]);
                first = second = -1;
                long calls = open_and_read(form, modes[m], cached);
                for (middle = 0; middle < n_states; middle++)
                    for (long a = 1; a <= calls; a++)
                        for (long b = a; b <= calls + 1; b++) {
                            /* a reader that retries waits between attempts: too slow for all
                             * cases */
                            if (turn++ % (slow() ? 211 : 59) != 0)
                                continue;
                            first = a, second = b;
                            now("%s, %s, cached %d: moment %d of %d from call %ld to %ld of %ld",
                                forms[form].name, names[m], cached, middle, n_states - 1, a, b,
                                calls);
                            open_and_read(form, modes[m], cached);
                        }
            }
    clear_states();
    return 0;
}
