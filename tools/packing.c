/*
 * A file becomes content.
 */
#include "packing.h"
#include "arrays.h"
#include "convert.h"
#include "options.h"
#include "relay.h"
#include "report.h"
#include "signals.h"
#include "tool.h"
#include "info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are handed over at once: several chunks, to be compressed in parallel. */
enum { PIECE = 8 << 20, PIECE_MOST = 256 << 20 };

/* ---- flags ---- */

int check_chunk_flags(const struct args *args) {
    if (args->no_checksum && args->checksum != NOT_GIVEN) {
        return usage_error(args->command, "--no-checksum and --checksum exclude each other");
    }
    if (args->filters && args->shuffle != NOT_GIVEN) return usage_error(args->command, "--filters and --shuffle exclude each other");
    if (args->level == NOT_GIVEN || (args->level >= 0 && args->level <= 9)) return -1;
    return usage_error(args->command, "--level takes a whole number from 0 to 9 for chunks, not %lld", (long long)args->level);
}

static bool set_filters(holdall_options *options, const unsigned char *bytes, size_t n) {
    holdall_error error;
    if (holdall_options_set_bytes(options, HOLDALL_OPT_FILTERS, bytes, n, &error) >= 0) return true;
    complain_error("", &error, "");
    return false;
}

/* Parses a comma-separated list of filters; "none" alone is an empty list. */
static bool set_named_filters(holdall_options *options, const char *names) {
    static const struct {
        const char *name;
        unsigned char number;
    } filters[] = {{"none", HOLDALL_FILTER_NONE},   {"shuffle", HOLDALL_FILTER_SHUFFLE},     {"bitshuffle", HOLDALL_FILTER_BITSHUFFLE},
                 {"delta", HOLDALL_FILTER_DELTA}, {"bytedelta", HOLDALL_FILTER_BYTEDELTA}};
    enum { FILTERS = sizeof filters / sizeof *filters };
    unsigned char bytes[6];
    size_t n = 0, length;
    for (const char *at = names;; at += length + 1) {
        size_t i = 0;
        length = strcspn(at, ",");
        while (i < FILTERS && (strlen(filters[i].name) != length || memcmp(filters[i].name, at, length) != 0)) i++;
        if (i == FILTERS || n == sizeof bytes) {
            complain("--filters takes up to 6 of shuffle, bitshuffle, delta and bytedelta, with commas between them, or none, not '%s'", names);
            return false;
        }
        if (filters[i].number != HOLDALL_FILTER_NONE) bytes[n++] = filters[i].number;
        if (at[length] == '\0') return set_filters(options, bytes, n);
    }
}

static bool set_filter_flags(holdall_options *options, const struct args *args) {
    unsigned char one = (unsigned char)(HOLDALL_FILTER_NONE + args->shuffle);
    if (args->filters) return set_named_filters(options, args->filters);
    return args->shuffle == NOT_GIVEN || set_filters(options, &one, 1);
}

bool set_chunk_options(holdall_options *options, const struct args *args) {
    return set_given(options, HOLDALL_OPT_THREADS, args->threads) &&
           set_choice(options, HOLDALL_OPT_CODEC, HOLDALL_CODEC_NONE, args->codec) && set_given(options, HOLDALL_OPT_LEVEL, args->level) &&
           set_filter_flags(options, args) && set_commit_options(options, args);
}

bool set_file_options(holdall_options *options, const struct args *args) {
    static const int64_t versions[] = {[VERSION_1] = 1, [VERSION_2] = 2, [VERSION_3] = 3, [VERSION_RFC] = 103};
    int64_t version = args->format_version == NOT_GIVEN ? NOT_GIVEN : versions[args->format_version];
    int64_t checksum = args->no_checksum ? 0 : args->checksum;
    return set_given(options, HOLDALL_OPT_CHUNK_BYTES, args->chunk_size) &&
           set_choice(options, HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE, checksum) &&
           (!args->sparse || set_option(options, HOLDALL_OPT_SPARSE, 1)) &&
           (!args->both || set_option(options, HOLDALL_OPT_BOTH_METALAYERS, 1)) && (!args->no_offsets || set_option(options, HOLDALL_OPT_OFFSETS, 0)) &&
           set_given(options, HOLDALL_OPT_FORMAT_VERSION, version);
}

