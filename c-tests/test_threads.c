/* Threads: many threads read one bag, batches do not depend on the number of threads, handles move
 * between threads, and children read on after fork(). */
#include "child.h"

#include <pthread.h>

enum { THREADS = 8, MANY = 3000 };

static uint64_t many = MANY;

static const char *const names[] = {"threads.bag", "threads.bagz"};

typedef struct {
    const holdall_bag *bag, *slice;
    unsigned seed;
    int rounds;
} reader;

/* Reads at random positions, with every function; the slice has all records backwards. */
static void *read_on(void *arg)
{
    const reader *r = arg;
    uint64_t x = r->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (int round = 0; round < r->rounds; round++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        uint64_t i = x % many, n = 1 + (x >> 20) % 300;
        n = n < many - i ? n : many - i;
        switch ((x >> 40) % 6) {
        case 0: check_record(r->bag, i, i); break;
        case 1: check_range(r->bag, i, n, i); break;
        case 2: check_record(r->slice, i, many - 1 - i); break;
        case 3: {
            holdall_bag *own;
            OK(holdall_bag_slice(r->slice, many - 1 - i, n < many - i ? n : many - i, -1, &own,
                                 &err));
            check_record(own, n - 1, i + n - 1);
            holdall_bag_close(own);
            break;
        }
        default: {
            uint64_t numbers[50];
            for (int k = 0; k < 50; k++)
                numbers[k] = (i + (uint64_t)k * k * 7) % many;
            holdall_records *records;
            OK(holdall_bag_read_indices(r->bag, numbers, 50, &records, &err));
            for (size_t k = 0; k < 50; k++)
                check_in_batch(records, k, numbers[k]);
            holdall_records_free(records);
            size_t size;
            GIVES(HOLDALL_E_RANGE, holdall_bag_read(r->bag, many, NULL, 0, &size, &err));
            EQUAL(err.position, many);
        }
        }
    }
    return NULL;
}

static holdall_bag *reversed(const holdall_bag *bag)
{
    holdall_bag *slice;
    OK(holdall_bag_slice(bag, many - 1, many, -1, &slice, &err));
    return slice;
}

static void run_threads(const holdall_bag *bag, const holdall_bag *slice, int rounds)
{
    pthread_t threads[THREADS];
    reader readers[THREADS];
    for (unsigned t = 0; t < THREADS; t++) {
        readers[t] = (reader){bag, slice, t + 1, rounds};
        CHECK(pthread_create(&threads[t], NULL, read_on, &readers[t]) == 0);
    }
    for (int t = 0; t < THREADS; t++)
        CHECK(pthread_join(threads[t], NULL) == 0);
}

static void many_threads_read_one_bag(void)
{
    static const int64_t ios[] = {HOLDALL_IO_READ, HOLDALL_IO_MAP};
    for (int k = 0; k < 4; k++) {
        holdall_bag *bag = open_bag(in_tmp(names[k % 2]), WITH(HOLDALL_OPT_IO, ios[k / 2])),
                    *slice = reversed(bag);
        run_threads(bag, slice, slow() ? 5 : 60);
        holdall_bag_close(bag);
        holdall_bag_close(slice);
    }
}

/* A batch has the same bytes for any number of threads. */
static void batches_do_not_depend_on_threads(void)
{
    for (int k = 0; k < 2; k++) {
        holdall_records *first = NULL;
        for (int threads = 0; threads < 5; threads++) {
            now("%s, %d threads", names[k], threads);
            holdall_bag *bag = open_bag(in_tmp(names[k]), WITH(HOLDALL_OPT_THREADS, threads)),
                        *slice = reversed(bag);
            holdall_records *records;
            check_range(bag, 0, many, 0);
            OK(holdall_bag_read_range(slice, 0, many, &records, &err));
            if (first != NULL) {
                const uint64_t *a = holdall_records_offsets(first),
                               *b = holdall_records_offsets(records);
                CHECK(memcmp(a, b, ((size_t)many + 1) * sizeof *a) == 0);
                CHECK(memcmp(holdall_records_data(first), holdall_records_data(records),
                             (size_t)a[many]) == 0);
                holdall_records_free(records);
            } else {
                first = records;
            }
            holdall_bag_close(bag);
            holdall_bag_close(slice);
        }
        holdall_records_free(first);
    }
}

/* Several threads open one storage. */
static void *open_and_read(void *arg)
{
    holdall_storage *io = arg;
    for (int round = 0; round < (slow() ? 2 : 20); round++) {
        holdall_bag *bag;
        OK(bag_open_io(&io, 1, NULL, &bag, &err));
        check_range(bag, 0, 100, 0);
        check_record(bag, many - 1, many - 1);
        holdall_bag_close(bag);
    }
    return NULL;
}

