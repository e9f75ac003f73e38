/*
 * Is a text JSON? The tool prints other people's JSON inside its own, and must not break it.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Is it one JSON value, as RFC 8259 has it? text[n] must be NUL; that it is UTF-8 is for others to know. */
bool json_is_valid(const char *text, size_t n);

#endif
