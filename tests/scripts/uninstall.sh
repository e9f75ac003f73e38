#!/bin/sh
# usage: uninstall.sh SCRATCH
#
# Checks that cmake/uninstall.sh removes the files that a list names below one prefix, and its
# folders, and nothing else.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$1"
mkdir -p "$1"
scratch=$(cd "$1" && pwd)
fail() { echo "uninstall.sh: $*" >&2; exit 1; }
prefix=/opt/a\ prefix
for root in "$scratch" "$scratch/destination"; do
    for folder in "$prefix" /usr; do
        mkdir -p "$root$folder/lib/cmake/holdall" "$root$folder/include/holdall" \
            "$root$folder/share/doc/holdall/docs"
        for file in lib/libholdall.a lib/cmake/holdall/a.cmake include/holdall/a.hpp \
            include/holdall.h share/doc/holdall/docs/a; do
            : >"$root$folder/$file"
            [ "$root" = "$scratch" ] || echo "$folder/$file" >>"$scratch/list"
        done
    done
    : >"$root$prefix/include/others.h"
    : >"$root$prefix/share/doc/holdall/others"
done
cp -r "$scratch/destination" "$scratch/before"
DESTDIR=$scratch/destination sh "$source/cmake/uninstall.sh" "$scratch/list" "$prefix/" \
    >"$scratch/said"
diff -r "$scratch/before/usr" "$scratch/destination/usr" || fail "another prefix was changed"
left=$(cd "$scratch/destination$prefix" && find . -mindepth 1 | LC_ALL=C sort | tr '\n' ' ')
[ "$left" = './include ./include/others.h ./lib ./lib/cmake ./share ./share/doc ./share/doc/holdall ./share/doc/holdall/others ' ] || fail "left: $left"
[ "$(wc -l <"$scratch/list")" = 5 ] || fail "the list does not hold the other prefix alone"
diff -r "$scratch/usr" "$scratch/before/usr" || fail "DESTDIR was not regarded"
! DESTDIR=$scratch/destination sh "$source/cmake/uninstall.sh" "$scratch/list" "$prefix" \
    >"$scratch/said" 2>&1 || fail "nothing to remove is no error"
echo "ok    uninstall: what one prefix has"
