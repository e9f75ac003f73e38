/* Changes several nodes of a store, and commits them together, until it is killed; test_kill_store.py
 * starts it.
 *
 * usage: kill_store PATH NUMBER DURABILITY
 *
 * Commit k appends to two arrays; each fifth one creates a node and removes the one before. Reports the
 * number of each commit, from NUMBER on. */
#include "kill.h"

static uint64_t length(uint64_t k)
{
    return k % 5 ? 1 + k % 7 : 3000;
}

static void append(holdall_array *a, uint64_t n, uint64_t k)
{
    fill(0, n, k);
    check(holdall_array_append(a, 0, n, items, 8 * n, &err), "append");
    check(holdall_array_commit(a, &err), "commit of an array");
}

static void create(holdall_store *store, uint64_t k)
{
    char node[40];
    holdall_storage *storage;
    holdall_array *a;
    uint64_t none = 0;
    const holdall_array_spec spec = { .struct_size = sizeof spec,
                                      .format = HOLDALL_FORMAT_B2ND,
                                      .dtype = "<u8",
                                      .ndim = 1,
                                      .shape = &none };
    snprintf(node, sizeof node, "/n/%" PRIu64, k);
    check(holdall_store_node_storage(store, node, HOLDALL_KIND_ARRAY, &storage, &err), node);
    holdall_options *o = holdall_options_new();
    check(holdall_options_set_storage(o, &storage, 1, &err), "set_storage");
    check(holdall_array_create(NULL, HOLDALL_CREATE, &spec, o, &a, &err), "create");
    append(a, length(k), k);
    holdall_array_close(a);
    holdall_options_free(o);
    holdall_storage_free(storage);
    if (k > 5) {
        snprintf(node, sizeof node, "/n/%" PRIu64, k - 5);
        check(holdall_store_remove(store, node, &err), "remove");
    }
}

int main(int argc, char **argv)
{
    holdall_store *store;
    holdall_array *a, *b;
    if (argc != 4)
        return 2;
    uint64_t k = strtoull(argv[2], NULL, 10);
    holdall_options *o = holdall_options_new();
    set(o, HOLDALL_OPT_DURABILITY, argv[3]);
    check(holdall_store_open(argv[1], HOLDALL_APPEND, o, &store, &err), "open");
    check(holdall_store_open_array(store, "/a", HOLDALL_APPEND, o, &a, &err), "open /a");
    check(holdall_store_open_array(store, "/g/b", HOLDALL_APPEND, o, &b, &err), "open /g/b");
    holdall_options_free(o);
    report(0, k);
    for (;; k++) {
        append(a, length(k), k);
        append(b, 1, k);
        if (k % 5 == 0)
            create(store, k);
        report(1, k);
        check(holdall_store_commit(store, &err), "commit");
        report(2, k);
    }
}
