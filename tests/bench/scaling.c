/* The loops of bench_scaling.py: the cost of operations as a container grows. It consists of pieces
 * of 16 bytes, each a record or a chunk.
 *
 * usage: scaling           reads commands and answers each with a line
 *
 * KIND: bag, bagz (its records compressed), schunk (a Bloscpack file), frame, array (b2nd) or
 * dataset (bcolz, a file per chunk).
 * Commands answer with seconds:
 *   make KIND PATH N               a container of N pieces
 *   open KIND PATH TIMES           opens and closes it, per time
 *   read KIND PATH TIMES           pieces at random positions of the open container, per piece
 *   grow KIND PATH TIMES DURABLE   one more piece and a commit, per time
 *   walk PATH CODEC MIB            a superchunk of MIB MiB, numbers with two decimals, in chunks of
 *                                  1 MiB
 *   pieces PATH THREADS            all of a superchunk with THREADS threads; then the seconds of
 *                                  each chunk by itself */
#include "common.h"

enum { PIECE = 16, AT_ONCE = 1 << 14, ITEM = 4 };

union any {
    holdall_bag *bag;
    holdall_bag_writer *writer;
    holdall_schunk *schunk;
    holdall_array *array;
};

static char bytes[AT_ONCE * PIECE];

static int is(const char *kind, const char *name)
{
    return !strcmp(kind, name);
}

static int is_bag(const char *kind)
{
    return is(kind, "bag") || is(kind, "bagz");
}

static int is_array(const char *kind)
{
    return is(kind, "array") || is(kind, "dataset");
}

static holdall_options *options(const char *kind, int durable)
{
    holdall_options *o = with_threads(1);
    set(o, HOLDALL_OPT_DURABILITY, durable);
    if (!is_bag(kind) && !is_array(kind))
        set(o, HOLDALL_OPT_CHUNK_BYTES, PIECE);
    return o;
}

/* Opens it for changes, or creates it; a chunk has the length of the existing ones. */
static union any to_change(const char *kind, const char *path, int mode, int durable)
{
    union any u;
    const uint64_t none[1] = { 0 }, chunk[1] = { PIECE / ITEM };
    holdall_options *o = options(mode == HOLDALL_CREATE ? kind : "array", durable);
    if (is_bag(kind)) {
        set(o, HOLDALL_OPT_CODEC, is(kind, "bag") ? HOLDALL_CODEC_NONE : HOLDALL_CODEC_ZSTD);
        check(holdall_bag_writer_open(path, mode, o, &u.writer, &err), "open");
    } else if (is_array(kind) && mode == HOLDALL_CREATE) {
        int format = is(kind, "array") ? HOLDALL_FORMAT_B2ND : HOLDALL_FORMAT_BCOLZ;
        check(array_create(path, mode, format, "<i4", 1, none, chunk, NULL, o, &u.array, &err),
              "create");
    } else if (is_array(kind)) {
        check(holdall_array_open(path, mode, o, &u.array, &err), "open");
    } else if (mode == HOLDALL_CREATE) {
        int format = is(kind, "schunk") ? HOLDALL_FORMAT_BLOSCPACK : HOLDALL_FORMAT_B2FRAME;
        check(holdall_schunk_create(path, mode, format, ITEM, o, &u.schunk, &err), "create");
    } else {
        check(holdall_schunk_open(path, mode, o, &u.schunk, &err), "open");
    }
    holdall_options_free(o);
    return u;
}

static void append(const char *kind, union any u, size_t n)
{
    if (is_bag(kind)) {
        static uint64_t offsets[AT_ONCE + 1];
        for (size_t i = 0; i <= n; i++)
            offsets[i] = i * PIECE;
        check(holdall_bag_writer_append_many(u.writer, bytes, offsets, n, &err), "append");
    } else if (is_array(kind)) {
        check(holdall_array_append(u.array, 0, n * PIECE / ITEM, bytes, n * PIECE, &err), "append");
    } else {
        check(holdall_schunk_append(u.schunk, bytes, n * PIECE, &err), "append");
    }
}

static void commit(const char *kind, union any u)
{
    if (is_bag(kind))
        check(holdall_bag_writer_commit(u.writer, &err), "commit");
    else if (is_array(kind))
        check(holdall_array_commit(u.array, &err), "commit");
    else
        check(holdall_schunk_commit(u.schunk, &err), "commit");
}

static void close_changed(const char *kind, union any u)
{
    if (is_bag(kind))
        holdall_bag_writer_close(u.writer);
    else if (is_array(kind))
        holdall_array_close(u.array);
    else
        holdall_schunk_close(u.schunk);
}

static double make(const char *kind, const char *path, uint64_t n)
{
    double start = now();
    union any u = to_change(kind, path, HOLDALL_CREATE, 0);
    for (uint64_t i = 0; i < n; i += AT_ONCE)
        append(kind, u, n - i < AT_ONCE ? n - i : AT_ONCE);
    commit(kind, u);
    close_changed(kind, u);
    return now() - start;
}

static double grow(const char *kind, const char *path, long times, int durable)
{
    union any u = to_change(kind, path, HOLDALL_APPEND, durable);
    append(kind, u, 1);
    commit(kind, u);
    double start = now();
    for (long i = 0; i < times; i++) {
        append(kind, u, 1);
        commit(kind, u);
    }
    double took = now() - start;
    close_changed(kind, u);
    return took;
}

