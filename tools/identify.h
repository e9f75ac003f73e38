/*
 * Kinds and formats of containers, and their names.
 */
#ifndef IDENTIFY_H
#define IDENTIFY_H

#include "args.h"
#include "holdall.h"

#include <stdbool.h>

/* Returns the container at a path. BAG if it is unknown: the reader of bags then reports the error. */
enum container container_of(const char *path);
/* Returns its format; 0: unknown. */
holdall_format format_at(const char *path);
/* The same for the input of a command: with --at, of a frame at that offset in the file. identify_there() returns the
 * result of holdall_identify(). */
enum container container_there(const struct args *args, const char *path);
holdall_format format_there(const struct args *args, const char *path);
holdall_status identify_there(const struct args *args, const char *path, holdall_format *format, holdall_kind *kind,
                              holdall_error *error);
/* Returns whether a name has one of the extensions (".a|.b|.c"), or none. Ignores '@' and what follows, and the shard number. */
bool known_ending(const char *path, const char *endings);
/* "bag", "superchunk", "dataset". */
const char *container_name(enum container container);

/* Format of a file of rows, FROM_*: as given, else by its extension, else NOT_GIVEN. */
int64_t file_format(const char *path, int64_t given);

bool ends_in(const char *text, const char *end);

const char *format_name(holdall_format format);
const char *kind_name(holdall_kind kind);


#endif
