/* The rules at the top of the header: NULL and values out of range, results on failure, the error
 * struct, closing in any order, names and versions. No call prints or installs handlers. */
#include "callbacks.h"

#include <signal.h>
#include <stddef.h>

/* GIVES(), and the same call without an error struct. */
#define REFUSES(call, call_without) \
    (GIVES(HOLDALL_E_ARGUMENT, call), CHECK((call_without) == HOLDALL_E_ARGUMENT))

/* A pointer that no call may leave in an *out handle. */
#define STALE(type) ((type *)(void *)&err)

static const char *path;

static void versions_agree(void)
{
    EQUAL(holdall_version_number(), HOLDALL_VERSION_NUMBER);
    EQUAL(HOLDALL_VERSION_NUMBER,
          HOLDALL_VERSION_MAJOR * 1000000 + HOLDALL_VERSION_MINOR * 1000 + HOLDALL_VERSION_PATCH);
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", HOLDALL_VERSION_MAJOR, HOLDALL_VERSION_MINOR,
             HOLDALL_VERSION_PATCH);
    CHECK(strncmp(holdall_version_text(), version, strlen(version)) == 0);
    CHECK(strstr(holdall_version_text(), "zstd/1.") != NULL);
    CHECK(holdall_version_text() == holdall_version_text());
}

