/* holdall_verify() beside a process that commits continuously: it reports that all is intact, or
 * that the container changes too often to be verified. It reports no fault in an intact
 * container. */
#include "child.h"
#include "formats.h"

enum { AT_ONCE = 50 };

static int form, commits = 20;

static void work(const char *path)
{
    writer w;
    uint64_t n = OLD;
    GAVE(HOLDALL_OK, open_writer_of(form, path, false, &w));
    for (int k = 0; k < commits; k++) {
        GAVE(HOLDALL_OK, append(&w, n % OLD, AT_ONCE));
        n += AT_ONCE;
        if (k % 3 == 0)
            GAVE(HOLDALL_OK, rewrite(&w));
        GAVE(HOLDALL_OK, commit(&w));
    }
    close_writer(&w);
}

static int no_fault(void *ctx, const char *part, const holdall_error *fault)
{
    (void)ctx;
    printf("%s: %s: status %d: %s\n", forms[form].name, part, fault->status, fault->message);
    return 0;
}

/* Returns the number of intact records or chunks; 0 if the container changed too often. */
static uint64_t verified(const char *path, bool may_change)
{
    uint64_t intact = 0, corrupt = 1, unchecked = 1;
    holdall_options *o = form_options(form, forms[form].kind == BAG);
    preset_error();
    holdall_status s = verify_counts(path, o, no_fault, NULL, &intact, &corrupt, &unchecked, &err);
    if (s != HOLDALL_E_BUSY || !may_change)
        GAVE(HOLDALL_OK, s);
    holdall_options_free(o);
    if (s < 0)
        return 0;
    EQUAL(corrupt, 0);
    EQUAL(unchecked, 0);
    CHECK(intact > 0);
    return intact;
}

int main(void)
{
    /* no threads of the library: they would be reported as leaks in a child that inherits them */
    setenv("HOLDALL_THREADS", "1", 1);
    const char *many = getenv("HOLDALL_COMMITS");
    commits = many == NULL ? commits : atoi(many);
    for (form = 0; form < ALL_FORMS; form++) {
        uint64_t intact = 0, all = 0;
        now("%s", forms[form].name);
        const char *path = in_tmp(forms[form].name);
        add(form, path, true, 0, OLD);
        pid_t child = forked();
        if (child == 0) {
            alarm(HANGS);
            work(path);
            _exit(0);
        }
        int status = 0;
        while (waitpid(child, &status, WNOHANG) == 0) {
            intact += verified(path, true) > 0;
            all++;
        }
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        verified(path, false);
        remove_all();
        printf("%s: %" PRIu64 " of %" PRIu64 " times verified beside a writer\n", forms[form].name,
               intact, all);
    }
    return 0;
}
