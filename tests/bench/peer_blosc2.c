/* The loops of bench_b2nd.py that time c-blosc2, from C: the library and headers of the Python
 * package blosc2. The commands are those of bench_b2nd.c; IO and CHECKSUM are ignored. */
#include "common.h"

#include "boxes.h"

#include <b2nd.h>

enum { MOST = DIMENSIONS, LEVEL = 5 };

static void done(int result, const char *call)
{
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", call, blosc2_error_string(result));
        exit(3);
    }
}

static b2nd_array_t *open_b2nd(const char *path, int threads)
{
    b2nd_array_t *a;
    done(b2nd_open(path, &a), "open");
    blosc2_dparams params = BLOSC2_DPARAMS_DEFAULTS;
    params.nthreads = threads;
    params.schunk = a->sc;
    blosc2_free_ctx(a->sc->dctx);
    a->sc->dctx = blosc2_create_dctx(params);
    return a;
}

static int codec_of(int codec)
{
    switch (codec) {
    case HOLDALL_CODEC_LZ4: return BLOSC_LZ4;
    case HOLDALL_CODEC_ZSTD: return BLOSC_ZSTD;
    default: die("codec"); return 0;
    }
}

static double write_all(char **w)
{
    static uint8_t *data;
    static uint64_t size;
    static char loaded[4096];
    uint64_t lengths[3][MOST];
    int64_t shape[MOST];
    int32_t chunks[MOST], blocks[MOST];
    uint32_t ndim = numbers(w[4], lengths[0]);
    numbers(w[5], lengths[1]);
    numbers(w[6], lengths[2]);
    for (uint32_t d = 0; d < ndim; d++) {
        shape[d] = lengths[0][d];
        chunks[d] = lengths[1][d];
        blocks[d] = lengths[2][d];
    }
    if (strcmp(loaded, w[1])) {
        free(data);
        data = load(w[1], &size);
        snprintf(loaded, sizeof loaded, "%s", w[1]);
    }
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.compcode = codec_of(atoi(w[7]));
    cparams.clevel = LEVEL;
    cparams.typesize = strtol(w[3] + 2, NULL, 10);
    cparams.nthreads = atoi(w[9]);
    blosc2_storage storage = { .contiguous = true, .urlpath = w[2], .cparams = &cparams };
    double begin = now();
    b2nd_array_t *a;
    b2nd_context_t *ctx =
        b2nd_create_ctx(&storage, ndim, shape, chunks, blocks, w[3], DTYPE_NUMPY_FORMAT, NULL, 0);
    done(ctx ? b2nd_from_cbuffer(ctx, &a, data, size) : -1, "write");
    done(b2nd_free(a), "close");
    double took = now() - begin;
    b2nd_free_ctx(ctx);
    return took;
}

static int64_t bytes(const b2nd_array_t *a)
{
    return a->nitems * a->sc->typesize;
}

static double read_all(const char *path, int threads)
{
    double begin = now();
    b2nd_array_t *a = open_b2nd(path, threads);
    uint8_t *all = room_for_all(bytes(a));
    done(b2nd_to_cbuffer(a, all, bytes(a)), "read");
    sink += all[bytes(a) - 1];
    free(all);
    done(b2nd_free(a), "close");
    return now() - begin;
}

static double read_again(const char *path, int threads)
{
    b2nd_array_t *a = open_b2nd(path, threads);
    uint8_t *all = room_for_all(bytes(a));
    memset(all, 1, bytes(a));
    double begin = now();
    done(b2nd_to_cbuffer(a, all, bytes(a)), "read");
    double took = now() - begin;
    sink += all[bytes(a) - 1];
    free(all);
    done(b2nd_free(a), "close");
    return took;
}

static void read_box(const b2nd_array_t *a, const uint64_t *start, const uint64_t *count,
                     void *dst, size_t size)
{
    int64_t first[MOST], end[MOST], shape[MOST];
    for (int d = 0; d < a->ndim; d++) {
        first[d] = start[d];
        end[d] = start[d] + count[d];
        shape[d] = count[d];
    }
    done(b2nd_get_slice_cbuffer(a, first, end, dst, shape, size), "read");
}

/* As boxes() of bench_b2nd.c. */
static double boxes(const char *path, int threads, int axis, uint64_t edge, long times, bool along)
{
    b2nd_array_t *a = open_b2nd(path, threads);
    uint64_t shape[MOST], count[MOST];
    for (int d = 0; d < a->ndim; d++) {
        shape[d] = a->shape[d];
        count[d] = edge ? edge : d == axis ? 1 : shape[d];
    }
    uint64_t *starts = box_starts(shape, count, a->ndim, 2 * times, along);
    size_t size = a->sc->typesize * box_items(count, a->ndim);
    uint8_t *dst = room(size);
    memset(dst, 1, size);
    for (long i = times; i < 2 * times; i++)
        read_box(a, starts + i * a->ndim, count, dst, size);
    double begin = now();
    for (long i = 0; i < times; i++)
        read_box(a, starts + i * a->ndim, count, dst, size);
    double took = now() - begin;
    sink = dst[size - 1];
    free(dst);
    free(starts);
    done(b2nd_free(a), "close");
    return took;
}

static double answer_to(char **w, int n)
{
    if (n == 10 && !strcmp(w[0], "write"))
        return write_all(w);
    if (n == 4 && !strcmp(w[0], "read"))
        return read_all(w[1], atoi(w[3]));
    if (n == 4 && !strcmp(w[0], "again"))
        return read_again(w[1], atoi(w[3]));
    if (n == 6 && !strcmp(w[0], "planes"))
        return boxes(w[1], atoi(w[3]), atoi(w[4]), 0, atol(w[5]), false);
    if (n == 6 && !strcmp(w[0], "cubes"))
        return boxes(w[1], atoi(w[3]), 0, atol(w[4]), atol(w[5]), false);
    if (n == 5 && (!strcmp(w[0], "points") || !strcmp(w[0], "near")))
        return boxes(w[1], atoi(w[3]), 0, 1, atol(w[4]), w[0][0] == 'n');
    return unknown(w, n);
}

int main(int argc, char **argv)
{
    blosc2_init();
    return commands(argv + 1, argc - 1, answer_to);
}
