/* Corruption: every changed byte of a file is detected or has no effect; skipped chunks are
 * reported; verify finds all corruption; repair retains all intact chunks; files that are truncated
 * while they are open. */
#include "schunk.h"
#include "callbacks.h"

enum { CHUNK = 4000, N = 10 * CHUNK + 400, CHUNKS = 11 };

static char path[1024];
static const int64_t small[] = {HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_DURABILITY, 0, 0, 0};

static const int64_t checksums[] = {HOLDALL_CHECKSUM_CRC32, HOLDALL_CHECKSUM_SHA256,
                               HOLDALL_CHECKSUM_NONE, HOLDALL_CHECKSUM_ADLER32};

/* Any byte, all of its bits: an error, or the written content. */
static void every_changed_byte_is_detected_or_harmless(void)
{
    unsigned turn = 0;
    for (int k = 0; k < 8; k++) {
        int64_t sum = checksums[k / 2];
        bool offsets = k % 2;
        holdall_schunk *s = create(path, HOLDALL_REPLACE,
                                   WITH(HOLDALL_OPT_CHUNK_BYTES, 400, HOLDALL_OPT_CHECKSUM, sum,
                                        HOLDALL_OPT_OFFSETS, offsets, HOLDALL_OPT_SPARE_CHUNKS, 3));
        OK(holdall_schunk_attr_set(s, "", "{\"a\": [1, 2]}", 13, &err));
        append_content(s, 0, 2100, 1);
        finish(s);
        size_t size, wrong = 0;
        uint8_t *bytes = load(path, &size), got[2100];
        for (size_t at = 0; at < size; at++) {
            if (offsets && at > 200 && at < size - 1200 && at % 97 != 0)
                continue; /* spare entries */
            for (int bit = 0; bit < 8; bit++) {
                if (turn++ % (slow() ? 991 : 1) != 0)
                    continue;
                now("sum %d, offsets %d, byte %zu of %zu, bit %d", (int)sum, offsets, at, size,
                    bit);
                bytes[at] ^= (uint8_t)(1 << bit);
                holdall_storage *io;
                OK(holdall_storage_from_memory(bytes, size, &io, &err));
                for (int skip = 0; skip < 2; skip++) {
                    holdall_options *o = options_of(WITH(HOLDALL_OPT_SKIP_DAMAGED, skip));
                    preset_error();
                    holdall_status status = schunk_open_io(io, HOLDALL_READ, o, &s, &err);
                    holdall_options_free(o);
                    if (status < 0) {
                        CHECK(s == NULL && err.status == status && err.message[0]);
                        continue;
                    }
                    const void *value;
                    size_t n = (size_t)holdall_schunk_nbytes(s), meta_size;
                    CHECK(n <= sizeof got || sum == HOLDALL_CHECKSUM_NONE || skip);
                    n = n < sizeof got ? n : sizeof got;
                    preset_error();
                    status = holdall_schunk_read(s, 0, got, n, &err);
                    CHECK(skip ? status >= 0 : status <= 0);
                    bool right = n == sizeof got && is_content(0, got, n, 1);
                    if (status == HOLDALL_OK && !right && !skip)
                        wrong++;
                    /* corruption is reported as such */
                    if (status == HOLDALL_OK && sum != HOLDALL_CHECKSUM_NONE && n == sizeof got)
                        CHECK(right);
                    status = holdall_schunk_attr_get(s, "", &value, &meta_size, &err);
                    if (status == HOLDALL_OK)
                        CHECK(meta_size == 13 && memcmp(value, "{\"a\": [1, 2]}", 13) == 0);
                    holdall_schunk_close(s);
                }
                holdall_storage_free(io);
                bytes[at] ^= (uint8_t)(1 << bit);
            }
        }
        free(bytes);
        CHECK(sum == HOLDALL_CHECKSUM_NONE || wrong == 0);
    }
}