static void statuses_have_names_and_numbers(void)
{
    static const struct {
        holdall_status status;
        int number;
        const char *name;
    } all[] = {
#define STATUS(name, number) {name, number, #name}
        STATUS(HOLDALL_OK, 0),
        STATUS(HOLDALL_NOT_FOUND, 1),
        STATUS(HOLDALL_END, 2),
        STATUS(HOLDALL_DAMAGED, 3),
        STATUS(HOLDALL_E_ARGUMENT, -1),
        STATUS(HOLDALL_E_INTERNAL, -2),
        STATUS(HOLDALL_E_MEMORY, -3),
        STATUS(HOLDALL_E_BUFFER, -4),
        STATUS(HOLDALL_E_IO, -5),
        STATUS(HOLDALL_E_MISSING, -6),
        STATUS(HOLDALL_E_EXISTS, -7),
        STATUS(HOLDALL_E_FORMAT, -8),
        STATUS(HOLDALL_E_CHECKSUM, -9),
        STATUS(HOLDALL_E_VERSION, -10),
        STATUS(HOLDALL_E_CODEC, -11),
        STATUS(HOLDALL_E_TYPE, -12),
        STATUS(HOLDALL_E_RANGE, -13),
        STATUS(HOLDALL_E_STATE, -14),
        STATUS(HOLDALL_E_LIMIT, -15),
        STATUS(HOLDALL_E_CANCELLED, -16),
        STATUS(HOLDALL_E_CALLBACK, -17),
        STATUS(HOLDALL_E_BUSY, -18),
        STATUS(HOLDALL_E_UNSUPPORTED, -19),
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        EQUAL(all[i].status, all[i].number);
        CHECK(strcmp(holdall_status_name(all[i].status), all[i].name) == 0);
    }
    static const holdall_status unknown[] = {4, 1000, -20, -1000, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        CHECK(holdall_status_name(unknown[i]) != NULL);
}

static void the_error_has_512_bytes(void)
{
    EQUAL(sizeof(holdall_error), 512);
    EQUAL(offsetof(holdall_error, status), 0);
    EQUAL(offsetof(holdall_error, os_code), 4);
    EQUAL(offsetof(holdall_error, position), 8);
    EQUAL(offsetof(holdall_error, message), 16);
    EQUAL(sizeof err.message, 496);
}

static void null_is_an_argument_error(void)
{
    holdall_bag *bag = open_bag(path, NULL), *slice;
    holdall_bag_writer *writer = open_writer(in_tmp("null.bag"), HOLDALL_CREATE, NULL), *writer2;
    holdall_records *records;
    holdall_storage *io, *none = NULL;
    holdall_options *options = options_of(WITH(HOLDALL_OPT_THREADS, 1));
    holdall_storage_functions no_functions = {.struct_size = sizeof no_functions};
    holdall_format format;
    holdall_kind kind;
    uint64_t index = 0, offsets[2] = {0, 1};
    uint8_t byte = 0;
    size_t n;

    REFUSES(holdall_options_set(NULL, HOLDALL_OPT_THREADS, 1, &err),
            holdall_options_set(NULL, HOLDALL_OPT_THREADS, 1, NULL));
    REFUSES(holdall_options_set_bytes(NULL, HOLDALL_OPT_DICTIONARY, "x", 1, &err),
            holdall_options_set_bytes(NULL, HOLDALL_OPT_DICTIONARY, "x", 1, NULL));
    REFUSES(holdall_options_set_bytes(options, HOLDALL_OPT_DICTIONARY, NULL, 1, &err),
            holdall_options_set_bytes(options, HOLDALL_OPT_DICTIONARY, NULL, 1, NULL));
    holdall_options_set_progress(NULL, NULL, NULL);
    holdall_options_set_progress(options, NULL, NULL);

    REFUSES(holdall_storage_from_functions(NULL, &io, &err),
            holdall_storage_from_functions(NULL, &io, NULL));
    REFUSES(holdall_storage_from_functions(&no_functions, NULL, &err),
            holdall_storage_from_functions(&no_functions, NULL, NULL));
    REFUSES(holdall_storage_from_memory(NULL, 1, &io, &err),
            holdall_storage_from_memory(NULL, 1, &io, NULL));
    REFUSES(holdall_storage_from_memory("x", 1, NULL, &err),
            holdall_storage_from_memory("x", 1, NULL, NULL));

    REFUSES(holdall_identify(NULL, &format, &kind, &err),
            holdall_identify(NULL, &format, &kind, NULL));
    REFUSES(holdall_bag_files(NULL, NULL, 0, &n, &err), holdall_bag_files(NULL, NULL, 0, &n, NULL));
    REFUSES(holdall_bag_files(path, NULL, 0, NULL, &err),
            holdall_bag_files(path, NULL, 0, NULL, NULL));
    REFUSES(verify_counts(NULL, NULL, NULL, NULL, NULL, NULL, NULL, &err),
            verify_counts(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    REFUSES(repair_counts(NULL, NULL, NULL, NULL, &err),
            repair_counts(NULL, NULL, NULL, NULL, NULL));
    REFUSES(holdall_checksum_compute(HOLDALL_CHECKSUM_MD5, NULL, 1, NULL, 0, &n, &err),
            holdall_checksum_compute(HOLDALL_CHECKSUM_MD5, NULL, 1, NULL, 0, &n, NULL));
    REFUSES(holdall_checksum_compute(HOLDALL_CHECKSUM_MD5, "x", 1, NULL, 0, NULL, &err),
            holdall_checksum_compute(HOLDALL_CHECKSUM_MD5, "x", 1, NULL, 0, NULL, NULL));

    REFUSES(holdall_bag_open(NULL, NULL, &slice, &err), holdall_bag_open(NULL, NULL, &slice, NULL));
    REFUSES(holdall_bag_open(path, NULL, NULL, &err), holdall_bag_open(path, NULL, NULL, NULL));
    REFUSES(bag_open_io(NULL, 1, NULL, &slice, &err), bag_open_io(NULL, 1, NULL, &slice, NULL));
    REFUSES(bag_open_io(&none, 1, NULL, &slice, &err), bag_open_io(&none, 1, NULL, &slice, NULL));
    OK(holdall_storage_from_memory(NULL, 0, &io, &err));
    REFUSES(bag_open_io(&io, 0, NULL, &slice, &err), bag_open_io(NULL, 0, NULL, &slice, NULL));
    REFUSES(bag_open_io(&io, 1, NULL, NULL, &err), bag_open_io(&io, 1, NULL, NULL, NULL));
    holdall_storage_free(io);
    REFUSES(holdall_bag_slice(NULL, 0, 0, 1, &slice, &err),
            holdall_bag_slice(NULL, 0, 0, 1, &slice, NULL));
    REFUSES(holdall_bag_slice(bag, 0, 1, 1, NULL, &err),
            holdall_bag_slice(bag, 0, 1, 1, NULL, NULL));
    REFUSES(holdall_bag_read(NULL, 0, NULL, 0, &n, &err),
            holdall_bag_read(NULL, 0, NULL, 0, &n, NULL));
    REFUSES(holdall_bag_read(bag, 0, NULL, 0, NULL, &err),
            holdall_bag_read(bag, 0, NULL, 0, NULL, NULL));
    REFUSES(holdall_bag_read(bag, 0, &byte, 1, NULL, &err),
            holdall_bag_read(bag, 0, &byte, 1, NULL, NULL));
    REFUSES(holdall_bag_read_range(NULL, 0, 1, &records, &err),
            holdall_bag_read_range(NULL, 0, 1, &records, NULL));
    REFUSES(holdall_bag_read_range(bag, 0, 1, NULL, &err),
            holdall_bag_read_range(bag, 0, 1, NULL, NULL));
    REFUSES(holdall_bag_read_indices(NULL, &index, 1, &records, &err),
            holdall_bag_read_indices(NULL, &index, 1, &records, NULL));
    REFUSES(holdall_bag_read_indices(bag, NULL, 1, &records, &err),
            holdall_bag_read_indices(bag, NULL, 1, &records, NULL));
    REFUSES(holdall_bag_read_indices(bag, &index, 1, NULL, &err),
            holdall_bag_read_indices(bag, &index, 1, NULL, NULL));
    REFUSES(holdall_bag_checksum(NULL, HOLDALL_CHECKSUM_MD5, NULL, 0, &n, &err),
            holdall_bag_checksum(NULL, HOLDALL_CHECKSUM_MD5, NULL, 0, &n, NULL));
    REFUSES(holdall_bag_checksum(bag, HOLDALL_CHECKSUM_MD5, NULL, 0, NULL, &err),
            holdall_bag_checksum(bag, HOLDALL_CHECKSUM_MD5, NULL, 0, NULL, NULL));

    REFUSES(holdall_bag_writer_open(NULL, HOLDALL_CREATE, NULL, &writer2, &err),
            holdall_bag_writer_open(NULL, HOLDALL_CREATE, NULL, &writer2, NULL));
    REFUSES(holdall_bag_writer_open(in_tmp("x.bag"), HOLDALL_CREATE, NULL, NULL, &err),
            holdall_bag_writer_open(in_tmp("x.bag"), HOLDALL_CREATE, NULL, NULL, NULL));
    REFUSES(bag_writer_open_io(NULL, HOLDALL_CREATE, NULL, &writer2, &err),
            bag_writer_open_io(NULL, HOLDALL_CREATE, NULL, &writer2, NULL));
    REFUSES(holdall_bag_writer_append(NULL, "x", 1, &err),
            holdall_bag_writer_append(NULL, "x", 1, NULL));
    REFUSES(holdall_bag_writer_append(writer, NULL, 1, &err),
            holdall_bag_writer_append(writer, NULL, 1, NULL));
    REFUSES(holdall_bag_writer_append_many(NULL, "x", offsets, 1, &err),
            holdall_bag_writer_append_many(NULL, "x", offsets, 1, NULL));
    REFUSES(holdall_bag_writer_append_many(writer, NULL, offsets, 1, &err),
            holdall_bag_writer_append_many(writer, NULL, offsets, 1, NULL));
    REFUSES(holdall_bag_writer_append_many(writer, "x", NULL, 1, &err),
            holdall_bag_writer_append_many(writer, "x", NULL, 1, NULL));
    REFUSES(holdall_bag_writer_commit(NULL, &err), holdall_bag_writer_commit(NULL, NULL));
    EQUAL(holdall_bag_writer_record_count(writer), 0);

    holdall_options_free(options);
    holdall_bag_writer_close(writer);
    holdall_bag_close(bag);
}

static void null_is_0_for_getters_and_allowed_for_close(void)
{
    EQUAL(holdall_bag_record_count(NULL), 0);
    EQUAL(bag_info(NULL).codec, 0);
    EQUAL(bag_info(NULL).checksum, 0);
    EQUAL(bag_info(NULL).limits, 0);
    EQUAL(bag_info(NULL).stored_bytes, 0);
    EQUAL(holdall_bag_shard_count(NULL), 0);
    EQUAL(holdall_bag_writer_record_count(NULL), 0);
    EQUAL(holdall_records_count(NULL), 0);
    EQUAL(holdall_records_damaged_count(NULL), 0);
    CHECK(holdall_records_data(NULL) == NULL);
    CHECK(holdall_records_offsets(NULL) == NULL);
    CHECK(holdall_records_damaged_positions(NULL) == NULL);
    holdall_options_free(NULL);
    holdall_storage_free(NULL);
    holdall_bag_close(NULL);
    holdall_records_free(NULL);
    holdall_bag_writer_close(NULL);
}

static void null_is_allowed_for_zero_bytes(void)
{
    holdall_storage *io;
    holdall_bag *bag;
    holdall_records *records;
    holdall_bag_writer *writer;
    uint64_t nothing[2] = {0, 0};
    size_t n = 9;

    OK(holdall_storage_from_memory(NULL, 0, &io, &err));
    OK(bag_open_io(&io, 1, NULL, &bag, &err));
    EQUAL(holdall_bag_record_count(bag), 0);
    OK(holdall_bag_read_indices(bag, NULL, 0, &records, &err));
    EQUAL(holdall_records_count(records), 0);
    CHECK(holdall_records_data(records) != NULL && holdall_records_offsets(records) != NULL);
    EQUAL(holdall_records_offsets(records)[0], 0);
    holdall_records_free(records);
    holdall_bag_close(bag);
    holdall_storage_free(io);

    OK(holdall_checksum_compute(HOLDALL_CHECKSUM_NONE, NULL, 0, NULL, 0, &n, &err));
    EQUAL(n, 0);
    writer = open_writer(in_tmp("nothing.bag"), HOLDALL_CREATE, NULL);
    OK(holdall_bag_writer_append(writer, NULL, 0, &err));
    OK(holdall_bag_writer_append_many(writer, NULL, nothing, 1, &err));
    OK(holdall_bag_writer_append_many(writer, NULL, NULL, 0, &err));
    EQUAL(holdall_bag_writer_record_count(writer), 2);
    holdall_bag_writer_close(writer);
}

static void a_failure_leaves_null_handles_and_other_results_untouched(void)
{
    const char *missing = in_tmp("no-such.bag");
    holdall_bag *bag = STALE(holdall_bag), *good = open_bag(path, NULL);
    holdall_bag_writer *writer = STALE(holdall_bag_writer);
    holdall_records *records = STALE(holdall_records);
    holdall_storage *io = STALE(holdall_storage);
    holdall_storage_functions no_functions = {.struct_size = sizeof no_functions};
    uint64_t index = 1000;

    GIVES(HOLDALL_E_MISSING, holdall_bag_open(missing, NULL, &bag, &err));
    CHECK(bag == NULL);
    CHECK(says("no-such.bag"));
    bag = STALE(holdall_bag);
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_open(NULL, NULL, &bag, &err));
    CHECK(bag == NULL);
    bag = STALE(holdall_bag);
    GIVES(HOLDALL_E_ARGUMENT, bag_open_io(NULL, 1, NULL, &bag, &err));
    CHECK(bag == NULL);
    bag = STALE(holdall_bag);
    GIVES(HOLDALL_E_RANGE, holdall_bag_slice(good, 0, 1000, 1, &bag, &err));
    CHECK(bag == NULL);
    GIVES(HOLDALL_E_MISSING, holdall_bag_writer_open(missing, HOLDALL_APPEND, NULL, &writer, &err));
    CHECK(writer == NULL);
    writer = STALE(holdall_bag_writer);
    GIVES(HOLDALL_E_ARGUMENT, bag_writer_open_io(NULL, HOLDALL_CREATE, NULL, &writer, &err));
    CHECK(writer == NULL);
    GIVES(HOLDALL_E_ARGUMENT, holdall_storage_from_functions(&no_functions, &io, &err));
    CHECK(io == NULL);
    io = STALE(holdall_storage);
    GIVES(HOLDALL_E_ARGUMENT, holdall_storage_from_memory(NULL, 1, &io, &err));
    CHECK(io == NULL);
    GIVES(HOLDALL_E_RANGE, holdall_bag_read_range(good, 0, 1000, &records, &err));
    CHECK(records == NULL);
    records = STALE(holdall_records);
    GIVES(HOLDALL_E_RANGE, holdall_bag_read_indices(good, &index, 1, &records, &err));
    CHECK(records == NULL);
    /* The handle is no exception: *out is NULL if the handle itself is missing. */
    bag = STALE(holdall_bag);
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_slice(NULL, 0, 0, 1, &bag, &err));
    CHECK(bag == NULL);
    records = STALE(holdall_records);
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_read_range(NULL, 0, 1, &records, &err));
    CHECK(records == NULL);
    records = STALE(holdall_records);
    GIVES(HOLDALL_E_ARGUMENT, holdall_bag_read_indices(NULL, &index, 1, &records, &err));
    CHECK(records == NULL);

    size_t n = 77;
    uint8_t dst[64];
    memset(dst, 7, sizeof dst);
    GIVES(HOLDALL_E_RANGE, holdall_bag_read(good, 1000, dst, sizeof dst, &n, &err));
    EQUAL(n, 77);
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_bag_checksum(good, HOLDALL_CHECKSUM_ZSTD, dst, sizeof dst, &n, &err));
    EQUAL(n, 77);
    GIVES(HOLDALL_E_ARGUMENT, holdall_checksum_compute(99, "x", 1, dst, sizeof dst, &n, &err));
    EQUAL(n, 77);
    /* *n is the required size if the buffer is too short, and the buffer is not changed. */
    GIVES(HOLDALL_E_BUFFER, holdall_bag_read(good, 0, dst, 39, &n, &err));
    EQUAL(n, 40);
    GIVES(HOLDALL_E_BUFFER, holdall_bag_checksum(good, HOLDALL_CHECKSUM_SHA256, dst, 31, &n, &err));
    EQUAL(n, 32);
    GIVES(HOLDALL_E_BUFFER,
          holdall_checksum_compute(HOLDALL_CHECKSUM_MD5, "x", 1, dst, 0, &n, &err));
    EQUAL(n, 16);
    for (size_t i = 0; i < sizeof dst; i++)
        EQUAL(dst[i], 7);

    holdall_format format = 91;
    holdall_kind kind = 92;
    GIVES(HOLDALL_E_MISSING, holdall_identify(missing, &format, &kind, &err));
    EQUAL(format, 91);
    EQUAL(kind, 92);
    holdall_repair_result repaired = {sizeof repaired, 93, 94, 95};
    GIVES(HOLDALL_E_MISSING, holdall_repair(missing, NULL, &repaired, &err));
    EQUAL(repaired.retained, 93);
    EQUAL(repaired.lost, 94);
    EQUAL(repaired.parts_removed, 95);
    holdall_verify_result verified = {sizeof verified, 95, 96, 97};
    holdall_options *options = options_of(WITH(HOLDALL_OPT_LEVEL, 3));
    GIVES(HOLDALL_E_ARGUMENT, holdall_verify(path, options, NULL, NULL, &verified, &err));
    EQUAL(verified.intact, 95);
    EQUAL(verified.corrupt, 96);
    EQUAL(verified.unchecked, 97);
    holdall_options_free(options);
    holdall_bag_close(good);
    TIDY();
}

