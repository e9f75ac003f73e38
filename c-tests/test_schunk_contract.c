/* The rules at the top of the header, for superchunks: NULL and values out of range, options,
 * results on failure, read handles, two-call reads, messages and positions, closing in any order,
 * progress. */
#include "schunk.h"
#include "callbacks.h"

/* GIVES(), and the same call without an error struct. */
#define REFUSES(call, call_without) \
    (GIVES(HOLDALL_E_ARGUMENT, call), CHECK((call_without) == HOLDALL_E_ARGUMENT))
/* A pointer that no call may leave in an *out handle. */
#define STALE ((holdall_schunk *)(void *)&err)

enum { CHUNK = 800, N = 10 * CHUNK + 100 };

static const char *path;

static void null_is_an_argument_error(void)
{
    holdall_schunk *s = open_schunk(path, HOLDALL_APPEND, NULL), *out = STALE;
    holdall_storage *io;
    folder f = FOLDER;
    uint8_t byte = 0;
    const void *value;
    const uint64_t ends[] = {0, 1};
    size_t n;
    io = folder_io(&f);
    const holdall_format blpk = HOLDALL_FORMAT_BLOSCPACK;
    REFUSES(holdall_schunk_open(NULL, HOLDALL_READ, NULL, &out, &err),
            holdall_schunk_open(NULL, HOLDALL_READ, NULL, &out, NULL));
    CHECK(out == NULL);
    REFUSES(holdall_schunk_open(path, HOLDALL_READ, NULL, NULL, &err),
            holdall_schunk_open(path, HOLDALL_READ, NULL, NULL, NULL));
    out = STALE;
    REFUSES(schunk_open_io(NULL, HOLDALL_READ, NULL, &out, &err),
            schunk_open_io(NULL, HOLDALL_READ, NULL, &out, NULL));
    CHECK(out == NULL);
    REFUSES(schunk_open_io(io, HOLDALL_READ, NULL, NULL, &err),
            schunk_open_io(io, HOLDALL_READ, NULL, NULL, NULL));
    out = STALE;
    REFUSES(holdall_schunk_create(NULL, HOLDALL_CREATE, blpk, 8, NULL, &out, &err),
            holdall_schunk_create(NULL, HOLDALL_CREATE, blpk, 8, NULL, &out, NULL));
    CHECK(out == NULL);
    REFUSES(holdall_schunk_create(in_tmp("x.blp"), HOLDALL_CREATE, blpk, 8, NULL, NULL, &err),
            holdall_schunk_create(in_tmp("x.blp"), HOLDALL_CREATE, blpk, 8, NULL, NULL, NULL));
    out = STALE;
    REFUSES(schunk_create_io(NULL, HOLDALL_CREATE, blpk, 8, NULL, &out, &err),
            schunk_create_io(NULL, HOLDALL_CREATE, blpk, 8, NULL, &out, NULL));
    CHECK(out == NULL);
    REFUSES(schunk_create_io(io, HOLDALL_CREATE, blpk, 8, NULL, NULL, &err),
            schunk_create_io(io, HOLDALL_CREATE, blpk, 8, NULL, NULL, NULL));
    holdall_storage_free(io);

    REFUSES(chunk_info(NULL, 0, &n, NULL, NULL, &err), chunk_info(NULL, 0, &n, NULL, NULL, NULL));
    REFUSES(holdall_schunk_read(NULL, 0, &byte, 1, &err),
            holdall_schunk_read(NULL, 0, &byte, 1, NULL));
    REFUSES(holdall_schunk_read(s, 0, NULL, 1, &err), holdall_schunk_read(s, 0, NULL, 1, NULL));
    REFUSES(holdall_schunk_read_chunk(NULL, 0, NULL, 0, &n, &err),
            holdall_schunk_read_chunk(NULL, 0, NULL, 0, &n, NULL));
    REFUSES(holdall_schunk_read_chunk(s, 0, NULL, 0, NULL, &err),
            holdall_schunk_read_chunk(s, 0, NULL, 0, NULL, NULL));
    REFUSES(holdall_schunk_read_raw(NULL, 0, NULL, 0, &n, &err),
            holdall_schunk_read_raw(NULL, 0, NULL, 0, &n, NULL));
    REFUSES(holdall_schunk_read_raw(s, 0, NULL, 0, NULL, &err),
            holdall_schunk_read_raw(s, 0, NULL, 0, NULL, NULL));
    REFUSES(holdall_schunk_checksum(NULL, HOLDALL_CHECKSUM_MD5, NULL, 0, &n, &err),
            holdall_schunk_checksum(NULL, HOLDALL_CHECKSUM_MD5, NULL, 0, &n, NULL));
    REFUSES(holdall_schunk_checksum(s, HOLDALL_CHECKSUM_MD5, NULL, 0, NULL, &err),
            holdall_schunk_checksum(s, HOLDALL_CHECKSUM_MD5, NULL, 0, NULL, NULL));
    REFUSES(holdall_schunk_append(NULL, "x", 1, &err), holdall_schunk_append(NULL, "x", 1, NULL));
    REFUSES(holdall_schunk_append(s, NULL, 1, &err), holdall_schunk_append(s, NULL, 1, NULL));
    REFUSES(holdall_schunk_append_raw(NULL, "x", 1, &err),
            holdall_schunk_append_raw(NULL, "x", 1, NULL));
    REFUSES(holdall_schunk_append_raw(s, NULL, 1, &err),
            holdall_schunk_append_raw(s, NULL, 1, NULL));
    REFUSES(holdall_schunk_write(NULL, 0, "x", 1, &err),
            holdall_schunk_write(NULL, 0, "x", 1, NULL));
    REFUSES(holdall_schunk_write(s, 0, NULL, 1, &err), holdall_schunk_write(s, 0, NULL, 1, NULL));
    REFUSES(holdall_schunk_insert(NULL, 0, "x", 1, &err),
            holdall_schunk_insert(NULL, 0, "x", 1, NULL));
    REFUSES(holdall_schunk_insert(s, 0, NULL, 1, &err), holdall_schunk_insert(s, 0, NULL, 1, NULL));
    REFUSES(holdall_schunk_insert_blocks(NULL, 0, "x", ends, 1, &err),
            holdall_schunk_insert_blocks(NULL, 0, "x", ends, 1, NULL));
    REFUSES(holdall_schunk_insert_blocks(s, 0, NULL, ends, 1, &err),
            holdall_schunk_insert_blocks(s, 0, NULL, ends, 1, NULL));
    REFUSES(holdall_schunk_insert_blocks(s, 0, "x", NULL, 1, &err),
            holdall_schunk_insert_blocks(s, 0, "x", NULL, 1, NULL));
    REFUSES(holdall_schunk_block_offsets(NULL, 0, NULL, 0, &n, &err),
            holdall_schunk_block_offsets(NULL, 0, NULL, 0, &n, NULL));
    REFUSES(holdall_schunk_block_offsets(s, 0, NULL, 0, NULL, &err),
            holdall_schunk_block_offsets(s, 0, NULL, 0, NULL, NULL));
    REFUSES(holdall_schunk_read_block(NULL, 0, 0, NULL, 0, &n, &err),
            holdall_schunk_read_block(NULL, 0, 0, NULL, 0, &n, NULL));
    REFUSES(holdall_schunk_read_block(s, 0, 0, NULL, 0, NULL, &err),
            holdall_schunk_read_block(s, 0, 0, NULL, 0, NULL, NULL));
    REFUSES(holdall_schunk_remove(NULL, 0, &err), holdall_schunk_remove(NULL, 0, NULL));
    REFUSES(holdall_schunk_truncate(NULL, 0, &err), holdall_schunk_truncate(NULL, 0, NULL));
    REFUSES(holdall_schunk_attr_get(NULL, "", &value, &n, &err),
            holdall_schunk_attr_get(NULL, "", &value, &n, NULL));
    REFUSES(holdall_schunk_attr_get(s, NULL, &value, &n, &err),
            holdall_schunk_attr_get(s, NULL, &value, &n, NULL));
    REFUSES(holdall_schunk_attr_get(s, "", NULL, &n, &err),
            holdall_schunk_attr_get(s, "", NULL, &n, NULL));
    REFUSES(holdall_schunk_attr_get(s, "", &value, NULL, &err),
            holdall_schunk_attr_get(s, "", &value, NULL, NULL));
    REFUSES(holdall_schunk_attr_set(NULL, "", "1", 1, &err),
            holdall_schunk_attr_set(NULL, "", "1", 1, NULL));
    REFUSES(holdall_schunk_attr_set(s, NULL, "1", 1, &err),
            holdall_schunk_attr_set(s, NULL, "1", 1, NULL));
    REFUSES(holdall_schunk_commit(NULL, &err), holdall_schunk_commit(NULL, NULL));
    /* none of these calls is a change */
    EQUAL(holdall_schunk_nbytes(s), N);
    uint8_t *before = NULL, *after = NULL;
    size_t size, size2;
    before = load(path, &size);
    finish(s);
    after = load(path, &size2);
    CHECK(size == size2 && memcmp(before, after, size) == 0);
    free(before), free(after);

    EQUAL(holdall_schunk_chunk_count(NULL), 0);
    EQUAL(holdall_schunk_nbytes(NULL), 0);
    EQUAL(schunk_info(NULL).stored_bytes, 0);
    EQUAL(schunk_info(NULL).typesize, 0);
    EQUAL(schunk_info(NULL).chunk_size, 0);
    EQUAL(schunk_info(NULL).checksum, 0);
    EQUAL(schunk_info(NULL).version, 0);
    EQUAL(holdall_schunk_attr_count(NULL), 0);
    CHECK(holdall_schunk_attr_name(NULL, 0) == NULL);
    holdall_schunk_close(NULL);
    TIDY();
}

