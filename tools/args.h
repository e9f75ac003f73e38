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

/* A set of flags, a bit each. */
typedef uint64_t flag_set;

/* A number that was not given: its default is the library's. */
#define NOT_GIVEN INT64_MIN

/* Values of the CHOICE flags: the index of the choice in the table of flags. */
enum { LIMITS_TAIL, LIMITS_SEPARATE };
enum { STORAGE_DISK, STORAGE_MEMORY };
enum { COMPRESSION_AUTO, COMPRESSION_NONE, COMPRESSION_ZSTD };
enum { SHARDS_CONCATENATED, SHARDS_INTERLEAVED };
enum { FORMAT_RAW, FORMAT_NPY, FORMAT_TEXT, FORMAT_CSV, FORMAT_JSONL, FORMAT_ARROW };
/* what a file is that rows, or records, come from */
enum {
    FROM_RAW, FROM_NPY, FROM_CSV, FROM_JSONL, FROM_LINES, FROM_LENGTHS32, FROM_LENGTHS64, FROM_TFRECORD, FROM_ARROW,
    FROM_BAGZ,
};
/* what convert writes */
enum {
    AS_BLPK, AS_BCOLZ, AS_BLZ, AS_BLZ_RFC, AS_NPY, AS_CSV, AS_JSONL, AS_RAW, AS_B2ND, AS_CATERVA, AS_B2FRAME, AS_BLOSCPACK,
    AS_BAGZ, AS_LINES, AS_LENGTHS32, AS_LENGTHS64, AS_TFRECORD, AS_ARROW, AS_ARROW_STREAM,
};
enum { ORDER_C, ORDER_F };
enum { VERSION_1, VERSION_2, VERSION_3, VERSION_RFC };
/* Container at a path, or requested with --to. A dataset is a folder: an array or a table. */
enum container { BAG, SUPERCHUNK, DATASET };

/* Choices in the order of the library's constants, which are the values of these flags. */
#define CODEC_CHOICES "none|blosclz|lz4|lz4hc|snappy|zlib|zstd"
#define FILTER_CHOICES "none|shuffle|bitshuffle"
#define CHECKSUM_CHOICES "none|adler32|crc32|md5|sha1|sha224|sha256|sha384|sha512"

/* A slice as Python writes it; a part that is not there is NOT_GIVEN. */
struct slice {
    bool given;
    int64_t start, stop, step;
};

/* The selection along a dimension: a slice, one index (`slice.start`), or "..." for all dimensions without a part. */
struct pick {
    enum { PICK_RANGE, PICK_ONE, PICK_REST } kind;
    struct slice slice;
};

/* A slice with a part for each dimension, as NumPy has it: "10:20,:,5". None where there is no --slice. */
enum { PICKS_MOST = 17 };
struct picks {
    struct pick items[PICKS_MOST];
    size_t count;
};

/* Record numbers, of which negative ones count from the end, or the numbers of a shape. */
struct numbers {
    int64_t *items;
    size_t count;
};

struct command;

/* A parsed command line. */
struct args {
    const struct command *command;
    flag_set given;
    const char **operands;
    size_t operand_count;
    bool quiet, json, interleaved, progress, lengths, skip_damaged, unchecked, map, dry_run;
    bool separate, append, replace, whole, raw, no_checksum, no_offsets, no_sync, no_lock, files, sparse, both;
    int64_t limits, limits_storage, compression, shards, threads, memory_limit, level, sum;
    int64_t to, as, from, format, codec, shuffle, typesize, chunk_size, checksum, format_version;
    int64_t order, skip, at;
    int64_t shard_count, shard;        /* of the bag that is written */
    int64_t shuffle_seed, epoch, rank, world; /* in which order records are read */
    const char *dictionary, *metadata, *columns, *dtypes, *dtype, *filters, *index, *keys;
    struct slice slice; /* --slice where it is one slice, or --rows where that is one */
    struct picks picks; /* --slice */
    struct numbers records, rows, chunks, blocks, shape;
};

