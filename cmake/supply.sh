#!/bin/sh
# What the library is made of: Cargo.lock must name each crate by version and checksum, from crates.io, and what deny.toml
# says must hold: licences, known faults.
# Usage: cmake/supply.sh CARGO
set -eu
cargo=$1
cd "$(dirname "$0")/.."
for lock in Cargo.lock fuzz/Cargo.lock; do
    awk -v lock="$lock" '
        function crate_ends() {
            if (name != "" && source != "" && (source != "registry+https://github.com/rust-lang/crates.io-index" || sum == "")) {
                print lock ": " name ": not from crates.io, or without a checksum"
                bad = 1
            }
            crates += source != ""
            name = source = sum = ""
        }
        /^\[\[package\]\]/ { crate_ends() }
        $1 == "name" { name = $3 }
        $1 == "source" { source = $3; gsub(/"/, "", source) }
        $1 == "checksum" { sum = $3 }
        END { crate_ends(); print lock ": " crates " crates, each by its checksum"; exit bad || crates == 0 }' "$lock"
done
"$cargo" metadata --locked --format-version 1 >/dev/null
if ! "$cargo" deny --version >/dev/null 2>&1; then
    echo "supply.sh: cargo-deny is missing, so licences and known faults were not looked at: cargo install cargo-deny --locked" >&2
    exit 1
fi
"$cargo" deny --locked check
