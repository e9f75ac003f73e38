/*
 * holdall cat of a bag: records to stdout.
 *
 * Records are read in batches, which the library reads in parallel; how many make one follows from how
 * large they turn out to be, so that a batch takes some MiB whether records have ten bytes or ten
 * million. A batch fails as a whole, so one that fails is tried again with the records before the one
 * to blame, until that one is alone: everything before it is printed, and the words are about it.
 */
#include "bags.h"
#include "options.h"
#include "report.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>

/* Bytes of records that a batch should have, and must not pass unless it is one record. What a batch
 * takes is up to twice that: stored and decoded bytes. */
enum { BATCH_WANTED = 4 << 20, BATCH_MOST = 8 << 20 };
/* Records of the first batch, of any batch, and what one costs beside its bytes. */
enum { RECORDS_FIRST = 1024, RECORDS_MOST = 32768, RECORD_COST = 64 };

/* What is to be printed: records 0 to count of the bag, or those of a list. */
struct job {
    const struct args *args;
    const char *path;
    holdall_bag *bag;   /* with BATCH_MOST as its memory limit */
    holdall_bag *roomy; /* with the user's memory limit; opened for the first record that needs it */
    uint64_t *list;     /* NULL: all */
    uint64_t count;
    uint64_t damaged; /* skipped so far */
};

/* ---- opening ---- */

/* Limits and checksums that are kept in memory, 12 bytes a record, come on top of a batch. */
static bool kept_in_memory(const struct job *job, uint64_t *bytes) {
    *bytes = 0;
    if (job->args->limits_storage != STORAGE_MEMORY) return true;
    struct args on_disk = *job->args;
    on_disk.limits_storage = STORAGE_DISK;
    on_disk.slice.given = false;
    holdall_options *options = reader_options(&on_disk);
    holdall_bag *bag = options ? open_bag(job->path, &on_disk, options) : NULL;
    holdall_options_free(options);
    if (bag) *bytes = 12 * holdall_bag_size(bag);
    holdall_bag_close(bag);
    return bag != NULL;
}

static bool open_narrow(struct job *job) {
    uint64_t kept;
    if (!kept_in_memory(job, &kept)) return false;
    struct args narrow = *job->args;
    int64_t most = (int64_t)(BATCH_MOST + kept);
    if (narrow.memory_limit == NOT_GIVEN || narrow.memory_limit > most) narrow.memory_limit = most;
    holdall_options *options = reader_options(&narrow);
    if (options) job->bag = open_bag(job->path, &narrow, options);
    holdall_options_free(options);
    return job->bag != NULL;
}

/* Opens the bag once more, for records that are larger than a batch may be. */
static bool open_roomy(struct job *job) {
    if (job->roomy) return true;
    holdall_options *options = reader_options(job->args);
    if (options) job->roomy = open_bag(job->path, job->args, options);
    holdall_options_free(options);
    if (!job->roomy) return false;
    if (holdall_bag_size(job->roomy) == holdall_bag_size(job->bag) &&
        holdall_bag_cbytes(job->roomy) == holdall_bag_cbytes(job->bag)) {
        return true;
    }
    complain("%s: it was changed while it was read", job->path);
    return false;
}

/* Turns --records into record numbers; all are checked before anything is printed. */
static bool make_list(struct job *job) {
    const struct numbers *wanted = &job->args->records;
    uint64_t size = holdall_bag_size(job->bag);
    job->count = size;
    if (wanted->count == 0) return true;
    job->list = malloc(wanted->count * sizeof *job->list);
    if (!job->list) return complain("out of memory"), false;
    job->count = wanted->count;
    for (size_t i = 0; i < wanted->count; i++) {
        int64_t n = wanted->items[i];
        uint64_t from_end = n < 0 ? (uint64_t)-n : 0;
        if (n < 0 ? from_end > size : (uint64_t)n >= size) {
            complain("%s: there is no record %" PRId64 ", there are %" PRIu64, job->path, n, size);
            return false;
        }
        job->list[i] = n < 0 ? size - from_end : (uint64_t)n;
    }
    return true;
}

/* ---- printing ---- */

