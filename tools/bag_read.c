/*
 * Reading a bag.
 *
 * Records are read in batches, which the library reads in parallel; how many make one follows from how
 * large they turn out to be, so that a batch takes some MiB whether records have ten bytes or ten
 * million. A batch fails as a whole, so one that fails is tried again with the records before the one
 * to blame, until that one is alone: everything before it is passed on, and the message names it.
 */
#include "bag_read.h"
#include "bags.h"
#include "options.h"
#include "report.h"
#include "tool.h"
#include "info.h"

#include <inttypes.h>
#include <stdlib.h>

/* Bytes of records that a batch should have, and must not pass unless it is one record. What a batch
 * takes is up to twice that: stored and decoded bytes. */
enum { BATCH_TARGET = 4 << 20, BATCH_MOST = 8 << 20 };
/* Records of the first batch, of any batch, and what one costs beside its bytes. */
enum { RECORDS_FIRST = 1024, RECORDS_MOST = 32768, RECORD_COST = 64 };

/* ---- opening ---- */

/* Limits and checksums cached in memory, 12 bytes per record, are added to the size of a batch. */
static bool cached_bytes(const struct bag_reader *r, uint64_t *bytes) {
    *bytes = 0;
    if (r->args->limits_storage != STORAGE_MEMORY) return true;
    struct args on_disk = *r->args;
    on_disk.limits_storage = STORAGE_DISK;
    on_disk.slice.given = false;
    holdall_options *options = reader_options(&on_disk);
    holdall_bag *bag = options ? open_bag(r->path, &on_disk, options) : NULL;
    holdall_options_free(options);
    if (bag) *bytes = 12 * holdall_bag_record_count(bag);
    holdall_bag_close(bag);
    return bag != NULL;
}

static bool open_narrow(struct bag_reader *r) {
    uint64_t cached;
    if (!cached_bytes(r, &cached)) return false;
    struct args narrow = *r->args;
    int64_t most = (int64_t)(BATCH_MOST + cached);
    if (narrow.memory_limit == NOT_GIVEN || narrow.memory_limit > most) narrow.memory_limit = most;
    holdall_options *options = reader_options(&narrow);
    if (options) r->bag = open_bag(r->path, &narrow, options);
    holdall_options_free(options);
    return r->bag != NULL;
}

/* Opens the bag once more, for records that are larger than a batch may be. */
static bool open_roomy(struct bag_reader *r) {
    if (r->roomy) return true;
    holdall_options *options = reader_options(r->args);
    if (options) r->roomy = open_bag(r->path, r->args, options);
    holdall_options_free(options);
    if (!r->roomy) return false;
    if (holdall_bag_record_count(r->roomy) == holdall_bag_record_count(r->bag) &&
        info_of_bag(r->roomy).stored_bytes == info_of_bag(r->bag).stored_bytes) {
        return true;
    }
    complain("%s: it was changed while it was read", r->path);
    return false;
}

static bool open_epoch(struct bag_reader *r) {
    const struct args *args = r->args;
    holdall_error error;
    uint64_t epoch = args->epoch == NOT_GIVEN ? 0 : (uint64_t)args->epoch;
    uint32_t world = args->world == NOT_GIVEN ? 1 : (uint32_t)args->world, rank = args->rank == NOT_GIVEN ? 0 : (uint32_t)args->rank;
    if (holdall_epoch_new(r->count, (uint64_t)args->shuffle_seed, epoch, rank, world, &r->epoch, &error) < 0) {
        return complain_error(r->path, &error, ""), false;
    }
    r->count = holdall_epoch_count(r->epoch);
    r->list = malloc(RECORDS_MOST * sizeof *r->list);
    return r->list || (complain("out of memory"), false);
}

/* The next numbers of the epoch, where those that are there are used up. */
static void refill(struct bag_reader *r) {
    if (!r->epoch || r->done < r->end) return;
    r->begin = r->end;
    while (r->end - r->begin < RECORDS_MOST && holdall_epoch_next(r->epoch, &r->list[r->end - r->begin]) == 0) r->end++;
}

/* Turns --records into record numbers; all are checked before anything is read. */
static bool make_list(struct bag_reader *r) {
    const struct numbers *requested = &r->args->records;
    uint64_t size = holdall_bag_record_count(r->bag);
    r->count = size;
    if (r->args->shuffle_seed != NOT_GIVEN) return open_epoch(r);
    if (requested->count == 0) return true;
    r->list = malloc(requested->count * sizeof *r->list);
    if (!r->list) return complain("out of memory"), false;
    r->count = r->end = requested->count;
    for (size_t i = 0; i < requested->count; i++) {
        int64_t n = requested->items[i];
        uint64_t from_end = n < 0 ? (uint64_t)-n : 0;
        if (n < 0 ? from_end > size : (uint64_t)n >= size) {
            complain("%s: there is no record %" PRId64 ", there are %" PRIu64, r->path, n, size);
            return false;
        }
        r->list[i] = n < 0 ? size - from_end : (uint64_t)n;
    }
    return true;
}

