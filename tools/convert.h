/*
 * The ways of holdall convert: what goes over as it is, and what goes row by row. Each returns the exit code.
 */
#ifndef CONVERT_H
#define CONVERT_H

#include "args.h"
#include "dataset.h"
#include "holdall.h"
#include "schunks.h"

/* A superchunk, or the array in it. */
int schunk_convert(const struct args *args, int64_t as);
/* An array of a folder or a frame. */
int array_convert(const struct args *args, const struct dataset *dataset, holdall_format format);

/* A table, or a file that has rows (`from`: FROM_*; or NOT_GIVEN), becomes a container, or a file (`as`). */
int rows_convert(const struct args *args, struct dataset *dataset, int64_t from, int64_t as);
/* An array, row by row. */
int rows_convert_array(const struct args *args, const holdall_array *array, int64_t as);

/* Returns whether all files in the folder belong to the dataset. Reports the others, which a copy would lack. */
bool refuse_unknown_files(const struct dataset *dataset);

/* A table becomes a stream of Arrow, or a file. */
int table_to_arrow(const struct args *args, struct dataset *dataset, bool file);

/* Items of a file, FROM_NPY or FROM_RAW: into an array whose chunks are parts of a grid, or into another file. */
int grid_convert(const struct args *args, int64_t from, int64_t as);
int items_convert(const struct args *args, int64_t from, int64_t as);
/* Items of a file, or of an array in C order, become the content of a frame that has no shape. */
int items_to_frame(const struct args *args);
int flat_convert(const struct args *args, struct source *source, const holdall_array *array);
/* The items of an array, or the content of a superchunk (`array` is NULL), become a file, which cannot store
 * for `attrs` attributes. */
int array_to_file(const struct args *args, struct source *source, const holdall_array *array, int64_t as, uint64_t attrs);
/* Says that they are lost. */
void note_lost_attrs(const struct args *args, uint64_t attrs);

/* Returns whether a bag or a file of records is involved; bag_convert() then does the conversion. */
bool is_bag_way(const struct args *args);
int bag_convert(const struct args *args);
/* An ending of files of records, or of bags (".txt"); NULL: there are no more. */
const char *record_ending(size_t i);

/* Prints into OUT, which is there when all is printed, or to stdout where it is "-". */
bool print_to_out(const struct args *args, bool (*print)(void *ctx), void *ctx);

/* Format of the container that convert writes; 0: a plain file. */
holdall_format format_of(int64_t as);

#endif
