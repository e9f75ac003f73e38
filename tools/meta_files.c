/*
 * Files that others have put beside those of a dataset, in its folder `meta` or that of a column: a copy has no place for them that
 * is known here, so it is not made as if they were nothing.
 */
#define _POSIX_C_SOURCE 200809L

#include "convert.h"
#include "report.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_known(const char *name) {
    static const char *const known[] = {"sizes", "storage", "attributes", ".", ".."};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i]) == 0) return true;
    }
    return strstr(name, ".holdall-") != NULL; /* of a change that was cut off */
}

static void put_path(struct text *text, const char *folder, const char *name) {
    text_words(text, folder);
    if (*folder) text_char(text, '/');
    text_words(text, name);
}

/* Adds the names of unknown files in a `meta` below this folder of the dataset. False: it cannot be told. */
static bool look(struct text *found, const char *path, const char *folder) {
    struct text meta = {.bytes = NULL}, below = {.bytes = NULL};
    put_path(&below, folder, "meta");
    text_char(&below, '\0');
    put_path(&meta, path, below.failed ? "" : below.bytes);
    char *where = text_take(&meta);
    DIR *entries = where ? opendir(where) : NULL;
    bool good = where && (entries || errno == ENOENT || errno == ENOTDIR);
    if (where && !good) complain_errno(where);
    for (struct dirent *entry; entries && !below.failed && (entry = readdir(entries));) {
        if (is_known(entry->d_name)) continue;
        if (found->n > 0) text_words(found, ", ");
        put_path(found, below.bytes, entry->d_name);
    }
    if (entries) closedir(entries);
    free(where);
    text_free(&below);
    return good;
}

bool refuse_meta_files(const char *path) {
    struct text found = {.bytes = NULL};
    DIR *entries = opendir(path);
    bool good = look(&found, path, "");
    for (struct dirent *entry; entries && good && (entry = readdir(entries));) {
        if (entry->d_name[0] != '.') good = look(&found, path, entry->d_name);
    }
    if (entries) closedir(entries);
    bool any = found.n > 0;
    char *names = text_take(&found);
    if (good && names && any) {
        complain("%s: %s: of these files convert knows nothing, and the copy would not have them; move them away first", path, names);
    }
    free(names);
    return good && names && !any;
}
