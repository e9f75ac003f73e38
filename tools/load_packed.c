/*
 * Reads rows end to end, as they follow the header of a NumPy file.
 */
#define _POSIX_C_SOURCE 200809L

#include "load.h"
#include "npy.h"
#include "report.h"
#include "signals.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rows that a frame has room for. */
#define MANY ((uint64_t)1 << 40)

/* A structured type is columns, any other one is an array. */
static bool add_columns(struct frame *frame, const struct npy *npy, const struct type *type) {
    if (type->kind != '{' || npy->ndim > 1) {
        frame->bare = true;
        char *dtype = npy_dtype(npy);
        bool good = dtype && frame_add(frame, "", dtype, type->size, npy->ndim - 1, npy->shape + 1);
        free(dtype);
        return good;
    }
    for (size_t i = 0; i < type->count; i++) {
        const struct field *field = &type->fields[i];
        if (!frame_add(frame, field->name, field->dtype, field->type.size, 0, NULL)) return false;
    }
    return true;
}

bool load_npy_columns(struct frame *frame, struct input *in, const struct args *args, int64_t from, uint64_t *rows) {
    struct npy npy;
    struct type type = {.many = 1};
    bool good = npy_begin(in, args, from, &npy);
    if (good && (!type_read(&type, npy.descr) || type_has_objects(&type))) {
        good = (complain("%s: items of %s are not read", in->name, npy.descr), false);
    } else if (good && npy.ndim == 0) {
        good = (complain("%s: an array without dimensions has no rows", in->name), false);
    } else if (good && npy.fortran_order && npy.ndim > 1) {
        good = (complain("%s: its items are in Fortran order, which is not rows (--to b2nd or blpk takes it)", in->name), false);
    }
    good = good && add_columns(frame, &npy, &type);
    *rows = npy.shape[0];
    type_free(&type);
    free(npy.descr);
    return good;
}

/* From rows to columns. */
static void scatter(struct frame *frame, const unsigned char *packed, uint64_t n) {
    for (size_t i = 0; i < frame->count; i++) {
        size_t size = frame->columns[i].type.size;
        unsigned char *to = frame->columns[i].bytes;
        const unsigned char *from = packed;
        for (uint64_t row = 0; row < n; row++, to += size, from += frame->row) memcpy(to, from, size);
        packed += size;
    }
    frame->n = n;
}

bool load_packed(struct frame *frame, struct input *in, uint64_t rows, rows_fn take, void *ctx) {
    uint64_t row = frame->row, done = 0;
    if (row == 0 && rows == UINT64_MAX) return complain("%s: its rows have no bytes", in->name), false;
    if (row == 0) { /* there is nothing to read, and there may be rows nevertheless */
        frame->n = rows;
        return rows == 0 || take(ctx, frame);
    }
    if (!frame_make_room(frame, MANY)) return false;
    unsigned char *packed = malloc((size_t)(frame->room * row));
    bool good = packed != NULL;
    if (!packed) complain("out of memory");
    for (size_t got = 1; good && got > 0;) {
        good = input_read(in, packed, (size_t)(frame->room * row), &got) && !stopped;
        if (good && got % row != 0) {
            good = (complain("%s: its last %" PRIu64 " bytes are no whole row, of %" PRIu64 " bytes", in->name, got % row, row), false);
        }
        scatter(frame, packed, got / row);
        done += frame->n;
        input_progress(in, done);
        good = good && (got == 0 || take(ctx, frame));
    }
    free(packed);
    if (good && rows != UINT64_MAX && done != rows) {
        good = (complain("%s: its shape declares %" PRIu64 " rows, found %" PRIu64, in->name, rows, done), false);
    }
    return good;
}