static void success_leaves_the_error_alone(void)
{
    holdall_bag *bag = NULL;
    preset_error();
    holdall_error before = err;
    CHECK(holdall_bag_open(path, NULL, &bag, &err) == HOLDALL_OK);
    CHECK(memcmp(&before, &err, sizeof err) == 0);
    holdall_bag_close(bag);
}

static void errors_have_codes_positions_and_messages(void)
{
    holdall_bag *bag;
    uint8_t dst[8];
    size_t n;
    GIVES(HOLDALL_E_MISSING, holdall_bag_open(in_tmp("no-such.bag"), NULL, &bag, &err));
    EQUAL(err.os_code, ENOENT);
    EQUAL(err.position, -1);
    bag = open_bag(path, NULL);
    GIVES(HOLDALL_E_RANGE, holdall_bag_read(bag, 1000, dst, sizeof dst, &n, &err));
    EQUAL(err.position, 1000);
    EQUAL(err.os_code, 0);
    GIVES(HOLDALL_E_RANGE, holdall_bag_read(bag, UINT64_MAX, dst, sizeof dst, &n, &err));
    GIVES(HOLDALL_E_BUFFER, holdall_bag_read(bag, 2, dst, sizeof dst, &n, &err));
    EQUAL(err.position, 2);
    holdall_bag_close(bag);

    /* The middle of a message that is too long is omitted: the path is at its start, and the reason
     * at its end. */
    char name[900];
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = i % 50 == 49 ? '/' : 'n';
    name[sizeof name - 1] = '\0';
    GIVES(HOLDALL_E_MISSING, holdall_bag_open(in_tmp(name), NULL, &bag, &err));
    size_t length = strlen(err.message);
    CHECK(length >= 490 && strstr(err.message, "...") != NULL &&
          strncmp(err.message, in_tmp("n"), 8) == 0);
    CHECK(strstr(err.message, "No such file") != NULL ||
          strstr(err.message, "no such file") != NULL ||
          strstr(err.message, "no such folder") != NULL);
}

