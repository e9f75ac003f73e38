#!/bin/sh
# usage: python_extension.sh [BUILD]
#
# Puts the extension of the Python module into bindings/python/holdall, so that
# PYTHONPATH=bindings/python works. It is the one that CMake has built in the folder BUILD, if it
# has built one; without BUILD, cargo builds it.
set -eu
cd "$(dirname "$0")/.."
to=bindings/python/holdall
if [ $# -gt 0 ]; then
    set -- "$1"/python/_native*.so
    [ -e "$1" ] || exit 0
else
    cargo=${CARGO:-cargo} python=${PYTHON:-python3}
    export PYO3_PYTHON="$python"
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        set -- --features=abi3
    fi
    "$cargo" build --locked --release --package holdall-python "$@"
    folder=${CARGO_TARGET_DIR:-target}
    mkdir -p "$folder/python"
    built=$folder/python/_native${1:+.abi3}.so
    case $(uname) in
    Darwin) cp "$folder/release/lib_native.dylib" "$built" ;;
    *) cp "$folder/release/lib_native.so" "$built" ;;
    esac
    set -- "$built"
fi
name=${1##*/}
cmp -s "$1" "$to/$name" && exit 0
# not in place: a running interpreter may have mapped the file
cp "$1" "$to/.$name"
mv -f "$to/.$name" "$to/$name"
