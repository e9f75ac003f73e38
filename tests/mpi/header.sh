#!/bin/sh
# usage: header.sh PREFIX
#
# Compiles holdall_mpi.h of an installed holdall, alone, for the oldest C and C++ standards that
# holdall.h supports, with all warnings.
set -eu
flags="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I$1/include"
posix=-D_XOPEN_SOURCE=700
# shellcheck disable=SC2086 # lists of words
{
    echo '#include <holdall_mpi.h>' | mpicc -std=c99 $posix $flags -x c -
    echo '#include <holdall_mpi.h>' | mpicc -std=c17 $posix $flags -x c -
    # without the old C++ functions of Open MPI, which do not compile in that way
    echo '#include <holdall_mpi.h>' | mpicxx -std=c++11 -DOMPI_SKIP_MPICXX $flags -x c++ -
    echo '#include <holdall_mpi.h>' | mpicxx -std=c++17 -DOMPI_SKIP_MPICXX $flags -x c++ -
}
