/*
 * A batch of Arrow's IPC format: metadata that say where its buffers are, and a body with these.
 *
 * Of the body only the column's buffers are read: its offsets at once, its values in pieces.
 */
#include "arrow_batch.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Offsets of the fields that are read in the table of a batch. */
enum { BATCH_ROWS = 0, BATCH_NODES = 1, BATCH_BUFFERS = 2, BATCH_COMPRESSION = 3, BATCH_VIEWS = 4 };
/* Bytes of values that are handed over at once, and bytes by which buffers grow. */
enum { BYTES_TARGET = 4 << 20, STEP = 1 << 20 };

struct buffer {
    uint64_t at, n; /* in the body */
};

/* ---- bytes ---- */

bool arrow_fail(const struct arrow_in *a, const char *message) {
    return complain("%s: batch %" PRIu64 " at byte %" PRIu64 ": %s", a->in->name, a->batch, a->begin, message), false;
}

bool arrow_get(struct arrow_in *a, void *dst, size_t n, size_t *got) {
    size_t held = n < a->holding ? n : a->holding;
    if (held > 0) {
        memcpy(dst, a->held, held);
        memmove(a->held, a->held + held, a->holding -= held);
    }
    if (!input_read(a->in, (char *)dst + held, n - held, got)) return false;
    *got += held;
    a->position += *got;
    return true;
}

bool arrow_get_all(struct arrow_in *a, void *dst, size_t n) {
    size_t got;
    return arrow_get(a, dst, n, &got) && (got == n || arrow_fail(a, "the file is cut off in it"));
}

bool arrow_get_text(struct arrow_in *a, struct text *text, uint64_t n) {
    if (n > a->most || text->n > a->most - n) return arrow_fail(a, "it takes more memory than --memory-limit");
    while (n > 0) {
        size_t now = n < STEP ? (size_t)n : STEP;
        char *to = text_room(text, now);
        if (!to) return complain("out of memory"), false;
        if (!arrow_get_all(a, to, now)) return false;
        text->n += now;
        n -= now;
    }
    return true;
}

bool arrow_pass(struct arrow_in *a, uint64_t n) {
    static char nothing[1 << 16];
    while (n > 0) {
        size_t now = n < sizeof nothing ? (size_t)n : sizeof nothing;
        if (!arrow_get_all(a, nothing, now)) return false;
        n -= now;
    }
    return true;
}

/* Skips to an offset of the body. */
static bool pass_to(struct arrow_in *a, uint64_t at) {
    if (at < a->body) return arrow_fail(a, "its buffers are not in the order of their offsets, which is not supported");
    bool good = arrow_pass(a, at - a->body);
    a->body = at;
    return good;
}

static bool get_buffer(struct arrow_in *a, struct text *text, struct buffer buffer) {
    if (!pass_to(a, buffer.at) || !arrow_get_text(a, text, buffer.n)) return false;
    a->body += buffer.n;
    return true;
}

/* ---- values ---- */

/* Returns the offset of value i of the batch. It ends at the offset of the next one. */
static uint64_t limit(const struct arrow_in *a, uint64_t i) {
    if (a->column.values == VALUES_FIXED) return i * a->column.width;
    int width = a->column.values == VALUES_OFFSETS32 ? 4 : 8;
    struct flat flat = {(const unsigned char *)a->offsets.bytes, a->offsets.n, false};
    return flat_get(&flat, (size_t)i * (size_t)width, width);
}

static bool hand_over(struct arrow_in *a, size_t count) {
    const void *bytes = a->values.bytes ? a->values.bytes : "";
    const struct records records = {bytes, a->limits, count};
    if (a->values.failed) return complain("out of memory"), false;
    a->rows += count;
    return count == 0 || a->take(a->ctx, &records);
}

static bool fail_value(const struct arrow_in *a, uint64_t i, const char *message) {
    return complain("%s: record %" PRIu64 ", in batch %" PRIu64 " at byte %" PRIu64 ": %s", a->in->name, a->rows + i, a->batch, a->begin,
                    message), false;
}

