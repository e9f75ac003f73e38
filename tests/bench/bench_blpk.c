/* The loops of bench_blpk.py that time holdall, in C, so that they measure what a C program gets.
 *
 * usage: bench_blpk               reads commands and answers each with a line
 *        bench_blpk COMMAND...    one command; prints its memory peak
 *
 * Each command answers with the seconds it took:
 *   pack FILE PATH CODEC LEVEL CHECKSUM DURABILITY THREADS
 *                             a file becomes a superchunk
 *   unpack PATH FILE THREADS  a superchunk becomes a file
 *   read PATH IO THREADS VERIFY
 *                             all content, piece by piece
 *   open PATH IO TIMES
 *   slice PATH IO AT N TIMES  opens, reads N bytes from byte AT on, closes
 *   slices PATH IO N TIMES    reads N bytes at random positions of an open superchunk
 *   encode FILE CODEC LEVEL FILTER
 *                             encodes chunks that are discarded, CPU time of the thread; then the
 *                             total number of bytes
 *   decode PATH               chunks in memory, one by one, CPU time of the thread, the second
 *                             time
 *   alone LIBRARY PATH        the same, only with the decoders of LZ4 and zstd in a library that
 *                             exports them
 *   memcpy                    answers with bytes per second */
#include <dlfcn.h>
#include <errno.h>

#include "common.h"

#include "relay.h"

#define TYPESIZE 8
#define PIECE ((size_t)8 << 20)

/* CPU time of this thread, independent of other load. */
static double worked(void)
{
    return at(CLOCK_THREAD_CPUTIME_ID);
}

struct flow {
    int fd;
    holdall_schunk *s;
    uint64_t at, all;
};

static size_t from_file(void *ctx, uint8_t *piece, size_t room)
{
    struct flow *f = ctx;
    ssize_t n = read(f->fd, piece, room);
    if (n < 0)
        die("read");
    return n;
}

static void to_schunk(void *ctx, const uint8_t *piece, size_t n)
{
    struct flow *f = ctx;
    check(holdall_schunk_append(f->s, piece, n, &err), "append");
}

static double pack(const char *file, const char *path, int codec, int level, int checksum,
                   int durability, int threads)
{
    uint64_t size;
    struct flow f = {0};
    holdall_options *o = with_threads(threads);
    set(o, HOLDALL_OPT_CODEC, codec);
    set(o, HOLDALL_OPT_LEVEL, level);
    set(o, HOLDALL_OPT_CHECKSUM, checksum);
    set(o, HOLDALL_OPT_DURABILITY, durability);
    double start = now();
    f.fd = open_file(file, O_RDONLY, &size);
    check(holdall_schunk_create(path, HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, TYPESIZE, o, &f.s,
                                &err),
          "create");
    relay(&(struct relay){ .make = from_file, .take = to_schunk, .ctx = &f }, PIECE);
    check(holdall_schunk_commit(f.s, &err), "commit");
    holdall_schunk_close(f.s);
    close(f.fd);
    double took = now() - start;
    holdall_options_free(o);
    return took;
}

static holdall_schunk *open_schunk(const char *path, int io, int threads, int verify)
{
    holdall_schunk *s;
    holdall_options *o = for_reading(io, threads);
    set(o, HOLDALL_OPT_VERIFY, verify);
    check(holdall_schunk_open(path, HOLDALL_READ, o, &s, &err), "open");
    holdall_options_free(o);
    return s;
}

static size_t piece_size(const struct flow *f)
{
    return f->all - f->at < PIECE ? f->all - f->at : PIECE;
}

static size_t from_schunk(void *ctx, uint8_t *piece, size_t room)
{
    struct flow *f = ctx;
    size_t n = f->all - f->at < room ? f->all - f->at : room;
    check(holdall_schunk_read(f->s, f->at, piece, n, &err), "read");
    f->at += n;
    return n;
}

static void to_file(void *ctx, const uint8_t *piece, size_t n)
{
    struct flow *f = ctx;
    if (write(f->fd, piece, n) != (ssize_t)n)
        die("write");
}

static double unpack(const char *path, const char *file, int threads)
{
    uint64_t size;
    double start = now();
    struct flow f = {.fd = open_file(file, O_WRONLY | O_CREAT | O_TRUNC, &size),
                     .s = open_schunk(path, HOLDALL_IO_READ, threads, 1)};
    f.all = holdall_schunk_nbytes(f.s);
    relay(&(struct relay){ .make = from_schunk, .take = to_file, .ctx = &f }, PIECE);
    holdall_schunk_close(f.s);
    close(f.fd);
    return now() - start;
}

static double read_all(const char *path, int io, int threads, int verify)
{
    double start = now();
    struct flow f = {.s = open_schunk(path, io, threads, verify)};
    uint8_t *piece = room(PIECE);
    f.all = holdall_schunk_nbytes(f.s);
    for (size_t n; (n = piece_size(&f)) > 0; f.at += n) {
        check(holdall_schunk_read(f.s, f.at, piece, n, &err), "read");
        sink += piece[n - 1];
    }
    holdall_schunk_close(f.s);
    free(piece);
    return now() - start;
}

