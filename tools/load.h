/*
 * Files as rows of a frame: CSV, JSON lines, files of NumPy, bare bytes.
 *
 * Whatever fails here has been said on stderr when the function returns, with the line and the column.
 */
#ifndef LOAD_H
#define LOAD_H

#include "frame.h"

/* Reads the whole file once, and adds its columns to a frame, of the types that fit all rows, or of those that are told
 * (`dtypes`: "x=<f8,y=|S3", or NULL). *rows are so many. */
bool load_columns(struct frame *frame, const char *path, bool json, const char *dtypes, uint64_t *rows);

/* Reads the rows of a file ("-": of stdin), whose columns are those of the frame in any order, and gives them on. `out`
 * is what is written meanwhile, and must be another file. */
bool load_rows(struct frame *frame, const char *path, bool json, const char *out, rows_fn take, void *ctx);

/* The same of a file of NumPy: items with fields are rows with columns, others are an array. */
bool load_npy_columns(struct frame *frame, const char *path, uint64_t *rows);
/* Reads rows whose columns stand end to end, in the order of the frame, behind the header of NumPy where there is one. */
bool load_packed(struct frame *frame, const char *path, bool npy, const char *out, rows_fn take, void *ctx);

#endif
