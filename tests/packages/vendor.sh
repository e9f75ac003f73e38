#!/bin/sh
# usage: vendor.sh CARGO SCRATCH
#
# Vendors the crates, and compiles the library and all of its tests only with these: offline, and
# with an empty CARGO_HOME.
set -eu
cargo=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$2" && mkdir -p "$2"
scratch=$(cd "$2" && pwd)
fail() { echo "vendor.sh: $*" >&2; exit 1; }

sh "$source/cmake/vendor.sh" "$cargo" "$scratch/vendor"
cd "$source"
CARGO_HOME="$scratch/home" CARGO_TARGET_DIR="$scratch/target" \
    "$cargo" check --offline --locked --all-targets --config "$scratch/vendor/config.toml" \
    2>"$scratch/log" || { cat "$scratch/log"; exit 1; }

# Compares with `cargo vendor`, by file lengths, because block counts differ between file systems.
bytes() { find "$1" -type f -exec cat {} + | wc -c; }
"$cargo" vendor --locked "$scratch/all" >/dev/null 2>&1
all=$(bytes "$scratch/all") ours=$(bytes "$scratch/vendor")
[ $((ours * 2)) -lt "$all" ] || fail "$ours bytes, and cargo vendor has $all"
echo "ok    $((ours / 1000000)) MB vendored, of $((all / 1000000)); they are all that cargo check --all-targets needs"
