/*
 * How chunks are coded.
 *
 * A frame has it in its head, which is at the front of its file. In the other formats each chunk has a head of 16 bytes.
 */
#define _POSIX_C_SOURCE 200809L

#include "coding.h"
#include "dataset.h"
#include "schunks.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- frames ---- */

/* Offsets in the head of a frame. */
enum { MAGIC_AT = 2, CODEC_AT = 0x1b, FILTERS_AT = 0x47, OTHER_CODEC_AT = 0x4d, META_AT = 0x4f, HEAD = 0x57 };

bool frame_head(const char *path, uint64_t at, unsigned char *head, size_t n) {
    char inside[PATH_MAX];
    struct stat about;
    bool folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    int length = snprintf(inside, sizeof inside, "%s%s", path, folder ? "/chunks.b2frame" : "");
    int fd = length > 0 && (size_t)length < sizeof inside ? open(inside, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    bool good = fd >= 0 && pread(fd, head, n, (off_t)at) == (ssize_t)n && memcmp(head + MAGIC_AT, "b2frame", 8) == 0;
    if (fd >= 0) close(fd);
    return good;
}

static bool coding_of_frame(struct coding *coding, const char *path, uint64_t at) {
    static const char *const names[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};
    static const char *const others[] = {"ndlz", "zfp_acc", "zfp_prec", "zfp_rate"}; /* from 32 on */
    unsigned char head[HEAD];
    if (!frame_head(path, at, head, sizeof head)) return false;
    unsigned codec = head[CODEC_AT] & 15, other = head[OTHER_CODEC_AT];
    coding->level = head[CODEC_AT] >> 4;
    if (codec < sizeof names / sizeof *names) {
        strcpy(coding->codec, names[codec]);
    } else if (other >= 32 && other < 32 + sizeof others / sizeof *others) {
        strcpy(coding->codec, others[other - 32]);
    } else {
        snprintf(coding->codec, sizeof coding->codec, "codec %u", other);
    }
    for (int i = 0; i < 6; i++) {
        if (head[FILTERS_AT + i] == 0) continue;
        coding->meta[coding->count] = head[META_AT + i];
        coding->filters[coding->count++] = head[FILTERS_AT + i];
    }
    return true;
}

/* ---- chunks ---- */

/* The flags in the head of a chunk. */
enum { FLAGS_AT = 2, SHUFFLED = 1, BITSHUFFLED = 4, CODEC_SHIFT = 5, CHUNK_HEAD = 16 };

static bool coding_of_chunk(struct coding *coding, const holdall_schunk *schunk) {
    static const char *const names[] = {"blosclz", "lz4", "snappy", "zlib", "zstd"};
    size_t n = 0;
    if (holdall_schunk_chunk_count(schunk) == 0 || holdall_schunk_read_raw(schunk, 0, NULL, 0, &n, NULL) < 0) return false;
    unsigned char *chunk = malloc(n + 1);
    bool good = chunk && n >= CHUNK_HEAD && holdall_schunk_read_raw(schunk, 0, chunk, n, &n, NULL) >= 0;
    unsigned flags = good ? chunk[FLAGS_AT] : 0, codec = flags >> CODEC_SHIFT;
    free(chunk);
    if (!good || codec >= sizeof names / sizeof *names) return false;
    strcpy(coding->codec, names[codec]);
    if (flags & (SHUFFLED | BITSHUFFLED)) {
        coding->filters[coding->count++] = flags & BITSHUFFLED ? 2 : 1; /* as in frames */
    }
    return true;
}

/* A chunk of a folder is a file, or one has many. */
static bool coding_of_file(struct coding *coding, const char *path, const char *inside) {
    char file[PATH_MAX];
    holdall_schunk *schunk = NULL;
    int n = snprintf(file, sizeof file, "%s%s", path, inside);
    bool good = n > 0 && (size_t)n < sizeof file && holdall_schunk_open(file, HOLDALL_READ, NULL, &schunk, NULL) >= 0 &&
                coding_of_chunk(coding, schunk);
    holdall_schunk_close(schunk);
    return good;
}

/* ---- the whole ---- */

bool coding_of(struct coding *coding, const char *path, holdall_format format, uint64_t at) {
    *coding = (struct coding){.level = -1};
    if (is_frame(format)) return coding_of_frame(coding, path, at);
    switch (format) {
    case HOLDALL_FORMAT_BLOSCPACK: return coding_of_file(coding, path, "");
    case HOLDALL_FORMAT_BLZ_RFC: return coding_of_file(coding, path, "/data/__1__.bin");
    default: return coding_of_file(coding, path, "/data/__0.blp");
    }
}

void put_filter(struct text *text, uint8_t filter, uint8_t meta) {
    static const struct {
        uint8_t number;
        const char *name;
    } known[] = {{1, "shuffle"}, {2, "bitshuffle"}, {3, "delta"},     {4, "trunc_prec"}, {32, "ndcell"},
                 {33, "ndmean"}, {34, "bytedelta_buggy"}, {35, "bytedelta"}, {36, "int_trunc"}};
    char name[32];
    snprintf(name, sizeof name, "filter %u", (unsigned)filter);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].number == filter) snprintf(name, sizeof name, "%s", known[i].name);
    }
    text_string(text, name);
    if (filter == 4 || filter == 36) { /* of these it says how much is left */
        snprintf(name, sizeof name, ":%d", (int)(int8_t)meta);
        text_string(text, name);
    }
}
