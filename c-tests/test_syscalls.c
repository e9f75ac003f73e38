/* Errors of the operating system: each system call that a change and its commit make, in each
 * format, fails in turn. It fails with EIO once, with EIO from then on, or with a full disk from
 * then on, in the middle of a write. Every failure is reported. The container has the complete
 * old or the complete new state; a commit that reported success is present; a refused change
 * succeeds once the system works.
 *
 * This program replaces the functions of the C library, so that holdall calls the functions
 * below. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "formats.h"

#ifdef __linux__

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>

/* ---- the system -------------------------------------------------------------------------------*/

typedef enum { ONCE, DEAD, FULL, FAULTS } fault;

static struct {
    /* Calls are counted, and the one with this number fails (0: none). */
    atomic_bool armed;
    atomic_long calls, fail_at, failures;
    fault fault;
} os;

static void arm(fault f, long fail_at)
{
    os.fault = f;
    os.calls = os.failures = 0;
    os.fail_at = fail_at;
    os.armed = true;
}

/* Returns the errno of this call, or 0. A full disk refuses only calls that need space. */
static int refused(bool takes_room)
{
    if (!os.armed)
        return 0;
    long n = ++os.calls, at = os.fail_at;
    if (at == 0 || n < at || (os.fault == ONCE && n > at) || (os.fault == FULL && !takes_room))
        return 0;
    os.failures++;
    return os.fault == FULL ? ENOSPC : EIO;
}

#define NEXT(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))
#define REFUSE(takes_room)                 \
    do {                                   \
        int refusal = refused(takes_room); \
        if (refusal != 0)                  \
            return errno = refusal, -1;    \
    } while (0)

int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    REFUSE((flags & O_CREAT) != 0);
    return NEXT(open64)(path, flags, mode);
}

ssize_t pread64(int fd, void *dst, size_t n, off64_t at)
{
    REFUSE(false);
    return NEXT(pread64)(fd, dst, n, at);
}

ssize_t pwrite64(int fd, const void *src, size_t n, off64_t at)
{
    int refusal = refused(true);
    /* the first write that does not fit is partial, up to a sector */
    off64_t end = (at + (off64_t)(n / 2)) / 512 * 512;
    if (refusal == ENOSPC && os.failures == 1 && end > at)
        return NEXT(pwrite64)(fd, src, (size_t)(end - at), at);
    if (refusal != 0)
        return errno = refusal, -1;
    return NEXT(pwrite64)(fd, src, n, at);
}

off64_t lseek64(int fd, off64_t at, int from)
{
    REFUSE(false);
    return NEXT(lseek64)(fd, at, from);
}

int ftruncate64(int fd, off64_t size)
{
    REFUSE(true);
    return NEXT(ftruncate64)(fd, size);
}

int fsync(int fd)
{
    (void)fd;
    REFUSE(false);
    return 0; /* the power is never cut here */
}

int rename(const char *from, const char *to)
{
    REFUSE(true);
    return NEXT(rename)(from, to);
}

int unlink(const char *path)
{
    REFUSE(false);
    return NEXT(unlink)(path);
}

int mkdir(const char *path, mode_t mode)
{
    REFUSE(true);
    return NEXT(mkdir)(path, mode);
}

/* ---- the changes ------------------------------------------------------------------------------*/

/* Checks that a failure is reported with its errno, or as its consequence. */
static bool done(holdall_status s)
{
    if (s == HOLDALL_OK)
        return true;
    CHECK(err.status == s && err.message[0] != '\0');
    CHECK(s == HOLDALL_E_IO || s == HOLDALL_E_STATE);
    CHECK(s != HOLDALL_E_IO || err.os_code == (os.fault == FULL ? ENOSPC : EIO));
    return false;
}

/* Does a commit report that it is done? */
static bool change(int form, const char *path, fault f, long fail_at)
{
    writer w;
    bool committed = false;
    GAVE(HOLDALL_OK, open_writer_of(form, path, false, &w));
    arm(f, fail_at);
    if (done(rewrite(&w)) && done(append(&w, OLD, NEW - OLD))) {
        committed = done(commit(&w));
        /* a failed call may be tried again */
        committed = committed || done(commit(&w));
    }
    close_writer(&w);
    os.armed = false;
    return committed;
}

/* One change with one failing call. Returns the number of its calls. */
static long one(int form, fault f, long fail_at)
{
    char path[1024];
    snprintf(path, sizeof path, "%s", in_tmp(forms[form].name));
    add(form, path, true, 0, OLD);
    bool committed = change(form, path, f, fail_at);
    CHECK(committed || os.failures > 0);
    uint64_t n = look(form, path);
    CHECK(n == NEW || (n == OLD && !committed));
    add(form, path, false, n, MORE);
    EQUAL(look(form, path), n + MORE);
    TIDY();
    remove_all();
    return os.calls;
}

static void each_failed_system_call_is_reported(void)
{
    long tried = 0;
    for (int form = 0; form < FORMS; form++)
        for (fault f = ONCE; f < FAULTS; f++) {
            now("%s", forms[form].name);
            long calls = one(form, f, 0);
            for (long n = 1; n <= calls; n += slow() ? 7 : 1, tried++) {
                now("%s, %s, call %ld of %ld", forms[form].name,
                    f == ONCE   ? "once"
                    : f == DEAD ? "for good"
                                : "full",
                    n, calls);
                one(form, f, n);
            }
        }
    printf("%ld refusals\n", tried);
}

/* Identifies and verifies a path while one call fails: the failure is reported, or the results do
 * not depend on it. */
static long ask(int form, const char *path, long fail_at)
{
    holdall_kind kind = 0;
    uint64_t corrupt = 7, dropped = 7;
    holdall_format format = 0;
    preset_error();
    arm(ONCE, fail_at);
    if (done(holdall_identify(path, &format, &kind, &err)))
        EQUAL(format, forms[form].format);
    if (done(verify_counts(path, NULL, NULL, NULL, NULL, &corrupt, NULL, &err)))
        EQUAL(corrupt, 0);
    if (done(repair_counts(path, NULL, NULL, &dropped, &err)))
        EQUAL(dropped, 0);
    os.armed = false;
    EQUAL(look(form, path), OLD);
    return os.calls;
}

static void unreadable_files_are_not_mistaken(void)
{
    for (int form = 0; form < FORMS; form++) {
        if (forms[form].pairs[0] == HOLDALL_OPT_BAG_LIMITS) /* requested without options */
            continue;
        char path[1024];
        snprintf(path, sizeof path, "%s", in_tmp(forms[form].name));
        add(form, path, true, 0, OLD);
        long calls = ask(form, path, 0);
        for (long n = 1; n <= calls; n++) {
            now("%s, call %ld of %ld", forms[form].name, n, calls);
            ask(form, path, n);
        }
        remove_all();
    }
}

int main(void)
{
    RUN(each_failed_system_call_is_reported);
    RUN(unreadable_files_are_not_mistaken);
    return 0;
}

#else

int main(void)
{
    return 0;
}

#endif
