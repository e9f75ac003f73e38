#!/bin/sh
# usage: deb.sh BUILD OUT
#
# Makes three Debian packages from the installation of a CMake build, one per component: the shared
# library, named for its ABI; the files for compiling programs; the tool. BUILD must be configured
# for /usr (cmake -DCMAKE_INSTALL_PREFIX=/usr). The required versions of system libraries are read
# from the files themselves. DEBFULLNAME and DEBEMAIL are the maintainer.
set -eu
build=$1 out=$2
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
arch=$(dpkg --print-architecture)
grep -q '^CMAKE_INSTALL_PREFIX:PATH=/usr$' "$build/CMakeCache.txt" ||
    { echo "deb.sh: $build is not configured for /usr" >&2; exit 1; }
soname=$(cd "$build/lib" && echo libholdall.so.*.*.*)
abi=$(readelf -d "$build/lib/$soname" | sed -n 's/.*SONAME.*\[libholdall\.so\.\(.*\)\]/\1/p')
work=$out/work
rm -rf "$work"
trap 'rm -rf "$work"' EXIT

# needs FILE: prints the minimum libc version with the symbols of the file, and libgcc_s if it uses
# it
needs() {
    libc=$(objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
    printf 'libc6 (>= %s)' "${libc#GLIBC_}"
    ! readelf -d "$1" | grep -q 'NEEDED.*libgcc_s' || printf ', libgcc-s1'
}

# package NAME COMPONENT SECTION DEPENDS SUMMARY EXTRA: EXTRA has further lines of its control file
package() {
    root=$work/$1
    mkdir -p "$root/DEBIAN"
    DESTDIR=$root cmake --install "$build" --component "$2" >/dev/null
    documents=$root/usr/share/doc/$1
    mkdir -p "$documents"
    [ "$2" != development ] || {
        mv "$root/usr/share/doc/holdall"/* "$documents"
        rmdir "$root/usr/share/doc/holdall"
    }
    [ "$2" != runtime ] || {
        mv "$root/usr/share/doc/holdall/README.md" "$documents"
        rm -r "$root/usr/share/doc/holdall" # the licences are in `copyright`
        echo "libholdall $abi $1 (>= $version)" >"$root/DEBIAN/shlibs"
        echo 'activate-noawait ldconfig' >"$root/DEBIAN/triggers"
    }
    {
        echo 'MIT or Apache-2.0, as you like.'
        cat "$source/LICENSE-MIT" "$source/LICENSE-APACHE"
    } >"$documents/copyright"
    find "$root/usr" -type f -path '*/man/*' -exec gzip -9n {} +
    find "$root/usr" -name '*.so.*' -type f -exec chmod 644 {} +
    (cd "$root" && find usr -type f -exec md5sum {} + | LC_ALL=C sort -k 2) >"$root/DEBIAN/md5sums"
    cat >"$root/DEBIAN/control" <<CONTROL
Package: $1
Source: holdall
Version: $version
Architecture: $arch
Maintainer: ${DEBFULLNAME:-holdall} <${DEBEMAIL:-holdall@localhost}>
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Depends: $4
Section: $3
Priority: optional
${6:+$6
}Description: $5
 One library, with an interface for C, that reads and writes the containers of
 the Blosc and Bagz families: Bloscpack, bcolz, BLZ, Blosc2 frames with b2nd and
 Caterva arrays, and Bagz. Nothing committed is lost, nothing is silently wrong.
CONTROL
    dpkg-deb --root-owner-group --build "$root" "$out/${1}_${version}_$arch.deb" >/dev/null
    echo "$out/${1}_${version}_$arch.deb"
}

# the dependencies of the tool are read from the installed tool
DESTDIR=$work/probe cmake --install "$build" --component tool >/dev/null
package "libholdall$abi" runtime libs "$(needs "$build/stripped/$soname")" \
    'chunked, compressed containers: shared library' 'Multi-Arch: same'
# not Multi-Arch: the extension of the Python module has the same path on every architecture
package libholdall-dev development libdevel "libholdall$abi (= $version)" \
    'chunked, compressed containers: headers, static library' ''
package holdall tool utils "$(needs "$work/probe/usr/bin/holdall")" \
    'chunked, compressed containers: command-line tool' ''
