#!/bin/sh
# usage: size.sh FILE BYTES
# The library stays small enough to ship with anything.
set -eu
size=$(wc -c <"$1")
echo "$1: $size bytes of at most $2"
[ "$size" -le "$2" ]
