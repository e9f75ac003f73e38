#!/bin/sh
# usage: trips.sh PREFIX SCRATCH PYTHON
# examples/trips, the same small job in each language, with nothing but what is installed in PREFIX: each prints what the program in C
# does, and writes the same files, byte for byte. Julia's stands for itself by its layer of calls alone (trips_julia.py).
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$(cd "$1" && pwd)
python=$(cd "$(dirname "$3")" && pwd)/$(basename "$3")
rm -rf "$2" && mkdir -p "$2"
cd "$2"
programs=$source/examples/trips
. "$source/tests/languages/installed.sh"

# same NAME COMMAND...: runs it on a folder of its own, and holds that against C's
same() {
    name=$1
    shift
    mkdir "$name"
    "$@" "$name" >"$name.said"
    diff c.said "$name.said"
    diff -r c "$name"
    languages="${languages-}${languages+, }$name"
}

eval "${CC:-cc} -o c.run \"\$programs/trips.c\" $(pkg-config --cflags --libs holdall)"
same c ./c.run
eval "${CXX:-c++} -std=c++17 -o c++.run \"\$programs/trips.cc\" $(pkg-config --cflags --libs holdall)"
same c++ ./c++.run
eval "${FC:-gfortran} -o fortran.run \"$(variable fortran)/holdall.f90\" \"\$programs/trips.f90\" $(pkg-config --libs holdall)"
same fortran ./fortran.run
go_program go.build "$programs/trips.go"
same go go.build/program
export PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$(variable python) same python "$python" "$programs/trips.py"
same "julia's layer" "$python" "$source/tests/languages/trips_julia.py" "$prefix"
echo "the same $(wc -l <c.said) lines and $(find c -type f | wc -l) files: $languages"
