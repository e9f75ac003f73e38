/*
 * Parses the command line: one table of flags, one function a kind of value.
 *
 * Not getopt_long: it takes abbreviated flags, which break scripts when flags are added, and formats its
 * own messages.
 */
#define _POSIX_C_SOURCE 200809L

#include "args.h"
#include "report.h"
#include "slice.h"
#include "text.h"
#include "identify.h"
#include "tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kind of the value of a flag. */
enum kind { SWITCH, CHOICE, NUMBER, SIZE, TEXT, SLICE, NUMBERS, ROWS };

struct flag {
    const char *name;
    flag_set bit;
    enum kind kind;
    const char *value; /* name of the value in the help; choices of a CHOICE; NULL for a SWITCH */
    size_t offset;     /* of the member of struct args */
    int64_t low, high; /* of a NUMBER, a SIZE, NUMBERS; both 0: any */
    const char *help;
};

#define AT(member) offsetof(struct args, member)

/* The largest chunk that the library takes. */
enum { CHUNK_MOST = 2147483615 };

static const struct flag flags[] = {
    {"json", F_JSON, SWITCH, NULL, AT(json), 0, 0, "print one JSON object"},
    {"records", F_RECORDS, NUMBERS, "I,J,..", AT(records), 0, 0, "only these records, in this order; -1 is the last"},
    {"slice", F_SLICE, SLICE, "A:B:C[,..]", AT(picks), 0, 0, "only this slice, as in Python; of an array with a part for each dimension: 10:20,:,5"},
    {"files", F_FILES, SWITCH, NULL, AT(files), 0, 0, "list the files that it is made of, one a line; what is missing is marked"},
    {"rows", F_ROWS, ROWS, "A:B:C|I,J,..", AT(rows), 0, 0, "only these rows of an array or a table: a slice as in Python, or a list"},
    {"columns", F_COLUMNS, TEXT, "X,Y,..", AT(columns), 0, 0, "only these columns of a table, in this order"},
    {"shuffle", F_SHUFFLE_SEED, NUMBER, "SEED", AT(shuffle_seed), 0, INT64_MAX, "all records once, in an order that this number decides"},
    {"epoch", F_EPOCH, NUMBER, "N", AT(epoch), 0, INT64_MAX, "with --shuffle: the order of another epoch (default: 0)"},
    {"rank", F_RANK, NUMBER, "I", AT(rank), 0, UINT32_MAX, "with --shuffle: each --world'th record of that order alone, from record I on"},
    {"world", F_WORLD, NUMBER, "N", AT(world), 1, UINT32_MAX, "with --shuffle: into how many parts the order is split"},
    {"lengths", F_LENGTHS, SWITCH, NULL, AT(lengths), 0, 0, "each record after its length, 8 bytes, little-endian"},
    {"skip-damaged", F_SKIP_DAMAGED, SWITCH, NULL, AT(skip_damaged), 0, 0,
     "report damaged records and go on (exit code 1)"},
    {"format", F_FORMAT, CHOICE, "raw|npy|text|csv|jsonl|arrow", AT(format), 0, 0,
     "bytes, a NumPy file, a number a line, CSV, JSON lines, or (tables) an Arrow IPC stream (default: csv for tables, else raw)"},
    {"sum", F_SUM, CHOICE, "sha256|crc32|adler32|md5|sha1|sha224|sha384|sha512", AT(sum), 0, 0,
     "the kind of digest (default: sha256)"},
    {"to", F_TO, CHOICE, "bagz|blpk", AT(to), 0, 0,
     "write a bag, or a superchunk (default: as OUT is named, blpk for .blp, too)"},
    {"to", F_AS, CHOICE,
     "blpk|bcolz|blz|blz-rfc|npy|csv|jsonl|raw|b2nd|caterva|b2frame|bloscpack|bagz|lines|lengths32|lengths64|tfrecord|arrow|"
     "arrow-stream",
     AT(as), 0, 0,
     "what OUT becomes (default: as it is named; else bcolz for rows of a table, blpk for all else); bloscpack is blpk"},
    {"from", F_FROM, CHOICE, "raw|npy|csv|jsonl|lines|lengths32|lengths64|tfrecord|arrow|bagz", AT(from), 0, 0,
     "what the file IN is (default: as it is named; else raw)"},
    {"dtypes", F_DTYPES, TEXT, "X=DTYPE,..", AT(dtypes), 0, 0,
     "types of columns of CSV or JSON lines, as NumPy spells them, instead of those that fit"},
    {"dtype", F_DTYPE, TEXT, "DTYPE", AT(dtype), 0, 0, "the type of the items of a file without a header, as NumPy spells it: '<i2'"},
    {"shape", F_SHAPE, NUMBERS, "I,J,..", AT(shape), 0, INT64_MAX, "their shape (default: one dimension)"},
    {"order", F_ORDER, CHOICE, "C|F", AT(order), 0, 0, "C: their last index runs fastest, F: the first one does (default: C)"},
    {"skip", F_SKIP, SIZE, "BYTES", AT(skip), 0, 0, "leave out so many bytes in front of them"},
    {"chunks", F_CHUNKS, NUMBERS, "I,J,..", AT(chunks), 1, INT64_MAX, "the shape of a chunk of an array (default: one that suits)"},
    {"blocks", F_BLOCKS, NUMBERS, "I,J,..", AT(blocks), 1, INT64_MAX, "the shape of a block of a chunk (default: one that suits)"},
    {"sparse", F_SPARSE, SWITCH, NULL, AT(sparse), 0, 0, "b2nd, caterva and b2frame: a folder with a file for each chunk"},
    {"both", F_BOTH, SWITCH, NULL, AT(both), 0, 0, "b2nd and caterva: readers of both see the array"},
    {"filters", F_FILTERS, TEXT, "X,Y,..", AT(filters), 0, 0, "what sorts the items first, in this order: shuffle, bitshuffle, delta, bytedelta; or none"},
    {"shards", F_SHARD_COUNT, NUMBER, "N", AT(shard_count), 1, 99999,
     "write N files, a record to each in turn: OUT.bagz becomes OUT-00000-of-0000N.bagz and so on"},
    {"shard", F_SHARD, NUMBER, "I", AT(shard), 0, 99998, "write shard I of them alone, the first is 0"},
    {"separate", F_SEPARATE, SWITCH, NULL, AT(separate), 0, 0, "write the limits to a file of their own, limits.OUT"},
    {"codec", F_CODEC, CHOICE, CODEC_CHOICES, AT(codec), 0, 0, "what compresses the chunks (default: lz4)"},
    {"level", F_LEVEL, NUMBER, "N", AT(level), -131072, 22,
     "1 fast to 9 small (default: 5); bags: zstd's, to 22 (default: 3)"},
    {"shuffle", F_SHUFFLE, CHOICE, FILTER_CHOICES, AT(shuffle), 0, 0,
     "what sorts the bytes, or bits, of the items first (default: shuffle)"},
    {"typesize", F_TYPESIZE, NUMBER, "N", AT(typesize), 1, 255, "bytes of an item (default: 8)"},
    {"chunk-size", F_CHUNK_SIZE, SIZE, "BYTES", AT(chunk_size), 1, CHUNK_MOST,
     "content of a chunk, whole items; K, M, G (default: 1M)"},
    {"checksum", F_CHECKSUM, CHOICE, CHECKSUM_CHOICES, AT(checksum), 0, 0, "checksums of the chunks (default: crc32)"},
    {"no-offsets", F_NO_OFFSETS, SWITCH, NULL, AT(no_offsets), 0, 0, "write no table of where the chunks are"},
    {"format-version", F_FORMAT_VERSION, CHOICE, "1|2|3|rfc", AT(format_version), 0, 0,
     "layout of the header (default: 3)"},
    {"metadata", F_METADATA, TEXT, "FILE", AT(metadata), 0, 0, "JSON to store with the content"},
    {"raw", F_RAW, SWITCH, NULL, AT(raw), 0, 0, "take a .npy as the bytes that it is, not as an array"},
    {"append", F_APPEND, SWITCH, NULL, AT(append), 0, 0, "go on with OUT, which must be there"},
    {"replace", F_REPLACE, SWITCH, NULL, AT(replace), 0, 0, "replace OUT, if it exists, at the end"},
    {"force", F_REPLACE, SWITCH, NULL, AT(replace), 0, 0, "the same"},
    {"whole", F_WHOLE, SWITCH, NULL, AT(whole), 0, 0, "each input file is one record"},
    {"no-checksum", F_NO_CHECKSUM, SWITCH, NULL, AT(no_checksum), 0, 0, "write no checksums"},
    {"no-sync", F_NO_SYNC, SWITCH, NULL, AT(no_sync), 0, 0, "do not wait until the disk has it"},
    {"no-lock", F_NO_LOCK, SWITCH, NULL, AT(no_lock), 0, 0, "take no lock: no other process may be writing"},
    {"limits", F_LIMITS, CHOICE, "tail|separate", AT(limits), 0, 0, "where the limits are (default: tail)"},
    {"limits-storage", F_LIMITS_STORAGE, CHOICE, "disk|memory", AT(limits_storage), 0, 0,
     "read limits at need, or once (default: disk)"},
    {"compression", F_COMPRESSION, CHOICE, "auto|none|zstd", AT(compression), 0, 0,
     "auto: zstd where the name ends in .bagz"},
    {"dictionary", F_DICTIONARY, TEXT, "FILE", AT(dictionary), 0, 0, "a zstd dictionary"},
    {"shards", F_SHARDS, CHOICE, "concatenated|interleaved", AT(shards), 0, 0,
     "order over several files (default: as they were written)"},
    {"interleaved", F_INTERLEAVED, SWITCH, NULL, AT(interleaved), 0, 0, "the same as --shards interleaved: a record of each file in turn"},
    {"at", F_AT, SIZE, "BYTES", AT(at), 0, 0, "the frame begins so far in the file; K, M, G (default: 0)"},
    {"threads", F_THREADS, NUMBER, "N", AT(threads), 0, 65536, "threads to use (default: 0, all processors)"},
    {"map", F_MAP, SWITCH, NULL, AT(map), 0, 0, "map files instead of reading them"},
    {"memory-limit", F_MEMORY_LIMIT, SIZE, "BYTES", AT(memory_limit), 0, 0,
     "memory that a file may make us take; K, M, G"},
    {"unchecked", F_UNCHECKED, SWITCH, NULL, AT(unchecked), 0, 0, "do not verify checksums stored with the data"},
    {"index", F_INDEX, TEXT, "FILE", AT(index), 0, 0, "the file of the index (default: BAG.index)"},
    {"keys", F_KEYS, TEXT, "FILE", AT(keys), 0, 0, "find the lines of a file (-: standard input), and print the first record of each, or none"},
    {"dry-run", F_DRY_RUN, SWITCH, NULL, AT(dry_run), 0, 0, "change nothing: report what would be done, with that exit code"},
    {"progress", F_PROGRESS, SWITCH, NULL, AT(progress), 0, 0, "report progress even if standard error is not a terminal"},
    {"quiet", F_QUIET, SWITCH, NULL, AT(quiet), 0, 0, "only errors"},
};

