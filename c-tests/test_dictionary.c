/* Bags that store a dictionary: trained by the writer, or by holdall_dictionary_train(). */
#include "check.h"

enum { LINES = 4000, MOST = 128 };

static char data[LINES * MOST];
static uint64_t offsets[LINES + 1];

/* Short records that have much in common. */
static void make_lines(void)
{
    static const char *const cities[] = {"Berlin", "Lagos", "Lima", "Osaka", "Quito"};
    for (int i = 0; i < LINES; i++) {
        int n = snprintf(data + offsets[i], MOST, "{\"id\": %d, \"from\": \"%s\", \"to\": \"%s\"}", i,
                         cities[i % 5], cities[i * i % 5]);
        offsets[i + 1] = offsets[i] + (uint64_t)n;
    }
}

static holdall_options *dictionary_options(int32_t how, const void *dictionary, size_t n)
{
    holdall_options *o = holdall_options_new();
    OK(holdall_options_set(o, HOLDALL_OPT_BAG_DICTIONARY, how, &err));
    if (n > 0)
        OK(holdall_options_set_bytes(o, HOLDALL_OPT_DICTIONARY, dictionary, n, &err));
    return o;
}

static void write_lines(const char *path, holdall_mode mode, const holdall_options *o)
{
    holdall_bag_writer *w;
    OK(holdall_bag_writer_open(path, mode, o, &w, &err));
    OK(holdall_bag_writer_append_many(w, data, offsets, LINES, &err));
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
}

static void check_lines(const holdall_bag *bag, uint64_t first)
{
    holdall_records *records;
    OK(holdall_bag_read_range(bag, first, LINES, &records, &err));
    CHECK(memcmp(holdall_records_data(records), data, offsets[LINES]) == 0);
    CHECK(memcmp(holdall_records_offsets(records), offsets, sizeof offsets) == 0);
    holdall_records_free(records);
    char line[MOST];
    size_t n;
    OK(holdall_bag_read(bag, first + 7, line, sizeof line, &n, &err));
    CHECK(n == offsets[8] - offsets[7] && memcmp(line, data + offsets[7], n) == 0);
}

static size_t dictionary_of(const holdall_bag *bag, uint8_t *dst, size_t dst_size)
{
    size_t n = 99, again = 98;
    OK(holdall_bag_read_dictionary(bag, NULL, 0, &n, &err));
    if (n > 0) {
        GIVES(HOLDALL_E_BUFFER, holdall_bag_read_dictionary(bag, dst, n - 1, &again, &err));
        EQUAL(again, n);
    }
    OK(holdall_bag_read_dictionary(bag, dst, dst_size, &again, &err));
    EQUAL(again, n);
    return n;
}

static void a_writer_trains_and_stores_a_dictionary(void)
{
    static uint8_t dictionary[1 << 17];
    holdall_options *o = dictionary_options(HOLDALL_BAG_DICTIONARY_AUTO, NULL, 0);
    write_lines(in_tmp("plain.bagz"), HOLDALL_CREATE, NULL);
    write_lines(in_tmp("auto.bagz"), HOLDALL_CREATE, o);
    CHECK(file_size(in_tmp("auto.bagz")) < file_size(in_tmp("plain.bagz")) * 3 / 4);
    holdall_bag *bag = open_bag(in_tmp("plain.bagz"), NULL);
    EQUAL(dictionary_of(bag, dictionary, sizeof dictionary), 0);
    holdall_bag_close(bag);
    bag = open_bag(in_tmp("auto.bagz"), NULL);
    check_lines(bag, 0);
    CHECK(dictionary_of(bag, dictionary, sizeof dictionary) > 0);
    CHECK(memcmp(dictionary, "\x37\xa4\x30\xec", 4) == 0);
    holdall_bag_close(bag);

    /* appends use it, with or without the option */
    size_t before = file_size(in_tmp("auto.bagz"));
    write_lines(in_tmp("auto.bagz"), HOLDALL_APPEND, o);
    write_lines(in_tmp("auto.bagz"), HOLDALL_APPEND, NULL);
    holdall_options_free(o);
    CHECK(file_size(in_tmp("auto.bagz")) < 3 * before);
    bag = open_bag(in_tmp("auto.bagz"), NULL);
    EQUAL(holdall_bag_record_count(bag), 3 * LINES);
    check_lines(bag, LINES);
    check_lines(bag, 2 * LINES);
    holdall_bag_close(bag);
    OK(verify_counts(in_tmp("auto.bagz"), NULL, NULL, NULL, NULL, NULL, NULL, &err));
    TIDY();
}