static union any to_read(const char *kind, const char *path)
{
    union any u;
    holdall_options *o = with_threads(1);
    if (is_bag(kind))
        check(holdall_bag_open(path, o, &u.bag, &err), "open");
    else if (is_array(kind))
        check(holdall_array_open(path, HOLDALL_READ, o, &u.array, &err), "open");
    else
        check(holdall_schunk_open(path, HOLDALL_READ, o, &u.schunk, &err), "open");
    holdall_options_free(o);
    return u;
}

static void close_read(const char *kind, union any u)
{
    if (is_bag(kind))
        holdall_bag_close(u.bag);
    else
        close_changed(kind, u);
}

static double open_often(const char *kind, const char *path, long times)
{
    close_read(kind, to_read(kind, path));
    double start = now();
    for (long i = 0; i < times; i++)
        close_read(kind, to_read(kind, path));
    return now() - start;
}

static uint64_t size_of(const char *kind, union any u)
{
    if (is_bag(kind))
        return holdall_bag_record_count(u.bag);
    return is_array(kind) ? holdall_array_shape(u.array)[0] / (PIECE / ITEM)
                          : holdall_schunk_chunk_count(u.schunk);
}

static void read_piece(const char *kind, union any u, uint64_t i)
{
    char to[PIECE];
    size_t n;
    const uint64_t start = i * (PIECE / ITEM), count = PIECE / ITEM;
    if (is_bag(kind))
        check(holdall_bag_read(u.bag, i, to, PIECE, &n, &err), "read");
    else if (is_array(kind))
        check(holdall_array_read(u.array, &start, &count, NULL, to, PIECE, NULL, &err), "read");
    else
        check(holdall_schunk_read_chunk(u.schunk, i, to, PIECE, &n, &err), "read");
}

static double read_pieces(const char *kind, const char *path, long times)
{
    union any u = to_read(kind, path);
    uint64_t all = size_of(kind, u), at = 0;
    double start = 0;
    for (long i = 0; i < 2 * times; i++) {
        if (i == times)
            start = now();
        at = (at + 0x9e3779b97f4a7c15u % all + 1) % all;
        read_piece(kind, u, at);
    }
    double took = now() - start;
    close_read(kind, u);
    return took;
}

static double walk(const char *path, int codec, size_t mib)
{
    size_t n = (mib << 20) / sizeof(double);
    double *items = room(n * sizeof *items), at = 100, start = now();
    uint64_t state = 1;
    holdall_schunk *s;
    holdall_options *o = holdall_options_new();
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        at += ((double)(state >> 53) - 1024) / 1000;
        items[i] = (double)(long)(at * 100) / 100;
    }
    set(o, HOLDALL_OPT_CODEC, codec);
    set(o, HOLDALL_OPT_CHUNK_BYTES, 1 << 20);
    set(o, HOLDALL_OPT_DURABILITY, 0);
    check(holdall_schunk_create(path, HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, sizeof *items, o, &s,
                                &err),
          "create");
    check(holdall_schunk_append(s, items, n * sizeof *items, &err), "append");
    check(holdall_schunk_commit(s, &err), "commit");
    holdall_schunk_close(s);
    holdall_options_free(o);
    free(items);
    return now() - start;
}

/* Seconds of each chunk of a superchunk by itself, after reading all of them with THREADS
 * threads. */
static void pieces(const char *path, int threads)
{
    holdall_schunk *s;
    holdall_options *o = with_threads(threads);
    set(o, HOLDALL_OPT_VERIFY, 0);
    check(holdall_schunk_open(path, HOLDALL_READ, o, &s, &err), "open");
    holdall_options_free(o);
    size_t all = holdall_schunk_nbytes(s), chunk = schunk_info(s).chunk_size, size;
    uint8_t *to = room(all);
    memset(to, 1, all);
    check(holdall_schunk_read(s, 0, to, all, &err), "read");
    double start = now();
    check(holdall_schunk_read(s, 0, to, all, &err), "read");
    printf("%.9g", now() - start);
    for (uint64_t i = 0; i < holdall_schunk_chunk_count(s); i++) {
        start = now();
        check(holdall_schunk_read_chunk(s, i, to + i * chunk, all - i * chunk, &size, &err),
              "read");
        printf(" %.9g", now() - start);
    }
    putchar('\n');
    holdall_schunk_close(s);
    free(to);
}

static double answer_to(char **w, int n)
{
    if (n == 4 && is(w[0], "make"))
        return make(w[1], w[2], strtoull(w[3], NULL, 10));
    if (n == 4 && is(w[0], "open"))
        return open_often(w[1], w[2], atol(w[3]));
    if (n == 4 && is(w[0], "read"))
        return read_pieces(w[1], w[2], atol(w[3]));
    if (n == 5 && is(w[0], "grow"))
        return grow(w[1], w[2], atol(w[3]), atoi(w[4]));
    if (n == 4 && is(w[0], "walk"))
        return walk(w[1], atoi(w[2]), atol(w[3]));
    if (n == 3 && is(w[0], "pieces"))
        return pieces(w[1], atoi(w[2])), PRINTED;
    return unknown(w, n);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i * 7 / 5;
    return commands(argv + 1, argc - 1, answer_to);
}
