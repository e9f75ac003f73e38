/*
 * The second time that a file of text is read, or the only one: for its rows.
 */
#include "csv.h"
#include "frame_print.h"
#include "item.h"
#include "json.h"
#include "jsonl.h"
#include "load.h"
#include "report.h"
#include "signals.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rows that a frame has room for where it is not known how many there are. */
#define MANY ((uint64_t)1 << 20)

struct load {
    struct frame *frame;
    struct input *in;
    rows_fn take;
    void *ctx;
    size_t last; /* the column that was found last */
};

/* Returns the column of this name, usually the one after the last; `count` if there is none. */
static size_t find(struct load *load, const char *name, size_t n) {
    const struct frame *frame = load->frame;
    for (size_t i = 0; i < frame->count; i++) {
        size_t column = (load->last + 1 + i) % frame->count;
        const char *found = frame->columns[column].name;
        if (strncmp(found, name, n) == 0 && found[n] == '\0') return load->last = column;
    }
    return frame->count;
}

static bool refuse(const struct load *load, uint64_t line, size_t column, const char *value, size_t n, const char *why) {
    const struct column *c = &load->frame->columns[column];
    bool bare = load->frame->bare; /* then it has no name */
    struct text shown = {.bytes = NULL};
    text_json(&shown, value, n > 60 ? 60 : n);
    char *value_text = text_take(&shown);
    if (value_text) {
        complain("%s: line %" PRIu64 "%s%s%s: %s%s %s (%s)", load->in->name, line, bare ? "" : ", column '", c->name, bare ? "" : "'",
                 value_text, n > 60 ? "..." : "", why, c->dtype);
    }
    free(value_text);
    return false;
}

/* The slot of the next row in a column. */
static unsigned char *slot(const struct load *load, size_t column) {
    const struct column *c = &load->frame->columns[column];
    return c->bytes + load->frame->n * c->type.size;
}

/* A row is whole: where there is no room for another one, or at the end (`last`), they are given on. */
static bool next_row(struct load *load, bool last) {
    struct frame *frame = load->frame;
    frame->n += !last;
    if (frame->n == 0 || (!last && frame->n < frame->room)) return true;
    bool good = load->take(load->ctx, frame);
    frame->n = 0;
    return good && !stopped;
}

/* ---- CSV ---- */

/* The first row maps fields to columns. */
static size_t *read_header(struct load *load, struct csv *csv) {
    const struct frame *frame = load->frame;
    size_t *order = calloc(frame->count + 1, sizeof *order), there = 0;
    bool good = order && csv_next(csv) && csv_fits(csv, frame_fields(frame));
    if (!order) complain("out of memory");
    load->last = frame->count - 1;
    for (; good && !frame->bare && there < csv->count; there++) {
        const struct csv_field *field = &csv->fields[there];
        order[there] = find(load, field->text, field->n);
        good = order[there] < frame->count;
        for (size_t i = 0; i < there; i++) good = good && order[i] != order[there];
        if (!good) complain("%s: line 1: '%.*s' is none of the columns, or twice there", load->in->name, (int)field->n, field->text);
    }
    if (good) return order;
    free(order);
    return NULL;
}

/* Reads a row: each field is the item of a column, or all of them are those of a row of an array. */
static bool load_fields(struct load *load, const struct csv *csv, const size_t *order) {
    const struct column *array = load->frame->bare ? load->frame->columns : NULL;
    const struct type *of = array && array->ndim > 0 ? array->type.of : NULL;
    for (size_t i = 0; i < csv->count; i++) {
        const struct csv_field *field = &csv->fields[i];
        size_t column = array ? 0 : order[i];
        unsigned char *to = slot(load, column) + (of ? i * of->size : 0);
        const char *why = item_parse(of ? of : &load->frame->columns[column].type, field->text, field->n, to);
        if (why) return refuse(load, csv->line, column, field->text, field->n, why);
    }
    return true;
}

static bool load_csv(struct load *load) {
    struct csv csv;
    size_t *order = NULL, fields = frame_fields(load->frame);
    bool good = csv_begin(&csv, load->in) && (order = read_header(load, &csv)) != NULL;
    while (good && (good = csv_next(&csv)) && csv.count > 0) {
        good = csv_fits(&csv, fields) && load_fields(load, &csv, order) && next_row(load, false);
    }
    free(order);
    csv_end(&csv);
    return good && next_row(load, true);
}

/* ---- JSON lines ---- */

static bool load_member(struct load *load, struct jsonl *jsonl, bool *seen, const char *value, size_t n) {
    size_t column = find(load, jsonl->name.bytes, jsonl->name.n);
    if (column == load->frame->count || seen[column]) {
        complain("%s: line %" PRIu64 ": '%.*s' is none of the columns, or twice there", load->in->name, jsonl->line,
                 (int)jsonl->name.n, jsonl->name.bytes);
        return false;
    }
    seen[column] = true;
    const char *at = value, *why = item_parse_json(&load->frame->columns[column].type, &at, slot(load, column));
    return !why || refuse(load, jsonl->line, column, value, n, why);
}

/* Columns that a line has not. */
static bool load_missing(struct load *load, const struct jsonl *jsonl, bool *seen) {
    for (size_t i = 0; i < load->frame->count; i++) {
        const char *why = seen[i] ? NULL : item_missing(&load->frame->columns[i].type, slot(load, i));
        if (why) return refuse(load, jsonl->line, i, "", 0, why);
        seen[i] = false;
    }
    return true;
}

static bool load_value(struct load *load, const struct jsonl *jsonl) {
    size_t n;
    const char *value = jsonl_value(jsonl, &n), *at = value;
    const char *why = item_parse_json(&load->frame->columns[0].type, &at, slot(load, 0));
    return !why || refuse(load, jsonl->line, 0, value, n, why);
}

static bool load_object(struct load *load, struct jsonl *jsonl, bool *seen) {
    const char *value;
    size_t n;
    while (jsonl_member(jsonl, &value, &n)) {
        if (!load_member(load, jsonl, seen, value, n)) return false;
    }
    return load_missing(load, jsonl, seen);
}

static bool load_json(struct load *load) {
    struct jsonl jsonl;
    bool *seen = calloc(load->frame->count + 1, sizeof *seen);
    if (!seen) complain("out of memory");
    bool good = jsonl_begin(&jsonl, load->in) && seen;
    jsonl.values = load->frame->bare;
    while (good && (good = jsonl_next(&jsonl)) && jsonl.there) {
        good = (jsonl.values ? load_value(load, &jsonl) : load_object(load, &jsonl, seen)) && next_row(load, false);
    }
    free(seen);
    jsonl_end(&jsonl);
    return good && next_row(load, true);
}

bool load_rows(struct frame *frame, const char *path, bool json, const char *out, rows_fn take, void *ctx) {
    struct input in;
    if (!input_open(&in, path, out)) return false;
    struct load load = {frame, &in, take, ctx, 0};
    frame->n = 0;
    bool good = frame_make_room(frame, MANY) && (json ? load_json : load_csv)(&load);
    input_close(&in);
    return good;
}
