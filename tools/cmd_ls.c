/*
 * holdall ls: the datasets below a folder, and their columns, as a tree.
 */
#define _POSIX_C_SOURCE 200809L

#include "arrays.h"
#include "dataset.h"
#include "report.h"
#include "text.h"
#include "tool.h"
#include "identify.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Folders in folders: more than this are not looked into. */
enum { DEPTH = 64 };

struct walk {
    const struct args *args;
    bool failed, first; /* `first`: nothing has been printed yet */
};

/* ---- lines ---- */

static void put_shape_of(const holdall_array *array, const char *open, const char *close) {
    put_text("%s", open);
    for (uint32_t d = 0; d < holdall_array_ndim(array); d++) {
        put_text("%s%" PRIu64, d ? ", " : "", holdall_array_shape(array)[d]);
    }
    put_text("%s", close);
}

static void put_array_facts(const holdall_array *array, bool json) {
    const char *dtype = holdall_array_dtype(array);
    if (json) {
        put_text(", \"dtype\": ");
        put_json(dtype, strlen(dtype));
        put_shape_of(array, ", \"shape\": [", "]");
    } else {
        put_text("  ");
        put_printable(dtype);
        put_shape_of(array, " [", "]");
    }
}

static void put_columns(const struct walk *walk, const holdall_table *table) {
    bool json = walk->args->json;
    if (json) put_text(", \"columns\": [");
    for (uint32_t i = 0; i < holdall_table_column_count(table); i++) {
        const char *name = holdall_table_column_name(table, i);
        if (json) {
            put_text("%s{\"name\": ", i ? ", " : "");
            put_json(name, strlen(name));
            put_array_facts(holdall_table_column(table, i), true);
            put_text("}");
        } else {
            put_text("  ");
            put_printable(name);
            put_array_facts(holdall_table_column(table, i), false);
            put_text("\n");
        }
    }
    if (json) put_text("]");
}

/* Its path as printed: text output is relative to the given folder. */
static void put_name(struct walk *walk, const char *path, const char *name) {
    if (walk->args->json) {
        put_text("%s\n  {\"path\": ", walk->first ? "" : ",");
        put_json(path, strlen(path));
    } else {
        put_printable(name);
    }
    walk->first = false;
}

static void put_dataset(struct walk *walk, const struct dataset *d, const char *name) {
    const char *kind = kind_name(d->table ? HOLDALL_KIND_TABLE : HOLDALL_KIND_ARRAY);
    bool json = walk->args->json;
    put_name(walk, d->path, name);
    put_text(json ? ", \"format\": \"%s\", \"kind\": \"%s\"" : "  %s %s", format_name(d->format), kind);
    if (d->table && json) {
        put_text(", \"rows\": %" PRIu64, holdall_table_row_count(d->table));
    } else if (d->table) {
        put_text("  %" PRIu64 " row%s\n", holdall_table_row_count(d->table), plural(holdall_table_row_count(d->table)));
    } else {
        put_array_facts(d->array, json);
    }
    if (d->table) put_columns(walk, d->table);
    put_text(json ? "}" : d->table ? "" : "\n");
}

/* A superchunk, in a file or a frame, perhaps with an array in it. */
static void put_superchunk(struct walk *walk, const char *path, const char *name, holdall_format format) {
    holdall_array *array = NULL;
    put_name(walk, path, name);
    bool found = format != HOLDALL_FORMAT_B2FRAME && holdall_array_open(path, HOLDALL_READ, NULL, &array, NULL) >= 0;
    bool json = walk->args->json;
    put_text(json ? ", \"format\": \"%s\", \"kind\": \"%s\"" : "  %s %s", format_name(format), found ? "array" : "schunk");
    if (found) put_array_facts(array, json);
    put_text(json ? "}" : "\n");
    holdall_array_close(array);
}

/* ---- the walk ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder, sorted, to be freed by the caller; hidden ones are left out. False: it cannot be read, which is reported. */
static bool names_in(const char *path, char ***names, size_t *count) {
    DIR *entries = opendir(path);
    *names = NULL;
    *count = 0;
    if (!entries) return complain_errno(path), false;
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.') continue;
        if ((*count & (*count - 1)) == 0) { /* a power of two fills it */
            char **larger = realloc(*names, (*count ? 2 * *count : 1) * sizeof *larger);
            if (!larger) break;
            *names = larger;
        }
        if (!((*names)[*count] = strdup(entry->d_name))) break;
        ++*count;
    }
    closedir(entries);
    if (*count > 0) qsort(*names, *count, sizeof **names, by_name);
    return true;
}

static char *joined(const char *folder, const char *name) {
    struct text path = {.bytes = NULL};
    text_string(&path, folder);
    if (*folder && !ends_in(folder, "/")) text_char(&path, '/');
    text_string(&path, name);
    return text_take(&path);
}

static void visit(struct walk *walk, const char *path, const char *shown, int depth);

static void look_into(struct walk *walk, const char *path, const char *shown, int depth) {
    char **names;
    size_t count;
    walk->failed |= !names_in(path, &names, &count);
    for (size_t i = 0; i < count; i++) {
        char *below = joined(path, names[i]), *name = joined(shown, names[i]);
        if (below && name) visit(walk, below, name, depth + 1);
        free(below);
        free(name);
        free(names[i]);
    }
    free(names);
}

/* A folder that is a dataset, one that may hold some, or a file that may be an array. Links are not followed. */
static void visit(struct walk *walk, const char *path, const char *shown, int depth) {
    struct stat about;
    struct dataset dataset;
    if ((depth == 0 ? stat : lstat)(path, &about) != 0) {
        walk->failed = true;
        complain_errno(path);
        return;
    }
    if (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode)) return;
    holdall_format format = format_at(path);
    if (is_frame(format) || (S_ISREG(about.st_mode) && format == HOLDALL_FORMAT_BLOSCPACK)) {
        put_superchunk(walk, path, shown, format);
    } else if (S_ISDIR(about.st_mode) && container_of(path) == DATASET) {
        bool good = dataset_read(&dataset, path, walk->args);
        if (good) put_dataset(walk, &dataset, shown);
        walk->failed |= !good;
        dataset_close(&dataset);
    } else if (S_ISDIR(about.st_mode) && depth < DEPTH) {
        look_into(walk, path, shown, depth);
    }
}

int cmd_ls(const struct args *args) {
    struct walk walk = {.args = args, .first = true};
    const char *path = args->operands[0];
    if (args->json) put_text("[");
    struct stat about;
    bool folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode) && container_of(path) == BAG; /* of others */
    visit(&walk, path, folder ? "" : path, 0);
    if (args->json) put_text("%s]\n", walk.first ? "" : "\n");
    return put_end(walk.failed ? FAILED : DONE);
}
