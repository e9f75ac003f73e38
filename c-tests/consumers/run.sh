#!/bin/sh
# usage: run.sh PREFIX SCRATCH
#
# Uses the library in every way that a project may, each in a new folder below SCRATCH (which is
# emptied first), with a program that is built and run: from the installation in PREFIX, again after
# PREFIX was moved, and from the source by add_subdirectory. PREFIX is moved back at the end.
#
# A failed mode is named with its output, and the others still run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
prefix=$(cd "$1" && pwd) || exit 2
rm -rf "$2" && mkdir -p "$2" || exit 2
# Paths with spaces and non-ASCII characters, for the builds and for the moved prefix.
scratch="$(cd "$2" && pwd)/my prüfung dir"
mkdir "$scratch" || exit 2
moved="$scratch/moved to elsewhere/ümlaut"
cc=${CC:-cc}
version=$(find "$prefix" -name holdall.pc -exec sed -n 's/^Version: \([0-9]*\.[0-9]*\).*/\1/p' {} +)
other=${version%.*}.$((${version#*.} + 1))   # another minor version: another ABI
passed=0 failed=0

# PREFIX is moved back in every case.
trap '[ ! -d "$moved" ] || mv "$moved" "$prefix"' EXIT
trap 'exit 1' HUP INT TERM

# mode NAME FUNCTION ARGUMENT...: runs the function in a new folder, with `set -e`
mode() {
    name=$1
    shift
    folder=$scratch/$(echo "$name" | tr -d , | tr ' ' -)
    mkdir "$folder"
    ( set -eu; cd "$folder"; "$@" ) >"$folder/log" 2>&1
    # Not `if ( … )`: the shell ignores set -e in a condition.
    # shellcheck disable=SC2181
    if [ $? -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok    $name: $(tail -n 1 "$folder/log")"
    else
        failed=$((failed + 1))
        echo "FAIL  $name"
        sed 's/^/      /' "$folder/log"
    fi
}

# linked PROGRAM shared|static: checks how the program is linked
linked() {
    if [ "$(uname)" = Darwin ]; then
        needs=$(otool -L "$1")
    else
        needs=$(readelf -d "$1")
    fi
    case $2-$needs in
    shared-*libholdall.*) ;;
    shared-*) echo "$1 is not linked to the shared library" && return 1 ;;
    static-*libholdall.*) echo "$1 is linked to the shared library" && return 1 ;;
    esac
}

find_package() { # PREFIX shared|static C|CXX
    cmake -S "$here/find" -B build -DCMAKE_PREFIX_PATH="$1" -DKIND="$2" -DLANGUAGE="$3" \
        -DWANT="$version"
    cmake --build build
    linked build/trips "$2"
    case $3 in
    C) build/own_zstd own.bagz ;;
    *) build/month "$scratch/month.b2nd" ;;
    esac
    [ "$3" = Fortran ] || build/consumer made.bagz
    trips build/trips
}

# The first program is the one in C: the others must have the same output and write the same file.
trips() { # PROGRAM
    rm -rf trips
    mkdir -p trips/made
    "$1" trips/made >trips/said
    [ -d "$scratch/trips" ] || cp -r trips "$scratch/trips"
    diff -r "$scratch/trips" trips
    tail -n 1 trips/said
}

refused() { # PREFIX VERSION
    if cmake -S "$here/find" -B build -DCMAKE_PREFIX_PATH="$1" -DKIND=shared -DLANGUAGE=C \
        -DWANT="$2"; then
        echo "find_package accepts version $2"
        return 1
    fi
    grep -q "considered but not accepted" log   # refused for its version, not for want of a file
    echo "refused, as it must be"
}

subdirectory() { # shared|static
    shared=ON
    [ "$1" = shared ] || shared=OFF
    cmake -S "$here/subdirectory" -B build -DHOLDALL_SOURCE="$source" -DBUILD_SHARED_LIBS=$shared
    cmake --build build
    linked build/consumer "$1"
    build/own_zstd own.bagz
    build/consumer made.bagz
    # The installed program runs. The library is installed with it only if it is linked to the
    # shared one.
    cmake --install build --prefix "$PWD/installed" >/dev/null
    find installed -name '*holdall*' >found
    if [ "$1" = shared ]; then
        [ "$(sed 's/.*libholdall\.so//; s/.*\.dylib//' found | tr -d '0-9.\n')" = "" ] &&
            [ -s found ]
    else
        [ ! -s found ]
    fi
    rm -r build
    installed/bin/consumer made-too.bagz
}

