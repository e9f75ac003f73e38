/* Specs: several files that are read as one bag, by commas, @N and @*, one after another or in
 * turns.
 *
 * Errors of Bagz 0.3.8 with specs, and the tests here which check that holdall does not share them:
 *   a name with a comma cannot be opened
 *       an_existing_file_is_taken_literally
 *   a file `at@2.bag` can be written and not be read back
 *       an_existing_file_is_taken_literally, test_shard_sets.c
 *   only the last @* of a list is resolved, none beside an @N
 *       each_item_of_a_list_is_resolved
 *   @* or a list with separate limits fails, or loses records
 *       separate_limits_are_read_for_every_form
 *   of two sets that match one @*, the larger is chosen silently
 *       specs_that_match_nothing_are_refused
 *   the error for a missing shard has the spec, not the name of the shard
 *       specs_that_match_nothing_are_refused
 *   the end of the complete spec determines the compression of all files
 *       each_file_has_the_codec_of_its_name
 *   names with a colon are refused; posix: with separate limits
 *       names_may_contain_a_colon
 *   an empty records file with limits is read as empty records
 *       test_bag_malformed.c (sep_records_empty)
 * Errors with slices, ranges and unreadable records (slice leak, overflow, emptied records):
 * test_slice.c, test_bag_malformed.c. */
#include "check.h"

/* Writes records first, first + step, ... to a file. */
static void write_shard(const char *name, const int64_t *pairs, uint64_t first, uint64_t step,
                        uint64_t n)
{
    holdall_bag_writer *w = open_writer(in_tmp(name), HOLDALL_CREATE, pairs);
    for (uint64_t k = 0; k < n; k++)
        append_records(w, first + k * step, 1);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
}

/* Opens a spec of files in $HOLDALL_TMP; $ stands for that folder. */
static holdall_status open_spec(const char *format, const int64_t *pairs, holdall_bag **bag)
{
    char spec[8192] = "";
    size_t n = 0;
    for (const char *c = format; *c; c++) {
        if (*c == '$')
            n += (size_t)snprintf(spec + n, sizeof spec - n, "%s/", getenv("HOLDALL_TMP"));
        else
            spec[n++] = *c;
        CHECK(n < sizeof spec - 1);
        spec[n] = '\0';
    }
    preset_error();
    return try_open(spec, pairs, bag);
}

static void check_spec(const char *format, const int64_t *pairs, uint64_t n, uint32_t shards)
{
    holdall_bag *bag;
    now("%s", format);
    GAVE(HOLDALL_OK, open_spec(format, pairs, &bag));
    EQUAL(holdall_bag_record_count(bag), n);
    EQUAL(holdall_bag_shard_count(bag), shards);
    check_range(bag, 0, n, 0);
    uint64_t numbers[64];
    for (uint64_t k = 0; k < n; k++)
        numbers[k] = (k * 5 + 3) % n;
    holdall_records *batch;
    OK(holdall_bag_read_indices(bag, numbers, (size_t)n, &batch, &err));
    for (uint64_t k = 0; k < n; k++) {
        check_in_batch(batch, (size_t)k, numbers[k]);
        check_record(bag, k, k);
    }
    holdall_records_free(batch);
    holdall_bag *slice;
    OK(holdall_bag_slice(bag, n - 1, n / 2, -2, &slice, &err));
    for (uint64_t k = 0; k < n / 2; k++)
        check_record(slice, k, n - 1 - 2 * k);
    OK(holdall_bag_read_range(slice, 0, n / 2, &batch, &err));
    for (uint64_t k = 0; k < n / 2; k++)
        check_in_batch(batch, (size_t)k, n - 1 - 2 * k);
    holdall_records_free(batch);
    holdall_bag_close(slice);
    holdall_bag_close(bag);
}

