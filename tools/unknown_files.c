/*
 * Files of others in the folder of a dataset: a copy would not have them, so convert refuses it and names them.
 *
 * Hidden files, and locks and journals of the library, are left out.
 */
#define _POSIX_C_SOURCE 200809L

#include "convert.h"
#include "report.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Role of a file or folder in a dataset: unknown, a file of it, or a folder, named for its content. */
enum part { UNKNOWN, OWN_FILE, ARRAY, TABLE, COLUMNS, CHUNKS, META };

struct look {
    const struct dataset *dataset;
    struct text found; /* the names, with commas between them */
    bool failed;       /* a folder cannot be read, which has been reported */
};

/* ---- names ---- */

static bool is_one_of(const char *name, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, names[i]) == 0) return true;
    }
    return false;
}

/* "__0.blp", or "__1__.bin" in the BLZ RFC layout. */
static bool is_chunk(const char *name) {
    if (strncmp(name, "__", 2) != 0) return false;
    size_t digits = strspn(name + 2, "0123456789");
    const char *rest = name + 2 + digits;
    return digits > 0 && (strcmp(rest, ".blp") == 0 || strcmp(rest, "__.bin") == 0);
}

static bool is_column(const struct look *look, const char *name) {
    const holdall_table *table = look->dataset->table;
    for (uint32_t i = 0; table && i < holdall_table_column_count(table); i++) {
        if (strcmp(name, holdall_table_column_name(table, i)) == 0) return true;
    }
    return false;
}

/* Returns whether a type has a field of this name. */
static bool has_field(const holdall_array *array, const char *name) {
    const char *dtype = array ? holdall_array_dtype(array) : "";
    size_t n = strlen(name);
    for (const char *at = dtype; (at = strstr(at, name)) != NULL; at++) {
        if (at > dtype && (at[-1] == '\'' || at[-1] == '"') && at[n] == at[-1]) return true;
    }
    return false;
}

/* The BLZ RFC layout has a folder for each field of a column. */
static bool is_field(const struct look *look, const char *name) {
    const struct dataset *dataset = look->dataset;
    if (has_field(dataset->array, name)) return true;
    for (uint32_t i = 0; dataset->table && i < holdall_table_column_count(dataset->table); i++) {
        if (has_field(holdall_table_column(dataset->table, i), name)) return true;
    }
    return false;
}

/* In the folder of an array, or of a table in the BLZ RFC layout, which has its columns in `data`. */
static enum part part_of_array(const struct look *look, enum part folder, const char *name) {
    bool columns = look->dataset->table && folder != ARRAY;
    if (strcmp(name, "data") == 0) return columns ? COLUMNS : CHUNKS;
    if (strcmp(name, "meta") == 0) return META;
    return strcmp(name, "__attrs__") == 0 ? OWN_FILE : UNKNOWN;
}

static enum part part_of(const struct look *look, enum part folder, const char *name) {
    static const char *const meta[] = {"sizes", "storage", "attributes"}, *const beside[] = {"__rootdirs__", "__attrs__"};
    bool blz_rfc = look->dataset->format == HOLDALL_FORMAT_BLZ_RFC;
    if (name[0] == '.' || strstr(name, ".holdall-")) return OWN_FILE;
    if (folder == META) return is_one_of(name, meta, sizeof meta / sizeof *meta) ? OWN_FILE : UNKNOWN;
    if (folder == CHUNKS) return is_chunk(name) ? OWN_FILE : blz_rfc && is_field(look, name) ? CHUNKS : UNKNOWN;
    if (folder == COLUMNS) return is_column(look, name) ? CHUNKS : UNKNOWN;
    if (folder == ARRAY || blz_rfc) return part_of_array(look, folder, name);
    if (is_one_of(name, beside, sizeof beside / sizeof *beside)) return OWN_FILE;
    return is_column(look, name) ? ARRAY : UNKNOWN;
}

/* ---- folders ---- */

/* "FOLDER/NAME", or NAME alone, to be freed by the caller; NULL: no memory, which has been reported. */
static char *joined(const char *folder, const char *name) {
    struct text text = {.bytes = NULL};
    text_string(&text, folder);
    if (*folder && *name) text_char(&text, '/');
    text_string(&text, name);
    return text_take(&text);
}

/* Adds the unknown names in a folder, which is `below` that of the dataset, and in those in it. */
static void look_into(struct look *look, const char *below, enum part folder) {
    char *path = joined(look->dataset->path, below);
    DIR *entries = path ? opendir(path) : NULL;
    look->failed |= !path || (!entries && errno != ENOTDIR);
    if (path && !entries && errno != ENOTDIR) complain_errno(path);
    for (struct dirent *entry; entries && !look->failed && (entry = readdir(entries));) {
        enum part part = part_of(look, folder, entry->d_name);
        char *name = part == OWN_FILE ? NULL : joined(below, entry->d_name);
        look->failed |= part != OWN_FILE && !name;
        if (name && part == UNKNOWN) {
            if (look->found.n > 0) text_string(&look->found, ", ");
            text_string(&look->found, name);
        } else if (name) {
            look_into(look, name, part);
        }
        free(name);
    }
    if (entries) closedir(entries);
    free(path);
}

bool refuse_unknown_files(const struct dataset *dataset) {
    struct look look = {.dataset = dataset};
    if (is_frame(dataset->format) || dataset->format == HOLDALL_FORMAT_BLOSCPACK) return true;
    look_into(&look, "", dataset->table ? TABLE : ARRAY);
    bool any = look.found.n > 0;
    char *names = text_take(&look.found);
    if (!look.failed && names && any) {
        complain("%s: %s: of these files convert knows nothing, and the copy would not have them; move them away first",
                 dataset->path, names);
    }
    free(names);
    return !look.failed && names && !any;
}
