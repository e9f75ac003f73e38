/*
 * A plain file becomes records.
 *
 * It is read in large pieces. The records of a piece are pushed together over what stands between them, and handed over
 * many at once; what is not whole yet stays for the next piece. The buffer grows with what the file has, not with what a
 * length in it claims.
 */
#include "crc32c.h"
#include "record_files.h"
#include "report.h"
#include "signals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are read before records are handed over, and records that are handed over at once. */
enum { PIECE = 4 << 20, RECORDS_MOST = 32768 };

struct parsing {
    struct record_parser *parser;
    unsigned char *data; /* of which `have` bytes are there, */
    size_t room, have;
    uint64_t position;   /* of the first of them in the file */
    bool ended;          /* no more follow */
    uint64_t *offsets;   /* RECORDS_MOST + 1 */
    records_fn take;
    void *ctx;
};

/* A record in the buffer: bytes before it, of it, and after it. */
struct part {
    size_t before, n, after;
};

/* What is at the front of some bytes: a record, the beginning of one, one whose sum does not fit, or nothing that makes
 * sense, which is reported. */
enum seen { WHOLE, BEGUN, DAMAGED, SENSELESS };

/* ---- one record ---- */

/* Reports what is wrong with the next record, `from` bytes after the position. */
static void complain_record(const struct parsing *p, size_t from, const char *message) {
    const struct record_parser *parser = p->parser;
    complain("%s: record %" PRIu64 " at byte %" PRIu64 ": %s", parser->in->name, parser->count + parser->damaged, p->position + from,
             message);
}

static enum seen see_line(const struct parsing *p, size_t from, struct part *part) {
    const unsigned char *begin = p->data + from;
    size_t left = p->have - from;
    const unsigned char *newline = left > 0 ? memchr(begin, '\n', left) : NULL;
    *part = (struct part){0, newline ? (size_t)(newline - begin) : left, newline ? 1 : 0};
    return newline || (p->ended && left > 0) ? WHOLE : BEGUN;
}

static uint64_t number(const unsigned char *bytes, int n) {
    uint64_t value = 0;
    while (n-- > 0) value = value << 8 | bytes[n];
    return value;
}

/* A gzip or zlib member: TFRecord files may be such. */
static bool is_deflated(const unsigned char *bytes) {
    return (bytes[0] == 0x1f && bytes[1] == 0x8b) || (bytes[0] == 0x78 && (bytes[0] * 256 + bytes[1]) % 31 == 0);
}

/* Returns whether the file has the n bytes that a record claims, `before` bytes after its start, without reading them. */
static bool check_length(const struct parsing *p, size_t from, size_t before, uint64_t n) {
    const struct input *in = p->parser->in;
    uint64_t left = p->have - from - before;
    bool known = p->ended || (in->total > 0 && in->total >= in->done);
    if (!p->ended && known) left += in->total - in->done;
    char message[256];
    if (known && n > left) {
        snprintf(message, sizeof message, "its length says %" PRIu64 " bytes, and %" PRIu64 " follow: the file is cut off, or of another kind",
                 n, left);
    } else if (n > p->parser->most) {
        snprintf(message, sizeof message, "its length says %" PRIu64 " bytes, more than --memory-limit, %" PRIu64, n, p->parser->most);
    } else {
        return true;
    }
    return complain_record(p, from, message), false;
}

static enum seen see_tfrecord(const struct parsing *p, size_t from, const struct part *part) {
    const unsigned char *record = p->data + from + part->before;
    return crc32c_masked(record, part->n) == number(record + part->n, 4) ? WHOLE : DAMAGED;
}

