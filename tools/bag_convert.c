/*
 * holdall convert between a bag and plain files of records, or another bag.
 *
 * Records go over in the order in which they are read, some MiB at a time. Nothing counts before the end: whatever fails
 * before, or a signal, leaves OUT as it was.
 */
#include "arrow.h"
#include "arrow_read.h"
#include "bag_read.h"
#include "bag_write.h"
#include "bags.h"
#include "convert.h"
#include "detect.h"
#include "options.h"
#include "record_files.h"
#include "report.h"
#include "signals.h"
#include "tool.h"
#include "identify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that a record may make us take where --memory-limit says nothing: the library's default. */
#define MEMORY_LIMIT ((uint64_t)4 << 30)

/* ---- what it is ---- */

/* Formats of files of records by their names, for reading and for writing. */
static const struct {
    const char *end;
    int64_t from, as;
} names[] = {
    {".bagz", NOT_GIVEN, AS_BAGZ},     {".bag", NOT_GIVEN, AS_BAGZ},      {".txt", FROM_LINES, AS_LINES},
    {".lines", FROM_LINES, AS_LINES},  {".jsonl", FROM_LINES, AS_LINES},  {".ndjson", FROM_LINES, AS_LINES},
    {".arrow", FROM_ARROW, AS_ARROW},  {".feather", FROM_ARROW, AS_ARROW}, {".arrows", FROM_ARROW, AS_ARROW_STREAM},
    {".tfrecord", FROM_TFRECORD, AS_TFRECORD}, {".tfrecords", FROM_TFRECORD, AS_TFRECORD},
};
enum { NAMES = sizeof names / sizeof *names };

const char *record_ending(size_t i) {
    return i < NAMES ? names[i].end : NULL;
}

/* A bag is NOT_GIVEN here, whether its name or --from says so. */
static int64_t from_of(const struct args *args) {
    if (args->from == FROM_BAGZ) return NOT_GIVEN;
    if (args->from != NOT_GIVEN) return args->from == FROM_JSONL ? FROM_LINES : args->from;
    for (size_t i = 0; i < NAMES; i++) {
        if (ends_in(args->operands[0], names[i].end)) return names[i].from;
    }
    return NOT_GIVEN;
}

static int64_t as_of(const struct args *args) {
    if (args->as != NOT_GIVEN) return args->as == AS_JSONL ? AS_LINES : args->as;
    for (size_t i = 0; i < NAMES; i++) {
        if (ends_in(args->operands[1], names[i].end)) return names[i].as;
    }
    return NOT_GIVEN;
}

bool is_bag_way(const struct args *args) {
    if (as_of(args) == AS_BAGZ || (args->as != NOT_GIVEN && args->as >= AS_BAGZ && args->as < AS_ARROW)) return true;
    if (args->from != NOT_GIVEN) return args->from >= FROM_LINES;
    /* a file of items, which may look like a bag: one that ends in zeros has limits there */
    if ((args->given & F_DTYPE) && !stored_format(args->operands[0])) return false;
    if (ends_in(args->operands[0], ".npy")) return false;
    return format_at(args->operands[0]) == HOLDALL_FORMAT_BAGZ;
}

/* ---- usage ---- */

/* An IN that becomes a bag and says neither by flag nor by name what it is: is it a bag? */
static int check_bag_in(const struct args *args) {
    const struct command *command = args->command;
    const char *in = args->operands[0];
    holdall_format format;
    if (strcmp(in, "-") == 0) return usage_error(command, "--from says what standard input is: lines, lengths32, lengths64, tfrecord or arrow");
    holdall_status status = holdall_identify(in, &format, NULL, NULL);
    if (args->from == FROM_BAGZ || status == HOLDALL_E_MISSING || (status >= 0 && format == HOLDALL_FORMAT_BAGZ)) return -1;
    if (status >= 0) return usage_error(command, "'%s' becomes a bag, which has records, and '%s' is a %s", args->operands[1], in, container_name(container_of(in)));
    return usage_error(command, "the format of '%s' cannot be detected: --from lines, lengths32, lengths64, tfrecord or arrow", in);
}

static int check_ways(const struct args *args, int64_t from, int64_t as) {
    const struct command *command = args->command;
    const char *in = args->operands[0], *out = args->operands[1];
    if (as == AS_BAGZ) {
        if (strcmp(out, "-") == 0) return check_bag_out(args);
        if (from == NOT_GIVEN) return check_bag_in(args);
        if (from >= FROM_LINES) return -1;
        return usage_error(command, "'%s' becomes a bag, and '%s' has no records: --from lines takes its lines", out, in);
    }
    if (from != NOT_GIVEN && (args->from != NOT_GIVEN || format_at(in) != HOLDALL_FORMAT_BAGZ)) {
        return usage_error(command, "a file of records becomes a bag, not '%s' (--to bagz insists)", out);
    }
    if (as == NOT_GIVEN || as < AS_BAGZ) {
        return usage_error(command, "a bag becomes bagz, lines, lengths32, lengths64, tfrecord, arrow or arrow-stream, not '%s' (--to says which)", out);
    }
    return -1;
}

