#!/bin/sh
# usage: paths.sh SCRATCH
#
# Makes every target of the Makefile, every part of `check` and every rig of `check-long` in a
# folder whose path has spaces and an umlaut. The recipes call stand-ins for the tools, which record
# their arguments and some of their environment: each path there must be complete. The rm and mkdir
# of the recipes are real, and the folders that an unquoted path would name must survive. `make
# check` must continue after a failed part.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$1"
root="$1/my prüfung dir"
mkdir -p "$root"
scratch=$(cd "$1" && pwd)
root="$scratch/my prüfung dir"
fail() { echo "paths.sh: $*" >&2; exit 1; }

mkdir -p "$root/tests/fixtures" "$root/tests/peer" "$root/tests/run" "$root/tests/cloud" \
    "$root/target/cmake" "$root/target/deb"
cp "$source/Makefile" "$root"
cp "$source/tests/run"/*.sh "$root/tests/run"
cp "$source/tests/cloud/build.sh" "$root/tests/cloud"
: >"$root/tests/peer/test_kill.py"
: >"$root/tests/peer/test_flips.py"

# The parts of the path that remain if a shell has split it.
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
case "${0##*/} $1" in
"sh tests/run/parallel.sh" | "sh tests/run/disk.sh") ;;
"sh tests/run/"* | "sh tests/cloud/build.sh") exec /bin/sh "$@" ;;
esac
[ "$1" != "${PATHS_FAIL:-}" ]
FAKE
chmod +x "$fake/stand-in"
mkdir -p "$fake/bin"
for tool in sh cmake ctest cargo npm python3; do ln -s ../stand-in "$fake/bin/$tool"; done
for venv in venv venv-cloud venv-caterva venv-blz venv-docs \
    venv-beam venv-ray venv-spark venv-torch; do
    mkdir -p "$root/target/$venv/bin"
    ln -s "$fake/stand-in" "$root/target/$venv/bin/python"
done

export PATHS_LOG="$scratch/log"
# Unsets the variables of the make that runs this script.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKE PART PARTS RIG TESTS TARGETS BUILD STAGE VENV \
    CLOUD_VENV DOCS_VENV ENGINES_VENV JOBS HOLDALL_BUILT HOLDALL_FIXTURES HOLDALL_TOOL HOLDALL_LIB CARGO PYTHON OLD NEW \
    CMAKE_FLAGS PYTHONPATH DESTDIR
PATH=$fake/bin:$PATH
export PATH
# A failed part of `check` does not stop the others, and is named.
: >"$scratch/log"
if (cd "$root" && PATHS_FAIL=c-tests/consumers/run.sh make check) >"$scratch/out" 2>&1; then
    fail "make check: a part failed, and it passed"
fi
grep -qx '== make check: failed: consumers' "$scratch/out" || { cat "$scratch/out";
    fail "make check does not name the part that failed"; }
grep -q 'argument tests/languages/go.sh' "$scratch/log" ||
    fail "make check stops at the first part that fails"

targets=$(sed -n 's/^\([a-z][a-z-]*\):\( .*\)\{0,1\}$/\1/p' "$root/Makefile" | grep -vx clean |
    sort -u)
# cases FILE NAMES: prints NAMES with each case of a script
cases() { sed -n "s/^\\([a-z]*\\))\\( #.*\\)\\{0,1\\}\$/$2\\1/p" "$root/tests/run/$1.sh"; }
count=0
for target in $targets $(cases part check@PART=) $(cases rig check-long@RIG=) bench@OLD=main \
    clean; do
    : >"$scratch/log"
    # shellcheck disable=SC2086,SC2046 # two words
    (cd "$root" && make $(echo "$target" | tr @ ' ') \
        DESTDIR="$root/a destination" PREFIX="$root/a prefix") >"$scratch/out" 2>&1 ||
        { cat "$scratch/out"; fail "make $target failed"; }
    for decoy in "$scratch/my" "$root/prüfung" "$root/dir/target/prefix"; do
        [ -e "$decoy/keep" ] || [ "$target" = clean ] || fail "make $target removed $decoy/keep"
    done
    # An argument with the first part of the path must have all of it; one that begins with a later
    # part is the rest of a split path.
    awk -v part="$scratch/my" -v whole="$root" '
        { text = $0; while ((at = index(text, part)) > 0) {
            if (substr(text, at, length(whole)) != whole) { print; broken = 1 }
            text = substr(text, at + length(part)) } }
        /argument (prüfung|dir\/|destination|prefix$)/ { print; broken = 1 }
        END { exit broken }' "$scratch/log" || fail "make $target: a path was split"
    count=$((count + 1))
done
[ "$count" -gt 40 ] || fail "only $count targets, parts and rigs were found"

echo "ok    $count targets, parts and rigs, in a folder named 'my prüfung dir'"
