/*
 * Words for numbers.
 */
#define _POSIX_C_SOURCE 200809L

#include "words.h"
#include "coding.h"
#include "report.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Is there something of this name in the folder? Then it is a dataset, if perhaps a broken one. */
static bool is_inside(const char *folder, const char *name) {
    char path[PATH_MAX];
    struct stat about;
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path && stat(path, &about) == 0;
}

enum container container_of(const char *path) {
    holdall_format format;
    holdall_kind kind;
    if (is_inside(path, "meta") || is_inside(path, "__rootdirs__")) return DATASET;
    bool known = holdall_identify(path, &format, &kind, NULL) >= 0;
    if (known && kind == HOLDALL_KIND_ARRAY) return DATASET; /* in a frame */
    unsigned char head[FRAME_MAGIC]; /* of a frame that is broken, perhaps */
    return known ? (format == HOLDALL_FORMAT_BAGZ ? BAG : SUPERCHUNK) : frame_head(path, head, sizeof head) ? SUPERCHUNK : BAG;
}

holdall_format format_at(const char *path) {
    holdall_format format;
    return holdall_identify(path, &format, NULL, NULL) >= 0 ? format : 0;
}

const char *container_name(enum container container) {
    return container == BAG ? "bag" : container == SUPERCHUNK ? "superchunk" : "dataset";
}

bool ends_in(const char *text, const char *end) {
    size_t length = strlen(text), n = strlen(end);
    return length >= n && strcmp(text + length - n, end) == 0;
}

int64_t file_format(const char *path, int64_t given) {
    if (given != NOT_GIVEN) return given;
    if (ends_in(path, ".npy")) return FROM_NPY;
    if (ends_in(path, ".csv")) return FROM_CSV;
    return ends_in(path, ".jsonl") || ends_in(path, ".ndjson") ? FROM_JSONL : NOT_GIVEN;
}

const char *format_name(holdall_format format) {
    switch (format) {
    case HOLDALL_FORMAT_BLOSCPACK: return "bloscpack";
    case HOLDALL_FORMAT_BCOLZ: return "bcolz";
    case HOLDALL_FORMAT_BLZ: return "blz";
    case HOLDALL_FORMAT_BLZ_PAPER: return "blz-paper";
    case HOLDALL_FORMAT_B2FRAME: return "b2frame";
    case HOLDALL_FORMAT_CATERVA: return "caterva";
    case HOLDALL_FORMAT_B2ND: return "b2nd";
    case HOLDALL_FORMAT_BAGZ: return "bagz";
    default: return "unknown";
    }
}

const char *kind_name(holdall_kind kind) {
    switch (kind) {
    case HOLDALL_KIND_SCHUNK: return "schunk";
    case HOLDALL_KIND_ARRAY: return "array";
    case HOLDALL_KIND_TABLE: return "table";
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
