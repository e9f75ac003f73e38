/* A stream of Arrow's C structures, on stdout in Arrow's IPC format. */
#ifndef ARROW_H
#define ARROW_H

#include "arrow_c.h"
#include "frame.h"

#include <stdbool.h>

/* Prints what a stream has: of its columns those of `count` whose numbers are in `columns`. What fails has been said. */
bool arrow_print(struct ArrowArrayStream *stream, const char *path, const uint32_t *columns, uint32_t count);

#endif
