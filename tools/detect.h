/*
 * Detects the format of a file, or of standard input, by its first bytes.
 */
#ifndef DETECT_H
#define DETECT_H

/* Returns the name of the format that the first bytes of a file show, or NULL: bytes of such a file are no items or lines. "-" is
 * standard input, of which nothing is consumed. A bag has no magic number, and many files end like one: it must have the name of
 * a bag, or begin with a zstd frame. */
const char *stored_format(const char *path);

#endif
