/*
 * holdall identify, verify, repair, sum: what is it, is it whole, make it whole, what is in it.
 */
#include "arrays.h"
#include "bags.h"
#include "dataset.h"
#include "frame_print.h"
#include "options.h"
#include "report.h"
#include "schunks.h"
#include "tool.h"
#include "words.h"

#include <inttypes.h>
#include <string.h>

/* ---- identify ---- */

static int identify(const char *path) {
    holdall_format format;
    holdall_kind kind;
    holdall_error error;
    if (holdall_identify(path, &format, &kind, &error) < 0) {
        complain_error(path, &error, "");
        return FAILED;
    }
    put_printable(path);
    put_text(": %s %s\n", format_name(format), kind_name(kind));
    return DONE;
}

int cmd_identify(const struct args *args) {
    int code = DONE;
    for (size_t i = 0; i < args->operand_count; i++) {
        if (identify(args->operands[i]) != DONE) code = FAILED;
    }
    return put_end(code);
}

/* ---- verify ---- */

struct verdict {
    const char *path;
    bool damaged; /* the container, or something in it */
    bool failed;  /* it could not be read; that was said on stderr */
    bool whole;   /* the damage is not that of one record or chunk */
};

static bool is_damage(holdall_status status) {
    return status == HOLDALL_E_FORMAT || status == HOLDALL_E_CHECKSUM || status == HOLDALL_E_CODEC ||
           status == HOLDALL_E_VERSION;
}

/* Do the words name this part, and not one with a longer number? */
static bool name_it(const char *words, const char *part) {
    const char *found = strstr(words, part);
    return found && strchr(": ", found[strlen(part)]);
}

/* Prints "part: words"; the part only where the words do not name it. */
static bool print_fault(const char *part, const holdall_error *fault) {
    progress_clear();
    if (!name_it(fault->message, part)) {
        put_printable(part);
        put_text(": ");
    }
    put_words(fault->message);
    return put_text("\n");
}

/* A holdall_fault_fn. Damage is a result and goes to stdout; that something cannot be read at all (it is
 * not there, the disk fails) is an error. */
static int tell_fault(void *ctx, const char *part, const holdall_error *fault) {
    struct verdict *verdict = ctx;
    if (!is_damage(fault->status)) {
        complain_error(verdict->path, fault, "");
        verdict->failed = true;
        return 0;
    }
    verdict->damaged = true;
    verdict->whole |= fault->position < 0;
    return print_fault(part, fault) ? 0 : 1;
}

static struct verdict verify(const struct args *args, const char *path, const holdall_options *options) {
    struct verdict verdict = {.path = path};
    uint64_t sound = 0, bad = 0, unchecked = 0;
    holdall_error error;
    progress_begin("verify", "records", args->quiet);
    holdall_status status = holdall_verify(path, options, tell_fault, &verdict, &sound, &bad, &unchecked, &error);
    progress_clear();
    if (status < 0 && !verdict.damaged && !verdict.failed) {
        complain_error(path, &error, "");
        verdict.failed = true;
    }
    bool nothing_seen = verdict.failed && sound + bad + unchecked == 0;
    if (args->quiet || nothing_seen) return verdict;
    put_printable(path);
    put_text(": %" PRIu64 " sound, %" PRIu64 " bad, %" PRIu64 " unchecked", sound, bad, unchecked);
    if (verdict.whole) put_text("; this is not a sound %s", container_name(container_of(path)));
    put_text("\n");
    return verdict;
}

int cmd_verify(const struct args *args) {
    size_t damaged = 0, failed = 0;
    holdall_options *options = reader_options(args);
    if (!options) return FAILED;
    holdall_options_on_progress(options, progress_tell, NULL);
    for (size_t i = 0; i < args->operand_count; i++) {
        struct verdict verdict = verify(args, args->operands[i], options);
        damaged += verdict.damaged;
        failed += verdict.failed;
    }
    holdall_options_free(options);
    int code = put_end(damaged || failed ? FAILED : DONE);
    if (damaged && failed) {
        complain("verify: damage was found in %zu of %zu, %zu could not be read", damaged, args->operand_count, failed);
    } else if (damaged) {
        complain("verify: damage was found in %zu of %zu", damaged, args->operand_count);
    }
    return code;
}

/* ---- repair ---- */

static bool set_repair_options(holdall_options *options, const struct args *args) {
    return set_given(options, HOLDALL_OPT_BAG_LIMITS, args->limits) &&
           set_given(options, HOLDALL_OPT_THREADS, args->threads) &&
           set_given(options, HOLDALL_OPT_MEMORY_LIMIT, args->memory_limit) && set_commit_options(options, args) &&
           (!args->skip_damaged || set_option(options, HOLDALL_OPT_SKIP_DAMAGED, 1)) &&
           (!args->unchecked || set_option(options, HOLDALL_OPT_VERIFY, 0)) && set_compression(options, args);
}

/* A holdall_fault_fn: is it one of the metadata? */
static int look_for_metadata(void *ctx, const char *part, const holdall_error *fault) {
    const char *words = fault->message;
    size_t n = strlen(part);
    if (strncmp(words, part, n) == 0 && strncmp(words + n, ": ", 2) == 0) words += n + 2;
    *(bool *)ctx |= fault->position < 0 && strncmp(words, "metadata", strlen("metadata")) == 0;
    return 0;
}

