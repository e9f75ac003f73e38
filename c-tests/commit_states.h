/* Records the state of the storage before each call of a commit, and after the last call. A reader
 * is then shown the state before the commit, a state during it, and the final state, with the
 * switches at any two of its calls. */
#ifndef COMMIT_STATES_H
#define COMMIT_STATES_H

#include "folder.h"

enum { STATES_MOST = 96 };
static folder states[STATES_MOST];
static int n_states;

/* Shows states[0] up to the reader's call `first`, states[middle] up to its call `second`, then the
 * last state. */
static int middle;
static long first, second;

/* The `before` function of a storage that commits. Must be called once more after the commit. */
static void take_state(folder *f, operation o)
{
    (void)o;
    CHECK(n_states < STATES_MOST);
    folder_clear(&states[n_states]);
    folder_copy(&states[n_states++], f);
}

/* The `before` function of a storage that is read. */
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