# In a subproject, the complete library is installed only on request.
subdirectory_installed() {
    cmake -S "$here/subdirectory" -B build -DHOLDALL_SOURCE="$source" -DBUILD_SHARED_LIBS=ON \
        -DHOLDALL_INSTALL=ON
    cmake --build build
    cmake --install build --prefix "$PWD/installed" >/dev/null
    rm -r build
    installed/bin/consumer made-too.bagz
    find installed -name libholdall_crashkit.a | grep -q .
    pkg_config "$PWD/installed" shared
}

# Sets the paths with which pkg-config finds the package, and programs its shared library.
package_in() { # PREFIX
    pc=$(find "$1" -name holdall.pc)
    PKG_CONFIG_PATH=$(dirname "$pc")
    libdir=$(dirname "$PKG_CONFIG_PATH")
    LD_LIBRARY_PATH=$libdir DYLD_LIBRARY_PATH=$libdir
    export PKG_CONFIG_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH
}

pkg_config() { # PREFIX shared|static
    package_in "$1"
    pkg-config --validate holdall
    # eval, because pkg-config quotes what a shell would split.
    if [ "$2" = shared ]; then
        eval "$cc -o consumer \"\$here/consumer.c\" $(pkg-config --cflags --libs holdall)"
    elif [ "$(uname)" = Darwin ]; then # which has no -static
        eval "$cc -o consumer \"\$here/consumer.c\" $(pkg-config --cflags holdall) \"\$libdir/libholdall.a\"" \
            "$(sed -n 's/^Libs.private: //p' "$pc")"
    else
        eval "$cc -static -o consumer \"\$here/consumer.c\" $(pkg-config --static --cflags --libs holdall)"
    fi
    linked consumer "$2"
    ./consumer made.bagz
}

# The source that the package names, compiled as its first comment states.
pkg_config_languages() { # PREFIX
    package_in "$1"
    eval "${CXX:-c++} -std=c++17 -o trips_cxx \"\$source/examples/trips/trips.cc\" $(pkg-config --cflags --libs holdall)"
    trips ./trips_cxx
    # pkgconf quotes variables as well, pkg-config does not: one word or several.
    eval "set -- $(pkg-config --variable=fortran holdall)"
    # shellcheck disable=SC2034 # for eval
    module="$*/holdall.f90"
    eval "${FC:-gfortran} -o trips_f \"\$module\" \"\$source/examples/trips/trips.f90\" $(pkg-config --libs holdall)"
    trips ./trips_f
}

tool() { # PREFIX
    program=$1/bin/holdall
    [ -x "$program" ] || { echo "$program is not installed"; return 1; }
    linked "$program" static
    "$program" --version
}

# The examples, and a set of files that the tool writes: two ranks get each of its records once per
# epoch.
examples() { # PREFIX
    cmake -S "$source/examples" -B build -DCMAKE_PREFIX_PATH="$1"
    cmake --build build
    seq 1 5000 >lines
    "$1/bin/holdall" pack -q --shards 4 lines set.bagz
    for rank in 0 1; do build/epoch set@4.bagz 7 $rank 2 2 >"rank$rank"; done
    [ "$(grep -c '^epoch [01]: 2500 records, .* 0 left out$' rank0 rank1 | cut -d : -f 2 | tr -d '\n')" = 22 ]
    # shellcheck disable=SC2004 # a sum such as 1+2: the $ is needed
    [ "$(sed -n 's/^epoch 0: .* records, \([0-9]*\) bytes.*/\1/p' rank0 rank1 | paste -s -d + | sed 's/$//' | { read -r sum; echo $(($sum)); })" = 18893 ]
    tail -n 1 rank1
}

installed() { # PREFIX, and what to add to the names
    mode "find_package shared$2" find_package "$1" shared C
    mode "find_package static$2" find_package "$1" static C
    mode "find_package C++ shared$2" find_package "$1" shared CXX
    mode "find_package C++ static$2" find_package "$1" static CXX
    mode "pkg-config shared$2" pkg_config "$1" shared
    mode "pkg-config static$2" pkg_config "$1" static
    mode "tool$2" tool "$1"
    mode "examples$2" examples "$1"
}

mode "find_package $other" refused "$prefix" "$other"
installed "$prefix" ""
mode "find_package Fortran shared" find_package "$prefix" shared Fortran
mode "add_subdirectory shared" subdirectory shared
mode "add_subdirectory static" subdirectory static
mode "add_subdirectory, installed" subdirectory_installed

mkdir -p "$(dirname "$moved")"
mv "$prefix" "$moved" || exit 2
installed "$moved" ", prefix moved"
mode "find_package Fortran static, prefix moved" find_package "$moved" static Fortran
mode "pkg-config C++ and Fortran, prefix moved" pkg_config_languages "$moved"

echo "consumers: $passed modes passed, $failed failed"
[ $failed -eq 0 ]
