/*
 * Reading FlatBuffers that others made: nothing in them is believed. Whatever leads out of the bytes is `broken`, and reads as
 * absent.
 */
#ifndef FLAT_READ_H
#define FLAT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flat {
    const unsigned char *bytes;
    size_t n;
    bool broken;
};

/* A little-endian number of so many bytes. */
uint64_t flat_get(struct flat *flat, size_t at, int bytes);

/* The offsets of the root, of a table's field (0: it has none), and of what a field points to (0: there is none). */
size_t flat_root(struct flat *flat);
size_t flat_field(struct flat *flat, size_t table, int field);
size_t flat_follow(struct flat *flat, size_t at);

/* A number in a field; that it is not there means 0. */
uint64_t flat_field_number(struct flat *flat, size_t table, int field, int bytes);
/* The table, or the items of `size` bytes, that a field points to; 0: there are none. */
size_t flat_field_table(struct flat *flat, size_t table, int field);
size_t flat_field_vector(struct flat *flat, size_t table, int field, size_t size, uint32_t *count);

#endif
