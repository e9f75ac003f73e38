/* arrays write NAME ROWS: all ranks append ROWS rows of a computed field to an array, with one
 *                         commit. NAME.blz is a dataset of superchunks, NAME.b2nd a frame in a
 *                         folder; either is created if it does not exist.
 * arrays read NAME:       each rank reads its share of the rows, and compares it with the field */
#include <holdall_mpi.h>
#include <inttypes.h>

enum { COLUMNS = 64, PIECE = 4096 };
static holdall_error err;

static void check(holdall_status status) {
    if (status >= 0) return;
    fprintf(stderr, "%s (%s)\n", err.message, holdall_status_name(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static float field(uint64_t row, uint64_t column)
{
    return (float)(row / 16 * 7 % 100003) + (float)(column * column % 51) / 8;
}

static void create(const char *name) {
    const uint64_t shape[] = {0, COLUMNS}, chunks[] = {512, COLUMNS};
    const char *dot = strrchr(name, '.');
    int is_dataset = dot != NULL && strcmp(dot, ".blz") == 0;
    holdall_options *options = holdall_options_new();
    if (is_dataset) check(holdall_options_set(options, HOLDALL_OPT_SUPERCHUNK_CHUNKS, 8, &err));
    else check(holdall_options_set(options, HOLDALL_OPT_SPARSE, 1, &err));
    const holdall_array_spec spec = {
        .struct_size = sizeof spec,
        .format = is_dataset ? HOLDALL_FORMAT_BLZ_RFC : HOLDALL_FORMAT_B2ND,
        .dtype = "<f4",
        .ndim = 2,
        .shape = shape,
        .chunk_shape = chunks,
    };
    holdall_array *array;
    holdall_status status =
        holdall_array_create(name, HOLDALL_CREATE, &spec, options, &array, &err);
    holdall_options_free(options);
    if (status == HOLDALL_E_EXISTS) return;
    check(status);
    check(holdall_array_commit(array, &err));
    holdall_array_close(array);
}

static void write_rows(const char *name, uint64_t rows, int rank, int ranks) {
    static float piece[PIECE][COLUMNS];
    holdall_mpi_writer *writer;
    uint64_t first, count;
    if (rank == 0) create(name);
    MPI_Barrier(MPI_COMM_WORLD);
    check(holdall_mpi_writer_open(MPI_COMM_WORLD, name, NULL, NULL, &writer, &err));
    holdall_mpi_share(rows, holdall_mpi_writer_unit(writer), rank, ranks, &first, &count);
    first += holdall_mpi_writer_rows(writer); /* after the last row */
    for (uint64_t at = 0, n; at < count; at += n) {
        n = count - at < PIECE ? count - at : PIECE;
        for (uint64_t i = 0; i < n; i++)
            for (uint64_t j = 0; j < COLUMNS; j++) piece[i][j] = field(first + at + i, j);
        check(holdall_array_append(holdall_mpi_writer_array(writer), 0, n, piece, n * sizeof *piece,
                                   &err));
    }
    check(holdall_mpi_writer_commit(writer, &err)); /* the rows of all ranks, or none */
    holdall_mpi_writer_close(writer);
}

static void read_rows(const char *name, int rank, int ranks) {
    static float piece[PIECE][COLUMNS];
    holdall_array *array;
    uint64_t first, count, wrong = 0, all;
    check(holdall_mpi_array_open(MPI_COMM_WORLD, name, NULL, &array, &err));
    holdall_array_info info = {.struct_size = sizeof info};
    check(holdall_array_get_info(array, &info, &err));
    holdall_mpi_share(info.shape[0], info.chunk_shape[0], rank, ranks, &first, &count);
    for (uint64_t at = first, n; at < first + count; at += n) {
        n = first + count - at < PIECE ? first + count - at : PIECE;
        const uint64_t start[] = {at, 0}, box[] = {n, COLUMNS};
        check(holdall_array_read(array, start, box, NULL, piece, sizeof piece, NULL, &err));
        for (uint64_t i = 0; i < n; i++)
            for (uint64_t j = 0; j < COLUMNS; j++) wrong += piece[i][j] != field(at + i, j);
    }
    MPI_Reduce(&wrong, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%" PRIu64 " rows, %" PRIu64 " items that are wrong\n", info.shape[0], all);
    holdall_array_close(array);
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
        if (rank == 0) fprintf(stderr, "usage: arrays write NAME ROWS | read NAME\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
