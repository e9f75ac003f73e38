/*
 * Numbers in text.
 */
#include "numeral.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(const char *text, size_t n, const char *const *choices) {
    for (; *choices; choices++) {
        if (strlen(*choices) == n && memcmp(*choices, text, n) == 0) return true;
    }
    return false;
}

static const char *const missing[] = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", NULL};
static const char *const yes[] = {"true", "True", "TRUE", NULL};
static const char *const no[] = {"false", "False", "FALSE", NULL};
static const char *const infinite[] = {"inf", "Inf", "Infinity", "infinity", NULL};

/* The digits of a number: `exponent` is the power of ten that multiplies them. */
struct digits {
    uint64_t digits;
    int count, exponent;
    bool huge, point;
};

static const char *read_digits(const char *at, const char *end, struct digits *d) {
    for (; at < end; at++) {
        if (*at == '.' && !d->point) {
            d->point = true;
            continue;
        }
        if (*at < '0' || *at > '9') break;
        uint64_t digit = (uint64_t)(*at - '0');
        d->huge |= d->digits > (UINT64_MAX - digit) / 10;
        d->digits = d->digits * 10 + digit;
        d->count++;
        d->exponent -= d->point;
    }
    return at;
}

/* A product or quotient of two numbers that a double holds is rounded as the text would be. */
static double value_of(const struct digits *d, int exponent, const char *text) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d->huge || d->digits > (uint64_t)1 << 53 || exponent < -22 || exponent > 22) return fabs(strtod(text, NULL));
    return exponent < 0 ? (double)d->digits / powers[-exponent] : (double)d->digits * powers[exponent];
}

/* False: it is no number. */
static bool read_number(struct numeral *number, const char *text, const char *end) {
    const char *at = text;
    struct digits d = {0};
    number->minus = *at == '-';
    if (*at == '-' || *at == '+') at++;
    if (is_word(at, (size_t)(end - at), infinite)) {
        number->value = number->minus ? -INFINITY : INFINITY;
        number->looks = FLOATING;
        return true;
    }
    const char *first = at;
    at = read_digits(at, end, &d);
    if (d.count == 0 || (*first == '0' && first + 1 < end && first[1] >= '0' && first[1] <= '9')) return false;
    bool whole = !d.point && at == end;
    if (at < end && (*at == 'e' || *at == 'E')) {
        bool minus = at + 1 < end && at[1] == '-';
        int exponent = 0;
        at += 1 + (at + 1 < end && (at[1] == '-' || at[1] == '+'));
        if (at == end) return false;
        for (; at < end && *at >= '0' && *at <= '9'; at++) exponent = exponent < 100000 ? exponent * 10 + (*at - '0') : exponent;
        d.exponent += minus ? -exponent : exponent;
    }
    if (at != end) return false;
    number->looks = whole ? WHOLE : FLOATING;
    number->whole = d.digits;
    number->huge = d.huge;
    number->value = value_of(&d, d.exponent, text);
    if (number->minus) number->value = -number->value;
    return true;
}

struct numeral numeral_read(const char *text, size_t n) {
    const char *end = text + n;
    struct numeral number = {.looks = STRING};
    while (text < end && *text == ' ') text++;
    while (text < end && end[-1] == ' ') end--;
    n = (size_t)(end - text);
    if (n > 0 && (*text <= '9' || *text == 'i' || *text == 'I') && read_number(&number, text, end)) return number;
    if (is_word(text, n, missing)) {
        number.looks = MISSING;
    } else if (is_word(text, n, yes) || is_word(text, n, no)) {
        number.looks = TRUTH;
        number.whole = is_word(text, n, yes);
    }
    return number;
}