static double open_often(const char *path, int io, long times)
{
    double start = now();
    for (long i = 0; i < times; i++)
        holdall_schunk_close(open_schunk(path, io, 0, 1));
    return now() - start;
}

static double slice(const char *path, int io, uint64_t at, size_t n, long times)
{
    uint8_t *dst = room(n);
    double start = now();
    for (long i = 0; i < times; i++) {
        holdall_schunk *s = open_schunk(path, io, 0, 1);
        check(holdall_schunk_read(s, at, dst, n, &err), "read");
        holdall_schunk_close(s);
    }
    double took = now() - start;
    sink = dst[n - 1];
    free(dst);
    return took;
}

static double slices(const char *path, int io, size_t n, long times)
{
    uint8_t *dst = room(n);
    holdall_schunk *s = open_schunk(path, io, 0, 1);
    uint64_t positions = holdall_schunk_nbytes(s) - n, at = 0;
    double start = now();
    for (long i = 0; i < times; i++) {
        at = (at + 0x9e3779b97f4a7c15u % positions) % positions;
        check(holdall_schunk_read(s, at / TYPESIZE * TYPESIZE, dst, n, &err), "read");
    }
    double took = now() - start;
    sink = dst[n - 1];
    free(dst);
    holdall_schunk_close(s);
    return took;
}

/* ---- chunks in memory */

struct nowhere {
    int there;
    uint64_t written;
};

static int64_t no_size(void *ctx, const char *name)
{
    (void)name;
    struct nowhere *n = ctx;
    return n->there ? (int64_t)n->written : -ENOENT;
}

static int64_t no_read(void *ctx, const char *name, uint64_t at, void *dst, size_t n)
{
    (void)ctx, (void)name, (void)at, (void)dst, (void)n;
    return -EIO;
}

static int64_t no_write(void *ctx, const char *name, uint64_t at, const void *src, size_t n)
{
    (void)name, (void)at, (void)src;
    ((struct nowhere *)ctx)->written += n;
    return 0;
}

static int64_t no_truncate(void *ctx, const char *name, uint64_t size)
{
    (void)name, (void)size;
    ((struct nowhere *)ctx)->there = 1;
    return 0;
}

static int64_t no_sync(void *ctx, const char *name)
{
    (void)ctx, (void)name;
    return 0;
}

static int64_t no_rename(void *ctx, const char *from, const char *to)
{
    (void)ctx, (void)from, (void)to;
    return -EIO;
}

static void encode(const char *file, int codec, int level, int filter)
{
    static uint8_t *data;
    static uint64_t size;
    static char loaded[4096];
    if (strcmp(loaded, file)) {
        free(data);
        data = load(file, &size);
        snprintf(loaded, sizeof loaded, "%s", file);
    }
    struct nowhere to = { 0 };
    const holdall_storage_functions f = {
        .struct_size = sizeof f,
        .ctx = &to,
        .size = no_size,
        .read_at = no_read,
        .write_at = no_write,
        .truncate = no_truncate,
        .sync = no_sync,
        .rename = no_rename,
        .remove = no_sync,
    };
    uint8_t filters[1] = { filter };
    holdall_storage *io;
    holdall_schunk *s;
    holdall_options *o = with_threads(1);
    set(o, HOLDALL_OPT_CODEC, codec);
    set(o, HOLDALL_OPT_LEVEL, level);
    set(o, HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE);
    check(holdall_options_set_bytes(o, HOLDALL_OPT_FILTERS, filters, 1, &err), "filters");
    check(holdall_storage_from_functions(&f, &io, &err), "io");
    check(schunk_create_io(io, HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, TYPESIZE, o, &s, &err),
          "create");
    double start = worked();
    check(holdall_schunk_append(s, data, size, &err), "append");
    double took = worked() - start;
    printf("%.9g %llu\n", took, (unsigned long long)schunk_info(s).stored_bytes);
    holdall_schunk_close(s);
    holdall_storage_free(io);
    holdall_options_free(o);
}

static double decode(const char *path)
{
    uint64_t size;
    size_t n;
    uint8_t *bytes = load(path, &size);
    holdall_storage *io;
    holdall_schunk *s;
    holdall_options *o = with_threads(1);
    set(o, HOLDALL_OPT_VERIFY, 0);
    check(holdall_storage_from_memory(bytes, size, &io, &err), "io");
    check(schunk_open_io(io, HOLDALL_READ, o, &s, &err), "open");
    uint64_t chunks = holdall_schunk_chunk_count(s);
    size_t most = schunk_info(s).chunk_size;
    uint8_t *dst = room(most);
    double start = 0;
    for (int pass = 0; pass < 2; pass++) {
        start = worked();
        for (uint64_t i = 0; i < chunks; i++)
            check(holdall_schunk_read_chunk(s, i, dst, most, &n, &err), "read_chunk");
    }
    double took = worked() - start;
    holdall_schunk_close(s);
    holdall_storage_free(io);
    holdall_options_free(o);
    free(dst);
    free(bytes);
    return took;
}