static int check_usage(const struct args *args, int64_t from, int64_t as) {
    const flag_set never = F_CODEC | F_SHUFFLE | F_CHUNK_SIZE | F_CHECKSUM | F_NO_OFFSETS | F_FORMAT_VERSION | F_DTYPES | F_DTYPE | F_SHAPE |
                           F_ORDER | F_SKIP | F_CHUNKS | F_BLOCKS | F_FILTERS | F_SPARSE | F_BOTH | F_AT;
    const flag_set writer = F_SHARD_COUNT | F_SHARD | F_SEPARATE | F_LEVEL | F_NO_CHECKSUM | F_NO_SYNC | F_NO_LOCK;
    const flag_set reader = F_LIMITS | F_INTERLEAVED | F_UNCHECKED | F_MAP;
    bool to_bag = as == AS_BAGZ, of_bag = from == NOT_GIVEN;
    int wrong = args_refuse(args, never, "arrays, tables and superchunks, not for records");
    if (wrong < 0) wrong = check_ways(args, from, as);
    if (wrong < 0 && !to_bag) wrong = args_refuse(args, writer, "a bag that is written");
    if (wrong < 0 && !of_bag && to_bag) wrong = args_refuse(args, reader, "a bag that is read");
    if (wrong < 0 && from != FROM_ARROW) wrong = args_refuse(args, F_COLUMNS, "--from arrow");
    if (wrong < 0 && from != FROM_TFRECORD && !of_bag) wrong = args_refuse(args, F_SKIP_DAMAGED, "bags and TFRecord files that are read");
    return wrong < 0 && to_bag ? check_bag_out(args) : wrong;
}

/* ---- from a file into a bag ---- */

static uint64_t most_of(const struct args *args) {
    return args->memory_limit == NOT_GIVEN ? MEMORY_LIMIT : (uint64_t)args->memory_limit;
}

static bool take_from_file(struct bag_out *out, int64_t from, uint64_t *damaged) {
    static const enum record_format formats[] = {[FROM_LINES] = RECORDS_LINES, [FROM_LENGTHS32] = RECORDS_LENGTHS32,
                                                 [FROM_LENGTHS64] = RECORDS_LENGTHS64, [FROM_TFRECORD] = RECORDS_TFRECORD};
    const struct args *args = out->args;
    struct input in;
    if (!input_open(&in, args->operands[0], out->path)) return false;
    bool good = bag_out_open(out);
    if (good && from == FROM_ARROW) {
        good = arrow_each(&in, args->columns, most_of(args), bag_out_take, out);
    } else if (good) {
        struct record_parser parser = {.format = formats[from], .in = &in, .most = most_of(args), .skip_damaged = args->skip_damaged};
        good = record_parser_each(&parser, bag_out_take, out);
        *damaged = parser.damaged;
    }
    input_close(&in);
    return good;
}

/* ---- from a bag ---- */

struct giving {
    struct bag_reader *reader;
    records_fn take;
    void *ctx;
};

/* A records_fn that reports progress and stops at a signal. */
static bool pass_on(void *ctx, const struct records *records) {
    const struct giving *giving = ctx;
    progress_report(NULL, giving->reader->done, giving->reader->count);
    return !stopped && giving->take(giving->ctx, records);
}

static bool take_from_bag(const struct args *args, records_fn take, void *ctx, uint64_t *damaged) {
    struct bag_reader reader;
    struct giving giving = {&reader, take, ctx};
    bool good = bag_reader_open(&reader, args, args->operands[0]) && bag_reader_each(&reader, pass_on, &giving);
    *damaged = reader.damaged;
    bag_reader_close(&reader);
    return good;
}

struct copying {
    struct bag_out *out;
    bool checked; /* the first record that is not empty */
};

/* Returns whether the record begins as a zstd frame. */
static bool is_zstd_frame(const unsigned char *record, uint64_t n) {
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    return n >= sizeof magic && memcmp(record, magic, sizeof magic) == 0;
}

/* A records_fn. Frames of a bag that is read as uncompressed would be compressed twice. */
static bool take_once_compressed(void *ctx, const struct records *records) {
    struct copying *copying = ctx;
    const char *in = copying->out->args->operands[0];
    for (size_t i = 0; i < records->count && !copying->checked; i++) {
        uint64_t n = records->offsets[i + 1] - records->offsets[i];
        if (is_zstd_frame((const unsigned char *)records->data + records->offsets[i], n)) {
            complain("%s: its records are zstd frames, and its name does not end in .bagz: a link to it with such a name is "
                     "read decompressed; --from bagz takes the frames as the records", in);
            return false;
        }
        copying->checked = n > 0;
    }
    return bag_out_take(copying->out, records);
}

static bool compresses(const struct args *args) {
    bool by_name = args->compression == NOT_GIVEN || args->compression == COMPRESSION_AUTO;
    return by_name ? ends_in(args->operands[1], ".bagz") : args->compression == COMPRESSION_ZSTD;
}

