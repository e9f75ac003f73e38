/* Malicious datasets and tables: every call ends soon, takes little memory, and reports what is
 * wrong. Each test is a child with limited memory, which an alarm ends if it hangs. */
#include "child.h"

#include <sys/socket.h>
#include <sys/un.h>

#define SHAPE(...) ((const uint64_t[]){__VA_ARGS__})

/* Megabytes that a test may take in addition to the process. */
enum { ROOM = 1024 };

static char base[64];

/* Returns the path of a file of the dataset of this test. */
static const char *in_base(const char *name)
{
    char below[600];
    snprintf(below, sizeof below, "%s/%s", base, name);
    return in_tmp(below);
}

static void put(const char *name, const char *text)
{
    save(in_base(name), text, strlen(text));
}

/* Creates the folders of an array, without files. */
static void folders(const char *name)
{
    char below[80];
    mkdir(in_base(name), 0700);
    snprintf(below, sizeof below, "%s/meta", name);
    mkdir(in_base(below), 0700);
    snprintf(below, sizeof below, "%s/data", name);
    mkdir(in_base(below), 0700);
}

static void use(const char *name)
{
    snprintf(base, sizeof base, "%s", name);
    CHECK(mkdir(in_tmp(name), 0700) == 0);
}

static void array(const char *name, const char *sizes, const char *storage)
{
    char file[128];
    folders(name);
    snprintf(file, sizeof file, "%s/meta/sizes", name);
    put(file, sizes);
    snprintf(file, sizeof file, "%s/meta/storage", name);
    put(file, storage);
}

static const char plain[] = "{\"dtype\": \"int8\", \"cparams\": {\"clevel\": 5, \"shuffle\": 1, "
                            "\"cname\": \"lz4\"}, \"chunklen\": 1000, "
                            "\"expectedlen\": 1000, \"dflt\": 0}";

