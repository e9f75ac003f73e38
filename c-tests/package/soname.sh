#!/bin/sh
# usage: soname.sh LIBDIR SONAME
#
# Checks the soname of the shared library, and that the links for the dynamic linker (SONAME) and
# the compiler (libholdall.so) lead to it, relatively.
set -eu
libdir=$1 want=$2
have=$(readelf -d "$libdir/libholdall.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$have" = "$want" ] || { echo "the soname is '$have', not '$want'" >&2; exit 1; }
[ "$(readlink "$libdir/libholdall.so")" = "$want" ] ||
    { echo "libholdall.so does not lead to $want" >&2; exit 1; }
case $(readlink "$libdir/$want") in
libholdall.so.*.*.*) ;;
*) echo "$want does not lead to the library beside it" >&2; exit 1 ;;
esac
echo "libholdall.so -> $want -> $(readlink "$libdir/$want")"
