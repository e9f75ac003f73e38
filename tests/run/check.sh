#!/bin/sh
# usage: check.sh [PART...]
#
# Runs parts of `make check` (see part.sh), by default the default set, which `default` also stands
# for. The Makefile exports the variables that they use. One part alone prints as it runs. Of
# several, one more than there are processors run at once, because all have long periods with one
# thread; what they share is built first, and each prints at its end. A part that fails is named at
# the end, and the others run.
set -u
cd "$(dirname "$0")/../.." || exit
chosen=$*
[ $# -gt 0 ] || set -- default
parts=
for part; do
    case $part in
    default) parts="$parts rust scripts c counts consumers tool docs peers languages engines" ;;
    *) parts="$parts $part" ;;
    esac
done
# shellcheck disable=SC2086 # a list
set -- $parts

needs=
case " ${chosen:-default} " in *' default '*) needs=@check ;; esac
for part; do
    case $part in languages | cloud | mpi | packages) needs="$needs @$part" ;; esac
done
# shellcheck disable=SC2086 # a list
sh cmake/need.sh $needs || exit

state=target/check
rm -rf $state
mkdir -p $state
: >$state/seconds
: >$state/failed

# run PART: keeps its seconds, and its name if it fails
run() {
    began=$(date +%s)
    sh tests/run/part.sh "$1" || printf ' %s' "$1" >>$state/failed
    printf ' %s %s' "$1" $(($(date +%s) - began)) >>$state/seconds
    : >"$state/$1.done"
}

# take PART...: runs those that no other lane has taken
take() {
    for part; do
        mkdir "$state/$part" 2>/dev/null || continue
        case $part in
        rust | scripts | packages | supply) ;; # share nothing
        *) case " $shared " in
            *" $part "*) ;;
            *) for other in $shared; do
                until [ -e "$state/$other.done" ]; do sleep 1; done
            done ;;
            esac ;;
        esac
        run "$part" >"$state/$part.log" 2>&1
        until mkdir $state/printing 2>/dev/null; do sleep 1; done
        cat "$state/$part.log"
        rmdir $state/printing
    done
}

shared=
if [ $# -eq 1 ]; then
    run "$1"
else
    case " $* " in
    *' c '*) shared=tests ;;
    *' counts '* | *' consumers '* | *' tool '* | *' docs '* | *' engines '* | *' mpi '*)
        shared=libraries ;;
    esac
    case " $* " in
    *' peers '* | *' languages '*) shared="${shared:-libraries} venvs" ;;
    esac
    [ -z "$shared" ] || export HOLDALL_BUILT=yes
    # the longest first
    queue="$shared"
    for part in rust scripts c tool consumers peers cloud engines; do
        case " $* " in *" $part "*) queue="$queue $part" ;; esac
    done
    trap 'kill 0' INT # lanes ignore it
    lanes=$((JOBS + 1))
    while [ $lanes -gt 0 ]; do
        # shellcheck disable=SC2086 # a list
        take $queue "$@" &
        lanes=$((lanes - 1))
    done
    wait
fi
failed=$(cat $state/failed)
echo "== make check: seconds:$(cat $state/seconds)"
[ -z "$failed" ] || { echo "== make check: failed:$failed" >&2; exit 1; }
echo "== make check: ${chosen:-all} passed"
