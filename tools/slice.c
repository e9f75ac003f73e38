/*
 * Python's slices.
 */
#include "slice.h"

#include <string.h>

/* ---- text ---- */

bool slice_number(const char *text, const char **end, int64_t *value) {
    bool minus = *text == '-';
    if (*text == '-' || *text == '+') text++;
    if (*text < '0' || *text > '9') return false;
    int64_t v = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        int digit = *text - '0';
        v = v > (INT64_MAX - digit) / 10 ? INT64_MAX : v * 10 + digit;
    }
    *value = minus ? -v : v;
    *end = text;
    return true;
}

/* A part of a slice; it ends at a comma or with the text, where *end points to then. */
static bool parse_part(const char *text, const char **end, struct pick *pick) {
    int64_t parts[3] = {NOT_GIVEN, NOT_GIVEN, NOT_GIVEN};
    int colons = 0;
    if (strncmp(text, "...", 3) == 0) {
        *pick = (struct pick){.kind = PICK_REST};
        *end = text + 3;
        return true;
    }
    for (;; colons++, text++) {
        if (*text != ':' && *text != ',' && *text != '\0' && !slice_number(text, &text, &parts[colons])) return false;
        if (*text == ',' || *text == '\0') break;
        if (*text != ':' || colons == 2) return false;
    }
    *end = text;
    pick->kind = colons > 0 ? PICK_RANGE : PICK_ONE;
    pick->slice = (struct slice){true, parts[0], parts[1], parts[2]};
    return colons > 0 ? parts[2] != 0 : parts[0] != NOT_GIVEN;
}

bool slice_parse(const char *text, struct slice *slice) {
    struct pick pick;
    if (!parse_part(text, &text, &pick) || *text != '\0' || pick.kind != PICK_RANGE) return false;
    *slice = pick.slice;
    return true;
}

bool picks_parse(const char *text, struct picks *picks) {
    bool rest = false;
    for (picks->count = 0; picks->count < PICKS_MOST; text++) {
        struct pick *pick = &picks->items[picks->count++];
        if (!parse_part(text, &text, pick) || (rest && pick->kind == PICK_REST)) return false;
        rest |= pick->kind == PICK_REST;
        if (*text == '\0') return true;
        if (*text != ',') return false;
    }
    return false;
}

/* ---- numbers ---- */

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
