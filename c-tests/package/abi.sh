#!/bin/sh
# usage: abi.sh INCLUDE SHARED SCRATCH
#
# Compares the ABI with abi.xml: the functions that the shared library exports with their types in
# the headers in INCLUDE, structures, and values of constants. Prints the changes; HOLDALL_BLESS=1
# accepts them. (The debug information of the library has Rust types, not those of C; `cargo test
# --test headers` proves that the headers match the Rust functions.)
set -eu
include=$1 shared=$2 scratch=$3
baseline=$(dirname "$0")/abi.xml
mkdir -p "$scratch"
say() {
    echo "abi.sh: $*" >&2
    exit 1
}

# Prints the headers of holdall.h in a folder.
headers() { printf '%s\n' "$1/holdall.h" "$1"/holdall/*.h; }

# picture FOLDER NAME: compiles the C side as a library whose functions do nothing, and dumps it
# with abidw
picture() {
    {
        ${CC:-cc} -E -P -DHOLDALL_API=STUB -DHOLDALL_USE= "$1/holdall.h" |
            awk '{ text = text $0 "\n" } END { n = split(text, parts, "STUB"); printf "%s", parts[1]
                   for (i = 2; i <= n; i++) { sub(/;/, " { __builtin_trap(); }", parts[i]); printf "%s", parts[i] } }'
        echo 'enum holdall_constants {'
        headers "$1" | xargs cat |
            sed -n '/_VERSION_/d; s/^#define \(HOLDALL_[A-Z0-9_]*\) \((*-\{0,1\}[0-9][0-9]*)*\)$/    VALUE_\1 = \2,/p'
        echo '};'
        echo 'enum holdall_constants holdall_constants(void) { __builtin_trap(); }'
    } >"$scratch/$2.c"
    (cd "$scratch" && ${CC:-cc} -g -gdwarf-4 -O0 -w -shared -fPIC -o "$2.so" "$2.c")
    abidw --no-show-locs --no-comp-dir-path --no-corpus-path --no-elf-needed \
        --out-file "$scratch/$2.xml" "$scratch/$2.so"
}

# differ OLD NEW: returns whether they differ; difference.txt has the changes
differ() {
    status=0
    abidiff "$1" "$2" >"$scratch/difference.txt" 2>&1 || status=$?
    [ $((status & 3)) = 0 ] || { cat "$scratch/difference.txt"; say 'abidiff failed'; }
    [ $status != 0 ]
}

# must_see TEXT FROM TO: a change of the headers that must be detected
must_see() {
    rm -rf "$scratch/include"
    cp -r "$include" "$scratch/include"
    headers "$scratch/include" | xargs sed -i "s/$2/$3/"
    ! diff -rq "$include" "$scratch/include" >/dev/null ||
        say "$1: the headers have no such line any more"
    picture "$scratch/include" other
    differ "$scratch/header.xml" "$scratch/other.xml" || say "$1: not noticed"
}

exported() { ${NM:-nm} -D --defined-only "$1" | awk '{ print $NF }' | LC_ALL=C sort; }

picture "$include" header
exported "$scratch/header.so" | grep -vx holdall_constants >"$scratch/in-header"
exported "$shared" >"$scratch/in-library"
diff "$scratch/in-header" "$scratch/in-library" ||
    say 'the header (<) and the library (>) do not have the same functions'
must_see 'another type of an argument' 'holdall_bag_record_count(const holdall_bag \*bag)' \
    'holdall_bag_record_count(const holdall_records *bag)'
must_see 'a structure that is longer' '    int32_t os_code;' '    int64_t os_code;'
must_see 'another value' '#define HOLDALL_E_RANGE (-13)' '#define HOLDALL_E_RANGE (-31)'
must_see 'a function more' 'HOLDALL_API void holdall_storage_free' \
    'HOLDALL_API void holdall_more(void); &'

if [ "${HOLDALL_BLESS:-}" = 1 ]; then
    cp "$scratch/header.xml" "$baseline"
fi
if differ "$baseline" "$scratch/header.xml"; then
    cat "$scratch/difference.txt"
    echo 'abi.sh: what was only added breaks no program that is built; anything else does, and needs a new version in Cargo.toml' >&2
    say 'where the change is meant: HOLDALL_BLESS=1 make check-long RIG=abi'
fi
echo "$(wc -l <"$scratch/in-library") functions, $(grep -c VALUE_ "$scratch/header.c") constants: as $baseline has them"
