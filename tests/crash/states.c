/* usage: states make|change|append FORM PATH   creates a container, changes it, or only appends;
 *                                              reports the commit
 *        states look                           for each line "FORM PATH" of its input, prints
 *                                              "rows N" or "error STATUS MESSAGE"
 *        states forms                          the names of the forms */
#include "formats.h"

static void print_text(const char *text)
{
    CHECK(write(STDOUT_FILENO, text, strlen(text)) == (ssize_t)strlen(text));
}

static int change(int form, const char *path, bool make, bool rewritten)
{
    writer w;
    GAVE(HOLDALL_OK, open_writer_of(form, path, make, &w));
    GAVE(HOLDALL_OK, append(&w, make ? 0 : OLD, make ? OLD : NEW - OLD));
    if (rewritten)
        GAVE(HOLDALL_OK, rewrite(&w));
    GAVE(HOLDALL_OK, commit(&w));
    print_text("committed\n");
    close_writer(&w);
    return 0;
}

static void failure(holdall_status s)
{
    printf("error %d %s\n", (int)s, err.message);
}

/* The result of a reader, and the state after a further writer. */
static void find(int form, const char *path)
{
    int32_t got[ROWS];
    for (int go_on = 0; go_on < 2; go_on++) {
        reader r;
        uint64_t n = 0;
        holdall_status s = open_reader(form, path, &r);
        if (s == HOLDALL_OK) {
            s = read_all(&r, got, &n);
            close_reader(&r);
        }
        if (s < 0) {
            failure(s);
            return;
        }
        bool rewritten = n >= NEW && forms[form].kind != BAG;
        for (uint64_t i = 0; i < n && i < NEW; i++)
            if (got[i] != (int32_t)(i * 7) + (rewritten && i >= FROM && i < TO ? 1000000 : 0)) {
                printf("error 0 row %d of %d is %d\n", (int)i, (int)n, (int)got[i]);
                return;
            }
        if (go_on) {
            printf("rows %d\n", (int)n - MORE);
            return;
        }
        writer w;
        if ((s = open_writer_of(form, path, false, &w)) < 0 || (s = append(&w, n, MORE)) < 0 ||
            (s = commit(&w)) < 0) {
            failure(s);
            return;
        }
        close_writer(&w);
    }
}

int main(int argc, char **argv)
{
    setenv("HOLDALL_THREADS", "1", 1);
    if (argc == 2 && strcmp(argv[1], "forms") == 0)
        for (int form = 0; form < FORMS; form++)
            printf("%s\n", forms[form].name);
    if (argc == 4)
        return change(atoi(argv[2]), argv[3], strcmp(argv[1], "make") == 0,
                      strcmp(argv[1], "change") == 0);
    char path[4096];
    int form;
    while (argc == 2 && strcmp(argv[1], "look") == 0 && scanf("%d %4095[^\n]", &form, path) == 2) {
        find(form, path);
        fflush(stdout);
    }
    return 0;
}
