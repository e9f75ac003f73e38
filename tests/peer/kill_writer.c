/* Appends known records to a bag, with commits now and then, until it is killed; test_kill.py starts it.
 *
 * usage: kill_writer PATH MODE POOL SEED GENERATION CODEC LIMITS DURABILITY
 *
 * Tells each commit on standard output before it begins and after it has returned: pairs of 64-bit
 * numbers, what (0 opened, 1 about to commit, 2 committed) and how many records. Record i of a generation
 * comes from the 64 KiB of POOL as record() says. */
#include <holdall.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POOL 65536
#define LONGEST 40000
#define ENOUGH 60000

static uint8_t pool[POOL];
static uint64_t generation, state;

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t random_below(uint64_t n)
{
    state += 0x9e3779b97f4a7c15u;
    return mix(state) % n;
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

static void tell(uint64_t what, uint64_t count)
{
    uint64_t message[2] = { what, count };
    if (write(1, message, sizeof message) != sizeof message)
        exit(4);
}

static void check(holdall_status status, const holdall_error *err, const char *call)
{
    if (status == HOLDALL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, holdall_status_name(status), err->message);
    exit(3);
}

static uint64_t how_many(void)
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
    holdall_error err;
    holdall_bag_writer *writer;
    if (argc != 9)
        return 2;
    FILE *f = fopen(argv[3], "rb");
    if (!f || fread(pool, 1, POOL, f) != POOL)
        return 2;
    fclose(f);
    state = strtoull(argv[4], NULL, 10);
    generation = strtoull(argv[5], NULL, 10);

    holdall_options *options = holdall_options_new();
    check(holdall_options_set(options, HOLDALL_OPT_CODEC, atoi(argv[6]), &err), &err, "codec");
    check(holdall_options_set(options, HOLDALL_OPT_BAG_LIMITS, atoi(argv[7]), &err), &err, "limits");
    check(holdall_options_set(options, HOLDALL_OPT_DURABILITY, atoi(argv[8]), &err), &err, "durability");
    check(holdall_bag_writer_open(argv[1], atoi(argv[2]), options, &writer, &err), &err, "open");
    holdall_options_free(options);

    uint64_t i = holdall_bag_writer_size(writer);
    tell(0, i);
    while (i < ENOUGH) {
        for (uint64_t left = how_many(); left > 0;) {
            if (random_below(2)) {
                check(holdall_bag_writer_append(writer, data, record(i, data), &err), &err, "append");
                i++, left--;
                continue;
            }
            size_t n = left < 512 ? left : 512;
            for (size_t k = 0; k < n; k++)
                offsets[k + 1] = offsets[k] + record(i + k, data + offsets[k]);
            check(holdall_bag_writer_append_many(writer, data, offsets, n, &err), &err, "append_many");
            i += n, left -= n;
        }
        tell(1, i);
        check(holdall_bag_writer_commit(writer, &err), &err, "commit");
        tell(2, i);
    }
    for (;;)
        pause();
}
