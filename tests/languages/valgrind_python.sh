#!/bin/sh
# usage: valgrind_python.sh PREFIX SCRATCH PYTHON
# The Python module reads the fixtures under valgrind. Python itself reads what valgrind takes for uninitialised, so errors count
# where the extension is among the callers.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$2" && mkdir -p "$2"
export HOLDALL_TMP="$2" PYTHONPATH="$1/share/holdall/python" PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1
"$3" "$source/c-tests/conform.py" all valgrind --log-file="$2/log" "$3" "$source/tests/languages/conform_python.py"
# an error is a run of lines that begin with the number of the process, up to one that is empty
awk '/^==[0-9]+== *$/ { if (ours) print error; error = ""; ours = 0; next } { error = error "\n" $0 } /_native/ { ours = 1 }' "$2/log" |
    sed '/Command:/d' >"$2/errors"
[ ! -s "$2/errors" ] || { cat "$2/errors"; exit 1; }
sed -n 's/^==[0-9]*== \(ERROR SUMMARY.*\)/valgrind: none of the library; Python: \1/p' "$2/log"
