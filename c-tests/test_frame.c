/* Blosc2 frames as superchunks, files and folders: content appended, written, inserted, removed and
 * truncated; metalayers; copies; refused calls; corruption; storage of the caller; a frame within a
 * larger file; one handle for many threads. */
#include "schunk.h"
#include "callbacks.h"

enum { CHUNK = 4000, N = 7 * CHUNK + 1232 };

static const int64_t forms[][8] = {
    {HOLDALL_OPT_CHUNK_BYTES, CHUNK},
    {HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_SPARSE, 1, HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD},
    {HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_BLOCK_BYTES, 800, HOLDALL_OPT_CODEC,
     HOLDALL_CODEC_BLOSCLZ},
    {HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE, HOLDALL_OPT_LEVEL,
     0},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static holdall_status try_frame(const char *path, holdall_mode mode, size_t typesize,
                                const int64_t *pairs, holdall_schunk **s)
{
    holdall_options *options = options_of(pairs);
    holdall_status status =
        holdall_schunk_create(path, mode, HOLDALL_FORMAT_B2FRAME, typesize, options, s, &err);
    holdall_options_free(options);
    return status;
}

static void make(const char *path, const int64_t *pairs, size_t n)
{
    holdall_schunk *s;
    OK(try_frame(path, HOLDALL_CREATE, 8, pairs, &s));
    append_content(s, 0, n, 1);
    finish(s);
}

/* ---- tests ------------------------------------------------------------------------------------*/

static void a_frame_reports_its_properties(const char *path, int form)
{
    make(path, forms[form], N);
    holdall_schunk *s = open_schunk(path, HOLDALL_READ, NULL);
    bool none = form == 3;
    EQUAL(holdall_schunk_chunk_count(s), 8);
    EQUAL(holdall_schunk_nbytes(s), N);
    EQUAL(schunk_info(s).typesize, 8);
    EQUAL(schunk_info(s).chunk_size, CHUNK);
    EQUAL(schunk_info(s).checksum, none ? HOLDALL_CHECKSUM_NONE : HOLDALL_CHECKSUM_CRC32);
    EQUAL(schunk_info(s).version, 2);
    EQUAL(holdall_schunk_attr_count(s), 0);
    CHECK(schunk_info(s).stored_bytes > 0);
    check_content(s, 0, N, 1);
    check_content(s, 3 * CHUNK - 5, 11, 1);
    size_t nbytes = 0, cbytes = 0, n;
    int32_t codec = 0;
    uint8_t bytes[CHUNK + 64];
    OK(chunk_info(s, 7, &nbytes, &cbytes, &codec, &err));
    EQUAL(nbytes, 1232);
    static const int32_t codecs[] = {HOLDALL_CODEC_LZ4, HOLDALL_CODEC_ZSTD, HOLDALL_CODEC_BLOSCLZ,
                                     HOLDALL_CODEC_NONE};
    EQUAL(codec, codecs[form]);
    OK(holdall_schunk_read_chunk(s, 7, bytes, sizeof bytes, &n, &err));
    CHECK(n == 1232 && is_content(7 * CHUNK, bytes, n, 1));
    OK(holdall_schunk_read_raw(s, 7, bytes, sizeof bytes, &n, &err));
    EQUAL(n, cbytes);
    GIVES(HOLDALL_E_BUFFER, holdall_schunk_read_chunk(s, 0, bytes, 100, &n, &err));
    EQUAL(n, CHUNK);
    GIVES(HOLDALL_E_RANGE, holdall_schunk_read(s, N - 1, bytes, 2, &err));
    GIVES(HOLDALL_E_RANGE, holdall_schunk_read_chunk(s, 8, NULL, 0, &n, &err));
    GIVES(HOLDALL_E_STATE, holdall_schunk_append(s, "x", 1, &err));
    uint8_t sum[4], want[4];
    uint8_t *all = malloc(N);
    make_content(0, all, N, 1);
    OK(holdall_schunk_checksum(s, HOLDALL_CHECKSUM_CRC32, sum, 4, &n, &err));
    OK(holdall_checksum_compute(HOLDALL_CHECKSUM_CRC32, all, N, want, 4, &n, &err));
    CHECK(memcmp(sum, want, 4) == 0);
    free(all);
    holdall_schunk_close(s);
    holdall_format format;
    holdall_kind kind;
    OK(holdall_identify(path, &format, &kind, &err));
    CHECK(format == HOLDALL_FORMAT_B2FRAME && kind == HOLDALL_KIND_SCHUNK);
    uint64_t intact = 0, corrupt = 0, unchecked = 0;
    OK(verify_counts(path, NULL, NULL, NULL, &intact, &corrupt, &unchecked, &err));
    CHECK(corrupt == 0 && (none ? unchecked : intact) == 8 && intact + unchecked == 8);
}

static void content_changes(const char *path)
{
    holdall_schunk *s = open_schunk(path, HOLDALL_APPEND, NULL), *other;
    GIVES(HOLDALL_E_BUSY, try_schunk(path, HOLDALL_APPEND, NULL, &other));
    append_content(s, N, 2 * CHUNK + 8, 1);
    EQUAL(holdall_schunk_nbytes(s), N + 2 * CHUNK + 8);
    check_schunk(path, N, 1);
    OK(holdall_schunk_commit(s, &err));
    check_schunk(path, N + 2 * CHUNK + 8, 1);
    write_content(s, 3 * CHUNK - 40, CHUNK + 80, 2);
    check_content(s, 3 * CHUNK - 40, CHUNK + 80, 2);
    GIVES(HOLDALL_E_RANGE, holdall_schunk_write(s, N + 2 * CHUNK + 8, "x", 1, &err));
    OK(holdall_schunk_commit(s, &err));
    write_content(s, 3 * CHUNK - 40, CHUNK + 80, 1);
    OK(holdall_schunk_truncate(s, N, &err));
    GIVES(HOLDALL_E_RANGE, holdall_schunk_truncate(s, N + 1, &err));
    OK(holdall_schunk_commit(s, &err));
    check_schunk(path, N, 1);
    /* a chunk with a length of its own may be inserted anywhere */
    uint8_t bytes[CHUNK];
    make_content(0, bytes, CHUNK, 3);
    OK(holdall_schunk_insert(s, 2, bytes, CHUNK, &err));
    EQUAL(holdall_schunk_chunk_count(s), 9);
    check_content(s, 0, 2 * CHUNK, 1);
    OK(holdall_schunk_commit(s, &err));
    GIVES(HOLDALL_E_RANGE, holdall_schunk_remove(s, 9, &err));
    OK(holdall_schunk_remove(s, 2, &err));
    OK(holdall_schunk_commit(s, &err));
    /* a chunk that is already encoded */
    size_t n;
    uint8_t raw[CHUNK + 64];
    OK(holdall_schunk_truncate(s, 2 * CHUNK, &err));
    OK(holdall_schunk_read_raw(s, 0, raw, sizeof raw, &n, &err));
    OK(holdall_schunk_append_raw(s, raw, n, &err));
    check_content(s, 0, 2 * CHUNK, 1);
    OK(holdall_schunk_read_chunk(s, 2, bytes, CHUNK, &n, &err));
    CHECK(is_content(0, bytes, n, 1));
    raw[0] = 7;
    GIVES(HOLDALL_E_VERSION, holdall_schunk_append_raw(s, raw, n, &err));
    raw[0] ^= 0x55;
    GIVES(HOLDALL_E_FORMAT, holdall_schunk_append_raw(s, raw, n, &err));
    holdall_schunk_close(s);
    check_schunk(path, N, 1);
}

static void metalayers(const char *path)
{
    holdall_schunk *s = open_schunk(path, HOLDALL_APPEND, NULL);
    const void *value;
    size_t n;
    OK(holdall_schunk_attr_set(s, "one", "\x01", 1, &err));
    OK(holdall_schunk_attr_set(s, "two", "\xa3" "abc", 4, &err));
    OK(holdall_schunk_attr_set(s, "two", "\xa2" "ab", 3, &err));
    EQUAL(holdall_schunk_attr_count(s), 2);
    OK(holdall_schunk_commit(s, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_attr_set(s, "holdall.crc32", "x", 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_attr_set(s, NULL, "x", 1, &err));
    OK(holdall_schunk_attr_set(s, "one", NULL, 0, &err));
    OK(holdall_schunk_attr_set(s, "nothing", NULL, 0, &err));
    finish(s);
    s = open_schunk(path, HOLDALL_READ, NULL);
    EQUAL(holdall_schunk_attr_count(s), 1);
    CHECK(strcmp(holdall_schunk_attr_name(s, 0), "two") == 0 &&
          holdall_schunk_attr_name(s, 1) == NULL);
    OK(holdall_schunk_attr_get(s, "two", &value, &n, &err));
    CHECK(n == 3 && memcmp(value, "\xa2" "ab", 3) == 0);
    GIVES(HOLDALL_NOT_FOUND, holdall_schunk_attr_get(s, "one", &value, &n, &err));
    CHECK(value == NULL && n == 0);
    GIVES(HOLDALL_NOT_FOUND, holdall_schunk_attr_get(s, "holdall.crc32", &value, &n, &err));
    holdall_schunk_close(s);
}

/* Before and after the first commit; values of the same and of another length. */
static void metalayers_of_the_header(void)
{
    const char *path = in_tmp("fixed");
    holdall_schunk *s;
    const void *value;
    size_t n;
    OK(try_frame(path, HOLDALL_CREATE, 8, NULL, &s));
    OK(holdall_schunk_attr_set(s, "late", "\x01", 1, &err));
    OK(holdall_schunk_attr_set_fixed(s, "a", "\x05", 1, &err));
    OK(holdall_schunk_attr_set_fixed(s, "a", "\xa3" "abc", 4, &err));
    append_content(s, 0, N, 1);
    OK(holdall_schunk_commit(s, &err));
    OK(holdall_schunk_attr_set_fixed(s, "a", "\xa3" "xyz", 4, &err));
    OK(holdall_schunk_commit(s, &err));
    OK(holdall_schunk_attr_set_fixed(s, "b", "\xa1" "b", 2, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_attr_set_fixed(s, "late", "\x01", 1, &err));
    CHECK(says("late"));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_attr_set_fixed(s, "", "\x01", 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_attr_set_fixed(s, NULL, "\x01", 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_attr_set_fixed(s, "c", NULL, 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_attr_set_fixed(
                                  s, "a name of more than thirty-one b", "\x01", 1, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_schunk_attr_set(s, "a", NULL, 0, &err));
    finish(s);
    check_schunk(path, N, 1);
    s = open_schunk(path, HOLDALL_APPEND, NULL);
    EQUAL(schunk_info(s).attr_count, 3);
    EQUAL(schunk_info(s).fixed_attr_count, 2);
    CHECK(strcmp(holdall_schunk_attr_name(s, 1), "b") == 0);
    OK(holdall_schunk_attr_get(s, "a", &value, &n, &err));
    CHECK(n == 4 && memcmp(value, "\xa3" "xyz", 4) == 0);
    for (char name[] = "c"; name[0] < 'c' + 14; name[0]++)
        OK(holdall_schunk_attr_set_fixed(s, name, name, 1, &err));
    CHECK(holdall_schunk_attr_set_fixed(s, "z", "z", 1, &err) < 0);
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_close(s);
    check_schunk(path, N, 1);

    static const uint64_t shape = 4;
    holdall_array_spec spec = {.struct_size = sizeof spec};
    spec.format = HOLDALL_FORMAT_B2ND;
    spec.dtype = "<i4";
    spec.shape = &shape;
    spec.ndim = 1;
    holdall_array *a;
    OK(holdall_array_create(in_tmp("array"), HOLDALL_CREATE, &spec, NULL, &a, &err));
    OK(holdall_array_attr_set_fixed(a, "a", "\x05", 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_attr_set_fixed(a, "b2nd", "\x05", 1, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_info info = {.struct_size = sizeof info};
    OK(holdall_array_get_info(a, &info, &err));
    EQUAL(info.attr_count, 1);
    EQUAL(info.fixed_attr_count, 1);
    holdall_array_close(a);
    spec.format = HOLDALL_FORMAT_BCOLZ;
    OK(holdall_array_create(in_tmp("folder"), HOLDALL_CREATE, &spec, NULL, &a, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_array_attr_set_fixed(a, "a", "5", 1, &err));
    holdall_array_close(a);
    TIDY();
}

static void every_form_is_read_and_changed(void)
{
    for (int form = 0; form < FORMS; form++) {
        char path[1024], name[16];
        snprintf(name, sizeof name, "form%d", form);
        snprintf(path, sizeof path, "%s", in_tmp(name));
        now("%s", name);
        a_frame_reports_its_properties(path, form);
        content_changes(path);
        metalayers(path);
        uint64_t retained = 0, dropped = 0;
        OK(repair_counts(path, NULL, &retained, &dropped, &err));
        CHECK(retained == 8 && dropped == 0);
        check_schunk(path, N, 1);
    }
    TIDY();
}

static void arguments_of_create_are_checked(void)
{
    holdall_schunk *s;
    const char *path = in_tmp("new");
    GIVES(HOLDALL_E_ARGUMENT, try_frame(path, HOLDALL_CREATE, 0, NULL, &s));
    GIVES(HOLDALL_E_ARGUMENT, try_frame(path, HOLDALL_READ, 8, NULL, &s));
    GIVES(HOLDALL_E_ARGUMENT,
          try_frame(path, HOLDALL_CREATE, 8, WITH(HOLDALL_OPT_CHUNK_BYTES, 12), &s));
    GIVES(HOLDALL_E_ARGUMENT,
          try_frame(path, HOLDALL_CREATE, 8, WITH(HOLDALL_OPT_SPARE_CHUNKS, 12), &s));
    GIVES(HOLDALL_E_UNSUPPORTED,
          try_frame(path, HOLDALL_CREATE, 8, WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_SNAPPY), &s));
    GIVES(HOLDALL_E_ARGUMENT, try_frame(path, HOLDALL_CREATE, 8, WITH(HOLDALL_OPT_LEVEL, 10), &s));
    GIVES(HOLDALL_E_UNSUPPORTED, try_frame(path, HOLDALL_CREATE, 8,
                                           WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_SHA1), &s));
    CHECK(s == NULL && !there(path));
    make(path, forms[0], N);
    GIVES(HOLDALL_E_EXISTS, try_frame(path, HOLDALL_CREATE, 8, NULL, &s));
    OK(try_frame(path, HOLDALL_REPLACE, 8, NULL, &s));
    check_schunk(path, N, 1);
    append_content(s, 0, 100, 2);
    finish(s);
    check_schunk(path, 100, 2);
    /* no content */
    OK(try_frame(path, HOLDALL_REPLACE, 3, WITH(HOLDALL_OPT_SPARSE, 0), &s));
    finish(s);
    s = open_schunk(path, HOLDALL_READ, NULL);
    CHECK(holdall_schunk_nbytes(s) == 0 && holdall_schunk_chunk_count(s) == 0 &&
          schunk_info(s).typesize == 3);
    holdall_schunk_close(s);
    TIDY();
}

static void filters_are_stored_in_the_frame(void)
{
    static const uint8_t delta[] = {HOLDALL_FILTER_DELTA, HOLDALL_FILTER_SHUFFLE},
                         bytes[] = {HOLDALL_FILTER_SHUFFLE, HOLDALL_FILTER_BYTEDELTA},
                         bits[] = {HOLDALL_FILTER_BITSHUFFLE}, unknown[] = {99};
    static const struct {
        const uint8_t *filters;
        size_t n;
    } all[] = {{delta, 2}, {bytes, 2}, {bits, 1}, {NULL, 0}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        holdall_options *options = options_of(forms[1]);
        OK(holdall_options_set_bytes(options, HOLDALL_OPT_FILTERS,
                                     all[i].n ? (const void *)all[i].filters : "", all[i].n, &err));
        holdall_schunk *s;
        OK(holdall_schunk_create(in_tmp("filters"), HOLDALL_REPLACE, HOLDALL_FORMAT_B2FRAME, 8,
                                 options, &s, &err));
        append_content(s, 0, N, 1);
        finish(s);
        check_schunk(in_tmp("filters"), N, 1);
        holdall_options_free(options);
    }
    holdall_options *options = holdall_options_new();
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_options_set_bytes(options, HOLDALL_OPT_FILTERS, unknown, 1, &err));
    holdall_options_free(options);
}

static void precision_is_truncated_on_request(void)
{
    static const uint64_t shape = 2;
    const float items[] = {1.999999f, -0.0f};
    float found[2];
    holdall_array_spec spec = {.struct_size = sizeof spec};
    spec.format = HOLDALL_FORMAT_B2ND;
    spec.dtype = "<f4";
    spec.shape = &shape;
    spec.ndim = 1;
    holdall_options *options = holdall_options_new();
    OK(holdall_options_set(options, HOLDALL_OPT_PRECISION, 1, &err));
    holdall_array *a;
    OK(holdall_array_create(in_tmp("floats"), HOLDALL_CREATE, &spec, options, &a, &err));
    OK(holdall_array_write(a, &(uint64_t){0}, &shape, NULL, items, sizeof items, NULL, &err));
    OK(holdall_array_commit(a, &err));
    OK(holdall_array_read(a, &(uint64_t){0}, &shape, NULL, found, sizeof found, NULL, &err));
    CHECK(found[0] == 1.5f && memcmp(&found[1], &items[1], 4) == 0);
    holdall_array_info info = {.struct_size = sizeof info};
    OK(holdall_array_get_info(a, &info, &err));
    EQUAL(info.precision, 1);
    EQUAL(info.filters[0], HOLDALL_FILTER_TRUNC_PREC);
    holdall_array_close(a);
    spec.dtype = "<i4";
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_array_create(in_tmp("whole"), HOLDALL_CREATE, &spec, options, &a, &err));
    CHECK(says("HOLDALL_OPT_PRECISION"));
    OK(holdall_options_set(options, HOLDALL_OPT_PRECISION, 2, &err));
    GIVES(HOLDALL_E_UNSUPPORTED,
          holdall_array_open(in_tmp("floats"), HOLDALL_APPEND, options, &a, &err));
    holdall_options_free(options);

    holdall_schunk *s;
    OK(try_frame(in_tmp("superchunk"), HOLDALL_CREATE, 8, WITH(HOLDALL_OPT_PRECISION, -51), &s));
    EQUAL(schunk_info(s).precision, -51);
    finish(s);
    GIVES(HOLDALL_E_ARGUMENT,
          try_frame(in_tmp("other"), HOLDALL_CREATE, 3, WITH(HOLDALL_OPT_PRECISION, 10), &s));
    TIDY();
}

static void copies_have_the_same_content(void)
{
    make(in_tmp("from"), forms[1], N);
    holdall_schunk *s = open_schunk(in_tmp("from"), HOLDALL_APPEND, NULL);
    OK(holdall_schunk_attr_set(s, "about", "\x05", 1, &err));
    OK(holdall_schunk_commit(s, &err));
    progress_log t = {0};
    holdall_options *options = options_of(WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_LZ4HC));
    holdall_options_set_progress(options, progress, &t);
    OK(holdall_schunk_copy(s, in_tmp("file"), HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, options,
                           &err));
    CHECK(t.calls > 0 && t.last == t.total);
    holdall_options_free(options);
    check_schunk(in_tmp("file"), N, 1);
    OK(holdall_schunk_copy(s, in_tmp("blpk"), HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, NULL,
                           &err));
    check_schunk(in_tmp("blpk"), N, 1);
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_schunk_copy(s, in_tmp("x"), HOLDALL_CREATE, HOLDALL_FORMAT_BAGZ, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_copy(s, in_tmp("from"), HOLDALL_REPLACE,
                                                  HOLDALL_FORMAT_B2FRAME, NULL, &err));
    holdall_schunk_close(s);
    s = open_schunk(in_tmp("file"), HOLDALL_READ, NULL);
    EQUAL(holdall_schunk_attr_count(s), 1);
    EQUAL(schunk_info(s).chunk_size, CHUNK);
    holdall_schunk_close(s);
    s = open_schunk(in_tmp("blpk"), HOLDALL_READ, NULL);
    options = options_of(WITH(HOLDALL_OPT_CHUNK_BYTES, 1600, HOLDALL_OPT_SPARSE, 1));
    OK(holdall_schunk_copy(s, in_tmp("again"), HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, options,
                           &err));
    holdall_options_free(options);
    holdall_schunk_close(s);
    check_schunk(in_tmp("again"), N, 1);
    s = open_schunk(in_tmp("again"), HOLDALL_READ, NULL);
    EQUAL(schunk_info(s).chunk_size, 1600);
    holdall_schunk_close(s);
    TIDY();
}

static void storage_of_the_caller_works(void)
{
    folder f = FOLDER;
    holdall_storage *io = folder_io(&f);
    holdall_schunk *s;
    holdall_options *options = options_of(forms[0]);
    OK(schunk_create_io(io, HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 8, options, &s, &err));
    append_content(s, 0, N, 1);
    OK(holdall_schunk_commit(s, &err));
    append_content(s, N, 3 * CHUNK, 1);
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_close(s);
    /* each failing call leaves the last commit or the new one */
    for (long k = 1;; k++) {
        folder now_it_fails = FOLDER;
        folder_copy(&now_it_fails, &f);
        holdall_storage *failing = folder_io(&now_it_fails);
        OK(schunk_open_io(failing, HOLDALL_APPEND, NULL, &s, &err));
        now_it_fails.all_calls = 0;
        now_it_fails.fail_at = k;
        now_it_fails.dead = true;
        uint8_t more[CHUNK];
        make_content(N + 3 * CHUNK, more, CHUNK, 1);
        holdall_status status = holdall_schunk_append(s, more, CHUNK, NULL);
        if (status == HOLDALL_OK)
            status = holdall_schunk_commit(s, NULL);
        holdall_schunk_close(s);
        bool failed_once = now_it_fails.failures > 0;
        now_it_fails.fail_at = 0;
        now("call %ld", k);
        OK(schunk_open_io(failing, HOLDALL_READ, NULL, &s, &err));
        uint64_t n = holdall_schunk_nbytes(s);
        CHECK(n == N + 3 * CHUNK || n == N + 4 * CHUNK);
        CHECK(status != HOLDALL_OK || n == N + 4 * CHUNK);
        check_content(s, 0, (size_t)n, 1);
        holdall_schunk_close(s);
        holdall_storage_free(failing);
        folder_clear(&now_it_fails);
        if (!failed_once)
            break;
    }
    holdall_options_free(options);
    holdall_storage_free(io);
    folder_clear(&f);
}

static void a_frame_is_read_within_a_larger_file(void)
{
    make(in_tmp("inner"), forms[0], N);
    size_t n;
    uint8_t *bytes = load(in_tmp("inner"), &n), *more = calloc(1, n + 700);
    memcpy(more + 77, bytes, n);
    save(in_tmp("outer"), more, n + 700);
    holdall_schunk *s =
        open_schunk(in_tmp("outer"), HOLDALL_READ, WITH(HOLDALL_OPT_FRAME_OFFSET, 77));
    check_content(s, 0, N, 1);
    holdall_schunk_close(s);
    GIVES(HOLDALL_E_UNSUPPORTED,
          try_schunk(in_tmp("outer"), HOLDALL_APPEND, WITH(HOLDALL_OPT_FRAME_OFFSET, 77), &s));
    CHECK(try_schunk(in_tmp("outer"), HOLDALL_READ, WITH(HOLDALL_OPT_FRAME_OFFSET, 78), &s) < 0);
    CHECK(try_schunk(in_tmp("outer"), HOLDALL_READ, WITH(HOLDALL_OPT_FRAME_OFFSET, INT64_MAX), &s) <
          0);
    CHECK(try_schunk(in_tmp("outer"), HOLDALL_READ, NULL, &s) < 0);
    free(bytes);
    free(more);
}

/* Every flipped bit and every truncation is reported, or changes nothing. */
static void corruption_is_reported(void)
{
    make(in_tmp("d"), forms[0], N);
    holdall_schunk *s = open_schunk(in_tmp("d"), HOLDALL_APPEND, NULL);
    OK(holdall_schunk_attr_set(s, "about", "attribute!", 10, &err));
    finish(s);
    size_t n, reported = 0;
    uint8_t *bytes = load(in_tmp("d"), &n), *got = malloc(N);
    for (size_t i = 0; i < n; i += slow() ? 13 : 1) {
        bytes[i] ^= (uint8_t)(1 << i % 8);
        save(in_tmp("d"), bytes, n);
        bytes[i] ^= (uint8_t)(1 << i % 8);
        now("byte %zu", i);
        holdall_status status = try_schunk(in_tmp("d"), HOLDALL_READ, NULL, &s);
        if (status == HOLDALL_OK) {
            const void *value;
            size_t size;
            EQUAL(holdall_schunk_nbytes(s), N);
            status = holdall_schunk_read(s, 0, got, N, &err);
            CHECK(status != HOLDALL_OK || is_content(0, got, N, 1));
            holdall_status meta = holdall_schunk_attr_get(s, "about", &value, &size, &err);
            CHECK(meta != HOLDALL_OK || (size == 10 && memcmp(value, "attribute!", 10) == 0));
            holdall_schunk_close(s);
        }
        reported += status != HOLDALL_OK;
    }
    CHECK(reported > n / (slow() ? 26 : 2));
    for (size_t i = 0; i < n; i += slow() ? 101 : 7) {
        save(in_tmp("d"), bytes, i);
        now("%zu bytes", i);
        CHECK(try_schunk(in_tmp("d"), HOLDALL_READ, NULL, &s) < 0 && s == NULL);
    }
    free(bytes);
    free(got);
}

/* ---- threads ----------------------------------------------------------------------------------*/

enum { THREADS = 8 };

static void *read_on(void *arg)
{
    const holdall_schunk *s = arg;
    uint64_t x = (uint64_t)(uintptr_t)&s | 1;
    for (int round = 0; round < (slow() ? 50 : 1000); round++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        uint64_t at = x % N, n = (x >> 32) % (round % 4 ? 300 : 3 * CHUNK);
        check_content(s, at, n < N - at ? n : N - at, 1);
    }
    return NULL;
}

static void many_threads_read_one_frame(void)
{
    for (int form = 0; form < 2; form++) {
        const char *path = in_tmp(form == 0 ? "t0" : "t1");
        make(path, forms[form], N);
        holdall_schunk *s = open_schunk(path, HOLDALL_READ, NULL);
        pthread_t threads[THREADS];
        for (int t = 0; t < THREADS; t++)
            CHECK(pthread_create(&threads[t], NULL, read_on, s) == 0);
        for (int t = 0; t < THREADS; t++)
            CHECK(pthread_join(threads[t], NULL) == 0);
        holdall_schunk_close(s);
    }
}

/* The bytes of all blocks, end to end: "one", "and another", "3". */
static const char BLOCKS[] = "oneand another3";
static const uint64_t OFFSETS[] = {0, 3, 14, 15};

static void check_blocks(const holdall_schunk *s, uint64_t chunk)
{
    uint64_t offsets[5] = {9, 9, 9, 9, 9};
    size_t count = 0, n = 0;
    char block[20];
    OK(holdall_schunk_block_offsets(s, chunk, NULL, 0, &count, &err));
    EQUAL(count, 3);
    count = 0;
    GIVES(HOLDALL_E_BUFFER, holdall_schunk_block_offsets(s, chunk, offsets, 3, &count, &err));
    CHECK(count == 3 && offsets[0] == 9);
    OK(holdall_schunk_block_offsets(s, chunk, offsets, 4, &count, &err));
    CHECK(memcmp(offsets, OFFSETS, sizeof OFFSETS) == 0 && offsets[4] == 9);
    OK(holdall_schunk_read_block(s, chunk, 1, NULL, 0, &n, &err));
    EQUAL(n, 11);
    GIVES(HOLDALL_E_BUFFER, holdall_schunk_read_block(s, chunk, 1, block, 10, &n, &err));
    EQUAL(n, 11);
    OK(holdall_schunk_read_block(s, chunk, 1, block, sizeof block, &n, &err));
    CHECK(n == 11 && memcmp(block, "and another", 11) == 0);
    GIVES(HOLDALL_E_RANGE, holdall_schunk_read_block(s, chunk, 3, block, 1, &n, &err));
}

static void blocks_have_any_length(void)
{
    const char *path = in_tmp("blocks.b2frame");
    const uint64_t falling[] = {0, 3, 2}, high[] = {3, 14, 15};
    holdall_schunk *s;
    size_t count;
    OK(holdall_schunk_create(path, HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 1, NULL, &s, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_insert_blocks(s, 0, BLOCKS, falling, 2, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_insert_blocks(s, 0, BLOCKS, OFFSETS, 0, &err));
    OK(holdall_schunk_insert_blocks(s, 0, BLOCKS, OFFSETS, 3, &err));
    OK(holdall_schunk_insert_blocks(s, 0, BLOCKS, high, 2, &err));
    OK(holdall_schunk_append(s, "last", 4, &err));
    GIVES(HOLDALL_E_RANGE, holdall_schunk_insert_blocks(s, 4, BLOCKS, OFFSETS, 3, &err));
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_close(s);
    s = open_schunk(path, HOLDALL_READ, NULL);
    CHECK(holdall_schunk_chunk_count(s) == 3 && holdall_schunk_nbytes(s) == 31);
    check_blocks(s, 1);
    OK(holdall_schunk_block_offsets(s, 2, NULL, 0, &count, &err));
    EQUAL(count, 1);
    GIVES(HOLDALL_E_RANGE, holdall_schunk_block_offsets(s, 3, NULL, 0, &count, &err));
    GIVES(HOLDALL_E_STATE, holdall_schunk_insert_blocks(s, 0, BLOCKS, OFFSETS, 3, &err));
    holdall_schunk_close(s);
    s = open_schunk(path, HOLDALL_APPEND, NULL);
    OK(holdall_schunk_remove(s, 0, &err));
    OK(holdall_schunk_write(s, 1, "NEA", 3, &err));
    OK(holdall_schunk_write(s, 1, "nea", 3, &err));
    OK(holdall_schunk_truncate(s, 15, &err));
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_close(s);
    s = open_schunk(path, HOLDALL_READ, NULL);
    EQUAL(holdall_schunk_chunk_count(s), 1);
    check_blocks(s, 0);
    holdall_schunk_close(s);
}

int main(void)
{
    RUN(every_form_is_read_and_changed);
    RUN(blocks_have_any_length);
    RUN(arguments_of_create_are_checked);
    RUN(metalayers_of_the_header);
    RUN(filters_are_stored_in_the_frame);
    RUN(precision_is_truncated_on_request);
    RUN(copies_have_the_same_content);
    RUN(storage_of_the_caller_works);
    RUN(a_frame_is_read_within_a_larger_file);
    RUN(corruption_is_reported);
    RUN(many_threads_read_one_frame);
    return 0;
}
