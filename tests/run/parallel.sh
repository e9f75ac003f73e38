#!/bin/sh
# usage: parallel.sh JOBS PROGRAM SCRIPT...
#
# Runs PROGRAM on each script, JOBS of them at once; the output of each is printed at its end. If
# one fails, the others still run, and the exit status is that of the failure.
set -eu
jobs=$1 program=$2
shift 2
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export program logs
# shellcheck disable=SC2016 # for the shell that runs one
printf '%s\n' "$@" | xargs -P "$jobs" -I SCRIPT sh -c '
    log=$logs/$(basename "$1").log
    if "$program" "$1" >"$log" 2>&1; then failed=0; else failed=1; fi
    { echo "== $1"; cat "$log"; [ $failed = 0 ] || echo "FAIL  $1"; } >"$log.done"
    cat "$log.done"
    exit $failed' sh SCRIPT
