/* Arrow streams in C: what a consumer receives from a table and a bag, who owns which structure and
 * for how long, and which mistakes of producers are refused. */
#include "check.h"

#include <pthread.h>

#define ROWS 1000

typedef struct ArrowSchema schema;
typedef struct ArrowArray array;
typedef struct ArrowArrayStream stream;

/* ---- a table ----------------------------------------------------------------------------------*/

static const char *const names[] = {"i", "s", "t", "b", "p"};
static const char *const dtypes[] = {"<i4", "|S3", "<M8[ns]", "|b1", "('>f4', (2,))"};

static int32_t number(uint64_t row)
{
    return (int32_t)(row * 7) - 100;
}

/* Rows in which every tenth time is missing. */
static void append_rows(holdall_table *t, uint64_t n)
{
    int32_t *i = malloc(n * 4);
    char *s = calloc(n, 3), *b = malloc(n);
    int64_t *time = malloc(n * 8);
    uint8_t *p = malloc(n * 8);
    for (uint64_t row = 0; row < n; row++) {
        i[row] = number(row);
        memcpy(s + 3 * row, "abc", row % 4);
        time[row] = row % 10 == 0 ? INT64_MIN : (int64_t)row * 1000;
        b[row] = row % 3 == 0;
        memcpy(p + 8 * row, "\x3f\x80\0\0\xc0\0\0\0", 8); /* 1, -2 */
    }
    const void *columns[] = {i, s, time, b, p};
    const size_t sizes[] = {n * 4, n * 3, n * 8, n, n * 8};
    OK(holdall_table_append(t, n, columns, sizes, &err));
    free(i), free(s), free(b), free(time), free(p);
}

static holdall_table *new_table(const char *name)
{
    holdall_table *t = NULL;
    OK(table_create(in_tmp(name), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, 5, names, dtypes, NULL, &t,
                    &err));
    append_rows(t, ROWS);
    OK(holdall_table_commit(t, &err));
    return t;
}

/* ---- export -----------------------------------------------------------------------------------*/

static bool says_dtype(const char *metadata, const char *dtype)
{
    int32_t n[2];
    memcpy(n, metadata, 8);
    if (n[0] != 1 || n[1] != 13 || memcmp(metadata + 8, "holdall.dtype", 13) != 0)
        return false;
    memcpy(n, metadata + 21, 4);
    return n[0] == (int32_t)strlen(dtype) && memcmp(metadata + 25, dtype, strlen(dtype)) == 0;
}

static void check_schema(stream *from)
{
    static const char *const formats[] = {"i", "u", "tsn:", "b", "+w:2"};
    schema s;
    EQUAL(from->get_schema(from, &s), 0);
    CHECK(strcmp(s.format, "+s") == 0 && strcmp(s.name, "") == 0 && s.metadata == NULL &&
          s.dictionary == NULL);
    EQUAL(s.n_children, 5);
    for (int i = 0; i < 5; i++) {
        CHECK(strcmp(s.children[i]->format, formats[i]) == 0 &&
              strcmp(s.children[i]->name, names[i]) == 0);
        EQUAL(s.children[i]->flags, i == 2 ? 2 : 0);
        CHECK(says_dtype(s.children[i]->metadata, i == 4 ? ">f4" : dtypes[i]));
    }
    CHECK(s.children[4]->n_children == 1 && strcmp(s.children[4]->children[0]->format, "f") == 0);
    /* a child that was moved out of its parent remains valid */
    schema child = *s.children[4];
    s.children[4]->release = NULL;
    s.release(&s);
    CHECK(s.release == NULL);
    CHECK(strcmp(child.name, "p") == 0 && strcmp(child.children[0]->format, "f") == 0);
    child.release(&child);
    CHECK(child.release == NULL);
}

static bool bit(const void *bits, uint64_t i)
{
    return ((const uint8_t *)bits)[i / 8] >> (i % 8) & 1;
}

