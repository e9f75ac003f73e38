/*
 * The rows of a frame on stdout: CSV, JSON lines, a file of NumPy or bare bytes.
 */
#ifndef FRAME_PRINT_H
#define FRAME_PRINT_H

#include "frame.h"
#include "text.h"

struct printer {
    int64_t format; /* FORMAT_CSV, _JSONL, _NPY or _RAW */
    struct text text;
    bool names;
    bool exact; /* what does not read back is refused */
    uint64_t rows; /* that were printed */
};

/* Fields of a row in CSV. */
size_t frame_fields(const struct frame *frame);
/* Name of an unnamed field in the header line of an array's rows. */
enum { FIELD_NAME = 24 };
void frame_field_name(size_t i, char name[FIELD_NAME]);

/* Prints what stands before the rows, of which there are going to be so many. */
bool printer_begin(struct printer *printer, const struct frame *frame, int64_t format, uint64_t rows);
/* A rows_fn. */
bool printer_take(void *printer, const struct frame *frame);
void printer_free(struct printer *printer);

/* The type of a row of a frame as NumPy spells it, a list of fields; to be freed. */
char *frame_dtype(const struct frame *frame);
/* Appends a row, its columns end to end. */
void frame_pack(struct text *text, const struct frame *frame, uint64_t row);

#endif
