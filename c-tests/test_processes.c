/* Effects of other processes and of the system on a container in use, for each form: read-only
 * folders and files, a full file system, few file descriptors, writers that compete for the lock,
 * readers during commits, fork() in the middle of a change, and files that are truncated, replaced
 * or removed under open handles. Every result is right, or an error. */
#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "formats.h"

#include "child.h"

#include <fcntl.h>
#ifdef __linux__
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#endif

enum { UNPRIVILEGED = 65534, WRITERS = 3, COMMITS = 5, NOT_POSSIBLE = 77 };

/* Creates a new container, alone in the folder. */
static const char *made(int form, uint64_t n)
{
    static char path[1024];
    remove_all();
    snprintf(path, sizeof path, "%s", in_tmp(forms[form].name));
    add(form, path, true, 0, n);
    return path;
}

/* Did the system refuse this for that reason, or did it succeed? */
static bool done_or(holdall_status s, int reason)
{
    if (s == HOLDALL_OK)
        return true;
    CHECK(err.status == s && err.message[0] != '\0');
    CHECK(s == HOLDALL_E_IO || s == HOLDALL_E_STATE);
    CHECK(s != HOLDALL_E_IO || err.os_code == reason);
    return false;
}

/* Makes the change to the new state. Returns whether it was committed. */
static bool change(int form, const char *path, int reason)
{
    writer w;
    bool committed = false;
    if (done_or(open_writer_of(form, path, false, &w), reason))
        committed = done_or(rewrite(&w), reason) &&
                    done_or(append(&w, OLD, NEW - OLD), reason) && done_or(commit(&w), reason);
    close_writer(&w);
    return committed;
}

/* Checks that it has the old or the new state, and that changes continue from it. */
static void goes_on(int form, const char *path, bool committed)
{
    uint64_t n = look(form, path);
    CHECK(n == NEW || (n == OLD && !committed));
    add(form, path, false, n, MORE);
    EQUAL(look(form, path), n + MORE);
}

/* ---- read-only folders and files --------------------------------------------------------------*/

static int lock_up(const char *path, const struct stat *s, int type, struct FTW *where)
{
    (void)s, (void)where;
    return chmod(path, type == FTW_F ? 0444 : 0555);
}

static int unlock(const char *path, const struct stat *s, int type, struct FTW *where)
{
    (void)s, (void)where;
    return chmod(path, type == FTW_F ? 0644 : 0755);
}

static int reads_only(int form, const char *path)
{
#ifdef __linux__
    if (geteuid() == 0 &&
        (setgroups(0, NULL) != 0 || setgid(UNPRIVILEGED) != 0 || setuid(UNPRIVILEGED) != 0))
        return NOT_POSSIBLE;
#endif
    if (access(path, R_OK) != 0 || access(path, W_OK) == 0)
        return NOT_POSSIBLE; /* the parent folders are not accessible without privileges */
    EQUAL(look(form, path), OLD);
    writer w;
    CHECK(!done_or(open_writer_of(form, path, false, &w), EACCES));
    close_writer(&w);
    EQUAL(look(form, path), OLD);
    return 0;
}

static void read_only_folders_are_errors(void)
{
    int tried = 0;
    for (int form = 0; form < ALL_FORMS; form++) {
        now("read only, %s", forms[form].name);
        const char *path = made(form, OLD);
        CHECK(nftw(in_tmp("."), lock_up, 16, FTW_PHYS) == 0);
        pid_t child = forked();
        if (child == 0)
            _exit(reads_only(form, path));
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == NOT_POSSIBLE);
        tried += WEXITSTATUS(status) == 0;
        CHECK(nftw(in_tmp("."), unlock, 16, FTW_PHYS) == 0);
        goes_on(form, path, false);
    }
    printf("read only: %d of %d forms%s\n", tried, ALL_FORMS,
           tried ? "" : ", left out: other users cannot access this folder");
}

/* ---- exhausted resources ----------------------------------------------------------------------*/

static void few_file_descriptors_are_enough(void)
{
    /* enough for each change, with the files that its threads open at once */
    enum { ENOUGH = 15 };
    int refused = 0;
    struct rlimit before;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    for (int form = 0; form < ALL_FORMS; form++)
        for (int more = 0; more <= ENOUGH; more++) {
            now("%d files more, %s", more, forms[form].name);
            const char *path = made(form, OLD);
            int next = dup(0);
            CHECK(next >= 0 && close(next) == 0);
            struct rlimit few = {.rlim_cur = (rlim_t)(next + more), .rlim_max = before.rlim_max};
            CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
            bool committed = change(form, path, EMFILE);
            CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
            refused += !committed;
            CHECK(committed || more < ENOUGH);
            goes_on(form, path, committed);
        }
    CHECK(refused > FORMS);
    printf("few open files: %d of %d changes refused\n", refused, (ENOUGH + 1) * ALL_FORMS);
}

