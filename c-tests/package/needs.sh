#!/bin/sh
# usage: needs.sh FILE.pc
#
# Checks that Libs.private names the system libraries that rustc lists for a static Rust library,
# except gcc_s and c, which the C compiler adds.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
said=$(echo | rustc --crate-type staticlib --crate-name empty --print native-static-libs \
    -o "$work/empty.a" - 2>&1)
want=$(printf '%s\n' "$said" | sed -n 's/.*native-static-libs: //p')
[ -n "$want" ] || { echo "rustc does not say what it needs: $said" >&2; exit 1; }
have=$(sed -n 's/^Libs.private: //p' "$1")
status=0
for library in $want; do
    case " $have -lgcc_s -lc " in
    *" $library "*) ;;
    *) echo "$1 does not name $library" >&2; status=1 ;;
    esac
done
echo "rustc: $want; Libs.private: $have"
exit $status
