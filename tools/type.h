/*
 * The types of items, as NumPy spells them, taken apart: what the bytes of an item mean.
 */
#ifndef TYPE_H
#define TYPE_H

#include "holdall.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct field;

struct type {
    /* As NumPy has it: b i u f c S U V M m O. Also '{': named fields, and '[': items of another type. */
    char kind;
    bool big_endian;
    size_t size; /* bytes of an item */
    /* of times: a count of what `unit` says, "" where nothing is known; `many` of them are 1 */
    char unit[8];
    int64_t many;
    size_t count; /* fields, or items */
    struct field *fields;
    struct type *of;
};

struct field {
    char *name, *dtype; /* `dtype`: its type, as it was spelled */
    size_t offset;
    struct type type;
};

/* From a type as the library reports it, with items of so many bytes; one that is not known here is taken for bytes
 * without a meaning. False: out of memory, which is reported. */
bool type_parse(struct type *type, const char *dtype, size_t itemsize);
/* The same where the size is not known; false: it is none that is known here, or no memory. Says nothing. */
bool type_read(struct type *type, const char *dtype);
/* Makes of it the type of an item of ndim dimensions. False: out of memory, which is reported. */
bool type_nest(struct type *type, uint32_t ndim, const uint64_t *shape);
/* Takes a pair of a type and a shape apart, "('<f8', (3,))"; what is none has no dimensions. *item is to be freed; NULL: no memory,
 * or not a type that is known here. */
void type_split(const char *dtype, char **item, uint32_t *ndim, uint64_t shape[HOLDALL_MAX_NDIM]);
/* Returns whether items of both types have the same bytes. */
bool type_equal(const struct type *one, const struct type *other);
/* Returns whether it contains Python objects. */
bool type_has_objects(const struct type *type);
void type_free(struct type *type);

#endif