static void invalid_modes_formats_and_typesizes_are_refused(void)
{
    holdall_schunk *s = STALE;
    static const holdall_mode opening[] = {HOLDALL_CREATE, HOLDALL_REPLACE, 4, -1,
                                           INT32_MAX,      INT32_MIN};
    for (size_t i = 0; i < sizeof opening / sizeof opening[0]; i++) {
        s = STALE;
        GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_open(path, opening[i], NULL, &s, &err));
        CHECK(s == NULL);
    }
    static const holdall_mode creating[] = {
        HOLDALL_READ, HOLDALL_APPEND, 0, 2, HOLDALL_REPLACE + 1, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof creating / sizeof creating[0]; i++) {
        s = STALE;
        GIVES(HOLDALL_E_ARGUMENT,
              holdall_schunk_create(in_tmp("none.blp"), creating[i], HOLDALL_FORMAT_BLOSCPACK, 8,
                                    NULL, &s, &err));
        CHECK(s == NULL);
    }
    static const holdall_format formats[] = {
        0,  1,         -1,       HOLDALL_FORMAT_B2ND, HOLDALL_FORMAT_BAGZ, HOLDALL_KIND_SCHUNK,
        99, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_create(in_tmp("none.blp"), HOLDALL_CREATE,
                                                        formats[i], 8, NULL, &s, &err));
    static const size_t typesizes[] = {0, (size_t)INT32_MAX + 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof typesizes / sizeof typesizes[0]; i++)
        GIVES(HOLDALL_E_ARGUMENT,
              try_create(in_tmp("none.blp"), HOLDALL_CREATE, typesizes[i], NULL, &s));
    GIVES(HOLDALL_E_ARGUMENT, try_create("", HOLDALL_CREATE, 8, NULL, &s));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_open("", HOLDALL_READ, NULL, &s, &err));
    CHECK(try_create(in_tmp("no-such/none.blp"), HOLDALL_CREATE, 8, NULL, &s) < 0);
    EQUAL(files_with("none.blp"), 0);
    TIDY();
}

