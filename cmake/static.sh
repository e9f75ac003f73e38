#!/bin/sh
# usage: static.sh CARGO OUT
#
# Builds the tool as one file that requires only the kernel: with musl's C library, linked statically.
# The file runs on every Linux with the same processor.
set -eu
cargo=$1 out=$2
cd "$(dirname "$0")/.."
CARGO=$cargo sh cmake/need.sh @static
triple=$(uname -m)-unknown-linux-musl
if command -v rustup >/dev/null && ! rustup target list --installed | grep -qx "$triple"; then
    rustup target add "$triple"
fi
ls "$(rustc --print target-libdir --target "$triple")"/libstd-* >/dev/null 2>&1 ||
    { echo "static.sh: Rust has no $triple: rustup target add $triple" >&2; exit 1; }
eval "export CC_$(echo "$triple" | tr - _)=musl-gcc"
"$cargo" build --locked --package holdall-cli --release --target "$triple"
mkdir -p "$(dirname "$out")"
strip -o "$out" "${CARGO_TARGET_DIR:-target}/$triple/release/holdall"
