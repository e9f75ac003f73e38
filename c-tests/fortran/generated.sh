#!/bin/sh
# usage: generated.sh PYTHON BINDINGS HEADER SCRATCH
#
# Checks that the generated files of the Fortran module are up to date with the header.
set -eu
rm -rf "$4" && mkdir -p "$4"
"$1" "$2/generate/fortran.py" "$3" "$4"
for made in "$4"/*; do
    diff -u "$2/fortran/$(basename "$made")" "$made" ||
        { echo "generated.sh: out of date: run bindings/generate/fortran.py include/holdall.h bindings/fortran" >&2; exit 1; }
done
