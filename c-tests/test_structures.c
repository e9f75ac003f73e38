/* Structures that the caller owns: specs, information, results. Each begins with its size and
 * states the properties of a container. */
#include "schunk.h"

/* ---- the size of a structure ------------------------------------------------------------------*/

/* A call with a structure of this size, followed by other bytes. */
typedef holdall_status sized_call(void *structure, holdall_error *e);

static holdall_schunk *schunk;
static holdall_array *array;
static holdall_table *table;
static holdall_bag *bag;

static holdall_status get_schunk(void *info, holdall_error *e)
{
    return holdall_schunk_get_info(schunk, info, e);
}
static holdall_status get_chunk(void *info, holdall_error *e)
{
    return holdall_schunk_get_chunk_info(schunk, 0, info, e);
}
static holdall_status get_array(void *info, holdall_error *e)
{
    return holdall_array_get_info(array, info, e);
}
static holdall_status get_table(void *info, holdall_error *e)
{
    return holdall_table_get_info(table, info, e);
}
static holdall_status get_bag(void *info, holdall_error *e)
{
    return holdall_bag_get_info(bag, info, e);
}
static holdall_status get_verified(void *result, holdall_error *e)
{
    return holdall_verify(in_tmp("a.blp"), NULL, NULL, NULL, result, e);
}
static holdall_status get_repaired(void *result, holdall_error *e)
{
    return holdall_repair(in_tmp("a.blp"), NULL, result, e);
}

static holdall_status create_array(void *spec, holdall_error *e)
{
    holdall_array *made;
    holdall_status status =
        holdall_array_create(in_tmp("made"), HOLDALL_CREATE, spec, NULL, &made, e);
    holdall_array_close(made);
    return status;
}

static holdall_status create_table(void *spec, holdall_error *e)
{
    holdall_table *made;
    holdall_status status =
        holdall_table_create(in_tmp("made"), HOLDALL_CREATE, spec, NULL, &made, e);
    holdall_table_close(made);
    return status;
}

static holdall_status copy_array(void *spec, holdall_error *e)
{
    holdall_options *o = options_of(WITH(HOLDALL_OPT_DURABILITY, 0));
    holdall_status status =
        holdall_array_copy(array, in_tmp("copied"), HOLDALL_REPLACE, spec, o, e);
    holdall_options_free(o);
    return status;
}

