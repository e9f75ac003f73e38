/*
 * Words for the library's numbers, and what a path is.
 */
#ifndef WORDS_H
#define WORDS_H

#include "args.h"
#include "holdall.h"

#include <stdbool.h>

/* Which container is at a path? What cannot be told is for the reader of bags to complain of. */
enum container container_of(const char *path);
/* Its format; 0: it is not known. */
holdall_format format_at(const char *path);
/* The same of what a command reads, where --at may say that a frame begins later in the file; and what
 * holdall_identify() tells. */
enum container container_there(const struct args *args, const char *path);
holdall_format format_there(const struct args *args, const char *path);
holdall_status identify_there(const struct args *args, const char *path, holdall_format *format, holdall_kind *kind,
                              holdall_error *error);
/* Does a name end in one of the endings (".a|.b|.c"), or in none at all? What follows '@' and the number of a shard do not count. */
bool known_ending(const char *path, const char *endings);
/* "bag", "superchunk", "dataset". */
const char *container_name(enum container container);

/* What a file is that rows come from, FROM_*: as it is given, else as its name says, else NOT_GIVEN. */
int64_t file_format(const char *path, int64_t given);

bool ends_in(const char *text, const char *end);

const char *format_name(holdall_format format);
const char *kind_name(holdall_kind kind);


#endif
