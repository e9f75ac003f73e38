/* bags write NAME@N.bagz RECORDS: each of N ranks writes its share of computed records to a shard
 *                             of its own; one commit
 * bags read NAME@*.bagz:          each rank reads its share of the records from all shards, and
 *                                 compares them */
#include <holdall_mpi.h>
#include <inttypes.h>

static holdall_error err;

static void check(holdall_status status) {
    if (status >= 0) return;
    fprintf(stderr, "%s (%s)\n", err.message, holdall_status_name(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Record number i, of 16 to 270 bytes. */
static size_t record(uint64_t i, char *to) {
    size_t n = (size_t)sprintf(to, "record %08" PRIu64 ":", i);
    for (uint64_t more = i * 2654435761u % 255; more > 0; more--)
        to[n++] = (char)('a' + (i + more * more) % 26);
    return n;
}

static void write_records(const char *spec, uint64_t records, int rank, int ranks) {
    holdall_bag_writer *writer;
    uint64_t first, count;
    char bytes[512];
    check(holdall_mpi_bag_writer_open(MPI_COMM_WORLD, spec, NULL, &writer, &err));
    holdall_mpi_share(records, 1, rank, ranks, &first, &count);
    for (uint64_t i = first; i < first + count; i++)
        check(holdall_bag_writer_append(writer, bytes, record(i, bytes), &err));
    check(holdall_mpi_bag_commit(MPI_COMM_WORLD, writer, &err));
    holdall_bag_writer_close(writer);
}

static void read_records(const char *spec, int rank) {
    holdall_bag *bag;
    holdall_bag_stream *stream;
    holdall_status status;
    uint64_t i = 0, wrong = 0, all[2];
    char expected[512];
    const void *bytes;
    size_t n;
    check(holdall_mpi_bag_open(MPI_COMM_WORLD, spec, NULL, &bag, &i, &err));
    check(holdall_bag_stream_open(bag, NULL, NULL, NULL, &stream, &err));
    for (; (status = holdall_bag_stream_next(stream, &bytes, &n, &err)) == HOLDALL_OK; i++)
        wrong += n != record(i, expected) || memcmp(bytes, expected, n) != 0;
    check(status);
    const uint64_t own[] = {holdall_bag_record_count(bag), wrong};
    MPI_Reduce(own, all, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%" PRIu64 " records, %" PRIu64 " that are wrong\n", all[0], all[1]);
    holdall_bag_stream_close(stream);
    holdall_bag_close(bag);
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc == 4 && strcmp(argv[1], "write") == 0) {
        write_records(argv[2], strtoull(argv[3], NULL, 10), rank, ranks);
    } else if (argc == 3 && strcmp(argv[1], "read") == 0) {
        read_records(argv[2], rank);
    } else {
        if (rank == 0) fprintf(stderr, "usage: bags write NAME@N.bagz RECORDS | read SPEC\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
