/* Bags: records are read back as written, in every form, one by one and in batches. */
#include "check.h"

enum { FORM_RECORDS = 137 };

static int expected_sum(const int64_t *form)
{
    bool zstd = form[1] == HOLDALL_CODEC_ZSTD, checksum = form[3] != HOLDALL_CHECKSUM_NONE;
    return !checksum ? HOLDALL_CHECKSUM_NONE
           : zstd    ? HOLDALL_CHECKSUM_ZSTD
                     : HOLDALL_CHECKSUM_CRC32;
}

/* Batches of a bag of FORM_RECORDS. */
static void check_batches(const holdall_bag *bag)
{
    check_range(bag, 0, FORM_RECORDS, 0);
    check_range(bag, 0, 0, 0);
    check_range(bag, FORM_RECORDS, 0, 0);
    check_range(bag, 30, 50, 30);
    check_range(bag, 3, 1, 3); /* a single empty record */
    check_range(bag, FORM_RECORDS - 1, 1, FORM_RECORDS - 1);

    /* any order, with repetitions */
    uint64_t indices[3 * FORM_RECORDS];
    for (size_t k = 0; k < 3 * FORM_RECORDS; k++)
        indices[k] = k * 59 % FORM_RECORDS;
    indices[0] = indices[1] = indices[2] = 7;
    holdall_records *records;
    OK(holdall_bag_read_indices(bag, indices, 3 * FORM_RECORDS, &records, &err));
    EQUAL(holdall_records_count(records), 3 * FORM_RECORDS);
    for (size_t k = 0; k < 3 * FORM_RECORDS; k++)
        check_in_batch(records, k, indices[k]);
    holdall_records_free(records);
    OK(holdall_bag_read_indices(bag, indices, 0, &records, &err));
    EQUAL(holdall_records_count(records), 0);
    EQUAL(holdall_records_offsets(records)[0], 0);
    holdall_records_free(records);
    uint64_t empties[] = {3, 8, 3, 13};
    OK(holdall_bag_read_indices(bag, empties, 4, &records, &err));
    EQUAL(holdall_records_offsets(records)[4], 0);
    CHECK(holdall_records_data(records) != NULL);
    CHECK(holdall_records_damaged_count(records) == 0);
    holdall_records_free(records);

    GIVES(HOLDALL_E_RANGE, holdall_bag_read_range(bag, 0, FORM_RECORDS + 1, &records, &err));
    GIVES(HOLDALL_E_RANGE, holdall_bag_read_range(bag, FORM_RECORDS, 1, &records, &err));
    GIVES(HOLDALL_E_RANGE, holdall_bag_read_range(bag, FORM_RECORDS + 1, 0, &records, &err));
    GIVES(HOLDALL_E_RANGE, holdall_bag_read_range(bag, UINT64_MAX, 3, &records, &err));
    GIVES(HOLDALL_E_RANGE, holdall_bag_read_range(bag, 1, UINT64_MAX, &records, &err));
    GIVES(HOLDALL_E_RANGE, holdall_bag_read_range(bag, 0, UINT64_MAX, &records, &err));
    indices[5] = FORM_RECORDS;
    GIVES(HOLDALL_E_RANGE, holdall_bag_read_indices(bag, indices, 9, &records, &err));
    EQUAL(err.position, FORM_RECORDS);
    indices[5] = UINT64_MAX;
    GIVES(HOLDALL_E_RANGE, holdall_bag_read_indices(bag, indices, 9, &records, &err));
}

/* One record at a time: first the size, then a buffer that is too short, one of the exact size, and
 * a larger one. */
static void check_single(const holdall_bag *bag, uint64_t i)
{
    uint8_t want[RECORD_MOST], got[RECORD_MOST + 1];
    size_t size = make_record(i, want), n = 99;
    OK(holdall_bag_read(bag, i, NULL, 0, &n, &err));
    EQUAL(n, size);
    n = 99;
    OK(holdall_bag_read(bag, i, NULL, 12345, &n, &err));
    EQUAL(n, size);
    if (size > 0) {
        n = 99;
        GIVES(HOLDALL_E_BUFFER, holdall_bag_read(bag, i, got, size - 1, &n, &err));
        EQUAL(n, size);
        EQUAL(err.position, i);
    }
    n = 99;
    got[size] = 0xEE;
    OK(holdall_bag_read(bag, i, got, size, &n, &err));
    EQUAL(n, size);
    CHECK(memcmp(got, want, size) == 0 && got[size] == 0xEE);
    check_record(bag, i, i);
}

