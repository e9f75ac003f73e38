/*
 * holdall convert: from each array and table format to each other one; bags are in bag_convert.c.
 */
#include "arrays.h"
#include "convert.h"
#include "detect.h"
#include "packing.h"
#include "report.h"
#include "text.h"
#include "tool.h"
#include "identify.h"

#include <stdlib.h>
#include <string.h>

/* ---- what it is ---- */

holdall_format format_of(int64_t as) {
    static const holdall_format formats[] = {[AS_BLPK] = HOLDALL_FORMAT_BLOSCPACK,   [AS_BLOSCPACK] = HOLDALL_FORMAT_BLOSCPACK,
                                             [AS_BCOLZ] = HOLDALL_FORMAT_BCOLZ,      [AS_BLZ] = HOLDALL_FORMAT_BLZ,
                                             [AS_BLZ_RFC] = HOLDALL_FORMAT_BLZ_RFC, [AS_B2ND] = HOLDALL_FORMAT_B2ND,
                                             [AS_CATERVA] = HOLDALL_FORMAT_CATERVA,  [AS_B2FRAME] = HOLDALL_FORMAT_B2FRAME,
                                             [AS_ARROW_STREAM] = 0};
    return formats[as];
}

/* Formats by file extension; bags are in bag_convert.c. */
static const struct {
    const char *end;
    int64_t as;
} endings[] = {{".blp", AS_BLPK}, {".blpk", AS_BLPK}, {".bcolz", AS_BCOLZ}, {".blz", AS_BLZ},
               {".npy", AS_NPY},  {".csv", AS_CSV},   {".jsonl", AS_JSONL}, {".ndjson", AS_JSONL},
               {".b2nd", AS_B2ND}, {".b2frame", AS_B2FRAME}, {".caterva", AS_CATERVA},
               {".arrow", AS_ARROW}, {".feather", AS_ARROW}, {".arrows", AS_ARROW_STREAM},
               {".bag", NOT_GIVEN}, {".bagz", NOT_GIVEN}};
enum { ENDINGS = sizeof endings / sizeof *endings };

static void put_ending(struct text *text, const char *ending) {
    if (text->n > 0) text_char(text, '|');
    text_string(text, ending);
}

/* Returns whether it is one of the extensions above. */
static bool is_ours(const char *ending) {
    for (size_t i = 0; i < ENDINGS; i++) {
        if (strcmp(endings[i].end, ending) == 0) return true;
    }
    return false;
}

/* Endings, ".blp|.blpk|...", to be freed: those above (`ours`), those of files of records alone (`records`), or both. NULL: no
 * memory, which is reported. */
static char *list_endings(bool ours, bool records) {
    struct text text = {.bytes = NULL};
    for (size_t i = 0; ours && i < ENDINGS; i++) put_ending(&text, endings[i].end);
    for (size_t i = 0; records && record_ending(i); i++) {
        if (!is_ours(record_ending(i))) put_ending(&text, record_ending(i));
    }
    return text_take(&text);
}

/* Format of OUT. Rows of a table become a table if its name has no extension. Unknown extensions were refused before. */
static int64_t target_of(const struct args *args, bool table) {
    if (args->as != NOT_GIVEN) return args->as;
    for (size_t i = 0; i < ENDINGS; i++) {
        if (endings[i].as != NOT_GIVEN && ends_in(args->operands[1], endings[i].end)) return endings[i].as;
    }
    return table ? AS_BCOLZ : AS_BLPK;
}

/* ---- usage ---- */

/* Items of a file; its header or --dtype has their type. */
static bool is_items(int64_t from) {
    return from == FROM_NPY || from == FROM_RAW;
}

/* `stored`: the format of IN where its bytes show one. */
static int refuse_dtype(const struct args *args, const char *stored) {
    return usage_error(args->command, "--dtype is for a file without a header, and '%s' is a file of %s, which has its own types (--from raw takes its bytes)",
                       args->operands[0], stored ? stored : "rows");
}

/* Checks that flags for files without a header apply. */
static int check_raw(const struct args *args, int64_t from) {
    const struct command *command = args->command;
    if (from == FROM_RAW && !args->dtype) return usage_error(command, "--from raw wants the type of the items, --dtype '<f8' (pack takes bytes)");
    if (from == FROM_RAW) return -1;
    if (args->dtype) return refuse_dtype(args, stored_format(args->operands[0]));
    if (args->shape.count > 0 || args->order != NOT_GIVEN || args->skip != NOT_GIVEN) {
        return usage_error(command, "--%s is for a file without a header, with --dtype",
                           args->shape.count > 0 ? "shape" : args->order != NOT_GIVEN ? "order" : "skip");
    }
    return -1;
}

static bool is_arrow(int64_t as) {
    return as == AS_ARROW || as == AS_ARROW_STREAM;
}

static int check_ending(const struct command *command, const char *out) {
    char *ours = list_endings(true, false), *records = list_endings(false, true), *all = list_endings(true, true);
    int code = FAILED;
    if (!ours || !records || !all) {
        /* it was said */
    } else if (known_ending(out, ours)) {
        code = -1;
    } else if (known_ending(out, records)) {
        code = usage_error(command, "'%s' is the name of a file of records, which a bag becomes (--to says what it becomes)", out);
    } else {
        code = usage_error(command, "'%s' ends in none of %s (--to says what it becomes)", out, all);
    }
    free(ours);
    free(records);
    free(all);
    return code;
}

