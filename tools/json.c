/*
 * A checker of JSON: one function a kind of value; nested values go by a stack of bits, not by recursion.
 */
#include "json.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

/* Deeper nesting than this is taken for no JSON. */
enum { DEPTH = 512 };

const char *json_skip_space(const char *c) {
    return c + strspn(c, " \t\n\r");
}

static const char *skip_digits(const char *c) {
    size_t n = strspn(c, "0123456789");
    return n ? c + n : NULL;
}

/* Each of these returns what follows the value, or NULL where there is none. */

static const char *skip_string(const char *c) {
    if (*c++ != '"') return NULL;
    for (; *c != '"'; c++) {
        if ((unsigned char)*c < 0x20) return NULL;
        if (*c != '\\') continue;
        c++;
        if (*c == 'u') {
            if (strspn(c + 1, "0123456789abcdefABCDEF") < 4) return NULL;
            c += 4;
        } else if (*c == '\0' || !strchr("\"\\/bfnrt", *c)) {
            return NULL;
        }
    }
    return c + 1;
}

static const char *skip_number(const char *c) {
    if (*c == '-') c++;
    c = *c == '0' ? c + 1 : skip_digits(c);
    if (c && *c == '.') c = skip_digits(c + 1);
    if (c && (*c == 'e' || *c == 'E')) {
        c++;
        if (*c == '+' || *c == '-') c++;
        c = skip_digits(c);
    }
    return c;
}

static const char *skip_scalar(const char *c) {
    static const char *const literals[] = {"true", "false", "null"};
    if (*c == '"') return skip_string(c);
    for (size_t i = 0; i < sizeof literals / sizeof *literals; i++) {
        size_t n = strlen(literals[i]);
        if (strncmp(c, literals[i], n) == 0) return c + n;
    }
    return skip_number(c);
}

/* A member's name and its colon. */
static const char *skip_name(const char *c) {
    c = skip_string(json_skip_space(c));
    if (!c) return NULL;
    c = json_skip_space(c);
    return *c == ':' ? c + 1 : NULL;
}

bool json_is_valid(const char *text, size_t n) {
    char closing[DEPTH]; /* of the arrays and objects that are open */
    size_t depth = 0;
    const char *c = text;
    for (;;) {
        c = json_skip_space(c);
        if (*c == '[' || *c == '{') {
            if (depth == DEPTH) return false;
            closing[depth++] = *c == '[' ? ']' : '}';
            c = json_skip_space(c + 1);
            if (*c != closing[depth - 1]) { /* not empty: its first value follows */
                if (closing[depth - 1] == '}' && !(c = skip_name(c))) return false;
                continue;
            }
        } else if (!(c = skip_scalar(c))) {
            return false;
        }
        /* after a value; an empty array or object ends here too */
        for (c = json_skip_space(c); depth > 0 && *c == closing[depth - 1]; c = json_skip_space(c + 1)) depth--;
        if (depth == 0) return c == text + n;
        if (*c++ != ',') return false;
        if (closing[depth - 1] == '}' && !(c = skip_name(c))) return false;
    }
}

/* ---- reading what is known to be JSON ---- */

const char *json_skip_value(const char *c) {
    size_t depth = 0;
    do {
        c = json_skip_space(c);
        if (*c == '[' || *c == '{') {
            depth++;
            c++;
        } else if (*c == ']' || *c == '}') {
            depth--;
            c++;
        } else if (*c == ',' || *c == ':') {
            c++;
        } else {
            c = skip_scalar(c);
        }
    } while (depth > 0);
    return c;
}

/* The four digits of an escape. */
static uint32_t unit(const char *c) {
    char digits[5] = {c[0], c[1], c[2], c[3], '\0'};
    return (uint32_t)strtoul(digits, NULL, 16);
}

static const char *read_escape(const char *c, struct text *text) {
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *known = strchr(from, *c);
    char utf8[4];
    if (*c != 'u') {
        text_char(text, known ? to[known - from] : *c);
        return c + 1;
    }
    uint32_t code = unit(c + 1);
    c += 5;
    if (code >= 0xd800 && code < 0xdc00 && c[0] == '\\' && c[1] == 'u') { /* the first half of a pair */
        uint32_t low = unit(c + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            c += 6;
        }
    }
    text_put(text, utf8, utf8_put(utf8, code));
    return c;
}

const char *json_read_string(const char *c, struct text *text) {
    for (c++; *c != '"';) {
        size_t n = strcspn(c, "\"\\");
        text_put(text, c, n);
        c += n;
        if (*c == '\\') c = read_escape(c + 1, text);
    }
    return c + 1;
}