#ifdef __linux__
/* A file system with room for so many pages, and nothing else in it. */
static bool small_file_system(const char *where)
{
    return unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", where, "tmpfs", 0, "size=2m") == 0;
}

/* Leaves this many bytes free. */
static void fill(const char *path, off_t left)
{
    static const char page[4096];
    int file = open(path, O_CREAT | O_RDWR, 0600);
    CHECK(file >= 0);
    off_t size = 0;
    for (ssize_t n; (n = write(file, page, sizeof page)) > 0;)
        size += n;
    CHECK(errno == ENOSPC && ftruncate(file, size - left) == 0);
    CHECK(close(file) == 0);
}

static void on_a_full_file_system(void)
{
    int refused = 0;
    if (!small_file_system(in_tmp(".")))
        _exit(NOT_POSSIBLE);
    for (int form = 0; form < ALL_FORMS; form++)
        for (int pages = 0; pages < 24; pages++) {
            now("full file system, %d pages left, %s", pages, forms[form].name);
            const char *path = made(form, OLD);
            fill(in_tmp("filler"), 4096 * pages);
            bool committed = change(form, path, ENOSPC);
            refused += !committed;
            CHECK(committed || pages < 23);
            uint64_t n = look(form, path); /* while it is still full */
            CHECK(n == NEW || (n == OLD && !committed));
            CHECK(unlink(in_tmp("filler")) == 0);
            goes_on(form, path, committed);
        }
    CHECK(refused > FORMS);
    printf("a full file system: %d of %d changes refused\n", refused, 24 * ALL_FORMS);
    fflush(NULL);
    _exit(0);
}

static void full_file_systems_are_errors(void)
{
    pid_t child = forked();
    if (child == 0)
        on_a_full_file_system();
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_POSSIBLE)
        printf("a full file system: left out, this user cannot mount one\n");
    else
        EQUAL(WEXITSTATUS(status), 0);
}
#endif

/* ---- several processes ------------------------------------------------------------------------*/

/* Adds a row COMMITS times, and waits for other writers between. */
static void races(int form, const char *path)
{
    for (int done = 0; done < COMMITS;) {
        writer w;
        holdall_status s = open_writer_of(form, path, false, &w);
        if (s == HOLDALL_E_BUSY) {
            usleep(200);
            continue;
        }
        GAVE(HOLDALL_OK, s);
        /* no other writer now */
        GAVE(HOLDALL_OK, append(&w, look(form, path), 1));
        GAVE(HOLDALL_OK, commit(&w));
        close_writer(&w);
        done++;
    }
}

/* Reads until the children are done: always a commit, and never one older than the previous
 * read. */
static long reads_on(int form, const char *path, int children)
{
    long looks = 0;
    uint64_t last = 0;
    for (int status; children > 0;) {
        pid_t child = waitpid(-1, &status, WNOHANG);
        CHECK(child >= 0);
        if (child > 0) {
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            children--;
        }
        reader r;
        int32_t got[ROWS];
        uint64_t n = 0;
        GAVE(HOLDALL_OK, open_reader(form, path, &r));
        holdall_status s = read_all(&r, got, &n);
        close_reader(&r);
        if (s == HOLDALL_E_STATE) /* a writer has changed it since it was opened */
            continue;
        GAVE(HOLDALL_OK, s);
        check_rows(form, got, n);
        CHECK(n >= last);
        last = n;
        looks++;
    }
    EQUAL(look(form, path), MORE + WRITERS * COMMITS);
    return looks;
}

static void writers_race_and_readers_read(void)
{
    long looks = 0;
    for (int form = 0; form < ALL_FORMS; form++) {
        now("%d writers and a reader, %s", WRITERS, forms[form].name);
        const char *path = made(form, MORE);
        for (int i = 0; i < WRITERS; i++)
            if (forked() == 0) {
                alarm(HANGS);
                races(form, path);
                _exit(0);
            }
        looks += reads_on(form, path, WRITERS);
    }
    printf("%d processes write, %ld looks\n", WRITERS, looks);
}

static void forks_in_the_middle_of(int form, bool with_equal_pids)
{
    const char *path = made(form, OLD);
    writer w;
    GAVE(HOLDALL_OK, open_writer_of(form, path, false, &w));
    GAVE(HOLDALL_OK, rewrite(&w));
#ifdef __linux__
    CHECK(!with_equal_pids || unshare(CLONE_NEWPID) == 0);
#endif
    pid_t me = getpid(), child = forked();
    if (child == 0) {
        alarm(HANGS);
        CHECK(with_equal_pids == (getpid() == me));
        holdall_status s = append(&w, OLD, NEW - OLD);
        CHECK(s == HOLDALL_E_STATE);
        CHECK(commit(&w) == HOLDALL_E_STATE);
        close_writer(&w);
        EQUAL(look(form, path), OLD);
        _exit(0);
    }
    check_child(child, 0);
    GAVE(HOLDALL_OK, append(&w, OLD, NEW - OLD));
    GAVE(HOLDALL_OK, commit(&w));
    close_writer(&w);
    goes_on(form, path, true);
}

