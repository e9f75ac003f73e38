/*
 * From flags to options, open bags and slices.
 */
#define _POSIX_C_SOURCE 200809L

#include "bags.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- options ---- */

bool set_option(holdall_options *options, holdall_option option, int64_t value) {
    holdall_error error;
    if (holdall_options_set(options, option, value, &error) >= 0) return true;
    complain_error("", &error, "");
    return false;
}

static bool set_given(holdall_options *options, holdall_option option, int64_t value) {
    return value == NOT_GIVEN || set_option(options, option, value);
}

static bool set_dictionary(holdall_options *options, const char *path) {
    unsigned char *bytes;
    size_t n;
    holdall_error error;
    if (!read_whole_file(path, &bytes, &n)) return false;
    holdall_status status = holdall_options_set_bytes(options, HOLDALL_OPT_DICTIONARY, bytes, n, &error);
    free(bytes);
    if (status < 0) complain_error(path, &error, "");
    return status >= 0;
}

bool set_compression(holdall_options *options, const struct args *args) {
    if (args->compression != NOT_GIVEN) {
        static const int64_t codecs[] = {[COMPRESSION_AUTO] = HOLDALL_CODEC_BY_NAME,
                                         [COMPRESSION_NONE] = HOLDALL_CODEC_NONE,
                                         [COMPRESSION_ZSTD] = HOLDALL_CODEC_ZSTD};
        if (!set_option(options, HOLDALL_OPT_CODEC, codecs[args->compression])) return false;
    }
    return !args->dictionary || set_dictionary(options, args->dictionary);
}

static bool set_reader_options(holdall_options *options, const struct args *args) {
    /* the words of these choices stand in the order of the library's numbers */
    return set_given(options, HOLDALL_OPT_BAG_LIMITS, args->limits) &&
           set_given(options, HOLDALL_OPT_BAG_LIMITS_CACHE, args->limits_storage) &&
           set_given(options, HOLDALL_OPT_BAG_SHARDS, args->shards) &&
           set_given(options, HOLDALL_OPT_THREADS, args->threads) &&
           set_given(options, HOLDALL_OPT_MEMORY_LIMIT, args->memory_limit) &&
           (!args->map || set_option(options, HOLDALL_OPT_IO, HOLDALL_IO_MAP)) &&
           (!args->unchecked || set_option(options, HOLDALL_OPT_VERIFY, 0)) && set_compression(options, args);
}

holdall_options *reader_options(const struct args *args) {
    holdall_options *options = holdall_options_new();
    if (!options) {
        complain("out of memory");
        return NULL;
    }
    if (set_reader_options(options, args)) return options;
    holdall_options_free(options);
    return NULL;
}

/* ---- slices ---- */

struct span {
    uint64_t start, count;
    int64_t step;
};

/* One end of a slice as a record number, clamped as Python does. */
static int64_t clamp(int64_t end, int64_t absent, int64_t size, int64_t low, int64_t high) {
    if (end == NOT_GIVEN) return absent;
    if (end < 0) end += size;
    return end < low ? low : end > high ? high : end;
}

/* Python's slice.indices(size), and how many they are. */
static struct span resolve(const struct slice *slice, uint64_t records) {
    int64_t size = records > INT64_MAX ? INT64_MAX : (int64_t)records;
    int64_t step = slice->step == NOT_GIVEN ? 1 : slice->step;
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    int64_t start = clamp(slice->start, step < 0 ? high : low, size, low, high);
    int64_t stop = clamp(slice->stop, step < 0 ? low : high, size, low, high);
    int64_t count = 0;
    if (step > 0 && start < stop) count = (stop - start - 1) / step + 1;
    if (step < 0 && stop < start) count = (start - stop - 1) / -step + 1;
    /* no more than one record needs no step, and its step may be too large for the library */
    if (count <= 1) step = 1;
    return (struct span){count ? (uint64_t)start : 0, (uint64_t)count, step};
}

holdall_bag *open_bag(const char *spec, const struct args *args, const holdall_options *options) {
    holdall_bag *bag = NULL, *part = NULL;
    holdall_error error;
    if (holdall_bag_open(spec, options, &bag, &error) < 0) {
        complain_error(spec, &error, "");
        return NULL;
    }
    if (!args->slice.given) return bag;
    struct span span = resolve(&args->slice, holdall_bag_size(bag));
    if (holdall_bag_slice(bag, span.start, span.step, span.count, &part, &error) < 0) complain_error(spec, &error, "");
    holdall_bag_close(bag);
    return part;
}

/* ---- files ---- */

/* Reads to the end into a buffer that grows. */
static bool read_all(int fd, unsigned char **bytes, size_t *n) {
    size_t room = 64 << 10;
    unsigned char *all = malloc(room);
    *n = 0;
    while (all) {
        if (*n == room) {
            unsigned char *larger = room <= SIZE_MAX / 2 ? realloc(all, room *= 2) : NULL;
            if (!larger) break;
            all = larger;
        }
        ssize_t got = read(fd, all + *n, room - *n);
        if (got == 0) {
            *bytes = all;
            return true;
        }
        if (got < 0) { /* EINTR too: it is a signal that is to stop us */
            free(all);
            return false;
        }
        *n += (size_t)got;
    }
    free(all);
    errno = ENOMEM;
    return false;
}

bool read_whole_file(const char *path, unsigned char **bytes, size_t *n) {
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && read_all(fd, bytes, n);
    if (!good) complain_errno(standard ? "standard input" : path);
    if (fd >= 0 && !standard) close(fd);
    return good;
}
