/* Runs one path of holdall in a process of its own and measures the memory that it takes in
 * addition to its result.
 *
 * usage: memory COMMAND...
 *
 * Each command answers with the peak of bytes allocated by malloc beyond the initial ones and the
 * result, and with the growth of the resident memory. Source and destination buffers are allocated
 * before, and an array that is read is open before:
 *   array FILE PATH FORMAT DTYPE SHAPE CHUNKS CODEC THREADS
 *               the items of a file become an array, with opening and closing
 *   box PATH IO THREADS COUNT TIMES
 *               TIMES boxes of an array along its diagonal; COUNT 0: all of it
 *   schunk FILE PATH FORMAT CODEC THREADS CHUNK PIECE
 *               the content becomes a superchunk, PIECE bytes at a time
 *   content PATH IO THREADS PIECE
 *               all content, PIECE bytes at a time; PIECE 0: in one call
 *   bag FILE PATH CODEC THREADS SIZE BATCH
 *               the bytes become records of SIZE bytes, BATCH per call
 *   records PATH IO THREADS BATCH
 *               all records, BATCH per call, which are the result
 *   stream PATH IO THREADS
 *               all records of a stream, one by one */
#include <stdbool.h>

#include "common.h"
#include "heap.h"

/* ---- allocated memory */

static long resident(const char *which)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, which, strlen(which)))
            kib = strtol(line + strlen(which), NULL, 10);
    if (f)
        fclose(f);
    return kib << 10;
}

static long resident_before;

static void begin(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY);
    if (fd < 0 || write(fd, "5", 1) != 1)
        die("clear_refs");
    close(fd);
    resident_before = resident("VmRSS:");
    count_from_here();
}

/* Sets the number of bytes of the result, if there is one. */
static void end(size_t given)
{
    long held = most_beyond();
    printf("%ld %ld\n", held - (long)given, resident("VmHWM:") - resident_before - (long)given);
}

/* Allocates memory whose pages are present. */
static uint8_t *present(size_t size)
{
    uint8_t *to = room(size);
    memset(to, 1, size);
    return to;
}

/* ---- arrays */

static holdall_options *writing(int codec, int threads)
{
    holdall_options *o = with_threads(threads);
    set(o, HOLDALL_OPT_CODEC, codec);
    set(o, HOLDALL_OPT_DURABILITY, 0);
    return o;
}

static void write_array(char **w)
{
    uint64_t size, shape[DIMENSIONS], chunks[DIMENSIONS], start[DIMENSIONS] = { 0 };
    uint8_t *data = load(w[1], &size);
    uint32_t ndim = numbers(w[5], shape);
    bool grows = atoi(w[3]) == HOLDALL_FORMAT_BCOLZ, chosen = numbers(w[6], chunks) < ndim;
    holdall_array *a;
    holdall_options *o = writing(atoi(w[7]), atoi(w[8]));
    begin();
    uint64_t rows = shape[0];
    shape[0] = grows ? 0 : rows;
    check(array_create(w[2], HOLDALL_CREATE, atoi(w[3]), w[4], ndim, shape, chosen ? NULL : chunks,
                       NULL, o, &a, &err),
          "create");
    if (grows)
        check(holdall_array_append(a, 0, rows, data, size, &err), "append");
    else
        check(holdall_array_write(a, start, shape, NULL, data, size, NULL, &err), "write");
    check(holdall_array_commit(a, &err), "commit");
    holdall_array_close(a);
    end(0);
    holdall_options_free(o);
}

static void read_boxes(const char *path, int io, int threads, char *lengths, long times)
{
    holdall_array *a = open_array(path, io, threads);
    uint64_t count[DIMENSIONS], start[DIMENSIONS];
    uint32_t ndim = holdall_array_ndim(a);
    const uint64_t *shape = holdall_array_shape(a);
    bool all = numbers(lengths, count) < ndim || !count[0];
    size_t size = holdall_array_itemsize(a);
    for (uint32_t d = 0; d < ndim; d++) {
        count[d] = all ? shape[d] : count[d];
        size *= count[d];
    }
    uint8_t *to = present(size);
    begin();
    for (long i = 0; i < times; i++) {
        for (uint32_t d = 0; d < ndim; d++)
            start[d] = (shape[d] - count[d]) * i / times;
        check(holdall_array_read(a, start, count, NULL, to, size, NULL, &err), "read");
    }
    end(0);
    holdall_array_close(a);
}

/* ---- superchunks */

