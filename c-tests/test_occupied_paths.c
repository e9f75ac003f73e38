/* A path for a new container that is occupied by something else: an empty folder, a folder with
 * content, a file, a FIFO, a socket, a device. No writer reports that it replaced it, with
 * HOLDALL_REPLACE or without, and it stays as it is. */
#include "formats.h"

#include <sys/socket.h>
#include <sys/un.h>

typedef enum {
    EMPTY_FOLDER,
    FOLDER_WITH_FILE,
    PLAIN_FILE,
    FIFO,
    SOCKET,
    DEVICE,
    OBSTACLES
} obstacle;
static const char *const obstacles[] = {
    "an empty folder", "a folder with a file in it", "a file", "a FIFO", "a socket", "a device"};

static bool is_folder_form(int form)
{
    return forms[form].kind == TABLE || strstr(forms[form].name, "array.") != NULL ||
           strstr(forms[form].name, "sparse") != NULL;
}

/* Returns whether it was created: a device requires privileges. */
static bool create_obstacle(obstacle what, const char *path)
{
    char inside[600];
    switch (what) {
    case FOLDER_WITH_FILE:
    case EMPTY_FOLDER:
        CHECK(mkdir(path, 0755) == 0);
        snprintf(inside, sizeof inside, "%s/note", path);
        if (what == FOLDER_WITH_FILE)
            save(inside, "precious", 8);
        return true;
    case PLAIN_FILE: save(path, "precious", 8); return true;
    case FIFO: CHECK(mkfifo(path, 0600) == 0); return true;
    case SOCKET: {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK(s >= 0);
        snprintf(a.sun_path, sizeof a.sun_path, "%s", "x");
        char here[512], folder[512];
        CHECK(getcwd(here, sizeof here) != NULL);
        snprintf(folder, sizeof folder, "%s", in_tmp("."));
        CHECK(chdir(folder) == 0 && bind(s, (struct sockaddr *)&a, sizeof a) == 0 &&
              rename("x", path) == 0 && chdir(here) == 0);
        close(s);
        return true;
    }
    default: return mknod(path, S_IFCHR | 0600, (dev_t)0x103) == 0;
    }
}

static holdall_status make(int form, const char *path, holdall_mode mode, writer *w)
{
    static const uint64_t none[] = {0}, chunks[] = {CHUNK};
    static const char *const names[] = {"x", "y"}, *const types[] = {"<i4", "<i4"};
    holdall_options *o = form_options(form, true);
    holdall_format format = forms[form].format;
    holdall_status s;
    *w = (writer){.kind = forms[form].kind};
    preset_error();
    switch (w->kind) {
    case SCHUNK: s = holdall_schunk_create(path, mode, format, 4, o, &w->schunk, &err); break;
    case ARRAY:
        s = array_create(path, mode, format, "<i4", 1, none, chunks, NULL, o, &w->array, &err);
        break;
    case TABLE: s = table_create(path, mode, format, 2, names, types, o, &w->table, &err); break;
    default: s = holdall_bag_writer_open(path, mode, o, &w->bag, &err);
    }
    holdall_options_free(o);
    return s;
}

/* The occupied path: that of the container itself, or of a file beside or in it. */
static const char *const paths[] = {"%s",
                                     "limits.%s",
                                     "checksums.%s",
                                     "%s/meta/sizes",
                                     "%s/meta/storage",
                                     "%s/__rootdirs__",
                                     "%s/x/meta/sizes",
                                     "%s/chunks.b2frame"};
enum { PATHS = sizeof paths / sizeof paths[0] };

static void check_obstacle(int form, obstacle what, int where, holdall_mode mode, bool late)
{
    char path[512], name[256], at[512];
    snprintf(path, sizeof path, "%s", in_tmp(forms[form].name));
    snprintf(name, sizeof name, paths[where], forms[form].name);
    snprintf(at, sizeof at, "%s", in_tmp(name));
    writer w;
    /* an empty folder may become a container */
    bool is_taken = what != EMPTY_FOLDER || !is_folder_form(form);
    if (where > 2) {
        if (late || !is_folder_form(form))
            return;
        add(form, path, true, 0, OLD);
        if (!there(at))
            return;
        CHECK(remove(at) == 0);
        is_taken = true;
    }
    if (late)
        GAVE(HOLDALL_OK, make(form, path, mode, &w));
    if (late && is_folder_form(form)) {
        close_writer(&w);
        return;
    }
    if (!create_obstacle(what, at)) {
        if (late)
            close_writer(&w);
        return;
    }
    struct stat before, after;
    CHECK(lstat(at, &before) == 0);
    holdall_status s = late ? HOLDALL_OK : make(form, path, mode, &w);
    bool opened = s >= 0;
    if (opened && (s = append(&w, 0, OLD)) >= 0)
        s = commit(&w);
    if (opened)
        close_writer(&w);
    /* files beside a container belong to it, if they are files */
    bool is_own = where > 0 && what == PLAIN_FILE;
    CHECK(lstat(at, &after) == 0 || is_own);
    if (s < 0 && is_taken && where == 0)
        EQUAL(s, HOLDALL_E_EXISTS);
    CHECK(s >= 0 || !is_own || mode == HOLDALL_CREATE || s == HOLDALL_E_EXISTS || where > 2);
    if (s >= 0) {
        EQUAL(look(form, path), OLD);
        CHECK(!is_taken || is_own || where > 0 || (what == PLAIN_FILE && mode == HOLDALL_REPLACE));
    }
    if (what != PLAIN_FILE && is_taken)
        EQUAL(after.st_ino, before.st_ino);
    TIDY();
    if (what == FOLDER_WITH_FILE) {
        char inside[600];
        snprintf(inside, sizeof inside, "%s/note", at);
        EQUAL(file_size(inside), 8);
    }
}

int main(void)
{
    for (int form = 0; form < FORMS; form++)
        for (int what = 0; what < OBSTACLES; what++)
            for (int where = 0; where < PATHS; where++)
                for (int late = 0; late < 2; late++)
                    for (int replace = 0; replace < 2; replace++) {
                        holdall_mode mode = replace ? HOLDALL_REPLACE : HOLDALL_CREATE;
                        if (getenv("SHOW"))
                            printf("%s: %s at %s%s%s\n", forms[form].name, obstacles[what],
                                   paths[where], late ? ", late" : "",
                                   replace ? ", replaced" : ""),
                                fflush(stdout);
                        check_obstacle(form, (obstacle)what, where, mode, late);
                        remove_all();
                    }
    return 0;
}
