/* parts write NAME ROWS: all ranks append ROWS rows to a table, with one commit. Each rank writes a
 *                        part of its own. The table is created if it does not exist.
 * parts read NAME:       each rank reads its share of the rows, and compares it */
#include <holdall_mpi.h>
#include <inttypes.h>

enum { PIECE = 1000 };
static holdall_error err;

static void check(holdall_status status) {
    if (status >= 0) return;
    fprintf(stderr, "%s (%s)\n", err.message, holdall_status_name(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void create(const char *name) {
    const char *const names[] = {"row", "half"}, *const dtypes[] = {"<u8", "<f8"};
    const holdall_table_spec spec = {
        .struct_size = sizeof spec,
        .format = HOLDALL_FORMAT_BCOLZ,
        .column_count = 2,
        .names = names,
        .dtypes = dtypes,
    };
    holdall_format format;
    holdall_kind kind;
    holdall_table *table;
    if (holdall_identify(name, &format, &kind, &err) == HOLDALL_OK) return; /* it exists */
    check(holdall_table_create(name, HOLDALL_CREATE, &spec, NULL, &table, &err));
    check(holdall_table_commit(table, &err));
    holdall_table_close(table);
}

static uint64_t row_count(const char *name) {
    holdall_table *table;
    check(holdall_mpi_table_open(MPI_COMM_WORLD, name, NULL, &table, &err));
    uint64_t rows = holdall_table_row_count(table);
    holdall_table_close(table);
    return rows;
}

static void append(const char *path, uint64_t first, uint64_t count) {
    uint64_t rows[PIECE];
    double halves[PIECE];
    holdall_table *table;
    check(holdall_table_open(path, HOLDALL_APPEND, NULL, &table, &err));
    for (uint64_t at = 0, n; at < count; at += n) {
        n = count - at < PIECE ? count - at : PIECE;
        for (uint64_t i = 0; i < n; i++) {
            rows[i] = first + at + i;
            halves[i] = (double)rows[i] / 2;
        }
        const void *const columns[] = {rows, halves};
        const size_t sizes[] = {n * sizeof *rows, n * sizeof *halves};
        check(holdall_table_append(table, n, columns, sizes, &err));
    }
    check(holdall_table_commit(table, &err));
    holdall_table_close(table);
}

static void write_rows(const char *name, uint64_t rows, int rank, int ranks) {
    unsigned char token[HOLDALL_PART_TOKEN_SIZE];
    holdall_part *part = NULL;
    uint64_t first, count;
    if (rank == 0) create(name);
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t before = row_count(name);
    holdall_mpi_share(rows, 1, rank, ranks, &first, &count);
    if (count > 0) { /* a rank without rows has no part */
        check(holdall_part_of_table(name, NULL, &part, &err));
        append(holdall_part_path(part), before + first, count);
        check(holdall_part_finish(part, token, &err));
    }
    check(holdall_mpi_parts_commit(MPI_COMM_WORLD, name, part == NULL ? NULL : token, NULL, &err));
    holdall_part_close(part);
}

static void read_rows(const char *name, int rank, int ranks) {
    static const char *const names[] = {"row", "half"};
    uint64_t rows[PIECE], first, count, wrong = 0, all;
    double halves[PIECE];
    void *const to[] = {rows, halves};
    const size_t sizes[] = {sizeof rows, sizeof halves};
    holdall_table *table;
    check(holdall_mpi_table_open(MPI_COMM_WORLD, name, NULL, &table, &err));
    holdall_mpi_share(holdall_table_row_count(table), 1, rank, ranks, &first, &count);
    for (uint64_t at = first, n; at < first + count; at += n) {
        n = first + count - at < PIECE ? first + count - at : PIECE;
        check(holdall_table_read_rows(table, at, n, 1, 2, names, to, sizes, &err));
        for (uint64_t i = 0; i < n; i++)
            wrong += rows[i] != at + i || halves[i] != (double)(at + i) / 2;
    }
    MPI_Reduce(&wrong, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    const uint64_t found = holdall_table_row_count(table);
    if (rank == 0) printf("%" PRIu64 " rows, %" PRIu64 " that are wrong\n", found, all);
    holdall_table_close(table);
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc == 4 && strcmp(argv[1], "write") == 0) {
        write_rows(argv[2], strtoull(argv[3], NULL, 10), rank, ranks);
    } else if (argc == 3 && strcmp(argv[1], "read") == 0) {
        read_rows(argv[2], rank, ranks);
    } else {
        if (rank == 0) fprintf(stderr, "usage: parts write NAME ROWS | read NAME\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
