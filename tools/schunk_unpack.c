/*
 * holdall unpack: the content of a superchunk becomes a file again.
 */
#include "dataset.h"
#include "files.h"
#include "report.h"
#include "schunks.h"
#include "signals.h"
#include "tool.h"
#include "identify.h"

#include <inttypes.h>
#include <string.h>

struct unpacking {
    const struct args *args;
    struct source source;
    struct output out;
    uint64_t done, total;
};

static bool to_output(void *ctx, const void *bytes, size_t n) {
    struct unpacking *u = ctx;
    if (!output_write(&u->out, bytes, n)) return false;
    u->done += n;
    progress_report(NULL, u->done, u->total);
    return true;
}

static int unpack_to_file(struct unpacking *u) {
    const char *path = u->args->operands[1];
    bool replace = u->args->replace;
    catch_signals();
    if (!output_open(&u->out, path, replace)) return FAILED;
    progress_begin("unpack", "bytes", u->args->quiet);
    bool good = source_stream(&u->source, 0, u->total, to_output, u) && !stopped;
    progress_clear();
    good = output_close(&u->out, good, replace);
    if (!good && stopped) die_of_signal();
    if (good && !u->args->quiet) note("%s: %" PRIu64 " byte%s unpacked", path, u->total, plural(u->total));
    return good && !u->source.damaged ? DONE : FAILED;
}

static int unpack_to_stdout(struct unpacking *u) {
    bool good = source_stream(&u->source, 0, u->total, to_stdout, NULL);
    return put_end((good || put_failed()) && !u->source.damaged ? DONE : FAILED);
}

int cmd_unpack(const struct args *args) {
    if (strcmp(args->operands[0], "-") == 0) {
        return usage_error(args->command, "a superchunk is not read from front to back: not from '-'");
    }
    if (container_of(args->operands[0]) == DATASET && is_frame(format_at(args->operands[0]))) {
        complain("%s: the content of its chunks is in no order of its own; convert --to raw, or cat, gives the items of the array",
                 args->operands[0]);
        return FAILED;
    }
    struct unpacking u = {.args = args};
    if (!source_open(&u.source, args->operands[0], args)) return FAILED;
    u.total = holdall_schunk_nbytes(u.source.schunk);
    int code = FAILED;
    if (source_metadata(&u.source)) code = (strcmp(args->operands[1], "-") == 0 ? unpack_to_stdout : unpack_to_file)(&u);
    source_close(&u.source);
    return code;
}