static void many_threads_open_one_storage(void)
{
    size_t n;
    uint8_t *bytes = load(in_tmp(names[0]), &n);
    holdall_storage *io;
    OK(holdall_storage_from_memory(bytes, n, &io, &err));
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, open_and_read, io) == 0);
    for (int t = 0; t < THREADS; t++)
        CHECK(pthread_join(threads[t], NULL) == 0);
    holdall_storage_free(io);
    free(bytes);
}

/* Writers with one and with more threads write the same file. */
static void files_do_not_depend_on_threads(void)
{
    uint8_t *data = malloc((size_t)many * RECORD_MOST);
    uint64_t *offsets = malloc(((size_t)many + 1) * sizeof *offsets);
    CHECK(data != NULL && offsets != NULL);
    offsets[0] = 0;
    for (uint64_t i = 0; i < many; i++)
        offsets[i + 1] = offsets[i] + make_record(i, data + offsets[i]);
    uint8_t *first = NULL;
    size_t size = 0, size2 = 0;
    for (int threads = 1; threads < 4; threads++) {
        holdall_bag_writer *w = open_writer(in_tmp("written.bagz"), HOLDALL_REPLACE,
                                            WITH(HOLDALL_OPT_THREADS, threads));
        OK(holdall_bag_writer_append_many(w, data, offsets, (size_t)many, &err));
        OK(holdall_bag_writer_commit(w, &err));
        holdall_bag_writer_close(w);
        uint8_t *bytes = load(in_tmp("written.bagz"), &size2);
        if (first == NULL)
            first = bytes, size = size2;
        else {
            CHECK(size == size2 && memcmp(first, bytes, size) == 0);
            free(bytes);
        }
    }
    free(first);
    free(data);
    free(offsets);
}

/* A writer may be used by any thread, one at a time. */
static void *append_and_close(void *arg)
{
    holdall_bag_writer *w = arg;
    append_records(w, 10, 10);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    return NULL;
}

static void handles_move_between_threads(void)
{
    pthread_t thread[4];
    char path[4][1024];
    for (int t = 0; t < 4; t++) {
        snprintf(path[t], sizeof path[t], "%s%d.bagz", in_tmp("moved"), t);
        holdall_bag_writer *w = open_writer(path[t], HOLDALL_CREATE, NULL);
        append_records(w, 0, 10);
        CHECK(pthread_create(&thread[t], NULL, append_and_close, w) == 0);
    }
    for (int t = 0; t < 4; t++) {
        CHECK(pthread_join(thread[t], NULL) == 0);
        check_bag(path[t], NULL, 20);
    }
    TIDY();
}

static void read_in_child(const void *ctx)
{
    const reader *r = ctx;
    check_range(r->bag, 0, many, 0);
    read_on((void *)r);
}

/* A child reads on through an inherited handle. */
static void child_reads(const holdall_bag *bag, const holdall_bag *slice)
{
    in_child(read_in_child, &(reader){bag, slice, 99, 20});
}

static void children_read_on_after_fork(void)
{
    for (int k = 0; k < 2; k++) {
        holdall_bag *bag = open_bag(in_tmp(names[k]), NULL), *slice = reversed(bag);
        now("%s, before", names[k]);
        child_reads(bag, slice);
        /* the parent has its threads now, and the child does not */
        check_range(bag, 0, many, 0);
        now("%s, after the threads were used", names[k]);
        child_reads(bag, slice);
        check_range(bag, 0, many, 0);

        /* while other threads read */
        now("%s, while others read", names[k]);
        pthread_t threads[3];
        reader readers[3];
        for (unsigned t = 0; t < 3; t++) {
            readers[t] = (reader){bag, slice, t + 50, slow() ? 4 : 100};
            CHECK(pthread_create(&threads[t], NULL, read_on, &readers[t]) == 0);
        }
        for (int n = 0; n < (slow() ? 1 : 5); n++)
            child_reads(bag, slice);
        for (int t = 0; t < 3; t++)
            CHECK(pthread_join(threads[t], NULL) == 0);
        holdall_bag_close(bag);
        holdall_bag_close(slice);
    }
}

int main(void)
{
    /* use threads even on a machine with one processor; read once, at first use */
    setenv("HOLDALL_THREADS", "4", 1);
    many = slow() ? 700 : MANY;
    for (int k = 0; k < 2; k++)
        write_bag(in_tmp(names[k]), HOLDALL_CREATE, NULL, many);
    /* first, before any thread is started */
    RUN(children_read_on_after_fork);
    RUN(many_threads_read_one_bag);
    RUN(many_threads_open_one_storage);
    RUN(batches_do_not_depend_on_threads);
    RUN(files_do_not_depend_on_threads);
    RUN(handles_move_between_threads);
    return 0;
}
