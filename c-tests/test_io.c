/* Storage of the caller: bytes in memory, and functions. */
#include "folder.h"

#include <stddef.h>

enum { N = 30 };

static holdall_storage *memory_io(const void *bytes, size_t n)
{
    holdall_storage *io;
    OK(holdall_storage_from_memory(bytes, n, &io, &err));
    return io;
}

static void a_bag_in_memory_is_read(void)
{
    for (int zstd = 0; zstd < 2; zstd++) {
        const char *path = in_tmp(zstd ? "memory.bagz" : "memory.bag");
        write_bag(path, HOLDALL_CREATE, NULL, N);
        size_t n;
        uint8_t *bytes = load(path, &n);
        holdall_options *o =
            options_of(WITH(HOLDALL_OPT_CODEC, zstd ? HOLDALL_CODEC_ZSTD : HOLDALL_CODEC_NONE));
        holdall_storage *io = memory_io(bytes, n);
        holdall_bag *bag, *bag2;
        OK(bag_open_io(&io, 1, o, &bag, &err));
        OK(bag_open_io(&io, 1, o, &bag2, &err));
        holdall_storage_free(io);
        holdall_bag_close(bag2);
        EQUAL(holdall_bag_record_count(bag), N);
        EQUAL(bag_info(bag).stored_bytes, n);
        EQUAL(holdall_bag_shard_count(bag), 1);
        check_range(bag, 0, N, 0);
        for (uint64_t i = 0; i < N; i++)
            check_record(bag, i, i);
        holdall_bag_close(bag);
        holdall_options_free(o);

        /* borrowed and read-only; one file */
        io = memory_io(bytes, n);
        holdall_bag_writer *w;
        GIVES(HOLDALL_E_UNSUPPORTED, bag_writer_open_io(io, HOLDALL_APPEND, NULL, &w, &err));
        GIVES(HOLDALL_E_UNSUPPORTED, bag_writer_open_io(io, HOLDALL_REPLACE, NULL, &w, &err));
        o = options_of(WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE));
        GIVES(HOLDALL_E_MISSING, bag_open_io(&io, 1, o, &bag, &err));
        holdall_options_free(o);
        holdall_storage_free(io);
        free(bytes);
    }
}

/* Storage of the caller has no name: it is not compressed unless an option requests it, and frames
 * in it are detected by content. */
static void a_bag_without_a_name_is_not_compressed(void)
{
    size_t n;
    uint8_t *bytes = load(in_tmp("memory.bagz"), &n);
    holdall_storage *io = memory_io(bytes, n);
    holdall_bag *bag;
    GIVES(HOLDALL_E_ARGUMENT, bag_open_io(&io, 1, NULL, &bag, &err));
    CHECK(says("HOLDALL_OPT_CODEC"));
    static const int64_t codecs[] = {HOLDALL_CODEC_NONE, HOLDALL_CODEC_ZSTD};
    for (int i = 0; i < 2; i++) {
        holdall_options *o = options_of(WITH(HOLDALL_OPT_CODEC, codecs[i]));
        OK(bag_open_io(&io, 1, o, &bag, &err));
        EQUAL(bag_info(bag).codec, codecs[i]);
        holdall_bag_close(bag);
        holdall_options_free(o);
    }
    holdall_storage_free(io);
    free(bytes);
    bytes = load(in_tmp("memory.bag"), &n);
    io = memory_io(bytes, n);
    OK(bag_open_io(&io, 1, NULL, &bag, &err));
    EQUAL(bag_info(bag).codec, HOLDALL_CODEC_NONE);
    holdall_bag_close(bag);
    holdall_storage_free(io);
    free(bytes);
}

