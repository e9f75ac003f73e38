/*
 * holdall append: more content for a superchunk, or rows for an array.
 */
#include "arrays.h"
#include "detect.h"
#include "npy.h"
#include "options.h"
#include "packing.h"
#include "report.h"
#include "tool.h"
#include "identify.h"

#include <stdlib.h>
#include <string.h>

/* Bytes can be rows of it, in the order in which they come. */
static bool takes_rows(const struct packing *p) {
    if (holdall_array_ndim(p->array) == 0) {
        return complain("%s: an array without dimensions does not grow", p->out), false;
    }
    if (!in_c_order(p->array)) {
        return complain("%s: an array in Fortran order takes no rows", p->out), false;
    }
    if (row_bytes(p->array) == 0) return complain("%s: rows of this array have no bytes", p->out), false;
    return true;
}

/* Reads what is in front of the items of a file of NumPy. */
static bool read_npy(struct packing *p) {
    struct npy npy;
    if (p->args->raw || file_format(p->from, p->args->from) != FROM_NPY) return true;
    bool good = npy_read_header(&p->in, &npy) && npy_fits(&npy, &p->in, p->array);
    p->exactly = true;
    p->expected = npy.nbytes;
    free(npy.descr);
    return good;
}

/* Returns whether it is CSV or JSON lines. */
static bool is_text(const struct packing *p) {
    int64_t from = p->args->raw ? FROM_RAW : file_format(p->from, p->args->from);
    return from == FROM_CSV || from == FROM_JSONL;
}

/* Bytes of a container are no rows, unless that is asked for. */
static bool are_rows(const struct args *args) {
    const char *in = args->operands[1];
    const char *stored = args->raw || file_format(in, args->from) != NOT_GIVEN ? NULL : stored_format(in);
    if (!stored) return true;
    if (strcmp(in, "-") == 0) in = "standard input";
    return complain("%s: it is a file of %s, whose bytes are no rows (--raw takes them)", in, stored), false;
}

static bool open_to_append(struct packing *p) {
    holdall_options *options = new_options();
    p->format = format_at(p->out);
    bool good = options && set_chunk_options(options, p->args) &&
                set_given(options, HOLDALL_OPT_MEMORY_LIMIT, p->args->memory_limit) &&
                open_array(p->out, HOLDALL_APPEND, options, &p->array);
    if (good && !p->array) p->schunk = open_schunk(p->out, HOLDALL_APPEND, options);
    holdall_options_free(options);
    if (p->array && is_text(p)) {
        complain("%s: rows of text are for tables, and %s is an array (--raw takes its bytes)", p->from, p->out);
        return false;
    }
    if (p->array && !are_rows(p->args)) return false;
    return p->array ? takes_rows(p) && read_npy(p) : p->schunk != NULL;
}

/* Returns whether the operands are swapped. */
static bool are_swapped(const struct args *args) {
    holdall_format format;
    holdall_error error;
    bool bag = holdall_identify(args->operands[0], &format, NULL, &error) >= 0;
    bool other = bag ? format == HOLDALL_FORMAT_BAGZ : error.status == HOLDALL_E_FORMAT;
    return other && container_of(args->operands[1]) == SUPERCHUNK;
}

/* Returns whether it is a table. */
static bool is_table(const char *path) {
    holdall_kind kind;
    return container_of(path) == DATASET && holdall_identify(path, NULL, &kind, NULL) >= 0 && kind == HOLDALL_KIND_TABLE;
}

int cmd_append(const struct args *args) {
    struct packing p = {.args = args, .from = args->operands[1], .out = args->operands[0], .done = "appended"};
    int wrong = check_chunk_flags(args);
    if (wrong >= 0) return wrong;
    if (is_table(args->operands[0])) return are_rows(args) ? table_append(args) : FAILED;
    if (are_swapped(args)) {
        return usage_error(args->command, "'%s' is no superchunk, '%s' is one: what grows comes first", args->operands[0],
                           args->operands[1]);
    }
    return packing_run(&p, open_to_append);
}
