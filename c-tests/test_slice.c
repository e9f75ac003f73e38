/* Slices: a bag of some of the records, by steps of either sign, and slices of slices. */
#include "check.h"

enum { ALL = 40 };

/* The expected slices, determined by hand: record numbers. */
typedef struct {
    int64_t numbers[ALL];
    uint64_t n;
} list;

static list whole(void)
{
    list l = {.n = ALL};
    for (int64_t i = 0; i < ALL; i++)
        l.numbers[i] = i;
    return l;
}

/* A model of holdall_bag_slice(): false if the slice exceeds the bag. */
static bool cut(const list *from, uint64_t start, int64_t step, uint64_t n, list *to)
{
    to->n = n;
    for (uint64_t k = 0; k < n; k++) {
        int64_t at = (int64_t)start + (int64_t)k * step;
        if (at < 0 || at >= (int64_t)from->n)
            return false;
        to->numbers[k] = from->numbers[at];
    }
    return true;
}

static void check_slice(const holdall_bag *bag, const list *want)
{
    EQUAL(holdall_bag_record_count(bag), want->n);
    holdall_records *records;
    OK(holdall_bag_read_range(bag, 0, want->n, &records, &err));
    EQUAL(holdall_records_count(records), want->n);
    uint64_t backwards[ALL];
    for (uint64_t k = 0; k < want->n; k++) {
        check_in_batch(records, (size_t)k, (uint64_t)want->numbers[k]);
        backwards[k] = want->n - 1 - k;
    }
    holdall_records_free(records);
    OK(holdall_bag_read_indices(bag, backwards, (size_t)want->n, &records, &err));
    for (uint64_t k = 0; k < want->n; k++)
        check_in_batch(records, (size_t)k, (uint64_t)want->numbers[want->n - 1 - k]);
    holdall_records_free(records);
    if (want->n > 0) {
        check_record(bag, 0, (uint64_t)want->numbers[0]);
        check_record(bag, want->n - 1, (uint64_t)want->numbers[want->n - 1]);
    }
    /* never a record of the bag that is outside the slice */
    size_t n;
    uint64_t beyond = want->n;
    GIVES(HOLDALL_E_RANGE, holdall_bag_read(bag, beyond, NULL, 0, &n, &err));
    EQUAL(err.position, beyond);
    GIVES(HOLDALL_E_RANGE, holdall_bag_read_range(bag, 0, want->n + 1, &records, &err));
    GIVES(HOLDALL_E_RANGE, holdall_bag_read_range(bag, UINT64_MAX - 1, 3, &records, &err));
    GIVES(HOLDALL_E_RANGE, holdall_bag_read_indices(bag, &beyond, 1, &records, &err));
}

static const uint64_t starts[] = {0, 1, 5, 38, 39, 40, 41};
static const int64_t steps[] = {1, -1, 2, -2, 3, -7, 39, -39, 40};
static const uint64_t sizes[] = {0, 1, 2, 3, 6, 14, 20, 39, 40, 41};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static void try_slices(const holdall_bag *bag, const list *from, int depth)
{
    for (size_t a = 0; a < COUNT(starts); a += slow() ? 2 : 1)
        for (size_t b = 0; b < COUNT(steps); b += depth ? 2 : 1)
            for (size_t c = 0; c < COUNT(sizes); c++) {
                list want;
                holdall_bag *slice;
                now("depth %d: %" PRIu64 ", step %" PRId64 ", %" PRIu64 " of %" PRIu64, depth,
                    starts[a], steps[b], sizes[c], from->n);
                if (!cut(from, starts[a], steps[b], sizes[c], &want)) {
                    GIVES(HOLDALL_E_RANGE,
                          holdall_bag_slice(bag, starts[a], sizes[c], steps[b], &slice, &err));
                    CHECK(slice == NULL);
                    continue;
                }
                OK(holdall_bag_slice(bag, starts[a], sizes[c], steps[b], &slice, &err));
                check_slice(slice, &want);
                if (depth == 0 && c % 3 == 2)
                    try_slices(slice, &want, 1);
                holdall_bag_close(slice);
            }
}

