/*
 * Pieces from one thread to another.
 */
#define _POSIX_C_SOURCE 200809L
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* madvise */
#endif

#include "relay.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

struct relay {
    make_fn make;
    take_fn take;
    void *ctx;
    struct piece pieces[2];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t made, taken;
    bool end, stop, failed; /* no more are made, no more are taken */
};

/* Memory that is going to be filled: much of it in large pages where the system has them, for one page fault in place of 512. */
static void *memory(size_t n) {
#ifdef MADV_HUGEPAGE
    enum { PAGE = 2 << 20 };
    void *all;
    if (n >= PAGE && posix_memalign(&all, PAGE, n) == 0) {
        madvise(all, n / PAGE * PAGE, MADV_HUGEPAGE);
        return all;
    }
#endif
    return malloc(n);
}

bool piece_room(struct piece *piece, size_t n) {
    if (n <= piece->room) return true;
    free(piece->bytes);
    piece->bytes = memory(n);
    piece->room = piece->bytes ? n : 0;
    return piece->bytes != NULL;
}

/* Makes one piece, when there is room for it; false: no more. */
static bool make_one(struct relay *r) {
    pthread_mutex_lock(&r->lock);
    while (!r->stop && r->made - r->taken == 2) pthread_cond_wait(&r->changed, &r->lock);
    bool more = !r->stop;
    pthread_mutex_unlock(&r->lock);
    struct piece *piece = &r->pieces[r->made % 2];
    piece->n = 0;
    bool good = !more || r->make(r->ctx, piece);
    more = more && good && piece->n > 0;
    pthread_mutex_lock(&r->lock);
    r->made += more;
    r->end = !more;
    r->failed |= !good;
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return more;
}

/* Takes one piece, when it is there; false: no more. */
static bool take_one(struct relay *r) {
    pthread_mutex_lock(&r->lock);
    while (!r->end && r->made == r->taken) pthread_cond_wait(&r->changed, &r->lock);
    bool more = r->made != r->taken;
    pthread_mutex_unlock(&r->lock);
    bool good = !more || r->take(r->ctx, &r->pieces[r->taken % 2]);
    more = more && good;
    pthread_mutex_lock(&r->lock);
    r->taken += more;
    r->stop = !more;
    r->failed |= !good;
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return more;
}

static void *make_all(void *r) {
    while (make_one(r)) continue;
    return NULL;
}

static void *take_all(void *r) {
    while (take_one(r)) continue;
    return NULL;
}

static bool start(struct relay *r, pthread_t *thread, void *(*all)(void *)) {
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    bool started = pthread_create(thread, NULL, all, r) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

bool relay(make_fn make, take_fn take, void *ctx, enum relay_here here) {
    struct relay r = {.make = make, .take = take, .ctx = ctx};
    pthread_t thread;
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.changed, NULL);
    if (start(&r, &thread, here == MAKE_HERE ? take_all : make_all)) {
        (here == MAKE_HERE ? make_all : take_all)(&r);
        pthread_join(thread, NULL);
    } else {
        while (make_one(&r) && take_one(&r)) continue;
    }
    pthread_cond_destroy(&r.changed);
    pthread_mutex_destroy(&r.lock);
    free(r.pieces[0].bytes);
    free(r.pieces[1].bytes);
    return !r.failed;
}
