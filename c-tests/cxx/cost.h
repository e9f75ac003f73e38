/* Loops that cost.c and cost.cc implement, each in its language. cost.sh counts their instructions.
 *
 * They call the fastest functions, so that the overhead of the interface is visible: short
 * uncompressed records of a mapped file without checksums, and an item of an uncompressed array. */
#ifndef COST_H
#define COST_H

#include <holdall.h>

enum { RECORDS = 4096, ROUNDS = 40000, ITEMS = 8192 };

#ifdef __cplusplus
extern "C" {
#endif

/* Each reads ROUNDS times, or to the end, and returns a sum of the content. cost.sh counts the
 * instructions in them. */
uint64_t count_reads(const char *path);
uint64_t count_stream(const char *path);
uint64_t count_batch(const char *path);
uint64_t count_boxes(const char *path);

#ifdef __cplusplus
}
#endif

#endif