static void check_form(const char *path, const int64_t *form, bool separate)
{
    const int64_t limits = LIMITS(separate);
    const int64_t *ways[] = {
        WITH(HOLDALL_OPT_BAG_LIMITS, limits, HOLDALL_OPT_CODEC, form[1]),
        WITH(HOLDALL_OPT_BAG_LIMITS, limits, HOLDALL_OPT_CODEC, form[1], HOLDALL_OPT_IO,
             HOLDALL_IO_MAP),
        WITH(HOLDALL_OPT_BAG_LIMITS, limits, HOLDALL_OPT_CODEC, form[1],
             HOLDALL_OPT_BAG_LIMITS_CACHE, 1, HOLDALL_OPT_THREADS, 1),
        WITH(HOLDALL_OPT_BAG_LIMITS, limits, HOLDALL_OPT_CODEC, form[1], HOLDALL_OPT_VERIFY, 2,
             HOLDALL_OPT_SKIP_DAMAGED, 1),
        WITH(HOLDALL_OPT_BAG_LIMITS, limits, HOLDALL_OPT_CODEC, form[1], HOLDALL_OPT_VERIFY, 0),
    };
    char limits_name[80], checksums_name[80];
    snprintf(limits_name, sizeof limits_name, "limits.%s", strrchr(path, '/') + 1);
    snprintf(checksums_name, sizeof checksums_name, "checksums.%s", strrchr(path, '/') + 1);
    EQUAL(there(in_tmp(limits_name)), separate);
    bool checksums = expected_sum(form) == HOLDALL_CHECKSUM_CRC32;
    EQUAL(there(in_tmp(checksums_name)), checksums);
    size_t on_disk = file_size(path);
    on_disk += separate ? file_size(in_tmp(limits_name)) : 0;
    on_disk += checksums ? file_size(in_tmp(checksums_name)) : 0;

    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        now("%s, way %zu", strrchr(path, '/') + 1, w);
        holdall_bag *bag = open_bag(path, ways[w]);
        EQUAL(holdall_bag_record_count(bag), FORM_RECORDS);
        EQUAL(bag_info(bag).codec, form[1]);
        EQUAL(bag_info(bag).limits, LIMITS(separate));
        /* checksums that are not verified protect nothing */
        EQUAL(bag_info(bag).checksum,
              checksums && w == 4 ? HOLDALL_CHECKSUM_NONE : expected_sum(form));
        EQUAL(holdall_bag_shard_count(bag), 1);
        EQUAL(bag_info(bag).stored_bytes, on_disk);
        for (uint64_t i = 0; i < FORM_RECORDS; i += 1 + (uint64_t)(w > 0 || slow()) * 8)
            check_single(bag, i);
        check_batches(bag);
        size_t n = 99;
        GIVES(HOLDALL_E_RANGE, holdall_bag_read(bag, FORM_RECORDS, NULL, 0, &n, &err));
        GIVES(HOLDALL_E_RANGE, holdall_bag_read(bag, UINT64_MAX, NULL, 0, &n, &err));
        holdall_bag_close(bag);
    }
}

/* Limits x codec and level x checksum, appended one by one and in one call. */
static void every_form_is_read_back(void)
{
    static const struct {
        const char *name;
        int64_t codec, level;
    } codecs[] = {
        {"raw", HOLDALL_CODEC_NONE, 0},     {"zstd", HOLDALL_CODEC_ZSTD, 0},
        {"fast", HOLDALL_CODEC_ZSTD, -100}, {"one", HOLDALL_CODEC_ZSTD, 1},
        {"nine", HOLDALL_CODEC_ZSTD, 9},    {"most", HOLDALL_CODEC_ZSTD, 22},
    };
    for (size_t c = 0; c < sizeof codecs / sizeof codecs[0]; c++)
        for (int separate = 0; separate < 2; separate++)
            for (int checksum = 0; checksum < 2; checksum++) {
                if (slow() && c > 1 && (separate || codecs[c].level == 22))
                    continue;
                char name[64];
                /* the name alone selects the codec: .bagz is zstd, any other name is not */
                snprintf(name, sizeof name, "%s-%d-%d.%s", codecs[c].name, separate, checksum,
                         c == 1 ? "bagz" : "bag");
                now("%s", name);
                const int64_t *form =
                    WITH(HOLDALL_OPT_CODEC, codecs[c].codec, HOLDALL_OPT_CHECKSUM,
                         checksum ? HOLDALL_CHECKSUM_CRC32 : HOLDALL_CHECKSUM_NONE,
                         HOLDALL_OPT_DURABILITY, 0, HOLDALL_OPT_BAG_LIMITS, LIMITS(separate),
                         codecs[c].level ? HOLDALL_OPT_LEVEL : 0, codecs[c].level);
                char path[1024];
                snprintf(path, sizeof path, "%s", in_tmp(name));
                write_bag(path, HOLDALL_CREATE, form, FORM_RECORDS);
                check_form(path, form, separate);
            }
    TIDY();
}

