/* Shared by the writers that tests kill: random numbers, items, and reports of their commits.
 *
 * Each commit is reported on standard output before it begins and after it has returned, as pairs
 * of 64-bit numbers: an event (0 opened, 1 about to commit, 2 committed) and the number of the
 * commit. */
#include "../../c-tests/short.h"

#include <holdall.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static holdall_error err;

static inline void check(holdall_status status, const char *call)
{
    if (status == HOLDALL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, holdall_status_name(status), err.message);
    exit(3);
}

static inline void set(holdall_options *o, int option, const char *number)
{
    check(holdall_options_set(o, option, atoi(number), &err), "options");
}

static inline void report(uint64_t what, uint64_t which)
{
    uint64_t message[2] = { what, which };
    if (write(1, message, sizeof message) != sizeof message)
        exit(4);
}

/* ---- random numbers, as in killing.py */

static uint64_t state;

static inline uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t next(void)
{
    state += 0x9e3779b97f4a7c15u;
    return mix(state);
}

/* ---- items of 64 bits, as in test_kill_schunk.py */

enum { CHUNK = 32768, MOST = 20000, ENOUGH = 1500000 };

static uint64_t items[MOST];

/* Item i of commit k; every fifth commit has items that do not compress. */
static inline uint64_t value(uint64_t i, uint64_t k)
{
    uint64_t noise = k % 5 ? 0xfff : 0xffffffffffu;
    return k << 48 ^ i << 12 ^ (mix(i * 0x9e3779b97f4a7c15u + k) & noise);
}

static inline void fill(uint64_t from, uint64_t n, uint64_t k)
{
    for (uint64_t i = 0; i < n; i++)
        items[i] = value(from + i, k);
}

/* Number of items that are appended before the next commit. */
static inline uint64_t how_many(void)
{
    uint64_t r = next();
    switch (r % 20) {
    case 0: return 1 + (r >> 8) % 100000;
    case 1: case 2: case 3: return 1 + (r >> 8) % 6000;
    default: return 1 + (r >> 8) % 300;
    }
}