/* As many of the values from `from` on as are handed over at once; *n are their bytes. False: their limits are wrong. */
static bool choose(const struct arrow_in *a, uint64_t from, uint64_t rows, uint64_t end, size_t *count, uint64_t *n) {
    uint64_t begin = limit(a, from), last = begin;
    for (*count = 0; *count < VALUES_MOST && from + *count < rows; ++*count) {
        uint64_t next = limit(a, from + *count + 1);
        if (next < last || next > end) return fail_value(a, *count, "its offsets are broken");
        if (*count > 0 && next - begin > BYTES_TARGET) break;
        a->limits[*count + 1] = next - begin;
        last = next;
    }
    *n = last - begin;
    return true;
}

/* Values that lie end to end. */
static bool take_run(struct arrow_in *a, uint64_t rows, struct buffer values) {
    size_t count = 0;
    uint64_t n = 0;
    for (uint64_t i = 0; i < rows; i += count) {
        uint64_t begin = limit(a, i);
        if (begin > values.n) return fail_value(a, 0, "its offsets are broken");
        if (!choose(a, i, rows, values.n, &count, &n)) return false;
        a->values.n = 0;
        if (!get_buffer(a, &a->values, (struct buffer){values.at + begin, n}) || !hand_over(a, count)) return false;
    }
    return true;
}

/* Views: a length, and either up to 12 bytes, or 4 of them and where all are. `ends`: where in `viewed` each buffer ends. */
static bool view(struct arrow_in *a, const unsigned char *at, const uint64_t *ends, uint64_t buffers, const void **bytes, size_t *n) {
    struct flat flat = {at, 16, false};
    uint64_t length = flat_get(&flat, 0, 4), number = flat_get(&flat, 8, 4), from = flat_get(&flat, 12, 4);
    *n = (size_t)length;
    *bytes = at + 4;
    if (length <= 12) return true;
    if (length > INT32_MAX || number >= buffers) return false;
    uint64_t begin = number > 0 ? ends[number - 1] : 0, size = ends[number] - begin;
    *bytes = a->viewed.bytes + begin + from;
    return from <= size && length <= size - from;
}

static bool take_views(struct arrow_in *a, uint64_t rows, const uint64_t *ends, uint64_t buffers) {
    size_t count = 0;
    a->values.n = 0;
    for (uint64_t i = 0; i < rows; i++) {
        const void *bytes;
        size_t n;
        if (!view(a, (const unsigned char *)a->offsets.bytes + 16 * i, ends, buffers, &bytes, &n)) {
            return fail_value(a, count, "what it views is not there");
        }
        text_put(&a->values, bytes, n);
        a->limits[++count] = a->values.n;
        if (count < VALUES_MOST && a->values.n < BYTES_TARGET) continue;
        if (!hand_over(a, count)) return false;
        count = 0;
        a->values.n = 0;
    }
    return hand_over(a, count);
}

/* ---- batches ---- */

/* The metadata of a batch. */
struct batch {
    struct flat *flat;
    size_t buffers, views;
    uint32_t buffer_count, view_count;
    uint64_t rows, nulls, body;
};

static struct buffer buffer_of(const struct batch *b, uint64_t i) {
    if (i >= b->buffer_count) return b->flat->broken = true, (struct buffer){0, 0};
    size_t at = b->buffers + 16 * (size_t)i;
    const struct buffer buffer = {flat_get(b->flat, at, 8), flat_get(b->flat, at + 8, 8)};
    if (buffer.at > b->body || buffer.n > b->body - buffer.at) b->flat->broken = true;
    return buffer;
}

/* Buffers that the i-th column of views views. */
static uint64_t viewed_by(const struct batch *b, uint64_t i) {
    uint64_t n = i < b->view_count ? flat_get(b->flat, b->views + 8 * (size_t)i, 8) : 0;
    if (i >= b->view_count || n > b->buffer_count) b->flat->broken = true;
    return b->flat->broken ? 0 : n;
}

