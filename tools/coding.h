/*
 * How the chunks of an array are coded: codec, level and filters, as stored in the files of the formats.
 */
#ifndef CODING_H
#define CODING_H

#include "holdall.h"
#include "text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct coding {
    char codec[24];
    int level; /* -1: unknown */
    uint8_t filters[6], meta[6];
    int count; /* of filters */
};

/* Reads n bytes, FRAME_MAGIC at least, from the front of a frame, which is `at` bytes from the beginning of the file, or of
 * that in its folder. False: it is no frame, or shorter. */
enum { FRAME_MAGIC = 10 };
bool frame_head(const char *path, uint64_t at, unsigned char *head, size_t n);

/* Reads the head of a frame, or the first chunk of another container. False: there are no chunks. */
bool coding_of(struct coding *coding, const char *path, holdall_format format, uint64_t at);

/* The name of a filter, with its parameter if it has one: "trunc_prec:10". */
void put_filter(struct text *text, uint8_t filter, uint8_t meta);

#endif
