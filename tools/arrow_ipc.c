/*
 * Writes Arrow's IPC format: a message with the schema, a message and its buffers per batch, and an end mark. A file is
 * a stream between two magic strings, with a footer that has the offsets of the batches.
 * https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc
 */
#include "arrow.h"
#include "flatbuffer.h"
#include "report.h"
#include "signals.h"

#include <stdlib.h>
#include <string.h>

/* Buffers begin at multiples of this. */
enum { ALIGNMENT = 64 };
/* Magic strings at the end and the start of a file. */
#define FILE_MARK "ARROW1"
#define FILE_HEAD FILE_MARK "\0\0"
/* The numbers of the formats: of the version, of kinds of messages, and of types. */
enum { VERSION_5 = 4, SCHEMA = 1, RECORD_BATCH = 3 };
enum {
    INT = 2, FLOATING = 3, BINARY = 4, UTF8 = 5, BOOL = 6, DATE = 8, TIMESTAMP = 10, INTERVAL = 11, STRUCT = 13,
    FIXED_BINARY = 15, FIXED_LIST = 16, DURATION = 18, LARGE_BINARY = 19, LARGE_UTF8 = 20,
};

/* A type as a format of the C interface says it. */
struct arrow_type {
    int type, count;
    int64_t values[2]; /* of its `count` fields, 2 of an int: bits, and has it a sign? */
    const char *zone;  /* of a timestamp that has one */
    int width;         /* bits of an item in its second buffer; 0: it has none, or offsets */
};

/* ---- types ---- */

static bool read_type(const char *format, struct arrow_type *type) {
    static const char units[] = "smun";
    static const struct {
        const char *format;
        struct arrow_type type;
    } known[] = {
        {"b", {BOOL, 0, {0}, NULL, 1}},          {"c", {INT, 2, {8, 1}, NULL, 8}},     {"C", {INT, 2, {8, 0}, NULL, 8}},
        {"s", {INT, 2, {16, 1}, NULL, 16}},      {"S", {INT, 2, {16, 0}, NULL, 16}},   {"i", {INT, 2, {32, 1}, NULL, 32}},
        {"I", {INT, 2, {32, 0}, NULL, 32}},      {"l", {INT, 2, {64, 1}, NULL, 64}},   {"L", {INT, 2, {64, 0}, NULL, 64}},
        {"e", {FLOATING, 1, {0}, NULL, 16}},     {"f", {FLOATING, 1, {1}, NULL, 32}},  {"g", {FLOATING, 1, {2}, NULL, 64}},
        {"z", {BINARY, 0, {0}, NULL, 0}},        {"u", {UTF8, 0, {0}, NULL, 0}},       {"Z", {LARGE_BINARY, 0, {0}, NULL, 0}},
        {"U", {LARGE_UTF8, 0, {0}, NULL, 0}},    {"tdD", {DATE, 1, {0}, NULL, 32}},    {"tdm", {DATE, 1, {1}, NULL, 64}},
        {"tiM", {INTERVAL, 1, {0}, NULL, 32}},   {"+s", {STRUCT, 0, {0}, NULL, 0}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].format, format) == 0) return *type = known[i].type, true;
    }
    bool stamp = strncmp(format, "ts", 2) == 0, span = strncmp(format, "tD", 2) == 0;
    if (stamp || span) {
        const char *unit = format[2] ? strchr(units, format[2]) : NULL;
        *type = (struct arrow_type){stamp ? TIMESTAMP : DURATION, 1, {unit ? unit - units : 0}, NULL, 64};
        if (stamp && format[3] == ':' && format[4]) type->zone = format + 4;
        return unit != NULL;
    }
    bool list = strncmp(format, "+w:", 3) == 0, bytes = strncmp(format, "w:", 2) == 0;
    long count = list || bytes ? strtol(strchr(format, ':') + 1, NULL, 10) : -1;
    *type = (struct arrow_type){list ? FIXED_LIST : FIXED_BINARY, 1, {count}, NULL, list ? 0 : 8 * (int)count};
    return count >= 0;
}

