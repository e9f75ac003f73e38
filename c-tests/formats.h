/* A small container of each form, and the same changes and checks for each: rows of 32-bit numbers,
 * as items, as a column, or as records. */
#ifndef FORMATS_H
#define FORMATS_H

#include "check.h"

#include <ftw.h>

/* Numbers of rows of the old and the new state; the rows that the change rewrites; the rows after
 * one more change. */
enum { OLD = 40, NEW = 65, FROM = 5, TO = 20, MORE = 3, ROWS = 100, CHUNK = 16 };

typedef enum { SCHUNK, ARRAY, TABLE, BAG } kind;
static const struct {
    const char *name;
    kind kind;
    holdall_format format;
    int64_t pairs[6];
} forms[] = {
    {"x.blp", SCHUNK, HOLDALL_FORMAT_BLOSCPACK, {0}},
    {"x.b2frame", SCHUNK, HOLDALL_FORMAT_B2FRAME, {0}},
    {"sparse.b2frame", SCHUNK, HOLDALL_FORMAT_B2FRAME, {HOLDALL_OPT_SPARSE, 1}},
    {"x.b2nd", ARRAY, HOLDALL_FORMAT_B2ND, {0}},
    {"x.cat", ARRAY, HOLDALL_FORMAT_CATERVA, {0}},
    {"array.bcolz", ARRAY, HOLDALL_FORMAT_BCOLZ, {0}},
    {"array.blz", ARRAY, HOLDALL_FORMAT_BLZ, {0}},
    {"array.blz_rfc", ARRAY, HOLDALL_FORMAT_BLZ_RFC, {HOLDALL_OPT_SUPERCHUNK_CHUNKS, 3}},
    {"table.bcolz", TABLE, HOLDALL_FORMAT_BCOLZ, {0}},
    {"table.b2d", TABLE, HOLDALL_FORMAT_CTABLE, {0}},
    {"x.bagz", BAG, HOLDALL_FORMAT_BAGZ, {0}},
    {"x.bag", BAG, HOLDALL_FORMAT_BAGZ, {HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE}},
    {"set@2.bagz", BAG, HOLDALL_FORMAT_BAGZ, {0}},
};
/* The forms with a file or a folder of their name; and all forms, with the set of bags. */
enum { ALL_FORMS = sizeof forms / sizeof forms[0], FORMS = ALL_FORMS - 1 };

/* HOLDALL_OPT_MEMORY_LIMIT of all handles; 0: the default limit. */
static int64_t memory_limit;
/* The progress callback of all handles; NULL: none. */
static holdall_progress_fn progress_callback;
static void *progress_ctx;
/* Rows per chunk of a new container. */
static uint64_t chunk_rows = CHUNK;

/* The options of a handle: those of the form if `own` is set. */
static inline holdall_options *form_options(int form, bool own)
{
    holdall_options *o = options_of(own ? forms[form].pairs : NULL);
    if (o == NULL)
        CHECK((o = holdall_options_new()) != NULL);
    if (own && forms[form].kind == SCHUNK)
        OK(holdall_options_set(o, HOLDALL_OPT_CHUNK_BYTES, (int64_t)chunk_rows * 4, &err));
    if (memory_limit > 0)
        OK(holdall_options_set(o, HOLDALL_OPT_MEMORY_LIMIT, memory_limit, &err));
    holdall_options_set_progress(o, progress_callback, progress_ctx);
    return o;
}

static _Thread_local int32_t rows_of[ROWS];

/* Rows first to first + n, as they are appended or rewritten. */
static inline const int32_t *rows(uint64_t first, uint64_t n, bool rewritten)
{
    for (uint64_t i = 0; i < n; i++)
        rows_of[i] = (int32_t)((first + i) * 7) + (rewritten ? 1000000 : 0);
    return rows_of;
}

/* A writing handle. */
typedef struct {
    kind kind;
    holdall_schunk *schunk;
    holdall_array *array;
    holdall_table *table;
    holdall_bag_writer *bag;
} writer;

