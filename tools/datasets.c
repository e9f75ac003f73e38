/*
 * holdall info and cat of datasets: folders that are an array or a table.
 */
#include "arrays.h"
#include "json.h"
#include "options.h"
#include "report.h"
#include "slice.h"
#include "tool.h"
#include "words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What is at a path. Where one cannot be opened, the other one is NULL too. */
struct dataset {
    const char *path;
    holdall_format format;
    holdall_table *table; /* NULL: it is an array */
    holdall_array *array;
};

/* ---- opening ---- */

static holdall_options *dataset_options(const struct args *args) {
    holdall_options *options = reader_options(args);
    if (!options || !args->skip_damaged || set_option(options, HOLDALL_OPT_SKIP_DAMAGED, 1)) return options;
    holdall_options_free(options);
    return NULL;
}

holdall_array *dataset_array(const char *path, const struct args *args) {
    holdall_array *array = NULL;
    holdall_error error;
    holdall_options *options = dataset_options(args);
    if (options && holdall_array_open(path, HOLDALL_READ, options, &array, &error) < 0) {
        complain_error(path, &error, error.status == HOLDALL_E_TYPE ? "; a column of it is one: PATH/COLUMN" : "");
    }
    holdall_options_free(options);
    return array;
}

bool has_objects(const holdall_array *array) {
    return holdall_array_itemsize(array) == 0 && strcmp(holdall_array_dtype(array), "|O") == 0;
}

static holdall_table *open_table(const char *path, const struct args *args) {
    holdall_table *table = NULL;
    holdall_error error;
    holdall_options *options = dataset_options(args);
    if (options && holdall_table_open(path, HOLDALL_READ, options, &table, &error) < 0) {
        complain_error(path, &error, "");
    }
    holdall_options_free(options);
    return table;
}

static bool open_dataset(struct dataset *dataset, const char *path, const struct args *args) {
    holdall_kind kind;
    holdall_error error;
    *dataset = (struct dataset){.path = path};
    if (holdall_identify(path, &dataset->format, &kind, &error) < 0) return complain_error(path, &error, ""), false;
    if (kind == HOLDALL_KIND_TABLE) return (dataset->table = open_table(path, args)) != NULL;
    return (dataset->array = dataset_array(path, args)) != NULL;
}

/* ---- facts ---- */

/* The values beside an array or a table, one after the other. */
struct attrs {
    const struct dataset *dataset;
    uint32_t count;
};

static struct attrs attrs_of(const struct dataset *d) {
    return (struct attrs){d, d->table ? holdall_table_attrs(d->table) : holdall_array_attrs(d->array)};
}

static const char *attr_name(const struct attrs *attrs, uint32_t i) {
    const struct dataset *d = attrs->dataset;
    return d->table ? holdall_table_attr_name(d->table, i) : holdall_array_attr_name(d->array, i);
}

/* Its value with a NUL behind it, to be freed; NULL: no memory. */
static char *attr_value(const struct attrs *attrs, uint32_t i, size_t *n) {
    const struct dataset *d = attrs->dataset;
    const char *name = attr_name(attrs, i);
    const void *value = NULL;
    holdall_status status = d->table ? holdall_table_attr_get(d->table, name, &value, n, NULL)
                                     : holdall_array_attr_get(d->array, name, &value, n, NULL);
    if (status != HOLDALL_OK) *n = 0;
    char *text = malloc(*n + 1);
    if (!text) return complain("out of memory"), NULL;
    if (*n > 0) memcpy(text, value, *n);
    text[*n] = '\0';
    return text;
}

static void put_dimensions(const uint64_t *shape, uint32_t ndim) {
    for (uint32_t d = 0; d < ndim; d++) put_text("%s%" PRIu64, d ? ", " : "", shape[d]);
}

static void put_shape(const holdall_array *array) {
    put_dimensions(holdall_array_shape(array), holdall_array_ndim(array));
}

static uint64_t sum_of(const holdall_table *table, uint64_t (*of)(const holdall_array *)) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < holdall_table_columns(table); i++) sum += of(holdall_table_column(table, i));
    return sum;
}

static uint64_t bytes_of(const struct dataset *d, uint64_t (*of)(const holdall_array *)) {
    return d->table ? sum_of(d->table, of) : of(d->array);
}

/* ---- JSON ---- */

static void put_json_text(const char *name, const char *text) {
    put_text("\"%s\": ", name);
    put_json(text, strlen(text));
}

static void put_json_attrs(const struct dataset *d) {
    struct attrs attrs = attrs_of(d);
    put_text(", \"attrs\": {");
    for (uint32_t i = 0; i < attrs.count; i++) {
        size_t n;
        char *text = attr_value(&attrs, i, &n);
        const char *name = attr_name(&attrs, i);
        if (!text) return;
        put_text("%s", i ? ", " : "");
        put_json(name, strlen(name));
        put_text(": ");
        /* Python's NaN is no JSON: text, so that it harms nothing */
        if (json_is_valid(text, n)) {
            put_bytes(text, n);
        } else {
            put_json(text, n);
        }
        free(text);
    }
    put_text("}");
}

static void put_json_array(const holdall_array *array) {
    put_json_text("dtype", holdall_array_dtype(array));
    put_text(", \"shape\": [");
    put_shape(array);
    put_text("], \"chunk\": [");
    put_dimensions(holdall_array_chunkshape(array), holdall_array_ndim(array));
    put_text("]");
}

