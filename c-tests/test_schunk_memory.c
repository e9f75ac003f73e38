/* Superchunks and memory: a slice takes the stored bytes of a chunk and one block, for any size of
 * the file or chunk. Limits of the caller are respected. Sizes that a file claims are not trusted,
 * and a failed allocation is an error. */
#include "child.h"
#include "schunk.h"

/* Returns the memory peak of this process in kilobytes; 0 if the system does not report it. */
static long peak(void)
{
    long kb = 0;
#ifdef __linux__
    FILE *f = fopen("/proc/self/status", "r");
    CHECK(f != NULL);
    char line[256];
    while (fgets(line, sizeof line, f) != NULL)
        (void)(sscanf(line, "VmHWM: %ld", &kb) == 1);
    fclose(f);
#endif
    return kb;
}

/* ---- a slice of a large file ------------------------------------------------------------------*/

static uint64_t big = UINT64_C(2) << 30;

/* So many bytes of zeros, with a little content in the middle. */
static void write_sparse(const char *path, const int64_t *pairs)
{
    enum { PIECE = 16 << 20 };
    uint8_t *zeros = calloc(PIECE, 1);
    CHECK(zeros != NULL);
    holdall_schunk *s = create(path, HOLDALL_REPLACE, pairs);
    for (uint64_t at = 0; at < big; at += PIECE)
        OK(holdall_schunk_append(s, zeros, PIECE, &err));
    write_content(s, big / 2, 3000, 1);
    finish(s);
    free(zeros);
}

static void read_slices(const char *path)
{
    static uint8_t got[100000];
    memset(got, 1, sizeof got);
    for (int io = 0; io < 2; io++) {
        long before = peak();
        holdall_schunk *s = open_schunk(path, HOLDALL_READ, WITH(HOLDALL_OPT_IO, IO(io)));
        EQUAL(holdall_schunk_nbytes(s), big);
        check_content(s, big / 2, 3000, 1);
        for (uint64_t k = 0; k < 20; k++) {
            OK(holdall_schunk_read(s, big / 20 * k, got, sizeof got, &err));
            CHECK(k == 10 || (got[0] == 0 && memcmp(got, got + 1, sizeof got - 1) == 0));
        }
        holdall_schunk_close(s);
        long more = peak() - before;
        now("%s, %ld KB more", path, more);
        /* pages of a mapped file count as memory, but can be reclaimed at any time */
        CHECK(slow() || more < (8 << 10) + (io ? (long)(file_size(path) >> 10) : 0));
    }
}

static void a_slice_of_a_large_file_takes_little_memory(void)
{
    static const int64_t chunks[] = {64 << 10, 1 << 20, 256 << 20};
    for (int k = 0; k < 3; k++) {
        const char *path = in_tmp("sparse.blp");
        write_sparse(path, WITH(HOLDALL_OPT_CHUNK_BYTES, slow() && k == 2 ? 8 << 20 : chunks[k],
                                HOLDALL_OPT_DURABILITY, 0));
        CHECK(file_size(path) < big / 50);
        EQUAL(within(0, read_slices, path), 0);
    }
}

/* Appending and writing a little also takes little memory, in proportion to the file. */
static void change_a_little(const char *path)
{
    long before = peak();
    holdall_schunk *s = open_schunk(path, HOLDALL_APPEND, WITH(HOLDALL_OPT_DURABILITY, 0));
    write_content(s, 5, 100, 2);
    append_content(s, big, 100, 2);
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_close(s);
    long more = peak() - before;
    now("%ld KB more", more);
    CHECK(slow() || more < 16 << 10);
}

static void a_small_change_takes_little_memory(void)
{
    const char *path = in_tmp("changed.blp");
    write_sparse(path, WITH(HOLDALL_OPT_CHUNK_BYTES, 1 << 20, HOLDALL_OPT_DURABILITY, 0));
    EQUAL(within(0, change_a_little, path), 0);
    holdall_schunk *s = open_schunk(path, HOLDALL_READ, NULL);
    EQUAL(holdall_schunk_nbytes(s), big + 100);
    check_content(s, big, 100, 2);
    check_content(s, 5, 100, 2);
    holdall_schunk_close(s);
}

/* ---- the caller's limit -----------------------------------------------------------------------*/

