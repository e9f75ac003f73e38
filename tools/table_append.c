/*
 * holdall append to a table: rows of CSV, of JSON lines, of a file of NumPy, or end to end as they are.
 */
#include "dataset.h"
#include "load.h"
#include "options.h"
#include "packing.h"
#include "report.h"
#include "signals.h"
#include "target.h"
#include "tool.h"
#include "identify.h"

#include <inttypes.h>

/* A NumPy file has its own columns; text and raw bytes have those of the table. */
static bool load_all(struct frame *frame, struct target *target, holdall_table *table, const struct args *args) {
    const char *out = args->operands[0], *in = args->operands[1];
    int64_t from = args->raw ? FROM_RAW : file_format(in, args->from);
    bool npy = from == FROM_NPY, text = from == FROM_CSV || from == FROM_JSONL;
    frame->source.path = out;
    if (!npy && !(frame_of_table(frame, table, NULL) && target_append(target, frame, table, out))) return false;
    if (text) return load_rows(frame, in, from == FROM_JSONL, out, target_take, target);
    struct input input;
    uint64_t rows = UINT64_MAX;
    if (!input_open(&input, in, out)) return false;
    bool good = !npy || (load_npy_columns(frame, &input, args, from, &rows) && target_append(target, frame, table, in));
    target->path = out;
    good = good && load_packed(frame, &input, rows, target_take, target);
    input_close(&input);
    return good;
}

static holdall_table *open_table(const struct args *args) {
    holdall_table *table = NULL;
    holdall_error error;
    holdall_options *options = new_options();
    if (options && set_chunk_options(options, args) && set_given(options, HOLDALL_OPT_MEMORY_LIMIT, args->memory_limit) &&
        holdall_table_open(args->operands[0], HOLDALL_APPEND, options, &table, &error) < 0) {
        complain_error(args->operands[0], &error, "");
    }
    holdall_options_free(options);
    return table;
}

int table_append(const struct args *args) {
    struct frame frame = {.source = {.path = args->operands[0]}};
    struct target target = {.path = args->operands[0]};
    catch_signals();
    holdall_table *table = open_table(args);
    if (!table) return FAILED;
    progress_begin("append", "rows", args->quiet);
    target.table = table;
    bool good = load_all(&frame, &target, table, args) && !stopped && target_commit(&target);
    progress_clear();
    if (good && !args->quiet) {
        note("%s: %" PRIu64 " row%s appended; now %" PRIu64, args->operands[0], target.rows, plural(target.rows), holdall_table_row_count(table));
    }
    frame_free(&frame);
    target_close(&target);
    if (!good && stopped) die_of_signal();
    return good ? DONE : FAILED;
}
