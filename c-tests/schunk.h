/* Shared by the tests of superchunks: content to write, and short forms of the calls. */
#ifndef SCHUNK_H
#define SCHUNK_H

#include "folder.h"

/* ---- content ----------------------------------------------------------------------------------*/

/* Byte `at` of the content of this kind: increasing items of 8 bytes, different for each kind. */
static inline uint8_t byte_at(uint64_t at, unsigned kind)
{
    uint64_t item = at / 8 * (2 * kind + 1) + kind * UINT64_C(0x123456789);
    return (uint8_t)(item >> 8 * (at % 8));
}

static inline void make_content(uint64_t at, void *dst, size_t n, unsigned kind)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)dst)[i] = byte_at(at + i, kind);
}

static inline bool is_content(uint64_t at, const uint8_t *bytes, size_t n, unsigned kind)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != byte_at(at + i, kind))
            return false;
    return true;
}

static inline void append_content(holdall_schunk *s, uint64_t at, size_t n, unsigned kind)
{
    uint8_t *bytes = malloc(n + 1);
    CHECK(bytes != NULL);
    make_content(at, bytes, n, kind);
    OK(holdall_schunk_append(s, bytes, n, &err));
    free(bytes);
}

static inline void write_content(holdall_schunk *s, uint64_t at, size_t n, unsigned kind)
{
    uint8_t *bytes = malloc(n + 1);
    CHECK(bytes != NULL);
    make_content(at, bytes, n, kind);
    OK(holdall_schunk_write(s, at, bytes, n, &err));
    free(bytes);
}

/* Are these bytes, which start at `at`, content of this kind? */
static inline void check_content(const holdall_schunk *s, uint64_t at, size_t n, unsigned kind)
{
    uint8_t *bytes = malloc(n + 1);
    CHECK(bytes != NULL);
    OK(holdall_schunk_read(s, at, bytes, n, &err));
    CHECK(is_content(at, bytes, n, kind));
    free(bytes);
}

/* ---- calls ------------------------------------------------------------------------------------*/

static inline holdall_status try_create(const char *path, holdall_mode mode, size_t typesize,
                                        const int64_t *pairs, holdall_schunk **s)
{
    holdall_options *options = options_of(pairs);
    holdall_status status =
        holdall_schunk_create(path, mode, HOLDALL_FORMAT_BLOSCPACK, typesize, options, s, &err);
    holdall_options_free(options);
    return status;
}

/* Items of 8 bytes. */
static inline holdall_schunk *create(const char *path, holdall_mode mode, const int64_t *pairs)
{
    holdall_schunk *s;
    OK(try_create(path, mode, 8, pairs, &s));
    return s;
}

static inline holdall_status try_schunk(const char *path, holdall_mode mode, const int64_t *pairs,
                                        holdall_schunk **s)
{
    holdall_options *options = options_of(pairs);
    holdall_status status = holdall_schunk_open(path, mode, options, s, &err);
    holdall_options_free(options);
    return status;
}

static inline holdall_schunk *open_schunk(const char *path, holdall_mode mode, const int64_t *pairs)
{
    holdall_schunk *s;
    OK(try_schunk(path, mode, pairs, &s));
    return s;
}

/* Commits and closes. */
static inline void finish(holdall_schunk *s)
{
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_close(s);
}

/* Writes n bytes of content of this kind, with one commit. */
static inline void write_schunk(const char *path, const int64_t *pairs, size_t n, unsigned kind)
{
    holdall_schunk *s = create(path, HOLDALL_REPLACE, pairs);
    append_content(s, 0, n, kind);
    finish(s);
}

/* Does this path hold exactly n bytes of this kind? */
static inline void check_schunk(const char *path, size_t n, unsigned kind)
{
    holdall_schunk *s = open_schunk(path, HOLDALL_READ, NULL);
    EQUAL(holdall_schunk_nbytes(s), n);
    check_content(s, 0, n, kind);
    holdall_schunk_close(s);
}

static inline holdall_status try_folder_schunk(folder *f, holdall_mode mode, const int64_t *pairs,
                                               holdall_schunk **s)
{
    holdall_options *options = options_of(pairs);
    holdall_storage *io = folder_io(f);
    holdall_status status = mode == HOLDALL_CREATE || mode == HOLDALL_REPLACE
        ? schunk_create_io(io, mode, HOLDALL_FORMAT_BLOSCPACK, 8, options, s, &err)
        : schunk_open_io(io, mode, options, s, &err);
    holdall_storage_free(io);
    holdall_options_free(options);
    return status;
}

static inline void folder_write_schunk(folder *f, const int64_t *pairs, size_t n, unsigned kind)
{
    holdall_schunk *s;
    OK(try_folder_schunk(f, HOLDALL_REPLACE, pairs, &s));
    append_content(s, 0, n, kind);
    finish(s);
}

/* ---- damage -----------------------------------------------------------------------------------*/

/* Returns the offset of a chunk in a file that was written without spare bytes: the chunks are
 * adjacent and reach to the end of the file. */
static inline size_t chunk_offset(const char *path, uint64_t chunk)
{
    holdall_schunk *s = open_schunk(path, HOLDALL_READ, WITH(HOLDALL_OPT_SKIP_DAMAGED, 1));
    static const size_t digests[] = {0, 4, 4, 16, 20, 28, 32, 48, 64};
    size_t at = file_size(path), digest = digests[schunk_info(s).checksum - HOLDALL_CHECKSUM_NONE];
    for (uint64_t i = holdall_schunk_chunk_count(s); i-- > chunk;) {
        size_t cbytes = 0;
        OK(chunk_info(s, i, NULL, &cbytes, NULL, &err));
        at -= cbytes + digest;
    }
    holdall_schunk_close(s);
    return at;
}

/* Changes a byte of a file. */
static inline void flip(const char *path, size_t at)
{
    FILE *f = fopen(path, "r+b");
    CHECK(f != NULL && fseek(f, (long)at, SEEK_SET) == 0);
    int c = fgetc(f);
    CHECK(c != EOF && fseek(f, (long)at, SEEK_SET) == 0 && fputc(c ^ 0x10, f) != EOF &&
          fclose(f) == 0);
}

#endif
