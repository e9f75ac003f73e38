/*
 * Words for numbers.
 */
#include "words.h"
#include "report.h"

#include <string.h>

enum container container_of(const char *path) {
    holdall_format format;
    bool known = holdall_identify(path, &format, NULL, NULL) >= 0;
    return known && format != HOLDALL_FORMAT_BAGZ ? SUPERCHUNK : BAG;
}

bool ends_in(const char *text, const char *end) {
    size_t length = strlen(text), n = strlen(end);
    return length >= n && strcmp(text + length - n, end) == 0;
}

const char *format_name(holdall_format format) {
    switch (format) {
    case HOLDALL_FORMAT_BLOSCPACK: return "bloscpack";
    case HOLDALL_FORMAT_B2FRAME: return "b2frame";
    case HOLDALL_FORMAT_BAGZ: return "bagz";
    default: return "unknown";
    }
}

const char *kind_name(holdall_kind kind) {
    switch (kind) {
    case HOLDALL_KIND_SCHUNK: return "schunk";
    case HOLDALL_KIND_BAG: return "bag";
    default: return "unknown";
    }
}

void put_choice(const char *words, int64_t n) {
    for (; n > 0 && *words; n--) {
        words += strcspn(words, "|");
        words += *words == '|';
    }
    size_t length = n == 0 ? strcspn(words, "|") : 0;
    put_text("%.*s", length ? (int)length : 7, length ? words : "unknown");
}