/* The calls that know an option. */
/* One set serves the writers and readers of a superchunk. */
typedef enum {
    READ_ = 1,
    APPEND_ = 2,
    CREATE = 4,
    VERIFY_ = 8,
    REPAIR = 16,
    SCHUNKS = READ_ | APPEND_ | CREATE
} calls;

static void options_that_do_not_apply_are_refused(void)
{
    static const struct {
        holdall_option option;
        int64_t value;
        const char *name;
        int known_to;
    } all[] = {
#define OPTION(name, value, known) {name, value, #name, known}
        OPTION(HOLDALL_OPT_THREADS, 1, SCHUNKS | VERIFY_ | REPAIR),
        OPTION(HOLDALL_OPT_MEMORY_LIMIT, 1 << 20, SCHUNKS | VERIFY_ | REPAIR),
        OPTION(HOLDALL_OPT_IO, HOLDALL_IO_MAP, SCHUNKS | VERIFY_),
        OPTION(HOLDALL_OPT_VERIFY, 0, SCHUNKS),
        OPTION(HOLDALL_OPT_SKIP_DAMAGED, 1, SCHUNKS | REPAIR),
        OPTION(HOLDALL_OPT_CACHE_BYTES, 0, SCHUNKS),
        OPTION(HOLDALL_OPT_DURABILITY, 0, SCHUNKS | REPAIR),
        OPTION(HOLDALL_OPT_LOCK, 0, SCHUNKS | REPAIR),
        OPTION(HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD, SCHUNKS),
        OPTION(HOLDALL_OPT_LEVEL, 5, SCHUNKS),
        OPTION(HOLDALL_OPT_FILTERS, 0, SCHUNKS),
        OPTION(HOLDALL_OPT_CHUNK_BYTES, 800, SCHUNKS),
        OPTION(HOLDALL_OPT_BLOCK_BYTES, 400, SCHUNKS),
        OPTION(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_MD5, SCHUNKS),
        OPTION(HOLDALL_OPT_DICTIONARY, 0, 0),
        OPTION(HOLDALL_OPT_OFFSETS, 0, SCHUNKS),
        OPTION(HOLDALL_OPT_SPARE_CHUNKS, 1, SCHUNKS),
        OPTION(HOLDALL_OPT_SPARE_BYTES, 1, SCHUNKS),
        OPTION(HOLDALL_OPT_FORMAT_VERSION, 3, SCHUNKS),
        OPTION(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE, 0),
        OPTION(HOLDALL_OPT_BAG_LIMITS_CACHE, 1, 0),
        OPTION(HOLDALL_OPT_BAG_SHARDS, HOLDALL_BAG_SHARDS_CONCATENATED, 0),
        OPTION(HOLDALL_OPT_BAG_READ_AHEAD, 1, 0),
        OPTION(HOLDALL_OPT_ARROW_BINARY, 1, 0),
    };
    /* no value is the default, which no call refuses */
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        holdall_options *o = holdall_options_new();
        if (all[i].option == HOLDALL_OPT_DICTIONARY)
            OK(holdall_options_set_bytes(o, all[i].option, "x", 1, &err));
        else if (all[i].option == HOLDALL_OPT_FILTERS)
            OK(holdall_options_set_bytes(o, all[i].option, NULL, 0, &err));
        else
            OK(holdall_options_set(o, all[i].option, all[i].value, &err));
        for (int call = READ_; call <= REPAIR; call *= 2) {
            now("%s, call %d", all[i].name, call);
            bool known = all[i].known_to & call;
            holdall_status want = known ? HOLDALL_OK : HOLDALL_E_ARGUMENT;
            for (int io = 0; io < 2; io++) {
                holdall_schunk *s = STALE;
                folder f = FOLDER;
                size_t size;
                uint8_t *bytes = load(path, &size);
                folder_put(&f, "", bytes, size);
                free(bytes);
                holdall_storage *storage = folder_io(&f);
                if (call <= APPEND_) {
                    holdall_mode mode = call == READ_ ? HOLDALL_READ : HOLDALL_APPEND;
                    GIVES(want, io ? schunk_open_io(storage, mode, o, &s, &err)
                                   : holdall_schunk_open(path, mode, o, &s, &err));
                } else if (call == CREATE) {
                    GIVES(want,
                          io ? schunk_create_io(storage, HOLDALL_REPLACE, HOLDALL_FORMAT_BLOSCPACK,
                                                8, o, &s, &err)
                             : holdall_schunk_create(path, HOLDALL_REPLACE,
                                                     HOLDALL_FORMAT_BLOSCPACK, 8, o, &s, &err));
                } else {
                    s = NULL;
                    GIVES(want, call == VERIFY_
                                    ? verify_counts(path, o, NULL, NULL, NULL, NULL, NULL, &err)
                                    : repair_counts(path, o, NULL, NULL, &err));
                }
                CHECK((s != NULL) == (known && call <= CREATE));
                CHECK(known || says(all[i].name));
                holdall_schunk_close(s);
                holdall_storage_free(storage);
                folder_clear(&f);
            }
        }
        holdall_options_free(o);
    }
    check_schunk(path, N, 1);
    TIDY();
}

