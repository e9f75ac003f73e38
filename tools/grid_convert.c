/*
 * holdall convert of items in a file, a NumPy one or plain ones, into an array whose chunks are parts of a grid.
 *
 * The items come in the order of the file, so many of its slowest dimension at a time that whole chunks are made of them:
 * that is what is in memory, and each chunk is written once. Nothing counts before the commit at the end.
 */
#include "arrays.h"
#include "convert.h"
#include "npy.h"
#include "options.h"
#include "packing.h"
#include "relay.h"
#include "report.h"
#include "signals.h"
#include "tool.h"
#include "info.h"

#include <inttypes.h>
#include <stdlib.h>

/* Bytes that are handed over at once, where that is more than what a row of chunks has. */
#define PIECE_TARGET ((uint64_t)8 << 20)

struct filling {
    const struct args *args;
    int64_t as;
    const char *out;
    struct input in;
    struct npy npy;
    holdall_array *array;
    uint32_t slowest;            /* the dimension that varies slowest in the file */
    uint64_t slices, many;       /* its length, and how many indices are read at once */
    uint64_t slice_bytes;        /* bytes of one index of it */
    uint64_t read, written, bytes;
};

/* ---- pieces ---- */

/* A make_fn: the next indices of the slowest dimension. */
static bool read_piece(void *ctx, struct piece *piece) {
    struct filling *f = ctx;
    uint64_t left = f->slices - f->read, n = left < f->many ? left : f->many;
    if (n * f->slice_bytes > SIZE_MAX || !piece_room(piece, (size_t)(n * f->slice_bytes))) return complain("out of memory"), false;
    if (n == 0) return true;
    if (!input_read(&f->in, piece->bytes, (size_t)(n * f->slice_bytes), &piece->n)) return false;
    f->bytes += piece->n;
    if (piece->n < n * f->slice_bytes) {
        complain("%s: type and shape are %" PRIu64 " bytes, %" PRIu64 " come", f->in.name, holdall_array_nbytes(f->array), f->bytes);
        return false;
    }
    f->read += n;
    input_progress(&f->in, f->bytes);
    return true;
}

/* A take_fn: writes them where they belong. */
static bool write_piece(void *ctx, const struct piece *piece) {
    struct filling *f = ctx;
    uint32_t ndim = f->npy.ndim;
    uint64_t start[HOLDALL_MAX_NDIM] = {0}, count[HOLDALL_MAX_NDIM] = {0}, bytes = holdall_array_itemsize(f->array);
    int64_t strides[HOLDALL_MAX_NDIM];
    for (uint32_t d = 0; d < ndim; d++) count[d] = f->npy.shape[d];
    start[f->slowest] = f->written; /* not used for an array without dimensions */
    count[f->slowest] = piece->n / f->slice_bytes;
    for (uint32_t i = 0; i < ndim; i++) {
        uint32_t d = f->npy.fortran_order ? i : ndim - 1 - i;
        strides[d] = (int64_t)bytes;
        bytes *= count[d];
    }
    holdall_error error;
    if (holdall_array_write(f->array, start, count, NULL, piece->bytes, piece->n, strides, &error) < 0) {
        return complain_error(f->out, &error, ""), false;
    }
    f->written += count[f->slowest];
    return true;
}

/* Returns whether the input is at its end. */
static bool is_at_end(struct filling *f) {
    unsigned char more;
    size_t got;
    if (!input_read(&f->in, &more, 1, &got)) return false;
    if (got == 0) return true;
    complain("%s: type and shape are %" PRIu64 " bytes, and more come", f->in.name, holdall_array_nbytes(f->array));
    return false;
}

/* ---- the array ---- */

static bool create(struct filling *f, const holdall_options *options) {
    uint64_t room[2][HOLDALL_MAX_NDIM];
    const uint64_t *chunks, *blocks;
    holdall_error error;
    const struct args *args = f->args;
    if (!numbers_as_shape(&args->chunks, "chunks", f->out, f->npy.ndim, room[0], &chunks) ||
        !numbers_as_shape(&args->blocks, "blocks", f->out, f->npy.ndim, room[1], &blocks)) {
        return false;
    }
    char *dtype = npy_dtype(&f->npy);
    if (!dtype) return false;
    holdall_array_spec spec = {.struct_size = sizeof spec, .format = format_of(f->as), .dtype = dtype, .ndim = f->npy.ndim,
                               .shape = f->npy.shape, .chunk_shape = chunks, .block_shape = blocks};
    holdall_status status = holdall_array_create(f->out, args->replace ? HOLDALL_REPLACE : HOLDALL_CREATE, &spec, options, &f->array, &error);
    free(dtype);
    if (status < 0) complain_create(f->out, &error, args->replace);
    return status >= 0;
}

static bool create_array(struct filling *f) {
    holdall_options *options = new_options();
    bool good = options && set_chunk_options(options, f->args) && set_file_options(options, f->args) &&
                set_given(options, HOLDALL_OPT_MEMORY_LIMIT, f->args->memory_limit) && create(f, options);
    holdall_options_free(options);
    return good;
}

/* How many indices of the slowest dimension are read at once: those of a row of chunks, or several of these. */
static void set_piece(struct filling *f) {
    f->slice_bytes = holdall_array_itemsize(f->array);
    for (uint32_t d = 0; d < f->npy.ndim; d++) f->slice_bytes *= d == f->slowest ? 1 : f->npy.shape[d];
    f->slices = f->npy.ndim > 0 ? f->npy.shape[f->slowest] : 1;
    f->many = f->npy.ndim > 0 ? info_of_array(f->array).chunk_shape[f->slowest] : 1;
    uint64_t chunks = f->many * f->slice_bytes;
    if (chunks > 0 && chunks < PIECE_TARGET) f->many *= PIECE_TARGET / chunks;
}

static bool fill(struct filling *f) {
    f->slowest = f->npy.fortran_order && f->npy.ndim > 0 ? f->npy.ndim - 1 : 0;
    set_piece(f);
    return holdall_array_nbytes(f->array) == 0 || relay(read_piece, write_piece, f, MAKE_HERE);
}

static bool commit(struct filling *f) {
    holdall_error error;
    if (holdall_array_commit(f->array, &error) >= 0) return true;
    return complain_error(f->out, &error, ""), false;
}

int grid_convert(const struct args *args, int64_t from, int64_t as) {
    struct filling f = {.args = args, .as = as, .out = args->operands[1]};
    catch_signals();
    if (!input_open(&f.in, args->operands[0], f.out)) return FAILED;
    progress_begin("convert", "bytes", args->quiet);
    bool good = npy_begin(&f.in, args, from, &f.npy) && create_array(&f) && fill(&f) && is_at_end(&f) && !stopped && commit(&f);
    progress_clear();
    if (good && !args->quiet) {
        note("%s: %" PRIu64 " byte%s converted, %" PRIu64 " bytes on disk", f.out, f.bytes, plural(f.bytes), info_of_array(f.array).stored_bytes);
    }
    holdall_array_close(f.array);
    free(f.npy.descr);
    input_close(&f.in);
    if (!good && stopped) die_of_signal();
    return good ? DONE : FAILED;
}
