/*
 * What reading Arrow's IPC format shares: bytes in their order, and a batch, of which one column becomes records.
 *
 * These functions report errors on stderr before they return.
 */
#ifndef ARROW_BATCH_H
#define ARROW_BATCH_H

#include "arrow_schema.h"
#include "files.h"
#include "records.h"
#include "text.h"

/* Kinds of messages; offsets of the fields that are read in their table. */
enum { SCHEMA = 1, DICTIONARY_BATCH = 2, RECORD_BATCH = 3 };
enum { MESSAGE_KIND = 1, MESSAGE_HEADER = 2, MESSAGE_BODY = 3 };
/* Values that are handed over at once. */
enum { VALUES_MOST = 32768 };

struct arrow_in {
    struct input *in;
    uint64_t base;         /* where in the input it begins */
    uint64_t most;
    unsigned char held[8]; /* read to see what it is, and not yet taken */
    size_t holding;
    uint64_t position;     /* of the next byte in the file */
    uint64_t body;         /* of the next byte in a body */
    uint64_t batch, rows;  /* the number of the batch, and values of those before it */
    uint64_t begin;        /* of its message in the file */
    struct arrow_column column;
    struct text meta, offsets, values, viewed;
    uint64_t *limits;      /* of the values that are handed over, VALUES_MOST + 1 */
    records_fn take;
    void *ctx;
};

/* Says what is wrong with the batch, or message, that is being read. */
bool arrow_fail(const struct arrow_in *a, const char *message);
/* Reads until n bytes are there or the input ends; the same where they must be there. */
bool arrow_get(struct arrow_in *a, void *dst, size_t n, size_t *got);
bool arrow_get_all(struct arrow_in *a, void *dst, size_t n);
/* Appends the next n bytes. The buffer grows with the bytes that exist, not with the claimed length. */
bool arrow_get_text(struct arrow_in *a, struct text *text, uint64_t n);
bool arrow_pass(struct arrow_in *a, uint64_t n);

/* Reads the body of a batch, whose message this is: its values go to `take`. */
bool arrow_batch(struct arrow_in *a, struct flat *flat, size_t message);

#endif
