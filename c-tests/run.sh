#!/bin/sh
# usage: run.sh FOLDER STATUS COMMAND...
#
# Runs a test in a new folder, $HOLDALL_TMP, with the files of this project in
# $HOLDALL_OWN_FIXTURES, and passes if the command ends with exactly that
# status. (CTest's WILL_FAIL would also accept a missing program.) The folder stays if the test
# fails.
set -u
folder=$1 want=$2
shift 2
rm -rf "$folder"
mkdir -p "$folder" || exit 1
export HOLDALL_TMP="$folder"
HOLDALL_OWN_FIXTURES=$(cd "$(dirname "$0")/../tests/fixtures" && pwd)
export HOLDALL_OWN_FIXTURES
"$@"
status=$?
if [ $status -ne "$want" ]; then
    echo "run.sh: exit status $status, not $want: $*" >&2
    exit 1
fi
rm -rf "$folder"