static void check_with_holes(const holdall_schunk *s, unsigned holes)
{
    uint8_t got[CHUNK];
    for (uint64_t i = 0; i < CHUNKS; i++) {
        size_t n = 0, size = i + 1 < CHUNKS ? CHUNK : N % CHUNK;
        OK(holdall_schunk_read_chunk(s, i, got, sizeof got, &n, &err));
        EQUAL(n, size);
        for (size_t k = 0; k < n; k++)
            CHECK(got[k] == (holes >> i & 1 ? 0 : byte_at(i * CHUNK + k, 1)));
    }
}

/* Three chunks are corrupt: reported, skipped, repaired. */
static void corrupt_chunks_are_reported_skipped_and_repaired(void)
{
    for (int k = 0; k < 6; k++) {
        int64_t version = (int64_t[]){3, 2, 3, 103, 1, 3}[k],
                sum = version == 1 || k == 2 ? HOLDALL_CHECKSUM_NONE : HOLDALL_CHECKSUM_CRC32;
        bool checksums = sum != HOLDALL_CHECKSUM_NONE;
        now("version %d, sum %d", (int)version, (int)sum);
        holdall_schunk *s = create(path, HOLDALL_REPLACE,
                                   WITH(HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_CHECKSUM, sum,
                                        HOLDALL_OPT_FORMAT_VERSION, version, HOLDALL_OPT_CODEC,
                                        HOLDALL_CODEC_ZSTD));
        if (version == 103)
            OK(holdall_schunk_attr_set(s, "", "[]", 2, &err));
        append_content(s, 0, N, 1);
        finish(s);
        static const uint64_t hit[] = {0, 4, 10};
        for (int h = 0; h < 3; h++) {
            /* the first compressed bytes: without a checksum zstd detects it itself */
            size_t at = chunk_offset(path, hit[h]);
            flip(path, at + 24);
            flip(path, at + 25);
            if (!checksums)
                flip(path, at + 19), flip(path, at + 26); /* the offset of its block, too */
        }
        holdall_status want = checksums ? HOLDALL_E_CHECKSUM : HOLDALL_E_FORMAT;
        uint64_t intact = 9, corrupt = 9, unchecked = 9;
        faults f = {.thread = pthread_self()};
        GIVES(want, verify_counts(path, NULL, note, &f, &intact, &corrupt, &unchecked, &err));
        EQUAL(err.position, 0);
        CHECK(f.count == 3 && corrupt == 3 && intact + unchecked == 8 &&
              (checksums ? unchecked : intact) == 0);
        CHECK(strcmp(f.parts[0], "chunk 0") == 0 && strcmp(f.parts[1], "chunk 4") == 0 &&
              strcmp(f.parts[2], "chunk 10") == 0);
        CHECK(f.errors[0].position == 0 && f.errors[1].position == 4 && f.errors[2].position == 10);
        f = (faults){.thread = pthread_self(), .stop_at = 2};
        GIVES(want, verify_counts(path, NULL, note, &f, NULL, NULL, NULL, &err));
        EQUAL(f.count, 2);
        GIVES(want, try_schunk(path, HOLDALL_READ, WITH(HOLDALL_OPT_VERIFY, 2), &s));
        CHECK(s == NULL && err.position == 0);

        /* the others can be read */
        uint8_t got[N];
        size_t n = 99;
        s = open_schunk(path, HOLDALL_READ, NULL);
        GIVES(want, holdall_schunk_read(s, 0, got, N, &err));
        EQUAL(err.position, 0);
        GIVES(want, holdall_schunk_read(s, CHUNK, got, N - CHUNK, &err));
        EQUAL(err.position, 4);
        GIVES(want, holdall_schunk_read_chunk(s, 10, got, N, &n, &err));
        EQUAL(err.position, 10);
        EQUAL(n, 99);
        check_content(s, CHUNK, 3 * CHUNK, 1);
        check_content(s, 5 * CHUNK, 5 * CHUNK, 1);
        GIVES(want, holdall_schunk_checksum(s, HOLDALL_CHECKSUM_MD5, got, N, &n, &err));
        holdall_schunk_close(s);

        /* skipped: zeros, and the call reports it */
        s = open_schunk(path, HOLDALL_READ, WITH(HOLDALL_OPT_SKIP_DAMAGED, 1));
        GIVES(HOLDALL_DAMAGED, holdall_schunk_read(s, 0, got, N, &err));
        for (size_t i = 0; i < N; i++)
            CHECK(got[i] ==
                  (i / CHUNK == 0 || i / CHUNK == 4 || i / CHUNK == 10 ? 0 : byte_at(i, 1)));
        GIVES(HOLDALL_DAMAGED, holdall_schunk_read_chunk(s, 4, got, N, &n, &err));
        EQUAL(n, CHUNK);
        OK(holdall_schunk_read_chunk(s, 5, got, N, &n, &err));
        OK(holdall_schunk_read(s, CHUNK, got, 3 * CHUNK, &err));
        GIVES(HOLDALL_DAMAGED, holdall_schunk_checksum(s, HOLDALL_CHECKSUM_MD5, got, N, &n, &err));
        /* a raw chunk is returned without checking its content */
        GIVES(checksums ? want : HOLDALL_OK, holdall_schunk_read_raw(s, 4, got, N, &n, &err));
        holdall_schunk_close(s);

        /* a writer does not change corrupt chunks that it does not touch, and fails if it had to
         * read one */
        s = open_schunk(path, HOLDALL_APPEND, NULL);
        GIVES(want, holdall_schunk_write(s, 4 * CHUNK + 1, "x", 1, &err));
        EQUAL(err.position, 4);
        GIVES(want, holdall_schunk_append(s, "x", 1, &err));
        EQUAL(holdall_schunk_nbytes(s), N);
        holdall_schunk_close(s);

        uint64_t retained = 9, dropped = 9;
        OK(repair_counts(path, NULL, &retained, &dropped, &err));
        CHECK(retained == 8 && dropped == 3);
        TIDY();
        s = open_schunk(path, HOLDALL_APPEND, NULL);
        EQUAL(holdall_schunk_nbytes(s), N);
        check_with_holes(s, 1 | 1 << 4 | 1 << 10);
        write_content(s, 0, N, 1);
        finish(s);
        check_schunk(path, N, 1);
        OK(verify_counts(path, NULL, NULL, NULL, NULL, NULL, NULL, &err));
        OK(repair_counts(path, NULL, &retained, &dropped, &err));
        CHECK(retained == CHUNKS && dropped == 0);
    }
}

