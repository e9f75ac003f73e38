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

/* Parses a decimal number and sets *end past it. Saturates to int64_t, which does not change the meaning of a slice:
 * no dimension is that long. */
bool slice_number(const char *text, const char **end, int64_t *value);
/* A:B or A:B:C, each part possibly empty. */
bool slice_parse(const char *text, struct slice *slice);
/* Such parts, numbers, and at most one "...", with commas between them. */
bool picks_parse(const char *text, struct picks *picks);

/* Python's slice.indices(length), and how many they are. A slice that was not given is everything. */
struct span slice_resolve(const struct slice *slice, uint64_t length);

#endif
