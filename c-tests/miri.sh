#!/bin/sh
# usage: miri.sh SCRATCH
#
# Runs the C functions, called as C calls them (tests/boundary), and the panic guards, under Miri.
# Miri checks that each memory access is within bounds, aligned, initialized and allowed by the
# borrow rules, and reports leaks. It runs no C code: content is not compressed.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
scratch=$(cd "$1" && pwd)

say() {
    echo "miri.sh: $*" >&2
    exit 1
}
rustc +nightly --version >/dev/null 2>&1 ||
    say 'nightly Rust is missing: rustup toolchain install nightly'
cargo +nightly miri --version >/dev/null 2>&1 ||
    say 'it is missing: rustup component add miri rust-src --toolchain nightly'
cd "$source"
# locks read clocks, and the age of a journal is measured
export CARGO_TARGET_DIR="$scratch" MIRIFLAGS=-Zmiri-disable-isolation
cargo +nightly miri test --locked --test boundary
# with threads of the pool: crossbeam-epoch, which rayon uses, is valid only under Tree Borrows, and
# the pool exists until the process ends
MIRIFLAGS="$MIRIFLAGS -Zmiri-tree-borrows -Zmiri-ignore-leaks" cargo +nightly miri test --locked \
    --lib capi::guard
