/*
 * Reads Arrow's IPC format: messages of metadata, each followed by a body. A file is a stream between two magic strings,
 * with a footer that has the offsets of the batches. The reader uses the footer if the input can seek.
 * https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc
 */
#define _POSIX_C_SOURCE 200809L

#include "arrow_read.h"
#include "arrow_batch.h"
#include "report.h"
#include "signals.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Bytes that the metadata of a message may have. */
enum { METADATA_MOST = 256 << 20 };
/* Offsets of the fields that are read in the footer. */
enum { FOOTER_SCHEMA = 1, FOOTER_BATCHES = 3, BLOCK = 24 };

static const char FILE_MARK[] = "ARROW1";
enum { MARK = 6, TAIL = 4 + MARK };

/* ---- messages ---- */

/* Reads the metadata of the next message; *end: there is none. */
static bool next_message(struct arrow_in *a, struct flat *flat, size_t *message, bool *end) {
    unsigned char word[4];
    size_t got;
    a->begin = a->position;
    if (!arrow_get(a, word, 4, &got)) return false;
    *end = got == 0;
    if (*end) return true;
    if (got < 4) return arrow_fail(a, "the file is cut off in it");
    struct flat length = {word, 4, false};
    bool marked = flat_get(&length, 0, 4) == UINT32_MAX; /* the oldest writers have no such mark */
    if (marked && !arrow_get_all(a, word, 4)) return false;
    uint64_t n = flat_get(&length, 0, 4);
    *end = n == 0;
    if (*end) return true;
    a->meta.n = 0;
    if (n > METADATA_MOST) return arrow_fail(a, "it does not begin as a message: the file is damaged, or of another kind");
    if (!arrow_get_text(a, &a->meta, n)) return false;
    *flat = (struct flat){(const unsigned char *)a->meta.bytes, a->meta.n, false};
    *message = flat_root(flat);
    return true;
}

static bool read_messages(struct arrow_in *a, const char *column, bool *ended) {
    bool schema = false, end = false;
    struct flat flat;
    size_t message = 0;
    while (next_message(a, &flat, &message, &end) && !end) {
        uint64_t kind = flat_field_number(&flat, message, MESSAGE_KIND, 1), body = flat_field_number(&flat, message, MESSAGE_BODY, 8);
        if (flat.broken || (kind == SCHEMA) == schema || kind < SCHEMA || kind > RECORD_BATCH || body > INT64_MAX) {
            return arrow_fail(a, schema ? "a message that is no batch" : "there is no schema in front: the file is damaged, or of another kind");
        }
        bool good = true;
        if (kind == SCHEMA) {
            good = arrow_find_column(&flat, flat_field_table(&flat, message, MESSAGE_HEADER), column, a->in->name, &a->column) && arrow_pass(a, body);
            schema = true;
        } else if (kind == DICTIONARY_BATCH) {
            good = arrow_pass(a, body);
        } else {
            good = arrow_batch(a, &flat, message);
            a->batch++;
        }
        input_progress(a->in, a->rows);
        if (!good || stopped) return false;
    }
    *ended = end && a->position > a->begin; /* by its mark, and not by the end of the file */
    return end && (schema || arrow_fail(a, "there is no schema"));
}

/* ---- by the footer ---- */

static bool go_to(struct arrow_in *a, uint64_t position) {
    if (position > INT64_MAX - a->base || lseek(a->in->fd, (off_t)(a->base + position), SEEK_SET) < 0) {
        return arrow_fail(a, "its footer is broken");
    }
    a->holding = 0;
    a->position = a->begin = a->in->done = position;
    return true;
}

static bool cut_off(const struct arrow_in *a) {
    return complain("%s: the mark at its end is not there: the file is cut off", a->in->name), false;
}

/* The length of the footer, and the mark, are the last bytes. */
static bool read_footer(struct arrow_in *a, struct text *footer) {
    unsigned char tail[TAIL];
    uint64_t size = a->in->total;
    if (size < MARK + TAIL || !go_to(a, size - TAIL)) return cut_off(a);
    if (!arrow_get_all(a, tail, TAIL)) return false;
    if (memcmp(tail + 4, FILE_MARK, MARK) != 0) return cut_off(a);
    struct flat length = {tail, TAIL, false};
    uint64_t n = flat_get(&length, 0, 4);
    if (n > size - TAIL) return complain("%s: its footer is broken", a->in->name), false;
    return go_to(a, size - TAIL - n) && arrow_get_text(a, footer, n);
}

