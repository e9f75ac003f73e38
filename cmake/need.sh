#!/bin/sh
# usage: need.sh THING|@GROUP...
#
# Checks that the tools of a make target exist. A group (see below) is the list of one target or
# part; several may be given. On Debian and Ubuntu, one apt-get installs missing tools. Tools that
# are still missing are listed in one message, with exit status 1. PYTHON and CARGO choose the
# Python and the cargo that are tested.
set -eu

# The tools of make targets.
group() {
    case $1 in
    @build) echo make cargo cc cmake ;;
    @check) echo make cargo cc c++ gfortran clang cmake pkg-config valgrind go shellcheck strace \
        venv ;;
    @languages) echo make cargo cc c++ gfortran cmake go pkg-config venv ;;
    @mpi) echo make cargo cc c++ cmake mpi strace ;;
    @cloud) echo make cargo cc venv ;;
    @packages) echo make cargo cargo-c cc cmake pkg-config musl dpkg-deb ;;
    @static) echo make cargo cc musl ;;
    @bench) echo make cargo cc cmake venv lmdb zstd fio ;;
    @*) echo "need.sh: no group $1" >&2 && exit 2 ;;
    *) echo "$1" ;;
    esac
}

# at_least VERSION MINIMUM: compares two versions MAJOR.MINOR
at_least() {
    awk -v v="$1" -v least="$2" \
        'BEGIN { split(v, a, "."); split(least, b, ".")
                 exit !(a[1] > b[1] || (a[1] == b[1] && a[2] + 0 >= b[2])) }'
}

# has_library HEADER NAME: whether a C program can be linked to a library
has_library() {
    echo "#include <$1>
int main(void) { return 0; }" | "${CC:-cc}" -x c - -l"$2" -o /dev/null 2>/dev/null
}

have() {
    case $1 in
    cmake) command -v cmake >/dev/null &&
        at_least "$(cmake --version | awk 'NR == 1 { print $3 }')" 3.16 ;; # as CMakeLists.txt asks
    cargo) # the version is that of Cargo.toml
        at_least "$("${CARGO:-cargo}" --version 2>/dev/null | awk '{ print $2 }')" 1.89 ;;
    go) # the version is that of bindings/go/go.mod
        command -v go >/dev/null &&
            at_least "$(go version | awk '{ sub("go", "", $3); print $3 }')" 1.19 ;;
    mpi) command -v mpicc >/dev/null && command -v mpirun >/dev/null ;;
    musl) command -v musl-gcc >/dev/null ;;
    lmdb) has_library lmdb.h lmdb ;;
    zstd) has_library zstd.h zstd ;;
    cargo-c) "${CARGO:-cargo}" cinstall --version >/dev/null 2>&1 ;;
    venv) # the packages of the peers require Python 3.11; those without a wheel are compiled
        "${PYTHON:-python3}" -c 'import ensurepip, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(sys.version_info < (3, 11) or not os.path.exists(header))' 2>/dev/null ;;
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
    lmdb) echo liblmdb-dev ;;
    zstd) echo libzstd-dev ;;
    abidiff) echo abigail-tools ;;
    dpkg-deb) echo dpkg ;;
    venv) echo python3 python3-venv python3-dev ;;
    cargo | cargo-c) ;; # Debian's may be older than the library asks for: named, not installed
    *) echo "$1" ;;
    esac
}

say() {
    case $1 in
    make) echo "make (GNU)" ;;
    cmake) echo "CMake 3.16 or later" ;;
    cc) echo "a C compiler with its address and UB sanitizers (gcc, libasan, libubsan)" ;;
    c++) echo "a C++ compiler (g++, gcc-c++)" ;;
    go) echo "Go 1.19 or later (golang-go)" ;;
    gfortran) echo "the Fortran compiler gfortran (gcc-gfortran)" ;;
    venv) echo "Python 3.11 or later with headers, venv and ensurepip (python3-dev, python3-venv)" ;;
    cargo) echo "Rust 1.89 or later, from https://rustup.rs" ;;
    cargo-c) echo "cargo-c (cargo install cargo-c --locked; or the --version that it names)" ;;
    mpi) echo "an MPI with mpicc and mpirun (libopenmpi-dev and openmpi-bin)" ;;
    musl) echo "musl-gcc (musl-tools)" ;;
    lmdb | zstd) echo "the C library $1 with its header (lib$1-dev)" ;;
    abidiff) echo "abidw and abidiff (libabigail, abigail-tools)" ;;
    pkg-config) echo "pkg-config (or pkgconf)" ;;
    *) echo "$1" ;;
    esac
}

# missing THING...: prints those that are missing, each once
missing() {
    for thing; do
        have "$thing" || echo "$thing"
    done | awk '!seen[$0]++'
}

# packages THING...: prints their packages, in one line
packages() {
    for thing; do package "$thing"; done | tr '\n' ' ' | sed 's/ *$//'
}

things=
for asked; do
    things="$things $(group "$asked")"
done
# Unquoted lists from here on.
# shellcheck disable=SC2086
absent=$(missing $things)
[ -n "$absent" ] || exit 0

if command -v apt-get >/dev/null; then
    # shellcheck disable=SC2086
    install=$(packages $absent)
    root=
    [ "$(id -u)" = 0 ] || root=sudo
    if [ -n "$install" ] && { [ -z "$root" ] || command -v sudo >/dev/null; }; then
        echo "need.sh: installing $install"
        # The result is tested below, for each tool: an unreachable mirror may not matter.
        $root apt-get update -qq || true
        # shellcheck disable=SC2086
        $root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends $install || true
        # shellcheck disable=SC2086
        absent=$(missing $absent)
    fi
fi

[ -n "$absent" ] || exit 0
{
    echo "need.sh: please install"
    for thing in $absent; do echo "  - $(say "$thing")"; done
    # shellcheck disable=SC2086
    install=$(packages $absent)
    ! command -v apt-get >/dev/null || [ -z "$install" ] ||
        echo "  on Debian and Ubuntu: sudo apt-get install $install"
} >&2
exit 1