enum { FLAGS = sizeof flags / sizeof *flags };

#define LEVEL_HELP "0 stored as it is, 1 fast to 9 small (default: 5)"
#define ZEROS_HELP "report damaged chunks, write zeros for them (exit code 1)"
/* Help texts of flags that differ by command. */
static const struct {
    const char *command;
    flag_set bit;
    const char *help;
} own_help[] = {
    {"append", F_CODEC, "what compresses new chunks (default: that of the last chunk)"},
    {"append", F_LEVEL, LEVEL_HELP},
    {"attr", F_RAW, "the value as it is stored: get prints these bytes, set takes them from the file VALUE (-: standard input)"},
    {"append", F_SHUFFLE, "what sorts the bytes, or bits, of the items first (default: that of the last chunk)"},
    {"convert", F_CODEC, "what compresses the chunks (default: that of the last chunk of IN)"},
    {"convert", F_LIMITS, "of a bag that is read: where the limits are (default: tail)"},
    {"convert", F_INTERLEAVED, "of several files that are read a record of each in turn"},
    {"convert", F_SKIP_DAMAGED, "report damaged chunks, write zeros for them; leave out damaged records (exit code 1)"},
    {"convert", F_COLUMNS, "--from arrow: the column whose values become the records (default: the only one of text or bytes)"},
    {"convert", F_SHUFFLE, "what sorts the bytes, or bits, of the items first (default: that of the last chunk of IN)"},
    {"convert", F_CHUNK_SIZE, "content of a chunk, whole items; K, M, G (default: as in IN)"},
    {"convert", F_CHECKSUM, "checksums of the chunks (default: as in IN; crc32 where it has none)"},
    {"unpack", F_SKIP_DAMAGED, ZEROS_HELP},
    {"repair", F_SKIP_DAMAGED, "datasets: damaged chunks become the default value, lost columns go"},
    {"index", F_SKIP_DAMAGED, "leave out damaged records, and parts of the index (exit code 1 where there are some)"},
    {"index", F_REPLACE, "replace an existing index"},
    {"repair", F_UNCHECKED, "datasets: take the small files as they are, whatever their checksums say"},
};

