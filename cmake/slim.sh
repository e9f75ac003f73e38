#!/bin/sh
# usage: slim.sh HEADER IN.a OUT.a
#
# Converts cargo's static archive to one with a single object, whose only global names are the
# functions of the header. Cargo's archive contains the Rust standard library and zstd with all
# names global: a program with its own zstd would fail to link with it, or would silently mix the
# two.
#
# For ELF with GNU binutils. LD, OBJCOPY, NM, AR and CC choose the tools.
set -eu
header=$1 in=$2 out=$3
work=$out.work
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

# Links everything that the functions use into one object.
sh "$(dirname "$0")/exports.sh" "$header" >"$work/names"
sed 's/^/-u /' "$work/names" >"$work/roots"
${LD:-ld} -r --gc-sections "@$work/roots" "$in" -o "$work/holdall.o"

# Hides the other names. Removes LLVM's bitcode, which is not used any more, and on which `ar` with
# LLVM's plugin aborts.
${OBJCOPY:-objcopy} --keep-global-symbols="$work/names" --strip-debug \
    --remove-section .llvmbc --remove-section .llvmcmd "$work/holdall.o"

# `ld -r` accepts undefined functions: report them now, not when a user links.
${NM:-nm} -g --defined-only "$work/holdall.o" | awk '{ print $NF }' | LC_ALL=C sort >"$work/made"
if ! diff "$work/names" "$work/made" >"$work/diff"; then
    echo "slim.sh: $header (<) and the library (>) do not name the same functions:" >&2
    grep '^[<>]' "$work/diff" >&2
    exit 1
fi

${AR:-ar} crsD "$work/libholdall.a" "$work/holdall.o"
mv "$work/libholdall.a" "$out"
