/* Files that are corrupt, malicious or unusual, written by hand (fixtures: bagz-bad): each gives
 * the result that a careful reader should give, with every way of reading. The table follows
 * `should` of manifest.json in that folder. */
#include "check.h"

/* Most of the files hold the first of these ten records. */
static size_t known_record(uint64_t i, char *dst)
{
    static const char *const tail = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    return (size_t)sprintf(dst, "record number %d %.*s", (int)i, (int)(i % 7) * 5, tail);
}

enum { TAIL = HOLDALL_BAG_LIMITS_TAIL, APART = HOLDALL_BAG_LIMITS_SEPARATE };
enum { ROW = HOLDALL_BAG_SHARDS_CONCATENATED, TURNS = HOLDALL_BAG_SHARDS_INTERLEAVED };

static const struct {
    const char *name, *spec;
    int limits, shards;
    /* 0: chosen by the names */
    int64_t codec;
    /* NULL: it does not open, with this status. Otherwise one letter per record:
     *   . is known_record() of its number, modulo 10     x is an error that names the record
     *   3 is known_record(3)    e is empty    s can be read, with any content
     *   ? is an error, or can be read, but the same in every way
     *   T is two frames: an error, or the content of both    L is larger than the limit */
    const char *records;
    holdall_status status;
    /* Text that the message must contain. */
    const char *says;
} cases[] = {
    {"too_small", "too_small.bag", TAIL, ROW, 0, NULL, HOLDALL_E_FORMAT, "too_small.bag"},
    {"trunc1_none", "trunc1_none.bag", TAIL, ROW, 0, NULL, HOLDALL_E_FORMAT, NULL},
    {"trunc8_none", "trunc8_none.bag", TAIL, ROW, 0, NULL, HOLDALL_E_FORMAT, NULL},
    /* the last limit alone does not show this: the records that can be read have the content that
     * an earlier limit defines */
    {"trunc8_aligned", "trunc8_aligned.bag", TAIL, ROW, 0, "xx????????", HOLDALL_E_FORMAT, NULL},
    {"trunc_mid", "trunc_mid.bag", TAIL, ROW, 0, NULL, HOLDALL_E_FORMAT, NULL},
    {"trunc_zstd_half", "trunc_zstd_half.bagz", TAIL, ROW, 0, NULL, HOLDALL_E_FORMAT, NULL},
    {"nonmono", "nonmono.bag", TAIL, ROW, 0, "....xxx...", HOLDALL_E_FORMAT, NULL},
    {"nonmono_zstd", "nonmono_zstd.bagz", TAIL, ROW, 0, "....xxx...", HOLDALL_E_FORMAT, NULL},
    {"mid_limit_huge", "mid_limit_huge.bag", TAIL, ROW, 0, "...xx.....", HOLDALL_E_FORMAT, NULL},
    {"last_limit_past_end", "last_limit_past_end.bag", TAIL, ROW, 0, NULL, HOLDALL_E_FORMAT, NULL},
    {"last_limit_max", "last_limit_max.bag", TAIL, ROW, 0, NULL, HOLDALL_E_FORMAT, NULL},
    {"limits_not_x8", "limits_not_x8.bag", TAIL, ROW, 0, NULL, HOLDALL_E_FORMAT, NULL},
    {"last_limit_zero", "last_limit_zero.bag", TAIL, ROW, 0,
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", HOLDALL_E_FORMAT, NULL},
    {"bad_magic", "bad_magic.bagz", TAIL, ROW, 0, "...x......", HOLDALL_E_FORMAT, NULL},
    {"bad_body", "bad_body.bagz", TAIL, ROW, 0, "......x...", HOLDALL_E_FORMAT, NULL},
    {"bad_checksum", "bad_checksum.bagz", TAIL, ROW, 0, "......x...", 0, NULL},
    {"frame_cut", "frame_cut.bagz", TAIL, ROW, 0, "..x.......", HOLDALL_E_FORMAT, NULL},
    {"frame_cut_nosize", "frame_cut_nosize.bagz", TAIL, ROW, 0, ".x.", HOLDALL_E_FORMAT, NULL},
    {"bomb_claim", "bomb_claim.bagz", TAIL, ROW, 0, ".x.", HOLDALL_E_FORMAT, NULL},
    {"bomb_claim_sharded", "bomb_claim_sh@3.bagz", TAIL, ROW, 0, ".x.", HOLDALL_E_FORMAT,
     "00001-of-00003"},
    {"bomb_claim_8g", "bomb_claim_8g.bagz", TAIL, ROW, 0, ".x.", HOLDALL_E_FORMAT, NULL},
    /* intact, and larger than the memory limit of these tests */
    {"bomb_real_1g", "bomb_real_1g.bagz", TAIL, ROW, 0, ".L.", HOLDALL_E_LIMIT, NULL},
    {"two_frames", "two_frames.bagz", TAIL, ROW, 0, ".T3", 0, NULL},
    {"frame_trailing", "frame_trailing.bagz", TAIL, ROW, 0, ".x3", HOLDALL_E_FORMAT, NULL},
    {"skippable", "skippable.bagz", TAIL, ROW, 0, ".e3", 0, NULL},
    {"none_as_zstd", "none_as_zstd.bag", TAIL, ROW, HOLDALL_CODEC_ZSTD, "xxxxxxxxxx",
     HOLDALL_E_FORMAT, NULL},
    {"dict_missing", "dict_missing.bagz", TAIL, ROW, 0, "xxxxx", HOLDALL_E_FORMAT, NULL},
    {"missing_shard", "ms@3.bag", TAIL, ROW, 0, NULL, HOLDALL_E_MISSING, "ms-00001-of-00003.bag"},
    {"missing_shard_star", "mt@*.bag", TAIL, ROW, 0, NULL, HOLDALL_E_MISSING,
     "mt-00001-of-00003.bag"},
    {"star_two_sets", "mu@*.bag", TAIL, ROW, 0, NULL, HOLDALL_E_ARGUMENT, "mu-00000-of-00001.bag"},
    {"missing_limits", "ml.bag", APART, ROW, 0, NULL, HOLDALL_E_MISSING, "limits.ml.bag"},
    {"sep_limits_not_x8", "sl.bag", APART, ROW, 0, NULL, HOLDALL_E_FORMAT, "limits.sl.bag"},
    {"sep_limits_short", "ss.bag", APART, ROW, 0, "....", 0, NULL},
    {"sep_records_short", "sr.bag", APART, ROW, 0, "..xxxxxxxx", HOLDALL_E_FORMAT, NULL},
    {"sep_records_empty", "se.bag", APART, ROW, 0, "xxxxxxxxxx", HOLDALL_E_FORMAT, NULL},
    {"comma_separate", "cs1.bag,cs2.bag", APART, ROW, 0, "....................", 0, NULL},
    {"comma_separate_dirs", "cd1/c.bag,cd2/c.bag", APART, ROW, 0, "....................", 0, NULL},
    {"comma_mixed_ext", "cm1.bagz,cm2.bag", TAIL, ROW, 0, "....................", 0, NULL},
    {"star_separate", "st@*.bag", APART, ROW, 0, "....................", 0, NULL},
    {"interleaved_growing", "ig@2.bag", TAIL, TURNS, 0, NULL, HOLDALL_E_FORMAT, NULL},
    {"interleaved_gap2", "iu@2.bag", TAIL, TURNS, 0, NULL, HOLDALL_E_FORMAT, NULL},
    {"directory", "dir.bag", TAIL, ROW, 0, NULL, HOLDALL_E_FORMAT, "dir.bag"},
    {"text_file", "text.bag", TAIL, ROW, 0, NULL, HOLDALL_E_FORMAT, "text.bag"},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* A spec below the folder of fixtures, for each item. */
static void spell(char *dst, size_t size, const char *folder, const char *spec)
{
    size_t n = 0;
    for (const char *item = spec; item != NULL;
         item = strchr(item, ',') ? strchr(item, ',') + 1 : NULL) {
        int length = (int)strcspn(item, ",");
        n += (size_t)snprintf(dst + n, size - n, "%s%s/%.*s", n ? "," : "", folder, length, item);
        CHECK(n < size);
    }
}

/* Does the letter allow these bytes? */
static void check_content(char letter, uint64_t i, const void *bytes, size_t n)
{
    char want[128];
    size_t size = known_record(letter == '3' ? 3 : i % 10, want);
    switch (letter) {
    case '3':
    case '.': CHECK(n == size && memcmp(bytes, want, n) == 0); break;
    case 'e': EQUAL(n, 0); break;
    case '?':
    case 's': break;
    default: CHECK(!"this record should be an error");
    }
}

static bool is_error(char letter)
{
    return letter == 'x' || letter == 'L';
}

/* Reads in every way, also with batches by several threads and with mapped files. */
static void check_records(const char *spec, int c, int64_t io, int64_t cache)
{
    char letters[64];
    snprintf(letters, sizeof letters, "%s", cases[c].records);
    const int64_t *plain = WITH(
        HOLDALL_OPT_BAG_LIMITS, cases[c].limits, HOLDALL_OPT_BAG_SHARDS, cases[c].shards,
        HOLDALL_OPT_CODEC, cases[c].codec ? cases[c].codec : HOLDALL_CODEC_BY_NAME, HOLDALL_OPT_IO,
        io, HOLDALL_OPT_BAG_LIMITS_CACHE, cache, HOLDALL_OPT_MEMORY_LIMIT, 64 << 20);
    holdall_bag *bag = open_bag(spec, plain);
    uint64_t n = holdall_bag_record_count(bag);
    EQUAL(n, strlen(letters));
    static char got[1024];
    holdall_records *batch;
    uint64_t first_error = n;
    for (uint64_t i = 0; i < n; i++) {
        size_t size = 0;
        preset_error();
        holdall_status s = holdall_bag_read(bag, i, got, sizeof got, &size, &err);
        if (letters[i] == '?')
            letters[i] = s < 0 ? 'x' : 's';
        if (letters[i] == 'L') {
            GAVE(HOLDALL_E_BUFFER, s); /* the size is known, and the caller provides the buffer */
            EQUAL(size, 1 << 30);
        } else if (is_error(letters[i])) {
            CHECK(s < 0 && err.status == s && err.position == (int64_t)i);
            CHECK(cases[c].status == 0 || s == cases[c].status);
            CHECK(cases[c].says == NULL || says(cases[c].says));
        } else if (letters[i] == 'T') {
            CHECK(s == HOLDALL_E_FORMAT || (s == HOLDALL_OK && size == 47));
        } else {
            GAVE(HOLDALL_OK, s);
            check_content(letters[i], i, got, size);
        }

        preset_error();
        s = holdall_bag_read_range(bag, i, 1, &batch, &err);
        if (is_error(letters[i])) {
            CHECK(s < 0 && batch == NULL && err.status == s && err.position == (int64_t)i);
            CHECK(cases[c].status == 0 || s == cases[c].status);
            first_error = first_error < i ? first_error : i;
        } else if (letters[i] != 'T') {
            GAVE(HOLDALL_OK, s);
            check_content(letters[i], i, holdall_records_data(batch),
                          (size_t)holdall_records_offsets(batch)[1]);
        }
        holdall_records_free(batch);
    }
    preset_error();
    holdall_status s = holdall_bag_read_range(bag, 0, n, &batch, &err);
    if (first_error < n)
        CHECK(s < 0 && (err.position == (int64_t)first_error ||
                        (s == HOLDALL_E_LIMIT && err.position == -1)));
    else
        GAVE(HOLDALL_OK, s);
    holdall_records_free(batch);
    uint64_t backwards[64];
    for (uint64_t i = 0; i < n; i++)
        backwards[i] = n - 1 - i;
    s = holdall_bag_read_indices(bag, backwards, (size_t)n, &batch, &err);
    CHECK((s == HOLDALL_OK) == (first_error == n));
    holdall_records_free(batch);
    size_t size;
    CHECK((holdall_bag_checksum(bag, HOLDALL_CHECKSUM_CRC32, got, sizeof got, &size, &err) ==
           HOLDALL_OK) == (first_error == n));
    holdall_bag_close(bag);
}

static void check_verify_and_skip(const char *spec, int c)
{
    const char *letters = cases[c].records;
    const bool sure = strpbrk(letters, "T?") == NULL;
    uint64_t n = strlen(letters), corrupt = 0, intact = 99, lost = 99, unchecked = 99;
    for (uint64_t i = 0; i < n; i++)
        corrupt += is_error(letters[i]);
    const int64_t codec = cases[c].codec ? cases[c].codec : HOLDALL_CODEC_BY_NAME;
    holdall_options *o = options_of(WITH(HOLDALL_OPT_BAG_LIMITS, cases[c].limits, HOLDALL_OPT_CODEC,
                                         codec, HOLDALL_OPT_MEMORY_LIMIT, 64 << 20));
    holdall_status s = verify_counts(spec, o, NULL, NULL, &intact, &lost, &unchecked, &err);
    holdall_options_free(o);
    if (sure)
        CHECK((s == HOLDALL_OK) == (corrupt == 0) && lost == corrupt);
    EQUAL(intact + lost + unchecked, n);

    /* a skipped record is reported and empty; exceeding a limit of the caller is not corruption */
    if (strchr(letters, 'L') != NULL)
        return;
    holdall_bag *bag = open_bag(spec, WITH(HOLDALL_OPT_BAG_LIMITS, cases[c].limits,
                                           HOLDALL_OPT_CODEC, codec, HOLDALL_OPT_SKIP_DAMAGED, 1));
    holdall_records *batch;
    preset_error();
    s = holdall_bag_read_range(bag, 0, n, &batch, &err);
    GAVE(holdall_records_damaged_count(batch) > 0 ? HOLDALL_DAMAGED : HOLDALL_OK, s);
    size_t k = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t *at = holdall_records_offsets(batch);
        if (k < holdall_records_damaged_count(batch) &&
            holdall_records_damaged_positions(batch)[k] == i) {
            CHECK((is_error(letters[i]) || letters[i] == 'T' || letters[i] == '?') &&
                  at[i + 1] == at[i]);
            k++;
        } else if (letters[i] != 'T') {
            CHECK(!is_error(letters[i]));
            check_content(letters[i], i, holdall_records_data(batch) + at[i],
                          (size_t)(at[i + 1] - at[i]));
        }
    }
    EQUAL(k, holdall_records_damaged_count(batch));
    holdall_records_free(batch);
    holdall_bag_close(bag);
}

int main(void)
{
    EQUAL(CASES, 43);
    const char *folder = fixtures("bagz-bad");
    if (folder == NULL)
        return 0;
    for (int c = 0; c < CASES; c++) {
        char spec[4096];
        now("%s", cases[c].name);
        spell(spec, sizeof spec, folder, cases[c].spec);
        if (cases[c].records == NULL) {
            holdall_bag *bag;
            const int64_t *pairs = WITH(HOLDALL_OPT_BAG_LIMITS, cases[c].limits,
                                        HOLDALL_OPT_BAG_SHARDS, cases[c].shards);
            GIVES(cases[c].status, try_open(spec, pairs, &bag));
            CHECK(bag == NULL);
            CHECK(cases[c].says == NULL || says(cases[c].says));
            uint64_t intact = 9, corrupt = 9, unchecked = 9;
            holdall_options *o = options_of(pairs);
            GIVES(cases[c].status,
                  verify_counts(spec, o, NULL, NULL, &intact, &corrupt, &unchecked, &err));
            CHECK(cases[c].status == HOLDALL_E_ARGUMENT || intact + corrupt + unchecked == 0);
            holdall_options_free(o);
            continue;
        }
        for (int way = 0; way < 4; way++)
            check_records(spec, c, IO(way % 2), way / 2);
        check_verify_and_skip(spec, c);
    }
    return 0;
}