static void files_are_read_one_after_another(void)
{
    const int64_t *apart = WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE);
    write_shard("c-00000-of-00003.bagz", NULL, 0, 1, 7);
    write_shard("c-00001-of-00003.bagz", NULL, 7, 1, 0);
    write_shard("c-00002-of-00003.bagz", NULL, 7, 1, 12);
    write_shard("d.bag", NULL, 19, 1, 5);
    write_shard("s-00000-of-00002.bag", apart, 0, 1, 9);
    write_shard("s-00001-of-00002.bag", apart, 9, 1, 9);
    write_shard("t.bag", apart, 18, 1, 2);
    check_spec("$c@3.bagz", NULL, 19, 3);
    check_spec("$c@*.bagz", NULL, 19, 3);
    check_spec("$c@03.bagz", NULL, 19, 3);
    check_spec("$c@3.bagz,$d.bag", NULL, 24, 4);
    check_spec(",$c@*.bagz,,$d.bag,", NULL, 24, 4);
    check_spec("$c-00000-of-00003.bagz,$c-00002-of-00003.bagz", NULL, 19, 2);
    check_spec("$s@2.bag", apart, 18, 2);
    check_spec("$s@*.bag,$t.bag", apart, 20, 3);

    holdall_bag *bag;
    GAVE(HOLDALL_OK, open_spec("$c@3.bagz,$d.bag", NULL, &bag));
    EQUAL(bag_info(bag).codec, HOLDALL_CODEC_MIXED);
    EQUAL(bag_info(bag).stored_bytes,
          file_size(in_tmp("c-00000-of-00003.bagz")) + file_size(in_tmp("c-00001-of-00003.bagz")) +
              file_size(in_tmp("c-00002-of-00003.bagz")) + file_size(in_tmp("d.bag")) +
              file_size(in_tmp("checksums.d.bag")));
    CHECK(bag_info(bag).checksum == HOLDALL_CHECKSUM_CRC32 ||
          bag_info(bag).checksum == HOLDALL_CHECKSUM_ZSTD);
    holdall_bag_close(bag);
    /* one file without checksums leaves the complete bag unchecked */
    write_shard("bare.bag", WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE), 24, 1, 3);
    check_spec("$c@3.bagz,$d.bag,$bare.bag", NULL, 27, 5);
    GAVE(HOLDALL_OK, open_spec("$c@3.bagz,$d.bag,$bare.bag", NULL, &bag));
    EQUAL(bag_info(bag).checksum, HOLDALL_CHECKSUM_NONE);
    holdall_bag_close(bag);
}

static void files_are_read_in_turns(void)
{
    const int64_t *turns = WITH(HOLDALL_OPT_BAG_SHARDS, HOLDALL_BAG_SHARDS_INTERLEAVED);
    write_shard("i-00000-of-00003.bagz", NULL, 0, 3, 6);
    write_shard("i-00001-of-00003.bagz", NULL, 1, 3, 6);
    write_shard("i-00002-of-00003.bagz", NULL, 2, 3, 5);
    check_spec("$i@3.bagz", turns, 17, 3);
    check_spec("$i@*.bagz", turns, 17, 3);
    holdall_bag *bag;
    /* each shard must have as many records as the next one, or one more */
    GAVE(HOLDALL_E_FORMAT, open_spec("$i-00002-of-00003.bagz,$i-00000-of-00003.bagz", turns, &bag));
    GAVE(HOLDALL_E_FORMAT, open_spec("$c@3.bagz", turns, &bag));
    CHECK(says("c-00000-of-00003.bagz, has 7 records") && says("c-00001-of-00003.bagz, has 0"));
}

static void each_item_of_a_list_is_resolved(void)
{
    write_shard("e-00000-of-00002.bagz", NULL, 0, 1, 3);
    write_shard("e-00001-of-00002.bagz", NULL, 3, 1, 4);
    write_shard("f-00000-of-00003.bag", NULL, 7, 1, 2);
    write_shard("f-00001-of-00003.bag", NULL, 9, 1, 2);
    write_shard("f-00002-of-00003.bag", NULL, 11, 1, 2);
    write_shard("g-00000-of-00001.bagz", NULL, 13, 1, 4);
    check_spec("$e@*.bagz,$f@*.bag", NULL, 13, 5);
    check_spec("$e@2.bagz,$f@*.bag,$g@*.bagz", NULL, 17, 6);
    check_spec("$e@*.bagz,$f@3.bag,$g@1.bagz", NULL, 17, 6);
    check_spec("$e@*.bagz,$f@*.bag,$g-00000-of-00001.bagz,", NULL, 17, 6);
}

