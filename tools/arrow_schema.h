/*
 * The schema of an Arrow stream: where in each batch the buffers of a column are.
 */
#ifndef ARROW_SCHEMA_H
#define ARROW_SCHEMA_H

#include "flat_read.h"

/* How the values of a column are stored. */
enum arrow_values { VALUES_NONE, VALUES_OFFSETS32, VALUES_OFFSETS64, VALUES_VIEWS, VALUES_FIXED };

/* Numbers of arrays, buffers, and views with buffers of their own before the column in a batch. */
struct arrow_position {
    uint64_t nodes, buffers, views;
};

struct arrow_column {
    struct arrow_position position;
    enum arrow_values values;
    uint64_t width; /* of VALUES_FIXED */
};

/* Finds a column in a schema (`name` NULL: the only one with text or bytes). Reports errors with `path`. */
bool arrow_find_column(struct flat *flat, size_t schema, const char *name, const char *path, struct arrow_column *column);

#endif
