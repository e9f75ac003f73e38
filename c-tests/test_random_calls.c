/* Calls every function of the header, as calls/generate.py finds them there, with random arguments.
 *
 * First with NULL for each pointer, with all other arguments valid: a pointer that must not be NULL
 * is an argument error, and no call does harm. Then in sequences: functions drawn at random, on
 * handles, files and storage of earlier calls, with arguments that are valid, nearly valid or
 * invalid, while bytes of the files change. The test fails if a memory checker reports an error, on
 * a panic, on a failure without a message, and if a failing call returns a handle.
 *
 * $HOLDALL_CALLS: number of sequences; $HOLDALL_SEED: seed of the first one. A failure prints its
 * seed. */
#include "folder.h"

#include <calls.inc>

static uint64_t seed, state;
/* Only valid arguments; the parameter that is NULL, or -1. */
static bool intact;
static int null_at = -1;
#define NULLED(i) (null_at == (i))

static uint64_t below(uint64_t n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (state >> 11) % n;
}

static bool once_in(uint64_t n)
{
    return !intact && below(n) == 0;
}

/* ---- memory, freed after each call ------------------------------------------------------------*/

static void *blocks[64];
static int used;

/* Of exactly this size, so that a memory checker reports accesses outside it. */
static void *room(size_t n)
{
    void *block = malloc(n > 0 ? n : 1);
    CHECK(block != NULL && used < (int)(sizeof blocks / sizeof blocks[0]));
    return blocks[used++] = block;
}

static const void *filled(size_t n)
{
    uint8_t *block = room(n), first = (uint8_t)below(256), step = (uint8_t)below(3);
    for (size_t i = 0; i < n; i++)
        block[i] = (uint8_t)(first + i * step);
    return block;
}

static uint64_t *numbers(size_t n)
{
    return room(n * sizeof(uint64_t));
}

/* ---- handles ----------------------------------------------------------------------------------*/

enum { SLOTS = 6 };
static void *handles[KINDS][SLOTS];

/* A pointer that no call may leave in *out. */
#define STALE ((void *)&state)

static void *picked(int parameter, int kind)
{
    if (NULLED(parameter) || once_in(200))
        return NULL;
    uint64_t from = below(SLOTS);
    for (uint64_t i = 0; i < SLOTS; i++)
        if (handles[kind][(from + i) % SLOTS] != NULL)
            return handles[kind][(from + i) % SLOTS];
    return NULL;
}

/* If all options were set at random, most calls would refuse one of them. */
static void *options_or_none(int parameter, int kind)
{
    return once_in(2) ? NULL : picked(parameter, kind);
}

static void *taken(int parameter, int kind)
{
    /* otherwise there would soon be none */
    void *handle = intact || once_in(6) ? picked(parameter, kind) : NULL;
    for (int i = 0; i < SLOTS; i++)
        if (handles[kind][i] == handle)
            handles[kind][i] = NULL;
    return handle;
}

static void store_handle(int kind, holdall_status status, void *made)
{
    if (status != HOLDALL_OK && status != HOLDALL_DAMAGED) {
        CHECK(made == NULL);
        return;
    }
    CHECK(made != NULL && made != STALE);
    int slot = 0;
    while (slot < SLOTS - 1 && handles[kind][slot] != NULL)
        slot++;
    if (handles[kind][slot] != NULL)
        close_one(kind, handles[kind][slot]);
    handles[kind][slot] = made;
}

static void close_all(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < SLOTS; i++)
            if (handles[kind][i] != NULL) {
                close_one(kind, handles[kind][i]);
                handles[kind][i] = NULL;
            }
}

/* ---- arguments --------------------------------------------------------------------------------*/

static uint64_t a_count(uint64_t most)
{
    return intact ? 2 : below(most);
}

static uint64_t a_number(void)
{
    static const uint64_t odd[] = {UINT64_MAX,   INT64_MAX,         (uint64_t)INT64_MIN,
                                   UINT32_MAX,   UINT64_C(1) << 32, INT32_MAX,
                                   (uint64_t)-2, UINT64_C(1) << 60};
    switch (intact ? 9 : below(10)) {
    case 0: return odd[below(8)];
    case 1: return below(5000);
    case 2:
    case 3: return below(60);
    case 9: return 0;
    default: return below(5);
    }
}

static size_t a_size(void)
{
    return (size_t)(intact ? 8 : once_in(20) ? below(70000) : below(5) ? below(200) : below(3000));
}

static holdall_mode a_mode(void)
{
    return intact         ? HOLDALL_REPLACE
           : once_in(30) ? (holdall_mode)a_number()
                         : (holdall_mode)(HOLDALL_READ + below(4));
}