/* Truncated at any length: an error, the remaining content on request, and complete again after a
 * repair. */
static void truncated_files_are_repaired(void)
{
    for (int k = 0; k < 4; k++) {
        write_schunk(
            path,
            WITH(HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_OFFSETS, k % 2, HOLDALL_OPT_CHECKSUM,
                 k / 2 ? HOLDALL_CHECKSUM_MD5 : HOLDALL_CHECKSUM_NONE, HOLDALL_OPT_SPARE_CHUNKS, 5),
            N, 1);
        size_t size;
        uint8_t *bytes = load(path, &size);
        /* with fewer than its first four bytes it could be a bag */
        for (size_t n = 4; n < size; n += slow() ? 4001 : 97) {
            now("offsets %d, %zu of %zu bytes", k % 2, n, size);
            save(path, bytes, n);
            holdall_schunk *s;
            GIVES(HOLDALL_E_FORMAT, holdall_schunk_open(path, HOLDALL_READ, NULL, &s, &err));
            int64_t first = err.position;
            uint64_t retained = 99, dropped = 98, corrupt = 97;
            preset_error();
            holdall_status repaired = HOLDALL_OK,
                           opened = try_schunk(path, HOLDALL_READ,
                                               WITH(HOLDALL_OPT_SKIP_DAMAGED, 1), &s);
            uint64_t left = opened == HOLDALL_OK ? holdall_schunk_chunk_count(s) : 0;
            if (left > 0) {
                EQUAL(left, first);
                check_content(s, 0, (size_t)holdall_schunk_nbytes(s), 1);
            }
            holdall_schunk_close(s);
            CHECK(verify_counts(path, NULL, NULL, NULL, NULL, &corrupt, NULL, &err) < 0);
            EQUAL(corrupt, opened == HOLDALL_OK ? CHUNKS - left : 0);
            preset_error();
            repaired = repair_counts(path, NULL, &retained, &dropped, &err);
            if (left > 0) {
                GAVE(HOLDALL_OK, repaired);
                EQUAL(retained, left);
                EQUAL(dropped, CHUNKS - left);
                check_schunk(path, (size_t)left * CHUNK, 1);
                OK(verify_counts(path, NULL, NULL, NULL, NULL, NULL, NULL, &err));
            } else {
                GAVE(HOLDALL_E_FORMAT, repaired);
                CHECK(retained == 99 && dropped == 98);
                EQUAL(file_size(path), n);
            }
            TIDY();
        }
        free(bytes);
    }
}

