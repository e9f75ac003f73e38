/*
 * From slices to boxes.
 */
#include "box.h"
#include "report.h"
#include "slice.h"
#include "info.h"

#include <inttypes.h>
#include <string.h>

/* ---- one dimension ---- */

static void set_span(struct box *box, uint32_t d, const struct span *span) {
    box->backwards[d] = span->step < 0;
    box->count[d] = span->count;
    box->step[d] = box->backwards[d] ? 0 - (uint64_t)span->step : (uint64_t)span->step;
    box->start[d] = box->backwards[d] ? span->start - (span->count - 1) * box->step[d] : span->start;
}

static bool set_index(struct box *box, uint32_t d, int64_t index, uint64_t length, const char *path) {
    uint64_t from_end = index < 0 ? 0 - (uint64_t)index : 0;
    if (index < 0 ? from_end > length : (uint64_t)index >= length) {
        if (length == 0) {
            complain("%s: dimension %" PRIu32 " (the first is 0): index %" PRId64 " is out of range, its length is 0", path, d, index);
        } else {
            complain("%s: dimension %" PRIu32 " (the first is 0): index %" PRId64 " is out of range, it has 0 to %" PRIu64
                     ", or -%" PRIu64 " to -1", path, d, index, length - 1, length);
        }
        return false;
    }
    box->start[d] = index < 0 ? length - from_end : (uint64_t)index;
    box->count[d] = box->step[d] = 1;
    box->dropped[d] = true;
    return true;
}

static bool set_pick(struct box *box, uint32_t d, const struct pick *pick, uint64_t length, const char *path) {
    if (pick->kind == PICK_ONE) return set_index(box, d, pick->slice.start, length, path);
    struct span span = slice_resolve(&pick->slice, length);
    set_span(box, d, &span);
    return true;
}

/* ---- all of them ---- */

static bool set_picks(struct box *box, const struct picks *picks, const uint64_t *shape, const char *path) {
    size_t named = 0, i = 0;
    for (size_t k = 0; k < picks->count; k++) named += picks->items[k].kind != PICK_REST;
    if (named > box->ndim) {
        return complain("%s: --slice has %zu parts, and the array has %" PRIu32 " dimension%s", path, named, box->ndim,
                        plural(box->ndim)), false;
    }
    for (uint32_t d = 0; d < box->ndim && i < picks->count;) {
        uint32_t skipped = picks->items[i].kind == PICK_REST ? box->ndim - (uint32_t)named : 0;
        d += skipped;
        if (picks->items[i].kind != PICK_REST && !set_pick(box, d, &picks->items[i], shape[d], path)) return false;
        d += picks->items[i++].kind != PICK_REST;
    }
    return true;
}

bool box_of(struct box *box, const struct args *args, const holdall_array *array, const char *path) {
    const uint64_t *shape = holdall_array_shape(array);
    *box = (struct box){.ndim = holdall_array_ndim(array)};
    for (uint32_t d = 0; d < box->ndim; d++) {
        box->count[d] = shape[d];
        box->step[d] = 1;
    }
    if (box->ndim == 0 && (args->slice.given || args->rows.count > 0)) {
        return complain("%s: an array without dimensions has no slices", path), false;
    }
    if (args->picks.count > 0) return set_picks(box, &args->picks, shape, path);
    if (!args->slice.given) return true;
    struct span rows = slice_resolve(&args->slice, shape[0]);
    set_span(box, 0, &rows);
    return true;
}

/* ---- what it is ---- */

/* Returns whether these are all indices of a dimension, in order. */
static bool is_all(const struct box *box, uint32_t d, const uint64_t *shape) {
    return box->count[d] == shape[d] && box->step[d] == 1 && !box->backwards[d];
}

bool box_is_whole(const struct box *box, const holdall_array *array) {
    bool whole = true;
    for (uint32_t d = 0; d < box->ndim; d++) whole = whole && is_all(box, d, holdall_array_shape(array)) && !box->dropped[d];
    return whole;
}

bool box_is_run(const struct box *box, const holdall_array *array) {
    bool run = box->ndim == 0 || (box->step[0] == 1 && !box->backwards[0]);
    for (uint32_t d = 1; d < box->ndim; d++) run = run && is_all(box, d, holdall_array_shape(array));
    return run;
}

uint32_t box_shape(const struct box *box, uint64_t *shape) {
    uint32_t ndim = 0;
    for (uint32_t d = 0; d < box->ndim; d++) {
        if (!box->dropped[d]) shape[ndim++] = box->count[d];
    }
    return ndim;
}

/* ---- parts ---- */

uint64_t box_part(const struct box *box, const holdall_array *array, uint32_t d, uint64_t left, uint64_t most) {
    if (left <= most) return left;
    const uint64_t units[] = {info_of_array(array).chunk_shape[d], info_of_array(array).block_shape[d]};
    uint64_t step = box->step[d], first = box->start[d] + (box->backwards[d] ? 0 : (box->count[d] - left) * step);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        uint64_t unit = units[i] > 0 ? units[i] : 1;
        if (box->backwards[d]) { /* the highest `left` indices from `first` on, from the top */
            uint64_t top = first + (left - 1) * step, low = first + (left - most) * step;
            uint64_t limit = (low + unit - 1) / unit * unit;
            if (limit <= top) return (top - limit) / step + 1;
        } else {
            uint64_t limit = (first + most * step) / unit * unit;
            if (limit > first) return (limit - first + step - 1) / step;
        }
    }
    return most;
}
