/*
 * Bags as the command line names them: from flags to options, an open bag, a slice of it.
 *
 * Whatever fails here has been said on stderr when the function returns.
 */
#ifndef BAGS_H
#define BAGS_H

#include "args.h"
#include "holdall.h"

#include <stdbool.h>

/* The options that the flags of a reading command ask for. */
holdall_options *reader_options(const struct args *args);
/* Sets one option. */
bool set_option(holdall_options *options, holdall_option option, int64_t value);
/* Sets what --compression and --dictionary ask for. */
bool set_compression(holdall_options *options, const struct args *args);
/* Opens what was named, with the slice that was asked for. */
holdall_bag *open_bag(const char *spec, const struct args *args, const holdall_options *options);

/* The bytes of a whole file ("-": of stdin), to be freed. */
bool read_whole_file(const char *path, unsigned char **bytes, size_t *n);

#endif