static void a_path_may_contain_any_bytes(void)
{
    const char *strange = in_tmp("\xFF\xFE\t\x80 \xC3\xA9.bag");
    write_bag(strange, HOLDALL_CREATE, NULL, 12);
    check_bag(strange, NULL, 12);
    uint64_t intact = 0;
    OK(verify_counts(strange, NULL, NULL, NULL, &intact, NULL, NULL, &err));
    EQUAL(intact, 12);
    holdall_bag *bag;
    /* GIVES() checks that the message, which contains the path, is UTF-8. */
    GIVES(HOLDALL_E_MISSING, holdall_bag_open(in_tmp("\xFF\xFE.bag"), NULL, &bag, &err));
}

static void unknown_values_are_refused(void)
{
    holdall_bag_writer *writer;
    static const holdall_mode modes[] = {
        HOLDALL_READ, 0,        1, HOLDALL_REPLACE + 1, HOLDALL_FORMAT_BAGZ, HOLDALL_KIND_BAG, -1,
        INT32_MAX,    INT32_MIN};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        GIVES(HOLDALL_E_ARGUMENT,
              holdall_bag_writer_open(in_tmp("mode.bag"), modes[i], NULL, &writer, &err));
    EQUAL(files_with("mode.bag"), 0);
    holdall_bag *bag = open_bag(path, NULL);
    static const int32_t checksums[] = {
        HOLDALL_CHECKSUM_ZSTD,     0,  1,         HOLDALL_CODEC_ZSTD,
        HOLDALL_CHECKSUM_ZSTD + 1, -1, INT32_MAX, INT32_MIN};
    size_t n;
    for (size_t i = 0; i < sizeof checksums / sizeof checksums[0]; i++) {
        GIVES(HOLDALL_E_ARGUMENT,
              holdall_checksum_compute(checksums[i], "x", 1, NULL, 0, &n, &err));
        GIVES(HOLDALL_E_ARGUMENT, holdall_bag_checksum(bag, checksums[i], NULL, 0, &n, &err));
    }
    holdall_bag_close(bag);
}

