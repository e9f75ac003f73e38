/* Superchunks in ordinary use: content that is appended, read in slices, written over, inserted,
 * truncated and removed, committed and opened again; every codec, filter, checksum and header;
 * metadata; raw chunks. */
#include "schunk.h"

enum { CHUNK = 8000, N = 100100 };

static const int64_t small[] = {HOLDALL_OPT_CHUNK_BYTES, CHUNK, 0, 0};

static void pieces_are_appended_and_slices_are_read(void)
{
    const char *path = in_tmp("pieces.blp");
    holdall_schunk *s = create(path, HOLDALL_CREATE, small);
    EQUAL(holdall_schunk_chunk_count(s), 0);
    EQUAL(holdall_schunk_nbytes(s), 0);
    EQUAL(schunk_info(s).stored_bytes, 0);
    /* pieces of all sizes, readable immediately */
    for (size_t at = 0, k = 0; at < N; k++) {
        size_t n = k * k * 5 % 20011 + k % 3;
        n = n < N - at ? n : N - at;
        append_content(s, at, n, 1);
        at += n;
        EQUAL(holdall_schunk_nbytes(s), at);
        check_content(s, at - n / 2, n / 2, 1);
    }
    check_content(s, 0, N, 1);
    EQUAL(holdall_schunk_chunk_count(s), (N + CHUNK - 1) / CHUNK);
    CHECK(!there(path));
    OK(holdall_schunk_commit(s, &err));
    EQUAL(schunk_info(s).stored_bytes, file_size(path));
    CHECK(schunk_info(s).stored_bytes < N / 2);
    check_content(s, 0, N, 1);
    holdall_schunk_close(s);
    TIDY();

    for (int io = 0; io < 2; io++) {
        s = open_schunk(path, HOLDALL_READ, WITH(HOLDALL_OPT_IO, IO(io)));
        EQUAL(holdall_schunk_nbytes(s), N);
        EQUAL(schunk_info(s).typesize, 8);
        EQUAL(schunk_info(s).chunk_size, CHUNK);
        EQUAL(schunk_info(s).checksum, HOLDALL_CHECKSUM_CRC32);
        EQUAL(schunk_info(s).version, 3);
        EQUAL(schunk_info(s).stored_bytes, file_size(path));
        uint64_t x = 88172645463325252;
        for (int k = 0; k < 300; k++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            uint64_t at = x % (N + 1), n = x / N % (k % 2 ? 100 : N);
            check_content(s, at, (size_t)(n < N - at ? n : N - at), 1);
        }
        /* chunk by chunk */
        for (uint64_t i = 0; i < holdall_schunk_chunk_count(s); i++) {
            uint8_t got[CHUNK];
            size_t n = 0, nbytes = 0, cbytes = 0;
            int32_t codec = 0;
            OK(holdall_schunk_read_chunk(s, i, got, sizeof got, &n, &err));
            EQUAL(n, i + 1 < holdall_schunk_chunk_count(s) ? CHUNK : N % CHUNK);
            CHECK(is_content(i * CHUNK, got, n, 1));
            OK(chunk_info(s, i, &nbytes, &cbytes, &codec, &err));
            EQUAL(nbytes, n);
            CHECK(cbytes > 16 && cbytes < n);
            EQUAL(codec, HOLDALL_CODEC_LZ4);
            OK(chunk_info(s, i, NULL, NULL, NULL, &err));
        }
        /* the checksum is that of the content */
        uint8_t *all = malloc(N), a[64], b[64];
        CHECK(all != NULL);
        make_content(0, all, N, 1);
        for (int sum = HOLDALL_CHECKSUM_NONE; sum <= HOLDALL_CHECKSUM_SHA512; sum++) {
            size_t n = 99, n2 = 98;
            OK(holdall_schunk_checksum(s, sum, a, sizeof a, &n, &err));
            OK(holdall_checksum_compute(sum, all, N, b, sizeof b, &n2, &err));
            CHECK(n == n2 && memcmp(a, b, n) == 0);
        }
        free(all);
        holdall_schunk_close(s);
    }
}

