/*
 * Plain files: input and output.
 */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "report.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_standard(const char *path) {
    return strcmp(path, "-") == 0;
}

/* ---- standard input ---- */

/* Bytes that standard_peek() has read from a pipe; those from `at` on are still to be read. */
static struct {
    unsigned char bytes[4096];
    size_t at, n;
} peeked;

/* Like read(), but returns peeked bytes of standard input first. */
static ssize_t read_some(int fd, void *dst, size_t n) {
    size_t left = fd == STDIN_FILENO ? peeked.n - peeked.at : 0;
    if (left == 0) return read(fd, dst, n);
    if (n > left) n = left;
    memcpy(dst, peeked.bytes + peeked.at, n);
    peeked.at += n;
    return (ssize_t)n;
}

/* Reads from a pipe or a terminal until so many bytes are there; an error comes again when the input is read. */
static void fill_peeked(size_t n) {
    if (n > sizeof peeked.bytes) n = sizeof peeked.bytes;
    for (ssize_t got = 1; got > 0 && peeked.n < n; peeked.n += got > 0 ? (size_t)got : 0) {
        got = read(STDIN_FILENO, peeked.bytes + peeked.n, n - peeked.n);
    }
}

size_t standard_peek(void *dst, size_t n) {
    off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (at >= 0 && peeked.n == 0) {
        ssize_t got = pread(STDIN_FILENO, dst, n, at);
        return got > 0 ? (size_t)got : 0;
    }
    if (peeked.at == 0) fill_peeked(n);
    size_t left = peeked.n - peeked.at;
    if (n > left) n = left;
    memcpy(dst, peeked.bytes + peeked.at, n);
    return n;
}

/* ---- whole files ---- */

/* Reads to the end into a buffer that grows. */
static bool read_all(int fd, unsigned char **bytes, size_t *n) {
    size_t room = 64 << 10;
    unsigned char *all = malloc(room);
    *n = 0;
    while (all) {
        if (*n == room) {
            unsigned char *larger = room <= SIZE_MAX / 2 ? realloc(all, room *= 2) : NULL;
            if (!larger) break;
            all = larger;
        }
        ssize_t got = read_some(fd, all + *n, room - *n);
        if (got == 0) {
            *bytes = all;
            return true;
        }
        if (got < 0) { /* EINTR too: it is a signal that is to stop us */
            free(all);
            return false;
        }
        *n += (size_t)got;
    }
    free(all);
    errno = ENOMEM;
    return false;
}

bool read_whole_file(const char *path, unsigned char **bytes, size_t *n) {
    bool standard = is_standard(path);
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && read_all(fd, bytes, n);
    if (!good) complain_errno(standard ? "standard input" : path);
    if (fd >= 0 && !standard) close(fd);
    return good;
}

/* ---- input ---- */

/* How long is it, and is it not what is to be written? */
static bool look(struct input *in, const char *out) {
    struct stat from, to;
    if (fstat(in->fd, &from) != 0) return complain_errno(in->name), false;
    if (S_ISREG(from.st_mode)) {
        off_t at = lseek(in->fd, 0, SEEK_CUR); /* a shell may have read some of it */
        if (from.st_size > at) in->total = (uint64_t)(from.st_size - (at > 0 ? at : 0));
    }
    if (stat(out, &to) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino) {
        return complain("%s: it is both what is to be read and what is to be written", out), false;
    }
    return true;
}

bool input_open(struct input *in, const char *path, const char *out) {
    bool standard = is_standard(path);
    *in = (struct input){.name = standard ? "standard input" : path};
    in->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0) return complain_errno(path), false;
    if (look(in, out)) return true;
    input_close(in);
    return false;
}

bool input_read(struct input *in, void *dst, size_t n, size_t *got) {
    for (*got = 0; *got < n;) {
        if (stopped) return false;
        ssize_t now = read_some(in->fd, (char *)dst + *got, n - *got);
        if (now == 0) break;
        if (now < 0 && errno != EINTR) return complain_errno(in->name), false;
        if (now < 0) continue;
        *got += (size_t)now;
        in->done += (uint64_t)now;
    }
    return true;
}

