/*
 * Types are spelled as a name ("<f8", "float64", "<M8[25s]"), as a list of fields ("[('a', '<i4', (2,)), ...]"), or as
 * a pair of a type and a shape. The library has judged them before: what is not understood here only prints worse.
 */
#include "type.h"
#include "report.h"
#include "text.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

/* Deeper nesting than this is not understood. */
enum { DEPTH = 32 };

/* The unread rest of the text. */
struct cursor {
    const char *at;
    int depth;
};

/* ---- names ---- */

static const struct {
    const char *name, *code;
} names[] = {
    {"bool", "b1"},     {"?", "b1"},        {"int8", "i1"},     {"int16", "i2"},   {"int32", "i4"},      {"int64", "i8"},
    {"uint8", "u1"},    {"uint16", "u2"},   {"uint32", "u4"},   {"uint64", "u8"},  {"float16", "f2"},    {"float32", "f4"},
    {"float64", "f8"},  {"float128", "f16"}, {"complex64", "c8"}, {"complex128", "c16"}, {"object", "O"}, {"datetime64", "M8"},
    {"timedelta64", "m8"}, {"int", "i8"},   {"float", "f8"},    {"complex", "c16"}, {"float80", "f16"},
};

/* The text in the brackets of a time: "25s". */
static bool parse_unit(struct type *type, const char *at, const char *end) {
    type->many = 1;
    if (at == end) return true;
    if (*at++ != '[' || end[-1] != ']') return false;
    int64_t many = 0;
    for (; *at >= '0' && *at <= '9' && many < 1000000000; at++) many = many * 10 + (*at - '0');
    if (many > 0) type->many = many;
    size_t n = (size_t)(end - 1 - at);
    if (n >= sizeof type->unit) return false;
    memcpy(type->unit, at, n);
    type->unit[n] = '\0';
    if (strcmp(type->unit, "generic") == 0) type->unit[0] = '\0';
    return true;
}

/* A letter, a number, and a unit. */
static bool parse_code(struct type *type, const char *code, const char *end) {
    char kind = *code == 'a' ? 'S' : *code;
    size_t n = 0;
    if (code == end || !strchr("biufcSUVMmO", kind)) return false;
    for (code++; code < end && *code >= '0' && *code <= '9' && n < 1u << 30; code++) n = n * 10 + (size_t)(*code - '0');
    type->kind = kind;
    type->size = kind == 'U' ? 4 * n : kind == 'O' ? 8 : n;
    if (kind == 'M' || kind == 'm') {
        type->size = 8;
        return (n == 0 || n == 8) && parse_unit(type, code, end);
    }
    bool fits = strchr("SUVO", kind) != NULL;
    const size_t sizes[] = {1, 2, 4, 8, 12, 16, 24, 32};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) fits |= n == sizes[i];
    return fits && code == end;
}

static bool parse_name(struct type *type, const char *at, size_t length) {
    const char *end = at + length, *bracket = memchr(at, '[', length);
    size_t n = bracket ? (size_t)(bracket - at) : length;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) != n || memcmp(names[i].name, at, n) != 0) continue;
        const char *code = names[i].code;
        if (!parse_code(type, code, code + strlen(code))) return false;
        return !bracket || ((type->kind == 'M' || type->kind == 'm') && parse_unit(type, bracket, end));
    }
    bool big = length > 0 && *at == '>';
    if (length > 0 && strchr("<>=|", *at)) at++;
    if (!parse_code(type, at, end)) return false;
    type->big_endian = big && type->size > 1 && !strchr("SVO", type->kind);
    return true;
}

/* ---- constants of Python's ---- */

/* Skips spaces. Returns whether text is left. */
static bool skip_space(struct cursor *c) {
    while (*c->at == ' ' || *c->at == '\n') c->at++;
    return *c->at != '\0';
}