/* Random changes of all kinds, compared with a model in memory, with commits, or closed without
 * one. */
typedef struct {
    uint8_t bytes[1 << 20];
    size_t n;
} model;

static void compare(const holdall_schunk *s, const model *m)
{
    static uint8_t got[sizeof m->bytes];
    EQUAL(holdall_schunk_nbytes(s), m->n);
    OK(holdall_schunk_read(s, 0, got, m->n, &err));
    CHECK(memcmp(got, m->bytes, m->n) == 0);
    size_t at = 0;
    for (uint64_t i = 0; i < holdall_schunk_chunk_count(s); i++) {
        size_t n = 0;
        OK(holdall_schunk_read_chunk(s, i, got, sizeof got, &n, &err));
        CHECK(n <= m->n - at && memcmp(got, m->bytes + at, n) == 0);
        at += n;
    }
    EQUAL(at, m->n);
}

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

static void change(holdall_schunk *s, model *m, uint64_t *x)
{
    uint64_t r = next_random(x);
    uint8_t bytes[12000];
    size_t n = (size_t)(r >> 8) % sizeof bytes, at = m->n ? (size_t)(r >> 24) % m->n : 0;
    if (r >> 63) /* content that cannot be compressed */
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)(next_random(x) >> 11);
    else
        make_content(at, bytes, n, (unsigned)(r >> 40) % 7);
    switch (r % 6) {
    case 0:
    case 1:
        if (m->n + n > sizeof m->bytes)
            return;
        OK(holdall_schunk_append(s, bytes, n, &err));
        memcpy(m->bytes + m->n, bytes, n);
        m->n += n;
        break;
    case 2:
        n = n < m->n - at ? n : m->n - at;
        OK(holdall_schunk_write(s, at, bytes, n, &err));
        memcpy(m->bytes + at, bytes, n);
        break;
    case 3: {
        /* before a chunk; the sizes of the earlier chunks define where its content begins */
        uint64_t chunk = (r >> 30) % (holdall_schunk_chunk_count(s) + 1);
        size_t begin = 0, size = 0;
        for (uint64_t i = 0; i < chunk; i++, begin += size)
            OK(chunk_info(s, i, &size, NULL, NULL, &err));
        if (m->n + n > sizeof m->bytes)
            return;
        OK(holdall_schunk_insert(s, chunk, bytes, n, &err));
        memmove(m->bytes + begin + n, m->bytes + begin, m->n - begin);
        memcpy(m->bytes + begin, bytes, n);
        m->n += n;
        break;
    }
    case 4: {
        if (holdall_schunk_chunk_count(s) == 0)
            return;
        uint64_t chunk = (r >> 30) % holdall_schunk_chunk_count(s);
        size_t begin = 0, size = 0;
        for (uint64_t i = 0; i < chunk; i++, begin += size)
            OK(chunk_info(s, i, &size, NULL, NULL, &err));
        OK(chunk_info(s, chunk, &size, NULL, NULL, &err));
        OK(holdall_schunk_remove(s, chunk, &err));
        memmove(m->bytes + begin, m->bytes + begin + size, m->n - begin - size);
        m->n -= size;
        break;
    }
    default:
        at = m->n - at / 8;
        OK(holdall_schunk_truncate(s, at, &err));
        m->n = at;
    }
}