/* Are there metadata, and damaged? */
static bool has_damaged_metadata(const char *path, const struct args *args) {
    holdall_schunk *schunk;
    const void *value;
    size_t n;
    bool found = false;
    holdall_options *options = container_of(path) == SUPERCHUNK ? new_options() : NULL;
    if (!options || !set_given(options, HOLDALL_OPT_MEMORY_LIMIT, args->memory_limit)) {
        /* only a superchunk has some */
    } else if (holdall_schunk_open(path, HOLDALL_READ, options, &schunk, NULL) >= 0) {
        holdall_status status = holdall_schunk_meta_get(schunk, "", &value, &n, NULL);
        found = status == HOLDALL_E_FORMAT || status == HOLDALL_E_CHECKSUM;
        holdall_schunk_close(schunk);
    } else { /* with a header that is damaged only this tells */
        (void)!holdall_verify(path, options, look_for_metadata, &found, NULL, NULL, NULL, NULL);
    }
    holdall_options_free(options);
    return found;
}

static bool has_metadata(const char *path) {
    holdall_schunk *schunk;
    const void *value;
    size_t n;
    if (holdall_schunk_open(path, HOLDALL_READ, NULL, &schunk, NULL) < 0) return false;
    bool found = holdall_schunk_meta_get(schunk, "", &value, &n, NULL) == HOLDALL_OK;
    holdall_schunk_close(schunk);
    return found;
}

int cmd_repair(const struct args *args) {
    const char *path = args->operands[0];
    uint64_t kept = 0, dropped = 0;
    holdall_error error;
    holdall_options *options = new_options();
    if (!options) return FAILED;
    bool lost = has_damaged_metadata(path, args);
    bool good = set_repair_options(options, args);
    if (good && holdall_repair(path, options, &kept, &dropped, &error) < 0) {
        complain_error(path, &error, "");
        good = false;
    }
    holdall_options_free(options);
    if (!good) return FAILED;
    lost = lost && !has_metadata(path);
    if (lost && dropped > 0) dropped--; /* the library counts them with the chunks */
    if (!args->quiet) {
        put_printable(path);
        put_text(": %" PRIu64 " %s%s kept, %" PRIu64 " dropped\n", kept, container_of(path) == BAG ? "record" : "chunk",
                 plural(kept), dropped);
    }
    if (lost) {
        complain("%s: the metadata were damaged and are gone; where they made it an array, type and shape went with them",
                 path);
    }
    return put_end(lost ? FAILED : DONE);
}

/* ---- sum ---- */

/* The library's numbers of the words of --sum, in their order. */
static const int32_t sums[] = {HOLDALL_SUM_SHA256, HOLDALL_SUM_CRC32,  HOLDALL_SUM_ADLER32, HOLDALL_SUM_MD5,
                               HOLDALL_SUM_SHA1,   HOLDALL_SUM_SHA224, HOLDALL_SUM_SHA384,  HOLDALL_SUM_SHA512};

/* Digests are printed as their bytes; the two that are numbers as the number, as other tools do. */
static void print_digest(const unsigned char *digest, size_t n, int32_t sum) {
    bool number = sum == HOLDALL_SUM_CRC32 || sum == HOLDALL_SUM_ADLER32; /* little-endian */
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
    return holdall_digest_update(ctx, bytes, n, NULL) >= 0;
}

/* The digest of what cat prints. */
static bool sum_given(const struct args *args, struct source *source, const holdall_array *array, int32_t sum,
                      struct digest *to) {
    holdall_digest *digest = NULL;
    bool good = (array || args_plain_slice(args, "a superchunk") < 0) && holdall_digest_new(sum, &digest, NULL) >= 0 &&
                (array ? array_give(args, source, array, to_digest, digest)
                       : source_give(source, args, to_digest, digest)) &&
                holdall_digest_finish(digest, to->bytes, sizeof to->bytes, &to->n, NULL) >= 0;
    holdall_digest_free(digest);
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

static bool sum_rows(const struct args *args, const struct dataset *dataset, holdall_digest *digest) {
    struct frame frame = {.source = {.path = dataset->path}};
    struct selection rows = {.list = NULL};
    bool good = args_plain_slice(args, "a table") < 0 && frame_of_table(&frame, dataset->table, NULL) &&
                select_rows(&rows, args, dataset->path, holdall_table_rows(dataset->table)) &&
                frame_each(&frame, &rows, rows_to_digest, digest);
    frame_free(&frame);
    return good;
}

static bool sum_items(const struct args *args, const struct dataset *dataset, holdall_digest *digest) {
    struct source source = {.path = dataset->path};
    if (has_objects(dataset->array)) return complain("%s: objects of Python's have no sum", dataset->path), false;
    return array_give(args, &source, dataset->array, to_digest, digest);
}

/* The digest of what cat --format raw prints of a folder. */
static bool sum_dataset(const struct args *args, const char *path, const holdall_options *options, int32_t sum,
                        struct digest *to) {
    (void)options; /* it is opened with the same */
    struct dataset dataset;
    holdall_digest *digest = NULL;
    bool good = dataset_read(&dataset, path, args) && holdall_digest_new(sum, &digest, NULL) >= 0 &&
                (dataset.table ? sum_rows : sum_items)(args, &dataset, digest) &&
                holdall_digest_finish(digest, to->bytes, sizeof to->bytes, &to->n, NULL) >= 0;
    holdall_digest_free(digest);
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
    int32_t sum = sums[args->sum == NOT_GIVEN ? 0 : args->sum];
    struct digest digest;
    progress_begin("sum", "records", args->quiet);
    bool (*const sum_of[])(const struct args *, const char *, const holdall_options *, int32_t, struct digest *) = {
        sum_bag, sum_schunk, sum_dataset};
    bool good = sum_of[container_of(path)](args, path, options, sum, &digest);
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
    holdall_options_on_progress(options, progress_tell, NULL);
    for (size_t i = 0; i < args->operand_count; i++) {
        if (!sum_path(args, args->operands[i], options)) code = FAILED;
    }
    holdall_options_free(options);
    return put_end(code);
}