static void several_storages_are_shards(void)
{
    static const uint64_t sizes[] = {6, 6, 5};
    uint8_t *bytes[3];
    holdall_storage *ios[3];
    uint64_t first = 0;
    for (int s = 0; s < 3; s++) {
        holdall_bag_writer *w = open_writer(in_tmp("shard.bag"), HOLDALL_REPLACE, NULL);
        append_records(w, first, sizes[s]);
        OK(holdall_bag_writer_commit(w, &err));
        holdall_bag_writer_close(w);
        first += sizes[s];
        size_t n;
        bytes[s] = load(in_tmp("shard.bag"), &n);
        ios[s] = memory_io(bytes[s], n);
    }
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        holdall_options *o = options_of(WITH(HOLDALL_OPT_BAG_SHARDS, SHARDS(interleaved)));
        holdall_bag *bag;
        OK(bag_open_io(ios, 3, o, &bag, &err));
        EQUAL(holdall_bag_shard_count(bag), 3);
        EQUAL(holdall_bag_record_count(bag), 17);
        for (uint64_t i = 0; i < 17; i++)
            check_record(bag, i, interleaved ? i % 3 * 6 + i / 3 : i);
        holdall_bag_close(bag);
        holdall_storage *two[] = {ios[2], ios[0]};
        GIVES(interleaved ? HOLDALL_E_FORMAT : HOLDALL_OK, bag_open_io(two, 2, o, &bag, &err));
        holdall_bag_close(bag);
        holdall_storage *hole[] = {ios[0], NULL};
        GIVES(HOLDALL_E_ARGUMENT, bag_open_io(hole, 2, o, &bag, &err));
        holdall_options_free(o);
    }
    for (int s = 0; s < 3; s++) {
        holdall_storage_free(ios[s]);
        free(bytes[s]);
    }
}