static void separate_limits_are_read_for_every_form(void)
{
    const int64_t *apart = WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE);
    const int64_t *turns = WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE,
                                HOLDALL_OPT_BAG_SHARDS, HOLDALL_BAG_SHARDS_INTERLEAVED);
    write_shard("h-00000-of-00002.bagz", apart, 0, 1, 3);
    write_shard("h-00001-of-00002.bagz", apart, 3, 1, 4);
    write_shard("i.bag", apart, 7, 1, 9);
    CHECK(mkdir(in_tmp("j"), 0700) == 0);
    write_shard("j/i.bag", apart, 16, 1, 4);
    check_spec("$h@*.bagz", apart, 7, 2);
    check_spec("$h@2.bagz,$i.bag,$j/i.bag", apart, 20, 4);
    check_spec("$h@*.bagz,$i.bag,$j/i.bag", apart, 20, 4);
    check_spec("posix:$h@*.bagz,posix:$i.bag", apart, 16, 3);
    write_shard("t-00000-of-00002.bagz", apart, 0, 3, 3);
    write_shard("t-00001-of-00002.bagz", apart, 1, 3, 3);
    write_shard("u.bag", apart, 2, 3, 2);
    check_spec("$t@2.bagz,$u.bag", turns, 8, 3);
    check_spec("$t@*.bagz,$u.bag", turns, 8, 3);
}

static void each_file_has_the_codec_of_its_name(void)
{
    const int64_t *bare = WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE);
    write_shard("k.bagz", bare, 0, 1, 5);
    write_shard("k.bag", bare, 5, 1, 5);
    write_shard("k.bagz.tmp", bare, 10, 1, 5);
    write_shard("k.bagz-00000-of-00001", bare, 15, 1, 5);
    check_spec("$k.bagz,$k.bag,$k.bagz.tmp,$k.bagz@1", NULL, 20, 4);
    check_spec("$k.bagz,", NULL, 5, 1);
    /* with .bagz at the end of the name, and without */
    static const struct {
        const char *spec;
        int32_t codec;
    } files[] = {{"$k.bagz", HOLDALL_CODEC_ZSTD},
                 {"$k.bagz.tmp", HOLDALL_CODEC_NONE},
                 {"$k.bagz@1", HOLDALL_CODEC_NONE},
                 {"$k.bag", HOLDALL_CODEC_NONE}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        holdall_bag *bag;
        GAVE(HOLDALL_OK, open_spec(files[i].spec, NULL, &bag));
        EQUAL(bag_info(bag).codec, files[i].codec);
        holdall_bag_close(bag);
    }
}

static void names_may_contain_a_colon(void)
{
    const int64_t *apart = WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE);
    char folder[4096];
    CHECK(getcwd(folder, sizeof folder) != NULL && chdir(getenv("HOLDALL_TMP")) == 0);
    holdall_bag_writer *w = open_writer("co:lon.bag", HOLDALL_CREATE, apart);
    append_records(w, 0, 3);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    check_spec("co:lon.bag", apart, 3, 1);
    check_spec("posix:co:lon.bag", apart, 3, 1);
    check_spec("/posix:co:lon.bag", apart, 3, 1);
    check_spec("/posix:$e@2.bagz,/posix:f@*.bag", NULL, 13, 5);
    check_spec("posix:e@2.bagz,posix:f@*.bag", NULL, 13, 5);
    holdall_bag *bag;
    GAVE(HOLDALL_E_MISSING, open_spec("posix:none.bag", apart, &bag));
    CHECK(!there("posix:none.bag") && !there("none.bag") && !there("limits.posix:none.bag"));
    CHECK(chdir(folder) == 0);
}

