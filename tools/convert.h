/*
 * The ways of holdall convert: what goes over as it is, and what goes row by row. Each returns the exit code.
 */
#ifndef CONVERT_H
#define CONVERT_H

#include "args.h"
#include "dataset.h"
#include "holdall.h"

/* A superchunk, or the array in it. */
int schunk_convert(const struct args *args, int64_t as);
/* An array in C order. */
int array_convert(const struct args *args, const holdall_array *array, holdall_format format);

/* A table, or a file that has rows (`from`: FROM_*; or NOT_GIVEN), becomes a container, or a file (`as`). */
int rows_convert(const struct args *args, struct dataset *dataset, int64_t from, int64_t as);
/* An array, row by row. */
int rows_convert_array(const struct args *args, const holdall_array *array, int64_t as);

/* What convert makes of it as a container; 0: it is a plain file. */
holdall_format format_of(int64_t as);

#endif
