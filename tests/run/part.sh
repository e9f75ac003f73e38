#!/bin/sh
# usage: part.sh PART
# Runs one part of `make check`. The Makefile exports the variables.
set -eu
cd "$(dirname "$0")/../.."
# The tool and the Python module are those that the Rust tests build, with debug assertions: the
# parts test the optimised library through C.
export DEV_TOOL=ON

# stage: installs this source into $STAGE
stage() {
    [ -n "${HOLDALL_BUILT:-}" ] || { "$MAKE" build && "$MAKE" stage; }
}

# venvs: makes the Python environments of the tools that define the formats
venvs() {
    [ -n "${HOLDALL_BUILT:-}" ] || "$MAKE" venv
}

case $1 in
libraries)
    "$MAKE" build
    "$MAKE" stage
    ;;
tests) # the libraries and the C tests
    "$MAKE" build TESTS=ON
    "$MAKE" stage
    ;;
venvs)
    "$MAKE" venv
    sh cmake/venv.sh "$VENV" languages
    ;;
scripts)
    echo '== Scripts'
    failed=
    for check in terms lines layers; do
        "$PYTHON" tests/scripts/$check.py || failed="$failed $check.py"
    done
    for check in benches lint paths need uninstall; do
        sh tests/scripts/$check.sh target/check-$check || failed="$failed $check.sh"
    done
    [ -z "$failed" ] || { echo "scripts: failed:$failed" >&2; exit 1; }
    ;;
rust)
    echo '== Rust tests'
    # the lints that the layers deny; not every Rust installation has clippy
    if "$CARGO" clippy --version >/dev/null 2>&1; then
        # Without object stores, and with a package for which cargo compiles the C codecs as for all;
        # nothing runs them.
        CFLAGS=-O0 "$CARGO" clippy --locked --lib -p holdall -p holdall-peers -- -D warnings
        CFLAGS=-O0 "$CARGO" clippy --locked --workspace --features holdall/cloud -- -D warnings
    fi
    . tests/run/malloc.sh
    # cargo-nextest does not run the examples in the documentation
    if "$CARGO" nextest --version >/dev/null 2>&1; then
        "$CARGO" nextest run --locked --workspace --features holdall/cloud
        "$CARGO" test --locked --workspace --doc --features holdall/cloud
    else
        "$CARGO" test --locked --workspace --features holdall/cloud
    fi
    ;;
c)
    [ -n "${HOLDALL_BUILT:-}" ] || "$MAKE" build TESTS=ON
    echo '== C tests'
    # more than there are processors: some tests mostly wait for the disk
    cd "$BUILD" && ctest --output-on-failure --parallel "$((JOBS * 2))"
    ;;
counts)
    stage
    echo '== Instructions' # of the hot paths, see tests/bench/counts.py
    "$PYTHON" tests/bench/counts.py "$STAGE" target/counts
    ;;
consumers) # with an installation of its own, because it is moved
    [ -n "${HOLDALL_BUILT:-}" ] || "$MAKE" build
    "$MAKE" stage STAGE=target/prefix-consumers
    echo '== Consumers'
    sh c-tests/consumers/run.sh target/prefix-consumers target/consumers
    ;;
tool)
    stage
    echo '== Command-line tool'
    sh tests/run/parallel.sh "$JOBS" "$PYTHON" tools/tests/test_*.py tests/crash/test_crash.py
    ;;
docs)
    stage
    sh cmake/need.sh venv
    sh cmake/venv.sh "$DOCS_VENV" docs
    echo '== Documents' # every code block of them runs, and the manual and the site are generated
    "$PYTHON" tests/docs/test_blocks.py target/check-docs/tests
    "$PYTHON" tests/docs/blocks.py "$STAGE" target/check-docs/blocks
    "$DOCS_VENV/bin/python" tests/docs/pages.py target/check-docs/pages
    "$PYTHON" docs/figures/draw.py --check
    "$PYTHON" tests/bench/report.py --check
    ;;
peers)
    stage
    venvs
    echo '== Peers' # the tools that define the formats, in both directions
    sh tests/run/parallel.sh "$JOBS" "$VENV/bin/python" tests/peer/test_*.py
    ;;
languages)
    stage
    venvs
    sh cmake/venv.sh "$VENV" languages
    echo '== Go' # under the race detector
    sh tests/languages/go.sh "$STAGE" target/languages/go
    echo '== The same in each language'
    sh tests/languages/trips.sh "$STAGE" target/languages/trips "$VENV/bin/python"
    # Julia through its grammar and a C++ compiler, Python next to NumPy, pyarrow, Polars and DuckDB
    echo '== Julia and Python'
    PYTHONPATH="$PWD/$STAGE/share/holdall/python" sh c-tests/run.sh target/languages/conform 0 \
        "$VENV/bin/python" c-tests/conform.py all "$VENV/bin/python" \
        tests/languages/conform_python.py
    HOLDALL_PREFIX="$PWD/$STAGE" sh tests/run/parallel.sh "$JOBS" "$VENV/bin/python" \
        tests/languages/test_*.py
    ;;
engines)
    [ -n "${HOLDALL_BUILT:-}" ] || "$MAKE" build
    sh cmake/need.sh venv
    sh cmake/venv.sh "$ENGINES_VENV" engines
    sh cmake/venv.sh target/venv-ray ray
    echo '== Engines' # that read through adapters of the Python module
    failed=0
    sh tests/run/parallel.sh "$JOBS" "$ENGINES_VENV/bin/python" \
        tests/engines/test_dask.py tests/engines/test_grain.py tests/engines/test_xarray.py ||
        failed=1
    # starting Ray takes longer than all else; more kills: make check-engines
    HOLDALL_KILLS="${HOLDALL_KILLS:-1}" target/venv-ray/bin/python tests/engines/test_ray.py ||
        failed=1
    exit $failed
    ;;
cloud)
    sh tests/cloud/build.sh
    echo '== Object stores' # emulators of them
    HOLDALL_LIB="$PWD/target/debug/${HOLDALL_LIB##*/}" "$CLOUD_VENV/bin/python" \
        tests/cloud/test_cloud.py
    ;;
mpi)
    stage
    echo '== MPI' # the programs of examples/mpi
    sh tests/mpi/header.sh "$STAGE"
    {
        cmake -S examples/mpi -B target/mpi -DCMAKE_BUILD_TYPE=Release \
            -DCMAKE_PREFIX_PATH="$PWD/$STAGE" >target/mpi.log &&
            cmake --build target/mpi >>target/mpi.log
    } || { cat target/mpi.log; exit 1; }
    HOLDALL_MPI_PROGRAMS="$PWD/target/mpi" "$PYTHON" tests/mpi/test_mpi.py
    ;;
packages)
    "$MAKE" debs
    sh cmake/static.sh "$CARGO" target/static/holdall
    echo '== Packages'
    sh tests/packages/debs.sh target/deb target/deb/test
    sh tests/packages/static.sh target/static/holdall target/static/test
    sh tests/packages/cinstall.sh "$CARGO" target/deb/build target/cinstall
    sh tests/packages/vendor.sh "$CARGO" target/vendor
    ;;
supply)
    echo '== Dependencies'
    sh cmake/supply.sh "$CARGO"
    ;;
*)
    echo "make check: no part $1; see make help" >&2
    exit 2
    ;;
esac