static void random_changes_agree_with_the_model(void)
{
    static model now_, committed;
    static const int64_t versions[] = {0, 1, 2, 103};
    uint64_t x = 42;
    for (int form = 0; form < 8; form++) {
        char name[64];
        snprintf(name, sizeof name, "changes%d.blp", form);
        int64_t version = versions[form % 4], spare = form / 4 * 500;
        holdall_schunk *s = create(in_tmp(name), HOLDALL_CREATE,
                                   WITH(HOLDALL_OPT_CHUNK_BYTES, 1600, HOLDALL_OPT_FORMAT_VERSION,
                                        version, HOLDALL_OPT_SPARE_BYTES, spare));
        now_.n = committed.n = 0;
        OK(holdall_schunk_commit(s, &err));
        for (int k = 0; k < (slow() ? 60 : 300); k++) {
            now("version %d, spare %d, change %d", (int)version, (int)spare, k);
            change(s, &now_, &x);
            if (k % 5 == 0)
                compare(s, &now_);
            if (k % 7 == 6) {
                bool commits = k % 3 != 0;
                if (commits) {
                    OK(holdall_schunk_commit(s, &err));
                    committed = now_;
                    compare(s, &now_);
                }
                if (k % 2 == 0) {
                    holdall_schunk_close(s);
                    TIDY();
                    s = open_schunk(in_tmp(name), HOLDALL_READ, NULL);
                    compare(s, &committed);
                    EQUAL(schunk_info(s).version, version == 0 || version == 103 ? 3 : version);
                    holdall_schunk_close(s);
                    OK(verify_counts(in_tmp(name), NULL, NULL, NULL, NULL, NULL, NULL, &err));
                    s = open_schunk(in_tmp(name), HOLDALL_APPEND,
                                    spare ? WITH(HOLDALL_OPT_SPARE_BYTES, spare) : NULL);
                    now_ = committed;
                }
            }
        }
        holdall_schunk_close(s);
    }
}

static void all_codecs_filters_checksums_and_versions_work(void)
{
    static const int64_t versions[] = {1, 2, 3, 103};
    static const uint8_t filters[] = {HOLDALL_FILTER_NONE, HOLDALL_FILTER_SHUFFLE,
                                      HOLDALL_FILTER_BITSHUFFLE};
    const char *path = in_tmp("forms.blp");
    for (int64_t codec = HOLDALL_CODEC_NONE; codec <= HOLDALL_CODEC_ZSTD; codec++)
        for (int f = 0; f < 3; f++)
            for (int v = 0; v < 4; v++) {
                int64_t sum = HOLDALL_CHECKSUM_NONE +
                              (versions[v] == 1 ? 0 : (codec + 2 * f + v) % 9),
                        level = 1 + (codec + f + v) % 9;
                size_t typesize = (size_t[]){1, 2, 4, 8, 300}[(codec + f + v) % 5];
                now("codec %d, filter %d, version %d, sum %d, level %d, typesize %zu", (int)codec,
                    f, (int)versions[v], (int)sum, (int)level, typesize);
                holdall_options *o = options_of(
                    WITH(HOLDALL_OPT_CODEC, codec, HOLDALL_OPT_LEVEL, level, HOLDALL_OPT_CHECKSUM,
                         sum, HOLDALL_OPT_FORMAT_VERSION, versions[v], HOLDALL_OPT_CHUNK_BYTES,
                         24000, HOLDALL_OPT_OFFSETS, versions[v] == 1 ? 0 : codec % 2));
                OK(holdall_options_set_bytes(o, HOLDALL_OPT_FILTERS, filters + f, f > 0, &err));
                holdall_schunk *s;
                OK(holdall_schunk_create(path, HOLDALL_REPLACE, HOLDALL_FORMAT_BLOSCPACK, typesize,
                                         o, &s, &err));
                holdall_options_free(o);
                append_content(s, 0, 50001, 2);
                finish(s);
                s = open_schunk(path, HOLDALL_APPEND, NULL);
                append_content(s, 50001, 30000, 2);
                finish(s);
                s = open_schunk(path, HOLDALL_READ, NULL);
                check_content(s, 0, 80001, 2);
                EQUAL(schunk_info(s).checksum, sum);
                EQUAL(schunk_info(s).version,
                      versions[v] == 103 ? 3
                                         : versions[v]); /* without metadata they are identical */
                EQUAL(schunk_info(s).typesize, typesize > 255 ? 1 : typesize);
                EQUAL(holdall_schunk_chunk_count(s), 4);
                int32_t got = 0;
                for (uint64_t i = 0; i < 4; i++) {
                    size_t nbytes = 0, cbytes = 0;
                    OK(chunk_info(s, i, &nbytes, &cbytes, &got, &err));
                    /* later appends use the settings of the existing chunks; for uncompressed
                     * chunks these are not known */
                    int64_t want = codec == HOLDALL_CODEC_LZ4HC ? HOLDALL_CODEC_LZ4 : codec;
                    CHECK(got == want || cbytes == nbytes + 16 ||
                          (codec == HOLDALL_CODEC_NONE && got == HOLDALL_CODEC_BLOSCLZ));
                }
                holdall_schunk_close(s);
                uint64_t intact = 9, corrupt = 9, unchecked = 9;
                OK(verify_counts(path, NULL, NULL, NULL, &intact, &corrupt, &unchecked, &err));
                CHECK(corrupt == 0 && intact == (sum == HOLDALL_CHECKSUM_NONE ? 0 : 4) &&
                      intact + unchecked == 4);
            }
    TIDY();
}

