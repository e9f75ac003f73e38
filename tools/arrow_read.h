/*
 * Reading Arrow's IPC format, a stream or a file: one column of it, text or bytes, becomes records.
 */
#ifndef ARROW_READ_H
#define ARROW_READ_H

#include "files.h"
#include "records.h"

/* Gives on the values of a column (`column` NULL: of the only one that has text or bytes), a record each. `most`: the bytes
 * that a message, the offsets or a value may have. What fails has been said, by the number of the batch and its place in the
 * file. */
bool arrow_each(struct input *in, const char *column, uint64_t most, records_fn take, void *ctx);

#endif
