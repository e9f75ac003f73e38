#!/bin/sh
# usage: debs.sh FOLDER SCRATCH
#
# Installs the three Debian packages in FOLDER into a root of their own, where dpkg has only libc,
# and uses them there: a program is compiled against them, with pkg-config and with CMake, shared
# and static, and runs with the files of the packages alone. Then removes them.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
debs=$(cd "$1" && pwd)
rm -rf "$2" && mkdir -p "$2"
scratch=$(cd "$2" && pwd)
root=$scratch/root
fail() { echo "debs.sh: $*" >&2; exit 1; }

set -- "$debs"/*.deb
[ $# -eq 3 ] || fail "$debs: three packages were expected, found $#"
for deb; do
    dpkg-deb -c "$deb" | awk '$6 !~ /\/$/ { print $6 }' >>"$scratch/files"
done
twice=$(sort "$scratch/files" | uniq -d)
[ -z "$twice" ] || fail "in two packages: $twice"
# the files for compilers are in one package only
runtime=$(dpkg-deb -f "$debs"/libholdall0*.deb Package)
dpkg-deb -c "$debs/${runtime}_"*.deb | grep -qE 'libholdall\.(so|a)( |$)|\.h$' &&
    fail "the runtime holds what is for compilers"

mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/triggers"
dpkg-query -s libc6 libgcc-s1 | sed '/^Depends:/d; /^Pre-Depends:/d' >"$root/var/lib/dpkg/status"
for there in libc6 libgcc-s1; do
    : >"$root/var/lib/dpkg/info/$there:$(dpkg --print-architecture).list"
done
in_root() {
    PATH=$PATH:/usr/sbin:/sbin dpkg --root="$root" --force-not-root --log="$scratch/dpkg.log" \
        "$@" >"$scratch/said" 2>&1 ||
        { cat "$scratch/said"; fail "dpkg $*"; }
}
in_root -i "$@"
in_root --verify
[ ! -s "$scratch/said" ] || fail "dpkg --verify: $(cat "$scratch/said")"
! dpkg --root="$root" --force-not-root -r "$runtime" >/dev/null 2>&1 ||
    fail "the library could be removed under its headers"

lib=$(dirname "$(find "$root/usr" -name libholdall.a)")
export PKG_CONFIG_PATH="$lib/pkgconfig"
cd "$scratch"
# eval, because pkg-config quotes what a shell would split
{
    eval "cc -o shared \"\$source/examples/demo.c\" $(pkg-config --cflags --libs holdall)"
    eval "cc -static -o static \"\$source/examples/demo.c\" $(pkg-config --static --cflags --libs holdall)"
}
{ cmake -S "$source/examples" -B build -DCMAKE_PREFIX_PATH="$root/usr" >cmake.log &&
    cmake --build build >>cmake.log; } || { cat cmake.log; fail "CMake"; }
head -n 9000 "$source/examples/data/nyc-weather-2013.csv" >lines.txt
for program in ./shared ./static build/demo; do
    LD_LIBRARY_PATH=$lib $program lines.txt lines.bagz >said || fail "$program: $(cat said)"
    grep -q 'verified: 9000 intact, 0 corrupt' said || fail "$program said: $(cat said)"
done
"$root/usr/bin/holdall" convert lines.bagz again.txt
cmp lines.txt again.txt || fail "the tool gives other lines"
# nothing listens at port 9: the store is asked, rather than said to be missing
CLOUD_STORAGE_EMULATOR_ENDPOINT=http://127.0.0.1:9 "$root/usr/bin/holdall" info gs://b/x.bagz \
    >said 2>&1 || true
grep -q '127.0.0.1:9' said || fail "object stores: $(cat said)"
man -l "$root/usr/share/man/man1/holdall.1.gz" >/dev/null 2>man.log ||
    ! command -v man >/dev/null || fail "the man page: $(cat man.log)"
in_root -r holdall libholdall-dev "$runtime"
left=$(find "$root" -path "$root/var" -prune -o ! -type d -print)
[ -z "$left" ] || fail "not removed: $left"
echo "ok    $(sort -u "$scratch/files" | wc -l) files in three packages; shared, static and CMake programs run from them"
