/* Results of holdall_identify(), holdall_verify() and holdall_checksum_compute(). */
#include "callbacks.h"

static void identify(const char *path, holdall_format want_format, holdall_kind want_kind)
{
    holdall_format format = 91;
    holdall_kind kind = 92;
    OK(holdall_identify(path, &format, &kind, &err));
    EQUAL(format, want_format);
    EQUAL(kind, want_kind);
    OK(holdall_identify(path, NULL, &kind, &err));
    OK(holdall_identify(path, &format, NULL, &err));
    OK(holdall_identify(path, NULL, NULL, &err));
}

static void containers_are_identified(void)
{
    write_bag(in_tmp("i.bag"), HOLDALL_CREATE, NULL, 5);
    write_bag(in_tmp("i.bagz"), HOLDALL_CREATE, NULL, 5);
    write_bag(in_tmp("i"), HOLDALL_CREATE, NULL, 5);
    write_bag(in_tmp("apart.bag"), HOLDALL_CREATE,
              WITH(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE), 5);
    write_bag(in_tmp("empty.bag"), HOLDALL_CREATE, NULL, 0);
    static const char *const bags[] = {"i.bag", "i.bagz", "i", "apart.bag", "empty.bag"};
    for (int k = 0; k < 5; k++) {
        now("%s", bags[k]);
        identify(in_tmp(bags[k]), HOLDALL_FORMAT_BAGZ, HOLDALL_KIND_BAG);
    }
    char spec[2200];
    snprintf(spec, sizeof spec, "%s,%s", in_tmp("i.bag"), in_tmp("i.bagz"));
    identify(spec, HOLDALL_FORMAT_BAGZ, HOLDALL_KIND_BAG);

    /* by their first bytes, for any name */
    uint8_t blosc2[64] = {0x9e, 0xa8, 'b', '2', 'f', 'r', 'a', 'm', 'e', 0},
            bloscpack[64] = "blpk\1";
    save(in_tmp("frame.bag"), blosc2, sizeof blosc2);
    identify(in_tmp("frame.bag"), HOLDALL_FORMAT_B2FRAME, HOLDALL_KIND_SCHUNK);
    save(in_tmp("x.blp"), bloscpack, sizeof bloscpack);
    identify(in_tmp("x.blp"), HOLDALL_FORMAT_BLOSCPACK, HOLDALL_KIND_SCHUNK);

    holdall_format format = 91;
    holdall_kind kind = 92;
    save(in_tmp("text"), "nothing that is known here, only texts", 38);
    GIVES(HOLDALL_E_FORMAT, holdall_identify(in_tmp("text"), &format, &kind, &err));
    save(in_tmp("nothing"), "", 0);
    GIVES(HOLDALL_E_FORMAT, holdall_identify(in_tmp("nothing"), &format, &kind, &err));
    GIVES(HOLDALL_E_MISSING, holdall_identify(in_tmp("no-such"), &format, &kind, &err));
    CHECK(holdall_identify(in_tmp("."), &format, &kind, &err) < 0);
    EQUAL(format, 91);
    EQUAL(kind, 92);
}

static void containers_are_verified(void)
{
    static const char *const names[] = {"v.bag", "v.bagz"};
    for (int k = 0; k < 2; k++) {
        const char *path = in_tmp(names[k]);
        write_bag(path, HOLDALL_CREATE, NULL, 3000);
        faults f = {.thread = pthread_self()};
        uint64_t intact = 0, corrupt = 9, unchecked = 9;
        now("%s, intact", names[k]);
        OK(verify_counts(path, NULL, note, &f, &intact, &corrupt, &unchecked, &err));
        CHECK(f.count == 0 && intact == 3000 && corrupt == 0 && unchecked == 0);

        now("%s, three faults", names[k]);
        size_t n, size = 0;
        uint8_t *bytes = load(path, &n);
        uint64_t hit[3] = {2, 1505, 2999}, limits_at = 0;
        for (int b = 7; b >= 0; b--)
            limits_at = limits_at << 8 | bytes[n - 8 + (size_t)b];
        for (int h = 0; h < 3; h++) {
            uint64_t end = 0;
            for (int b = 7; b >= 0; b--)
                end = end << 8 | bytes[limits_at + 8 * hit[h] + (uint64_t)b];
            bytes[end - 1] ^= 0x10;
        }
        save(path, bytes, n);
        for (int threads = 1; threads < 3; threads++) {
            holdall_options *o =
                options_of(WITH(HOLDALL_OPT_THREADS, threads, HOLDALL_OPT_IO, IO(threads - 1)));
            f = (faults){.thread = pthread_self()};
            preset_error();
            GIVES(HOLDALL_E_CHECKSUM,
                  verify_counts(path, o, note, &f, &intact, &corrupt, &unchecked, &err));
            CHECK(f.count == 3 && intact == 2997 && corrupt == 3 && unchecked == 0);
            CHECK(strcmp(f.parts[0], "record 2") == 0 && strcmp(f.parts[1], "record 1505") == 0 &&
                  strcmp(f.parts[2], "record 2999") == 0);
            EQUAL(err.position, 2);
            EQUAL(f.errors[2].position, 2999);
            holdall_options_free(o);
        }
        /* stopped by the callback */
        f = (faults){.thread = pthread_self(), .stop_at = 2};
        GIVES(HOLDALL_E_CHECKSUM, verify_counts(path, NULL, note, &f, NULL, NULL, NULL, &err));
        EQUAL(f.count, 2);
        EQUAL(err.position, 2);
        /* without a callback */
        GIVES(HOLDALL_E_CHECKSUM,
              verify_counts(path, NULL, NULL, NULL, NULL, &corrupt, NULL, &err));
        EQUAL(corrupt, 3);
        /* at the open, if requested */
        holdall_bag *none;
        GIVES(HOLDALL_E_CHECKSUM, try_open(path, WITH(HOLDALL_OPT_VERIFY, 2), &none));
        EQUAL(err.position, 2);
        /* checksums beside the data are not verified, those in frames always are */
        holdall_bag *bag = open_bag(path, WITH(HOLDALL_OPT_VERIFY, 0));
        uint8_t got[RECORD_MOST];
        GIVES(k ? HOLDALL_E_CHECKSUM : HOLDALL_OK,
              holdall_bag_read(bag, 2, got, sizeof got, &size, &err));
        holdall_bag_close(bag);
        free(bytes);
    }
}

