/*
 * Attributes go from one container into another: those of datasets each have a name; an array in a file of Bloscpack has
 * them as members of its metadata, beside what makes it an array.
 *
 * Errors, and attributes that the destination cannot store, are reported on stderr.
 */
#ifndef ATTRS_H
#define ATTRS_H

#include "dataset.h"

/* Into the metadata of an array in a file, as a member "attrs", which the next commit writes. */
bool attrs_to_metadata(const struct dataset *from, holdall_array *to, const char *path);
/* From the metadata of an array in a file, to a dataset. */
bool attrs_from_metadata(const holdall_array *from, const struct dataset *to);
/* From one dataset to another. */
bool attrs_copy(const struct dataset *from, const struct dataset *to);
/* Those of the columns of a table, of which each is a dataset; to a table of the same columns. */
bool attrs_copy_columns(const struct dataset *from, holdall_table *to, const char *path);
/* How many attributes a dataset has, with those of its columns. */
uint64_t attrs_count(const struct dataset *dataset);

#endif
