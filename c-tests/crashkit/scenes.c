/*
 * The scenes that come with the kit: what can be done to bags, superchunks and arrays in storage of functions,
 * with contents that are small, and large enough for several chunks and writes beyond a sector.
 */
#include <holdall_crashkit.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call)                               \
    do {                                        \
        holdall_status try_status = (call);     \
        if (try_status < 0) return try_status;  \
    } while (0)

/* Numbers that do not compress to nothing. */
static void fill(uint8_t *to, size_t n, uint32_t seed) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        to[i] = (uint8_t)(i % 3 ? seed >> 24 : i >> 4);
    }
}

static const int32_t NO_OPTIONS[] = {0};

/* Creates options for a container in this storage; `pairs` of option and value end with 0. */
static holdall_status options(holdall_storage *storage, const int32_t *pairs, holdall_options **out, holdall_error *err) {
    holdall_options *o = *out = holdall_options_new();
    if (!o) return HOLDALL_E_MEMORY;
    holdall_status status = holdall_options_set_storage(o, &storage, 1, err);
    for (; status >= 0 && pairs[0]; pairs += 2) status = holdall_options_set(o, pairs[0], pairs[1], err);
    return status;
}

/* ---- bags ----------------------------------------------------------------------------------------------------------*/

enum { OLD_RECORDS = 30, NEW_RECORDS = 25 };

struct bag {
    int32_t options[9];
    holdall_mode mode;
};

static holdall_status write_records(holdall_storage *io, holdall_mode mode, const int32_t *pairs, uint32_t first, uint32_t n, holdall_error *err) {
    holdall_bag_writer *w = NULL;
    holdall_options *o;
    holdall_status status = options(io, pairs, &o, err);
    if (status >= 0) status = holdall_bag_writer_open(NULL, mode, o, &w, err);
    holdall_options_free(o);
    uint8_t record[700];
    for (uint32_t i = first; i < first + n && status >= 0; i++) {
        size_t size = i * 37 % sizeof record;
        fill(record, size, i);
        status = holdall_bag_writer_append(w, record, size, err);
    }
    if (status >= 0) status = holdall_bag_writer_commit(w, err);
    holdall_bag_writer_close(w);
    return status;
}

static holdall_status bag_before(const void *ctx, holdall_storage *io, holdall_error *err) {
    const struct bag *b = ctx;
    return write_records(io, HOLDALL_CREATE, b->options, 0, OLD_RECORDS, err);
}

static holdall_status bag_change(const void *ctx, holdall_storage *io, holdall_error *err) {
    const struct bag *b = ctx;
    return write_records(io, b->mode, b->options, 100, NEW_RECORDS, err);
}

static holdall_status bag_go_on(const void *ctx, holdall_storage *io, holdall_error *err) {
    const struct bag *b = ctx;
    return write_records(io, HOLDALL_APPEND, b->options, 0, 0, err);
}

static holdall_status bag_read(const void *ctx, holdall_storage *io, unsigned char *seen, holdall_error *err) {
    const struct bag *b = ctx;
    holdall_bag *bag;
    size_t n;
    holdall_options *o;
    holdall_status status = options(io, b->options, &o, err);
    if (status >= 0) status = holdall_bag_open(NULL, o, &bag, err);
    holdall_options_free(o);
    if (status < 0) return status;
    status = holdall_bag_checksum(bag, HOLDALL_CHECKSUM_SHA256, seen, HOLDALL_CRASHKIT_SEEN, &n, err);
    holdall_bag_close(bag);
    return status;
}

static const struct bag TAIL_NEW = {{0}, HOLDALL_CREATE}, TAIL = {{0}, HOLDALL_APPEND}, TAIL_REPLACE = {{0}, HOLDALL_REPLACE},
    BARE = {{HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE}, HOLDALL_APPEND}, ZSTD = {{HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD}, HOLDALL_APPEND},
    APART_NEW = {{HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE}, HOLDALL_CREATE},
    APART = {{HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE}, HOLDALL_APPEND},
    APART_REPLACE = {{HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE}, HOLDALL_REPLACE},
    APART_ZSTD = {{HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD}, HOLDALL_APPEND};

#define BAG(title, kind, before) {title, &kind, before, bag_change, bag_read, bag_go_on}

/* ---- superchunks ---------------------------------------------------------------------------------------------------*/

enum { CHUNK = 6000, CONTENT = 4 * CHUNK + 900 };

struct schunk {
    holdall_format format;
    int32_t options[5];
    holdall_status (*act)(holdall_schunk *s, holdall_error *err);
};

static holdall_status append_bytes(holdall_schunk *s, size_t n, uint32_t seed, holdall_error *err) {
    uint8_t *bytes = malloc(n);
    if (!bytes) return HOLDALL_E_MEMORY;
    fill(bytes, n, seed);
    holdall_status status = holdall_schunk_append(s, bytes, n, err);
    free(bytes);
    return status;
}

