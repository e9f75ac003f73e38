#!/bin/sh
# usage: static.sh TOOL SCRATCH
#
# Checks that this tool is one file that requires no other file, and that it works alone.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
tool=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
rm -rf "$2" && mkdir -p "$2" && cd "$2"
fail() { echo "static.sh: $*" >&2; exit 1; }
readelf -lW "$tool" | grep -q INTERP && fail "$tool asks for a dynamic loader"
readelf -dW "$tool" 2>/dev/null | grep NEEDED && fail "$tool asks for libraries"
lines=$source/examples/data/nyc-weather-2013.csv
"$tool" pack "$lines" lines.bagz
"$tool" verify lines.bagz
"$tool" convert lines.bagz again.txt
cmp again.txt "$lines"
"$tool" convert "$lines" table.bcolz
"$tool" verify table.bcolz
# in an empty root, if chroot is permitted
if [ "$(id -u)" = 0 ] && mkdir empty && cp "$tool" empty/holdall; then
    chroot empty /holdall --version >/dev/null || fail "$tool does not run in an empty root"
fi
echo "ok    $(wc -c <"$tool") bytes, $("$tool" --version | head -n 1)"
