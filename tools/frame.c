/*
 * Rows in memory.
 */
#define _POSIX_C_SOURCE 200809L

#include "frame.h"
#include "arrays.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of rows that are read at once. */
#define READ_TARGET ((uint64_t)16 << 20)

/* ---- which rows ---- */

static bool select_list(struct selection *selection, const struct args *args, const char *path, uint64_t rows) {
    selection->count = args->rows.count;
    selection->list = malloc((args->rows.count + 1) * sizeof *selection->list);
    if (!selection->list) return complain("out of memory"), false;
    for (size_t i = 0; i < args->rows.count; i++) {
        int64_t row = args->rows.items[i];
        uint64_t from_end = row < 0 ? 0 - (uint64_t)row : 0;
        if (row < 0 ? from_end > rows : (uint64_t)row >= rows) {
            return complain("%s: there is no row %" PRId64 ", it has %" PRIu64, path, row, rows), false;
        }
        selection->list[i] = row < 0 ? rows - from_end : (uint64_t)row;
    }
    return true;
}

bool select_rows(struct selection *selection, const struct args *args, const char *path, uint64_t rows) {
    *selection = (struct selection){.span = slice_resolve(&args->slice, rows)};
    selection->count = selection->span.count;
    return args->rows.count == 0 || select_list(selection, args, path, rows);
}

/* ---- columns ---- */

bool frame_add(struct frame *frame, const char *name, const char *dtype, size_t itemsize, uint32_t ndim, const uint64_t *shape) {
    struct column *larger = realloc(frame->columns, (frame->count + 1) * sizeof *larger);
    if (!larger) return complain("out of memory"), false;
    frame->columns = larger;
    struct column *column = &larger[frame->count++];
    *column = (struct column){.name = strdup(name), .dtype = strdup(dtype), .ndim = ndim};
    if (!column->name || !column->dtype) return complain("out of memory"), false;
    if (ndim > 0) memcpy(column->shape, shape, ndim * sizeof *shape);
    if (!type_parse(&column->type, dtype, itemsize) || !type_nest(&column->type, ndim, shape)) return false;
    frame->row += column->type.size;
    return true;
}

static bool add_array(struct frame *frame, const char *name, const holdall_array *array) {
    const char *dtype = holdall_array_dtype(array);
    if (has_objects(array)) {
        complain("%s: %s%sobjects of Python's have no rows of a fixed size; cat --format raw prints one column of them as it is pickled",
                 frame->source.path, name, *name ? ": " : "");
        return false;
    }
    const uint64_t *shape = holdall_array_shape(array);
    if (!frame_add(frame, name, dtype, holdall_array_itemsize(array), holdall_array_ndim(array) - 1, shape + 1)) return false;
    frame->columns[frame->count - 1].array = array;
    return true;
}

bool frame_of_array(struct frame *frame, const holdall_array *array) {
    frame->bare = true;
    return add_array(frame, "", array);
}

/* Adds the column whose name stands there, which is not there yet. */
static bool add_named(struct frame *frame, const holdall_table *table, const char *name, size_t n) {
    for (size_t i = 0; i < frame->count; i++) {
        if (strlen(frame->columns[i].name) == n && memcmp(frame->columns[i].name, name, n) == 0) {
            return complain("%s: column '%.*s' is asked for twice", frame->source.path, (int)n, name), false;
        }
    }
    for (uint32_t i = 0; i < holdall_table_column_count(table); i++) {
        const char *found = holdall_table_column_name(table, i);
        if (strlen(found) == n && memcmp(found, name, n) == 0) return add_array(frame, found, holdall_table_column(table, i));
    }
    return complain("%s: there is no column '%.*s'", frame->source.path, (int)n, name), false;
}

