/*
 * Signals that stop the tool.
 */
#define _POSIX_C_SOURCE 200809L

#include "signals.h"

#include <stddef.h>

volatile sig_atomic_t stopped;

static void stop(int signal) {
    stopped = signal;
}

static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
enum { STOPPING = sizeof stopping / sizeof *stopping };

void catch_signals(void) {
    /* read() is to return; a second signal kills at once, amid a long commit for example */
    struct sigaction action = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND}, old;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < STOPPING; i++) {
        /* one that is ignored stays so, under nohup for example */
        if (sigaction(stopping[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(stopping[i], &action, NULL);
    }
}

void die_of_signal(void) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    sigaction(stopped, &action, NULL);
    raise(stopped);
}
