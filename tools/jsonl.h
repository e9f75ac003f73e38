/*
 * Rows of JSON lines: an object a line, whose members are the columns, or a value a line.
 */
#ifndef JSONL_H
#define JSONL_H

#include "feed.h"
#include "text.h"

struct jsonl {
    struct feed feed;
    uint64_t line; /* the number of the one that was read last */
    const char *at; /* in it */
    bool there;    /* is there one? */
    bool values;   /* lines are values, not objects; set before one is read */
    struct text name;
};

bool jsonl_begin(struct jsonl *jsonl, struct input *in);
/* Reads a line and skips empty ones; *there is false at the end. Errors are reported on stderr. */
bool jsonl_next(struct jsonl *jsonl);
/* Lines are objects: the one that was read, and those that follow. True. */
bool jsonl_objects(struct jsonl *jsonl);
/* The next member of the object: its name is in `name`, its value is the JSON of n bytes at *value. False: no more. */
bool jsonl_member(struct jsonl *jsonl, const char **value, size_t *n);
/* The value of a line, JSON of n bytes. */
const char *jsonl_value(const struct jsonl *jsonl, size_t *n);
void jsonl_end(struct jsonl *jsonl);

#endif
