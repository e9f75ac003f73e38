/*
 * Items from text: the other way round than cell.h.
 */
#ifndef ITEM_H
#define ITEM_H

#include "type.h"

/* Each writes an item of the type and returns NULL, or a message to follow "'x' " if the value does not fit. */

/* From a field of CSV; text[n] must be there, and be none of a number's characters. */
const char *item_parse(const struct type *type, const char *text, size_t n, unsigned char *to);
/* From a valid JSON value; moves *at past it. */
const char *item_parse_json(const struct type *type, const char **at, unsigned char *to);
/* The item for a missing value: NaN, NaT, or an empty string. */
const char *item_missing(const struct type *type, unsigned char *to);

#endif