static holdall_status make_schunk(const struct schunk *k, holdall_storage *io, holdall_mode mode, uint32_t seed, holdall_error *err) {
    holdall_schunk *s;
    holdall_options *o;
    holdall_status status = options(io, k->options, &o, err);
    if (status >= 0) status = holdall_options_set(o, HOLDALL_OPT_CHUNK_BYTES, CHUNK, err);
    if (status >= 0) status = holdall_schunk_create(NULL, mode, k->format, 4, o, &s, err);
    holdall_options_free(o);
    if (status < 0) return status;
    status = append_bytes(s, CONTENT, seed, err);
    if (status >= 0) status = holdall_schunk_attr_set(s, k->format == HOLDALL_FORMAT_BLOSCPACK ? "" : "note", "{\"a\": 1}", 8, err);
    if (status >= 0) status = holdall_schunk_commit(s, err);
    holdall_schunk_close(s);
    return status;
}

static holdall_status schunk_before(const void *ctx, holdall_storage *io, holdall_error *err) { return make_schunk(ctx, io, HOLDALL_CREATE, 1, err); }

static holdall_status schunk_replace(const void *ctx, holdall_storage *io, holdall_error *err) { return make_schunk(ctx, io, HOLDALL_REPLACE, 2, err); }

static holdall_status open_schunk(holdall_storage *io, holdall_mode mode, holdall_schunk **out, holdall_error *err) {
    holdall_options *o;
    holdall_status status = options(io, NO_OPTIONS, &o, err);
    if (status >= 0) status = holdall_schunk_open(NULL, mode, o, out, err);
    holdall_options_free(o);
    return status;
}

static holdall_status schunk_change(const void *ctx, holdall_storage *io, holdall_error *err) {
    const struct schunk *k = ctx;
    holdall_schunk *s;
    TRY(open_schunk(io, HOLDALL_APPEND, &s, err));
    holdall_status status = k->act(s, err);
    if (status >= 0) status = holdall_schunk_commit(s, err);
    holdall_schunk_close(s);
    return status;
}

static holdall_status schunk_go_on(const void *ctx, holdall_storage *io, holdall_error *err) {
    (void)ctx;
    holdall_schunk *s;
    uint8_t first[16];
    TRY(open_schunk(io, HOLDALL_APPEND, &s, err));
    holdall_status status = holdall_schunk_read(s, 0, first, sizeof first, err);
    if (status >= 0) status = holdall_schunk_write(s, 0, first, sizeof first, err);
    if (status >= 0) status = holdall_schunk_commit(s, err);
    holdall_schunk_close(s);
    return status;
}

/* Content, the number of chunks, the value. */
static holdall_status schunk_read(const void *ctx, holdall_storage *io, unsigned char *seen, holdall_error *err) {
    const struct schunk *k = ctx;
    holdall_schunk *s;
    size_t n;
    const void *value;
    TRY(open_schunk(io, HOLDALL_READ, &s, err));
    holdall_status status = holdall_schunk_checksum(s, HOLDALL_CHECKSUM_SHA256, seen, 32, &n, err);
    uint64_t chunks = holdall_schunk_chunk_count(s);
    memcpy(seen + 32, &chunks, sizeof chunks);
    if (status >= 0) status = holdall_schunk_attr_get(s, k->format == HOLDALL_FORMAT_BLOSCPACK ? "" : "note", &value, &n, err);
    if (status == HOLDALL_OK) memcpy(seen + 40, value, n < 24 ? n : 24);
    holdall_schunk_close(s);
    return status;
}

static holdall_status append(holdall_schunk *s, holdall_error *err) { return append_bytes(s, 2 * CHUNK + 123, 3, err); }

static holdall_status edit(holdall_schunk *s, holdall_error *err) {
    uint8_t bytes[CHUNK];
    fill(bytes, sizeof bytes, 4);
    return holdall_schunk_write(s, CHUNK / 2, bytes, sizeof bytes, err);
}

static holdall_status insert(holdall_schunk *s, holdall_error *err) {
    uint8_t bytes[CHUNK];
    fill(bytes, sizeof bytes, 5);
    return holdall_schunk_insert(s, 1, bytes, sizeof bytes, err);
}

static holdall_status take_away(holdall_schunk *s, holdall_error *err) { return holdall_schunk_remove(s, 1, err); }
static holdall_status cut_short(holdall_schunk *s, holdall_error *err) { return holdall_schunk_truncate(s, 2 * CHUNK + 100, err); }

static holdall_status set_value(holdall_schunk *s, holdall_error *err) {
    const char *name = holdall_schunk_attr_name(s, 0);
    return holdall_schunk_attr_set(s, name ? name : "note", "{\"b\": [1, 2, 3]}", 16, err);
}

