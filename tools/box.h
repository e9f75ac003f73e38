/*
 * Boxes of arrays: what a slice with a part for each dimension asks for.
 */
#ifndef BOX_H
#define BOX_H

#include "args.h"
#include "holdall.h"

/* Selected indices of each dimension: start, start + step, ..., `count` of them; `start` is the lowest. */
struct box {
    uint32_t ndim;
    uint64_t start[HOLDALL_MAX_NDIM], count[HOLDALL_MAX_NDIM], step[HOLDALL_MAX_NDIM];
    bool backwards[HOLDALL_MAX_NDIM]; /* the highest index comes first */
    bool dropped[HOLDALL_MAX_NDIM];   /* one index, and no dimension of the result */
};

/* What --slice, or a slice that --rows is, asks for; everything where there is none. What does not fit the array has been
 * said on stderr. */
bool box_of(struct box *box, const struct args *args, const holdall_array *array, const char *path);

/* Returns whether it is the complete array, in its order. */
bool box_is_whole(const struct box *box, const holdall_array *array);
/* Returns whether its items are contiguous in an array in C order. */
bool box_is_run(const struct box *box, const holdall_array *array);

/* The shape of what is given, without what is dropped. */
uint32_t box_shape(const struct box *box, uint64_t *shape);

/* How many of the last `left` indices of a dimension to read at once, `most` at most: up to where a chunk, or else a block,
 * ends, so that no other part needs it. */
uint64_t box_part(const struct box *box, const holdall_array *array, uint32_t d, uint64_t left, uint64_t most);

#endif
