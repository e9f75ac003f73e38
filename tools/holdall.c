/*
 * holdall: looks into, writes, checks and repairs chunked containers, from the command line.
 *
 * This file knows the commands and what they are called with. The man page is holdall.1.
 */
#define _POSIX_C_SOURCE 200809L

#include "args.h"
#include "report.h"
#include "tool.h"
#include "identify.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

/* Container of the first operand. */
static enum container container_given(const struct args *args) {
    return container_there(args, args->operands[0]);
}

/* Container of the last operand: by --to, else by its name. */
static enum container container_to_be(const struct args *args) {
    const char *out = args->operands[args->operand_count - 1];
    if (args->to != NOT_GIVEN) return (enum container)args->to;
    return ends_in(out, ".blp") || ends_in(out, ".blpk") ? SUPERCHUNK : BAG;
}

static const struct command commands[] = {
    {"info", "PATH", "Describes a container: content, compression, layout, checksums, bytes on disk.",
     F_READER | F_AT | F_UNCHECKED | F_JSON | F_FILES | F_SKIP_DAMAGED | F_QUIET, 1, 1, bag_info, container_given, schunk_info,
     dataset_info},
    {"ls", "PATH", "Lists the datasets in a folder and below it, tables with their columns.",
     F_JSON | F_THREADS | F_MEMORY_LIMIT | F_QUIET, 1, 1, cmd_ls, NULL, NULL, NULL},
    {"cat", "PATH", "Prints the records of a bag, the content of a superchunk, the items of an array in C order, or the rows of a table.",
     F_READER | F_AT | F_UNCHECKED | F_RECORDS | F_SHUFFLE_SEED | F_EPOCH | F_RANK | F_WORLD | F_SLICE | F_ROWS | F_COLUMNS | F_LENGTHS | F_FORMAT | F_SKIP_DAMAGED | F_QUIET, 1, 1, bag_cat,
     container_given, schunk_cat, dataset_cat},
    {"pack", "IN OUT",
     "Writes a file (-: standard input) into a new superchunk, OUT.blp, a .npy as an array, or its lines into a bag.",
     F_TO | F_SHARD_COUNT | F_SHARD | F_INTERLEAVED | F_SEPARATE | F_LIMITS | F_LEVEL | F_APPEND | F_REPLACE | F_COMPRESSION | F_DICTIONARY | F_NO_CHECKSUM |
         F_THREADS | F_NO_SYNC | F_NO_LOCK | F_WHOLE | F_CODEC | F_SHUFFLE | F_TYPESIZE | F_CHUNK_SIZE | F_CHECKSUM |
         F_NO_OFFSETS | F_FORMAT_VERSION | F_METADATA | F_RAW | F_QUIET,
     2, SIZE_MAX, bag_pack, container_to_be, schunk_pack, NULL},
    {"unpack", "IN.blp OUT", "Writes the content of a superchunk, an array in the order of its file, into a file (-: standard output).",
     F_THREADS | F_MAP | F_MEMORY_LIMIT | F_UNCHECKED | F_SKIP_DAMAGED | F_REPLACE | F_QUIET, 2, 2, cmd_unpack, NULL,
     NULL, NULL},
    {"append", "PATH IN", "Appends a file (-: standard input) to the content of a superchunk, or as rows to an array or a table.",
     F_FROM | F_RAW | F_CODEC | F_LEVEL | F_SHUFFLE | F_THREADS | F_MEMORY_LIMIT | F_NO_SYNC | F_NO_LOCK | F_QUIET, 2, 2, cmd_append,
     NULL, NULL, NULL},
    {"convert", "IN OUT",
     "Copies a superchunk, an array, a table or a bag, stored in another way, or makes one of a file, or a file of one.",
     F_LIMITS | F_INTERLEAVED | F_COMPRESSION | F_DICTIONARY | F_SHARD_COUNT | F_SHARD | F_SEPARATE | F_COLUMNS | F_AT |
         F_AS | F_FROM | F_DTYPES | F_DTYPE | F_SHAPE | F_ORDER | F_SKIP | F_CHUNKS | F_BLOCKS | F_FILTERS | F_SPARSE | F_BOTH | F_THREADS | F_MAP | F_MEMORY_LIMIT | F_UNCHECKED | F_SKIP_DAMAGED | F_REPLACE | F_CODEC | F_LEVEL | F_SHUFFLE |
         F_CHUNK_SIZE | F_CHECKSUM | F_NO_CHECKSUM | F_NO_OFFSETS | F_FORMAT_VERSION | F_NO_SYNC | F_NO_LOCK | F_QUIET,
     2, 2, cmd_convert, NULL, NULL, NULL},
    {"trim", "PATH ROWS", "Leaves the first ROWS rows of an array or a table, or (-- -ROWS) takes that many from its end.",
     F_THREADS | F_NO_SYNC | F_NO_LOCK | F_QUIET, 2, 2, cmd_trim, NULL, NULL, NULL},
    {"attr", "get|set|remove PATH [NAME [VALUE]]", "Prints, sets or removes values beside a dataset, which are JSON; metalayers of a frame are shown as that.",
     F_RAW | F_NO_SYNC | F_NO_LOCK | F_QUIET, 2, 4, cmd_attr, NULL, NULL, NULL},
    {"index", "build|find BAG [KEY..]", "Builds an index of a bag, or prints which records equal a key.",
     F_LIMITS | F_LIMITS_STORAGE | F_COMPRESSION | F_DICTIONARY | F_SHARDS | F_INTERLEAVED | F_THREADS | F_MAP | F_MEMORY_LIMIT | F_INDEX |
         F_KEYS | F_REPLACE | F_SKIP_DAMAGED | F_NO_SYNC | F_NO_LOCK | F_QUIET,
     2, SIZE_MAX, cmd_index, NULL, NULL, NULL},
    {"verify", "PATH..", "Reads everything and reports each fault.", F_READER | F_AT | F_PROGRESS | F_QUIET, 1, SIZE_MAX, cmd_verify, NULL,
     NULL, NULL},
    {"repair", "PATH", "Brings what was left torn or damaged back to its last whole state.",
     F_LIMITS | F_COMPRESSION | F_DICTIONARY | F_THREADS | F_MEMORY_LIMIT | F_SKIP_DAMAGED | F_UNCHECKED | F_NO_SYNC |
         F_NO_LOCK | F_DRY_RUN | F_QUIET,
     1, 1, cmd_repair, NULL,
     NULL, NULL},
    {"sum", "PATH..", "Prints a digest of the records, the content, or the items in C order: the same however they are stored.",
     F_READER | F_AT | F_UNCHECKED | F_SUM | F_SLICE | F_QUIET, 1, SIZE_MAX, cmd_sum, NULL, NULL, NULL},
    {"identify", "PATH..", "Prints the format and kind of container of a path.", F_QUIET, 1, SIZE_MAX, cmd_identify,
     NULL, NULL, NULL},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static int print_help(void) {
    put_text("usage: holdall COMMAND [flags] PATH..\n\n");
    for (size_t i = 0; i < COMMANDS; i++) put_text("  %-10s%s\n", commands[i].name, commands[i].purpose);
    put_text("\nA PATH may name several files: a@3.bagz,b.bag. holdall COMMAND --help lists the flags of a command;\n"
             "holdall --version prints the versions. Exit codes: 0 done, 1 failed or damaged, 2 wrong usage.\n");
    return put_end(DONE);
}

static int print_version(void) {
    put_text("holdall %s\n", holdall_version_text());
    return put_end(DONE);
}

/* Returns whether the input does not exist. That is reported before flags that do not apply. */
static bool is_missing(const struct args *args) {
    return args->command->which == container_given &&
           holdall_identify(args->operands[0], NULL, NULL, NULL) == HOLDALL_E_MISSING;
}

static int run_parsed(const struct args *args) {
    const struct command *command = args->command;
    if (!command->which) return command->run(args);
    enum container container = command->which(args);
    int code = is_missing(args) ? -1 : args_fit(args, container);
    if (code >= 0) return code;
    int (*const runs[])(const struct args *) = {command->run, command->run_superchunk, command->run_dataset};
    return runs[container](args);
}

static int run(const struct command *command, int argc, char **argv) {
    struct args args;
    int code = args_parse(command, argc, argv, &args);
    if (code < 0) code = run_parsed(&args);
    args_free(&args);
    return code;
}

/* A descriptor that is closed would be given to the first file that is opened, and what is printed would
 * go into that. It gets one that refuses instead. */
static void hold_standard_descriptors(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) == -1) (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
}

int main(int argc, char **argv) {
    hold_standard_descriptors();
    signal(SIGPIPE, SIG_IGN); /* a reader that has gone is seen as a failed write, and is no failure */
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return print_help();
    if (strcmp(name, "--version") == 0) return print_version();
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0) return run(&commands[i], argc - 2, argv + 2);
    }
    if (argc < 2) {
        complain("no command given (holdall --help lists them)");
    } else {
        complain("unknown command '%s' (holdall --help lists them)", name);
    }
    return USAGE;
}
