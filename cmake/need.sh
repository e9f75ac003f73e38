#!/bin/sh
# usage: need.sh THING...     of: make cc c++ gfortran go clang cmake pkg-config valgrind venv cargo abidiff mpi strace musl cargo-c dpkg-deb
# Sees to it that the tools a make target uses are there. What is missing is installed on Debian and
# Ubuntu, where one command gives it; elsewhere it is named, and the exit status is 1.
set -eu

have() {
    case $1 in
    cmake) command -v cmake >/dev/null &&      # 3.16 is what CMakeLists.txt asks for
        cmake --version | awk 'NR == 1 { split($3, v, "."); exit !(v[1] > 3 || (v[1] == 3 && v[2] >= 16)) }' ;;
    go) command -v go >/dev/null &&         # 1.19 is what go/go.mod asks for
        go version | awk '{ sub("go", "", $3); split($3, v, "."); exit !(v[1] > 1 || v[2] >= 19) }' ;;
    mpi) command -v mpicc >/dev/null && command -v mpirun >/dev/null ;;
    musl) command -v musl-gcc >/dev/null ;;
    cargo-c) "${CARGO:-cargo}" cinstall --version >/dev/null 2>&1 ;;
    venv) "${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

package() {
    case $1 in
    cc) echo gcc libc6-dev ;;
    c++) echo g++ ;;
    go) echo golang-go ;;
    mpi) echo libopenmpi-dev openmpi-bin ;;
    musl) echo musl-tools ;;
    abidiff) echo abigail-tools ;;
    dpkg-deb) echo dpkg ;;
    venv) echo python3 python3-venv ;;
    *) echo "$1" ;;
    esac
}

missing=
for thing; do
    have "$thing" || missing="$missing $thing"
done
[ -n "$missing" ] || exit 0

if command -v apt-get >/dev/null; then
    packages=
    for thing in $missing; do
        # Debian's cargo, and cargo-c, may be older than the library asks for: named below, not installed.
        [ "$thing" = cargo ] || [ "$thing" = cargo-c ] || packages="$packages $(package "$thing")"
    done
    root=
    [ "$(id -u)" = 0 ] || root=sudo
    if [ -n "$packages" ] && { [ -z "$root" ] || command -v sudo >/dev/null; }; then
        echo "need.sh: installing$packages"
        # Whether it worked is asked below, by thing: a dead mirror may not matter.
        $root apt-get update -qq || true
        # shellcheck disable=SC2086 # a list of words
        $root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends $packages || true
    fi
fi

status=0
for thing in $missing; do
    have "$thing" && continue
    case $thing in
    cmake) say="CMake 3.16 or later" ;;
    cc) say="a C compiler with its address and undefined-behaviour sanitizers (gcc, libasan, libubsan)" ;;
    c++) say="a C++ compiler (g++, gcc-c++)" ;;
    go) say="Go 1.19 or later (golang-go)" ;;
    gfortran) say="the Fortran compiler gfortran (gcc-gfortran)" ;;
    venv) say="Python 3 with its modules venv and ensurepip (python3-venv)" ;;
    cargo) say="Rust, from https://rustup.rs" ;;
    cargo-c) say="cargo-c (cargo install cargo-c --locked; where that asks for a later Rust, the --version that it names)" ;;
    mpi) say="an MPI with mpicc and mpirun (libopenmpi-dev and openmpi-bin)" ;;
    musl) say="musl-gcc (musl-tools)" ;;
    abidiff) say="abidw and abidiff (libabigail, abigail-tools)" ;;
    pkg-config) say="pkg-config (or pkgconf)" ;;
    *) say=$thing ;;
    esac
    echo "need.sh: please install $say" >&2
    status=1
done
exit $status
