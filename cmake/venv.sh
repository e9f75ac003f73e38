#!/bin/sh
# usage: venv.sh FOLDER PACKAGE...     each NAME or NAME==VERSION
# Makes a Python environment with these packages in FOLDER, or leaves the one that has them alone:
# a second run asks nothing of the network.
set -eu
folder=$1
shift
[ -x "$folder/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder"
if ! "$folder/bin/python" - "$@" <<'CHECK'
import sys
from importlib.metadata import PackageNotFoundError, version
try:
    for name, _, wanted in (package.partition("==") for package in sys.argv[1:]):
        if wanted not in ("", version(name.partition("[")[0])):
            sys.exit(1)
except PackageNotFoundError:
    sys.exit(1)
CHECK
then
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
fi