static holdall_format a_format(void)
{
    return intact         ? HOLDALL_FORMAT_B2ND
           : once_in(30) ? (holdall_format)a_number()
                         : (holdall_format)(HOLDALL_FORMAT_BLOSCPACK + below(8));
}

/* Of a store; 0: by the end of the path. */
static holdall_format a_store_format(void)
{
    return once_in(4) ? HOLDALL_FORMAT_B2D + (holdall_format)below(3) : once_in(9) ? a_format() : 0;
}

static holdall_kind a_kind(void)
{
    return intact         ? HOLDALL_KIND_ARRAY
           : once_in(30) ? (holdall_kind)a_number()
                         : (holdall_kind)(HOLDALL_KIND_SCHUNK + below(5));
}

static holdall_option an_option(void)
{
    holdall_option option = intact         ? HOLDALL_OPT_LEVEL
                            : once_in(30) ? (holdall_option)a_number()
                                          : (holdall_option)(1 + below(HOLDALL_OPT_CHUNK_DICTIONARY));
    /* a mapped file that is truncated raises SIGBUS, as the header states */
    return option == HOLDALL_OPT_IO ? HOLDALL_OPT_VERIFY : option;
}

/* Of any family, or a number. */
static int32_t a_constant(void)
{
    static const int32_t first[] = {
        HOLDALL_READ,       HOLDALL_KIND_SCHUNK,     HOLDALL_FORMAT_BLOSCPACK,
        HOLDALL_CODEC_NONE, HOLDALL_CHECKSUM_NONE,   HOLDALL_FILTER_NONE,
        HOLDALL_ORDER_C,    HOLDALL_BAG_LIMITS_TAIL, HOLDALL_BAG_SHARDS_CONCATENATED,
        HOLDALL_IO_READ,    HOLDALL_BAG_DICTIONARY_SEPARATE};
    return intact || below(2) ? (int32_t)a_number() : first[below(11)] + (int32_t)below(9);
}

static int32_t a_checksum(void)
{
    return once_in(10) ? a_constant() : HOLDALL_CHECKSUM_NONE + (int32_t)below(10);
}

static const char *const names[] = {"a.blp", "b.b2frame", "c.b2nd",       "d.bagz",  "e.bag",  "f",
                                    "g.cat", "h@2.bagz",  "d.bagz,e.bag", "d.index", "none/x", "",
                                    "s.b2d", "s.b2d/a",   "t.b2z",         "u.b2e"};

static const char *a_path(void)
{
    return in_tmp(names[intact ? 10 : below(sizeof names / sizeof names[0])]);
}

static const char *a_node(void)
{
    static const char *const some[] = {"/a", "a", "/none", "/", "", "/g/b", "/g", "/a/c", "/.."};
    return some[intact ? 2 : below(sizeof some / sizeof some[0])];
}

static const char *a_predicate(void)
{
    static const char *const some[] = {"x > 1", "x is null or not y = 'a'", "", "x >", "none = 1",
                                       "starts_with(y, 'a')", "x in (1, 2.5, nan)", "(((", "x"};
    return some[intact ? 0 : below(sizeof some / sizeof some[0])];
}

static const char *a_name(void)
{
    static const char *const some[] = {"",
                                       "x",
                                       "y",
                                       "b2nd",
                                       "caterva",
                                       "numpy",
                                       "\xc3\xa9",
                                       "a/b",
                                       "..",
                                       "holdall.crc32",
                                       "a name that is far longer than any name is allowed to be"};
    return some[intact ? 1 : below(sizeof some / sizeof some[0])];
}

static const char *a_dtype(void)
{
    static const char *const some[] = {"<i4",
                                       "<f8",
                                       "|u1",
                                       "|S5",
                                       "<M8[ns]",
                                       "[('a','<i4'),('b','|S3')]",
                                       "('<i2',(2,3))",
                                       "|O",
                                       ">c16",
                                       "<U2",
                                       "|V0",
                                       "nonsense",
                                       "("};
    return some[intact ? 0 : once_in(3) ? below(sizeof some / sizeof some[0]) : below(2)];
}

static holdall_error *an_error(void)
{
    preset_error();
    return once_in(8) ? NULL : &err;
}

static int on_progress(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx;
    CHECK(total == 0 || done <= total);
    return once_in(10);
}

static int on_fault(void *ctx, const char *part, const holdall_error *fault)
{
    (void)ctx;
    CHECK(part != NULL && fault->status < 0 && is_text(fault->message, sizeof fault->message));
    return once_in(10);
}

/* Record numbers without an end; sometimes it fails, or is at the end. */
static int next_index(void *ctx, uint64_t *index)
{
    (void)ctx;
    *index = once_in(30) ? a_number() : below(20);
    return once_in(60) ? -1 : once_in(60) ? HOLDALL_END : HOLDALL_OK;
}