static void a_backslash_makes_a_character_literal(void)
{
    write_shard("v.bag", NULL, 0, 1, 3);
    CHECK(rename(in_tmp("v.bag"), in_tmp("v,1@2.bag")) == 0 &&
          rename(in_tmp("checksums.v.bag"), in_tmp("checksums.v,1@2.bag")) == 0);
    check_spec("$v\\,1\\@2.bag", NULL, 3, 1);
    write_shard("v-00000-of-00001.bag", NULL, 3, 1, 2);
    check_spec("$v\\,1\\@2.bag,$v@1.bag", NULL, 5, 2);
    holdall_bag *bag;
    GAVE(HOLDALL_E_MISSING, open_spec("$v,1@2.bag,$v@1.bag", NULL, &bag));
    CHECK(mkdir(in_tmp("d,@2"), 0700) == 0);
    write_shard("d,@2/w-00000-of-00002.bag", NULL, 0, 2, 2);
    write_shard("d,@2/w-00001-of-00002.bag", NULL, 1, 2, 2);
    check_spec("$d\\,@2/w@2.bag", WITH(HOLDALL_OPT_BAG_SHARDS, HOLDALL_BAG_SHARDS_INTERLEAVED), 4,
               2);
    check_spec("$d\\,\\@2/w@*.bag", WITH(HOLDALL_OPT_BAG_SHARDS, HOLDALL_BAG_SHARDS_INTERLEAVED), 4,
               2);
    /* a backslash in a file name */
    write_shard("x\\y.bag", NULL, 0, 1, 2);
    check_spec("$x\\y.bag", NULL, 2, 1);
    check_spec("$x\\\\y.bag", NULL, 2, 1);
}

/* The error of a corrupt record has its number in the complete bag, and its file in the message. */
static void errors_name_the_record_and_the_file(void)
{
    size_t n;
    uint8_t *bytes = load(in_tmp("c-00002-of-00003.bagz"), &n);
    bytes[2] ^= 1; /* the magic number of its first frame */
    save(in_tmp("c-00002-of-00003.bagz"), bytes, n);
    free(bytes);
    holdall_bag *bag, *slice;
    holdall_records *batch;
    size_t size;
    GAVE(HOLDALL_OK, open_spec("$c@3.bagz,$d.bag", NULL, &bag));
    uint8_t got[RECORD_MOST];
    GIVES(HOLDALL_E_FORMAT, holdall_bag_read(bag, 7, got, sizeof got, &size, &err));
    EQUAL(err.position, 7);
    CHECK(says("c-00002-of-00003.bagz"));
    GIVES(HOLDALL_E_FORMAT, holdall_bag_read_range(bag, 5, 10, &batch, &err));
    EQUAL(err.position, 7);
    uint64_t numbers[] = {20, 3, 7, 1};
    GIVES(HOLDALL_E_FORMAT, holdall_bag_read_indices(bag, numbers, 4, &batch, &err));
    EQUAL(err.position, 7);
    OK(holdall_bag_slice(bag, 23, 12, -2, &slice, &err));
    GIVES(HOLDALL_E_FORMAT, holdall_bag_read_range(slice, 0, 12, &batch, &err));
    EQUAL(err.position, 8);
    check_range(bag, 0, 7, 0);
    check_range(bag, 8, 16, 8);
    holdall_bag_close(slice);
    holdall_bag_close(bag);
}

static void an_existing_file_is_taken_literally(void)
{
    write_shard("comma.bag", NULL, 0, 1, 3);
    CHECK(rename(in_tmp("comma.bag"), in_tmp("a,b@2.bag")) == 0 &&
          rename(in_tmp("checksums.comma.bag"), in_tmp("checksums.a,b@2.bag")) == 0);
    check_spec("$a,b@2.bag", NULL, 3, 1);
    CHECK(mkdir(in_tmp("dir@2"), 0700) == 0);
    write_shard("dir@2/x.bag", NULL, 0, 1, 4);
    check_spec("$dir@2/x.bag", NULL, 4, 1);
}