static const char *help_of(const struct command *command, const struct flag *flag) {
    for (size_t i = 0; i < sizeof own_help / sizeof *own_help; i++) {
        if (own_help[i].bit == flag->bit && strcmp(own_help[i].command, command->name) == 0) return own_help[i].help;
    }
    return flag->help;
}

/* ---- usage errors ---- */

/* Bytes of an operand in a message. The reason comes after it, and there may be two. */
enum { OPERAND_SHOWN = 240 };

/* The command line: one is parsed in a run. */
static const struct args *parsed;

/* Shortens the operand wherever it stands in the message. */
static void shorten_operand(char *message, const char *operand) {
    size_t length = strlen(operand);
    char *shown = length > OPERAND_SHOWN ? strdup(operand) : NULL;
    if (!shown) return;
    shorten(shown, OPERAND_SHOWN);
    for (char *at = message; (at = strstr(at, operand)) != NULL; at += strlen(shown)) {
        memmove(at + strlen(shown), at + length, strlen(at + length) + 1);
        memcpy(at, shown, strlen(shown));
    }
    free(shown);
}

int usage_error(const struct command *command, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *message = text_format(format, list);
    va_end(list);
    if (!message) return complain("out of memory"), USAGE;
    for (size_t i = 0; parsed && i < parsed->operand_count; i++) shorten_operand(message, parsed->operands[i]);
    complain("%s: %s (usage: holdall %s [flags] %s; more: holdall %s --help)", command->name, message, command->name,
             command->operands, command->name);
    free(message);
    return USAGE;
}

