/*
 * Kinds and formats of containers, and their names.
 */
#include "identify.h"
#include "coding.h"
#include "options.h"
#include "report.h"

#include <string.h>

enum container container_of(const char *path) {
    holdall_kind kind = 0; /* holdall_identify() sets it for a broken container, too */
    (void)!holdall_identify(path, NULL, &kind, NULL);
    if (kind == HOLDALL_KIND_ARRAY || kind == HOLDALL_KIND_TABLE) return DATASET; /* an array may be in a frame */
    if (kind) return kind == HOLDALL_KIND_BAG ? BAG : SUPERCHUNK;
    unsigned char head[FRAME_MAGIC]; /* of a frame that is broken, perhaps */
    return frame_head(path, 0, head, sizeof head) ? SUPERCHUNK : BAG;
}

holdall_format format_at(const char *path) {
    holdall_format format;
    return holdall_identify(path, &format, NULL, NULL) >= 0 ? format : 0;
}

holdall_status identify_there(const struct args *args, const char *path, holdall_format *format, holdall_kind *kind,
                              holdall_error *error) {
    if (args->at == NOT_GIVEN) return holdall_identify(path, format, kind, error);
    holdall_schunk *frame = NULL;
    const void *value;
    size_t n;
    holdall_options *options = new_options();
    bool good = options && set_option(options, HOLDALL_OPT_FRAME_OFFSET, args->at) && set_option(options, HOLDALL_OPT_SKIP_DAMAGED, 1);
    *error = (holdall_error){.status = HOLDALL_E_MEMORY, .message = "out of memory"};
    holdall_status status = good ? holdall_schunk_open(path, HOLDALL_READ, options, &frame, error) : HOLDALL_E_MEMORY;
    holdall_options_free(options);
    if (status < 0) return status;
    bool b2nd = holdall_schunk_attr_get(frame, "b2nd", &value, &n, NULL) == HOLDALL_OK;
    bool caterva = holdall_schunk_attr_get(frame, "caterva", &value, &n, NULL) == HOLDALL_OK;
    holdall_schunk_close(frame);
    *format = b2nd ? HOLDALL_FORMAT_B2ND : caterva ? HOLDALL_FORMAT_CATERVA : HOLDALL_FORMAT_B2FRAME;
    *kind = b2nd || caterva ? HOLDALL_KIND_ARRAY : HOLDALL_KIND_SCHUNK;
    return HOLDALL_OK;
}

holdall_format format_there(const struct args *args, const char *path) {
    holdall_format format;
    holdall_kind kind;
    holdall_error error;
    return identify_there(args, path, &format, &kind, &error) >= 0 ? format : 0;
}

enum container container_there(const struct args *args, const char *path) {
    if (args->at == NOT_GIVEN) return container_of(path);
    holdall_format format = format_there(args, path);
    return format == HOLDALL_FORMAT_B2ND || format == HOLDALL_FORMAT_CATERVA ? DATASET : SUPERCHUNK;
}

bool known_ending(const char *path, const char *endings) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    size_t name = length;
    while (name > 0 && path[name - 1] != '/') name--;
    size_t dot = length;
    while (dot > name && path[dot - 1] != '.') dot--;
    if (dot <= name + 1) return true; /* there is no dot, or it is a hidden file */
    const char *ending = path + dot - 1;
    size_t n = 0;
    while (ending + n < path + length && ending[n] != '@' && ending[n] != '-') n++;
    for (const char *at = endings; *at;) {
        size_t m = strcspn(at, "|");
        if (m == n && memcmp(at, ending, n) == 0) return true;
        at += m + (at[m] == '|');
    }
    return false;
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
    case HOLDALL_FORMAT_BLZ_RFC: return "blz-rfc";
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
