#!/bin/sh
# usage: slim.sh HEADER IN.a OUT.a
# Makes of cargo's static archive one with a single object in it, whose only global names are the
# functions of the header. Cargo's own holds the whole Rust standard library and zstd with all their
# names global: a program that has its own zstd would fail to link with it, or mix the two unseen.
#
# For ELF with GNU binutils. LD, OBJCOPY, NM, AR and CC choose the tools.
set -eu
header=$1 in=$2 out=$3
work=$out.work
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

# Link everything that the functions reach into one object, and nothing else.
sh "$(dirname "$0")/exports.sh" "$header" >"$work/names"
sed 's/^/-u /' "$work/names" >"$work/roots"
${LD:-ld} -r --gc-sections "@$work/roots" "$in" -o "$work/holdall.o"

# Hide the other names. LLVM's bitcode goes too: it is of no use any more, and `ar` with LLVM's
# plugin aborts on it.
${OBJCOPY:-objcopy} --keep-global-symbols="$work/names" --strip-debug \
    --remove-section .llvmbc --remove-section .llvmcmd "$work/holdall.o"

# `ld -r` lets a function that does not exist pass: say its name now, not when a user links.
${NM:-nm} -g --defined-only "$work/holdall.o" | awk '{ print $NF }' | LC_ALL=C sort >"$work/made"
if ! diff "$work/names" "$work/made" >"$work/diff"; then
    echo "slim.sh: $header (<) and the library (>) do not name the same functions:" >&2
    grep '^[<>]' "$work/diff" >&2
    exit 1
fi

${AR:-ar} crsD "$work/libholdall.a" "$work/holdall.o"
mv "$work/libholdall.a" "$out"
