/*
 * holdall index: in which records of a bag some content is.
 */
#include "bags.h"
#include "files.h"
#include "options.h"
#include "record_files.h"
#include "report.h"
#include "signals.h"
#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct indexing {
    const struct args *args;
    const char *spec;
    char *path; /* of the index */
    holdall_bag *bag;
    holdall_bag_index *index;
    uint64_t absent; /* keys that no record is */
};

/* ---- opening ---- */

/* Beside a bag NAME it is NAME.index. */
static char *index_path(const struct args *args, const char *spec) {
    const char *given = args->index;
    size_t room = strlen(given ? given : spec) + sizeof ".index";
    char *path = malloc(room);
    if (!path) return complain("out of memory"), NULL;
    snprintf(path, room, "%s%s", given ? given : spec, given ? "" : ".index");
    return path;
}

static bool index_begin(struct indexing *x, const struct args *args) {
    *x = (struct indexing){.args = args, .spec = args->operands[1]};
    holdall_options *options = reader_options(args);
    x->path = index_path(args, x->spec);
    if (options && x->path) x->bag = open_bag(x->spec, args, options);
    holdall_options_free(options);
    return x->bag != NULL;
}

static void index_end(struct indexing *x) {
    holdall_bag_index_close(x->index);
    holdall_bag_close(x->bag);
    free(x->path);
}

/* ---- build ---- */

static bool set_build_options(holdall_options *options, const struct args *args) {
    return set_given(options, HOLDALL_OPT_THREADS, args->threads) && set_given(options, HOLDALL_OPT_MEMORY_LIMIT, args->memory_limit) &&
           (!args->skip_damaged || set_option(options, HOLDALL_OPT_SKIP_DAMAGED, 1)) && set_commit_options(options, args);
}

static bool create(struct indexing *x) {
    holdall_error error;
    holdall_options *options = new_options();
    bool good = options && set_build_options(options, x->args);
    if (good) {
        holdall_options_set_progress(options, progress_report, NULL);
        holdall_mode mode = x->args->replace ? HOLDALL_REPLACE : HOLDALL_CREATE;
        good = holdall_bag_index_create(x->path, mode, x->bag, options, &x->index, &error) >= 0;
        if (!good && !stopped) complain_create(x->path, &error, x->args->replace);
    }
    holdall_options_free(options);
    return good;
}

static int build(const struct args *args) {
    struct indexing x;
    if (args->operand_count > 2) return usage_error(args->command, "one operand too many, '%s'", args->operands[2]);
    catch_signals();
    progress_begin("index", "bytes", args->quiet);
    bool good = index_begin(&x, args) && create(&x);
    progress_clear();
    uint64_t damaged = good ? holdall_bag_index_damaged_count(x.index) : 0;
    if (good && !args->quiet) {
        uint64_t keys = holdall_bag_index_key_count(x.index), records = holdall_bag_record_count(x.bag);
        note("%s: %" PRIu64 " key%s in %" PRIu64 " record%s", x.path, keys, plural(keys), records, plural(records));
    }
    if (damaged > 0) complain("%s: %" PRIu64 " damaged record%s left out", x.path, damaged, plural(damaged));
    index_end(&x);
    if (!good && stopped) die_of_signal();
    return good && damaged == 0 ? DONE : FAILED;
}

/* ---- find ---- */

static bool open_index(struct indexing *x) {
    holdall_error error;
    holdall_options *options = new_options();
    bool good = options && (!x->args->map || set_option(options, HOLDALL_OPT_IO, HOLDALL_IO_MAP)) &&
                (!x->args->skip_damaged || set_option(options, HOLDALL_OPT_SKIP_DAMAGED, 1));
    if (good && holdall_bag_index_open(x->path, x->bag, options, &x->index, &error) < 0) {
        bool again = error.status == HOLDALL_E_MISSING || error.status == HOLDALL_E_STATE;
        complain_error(x->path, &error, again ? " (index build makes it)" : "");
        good = false;
    }
    holdall_options_free(options);
    return good;
}

/* Prints the records of a key, each on a line; for several keys, followed by the key. */
static bool find_all(struct indexing *x, const char *key, bool named) {
    uint64_t room = 64, *records = NULL;
    size_t n = 0;
    holdall_error error;
    holdall_status status;
    do {
        uint64_t *larger = realloc(records, (size_t)room * sizeof *records);
        if (!larger) return free(records), complain("out of memory"), false;
        records = larger;
        status = holdall_bag_index_find(x->index, key, strlen(key), records, (size_t)room, &n, &error);
        room = n;
    } while (status == HOLDALL_E_BUFFER);
    if (status < 0) complain_error(x->path, &error, "");
    if (status == HOLDALL_NOT_FOUND) {
        complain("%s: no record is '%s'", x->spec, key);
        x->absent++;
    }
    for (size_t i = 0; status == HOLDALL_OK && i < n; i++) {
        put_text("%" PRIu64, records[i]);
        if (named) put_text("\t%s", key);
        put_text("\n");
    }
    free(records);
    return status >= 0 && !put_failed();
}

/* A records_fn: of many keys the first record of each, on a line of its own. */
static bool find_first(void *ctx, const struct records *keys) {
    struct indexing *x = ctx;
    holdall_error error;
    uint64_t *found = calloc(keys->count + 1, sizeof *found);
    if (!found) return complain("out of memory"), false;
    bool good = holdall_bag_index_find_many(x->index, keys->data, keys->offsets, keys->count, found, &error) >= 0;
    if (!good) complain_error(x->path, &error, "");
    for (size_t i = 0; good && i < keys->count; i++) {
        bool there = found[i] != HOLDALL_NO_RECORD;
        x->absent += !there;
        good = there ? put_text("%" PRIu64 "\n", found[i]) : put_text("none\n");
    }
    free(found);
    return good;
}

static bool find_lines(struct indexing *x) {
    struct input in;
    if (!input_open(&in, x->args->keys, "")) return false;
    struct record_parser parser = {.format = RECORDS_LINES, .in = &in, .most = UINT64_MAX};
    bool good = record_parser_each(&parser, find_first, x);
    input_close(&in);
    return good;
}

static int find(const struct args *args) {
    struct indexing x;
    size_t keys = args->operand_count - 2;
    if ((keys == 0) == !args->keys) return usage_error(args->command, "find wants keys, or a file of them with --keys");
    bool good = index_begin(&x, args) && open_index(&x);
    if (good && args->keys) good = find_lines(&x);
    for (size_t i = 0; good && i < keys; i++) good = find_all(&x, args->operands[2 + i], keys > 1);
    if (x.absent > 0 && args->keys && !put_failed()) complain("%s: no record is %" PRIu64 " of the keys", x.spec, x.absent);
    uint64_t absent = x.absent;
    index_end(&x);
    return put_end((good || put_failed()) && absent == 0 ? DONE : FAILED);
}

int cmd_index(const struct args *args) {
    const char *what = args->operands[0];
    int wrong = args_plain_slice(args, "a bag");
    if (wrong >= 0) return wrong;
    if (strcmp(what, "find") == 0) {
        wrong = args_refuse(args, F_REPLACE | F_NO_SYNC | F_NO_LOCK, "index build");
        return wrong < 0 ? find(args) : wrong;
    }
    if (strcmp(what, "build") != 0) return usage_error(args->command, "'%s' is neither build nor find", what);
    wrong = args_refuse(args, F_KEYS, "index find");
    if (wrong < 0 && args->index && strcmp(args->index, "-") == 0) {
        return usage_error(args->command, "--index names a file that is written in place: not '-'");
    }
    return wrong < 0 ? build(args) : wrong;
}
