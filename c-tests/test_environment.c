/* No call reads any environment variable except HOLDALL_THREADS, which is read once. This program
 * defines its own getenv(), which the library calls. */
#include "check.h"

#include <pthread.h>

extern char **environ;

static int asked_for_threads, asked_for_others;
static bool watching;

char *getenv(const char *name)
{
    if (watching && strcmp(name, "HOLDALL_THREADS") == 0)
        asked_for_threads++;
    else if (watching && strncmp(name, "VALGRIND", 8) != 0)
        asked_for_others++;
    size_t n = strlen(name);
    for (char **e = environ; *e != NULL; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return *e + n + 1;
    return NULL;
}

int main(void)
{
    const uint64_t many = 700;
    char path[1024];
    snprintf(path, sizeof path, "%s", in_tmp("environment.bagz"));
    setenv("HOLDALL_THREADS", "3", 1);
#ifdef __linux__
    int before = entries("/proc/self/task", "");
#endif
    watching = true;
    write_bag(path, HOLDALL_CREATE, NULL, many);
    check_bag(path, NULL, many);
    check_bag(path, WITH(HOLDALL_OPT_THREADS, 2, HOLDALL_OPT_IO, HOLDALL_IO_MAP), many);
    holdall_bag *bag;
    CHECK(holdall_bag_open("no such bag", NULL, &bag, NULL) == HOLDALL_E_MISSING);
    CHECK(repair_counts(path, NULL, NULL, NULL, NULL) == HOLDALL_OK);
    CHECK(verify_counts(path, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == HOLDALL_OK);
    watching = false;
    /* if the library's calls arrive here at all: sanitizers may intercept them */
    if (asked_for_threads > 0 || !slow())
        EQUAL(asked_for_threads, 1);
    EQUAL(asked_for_others, 0);
#ifdef __linux__
    /* the calling thread is one of the three */
    EQUAL(entries("/proc/self/task", "") - before, 2);
#endif
    return 0;
}
