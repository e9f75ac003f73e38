/* Shared by the test programs: checks that print where they failed, short forms of the most
 * frequent calls, files, and records to write. Must be included first.
 *
 * A test is a program that returns 0 if it passes. $HOLDALL_TMP is an empty folder for this test.
 * $HOLDALL_FIXTURES is a folder of files that other programs wrote; without it the tests of these
 * files are skipped. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif

#include <holdall.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "short.h"

/* ---- checks -----------------------------------------------------------------------------------*/

/* The error of the last failure on this thread: pass &err to every call. */
static _Thread_local holdall_error err;

/* Sets the description of the current case of a loop, which a failing check prints. */
static _Thread_local char at_case[256];

__attribute__((format(printf, 1, 2))) static inline void now(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(at_case, sizeof at_case, format, args);
    va_end(args);
}

/* Runs one test of a program. */
#define RUN(test) (at_case[0] = '\0', test())

static inline void failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s%s%s%s\n", file, line, at_case[0] ? "[" : "", at_case,
            at_case[0] ? "] " : "", what);
    exit(1);
}

#define CHECK(what) ((what) ? (void)0 : failed(__FILE__, __LINE__, #what))

static inline void check_equal(const char *file, int line, const char *what, uint64_t got,
                               uint64_t want)
{
    if (got == want)
        return;
    char message[512];
    snprintf(message, sizeof message, "%s is %" PRIu64 ", not %" PRIu64, what, got, want);
    failed(file, line, message);
}

/* Compares two whole numbers and prints them if they differ. */
#define EQUAL(got, want) check_equal(__FILE__, __LINE__, #got, (uint64_t)(got), (uint64_t)(want))

/* Is this UTF-8, with a final NUL within n bytes? */
static inline bool is_text(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + n;
    while (p < end && *p) {
        size_t more = *p < 0x80                 ? 0
                      : *p >= 0xC2 && *p < 0xE0 ? 1
                      : (*p & 0xF0) == 0xE0     ? 2
                      : *p >= 0xF0 && *p < 0xF5 ? 3
                                                : 9;
        if (more > (size_t)(end - p))
            return false;
        for (size_t i = 1; i <= more; i++)
            if ((p[i] & 0xC0) != 0x80)
                return false;
        p += more + 1;
    }
    return p < end;
}

/* Checks that the error was filled: it is preset to values that no call can leave. */
static inline void preset_error(void)
{
    memset(&err, 0x5A, sizeof err);
    err.message[sizeof err.message - 1] = '\0';
}

static inline void check_status(const char *file, int line, const char *what, holdall_status want,
                                holdall_status got)
{
    char message[1024];
    if (got != want) {
        snprintf(message, sizeof message, "%s gives %s, not %s%s%s", what, holdall_status_name(got),
                 holdall_status_name(want), got < 0 ? ": " : "", got < 0 ? err.message : "");
        failed(file, line, message);
    }
    bool filled = got >= 0 || (err.status == got && err.position >= -1 && err.message[0] &&
                             is_text(err.message, sizeof err.message));
    if (!filled) {
        snprintf(message, sizeof message, "%s fails and does not fill its error", what);
        failed(file, line, message);
    }
}

/* Checks that a call returns this status and, on failure, fills err. */
#define GIVES(want, call) (preset_error(), check_status(__FILE__, __LINE__, #call, (want), (call)))
#define OK(call) GIVES(HOLDALL_OK, call)
/* The same for the result of an earlier call. */
#define GAVE(want, status) check_status(__FILE__, __LINE__, #status, (want), (status))

/* Does the message of the last failure contain this text? */
static inline bool says(const char *message)
{
    return strstr(err.message, message) != NULL;
}

/* ---- slow environments ------------------------------------------------------------------------*/

/* Under the address sanitizer? */
static inline bool addresses_are_seen(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    return true;
#endif
#endif
    return false;
}

/* Under valgrind or the address sanitizer? Loops over many cases then run fewer of them. */
static inline bool slow(void)
{
    const char *preload = getenv("LD_PRELOAD");
    return addresses_are_seen() || (preload != NULL && strstr(preload, "vgpreload") != NULL);
}

