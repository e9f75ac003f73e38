/*
 * Plain files of records: lines, records with length prefixes, and TFRecord.
 *
 * https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details: length (8 bytes, little-endian), its
 * masked CRC-32C, the record, its masked CRC-32C.
 */
#ifndef RECORD_FILES_H
#define RECORD_FILES_H

#include "files.h"
#include "records.h"

enum record_format {
    RECORDS_LINES,     /* each ends in a newline, which the last one may lack */
    RECORDS_LENGTHS32, /* each after its length, 4 or 8 bytes, little-endian */
    RECORDS_LENGTHS64,
    RECORDS_TFRECORD,
};

/* ---- writing ---- */

struct record_printer {
    enum record_format format;
    const char *path; /* of the source of the records, for messages */
    uint64_t done;
};

/* A records_fn: prints them. A record that the format cannot store is an error. */
bool record_printer_take(void *printer, const struct records *records);

/* ---- reading ---- */

struct record_parser {
    enum record_format format;
    struct input *in;
    uint64_t most;     /* bytes that a record may have */
    bool skip_damaged; /* TFRecord: records with a wrong checksum are reported and omitted */
    uint64_t count;    /* records so far */
    uint64_t damaged;
};

/* Passes on all records of a file. Reports damaged ones with their number and the offset of their first byte. */
bool record_parser_each(struct record_parser *parser, records_fn take, void *ctx);

#endif
