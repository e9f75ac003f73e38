/*
 * A checker of JSON: one function a kind of value; nested values go by a stack of bits, not by recursion.
 */
#include "json.h"

#include <string.h>

/* Deeper nesting than this is taken for no JSON. */
enum { DEPTH = 512 };

static const char *skip_space(const char *c) {
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
    static const char *const words[] = {"true", "false", "null"};
    if (*c == '"') return skip_string(c);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (strncmp(c, words[i], n) == 0) return c + n;
    }
    return skip_number(c);
}

/* A member's name and its colon. */
static const char *skip_name(const char *c) {
    c = skip_string(skip_space(c));
    if (!c) return NULL;
    c = skip_space(c);
    return *c == ':' ? c + 1 : NULL;
}

bool json_is_valid(const char *text, size_t n) {
    char closing[DEPTH]; /* of the arrays and objects that are open */
    size_t depth = 0;
    const char *c = text;
    for (;;) {
        c = skip_space(c);
        if (*c == '[' || *c == '{') {
            if (depth == DEPTH) return false;
            closing[depth++] = *c == '[' ? ']' : '}';
            c = skip_space(c + 1);
            if (*c != closing[depth - 1]) { /* not empty: its first value follows */
                if (closing[depth - 1] == '}' && !(c = skip_name(c))) return false;
                continue;
            }
        } else if (!(c = skip_scalar(c))) {
            return false;
        }
        /* behind a value; an empty array or object ends here too */
        for (c = skip_space(c); depth > 0 && *c == closing[depth - 1]; c = skip_space(c + 1)) depth--;
        if (depth == 0) return c == text + n;
        if (*c++ != ',') return false;
        if (closing[depth - 1] == '}' && !(c = skip_name(c))) return false;
    }
}
