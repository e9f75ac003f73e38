/* The crash kit: storage that keeps what it was told passes, and what is wrong is found: storage that gives other answers,
 * and each sync that is left out. */
#include "folder.h"

#include <holdall_crashkit.h>

/* What a storage of these tests does wrong. */
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

static void print_it(void *ctx, const char *words)
{
    (void)ctx;
    fprintf(stderr, "%s\n", words);
}

static char last_words[4000];

static void keep_it(void *ctx, const char *words)
{
    ++*(int *)ctx;
    snprintf(last_words, sizeof last_words, "%s", words);
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

/* With one sync after the other left out, each scene is found wanting at least once. */
static void a_sync_that_is_left_out_is_found(void)
{
    size_t n;
    const holdall_crashkit_scene *scenes = holdall_crashkit_scenes(&n);
    for (size_t i = 0; i < n; i += slow() ? 11 : 1) {
        now("%s", scenes[i].name);
        int told = 0;
        holdall_crashkit_settings settings = {.states = 6, .told = keep_it, .ctx = &told};
        holdall_crashkit_result result = {.syncs = 1};
        uint64_t violations = 0;
        for (uint32_t k = 1; k <= result.syncs && violations == 0; k++) {
            settings.idle_sync = k;
            OK(holdall_crashkit_run(&storage, &scenes[i], &settings, &result, &err));
            violations += result.violations;
        }
        CHECK(violations > 0);
        EQUAL(told, violations);
        /* the words name the scene, and tell the operations */
        CHECK(strstr(last_words, scenes[i].name) != NULL);
        CHECK(strstr(last_words, ": lost\n") != NULL || strstr(last_words, ": torn\n") != NULL);
    }
}

static void wrong_answers_are_found(void)
{
    static const struct {
        flaw flaw;
        const char *words;
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
            int told = 0;
            holdall_crashkit_settings settings = {.states = 2, .told = keep_it, .ctx = &told};
            holdall_crashkit_result result;
            wrong = NOTHING;
            wrong = cases[c].flaw;
            holdall_status s = holdall_crashkit_run(&storage, &scenes[i], &settings, &result, &err);
            found = told > 0 && strstr(last_words, cases[c].words) != NULL;
            CHECK(s == HOLDALL_OK ? result.violations == (uint64_t)told : err.message[0] != '\0');
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

static void arguments(void)
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
    RUN(a_sync_that_is_left_out_is_found);
    RUN(wrong_answers_are_found);
    RUN(arguments);
    return 0;
}