static void structures_of_other_sizes_are_handled(void)
{
    static const uint64_t shape[] = {3};
    static const char *const names[] = {"x"}, *const dtypes[] = {"<i4"};
    const holdall_array_spec array_made =
                                 array_spec(HOLDALL_FORMAT_B2ND, "<i4", 1, shape, NULL, NULL),
                             array_copied =
                                 array_spec(HOLDALL_FORMAT_BLOSCPACK, NULL, 0, NULL, NULL, NULL);
    const holdall_table_spec table_made = {.struct_size = sizeof table_made,
                                           .format = HOLDALL_FORMAT_BCOLZ,
                                           .column_count = 1,
                                           .names = names,
                                           .dtypes = dtypes};
    static const holdall_schunk_info no_schunk;
    static const holdall_chunk_info no_chunk;
    static const holdall_array_info no_array;
    static const holdall_table_info no_table;
    static const holdall_bag_info no_bag;
    static const holdall_verify_result no_result;
    static const holdall_repair_result no_repair;
    const struct {
        const char *name;
        sized_call *call;
        const void *intact;
        size_t size;
        bool stores;
    } all[] = {
#define SIZED(name, call, intact, stores) {#name, call, intact, sizeof(name), stores}
        SIZED(holdall_schunk_info, get_schunk, &no_schunk, true),
        SIZED(holdall_chunk_info, get_chunk, &no_chunk, true),
        SIZED(holdall_array_info, get_array, &no_array, true),
        SIZED(holdall_table_info, get_table, &no_table, true),
        SIZED(holdall_bag_info, get_bag, &no_bag, true),
        SIZED(holdall_verify_result, get_verified, &no_result, true),
        SIZED(holdall_repair_result, get_repaired, &no_repair, true),
        SIZED(holdall_array_spec, create_array, &array_made, false),
        SIZED(holdall_array_spec, copy_array, &array_copied, false),
        SIZED(holdall_table_spec, create_table, &table_made, false),
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        uint64_t bytes[64], before[64]; /* aligned for any of them */
        const size_t wrong[] = {
            0, 1, sizeof(size_t), all[i].size - 1, all[i].size + 1, all[i].size + 8, SIZE_MAX};
        for (size_t k = 0; k <= sizeof wrong / sizeof wrong[0]; k++) {
            bool fits = k == sizeof wrong / sizeof wrong[0];
            size_t size = fits ? all[i].size : wrong[k];
            now("%s of %zu bytes", all[i].name, size);
            memset(bytes, 0xA5, sizeof bytes);
            memcpy(bytes, all[i].intact, all[i].size);
            memcpy(bytes, &size, sizeof size);
            memcpy(before, bytes, sizeof bytes);
            GIVES(fits ? HOLDALL_OK : HOLDALL_E_ARGUMENT, all[i].call(bytes, &err));
            CHECK(fits || (says("struct_size") && says(all[i].name)));
            /* the size and the bytes after the structure are not changed; after a failure nothing
             * is */
            bool stored = fits && all[i].stores;
            CHECK(memcmp(bytes, before, stored ? sizeof size : all[i].size) == 0);
            CHECK((memcmp(bytes, before, all[i].size) != 0) == stored);
            CHECK(memcmp((char *)bytes + all[i].size, (char *)before + all[i].size,
                         sizeof bytes - all[i].size) == 0);
        }
        now("%s", all[i].name);
        holdall_status none = all[i].call(NULL, &err);
        CHECK(none == (all[i].call == get_verified || all[i].call == get_repaired
                           ? HOLDALL_OK
                           : HOLDALL_E_ARGUMENT));
        EQUAL(files_with("made"), 0);
    }
}

/* ---- their content ----------------------------------------------------------------------------*/

static void check_filters(const uint8_t filters[8], uint32_t count, uint8_t first, uint8_t second)
{
    EQUAL(count, (first != 0) + (second != 0));
    EQUAL(filters[0], first);
    EQUAL(filters[1], second);
    for (int k = 2; k < 8; k++)
        EQUAL(filters[k], 0);
}

static void a_bloscpack_file_reports_its_properties(void)
{
    holdall_schunk *s =
        create(in_tmp("info.blp"), HOLDALL_CREATE,
               WITH(HOLDALL_OPT_CHUNK_BYTES, 800, HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD,
                    HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_MD5));
    append_content(s, 0, 2100, 1);
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_info info = schunk_info(s);
    EQUAL(info.struct_size, sizeof info);
    EQUAL(info.format, HOLDALL_FORMAT_BLOSCPACK);
    EQUAL(info.version, 3);
    EQUAL(info.typesize, 8);
    EQUAL(info.chunk_size, 800);
    EQUAL(info.chunk_count, 3);
    EQUAL(info.nbytes, 2100);
    EQUAL(info.stored_bytes, file_size(in_tmp("info.blp")));
    EQUAL(info.codec, HOLDALL_CODEC_ZSTD);
    EQUAL(info.level, -1);
    EQUAL(info.checksum, HOLDALL_CHECKSUM_MD5);
    EQUAL(info.is_sparse, 0);
    check_filters(info.filters, info.filter_count, HOLDALL_FILTER_SHUFFLE, 0);
    EQUAL(info.attr_count, 0);
    EQUAL(info.generation, 1);
    holdall_chunk_info chunk = {.struct_size = sizeof chunk};
    OK(holdall_schunk_get_chunk_info(s, 2, &chunk, &err));
    EQUAL(chunk.nbytes, 500);
    EQUAL(chunk.codec, HOLDALL_CODEC_ZSTD);
    EQUAL(chunk.is_pending, 0);
    CHECK(chunk.stored_bytes > 16 && chunk.stored_bytes < 500 + 16);

    /* a chunk that is not encoded yet; an attribute; another commit */
    append_content(s, 2100, 400, 1);
    OK(holdall_schunk_attr_set(s, "", "{}", 2, &err));
    OK(holdall_schunk_get_chunk_info(s, 3, &chunk, &err));
    EQUAL(chunk.nbytes, 100);
    EQUAL(chunk.is_pending, 1);
    EQUAL(chunk.stored_bytes, 0);
    EQUAL(schunk_info(s).generation, 1);
    OK(holdall_schunk_commit(s, &err));
    info = schunk_info(s);
    EQUAL(info.attr_count, 1);
    EQUAL(info.generation, 2);
    holdall_schunk_close(s);
    s = open_schunk(in_tmp("info.blp"), HOLDALL_READ, NULL);
    EQUAL(schunk_info(s).generation, 0);
    EQUAL(schunk_info(s).codec, HOLDALL_CODEC_ZSTD);
    holdall_schunk_close(s);
}

