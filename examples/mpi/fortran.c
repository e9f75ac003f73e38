/* Wrappers of holdall_mpi.h for Fortran, which cannot call inline functions and has another kind of
 * communicator: the functions that slices.f90 calls. Add the functions that your program calls in
 * the same way. */
#include <holdall_mpi.h>

holdall_status f_mpi_array_open(MPI_Fint comm, const char *path, holdall_options *options,
                                holdall_array **out, holdall_error *err)
{
    return holdall_mpi_array_open(MPI_Comm_f2c(comm), path, options, out, err);
}

void f_mpi_share(uint64_t n, uint64_t unit, int rank, int ranks, uint64_t *first, uint64_t *count) {
    holdall_mpi_share(n, unit, rank, ranks, first, count);
}
