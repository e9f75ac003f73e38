/*
 * Finding a column.
 *
 * A batch has the buffers of all columns one after the other, a column's own before those of its children. How many there
 * are follows from the types: https://arrow.apache.org/docs/format/Columnar.html#buffer-listing-for-each-layout
 */
#include "arrow_schema.h"
#include "report.h"

#include <string.h>

/* The numbers of the types, as Schema.fbs has them. */
enum {
    NULLS = 1, BINARY = 4, UTF8 = 5, LIST = 12, STRUCT = 13, UNION = 14, FIXED_BINARY = 15, FIXED_LIST = 16, MAP = 17,
    LARGE_BINARY = 19, LARGE_UTF8 = 20, LARGE_LIST = 21, RUN_ENDS = 22, BINARY_VIEW = 23, UTF8_VIEW = 24, LIST_VIEW = 25,
    LARGE_LIST_VIEW = 26,
};
/* Offsets of the fields that are read in their tables. */
enum { FIELD_NAME = 0, FIELD_KIND = 2, FIELD_TYPE = 3, FIELD_DICTIONARY = 4, FIELD_CHILDREN = 5, SCHEMA_ENDIANNESS = 0, SCHEMA_FIELDS = 1 };
/* Types in types that are followed, and columns with their parts: what points to itself never ends. */
enum { DEPTH = 64, NODES_MOST = 1 << 20 };

static uint64_t buffers_of(struct flat *flat, size_t field, uint64_t type) {
    switch (type) {
    case NULLS: case RUN_ENDS: return 0;
    case STRUCT: case FIXED_LIST: return 1;
    case UNION: return flat_field_number(flat, flat_field_table(flat, field, FIELD_TYPE), 0, 2) == 1 ? 2 : 1; /* dense: 1 */
    case BINARY: case UTF8: case LARGE_BINARY: case LARGE_UTF8: case LIST_VIEW: case LARGE_LIST_VIEW: return 3;
    default: return 2; /* numbers and times, lists, and views without what they view */
    }
}

/* Adds what a field has in a batch, with its children. */
static void pass(struct flat *flat, size_t field, struct arrow_position *position, int depth) {
    uint64_t type = flat_field_number(flat, field, FIELD_KIND, 1);
    position->nodes++;
    if (flat_field_table(flat, field, FIELD_DICTIONARY)) {
        position->buffers += 2; /* the numbers of its values */
        return;
    }
    position->buffers += buffers_of(flat, field, type);
    position->views += type == BINARY_VIEW || type == UTF8_VIEW;
    uint32_t count;
    size_t children = flat_field_vector(flat, field, FIELD_CHILDREN, 4, &count);
    if ((count > 0 && depth == DEPTH) || position->nodes > NODES_MOST) flat->broken = true;
    for (uint32_t i = 0; i < count && !flat->broken; i++) pass(flat, flat_follow(flat, children + 4 * (size_t)i), position, depth + 1);
}

static enum arrow_values values_of(struct flat *flat, size_t field, uint64_t *width) {
    if (flat_field_table(flat, field, FIELD_DICTIONARY)) return VALUES_NONE;
    switch (flat_field_number(flat, field, FIELD_KIND, 1)) {
    case BINARY: case UTF8: return VALUES_OFFSETS32;
    case LARGE_BINARY: case LARGE_UTF8: return VALUES_OFFSETS64;
    case BINARY_VIEW: case UTF8_VIEW: return VALUES_VIEWS;
    case FIXED_BINARY:
        *width = flat_field_number(flat, flat_field_table(flat, field, FIELD_TYPE), 0, 4);
        return *width > 0 && *width <= INT32_MAX ? VALUES_FIXED : VALUES_NONE;
    default: return VALUES_NONE;
    }
}

static bool is_named(struct flat *flat, size_t field, const char *name) {
    uint32_t n;
    size_t at = flat_field_vector(flat, field, FIELD_NAME, 1, &n);
    return at ? n == strlen(name) && memcmp(flat->bytes + at, name, n) == 0 : *name == '\0';
}

bool arrow_find_column(struct flat *flat, size_t schema, const char *name, const char *path, struct arrow_column *column) {
    uint32_t count;
    unsigned found = 0, named = 0;
    struct arrow_position position = {0, 0, 0};
    if (flat_field_number(flat, schema, SCHEMA_ENDIANNESS, 2) != 0) {
        return complain("%s: its numbers are big-endian, which is not read", path), false;
    }
    size_t fields = flat_field_vector(flat, schema, SCHEMA_FIELDS, 4, &count);
    for (uint32_t i = 0; i < count && !flat->broken; i++) {
        size_t field = flat_follow(flat, fields + 4 * (size_t)i);
        struct arrow_column here = {.position = position};
        here.values = values_of(flat, field, &here.width);
        bool requested = !name || is_named(flat, field, name);
        named += requested;
        if (requested && here.values != VALUES_NONE && found++ == 0) *column = here;
        pass(flat, field, &position, 0);
    }
    if (flat->broken) return complain("%s: its schema is broken", path), false;
    if (found == 1) return true;
    if (!name && found == 0) {
        complain("%s: no column has text or bytes", path);
    } else if (!name) {
        complain("%s: %u columns have text or bytes: --columns X says which becomes the records", path, found);
    } else if (found > 1) {
        complain("%s: column '%s' is there %u times", path, name, found);
    } else if (named > 0) {
        complain("%s: column '%s' has no text or bytes, or has a dictionary, which is not read", path, name);
    } else {
        complain("%s: there is no column '%s'", path, name);
    }
    return false;
}
