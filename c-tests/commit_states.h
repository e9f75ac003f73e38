/* A commit as a film: what the storage was before each of its calls, and after the last. A reader may then be shown the
 * storage as it was before, as it was at some moment, and as it is in the end, with the switches at any two of its calls. */
#ifndef COMMIT_STATES_H
#define COMMIT_STATES_H

#include "folder.h"

enum { STATES_MOST = 96 };
static folder states[STATES_MOST];
static int n_states;

/* Shown are states[0] up to the reader's call `first`, states[middle] up to its call `second`, then the last one. */
static int middle;
static long first, second;

/* The `before` of a storage that commits, and to be called once behind the commit. */
static void take_state(folder *f, operation o)
{
    (void)o;
    CHECK(n_states < STATES_MOST);
    folder_clear(&states[n_states]);
    folder_copy(&states[n_states++], f);
}

/* The `before` of a storage that is read. */
static void show_state(folder *f, operation o)
{
    (void)o;
    if (f->all_calls != first && f->all_calls != second)
        return;
    folder_clear(f);
    folder_copy(f, &states[f->all_calls == first ? middle : n_states - 1]);
}

static inline void clear_states(void)
{
    for (int k = 0; k < STATES_MOST; k++)
        folder_clear(&states[k]);
}

#endif
