/* Child processes: that end, that may not have all memory, that are killed at some point of their work. */
#ifndef CHILD_H
#define CHILD_H

#include "check.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

/* For alarm(), in a child that could hang: so many seconds are far more than any of them works. */
enum { HANGS = 300 };

/* In the child 0. */
static inline pid_t forked(void)
{
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    return child;
}

/* Waits for a child, which must end with this exit status. */
static inline void check_child(pid_t pid, int want)
{
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(!WIFSIGNALED(status));
    EQUAL(WEXITSTATUS(status), want);
}

/* Do all threads but the first one, which asks, sleep? */
static inline bool others_rest(void)
{
    DIR *tasks = opendir("/proc/self/task");
    bool rest = true;
    for (struct dirent *task; rest && tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char path[300], stat[256];
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *file = task->d_name[0] == '.' || atol(task->d_name) == getpid() ? NULL : fopen(path, "r");
        if (file == NULL)
            continue;
        stat[fread(stat, 1, sizeof stat - 1, file)] = '\0';
        fclose(file);
        const char *name_ends = strrchr(stat, ')');
        rest = name_ends == NULL || name_ends[2] == 'S';
    }
    if (tasks != NULL)
        closedir(tasks);
    return rest;
}

/* Does this in a child, with what it has inherited. It is killed when it is done: what other threads of the parent
 * held at that moment is nobody's in the child, and a leak checker would say so. */
static inline void in_child(void (*work)(const void *ctx), const void *ctx)
{
    int done[2];
    CHECK(pipe(done) == 0);
    /* a lock of the sanitizer's own allocator that another thread has would be held in the child for ever */
    while (addresses_are_seen() && !others_rest())
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    pid_t child = forked();
    if (child == 0) {
        alarm(HANGS);
        work(ctx);
        CHECK(write(done[1], "x", 1) == 1);
        for (;;)
            pause();
    }
    close(done[1]);
    char c;
    CHECK(read(done[0], &c, 1) == 1);
    close(done[0]);
    CHECK(kill(child, SIGKILL) == 0);
    CHECK(waitpid(child, NULL, 0) == child);
}

/* Does this in a child, whose peak of memory is its own, and which may have so many megabytes more (0: as many as there
 * are); gives its exit status. An end by a signal is a failure. */
static inline int within(uint64_t megabytes, void (*test)(const char *), const char *path)
{
    pid_t child = forked();
    if (child == 0) {
        long pages = 0;
        /* sanitizers and valgrind take address space of their own */
        FILE *f = megabytes > 0 && !slow() ? fopen("/proc/self/statm", "r") : NULL;
        if (f != NULL) {
            struct rlimit limit;
            CHECK(fscanf(f, "%ld", &pages) == 1 && getrlimit(RLIMIT_AS, &limit) == 0);
            fclose(f);
            limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (megabytes << 20);
            CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
        }
        test(path);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(!WIFSIGNALED(status));
    return WEXITSTATUS(status);
}

/* ---- crashes ------------------------------------------------------------------------------------*/

static inline void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* Does this in a child, which dies where a file gets beyond what limit_files() allows it. Says whether it came to its
 * end. */
static inline bool survives(void (*work)(int kind, size_t bytes), int kind, size_t bytes)
{
    pid_t child = forked();
    if (child == 0) {
        signal(SIGXFSZ, SIG_DFL);
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        work(kind, bytes);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    bool done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    CHECK(done || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ));
    return done;
}

/* How the child of kill_at_work() says how far it is. */
static inline void tell(int fd, uint64_t n)
{
    CHECK(write(fd, &n, sizeof n) == sizeof n);
}

/* Kills a child that works for ever, at another time in each round; gives the last number that it told. */
static inline uint64_t kill_at_work(void (*work)(int fd), int round)
{
    int told[2];
    CHECK(pipe(told) == 0);
    pid_t child = forked();
    if (child == 0) {
        close(told[0]);
        work(told[1]);
    }
    close(told[1]);
    uint64_t n, last = 0;
    for (int k = 0; k < 1 + round % 4; k++) {
        CHECK(read(told[0], &n, sizeof n) == sizeof n);
        last = n;
    }
    struct timespec pause = {0, 30000 * round};
    nanosleep(&pause, NULL);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    while (read(told[0], &n, sizeof n) == sizeof n)
        last = n;
    close(told[0]);
    return last;
}

#endif
