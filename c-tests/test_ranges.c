/* Storage whose functions read several ranges by one call: frames, arrays and bags have the same
 * content as with single reads, in few calls. Calls that fail, wrong results, and files that change
 * during a call are errors, or do not change the content. */
#include "folder.h"

enum { SIDE = 150, CHUNKS = 64, BLOCKS = 16, RECORDS = 3000, SCATTERED = 200 };
enum { FRAME, ARRAY, RAW_BAG, ZSTD_BAG, KINDS };

static const int64_t *codec(int kind)
{
    static const int64_t raw[] = {HOLDALL_OPT_CODEC, HOLDALL_CODEC_NONE, 0},
                         zstd[] = {HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD, 0};
    return kind == ZSTD_BAG ? zstd : raw;
}

static uint32_t value(uint64_t i, uint32_t state)
{
    return (uint32_t)(i / 7 * (1000003 + state));
}

static uint32_t items[SIDE * SIDE];

static void fill(uint32_t state)
{
    for (uint64_t i = 0; i < SIDE * SIDE; i++)
        items[i] = value(i, state);
}

static size_t length(uint64_t record)
{
    return 4 + record % 50 * 4;
}

/* Writes the content, which a state determines, without calls that read ranges. */
static void make(folder *f, int kind, uint32_t state)
{
    static const uint64_t shape[] = {SIDE, SIDE}, chunks[] = {CHUNKS, CHUNKS},
                          blocks[] = {BLOCKS, BLOCKS};
    holdall_storage *io = folder_io(f);
    fill(state);
    if (kind == FRAME) {
        holdall_schunk *s;
        OK(schunk_create_io(io, HOLDALL_REPLACE, HOLDALL_FORMAT_B2FRAME, 4, NULL, &s, &err));
        OK(holdall_schunk_append(s, items, sizeof items, &err));
        OK(holdall_schunk_commit(s, &err));
        holdall_schunk_close(s);
    } else if (kind == ARRAY) {
        holdall_array *a;
        OK(array_create_io(io, HOLDALL_REPLACE, HOLDALL_FORMAT_B2ND, "<u4", 2, shape, chunks,
                           blocks, NULL, &a, &err));
        OK(holdall_array_write(a, NULL, NULL, NULL, items, sizeof items, NULL, &err));
        OK(holdall_array_commit(a, &err));
        holdall_array_close(a);
    } else {
        holdall_bag_writer *w;
        GAVE(HOLDALL_OK, try_folder_writer(f, HOLDALL_REPLACE, codec(kind), &w));
        for (uint64_t i = 0; i < RECORDS; i++)
            OK(holdall_bag_writer_append(w, &items[i], length(i), &err));
        OK(holdall_bag_writer_commit(w, &err));
        holdall_bag_writer_close(w);
    }
    holdall_storage_free(io);
}

/* Is the status of a failure one that wrong storage may give? */
static bool failed_well(holdall_status s)
{
    return s == HOLDALL_E_CALLBACK || s == HOLDALL_E_FORMAT || s == HOLDALL_E_CHECKSUM ||
           s == HOLDALL_E_CODEC || s == HOLDALL_E_MISSING || s == HOLDALL_E_STATE ||
           s == HOLDALL_E_BUSY || s == HOLDALL_E_IO || s == HOLDALL_E_VERSION ||
           s == HOLDALL_E_LIMIT || s == HOLDALL_E_TYPE || s == HOLDALL_E_UNSUPPORTED ||
           s == HOLDALL_E_MEMORY;
}

static holdall_status read_frame(holdall_storage *io, uint32_t *got)
{
    holdall_schunk *s;
    holdall_status status = schunk_open_io(io, HOLDALL_READ, NULL, &s, &err);
    if (status < 0)
        return status;
    memset(got, 0, sizeof items);
    uint64_t n = holdall_schunk_nbytes(s);
    status = n == sizeof items ? holdall_schunk_read(s, 0, got, sizeof items, &err)
                               : HOLDALL_E_FORMAT;
    holdall_schunk_close(s);
    return status;
}

