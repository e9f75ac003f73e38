/* Measures single system calls on a file in the page cache, because every reader makes them.
 *
 * usage: calls FILE     prints the nanoseconds of each: a name and a number per line */
#include <sys/syscall.h>

#include "common.h"

enum { TIMES = 20000, ROUNDS = 9 };

static const char *path;
static int fd;
static char to[1 << 16];

static void none(void)
{
    sink += syscall(SYS_getppid);
}

static void some(size_t n)
{
    if (pread(fd, to, n, 4096) != (ssize_t)n)
        die(path);
}

static void record(void)
{
    some(200);
}

static void page(void)
{
    some(4096);
}

static void block(void)
{
    some(1 << 16);
}

static void status(void)
{
    struct stat s;
    if (fstat(fd, &s))
        die(path);
}

static void opened(void)
{
    int f = open(path, O_RDONLY | O_CLOEXEC);
    if (f < 0 || close(f))
        die(path);
}

/* The median of the rounds. */
static double each(void (*call)(void))
{
    double took[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        double start = now();
        for (int i = 0; i < TIMES; i++)
            call();
        took[r] = (now() - start) / TIMES * 1e9;
        for (int k = r; k > 0 && took[k] < took[k - 1]; k--) {
            double t = took[k];
            took[k] = took[k - 1];
            took[k - 1] = t;
        }
    }
    return took[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } calls[] = {{"none", none},      {"fstat", status},     {"pread200", record},
                 {"pread4096", page}, {"pread65536", block}, {"open", opened}};
    uint64_t size;
    if (argc != 2)
        return 2;
    path = argv[1];
    fd = open_file(path, O_RDONLY, &size);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        printf("%s %.9g\n", calls[i].name, each(calls[i].call));
    return 0;
}
