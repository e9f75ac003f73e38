/*
 * holdall pack: a bag from the lines of a file, or from whole files.
 *
 * Lines are read in large pieces and handed over many at once, so that the library can compress them in
 * parallel. Nothing counts before the commit at the end: whatever fails before it, or a signal, leaves
 * OUT as it was.
 */
#define _POSIX_C_SOURCE 200809L

#include "bags.h"
#include "report.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes that are read before lines are handed over, and lines that are handed over at once. */
enum { PIECE = 4 << 20, LINES_MOST = 32768 };

struct packing {
    const struct args *args;
    const char *out;
    holdall_bag_writer *writer;
    uint64_t records, bytes; /* packed so far */
};

/* ---- signals: the writer is closed, which takes its unfinished files away, and the signal kills ---- */

static volatile sig_atomic_t stopped;

static void stop(int signal) {
    stopped = signal;
}

static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
enum { STOPPING = sizeof stopping / sizeof *stopping };

static void catch_signals(void) {
    /* read() is to return; a second signal kills at once, amid a long commit for example */
    struct sigaction action = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND}, old;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < STOPPING; i++) {
        /* one that is ignored stays so, under nohup for example */
        if (sigaction(stopping[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(stopping[i], &action, NULL);
    }
}

static void die_of_signal(void) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    sigaction(stopped, &action, NULL);
    raise(stopped);
}

/* ---- writing ---- */

static bool separate(const struct args *args) {
    return args->separate || args->limits == LIMITS_SEPARATE;
}

static bool set_writer_options(holdall_options *options, const struct args *args) {
    return (args->threads == NOT_GIVEN || set_option(options, HOLDALL_OPT_THREADS, args->threads)) &&
           (args->level == NOT_GIVEN || set_option(options, HOLDALL_OPT_LEVEL, args->level)) &&
           (!separate(args) || set_option(options, HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE)) &&
           (!args->no_checksum || set_option(options, HOLDALL_OPT_CHECKSUM, HOLDALL_SUM_NONE)) &&
           (!args->no_sync || set_option(options, HOLDALL_OPT_DURABILITY, 0)) &&
           (!args->no_lock || set_option(options, HOLDALL_OPT_LOCK, 0)) && set_compression(options, args);
}

static bool open_writer(struct packing *p) {
    const struct args *args = p->args;
    holdall_mode mode = args->append ? HOLDALL_APPEND : args->replace ? HOLDALL_REPLACE : HOLDALL_NEW;
    holdall_options *options = holdall_options_new();
    holdall_error error;
    if (!options) return complain("out of memory"), false;
    bool good = set_writer_options(options, args);
    if (good && holdall_bag_writer_open(p->out, mode, options, &p->writer, &error) < 0) {
        complain_error(p->out, &error, "");
        good = false;
    }
    holdall_options_free(options);
    return good;
}

/* Hands over count records: record i is data[offsets[i]] to data[offsets[i + 1]]. */
static bool hand_over(struct packing *p, const unsigned char *data, const uint64_t *offsets, size_t count) {
    holdall_error error;
    if (count == 0) return true;
    if (holdall_bag_writer_append_many(p->writer, data, offsets, count, &error) < 0) {
        complain_error(p->out, &error, "");
        return false;
    }
    p->records += count;
    p->bytes += offsets[count];
    return true;
}

/* ---- lines ---- */

struct lines {
    const char *name;
    int fd;
    unsigned char *data; /* of which `have` are bytes that no record has taken yet, */
    size_t room, have, seen; /* and the first `seen` of these have no newline */
    uint64_t *offsets; /* LINES_MOST + 1 */
    uint64_t done, total; /* bytes of the input read, and to read (0: unknown) */
};

/* Reads until the buffer is full or the input ends. Returns 1, 0 at the end, -1 for a failure. */
static int fill(struct lines *in) {
    if (in->have == in->room) { /* one line fills it all */
        unsigned char *larger = in->room <= SIZE_MAX / 2 ? realloc(in->data, in->room * 2) : NULL;
        if (!larger) return complain("%s: out of memory for a line of more than %zu bytes", in->name, in->room), -1;
        in->data = larger;
        in->room *= 2;
    }
    while (in->have < in->room) {
        if (stopped) return -1;
        ssize_t n = read(in->fd, in->data + in->have, in->room - in->have);
        if (n == 0) return 0;
        if (n < 0 && errno != EINTR) return complain_errno(in->name), -1;
        if (n < 0) continue;
        in->have += (size_t)n;
        in->done += (uint64_t)n;
    }
    return 1;
}

/* Hands over the whole lines of the buffer, after pushing them together over their newlines: records lie
 * end to end. What follows the last newline stays. */
static bool take_lines(struct packing *p, struct lines *in) {
    size_t from = 0, to = 0, count = 0;
    unsigned char *newline;
    while ((newline = memchr(in->data + in->seen, '\n', in->have - in->seen)) != NULL) {
        size_t n = (size_t)(newline - (in->data + from));
        memmove(in->data + to, in->data + from, n);
        in->offsets[++count] = to += n;
        in->seen = from += n + 1;
        if (count < LINES_MOST) continue;
        if (!hand_over(p, in->data, in->offsets, count)) return false;
        to = count = 0;
    }
    if (!hand_over(p, in->data, in->offsets, count)) return false;
    in->have -= from;
    memmove(in->data, in->data + from, in->have);
    in->seen = in->have;
    return true;
}

static bool pack_lines(struct packing *p, struct lines *in) {
    in->room = PIECE;
    in->data = malloc(in->room);
    in->offsets = calloc(LINES_MOST + 1, sizeof *in->offsets);
    if (!in->data || !in->offsets) return complain("out of memory"), false;
    for (int more = 1; more > 0;) {
        more = fill(in);
        if (more < 0 || !take_lines(p, in)) return false;
        if (in->total > 0) {
            progress_tell(NULL, in->done, in->total > in->done ? in->total : in->done);
        } else {
            progress_tell(NULL, p->records, 0);
        }
    }
    in->offsets[1] = in->have; /* a last line without a newline */
    return hand_over(p, in->data, in->offsets, in->have > 0 ? 1 : 0);
}

/* Looks at the input: how long is it, and is it not what is to be written? */
static bool look_at_input(struct lines *in, const char *out) {
    struct stat from, to;
    if (fstat(in->fd, &from) != 0) return complain_errno(in->name), false;
    if (S_ISREG(from.st_mode)) in->total = (uint64_t)from.st_size;
    if (stat(out, &to) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino) {
        return complain("%s: it is both what is to be packed and the bag", out), false;
    }
    return true;
}

static bool pack_lines_of(struct packing *p, const char *path) {
    bool standard = strcmp(path, "-") == 0;
    struct lines in = {.name = standard ? "standard input" : path};
    in.fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (in.fd < 0) return complain_errno(path), false;
    bool good = look_at_input(&in, p->out) && open_writer(p) && pack_lines(p, &in);
    free(in.data);
    free(in.offsets);
    if (!standard) close(in.fd);
    return good;
}

/* ---- whole files ---- */

static bool pack_whole_files(struct packing *p, size_t files) {
    if (!open_writer(p)) return false;
    for (size_t i = 0; i < files; i++) {
        unsigned char *bytes;
        size_t n;
        if (stopped || !read_whole_file(p->args->operands[i], &bytes, &n)) return false;
        uint64_t offsets[2] = {0, n};
        bool good = hand_over(p, bytes, offsets, 1);
        free(bytes);
        if (!good) return false;
        progress_tell(NULL, i + 1, files);
    }
    return true;
}

/* ---- the command ---- */

static bool commit(struct packing *p) {
    holdall_error error;
    if (holdall_bag_writer_commit(p->writer, &error) >= 0) return true;
    complain_error(p->out, &error, "");
    return false;
}

/* Bytes on disk of what was written; 0 where that cannot be found out, which is no failure of packing. */
static uint64_t bytes_on_disk(const struct packing *p) {
    struct args args = *p->args;
    args.limits = separate(&args) ? LIMITS_SEPARATE : LIMITS_TAIL;
    args.dictionary = NULL; /* nothing is decoded */
    holdall_options *options = reader_options(&args);
    holdall_bag *bag = NULL;
    uint64_t bytes = options && holdall_bag_open(p->out, options, &bag, NULL) >= 0 ? holdall_bag_cbytes(bag) : 0;
    holdall_bag_close(bag);
    holdall_options_free(options);
    return bytes;
}

static void summarize(const struct packing *p, uint64_t size) {
    if (p->args->quiet) return;
    note("%s: %" PRIu64 " records of %" PRIu64 " bytes %s; now %" PRIu64 " records in %" PRIu64 " bytes", p->out,
         p->records, p->bytes, p->args->append ? "appended" : "packed", size, bytes_on_disk(p));
}

/* What the table of flags cannot say. */
static int check_usage(const struct args *args) {
    const struct command *command = args->command;
    if (args->append && args->replace) return usage_error(command, "--append and --replace exclude each other");
    if (args->separate && args->limits == LIMITS_TAIL) {
        return usage_error(command, "--separate and --limits tail exclude each other");
    }
    if (!args->whole && args->operand_count > 2) {
        return usage_error(command, "one operand too many, '%s'", args->operands[2]);
    }
    return -1;
}

static bool pack(struct packing *p) {
    const struct args *args = p->args;
    bool packed = args->whole ? pack_whole_files(p, args->operand_count - 1) : pack_lines_of(p, args->operands[0]);
    return packed && !stopped && commit(p);
}

int cmd_pack(const struct args *args) {
    struct packing p = {.args = args, .out = args->operands[args->operand_count - 1]};
    int wrong = check_usage(args);
    if (wrong >= 0) return wrong;
    catch_signals();
    progress_begin("pack", args->quiet);
    bool packed = pack(&p);
    uint64_t size = holdall_bag_writer_size(p.writer);
    holdall_bag_writer_close(p.writer);
    progress_clear();
    if (!packed && stopped) die_of_signal();
    if (packed) summarize(&p, size);
    return packed ? DONE : FAILED;
}