/* ---- values ---- */

/* Returns whether the level is that of chunks. The level of bags has another range. */
static bool is_chunk_level(const struct command *command, const struct flag *flag) {
    return flag->bit == F_LEVEL && !(command->flags & F_BAGS);
}

static bool parse_number(const struct command *command, const struct flag *flag, const char *text, int64_t *value) {
    const char *end;
    bool chunks = is_chunk_level(command, flag);
    int64_t low = chunks ? 0 : flag->low, high = chunks ? 9 : flag->high;
    return slice_number(text, &end, value) && *end == '\0' && *value >= low && *value <= high;
}

static bool parse_size(const char *text, int64_t *value) {
    static const char units[] = "KMG";
    const char *end;
    if (!slice_number(text, &end, value) || *value < 0) return false;
    if (*end == '\0') return *value < INT64_MAX;
    const char *unit = strchr(units, *end >= 'a' ? *end - ('a' - 'A') : *end);
    if (!unit || end[1] != '\0') return false;
    int shift = 10 * (int)(unit - units + 1);
    if (*value > INT64_MAX >> shift) return false;
    *value <<= shift;
    return true;
}

/* Parses one of the choices "a|b|c". */
static bool parse_choice(const char *choices, const char *text, int64_t *value) {
    size_t length = strlen(text);
    for (*value = 0;; ++*value) {
        size_t n = strcspn(choices, "|");
        if (n == length && memcmp(choices, text, n) == 0) return true;
        if (choices[n] == '\0') return false;
        choices += n + 1;
    }
}

