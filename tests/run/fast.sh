#!/bin/sh
# usage: fast.sh
#
# Runs `make check-fast`: the checks of the source, the types of library and tests, and the unit
# tests that .config/nextest.toml classifies as fast. The Makefile exports the variables.
set -eu
cd "$(dirname "$0")/../.."
"$PYTHON" tests/scripts/terms.py
"$PYTHON" tests/scripts/lines.py
"$PYTHON" tests/scripts/layers.py
CFLAGS=-O0 "$CARGO" check --locked --workspace --tests # as the lints of `make check`
"$CARGO" nextest run --locked --lib --profile fast
echo '== make check-fast: passed'
