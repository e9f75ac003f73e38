/* Records the progress calls and the faults that the library reports, and checks that it prints
 * nothing. */
#ifndef CALLBACKS_H
#define CALLBACKS_H

#include "check.h"

#include <fcntl.h>
#include <pthread.h>

/* ---- progress ---------------------------------------------------------------------------------*/

typedef struct {
    uint64_t calls, last, total;
    /* the call that stops the work; 0: none */
    uint64_t stop_at;
} progress_log;

/* For holdall_options_set_progress(), with a `progress_log`. */
static inline int progress(void *ctx, uint64_t done, uint64_t total)
{
    progress_log *t = ctx;
    CHECK(done <= total && (t->calls == 0 || done >= t->last));
    t->calls++;
    t->last = done;
    t->total = total;
    return t->calls == t->stop_at;
}

/* ---- faults -----------------------------------------------------------------------------------*/

enum { FAULTS_MOST = 16 };

typedef struct {
    int count, stop_at;
    /* the thread that calls holdall_verify() */
    pthread_t thread;
    /* the ends of the names of the corrupt parts, and their errors */
    char parts[FAULTS_MOST][64];
    holdall_error errors[FAULTS_MOST];
} faults;

/* For holdall_verify(), with `faults`. */
static inline int note(void *ctx, const char *part, const holdall_error *fault)
{
    faults *f = ctx;
    CHECK(pthread_equal(f->thread, pthread_self()));
    CHECK(fault->status < 0 && fault->message[0] && is_text(fault->message, sizeof fault->message));
    CHECK(f->count < FAULTS_MOST);
    size_t n = strlen(part);
    snprintf(f->parts[f->count], sizeof f->parts[0], "%s", n < 60 ? part : part + n - 60);
    f->errors[f->count] = *fault;
    f->count++;
    return f->count == f->stop_at;
}

/* ---- nothing is printed -----------------------------------------------------------------------*/

/* Checks that `work` prints nothing while it makes n calls, which must return these statuses.
 * `work` must not use CHECK(), because its output could not be read. */
static inline void check_silent(void (*work)(holdall_status *got), const holdall_status *want,
                                int n)
{
    enum { MOST = 16 };
    const char *said = in_tmp("said");
    int out = dup(1), error = dup(2), file = open(said, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    CHECK(out >= 0 && error >= 0 && file >= 0 && n <= MOST);
    fflush(NULL);
    CHECK(dup2(file, 1) == 1 && dup2(file, 2) == 2);
    holdall_status got[MOST];
    work(got);
    fflush(NULL);
    bool back = dup2(out, 1) == 1 && dup2(error, 2) == 2;
    close(out), close(error), close(file);
    CHECK(back);
    for (int k = 0; k < n; k++) {
        now("call %d", k);
        EQUAL(got[k], want[k]);
    }
    EQUAL(file_size(said), 0);
}

#endif
