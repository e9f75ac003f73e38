/*
 * holdall convert of an array into a frame that has no shape: its items, in C order, are the content.
 */
#include "arrays.h"
#include "convert.h"
#include "options.h"
#include "packing.h"
#include "report.h"
#include "signals.h"
#include "tool.h"

#include <inttypes.h>

struct flat {
    const char *out;
    holdall_schunk *schunk;
    uint64_t done, total;
};

/* A sink_fn. */
static bool append(void *ctx, const void *bytes, size_t n) {
    struct flat *f = ctx;
    holdall_error error;
    if (stopped) return false;
    if (holdall_schunk_append(f->schunk, bytes, n, &error) < 0) return complain_error(f->out, &error, ""), false;
    f->done += n;
    progress_report(NULL, f->done, f->total);
    return true;
}

static bool create(struct flat *f, const struct args *args, size_t itemsize) {
    holdall_error error;
    holdall_options *options = new_options();
    bool good = options && set_chunk_options(options, args) && set_file_options(options, args) &&
                set_given(options, HOLDALL_OPT_MEMORY_LIMIT, args->memory_limit);
    if (good && holdall_schunk_create(f->out, args->replace ? HOLDALL_REPLACE : HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME,
                                      itemsize == 0 || itemsize > 255 ? 1 : itemsize, options, &f->schunk, &error) < 0) {
        complain_create(f->out, &error, args->replace);
        good = false;
    }
    holdall_options_free(options);
    return good;
}

static bool commit(struct flat *f) {
    holdall_error error;
    if (holdall_schunk_commit(f->schunk, &error) >= 0) return true;
    return complain_error(f->out, &error, ""), false;
}

int flat_convert(const struct args *args, struct source *source, const holdall_array *array) {
    struct flat f = {.out = args->operands[1], .total = holdall_array_nbytes(array)};
    if (args->chunks.count > 0 || args->blocks.count > 0) {
        return usage_error(args->command, "--chunks and --blocks are for arrays, and this becomes a frame without a shape (--chunk-size)");
    }
    catch_signals();
    progress_begin("convert", "bytes", args->quiet);
    bool good = create(&f, args, holdall_array_itemsize(array)) && array_give(args, source, array, append, &f) && !stopped && commit(&f);
    progress_clear();
    if (good && !args->quiet) note("%s: %" PRIu64 " byte%s converted", f.out, f.total, plural(f.total));
    holdall_schunk_close(f.schunk);
    if (!good && stopped) die_of_signal();
    return good && !source->damaged ? DONE : FAILED;
}