static void a_frame_reports_its_properties(void)
{
    static const uint8_t filters[] = {HOLDALL_FILTER_DELTA, HOLDALL_FILTER_BITSHUFFLE};
    for (int sparse = 0; sparse < 2; sparse++) {
        now("sparse %d", sparse);
        holdall_options *o =
            options_of(WITH(HOLDALL_OPT_CHUNK_BYTES, 800, HOLDALL_OPT_CODEC, HOLDALL_CODEC_LZ4HC,
                            HOLDALL_OPT_LEVEL, 7, HOLDALL_OPT_SPARSE, sparse));
        OK(holdall_options_set_bytes(o, HOLDALL_OPT_FILTERS, filters, 2, &err));
        holdall_schunk *s;
        OK(holdall_schunk_create(in_tmp(sparse ? "sparse.b2frame" : "info.b2frame"), HOLDALL_CREATE,
                                 HOLDALL_FORMAT_B2FRAME, 4, o, &s, &err));
        holdall_options_free(o);
        append_content(s, 0, 1600, 1);
        OK(holdall_schunk_attr_set(s, "one", "\1", 1, &err));
        OK(holdall_schunk_commit(s, &err));
        holdall_schunk_info info = schunk_info(s);
        EQUAL(info.format, HOLDALL_FORMAT_B2FRAME);
        EQUAL(info.typesize, 4);
        EQUAL(info.chunk_count, 2);
        EQUAL(info.codec, HOLDALL_CODEC_LZ4HC);
        EQUAL(info.level, 7);
        EQUAL(info.checksum, HOLDALL_CHECKSUM_CRC32);
        EQUAL(info.is_sparse, sparse);
        check_filters(info.filters, info.filter_count, HOLDALL_FILTER_DELTA,
                      HOLDALL_FILTER_BITSHUFFLE);
        EQUAL(info.attr_count, holdall_schunk_attr_count(s));
        CHECK(sparse || info.stored_bytes == file_size(in_tmp("info.b2frame")));
        holdall_schunk_close(s);
    }
}

