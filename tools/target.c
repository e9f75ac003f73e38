/*
 * Rows go into tables and arrays.
 */
#include "target.h"
#include "convert.h"
#include "frame_print.h"
#include "options.h"
#include "packing.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

/* The type of a row of a column: a pair where it has dimensions. To be freed. */
static char *row_dtype(const struct column *column) {
    struct text text = {.bytes = NULL};
    bool constant = strpbrk(column->dtype, "('\"{") != NULL;
    if (column->ndim > 0) text_string(&text, constant ? "(" : "('");
    text_string(&text, column->dtype);
    if (column->ndim > 0) {
        text_string(&text, constant ? ", " : "', ");
        text_tuple(&text, column->shape, column->ndim);
        text_char(&text, ')');
    }
    return text_take(&text);
}

static bool create_table(struct target *target, const struct frame *frame, holdall_format format, const struct args *args,
                         const holdall_options *options) {
    holdall_mode mode = args->replace ? HOLDALL_REPLACE : HOLDALL_CREATE;
    if (args->chunks.count > 0) return complain("%s: --chunks is for arrays, and this becomes a table", target->path), false;
    const char **names = calloc(frame->count + 1, sizeof *names);
    char **dtypes = calloc(frame->count + 1, sizeof *dtypes);
    bool good = names && dtypes;
    holdall_error error;
    if (!good) complain("out of memory");
    for (size_t i = 0; good && i < frame->count; i++) {
        names[i] = frame->columns[i].name;
        good = (dtypes[i] = row_dtype(&frame->columns[i])) != NULL;
    }
    holdall_table_spec spec = {.struct_size = sizeof spec, .format = format, .column_count = (uint32_t)frame->count, .names = names,
                               .dtypes = (const char *const *)dtypes};
    if (good && holdall_table_create(target->path, mode, &spec, options, &target->table, &error) < 0) {
        complain_create(target->path, &error, args->replace);
        good = false;
    }
    for (size_t i = 0; dtypes && i < frame->count; i++) free(dtypes[i]);
    free(dtypes);
    free(names);
    return good;
}

static bool create_array(struct target *target, const struct frame *frame, holdall_format format, const struct args *args,
                         const holdall_options *options) {
    holdall_mode mode = args->replace ? HOLDALL_REPLACE : HOLDALL_CREATE;
    uint64_t shape[HOLDALL_MAX_NDIM] = {0};
    uint32_t ndim = frame->bare ? frame->columns[0].ndim : 0;
    holdall_error error;
    if (ndim > 0) memcpy(shape + 1, frame->columns[0].shape, ndim * sizeof *shape);
    char *dtype = frame->bare ? NULL : frame_dtype(frame);
    if (!frame->bare && !dtype) return false;
    uint64_t room[HOLDALL_MAX_NDIM];
    const uint64_t *chunks;
    if (!numbers_as_shape(&args->chunks, "chunks", target->path, ndim + 1, room, &chunks)) return free(dtype), false;
    holdall_array_spec spec = {.struct_size = sizeof spec, .format = format, .dtype = dtype ? dtype : frame->columns[0].dtype,
                               .ndim = ndim + 1, .shape = shape, .chunk_shape = chunks};
    holdall_status status = holdall_array_create(target->path, mode, &spec, options, &target->array, &error);
    if (status < 0) complain_create(target->path, &error, args->replace);
    free(dtype);
    return status >= 0;
}

static bool make_lists(struct target *target, const struct frame *frame) {
    target->columns = calloc(frame->count + 1, sizeof *target->columns);
    target->sizes = calloc(frame->count + 1, sizeof *target->sizes);
    target->order = calloc(frame->count + 1, sizeof *target->order);
    if (!target->columns || !target->sizes || !target->order) return complain("out of memory"), false;
    for (size_t i = 0; i < frame->count; i++) target->order[i] = i;
    return true;
}

bool target_create(struct target *target, const struct frame *frame, const char *path, holdall_format format, uint64_t rows,
                   const struct args *args) {
    *target = (struct target){.path = path};
    bool file = format == HOLDALL_FORMAT_BLOSCPACK || is_frame(format);
    holdall_options *options = new_options();
    bool good = options && set_chunk_options(options, args) && set_file_options(options, args) &&
                set_given(options, HOLDALL_OPT_MEMORY_LIMIT, args->memory_limit) &&
                (file || set_option(options, HOLDALL_OPT_EXPECTED_ROWS, rows > INT64_MAX ? INT64_MAX : (int64_t)rows)) &&
                make_lists(target, frame) &&
                (frame->bare || file ? create_array : create_table)(target, frame, format, args, options);
    holdall_options_free(options);
    return good;
}

bool target_append(struct target *target, const struct frame *frame, holdall_table *table, const char *path) {
    *target = (struct target){.path = path, .table = table};
    uint32_t count = holdall_table_column_count(table);
    if (frame->bare || frame->count != count) {
        return complain("%s: there are %zu column%s, and the table has %" PRIu32, path, frame->bare ? 1 : frame->count,
                        plural(frame->count), count), false;
    }
    struct frame expected = {.source = {.path = path}};
    bool good = make_lists(target, frame) && frame_of_table(&expected, table, NULL);
    for (size_t i = 0; good && i < count; i++) {
        size_t found = 0;
        while (found < count && strcmp(frame->columns[found].name, expected.columns[i].name) != 0) found++;
        target->order[i] = found;
        good = found < count && type_equal(&frame->columns[found].type, &expected.columns[i].type);
        if (!good) complain("%s: expected rows of column '%s', %s", path, expected.columns[i].name, expected.columns[i].dtype);
    }
    frame_free(&expected);
    return good;
}

/* ---- rows ---- */

static holdall_status append_columns(struct target *target, const struct frame *frame, holdall_error *error) {
    for (size_t i = 0; i < frame->count; i++) {
        const struct column *column = &frame->columns[target->order[i]];
        target->columns[i] = column->bytes;
        target->sizes[i] = (size_t)frame->n * column->type.size;
    }
    return holdall_table_append(target->table, frame->n, target->columns, target->sizes, error);
}

static holdall_status append_items(struct target *target, const struct frame *frame, holdall_error *error) {
    const void *bytes = frame->columns[0].bytes;
    if (!frame->bare) {
        target->packed.n = 0;
        for (uint64_t row = 0; row < frame->n; row++) frame_pack(&target->packed, frame, row);
        bytes = target->packed.bytes;
    }
    if (target->packed.failed) {
        *error = (holdall_error){.status = HOLDALL_E_MEMORY, .message = "out of memory"};
        return HOLDALL_E_MEMORY;
    }
    return holdall_array_append(target->array, 0, frame->n, bytes, (size_t)(frame->n * frame->row), error);
}

bool target_take(void *ctx, const struct frame *frame) {
    struct target *target = ctx;
    holdall_error error;
    holdall_status status = (target->table ? append_columns : append_items)(target, frame, &error);
    if (status < 0) return complain_error(target->path, &error, ""), false;
    target->rows += frame->n;
    return true;
}

/* ---- the end ---- */

bool target_commit(struct target *target) {
    holdall_error error;
    holdall_status status = target->table ? holdall_table_commit(target->table, &error) : holdall_array_commit(target->array, &error);
    if (status < 0) complain_error(target->path, &error, "");
    return status >= 0;
}

void target_close(struct target *target) {
    holdall_table_close(target->table);
    holdall_array_close(target->array);
    text_free(&target->packed);
    free(target->columns);
    free(target->sizes);
    free(target->order);
}