static void check_meta(const holdall_schunk *s, const char *want)
{
    const void *value = &err;
    size_t n = 99;
    EQUAL(holdall_schunk_attr_count(s), want != NULL);
    CHECK(want ? strcmp(holdall_schunk_attr_name(s, 0), "") == 0
               : holdall_schunk_attr_name(s, 0) == NULL);
    CHECK(holdall_schunk_attr_name(s, 1) == NULL &&
          holdall_schunk_attr_name(s, UINT32_MAX) == NULL);
    GIVES(want ? HOLDALL_OK : HOLDALL_NOT_FOUND, holdall_schunk_attr_get(s, "", &value, &n, &err));
    EQUAL(n, want ? strlen(want) : 0);
    CHECK(want ? memcmp(value, want, n) == 0 : value == NULL);
    GIVES(HOLDALL_NOT_FOUND, holdall_schunk_attr_get(s, "other", &value, &n, &err));
    CHECK(value == NULL && n == 0);
}

static void metadata_are_stored_and_replaced(void)
{
    static char large[60000];
    memset(large, ' ', sizeof large - 1);
    large[0] = '[', large[sizeof large - 2] = ']';
    for (size_t i = 1; i < sizeof large - 12; i += 10)
        snprintf(large + i, 11, "%8zu, ", i), large[i + 10] = ' ';
    large[sizeof large - 4] = '1';
    static const int64_t versions[] = {3, 103};
    const char *const values[] = {
        "{\"a\": 1}", NULL,   "[]",
        large,        "null", "{\"unit\": \"K\", \"\\u00fc\": [1.5, null, \"x\"]}",
        NULL,         large,  "3"};
    for (int v = 0; v < 2; v++) {
        const char *path = in_tmp(v ? "meta103.blp" : "meta.blp");
        holdall_schunk *s =
            create(path, HOLDALL_CREATE,
                   WITH(HOLDALL_OPT_FORMAT_VERSION, versions[v], HOLDALL_OPT_CHUNK_BYTES, CHUNK));
        check_meta(s, NULL);
        append_content(s, 0, N, 3);
        const char *was = NULL;
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
            now("version %d, value %zu", (int)versions[v], k);
            OK(holdall_schunk_attr_set(s, "", values[k], values[k] ? strlen(values[k]) : 0, &err));
            check_meta(s, values[k]);
            if (k > 0) { /* the file exists */
                holdall_schunk *reader = open_schunk(path, HOLDALL_READ, NULL);
                check_meta(reader, was);
                holdall_schunk_close(reader);
            }
            OK(holdall_schunk_commit(s, &err));
            check_meta(s, values[k]);
            holdall_schunk_close(s);
            s = open_schunk(path, HOLDALL_APPEND, NULL);
            check_meta(s, values[k]);
            EQUAL(schunk_info(s).version, v == 0 || values[k] == NULL || k > 1 ? 3 : 103);
            check_content(s, 0, N, 3);
            was = values[k];
        }
        GIVES(HOLDALL_E_UNSUPPORTED, holdall_schunk_attr_set(s, "x", "1", 1, &err));
        GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_attr_set(s, "", "{", 1, &err));
        GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_attr_set(s, "", "\xff", 1, &err));
        GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_attr_set(s, "", "", 0, &err));
        check_meta(s, was);
        holdall_schunk_close(s);
    }
    for (int64_t version = 1; version < 3; version++) {
        holdall_schunk *s =
            create(in_tmp("none.blp"), HOLDALL_REPLACE, WITH(HOLDALL_OPT_FORMAT_VERSION, version));
        GIVES(HOLDALL_E_UNSUPPORTED, holdall_schunk_attr_set(s, "", "1", 1, &err));
        OK(holdall_schunk_attr_set(s, "", NULL, 0, &err));
        check_meta(s, NULL);
        holdall_schunk_close(s);
    }
    TIDY();
}