static inline void close_writer(writer *w)
{
    holdall_schunk_close(w->schunk);
    holdall_array_close(w->array);
    holdall_table_close(w->table);
    holdall_bag_writer_close(w->bag);
}

static inline holdall_status open_writer_of(int form, const char *path, bool make, writer *w)
{
    static const uint64_t none[] = {0};
    const uint64_t chunks[] = {chunk_rows};
    static const char *const names[] = {"x", "y"}, *const types[] = {"<i4", "<i4"};
    holdall_options *o = form_options(form, make || forms[form].kind == BAG);
    holdall_format format = forms[form].format;
    holdall_status s;
    *w = (writer){.kind = forms[form].kind};
    preset_error();
    switch (w->kind) {
    case SCHUNK:
        s = make ? holdall_schunk_create(path, HOLDALL_CREATE, format, 4, o, &w->schunk, &err)
                 : holdall_schunk_open(path, HOLDALL_APPEND, o, &w->schunk, &err);
        break;
    case ARRAY:
        s = make ? array_create(path, HOLDALL_CREATE, format, "<i4", 1, none, chunks, NULL, o,
                                &w->array, &err)
                 : holdall_array_open(path, HOLDALL_APPEND, o, &w->array, &err);
        break;
    case TABLE:
        s = make ? table_create(path, HOLDALL_CREATE, format, 2, names, types, o, &w->table, &err)
                 : holdall_table_open(path, HOLDALL_APPEND, o, &w->table, &err);
        break;
    default:
        s = holdall_bag_writer_open(path, make ? HOLDALL_CREATE : HOLDALL_APPEND, o, &w->bag, &err);
    }
    holdall_options_free(o);
    return s;
}

static inline holdall_status append(writer *w, uint64_t first, uint64_t n)
{
    const int32_t *src = rows(first, n, false);
    size_t sizes[] = {n * 4, n * 4};
    holdall_status s = HOLDALL_OK;
    switch (w->kind) {
    case SCHUNK: return holdall_schunk_append(w->schunk, src, n * 4, &err);
    case ARRAY: return holdall_array_append(w->array, 0, n, src, n * 4, &err);
    case TABLE: return holdall_table_append(w->table, n, (const void *[]){src, src}, sizes, &err);
    default:
        for (uint64_t i = 0; i < n && s == HOLDALL_OK; i++)
            s = holdall_bag_writer_append(w->bag, &src[i], 4, &err);
        return s;
    }
}

static inline holdall_status rewrite(writer *w)
{
    const int32_t *src = rows(FROM, TO - FROM, true);
    static const uint64_t start[] = {FROM}, count[] = {TO - FROM};
    size_t n = (TO - FROM) * 4;
    switch (w->kind) {
    case SCHUNK: return holdall_schunk_write(w->schunk, FROM * 4, src, n, &err);
    case ARRAY: return holdall_array_write(w->array, start, count, NULL, src, n, NULL, &err);
    case TABLE: {
        holdall_status s = holdall_table_write(w->table, holdall_table_column_name(w->table, 0),
                                               FROM, TO - FROM, src, n, &err);
        return s < 0 ? s
                     : holdall_table_write(w->table, holdall_table_column_name(w->table, 1), FROM,
                                           TO - FROM, src, n, &err);
    }
    default: return HOLDALL_OK;
    }
}

static inline holdall_status commit(writer *w)
{
    preset_error();
    switch (w->kind) {
    case SCHUNK: return holdall_schunk_commit(w->schunk, &err);
    case ARRAY: return holdall_array_commit(w->array, &err);
    case TABLE: return holdall_table_commit(w->table, &err);
    default: return holdall_bag_writer_commit(w->bag, &err);
    }
}

/* ---- readers ----------------------------------------------------------------------------------*/

typedef struct {
    kind kind;
    holdall_schunk *schunk;
    holdall_array *array;
    holdall_table *table;
    holdall_bag *bag;
} reader;

