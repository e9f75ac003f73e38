/*
 * Numbers as they are stored, printed as text.
 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

/* The numbers of an array, and what was left of one whose bytes came in two pieces. */
struct numbers_out {
    char kind; /* 'b', 'i', 'u' or 'f', as NumPy has it */
    bool big_endian;
    size_t size, held;
    unsigned char part[8];
};

/* From a type as NumPy spells it; false: it is not one of plain numbers that are printed. */
bool numbers_begin(struct numbers_out *out, const char *dtype);
/* Prints them, a line each; a sink_fn. */
bool numbers_put(void *out, const void *bytes, size_t n);

#endif