/* ---- the codec alone
 *
 * Chunks of Blosc 1: 16 bytes of header, block offsets, blocks of one stream or of one per byte of an
 * item, each after its length. Filters are not inverted. */

#define COPIED 0x02
#define UNSPLIT 0x10
#define HEAD 16

enum { LZ4 = 1, ZSTD = 4 };

static struct {
    int (*lz4)(const char *src, char *dst, int n, int most);
    void *(*zstd_new)(void);
    size_t (*zstd)(void *context, void *dst, size_t most, const void *src, size_t n);
    void *context;
} decoders;

static void *exported(void *library, const char *name)
{
    void *f = dlsym(library, name);
    if (!f)
        die(name);
    return f;
}

/* ISO C has no cast from an object to a function. */
#define FIND(library, f, name) (*(void **)&(f) = exported(library, name))

static void find_decoders(const char *path)
{
    if (decoders.context)
        return;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        die(path);
    FIND(library, decoders.lz4, "LZ4_decompress_safe");
    FIND(library, decoders.zstd_new, "ZSTD_createDCtx");
    FIND(library, decoders.zstd, "ZSTD_decompressDCtx");
    decoders.context = decoders.zstd_new();
}

static int32_t word(const uint8_t *at)
{
    int32_t n;
    memcpy(&n, at, sizeof n);
    return n;
}

static size_t decode_stream(int codec, const uint8_t *src, int n, uint8_t *dst, int each)
{
    if (n == each)
        return memcpy(dst, src, n), each;
    if (codec == LZ4)
        return decoders.lz4((const char *)src, (char *)dst, n, each);
    return decoders.zstd(decoders.context, dst, each, src, n);
}

static void decode_streams(const uint8_t *chunk, uint8_t *dst)
{
    int nbytes = word(chunk + 4), block = word(chunk + 8), codec = chunk[2] >> 5;
    if (chunk[2] & COPIED) {
        memcpy(dst, chunk + HEAD, nbytes);
        return;
    }
    for (int at = 0, i = 0; at < nbytes; at += block, i++) {
        const uint8_t *src = chunk + word(chunk + HEAD + 4 * i);
        int len = nbytes - at < block ? nbytes - at : block;
        int streams = chunk[2] & UNSPLIT || len < block ? 1 : chunk[3], each = len / streams;
        for (int k = 0; k < streams; k++) {
            int n = word(src);
            if ((codec != LZ4 && codec != ZSTD) ||
                decode_stream(codec, src + 4, n, dst + at + k * each, each) != (size_t)each)
                die("a stream");
            src += 4 + n;
        }
    }
}

static double decode_alone(const char *library, const char *path)
{
    size_t n;
    find_decoders(library);
    holdall_schunk *s = open_schunk(path, HOLDALL_IO_READ, 1, 0);
    uint64_t chunks = holdall_schunk_chunk_count(s);
    size_t most = schunk_info(s).chunk_size, room_each = 2 * most + HEAD;
    uint8_t *all = room(chunks * room_each), *dst = room(most);
    for (uint64_t i = 0; i < chunks; i++)
        check(holdall_schunk_read_raw(s, i, all + i * room_each, room_each, &n, &err), "read_raw");
    double start = 0;
    for (int pass = 0; pass < 2; pass++) {
        start = worked();
        for (uint64_t i = 0; i < chunks; i++)
            decode_streams(all + i * room_each, dst);
    }
    double took = worked() - start;
    holdall_schunk_close(s);
    free(all);
    free(dst);
    return took;
}

static double answer_to(char **w, int n)
{
    if (n == 8 && !strcmp(w[0], "pack"))
        return pack(w[1], w[2], atoi(w[3]), atoi(w[4]), atoi(w[5]), atoi(w[6]), atoi(w[7]));
    if (n == 4 && !strcmp(w[0], "unpack"))
        return unpack(w[1], w[2], atoi(w[3]));
    if (n == 5 && !strcmp(w[0], "read"))
        return read_all(w[1], atoi(w[2]), atoi(w[3]), atoi(w[4]));
    if (n == 4 && !strcmp(w[0], "open"))
        return open_often(w[1], atoi(w[2]), atol(w[3]));
    if (n == 6 && !strcmp(w[0], "slice"))
        return slice(w[1], atoi(w[2]), strtoull(w[3], NULL, 10), atol(w[4]), atol(w[5]));
    if (n == 5 && !strcmp(w[0], "slices"))
        return slices(w[1], atoi(w[2]), atol(w[3]), atol(w[4]));
    if (n == 2 && !strcmp(w[0], "decode"))
        return decode(w[1]);
    if (n == 3 && !strcmp(w[0], "alone"))
        return decode_alone(w[1], w[2]);
    if (n == 5 && !strcmp(w[0], "encode"))
        return encode(w[1], atoi(w[2]), atoi(w[3]), atoi(w[4])), PRINTED;
    return unknown(w, n);
}

int main(int argc, char **argv)
{
    return commands(argv + 1, argc - 1, answer_to);
}
