/* Superchunks that are written from front to back, to a function of the caller. */
#include "schunk.h"

#include <pthread.h>

enum { CHUNK = 4096, MANY = 5 * CHUNK + 123 };

/* An output in memory. */
typedef struct {
    uint8_t bytes[1 << 20];
    size_t n;
    int calls, fail_at; /* the number of the call that fails, from 1 on; 0: none */
    int64_t result;     /* of the call that fails; others alternate between 0 and n */
    pthread_t thread;
    holdall_schunk_stream *own; /* used by the call, if not NULL */
} output;

static int64_t on_write(void *ctx, const void *src, size_t n)
{
    output *o = ctx;
    CHECK(pthread_equal(o->thread, pthread_self()) && src != NULL && n > 0);
    if (++o->calls == o->fail_at)
        return o->result;
    CHECK(n <= sizeof o->bytes - o->n);
    memcpy(o->bytes + o->n, src, n);
    o->n += n;
    if (o->own != NULL) {
        GIVES(HOLDALL_E_STATE, holdall_schunk_stream_write(o->own, "x", 1, &err));
        CHECK(says("must not call its own stream"));
        GIVES(HOLDALL_E_STATE, holdall_schunk_stream_finish(o->own, &err));
        GIVES(HOLDALL_E_STATE, holdall_schunk_stream_set_metadata(o->own, "1", 1, &err));
        holdall_schunk_stream_free(o->own);
    }
    return o->calls % 2 ? 0 : (int64_t)n;
}

static output out;
static uint8_t content[MANY];

static holdall_schunk_stream *new_stream(uint64_t length, int fail_at, int64_t result)
{
    out.n = 0, out.calls = 0, out.fail_at = fail_at, out.result = result, out.own = NULL;
    out.thread = pthread_self();
    holdall_options *options = holdall_options_new();
    OK(holdall_options_set(options, HOLDALL_OPT_CHUNK_BYTES, CHUNK, &err));
    OK(holdall_options_set(options, HOLDALL_OPT_THREADS, 3, &err));
    holdall_schunk_stream *stream;
    OK(holdall_schunk_stream_new(on_write, &out, 4, length, options, &stream, &err));
    holdall_options_free(options);
    EQUAL(out.calls, 0);
    return stream;
}

/* Opens the output. Returns NULL if it is refused as truncated. */
static holdall_schunk *opened(void)
{
    holdall_storage *storage;
    OK(holdall_storage_from_memory(out.bytes, out.n, &storage, &err));
    holdall_options *options = holdall_options_new();
    OK(holdall_options_set_storage(options, &storage, 1, &err));
    holdall_schunk *s;
    holdall_status status = holdall_schunk_open(NULL, HOLDALL_READ, options, &s, &err);
    holdall_options_free(options);
    holdall_storage_free(storage);
    if (status != HOLDALL_OK) {
        GAVE(HOLDALL_E_FORMAT, status);
        CHECK(s == NULL);
    }
    return s;
}

static void check_output(size_t n, const char *metadata)
{
    static uint8_t back[MANY];
    holdall_schunk *s = opened();
    CHECK(s != NULL);
    EQUAL(holdall_schunk_nbytes(s), n);
    OK(holdall_schunk_read(s, 0, back, n, &err));
    CHECK(memcmp(back, content, n) == 0);
    const void *value;
    size_t size;
    if (metadata != NULL) {
        OK(holdall_schunk_attr_get(s, "", &value, &size, &err));
        CHECK(size == strlen(metadata) && memcmp(value, metadata, size) == 0);
    }
    holdall_schunk_close(s);
}

static void write_pieces(holdall_schunk_stream *stream, size_t n, size_t piece)
{
    for (size_t at = 0; at < n; at += piece)
        OK(holdall_schunk_stream_write(stream, content + at, n - at < piece ? n - at : piece, &err));
}

static void content_is_read_back(void)
{
    static const size_t sizes[] = {0, 1, CHUNK, CHUNK + 1, 2 * CHUNK, MANY};
    static const size_t pieces[] = {100, CHUNK, MANY};
    for (int known = 0; known < 2; known++)
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 3; j++) {
                now("%d: %zu bytes by %zu", known, sizes[i], pieces[j]);
                holdall_schunk_stream *stream = new_stream(known ? sizes[i] : UINT64_MAX, 0, 0);
                OK(holdall_schunk_stream_set_metadata(stream, "{\"a\": 1}", 8, &err));
                OK(holdall_schunk_stream_write(stream, NULL, 0, &err));
                CHECK(out.calls == 1); /* the header */
                out.own = stream;
                write_pieces(stream, sizes[i], pieces[j]);
                OK(holdall_schunk_stream_finish(stream, &err));
                holdall_schunk_stream_free(stream);
                check_output(sizes[i], "{\"a\": 1}");
            }
}