static void put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* One offset has an arbitrary value: all content can be recovered, and a repair restores it. */
static void wrong_offsets_are_repaired(void)
{
    static const int64_t values[] = {INT64_MAX,
                                     INT64_MAX - 15,
                                     INT64_MAX - 16,
                                     INT64_C(1) << 62,
                                     INT64_C(1) << 44,
                                     INT64_MIN,
                                     -1,
                                     0,
                                     1};
    write_schunk(path, WITH(HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_SPARE_CHUNKS, 5), N, 1);
    size_t size;
    uint8_t *bytes = load(path, &size);
    for (size_t k = 0; k < sizeof values / sizeof *values; k++)
        for (int i = slow() ? (int)k % 5 : 0; i < CHUNKS; i += slow() ? 5 : 1) {
            now("offset %d is %" PRId64, i, values[k]);
            uint8_t was[8];
            memcpy(was, bytes + 32 + 8 * i, 8);
            put(bytes + 32 + 8 * i, (uint64_t)values[k], 8);
            save(path, bytes, size);
            memcpy(bytes + 32 + 8 * i, was, 8);
            holdall_schunk *s;
            GIVES(values[k] < 0 ? HOLDALL_OK : HOLDALL_E_FORMAT,
                  try_schunk(path, HOLDALL_READ, NULL, &s));
            holdall_schunk_close(s);
            s = open_schunk(path, HOLDALL_READ, WITH(HOLDALL_OPT_SKIP_DAMAGED, 1));
            EQUAL(holdall_schunk_nbytes(s), N);
            uint8_t got[CHUNK];
            for (uint64_t c = 0; c < CHUNKS; c++) {
                size_t n;
                CHECK(holdall_schunk_read_chunk(s, c, got, sizeof got, &n, &err) >= 0);
                CHECK(is_content(c * CHUNK, got, n, 1));
            }
            holdall_schunk_close(s);
            uint64_t retained = 0, dropped = 9;
            OK(repair_counts(path, NULL, &retained, &dropped, &err));
            CHECK(retained == CHUNKS && dropped == 0);
            check_schunk(path, N, 1);
        }
    free(bytes);
}