/* Closes five handles that depend on each other, in one of the 120 orders. */
static void close_in_order(int order)
{
    enum { BAG, SLICE, SLICE_OF_SLICE, RECORDS, OPTIONS, HANDLES };
    size_t size;
    uint8_t *bytes = load(path, &size);
    holdall_storage *io;
    holdall_bag *bag, *slice, *slice2;
    holdall_records *records;
    holdall_options *options = options_of(WITH(HOLDALL_OPT_THREADS, 1));
    OK(holdall_storage_from_memory(bytes, size, &io, &err));
    OK(bag_open_io(&io, 1, options, &bag, &err));
    holdall_storage_free(io);
    OK(holdall_bag_slice(bag, 19, 20, -1, &slice, &err));
    OK(holdall_bag_slice(slice, 1, 10, 2, &slice2, &err));
    OK(holdall_bag_read_range(slice2, 0, 10, &records, &err));
    bool open[HANDLES] = {true, true, true, true, true};
    for (int left = HANDLES; left > 0; left--) {
        int which = order % left;
        order /= left;
        int handle = 0;
        while (!open[handle] || which-- > 0)
            handle++;
        open[handle] = false;
        switch (handle) {
        case BAG: holdall_bag_close(bag); break;
        case SLICE: holdall_bag_close(slice); break;
        case SLICE_OF_SLICE: holdall_bag_close(slice2); break;
        case RECORDS: holdall_records_free(records); break;
        default: holdall_options_free(options); break;
        }
        if (open[BAG])
            check_record(bag, 5, 5);
        if (open[SLICE])
            check_record(slice, 5, 14);
        if (open[SLICE_OF_SLICE])
            check_record(slice2, 5, 8);
        if (open[RECORDS])
            check_in_batch(records, 5, 8);
    }
    free(bytes);
}

