/*
 * Where rows of a frame go: a new table or array, or one that is there.
 *
 * Nothing is durable or visible before the commit. These functions report errors on stderr before they return.
 */
#ifndef TARGET_H
#define TARGET_H

#include "frame.h"
#include "text.h"

struct target {
    const char *path;
    /* one of these is open */
    holdall_table *table;
    holdall_array *array;
    struct text packed; /* rows end to end */
    const void **columns;
    size_t *sizes, *order; /* `order`: which column of the frame each column of the table is */
    uint64_t rows;
};

/* Makes what the columns of a frame are: a table, or an array where they are that, or where the format has no tables
 * (its items then have fields). `rows` are going to come. */
bool target_create(struct target *target, const struct frame *frame, const char *path, holdall_format format, uint64_t rows,
                   const struct args *args);
/* Opens a table to which rows of the frame are to be appended. */
bool target_append(struct target *target, const struct frame *frame, holdall_table *table, const char *path);
/* A rows_fn. */
bool target_take(void *target, const struct frame *frame);
bool target_commit(struct target *target);
void target_close(struct target *target);

#endif