/* Does this batch have the rows from `first` on? */
static void check_batch(const array *a, uint64_t first)
{
    CHECK(a->offset == 0 && a->null_count == 0 && a->n_buffers == 1 && a->buffers[0] == NULL &&
          a->n_children == 5);
    static const int buffers[] = {2, 3, 2, 2, 1};
    for (int i = 0; i < 5; i++) {
        const array *c = a->children[i];
        CHECK(c->length == a->length && c->offset == 0 && c->n_buffers == buffers[i]);
        for (int k = 1; k < buffers[i]; k++)
            EQUAL((uintptr_t)c->buffers[k] % 64, 0);
    }
    const int32_t *numbers = a->children[0]->buffers[1], *offsets = a->children[1]->buffers[1];
    const int64_t *times = a->children[2]->buffers[1];
    const float *pairs = a->children[4]->children[0]->buffers[1];
    EQUAL(a->children[4]->children[0]->length, 2 * a->length);
    int64_t nulls = 0;
    for (int64_t k = 0; k < a->length; k++) {
        uint64_t row = first + (uint64_t)k;
        now("row %d", (int)row);
        CHECK(numbers[k] == number(row));
        EQUAL(offsets[k + 1] - offsets[k], row % 4);
        CHECK(memcmp((const char *)a->children[1]->buffers[2] + offsets[k], "abc", row % 4) == 0);
        CHECK(bit(a->children[3]->buffers[1], (uint64_t)k) == (row % 3 == 0));
        CHECK(pairs[2 * k] == 1 && pairs[2 * k + 1] == -2);
        bool none = a->children[2]->buffers[0] != NULL &&
                    !bit(a->children[2]->buffers[0], (uint64_t)k);
        CHECK(none == (row % 10 == 0) && (none || times[k] == (int64_t)row * 1000));
        nulls += none;
    }
    EQUAL(a->children[2]->null_count, nulls);
}

static void a_table_is_exported(void)
{
    holdall_table *t = new_table("out");
    const uint64_t cases[][3] = {{0, ROWS, 0},  {0, ROWS, 7}, {0, ROWS, 1u << 31},
                                 {3, 500, 100}, {999, 1, 1},  {1000, 0, 5},
                                 {0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stream s;
        OK(holdall_table_to_arrow(t, cases[i][0], cases[i][1], cases[i][2], &s, &err));
        check_schema(&s);
        CHECK(s.get_last_error(&s) == NULL);
        uint64_t row = cases[i][0], end = row + cases[i][1];
        for (;;) {
            array a;
            EQUAL(s.get_next(&s, &a), 0);
            if (a.release == NULL)
                break;
            CHECK(a.length > 0 && (cases[i][2] == 0 || (uint64_t)a.length <= cases[i][2]));
            check_batch(&a, row);
            row += (uint64_t)a.length;
            a.release(&a);
            CHECK(a.release == NULL);
        }
        EQUAL(row, end);
        array a;
        EQUAL(s.get_next(&s, &a), 0);
        CHECK(a.release == NULL);
        s.release(&s);
        CHECK(s.release == NULL);
    }
    holdall_table_close(t);
}

static void a_stream_outlives_its_table(void)
{
    holdall_table *t = new_table("lives");
    stream s, moved;
    OK(holdall_table_to_arrow(t, 0, ROWS, 300, &s, &err));
    holdall_table_close(t);
    moved = s;
    memset(&s, 0xee, sizeof s);
    array a[4], child;
    for (int i = 0; i < 4; i++)
        EQUAL(moved.get_next(&moved, &a[i]), 0);
    moved.release(&moved);
    CHECK(moved.release == NULL);
    /* batches remain valid, moved or not, and so do their children */
    array b = a[1];
    memset(&a[1], 0xee, sizeof a[1]);
    check_batch(&a[0], 0);
    check_batch(&b, 300);
    check_batch(&a[3], 900);
    child = *b.children[0];
    b.children[0]->release = NULL;
    b.release(&b);
    CHECK(((const int32_t *)child.buffers[1])[5] == number(305));
    child.release(&child);
    a[0].release(&a[0]);
    a[2].release(&a[2]);
    a[3].release(&a[3]);
}

static void *drain(void *from)
{
    stream *s = from;
    uintptr_t rows = 0;
    array a;
    while (s->get_next(s, &a) == 0 && a.release != NULL) {
        rows += (uintptr_t)a.length;
        a.release(&a);
    }
    s->release(s);
    return (void *)rows;
}

static void many_threads_read_streams(void)
{
    holdall_table *t = new_table("threads");
    stream s[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        OK(holdall_table_to_arrow(t, 0, ROWS, 10, &s[i], &err));
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, drain, &s[i]) == 0);
    holdall_table_close(t);
    for (int i = 0; i < 4; i++) {
        void *rows;
        CHECK(pthread_join(threads[i], &rows) == 0);
        EQUAL((uintptr_t)rows, ROWS);
    }
}

