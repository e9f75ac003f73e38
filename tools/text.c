/*
 * Text that grows.
 */
#include "text.h"
#include "report.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *text_room(struct text *text, size_t more) {
    if (text->room - text->n < more && !text->failed) {
        size_t room = text->room < 256 ? 256 : text->room;
        while (room - text->n < more && room <= SIZE_MAX / 2) room *= 2;
        char *larger = room - text->n < more ? NULL : realloc(text->bytes, room);
        text->failed = !larger;
        if (larger) {
            text->bytes = larger;
            text->room = room;
        }
    }
    return text->failed ? NULL : text->bytes + text->n;
}

void text_put(struct text *text, const void *bytes, size_t n) {
    char *to = n > 0 ? text_room(text, n) : NULL;
    if (!to) return;
    memcpy(to, bytes, n);
    text->n += n;
}

void text_string(struct text *text, const char *string) {
    text_put(text, string, strlen(string));
}

void text_char(struct text *text, char c) {
    text_put(text, &c, 1);
}

void text_json(struct text *text, const char *bytes, size_t n) {
    char escape[8];
    text_char(text, '"');
    for (size_t i = 0, length; i < n; i += length) {
        unsigned char c = (unsigned char)bytes[i];
        length = utf8_length(bytes + i, n - i);
        if (length == 0) {
            snprintf(escape, sizeof escape, "\\\\x%02x", c);
            text_string(text, escape);
            length = 1;
        } else if (c == '"' || c == '\\') {
            text_char(text, '\\');
            text_char(text, (char)c);
        } else if (c < 0x20 || c == 0x7f) {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            text_string(text, escape);
        } else {
            text_put(text, bytes + i, length);
        }
    }
    text_char(text, '"');
}

void text_tuple(struct text *text, const uint64_t *numbers, uint32_t count) {
    char number[32];
    text_char(text, '(');
    for (uint32_t i = 0; i < count; i++) {
        snprintf(number, sizeof number, "%s%" PRIu64, i ? ", " : "", numbers[i]);
        text_string(text, number);
    }
    text_string(text, count == 1 ? ",)" : ")");
}

char *text_take(struct text *text) {
    text_char(text, '\0');
    if (!text->failed) return text->bytes;
    complain("out of memory");
    text_free(text);
    return NULL;
}

void text_free(struct text *text) {
    free(text->bytes);
    *text = (struct text){.bytes = NULL};
}

#if defined(__GNUC__)
__attribute__((format(printf, 1, 0)))
#endif
char *text_format(const char *format, va_list list) {
    va_list again;
    va_copy(again, list);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = n < 0 ? NULL : malloc((size_t)n + 1);
    if (text) vsnprintf(text, (size_t)n + 1, format, list);
    return text;
}

/* Returns whether it is a UTF-8 continuation byte. */
static bool continues(char c) {
    return ((unsigned char)c & 0xc0) == 0x80;
}

void shorten(char *text, size_t most) {
    static const char dots[] = "...";
    enum { DOTS = sizeof dots - 1 };
    size_t length = strlen(text);
    if (length <= most || most < DOTS) return;
    size_t head = (most - DOTS) / 3, tail = length - (most - DOTS - head);
    while (head > 0 && continues(text[head])) head--;
    while (continues(text[tail])) tail++;
    memcpy(text + head, dots, DOTS);
    memmove(text + head + DOTS, text + tail, length - tail + 1);
}