static void the_name_selects_the_codec(void)
{
    write_bag(in_tmp("name.bagz"), HOLDALL_CREATE, NULL, 10);
    write_bag(in_tmp("name.bag"), HOLDALL_CREATE, NULL, 10);
    write_bag(in_tmp("name.bagz.tmp"), HOLDALL_CREATE, NULL, 10);
    holdall_bag *z = open_bag(in_tmp("name.bagz"), NULL), *r = open_bag(in_tmp("name.bag"), NULL),
                *t = open_bag(in_tmp("name.bagz.tmp"), NULL);
    EQUAL(bag_info(z).codec, HOLDALL_CODEC_ZSTD);
    EQUAL(bag_info(r).codec, HOLDALL_CODEC_NONE);
    EQUAL(bag_info(t).codec, HOLDALL_CODEC_NONE);
    CHECK(bag_info(z).stored_bytes < bag_info(r).stored_bytes);
    holdall_bag_close(z), holdall_bag_close(r), holdall_bag_close(t);
}

static void an_empty_bag_is_a_bag(void)
{
    for (int separate = 0; separate < 2; separate++)
        for (int zstd = 0; zstd < 2; zstd++) {
            now("separate %d, zstd %d", separate, zstd);
            char path[1024];
            snprintf(path, sizeof path, "%s", in_tmp(zstd ? "empty.bagz" : "empty.bag"));
            const int64_t *form = WITH(HOLDALL_OPT_BAG_LIMITS, LIMITS(separate));
            write_bag(path, HOLDALL_REPLACE, form, 0);
            EQUAL(file_size(path), 0);
            check_bag(path, form, 0);
            holdall_bag *bag = open_bag(path, form);
            EQUAL(bag_info(bag).stored_bytes, 0);
            size_t n;
            GIVES(HOLDALL_E_RANGE, holdall_bag_read(bag, 0, NULL, 0, &n, &err));
            holdall_bag_close(bag);
            uint64_t intact = 9, corrupt = 9, unchecked = 9;
            holdall_options *o = options_of(form);
            OK(verify_counts(path, o, NULL, NULL, &intact, &corrupt, &unchecked, &err));
            holdall_options_free(o);
            EQUAL(intact + corrupt + unchecked, 0);
            write_bag(path, HOLDALL_APPEND, form, 12);
            check_bag(path, form, 12);
        }
}

static void a_huge_record_is_read_back(void)
{
    const size_t huge = (size_t)(slow() ? 2 : 5) << 20;
    uint8_t *record = malloc(huge), *got = malloc(huge);
    CHECK(record != NULL && got != NULL);
    uint32_t x = 1;
    for (size_t i = 0; i < huge; i++) {
        x = x * 1664525 + 1013904223;
        record[i] = (uint8_t)(i & 1024 ? x >> 24 : 'h');
    }
    static const char *const names[] = {"huge.bag", "huge.bagz"};
    for (int k = 0; k < 4; k++) {
        now("huge %d", k);
        const char *path = in_tmp(names[k % 2]);
        const int64_t *form = WITH(HOLDALL_OPT_BAG_LIMITS, LIMITS(k / 2));
        holdall_bag_writer *w = open_writer(path, HOLDALL_REPLACE, form);
        append_records(w, 0, 3);
        OK(holdall_bag_writer_append(w, record, huge, &err));
        append_records(w, 4, 3);
        OK(holdall_bag_writer_commit(w, &err));
        holdall_bag_writer_close(w);
        holdall_bag *bag = open_bag(path, form);
        EQUAL(holdall_bag_record_count(bag), 7);
        check_range(bag, 0, 3, 0);
        check_range(bag, 4, 3, 4);
        size_t n = 0;
        GIVES(HOLDALL_E_BUFFER, holdall_bag_read(bag, 3, got, 10, &n, &err));
        EQUAL(n, huge);
        OK(holdall_bag_read(bag, 3, got, huge, &n, &err));
        CHECK(n == huge && memcmp(record, got, huge) == 0);
        holdall_records *records;
        OK(holdall_bag_read_range(bag, 2, 3, &records, &err));
        check_in_batch(records, 0, 2);
        check_in_batch(records, 2, 4);
        CHECK(memcmp(holdall_records_data(records) + holdall_records_offsets(records)[1], record,
                     huge) == 0);
        holdall_records_free(records);
        holdall_bag_close(bag);
    }
    free(record);
    free(got);
}

