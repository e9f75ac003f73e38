/* Handles that are closed without a commit, also after a failed write: every file is as the last
 * commit left it, and there are no files beside them. */
#include "child.h"
#include "formats.h"

/* Number of appends: until bytes are written to files, which happens after more than a MiB of
 * records. */
enum { TIMES = 100, TIMES_OF_BAG = 12000, MOST_FILES = 200, LEAST = 4096 };

static struct {
    char name[512];
    off_t size;
} files[MOST_FILES];
static int n_files;
static bool is_recorded;

static int note(const char *path, const struct stat *s, int type, struct FTW *where)
{
    (void)where;
    if (type != FTW_F)
        return 0;
    if (!is_recorded) {
        CHECK(n_files < MOST_FILES);
        snprintf(files[n_files].name, sizeof files[0].name, "%s", path);
        files[n_files++].size = s->st_size;
        return 0;
    }
    for (int i = 0; i < n_files; i++)
        if (strcmp(files[i].name, path) == 0) {
            if (files[i].size != s->st_size)
                printf("%s: %lld bytes, %lld after the commit\n", path, (long long)s->st_size,
                       (long long)files[i].size);
            EQUAL(s->st_size, files[i].size);
            return 0;
        }
    printf("%s is left\n", path);
    CHECK(!"no file is left");
    return 0;
}

static void take_stock(void)
{
    is_recorded = false, n_files = 0;
    CHECK(nftw(in_tmp("."), note, 16, FTW_PHYS) == 0);
    is_recorded = true;
}

static void compare(void)
{
    CHECK(nftw(in_tmp("."), note, 16, FTW_PHYS) == 0);
}

static size_t largest(void)
{
    off_t n = 0;
    for (int i = 0; i < n_files; i++)
        n = files[i].size > n ? files[i].size : n;
    return (size_t)n;
}

static holdall_status append_much(int form, writer *w)
{
    holdall_status s = HOLDALL_OK;
    int times = forms[form].kind == BAG ? TIMES_OF_BAG : TIMES;
    for (int i = 0; i < times && s == HOLDALL_OK; i++)
        s = append(w, OLD, NEW - OLD);
    return s;
}

/* Waits, and exits. */
static void closed(int form, const char *path, bool rewritten)
{
    writer w;
    GAVE(HOLDALL_OK, open_writer_of(form, path, false, &w));
    if (rewritten)
        GAVE(HOLDALL_OK, rewrite(&w));
    GAVE(HOLDALL_OK, append_much(form, &w));
    close_writer(&w);
    compare();
    EQUAL(look(form, path), OLD);
}

/* Maximum length of files: later writes fail, or are partial. */
static void full(int form, const char *path, size_t room)
{
    writer w;
    GAVE(HOLDALL_OK, open_writer_of(form, path, false, &w));
    limit_files(largest() + room);
    holdall_status s = append_much(form, &w);
    s = s < 0 ? s : rewrite(&w);
    bool failed = s < 0 || (s = commit(&w)) < 0;
    close_writer(&w);
    limit_files(RLIM_INFINITY);
    if (failed) {
        EQUAL(s, HOLDALL_E_IO);
        compare();
        EQUAL(look(form, path), OLD);
    }
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    for (int form = 0; form < FORMS; form++) {
        char path[512];
        snprintf(path, sizeof path, "%s", in_tmp(forms[form].name));
        add(form, path, true, 0, OLD);
        take_stock();
        for (int rewritten = 0; rewritten < 2; rewritten++)
            closed(form, path, rewritten);
        static const size_t rooms[] = {0, 100, LEAST};
        for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
            full(form, path, rooms[i]);
            remove_all();
            add(form, path, true, 0, OLD);
            take_stock();
        }
        remove_all();
    }
    TIDY();
    return 0;
}
