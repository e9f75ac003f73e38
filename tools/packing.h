/*
 * What pack and append share: a file becomes content of a superchunk, piece by piece.
 *
 * Nothing counts before the commit at the end: whatever fails before it, or a signal, leaves the superchunk as
 * it was.
 */
#ifndef PACKING_H
#define PACKING_H

#include "args.h"
#include "files.h"
#include "holdall.h"

struct packing {
    const struct args *args;
    const char *from, *out;
    const char *done; /* "packed" or "appended" */
    struct input in;
    /* one of these is open */
    holdall_schunk *schunk;
    holdall_array *array;
    holdall_format format; /* of the array */
    uint64_t bytes; /* so far */
    bool exactly;   /* the content must have `expected` bytes */
    uint64_t expected;
};

/* Checks --level and checksums, beyond the table of flags. Returns as args_parse() does. */
int check_chunk_flags(const struct args *args);

/* Sets what the flags about making chunks ask for; and those about the file that they are in. */
bool set_chunk_options(holdall_options *options, const struct args *args);
bool set_file_options(holdall_options *options, const struct args *args);

/* The numbers of --chunks, or of another flag, as a shape of ndim dimensions, in `room`; *shape is NULL where there are none.
 * Reports what does not fit. */
bool numbers_as_shape(const struct numbers *numbers, const char *flag, const char *path, uint32_t ndim, uint64_t *room,
                      const uint64_t **shape);

/* convert of items of a file into an array in a file of Bloscpack, in whatever order they are. */
int array_pack(const struct args *args);

/* Opens the input, then with `open` what is written, and takes the content over; returns the exit code. */
int packing_run(struct packing *p, bool (*open)(struct packing *p));

#endif