/* Under the thread sanitizer? */
static inline bool races_are_seen(void)
{
#if defined(__SANITIZE_THREAD__)
    return true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    return true;
#endif
#endif
    return false;
}

/* ---- files ------------------------------------------------------------------------------------*/

/* Returns $HOLDALL_TMP/name, which is valid until 15 further calls. */
static inline const char *in_tmp(const char *name)
{
    static _Thread_local char paths[16][1024];
    static _Thread_local unsigned next;
    char *path = paths[next++ % 16];
    const char *folder = getenv("HOLDALL_TMP");
    if (folder == NULL || folder[0] == '\0') {
        fprintf(stderr, "HOLDALL_TMP must name an empty folder\n");
        exit(2);
    }
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* Returns the path of a folder of fixtures; prints a message and returns NULL if it does not
 * exist. */
static inline const char *fixtures_in(const char *variable, const char *name)
{
    static char path[1024];
    const char *folder = getenv(variable);
    struct stat s;
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "", name);
    if (folder != NULL && folder[0] && stat(path, &s) == 0)
        return path;
    printf("skipped: the files of $%s/%s are not there\n", variable, name);
    return NULL;
}

static inline const char *fixtures(const char *name)
{
    return fixtures_in("HOLDALL_FIXTURES", name);
}

/* Those of this project, which run.sh sets. */
static inline const char *own_fixtures(const char *name)
{
    return fixtures_in("HOLDALL_OWN_FIXTURES", name);
}

static inline bool there(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

static inline size_t file_size(const char *path)
{
    struct stat s;
    CHECK(stat(path, &s) == 0);
    return (size_t)s.st_size;
}

/* Returns all bytes of a file; the caller frees them. */
static inline uint8_t *load(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL);
    *n = file_size(path);
    uint8_t *bytes = malloc(*n + 1);
    CHECK(bytes != NULL && fread(bytes, 1, *n, f) == *n);
    fclose(f);
    return bytes;
}

static inline void save(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL);
    CHECK(fwrite(bytes, 1, n, f) == n);
    CHECK(fclose(f) == 0);
}

/* Returns the number of entries of a folder whose names contain `part`, without hidden entries. */
static inline int entries(const char *folder, const char *part)
{
    int n = 0;
    DIR *d = opendir(folder);
    CHECK(d != NULL);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        n += e->d_name[0] != '.' && strstr(e->d_name, part) != NULL;
    closedir(d);
    return n;
}

/* The same for $HOLDALL_TMP. */
static inline int files_with(const char *part)
{
    return entries(in_tmp("."), part);
}

/* Checks that no file of a writer remains beside the containers. */
#define TIDY() EQUAL(files_with(".holdall-"), 0)

/* ---- options, in one expression ---------------------------------------------------------------*/

/* Pairs of option and value, such as WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD). */
#define WITH(...) ((const int64_t[]){__VA_ARGS__, 0, 0})

/* Values of HOLDALL_OPT_BAG_LIMITS, HOLDALL_OPT_BAG_SHARDS and HOLDALL_OPT_IO from loop
 * variables. */
#define LIMITS(separate) ((separate) ? HOLDALL_BAG_LIMITS_SEPARATE : HOLDALL_BAG_LIMITS_TAIL)
#define SHARDS(interleaved) \
    ((interleaved) ? HOLDALL_BAG_SHARDS_INTERLEAVED : HOLDALL_BAG_SHARDS_CONCATENATED)
#define IO(mapped) ((mapped) ? HOLDALL_IO_MAP : HOLDALL_IO_READ)

/* Returns NULL for NULL; the caller frees the result. */
static inline holdall_options *options_of(const int64_t *pairs)
{
    if (pairs == NULL)
        return NULL;
    holdall_options *options = holdall_options_new();
    CHECK(options != NULL);
    for (; pairs[0] != 0; pairs += 2)
        OK(holdall_options_set(options, (holdall_option)pairs[0], pairs[1], &err));
    return options;
}

static inline holdall_status try_open(const char *spec, const int64_t *pairs, holdall_bag **bag)
{
    holdall_options *options = options_of(pairs);
    holdall_status status = holdall_bag_open(spec, options, bag, &err);
    holdall_options_free(options);
    return status;
}

