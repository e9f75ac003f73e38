/* cost write FOLDER: writes the files that the loops of cost.h read. cost LOOP FOLDER: runs a loop
 * and prints its sum. */
#include "cost.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int write_all(const char *bag, const char *array)
{
    static int32_t items[ITEMS];
    const uint64_t shape[] = {ITEMS};
    const holdall_array_spec spec = {.struct_size = sizeof spec,
                                     .format = HOLDALL_FORMAT_BLOSCPACK,
                                     .dtype = "<i4",
                                     .ndim = 1,
                                     .shape = shape};
    holdall_error err;
    holdall_options *stored = holdall_options_new();
    holdall_bag_writer *writer = NULL;
    holdall_array *made = NULL;
    char record[40];
    int ok = holdall_options_set(stored, HOLDALL_OPT_CODEC, HOLDALL_CODEC_NONE, &err) ==
                 HOLDALL_OK &&
             holdall_bag_writer_open(bag, HOLDALL_CREATE, stored, &writer, &err) == HOLDALL_OK;
    for (int i = 0; ok && i < RECORDS; i++) {
        memset(record, i, sizeof record);
        ok = holdall_bag_writer_append(writer, record, 1 + (size_t)i % 39, &err) == HOLDALL_OK;
    }
    for (int i = 0; i < ITEMS; i++)
        items[i] = i;
    ok = ok && holdall_bag_writer_commit(writer, &err) == HOLDALL_OK &&
         holdall_array_create(array, HOLDALL_CREATE, &spec, stored, &made, &err) == HOLDALL_OK &&
         holdall_array_write(made, NULL, NULL, NULL, items, sizeof items, NULL, &err) ==
             HOLDALL_OK &&
         holdall_array_commit(made, &err) == HOLDALL_OK;
    holdall_options_free(stored);
    holdall_bag_writer_close(writer);
    holdall_array_close(made);
    if (!ok)
        fprintf(stderr, "cost: %s\n", err.message);
    return !ok;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint64_t (*loop)(const char *);
        int of_array;
    } loops[] = {{"reads", count_reads, 0},
                 {"stream", count_stream, 0},
                 {"batch", count_batch, 0},
                 {"boxes", count_boxes, 1}};
    char bag[4096], array[4096];
    if (argc != 3)
        return 2;
    snprintf(bag, sizeof bag, "%s/cost.bag", argv[2]);
    snprintf(array, sizeof array, "%s/cost.blp", argv[2]);
    if (strcmp(argv[1], "write") == 0)
        return write_all(bag, array);
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++)
        if (strcmp(argv[1], loops[i].name) == 0) {
            printf("%" PRIu64 "\n", loops[i].loop(loops[i].of_array ? array : bag));
            return 0;
        }
    return 2;
}
