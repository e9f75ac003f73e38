/*
 * Numbers as text: whole numbers, and floating-point numbers in as few digits as give the same number again.
 */
#include "numbers.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool numbers_begin(struct numbers_out *out, const char *dtype) {
    static const char *const known[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"};
    if (dtype[0] == '\0' || !strchr("<>|", dtype[0])) return false;
    *out = (struct numbers_out){.big_endian = dtype[0] == '>'};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(dtype + 1, known[i]) != 0) continue;
        out->kind = known[i][0];
        out->size = (size_t)(known[i][1] - '0');
        return true;
    }
    return false;
}

/* ---- one number ---- */

static uint64_t bits_of(const struct numbers_out *out, const unsigned char *bytes) {
    uint64_t bits = 0;
    for (size_t i = 0; i < out->size; i++) bits = bits << 8 | bytes[out->big_endian ? i : out->size - 1 - i];
    return bits;
}

/* A number of 16 bits: 1 of sign, 5 of exponent, 10 of fraction. */
static double half(uint64_t bits) {
    int exponent = (int)(bits >> 10 & 0x1f);
    double fraction = (double)(bits & 0x3ff), value;
    if (exponent == 0x1f) {
        value = fraction != 0 ? NAN : INFINITY;
    } else {
        value = exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
    }
    return bits >> 15 ? -value : value;
}

static double float_of(size_t size, uint64_t bits) {
    if (size == 2) return half(bits);
    double value;
    float narrow;
    if (size == 8) {
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    uint32_t low = (uint32_t)bits;
    memcpy(&narrow, &low, sizeof narrow);
    return narrow;
}

/* Is it the same number again? */
static bool gives(const char *text, size_t size, double value) {
    return size == 8 ? strtod(text, NULL) == value : strtof(text, NULL) == (float)value;
}

static bool put_float(size_t size, double value) {
    char text[40];
    if (isnan(value)) return put_text("nan\n");
    if (isinf(value)) return put_text(value < 0 ? "-inf\n" : "inf\n");
    int digits = size == 8 ? 15 : size == 4 ? 6 : 3, most = size == 8 ? 17 : 9;
    do {
        snprintf(text, sizeof text, "%.*g", digits, value);
    } while (digits++ < most && !gives(text, size, value));
    return put_text("%s\n", text);
}

static bool put_number(const struct numbers_out *out, const unsigned char *bytes) {
    uint64_t bits = bits_of(out, bytes);
    switch (out->kind) {
    case 'b': return put_text("%d\n", bits != 0);
    case 'u': return put_text("%" PRIu64 "\n", bits);
    case 'i': {
        /* the sign's bit counts as what it is worth, below zero */
        uint64_t sign = (uint64_t)1 << (8 * out->size - 1);
        if (!(bits & sign)) return put_text("%" PRIu64 "\n", bits);
        return put_text("-%" PRIu64 "\n", sign - (bits - sign));
    }
    default: return put_float(out->size, float_of(out->size, bits));
    }
}

/* ---- many ---- */

bool numbers_put(void *ctx, const void *bytes, size_t n) {
    struct numbers_out *out = ctx;
    const unsigned char *from = bytes;
    while (n > 0) {
        const unsigned char *number = from;
        size_t taken = out->size;
        if (out->held > 0 || n < out->size) { /* it is in two pieces */
            taken = out->size - out->held < n ? out->size - out->held : n;
            memcpy(out->part + out->held, from, taken);
            out->held += taken;
            number = out->part;
        }
        from += taken;
        n -= taken;
        if (number == out->part && out->held < out->size) return true;
        out->held = 0;
        if (!put_number(out, number)) return false;
    }
    return true;
}