static inline holdall_bag *open_bag(const char *spec, const int64_t *pairs)
{
    holdall_bag *bag;
    OK(try_open(spec, pairs, &bag));
    return bag;
}

static inline holdall_status try_writer(const char *path, holdall_mode mode, const int64_t *pairs,
                                        holdall_bag_writer **writer)
{
    holdall_options *options = options_of(pairs);
    holdall_status status = holdall_bag_writer_open(path, mode, options, writer, &err);
    holdall_options_free(options);
    return status;
}

static inline holdall_bag_writer *open_writer(const char *path, holdall_mode mode,
                                              const int64_t *pairs)
{
    holdall_bag_writer *writer;
    OK(try_writer(path, mode, pairs, &writer));
    return writer;
}

/* ---- records ----------------------------------------------------------------------------------*/

enum { RECORD_MOST = 3000 };

/* Record i of all tests: compressible text of 0 to RECORD_MOST bytes. Each i has a different
 * record, except the empty ones (i % 5 == 3). */
static inline size_t make_record(uint64_t i, uint8_t *dst)
{
    static const size_t sizes[] = {40, 7, 700, 0, 160, 1500, 8, 13, 0, 2900};
    size_t n = sizes[i % 10];
    uint64_t word = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t k = 0; k < n; k++) {
        if (k % 16 == 0)
            word ^= word << 13, word ^= word >> 7, word ^= word << 17;
        dst[k] = k < 7 ? (uint8_t)(i >> 8 * k) : (uint8_t)('a' + (word >> 4 * (k % 16)) % 16);
    }
    return n;
}

/* Appends records first to first + n of make_record(). */
static inline void append_records(holdall_bag_writer *writer, uint64_t first, uint64_t n)
{
    uint8_t record[RECORD_MOST];
    for (uint64_t i = first; i < first + n; i++) {
        size_t size = make_record(i, record);
        OK(holdall_bag_writer_append(writer, record, size, &err));
    }
}

/* Writes records 0 to n to a bag, with one commit. */
static inline void write_bag(const char *path, holdall_mode mode, const int64_t *pairs, uint64_t n)
{
    holdall_bag_writer *writer = open_writer(path, mode, pairs);
    append_records(writer, 0, n);
    OK(holdall_bag_writer_commit(writer, &err));
    holdall_bag_writer_close(writer);
}

/* Is record i of this bag equal to make_record(number)? */
static inline void check_record(const holdall_bag *bag, uint64_t i, uint64_t number)
{
    uint8_t want[RECORD_MOST], got[RECORD_MOST];
    size_t size = make_record(number, want), n = 0;
    OK(holdall_bag_read(bag, i, got, sizeof got, &n, &err));
    EQUAL(n, size);
    CHECK(memcmp(got, want, n) == 0);
}

/* Is record k of a batch equal to make_record(number)? */
static inline void check_in_batch(const holdall_records *records, size_t k, uint64_t number)
{
    uint8_t want[RECORD_MOST];
    size_t size = make_record(number, want);
    const uint64_t *at = holdall_records_offsets(records);
    EQUAL(at[k + 1] - at[k], size);
    CHECK(memcmp(holdall_records_data(records) + at[k], want, size) == 0);
}

/* Are n records from `first` on equal to those of make_record() from `number` on? */
static inline void check_range(const holdall_bag *bag, uint64_t first, uint64_t n, uint64_t number)
{
    holdall_records *records;
    OK(holdall_bag_read_range(bag, first, n, &records, &err));
    EQUAL(holdall_records_count(records), n);
    EQUAL(holdall_records_offsets(records)[0], 0);
    EQUAL(holdall_records_damaged_count(records), 0);
    for (uint64_t k = 0; k < n; k++)
        check_in_batch(records, (size_t)k, number + k);
    holdall_records_free(records);
}

/* Does this path hold exactly records 0 to n of make_record()? */
static inline void check_bag(const char *path, const int64_t *pairs, uint64_t n)
{
    holdall_bag *bag = open_bag(path, pairs);
    EQUAL(holdall_bag_record_count(bag), n);
    check_range(bag, 0, n, 0);
    holdall_bag_close(bag);
}

#endif
