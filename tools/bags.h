/*
 * Bags as the command line names them: an open bag, a slice of it.
 *
 * Whatever fails here has been said on stderr when the function returns.
 */
#ifndef BAGS_H
#define BAGS_H

#include "args.h"
#include "holdall.h"

#include <stddef.h>

/* Opens what was named, with the slice that was asked for. */
holdall_bag *open_bag(const char *spec, const struct args *args, const holdall_options *options);
/* The files that a spec names, each with a NUL behind it, *n bytes together, to be freed; NULL: it failed. */
char *files_of_bag(const char *spec, size_t *n);

#endif
