#!/bin/sh
# usage: blz.sh FOLDER
# Makes a Python environment with BLZ 0.6.2 in FOLDER, or leaves the one that is there alone. BLZ is of 2014: where it
# cannot be built (it takes a Python of 3.8 to 3.11) that is said, and its tests are left out.
set -u
folder=$1
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$folder/bin/python" ] && exit 0
make_it() {
    sh "$here/venv.sh" "$folder" blz-build || return 1
    # it compares versions as text, and asks time for what is not there any more
    site=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') || return 1
    # by a .pth file: a sitecustomize.py of the system's, as Debian has, would come first
    echo 'import shim_for_blz' > "$site/shim_for_blz.pth"
    cat > "$site/shim_for_blz.py" <<'SHIM'
import os
import time

time.clock = time.perf_counter
if os.environ.get("BLZ_BUILD"):
    import numpy

    numpy.__version__ = "1.9.9"
SHIM
    # compilers of today make its C-Blosc decode wrongly with more than this
    BLZ_BUILD=1 CFLAGS="-O1 -fno-strict-aliasing -w" "$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
        --no-build-isolation --no-deps --no-binary :all: --require-hashes -r "$here/python/blz.txt" &&
    "$folder/bin/python" -W ignore -c 'import blz'
}
if ! make_it > "$folder.log" 2>&1; then
    rm -rf "$folder"
    echo "BLZ 0.6.2 could not be built ($folder.log says why): its tests are left out"
fi