static const struct {
    const char *name;
    int64_t codec, limits, sum;
    int files;
} forms[] = {
    {"raw", HOLDALL_CODEC_NONE, HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_CRC32, 2},
    {"zstd", HOLDALL_CODEC_ZSTD, HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_CRC32, 1},
    {"raw, separate", HOLDALL_CODEC_NONE, HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_CHECKSUM_CRC32, 3},
    {"zstd, separate", HOLDALL_CODEC_ZSTD, HOLDALL_BAG_LIMITS_SEPARATE, HOLDALL_CHECKSUM_NONE, 2},
    {"bare", HOLDALL_CODEC_NONE, HOLDALL_BAG_LIMITS_TAIL, HOLDALL_CHECKSUM_NONE, 1},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static void check_folder(folder *f, int form, uint64_t n)
{
    holdall_bag *bag;
    OK(try_folder_bag(
        f, WITH(HOLDALL_OPT_CODEC, forms[form].codec, HOLDALL_OPT_BAG_LIMITS, forms[form].limits),
        &bag));
    EQUAL(holdall_bag_record_count(bag), n);
    check_range(bag, 0, n, 0);
    holdall_bag_close(bag);
}

/* A bag that functions store has the same files as a bag at a path. */
static void functions_store_a_bag(void)
{
    for (int m = 0; m < FORMS; m++) {
        folder f = FOLDER;
        now("%s", forms[m].name);
        const int64_t *pairs = WITH(HOLDALL_OPT_CODEC, forms[m].codec, HOLDALL_OPT_BAG_LIMITS,
                                    forms[m].limits, HOLDALL_OPT_CHECKSUM, forms[m].sum);
        holdall_bag_writer *w;
        GIVES(HOLDALL_E_MISSING, try_folder_writer(&f, HOLDALL_APPEND, pairs, &w));
        OK(try_folder_writer(&f, HOLDALL_CREATE, pairs, &w));
        append_records(w, 0, 10);
        CHECK(folder_find(&f, "") == NULL);
        OK(holdall_bag_writer_commit(w, &err));
        check_folder(&f, m, 10);
        append_records(w, 10, 5);
        check_folder(&f, m, 10);
        OK(holdall_bag_writer_commit(w, &err));
        check_folder(&f, m, 15);
        append_records(w, 15, 5);
        holdall_bag_writer_close(w);
        check_folder(&f, m, 15);
        EQUAL(f.n, forms[m].files);
        GIVES(HOLDALL_E_EXISTS, try_folder_writer(&f, HOLDALL_CREATE, pairs, &w));
        OK(try_folder_writer(&f, HOLDALL_APPEND, pairs, &w));
        EQUAL(holdall_bag_writer_record_count(w), 15);
        append_records(w, 15, 15);
        OK(holdall_bag_writer_commit(w, &err));
        holdall_bag_writer_close(w);
        check_folder(&f, m, 30);
        OK(try_folder_writer(&f, HOLDALL_REPLACE, pairs, &w));
        append_records(w, 0, 4);
        check_folder(&f, m, 30);
        OK(holdall_bag_writer_commit(w, &err));
        holdall_bag_writer_close(w);
        check_folder(&f, m, 4);
        EQUAL(f.n, forms[m].files);
        CHECK(folder_find(&f, "") != NULL);
        EQUAL(folder_find(&f, "limits.") != NULL, forms[m].limits == HOLDALL_BAG_LIMITS_SEPARATE);
        EQUAL(folder_find(&f, "checksums.") != NULL, m == 0 || m == 2);
        folder_clear(&f);
    }
}

/* Compares with the content of a path, byte for byte. */
static void functions_store_the_same_bytes_as_a_path(void)
{
    for (int m = 0; m < FORMS; m++) {
        folder f = FOLDER;
        now("%s", forms[m].name);
        const int64_t *pairs = WITH(HOLDALL_OPT_CODEC, forms[m].codec, HOLDALL_OPT_BAG_LIMITS,
                                    forms[m].limits, HOLDALL_OPT_CHECKSUM, forms[m].sum);
        holdall_bag_writer *w;
        OK(try_folder_writer(&f, HOLDALL_CREATE, pairs, &w));
        append_records(w, 0, N);
        OK(holdall_bag_writer_commit(w, &err));
        holdall_bag_writer_close(w);
        write_bag(in_tmp("same"), HOLDALL_REPLACE, pairs, N);
        for (int k = 0; k < f.n; k++) {
            char name[128];
            size_t n;
            snprintf(name, sizeof name, "%ssame", f.files[k].name);
            uint8_t *bytes = load(in_tmp(name), &n);
            CHECK(n == f.files[k].size && memcmp(bytes, f.files[k].bytes, n) == 0);
            free(bytes);
        }
        folder_clear(&f);
    }
}

static void destroy_is_called_once_and_last(void)
{
    folder f = FOLDER;
    write_bag(in_tmp("life.bag"), HOLDALL_CREATE, WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE),
              N);
    size_t n;
    uint8_t *bytes = load(in_tmp("life.bag"), &n);
    folder_put(&f, "", bytes, n);
    free(bytes);
    holdall_storage *io = folder_io(&f);
    holdall_bag *bag, *slice;
    holdall_bag_writer *w;
    holdall_options *o = options_of(WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE));
    OK(bag_open_io(&io, 1, NULL, &bag, &err));
    OK(holdall_bag_slice(bag, 0, 10, 2, &slice, &err));
    OK(bag_writer_open_io(io, HOLDALL_APPEND, o, &w, &err));
    holdall_options_free(o);
    holdall_storage_free(io);
    EQUAL(f.destroyed, 0);
    holdall_bag_close(bag);
    check_record(slice, 1, 2);
    EQUAL(f.destroyed, 0);
    holdall_bag_close(slice);
    append_records(w, 0, 1);
    EQUAL(f.destroyed, 0);
    holdall_bag_writer_close(w);
    EQUAL(f.destroyed, 1);
    /* nothing except the storage */
    io = folder_io(&f);
    holdall_storage_free(io);
    EQUAL(f.destroyed, 2);
    /* an open that fails */
    io = folder_io(&f);
    GIVES(HOLDALL_E_EXISTS, bag_writer_open_io(io, HOLDALL_CREATE, NULL, &w, &err));
    holdall_storage_free(io);
    EQUAL(f.destroyed, 3);
    /* none */
    holdall_storage_functions table = folder_functions(&f);
    table.destroy = NULL;
    OK(holdall_storage_from_functions(&table, &io, &err));
    holdall_storage_free(io);
    EQUAL(f.destroyed, 3);
    folder_clear(&f);
}

