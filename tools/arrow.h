/* A stream of Arrow's C structures, on stdout, or where results go, in Arrow's IPC format. */
#ifndef ARROW_H
#define ARROW_H

#include "frame.h"

#include <stdbool.h>

/* Prints what a stream has, as a stream or as a `file`: of its columns those of `count` whose numbers are in `columns`. Reports
 * errors. */
bool arrow_print(struct ArrowArrayStream *stream, const char *path, const uint32_t *columns, uint32_t count, bool file);
/* The same for rows of a table: the columns of a frame. */
bool table_print_arrow(const struct frame *frame, const struct selection *rows, const holdall_table *table, bool file);

#endif
