/* The operating system refuses: each call to it that a change and its commit make, in each format, in turn. EIO once, EIO from then on, and
 * a disk that is full from then on, in the middle of a write. Every failure is told; the container is the old or the new one,
 * whole; a commit that said that it was done is; and what was refused works when the system does.
 *
 * The functions of the C library are replaced here, in the program itself: what holdall calls is what it finds here. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "check.h"

#ifdef __linux__

#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>

/* ---- the system --------------------------------------------------------------------------------- */

typedef enum { ONCE, DEAD, FULL, FAULTS } fault;

static struct {
    /* Calls are counted, and the one with this number fails (0: none does). */
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

/* The errno of this call, or 0. A full disk refuses what takes room alone. */
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
    /* the first one that does not fit is written in part, up to a sector */
    off64_t end = (at + (off64_t)(n / 2)) / 512 * 512;
    if (refusal == ENOSPC && os.failures == 1 && end > at)
        return NEXT(pwrite64)(fd, src, (size_t)(end - at), at);
    if (refusal != 0)
        return errno = refusal, -1;
    return NEXT(pwrite64)(fd, src, n, at);
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
    return 0; /* no power fails here */
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

/* ---- containers --------------------------------------------------------------------------------- */

/* Rows of the old state and the new one; those that the change writes anew; those of one more change. */
enum { OLD = 40, NEW = 65, FROM = 5, TO = 20, MORE = 3, ROWS = 100, CHUNK = 16 };

typedef enum { SCHUNK, ARRAY, TABLE, BAG } kind;
static const struct {
    const char *name;
    kind kind;
    holdall_format format;
    int64_t pairs[6];
} forms[] = {
    {"x.blp", SCHUNK, HOLDALL_FORMAT_BLOSCPACK, {HOLDALL_OPT_CHUNK_BYTES, CHUNK * 4}},
    {"x.b2frame", SCHUNK, HOLDALL_FORMAT_B2FRAME, {HOLDALL_OPT_CHUNK_BYTES, CHUNK * 4}},
    {"sparse.b2frame", SCHUNK, HOLDALL_FORMAT_B2FRAME, {HOLDALL_OPT_CHUNK_BYTES, CHUNK * 4, HOLDALL_OPT_SPARSE, 1}},
    {"x.b2nd", ARRAY, HOLDALL_FORMAT_B2ND, {0}},
    {"x.cat", ARRAY, HOLDALL_FORMAT_CATERVA, {0}},
    {"array.bcolz", ARRAY, HOLDALL_FORMAT_BCOLZ, {0}},
    {"array.blz", ARRAY, HOLDALL_FORMAT_BLZ, {0}},
    {"array.paper", ARRAY, HOLDALL_FORMAT_BLZ_PAPER, {HOLDALL_OPT_SUPERCHUNK_CHUNKS, 3}},
    {"table.bcolz", TABLE, HOLDALL_FORMAT_BCOLZ, {0}},
    {"x.bagz", BAG, HOLDALL_FORMAT_BAGZ, {0}},
    {"x.bag", BAG, HOLDALL_FORMAT_BAGZ, {HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE}},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static int32_t rows_of[ROWS];

/* Rows first to first + n, as they are appended, or as they are written anew. */
static const int32_t *rows(uint64_t first, uint64_t n, bool anew)
{
    for (uint64_t i = 0; i < n; i++)
        rows_of[i] = (int32_t)((first + i) * 7) + (anew ? 1000000 : 0);
    return rows_of;
}

/* A handle that writes. */
typedef struct {
    kind kind;
    holdall_schunk *schunk;
    holdall_array *array;
    holdall_table *table;
    holdall_bag_writer *bag;
} writer;

static void close_writer(writer *w)
{
    holdall_schunk_close(w->schunk);
    holdall_array_close(w->array);
    holdall_table_close(w->table);
    holdall_bag_writer_close(w->bag);
}

static holdall_status open_writer_of(int form, const char *path, bool make, writer *w)
{
    static const uint64_t none[] = {0}, chunks[] = {CHUNK};
    static const char *const names[] = {"x", "y"}, *const types[] = {"<i4", "<i4"};
    holdall_options *o = options_of(make || forms[form].kind == BAG ? forms[form].pairs : NULL);
    holdall_format format = forms[form].format;
    holdall_status s;
    *w = (writer){.kind = forms[form].kind};
    preset_error();
    switch (w->kind) {
    case SCHUNK:
        s = make ? holdall_schunk_create(path, HOLDALL_NEW, format, 4, o, &w->schunk, &err)
                 : holdall_schunk_open(path, HOLDALL_APPEND, o, &w->schunk, &err);
        break;
    case ARRAY:
        s = make ? holdall_array_create(path, HOLDALL_NEW, format, "<i4", 1, none, chunks, NULL, o, &w->array, &err)
                 : holdall_array_open(path, HOLDALL_APPEND, o, &w->array, &err);
        break;
    case TABLE:
        s = make ? holdall_table_create(path, HOLDALL_NEW, format, 2, names, types, o, &w->table, &err)
                 : holdall_table_open(path, HOLDALL_APPEND, o, &w->table, &err);
        break;
    default: s = holdall_bag_writer_open(path, make ? HOLDALL_NEW : HOLDALL_APPEND, o, &w->bag, &err);
    }
    holdall_options_free(o);
    return s;
}

static holdall_status append(writer *w, uint64_t first, uint64_t n)
{
    const int32_t *src = rows(first, n, false);
    size_t sizes[] = {n * 4, n * 4};
    holdall_status s = HOLDALL_OK;
    switch (w->kind) {
    case SCHUNK: return holdall_schunk_append(w->schunk, src, n * 4, &err);
    case ARRAY: return holdall_array_append(w->array, 0, n, src, n * 4, &err);
    case TABLE: return holdall_table_append(w->table, n, (const void *[]){src, src}, sizes, &err);
    default:
        for (uint64_t i = 0; i < n && s == HOLDALL_OK; i++)
            s = holdall_bag_writer_append(w->bag, &src[i], 4, &err);
        return s;
    }
}

static holdall_status write_anew(writer *w)
{
    const int32_t *src = rows(FROM, TO - FROM, true);
    static const uint64_t start[] = {FROM}, count[] = {TO - FROM};
    size_t n = (TO - FROM) * 4;
    switch (w->kind) {
    case SCHUNK: return holdall_schunk_write(w->schunk, FROM * 4, src, n, &err);
    case ARRAY: return holdall_array_write(w->array, start, count, NULL, src, NULL, n, &err);
    case TABLE: {
        holdall_status s = holdall_table_write(w->table, 0, FROM, TO - FROM, src, n, &err);
        return s < 0 ? s : holdall_table_write(w->table, 1, FROM, TO - FROM, src, n, &err);
    }
    default: return HOLDALL_OK;
    }
}

static holdall_status commit(writer *w)
{
    preset_error();
    switch (w->kind) {
    case SCHUNK: return holdall_schunk_commit(w->schunk, &err);
    case ARRAY: return holdall_array_commit(w->array, &err);
    case TABLE: return holdall_table_commit(w->table, &err);
    default: return holdall_bag_writer_commit(w->bag, &err);
    }
}

/* All rows of an array or a column, one by one. */
static uint64_t read_array(const holdall_array *a, int32_t *dst)
{
    uint64_t start[] = {0}, n = holdall_array_shape(a)[0];
    CHECK(n <= ROWS);
    OK(holdall_array_read(a, start, &n, NULL, dst, NULL, ROWS * 4, &err));
    return n;
}

/* How many rows there are, which must be those of one state. */
static uint64_t look(int form, const char *path)
{
    int32_t got[ROWS], other[ROWS];
    uint64_t n = 0;
    switch (forms[form].kind) {
    case SCHUNK: {
        holdall_schunk *s;
        OK(holdall_schunk_open(path, HOLDALL_READ, NULL, &s, &err));
        n = holdall_schunk_nbytes(s) / 4;
        CHECK(n <= ROWS);
        OK(holdall_schunk_read(s, 0, got, n * 4, &err));
        holdall_schunk_close(s);
        break;
    }
    case ARRAY: {
        holdall_array *a;
        OK(holdall_array_open(path, HOLDALL_READ, NULL, &a, &err));
        n = read_array(a, got);
        holdall_array_close(a);
        break;
    }
    case TABLE: {
        holdall_table *t;
        OK(holdall_table_open(path, HOLDALL_READ, NULL, &t, &err));
        n = read_array(holdall_table_column(t, 0), got);
        EQUAL(read_array(holdall_table_column(t, 1), other), n);
        CHECK(memcmp(got, other, n * 4) == 0);
        holdall_table_close(t);
        break;
    }
    default: {
        holdall_bag *bag = open_bag(path, forms[form].pairs);
        n = holdall_bag_size(bag);
        CHECK(n <= ROWS);
        for (uint64_t i = 0; i < n; i++) {
            size_t size;
            OK(holdall_bag_read(bag, i, &got[i], 4, &size, &err));
            EQUAL(size, 4);
        }
        holdall_bag_close(bag);
    }
    }
    bool anew = n >= NEW && forms[form].kind != BAG;
    for (uint64_t i = 0; i < n; i++)
        EQUAL(got[i], (int32_t)(i * 7) + (anew && i >= FROM && i < TO ? 1000000 : 0));
    return n;
}

/* ---- what is tried ------------------------------------------------------------------------------ */

static int drop(const char *path, const struct stat *s, int type, struct FTW *where)
{
    (void)s, (void)type;
    return where->level == 0 ? 0 : remove(path);
}

static void add(int form, const char *path, bool make, uint64_t first, uint64_t n)
{
    writer w;
    GAVE(HOLDALL_OK, open_writer_of(form, path, make, &w));
    GAVE(HOLDALL_OK, append(&w, first, n));
    GAVE(HOLDALL_OK, commit(&w));
    close_writer(&w);
}

/* A refusal is told with its errno, or as what it left. */
static bool done(holdall_status s)
{
    if (s == HOLDALL_OK)
        return true;
    CHECK(err.status == s && err.message[0] != '\0');
    CHECK(s == HOLDALL_E_IO || s == HOLDALL_E_STATE);
    CHECK(s != HOLDALL_E_IO || err.os_code == (os.fault == FULL ? ENOSPC : EIO));
    return false;
}

/* Does a commit say that it was done? */
static bool change(int form, const char *path, fault f, long fail_at)
{
    writer w;
    bool committed = false;
    GAVE(HOLDALL_OK, open_writer_of(form, path, false, &w));
    arm(f, fail_at);
    if (done(write_anew(&w)) && done(append(&w, OLD, NEW - OLD))) {
        committed = done(commit(&w));
        /* what failed may be tried again */
        committed = committed || done(commit(&w));
    }
    close_writer(&w);
    os.armed = false;
    return committed;
}

/* One change with one refusal; how many calls it made. */
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
    CHECK(nftw(in_tmp("."), drop, 16, FTW_DEPTH | FTW_PHYS) == 0);
    return os.calls;
}

static void each_call_is_refused(void)
{
    long tried = 0;
    for (int form = 0; form < FORMS; form++)
        for (fault f = ONCE; f < FAULTS; f++) {
            now("%s", forms[form].name);
            long calls = one(form, f, 0);
            for (long n = 1; n <= calls; n += slow() ? 7 : 1, tried++) {
                now("%s, %s, call %ld of %ld", forms[form].name, f == ONCE ? "once" : f == DEAD ? "for good" : "full", n, calls);
                one(form, f, n);
            }
        }
    printf("%ld refusals\n", tried);
}

int main(void)
{
    RUN(each_call_is_refused);
    return 0;
}

#else

int main(void)
{
    return 0;
}

#endif
