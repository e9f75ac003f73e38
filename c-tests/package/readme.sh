#!/bin/sh
# usage: readme.sh README.md PROGRAM...
# The programs that the README shows, one of each language, are those that tests compile and run.
set -eu
readme=$1
shift
for program; do
    case $program in
    *.cc) language=cpp ;;
    *.f90) language=fortran ;;
    *) language=c ;;
    esac
    sed -n "/^\`\`\`$language\$/,/^\`\`\`\$/p" "$readme" | sed '1d; $d' | diff - "$program" >&2 ||
        { echo "$readme shows another program than $program" >&2; exit 1; }
    echo "$readme shows $program"
done
