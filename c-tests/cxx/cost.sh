#!/bin/sh
# usage: cost.sh VALGRIND COST_IN_C COST_IN_C++
#
# Compares the instructions of the same loops in both languages: they must be equal within 2 %,
# including the few of the library.
set -eu
valgrind=$1 c=$2 cc=$3
HOLDALL_THREADS=1
export HOLDALL_THREADS
"$c" write "$HOLDALL_TMP"

# count PROGRAM LOOP: prints the instructions of the function count_LOOP with its calls; writes its
# sum to the file `sum`
count() {
    "$valgrind" --tool=callgrind --callgrind-out-file="$HOLDALL_TMP/out" --collect-atstart=no \
        --toggle-collect="count_$2" \
        "$1" "$2" "$HOLDALL_TMP" 2>"$HOLDALL_TMP/log" >"$HOLDALL_TMP/sum" ||
        { cat "$HOLDALL_TMP/log" >&2; exit 1; }
    sed -n 's/^.*Collected : *//p' "$HOLDALL_TMP/log"
}

failed=0
for loop in reads stream batch boxes; do
    in_c=$(count "$c" $loop)
    sum=$(cat "$HOLDALL_TMP/sum")
    in_cc=$(count "$cc" $loop)
    [ "$sum" = "$(cat "$HOLDALL_TMP/sum")" ] ||
        { echo "cost.sh: $loop reads something else in C++" >&2; failed=1; }
    awk -v loop=$loop -v c="$in_c" -v cc="$in_cc" 'BEGIN {
        printf "%s: %d instructions in C, %d in C++: %+.2f %%\n", loop, c, cc, (cc / c - 1) * 100
        exit !(c > 1000000 && cc < c * 1.02)
    }' || failed=1
done
exit $failed
