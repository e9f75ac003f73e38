/*
 * Rows of a table in Arrow's IPC format.
 */
#include "arrow.h"
#include "convert.h"
#include "report.h"
#include "signals.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool table_print_arrow(const struct frame *frame, const struct selection *rows, const holdall_table *table, bool file) {
    struct ArrowArrayStream stream;
    holdall_error error;
    const char *path = frame->source.path;
    uint32_t *columns = calloc(frame->count + 1, sizeof *columns);
    bool good = columns != NULL;
    if (!columns) complain("out of memory");
    for (size_t i = 0; good && i < frame->count; i++) {
        while (strcmp(holdall_table_column_name(table, columns[i]), frame->columns[i].name) != 0) columns[i]++;
    }
    if (good && (rows->list || rows->span.step != 1)) {
        good = (complain("%s: --format arrow takes rows that stand side by side, --rows A:B", path), false);
    } else if (good && holdall_table_to_arrow(table, rows->span.start, rows->span.count, 0, &stream, &error) < 0) {
        good = (complain_error(path, &error, ""), false);
    } else if (good) {
        good = arrow_print(&stream, path, columns, (uint32_t)frame->count, file);
        stream.release(&stream);
    }
    free(columns);
    return good;
}

struct printing {
    struct frame frame;
    const holdall_table *table;
    bool file;
};

static bool print(void *ctx) {
    const struct printing *p = ctx;
    uint64_t count = holdall_table_row_count(p->table);
    const struct selection all = {.span = {0, count, 1}, .count = count};
    return table_print_arrow(&p->frame, &all, p->table, p->file);
}

int table_to_arrow(const struct args *args, struct dataset *dataset, bool file) {
    struct printing p = {.frame = {.source = {.path = dataset->path}}, .table = dataset->table, .file = file};
    uint64_t count = holdall_table_row_count(dataset->table);
    catch_signals();
    bool good = frame_of_table(&p.frame, dataset->table, NULL) && print_to_out(args, print, &p);
    if (good) note_lost_attrs(args, dataset_attrs(dataset));
    if (good && !args->quiet) note("%s: %" PRIu64 " row%s converted", args->operands[1], count, plural(count));
    frame_free(&p.frame);
    if (!good && stopped) die_of_signal();
    return put_end(good ? DONE : FAILED);
}
