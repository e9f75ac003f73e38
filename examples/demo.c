/* demo.c: packs the lines of a text file, a record a line, and reads them back; usage: demo LINES.txt OUT.bagz */
#include <holdall.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static holdall_error err;
static void check(holdall_status status)
{
    if (status < 0) {
        fprintf(stderr, "%s (%s)\n", err.message, holdall_status_name(status));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    FILE *lines = argc == 3 ? fopen(argv[1], "r") : NULL;
    if (lines == NULL) {
        fprintf(stderr, "usage: demo LINES.txt OUT.bagz\n");
        return 2;
    }
    holdall_bag_writer *writer;
    check(holdall_bag_writer_open(argv[2], HOLDALL_REPLACE, NULL, &writer, &err));
    static char line[65536];
    while (fgets(line, sizeof line, lines) != NULL)
        check(holdall_bag_writer_append(writer, line, strcspn(line, "\n"), &err));
    check(holdall_bag_writer_commit(writer, &err)); /* now all are there; before, none */
    holdall_bag_writer_close(writer);
    fclose(lines);

    holdall_bag *bag, *slice;
    check(holdall_bag_open(argv[2], NULL, &bag, &err));
    uint64_t records = holdall_bag_size(bag);
    printf("%" PRIu64 " records in %" PRIu64 " bytes\n", records, holdall_bag_cbytes(bag));

    /* a slice, each 4,000th from the end: one buffer, and offsets into it */
    check(holdall_bag_slice(bag, records - 1, -4000, (records - 1) / 4000 + 1, &slice, &err));
    holdall_records *some;
    check(holdall_bag_read_range(slice, 0, holdall_bag_size(slice), &some, &err));
    const uint8_t *data = holdall_records_data(some);
    const uint64_t *at = holdall_records_offsets(some);
    for (size_t i = 0; i < holdall_records_count(some); i++)
        printf("slice %zu: %.*s\n", i, (int)(at[i + 1] - at[i]), (const char *)data + at[i]);
    holdall_records_close(some);
    holdall_bag_close(slice);

    /* one record into a buffer of ours */
    size_t n;
    check(holdall_bag_read(bag, records / 3, line, sizeof line, &n, &err));
    printf("record %" PRIu64 ": %.*s\n", records / 3, (int)n, line);
    holdall_bag_close(bag);

    uint64_t sound, bad, unchecked;
    check(holdall_verify(argv[2], NULL, NULL, NULL, &sound, &bad, &unchecked, &err));
    printf("verified: %" PRIu64 " sound, %" PRIu64 " bad, %" PRIu64 " without a checksum\n", sound, bad, unchecked);
    return 0;
}