static void put_json_columns(const holdall_table *table) {
    put_text("\"rows\": %" PRIu64 ", \"columns\": [", holdall_table_rows(table));
    for (uint32_t i = 0; i < holdall_table_columns(table); i++) {
        put_text("%s{", i ? ", " : "");
        put_json_text("name", holdall_table_column_name(table, i));
        put_text(", ");
        put_json_array(holdall_table_column(table, i));
        put_text(", \"rows_stored\": %" PRIu64 "}", holdall_table_column_rows(table, i));
    }
    put_text("]");
}

static void print_json(const struct dataset *d) {
    put_text("{");
    put_json_text("path", d->path);
    put_text(", \"format\": \"%s\", \"kind\": \"%s\"", format_name(d->format),
             kind_name(d->table ? HOLDALL_KIND_TABLE : HOLDALL_KIND_ARRAY));
    put_text(", \"nbytes\": %" PRIu64 ", \"cbytes\": %" PRIu64 ", ", bytes_of(d, holdall_array_nbytes),
             bytes_of(d, holdall_array_cbytes));
    if (d->table) {
        put_json_columns(d->table);
    } else {
        put_json_array(d->array);
    }
    put_json_attrs(d);
    put_text("}\n");
}

/* ---- lines ---- */

static void print_columns(const holdall_table *table) {
    uint64_t rows = holdall_table_rows(table);
    put_text("rows:         %" PRIu64 "\ncolumns:      %" PRIu32 "\n", rows, holdall_table_columns(table));
    for (uint32_t i = 0; i < holdall_table_columns(table); i++) {
        const holdall_array *array = holdall_table_column(table, i);
        put_text("  ");
        put_printable(holdall_table_column_name(table, i));
        put_text(": ");
        put_printable(holdall_array_dtype(array));
        put_text(" [");
        put_shape(array);
        put_text("]");
        uint64_t stored = holdall_table_column_rows(table, i);
        if (stored != rows) put_text(", %" PRIu64 " more rows that other columns lack", stored - rows);
        put_text("\n");
    }
}

static void print_array(const holdall_array *array) {
    put_text("dtype:        ");
    put_printable(holdall_array_dtype(array));
    put_text("\nshape:        ");
    put_shape(array);
    put_text("\nchunk:        ");
    put_dimensions(holdall_array_chunkshape(array), holdall_array_ndim(array));
    put_text("\n");
}

static void print_attrs(const struct dataset *d) {
    struct attrs attrs = attrs_of(d);
    put_text("attributes:%s\n", attrs.count ? "" : "   none");
    for (uint32_t i = 0; i < attrs.count; i++) {
        size_t n;
        char *text = attr_value(&attrs, i, &n);
        if (!text) return;
        put_text("  ");
        put_printable(attr_name(&attrs, i));
        put_text(": ");
        put_printable(text);
        put_text("\n");
        free(text);
    }
}

static void print_lines(const struct dataset *d) {
    put_text("path:         ");
    put_printable(d->path);
    put_text("\nformat:       %s\nkind:         %s\n", format_name(d->format),
             kind_name(d->table ? HOLDALL_KIND_TABLE : HOLDALL_KIND_ARRAY));
    put_text("nbytes:       %" PRIu64 "\n", bytes_of(d, holdall_array_nbytes));
    put_text("cbytes:       %" PRIu64 "\n", bytes_of(d, holdall_array_cbytes));
    if (d->table) {
        print_columns(d->table);
    } else {
        print_array(d->array);
    }
    print_attrs(d);
}

/* ---- the commands ---- */

int dataset_info(const struct args *args) {
    struct dataset dataset;
    bool good = open_dataset(&dataset, args->operands[0], args);
    if (good) (args->json ? print_json : print_lines)(&dataset);
    holdall_table_close(dataset.table);
    holdall_array_close(dataset.array);
    return put_end(good ? DONE : FAILED);
}

/* Python's objects, as it has pickled them, one behind the other: whoever wants to may unpickle them from that. */
static bool print_objects(const struct args *args, const char *path, const holdall_array *array) {
    if (args->format != NOT_GIVEN && args->format != FORMAT_RAW) {
        complain("%s: objects of Python's are printed as they are pickled: --format raw", path);
        return false;
    }
    struct span rows = slice_resolve(&args->slice, holdall_array_shape(array)[0]);
    holdall_error error;
    unsigned char *bytes = NULL;
    bool good = true;
    for (uint64_t i = 0, row = rows.start; good && i < rows.count; i++, row += (uint64_t)rows.step) {
        size_t n;
        good = holdall_array_read_object(array, row, NULL, 0, &n, &error) >= 0;
        free(bytes);
        bytes = good ? malloc(n + 1) : NULL;
        if (good && !bytes) return complain("out of memory"), false;
        good = good && holdall_array_read_object(array, row, bytes, n, &n, &error) >= 0;
        if (!good) complain_error(path, &error, "");
        good = good && put_bytes(bytes, n);
    }
    free(bytes);
    return good;
}

int dataset_cat(const struct args *args) {
    struct source source = {.path = args->operands[0]};
    holdall_array *array = dataset_array(source.path, args);
    bool printed = array && (has_objects(array) ? print_objects(args, source.path, array) : array_print(args, &source, array));
    holdall_array_close(array);
    return put_end(array && (printed || put_failed()) && !source.damaged ? DONE : FAILED);
}
