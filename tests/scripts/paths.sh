#!/bin/sh
# usage: paths.sh SCRATCH
# Makes every target of the Makefile in a folder whose path has spaces and an umlaut. The tools that the recipes call are
# stand-ins that write down their arguments and some of their environment: each path there must be complete. The recipes'
# rm and mkdir are real, and the folders that an unquoted path would name must survive. And `make check` goes on
# where a part fails.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$1"
root="$1/my prüfung dir"
mkdir -p "$root"
scratch=$(cd "$1" && pwd)
root="$scratch/my prüfung dir"
fail() { echo "paths.sh: $*" >&2; exit 1; }

cp "$source/Makefile" "$root"
mkdir -p "$root/tests/fixtures" "$root/tests/peer" "$root/target/cmake" "$root/target/deb"
: >"$root/tests/peer/test_kill.py"
: >"$root/tests/peer/test_flips.py"

# What is left of the path where a shell has split it.
for decoy in "$scratch/my" "$root/prüfung" "$root/dir/target/prefix"; do
    mkdir -p "$decoy"
    : >"$decoy/keep"
done

fake=$scratch/fake
mkdir "$fake"
cat >"$fake/stand-in" <<'FAKE'
#!/bin/bash
{
    printf '%s\n' "${0##*/}"
    for argument; do printf '  argument %s\n' "$argument"; done
    for name in ${!HOLDALL_*} PYTHONPATH CARGO_TARGET_DIR DESTDIR; do
        [ -z "${!name:-}" ] || printf '  %s=%s\n' "$name" "${!name}"
    done
} >>"$PATHS_LOG"
case "${0##*/} $1" in
"cmake --install") echo "/usr/local/lib/libholdall.so" >target/cmake/install_manifest.txt ;;
esac
[ "$1" != "${PATHS_FAIL:-}" ]
FAKE
chmod +x "$fake/stand-in"
mkdir -p "$fake/bin"
for tool in sh cmake ctest cargo python3; do ln -s ../stand-in "$fake/bin/$tool"; done
for venv in venv venv-cloud venv-caterva venv-blz; do
    mkdir -p "$root/target/$venv/bin"
    ln -s "$fake/stand-in" "$root/target/$venv/bin/python"
done

export PATHS_LOG="$scratch/log"
# Nothing of the make around this one.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES HOLDALL_FIXTURES HOLDALL_TOOL HOLDALL_LIB CARGO PYTHON OLD NEW CMAKE_FLAGS PYTHONPATH DESTDIR
PATH=$fake/bin:$PATH
export PATH
# One part of `check` that fails stops no other, and is named.
: >"$scratch/log"
if (cd "$root" && PATHS_FAIL=c-tests/consumers/run.sh make check) >"$scratch/out" 2>&1; then fail "make check: a part failed, and it passed"; fi
grep -qx '== make check: failed: check-consumers' "$scratch/out" || { cat "$scratch/out"; fail "make check does not name the part that failed"; }
grep -q 'argument tests/languages/go.sh' "$scratch/log" || fail "make check stops at the first part that fails"

targets=$(sed -n 's/^\([a-z][a-z-]*\):\( .*\)\{0,1\}$/\1/p' "$root/Makefile" | grep -vx clean)
count=0
for target in $targets clean; do
    : >"$scratch/log"
    (cd "$root" && make "$target" DESTDIR="$root/a destination" PREFIX="$root/a prefix") >"$scratch/out" 2>&1 ||
        { cat "$scratch/out"; fail "make $target failed"; }
    for decoy in "$scratch/my" "$root/prüfung" "$root/dir/target/prefix"; do
        [ -e "$decoy/keep" ] || [ "$target" = clean ] || fail "make $target removed $decoy/keep"
    done
    # An argument that has the first words of the path has all of it; one that begins with a later word is the rest of one.
    awk -v part="$scratch/my" -v whole="$root" '
        { text = $0; while ((at = index(text, part)) > 0) {
            if (substr(text, at, length(whole)) != whole) { print; bad = 1 }
            text = substr(text, at + length(part)) } }
        /argument (prüfung|dir\/|destination|prefix$)/ { print; bad = 1 }
        END { exit bad }' "$scratch/log" || fail "make $target: a path was split"
    count=$((count + 1))
done
[ "$count" -gt 40 ] || fail "only $count targets were found"

echo "ok    $count targets, in a folder named 'my prüfung dir'"
