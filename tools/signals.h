/*
 * Signals that stop the tool amid writing: what is unfinished is taken away first, then the signal kills.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>

/* The signal that has come, or 0. Whoever writes looks here between pieces, and stops. */
extern volatile sig_atomic_t stopped;

/* From now on SIGINT, SIGTERM and SIGHUP set `stopped`, once; a second one kills at once. */
void catch_signals(void);
/* Ends the process with the signal that has come. */
void die_of_signal(void);

#endif
