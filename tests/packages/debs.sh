#!/bin/sh
# usage: debs.sh FOLDER SCRATCH
# Unpacks the three Debian packages in FOLDER into a root of their own and uses them there: a program is compiled against it, with pkg-config
# and with CMake, shared and static, and runs on what the packages hold alone.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
debs=$(cd "$1" && pwd)
rm -rf "$2" && mkdir -p "$2"
scratch=$(cd "$2" && pwd)
root=$scratch/root
fail() { echo "debs.sh: $*" >&2; exit 1; }
field() { dpkg-deb -f "$1" "$2"; }

set -- "$debs"/*.deb
[ $# -eq 3 ] || fail "$debs: three packages were expected, found $#"
for deb; do
    dpkg-deb -c "$deb" | awk '$6 !~ /\/$/ { print $6 }' >>"$scratch/files"
    dpkg-deb -x "$deb" "$root"
    dpkg-deb -e "$deb" "$scratch/control"
    (cd "$root" && md5sum --quiet -c "$scratch/control/md5sums") || fail "$deb: its sums are wrong"
done
twice=$(sort "$scratch/files" | uniq -d)
[ -z "$twice" ] || fail "in two packages: $twice"
dev=$(echo "$debs"/libholdall-dev_*.deb)
runtime=$(field "$dev" Depends | sed 's/ (= /_/; s/)/_/')$(field "$dev" Architecture).deb
[ -f "$debs/$runtime" ] || fail "libholdall-dev depends on $runtime, which is not there"

lib=$(dirname "$(find "$root/usr" -name libholdall.a)")
# the package without the others has no file that a compiler asks for
dpkg-deb -c "$debs/$runtime" | grep -qE 'libholdall\.(so|a)( |$)|\.h$' && fail "$runtime holds what is for compilers"
export PKG_CONFIG_PATH="$lib/pkgconfig"
cd "$scratch"
# shellcheck disable=SC2046 # lists of words
{
    cc -o shared "$source/examples/demo.c" $(pkg-config --cflags --libs holdall)
    cc -static -o static "$source/examples/demo.c" $(pkg-config --static --cflags --libs holdall)
}
cmake -S "$source/examples" -B build -DCMAKE_PREFIX_PATH="$root/usr" >cmake.log && cmake --build build >>cmake.log || { cat cmake.log; fail "CMake"; }
head -n 9000 "$source/examples/data/nyc-weather-2013.csv" >lines.txt
for program in ./shared ./static build/demo; do
    LD_LIBRARY_PATH=$lib $program lines.txt lines.bagz >said || fail "$program: $(cat said)"
    grep -q 'verified: 9000 sound, 0 bad' said || fail "$program said: $(cat said)"
done
[ "$("$root/usr/bin/holdall" cat lines.bagz | cksum)" = "$(cksum <lines.txt)" ] || fail "the tool gives other lines"
man -l "$root/usr/share/man/man1/holdall.1.gz" >/dev/null 2>man.log || ! command -v man >/dev/null || fail "the man page: $(cat man.log)"
echo "ok    $(sort -u "$scratch/files" | wc -l) files in three packages; shared, static and CMake programs run from them"