/* Of two bags, these flags are about the one that is written. */
static bool copy(struct bag_out *out, uint64_t *damaged) {
    struct args reading = *out->args;
    bool decompressed = ends_in(reading.operands[0], ".bagz");
    bool as_they_are = reading.from == FROM_BAGZ || (ends_in(reading.operands[0], ".bag") && !compresses(out->args));
    struct copying copying = {out, decompressed || as_they_are};
    reading.compression = decompressed ? NOT_GIVEN : COMPRESSION_NONE;
    reading.dictionary = NULL;
    return bag_out_open(out) && take_from_bag(&reading, take_once_compressed, &copying, damaged);
}

/* ---- from a bag into a file ---- */

struct printing {
    const struct args *args;
    int64_t as;
    uint64_t records, damaged;
};

static bool print_arrow(struct printing *p) {
    const char *path = p->args->operands[0];
    struct ArrowArrayStream stream;
    static const uint32_t column = 0;
    holdall_error error;
    holdall_options *options = reader_options(p->args);
    bool good = options && (!p->args->skip_damaged || set_option(options, HOLDALL_OPT_SKIP_DAMAGED, 1));
    holdall_bag *bag = good ? open_bag(path, p->args, options) : NULL;
    holdall_options_free(options);
    if (!bag) return false;
    p->records = holdall_bag_record_count(bag);
    good = holdall_bag_to_arrow(bag, 0, p->records, 0, &stream, &error) >= 0;
    if (!good) complain_error(path, &error, "");
    holdall_bag_close(bag);
    if (!good) return false;
    good = arrow_print(&stream, path, &column, 1, p->as == AS_ARROW);
    stream.release(&stream);
    return good;
}

static bool print(void *ctx) {
    static const enum record_format formats[] = {[AS_LINES] = RECORDS_LINES, [AS_LENGTHS32] = RECORDS_LENGTHS32,
                                                 [AS_LENGTHS64] = RECORDS_LENGTHS64, [AS_TFRECORD] = RECORDS_TFRECORD};
    struct printing *p = ctx;
    if (p->as == AS_ARROW || p->as == AS_ARROW_STREAM) return print_arrow(p);
    struct record_printer printer = {.format = formats[p->as], .path = p->args->operands[0]};
    bool good = take_from_bag(p->args, record_printer_take, &printer, &p->damaged);
    p->records = printer.done;
    return good;
}

/* Returns whether no file has a name for compressed records. */
static bool is_plain_by_name(const char *spec) {
    size_t n;
    bool plain = true;
    char *files = holdall_bag_files(spec, NULL, 0, &n, NULL) >= 0 ? malloc(n + 1) : NULL;
    if (!files || holdall_bag_files(spec, files, n, &n, NULL) < 0) return free(files), false; /* opening it reports why */
    for (const char *file = files; plain && file < files + n; file += strlen(file) + 1) plain = !ends_in(file, ".bagz");
    free(files);
    return plain;
}

/* ---- the command ---- */

static int to_file(const struct args *args, int64_t as) {
    struct args reading = *args;
    bool unsaid = args->from == FROM_BAGZ && args->compression == NOT_GIVEN && !args->dictionary;
    if (unsaid && is_plain_by_name(args->operands[0])) reading.compression = COMPRESSION_NONE;
    struct printing p = {.args = &reading, .as = as};
    bool good = print_to_out(args, print, &p);
    progress_clear();
    if (!good && stopped) die_of_signal();
    int code = put_end(good && p.damaged == 0 ? DONE : FAILED);
    if (good && !put_failed() && !args->quiet) {
        note("%s: %" PRIu64 " record%s converted", args->operands[1], p.records, plural(p.records));
    }
    return code;
}

static int to_bag(const struct args *args, int64_t from) {
    uint64_t damaged = 0;
    struct bag_out out = {.args = args, .path = bag_out_path(args, args->operands[1])};
    bool good = out.path && (from == NOT_GIVEN ? copy(&out, &damaged) : take_from_file(&out, from, &damaged)) && !stopped &&
                bag_out_commit(&out);
    progress_clear();
    if (good) bag_out_summarize(&out, "converted");
    bag_out_close(&out);
    if (!good && stopped) die_of_signal();
    return good && damaged == 0 ? DONE : FAILED;
}

int bag_convert(const struct args *args) {
    int64_t from = from_of(args), as = as_of(args);
    /* what a bag is named does not matter where that is clear */
    if (as != AS_BAGZ && args->from == NOT_GIVEN && format_at(args->operands[0]) == HOLDALL_FORMAT_BAGZ) from = NOT_GIVEN;
    int wrong = check_usage(args, from, as);
    if (wrong >= 0) return wrong;
    catch_signals();
    progress_begin("convert", "records", args->quiet);
    return as == AS_BAGZ ? to_bag(args, from) : to_file(args, as);
}