static bool read_block(struct arrow_in *a, uint64_t position) {
    struct flat flat;
    size_t message = 0;
    bool end = false;
    if (!go_to(a, position) || !next_message(a, &flat, &message, &end)) return false;
    bool batch = !end && flat_field_number(&flat, message, MESSAGE_KIND, 1) == RECORD_BATCH && !flat.broken;
    if (!batch) return arrow_fail(a, "there is no batch, where the footer says that there is one");
    if (!arrow_batch(a, &flat, message)) return false;
    a->batch++;
    input_progress(a->in, a->rows);
    return !stopped;
}

/* Reads the batches that a footer lists, each once. */
static bool read_blocks(struct arrow_in *a, struct flat *flat, size_t footer) {
    uint32_t count;
    size_t blocks = flat_field_vector(flat, footer, FOOTER_BATCHES, BLOCK, &count);
    uint64_t end = MARK; /* of the batch before */
    for (uint32_t i = 0; i < count && !flat->broken; i++, end = a->position) {
        uint64_t position = flat_get(flat, blocks + BLOCK * (size_t)i, 8);
        flat->broken |= position < end;
        if (!flat->broken && !read_block(a, position)) return false;
    }
    return !flat->broken || (complain("%s: its footer is broken", a->in->name), false);
}

static bool read_by_footer(struct arrow_in *a, const char *column) {
    struct text bytes = {.bytes = NULL};
    bool good = read_footer(a, &bytes);
    struct flat flat = {(const unsigned char *)bytes.bytes, bytes.n, false};
    size_t footer = good ? flat_root(&flat) : 0;
    good = good && arrow_find_column(&flat, flat_field_table(&flat, footer, FOOTER_SCHEMA), column, a->in->name, &a->column) &&
           read_blocks(a, &flat, footer);
    text_free(&bytes);
    return good;
}

/* ---- the file ---- */

/* Detects whether the input is a file, a stream, or neither. */
static bool see_kind(struct arrow_in *a, bool *file) {
    if (!input_read(a->in, a->held, sizeof a->held, &a->holding)) return false;
    *file = a->holding == sizeof a->held && memcmp(a->held, FILE_MARK, MARK) == 0;
    if (*file) {
        a->position = a->holding;
        a->holding = 0;
    }
    if (a->holding >= 4 && (memcmp(a->held, "PAR1", 4) == 0 || memcmp(a->held, "FEA1", 4) == 0)) {
        return complain("%s: it is %s, not Arrow's IPC format", a->in->name, a->held[0] == 'P' ? "Parquet" : "the first version of Feather"), false;
    }
    return true;
}

/* A file has its mark at the end, too; without it the file is cut off. */
static bool see_end(struct arrow_in *a) {
    char last[2 * (1 << 15)], end[MARK] = "";
    size_t got, n = 0;
    do {
        if (!arrow_get(a, last + n, sizeof last - n, &got)) return false;
        n += got;
        if (n >= MARK) memcpy(end, last + n - MARK, MARK);
        if (n > MARK) memmove(last, end, MARK), n = MARK;
    } while (got > 0);
    return memcmp(end, FILE_MARK, MARK) == 0 || cut_off(a);
}

bool arrow_each(struct input *in, const char *column, uint64_t most, records_fn take, void *ctx) {
    struct arrow_in a = {.in = in, .most = most, .take = take, .ctx = ctx};
    bool file = false, ended = false;
    a.limits = calloc(VALUES_MOST + 1, sizeof *a.limits);
    if (!a.limits) complain("out of memory");
    off_t at = lseek(in->fd, 0, SEEK_CUR);
    a.base = at > 0 ? (uint64_t)at : 0;
    bool good = a.limits && see_kind(&a, &file);
    if (good && file && in->total > 0 && at >= 0) {
        good = read_by_footer(&a, column);
    } else if (good) {
        good = read_messages(&a, column, &ended);
        if (good && file) good = ended ? see_end(&a) : arrow_fail(&a, "the file is cut off after it");
    }
    free(a.limits);
    text_free(&a.meta);
    text_free(&a.offsets);
    text_free(&a.values);
    text_free(&a.viewed);
    return good;
}
