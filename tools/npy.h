/*
 * Files of NumPy (.npy): a header in front of the items.
 */
#ifndef NPY_H
#define NPY_H

#include "args.h"
#include "files.h"
#include "holdall.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints a header. `descr` is the type as a Python constant: a string in its quotes, or a list. */
bool npy_put_header(const char *descr, bool fortran_order, uint32_t ndim, const uint64_t *shape);

/* One that is packed. */
struct npy {
    char *descr; /* the type as a Python constant; to be freed */
    bool fortran_order;
    uint32_t ndim;
    uint64_t shape[HOLDALL_MAX_NDIM];
    /* from the library */
    uint64_t itemsize, nbytes, chunk_size;
};

/* Reads the header; the items come next. Reports errors. */
bool npy_read_header(struct input *in, struct npy *npy);
/* The same for a file without a header, with the item type from --dtype; `from` is FROM_NPY or FROM_RAW. */
bool npy_begin(struct input *in, const struct args *args, int64_t from, struct npy *npy);
/* Bytes of an item and of all of them; false: more than there can be, or the type is not known, which is reported. */
bool npy_measure(struct npy *npy, const struct input *in);
/* The type as the library wants it, to be freed: without the quotes that make a Python constant of it. */
char *npy_dtype(const struct npy *npy);
/* Returns whether the items are rows of the array, in its order, and reports if not. Sets `nbytes`. */
bool npy_fits(struct npy *npy, const struct input *in, const holdall_array *array);
/* Asks the library how large items are, and how large chunks of them should be in a new file that `options` make. */
bool npy_lay_out(struct npy *npy, const struct args *args, const char *out, holdall_mode mode, holdall_options *options);
/* The metadata by which Bloscpack knows the array; to be freed. */
char *npy_metadata(const struct npy *npy);

#endif
