/*
 * FlatBuffers: offsets are 4 bytes and count from where they stand; a table begins with how far before it its list of
 * fields is.
 */
#include "flatbuffer.h"

#include <string.h>

/* Puts zeros up to an offset that is `rest` modulo 8. */
static void align(struct text *text, size_t rest) {
    while (!text->failed && text->n % 8 != rest) text_char(text, '\0');
}

static size_t leave(struct text *text, size_t n) {
    size_t at = text->n;
    char *to = text_room(text, n);
    if (!to) return 0;
    memset(to, 0, n);
    text->n += n;
    return at;
}

void flat_number(struct text *text, size_t at, uint64_t value, int bytes) {
    for (int i = 0; !text->failed && i < bytes; i++, value >>= 8) text->bytes[at + (size_t)i] = (char)value;
}

/* Bytes of the list of fields: its length, the table's, and an offset each. */
static size_t list_bytes(int count) {
    return 4 + 2 * (size_t)count;
}

size_t flat_table_at(struct text *text, int count) {
    size_t end = text->n + list_bytes(count);
    return end + (12 - end % 8) % 8; /* 4 modulo 8 */
}

size_t flat_table(struct text *text, const int64_t *values, int count, unsigned absent) {
    size_t table = flat_table_at(text, count), list = table - list_bytes(count);
    while (!text->failed && text->n < list) text_char(text, '\0');
    leave(text, list_bytes(count) + 4 + 8 * (size_t)count);
    flat_number(text, list, list_bytes(count), 2);
    flat_number(text, list + 2, 4 + 8 * (uint64_t)count, 2);
    flat_number(text, table, table - list, 4);
    for (int i = 0; i < count; i++) {
        flat_number(text, list + 4 + 2 * (size_t)i, absent >> i & 1 ? 0 : 4 + 8 * (uint64_t)i, 2);
        flat_number(text, table + 4 + 8 * (size_t)i, (uint64_t)values[i], 8);
    }
    return table + 4;
}

size_t flat_vector_at(struct text *text) {
    return text->n + (12 - text->n % 8) % 8;
}

size_t flat_vector(struct text *text, uint32_t items, size_t bytes) {
    align(text, 4);
    size_t length = leave(text, 4 + bytes);
    flat_number(text, length, items, 4);
    return length + 4;
}

void flat_string(struct text *text, const char *string) {
    flat_vector(text, (uint32_t)strlen(string), 0);
    text_put(text, string, strlen(string) + 1);
}

void flat_point(struct text *text, size_t offset, size_t to) {
    flat_number(text, offset, to - offset, 4);
}
