/*
 * A bag that is written: one file, several shards, or one of them.
 *
 * Nothing counts before the commit: whatever fails before it, or a signal, leaves what was there as it was.
 * These functions report errors on stderr before they return.
 */
#ifndef BAG_WRITE_H
#define BAG_WRITE_H

#include "args.h"
#include "holdall.h"
#include "records.h"

struct bag_out {
    const struct args *args;
    char *path; /* with what --shards asks for */
    holdall_bag_writer *writer;
    uint64_t records, bytes; /* so far */
};

/* Checks the flags about writing, beyond the table of flags. Returns as args_parse() does. */
int check_bag_out(const struct args *args);
/* The name, or spec, of the bag that is written: what --shards and --shard make of OUT. To be freed. */
char *bag_out_path(const struct args *args, const char *path);

/* Opens what bag_out_path() says. */
bool bag_out_open(struct bag_out *out);
/* A records_fn: appends them. */
bool bag_out_take(void *out, const struct records *records);
bool bag_out_commit(struct bag_out *out);
/* Says what was done, but for --quiet. */
void bag_out_summarize(const struct bag_out *out, const char *done);
void bag_out_close(struct bag_out *out);

#endif