/* A:B:C, and for arrays more such parts, each for a dimension. */
static bool parse_picks(const char *text, struct args *args) {
    if (!picks_parse(text, &args->picks)) return false;
    bool one = args->picks.count == 1 && args->picks.items[0].kind == PICK_RANGE;
    args->slice = one ? args->picks.items[0].slice : (struct slice){.given = false};
    return true;
}

/* I,J,.. */
static bool parse_numbers(const char *text, struct numbers *numbers) {
    size_t most = 1;
    for (const char *c = text; *c; c++) most += *c == ',';
    int64_t *items = calloc(most, sizeof *items);
    if (!items) return false;
    size_t count = 0;
    while (slice_number(text, &text, &items[count])) {
        count++;
        if (*text == '\0') {
            free(numbers->items);
            *numbers = (struct numbers){items, count};
            return true;
        }
        if (*text++ != ',') break;
    }
    free(items);
    return false;
}

/* A slice or a list; of two the last one counts. */
static bool parse_rows(const char *text, struct args *args) {
    free(args->rows.items);
    args->rows = (struct numbers){NULL, 0};
    args->slice.given = false;
    return strchr(text, ':') ? slice_parse(text, &args->slice) : parse_numbers(text, &args->rows);
}

/* ---- flags ---- */

static const struct flag *find_flag(const struct command *command, const char *name, size_t length) {
    for (size_t i = 0; i < FLAGS; i++) {
        const struct flag *f = &flags[i];
        if ((f->bit & command->flags) && strlen(f->name) == length && memcmp(f->name, name, length) == 0) return f;
    }
    return NULL;
}

static bool is_within(const struct flag *flag, int64_t value) {
    return flag->high == 0 || (value >= flag->low && value <= flag->high);
}

static bool are_within(const struct flag *flag, const struct numbers *numbers) {
    for (size_t i = 0; i < numbers->count; i++) {
        if (!is_within(flag, numbers->items[i])) return false;
    }
    return true;
}

static bool store(const struct flag *flag, const char *value, struct args *args) {
    void *member = (char *)args + flag->offset;
    args->given |= flag->bit;
    switch (flag->kind) {
    case SWITCH: *(bool *)member = true; return true;
    case CHOICE: return parse_choice(flag->value, value, member);
    case NUMBER: return parse_number(args->command, flag, value, member);
    case SIZE: return parse_size(value, member) && is_within(flag, *(int64_t *)member);
    case TEXT: *(const char **)member = value; return true;
    case SLICE: return parse_picks(value, args);
    case NUMBERS: return parse_numbers(value, member) && are_within(flag, member);
    case ROWS: return parse_rows(value, args);
    }
    return false;
}

