/*
 * holdall verify: verifies containers.
 */
#include "bags.h"
#include "options.h"
#include "report.h"
#include "signals.h"
#include "tool.h"
#include "identify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct verdict {
    const char *path;
    uint64_t intact, corrupt, unchecked;
    bool damaged; /* the container, or something in it */
    bool changed; /* a writer came in between, each time */
    bool failed;  /* it could not be read; that was said on stderr */
    bool whole;   /* the damage is not that of one record or chunk */
};

static bool is_damage(holdall_status status) {
    return status == HOLDALL_E_FORMAT || status == HOLDALL_E_CHECKSUM;
}

/* Returns whether the message names this part, and not one with a longer number. */
static bool name_it(const char *message, const char *part) {
    const char *found = strstr(message, part);
    return found && strchr(": ", found[strlen(part)]);
}

/* Prints "part: message", without the part if the message names it. */
static bool print_fault(const char *part, const holdall_error *fault) {
    progress_clear();
    if (!name_it(fault->message, part)) {
        put_printable(part);
        put_text(": ");
    }
    put_message(fault->message);
    return put_text("\n");
}

/* A holdall_fault_fn. Damage is a result and goes to stdout; that something cannot be read at all (it is
 * not there, the disk fails) is an error. */
static int report_fault(void *ctx, const char *part, const holdall_error *fault) {
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

/* Verifies one path and reports its faults. */
static struct verdict verify_one(const struct args *args, const char *path, const holdall_options *options) {
    struct verdict v = {.path = path};
    holdall_error error;
    progress_begin("verify", "bytes", args->quiet);
    if (args->progress) progress_insist();
    holdall_verify_result result = {.struct_size = sizeof result};
    holdall_status status = holdall_verify(path, options, report_fault, &v, &result, &error);
    v.intact = result.intact;
    v.corrupt = result.corrupt;
    v.unchecked = result.unchecked;
    progress_clear();
    if (status < 0 && !v.damaged && !v.failed && !stopped) {
        complain_error(path, &error, "");
        v.changed = status == HOLDALL_E_BUSY;
        v.failed = !v.changed;
    }
    return v;
}

static bool has_counted(const struct verdict *v) {
    return v->intact + v->corrupt + v->unchecked > 0;
}

static void put_counts(const struct args *args, const struct verdict *v) {
    put_printable(v->path);
    put_text(": %" PRIu64 " intact, %" PRIu64 " corrupt, %" PRIu64 " unchecked", v->intact, v->corrupt, v->unchecked);
    if (v->whole) put_text("; this is not an intact %s", container_name(container_there(args, v->path)));
    put_text("\n");
}

/* The files of a set, each by itself: a fault in one of them does not hide the others. Prints counts for
 * the files with faults, and totals. */
static void verify_each(const struct args *args, const char *files, size_t n, struct verdict *all) {
    struct args alone = *args;
    alone.interleaved = false;
    alone.shards = NOT_GIVEN;
    all->whole = false;
    uint64_t there = 0, faulty = 0;
    holdall_options *options = reader_options(&alone);
    if (options) holdall_options_set_progress(options, progress_report, NULL);
    for (const char *file = files; options && file < files + n && !stopped; file += strlen(file) + 1) {
        const struct verdict v = verify_one(args, file, options);
        if (!args->quiet && v.damaged) put_counts(args, &v);
        all->intact += v.intact;
        all->corrupt += v.corrupt;
        all->unchecked += v.unchecked;
        all->changed |= v.changed;
        faulty += v.damaged || v.failed;
        there++;
    }
    holdall_options_free(options);
    if (args->quiet || stopped) return;
    put_counts(args, all);
    put_printable(all->path);
    put_text(": %" PRIu64 " of %" PRIu64 " files are faulty\n", faulty, there);
}

/* A set that cannot be opened as a whole says nothing of most of its files. */
static struct verdict verify(const struct args *args, const char *path, const holdall_options *options) {
    size_t n = 0;
    struct verdict v = verify_one(args, path, options);
    if (stopped) return v;
    bool broken = (v.damaged || v.failed) && !has_counted(&v), set = strpbrk(path, "@,") && container_there(args, path) == BAG;
    bool named = broken && set && holdall_bag_files(path, NULL, 0, &n, NULL) >= 0;
    char *files = named ? files_of_bag(path, &n) : NULL;
    if (files && strlen(files) + 1 < n) {
        verify_each(args, files, n, &v);
    } else if (!args->quiet && ((!v.failed && !v.changed) || has_counted(&v))) {
        put_counts(args, &v);
    }
    free(files);
    return v;
}

int cmd_verify(const struct args *args) {
    size_t damaged = 0, failed = 0, changed = 0;
    catch_signals();
    holdall_options *options = reader_options(args);
    if (!options) return FAILED;
    holdall_options_set_progress(options, progress_report, NULL);
    for (size_t i = 0; i < args->operand_count && !stopped; i++) {
        struct verdict verdict = verify(args, args->operands[i], options);
        damaged += verdict.damaged;
        failed += verdict.failed;
        changed += verdict.changed;
    }
    holdall_options_free(options);
    if (stopped) fflush(stdout); /* what was found so far */
    if (stopped) die_of_signal();
    int code = put_end(damaged || failed ? FAILED : changed ? CHANGED : DONE);
    if (damaged && failed) {
        complain("verify: damage was found in %zu of %zu, %zu could not be read", damaged, args->operand_count, failed);
    } else if (damaged) {
        complain("verify: damage was found in %zu of %zu", damaged, args->operand_count);
    }
    return code;
}