/* A record after its length. */
static enum seen see_framed(const struct parsing *p, size_t from, struct part *part) {
    bool tfrecord = p->parser->format == RECORDS_TFRECORD;
    const unsigned char *begin = p->data + from;
    int width = p->parser->format == RECORDS_LENGTHS32 ? 4 : 8;
    size_t left = p->have - from, before = (size_t)width + (tfrecord ? 4 : 0), around = before + (tfrecord ? 4 : 0);
    if (left < before) {
        if (!p->ended || left == 0) return BEGUN;
        return complain_record(p, from, "the file ends amid its length"), SENSELESS;
    }
    uint64_t n = number(begin, width);
    if (tfrecord && crc32c_masked(begin, 8) != number(begin + 8, 4)) {
        const char *message = p->position + from == 0 && is_deflated(begin)
                                ? "the file is compressed with gzip or zlib: give it unpacked (gunzip -c FILE | holdall convert - OUT --from tfrecord)"
                                : "the CRC-32C of its length does not match";
        return complain_record(p, from, message), SENSELESS;
    }
    if (!check_length(p, from, before, n)) return SENSELESS;
    *part = (struct part){before, (size_t)n, around - before};
    if (left - before < n + part->after) {
        if (!p->ended) return BEGUN;
        return complain_record(p, from, "the file ends amid its CRC-32C"), SENSELESS;
    }
    return tfrecord ? see_tfrecord(p, from, part) : WHOLE;
}

/* ---- pieces ---- */

/* Reads until the buffer is full or the input ends. */
static bool fill(struct parsing *p) {
    size_t got;
    const struct record_parser *parser = p->parser;
    if (p->have == p->room) { /* one record fills it all */
        bool may = p->room <= SIZE_MAX / 2 && p->room < parser->most;
        unsigned char *larger = may ? realloc(p->data, p->room * 2) : NULL;
        if (!larger) {
            complain_record(p, 0, may ? "out of memory for it" : "it is larger than --memory-limit");
            return false;
        }
        p->data = larger;
        p->room *= 2;
    }
    if (!input_read(parser->in, p->data + p->have, p->room - p->have, &got)) return false;
    p->have += got;
    p->ended = p->have < p->room;
    return true;
}

static bool hand_over(struct parsing *p, size_t count) {
    const struct records records = {p->data, p->offsets, count};
    return count == 0 || p->take(p->ctx, &records);
}

/* A record whose sum does not fit; true where it is to be left out. */
static bool leave_out(struct parsing *p, size_t from) {
    bool skipped = p->parser->skip_damaged;
    complain_record(p, from, skipped ? "its CRC-32C does not match (skipped)" : "its CRC-32C does not match");
    p->parser->damaged += skipped;
    return skipped;
}

/* Passes on the complete records of the buffer. The bytes after them stay. */
static bool take_records(struct parsing *p) {
    enum seen (*see)(const struct parsing *, size_t, struct part *) = p->parser->format == RECORDS_LINES ? see_line : see_framed;
    size_t from = 0, to = 0, count = 0;
    struct part part;
    enum seen seen;
    while ((seen = see(p, from, &part)) == WHOLE || (seen == DAMAGED && leave_out(p, from))) {
        if (seen == WHOLE) {
            memmove(p->data + to, p->data + from + part.before, part.n);
            p->offsets[++count] = to += part.n;
            p->parser->count++;
        }
        from += part.before + part.n + part.after;
        if (count < RECORDS_MOST) continue;
        if (!hand_over(p, count)) return false;
        to = count = 0;
    }
    if (!hand_over(p, count) || seen != BEGUN) return false;
    p->have -= from;
    p->position += from;
    memmove(p->data, p->data + from, p->have);
    return true;
}

bool record_parser_each(struct record_parser *parser, records_fn take, void *ctx) {
    struct parsing p = {.parser = parser, .room = PIECE, .take = take, .ctx = ctx};
    p.data = malloc(p.room);
    p.offsets = calloc(RECORDS_MOST + 1, sizeof *p.offsets);
    bool good = p.data && p.offsets;
    if (!good) complain("out of memory");
    while (good && !p.ended) {
        good = fill(&p) && take_records(&p) && !stopped;
        input_progress(parser->in, parser->count);
    }
    free(p.data);
    free(p.offsets);
    return good;
}
