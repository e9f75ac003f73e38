#!/bin/sh
# usage: miri.sh SCRATCH
# The C functions, called as C calls them (tests/boundary), and what catches panics, under Miri: it looks at each access to
# memory, whether it is within bounds, aligned, of bytes that were written, and allowed by the borrows that there are; and
# at leaks. It runs no C code: content is not compressed.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
scratch=$(cd "$1" && pwd)

say() {
    echo "miri.sh: $*" >&2
    exit 1
}
rustc +nightly --version >/dev/null 2>&1 || say 'nightly Rust is missing: rustup toolchain install nightly'
cargo +nightly miri --version >/dev/null 2>&1 || say 'it is missing: rustup component add miri rust-src --toolchain nightly'
cd "$source"
# clocks are asked for by locks, and for how long a journal waits
export CARGO_TARGET_DIR="$scratch" MIRIFLAGS=-Zmiri-disable-isolation
cargo +nightly miri test --locked --test boundary
# with threads of the pool: crossbeam-epoch, below rayon, is within the rules of Tree Borrows alone, and the pool stays until the process ends
MIRIFLAGS="$MIRIFLAGS -Zmiri-tree-borrows -Zmiri-ignore-leaks" cargo +nightly miri test --locked --lib capi::guard
