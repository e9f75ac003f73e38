/*
 * What the tool says: errors on stderr, one line each; results on stdout; progress on a terminal.
 *
 * Text from outside (paths, messages that contain them) is shown with its control characters escaped: an error
 * stays one line, and a file name cannot play with the terminal.
 */
#ifndef REPORT_H
#define REPORT_H

#include "holdall.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LIKE_PRINTF __attribute__((format(printf, 1, 2)))
#else
#define LIKE_PRINTF
#endif

/* ---- errors ---- */

/* One line on stderr: "holdall: ...". */
void complain(const char *format, ...) LIKE_PRINTF;
/* The same with the library's message, and the path if the message does not name it. Appends `more`. */
void complain_error(const char *path, const holdall_error *error, const char *more);
/* The same for a failed creation, with a hint at --force if it helps and was not given (`replace`). */
void complain_create(const char *path, const holdall_error *error, bool replace);
/* The same with the message of errno. */
void complain_errno(const char *path);

/* One line on stderr that is no error. */
void note(const char *format, ...) LIKE_PRINTF;

/* The plural suffix for a number: "s", or nothing for 1. */
const char *plural(uint64_t n);

/* ---- results ---- */

/* Sends results to a descriptor instead of stdout, and leaves it open. put_back() restores stdout and returns whether
 * all was written. */
bool put_into(int fd);
bool put_back(void);
/* These are false once stdout took something no more; there is no point in going on then. */
bool put_bytes(const void *bytes, size_t n);
bool put_text(const char *format, ...) LIKE_PRINTF;
/* Puts text with control characters escaped. */
bool put_printable(const char *text);
/* Puts a JSON string with its quotes; invalid UTF-8 becomes U+FFFD. text[n] must be NUL. */
bool put_json(const char *text, size_t n);
/* Prints the library's message with the names of options replaced by those of flags. */
bool put_message(const char *message);
/* Returns whether a write to stdout failed. put_end() decides whether that is an error. */
bool put_failed(void);
/* Ends the output; `code`, or FAILED where stdout failed. A reader that has gone is no failure. */
int put_end(int code);

/* ---- progress ---- */

/* Work begins that may take long; `unit` is what it counts. Nothing is shown before a second has passed,
 * without a terminal, or where `quiet` is set. */
void progress_begin(const char *what, const char *unit, bool quiet);
/* Shows it at once, and without a terminal, too: a line each second. */
void progress_insist(void);
/* How far it is; total 0: unknown, `done` is shown. A holdall_progress_fn, from any thread: not 0 where a signal is to stop us. */
int progress_report(void *ctx, uint64_t done, uint64_t total);
/* Takes the line from the terminal; to be called before anything else is printed. */
void progress_clear(void);

#endif
