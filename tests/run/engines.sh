#!/bin/sh
# usage: engines.sh [ENGINE...]
#
# Runs the tests of adapters for engines that are too large for `make check`, by default of all of
# them. Each engine has an environment of its own, target/venv-ENGINE. Spark also needs Java 17.
# HOLDALL_KILLS is the number of times that each test kills a process.
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- beam ray spark torch
[ -n "${HOLDALL_BUILT:-}" ] || "$MAKE" build
sh cmake/need.sh venv
for engine; do
    echo "== $engine"
    sh cmake/venv.sh "target/venv-$engine" "$engine"
    "target/venv-$engine/bin/python" "tests/engines/test_$engine.py"
done
