/*
 * Records become a plain file, on stdout or where results go.
 */
#include "crc32c.h"
#include "record_files.h"
#include "report.h"

#include <inttypes.h>
#include <string.h>

static bool refuse(const struct record_printer *printer, const char *why) {
    return complain("%s: record %" PRIu64 " %s", printer->path, printer->done, why), false;
}

static bool print_number(uint64_t n, int bytes) {
    unsigned char number[8];
    for (int i = 0; i < bytes; i++) number[i] = (unsigned char)(n >> (8 * i));
    return put_bytes(number, (size_t)bytes);
}

static bool print_line(const struct record_printer *printer, const unsigned char *record, size_t n) {
    if (n > 0 && memchr(record, '\n', n)) return refuse(printer, "has a newline in it, and is no line (--to lengths64 takes any)");
    return put_bytes(record, n) && put_bytes("\n", 1);
}

static bool print_tfrecord(const unsigned char *record, size_t n) {
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)n >> (8 * i));
    return put_bytes(length, 8) && print_number(crc32c_masked(length, 8), 4) && put_bytes(record, n) &&
           print_number(crc32c_masked(record, n), 4);
}

static bool print_one(const struct record_printer *printer, const unsigned char *record, size_t n) {
    switch (printer->format) {
    case RECORDS_LINES: return print_line(printer, record, n);
    case RECORDS_LENGTHS32:
        if (n > UINT32_MAX) return refuse(printer, "is too long for a length of 4 bytes (--to lengths64)");
        return print_number(n, 4) && put_bytes(record, n);
    case RECORDS_LENGTHS64: return print_number(n, 8) && put_bytes(record, n);
    default: return print_tfrecord(record, n);
    }
}

bool record_printer_take(void *ctx, const struct records *records) {
    struct record_printer *printer = ctx;
    for (size_t i = 0; i < records->count; i++, printer->done++) {
        const uint64_t *at = records->offsets + i;
        if (!print_one(printer, records->data + at[0], (size_t)(at[1] - at[0]))) return false;
    }
    return true;
}
