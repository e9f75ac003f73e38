/* Mixed work on 8 threads, in rounds: containers of each form are created, changed, read, verified,
 * repaired and removed, while all threads read shared handles. Memory and open files must not grow
 * from round to round. Runs a few rounds, or as many as HOLDALL_SECONDS allows. */
#include "formats.h"

#include <pthread.h>
#include <time.h>

enum { THREADS = 8, ROUNDS = 8, LARGE = 1 << 20, READS = 40, AT_ONCE = 8192 };

/* Shared by all threads of a round. */
typedef struct {
    reader forms[FORMS];
    holdall_schunk *large;
    int round;
} shared;

typedef struct {
    const shared *shared;
    int number;
    uint64_t calls;
} worker;

static uint32_t value(uint64_t i)
{
    return (uint32_t)(i / 5 + i % 3 * 1000);
}

static void one_form(worker *w, int form)
{
    char name[64], path[1024];
    snprintf(name, sizeof name, "%d-%s", w->number, forms[form].name);
    snprintf(path, sizeof path, "%s", in_tmp(name));
    uint64_t corrupt = 0, dropped = 0;
    writer change;
    int32_t got[ROWS];
    uint64_t n;
    now("thread %d, %s", w->number, forms[form].name);
    add(form, path, true, 0, OLD);
    GAVE(HOLDALL_OK, open_writer_of(form, path, false, &change));
    GAVE(HOLDALL_OK, rewrite(&change));
    GAVE(HOLDALL_OK, append(&change, OLD, NEW - OLD));
    GAVE(HOLDALL_OK, commit(&change));
    GAVE(HOLDALL_OK, append(&change, NEW, MORE)); /* not committed */
    close_writer(&change);
    EQUAL(look(form, path), NEW);
    if (forms[form].pairs[0] != HOLDALL_OPT_BAG_LIMITS) {
        OK(verify_counts(path, NULL, NULL, NULL, NULL, &corrupt, NULL, &err));
        EQUAL(corrupt, 0);
        OK(repair_counts(path, NULL, NULL, &dropped, &err));
        EQUAL(dropped, 0);
    }
    GAVE(HOLDALL_OK, read_all(&w->shared->forms[form], got, &n));
    EQUAL(n, OLD);
    check_rows(form, got, n);
    CHECK(open_writer_of(form, in_tmp("nothing/there"), false, &change) < 0);
    w->calls += 20;
}

static void one_large(worker *w)
{
    enum { PIECE = 4096 };
    uint32_t got[PIECE];
    for (int i = 0; i < READS; i++) {
        uint64_t at = ((uint64_t)w->shared->round * 7919 + (uint64_t)w->number * 104729 +
                       (uint64_t)i * 65537) %
                      (LARGE - PIECE);
        OK(holdall_schunk_read(w->shared->large, at * 4, got, sizeof got, &err));
        EQUAL(got[0], value(at));
        EQUAL(got[PIECE - 1], value(at + PIECE - 1));
    }
    w->calls += READS;
}

static void *work(void *arg)
{
    worker *w = arg;
    for (int i = 0; i < FORMS; i++)
        one_form(w, (i + w->number) % FORMS);
    one_large(w);
    return NULL;
}

/* ---- shared handles ---------------------------------------------------------------------------*/

static void make_large(const char *path)
{
    uint32_t *items = malloc(LARGE * sizeof *items);
    CHECK(items != NULL);
    for (uint64_t i = 0; i < LARGE; i++)
        items[i] = value(i);
    holdall_schunk *s;
    OK(holdall_schunk_create(path, HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 4, NULL, &s, &err));
    OK(holdall_schunk_append(s, items, LARGE * 4, &err));
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_close(s);
    free(items);
}

static uint64_t round_of(int number)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    shared all = {.round = number};
    uint64_t calls = 0;
    for (int form = 0; form < FORMS; form++) {
        const char *path = in_tmp(forms[form].name);
        add(form, path, true, 0, OLD);
        GAVE(HOLDALL_OK, open_reader(form, path, &all.forms[form]));
    }
    make_large(in_tmp("large.b2frame"));
    OK(holdall_schunk_open(in_tmp("large.b2frame"), HOLDALL_READ, NULL, &all.large, &err));
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){&all, i, 0};
        CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        calls += workers[i].calls;
    }
    for (int form = 0; form < FORMS; form++)
        close_reader(&all.forms[form]);
    holdall_schunk_close(all.large);
    remove_all();
    return calls;
}

/* ---- leftovers --------------------------------------------------------------------------------*/

/* Returns the resident memory in kilobytes; 0 if the system does not report it. */
static long resident(void)
{
    long pages = 0, all;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL)
        return 0;
    CHECK(fscanf(f, "%ld %ld", &all, &pages) == 2);
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int open_files(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    if (d == NULL)
        return 0;
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static double seconds(void)
{
    struct timespec t;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(void)
{
    const char *text = getenv("HOLDALL_SECONDS");
    double began = seconds(), most = text ? atof(text) : 0;
    int rounds = slow() ? 2 : ROUNDS, files = 0;
    uint64_t calls = 0;
    long early = 0, late = 0;
    /* the first third warms up; the peak of the others may exceed its peak by a quarter, the
     * variation of allocators, and by the memory of threads that happen to work at the same time */
    for (int i = 0; i < rounds || seconds() - began < most; i++) {
        calls += round_of(i);
        long now_there = resident();
        bool warm = i >= rounds / 3 && seconds() - began > most / 3;
        if (!warm && now_there > early)
            early = now_there;
        if (warm && now_there > late)
            late = now_there;
        if (i == 0)
            files = open_files();
        EQUAL(open_files(), files);
        if (most > 0 && i % 50 == 0)
            printf("round %d, %.0f s: %ld KB\n", i, seconds() - began, now_there), fflush(stdout);
    }
    printf("%" PRIu64 " calls of %d threads in %.0f s, at most %ld KB in the first third and %ld "
                      "KB after, %d open files\n",
           calls, THREADS, seconds() - began, early, late, files);
    CHECK(slow() || late <= early + early / 4 + AT_ONCE);
    return 0;
}