static void many_small_records_are_read_back(void)
{
    const uint64_t many = slow() ? 3000 : 20000;
    static const char *const names[] = {"many.bag", "many.bagz"};
    for (int k = 0; k < 2; k++) {
        now("%s", names[k]);
        const char *path = in_tmp(names[k]);
        holdall_bag_writer *w = open_writer(path, HOLDALL_CREATE, NULL);
        /* half of them one by one, half in one call */
        char word[24];
        char *data = malloc((size_t)many * sizeof word);
        uint64_t *offsets = malloc(((size_t)many + 1) * sizeof *offsets);
        CHECK(data != NULL && offsets != NULL);
        size_t n = 0;
        uint64_t half = many / 2;
        for (uint64_t i = 0; i < many; i++) {
            int size = snprintf(word, sizeof word, "%" PRIu64, i * i);
            if (i < half)
                OK(holdall_bag_writer_append(w, word, (size_t)size, &err));
            else {
                offsets[i - half] = n;
                memcpy(data + n, word, (size_t)size);
                n += (size_t)size;
            }
        }
        offsets[many - half] = n;
        OK(holdall_bag_writer_append_many(w, data, offsets, (size_t)(many - half), &err));
        EQUAL(holdall_bag_writer_record_count(w), many);
        OK(holdall_bag_writer_commit(w, &err));
        holdall_bag_writer_close(w);
        free(data);
        free(offsets);

        holdall_bag *bag = open_bag(path, NULL);
        EQUAL(holdall_bag_record_count(bag), many);
        holdall_records *records;
        OK(holdall_bag_read_range(bag, 0, many, &records, &err));
        const uint64_t *at = holdall_records_offsets(records);
        for (uint64_t i = 0; i < many; i++) {
            char got[24];
            size_t size = 0, want = (size_t)snprintf(word, sizeof word, "%" PRIu64, i * i);
            EQUAL(at[i + 1] - at[i], want);
            CHECK(memcmp(holdall_records_data(records) + at[i], word, want) == 0);
            if (i % 10 == 0) {
                OK(holdall_bag_read(bag, i, got, sizeof got, &size, &err));
                CHECK(size == want && memcmp(got, word, want) == 0);
            }
        }
        holdall_records_free(records);
        holdall_bag_close(bag);
    }
}

static void append_many_preserves_order_and_refuses_invalid_offsets(void)
{
    enum { MANY = 3000 };
    uint8_t *data = malloc((size_t)MANY * RECORD_MOST);
    uint64_t *offsets = malloc((MANY + 1) * sizeof *offsets);
    CHECK(data != NULL && offsets != NULL);
    /* the first offset need not be 0 */
    memset(data, '!', 11);
    offsets[0] = 11;
    const uint64_t many = slow() ? 600 : MANY;
    for (uint64_t i = 0; i < many; i++)
        offsets[i + 1] = offsets[i] + make_record(i, data + offsets[i]);
    static const char *const names[] = {"order.bag", "order.bagz"};
    for (int k = 0; k < 4; k++) {
        now("order %d", k);
        const char *path = in_tmp(names[k % 2]);
        holdall_bag_writer *w =
            open_writer(path, HOLDALL_REPLACE, k / 2 ? WITH(HOLDALL_OPT_THREADS, 1) : NULL);
        OK(holdall_bag_writer_append_many(w, data, offsets, (size_t)many, &err));
        EQUAL(holdall_bag_writer_record_count(w), many);
        uint64_t falling[] = {0, 10, 9, 20};
        GIVES(HOLDALL_E_ARGUMENT, holdall_bag_writer_append_many(w, data, falling, 3, &err));
        EQUAL(holdall_bag_writer_record_count(w), many);
        append_records(w, many, 2);
        OK(holdall_bag_writer_commit(w, &err));
        holdall_bag_writer_close(w);
        check_bag(path, NULL, many + 2);
    }
    free(data);
    free(offsets);
}

