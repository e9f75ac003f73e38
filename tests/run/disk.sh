#!/bin/sh
# usage: disk.sh STATES FOLDER
#
# Runs every change of every format on the simulated disk, with STATES times as many states as `make
# check`, and the mutations that the disk must detect. Prints the states by format and operation,
# and their sum.
set -eu
states=$1
out=$2
mkdir -p "$out"
. tests/run/malloc.sh

run() {
    HOLDALL_DISK_STATES=$1 ${CARGO:-cargo} test --locked --lib --profile rigs "$2" -- --nocapture \
        >"$3" 2>&1 || {
        grep -v '^simulated disk |' "$3" | tail -50
        exit 1
    }
}

echo "== mutations of commits, each of which must be noticed"
run 1 mutations "$out/mutations.log"
grep -o 'mutation | .*' "$out/mutations.log" | sort
echo "== power failures: format | operation | states"
run "$states" power_failure "$out/disk.log"
grep -o 'simulated disk[ :].*' "$out/disk.log" | awk -F ' [|] ' '
    NF == 4 { rows[$2 " | " $3] += $4; formats[$2] += $4; sum += $4 }
    NF == 1 && $0 ~ /violations$/ { n = split($0, fields, " "); violations += fields[n - 1] }
    END {
        for (row in rows) { print row " | " rows[row] | "sort"; operations++ }
        close("sort")
        print "== by format"
        for (format in formats) print format " | " formats[format] | "sort"
        close("sort")
        print "== " sum " states of " operations " operations, " violations " violations"
    }'
