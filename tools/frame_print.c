/*
 * Rows as text, or as items of a structured type.
 *
 * An array is a column without a name: its rows are values in JSON, and fields in CSV where they have dimensions. CSV is read with
 * a line of names in front of its rows, so those of an array have one as well: f0, f1, .., as NumPy and bcolz number columns.
 */
#include "frame_print.h"
#include "cell.h"
#include "npy.h"
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text that is gathered before it is printed. */
enum { GATHERED = 1 << 16 };
/* A row of CSV whose one field is empty: an empty line is no row. */
#define EMPTY_ROW "\"\""

/* ---- the type of a row ---- */

/* Text in the quotes of Python. */
static void put_quoted(struct text *text, const char *string) {
    text_char(text, '\'');
    for (; *string; string++) {
        char escape[8] = {*string};
        if ((unsigned char)*string < 0x20) snprintf(escape, sizeof escape, "\\x%02x", *string);
        if (*string == '\'' || *string == '\\') text_char(text, '\\');
        text_string(text, escape);
    }
    text_char(text, '\'');
}

static void put_dtype(struct text *text, const char *dtype) {
    if (strpbrk(dtype, "('\"{")) {
        text_string(text, dtype);
    } else {
        put_quoted(text, dtype);
    }
}

char *frame_dtype(const struct frame *frame) {
    struct text text = {.bytes = NULL};
    text_char(&text, '[');
    for (size_t i = 0; i < frame->count; i++) {
        const struct column *column = &frame->columns[i];
        text_string(&text, i > 0 ? ", (" : "(");
        put_quoted(&text, column->name);
        text_string(&text, ", ");
        put_dtype(&text, column->dtype);
        if (column->ndim > 0) text_string(&text, ", ");
        if (column->ndim > 0) text_tuple(&text, column->shape, column->ndim);
        text_char(&text, ')');
    }
    text_char(&text, ']');
    return text_take(&text);
}

/* ---- rows ---- */

static bool flush(struct printer *printer) {
    if (printer->text.failed) return complain("out of memory"), false;
    bool good = put_bytes(printer->text.bytes, printer->text.n);
    printer->text.n = 0;
    return good;
}

size_t frame_fields(const struct frame *frame) {
    return frame->bare && frame->columns[0].ndim > 0 ? frame->columns[0].type.count : frame->count;
}

void frame_field_name(size_t i, char name[FIELD_NAME]) {
    snprintf(name, FIELD_NAME, "f%zu", i);
}

static void print_numbered(struct printer *printer, const struct frame *frame) {
    char name[FIELD_NAME];
    for (size_t i = 0; i < frame_fields(frame); i++) {
        if (i > 0) text_char(&printer->text, ',');
        frame_field_name(i, name);
        text_string(&printer->text, name);
    }
    text_char(&printer->text, '\n');
}

static void print_header(struct printer *printer, const struct frame *frame) {
    struct text *text = &printer->text;
    for (size_t i = 0; i < frame->count; i++) {
        const char *name = frame->columns[i].name;
        if (i > 0) text_char(text, ',');
        if (strpbrk(name, ",\"\r\n") || *name == '\0') {
            csv_put_field(text, name, strlen(name));
        } else {
            text_string(text, name);
        }
    }
    text_char(text, '\n');
}

/* The items of a file of NumPy: rows with fields, or those of an array. */
static bool print_npy(const struct frame *frame, uint64_t rows) {
    struct text text = {.bytes = NULL};
    uint64_t shape[HOLDALL_MAX_NDIM] = {rows};
    const struct column *array = frame->bare ? frame->columns : NULL;
    uint32_t ndim = array ? array->ndim : 0;
    if (ndim > 0) memcpy(shape + 1, array->shape, ndim * sizeof *shape);
    if (array) put_dtype(&text, array->dtype);
    char *dtype = array ? text_take(&text) : frame_dtype(frame);
    bool good = dtype && npy_put_header(dtype, false, ndim + 1, shape);
    free(dtype);
    return good;
}

bool printer_begin(struct printer *printer, const struct frame *frame, int64_t format, uint64_t rows) {
    *printer = (struct printer){.format = format, .names = !frame->bare, .exact = printer->exact};
    if (format == FORMAT_CSV && frame_fields(frame) == 0) {
        return complain("%s: its rows have no items, and CSV has no rows without a field", frame->source.path), false;
    }
    if (format == FORMAT_CSV) {
        (printer->names ? print_header : print_numbered)(printer, frame);
        return flush(printer);
    }
    return format != FORMAT_NPY || print_npy(frame, rows);
}

static void put_csv(struct text *text, const struct frame *frame, uint64_t row) {
    size_t from = text->n;
    for (size_t i = 0; i < frame->count; i++) {
        const struct column *column = &frame->columns[i];
        if (i > 0) text_char(text, ',');
        cell_put_csv(text, &column->type, column->bytes + row * column->type.size);
    }
    if (text->n == from) text_string(text, EMPTY_ROW);
}

/* The fields of a row of an array. */
static void put_csv_items(struct text *text, const struct frame *frame, uint64_t row) {
    const struct type *type = &frame->columns[0].type;
    const unsigned char *bytes = frame->columns[0].bytes + row * type->size;
    if (frame->columns[0].ndim == 0) {
        put_csv(text, frame, row);
        return;
    }
    size_t from = text->n;
    for (size_t i = 0; i < type->count; i++) {
        if (i > 0) text_char(text, ',');
        cell_put_csv(text, type->of, bytes + i * type->of->size);
    }
    if (text->n == from) text_string(text, EMPTY_ROW);
}

static void put_json_row(struct text *text, const struct frame *frame, uint64_t row) {
    for (size_t i = 0; i < frame->count; i++) {
        const struct column *column = &frame->columns[i];
        text_char(text, i > 0 ? ',' : '{');
        text_json(text, column->name, strlen(column->name));
        text_char(text, ':');
        cell_put_json(text, &column->type, column->bytes + row * column->type.size);
    }
    text_char(text, '}');
}

void frame_pack(struct text *text, const struct frame *frame, uint64_t row) {
    for (size_t i = 0; i < frame->count; i++) {
        const struct column *column = &frame->columns[i];
        text_put(text, column->bytes + row * column->type.size, column->type.size);
    }
}

static void put_row(struct printer *printer, const struct frame *frame, uint64_t row) {
    struct text *text = &printer->text;
    if (printer->format == FORMAT_NPY || printer->format == FORMAT_RAW) {
        frame_pack(text, frame, row);
        return;
    }
    if (printer->format == FORMAT_CSV) {
        (printer->names ? put_csv : put_csv_items)(text, frame, row);
    } else if (printer->names) {
        put_json_row(text, frame, row);
    } else {
        const struct type *type = &frame->columns[0].type;
        cell_put_json(text, type, frame->columns[0].bytes + row * type->size);
    }
    text_char(text, '\n');
}

bool printer_take(void *ctx, const struct frame *frame) {
    struct printer *printer = ctx;
    bool good = true;
    for (uint64_t row = 0; good && row < frame->n; row++, printer->rows++) {
        put_row(printer, frame, row);
        if (printer->exact && printer->text.escaped) {
            complain("%s: row %" PRIu64 ": it has a string that is no UTF-8, and would not read back (--to npy takes any)",
                     frame->source.path, printer->rows);
            return false;
        }
        if (printer->text.n >= GATHERED || printer->text.failed) good = flush(printer);
    }
    return good && flush(printer);
}

void printer_free(struct printer *printer) {
    text_free(&printer->text);
}
