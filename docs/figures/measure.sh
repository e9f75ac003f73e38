#!/bin/sh
# usage: measure.sh PREFIX
#
# Repeats the measurements for docs/choosing.md: codecs.csv, chunks.csv and dictionaries.csv, in this
# folder. Takes some minutes; needs an idle machine, and NumPy. Then `draw.py` draws the charts.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "$1" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/dev/shm}/holdall-measure-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH="$prefix/lib"
cc -O2 "$here/measure.c" -o "$scratch/measure" -I"$prefix/include" -L"$prefix/lib" -lholdall -lm
# The numbers of a table of weather data, column by column.
"$prefix/bin/holdall" convert "$here/../../examples/data/nyc-weather-2013.csv" \
    "$scratch/weather.bcolz" -q
for column in temp dewp humid wind_dir wind_speed precip pressure visib; do
    "$prefix/bin/holdall" cat "$scratch/weather.bcolz/$column" >>"$scratch/numbers.raw"
done
"$scratch/measure" codecs "$scratch/numbers.raw" "$scratch" >"$here/codecs.csv"
"$scratch/measure" chunks "$scratch" >"$here/chunks.csv"
"${PYTHON:-python3}" "$here/../../tests/bench/dictionaries.py" "$prefix/share/holdall/python" \
    >"$here/dictionaries.csv"
