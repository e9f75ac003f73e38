/*
 * Open bags and slices.
 */
#include "bags.h"
#include "report.h"
#include "slice.h"

holdall_bag *open_bag(const char *spec, const struct args *args, const holdall_options *options) {
    holdall_bag *bag = NULL, *part = NULL;
    holdall_error error;
    if (holdall_bag_open(spec, options, &bag, &error) < 0) {
        complain_error(spec, &error, "");
        return NULL;
    }
    if (!args->slice.given) return bag;
    struct span span = slice_resolve(&args->slice, holdall_bag_size(bag));
    if (holdall_bag_slice(bag, span.start, span.step, span.count, &part, &error) < 0) complain_error(spec, &error, "");
    holdall_bag_close(bag);
    return part;
}
