/* Streams: requested orders, errors at their records, many consumers, closing at any time, fork()
 * and exit(); shuffled epochs. */
#include "child.h"

#include <pthread.h>

static uint64_t many = 3000;

static const char *const names[] = {"stream.bag", "stream.bagz"};

/* ---- index functions */

typedef struct {
    uint64_t next, end; /* end 0: none */
    uint64_t step;
    int fail_at;        /* the number of its call that fails, from 1 on */
    int calls;
    pthread_t thread;   /* the thread on which it must be called, or any */
    bool one_thread;
} counter;

static int count_on(void *ctx, uint64_t *index)
{
    counter *c = ctx;
    CHECK(!c->one_thread || pthread_equal(c->thread, pthread_self()));
    if (++c->calls == c->fail_at)
        return -7;
    if (c->end != 0 && c->next >= c->end)
        return 1;
    *index = c->next % many;
    c->next += c->step;
    return 0;
}

static holdall_bag_stream *open_stream(const holdall_bag *bag, holdall_next_index_fn next,
                                       void *ctx, const int64_t *pairs)
{
    holdall_bag_stream *stream;
    holdall_options *options = options_of(pairs);
    OK(holdall_bag_stream_open(bag, next, ctx, options, &stream, &err));
    holdall_options_free(options);
    return stream;
}

static void check_bytes(const void *record, size_t n, uint64_t number)
{
    uint8_t want[RECORD_MOST];
    EQUAL(n, make_record(number, want));
    CHECK(record != NULL && memcmp(record, want, n) == 0);
}

/* Takes n records, which must be those from `first` on, by `step`. */
static void check_next(holdall_bag_stream *stream, uint64_t first, uint64_t step, uint64_t n)
{
    for (uint64_t k = 0; k < n; k++) {
        const void *record;
        size_t size;
        OK(holdall_bag_stream_next(stream, &record, &size, &err));
        check_bytes(record, size, (first + k * step) % many);
        EQUAL(holdall_bag_stream_number(stream), (first + k * step) % many);
    }
}

static void check_end(holdall_bag_stream *stream)
{
    const void *record;
    size_t n;
    holdall_records *records;
    for (int i = 0; i < 2; i++) {
        GIVES(HOLDALL_END, holdall_bag_stream_next(stream, &record, &n, &err));
        GIVES(HOLDALL_END, holdall_bag_stream_take(stream, 5, &records, &err));
        CHECK(records == NULL);
    }
}

/* ---- one consumer */

static void records_are_returned_in_order(void)
{
    for (int k = 0; k < 2; k++)
        for (int io = 0; io < 2; io++)
            for (int threads = 1; threads < 4; threads++) {
                now("%s, io %d, %d threads", names[k], io, threads);
                holdall_bag *bag = open_bag(
                    in_tmp(names[k]), WITH(HOLDALL_OPT_IO, IO(io), HOLDALL_OPT_THREADS, threads));
                holdall_bag_stream *all = open_stream(bag, NULL, NULL, NULL);
                counter c = {
                    .end = many * 3, .step = 7, .thread = pthread_self(), .one_thread = true};
                holdall_bag_stream *some = open_stream(bag, count_on, &c, NULL);
                holdall_bag_close(bag); /* the caller still owns it */
                EQUAL(holdall_bag_stream_number(all), UINT64_MAX);
                check_next(all, 0, 1, many);
                check_end(all);
                check_next(some, 0, 7, (many * 3 + 6) / 7);
                check_end(some);
                EQUAL(holdall_bag_stream_damaged_count(some), 0);
                holdall_bag_stream_close(all);
                holdall_bag_stream_close(some);
            }
}

