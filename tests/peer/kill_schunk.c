/* Appends to a superchunk, or overwrites its items, with commits at intervals, until it is killed;
 * test_kill_schunk.py starts it.
 *
 * usage: kill_schunk PATH append|edit SEED NUMBER CODEC CHECKSUM SPARE_BYTES OFFSETS DURABILITY
 *
 * Reports the number of each commit, or the number of items if it appends. The metadata have the
 * same number. Appended items are those of commit 1. Editing continues with commit NUMBER, whose
 * writes depend only on SEED and its number. */
#include "kill.h"

static void commit(holdall_schunk *s, uint64_t number)
{
    char json[64];
    int n = snprintf(json, sizeof json, "{\"number\":%" PRIu64 "}", number);
    check(holdall_schunk_attr_set(s, "", json, n, &err), "meta_set");
    report(1, number);
    check(holdall_schunk_commit(s, &err), "commit");
    report(2, number);
}

static void append(holdall_schunk *s)
{
    uint64_t i = holdall_schunk_nbytes(s) / 8;
    report(0, i);
    while (i < ENOUGH) {
        for (uint64_t left = how_many(), n; left > 0; left -= n) {
            n = 1 + next() % (left < MOST ? left : MOST);
            fill(i, n, 1);
            check(holdall_schunk_append(s, items, 8 * n, &err), "append");
            i += n;
        }
        commit(s, i);
    }
}

static void edit(holdall_schunk *s, uint64_t seed, uint64_t k)
{
    uint64_t all = holdall_schunk_nbytes(s) / 8;
    report(0, k);
    for (;; k++) {
        state = mix(seed + k);
        for (uint64_t writes = 1 + next() % 3; writes > 0; writes--) {
            uint64_t at = next() % all, most = next() % 4 ? 50 : 9000, n = 1 + next() % most;
            n = n < all - at ? n : all - at;
            fill(at, n, k);
            check(holdall_schunk_write(s, 8 * at, items, 8 * n, &err), "write");
        }
        commit(s, k);
    }
}

int main(int argc, char **argv)
{
    holdall_schunk *s;
    if (argc != 10)
        return 2;
    int edits = !strcmp(argv[2], "edit"), there = access(argv[1], F_OK) == 0;
    state = strtoull(argv[3], NULL, 10);
    holdall_options *o = holdall_options_new();
    set(o, HOLDALL_OPT_SPARE_BYTES, argv[7]);
    set(o, HOLDALL_OPT_DURABILITY, argv[9]);
    if (there) {
        check(holdall_schunk_open(argv[1], HOLDALL_APPEND, o, &s, &err), "open");
    } else {
        set(o, HOLDALL_OPT_CODEC, argv[5]);
        set(o, HOLDALL_OPT_CHECKSUM, argv[6]);
        set(o, HOLDALL_OPT_OFFSETS, argv[8]);
        check(holdall_options_set(o, HOLDALL_OPT_CHUNK_BYTES, CHUNK, &err), "chunk bytes");
        check(holdall_schunk_create(argv[1], HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, 8, o, &s,
                                    &err),
              "create");
    }
    holdall_options_free(o);
    if (edits)
        edit(s, strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
    else
        append(s);
    for (;;)
        pause();
}
