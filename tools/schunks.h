/*
 * Superchunks as the command line names them: open ones, and their content piece by piece.
 *
 * Whatever fails here has been said on stderr when the function returns.
 */
#ifndef SCHUNKS_H
#define SCHUNKS_H

#include "args.h"
#include "holdall.h"

/* Opens one; NULL: it failed. */
holdall_schunk *open_schunk(const char *path, holdall_mode mode, const holdall_options *options);

/* A superchunk whose content is read. */
struct source {
    const char *path;
    holdall_schunk *schunk;
    const struct args *args;
    bool damaged;        /* something was, and was told of */
    bool unsound;        /* that is not a chunk: reads tell of damage wherever they are */
    uint64_t chunk, at;  /* the chunk that was looked for last, and where its content begins */
    uint64_t told;       /* the last chunk that was told to be damaged, plus 1 */
    bool verified, bad_chunks; /* was it looked for damaged chunks, and are there any? */
    uint64_t *bad;             /* those that cannot be decoded, rising */
    size_t bad_count;
};

/* Opens it. With --skip-damaged what is damaged reads as zeros, each such chunk is told of, and what is
 * missing at the end is as if it had never been. */
bool source_open(struct source *source, const char *path, const struct args *args);
/* Are the metadata sound? Says where they are not; with --skip-damaged that was said when it was opened. */
bool source_metadata(const struct source *source);
/* What was read somewhere has damage in it: says so, once, with `where` the zeros are. */
void source_tell_damage(struct source *source, const char *where);
bool source_read(struct source *source, uint64_t at, void *dst, size_t n);
void source_close(struct source *source);

/* Takes a piece of content; false stops. */
typedef bool (*sink_fn)(void *ctx, const void *bytes, size_t n);
/* The sink that is stdout. */
bool to_stdout(void *ctx, const void *bytes, size_t n);
/* Reads the content of a range, each chunk once, in pieces that take little memory. */
bool source_stream(struct source *source, uint64_t from, uint64_t to, sink_fn sink, void *ctx);

/* Gives content as it is, or the items of the slice that is asked for. */
bool source_give(struct source *source, const struct args *args, sink_fn sink, void *ctx);

#endif