static void slices_follow_the_model(void)
{
    static const char *const names[] = {"slice.bag", "slice.bagz"};
    list all = whole();
    for (int k = 0; k < 2; k++) {
        write_bag(in_tmp(names[k]), HOLDALL_CREATE, NULL, ALL);
        holdall_bag *bag = open_bag(in_tmp(names[k]), NULL);
        if (!(slow() && k == 1))
            try_slices(bag, &all, 0);
        holdall_bag_close(bag);
    }
}

static void invalid_numbers_are_refused(void)
{
    holdall_bag *bag = open_bag(in_tmp("slice.bag"), NULL), *slice, *slice2;
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_slice(bag, 0, 1, 0, &slice, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_slice(bag, 0, 0, 0, &slice, &err));
    static const int64_t far[] = {INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1};
    for (size_t i = 0; i < COUNT(far); i++) {
        GIVES(HOLDALL_E_RANGE, holdall_bag_slice(bag, 0, 2, far[i], &slice, &err));
        GIVES(HOLDALL_E_RANGE, holdall_bag_slice(bag, 39, 2, far[i], &slice, &err));
        GIVES(HOLDALL_E_RANGE, holdall_bag_slice(bag, 0, UINT64_MAX, far[i], &slice, &err));
        GIVES(HOLDALL_E_RANGE, holdall_bag_slice(bag, UINT64_MAX, 1, far[i], &slice, &err));
        /* one record: the step is not used */
        OK(holdall_bag_slice(bag, 17, 1, far[i], &slice, &err));
        check_record(slice, 0, 17);
        OK(holdall_bag_slice(slice, 0, 1, far[i], &slice2, &err));
        check_record(slice2, 0, 17);
        holdall_bag_close(slice);
        holdall_bag_close(slice2);
    }
    GIVES(HOLDALL_E_RANGE, holdall_bag_slice(bag, 0, UINT64_MAX, 1, &slice, &err));
    GIVES(HOLDALL_E_RANGE, holdall_bag_slice(bag, 1, UINT64_MAX, -1, &slice, &err));
    GIVES(HOLDALL_E_RANGE, holdall_bag_slice(bag, UINT64_MAX, 2, 1, &slice, &err));
    GIVES(HOLDALL_E_RANGE, holdall_bag_slice(bag, (uint64_t)1 << 63, 1, 1, &slice, &err));
    holdall_bag_close(bag);
}

/* A slice reports the same files as the complete bag, and computes checksums of its own records. */
static void a_slice_is_a_bag(void)
{
    holdall_bag *bag = open_bag(in_tmp("slice.bagz"), NULL), *slice;
    OK(holdall_bag_slice(bag, 30, 10, -3, &slice, &err));
    EQUAL(bag_info(slice).codec, bag_info(bag).codec);
    EQUAL(bag_info(slice).checksum, bag_info(bag).checksum);
    EQUAL(bag_info(slice).limits, bag_info(bag).limits);
    EQUAL(bag_info(slice).stored_bytes, bag_info(bag).stored_bytes);
    EQUAL(bag_info(slice).stored_bytes, file_size(in_tmp("slice.bagz")));
    EQUAL(holdall_bag_shard_count(slice), 1);

    holdall_bag_writer *w = open_writer(in_tmp("same.bag"), HOLDALL_CREATE, NULL);
    for (int k = 0; k < 10; k++)
        append_records(w, (uint64_t)(30 - 3 * k), 1);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    holdall_bag *same = open_bag(in_tmp("same.bag"), NULL);
    uint8_t a[64], b[64];
    size_t n = 0, m = 0;
    OK(holdall_bag_checksum(slice, HOLDALL_CHECKSUM_SHA1, a, sizeof a, &n, &err));
    OK(holdall_bag_checksum(same, HOLDALL_CHECKSUM_SHA1, b, sizeof b, &m, &err));
    CHECK(n == m && memcmp(a, b, n) == 0);
    holdall_bag_close(same);
    holdall_bag_close(slice);
    holdall_bag_close(bag);
}

int main(void)
{
    RUN(slices_follow_the_model);
    RUN(invalid_numbers_are_refused);
    RUN(a_slice_is_a_bag);
    return 0;
}