static int invalid_value(const struct command *command, const struct flag *flag, const char *value) {
    switch (flag->kind) {
    case CHOICE: return usage_error(command, "--%s takes %s, not '%s'", flag->name, flag->value, value);
    case NUMBER:
        if (flag->bit == F_LEVEL) {
            return usage_error(command, "--%s takes a whole number from 0 to 9%s, not '%s'", flag->name,
                               is_chunk_level(command, flag) ? "" : " for superchunks, from -131072 to 22 for bags", value);
        }
        return usage_error(command, "--%s takes a whole number from %lld to %lld, not '%s'", flag->name,
                           (long long)flag->low, (long long)flag->high, value);
    case SIZE:
        if (flag->high > 0) {
            return usage_error(command, "--%s takes bytes from %lld to %lld, as 4096, 64K or 16M, not '%s'", flag->name,
                               (long long)flag->low, (long long)flag->high, value);
        }
        return usage_error(command, "--%s takes bytes, as 4096, 64K, 16M or 2G, not '%s'", flag->name, value);
    case SLICE:
        return usage_error(command, "--%s takes A:B or A:B:C with C not 0, and of an array such a part, a number or ... for each dimension, as 3:4,:,5; not '%s'",
                           flag->name, value);
    case ROWS: return usage_error(command, "--%s takes A:B, A:B:C or whole numbers, as 0,5,-1, not '%s'", flag->name, value);
    default:
        if (flag->high > 0) {
            return usage_error(command, "--%s takes whole numbers of at least %lld, as 80,100,100, not '%s'", flag->name,
                               (long long)flag->low, value);
        }
        return usage_error(command, "--%s takes whole numbers, as %s, not '%s'", flag->name,
                           flag->bit == F_RECORDS ? "0,5,-1" : "80,100,100", value);
    }
}

/* One "--name", "--name=value" or "--name value"; *i is moved beyond a value that it took. */
static int parse_flag(struct args *args, int argc, char **argv, int *i) {
    const struct command *command = args->command;
    const char *name = argv[*i] + 2;
    size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    const struct flag *flag = find_flag(command, name, length);
    if (!flag) return usage_error(command, "unknown flag --%.*s", (int)length, name);
    if (flag->kind == SWITCH && value) return usage_error(command, "--%s takes no value", flag->name);
    if (flag->kind != SWITCH && !value && *i + 1 < argc) value = argv[++*i];
    if (flag->kind != SWITCH && (!value || *value == '\0')) {
        return usage_error(command, "--%s needs a value, %s", flag->name, flag->value);
    }
    return store(flag, value, args) ? -1 : invalid_value(command, flag, value);
}

/* The container that a flag is for, where it is not for both. */
static const char *only_for(const struct flag *flag) {
    if (flag->bit & F_AT) return "frames";
    if (flag->bit & F_NO_BAGS) return "superchunks and datasets";
    return flag->bit & F_BAGS ? "bags" : flag->bit & F_SUPERCHUNKS ? "superchunks" : flag->bit & F_DATASETS ? "datasets" : NULL;
}

/* `both`: the command takes flags that are for bags only, and others that are for superchunks only. */
static void print_flag(const struct command *command, const struct flag *flag, bool both) {
    const char *only = both && help_of(command, flag) == flag->help ? only_for(flag) : NULL;
    char left[256];
    snprintf(left, sizeof left, "%s--%s%s%s", flag->bit == F_QUIET ? "-q, " : "", flag->name, flag->value ? " " : "",
             flag->value ? flag->value : "");
    if (strlen(left) > 36) { /* a long list of choices has its own line */
        put_text("  %s\n", left);
        left[0] = '\0';
    }
    put_text("  %-36s  %s%s%s\n", left, only ? only : "", only ? ": " : "", help_of(command, flag));
}

static void print_help(const struct command *command) {
    put_text("usage: holdall %s [flags] %s\n%s\n\n", command->name, command->operands, command->purpose);
    bool both = (command->flags & F_BAGS) && (command->flags & F_SUPERCHUNKS);
    for (size_t i = 0; i < FLAGS; i++) {
        if (flags[i].bit & command->flags) print_flag(command, &flags[i], both);
    }
    put_text("  %-36s  %s\n", "-h, --help", "this text");
}

/* ---- the whole line ---- */

static int parse_word(struct args *args, int argc, char **argv, int *i) {
    const char *word = argv[*i];
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
        print_help(args->command);
        return put_end(DONE);
    }
    if (strcmp(word, "-q") == 0) {
        args->quiet = true;
        return -1;
    }
    if (strncmp(word, "--", 2) == 0) return parse_flag(args, argc, argv, i);
    if (word[0] == '-' && word[1] != '\0') return usage_error(args->command, "unknown flag %s", word);
    args->operands[args->operand_count++] = word;
    return -1;
}

