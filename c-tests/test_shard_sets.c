/* Sets of shards: written in turns as one bag, and shard by shard by several processes; and sets
 * with more files than a process may open. */
#include "check.h"
#include "child.h"

#include <fcntl.h>
#include <sys/resource.h>

static const int64_t *const forms[] = {
    WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD),
    WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_OPT_CODEC,
         HOLDALL_CODEC_ZSTD),
    WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_NONE),
    WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_OPT_CODEC,
         HOLDALL_CODEC_NONE),
};

/* These options together with those of a form: valid until the next call. */
static const int64_t *also(const int64_t *form, int64_t option, int64_t value)
{
    static int64_t pairs[16];
    size_t n = 0;
    for (; form[n]; n += 2)
        pairs[n] = form[n], pairs[n + 1] = form[n + 1];
    pairs[n] = option, pairs[n + 1] = value, pairs[n + 2] = pairs[n + 3] = 0;
    return pairs;
}

static const int64_t *in_turns(const int64_t *form)
{
    return also(form, HOLDALL_OPT_BAG_SHARDS, HOLDALL_BAG_SHARDS_INTERLEAVED);
}

static void append_and_commit(const char *path, holdall_mode mode, const int64_t *form,
                              uint64_t first, uint64_t n)
{
    holdall_bag_writer *w = open_writer(path, mode, form);
    EQUAL(holdall_bag_writer_record_count(w), first);
    append_records(w, first, n);
    EQUAL(holdall_bag_writer_record_count(w), first + n);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
}

static void remove_all(void)
{
    char command[1200];
    snprintf(command, sizeof command, "rm -rf '%s'/*", getenv("HOLDALL_TMP"));
    CHECK(system(command) == 0);
}

static void a_set_is_written_in_turns(void)
{
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        char path[1024];
        now("form %zu", f);
        snprintf(path, sizeof path, "%s", in_tmp("s@4.bag"));
        holdall_bag_writer *w;
        GIVES(HOLDALL_E_MISSING, try_writer(path, HOLDALL_APPEND, forms[f], &w));
        GIVES(HOLDALL_E_ARGUMENT, try_writer(in_tmp("s@*.bag"), HOLDALL_CREATE, forms[f], &w));
        append_and_commit(path, HOLDALL_CREATE, forms[f], 0, 6);
        append_and_commit(path, HOLDALL_APPEND, forms[f], 6, 1);
        append_and_commit(in_tmp("s@*.bag"), HOLDALL_APPEND, forms[f], 7, 0);
        append_and_commit(in_tmp("s@04.bag"), HOLDALL_APPEND, forms[f], 7, 102);
        check_bag(path, in_turns(forms[f]), 109);
        check_bag(path, forms[f], 109); /* the files state it themselves */
        GIVES(HOLDALL_E_EXISTS, try_writer(path, HOLDALL_CREATE, forms[f], &w));
        for (uint32_t i = 0; i < 4; i++) {
            char name[64];
            snprintf(name, sizeof name, "s-0000%u-of-00004.bag", i);
            holdall_bag *shard = open_bag(in_tmp(name), forms[f]);
            EQUAL(holdall_bag_record_count(shard), 27 + (i < 1));
            for (uint64_t k = 0; k < holdall_bag_record_count(shard); k++)
                check_record(shard, k, 4 * k + i);
            holdall_bag_close(shard);
        }
        holdall_bag *bag = open_bag(path, forms[f]);
        CHECK(strstr(holdall_bag_shard_name(bag, 3), "s-00003-of-00004.bag") != NULL &&
              holdall_bag_shard_name(bag, 4) == NULL);
        CHECK(holdall_bag_shard_record_count(bag, 0) == 28 &&
              holdall_bag_shard_record_count(bag, 3) == 27 &&
              holdall_bag_shard_record_count(bag, 4) == 0);
        CHECK(holdall_bag_shard_name(NULL, 0) == NULL &&
              holdall_bag_shard_record_count(NULL, 0) == 0);
        holdall_bag_close(bag);

        /* uncommitted records are not visible; the commit replaces all files at once */
        w = open_writer(path, HOLDALL_REPLACE, forms[f]);
        append_records(w, 0, 5);
        check_bag(path, in_turns(forms[f]), 109);
        holdall_bag_writer_close(w);
        check_bag(path, in_turns(forms[f]), 109);
        append_and_commit(path, HOLDALL_REPLACE, forms[f], 0, 5);
        check_bag(path, in_turns(forms[f]), 5);
        TIDY();

        uint64_t retained = 0, dropped = 9;
        holdall_options *o = options_of(forms[f]);
        OK(repair_counts(path, o, &retained, &dropped, &err));
        CHECK(retained == 5 && dropped == 0);
        holdall_options_free(o);
        remove_all();
    }
}