#define IN_FORMAT(label, form, sparse)                                                                                              \
    static const struct schunk label##_NEW = {form, {HOLDALL_OPT_SPARSE * (sparse), 1}, NULL};                                      \
    static const struct schunk label##_APPEND = {form, {HOLDALL_OPT_SPARSE * (sparse), 1}, append};                                 \
    static const struct schunk label##_EDIT = {form, {HOLDALL_OPT_SPARSE * (sparse), 1}, edit};                                     \
    static const struct schunk label##_INSERT = {form, {HOLDALL_OPT_SPARSE * (sparse), 1}, insert};                                 \
    static const struct schunk label##_REMOVE = {form, {HOLDALL_OPT_SPARSE * (sparse), 1}, take_away};                              \
    static const struct schunk label##_CUT = {form, {HOLDALL_OPT_SPARSE * (sparse), 1}, cut_short};                                 \
    static const struct schunk label##_META = {form, {HOLDALL_OPT_SPARSE * (sparse), 1}, set_value}

IN_FORMAT(PACK, HOLDALL_FORMAT_BLOSCPACK, 0);
IN_FORMAT(FRAME, HOLDALL_FORMAT_B2FRAME, 0);
IN_FORMAT(FOLDER, HOLDALL_FORMAT_B2FRAME, 1);

