/*
 * holdall convert: from each array and table format to each other one.
 */
#include "arrays.h"
#include "convert.h"
#include "packing.h"
#include "report.h"
#include "tool.h"
#include "words.h"

#include <string.h>

/* ---- what it is ---- */


holdall_format format_of(int64_t as) {
    static const holdall_format formats[] = {[AS_BLPK] = HOLDALL_FORMAT_BLOSCPACK,
                                             [AS_BCOLZ] = HOLDALL_FORMAT_BCOLZ,
                                             [AS_BLZ] = HOLDALL_FORMAT_BLZ,
                                             [AS_BLZ_PAPER] = HOLDALL_FORMAT_BLZ_PAPER};
    return as <= AS_BLZ_PAPER ? formats[as] : 0;
}

/* What OUT becomes; rows of a table are a table where its name says nothing. */
static int64_t target_of(const struct args *args, bool table) {
    static const struct {
        const char *end;
        int64_t as;
    } names[] = {{".blp", AS_BLPK}, {".blpk", AS_BLPK}, {".bcolz", AS_BCOLZ}, {".blz", AS_BLZ},
                 {".npy", AS_NPY},  {".csv", AS_CSV},   {".jsonl", AS_JSONL}, {".ndjson", AS_JSONL}};
    if (args->as != NOT_GIVEN) return args->as;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (ends_in(args->operands[1], names[i].end)) return names[i].as;
    }
    return table ? AS_BCOLZ : AS_BLPK;
}

/* ---- usage ---- */

static int check_usage(const struct args *args, int64_t from, int64_t as) {
    const struct command *command = args->command;
    const char *in = args->operands[0], *out = args->operands[1];
    if (strcmp(in, "-") == 0) return usage_error(command, "what is converted is read more than once: not '-'");
    if (strcmp(out, "-") == 0 && format_of(as)) {
        return usage_error(command, "a container is not written from front to back: not to '-'");
    }
    if (ends_in(out, ".bagz") && args->as == NOT_GIVEN) {
        return usage_error(command, "'%s' is the name of a bag, which it does not write", out);
    }
    if (from == FROM_RAW) return usage_error(command, "--from raw has no types; pack takes such files");
    if (args->dtypes && from != FROM_CSV && from != FROM_JSONL) {
        return usage_error(command, "--dtypes is for CSV and JSON lines; other files have their types");
    }
    return check_chunk_flags(args);
}

/* ---- the command ---- */

static int convert_dataset(const struct args *args, struct dataset *dataset, int64_t as) {
    holdall_format format = format_of(as);
    if (dataset->array && format && in_c_order(dataset->array)) return array_convert(args, dataset->array, format);
    return rows_convert(args, dataset, NOT_GIVEN, as);
}

int cmd_convert(const struct args *args) {
    const char *in = args->operands[0];
    int64_t from = file_format(in, args->from);
    enum container container = from == NOT_GIVEN ? container_of(in) : BAG;
    struct dataset dataset = {.path = in};
    if (container == DATASET && !dataset_read(&dataset, in, args)) return FAILED;
    int64_t as = target_of(args, dataset.table || from == FROM_CSV || from == FROM_JSONL);
    int code = check_usage(args, from, as);
    if (code >= 0) {
        /* it was said */
    } else if (container == DATASET) {
        code = convert_dataset(args, &dataset, as);
    } else if (from != NOT_GIVEN) {
        code = rows_convert(args, &dataset, from, as);
    } else {
        code = schunk_convert(args, as);
    }
    dataset_close(&dataset);
    return code;
}