/* A short file that claims to have lost very much: no repair writes terabytes of zeros. */
static void a_repair_writes_no_endless_zeros(void)
{
    enum { MOST = 5000 };
    static uint8_t file[32 + 28 * MOST] = "blpk\3\1\0\1";
    const uint64_t many = slow() ? 200 : MOST, size = 32 + 28 * many;
    put(file + 8, 1 << 28, 4), put(file + 12, 4, 4), put(file + 16, many, 8);
    for (uint64_t i = 0; i < many; i++)
        put(file + 32 + 8 * i, 32 + 8 * many + 20 * i, 8);
    uint8_t *chunk = file + size - 20;
    memcpy(chunk, "\2\1\2\1\4\0\0\0\4\0\0\0\24\0\0\0abcd", 20);
    save(path, file, size);
    uint64_t retained = 93, dropped = 94;
    GIVES(HOLDALL_E_FORMAT, repair_counts(path, NULL, &retained, &dropped, &err));
    CHECK(retained == 93 && dropped == 94 && says("more than a file of this size can have held"));
    EQUAL(file_size(path), size);
    TIDY();
    /* the content that it may have held is zeros then */
    const uint64_t each = slow() ? 1 << 10 : 1 << 16;
    put(file + 8, each, 4);
    save(path, file, size);
    OK(repair_counts(path, NULL, &retained, &dropped, &err));
    CHECK(retained == 1 && dropped == many - 1);
    holdall_schunk *s = open_schunk(path, HOLDALL_READ, NULL);
    uint8_t got[4];
    EQUAL(holdall_schunk_nbytes(s), each * (many - 1) + 4);
    OK(holdall_schunk_read(s, each * (many - 1), got, 4, &err));
    CHECK(memcmp(got, "abcd", 4) == 0);
    holdall_schunk_close(s);
}

/* A file that cannot be repaired is not changed. */
static void unrepairable_files_are_not_changed(void)
{
    uint64_t retained = 93, dropped = 94;
    GIVES(HOLDALL_E_MISSING, repair_counts(in_tmp("no-such.blp"), NULL, &retained, &dropped, &err));
    save(in_tmp("head.blp"), "blpk\x03\1\2\3", 8);
    GIVES(HOLDALL_E_FORMAT, repair_counts(in_tmp("head.blp"), NULL, &retained, &dropped, &err));
    EQUAL(file_size(in_tmp("head.blp")), 8);
    uint8_t version9[64] = "blpk\x09";
    save(in_tmp("nine.blp"), version9, sizeof version9);
    GIVES(HOLDALL_E_VERSION, repair_counts(in_tmp("nine.blp"), NULL, &retained, &dropped, &err));
    CHECK(retained == 93 && dropped == 94);
    faults f = {.thread = pthread_self()};
    uint64_t intact = 9, corrupt = 9;
    GIVES(HOLDALL_E_FORMAT,
          verify_counts(in_tmp("head.blp"), NULL, note, &f, &intact, &corrupt, NULL, &err));
    CHECK(f.count == 1 && f.errors[0].position == -1 && strstr(f.parts[0], "head.blp") != NULL);
    TIDY();
}

static void corrupt_metadata_are_reported(void)
{
    static const int64_t versions[] = {3, 103};
    for (int v = 0; v < 2; v++) {
        now("version %d", (int)versions[v]);
        holdall_schunk *s =
            create(path, HOLDALL_REPLACE,
                   WITH(HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_FORMAT_VERSION, versions[v]));
        OK(holdall_schunk_attr_set(s, "", "{\"abc\": 1}", 10, &err));
        append_content(s, 0, N, 1);
        finish(s);
        if (v == 1)
            continue; /* the BLZ RFC layout has no checksum of these */
        size_t size, at = 0;
        uint8_t *bytes = load(path, &size);
        while (memcmp(bytes + at, "abc", 3) != 0)
            at++;
        free(bytes);
        flip(path, at);
        const void *value = &err;
        size_t n = 77;
        for (int mode = HOLDALL_READ; mode <= HOLDALL_APPEND; mode++) {
            s = open_schunk(path, mode, NULL);
            GIVES(HOLDALL_E_CHECKSUM, holdall_schunk_attr_get(s, "", &value, &n, &err));
            CHECK(value == &err && n == 77);
            EQUAL(holdall_schunk_attr_count(s), 1);
            check_content(s, 0, N, 1);
            holdall_schunk_close(s);
        }
        s = open_schunk(path, HOLDALL_READ, WITH(HOLDALL_OPT_SKIP_DAMAGED, 1));
        GIVES(HOLDALL_DAMAGED, holdall_schunk_attr_get(s, "", &value, &n, &err));
        holdall_schunk_close(s);
        uint64_t retained = 0, dropped = 0;
        GIVES(HOLDALL_E_CHECKSUM, verify_counts(path, NULL, NULL, NULL, NULL, NULL, NULL, &err));
        OK(repair_counts(path, NULL, &retained, &dropped, &err));
        CHECK(retained == CHUNKS && dropped == 1);
        s = open_schunk(path, HOLDALL_READ, NULL);
        GIVES(HOLDALL_NOT_FOUND, holdall_schunk_attr_get(s, "", &value, &n, &err));
        holdall_schunk_close(s);
        OK(verify_counts(path, NULL, NULL, NULL, NULL, NULL, NULL, &err));
    }
}

