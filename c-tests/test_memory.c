/* Memory: sizes that a file claims do not decide how much memory is taken. Limits of the caller are
 * respected, a failed allocation is an error, and opening a large bag takes no more memory than
 * opening a small one. */
#include "child.h"
#include "folder.h"

/* ---- 10^8 records -----------------------------------------------------------------------------*/

/* Creates a file of this size, all 0 except at `last`: a bag of many empty records. */
typedef struct {
    uint64_t size;
    uint64_t bytes_read, calls;
} zeros;

static int64_t zeros_size(void *ctx, const char *name)
{
    const zeros *z = ctx;
    return strcmp(name, "") == 0 || strcmp(name, "limits.") == 0 ? (int64_t)z->size : -ENOENT;
}

static int64_t zeros_read(void *ctx, const char *name, uint64_t at, void *dst, size_t n)
{
    zeros *z = ctx;
    CHECK(strcmp(name, "") == 0 || strcmp(name, "limits.") == 0);
    uint64_t rest = at < z->size ? z->size - at : 0;
    n = n < rest ? n : (size_t)rest;
    memset(dst, 0, n);
    z->bytes_read += n;
    z->calls++;
    return (int64_t)n;
}

static holdall_bag *open_zeros(zeros *z, const int64_t *pairs)
{
    holdall_storage_functions table = {
        .struct_size = sizeof table, .ctx = z, .size = zeros_size, .read_at = zeros_read};
    holdall_options *o = options_of(pairs);
    holdall_storage *io;
    holdall_bag *bag;
    OK(holdall_storage_from_functions(&table, &io, &err));
    OK(bag_open_io(&io, 1, o, &bag, &err));
    holdall_storage_free(io);
    holdall_options_free(o);
    return bag;
}

/* Measures bytes and calls of an open, and then of reads at random positions. */
static zeros cost(uint64_t records, const int64_t *pairs, zeros *opened)
{
    zeros z = {.size = records * 8};
    holdall_bag *bag = open_zeros(&z, pairs);
    *opened = z;
    EQUAL(holdall_bag_record_count(bag), records);
    size_t n = 9;
    OK(holdall_bag_read(bag, records - 1, NULL, 0, &n, &err));
    EQUAL(n, 0);
    holdall_records *batch;
    OK(holdall_bag_read_range(bag, records / 2, 5, &batch, &err));
    EQUAL(holdall_records_offsets(batch)[5], 0);
    holdall_records_free(batch);
    uint64_t numbers[] = {records - 1, 0, records / 3};
    OK(holdall_bag_read_indices(bag, numbers, 3, &batch, &err));
    holdall_records_free(batch);
    holdall_bag *slice;
    OK(holdall_bag_slice(bag, records - 1, records, -1, &slice, &err));
    OK(holdall_bag_read(slice, 0, NULL, 0, &n, &err));
    holdall_bag_close(slice);
    holdall_bag_close(bag);
    return z;
}

static void opening_does_not_depend_on_the_number_of_records(void)
{
    for (int k = 0; k < 4; k++) {
        now("codec %d, limits %d", k % 2, k / 2);
        const int64_t *pairs = WITH(HOLDALL_OPT_CODEC,
                                    k % 2 ? HOLDALL_CODEC_ZSTD : HOLDALL_CODEC_NONE,
                                    HOLDALL_OPT_BAG_LIMITS, LIMITS(k / 2));
        zeros opened_few, opened_many, few = cost(1000, pairs, &opened_few),
                                       many = cost(100000000, pairs, &opened_many);
        EQUAL(opened_many.bytes_read, opened_few.bytes_read);
        EQUAL(opened_many.calls, opened_few.calls);
        /* an empty record may search for the ends of its neighbours, by bisection */
        CHECK(many.bytes_read < 4 * few.bytes_read);
        CHECK(many.calls < 4 * few.calls);
    }
}

#ifdef __linux__
/* Kilobytes of this process in memory. */
static long resident(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%*s %ld", &pages) == 1);
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}
#endif

