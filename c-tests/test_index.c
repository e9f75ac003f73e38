/* Indexes of bags, in memory and in files, from content to record numbers. */
#include "check.h"

#include <pthread.h>

enum { MANY = 700 };

static const char *bag_path, *index_path;

/* The key of a record: every third record has a unique key. */
static size_t make_key(uint64_t i, char *dst)
{
    return (size_t)(i % 3 ? sprintf(dst, "shared %" PRIu64, i % 50)
                          : sprintf(dst, "own %" PRIu64, i));
}

static void write_keys(const char *path, uint64_t n)
{
    char key[64];
    holdall_bag_writer *w = open_writer(path, HOLDALL_REPLACE, NULL);
    for (uint64_t i = 0; i < n; i++)
        OK(holdall_bag_writer_append(w, key, make_key(i, key), &err));
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
}

/* Compares the results of the index for the keys of these records with the written records. The
 * slice begins at `first`. */
static void check_index(const holdall_bag_index *index, uint64_t first, uint64_t n)
{
    char key[64], other[64];
    uint64_t rows[MANY], want[MANY], record, keys = 0;
    size_t found;
    for (uint64_t i = 0; i < n; i++) {
        now("key %" PRIu64, i);
        size_t size = make_key(first + i, key), k = 0;
        for (uint64_t j = 0; j < n; j++)
            if (make_key(first + j, other) == size && memcmp(key, other, size) == 0)
                want[k++] = j;
        keys += want[0] == i;
        OK(holdall_bag_index_find(index, key, size, rows, MANY, &found, &err));
        EQUAL(found, k);
        CHECK(memcmp(rows, want, k * sizeof *rows) == 0);
        OK(holdall_bag_index_find(index, key, size, NULL, 0, &found, &err));
        EQUAL(found, k);
        found = 0;
        GIVES(HOLDALL_E_BUFFER,
              holdall_bag_index_find(index, key, size, rows, k - 1, &found, &err));
        EQUAL(found, k);
        OK(holdall_bag_index_find_first(index, key, size, &record, &err));
        EQUAL(record, want[0]);
    }
    EQUAL(holdall_bag_index_key_count(index), keys);
    EQUAL(holdall_bag_index_damaged_count(index), 0);
    record = 5, found = 5;
    GIVES(HOLDALL_NOT_FOUND, holdall_bag_index_find_first(index, "absent", 6, &record, &err));
    GIVES(HOLDALL_NOT_FOUND, holdall_bag_index_find(index, NULL, 0, rows, MANY, &found, &err));
    EQUAL(record, HOLDALL_NO_RECORD);
    EQUAL(found, 0);
}

static holdall_status try_create(holdall_mode mode, const holdall_bag *bag, const int64_t *pairs,
                                 holdall_bag_index **index)
{
    holdall_options *options = options_of(pairs);
    holdall_status status = holdall_bag_index_create(index_path, mode, bag, options, index, &err);
    holdall_options_free(options);
    return status;
}

static holdall_status try_open_index(const holdall_bag *bag, const int64_t *pairs,
                                     holdall_bag_index **index)
{
    holdall_options *options = options_of(pairs);
    holdall_status status = holdall_bag_index_open(index_path, bag, options, index, &err);
    holdall_options_free(options);
    return status;
}

static void indexes_in_memory_and_in_a_file_find_the_keys(void)
{
    holdall_bag_index *index;
    holdall_bag *bag = open_bag(bag_path, NULL);
    OK(holdall_bag_index_build(bag, NULL, &index, &err));
    check_index(index, 0, MANY);
    holdall_bag_index_close(index);
    GAVE(HOLDALL_OK, try_create(HOLDALL_CREATE, bag, WITH(HOLDALL_OPT_THREADS, 2), &index));
    check_index(index, 0, MANY);
    holdall_bag_index_close(index);
    GAVE(HOLDALL_E_EXISTS, try_create(HOLDALL_CREATE, bag, NULL, &index));
    CHECK(index == NULL);
    GAVE(HOLDALL_OK,
         try_create(HOLDALL_REPLACE, bag, WITH(HOLDALL_OPT_IO, HOLDALL_IO_MAP), &index));
    check_index(index, 0, MANY);
    holdall_bag_index_close(index);
    EQUAL(files_with(".holdall-new") + files_with(".holdall-part"), 0);
    /* the bag of an index is valid as long as the index */
    GAVE(HOLDALL_OK, try_open_index(bag, WITH(HOLDALL_OPT_VERIFY, 2), &index));
    holdall_bag_close(bag);
    check_index(index, 0, MANY);
    holdall_bag_index_close(index);
}

