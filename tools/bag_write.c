/*
 * Writing a bag.
 */
#include "bag_write.h"
#include "options.h"
#include "report.h"
#include "text.h"
#include "tool.h"
#include "identify.h"
#include "info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- where to ---- */

int check_bag_out(const struct args *args) {
    const struct command *command = args->command;
    if (args->append && args->replace) return usage_error(command, "--append and --replace exclude each other");
    if (args->separate && args->limits == LIMITS_TAIL && !(command->flags & F_AS)) {
        return usage_error(command, "--separate and --limits tail exclude each other");
    }
    if (strcmp(args->operands[args->operand_count - 1], "-") == 0) {
        return usage_error(command, "a bag is not written from front to back: not to '-'");
    }
    const char *out = args->operands[args->operand_count - 1], *slash = strrchr(out, '/'), *at = strchr(slash ? slash : out, '@');
    if (args->shard_count != NOT_GIVEN && at && at[1] && strchr("*0123456789", at[1])) {
        return usage_error(command, "'%s' says how many files there are, and so does --shards", out);
    }
    if (args->shard == NOT_GIVEN) return -1;
    if (args->shard_count == NOT_GIVEN) return usage_error(command, "--shard wants to know of how many, --shards N");
    if (args->shard < args->shard_count) return -1;
    return usage_error(command, "--shard takes 0 to %lld with --shards %lld, not %lld", (long long)args->shard_count - 1,
                       (long long)args->shard_count, (long long)args->shard);
}

/* Puts a name as a spec has it: with a backslash before what would mean something there. */
static void put_name(struct text *text, const char *name, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (strchr("@,\\", name[i])) text_char(text, '\\');
        text_char(text, name[i]);
    }
}

/* OUT.bagz of 8 shards is OUT@8.bagz, and the fourth of them OUT-00003-of-00008.bagz. */
char *bag_out_path(const struct args *args, const char *path) {
    struct text text = {.bytes = NULL};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    size_t stem = dot && dot > name ? (size_t)(dot - path) : strlen(path);
    char shards[64] = "";
    long long shard = (long long)args->shard, count = (long long)args->shard_count;
    if (args->shard_count == NOT_GIVEN) {
        text_string(&text, path);
        return text_take(&text);
    }
    if (args->shard == NOT_GIVEN) {
        snprintf(shards, sizeof shards, "@%lld", count);
    } else {
        snprintf(shards, sizeof shards, "-%05lld-of-%05lld", shard, count);
    }
    put_name(&text, path, stem);
    text_string(&text, shards);
    put_name(&text, path + stem, strlen(path + stem));
    return text_take(&text);
}

/* ---- writing ---- */

/* --limits is for OUT where there is no IN that has some. */
static bool separate(const struct args *args) {
    return args->separate || (!(args->command->flags & F_AS) && args->limits == LIMITS_SEPARATE);
}

static bool set_writer_options(holdall_options *options, const struct args *args) {
    return set_given(options, HOLDALL_OPT_THREADS, args->threads) &&
           set_given(options, HOLDALL_OPT_LEVEL, args->level) &&
           (!separate(args) || set_option(options, HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE)) &&
           (!args->interleaved || args->command->flags & F_AS || set_option(options, HOLDALL_OPT_BAG_SHARDS, HOLDALL_BAG_SHARDS_INTERLEAVED)) &&
           (!args->no_checksum || set_option(options, HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE)) &&
           set_commit_options(options, args) && set_compression(options, args);
}

bool bag_out_open(struct bag_out *out) {
    const struct args *args = out->args;
    holdall_mode mode = args->append ? HOLDALL_APPEND : args->replace ? HOLDALL_REPLACE : HOLDALL_CREATE;
    holdall_options *options = new_options();
    holdall_error error;
    if (!options) return false;
    bool good = set_writer_options(options, args);
    if (good && holdall_bag_writer_open(out->path, mode, options, &out->writer, &error) < 0) {
        complain_error(out->path, &error, "");
        good = false;
    }
    holdall_options_free(options);
    return good;
}

bool bag_out_take(void *ctx, const struct records *records) {
    struct bag_out *out = ctx;
    holdall_error error;
    if (holdall_bag_writer_append_many(out->writer, records->data, records->offsets, records->count, &error) < 0) {
        complain_error(out->path, &error, "");
        return false;
    }
    out->records += records->count;
    out->bytes += records->offsets[records->count] - records->offsets[0];
    return true;
}

/* ---- the end ---- */

bool bag_out_commit(struct bag_out *out) {
    holdall_error error;
    if (holdall_bag_writer_commit(out->writer, &error) >= 0) return true;
    complain_error(out->path, &error, "");
    return false;
}

/* Bytes on disk of what was written; 0 where that cannot be found out, which is no failure of writing. */
static uint64_t bytes_on_disk(const struct bag_out *out) {
    struct args args = *out->args;
    args.limits = separate(&args) ? LIMITS_SEPARATE : LIMITS_TAIL;
    args.dictionary = NULL; /* nothing is decoded */
    holdall_options *options = reader_options(&args);
    holdall_bag *bag = NULL;
    uint64_t bytes = options && holdall_bag_open(out->path, options, &bag, NULL) >= 0 ? info_of_bag(bag).stored_bytes : 0;
    holdall_bag_close(bag);
    holdall_options_free(options);
    return bytes;
}

void bag_out_summarize(const struct bag_out *out, const char *done) {
    if (out->args->quiet) return;
    uint64_t size = holdall_bag_writer_record_count(out->writer);
    note("%s: %" PRIu64 " record%s of %" PRIu64 " byte%s %s; now %" PRIu64 " record%s in %" PRIu64 " bytes", out->path,
         out->records, plural(out->records), out->bytes, plural(out->bytes), done, size, plural(size), bytes_on_disk(out));
}

void bag_out_close(struct bag_out *out) {
    holdall_bag_writer_close(out->writer);
    free(out->path);
}
