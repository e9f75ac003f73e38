/* Pieces from one thread to another: the next one is read while one is written. */
#include <pthread.h>
#include <stdbool.h>

enum { PIECES = 2 };

struct relay {
    size_t (*make)(void *ctx, uint8_t *piece, size_t room); /* 0: no more */
    void (*take)(void *ctx, const uint8_t *piece, size_t n);
    void *ctx;
    uint8_t *pieces[PIECES];
    size_t sizes[PIECES], room;
    uint64_t made, taken;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* Waits until a condition on the numbers of pieces holds, after a change of one of them. */
#define RELAY_WAIT(r, change, condition)                 \
    do {                                                 \
        pthread_mutex_lock(&(r)->lock);                  \
        change;                                          \
        pthread_cond_signal(&(r)->changed);              \
        while (!(condition))                             \
            pthread_cond_wait(&(r)->changed, &(r)->lock); \
        pthread_mutex_unlock(&(r)->lock);                \
    } while (0)

static void *relay_make(void *arg)
{
    struct relay *r = arg;
    for (size_t i = 0, n = 1; n > 0; i = (i + 1) % PIECES) {
        n = r->make(r->ctx, r->pieces[i], r->room);
        r->sizes[i] = n;
        RELAY_WAIT(r, r->made++, r->made - r->taken < PIECES || n == 0);
    }
    return NULL;
}

/* Takes the pieces here that another thread makes. */
static void relay(struct relay *r, size_t room_of_piece)
{
    pthread_t maker;
    r->room = room_of_piece;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    for (int i = 0; i < PIECES; i++)
        r->pieces[i] = room_for_all(r->room);
    if (pthread_create(&maker, NULL, relay_make, r))
        die("thread");
    for (size_t i = 0;; i = (i + 1) % PIECES) {
        RELAY_WAIT(r, (void)0, r->made > r->taken);
        if (r->sizes[i] == 0)
            break;
        r->take(r->ctx, r->pieces[i], r->sizes[i]);
        RELAY_WAIT(r, r->taken++, true);
    }
    pthread_join(maker, NULL);
    for (int i = 0; i < PIECES; i++)
        free(r->pieces[i]);
}