static holdall_next_index_fn next_index_or_none(void)
{
    return once_in(2) ? NULL : next_index;
}

static void *on_allocate(void *ctx, size_t n)
{
    (void)ctx;
    return once_in(20) || n > 1 << 20 ? NULL : room(n);
}

static int64_t on_write(void *ctx, const void *src, size_t n)
{
    (void)ctx;
    CHECK(src != NULL && n > 0);
    return once_in(20) ? -ENOSPC : 0;
}

/* Storage of this test. */
enum { STORAGES = 3 };
static folder storages[STORAGES] = {FOLDER, FOLDER, FOLDER};

static const holdall_storage_functions *a_storage(void)
{
    holdall_storage_functions *f = room(sizeof *f);
    *f = folder_functions(&storages[below(STORAGES)]);
    if (once_in(20))
        f->struct_size = a_size() % 99;
    if (once_in(20))
        f->write_at = NULL;
    if (once_in(40))
        f->size = NULL;
    return f;
}

/* ---- arguments that belong together -----------------------------------------------------------*/

static uint32_t dimensions(const holdall_array *a)
{
    return a == NULL ? 2 : holdall_array_ndim(a);
}

/* A length that is right, or wrong. */
static size_t about(size_t n)
{
    return once_in(8) ? a_size() : n < 1 << 20 ? n : a_size();
}

static uint64_t length(const holdall_array *a, uint32_t d)
{
    return a == NULL ? 2 : holdall_array_shape(a)[d];
}

static void a_box(const holdall_array *a, const uint64_t **start, const uint64_t **count,
                  const uint64_t **step, const int64_t **strides, size_t *bytes)
{
    uint32_t n = dimensions(a);
    uint64_t *from = numbers(n), *many = numbers(n), *by = numbers(n);
    int64_t *apart = room(n * sizeof *apart);
    *bytes = a == NULL ? 4 : holdall_array_itemsize(a);
    for (uint32_t d = n; d-- > 0;) {
        uint64_t all = length(a, d);
        from[d] = once_in(40) ? a_number() : all > 0 && !intact ? below(all) : 0;
        by[d] = once_in(10) ? a_number() : 1;
        many[d] = once_in(40)     ? a_number()
                  : all > from[d] ? 1 + below((all - from[d] - 1) / (by[d] ? by[d] : 1) + 1)
                                  : 0;
        many[d] = many[d] > 5000 && below(9) ? 3 : many[d];
        apart[d] = once_in(20) ? (int64_t)a_number() : (int64_t)*bytes * (once_in(4) ? -1 : 1);
        *bytes = about(*bytes * (size_t)many[d]);
    }
    *start = once_in(9) ? NULL : from, *count = once_in(9) ? NULL : many,
    *step = once_in(2) ? NULL : by;
    *strides = once_in(2) ? apart : NULL;
}

static const uint64_t *a_start(const holdall_array *a)
{
    uint64_t *from = numbers(dimensions(a));
    for (uint32_t d = 0; d < dimensions(a); d++)
        from[d] = once_in(40) ? a_number() : length(a, d) > 0 ? below(length(a, d)) : 0;
    return once_in(4) ? NULL : from;
}

static const uint64_t *some_counts(const holdall_array *a)
{
    uint64_t *many = numbers(dimensions(a));
    for (uint32_t d = 0; d < dimensions(a); d++)
        many[d] = once_in(40) ? a_number() : a_count(3);
    return once_in(3) ? NULL : many;
}

static const int64_t *some_steps(const holdall_array *a)
{
    int64_t *by = room(dimensions(a) * sizeof *by);
    for (uint32_t d = 0; d < dimensions(a); d++)
        by[d] = once_in(40) ? (int64_t)a_number() : once_in(3) ? (int64_t)below(7) - 3 : 1;
    return once_in(2) ? NULL : by;
}

static void a_choice(const holdall_array *a, const uint64_t *const **positions,
                     const uint64_t **counts, size_t *bytes)
{
    uint32_t n = dimensions(a);
    const uint64_t **lists = room(n * sizeof *lists);
    uint64_t *many = numbers(n);
    *bytes = a == NULL ? 4 : holdall_array_itemsize(a);
    for (uint32_t d = 0; d < n; d++) {
        many[d] = a_count(5);
        uint64_t *list = numbers((size_t)many[d]);
        for (uint64_t i = 0; i < many[d]; i++)
            list[i] = once_in(60) ? a_number() : length(a, d) > 0 ? below(length(a, d)) : 0;
        lists[d] = once_in(10) ? NULL : list;
        *bytes = about(*bytes * (size_t)(lists[d] == NULL ? length(a, d) : many[d]));
    }
    *positions = lists, *counts = many;
}

