/*
 * Prints the info of an array or a frame of any format.
 */
#ifndef ARRAY_INFO_H
#define ARRAY_INFO_H

#include "dataset.h"

/* Members of an object, from ", " on: ndim, shape, chunkshape, blockshape, dtype, codec, filters, metalayers, and what a frame
 * has beside these. */
void array_put_json(const struct dataset *dataset);
/* The same as lines. */
void array_put_lines(const struct dataset *dataset);

#endif
