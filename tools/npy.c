/*
 * The header of a NumPy file: magic, version, length, and a Python dictionary, filled up with spaces so that
 * the items begin at a multiple of 64 bytes.
 */
#include "npy.h"
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The items begin at a multiple of this. */
enum { ALIGNMENT = 64 };
/* Room for the fixed text around type and shape, and for a number of the shape. */
enum { FIXED = 128, NUMBER = 24 };

static bool is_ascii(const char *text) {
    while (*text && (unsigned char)*text < 0x80) text++;
    return *text == '\0';
}

/* The dictionary, to be freed. */
static char *dictionary(const char *descr, bool fortran_order, uint32_t ndim, const uint64_t *shape) {
    size_t room = strlen(descr) + FIXED + (size_t)ndim * NUMBER;
    char *text = malloc(room);
    if (!text) return NULL;
    size_t n = (size_t)snprintf(text, room, "{'descr': %s, 'fortran_order': %s, 'shape': (", descr,
                                fortran_order ? "True" : "False");
    for (uint32_t i = 0; i < ndim; i++) {
        /* Python's tuple of one ends in a comma */
        n += (size_t)snprintf(text + n, room - n, "%s%" PRIu64 "%s", i ? " " : "", shape[i],
                              ndim == 1 || i + 1 < ndim ? "," : "");
    }
    snprintf(text + n, room - n, "), }");
    return text;
}

bool npy_put_header(const char *descr, bool fortran_order, uint32_t ndim, const uint64_t *shape) {
    char *text = dictionary(descr, fortran_order, ndim, shape);
    if (!text) return complain("out of memory"), false;
    size_t n = strlen(text) + 1; /* with the newline at its end */
    /* version 1 has 2 bytes for the length and version 2 has 4; version 3 is for UTF-8 */
    int version = !is_ascii(text) ? 3 : n + ALIGNMENT > UINT16_MAX ? 2 : 1;
    size_t lead = version == 1 ? 10 : 12;
    size_t spaces = (ALIGNMENT - (lead + n) % ALIGNMENT) % ALIGNMENT;
    unsigned char head[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version};
    for (size_t i = 8; i < lead; i++) head[i] = (unsigned char)((n + spaces) >> (8 * (i - 8)));
    bool good = put_bytes(head, lead) && put_text("%s%*s\n", text, (int)spaces, "");
    free(text);
    return good;
}
