/* Positions of boxes in an array, the same for each library: see Boxes in bench_b2nd.py. */
#include <stdbool.h>

/* The next of a fixed sequence of random positions; 0 starts it again. */
static uint64_t elsewhere(uint64_t positions)
{
    static uint64_t state;
    if (!positions) {
        state = 1;
        return 0;
    }
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % positions;
}

/* Returns the first items of so many boxes of these lengths: at random positions, or adjacent along
 * the last axis. */
static uint64_t *box_starts(const uint64_t *shape, const uint64_t *count, uint32_t ndim,
                            long boxes, bool along)
{
    uint64_t *starts = room(boxes * ndim * sizeof *starts);
    elsewhere(0);
    for (long i = 0; i < boxes; i++)
        for (uint32_t d = 0; d < ndim; d++) {
            uint64_t positions = shape[d] - count[d] + 1;
            starts[i * ndim + d] = !along          ? elsewhere(positions)
                                   : d + 1 == ndim ? (uint64_t)i % positions
                                                   : positions / 2;
        }
    return starts;
}

static uint64_t box_items(const uint64_t *count, uint32_t ndim)
{
    uint64_t items = 1;
    for (uint32_t d = 0; d < ndim; d++)
        items *= count[d];
    return items;
}
