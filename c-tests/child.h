/* Child processes: with an exit status, with limited memory, or killed at some point of their
 * work. */
#ifndef CHILD_H
#define CHILD_H

#include "check.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

/* Seconds for alarm() in a child that could hang: far more than any child needs. */
enum { HANGS = 300 };

/* Returns 0 in the child. */
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

/* Do all threads sleep, except the first one, which calls this function? */
static inline bool others_rest(void)
{
    DIR *tasks = opendir("/proc/self/task");
    bool rest = true;
    for (struct dirent *task; rest && tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char path[300], stat[256];
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *file = task->d_name[0] == '.' || atol(task->d_name) == getpid() ? NULL
                                                                              : fopen(path, "r");
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

/* Runs a function in a child, with inherited handles. The child is killed at its end: it cannot
 * free what other threads of the parent held at fork(), and a leak checker would report that. */
static inline void in_child(void (*work)(const void *ctx), const void *ctx)
{
    int done[2];
    CHECK(pipe(done) == 0);
    /* a lock of the sanitizer's allocator that another thread held at fork() would never be
     * released in the child */
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

/* Runs a function in a child with its own memory peak, which may use so many further megabytes (0:
 * no limit). Returns its exit status. Termination by a signal is a failure. */
static inline int within(uint64_t megabytes, void (*test)(const char *), const char *path)
{
    pid_t child = forked();
    if (child == 0) {
        long pages = 0;
        /* sanitizers and valgrind reserve address space for themselves */
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

/* ---- crashes ----------------------------------------------------------------------------------*/

static inline void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* Runs a function in a child, which dies when a file exceeds the limit of limit_files(). Returns
 * whether it completed. */
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

/* Reports the progress of the child of kill_at_work(). */
static inline void report(int fd, uint64_t n)
{
    CHECK(write(fd, &n, sizeof n) == sizeof n);
}

/* Kills a child that works without end, at a different time in each round. Returns the last number
 * that the child reported. */
static inline uint64_t kill_at_work(void (*work)(int fd), int round)
{
    int reports[2];
    CHECK(pipe(reports) == 0);
    pid_t child = forked();
    if (child == 0) {
        close(reports[0]);
        work(reports[1]);
    }
    close(reports[1]);
    uint64_t n, last = 0;
    for (int k = 0; k < 1 + round % 4; k++) {
        CHECK(read(reports[0], &n, sizeof n) == sizeof n);
        last = n;
    }
    struct timespec pause = {0, 30000 * round};
    nanosleep(&pause, NULL);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    while (read(reports[0], &n, sizeof n) == sizeof n)
        last = n;
    close(reports[0]);
    return last;
}

#endif