static void structures_of_other_sizes_are_accepted_or_refused(void)
{
    folder f = FOLDER;
    write_bag(in_tmp("table.bag"), HOLDALL_REPLACE,
              WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE), N);
    size_t n;
    uint8_t *bytes = load(in_tmp("table.bag"), &n);
    folder_put(&f, "", bytes, n);
    free(bytes);
    const holdall_storage_functions whole = folder_functions(&f);
    static const size_t old_ones[] = {
        offsetof(holdall_storage_functions, write_at),
        offsetof(holdall_storage_functions, truncate),
        offsetof(holdall_storage_functions, sync),
        offsetof(holdall_storage_functions, rename),
        offsetof(holdall_storage_functions, remove),
    };
    holdall_storage *io;
    for (size_t k = 0; k < sizeof old_ones / sizeof old_ones[0]; k++) {
        /* bytes after struct_size must not be read: they do not exist */
        holdall_storage_functions *table = malloc(old_ones[k]);
        CHECK(table != NULL);
        memcpy(table, &whole, old_ones[k]);
        memcpy(table, &old_ones[k], sizeof old_ones[k]);
        OK(holdall_storage_from_functions(table, &io, &err));
        memset(table, 0xFF, old_ones[k]); /* it was copied */
        free(table);
        holdall_bag *bag;
        OK(bag_open_io(&io, 1, NULL, &bag, &err));
        check_range(bag, 0, N, 0);
        holdall_bag_close(bag);
        holdall_bag_writer *w;
        GIVES(HOLDALL_E_UNSUPPORTED, bag_writer_open_io(io, HOLDALL_APPEND, NULL, &w, &err));
        GIVES(HOLDALL_E_UNSUPPORTED, bag_writer_open_io(io, HOLDALL_REPLACE, NULL, &w, &err));
        holdall_storage_free(io);
    }
    EQUAL(f.destroyed, 0); /* not in an older structure */
    EQUAL(folder_find(&f, "")->size, n);

    /* a missing function makes the storage read-only */
    for (int k = 0; k < 5; k++) {
        holdall_storage_functions table = whole;
        if (k == 0)
            table.write_at = NULL;
        if (k == 1)
            table.truncate = NULL;
        if (k == 2)
            table.sync = NULL;
        if (k == 3)
            table.rename = NULL;
        if (k == 4)
            table.remove = NULL;
        now("function %d missing", k);
        holdall_bag_writer *w;
        OK(holdall_storage_from_functions(&table, &io, &err));
        GIVES(HOLDALL_E_UNSUPPORTED, bag_writer_open_io(io, HOLDALL_APPEND, NULL, &w, &err));
        GIVES(HOLDALL_E_UNSUPPORTED, bag_writer_open_io(io, HOLDALL_REPLACE, NULL, &w, &err));
        holdall_storage_free(io);
        EQUAL(f.n, 1);
    }

    int destroyed = f.destroyed;
    struct {
        holdall_storage_functions table;
        void *more;
    } newer = {.table = whole};
    static const size_t refused[] = {0, sizeof(size_t),
                                     offsetof(holdall_storage_functions, read_at),
                                     sizeof(holdall_storage_functions) + sizeof(void *), SIZE_MAX};
    for (size_t k = 0; k < sizeof refused / sizeof refused[0]; k++) {
        newer.table.struct_size = refused[k];
        GIVES(HOLDALL_E_ARGUMENT, holdall_storage_from_functions(&newer.table, &io, &err));
    }
    holdall_storage_functions table = whole;
    table.size = NULL;
    GIVES(HOLDALL_E_ARGUMENT, holdall_storage_from_functions(&table, &io, &err));
    table = whole;
    table.read_at = NULL;
    GIVES(HOLDALL_E_ARGUMENT, holdall_storage_from_functions(&table, &io, &err));
    EQUAL(f.destroyed, destroyed);
    folder_clear(&f);
}

