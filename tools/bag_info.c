/*
 * holdall info of a bag, and of each of its shards.
 */
#include "bags.h"
#include "options.h"
#include "report.h"
#include "tool.h"
#include "info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of the library's constants ---- */

static const char *compression_name(int32_t codec) {
    switch (codec) {
    case HOLDALL_CODEC_NONE: return "none";
    case HOLDALL_CODEC_ZSTD: return "zstd";
    default: return "mixed"; /* some shards so, some so */
    }
}

static const char *checksum_name(int32_t sum) {
    switch (sum) {
    case HOLDALL_CHECKSUM_CRC32: return "crc32";
    case HOLDALL_CHECKSUM_ZSTD: return "zstd";
    default: return "none";
    }
}

static const char *limits_name(int32_t limits) {
    return limits == HOLDALL_BAG_LIMITS_SEPARATE ? "separate" : "tail";
}

/* ---- shards ---- */

static void put_shard_json(const char *path, const holdall_bag *shard) {
    put_text("{\"path\": ");
    put_json(path, strlen(path));
    put_text(", \"size\": %" PRIu64 ", \"compression\": \"%s\"", holdall_bag_record_count(shard), compression_name(info_of_bag(shard).codec));
    put_text(", \"checksum\": \"%s\", \"bytes\": %" PRIu64 "}", checksum_name(info_of_bag(shard).checksum), info_of_bag(shard).stored_bytes);
}

static void put_shard_line(const char *path, const holdall_bag *shard) {
    put_text("%12" PRIu64 "  %14" PRIu64 "  %-11s  %-8s  ", holdall_bag_record_count(shard), info_of_bag(shard).stored_bytes,
             compression_name(info_of_bag(shard).codec), checksum_name(info_of_bag(shard).checksum));
    put_printable(path);
    put_text("\n");
}

/* Prints each file by itself; the slice is one of all of them. */
static bool put_shards(const struct args *args, const char *files, size_t n) {
    struct args alone = *args;
    alone.slice.given = false;
    alone.interleaved = false;
    alone.shards = NOT_GIVEN;
    holdall_options *options = reader_options(&alone);
    bool good = options != NULL;
    for (const char *file = files; good && file < files + n; file += strlen(file) + 1) {
        holdall_bag *shard = open_bag(file, &alone, options);
        good = shard != NULL;
        if (good && args->json && file > files) put_text(", ");
        if (good) (args->json ? put_shard_json : put_shard_line)(file, shard);
        holdall_bag_close(shard);
    }
    holdall_options_free(options);
    return good;
}

/* ---- the whole ---- */

static void put_bag_json(const char *path, const holdall_bag *bag) {
    put_text("{\"path\": ");
    put_json(path, strlen(path));
    put_text(", \"format\": \"bagz\", \"kind\": \"bag\", \"size\": %" PRIu64, holdall_bag_record_count(bag));
    put_text(", \"compression\": \"%s\"", compression_name(info_of_bag(bag).codec));
    put_text(", \"limits\": \"%s\"", limits_name(info_of_bag(bag).limits));
    put_text(", \"checksum\": \"%s\"", checksum_name(info_of_bag(bag).checksum));
    put_text(", \"shards\": %" PRIu32 ", \"bytes\": %" PRIu64, holdall_bag_shard_count(bag), info_of_bag(bag).stored_bytes);
}

static void put_bag_lines(const char *path, const holdall_bag *bag) {
    put_text("path:         ");
    put_printable(path);
    put_text("\nformat:       bagz\nkind:         bag\n");
    put_text("records:      %" PRIu64 "\n", holdall_bag_record_count(bag));
    put_text("compression:  %s\n", compression_name(info_of_bag(bag).codec));
    put_text("limits:       %s\n", limits_name(info_of_bag(bag).limits));
    put_text("checksum:     %s\n", checksum_name(info_of_bag(bag).checksum));
    put_text("shards:       %" PRIu32 "\n", holdall_bag_shard_count(bag));
    put_text("bytes:        %" PRIu64 "\n", info_of_bag(bag).stored_bytes);
}

int bag_info(const struct args *args) {
    const char *path = args->operands[0];
    size_t n;
    holdall_options *options = reader_options(args);
    holdall_bag *bag = options ? open_bag(path, args, options) : NULL;
    holdall_options_free(options);
    if (!bag) return FAILED;
    bool several = holdall_bag_shard_count(bag) > 1, good = true;
    (args->json ? put_bag_json : put_bag_lines)(path, bag);
    if (several) {
        put_text(args->json ? ", \"files\": [" : "\n     records           bytes  compression  checksum  file\n");
        char *files = files_of_bag(path, &n);
        good = files && put_shards(args, files, n);
        free(files);
        if (args->json) put_text("]");
    }
    if (args->json) put_text("}\n");
    holdall_bag_close(bag);
    return put_end(good ? DONE : FAILED);
}