static bool read_metadata(struct arrow_in *a, struct flat *flat, size_t message, struct batch *b) {
    size_t table = flat_field_table(flat, message, MESSAGE_HEADER);
    uint32_t nodes;
    *b = (struct batch){.flat = flat, .body = flat_field_number(flat, message, MESSAGE_BODY, 8)};
    if (flat_field_table(flat, table, BATCH_COMPRESSION)) {
        return arrow_fail(a, "its buffers are compressed, which is not read: write it without compression");
    }
    b->rows = flat_field_number(flat, table, BATCH_ROWS, 8);
    size_t node = flat_field_vector(flat, table, BATCH_NODES, 16, &nodes);
    b->buffers = flat_field_vector(flat, table, BATCH_BUFFERS, 16, &b->buffer_count);
    b->views = flat_field_vector(flat, table, BATCH_VIEWS, 8, &b->view_count);
    if (a->column.position.nodes >= nodes) return arrow_fail(a, "it has fewer columns than the schema");
    node += 16 * (size_t)a->column.position.nodes;
    b->nulls = flat_get(flat, node + 8, 8);
    if (flat_get(flat, node, 8) != b->rows || b->rows > INT64_MAX / 16 - 1) flat->broken = true;
    return !flat->broken || arrow_fail(a, "its metadata are broken");
}

/* A null is no record. */
static bool refuse_nulls(struct arrow_in *a, const struct batch *b, struct buffer valid) {
    if (b->nulls == 0) return true;
    a->values.n = 0;
    if (valid.n < (b->rows + 7) / 8) return arrow_fail(a, "its metadata are broken");
    if (!get_buffer(a, &a->values, valid)) return false;
    for (uint64_t i = 0; i < b->rows; i++) {
        if (!((unsigned char)a->values.bytes[i / 8] >> (i % 8) & 1)) return fail_value(a, i, "it is null, and a bag has no nulls");
    }
    return true;
}

static bool read_views(struct arrow_in *a, const struct batch *b, uint64_t first, struct buffer views) {
    uint64_t count = viewed_by(b, a->column.position.views);
    uint64_t *ends = calloc((size_t)count + 1, sizeof *ends);
    bool good = ends != NULL;
    if (!good) complain("out of memory");
    a->viewed.n = 0;
    for (uint64_t i = 0; good && i < count; i++) { /* all, before the metadata go */
        struct buffer buffer = buffer_of(b, first + 2 + i);
        good = !b->flat->broken || arrow_fail(a, "its metadata are broken");
        if (good && i == 0) good = get_buffer(a, &a->offsets, views);
        good = good && get_buffer(a, &a->viewed, buffer);
        if (good) ends[i] = a->viewed.n;
    }
    if (good && count == 0) good = get_buffer(a, &a->offsets, views);
    good = good && take_views(a, b->rows, ends, count);
    free(ends);
    return good;
}

bool arrow_batch(struct arrow_in *a, struct flat *flat, size_t message) {
    struct batch b;
    if (!read_metadata(a, flat, message, &b)) return false;
    a->body = a->offsets.n = 0;
    uint64_t first = a->column.position.buffers, width = 8;
    for (uint64_t i = 0; i < a->column.position.views && !flat->broken; i++) first += viewed_by(&b, i);
    const struct buffer valid = buffer_of(&b, first), second = buffer_of(&b, first + 1);
    bool fixed = a->column.values == VALUES_FIXED, views = a->column.values == VALUES_VIEWS;
    const struct buffer values = fixed || views ? second : buffer_of(&b, first + 2);
    if (a->column.values == VALUES_OFFSETS32) width = 4;
    uint64_t needed = fixed ? 0 : views ? 16 * b.rows : width * (b.rows + 1);
    if (b.rows > 0 && (second.n < needed || (fixed && second.n / a->column.width < b.rows))) flat->broken = true;
    if (flat->broken) return arrow_fail(a, "its metadata are broken");
    if (b.rows > 0) {
        bool good = refuse_nulls(a, &b, valid);
        if (good && !fixed && !views) good = get_buffer(a, &a->offsets, second);
        if (!good || !(views ? read_views(a, &b, first, second) : take_run(a, b.rows, values))) return false;
    }
    return pass_to(a, b.body);
}
