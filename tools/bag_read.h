/*
 * The records of a bag, as the flags choose them, some at a time.
 *
 * These functions report errors on stderr before they return.
 */
#ifndef BAG_READ_H
#define BAG_READ_H

#include "args.h"
#include "holdall.h"
#include "records.h"

struct bag_reader {
    const struct args *args;
    const char *path;
    holdall_bag *bag;   /* with a batch's memory as its limit */
    holdall_bag *roomy; /* with the user's memory limit; opened for the first record that needs it */
    holdall_epoch *epoch; /* the order of --shuffle */
    uint64_t *list;     /* the numbers of --records, or those of the epoch that come next; NULL: all, in their order */
    uint64_t begin, end; /* range of the requested records */
    uint64_t count;     /* number of requested records */
    uint64_t done;      /* those that were given on, or skipped */
    uint64_t damaged;   /* skipped so far */
};

/* Checks the flags about the order, beyond the table of flags. Returns as args_parse() does. */
int check_order(const struct args *args);
/* Opens the bag, with the slice and the list of records that are asked for. */
bool bag_reader_open(struct bag_reader *reader, const struct args *args, const char *path);
/* Passes on all of them, in order. Stops at a damaged one; --skip-damaged reports, omits and counts it. */
bool bag_reader_each(struct bag_reader *reader, records_fn take, void *ctx);
void bag_reader_close(struct bag_reader *reader);

#endif
