#!/bin/sh
# usage: vendor.sh CARGO DIR [FEATURES]
#
# Copies the crates that a build needs into DIR, for builds without a network, and writes
# DIR/config.toml for cargo's --config. `cargo vendor` copies every crate of Cargo.lock, four fifths
# of them for object stores. Cargo reads the manifests of all crates; therefore unneeded ones are
# reduced to a manifest and an empty lib.rs. FEATURES: `cloud` includes those of object stores, too.
set -eu
cargo=$1 dir=$2 features=${3:-}
source=$(cd "$(dirname "$0")/.." && pwd)
[ ! -e "$dir" ] || { echo "vendor.sh: $dir exists; remove it or name another folder" >&2; exit 1; }
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
cd "$source"
"$cargo" vendor --locked --versioned-dirs "$dir/crates" >/dev/null 2>"$dir/log" ||
    { cat "$dir/log" >&2; exit 1; }

# NAME-VERSION of the crates that are compiled for any system, and of those that test and build it
# on this one.
needed() {
    "$cargo" tree --locked --prefix none --format '{p}' --features "$features" "$@" |
        sed -n 's/^\([^ ]*\) v\([^ ]*\).*/\1-\2/p'
}
{ needed --target all --edges normal,build && needed --edges all; } >"$dir/needed"

for crate in "$dir"/crates/*; do
    ! grep -qxF "${crate##*/}" "$dir/needed" || continue
    find "$crate" -mindepth 1 -maxdepth 1 ! -name Cargo.toml ! -name .cargo-checksum.json \
        -exec rm -r {} +
    mkdir "$crate/src"
    : >"$crate/src/lib.rs"
    sum=$(sed -n 's/.*"package":"\([0-9a-f]*\)".*/\1/p' "$crate/.cargo-checksum.json")
    printf '{"files":{},"package":"%s"}\n' "$sum" >"$crate/.cargo-checksum.json"
done
rm "$dir/needed" "$dir/log"
cat >"$dir/config.toml" <<END
[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "$dir/crates"
END
echo "vendor.sh: $(du -sm "$dir" | cut -f 1) MB in $dir;" \
    "build with cargo --offline --config $dir/config.toml"