static void a_list(const holdall_array *a, const uint64_t **coordinates, size_t *n, size_t *bytes)
{
    *n = (size_t)a_count(20);
    uint64_t *list = numbers(*n * dimensions(a));
    for (size_t i = 0; i < *n * dimensions(a); i++) {
        uint64_t all = length(a, (uint32_t)(i % dimensions(a)));
        list[i] = once_in(60) ? a_number() : all > 0 ? below(all) : 0;
    }
    *coordinates = list, *bytes = about(*n * (a == NULL ? 4 : holdall_array_itemsize(a)));
}

static void a_growth(const holdall_array *a, uint32_t *axis, uint64_t *count, size_t *bytes)
{
    uint32_t n = dimensions(a);
    *axis = once_in(20) || n == 0 ? (uint32_t)a_number() : (uint32_t)below(n);
    *count = once_in(20) ? a_number() : a_count(9);
    size_t size = (a == NULL ? 4 : holdall_array_itemsize(a)) * (size_t)(*count < 100 ? *count : 1);
    for (uint32_t d = 0; d < n; d++)
        size = d == *axis ? size : about(size * (size_t)length(a, d));
    *bytes = about(size);
}

static void a_growth_at(const holdall_array *a, uint32_t *axis, uint64_t *start, uint64_t *count,
                        size_t *bytes)
{
    a_growth(a, axis, count, bytes);
    *start = once_in(20) || *axis >= dimensions(a) ? a_number() : below(length(a, *axis) + 1);
}

static uint64_t *lengths(uint32_t n)
{
    uint64_t *all = numbers(n);
    for (uint32_t d = 0; d < n; d++)
        all[d] = once_in(60) ? a_number() : intact ? 3 : below(n < 4 ? 30 : 4);
    return all;
}

/* The size of a structure, right or wrong, for its first field. */
static size_t size_field(size_t n)
{
    return once_in(40) ? a_size() % 99 : n;
}

static const holdall_array_spec *an_array(void)
{
    uint32_t n = intact         ? 2
                 : once_in(20) ? HOLDALL_MAX_NDIM + 1
                 : once_in(10) ? (uint32_t)below(HOLDALL_MAX_NDIM + 1)
                               : (uint32_t)below(4);
    holdall_array_spec *spec = room(sizeof *spec);
    *spec = (holdall_array_spec){.struct_size = size_field(sizeof *spec),
                                 .format = a_format(),
                                 .dtype = once_in(60) ? NULL : a_dtype(),
                                 .ndim = n};
    spec->shape = once_in(60) ? NULL : lengths(n);
    spec->chunk_shape = once_in(2) ? lengths(n) : NULL,
    spec->block_shape = once_in(2) ? lengths(n) : NULL;
    return spec;
}

static const holdall_array_spec *a_copy(const holdall_array *a)
{
    uint32_t n = dimensions(a);
    holdall_array_spec *spec = room(sizeof *spec);
    *spec = (holdall_array_spec){.struct_size = size_field(sizeof *spec),
                                 .format = a_format(),
                                 .ndim = once_in(9) ? (uint32_t)a_number() : 0};
    spec->dtype = once_in(9) ? a_dtype() : NULL, spec->shape = once_in(9) ? lengths(n) : NULL;
    spec->chunk_shape = once_in(2) ? lengths(n) : NULL,
    spec->block_shape = once_in(2) ? lengths(n) : NULL;
    return spec;
}

static void a_shape(const holdall_array *a, const uint64_t **shape)
{
    *shape = lengths(dimensions(a));
}

static const holdall_table_spec *a_table(void)
{
    uint32_t n = (uint32_t)a_count(4);
    const char **all = room(n * sizeof *all), **types = room(n * sizeof *types);
    for (uint32_t i = 0; i < n; i++) {
        static const char *const plain[] = {"x", "y", "z", "w"};
        all[i] = once_in(10) ? a_name() : plain[i % 4], types[i] = once_in(60) ? NULL : a_dtype();
    }
    holdall_table_spec *spec = room(sizeof *spec);
    *spec = (holdall_table_spec){.struct_size = size_field(sizeof *spec),
                                 .format = intact ? HOLDALL_FORMAT_BCOLZ : a_format()};
    spec->column_count = n, spec->names = once_in(60) ? NULL : all,
    spec->dtypes = once_in(60) ? NULL : types;
    return spec;
}

/* Number of bytes of a row of a column. */
static size_t row_bytes(const holdall_table *t, uint32_t i)
{
    const holdall_array *a = holdall_table_column(t, i);
    size_t bytes = a == NULL ? 4 : holdall_array_itemsize(a);
    for (uint32_t d = 1; a != NULL && d < holdall_array_ndim(a); d++)
        bytes *= (size_t)holdall_array_shape(a)[d];
    return bytes;
}