static holdall_status read_box(holdall_storage *io, uint32_t *got)
{
    holdall_array *a;
    holdall_status status = array_open_io(io, HOLDALL_READ, NULL, &a, &err);
    if (status < 0)
        return status;
    memset(got, 0, sizeof items);
    bool fits = holdall_array_ndim(a) == 2 && holdall_array_shape(a)[0] == SIDE;
    status = fits ? holdall_array_read(a, NULL, NULL, NULL, got, sizeof items, NULL, &err)
                  : HOLDALL_E_FORMAT;
    holdall_array_close(a);
    return status;
}

static uint64_t scattered(uint64_t i)
{
    return i * 7919 % RECORDS;
}

/* Reads scattered records; `got` has the items of each at the index of its first one. */
static holdall_status read_records(holdall_storage *io, int kind, uint32_t *got)
{
    uint64_t indices[SCATTERED];
    for (uint64_t i = 0; i < SCATTERED; i++)
        indices[i] = scattered(i);
    holdall_options *o = options_of(codec(kind));
    holdall_bag *bag;
    holdall_status status = bag_open_io(&io, 1, o, &bag, &err);
    holdall_options_free(o);
    if (status < 0)
        return status;
    holdall_records *batch;
    status = holdall_bag_record_count(bag) != RECORDS
                 ? HOLDALL_E_FORMAT
                 : holdall_bag_read_indices(bag, indices, SCATTERED, &batch, &err);
    holdall_bag_close(bag);
    if (status < 0)
        return status;
    EQUAL(status, HOLDALL_OK);
    for (size_t i = 0; i < SCATTERED; i++) {
        const uint64_t *at = holdall_records_offsets(batch) + i;
        if (at[1] - at[0] != length(indices[i]))
            status = HOLDALL_E_FORMAT;
        else
            memcpy(&got[indices[i]], holdall_records_data(batch) + at[0], at[1] - at[0]);
    }
    holdall_records_free(batch);
    return status;
}

static holdall_status read_kind(holdall_storage *io, int kind, uint32_t *got)
{
    preset_error();
    switch (kind) {
    case FRAME: return read_frame(io, got);
    case ARRAY: return read_box(io, got);
    default: return read_records(io, kind, got);
    }
}

static uint32_t got[SIDE * SIDE];

/* Was the content of this state read? */
static bool is_of(int kind, uint32_t state)
{
    fill(state);
    if (kind == FRAME || kind == ARRAY)
        return memcmp(got, items, sizeof items) == 0;
    for (uint64_t i = 0; i < SCATTERED; i++)
        if (memcmp(&got[scattered(i)], &items[scattered(i)], length(scattered(i))) != 0)
            return false;
    return true;
}

/* Reads all, with calls that read ranges. Returns the status; the content must be that of a state. */
static holdall_status look(folder *f, int kind, uint32_t state, uint32_t other)
{
    f->reads_ranges = true;
    holdall_storage *io = folder_io(f);
    f->reads_ranges = false;
    holdall_status status = read_kind(io, kind, got);
    holdall_storage_free(io);
    if (status < 0) {
        CHECK(failed_well(status));
        return status;
    }
    CHECK(is_of(kind, state) || is_of(kind, other));
    return status;
}

static void reset(folder *f)
{
    memset(f->calls, 0, sizeof f->calls);
    f->all_calls = f->failures = 0;
    f->fail_at = 0;
    f->dead = f->too_late = false;
}

static void few_calls_read_the_same(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        now("kind %d", kind);
        folder f = FOLDER;
        make(&f, kind, 0);
        reset(&f);
        OK(look(&f, kind, 0, 0));
        /* opening: the ends of all files, then their sizes again; reading: tables or limits, then
         * blocks or records */
        CHECK(f.calls[RANGES] >= 2 && f.calls[RANGES] <= 4);
        EQUAL(f.calls[SIZE], 0);
        EQUAL(f.calls[READ], 0);
        folder_clear(&f);
    }
}

