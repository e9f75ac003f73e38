/*
 * Items as text: as JSON, or as a field of CSV.
 */
#ifndef CELL_H
#define CELL_H

#include "text.h"
#include "type.h"

/* A JSON value. What is no number, and no time, is null. */
void cell_put_json(struct text *text, const struct type *type, const unsigned char *bytes);
/* A field of CSV, in quotes where it needs them; items with parts are JSON in there. */
void cell_put_csv(struct text *text, const struct type *type, const unsigned char *bytes);
/* Any text as a field of CSV, in quotes. */
void csv_put_field(struct text *text, const char *field, size_t n);

#endif