/* One bit a flag: which of them a command takes. */
#define FLAG(n) ((flag_set)1 << (n))
#define F_QUIET FLAG(0)
#define F_JSON FLAG(1)
#define F_RECORDS FLAG(2)
#define F_SLICE FLAG(3)
#define F_LENGTHS FLAG(4)
#define F_SKIP_DAMAGED FLAG(5)
#define F_UNCHECKED FLAG(6)
#define F_LIMITS FLAG(7)
#define F_LIMITS_STORAGE FLAG(8)
#define F_COMPRESSION FLAG(9)
#define F_DICTIONARY FLAG(10)
#define F_SHARDS FLAG(11)
#define F_THREADS FLAG(12)
#define F_MAP FLAG(13)
#define F_MEMORY_LIMIT FLAG(14)
#define F_SEPARATE FLAG(15)
#define F_LEVEL FLAG(16)
#define F_APPEND FLAG(17)
#define F_REPLACE FLAG(18)
#define F_WHOLE FLAG(19)
#define F_NO_CHECKSUM FLAG(20)
#define F_NO_SYNC FLAG(21)
#define F_NO_LOCK FLAG(22)
#define F_SUM FLAG(23)
#define F_TO FLAG(24)
#define F_FORMAT FLAG(25)
#define F_CODEC FLAG(26)
#define F_SHUFFLE FLAG(27)
#define F_TYPESIZE FLAG(28)
#define F_CHUNK_SIZE FLAG(29)
#define F_CHECKSUM FLAG(30)
#define F_NO_OFFSETS FLAG(31)
#define F_FORMAT_VERSION FLAG(32)
#define F_METADATA FLAG(33)
#define F_RAW FLAG(34)
#define F_FILES FLAG(35)
#define F_ROWS FLAG(36)
#define F_COLUMNS FLAG(37)
#define F_DTYPES FLAG(38)
#define F_AS FLAG(39)
#define F_FROM FLAG(40)
#define F_CHUNKS FLAG(41)
#define F_BLOCKS FLAG(42)
#define F_FILTERS FLAG(43)
#define F_SPARSE FLAG(44)
#define F_DTYPE FLAG(45)
#define F_SHAPE FLAG(46)
#define F_ORDER FLAG(47)
#define F_SKIP FLAG(48)
#define F_BOTH FLAG(49)
#define F_SHARD_COUNT FLAG(50)
#define F_SHARD FLAG(51)
#define F_INTERLEAVED FLAG(52)
#define F_AT FLAG(53)
#define F_SHUFFLE_SEED FLAG(54)
#define F_RANK FLAG(55)
#define F_WORLD FLAG(56)
#define F_PROGRESS FLAG(57)
#define F_INDEX FLAG(58)
#define F_KEYS FLAG(59)
#define F_EPOCH FLAG(60)
#define F_DRY_RUN FLAG(61)
/* what everything that opens a container for reading takes */
#define F_READER \
    (F_LIMITS | F_LIMITS_STORAGE | F_COMPRESSION | F_DICTIONARY | F_SHARDS | F_INTERLEAVED | F_THREADS | F_MAP | \
     F_MEMORY_LIMIT)
/* what means nothing to anything but bags, to anything but superchunks, to bags, and to anything but datasets */
#define F_BAGS \
    (F_RECORDS | F_LENGTHS | F_LIMITS | F_LIMITS_STORAGE | F_COMPRESSION | F_DICTIONARY | F_SHARDS | F_INTERLEAVED | \
     F_SEPARATE | F_APPEND | F_WHOLE | F_SHARD_COUNT | F_SHARD | F_SHUFFLE_SEED | F_EPOCH | F_RANK | F_WORLD)
#define F_SUPERCHUNKS \
    (F_CODEC | F_SHUFFLE | F_TYPESIZE | F_CHUNK_SIZE | F_CHECKSUM | F_NO_OFFSETS | F_FORMAT_VERSION | F_METADATA | F_RAW)
#define F_NO_BAGS (F_FORMAT | F_ROWS | F_AT)
#define F_DATASETS (F_FILES | F_COLUMNS | F_DTYPES)

/* A command of the tool. */
struct command {
    const char *name;
    const char *operands; /* as the usage line shows them */
    const char *purpose;
    flag_set flags;
    size_t least, most; /* operands */
    int (*run)(const struct args *args);
    /* If set, returns the container of the command: `run` is for bags, the others are for superchunks and datasets.
     * Flags that do not apply to that container are refused. */
    enum container (*which)(const struct args *args);
    int (*run_superchunk)(const struct args *args);
    int (*run_dataset)(const struct args *args);
};

/*
 * Parses what follows the command's name. Returns -1 where the command is to run; otherwise the exit
 * code to end with (help was printed, or the usage was wrong and that was said).
 */
int args_parse(const struct command *command, int argc, char **argv, struct args *args);
void args_free(struct args *args);

/* Refuses flags that mean nothing to a container; returns as args_parse() does. */
int args_fit(const struct args *args, enum container container);

/* Refuses some flags, which are for `what`; returns as args_parse() does. */
int args_refuse(const struct args *args, flag_set flags_refused, const char *what);

/* Refuses a --slice that is none of A:B:C; `what` has one dimension. Returns as args_parse() does. */
int args_plain_slice(const struct args *args, const char *what);

/* Says what is wrong with the usage, in one line with a hint; returns the exit code for that. */
int usage_error(const struct command *command, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

#endif
