#!/bin/sh
# usage: static.sh CARGO OUT
#
# Builds the tool as one file that requires only the kernel: library and tool with musl's C library,
# linked statically. The file runs on every Linux with the same processor.
set -eu
cargo=$1 out=$2
cd "$(dirname "$0")/.."
CARGO=$cargo sh cmake/need.sh @static
triple=$(uname -m)-unknown-linux-musl
if command -v rustup >/dev/null && ! rustup target list --installed | grep -qx "$triple"; then
    rustup target add "$triple"
fi
libdir=$(rustc --print target-libdir --target "$triple")
ls "$libdir"/libstd-* >/dev/null 2>&1 ||
    { echo "static.sh: Rust has no $triple: rustup target add $triple" >&2; exit 1; }
eval "export CC_$(echo "$triple" | tr - _)=musl-gcc"
"$cargo" rustc --locked --lib --crate-type staticlib --release --target "$triple"
mkdir -p "$(dirname "$out")"
# Rust's own unwinder: gcc's is for another C library.
musl-gcc -static -s -nodefaultlibs -O2 -std=gnu11 -DHOLDALL_STATIC -Iinclude -o "$out" tools/*.c \
    "${CARGO_TARGET_DIR:-target}/$triple/release/libholdall.a" \
    "$libdir/self-contained/libunwind.a" -lc "$(gcc -print-libgcc-file-name)"
