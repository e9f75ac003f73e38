/*
 * holdall pack into a bag: from the lines of a file, or from whole files.
 *
 * Lines are read in large pieces and handed over many at once, so that the library can compress them in
 * parallel. Nothing counts before the commit at the end: whatever fails before it, or a signal, leaves
 * OUT as it was.
 */
#include "files.h"
#include "options.h"
#include "report.h"
#include "signals.h"
#include "tool.h"
#include "words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are read before lines are handed over, and lines that are handed over at once. */
enum { PIECE = 4 << 20, LINES_MOST = 32768 };

struct packing {
    const struct args *args;
    const char *out;
    holdall_bag_writer *writer;
    uint64_t records, bytes; /* packed so far */
};

/* ---- writing ---- */

static bool separate(const struct args *args) {
    return args->separate || args->limits == LIMITS_SEPARATE;
}

static bool set_writer_options(holdall_options *options, const struct args *args) {
    return set_given(options, HOLDALL_OPT_THREADS, args->threads) &&
           set_given(options, HOLDALL_OPT_LEVEL, args->level) &&
           (!separate(args) || set_option(options, HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE)) &&
           (!args->no_checksum || set_option(options, HOLDALL_OPT_CHECKSUM, HOLDALL_SUM_NONE)) &&
           set_commit_options(options, args) && set_compression(options, args);
}

static bool open_writer(struct packing *p) {
    const struct args *args = p->args;
    holdall_mode mode = args->append ? HOLDALL_APPEND : args->replace ? HOLDALL_REPLACE : HOLDALL_NEW;
    holdall_options *options = new_options();
    holdall_error error;
    if (!options) return false;
    bool good = set_writer_options(options, args);
    if (good && holdall_bag_writer_open(p->out, mode, options, &p->writer, &error) < 0) {
        complain_error(p->out, &error, "");
        good = false;
    }
    holdall_options_free(options);
    return good;
}

/* Hands over count records: record i is data[offsets[i]] to data[offsets[i + 1]]. */
static bool hand_over(struct packing *p, const unsigned char *data, const uint64_t *offsets, size_t count) {
    holdall_error error;
    if (count == 0) return true;
    if (holdall_bag_writer_append_many(p->writer, data, offsets, count, &error) < 0) {
        complain_error(p->out, &error, "");
        return false;
    }
    p->records += count;
    p->bytes += offsets[count];
    return true;
}

/* ---- lines ---- */

struct lines {
    struct input input;
    unsigned char *data; /* of which `have` are bytes that no record has taken yet, */
    size_t room, have, seen; /* and the first `seen` of these have no newline */
    uint64_t *offsets; /* LINES_MOST + 1 */
};

/* Reads until the buffer is full or the input ends, which *more tells. */
static bool fill(struct lines *in, bool *more) {
    size_t got;
    if (in->have == in->room) { /* one line fills it all */
        unsigned char *larger = in->room <= SIZE_MAX / 2 ? realloc(in->data, in->room * 2) : NULL;
        if (!larger) {
            return complain("%s: out of memory for a line of more than %zu bytes", in->input.name, in->room), false;
        }
        in->data = larger;
        in->room *= 2;
    }
    if (!input_read(&in->input, in->data + in->have, in->room - in->have, &got)) return false;
    in->have += got;
    *more = in->have == in->room;
    return true;
}

/* Hands over the whole lines of the buffer, after pushing them together over their newlines: records lie
 * end to end. What follows the last newline stays. */
static bool take_lines(struct packing *p, struct lines *in) {
    size_t from = 0, to = 0, count = 0;
    unsigned char *newline;
    while ((newline = memchr(in->data + in->seen, '\n', in->have - in->seen)) != NULL) {
        size_t n = (size_t)(newline - (in->data + from));
        memmove(in->data + to, in->data + from, n);
        in->offsets[++count] = to += n;
        in->seen = from += n + 1;
        if (count < LINES_MOST) continue;
        if (!hand_over(p, in->data, in->offsets, count)) return false;
        to = count = 0;
    }
    if (!hand_over(p, in->data, in->offsets, count)) return false;
    in->have -= from;
    memmove(in->data, in->data + from, in->have);
    in->seen = in->have;
    return true;
}

