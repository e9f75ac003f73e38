/*
 * Items from text. What the type cannot hold is refused, never rounded: but numbers of floating point, which become the
 * nearest one.
 */
#include "item.h"
#include "json.h"
#include "numeral.h"
#include "numbers.h"
#include "text.h"
#include "times.h"
#include "utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_bits(const struct type *type, size_t size, unsigned char *to, uint64_t bits) {
    for (size_t i = 0; i < size; i++, bits >>= 8) to[type->big_endian ? size - 1 - i : i] = (unsigned char)bits;
}

/* ---- numbers ---- */

static const char *put_whole(const struct type *type, const struct numeral *n, unsigned char *to) {
    int bits = 8 * (int)type->size;
    uint64_t sign = (uint64_t)1 << (bits - 1), most = type->kind == 'u' ? sign - 1 + sign : sign - 1;
    if (n->looks != WHOLE) return "is no whole number";
    if (n->minus && type->kind == 'u' && n->whole > 0) return "is negative, and the type has no sign";
    if (n->huge || n->whole > most + (n->minus && type->kind == 'i')) return "is too large for the type";
    put_bits(type, type->size, to, n->minus ? 0 - n->whole : n->whole);
    return NULL;
}

static const char *put_double(const struct type *type, size_t size, double value, unsigned char *to) {
    uint64_t bits = 0;
    float narrow = (float)value;
    uint32_t low;
    if (size == 8) {
        memcpy(&bits, &value, sizeof value);
    } else if (size == 4) {
        memcpy(&low, &narrow, sizeof narrow);
        bits = low;
    } else if (size == 2) {
        bits = number_half(value);
    } else {
        return "is for a type that is not read from text";
    }
    if (isinf(value) == 0 && ((size == 4 && isinf(narrow)) || (size == 2 && (bits & 0x7fff) == 0x7c00))) {
        return "is too large for the type";
    }
    put_bits(type, size, to, bits);
    return NULL;
}

static const char *put_number(const struct type *type, const struct numeral *n, unsigned char *to) {
    switch (type->kind) {
    case 'b':
        if (n->looks != TRUTH && !(n->looks == WHOLE && n->whole <= 1 && !n->huge)) return "is neither true nor false";
        *to = n->whole != 0;
        return NULL;
    case 'f':
        if (n->looks == MISSING) return put_double(type, type->size, NAN, to);
        return n->looks == WHOLE || n->looks == FLOATING ? put_double(type, type->size, n->value, to) : "is no number";
    case 'm':
        if (n->looks != MISSING) return put_whole(&(struct type){.kind = 'i', .size = 8, .big_endian = type->big_endian}, n, to);
        put_bits(type, 8, to, (uint64_t)NO_TIME);
        return NULL;
    default: return put_whole(type, n, to);
    }
}

/* "1.0+2.0j", perhaps in brackets. */
static const char *put_complex(const struct type *type, const char *text, size_t n, unsigned char *to) {
    static const char no_complex[] = "is no complex number";
    if (n > 1 && *text == '(' && text[n - 1] == ')') return put_complex(type, text + 1, n - 2, to);
    size_t second = n > 0 ? n - 1 : 0;
    if (n == 0 || text[n - 1] != 'j') return no_complex;
    while (second > 0 && !((text[second] == '+' || text[second] == '-') && text[second - 1] != 'e' && text[second - 1] != 'E')) second--;
    struct numeral one = numeral_read(text, second), other = numeral_read(text + second, n - 1 - second);
    if (text[second] == '+') other = numeral_read(text + second + 1, n - 2 - second);
    struct type half = {.kind = 'f', .size = type->size / 2, .big_endian = type->big_endian};
    if (second == 0) one = (struct numeral){.looks = FLOATING};
    const char *wrong = put_number(&half, &one, to);
    return wrong || (wrong = put_number(&half, &other, to + half.size)) ? no_complex : NULL;
}

/* ---- strings ---- */

static const char *put_bytes(const struct type *type, const char *text, size_t n, unsigned char *to) {
    if (n > type->size) return "is too long for the type";
    if (n > 0 && text[n - 1] == '\0') return "ends in a NUL, which strings of this type cannot";
    memcpy(to, text, n);
    memset(to + n, 0, type->size - n);
    return NULL;
}

static const char *put_characters(const struct type *type, const char *text, size_t n, unsigned char *to) {
    size_t at = 0;
    if (n > 0 && text[n - 1] == '\0') return "ends in a NUL, which strings of this type cannot";
    for (size_t i = 0, length; i < n; i += length, at += 4) {
        length = utf8_length(text + i, n - i);
        if (length == 0) return "is not UTF-8";
        if (at == type->size) return "is too long for the type";
        put_bits(type, 4, to + at, utf8_get(text + i, length));
    }
    memset(to + at, 0, type->size - at);
    return NULL;
}