bool numbers_as_shape(const struct numbers *numbers, const char *flag, const char *path, uint32_t ndim, uint64_t *room,
                      const uint64_t **shape) {
    *shape = NULL;
    if (numbers->count == 0) return true;
    if (numbers->count != ndim) {
        return complain("%s: --%s has %zu number%s, and the array has %" PRIu32 " dimension%s", path, flag, numbers->count,
                        plural(numbers->count), ndim, plural(ndim)), false;
    }
    for (uint32_t d = 0; d < ndim; d++) {
        if (numbers->items[d] < 1) {
            return complain("%s: --%s: %lld in dimension %" PRIu32 " (the first is 0): at least 1", path, flag,
                            (long long)numbers->items[d], d), false;
        }
        room[d] = (uint64_t)numbers->items[d];
    }
    *shape = room;
    return true;
}

/* ---- content ---- */

/* An array takes whole rows. */
static bool add_rows(struct packing *p, const void *piece, size_t n, uint64_t row) {
    holdall_error error;
    if (n % row != 0) {
        complain("%s: its last %" PRIu64 " bytes are no whole row of the array, of %" PRIu64 " bytes", p->in.name,
                 n % row, row);
        return false;
    }
    if (n == 0 || holdall_array_append(p->array, 0, n / row, piece, n, &error) >= 0) return true;
    complain_error(p->out, &error, "");
    return false;
}

static bool add_bytes(struct packing *p, const void *piece, size_t n) {
    holdall_error error;
    if (holdall_schunk_append(p->schunk, piece, n, &error) >= 0) return true;
    complain_error(p->out, &error, "");
    return false;
}

struct content {
    struct packing *packing;
    uint64_t row;
    size_t size; /* of a piece */
};

static bool make_piece(void *ctx, struct piece *piece) {
    struct content *c = ctx;
    if (!piece_room(piece, c->size)) return complain("out of memory"), false;
    struct packing *p = c->packing;
    if (!input_read(&p->in, piece->bytes, c->size, &piece->n)) return false;
    p->bytes += piece->n;
    input_progress(&p->in, p->bytes);
    return true;
}

static bool take_piece(void *ctx, const struct piece *piece) {
    struct content *c = ctx;
    struct packing *p = c->packing;
    return p->array ? add_rows(p, piece->bytes, piece->n, c->row) : add_bytes(p, piece->bytes, piece->n);
}

static bool add_content(struct packing *p) {
    uint64_t row = p->array ? row_bytes(p->array) : 1, chunk = row;
    if (p->array && is_frame(p->format)) chunk *= info_of_array(p->array).chunk_shape[0]; /* so that each is made once */
    uint64_t size = chunk < PIECE ? PIECE / chunk * chunk : chunk <= PIECE_MOST ? chunk : row < PIECE ? PIECE / row * row : row;
    if (size > SIZE_MAX) return complain("out of memory"), false;
    struct content c = {.packing = p, .row = row, .size = (size_t)size};
    return relay(make_piece, take_piece, &c, MAKE_HERE);
}

static bool commit(struct packing *p) {
    holdall_error error;
    if (p->exactly && p->bytes != p->expected) {
        complain("%s: type and shape%s are %" PRIu64 " bytes, %" PRIu64 " come%s", p->in.name,
                 p->args->dtype ? "" : " in its header", p->expected, p->bytes, p->args->dtype ? "" : " after it");
        return false;
    }
    holdall_status status =
        p->array ? holdall_array_commit(p->array, &error) : holdall_schunk_commit(p->schunk, &error);
    if (status < 0) complain_error(p->out, &error, "");
    return status >= 0;
}

static void summarize_as(const struct packing *p, uint64_t bytes, uint64_t parts, const char *part, uint64_t on_disk) {
    note("%s: %" PRIu64 " byte%s %s; now %" PRIu64 " byte%s in %" PRIu64 " %s%s, %" PRIu64 " bytes on disk", p->out,
         p->bytes, plural(p->bytes), p->done, bytes, plural(bytes), parts, part, plural(parts), on_disk);
}

static void summarize(const struct packing *p) {
    if (p->array) {
        summarize_as(p, holdall_array_nbytes(p->array), holdall_array_shape(p->array)[0], "row",
                     info_of_array(p->array).stored_bytes);
    } else {
        summarize_as(p, holdall_schunk_nbytes(p->schunk), holdall_schunk_chunk_count(p->schunk), "chunk",
                     info_of_schunk(p->schunk).stored_bytes);
    }
}

int packing_run(struct packing *p, bool (*open)(struct packing *p)) {
    catch_signals();
    if (!input_open(&p->in, p->from, p->out)) return FAILED;
    progress_begin(p->args->command->name, "bytes", p->args->quiet);
    bool good = open(p) && add_content(p) && !stopped && commit(p);
    progress_clear();
    if (good && !p->args->quiet) summarize(p);
    holdall_array_close(p->array);
    holdall_schunk_close(p->schunk);
    input_close(&p->in);
    if (!good && stopped) die_of_signal();
    return good ? DONE : FAILED;
}
