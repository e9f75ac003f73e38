/*
 * Signals that stop the tool amid writing: what is unfinished is taken away first, then the signal kills.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>

/* The received signal, or 0. Writers check it between pieces, and stop. */
extern volatile sig_atomic_t stopped;

/* From now on SIGINT, SIGTERM and SIGHUP set `stopped`, once; a second one kills at once. */
void catch_signals(void);
/* Ends the process with the signal that has come. */
void die_of_signal(void);

#endif
