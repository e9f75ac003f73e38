/*
 * Errors, results and progress: everything that the tool prints goes through here.
 */
#define _POSIX_C_SOURCE 200809L

#include "report.h"
#include "signals.h"
#include "text.h"
#include "tool.h"
#include "utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- text ---- */

/* Writes text with its control characters escaped. */
static void escape_to(FILE *to, const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '\n') {
            fputs("\\n", to);
        } else if (*c < 0x20 || *c == 0x7f) {
            fprintf(to, "\\x%02x", *c);
        } else {
            fputc(*c, to);
        }
    }
}

/* Translates names in the library's messages to those of the command line. Longer ones go
 * before those they begin with. */
static const struct {
    const char *library, *tool;
} translations[] = {
    {"HOLDALL_OPT_BAG_LIMITS_CACHE", "--limits-storage"},
    {"HOLDALL_OPT_BAG_LIMITS 1", "--limits separate"},
    {"HOLDALL_OPT_BAG_LIMITS", "--limits"},
    {"HOLDALL_OPT_BAG_SHARDS = HOLDALL_BAG_SHARDS_INTERLEAVED", "--interleaved"},
    {"HOLDALL_OPT_BAG_SHARDS", "--shards"},
    {"HOLDALL_OPT_MEMORY_LIMIT", "--memory-limit"},
    {"HOLDALL_OPT_VERIFY 0", "--unchecked"},
    {"HOLDALL_OPT_SKIP_DAMAGED", "--skip-damaged"},
    {"HOLDALL_OPT_CHUNK_BYTES", "--chunk-size"},
    {"HOLDALL_OPT_FORMAT_VERSION", "--format-version"},
    {"HOLDALL_OPT_IO", "--map"},
    {"HOLDALL_OPT_FILTERS", "--filters"},
    {"HOLDALL_OPT_OFFSETS", "--no-offsets"},
    {"HOLDALL_OPT_CODEC", "--compression"},
    {"HOLDALL_OPT_LEVEL", "--level"},
    {"HOLDALL_OPT_DICTIONARY", "--dictionary"},
    {"HOLDALL_OPT_CHECKSUM", "--checksum"},
    {"HOLDALL_OPT_THREADS", "--threads"},
    {"HOLDALL_OPT_LOCK", "--no-lock"},
    {"HOLDALL_REPLACE", "--replace"},
    {"HOLDALL_APPEND", "--append"},
};

/* Copies the library's message, translated, into dst and truncates it to fit. */
static void translate(const char *message, char *dst, size_t size) {
    size_t used = 0;
    while (*message && used + 1 < size) {
        const char *put = NULL;
        size_t taken = 1;
        for (size_t i = 0; !put && i < sizeof translations / sizeof *translations; i++) {
            size_t n = strlen(translations[i].library);
            if (strncmp(message, translations[i].library, n) == 0) put = translations[i].tool, taken = n;
        }
        int n = put ? snprintf(dst + used, size - used, "%s", put) : snprintf(dst + used, size - used, "%c", *message);
        used += (size_t)n;
        message += taken;
    }
    if (used == 0) dst[0] = '\0';
}

/* ---- errors ---- */

/* Bytes of a line: room for two paths and the reason. */
enum { LINE = 8192 };

/* Prints one line to stderr, after a prefix. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 0)))
#endif
static void print_line(const char *prefix, const char *format, va_list list) {
    char *text = text_format(format, list);
    if (text) shorten(text, LINE);
    progress_clear();
    flockfile(stderr); /* there may be two threads */
    fputs(prefix, stderr);
    escape_to(stderr, text ? text : format);
    fputc('\n', stderr);
    funlockfile(stderr);
    free(text);
}

void complain(const char *format, ...) {
    va_list list;
    va_start(list, format);
    print_line("holdall: ", format, list);
    va_end(list);
}

void note(const char *format, ...) {
    va_list list;
    va_start(list, format);
    print_line("", format, list);
    va_end(list);
}

void complain_error(const char *path, const holdall_error *error, const char *more) {
    char message[2 * sizeof error->message];
    translate(error->message, message, sizeof message);
    bool named = path[0] == '\0' || strstr(error->message, path) != NULL;
    complain("%s%s%s%s", named ? "" : path, named ? "" : ": ", message, more);
}