static void an_index_of_a_slice_finds_its_keys(void)
{
    holdall_bag *bag = open_bag(bag_path, NULL), *slice, *other;
    holdall_bag_index *index;
    OK(holdall_bag_slice(bag, 100, 300, 1, &slice, &err));
    OK(holdall_bag_slice(bag, 100, 301, 1, &other, &err));
    GAVE(HOLDALL_OK, try_create(HOLDALL_REPLACE, slice, NULL, &index));
    check_index(index, 100, 300);
    holdall_bag_index_close(index);
    GAVE(HOLDALL_OK, try_open_index(slice, NULL, &index));
    holdall_bag_index_close(index);
    GAVE(HOLDALL_E_STATE, try_open_index(other, NULL, &index));
    CHECK(says("300 records") && says("301"));
    GAVE(HOLDALL_E_STATE, try_open_index(bag, NULL, &index));
    CHECK(index == NULL);
    holdall_bag_close(slice);
    holdall_bag_close(other);
    holdall_bag_close(bag);
}

static void many_keys_are_found_in_one_call(void)
{
    holdall_bag *bag = open_bag(bag_path, NULL);
    holdall_bag_index *index;
    OK(holdall_bag_index_build(bag, NULL, &index, &err));
    char data[MANY * 32];
    uint64_t offsets[MANY + 1] = {0}, rows[MANY], want;
    for (uint64_t i = 0; i < MANY; i++)
        offsets[i + 1] = offsets[i] + make_key(MANY - 1 - i, data + offsets[i]);
    OK(holdall_bag_index_find_many(index, data, offsets, MANY, rows, &err));
    for (uint64_t i = 0; i < MANY; i++) {
        OK(holdall_bag_index_find_first(index, data + offsets[i], offsets[i + 1] - offsets[i],
                                        &want, &err));
        EQUAL(rows[i], want);
    }
    data[0] = '?';
    GIVES(HOLDALL_NOT_FOUND, holdall_bag_index_find_many(index, data, offsets, 2, rows, &err));
    EQUAL(rows[0], HOLDALL_NO_RECORD);
    EQUAL(rows[1], (MANY - 2) % 3 ? rows[1] : MANY - 2);
    OK(holdall_bag_index_find_many(index, NULL, NULL, 0, NULL, &err));
    uint64_t falling[] = {0, 9, 4};
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_index_find_many(index, data, falling, 2, rows, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_index_find_many(index, NULL, offsets, 2, rows, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_index_find_many(index, data, NULL, 2, rows, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_index_find_many(index, data, offsets, 2, NULL, &err));
    holdall_bag_index_close(index);
    holdall_bag_close(bag);
}

static void stale_and_corrupt_indexes_are_errors(void)
{
    holdall_bag *bag = open_bag(bag_path, NULL);
    holdall_bag_index *index;
    size_t n, found;
    uint64_t rows[MANY];
    GAVE(HOLDALL_OK, try_create(HOLDALL_REPLACE, bag, NULL, &index));
    holdall_bag_index_close(index);
    write_keys(bag_path, MANY + 1);
    holdall_bag *grown = open_bag(bag_path, NULL);
    GAVE(HOLDALL_E_STATE, try_open_index(grown, NULL, &index));
    CHECK(says(index_path) && says("expected 700 records") && says("found 701"));
    holdall_bag_close(grown);
    write_keys(bag_path, MANY);
    holdall_bag_close(bag);
    bag = open_bag(bag_path, NULL);
    GAVE(HOLDALL_OK, try_open_index(bag, NULL, &index));
    check_index(index, 0, MANY);
    holdall_bag_index_close(index);

    /* a bit flip in the index */
    uint8_t *bytes = load(index_path, &n);
    bytes[n - 1 - n / 2] ^= 4;
    save(index_path, bytes, n);
    GAVE(HOLDALL_E_CHECKSUM, try_open_index(bag, WITH(HOLDALL_OPT_VERIFY, 2), &index));
    CHECK(says(index_path));
    bytes[30] ^= 4;
    save(index_path, bytes, n);
    GAVE(HOLDALL_E_CHECKSUM, try_open_index(bag, NULL, &index));
    save(index_path, bytes, 20);
    GAVE(HOLDALL_E_FORMAT, try_open_index(bag, NULL, &index));
    free(bytes);
    CHECK(remove(index_path) == 0);
    GAVE(HOLDALL_E_MISSING, try_open_index(bag, NULL, &index));
    holdall_bag_close(bag);

    /* a bit flip in a record: the first one */
    bytes = load(bag_path, &n);
    bytes[0] ^= 1;
    save(bag_path, bytes, n);
    bag = open_bag(bag_path, NULL);
    GAVE(HOLDALL_E_CHECKSUM, try_create(HOLDALL_CREATE, bag, NULL, &index));
    EQUAL(err.position, 0);
    GAVE(HOLDALL_OK, try_create(HOLDALL_CREATE, bag, WITH(HOLDALL_OPT_SKIP_DAMAGED, 1), &index));
    EQUAL(holdall_bag_index_damaged_count(index), 1);
    GIVES(HOLDALL_NOT_FOUND, holdall_bag_index_find(index, "own 0", 5, rows, MANY, &found, &err));
    OK(holdall_bag_index_find(index, "own 3", 5, rows, MANY, &found, &err));
    EQUAL(rows[0], 3);
    holdall_bag_index_close(index);
    holdall_bag_close(bag);
    bytes[0] ^= 1;
    save(bag_path, bytes, n);
    free(bytes);
}

static void storage_of_the_caller_works(void)
{
    holdall_bag *bag = open_bag(bag_path, NULL);
    holdall_bag_index *index;
    holdall_storage *io;
    size_t n;
    GAVE(HOLDALL_OK, try_create(HOLDALL_REPLACE, bag, NULL, &index));
    holdall_bag_index_close(index);
    uint8_t *bytes = load(index_path, &n);
    OK(holdall_storage_from_memory(bytes, n, &io, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, bag_index_create_io(io, HOLDALL_REPLACE, bag, NULL, &index, &err));
    OK(bag_index_open_io(io, bag, NULL, &index, &err));
    holdall_storage_free(io);
    check_index(index, 0, MANY);
    holdall_bag_index_close(index);
    free(bytes);
    holdall_bag_close(bag);
}

static void invalid_arguments_are_refused(void)
{
    holdall_bag *bag = open_bag(bag_path, NULL);
    holdall_bag_index *index, *none;
    uint64_t row;
    size_t n;
    OK(holdall_bag_index_build(bag, NULL, &index, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_index_build(NULL, NULL, &none, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_index_build(bag, NULL, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_bag_index_create(NULL, HOLDALL_CREATE, bag, NULL, &none, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_bag_index_create(index_path, HOLDALL_APPEND, bag, NULL, &none, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_bag_index_create(index_path, HOLDALL_READ, bag, NULL, &none, &err));
    GIVES(HOLDALL_E_ARGUMENT, bag_index_create_io(NULL, HOLDALL_CREATE, bag, NULL, &none, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_index_open(NULL, bag, NULL, &none, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_index_open(index_path, NULL, NULL, &none, &err));
    GIVES(HOLDALL_E_ARGUMENT, bag_index_open_io(NULL, bag, NULL, &none, &err));
    CHECK(none == NULL);
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_index_find_first(NULL, "", 0, &row, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_index_find_first(index, NULL, 1, &row, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_index_find_first(index, "", 0, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_index_find(index, "", 0, &row, 1, NULL, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_index_find(NULL, "", 0, &row, 1, &n, &err));
    EQUAL(holdall_bag_index_key_count(NULL) + holdall_bag_index_damaged_count(NULL), 0);
    holdall_bag_index_close(NULL);
    /* options of the bag do not apply to the index and have no effect; options of other containers
     * are refused */
    GAVE(HOLDALL_OK,
         try_create(HOLDALL_REPLACE, bag,
                    WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD, HOLDALL_OPT_LEVEL, 3), &none));
    holdall_bag_index_close(none);
    GAVE(HOLDALL_E_ARGUMENT,
         try_create(HOLDALL_REPLACE, bag, WITH(HOLDALL_OPT_CHUNK_BYTES, 1000), &none));
    CHECK(none == NULL && says("HOLDALL_OPT_CHUNK_BYTES"));
    GIVES(HOLDALL_E_EXISTS,
          holdall_bag_index_create(bag_path, HOLDALL_REPLACE, bag, NULL, &none, &err));
    holdall_bag_index_close(index);
    holdall_bag_close(bag);
}

static void *look_up(void *index)
{
    check_index(index, 0, slow() ? 20 : MANY);
    return NULL;
}

static void many_threads_use_one_index(void)
{
    holdall_bag *bag = open_bag(bag_path, NULL);
    holdall_bag_index *index;
    holdall_bag *few;
    OK(holdall_bag_slice(bag, 0, slow() ? 20 : MANY, 1, &few, &err));
    GAVE(HOLDALL_OK, try_create(HOLDALL_REPLACE, few, NULL, &index));
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, look_up, index) == 0);
    for (int i = 0; i < 8; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    holdall_bag_index_close(index);
    holdall_bag_close(few);
    holdall_bag_close(bag);
}

/* Builds an index of a bag that other threads read, and searches in the shared index. */
typedef struct {
    const holdall_bag *bag;
    const holdall_bag_index *index;
} shared;

static void *build_and_look_up(void *arg)
{
    const shared *of_all = arg;
    const uint64_t n = holdall_bag_record_count(of_all->bag);
    holdall_bag_index *own;
    char key[64];
    uint64_t record;
    OK(holdall_bag_index_build(of_all->bag, NULL, &own, &err));
    EQUAL(holdall_bag_index_key_count(own), (n + 2) / 3 + 50);
    for (uint64_t i = 0; i < n; i += 303) {
        size_t size = make_key(i, key);
        OK(holdall_bag_index_find_first(own, key, size, &record, &err));
        EQUAL(record, i);
        OK(holdall_bag_index_find_first(of_all->index, key, size, &record, &err));
        EQUAL(record, i);
    }
    holdall_bag_index_close(own);
    return NULL;
}

/* Builds indexes of so many records, in several threads. */
static void many_threads_build_indexes(void)
{
    const char *path = in_tmp("many.bagz");
    write_keys(path, slow() ? 9000 : 40000);
    holdall_bag *bag = open_bag(path, NULL);
    holdall_bag_index *index;
    OK(holdall_bag_index_build(bag, NULL, &index, &err));
    shared of_all = {bag, index};
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, build_and_look_up, &of_all) == 0);
    for (int i = 0; i < 8; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    holdall_bag_index_close(index);
    holdall_bag_close(bag);
}

int main(void)
{
    static char bag[4096], index[4096];
    /* use threads even on a machine with one processor; read once, at first use */
    setenv("HOLDALL_THREADS", "4", 1);
    bag_path = strcpy(bag, in_tmp("keys.bag"));
    index_path = strcpy(index, in_tmp("keys.bag.index"));
    write_keys(bag_path, MANY);
    RUN(indexes_in_memory_and_in_a_file_find_the_keys);
    RUN(an_index_of_a_slice_finds_its_keys);
    RUN(many_keys_are_found_in_one_call);
    RUN(stale_and_corrupt_indexes_are_errors);
    RUN(storage_of_the_caller_works);
    RUN(invalid_arguments_are_refused);
    RUN(many_threads_use_one_index);
    RUN(many_threads_build_indexes);
    return 0;
}