static void some_rows(const holdall_table *t, uint64_t *count, const void *const **columns,
                      const size_t **sizes)
{
    uint32_t n = holdall_table_column_count(t);
    *count = once_in(20) ? a_number() : a_count(30);
    const void **all = room(n * sizeof *all);
    size_t *each = room(n * sizeof *each);
    for (uint32_t i = 0; i < n; i++) {
        each[i] = about(row_bytes(t, i) * (size_t)(*count < 100 ? *count : 1));
        all[i] = once_in(60) ? NULL : filled(each[i]);
    }
    *columns = all, *sizes = each;
}

static void some_rows_at(const holdall_table *t, uint64_t *start, uint64_t *count,
                         const void *const **columns, const size_t **sizes)
{
    some_rows(t, count, columns, sizes);
    *start = once_in(20) ? a_number() : below(holdall_table_row_count(t) + 1);
}

static void some_cells(const holdall_table *t, const char **column, uint64_t *start,
                       uint64_t *count, size_t *bytes)
{
    uint64_t all = holdall_table_row_count(t);
    uint32_t i = (uint32_t)below(3);
    const char *name = holdall_table_column_name(t, i);
    *column = name == NULL || once_in(20) ? a_name() : name;
    *start = once_in(20) || all == 0 ? a_number() : below(all);
    *count = once_in(20) || *start >= all ? a_number() : below(all - *start + 1);
    *bytes = about(row_bytes(t, i) * (size_t)(*count < 1000 ? *count : 1));
}

/* Memory for some columns, or for all in order. */
static void some_memory(const holdall_table *t, size_t rows, uint32_t *n,
                        const char *const **column_names, void *const **dsts, const size_t **sizes)
{
    uint32_t all = holdall_table_column_count(t);
    bool named = once_in(2);
    *n = named ? (uint32_t)below(4) : once_in(20) ? (uint32_t)below(5) : all;
    const char **given = room(*n * sizeof *given);
    void **memory = room(*n * sizeof *memory);
    size_t *each = room(*n * sizeof *each);
    for (uint32_t k = 0; k < *n; k++) {
        uint32_t i = named && all > 0 ? (uint32_t)below(all) : k;
        const char *name = holdall_table_column_name(t, i);
        given[k] = name == NULL || once_in(20) ? a_name() : name;
        each[k] = about(row_bytes(t, i) * (rows < 1000 ? rows : 1));
        memory[k] = once_in(60) ? NULL : room(each[k]);
    }
    *column_names = named ? given : NULL, *dsts = memory, *sizes = each;
}

static void some_columns(const holdall_table *t, uint64_t *start, uint64_t *count, uint64_t *step,
                         uint32_t *n, const char *const **column_names, void *const **dsts,
                         const size_t **sizes)
{
    uint64_t all = holdall_table_row_count(t);
    *start = once_in(20) ? a_number() : all > 0 ? below(all) : 0;
    *step = intact ? 1 : once_in(20) ? a_number() : 1 + below(3);
    *count = once_in(20)    ? a_number()
             : all > *start ? 1 + below((all - *start - 1) / (*step ? *step : 1) + 1)
                            : 0;
    some_memory(t, (size_t)*count, n, column_names, dsts, sizes);
}

static void some_row_numbers(const holdall_table *t, const uint64_t **rows, size_t *count)
{
    uint64_t all = holdall_table_row_count(t);
    *count = (size_t)a_count(20);
    uint64_t *list = numbers(*count);
    for (size_t i = 0; i < *count; i++)
        list[i] = once_in(60) ? a_number() : all > 0 ? below(all) : 0;
    *rows = list;
}

static void some_points(const holdall_table *t, const uint64_t **rows, size_t *count, uint32_t *n,
                        const char *const **column_names, void *const **dsts, const size_t **sizes)
{
    some_row_numbers(t, rows, count);
    some_memory(t, *count, n, column_names, dsts, sizes);
}

static void some_names(const holdall_table *t, uint32_t *n, const char *const **column_names)
{
    static const char *names[16];
    const uint32_t all = holdall_table_column_count(t);
    /* NULL stands for all columns, and their number */
    const bool every = intact && all <= sizeof names / sizeof *names;
    *n = every ? all : (uint32_t)below(5);
    for (uint32_t k = 0; k < *n; k++) {
        const uint32_t i = every ? k : (uint32_t)below(all > 0 ? all : 1);
        const char *name = holdall_table_column_name(t, i);
        names[k] = name == NULL || once_in(20) ? a_name() : name;
    }
    *column_names = names;
}

static void a_column(const holdall_table *t, const char **dtype, size_t *bytes)
{
    uint64_t rows = holdall_table_row_count(t);
    *dtype = a_dtype(), *bytes = about(4 * (size_t)(rows < 1000 ? rows : 1));
}