static void handles_may_be_closed_in_any_order(void)
{
    for (int order = 0; order < 120; order++)
        close_in_order(order);
}

static void quiet_calls(holdall_status *got)
{
    holdall_bag *bag = NULL;
    holdall_records *records = NULL;
    got[0] = holdall_bag_open(in_tmp("no-such.bag"), NULL, &bag, &err);
    got[1] = holdall_bag_open(NULL, NULL, NULL, NULL);
    got[2] = holdall_bag_open(path, NULL, &bag, &err);
    got[3] = holdall_bag_read_range(bag, 1000, 1, &records, &err);
    holdall_bag_close(bag);
    got[4] = holdall_bag_open(in_tmp("said"), NULL, &bag, &err);
    holdall_bag_close(bag);
    got[5] = verify_counts(in_tmp("no-such.bag"), NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}

/* No call prints, including calls that fail. */
static void nothing_is_printed(void)
{
    static const holdall_status want[] = {HOLDALL_E_MISSING, HOLDALL_E_ARGUMENT, HOLDALL_OK,
                                          HOLDALL_E_RANGE,   HOLDALL_OK,         HOLDALL_E_MISSING};
    check_silent(quiet_calls, want, 6);
}

enum { SIGNALS = 32 };

static void signal_handlers(void (*handlers[SIGNALS])(int))
{
    for (int s = 1; s < SIGNALS; s++) {
        struct sigaction a;
        memset(&a, 0, sizeof a);
        handlers[s] = sigaction(s, NULL, &a) == 0 ? a.sa_handler : SIG_DFL;
    }
}

int main(void)
{
    void (*before[SIGNALS])(int), (*after[SIGNALS])(int);
    signal_handlers(before);

    char saved[1024];
    snprintf(saved, sizeof saved, "%s", in_tmp("rules.bag"));
    path = saved;
    write_bag(path, HOLDALL_CREATE, NULL, 20);

    RUN(versions_agree);
    RUN(statuses_have_names_and_numbers);
    RUN(the_error_has_512_bytes);
    RUN(null_is_an_argument_error);
    RUN(null_is_0_for_getters_and_allowed_for_close);
    RUN(null_is_allowed_for_zero_bytes);
    RUN(a_failure_leaves_null_handles_and_other_results_untouched);
    RUN(success_leaves_the_error_alone);
    RUN(errors_have_codes_positions_and_messages);
    RUN(a_path_may_contain_any_bytes);
    RUN(unknown_values_are_refused);
    RUN(handles_may_be_closed_in_any_order);
    RUN(nothing_is_printed);

    signal_handlers(after);
    for (int s = 1; s < SIGNALS; s++)
        CHECK(before[s] == after[s]);
    return 0;
}