/* ---- functions that violate their contract ----------------------------------------------------*/

/* Wrong results of read_at and size. */
typedef struct {
    folder f;
    int64_t read_says, size_says;
    bool lie_read, lie_size, one_less;
} liar;

static int64_t liar_size(void *ctx, const char *name)
{
    liar *l = ctx;
    int64_t n = folder_size(&l->f, name);
    return l->lie_size && n >= 0 ? l->size_says : n;
}

static int64_t liar_read(void *ctx, const char *name, uint64_t at, void *dst, size_t n)
{
    liar *l = ctx;
    int64_t got = folder_read_at(&l->f, name, at, dst, l->one_less && n > 1 ? n - 1 : n);
    return l->lie_read && got >= 0 ? l->read_says : got;
}

static holdall_status open_liar(liar *l, int64_t codec, holdall_bag **bag)
{
    holdall_storage_functions table = {
        .struct_size = sizeof table, .ctx = l, .size = liar_size, .read_at = liar_read};
    holdall_options *o = options_of(WITH(HOLDALL_OPT_CODEC, codec));
    holdall_storage *io;
    OK(holdall_storage_from_functions(&table, &io, &err));
    preset_error();
    holdall_status s = bag_open_io(&io, 1, o, bag, &err);
    holdall_storage_free(io);
    holdall_options_free(o);
    return s;
}

/* Reads while the functions return wrong results: errors or the right bytes, never others. */
static void read_lies(const holdall_bag *bag)
{
    holdall_records *records;
    holdall_status s = holdall_bag_read_range(bag, 0, N, &records, &err);
    CHECK(s <= 0);
    for (size_t k = 0; k < holdall_records_count(records); k++)
        check_in_batch(records, k, k);
    holdall_records_free(records);
    for (uint64_t i = 0; i < N; i++) {
        uint8_t got[RECORD_MOST], want[RECORD_MOST];
        size_t n = 0, size = make_record(i, want);
        s = holdall_bag_read(bag, i, got, sizeof got, &n, &err);
        CHECK(s < 0 || (n == size && memcmp(got, want, n) == 0));
    }
}

static void wrong_results_of_functions_are_detected(void)
{
    static const int64_t says[] = {INT64_MAX, INT64_MIN, INT64_MIN + 1, -1,
                                   -EIO,      -ENOENT,   -4096,         -(INT64_C(1) << 32),
                                   0,         1,         1 << 20,       INT64_C(1) << 40};
    for (int zstd = 0; zstd < 2; zstd++) {
        int64_t codec = zstd ? HOLDALL_CODEC_ZSTD : HOLDALL_CODEC_NONE;
        const char *path = in_tmp("liar");
        write_bag(path, HOLDALL_REPLACE,
                  WITH(HOLDALL_OPT_CODEC, codec, HOLDALL_OPT_CHECKSUM,
                       zstd ? HOLDALL_CHECKSUM_ZSTD : HOLDALL_CHECKSUM_NONE),
                  N);
        liar l = {.f = FOLDER};
        size_t n;
        uint8_t *bytes = load(path, &n);
        folder_put(&l.f, "", bytes, n);
        free(bytes);
        holdall_bag *bag;
        for (size_t k = 0; k < sizeof says / sizeof says[0]; k++)
            for (int which = 0; which < 2; which++) {
                now("zstd %d, %s says %" PRId64, zstd, which ? "read_at" : "size", says[k]);
                /* during the open */
                l.lie_size = which == 0, l.lie_read = which == 1;
                l.size_says = l.read_says = says[k];
                holdall_status s = open_liar(&l, codec, &bag);
                CHECK(s <= 0);
                if (s == HOLDALL_OK && l.lie_size)
                    CHECK(holdall_bag_record_count(bag) == 0 || says[k] == (int64_t)n);
                if (s < 0 && says[k] < 0 && says[k] > -4096) {
                    /* an errno is returned unchanged */
                    EQUAL(s, says[k] == -ENOENT ? HOLDALL_E_MISSING : HOLDALL_E_CALLBACK);
                    EQUAL(err.os_code, -says[k]);
                }
                holdall_bag_close(bag);
                /* after the open */
                l.lie_size = l.lie_read = false;
                OK(open_liar(&l, codec, &bag));
                l.lie_size = which == 0, l.lie_read = which == 1;
                read_lies(bag);
                l.lie_size = l.lie_read = false;
                check_range(bag, 0, N, 0);
                holdall_bag_close(bag);
            }
        /* fewer bytes than requested, not at the end */
        now("zstd %d, short reads", zstd);
        l.one_less = true;
        if (open_liar(&l, codec, &bag) == HOLDALL_OK)
            read_lies(bag);
        holdall_bag_close(bag);
        l.one_less = false;
        OK(open_liar(&l, codec, &bag));
        l.one_less = true;
        read_lies(bag);
        holdall_bag_close(bag);
        folder_clear(&l.f);
    }
}

