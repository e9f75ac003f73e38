/*
 * The first time that a file of text is read: for the names of its columns, and the types that fit all rows.
 *
 * A file of rows of an array is one column without a name. JSON lines that are values are such a file; CSV is where a type is
 * given that belongs to no column.
 */
#define _POSIX_C_SOURCE 200809L

#include "csv.h"
#include "frame_print.h"
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
    char *name, *dtype; /* `dtype`: it was given */
    struct guess guess;
    uint64_t seen, wrong; /* rows that had it; the first line where no type can be guessed: objects, lists of other shapes */
    bool measured;        /* is the shape that of a row? */
    uint32_t ndim;        /* of lists in a row of JSON */
    uint64_t shape[HOLDALL_MAX_NDIM];
};

struct columns {
    const char *path, *dtypes;
    struct named *items;
    size_t count, last;
    uint64_t rows;
    bool bare; /* an array: one column, without a name */
};

/* ---- types from --dtypes ---- */

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

/* Returns the type that --dtypes gives a column. The caller frees it. NULL: none. */
static char *given_dtype(const char *dtypes, const char *name) {
    size_t n = strlen(name);
    for (const char *at = dtypes; at && *at;) {
        const char *end = part_end(at);
        if ((size_t)(end - at) > n && strncmp(at, name, n) == 0 && at[n] == '=') return strndup(at + n + 1, (size_t)(end - at) - n - 1);
        at = end + (*end == ',');
    }
    return NULL;
}

/* Returns whether it is one type, without a column name. */
static bool is_bare_dtype(const char *dtypes) {
    return dtypes && dtypes[strcspn(dtypes, "=([{'\"")] != '=' && *part_end(dtypes) == '\0';
}

