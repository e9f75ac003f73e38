#!/bin/sh
# usage: supply.sh CARGO
#
# Checks the dependencies of the library: Cargo.lock must name each crate by version and checksum,
# from crates.io, and the rules of deny.toml must hold: licences, known vulnerabilities. The fuzzers
# are not distributed: their licences do not matter. Known vulnerabilities come from
# https://github.com/RustSec/advisory-db, or a clone of it in $HOLDALL_ADVISORIES.
set -eu
cargo=$1
cd "$(dirname "$0")/.."
for lock in Cargo.lock fuzz/Cargo.lock; do
    awk -v lock="$lock" '
        function crate_ends() {
            registry = "registry+https://github.com/rust-lang/crates.io-index"
            if (name != "" && source != "" && (source != registry || sum == "")) {
                print lock ": " name ": not from crates.io, or without a checksum"
                invalid = 1
            }
            crates += source != ""
            name = source = sum = ""
        }
        /^\[\[package\]\]/ { crate_ends() }
        $1 == "name" { name = $3 }
        $1 == "source" { source = $3; gsub(/"/, "", source) }
        $1 == "checksum" { sum = $3 }
        END {
            crate_ends()
            print lock ": " crates " crates, each by its checksum"
            exit invalid || crates == 0
        }' "$lock"
done
"$cargo" metadata --locked --format-version 1 >/dev/null

export PATH="$PWD/target/tools/bin:$PATH"
if ! "$cargo" deny --version >/dev/null 2>&1; then
    echo "supply.sh: cargo-deny is missing:" \
        "cargo install cargo-deny --locked --root target/tools" >&2
    exit 1
fi
if [ -n "${HOLDALL_ADVISORIES:-}" ]; then
    export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0="url.file://$HOLDALL_ADVISORIES.insteadOf" \
        GIT_CONFIG_VALUE_0=https://github.com/RustSec/advisory-db GIT_CONFIG_KEY_1=safe.directory \
        GIT_CONFIG_VALUE_1="$HOLDALL_ADVISORIES"
fi
mkdir -p target
# without a licence that most crates have, the check must fail
sed '/^    "MIT",$/d' deny.toml >target/deny-canary.toml
if "$cargo" deny --locked --config target/deny-canary.toml check licenses >/dev/null 2>&1; then
    echo "supply.sh: a licence that deny.toml does not allow was not noticed" >&2
    exit 1
fi
"$cargo" deny --locked check
"$cargo" deny --locked --manifest-path fuzz/Cargo.toml --config deny.toml check advisories sources
