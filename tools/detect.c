/*
 * Formats by their first bytes.
 */
#define _POSIX_C_SOURCE 200809L

#include "detect.h"
#include "arrow_batch.h"
#include "coding.h"
#include "crc32c.h"
#include "files.h"
#include "flat_read.h"
#include "identify.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes that are read: the schema of an Arrow stream, or its beginning. */
enum { HEAD = 4096 };

struct head {
    unsigned char bytes[HEAD];
    size_t n;
};

/* ---- by bytes ---- */

/* A schema message of Arrow's IPC format, after the continuation marker and its length. */
static bool is_arrow_stream(const struct head *head) {
    enum { LEAD = 8 };
    struct flat lead = {head->bytes, head->n, false};
    uint64_t marker = flat_get(&lead, 0, 4), length = flat_get(&lead, 4, 4);
    if (lead.broken || marker != UINT32_MAX || length == 0 || length % 8 != 0) return false;
    size_t n = head->n - LEAD < length ? head->n - LEAD : (size_t)length;
    struct flat message = {head->bytes + LEAD, n, false};
    return flat_field_number(&message, flat_root(&message), MESSAGE_KIND, 1) == SCHEMA && !message.broken;
}

/* The length of the first record, and its masked CRC-32C. */
static bool is_tfrecord(const struct head *head) {
    struct flat lead = {head->bytes, head->n, false};
    uint64_t crc = flat_get(&lead, 8, 4);
    return !lead.broken && crc32c_masked(head->bytes, 8) == crc;
}

/* The format that the first bytes show. Without `all`, formats that the library identifies are left to it. */
static const char *format_of_bytes(const struct head *head, bool all) {
    static const struct {
        const char *name;
        size_t at, n;
        const char *magic;
        bool identified;
    } magics[] = {
        {"npy", 0, 6, "\x93NUMPY", false},
        {"arrow", 0, 6, "ARROW1", false},
        {"bagz-index", 0, 16, "holdall bagindex", false},
        {"bloscpack", 0, 4, "blpk", true},
        {"b2frame", 2, 8, "b2frame", true},
        {"zstd", 0, 4, "\x28\xb5\x2f\xfd", true},
    };
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        bool reaches = head->n >= magics[i].at + magics[i].n && (all || !magics[i].identified);
        if (reaches && memcmp(head->bytes + magics[i].at, magics[i].magic, magics[i].n) == 0) return magics[i].name;
    }
    return is_arrow_stream(head) ? "arrow-stream" : is_tfrecord(head) ? "tfrecord" : NULL;
}

/* ---- of files ---- */

/* The first bytes of a file; none where it cannot be read. */
static void read_head(const char *path, struct head *head) {
    struct stat about;
    head->n = 0;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return;
    FILE *file = fopen(path, "rb");
    if (!file) return;
    head->n = fread(head->bytes, 1, sizeof head->bytes, file);
    fclose(file);
}

/* A chunk has no magic number. A file is one if the folder is that of a sparse frame. */
static bool is_chunk_of_frame(const char *path) {
    unsigned char magic[FRAME_MAGIC];
    const char *slash = strrchr(path, '/');
    if (!ends_in(path, ".chunk")) return false;
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    bool found = folder && frame_head(folder, 0, magic, sizeof magic);
    free(folder);
    return found;
}

const char *stored_format(const char *path) {
    struct head head;
    if (strcmp(path, "-") == 0) {
        head.n = standard_peek(head.bytes, sizeof head.bytes);
        return format_of_bytes(&head, true);
    }
    read_head(path, &head);
    const char *shown = format_of_bytes(&head, false);
    if (shown) return shown;
    if (is_chunk_of_frame(path)) return format_name(HOLDALL_FORMAT_B2FRAME);
    shown = format_of_bytes(&head, true); /* zstd, perhaps */
    holdall_format format = format_at(path);
    bool is_bag = format == HOLDALL_FORMAT_BAGZ && (shown || ends_in(path, ".bagz") || ends_in(path, ".bag"));
    if (format && (format != HOLDALL_FORMAT_BAGZ || is_bag)) return format_name(format);
    if (shown) return shown;
    enum container container = container_of(path);
    return container == BAG ? NULL : container_name(container);
}
