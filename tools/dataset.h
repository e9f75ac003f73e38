/*
 * Datasets as the command line names them: folders that are an array or a table.
 *
 * These functions report errors on stderr before they return.
 */
#ifndef DATASET_H
#define DATASET_H

#include "args.h"
#include "holdall.h"

#include <stddef.h>

#ifndef HOLDALL_OPT_SPARSE
#define HOLDALL_OPT_SPARSE 17
#endif

/* The dataset at a path. If opening fails, both are NULL. */
struct dataset {
    const char *path;
    uint64_t at; /* where it begins in the file */
    holdall_format format;
    holdall_table *table; /* NULL: it is an array */
    holdall_array *array;
};

/* Returns whether it is a Blosc2 frame. */
bool is_frame(holdall_format format);

/* Opens what is there, to be read or (HOLDALL_APPEND) changed. */
bool dataset_open(struct dataset *dataset, const char *path, holdall_mode mode, const holdall_options *options);
/* The same to be read, as the flags of a reading command say. */
bool dataset_read(struct dataset *dataset, const char *path, const struct args *args);
void dataset_close(struct dataset *dataset);

uint64_t dataset_rows(const struct dataset *dataset);

/* The values beside it. */
uint32_t dataset_attrs(const struct dataset *dataset);
const char *dataset_attr_name(const struct dataset *dataset, uint32_t i);
/* Returns a value as JSON, terminated by a NUL. The caller frees it. NULL: no such value, or out of memory (reported). */
char *dataset_attr(const struct dataset *dataset, const char *name, size_t *n);
/* The same as it is stored: in frames of Blosc2 that is MessagePack, as a rule. */
char *dataset_attr_stored(const struct dataset *dataset, const char *name, size_t *n);
/* Sets one from JSON that is known to be that, or (`stored`) from bytes as they are to be stored; NULL removes it. It counts
 * from the next commit on. */
bool dataset_attr_set(const struct dataset *dataset, const char *name, const char *value, size_t n, bool stored);
bool dataset_commit(const struct dataset *dataset);
/* JSON, to be freed, of a value as a frame has it: bytes as {"hex": ...} where it is no MessagePack. */
char *stored_to_json(const void *bytes, size_t *n);
/* Prints a value as JSON; Python's NaN is none, and text then. */
void put_attr(const char *json, size_t n);

#endif
