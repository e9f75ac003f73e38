#!/bin/sh
# usage: venv.sh FOLDER LIST...
#
# Creates a Python environment in FOLDER with the packages of cmake/python/LIST.txt, or leaves one
# that has them unchanged: a second run does not use the network. pip accepts only files whose
# hashes are in the list. LIST.in has the directly required packages. After a change of it, run in
# cmake/python (bench, languages and suite go into the environment of peers, whose versions apply: -c
# peers.txt; so does browser into that of docs):
#
#   uv pip compile --generate-hashes --universal --python-version 3.11 --no-annotate --no-header \
#       LIST.in -o LIST.txt
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
shift
[ -x "$folder/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder"
for list; do
    cmp -s "$here/python/$list.txt" "$folder/$list.txt" && continue
    # most modules are never imported, and compiling all takes longer than installing them
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
        --require-hashes -r "$here/python/$list.txt"
    cp "$here/python/$list.txt" "$folder/$list.txt"
done