/* ---- the schema ---- */

static bool put_field(struct text *text, const struct ArrowSchema *schema);

static bool put_fields(struct text *text, size_t offset, struct ArrowSchema *const *fields, uint32_t count) {
    flat_point(text, offset, flat_vector_at(text));
    size_t items = flat_vector(text, count, 4 * (size_t)count);
    bool good = true;
    for (uint32_t i = 0; good && i < count; i++) {
        flat_point(text, items + 4 * i, flat_table_at(text, 6));
        good = put_field(text, fields[i]);
    }
    return good;
}

static bool put_field(struct text *text, const struct ArrowSchema *schema) {
    struct arrow_type type;
    if (!read_type(schema->format, &type) || schema->dictionary) {
        return complain("column '%s': --format arrow cannot represent this type, %s", schema->name ? schema->name : "", schema->format), false;
    }
    /* name, nullable, kind of type, type, dictionary, children */
    const int64_t values[6] = {0, schema->flags >> 1 & 1, type.type, 0, 0, 0};
    size_t field = flat_table(text, values, 6, 1 << 4);
    flat_point(text, field, flat_vector_at(text));
    flat_string(text, schema->name ? schema->name : "");
    int count = type.type == TIMESTAMP && type.zone ? 2 : type.count;
    flat_point(text, field + 24, flat_table_at(text, count));
    size_t of = flat_table(text, type.values, count, 0);
    if (type.zone) {
        flat_point(text, of + 8, flat_vector_at(text));
        flat_string(text, type.zone);
    }
    return put_fields(text, field + 40, schema->children, (uint32_t)schema->n_children);
}

/* ---- messages ---- */

/* Begins one: its table, which points to that of `fields` fields that comes next. */
static void begin_message(struct text *text, int kind, int fields) {
    const int64_t values[4] = {VERSION_5, kind, 0, 0};
    text->n = 0;
    text_put(text, "\xff\xff\xff\xff\0\0\0\0" "\0\0\0\0\0\0\0\0", 16); /* the flat buffer begins at 8 */
    flat_point(text, 8, flat_table_at(text, 4));
    size_t message = flat_table(text, values, 4, 0);
    flat_point(text, message + 16, flat_table_at(text, fields));
}

/* Ends its metadata; `body` bytes follow. */
static bool end_message(struct text *text, uint64_t body) {
    while (!text->failed && text->n % 8) text_char(text, '\0');
    if (text->failed) return complain("out of memory"), false;
    size_t message = 8 + (unsigned char)text->bytes[8]; /* the first table is near */
    flat_number(text, 4, text->n - 8, 4);
    flat_number(text, message + 4 + 24, body, 8);
    return put_bytes(text->bytes, text->n);
}

/* The table of a schema, which comes next. */
static bool put_schema(struct text *text, const struct ArrowSchema *schema, const uint32_t *columns, uint32_t count) {
    struct ArrowSchema **fields = calloc((size_t)count + 1, sizeof(struct ArrowSchema *));
    if (!fields) return complain("out of memory"), false;
    for (uint32_t i = 0; i < count; i++) fields[i] = schema->children[columns[i]];
    const int64_t values[2] = {0, 0}; /* little-endian; its fields */
    size_t table = flat_table(text, values, 2, 0);
    bool good = put_fields(text, table + 8, fields, count);
    free(fields);
    return good;
}

static bool print_schema(struct text *text, const struct ArrowSchema *schema, const uint32_t *columns, uint32_t count) {
    begin_message(text, SCHEMA, 2);
    return put_schema(text, schema, columns, count) && end_message(text, 0);
}

/* ---- batches ---- */

/* The parts of a batch, column by column, each before its children. */
struct batch {
    struct text nodes, buffers; /* as the message has them: pairs of numbers of 8 bytes */
    const void **bytes;         /* where the buffers are */
    size_t *sizes, count;
    uint64_t body;
};

