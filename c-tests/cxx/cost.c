/* The loops of cost.h in C. */
#include "cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static holdall_error err;

static void check(holdall_status status)
{
    if (status < 0) {
        fprintf(stderr, "cost: %s\n", err.message);
        exit(1);
    }
}

static holdall_options *options(void)
{
    holdall_options *out = holdall_options_new();
    check(holdall_options_set(out, HOLDALL_OPT_THREADS, 1, &err));
    check(holdall_options_set(out, HOLDALL_OPT_IO, HOLDALL_IO_MAP, &err));
    check(holdall_options_set(out, HOLDALL_OPT_VERIFY, 0, &err));
    return out;
}

static holdall_bag *opened(const char *path)
{
    holdall_options *o = options();
    holdall_bag *bag;
    check(holdall_bag_open(path, o, &bag, &err));
    holdall_options_free(o);
    return bag;
}

uint64_t count_reads(const char *path)
{
    holdall_bag *bag = opened(path);
    unsigned char record[100];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        size_t n;
        check(holdall_bag_read(bag, i % RECORDS, record, sizeof record, &n, &err));
        sum += n + record[0];
    }
    holdall_bag_close(bag);
    return sum;
}

uint64_t count_stream(const char *path)
{
    holdall_bag *bag = opened(path);
    uint64_t sum = 0;
    for (int round = 0; round < ROUNDS / RECORDS; round++) {
        holdall_bag_stream *stream;
        check(holdall_bag_stream_open(bag, NULL, NULL, NULL, &stream, &err));
        const void *record;
        size_t n;
        for (;;) {
            holdall_status status = holdall_bag_stream_next(stream, &record, &n, &err);
            check(status);
            if (status == HOLDALL_END)
                break;
            sum += n + *(const unsigned char *)record;
        }
        holdall_bag_stream_close(stream);
    }
    holdall_bag_close(bag);
    return sum;
}

uint64_t count_batch(const char *path)
{
    holdall_bag *bag = opened(path);
    uint64_t sum = 0;
    for (int round = 0; round < ROUNDS / RECORDS; round++) {
        holdall_records *records;
        check(holdall_bag_read_range(bag, 0, RECORDS, &records, &err));
        const unsigned char *data = holdall_records_data(records);
        const uint64_t *offsets = holdall_records_offsets(records);
        size_t count = holdall_records_count(records);
        for (size_t i = 0; i < count; i++)
            sum += offsets[i + 1] - offsets[i] + data[offsets[i]];
        holdall_records_free(records);
    }
    holdall_bag_close(bag);
    return sum;
}

uint64_t count_boxes(const char *path)
{
    holdall_options *o = options();
    holdall_array *array;
    check(holdall_array_open(path, HOLDALL_READ, o, &array, &err));
    holdall_options_free(o);
    if (strcmp(holdall_array_dtype(array), "<i4") != 0)
        abort();
    int32_t items[16];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ROUNDS / 4; i++) {
        const uint64_t start[] = {i % (ITEMS - 16)}, count[] = {16};
        check(holdall_array_read(array, start, count, NULL, items, sizeof items, NULL, &err));
        sum += (uint64_t)items[0];
    }
    holdall_array_close(array);
    return sum;
}