static void batches_belong_to_the_caller(void)
{
    holdall_bag *bag = open_bag(in_tmp(names[1]), NULL);
    for (size_t n = 0; n < 400; n = n * 3 + 1) {
        now("%zu at once", n);
        counter c = {.end = many * 2, .step = 3};
        holdall_bag_stream *stream = open_stream(bag, count_on, &c, NULL);
        holdall_records *records, *retained = NULL;
        uint64_t at = 0, all = (many * 2 + 2) / 3;
        while (at < all) {
            OK(holdall_bag_stream_take(stream, n, &records, &err));
            size_t got = holdall_records_count(records);
            CHECK(got > 0 && (n == 0 || got == (n < all - at ? n : all - at)));
            for (size_t k = 0; k < got; k++) {
                EQUAL(holdall_records_numbers(records)[k], (at + k) * 3 % many);
                check_in_batch(records, k, (at + k) * 3 % many);
            }
            at += got;
            if (retained == NULL)
                retained = records;
            else
                holdall_records_free(records);
        }
        check_end(stream);
        holdall_bag_stream_close(stream);
        check_in_batch(retained, 0, 0);
        holdall_records_free(retained);
    }
    holdall_records *records;
    OK(holdall_bag_read_range(bag, 0, 1, &records, &err));
    CHECK(holdall_records_numbers(records) == NULL);
    holdall_records_free(records);
    holdall_bag_close(bag);
}

static void infinite_functions_are_called_a_little_ahead(void)
{
    holdall_bag *bag = open_bag(in_tmp(names[1]), NULL);
    for (int ahead = 0; ahead < 100; ahead = ahead * 4 + 1) {
        counter c = {.step = 13};
        holdall_bag_stream *stream =
            open_stream(bag, count_on, &c, WITH(HOLDALL_OPT_BAG_READ_AHEAD, ahead));
        for (uint64_t k = 0; k < 300; k++) {
            check_next(stream, k * 13, 13, 1);
            CHECK((uint64_t)c.calls - (k + 1) <= (uint64_t)ahead);
        }
        holdall_bag_stream_close(stream);
    }
    holdall_bag_close(bag);
}

/* ---- failures */

static int beyond(void *ctx, uint64_t *index)
{
    *index = ++*(uint64_t *)ctx == 5 ? many + 4 : 2;
    return 0;
}

static int two(void *ctx, uint64_t *index)
{
    (void)ctx;
    *index = 0;
    return -2;
}

