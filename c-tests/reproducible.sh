#!/bin/sh
# usage: reproducible.sh FOLDER
#
# Builds the shared library twice, from copies of the source in two folders: the installed files
# must be identical, and must not contain the name of either folder. So anybody can verify that a
# distributed library was built from this source.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)

build() {
    rm -rf "$2"
    mkdir -p "$2"
    (cd "$source" && tar -cf - --exclude=./target --exclude=./.git .) | tar -xf - -C "$2"
    {
        CARGO_TARGET_DIR="$2/made" cmake -S "$2" -B "$2/build" -DHOLDALL_TESTS=OFF \
            -DHOLDALL_TOOL=OFF -DHOLDALL_PYTHON=OFF &&
        CARGO_TARGET_DIR="$2/made" cmake --build "$2/build" --target holdall_libraries
    } >"$out/$1.log" 2>&1 || { tail -20 "$out/$1.log"; exit 1; }
    cp "$2"/build/stripped/libholdall.* "$out/$1.library"
    rm -rf "$2"
}

build one "$out/here"
build two "$out/in/a/folder/somewhere/else"
for folder in "$out" "${CARGO_HOME:-$HOME/.cargo}/"; do
    if grep -qaF "$folder" "$out/one.library"; then
        echo "$folder is in the library:" && strings "$out/one.library" | grep -F "$folder" | head -5
        exit 1
    fi
done
cmp "$out/one.library" "$out/two.library"
echo "two builds in two folders: $(wc -c <"$out/one.library") bytes, the same"