static void failed_calls_are_errors(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int how = 0; how < 4; how++) {
            folder f = FOLDER;
            make(&f, kind, 0);
            for (long k = 1; k < 100; k++) {
                now("kind %d, call %ld, way %d", kind, k, how);
                reset(&f);
                f.fail_at = k;
                f.dead = how & 1;
                f.too_late = how & 2;
                holdall_status status = look(&f, kind, 0, 0);
                if (f.failures == 0)
                    break;
                if (f.dead)
                    CHECK(status < 0);
            }
            EQUAL(f.failures, 0);
            folder_clear(&f);
        }
}

/* ---- wrong results ----------------------------------------------------------------------------*/

static int lie;
static int64_t lying_ranges(void *ctx, holdall_storage_range *ranges, size_t n)
{
    static uint64_t random = 1;
    int64_t result = folder_read_ranges(ctx, ranges, n);
    for (size_t i = 0; i < n; i++) {
        int64_t size = ranges[i].size;
        random = random * 6364136223846793005u + 1442695040888963407u;
        const int64_t lies[] = {0,         1,         size - 1,   size + 1,
                                size / 2,  INT64_MAX, INT64_MIN,  -ENOENT,
                                -EIO,      -1000000,  size * 100, (int64_t)random};
        const int all = sizeof lies / sizeof lies[0];
        if ((random >> 40) % 4 == 0 || lie < all)
            ranges[i].size = lies[lie < all ? lie : (int)(random >> 50) % all];
    }
    return lie % 7 == 6 ? (int64_t)n : result;
}

static void wrong_sizes_do_not_change_the_content(void)
{
    int64_t good = 0, failures = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        folder f = FOLDER;
        make(&f, kind, 0);
        holdall_storage_functions table = folder_functions(&f);
        table.read_ranges = lying_ranges;
        table.destroy = NULL;
        for (lie = 0; lie < (slow() ? 20 : 200); lie++) {
            now("kind %d, lie %d", kind, lie);
            holdall_storage *io;
            OK(holdall_storage_from_functions(&table, &io, &err));
            holdall_status status = read_kind(io, kind, got);
            holdall_storage_free(io);
            CHECK(status >= 0 || failed_well(status));
            CHECK(status < 0 || is_of(kind, 0));
            status < 0 ? failures++ : good++;
        }
        folder_clear(&f);
    }
    printf("%" PRId64 " reads in spite of wrong sizes, %" PRId64 " errors\n", good, failures);
    CHECK(good > 0 && failures > 0);
}

/* ---- files that change ------------------------------------------------------------------------*/

static const folder *newer;
static long change_at;
static void replace(folder *f, operation o)
{
    (void)o;
    if (f->all_calls == change_at) {
        folder_clear(f);
        folder_copy(f, newer);
    }
}

static void a_commit_between_two_calls_is_seen(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        folder old = FOLDER, later = FOLDER;
        make(&old, kind, 0);
        make(&later, kind, 5);
        newer = &later;
        for (change_at = 1; change_at < 20; change_at++) {
            now("kind %d, changed at call %ld", kind, change_at);
            folder f = FOLDER;
            folder_copy(&f, &old);
            f.before = replace;
            holdall_status status = look(&f, kind, 0, 5);
            if (f.all_calls < change_at)
                OK(status);
            folder_clear(&f);
        }
        folder_clear(&old);
        folder_clear(&later);
    }
}

static void an_older_table_reads_one_by_one(void)
{
    folder f = FOLDER;
    make(&f, ARRAY, 0);
    f.reads_ranges = true;
    holdall_storage_functions table = folder_functions(&f);
    table.struct_size = offsetof(holdall_storage_functions, read_ranges);
    holdall_storage *io;
    OK(holdall_storage_from_functions(&table, &io, &err));
    reset(&f);
    OK(read_kind(io, ARRAY, got));
    EQUAL(f.calls[RANGES], 0);
    CHECK(f.calls[READ] > 0 && memcmp(got, items, sizeof items) == 0);
    holdall_storage_free(io);
    folder_clear(&f);
}

int main(void)
{
    few_calls_read_the_same();
    failed_calls_are_errors();
    wrong_sizes_do_not_change_the_content();
    a_commit_between_two_calls_is_seen();
    an_older_table_reads_one_by_one();
    return 0;
}
