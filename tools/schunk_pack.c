/*
 * holdall pack into a superchunk.
 */
#include "convert.h"
#include "files.h"
#include "npy.h"
#include "options.h"
#include "packing.h"
#include "report.h"
#include "tool.h"
#include "identify.h"

#include <stdlib.h>
#include <string.h>

/* Defaults of the library and of Bloscpack. */
enum { CHUNK_SIZE = 1 << 20, TYPESIZE = 8 };
/* The largest typesize that files have. */
enum { TYPESIZE_MOST = 255 };
/* Entries for offsets that Bloscpack keeps for a chunk: the chunk's, and 10 to append others. */
enum { ENTRIES = 11 };

/* ---- options ---- */

/* Keeps as many offsets free as Bloscpack does, where it is known how many chunks there are going to be. */
static bool set_spare_chunks(holdall_options *options, const struct packing *p, uint64_t chunk_size) {
    bool offsets = !p->args->no_offsets && (p->args->format_version == NOT_GIVEN || p->args->format_version == VERSION_3);
    if (!offsets || p->in.total == 0) return true;
    return set_option(options, HOLDALL_OPT_SPARE_CHUNKS, (int64_t)(p->in.total / chunk_size + 1) * ENTRIES);
}

/* ---- opening ---- */

static bool set_metadata(const struct packing *p, const char *name, const void *json, size_t n) {
    holdall_error error;
    holdall_status status = holdall_schunk_attr_set(p->schunk, "", json, n, &error);
    if (status < 0) complain_error(name, &error, "");
    return status >= 0;
}

static bool read_metadata(const struct packing *p) {
    unsigned char *json;
    size_t n;
    if (!p->args->metadata) return true;
    if (!read_whole_file(p->args->metadata, &json, &n)) return false;
    bool good = set_metadata(p, p->args->metadata, json, n);
    free(json);
    return good;
}

static holdall_mode mode_of(const struct packing *p) {
    return p->args->replace ? HOLDALL_REPLACE : HOLDALL_CREATE;
}

static bool create_as(struct packing *p, holdall_format format, holdall_options *options, size_t typesize) {
    holdall_error error;
    holdall_status status = holdall_schunk_create(p->out, mode_of(p), format, typesize, options, &p->schunk, &error);
    if (status < 0) complain_create(p->out, &error, p->args->replace);
    return status >= 0;
}

static bool create(struct packing *p, holdall_options *options, size_t typesize) {
    return create_as(p, HOLDALL_FORMAT_BLOSCPACK, options, typesize);
}

static bool create_plain(struct packing *p, holdall_options *options) {
    size_t typesize = p->args->typesize == NOT_GIVEN ? TYPESIZE : (size_t)p->args->typesize;
    int64_t chunk_size = p->args->chunk_size == NOT_GIVEN ? CHUNK_SIZE / TYPESIZE * TYPESIZE : p->args->chunk_size;
    return set_spare_chunks(options, p, (uint64_t)chunk_size) && create(p, options, typesize) && read_metadata(p);
}

/* The same for items of a type that is known, of which the header is read where there is one. */
static bool create_array(struct packing *p, holdall_options *options) {
    struct npy npy;
    char *json = NULL;
    bool good = npy_begin(&p->in, p->args, p->args->dtype ? FROM_RAW : FROM_NPY, &npy) && npy_lay_out(&npy, p->args, p->out, mode_of(p), options) &&
                set_option(options, HOLDALL_OPT_CHUNK_BYTES, (int64_t)npy.chunk_size) &&
                set_spare_chunks(options, p, npy.chunk_size) &&
                create(p, options, npy.itemsize == 0 || npy.itemsize > TYPESIZE_MOST ? 1 : (size_t)npy.itemsize) &&
                (json = npy_metadata(&npy)) != NULL && set_metadata(p, p->out, json, strlen(json));
    p->exactly = true;
    p->expected = npy.nbytes;
    free(json);
    free(npy.descr);
    return good;
}

static bool is_npy(const struct args *args) {
    return !args->raw && ends_in(args->operands[0], ".npy");
}

static bool open_new(struct packing *p) {
    holdall_options *options = new_options();
    bool good = options && set_chunk_options(options, p->args) && set_file_options(options, p->args) && create_plain(p, options);
    holdall_options_free(options);
    return good;
}

static bool open_new_array(struct packing *p) {
    holdall_options *options = new_options();
    bool good = options && set_chunk_options(options, p->args) && set_file_options(options, p->args) && create_array(p, options);
    holdall_options_free(options);
    return good;
}

/* A frame cannot store type and shape. */
static bool open_new_frame(struct packing *p) {
    struct npy npy = {.descr = NULL};
    holdall_options *options = new_options();
    bool good = options && set_chunk_options(options, p->args) && set_file_options(options, p->args) &&
                npy_begin(&p->in, p->args, p->args->dtype ? FROM_RAW : FROM_NPY, &npy) && npy_measure(&npy, &p->in);
    if (good && npy.fortran_order && npy.ndim > 1) {
        good = (complain("%s: its items are in Fortran order, which a frame cannot record (--to b2nd)", p->in.name), false);
    }
    good = good && create_as(p, HOLDALL_FORMAT_B2FRAME, options, npy.itemsize == 0 || npy.itemsize > TYPESIZE_MOST ? 1 : (size_t)npy.itemsize);
    p->exactly = true;
    p->expected = npy.nbytes;
    free(npy.descr);
    holdall_options_free(options);
    return good;
}

int items_to_frame(const struct args *args) {
    struct packing p = {.args = args, .from = args->operands[0], .out = args->operands[1], .done = "converted"};
    return packing_run(&p, open_new_frame);
}

int array_pack(const struct args *args) {
    struct packing p = {.args = args, .from = args->operands[0], .out = args->operands[1], .done = "converted"};
    return packing_run(&p, open_new_array);
}

/* ---- the command ---- */

/* Checks the flags beyond the table of flags. */
static int check_usage(const struct args *args) {
    const struct command *command = args->command;
    const char *from = args->operands[0], *out = args->operands[1];
    if (args->operand_count > 2) return usage_error(command, "one operand too many, '%s'", args->operands[2]);
    if (strcmp(out, "-") == 0) return usage_error(command, "a superchunk is not written from front to back: not to '-'");
    if (is_npy(args)) {
        if (args->typesize != NOT_GIVEN || args->metadata) {
            return usage_error(command, "--%s is not for a .npy, which has its own (--raw packs its bytes)",
                               args->metadata ? "metadata" : "typesize");
        }
        return check_chunk_flags(args);
    }
    int64_t typesize = args->typesize == NOT_GIVEN ? TYPESIZE : args->typesize;
    if (args->chunk_size != NOT_GIVEN && args->chunk_size % typesize != 0) {
        return usage_error(command, "--chunk-size %lld is not a whole number of items of %lld bytes (--typesize)",
                           (long long)args->chunk_size, (long long)typesize);
    }
    if (args->metadata && strcmp(args->metadata, "-") == 0 && strcmp(from, "-") == 0) {
        return usage_error(command, "content and --metadata cannot both be standard input");
    }
    return check_chunk_flags(args);
}

int schunk_pack(const struct args *args) {
    int wrong = check_usage(args);
    if (wrong >= 0) return wrong;
    struct packing p = {.args = args, .from = args->operands[0], .out = args->operands[1], .done = "packed"};
    return packing_run(&p, is_npy(args) ? open_new_array : open_new);
}
