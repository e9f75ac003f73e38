/* Changes one handle from two threads at the same time, which is not allowed, and returns 0: the
 * thread sanitizer must report it. */
#include <holdall.h>

#include <pthread.h>
#include <stddef.h>

static void *set(void *options)
{
    for (int64_t n = 1; n < 1000; n++)
        if (holdall_options_set(options, HOLDALL_OPT_LEVEL, n % 9, NULL) != HOLDALL_OK)
            return options;
    return NULL;
}

int main(void)
{
    holdall_options *options = holdall_options_new();
    pthread_t other;
    /* once before the threads start: the race then only changes existing values, and does no other
     * harm */
    if (options == NULL || holdall_options_set(options, HOLDALL_OPT_LEVEL, 1, NULL) != HOLDALL_OK ||
        pthread_create(&other, NULL, set, options) != 0 || set(options) != NULL)
        return 1;
    void *failed;
    if (pthread_join(other, &failed) != 0 || failed != NULL)
        return 1;
    holdall_options_free(options);
    return 0;
}
