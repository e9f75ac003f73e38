/*
 * holdall info of a superchunk.
 */
#include "array_info.h"
#include "arrays.h"
#include "json.h"
#include "report.h"
#include "schunks.h"
#include "tool.h"
#include "identify.h"
#include "info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Codec of all chunks, if it is not one of HOLDALL_CODEC_*. */
enum { NO_CHUNKS = -1 };

/* ---- facts ---- */

static const char *dialect_name(int32_t version) {
    switch (version) {
    case 0: return "v0";
    case 1: return "v1";
    case 2: return "v2";
    case 3: return "v3";
    case 103: return "rfc";
    default: return "unknown";
    }
}

/* The codec of the chunks; those that are stored as they are count only where there are no others. */
static int32_t codec_of(const holdall_schunk *schunk) {
    int32_t found = NO_CHUNKS;
    for (uint64_t i = 0; i < holdall_schunk_chunk_count(schunk); i++) {
        holdall_chunk_info info = {.struct_size = sizeof info};
        if (holdall_schunk_get_chunk_info(schunk, i, &info, NULL) < 0) continue;
        int32_t codec = info.codec;
        if (found == NO_CHUNKS || found == HOLDALL_CODEC_NONE) {
            found = codec;
        } else if (codec != found && codec != HOLDALL_CODEC_NONE) {
            return HOLDALL_CODEC_MIXED;
        }
    }
    return found;
}

static void put_codec(const holdall_schunk *schunk) {
    int32_t codec = codec_of(schunk);
    put_text("%s", holdall_constant_name(codec == NO_CHUNKS ? HOLDALL_CODEC_NONE : codec));
}

/* Returns the metadata, terminated by a NUL. The caller frees it; *text is NULL if there are none. */
static bool get_metadata(const char *path, const holdall_schunk *schunk, char **text, size_t *n) {
    const void *value;
    holdall_error error;
    *text = NULL;
    holdall_status status = holdall_schunk_attr_get(schunk, "", &value, n, &error);
    if (status == HOLDALL_NOT_FOUND) return true;
    if (status < 0) return complain_error(path, &error, ""), false;
    *text = malloc(*n + 1);
    if (!*text) return complain("out of memory"), false;
    memcpy(*text, value, *n);
    (*text)[*n] = '\0';
    return true;
}

/* ---- printing ---- */

/* The printed properties. */
struct facts {
    const char *path;
    const holdall_schunk *schunk;
    const holdall_array *array; /* NULL: it is none */
    char *metadata;             /* NULL: there are none */
    size_t metadata_size;
};

static const char *kind_of(const struct facts *f) {
    return f->array ? "array" : kind_name(HOLDALL_KIND_SCHUNK);
}

/* Text that is not JSON becomes a JSON string, so that it is seen as it is and harms nothing. */
static bool has_json(const struct facts *f) {
    return json_is_valid(f->metadata, f->metadata_size);
}

static struct dataset as_dataset(const struct facts *f) {
    return (struct dataset){.path = f->path, .format = HOLDALL_FORMAT_BLOSCPACK, .array = (holdall_array *)f->array};
}

static const char *order_name(const holdall_array *array) {
    return info_of_array(array).order == HOLDALL_ORDER_F ? "F" : "C";
}

static void print_json(const struct facts *f) {
    put_text("{\"path\": ");
    put_json(f->path, strlen(f->path));
    put_text(", \"format\": \"bloscpack\", \"kind\": \"%s\", \"dialect\": \"%s\"", kind_of(f),
             dialect_name(info_of_schunk(f->schunk).version));
    put_text(", \"nbytes\": %" PRIu64 ", \"cbytes\": %" PRIu64, holdall_schunk_nbytes(f->schunk),
             info_of_schunk(f->schunk).stored_bytes);
    put_text(", \"chunks\": %" PRIu64 ", \"chunk_size\": %zu", holdall_schunk_chunk_count(f->schunk),
             info_of_schunk(f->schunk).chunk_size);
    put_text(", \"typesize\": %zu, \"codec\": \"", info_of_schunk(f->schunk).typesize);
    put_codec(f->schunk);
    put_text("\", \"checksum\": \"");
    put_text("%s", holdall_constant_name(info_of_schunk(f->schunk).checksum));
    put_text("\", \"metadata\": ");
    if (!f->metadata) {
        put_text("null");
    } else if (has_json(f)) {
        put_bytes(f->metadata, f->metadata_size);
    } else {
        put_json(f->metadata, f->metadata_size);
    }
    if (f->array) {
        const struct dataset array = as_dataset(f);
        array_put_json(&array);
        put_text(", \"order\": \"%s\"", order_name(f->array));
    }
    put_text("}\n");
}

static void print_lines(const struct facts *f) {
    put_text("path:         ");
    put_printable(f->path);
    put_text("\nformat:       bloscpack\nkind:         %s\n", kind_of(f));
    put_text("dialect:      %s\n", dialect_name(info_of_schunk(f->schunk).version));
    put_text("nbytes:       %" PRIu64 "\n", holdall_schunk_nbytes(f->schunk));
    put_text("cbytes:       %" PRIu64 "\n", info_of_schunk(f->schunk).stored_bytes);
    put_text("chunks:       %" PRIu64 "\n", holdall_schunk_chunk_count(f->schunk));
    put_text("chunk size:   %zu\n", info_of_schunk(f->schunk).chunk_size);
    put_text("typesize:     %zu\n", info_of_schunk(f->schunk).typesize);
    put_text("codec:        ");
    put_codec(f->schunk);
    put_text("\nchecksum:     ");
    put_text("%s", holdall_constant_name(info_of_schunk(f->schunk).checksum));
    put_text("\nmetadata:     ");
    if (!f->metadata) {
        put_text("none");
    } else if (has_json(f)) {
        put_printable(f->metadata);
    } else {
        put_json(f->metadata, f->metadata_size);
    }
    put_text("\n");
    if (!f->array) return;
    const struct dataset array = as_dataset(f);
    array_put_lines(&array);
    put_text("order:        %s\n", order_name(f->array));
}

/* ---- the command ---- */

int schunk_info(const struct args *args) {
    struct source source;
    holdall_array *array = NULL;
    if (is_frame(format_there(args, args->operands[0]))) return dataset_info(args);
    if (!source_open(&source, args->operands[0], args)) return FAILED;
    struct facts facts = {.path = source.path, .schunk = source.schunk};
    bool good = get_metadata(source.path, source.schunk, &facts.metadata, &facts.metadata_size) &&
                source_array(&source, args, &array);
    facts.array = array;
    (args->json ? print_json : print_lines)(&facts);
    free(facts.metadata);
    holdall_array_close(array);
    source_close(&source);
    return put_end(good && !source.damaged ? DONE : FAILED);
}