static void each_shard_is_written_by_its_own_process(void)
{
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        pid_t children[4];
        now("form %zu", f);
        for (unsigned i = 0; i < 4; i++) {
            if ((children[i] = forked()) == 0) {
                char name[64];
                uint64_t n = 0;
                uint8_t record[RECORD_MOST];
                snprintf(name, sizeof name, "p-0000%u-of-00004.bag", i);
                for (int round = 0; round < 5; round++) {
                    holdall_bag_writer *w = open_writer(
                        in_tmp(name), round ? HOLDALL_APPEND : HOLDALL_CREATE, forms[f]);
                    EQUAL(holdall_bag_writer_record_count(w), n);
                    for (int k = 0; k < 20; k++, n++)
                        OK(holdall_bag_writer_append(w, record, make_record(4 * n + i, record),
                                                     &err));
                    OK(holdall_bag_writer_commit(w, &err));
                    holdall_bag_writer_close(w);
                }
                _exit(0);
            }
        }
        for (unsigned i = 0; i < 4; i++)
            check_child(children[i], 0);
        check_bag(in_tmp("p@4.bag"), in_turns(forms[f]), 400);
        holdall_bag_writer *none;
        GIVES(HOLDALL_E_STATE, try_writer(in_tmp("p@4.bag"), HOLDALL_APPEND, forms[f],
                                          &none)); /* nothing shows that they are in turns */
        append_and_commit(in_tmp("p@4.bag"), HOLDALL_APPEND, in_turns(forms[f]), 400, 3);
        check_bag(in_tmp("p@4.bag"), in_turns(forms[f]), 403);
        TIDY();
        remove_all();
    }
}

static void one_writer_holds_the_lock_of_a_shard(void)
{
    const char *set = in_tmp("l@2.bag"), *a = in_tmp("l-00000-of-00002.bag"),
               *b = in_tmp("l-00001-of-00002.bag");
    holdall_bag_writer *w, *other, *third;
    append_and_commit(set, HOLDALL_CREATE, NULL, 0, 4);
    w = open_writer(set, HOLDALL_APPEND, NULL);
    GIVES(HOLDALL_E_BUSY, try_writer(set, HOLDALL_APPEND, NULL, &other));
    GIVES(HOLDALL_E_BUSY, try_writer(a, HOLDALL_APPEND, NULL, &other));
    GIVES(HOLDALL_E_BUSY, repair_counts(b, NULL, NULL, NULL, &err));
    holdall_bag_writer_close(w);
    w = open_writer(a, HOLDALL_APPEND, NULL);
    other = open_writer(b, HOLDALL_APPEND, NULL);
    GIVES(HOLDALL_E_BUSY, try_writer(a, HOLDALL_APPEND, NULL, &third));
    GIVES(HOLDALL_E_BUSY, try_writer(set, HOLDALL_APPEND, NULL, &third));
    holdall_bag_writer_close(w);
    GIVES(HOLDALL_E_BUSY, try_writer(set, HOLDALL_APPEND, NULL, &third));
    holdall_bag_writer_close(other);
    TIDY();
    append_and_commit(set, HOLDALL_APPEND, NULL, 4, 1);

    /* written shard by shard, they no longer have the order of turns */
    w = open_writer(b, HOLDALL_APPEND, NULL);
    append_records(w, 0, 5);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    GIVES(HOLDALL_E_STATE, try_writer(set, HOLDALL_APPEND, NULL, &w));
    CHECK(says("l-00000-of-00002.bag") && says("it has 3 records"));
    remove_all();
}

