/*
 * FlatBuffers, as Arrow's messages are made of them: tables and vectors that point to each other.
 *
 * They are written from front to back: first the table, then what it points to. Each field has 8 bytes: what is saved by
 * less is nothing beside the rows.
 */
#ifndef FLATBUFFER_H
#define FLATBUFFER_H

#include "text.h"

#include <stdint.h>

/* Puts a table of so many fields with these numbers in them; bit i of `absent`: it has no field i. Returns the offset of
 * field 0, to which 8 * i is added for others. */
size_t flat_table(struct text *text, const int64_t *values, int count, unsigned absent);
/* Puts a vector's length, and leaves so many bytes for its items, which begin at a multiple of 8. Returns their offset. */
size_t flat_vector(struct text *text, uint32_t items, size_t bytes);
void flat_string(struct text *text, const char *string);
/* Makes the field, or item, at `offset` point to `to`. */
void flat_point(struct text *text, size_t offset, size_t to);
/* Returns the offset at which the next table, vector or string will begin. */
size_t flat_table_at(struct text *text, int count);
size_t flat_vector_at(struct text *text);

/* A little-endian number of so many bytes. */
void flat_number(struct text *text, size_t at, uint64_t value, int bytes);

#endif