/* The checksum of the content does not depend on how it is stored; the header defines it. */
static void the_checksum_is_that_of_the_content(void)
{
    write_bag(in_tmp("sum.bag"), HOLDALL_CREATE, NULL, 50);
    write_bag(in_tmp("sum.bagz"), HOLDALL_CREATE,
              WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_OPT_LEVEL, 7), 50);
    uint8_t *content = malloc(50 * (RECORD_MOST + 8));
    CHECK(content != NULL);
    size_t n = 0;
    for (uint64_t i = 0; i < 50; i++) {
        uint8_t *length = content + n;
        uint64_t size = make_record(i, content + n + 8);
        for (int k = 0; k < 8; k++)
            length[k] = (uint8_t)(size >> 8 * k);
        n += 8 + (size_t)size;
    }
    holdall_bag *bags[] = {
        open_bag(in_tmp("sum.bag"), NULL),
        open_bag(in_tmp("sum.bagz"), WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE))};
    for (int sum = HOLDALL_CHECKSUM_NONE; sum <= HOLDALL_CHECKSUM_SHA512; sum++)
        for (int b = 0; b < 2; b++) {
            now("sum %d of bag %d", sum, b);
            uint8_t want[64], got[65];
            size_t size = 99, asked = 99, size2 = 99;
            OK(holdall_checksum_compute(sum, content, n, want, sizeof want, &size, &err));
            OK(holdall_bag_checksum(bags[b], sum, NULL, 0, &asked, &err));
            EQUAL(asked, size);
            OK(holdall_bag_checksum(bags[b], sum, got, size, &size2, &err));
            EQUAL(size2, size);
            CHECK(memcmp(got, want, size) == 0);
            if (size > 0) {
                GIVES(HOLDALL_E_BUFFER,
                      holdall_bag_checksum(bags[b], sum, got, size - 1, &size2, &err));
                EQUAL(size2, size);
            }
        }
    holdall_bag_close(bags[0]);
    holdall_bag_close(bags[1]);
    free(content);
}

/* Readers write nothing: no file is created, removed or changed. */
static void reading_writes_nothing(void)
{
    const char *path = in_tmp("still.bag");
    write_bag(path, HOLDALL_CREATE, NULL, 20);
    struct stat before, after;
    int files = files_with("");
    CHECK(stat(path, &before) == 0);
    check_bag(path, NULL, 20);
    OK(verify_counts(path, NULL, NULL, NULL, NULL, NULL, NULL, &err));
    CHECK(stat(path, &after) == 0);
    EQUAL(files_with(""), files);
    CHECK(before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
          before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    CHECK(before.st_ctim.tv_sec == after.st_ctim.tv_sec &&
          before.st_ctim.tv_nsec == after.st_ctim.tv_nsec);
    CHECK(before.st_ino == after.st_ino && before.st_size == after.st_size);
}

/* The ranges contain each of n items once, in order. */
static void check_ranges(const uint64_t *firsts, const uint64_t *counts, size_t ranges, uint64_t n)
{
    uint64_t next = 0;
    for (size_t i = 0; i < ranges; i++) {
        CHECK(firsts[i] == next && counts[i] > 0);
        next += counts[i];
    }
    EQUAL(next, n);
}

static void splits(void)
{
    holdall_bag_writer *w;
    OK(holdall_bag_writer_open(in_tmp("splits.bag"), HOLDALL_CREATE, NULL, &w, &err));
    for (int i = 0; i < 100; i++)
        OK(holdall_bag_writer_append(w, "0123456789", (size_t)(i % 10), &err));
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    holdall_bag *b;
    OK(holdall_bag_open(in_tmp("splits.bag"), NULL, &b, &err));
    uint64_t firsts[200], counts[200], bytes[200];
    size_t n;
    OK(holdall_bag_splits(b, 4, firsts, counts, bytes, &n, &err));
    EQUAL(n, 4);
    check_ranges(firsts, counts, n, 100);
    EQUAL(bytes[0] + bytes[1] + bytes[2] + bytes[3], 450 + 100 * 8);
    OK(holdall_bag_splits(b, 200, firsts, counts, bytes, &n, &err));
    check_ranges(firsts, counts, n, 100);
    CHECK(n > 50);
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_splits(b, 0, firsts, counts, bytes, &n, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_splits(b, 4, firsts, counts, NULL, &n, &err));
    holdall_bag_close(b);
}

int main(void)
{
    RUN(every_form_is_read_back);
    RUN(the_name_selects_the_codec);
    RUN(an_empty_bag_is_a_bag);
    RUN(a_huge_record_is_read_back);
    RUN(many_small_records_are_read_back);
    RUN(append_many_preserves_order_and_refuses_invalid_offsets);
    RUN(the_checksum_is_that_of_the_content);
    RUN(reading_writes_nothing);
    RUN(splits);
    return 0;
}
