/*
 * Text, piece by piece.
 */
#include "feed.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are read at once, and those that one row may have. */
enum { PIECE = 1 << 20, LONGEST = 256 << 20 };

bool feed_begin(struct feed *feed, struct input *in) {
    *feed = (struct feed){.in = in, .line = 1};
    if (!feed_more(feed)) return false;
    if (feed->n >= 3 && memcmp(feed->bytes, "\xef\xbb\xbf", 3) == 0) feed->at = 3; /* a mark of its encoding */
    return true;
}

bool feed_more(struct feed *feed) {
    size_t left = feed->n - feed->at, got;
    if (left > 0 && feed->at > 0) memmove(feed->bytes, feed->bytes + feed->at, left);
    feed->at = 0;
    feed->n = left;
    if (feed->room - left < PIECE) {
        size_t room = 2 * feed->room + 2 * (size_t)PIECE;
        if (left > LONGEST) return complain("%s: line %" PRIu64 ": a row of more than 256 MB", feed->in->name, feed->line), false;
        char *larger = realloc(feed->bytes, room + 1);
        if (!larger) return complain("out of memory"), false;
        feed->bytes = larger;
        feed->room = room;
    }
    if (!input_read(feed->in, feed->bytes + left, feed->room - left, &got)) return false;
    input_progress(feed->in, 0);
    feed->n += got;
    feed->bytes[feed->n] = '\0';
    feed->ended = got == 0;
    return true;
}

void feed_end(struct feed *feed) {
    free(feed->bytes);
    feed->bytes = NULL;
}
