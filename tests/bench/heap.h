/* Measures the peak of bytes allocated by malloc, exactly. Numbers of the system are off by some
 * hundred kilobytes, because each processor counts its pages separately for a while. For glibc. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t n), *__libc_calloc(size_t k, size_t n),
    *__libc_realloc(void *p, size_t n), *__libc_memalign(size_t a, size_t n);
extern void __libc_free(void *p);

static atomic_long held, most, before;

/* Starts counting: the peak above the current allocation. */
static inline void count_from_here(void)
{
    before = held;
    most = held;
}

static inline long most_beyond(void)
{
    return most - before;
}

static inline void *taken(void *p)
{
    long n = p ? (long)malloc_usable_size(p) : 0, now = atomic_fetch_add(&held, n) + n, was = most;
    while (was < now && !atomic_compare_exchange_weak(&most, &was, now))
        ;
    return p;
}

static inline void given(void *p)
{
    held -= p ? (long)malloc_usable_size(p) : 0;
}

void *malloc(size_t n)
{
    return taken(__libc_malloc(n));
}

void *calloc(size_t k, size_t n)
{
    return taken(__libc_calloc(k, n));
}

void *realloc(void *p, size_t n)
{
    long old = p ? (long)malloc_usable_size(p) : 0;
    void *new = __libc_realloc(p, n);
    held -= new || !n ? old : 0;
    return taken(new);
}

void *memalign(size_t a, size_t n)
{
    return taken(__libc_memalign(a, n));
}

void *aligned_alloc(size_t a, size_t n)
{
    return memalign(a, n);
}

int posix_memalign(void **to, size_t a, size_t n)
{
    void *p = memalign(a, n);
    *to = p ? p : *to;
    return p ? 0 : 12;
}

void free(void *p)
{
    given(p);
    __libc_free(p);
}
