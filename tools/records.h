/*
 * Records on their way: whatever reads some hands them to whatever writes some, many at once.
 */
#ifndef RECORDS_H
#define RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Record i is data[offsets[i]] to data[offsets[i + 1]]; there are count + 1 offsets. */
struct records {
    const unsigned char *data;
    const uint64_t *offsets;
    size_t count;
};

/* Takes some records; false stops, after an error was reported if there was one. */
typedef bool (*records_fn)(void *ctx, const struct records *records);

#endif
