#!/bin/sh
# usage: generated.sh PYTHON FORTRAN HEADER SCRATCH
# What generate.py makes of the header is what lies beside it.
set -eu
rm -rf "$4" && mkdir -p "$4"
"$1" "$2/generate.py" "$3" "$4"
for made in "$4"/*; do
    diff -u "$2/$(basename "$made")" "$made" ||
        { echo "generated.sh: out of date: run fortran/generate.py include/holdall.h fortran" >&2; exit 1; }
done