static void invalid_exports_are_refused(void)
{
    holdall_table *t = new_table("cannot");
    stream s;
    memset(&s, 0xee, sizeof s);
    GIVES(HOLDALL_E_RANGE, holdall_table_to_arrow(t, 1, ROWS, 0, &s, &err));
    CHECK(s.release == NULL);
    memset(&s, 0xee, sizeof s);
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_to_arrow(NULL, 0, 0, 0, &s, &err));
    CHECK(s.release == NULL);
    GIVES(HOLDALL_E_RANGE, holdall_table_to_arrow(t, UINT64_MAX, 2, 0, &s, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_to_arrow(t, 0, ROWS, 0, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_to_arrow(NULL, 0, ROWS, 0, &s, &err));
    const char *const names[] = {"p", "none"};
    memset(&s, 0xee, sizeof s);
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_columns_to_arrow(t, 0, ROWS, 2, names, 0, &s, &err));
    CHECK(s.release == NULL && strstr(err.message, "none") != NULL);
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_columns_to_arrow(t, 0, ROWS, 2, NULL, 0, &s, &err));
    GIVES(HOLDALL_E_RANGE, holdall_table_columns_to_arrow(t, 1, ROWS, 1, names, 0, &s, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_append_arrow(t, NULL, &err));
    GIVES(HOLDALL_E_RANGE, holdall_table_scan(t, NULL, 1, ROWS, 1, 1, names, 0, &s, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_scan(t, "", 0, ROWS, 1, 1, names, 0, &s, &err));
    CHECK(s.release == NULL);
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_points_to_arrow(t, NULL, 2, 1, names, 0, &s, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_to_arrow(NULL, 0, 0, 0, &s, &err));

    /* bytes that are not text: an error of the stream, or binary on request */
    int32_t i = 1;
    int64_t time = 1;
    uint8_t p[8] = {0};
    const void *columns[] = {&i, "\xff\xfe", &time, "\1", p};
    const size_t sizes[] = {4, 3, 8, 1, 8};
    OK(holdall_table_append(t, 1, columns, sizes, &err));
    OK(holdall_table_commit(t, &err));
    OK(holdall_table_to_arrow(t, 0, ROWS + 1, ROWS, &s, &err));
    array a;
    EQUAL(s.get_next(&s, &a), 0);
    a.release(&a);
    EQUAL(s.get_next(&s, &a), EINVAL);
    const char *message = s.get_last_error(&s);
    CHECK(message != NULL && strstr(message, "column \"s\"") && strstr(message, "row 1000"));
    EQUAL(s.get_next(&s, &a), EINVAL);
    /* a table that is being read is not changed */
    GIVES(HOLDALL_E_STATE, holdall_table_truncate(t, 1, &err));
    GIVES(HOLDALL_E_STATE, holdall_table_commit(t, &err));
    GIVES(HOLDALL_E_STATE, holdall_table_append_arrow(t, &s, &err));
    CHECK(s.release == NULL);
    OK(holdall_table_truncate(t, ROWS, &err));
    holdall_table_close(t);

    holdall_options *o = options_of(WITH(HOLDALL_OPT_ARROW_BINARY, 1));
    OK(holdall_table_open(in_tmp("cannot"), HOLDALL_READ, o, &t, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          verify_counts(in_tmp("cannot"), o, NULL, NULL, NULL, NULL, NULL, &err));
    holdall_options_free(o);
    OK(holdall_table_to_arrow(t, 0, ROWS + 1, 0, &s, &err));
    schema c;
    EQUAL(s.get_schema(&s, &c), 0);
    CHECK(strcmp(c.children[1]->format, "z") == 0);
    c.release(&c);
    EQUAL((uintptr_t)drain(&s), ROWS + 1);
    GIVES(HOLDALL_E_STATE, holdall_table_append_arrow(t, &s, &err));
    holdall_table_close(t);
}

static void a_bag_is_exported(void)
{
    write_bag(in_tmp("a.bagz"), HOLDALL_CREATE, NULL, 100);
    holdall_bag *bag = open_bag(in_tmp("a.bagz"), NULL);
    const uint64_t cases[][3] = {{0, 100, 0}, {0, 100, 7}, {10, 50, 100}, {100, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stream s;
        OK(holdall_bag_to_arrow(bag, cases[i][0], cases[i][1], cases[i][2], &s, &err));
        schema c;
        EQUAL(s.get_schema(&s, &c), 0);
        CHECK(c.n_children == 1 && strcmp(c.children[0]->format, "z") == 0 &&
              strcmp(c.children[0]->name, "record") == 0);
        c.release(&c);
        uint64_t k = cases[i][0];
        array a;
        while (s.get_next(&s, &a) == 0 && a.release != NULL) {
            const int32_t *offsets = a.children[0]->buffers[1];
            for (int64_t j = 0; j < a.length; j++, k++) {
                uint8_t want[4096];
                size_t n = make_record(k, want);
                CHECK(n == (size_t)(offsets[j + 1] - offsets[j]) &&
                      memcmp((const char *)a.children[0]->buffers[2] + offsets[j], want, n) == 0);
            }
            a.release(&a);
        }
        EQUAL(k, cases[i][0] + cases[i][1]);
        s.release(&s);
    }
    stream s;
    GIVES(HOLDALL_E_RANGE, holdall_bag_to_arrow(bag, 1, 100, 0, &s, &err));
    OK(holdall_bag_to_arrow(bag, 0, 100, 0, &s, &err));
    holdall_bag_close(bag);
    EQUAL((uintptr_t)drain(&s), 100);

    /* a corrupt record is an error, or a null */
    size_t n;
    uint8_t *bytes = load(in_tmp("a.bagz"), &n);
    memset(bytes, 0xaa, 30);
    save(in_tmp("b.bagz"), bytes, n);
    free(bytes);
    for (int64_t skip = 0; skip < 2; skip++) {
        bag = open_bag(in_tmp("b.bagz"), WITH(HOLDALL_OPT_SKIP_DAMAGED, skip));
        OK(holdall_bag_to_arrow(bag, 0, 100, 0, &s, &err));
        holdall_bag_close(bag);
        array a;
        int status = s.get_next(&s, &a);
        CHECK(skip ? status == 0 : status > 0);
        if (skip) {
            CHECK(a.children[0]->null_count == 1 && !bit(a.children[0]->buffers[0], 0) &&
                  bit(a.children[0]->buffers[0], 1));
            a.release(&a);
        } else {
            CHECK(strstr(s.get_last_error(&s), "record 0"));
        }
        s.release(&s);
    }
}

/* ---- import -----------------------------------------------------------------------------------*/

static void an_exported_table_is_appended(void)
{
    holdall_table *from = new_table("from"), *to = new_table("to");
    stream s;
    OK(holdall_table_to_arrow(from, 0, ROWS, 70, &s, &err));
    holdall_table_close(from);
    OK(holdall_table_append_arrow(to, &s, &err));
    CHECK(s.release == NULL);
    OK(holdall_table_commit(to, &err));
    EQUAL(holdall_table_row_count(to), 2 * ROWS);
    OK(holdall_table_to_arrow(to, ROWS, ROWS, 0, &s, &err));
    holdall_table_close(to);
    uint64_t row = 0;
    array a;
    while (s.get_next(&s, &a) == 0 && a.release != NULL) {
        check_batch(&a, row);
        row += (uint64_t)a.length;
        a.release(&a);
    }
    EQUAL(row, ROWS);
    s.release(&s);
}

/* A table of a stream has its columns and rows. */
static void a_table_is_created_of_a_stream(void)
{
    holdall_table *from = new_table("source"), *to;
    stream s;
    for (int replaces = 0; replaces < 2; replaces++) {
        OK(holdall_table_to_arrow(from, 0, ROWS, 70, &s, &err));
        OK(holdall_table_from_arrow(in_tmp("made.b2d"), replaces ? HOLDALL_REPLACE : HOLDALL_CREATE,
                                    HOLDALL_FORMAT_CTABLE, &s, NULL, &to, &err));
        CHECK(s.release == NULL);
        EQUAL(holdall_table_row_count(to), ROWS);
        EQUAL(holdall_table_column_count(to), holdall_table_column_count(from));
        holdall_table_close(to);
    }
    OK(holdall_table_to_arrow(from, 0, ROWS, 0, &s, &err));
    GAVE(HOLDALL_E_EXISTS, holdall_table_from_arrow(in_tmp("made.b2d"), HOLDALL_CREATE,
                                                    HOLDALL_FORMAT_CTABLE, &s, NULL, &to, &err));
    CHECK(s.release == NULL);
    GAVE(HOLDALL_E_ARGUMENT, holdall_table_from_arrow(in_tmp("none.b2d"), HOLDALL_CREATE,
                                                      HOLDALL_FORMAT_CTABLE, NULL, NULL, &to, &err));
    holdall_table_close(from);
    OK(holdall_table_open(in_tmp("made.b2d"), HOLDALL_READ, NULL, &to, &err));
    OK(holdall_table_to_arrow(to, 0, ROWS, 0, &s, &err));
    holdall_table_close(to);
    array a;
    CHECK(s.get_next(&s, &a) == 0 && a.length == ROWS);
    a.release(&a);
    s.release(&s);
}

/* A producer of one batch with one column; each test makes one mistake in it. */
typedef struct {
    schema schema, column, item, values;
    schema *columns[2], *items[1];
    array batch, data, inner, dictionary;
    array *children[2], *inners[1];
    const void *none[1], *buffers[4], *inner_buffers[2], *dictionary_buffers[3];
    int schemas, batches, streams; /* released */
    int given, schema_status, batch_status;
    bool endless;
} producer;

static void release_schema(schema *s)
{
    ((producer *)s->private_data)->schemas++;
    s->release = NULL;
}
static void release_array(array *a)
{
    ((producer *)a->private_data)->batches++;
    a->release = NULL;
}
static void release_part(array *a)
{
    a->release = NULL;
}
static void release_field(schema *s)
{
    s->release = NULL;
}
static int get_schema(stream *s, schema *out)
{
    producer *p = s->private_data;
    if (p->schema_status == 0)
        *out = p->schema;
    return p->schema_status;
}
static int get_next(stream *s, array *out)
{
    producer *p = s->private_data;
    if (p->batch_status != 0 && p->given > 0)
        return p->batch_status;
    *out = p->batch;
    if (!p->endless && p->given++ > 0) {
        CHECK(p->given == 2); /* the consumer does not call get_next after the end */
        out->release = NULL;
    }
    return 0;
}
static const char *get_last_error(stream *s)
{
    producer *p = s->private_data;
    return p->schema_status == 5 ? NULL : "the moon is in the way";
}
static void release_stream(stream *s)
{
    ((producer *)s->private_data)->streams++;
    s->release = NULL;
}

static const int32_t three_ints[4] = {1, 2, 3, 4};
static const int32_t offsets[4] = {0, 1, 2, 3};

/* A producer of three values of this type. */
static void produce(producer *p, stream *s, const char *format)
{
    memset(p, 0, sizeof *p);
    p->columns[0] = p->columns[1] = &p->column;
    p->items[0] = &p->item;
    p->schema = (schema){"+s", "", NULL, 0, 1, p->columns, NULL, release_schema, p};
    p->column = (schema){format, "x", NULL, 2, 0, NULL, NULL, release_field, p};
    p->item = (schema){"i", "item", NULL, 2, 0, NULL, NULL, release_field, p};
    p->values = (schema){"u", "", NULL, 2, 0, NULL, NULL, release_field, p};
    p->children[0] = p->children[1] = &p->data;
    p->inners[0] = &p->inner;
    p->batch = (array){3, 0, 0, 1, 1, p->none, p->children, NULL, release_array, p};
    bool text = strcmp(format, "u") == 0;
    p->data = (array){3, 0, 0, text ? 3 : 2, 0, p->buffers, NULL, NULL, release_part, p};
    p->buffers[1] = text ? offsets : three_ints;
    p->buffers[2] = text ? "abc" : NULL;
    p->inner = (array){3, 0, 0, 2, 0, p->inner_buffers, NULL, NULL, release_part, p};
    p->inner_buffers[1] = three_ints;
    p->dictionary = (array){3, 0, 0, 3, 0, p->dictionary_buffers, NULL, NULL, release_part, p};
    p->dictionary_buffers[1] = offsets;
    p->dictionary_buffers[2] = "abc";
    if (format[0] == '+') {
        p->column.n_children = p->data.n_children = 1;
        p->column.children = p->items;
        p->data.children = p->inners;
        p->data.n_buffers = 1;
    }
    *s = (stream){get_schema, get_next, get_last_error, release_stream, p};
}

static holdall_table *table_of(const char *name, const char *dtype)
{
    static const char *const x[] = {"x"};
    holdall_table *t = NULL;
    OK(table_create(in_tmp(name), HOLDALL_REPLACE, HOLDALL_FORMAT_BCOLZ, 1, x, &dtype, NULL, &t,
                    &err));
    OK(holdall_table_commit(t, &err));
    return t;
}

/* Appends the stream of the producer; all of it is released, and a failure appends nothing. */
static void give(holdall_table *t, producer *p, stream *s, holdall_status want, const char *message)
{
    uint64_t rows = holdall_table_row_count(t);
    now("%s", message);
    GIVES(want, holdall_table_append_arrow(t, s, &err));
    CHECK(s->release == NULL && p->streams == 1);
    if (want != HOLDALL_OK && !says(message)) {
        fprintf(stderr, "said: %s\n", err.message);
        CHECK(false);
    }
    EQUAL(holdall_table_row_count(t), rows + (want == HOLDALL_OK ? 3 : 0));
}

static void valid_producers_are_appended(void)
{
    static const struct {
        const char *format, *dtype, *want;
    } cases[] = {
        {"i", "<i8", "\2\0\0\0\0\0\0\0"},
        {"u", "|S2", "b\0"},
        {"+w:1", "('<i4', (1,))", "\2\0\0\0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        holdall_table *t = table_of("right", cases[i].dtype);
        producer p;
        stream s;
        produce(&p, &s, cases[i].format);
        give(t, &p, &s, HOLDALL_OK, cases[i].format);
        EQUAL(p.schemas, 1);
        EQUAL(p.batches, 1);
        const holdall_array *x = holdall_table_column(t, 0);
        const uint64_t start[] = {1, 0}, count[] = {1, 1};
        char got[8];
        size_t size = holdall_array_itemsize(x);
        OK(holdall_array_read(x, start, count, NULL, got, size, NULL, &err));
        CHECK(memcmp(got, cases[i].want, size) == 0);
        holdall_table_close(t);
    }
}

#define BROKEN(format, message, change)                             \
    do {                                                          \
        produce(&p, &s, format);                                  \
        change;                                                   \
        give(t, &p, &s, HOLDALL_E_ARGUMENT, message);               \
    } while (0)

static void invalid_producers_are_refused(void)
{
    producer p;
    stream s;
    static const uint8_t bits[1] = {5};
    static const int32_t backwards[4] = {0, 3, 2, 3}, negative[4] = {0, -1, 2, 3},
                         minus[4] = {0, 1, 2, -3}, far[4] = {0, 7, 9, 3};
    holdall_table *t = table_of("wrong", "<i8");
    BROKEN("i", "length is -1", p.data.length = -1);
    BROKEN("i", "length is -1", p.batch.length = -1);
    BROKEN("i", "offset is -3", p.data.offset = -3);
    BROKEN("i", "3 values from 9223372036854775807", p.data.offset = INT64_MAX);
    BROKEN("i", "values from 0", p.batch.length = INT64_MAX);
    BROKEN("i", "value 4 of 3 is needed", p.batch.length = 4);
    BROKEN("i", "value 3 of 2 is needed", p.data.length = 2);
    BROKEN("i", "5 nulls among 3", p.data.null_count = 5);
    BROKEN("i", "-2 nulls among 3", p.data.null_count = -2);
    BROKEN("i", "1 buffers", p.data.n_buffers = 1);
    BROKEN("i", "-1 buffers", p.data.n_buffers = -1);
    BROKEN("i", "the array of pointers is missing", p.data.buffers = NULL);
    BROKEN("i", "buffer 1 is missing", p.buffers[1] = NULL);
    BROKEN("i", "2 children", p.batch.n_children = 2);
    BROKEN("i", "0 children", p.batch.n_children = 0);
    BROKEN("i", "the array of pointers is missing", p.batch.children = NULL);
    BROKEN("i", "the array of pointers is missing", p.children[0] = NULL);
    BROKEN("i", "no child 0", p.data.release = NULL);
    BROKEN("i", "its dictionary does not match", p.data.dictionary = &p.dictionary);
    BROKEN("i", "the array of pointers is missing", p.schema.children = NULL);
    BROKEN("i", "count -1", p.schema.n_children = -1);
    BROKEN("i", "no format", p.column.format = NULL);
    BROKEN("i", "released", p.schema.release = NULL);
    BROKEN("i", "get_next", s.get_next = NULL);
    BROKEN("i", "get_schema", s.get_schema = NULL);
    BROKEN("i", "children", (p.column.n_children = 1, p.column.children = p.items));
    produce(&p, &s, "i");
    p.data.null_count = 1, p.buffers[0] = bits;
    give(t, &p, &s, HOLDALL_E_TYPE, "row 1: a null");
    produce(&p, &s, "i");
    p.batch.null_count = -1, p.none[0] = bits;
    give(t, &p, &s, HOLDALL_E_TYPE, "row 1: the struct is null");
    produce(&p, &s, "i");
    p.column.name = NULL;
    give(t, &p, &s, HOLDALL_E_TYPE, "not in the Arrow stream");
    produce(&p, &s, "+ud:0");
    give(t, &p, &s, HOLDALL_E_TYPE, "unsupported type");
    produce(&p, &s, "i");
    p.schema.format = "i", p.schema.n_children = 0;
    give(t, &p, &s, HOLDALL_E_TYPE, "expected a struct of columns");
    /* a schema that contains itself */
    produce(&p, &s, "+s");
    p.items[0] = &p.column;
    give(t, &p, &s, HOLDALL_E_UNSUPPORTED, "deep");
    /* streams that fail at the first call, and at a later one */
    produce(&p, &s, "i");
    p.batch_status = ENOSPC;
    give(t, &p, &s, HOLDALL_E_CALLBACK, "the moon is in the way");
    EQUAL(err.os_code, ENOSPC);
    EQUAL(p.batches, 1);
    produce(&p, &s, "i");
    p.schema_status = 5;
    give(t, &p, &s, HOLDALL_E_CALLBACK, "the stream failed");
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_append_arrow(NULL, (produce(&p, &s, "i"), &s), &err));
    EQUAL(p.streams, 1);
    holdall_table_close(t);

    t = table_of("wrong", "|S3");
    BROKEN("u", "buffer 2 is missing", p.buffers[2] = NULL);
    BROKEN("u", "buffer 1 is missing", p.buffers[1] = NULL);
    BROKEN("u", "its bytes end at -3", p.buffers[1] = minus);
    BROKEN("i", "index 3 in a dictionary of 3",
           (p.column.dictionary = &p.values, p.data.dictionary = &p.dictionary));
    BROKEN("i", "its dictionary does not match",
           (p.column.dictionary = &p.values, p.data.dictionary = NULL));
    const int32_t *const ends[] = {backwards, negative, far};
    for (int i = 0; i < 3; i++) {
        produce(&p, &s, "u");
        p.buffers[1] = ends[i];
        give(t, &p, &s, HOLDALL_E_TYPE, "its bytes are outside the buffers of the array");
    }
    holdall_table_close(t);

    t = table_of("wrong", "('<i4', (2,))");
    BROKEN("+w:2", "value 6 of 3 is needed", (void)0);
    BROKEN("+w:2", "values from", p.batch.length = p.data.length = INT64_MAX / 2);
    BROKEN("+w:2", "children", p.data.n_children = 0);
    BROKEN("+w:2", "expected 1 for the type", p.column.n_children = 0);
    produce(&p, &s, "+w:-2");
    give(t, &p, &s, HOLDALL_E_TYPE, "unsupported type");
    produce(&p, &s, "+w:3");
    give(t, &p, &s, HOLDALL_E_TYPE, "cannot be converted to");
    holdall_table_close(t);
}

int main(void)
{
    RUN(a_table_is_exported);
    RUN(a_stream_outlives_its_table);
    RUN(many_threads_read_streams);
    RUN(invalid_exports_are_refused);
    RUN(a_bag_is_exported);
    RUN(an_exported_table_is_appended);
    RUN(a_table_is_created_of_a_stream);
    RUN(valid_producers_are_appended);
    RUN(invalid_producers_are_refused);
    return 0;
}