static void limits_are_respected(void)
{
    enum { CHUNK = 1 << 20, N = 4 * CHUNK };
    const char *path = in_tmp("limit.blp");
    write_schunk(path, WITH(HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_CODEC, HOLDALL_CODEC_NONE),
                 N, 1);
    holdall_schunk *s;
    GIVES(HOLDALL_E_LIMIT, try_schunk(path, HOLDALL_READ, WITH(HOLDALL_OPT_MEMORY_LIMIT, 10), &s));
    CHECK(says("HOLDALL_OPT_MEMORY_LIMIT"));
    s = open_schunk(path, HOLDALL_READ, WITH(HOLDALL_OPT_MEMORY_LIMIT, CHUNK / 2));
    uint8_t got[100];
    GIVES(HOLDALL_E_LIMIT, holdall_schunk_read(s, CHUNK, got, sizeof got, &err));
    EQUAL(err.position, 1);
    holdall_schunk_close(s);
    /* a mapped chunk takes no memory except a block */
    s = open_schunk(path, HOLDALL_READ,
                    WITH(HOLDALL_OPT_MEMORY_LIMIT, CHUNK + 100, HOLDALL_OPT_IO, HOLDALL_IO_MAP));
    check_content(s, CHUNK, N - CHUNK, 1);
    uint8_t digest[4];
    size_t n;
    OK(holdall_schunk_checksum(s, HOLDALL_CHECKSUM_CRC32, digest, sizeof digest, &n, &err));
    holdall_schunk_close(s);
    holdall_options *o = options_of(WITH(HOLDALL_OPT_MEMORY_LIMIT, CHUNK + 100));
    uint64_t intact = 0;
    OK(verify_counts(path, o, NULL, NULL, &intact, NULL, NULL, &err));
    EQUAL(intact, 4);
    holdall_options_free(o);
}

/* ---- files that claim large sizes -------------------------------------------------------------*/

static void put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* Any result except the end of the process; a read never returns much. */
static void open_in_any_way(const char *path)
{
    static uint8_t got[1000];
    for (int k = 0; k < 8; k++) {
        const int64_t *how = WITH(HOLDALL_OPT_SKIP_DAMAGED, k % 2, HOLDALL_OPT_IO, IO(k / 2 % 2),
                                  HOLDALL_OPT_VERIFY, k / 4);
        holdall_schunk *s;
        preset_error();
        holdall_status status = try_schunk(path, HOLDALL_READ, how, &s);
        if (status == HOLDALL_OK) {
            preset_error();
            uint64_t nbytes = holdall_schunk_nbytes(s);
            status = holdall_schunk_read(s, nbytes / 2, got, nbytes < 1000 ? 0 : 1000 / 2, &err);
            size_t n;
            uint8_t digest[4];
            (void)!holdall_schunk_read_chunk(s, 0, NULL, 0, &n, &err);
            if (nbytes < 100 << 20)
                (void)!holdall_schunk_checksum(s, HOLDALL_CHECKSUM_CRC32, digest, sizeof digest, &n,
                                               &err);
        }
        CHECK(status >= 0 || status == HOLDALL_E_FORMAT || status == HOLDALL_E_LIMIT ||
              status == HOLDALL_E_MEMORY || status == HOLDALL_E_CHECKSUM);
        holdall_schunk_close(s);
    }
    (void)!verify_counts(path, NULL, NULL, NULL, NULL, NULL, NULL, &err);
    (void)!repair_counts(path, NULL, NULL, NULL, &err);
}

static void claimed_sizes_are_not_trusted(void)
{
    const char *path = in_tmp("claims.blp");
    for (int k = 0; k < 9; k++) {
        now("claim %d", k);
        uint8_t file[200] = "blpk\x03";
        put(file + 8, 1 << 20, 4), put(file + 12, 1 << 20, 4), put(file + 16, 1, 8);
        uint8_t *chunk = file + 32;
        switch (k) {
        /* a huge number of chunks, with and without offsets */
        case 0: put(file + 16, INT64_MAX, 8); break;
        case 1: put(file + 16, INT64_C(1) << 40, 8), file[5] = 1; break;
        case 2: put(file + 24, INT64_C(1) << 60, 8), file[5] = 1; break;
        /* metadata of 4 GB, with 4 GB reserved for them or with none */
        case 3: case 4: case 5:
            file[5] = 2;
            memcpy(file + 32, "JSON\0\0\0\0\0\0\1\6", 12);
            put(file + 44, k == 3 ? 10 : UINT32_MAX, 4),
                put(file + 48, k == 4 ? 20 : UINT32_MAX, 4),
                put(file + 52, k == 5 ? UINT32_MAX : 20, 4);
            chunk = file + 84;
            break;
        /* a chunk that holds 2 GB in one block, in one of many, or in many blocks of one byte */
        case 6: put(chunk + 8, INT32_MAX - 40, 4); break;
        case 7: put(chunk + 8, 1 << 20, 4); break;
        case 8: put(chunk + 8, 1, 4); break;
        }
        memcpy(chunk, "\2\1\x20\1", 4);
        put(chunk + 4, k < 6 ? 1000 : INT32_MAX - 40, 4),
            put(chunk + 12, (uint64_t)(file + 200 - chunk), 4);
        if (k < 6)
            put(chunk + 8, 1000, 4);
        put(file + 12, k < 6 ? 1000 : INT32_MAX - 40, 4);
        put(chunk + 16, 20, 4);
        put(chunk + 20, 100, 4);
        save(path, file, sizeof file);
        EQUAL(within(200, open_in_any_way, path), 0);
    }
}

int main(void)
{
    /* no threads of the library: they would be reported as leaks in a child that inherits them */
    setenv("HOLDALL_THREADS", "1", 1);
    if (slow())
        big = 16 << 20;
    RUN(a_slice_of_a_large_file_takes_little_memory);
    RUN(a_small_change_takes_little_memory);
    RUN(limits_are_respected);
    RUN(claimed_sizes_are_not_trusted);
    return 0;
}
