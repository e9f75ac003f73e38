#!/bin/sh
# usage: volume.sh PREFIX SCRATCH [VOLUME.nii.gz]
#
# Converts a 4-D volume of an MRI scanner, a NIfTI file with 16-bit numbers in Fortran order after
# its header, to a Blosc2 array with chunks along each dimension. Then cuts the first, the middle
# and the last hyperplane of each dimension out of it, and compares each with the same one of the
# plain file, byte by byte. Without a volume it creates a small one. The tool is the one installed
# in PREFIX; planes.py uses no code of holdall.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tool=$(cd "$1" && pwd)/bin/holdall
python=${PYTHON:-python3}
case ${3:-} in
'') volume= ;;
/*) volume=$3 ;;
*) volume=$PWD/$3 ;;
esac
rm -rf "$2"
mkdir -p "$2"
cd "$2"

say() { printf '\n$ %s\n' "$*"; }

if [ -n "$volume" ]; then
    gunzip -c "$volume" >volume.nii
else
    "$python" "$here/planes.py" make volume.nii
    gzip -k volume.nii
    volume=volume.nii.gz
fi
# from its header: the shape, and the offset of the numbers
read -r shape start chunks <<END
$("$python" "$here/planes.py" header volume.nii)
END

say "gunzip -c $volume | holdall convert - volume.b2nd --dtype '<i2' --shape $shape --order F --skip $start --chunks $chunks"
gunzip -c "$volume" | "$tool" convert - volume.b2nd --dtype '<i2' --shape "$shape" --order F \
    --skip "$start" --chunks "$chunks"
say holdall info volume.b2nd
"$tool" info volume.b2nd
say holdall verify volume.b2nd
"$tool" verify volume.b2nd

printf '\nhyperplanes by holdall cat volume.b2nd --slice .., and by planes.py from volume.nii:\n'
count=0
# shellcheck disable=SC2094 # another file
"$python" "$here/planes.py" slices volume.nii >slices
while read -r slice axis index; do
    "$tool" cat volume.b2nd --slice="$slice" >ours
    "$python" "$here/planes.py" cut volume.nii "$axis" "$index" >theirs
    cmp ours theirs || { echo \
        "volume.sh: --slice $slice is not hyperplane $index of dimension $axis" >&2; exit 1; }
    printf '  %-14s %8d bytes, the same\n' "$slice" "$(wc -c <ours)"
    count=$((count + 1))
done <slices
[ $count -gt 0 ] || { echo "volume.sh: nothing was compared" >&2; exit 1; }
echo "$count hyperplanes, all the same"