/* Truncated or overwritten while it is open: an error or the original content; no SIGBUS, no other
 * bytes. */
static void changes_of_an_open_file_are_errors(void)
{
    for (int tenths = 0; tenths < 10; tenths++)
        for (int grown = 0; grown < 2; grown++) {
            now("cut to %d tenths, grown again %d", tenths, grown);
            write_schunk(path, small, N, 1);
            size_t size = file_size(path);
            holdall_schunk *s = open_schunk(path, HOLDALL_READ,
                                            WITH(HOLDALL_OPT_SKIP_DAMAGED, tenths % 2)),
                           *w = open_schunk(path, HOLDALL_APPEND, NULL);
            CHECK(truncate(path, (off_t)(size * (size_t)tenths / 10)) == 0);
            if (grown)
                CHECK(truncate(path, (off_t)size) == 0);
            uint8_t got[CHUNK];
            for (uint64_t at = 0; at + CHUNK <= N; at += CHUNK) {
                preset_error();
                holdall_status status = holdall_schunk_read(s, at, got, CHUNK, &err);
                /* a change of the file is not corruption, and is not skipped */
                GAVE(HOLDALL_E_STATE, status);
                status = holdall_schunk_read(w, at, got, CHUNK, &err);
                CHECK(status < 0 || is_content(at, got, CHUNK, 1));
            }
            OK(holdall_schunk_attr_set(w, "", "1", 1, &err));
            if (!grown)
                GIVES(HOLDALL_E_STATE, holdall_schunk_commit(w, &err));
            holdall_schunk_close(s), holdall_schunk_close(w);
        }
    remove(path);
    TIDY();
}

/* Without verification, the stored bytes are returned. */
static void checksums_are_verified_on_request(void)
{
    write_schunk(path, WITH(HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_CODEC, HOLDALL_CODEC_NONE),
                 N, 1);
    flip(path, chunk_offset(path, 2) + 16);
    uint8_t got[CHUNK];
    for (int verify = 0; verify < 3; verify++) {
        holdall_schunk *s;
        holdall_status opened =
            try_schunk(path, HOLDALL_READ, WITH(HOLDALL_OPT_VERIFY, verify), &s);
        EQUAL(opened, verify == 2 ? HOLDALL_E_CHECKSUM : HOLDALL_OK);
        if (opened < 0)
            continue;
        GIVES(verify ? HOLDALL_E_CHECKSUM : HOLDALL_OK,
              holdall_schunk_read(s, 2 * CHUNK, got, CHUNK, &err));
        CHECK(verify || (got[0] == (byte_at(2 * CHUNK, 1) ^ 0x10) &&
                         is_content(2 * CHUNK + 1, got + 1, CHUNK - 1, 1)));
        check_content(s, 0, 2 * CHUNK, 1);
        holdall_schunk_close(s);
    }
}

int main(void)
{
    snprintf(path, sizeof path, "%s", in_tmp("damage.blp"));
    RUN(every_changed_byte_is_detected_or_harmless);
    RUN(corrupt_chunks_are_reported_skipped_and_repaired);
    RUN(truncated_files_are_repaired);
    RUN(wrong_offsets_are_repaired);
    RUN(a_repair_writes_no_endless_zeros);
    RUN(unrepairable_files_are_not_changed);
    RUN(corrupt_metadata_are_reported);
    RUN(changes_of_an_open_file_are_errors);
    RUN(checksums_are_verified_on_request);
    return 0;
}