/* JSON, or invalid text. */
static void a_value(const void *none, const void **value, size_t *n)
{
    static const char *const json[] = {"1", "[1, 2.5]", "{\"a\": null}", "\"\\u00e9\"", "tru"};
    (void)none;
    if (once_in(3)) {
        *n = a_size(), *value = filled(*n);
        return;
    }
    const char *text = json[below(5)];
    *n = strlen(text);
    *value = memcpy(room(*n), text, *n);
}

/* The bytes of files, some or all. They stay at their address, for storage in memory. */
static struct {
    uint8_t *bytes;
    size_t size;
} contents[4];

static void some_bytes(const void *none, const void **bytes, size_t *n)
{
    (void)none;
    uint64_t which = below(4);
    size_t from = once_in(4) ? (size_t)below(contents[which].size) : 0;
    *bytes = contents[which].bytes + from,
    *n = once_in(4) ? (size_t)below(contents[which].size - from) : contents[which].size - from;
}

static void some_shards(const void *none, holdall_storage *const **storages, uint32_t *n)
{
    (void)none;
    *n = (uint32_t)a_count(4);
    holdall_storage **all = room(*n * sizeof *all);
    for (uint32_t i = 0; i < *n; i++)
        all[i] = picked(-2, K_storage);
    *storages = all;
}

static void some_indices(const holdall_bag *bag, const uint64_t **indices, size_t *n)
{
    *n = (size_t)a_count(20);
    uint64_t *all = numbers(*n), size = holdall_bag_record_count(bag);
    for (size_t i = 0; i < *n; i++)
        all[i] = once_in(40) ? a_number() : size > 0 ? below(size) : 0;
    *indices = all;
}

static void some_records(const void *none, const void **data, const uint64_t **offsets,
                         size_t *count)
{
    (void)none;
    size_t bytes = a_size();
    *count = (size_t)a_count(20);
    uint64_t *all = numbers(*count + 1), at = 0;
    for (size_t i = 0; i <= *count; i++) {
        all[i] = at = once_in(60) ? below(bytes + 1) : at;
        at += below(bytes - at + 1) / 2;
    }
    *data = filled(bytes), *offsets = all;
}

static void a_box_or_rows(const void *none, uint32_t *ndim, const uint64_t **start,
                          const uint64_t **shape)
{
    (void)none;
    *ndim = once_in(20) ? (uint32_t)a_count(17) : 2;
    uint64_t *from = numbers(*ndim), *lengths = numbers(*ndim);
    for (uint32_t d = 0; d < *ndim; d++) {
        from[d] = once_in(60) ? a_number() : 4 * below(3);
        lengths[d] = once_in(60) ? a_number() : 4;
    }
    bool rows = once_in(3);
    *start = rows ? NULL : from, *shape = rows && below(9) ? NULL : lengths;
}

static uint8_t tokens_made[4][HOLDALL_PART_TOKEN_SIZE];

static void *a_token(void)
{
    return tokens_made[below(4)];
}

static void some_tokens(const void *none, const void **tokens, size_t *count)
{
    (void)none;
    *count = (size_t)a_count(3);
    uint8_t *all = room(*count * HOLDALL_PART_TOKEN_SIZE);
    for (size_t i = 0; i < *count; i++) {
        memcpy(all + i * HOLDALL_PART_TOKEN_SIZE, a_token(), HOLDALL_PART_TOKEN_SIZE);
        if (once_in(20)) all[below(*count * HOLDALL_PART_TOKEN_SIZE)] ^= 1;
    }
    *tokens = all;
}

/* ---- Arrow ------------------------------------------------------------------------------------*/

static void drained(struct ArrowArrayStream *stream)
{
    if (stream->release == NULL)
        return;
    struct ArrowSchema schema = {0};
    if (stream->get_schema(stream, &schema) == 0)
        schema.release(&schema);
    else
        CHECK(stream->get_last_error(stream) != NULL);
    for (uint64_t i = below(4); i > 0; i--) {
        struct ArrowArray batch = {0};
        if (stream->get_next(stream, &batch) != 0)
            CHECK(stream->get_last_error(stream) != NULL);
        else if (batch.release != NULL)
            batch.release(&batch);
    }
    stream->release(stream);
}

