#!/bin/sh
# usage: benches.sh SCRATCH
#
# Checks that the C programs of the benchmarks compile, because `make bench` is not part of the
# tests. Those of peers, peer_*.c, need the libraries of the peers and are left out.
set -eu
cd "$(dirname "$0")/../.."
n=0
for source in tests/bench/*.c; do
    case $source in tests/bench/peer_*) continue ;; esac
    "${CC:-cc}" -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -Iinclude "$source"
    n=$((n + 1))
done
echo "ok    benches: $n programs"