static void raw_chunks_are_copied_unchanged(void)
{
    const char *path = in_tmp("raw.blp"), *copy = in_tmp("copy.blp");
    write_schunk(path, WITH(HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD),
                 N, 4);
    holdall_schunk *from = open_schunk(path, HOLDALL_READ, NULL),
                   *to = create(copy, HOLDALL_CREATE,
                                WITH(HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_CHECKSUM,
                                     HOLDALL_CHECKSUM_SHA1));
    uint8_t chunk[CHUNK + 32], again[CHUNK + 32];
    for (uint64_t i = 0; i < holdall_schunk_chunk_count(from); i++) {
        size_t n = 0, n2 = 0, cbytes = 0;
        OK(holdall_schunk_read_raw(from, i, chunk, sizeof chunk, &n, &err));
        OK(chunk_info(from, i, NULL, &cbytes, NULL, &err));
        EQUAL(n, cbytes);
        OK(holdall_schunk_append_raw(to, chunk, n, &err));
        OK(holdall_schunk_read_raw(to, i, again, sizeof again, &n2, &err));
        CHECK(n == n2 && memcmp(chunk, again, n) == 0);
        /* invalid chunks are refused, and nothing is appended */
        GIVES(HOLDALL_E_FORMAT, holdall_schunk_append_raw(to, chunk, n - 1, &err));
        GIVES(HOLDALL_E_FORMAT, holdall_schunk_append_raw(to, chunk, 15, &err));
        GIVES(HOLDALL_E_FORMAT, holdall_schunk_append_raw(to, NULL, 0, &err));
        EQUAL(holdall_schunk_chunk_count(to), i + 1);
    }
    finish(to);
    holdall_schunk_close(from);
    check_schunk(copy, N, 4);
    OK(verify_counts(copy, NULL, NULL, NULL, NULL, NULL, NULL, &err));

    /* chunks of Blosc2 have a longer header, and another version */
    to = open_schunk(copy, HOLDALL_APPEND, NULL);
    size_t n = 0;
    OK(holdall_schunk_read_raw(to, 0, chunk, sizeof chunk, &n, &err));
    uint8_t blosc2[32 + 1] = {5, 1, 1 | 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0};
    holdall_status s = holdall_schunk_append_raw(to, blosc2, 32, &err);
    CHECK(s == HOLDALL_E_UNSUPPORTED || s == HOLDALL_E_FORMAT);
    chunk[0] = 5;
    GIVES(HOLDALL_E_UNSUPPORTED, holdall_schunk_append_raw(to, chunk, n, &err));
    /* a chunk that is not yet written is read as it will be stored */
    append_content(to, N, 100, 4);
    OK(holdall_schunk_read_raw(to, holdall_schunk_chunk_count(to) - 1, chunk, sizeof chunk, &n,
                               &err));
    size_t nbytes = 0, cbytes = 9;
    OK(chunk_info(to, holdall_schunk_chunk_count(to) - 1, &nbytes, &cbytes, NULL, &err));
    EQUAL(cbytes, 0);
    EQUAL(nbytes, N % CHUNK + 100);
    holdall_schunk_close(to);
    check_schunk(copy, N, 4);
    TIDY();
}