/* All functions are called on the caller's thread, unless several threads are requested. */
static pthread_t caller;

static int64_t size_here(void *ctx, const char *name)
{
    CHECK(pthread_equal(pthread_self(), caller));
    return folder_size(ctx, name);
}

static int64_t read_here(void *ctx, const char *name, uint64_t at, void *dst, size_t n)
{
    CHECK(pthread_equal(pthread_self(), caller));
    return folder_read_at(ctx, name, at, dst, n);
}

static void functions_are_called_on_the_callers_thread(void)
{
    const uint64_t many = 2000;
    folder f = FOLDER;
    write_bag(in_tmp("thread.bagz"), HOLDALL_CREATE, NULL, many);
    size_t n;
    uint8_t *bytes = load(in_tmp("thread.bagz"), &n);
    folder_put(&f, "", bytes, n);
    free(bytes);
    caller = pthread_self();
    holdall_storage_functions here = {
        .struct_size = sizeof here, .ctx = &f, .size = size_here, .read_at = read_here};
    holdall_storage_functions anywhere = folder_functions(&f);
    for (int threads = -1; threads < 5; threads++) {
        holdall_options *o = options_of(WITH(HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD));
        if (threads >= 0)
            OK(holdall_options_set(o, HOLDALL_OPT_THREADS, threads, &err));
        holdall_storage *io;
        holdall_bag *bag;
        OK(holdall_storage_from_functions(threads == 1 || threads < 0 ? &here : &anywhere, &io,
                                          &err));
        OK(bag_open_io(&io, 1, o, &bag, &err));
        check_range(bag, 0, many, 0);
        uint8_t sum[4];
        OK(holdall_bag_checksum(bag, HOLDALL_CHECKSUM_CRC32, sum, sizeof sum, &n, &err));
        holdall_bag_close(bag);
        holdall_storage_free(io);
        holdall_options_free(o);
    }
    folder_clear(&f);
}

