#!/bin/sh
# usage: demo.sh PREFIX SCRATCH
#
# Compiles demo.c against the library installed in PREFIX, packs a table of weather data with it,
# one record per line, and inspects the result with the tool. Then changes one byte in a copy, and
# shows that `holdall verify` names the record.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2"
cd "$2"

say() { printf '\n$ %s\n' "$*"; }
run() {
    say "$@"
    "$@"
}
PATH=$prefix/bin:$PATH

say "cmake -S examples -B build -DCMAKE_PREFIX_PATH=$prefix && cmake --build build"
{ cmake -S "$here" -B build -DCMAKE_PREFIX_PATH="$prefix" >build.log &&
    cmake --build build >>build.log; } ||
    { cat build.log; exit 1; }

cp "$here/data/nyc-weather-2013.csv" weather.csv
run build/demo weather.csv weather.bagz
run holdall info weather.bagz
run holdall cat --records 4711 weather.bagz
echo
run holdall verify weather.bagz

# Single lines of 85 bytes hardly compress; with a part of the table as a dictionary they do.
say "head -c 32768 weather.csv >dictionary"
head -c 32768 weather.csv >dictionary
run holdall pack --dictionary dictionary weather.csv smaller.bagz
run holdall verify --dictionary dictionary smaller.bagz

# Inverts all bits of a byte among the records (their limits are at the end), in a copy.
offset=$(($(wc -c <weather.bagz) / 4))
byte=$(od -An -tu1 -j $offset -N 1 weather.bagz)
cp weather.bagz broken.bagz
# shellcheck disable=SC2059 # the format is the byte
printf "\\$(printf %o $((255 - byte)))" |
    dd of=broken.bagz bs=1 seek=$offset conv=notrunc 2>/dev/null
printf '\nbyte %d of the copy broken.bagz: %d is now %d\n' $offset $((byte)) $((255 - byte))
say holdall verify broken.bagz
if holdall verify broken.bagz >found 2>message; then
    echo "demo.sh: verify did not see the broken byte" >&2
    exit 1
fi
cat found message
{ grep -q ' 1 corrupt' found && grep -q 'record [0-9]' found; } ||
    { echo "demo.sh: verify did not name the broken record" >&2; exit 1; }
