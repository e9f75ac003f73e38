/*
 * A file of text, a piece at a time in memory.
 *
 * These functions report errors on stderr before they return.
 */
#ifndef FEED_H
#define FEED_H

#include "files.h"

struct feed {
    struct input *in;
    char *bytes; /* those from `at` to `n` are still to be taken; a NUL follows them */
    size_t at, n, room;
    bool ended;
    uint64_t line; /* the number of the line that begins at `at` */
};

bool feed_begin(struct feed *feed, struct input *in);
/* Appends more bytes to the buffer, which may move: what is not taken is then at the front. False: it failed; where
 * there was no more, `ended` is set. */
bool feed_more(struct feed *feed);
void feed_end(struct feed *feed);

#endif
