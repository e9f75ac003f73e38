/*
 * Superchunks as the command line names them: open ones, and their content piece by piece.
 *
 * These functions report errors on stderr before they return.
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
    bool damaged;        /* damage was found and reported */
    bool structure_damaged;        /* damage outside chunks: every read reports it */
    uint64_t chunk, at;  /* the chunk that was looked for last, and where its content begins */
    uint64_t reported;       /* the last chunk that was reported as damaged, plus 1 */
    bool verified, corrupt_chunks; /* whether chunks were verified, and whether any is corrupt */
    uint64_t *corrupt;             /* those that cannot be decoded, ascending */
    size_t corrupt_count;
};

/* Opens it. With --skip-damaged, damaged chunks read as zeros and are reported, and missing chunks at the end
 * are ignored. */
bool source_open(struct source *source, const char *path, const struct args *args);
/* Returns whether the metadata are intact, and reports if not; with --skip-damaged, source_open() reported it. */
bool source_metadata(const struct source *source);
/* Reports once that the bytes read are damaged; `where`: where the zeros are. */
void source_report_damage(struct source *source, const char *where);
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