static void invalid_option_values_are_refused(void)
{
    static const struct {
        int64_t pairs[6];
        holdall_status want;
        const char *name;
    } all[] = {
        {{HOLDALL_OPT_LEVEL, 10}, HOLDALL_E_ARGUMENT, "HOLDALL_OPT_LEVEL"},
        {{HOLDALL_OPT_LEVEL, -1}, HOLDALL_E_ARGUMENT, "HOLDALL_OPT_LEVEL"},
        {{HOLDALL_OPT_CHUNK_BYTES, 1001}, HOLDALL_E_ARGUMENT, "HOLDALL_OPT_CHUNK_BYTES"},
        {{HOLDALL_OPT_CHUNK_BYTES, 4}, HOLDALL_E_ARGUMENT, "HOLDALL_OPT_CHUNK_BYTES"},
        {{HOLDALL_OPT_CODEC, HOLDALL_CODEC_BY_NAME}, HOLDALL_E_ARGUMENT, "HOLDALL_OPT_CODEC"},
        {{HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_ZSTD}, HOLDALL_E_ARGUMENT, "HOLDALL_OPT_CHECKSUM"},
        {{HOLDALL_OPT_FORMAT_VERSION, 1, HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_CRC32},
         HOLDALL_E_UNSUPPORTED,
         "HOLDALL_OPT_CHECKSUM"},
        {{HOLDALL_OPT_FORMAT_VERSION, 1, HOLDALL_OPT_OFFSETS, 1},
         HOLDALL_E_UNSUPPORTED,
         "HOLDALL_OPT_OFFSETS"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        now("case %zu", i);
        holdall_schunk *s = STALE;
        GIVES(all[i].want, try_create(in_tmp("unfit.blp"), HOLDALL_CREATE, 8, all[i].pairs, &s));
        CHECK(s == NULL && says(all[i].name));
    }
    static const struct {
        uint8_t filters[2];
        size_t n;
        holdall_status want;
    } filters[] = {
        {{0}, 0, HOLDALL_OK},
        {{HOLDALL_FILTER_SHUFFLE}, 1, HOLDALL_OK},
        {{HOLDALL_FILTER_BITSHUFFLE}, 1, HOLDALL_OK},
        {{HOLDALL_FILTER_NONE}, 1, HOLDALL_OK},
        {{HOLDALL_FILTER_SHUFFLE, HOLDALL_FILTER_BITSHUFFLE}, 2, HOLDALL_E_UNSUPPORTED},
        {{HOLDALL_FILTER_DELTA}, 1, HOLDALL_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        now("filters %zu", i);
        holdall_options *o = holdall_options_new();
        OK(holdall_options_set_bytes(o, HOLDALL_OPT_FILTERS, filters[i].filters, filters[i].n,
                                     &err));
        holdall_schunk *s;
        GIVES(filters[i].want, holdall_schunk_create(in_tmp("unfit.blp"), HOLDALL_CREATE,
                                                     HOLDALL_FORMAT_BLOSCPACK, 8, o, &s, &err));
        CHECK(s != NULL || says("HOLDALL_OPT_FILTERS"));
        holdall_schunk_close(s);
        holdall_options_free(o);
    }
    /* no filters; those of chunks have other numbers */
    static const uint8_t none[] = {0, 1, 35, HOLDALL_FILTER_TRUNC_PREC + 1, 255};
    for (size_t i = 0; i < sizeof none; i++) {
        holdall_options *o = holdall_options_new();
        GIVES(HOLDALL_E_ARGUMENT,
              holdall_options_set_bytes(o, HOLDALL_OPT_FILTERS, none + i, 1, &err));
        CHECK(says("HOLDALL_OPT_FILTERS"));
        holdall_options_free(o);
    }
    EQUAL(files_with("unfit.blp"), 0);
    /* without content, the chunk size may be chosen, and must be valid */
    holdall_schunk *s = create(in_tmp("later.blp"), HOLDALL_CREATE, NULL);
    finish(s);
    GIVES(HOLDALL_E_ARGUMENT,
          try_schunk(in_tmp("later.blp"), HOLDALL_APPEND, WITH(HOLDALL_OPT_CHUNK_BYTES, 1001), &s));
    CHECK(says("HOLDALL_OPT_CHUNK_BYTES"));
    s = open_schunk(in_tmp("later.blp"), HOLDALL_APPEND, WITH(HOLDALL_OPT_CHUNK_BYTES, 1000));
    EQUAL(schunk_info(s).chunk_size, 1000);
    holdall_schunk_close(s);
}

static void failures_leave_the_results_unchanged(void)
{
    const char *missing = in_tmp("no-such.blp");
    holdall_schunk *s = STALE, *good = open_schunk(path, HOLDALL_READ, NULL);
    GIVES(HOLDALL_E_MISSING, holdall_schunk_open(missing, HOLDALL_READ, NULL, &s, &err));
    CHECK(s == NULL && says("no-such.blp"));
    EQUAL(err.os_code, ENOENT);
    EQUAL(err.position, -1);
    s = STALE;
    GIVES(HOLDALL_E_MISSING, holdall_schunk_open(missing, HOLDALL_APPEND, NULL, &s, &err));
    CHECK(s == NULL);
    s = STALE;
    GIVES(HOLDALL_E_EXISTS, try_create(path, HOLDALL_CREATE, 8, NULL, &s));
    CHECK(s == NULL && says(path));
    save(in_tmp("text.blp"), "nothing of the kind, but long enough", 36);
    s = STALE;
    GIVES(HOLDALL_E_FORMAT, holdall_schunk_open(in_tmp("text.blp"), HOLDALL_READ, NULL, &s, &err));
    CHECK(s == NULL && says("text.blp"));
    save(in_tmp("empty.blp"), "", 0);
    GIVES(HOLDALL_E_FORMAT,
          holdall_schunk_open(in_tmp("empty.blp"), HOLDALL_APPEND, NULL, &s, &err));
    CHECK(holdall_schunk_open(in_tmp("."), HOLDALL_READ, NULL, &s, &err) < 0 && s == NULL);
    uint8_t version9[64] = "blpk\x09";
    save(in_tmp("nine.blp"), version9, sizeof version9);
    GIVES(HOLDALL_E_VERSION, holdall_schunk_open(in_tmp("nine.blp"), HOLDALL_READ, NULL, &s, &err));

    uint8_t dst[CHUNK + 100];
    memset(dst, 7, sizeof dst);
    size_t n = 77;
    holdall_chunk_info chunk = {.struct_size = sizeof chunk,
                                .nbytes = 78,
                                .stored_bytes = 79,
                                .codec = 80,
                                .is_pending = 81};
    const uint64_t chunks = holdall_schunk_chunk_count(good),
                   beyond[] = {chunks, chunks + 1, UINT64_MAX};
    for (int k = 0; k < 3; k++) {
        GIVES(HOLDALL_E_RANGE,
              holdall_schunk_read_chunk(good, beyond[k], dst, sizeof dst, &n, &err));
        EQUAL(err.position, k < 2 ? beyond[k] : (uint64_t)INT64_MAX);
        GIVES(HOLDALL_E_RANGE, holdall_schunk_read_raw(good, beyond[k], dst, sizeof dst, &n, &err));
        GIVES(HOLDALL_E_RANGE, holdall_schunk_get_chunk_info(good, beyond[k], &chunk, &err));
    }
    CHECK(n == 77 && chunk.nbytes == 78 && chunk.stored_bytes == 79 && chunk.codec == 80 &&
          chunk.is_pending == 81);
    GIVES(HOLDALL_E_RANGE, holdall_schunk_read(good, N, dst, 1, &err));
    GIVES(HOLDALL_E_RANGE, holdall_schunk_read(good, N - 1, dst, 2, &err));
    GIVES(HOLDALL_E_RANGE, holdall_schunk_read(good, UINT64_MAX, dst, 2, &err));
    GIVES(HOLDALL_E_RANGE, holdall_schunk_read(good, UINT64_MAX - 1, dst, 1, &err));
    GIVES(HOLDALL_E_RANGE, holdall_schunk_read(good, N + 1, dst, 0, &err));
    OK(holdall_schunk_read(good, N, dst, 0, &err));
    static const int32_t checksums[] = {HOLDALL_CHECKSUM_ZSTD, 0, 10, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof checksums / sizeof checksums[0]; i++)
        GIVES(HOLDALL_E_ARGUMENT,
              holdall_schunk_checksum(good, checksums[i], dst, sizeof dst, &n, &err));
    EQUAL(n, 77);

    /* only the size; a buffer that is too short is not changed, and *n is the required size */
    OK(holdall_schunk_read_chunk(good, 1, NULL, 0, &n, &err));
    EQUAL(n, CHUNK);
    OK(holdall_schunk_read_chunk(good, 1, NULL, 5, &n, &err));
    n = 0;
    GIVES(HOLDALL_E_BUFFER, holdall_schunk_read_chunk(good, 1, dst, CHUNK - 1, &n, &err));
    EQUAL(n, CHUNK);
    EQUAL(err.position, 1);
    OK(holdall_schunk_read_raw(good, 1, NULL, 0, &n, &err));
    size_t raw = n;
    n = 0;
    GIVES(HOLDALL_E_BUFFER, holdall_schunk_read_raw(good, 1, dst, raw - 1, &n, &err));
    EQUAL(n, raw);
    EQUAL(err.position, 1);
    OK(holdall_schunk_checksum(good, HOLDALL_CHECKSUM_SHA256, NULL, 0, &n, &err));
    EQUAL(n, 32);
    n = 0;
    GIVES(HOLDALL_E_BUFFER,
          holdall_schunk_checksum(good, HOLDALL_CHECKSUM_SHA256, dst, 31, &n, &err));
    EQUAL(n, 32);
    for (size_t i = 0; i < sizeof dst; i++)
        EQUAL(dst[i], 7);
    OK(holdall_schunk_read_chunk(good, 1, dst, sizeof dst, &n, &err));
    CHECK(n == CHUNK && dst[CHUNK] == 7);
    holdall_schunk_close(good);

    /* a chunk that cannot be read does not change the size either */
    size_t size;
    uint8_t *bytes = load(path, &size);
    save(in_tmp("damaged.blp"), bytes, size);
    free(bytes);
    flip(in_tmp("damaged.blp"), chunk_offset(in_tmp("damaged.blp"), 4) + 40);
    good = open_schunk(in_tmp("damaged.blp"), HOLDALL_READ, NULL);
    n = 77;
    GIVES(HOLDALL_E_CHECKSUM, holdall_schunk_read_chunk(good, 4, dst, sizeof dst, &n, &err));
    EQUAL(err.position, 4);
    GIVES(HOLDALL_E_CHECKSUM, holdall_schunk_read_raw(good, 4, dst, sizeof dst, &n, &err));
    EQUAL(err.position, 4);
    GIVES(HOLDALL_E_CHECKSUM,
          holdall_schunk_checksum(good, HOLDALL_CHECKSUM_MD5, dst, sizeof dst, &n, &err));
    EQUAL(err.position, 4);
    EQUAL(n, 77);
    /* the length of a digest is returned without reading */
    OK(holdall_schunk_checksum(good, HOLDALL_CHECKSUM_MD5, NULL, 0, &n, &err));
    EQUAL(n, 16);
    holdall_schunk_close(good);

    /* success does not change the error */
    preset_error();
    holdall_error before = err;
    CHECK(holdall_schunk_open(path, HOLDALL_READ, NULL, &s, &err) == HOLDALL_OK);
    CHECK(memcmp(&before, &err, sizeof err) == 0);
    holdall_schunk_close(s);
}

static void changes_out_of_range_are_refused(void)
{
    holdall_schunk *s = open_schunk(path, HOLDALL_APPEND, NULL);
    for (int waits = 0; waits < 2; waits++) {
        uint64_t n = holdall_schunk_nbytes(s), chunks = holdall_schunk_chunk_count(s);
        GIVES(HOLDALL_E_RANGE, holdall_schunk_write(s, n, "x", 1, &err));
        GIVES(HOLDALL_E_RANGE, holdall_schunk_write(s, n - 1, "xy", 2, &err));
        GIVES(HOLDALL_E_RANGE, holdall_schunk_write(s, UINT64_MAX, "xy", 2, &err));
        GIVES(HOLDALL_E_RANGE, holdall_schunk_truncate(s, n + 1, &err));
        GIVES(HOLDALL_E_RANGE, holdall_schunk_truncate(s, UINT64_MAX, &err));
        GIVES(HOLDALL_E_RANGE, holdall_schunk_insert(s, chunks + 1, "x", 1, &err));
        GIVES(HOLDALL_E_RANGE, holdall_schunk_insert(s, UINT64_MAX, "x", 1, &err));
        GIVES(HOLDALL_E_RANGE, holdall_schunk_remove(s, chunks, &err));
        EQUAL(err.position, chunks);
        GIVES(HOLDALL_E_RANGE, holdall_schunk_remove(s, UINT64_MAX, &err));
        EQUAL(holdall_schunk_nbytes(s), n);
        check_content(s, 0, (size_t)n, 1);
        append_content(s, n, 1000, 1);
    }
    holdall_schunk_close(s);
    check_schunk(path, N, 1);
}

/* A read handle refuses every change with an error; nothing is written. */
static void read_handles_refuse_changes(void)
{
    for (int k = 0; k < 2; k++) {
        size_t size;
        uint8_t *bytes = load(path, &size);
        holdall_storage *io = NULL;
        holdall_schunk *s;
        if (k == 1) {
            OK(holdall_storage_from_memory(bytes, size, &io, &err));
            OK(schunk_open_io(io, HOLDALL_READ, NULL, &s, &err));
        } else {
            s = open_schunk(path, HOLDALL_READ, NULL);
        }
        uint8_t chunk[2 * CHUNK];
        size_t n;
        OK(holdall_schunk_read_raw(s, 0, chunk, sizeof chunk, &n, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_append(s, "x", 1, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_append_raw(s, chunk, n, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_write(s, 0, "x", 1, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_insert(s, 0, "x", 1, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_remove(s, 0, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_truncate(s, 0, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_attr_set(s, "", "1", 1, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_commit(s, &err));
        check_content(s, 0, N, 1);
        holdall_schunk_close(s);
        if (io != NULL) {
            /* memory is read-only */
            GIVES(HOLDALL_E_UNSUPPORTED, schunk_open_io(io, HOLDALL_APPEND, NULL, &s, &err));
            GIVES(
                HOLDALL_E_UNSUPPORTED,
                schunk_create_io(io, HOLDALL_REPLACE, HOLDALL_FORMAT_BLOSCPACK, 8, NULL, &s, &err));
            holdall_storage_free(io);
        }
        free(bytes);
        TIDY();
    }
}

static void a_path_may_contain_any_bytes(void)
{
    const char *strange = in_tmp("\xFF\xFE\t\x80 \xC3\xA9,@2");
    write_schunk(strange, NULL, 5000, 1);
    check_schunk(strange, 5000, 1);
    holdall_format format;
    holdall_kind kind;
    OK(verify_counts(strange, NULL, NULL, NULL, NULL, NULL, NULL, &err));
    write_schunk(in_tmp("\xFF\xFE.bag"), NULL, 5000, 1);
    OK(holdall_identify(in_tmp("\xFF\xFE.bag"), &format, &kind, &err));
    CHECK(format == HOLDALL_FORMAT_BLOSCPACK && kind == HOLDALL_KIND_SCHUNK);
    holdall_schunk *s;
    GIVES(HOLDALL_E_MISSING, holdall_schunk_open(in_tmp("\xFF.blp"), HOLDALL_READ, NULL, &s, &err));
    /* readers follow links; a new file that replaces a link would not be at the target of the
     * link */
    CHECK(symlink("\xFF\xFE.bag", in_tmp("link")) == 0);
    check_schunk(in_tmp("link"), 5000, 1);
    GIVES(HOLDALL_E_UNSUPPORTED,
          holdall_schunk_open(in_tmp("link"), HOLDALL_APPEND, NULL, &s, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, try_create(in_tmp("link"), HOLDALL_REPLACE, 8, NULL, &s));
    TIDY();
}

/* Storage, options and a superchunk may be closed in any order. */
static void handles_may_be_closed_in_any_order(void)
{
    size_t size;
    uint8_t *bytes = load(path, &size);
    for (int order = 0; order < 6; order++) {
        holdall_storage *io;
        holdall_schunk *a, *b;
        holdall_options *o = options_of(WITH(HOLDALL_OPT_THREADS, 1));
        OK(holdall_storage_from_memory(bytes, size, &io, &err));
        OK(schunk_open_io(io, HOLDALL_READ, o, &a, &err));
        OK(schunk_open_io(io, HOLDALL_READ, o, &b, &err));
        static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        for (int k = 0; k < 3; k++) {
            switch (orders[order][k]) {
            case 0: holdall_storage_free(io); break;
            case 1: holdall_options_free(o); break;
            default: holdall_schunk_close(a); break;
            }
            check_content(b, 0, N, 1);
        }
        holdall_schunk_close(b);
    }
    free(bytes);
}

static void progress_is_reported_and_can_stop_a_call(void)
{
    const char *large = in_tmp("progress.blp");
    write_schunk(large, WITH(HOLDALL_OPT_CHUNK_BYTES, 8000), 400000, 1);
    progress_log t = {0};
    holdall_options *o = options_of(WITH(HOLDALL_OPT_VERIFY, 2));
    holdall_options_set_progress(o, progress, &t);
    holdall_schunk *s;
    OK(holdall_schunk_open(large, HOLDALL_READ, o, &s, &err));
    CHECK(t.calls > 1 && t.last == t.total && t.total == 400000);
    uint8_t digest[64], same[64];
    size_t n;
    t = (progress_log){0};
    OK(holdall_schunk_checksum(s, HOLDALL_CHECKSUM_MD5, digest, sizeof digest, &n, &err));
    CHECK(t.calls > 1 && t.last == t.total && t.total == 400000);
    uint64_t calls = t.calls;
    for (uint64_t stop = 1; stop <= calls; stop++) {
        t = (progress_log){.stop_at = stop};
        GIVES(HOLDALL_E_CANCELLED,
              holdall_schunk_checksum(s, HOLDALL_CHECKSUM_MD5, same, sizeof same, &n, &err));
        EQUAL(t.calls, stop);
    }
    t = (progress_log){0};
    OK(holdall_schunk_checksum(s, HOLDALL_CHECKSUM_MD5, same, sizeof same, &n, &err));
    CHECK(memcmp(digest, same, n) == 0);
    holdall_schunk_close(s);
    t = (progress_log){.stop_at = 1};
    s = STALE;
    GIVES(HOLDALL_E_CANCELLED, holdall_schunk_open(large, HOLDALL_READ, o, &s, &err));
    CHECK(s == NULL);
    holdall_options_free(o);
    /* verify and repair report progress, too */
    for (int k = 0; k < 2; k++) {
        t = (progress_log){0};
        o = holdall_options_new();
        holdall_options_set_progress(o, progress, &t);
        if (k == 0) {
            OK(verify_counts(large, o, NULL, NULL, NULL, NULL, NULL, &err));
            CHECK(t.calls > 1 && t.last == t.total);
        } else {
            OK(repair_counts(large, o, NULL, NULL, &err));
        }
        t = (progress_log){.stop_at = 1};
        uint64_t intact = 5;
        faults none = {.thread = pthread_self()}; /* a stopped call is not a fault of the file */
        if (k == 0)
            GIVES(HOLDALL_E_CANCELLED,
                  verify_counts(large, o, note, &none, &intact, NULL, NULL, &err));
        EQUAL(none.count, 0);
        holdall_options_free(o);
    }
    check_schunk(large, 400000, 1);
    TIDY();
}

static void quiet_calls(holdall_status *got)
{
    holdall_schunk *s = NULL;
    char bytes[10];
    got[0] = holdall_schunk_open(in_tmp("no-such.blp"), HOLDALL_READ, NULL, &s, &err);
    got[1] = holdall_schunk_open(path, HOLDALL_READ, NULL, &s, &err);
    got[2] = holdall_schunk_read(s, N, bytes, 10, &err);
    got[3] = holdall_schunk_append(s, bytes, 10, NULL);
    holdall_schunk_close(s);
    got[4] = verify_counts(in_tmp("damaged.blp"), NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}

static void nothing_is_printed(void)
{
    static const holdall_status want[] = {HOLDALL_E_MISSING, HOLDALL_OK, HOLDALL_E_RANGE,
                                          HOLDALL_E_STATE, HOLDALL_E_CHECKSUM};
    check_silent(quiet_calls, want, 5);
}

int main(void)
{
    char saved[1024];
    snprintf(saved, sizeof saved, "%s", in_tmp("rules.blp"));
    path = saved;
    write_schunk(path, WITH(HOLDALL_OPT_CHUNK_BYTES, CHUNK), N, 1);
    RUN(null_is_an_argument_error);
    RUN(invalid_modes_formats_and_typesizes_are_refused);
    RUN(options_that_do_not_apply_are_refused);
    RUN(invalid_option_values_are_refused);
    RUN(failures_leave_the_results_unchanged);
    RUN(changes_out_of_range_are_refused);
    RUN(read_handles_refuse_changes);
    RUN(a_path_may_contain_any_bytes);
    RUN(handles_may_be_closed_in_any_order);
    RUN(progress_is_reported_and_can_stop_a_call);
    RUN(nothing_is_printed);
    return 0;
}
