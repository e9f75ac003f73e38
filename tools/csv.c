/*
 * CSV.
 *
 * A row is looked for in what is there; where it does not end in that, more is read and it is looked for again. Only
 * then its quotes are taken out, in place.
 */
#include "csv.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Result of a search for a row or a field. */
enum found { FIELD, ROW, SHORT, WRONG };

bool csv_begin(struct csv *csv, struct input *in) {
    *csv = (struct csv){.line = 1};
    return feed_begin(&csv->feed, in);
}

static bool add_field(struct csv *csv, char *text, size_t n, bool doubled) {
    if (csv->count == csv->room) {
        size_t room = csv->room ? 2 * csv->room : 32;
        struct csv_field *larger = realloc(csv->fields, room * sizeof *larger);
        if (!larger) return complain("out of memory"), false;
        csv->fields = larger;
        csv->room = room;
    }
    csv->fields[csv->count++] = (struct csv_field){text, n, doubled};
    return true;
}

/* What follows a field: a comma, the end of the row, or the end of the buffered bytes. */
static enum found after_field(const struct csv *csv, char **at) {
    const char *end = csv->feed.bytes + csv->feed.n;
    if (*at == end) return csv->feed.ended ? ROW : SHORT;
    if (**at == '\r' && *at + 1 == end && !csv->feed.ended) return SHORT;
    if (**at == ',') return ++*at, FIELD;
    if (**at == '\r' && *at + 1 < end && (*at)[1] == '\n') return *at += 2, ROW;
    if (**at == '\n') return ++*at, ROW;
    return WRONG;
}

static enum found quoted_field(struct csv *csv, char **at) {
    char *end = csv->feed.bytes + csv->feed.n, *from = ++*at;
    bool doubled = false;
    for (;; *at += 2, doubled = true) {
        *at = memchr(*at, '"', (size_t)(end - *at));
        if (!*at && !csv->feed.ended) return SHORT;
        if (!*at) return complain("%s: line %" PRIu64 ": a quote is not closed", csv->feed.in->name, csv->line), WRONG;
        if (*at + 1 == end && !csv->feed.ended) return SHORT;
        if ((*at)[1] != '"') break; /* a NUL follows the end */
    }
    if (!add_field(csv, from, (size_t)(*at - from), doubled)) return WRONG;
    ++*at;
    enum found found = after_field(csv, at);
    if (found == WRONG) complain("%s: line %" PRIu64 ": there is text after a closing quote", csv->feed.in->name, csv->line);
    return found;
}

static enum found bare_field(struct csv *csv, char **at) {
    char *end = csv->feed.bytes + csv->feed.n, *from = *at;
    for (;; ++*at) {
        while (*at < end && **at != ',' && **at != '\n' && **at != '\r') ++*at;
        char *to = *at;
        enum found found = after_field(csv, at);
        if (found == WRONG) continue; /* a carriage return alone */
        if (found == SHORT) return SHORT;
        return add_field(csv, from, (size_t)(to - from), false) ? found : WRONG;
    }
}

/* Looks for a row and moves *at past it. */
static enum found find_row(struct csv *csv, char **at) {
    enum found found = FIELD;
    csv->count = 0;
    *at = csv->feed.bytes + csv->feed.at;
    while (found == FIELD) {
        bool there = *at < csv->feed.bytes + csv->feed.n;
        found = there && **at == '"' ? quoted_field(csv, at) : bare_field(csv, at);
    }
    return found;
}

/* Of two quotes one stays. */
static void unquote(struct csv_field *field) {
    char *to = field->text;
    for (size_t i = 0; i < field->n; i++) {
        *to++ = field->text[i];
        if (field->text[i] == '"') i++;
    }
    field->n = (size_t)(to - field->text);
}

static uint64_t count_lines(const char *from, const char *to) {
    uint64_t lines = 0;
    while ((from = memchr(from, '\n', (size_t)(to - from)))) {
        lines++;
        from++;
    }
    return lines;
}

bool csv_next(struct csv *csv) {
    struct feed *feed = &csv->feed;
    for (;;) {
        char *at;
        csv->line = feed->line;
        csv->count = 0;
        if (feed->at == feed->n && feed->ended) return true;
        enum found found = find_row(csv, &at);
        if (found == WRONG || (found == SHORT && !feed_more(feed))) return false;
        if (found == SHORT) continue;
        char *from = feed->bytes + feed->at;
        bool empty = *from == '\n' || *from == '\r' || at == from;
        feed->line += count_lines(from, at);
        feed->at = (size_t)(at - feed->bytes);
        if (csv->count == 1 && empty) continue;
        for (size_t i = 0; i < csv->count; i++) {
            if (csv->fields[i].doubled) unquote(&csv->fields[i]);
        }
        return true;
    }
}

bool csv_fits(const struct csv *csv, size_t columns) {
    if (csv->count == columns) return true;
    complain("%s: line %" PRIu64 ": %zu field%s, and there are %zu columns", csv->feed.in->name, csv->line, csv->count,
             plural(csv->count), columns);
    return false;
}

void csv_end(struct csv *csv) {
    feed_end(&csv->feed);
    free(csv->fields);
    csv->fields = NULL;
}
