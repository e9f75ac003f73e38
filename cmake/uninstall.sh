#!/bin/sh
# usage: uninstall.sh LIST PREFIX
#
# Removes the files that LIST names below PREFIX (in DESTDIR, if it is set), one per line, and then
# the empty folders named holdall or created for it. LIST retains the files of other prefixes; `make
# install` adds to it.
set -eu
list=$1 prefix=${2%/} root=${DESTDIR:-}
[ -s "$list" ] || { echo "uninstall.sh: $list: nothing was installed from this build" >&2; exit 1; }
rest=$list.rest
: >"$rest"
count=0
while IFS= read -r file; do
    case $file in
    "$prefix"/*)
        rm -f "$root$file"
        count=$((count + 1))
        # Up to the first folder that is not ours, or not empty.
        folder=$(dirname "$file")
        while [ "$folder" != "$prefix" ] && case ${folder#"$prefix"} in *holdall*) true ;;
            *) false ;; esac; do
            rmdir "$root$folder" 2>/dev/null || break
            folder=$(dirname "$folder")
        done
        ;;
    *) printf '%s\n' "$file" >>"$rest" ;;
    esac
done <"$list"
mv "$rest" "$list"
[ $count -gt 0 ] || { echo "uninstall.sh: nothing was installed in $prefix from this build" >&2;
    exit 1; }
echo "$count files removed from $root$prefix"
