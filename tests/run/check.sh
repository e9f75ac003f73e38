#!/bin/sh
# usage: check.sh [PART...]
#
# Runs parts of `make check` (see part.sh), by default the default set, which `default` also stands
# for. The Makefile exports the variables that they use. What several parts need is built first.
# Then some parts run beside the others, because all have long periods with one thread; their output
# comes last. A part that fails is named at the end, and the parts after it run.
set -u
cd "$(dirname "$0")/../.." || exit
chosen=$*
[ $# -gt 0 ] || set -- default
parts=
for part; do
    case $part in
    default) parts="$parts rust scripts c counts consumers tool docs peers languages engines" ;;
    *) parts="$parts $part" ;;
    esac
done
# shellcheck disable=SC2086 # a list
set -- $parts

needs=
case " ${chosen:-default} " in *' default '*) needs=@check ;; esac
for part; do
    case $part in languages | cloud | mpi | packages) needs="$needs @$part" ;; esac
done
# shellcheck disable=SC2086 # a list
sh cmake/need.sh $needs || exit

# run PART...: sets `failed` and `seconds`
run() {
    failed='' seconds=''
    for part; do
        began=$(date +%s)
        sh tests/run/part.sh "$part" || failed="$failed $part"
        seconds="$seconds $part $(($(date +%s) - began))"
    done
}

mkdir -p target
first='' main='' beside=''
for part; do
    case $part in
    rust | consumers | cloud | mpi) beside="$beside $part" ;;
    *) main="$main $part" ;;
    esac
    case $part-$first in
    c-*) first=tests ;;
    rust- | scripts- | cloud- | packages- | supply-) ;;
    *-) first=libraries ;;
    esac
done
built='' took=''
if [ $# -gt 1 ] && [ -n "$first" ]; then
    run "$first"
    built=$failed took=$seconds
    export HOLDALL_BUILT=yes
fi
# shellcheck disable=SC2086 # lists
if [ -n "$main" ] && [ -n "$beside" ]; then
    {
        run $beside
        printf '%s\n%s\n' "$failed" "$seconds" >target/check-beside
    } >target/check-beside.log 2>&1 &
    run $main
    wait
    cat target/check-beside.log
    { read -r others; read -r times; } <target/check-beside
    failed="$failed${others:+ $others}" seconds="$seconds; beside them $times"
else
    run $main $beside
fi
failed=$built$failed
echo "== make check: seconds:$took$seconds"
[ -z "$failed" ] || { echo "== make check: failed:$failed" >&2; exit 1; }
echo "== make check: ${chosen:-all} passed"