void input_progress(const struct input *in, uint64_t packed) {
    if (in->total > 0) {
        progress_report(NULL, in->done, in->total > in->done ? in->total : in->done);
    } else {
        progress_report(NULL, packed, 0);
    }
}

void input_close(struct input *in) {
    if (in->fd != STDIN_FILENO) close(in->fd);
}

/* ---- output ---- */

static bool refuse_existing(const char *path) {
    return complain("%s: it is there already (--force replaces it)", path), false;
}

/* Creates the temporary file for the output; its name cannot be guessed. */
static bool open_temporary(struct output *out) {
    size_t room = strlen(out->path) + sizeof ".holdall-part-XXXXXX";
    out->temporary = malloc(room);
    if (!out->temporary) return complain("out of memory"), false;
    snprintf(out->temporary, room, "%s.holdall-part-XXXXXX", out->path);
    out->fd = mkstemp(out->temporary);
    if (out->fd < 0) {
        complain_errno(out->path);
        free(out->temporary);
        return false;
    }
    fcntl(out->fd, F_SETFD, FD_CLOEXEC);
    return true;
}

/* The mode, and where it may be the owner, of the file that is replaced; else what the umask leaves. */
static bool set_rights(const struct output *out) {
    struct stat there, own;
    mode_t mask = umask(0), mode = 0666 & ~mask;
    umask(mask);
    if (lstat(out->path, &there) == 0 && S_ISREG(there.st_mode) && fstat(out->fd, &own) == 0) {
        mode = there.st_mode & 0777;
        bool is_given = (own.st_uid == there.st_uid && own.st_gid == there.st_gid) || fchown(out->fd, there.st_uid, there.st_gid) == 0;
        /* another group must not get what the group of that file has */
        if (!is_given && own.st_gid != there.st_gid && fchown(out->fd, (uid_t)-1, there.st_gid) != 0) mode &= ~(mode_t)070;
    }
    return fchmod(out->fd, mode) == 0;
}

/* Makes the name durable; some file systems cannot, and need not. */
static bool sync_folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    char *folder = n == 0 ? strdup(".") : strndup(path, n);
    int fd = folder ? open(folder, O_RDONLY | O_CLOEXEC) : -1;
    bool good = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP);
    if (fd >= 0) close(fd);
    free(folder);
    return good;
}

bool output_open(struct output *out, const char *path, bool replace) {
    struct stat there;
    *out = (struct output){.path = path};
    bool exists = stat(path, &there) == 0;
    if (exists && S_ISREG(there.st_mode)) {
        if (!replace) return refuse_existing(path);
        exists = false;
    }
    if (!exists) return open_temporary(out);
    /* a device or a pipe is written to as it is */
    out->fd = open(path, O_WRONLY | O_CLOEXEC);
    return out->fd >= 0 || (complain_errno(path), false);
}

bool output_write(struct output *out, const void *bytes, size_t n) {
    const char *from = bytes;
    while (n > 0) {
        if (stopped) return false;
        ssize_t now = write(out->fd, from, n);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return complain_errno(out->path), false;
        from += now;
        n -= (size_t)now;
    }
    return true;
}

/* Gives the whole file its name. */
static bool put_in_place(const struct output *out, bool replace) {
    /* link() refuses a name that is taken in one step; some file systems have no links */
    if (!replace) {
        if (link(out->temporary, out->path) == 0) return true; /* and the other name goes */
        if (errno == EEXIST) return refuse_existing(out->path);
    }
    if (rename(out->temporary, out->path) == 0) return true;
    return complain_errno(out->path), false;
}

bool output_close(struct output *out, bool whole, bool replace) {
    bool good = whole;
    if (good && out->temporary && (!set_rights(out) || fsync(out->fd) != 0)) {
        complain_errno(out->path);
        good = false;
    }
    if (close(out->fd) != 0 && good) {
        complain_errno(out->path);
        good = false;
    }
    if (!out->temporary) return good;
    good = good && put_in_place(out, replace);
    if (good && !sync_folder_of(out->path)) good = (complain_errno(out->path), false);
    unlink(out->temporary); /* not there any more where it was renamed */
    free(out->temporary);
    return good;
}
