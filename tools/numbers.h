/*
 * Numbers as they are stored, printed as text.
 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bits of a number as it is stored; what they are worth where it has a sign, and where it is one of floating point
 * of 2, 4 or 8 bytes. */
uint64_t number_bits(const unsigned char *bytes, size_t size, bool big_endian);
int64_t number_signed(uint64_t bits, size_t size);
double number_float(uint64_t bits, size_t size);

/* The bits of a number of 16 bits: the nearest one, of two the even one. */
uint64_t number_half(double value);

/* Room for a number as text. */
enum { NUMBER_TEXT = 48 };
/* A number of floating point of so many bytes, in as few digits as give the same number again. Returns `to`. */
char *number_text(char *to, size_t size, double value);

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