static void unfinished_output_is_truncated(void)
{
    for (int known = 0; known < 2; known++) {
        holdall_schunk_stream *stream = new_stream(known ? MANY : UINT64_MAX, 0, 0);
        write_pieces(stream, MANY, 1000);
        int calls = out.calls;
        holdall_schunk_stream_free(stream);
        EQUAL(out.calls, calls);
        CHECK(opened() == NULL);
    }
    holdall_schunk_stream_free(new_stream(7, 0, 0));
    EQUAL(out.calls, 0);
}

static void calls_in_a_wrong_state(void)
{
    holdall_schunk_stream *stream = new_stream(CHUNK, 0, 0);
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_stream_set_metadata(stream, "{", 1, &err));
    write_pieces(stream, 10, 10);
    GIVES(HOLDALL_E_STATE, holdall_schunk_stream_set_metadata(stream, "1", 1, &err));
    int calls = out.calls;
    GIVES(HOLDALL_E_RANGE, holdall_schunk_stream_write(stream, content, CHUNK, &err));
    GIVES(HOLDALL_E_STATE, holdall_schunk_stream_finish(stream, &err));
    EQUAL(out.calls, calls);
    OK(holdall_schunk_stream_write(stream, content + 10, CHUNK - 10, &err));
    OK(holdall_schunk_stream_finish(stream, &err));
    calls = out.calls;
    GIVES(HOLDALL_E_STATE, holdall_schunk_stream_finish(stream, &err));
    CHECK(says("finished"));
    GIVES(HOLDALL_E_STATE, holdall_schunk_stream_write(stream, content, 0, &err));
    EQUAL(out.calls, calls);
    holdall_schunk_stream_free(stream);
    check_output(CHUNK, NULL);
}

/* Writes everything, up to the first failure. */
static holdall_status written(holdall_schunk_stream *stream)
{
    for (size_t at = 0; at < MANY; at += 3000) {
        size_t n = MANY - at < 3000 ? MANY - at : 3000;
        holdall_status status = holdall_schunk_stream_write(stream, content + at, n, &err);
        if (status != HOLDALL_OK)
            return status;
    }
    return holdall_schunk_stream_finish(stream, &err);
}

static void each_call_of_the_function_fails(void)
{
    /* EINTR must not repeat the call: its bytes may have been written */
    static const int64_t results[] = {-ENOSPC, -EINTR, -ENOENT, 1, INT64_MAX, INT64_MIN};
    holdall_schunk_stream *stream = new_stream(UINT64_MAX, 0, 0);
    OK(written(stream));
    holdall_schunk_stream_free(stream);
    int calls = out.calls;
    CHECK(calls > 6);
    for (int i = 0; i < 6; i++)
        for (int k = 1; k <= calls; k++) {
            now("call %d returns %" PRId64, k, results[i]);
            stream = new_stream(UINT64_MAX, k, results[i]);
            GIVES(HOLDALL_E_CALLBACK, written(stream));
            if (i < 3)
                EQUAL(err.os_code, -results[i]);
            EQUAL(out.calls, k);
            GIVES(HOLDALL_E_STATE, holdall_schunk_stream_write(stream, content, 1, &err));
            GIVES(HOLDALL_E_STATE, holdall_schunk_stream_finish(stream, &err));
            EQUAL(out.calls, k);
            holdall_schunk_stream_free(stream);
            CHECK(opened() == NULL);
        }
}

static void invalid_arguments(void)
{
    holdall_schunk_stream *stream = (void *)&out;
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_stream_new(NULL, NULL, 1, 0, NULL, &stream, &err));
    CHECK(stream == NULL);
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_stream_new(on_write, NULL, 1, 0, NULL, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_stream_new(on_write, NULL, 0, 0, NULL, &stream, &err));
    holdall_options *options = holdall_options_new();
    OK(holdall_options_set(options, HOLDALL_OPT_FORMAT_VERSION, 1, &err));
    GIVES(HOLDALL_E_UNSUPPORTED,
          holdall_schunk_stream_new(on_write, NULL, 1, UINT64_MAX, options, &stream, &err));
    holdall_storage *storage;
    OK(holdall_storage_new_memory(&storage, &err));
    OK(holdall_options_set_storage(options, &storage, 1, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_schunk_stream_new(on_write, NULL, 1, 0, options, &stream, &err));
    holdall_storage_free(storage);
    holdall_options_free(options);
    stream = new_stream(4, 0, 0);
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_stream_write(stream, NULL, 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_stream_write(NULL, "x", 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_stream_finish(NULL, &err));
    holdall_schunk_stream_free(stream);
    holdall_schunk_stream_free(NULL);
}

int main(void)
{
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (uint8_t)(i * i >> 7);
    RUN(content_is_read_back);
    RUN(unfinished_output_is_truncated);
    RUN(calls_in_a_wrong_state);
    RUN(each_call_of_the_function_fails);
    RUN(invalid_arguments);
    return 0;
}
