/*
 * holdall cat of a bag: records to stdout.
 */
#include "bag_read.h"
#include "record_files.h"
#include "report.h"
#include "tool.h"

/* A records_fn: as they are, end to end. */
static bool print_bare(void *ctx, const struct records *records) {
    (void)ctx;
    const uint64_t *at = records->offsets;
    return put_bytes(records->data + at[0], (size_t)(at[records->count] - at[0]));
}

int bag_cat(const struct args *args) {
    int wrong = check_order(args);
    if (wrong >= 0) return wrong;
    struct bag_reader reader;
    struct record_printer printer = {.format = RECORDS_LENGTHS64};
    bool good = bag_reader_open(&reader, args, args->operands[0]) &&
                bag_reader_each(&reader, args->lengths ? record_printer_take : print_bare, &printer);
    bool damaged = reader.damaged > 0;
    bag_reader_close(&reader);
    return put_end((good || put_failed()) && !damaged ? DONE : FAILED);
}
