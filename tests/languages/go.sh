#!/bin/sh
# usage: go.sh PREFIX SCRATCH
# The Go module: its tests under the race detector, and the program of the guide, built with nothing but what is installed in
# PREFIX.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$(cd "$1" && pwd)
rm -rf "$2" && mkdir -p "$2"
scratch=$(cd "$2" && pwd)
. "$source/tests/languages/installed.sh"

unformatted=$(gofmt -l "$source/bindings/go" "$source/examples")
[ -z "$unformatted" ] || { echo "gofmt: $unformatted" >&2; exit 1; }
ignored=$(cd "$source/bindings/go" && go list -f '{{join .IgnoredGoFiles " "}}' .)
[ -z "$ignored" ] || echo "omitted, because they require a later version than $(go env GOVERSION): $ignored"
(cd "$source/bindings/go" && go test -race -vet=all -count=1 -v .) >"$scratch/test.log" || { cat "$scratch/test.log"; exit 1; }
[ -z "${HOLDALL_FIXTURES:-}" ] || ! grep '^--- SKIP' "$scratch/test.log" >&2 || { echo "tests that must run are skipped" >&2; exit 1; }
sed -n 's/^ *fixtures_test.go:[0-9]*: \([0-9]* containers\)/\1/p' "$scratch/test.log"
grep -c '^--- PASS' "$scratch/test.log" | sed 's/$/ tests under the race detector/'
tail -n 1 "$scratch/test.log"

seq 1 9000 >"$scratch/lines.txt"
# shellcheck disable=SC2016 # Markdown
sed -n '/^```go$/,/^```$/p' "$source/docs/languages.md" | sed '1d; $d' >"$scratch/guide.go"
[ -z "$(gofmt -l "$scratch/guide.go")" ] || { echo "gofmt would change the program of the guide" >&2; exit 1; }
go_program "$scratch/guide" "$scratch/guide.go"
"$scratch/guide/program" "$scratch/lines.txt" "$scratch/lines.bagz" >"$scratch/guide.out"
printf '9000 records\n9000\n6000\n3000\n9000 intact, 0 corrupt\n' | diff - "$scratch/guide.out"
echo "the program of the guide: $(tail -n 1 "$scratch/guide.out")"