void complain_create(const char *path, const holdall_error *error, bool replace) {
    complain_error(path, error, error->status == HOLDALL_E_EXISTS && !replace ? " (--force replaces it)" : "");
}

const char *plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

void complain_errno(const char *path) {
    complain("%s: %s", path, strerror(errno));
}

/* ---- results ---- */

/* errno of the first failed write to stdout. */
static int output_errno;
/* Output of results; NULL: stdout. */
static FILE *results;

static FILE *out(void) {
    return results ? results : stdout;
}

static bool output(bool good) {
    if (!good && output_errno == 0) output_errno = errno ? errno : EIO;
    return output_errno == 0;
}

bool put_bytes(const void *bytes, size_t n) {
    return output(output_errno == 0 && (n == 0 || fwrite(bytes, 1, n, out()) == n));
}

bool put_text(const char *format, ...) {
    va_list list;
    va_start(list, format);
    bool good = output_errno == 0 && vfprintf(out(), format, list) >= 0;
    va_end(list);
    return output(good);
}

bool put_printable(const char *text) {
    if (output_errno == 0) escape_to(out(), text);
    return output(!ferror(out()));
}

bool put_message(const char *message) {
    char translated[1024];
    translate(message, translated, sizeof translated);
    return put_printable(translated);
}

bool put_json(const char *text, size_t size) {
    const unsigned char *c = (const unsigned char *)text, *end = c + size;
    put_text("\"");
    while (c < end) {
        size_t n = utf8_length((const char *)c, (size_t)(end - c));
        if (n == 0) {
            put_text("\\ufffd");
            n = 1;
        } else if (*c == '"' || *c == '\\') {
            put_text("\\%c", *c);
        } else if (*c < 0x20 || *c == 0x7f) {
            put_text("\\u%04x", *c);
        } else {
            put_bytes(c, n);
        }
        c += n;
    }
    return put_text("\"");
}

bool put_into(int fd) {
    int copy = dup(fd);
    results = copy >= 0 ? fdopen(copy, "wb") : NULL;
    if (!results && copy >= 0) close(copy);
    return output(results != NULL);
}

bool put_back(void) {
    output(!results || fclose(results) == 0);
    results = NULL;
    if (output_errno == 0) return true;
    errno = output_errno;
    output_errno = 0; /* it is not stdout that failed */
    return false;
}

bool put_failed(void) {
    return output_errno != 0;
}

int put_end(int code) {
    errno = 0;
    output(fflush(stdout) == 0);
    if (output_errno == 0 || output_errno == EPIPE) return code;
    complain("standard output: %s", strerror(output_errno));
    return FAILED;
}

/* ---- progress ---- */

static struct {
    const char *what, *unit;
    bool on, shown;
    bool lines; /* it is no terminal: a line each time */
    double next; /* when to show it again */
    atomic_flag busy;
} progress = {.busy = ATOMIC_FLAG_INIT};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void progress_begin(const char *what, const char *unit, bool quiet) {
    progress.what = what;
    progress.unit = unit;
    progress.lines = false;
    progress.on = !quiet && isatty(STDERR_FILENO);
    progress.shown = false;
    progress.next = now() + 1;
}

void progress_insist(void) {
    progress.lines = !isatty(STDERR_FILENO);
    progress.on = true;
    progress.next = 0;
}

/* On a terminal one line that changes, elsewhere a line each. */
static void show(uint64_t done, uint64_t total) {
    const char *begin = progress.lines ? "" : "\r", *end = progress.lines ? "\n" : "\033[K";
    if (total > 0) {
        fprintf(stderr, "%s%s: %.0f %%%s", begin, progress.what, 100.0 * (double)done / (double)total, end);
    } else {
        fprintf(stderr, "%s%s: %llu %s%s", begin, progress.what, (unsigned long long)done, progress.unit, end);
    }
    fflush(stderr);
    progress.shown = !progress.lines;
}

int progress_report(void *ctx, uint64_t done, uint64_t total) {
    (void)ctx;
    /* where another thread is just telling, this one need not */
    if (!progress.on || atomic_flag_test_and_set(&progress.busy)) return stopped != 0;
    double time = now();
    if (time >= progress.next) {
        show(done, total);
        progress.next = time + (progress.lines ? 1 : 0.2);
    }
    atomic_flag_clear(&progress.busy);
    return stopped != 0;
}

void progress_clear(void) {
    if (!progress.shown) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress.shown = false;
}
