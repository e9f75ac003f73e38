#!/bin/sh
# usage: readme.sh DOCUMENT.md PROGRAM...
#
# Checks that the programs in a document, one of each language, are those that tests compile and
# run.
set -eu
document=$1
shift
for program; do
    case $program in
    *.cc) language=cpp ;;
    *.f90) language=fortran ;;
    *) language=c ;;
    esac
    sed -n "/^\`\`\`$language\$/,/^\`\`\`\$/p" "$document" | sed '1d; $d' | diff - "$program" >&2 ||
        { echo "$document shows another program than $program" >&2; exit 1; }
    echo "$document shows $program"
done