/* Storage is an option of all calls with a path, which must then be NULL or "". */
static void storage_is_an_option(void)
{
    static const uint64_t shape[] = {3};
    static const char *const names[] = {"x"}, *const dtypes[] = {"<i4"};
    folder f = FOLDER, other = FOLDER;
    holdall_storage *storage = folder_io(&f), *two[] = {storage, folder_io(&other)},
                    *hole[] = {storage, NULL};
    holdall_options *o = holdall_options_new();
    holdall_schunk *s;
    holdall_array *a;
    holdall_table *t;
    holdall_bag *bag;
    holdall_bag_writer *w;
    GIVES(HOLDALL_E_ARGUMENT, holdall_options_set_storage(NULL, &storage, 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_options_set_storage(o, NULL, 1, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_options_set_storage(o, hole, 2, &err));
    OK(holdall_options_set_storage(o, NULL, 0, &err));
    OK(holdall_options_set_storage(o, &storage, 1, &err));
    /* the options own it from here on */
    holdall_storage_free(storage);
    EQUAL(f.destroyed, 0);

    /* not together with a path, which stays as it is */
    const char *path = in_tmp("both");
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_writer_open(path, HOLDALL_CREATE, o, &w, &err));
    CHECK(w == NULL && says("path"));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_open(path, o, &bag, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_schunk_create(path, HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, 1, o, &s, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_open(path, HOLDALL_READ, o, &s, &err));
    GIVES(HOLDALL_E_ARGUMENT, array_create(path, HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, "<i4", 1,
                                           shape, NULL, NULL, o, &a, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_array_open(path, HOLDALL_READ, o, &a, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          table_create(path, HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, 1, names, dtypes, o, &t, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_table_open(path, HOLDALL_READ, o, &t, &err));
    CHECK(!there(path));
    /* nor without both */
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_writer_open(NULL, HOLDALL_CREATE, NULL, &w, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_writer_open("", HOLDALL_CREATE, NULL, &w, &err));

    /* NULL and "" are equivalent; one set of options serves writers and readers */
    OK(holdall_bag_writer_open(NULL, HOLDALL_CREATE, o, &w, &err));
    append_records(w, 0, 10);
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    for (int k = 0; k < 2; k++) {
        OK(holdall_bag_open(k ? "" : NULL, o, &bag, &err));
        EQUAL(holdall_bag_record_count(bag), 10);
        check_range(bag, 0, 10, 0);
        if (k == 0)
            holdall_bag_close(bag);
    }
    /* calls that accept only a path */
    GIVES(HOLDALL_E_UNSUPPORTED, verify_counts(NULL, o, NULL, NULL, NULL, NULL, NULL, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, repair_counts(NULL, o, NULL, NULL, &err));
    GIVES(HOLDALL_E_UNSUPPORTED, verify_counts(path, o, NULL, NULL, NULL, NULL, NULL, &err));

    /* several storages are shards, of a bag only */
    folder_copy(&other, &f);
    OK(holdall_options_set_storage(o, two + 1, 1, &err));
    OK(holdall_options_set_storage(o, (holdall_storage *[]){two[1], two[1]}, 2, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_schunk_open(NULL, HOLDALL_READ, o, &s, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_writer_open(NULL, HOLDALL_APPEND, o, &w, &err));
    holdall_bag *both;
    OK(holdall_bag_open(NULL, o, &both, &err));
    EQUAL(holdall_bag_record_count(both), 20);
    check_range(both, 10, 10, 0);
    holdall_bag_close(both);

    /* removed: the path applies again. The handle that has the storage continues. */
    OK(holdall_options_set_storage(o, NULL, 0, &err));
    GIVES(HOLDALL_E_MISSING, holdall_bag_open(path, o, &both, &err));
    holdall_options_free(o);
    EQUAL(f.destroyed, 0);
    check_range(bag, 0, 10, 0);
    holdall_bag_close(bag);
    EQUAL(f.destroyed, 1);
    holdall_storage_free(two[1]);
    EQUAL(other.destroyed, 1);
    folder_clear(&f);
    folder_clear(&other);
}

int main(void)
{
    RUN(a_bag_in_memory_is_read);
    RUN(a_bag_without_a_name_is_not_compressed);
    RUN(several_storages_are_shards);
    RUN(destroy_is_called_once_and_last);
    RUN(structures_of_other_sizes_are_accepted_or_refused);
    RUN(wrong_results_of_functions_are_detected);
    RUN(functions_are_called_on_the_callers_thread);
    RUN(functions_store_a_bag);
    RUN(functions_store_the_same_bytes_as_a_path);
    RUN(storage_is_an_option);
    return 0;
}
