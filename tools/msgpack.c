/*
 * From MessagePack to JSON and back.
 */
#include "msgpack.h"
#include "json.h"
#include "numbers.h"
#include "numeral.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values in values: no more than this. */
enum { DEPTH = 64 };

/* ---- to JSON ---- */

struct reader {
    const unsigned char *at, *end;
    int depth;
};

/* A number of n bytes, big-endian; false: there are not so many. */
static bool take_number(struct reader *r, size_t n, uint64_t *value) {
    if ((size_t)(r->end - r->at) < n) return false;
    *value = number_bits(r->at, n, true);
    r->at += n;
    return true;
}

static void put_hex(struct text *text, const unsigned char *bytes, size_t n) {
    static const char digits[] = "0123456789abcdef";
    text_string(text, "\"hex\": \"");
    for (size_t i = 0; i < n; i++) {
        text_char(text, digits[bytes[i] >> 4]);
        text_char(text, digits[bytes[i] & 15]);
    }
    text_string(text, "\"}");
}

void hex_to_json(struct text *text, const unsigned char *bytes, size_t n) {
    text_char(text, '{');
    put_hex(text, bytes, n);
}

static void put_number(struct text *text, const char *format, uint64_t value) {
    char buffer[32];
    snprintf(buffer, sizeof buffer, format, value);
    text_string(text, buffer);
}

