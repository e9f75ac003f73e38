/*
 * Open superchunks, and their content piece by piece.
 */
#include "schunks.h"
#include "options.h"
#include "relay.h"
#include "report.h"
#include "signals.h"

#include <inttypes.h>
#include <stdlib.h>

/* Bytes of content that a piece should have, so that its chunks are decoded in parallel, and those that it has
 * at most, however large a chunk is. */
#define PIECE_TARGET ((uint64_t)8 << 20)
#define PIECE_MOST ((uint64_t)64 << 20)

holdall_schunk *open_schunk(const char *path, holdall_mode mode, const holdall_options *options) {
    holdall_schunk *schunk = NULL;
    holdall_error error;
    if (holdall_schunk_open(path, mode, options, &schunk, &error) < 0) complain_error(path, &error, "");
    return schunk;
}

/* ---- opening ---- */

/* Checks that all chunks and the metadata exist, and reports those that do not: a handle opened to skip damage
 * does not report it. Returns false for any other error. */
static bool look_for_damage(struct source *source, const holdall_options *options) {
    holdall_schunk *schunk;
    holdall_error error;
    const void *metadata;
    size_t n;
    holdall_status status = holdall_schunk_open(source->path, HOLDALL_READ, options, &schunk, &error);
    if (status >= 0) status = holdall_schunk_attr_get(schunk, "", &metadata, &n, &error);
    holdall_schunk_close(schunk);
    if (status >= 0) return true;
    source->damaged = source->structure_damaged = status == HOLDALL_E_FORMAT || status == HOLDALL_E_CHECKSUM;
    complain_error(source->path, &error, source->damaged ? " (skipped)" : "");
    return source->damaged;
}

bool source_open(struct source *source, const char *path, const struct args *args) {
    *source = (struct source){.path = path, .args = args};
    holdall_options *options = reader_options(args);
    if (!options) return false;
    bool good = !args->skip_damaged ||
                (look_for_damage(source, options) && set_option(options, HOLDALL_OPT_SKIP_DAMAGED, 1));
    if (good) source->schunk = open_schunk(path, HOLDALL_READ, options);
    holdall_options_free(options);
    return source->schunk != NULL;
}

bool source_metadata(const struct source *source) {
    const void *metadata;
    size_t n;
    holdall_error error;
    if (holdall_schunk_attr_get(source->schunk, "", &metadata, &n, &error) >= 0) return true;
    return complain_error(source->path, &error, ""), false;
}

void source_close(struct source *source) {
    holdall_schunk_close(source->schunk);
    free(source->corrupt);
}

/* ---- chunks ---- */

static uint64_t chunk_bytes(const struct source *source, uint64_t chunk) {
    holdall_chunk_info info = {.struct_size = sizeof info};
    return holdall_schunk_get_chunk_info(source->schunk, chunk, &info, NULL) >= 0 ? info.nbytes : 0;
}

/* Goes to the chunk that holds this byte of content. */
static void go_to(struct source *source, uint64_t at) {
    if (at < source->at) source->chunk = source->at = 0;
    uint64_t n;
    while (source->chunk < holdall_schunk_chunk_count(source->schunk) &&
           source->at + (n = chunk_bytes(source, source->chunk)) <= at) {
        source->at += n;
        source->chunk++;
    }
}

/* ---- reading ---- */

