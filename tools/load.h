/*
 * Files as rows of a frame: CSV, JSON lines, files of NumPy, bare bytes.
 *
 * These functions report errors on stderr before they return, with the line and the column.
 */
#ifndef LOAD_H
#define LOAD_H

#include "files.h"
#include "frame.h"

/* Reads the file once, and adds its columns to a frame. Their types are those in `dtypes` ("x=<f8,y=|S3"), or with NULL
 * those that fit all rows. *rows receives the number of rows. The rows are those of an array if `dtypes` is one type without a
 * name, or if lines of JSON are no objects. */
bool load_columns(struct frame *frame, const char *path, bool json, const char *dtypes, uint64_t *rows);

/* Reads the rows of a file ("-": of stdin), whose columns are those of the frame in any order, and gives them on. `out`
 * is what is written meanwhile, and must be another file. */
bool load_rows(struct frame *frame, const char *path, bool json, const char *out, rows_fn take, void *ctx);

/* The same of a file of NumPy, or one whose type --dtype gives (FROM_NPY, FROM_RAW), in two steps: items with fields are rows
 * with columns, others are an array. Between them `in` stays open, for it may be one that is read once. */
bool load_npy_columns(struct frame *frame, struct input *in, const struct args *args, int64_t from, uint64_t *rows);
/* Reads rows whose columns stand end to end, in the order of the frame; UINT64_MAX: as many as there are. */
bool load_packed(struct frame *frame, struct input *in, uint64_t rows, rows_fn take, void *ctx);

#endif
