/*
 * Open arrays.
 */
#include "arrays.h"
#include "options.h"
#include "report.h"
#include "info.h"

bool open_array(const char *path, holdall_mode mode, const holdall_options *options, holdall_array **array) {
    holdall_error error;
    holdall_status status = holdall_array_open(path, mode, options, array, &error);
    if (status >= 0 || status == HOLDALL_E_TYPE) return true;
    return complain_error(path, &error, ""), false;
}

bool source_array(const struct source *source, const struct args *args, holdall_array **array) {
    holdall_options *options = reader_options(args);
    if (!options) return false;
    const void *metadata;
    size_t n;
    bool good = !args->skip_damaged || set_option(options, HOLDALL_OPT_SKIP_DAMAGED, 1);
    if (holdall_schunk_attr_get(source->schunk, "", &metadata, &n, NULL) == HOLDALL_NOT_FOUND) {
        *array = NULL; /* or they are skipped, as was said: whether it was an array is not known any more */
    } else {
        good = good && open_array(source->path, HOLDALL_READ, options, array);
    }
    holdall_options_free(options);
    return good;
}

bool in_c_order(const holdall_array *array) {
    return info_of_array(array).order == HOLDALL_ORDER_C || holdall_array_ndim(array) < 2;
}

uint64_t row_bytes(const holdall_array *array) {
    const uint64_t *shape = holdall_array_shape(array);
    uint64_t bytes = holdall_array_itemsize(array);
    for (uint32_t d = 1; d < holdall_array_ndim(array); d++) bytes *= shape[d];
    return bytes;
}