/* Rows of a table, or a stream that was already consumed. */
static struct ArrowArrayStream *a_stream(void)
{
    struct ArrowArrayStream *stream = room(sizeof *stream);
    *stream = (struct ArrowArrayStream){0};
    holdall_table *t;
    if (holdall_table_open(in_tmp("f"), HOLDALL_READ, NULL, &t, NULL) != HOLDALL_OK)
        return stream;
    const uint64_t rows = holdall_table_row_count(t);
    const char *const name = below(2) ? holdall_table_column_name(t, 0) : "none";
    const uint64_t row = below(rows + 1);
    const holdall_status status =
        below(3) ? holdall_table_to_arrow(t, 0, rows, below(9), stream, NULL)
        : below(3)
            ? holdall_table_columns_to_arrow(t, 0, rows, 1, &name, below(9), stream, NULL)
        : below(2) ? holdall_table_scan(t, a_predicate(), 0, rows, below(9), 1, &name, below(9),
                                        stream, NULL)
                   : holdall_table_points_to_arrow(t, &row, 1, 1, &name, below(9), stream, NULL);
    if (status != HOLDALL_OK)
        CHECK(stream->release == NULL);
    holdall_table_close(t);
    return stream;
}

static void released(struct ArrowArrayStream *stream)
{
    /* the stream was not passed: it or the table was NULL */
    if (stream->release != NULL)
        stream->release(stream);
}

/* ---- checks of results ------------------------------------------------------------------------*/

static void check_error(holdall_status status, const holdall_error *e)
{
    CHECK(status <= HOLDALL_DAMAGED && status >= HOLDALL_E_UNSUPPORTED &&
          status != HOLDALL_E_INTERNAL);
    if (status < 0 && e != NULL)
        CHECK(e->status == status && e->position >= -1 && e->message[0] != '\0' &&
              is_text(e->message, sizeof e->message));
}

#define CALLS
#include <calls.inc>

static holdall_status call(size_t i)
{
    now("seed %" PRIu64 ", %s, parameter %d is NULL", seed, calls[i].name, null_at);
    holdall_status status = calls[i].call();
    while (used > 0)
        free(blocks[--used]);
    return status;
}

/* ---- the environment of the calls -------------------------------------------------------------*/

