/* Changes a two-dimensional array in a Blosc2 frame, and commits each change, until it is killed;
 * test_kill_b2nd.py starts it.
 *
 * usage: kill_b2nd PATH append|write|resize|attributes SEED NUMBER ATTRIBUTE DURABILITY
 *
 * Reports the number of each commit, from NUMBER on. A change depends only on SEED and its number.
 * With ATTRIBUTE 1 the attribute "number" has the same number, so that a commit changes content and
 * trailer. */
#include "kill.h"

enum { COLUMNS = 61, ROWS = 2000, NOTE = 3000 };

/* Attributes are MessagePack, which python-blosc2 reads: here a number and texts. */
static void attribute_number(holdall_array *a, uint32_t k)
{
    unsigned char v[5] = { 0xce, k >> 24, k >> 16, k >> 8, k };
    check(holdall_array_attr_set(a, "number", v, sizeof v, &err), "attr_set");
}

static void attribute_text(holdall_array *a, uint64_t k)
{
    static unsigned char v[3 + NOTE];
    uint64_t n = next() % NOTE;
    v[0] = 0xda, v[1] = n >> 8, v[2] = n;
    for (uint64_t i = 0; i < n; i++)
        v[3 + i] = 'a' + value(i, k) % 23;
    check(holdall_array_attr_set(a, "note", k % 5 ? v : NULL, k % 5 ? 3 + n : 0, &err), "attr_set");
}

static void box(holdall_array *a, uint64_t k)
{
    const uint64_t *shape = holdall_array_shape(a);
    uint64_t at[2], n[2];
    for (int d = 0; d < 2; d++) {
        at[d] = next() % shape[d];
        n[d] = 1 + next() % 60;
        n[d] = n[d] < shape[d] - at[d] ? n[d] : shape[d] - at[d];
    }
    fill(at[0], n[0] * n[1], k);
    check(holdall_array_write(a, at, n, NULL, items, 8 * n[0] * n[1], NULL, &err), "write");
}

static void resize(holdall_array *a, uint64_t rows, uint64_t columns)
{
    uint64_t shape[2] = { rows, columns };
    check(holdall_array_resize(a, shape, &err), "resize");
}

static void append(holdall_array *a, uint64_t k)
{
    uint64_t few = next() % 8, n = 1 + next() % (few ? 10 : 300);
    if (holdall_array_shape(a)[0] > ROWS)
        resize(a, next() % 50, COLUMNS);
    fill(0, n * COLUMNS, k);
    check(holdall_array_append(a, 0, n, items, 8 * n * COLUMNS, &err), "append");
}

static void change(holdall_array *a, const char *what, uint64_t k)
{
    uint64_t rows, columns;
    switch (*what) {
    case 'a':
        what[1] == 'p' ? append(a, k) : attribute_text(a, k);
        break;
    case 'r':
        rows = 1 + next() % 300, columns = 1 + next() % 80;
        resize(a, rows, columns);
        box(a, k);
        break;
    default:
        box(a, k);
    }
}

int main(int argc, char **argv)
{
    holdall_array *a;
    if (argc != 7)
        return 2;
    uint64_t seed = strtoull(argv[3], NULL, 10), k = strtoull(argv[4], NULL, 10);
    holdall_options *o = holdall_options_new();
    set(o, HOLDALL_OPT_DURABILITY, argv[6]);
    check(holdall_array_open(argv[1], HOLDALL_APPEND, o, &a, &err), "open");
    holdall_options_free(o);
    report(0, k);
    for (;; k++) {
        state = mix(seed + k);
        change(a, argv[2], k);
        if (atoi(argv[5]))
            attribute_number(a, k);
        report(1, k);
        check(holdall_array_commit(a, &err), "commit");
        report(2, k);
    }
}
