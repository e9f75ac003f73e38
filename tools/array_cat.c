/*
 * holdall cat of an array: its items in C order, or those of a box of it.
 */
#include "arrays.h"
#include "box.h"
#include "frame_print.h"
#include "npy.h"
#include "numbers.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a box that is read at once. */
#define BOX_TARGET ((uint64_t)32 << 20)

/* The box to print. Dimensions may be read backwards. */
struct job {
    struct source *source;
    const holdall_array *array;
    struct box box;
    uint64_t itemsize;
    unsigned char *bytes; /* of a part of the box */
    size_t room;
    sink_fn sink;
    void *ctx;
};

/* ---- boxes ---- */

/* Reads a box that was cut small enough, and gives it on. */
static bool give_box(struct job *job, const uint64_t *start, const uint64_t *count) {
    int64_t strides[HOLDALL_MAX_NDIM];
    uint64_t bytes = job->itemsize;
    for (uint32_t d = job->box.ndim; d-- > 0;) {
        strides[d] = job->box.backwards[d] ? -(int64_t)bytes : (int64_t)bytes;
        bytes *= count[d];
    }
    if (bytes > job->room) {
        free(job->bytes);
        job->room = 0;
        job->bytes = bytes <= SIZE_MAX ? malloc((size_t)bytes) : NULL;
        if (!job->bytes) return complain("out of memory"), false;
        job->room = (size_t)bytes;
    }
    holdall_error error;
    holdall_status status =
        holdall_array_read(job->array, start, count, job->box.step, job->bytes, (size_t)bytes, strides, &error);
    if (status == HOLDALL_DAMAGED) source_report_damage(job->source, "here");
    if (status < 0) return complain_error(job->source->path, &error, ""), false;
    return job->sink(job->ctx, job->bytes, (size_t)bytes);
}

/* Gives a box in parts. Each part has some indices of dimension d and one index of each dimension before it. */
static bool give_parts(struct job *job, uint32_t d, const uint64_t *start, const uint64_t *count) {
    const struct box *box = &job->box;
    uint64_t stride = job->itemsize; /* bytes of one index of dimension d */
    for (uint32_t i = d + 1; i < box->ndim; i++) stride *= count[i];
    if (d == box->ndim || stride == 0) return stride == 0 || give_box(job, start, count);
    bool whole = stride <= BOX_TARGET || d + 1 == box->ndim, good = true;
    uint64_t most = whole && stride < BOX_TARGET ? BOX_TARGET / stride : 1;
    for (uint64_t left = count[d]; good && left > 0;) {
        uint64_t from[HOLDALL_MAX_NDIM], n[HOLDALL_MAX_NDIM];
        memcpy(from, start, sizeof from);
        memcpy(n, count, sizeof n);
        n[d] = box_part(box, job->array, d, left, most);
        /* `start` is the lowest index; the highest are printed first */
        from[d] += (box->backwards[d] ? left - n[d] : count[d] - left) * box->step[d];
        left -= n[d];
        good = whole ? give_box(job, from, n) : give_parts(job, d + 1, from, n);
    }
    return good;
}

static bool give_all(struct job *job) {
    const struct box *box = &job->box;
    /* what stands in the file as it is to be printed need not go through a box */
    if (job->source->schunk && in_c_order(job->array) && box_is_run(box, job->array)) {
        uint64_t row = box->ndim > 0 ? row_bytes(job->array) : job->itemsize, from = box->start[0] * row;
        return source_stream(job->source, from, from + (box->ndim > 0 ? box->count[0] : 1) * row, job->sink, job->ctx);
    }
    bool good = give_parts(job, 0, box->start, box->count);
    free(job->bytes);
    return good;
}

/* A rows_fn. */
static bool give_frame(void *ctx, const struct frame *frame) {
    const struct job *job = ctx;
    return job->sink(job->ctx, frame->columns[0].bytes, (size_t)frame->n * frame->columns[0].type.size);
}

/* Gives all that was asked for: a box, or the rows of a list. */
static bool give(struct job *job, const struct args *args) {
    struct frame frame = {.source = {.path = job->source->path}};
    struct selection rows = {.list = NULL};
    if (args->rows.count == 0) return give_all(job);
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
    uint64_t shape[HOLDALL_MAX_NDIM];
    uint32_t ndim = box_shape(&job->box, shape);
    bool good = npy_put_header(constant ? dtype : descr, fortran_order, ndim, shape);
    free(descr);
    return good;
}

/* From the slice to a box. */
static bool set_box(struct job *job, const struct args *args) {
    job->itemsize = holdall_array_itemsize(job->array);
    if (!box_of(&job->box, args, job->array, job->source->path)) return false;
    if (args->rows.count > 0) job->box.count[0] = args->rows.count;
    return true;
}

/* Prints them as text. */
static bool print_rows(const struct args *args, struct source *source, const holdall_array *array) {
    struct frame frame = {.source = {.path = source->path}};
    struct selection rows = {.list = NULL};
    struct printer printer = {.format = args->format};
    if (holdall_array_ndim(array) == 0) return complain("%s: an array without dimensions has no rows", source->path), false;
    if (args->picks.count > 0 && !args->slice.given) {
        return complain("%s: rows of text are those of the first dimension: --slice A:B:C", source->path), false;
    }
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
    return set_box(&job, args) && give(&job, args);
}

bool array_print(const struct args *args, struct source *source, const holdall_array *array) {
    struct job job = {.source = source, .array = array, .sink = to_stdout};
    struct numbers_out numbers;
    if (args->format == FORMAT_ARROW) return complain("%s: --format arrow is for tables", source->path), false;
    if (args->format == FORMAT_CSV || args->format == FORMAT_JSONL) return print_rows(args, source, array);
    if (!set_box(&job, args)) return false;
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
        bool fortran = source->schunk && !in_c_order(array) && args->picks.count == 0 && !(args->given & F_ROWS);
        if (!put_npy(&job, fortran)) return false;
        if (fortran) return source_stream(source, 0, holdall_array_nbytes(array), to_stdout, NULL);
    }
    return give(&job, args);
}
