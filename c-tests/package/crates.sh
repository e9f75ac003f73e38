#!/bin/sh
# usage: crates.sh CARGO Cargo.toml MOST
#
# Counts the crates of the library, including itself: each is code that users run and that has to be
# maintained.
set -eu
crates=$("$1" tree --locked --manifest-path "$2" -e normal --prefix none --format '{p}' |
    sed 's/ (.*//' | LC_ALL=C sort -u)
count=$(printf '%s\n' "$crates" | wc -l)
printf '%s\n' "$crates"
echo "$count crates of at most $3"
[ "$count" -le "$3" ]
