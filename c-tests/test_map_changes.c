/* Files that another process changes while they are mapped here: a call returns an error or other
 * content, and does no harm. Decoders must read from a copy, because C decoders read their input
 * more than once. */
#include "child.h"
#include "formats.h"

#include <fcntl.h>

enum { READS = 100, LARGE = 20000 };

static char names[64][512];
static int files;

static int note(const char *path, const struct stat *s, int type, struct FTW *where)
{
    (void)s, (void)where;
    if (type == FTW_F) {
        CHECK(files < 64);
        snprintf(names[files++], sizeof names[0], "%s", path);
    }
    return 0;
}

/* Writes random bytes until it is killed; the lengths of the files do not change. */
static void damage(void)
{
    uint64_t seed = 1;
    int fds[64];
    for (int i = 0; i < files; i++)
        fds[i] = open(names[i], O_RDWR);
    for (;;) {
        for (int i = 0; i < files; i++) {
            struct stat s;
            if (fds[i] < 0 || fstat(fds[i], &s) != 0 || s.st_size == 0)
                continue;
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            off_t at = (off_t)((seed >> 20) % (uint64_t)s.st_size);
            uint8_t was, now = (uint8_t)(seed >> 12);
            if (pread(fds[i], &was, 1, at) == 1 && pwrite(fds[i], &now, 1, at) == 1)
                (void)!pwrite(fds[i], &was, 1, at);
        }
    }
}

/* Text that codecs can compress. */
static uint8_t content[LARGE * 4], got[2 * sizeof content];

static void write_more(int form, const char *path)
{
    writer w;
    GAVE(HOLDALL_OK, open_writer_of(form, path, true, &w));
    holdall_status s = HOLDALL_OK;
    switch (forms[form].kind) {
    case SCHUNK: s = holdall_schunk_append(w.schunk, content, sizeof content, &err); break;
    case ARRAY: s = holdall_array_append(w.array, 0, LARGE, content, sizeof content, &err); break;
    case TABLE:
        s = holdall_table_append(w.table, LARGE, (const void *[]){content, content},
                                 (size_t[]){sizeof content, sizeof content}, &err);
        break;
    default:
        for (size_t at = 0, n = 1; at < sizeof content && s == HOLDALL_OK;
             at += n, n = n % 4000 * 2 + 1)
            s = holdall_bag_writer_append(w.bag, content + at,
                                          n < sizeof content - at ? n : sizeof content - at, &err);
    }
    GAVE(HOLDALL_OK, s);
    GAVE(HOLDALL_OK, commit(&w));
    close_writer(&w);
}

static void read_array_of(const holdall_array *a)
{
    uint64_t n = holdall_array_shape(a)[0], one = 1;
    if (n > LARGE)
        return;
    (void)!holdall_array_read(a, (const uint64_t[]){0}, &n, NULL, got, sizeof got, NULL, &err);
    for (uint64_t at = 3; at < n; at = at * 2 + 1)
        (void)!holdall_array_read(a, &at, &one, NULL, got, sizeof got, NULL, &err);
}

static void read_it(int form, const char *path)
{
    holdall_options *o = form_options(form, forms[form].kind == BAG);
    OK(holdall_options_set(o, HOLDALL_OPT_IO, HOLDALL_IO_MAP, &err));
    reader r = {.kind = forms[form].kind};
    switch (r.kind) {
    case SCHUNK:
        if (holdall_schunk_open(path, HOLDALL_READ, o, &r.schunk, &err) >= 0 &&
            holdall_schunk_nbytes(r.schunk) <= sizeof got) {
            (void)!holdall_schunk_read(r.schunk, 0, got, holdall_schunk_nbytes(r.schunk), &err);
            (void)!holdall_schunk_read(r.schunk, 9, got, 9, &err);
        }
        break;
    case ARRAY:
        if (holdall_array_open(path, HOLDALL_READ, o, &r.array, &err) >= 0)
            read_array_of(r.array);
        break;
    case TABLE:
        if (holdall_table_open(path, HOLDALL_READ, o, &r.table, &err) >= 0)
            read_array_of(holdall_table_column(r.table, 0));
        break;
    default:
        if (holdall_bag_open(path, o, &r.bag, &err) >= 0) {
            uint64_t n = holdall_bag_record_count(r.bag), numbers[] = {n / 2, 0, n / 3, n - 1};
            holdall_records *batch;
            size_t size;
            for (uint64_t i = 0; i < n; i++)
                (void)!holdall_bag_read(r.bag, i, got, sizeof got, &size, &err);
            if (holdall_bag_read_range(r.bag, 0, n, &batch, &err) >= 0)
                holdall_records_free(batch);
            if (holdall_bag_read_indices(r.bag, numbers, n > 0 ? 4 : 0, &batch, &err) >= 0)
                holdall_records_free(batch);
        }
    }
    close_reader(&r);
    (void)!verify_counts(path, o, NULL, NULL, NULL, NULL, NULL, &err);
    holdall_options_free(o);
}

int main(void)
{
    /* no threads of the library: they would be reported as leaks in a child that inherits them */
    setenv("HOLDALL_THREADS", "1", 1);
    chunk_rows = 1000;
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (uint8_t)("the slow brown fox jumps over the lazy dog!"[i * i / 7 % 43] +
                               (i % 97 == 0));
    for (int form = 0; form < FORMS; form++) {
        const char *path = in_tmp(forms[form].name);
        now("%s", forms[form].name);
        write_more(form, path);
        files = 0;
        CHECK(nftw(in_tmp("."), note, 16, FTW_PHYS) == 0);
        pid_t child = forked();
        if (child == 0) {
            alarm(HANGS);
            damage();
        }
        for (int k = 0; k < (slow() ? READS / 20 : READS); k++)
            read_it(form, path);
        CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
        remove_all();
    }
    return 0;
}
