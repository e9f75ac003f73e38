#!/bin/sh
# usage: go.sh PREFIX SCRATCH
# The Go module: its tests under the race detector, and programs of users', that of the guide among them, built with
# nothing but what is installed in PREFIX.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$(cd "$1" && pwd)
rm -rf "$2" && mkdir -p "$2"
scratch=$(cd "$2" && pwd)
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name holdall.pc)")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") DYLD_LIBRARY_PATH=$LD_LIBRARY_PATH
# Nothing is asked of the network.
GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local CGO_ENABLED=1
export PKG_CONFIG_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH GOFLAGS GOPROXY GOTOOLCHAIN CGO_ENABLED

unformatted=$(gofmt -l "$source/go" "$source/tests/languages")
[ -z "$unformatted" ] || { echo "gofmt: $unformatted" >&2; exit 1; }
(cd "$source/go" && go test -race -vet=all -count=1 .)

# program NAME FILE ARGUMENT...: builds a program and runs it, in a module of its own
program() {
    name=$1
    mkdir "$scratch/$name"
    cp "$2" "$scratch/$name/main.go"
    shift 2
    (
        cd "$scratch/$name"
        go mod init "$name" 2>/dev/null
        go mod edit -require=holdall@v0.0.0 -replace=holdall="$(pkg-config --variable=go holdall)"
        go build -o program .
        ./program "$@"
    ) >"$scratch/$name.out"
}

program consumer "$source/tests/languages/consumer.go" made.bagz
cc=${CC:-cc}
eval "$cc -o \"\$scratch/c\" \"\$source/c-tests/consumers/consumer.c\" $(pkg-config --cflags --libs holdall)"
"$scratch/c" "$scratch/c.bagz" | diff - "$scratch/consumer.out"
cmp "$scratch/c.bagz" "$scratch/consumer/made.bagz"
echo "as in C: $(cat "$scratch/consumer.out")"

seq 1 9000 >"$scratch/lines.txt"
sed -n '/^```go$/,/^```$/p' "$source/docs/languages.md" | sed '1d; $d' >"$scratch/guide.go"
[ -z "$(gofmt -l "$scratch/guide.go")" ] || { echo "the program of the guide is not as gofmt has it" >&2; exit 1; }
program guide "$scratch/guide.go" "$scratch/lines.txt" lines.bagz
printf '9000 records\n9000\n6000\n3000\n9000 sound, 0 bad\n' | diff - "$scratch/guide.out"
echo "the program of the guide: $(tail -n 1 "$scratch/guide.out")"