bool frame_of_table(struct frame *frame, const holdall_table *table, const char *names) {
    bool good = true;
    for (uint32_t i = 0; good && !names && i < holdall_table_column_count(table); i++) {
        good = add_array(frame, holdall_table_column_name(table, i), holdall_table_column(table, i));
    }
    while (good && names && *names) {
        size_t n = strcspn(names, ",");
        good = add_named(frame, table, names, n);
        names += n + (names[n] == ',');
    }
    return good;
}

bool frame_make_room(struct frame *frame, uint64_t rows) {
    uint64_t room = frame->row > 0 && frame->row < READ_TARGET ? READ_TARGET / frame->row : 1;
    frame->room = room < rows ? room : rows > 0 ? rows : 1;
    for (size_t i = 0; i < frame->count; i++) {
        size_t size = frame->columns[i].type.size;
        free(frame->columns[i].bytes);
        frame->columns[i].bytes = frame->room <= (SIZE_MAX - 1) / (size + 1) ? malloc((size_t)frame->room * size + 1) : NULL;
        if (!frame->columns[i].bytes) return complain("out of memory"), false;
    }
    return true;
}

void frame_free(struct frame *frame) {
    for (size_t i = 0; i < frame->count; i++) {
        free(frame->columns[i].name);
        free(frame->columns[i].dtype);
        free(frame->columns[i].bytes);
        type_free(&frame->columns[i].type);
    }
    free(frame->columns);
    frame->columns = NULL;
    frame->count = 0;
}

/* ---- rows ---- */

/* Reads n rows of a span from its `at`th on. */
static holdall_status read_span(const struct column *column, const struct span *span, uint64_t at, uint64_t n, holdall_error *error) {
    uint64_t start[HOLDALL_MAX_NDIM] = {0}, count[HOLDALL_MAX_NDIM], step[HOLDALL_MAX_NDIM];
    int64_t strides[HOLDALL_MAX_NDIM], bytes = (int64_t)holdall_array_itemsize(column->array);
    bool backwards = span->step < 0;
    for (uint32_t d = column->ndim + 1; d-- > 0;) {
        count[d] = d == 0 ? n : column->shape[d - 1];
        step[d] = 1;
        strides[d] = bytes;
        bytes *= (int64_t)count[d];
    }
    step[0] = backwards ? 0 - (uint64_t)span->step : (uint64_t)span->step;
    start[0] = backwards ? span->start - (at + n - 1) * step[0] : span->start + at * step[0];
    if (backwards) strides[0] = -strides[0];
    return holdall_array_read(column->array, start, count, step, column->bytes, (size_t)bytes, strides, error);
}

static holdall_status read_list(const struct column *column, const uint64_t *list, uint64_t n, holdall_error *error) {
    const uint64_t *positions[HOLDALL_MAX_NDIM] = {list};
    uint64_t counts[HOLDALL_MAX_NDIM] = {n};
    for (uint32_t d = 0; d < column->ndim; d++) counts[d + 1] = column->shape[d];
    return holdall_array_read_orthogonal(column->array, positions, counts, column->bytes, (size_t)n * column->type.size, error);
}

static bool read_rows(struct frame *frame, const struct selection *selection, uint64_t at, uint64_t n) {
    holdall_error error;
    for (size_t i = 0; i < frame->count; i++) {
        struct column *column = &frame->columns[i];
        if (column->type.size == 0) continue;
        holdall_status status = selection->list ? read_list(column, selection->list + at, n, &error)
                                                : read_span(column, &selection->span, at, n, &error);
        if (status == HOLDALL_DAMAGED) source_report_damage(&frame->source, "here");
        if (status < 0) return complain_error(frame->source.path, &error, ""), false;
    }
    frame->n = n;
    return true;
}

bool frame_each(struct frame *frame, const struct selection *selection, rows_fn take, void *ctx) {
    bool good = frame_make_room(frame, selection->count);
    for (uint64_t at = 0; good && at < selection->count; at += frame->n) {
        uint64_t left = selection->count - at;
        good = read_rows(frame, selection, at, left < frame->room ? left : frame->room) && take(ctx, frame);
    }
    return good;
}
