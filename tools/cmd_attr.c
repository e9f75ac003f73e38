/*
 * holdall attr: the values beside a dataset, each JSON under a name.
 */
#include "dataset.h"
#include "files.h"
#include "json.h"
#include "options.h"
#include "report.h"
#include "tool.h"
#include "identify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- get ---- */

static bool print_one(const struct dataset *dataset, const char *name, bool stored) {
    size_t n;
    char *value = (stored ? dataset_attr_stored : dataset_attr)(dataset, name, &n);
    if (value) put_bytes(value, n);
    if (value && !stored) put_text("\n");
    free(value);
    return value != NULL;
}

/* All of them as an object, a line each. */
static bool print_all(const struct dataset *dataset) {
    uint32_t count = dataset_attrs(dataset);
    put_text("{");
    for (uint32_t i = 0; i < count; i++) {
        size_t n;
        const char *name = dataset_attr_name(dataset, i);
        char *value = dataset_attr(dataset, name, &n);
        if (!value) return false;
        put_text("%s\n  ", i ? "," : "");
        put_json(name, strlen(name));
        put_text(": ");
        put_attr(value, n);
        free(value);
    }
    return put_text("%s}\n", count ? "\n" : "");
}

static int attr_get(const struct args *args) {
    struct dataset dataset;
    bool good = dataset_read(&dataset, args->operands[1], args) &&
                (args->operand_count > 2 ? print_one(&dataset, args->operands[2], args->raw) : print_all(&dataset));
    dataset_close(&dataset);
    return put_end(good || put_failed() ? DONE : FAILED);
}

/* ---- set and remove ---- */

static bool has(const struct dataset *d, const char *name) {
    bool found = false;
    for (uint32_t i = 0; i < dataset_attrs(d); i++) found |= strcmp(dataset_attr_name(d, i), name) == 0;
    if (!found) complain("%s: there is no attribute '%s'", d->path, name);
    return found;
}

/* A value of NULL removes. */
static int attr_set(const struct args *args, const char *value, size_t n) {
    struct dataset dataset = {.path = NULL};
    const char *path = args->operands[1], *name = args->operands[2];
    holdall_options *options = new_options();
    bool good = options && set_commit_options(options, args) && dataset_open(&dataset, path, HOLDALL_APPEND, options) &&
                (value || has(&dataset, name)) && dataset_attr_set(&dataset, name, value, n, args->raw) &&
                dataset_commit(&dataset);
    dataset_close(&dataset);
    holdall_options_free(options);
    return good ? DONE : FAILED;
}

/* The bytes of a file. */
static int attr_set_stored(const struct args *args) {
    unsigned char *bytes;
    size_t n;
    if (!read_whole_file(args->operands[3], &bytes, &n)) return FAILED;
    int code = attr_set(args, (const char *)bytes, n);
    free(bytes);
    return code;
}

/* ---- the command ---- */

int cmd_attr(const struct args *args) {
    const struct command *command = args->command;
    const char *verb = args->operands[0];
    size_t count = args->operand_count;
    bool get = strcmp(verb, "get") == 0, put = strcmp(verb, "set") == 0, remove = strcmp(verb, "remove") == 0;
    if (!get && !put && !remove) return usage_error(command, "'%s' is none of get, set and remove", verb);
    if (count < (get ? 2 : put ? 4 : 3)) return usage_error(command, "an operand is missing");
    if (count > (get || remove ? 3 : 4)) return usage_error(command, "one operand too many, '%s'", args->operands[count - 1]);
    if (args->raw && (remove || count < 3)) return usage_error(command, "--raw is for one value, to get or to set");
    if (put && !args->raw && !json_is_valid(args->operands[3], strlen(args->operands[3]))) {
        return usage_error(command, "the value is JSON, as 1.5, '\"text\"' or '[1, 2]', not '%s'", args->operands[3]);
    }
    if (container_of(args->operands[1]) != DATASET && !is_frame(format_at(args->operands[1]))) {
        return complain("%s: attributes are those of datasets, and this is none (info prints the metadata of a superchunk)",
                        args->operands[1]),
               FAILED;
    }
    if (get) return attr_get(args);
    if (put && args->raw) return attr_set_stored(args);
    return attr_set(args, put ? args->operands[3] : NULL, put ? strlen(args->operands[3]) : 0);
}