static void failures_are_reported_at_their_records(void)
{
    const void *record;
    size_t n;
    holdall_bag *bag = open_bag(in_tmp(names[1]), NULL);
    counter c = {.end = 20, .step = 1, .fail_at = 11};
    holdall_bag_stream *stream = open_stream(bag, count_on, &c, NULL);
    check_next(stream, 0, 1, 10);
    GIVES(HOLDALL_E_CALLBACK, holdall_bag_stream_next(stream, &record, &n, &err));
    CHECK(says("-7") && says("number 10 of the stream") && err.position == -1);
    check_next(stream, 10, 1, 10);
    check_end(stream);
    holdall_bag_stream_close(stream);

    uint64_t calls = 0;
    stream = open_stream(bag, beyond, &calls, NULL);
    check_next(stream, 2, 0, 4);
    GIVES(HOLDALL_E_RANGE, holdall_bag_stream_next(stream, &record, &n, &err));
    EQUAL(err.position, many + 4);
    check_next(stream, 2, 0, 10);
    holdall_bag_stream_close(stream);

    stream = open_stream(bag, two, NULL, NULL);
    for (int i = 0; i < 3; i++)
        GIVES(HOLDALL_E_CALLBACK, holdall_bag_stream_next(stream, &record, &n, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_stream_next(stream, NULL, &n, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_stream_next(stream, &record, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_stream_next(NULL, &record, &n, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_stream_take(stream, 1, NULL, &err));
    holdall_bag_stream_close(stream);
    holdall_bag_stream_close(NULL);

    holdall_options *options = options_of(WITH(HOLDALL_OPT_CHUNK_BYTES, 100));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_stream_open(bag, NULL, NULL, options, &stream, &err));
    CHECK(stream == NULL && says("HOLDALL_OPT_CHUNK_BYTES"));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_stream_open(NULL, NULL, NULL, NULL, &stream, &err));
    holdall_options_free(options);
    holdall_bag_close(bag);
}

/* Records 40 and 41 of a copy are corrupt: all others are returned; these two are errors, or
 * HOLDALL_DAMAGED and empty. */
static void corrupt_records_are_reported_or_skipped(void)
{
    size_t size;
    uint8_t *bytes = load(in_tmp(names[1]), &size);
    uint64_t end, from = 0, to = 0;
    memcpy(&end, bytes + size - 8, 8);
    for (int i = 40; i < 42; i++) {
        memcpy(&from, bytes + end + 8 * (i - 1), 8);
        memcpy(&to, bytes + end + 8 * i, 8);
        bytes[(from + to) / 2] ^= 0x55;
    }
    save(in_tmp("torn.bagz"), bytes, size);
    free(bytes);
    holdall_bag *bag = open_bag(in_tmp("torn.bagz"), NULL);
    holdall_bag_stream *stream = open_stream(bag, NULL, NULL, NULL);
    const void *record;
    size_t n;
    check_next(stream, 0, 1, 40);
    for (int i = 40; i < 42; i++) {
        CHECK(holdall_bag_stream_next(stream, &record, &n, &err) < 0);
        EQUAL(err.position, i);
    }
    check_next(stream, 42, 1, many - 42);
    check_end(stream);
    holdall_bag_stream_close(stream);

    stream = open_stream(bag, NULL, NULL, WITH(HOLDALL_OPT_SKIP_DAMAGED, 1));
    check_next(stream, 0, 1, 40);
    for (uint64_t i = 0; i < 2; i++) {
        EQUAL(holdall_bag_stream_damaged_count(stream), i);
        GIVES(HOLDALL_DAMAGED, holdall_bag_stream_next(stream, &record, &n, &err));
        CHECK(n == 0 && record != NULL);
    }
    EQUAL(holdall_bag_stream_damaged_count(stream), 2);
    check_next(stream, 42, 1, many - 42);
    holdall_bag_stream_close(stream);
    holdall_bag_close(bag);
}

static holdall_bag_stream *inside;
static int tried;

static int meddle(void *ctx, uint64_t *index)
{
    const void *record;
    size_t n;
    holdall_records *records;
    (void)ctx;
    GIVES(HOLDALL_E_STATE, holdall_bag_stream_next(inside, &record, &n, &err));
    GIVES(HOLDALL_E_STATE, holdall_bag_stream_take(inside, 1, &records, &err));
    holdall_bag_stream_close(inside);
    tried++;
    *index = 4;
    return 0;
}

static void calls_from_its_own_function_are_refused(void)
{
    holdall_bag *bag = open_bag(in_tmp(names[0]), NULL);
    inside = open_stream(bag, meddle, NULL, WITH(HOLDALL_OPT_BAG_READ_AHEAD, 3));
    check_next(inside, 4, 0, 10);
    CHECK(tried >= 10);
    holdall_bag_stream_close(inside);
    holdall_bag_close(bag);
}

/* ---- many consumers */

typedef struct {
    const holdall_bag_stream *stream;
    uint32_t *seen;
    size_t n;
    uint64_t taken;
} taker;

static void *take_on(void *arg)
{
    taker *t = arg;
    holdall_records *records;
    for (;;) {
        holdall_status status = holdall_bag_stream_take(t->stream, t->n, &records, &err);
        if (status == HOLDALL_END)
            return NULL;
        GAVE(HOLDALL_OK, status);
        for (size_t k = 0; k < holdall_records_count(records); k++) {
            uint64_t i = holdall_records_numbers(records)[k];
            check_in_batch(records, k, i);
            __atomic_add_fetch(&t->seen[i], 1, __ATOMIC_RELAXED);
        }
        t->taken += holdall_records_count(records);
        holdall_records_free(records);
    }
}

static void many_threads_take_from_one_stream(void)
{
    enum { THREADS = 8, ROUNDS = 3 };
    static const size_t sizes[] = {1, 10, 0};
    for (int k = 0; k < 2; k++)
        for (int s = 0; s < 3; s++) {
            now("%s, %zu at once", names[k], sizes[s]);
            holdall_bag *bag = open_bag(in_tmp(names[k]), NULL);
            counter c = {.end = many * ROUNDS, .step = 1};
            holdall_bag_stream *stream = open_stream(bag, count_on, &c, NULL);
            holdall_bag_close(bag);
            uint32_t *seen = calloc((size_t)many, sizeof *seen);
            taker takers[THREADS];
            pthread_t threads[THREADS];
            for (int t = 0; t < THREADS; t++) {
                takers[t] = (taker){stream, seen, sizes[s], 0};
                CHECK(pthread_create(&threads[t], NULL, take_on, &takers[t]) == 0);
            }
            for (int t = 0; t < THREADS; t++)
                CHECK(pthread_join(threads[t], NULL) == 0);
            for (uint64_t i = 0; i < many; i++)
                EQUAL(seen[i], ROUNDS);
            holdall_bag_stream_close(stream);
            free(seen);
        }
}

/* ---- closing, forking, ending */

static long resident(void)
{
    long pages = 0, skipped;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%ld %ld", &skipped, &pages) == 2);
    fclose(f);
    return pages;
}

static void close_leaves_no_threads_or_memory(void)
{
    int tasks = 0, files = 0;
    long pages = 0;
    uint64_t x = 88172645463325252u;
    const int rounds = slow() ? 60 : 1000;
    for (int round = 0; round < rounds; round++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        holdall_bag *bag =
            open_bag(in_tmp(names[x >> 8 & 1]), WITH(HOLDALL_OPT_IO, IO(x >> 9 & 1)));
        counter c = {.next = x % many, .step = 11};
        holdall_bag_stream *stream = open_stream(bag, x >> 10 & 1 ? count_on : NULL, &c, NULL);
        if (x >> 11 & 1)
            holdall_bag_close(bag);
        const void *record;
        size_t n;
        for (uint64_t k = 0; k < (x >> 12) % 500; k++)
            OK(holdall_bag_stream_next(stream, &record, &n, &err));
        holdall_bag_stream_close(stream);
        if (!(x >> 11 & 1))
            holdall_bag_close(bag);
        if (round == rounds / 10) /* the pool and its buffers exist */
            tasks = entries("/proc/self/task", ""), files = entries("/proc/self/fd", ""),
            pages = resident();
    }
    EQUAL(entries("/proc/self/task", ""), tasks);
    EQUAL(entries("/proc/self/fd", ""), files);
    if (!slow())
        CHECK(resident() - pages < 4096);
}

typedef struct {
    holdall_bag_stream *stream;
    uint64_t given;
} half;

static void goes_on(const void *ctx)
{
    const half *h = ctx;
    check_next(h->stream, h->given, 1, many - h->given);
    check_end(h->stream);
    holdall_bag_stream_close(h->stream);
}

/* Reads in progress at a fork() do not continue in the child, which must not wait for them. */
static void a_child_continues_by_itself(void)
{
    holdall_bag *bag = open_bag(in_tmp(names[1]), NULL);
    for (uint64_t given = 0; given < (slow() ? 3 : 60); given++) {
        half h = {open_stream(bag, NULL, NULL, NULL), given * 37 % many};
        check_next(h.stream, 0, 1, h.given);
        in_child(goes_on, &h);
        goes_on(&h);
    }
    holdall_bag_close(bag);
}

/* A process may exit with running streams: by returning, from any thread. */
static void *exit_here(void *arg)
{
    (void)arg;
    exit(0);
}

static void a_process_may_end_with_a_live_stream(void)
{
    if (slow())
        return; /* the memory of a running stream is not a leak, but is reported as one */
    for (int round = 0; round < 40; round++) {
        pid_t child = forked();
        if (child == 0) {
            alarm(HANGS);
            static counter c = {.step = 3};
            holdall_bag *bag =
                open_bag(in_tmp(names[round & 1]), WITH(HOLDALL_OPT_IO, IO(round >> 1 & 1)));
            holdall_bag_stream *stream = open_stream(bag, round & 4 ? count_on : NULL, &c, NULL);
            check_next(stream, 0, round & 4 ? 3 : 1, (uint64_t)round * 5);
            if (round % 5 == 4) {
                pthread_t thread;
                CHECK(pthread_create(&thread, NULL, exit_here, NULL) == 0);
                for (;;)
                    pause();
            }
            exit(0);
        }
        check_child(child, 0);
    }
}

/* ---- epochs */

static void ranks_share_an_epoch(void)
{
    enum { N = 1000, WORLD = 7 };
    holdall_epoch *epoch;
    uint64_t index, order[N];
    for (uint64_t number = 0; number < 3; number++) {
        int seen[N] = {0};
        for (uint32_t rank = 0; rank < WORLD; rank++) {
            OK(holdall_epoch_new(N, 42, number, rank, WORLD, &epoch, &err));
            uint64_t size = holdall_epoch_count(epoch);
            EQUAL(size, N / WORLD + (rank < N % WORLD));
            for (uint64_t k = 0; k < size; k++) {
                CHECK(holdall_epoch_next(epoch, &index) == 0 && index < N);
                seen[index]++;
                order[k] = index;
            }
            CHECK(holdall_epoch_next(epoch, &index) == HOLDALL_END &&
                  holdall_epoch_next(epoch, &index) == HOLDALL_END);
            OK(holdall_epoch_seek(epoch, number, 50, &err));
            CHECK(holdall_epoch_next(epoch, &index) == 0 && index == order[50]);
            OK(holdall_epoch_seek(epoch, number + 1, size, &err));
            CHECK(holdall_epoch_next(epoch, &index) == HOLDALL_END);
            GIVES(HOLDALL_E_RANGE, holdall_epoch_seek(epoch, number, size + 1, &err));
            holdall_epoch_free(epoch);
        }
        for (int i = 0; i < N; i++)
            EQUAL(seen[i], 1);
    }
    GIVES(HOLDALL_E_ARGUMENT, holdall_epoch_new(N, 1, 1, 2, 2, &epoch, &err));
    CHECK(epoch == NULL && holdall_epoch_next(NULL, &index) == HOLDALL_E_ARGUMENT &&
          holdall_epoch_count(NULL) == 0);
    holdall_epoch_free(NULL);
}

/* A stream over an epoch that stops and is continued by another one. */
static void training_continues_where_it_stopped(void)
{
    holdall_bag *bag = open_bag(in_tmp(names[1]), NULL);
    holdall_epoch *epoch;
    OK(holdall_epoch_new(many, 3, 9, 0, 1, &epoch, &err));
    uint64_t *order = malloc((size_t)many * sizeof *order);
    for (uint64_t k = 0; k < many; k++)
        CHECK(holdall_epoch_next(epoch, &order[k]) == 0);
    for (uint64_t done = 0; done < many; done += many / 3 + 1) {
        OK(holdall_epoch_seek(epoch, 9, done, &err));
        holdall_bag_stream *stream = open_stream(bag, holdall_epoch_next, epoch, NULL);
        const void *record;
        size_t n;
        for (uint64_t k = done; k < many && k < done + many / 3 + 1; k++) {
            OK(holdall_bag_stream_next(stream, &record, &n, &err));
            check_bytes(record, n, order[k]);
        }
        holdall_bag_stream_close(stream);
    }
    holdall_epoch_free(epoch);
    holdall_bag_close(bag);
    free(order);
}

/* ---- batches into memory of the caller */

typedef struct {
    uint8_t *bytes;
    size_t n;
    int calls;
    bool refuse;
} room;

static void *make_room(void *ctx, size_t n)
{
    room *r = ctx;
    r->calls++;
    r->n = n;
    r->bytes = n == 0 || r->refuse ? NULL : malloc(n);
    return r->bytes;
}

static void check_room(room *r, const uint64_t *offsets, const uint64_t *numbers, size_t n)
{
    EQUAL(r->calls, 1);
    EQUAL(offsets[0], 0);
    EQUAL(offsets[n], r->n);
    for (size_t k = 0; k < n; k++)
        if (offsets[k + 1] > offsets[k] || numbers[k] % 5 != 3)
            check_bytes(r->bytes + offsets[k], (size_t)(offsets[k + 1] - offsets[k]), numbers[k]);
    free(r->bytes);
}

static void batches_are_read_into_memory_of_the_caller(void)
{
    uint64_t numbers[500], offsets[501];
    for (int k = 0; k < 2; k++)
        for (int io = 0; io < 2; io++) {
            holdall_bag *bag = open_bag(in_tmp(names[k]), WITH(HOLDALL_OPT_IO, IO(io)));
            for (size_t n = 0; n < 500; n = n * 2 + 1) {
                now("%s, io %d, %zu records", names[k], io, n);
                room r = {0};
                for (size_t i = 0; i < n; i++)
                    numbers[i] = 20 + i;
                OK(holdall_bag_read_range_to(bag, 20, n, make_room, &r, offsets, &err));
                check_room(&r, offsets, numbers, n);
                /* many of them twice or more, adjacent ones, distant ones */
                for (size_t i = 0; i < n; i++)
                    numbers[i] = i % 3 ? i * i % 97 : i * 7919 % many;
                r = (room){0};
                OK(holdall_bag_read_indices_to(bag, numbers, n, make_room, &r, offsets, &err));
                check_room(&r, offsets, numbers, n);
            }
            room r = {.refuse = true};
            GIVES(HOLDALL_E_CALLBACK,
                  holdall_bag_read_range_to(bag, 0, 10, make_room, &r, offsets, &err));
            EQUAL(r.calls, 1);
            GIVES(HOLDALL_E_RANGE,
                  holdall_bag_read_range_to(bag, many, 1, make_room, &r, offsets, &err));
            GIVES(HOLDALL_E_ARGUMENT,
                  holdall_bag_read_range_to(bag, 0, 1, NULL, &r, offsets, &err));
            GIVES(HOLDALL_E_ARGUMENT,
                  holdall_bag_read_range_to(bag, 0, 1, make_room, &r, NULL, &err));
            GIVES(HOLDALL_E_ARGUMENT,
                  holdall_bag_read_indices_to(bag, NULL, 1, make_room, &r, offsets, &err));
            EQUAL(r.calls, 1);
            holdall_bag_close(bag);
        }
    holdall_bag *bag = open_bag(in_tmp("torn.bagz"), WITH(HOLDALL_OPT_SKIP_DAMAGED, 1));
    room r = {0};
    GIVES(HOLDALL_DAMAGED, holdall_bag_read_range_to(bag, 39, 4, make_room, &r, offsets, &err));
    CHECK(offsets[1] == offsets[2] && offsets[2] == offsets[3] && offsets[4] < r.n);
    check_bytes(r.bytes + offsets[3], (size_t)(offsets[4] - offsets[3]), 42);
    free(r.bytes);
    holdall_bag_close(bag);
}

int main(void)
{
    /* use threads even on a machine with one processor; read once, at first use */
    setenv("HOLDALL_THREADS", "4", 1);
    many = slow() ? 700 : 3000;
    for (int k = 0; k < 2; k++)
        write_bag(in_tmp(names[k]), HOLDALL_CREATE, NULL, many);
    /* first, before any thread is started */
    RUN(a_process_may_end_with_a_live_stream);
    RUN(records_are_returned_in_order);
    RUN(batches_belong_to_the_caller);
    RUN(infinite_functions_are_called_a_little_ahead);
    RUN(failures_are_reported_at_their_records);
    RUN(corrupt_records_are_reported_or_skipped);
    RUN(calls_from_its_own_function_are_refused);
    RUN(many_threads_take_from_one_stream);
    RUN(close_leaves_no_threads_or_memory);
    RUN(a_child_continues_by_itself);
    RUN(ranks_share_an_epoch);
    RUN(training_continues_where_it_stopped);
    RUN(batches_are_read_into_memory_of_the_caller);
    return 0;
}
