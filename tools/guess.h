/*
 * Which type fits all values of a column of text.
 */
#ifndef GUESS_H
#define GUESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the values of a column have in common so far. */
struct guess {
    bool missing, truth, whole, floating, string, minus;
    bool beyond; /* a whole number that no int64 holds, and one that no double holds exactly */
    bool inexact, huge;
    bool wide;   /* a character that is not ASCII */
    size_t bytes, characters; /* of the longest value */
};

/* Takes a value, as for numeral_read(), into account; `text`: it is known to be a string. */
void guess_see(struct guess *guess, const char *value, size_t n, bool text);

enum { GUESSED = 32 };
/* The type, as NumPy spells it. Whole numbers are int64, or uint64 where those do not hold them; float64 with gaps, or
 * with others that have a point; true and false are booleans where there are no gaps. Nothing is lost: what would be
 * rounded, or be mixed, is text, of bytes where all are ASCII. */
void guess_dtype(const struct guess *guess, char dtype[GUESSED]);

#endif