static void a_sparse_file_of_many_records_is_read(void)
{
    const uint64_t many = 100000000;
    static const char *const names[] = {"sparse.bag", "sparse.bagz"};
    for (int k = 0; k < 2; k++) {
        const char *path = in_tmp(names[k]);
        save(path, "", 0);
        if (truncate(path, (off_t)(many * 8)) != 0) {
            printf("skipped: no room for a sparse file\n");
            return;
        }
#ifdef __linux__
        long before = resident();
#endif
        holdall_bag *bag = open_bag(path, NULL);
        EQUAL(holdall_bag_record_count(bag), many);
        size_t n = 9;
        OK(holdall_bag_read(bag, many - 1, NULL, 0, &n, &err));
        EQUAL(n, 0);
        holdall_records *batch;
        OK(holdall_bag_read_range(bag, many - 10, 10, &batch, &err));
        holdall_records_free(batch);
#ifdef __linux__
        if (!slow())
            CHECK(resident() - before < 1024);
#endif
        holdall_bag_close(bag);

        /* in memory they take 8 bytes each, if the limit allows it */
        GIVES(HOLDALL_E_LIMIT, try_open(path,
                                        WITH(HOLDALL_OPT_BAG_LIMITS_CACHE, 1,
                                             HOLDALL_OPT_MEMORY_LIMIT, 8 * 100000000 - 1),
                                        &bag));
        GIVES(HOLDALL_E_LIMIT,
              try_open(path,
                       WITH(HOLDALL_OPT_BAG_LIMITS_CACHE, 1, HOLDALL_OPT_MEMORY_LIMIT, 1 << 20),
                       &bag));
        /* batches do not take more either */
        bag = open_bag(path, WITH(HOLDALL_OPT_MEMORY_LIMIT, 1 << 20));
        GIVES(HOLDALL_E_LIMIT, holdall_bag_read_range(bag, 0, many, &batch, &err));
        holdall_bag *slice;
        OK(holdall_bag_slice(bag, many - 1, many, -1, &slice, &err));
        GIVES(HOLDALL_E_LIMIT, holdall_bag_read_range(slice, 0, many, &batch, &err));
        holdall_bag_close(slice);
        OK(holdall_bag_read_range(bag, 0, 1000, &batch, &err));
        holdall_records_free(batch);
        holdall_bag_close(bag);
        remove(path);
    }
}

/* ---- the caller's limit -----------------------------------------------------------------------*/

static void batches_respect_the_limit(void)
{
    static uint8_t record[100000];
    memset(record, 'm', sizeof record);
    static const char *const names[] = {"limit.bag", "limit.bagz"};
    for (int k = 0; k < 2; k++) {
        now("%s", names[k]);
        holdall_bag_writer *w = open_writer(in_tmp(names[k]), HOLDALL_CREATE, NULL);
        for (int i = 0; i < 20; i++)
            OK(holdall_bag_writer_append(w, record, sizeof record, &err));
        OK(holdall_bag_writer_append(w, "small", 5, &err));
        OK(holdall_bag_writer_commit(w, &err));
        holdall_bag_writer_close(w);
        holdall_bag *bag = open_bag(in_tmp(names[k]), WITH(HOLDALL_OPT_MEMORY_LIMIT, 500000));
        holdall_records *batch;
        uint64_t numbers[20] = {0};
        uint8_t digest[64];
        size_t n;
        GIVES(HOLDALL_E_LIMIT, holdall_bag_read_range(bag, 0, 20, &batch, &err));
        CHECK(says("HOLDALL_OPT_MEMORY_LIMIT"));
        GIVES(HOLDALL_E_LIMIT, holdall_bag_read_indices(bag, numbers, 20, &batch, &err));
        OK(holdall_bag_read_range(bag, 0, 3, &batch, &err));
        holdall_records_free(batch);
        OK(holdall_bag_read_indices(bag, numbers, 3, &batch, &err));
        holdall_records_free(batch);
        /* calls that process all of it do so in parts */
        OK(holdall_bag_checksum(bag, HOLDALL_CHECKSUM_CRC32, digest, sizeof digest, &n, &err));
        uint64_t intact = 0;
        holdall_options *o = options_of(WITH(HOLDALL_OPT_MEMORY_LIMIT, 500000));
        OK(verify_counts(in_tmp(names[k]), o, NULL, NULL, &intact, NULL, NULL, &err));
        EQUAL(intact, 21);
        holdall_options_free(o);
        holdall_bag_close(bag);

        /* a record that is too large by itself is an error; the others can be read */
        bag = open_bag(in_tmp(names[k]), WITH(HOLDALL_OPT_MEMORY_LIMIT, 50000));
        GIVES(HOLDALL_E_LIMIT, holdall_bag_read_range(bag, 4, 1, &batch, &err));
        OK(holdall_bag_read_range(bag, 20, 1, &batch, &err));
        holdall_records_free(batch);
        holdall_bag_close(bag);
        bag = open_bag(in_tmp(names[k]), WITH(HOLDALL_OPT_MEMORY_LIMIT, 0));
        GIVES(HOLDALL_E_LIMIT, holdall_bag_read_range(bag, 20, 1, &batch, &err));
        holdall_bag_close(bag);
    }
}

/* ---- files that claim large sizes -------------------------------------------------------------*/

