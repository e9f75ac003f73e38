/* Appends known records to a bag, with commits at intervals, until it is killed; test_kill.py
 * starts it.
 *
 * usage: kill_writer PATH MODE POOL SEED GENERATION CODEC LIMITS DURABILITY [DICTIONARY]
 *
 * Reports the number of records of each commit. record() takes record i of a generation from the 64
 * KiB of POOL. */
#include "kill.h"

#define POOL 65536
#define LONGEST 40000
#define RECORDS 60000 /* more are enough */

static uint8_t pool[POOL];
static uint64_t generation;

static uint64_t random_below(uint64_t n)
{
    return next() % n;
}

static size_t record(uint64_t i, uint8_t *dst)
{
    uint64_t m = mix(i * 0x9e3779b97f4a7c15u + generation), id = i ^ generation << 48;
    size_t n = m % 13 == 0 ? 0 : m % 997 == 0 ? LONGEST : 8 + (m >> 16) % 300;
    if (n > 0) {
        memcpy(dst, &id, 8);
        memcpy(dst + 8, pool + (m >> 32) % (POOL - LONGEST), n - 8);
    }
    return n;
}

static uint64_t records_more(void)
{
    switch (random_below(50)) {
    case 0: return 1 + random_below(15000);
    case 1: case 2: case 3: case 4: return 1 + random_below(3000);
    default: return 1 + random_below(state % 3 ? 20 : 300);
    }
}

int main(int argc, char **argv)
{
    static uint8_t data[512 * LONGEST];
    static uint64_t offsets[513];
    holdall_bag_writer *writer;
    if (argc != 9 && argc != 10)
        return 2;
    FILE *f = fopen(argv[3], "rb");
    if (!f || fread(pool, 1, POOL, f) != POOL)
        return 2;
    fclose(f);
    state = strtoull(argv[4], NULL, 10);
    generation = strtoull(argv[5], NULL, 10);

    holdall_options *options = holdall_options_new();
    set(options, HOLDALL_OPT_CODEC, argv[6]);
    set(options, HOLDALL_OPT_BAG_LIMITS, argv[7]);
    set(options, HOLDALL_OPT_DURABILITY, argv[8]);
    if (argc == 10) { /* a file */
        static uint8_t dictionary[1 << 16];
        f = fopen(argv[9], "rb");
        size_t n = f ? fread(dictionary, 1, sizeof dictionary, f) : 0;
        if (n == 0)
            return 2;
        fclose(f);
        check(holdall_options_set(options, HOLDALL_OPT_BAG_DICTIONARY,
                                  HOLDALL_BAG_DICTIONARY_STORED, &err),
              "options");
        check(holdall_options_set_bytes(options, HOLDALL_OPT_DICTIONARY, dictionary, n, &err),
              "options");
    }
    check(holdall_bag_writer_open(argv[1], atoi(argv[2]), options, &writer, &err), "open");
    holdall_options_free(options);

    uint64_t i = holdall_bag_writer_record_count(writer);
    const uint64_t enough = i + RECORDS;
    report(0, i);
    while (i < enough) {
        for (uint64_t left = records_more(); left > 0;) {
            if (random_below(2)) {
                check(holdall_bag_writer_append(writer, data, record(i, data), &err), "append");
                i++, left--;
                continue;
            }
            size_t n = left < 512 ? left : 512;
            for (size_t k = 0; k < n; k++)
                offsets[k + 1] = offsets[k] + record(i + k, data + offsets[k]);
            check(holdall_bag_writer_append_many(writer, data, offsets, n, &err), "append_many");
            i += n, left -= n;
        }
        report(1, i);
        check(holdall_bag_writer_commit(writer, &err), "commit");
        report(2, i);
    }
    for (;;)
        pause();
}