static inline void close_reader(reader *r)
{
    holdall_schunk_close(r->schunk);
    holdall_array_close(r->array);
    holdall_table_close(r->table);
    holdall_bag_close(r->bag);
}

static inline holdall_status open_reader(int form, const char *path, reader *r)
{
    holdall_options *o = form_options(form, forms[form].kind == BAG);
    holdall_status s;
    *r = (reader){.kind = forms[form].kind};
    preset_error();
    switch (r->kind) {
    case SCHUNK: s = holdall_schunk_open(path, HOLDALL_READ, o, &r->schunk, &err); break;
    case ARRAY: s = holdall_array_open(path, HOLDALL_READ, o, &r->array, &err); break;
    case TABLE: s = holdall_table_open(path, HOLDALL_READ, o, &r->table, &err); break;
    default: s = holdall_bag_open(path, o, &r->bag, &err);
    }
    holdall_options_free(o);
    return s;
}

static inline holdall_status read_array(const holdall_array *a, int32_t *dst, uint64_t *n)
{
    uint64_t start[] = {0};
    *n = holdall_array_shape(a)[0];
    CHECK(*n <= ROWS);
    return holdall_array_read(a, start, n, NULL, dst, ROWS * 4, NULL, &err);
}

/* Reads all rows and returns their number. */
static inline holdall_status read_all(const reader *r, int32_t *got, uint64_t *n)
{
    int32_t other[ROWS];
    holdall_status s = HOLDALL_OK;
    preset_error();
    switch (r->kind) {
    case SCHUNK:
        *n = holdall_schunk_nbytes(r->schunk) / 4;
        CHECK(*n <= ROWS);
        return holdall_schunk_read(r->schunk, 0, got, *n * 4, &err);
    case ARRAY: return read_array(r->array, got, n);
    case TABLE: {
        uint64_t m;
        s = read_array(holdall_table_column(r->table, 0), got, n);
        if (s < 0 || (s = read_array(holdall_table_column(r->table, 1), other, &m)) < 0)
            return s;
        EQUAL(m, *n);
        CHECK(memcmp(got, other, m * 4) == 0);
        return s;
    }
    default:
        *n = holdall_bag_record_count(r->bag);
        CHECK(*n <= ROWS);
        for (uint64_t i = 0; i < *n && s == HOLDALL_OK; i++) {
            size_t size = 0;
            s = holdall_bag_read(r->bag, i, &got[i], 4, &size, &err);
            CHECK(s < 0 || size == 4);
        }
        return s;
    }
}

/* Checks that the rows are those of one state. */
static inline void check_rows(int form, const int32_t *got, uint64_t n)
{
    bool rewritten = n >= NEW && forms[form].kind != BAG;
    for (uint64_t i = 0; i < n; i++)
        EQUAL(got[i], (int32_t)(i * 7) + (rewritten && i >= FROM && i < TO ? 1000000 : 0));
}

/* Returns the number of rows, which must be those of one state. */
static inline uint64_t look(int form, const char *path)
{
    reader r;
    int32_t got[ROWS];
    uint64_t n = 0;
    GAVE(HOLDALL_OK, open_reader(form, path, &r));
    GAVE(HOLDALL_OK, read_all(&r, got, &n));
    close_reader(&r);
    check_rows(form, got, n);
    return n;
}

static inline int drop(const char *path, const struct stat *s, int type, struct FTW *where)
{
    (void)s, (void)type;
    return where->level == 0 ? 0 : remove(path);
}

static inline void add(int form, const char *path, bool make, uint64_t first, uint64_t n)
{
    writer w;
    GAVE(HOLDALL_OK, open_writer_of(form, path, make, &w));
    GAVE(HOLDALL_OK, append(&w, first, n));
    GAVE(HOLDALL_OK, commit(&w));
    close_writer(&w);
}

/* Removes everything from the folder of the test. */
static inline void remove_all(void)
{
    CHECK(nftw(in_tmp("."), drop, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

#endif
