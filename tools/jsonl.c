/*
 * JSON lines.
 */
#include "jsonl.h"
#include "json.h"
#include "report.h"
#include "utf8.h"

#include <inttypes.h>
#include <string.h>

bool jsonl_begin(struct jsonl *jsonl, struct input *in) {
    *jsonl = (struct jsonl){.line = 0};
    return feed_begin(&jsonl->feed, in);
}

/* The end of the line that begins at `at`, which is in memory then; NULL: it failed. */
static char *line_end(struct feed *feed) {
    for (;;) {
        char *from = feed->bytes + feed->at, *end = memchr(from, '\n', feed->n - feed->at);
        if (end || feed->ended) return end ? end : feed->bytes + feed->n;
        if (!feed_more(feed)) return NULL;
    }
}

bool jsonl_next(struct jsonl *jsonl) {
    struct feed *feed = &jsonl->feed;
    for (;;) {
        char *end = line_end(feed);
        if (!end) return false;
        char *from = feed->bytes + feed->at;
        jsonl->there = end > from || !feed->ended || end < feed->bytes + feed->n;
        if (!jsonl->there) return true;
        jsonl->line = feed->line++;
        feed->at = (size_t)(end - feed->bytes) + (end < feed->bytes + feed->n);
        *end = '\0';
        jsonl->at = json_skip_space(from);
        if (jsonl->at == end) continue;
        bool valid = json_is_valid(from, (size_t)(end - from)) && utf8_is_valid(from, (size_t)(end - from));
        if (valid && (jsonl->values || *jsonl->at == '{')) break;
        complain("%s: line %" PRIu64 ": it is no JSON %s", feed->in->name, jsonl->line, jsonl->values ? "value" : "object");
        return false;
    }
    jsonl->at += !jsonl->values;
    return true;
}

const char *jsonl_value(const struct jsonl *jsonl, size_t *n) {
    *n = (size_t)(json_skip_value(jsonl->at) - jsonl->at);
    return jsonl->at;
}

bool jsonl_objects(struct jsonl *jsonl) {
    jsonl->values = false;
    jsonl->at++;
    return true;
}

bool jsonl_member(struct jsonl *jsonl, const char **value, size_t *n) {
    const char *at = json_skip_space(jsonl->at);
    if (*at == ',') at = json_skip_space(at + 1);
    if (*at == '}') return false;
    jsonl->name.n = 0;
    text_room(&jsonl->name, 1); /* a name may be empty, but is somewhere */
    at = json_skip_space(json_read_string(at, &jsonl->name));
    *value = json_skip_space(at + 1);
    at = json_skip_value(*value);
    *n = (size_t)(at - *value);
    jsonl->at = at;
    return true;
}

void jsonl_end(struct jsonl *jsonl) {
    feed_end(&jsonl->feed);
    text_free(&jsonl->name);
}