static void arrays_report_their_properties(void)
{
    static const struct {
        const char *name;
        holdall_format format;
        int level;
        uint64_t chunk[2];
    } all[] = {
        {"info.blp.array", HOLDALL_FORMAT_BLOSCPACK, -1, {8, 12}},
        {"info.bcolz", HOLDALL_FORMAT_BCOLZ, 5, {8, 12}},
        {"info.blz", HOLDALL_FORMAT_BLZ, 5, {8, 12}},
        {"info.rfc", HOLDALL_FORMAT_BLZ_RFC, 5, {8, 12}},
        {"info.b2nd", HOLDALL_FORMAT_B2ND, 5, {8, 5}},
        {"info.cat", HOLDALL_FORMAT_CATERVA, 5, {8, 5}},
    };
    static const uint64_t shape[] = {20, 12};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        now("%s", all[k].name);
        holdall_array *a;
        OK(array_create(in_tmp(all[k].name), HOLDALL_CREATE, all[k].format, "<f4", 2, shape,
                        all[k].chunk, NULL, NULL, &a, &err));
        float items[240];
        for (int i = 0; i < 240; i++)
            items[i] = (float)i;
        OK(holdall_array_write(a, NULL, NULL, NULL, items, sizeof items, NULL, &err));
        EQUAL(array_info(a).generation, 0);
        OK(holdall_array_commit(a, &err));
        EQUAL(array_info(a).generation, 1);
        holdall_array_close(a);
        OK(holdall_array_open(in_tmp(all[k].name), HOLDALL_READ, NULL, &a, &err));
        holdall_array_info info = array_info(a);
        bool typed = all[k].format != HOLDALL_FORMAT_CATERVA;
        CHECK(strcmp(info.dtype, typed ? "<f4" : "|V4") == 0 &&
              info.dtype == holdall_array_dtype(a));
        CHECK(info.shape == holdall_array_shape(a));
        EQUAL(info.ndim, 2);
        EQUAL(info.itemsize, 4);
        EQUAL(info.nbytes, 960);
        EQUAL(info.shape[0], 20);
        EQUAL(info.shape[1], 12);
        EQUAL(info.chunk_shape[0], all[k].chunk[0]);
        EQUAL(info.chunk_shape[1], all[k].chunk[1]);
        CHECK(info.block_shape[0] > 0 && info.block_shape[1] > 0);
        EQUAL(info.format, all[k].format);
        EQUAL(info.order, HOLDALL_ORDER_C);
        EQUAL(info.codec,
              all[k].format == HOLDALL_FORMAT_BLZ ? HOLDALL_CODEC_BLOSCLZ : HOLDALL_CODEC_LZ4);
        EQUAL(info.level, all[k].level);
        EQUAL(info.checksum, HOLDALL_CHECKSUM_CRC32);
        check_filters(info.filters, info.filter_count, HOLDALL_FILTER_SHUFFLE, 0);
        EQUAL(info.attr_count, holdall_array_attr_count(a));
        EQUAL(info.generation, 0);
        CHECK(info.stored_bytes > 0);
        holdall_array_close(a);
    }
    /* without dimensions, and with one whose items have no bytes */
    holdall_array *a;
    OK(array_create(in_tmp("item.b2nd"), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i2", 0, NULL, NULL,
                    NULL, NULL, &a, &err));
    EQUAL(array_info(a).ndim, 0);
    EQUAL(array_info(a).nbytes, 2);
    holdall_array_close(a);
}

