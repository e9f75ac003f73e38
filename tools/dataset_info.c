/*
 * holdall info of datasets: folders that are an array or a table.
 */
#include "array_info.h"
#include "arrays.h"
#include "dataset.h"
#include "json.h"
#include "report.h"
#include "tool.h"
#include "identify.h"
#include "info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- facts ---- */

static void put_dimensions(const uint64_t *shape, uint32_t ndim) {
    for (uint32_t d = 0; d < ndim; d++) put_text("%s%" PRIu64, d ? ", " : "", shape[d]);
}

static void put_shape(const holdall_array *array) {
    put_dimensions(holdall_array_shape(array), holdall_array_ndim(array));
}

static uint64_t stored_bytes(const holdall_array *array) {
    return info_of_array(array).stored_bytes;
}

static uint64_t sum_of(const holdall_table *table, uint64_t (*of)(const holdall_array *)) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < holdall_table_column_count(table); i++) sum += of(holdall_table_column(table, i));
    return sum;
}

static uint64_t bytes_of(const struct dataset *d, uint64_t (*of)(const holdall_array *)) {
    return d->table ? sum_of(d->table, of) : of(d->array);
}

/* A frame without a shape is a superchunk, and opens as an array of one dimension. */
static holdall_kind kind_of(const struct dataset *d) {
    if (d->format == HOLDALL_FORMAT_B2FRAME) return HOLDALL_KIND_SCHUNK;
    return d->table ? HOLDALL_KIND_TABLE : HOLDALL_KIND_ARRAY;
}

/* ---- JSON ---- */

static void put_json_text(const char *name, const char *text) {
    put_text("\"%s\": ", name);
    put_json(text, strlen(text));
}

static void put_json_attrs(const struct dataset *d) {
    put_text(", \"attrs\": {");
    for (uint32_t i = 0; i < dataset_attrs(d); i++) {
        size_t n;
        const char *name = dataset_attr_name(d, i);
        char *text = dataset_attr(d, name, &n);
        if (!text) return;
        put_text("%s", i ? ", " : "");
        put_json(name, strlen(name));
        put_text(": ");
        put_attr(text, n);
        free(text);
    }
    put_text("}");
}

static void put_json_array(const holdall_array *array) {
    put_json_text("dtype", holdall_array_dtype(array));
    put_text(", \"shape\": [");
    put_shape(array);
    put_text("], \"chunk\": [");
    put_dimensions(info_of_array(array).chunk_shape, holdall_array_ndim(array));
    put_text("]");
}

static void put_json_columns(const holdall_table *table) {
    put_text("\"rows\": %" PRIu64 ", \"columns\": [", holdall_table_row_count(table));
    for (uint32_t i = 0; i < holdall_table_column_count(table); i++) {
        put_text("%s{", i ? ", " : "");
        put_json_text("name", holdall_table_column_name(table, i));
        put_text(", ");
        put_json_array(holdall_table_column(table, i));
        put_text(", \"nbytes\": %" PRIu64, holdall_array_nbytes(holdall_table_column(table, i)));
        put_text(", \"rows_stored\": %" PRIu64 "}", holdall_table_column_row_count(table, i));
    }
    put_text("]");
}

static void print_json(const struct dataset *d) {
    put_text("{");
    put_json_text("path", d->path);
    put_text(", \"format\": \"%s\", \"kind\": \"%s\"", format_name(d->format),
             kind_name(kind_of(d)));
    put_text(", \"nbytes\": %" PRIu64 ", \"cbytes\": %" PRIu64 ", ", bytes_of(d, holdall_array_nbytes),
             bytes_of(d, stored_bytes));
    if (d->table) {
        put_json_columns(d->table);
    } else {
        put_text("\"chunk\": [");
        put_dimensions(info_of_array(d->array).chunk_shape, holdall_array_ndim(d->array));
        put_text("]");
        array_put_json(d);
    }
    put_json_attrs(d);
    put_text("}\n");
}

/* ---- lines ---- */

static uint64_t rows_in_chunk(const holdall_array *array) {
    return holdall_array_ndim(array) > 0 ? info_of_array(array).chunk_shape[0] : 1;
}

static void print_columns(const holdall_table *table) {
    uint64_t rows = holdall_table_row_count(table);
    put_text("rows:         %" PRIu64 "\ncolumns:      %" PRIu32 "\n", rows, holdall_table_column_count(table));
    for (uint32_t i = 0; i < holdall_table_column_count(table); i++) {
        const holdall_array *array = holdall_table_column(table, i);
        put_text("  ");
        put_printable(holdall_table_column_name(table, i));
        put_text(": ");
        put_printable(holdall_array_dtype(array));
        put_text(" [");
        put_shape(array);
        put_text("], %" PRIu64 " bytes, chunks of %" PRIu64, holdall_array_nbytes(array), rows_in_chunk(array));
        uint64_t stored = holdall_table_column_row_count(table, i);
        if (stored != rows) put_text(", %" PRIu64 " more rows that other columns lack", stored - rows);
        put_text("\n");
    }
}

static void print_attrs(const struct dataset *d) {
    put_text("attributes:%s\n", dataset_attrs(d) ? "" : "   none");
    for (uint32_t i = 0; i < dataset_attrs(d); i++) {
        size_t n;
        char *text = dataset_attr(d, dataset_attr_name(d, i), &n);
        if (!text) return;
        put_text("  ");
        put_printable(dataset_attr_name(d, i));
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
             kind_name(kind_of(d)));
    put_text("nbytes:       %" PRIu64 "\n", bytes_of(d, holdall_array_nbytes));
    put_text("cbytes:       %" PRIu64 "\n", bytes_of(d, stored_bytes));
    if (d->table) {
        print_columns(d->table);
    } else {
        array_put_lines(d);
    }
    if (!is_frame(d->format)) print_attrs(d); /* those of a frame are metalayers */
}

/* ---- the command ---- */

int dataset_info(const struct args *args) {
    struct dataset dataset;
    if (args->files) return dataset_files(args);
    bool good = dataset_read(&dataset, args->operands[0], args);
    if (good) (args->json ? print_json : print_lines)(&dataset);
    dataset_close(&dataset);
    return put_end(good ? DONE : FAILED);
}
