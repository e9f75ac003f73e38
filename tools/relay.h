/*
 * Pieces go from who makes them to who takes them: the next one is made while one is taken.
 */
#ifndef RELAY_H
#define RELAY_H

#include <stdbool.h>
#include <stddef.h>

struct piece {
    unsigned char *bytes;
    size_t n, room;
};

/* Makes it large enough; what it held is lost. False: out of memory. */
bool piece_room(struct piece *piece, size_t n);

/* Makes the next piece; n stays 0: there are no more. False: it failed. */
typedef bool (*make_fn)(void *ctx, struct piece *piece);
/* Takes a piece; false stops. */
typedef bool (*take_fn)(void *ctx, const struct piece *piece);

/* The work of the calling thread. The other thread gets no signals, so calls that a signal must interrupt belong here. */
enum relay_here { MAKE_HERE, TAKE_HERE };

/* All that could be made before something failed has been taken when this returns. True: nothing failed. */
bool relay(make_fn make, take_fn take, void *ctx, enum relay_here here);

#endif
