/*
 * Numbers in text: what a field looks like, and what it is worth.
 */
#ifndef NUMERAL_H
#define NUMERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a field looks like. MISSING is empty, NA, N/A, NaN, nan, null or NULL. */
enum looks { MISSING, TRUTH, WHOLE, FLOATING, WORDS };

struct numeral {
    enum looks looks;
    bool minus, huge; /* `huge`: a whole number of more than 64 bits */
    uint64_t whole;   /* the digits of a WHOLE, the value of a TRUTH */
    double value;     /* of a WHOLE and a FLOATING */
};

/* Looks at a field, spaces around it aside. text[n] must be there, and be none of a number's characters. A number that
 * has zeros in front is taken for words: it may be a code. */
struct numeral numeral_read(const char *text, size_t n);

#endif
