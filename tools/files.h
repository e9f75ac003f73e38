/*
 * Plain files: what is packed ("-": stdin), and what is unpacked.
 *
 * These functions report errors on stderr before they return, except an interruption by a signal.
 */
#ifndef FILES_H
#define FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of a whole file ("-": of stdin), to be freed. */
bool read_whole_file(const char *path, unsigned char **bytes, size_t *n);

/* Copies the next n bytes of standard input, at most 4096, without consuming them. Waits for all of them or the end of the input.
 * Returns the number of bytes. */
size_t standard_peek(void *dst, size_t n);

/* A file that is read from its beginning to its end. */
struct input {
    const char *name; /* for messages */
    int fd;
    uint64_t done, total; /* bytes read, and bytes to read (0: not known) */
};

/* Opens it. What is going to be written, `out`, must not be the same file. */
bool input_open(struct input *in, const char *path, const char *out);
/* Reads until n bytes are there or the file ends; *got are there. */
bool input_read(struct input *in, void *dst, size_t n, size_t *got);
/* Reports progress; `packed` is used if the length of the input is not known. */
void input_progress(const struct input *in, uint64_t packed);
void input_close(struct input *in);

/* A file that is written sequentially under a temporary name, and then renamed. */
struct output {
    const char *path;
    char *temporary; /* what is written until it is whole; NULL: the bytes go where they belong */
    int fd;
};

/* Opens it. A file that is there is refused, or with `replace` stays until all is written. */
bool output_open(struct output *out, const char *path, bool replace);
bool output_write(struct output *out, const void *bytes, size_t n);
/* Renames the temporary file if it is complete (`whole`), else removes it. */
bool output_close(struct output *out, bool whole, bool replace);

#endif
