/*
 * Bags as the command line names them: an open bag, a slice of it.
 *
 * These functions report errors on stderr before they return.
 */
#ifndef BAGS_H
#define BAGS_H

#include "args.h"
#include "holdall.h"

#include <stddef.h>

/* Opens what was named, with the slice that was asked for. */
holdall_bag *open_bag(const char *spec, const struct args *args, const holdall_options *options);
/* Returns the files of a spec, each terminated by a NUL, *n bytes in total. The caller frees it. NULL: error. */
char *files_of_bag(const char *spec, size_t *n);

#endif
