/* Superchunks and threads: many threads read one handle, also a writer's, while another file is
 * written; files that are opened while they grow; handles that move between threads; files and
 * content that do not depend on the number of threads; children that read on after fork(). */
#include "child.h"
#include "schunk.h"

#include <pthread.h>

enum { THREADS = 6, CHUNK = 40000, N = 30 * CHUNK + 12344 };

static const char json[] = "{\"some\": \"metadata\"}";
static size_t total = N;

typedef struct {
    const holdall_schunk *s;
    unsigned seed;
    int rounds;
} reader;

static uint64_t next_of(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

/* Reads at random positions, with every function. */
static void *read_on(void *arg)
{
    const reader *r = arg;
    uint64_t x = r->seed * UINT64_C(0x9E3779B97F4A7C15) + 1,
             chunks = holdall_schunk_chunk_count(r->s);
    uint8_t *got = malloc(CHUNK + 64);
    CHECK(got != NULL);
    for (int round = 0; round < r->rounds; round++) {
        uint64_t at = next_of(&x) % total, n = next_of(&x) % (round % 4 ? 3000 : 5 * CHUNK),
                 i = at / CHUNK;
        size_t size, nbytes = 0, cbytes = 0;
        switch (next_of(&x) % 6) {
        case 0:
            OK(holdall_schunk_read_chunk(r->s, i, got, CHUNK, &size, &err));
            CHECK(is_content(i * CHUNK, got, size, 1));
            break;
        case 1: {
            int32_t codec = 0;
            OK(chunk_info(r->s, i, &nbytes, &cbytes, &codec, &err));
            OK(holdall_schunk_read_raw(r->s, i, got, CHUNK + 64, &size, &err));
            CHECK(size == cbytes || cbytes == 0);
            break;
        }
        case 2: {
            const void *meta;
            OK(holdall_schunk_attr_get(r->s, "", &meta, &size, &err));
            CHECK(size == sizeof json - 1 && memcmp(meta, json, size) == 0);
            GIVES(HOLDALL_E_RANGE, holdall_schunk_read(r->s, total, got, 1, &err));
            GIVES(HOLDALL_E_RANGE, holdall_schunk_read_chunk(r->s, chunks, NULL, 0, &size, &err));
            EQUAL(err.position, chunks);
            break;
        }
        default: check_content(r->s, at, n < total - at ? n : total - at, 1);
        }
    }
    free(got);
    return NULL;
}

static void start(pthread_t *threads, reader *readers, const holdall_schunk *s, int rounds)
{
    for (unsigned t = 0; t < THREADS; t++) {
        readers[t] = (reader){s, t + 1, rounds};
        CHECK(pthread_create(&threads[t], NULL, read_on, &readers[t]) == 0);
    }
}

static void join(pthread_t *threads, int n)
{
    for (int t = 0; t < n; t++)
        CHECK(pthread_join(threads[t], NULL) == 0);
}

static const int64_t *form(int k)
{
    static const int64_t codecs[] = {HOLDALL_CODEC_LZ4, HOLDALL_CODEC_ZSTD, HOLDALL_CODEC_BLOSCLZ,
                                     HOLDALL_CODEC_ZLIB};
    static int64_t pairs[4][9];
    int64_t *p = pairs[k];
    p[0] = HOLDALL_OPT_CHUNK_BYTES, p[1] = CHUNK, p[2] = HOLDALL_OPT_CODEC, p[3] = codecs[k],
    p[4] = HOLDALL_OPT_LEVEL, p[5] = 3;
    return p;
}

static holdall_schunk *filled(const char *path, int k)
{
    holdall_schunk *s = create(path, HOLDALL_REPLACE, form(k));
    OK(holdall_schunk_attr_set(s, "", json, sizeof json - 1, &err));
    append_content(s, 0, total, 1);
    return s;
}

/* Many threads read one handle, while this thread writes another file. */
static void many_threads_read_one_handle_while_another_file_is_written(void)
{
    for (int k = 0; k < 4; k++) {
        now("codec %d", k);
        finish(filled(in_tmp("read.blp"), k));
        holdall_schunk *s =
            open_schunk(in_tmp("read.blp"), HOLDALL_READ, WITH(HOLDALL_OPT_IO, IO(k % 2)));
        pthread_t threads[THREADS];
        reader readers[THREADS];
        start(threads, readers, s, slow() ? 6 : 150);
        holdall_schunk *w = create(in_tmp("written.blp"), HOLDALL_REPLACE, form(k));
        size_t n = 0;
        for (int step = 0; step < (slow() ? 3 : 12); step++) {
            append_content(w, n, 3 * CHUNK + 77, 2);
            n += 3 * CHUNK + 77;
            write_content(w, n / 3, 5000, 2);
            check_content(w, n / 2, 1000, 2);
            OK(holdall_schunk_commit(w, &err));
        }
        holdall_schunk_close(w);
        check_schunk(in_tmp("written.blp"), n, 2);
        join(threads, THREADS);
        holdall_schunk_close(s);
        TIDY();
    }
}

/* Also the handle of a writer, while no thread changes it: with chunks in memory, in a file, and
 * partly changed. */
static void many_threads_read_through_a_writer(void)
{
    const char *path = in_tmp("waits.blp");
    pthread_t threads[THREADS];
    reader readers[THREADS];
    for (int step = 0; step < 3; step++) {
        now("step %d", step);
        holdall_schunk *s = filled(path, 0);
        if (step > 0)
            OK(holdall_schunk_commit(s, &err));
        if (step > 1) {
            write_content(s, 3 * CHUNK, 2 * CHUNK + 10, 1);
            append_content(s, total, 3 * CHUNK, 1);
            OK(holdall_schunk_truncate(s, total, &err));
        }
        start(threads, readers, s, slow() ? 4 : 100);
        join(threads, THREADS);
        finish(s);
        check_schunk(path, total, 1);
    }
    TIDY();
}

typedef struct {
    const char *path;
    int steps;
    size_t each;
    /* set by the writer at its end, without a lock: read with atomic operations */
    int done;
} growing;

static void *grow(void *arg)
{
    growing *g = arg;
    holdall_schunk *w = open_schunk(g->path, HOLDALL_APPEND, WITH(HOLDALL_OPT_DURABILITY, 0));
    for (int i = 1; i < g->steps; i++) {
        append_content(w, (uint64_t)i * g->each, g->each, 1);
        OK(holdall_schunk_commit(w, &err));
    }
    holdall_schunk_close(w);
    __atomic_store_n(&g->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* A reader that opens sees one complete commit. It continues, or reports that the file has
 * changed. */
static void *open_and_read(void *arg)
{
    growing *g = arg;
    uint8_t *got = malloc((size_t)g->steps * g->each);
    CHECK(got != NULL);
    uint64_t last = 0, reads = 0;
    for (int done = 0; !done;) {
        done = __atomic_load_n(&g->done, __ATOMIC_ACQUIRE);
        holdall_schunk *s = open_schunk(g->path, HOLDALL_READ, NULL);
        uint64_t n = holdall_schunk_nbytes(s);
        CHECK(n >= last && n % g->each == 0);
        last = n;
        preset_error();
        holdall_status status = holdall_schunk_read(s, 0, got, (size_t)n, &err);
        if (status != HOLDALL_E_STATE) {
            GAVE(HOLDALL_OK, status);
            CHECK(is_content(0, got, (size_t)n, 1));
            reads++;
        }
        holdall_schunk_close(s);
    }
    CHECK(reads > 0);
    EQUAL(last, (uint64_t)g->steps * g->each);
    free(got);
    return NULL;
}

static void files_are_opened_while_they_grow(void)
{
    for (int k = 0; k < 2; k++) {
        /* partial chunks are filled in place; with few offsets the file is rewritten from time to
         * time */
        growing g = {in_tmp("grows.blp"), slow() ? 12 : 60, 13704, 0};
        const int64_t *pairs = WITH(HOLDALL_OPT_CHUNK_BYTES, CHUNK, HOLDALL_OPT_OFFSETS, k,
                                    HOLDALL_OPT_SPARE_CHUNKS, k ? 3 : 0);
        write_schunk(g.path, pairs, g.each, 1);
        pthread_t threads[4];
        for (int t = 0; t < 4; t++)
            CHECK(pthread_create(&threads[t], NULL, t ? open_and_read : grow, &g) == 0);
        join(threads, 4);
        check_schunk(g.path, (size_t)g.steps * g.each, 1);
        TIDY();
    }
}

/* A handle may be used by any thread, one at a time. */
static void *append_and_close(void *arg)
{
    append_content(arg, total, 1000, 1);
    finish(arg);
    return NULL;
}

static void handles_move_between_threads(void)
{
    pthread_t threads[3];
    char paths[3][1024];
    for (int t = 0; t < 3; t++) {
        snprintf(paths[t], sizeof paths[t], "%s%d.blp", in_tmp("moved"), t);
        CHECK(pthread_create(&threads[t], NULL, append_and_close, filled(paths[t], t)) == 0);
    }
    join(threads, 3);
    for (int t = 0; t < 3; t++)
        check_schunk(paths[t], total + 1000, 1);
    TIDY();
}

static void files_do_not_depend_on_threads(void)
{
    for (int k = 0; k < 4; k++) {
        uint8_t *first = NULL;
        size_t size = 0, size2;
        for (int threads = 0; threads < 5; threads++) {
            now("codec %d, %d threads", k, threads);
            const int64_t *f = form(k);
            write_schunk(in_tmp("one.blp"),
                         WITH(f[0], f[1], f[2], f[3], HOLDALL_OPT_THREADS, threads), total, 1);
            uint8_t *bytes = load(in_tmp("one.blp"), &size2);
            CHECK(first == NULL || (size == size2 && memcmp(first, bytes, size) == 0));
            free(first);
            first = bytes, size = size2;
            holdall_schunk *s =
                open_schunk(in_tmp("one.blp"), HOLDALL_READ, WITH(HOLDALL_OPT_THREADS, threads));
            check_content(s, 0, total, 1);
            holdall_schunk_close(s);
        }
        free(first);
    }
}

static void read_in_child(const void *ctx)
{
    const reader *r = ctx;
    check_content(r->s, 0, total, 1);
    read_on((void *)r);
}

/* A child reads on through an inherited handle. */
static void child_reads(const holdall_schunk *s)
{
    in_child(read_in_child, &(reader){s, 99, 10});
}

static void children_read_on_after_fork(void)
{
    finish(filled(in_tmp("forked.blp"), 1));
    holdall_schunk *s = open_schunk(in_tmp("forked.blp"), HOLDALL_READ, NULL);
    child_reads(s);
    check_content(s, 0, total, 1);
    child_reads(s);
    /* while other threads read */
    pthread_t threads[THREADS];
    reader readers[THREADS];
    start(threads, readers, s, slow() ? 3 : 100);
    for (int n = 0; n < (slow() ? 1 : 5); n++)
        child_reads(s);
    join(threads, THREADS);
    holdall_schunk_close(s);
}

int main(void)
{
    /* use threads even on a machine with one processor; read once, at first use */
    setenv("HOLDALL_THREADS", "4", 1);
    total = slow() ? 8 * CHUNK + 12344 : N;
    /* first, before any thread is started */
    RUN(children_read_on_after_fork);
    RUN(many_threads_read_one_handle_while_another_file_is_written);
    RUN(many_threads_read_through_a_writer);
    RUN(files_are_opened_while_they_grow);
    RUN(handles_move_between_threads);
    RUN(files_do_not_depend_on_threads);
    return 0;
}