static void add_pair(struct text *text, uint64_t one, uint64_t other) {
    size_t at = text->n;
    text_put(text, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    flat_number(text, at, one, 8);
    flat_number(text, at + 8, other, 8);
}

static uint64_t padded(uint64_t n) {
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool add_buffer(struct batch *batch, const void *bytes, uint64_t n) {
    const void **buffers = realloc(batch->bytes, (batch->count + 1) * sizeof *buffers);
    if (buffers) batch->bytes = buffers;
    size_t *sizes = buffers ? realloc(batch->sizes, (batch->count + 1) * sizeof *sizes) : NULL;
    if (!sizes) return complain("out of memory"), false;
    batch->sizes = sizes;
    buffers[batch->count] = bytes;
    sizes[batch->count++] = (size_t)n;
    add_pair(&batch->buffers, batch->body, n);
    batch->body += padded(n);
    return true;
}

/* The buffers of text or bytes: offsets, and what they lead to. */
static bool add_variable(struct batch *batch, const struct ArrowArray *array, bool large) {
    static const int64_t none = 0;
    const void *offsets = array->buffers[1] ? array->buffers[1] : &none;
    int64_t rows = array->buffers[1] ? array->length : 0;
    uint64_t end = large ? (uint64_t)((const int64_t *)offsets)[rows] : (uint64_t)((const int32_t *)offsets)[rows];
    return add_buffer(batch, offsets, ((uint64_t)rows + 1) * (large ? 8 : 4)) && add_buffer(batch, array->buffers[2], end);
}

static bool add_array(struct batch *batch, const struct ArrowSchema *schema, const struct ArrowArray *array) {
    struct arrow_type type;
    uint64_t rows = (uint64_t)array->length;
    if (!read_type(schema->format, &type) || array->offset != 0) {
        return complain("column '%s': --format arrow cannot represent an array like this", schema->name ? schema->name : ""), false;
    }
    bool nulls = array->null_count != 0 && array->buffers[0];
    bool large = type.type == LARGE_BINARY || type.type == LARGE_UTF8;
    add_pair(&batch->nodes, rows, nulls ? (uint64_t)array->null_count : 0);
    bool good = add_buffer(batch, nulls ? array->buffers[0] : NULL, nulls ? (rows + 7) / 8 : 0);
    if (large || type.type == BINARY || type.type == UTF8) {
        good = good && add_variable(batch, array, large);
    } else if (type.type != STRUCT && type.type != FIXED_LIST) {
        good = good && add_buffer(batch, array->buffers[1], (rows * (uint64_t)type.width + 7) / 8);
    }
    for (int64_t i = 0; good && i < array->n_children; i++) good = add_array(batch, schema->children[i], array->children[i]);
    return good;
}

static bool print_body(const struct batch *batch) {
    static const char zeros[ALIGNMENT];
    bool good = true;
    for (size_t i = 0; good && i < batch->count; i++) {
        good = put_bytes(batch->bytes[i], batch->sizes[i]) && put_bytes(zeros, (size_t)(padded(batch->sizes[i]) - batch->sizes[i]));
    }
    return good;
}

/* Prints one; *body is the number of bytes after its metadata. */
static bool print_batch(struct text *text, const struct ArrowSchema *schema, const struct ArrowArray *array,
                        const uint32_t *columns, uint32_t count, uint64_t *body) {
    struct batch batch = {.bytes = NULL};
    bool good = true;
    for (uint32_t i = 0; good && i < count; i++) good = add_array(&batch, schema->children[columns[i]], array->children[columns[i]]);
    begin_message(text, RECORD_BATCH, 3);
    const int64_t values[3] = {array->length, 0, 0};
    size_t table = flat_table(text, values, 3, 0);
    const struct text *vectors[] = {&batch.nodes, &batch.buffers};
    for (size_t i = 0; good && i < 2; i++) {
        flat_point(text, table + 8 + 8 * i, flat_vector_at(text));
        flat_vector(text, (uint32_t)(vectors[i]->n / 16), 0);
        text_put(text, vectors[i]->bytes, vectors[i]->n);
        text->failed |= vectors[i]->failed;
    }
    good = good && end_message(text, batch.body) && print_body(&batch);
    *body = batch.body;
    text_free(&batch.nodes);
    text_free(&batch.buffers);
    free(batch.bytes);
    free(batch.sizes);
    return good;
}

/* ---- the stream ---- */

static bool fail(struct ArrowArrayStream *stream, const char *path) {
    const char *message = stream->get_last_error(stream);
    return complain("%s: %s", path, message ? message : "the stream failed"), false;
}

/* Blocks of the footer of a file, one per batch: offset, bytes of metadata, bytes of body. */
struct blocks {
    struct text list;
    uint64_t offset;
    uint32_t count;
};

static void add_block(struct blocks *blocks, uint64_t metadata, uint64_t body) {
    add_pair(&blocks->list, blocks->offset, metadata);
    size_t at = blocks->list.n;
    text_put(&blocks->list, "\0\0\0\0\0\0\0", 8);
    flat_number(&blocks->list, at, body, 8);
    blocks->offset += metadata + body;
    blocks->count++;
}

static bool print_footer(struct text *text, const struct ArrowSchema *schema, const uint32_t *columns, uint32_t count,
                         const struct blocks *blocks) {
    const int64_t values[4] = {VERSION_5, 0, 0, 0}; /* schema, dictionaries, batches */
    text->n = 0;
    text_put(text, "\0\0\0\0\0\0\0", 8);
    flat_point(text, 0, flat_table_at(text, 4));
    size_t table = flat_table(text, values, 4, 1 << 2);
    flat_point(text, table + 24, flat_vector_at(text));
    flat_vector(text, blocks->count, 0);
    text_put(text, blocks->list.bytes, blocks->list.n);
    flat_point(text, table + 8, flat_table_at(text, 2));
    bool good = put_schema(text, schema, columns, count);
    size_t n = text->n;
    text_put(text, "\0\0\0\0" FILE_MARK, 4 + sizeof FILE_MARK - 1);
    flat_number(text, n, n, 4);
    if (text->failed || blocks->list.failed) return complain("out of memory"), false;
    return good && put_bytes(text->bytes, text->n);
}

static bool print_batches(struct text *text, struct ArrowArrayStream *stream, const char *path, const struct ArrowSchema *schema,
                          const uint32_t *columns, uint32_t count, struct blocks *blocks) {
    struct ArrowArray array;
    for (;;) {
        uint64_t body;
        if (stream->get_next(stream, &array) != 0) return fail(stream, path);
        if (!array.release) return true;
        bool good = print_batch(text, schema, &array, columns, count, &body);
        array.release(&array);
        if (!good || stopped) return false;
        add_block(blocks, text->n, body);
    }
}

bool arrow_print(struct ArrowArrayStream *stream, const char *path, const uint32_t *columns, uint32_t count, bool file) {
    struct text text = {.bytes = NULL};
    struct blocks blocks = {.offset = sizeof FILE_HEAD - 1};
    struct ArrowSchema schema;
    if (stream->get_schema(stream, &schema) != 0) return fail(stream, path);
    bool good = (!file || put_bytes(FILE_HEAD, sizeof FILE_HEAD - 1)) && print_schema(&text, &schema, columns, count);
    blocks.offset += text.n;
    good = good && print_batches(&text, stream, path, &schema, columns, count, &blocks) && put_bytes("\xff\xff\xff\xff\0\0\0\0", 8) &&
           (!file || print_footer(&text, &schema, columns, count, &blocks));
    schema.release(&schema);
    text_free(&text);
    text_free(&blocks.list);
    return good;
}