static void write_content(char **w)
{
    uint64_t size, piece = strtoull(w[7], NULL, 10);
    uint8_t *data = load(w[1], &size);
    holdall_schunk *s;
    holdall_options *o = writing(atoi(w[4]), atoi(w[5]));
    set(o, HOLDALL_OPT_CHUNK_BYTES, atol(w[6]));
    begin();
    check(holdall_schunk_create(w[2], HOLDALL_CREATE, atoi(w[3]), 8, o, &s, &err), "create");
    for (uint64_t at = 0; at < size; at += piece)
        check(holdall_schunk_append(s, data + at, size - at < piece ? size - at : piece, &err),
              "append");
    check(holdall_schunk_commit(s, &err), "commit");
    holdall_schunk_close(s);
    end(0);
    holdall_options_free(o);
}

static void read_content(const char *path, int io, int threads, uint64_t piece)
{
    holdall_schunk *s;
    holdall_options *o = for_reading(io, threads);
    check(holdall_schunk_open(path, HOLDALL_READ, o, &s, &err), "open");
    uint64_t size = holdall_schunk_nbytes(s);
    piece = piece ? piece : size;
    uint8_t *to = present(piece);
    begin();
    for (uint64_t at = 0; at < size; at += piece)
        check(holdall_schunk_read(s, at, to, size - at < piece ? size - at : piece, &err), "read");
    end(0);
    holdall_schunk_close(s);
    holdall_options_free(o);
}

/* ---- bags */

static void write_bag(char **w)
{
    uint64_t size, length = strtoull(w[5], NULL, 10), batch = strtoull(w[6], NULL, 10);
    uint8_t *data = load(w[1], &size);
    uint64_t records = size / length, *offsets = room((batch + 1) * sizeof *offsets);
    holdall_bag_writer *writer;
    holdall_options *o = writing(atoi(w[3]), atoi(w[4]));
    for (uint64_t i = 0; i <= batch; i++)
        offsets[i] = i * length;
    begin();
    check(holdall_bag_writer_open(w[2], HOLDALL_CREATE, o, &writer, &err), "open");
    for (uint64_t i = 0; i < records; i += batch)
        check(holdall_bag_writer_append_many(writer, data + i * length, offsets,
                                             records - i < batch ? records - i : batch, &err),
              "append_many");
    check(holdall_bag_writer_commit(writer, &err), "commit");
    holdall_bag_writer_close(writer);
    end(0);
    holdall_options_free(o);
}

static void read_records(const char *path, int io, int threads, uint64_t batch)
{
    holdall_bag *bag = open_bag(path, io, threads, 0);
    uint64_t all = holdall_bag_record_count(bag), most = 0;
    begin();
    for (uint64_t k = 0; k < all; k += batch) {
        holdall_records *r;
        size_t n = all - k < batch ? all - k : batch;
        check(holdall_bag_read_range(bag, k, n, &r, &err), "read_range");
        uint64_t given = holdall_records_offsets(r)[n] + (n + 1) * sizeof(uint64_t);
        most = given > most ? given : most;
        holdall_records_free(r);
    }
    end(most);
    holdall_bag_close(bag);
}

static void read_stream(const char *path, int io, int threads)
{
    const void *record;
    size_t n;
    holdall_status status;
    holdall_bag_stream *stream;
    holdall_bag *bag = open_bag(path, io, threads, 0);
    begin();
    check(holdall_bag_stream_open(bag, NULL, NULL, NULL, &stream, &err), "stream");
    while ((status = holdall_bag_stream_next(stream, &record, &n, &err)) == HOLDALL_OK)
        sink += n;
    if (status != HOLDALL_END)
        check(status, "stream");
    holdall_bag_stream_close(stream);
    end(0);
    holdall_bag_close(bag);
}

int main(int argc, char **argv)
{
    char **w = argv + 1;
    int n = argc - 1;
    if (n == 9 && !strcmp(w[0], "array"))
        write_array(w);
    else if (n == 6 && !strcmp(w[0], "box"))
        read_boxes(w[1], atoi(w[2]), atoi(w[3]), w[4], atol(w[5]));
    else if (n == 8 && !strcmp(w[0], "schunk"))
        write_content(w);
    else if (n == 5 && !strcmp(w[0], "content"))
        read_content(w[1], atoi(w[2]), atoi(w[3]), strtoull(w[4], NULL, 10));
    else if (n == 7 && !strcmp(w[0], "bag"))
        write_bag(w);
    else if (n == 5 && !strcmp(w[0], "records"))
        read_records(w[1], atoi(w[2]), atoi(w[3]), strtoull(w[4], NULL, 10));
    else if (n == 4 && !strcmp(w[0], "stream"))
        read_stream(w[1], atoi(w[2]), atoi(w[3]));
    else
        unknown(w, n);
    return 0;
}
