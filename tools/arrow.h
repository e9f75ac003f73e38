/*
 * Arrow's C structures, as https://arrow.apache.org/docs/format/CDataInterface.html has them, and a stream of them on
 * stdout in Arrow's IPC format.
 */
#ifndef ARROW_H
#define ARROW_H

#include "frame.h"

#include <stdbool.h>
#include <stdint.h>

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

/* Prints what a stream has: of its columns those of `count` whose numbers are in `columns`. What fails has been said. */
bool arrow_print(struct ArrowArrayStream *stream, const char *path, const uint32_t *columns, uint32_t count);

#endif
