/*
 * holdall convert: a superchunk or an array becomes another one, with other chunks.
 *
 * The copy counts at once, at its end: whatever fails before, or a signal, leaves OUT as it was.
 */
#include "arrays.h"
#include "options.h"
#include "packing.h"
#include "report.h"
#include "schunks.h"
#include "signals.h"
#include "tool.h"
#include "words.h"

#include <inttypes.h>
#include <string.h>

static int tell(void *ctx, uint64_t done, uint64_t total) {
    progress_tell(ctx, done, total);
    return stopped != 0;
}

static bool set_options(holdall_options *options, const struct args *args) {
    holdall_options_on_progress(options, tell, NULL);
    return set_chunk_options(options, args) && set_file_options(options, args) &&
           set_given(options, HOLDALL_OPT_MEMORY_LIMIT, args->memory_limit);
}

static bool copy(struct source *source, const holdall_array *array, const struct args *args) {
    const char *out = args->operands[1];
    holdall_mode mode = args->replace ? HOLDALL_REPLACE : HOLDALL_NEW;
    const holdall_format blpk = HOLDALL_FORMAT_BLOSCPACK;
    holdall_error error;
    holdall_status status = -1;
    holdall_options *options = new_options();
    if (options && set_options(options, args)) {
        status = array ? holdall_array_copy(array, out, mode, blpk, NULL, NULL, options, &error)
                       : holdall_schunk_copy(source->schunk, out, mode, blpk, options, &error);
        progress_clear();
        if (status < 0 && !stopped) {
            complain_error(out, &error, status == HOLDALL_E_EXISTS ? " (--force takes its place)" : "");
        }
    }
    holdall_options_free(options);
    if (status == HOLDALL_NOT_FOUND) source_tell_damage(source, "in the copy");
    return status >= 0;
}

static int convert(struct source *source, const holdall_array *array, const struct args *args) {
    catch_signals();
    progress_begin("convert", "bytes", args->quiet);
    bool good = copy(source, array, args);
    if (!good && stopped) die_of_signal();
    if (good && !args->quiet) {
        uint64_t n = source->schunk ? holdall_schunk_nbytes(source->schunk) : holdall_array_nbytes(array);
        note("%s: %" PRIu64 " byte%s converted", args->operands[1], n, plural(n));
    }
    return good && !source->damaged ? DONE : FAILED;
}

int cmd_convert(const struct args *args) {
    for (size_t i = 0; i < 2; i++) {
        if (strcmp(args->operands[i], "-") == 0) {
            return usage_error(args->command, "a superchunk is not read or written from front to back: not '-'");
        }
    }
    if (ends_in(args->operands[1], ".bagz")) {
        return usage_error(args->command, "it writes superchunks, and '%s' is the name of a bag", args->operands[1]);
    }
    if (ends_in(args->operands[1], ".npy")) {
        return usage_error(args->command, "it writes superchunks; cat --format npy writes a .npy");
    }
    int wrong = check_chunk_flags(args);
    if (wrong >= 0) return wrong;
    struct source source = {.path = args->operands[0]};
    holdall_array *array = NULL;
    if (container_of(source.path) == DATASET) {
        array = dataset_array(source.path, args);
        int done = array ? convert(&source, array, args) : FAILED;
        holdall_array_close(array);
        return done;
    }
    if (!source_open(&source, args->operands[0], args)) return FAILED;
    int code = source_array(&source, args, &array) ? convert(&source, array, args) : FAILED;
    holdall_array_close(array);
    source_close(&source);
    return code;
}