static void put_float(struct text *text, size_t size, uint64_t bits) {
    char buffer[NUMBER_TEXT];
    double value = number_float(bits, size);
    if (isnan(value) || isinf(value)) {
        text_string(text, isnan(value) ? "\"NaN\"" : value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
        return;
    }
    number_text(buffer, 8, value); /* as a double: that is what JSON becomes again */
    text_string(text, buffer);
    if (!strpbrk(buffer, ".e")) text_string(text, ".0"); /* a whole number would come back as one */
}

/* Text, bytes, or an extension, of n bytes. */
static bool put_bytes_of(struct text *text, struct reader *r, char kind, uint64_t n) {
    uint64_t ext = 0;
    if (kind == 'e' && !take_number(r, 1, &ext)) return false;
    if ((uint64_t)(r->end - r->at) < n) return false;
    if (kind == 's') {
        text_json(text, (const char *)r->at, (size_t)n);
    } else {
        text_char(text, '{');
        if (kind == 'e') {
            put_number(text, "\"ext\": %" PRIu64 ", ", ext);
        }
        put_hex(text, r->at, (size_t)n);
    }
    r->at += n;
    return true;
}

static bool put_value(struct text *text, struct reader *r);

/* The name of a member: what is no string stands as its JSON in one. */
static bool put_name(struct text *text, struct reader *r) {
    struct text name = {.bytes = NULL};
    bool good = put_value(&name, r);
    if (good && name.n > 0 && name.bytes[0] == '"') {
        text_put(text, name.bytes, name.n);
    } else if (good) {
        text_json(text, name.bytes, name.n);
    }
    text->failed |= name.failed;
    text_free(&name);
    return good;
}

static bool put_values(struct text *text, struct reader *r, bool map, uint64_t n) {
    if (++r->depth > DEPTH || n > (uint64_t)(r->end - r->at)) return false; /* each has a byte at least */
    text_char(text, map ? '{' : '[');
    for (uint64_t i = 0; i < n; i++) {
        if (i > 0) text_string(text, ", ");
        if (map && !put_name(text, r)) return false;
        if (map) text_string(text, ": ");
        if (!put_value(text, r)) return false;
    }
    text_char(text, map ? '}' : ']');
    r->depth--;
    return true;
}

/* A value whose marker is followed by a length of so many bytes. */
static bool put_long(struct text *text, struct reader *r, char kind, size_t length) {
    uint64_t n;
    if (!take_number(r, length, &n)) return false;
    return kind == 'a' || kind == 'm' ? put_values(text, r, kind == 'm', n) : put_bytes_of(text, r, kind, n);
}

static bool put_scalar(struct text *text, struct reader *r, unsigned marker) {
    static const char *const buffer[] = {[0xc0 - 0xc0] = "null", [0xc2 - 0xc0] = "false", [0xc3 - 0xc0] = "true"};
    uint64_t bits;
    if (marker <= 0xc3) {
        if (marker == 0xc1) return false; /* never used */
        return text_string(text, buffer[marker - 0xc0]), true;
    }
    size_t size = marker <= 0xcb ? (marker == 0xca ? 4 : 8) : (size_t)1 << (marker & 3);
    if (!take_number(r, size, &bits)) return false;
    if (marker <= 0xcb) {
        put_float(text, size, bits);
    } else if (marker <= 0xcf) {
        put_number(text, "%" PRIu64, bits);
    } else {
        put_number(text, "%" PRId64, (uint64_t)number_signed(bits, size));
    }
    return true;
}

static bool put_value(struct text *text, struct reader *r) {
    if (r->at == r->end) return false;
    unsigned m = *r->at++;
    if (m < 0x80) return put_number(text, "%" PRIu64, m), true;
    if (m >= 0xe0) return put_number(text, "%" PRId64, (uint64_t)((int64_t)m - 256)), true;
    if (m < 0xa0) return put_values(text, r, m < 0x90, m & 15);
    if (m < 0xc0) return put_bytes_of(text, r, 's', m & 31);
    if (m >= 0xc4 && m <= 0xc6) return put_long(text, r, 'b', (size_t)1 << (m - 0xc4));
    if (m >= 0xc7 && m <= 0xc9) return put_long(text, r, 'e', (size_t)1 << (m - 0xc7));
    if (m >= 0xd4 && m <= 0xd8) return put_bytes_of(text, r, 'e', (uint64_t)1 << (m - 0xd4));
    if (m >= 0xd9 && m <= 0xdb) return put_long(text, r, 's', (size_t)1 << (m - 0xd9));
    if (m == 0xdc || m == 0xdd) return put_long(text, r, 'a', m == 0xdc ? 2 : 4);
    if (m >= 0xde) return put_long(text, r, 'm', m == 0xde ? 2 : 4);
    return put_scalar(text, r, m);
}

bool msgpack_to_json(struct text *text, const unsigned char *bytes, size_t n) {
    struct reader r = {bytes, bytes + n, 0};
    return put_value(text, &r) && r.at == r.end;
}

/* ---- from JSON ---- */

/* A marker followed by a big-endian number of so many bytes. */
static void mark(struct text *text, unsigned marker, size_t size, uint64_t value) {
    text_char(text, (char)marker);
    while (size-- > 0) text_char(text, (char)(value >> (8 * size) & 0xff));
}

/* The shortest marker that a length of 1, 2 or 4 bytes follows; 0: the length is too large. */
static void mark_bytes(struct text *text, const unsigned markers[3], size_t n) {
    int power = markers[0] && n <= UINT8_MAX ? 0 : n <= UINT16_MAX ? 1 : 2;
    mark(text, markers[power], (size_t)1 << power, n);
}

/* The shortest marker for a length: one that holds it (`small`, up to `most`), or one of those. */
static void mark_length(struct text *text, unsigned small, size_t most, const unsigned markers[3], size_t n) {
    if (n <= most) {
        text_char(text, (char)(small | n));
    } else {
        mark_bytes(text, markers, n);
    }
}

static void pack_whole(struct text *text, bool minus, uint64_t n) {
    static const unsigned plain[] = {0xcc, 0xcd, 0xce, 0xcf}, negative[] = {0xd0, 0xd1, 0xd2, 0xd3};
    if (!minus && n < 0x80) {
        text_char(text, (char)n);
    } else if (minus && n <= 32) {
        text_char(text, (char)(256 - n));
    } else {
        uint64_t worth = minus ? (n - 1) << 1 : n; /* a bit more for the sign */
        int power = worth <= UINT8_MAX ? 0 : worth <= UINT16_MAX ? 1 : worth <= UINT32_MAX ? 2 : 3;
        mark(text, minus ? negative[power] : plain[power], (size_t)1 << power, minus ? 0 - n : n);
    }
}

static void pack_number(struct text *text, const char *json, size_t n) {
    struct numeral number = numeral_read(json, n);
    uint64_t bits;
    bool whole = number.looks == WHOLE && !number.huge && !(number.minus && number.whole > (uint64_t)1 << 63);
    if (whole) {
        pack_whole(text, number.minus && number.whole > 0, number.whole);
    } else {
        double value = strtod(json, NULL); /* it ends where the number does */
        memcpy(&bits, &value, sizeof bits);
        mark(text, 0xcb, 8, bits);
    }
}

static void pack_text(struct text *text, const char *bytes, size_t n) {
    static const unsigned markers[] = {0xd9, 0xda, 0xdb};
    mark_length(text, 0xa0, 31, markers, n);
    text_put(text, bytes, n);
}

static const char *pack_string(struct text *text, const char *json) {
    struct text string = {.bytes = NULL};
    const char *end = json_read_string(json, &string);
    pack_text(text, string.bytes, string.n);
    text->failed |= string.failed;
    text_free(&string);
    return end;
}

/* Returns whether it is {"hex": "..."} with an even number of digits. */
static const char *pack_hex(struct text *text, const char *json) {
    static const unsigned markers[] = {0xc4, 0xc5, 0xc6};
    static const char digits[] = "0123456789abcdef";
    const char *at = json_skip_space(json + 1);
    if (strncmp(at, "\"hex\"", 5) != 0) return NULL;
    at = json_skip_space(json_skip_space(at + 5) + 1);
    size_t n = *at == '"' ? strspn(at + 1, digits) : 1;
    const char *end = json_skip_space(at + 1 + n + 1);
    if (n % 2 != 0 || at[1 + n] != '"' || *end != '}') return NULL;
    mark_bytes(text, markers, n / 2);
    for (size_t i = 1; i < n; i += 2) {
        text_char(text, (char)((strchr(digits, at[i]) - digits) << 4 | (strchr(digits, at[i + 1]) - digits)));
    }
    return end + 1;
}

static const char *pack_value(struct text *text, const char *json, int depth);

/* A list or an object, whose length comes first. */
static const char *pack_values(struct text *text, const char *json, bool map, int depth) {
    static const unsigned lists[] = {0, 0xdc, 0xdd}, maps[] = {0, 0xde, 0xdf};
    struct text inside = {.bytes = NULL};
    const char *at = json_skip_space(json + 1);
    size_t n = 0;
    for (; at && *at != ']' && *at != '}'; n++) {
        if (map) at = json_skip_space(json_skip_space(pack_string(&inside, at)) + 1);
        at = pack_value(&inside, at, depth + 1);
        if (at) at = json_skip_space(at);
        if (at && *at == ',') at = json_skip_space(at + 1);
    }
    mark_length(text, map ? 0x80 : 0x90, 15, map ? maps : lists, n);
    text_put(text, inside.bytes, inside.n);
    text->failed |= inside.failed;
    text_free(&inside);
    return at ? at + 1 : NULL;
}

static const char *pack_value(struct text *text, const char *json, int depth) {
    json = json_skip_space(json);
    const char *hex = *json == '{' ? pack_hex(text, json) : NULL;
    if (hex) return hex;
    if (depth > DEPTH) return NULL;
    if (*json == '{' || *json == '[') return pack_values(text, json, *json == '{', depth);
    if (*json == '"') return pack_string(text, json);
    const char *end = json_skip_value(json);
    if (*json == 'n' || *json == 't' || *json == 'f') {
        text_char(text, (char)(*json == 'n' ? 0xc0 : *json == 'f' ? 0xc2 : 0xc3));
    } else {
        pack_number(text, json, (size_t)(end - json));
    }
    return end;
}

bool msgpack_from_json(struct text *text, const char *json) {
    if (pack_value(text, json, 0)) return true;
    return complain("values are nested too deep"), false;
}
