/*
 * holdall trim: an array or a table keeps its first rows.
 */
#include "arrays.h"
#include "dataset.h"
#include "options.h"
#include "report.h"
#include "tool.h"
#include "identify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How many rows are to stay: so many, or all but so many. */
static bool parse_rows(const char *text, bool *from_end, uint64_t *rows) {
    char *end;
    *from_end = *text == '-';
    if (*from_end) text++;
    if (*text < '0' || *text > '9' || strlen(text) > 18) return false;
    *rows = strtoull(text, &end, 10);
    return *end == '\0';
}

static holdall_status cut(struct dataset *d, uint64_t from, uint64_t rows, holdall_error *error) {
    if (d->table) {
        holdall_status status = holdall_table_truncate(d->table, rows, error);
        return status < 0 ? status : holdall_table_commit(d->table, error);
    }
    holdall_status status = holdall_array_remove(d->array, 0, rows, from - rows, error);
    return status < 0 ? status : holdall_array_commit(d->array, error);
}

static bool trim(struct dataset *d, bool from_end, uint64_t rows, const struct args *args) {
    holdall_error error;
    uint64_t from = dataset_rows(d);
    if (d->array && holdall_array_ndim(d->array) == 0) return complain("%s: an array without dimensions has no rows", d->path), false;
    if (rows > from) {
        return complain("%s: it has %" PRIu64 " row%s, and not %" PRIu64, d->path, from, plural(from), rows), false;
    }
    uint64_t to = from_end ? from - rows : rows;
    if (to < from && cut(d, from, to, &error) < 0) return complain_error(d->path, &error, ""), false;
    if (!args->quiet) note("%s: %" PRIu64 " row%s gone, now %" PRIu64, d->path, from - to, plural(from - to), to);
    return true;
}

/* An array in a file is one, too. */
static bool open_rows(struct dataset *d, const char *path, const holdall_options *options) {
    if (container_of(path) != SUPERCHUNK) return dataset_open(d, path, HOLDALL_APPEND, options);
    *d = (struct dataset){.path = path};
    if (!open_array(path, HOLDALL_APPEND, options, &d->array)) return false;
    if (!d->array) complain("%s: a superchunk that is no array has no rows", path);
    return d->array != NULL;
}

int cmd_trim(const struct args *args) {
    struct dataset dataset = {.path = NULL};
    bool from_end;
    uint64_t rows;
    if (!parse_rows(args->operands[1], &from_end, &rows)) {
        return usage_error(args->command, "ROWS is how many stay, as 100, or go from the end, as -- -5, not '%s'", args->operands[1]);
    }
    holdall_options *options = new_options();
    bool good = options && set_given(options, HOLDALL_OPT_THREADS, args->threads) && set_commit_options(options, args) &&
                open_rows(&dataset, args->operands[0], options) && trim(&dataset, from_end, rows, args);
    dataset_close(&dataset);
    holdall_options_free(options);
    return good ? DONE : FAILED;
}