static void tables_report_their_properties(void)
{
    static const char *const names[] = {"a", "b"}, *const dtypes[] = {"<i4", "|S3"};
    holdall_table *t;
    OK(table_create(in_tmp("info.table"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, 2, names, dtypes,
                    NULL, &t, &err));
    OK(holdall_table_append(t, 2, (const void *[]){"11112222", "xxxyyy"}, (const size_t[]){8, 6},
                            &err));
    OK(holdall_table_attr_set(t, "k", "1", 1, &err));
    OK(holdall_table_commit(t, &err));
    holdall_table_info info = table_info(t);
    EQUAL(info.row_count, 2);
    EQUAL(info.nbytes, 14);
    EQUAL(info.format, HOLDALL_FORMAT_BCOLZ);
    EQUAL(info.column_count, 2);
    EQUAL(info.attr_count, 1);
    EQUAL(info.generation, 1);
    EQUAL(info.reserved, 0);
    EQUAL(info.stored_bytes, array_info(holdall_table_column(t, 0)).stored_bytes +
                                 array_info(holdall_table_column(t, 1)).stored_bytes);
    holdall_table_close(t);
    OK(holdall_table_open(in_tmp("info.table"), HOLDALL_READ, NULL, &t, &err));
    EQUAL(table_info(t).generation, 0);
    EQUAL(table_info(t).attr_count, 1);
    holdall_table_close(t);
}

static void bags_report_their_properties(void)
{
    static const struct {
        const char *path;
        int64_t pairs[7];
        int32_t codec, checksum, limits, shards;
        uint32_t files;
    } all[] = {
        {"info.bagz",
         {0},
         HOLDALL_CODEC_ZSTD,
         HOLDALL_CHECKSUM_ZSTD,
         HOLDALL_BAG_LIMITS_TAIL,
         HOLDALL_BAG_SHARDS_CONCATENATED,
         1},
        {"info.bag",
         {0},
         HOLDALL_CODEC_NONE,
         HOLDALL_CHECKSUM_CRC32,
         HOLDALL_BAG_LIMITS_TAIL,
         HOLDALL_BAG_SHARDS_CONCATENATED,
         1},
        {"bare.bagz",
         {HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE, HOLDALL_OPT_BAG_LIMITS,
          HOLDALL_BAG_LIMITS_SEPARATE},
         HOLDALL_CODEC_ZSTD,
         HOLDALL_CHECKSUM_NONE,
         HOLDALL_BAG_LIMITS_SEPARATE,
         HOLDALL_BAG_SHARDS_CONCATENATED,
         1},
        {"set@3.bagz",
         {0},
         HOLDALL_CODEC_ZSTD,
         HOLDALL_CHECKSUM_ZSTD,
         HOLDALL_BAG_LIMITS_TAIL,
         HOLDALL_BAG_SHARDS_INTERLEAVED,
         3},
    };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        now("%s", all[k].path);
        const char *path = in_tmp(all[k].path);
        write_bag(path, HOLDALL_CREATE, all[k].pairs, 12);
        holdall_bag *b = open_bag(path, all[k].pairs), *slice;
        holdall_bag_info info = bag_info(b);
        EQUAL(info.format, HOLDALL_FORMAT_BAGZ);
        EQUAL(info.record_count, 12);
        EQUAL(info.shard_count, all[k].files);
        EQUAL(info.codec, all[k].codec);
        EQUAL(info.checksum, all[k].checksum);
        EQUAL(info.limits, all[k].limits);
        EQUAL(info.shards, all[k].shards);
        EQUAL(info.generation, 0);
        CHECK(all[k].files > 1 || info.stored_bytes >= file_size(path));
        OK(holdall_bag_slice(b, 2, 4, 2, &slice, &err));
        EQUAL(bag_info(slice).record_count, 4);
        EQUAL(bag_info(slice).stored_bytes, info.stored_bytes);
        holdall_bag_close(slice);
        holdall_bag_close(b);
    }
    char spec[2200];
    snprintf(spec, sizeof spec, "%s,%s", in_tmp("info.bagz"), in_tmp("info.bag"));
    holdall_bag *b = open_bag(spec, NULL);
    EQUAL(bag_info(b).codec, HOLDALL_CODEC_MIXED);
    EQUAL(bag_info(b).shard_count, 2);
    EQUAL(bag_info(b).record_count, 24);
    holdall_bag_close(b);
}

int main(void)
{
    static const char *const names[] = {"a"}, *const dtypes[] = {"<i4"};
    schunk = create(in_tmp("a.blp"), HOLDALL_CREATE, NULL);
    append_content(schunk, 0, 500, 1);
    OK(holdall_schunk_commit(schunk, &err));
    holdall_schunk_close(schunk);
    schunk = open_schunk(in_tmp("a.blp"), HOLDALL_READ, NULL);
    OK(array_create(in_tmp("b.b2nd"), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i4", 1,
                    (const uint64_t[]){7}, NULL, NULL, NULL, &array, &err));
    OK(table_create(in_tmp("c"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, 1, names, dtypes, NULL,
                    &table, &err));
    write_bag(in_tmp("d.bagz"), HOLDALL_CREATE, NULL, 3);
    bag = open_bag(in_tmp("d.bagz"), NULL);
    RUN(structures_of_other_sizes_are_handled);
    holdall_schunk_close(schunk);
    holdall_array_close(array);
    holdall_table_close(table);
    holdall_bag_close(bag);
    RUN(a_bloscpack_file_reports_its_properties);
    RUN(a_frame_reports_its_properties);
    RUN(arrays_report_their_properties);
    RUN(tables_report_their_properties);
    RUN(bags_report_their_properties);
    TIDY();
    return 0;
}
