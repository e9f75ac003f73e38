#!/bin/sh
# usage: cinstall.sh CARGO SCRATCH
# Installs with `cargo cinstall` into a fresh prefix, and compiles and runs a program against that: the shared library, with pkg-config.
# Where cargo-c is missing this says so, and nothing is tested.
set -eu
cargo=$1
"$cargo" cinstall --version >/dev/null 2>&1 || { echo "skip  cargo cinstall: cargo install cargo-c --locked"; exit 0; }
source=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$2" && mkdir -p "$2"
scratch=$(cd "$2" && pwd)
(cd "$source" && "$cargo" cinstall --locked --release --prefix "$scratch/prefix" --libdir "$scratch/prefix/lib" >"$scratch/log" 2>&1) || { cat "$scratch/log"; exit 1; }
cd "$scratch"
for file in include/holdall.h include/holdall_mpi/agree.h lib/libholdall.so lib/libholdall.a lib/pkgconfig/holdall.pc; do
    [ -e "prefix/$file" ] || { echo "cinstall.sh: $file is not installed" >&2; exit 1; }
done
export PKG_CONFIG_PATH="$scratch/prefix/lib/pkgconfig"
# shellcheck disable=SC2046 # a list of words
cc -o demo "$source/examples/demo.c" $(pkg-config --cflags --libs holdall)
head -n 9000 "$source/examples/data/nyc-weather-2013.csv" >lines.txt
LD_LIBRARY_PATH=prefix/lib ./demo lines.txt lines.bagz >said
grep 'verified: 9000 sound, 0 bad' said
echo "ok    cargo cinstall: $(readelf -d prefix/lib/libholdall.so | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
