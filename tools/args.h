/*
 * The command line: which flags there are, what they take, and their parsed values.
 *
 * All flags are in one table (args.c), from which parsing, usage errors and help follow; a command only
 * says which of them it takes.
 */
#ifndef ARGS_H
#define ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number that was not given: its default is the library's. */
#define NOT_GIVEN INT64_MIN

/* The flags with a choice of words: their values are the words' places in the table. */
enum { LIMITS_TAIL, LIMITS_SEPARATE };
enum { STORAGE_DISK, STORAGE_MEMORY };
enum { COMPRESSION_AUTO, COMPRESSION_NONE, COMPRESSION_ZSTD };
enum { SHARDS_CONCATENATED, SHARDS_INTERLEAVED };

/* A slice as Python writes it; a part that is not there is NOT_GIVEN. */
struct slice {
    bool given;
    int64_t start, stop, step;
};

/* Record numbers; negative ones count from the end. */
struct numbers {
    int64_t *items;
    size_t count;
};

struct command;

/* A parsed command line. */
struct args {
    const struct command *command;
    const char **operands;
    size_t operand_count;
    bool quiet, json, lengths, skip_damaged, unchecked, map;
    bool separate, append, replace, whole, no_checksum, no_sync, no_lock;
    int64_t limits, limits_storage, compression, shards, threads, memory_limit, level, sum;
    const char *dictionary;
    struct slice slice;
    struct numbers records;
};

/* One bit a flag: which of them a command takes. */
enum {
    F_QUIET = 1 << 0,
    F_JSON = 1 << 1,
    F_RECORDS = 1 << 2,
    F_SLICE = 1 << 3,
    F_LENGTHS = 1 << 4,
    F_SKIP_DAMAGED = 1 << 5,
    F_UNCHECKED = 1 << 6,
    F_LIMITS = 1 << 7,
    F_LIMITS_STORAGE = 1 << 8,
    F_COMPRESSION = 1 << 9,
    F_DICTIONARY = 1 << 10,
    F_SHARDS = 1 << 11,
    F_THREADS = 1 << 12,
    F_MAP = 1 << 13,
    F_MEMORY_LIMIT = 1 << 14,
    F_SEPARATE = 1 << 15,
    F_LEVEL = 1 << 16,
    F_APPEND = 1 << 17,
    F_REPLACE = 1 << 18,
    F_WHOLE = 1 << 19,
    F_NO_CHECKSUM = 1 << 20,
    F_NO_SYNC = 1 << 21,
    F_NO_LOCK = 1 << 22,
    F_SUM = 1 << 23,
    /* what everything that opens a bag for reading takes */
    F_READER = F_LIMITS | F_LIMITS_STORAGE | F_COMPRESSION | F_DICTIONARY | F_SHARDS | F_THREADS | F_MAP |
               F_MEMORY_LIMIT
};

/* A command of the tool. */
struct command {
    const char *name;
    const char *operands; /* as the usage line shows them */
    const char *purpose;
    uint32_t flags;
    size_t least, most; /* operands */
    int (*run)(const struct args *args);
};

/*
 * Parses what follows the command's name. Returns -1 where the command is to run; otherwise the exit
 * code to end with (help was printed, or the usage was wrong and that was said).
 */
int args_parse(const struct command *command, int argc, char **argv, struct args *args);
void args_free(struct args *args);

/* Says what is wrong with the usage, in one line with a hint; returns the exit code for that. */
int usage_error(const struct command *command, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

#endif
