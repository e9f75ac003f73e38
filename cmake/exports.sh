#!/bin/sh
# usage: exports.sh HEADER
#
# Prints the names of the functions that the header declares, sorted, one per line. The header alone
# defines what the library exports; slim.sh and the symbol test use this script.
#
# The preprocessor removes comments and macros, so that a remaining "holdall_name(" is a function:
# callback types read "(*holdall_name)(". CC chooses the compiler.
set -eu
text=$(${CC:-cc} -E -P "$1")
printf '%s\n' "$text" | grep -o 'holdall_[A-Za-z0-9_]* *(' | tr -d ' (' | LC_ALL=C sort -u
