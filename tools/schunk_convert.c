/*
 * holdall convert of a superchunk or an array into another one, with other chunks.
 *
 * The copy counts at once, at its end: whatever fails before, or a signal, leaves OUT as it was.
 */
#include "arrays.h"
#include "convert.h"
#include "options.h"
#include "packing.h"
#include "report.h"
#include "schunks.h"
#include "signals.h"
#include "tool.h"

#include <inttypes.h>

static int report_progress(void *ctx, uint64_t done, uint64_t total) {
    progress_report(ctx, done, total);
    return stopped != 0;
}

static bool set_options(holdall_options *options, const struct args *args) {
    holdall_options_set_progress(options, report_progress, NULL);
    return set_chunk_options(options, args) && set_file_options(options, args) &&
           set_given(options, HOLDALL_OPT_MEMORY_LIMIT, args->memory_limit);
}

static bool copy(struct source *source, const holdall_array *array, const struct args *args, holdall_format format) {
    const char *out = args->operands[1];
    holdall_mode mode = args->replace ? HOLDALL_REPLACE : HOLDALL_CREATE;
    holdall_error error;
    holdall_status status = -1;
    uint64_t room[2][HOLDALL_MAX_NDIM];
    const uint64_t *chunks, *blocks;
    uint32_t ndim = array ? holdall_array_ndim(array) : 0;
    if (!numbers_as_shape(&args->chunks, "chunks", source->path, ndim, room[0], &chunks) ||
        !numbers_as_shape(&args->blocks, "blocks", source->path, ndim, room[1], &blocks)) {
        return false;
    }
    holdall_options *options = new_options();
    if (options && set_options(options, args)) {
        holdall_array_spec spec = {.struct_size = sizeof spec, .format = format, .ndim = ndim, .chunk_shape = chunks, .block_shape = blocks};
        status = array ? holdall_array_copy(array, out, mode, &spec, options, &error)
                       : holdall_schunk_copy(source->schunk, out, mode, format, options, &error);
        progress_clear();
        if (status < 0 && !stopped) complain_create(out, &error, args->replace);
    }
    holdall_options_free(options);
    if (status == HOLDALL_DAMAGED) source_report_damage(source, "in the copy");
    return status >= 0;
}

static int convert(struct source *source, const holdall_array *array, const struct args *args, holdall_format format) {
    catch_signals();
    progress_begin("convert", "bytes", args->quiet);
    bool good = copy(source, array, args, format);
    if (!good && stopped) die_of_signal();
    if (good && !args->quiet) {
        uint64_t n = source->schunk ? holdall_schunk_nbytes(source->schunk) : holdall_array_nbytes(array);
        note("%s: %" PRIu64 " byte%s converted", args->operands[1], n, plural(n));
    }
    return good && !source->damaged ? DONE : FAILED;
}

int schunk_convert(const struct args *args, int64_t as) {
    struct source source;
    holdall_array *array = NULL;
    holdall_format format = format_of(as);
    if (!source_open(&source, args->operands[0], args)) return FAILED;
    int code = FAILED;
    if (!source_array(&source, args, &array)) {
        /* it was said */
    } else if (array && as == AS_B2FRAME) {
        code = flat_convert(args, &source, array);
    } else if (array ? format && (format == HOLDALL_FORMAT_BLOSCPACK || is_frame(format) || in_c_order(array))
                     : format == HOLDALL_FORMAT_BLOSCPACK || format == HOLDALL_FORMAT_B2FRAME) {
        code = convert(&source, array, args, format);
    } else if (array ? as == AS_NPY || as == AS_RAW : as == AS_RAW) {
        code = array_to_file(args, &source, array, as, 0);
    } else if (array) {
        code = rows_convert_array(args, array, as);
    } else {
        complain("%s: a superchunk that is no array has no rows", source.path);
    }
    if (source.damaged) code = FAILED;
    holdall_array_close(array);
    source_close(&source);
    return code;
}

int array_convert(const struct args *args, const struct dataset *dataset, holdall_format format) {
    struct source source = {.path = dataset->path};
    return convert(&source, dataset->array, args, format);
}
