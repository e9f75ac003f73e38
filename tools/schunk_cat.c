/*
 * holdall cat of a superchunk: its content, or items of it, to stdout. Where it is an array, that is for
 * array_cat.c.
 */
#include "arrays.h"
#include "npy.h"
#include "report.h"
#include "schunks.h"
#include "slice.h"
#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of content that are read at once where only some of the items are wanted. */
enum { WINDOW = 4 << 20 };

/* What is to be printed. */
struct job {
    const struct args *args;
    struct source source;
    uint64_t typesize;
    struct span items;
};

/* ---- items ---- */

/* How many of the next `count` items are read at once: as many as stand in a window, one where there is more
 * than a chunk between them. */
static uint64_t in_window(const struct job *job, uint64_t distance, uint64_t count) {
    if (distance > WINDOW || distance > holdall_schunk_chunk_size(job->source.schunk)) return 1;
    uint64_t most = (WINDOW - job->typesize) / distance + 1;
    return count < most ? count : most;
}

/* Prints items that do not stand side by side. */
static bool print_apart(struct job *job) {
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
        good = source_read(&job->source, first * size, window, (size_t)(reach + 1) * size);
        for (uint64_t i = 0; good && i < n; i++) {
            uint64_t at = (backwards ? reach - i * step : i * step) * size;
            good = put_bytes(window + at, size);
        }
        left -= n;
        if (left > 0) item = backwards ? item - n * step : item + n * step;
    }
    free(window);
    return good;
}

static bool print_items(struct job *job) {
    const struct span *items = &job->items;
    if (items->count > 1 && items->step != 1) return print_apart(job);
    uint64_t from = items->start * job->typesize;
    return source_stream(&job->source, from, from + items->count * job->typesize, to_stdout, NULL);
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
    uint64_t nbytes = holdall_schunk_nbytes(job->source.schunk);
    job->typesize = holdall_schunk_typesize(job->source.schunk);
    job->items = slice_resolve(&job->args->slice, nbytes / job->typesize);
    if (job->args->format == FORMAT_TEXT) {
        complain("%s: --format text prints numbers; what the items are is known of arrays only", job->source.path);
        return false;
    }
    if (job->args->format == FORMAT_NPY) {
        if (!job->args->slice.given && nbytes % job->typesize != 0) {
            complain("%s: %" PRIu64 " bytes are not a whole number of items of %" PRIu64 " (--slice : takes those that are)",
                     job->source.path, nbytes, job->typesize);
            return false;
        }
        return print_npy_header(job) && print_items(job);
    }
    if (job->args->slice.given) return print_items(job);
    return source_stream(&job->source, 0, nbytes, to_stdout, NULL);
}

int schunk_cat(const struct args *args) {
    struct job job = {.args = args};
    holdall_array *array = NULL;
    if (!source_open(&job.source, args->operands[0], args)) return FAILED;
    bool printed = source_array(&job.source, args, &array) &&
                   (array ? array_print(args, &job.source, array) : print_content(&job));
    holdall_array_close(array);
    source_close(&job.source);
    return put_end((printed || put_failed()) && !job.source.damaged ? DONE : FAILED);
}
