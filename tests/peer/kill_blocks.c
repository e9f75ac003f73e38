/* Appends chunks of blocks of any length to a frame, and overwrites its first item, with a commit for
 * each chunk, until it is killed; test_kill_blocks.py starts it.
 *
 * usage: kill_blocks PATH SPARSE CODEC CHECKSUM DURABILITY
 *
 * Reports the number of chunks. Chunk k depends only on k. The first item is the number of chunks. */
#include "kill.h"

enum { BLOCKS = 12, ITEMS = 300 };

static uint64_t data[BLOCKS * ITEMS];

static void append(holdall_schunk *s, uint64_t k)
{
    uint64_t offsets[BLOCKS + 1] = { 0 }, count = 0, n = 0;
    state = mix(k);
    for (uint64_t blocks = 1 + next() % BLOCKS; count < blocks; count++) {
        uint64_t length = 1 + next() % ITEMS;
        fill(count, length, k);
        memcpy(data + n, items, 8 * length);
        n += length;
        offsets[count + 1] = 8 * n;
    }
    check(holdall_schunk_insert_blocks(s, k, data, offsets, count, &err), "insert_blocks");
}

int main(int argc, char **argv)
{
    holdall_schunk *s;
    if (argc != 6)
        return 2;
    holdall_options *o = holdall_options_new();
    set(o, HOLDALL_OPT_DURABILITY, argv[5]);
    char file[4096];
    snprintf(file, sizeof file, "%s%s", argv[1], atoi(argv[2]) ? "/chunks.b2frame" : "");
    if (access(file, F_OK) == 0) {
        check(holdall_schunk_open(argv[1], HOLDALL_APPEND, o, &s, &err), "open");
    } else {
        set(o, HOLDALL_OPT_SPARSE, argv[2]);
        set(o, HOLDALL_OPT_CODEC, argv[3]);
        set(o, HOLDALL_OPT_CHECKSUM, argv[4]);
        check(holdall_schunk_create(argv[1], HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 8, o, &s, &err),
              "create");
    }
    holdall_options_free(o);
    uint64_t k = holdall_schunk_chunk_count(s);
    report(0, k);
    while (k < 3000) {
        append(s, k++);
        check(holdall_schunk_write(s, 0, &k, 8, &err), "write");
        report(1, k);
        check(holdall_schunk_commit(s, &err), "commit");
        report(2, k);
    }
    for (;;)
        pause();
}