static void an_existing_file_is_taken_literally(void)
{
    holdall_bag_writer *w;
    append_and_commit(in_tmp("n\\@2.bag"), HOLDALL_CREATE, NULL, 0, 3);
    CHECK(there(in_tmp("n@2.bag")) && !there(in_tmp("n-00000-of-00002.bag")));
    check_bag(in_tmp("n\\@2.bag"), NULL, 3);
    /* it exists: the path is its name */
    check_bag(in_tmp("n@2.bag"), NULL, 3);
    append_and_commit(in_tmp("n@2.bag"), HOLDALL_APPEND, NULL, 3, 1);
    check_bag(in_tmp("n@2.bag"), NULL, 4);
    append_and_commit(in_tmp("a,b\\@c@2.bag"), HOLDALL_CREATE, NULL, 0, 3);
    CHECK(there(in_tmp("a,b@c-00001-of-00002.bag")));
    check_bag(in_tmp("a\\,b\\@c@2.bag"), in_turns((int64_t[]){0, 0}), 3);
    CHECK(symlink(in_tmp("n@2.bag"), in_tmp("k-00001-of-00002.bag")) == 0);
    GIVES(HOLDALL_E_UNSUPPORTED, try_writer(in_tmp("k@2.bag"), HOLDALL_REPLACE, NULL, &w));
    CHECK(says("k-00001-of-00002.bag"));
    GIVES(HOLDALL_E_MISSING, try_writer(in_tmp("none/k@2.bag"), HOLDALL_CREATE, NULL, &w));
    TIDY();
    remove_all();
}

/* More files than may be open: shards, limits and checksums of each. */
static void many_shards_are_written_and_read(void)
{
    const uint32_t shards = slow() ? 150 : 1000;
    const uint64_t records = 5 * shards / 2;
    char spec[32], replaced[64];
    snprintf(spec, sizeof spec, "m@%u.bag", shards);
    snprintf(replaced, sizeof replaced, "m-00001-of-%05u.bag", shards);
    const int64_t *form = WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE,
                               HOLDALL_OPT_CODEC, HOLDALL_CODEC_NONE, HOLDALL_OPT_DURABILITY, 0);
    const int64_t *reading = WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE,
                                  HOLDALL_OPT_BAG_SHARDS, HOLDALL_BAG_SHARDS_INTERLEAVED);
    const int64_t *mapped = WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE,
                                 HOLDALL_OPT_BAG_SHARDS, HOLDALL_BAG_SHARDS_INTERLEAVED,
                                 HOLDALL_OPT_IO, HOLDALL_IO_MAP);
    struct rlimit before, few;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    few = before, few.rlim_cur = 256;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    append_and_commit(in_tmp(spec), HOLDALL_CREATE, form, 0, shards / 2);
    append_and_commit(in_tmp(spec), HOLDALL_APPEND, form, shards / 2, records - shards / 2);
    holdall_bag *all[3];
    for (int i = 0; i < 3; i++) {
        all[i] = open_bag(in_tmp(i ? spec : "m@*.bag"), i == 2 ? mapped : reading);
        EQUAL(holdall_bag_shard_count(all[i]), shards);
        EQUAL(bag_info(all[i]).checksum, HOLDALL_CHECKSUM_CRC32);
    }
    for (int i = 0; i < 3; i++) {
        check_range(all[i], 0, records, 0);
        for (uint64_t k = 0; k < records; k += 7)
            check_record(all[i], (k * 997) % records, (k * 997) % records);
    }
    /* a shard that was replaced since is reported */
    append_and_commit(in_tmp(replaced), HOLDALL_REPLACE, form, 0, 3);
    uint8_t got[RECORD_MOST];
    size_t n;
    for (uint64_t k = 2; k < shards / 2; k++)
        check_record(all[0], k, k);
    GIVES(HOLDALL_E_STATE, holdall_bag_read(all[0], 1, got, sizeof got, &n, &err));
    CHECK(says(replaced));
    for (int i = 0; i < 3; i++)
        holdall_bag_close(all[i]);
    TIDY();
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    remove_all();
}

