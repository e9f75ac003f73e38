/*
 * The first time that a file of text is read: for the names of its columns, and the types that fit all rows.
 */
#define _POSIX_C_SOURCE 200809L

#include "csv.h"
#include "guess.h"
#include "json.h"
#include "jsonl.h"
#include "load.h"
#include "report.h"
#include "signals.h"
#include "type.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct named {
    char *name, *dtype; /* `dtype`: it was told */
    struct guess guess;
    uint64_t seen, parts; /* rows that had it; the first line that had a list or an object in it */
};

struct columns {
    const char *path, *dtypes;
    struct named *items;
    size_t count, last;
    uint64_t rows;
};

/* ---- what was told of types ---- */

/* The end of one of "x=<f8,y=[('a', '<i4')]": commas in brackets or quotes do not count. */
static const char *part_end(const char *at) {
    int depth = 0;
    char quote = '\0';
    for (; *at && (depth > 0 || quote || *at != ','); at++) {
        if (quote) {
            if (*at == quote) quote = '\0';
        } else if (*at == '\'' || *at == '"') {
            quote = *at;
        } else {
            depth += strchr("([{", *at) != NULL;
            depth -= strchr(")]}", *at) != NULL;
        }
    }
    return at;
}

/* The type that was told of a column, to be freed; NULL: none. */
static char *told_dtype(const char *dtypes, const char *name) {
    size_t n = strlen(name);
    for (const char *at = dtypes; at && *at;) {
        const char *end = part_end(at);
        if ((size_t)(end - at) > n && strncmp(at, name, n) == 0 && at[n] == '=') return strndup(at + n + 1, (size_t)(end - at) - n - 1);
        at = end + (*end == ',');
    }
    return NULL;
}

static bool check_dtypes(const struct columns *columns) {
    for (const char *at = columns->dtypes; at && *at;) {
        const char *end = part_end(at), *equals = memchr(at, '=', (size_t)(end - at));
        size_t i = 0, n = equals ? (size_t)(equals - at) : 0;
        if (!equals) return complain("--dtypes: '%.*s' is not COLUMN=DTYPE", (int)(end - at), at), false;
        while (i < columns->count && (strncmp(columns->items[i].name, at, n) != 0 || columns->items[i].name[n] != '\0')) i++;
        if (i == columns->count) return complain("%s: there is no column '%.*s', as --dtypes has it", columns->path, (int)n, at), false;
        at = end + (*end == ',');
    }
    return true;
}

/* ---- columns ---- */

/* The column of this name, which is mostly the one behind the last; `count` where there is none. */
static size_t find(struct columns *columns, const char *name, size_t n) {
    for (size_t i = 0; i < columns->count; i++) {
        size_t column = (columns->last + 1 + i) % columns->count;
        const char *found = columns->items[column].name;
        if (strncmp(found, name, n) == 0 && found[n] == '\0') return columns->last = column;
    }
    return columns->count;
}

static bool add(struct columns *columns, const char *name, size_t n) {
    if ((columns->count & (columns->count - 1)) == 0) { /* a power of two fills it */
        struct named *larger = realloc(columns->items, (columns->count ? 2 * columns->count : 1) * sizeof *larger);
        if (!larger) return complain("out of memory"), false;
        columns->items = larger;
    }
    if (memchr(name, 0, n)) return complain("%s: the name of a column has a NUL in it", columns->path), false;
    struct named *column = &columns->items[columns->count];
    *column = (struct named){.name = strndup(name, n)};
    if (!column->name) return complain("out of memory"), false;
    column->dtype = told_dtype(columns->dtypes, column->name);
    columns->last = columns->count++;
    return true;
}

/* ---- the two formats ---- */

