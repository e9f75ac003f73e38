/*
 * Is a text JSON? The tool prints other people's JSON inside its own, and must not break it.
 */
#ifndef JSON_H
#define JSON_H

#include "text.h"

#include <stdbool.h>
#include <stddef.h>

/* Returns whether it is one JSON value (RFC 8259). text[n] must be NUL. Does not check UTF-8. */
bool json_is_valid(const char *text, size_t n);

/* Of a text that is known to be JSON: what follows space, and a value. */
const char *json_skip_space(const char *at);
const char *json_skip_value(const char *at);
/* Reads a string to UTF-8; returns what follows it. */
const char *json_read_string(const char *at, struct text *text);

#endif
