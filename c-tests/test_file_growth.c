/* Files that grow under a handle, or are huge before it is opened: no call takes more memory than
 * HOLDALL_OPT_MEMORY_LIMIT and a few megabytes. */
#include "child.h"
#include "formats.h"

enum { LIMIT = 16 << 20, ROOM = 160 };
#define GROWS ((off_t)1 << 30)

/* When a file grows. */
enum { BEFORE_ALL, OPENED, CHANGED, COMMITTED, MOMENTS };

static char base[512], grown[512];
static int form, moment;

static void grow(int now_is)
{
    if (now_is == moment) {
        struct stat s;
        /* a commit may have replaced it by files of other names */
        bool is_there = stat(grown, &s) == 0;
        CHECK(is_there || moment > BEFORE_ALL);
        CHECK(!is_there || truncate(grown, s.st_size + GROWS) == 0);
    }
}

/* An error is fine, except one of memory: the limit must refuse the size first. */
static void refused_or_done(holdall_status s)
{
    CHECK(s != HOLDALL_E_MEMORY && s != HOLDALL_E_INTERNAL);
}

static void write_it(const char *unused)
{
    (void)unused;
    alarm(HANGS);
    memory_limit = LIMIT;
    writer w;
    grow(BEFORE_ALL);
    holdall_status s = open_writer_of(form, base, false, &w);
    refused_or_done(s);
    if (s < 0)
        return;
    grow(OPENED);
    refused_or_done(append(&w, OLD, NEW - OLD));
    refused_or_done(rewrite(&w));
    grow(CHANGED);
    refused_or_done(commit(&w));
    grow(COMMITTED);
    refused_or_done(append(&w, NEW, MORE));
    refused_or_done(commit(&w));
    close_writer(&w);
}

static void read_it(const char *unused)
{
    (void)unused;
    alarm(HANGS);
    memory_limit = LIMIT;
    reader r;
    int32_t got[ROWS];
    uint64_t n = 0;
    grow(BEFORE_ALL);
    holdall_status s = open_reader(form, base, &r);
    refused_or_done(s);
    grow(OPENED);
    if (s >= 0) {
        refused_or_done(read_all(&r, got, &n));
        close_reader(&r);
    }
}

static void check_it(const char *unused)
{
    (void)unused;
    alarm(HANGS);
    memory_limit = LIMIT;
    grow(BEFORE_ALL);
    holdall_options *o = form_options(form, false);
    refused_or_done(verify_counts(base, o, NULL, NULL, NULL, NULL, NULL, &err));
    grow(OPENED);
    refused_or_done(repair_counts(base, o, NULL, NULL, &err));
    OK(holdall_options_set(o, HOLDALL_OPT_SKIP_DAMAGED, 1, &err));
    refused_or_done(repair_counts(base, o, NULL, NULL, &err));
    holdall_options_free(o);
}

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

int main(void)
{
    static const struct {
        const char *name;
        void (*work)(const char *);
        int moments;
    } works[] = {{"written", write_it, MOMENTS},
                 {"read", read_it, CHANGED},
                 {"verified and repaired", check_it, CHANGED}};
    /* no threads of the library: they would be reported as leaks in a child that inherits them */
    setenv("HOLDALL_THREADS", "1", 1);
    if (slow()) {
        printf("skipped: it is about the memory of a process alone\n");
        return 0;
    }
    for (form = 0; form < FORMS; form++) {
        snprintf(base, sizeof base, "%s", in_tmp(forms[form].name));
        files = 1;
        for (int file = 0; file < files; file++) {
            for (int k = 0; k < 3; k++) {
                for (moment = 0; moment < works[k].moments; moment++) {
                    add(form, base, true, 0, OLD);
                    if (file == 0) {
                        files = 0;
                        CHECK(nftw(in_tmp("."), note, 16, FTW_PHYS) == 0);
                        CHECK(files > 0);
                    }
                    memcpy(grown, names[file], sizeof grown);
                    now("%s %s, %s grows at %d", forms[form].name, works[k].name, grown, moment);
                    EQUAL(within(ROOM, works[k].work, NULL), 0);
                    remove_all();
                }
            }
        }
    }
    return 0;
}
