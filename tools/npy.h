/*
 * The header of a NumPy file (.npy): what stands before the items.
 */
#ifndef NPY_H
#define NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints it. `descr` is the type as a Python constant: a string in its quotes, or a list. */
bool npy_put_header(const char *descr, bool fortran_order, uint32_t ndim, const uint64_t *shape);

#endif
