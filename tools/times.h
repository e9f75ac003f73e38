/*
 * Times as NumPy counts them, in ISO 8601.
 */
#ifndef TIMES_H
#define TIMES_H

#include "text.h"
#include "type.h"

#include <stdint.h>

/* NaT: not a time. */
#define NO_TIME INT64_MIN

/* A point in time in as many parts as its unit has. */
void times_put(struct text *text, const struct type *type, int64_t value);
/* The other way. False: the text is none, or the type cannot hold it. */
bool times_parse(const struct type *type, const char *text, size_t n, int64_t *value);

#endif
