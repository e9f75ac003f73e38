/* A user's program: writes a bag, opens it again and compares every record.
 *
 *   consumer BAG
 *
 * It must compile as C and run with every method of finding the library: see run.sh. */
#include <holdall.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS = 1000 };

#ifdef CONSUMER_OWN_ZSTD
/* This program defines its own zstd functions: the library must neither conflict with them nor
 * replace them. */
unsigned ZSTD_versionNumber(void);
#endif

static int fail(const char *what, const holdall_error *err)
{
    fprintf(stderr, "consumer: %s: %s (%s)\n", what, err->message,
            holdall_status_name(err->status));
    return 1;
}

/* Record i: i % 100 letters, so that some are empty. */
static size_t make(int i, char *record)
{
    size_t n = (size_t)(i % 100);
    memset(record, 'a' + i % 26, n);
    return n;
}

int main(int argc, char **argv)
{
    holdall_error err;
    holdall_bag_writer *writer = NULL;
    holdall_bag *bag = NULL;
    char want[100], have[100];
    size_t n;

    if (argc != 2)
        return 2;
    if (holdall_version_number() != HOLDALL_VERSION_NUMBER) {
        fprintf(stderr, "consumer: the header and the library are of different versions\n");
        return 1;
    }

    if (holdall_bag_writer_open(argv[1], HOLDALL_CREATE, NULL, &writer, &err) != HOLDALL_OK)
        return fail("writer_open", &err);
    for (int i = 0; i < RECORDS; i++) {
        n = make(i, want);
        if (holdall_bag_writer_append(writer, want, n, &err) != HOLDALL_OK)
            return fail("append", &err);
    }
    if (holdall_bag_writer_commit(writer, &err) != HOLDALL_OK)
        return fail("commit", &err);
    holdall_bag_writer_close(writer);

    if (holdall_bag_open(argv[1], NULL, &bag, &err) != HOLDALL_OK)
        return fail("open", &err);
    if (holdall_bag_record_count(bag) != RECORDS) {
        fprintf(stderr, "consumer: the bag has lost records\n");
        return 1;
    }
    for (int i = 0; i < RECORDS; i++) {
        if (holdall_bag_read(bag, (uint64_t)i, have, sizeof have, &n, &err) != HOLDALL_OK)
            return fail("read", &err);
        if (n != make(i, want) || memcmp(have, want, n) != 0) {
            fprintf(stderr, "consumer: record %d differs\n", i);
            return 1;
        }
    }
    /* Failures are returned as statuses with messages: no call unwinds into this program. */
    if (holdall_bag_read(bag, RECORDS, have, sizeof have, &n, &err) != HOLDALL_E_RANGE ||
        err.message[0] == '\0') {
        fprintf(stderr, "consumer: a record after the last one was not refused\n");
        return 1;
    }
    holdall_bag_close(bag);

#ifdef CONSUMER_OWN_ZSTD
    if (ZSTD_versionNumber() != 424242) {
        fprintf(stderr, "consumer: the library's zstd replaced that of this program\n");
        return 1;
    }
#endif
    printf("%d records, holdall %s\n", RECORDS, holdall_version_text());
    return 0;
}
