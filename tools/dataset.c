/*
 * Open datasets.
 */
#include "dataset.h"
#include "arrays.h"
#include "json.h"
#include "msgpack.h"
#include "options.h"
#include "report.h"
#include "identify.h"

#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

static holdall_options *dataset_options(const struct args *args) {
    holdall_options *options = reader_options(args);
    if (!options || !args->skip_damaged || set_option(options, HOLDALL_OPT_SKIP_DAMAGED, 1)) return options;
    holdall_options_free(options);
    return NULL;
}

bool is_frame(holdall_format format) {
    return format == HOLDALL_FORMAT_B2ND || format == HOLDALL_FORMAT_CATERVA || format == HOLDALL_FORMAT_B2FRAME;
}

bool has_objects(const holdall_array *array) {
    return holdall_array_itemsize(array) == 0 && strcmp(holdall_array_dtype(array), "|O") == 0;
}

static bool open_there(struct dataset *dataset, const struct args *args, holdall_mode mode, const holdall_options *options) {
    holdall_kind kind;
    holdall_error error;
    const char *path = dataset->path;
    holdall_status status = identify_there(args, path, &dataset->format, &kind, &error);
    if (status >= 0 && kind == HOLDALL_KIND_TABLE) {
        status = holdall_table_open(path, mode, options, &dataset->table, &error);
    } else if (status >= 0) {
        status = holdall_array_open(path, mode, options, &dataset->array, &error);
    }
    if (status < 0) complain_error(path, &error, "");
    return status >= 0;
}

bool dataset_open(struct dataset *dataset, const char *path, holdall_mode mode, const holdall_options *options) {
    static const struct args plain = {.at = NOT_GIVEN};
    *dataset = (struct dataset){.path = path};
    return open_there(dataset, &plain, mode, options);
}

bool dataset_read(struct dataset *dataset, const char *path, const struct args *args) {
    holdall_options *options = dataset_options(args);
    *dataset = (struct dataset){.path = path, .at = args->at == NOT_GIVEN ? 0 : (uint64_t)args->at};
    bool good = options && open_there(dataset, args, HOLDALL_READ, options);
    holdall_options_free(options);
    return good;
}

void dataset_close(struct dataset *dataset) {
    holdall_table_close(dataset->table);
    holdall_array_close(dataset->array);
}

uint64_t dataset_rows(const struct dataset *d) {
    if (d->table) return holdall_table_row_count(d->table);
    return holdall_array_ndim(d->array) > 0 ? holdall_array_shape(d->array)[0] : 1;
}

/* ---- attributes ---- */

uint32_t dataset_attrs(const struct dataset *d) {
    return d->table ? holdall_table_attr_count(d->table) : holdall_array_attr_count(d->array);
}

const char *dataset_attr_name(const struct dataset *d, uint32_t i) {
    return d->table ? holdall_table_attr_name(d->table, i) : holdall_array_attr_name(d->array, i);
}

char *dataset_attr_stored(const struct dataset *d, const char *name, size_t *n) {
    const void *value = NULL;
    holdall_error error;
    holdall_status status = d->table ? holdall_table_attr_get(d->table, name, &value, n, &error)
                                     : holdall_array_attr_get(d->array, name, &value, n, &error);
    if (status == HOLDALL_NOT_FOUND) return complain("%s: there is no attribute '%s'", d->path, name), NULL;
    if (status < 0) return complain_error(d->path, &error, ""), NULL;
    char *text = malloc(*n + 1);
    if (!text) return complain("out of memory"), NULL;
    if (*n > 0) memcpy(text, value, *n);
    text[*n] = '\0';
    return text;
}

char *stored_to_json(const void *bytes, size_t *n) {
    struct text text = {.bytes = NULL};
    if (!msgpack_to_json(&text, bytes, *n)) {
        text.n = 0;
        hex_to_json(&text, bytes, *n);
    }
    char *json = text_take(&text);
    *n = json ? strlen(json) : 0;
    return json;
}

char *dataset_attr(const struct dataset *d, const char *name, size_t *n) {
    char *stored = dataset_attr_stored(d, name, n);
    if (!stored || !is_frame(d->format)) return stored;
    char *json = stored_to_json(stored, n);
    free(stored);
    return json;
}

static bool attr_put(const struct dataset *d, const char *name, const void *value, size_t n) {
    holdall_error error;
    holdall_status status = d->table ? holdall_table_attr_set(d->table, name, value, n, &error)
                                     : holdall_array_attr_set(d->array, name, value, n, &error);
    return status >= 0 || (complain_error(d->path, &error, ""), false);
}

bool dataset_attr_set(const struct dataset *d, const char *name, const char *value, size_t n, bool stored) {
    struct text packed = {.bytes = NULL};
    if (!value || stored || !is_frame(d->format)) return attr_put(d, name, value, n);
    bool good = msgpack_from_json(&packed, value);
    if (packed.failed) good = (complain("out of memory"), false);
    good = good && attr_put(d, name, packed.bytes, packed.n);
    text_free(&packed);
    return good;
}

bool dataset_commit(const struct dataset *d) {
    holdall_error error;
    holdall_status status = d->table ? holdall_table_commit(d->table, &error) : holdall_array_commit(d->array, &error);
    return status >= 0 || (complain_error(d->path, &error, ""), false);
}

void put_attr(const char *json, size_t n) {
    if (json_is_valid(json, n)) {
        put_bytes(json, n);
    } else {
        put_json(json, n);
    }
}
