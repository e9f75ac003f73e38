/*
 * Python's slices.
 */
#include "slice.h"

/* One end of a slice as a number, clamped as Python does. */
static int64_t clamp(int64_t end, int64_t absent, int64_t size, int64_t low, int64_t high) {
    if (end == NOT_GIVEN) return absent;
    if (end < 0) end += size;
    return end < low ? low : end > high ? high : end;
}

struct span slice_resolve(const struct slice *slice, uint64_t length) {
    if (!slice->given) return (struct span){0, length, 1};
    int64_t size = length > INT64_MAX ? INT64_MAX : (int64_t)length;
    int64_t step = slice->step == NOT_GIVEN ? 1 : slice->step;
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    int64_t start = clamp(slice->start, step < 0 ? high : low, size, low, high);
    int64_t stop = clamp(slice->stop, step < 0 ? low : high, size, low, high);
    int64_t count = 0;
    if (step > 0 && start < stop) count = (stop - start - 1) / step + 1;
    if (step < 0 && stop < start) count = (start - stop - 1) / -step + 1;
    /* no more than one number needs no step, and its step may be too large to reckon with */
    if (count <= 1) step = 1;
    return (struct span){count ? (uint64_t)start : 0, (uint64_t)count, step};
}