static void specs_that_match_nothing_are_refused(void)
{
    holdall_bag *bag;
    static const char *const none[] = {"", ",", ",,"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        size_t bytes = 9;
        uint64_t intact = 9;
        OK(open_spec(none[i], NULL, &bag));
        CHECK(holdall_bag_record_count(bag) == 0 && bag_info(bag).stored_bytes == 0);
        holdall_bag_close(bag);
        OK(open_spec(
            none[i],
            WITH(HOLDALL_OPT_VERIFY, 2, HOLDALL_OPT_BAG_SHARDS, HOLDALL_BAG_SHARDS_INTERLEAVED),
            &bag));
        holdall_bag_close(bag);
        OK(holdall_bag_files(none[i], NULL, 0, &bytes, &err));
        CHECK(bytes == 0);
        /* a call that checks files must not report success for no files */
        GAVE(HOLDALL_E_ARGUMENT,
             verify_counts(none[i], NULL, NULL, NULL, &intact, NULL, NULL, &err));
        GAVE(HOLDALL_E_ARGUMENT, repair_counts(none[i], NULL, NULL, NULL, &err));
        GAVE(HOLDALL_E_ARGUMENT, holdall_identify(none[i], NULL, NULL, &err));
    }
    GAVE(HOLDALL_E_MISSING, open_spec("$none@*.bag", NULL, &bag));
    GAVE(HOLDALL_E_MISSING, open_spec("$c@4.bagz", NULL, &bag));
    CHECK(says("c-00000-of-00004.bagz"));
    GAVE(HOLDALL_E_MISSING, open_spec("$c@3.bagz,$none.bag", NULL, &bag));
    CHECK(says("none.bag"));
    GAVE(HOLDALL_E_MISSING, open_spec("$c@0.bagz", NULL, &bag));
    GAVE(HOLDALL_E_MISSING, open_spec("$c@100000.bagz", NULL, &bag));
    write_shard("c-00000-of-00001.bagz", NULL, 0, 1, 1);
    GAVE(HOLDALL_E_ARGUMENT, open_spec("$c@*.bagz", NULL, &bag));
    CHECK(says("c-00000-of-00001.bagz (1 of the files)") && says("c-00000-of-00003.bagz (3)"));
    CHECK(unlink(in_tmp("c-00000-of-00001.bagz")) == 0 &&
          unlink(in_tmp("c-00001-of-00003.bagz")) == 0);
    GAVE(HOLDALL_E_MISSING, open_spec("$c@*.bagz", NULL, &bag));
    CHECK(says("c-00001-of-00003.bagz"));
}

/* Each name is followed by a NUL. Names that need no search are listed whether they exist or
 * not. */
static void bag_files_lists_the_names(void)
{
    static const char expected[] =
        "/no/a-00000-of-00002.bagz\0/no/a-00001-of-00002.bagz\0/no/b.bag";
    char names[sizeof expected];
    size_t n;
    OK(holdall_bag_files("/no/a@2.bagz,,/no/b.bag", NULL, 0, &n, &err));
    EQUAL(n, sizeof expected);
    GIVES(HOLDALL_E_BUFFER, holdall_bag_files("/no/a@2.bagz,,/no/b.bag", names, n - 1, &n, &err));
    EQUAL(n, sizeof expected);
    OK(holdall_bag_files("/no/a@2.bagz,,/no/b.bag", names, sizeof names, &n, &err));
    CHECK(memcmp(names, expected, sizeof expected) == 0);
    GIVES(HOLDALL_E_MISSING, holdall_bag_files("/no/a@*.bagz", NULL, 0, &n, &err));
}

int main(void)
{
    RUN(files_are_read_one_after_another);
    RUN(files_are_read_in_turns);
    RUN(each_item_of_a_list_is_resolved);
    RUN(separate_limits_are_read_for_every_form);
    RUN(each_file_has_the_codec_of_its_name);
    RUN(names_may_contain_a_colon);
    RUN(a_backslash_makes_a_character_literal);
    RUN(errors_name_the_record_and_the_file);
    RUN(an_existing_file_is_taken_literally);
    RUN(specs_that_match_nothing_are_refused);
    RUN(bag_files_lists_the_names);
    return 0;
}
