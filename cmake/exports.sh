#!/bin/sh
# usage: exports.sh HEADER
# Prints the names of the functions that the header declares, sorted, one a line. The header is the
# one place that says what the library exports; the slimming and the symbol test both ask here.
#
# The preprocessor takes comments and macros away, so that what is left of "holdall_name(" is a
# function: callback types read "(*holdall_name)(". CC chooses the compiler.
set -eu
text=$(${CC:-cc} -E -P "$1")
printf '%s\n' "$text" | grep -o 'holdall_[A-Za-z0-9_]* *(' | tr -d ' (' | LC_ALL=C sort -u
