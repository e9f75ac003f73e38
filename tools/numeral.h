/*
 * Numbers in text: what a field looks like, and what it is worth.
 */
#ifndef NUMERAL_H
#define NUMERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kind of a field. MISSING is empty, NA, N/A, NaN, nan, null or NULL. */
enum looks { MISSING, TRUTH, WHOLE, FLOATING, STRING };

struct numeral {
    enum looks looks;
    bool minus, huge; /* `huge`: a whole number of more than 64 bits */
    uint64_t whole;   /* the digits of a WHOLE, the value of a TRUTH */
    double value;     /* of a WHOLE and a FLOATING */
};

/* Parses a field, ignoring spaces around it. text[n] must exist and not be a character of a number. A number with leading
 * zeros is a STRING: it may be a code. */
struct numeral numeral_read(const char *text, size_t n);

#endif