/* Opens all file descriptors that the process may still open, except n; returns their number. */
static int take_all_but(int left, int *taken, int most)
{
    int n = 0;
    while (n < most && (taken[n] = open("/dev/null", O_RDONLY)) >= 0)
        n++;
    CHECK(n < most && errno == EMFILE);
    for (; left > 0 && n > 0; left--)
        close(taken[--n]);
    EQUAL(left, 0);
    return n;
}

/* Does the system enforce the limit on open files? valgrind reserves some for itself. */
static bool says_how_many(unsigned may)
{
    char line[128];
    unsigned soft;
    bool found = false;
    FILE *limits = fopen("/proc/self/limits", "r");
    while (limits && fgets(line, sizeof line, limits))
        found |= sscanf(line, "Max open files %u", &soft) == 1 && soft == may;
    if (limits)
        fclose(limits);
    return found;
}

/* Sets of far more files than the process may open, in a process that uses most of its file
 * descriptors itself. */
static void few_file_descriptors_are_enough(void)
{
    enum { MAY = 64, RECORDS = 500 };
    int taken[MAY];
    struct rlimit before, few;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    few = before, few.rlim_cur = MAY;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        now("form %zu", f);
        CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
        if (!says_how_many(MAY)) {
            printf("few open files: left out, the system does not say how many there may be\n");
            CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
            return;
        }
        append_and_commit(in_tmp("f@60.bag"), HOLDALL_CREATE, forms[f], 0, RECORDS / 2);
        append_and_commit(in_tmp("f@60.bag"), HOLDALL_APPEND, forms[f], RECORDS / 2, RECORDS / 2);
        holdall_bag *first = open_bag(in_tmp("f@60.bag"), in_turns(forms[f])), *second, *none;
        /* most of them are left to the process */
        int n = take_all_but(MAY / 2, taken, MAY);
        second = open_bag(in_tmp("f@60.bag"), in_turns(forms[f]));
        check_range(first, 0, RECORDS, 0);
        check_range(second, 0, RECORDS, 0);
        n += take_all_but(0, taken + n, MAY - n);
        /* the files that the bags have open are enough to continue */
        for (uint64_t k = 0; k < RECORDS; k += 7)
            check_record(first, k, k), check_record(second, RECORDS - 1 - k, RECORDS - 1 - k);
        holdall_bag_close(first);
        holdall_bag_close(second);
        n += take_all_but(0, taken + n, MAY - n);
        holdall_options *o = options_of(in_turns(forms[f]));
        GIVES(HOLDALL_E_IO, holdall_bag_open(in_tmp("f@60.bag"), o, &none, &err));
        CHECK(err.os_code == EMFILE && says("ulimit -n"));
        holdall_options_free(o);
        for (int k = 0; k < 6; k++)
            close(taken[--n]);
        check_bag(in_tmp("f@60.bag"), in_turns(forms[f]), RECORDS);
        append_and_commit(in_tmp("f@60.bag"), HOLDALL_APPEND, forms[f], RECORDS, 100);
        check_bag(in_tmp("f@60.bag"), in_turns(forms[f]), RECORDS + 100);
        while (n > 0)
            close(taken[--n]);
        CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
        /* the limit is lowered to the used number after the open: a set of few files opens in any
         * case */
        append_and_commit(in_tmp("g@5.bag"), HOLDALL_CREATE, forms[f], 0, RECORDS);
        CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){256, before.rlim_max}) == 0);
        int most[256];
        n = take_all_but(6, most, 256);
        check_bag(in_tmp("g@5.bag"), in_turns(forms[f]), RECORDS);
        while (n > 0)
            close(most[--n]);
        CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
        remove_all();
    }
}

int main(void)
{
    RUN(a_set_is_written_in_turns);
    RUN(each_shard_is_written_by_its_own_process);
    RUN(one_writer_holds_the_lock_of_a_shard);
    RUN(an_existing_file_is_taken_literally);
    RUN(many_shards_are_written_and_read);
    RUN(few_file_descriptors_are_enough);
    return 0;
}
