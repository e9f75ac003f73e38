#!/bin/sh
# usage: run.sh FOLDER STATUS COMMAND...
# Runs a test in a fresh folder, which is $HOLDALL_TMP to it, and passes where the command ends with
# just that status. (CTest's WILL_FAIL would also be content with a program that is not there.)
# The folder stays when the test fails.
set -u
folder=$1 want=$2
shift 2
rm -rf "$folder"
mkdir -p "$folder" || exit 1
export HOLDALL_TMP="$folder"
"$@"
status=$?
if [ $status -ne "$want" ]; then
    echo "run.sh: exit status $status, not $want: $*" >&2
    exit 1
fi
rm -rf "$folder"