/* Reads record 1 with the default limit and with a small one; the other records are intact. */
static void read_bomb(const char *path)
{
    static const int64_t limits[] = {INT64_C(4) << 30, INT64_C(64) << 20, 1 << 20};
    static uint8_t got[1 << 16];
    for (int k = 0; k < 3; k++) {
        if (slow() && k == 0)
            continue;
        now("%s, limit %" PRId64, path, limits[k]);
        holdall_bag *bag = open_bag(path, WITH(HOLDALL_OPT_MEMORY_LIMIT, limits[k]));
        EQUAL(holdall_bag_record_count(bag), 3);
        holdall_records *batch;
        size_t n;
        preset_error();
        holdall_status s = holdall_bag_read_range(bag, 1, 1, &batch, &err);
        CHECK(s == HOLDALL_E_FORMAT || s == HOLDALL_E_LIMIT || s == HOLDALL_E_MEMORY);
        CHECK(k == 0 || s != HOLDALL_E_MEMORY);
        EQUAL(err.position, 1);
        s = holdall_bag_read(bag, 1, got, sizeof got, &n, &err);
        CHECK(s == HOLDALL_E_FORMAT || s == HOLDALL_E_LIMIT || s == HOLDALL_E_BUFFER);
        GIVES(s == HOLDALL_E_BUFFER ? HOLDALL_OK : s, holdall_bag_read(bag, 1, NULL, 0, &n, &err));
        CHECK(holdall_bag_read_range(bag, 0, 3, &batch, &err) < 0);
        for (uint64_t i = 0; i < 3; i += 2) {
            OK(holdall_bag_read(bag, i, got, sizeof got, &n, &err));
            OK(holdall_bag_read_range(bag, i, 1, &batch, &err));
            CHECK(holdall_records_offsets(batch)[1] == n &&
                  memcmp(holdall_records_data(batch), got, n) == 0);
            holdall_records_free(batch);
        }
        holdall_bag_close(bag);
    }
}

static void bombs_are_refused(void)
{
    const char *folder = fixtures("bagz-bad");
    if (folder == NULL)
        return;
    static const char *const names[] = {"bomb_claim.bagz", "bomb_claim_8g.bagz",
                                        "bomb_real_1g.bagz"};
    for (int k = 0; k < 3; k++) {
        char path[2048];
        snprintf(path, sizeof path, "%s/%s", folder, names[k]);
        EQUAL(within(200, read_bomb, path), 0);
    }
}

/* Large and intact, and possibly more than the available memory: E_MEMORY then, and the process
 * continues. */
static void read_too_much(const char *path)
{
    holdall_bag *bag;
    holdall_records *batch;
    preset_error();
    holdall_status s = holdall_bag_open(path, NULL, &bag, &err);
    if (s == HOLDALL_OK) {
        uint64_t n = holdall_bag_record_count(bag);
        s = slow() ? HOLDALL_OK : holdall_bag_read_range(bag, 0, n, &batch, &err);
        if (s == HOLDALL_OK && !slow())
            holdall_records_free(batch);
        if (s != HOLDALL_E_MEMORY) {
            GAVE(HOLDALL_OK, s);
            uint64_t numbers[5] = {n - 1, 0, n / 2, n - 1, 3};
            preset_error();
            s = slow() ? HOLDALL_OK : holdall_bag_read_indices(bag, numbers, 5, &batch, &err);
            if (s == HOLDALL_OK && !slow())
                holdall_records_free(batch);
        }
    }
    CHECK(s == HOLDALL_OK || s == HOLDALL_E_MEMORY);
    holdall_bag_close(bag);
    _exit(s == HOLDALL_OK ? 10 : 11);
}

static void a_failed_allocation_is_an_error(void)
{
    /* records of 30 MB of zeros in a sparse file, and many records without bytes */
    const char *path = in_tmp("much.bag");
    const uint64_t big = 30 << 20;
    for (int k = 0; k < 2; k++) {
        save(path, "", 0);
        if (truncate(path, (off_t)(k ? 8 * (INT64_C(1) << 20) : (int64_t)(11 * big))) != 0) {
            printf("skipped: no room for a sparse file\n");
            return;
        }
        if (k == 0) {
            /* ten empty records, then ten of `big` bytes each */
            FILE *f = fopen(path, "r+b");
            CHECK(f != NULL && fseek(f, (long)(10 * big), SEEK_SET) == 0);
            for (int i = 0; i < 20; i++) {
                uint64_t end = i < 10 ? 0 : big * (uint64_t)(i - 9);
                uint8_t word[8];
                for (int b = 0; b < 8; b++)
                    word[b] = (uint8_t)(end >> 8 * b);
                CHECK(fwrite(word, 1, 8, f) == 8);
            }
            CHECK(fclose(f) == 0);
            CHECK(truncate(path, (off_t)(10 * big + 160)) == 0);
        }
        int had = 0, refused = 0;
        for (uint64_t megabytes = 0; megabytes < 120; megabytes = megabytes * 2 + 1) {
            now("%s, %" PRIu64 " MB", k ? "many records" : "large records", megabytes);
            int end = within(megabytes, read_too_much, path);
            CHECK(end == 10 || end == 11);
            had += end == 10;
            refused += end == 11;
        }
        CHECK(slow() || refused > 0);
        CHECK(k == 0 || had > 0);
    }
    remove(path);
}

int main(void)
{
    /* no threads of the library: they would be reported as leaks in a child that inherits them */
    setenv("HOLDALL_THREADS", "1", 1);
    RUN(opening_does_not_depend_on_the_number_of_records);
    RUN(a_sparse_file_of_many_records_is_read);
    RUN(batches_respect_the_limit);
    RUN(bombs_are_refused);
    RUN(a_failed_allocation_is_an_error);
    return 0;
}
