/*
 * Files of items without a header: flags describe the items.
 */
#define _POSIX_C_SOURCE 200809L

#include "npy.h"
#include "report.h"
#include "type.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The type as a Python constant: NumPy's own spelling stands in quotes. */
static char *constant_of(const char *dtype) {
    if (strchr("[({'\"", dtype[0])) return strdup(dtype); /* not of "<M8[s]" */
    char *text = malloc(strlen(dtype) + 3);
    if (!text) return NULL;
    text[0] = '\'';
    strcpy(text + 1, dtype);
    return strcat(text, "'");
}

/* Leaves out what stands in front. */
static bool skip(struct input *in, uint64_t n) {
    unsigned char piece[4096];
    for (uint64_t done = 0; done < n;) {
        size_t got, requested = n - done < sizeof piece ? (size_t)(n - done) : sizeof piece;
        if (!input_read(in, piece, requested, &got)) return false;
        done += got;
        if (got < requested) return complain("%s: it has %" PRIu64 " bytes, --skip leaves out %" PRIu64, in->name, done, n), false;
    }
    return true;
}

bool npy_measure(struct npy *npy, const struct input *in) {
    struct type type;
    bool good = type_read(&type, npy->descr);
    if (!good) return complain("%s: items of %s are not read", in->name, npy->descr), false;
    npy->itemsize = npy->nbytes = type.size;
    type_free(&type);
    for (uint32_t d = 0; d < npy->ndim; d++) {
        if (npy->shape[d] > 0 && npy->nbytes > UINT64_MAX / npy->shape[d]) {
            return complain("%s: it cannot have so many bytes", in->name), false;
        }
        npy->nbytes *= npy->shape[d];
    }
    return true;
}

/* One dimension, as long as the file. */
static bool measure(struct input *in, struct npy *npy, uint64_t skipped) {
    if (!npy_measure(npy, in)) return false;
    uint64_t size = npy->itemsize, n = in->total > skipped ? in->total - skipped : 0;
    if (in->total == 0) return complain("%s: its length is known only at its end: give --shape", in->name), false;
    if (size == 0 || n % size != 0) {
        return complain("%s: %" PRIu64 " bytes are no whole number of items of %" PRIu64, in->name, n, size), false;
    }
    npy->ndim = 1;
    npy->shape[0] = n / size;
    return true;
}

static bool set_shape(const struct input *in, const struct numbers *shape, struct npy *npy) {
    if (shape->count > HOLDALL_MAX_NDIM) return complain("%s: --shape: at most %d dimensions", in->name, HOLDALL_MAX_NDIM), false;
    npy->ndim = (uint32_t)shape->count;
    for (uint32_t d = 0; d < npy->ndim; d++) {
        if (shape->items[d] < 0) {
            return complain("%s: --shape: %lld in dimension %" PRIu32 " (the first is 0): not negative", in->name,
                            (long long)shape->items[d], d), false;
        }
        npy->shape[d] = (uint64_t)shape->items[d];
    }
    return true;
}

bool npy_begin(struct input *in, const struct args *args, int64_t from, struct npy *npy) {
    if (from != FROM_RAW) return npy_read_header(in, npy);
    uint64_t skipped = args->skip == NOT_GIVEN ? 0 : (uint64_t)args->skip;
    *npy = (struct npy){.descr = constant_of(args->dtype), .fortran_order = args->order == ORDER_F};
    if (!npy->descr) return complain("out of memory"), false;
    return (args->shape.count > 0 ? set_shape(in, &args->shape, npy) : measure(in, npy, skipped)) && skip(in, skipped);
}

char *npy_dtype(const struct npy *npy) {
    const char *descr = npy->descr;
    bool quoted = descr[0] == '\'' || descr[0] == '"';
    char *dtype = quoted ? strndup(descr + 1, strlen(descr) - 2) : strdup(descr);
    if (!dtype) complain("out of memory");
    return dtype;
}
