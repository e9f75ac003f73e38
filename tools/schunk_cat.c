/*
 * holdall cat of a superchunk: its content, or items of it. Where it is an array, that is for
 * array_cat.c.
 */
#include "arrays.h"
#include "npy.h"
#include "report.h"
#include "schunks.h"
#include "slice.h"
#include "tool.h"
#include "info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of content per read if only some of the items are requested. */
enum { WINDOW = 4 << 20 };

/* State of the output. */
struct job {
    const struct args *args;
    struct source *source;
    uint64_t typesize;
    struct span items;
    sink_fn sink;
    void *ctx;
};

/* ---- items ---- */

/* How many of the next `count` items are read at once: as many as stand in a window, one where there is more
 * than a chunk between them. */
static uint64_t in_window(const struct job *job, uint64_t distance, uint64_t count) {
    if (distance > WINDOW || distance > info_of_schunk(job->source->schunk).chunk_size) return 1;
    uint64_t most = (WINDOW - job->typesize) / distance + 1;
    return count < most ? count : most;
}

/* Gives items that do not stand side by side. */
static bool give_apart(struct job *job) {
    size_t size = (size_t)job->typesize;
    bool backwards = job->items.step < 0;
    uint64_t step = backwards ? 0 - (uint64_t)job->items.step : (uint64_t)job->items.step;
    unsigned char *window = malloc(WINDOW);
    if (!window) return complain("out of memory"), false;
    uint64_t item = job->items.start;
    bool good = true;
    for (uint64_t left = job->items.count; good && left > 0;) {
        uint64_t n = in_window(job, step * size, left), reach = (n - 1) * step;
        uint64_t first = backwards ? item - reach : item;
        good = source_read(job->source, first * size, window, (size_t)(reach + 1) * size);
        for (uint64_t i = 0; good && i < n; i++) {
            uint64_t at = (backwards ? reach - i * step : i * step) * size;
            good = job->sink(job->ctx, window + at, size);
        }
        left -= n;
        if (left > 0) item = backwards ? item - n * step : item + n * step;
    }
    free(window);
    return good;
}

static bool give_items(struct job *job) {
    const struct span *items = &job->items;
    if (items->count > 1 && items->step != 1) return give_apart(job);
    uint64_t from = items->start * job->typesize;
    return source_stream(job->source, from, from + items->count * job->typesize, job->sink, job->ctx);
}

static struct job job_of(struct source *source, const struct args *args, sink_fn sink, void *ctx) {
    uint64_t typesize = info_of_schunk(source->schunk).typesize;
    struct span items = slice_resolve(&args->slice, holdall_schunk_nbytes(source->schunk) / typesize);
    return (struct job){args, source, typesize, items, sink, ctx};
}

static bool give(struct job *job) {
    if (job->args->slice.given) return give_items(job);
    return source_stream(job->source, 0, holdall_schunk_nbytes(job->source->schunk), job->sink, job->ctx);
}

bool source_give(struct source *source, const struct args *args, sink_fn sink, void *ctx) {
    struct job job = job_of(source, args, sink, ctx);
    return give(&job);
}

/* ---- the command ---- */

/* Superchunks know how large an item is, and not what it means. */
static bool print_npy_header(const struct job *job) {
    char descr[32];
    if (job->typesize == 1) {
        strcpy(descr, "'|u1'");
    } else {
        snprintf(descr, sizeof descr, "'|V%" PRIu64 "'", job->typesize);
    }
    return npy_put_header(descr, false, 1, &job->items.count);
}

static bool print_content(struct job *job) {
    uint64_t nbytes = holdall_schunk_nbytes(job->source->schunk);
    if (job->args->format == FORMAT_ARROW) return complain("%s: --format arrow is for tables", job->source->path), false;
    if (job->args->format > FORMAT_NPY) {
        complain("%s: --format %s prints values; what the items are is known of arrays only", job->source->path,
                 (const char *const[]){"text", "csv", "jsonl"}[job->args->format - FORMAT_TEXT]);
        return false;
    }
    if (job->args->rows.count > 0) {
        return complain("%s: a superchunk that is no array has no rows (--slice takes items)", job->source->path), false;
    }
    if (job->args->format == FORMAT_NPY) {
        if (!job->args->slice.given && nbytes % job->typesize != 0) {
            complain("%s: %" PRIu64 " bytes are not a whole number of items of %" PRIu64 " (--slice : takes those that are)",
                     job->source->path, nbytes, job->typesize);
            return false;
        }
        return print_npy_header(job) && give_items(job);
    }
    return give(job);
}

int schunk_cat(const struct args *args) {
    struct source source;
    holdall_array *array = NULL;
    if (!source_open(&source, args->operands[0], args)) return FAILED;
    bool printed = source_array(&source, args, &array);
    int wrong = printed && !array ? args_plain_slice(args, "a superchunk") : -1;
    if (wrong >= 0) return source_close(&source), wrong;
    if (printed && array) {
        printed = array_print(args, &source, array);
    } else if (printed) {
        struct job job = job_of(&source, args, to_stdout, NULL);
        printed = print_content(&job);
    }
    holdall_array_close(array);
    source_close(&source);
    return put_end((printed || put_failed()) && !source.damaged ? DONE : FAILED);
}
