/*
 * holdall cat of an array: its items in C order, or those of a slice along the first dimension.
 */
#include "arrays.h"
#include "frame_print.h"
#include "npy.h"
#include "numbers.h"
#include "report.h"
#include "slice.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a box that is read at once. */
#define BOX_WANTED ((uint64_t)32 << 20)

/* What is to be printed: a box, whose first dimension may be read backwards. */
struct job {
    struct source *source;
    const holdall_array *array;
    uint32_t ndim;
    uint64_t itemsize;
    uint64_t start[HOLDALL_MAX_NDIM], count[HOLDALL_MAX_NDIM], step[HOLDALL_MAX_NDIM];
    bool backwards;
    unsigned char *box;
    size_t room;
    sink_fn sink;
    void *ctx;
};

/* ---- boxes ---- */

/* Reads a box that was cut small enough, and gives it on. */
static bool give_box(struct job *job, const uint64_t *start, const uint64_t *count) {
    int64_t strides[HOLDALL_MAX_NDIM];
    uint64_t bytes = job->itemsize;
    for (uint32_t d = job->ndim; d-- > 0;) {
        strides[d] = d == 0 && job->backwards ? -(int64_t)bytes : (int64_t)bytes;
        bytes *= count[d];
    }
    if (bytes > job->room) {
        free(job->box);
        job->room = 0;
        job->box = bytes <= SIZE_MAX ? malloc((size_t)bytes) : NULL;
        if (!job->box) return complain("out of memory"), false;
        job->room = (size_t)bytes;
    }
    holdall_error error;
    holdall_status status =
        holdall_array_read(job->array, start, count, job->step, job->box, strides, (size_t)bytes, &error);
    if (status == HOLDALL_NOT_FOUND) source_tell_damage(job->source, "here");
    if (status < 0) return complain_error(job->source->path, &error, ""), false;
    return job->sink(job->ctx, job->box, (size_t)bytes);
}

/* Gives a box in parts of which each has some places of dimension d, and one of those before it. */
static bool give_parts(struct job *job, uint32_t d, const uint64_t *start, const uint64_t *count) {
    uint64_t place = job->itemsize; /* bytes of one place of dimension d */
    for (uint32_t i = d + 1; i < job->ndim; i++) place *= count[i];
    if (d == job->ndim || place == 0) return place == 0 || give_box(job, start, count);
    bool whole = place <= BOX_WANTED || d + 1 == job->ndim;
    uint64_t most = whole && place < BOX_WANTED ? BOX_WANTED / place : 1;
    bool backwards = d == 0 && job->backwards, good = true;
    for (uint64_t done = 0; good && done < count[d];) {
        uint64_t from[HOLDALL_MAX_NDIM], n[HOLDALL_MAX_NDIM];
        memcpy(from, start, sizeof from);
        memcpy(n, count, sizeof n);
        n[d] = count[d] - done < most ? count[d] - done : most;
        /* `start` is the lowest place, and the highest ones are the first that are printed */
        from[d] += (backwards ? count[d] - done - n[d] : done) * job->step[d];
        done += n[d];
        good = whole ? give_box(job, from, n) : give_parts(job, d + 1, from, n);
    }
    return good;
}

static bool give_all(struct job *job, const struct span *rows) {
    /* what stands in the file as it is to be printed need not go through a box */
    if (job->source->schunk && in_c_order(job->array) && rows->step == 1) {
        uint64_t row = job->ndim > 0 ? row_bytes(job->array) : job->itemsize, from = rows->start * row;
        return source_stream(job->source, from, from + rows->count * row, job->sink, job->ctx);
    }
    bool good = give_parts(job, 0, job->start, job->count);
    free(job->box);
    return good;
}

/* A rows_fn. */
static bool give_frame(void *ctx, const struct frame *frame) {
    const struct job *job = ctx;
    return job->sink(job->ctx, frame->columns[0].bytes, (size_t)frame->n * frame->columns[0].type.size);
}

/* Gives all that was asked for: a box, or the rows of a list. */
static bool give_rows(struct job *job, const struct args *args, const struct span *span) {
    struct frame frame = {.source = {.path = job->source->path}};
    struct selection rows = {.list = NULL};
    if (args->rows.count == 0) return give_all(job, span);
    bool good = select_rows(&rows, args, job->source->path, holdall_array_shape(job->array)[0]) &&
                frame_of_array(&frame, job->array) && frame_each(&frame, &rows, give_frame, job);
    job->source->damaged |= frame.source.damaged;
    free(rows.list);
    frame_free(&frame);
    return good;
}