static void content_without_checksums_is_unchecked(void)
{
    static const char *const names[] = {"u.bag", "u.bagz"};
    for (int k = 0; k < 2; k++) {
        const char *path = in_tmp(names[k]);
        write_bag(path, HOLDALL_CREATE, WITH(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE), 50);
        uint64_t intact = 9, corrupt = 9, unchecked = 9;
        OK(verify_counts(path, NULL, NULL, NULL, &intact, &corrupt, &unchecked, &err));
        EQUAL(corrupt, 0);
        EQUAL(intact + unchecked, 50);
        /* an empty record has nothing to check */
        CHECK(unchecked >= 40);
    }
}

static void a_bag_that_cannot_be_opened_is_one_fault(void)
{
    faults f = {.thread = pthread_self()};
    uint64_t intact = 9, corrupt = 9, unchecked = 9;
    GIVES(HOLDALL_E_MISSING, verify_counts(in_tmp("no-such.bag"), NULL, note, &f, &intact, &corrupt,
                                           &unchecked, &err));
    EQUAL(f.count, 1);
    CHECK(strstr(f.parts[0], "no-such.bag") != NULL);
    EQUAL(f.errors[0].position, -1);
    EQUAL(f.errors[0].status, HOLDALL_E_MISSING);
    save(in_tmp("short.bag"), "abc", 3);
    f = (faults){.thread = pthread_self()};
    GIVES(HOLDALL_E_FORMAT,
          verify_counts(in_tmp("short.bag"), NULL, note, &f, &intact, &corrupt, &unchecked, &err));
    EQUAL(f.count, 1);
}

/* Digests of "abc", as the standards print them; 32-bit checksums are little-endian. */
static void checksums_have_their_standard_values(void)
{
    static const struct {
        int sum;
        const char *hex;
    } all[] = {
        {HOLDALL_CHECKSUM_NONE, ""},
        {HOLDALL_CHECKSUM_ADLER32, "27014d02"},
        {HOLDALL_CHECKSUM_CRC32, "c2412435"},
        {HOLDALL_CHECKSUM_MD5, "900150983cd24fb0d6963f7d28e17f72"},
        {HOLDALL_CHECKSUM_SHA1, "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {HOLDALL_CHECKSUM_SHA224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"},
        {HOLDALL_CHECKSUM_SHA256,
         "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {HOLDALL_CHECKSUM_SHA384, "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
                                  "8086072ba1e7cc2358baeca134c825a7"},
        {HOLDALL_CHECKSUM_SHA512,
         "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a"
         "3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
    };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        now("sum %d", all[k].sum);
        uint8_t digest[65];
        char hex[2 * sizeof digest] = "";
        size_t n = 99, want = strlen(all[k].hex) / 2;
        OK(holdall_checksum_compute(all[k].sum, "abc", 3, NULL, 0, &n, &err));
        EQUAL(n, want);
        digest[want] = 0xEE;
        n = 99;
        OK(holdall_checksum_compute(all[k].sum, "abc", 3, digest, want, &n, &err));
        EQUAL(n, want);
        EQUAL(digest[want], 0xEE);
        for (size_t i = 0; i < n; i++)
            snprintf(hex + 2 * i, 3, "%02x", digest[i]);
        CHECK(strcmp(hex, all[k].hex) == 0);
        if (want > 0)
            GIVES(HOLDALL_E_BUFFER,
                  holdall_checksum_compute(all[k].sum, "abc", 3, digest, want - 1, &n, &err));
        EQUAL(n, want);
    }
}

int main(void)
{
    RUN(containers_are_identified);
    RUN(containers_are_verified);
    RUN(content_without_checksums_is_unchecked);
    RUN(a_bag_that_cannot_be_opened_is_one_fault);
    RUN(checksums_have_their_standard_values);
    return 0;
}
