/* Constants of one family passed for those of another, names of constants, and containers that are
 * opened as another kind. */
#include "folder.h"

static const int32_t modes[] = {HOLDALL_READ, HOLDALL_APPEND, HOLDALL_CREATE, HOLDALL_REPLACE},
                     kinds[] = {HOLDALL_KIND_SCHUNK, HOLDALL_KIND_ARRAY, HOLDALL_KIND_TABLE,
                                HOLDALL_KIND_BAG,    HOLDALL_KIND_STORE},
                     formats[] = {HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_BCOLZ,
                                  HOLDALL_FORMAT_BLZ,       HOLDALL_FORMAT_BLZ_RFC,
                                  HOLDALL_FORMAT_B2FRAME,   HOLDALL_FORMAT_CATERVA,
                                  HOLDALL_FORMAT_B2ND,      HOLDALL_FORMAT_BAGZ,
                                  HOLDALL_FORMAT_B2D,       HOLDALL_FORMAT_B2Z,
                                  HOLDALL_FORMAT_B2E,       HOLDALL_FORMAT_CTABLE},
                     codecs[] = {HOLDALL_CODEC_NONE,  HOLDALL_CODEC_BLOSCLZ, HOLDALL_CODEC_LZ4,
                                 HOLDALL_CODEC_LZ4HC, HOLDALL_CODEC_SNAPPY,  HOLDALL_CODEC_ZLIB,
                                 HOLDALL_CODEC_ZSTD,  HOLDALL_CODEC_BY_NAME, HOLDALL_CODEC_MIXED},
                     checksums[] = {HOLDALL_CHECKSUM_NONE,   HOLDALL_CHECKSUM_ADLER32,
                                    HOLDALL_CHECKSUM_CRC32,  HOLDALL_CHECKSUM_MD5,
                                    HOLDALL_CHECKSUM_SHA1,   HOLDALL_CHECKSUM_SHA224,
                                    HOLDALL_CHECKSUM_SHA256, HOLDALL_CHECKSUM_SHA384,
                                    HOLDALL_CHECKSUM_SHA512, HOLDALL_CHECKSUM_ZSTD},
                     filters[] = {HOLDALL_FILTER_NONE, HOLDALL_FILTER_SHUFFLE,
                                  HOLDALL_FILTER_BITSHUFFLE, HOLDALL_FILTER_DELTA,
                                  HOLDALL_FILTER_BYTEDELTA, HOLDALL_FILTER_TRUNC_PREC},
                     others[] = {HOLDALL_ORDER_C,
                                 HOLDALL_ORDER_F,
                                 HOLDALL_BAG_DICTIONARY_SEPARATE,
                                 HOLDALL_BAG_DICTIONARY_STORED,
                                 HOLDALL_BAG_DICTIONARY_AUTO,
                                 HOLDALL_BAG_LIMITS_TAIL,
                                 HOLDALL_BAG_LIMITS_SEPARATE,
                                 HOLDALL_BAG_SHARDS_CONCATENATED,
                                 HOLDALL_BAG_SHARDS_INTERLEAVED,
                                 HOLDALL_IO_READ,
                                 HOLDALL_IO_MAP};
#define FAMILY(all) {all, sizeof all / sizeof all[0]}
static const struct {
    const int32_t *all;
    size_t n;
} families[] = {FAMILY(modes),     FAMILY(kinds),   FAMILY(formats), FAMILY(codecs),
                FAMILY(checksums), FAMILY(filters), FAMILY(others)};
enum { MODES, KINDS, FORMATS, CODECS, CHECKSUMS, FILTERS, OTHERS, FAMILIES };

/* Calls this for each constant that is not of this family, and for numbers that are no
 * constants. */
static void each_other(int family, void (*call)(int32_t number))
{
    static const int32_t none[] = {0, 1, 2, 3, -1, 50, 99, 1000, INT32_MAX, INT32_MIN};
    for (int f = 0; f < FAMILIES; f++)
        for (size_t i = 0; f != family && i < families[f].n; i++)
            call(families[f].all[i]);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        call(none[i]);
}