static bool pack_lines(struct packing *p, struct lines *in) {
    in->room = PIECE;
    in->data = malloc(in->room);
    in->offsets = calloc(LINES_MOST + 1, sizeof *in->offsets);
    if (!in->data || !in->offsets) return complain("out of memory"), false;
    for (bool more = true; more;) {
        if (!fill(in, &more) || !take_lines(p, in)) return false;
        input_progress(&in->input, p->records);
    }
    in->offsets[1] = in->have; /* a last line without a newline */
    return hand_over(p, in->data, in->offsets, in->have > 0 ? 1 : 0);
}

static bool pack_lines_of(struct packing *p, const char *path) {
    struct lines in = {.data = NULL};
    if (!input_open(&in.input, path, p->out)) return false;
    bool good = open_writer(p) && pack_lines(p, &in);
    free(in.data);
    free(in.offsets);
    input_close(&in.input);
    return good;
}

/* ---- whole files ---- */

static bool pack_whole_files(struct packing *p, size_t files) {
    if (!open_writer(p)) return false;
    for (size_t i = 0; i < files; i++) {
        unsigned char *bytes;
        size_t n;
        if (stopped || !read_whole_file(p->args->operands[i], &bytes, &n)) return false;
        uint64_t offsets[2] = {0, n};
        bool good = hand_over(p, bytes, offsets, 1);
        free(bytes);
        if (!good) return false;
        progress_tell(NULL, i + 1, files);
    }
    return true;
}

/* ---- the command ---- */

static bool commit(struct packing *p) {
    holdall_error error;
    if (holdall_bag_writer_commit(p->writer, &error) >= 0) return true;
    complain_error(p->out, &error, "");
    return false;
}

/* Bytes on disk of what was written; 0 where that cannot be found out, which is no failure of packing. */
static uint64_t bytes_on_disk(const struct packing *p) {
    struct args args = *p->args;
    args.limits = separate(&args) ? LIMITS_SEPARATE : LIMITS_TAIL;
    args.dictionary = NULL; /* nothing is decoded */
    holdall_options *options = reader_options(&args);
    holdall_bag *bag = NULL;
    uint64_t bytes = options && holdall_bag_open(p->out, options, &bag, NULL) >= 0 ? holdall_bag_cbytes(bag) : 0;
    holdall_bag_close(bag);
    holdall_options_free(options);
    return bytes;
}

static void summarize(const struct packing *p, uint64_t size) {
    if (p->args->quiet) return;
    note("%s: %" PRIu64 " record%s of %" PRIu64 " byte%s %s; now %" PRIu64 " record%s in %" PRIu64 " bytes", p->out,
         p->records, plural(p->records), p->bytes, plural(p->bytes), p->args->append ? "appended" : "packed", size,
         plural(size), bytes_on_disk(p));
}

/* What the table of flags cannot say. */
static int check_usage(const struct args *args) {
    const struct command *command = args->command;
    if (args->append && args->replace) return usage_error(command, "--append and --replace exclude each other");
    if (args->separate && args->limits == LIMITS_TAIL) {
        return usage_error(command, "--separate and --limits tail exclude each other");
    }
    const char *out = args->operands[args->operand_count - 1];
    if (args->to == NOT_GIVEN && (ends_in(out, ".bcolz") || ends_in(out, ".blz"))) {
        return usage_error(command, "'%s' is the name of a dataset: convert makes one (--to bagz insists)", out);
    }
    if (!args->whole && args->to == NOT_GIVEN && ends_in(args->operands[0], ".npy")) {
        return usage_error(command, "lines of a .npy are no records: --to blpk, or OUT.blp, makes it an array (--to bagz insists)");
    }
    if (!args->whole && args->operand_count > 2) {
        return usage_error(command, "one operand too many, '%s'", args->operands[2]);
    }
    return -1;
}

static bool pack(struct packing *p) {
    const struct args *args = p->args;
    bool packed = args->whole ? pack_whole_files(p, args->operand_count - 1) : pack_lines_of(p, args->operands[0]);
    return packed && !stopped && commit(p);
}

int bag_pack(const struct args *args) {
    struct packing p = {.args = args, .out = args->operands[args->operand_count - 1]};
    int wrong = check_usage(args);
    if (wrong >= 0) return wrong;
    catch_signals();
    progress_begin("pack", "records", args->quiet);
    bool packed = pack(&p);
    uint64_t size = holdall_bag_writer_size(p.writer);
    holdall_bag_writer_close(p.writer);
    progress_clear();
    if (!packed && stopped) die_of_signal();
    if (packed) summarize(&p, size);
    return packed ? DONE : FAILED;
}
