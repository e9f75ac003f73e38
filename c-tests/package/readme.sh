#!/bin/sh
# usage: readme.sh README.md demo.c
# The C program that the README shows is the one that `make demo` compiles and runs.
set -eu
sed -n '/^```c$/,/^```$/p' "$1" | sed '1d; $d' | diff - "$2" >&2 || { echo "$1 shows another program than $2" >&2; exit 1; }
echo "$1 shows $2"