static void an_empty_superchunk_works(void)
{
    for (int k = 0; k < 4; k++) {
        const char *path = in_tmp("nothing.blp");
        now("version %d", (int[]){3, 1, 2, 103}[k]);
        holdall_schunk *s = create(path, HOLDALL_REPLACE,
                                   WITH(HOLDALL_OPT_FORMAT_VERSION, (int64_t[]){3, 1, 2, 103}[k]));
        OK(holdall_schunk_append(s, NULL, 0, &err));
        OK(holdall_schunk_write(s, 0, NULL, 0, &err));
        OK(holdall_schunk_truncate(s, 0, &err));
        OK(holdall_schunk_read(s, 0, NULL, 0, &err));
        finish(s);
        s = open_schunk(path, HOLDALL_APPEND, WITH(HOLDALL_OPT_CHUNK_BYTES, 800));
        EQUAL(holdall_schunk_nbytes(s), 0);
        EQUAL(holdall_schunk_chunk_count(s), 1);
        size_t n = 9;
        OK(holdall_schunk_read_chunk(s, 0, NULL, 0, &n, &err));
        EQUAL(n, 0);
        OK(holdall_schunk_read(s, 0, NULL, 0, &err));
        append_content(s, 0, 2000, 1);
        finish(s);
        check_schunk(path, 2000, 1);
        s = open_schunk(path, HOLDALL_APPEND, NULL);
        EQUAL(schunk_info(s).chunk_size, 800);
        OK(holdall_schunk_truncate(s, 0, &err));
        finish(s);
        check_schunk(path, 0, 1);
        OK(verify_counts(path, NULL, NULL, NULL, NULL, NULL, NULL, &err));
    }
}

/* Which commits change the file in place and which rewrite it: the inode of the path shows it. */
static ino_t inode(const char *path)
{
    struct stat st;
    CHECK(stat(path, &st) == 0);
    return st.st_ino;
}

