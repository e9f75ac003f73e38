#!/bin/sh
# usage: need.sh SCRATCH
#
# Checks the message of cmake/need.sh on a machine with missing tools: all in one message, with one
# line for apt-get. The PATH holds only the tools that need.sh itself uses, and an apt-get that
# installs nothing.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$1"
mkdir -p "$1/bin"
scratch=$(cd "$1" && pwd)
fail() { echo "need.sh: $*" >&2; cat "$scratch/said" >&2; exit 1; }
for tool in sh awk cat env id sed tr; do ln -s "$(command -v $tool)" "$scratch/bin/$tool"; done

# missing GROUP...: writes the message to the file `said`
missing() {
    if env -i PATH="$scratch/bin" sh "$source/cmake/need.sh" "$@" >"$scratch/said" 2>&1; then
        fail "$*: nothing is missing in an empty PATH"
    fi
    [ "$(grep -c 'please install' "$scratch/said")" = 1 ] ||
        fail "$*: more than one message, or none"
}

missing @check @mpi
for thing in 'make (GNU)' 'Rust 1.89' 'CMake 3.16' 'Python 3.11' 'Go 1.19' shellcheck mpicc \
    valgrind; do
    [ "$(grep -c "^  - .*$thing" "$scratch/said")" = 1 ] || fail "$thing is not named once"
done
grep -q apt-get "$scratch/said" && fail "apt-get is named where there is none"

printf '#!/bin/sh\necho "$@" >>"%s/apt"\n' "$scratch" >"$scratch/bin/apt-get"
printf '#!/bin/sh\nexec "$@"\n' >"$scratch/bin/sudo"
chmod +x "$scratch/bin/apt-get" "$scratch/bin/sudo"
missing @check @mpi
[ "$(grep -c 'install .* cmake .* shellcheck .*python3-dev' "$scratch/apt")" = 1 ] ||
    fail "not one apt-get for all: $(cat "$scratch/apt")"
[ "$(grep -c 'Debian and Ubuntu: sudo apt-get install make gcc ' "$scratch/said")" = 1 ] ||
    fail "not one line for apt-get"

# A tool that is too old is missing.
ln -s "$scratch/bin/apt-get" "$scratch/bin/cmake"
printf '#!/bin/sh\necho cargo 1.88.0\n' >"$scratch/bin/cargo"
printf '#!/bin/sh\necho cmake version 3.15.9\n' >"$scratch/bin/cmake2" &&
    chmod +x "$scratch/bin/cargo" "$scratch/bin/cmake2"
mv "$scratch/bin/cmake2" "$scratch/bin/cmake"
missing cargo cmake
[ "$(grep -c '^  - ' "$scratch/said")" = 2 ] || fail "old versions were taken"
printf '#!/bin/sh\necho cargo 1.100.0\n' >"$scratch/bin/cargo"
printf '#!/bin/sh\necho cmake version 4.0.1\n' >"$scratch/bin/cmake"
env -i PATH="$scratch/bin" sh "$source/cmake/need.sh" cargo cmake >"$scratch/said" 2>&1 ||
    fail "later versions were refused"
echo "ok    what is missing is named at once"
