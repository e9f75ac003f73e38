#!/bin/sh
# usage: rig.sh RIG
# Runs one rig of `make check-long`, which exports the variables; docs/promises.md has the figures
# of each.
set -eu
cd "$(dirname "$0")/../.."

# c_test NAME: builds c-tests/test_NAME.c and runs it. The suffix of NAME is _shared or _asan, as in
# c-tests/CMakeLists.txt.
c_test() {
    "$MAKE" build TESTS=ON TARGETS="$1"
    sh c-tests/run.sh "$BUILD/long-$1" 0 "$BUILD/c-tests/$1"
}

# peer_tests KIND: builds the library and runs tests/peer/test_KIND*.py.
peer_tests() {
    "$MAKE" build stage venv
    for test in tests/peer/test_"$1"*.py; do
        echo "== $test"
        "$VENV/bin/python" "$test"
    done
}

case $1 in
disk) # $HOLDALL_STATES times as many states of the simulated disk as `make check` tries
    sh tests/run/disk.sh "$HOLDALL_STATES" target/disk
    ;;
seeds) # $HOLDALL_SEEDS contents and kinds of corruption in the tests that draw them at random
    echo '== Seeds of random corruption'
    "$CARGO" test --locked --lib --profile rigs -- damage_at_several_positions \
        corrupt_bytes_of_frames_by_other_writers one_writer_at_a_time
    ;;
crashes) # $HOLDALL_CRASHES states of each change under each set of rules
    "$MAKE" build stage
    echo '== Crashes by system calls'
    "$PYTHON" tests/crash/test_crash.py
    ;;
beside) # $HOLDALL_COMMITS commits of each form beside holdall_verify()
    echo '== Verifying beside writers'
    c_test verify_beside_shared
    ;;
kills) # $HOLDALL_KILLS kills of each scenario
    peer_tests kill
    ;;
flips) # $HOLDALL_FLIPS changed bytes and a third as many truncations of each kind of file
    HOLDALL_CUTS=$((HOLDALL_FLIPS / 3))
    export HOLDALL_CUTS
    peer_tests flips
    ;;
calls) # under the address sanitizer, from the first seed that `make check` does not draw
    echo '== Sequences of calls'
    HOLDALL_SEED=60 HOLDALL_CALLS=$((60 * HOLDALL_TIMES))
    export HOLDALL_SEED HOLDALL_CALLS
    c_test random_calls_asan
    ;;
soak)
    echo "== $HOLDALL_SECONDS seconds of mixed work"
    c_test soak_shared
    ;;
valgrind) # Python's conformance, as in the part `languages`
    "$MAKE" build stage venv
    echo '== Python under valgrind'
    sh tests/languages/valgrind_python.sh "$PWD/$STAGE" "$PWD/target/languages/valgrind" \
        "$VENV/bin/python"
    ;;
reproducible)
    echo '== Two builds'
    sh c-tests/reproducible.sh target/reproducible
    ;;
abi)
    "$MAKE" build
    echo '== ABI'
    sh cmake/need.sh cc abidiff
    sh c-tests/package/abi.sh include "$HOLDALL_LIB" target/abi
    ;;
miri)
    echo '== The C functions, under Miri'
    sh c-tests/miri.sh target/miri
    ;;
site) # installs Chromium, and axe from npm
    sh cmake/need.sh chromium npm
    "$MAKE" docs
    echo '== The site, in Chromium'
    sh cmake/venv.sh "$DOCS_VENV" browser
    npm install --silent --prefix target/site axe-core@4.14.1
    "$DOCS_VENV/bin/python" tests/docs/browser.py target/docs \
        target/site/node_modules/axe-core/axe.min.js target/site/screenshots
    ;;
peers) # $HOLDALL_CASES random cases of each kind
    echo '== Differential tests'
    # c-blosc2 creates four threads for each frame that it opens otherwise
    BLOSC_NTHREADS=1 "$CARGO" run --locked --release --package holdall-peers -- "${HOLDALL_CASES:?}"
    ;;
suite) # needs Linux; what the tests of python-blosc2 and c-blosc2 write remains in target/suite
    "$MAKE" build stage venv
    sh cmake/venv.sh "$VENV" suite
    echo '== Files of the tests of python-blosc2 and c-blosc2'
    "$VENV/bin/python" tests/peer/suite/compare.py target/suite
    ;;
tsan) # builds the standard library of Rust
    echo '== Threads, under the thread sanitizer'
    sh c-tests/tsan.sh target/tsan
    ;;
*)
    echo "make check-long: no rig $1; see make help" >&2
    exit 2
    ;;
esac