static void a_fork_during_a_change_is_harmless(void)
{
    for (int form = 0; form < ALL_FORMS; form++) {
        now("fork, %s", forms[form].name);
        forks_in_the_middle_of(form, false);
    }
}

/* Process 1 of a container forks process 1 of another one: getpid() returns the same number in
 * both. */
static void a_fork_with_an_equal_pid_is_detected(void)
{
#ifdef __linux__
    for (int form = 0; form < ALL_FORMS; form++) {
        now("fork into a PID namespace, %s", forms[form].name);
        pid_t outside = forked();
        if (outside == 0) {
            /* a process whose children are in another namespace cannot create threads */
            setenv("HOLDALL_THREADS", "1", 1);
            if (unshare(CLONE_NEWPID) != 0)
                _exit(NOT_POSSIBLE);
            pid_t first = forked();
            if (first == 0) {
                alarm(HANGS);
                EQUAL(getpid(), 1);
                forks_in_the_middle_of(form, true);
                _exit(0);
            }
            check_child(first, 0);
            _exit(0);
        }
        int status = 0;
        CHECK(waitpid(outside, &status, 0) == outside && WIFEXITED(status));
        if (WEXITSTATUS(status) == NOT_POSSIBLE) {
            printf("skipped: PID namespaces, which this user may not make\n");
            return;
        }
        EQUAL(WEXITSTATUS(status), 0);
        remove_all();
    }
#endif
}

/* ---- files that change under an open handle ---------------------------------------------------*/

typedef enum { CUT, EMPTIED, REMOVED, REPLACED, ACTS } act;
static const char *const acts[] = {"cut", "emptied", "removed", "replaced"};

/* The change to each file, as a global because nftw() takes no context. */
static act now_done;

static int drop_all(const char *path, const struct stat *s, int type, struct FTW *where)
{
    (void)s, (void)type, (void)where;
    return remove(path);
}

static int act_on(const char *path, const struct stat *s, int type, struct FTW *where)
{
    (void)where;
    if (type != FTW_F)
        return 0;
    return now_done == REMOVED ? unlink(path)
                               : truncate(path, now_done == CUT ? s->st_size / 2 : 0);
}

/* Replaces it by another container, with the files beside it. */
static void replace(int form)
{
    static const char *const beside[] = {"", "limits.", "checksums."};
    char other[64], from[64], to[64];
    snprintf(other, sizeof other, "other-%s", forms[form].name);
    add(form, in_tmp(other), true, 0, NEW - 1);
    for (int i = 0; i < 3; i++) {
        snprintf(from, sizeof from, "%s%s", beside[i], other);
        snprintf(to, sizeof to, "%s%s", beside[i], forms[form].name);
        if (access(in_tmp(from), F_OK) == 0)
            CHECK(rename(in_tmp(to), in_tmp("away")) == 0 &&
                  rename(in_tmp(from), in_tmp(to)) == 0 &&
                  nftw(in_tmp("away"), drop_all, 16, FTW_DEPTH | FTW_PHYS) == 0);
    }
}

static void changed_files_under_open_handles_are_errors(void)
{
    int right = 0, refused = 0;
    for (int form = 0; form < FORMS; form++)
        for (act a = CUT; a < ACTS; a++) {
            now("%s, %s", acts[a], forms[form].name);
            const char *path = made(form, OLD);
            reader r;
            writer w;
            int32_t got[ROWS];
            uint64_t n = 0;
            GAVE(HOLDALL_OK, open_reader(form, path, &r));
            GAVE(HOLDALL_OK, open_writer_of(form, path, false, &w));
            now_done = a;
            if (a == REPLACED)
                replace(form);
            else
                CHECK(nftw(path, act_on, 16, FTW_PHYS) == 0);
            if (read_all(&r, got, &n) == HOLDALL_OK) {
                EQUAL(n, OLD);
                check_rows(form, got, n);
                right++;
            } else {
                CHECK(err.status < 0 && err.message[0] != '\0');
                refused++;
            }
            close_reader(&r);
            /* a change is refused, or present */
            bool committed = append(&w, OLD, NEW - 2 - OLD) == HOLDALL_OK &&
                             commit(&w) == HOLDALL_OK;
            close_writer(&w);
            if (committed)
                EQUAL(look(form, path), NEW - 2);
            else if (a == REPLACED)
                EQUAL(look(form, path), NEW - 1);
        }
    printf("files changed beneath: %d reads right, %d refused\n", right, refused);
    CHECK(right > 0 && refused > 0);
}

int main(void)
{
    RUN(read_only_folders_are_errors);
    RUN(few_file_descriptors_are_enough);
#ifdef __linux__
    RUN(full_file_systems_are_errors);
#endif
    RUN(writers_race_and_readers_read);
    RUN(a_fork_during_a_change_is_harmless);
    RUN(a_fork_with_an_equal_pid_is_detected);
    RUN(changed_files_under_open_handles_are_errors);
    remove_all();
    return 0;
}