static bool check_dtypes(const struct columns *columns) {
    if (columns->bare && columns->dtypes && !is_bare_dtype(columns->dtypes)) {
        return complain("%s: its lines have no columns; --dtypes \"('<f8', (3,))\" is the type of a row", columns->path), false;
    }
    for (const char *at = columns->bare ? NULL : columns->dtypes; at && *at;) {
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

/* Returns the column of this name, usually the one after the last; `count` if there is none. */
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
    column->dtype = is_bare_dtype(columns->dtypes) ? strdup(columns->dtypes) : given_dtype(columns->dtypes, column->name);
    columns->last = columns->count++;
    return true;
}

/* The one of an array. */
static bool add_bare(struct columns *columns) {
    columns->bare = true;
    return add(columns, "", 0);
}

/* ---- the two formats ---- */

/* The line before the rows of an array: without one a row would be taken for it. */
static bool check_numbered(const struct input *in, const struct csv *csv) {
    char name[FIELD_NAME];
    for (size_t i = 0; i < csv->count; i++) {
        const struct csv_field *field = &csv->fields[i];
        frame_field_name(i, name);
        if (field->n == strlen(name) && memcmp(field->text, name, field->n) == 0) continue;
        complain("%s: line 1: '%.*s' is not '%s': CSV of an array begins with a line of names, f0,f1,.. (put one in front)", in->name,
                 (int)field->n, field->text, name);
        return false;
    }
    return true;
}

static bool see_csv_array(struct columns *columns, struct input *in) {
    struct csv csv;
    bool good = csv_begin(&csv, in) && csv_next(&csv) && check_numbered(in, &csv) && add_bare(columns);
    while (good && !stopped && (good = csv_next(&csv)) && csv.count > 0) columns->rows++;
    csv_end(&csv);
    return good;
}

static bool see_csv(struct columns *columns, struct input *in) {
    struct csv csv;
    if (is_bare_dtype(columns->dtypes)) return see_csv_array(columns, in);
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

static void see_scalar(struct named *column, const char *value, size_t n) {
    if (*value == '"') {
        struct text text = {.bytes = NULL};
        json_read_string(value, &text);
        guess_see(&column->guess, text.bytes, text.n, true);
        text_free(&text);
    } else {
        guess_see(&column->guess, value, *value == 'n' ? 0 : n, false);
    }
}

/* What follows an item of a list: the next one, or its end. */
static const char *next_item(const char *at) {
    at = json_skip_space(at);
    return *at == ',' ? json_skip_space(at + 1) : at;
}

/* Takes the shape of a value, as its first items have it. */
static void measure(struct named *column, const char *value) {
    column->measured = true;
    while (*value == '[' && column->ndim < HOLDALL_MAX_NDIM - 1) {
        const char *first = json_skip_space(value + 1);
        uint64_t n = 0;
        for (const char *at = first; *at != ']'; at = next_item(json_skip_value(at))) n++;
        column->shape[column->ndim++] = n;
        value = first;
    }
}

/* Sees the items of a value; false: it has another shape. */
static bool see_items(struct named *column, const char *value, uint32_t d) {
    if (d == column->ndim) {
        if (*value == '[' || *value == '{') return false;
        return see_scalar(column, value, (size_t)(json_skip_value(value) - value)), true;
    }
    if (*value != '[') return false;
    uint64_t n = 0;
    for (const char *at = json_skip_space(value + 1); *at != ']'; at = next_item(json_skip_value(at)), n++) {
        if (n == column->shape[d] || !see_items(column, at, d + 1)) return false;
    }
    return n == column->shape[d];
}

static void see_value(struct named *column, uint64_t line, const char *value) {
    column->seen++;
    if (column->dtype || column->wrong) return;
    if (!column->measured) measure(column, value);
    if (!see_items(column, value, 0)) column->wrong = line;
}

static bool see_object(struct columns *columns, struct jsonl *jsonl) {
    const char *value;
    size_t n;
    while (jsonl_member(jsonl, &value, &n)) {
        size_t i = find(columns, jsonl->name.bytes, jsonl->name.n);
        if (i == columns->count && !add(columns, jsonl->name.bytes, jsonl->name.n)) return false;
        see_value(&columns->items[i], jsonl->line, value);
    }
    return true;
}

/* Returns whether types can be guessed; reports if not. */
static bool check_guesses(struct columns *columns, const char *name) {
    for (size_t i = 0; i < columns->count; i++) {
        struct named *column = &columns->items[i];
        if (column->seen < columns->rows) guess_see(&column->guess, "", 0, false);
        if (column->wrong == 0) continue;
        bool bare = columns->bare;
        complain("%s: line %" PRIu64 "%s%s%s: lists of different lengths, and objects, need an explicit type, --dtypes %s%s\"('<f8', (3,))\"",
                 name, column->wrong, bare ? "" : ", column '", column->name, bare ? "" : "'", column->name, bare ? "" : "=");
        return false;
    }
    return true;
}

static bool see_json(struct columns *columns, struct input *in) {
    struct jsonl jsonl;
    bool good = jsonl_begin(&jsonl, in), given = is_bare_dtype(columns->dtypes);
    jsonl.values = true; /* until the first is an object */
    if (given) good = good && add_bare(columns);
    while (good && !stopped && (good = jsonl_next(&jsonl)) && jsonl.there) {
        if (columns->rows++ == 0 && !given) good = *jsonl.at == '{' ? jsonl_objects(&jsonl) : add_bare(columns);
        if (good && columns->bare) see_value(columns->items, jsonl.line, jsonl.at);
        if (good && !columns->bare) good = see_object(columns, &jsonl);
    }
    if (good && columns->count == 0) good = (complain("%s: there is no line with a JSON object", in->name), false);
    jsonl_end(&jsonl);
    return good && check_guesses(columns, in->name);
}

/* ---- the whole ---- */

/* Adds a column of this type, which was given or guessed. */
static bool add_column(const struct columns *columns, const struct named *column, const char *dtype, struct frame *frame) {
    char *item = NULL;
    uint32_t ndim = column->ndim;
    uint64_t shape[HOLDALL_MAX_NDIM];
    struct type type;
    if (ndim > 0) memcpy(shape, column->shape, ndim * sizeof *shape);
    if (columns->bare && column->dtype) { /* dimensions of a row are dimensions of the array */
        type_split(dtype, &item, &ndim, shape);
        dtype = item ? item : dtype;
    }
    bool known = type_read(&type, dtype), good = known && !type_has_objects(&type);
    if (!good && columns->bare) complain("%s: rows of text do not become items of '%s'", columns->path, dtype);
    if (!good && !columns->bare) complain("%s: column '%s': rows of text do not become items of '%s'", columns->path, column->name, dtype);
    good = good && frame_add(frame, column->name, dtype, type.size, ndim, shape);
    if (known) type_free(&type);
    free(item);
    return good;
}

static bool to_frame(const struct columns *columns, struct frame *frame) {
    frame->bare = columns->bare;
    for (size_t i = 0; i < columns->count; i++) {
        const struct named *column = &columns->items[i];
        char guessed[GUESSED];
        guess_dtype(&column->guess, guessed);
        if (!add_column(columns, column, column->dtype ? column->dtype : guessed, frame)) return false;
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
