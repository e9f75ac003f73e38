#!/bin/sh
# usage: cinstall.sh CARGO BUILD SCRATCH
#
# Installs with `cargo cinstall` into a new prefix, compares it with the installation of a CMake
# build, and compiles and runs a program against it, shared and static, with pkg-config alone.
set -eu
cargo=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$2" && pwd)
rm -rf "$3" && mkdir -p "$3"
scratch=$(cd "$3" && pwd)
cd "$scratch"
fail() { echo "cinstall.sh: $*" >&2; exit 1; }

(cd "$source" && "$cargo" cinstall --locked --release --prefix "$scratch/prefix" \
    --libdir "$scratch/prefix/lib") >log 2>&1 || { cat log; exit 1; }
cmake --install "$build" --prefix "$scratch/cmake" >cmake.log || { cat cmake.log; exit 1; }
theirs=$(dirname "$(find cmake -name libholdall.a)")

# The crash kit is C beside the library, which cargo does not compile.
rm cmake/include/holdall_crashkit.h
diff -r prefix/include cmake/include || fail "other headers than CMake installs"

# Properties of the library folder of an installation, which must be equal for both.
soname() { readelf -d "$1/libholdall.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'; }
links() { (cd "$1" && find . -name 'libholdall.so*' | LC_ALL=C sort); }
exports() { nm -D --defined-only "$1/libholdall.so" | awk '{ print $3 }' | LC_ALL=C sort; }
archived() { nm -g --defined-only "$1/libholdall.a" 2>/dev/null |
    awk '$3 ~ /^holdall_/ { print $3 }' | LC_ALL=C sort -u; }
version() { PKG_CONFIG_PATH=$1/pkgconfig pkg-config --modversion holdall; }
same() {
    [ -n "$2" ] || fail "no $1 are there"
    [ "$2" = "$3" ] || fail "$1: cargo cinstall has '$2', CMake '$3'"
}
same "names" "$(links prefix/lib)" "$(links "$theirs")"
same "soname" "$(soname prefix/lib)" "$(soname "$theirs")"
same "functions of the shared library" "$(exports prefix/lib)" "$(exports "$theirs")"
same "functions of the static library" "$(archived prefix/lib)" "$(archived "$theirs")"
same "version" "$(version prefix/lib)" "$(version "$theirs")"

# It also names the system library gcc_s, which exists only as a shared library: only holdall is
# static here.
export PKG_CONFIG_PATH="$scratch/prefix/lib/pkgconfig"
# eval, because pkg-config quotes what a shell would split
{
    eval "cc -o shared \"\$source/examples/demo.c\" $(pkg-config --cflags --libs holdall)"
    eval "cc -o static \"\$source/examples/demo.c\" $(pkg-config --static --cflags --libs holdall | sed 's:-lholdall:-l\:libholdall.a:')"
}
readelf -d static | grep 'NEEDED.*holdall' && fail "the static program asks for the shared library"
head -n 9000 "$source/examples/data/nyc-weather-2013.csv" >lines.txt
for program in ./shared ./static; do
    LD_LIBRARY_PATH=prefix/lib $program lines.txt lines.bagz >said || fail "$program: $(cat said)"
    grep -q 'verified: 9000 intact, 0 corrupt' said || fail "$program said: $(cat said)"
done
echo "ok    cargo cinstall: $(find prefix/include -type f | wc -l) headers, $(exports prefix/lib | wc -l) functions, as CMake installs them; shared and static programs run"
