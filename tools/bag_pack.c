/*
 * holdall pack into a bag: from the lines of a file, or from whole files.
 *
 * Lines are read in large pieces and handed over many at once, so that the library can compress them in
 * parallel.
 */
#include "bag_write.h"
#include "detect.h"
#include "files.h"
#include "record_files.h"
#include "report.h"
#include "signals.h"
#include "tool.h"
#include "identify.h"

#include <stdlib.h>
#include <string.h>

static bool pack_lines(struct bag_out *out) {
    struct input in;
    if (!input_open(&in, out->args->operands[0], out->path)) return false;
    struct record_parser parser = {.format = RECORDS_LINES, .in = &in, .most = UINT64_MAX};
    bool good = bag_out_open(out) && record_parser_each(&parser, bag_out_take, out);
    input_close(&in);
    return good;
}

static bool pack_whole_files(struct bag_out *out) {
    size_t files = out->args->operand_count - 1;
    if (!bag_out_open(out)) return false;
    for (size_t i = 0; i < files; i++) {
        unsigned char *bytes;
        size_t n;
        if (stopped || !read_whole_file(out->args->operands[i], &bytes, &n)) return false;
        const uint64_t offsets[2] = {0, n};
        const struct records one = {bytes, offsets, 1};
        bool good = bag_out_take(out, &one);
        free(bytes);
        if (!good) return false;
        progress_report(NULL, i + 1, files);
    }
    return true;
}

/* Checks the flags beyond the table of flags. */
static int check_usage(const struct args *args) {
    const struct command *command = args->command;
    const char *out = args->operands[args->operand_count - 1];
    if (args->to == NOT_GIVEN && (ends_in(out, ".bcolz") || ends_in(out, ".blz"))) {
        return usage_error(command, "'%s' is the name of a dataset: convert makes one (--to bagz insists)", out);
    }
    if (args->to == NOT_GIVEN && (ends_in(out, ".b2nd") || ends_in(out, ".b2frame") || ends_in(out, ".caterva"))) {
        return usage_error(command, "'%s' is the name of a Blosc2 frame: convert makes one (--to bagz insists)", out);
    }
    if (!args->whole && args->to == NOT_GIVEN && ends_in(args->operands[0], ".npy")) {
        return usage_error(command, "lines of a .npy are no records: --to blpk, or OUT.blp, makes it an array (--to bagz insists)");
    }
    if (args->to == NOT_GIVEN && !known_ending(out, ".bag|.bagz")) {
        return usage_error(command, "'%s' ends in none of .bag|.bagz|.blp|.blpk (--to says what it becomes)", out);
    }
    const char *stored = args->whole || args->to != NOT_GIVEN ? NULL : stored_format(args->operands[0]);
    if (stored) {
        return usage_error(command, "'%s' is a file of %s, which has no lines (--to bagz insists)%s", args->operands[0], stored,
                           strcmp(stored, "tfrecord") == 0 || strncmp(stored, "arrow", 5) == 0 ? "; convert takes its records" : "");
    }
    if (!args->whole && args->operand_count > 2) {
        return usage_error(command, "one operand too many, '%s'", args->operands[2]);
    }
    return check_bag_out(args);
}

int bag_pack(const struct args *args) {
    int wrong = check_usage(args);
    if (wrong >= 0) return wrong;
    struct bag_out out = {.args = args, .path = bag_out_path(args, args->operands[args->operand_count - 1])};
    catch_signals();
    progress_begin("pack", "records", args->quiet);
    bool packed = out.path && (args->whole ? pack_whole_files : pack_lines)(&out) && !stopped && bag_out_commit(&out);
    progress_clear();
    if (packed) bag_out_summarize(&out, args->append ? "appended" : "packed");
    bag_out_close(&out);
    if (!packed && stopped) die_of_signal();
    return packed ? DONE : FAILED;
}
