/* The cost of the library before its first operation: loaded by name, as by a program that is not
 * linked with it.
 *
 * usage: start LIBRARY BAG load           seconds of loading, of the first call, of opening a bag
 *                                         for the first and for the second time
 *        start LIBRARY BAG calls TIMES    seconds of a call of holdall_bag_record_count and of an
 *                                         empty C function */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

static void *library;

static void *function(const char *name)
{
    void *f = dlsym(library, name);
    if (!f)
        die(name);
    return f;
}

/* ISO C has no cast from an object to a function. */
#define FIND(f, name) (*(void **)&(f) = function(name))

static uint64_t empty(const holdall_bag *bag)
{
    return (uintptr_t)bag;
}

static double each(uint64_t (*volatile f)(const holdall_bag *bag), const holdall_bag *bag,
                   long times)
{
    uint64_t sum = 0;
    double start = now();
    for (long i = 0; i < times; i++)
        sum += f(bag);
    sink = sum;
    return (now() - start) / times;
}

int main(int argc, char **argv)
{
    holdall_bag *bag;
    const char *(*version)(void);
    holdall_status (*open_of)(const char *path, const holdall_options *o, holdall_bag **out,
                              holdall_error *e);
    void (*close_of)(holdall_bag *bag);
    uint64_t (*size_of)(const holdall_bag *bag);
    if (argc < 4)
        return 2;
    double start = now();
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    double loaded = now() - start;
    if (!library)
        return fprintf(stderr, "%s\n", dlerror()), 3;
    FIND(version, "holdall_version_text");
    FIND(open_of, "holdall_bag_open");
    FIND(close_of, "holdall_bag_close");
    FIND(size_of, "holdall_bag_record_count");
    start = now();
    sink = version()[0];
    double called = now() - start, opened[2];
    for (int i = 0; i < 2; i++) {
        start = now();
        if (open_of(argv[2], NULL, &bag, &err) != HOLDALL_OK)
            return fprintf(stderr, "%s\n", err.message), 3;
        opened[i] = now() - start;
        if (i == 0)
            close_of(bag);
    }
    if (!strcmp(argv[3], "load"))
        printf("%.9g %.9g %.9g %.9g\n", loaded, called, opened[0], opened[1]);
    else if (argc == 5)
        printf("%.9g %.9g\n", each(size_of, bag, atol(argv[4])), each(empty, bag, atol(argv[4])));
    close_of(bag);
    return 0;
}
