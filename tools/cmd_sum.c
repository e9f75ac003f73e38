/*
 * holdall sum: a digest of what is in it.
 */
#include "arrays.h"
#include "bags.h"
#include "dataset.h"
#include "frame_print.h"
#include "options.h"
#include "report.h"
#include "schunks.h"
#include "signals.h"
#include "tool.h"
#include "identify.h"

#include <stddef.h>

/* The library's constants for the choices of --sum, in their order. */
static const int32_t checksums[] = {HOLDALL_CHECKSUM_SHA256, HOLDALL_CHECKSUM_CRC32,  HOLDALL_CHECKSUM_ADLER32, HOLDALL_CHECKSUM_MD5,
                               HOLDALL_CHECKSUM_SHA1,   HOLDALL_CHECKSUM_SHA224, HOLDALL_CHECKSUM_SHA384,  HOLDALL_CHECKSUM_SHA512};

/* Digests are printed as their bytes; the two that are numbers as the number, as other tools do. */
static void print_digest(const unsigned char *digest, size_t n, int32_t sum) {
    bool number = sum == HOLDALL_CHECKSUM_CRC32 || sum == HOLDALL_CHECKSUM_ADLER32; /* little-endian */
    for (size_t i = 0; i < n; i++) put_text("%02x", digest[number ? n - 1 - i : i]);
}

/* Room for the largest digest, and its bytes. */
struct digest {
    unsigned char bytes[64];
    size_t n;
};

static bool sum_bag(const struct args *args, const char *path, const holdall_options *options, int32_t sum,
                    struct digest *to) {
    holdall_error error;
    holdall_bag *bag = args_plain_slice(args, "a bag") < 0 ? open_bag(path, args, options) : NULL;
    if (!bag) return false;
    holdall_status status = holdall_bag_checksum(bag, sum, to->bytes, sizeof to->bytes, &to->n, &error);
    holdall_bag_close(bag);
    if (status < 0) complain_error(path, &error, "");
    return status >= 0;
}

static bool to_digest(void *ctx, const void *bytes, size_t n) {
    return holdall_checksum_update(ctx, bytes, n, NULL) >= 0;
}

/* The digest of what cat prints. */
static bool sum_given(const struct args *args, struct source *source, const holdall_array *array, int32_t sum,
                      struct digest *to) {
    holdall_checksum *digest = NULL;
    bool good = (array || args_plain_slice(args, "a superchunk") < 0) && holdall_checksum_new(sum, &digest, NULL) >= 0 &&
                (array ? array_give(args, source, array, to_digest, digest)
                       : source_give(source, args, to_digest, digest)) &&
                holdall_checksum_finish(digest, to->bytes, sizeof to->bytes, &to->n, NULL) >= 0;
    holdall_checksum_free(digest);
    return good;
}

/* A rows_fn: rows as cat prints them raw. */
static bool rows_to_digest(void *ctx, const struct frame *frame) {
    struct text packed = {.bytes = NULL};
    bool good = true;
    for (uint64_t row = 0; good && row < frame->n; row++) {
        packed.n = 0;
        frame_pack(&packed, frame, row);
        good = !packed.failed && to_digest(ctx, packed.bytes, packed.n);
    }
    text_free(&packed);
    return good;
}

static bool sum_rows(const struct args *args, const struct dataset *dataset, holdall_checksum *digest) {
    struct frame frame = {.source = {.path = dataset->path}};
    struct selection rows = {.list = NULL};
    bool good = args_plain_slice(args, "a table") < 0 && frame_of_table(&frame, dataset->table, NULL) &&
                select_rows(&rows, args, dataset->path, holdall_table_row_count(dataset->table)) &&
                frame_each(&frame, &rows, rows_to_digest, digest);
    frame_free(&frame);
    return good;
}

static bool sum_items(const struct args *args, const struct dataset *dataset, holdall_checksum *digest) {
    struct source source = {.path = dataset->path};
    if (has_objects(dataset->array)) return complain("%s: objects of Python's have no sum", dataset->path), false;
    return array_give(args, &source, dataset->array, to_digest, digest);
}

/* The digest of what cat --format raw prints of a folder. */
static bool sum_dataset(const struct args *args, const char *path, const holdall_options *options, int32_t sum,
                        struct digest *to) {
    (void)options; /* it is opened with the same */
    struct dataset dataset;
    holdall_checksum *digest = NULL;
    bool good = dataset_read(&dataset, path, args) && holdall_checksum_new(sum, &digest, NULL) >= 0 &&
                (dataset.table ? sum_rows : sum_items)(args, &dataset, digest) &&
                holdall_checksum_finish(digest, to->bytes, sizeof to->bytes, &to->n, NULL) >= 0;
    holdall_checksum_free(digest);
    dataset_close(&dataset);
    return good;
}

/* The same where that is all of the content, as it is stored. */
static bool sum_stored(const struct source *source, int32_t sum, struct digest *to) {
    holdall_error error;
    holdall_status status = holdall_schunk_checksum(source->schunk, sum, to->bytes, sizeof to->bytes, &to->n, &error);
    if (status < 0) complain_error(source->path, &error, "");
    return status >= 0;
}

static bool sum_schunk(const struct args *args, const char *path, const holdall_options *options, int32_t sum,
                       struct digest *to) {
    struct source source = {.path = path, .schunk = open_schunk(path, HOLDALL_READ, options)};
    holdall_array *array = NULL;
    if (!source.schunk) return false;
    bool good = source_array(&source, args, &array);
    bool as_stored = args->picks.count == 0 && (!array || in_c_order(array));
    good = good && (as_stored ? sum_stored(&source, sum, to) : sum_given(args, &source, array, sum, to));
    holdall_array_close(array);
    source_close(&source);
    return good;
}

static bool sum_path(const struct args *args, const char *path, const holdall_options *options) {
    int32_t sum = checksums[args->sum == NOT_GIVEN ? 0 : args->sum];
    struct digest digest;
    progress_begin("sum", "bytes", args->quiet);
    bool (*const sum_of[])(const struct args *, const char *, const holdall_options *, int32_t, struct digest *) = {
        sum_bag, sum_schunk, sum_dataset};
    bool good = sum_of[container_there(args, path)](args, path, options, sum, &digest);
    progress_clear();
    if (!good) return false;
    print_digest(digest.bytes, digest.n, sum);
    put_text("  ");
    put_printable(path);
    put_text("\n");
    return true;
}

int cmd_sum(const struct args *args) {
    int code = DONE;
    holdall_options *options = reader_options(args);
    if (!options) return FAILED;
    catch_signals();
    holdall_options_set_progress(options, progress_report, NULL);
    for (size_t i = 0; i < args->operand_count && !stopped; i++) {
        if (!sum_path(args, args->operands[i], options)) code = FAILED;
    }
    holdall_options_free(options);
    if (stopped) die_of_signal();
    return put_end(code);
}
