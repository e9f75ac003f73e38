#!/bin/sh
# usage: symbols.sh HEADER SHARED STATIC
#
# Checks that both libraries export exactly the functions of the header. Another name could conflict
# with a name of the user's program (zstd's in particular); a missing one would fail only when a
# user links.
set -eu
header=$1 shared=$2 static=$3
nm=${NM:-nm}
names() { awk 'NF >= 3 { sub(/^_holdall/, "holdall", $NF); print $NF }' | LC_ALL=C sort; }

want=$(sh "$(dirname "$0")/../../cmake/exports.sh" "$header")
if [ "$(uname)" = Darwin ]; then
    in_shared=$("$nm" -gU "$shared" | names)
    in_static=$("$nm" -gU "$static" | names)
else
    in_shared=$("$nm" -D --defined-only "$shared" | names)
    in_static=$("$nm" -g --defined-only "$static" | names)
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%s\n' "$want" >"$work/header"
printf '%s\n' "$in_shared" >"$work/shared"
printf '%s\n' "$in_static" >"$work/static"
status=0
for kind in shared static; do
    if ! diff "$work/header" "$work/$kind" >"$work/diff"; then
        echo "the header (<) and the $kind library (>) do not name the same functions:" >&2
        grep '^[<>]' "$work/diff" >&2
        status=1
    fi
done
# The codecs are C, built with -fstack-protector-strong (.cargo/config.toml) unless CFLAGS disables
# it.
if [ -z "${CFLAGS:-}" ] && [ "$(uname)" = Linux ] && ! "$nm" -D --undefined-only "$shared" |
    grep -q __stack_chk_fail; then
    echo "$shared: the C code was built without -fstack-protector-strong" >&2
    status=1
fi
echo "$(wc -l <"$work/header") functions in the header, $(wc -l <"$work/shared") in the shared library, $(wc -l <"$work/static") in the static one"
exit $status
