/* Specs: several files read as one bag, by commas, @N and @*, one after the other or in turns. */
#include "check.h"

/* Writes records first, first + step, ... to a file. */
static void write_shard(const char *name, const int64_t *pairs, uint64_t first, uint64_t step, uint64_t n)
{
    holdall_bag_writer *w = open_writer(in_tmp(name), HOLDALL_NEW, pairs);
    for (uint64_t k = 0; k < n; k++)
        append_records(w, first + k * step, 1);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
}

/* Opens a spec of files in $HOLDALL_TMP, which stands as $. */
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
    EQUAL(holdall_bag_size(bag), n);
    EQUAL(holdall_bag_shards(bag), shards);
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
    holdall_records_close(batch);
    holdall_bag *slice;
    OK(holdall_bag_slice(bag, n - 1, -2, n / 2, &slice, &err));
    for (uint64_t k = 0; k < n / 2; k++)
        check_record(slice, k, n - 1 - 2 * k);
    OK(holdall_bag_read_range(slice, 0, n / 2, &batch, &err));
    for (uint64_t k = 0; k < n / 2; k++)
        check_in_batch(batch, (size_t)k, n - 1 - 2 * k);
    holdall_records_close(batch);
    holdall_bag_close(slice);
    holdall_bag_close(bag);
}

static void one_after_the_other(void)
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
    EQUAL(holdall_bag_codec(bag), HOLDALL_CODEC_BY_NAME);
    EQUAL(holdall_bag_cbytes(bag), file_size(in_tmp("c-00000-of-00003.bagz")) + file_size(in_tmp("c-00001-of-00003.bagz")) +
                                       file_size(in_tmp("c-00002-of-00003.bagz")) + file_size(in_tmp("d.bag")) + file_size(in_tmp("checksums.d.bag")));
    CHECK(holdall_bag_sum(bag) == HOLDALL_SUM_CRC32 || holdall_bag_sum(bag) == HOLDALL_SUM_ZSTD);
    holdall_bag_close(bag);
    /* one that is not protected leaves the whole unprotected */
    write_shard("bare.bag", WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_SUM_NONE), 24, 1, 3);
    check_spec("$c@3.bagz,$d.bag,$bare.bag", NULL, 27, 5);
    GAVE(HOLDALL_OK, open_spec("$c@3.bagz,$d.bag,$bare.bag", NULL, &bag));
    EQUAL(holdall_bag_sum(bag), HOLDALL_SUM_NONE);
    holdall_bag_close(bag);
}

static void in_turns(void)
{
    const int64_t *turns = WITH(HOLDALL_OPT_BAG_SHARDS, HOLDALL_BAG_SHARDS_INTERLEAVED);
    write_shard("i-00000-of-00003.bagz", NULL, 0, 3, 6);
    write_shard("i-00001-of-00003.bagz", NULL, 1, 3, 6);
    write_shard("i-00002-of-00003.bagz", NULL, 2, 3, 5);
    check_spec("$i@3.bagz", turns, 17, 3);
    check_spec("$i@*.bagz", turns, 17, 3);
    holdall_bag *bag;
    /* each must have as many as the next, or one more */
    GAVE(HOLDALL_E_FORMAT, open_spec("$i-00002-of-00003.bagz,$i-00000-of-00003.bagz", turns, &bag));
    GAVE(HOLDALL_E_FORMAT, open_spec("$c@3.bagz", turns, &bag));
}

/* A damaged record is named by its number in the whole, and by its file in the words. */
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
    OK(holdall_bag_slice(bag, 23, -2, 12, &slice, &err));
    GIVES(HOLDALL_E_FORMAT, holdall_bag_read_range(slice, 0, 12, &batch, &err));
    EQUAL(err.position, 8);
    check_range(bag, 0, 7, 0);
    check_range(bag, 8, 16, 8);
    holdall_bag_close(slice);
    holdall_bag_close(bag);
}

static void what_exists_is_taken_as_it_stands(void)
{
    write_shard("comma.bag", NULL, 0, 1, 3);
    CHECK(rename(in_tmp("comma.bag"), in_tmp("a,b@2.bag")) == 0 && rename(in_tmp("checksums.comma.bag"), in_tmp("checksums.a,b@2.bag")) == 0);
    check_spec("$a,b@2.bag", NULL, 3, 1);
    CHECK(mkdir(in_tmp("dir@2"), 0700) == 0);
    write_shard("dir@2/x.bag", NULL, 0, 1, 4);
    check_spec("$dir@2/x.bag", NULL, 4, 1);
}

static void specs_that_name_nothing(void)
{
    holdall_bag *bag;
    GAVE(HOLDALL_E_ARGUMENT, open_spec("", NULL, &bag));
    GAVE(HOLDALL_E_ARGUMENT, open_spec(",,", NULL, &bag));
    GAVE(HOLDALL_E_MISSING, open_spec("$none@*.bag", NULL, &bag));
    GAVE(HOLDALL_E_MISSING, open_spec("$c@4.bagz", NULL, &bag));
    CHECK(says("c-00000-of-00004.bagz"));
    GAVE(HOLDALL_E_MISSING, open_spec("$c@3.bagz,$none.bag", NULL, &bag));
    CHECK(says("none.bag"));
    GAVE(HOLDALL_E_MISSING, open_spec("$c@0.bagz", NULL, &bag));
    GAVE(HOLDALL_E_MISSING, open_spec("$c@100000.bagz", NULL, &bag));
    write_shard("c-00000-of-00001.bagz", NULL, 0, 1, 1);
    GAVE(HOLDALL_E_ARGUMENT, open_spec("$c@*.bagz", NULL, &bag));
}

int main(void)
{
    RUN(one_after_the_other);
    RUN(in_turns);
    RUN(errors_name_the_record_and_the_file);
    RUN(what_exists_is_taken_as_it_stands);
    RUN(specs_that_name_nothing);
    return 0;
}
