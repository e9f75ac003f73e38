/*
 * Reading FlatBuffers.
 */
#include "flat_read.h"

uint64_t flat_get(struct flat *flat, size_t at, int bytes) {
    uint64_t value = 0;
    if (at > flat->n || flat->n - at < (size_t)bytes) return flat->broken = true, 0;
    while (bytes-- > 0) value = value << 8 | flat->bytes[at + (size_t)bytes];
    return value;
}

size_t flat_follow(struct flat *flat, size_t at) {
    if (at == 0) return 0;
    uint64_t to = at + flat_get(flat, at, 4);
    if (to == at || to > flat->n) flat->broken = true;
    return flat->broken ? 0 : (size_t)to;
}

size_t flat_root(struct flat *flat) {
    uint64_t to = flat_get(flat, 0, 4);
    if (to == 0 || to > flat->n) flat->broken = true;
    return flat->broken ? 0 : (size_t)to;
}

/* A table begins with the signed distance to its list of fields: the list's length, the table's, and an offset in
 * the table for each. */
size_t flat_field(struct flat *flat, size_t table, int field) {
    if (table == 0) return 0;
    int64_t list = (int64_t)table - (int32_t)(uint32_t)flat_get(flat, table, 4);
    if (list < 0 || flat->broken) return flat->broken = true, 0;
    size_t entry = 4 + 2 * (size_t)field;
    if (entry + 2 > flat_get(flat, (size_t)list, 2)) return 0;
    uint64_t offset = flat_get(flat, (size_t)list + entry, 2);
    return offset == 0 || flat->broken ? 0 : table + (size_t)offset;
}

uint64_t flat_field_number(struct flat *flat, size_t table, int field, int bytes) {
    size_t at = flat_field(flat, table, field);
    return at == 0 ? 0 : flat_get(flat, at, bytes);
}

size_t flat_field_table(struct flat *flat, size_t table, int field) {
    return flat_follow(flat, flat_field(flat, table, field));
}

size_t flat_field_vector(struct flat *flat, size_t table, int field, size_t size, uint32_t *count) {
    *count = 0;
    size_t at = flat_field_table(flat, table, field);
    if (at == 0) return 0;
    uint64_t n = flat_get(flat, at, 4);
    if (flat->broken || n > (flat->n - at - 4) / size) return flat->broken = true, 0;
    *count = (uint32_t)n;
    return at + 4;
}
