#!/bin/sh
# usage: tsan.sh SCRATCH
#
# Runs the tests of threads under the thread sanitizer. The library with its Rust standard library
# (-Zbuild-std), the C codecs and the tests are built with it, and linked with its runtime from
# nightly Rust. It reports races even if the results are right. Nothing is suppressed. A program
# with an intentional race runs first.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/.." && pwd)
mkdir -p "$1"
scratch=$(cd "$1" && pwd)
cc=${CC:-cc}
tests='threads stream index schunk_threads array_threads'

say() {
    echo "tsan.sh: $*" >&2
    exit 1
}
[ "$(uname -sm)" = 'Linux x86_64' ] || say 'this is for Linux on x86-64'
sysroot=$(rustc +nightly --print sysroot 2>/dev/null) ||
    say 'nightly Rust is missing: rustup toolchain install nightly'
[ -d "$sysroot/lib/rustlib/src/rust/library" ] ||
    say 'its source is missing: rustup component add rust-src --toolchain nightly'
target=x86_64-unknown-linux-gnu
runtime=$sysroot/lib/rustlib/$target/lib/librustc-nightly_rt.tsan.a
[ -f "$runtime" ] || say "its thread sanitizer is missing: $runtime"

echo '== the library, with the thread sanitizer'
(
    cd "$source"
    export CARGO_TARGET_DIR="$scratch/cargo" CARGO_PROFILE_RELEASE_LTO=off \
        CARGO_PROFILE_RELEASE_DEBUG=line-tables-only \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 RUSTFLAGS='-Zsanitizer=thread' \
        CFLAGS='-fsanitize=thread -g'
    cargo +nightly rustc --locked --quiet --release --lib --crate-type staticlib -Zbuild-std \
        --target "$target"
)
library=$scratch/cargo/$target/release/libholdall.a

# run NAME SOURCE STATUS: builds a program and runs it; it must end with this status
run() {
    "$cc" -std=c11 -g -O1 -fsanitize=thread -fPIE -Wall -Wextra -Werror -UNDEBUG \
        "-I$source/include" -c "$2" -o "$scratch/$1.o"
    # not with -fsanitize=thread: the runtime of the compiler may be older than nightly Rust
    # requires
    "$cc" -pie -o "$scratch/$1" "$scratch/$1.o" "$library" \
        -Wl,--whole-archive "$runtime" -Wl,--no-whole-archive \
        -Wl,--export-dynamic -lpthread -ldl -lrt -lm -lgcc_s
    sh "$here/run.sh" "$scratch/tmp/$1" "$3" "$scratch/$1" >"$scratch/$1.log" 2>&1 ||
        { cat "$scratch/$1.log"; say "$1 failed"; }
    echo "ok    $1$4"
}

# a child of a process with threads may start threads of its own
export TSAN_OPTIONS=exitcode=66:die_after_fork=0
run canary "$here/canary/race.c" 66 ': the race was seen'
for name in $tests; do
    run "$name" "$here/test_$name.c" 0 ''
done