static const char *put_hex(const struct type *type, const char *text, size_t n, unsigned char *to) {
    static const char digits[] = "0123456789abcdef";
    if (n != 2 * type->size) return "is not as long as the type, two digits a byte";
    for (size_t i = 0; i < n; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit) return "is not hexadecimal";
        to[i / 2] = (unsigned char)(i % 2 ? to[i / 2] << 4 | (digit - digits) : digit - digits);
    }
    return NULL;
}

/* ---- the whole ---- */

static const char *parse_parts(const struct type *type, const char *text, size_t n, unsigned char *to) {
    char *copy = malloc(n + 1);
    if (!copy) return "takes more memory than there is";
    memcpy(copy, text, n);
    copy[n] = '\0';
    const char *at = copy, *wrong = json_is_valid(copy, n) ? item_parse_json(type, &at, to) : "is no JSON";
    free(copy);
    return wrong;
}

const char *item_parse(const struct type *type, const char *text, size_t n, unsigned char *to) {
    struct numeral number;
    int64_t time;
    switch (type->kind) {
    case 'S': return put_bytes(type, text, n, to);
    case 'U': return put_characters(type, text, n, to);
    case 'V': return put_hex(type, text, n, to);
    case 'c': return put_complex(type, text, n, to);
    case '{':
    case '[': return parse_parts(type, text, n, to);
    case 'M':
        if (!times_parse(type, text, n, &time)) return "is no time that the type can hold";
        put_bits(type, 8, to, (uint64_t)time);
        return NULL;
    case 'O': return "cannot become an object of Python's";
    default:
        number = n == 3 && memcmp(text, "NaT", 3) == 0 ? (struct numeral){.looks = MISSING} : numeral_read(text, n);
        return put_number(type, &number, to);
    }
}

const char *item_missing(const struct type *type, unsigned char *to) {
    return strchr("fmMSU", type->kind) ? item_parse(type, "", 0, to) : "is missing, and the type has nothing for that";
}

/* ---- JSON ---- */

static const char *parse_list(const struct type *of, size_t count, const char **at, unsigned char *to) {
    const char *wrong = NULL;
    *at = json_skip_space(*at + 1);
    for (size_t i = 0; !wrong; i++, to += of->size) {
        if (**at == ']') return ++*at, i == count ? NULL : "has not as many items as the type";
        if (i == count) return "has not as many items as the type";
        wrong = item_parse_json(of, at, to);
        *at = json_skip_space(*at);
        if (**at == ',') *at = json_skip_space(*at + 1);
    }
    return wrong;
}

static const char *parse_object(const struct type *type, const char **at, unsigned char *to) {
    size_t there = 0;
    const char *wrong = NULL;
    *at = json_skip_space(*at + 1);
    while (!wrong && **at != '}') {
        struct text name = {.bytes = NULL};
        *at = json_read_string(*at, &name);
        *at = json_skip_space(json_skip_space(*at) + 1);
        size_t i = 0;
        while (i < type->count && (strlen(type->fields[i].name) != name.n || memcmp(type->fields[i].name, name.bytes, name.n) != 0)) i++;
        text_free(&name);
        if (i == type->count) return "has a member that the type has not";
        wrong = item_parse_json(&type->fields[i].type, at, to + type->fields[i].offset);
        there++;
        *at = json_skip_space(*at);
        if (**at == ',') *at = json_skip_space(*at + 1);
    }
    ++*at;
    return wrong ? wrong : there == type->count ? NULL : "has not all members that the type has";
}

static const char *parse_string(const struct type *type, const char **at, unsigned char *to) {
    struct text text = {.bytes = NULL};
    *at = json_read_string(*at, &text);
    text_char(&text, '\0');
    const char *wrong = text.failed ? "takes more memory than there is" : NULL;
    if (!wrong) wrong = strchr("SUVMmf", type->kind) ? item_parse(type, text.bytes, text.n - 1, to) : "is text, and the type is not";
    text_free(&text);
    return wrong;
}

const char *item_parse_json(const struct type *type, const char **at, unsigned char *to) {
    *at = json_skip_space(*at);
    const char *from = *at;
    struct type half = {.kind = 'f', .size = type->size / 2, .big_endian = type->big_endian};
    if (*from == '"') return parse_string(type, at, to);
    if (*from == '[' && type->kind == '[') return parse_list(type->of, type->count, at, to);
    if (*from == '[' && type->kind == 'c') return parse_list(&half, 2, at, to);
    if (*from == '{' && type->kind == '{') return parse_object(type, at, to);
    if (*from == '[' || *from == '{' || type->kind == '[' || type->kind == '{') return "has another form than the type";
    *at = json_skip_value(from);
    if (*from == 'n') return item_missing(type, to);
    return item_parse(type, from, (size_t)(*at - from), to);
}
