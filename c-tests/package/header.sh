#!/bin/sh
# usage: header.sh HEADER COMPILER [STANDARD...]
# The header alone, twice in one file, must compile without a warning under every standard of C and
# C++ that users may have, or under those that are named.
set -eu
header=$1 compiler=$2
shift 2
[ $# -gt 0 ] || set -- c99 c11 c17 c2x c++11 c++14 c++17 c++20
folder=$(dirname "$header") name=$(basename "$header")
tried=0 failed=0
for standard; do
    case $standard in
    c++*) language=c++ ;;
    *) language=c ;;
    esac
    tried=$((tried + 1))
    if ! printf '#include <%s>\n#include <%s>\n' "$name" "$name" |
        "$compiler" -x $language "-std=$standard" -Wall -Wextra -Wpedantic -Wundef -Werror \
            -I"$folder" -c -o /dev/null -; then
        echo "header.sh: $compiler -std=$standard does not take $header" >&2
        failed=$((failed + 1))
    fi
done
echo "$compiler: $tried standards tried, $failed failed"
[ $failed -eq 0 ]
