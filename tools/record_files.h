/*
 * Plain files of records: lines, records behind their lengths, and TFRecord.
 *
 * https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details: length (8 bytes, little-endian), its
 * masked CRC-32C, the record, its masked CRC-32C.
 */
#ifndef RECORD_FILES_H
#define RECORD_FILES_H

#include "files.h"
#include "records.h"

enum record_format {
    RECORDS_LINES,     /* a newline behind each; none behind the last one is fine */
    RECORDS_LENGTHS32, /* each behind its length, 4 or 8 bytes, little-endian */
    RECORDS_LENGTHS64,
    RECORDS_TFRECORD,
};

/* ---- writing ---- */

struct record_printer {
    enum record_format format;
    const char *path; /* of what the records are from, for words */
    uint64_t done;
};

/* A records_fn: prints them. A record that the format has no place for is an error. */
bool record_printer_take(void *printer, const struct records *records);

/* ---- reading ---- */

struct record_parser {
    enum record_format format;
    struct input *in;
    uint64_t most;     /* bytes that a record may have */
    bool skip_damaged; /* TFRecord: records whose sum does not fit are told of and left out */
    uint64_t count;    /* records so far */
    uint64_t damaged;
};

/* Gives on the records of a file up to its end. What is damaged is told of by the number of the record and the place of
 * its first byte. */
bool record_parser_each(struct record_parser *parser, records_fn take, void *ctx);

#endif
