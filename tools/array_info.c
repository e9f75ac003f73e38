/*
 * Facts of arrays and frames.
 */
#define _POSIX_C_SOURCE 200809L

#include "array_info.h"
#include "coding.h"
#include "msgpack.h"
#include "options.h"
#include "report.h"
#include "schunks.h"
#include "identify.h"
#include "info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of longer values of metalayers only the length is printed. */
enum { SHORT_VALUE = 1024, SHORT_LINE = 200 };

/* ---- what there is ---- */

/* Properties of a frame that are not of the array; `frame` is NULL for other formats. */
struct facts {
    const struct dataset *dataset;
    bool coded;
    struct coding coding;
    holdall_schunk *frame;
    bool sparse;
    uint64_t stored, special;
};

/* Chunks that take no room are all of one value. */
static void count_chunks(struct facts *f) {
    for (uint64_t i = 0; i < holdall_schunk_chunk_count(f->frame); i++) {
        holdall_chunk_info info = {.struct_size = sizeof info};
        bool found = holdall_schunk_get_chunk_info(f->frame, i, &info, NULL) >= 0;
        *(found && info.stored_bytes == 0 ? &f->special : &f->stored) += 1;
    }
}

static void find_facts(struct facts *f, const struct dataset *dataset) {
    struct stat about;
    *f = (struct facts){.dataset = dataset};
    f->coded = coding_of(&f->coding, dataset->path, dataset->format, dataset->at);
    if (!is_frame(dataset->format)) return;
    holdall_options *options = new_options();
    bool good = options && set_option(options, HOLDALL_OPT_FRAME_OFFSET, (int64_t)dataset->at) &&
                holdall_schunk_open(dataset->path, HOLDALL_READ, options, &f->frame, NULL) >= 0;
    holdall_options_free(options);
    if (!good) return;
    f->sparse = stat(dataset->path, &about) == 0 && S_ISDIR(about.st_mode);
    count_chunks(f);
}

/* A short value as JSON, to be freed by the caller; NULL: it is long, or no MessagePack. */
static char *short_value(const void *value, size_t n, size_t most) {
    struct text text = {.bytes = NULL};
    bool good = n <= most && msgpack_to_json(&text, value, n);
    if (good && !text.failed) return text_take(&text);
    text_free(&text);
    return NULL;
}

/* The filters with commas between them, each in `quotes`; to be freed. */
static char *filters_text(const struct coding *coding, const char *quotes) {
    struct text text = {.bytes = NULL};
    for (int i = 0; i < coding->count; i++) {
        if (i > 0) text_string(&text, ", ");
        text_string(&text, quotes);
        put_filter(&text, coding->filters[i], coding->meta[i]);
        text_string(&text, quotes);
    }
    return text_take(&text);
}

/* ---- JSON ---- */

static void put_list(const char *name, const uint64_t *numbers, uint32_t count) {
    put_text(", \"%s\": [", name);
    for (uint32_t i = 0; i < count; i++) put_text("%s%" PRIu64, i ? ", " : "", numbers[i]);
    put_text("]");
}

static void put_json_metalayers(const struct facts *f) {
    put_text(", \"metalayers\": {");
    for (uint32_t i = 0, put = 0; f->frame && i < holdall_schunk_attr_count(f->frame); i++) {
        const char *name = holdall_schunk_attr_name(f->frame, i);
        const void *value;
        size_t n;
        if (holdall_schunk_attr_get(f->frame, name, &value, &n, NULL) != HOLDALL_OK) continue;
        char *json = short_value(value, n, SHORT_VALUE);
        put_text("%s", put++ ? ", " : "");
        put_json(name, strlen(name));
        put_text(": {\"bytes\": %zu, \"value\": %s}", n, json ? json : "null");
        free(json);
    }
    put_text("}");
}