static void no_mode(int32_t number)
{
    now("mode %d", number);
    holdall_schunk *s;
    holdall_array *a;
    holdall_table *t;
    holdall_bag_writer *w;
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_open(in_tmp("none"), number, NULL, &s, &err));
    CHECK(says("mode"));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_open(in_tmp("none"), number, NULL, &a, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_open(in_tmp("none"), number, NULL, &t, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_writer_open(in_tmp("none"), number, NULL, &w, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_create(in_tmp("none"), number,
                                                    HOLDALL_FORMAT_BLOSCPACK, 1, NULL, &s, &err));
}

static void no_format(int32_t number)
{
    now("format %d", number);
    static const uint64_t shape[] = {3};
    static const char *const names[] = {"x"}, *const dtypes[] = {"<i4"};
    holdall_schunk *s;
    holdall_array *a;
    holdall_table *t;
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_schunk_create(in_tmp("none"), HOLDALL_CREATE, number, 1, NULL, &s, &err));
    CHECK(says("format"));
    GIVES(HOLDALL_E_ARGUMENT, array_create(in_tmp("none"), HOLDALL_CREATE, number, "<i4", 1, shape,
                                           NULL, NULL, NULL, &a, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          table_create(in_tmp("none"), HOLDALL_CREATE, number, 1, names, dtypes, NULL, &t, &err));
}

static void refuses(holdall_option option, int32_t number)
{
    holdall_options *o = holdall_options_new();
    GIVES(HOLDALL_E_ARGUMENT, holdall_options_set(o, option, number, &err));
    holdall_options_free(o);
}

static void no_codec(int32_t number)
{
    now("codec %d", number);
    refuses(HOLDALL_OPT_CODEC, number);
    CHECK(says("HOLDALL_OPT_CODEC"));
}

static void no_checksum(int32_t number)
{
    now("checksum %d", number);
    size_t n;
    refuses(HOLDALL_OPT_CHECKSUM, number);
    CHECK(says("HOLDALL_OPT_CHECKSUM"));
    holdall_checksum *c;
    GIVES(HOLDALL_E_ARGUMENT, holdall_checksum_compute(number, "x", 1, NULL, 0, &n, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_checksum_new(number, &c, &err));
    CHECK(c == NULL);
}

static void no_filter(int32_t number)
{
    now("filter %d", number);
    if (number < 0 || number > 255)
        return;
    uint8_t filter = (uint8_t)number;
    holdall_options *o = holdall_options_new();
    GIVES(HOLDALL_E_ARGUMENT, holdall_options_set_bytes(o, HOLDALL_OPT_FILTERS, &filter, 1, &err));
    CHECK(says("HOLDALL_OPT_FILTERS"));
    holdall_options_free(o);
}

static void no_other(int32_t number)
{
    now("value %d", number);
    refuses(HOLDALL_OPT_BAG_DICTIONARY, number);
    refuses(HOLDALL_OPT_BAG_LIMITS, number);
    refuses(HOLDALL_OPT_BAG_SHARDS, number);
    refuses(HOLDALL_OPT_IO, number);
}

static void exchanged_constants_are_refused(void)
{
    each_other(MODES, no_mode);
    each_other(FORMATS, no_format);
    each_other(CODECS, no_codec);
    each_other(CHECKSUMS, no_checksum);
    each_other(FILTERS, no_filter);
    each_other(OTHERS, no_other);
    /* two families that have one type in C */
    holdall_schunk *s;
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_create(in_tmp("none"), HOLDALL_FORMAT_BLOSCPACK,
                                                    HOLDALL_CREATE, 1, NULL, &s, &err));
    EQUAL(files_with("none"), 0);
}

static void constants_have_names(void)
{
    static const struct {
        int32_t number;
        const char *name;
    } all[] = {
        {HOLDALL_READ, "read"},
        {HOLDALL_APPEND, "append"},
        {HOLDALL_CREATE, "create"},
        {HOLDALL_REPLACE, "replace"},
        {HOLDALL_KIND_ARRAY, "array"},
        {HOLDALL_KIND_SCHUNK, "schunk"},
        {HOLDALL_FORMAT_B2ND, "b2nd"},
        {HOLDALL_FORMAT_BLZ_RFC, "blz_rfc"},
        {HOLDALL_CODEC_ZSTD, "zstd"},
        {HOLDALL_CODEC_MIXED, "mixed"},
        {HOLDALL_CHECKSUM_CRC32, "crc32"},
        {HOLDALL_CHECKSUM_ZSTD, "zstd"},
        {HOLDALL_ORDER_F, "f"},
        {HOLDALL_FILTER_SHUFFLE, "shuffle"},
        {HOLDALL_IO_MAP, "map"},
        {HOLDALL_BAG_DICTIONARY_AUTO, "auto"},
        {HOLDALL_BAG_SHARDS_INTERLEAVED, "interleaved"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        now("%d", all[i].number);
        const char *name = holdall_constant_name(all[i].number);
        CHECK(name != NULL && strcmp(name, all[i].name) == 0 &&
              name == holdall_constant_name(all[i].number));
    }
    int named = 0;
    for (int32_t number = -10; number <= 2000; number++)
        named += holdall_constant_name(number) != NULL;
    size_t known = 0;
    for (int f = 0; f < FAMILIES; f++) {
        known += families[f].n;
        for (size_t i = 0; i < families[f].n; i++)
            CHECK(holdall_constant_name(families[f].all[i]) != NULL);
    }
    EQUAL(named, known);
    static const int32_t none[] = {INT32_MIN, 0, HOLDALL_OPT_CODEC, INT32_MAX};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        CHECK(holdall_constant_name(none[i]) == NULL);
}

/* ---- containers of another kind ---------------------------------------------------------------*/

enum { OPEN_SCHUNK, OPEN_ARRAY, OPEN_TABLE, OPEN_BAG, APPEND_BAG, OPENS };

static holdall_status open_as(int how, const char *path, holdall_mode mode)
{
    holdall_schunk *s = NULL;
    holdall_array *a = NULL;
    holdall_table *t = NULL;
    holdall_bag *b = NULL;
    holdall_bag_writer *w = NULL;
    preset_error();
    holdall_status status = how == OPEN_SCHUNK  ? holdall_schunk_open(path, mode, NULL, &s, &err)
                            : how == OPEN_ARRAY ? holdall_array_open(path, mode, NULL, &a, &err)
                            : how == OPEN_TABLE ? holdall_table_open(path, mode, NULL, &t, &err)
                            : how == OPEN_BAG
                                ? holdall_bag_open(path, NULL, &b, &err)
                                : holdall_bag_writer_open(path, HOLDALL_APPEND, NULL, &w, &err);
    CHECK((status >= 0) == (s != NULL || a != NULL || t != NULL || b != NULL || w != NULL));
    holdall_schunk_close(s);
    holdall_array_close(a);
    holdall_table_close(t);
    holdall_bag_close(b);
    holdall_bag_writer_close(w);
    return status;
}

static void another_kind_is_a_type_error(void)
{
    /* The handles that can be opened: a letter for each of OPEN_SCHUNK and so on; y: it can. */
    static const struct {
        const char *name, *opens, *message, *call;
    } all[] = {
        {"x.blp", "y-nnn", "a superchunk (bloscpack)", "holdall_schunk_open()"},
        {"x.b2frame", "yynnn", "a superchunk (b2frame)", "holdall_schunk_open()"},
        {"x.blp.array", "yynnn", "a superchunk (bloscpack)", "holdall_schunk_open()"},
        {"x.b2nd", "yynnn", "an array (b2nd)", "holdall_array_open()"},
        {"x.cat", "yynnn", "an array (caterva)", "holdall_array_open()"},
        {"array.bcolz", "nynnn", "an array (bcolz)", "holdall_array_open()"},
        {"array.blz", "nynnn", "an array (blz)", "holdall_array_open()"},
        {"array.rfc", "nynnn", "an array (blz_rfc)", "holdall_array_open()"},
        {"table.bcolz", "nnynn", "a table (bcolz)", "holdall_table_open()"},
        {"table.blz", "nnynn", "a table (blz)", "holdall_table_open()"},
        {"x.bagz", "nnnyy", "a bag of records (bagz)", "holdall_bag_open()"},
        {"x.bag", "nnnyy", "a bag of records (bagz)", "holdall_bag_open()"},
    };
    static const uint64_t shape[] = {4, 3};
    static const char *const names[] = {"x"}, *const dtypes[] = {"<i4"};
    holdall_schunk *s;
    holdall_array *a;
    holdall_table *t;
    for (int k = 0; k < 2; k++) {
        OK(holdall_schunk_create(in_tmp(k ? "x.b2frame" : "x.blp"), HOLDALL_CREATE,
                                 k ? HOLDALL_FORMAT_B2FRAME : HOLDALL_FORMAT_BLOSCPACK, 1, NULL, &s,
                                 &err));
        OK(holdall_schunk_append(s, "some bytes", 10, &err));
        OK(holdall_schunk_commit(s, &err));
        holdall_schunk_close(s);
        OK(table_create(in_tmp(k ? "table.blz" : "table.bcolz"), HOLDALL_CREATE,
                        k ? HOLDALL_FORMAT_BLZ : HOLDALL_FORMAT_BCOLZ, 1, names, dtypes, NULL, &t,
                        &err));
        OK(holdall_table_append(t, 1, (const void *[]){"1234"}, (const size_t[]){4}, &err));
        OK(holdall_table_commit(t, &err));
        holdall_table_close(t);
        write_bag(in_tmp(k ? "x.bag" : "x.bagz"), HOLDALL_CREATE, NULL, 3);
    }
    static const struct {
        const char *name;
        holdall_format format;
    } arrays[] = {{"x.blp.array", HOLDALL_FORMAT_BLOSCPACK}, {"x.b2nd", HOLDALL_FORMAT_B2ND},
                  {"x.cat", HOLDALL_FORMAT_CATERVA},         {"array.bcolz", HOLDALL_FORMAT_BCOLZ},
                  {"array.blz", HOLDALL_FORMAT_BLZ},         {"array.rfc", HOLDALL_FORMAT_BLZ_RFC}};
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++) {
        OK(array_create(in_tmp(arrays[k].name), HOLDALL_CREATE, arrays[k].format, "<i4", 2, shape,
                        NULL, NULL, NULL, &a, &err));
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);
    }
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        for (int how = 0; how < OPENS; how++)
            for (holdall_mode mode = HOLDALL_READ; mode <= HOLDALL_APPEND; mode++) {
                now("%s as %d, mode %d", all[k].name, how, mode);
                holdall_status status = open_as(how, in_tmp(all[k].name), mode);
                GAVE(all[k].opens[how] == 'y' ? HOLDALL_OK : HOLDALL_E_TYPE, status);
                if (all[k].opens[how] != 'n')
                    continue;
                CHECK(says(in_tmp(all[k].name)) && says(all[k].message) && says(all[k].call));
            }
    TIDY();
    /* of no kind, and nothing */
    save(in_tmp("text"), "some text that is no container, of some length", 46);
    for (int how = 0; how < OPENS; how++) {
        now("text as %d", how);
        /* a table is never a file */
        EQUAL(open_as(how, in_tmp("text"), HOLDALL_READ),
              how == OPEN_TABLE ? HOLDALL_E_TYPE : HOLDALL_E_FORMAT);
        EQUAL(open_as(how, in_tmp("nothing"), HOLDALL_READ), HOLDALL_E_MISSING);
    }
}

int main(void)
{
    RUN(exchanged_constants_are_refused);
    RUN(constants_have_names);
    RUN(another_kind_is_a_type_error);
    return 0;
}
