/*
 * Rows of CSV, as RFC 4180 has it: fields between commas, in quotes where they hold commas, quotes or line breaks.
 */
#ifndef CSV_H
#define CSV_H

#include "feed.h"

struct csv_field {
    char *text; /* not followed by a NUL */
    size_t n;
    bool doubled; /* there are quotes in it */
};

struct csv {
    struct feed feed;
    uint64_t line; /* where the row began */
    struct csv_field *fields;
    size_t count, room;
};

bool csv_begin(struct csv *csv, struct input *in);
/* Reads a row; none are left where `count` is 0. Empty lines are no rows. Reports errors. */
bool csv_next(struct csv *csv);
/* Returns whether the row has so many fields, and reports if not. */
bool csv_fits(const struct csv *csv, size_t columns);
void csv_end(struct csv *csv);

#endif
