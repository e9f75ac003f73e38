/*
 * From flags to options.
 */
#include "options.h"
#include "files.h"
#include "report.h"

#include <stdlib.h>

holdall_options *new_options(void) {
    holdall_options *options = holdall_options_new();
    if (!options) complain("out of memory");
    return options;
}

bool set_option(holdall_options *options, holdall_option option, int64_t value) {
    holdall_error error;
    if (holdall_options_set(options, option, value, &error) >= 0) return true;
    complain_error("", &error, "");
    return false;
}

bool set_given(holdall_options *options, holdall_option option, int64_t value) {
    return value == NOT_GIVEN || set_option(options, option, value);
}

bool set_choice(holdall_options *options, holdall_option option, int32_t first, int64_t choice) {
    return choice == NOT_GIVEN || set_option(options, option, first + choice);
}

static bool set_dictionary(holdall_options *options, const char *path) {
    unsigned char *bytes;
    size_t n;
    holdall_error error;
    if (!read_whole_file(path, &bytes, &n)) return false;
    holdall_status status = holdall_options_set_bytes(options, HOLDALL_OPT_DICTIONARY, bytes, n, &error);
    free(bytes);
    if (status < 0) complain_error(path, &error, "");
    return status >= 0;
}

bool set_compression(holdall_options *options, const struct args *args) {
    if (args->compression != NOT_GIVEN) {
        static const int64_t codecs[] = {[COMPRESSION_AUTO] = HOLDALL_CODEC_BY_NAME,
                                         [COMPRESSION_NONE] = HOLDALL_CODEC_NONE,
                                         [COMPRESSION_ZSTD] = HOLDALL_CODEC_ZSTD};
        if (!set_option(options, HOLDALL_OPT_CODEC, codecs[args->compression])) return false;
    }
    return !args->dictionary || set_dictionary(options, args->dictionary);
}

bool set_commit_options(holdall_options *options, const struct args *args) {
    return (!args->no_sync || set_option(options, HOLDALL_OPT_DURABILITY, 0)) &&
           (!args->no_lock || set_option(options, HOLDALL_OPT_LOCK, 0));
}

static bool set_reader_options(holdall_options *options, const struct args *args) {
    return set_choice(options, HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_TAIL, args->limits) &&
           set_given(options, HOLDALL_OPT_BAG_LIMITS_CACHE, args->limits_storage) &&
           set_choice(options, HOLDALL_OPT_BAG_SHARDS, HOLDALL_BAG_SHARDS_CONCATENATED, args->interleaved ? SHARDS_INTERLEAVED : args->shards) &&
           set_given(options, HOLDALL_OPT_FRAME_OFFSET, args->at) &&
           set_given(options, HOLDALL_OPT_THREADS, args->threads) &&
           set_given(options, HOLDALL_OPT_MEMORY_LIMIT, args->memory_limit) &&
           (!args->map || set_option(options, HOLDALL_OPT_IO, HOLDALL_IO_MAP)) &&
           (!args->unchecked || set_option(options, HOLDALL_OPT_VERIFY, 0)) && set_compression(options, args);
}

holdall_options *reader_options(const struct args *args) {
    holdall_options *options = new_options();
    if (!options || set_reader_options(options, args)) return options;
    holdall_options_free(options);
    return NULL;
}
