#!/bin/sh
# usage: check.sh [PART...]
#
# Runs parts of `make check` (see part.sh), by default the default set. The Makefile exports the
# variables that they use. The Rust tests run beside the other parts, because both have long periods
# with one thread. Their output comes last. A part that fails is named at the end, and the parts
# after it run.
set -u
cd "$(dirname "$0")/../.." || exit
chosen=$*
[ $# -gt 0 ] || set -- rust scripts c counts consumers tool docs peers languages engines

needs=
[ -n "$chosen" ] || needs=@check
for part; do
    case $part in languages | cloud | mpi | packages) needs="$needs @$part" ;; esac
done
# shellcheck disable=SC2086 # a list
sh cmake/need.sh $needs || exit

mkdir -p target
failed='' rust='' seconds=''
for part; do
    began=$(date +%s)
    if [ "$part" = rust ] && [ $# -gt 1 ]; then
        sh tests/run/part.sh rust >target/check-rust.log 2>&1 &
        rust=$!
    else
        sh tests/run/part.sh "$part" || failed="$failed $part"
        seconds="$seconds $part $(($(date +%s) - began))"
    fi
    # the parts after it need not build the library again
    [ "$part" != c ] || export HOLDALL_BUILT=yes
done
if [ -n "$rust" ]; then
    began=$(date +%s)
    wait "$rust" || failed="$failed rust"
    cat target/check-rust.log
    seconds="$seconds, then rust $(($(date +%s) - began))"
fi
echo "== make check: seconds:$seconds"
[ -z "$failed" ] || { echo "== make check: failed:$failed" >&2; exit 1; }
echo "== make check: ${chosen:-all} passed"
