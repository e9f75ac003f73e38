/*
 * Reading Arrow's IPC format, a stream or a file: one column of it, text or bytes, becomes records.
 */
#ifndef ARROW_READ_H
#define ARROW_READ_H

#include "files.h"
#include "records.h"

/* Passes on the values of a column (`column` NULL: of the only one with text or bytes), a record each. `most`: the limit
 * in bytes of a message, of the offsets and of a value. Errors are reported with the number of the batch and its offset. */
bool arrow_each(struct input *in, const char *column, uint64_t most, records_fn take, void *ctx);

#endif