/* ---- batches ---- */

static holdall_status read_batch(const struct bag_reader *r, const holdall_bag *bag, uint64_t at, uint64_t n,
                                 holdall_records **records, holdall_error *error) {
    if (r->list) return holdall_bag_read_indices(bag, r->list + (at - r->begin), (size_t)n, records, error);
    return holdall_bag_read_range(bag, at, n, records, error);
}

/* How many records the next batch should have, after one of n records in so many bytes. */
static uint64_t next_size(uint64_t n, uint64_t bytes) {
    uint64_t fitting = BATCH_TARGET / (bytes / n + RECORD_COST);
    uint64_t most = 4 * n < RECORDS_MOST ? 4 * n : RECORDS_MOST;
    return fitting < 1 ? 1 : fitting > most ? most : fitting;
}

/* How many records to try after a batch of n failed: those before the one to blame, or it alone. */
static uint64_t narrowed(const struct bag_reader *r, uint64_t at, uint64_t n, const holdall_error *error) {
    bool too_large = error->status == HOLDALL_E_LIMIT || error->status == HOLDALL_E_MEMORY;
    if (too_large || error->position < 0) return n / 2;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t record = r->list ? r->list[at - r->begin + k] : at + k;
        if (record == (uint64_t)error->position) return k > 0 ? k : 1;
    }
    return n / 2;
}

/* One record failed alone: has a bag with the user's own memory limit room for it? */
static holdall_status read_roomy(struct bag_reader *r, uint64_t at, holdall_records **records, holdall_error *error) {
    if (!open_roomy(r)) {
        error->message[0] = '\0'; /* the reason was reported */
        return error->status = HOLDALL_E_STATE;
    }
    return read_batch(r, r->roomy, at, 1, records, error);
}

/* Reports a record that cannot be read. Returns true if it is to be skipped. */
static bool skip(struct bag_reader *r, const holdall_error *error) {
    bool damaged = error->status == HOLDALL_E_FORMAT || error->status == HOLDALL_E_CHECKSUM ||
                   error->status == HOLDALL_E_CODEC;
    bool skipped = damaged && r->args->skip_damaged;
    if (error->message[0] != '\0') complain_error(r->path, error, skipped ? " (skipped)" : "");
    r->damaged += skipped;
    return skipped;
}

/* The next batch, of *n records at most; how many it is to have next time is then in *n. */
static bool next_batch(struct bag_reader *r, uint64_t *n, records_fn take, void *ctx) {
    refill(r);
    uint64_t at = r->done, left = (r->epoch ? r->end : r->count) - at, count = left < *n ? left : *n;
    holdall_records *batch;
    holdall_error error;
    holdall_status status = read_batch(r, r->bag, at, count, &batch, &error);
    if (status < 0 && count == 1 && (status == HOLDALL_E_LIMIT || status == HOLDALL_E_MEMORY)) {
        status = read_roomy(r, at, &batch, &error);
    }
    if (status < 0 && count > 1) {
        *n = narrowed(r, at, count, &error);
        return true;
    }
    if (status < 0) {
        r->done++;
        return skip(r, &error);
    }
    const struct records records = {holdall_records_data(batch), holdall_records_offsets(batch), holdall_records_count(batch)};
    *n = next_size(count, records.offsets[count]);
    r->done += count;
    bool taken = take(ctx, &records);
    holdall_records_free(batch);
    return taken;
}

int check_order(const struct args *args) {
    const struct command *command = args->command;
    bool shuffled = args->shuffle_seed != NOT_GIVEN;
    if (!shuffled && (args->given & (F_EPOCH | F_RANK | F_WORLD))) {
        return usage_error(command, "--epoch, --rank and --world are for --shuffle SEED");
    }
    if (shuffled && (args->given & F_RECORDS)) return usage_error(command, "--shuffle and --records exclude each other");
    int64_t world = args->world == NOT_GIVEN ? 1 : args->world;
    if (args->rank == NOT_GIVEN || args->rank < world) return -1;
    return usage_error(command, "--rank takes 0 to %lld with --world %lld, not %lld", (long long)world - 1, (long long)world, (long long)args->rank);
}

bool bag_reader_open(struct bag_reader *r, const struct args *args, const char *path) {
    *r = (struct bag_reader){.args = args, .path = path};
    return open_narrow(r) && make_list(r);
}

bool bag_reader_each(struct bag_reader *r, records_fn take, void *ctx) {
    uint64_t n = RECORDS_FIRST;
    while (r->done < r->count) {
        if (!next_batch(r, &n, take, ctx)) return false;
    }
    return true;
}

void bag_reader_close(struct bag_reader *r) {
    free(r->list);
    holdall_epoch_free(r->epoch);
    holdall_bag_close(r->roomy);
    holdall_bag_close(r->bag);
}