/* ---- formats ---- */

/* The type as a Python constant; NumPy's own spelling, which is no list, stands in quotes. */
static bool put_npy(const struct job *job, bool fortran_order) {
    const char *dtype = holdall_array_dtype(job->array);
    bool constant = strchr("[({'\"", dtype[0]) != NULL;
    size_t room = strlen(dtype) + 3;
    char *descr = malloc(room);
    if (!descr) return complain("out of memory"), false;
    descr[0] = '\'';
    strcpy(descr + 1, dtype);
    strcat(descr, "'");
    bool good = npy_put_header(constant ? dtype : descr, fortran_order, job->ndim, job->count);
    free(descr);
    return good;
}

/* From the slice to a box. */
static bool set_box(struct job *job, const struct args *args, struct span *rows) {
    const uint64_t *shape = holdall_array_shape(job->array);
    job->ndim = holdall_array_ndim(job->array);
    job->itemsize = holdall_array_itemsize(job->array);
    if (job->ndim == 0 && (args->slice.given || args->rows.count > 0)) {
        complain("%s: an array without dimensions has no slices", job->source->path);
        return false;
    }
    for (uint32_t d = 0; d < job->ndim; d++) {
        job->count[d] = shape[d];
        job->step[d] = 1;
    }
    *rows = slice_resolve(&args->slice, job->ndim > 0 ? shape[0] : 1);
    if (job->ndim == 0) return true;
    job->backwards = rows->step < 0;
    job->count[0] = args->rows.count > 0 ? args->rows.count : rows->count;
    job->step[0] = job->backwards ? 0 - (uint64_t)rows->step : (uint64_t)rows->step;
    job->start[0] = job->backwards ? rows->start - (rows->count - 1) * job->step[0] : rows->start;
    return true;
}

/* Prints them as text. */
static bool print_rows(const struct args *args, struct source *source, const holdall_array *array) {
    struct frame frame = {.source = {.path = source->path}};
    struct selection rows = {.list = NULL};
    struct printer printer = {.format = args->format};
    if (holdall_array_ndim(array) == 0) return complain("%s: an array without dimensions has no rows", source->path), false;
    bool good = select_rows(&rows, args, source->path, holdall_array_shape(array)[0]) && frame_of_array(&frame, array) &&
                printer_begin(&printer, &frame, args->format, rows.count) && frame_each(&frame, &rows, printer_take, &printer);
    source->damaged |= frame.source.damaged;
    printer_free(&printer);
    free(rows.list);
    frame_free(&frame);
    return good;
}

bool array_give(const struct args *args, struct source *source, const holdall_array *array, sink_fn sink, void *ctx) {
    struct job job = {.source = source, .array = array, .sink = sink, .ctx = ctx};
    struct span rows;
    return set_box(&job, args, &rows) && give_rows(&job, args, &rows);
}

bool array_print(const struct args *args, struct source *source, const holdall_array *array) {
    struct job job = {.source = source, .array = array, .sink = to_stdout};
    struct numbers_out numbers;
    struct span rows;
    if (args->format == FORMAT_ARROW) return complain("%s: --format arrow is for tables", source->path), false;
    if (args->format == FORMAT_CSV || args->format == FORMAT_JSONL) return print_rows(args, source, array);
    if (!set_box(&job, args, &rows)) return false;
    if (args->format == FORMAT_TEXT) {
        if (!numbers_begin(&numbers, holdall_array_dtype(array))) {
            complain("%s: --format text prints plain numbers, these are items of %s", source->path,
                     holdall_array_dtype(array));
            return false;
        }
        job.sink = numbers_put;
        job.ctx = &numbers;
    } else if (args->format == FORMAT_NPY) {
        /* NumPy can have it as it is stored */
        bool fortran = !in_c_order(array) && !args->slice.given && args->rows.count == 0;
        if (!put_npy(&job, fortran)) return false;
        if (fortran) return source_stream(source, 0, holdall_array_nbytes(array), to_stdout, NULL);
    }
    return give_rows(&job, args, &rows);
}