#define CHANGED(title, kind) {title, &kind, schunk_before, schunk_change, schunk_read, schunk_go_on}
#define SCHUNKS(title, label)                                                                       \
    {title ": create", &label##_NEW, NULL, schunk_before, schunk_read, schunk_go_on},               \
    {title ": replace", &label##_NEW, schunk_before, schunk_replace, schunk_read, schunk_go_on},    \
    CHANGED(title ": append", label##_APPEND), CHANGED(title ": edit", label##_EDIT),               \
    CHANGED(title ": insert", label##_INSERT), CHANGED(title ": remove", label##_REMOVE),           \
    CHANGED(title ": truncate", label##_CUT), CHANGED(title ": metadata", label##_META)

/* ---- arrays --------------------------------------------------------------------------------------------------------*/

enum { ROWS = 30, COLUMNS = 40 };

struct array {
    holdall_format format;
    int32_t options[3];
    holdall_status (*act)(holdall_array *a, holdall_error *err);
};

static holdall_status array_before(const void *ctx, holdall_storage *io, holdall_error *err) {
    const struct array *k = ctx;
    const uint64_t shape[2] = {ROWS, COLUMNS}, chunks[2] = {8, 12}, rows[2] = {8, COLUMNS};
    const holdall_array_spec spec = {.struct_size = sizeof spec, .format = k->format, .dtype = "<i4", .ndim = 2, .shape = shape,
                                     .chunk_shape = k->format == HOLDALL_FORMAT_B2ND ? chunks : rows};
    holdall_array *a;
    int32_t items[ROWS * COLUMNS];
    fill((uint8_t *)items, sizeof items, 6);
    holdall_options *o;
    holdall_status status = options(io, k->options, &o, err);
    if (status >= 0) status = holdall_array_create(NULL, HOLDALL_CREATE, &spec, o, &a, err);
    holdall_options_free(o);
    if (status < 0) return status;
    status = holdall_array_write(a, NULL, NULL, NULL, items, sizeof items, NULL, err);
    if (status >= 0) status = holdall_array_commit(a, err);
    holdall_array_close(a);
    return status;
}

static holdall_status open_array(holdall_storage *io, holdall_mode mode, holdall_array **out, holdall_error *err) {
    holdall_options *o;
    holdall_status status = options(io, NO_OPTIONS, &o, err);
    if (status >= 0) status = holdall_array_open(NULL, mode, o, out, err);
    holdall_options_free(o);
    return status;
}

static holdall_status array_change(const void *ctx, holdall_storage *io, holdall_error *err) {
    const struct array *k = ctx;
    holdall_array *a;
    TRY(open_array(io, HOLDALL_APPEND, &a, err));
    holdall_status status = k->act(a, err);
    if (status >= 0) status = holdall_array_commit(a, err);
    holdall_array_close(a);
    return status;
}

static holdall_status array_go_on(const void *ctx, holdall_storage *io, holdall_error *err) {
    (void)ctx;
    const uint64_t start[2] = {0, 0}, count[2] = {1, 1};
    int32_t item;
    holdall_array *a;
    TRY(open_array(io, HOLDALL_APPEND, &a, err));
    holdall_status status = holdall_array_read(a, start, count, NULL, &item, sizeof item, NULL, err);
    if (status >= 0) status = holdall_array_write(a, start, count, NULL, &item, sizeof item, NULL, err);
    if (status >= 0) status = holdall_array_commit(a, err);
    holdall_array_close(a);
    return status;
}

static holdall_status array_read(const void *ctx, holdall_storage *io, unsigned char *seen, holdall_error *err) {
    (void)ctx;
    holdall_array *a;
    TRY(open_array(io, HOLDALL_READ, &a, err));
    const uint64_t *shape = holdall_array_shape(a);
    size_t n = (size_t)holdall_array_nbytes(a);
    void *items = malloc(n + 1);
    holdall_status status = items ? holdall_array_read(a, NULL, NULL, NULL, items, n, NULL, err) : HOLDALL_E_MEMORY;
    memcpy(seen + 32, shape, 2 * sizeof *shape);
    if (status >= 0) status = holdall_checksum_compute(HOLDALL_CHECKSUM_SHA256, items, n, seen, 32, &n, err);
    free(items);
    holdall_array_close(a);
    return status;
}

static holdall_status write_box(holdall_array *a, holdall_error *err) {
    const uint64_t start[2] = {3, 5}, count[2] = {11, 20};
    int32_t items[11 * 20];
    fill((uint8_t *)items, sizeof items, 7);
    return holdall_array_write(a, start, count, NULL, items, sizeof items, NULL, err);
}

static holdall_status add_rows(holdall_array *a, holdall_error *err) {
    int32_t items[9 * COLUMNS];
    fill((uint8_t *)items, sizeof items, 8);
    return holdall_array_append(a, 0, 9, items, sizeof items, err);
}

static holdall_status add_columns(holdall_array *a, holdall_error *err) {
    int32_t items[ROWS * 7];
    fill((uint8_t *)items, sizeof items, 9);
    return holdall_array_append(a, 1, 7, items, sizeof items, err);
}

static holdall_status shrink_and_grow(holdall_array *a, holdall_error *err) {
    const uint64_t less[2] = {10, 30}, more[2] = {20, 50};
    TRY(holdall_array_resize(a, less, err));
    return holdall_array_resize(a, more, err);
}

static holdall_status remove_rows(holdall_array *a, holdall_error *err) { return holdall_array_remove(a, 0, 4, 13, err); }

#define ARRAYS(label, form, sparse)                                                                         \
    static const struct array label##_BOX = {form, {HOLDALL_OPT_SPARSE * (sparse), 1}, write_box};          \
    static const struct array label##_ROWS = {form, {HOLDALL_OPT_SPARSE * (sparse), 1}, add_rows};          \
    static const struct array label##_COLUMNS = {form, {HOLDALL_OPT_SPARSE * (sparse), 1}, add_columns};    \
    static const struct array label##_RESIZE = {form, {HOLDALL_OPT_SPARSE * (sparse), 1}, shrink_and_grow}; \
    static const struct array label##_REMOVE = {form, {HOLDALL_OPT_SPARSE * (sparse), 1}, remove_rows}

ARRAYS(ND, HOLDALL_FORMAT_B2ND, 0);
ARRAYS(ND_FOLDER, HOLDALL_FORMAT_B2ND, 1);
ARRAYS(ROWWISE, HOLDALL_FORMAT_BLOSCPACK, 0);

#define ARRAY(title, kind) {title, &kind, array_before, array_change, array_read, array_go_on}
#define ARRAY_SCENES(title, label)                                                                             \
    {title ": create", &label##_BOX, NULL, array_before, array_read, array_go_on},                             \
    ARRAY(title ": write a box", label##_BOX), ARRAY(title ": append rows", label##_ROWS),                     \
    ARRAY(title ": append columns", label##_COLUMNS), ARRAY(title ": resize", label##_RESIZE),                 \
    ARRAY(title ": remove rows", label##_REMOVE)

static const holdall_crashkit_scene SCENES[] = {
    BAG("bag: create", TAIL_NEW, NULL),
    BAG("bag: append", TAIL, bag_before),
    BAG("bag: append, no checksums", BARE, bag_before),
    BAG("bag: append, zstd", ZSTD, bag_before),
    BAG("bag: replace", TAIL_REPLACE, bag_before),
    BAG("bag, limits apart: create", APART_NEW, NULL),
    BAG("bag, limits apart: append", APART, bag_before),
    BAG("bag, limits apart: append, zstd", APART_ZSTD, bag_before),
    BAG("bag, limits apart: replace", APART_REPLACE, bag_before),
    SCHUNKS("Bloscpack", PACK),
    SCHUNKS("frame", FRAME),
    SCHUNKS("frame in a folder", FOLDER),
    ARRAY_SCENES("array in Bloscpack", ROWWISE),
    ARRAY_SCENES("b2nd", ND),
    ARRAY_SCENES("b2nd in a folder", ND_FOLDER),
};

const holdall_crashkit_scene *holdall_crashkit_scenes(size_t *n) {
    if (n) *n = sizeof SCENES / sizeof *SCENES;
    return SCENES;
}
