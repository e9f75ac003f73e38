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

uint64_t number_bits(const unsigned char *bytes, size_t size, bool big_endian) {
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++) bits = bits << 8 | bytes[big_endian ? i : size - 1 - i];
    return bits;
}

int64_t number_signed(uint64_t bits, size_t size) {
    uint64_t sign = (uint64_t)1 << (8 * size - 1);
    /* the sign's bit counts as what it is worth, below zero */
    return bits & sign ? -(int64_t)(sign - 1 - (bits - sign)) - 1 : (int64_t)bits;
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

double number_float(uint64_t bits, size_t size) {
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

uint64_t number_half(double value) {
    uint64_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (isnan(value)) return 0x7e00;
    if (size == 0) return sign; /* which has no exponent */
    if (size >= 65520) return sign | 0x7c00;
    int exponent;
    frexp(size, &exponent);
    exponent = exponent < -13 ? -13 : exponent; /* of those that are nearly zero */
    double fraction = nearbyint(ldexp(size, 11 - exponent));
    return sign | (uint64_t)(fraction + (exponent + 13) * 1024.0);
}

/* Returns whether a number repeats. */
static bool gives(const char *text, size_t size, double value) {
    if (size == 2) return number_half(strtod(text, NULL)) == number_half(value);
    return size == 8 ? strtod(text, NULL) == value : strtof(text, NULL) == (float)value;
}

/* Numbers with a few decimals, in as few as they have. A quotient of two numbers that a double holds is rounded as the
 * text would be, and up to 15 digits are those of one double alone. */
static bool put_short(char *to, size_t size, double value) {
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4};
    if (size != 8 || !(value > -1e10 && value < 1e10) || value == 0) return false;
    for (int decimals = 0; decimals < 5; decimals++) {
        double whole = nearbyint(value * powers[decimals]);
        if (whole / powers[decimals] != value) continue;
        uint64_t n = (uint64_t)fabs(whole), unit = (uint64_t)powers[decimals];
        to += sprintf(to, "%s%" PRIu64, whole < 0 ? "-" : "", n / unit);
        if (decimals > 0) sprintf(to, ".%0*" PRIu64, decimals, n % unit);
        return true;
    }
    return false;
}

char *number_text(char *to, size_t size, double value) {
    if (isnan(value)) return strcpy(to, "nan");
    if (isinf(value)) return strcpy(to, value < 0 ? "-inf" : "inf");
    if (put_short(to, size, value)) return to;
    /* so many digits are always those of one number alone, but those that are nearly zero have less */
    bool tiny = fabs(value) < (size == 8 ? 1e-300 : 1e-37);
    int digits = tiny || size == 2 ? 1 : size == 8 ? 15 : 6, most = size == 8 ? 17 : 9;
    do {
        snprintf(to, NUMBER_TEXT, "%.*g", digits, value);
    } while (digits++ < most && !gives(to, size, value));
    return to;
}

static bool put_number(const struct numbers_out *out, const unsigned char *bytes) {
    uint64_t bits = number_bits(bytes, out->size, out->big_endian);
    char text[NUMBER_TEXT];
    switch (out->kind) {
    case 'b': return put_text("%d\n", bits != 0);
    case 'u': return put_text("%" PRIu64 "\n", bits);
    case 'i': return put_text("%" PRId64 "\n", number_signed(bits, out->size));
    default: return put_text("%s\n", number_text(text, out->size, number_float(bits, out->size)));
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
