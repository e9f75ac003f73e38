/* What cost.c and cost.cc do alike, each in its language: a program for cost.sh to count the instructions of.
 *
 * Its calls are the cheapest that there are, so that what is spent around them shows: short records that are stored as they are,
 * in a file that is mapped, without checksums; and an item of an array that is stored as it is. */
#ifndef COST_H
#define COST_H

#include <holdall.h>

enum { RECORDS = 4096, ROUNDS = 40000, ITEMS = 8192 };

#ifdef __cplusplus
extern "C" {
#endif

/* Each reads what it is asked for ROUNDS times, or to its end, and returns a sum of it. cost.sh counts what is spent in them. */
uint64_t count_reads(const char *path);
uint64_t count_stream(const char *path);
uint64_t count_batch(const char *path);
uint64_t count_boxes(const char *path);

#ifdef __cplusplus
}
#endif

#endif
