/*
 * Open bags and slices.
 */
#include "bags.h"
#include "report.h"
#include "slice.h"
#include "info.h"

#include <stdlib.h>

/* Returns whether it is an empty file that neither its name nor a flag declares a bag. */
static bool is_empty_of_no_format(const char *spec, const struct args *args, const holdall_bag *bag, holdall_error *error) {
    if (info_of_bag(bag).stored_bytes > 0 || args->compression != NOT_GIVEN || args->limits == LIMITS_SEPARATE) return false;
    return args->from != FROM_BAGZ && holdall_identify(spec, NULL, NULL, error) == HOLDALL_E_FORMAT;
}

holdall_bag *open_bag(const char *spec, const struct args *args, const holdall_options *options) {
    holdall_bag *bag = NULL, *part = NULL;
    holdall_error error;
    if (holdall_bag_open(spec, options, &bag, &error) < 0) {
        complain_error(spec, &error, "");
        return NULL;
    }
    if (is_empty_of_no_format(spec, args, bag, &error)) {
        complain_error(spec, &error, "");
        return holdall_bag_close(bag), NULL;
    }
    if (!args->slice.given) return bag;
    struct span span = slice_resolve(&args->slice, holdall_bag_record_count(bag));
    if (holdall_bag_slice(bag, span.start, span.count, span.step, &part, &error) < 0) complain_error(spec, &error, "");
    holdall_bag_close(bag);
    return part;
}

char *files_of_bag(const char *spec, size_t *n) {
    holdall_error error;
    char *files = NULL;
    holdall_status status = holdall_bag_files(spec, NULL, 0, n, &error);
    if (status >= 0 && !(files = malloc(*n + 1))) return complain("out of memory"), NULL;
    if (status >= 0) status = holdall_bag_files(spec, files, *n, n, &error); /* more, where some have come just now, are an error */
    if (status >= 0) return files;
    complain_error(spec, &error, "");
    free(files);
    return NULL;
}
