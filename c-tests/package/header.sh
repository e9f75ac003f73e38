#!/bin/sh
# usage: header.sh HEADER COMPILER [STANDARD...]
#
# Compiles the header alone, twice in one file, without warnings, for every standard of C and C++
# that users may have, or for the named ones. Compiles each header that holdall.h includes as C99
# and C++11.
set -eu
header=$1 compiler=$2
shift 2
[ $# -gt 0 ] || set -- c99 c11 c17 c2x c++11 c++14 c++17 c++20
folder=$(dirname "$header") name=$(basename "$header")
tried=0 failed=0

compile() { # NAME STANDARD
    case $2 in
    c++*) language=c++ ;;
    *) language=c ;;
    esac
    tried=$((tried + 1))
    if ! printf '#include <%s>\n#include <%s>\n' "$1" "$1" |
        "$compiler" -x $language "-std=$2" -Wall -Wextra -Wpedantic -Wundef -Werror \
            -I"$folder" -c -o /dev/null -; then
        echo "header.sh: $compiler -std=$2 does not compile $1" >&2
        failed=$((failed + 1))
    fi
}

for standard; do
    compile "$name" "$standard"
done
if [ "$name" = holdall.h ]; then
    for part in "$folder"/holdall/*.h; do
        for standard in c99 c++11; do
            compile "holdall/$(basename "$part")" "$standard"
        done
    done
fi
echo "$compiler: $tried headers and standards tried, $failed failed"
[ $failed -eq 0 ]
