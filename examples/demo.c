/* demo.c: stores each line of a text file as a record of a bag, and reads some of them.
 * usage: demo LINES.txt OUT.bagz */
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
    check(holdall_bag_writer_commit(writer, &err)); /* makes all records visible */
    holdall_bag_writer_close(writer);
    fclose(lines);

    holdall_bag *bag, *slice;
    check(holdall_bag_open(argv[2], NULL, &bag, &err));
    holdall_bag_info info = {.struct_size = sizeof info};
    check(holdall_bag_get_info(bag, &info, &err));
    uint64_t records = info.record_count;
    printf("%" PRIu64 " records in %" PRIu64 " bytes\n", records, info.stored_bytes);

    /* every 4,000th record, from the last one on: one buffer, and offsets into it */
    check(holdall_bag_slice(bag, records - 1, (records - 1) / 4000 + 1, -4000, &slice, &err));
    holdall_records *some;
    check(holdall_bag_read_range(slice, 0, holdall_bag_record_count(slice), &some, &err));
    const uint8_t *data = holdall_records_data(some);
    const uint64_t *at = holdall_records_offsets(some);
    for (size_t i = 0; i < holdall_records_count(some); i++)
        printf("slice %zu: %.*s\n", i, (int)(at[i + 1] - at[i]), (const char *)data + at[i]);
    holdall_records_free(some);
    holdall_bag_close(slice);

    /* one record, into a buffer of the caller */
    size_t n;
    check(holdall_bag_read(bag, records / 3, line, sizeof line, &n, &err));
    printf("record %" PRIu64 ": %.*s\n", records / 3, (int)n, line);
    holdall_bag_close(bag);

    holdall_verify_result found = {.struct_size = sizeof found};
    /* the counts are complete also if it is not intact */
    holdall_status status = holdall_verify(argv[2], NULL, NULL, NULL, &found, &err);
    printf("verified: %" PRIu64 " intact, %" PRIu64 " corrupt, %" PRIu64 " unchecked\n",
           found.intact, found.corrupt, found.unchecked);
    check(status);
    return 0;
}