static int check_operands(const struct args *args) {
    const struct command *command = args->command;
    if (args->operand_count < command->least) return usage_error(command, "an operand is missing");
    if (args->operand_count > command->most) {
        return usage_error(command, "one operand too many, '%s'", args->operands[command->most]);
    }
    for (size_t i = 0; i < args->operand_count; i++) {
        if (args->operands[i][0] == '\0') return usage_error(command, "an operand is empty");
    }
    return -1;
}

int args_parse(const struct command *command, int argc, char **argv, struct args *args) {
    *args = (struct args){.command = command, .limits = NOT_GIVEN, .limits_storage = NOT_GIVEN,
                          .compression = NOT_GIVEN, .shards = NOT_GIVEN, .threads = NOT_GIVEN,
                          .memory_limit = NOT_GIVEN, .level = NOT_GIVEN, .sum = NOT_GIVEN, .to = NOT_GIVEN,
                          .as = NOT_GIVEN, .from = NOT_GIVEN,
                          .format = NOT_GIVEN, .codec = NOT_GIVEN, .shuffle = NOT_GIVEN, .typesize = NOT_GIVEN,
                          .chunk_size = NOT_GIVEN, .checksum = NOT_GIVEN, .format_version = NOT_GIVEN,
                          .order = NOT_GIVEN, .skip = NOT_GIVEN, .at = NOT_GIVEN, .shard_count = NOT_GIVEN, .shard = NOT_GIVEN,
                          .shuffle_seed = NOT_GIVEN, .epoch = NOT_GIVEN, .rank = NOT_GIVEN, .world = NOT_GIVEN};
    args->operands = calloc((size_t)argc + 1, sizeof *args->operands);
    if (!args->operands) return complain("out of memory"), FAILED;
    parsed = args;
    bool only_operands = false;
    for (int i = 0; i < argc; i++) {
        if (only_operands) {
            args->operands[args->operand_count++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else {
            int code = parse_word(args, argc, argv, &i);
            if (code >= 0) return code;
        }
    }
    if ((args->given & F_ROWS) && (args->given & F_SLICE)) return usage_error(command, "--rows and --slice exclude each other");
    return check_operands(args);
}

int args_fit(const struct args *args, enum container container) {
    static const flag_set not_for[] = {[BAG] = F_SUPERCHUNKS | F_NO_BAGS | F_DATASETS,
                                       [SUPERCHUNK] = F_BAGS | F_DATASETS,
                                       [DATASET] = F_BAGS | F_SUPERCHUNKS};
    flag_set others = not_for[container] & args->given;
    for (size_t i = 0; i < FLAGS; i++) {
        if (!(flags[i].bit & others)) continue;
        return usage_error(args->command, "--%s is for %s, and this is a %s", flags[i].name, only_for(&flags[i]),
                           container_name(container));
    }
    return container == BAG ? args_plain_slice(args, "a bag") : -1;
}

int args_refuse(const struct args *args, flag_set flags_refused, const char *what) {
    for (size_t i = 0; i < FLAGS; i++) {
        if (!(flags[i].bit & flags_refused & args->given)) continue;
        return usage_error(args->command, "--%s is for %s", flags[i].name, what);
    }
    return -1;
}

int args_plain_slice(const struct args *args, const char *what) {
    if (args->picks.count == 0 || args->slice.given) return -1;
    return usage_error(args->command, "--slice takes A:B or A:B:C here, %s has one dimension; 3:4 is item 3 alone", what);
}

void args_free(struct args *args) {
    if (parsed == args) parsed = NULL;
    free(args->operands);
    free(args->records.items);
    free(args->rows.items);
    free(args->chunks.items);
    free(args->blocks.items);
    free(args->shape.items);
}