/* Creates a container and a handle of each kind, a writing handle if there is one. */
static void begin(void)
{
    static const uint64_t shape[] = {20, 6}, origin[] = {0, 0}, chunks[] = {4, 4};
    static const char *const columns[] = {"x", "y"}, *const dtypes[] = {"<i4", "|S5"};
    uint8_t content[960];
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (uint8_t)(i % 90);
    holdall_options *o = options_of(WITH(HOLDALL_OPT_DURABILITY, 0));
    holdall_schunk *s;
    OK(holdall_schunk_create(in_tmp("a.blp"), HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, 4, o, &s,
                             &err));
    OK(holdall_schunk_append(s, content, sizeof content, &err));
    OK(holdall_schunk_commit(s, &err));
    OK(holdall_schunk_copy(s, in_tmp("b.b2frame"), HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, o,
                           &err));
    store_handle(K_schunk, HOLDALL_OK, s);
    holdall_array *a;
    OK(array_create(in_tmp("c.b2nd"), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i4", 2, shape, chunks,
                    NULL, o, &a, &err));
    OK(holdall_array_write(a, origin, shape, NULL, content, 480, NULL, &err));
    OK(holdall_array_commit(a, &err));
    OK(array_copy(a, in_tmp("g.cat"), HOLDALL_CREATE, HOLDALL_FORMAT_CATERVA, NULL, NULL, o, &err));
    OK(array_copy(a, in_tmp("none"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, NULL, NULL, o, &err));
    store_handle(K_array, HOLDALL_OK, a);
    holdall_table *t;
    OK(table_create(in_tmp("f"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, 2, columns, dtypes, o, &t,
                    &err));
    OK(holdall_table_append(t, 30, (const void *[]){content, content}, (const size_t[]){120, 150},
                            &err));
    OK(holdall_table_commit(t, &err));
    store_handle(K_table, HOLDALL_OK, t);
    for (int i = 0; i < 2; i++) {
        holdall_bag_writer *w;
        OK(holdall_bag_writer_open(in_tmp(i ? "e.bag" : "d.bagz"), HOLDALL_CREATE, o, &w, &err));
        append_records(w, 0, 20);
        OK(holdall_bag_writer_commit(w, &err));
        store_handle(K_bag_writer, HOLDALL_OK, w);
    }
    holdall_bag *bag = open_bag(in_tmp("d.bagz"), NULL);
    holdall_records *records;
    OK(holdall_bag_read_range(bag, 0, 5, &records, &err));
    store_handle(K_records, HOLDALL_OK, records);
    holdall_bag_index *index;
    OK(holdall_bag_index_build(bag, NULL, &index, &err));
    store_handle(K_bag_index, HOLDALL_OK, index);
    holdall_bag_stream *stream;
    OK(holdall_bag_stream_open(bag, NULL, NULL, NULL, &stream, &err));
    store_handle(K_bag_stream, HOLDALL_OK, stream);
    holdall_epoch *epoch;
    OK(holdall_epoch_new(20, 1, 0, 0, 1, &epoch, &err));
    store_handle(K_epoch, HOLDALL_OK, epoch);
    store_handle(K_bag, HOLDALL_OK, bag);
    CHECK(mkdir(in_tmp("s.b2d"), 0777) == 0);
    OK(holdall_schunk_create(in_tmp("s.b2d/embed.b2e"), HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 1, o,
                             &s, &err));
    OK(holdall_schunk_commit(s, &err));
    holdall_schunk_close(s);
    OK(array_create(in_tmp("s.b2d/a.b2nd"), HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i4", 2, shape,
                    chunks, NULL, o, &a, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    holdall_store *store;
    OK(holdall_store_open(in_tmp("s.b2d"), HOLDALL_APPEND, o, &store, &err));
    store_handle(K_store, HOLDALL_OK, store);
    holdall_part *part;
    OK(holdall_part_of_bag(in_tmp("d.bagz"), o, &part, &err));
    store_handle(K_part, HOLDALL_OK, part);
    holdall_checksum *digest;
    OK(holdall_checksum_new(HOLDALL_CHECKSUM_CRC32, &digest, &err));
    store_handle(K_checksum, HOLDALL_OK, digest);
    for (int i = 0; i < STORAGES; i++)
        store_handle(K_storage, HOLDALL_OK, folder_io(&storages[i]));
    store_handle(K_options, HOLDALL_OK, o);
    for (int i = 0; i < 4 && contents[i].bytes == NULL; i++)
        contents[i].bytes = load(in_tmp(names[i]), &contents[i].size);
}

/* Calls this for each file below a path. */
static void each_file(const char *path, void (*f)(const char *path, bool folder))
{
    DIR *d = opendir(path);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        char inner[4096];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        struct stat s;
        if (lstat(inner, &s) != 0)
            continue;
        if (S_ISDIR(s.st_mode))
            each_file(inner, f);
        f(inner, S_ISDIR(s.st_mode));
    }
    if (d != NULL)
        closedir(d);
}

static void drop(const char *path, bool folder)
{
    CHECK((folder ? rmdir : unlink)(path) == 0);
}

static void end(void)
{
    close_all();
    for (int i = 0; i < STORAGES; i++)
        folder_clear(&storages[i]);
    each_file(in_tmp("."), drop);
}

/* Changes a byte of a file, or truncates it. */
static void harm(const char *path, bool folder)
{
    size_t n = folder ? 0 : file_size(path);
    if (n == 0 || below(12) > 0)
        return;
    if (below(4) == 0) {
        CHECK(truncate(path, (off_t)below(n)) == 0);
        return;
    }
    FILE *f = fopen(path, "r+b");
    CHECK(f != NULL && fseek(f, (long)below(n), SEEK_SET) == 0 &&
          fputc((int)below(256), f) != EOF && fclose(f) == 0);
}

/* With NULL for this parameter (-1: for none), in a new environment. */
static holdall_status valid_call(size_t i, int parameter)
{
    static bool changed;
    if (changed) {
        end();
        begin();
    }
    null_at = parameter;
    state = 1;
    holdall_status status = call(i);
    null_at = -1;
    changed = status >= 0;
    return status;
}

static void null_is_an_error_or_allowed_for_each_pointer(void)
{
    intact = true;
    begin();
    for (size_t i = 0; i < CALLS_N; i++) {
        holdall_status without = valid_call(i, -1);
        for (int p = 0; calls[i].pointers[p] != '\0'; p++) {
            if (calls[i].pointers[p] == '.')
                continue;
            holdall_status status = valid_call(i, p);
            now("%s, parameter %d is NULL", calls[i].name, p);
            /* or another error was found first */
            if (calls[i].pointers[p] == 'n')
                CHECK(status == HOLDALL_E_ARGUMENT || (status < 0 && status == without));
            else
                CHECK(status != HOLDALL_E_ARGUMENT || without == HOLDALL_E_ARGUMENT);
        }
    }
    end();
    intact = false;
}

static void sequences(uint64_t n)
{
    for (uint64_t end_at = seed + n; seed < end_at; seed++) {
        state = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
        begin();
        for (int i = 0; i < 300; i++) {
            if (once_in(60))
                each_file(in_tmp("."), harm);
            (void)!call(below(CALLS_N));
        }
        end();
    }
}

int main(void)
{
    const char *many = getenv("HOLDALL_CALLS"), *first = getenv("HOLDALL_SEED");
    state = 1;
    if (first == NULL)
        RUN(null_is_an_error_or_allowed_for_each_pointer);
    seed = first != NULL ? strtoull(first, NULL, 10) : 0;
    sequences(many != NULL ? strtoull(many, NULL, 10) : slow() ? 3 : 60);
    for (int i = 0; i < 4; i++)
        free(contents[i].bytes);
    return 0;
}
