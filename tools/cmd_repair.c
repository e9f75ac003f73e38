/*
 * holdall repair: restores a consistent state.
 */
#include "options.h"
#include "report.h"
#include "tool.h"
#include "identify.h"

#include <inttypes.h>
#include <string.h>

/* Options of the repair and of reading a repaired bag. */
static bool set_common_options(holdall_options *options, const struct args *args) {
    return set_choice(options, HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_TAIL, args->limits) &&
           set_given(options, HOLDALL_OPT_THREADS, args->threads) &&
           set_given(options, HOLDALL_OPT_MEMORY_LIMIT, args->memory_limit) && set_compression(options, args);
}

/* Options of the repair alone. */
static bool set_repair_options(holdall_options *options, const struct args *args) {
    return set_commit_options(options, args) &&
           (!args->skip_damaged || set_option(options, HOLDALL_OPT_SKIP_DAMAGED, 1)) &&
           (!args->unchecked || set_option(options, HOLDALL_OPT_VERIFY, 0)) &&
           (!args->dry_run || set_option(options, HOLDALL_OPT_DRY_RUN, 1));
}

/* A dry run has repaired nothing: what reads the result repairs it by the same options. */
static bool set_result_options(holdall_options *options, const struct args *args) {
    return !args->dry_run || set_repair_options(options, args);
}

/* A holdall_fault_fn: is it one of the metadata? */
static int look_for_metadata(void *ctx, const char *part, const holdall_error *fault) {
    const char *message = fault->message;
    size_t n = strlen(part);
    if (strncmp(message, part, n) == 0 && strncmp(message + n, ": ", 2) == 0) message += n + 2;
    *(bool *)ctx |= fault->position < 0 && strncmp(message, "metadata", strlen("metadata")) == 0;
    return 0;
}

/* Returns whether damaged metadata exist. */
static bool has_damaged_metadata(const char *path, const struct args *args) {
    holdall_schunk *schunk;
    const void *value;
    size_t n;
    bool found = false;
    holdall_options *options = container_of(path) == SUPERCHUNK ? new_options() : NULL;
    if (!options || !set_given(options, HOLDALL_OPT_MEMORY_LIMIT, args->memory_limit)) {
        /* only a superchunk has some */
    } else if (holdall_schunk_open(path, HOLDALL_READ, options, &schunk, NULL) >= 0) {
        holdall_status status = holdall_schunk_attr_get(schunk, "", &value, &n, NULL);
        found = status == HOLDALL_E_FORMAT || status == HOLDALL_E_CHECKSUM;
        holdall_schunk_close(schunk);
    } else { /* a damaged header is reported only by holdall_verify() */
        (void)!holdall_verify(path, options, look_for_metadata, &found, NULL, NULL);
    }
    holdall_options_free(options);
    return found;
}

/* Returns whether metadata exist after the repair. */
static bool has_metadata(const char *path, const struct args *args) {
    holdall_schunk *schunk;
    const void *value;
    size_t n;
    holdall_options *options = new_options();
    bool found = options && set_result_options(options, args) &&
                 holdall_schunk_open(path, HOLDALL_READ, options, &schunk, NULL) >= 0;
    holdall_options_free(options);
    if (!found) return false;
    found = holdall_schunk_attr_get(schunk, "", &value, &n, NULL) == HOLDALL_OK;
    holdall_schunk_close(schunk);
    return found;
}

/* Returns whether all records of a bag are intact: repair changes none of them. */
static bool check_records(const char *path, const struct args *args) {
    holdall_verify_result found = {.struct_size = sizeof found};
    holdall_error error;
    holdall_options *options = new_options();
    bool good = options && set_common_options(options, args) && set_result_options(options, args);
    if (good && holdall_verify(path, options, NULL, NULL, &found, &error) < 0) {
        good = false;
        if (found.corrupt == 0) complain_error(path, &error, "");
    }
    holdall_options_free(options);
    if (found.corrupt > 0) {
        complain("%s: %" PRIu64 " record%s corrupt, and cannot be repaired: verify names each, "
                 "convert --skip-damaged copies the others to another bag", path, found.corrupt, found.corrupt == 1 ? " is" : "s are");
    }
    return good;
}

int cmd_repair(const struct args *args) {
    const char *path = args->operands[0];
    holdall_repair_result done = {.struct_size = sizeof done};
    holdall_error error;
    holdall_options *options = new_options();
    if (!options) return FAILED;
    bool metadata_lost = has_damaged_metadata(path, args);
    bool good = set_common_options(options, args) && set_repair_options(options, args);
    if (good && holdall_repair(path, options, &done, &error) < 0) {
        complain_error(path, &error, "");
        good = false;
    }
    holdall_options_free(options);
    if (!good) return FAILED;
    metadata_lost = metadata_lost && !has_metadata(path, args);
    uint64_t lost = done.lost;
    if (metadata_lost && lost > 0) lost--; /* the library counts them with the chunks */
    if (!args->quiet) {
        put_printable(path);
        put_text(": %" PRIu64 " %s%s retained, %" PRIu64 " lost\n", done.retained, container_of(path) == BAG ? "record" : "chunk",
                 plural(done.retained), lost);
    }
    if (metadata_lost) {
        complain("%s: the metadata were damaged and are gone; where they made it an array, type and shape went with them",
                 path);
    }
    bool bag = container_of(path) == BAG, cut = bag && args->skip_damaged && lost > 0;
    if (cut) complain("%s: the bytes after its last complete frame could not be retained as records: they are in a file .holdall-damaged beside it", path);
    bool intact = !bag || check_records(path, args);
    return put_end(metadata_lost || cut || !intact ? FAILED : DONE);
}
