/*
 * Text that grows: lines are put together here before they are printed.
 */
#ifndef TEXT_H
#define TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *bytes;
    size_t n, room;
    bool failed; /* there was no memory: what was put since is not there */
    bool escaped; /* there is something in it that does not read back: bytes that are no characters */
};

/* Makes room for so many bytes more; where they go, or NULL. */
char *text_room(struct text *text, size_t more);
void text_put(struct text *text, const void *bytes, size_t n);
void text_string(struct text *text, const char *string);
void text_char(struct text *text, char c);
/* Puts a JSON string with its quotes; invalid UTF-8 becomes \xNN, as text. */
void text_json(struct text *text, const char *bytes, size_t n);
/* Numbers as a tuple of Python's: "(3,)", "(3, 2)". */
void text_tuple(struct text *text, const uint64_t *numbers, uint32_t count);
/* Returns the text, terminated by a NUL. The caller frees it. NULL: out of memory, which was reported. */
char *text_take(struct text *text);
void text_free(struct text *text);

/* The text of a format, to be freed by the caller; NULL: no memory. */
char *text_format(const char *format, va_list list);
/* Shortens a string in place to at most `most` bytes: its middle becomes "...", a third of what stays is before that, and no
 * character of UTF-8 is cut. */
void shorten(char *text, size_t most);

#endif
