/* The crash kit: storage that keeps its guarantees passes. Violations are found: storage that
 * returns wrong answers, and each sync that is left out. */
#include "folder.h"

#include <holdall_crashkit.h>

/* The mistakes of the storage in these tests. */
typedef enum { NOTHING, STALE_READ, LONG_SIZE, KEEPS_REMOVED } flaw;

static flaw wrong;
static int made, destroyed;

static int64_t wrong_read(void *ctx, const char *name, uint64_t at, void *dst, size_t n)
{
    int64_t got = folder_read_at(ctx, name, at, dst, n);
    if (got > 0 && at > 100)
        *(uint8_t *)dst ^= 1;
    return got;
}

static int64_t wrong_size(void *ctx, const char *name)
{
    int64_t n = folder_size(ctx, name);
    return n > 1000 ? n + 1 : n;
}

static int64_t wrong_remove(void *ctx, const char *name)
{
    return folder_find(ctx, name) != NULL ? 0 : -ENOENT;
}

static void drop(void *ctx)
{
    folder *f = ctx;
    folder_clear(f);
    free(f);
    destroyed++;
}

static int make(void *ctx, holdall_storage_functions *functions)
{
    (void)ctx;
    folder *f = calloc(1, sizeof *f);
    CHECK(f != NULL);
    pthread_mutex_init(&f->lock, NULL);
    *functions = folder_functions(f);
    functions->destroy = drop;
    if (wrong == STALE_READ)
        functions->read_at = wrong_read;
    if (wrong == LONG_SIZE)
        functions->size = wrong_size;
    if (wrong == KEEPS_REMOVED)
        functions->remove = wrong_remove;
    made++;
    return 0;
}

static const holdall_crashkit_storage storage = {NULL, make};

static void print_it(void *ctx, const char *message)
{
    (void)ctx;
    fprintf(stderr, "%s\n", message);
}

static char last_message[4000];

static void store_message(void *ctx, const char *message)
{
    ++*(int *)ctx;
    snprintf(last_message, sizeof last_message, "%s", message);
}

static void all_scenes_pass(void)
{
    size_t n;
    const holdall_crashkit_scene *scenes = holdall_crashkit_scenes(&n);
    uint64_t states = 0;
    CHECK(n > 30);
    for (size_t i = 0; i < n; i++) {
        now("%s", scenes[i].name);
        holdall_crashkit_settings settings = {.states = slow() ? 3 : 0, .told = print_it};
        holdall_crashkit_result result;
        OK(holdall_crashkit_run(&storage, &scenes[i], &settings, &result, &err));
        EQUAL(result.violations, 0);
        CHECK(result.operations > 2 && result.syncs > 0 && result.states > result.operations);
        states += result.states;
    }
    EQUAL(made, destroyed);
    printf("%zu scenes, %" PRIu64 " states\n", n, states);
}

/* If any one sync is left out, each scene reports a violation at least once. */
static void a_missing_sync_is_found(void)
{
    size_t n;
    const holdall_crashkit_scene *scenes = holdall_crashkit_scenes(&n);
    for (size_t i = 0; i < n; i += slow() ? 11 : 1) {
        now("%s", scenes[i].name);
        int reports = 0;
        holdall_crashkit_settings settings = {.states = 6, .told = store_message, .ctx = &reports};
        holdall_crashkit_result result = {.syncs = 1};
        uint64_t violations = 0;
        for (uint32_t k = 1; k <= result.syncs && violations == 0; k++) {
            settings.idle_sync = k;
            OK(holdall_crashkit_run(&storage, &scenes[i], &settings, &result, &err));
            violations += result.violations;
        }
        CHECK(violations > 0);
        EQUAL(reports, violations);
        /* the message names the scene and lists the operations */
        CHECK(strstr(last_message, scenes[i].name) != NULL);
        CHECK(strstr(last_message, ": lost\n") != NULL || strstr(last_message, ": torn\n") != NULL);
    }
}

static void wrong_answers_are_found(void)
{
    static const struct {
        flaw flaw;
        const char *message;
    } cases[] = {
        {STALE_READ, "gave other bytes than were written"},
        {LONG_SIZE, "size of"},
        {KEEPS_REMOVED, "not -ENOENT"},
    };
    size_t n;
    const holdall_crashkit_scene *scenes = holdall_crashkit_scenes(&n);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        bool found = false;
        for (size_t i = 0; i < n && !found; i++) {
            now("flaw %zu, %s", c, scenes[i].name);
            int reports = 0;
            holdall_crashkit_settings settings = {
                .states = 2, .told = store_message, .ctx = &reports};
            holdall_crashkit_result result;
            wrong = NOTHING;
            wrong = cases[c].flaw;
            holdall_status s = holdall_crashkit_run(&storage, &scenes[i], &settings, &result, &err);
            found = reports > 0 && strstr(last_message, cases[c].message) != NULL;
            CHECK(s == HOLDALL_OK ? result.violations == (uint64_t)reports
                                  : err.message[0] != '\0');
        }
        CHECK(found);
    }
    wrong = NOTHING;
    EQUAL(made, destroyed);
}

static int make_none(void *ctx, holdall_storage_functions *functions)
{
    (void)ctx;
    (void)functions;
    return -ENOSPC;
}

static void arguments_are_checked(void)
{
    const holdall_crashkit_storage none = {NULL, make_none};
    holdall_crashkit_result result;
    size_t n;
    const holdall_crashkit_scene *scenes = holdall_crashkit_scenes(&n);
    GAVE(HOLDALL_E_ARGUMENT, holdall_crashkit_run(NULL, scenes, NULL, &result, &err));
    GAVE(HOLDALL_E_ARGUMENT, holdall_crashkit_run(&storage, NULL, NULL, &result, &err));
    GAVE(HOLDALL_E_ARGUMENT, holdall_crashkit_run(&storage, scenes, NULL, NULL, &err));
    GAVE(HOLDALL_E_CALLBACK, holdall_crashkit_run(&none, scenes, NULL, &result, &err));
    EQUAL(err.os_code, ENOSPC);
    CHECK(holdall_crashkit_scenes(NULL) == scenes);
}

int main(void)
{
    RUN(all_scenes_pass);
    RUN(a_missing_sync_is_found);
    RUN(wrong_answers_are_found);
    RUN(arguments_are_checked);
    return 0;
}
