#!/bin/sh
# usage: mdspan.sh INCLUDE LIBRARY SCRATCH
#
# Compiles and runs mdspan.cc with the first compiler whose standard library has <mdspan>, and so
# all of holdall.hpp with that library. Exits with 77 if there is none; only the stand-in of
# content.cc is tested then. (Debian: clang-19 libc++-19-dev.)
set -u
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$3" && mkdir -p "$3" || exit 1
for compiler in "${CXX:-c++}" "clang++ -stdlib=libc++" "clang++-21 -stdlib=libc++" \
    "clang++-20 -stdlib=libc++" "clang++-19 -stdlib=libc++" \
    "clang++-18 -stdlib=libc++"; do
    echo '#include <mdspan>
        std::mdspan<int, std::dextents<int, 1>> x;' |
            $compiler -std=c++23 -fsyntax-only -x c++ - 2>/dev/null || continue
    set -e
    $compiler -std=c++23 -Wall -Wextra -Wpedantic -Werror -I"$1" -o "$3/mdspan" \
        "$here/mdspan.cc" "$2" \
        -Wl,-rpath,"$(dirname "$2")"
    HOLDALL_TMP=$3 "$3/mdspan"
    echo "std::mdspan as $compiler has it"
    exit 0
done
echo "no compiler has <mdspan>"
exit 77
