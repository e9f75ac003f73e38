/*
 * Attributes, from here to there.
 */
#include "attrs.h"
#include "json.h"
#include "report.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

static bool fail(const char *path, const holdall_error *error) {
    return complain_error(path, error, ""), false;
}

/* ---- into metadata ---- */

/* The members of an object, without its brackets; what Python calls JSON and is none is left out. */
static bool put_members(struct text *text, const struct dataset *from, const char *path) {
    for (uint32_t i = 0, put = 0; i < dataset_attrs(from); i++) {
        size_t n;
        const char *name = dataset_attr_name(from, i);
        char *value = dataset_attr(from, name, &n);
        if (!value) return false;
        if (json_is_valid(value, n)) {
            if (put++ > 0) text_char(text, ',');
            text_json(text, name, strlen(name));
            text_char(text, ':');
            text_put(text, value, n);
        } else {
            note("%s: attribute '%s' is no JSON, and is not in there", path, name);
        }
        free(value);
    }
    return true;
}

bool attrs_to_metadata(const struct dataset *from, holdall_array *to, const char *path) {
    struct text text = {.bytes = NULL};
    holdall_error error;
    const void *metadata;
    size_t n;
    if (dataset_attrs(from) == 0) return true;
    if (holdall_array_attr_get(to, "", &metadata, &n, &error) < 0) return fail(path, &error);
    while (n > 0 && ((const char *)metadata)[n - 1] != '}') n--;
    text_put(&text, metadata, n > 0 ? n - 1 : 0);
    text_string(&text, ",\"attrs\":{");
    bool good = put_members(&text, from, path);
    text_string(&text, "}}");
    if (good && text.failed) good = (complain("out of memory"), false);
    if (good && holdall_array_attr_set(to, "", text.bytes, text.n, &error) < 0) good = fail(path, &error);
    text_free(&text);
    return good;
}

/* ---- out of metadata ---- */

/* Sets the members of an object but those that make it an array; those of a member "attrs" one by one, too. */
static bool set_members(const char *at, const struct dataset *to, bool inside) {
    static const char *const known[] = {"dtype", "shape", "order", "container"};
    bool good = true;
    at = json_skip_space(at + 1);
    while (good && *at != '}') {
        struct text name = {.bytes = NULL};
        const char *value = json_skip_space(json_skip_space(json_read_string(at, &name)) + 1);
        text_char(&name, '\0');
        at = json_skip_value(value);
        bool skip = false;
        for (size_t i = 0; !inside && !name.failed && i < sizeof known / sizeof *known; i++) skip |= strcmp(name.bytes, known[i]) == 0;
        if (name.failed) {
            good = (complain("out of memory"), false);
        } else if (!inside && *value == '{' && strcmp(name.bytes, "attrs") == 0) {
            good = set_members(value, to, true);
        } else if (!skip) {
            good = dataset_attr_set(to, name.bytes, value, (size_t)(at - value), false);
        }
        text_free(&name);
        at = json_skip_space(at);
        if (*at == ',') at = json_skip_space(at + 1);
    }
    return good;
}

bool attrs_from_metadata(const holdall_array *from, const struct dataset *to) {
    struct text text = {.bytes = NULL};
    holdall_error error;
    const void *metadata;
    size_t n;
    holdall_status status = holdall_array_attr_get(from, "", &metadata, &n, &error);
    if (status == HOLDALL_NOT_FOUND) return true;
    if (status < 0) return fail(to->path, &error);
    text_put(&text, metadata, n);
    char *json = text_take(&text);
    if (!json) return false;
    const char *object = json_skip_space(json);
    bool good = !json_is_valid(json, n) || *object != '{' || set_members(object, to, false);
    free(json);
    return good;
}

/* ---- from dataset to dataset ---- */

bool attrs_copy(const struct dataset *from, const struct dataset *to) {
    bool good = true;
    for (uint32_t i = 0; good && i < dataset_attrs(from); i++) {
        size_t n;
        const char *name = dataset_attr_name(from, i);
        char *value = dataset_attr(from, name, &n);
        if (!value) return false;
        if (is_frame(to->format) && !json_is_valid(value, n)) { /* Python's NaN, say: it becomes text */
            struct text text = {.bytes = NULL};
            text_json(&text, value, n);
            free(value);
            value = text_take(&text);
            if (!value) return false;
            n = strlen(value);
        }
        good = dataset_attr_set(to, name, value, n, false);
        free(value);
    }
    return good;
}

/* ---- columns ---- */

/* A column as a dataset, to be read. */
static struct dataset column_of(const struct dataset *table, uint32_t i) {
    return (struct dataset){.path = table->path, .array = (holdall_array *)holdall_table_column(table->table, i)};
}

bool attrs_copy_columns(const struct dataset *from, holdall_table *to, const char *path) {
    holdall_error error;
    bool good = true;
    for (uint32_t i = 0; i < holdall_table_column_count(from->table); i++) {
        const struct dataset column = column_of(from, i);
        for (uint32_t k = 0; good && k < dataset_attrs(&column); k++) {
            size_t n;
            const char *name = dataset_attr_name(&column, k);
            char *value = dataset_attr(&column, name, &n);
            if (!value) return false;
            good = holdall_table_column_attr_set(to, holdall_table_column_name(to, i), name, value, n, &error) >= 0 || fail(path, &error);
            free(value);
        }
    }
    return good;
}

uint64_t attrs_count(const struct dataset *dataset) {
    uint64_t count = dataset_attrs(dataset);
    for (uint32_t i = 0; i < holdall_table_column_count(dataset->table); i++) {
        const struct dataset column = column_of(dataset, i);
        count += dataset_attrs(&column);
    }
    return count;
}