/* A holdall_fault_fn: takes down the chunks that cannot be decoded. Those with a wrong checksum are known without. */
static int take_down(void *ctx, const char *part, const holdall_error *fault) {
    (void)part;
    struct source *source = ctx;
    if (fault->position < 0) return 0;
    source->corrupt_chunks = true;
    if (fault->status == HOLDALL_E_CHECKSUM) return 0;
    if ((source->corrupt_count & (source->corrupt_count - 1)) == 0) { /* a power of two fills it */
        size_t room = source->corrupt_count > 0 ? 2 * source->corrupt_count : 1;
        uint64_t *larger = room <= SIZE_MAX / sizeof *larger ? realloc(source->corrupt, room * sizeof *larger) : NULL;
        if (!larger) return 1;
        source->corrupt = larger;
    }
    source->corrupt[source->corrupt_count++] = (uint64_t)fault->position;
    return 0;
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void look_for_chunks(struct source *source) {
    if (source->verified) return;
    source->verified = true;
    struct args checking = *source->args;
    checking.unchecked = false;
    holdall_options *options = reader_options(&checking);
    if (options) (void)!holdall_verify(source->path, options, take_down, source, NULL, NULL);
    holdall_options_free(options);
}

void source_report_damage(struct source *source, const char *where) {
    if (source->reported > 0) return;
    source->reported = 1;
    source->damaged = true;
    if (source->structure_damaged) look_for_chunks(source);
    if (source->structure_damaged && !source->corrupt_chunks) return;
    complain("%s: some of it is damaged, and zeros %s (verify names it)", source->path, where);
}

/* Returns whether this chunk cannot be decoded although its checksum, if any, is correct. */
static bool is_undecodable(struct source *source, uint64_t chunk) {
    if (!source->structure_damaged) return true; /* else nothing would have been reported */
    look_for_chunks(source);
    return source->corrupt && bsearch(&chunk, source->corrupt, source->corrupt_count, sizeof chunk, compare);
}

static void report_damage(struct source *source, uint64_t chunk) {
    holdall_error error;
    size_t n;
    if (source->reported == chunk + 1) return;
    source->reported = chunk + 1;
    source->damaged = true;
    if (holdall_schunk_read_raw(source->schunk, chunk, NULL, 0, &n, &error) < 0) {
        complain_error(source->path, &error, " (skipped)");
    } else if (is_undecodable(source, chunk)) {
        complain("%s: chunk %" PRIu64 ": it cannot be decoded (skipped)", source->path, chunk);
    }
}

/* Some of what was read is damaged, and zeros now: finds the chunks. */
static void find_damage(struct source *source, uint64_t at, unsigned char *dst, uint64_t n) {
    for (uint64_t end = at + n; at < end;) {
        go_to(source, at);
        uint64_t next = source->at + chunk_bytes(source, source->chunk);
        if (next <= at || next > end) next = end;
        holdall_status status = holdall_schunk_read(source->schunk, at, dst, (size_t)(next - at), NULL);
        if (status == HOLDALL_DAMAGED) report_damage(source, source->chunk);
        dst += next - at;
        at = next;
    }
}

bool source_read(struct source *source, uint64_t at, void *dst, size_t n) {
    holdall_error error;
    holdall_status status = holdall_schunk_read(source->schunk, at, dst, n, &error);
    if (status == HOLDALL_DAMAGED) find_damage(source, at, dst, n);
    if (status < 0) complain_error(source->path, &error, "");
    return status >= 0;
}

/* Where a piece of at least so many bytes ends that begins here: with a chunk, or inside one that is too large to
 * be read at once. */
static uint64_t piece_end(struct source *source, uint64_t at, uint64_t to, uint64_t target) {
    go_to(source, at);
    uint64_t end = source->at;
    for (uint64_t c = source->chunk; c < holdall_schunk_chunk_count(source->schunk); c++) {
        uint64_t next = end + chunk_bytes(source, c);
        if (end > at && next - at > PIECE_MOST) break;
        end = next;
        if (end > at && end - at >= target) break;
    }
    if (end <= at || end - at > PIECE_MOST) end = at + PIECE_MOST;
    return end < to ? end : to;
}

/* Reads a piece. Reports an error only for a single chunk, so that all chunks before it are read. */
static bool read_piece(struct source *source, uint64_t at, void *dst, size_t n, bool one_chunk) {
    if (one_chunk) return source_read(source, at, dst, n);
    holdall_status status = holdall_schunk_read(source->schunk, at, dst, n, NULL);
    if (status == HOLDALL_DAMAGED) find_damage(source, at, dst, n);
    return status >= 0;
}

struct stream {
    struct source *source;
    uint64_t at, to, target;
    sink_fn sink;
    void *ctx;
};

static bool make_piece(void *ctx, struct piece *piece) {
    struct stream *s = ctx;
    while (s->at < s->to) {
        size_t n = (size_t)(piece_end(s->source, s->at, s->to, s->target) - s->at);
        if (!piece_room(piece, n)) return complain("out of memory"), false;
        if (read_piece(s->source, s->at, piece->bytes, n, s->target == 1)) {
            piece->n = n;
            s->at += n;
            return true;
        }
        if (s->target == 1) return false;
        s->target = 1;
    }
    return true;
}

static bool take_piece(void *ctx, const struct piece *piece) {
    struct stream *s = ctx;
    return s->sink(s->ctx, piece->bytes, piece->n);
}

bool source_stream(struct source *source, uint64_t from, uint64_t to, sink_fn sink, void *ctx) {
    struct stream s = {.source = source, .at = from, .to = to, .target = PIECE_TARGET, .sink = sink, .ctx = ctx};
    return relay(make_piece, take_piece, &s, TAKE_HERE);
}

bool to_stdout(void *ctx, const void *bytes, size_t n) {
    (void)ctx;
    return !stopped && put_bytes(bytes, n);
}