/* An array of 2500 items in three chunks. */
static void valid_array(const char *name)
{
    static uint8_t items[2500];
    holdall_array *a;
    holdall_options *fast = options_of(WITH(HOLDALL_OPT_DURABILITY, 0));
    OK(array_create(in_base(name), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, "|u1", 1, SHAPE(2500),
                    SHAPE(1000), NULL, fast, &a, &err));
    holdall_options_free(fast);
    OK(holdall_array_write(a, SHAPE(0), SHAPE(2500), NULL, items, sizeof items, NULL, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
}

/* Calls every function that takes a path; any result is allowed. */
static void do_all(const char *name, const int64_t *pairs)
{
    static uint8_t items[1000];
    static const char copy[] = "copy of it";
    holdall_options *with = options_of(pairs), *fast = options_of(WITH(HOLDALL_OPT_DURABILITY, 0));
    holdall_array *a = NULL;
    holdall_table *t = NULL;
    holdall_format format;
    holdall_kind kind;
    uint64_t intact = 0, corrupt = 0, unchecked = 0;
    (void)!holdall_identify(in_base(name), &format, &kind, &err);
    if (holdall_array_open(in_base(name), HOLDALL_READ, with, &a, &err) >= 0) {
        uint64_t start[HOLDALL_MAX_NDIM] = {0}, count[HOLDALL_MAX_NDIM];
        for (int d = 0; d < HOLDALL_MAX_NDIM; d++)
            count[d] = 1;
        (void)!holdall_array_read(a, start, count, NULL, items, sizeof items, NULL, &err);
        (void)!array_copy(a, in_base(copy), HOLDALL_REPLACE, HOLDALL_FORMAT_BLOSCPACK, NULL, NULL,
                          fast, &err);
        (void)!array_copy(a, in_base("copied"), HOLDALL_REPLACE, HOLDALL_FORMAT_BCOLZ, NULL, NULL,
                          fast, &err);
        holdall_array_close(a);
    }
    if (holdall_table_open(in_base(name), HOLDALL_READ, with, &t, &err) >= 0)
        holdall_table_close(t);
    if (holdall_array_open(in_base(name), HOLDALL_APPEND, fast, &a, &err) >= 0)
        holdall_array_close(a);
    if (holdall_table_open(in_base(name), HOLDALL_APPEND, fast, &t, &err) >= 0)
        holdall_table_close(t);
    (void)!verify_counts(in_base(name), NULL, NULL, NULL, &intact, &corrupt, &unchecked, &err);
    for (int skip = 0; skip < 2; skip++) {
        holdall_options *o =
            options_of(WITH(HOLDALL_OPT_SKIP_DAMAGED, skip, HOLDALL_OPT_DURABILITY, 0));
        (void)!repair_counts(in_base(name), o, NULL, NULL, &err);
        holdall_options_free(o);
    }
    holdall_options_free(with);
    holdall_options_free(fast);
}

static const int64_t skipping[] = {HOLDALL_OPT_SKIP_DAMAGED, 1, 0, 0};

/* ---- names ------------------------------------------------------------------------------------*/

static FILE *rootdirs(void)
{
    FILE *f = fopen(in_base("__rootdirs__"), "w");
    CHECK(f != NULL);
    return f;
}

static void many_names(const char *unused)
{
    (void)unused;
    const int n = slow() ? 2000 : 20000;
    use("names");
    array("c0", "{\"shape\": [0], \"nbytes\": 0, \"cbytes\": 0}", plain);
    for (int way = 0; way < 3; way++) {
        now("names, %d", way);
        FILE *f = rootdirs();
        for (int i = 0; i < n; i++)
            fprintf(f, "%s\"c%d\"", i ? ", " : "{\"names\": [", i);
        fprintf(f, "]");
        for (int i = 0; i < n && way > 0; i++)
            fprintf(f, "%s\"c%d\": \"/x/c%d\"", i ? ", " : ", \"dirs\": {", i, way == 1 ? i : 0);
        fprintf(f, way > 0 ? "}}" : "}");
        CHECK(fclose(f) == 0);
        holdall_table *t;
        holdall_status want = way == 2 ? HOLDALL_E_FORMAT : HOLDALL_E_MISSING;
        GIVES(want, holdall_table_open(in_tmp("names"), HOLDALL_READ, NULL, &t, &err));
        GIVES(want, holdall_table_open(in_tmp("names"), HOLDALL_APPEND, NULL, &t, &err));
        GIVES(want, verify_counts(in_tmp("names"), NULL, NULL, NULL, NULL, NULL, NULL, &err));
        holdall_options *o = options_of(WITH(HOLDALL_OPT_MEMORY_LIMIT, 1 << 10));
        GIVES(HOLDALL_E_LIMIT, holdall_table_open(in_tmp("names"), HOLDALL_READ, o, &t, &err));
        holdall_options_free(o);
        /* names that are invalid become those of the folders */
        GIVES(way == 2 ? HOLDALL_OK : HOLDALL_E_MISSING,
              repair_counts(in_tmp("names"), NULL, NULL, NULL, &err));
    }
}

static void names_that_lead_out(const char *unused)
{
    (void)unused;
    static const char *const out[] = {"../out",      "/etc", "..",    ".",
                                      "a/../../out", "a/b",  "out/.", ""};
    use("out");
    array("in", "{\"shape\": [0], \"nbytes\": 0, \"cbytes\": 0}", plain);
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        for (int dirs = 0; dirs < 2; dirs++) {
            char text[256];
            /* only the last component of a path that BLZ stored is used */
            snprintf(text, sizeof text,
                     dirs ? "{\"names\": [\"in\"], \"dirs\": {\"in\": \"%s/..\"}}"
                          : "{\"names\": [\"%s\"]}",
                     out[i]);
            now("%s", text);
            put("__rootdirs__", text);
            holdall_table *t;
            GIVES(HOLDALL_E_FORMAT,
                  holdall_table_open(in_tmp("out"), HOLDALL_READ, NULL, &t, &err));
            do_all("", NULL);
        }
}

/* ---- entries that are not files ---------------------------------------------------------------*/

enum { FIFO, SOCKET, FOLDER, DEVICE, LOOP, ROUND, THINGS };

static void make_thing(const char *path, int thing)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    switch (thing) {
    case FIFO: CHECK(mkfifo(path, 0600) == 0); break;
    case SOCKET: {
        /* the name of a socket is short */
        char here[PATH_MAX];
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK(getcwd(here, sizeof here) != NULL && chdir(in_tmp("")) == 0);
        strcpy(at.sun_path, "socket");
        CHECK(s >= 0 && bind(s, (struct sockaddr *)&at, sizeof at) == 0 &&
              rename("socket", path) == 0 && chdir(here) == 0);
        close(s);
        break;
    }
    case FOLDER: CHECK(mkdir(path, 0700) == 0); break;
    case DEVICE: CHECK(symlink("/dev/zero", path) == 0); break;
    case LOOP: CHECK(symlink(strrchr(path, '/') + 1, path) == 0); break;
    default: CHECK(symlink("..", path) == 0);
    }
}

static void no_files(const char *unused)
{
    (void)unused;
    static const char *const files[] = {"meta/sizes",
                                        "meta/storage",
                                        "__attrs__",
                                        "data/__0.blp",
                                        "data/__1.blp",
                                        "data/__2.blp",
                                        "data",
                                        "meta",
                                        "meta/attributes",
                                        "__rootdirs__",
                                        "dataset.holdall-journal",
                                        "dataset.holdall-lock"};
    use("things");
    for (int skip = 0; skip < 2; skip++)
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            for (int thing = 0; thing < THINGS; thing++) {
                char name[32], path[256];
                if (slow() && (i + (size_t)thing) % 7 != 0)
                    continue;
                snprintf(name, sizeof name, "%d-%zu-%d", skip, i, thing);
                snprintf(path, sizeof path, "%s/%s", name, files[i]);
                now("%s, %d", files[i], thing);
                valid_array(name);
                char old[1100];
                snprintf(old, sizeof old, "%s.old", in_base(path));
                if (there(in_base(path)))
                    CHECK(rename(in_base(path), old) == 0);
                make_thing(in_base(path), thing);
                do_all(name, skip ? skipping : NULL);
            }
}

/* Columns that are their own table, and folders that lead back. */
static void links_in_a_circle(const char *unused)
{
    (void)unused;
    use("circle");
    CHECK(symlink(".", in_base("a")) == 0 && symlink("a/a/a", in_base("b")) == 0);
    put("__rootdirs__", "{\"names\": [\"a\", \"b\"]}");
    holdall_table *t;
    GIVES(HOLDALL_E_MISSING, holdall_table_open(in_tmp("circle"), HOLDALL_READ, NULL, &t, &err));
    do_all("", NULL);
    CHECK(remove(in_base("__rootdirs__")) == 0);
    CHECK(symlink("..", in_base("f")) == 0 && mkdir(in_base("meta"), 0700) == 0 &&
          symlink(".", in_base("data")) == 0);
    put("meta/sizes", "{\"shape\": [10], \"nbytes\": 80, \"cbytes\": 0}");
    put("meta/storage",
        "{\"dtype\": \"[('data', [('data', '<i4'), ('f', '<i4')])]\", \"chunklen\": 5}");
    do_all("", NULL);
    do_all("", skipping);
}

/* ---- numbers ----------------------------------------------------------------------------------*/

/* Rows or chunks that do not exist. */
static void nothing_is_there(const char *name, uint64_t chunks, bool is_table)
{
    uint64_t intact = 9, corrupt = 9, unchecked = 9;
    uint8_t items[10];
    holdall_array *a;
    holdall_table *t;
    now("%s", name);
    if (is_table) {
        OK(holdall_table_open(in_base(name), HOLDALL_READ, NULL, &t, &err));
        GIVES(HOLDALL_E_MISSING, holdall_array_read(holdall_table_column(t, 0), SHAPE(7), SHAPE(10),
                                                    NULL, items, 10, NULL, &err));
        holdall_table_close(t);
    } else {
        OK(holdall_array_open(in_base(name), HOLDALL_READ, NULL, &a, &err));
        CHECK(holdall_array_read(a, SHAPE(7), SHAPE(10), NULL, items, 10, NULL, &err) < 0);
        CHECK(array_copy(a, in_base("copy"), HOLDALL_REPLACE, HOLDALL_FORMAT_BCOLZ, NULL, NULL,
                         NULL, &err) < 0);
        CHECK(array_copy(a, in_base("copy.blp"), HOLDALL_REPLACE, HOLDALL_FORMAT_BLOSCPACK, NULL,
                         NULL, NULL, &err) < 0);
        holdall_array_close(a);
    }
    CHECK(verify_counts(in_base(name), NULL, NULL, NULL, &intact, &corrupt, &unchecked, &err) < 0);
    EQUAL(corrupt, chunks);
    EQUAL(intact + unchecked, 0);
    /* an endless number of default values is refused */
    holdall_options *o = options_of(skipping);
    GIVES(HOLDALL_E_FORMAT, is_table
                                ? holdall_table_open(in_base(name), HOLDALL_READ, o, &t, &err)
                                : holdall_array_open(in_base(name), HOLDALL_READ, o, &a, &err));
    CHECK(says("chunks are lost"));
    CHECK(repair_counts(in_base(name), o, NULL, NULL, &err) < 0);
    holdall_options_free(o);
    CHECK(repair_counts(in_base(name), NULL, NULL, NULL, &err) < 0);
    do_all(name, NULL);
}

static void claims(const char *unused)
{
    (void)unused;
    static const char sizes[] =
        "{\"shape\": [144115188075855872], \"nbytes\": 144115188075855872, \"cbytes\": 9}";
    static const char single[] = "{\"dtype\": \"int8\", \"cparams\": {}, \"chunklen\": 1}";
    static const char blz_rfc[] = "{\"dtype\": \"int8\", \"cparams\": {}, \"chunklen\": 1000, "
                                "\"superchunksize\": 144115188075855872}";
    const uint64_t rows = UINT64_C(1) << 57, chunks = rows / 1000 + 1;
    use("claims");
    array("rows", sizes, plain);
    nothing_is_there("rows", chunks, false);
    array("chunks", sizes, single);
    nothing_is_there("chunks", rows, false);
    array("blz_rfc", sizes, blz_rfc);
    nothing_is_there("blz_rfc", chunks, false);
    /* a single file that claims to hold all of them, or is invalid */
    static uint8_t items[5000];
    holdall_array *a;
    OK(array_create(in_base("one"), HOLDALL_CREATE, HOLDALL_FORMAT_BLZ_RFC, "|i1", 1, SHAPE(5000),
                    SHAPE(1000), NULL, NULL, &a, &err));
    OK(holdall_array_write(a, SHAPE(0), SHAPE(5000), NULL, items, sizeof items, NULL, &err));
    OK(holdall_array_commit(a, &err));
    holdall_array_close(a);
    put("one/meta/sizes", sizes);
    put("one/meta/storage", blz_rfc);
    uint64_t intact = 0, corrupt = 0, unchecked = 0;
    GIVES(HOLDALL_E_FORMAT,
          verify_counts(in_base("one"), NULL, NULL, NULL, &intact, &corrupt, &unchecked, &err));
    EQUAL(intact + unchecked, 5);
    EQUAL(corrupt, chunks - 5);
    do_all("one", skipping);
    put("one/data/__1__.bin", "no superchunk");
    GIVES(HOLDALL_E_FORMAT,
          verify_counts(in_base("one"), NULL, NULL, NULL, &intact, &corrupt, &unchecked, &err));
    EQUAL(corrupt, chunks);
    do_all("one", skipping);
    /* a file in the path of the data folder */
    array("file", sizes, plain);
    CHECK(rmdir(in_base("file/data")) == 0);
    put("file/data", "no folder");
    CHECK(verify_counts(in_base("file"), NULL, NULL, NULL, NULL, NULL, NULL, &err) < 0);
    do_all("file", NULL);
    do_all("file", skipping);
    /* a table of two such columns */
    CHECK(mkdir(in_base("table"), 0700) == 0);
    array("table/a", sizes, plain);
    array("table/b", sizes, plain);
    put("table/__rootdirs__", "{\"names\": [\"a\", \"b\"]}");
    nothing_is_there("table", 2 * chunks, true);
    /* rows without bytes all exist, and are copied immediately */
    array("empty", "{\"shape\": [144115188075855872, 0], \"nbytes\": 0, \"cbytes\": 0}", plain);
    OK(holdall_array_open(in_base("empty"), HOLDALL_READ, NULL, &a, &err));
    OK(array_copy(a, in_base("empty2"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, NULL, NULL, NULL,
                  &err));
    holdall_array_close(a);
    OK(holdall_array_open(in_base("empty2"), HOLDALL_READ, NULL, &a, &err));
    EQUAL(holdall_array_shape(a)[0], rows);
    holdall_array_close(a);
}

/* Chunks of a few bytes that claim to be 2 GiB. */
static void bombs(const char *unused)
{
    (void)unused;
    enum { CONTENT = 2147483600 };
    const int n = slow() ? 50 : 20000;
    static const uint8_t head[16] = "blpk\x01\0\0\0\x01\0\0\0\0\0\0";
    uint8_t file[64] = {0};
    char text[200], name[32];
    memcpy(file, head, 16);
    const uint32_t fields[] = {CONTENT, CONTENT, 36, 20, 8};
    const uint8_t flags[] = {2, 1, 0x20, 1}; /* LZ4 */
    memcpy(file + 16, flags, 4);
    for (int k = 0; k < 5; k++)
        for (int b = 0; b < 4; b++)
            file[20 + 4 * k + b] = (uint8_t)(fields[k] >> 8 * b);
    use("bombs");
    const uint64_t rows = (uint64_t)n * CONTENT;
    snprintf(text, sizeof text,
             "{\"shape\": [%" PRIu64 "], \"nbytes\": %" PRIu64 ", \"cbytes\": 9}", rows, rows);
    array("a", text, "{\"dtype\": \"int8\", \"cparams\": {}, \"chunklen\": 2147483600}");
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "a/data/__%d.blp", i);
        save(in_base(name), file, 16 + 36);
    }
    for (int k = 0; k < 2; k++) {
        holdall_options *o = options_of(WITH(HOLDALL_OPT_MEMORY_LIMIT, 64 << 20, HOLDALL_OPT_IO,
                                             k ? HOLDALL_IO_MAP : HOLDALL_IO_READ));
        holdall_array *a;
        uint8_t item;
        uint64_t intact = 0, corrupt = 0, unchecked = 0;
        OK(holdall_array_open(in_base("a"), HOLDALL_READ, o, &a, &err));
        GIVES(HOLDALL_E_LIMIT,
              holdall_array_read(a, SHAPE(rows / 2), SHAPE(1), NULL, &item, 1, NULL, &err));
        CHECK(array_copy(a, in_base("c"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, NULL, NULL, o,
                         &err) < 0);
        holdall_array_close(a);
        GIVES(HOLDALL_E_LIMIT,
              verify_counts(in_base("a"), o, NULL, NULL, &intact, &corrupt, &unchecked, &err));
        EQUAL(corrupt, n);
        EQUAL(intact + unchecked, 0);
        holdall_options_free(o);
    }
}

/* ---- text -------------------------------------------------------------------------------------*/

static char *deep(const char *before, const char *open, int n, const char *after)
{
    size_t each = strlen(open), size = strlen(before) + (size_t)n * each + strlen(after) + 1;
    char *text = malloc(size), *to = text;
    CHECK(text != NULL);
    to += sprintf(to, "%s", before);
    for (int i = 0; i < n; i++, to += each)
        memcpy(to, open, each);
    strcpy(to, after);
    return text;
}

static void nested(const char *unused)
{
    (void)unused;
    static const char *const opens[] = {"[",     "{\"a\":", "[(",   "('",
                                        "{'a':", "[('a',",  "a: [", "a: ("};
    static const char *const files[] = {"meta/sizes", "meta/storage", "__attrs__", "__rootdirs__"};
    static const char *const befores[] = {"",
                                          "{\"shape\": ",
                                          "{\"names\": ",
                                          "{\"chunklen\": 5, \"dtype\": \"",
                                          "{\"chunklen\": 5, \"dtype\": ",
                                          "dtype: "};
    const int n = slow() ? 5000 : 100000;
    use("nested");
    for (size_t f = 0; f < 4; f++)
        for (size_t o = 0; o < sizeof opens / sizeof *opens; o++)
            for (size_t b = 0; b < sizeof befores / sizeof *befores; b++) {
                char name[32], file[64];
                if (slow() && (f + o + b) % 5 != 0)
                    continue;
                now("%s: %s%s", files[f], befores[b], opens[o]);
                snprintf(name, sizeof name, "%zu-%zu-%zu", f, o, b);
                array(name, "{\"shape\": [0], \"nbytes\": 0, \"cbytes\": 0}", plain);
                char *text = deep(befores[b], opens[o], n, b == 3 ? "\"}" : "");
                snprintf(file, sizeof file, "%s/%s", name, files[f]);
                put(file, text);
                free(text);
                do_all(name, NULL);
            }
    char *lines = malloc((size_t)n * 2000 + 1), *to = lines;
    CHECK(lines != NULL);
    for (int i = 0; i < 1500; i++)
        to += sprintf(to, "%*sa:\n", i, "");
    array("yaml", lines, lines);
    free(lines);
    do_all("yaml", NULL);
}

/* Attributes in an empty sparse file of 1 GB, and very many attributes. */
static void attributes(const char *unused)
{
    (void)unused;
    const void *value;
    size_t size;
    holdall_array *a;
    const int n = slow() ? 300 : 60000;
    use("attributes");
    valid_array("huge");
    CHECK(truncate(in_base("huge/__attrs__"), (off_t)1 << 30) == 0);
    OK(holdall_array_open(in_base("huge"), HOLDALL_READ, NULL, &a, &err));
    GIVES(HOLDALL_E_LIMIT, holdall_array_attr_get(a, "a", &value, &size, &err));
    CHECK(says("HOLDALL_OPT_MEMORY_LIMIT"));
    holdall_array_close(a);
    GIVES(HOLDALL_E_LIMIT,
          verify_counts(in_base("huge"), NULL, NULL, NULL, NULL, NULL, NULL, &err));
    do_all("huge", NULL);

    valid_array("many");
    FILE *f = fopen(in_base("many/__attrs__"), "w");
    CHECK(f != NULL);
    for (int i = 0; i < n; i++)
        fprintf(f, "%s\"a%d\": %d", i ? ", " : "{", i, i);
    CHECK(fputs("}\n", f) >= 0 && fclose(f) == 0);
    OK(holdall_array_open(in_base("many"), HOLDALL_READ, NULL, &a, &err));
    EQUAL(holdall_array_attr_count(a), n);
    for (int i = 0; i < n; i++)
        OK(holdall_array_attr_get(a, holdall_array_attr_name(a, (uint32_t)i), &value, &size, &err));
    OK(array_copy(a, in_base("copy.blp"), HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, NULL, NULL,
                  NULL, &err));
    holdall_array_close(a);
    OK(holdall_array_open(in_base("copy.blp"), HOLDALL_READ, NULL, &a, &err));
    OK(array_copy(a, in_base("copy"), HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, NULL, NULL, NULL,
                  &err));
    holdall_array_close(a);
    OK(holdall_array_open(in_base("copy"), HOLDALL_READ, NULL, &a, &err));
    EQUAL(holdall_array_attr_count(a), n);
    holdall_array_close(a);
}

/* Very many fields in folders of their own. */
static void fields(const char *unused)
{
    (void)unused;
    const int n = slow() ? 100 : 20000;
    use("fields");
    folders("a");
    CHECK(mkdir(in_base("a/data/f0"), 0700) == 0);
    FILE *f = fopen(in_base("a/meta/storage"), "w");
    CHECK(f != NULL && fputs("{\"chunklen\": 5, \"dtype\": \"[", f) >= 0);
    for (int i = 0; i < n; i++)
        fprintf(f, "('f%d', '|i1'), ", i);
    CHECK(fputs("]\"}\n", f) >= 0 && fclose(f) == 0);
    char sizes[100];
    snprintf(sizes, sizeof sizes, "{\"shape\": [10], \"nbytes\": %d, \"cbytes\": 0}", 10 * n);
    put("a/meta/sizes", sizes);
    holdall_table *t;
    OK(holdall_table_open(in_base("a"), HOLDALL_READ, NULL, &t, &err));
    EQUAL(holdall_table_column_count(t), n);
    holdall_table_close(t);
    uint64_t corrupt = 0;
    GIVES(HOLDALL_E_MISSING,
          verify_counts(in_base("a"), NULL, NULL, NULL, NULL, &corrupt, NULL, &err));
    EQUAL(corrupt, 2 * n);
}

static void (*chosen)(const char *);

static void with_alarm(const char *path)
{
    alarm(HANGS);
    chosen(path);
}

static void alone(void (*test)(const char *), const char *name)
{
    now("%s", name);
    chosen = test;
    EQUAL(within(ROOM, with_alarm, NULL), 0);
}

#define ALONE(test) alone(test, #test)

int main(void)
{
    /* no threads of the library: they would be reported as leaks in a child that inherits them */
    setenv("HOLDALL_THREADS", "1", 1);
    ALONE(many_names);
    ALONE(names_that_lead_out);
    ALONE(no_files);
    ALONE(links_in_a_circle);
    ALONE(claims);
    ALONE(bombs);
    ALONE(nested);
    ALONE(attributes);
    ALONE(fields);
    return 0;
}
