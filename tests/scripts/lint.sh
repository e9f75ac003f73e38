#!/bin/sh
# Runs shellcheck on every shell script of this source.
set -eu
cd "$(dirname "$0")/../.."
# SC2317, SC2329: versions differ in whether they recognize a function that is called through its
# name in an argument.
find . -path ./target -prune -o \( -name '*.sh' -o -path './.ci/run' \) -type f -exec shellcheck \
    --exclude=SC2317,SC2329 {} +
echo "ok    shellcheck: $(find . -path ./target -prune -o \( -name '*.sh' -o -path './.ci/run' \) -type f -print | wc -l) scripts"
