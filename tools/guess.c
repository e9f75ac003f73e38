/*
 * Types of columns of text.
 */
#include "guess.h"
#include "numeral.h"

#include <stdio.h>
#include <string.h>

static void see_length(struct guess *guess, const char *value, size_t n) {
    size_t characters = 0;
    for (size_t i = 0; i < n; i++) {
        guess->wide |= (unsigned char)value[i] >= 0x80;
        characters += ((unsigned char)value[i] & 0xc0) != 0x80;
    }
    if (n > guess->bytes) guess->bytes = n;
    if (characters > guess->characters) guess->characters = characters;
}

void guess_see(struct guess *guess, const char *value, size_t n, bool text) {
    see_length(guess, value, n);
    if (text || guess->string) {
        guess->string = true;
        return;
    }
    struct numeral number = numeral_read(value, n);
    guess->missing |= number.looks == MISSING;
    guess->truth |= number.looks == TRUTH;
    guess->floating |= number.looks == FLOATING;
    guess->string |= number.looks == STRING;
    if (number.looks != WHOLE) return;
    guess->whole = true;
    guess->minus |= number.minus;
    guess->huge |= number.huge || (number.minus && number.whole > (uint64_t)1 << 63);
    guess->beyond |= number.whole > (uint64_t)INT64_MAX + number.minus;
    guess->inexact |= number.whole > (uint64_t)1 << 53;
}

void guess_dtype(const struct guess *g, char dtype[GUESSED]) {
    bool numbers = g->whole || g->floating, to_double = g->missing || g->floating;
    bool string = g->string || g->huge || (g->truth && (numbers || g->missing)) || (g->inexact && to_double) ||
                 (g->beyond && g->minus);
    if (string && g->wide) {
        snprintf(dtype, GUESSED, "<U%zu", g->characters > 0 ? g->characters : 1);
    } else if (string) {
        snprintf(dtype, GUESSED, "|S%zu", g->bytes > 0 ? g->bytes : 1);
    } else if (g->truth) {
        strcpy(dtype, "|b1");
    } else if (g->whole && !to_double) {
        strcpy(dtype, g->beyond ? "<u8" : "<i8");
    } else {
        strcpy(dtype, "<f8");
    }
}