static void commits_write_in_place_if_possible(void)
{
    const char *path = in_tmp("inode.blp");
    write_schunk(path, small, 10 * CHUNK, 1);
    holdall_schunk *s = open_schunk(path, HOLDALL_APPEND, NULL);
    ino_t was = inode(path);
    append_content(s, 10 * CHUNK, CHUNK + 5, 1);
    OK(holdall_schunk_commit(s, &err));
    EQUAL(inode(path), was);
    OK(holdall_schunk_truncate(s, 7 * CHUNK + 9, &err));
    OK(holdall_schunk_commit(s, &err));
    EQUAL(inode(path), was);
    OK(holdall_schunk_remove(s, 7, &err));
    OK(holdall_schunk_commit(s, &err));
    EQUAL(inode(path), was);
    write_content(s, 0, CHUNK, 0); /* of equal length or shorter: all chunks at equal distances */
    uint8_t zeros[CHUNK] = {0};
    OK(holdall_schunk_write(s, CHUNK, zeros, CHUNK, &err));
    OK(holdall_schunk_commit(s, &err));
    EQUAL(inode(path), was);
    CHECK(schunk_info(s).stored_bytes == file_size(path));
    /* if it does not fit */
    OK(holdall_schunk_insert(s, 1, "abc", 3, &err));
    OK(holdall_schunk_commit(s, &err));
    CHECK(inode(path) != was);
    was = inode(path);
    OK(holdall_schunk_remove(s, 1, &err));
    OK(holdall_schunk_commit(s, &err));
    CHECK(inode(path) != was);
    was = inode(path);
    uint64_t x = 7;
    for (size_t i = 0; i < CHUNK; i++)
        zeros[i] = (uint8_t)next_random(&x);
    OK(holdall_schunk_write(s, CHUNK, zeros, CHUNK, &err));
    OK(holdall_schunk_commit(s, &err));
    CHECK(inode(path) != was);
    was = inode(path);
    /* no changes */
    OK(holdall_schunk_commit(s, &err));
    EQUAL(inode(path), was);
    uint8_t got[CHUNK];
    OK(holdall_schunk_read(s, CHUNK, got, CHUNK, &err));
    CHECK(memcmp(got, zeros, CHUNK) == 0);
    check_content(s, 0, CHUNK, 0);
    check_content(s, 2 * CHUNK, 5 * CHUNK, 1);
    holdall_schunk_close(s);

    /* spare bytes make room for longer chunks */
    write_schunk(path, WITH(HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_SPARE_BYTES, 4000),
                 10 * CHUNK, 1);
    was = inode(path);
    s = open_schunk(path, HOLDALL_APPEND, NULL);
    for (size_t i = 0; i < 300; i++)
        zeros[i] = (uint8_t)next_random(&x);
    OK(holdall_schunk_write(s, 3 * CHUNK + 80, zeros, 300, &err));
    OK(holdall_schunk_commit(s, &err));
    EQUAL(inode(path), was);
    check_content(s, 0, 3 * CHUNK + 80, 1);
    check_content(s, 3 * CHUNK + 380, 7 * CHUNK - 380, 1);
    holdall_schunk_close(s);

    /* also in a writer that adds spare bytes itself: of one chunk, of adjacent chunks together, and
     * of the last chunk */
    write_schunk(path, WITH(HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_SPARE_BYTES, 4000),
                 10 * CHUNK, 1);
    was = inode(path);
    s = open_schunk(path, HOLDALL_APPEND, WITH(HOLDALL_OPT_SPARE_BYTES, 4000));
    static const struct {
        uint64_t first, chunks;
    } changes[] = {{3, 1}, {3, 1}, {4, 2}, {8, 2}, {0, 3}, {3, 1}, {9, 1}};
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        for (uint64_t c = changes[k].first; c < changes[k].first + changes[k].chunks; c++)
            OK(holdall_schunk_write(s, c * CHUNK + 80, zeros, 300, &err));
        OK(holdall_schunk_commit(s, &err));
        EQUAL(inode(path), was);
    }
    for (uint64_t c = 0; c < 10; c++)
        check_content(s, c * CHUNK + 380, CHUNK - 380, 1);
    holdall_schunk_close(s);
    OK(verify_counts(path, NULL, NULL, NULL, NULL, NULL, NULL, &err));

    /* spare offsets make room for more chunks */
    write_schunk(path, WITH(HOLDALL_OPT_CHUNK_BYTES, 80), 80 * 1022, 1);
    was = inode(path);
    s = open_schunk(path, HOLDALL_APPEND, NULL);
    append_content(s, 80 * 1022, 80, 1);
    OK(holdall_schunk_commit(s, &err));
    CHECK(inode(path) != was);
    was = inode(path);
    append_content(s, 80 * 1023, 80 * 5000, 1);
    finish(s);
    EQUAL(inode(path), was);
    check_schunk(path, 80 * 6023, 1);
    TIDY();
}

int main(void)
{
    RUN(pieces_are_appended_and_slices_are_read);
    RUN(random_changes_agree_with_the_model);
    RUN(all_codecs_filters_checksums_and_versions_work);
    RUN(metadata_are_stored_and_replaced);
    RUN(raw_chunks_are_copied_unchanged);
    RUN(an_empty_superchunk_works);
    RUN(commits_write_in_place_if_possible);
    return 0;
}
