#!/bin/sh
# usage: run.sh SECONDS [TARGET[:PART]...]     fuzzes each target for its share of the time
#                                              (default: all targets)
#        run.sh merge TARGET                   adds inputs of a run to the seeds if no seed has
#                                              their coverage
#
# Uses the address sanitizer, also for the C codecs; needs nightly Rust. Inputs are in
# target/fuzz/corpus, findings in target/fuzz/findings; with findings the exit status is 1. PART:
# see HOLDALL_FUZZ_ONE in checks/TARGET.rs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$here/../target/fuzz
host=x86_64-unknown-linux-gnu
release=$work/cargo/$host/release

rustc +nightly --version >/dev/null 2>&1 ||
    { echo 'fuzz: nightly Rust is missing: rustup toolchain install nightly' >&2; exit 1; }
mkdir -p "$work/corpus" "$work/findings"
# libdeflate is built twice, for two kinds of processor
export ASAN_OPTIONS=detect_odr_violation=0

build() {
    # as `cargo fuzz build` does
    coverage='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
        -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares'
    ( cd "$here" && CARGO_TARGET_DIR=$work/cargo \
        RUSTFLAGS="$coverage --cfg fuzzing -Zsanitizer=address -Ccodegen-units=1 -Cdebug-assertions" \
        cargo +nightly build --locked --quiet --release --target "$host" "$@" )
}

if [ "$1" = merge ]; then
    build --bin "$2"
    # without the sanitizer, which mistakes a constant of zstd's highest levels for a variable out
    # of scope
    ( cd "$here" && CARGO_TARGET_DIR=$work/plain cargo build --locked --quiet --release \
        --bin seeds )
    rm -rf "$work/merged" && mkdir "$work/merged"
    "$work/plain/release/seeds" unpack "$here/seeds/$2.bagz" "$work/old"
    # existing seeds first: they stay if they have coverage of their own
    "$release/$2" -merge=1 -max_len=4000 "$work/merged" "$work/old" "$work/corpus/$2" \
        >"$work/merge.log" 2>&1 || { tail "$work/merge.log"; exit 1; }
    rm -rf "$work/old"
    "$work/plain/release/seeds" pack "$work/merged" "$here/seeds/$2.bagz"
    exit
fi

seconds=$1
shift
if [ $# = 0 ]; then
    # shellcheck disable=SC2046 # a list of words
    set -- $(cd "$here/fuzz_targets" && printf '%s\n' *.rs | sed 's/\.rs$//') frame:parts frame:open
fi
build
each=$((seconds / $#)) status=0
[ "$each" -gt 0 ] || each=1
for what; do
    target=${what%%:*}
    corpus=$work/corpus/$target
    [ -d "$corpus" ] || "$release/seeds" unpack "$here/seeds/$target.bagz" "$corpus" >/dev/null
    case $what in
    *:*) export HOLDALL_FUZZ_ONE="${what#*:}" ;;
    *) unset HOLDALL_FUZZ_ONE ;;
    esac
    log=$work/$(echo "$what" | tr : -).log
    if "$release/$target" -max_total_time="$each" -max_len=4000 -timeout=60 -rss_limit_mb=2000 \
        -print_final_stats=1 \
        -artifact_prefix="$work/findings/$target-" "$corpus" >"$log" 2>&1; then
        echo "ok    $what: $(awk '/number_of_executed_units/ { print $2 }' "$log") executions"
    else
        status=1
        echo "FAIL  $what: $log"
        tail -n 20 "$log"
    fi
done
exit $status
