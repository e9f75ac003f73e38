/* Shared by the programs that time holdall: they read commands and answer each with a line, or run
 * one command and print the memory peak. */
#include <fcntl.h>
#include "../../c-tests/short.h"

#include <holdall.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static holdall_error err;
static volatile uint64_t sink;

/* ---- calls that must not fail */

static inline void die(const char *what)
{
    perror(what);
    exit(3);
}

static inline void check(holdall_status status, const char *call)
{
    if (status == HOLDALL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, holdall_status_name(status), err.message);
    exit(3);
}

static inline void set(holdall_options *o, int option, int64_t value)
{
    check(holdall_options_set(o, option, value, &err), "options");
}

static inline holdall_options *with_threads(int threads)
{
    holdall_options *o = holdall_options_new();
    set(o, HOLDALL_OPT_THREADS, threads);
    return o;
}

static inline holdall_options *for_reading(int io, int threads)
{
    holdall_options *o = with_threads(threads);
    set(o, HOLDALL_OPT_IO, io);
    return o;
}

static inline holdall_bag *open_bag(const char *path, int io, int threads, int cache)
{
    holdall_bag *bag;
    holdall_options *o = for_reading(io, threads);
    set(o, HOLDALL_OPT_BAG_LIMITS_CACHE, cache);
    check(holdall_bag_open(path, o, &bag, &err), "open");
    holdall_options_free(o);
    return bag;
}

static inline void *room(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p)
        die("memory");
    return p;
}

/* Allocates memory for a complete array, in large pages if available, as NumPy does. */
static inline uint8_t *room_for_all(size_t size)
{
    const size_t page = 2 << 20;
    void *all;
    if (posix_memalign(&all, page, size + 1))
        die("memory");
    madvise(all, size / page * page, MADV_HUGEPAGE);
    return all;
}

static inline int open_file(const char *path, int flags, uint64_t *size)
{
    struct stat s;
    int fd = open(path, flags, 0666);
    if (fd < 0 || fstat(fd, &s))
        die(path);
    *size = s.st_size;
    return fd;
}

static inline void read_fully(int fd, void *dst, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, (char *)dst + done, n - done, at + done);
        if (got <= 0)
            die("read");
        done += got;
    }
}

static inline void *load(const char *path, uint64_t *size)
{
    int fd = open_file(path, O_RDONLY, size);
    void *all = room(*size);
    read_fully(fd, all, *size, 0);
    close(fd);
    return all;
}

/* In place of HOLDALL_IO_READ and _MAP: a copy of the file in holdall_storage_new_memory(). */
enum { IN_MEMORY = 100 };

/* The copy, made when a file is opened first. */
static inline holdall_storage *in_memory(const char *path)
{
    static struct {
        char path[4096];
        holdall_storage *storage;
    } all[16];
    size_t i = 0;
    while (i < 15 && all[i].storage && strcmp(all[i].path, path))
        i++;
    if (!all[i].storage || strcmp(all[i].path, path)) {
        uint64_t size;
        void *bytes = load(path, &size);
        holdall_storage_free(all[i].storage);
        check(holdall_storage_new_memory(&all[i].storage, &err), "memory");
        check(holdall_storage_put_file(all[i].storage, "", bytes, size, &err), "memory");
        snprintf(all[i].path, sizeof all[i].path, "%s", path);
        free(bytes);
    }
    return all[i].storage;
}

static inline holdall_array *open_array(const char *path, int io, int threads)
{
    holdall_array *a;
    holdall_options *o = for_reading(io == IN_MEMORY ? HOLDALL_IO_READ : io, threads);
    if (io == IN_MEMORY) {
        holdall_storage *storage = in_memory(path);
        check(holdall_options_set_storage(o, &storage, 1, &err), "options");
        path = NULL;
    }
    check(holdall_array_open(path, HOLDALL_READ, o, &a, &err), "open");
    holdall_options_free(o);
    return a;
}

/* ---- arguments */

enum { DIMENSIONS = 16 };

/* Parses numbers such as 640,400,400; returns how many. */
static inline uint32_t numbers(char *text, uint64_t *to)
{
    uint32_t n = 0;
    for (char *end; n < DIMENSIONS && *text; text = *end ? end + 1 : end)
        to[n++] = strtoull(text, &end, 10);
    return n;
}

/* ---- clocks */

static inline double at(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static inline double now(void)
{
    return at(CLOCK_MONOTONIC);
}

/* Bytes per second. */
static inline double copy_speed(void)
{
    const size_t n = 256 << 20;
    uint8_t *a = room(n), *b = room(n);
    double best = 0;
    memset(a, 1, n);
    memset(b, 2, n);
    for (int i = 0; i < 8; i++) {
        double start = now();
        memcpy(i % 2 ? a : b, i % 2 ? b : a, n);
        double speed = n / (now() - start);
        best = speed > best ? speed : best;
        sink = a[n / 2 + i];
    }
    free(a);
    free(b);
    return best;
}

/* ---- commands */

/* The result of a command that has printed its numbers itself. */
#define PRINTED (-1.0)

static inline double unknown(char **arguments, int n)
{
    fprintf(stderr, "what is %s with %d arguments?\n", n ? arguments[0] : "nothing", n);
    exit(2);
}

static inline void peak(void)
{
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "VmHWM:", 6))
            fputs(line, stdout);
}

static inline void answer(char **arguments, int n, double (*answer_to)(char **arguments, int n))
{
    double answer = n == 1 && !strcmp(arguments[0], "memcpy") ? copy_speed()
                                                              : answer_to(arguments, n);
    if (answer != PRINTED)
        printf("%.9g\n", answer);
}

/* Runs the one command in `arguments`, "nothing" among them, and prints its answer; without
 * `arguments`, the commands on standard input. All programs know "memcpy". */
static inline int commands(char **arguments, int n, double (*answer_to)(char **arguments, int n))
{
    char line[8192], *parsed[16];
    if (n > 0) {
        if (strcmp(arguments[0], "nothing"))
            answer(arguments, n, answer_to);
        peak();
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        n = 0;
        for (char *w = strtok(line, " \n"); w && n < 16; w = strtok(NULL, " \n"))
            parsed[n++] = w;
        answer(parsed, n, answer_to);
        fflush(stdout);
    }
    return 0;
}
