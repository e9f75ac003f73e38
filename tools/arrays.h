/*
 * Arrays: superchunks of which it is known what the items are.
 *
 * These functions report errors on stderr before they return.
 */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "args.h"
#include "holdall.h"
#include "schunks.h"

/* Opens the array at a path; *array is NULL where there is a superchunk only. */
bool open_array(const char *path, holdall_mode mode, const holdall_options *options, holdall_array **array);
/* The same as a source was opened. */
bool source_array(const struct source *source, const struct args *args, holdall_array **array);

/* Returns whether its items are Python objects, which have no size. */
bool has_objects(const holdall_array *array);

/* Returns whether its items are stored in C order. */
bool in_c_order(const holdall_array *array);
/* Bytes of one index of its first dimension. */
uint64_t row_bytes(const holdall_array *array);

/* Gives the items of an array, or of the slice that is asked for, in C order. */
bool array_give(const struct args *args, struct source *source, const holdall_array *array, sink_fn sink, void *ctx);
/* Prints an array as cat does. */
bool array_print(const struct args *args, struct source *source, const holdall_array *array);

#endif