static int check_usage(const struct args *args, int64_t from, int64_t as, bool table) {
    const struct command *command = args->command;
    const char *in = args->operands[0], *out = args->operands[1];
    if (strcmp(in, "-") == 0 && !is_items(from)) {
        return usage_error(command, "what is converted is read more than once: not '-' (but --from npy, or --dtype)");
    }
    if (strcmp(out, "-") == 0 && format_of(as)) {
        return usage_error(command, "a container is not written from front to back: not to '-'");
    }
    bool missing = from == NOT_GIVEN && holdall_identify(in, NULL, NULL, NULL) == HOLDALL_E_MISSING; /* that is said first */
    if (args->as == NOT_GIVEN && !missing) {
        int code = check_ending(command, out);
        if (code >= 0) return code;
    }
    if (is_arrow(as) && !table) return usage_error(command, "'%s' becomes Arrow's format, which is for tables and bags", out);
    int wrong = check_raw(args, from);
    if (wrong >= 0) return wrong;
    if (args->dtypes && from != FROM_CSV && from != FROM_JSONL) {
        return usage_error(command, "--dtypes is for CSV and JSON lines; other files have their types");
    }
    if (!format_of(as) && (args->chunks.count > 0 || args->blocks.count > 0)) {
        return usage_error(command, "--%s: what OUT becomes has no chunks", args->chunks.count > 0 ? "chunks" : "blocks");
    }
    if (args->sparse && !is_frame(format_of(as))) return usage_error(command, "--sparse is for b2nd, caterva and b2frame");
    if (args->both && as != AS_B2ND && as != AS_CATERVA) return usage_error(command, "--both is for b2nd and caterva");
    return check_chunk_flags(args);
}

/* ---- the command ---- */

static int convert_dataset(const struct args *args, struct dataset *dataset, int64_t as) {
    holdall_format format = format_of(as);
    const holdall_array *array = dataset->array;
    struct source source = {.path = dataset->path};
    if (is_arrow(as)) return table_to_arrow(args, dataset, as == AS_ARROW);
    if (array && as == AS_B2FRAME && !has_objects(array)) return flat_convert(args, &source, array);
    if (array && format && (in_c_order(array) || is_frame(format))) return array_convert(args, dataset, format);
    if (array && !has_objects(array) && (as == AS_NPY || as == AS_RAW)) return array_to_file(args, &source, array, as, dataset_attrs(dataset));
    return rows_convert(args, dataset, NOT_GIVEN, as);
}

static int convert_items(const struct args *args, struct dataset *none, int64_t from, int64_t as) {
    switch (as) {
    case AS_B2ND:
    case AS_CATERVA: return grid_convert(args, from, as);
    case AS_BLPK:
    case AS_BLOSCPACK: return array_pack(args);
    case AS_B2FRAME: return items_to_frame(args);
    case AS_NPY:
    case AS_RAW: return items_convert(args, from, as);
    default: return rows_convert(args, none, from, as);
    }
}

/* Returns whether the format stores arrays. */
static bool wants_array(int64_t as) {
    return as != AS_RAW && format_of(as) != HOLDALL_FORMAT_BLOSCPACK && format_of(as) != HOLDALL_FORMAT_B2FRAME;
}

int cmd_convert(const struct args *args) {
    const char *in = args->operands[0];
    if (is_bag_way(args)) return bag_convert(args);
    int code = args_refuse(args, F_BAGS | F_COLUMNS, "records: of bags, or files of lines, TFRecord and the like");
    if (code >= 0) return code;
    int64_t from = file_format(in, args->from);
    if (args->dtype && from == NOT_GIVEN) {
        const char *stored = stored_format(in);
        if (stored) return refuse_dtype(args, stored);
        from = FROM_RAW;
    }
    enum container container = from == NOT_GIVEN ? container_there(args, in) : BAG;
    struct dataset dataset = {.path = in};
    if (container == DATASET && !dataset_read(&dataset, in, args)) return FAILED;
    int64_t as = target_of(args, dataset.table || from == FROM_CSV || from == FROM_JSONL);
    if (container == SUPERCHUNK && wants_array(as) && format_there(args, in) == HOLDALL_FORMAT_B2FRAME) {
        container = DATASET; /* a frame without a shape is an array of one dimension, too */
        if (!dataset_read(&dataset, in, args)) return FAILED;
    }
    code = check_usage(args, from, as, dataset.table != NULL);
    if (code >= 0) {
        /* it was said */
    } else if (container == DATASET && !refuse_unknown_files(&dataset)) {
        code = FAILED;
    } else if (container == DATASET) {
        code = convert_dataset(args, &dataset, as);
    } else if (is_items(from)) {
        code = convert_items(args, &dataset, from, as);
    } else if (from != NOT_GIVEN) {
        code = rows_convert(args, &dataset, from, as);
    } else {
        code = schunk_convert(args, as);
    }
    dataset_close(&dataset);
    return code;
}
