/*
 * Characters as UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF.
 */
#include "utf8.h"

size_t utf8_length(const char *text, size_t n) {
    static const struct {
        unsigned char mask, lead, first_low, first_high, length;
    } forms[] = {
        /* the second byte decides */
        {0x80, 0x00, 0, 0, 1},       {0xe0, 0xc0, 0x80, 0xbf, 2}, {0xff, 0xe0, 0xa0, 0xbf, 3}, {0xff, 0xed, 0x80, 0x9f, 3},
        {0xf0, 0xe0, 0x80, 0xbf, 3}, {0xff, 0xf0, 0x90, 0xbf, 4}, {0xff, 0xf4, 0x80, 0x8f, 4}, {0xfc, 0xf0, 0x80, 0xbf, 4},
    };
    const unsigned char *bytes = (const unsigned char *)text;
    if (n == 0 || *bytes == 0xc0 || *bytes == 0xc1) return 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if ((*bytes & forms[i].mask) != forms[i].lead) continue;
        size_t length = forms[i].length;
        if (length > n) return 0;
        if (length > 1 && (bytes[1] < forms[i].first_low || bytes[1] > forms[i].first_high)) return 0;
        for (size_t k = 2; k < length; k++) {
            if ((bytes[k] & 0xc0) != 0x80) return 0;
        }
        return length;
    }
    return 0;
}

bool utf8_is_valid(const char *text, size_t n) {
    for (size_t i = 0, length; i < n; i += length) {
        length = (unsigned char)text[i] < 0x80 ? 1 : utf8_length(text + i, n - i);
        if (length == 0) return false;
    }
    return true;
}

size_t utf8_put(char *to, uint32_t code) {
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    for (size_t i = length; i-- > 1; code >>= 6) to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(leads[length] | code);
    return length;
}

uint32_t utf8_get(const char *text, size_t length) {
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)text[0] & masks[length];
    for (size_t i = 1; i < length; i++) code = code << 6 | ((unsigned char)text[i] & 0x3f);
    return code;
}