static bool print_lengths(const uint8_t *data, const uint64_t *offsets, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t n = offsets[i + 1] - offsets[i];
        uint8_t length[8];
        for (int b = 0; b < 8; b++) length[b] = (uint8_t)(n >> (8 * b));
        if (!put_bytes(length, sizeof length) || !put_bytes(data + offsets[i], (size_t)n)) return false;
    }
    return true;
}

static bool print_records(const struct job *job, const holdall_records *records) {
    const uint8_t *data = holdall_records_data(records);
    const uint64_t *offsets = holdall_records_offsets(records);
    size_t count = holdall_records_count(records);
    if (job->args->lengths) return print_lengths(data, offsets, count);
    return put_bytes(data + offsets[0], (size_t)(offsets[count] - offsets[0]));
}

/* ---- batches ---- */

static holdall_status read_batch(const struct job *job, const holdall_bag *bag, uint64_t at, uint64_t n,
                                 holdall_records **records, holdall_error *error) {
    if (job->list) return holdall_bag_read_indices(bag, job->list + at, (size_t)n, records, error);
    return holdall_bag_read_range(bag, at, n, records, error);
}

/* How many records the next batch should have, after one of n records in so many bytes. */
static uint64_t next_size(uint64_t n, uint64_t bytes) {
    uint64_t wanted = BATCH_WANTED / (bytes / n + RECORD_COST);
    uint64_t most = 4 * n < RECORDS_MOST ? 4 * n : RECORDS_MOST;
    return wanted < 1 ? 1 : wanted > most ? most : wanted;
}

/* How many records to try after a batch of n failed: those before the one to blame, or it alone. */
static uint64_t narrowed(const struct job *job, uint64_t at, uint64_t n, const holdall_error *error) {
    bool too_large = error->status == HOLDALL_E_LIMIT || error->status == HOLDALL_E_MEMORY;
    if (too_large || error->position < 0) return n / 2;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t record = job->list ? job->list[at + k] : at + k;
        if (record == (uint64_t)error->position) return k > 0 ? k : 1;
    }
    return n / 2;
}

/* One record failed alone: has a bag with the user's own memory limit room for it? */
static holdall_status read_roomy(struct job *job, uint64_t at, holdall_records **records, holdall_error *error) {
    if (!open_roomy(job)) {
        error->message[0] = '\0'; /* it has been said why */
        return error->status = HOLDALL_E_STATE;
    }
    return read_batch(job, job->roomy, at, 1, records, error);
}

/* Tells of a record that cannot be read; true where it is to be skipped. */
static bool skip(struct job *job, const holdall_error *error) {
    bool damaged = error->status == HOLDALL_E_FORMAT || error->status == HOLDALL_E_CHECKSUM ||
                   error->status == HOLDALL_E_CODEC;
    bool skipped = damaged && job->args->skip_damaged;
    if (error->message[0] != '\0') complain_error(job->path, error, skipped ? " (skipped)" : "");
    job->damaged += skipped;
    return skipped;
}

static int print_all(struct job *job) {
    uint64_t wanted = RECORDS_FIRST;
    for (uint64_t at = 0; at < job->count;) {
        uint64_t n = job->count - at < wanted ? job->count - at : wanted;
        holdall_records *records;
        holdall_error error;
        holdall_status status = read_batch(job, job->bag, at, n, &records, &error);
        if (status < 0 && n == 1 && (status == HOLDALL_E_LIMIT || status == HOLDALL_E_MEMORY)) {
            status = read_roomy(job, at, &records, &error);
        }
        if (status >= 0) {
            wanted = next_size(n, holdall_records_offsets(records)[n]);
            bool printed = print_records(job, records);
            holdall_records_close(records);
            if (!printed) break;
            at += n;
        } else if (n > 1) {
            wanted = narrowed(job, at, n, &error);
        } else if (skip(job, &error)) {
            at++;
        } else {
            return FAILED;
        }
    }
    return job->damaged > 0 ? FAILED : DONE;
}

int bag_cat(const struct args *args) {
    struct job job = {.args = args, .path = args->operands[0]};
    int code = open_narrow(&job) && make_list(&job) ? print_all(&job) : FAILED;
    free(job.list);
    holdall_bag_close(job.roomy);
    holdall_bag_close(job.bag);
    return put_end(code);
}