void array_put_json(const struct dataset *dataset) {
    struct facts f;
    const holdall_array *array = dataset->array;
    const char *dtype = holdall_array_dtype(array);
    uint32_t ndim = holdall_array_ndim(array);
    find_facts(&f, dataset);
    put_text(", \"ndim\": %" PRIu32, ndim);
    put_list("shape", holdall_array_shape(array), ndim);
    put_list("chunkshape", info_of_array(array).chunk_shape, ndim);
    put_list("blockshape", info_of_array(array).block_shape, ndim);
    put_text(", \"dtype\": ");
    put_json(dtype, strlen(dtype));
    char *filters = filters_text(&f.coding, "\"");
    /* the headers of all chunks of a superchunk were read for that */
    if (dataset->format != HOLDALL_FORMAT_BLOSCPACK) put_text(f.coded ? ", \"codec\": \"%s\"" : ", \"codec\": null", f.coding.codec);
    put_text(", \"filters\": [%s]", filters ? filters : "");
    free(filters);
    put_json_metalayers(&f);
    if (f.frame) {
        put_text(", \"level\": %d, \"sparse\": %s, \"chunks\": %" PRIu64 ", \"chunks_stored\": %" PRIu64
                 ", \"chunks_special\": %" PRIu64 ", \"checksum\": \"%s\"",
                 f.coding.level, f.sparse ? "true" : "false", f.stored + f.special, f.stored, f.special,
                 info_of_schunk(f.frame).checksum == HOLDALL_CHECKSUM_CRC32 ? "crc32" : "none");
    }
    holdall_schunk_close(f.frame);
}

/* ---- lines ---- */

static void put_numbers(const char *name, const uint64_t *numbers, uint32_t count) {
    put_text("%s", name);
    for (uint32_t i = 0; i < count; i++) put_text("%s%" PRIu64, i ? ", " : "", numbers[i]);
    put_text("\n");
}

static void put_metalayers(const struct facts *f) {
    uint32_t count = holdall_schunk_attr_count(f->frame);
    put_text("metalayers:%s\n", count ? "" : "   none");
    for (uint32_t i = 0; i < count; i++) {
        const char *name = holdall_schunk_attr_name(f->frame, i);
        const void *value;
        size_t n;
        holdall_status status = holdall_schunk_attr_get(f->frame, name, &value, &n, NULL);
        put_text("  ");
        put_printable(name);
        if (status != HOLDALL_OK) {
            put_text(": damaged\n");
            continue;
        }
        char *json = short_value(value, n, SHORT_LINE);
        put_text(": %zu byte%s%s", n, plural(n), json ? ", " : "");
        if (json) put_printable(json);
        put_text("\n");
        free(json);
    }
}

void array_put_lines(const struct dataset *dataset) {
    struct facts f;
    const holdall_array *array = dataset->array;
    uint32_t ndim = holdall_array_ndim(array);
    find_facts(&f, dataset);
    put_text("dtype:        ");
    put_printable(holdall_array_dtype(array));
    put_text("\nndim:         %" PRIu32 "\n", ndim);
    put_numbers("shape:        ", holdall_array_shape(array), ndim);
    put_numbers("chunk:        ", info_of_array(array).chunk_shape, ndim);
    put_numbers("block:        ", info_of_array(array).block_shape, ndim);
    char *filters = filters_text(&f.coding, "");
    if (dataset->format != HOLDALL_FORMAT_BLOSCPACK) { /* see above */
        put_text("codec:        %s", f.coded ? f.coding.codec : "unknown, there is no chunk");
        if (f.coding.level >= 0) put_text(", level %d", f.coding.level);
        put_text("\n");
    }
    put_text("filters:      %s\n", filters && *filters ? filters : "none");
    free(filters);
    if (f.frame) {
        put_text("chunks:       %" PRIu64 ", %" PRIu64 " of them all of one value\n", f.stored + f.special, f.special);
        put_text("storage:      %s\n", f.sparse ? "sparse, a file for each chunk" : "contiguous, one file");
        put_text("checksum:     %s\n", info_of_schunk(f.frame).checksum == HOLDALL_CHECKSUM_CRC32 ? "crc32" : "none");
        put_metalayers(&f);
    }
    holdall_schunk_close(f.frame);
}
