/*
 * From flags to the library's options.
 *
 * These functions report errors on stderr before they return.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "args.h"
#include "holdall.h"

#include <stdbool.h>

/* Options with nothing set; NULL where there is no memory. */
holdall_options *new_options(void);
/* The options that the flags of a reading command ask for. */
holdall_options *reader_options(const struct args *args);
/* Sets one option; the second one only where the value was given. */
bool set_option(holdall_options *options, holdall_option option, int64_t value);
bool set_given(holdall_options *options, holdall_option option, int64_t value);
/* The same for a CHOICE whose values are in the order of the library's constants from `first` on. */
bool set_choice(holdall_options *options, holdall_option option, int32_t first, int64_t choice);
/* Sets what --compression and --dictionary ask for. */
bool set_compression(holdall_options *options, const struct args *args);
/* Sets what --no-sync and --no-lock ask for. */
bool set_commit_options(holdall_options *options, const struct args *args);

#endif
