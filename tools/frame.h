/*
 * Frames: named columns, and some of their rows at a time in memory. Whatever has rows, a table, an array or a file,
 * goes through one on its way into something else that has.
 *
 * These functions report errors on stderr before they return.
 */
#ifndef FRAME_H
#define FRAME_H

#include "args.h"
#include "holdall.h"
#include "schunks.h"
#include "slice.h"
#include "type.h"

/* A column. */
struct column {
    char *name;
    char *dtype; /* of an item, as NumPy spells it */
    uint32_t ndim;
    uint64_t shape[HOLDALL_MAX_NDIM]; /* of a row */
    struct type type;                 /* of a row, which has type.size bytes */
    const holdall_array *array;       /* where the rows come from; NULL: a file */
    unsigned char *bytes;             /* of `room` rows, of which the first n are there */
};

struct frame {
    struct source source; /* for messages about damage */
    struct column *columns;
    size_t count;
    bool bare;        /* an array: one column, without a name */
    uint64_t row;     /* bytes of one in all columns */
    uint64_t room, n; /* rows that there is room for, and that are there */
};

/* Selected rows: a range or a list. */
struct selection {
    struct span span;
    uint64_t *list; /* NULL: the span; to be freed */
    uint64_t count;
};

/* Rows that --rows or --slice selects of so many. A row number out of range is an error. */
bool select_rows(struct selection *selection, const struct args *args, const char *path, uint64_t rows);

/* Adds a column, whose rows have ndim dimensions. */
bool frame_add(struct frame *frame, const char *name, const char *dtype, size_t itemsize, uint32_t ndim, const uint64_t *shape);
/* Adds those of a table, or those that are named (NULL: all). */
bool frame_of_table(struct frame *frame, const holdall_table *table, const char *names);
/* Adds an array, of at least one dimension, as one column without a name. */
bool frame_of_array(struct frame *frame, const holdall_array *array);
/* Makes room for as many rows as take some memory, but no more than there are. */
bool frame_make_room(struct frame *frame, uint64_t rows);
void frame_free(struct frame *frame);

/* Takes the rows that are in a frame; false stops. */
typedef bool (*rows_fn)(void *ctx, const struct frame *frame);
/* Reads rows from where the columns come from, and gives them on, some at a time. */
bool frame_each(struct frame *frame, const struct selection *selection, rows_fn take, void *ctx);

#endif
