/*
 * holdall convert where rows go over: from tables and files into tables, arrays and files.
 *
 * Nothing counts before its end: whatever fails before, or a signal, leaves OUT as it was.
 */
#include "arrays.h"
#include "attrs.h"
#include "convert.h"
#include "files.h"
#include "frame_print.h"
#include "load.h"
#include "options.h"
#include "report.h"
#include "schunks.h"
#include "signals.h"
#include "target.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Source of rows. */
struct rows {
    const struct args *args;
    struct dataset *dataset;    /* of what attributes are looked for; NULL: it has none */
    const holdall_array *array; /* NULL: a table, or a file */
    int64_t from, as;
    struct input in; /* of items end to end */
    struct frame frame;
    uint64_t count;
    struct printer printer;
    struct target target;
    uint64_t done;
    rows_fn take;
    void *ctx;
};

/* ---- where from ---- */

static bool is_packed(const struct rows *rows) {
    return rows->from == FROM_NPY || rows->from == FROM_RAW;
}

static bool find_columns(struct rows *rows) {
    const struct args *args = rows->args;
    const char *in = args->operands[0];
    rows->frame.source.path = in;
    if (is_packed(rows)) return load_npy_columns(&rows->frame, &rows->in, rows->args, rows->from, &rows->count);
    if (rows->from != NOT_GIVEN) return load_columns(&rows->frame, in, rows->from == FROM_JSONL, args->dtypes, &rows->count);
    if (rows->array && holdall_array_ndim(rows->array) == 0) {
        return complain("%s: an array without dimensions has no rows", in), false;
    }
    rows->count = rows->array ? holdall_array_shape(rows->array)[0] : holdall_table_row_count(rows->dataset->table);
    return rows->array ? frame_of_array(&rows->frame, rows->array) : frame_of_table(&rows->frame, rows->dataset->table, NULL);
}

/* A rows_fn that reports progress and stops at a signal. */
static bool pass_on(void *ctx, const struct frame *frame) {
    struct rows *rows = ctx;
    if (stopped || !rows->take(rows->ctx, frame)) return false;
    rows->done += frame->n;
    if (rows->from == NOT_GIVEN) progress_report(NULL, rows->done, rows->count);
    return true;
}

static bool each(struct rows *rows, rows_fn take, void *ctx) {
    const char *in = rows->args->operands[0], *out = rows->args->operands[1];
    const struct selection all = {.span = {0, rows->count, 1}, .count = rows->count};
    rows->take = take;
    rows->ctx = ctx;
    if (rows->from == NOT_GIVEN) return frame_each(&rows->frame, &all, pass_on, rows);
    if (is_packed(rows)) return load_packed(&rows->frame, &rows->in, rows->count, pass_on, rows);
    if (!load_rows(&rows->frame, in, rows->from == FROM_JSONL, out, pass_on, rows)) return false;
    return rows->done == rows->count || (complain("%s: it was changed while it was read", in), false);
}

/* ---- where to ---- */

/* Copies attributes. The metadata of a file describe the committed rows, so they are written after these. */
static bool add_attrs(struct rows *rows, bool file) {
    struct target *target = &rows->target;
    const struct dataset to = {.path = target->path, .format = format_of(rows->as), .table = target->table, .array = target->array};
    if (!rows->dataset) return !rows->array || file || attrs_from_metadata(rows->array, &to);
    if (!file) return attrs_copy(rows->dataset, &to);
    return attrs_to_metadata(rows->dataset, target->array, target->path) && target_commit(target);
}

/* Copies the attributes of columns. */
static bool add_column_attrs(struct rows *rows) {
    struct target *target = &rows->target;
    struct dataset *from = rows->dataset;
    uint64_t lost = from && from->table ? attrs_count(from) - dataset_attrs(from) : 0;
    if (lost == 0) return true;
    if (target->table && rows->args->as != AS_BLZ_RFC) return attrs_copy_columns(from, target->table, target->path);
    if (!rows->args->quiet) note("%s: it cannot store %" PRIu64 " attribute%s of columns", target->path, lost, plural(lost));
    return true;
}

static bool to_container(struct rows *rows, holdall_format format) {
    struct target *target = &rows->target;
    bool file = format == HOLDALL_FORMAT_BLOSCPACK;
    return target_create(target, &rows->frame, rows->args->operands[1], format, rows->count, rows->args) &&
           each(rows, target_take, target) && (file || add_attrs(rows, false)) && add_column_attrs(rows) && !stopped &&
           target_commit(target) && (!file || add_attrs(rows, true));
}

static bool print(void *ctx) {
    static const int64_t formats[] = {[AS_NPY] = FORMAT_NPY, [AS_RAW] = FORMAT_RAW, [AS_CSV] = FORMAT_CSV, [AS_JSONL] = FORMAT_JSONL};
    struct rows *rows = ctx;
    rows->printer.exact = true;
    return printer_begin(&rows->printer, &rows->frame, formats[rows->as], rows->count) && each(rows, printer_take, &rows->printer);
}

static bool to_file(struct rows *rows) {
    bool good = print_to_out(rows->args, print, rows);
    if (good && rows->dataset) note_lost_attrs(rows->args, attrs_count(rows->dataset));
    return good;
}

static int run(struct rows *rows) {
    const struct args *args = rows->args;
    if (rows->as == AS_B2FRAME) {
        complain("%s: rows become an array or a table, not a frame without a shape (--to b2nd)", args->operands[1]);
        return FAILED;
    }
    bool packed = is_packed(rows);
    catch_signals();
    if (packed && !input_open(&rows->in, args->operands[0], args->operands[1])) return FAILED;
    progress_begin("convert", "rows", args->quiet);
    bool good = find_columns(rows) && (format_of(rows->as) ? to_container(rows, format_of(rows->as)) : to_file(rows));
    progress_clear();
    if (good && !args->quiet) note("%s: %" PRIu64 " row%s converted", args->operands[1], rows->count, plural(rows->count));
    bool damaged = rows->frame.source.damaged;
    printer_free(&rows->printer);
    target_close(&rows->target);
    frame_free(&rows->frame);
    if (packed) input_close(&rows->in);
    if (!good && stopped) die_of_signal();
    return put_end(good && !damaged ? DONE : FAILED);
}

/* ---- the ways ---- */

int rows_convert(const struct args *args, struct dataset *dataset, int64_t from, int64_t as) {
    struct rows rows = {.args = args, .from = from, .as = as, .array = dataset->array};
    if (from == NOT_GIVEN) rows.dataset = dataset;
    return run(&rows);
}

int rows_convert_array(const struct args *args, const holdall_array *array, int64_t as) {
    struct rows rows = {.args = args, .from = NOT_GIVEN, .as = as, .array = array};
    return run(&rows);
}
