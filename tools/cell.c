/*
 * Items as text.
 *
 * A number reads back as the same number; one of floating point has a point, an exponent, or is NaN or an infinity, so
 * that it is known for one.
 */
#include "cell.h"
#include "numbers.h"
#include "times.h"
#include "utf8.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers ---- */

static void put_int(struct text *text, bool minus, uint64_t n) {
    char digits[24], *at = digits + sizeof digits;
    do *--at = (char)('0' + n % 10); while ((n /= 10) > 0);
    if (minus) *--at = '-';
    text_put(text, at, (size_t)(digits + sizeof digits - at));
}

static void put_signed(struct text *text, int64_t n) {
    put_int(text, n < 0, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

/* CSV readers know these spellings of NaN and infinity. */
static void put_double(struct text *text, size_t size, double value, bool json) {
    char buffer[NUMBER_TEXT];
    if (isnan(value)) {
        strcpy(buffer, json ? "null" : "NaN");
    } else if (isinf(value) && json) {
        strcpy(buffer, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    } else if (!strpbrk(number_text(buffer, size, value), ".en")) {
        strcat(buffer, ".0");
    }
    text_string(text, buffer);
}

/* Floating point of more than 8 bytes, where C has the same. */
static bool put_long_double(struct text *text, const struct type *type, const unsigned char *bytes) {
    long double value;
    char buffer[NUMBER_TEXT];
    if (LDBL_MANT_DIG != 64 || type->size != sizeof value || type->big_endian) return false;
    memcpy(&value, bytes, sizeof value);
    if (isnan(value) || isinf(value)) return put_double(text, 8, (double)value, false), true;
    snprintf(buffer, sizeof buffer, "%.21Lg", value);
    return text_string(text, buffer), true;
}

static void put_hex(struct text *text, const unsigned char *bytes, size_t n) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        text_char(text, digits[bytes[i] >> 4]);
        text_char(text, digits[bytes[i] & 15]);
    }
}

static bool is_float(const struct type *type, size_t size) {
    return size == 2 || size == 4 || (size == 8 && strchr("fc", type->kind));
}

static void put_float(struct text *text, const struct type *type, const unsigned char *bytes, bool json) {
    if (is_float(type, type->size)) {
        put_double(text, type->size, number_float(number_bits(bytes, type->size, type->big_endian), type->size), json);
    } else if (json || !put_long_double(text, type, bytes)) { /* JSON's numbers are not as precise everywhere */
        if (json) text_char(text, '"');
        if (!json || !put_long_double(text, type, bytes)) put_hex(text, bytes, type->size);
        if (json) text_char(text, '"');
    }
}

/* "1.0+2.0j", and in JSON a list of two. */
static void put_complex(struct text *text, const struct type *type, const unsigned char *bytes, bool json) {
    struct type half = *type;
    half.kind = 'f';
    half.size = type->size / 2;
    struct text second = {.bytes = NULL};
    put_float(&second, &half, bytes + half.size, json);
    if (json) text_char(text, '[');
    put_float(text, &half, bytes, json);
    if (json) {
        text_char(text, ',');
    } else if (second.n > 0 && second.bytes[0] != '-') {
        text_char(text, '+');
    }
    text_put(text, second.bytes, second.n);
    text_char(text, json ? ']' : 'j');
    text_free(&second);
}

/* ---- strings ---- */

/* Stored strings are padded with zeros. */
static void put_bytes_as_text(struct text *text, const struct type *type, const unsigned char *bytes) {
    size_t n = type->size;
    while (n > 0 && bytes[n - 1] == 0) n--;
    bool valid = utf8_is_valid((const char *)bytes, n);
    text->escaped |= !valid;
    if (valid) text_put(text, bytes, n);
    for (size_t i = 0, length; !valid && i < n; i += length) {
        length = utf8_length((const char *)bytes + i, n - i);
        if (length > 0) {
            text_put(text, bytes + i, length);
        } else {
            text_string(text, "\\x");
            put_hex(text, bytes + i, length = 1);
        }
    }
}

static void put_characters(struct text *text, const struct type *type, const unsigned char *bytes) {
    size_t n = type->size / 4;
    while (n > 0 && number_bits(bytes + 4 * (n - 1), 4, type->big_endian) == 0) n--;
    for (size_t i = 0; i < n; i++) {
        char utf8[4];
        uint32_t code = (uint32_t)number_bits(bytes + 4 * i, 4, type->big_endian);
        size_t length = utf8_put(utf8, code);
        text->escaped |= utf8_get(utf8, length) != code;
        text_put(text, utf8, length);
    }
}

/* ---- one item ---- */

/* One that is a word of its own in JSON, too. */
static bool put_number(struct text *text, const struct type *type, const unsigned char *bytes, bool json) {
    uint64_t bits = strchr("biumM", type->kind) ? number_bits(bytes, type->size, type->big_endian) : 0;
    switch (type->kind) {
    case 'b': return text_string(text, bits ? "true" : "false"), true;
    case 'i': return put_signed(text, number_signed(bits, type->size)), true;
    case 'u': return put_int(text, false, bits), true;
    case 'f': return put_float(text, type, bytes, json), true;
    case 'c': return put_complex(text, type, bytes, json), true;
    case 'm':
    case 'M':
        if ((int64_t)bits == NO_TIME) return text_string(text, json ? "null" : "NaT"), true;
        if (type->kind == 'm' || type->unit[0] == '\0') return put_signed(text, (int64_t)bits), true;
        return false;
    default: return false;
    }
}

static void put_raw_text(struct text *text, const struct type *type, const unsigned char *bytes) {
    switch (type->kind) {
    case 'M': times_put(text, type, (int64_t)number_bits(bytes, type->size, type->big_endian)); break;
    case 'S': put_bytes_as_text(text, type, bytes); break;
    case 'U': put_characters(text, type, bytes); break;
    default: put_hex(text, bytes, type->size);
    }
}

static void put_parts(struct text *text, const struct type *type, const unsigned char *bytes) {
    bool fields = type->kind == '{';
    text_char(text, fields ? '{' : '[');
    for (size_t i = 0; i < type->count; i++) {
        if (i > 0) text_char(text, ',');
        if (fields) {
            const struct field *field = &type->fields[i];
            text_json(text, field->name, strlen(field->name));
            text_char(text, ':');
            cell_put_json(text, &field->type, bytes + field->offset);
        } else {
            cell_put_json(text, type->of, bytes + i * type->of->size);
        }
    }
    text_char(text, fields ? '}' : ']');
}

/* Replaces the text from `from` on by another form of it. */
static void put_again(struct text *text, size_t from, void (*put)(struct text *, const char *, size_t)) {
    if (text->failed) return;
    struct text buffer = {.bytes = NULL};
    put(&buffer, text->bytes + from, text->n - from);
    text->n = from;
    text_put(text, buffer.bytes, buffer.n);
    text->failed |= buffer.failed;
    text_free(&buffer);
}

/* Returns whether the text from `from` on needs no quotes in CSV. */
static bool is_plain(const struct text *text, size_t from) {
    for (size_t i = from; !text->failed && i < text->n; i++) {
        char c = text->bytes[i];
        if (c == ',' || c == '"' || c == '\n' || c == '\r') return false;
    }
    return true;
}

void cell_put_json(struct text *text, const struct type *type, const unsigned char *bytes) {
    if (type->kind == '{' || type->kind == '[') {
        put_parts(text, type, bytes);
    } else if (!put_number(text, type, bytes, true)) {
        size_t from = text->n;
        put_raw_text(text, type, bytes);
        put_again(text, from, text_json);
    }
}

void csv_put_field(struct text *text, const char *field, size_t n) {
    text_char(text, '"');
    for (size_t i = 0; i < n; i++) {
        if (field[i] == '"') text_char(text, '"');
        text_char(text, field[i]);
    }
    text_char(text, '"');
}

void cell_put_csv(struct text *text, const struct type *type, const unsigned char *bytes) {
    if (put_number(text, type, bytes, false)) return;
    size_t from = text->n;
    if (type->kind == '{' || type->kind == '[') {
        put_parts(text, type, bytes);
    } else {
        put_raw_text(text, type, bytes);
    }
    if (!is_plain(text, from)) put_again(text, from, csv_put_field);
}
