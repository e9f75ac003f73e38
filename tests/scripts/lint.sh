#!/bin/sh
# Runs shellcheck over every shell script of this source.
set -eu
cd "$(dirname "$0")/../.."
# SC2317, SC2329: versions differ in whether they see a function that is called by its name in an argument.
find . -path ./target -prune -o \( -name '*.sh' -o -path './.ci/run' \) -type f -exec shellcheck --exclude=SC2317,SC2329 {} +
echo "ok    shellcheck: $(find . -path ./target -prune -o \( -name '*.sh' -o -path './.ci/run' \) -type f -print | wc -l) scripts"