static bool next_is(struct cursor *c, char expected) {
    if (!skip_space(c) || *c->at != expected) return false;
    c->at++;
    return true;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One character of a string, escaped or not. */
static bool parse_character(struct cursor *c, struct text *text) {
    if (*c->at != '\\') return text_char(text, *c->at++), true;
    char kind = *++c->at;
    int digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    if (kind == '\0') return false;
    c->at++;
    if (digits == 0) return text_char(text, kind == 'n' ? '\n' : kind == 't' ? '\t' : kind == 'r' ? '\r' : kind), true;
    uint32_t code = 0;
    for (; digits > 0; digits--, c->at++) {
        if (hex_digit(*c->at) < 0) return false;
        code = code << 4 | (uint32_t)hex_digit(*c->at);
    }
    char utf8[4];
    text_put(text, utf8, utf8_put(utf8, code));
    return true;
}

/* A string, to be freed by the caller; NULL: there is none. */
static char *parse_string(struct cursor *c) {
    struct text text = {.bytes = NULL};
    while (*c->at == ' ') c->at++;
    if ((*c->at == 'u' || *c->at == 'b') && (c->at[1] == '\'' || c->at[1] == '"')) c->at++;
    char quote = *c->at;
    bool good = quote == '\'' || quote == '"';
    if (good) c->at++;
    while (good && *c->at != quote) good = *c->at != '\0' && parse_character(c, &text);
    if (good) {
        c->at++;
        return text_take(&text);
    }
    text_free(&text);
    return NULL;
}

/* "3", "(3,)" or "(2, 3)". */
static bool parse_shape(struct cursor *c, uint64_t *shape, uint32_t *ndim) {
    bool tuple = next_is(c, '(');
    for (*ndim = 0; *ndim < HOLDALL_MAX_NDIM; ++*ndim) {
        while (*c->at == ' ') c->at++;
        if (tuple && *c->at == ')') break;
        char *end;
        if (*c->at < '0' || *c->at > '9') return false;
        shape[*ndim] = strtoull(c->at, &end, 10);
        c->at = *end == 'L' ? end + 1 : end;
        if (!tuple) return ++*ndim, true;
        if (!next_is(c, ',')) {
            ++*ndim;
            break;
        }
    }
    return next_is(c, ')');
}

static bool parse_type(struct type *type, struct cursor *c);

/* A name, or a pair of a title and a name. */
static char *parse_field_name(struct cursor *c) {
    if (!next_is(c, '(')) return parse_string(c);
    char *title = parse_string(c);
    free(title);
    char *name = title && next_is(c, ',') ? parse_string(c) : NULL;
    if (name && next_is(c, ')')) return name;
    free(name);
    return NULL;
}

/* Returns the parsed text of a type, without quotes around a name; with a shape, a pair. The caller frees it. */
static char *spelling(const char *from, const char *to, bool pair) {
    struct text text = {.bytes = NULL};
    bool quoted = !pair && (*from == '\'' || *from == '"');
    if (pair) text_char(&text, '(');
    text_put(&text, from + quoted, (size_t)(to - from) - 2 * quoted);
    if (pair) text_char(&text, ')');
    return text_take(&text);
}

static bool parse_field(struct field *field, struct cursor *c) {
    uint64_t shape[HOLDALL_MAX_NDIM];
    uint32_t ndim = 0;
    if (!next_is(c, '(') || !(field->name = parse_field_name(c))) return false;
    if (!next_is(c, ',') || !skip_space(c)) return false;
    const char *from = c->at;
    if (!parse_type(&field->type, c)) return false;
    const char *to = c->at;
    if (next_is(c, ',') && *c->at != ')') {
        if (!parse_shape(c, shape, &ndim)) return false;
        to = c->at;
    }
    field->dtype = spelling(from, to, ndim > 0);
    return field->dtype && next_is(c, ')') && type_nest(&field->type, ndim, shape);
}

static bool parse_fields(struct type *type, struct cursor *c) {
    type->kind = '{';
    for (;;) {
        if (next_is(c, ']')) return true;
        struct field *larger = realloc(type->fields, (type->count + 1) * sizeof *larger);
        if (!larger) return false;
        type->fields = larger;
        struct field *field = &larger[type->count++];
        *field = (struct field){.offset = type->size};
        if (!parse_field(field, c)) return false;
        type->size += field->type.size;
        if (!next_is(c, ',')) return next_is(c, ']');
    }
}

static bool parse_pair(struct type *type, struct cursor *c) {
    uint64_t shape[HOLDALL_MAX_NDIM];
    uint32_t ndim = 0;
    return parse_type(type, c) && next_is(c, ',') && parse_shape(c, shape, &ndim) && next_is(c, ')') &&
           type_nest(type, ndim, shape);
}

static bool parse_type(struct type *type, struct cursor *c) {
    if (c->depth == DEPTH) return false;
    c->depth++;
    bool good;
    if (next_is(c, '[')) {
        good = parse_fields(type, c);
    } else if (next_is(c, '(')) {
        good = parse_pair(type, c);
    } else {
        char *name = parse_string(c);
        good = name && parse_name(type, name, strlen(name));
        free(name);
    }
    c->depth--;
    return good;
}

/* ---- the whole ---- */

bool type_read(struct type *type, const char *dtype) {
    struct cursor c = {dtype, 0};
    *type = (struct type){.many = 1};
    bool constant = dtype[0] == '[' || strpbrk(dtype, "('\"{");
    bool good = constant ? parse_type(type, &c) && *c.at == '\0' : parse_name(type, dtype, strlen(dtype));
    if (!good) type_free(type);
    return good;
}

void type_split(const char *dtype, char **item, uint32_t *ndim, uint64_t shape[HOLDALL_MAX_NDIM]) {
    struct cursor c = {dtype, 0};
    struct type type = {.many = 1};
    *item = NULL;
    *ndim = 0;
    if (next_is(&c, '(') && skip_space(&c)) {
        const char *from = c.at;
        if (parse_type(&type, &c)) *item = spelling(from, c.at, false);
        type_free(&type);
        if (*item && next_is(&c, ',') && parse_shape(&c, shape, ndim) && next_is(&c, ')') && *c.at == '\0') return;
        free(*item);
        *item = NULL;
    } else if (type_read(&type, dtype)) {
        type_free(&type);
        *item = spelling(dtype, dtype + strlen(dtype), false);
    }
}

bool type_parse(struct type *type, const char *dtype, size_t itemsize) {
    if (type_read(type, dtype) && (type->size == itemsize || type->kind == 'O')) return true;
    type_free(type);
    *type = (struct type){.kind = 'V', .size = itemsize, .many = 1};
    return true;
}

bool type_nest(struct type *type, uint32_t ndim, const uint64_t *shape) {
    for (uint32_t d = ndim; d-- > 0;) {
        struct type *of = malloc(sizeof *of);
        if (!of || (shape[d] > 0 && type->size > SIZE_MAX / shape[d])) {
            free(of);
            return complain("out of memory"), false;
        }
        *of = *type;
        *type = (struct type){.kind = '[', .size = of->size * (size_t)shape[d], .count = (size_t)shape[d], .of = of, .many = 1};
    }
    return true;
}

bool type_equal(const struct type *one, const struct type *other) {
    if (one->kind != other->kind || one->size != other->size || one->count != other->count) return false;
    if (one->big_endian != other->big_endian || one->many != other->many || strcmp(one->unit, other->unit) != 0) return false;
    if (one->kind == '[') return type_equal(one->of, other->of);
    for (size_t i = 0; one->kind == '{' && i < one->count; i++) {
        const struct field *a = &one->fields[i], *b = &other->fields[i];
        if (strcmp(a->name, b->name) != 0 || a->offset != b->offset || !type_equal(&a->type, &b->type)) return false;
    }
    return true;
}

bool type_has_objects(const struct type *type) {
    bool found = type->kind == 'O' || (type->kind == '[' && type_has_objects(type->of));
    for (size_t i = 0; type->kind == '{' && i < type->count; i++) found |= type_has_objects(&type->fields[i].type);
    return found;
}

void type_free(struct type *type) {
    if (type->of) type_free(type->of);
    free(type->of);
    for (size_t i = 0; type->fields && i < type->count; i++) {
        free(type->fields[i].name);
        free(type->fields[i].dtype);
        type_free(&type->fields[i].type);
    }
    free(type->fields);
    *type = (struct type){.many = 1};
}