static bool see_csv(struct columns *columns, struct input *in) {
    struct csv csv;
    bool good = csv_begin(&csv, in) && csv_next(&csv);
    if (good && csv.count == 0) good = (complain("%s: there is no line with the names of the columns", in->name), false);
    for (size_t i = 0; good && i < csv.count; i++) {
        const struct csv_field *field = &csv.fields[i];
        if (find(columns, field->text, field->n) < columns->count) {
            good = (complain("%s: line 1: two columns are called '%.*s'", in->name, (int)field->n, field->text), false);
        }
        good = good && add(columns, field->text, field->n);
    }
    while (good && !stopped && (good = csv_next(&csv)) && csv.count > 0) {
        good = csv_fits(&csv, columns->count);
        for (size_t i = 0; good && i < csv.count; i++) {
            struct named *column = &columns->items[i];
            if (!column->dtype) guess_see(&column->guess, csv.fields[i].text, csv.fields[i].n, false);
            column->seen++;
        }
        columns->rows++;
    }
    csv_end(&csv);
    return good;
}

static bool see_member(struct columns *columns, struct jsonl *jsonl, const char *value, size_t n) {
    size_t i = find(columns, jsonl->name.bytes, jsonl->name.n);
    if (i == columns->count && !add(columns, jsonl->name.bytes, jsonl->name.n)) return false;
    struct named *column = &columns->items[i];
    column->seen++;
    if (column->dtype) return true;
    if (*value == '"') {
        struct text text = {.bytes = NULL};
        json_read_string(value, &text);
        guess_see(&column->guess, text.bytes, text.n, true);
        text_free(&text);
    } else if (*value == '[' || *value == '{') {
        column->parts = column->parts ? column->parts : jsonl->line;
    } else {
        guess_see(&column->guess, value, *value == 'n' ? 0 : n, false);
    }
    return true;
}

static bool see_json(struct columns *columns, struct input *in) {
    struct jsonl jsonl;
    bool good = jsonl_begin(&jsonl, in);
    while (good && !stopped && (good = jsonl_next(&jsonl)) && jsonl.there) {
        const char *value;
        size_t n;
        columns->rows++;
        while (good && jsonl_member(&jsonl, &value, &n)) good = see_member(columns, &jsonl, value, n);
    }
    if (good && columns->count == 0) good = (complain("%s: there is no line with a JSON object", in->name), false);
    for (size_t i = 0; good && i < columns->count; i++) {
        struct named *column = &columns->items[i];
        if (column->seen < columns->rows) guess_see(&column->guess, "", 0, false);
        if (column->parts == 0) continue;
        complain("%s: line %" PRIu64 ", column '%s': of lists and objects the type must be told, --dtypes %s=\"('<f8', (3,))\"",
                 in->name, column->parts, column->name, column->name);
        good = false;
    }
    jsonl_end(&jsonl);
    return good;
}

/* ---- the whole ---- */

static bool to_frame(const struct columns *columns, struct frame *frame) {
    for (size_t i = 0; i < columns->count; i++) {
        const struct named *column = &columns->items[i];
        char guessed[GUESSED];
        struct type type;
        guess_dtype(&column->guess, guessed);
        const char *dtype = column->dtype ? column->dtype : guessed;
        if (!type_read(&type, dtype) || type_has_objects(&type)) {
            type_free(&type);
            return complain("%s: column '%s': rows of text do not become items of '%s'", columns->path, column->name, dtype), false;
        }
        size_t size = type.size;
        type_free(&type);
        if (!frame_add(frame, column->name, dtype, size, 0, NULL)) return false;
    }
    return true;
}

bool load_columns(struct frame *frame, const char *path, bool json, const char *dtypes, uint64_t *rows) {
    struct columns columns = {.path = path, .dtypes = dtypes};
    struct input in;
    if (strcmp(path, "-") == 0) return complain("standard input is read once, and types are found by reading twice: not '-'"), false;
    if (!input_open(&in, path, "")) return false;
    bool good = (json ? see_json : see_csv)(&columns, &in) && !stopped && check_dtypes(&columns) && to_frame(&columns, frame);
    *rows = columns.rows;
    for (size_t i = 0; i < columns.count; i++) {
        free(columns.items[i].name);
        free(columns.items[i].dtype);
    }
    free(columns.items);
    input_close(&in);
    return good;
}
