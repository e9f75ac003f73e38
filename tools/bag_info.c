/*
 * holdall info of a bag.
 */
#include "bags.h"
#include "options.h"
#include "report.h"
#include "tool.h"

#include <inttypes.h>
#include <string.h>

/* ---- words for the library's numbers ---- */

static const char *compression_name(int32_t codec) {
    switch (codec) {
    case HOLDALL_CODEC_NONE: return "none";
    case HOLDALL_CODEC_ZSTD: return "zstd";
    default: return "mixed"; /* some shards so, some so */
    }
}

static const char *checksum_name(int32_t sum) {
    switch (sum) {
    case HOLDALL_SUM_CRC32: return "crc32";
    case HOLDALL_SUM_ZSTD: return "zstd";
    default: return "none";
    }
}

static const char *limits_name(int32_t limits) {
    return limits == HOLDALL_BAG_LIMITS_SEPARATE ? "separate" : "tail";
}

/* ---- the command ---- */

static void print_json(const char *path, const holdall_bag *bag) {
    put_text("{\"path\": ");
    put_json(path, strlen(path));
    put_text(", \"format\": \"bagz\", \"kind\": \"bag\", \"size\": %" PRIu64, holdall_bag_size(bag));
    put_text(", \"compression\": \"%s\"", compression_name(holdall_bag_codec(bag)));
    put_text(", \"limits\": \"%s\"", limits_name(holdall_bag_limits(bag)));
    put_text(", \"checksum\": \"%s\"", checksum_name(holdall_bag_sum(bag)));
    put_text(", \"shards\": %" PRIu32 ", \"bytes\": %" PRIu64 "}\n", holdall_bag_shards(bag), holdall_bag_cbytes(bag));
}

static void print_lines(const char *path, const holdall_bag *bag) {
    put_text("path:         ");
    put_printable(path);
    put_text("\nformat:       bagz\nkind:         bag\n");
    put_text("records:      %" PRIu64 "\n", holdall_bag_size(bag));
    put_text("compression:  %s\n", compression_name(holdall_bag_codec(bag)));
    put_text("limits:       %s\n", limits_name(holdall_bag_limits(bag)));
    put_text("checksum:     %s\n", checksum_name(holdall_bag_sum(bag)));
    put_text("shards:       %" PRIu32 "\n", holdall_bag_shards(bag));
    put_text("bytes:        %" PRIu64 "\n", holdall_bag_cbytes(bag));
}

int bag_info(const struct args *args) {
    const char *path = args->operands[0];
    holdall_options *options = reader_options(args);
    holdall_bag *bag = options ? open_bag(path, args, options) : NULL;
    holdall_options_free(options);
    if (!bag) return FAILED;
    (args->json ? print_json : print_lines)(path, bag);
    holdall_bag_close(bag);
    return put_end(DONE);
}
