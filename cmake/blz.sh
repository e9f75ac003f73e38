#!/bin/sh
# usage: blz.sh FOLDER
#
# Creates a Python environment with BLZ 0.6.2 in FOLDER, or leaves an existing one unchanged. BLZ is
# from 2014 and requires Python 3.8 to 3.11. If it cannot be built, this script prints that, and its
# tests are skipped.
set -u
folder=$1
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$folder/bin/python" ] && exit 0
make_it() {
    sh "$here/venv.sh" "$folder" blz-build || return 1
    # it compares versions as text, and uses functions that `time` no longer has
    site=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') ||
        return 1
    # by a .pth file: a sitecustomize.py of the system, as in Debian, would take precedence
    echo 'import shim_for_blz' > "$site/shim_for_blz.pth"
    cat > "$site/shim_for_blz.py" <<'SHIM'
import os
import time

time.clock = time.perf_counter
if os.environ.get("BLZ_BUILD"):
    import numpy

    numpy.__version__ = "1.9.9"
SHIM
    # current compilers make its C-Blosc decode wrongly at higher optimization levels
    BLZ_BUILD=1 CFLAGS="-O1 -fno-strict-aliasing -w" "$folder/bin/python" -m pip install --quiet \
        --disable-pip-version-check --no-build-isolation --no-deps --no-binary :all: \
        --require-hashes -r "$here/python/blz.txt" &&
    "$folder/bin/python" -W ignore -c 'import blz'
}
if ! make_it > "$folder.log" 2>&1; then
    rm -rf "$folder"
    echo "BLZ 0.6.2 could not be built ($folder.log says why): its tests are left out"
fi