static void a_trained_dictionary_is_stored(void)
{
    static uint8_t dictionary[4096], found[4096];
    size_t n = 0;
    OK(holdall_dictionary_train(data, offsets, LINES, dictionary, sizeof dictionary, &n, &err));
    CHECK(n > 256 && n <= sizeof dictionary);
    holdall_options *o = dictionary_options(HOLDALL_BAG_DICTIONARY_STORED, dictionary, n);
    write_lines(in_tmp("set@3.bagz"), HOLDALL_CREATE, o);
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "set-%05d-of-00003.bagz", i);
        now("%s", name);
        holdall_bag *alone = open_bag(in_tmp(name), NULL);
        EQUAL(dictionary_of(alone, found, sizeof found), n);
        CHECK(memcmp(found, dictionary, n) == 0);
        holdall_bag_close(alone);
    }
    holdall_bag *bag = open_bag(in_tmp("set@3.bagz"), NULL);
    check_lines(bag, 0);
    holdall_bag_close(bag);

    /* another one, or one that a bag without it would need */
    holdall_bag_writer *w;
    holdall_options *other = dictionary_options(HOLDALL_BAG_DICTIONARY_STORED, dictionary, n - 1);
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_bag_writer_open(in_tmp("set@3.bagz"), HOLDALL_APPEND, other, &w, &err));
    write_lines(in_tmp("none.bagz"), HOLDALL_CREATE, NULL);
    GIVES(HOLDALL_E_STATE,
          holdall_bag_writer_open(in_tmp("none.bagz"), HOLDALL_APPEND, o, &w, &err));
    holdall_options_free(other);
    holdall_options_free(o);
}

static void what_cannot_be_trained_or_stored_is_refused(void)
{
    uint8_t dst[1024];
    size_t n;
    GIVES(HOLDALL_E_ARGUMENT, holdall_dictionary_train(data, offsets, 1, dst, sizeof dst, &n, &err));
    GIVES(HOLDALL_E_ARGUMENT, holdall_dictionary_train(data, offsets, LINES, dst, 255, &n, &err));
    uint64_t descending[] = {5, 4};
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_dictionary_train(data, descending, 1, dst, sizeof dst, &n, &err));
    holdall_bag_writer *w;
    holdall_options *o = dictionary_options(HOLDALL_BAG_DICTIONARY_STORED, NULL, 0);
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_bag_writer_open(in_tmp("no.bagz"), HOLDALL_CREATE, o, &w, &err));
    CHECK(says("HOLDALL_OPT_DICTIONARY"));
    OK(holdall_options_set_bytes(o, HOLDALL_OPT_DICTIONARY, "raw content", 11, &err));
    GIVES(HOLDALL_E_ARGUMENT,
          holdall_bag_writer_open(in_tmp("no.bagz"), HOLDALL_CREATE, o, &w, &err));
    holdall_options_free(o);
    EQUAL(files_with("no.bagz"), 0);
}

int main(void)
{
    make_lines();
    RUN(a_writer_trains_and_stores_a_dictionary);
    RUN(a_trained_dictionary_is_stored);
    RUN(what_cannot_be_trained_or_stored_is_refused);
    return 0;
}
