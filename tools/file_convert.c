/*
 * holdall convert into a plain file: items of an array, content of a superchunk, or those of another file.
 */
#include "arrays.h"
#include "convert.h"
#include "files.h"
#include "npy.h"
#include "report.h"
#include "signals.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- where to ---- */

bool print_to_out(const struct args *args, bool (*print)(void *ctx), void *ctx) {
    const char *path = args->operands[1];
    struct output out;
    if (strcmp(path, "-") == 0) return print(ctx) || put_failed();
    if (!output_open(&out, path, args->replace)) return false;
    bool good = put_into(out.fd) && print(ctx);
    bool written = put_back();
    if (!written) complain_errno(path);
    return output_close(&out, good && written && !stopped, args->replace) && good && written;
}

void note_lost_attrs(const struct args *args, uint64_t attrs) {
    if (attrs == 0 || args->quiet) return;
    note("%s: a file of this format cannot store %" PRIu64 " attribute%s", args->operands[1], attrs, plural(attrs));
}

/* ---- items ---- */

struct giving {
    struct args args; /* as those of cat */
    struct source *source;
    const holdall_array *array; /* NULL: a superchunk */
};

static bool give(void *ctx) {
    const struct giving *g = ctx;
    if (g->array) return array_print(&g->args, g->source, g->array);
    return source_stream(g->source, 0, holdall_schunk_nbytes(g->source->schunk), to_stdout, NULL);
}

int array_to_file(const struct args *args, struct source *source, const holdall_array *array, int64_t as, uint64_t attrs) {
    struct giving g = {.args = *args, .source = source, .array = array};
    g.args.format = as == AS_NPY ? FORMAT_NPY : FORMAT_RAW;
    catch_signals();
    bool good = print_to_out(args, give, &g);
    if (good) note_lost_attrs(args, attrs);
    uint64_t n = array ? holdall_array_nbytes(array) : holdall_schunk_nbytes(source->schunk);
    if (good && !args->quiet) note("%s: %" PRIu64 " byte%s converted", args->operands[1], n, plural(n));
    if (!good && stopped) die_of_signal();
    return put_end(good && !source->damaged ? DONE : FAILED);
}

/* ---- from file to file ---- */

struct items {
    const struct args *args;
    struct input in;
    int64_t from, as;
    uint64_t nbytes;
};

static bool copy_items(struct items *items, struct npy *npy) {
    static unsigned char piece[1 << 16];
    if (!npy_measure(npy, &items->in)) return false;
    if (items->as == AS_RAW && npy->fortran_order && npy->ndim > 1) {
        return complain("%s: its items are in Fortran order, which raw bytes cannot record (--to b2nd or npy)", items->in.name), false;
    }
    bool good = items->as == AS_RAW || npy_put_header(npy->descr, npy->fortran_order, npy->ndim, npy->shape);
    for (size_t got = 1; good && got > 0; items->nbytes += got) {
        good = input_read(&items->in, piece, sizeof piece, &got) && put_bytes(piece, got);
        input_progress(&items->in, items->nbytes);
    }
    if (good && items->nbytes != npy->nbytes) {
        complain("%s: type and shape are %" PRIu64 " bytes, %" PRIu64 " come", items->in.name, npy->nbytes, items->nbytes);
        return false;
    }
    return good;
}

static bool print_items(void *ctx) {
    struct items *items = ctx;
    struct npy npy;
    bool good = npy_begin(&items->in, items->args, items->from, &npy) && copy_items(items, &npy);
    free(npy.descr);
    return good;
}

int items_convert(const struct args *args, int64_t from, int64_t as) {
    struct items items = {.args = args, .from = from, .as = as};
    catch_signals();
    if (!input_open(&items.in, args->operands[0], args->operands[1])) return FAILED;
    progress_begin("convert", "bytes", args->quiet);
    bool good = print_to_out(args, print_items, &items);
    progress_clear();
    if (good && !args->quiet) note("%s: %" PRIu64 " byte%s converted", args->operands[1], items.nbytes, plural(items.nbytes));
    input_close(&items.in);
    if (!good && stopped) die_of_signal();
    return put_end(good ? DONE : FAILED);
}
