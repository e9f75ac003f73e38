/*
 * holdall pack into a superchunk.
 */
#include "files.h"
#include "options.h"
#include "packing.h"
#include "report.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* What the library takes where these are not given, and what Bloscpack does. */
enum { CHUNK_SIZE = 1 << 20, TYPESIZE = 8 };
/* Entries for offsets that Bloscpack keeps for a chunk: the chunk's, and 10 to append others. */
enum { ENTRIES = 11 };

/* ---- options ---- */

static int64_t typesize_of(const struct args *args) {
    return args->typesize == NOT_GIVEN ? TYPESIZE : args->typesize;
}

/* Keeps as many offsets free as Bloscpack does, where it is known how many chunks there are going to be. */
static bool set_spare_chunks(holdall_options *options, const struct packing *p) {
    int64_t size = p->args->chunk_size == NOT_GIVEN ? CHUNK_SIZE / TYPESIZE * TYPESIZE : p->args->chunk_size;
    bool offsets = !p->args->no_offsets && (p->args->format_version == NOT_GIVEN || p->args->format_version == VERSION_3);
    if (!offsets || p->in.total == 0) return true;
    return set_option(options, HOLDALL_OPT_SPARE_CHUNKS, (int64_t)(p->in.total / (uint64_t)size + 1) * ENTRIES);
}

static bool set_file_options(holdall_options *options, const struct packing *p) {
    static const int64_t versions[] = {[VERSION_1] = 1, [VERSION_2] = 2, [VERSION_3] = 3, [VERSION_RFC] = 103};
    const struct args *args = p->args;
    int64_t version = args->format_version == NOT_GIVEN ? NOT_GIVEN : versions[args->format_version];
    int64_t checksum = args->no_checksum ? HOLDALL_SUM_NONE : args->checksum;
    return set_given(options, HOLDALL_OPT_CHUNK_BYTES, args->chunk_size) &&
           set_given(options, HOLDALL_OPT_CHECKSUM, checksum) &&
           (!args->no_offsets || set_option(options, HOLDALL_OPT_OFFSETS, 0)) &&
           set_given(options, HOLDALL_OPT_FORMAT_VERSION, version) && set_spare_chunks(options, p);
}

/* ---- opening ---- */

static bool set_metadata(struct packing *p) {
    unsigned char *json;
    size_t n;
    holdall_error error;
    if (!p->args->metadata) return true;
    if (!read_whole_file(p->args->metadata, &json, &n)) return false;
    holdall_status status = holdall_schunk_meta_set(p->schunk, "", json, n, &error);
    free(json);
    if (status < 0) complain_error(p->args->metadata, &error, "");
    return status >= 0;
}

static bool create(struct packing *p) {
    holdall_error error;
    holdall_mode mode = p->args->replace ? HOLDALL_REPLACE : HOLDALL_NEW;
    holdall_options *options = new_options();
    bool good = options && set_chunk_options(options, p->args) && set_file_options(options, p);
    if (good) {
        holdall_status status = holdall_schunk_create(p->out, mode, HOLDALL_FORMAT_BLOSCPACK,
                                                      (size_t)typesize_of(p->args), options, &p->schunk, &error);
        if (status < 0) complain_error(p->out, &error, status == HOLDALL_E_EXISTS ? " (--force takes its place)" : "");
        good = status >= 0;
    }
    holdall_options_free(options);
    return good && set_metadata(p);
}

/* ---- the command ---- */

/* What the table of flags cannot say. */
static int check_usage(const struct args *args) {
    const struct command *command = args->command;
    const char *from = args->operands[0], *out = args->operands[1];
    if (args->operand_count > 2) return usage_error(command, "one operand too many, '%s'", args->operands[2]);
    if (strcmp(out, "-") == 0) return usage_error(command, "a superchunk is not written from front to back: not to '-'");
    if (args->chunk_size != NOT_GIVEN && args->chunk_size % typesize_of(args) != 0) {
        return usage_error(command, "--chunk-size %lld is not a whole number of items of %lld bytes (--typesize)",
                           (long long)args->chunk_size, (long long)typesize_of(args));
    }
    if (args->no_checksum && args->checksum != NOT_GIVEN) {
        return usage_error(command, "--no-checksum and --checksum exclude each other");
    }
    if (args->metadata && strcmp(args->metadata, "-") == 0 && strcmp(from, "-") == 0) {
        return usage_error(command, "content and --metadata cannot both be standard input");
    }
    return check_level(args);
}

int schunk_pack(const struct args *args) {
    int wrong = check_usage(args);
    if (wrong >= 0) return wrong;
    struct packing p = {.args = args, .from = args->operands[0], .out = args->operands[1], .done = "packed"};
    return packing_run(&p, create);
}
