/* Appends to an array in a folder, overwrites its items, or appends to a table, with commits at
 * intervals, until it is killed; test_kill_bcolz.py starts it.
 *
 * usage: kill_dataset PATH append|edit|table|blz_rfc-append|blz_rfc-table|ctable SEED NUMBER
 *                     CHECKSUM ATTRIBUTE DURABILITY
 *
 * Reports the number of each commit, or the number of rows if it appends. With ATTRIBUTE 1 the
 * attribute "number" has the same number, so that a commit changes several files. Appended items
 * are those of commit 1; those of a table are the lower bytes of the items of the column's number.
 * NUMBER 0 creates the container. Editing continues with commit NUMBER, whose writes depend only on
 * SEED and its number. */
#include "kill.h"

#define COLUMNS 8
/* A CTable has a column of texts, too: the lower 12 bits of the items, in decimal. */
#define ALL_COLUMNS (COLUMNS + 1)
/* in the BLZ RFC layout: chunks of a file */
#define SUPERCHUNK 5

static const char *const names[ALL_COLUMNS] = {"a", "b", "c", "d", "e", "f", "g", "h", "t"};
static const char *const dtypes[ALL_COLUMNS] = {"<u8", "<u4", "<u2", "|u1", "<i8",
                                                "|S5", "<u8", "<i4", "T"};
static const size_t sizes[COLUMNS] = { 8, 4, 2, 1, 8, 5, 8, 4 };

static unsigned char packed[COLUMNS][8 * MOST];
static char digits[MOST][8];
static holdall_value texts[MOST];

static void commit(holdall_array *a, uint64_t number, int attribute)
{
    char json[32];
    int n = snprintf(json, sizeof json, "%" PRIu64, number);
    if (attribute)
        check(holdall_array_attr_set(a, "number", json, n, &err), "attr_set");
    report(1, number);
    check(holdall_array_commit(a, &err), "commit");
    report(2, number);
}

static void append(holdall_array *a, int attribute)
{
    uint64_t i = holdall_array_shape(a)[0];
    report(0, i);
    while (i < ENOUGH) {
        for (uint64_t left = how_many(), n; left > 0; left -= n) {
            n = 1 + next() % (left < MOST ? left : MOST);
            fill(i, n, 1);
            check(holdall_array_append(a, 0, n, items, 8 * n, &err), "append");
            i += n;
        }
        commit(a, i, attribute);
    }
}

static void edit(holdall_array *a, uint64_t seed, uint64_t k, int attribute)
{
    uint64_t all = holdall_array_shape(a)[0];
    report(0, k);
    for (;; k++) {
        state = mix(seed + k);
        for (uint64_t writes = 1 + next() % 3; writes > 0; writes--) {
            uint64_t at = next() % all, most = next() % 4 ? 50 : 9000, n = 1 + next() % most;
            n = n < all - at ? n : all - at;
            fill(at, n, k);
            check(holdall_array_write(a, &at, &n, NULL, items, 8 * n, NULL, &err), "write");
        }
        commit(a, k, attribute);
    }
}

/* The next rows, the same in every column. */
static void append_rows(holdall_table *t, uint64_t from, uint64_t n)
{
    const void *columns[ALL_COLUMNS];
    size_t bytes[ALL_COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        fill(from, n, c + 1);
        for (uint64_t i = 0; i < n; i++)
            memcpy(packed[c] + i * sizes[c], &items[i], sizes[c]);
        columns[c] = packed[c];
        bytes[c] = n * sizes[c];
    }
    fill(from, n, ALL_COLUMNS);
    for (uint64_t i = 0; i < n; i++) {
        int length = snprintf(digits[i], sizeof digits[i], "%u", (unsigned)(items[i] & 0xfff));
        texts[i] = (holdall_value){digits[i], length};
    }
    columns[COLUMNS] = texts;
    bytes[COLUMNS] = n * sizeof texts[0];
    check(holdall_table_append(t, n, columns, bytes, &err), "append");
}

static holdall_format format_of(const char *what)
{
    if (strcmp(what, "ctable") == 0)
        return HOLDALL_FORMAT_CTABLE;
    return strncmp(what, "blz_rfc", 7) ? HOLDALL_FORMAT_BCOLZ : HOLDALL_FORMAT_BLZ_RFC;
}

static void table(char **argv, const holdall_options *o, int there)
{
    holdall_table *t;
    holdall_format format = format_of(argv[2]);
    int count = format == HOLDALL_FORMAT_CTABLE ? ALL_COLUMNS : COLUMNS;
    if (there)
        check(holdall_table_open(argv[1], HOLDALL_APPEND, o, &t, &err), "open");
    else
        check(table_create(argv[1], HOLDALL_CREATE, format, count, names, dtypes, o, &t, &err),
              "create");
    uint64_t rows = holdall_table_row_count(t);
    report(0, rows);
    while (rows < ENOUGH) {
        uint64_t n = how_many() % MOST + 1;
        append_rows(t, rows, n);
        rows += n;
        if (atoi(argv[6])) {
            char json[32];
            int length = snprintf(json, sizeof json, "%" PRIu64, rows);
            check(holdall_table_attr_set(t, "number", json, length, &err), "attr_set");
        }
        report(1, rows);
        check(holdall_table_commit(t, &err), "commit");
        report(2, rows);
    }
}

static void array(char **argv, const holdall_options *o, int there)
{
    holdall_array *a;
    uint64_t none = 0;
    if (there)
        check(holdall_array_open(argv[1], HOLDALL_APPEND, o, &a, &err), "open");
    else
        check(array_create(argv[1], HOLDALL_CREATE, format_of(argv[2]), "<u8", 1, &none, NULL, NULL,
                           o, &a, &err),
              "create");
    if (!strcmp(argv[2], "edit"))
        edit(a, strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10), atoi(argv[6]));
    else
        append(a, atoi(argv[6]));
}

int main(int argc, char **argv)
{
    if (argc != 8)
        return 2;
    int there = atoi(argv[4]) > 0;
    state = strtoull(argv[3], NULL, 10);
    holdall_options *o = holdall_options_new();
    set(o, HOLDALL_OPT_DURABILITY, argv[7]);
    if (!there) {
        set(o, HOLDALL_OPT_CHECKSUM, argv[5]);
        check(holdall_options_set(o, HOLDALL_OPT_CHUNK_BYTES, CHUNK, &err), "chunk bytes");
        if (format_of(argv[2]) == HOLDALL_FORMAT_BLZ_RFC)
            check(holdall_options_set(o, HOLDALL_OPT_SUPERCHUNK_CHUNKS, SUPERCHUNK, &err),
                  "superchunk");
    }
    if (strstr(argv[2], "table"))
        table(argv, o, there);
    else
        array(argv, o, there);
    holdall_options_free(o);
    for (;;)
        pause();
}
