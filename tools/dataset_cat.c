/*
 * holdall cat of datasets: rows of a table, items of an array, or objects of Python's as it has pickled them.
 */
#include "arrays.h"
#include "arrow.h"
#include "dataset.h"
#include "frame_print.h"
#include "report.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* Python's pickled objects, concatenated: the caller can unpickle them. */
static bool print_objects(const struct args *args, const char *path, const holdall_array *array) {
    if (args->format != NOT_GIVEN && args->format != FORMAT_RAW) {
        complain("%s: objects of Python's are printed as they are pickled: --format raw", path);
        return false;
    }
    struct selection rows = {.list = NULL};
    holdall_error error;
    unsigned char *bytes = NULL;
    bool good = args_plain_slice(args, "an array of objects") < 0 && select_rows(&rows, args, path, holdall_array_shape(array)[0]);
    for (uint64_t i = 0; good && i < rows.count; i++) {
        uint64_t row = rows.list ? rows.list[i] : rows.span.start + i * (uint64_t)rows.span.step;
        size_t n;
        good = holdall_array_read_object(array, row, NULL, 0, &n, &error) >= 0;
        free(bytes);
        bytes = good ? malloc(n + 1) : NULL;
        if (good && !bytes) {
            complain("out of memory");
            break;
        }
        good = good && holdall_array_read_object(array, row, bytes, n, &n, &error) >= 0;
        if (!good) complain_error(path, &error, "");
        good = good && put_bytes(bytes, n);
    }
    free(bytes);
    free(rows.list);
    return good;
}

static bool print_table(const struct args *args, struct dataset *dataset, bool *damaged) {
    struct frame frame = {.source = {.path = dataset->path}};
    struct printer printer = {.format = FORMAT_CSV};
    struct selection rows = {.list = NULL};
    int64_t format = args->format == NOT_GIVEN ? FORMAT_CSV : args->format;
    if (format == FORMAT_TEXT) {
        return complain("%s: --format text prints one array of numbers, this is a table", dataset->path), false;
    }
    bool good = frame_of_table(&frame, dataset->table, args->columns) &&
                select_rows(&rows, args, dataset->path, holdall_table_row_count(dataset->table));
    if (good && format == FORMAT_ARROW) {
        good = table_print_arrow(&frame, &rows, dataset->table, false);
    } else if (good) {
        good = printer_begin(&printer, &frame, format, rows.count) && frame_each(&frame, &rows, printer_take, &printer);
    }
    *damaged = frame.source.damaged;
    printer_free(&printer);
    free(rows.list);
    frame_free(&frame);
    return good;
}

static bool print_array(const struct args *args, struct dataset *dataset, bool *damaged) {
    struct source source = {.path = dataset->path};
    if (args->columns) return complain("%s: --columns is for tables, and this is an array", dataset->path), false;
    bool good = (has_objects(dataset->array) ? print_objects(args, dataset->path, dataset->array)
                                             : array_print(args, &source, dataset->array));
    *damaged = source.damaged;
    return good;
}

int dataset_cat(const struct args *args) {
    struct dataset dataset;
    bool damaged = false;
    bool good = dataset_read(&dataset, args->operands[0], args);
    int wrong = good && dataset.table ? args_plain_slice(args, "a table") : -1;
    if (wrong >= 0) return dataset_close(&dataset), wrong;
    good = good && (dataset.table ? print_table : print_array)(args, &dataset, &damaged);
    dataset_close(&dataset);
    return put_end((good || put_failed()) && !damaged ? DONE : FAILED);
}
