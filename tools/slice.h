/*
 * Slices as Python has them: from A:B:C and a length to the numbers that are meant.
 */
#ifndef SLICE_H
#define SLICE_H

#include "args.h"

/* The numbers start, start + step, ...: count of them. */
struct span {
    uint64_t start, count;
    int64_t step;
};

/* Python's slice.indices(length), and how many they are. A slice that was not given is everything. */
struct span slice_resolve(const struct slice *slice, uint64_t length);

#endif
