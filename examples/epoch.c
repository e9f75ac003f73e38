/* epoch SPEC SEED RANK WORLD EPOCHS: the input of a training loop. Rank RANK of WORLD reads its
 * part of the records of a bag, of one file or a set (train@8.bagz), for several epochs, each in a
 * different order. Records are read ahead in parallel while the loop processes earlier ones. */
#include <holdall.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static holdall_error err;
static holdall_status check(holdall_status status)
{
    if (status < 0) {
        fprintf(stderr, "%s (%s)\n", err.message, holdall_status_name(status));
        exit(1);
    }
    return status;
}

/* One epoch: passes each record to `step`, which only adds numbers here. A corrupt record is
 * reported and left out. */
static void train(const holdall_bag *bag, holdall_epoch *order, uint64_t number)
{
    holdall_bag_stream *stream;
    const void *record;
    size_t n;
    uint64_t records = 0, bytes = 0, left_out = 0;
    holdall_status status;
    check(holdall_epoch_seek(order, number, 0, &err));
    check(holdall_bag_stream_open(bag, holdall_epoch_next, order, NULL, &stream, &err));
    while ((status = holdall_bag_stream_next(stream, &record, &n, &err)) != HOLDALL_END) {
        if (status == HOLDALL_E_FORMAT || status == HOLDALL_E_CHECKSUM) {
            fprintf(stderr, "left out: %s\n", err.message);
            left_out++;
            continue;
        }
        check(status);
        if (records == 0)
            printf("epoch %" PRIu64 " begins with record %" PRIu64 "\n", number,
                   holdall_bag_stream_number(stream));
        records++;
        bytes += n;
    }
    holdall_bag_stream_close(stream);
    printf("epoch %" PRIu64 ": %" PRIu64 " records, %" PRIu64 " bytes, %" PRIu64 " left out\n",
           number, records, bytes, left_out);
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: epoch SPEC SEED RANK WORLD EPOCHS\n");
        return 2;
    }
    holdall_bag *bag;
    holdall_epoch *order;
    check(holdall_bag_open(argv[1], NULL, &bag, &err));
    check(holdall_epoch_new(holdall_bag_record_count(bag), strtoull(argv[2], NULL, 10), 0,
                            (uint32_t)strtoul(argv[3], NULL, 10),
                            (uint32_t)strtoul(argv[4], NULL, 10), &order, &err));
    for (uint64_t number = 0; number < strtoull(argv[5], NULL, 10); number++)
        train(bag, order, number);
    holdall_epoch_free(order);
    holdall_bag_close(bag);
    return 0;
}
